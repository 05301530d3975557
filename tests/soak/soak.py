#!/usr/bin/env python3
"""Mixed load on two forwarders for ten minutes, or so many seconds: soak.py [SECONDS].

Files are fetched over a link that loses, pings are answered by both forwarders, producers come and go, faces and routes
are made and removed, the configuration is read again, connections are opened and left, and strangers send garbage and
Interests without an answer. The forwarders must not grow, lose an answer that the link does not lose, or keep a
descriptor; every file is right."""

import itertools
import json
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "apps"))

from path import Failed, Path, digest_of, free_port, kill, weir_binary  # noqa: E402

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
# The options of the link, in each direction.
LOSS, RATE, DELAY_MS = 0.002, 20e6, 5
FILE_BYTES = 3_000_000
# Ports of unknown peers.
STRANGERS = 64
# Maximum growth of memory from the second to the last quarter of the time.
GROWTH, GROWTH_BYTES = 1.05, 1 << 20
# After this time forwarders forget pending Interests and idle peers.
QUIET_S = 60


class Load:
    """Actions that are repeated until the end, each in its own thread."""

    def __init__(self):
        self.ends_at = time.monotonic() + SECONDS
        self.failures, self.counts, self.threads = [], {}, []

    def repeat(self, name, do, pause=0.0):
        def run():
            for number in itertools.count():
                if time.monotonic() >= self.ends_at or self.failures:
                    return
                try:
                    do(number)
                except Exception as error:  # noqa: BLE001: it is reported
                    self.failures.append(f"{name}, the {number + 1}th: {error}")
                self.counts[name] = number + 1
                time.sleep(pause)

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()


