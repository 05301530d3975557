"""How much longer a sweep takes on two workers of a local Dask cluster than by `weir sweep --jobs 2`.

    python python/bench/cluster.py [--runs 200] [--rounds 3] [--duration "10 s"]

The two take turns, so that both see what else the machine does. The program prints the times and the ratio of their sums.
The workers are there before the clock starts. The tables of both must be the same.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import distributed

import weir

VARY = {"link.alice-bob.rate": ["5 Mb/s", "10 Mb/s"], "link.alice-bob.loss": ["0.001", "0.01"]}
SCHEMES = ["reno", "bbr"]


def by_command(seeds: int, duration: str, out: Path) -> float:
    """The time of the command, s."""
    args = [word for key, values in VARY.items() for word in ("--vary", f"{key}={','.join(values)}")]
    args += ["--schemes", ",".join(SCHEMES), "--seeds", str(seeds), "--set", f"duration={duration}"]
    args += ["--jobs", "2", "--out", str(out)]
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "weir", "sweep", "examples/minimal", *args], check=True, capture_output=True
    )
    return time.monotonic() - begun


def by_cluster(client: distributed.Client, seeds: int, duration: str, out: Path) -> float:
    """The time of the same sweep on the cluster, s."""
    begun = time.monotonic()
    study = weir.sweep("examples/minimal", VARY, SCHEMES, seeds, {"duration": duration}, out=out, client=client)
    assert study.failed == 0
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of a sweep, a multiple of 8")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed")
    parser.add_argument("--duration", default="10 s", help="simulated time of a run")
    given = parser.parse_args()
    seeds = given.runs // 8
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    command_s = cluster_s = 0.0
    with cluster, distributed.Client(cluster) as client, tempfile.TemporaryDirectory() as folder:
        for number in range(1, given.rounds + 1):
            here, there = Path(folder, "here"), Path(folder, "there")
            command, on_cluster = by_command(seeds, given.duration, here), by_cluster(client, seeds, given.duration, there)
            assert (here / "results.parquet").read_bytes() == (there / "results.parquet").read_bytes()
            for out in (here, there):
                shutil.rmtree(out)
            print(f"round {number}: weir sweep --jobs 2 {command:.1f} s, two workers {on_cluster:.1f} s", flush=True)
            command_s, cluster_s = command_s + command, cluster_s + on_cluster
    print(f"{8 * seeds} runs: the cluster takes {cluster_s / command_s:.2f} times as long as the command")


if __name__ == "__main__":
    main()
