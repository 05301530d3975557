"""Two forwarders, `near` and `far`, with a UDP link between them; consumers are at the near one, producers at the far."""

import json
import pathlib
import signal
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "interop"))

from lab import Failed, Lab, wait_for, weir_binary  # noqa: E402

FORWARDER = """
[faces.udp]
listen = "127.0.0.1:{port}"
[faces.tcp]
listen = []
[tables]
content_store_packets = {cached}
{more}
"""

TOWARDS = """
[[face]]
name = "peer"
remote = "udp4://127.0.0.1:{port}"
{rate}
[[route]]
prefix = "/"
face = "peer"
"""


def free_port():
    """A UDP port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Path:
    """The link is direct, or a relay with these options; `rates` are those of the faces, if they are to know them."""

    def __init__(self, *relay, near="", far="", rate=None, cached=1024):
        self.lab = Lab()
        self.ports = [free_port(), free_port()]
        self.relay = None
        through = self.ports
        if relay:
            through = [free_port(), free_port()]
            # The relay looks like the other forwarder to each of them: it speaks to the far one from its own port.
            self.relay = self.lab.host("link", is_isolated=False)
            self.relay.process = self.relay.start(
                sys.executable, HERE / "relay.py", through[1], self.ports[1], *relay, say="ready"
            )
        rate = f'rate = "{rate}"' if rate else ""
        self.config = [
            FORWARDER.format(port=self.ports[0], cached=cached, more=near + TOWARDS.format(port=through[1], rate=rate)),
            FORWARDER.format(port=self.ports[1], cached=cached, more=far),
        ]
        self.hosts = [self.lab.host(name, is_isolated=False) for name in ("near", "far")]
        self.near, self.far = (host.weir(config) for host, config in zip(self.hosts, self.config))

    def close(self):
        self.lab.close()

    def put(self, name, file, *options):
        """Publishes a file at the far forwarder; the process."""
        process = self.hosts[1].start(
            weir_binary(), "put", name, file, *options, "--socket", self.far.unix, "--quiet"
        )
        self.far.wait_route(name)
        return process

    def get(self, name, to, *options, timeout=600):
        """Fetches at the near forwarder; its statistics."""
        said = self.hosts[0].run(
            weir_binary(), "get", name, "-o", to, *options, "--socket", self.near.unix, "--json", timeout=timeout
        )
        return json.loads(said)

    def start_get(self, name, to, *options):
        """Begins to fetch at the near forwarder; the process, whose log has its statistics."""
        return self.hosts[0].start(
            weir_binary(), "get", name, "-o", to, *options, "--socket", self.near.unix, "--json"
        )

    def restart(self, which):
        """Kills a forwarder, and starts it again."""
        weir, host = (self.near, self.hosts[0]) if which == "near" else (self.far, self.hosts[1])
        kill(weir.process)
        weir.path.unlink(missing_ok=True)
        weir.process = host.start(weir_binary(), "forward", "--config", host.folder / "weir.toml")
        weir.wait_until_up()

    def cut(self, seconds):
        """Nothing passes the relay for so long."""
        self.relay.process.send_signal(signal.SIGUSR1)
        time.sleep(seconds)
        self.relay.process.send_signal(signal.SIGUSR2)


def kill(process):
    process.kill()
    process.wait()


def finish(process, timeout=600):
    """Waits for a process; what it said.

    Raises Failed if it does not end well or in time."""
    process.wait(timeout=timeout)
    said = process.path.read_text(errors="replace")
    if process.returncode != 0:
        raise Failed(f"{process.args} ended with {process.returncode}:\n{said}")
    return said


def statistics(said):
    """The JSON at the end of what a process said."""
    return json.loads(said[said.index("{\n") :])


__all__ = ["Failed", "Path", "finish", "kill", "statistics", "wait_for", "weir_binary"]
