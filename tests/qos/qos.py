#!/usr/bin/env python3
"""QoS on real sockets: a scenario whose nodes are a line, on real forwarders in network namespaces, beside the simulator.

Each node is a `weir forward` in a namespace of its own, each link a pair of virtual interfaces and a UDP face at either
end with the link's rate. Its consumers and producers are applications on the Unix sockets of the forwarders
(`weir traffic`). Checked are

  - the goodput of each class: within 5 % of what the simulator has for the same scenario;
  - that nothing is lost: the forwarders drop nothing, no Interest is unanswered, times out or is sent again;
  - where the other classes ask for more than there is: the delay of class EF, whose 99th percentile is below the
    median of every other class; and that no Data is lost, only Interests.

It needs root, `ip` and network namespaces; where they are missing it says SKIP and why, and counts its runs as skipped.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOLERANCE = 0.05  # of the goodput of a class: the figure
PORT = 6363
METRICS_PORT = 9363


def main():
    arguments = parse_arguments()
    return run_all([lambda run=run: compare(arguments, run) for run in RUNS])


def run_all(tests):
    """Runs tests that give how many of their claims do not hold, or None where the processors set the figures, and says
    how many tests passed. The exit code."""
    if reason := why_not():
        print(f"SKIP: {reason}\n0 passed, 0 failed, {len(tests)} skipped")
        return 0
    failures = [test() for test in tests]
    passed, skipped = failures.count(0), failures.count(None)
    failed = len(tests) - passed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def compare(arguments, run):
    """One run, real and simulated; how many of its claims do not hold."""
    print(f"{run.title}\n")
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        scenario = tomllib.loads(arguments.scenario.read_text())
        lab = Lab(arguments, pathlib.Path(folder), scenario, run.overrides)
        try:
            lab.start()
            real = lab.run()
        finally:
            lab.stop()
    simulated = simulate(arguments, run.overrides)
    print_table(simulated, real)
    failures = [failure for claim in run.claims for failure in claim(simulated, real)]
    for failure in failures:
        print(f"FAILED: {failure}")
    print()
    return len(failures)


def parse_arguments():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", type=pathlib.Path, default=HERE / "dumbbell.toml")
    parser.add_argument("--weir", type=pathlib.Path, default=os.environ.get("WEIR", target / "weir"))
    parser.add_argument("--seeds", type=int, default=3, help="runs of the simulator")
    return parser.parse_args()


def why_not():
    """What is missing to run this; None if nothing is."""
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not shutil.which("ip"):
        return "there is no `ip` (iproute2)"
    probe = f"weir-qos-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    if made.returncode:
        return f"no network namespace can be made: {made.stderr.strip()}"
    ip("netns", "del", probe)
    return None


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Lab:
    """The forwarders of a scenario, in namespaces of their own."""

    def __init__(self, arguments, folder, scenario, overrides=()):
        self.arguments, self.folder, self.scenario, self.overrides = arguments, folder, scenario, overrides
        self.links = [(*link["ends"], link["rate"]) for link in scenario["link"]]
        self.line = [self.links[0][0]] + [link[1] for link in self.links]
        for (_, left, _), (right, _, _) in zip(self.links, self.links[1:]):
            assert left == right, "the links of the scenario are to be a line, in order"
        self.consumer = self.line[0]
        self.producer = self.line[-1]
        self.namespaces, self.processes = [], []

    def namespace(self, node):
        return f"weir-qos-{node}-{os.getpid()}"

    def inside(self, node, command, *words, **options):
        """Starts a command of weir in a node's namespace."""
        log = open(self.log(node, command), "w")
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace(node), self.arguments.weir, command, *map(str, words)],
            stderr=log,
            text=True,
            preexec_fn=run_first,
            **options,
        )
        self.processes.append((process, log))
        return process

    def start(self):
        for node in self.line:
            ip("netns", "add", self.namespace(node))
            self.namespaces.append(self.namespace(node))
            ip("-n", self.namespace(node), "link", "set", "lo", "up")
        for number, (left, right, _) in enumerate(self.links):
            self.add_link(number, left, right)
        for node in self.line:
            file = self.folder / f"{node}.toml"
            file.write_text(self.configuration(node))
            self.inside(node, "forward", "--config", file)
        for node in self.line:
            self.wait_for(f"no forwarder listens at {self.socket(node)}", self.socket(node).exists)

    def add_link(self, number, left, right):
        ends = [(left, f"weir{number}a", self.address(number, 1)), (right, f"weir{number}b", self.address(number, 2))]
        (_, a, _), (_, b, _) = ends
        ip("-n", self.namespace(left), "link", "add", a, "type", "veth", "peer", "name", b, "netns", self.namespace(right))
        for node, name, address in ends:
            ip("-n", self.namespace(node), "addr", "add", f"{address}/24", "dev", name)
            ip("-n", self.namespace(node), "link", "set", name, "up")

    @staticmethod
    def address(link, end):
        return f"10.77.{link}.{end}"

    def socket(self, node):
        return self.folder / f"{node}.sock"

    def prefixes(self):
        for flow in self.scenario["flow"]:
            for number in range(flow.get("count", 1)):
                yield flow["prefix"].replace("{}", str(number))

    def configuration(self, node):
        """The node's file: faces with the rates of its links, and routes towards the producers."""
        lines = [
            "[faces.unix]",
            f'path = "{self.socket(node)}"',
            # As in the scenario.
            'share_by = "flow"',
            "[faces.tcp]",
            "listen = []",
            "[faces.udp]",
            f'listen = "0.0.0.0:{PORT}"',
            "[tables]",
            "content_store_packets = 0",
            "[metrics]",
            f'listen = "127.0.0.1:{METRICS_PORT}"',
        ]
        scheme = self.scenario["scheme"]["default"]
        lines += ["[scheme]", f'name = "{scheme}"']
        # A host is not always on time as a simulated router is.
        lines += ["[scheme.qsccp]", "urgent_data = true"] if scheme == "qsccp" else []
        for number, (left, right, rate) in enumerate(self.links):
            if node not in (left, right):
                continue
            there = 2 if node == left else 1
            lines += [
                "[[face]]",
                f'name = "{right if node == left else left}"',
                f'remote = "udp4://{self.address(number, there)}:{PORT}"',
                f'rate = "{rate}"',
            ]
            if node == left:
                for prefix in self.prefixes():
                    lines += ["[[route]]", f'prefix = "{prefix}"', f'face = "{right}"']
        return "\n".join(lines) + "\n"

    def wait_for(self, what, is_there):
        deadline = time.monotonic() + 10
        while not is_there():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}\n{self.logs()}")
            time.sleep(0.02)

    def applications(self, node):
        """Starts what a node consumes and produces; they are ready when this returns."""
        words = [self.arguments.scenario.resolve(), "--node", node, "--socket", f"unix://{self.socket(node)}", "--json"]
        for override in self.overrides:
            words += ["--set", override]
        process = self.inside(node, "traffic", *words, stdout=subprocess.PIPE)
        is_ready = lambda: "ready: " in self.log(node, "traffic").read_text()
        self.wait_for(f"the applications of {node} did not start", is_ready)
        return process

    def run(self):
        """Runs the applications; what the consumers got, and what the forwarders dropped."""
        self.applications(self.producer)
        before = cpu_seconds()
        consumers = self.applications(self.consumer)
        output, _ = consumers.communicate()
        if consumers.returncode:
            raise RuntimeError(f"the consumers failed\n{self.logs()}")
        real = json.loads(output)
        real["host_busy"] = busy_since(before)
        said = self.log(self.consumer, "traffic").read_text().splitlines()
        real["refused"] = [line for line in said if "the buffer of a connection was full" in line]
        real["forwarders"] = {node: self.figures(node) for node in self.line}
        return real

    def figures(self, node):
        """The forwarder's figures for drops, by name and labels."""
        fetch = (
            "import urllib.request, sys;"
            f"sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:{METRICS_PORT}/metrics').read().decode())"
        )
        command = ["ip", "netns", "exec", self.namespace(node), sys.executable, "-c", fetch]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        figures = (line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, value in figures}

    def log(self, node, command):
        """What a command at a node says."""
        return self.folder / f"{node}-{command}.log"

    def logs(self):
        return "\n".join(f"{log.name}:\n{log.read_text()}" for log in sorted(self.folder.glob("*.log")))

    def stop(self):
        for process, _ in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process, log in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            log.close()
        for namespace in self.namespaces:
            ip("netns", "del", namespace)


