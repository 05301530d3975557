#!/usr/bin/env python3
"""`weir get` over a wire of a rate, a delay, a buffer and loss, alone or beside a flow of TCP, and the round trips of others
meanwhile.

usage: beside.py [--scheme NAME] [--param P]... [--rate BITS/S] [--rtt MS] [--buffer MS] [--loss P] [--mtu BYTES]
                 [--seconds S] [--settle S] [--tcp cubic [--first get|tcp] [--gap S]] [--bytes N] [--face TOML]
                 [--udp TOML]

Two network namespaces, a forwarder in each, and the wire between them (`wire.py`). It prints JSON: goodput of `weir get` and
of TCP, Mb/s, between --settle and --seconds, and round trips of a datagram each 20 ms, ms. With --bytes the file ends:
then it prints the goodput of all of it. It needs root; beside other programs, `unshare --net --mount` in front of it keeps
its namespaces apart.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

from lab import Lab, weir_binary  # noqa: E402

PORT, TCP_PORT, ECHO_PORT = 6363, 7001, 7002
ADDRESSES = ["10.9.0.1", "10.9.0.2"]
PING_INTERVAL = 0.02
FORWARDER = """
[faces.udp]
listen = "{address}:{port}"
{udp}
[faces.tcp]
listen = []
[tables]
content_store_packets = 0
[scheme]
name = "{scheme}"
"""
FACE = """
[[face]]
name = "peer"
remote = "udp4://{address}:{port}"
{more}
[[route]]
prefix = "/"
face = "peer"
cost = 10
"""


class Wire:
    """Two hosts, `near` and `far`, each with a forwarder, and a wire between them. `udp` is text about UDP faces for
    both forwarders' files, `face` is text about the near forwarder's face to the far one."""

    def __init__(self, *options, scheme="fixed", face="", udp=""):
        self.lab = Lab()
        number = os.getpid()
        self.near, self.far = (self.lab.host(f"{name}{number}") for name in ("near", "far"))
        link = self.lab.host("link", is_isolated=False)
        link.start(sys.executable, HERE / "wire.py", self.near.namespace, self.far.namespace, *options, say="ready")
        peer = FACE.format(address=ADDRESSES[1], port=PORT, more=face)
        config = [FORWARDER.format(address=address, port=PORT, scheme=scheme, udp=udp) for address in ADDRESSES]
        self.forwarders = [self.near.weir(config[0] + peer), self.far.weir(config[1])]

    def close(self):
        self.lab.close()

    def put(self, name, size, *options):
        """Publishes zeros at the far host."""
        file = self.lab.folder / f"content-{size}"
        with file.open("wb") as out:
            out.truncate(size)
        # The kernel may read ahead by megabytes, and filling holes takes time while the producer waits: 18 ms for 8 MB.
        with file.open("rb") as content:
            while content.read(1 << 20):
                pass
        self.far.start(weir_binary(), "put", name, file, *options, "--socket", self.forwarders[1].unix, "--quiet")
        self.forwarders[1].wait_route(name)

    def get(self, name, *options):
        """Starts a fetch at the near host, to a file that grows with each Data. Returns the process."""
        return self.near.start(weir_binary(), "get", name, *options, "--socket", self.forwarders[0].unix)

    def get_by(self, *command):
        """Like `get`, with a command of other software."""
        return self.near.start(*command, transport=self.forwarders[0].unix)

    def sent_again(self):
        """The number of Interests that the near host has retransmitted over the wire, and of received Data."""
        link = next(face for face in self.forwarders[0].command("face") if "10.9.0.2" in face["remote"])
        pending = self.forwarders[0].command("status")["pit_entries"]
        return max(0, link["out_interests"] - link["in_data"] - pending), link["in_data"]

    def tcp(self, congestion, lead=0.0):
        """Starts to send by TCP from the far host to the near one, to a file that grows with it. Returns the process.
        With a `lead` it connects and first sends nothing for this many seconds, because starting the programs takes
        several round-trip times."""
        receiver = self.near.start(sys.executable, __file__, "receive", say="ready")
        self.far.start(sys.executable, __file__, "send", congestion, time.monotonic() + lead)
        return receiver

    def ping(self):
        """Sends datagrams to be echoed. Returns the process. Its log has a line for each echo: the time, and the
        round-trip time in ms."""
        self.far.start(sys.executable, __file__, "echo", say="ready")
        return self.near.start(sys.executable, __file__, "ask")


# ---- Programs on the hosts


def receive():
    server = socket.create_server((ADDRESSES[0], TCP_PORT))
    print("ready", flush=True)
    peer, _ = server.accept()
    while data := peer.recv(1 << 16):
        os.write(1, bytes(len(data)))


def send(congestion, begins):
    with socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        sock.connect((ADDRESSES[0], TCP_PORT))
        time.sleep(max(0.0, float(begins) - time.monotonic()))
        while True:
            sock.sendall(bytes(1 << 16))


def echo():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((ADDRESSES[1], ECHO_PORT))
        print("ready", flush=True)
        while True:
            data, sender = sock.recvfrom(100)
            sock.sendto(data, sender)


def ask():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= due:
                due = now + PING_INTERVAL
                sock.sendto(str(now).encode(), (ADDRESSES[1], ECHO_PORT))
            sock.settimeout(max(0.0005, due - now))
            try:
                sent = float(sock.recv(100))
            except TimeoutError:
                continue
            now = time.monotonic()
            print(now, 1000 * (now - sent), flush=True)


HOSTS = {"receive": receive, "send": send, "echo": echo, "ask": ask}

# ---- Measuring


def round_trips(log, since):
    """Median, 95th percentile and maximum of the round-trip times that have ended since then, ms."""
    lines = [line.split() for line in log.read_text().splitlines()]
    times = sorted(float(words[1]) for words in lines if len(words) == 2 and float(words[0]) >= since)
    if len(times) < 10:
        return None
    named = {"p50": statistics.median(times), "p95": times[int(0.95 * len(times))], "max": times[-1]}
    return {name: round(value, 1) for name, value in named.items()}


def measure(options):
    wire = Wire(
        "--rate", options.rate, "--buffer", options.buffer, "--delay", options.rtt / 2, "--loss", options.loss,
        "--mtu", options.mtu, "--seed", options.seed,
        scheme=options.forwarders, face=options.face.replace(";", "\n"), udp=options.udp,
    )  # fmt: skip
    try:
        wire.put("/content", options.bytes or int(options.rate / 8 * (options.seconds + 20)))
        pings = wire.ping().path
        flows, begin = {}, {"get": lambda: wire.get("/content", *given(options))}
        if options.tcp:
            begin["tcp"] = lambda: wire.tcp(options.tcp)
        began = time.monotonic()
        for name in sorted(begin, key=lambda name: name != options.first):
            flows[name] = begin[name]()
            if name == options.first:
                time.sleep(options.gap if options.tcp else 0)
        return (whole if options.bytes else part)(options, flows, pings, began)
    finally:
        wire.close()


def given(options):
    return ["--scheme", options.scheme, *(word for param in options.param for word in ("--param", param))]


def whole(options, flows, pings, began):
    try:
        flows["get"].wait(timeout=options.seconds)
    except subprocess.TimeoutExpired:
        pass
    took = time.monotonic() - began
    came = min(options.bytes, flows["get"].path.stat().st_size)
    return {
        "seconds": round(took, 2),
        "mb": came / 1e6,
        "get_mbps": round(8e-6 * came / took, 2),
        "code": flows["get"].returncode,
        "round_trips_ms": round_trips(pings, began),
    }


def part(options, flows, pings, began):
    def sizes():
        return {name: process.path.stat().st_size for name, process in flows.items()}

    time.sleep(max(0.0, began + options.settle - time.monotonic()))
    before, since = sizes(), time.monotonic()
    time.sleep(options.seconds - options.settle)
    after, took = sizes(), time.monotonic() - since
    rates = {f"{name}_mbps": round(8e-6 * (after[name] - before[name]) / took, 2) for name in flows}
    return rates | {"round_trips_ms": round_trips(pings, since)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheme", default="bbr")
    parser.add_argument("--param", action="append", default=[])
    for name, default in (("rate", 20e6), ("rtt", 20.0), ("buffer", 100.0), ("loss", 0.0), ("seconds", 30.0)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--settle", type=float, default=5.0)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tcp")
    parser.add_argument("--first", choices=("get", "tcp"), default="get")
    parser.add_argument("--gap", type=float, default=1.0)
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--forwarders", default="fixed")
    parser.add_argument("--face", default="")
    parser.add_argument("--udp", default="", help="of both files, such as mtu = \"8800 B\"")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in HOSTS:
        HOSTS[sys.argv[1]](*sys.argv[2:])
    else:
        main()
