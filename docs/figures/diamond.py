"""Draws the figure of the diamond from a run of it.

    cargo run --release -- run qsccp/diamond-bandwidth
    python docs/figures/diamond.py out/qsccp-diamond-bandwidth-qsccp docs/figures

Needs polars. Values are those of the run's samples.
"""

import json
import sys
from pathlib import Path

import polars as pl

from dumbbell import Panel, svg

COLOURS = {"C1": "#1f6fb4", "C2": "#2a8a4a", "C3": "#c07000"}
# From, to, Mb/s, as the paper states them.
STATED = [(0, 80, 14.0), (80, 160, 7.0), (160, 240, 14 / 3), (240, 320, 5.6), (240, 320, 2.8)]


def step(panel, start, end, value):
    panel.parts.append(
        f'<path d="M{panel.x(start):.1f} {panel.y(value):.1f}H{panel.x(end):.1f}" stroke="#555" '
        'stroke-dasharray="6 4" opacity="0.8"/>'
    )


def main(run: Path, out: Path):
    series = pl.read_parquet(run / "flows.parquet").sort("t_s")
    document = json.loads((run / "run.json").read_text())

    # From content to whole Data, by what the run measured of both while C1 was alone.
    goodput = document["windows"][0]["classes"][0]["goodput_bps"]
    rates = (row for row in document["expectations"] if row["what"].startswith("rate of Data of consumer C1"))
    whole = next(rates)["measured"]

    end = document["simulated_s"]
    rate = Panel(48, 36, 620, 200, end, 15)
    rate.axes("(a) Data of each consumer, Mb/s", 40, 5)
    for stated in STATED:
        step(rate, *stated)
    delay = Panel(48, 310, 620, 160, end, 200, 50)
    delay.axes("(b) delay, ms", 40, 50)
    for consumer, colour in COLOURS.items():
        rows = series.filter(pl.col("consumer") == consumer)
        points = [(t, v / 1e6 * whole / goodput) for t, v in rows.select("t_s", "goodput_bps").rows()]
        rate.curve([point for point in points if point[1] > 0], colour)
        rate.label(points[-1][1] + (0.6 if consumer == "C2" else 0), consumer, colour)
        delays = rows.select("t_s", "delay_ms").drop_nulls().rows()
        delay.curve(delays, colour)
        delay.label(delays[-1][1] + (10 if consumer == "C2" else 0), consumer, colour)
    text = (
        "Data rate and delay of three consumers in qsccp/diamond-bandwidth, of which C3 is greedy from 240 s; "
        "dashed: what the paper states"
    )
    (out / "diamond-validation.svg").write_text(svg(720, 516, text, [rate, delay]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
