"""Two forwarders, `near` and `far`, with a UDP link between them. Consumers are at the near one, producers at the far
one."""

import hashlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

from lab import Failed, Lab, wait_for, weir_binary  # noqa: E402

# Full sizes and times, which take too long for CI.
FULL = bool(os.environ.get("WEIR_FULL"))
PIECE = 1 << 20
# Content of a segment, bytes: the default of `weir put`.
SEGMENT = 8000

FORWARDER = """
[faces.udp]
listen = "127.0.0.1:{port}"
[faces.tcp]
listen = []
[scheme]
name = "{scheme}"
[tables]
content_store_packets = {cached}
"""

FACE = """
[[face]]
name = "peer"
remote = "udp4://127.0.0.1:{port}"
{rate}
"""

# The cost is higher than that of applications' registrations, which inherit it.
ROUTE = """
[[route]]
prefix = "/"
face = "peer"
cost = 10
"""


def free_port():
    """An unused UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Path:
    """The link goes through a relay with these options, or is direct if there are none. With `rate`, both ends know
    the rate of a direct link and pace by it. Both use `scheme`, and each caches `cached` Data."""

    def __init__(self, *relay, rate=None, scheme="fixed", cached=1024):
        self.lab = Lab()
        near, far = free_port(), free_port()
        self.relay = None
        # The near forwarder's peer is the relay, in place of the far forwarder.
        through = free_port() if relay else far
        if relay:
            self.relay = self.lab.host("link", is_isolated=False).start(
                sys.executable, HERE / "relay.py", through, far, *relay, say="ready"
            )
        common = {"scheme": scheme, "cached": cached}
        rate = f'rate = "{rate}"' if rate else ""
        configs = [FORWARDER.format(port=port, **common) for port in (near, far)]
        configs[0] += FACE.format(port=through, rate=rate) + ROUTE
        # Behind a relay, the near forwarder creates the face at the far one by sending to it.
        configs[1] += "" if relay else FACE.format(port=near, rate=rate)
        self.hosts = [self.lab.host(name, is_isolated=False) for name in ("near", "far")]
        self.near, self.far = (host.weir(config) for host, config in zip(self.hosts, configs))

    def close(self):
        self.lab.close()

    def put(self, name, file, *options):
        """Publishes a file at the far forwarder. Returns the process."""
        process = self.hosts[1].start(
            weir_binary(), "put", name, file, *options, "--socket", self.far.unix, "--quiet"
        )
        self.far.wait_route(name)
        return process

    def get(self, name, to, *options, timeout=600):
        """Fetches at the near forwarder. Returns the statistics. Raises Failed if it fails or does not end in time."""
        return json.loads(self.hosts[0].run(*self._get(name, to, options), timeout=timeout))

    def get_fails(self, name, to, *options, timeout=60):
        """Fetches at the near forwarder something that is not available. Returns the error. Raises Failed if the exit
        code is not 2, the message is not exactly one error, or there is an output."""
        done = subprocess.run(
            [str(word) for word in self._get(name, to, options)], capture_output=True, text=True, timeout=timeout
        )
        if done.returncode != 2 or done.stdout or done.stderr.count("error") != 1 or to.exists():
            raise Failed(f"{done}, output: {to.exists()}")
        return done.stderr

    def start_get(self, name, to, *options):
        """Starts a fetch at the near forwarder. Returns the process. Its log has the statistics."""
        return self.hosts[0].start(*self._get(name, to, options))

    def start_stream(self, name, *options):
        """Starts a fetch to standard output at the near forwarder. Returns the process. Its log has the received
        content."""
        return self.hosts[0].start(weir_binary(), "get", name, *options, "--socket", self.near.unix)

    def _get(self, name, to, options):
        return [weir_binary(), "get", name, "-o", to, *options, "--socket", self.near.unix, "--json"]

    def link_bytes(self):
        """Bytes of frames received over the link."""
        faces = self.near.command("face")
        return next(face["in_bytes"] for face in faces if face["remote"].startswith("udp4"))

    def restart(self, which, away=0):
        """Kills a forwarder, and restarts it after this many seconds."""
        weir, host = (self.near, self.hosts[0]) if which == "near" else (self.far, self.hosts[1])
        kill(weir.process)
        weir.path.unlink(missing_ok=True)
        time.sleep(away)
        weir.process = host.start(weir_binary(), "forward", "--config", host.folder / "weir.toml")
        weir.wait_until_up()

    def cut(self, seconds):
        """The relay forwards nothing for this time."""
        self.relay.send_signal(signal.SIGUSR1)
        time.sleep(seconds)
        self.mend()

    def mend(self):
        """The relay forwards everything unchanged from now on."""
        self.relay.send_signal(signal.SIGUSR2)
        time.sleep(0.3)


def kill(process):
    process.kill()
    process.wait()


def finish(process, timeout=600):
    """Waits for a process. Returns its output.

    Raises Failed if it fails or does not end in time."""
    process.wait(timeout=timeout)
    said = process.path.read_text(errors="replace")
    if process.returncode != 0:
        raise Failed(f"{process.args} ended with {process.returncode}:\n{said}")
    return said


def statistics(said):
    """The JSON at the end of a process's output."""
    return json.loads(said[said.index("{\n") :])


def digest_of(file):
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


class OnAPath(unittest.TestCase):
    """A test with paths and files."""

    def path(self, *relay, **options):
        path = Path(*relay, **options)
        self.addCleanup(path.close)
        return path

    def file(self, path, size, seed=1):
        """A file of random bytes, and its digest."""
        source, file = random.Random(seed), path.lab.folder / f"file-{seed}"
        with file.open("wb") as out:
            for at in range(0, size, PIECE):
                out.write(source.randbytes(min(PIECE, size - at)))
        return file, digest_of(file)

    def got(self, path):
        return path.lab.folder / "got"

    def part(self, path):
        return path.lab.folder / "got.part"
