#!/usr/bin/env python3
"""A link between two UDP faces that loses, repeats and reorders, is slow and far, or dead for a while.

usage: relay.py LISTEN PEER [--loss P] [--duplicate P] [--reorder P] [--delay MS] [--rate BITS/S] [--queue PACKETS]
                [--spoil flip|shorten|drop --segment N] [--seed N]

Who speaks to the port LISTEN of this host is one end; 127.0.0.1:PEER is the other. --spoil flips a bit in the content
of one segment, cuts the end of its frame off, or drops it, each time it comes from PEER. SIGUSR1 cuts the link, SIGUSR2
mends it: then nothing is spoiled any more either. It says `ready` when it listens.
"""

import argparse
import heapq
import random
import selectors
import signal
import socket
import time

# Reordered packets are delayed by this many milliseconds.
REORDERED = 5

# Kinds of damage to a frame. The middle of a frame with a segment is content.
SPOIL = {
    "flip": lambda frame: frame[: len(frame) // 2] + bytes([frame[len(frame) // 2] ^ 1]) + frame[len(frame) // 2 + 1 :],
    "shorten": lambda frame: frame[:-100],
    "drop": lambda frame: b"",
}


def is_segment(frame, number):
    """Returns whether the name of a frame's Data ends in this one-byte segment number: MetaInfo (20) follows it."""
    return bytes([50, 1, number, 20]) in frame[:200]


class Direction:
    """One direction of the link."""

    def __init__(self, options, seed):
        self.options = options
        self.random = random.Random(seed)
        # Packets in flight: arrival time, a number that keeps their order, and their bytes.
        self.flying = []
        self.free_at = 0.0
        self.came = 0

    def take(self, now, packet, is_cut):
        o = self.options
        self.came += 1
        if is_cut or self.random.random() < o.loss:
            return
        copies = 2 if self.random.random() < o.duplicate else 1
        for _ in range(copies):
            leaves = now
            if o.rate:
                sending = 8 * len(packet) / o.rate
                if self.free_at - now > o.queue * sending:
                    continue
                leaves = self.free_at = max(self.free_at, now) + sending
            late = REORDERED / 1000 if self.random.random() < o.reorder else 0.0
            heapq.heappush(self.flying, (leaves + o.delay / 1000 + late, self.came, packet))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("listen", type=int)
    parser.add_argument("peer", type=int)
    for name in ("loss", "duplicate", "reorder", "delay", "rate"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--queue", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spoil", choices=SPOIL)
    parser.add_argument("--segment", type=int, default=0)
    options = parser.parse_args()
    state = {"cut": False, "spoil": options.spoil}
    signal.signal(signal.SIGUSR1, lambda *_: state.update(cut=True))
    signal.signal(signal.SIGUSR2, lambda *_: state.update(cut=False, spoil=None))
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
    while True:
        due = min((way.flying[0][0] for way in ways.values() if way.flying), default=None)
        now = time.monotonic()
        for key, _ in selector.select(0.2 if due is None else max(0.0, min(due - now, 0.2))):
            client = receive(key.fileobj, near, client, ways, state)
        now = time.monotonic()
        deliver(ways[near], now, far.send)
        if client:
            deliver(ways[far], now, lambda packet: near.sendto(packet, client))


def receive(end, near, client, ways, state):
    """Receives the waiting packets. Returns the address of the near peer."""
    for _ in range(64):
        try:
            packet, sender = end.recvfrom(65536)
        except BlockingIOError:
            break
        except ConnectionRefusedError:
            # The far end does not exist: the packet is lost, as on any link.
            continue
        if end is near:
            client = sender
        elif state["spoil"] and is_segment(packet, ways[end].options.segment):
            packet = SPOIL[state["spoil"]](packet)
        ways[end].take(time.monotonic(), packet, state["cut"] or not packet)
    return client


def deliver(way, now, send):
    while way.flying and way.flying[0][0] <= now:
        _, _, packet = heapq.heappop(way.flying)
        try:
            send(packet)
        except (BlockingIOError, ConnectionRefusedError):
            # The packet is lost, as with a full queue or without a listener.
            pass


if __name__ == "__main__":
    main()
