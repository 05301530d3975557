#!/usr/bin/env python3
"""Resident memory of `weir forward` with the default tables, before and after a stranger has filled them.

The stranger is on the loopback address, an application without rights. Each kind of filling has a forwarder of its own. It
prints a table in Markdown, for docs/data/security.md.

usage: memory.py --weir target/release/weir [KIND...]
"""
import argparse
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

# Maximum lifetime of applications' Interests.
LIFETIME_MS = 300_000
# Maximum number of Interests in flight to the producer.
WINDOW = 64
# Source addresses: each may have as many connections in a minute as there are ports.
ADDRESSES = 16
# The interval of a round of the forwarder, and of its sweep.
QUIET_S = 6


def number(value):
    if value < 253:
        return bytes([value])
    return b"\xfd" + struct.pack(">H", value) if value < 1 << 16 else b"\xfe" + struct.pack(">I", value)


def tlv(typ, *values):
    value = b"".join(values)
    return number(typ) + number(len(value)) + value


def elements(wire):
    at = 0
    while at < len(wire):
        head = []
        for _ in range(2):
            size = {253: 2, 254: 4, 255: 8}.get(wire[at], 0)
            head.append(int.from_bytes(wire[at + 1 : at + 1 + size], "big") if size else wire[at])
            at += 1 + size
        yield head[0], wire[at : at + head[1]]
        at += head[1]


def name(*components):
    return tlv(7, tlv(8, b"b"), *(tlv(8, component) for component in components))


def interest(of, lifetime=LIFETIME_MS):
    return tlv(5, of, tlv(10, b"nnnn"), tlv(12, struct.pack(">I", lifetime)))


def data(of):
    """One byte, and an invalid signature."""
    return tlv(6, of, tlv(21, b"x"), tlv(22, tlv(27, b"\0")), tlv(23, bytes(32)))


def network_packet(frame):
    """The packet in a frame, with or without a link header."""
    typ, value = next(elements(frame))
    return dict(elements(value))[80] if typ == 100 else frame


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Forwarder:
    def __init__(self, weir, folder):
        self.port, listen = free_ports(2)
        self.producer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.producer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.producer.bind(("127.0.0.1", 0))
        config = folder / "weir.toml"
        config.write_text(
            f'[faces.unix]\npath = "{folder}/weir.sock"\n[faces.udp]\nlisten = ["127.0.0.1:{listen}"]\n'
            f'[faces.tcp]\nlisten = ["127.0.0.1:{self.port}"]\n'
            f'[[face]]\nname = "producer"\nremote = "udp4://127.0.0.1:{self.producer.getsockname()[1]}"\n'
            '[[route]]\nprefix = "/b"\nface = "producer"\n[log]\nlevel = "warn"\n'
        )
        self.process = subprocess.Popen([weir, "forward", "--config", config])
        for _ in range(200):
            time.sleep(0.1)
            try:
                self.connect().close()
                break
            except ConnectionRefusedError:
                pass
        time.sleep(1)
        self.before = self.resident()

    def connect(self, number=0):
        stranger = socket.socket()
        stranger.bind((f"127.0.1.{1 + number % ADDRESSES}", 0))
        stranger.connect(("127.0.0.1", self.port))
        return stranger

    def resident(self):
        """Converts to MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def ask(forwarder, interests):
    stranger = forwarder.connect()
    for each in interests:
        stranger.sendall(each)
    return stranger


def long_names(forwarder):
    return ask(forwarder, (interest(name(struct.pack(">I", n), bytes(8600))) for n in range(186_000)))


def short_names(forwarder):
    return ask(forwarder, (interest(name(struct.pack(">I", n))) for n in range(1_100_000)))


def tiny_data(forwarder):
    stranger = forwarder.connect()
    others = [b""] * 48
    for base in range(0, 65_536, WINDOW):
        stranger.sendall(b"".join(interest(name(struct.pack(">I", base + n), *others)) for n in range(WINDOW)))
        for _ in range(WINDOW):
            if not select.select([forwarder.producer], [], [], 5)[0]:
                sys.exit("an Interest did not reach the producer")
            frame, weir = forwarder.producer.recvfrom(9000)
            asked = next(value for typ, value in elements(next(elements(network_packet(frame)))[1]) if typ == 7)
            forwarder.producer.sendto(data(tlv(7, asked)), weir)
        got = 0
        while got < WINDOW:
            got += sum(typ in (6, 100) for typ, _ in whole(stranger))
    return stranger


def whole(stranger):
    """Returns the next frames: all complete frames in the received bytes."""
    wire = stranger.recv(1 << 16)
    while True:
        try:
            return list(checked(wire))
        except (IndexError, ValueError):
            wire += stranger.recv(1 << 16)


def checked(wire):
    for typ, value in elements(wire):
        yield typ, value
    if sum(len(tlv(typ, value)) for typ, value in elements(wire)) != len(wire):
        raise ValueError("half a frame")


def connections(forwarder):
    """Clients that each send one Interest with its own prefix, and close."""
    for n in range(60_000):
        stranger = forwarder.connect(n)
        stranger.sendall(interest(name(struct.pack(">I", n), b"s"), 4000))
        stranger.close()


KINDS = {
    "long-names": ("186 000 Interests with names of 8.6 kB", long_names),
    "short-names": ("1 100 000 Interests with short names", short_names),
    "tiny-data": ("65 536 Data of 1 byte with names of 50 components, which it had asked for", tiny_data),
    "connections": ("60 000 TCP connections, one after another, with an Interest on each", connections),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the binary")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    args = parser.parse_args()
    print("| what | before, MiB | after, MiB | it takes, s |\n|---|---|---|---|", flush=True)
    for kind in args.kinds or KINDS:
        what, fill = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            forwarder = Forwarder(args.weir, pathlib.Path(folder))
            try:
                begin = time.monotonic()
                kept = fill(forwarder)
                spent = time.monotonic() - begin
                time.sleep(QUIET_S)
                print(f"| {what} | {forwarder.before:.0f} | {forwarder.resident():.0f} | {spent:.0f} |", flush=True)
                if kept:
                    kept.close()
            finally:
                forwarder.close()


if __name__ == "__main__":
    main()