def run_first():
    """Has this process run before the host's others: what they make it wait is no delay of the network."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        os.nice(-20)


def cpu_seconds():
    """Time of all processors: busy, and in all."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def busy_since(before):
    busy, whole = (now - then for now, then in zip(cpu_seconds(), before))
    return busy / whole


def simulate(arguments, overrides):
    """The last window of the simulator's runs, mean over the seeds, by class."""
    runs = []
    for seed in range(1, arguments.seeds + 1):
        command = [arguments.weir, "run", arguments.scenario, "--seed", str(seed), "--json"]
        for override in overrides:
            command += ["--set", override]
        run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        runs.append({figures["class"]: figures for figures in run["windows"][-1]["classes"]})
    mean = lambda values: sum(values) / len(values)
    return {
        name: {
            "goodput_bps": mean([run[name]["goodput_bps"] for run in runs]),
            "delay_ms": {key: mean([run[name]["delay_ms"][key] for run in runs]) for key in ("p50", "p99")},
        }
        for name in runs[0]
    }


def classes_of(real):
    return {figures["class"]: figures for figures in real["windows"][-1]["classes"]}


def total(real, key):
    """Of all flows, over the whole run."""
    return sum(flow[key] for flow in real["flows"])


def print_table(simulated, real):
    measured = classes_of(real)
    print("        goodput, Mb/s              delay, ms: simulator          real")
    print("class   simulator    real   ratio        p50      p99      p50      p99")
    for name, model in simulated.items():
        got = measured[name]
        ratio = got["goodput_bps"] / model["goodput_bps"]
        delays = [model["delay_ms"]["p50"], model["delay_ms"]["p99"], got["delay_ms"]["p50"], got["delay_ms"]["p99"]]
        print(
            f"{name:<7}{model['goodput_bps'] / 1e6:>10.3f}{got['goodput_bps'] / 1e6:>8.3f}{ratio:>8.3f}  "
            + "".join(f"{delay:>9.2f}" for delay in delays)
        )
    print(
        f"Interests sent again {total(real, 'retransmitted')}, timed out {total(real, 'timeouts')}; "
        f"processors busy {100 * real['host_busy']:.0f} %"
    )


