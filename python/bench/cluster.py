"""How much longer a sweep takes on two workers of a local Dask cluster than by `weir sweep --jobs 2`.

    python python/bench/cluster.py [--runs 200] [--rounds 3] [--duration "60 s"]

The two take turns, so that both see what else the machine does. The program prints the times and the ratios of their sums.
Dask takes about 10 ms of a processor for a run, whatever its length: runs that take less than 0.1 s show it.
The workers are there before the clock starts. The tables of both must be the same.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import distributed

import weir

SCENARIO = "qsccp/dumbbell"
VARY = {"link.R2-R3.rate": ["5 Mb/s", "10 Mb/s"], "link.R2-R3.loss": ["0.0001", "0.001"]}
SCHEMES = ["qsccp", "pcon"]


class Took(NamedTuple):
    """The cost of a sweep."""

    wall_s: float
    cpu_s: float
    """Processor time of all processes involved, s. It is more meaningful than the time if the machine has other work."""

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.cpu_s:.1f} s of a processor)"


def by_command(seeds: int, duration: str, out: Path) -> Took:
    """The sweep by `weir sweep`."""
    args = [word for key, values in VARY.items() for word in ("--vary", f"{key}={','.join(values)}")]
    args += ["--schemes", ",".join(SCHEMES), "--seeds", str(seeds), "--set", f"duration={duration}"]
    args += ["--jobs", "2", "--out", str(out)]
    begun, cpu_s = time.monotonic(), of_children()
    subprocess.run([sys.executable, "-m", "weir", "sweep", SCENARIO, *args], check=True, capture_output=True)
    return Took(time.monotonic() - begun, of_children() - cpu_s)


def of_children() -> float:
    """The processor time of ended processes, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_cluster(client: distributed.Client, seeds: int, duration: str, out: Path) -> Took:
    """The same sweep on the cluster."""
    begun, cpu_s = time.monotonic(), of_cluster(client)
    study = weir.sweep(SCENARIO, VARY, SCHEMES, seeds, {"duration": duration}, out=out, client=client)
    assert study.failed == 0
    return Took(time.monotonic() - begun, of_cluster(client) - cpu_s)


def of_cluster(client: distributed.Client) -> float:
    """The processor time of the workers, and of this process with the scheduler, s."""
    return time.process_time() + sum(client.run(time.process_time).values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of a sweep, a multiple of 8")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed")
    parser.add_argument("--duration", default="60 s", help="simulated time of a run")
    given = parser.parse_args()
    seeds = given.runs // 8
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    both: list[tuple[Took, Took]] = []
    with cluster, distributed.Client(cluster) as client, tempfile.TemporaryDirectory() as folder:
        for number in range(1, given.rounds + 1):
            here, there = Path(folder, "here"), Path(folder, "there")
            both.append(
                (by_command(seeds, given.duration, here), by_cluster(client, seeds, given.duration, there))
            )
            assert (here / "results.parquet").read_bytes() == (there / "results.parquet").read_bytes()
            for out in (here, there):
                shutil.rmtree(out)
            print("round {}: weir sweep --jobs 2 {}, two workers {}".format(number, *both[-1]), flush=True)
    wall, cpu = (sum(there[at] for _, there in both) / sum(here[at] for here, _ in both) for at in (0, 1))
    print(f"{8 * seeds} runs: the cluster takes {wall:.2f} times the time, {cpu:.2f} times the processor time")


if __name__ == "__main__":
    main()
