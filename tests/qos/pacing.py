#!/usr/bin/env python3
"""How well a face keeps its rate: two forwarders in the lab, one greedy flow, faces of several rates.

The Data of the flow fill the face towards the consumer. With the scheme `fixed` and a large window it always has
something to send; with `qsccp` it is the Interests that are paced. It prints what left in ten seconds beside what
leaves in the simulator, and fails where that is more than 1 % off though the machine kept up.
"""

import pathlib
import sys
import tempfile

import qos

RATES = ["1 Mb/s", "10 Mb/s", "100 Mb/s", "1 Gb/s"]
BITS = {"Mb/s": 1e6, "Gb/s": 1e9}
SCHEMES = ["fixed", "qsccp"]
TOLERANCE = 0.01
BUSY = 0.9  # fraction of the processors: above it they limit the rate
SETTLE, MEASURE = 3, 10  # seconds
PAYLOAD = 1024  # bytes

SCENARIO = """
title = "One greedy flow over one link"
duration = "{duration} s"
[scheme]
default = "{scheme}"
source = "assumed: the scheme to measure"
[scheme.fixed]
window = {window}
source = "assumed: 20 ms of the link, so that it never waits for Interests and nobody takes what waits for lost"
[[node]]
name = "R{{1..2}}"
[[link]]
ends = ["R1", "R2"]
rate = "{rate}"
delay = "0.1 ms"
queue = "1000 packets"
source = "assumed: the rate to measure"
[[flow]]
name = "greedy"
consumer = "R1"
producer = "R2"
prefix = "/A"
payload = "{payload} B"
lifetime = "10 s"
source = "assumed: one flow"
[[window]]
name = "measured"
from = "{settle} s"
to = "{duration} s"
source = "assumed: long enough for a thousandth at 1 Mb/s"
[routing]
policy = "shortest-path"
"""


def main():
    print("face        scheme    simulator, Mb/s    real  off, %   processors busy, %")
    return qos.run_all([lambda case=(rate, scheme): measure(*case) for rate in RATES for scheme in SCHEMES])


def measure(rate, scheme):
    text = SCENARIO.format(window=window(rate), payload=PAYLOAD, rate=rate, scheme=scheme, settle=SETTLE, duration=SETTLE + MEASURE)
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        file = pathlib.Path(folder) / "pacing.toml"
        file.write_text(text)
        wanted = leaves(qos.document("run", file))

        def check(real):
            off = leaves(real) / wanted - 1
            busy = real["lab"]["busy"]
            is_host = busy >= BUSY or real["lab"]["doubts"]
            print(
                f"{rate:<12}{scheme:<9}{wanted / 1e6:>16.3f}{leaves(real) / 1e6:>8.3f}{100 * off:>8.2f}{100 * busy:>12.0f}"
                + ("   SKIP: the machine did not keep up" if abs(off) > TOLERANCE and is_host else ""),
                flush=True,
            )
            assert abs(off) <= TOLERANCE or is_host, f"{rate}, {scheme}: {100 * off:.2f} % off"

        qos.measured(lambda: qos.document("lab", file), check)


def leaves(run):
    """Bits of Data sent per second."""
    link = next(link for link in run["windows"][-1]["links"] if link["from"] == "R2")
    return link["utilisation"] * link["rate_bps"]


def window(rate):
    """Number of Data in 20 ms of the link: enough that it does not idle, but no more than sockets buffer."""
    number, unit = rate.split()
    return min(max(20, int(float(number) * BITS[unit] * 0.02 / (8 * PAYLOAD))), 400)


if __name__ == "__main__":
    sys.exit(main())
