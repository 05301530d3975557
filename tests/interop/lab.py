"""Hosts, processes and forwarders of a test: each host is a network namespace, and each process is killed at the end."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE / "peers"
NDND = PEERS / "ndnd"
PYNFDC = PEERS / "python" / "bin" / "pynfdc"
NDNTS = HERE / "ndnts" / "peer.mjs"

# Maximum time for anything that must happen, s. It is long because the machine may be busy.
PATIENCE = 60


def weir_binary():
    """The forwarder under test."""
    target = os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target")
    return pathlib.Path(os.environ.get("WEIR", pathlib.Path(target) / "release" / "weir"))


def needs(path, why):
    """Skips the test if a peer could not be installed."""
    if not path.exists():
        raise unittest.SkipTest(why)


def needs_ndnd():
    needs(NDND, "ndnd is not installed: it needs Go")


def needs_ndnts():
    needs(HERE / "ndnts" / "node_modules", "NDNts is not installed: it needs Node.js")


def wait_for(what, condition):
    """Waits until `condition` is true, and returns its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"in {PATIENCE} s: not {what}")


class Failed(AssertionError):
    """A command that did not succeed."""


class Lab:
    """A folder, hosts and processes, which are removed on close. With WEIR_KEEP=1 the folder stays, with all logs."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-interop-"))
        self.processes = []
        self.hosts = []
        self.cables = []

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            process.log.close()
        # The kernel removes the cables of a namespace with a delay, but our names must be free at once.
        for host, end in self.cables:
            host.ip("link", "delete", end)
        for host in self.hosts:
            if host.namespace:
                ip("netns", "delete", host.namespace)
        if not os.environ.get("WEIR_KEEP"):
            shutil.rmtree(self.folder)

    def host(self, name=None, is_isolated=True):
        """A host: a network namespace with this name. Without a name, or if it is not isolated, it is the tests' own
        namespace."""
        host = Host(self, name if is_isolated else None, name or "main")
        self.hosts.append(host)
        return host

    def link(self, a, b, subnet):
        """Connects two hosts with a cable: `subnet`.1 and `subnet`.2."""
        ends = [f"{a.label}-{b.label}", f"{b.label}-{a.label}"]
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        self.cables.append((a, ends[0]))
        for number, (host, end) in enumerate(zip((a, b), ends), start=1):
            if host.namespace:
                ip("link", "set", end, "netns", host.namespace)
            host.ip("address", "add", f"{subnet}.{number}/24", "dev", end)
            host.ip("link", "set", end, "up")


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Host:
    """A host that runs processes."""

    def __init__(self, lab, namespace, label):
        self.lab, self.namespace, self.label = lab, namespace, label
        self.folder = lab.folder / self.label
        self.folder.mkdir()
        if namespace:
            ip("netns", "add", namespace)
            self.ip("link", "set", "lo", "up")

    def ip(self, *arguments):
        ip(*(["-n", self.namespace] if self.namespace else []), *arguments)

    def _command(self, arguments):
        inside = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        return inside + [str(argument) for argument in arguments]

    def _environment(self, transport):
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        given = {"NDN_CLIENT_TRANSPORT": str(transport)} if transport else {}
        return os.environ | {"HOME": str(home)} | given

    def start(self, *arguments, transport=None, stdin=None, say=None):
        """Starts a process. With `say`, waits until its output contains this text."""
        number = len(self.lab.processes)
        path = self.folder / f"{number}-{pathlib.Path(str(arguments[0])).name}.log"
        log = path.open("wb")
        process = subprocess.Popen(
            self._command(arguments),
            env=self._environment(transport),
            cwd=self.folder,
            stdin=stdin or subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        process.log, process.path = log, path
        self.lab.processes.append(process)
        if say:
            self.wait_said(process, say)
        return process

    @staticmethod
    def wait_said(process, say):
        """Waits until the output of a process contains this text."""

        def said():
            text = process.path.read_text(errors="replace")
            if found := re.search(say, text):
                return found
            if process.poll() is not None:
                raise Failed(f"{process.args} ended with {process.returncode}:\n{text}")
            return None

        try:
            return wait_for(f"{say!r} from {process.args}", said)
        except AssertionError as error:
            raise Failed(f"{error}\n{process.path.read_text(errors='replace')}") from None

    def run(self, *arguments, transport=None, timeout=PATIENCE, text=True):
        """Returns the standard output of a command.

        Raises Failed if it fails or does not end in time."""
        try:
            done = subprocess.run(
                self._command(arguments),
                env=self._environment(transport),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{late.cmd} was not done in {timeout} s:\n{late.output}\n{late.stderr}") from None
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode(errors="replace")
            raise Failed(f"{arguments} ended with {done.returncode}:\n{said}")
        return done.stdout.decode() if text else done.stdout

    def weir(self, config=""):
        """Starts Weir's forwarder. Sockets that `config` does not name are the default ones, except the Unix socket's
        path."""
        return Weir(self, config)

    def ndnd_forwarder(self):
        """Starts ndnd's forwarder on all addresses of the host."""
        return NdndForwarder(self)


class Weir:
    """A running `weir forward`."""

    def __init__(self, host, config):
        self.host = host
        self.path = host.folder / "weir.sock"
        self.unix = f"unix://{self.path}"
        file = host.folder / "weir.toml"
        file.write_text(f'[faces.unix]\npath = "{self.path}"\n{config}')
        self.process = host.start(weir_binary(), "forward", "--config", file)
        self.wait_until_up()

    def wait_until_up(self):
        def answers():
            if self.process.poll() is not None:
                raise Failed(self.process.path.read_text())
            return self.path.exists() and can_connect(self.path)

        wait_for("the socket of weir", answers)

    def command(self, *arguments):
        """Runs a command of Weir, and returns its JSON."""
        text = self.host.run(weir_binary(), *arguments, "--socket", self.unix, "--json")
        return json.loads(text) if text.strip() else None

    def routes(self, prefix):
        """The routes for a prefix."""
        return [route for route in self.command("route") if route["prefix"] == prefix]

    def wait_route(self, prefix):
        """Waits until a prefix is registered."""
        return wait_for(f"a route for {prefix}", lambda: self.routes(prefix))

    def wait_no_route(self, prefix):
        """Waits until a prefix is not registered any more."""
        wait_for(f"the end of the routes for {prefix}", lambda: not self.routes(prefix))

    def is_running(self):
        return self.process.poll() is None


class NdndForwarder:
    """A running `ndnd fw run`."""

    CONFIG = """
core: {{log_level: INFO}}
faces:
  udp: {{enabled_unicast: true, enabled_multicast: false, port_unicast: 6363, default_mtu: 1420}}
  tcp: {{enabled: true, port_unicast: 6363}}
  unix: {{enabled: true, socket_path: {path}}}
  websocket: {{enabled: false}}
fw: {{threads: 1}}
tables: {{content_store: {{capacity: 16}}, rib: {{readvertise_nlsr: false}}}}
"""

    def __init__(self, host):
        needs_ndnd()
        self.host = host
        self.path = host.folder / "ndnd.sock"
        self.unix = f"unix://{self.path}"
        file = host.folder / "ndnd.yml"
        file.write_text(self.CONFIG.format(path=self.path))
        self.process = host.start(NDND, "fw", "run", file)
        wait_for("the socket of ndnd", lambda: self.path.exists() and can_connect(self.path))

    def command(self, *arguments):
        return self.host.run(NDND, "fw", *arguments, transport=self.unix)

    def is_running(self):
        return self.process.poll() is None


def can_connect(path):
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return False
    return True