def shares_are_the_simulators(simulated, real):
    measured = classes_of(real)
    for name, model in simulated.items():
        off = measured[name]["goodput_bps"] / model["goodput_bps"] - 1
        if abs(off) > TOLERANCE:
            yield f"goodput of {name} is {100 * off:+.1f} % off the simulator's"


def expedited_is_ahead(_, real):
    measured = classes_of(real)
    tail = measured["EF"]["delay_ms"]["p99"]
    for name in measured.keys() - {"EF"}:
        median = measured[name]["delay_ms"]["p50"]
        if tail >= median:
            yield f"1 % of EF's Data take {tail:.2f} ms or more; half of {name}'s take {median:.2f} ms or less"


def nothing_is_lost(_, real):
    for key in ("timeouts", "retransmitted", "lost"):
        if total(real, key):
            yield f"{key}: {total(real, key)}"
    yield from real["refused"]
    # Data that were on their way when the consumers left at the end find their face down: that is no loss.
    # Consumers end with Interests pending: what comes for them is dropped with their face, or nobody asks for it any more.
    has_ended = lambda name: 'reason="face down"' in name or 'reason="unsolicited Data"' in name or 'reason="out of the lifetime"' in name
    yield from drops(real, lambda name: 'dropped_packets_total{reason=' in name and not has_ended(name))
    yield from frames_lost(real)


def no_data_is_lost(_, real):
    """Interests may be: they are what a queue refuses where more is asked for than there is."""
    yield from real["refused"]
    yield from drops(real, lambda name: 'reason="link queue full"' in name)
    yield from frames_lost(real)


# Reasons of packets that were to leave: faces count these too.
ON_THE_WAY_OUT = ("link queue full", "flow queue full", "class queue full", "pushed out by a more urgent packet",
                  "dropped by queue management", "queued beyond its Interest lifetime", "lost on the link", "face down")


def frames_lost(real):
    """What faces dropped beyond what has a reason: sockets that had no room."""
    for node, figures in real["forwarders"].items():
        is_meant = lambda name: any(f'reason="{reason}"' in name for reason in ON_THE_WAY_OUT)
        with_reason = sum(value for name, value in figures.items() if is_meant(name))
        at_faces = sum(value for name, value in figures.items() if "face_dropped_packets_total" in name)
        if at_faces > with_reason:
            yield f"{node}: faces dropped {at_faces:g} packets, {with_reason:g} of them with a reason"


def drops(real, is_meant):
    for node, figures in real["forwarders"].items():
        for name, value in figures.items():
            if is_meant(name) and value:
                yield f"{node}: {name} {value:g}"


class Run:
    def __init__(self, title, overrides, claims):
        self.title, self.overrides, self.claims = title, overrides, claims


RUNS = [
    Run(
        "Consumers that obey their rates",
        [],
        [shares_are_the_simulators, nothing_is_lost],
    ),
    Run(
        "Consumers of AF2, AF1 and BE that ask for 1.5 times the available rate",
        [
            f"flow.{name}.{key}={value}"
            for name, rate in [("AF2", "700 kb/s"), ("AF1", "500 kb/s"), ("BE", "300 kb/s")]
            for key, value in [("source_rate", rate), ("unresponsive", "true")]
        ],
        [shares_are_the_simulators, expedited_is_ahead, no_data_is_lost],
    ),
]


if __name__ == "__main__":
    sys.exit(main())
