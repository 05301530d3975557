#!/usr/bin/env python3
"""Paths as the Internet has them, by scheme and by software: what a consumer gets, and what others beside it keep.

usage: paths.py [--case WORDS] [--runs N] [--list] [--write] [--resume]

Each case is a wire between two network namespaces (`wire.py`) with a forwarder of Weir at each end. A consumer fetches from
`weir put` over it, alone, beside a second one, or beside a flow of the kernel's TCP CUBIC; a datagram is echoed every 20 ms
meanwhile. The runs of the cases take turns. It prints a table; --write puts the table into docs/reference/paths.md and
draws docs/figures/paths-*.svg. --case takes the cases whose name contains all these words. target/paths.jsonl keeps each run;
with --resume the table has the runs that are there already too, and cases with so many runs are not measured again.

`ndnd cat` of ndnd is measured where tests/interop/install.sh has installed it or NDND names it, and `ndncatchunks` of NFD's
tools where it is on the PATH or in the folder WEIR_NFD; otherwise the page keeps their rows, marked, or they are skipped and
counted. It needs root. The processors are to be idle: the wire is a program too, and the table says how busy they were.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "bench"))

import beside  # noqa: E402
from fetch import svg  # noqa: E402
from lab import NDND, Failed, weir_binary  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "paths.md"
FIGURES = ROOT / "docs" / "figures"
KEPT = ROOT / "target" / "paths.jsonl"
BEGIN, END = "<!-- paths: begin -->", "<!-- paths: end -->"
NAMES = ["/one", "/other"]
# Content of a segment of `weir put`, bytes.
SEGMENT = 8000
# A TCP flow of the kernel.
TCP = "TCP CUBIC"
# A TCP flow connects this many seconds before both begin, so that neither waits for its programs to start.
LEAD = 1.0
# Maximum time of all runs, s. The remaining ones are then skipped and counted.
LONGEST = 15 * 60


def tools():
    """The commands of other software, by name in the table; None if it is not installed."""
    ndnd = os.environ.get("NDND") or (NDND if NDND.exists() else None)
    nfd = os.environ.get("WEIR_NFD")
    chunks = shutil.which("ndncatchunks", path=os.pathsep.join([*([nfd] if nfd else []), os.environ["PATH"]]))
    return {
        "ndnd cat": ndnd and [ndnd, "cat"],
        "ndncatchunks": chunks and [chunks, "--quiet"],
    }


@dataclasses.dataclass(frozen=True)
class Case:
    """A path and its traffic. The rate is in Mb/s, round-trip time and buffer are in ms, and `loss` is a fraction of
    the packets in each direction. The measurement starts at `settle` seconds. `wanted` is a bound of a figure: its
    name, whether it is a minimum or a maximum, and its value."""

    rate: float
    rtt: float
    consumer: str = "bbr"
    beside: str = ""
    loss: float = 0.0
    buffer: float = 100.0
    mtu: int = 1500
    seconds: float = 12.0
    settle: float = 4.0
    wanted: tuple = ()

    def path(self):
        loss = f", {100 * self.loss:g} % lost" if self.loss else ""
        return f"{self.rate:g} Mb/s, {self.rtt:g} ms, buffer {self.buffer:g} ms{loss}"

    def name(self):
        return f"{self.path()}: {self.consumer}" + (f" beside {self.beside}" if self.beside else "")


def cases():
    """The cases of the table, from top to bottom."""
    others = list(tools())
    for rtt, bounds in ((20, {0.01: 85}), (100, {0.0: 90, 0.01: 60})):
        for loss in (0.0, 0.001, 0.01):
            for consumer in ("bbr", "cubic", *others, TCP):
                least = bounds.get(loss) if consumer == "bbr" else None
                figure = "steady_mbps" if loss else "mbps"
                yield Case(100, rtt, consumer, loss=loss, wanted=(figure, ">=", least) if least else ())
    # The forwarders repair these losses.
    for loss in (0.02, 0.03, 0.05, 0.1):
        yield Case(100, 20, "bbr", loss=loss, wanted=("steady_mbps", ">=", 60) if loss <= 0.05 else ())
    for consumer in ("bbr", "cubic"):
        yield Case(20, 20, consumer, "another", wanted=("least_mbps", ">=", 8.5))
    for buffer in (20, 100):
        for consumer in ("bbr", "cubic"):
            wanted = ("ratio", "<=", 1.5) if consumer == "cubic" else ()
            yield Case(20, 20, consumer, TCP, buffer=buffer, seconds=40, settle=10, wanted=wanted)
    for consumer in ("bbr", "cubic", *others, TCP):
        yield Case(10, 20, consumer, buffer=200, wanted=("p50_ms", "<=", 40) if consumer == "bbr" else ())
    for rate, rtt in ((10, 20), (100, 20), (100, 100)):
        yield Case(rate, rtt, "qsccp", seconds=20, settle=10, wanted=("steady_mbps", ">=", 0.8 * rate))


# ---- Measuring


def processor_times():
    user, nice, system, idle, waiting, *more = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    ran = user + nice + system + sum(more)
    return ran, ran + idle + waiting


def measure(case, seed):
    """Makes one run of a case. Returns its figures."""
    wire = beside.Wire(
        "--rate", case.rate * 1e6, "--buffer", case.buffer, "--delay", case.rtt / 2, "--loss", case.loss,
        "--mtu", case.mtu, "--seed", seed,
    )  # fmt: skip
    try:
        number = 2 if case.beside == "another" else 1
        for at, name in enumerate(NAMES[:number]):
            wire.put(name, int(case.rate * 125_000 * (case.seconds + 5)) + at)
        pings = wire.ping().path
        others = []
        if case.beside == TCP:
            others = [wire.tcp("cubic", LEAD)]
            time.sleep(LEAD)
        flows = [begin(wire, case.consumer, name) for name in NAMES[:number]] + others
        ran, began = processor_times(), time.monotonic()
        time.sleep(case.settle)
        settled, since = sizes(wire, case, flows), time.monotonic()
        time.sleep(case.seconds - case.settle)
        ended, until = sizes(wire, case, flows), time.monotonic()
        for flow in flows:
            if flow.poll():
                raise Failed(f"{flow.args} ended with {flow.returncode}: {flow.path.read_bytes()[-500:]}")
        busy = [now - then for now, then in zip(processor_times(), ran)]
        again, data = wire.sent_again()
        whole = [8e-6 * size / (until - began) for size in ended]
        steady = [8e-6 * (size - before) / (until - since) for size, before in zip(ended, settled)]
        got = {"mbps": whole[0], "steady_mbps": steady[0], "again": 100 * again / max(1, data)}
        if case.consumer == TCP:
            del got["again"]
        if case.beside:
            got |= {"beside_mbps": steady[1], "least_mbps": min(steady)}
            got["ratio"] = max(steady) / max(0.01, min(steady))
        if trips := beside.round_trips(pings, since):
            got |= {"p50_ms": trips["p50"], "p95_ms": trips["p95"]}
        got["busy"] = 100 * busy[0] / max(1, busy[1])
        return got
    finally:
        wire.close()


def begin(wire, consumer, name):
    """Starts a fetch."""
    if consumer == TCP:
        return wire.tcp("cubic")
    if command := tools().get(consumer):
        return wire.get_by(*command, name)
    return wire.get(name, "--scheme", consumer)


def sizes(wire, case, flows):
    """Number of received bytes of content. Other software may write them only at the end: then the Data on the wire
    count."""
    if case.consumer in tools():
        return [SEGMENT * wire.sent_again()[1]]
    return [flow.path.stat().st_size for flow in flows]


def median(runs, figure):
    values = [run[figure] for run in runs if figure in run]
    return statistics.median(values) if values else None


def kept():
    """The runs of earlier commands, by name of the case."""
    runs = {}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else []:
        run = json.loads(line)
        runs.setdefault(run.pop("case"), []).append(run)
    return runs


def keep(case, run):
    KEPT.parent.mkdir(exist_ok=True)
    with KEPT.open("a") as file:
        file.write(json.dumps({"case": case.name()} | run) + "\n")


def on_the_page(tool):
    """A run for each row of a program on the page, by path: a program that is not installed keeps its rows. None of
    them has another flow beside it."""
    runs = {}
    for line in PAGE.read_text().splitlines() if PAGE.exists() else []:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        of = dict(zip(COLUMNS, cells))
        if len(cells) == len(COLUMNS) and of["consumer"] in (f"`{tool}`", f"`{tool}`{EARLIER}"):
            figures = {key: of[key] for key in ("mbps", "steady_mbps", "again")}
            figures |= dict(zip(("p50_ms", "p95_ms"), of["trips"].replace(",", " ").split()))
            runs[of["path"]] = [{key: float(value) for key, value in figures.items() if value} | {"is_earlier": True}]
    return runs


# ---- Output

# The mark of a row that was measured earlier than the others.
EARLIER = " (earlier)"

COLUMNS = {
    "path": "Path",
    "consumer": "Consumer",
    "mbps": "Mb/s from the start",
    "steady_mbps": "Mb/s later",
    "beside": "Beside, Mb/s later",
    "trips": "Round trips of others, ms: median, 95 %",
    "again": "Sent again, %",
    "wanted": "Wanted",
}
WANTED = {
    "mbps": "{} Mb/s from the start",
    "steady_mbps": "{} Mb/s",
    "least_mbps": "{} Mb/s each",
    "ratio": "{} times",
    "p50_ms": "{} ms",
}


def number(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}"


def verdict(case, runs):
    """The wanted bound, and whether it is reached."""
    if not case.wanted:
        return ""
    figure, sense, bound = case.wanted
    value = median(runs, figure)
    is_met = value is not None and (value >= bound if sense == ">=" else value <= bound)
    most = "at least" if sense == ">=" else "at most"
    found = "reached" if is_met else f"**not reached: {number(value)}**"
    return f"{most} {WANTED[figure].format(f'{bound:g}')}: {found}"


def row(case, runs):
    beside_it = f"{case.beside}: {number(median(runs, 'beside_mbps'))}" if case.beside else ""
    trips = [number(median(runs, name), 0) for name in ("p50_ms", "p95_ms")]
    consumer = f"`{case.consumer}`" + (EARLIER if "is_earlier" in runs[0] else "")
    cells = [
        case.path(), consumer, number(median(runs, "mbps")), number(median(runs, "steady_mbps")), beside_it,
        ", ".join(trips), number(median(runs, "again"), 2), verdict(case, runs),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(results):
    head = "| " + " | ".join(COLUMNS.values()) + " |\n" + "|---" * len(COLUMNS) + "|\n"
    return head + "\n".join(row(case, runs) for case, runs in results.items() if runs) + "\n"


def write(results, note):
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{note}\n{END}{after}")
    named = {case.name(): runs for case, runs in results.items() if runs}
    left = 7 * max(map(len, named))
    plots = {"goodput": ("mbps", "Mb/s from the start"), "round-trips": ("p50_ms", "median round trip of others, ms")}
    for file, (key, axis) in plots.items():
        (FIGURES / f"paths-{file}.svg").write_text(svg(named, "", key, axis, left))


def names(cases):
    """The programs' names."""
    return ", ".join(dict.fromkeys(case.consumer for case in cases))


