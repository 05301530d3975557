"""Draws the figure of the dumbbell beside what the paper states, from a run of it.

    cargo run --release -- run qsccp/dumbbell
    python docs/figures/dumbbell.py out/qsccp-dumbbell-qsccp docs/figures

Needs polars. Values are means over MEAN_S seconds.
"""

import json
import sys
from pathlib import Path

import polars as pl

MEAN_S = 0.5
CLASSES = ["EF", "AF2", "AF1", "BE"]
COLOURS = {"EF": "#b5338a", "AF2": "#1f6fb4", "AF1": "#2a8a4a", "BE": "#c07000"}
STATED = {"EF": 1.0, "AF2": 4.5, "AF1": 3.0, "BE": 1.5}
FONT = 'font-family="system-ui, sans-serif" font-size="12" fill="#333"'


def means(series: pl.DataFrame, column: str) -> dict[str, list[tuple[float, float]]]:
    steps = series.with_columns((pl.col("t_s") / MEAN_S + 1e-6).floor().alias("step"))
    rows = steps.group_by("class", "step").agg(pl.col(column).mean()).drop_nulls().sort("step")
    return {c: [((s + 0.5) * MEAN_S, v) for _, s, v in rows.filter(pl.col("class") == c).rows()] for c in CLASSES}


class Panel:
    """One plot: its frame, its axes, and what is drawn in it."""

    def __init__(self, left, top, width, height, end, ceiling, floor=0.0):
        self.left, self.top, self.width, self.height = left, top, width, height
        self.end, self.ceiling, self.floor = end, ceiling, floor
        self.parts = []

    def x(self, t):
        return self.left + self.width * t / self.end

    def y(self, value):
        share = (min(value, self.ceiling) - self.floor) / (self.ceiling - self.floor)
        return self.top + self.height * (1 - share)

    def axes(self, title, step_x, step_y):
        right = self.left + self.width
        value = self.floor
        while value <= self.ceiling + 1e-9:
            y = self.y(value)
            self.parts.append(f'<path d="M{self.left} {y:.1f}H{right}" stroke="#ddd"/>')
            self.parts.append(f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
            value += step_y
        for t in range(0, int(self.end) + 1, step_x):
            self.parts.append(
                f'<text x="{self.x(t):.1f}" y="{self.top + self.height + 16}" text-anchor="middle">{t}</text>'
            )
        self.parts.append(
            f'<text x="{right}" y="{self.top + self.height + 32}" text-anchor="end">time, s</text>'
        )
        self.parts.append(f'<text x="{self.left}" y="{self.top - 10}" font-weight="600">{title}</text>')

    def curve(self, points, colour):
        path = "L".join(f"{self.x(t):.1f} {self.y(v):.1f}" for t, v in points)
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.4"/>')

    def level(self, value, colour):
        self.parts.append(
            f'<path d="M{self.left} {self.y(value):.1f}H{self.left + self.width}" stroke="{colour}" '
            'stroke-dasharray="6 4" opacity="0.8"/>'
        )

    def label(self, value, text, colour):
        self.parts.append(
            f'<text x="{self.left + self.width + 6}" y="{self.y(value) + 4:.1f}" fill="{colour}">{text}</text>'
        )


def svg(width, height, description, panels):
    parts = "\n".join(part for panel in panels for part in panel.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{description}" {FONT}>\n'
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{parts}\n</svg>\n'
    )


def main(run: Path, out: Path):
    series = pl.read_parquet(run / "classes.parquet")
    document = json.loads((run / "run.json").read_text())
    end = document["simulated_s"]
    goodput = {c: [(t, v / 1e6) for t, v in points] for c, points in means(series, "goodput_bps").items()}

    # From content to whole Data on the bottleneck, by what the run measured of both.
    steady = {row["class"]: row["goodput_bps"] for row in document["windows"][0]["classes"]}
    rates = {row["what"].split(" class ")[1].split(" ")[0]: row["measured"]
             for row in document["expectations"] if row["what"].startswith("rate of Data of class ")}
    rate = Panel(48, 36, 300, 240, end, 5)
    rate.axes("(a) Data on the bottleneck, Mb/s", 40, 1)
    delay = Panel(450, 36, 300, 240, end, 300, 100)
    delay.axes("(b) delay, ms", 40, 50)
    delays = means(series, "delay_ms")
    for c in CLASSES:
        rate.level(STATED[c], COLOURS[c])
        rate.curve([(t, v * rates[c] / steady[c]) for t, v in goodput[c]], COLOURS[c])
        rate.label(STATED[c], c, COLOURS[c])
        delay.curve(delays[c], COLOURS[c])
    text = "Data rate and delay of each class in qsccp/dumbbell; dashed: what the paper states"
    (out / "dumbbell-validation.svg").write_text(svg(800, 330, text, [rate, delay]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
