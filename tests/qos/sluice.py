# Sluice on real sockets, without rates at the forwarders: packets wait at the emulated bottleneck, which no forwarder
# knows. Then the same with known rates. Both are compared with the simulator, with the checks of `qos.py`.
"""Sluice on real sockets, where no forwarder is told a rate: packets wait at the emulated bottleneck, which none of them
knows of. Then the same with rates that are told. Both beside the simulator, with the checks of `qos.py`."""

import sys

import qos

SECONDS = 12
OVERRIDES = [
    "scheme.default=sluice", f"duration={SECONDS} s", f"window.steady.to={SECONDS} s",
    # Fewer flows of each class than in the scenario, and a shorter run.
    "flow.*.count=4", "flow.EF.source_rate=200 kb/s",
    # At the start a forwarder without rates requests more and more until Data wait. The buffer is 50 ms, like the
    # kernel's.
    "link.*.queue=60 packets",
]  # fmt: skip
CLAIMS = [qos.shares_are_the_simulators, qos.nothing_is_lost]
RUNS = [
    ("Sluice, no rate in any file: the link is found by the time of the hop", OVERRIDES, ["--untold"], CLAIMS),
    ("Sluice, with the rates of links", OVERRIDES, [], CLAIMS),
]


def main():
    scenario = qos.parse_arguments().scenario
    return qos.run_all([lambda run=run: qos.compare(scenario, 1, *run) for run in RUNS])


if __name__ == "__main__":
    sys.exit(main())
