#!/usr/bin/env python3
"""A link between two UDP faces that loses, repeats and reorders, is slow and far, or dead for a while.

usage: relay.py LISTEN PEER [--loss P] [--duplicate P] [--reorder P] [--delay MS] [--rate BITS/S] [--queue PACKETS]
                [--seed N]

Whoever speaks first to the port LISTEN of this host is one end; 127.0.0.1:PEER is the other. SIGUSR1 cuts the link,
SIGUSR2 mends it. It says `ready` when it listens; on SIGTERM it says what it did, as JSON.
"""

import argparse
import heapq
import json
import random
import selectors
import signal
import socket
import sys
import time

# What is held back to change the order comes after so many milliseconds.
REORDERED = 5


class Direction:
    """One way of the link."""

    def __init__(self, options, seed):
        self.options = options
        self.random = random.Random(seed)
        # Packets on their way: when they arrive, a number that keeps their order, and their bytes.
        self.flying = []
        self.free_at = 0.0
        self.counts = dict.fromkeys(["came", "lost", "repeated", "reordered", "overflown", "cut"], 0)

    def take(self, now, packet, is_cut):
        o, counts = self.options, self.counts
        counts["came"] += 1
        if is_cut:
            counts["cut"] += 1
            return
        if self.random.random() < o.loss:
            counts["lost"] += 1
            return
        copies = 1
        if self.random.random() < o.duplicate:
            counts["repeated"] += 1
            copies = 2
        for _ in range(copies):
            leaves = now
            if o.rate:
                sending = 8 * len(packet) / o.rate
                if self.free_at - now > o.queue * sending:
                    counts["overflown"] += 1
                    continue
                leaves = self.free_at = max(self.free_at, now) + sending
            late = 0.0
            if self.random.random() < o.reorder:
                counts["reordered"] += 1
                late = REORDERED / 1000
            heapq.heappush(self.flying, (leaves + o.delay / 1000 + late, counts["came"], packet))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("listen", type=int)
    parser.add_argument("peer", type=int)
    for name in ("loss", "duplicate", "reorder", "delay", "rate"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--queue", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    state = {"cut": False, "over": False}
    signal.signal(signal.SIGUSR1, lambda *_: state.update(cut=True))
    signal.signal(signal.SIGUSR2, lambda *_: state.update(cut=False))
    signal.signal(signal.SIGTERM, lambda *_: state.update(over=True))
    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    near.bind(("127.0.0.1", options.listen))
    far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    far.connect(("127.0.0.1", options.peer))
    ways = {near: Direction(options, options.seed), far: Direction(options, options.seed + 1)}
    selector = selectors.DefaultSelector()
    for end in ways:
        end.setblocking(False)
        selector.register(end, selectors.EVENT_READ)
    print("ready", flush=True)
    client = None
    while not state["over"]:
        due = min((way.flying[0][0] for way in ways.values() if way.flying), default=None)
        now = time.monotonic()
        for key, _ in selector.select(0.2 if due is None else max(0.0, min(due - now, 0.2))):
            client = receive(key.fileobj, near, client, ways, state["cut"])
        now = time.monotonic()
        deliver(ways[near], now, far.send)
        if client:
            deliver(ways[far], now, lambda packet: near.sendto(packet, client))
    json.dump([way.counts for way in ways.values()], sys.stdout)


def receive(end, near, client, ways, is_cut):
    """Takes what has come; who the near peer is."""
    for _ in range(64):
        try:
            packet, sender = end.recvfrom(65536)
        except BlockingIOError:
            break
        except ConnectionRefusedError:
            # The far end is not there: what was sent to it is lost, as on any link.
            continue
        if end is near:
            client = sender
        ways[end].take(time.monotonic(), packet, is_cut)
    return client


def deliver(way, now, send):
    while way.flying and way.flying[0][0] <= now:
        _, _, packet = heapq.heappop(way.flying)
        try:
            send(packet)
        except (BlockingIOError, ConnectionRefusedError):
            way.counts["overflown"] += 1


if __name__ == "__main__":
    main()
