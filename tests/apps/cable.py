#!/usr/bin/env python3
"""A cable between two network interfaces that loses packets, and is slow and far.

usage: cable.py ONE OTHER [--rate BITS/S] [--delay MS] [--loss P] [--queue MS] [--seed N]

It carries Ethernet frames as they are, so that IP fragments are lost one by one, as on a real path. --queue is how long a
packet may wait for a slow cable; --delay is of one way. It says `ready` when it carries.
"""

import argparse
import collections
import random
import select
import socket
import struct
import time

ETH_P_ALL, SOL_PACKET, PACKET_IGNORE_OUTGOING = 3, 263, 23
# Bytes of a frame outside IP: the cable's rate is that of IP packets.
ETHERNET = 14


class Way:
    """One direction of the cable."""

    def __init__(self, options, seed):
        self.options, self.random = options, random.Random(seed)
        self.flying = collections.deque()
        self.free_at = 0.0

    def take(self, now, frame):
        o = self.options
        begins = max(self.free_at, now)
        if self.random.random() < o.loss or (o.rate and begins - now > o.queue / 1000):
            return
        if o.rate:
            begins = self.free_at = begins + 8 * (len(frame) - ETHERNET) / o.rate
        self.flying.append((begins + o.delay / 1000, frame))

    def deliver(self, now, end):
        while self.flying and self.flying[0][0] <= now:
            try:
                end.send(self.flying.popleft()[1])
            except OSError:
                # The other end is gone, or its MTU is too small: the frame is lost.
                pass


def attach(interface):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    end.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, struct.pack("i", 1))
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    end.bind((interface, 0))
    end.setblocking(False)
    return end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ends", nargs=2)
    for name, default in {"rate": 0.0, "delay": 0.0, "loss": 0.0, "queue": 100.0}.items():
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ends = [attach(interface) for interface in options.ends]
    ways = [Way(options, options.seed + number) for number in range(2)]
    print("ready", flush=True)
    while True:
        due = min((way.flying[0][0] for way in ways if way.flying), default=None)
        wait = 0.2 if due is None else max(0.0, min(due - time.monotonic(), 0.2))
        select.select(ends, [], [], wait)
        for end, way in zip(ends, ways):
            for _ in range(64):
                try:
                    frame = end.recv(1 << 16)
                except OSError:
                    break
                way.take(time.monotonic(), frame)
        now = time.monotonic()
        for end, way in zip(reversed(ends), ways):
            way.deliver(now, end)


if __name__ == "__main__":
    main()