def resident(process):
    """Resident memory, bytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


class Soak:
    def __init__(self):
        self.path = Path("--loss", str(LOSS), "--rate", str(RATE), "--delay", str(DELAY_MS), "--queue", "100000")
        self.near, self.far = self.path.near, self.path.far
        self.forwarders = {"near": self.near.process, "far": self.far.process}
        self.random = random.Random(1)
        self.digests = [self.publish(number) for number in range(3)]
        for host, weir, name in zip(self.path.hosts, (self.near, self.far), ("/near", "/far")):
            host.start(weir_binary(), "ping-server", name, "--socket", weir.unix)
            weir.wait_route(f"{name}/ping")
        self.strangers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(STRANGERS)]
        self.stranger = free_port()
        self.near.command("face", "create", f"udp4://127.0.0.1:{self.stranger}")
        self.pings = {"/near": [0, 0], "/far": [0, 0]}

    def publish(self, number):
        file = self.path.lab.folder / f"file-{number}"
        file.write_bytes(random.Random(number).randbytes(FILE_BYTES))
        self.path.put(f"/movies/{number}", file)
        return digest_of(file)

    def fetch(self, number):
        got = self.path.lab.folder / "got"
        which = number % len(self.digests)
        self.path.get(f"/movies/{which}", got, timeout=300)
        if digest_of(got) != self.digests[which]:
            raise Failed("the file is not the one that was published")
        got.unlink()

    def ping(self, name):
        said = self.path.hosts[0].run(
            *(weir_binary(), "ping", name, "-c", "100", "-i", "20ms", "--socket", self.near.unix, "--json"), timeout=120
        )
        answered = json.loads(said)
        self.pings[name][0] += answered["sent"]
        self.pings[name][1] += answered["received"]

    def come_and_go(self, number):
        """Creates and removes a producer, a route and a face, and reloads the configuration."""
        file = self.path.lab.folder / "short"
        file.write_bytes(b"short")
        producer = self.path.hosts[0].start(
            weir_binary(), "put", f"/short/{number % 7}", file, "--socket", self.near.unix, "--quiet"
        )
        self.near.wait_route(f"/short/{number % 7}")
        kill(producer)
        producer.log.close()
        self.path.lab.processes.remove(producer)
        remote = f"udp4://127.0.0.1:{self.stranger}"
        self.near.command("route", "add", f"/gone/{number % 11}", remote)
        self.near.command("route", "remove", f"/gone/{number % 11}", remote)
        made = self.near.command("face", "create", f"udp4://127.0.0.2:{10000 + number % 100}")
        self.near.command("face", "destroy", str(made["face"] if "face" in made else made["id"]))
        self.near.process.send_signal(signal.SIGHUP)

    def connect_and_leave(self, number):
        """Sends garbage, half an Interest, or nothing, over the Unix socket."""
        said = [self.random.randbytes(300), b"\x05\x20\x07", b"", b"\x64\xfd\xff\xff"][number % 4]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.near.path))
            connection.sendall(said)

    def speak_as_a_stranger(self, number):
        """Sends garbage, and Interests for names that do not exist, here and beyond the link."""
        sock = self.strangers[number % STRANGERS]
        for _ in range(50):
            prefix = self.random.choice([b"\x08\x04gone", b"\x08\x06movies"])
            name = prefix + b"\x08\x08" + self.random.randbytes(8)
            body = b"\x07" + bytes([len(name)]) + name + b"\x0a\x04" + self.random.randbytes(4)
            sock.sendto(b"\x05" + bytes([len(body)]) + body, ("127.0.0.1", self.udp_port))
            sock.sendto(self.random.randbytes(self.random.randrange(1, 100)), ("127.0.0.1", self.udp_port))

    @property
    def udp_port(self):
        text = (self.path.hosts[0].folder / "weir.toml").read_text()
        return int(text.split('listen = "127.0.0.1:')[1].split('"')[0])

    def sample(self):
        return {name: (resident(process), descriptors(process)) for name, process in self.forwarders.items()}

    def run(self):
        # Wait before measuring: the first action of each kind allocates memory that stays, such as buffers.
        self.fetch(0)
        before = self.sample()
        load = Load()
        load.repeat("files", self.fetch)
        load.repeat("pings beside", lambda _: self.ping("/near"))
        load.repeat("pings over the link", lambda _: self.ping("/far"))
        load.repeat("producers, routes, faces and reloads", self.come_and_go, 0.2)
        load.repeat("connections", self.connect_and_leave, 0.05)
        load.repeat("bursts of strangers", self.speak_as_a_stranger, 0.25)
        samples = []
        while time.monotonic() < load.ends_at and not load.failures:
            time.sleep(min(5.0, SECONDS / 40))
            samples.append(self.sample())
            self.show(samples)
        for thread in load.threads:
            thread.join()
        failures = load.failures or list(self.judge(load, samples, before))
        print()
        for failure in failures:
            print(f"FAILED: {failure}")
        print(f"{SECONDS:.0f} s of mixed load: {'FAILED' if failures else 'passed'}")
        return 1 if failures else 0

    def show(self, samples):
        if sys.stdout.isatty():
            memory = ", ".join(f"{name} {rss / 1e6:.1f} MB, {fds} descriptors" for name, (rss, fds) in samples[-1].items())
            print(f"\r{memory}   ", end="", flush=True)

    def judge(self, load, samples, before):
        for name, count in load.counts.items():
            print(f"{name}: {count}")
        for name, (sent, received) in self.pings.items():
            print(f"pings of {name}: {received} of {sent} answered")
            lost = 0.0 if name == "/near" else 2 * LOSS
            allowed = sent * lost + 4 * (sent * lost) ** 0.5
            if sent - received > allowed:
                yield f"{sent - received} of {sent} pings of {name} were lost, and the link loses {100 * lost} %"
        quarter = len(samples) // 4
        time.sleep(QUIET_S)
        for name, process in self.forwarders.items():
            early = max(sample[name][0] for sample in samples[quarter : 2 * quarter])
            late = max(sample[name][0] for sample in samples[-quarter:])
            fds = descriptors(process)
            print(f"{name}: {before[name][0] / 1e6:.1f} MB at first, {early / 1e6:.1f} in the second quarter, ", end="")
            print(f"{late / 1e6:.1f} in the last; {before[name][1]} descriptors before, {fds} after")
            if process.poll() is not None:
                yield f"the {name} forwarder ended with {process.returncode}"
            if late > GROWTH * early + GROWTH_BYTES:
                yield f"the {name} forwarder grows from {early} to {late} bytes"
            if fds > before[name][1]:
                yield f"the {name} forwarder keeps {fds - before[name][1]} descriptors"


def main():
    soak = Soak()
    try:
        return soak.run()
    finally:
        soak.path.close()


if __name__ == "__main__":
    sys.exit(main())