def may_make_wires():
    if os.geteuid() != 0:
        return "it needs root, for network namespaces and TUN devices"
    if not pathlib.Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    probe = subprocess.run("ip netns add weir-probe && ip netns delete weir-probe", shell=True, capture_output=True)
    return probe.stderr.decode().strip() if probe.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="", help="only cases whose name contains these words")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--write", action="store_true", help="write the page and its figures")
    parser.add_argument("--resume", action="store_true", help="go on with the runs of earlier commands")
    options = parser.parse_args()
    chosen = [case for case in cases() if all(word in case.name() for word in options.case.split())]
    if options.list:
        return print("\n".join(case.name() for case in chosen))
    if why := may_make_wires():
        return print(f"SKIP paths: {why}")
    absent = [tool for tool, command in tools().items() if not command]
    page = {tool: on_the_page(tool) for tool in absent}
    if not options.resume:
        KEPT.unlink(missing_ok=True)
    earlier = kept()
    results = {case: earlier.get(case.name(), []) for case in chosen if case.consumer not in absent}
    left_out = [case for case in chosen if case.consumer in absent]
    old = {case: earlier.get(case.name()) or page[case.consumer].get(case.path()) for case in left_out}
    skipped = [case for case, runs in old.items() if not runs]
    late, ended = 0, time.monotonic() + LONGEST
    for turn in range(options.runs):
        for case, runs in results.items():
            if len(runs) > turn:
                continue
            if time.monotonic() + case.seconds + 5 > ended:
                late += 1
                continue
            try:
                runs.append(measure(case, turn + 1))
            except Failed as failure:
                runs.append({"failed": str(failure)})
            keep(case, runs[-1])
            said = ", ".join(f"{name} {value:.4g}" for name, value in runs[-1].items() if name != "failed")
            print(f"{turn + 1} of {options.runs}: {case.name()}: {said or runs[-1]['failed']}", file=sys.stderr, flush=True)
    busy = median([run for runs in results.values() for run in runs], "busy") or 0.0
    kept_rows = [case for case, runs in old.items() if runs]
    gone = f" {len(kept_rows)} rows are of an earlier time: {names(kept_rows)} not installed." if kept_rows else ""
    gone += f" {len(skipped)} rows are left out: {names(skipped)} not installed." if skipped else ""
    gone += f" {late} runs are left out: they would have taken more than {LONGEST // 60} minutes." if late else ""
    counts = [len(runs) for runs in results.values() if runs] or [0]
    count = f"{min(counts)} to {max(counts)} runs" if min(counts) < max(counts) else f"{max(counts)} run" + "s" * (max(counts) > 1)
    note = (
        f"Medians of {count}. {os.cpu_count()} processors, busy for "
        f"{busy:.0f} % of the time (median).{gone}"
    )
    results = {case: {**results, **old}[case] or [] for case in chosen}
    print(f"{table(results)}\n{note}")
    if options.write:
        write(results, note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
