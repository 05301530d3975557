"""Draws the figure of each scheme's page, by `weir run` and `weir plot`.

    python docs/figures/schemes.py [SCHEME...]

WEIR names the command; the default is `weir`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

WEIR = os.environ.get("WEIR", "weir")
FOLDER = Path(__file__).parent / "schemes"

# A link on which a window has room to move.
LONG = ["duration=60s", "link.*.rate=50 Mb/s", "link.*.delay=25 ms", "link.*.queue=200 packets"]

# Scheme: scenario, what is set, metrics, what lines are of.
FIGURES = {
    "qsccp": ("qsccp/dumbbell", [], "goodput,delay", "class"),
    "sluice": ("qsccp/tree", [], "goodput", "flow"),
    "mircc": ("qsccp/diamond-bandwidth", [], "goodput", "flow"),
    "omcc-rf": ("qsccp/diamond-latency", [], "goodput", "flow"),
    "pcon": ("qsccp/diamond-latency", [], "goodput", "flow"),
    "dpccp": ("dpccp/fairness", [], "goodput", "flow"),
    "hbhcm": ("hbhcm/cache", [], "goodput", "flow"),
    "e2e-aqm": ("e2e-aqm/dumbbell", [], "goodput", "flow"),
    "ndn-qsf": ("ndn-qsf/shared-cache", [], "goodput", "flow"),
    "tcp-newreno": ("e2e-aqm/dumbbell", [], "goodput", "flow"),
    "reno": ("examples/minimal", LONG, "window", "flow"),
    "bic": ("examples/minimal", LONG, "window", "flow"),
    "cubic": ("examples/minimal", LONG, "window", "flow"),
    "bbr": ("examples/minimal", ["duration=60s"], "pending,goodput", "flow"),
}


def draw(scheme: str) -> None:
    scenario, settings, metrics, by = FIGURES[scheme]
    given = [word for setting in settings for word in ("--set", setting)]
    with tempfile.TemporaryDirectory() as folder:
        run = [WEIR, "run", scenario, "--scheme", scheme, "--out", folder, *given]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        what = ["--what", "series", "--metric", metrics, "--by", by, "--window", "run", "--columns", "2"]
        subprocess.run([WEIR, "plot", folder, *what, "--output", FOLDER / f"{scheme}.svg"], check=True)


for name in sys.argv[1:] or FIGURES:
    draw(name)
