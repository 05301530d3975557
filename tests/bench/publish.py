#!/usr/bin/env python3
"""CPU time of `weir put` for a segment, by signature: when it is signed, and when it is asked for again.

A consumer with a fixed window asks for all segments of a file twice, through `weir forward` without a content store. What
counts is the CPU time of the publisher alone, reading the file and its socket included.

usage: publish.py --weir target/release/weir [--segments 8000] [--rounds 3]
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
SIGNATURES = ("digest", "hmac", "ed25519", "ecdsa")
SIZE, WINDOW = 8000, 64


def cpu_us(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / TICKS


def number(value):
    """A TLV variable-size number."""
    return bytes([value]) if value < 253 else b"\xfd" + value.to_bytes(2, "big")


def tlv(typ, value):
    return number(typ) + number(len(value)) + value


def nni(value):
    return value.to_bytes(next(size for size in (1, 2, 4, 8) if value < 1 << 8 * size), "big")


def interest(versioned, segment):
    """An Interest for a segment of `/…/v=<version>`."""
    *generic, version = versioned.strip("/").split("/")
    components = [tlv(8, part.encode()) for part in generic]
    components += [tlv(54, nni(int(version.removeprefix("v=")))), tlv(50, nni(segment))]
    return tlv(5, tlv(7, b"".join(components)) + tlv(10, os.urandom(4)))


def frames(sock):
    """Yields the number of received frames, each time that some arrive. Frames must be longer than 252 bytes."""
    held, count = b"", 0
    while True:
        held += sock.recv(1 << 18)
        while len(held) >= 4 and len(held) >= (length := 4 + int.from_bytes(held[2:4], "big")):
            held, count = held[length:], count + 1
        yield count


def ask_all(path, name, segments):
    """Requests every segment once."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(path))
        sock.settimeout(10)
        asked = min(WINDOW, segments)
        sock.sendall(b"".join(interest(name, segment) for segment in range(asked)))
        for got in frames(sock):
            if got == segments:
                return
            until = min(got + WINDOW, segments)
            sock.sendall(b"".join(interest(name, segment) for segment in range(asked, until)))
            asked = until


class Bench:
    def __init__(self, args, folder):
        self.weir, self.folder, self.segments = args.weir, folder, args.segments
        self.socket = folder / "nfd.sock"
        self.environment = os.environ | {
            "NDN_CLIENT_TRANSPORT": f"unix://{self.socket}",
            "WEIR_KEYCHAIN": str(folder / "keys"),
        }
        self.file = folder / "file"
        self.file.write_bytes(os.urandom(SIZE * self.segments))
        for kind in SIGNATURES[1:]:
            subprocess.run([self.weir, "key", "new", f"/{kind}", "--type", kind], env=self.environment, check=True,
                           stdout=subprocess.DEVNULL)
        config = folder / "weir.toml"
        config.write_text(f'[faces.unix]\npath = "{self.socket}"\n[faces.udp]\nlisten = []\n[faces.tcp]\nlisten = []\n'
                          "[tables]\ncontent_store_packets = 0\n")
        self.forwarder = subprocess.Popen([self.weir, "forward", "--config", config], stderr=subprocess.DEVNULL)
        while not self.socket.exists():
            time.sleep(0.05)

    def run(self, sign):
        """Processor time per segment if it is signed, and if it is sent again, µs."""
        key = [] if sign == "digest" else ["--key", f"/{sign}"]
        put = subprocess.Popen([self.weir, "put", f"/{sign}/file", self.file, *key, "--json", "--cache", "1 GB"],
                               env=self.environment, stdout=subprocess.PIPE, text=True)
        name = None
        for line in put.stdout:
            said = json.loads(line)
            name = said.get("name", name) if said["event"] == "serving" else name
            if said["event"] == "registered":
                break
        at = [cpu_us(put.pid)]
        for _ in range(2):
            ask_all(self.socket, name, self.segments)
            at.append(cpu_us(put.pid))
        put.terminate()
        put.wait()
        return [(after - before) / self.segments for before, after in zip(at, at[1:])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--weir", required=True)
    parser.add_argument("--segments", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args, pathlib.Path(folder))
        try:
            runs = {sign: [] for sign in SIGNATURES}
            for _ in range(args.rounds):
                for sign in SIGNATURES:
                    runs[sign].append(bench.run(sign))
        finally:
            bench.forwarder.kill()
    print("| signature | signed, µs a segment | sent again, µs a segment |\n|---|---|---|")
    for sign in SIGNATURES:
        signed, again = (statistics.median(run[part] for run in runs[sign]) for part in (0, 1))
        print(f"| {sign} | {signed:.1f} | {again:.1f} |")


if __name__ == "__main__":
    main()
