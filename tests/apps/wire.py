#!/usr/bin/env python3
"""A link between two network namespaces with a rate, a buffer, a delay and loss, for all that IP carries.

usage: wire.py NAMESPACE NAMESPACE [--rate BITS/S] [--buffer MS] [--delay MS] [--loss P] [--mtu BYTES] [--seed N]

Each namespace has an end, the device `wire`: 10.9.0.1 and 10.9.0.2. Each way has a drop-tail buffer, which holds what its
rate sends in so many milliseconds; --delay is of one way. It says `ready` when the ends are up. The kernel's queueing
disciplines would do the same, but not every kernel has the one that delays.
"""

import argparse
import collections
import fcntl
import os
import random
import select
import struct
import subprocess
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
# Maximum time until the next check, s.
TICK = 0.5


def end_of_wire(namespace, number, mtu):
    """Creates a TUN device in a namespace. Returns its file."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    name = f"w{os.getpid()}-{number}"
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "link", "set", name, "netns", namespace, "name", "wire"], check=True)
    inside = ["ip", "-n", namespace]
    subprocess.run([*inside, "address", "add", f"10.9.0.{number}/24", "dev", "wire"], check=True)
    subprocess.run([*inside, "link", "set", "wire", "mtu", str(mtu), "txqueuelen", "4000", "up"], check=True)
    return file


class Way:
    """One direction of the link: packets from one end come out at the other."""

    def __init__(self, options, seed):
        self.seconds_per_byte = 8 / options.rate if options.rate else 0.0
        self.buffer, self.delay, self.loss = options.buffer / 1000, options.delay / 1000, options.loss
        self.random = random.Random(seed)
        # Packets in flight: their arrival times and bytes.
        self.flying = collections.deque()
        self.free_at = 0.0

    def take(self, now, packet):
        if self.loss and self.random.random() < self.loss:
            return
        starts = max(self.free_at, now)
        if self.seconds_per_byte and starts - now > self.buffer:
            return
        self.free_at = starts + self.seconds_per_byte * len(packet)
        self.flying.append((self.free_at + self.delay, packet))

    def deliver(self, now, file):
        flying = self.flying
        while flying and flying[0][0] <= now:
            try:
                os.write(file, flying.popleft()[1])
            except OSError:
                # The packet is lost, as with a full queue or without the other end.
                pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("namespace", nargs=2)
    for name, default in (("rate", 0.0), ("buffer", 100.0), ("delay", 0.0), ("loss", 0.0)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    files = [end_of_wire(name, number, options.mtu) for number, name in enumerate(options.namespace, start=1)]
    ways = [Way(options, options.seed + number) for number in range(2)]
    print("ready", flush=True)
    while True:
        now = time.monotonic()
        due = min((way.flying[0][0] for way in ways if way.flying), default=now + TICK)
        readable, _, _ = select.select(files, [], [], max(0.0, min(due - now, TICK)))
        now = time.monotonic()
        for file in readable:
            way = ways[files.index(file)]
            for _ in range(64):
                try:
                    packet = os.read(file, 65536)
                except OSError:
                    break
                way.take(now, packet)
        now = time.monotonic()
        for way, file in zip(ways, reversed(files)):
            way.deliver(now, file)


if __name__ == "__main__":
    main()
