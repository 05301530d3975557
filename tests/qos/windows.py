#!/usr/bin/env python3
"""Windows on real sockets: PCON with each of the window laws, one flow over a marked bottleneck, beside the simulator.

Two forwarders in the lab with 10 Mb/s between them; the queue there marks Data by how long they waited. It prints goodput
and delay of both worlds, and fails where the goodput is more than 5 % off.
"""

import pathlib
import sys
import tempfile

import qos

LAWS = ["bic", "reno", "cubic", "bbr"]

SCENARIO = """
title = "One flow with a window over one link"
duration = "20 s"
[scheme]
default = "pcon"
source = "assumed: the scheme to measure"
[scheme.pcon]
law = "{law}"
source = "assumed: the law to measure"
[[node]]
name = "R{{1..2}}"
[[link]]
ends = ["R1", "R2"]
rate = "10 Mb/s"
delay = "0.1 ms"
queue = "1000 packets"
source = "assumed: a link between two hosts, and the forwarder's own bound"
[[flow]]
name = "window"
consumer = "R1"
producer = "R2"
prefix = "/A"
payload = "1024 B"
lifetime = "4 s"
source = "assumed: one flow"
[[window]]
name = "measured"
from = "5 s"
to = "20 s"
source = "assumed: some hundred marks"
[routing]
policy = "shortest-path"
"""


def main():
    return qos.run_all([lambda law=law: measure(law) for law in LAWS])


def measure(law):
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        file = pathlib.Path(folder) / "windows.toml"
        file.write_text(SCENARIO.format(law=law))
        qos.compare(file, 1, f"pcon, law {law}", [], [], [qos.shares_are_the_simulators])


if __name__ == "__main__":
    sys.exit(main())
