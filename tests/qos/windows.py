#!/usr/bin/env python3
"""Windows on real sockets: PCON with each of the window laws, one flow over a marked bottleneck, beside the simulator.

Two forwarders with 10 Mb/s between them; the queue there marks Data by how long they waited. It prints goodput and
delay of both worlds, and fails where the goodput is more than 5 % off though the processors had time to spare.
"""

import pathlib
import sys
import tempfile
import tomllib

import qos

LAWS = ["bic", "reno", "cubic", "bbr"]
BUSY = 0.9  # of the processors: then it is them who set the rate

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


class Lab(qos.Lab):
    """Forwarders with the law's parameters, though no consumer of theirs reads them."""

    def configuration(self, node):
        return super().configuration(node) + f'[scheme.pcon]\nlaw = "{self.scenario["scheme"]["pcon"]["law"]}"\n'


def main():
    arguments = qos.parse_arguments()
    return qos.run_all([lambda law=law: measure(arguments, law) for law in LAWS])


def measure(arguments, law):
    print(f"pcon, law {law}\n")
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        folder = pathlib.Path(folder)
        arguments.scenario = folder / "windows.toml"
        arguments.scenario.write_text(SCENARIO.format(law=law))
        simulated = qos.simulate(arguments, ())
        lab = Lab(arguments, folder, tomllib.loads(arguments.scenario.read_text()))
        try:
            lab.start()
            real = lab.run()
        finally:
            lab.stop()
    qos.print_table(simulated, real)
    failures = list(qos.shares_are_the_simulators(simulated, real))
    is_host = real["host_busy"] >= BUSY
    for failure in failures:
        print(f"{'SKIP, the processors were busy' if is_host else 'FAILED'}: {failure}")
    print()
    return None if failures and is_host else len(failures)


if __name__ == "__main__":
    sys.exit(main())
