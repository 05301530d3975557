#!/usr/bin/env python3
"""How well a face keeps its rate: two forwarders, one greedy flow, faces of several rates.

The Data of the flow fill the face towards the consumer. With the scheme `fixed` and a large window it always has
something to send; with `qsccp` it is the Interests that are paced. It prints what left in ten seconds beside what
leaves in the simulator, and fails where that is more than 1 % off though the processors had time to spare.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import qos

RATES = ["1 Mb/s", "10 Mb/s", "100 Mb/s", "1 Gb/s"]
BITS = {"Mb/s": 1e6, "Gb/s": 1e9}
SCHEMES = ["fixed", "qsccp"]
TOLERANCE = 0.01
SETTLE, MEASURE = 3, 10  # seconds
PAYLOAD = 1024  # bytes
ADDRESSES = "//10.77."  # of links
BUSY = 0.9  # of the processors: then it is them who set the rate

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
    arguments = qos.parse_arguments()
    print("face        scheme    simulator, Mb/s    real  off, %   processors busy, %")
    cases = [(rate, scheme) for rate in RATES for scheme in SCHEMES]
    return qos.run_all([lambda case=case: measure(arguments, *case) for case in cases])


def measure(arguments, rate, scheme):
    with tempfile.TemporaryDirectory(prefix="weir-qos-") as folder:
        folder = pathlib.Path(folder)
        text = SCENARIO.format(window=window(rate), payload=PAYLOAD, rate=rate, scheme=scheme, settle=SETTLE, duration=SETTLE + MEASURE)
        arguments.scenario = folder / "pacing.toml"
        arguments.scenario.write_text(text)
        wanted = simulated(arguments)
        lab = qos.Lab(arguments, folder, tomllib.loads(text))
        try:
            lab.start()
            real = lab.run()
        finally:
            lab.stop()
    busy = real["host_busy"]
    left = real["windows"][-1]["flows"][0]["goodput_bps"] * frame_size(real["forwarders"][lab.producer]) / PAYLOAD
    off = left / wanted - 1
    is_right, is_host = abs(off) <= TOLERANCE, busy >= BUSY
    print(
        f"{rate:<12}{scheme:<9}{wanted / 1e6:>16.3f}{left / 1e6:>8.3f}{100 * off:>8.2f}{100 * busy:>12.0f}"
        + ("" if is_right else "   SKIP: the processors were busy" if is_host else "   FAILED")
    )
    return 0 if is_right else None if is_host else 1


def simulated(arguments):
    """Bits of Data that leave in a second in the simulator."""
    command = [arguments.weir, "run", arguments.scenario, "--json"]
    run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    link = next(link for link in run["windows"][-1]["links"] if link["from"] == "R2")
    return link["utilisation"] * link["rate_bps"]


def bits_per_second(rate):
    number, unit = rate.split()
    return float(number) * BITS[unit]


def window(rate):
    """Data in 20 ms of the link; not so few that it idles, nor more than sockets hold."""
    return min(max(20, int(bits_per_second(rate) * 0.02 / (8 * PAYLOAD))), 400)


def frame_size(figures):
    """Mean size of the frames that left for the consumer, bytes."""
    of = lambda begin: sum(
        value for name, value in figures.items() if name.startswith(begin) and ADDRESSES in name
    )
    return of("weir_face_sent_bytes") / of("weir_face_sent_packets")


if __name__ == "__main__":
    sys.exit(main())
