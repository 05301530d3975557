#!/usr/bin/env python3
"""How long packets wait in `weir forward` while a neighbour gets many routes, and while it is lost with them.

An application registers the routes, all by one face, and then destroys the face. Meanwhile another one pings through the
forwarder, and notes the longest round trip of each phase. It prints a table in Markdown, for docs/reference/forwarding.md. What
the host takes the processor away for counts too: see the first line of the table, and run it on an idle machine.

usage: routes.py --weir target/release/weir [--routes 1000000]
"""
import argparse
import hashlib
import multiprocessing
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tempfile
import time

from memory import data, elements, free_ports, network_packet, tlv

# Commands in flight.
WINDOW = 256
# Maximum duration of a phase without routes, s.
QUIET_S = 5


def component(value):
    return tlv(8, value)


def prefix(number):
    return tlv(7, component(b"example"), component(b"site%d" % number), component(b"data"))


def command(module, verb, parameters):
    """A signed Interest, with a digest."""
    parts = [component(part) for part in (b"localhost", b"nfd", module, verb, tlv(104, *parameters))]
    nonce, now = os.urandom(8), struct.pack(">Q", time.time_ns() // 1_000_000)
    covered = tlv(36) + tlv(44, tlv(27, b"\0"), tlv(38, nonce), tlv(40, now))
    signed = covered + tlv(46, hashlib.sha256(b"".join(parts) + covered).digest())
    return tlv(5, tlv(7, *parts, tlv(2, hashlib.sha256(signed).digest())), tlv(18), tlv(10, nonce[:4]), signed)


class Application:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.wire = b""

    def replies(self):
        """Waits for complete Data. Returns at least one."""
        while True:
            self.wire += self.socket.recv(1 << 16)
            frames, at = [], 0
            while (size := frame_size(self.wire, at)) and at + size <= len(self.wire):
                frames.append(self.wire[at : at + size])
                at += size
            self.wire = self.wire[at:]
            if frames:
                return frames

    def ask(self, interest):
        self.socket.sendall(interest)
        content = dict(elements(dict(elements(network_packet(self.replies()[0])))[6]))[21]
        response = dict(elements(dict(elements(content))[101]))
        assert response[102] == b"\x00\xc8" or response[102] == b"\xc8", response
        return dict(elements(response[104]))

    def list(self):
        """Requests the first segment. Afterwards the forwarder has the others."""
        of = tlv(7, *(component(part) for part in (b"localhost", b"nfd", b"rib", b"list")))
        self.socket.sendall(tlv(5, of, tlv(33), tlv(18), tlv(10, b"nnnn"), tlv(12, b"\x75\x30")))
        self.replies()

    def register(self, routes, face):
        sent = answered = 0
        while answered < routes:
            count = min(routes - sent, WINDOW - (sent - answered))
            if count > WINDOW // 2 or sent + count == routes:
                these = range(sent, sent + count)
                self.socket.sendall(
                    b"".join(command(b"rib", b"register", [prefix(n), tlv(105, face)]) for n in these)
                )
                sent += count
            frames = self.replies()
            assert all(b"\xc8" in frame for frame in frames)
            answered += len(frames)


def frame_size(wire, at):
    """The length of the frame that begins there; 0 if it is not known yet."""
    if len(wire) < at + 4:
        return 0
    size = wire[at + 1]
    if size == 253:
        return 4 + int.from_bytes(wire[at + 2 : at + 4], "big")
    return 2 + size


def ping(forwarder, producer_port, longest, stops):
    """Sends Interests and answers them without pause. Returns the longest round-trip time, s."""
    producer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    producer.bind(("127.0.0.1", producer_port))
    consumer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    consumer.connect(("127.0.0.1", forwarder))
    number = 0
    while not stops.value:
        number += 1
        of = tlv(7, component(b"ping"), component(struct.pack(">I", number)))
        begin = time.monotonic()
        consumer.send(tlv(5, of, tlv(10, struct.pack(">I", number)), tlv(12, b"\x27\x10")))
        frame, weir = producer.recvfrom(9000)
        asked = next(value for typ, value in elements(next(elements(network_packet(frame)))[1]) if typ == 7)
        producer.sendto(data(tlv(7, asked)), weir)
        consumer.recv(9000)
        longest.value = max(longest.value, time.monotonic() - begin)
        time.sleep(0.0003)


def resident(process):
    """Converts to MB."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", required=True, help="the binary")
    parser.add_argument("--routes", type=int, default=1_000_000)
    parser.add_argument("--again", action="store_true", help="have all of it twice")
    parser.add_argument("--list", action="store_true", help="ask for the list of routes too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, (udp, producer, neighbour) = pathlib.Path(folder) / "weir.sock", free_ports(3)
        config = pathlib.Path(folder) / "weir.toml"
        config.write_text(
            f'[faces.unix]\npath = "{path}"\n[faces.udp]\nlisten = ["127.0.0.1:{udp}"]\n[faces.tcp]\nlisten = []\n'
            f'[[face]]\nname = "producer"\nremote = "udp4://127.0.0.1:{producer}"\n'
            '[[route]]\nprefix = "/ping"\nface = "producer"\n[log]\nlevel = "warn"\n'
            "[tables]\ncontent_store_packets = 0\n"
        )
        process = subprocess.Popen([args.weir, "forward", "--config", config])
        while not path.exists():
            time.sleep(0.1)
        longest, stops = multiprocessing.Value("d", 0, lock=False), multiprocessing.Value("b", 0, lock=False)
        pings = multiprocessing.Process(target=ping, args=(udp, producer, longest, stops), daemon=True)
        pings.start()
        try:
            measure(args, Application(path), neighbour, process, longest)
        finally:
            stops.value = 1
            pings.join(2)
            process.send_signal(signal.SIGTERM)
            process.wait()


def measure(args, application, neighbour, process, longest):
    print("| phase | longest round trip, ms | resident, MB | it takes, s |\n|---|---|---|---|", flush=True)

    def phase(what, run):
        longest.value, begin = 0, time.monotonic()
        run()
        spent = time.monotonic() - begin
        print(f"| {what} | {longest.value * 1e3:.1f} | {resident(process):.0f} | {spent:.0f} |", flush=True)

    def register(face):
        application.register(args.routes, face)

    time.sleep(1)
    phase("nothing", lambda: time.sleep(QUIET_S))
    for _ in range(1 + args.again):
        uri = tlv(114, f"udp4://127.0.0.1:{neighbour}".encode())
        face = application.ask(command(b"faces", b"create", [uri]))[105]
        phase(f"{args.routes} routes come", lambda: register(face))
        phase("they are there", lambda: time.sleep(QUIET_S))
        if args.list:
            phase("an application lists them", application.list)

        def lose():
            application.ask(command(b"faces", b"destroy", [tlv(105, face)]))
            # At most 256 routes per millisecond.
            time.sleep(QUIET_S + args.routes / 100_000)

        phase("the face is lost", lose)


if __name__ == "__main__":
    main()
