#!/usr/bin/env python3
"""Sluice on real sockets, without a rate in any file: the bottleneck is a queueing discipline of the kernel between two
forwarders, which none of them knows of. Beside the simulator, which has the same link as a rate-limited one.

Then the same with a `rate` at the producer's end of the bottleneck, from which the consumer's forwarder is told. Both
check the goodput of each class and that nothing is lost, as `qos.py` does. The first one needs `tc` with the discipline `tbf`.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import qos

# Headers of Ethernet, IP and UDP: the kernel counts them, faces and the simulator do not.
HEADERS = 14 + 20 + 8
# What the kernel's link may queue, ms.
BUFFER = 50
SECONDS = 12
FLOWS = 4  # of each class: less than in the scenario, and for less time
OVERRIDES = [
    "scheme.default=sluice", f"duration={SECONDS} s", f"window.steady.to={SECONDS} s",
    f"flow.*.count={FLOWS}", "flow.EF.source_rate=200 kb/s",
]  # fmt: skip


class Lab(qos.Lab):
    """Its files have no rates but those of `told`, (node, neighbour). Links slower than the first one are the kernel's."""

    def __init__(self, *arguments, told=()):
        super().__init__(*arguments)
        self.told = told

    def add_link(self, number, left, right):
        super().add_link(number, left, right)
        rate = bits_per_second(self.links[number][2])
        if self.told or rate == max(bits_per_second(link[2]) for link in self.links):
            return
        for node, name in ((left, f"weir{number}a"), (right, f"weir{number}b")):
            inside = ["ip", "netns", "exec", self.namespace(node)]
            less = ["stab", "overhead", str(-HEADERS)]
            shape = ["tbf", "rate", f"{rate:.0f}bit", "burst", "2400", "limit", str(int(rate * BUFFER / 8000))]
            subprocess.run([*inside, "tc", "qdisc", "add", "dev", name, "root", *less, *shape], check=True)

    def configuration(self, node):
        text, lines = super().configuration(node), []
        peer = None
        for line in text.splitlines():
            if line.startswith("name = "):
                peer = line.split('"')[1]
            if not line.startswith("rate = ") or (node, peer) in self.told:
                lines.append(line)
        return "\n".join(lines) + "\n"


def bits_per_second(text):
    number, unit = text.split()
    return float(number) * {"kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9}[unit]


def has_tbf():
    """Whether the kernel has the discipline, and `tc` is there."""
    name = f"weir-tbf-{os.getpid()}"
    inside = ["ip", "netns", "exec", name]
    try:
        qos.ip("netns", "add", name)
        qos.ip("-n", name, "link", "add", "name", "one", "type", "veth", "peer", "name", "other")
        shape = ["tbf", "rate", "1mbit", "burst", "2400", "limit", "10000"]
        return subprocess.run([*inside, "tc", "qdisc", "add", "dev", "one", "root", *shape]).returncode == 0
    finally:
        subprocess.run(["ip", "netns", "del", name])


def compare(arguments, title, told):
    print(f"{title}\n")
    if not told and not has_tbf():
        print("SKIP: there is no `tc`, or its discipline `tbf`\n")
        return None
    scenario = tomllib.loads(arguments.scenario.read_text())
    scenario["scheme"]["default"] = "sluice"
    for flow in scenario["flow"]:
        flow["count"] = FLOWS
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        lab = Lab(arguments, pathlib.Path(folder), scenario, OVERRIDES, told=told)
        try:
            lab.start()
            real = lab.run()
        finally:
            lab.stop()
    simulated = qos.simulate(arguments, OVERRIDES)
    qos.print_table(simulated, real)
    failures = [*qos.shares_are_the_simulators(simulated, real), *qos.nothing_is_lost(simulated, real)]
    for failure in failures:
        print(f"FAILED: {failure}")
    print()
    return len(failures)


RUNS = [
    ("Sluice, no rate in any file: the kernel's link is found by the time of the hop", ()),
    ("Sluice, a rate at the producer's end of the bottleneck", [("R3", "R2")]),
]


def main():
    arguments = qos.parse_arguments()
    arguments.seeds = 1
    return qos.run_all([lambda run=run: compare(arguments, *run) for run in RUNS])


if __name__ == "__main__":
    sys.exit(main())
