"""The command `weir lab` under test, and its traces on this machine."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "apps"))

# Maximum time for anything that must happen, s. The machine may be busy.
PATIENCE = 30
# The environment variable that identifies all processes of a lab.
MARK = "WEIR_TEST_MARK"
NOBODY = 65534


def weir_binary():
    target = os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target")
    # Labs run in other folders.
    return str(pathlib.Path(os.environ.get("WEIR", pathlib.Path(target) / "release" / "weir")).resolve())


def why_not(as_nobody=False):
    """Why the command cannot create namespaces; None if it can."""
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork"]
    command = [*as_user(as_nobody), *unshare, *(["--map-root-user"] if as_nobody or os.geteuid() else [])]
    try:
        tried = subprocess.run([*command, weir_binary(), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else None


def as_user(is_nobody):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if is_nobody else []


def wait_for(what, condition):
    """Waits until `condition` is true, and returns its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.005)
    raise AssertionError(f"in {PATIENCE} s: not {what}")


def scenario(consumers, flows=4, rate="10 Mb/s", duration="2 s"):
    """A scenario with consumers at a router, a bottleneck, and as many producers; each consumer has `flows` flows."""
    return f"""
title = "Consumers and producers on both sides of a bottleneck"
duration = "{duration}"
[scheme]
default = "qsccp"
source = "assumed: rates that all forwarders compute"
[[node]]
name = "R{{1..2}}"
[[node]]
name = "C{{1..{consumers}}}"
[[node]]
name = "P{{1..{consumers}}}"
[defaults.link]
rate = "100 Mb/s"
delay = "1 ms"
queue = "100 packets"
source = "assumed"
[[link]]
ends = ["C{{1..{consumers}}}", "R1"]
[[link]]
ends = ["R2", "P{{1..{consumers}}}"]
[[link]]
ends = ["R1", "R2"]
rate = "{rate}"
source = "assumed: the bottleneck"
""" + "".join(
        f"""
[[flow]]
name = "F{number}"
consumer = "C{number}"
producer = "P{number}"
prefix = "/F{number}/{{}}"
count = {flows}
payload = "1024 B"
lifetime = "2 s"
start_spread = "500 ms"
source = "assumed"
"""
        for number in range(1, consumers + 1)
    ) + """
[routing]
policy = "shortest-path"
"""


class Running:
    """A running `weir lab` in its own process group."""

    def __init__(self, folder, *words, as_nobody=False, environment=None, before=(), is_first=False):
        self.mark = uuid.uuid4().hex
        self.out = folder / f"out-{self.mark}"
        self.said = folder / f"said-{self.mark}"
        self.networks = set()
        with self.said.open("w") as said:
            self.process = subprocess.Popen(
                [*before, *as_user(as_nobody), weir_binary(), "lab", *map(str, words), "--out", self.out],
                env=os.environ | {MARK: self.mark} | (environment or {}),
                cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
                preexec_fn=run_first if is_first else None,
            )  # fmt: skip

    def processes(self):
        """The arguments of each of its processes, by process ID. Records their network namespaces."""
        found = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().decode().split("\0")
                    network = os.readlink(folder / "ns" / "net")
                    found[int(folder.name)] = words
                    self.networks.add(network)
            except OSError:
                # The process has ended.
                pass
        return found

    def forwarders(self):
        return [words for words in self.processes().values() if "forward" in words]

    def says(self, text):
        return text in self.said.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Waits until it has ended. Returns its exit code."""
        return self.process.wait(timeout=PATIENCE)

    def document(self):
        return json.loads((self.out / "run.json").read_text())


def networks():
    """The network namespaces of all processes, and the named ones."""
    found = set()
    for link in pathlib.Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(os.readlink(link))
        except OSError:
            # The process has ended.
            pass
    return found | {f"net:[{name.stat().st_ino}]" for name in pathlib.Path("/run/netns").glob("*")}


def machine():
    """Possible remains of a lab on this machine: mounts and interfaces."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    interfaces = os.listdir("/sys/class/net")
    return [
        *sorted(line for line in mounts if " weir-lab " in line),
        *sorted(name for name in interfaces if re.fullmatch(r"l\d+[ab]", name)),
    ]


class OnThisMachine(unittest.TestCase):
    """A test with labs that must leave nothing on this machine."""

    @classmethod
    def setUpClass(cls):
        if why := why_not():
            raise unittest.SkipTest(why)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-lab-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o777)
        self.before = machine()

    def file(self, *arguments, **options):
        file = self.folder / "scenario.toml"
        file.write_text(scenario(*arguments, **options))
        return file

    def start(self, *words, **options):
        running = Running(self.folder, *words, **options)
        self.addCleanup(running.kill)
        return running

    def assert_nothing_is_left(self, running):
        """Checks that nothing of a lab is left soon after its command has ended."""
        wait_for(f"an end of all processes: {running.processes()}", lambda: not running.processes())
        own = os.readlink("/proc/self/ns/net")
        wait_for("an end of its network namespaces", lambda: not (running.networks - {own}) & networks())
        self.assertEqual(machine(), self.before)
        strange = [file for file in self.folder.iterdir() if not file.name.startswith(("out-", "said-", "scenario"))]
        self.assertEqual(strange, [])


def run_first():
    """Gives this process and its children priority over the host's others, because waiting for them would count as
    network delay."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


def simulate(*words):
    """The document of `weir run`."""
    done = subprocess.run([weir_binary(), "run", *map(str, words), "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def signal_group(process, number):
    os.killpg(process.pid, number)


def signal_alone(process, number):
    process.send_signal(number)

