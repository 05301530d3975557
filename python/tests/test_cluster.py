"""Sweeps on a Dask cluster of two processes."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import distributed
import polars
import pytest

import weir

PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "cluster.md"
SHORT = {"duration": "2 s"}
# With losses every seed has its own result.
LOSSY = {"link.alice-bob.rate": ["5 Mb/s", "10 Mb/s"], "link.alice-bob.loss": [0.001, 0.01]}

# A new user's program, from the sweep to the figure.
PROGRAM = """
import matplotlib.pyplot, polars, weir
study = weir.sweep("examples/minimal", VARY, ["reno", "cubic", "bbr"], seeds=5, set=SHORT, out=OUT, client=CLIENT, progress=PROGRESS)
goodput = polars.DataFrame(study.results).filter(kind="run", metric="goodput", window="run", **{"link.alice-bob.loss": "0.01"})
for (scheme,), rows in goodput.group_by("scheme", maintain_order=True):
    curve = rows.group_by("link.alice-bob.rate.bps").agg(polars.mean("value"), polars.std("value").alias("spread")).sort("value")
    matplotlib.pyplot.errorbar(*curve, label=scheme)
matplotlib.pyplot.legend()
matplotlib.pyplot.savefig(OUT / "goodput.pdf")
"""


@pytest.fixture(scope="module")
def client():
    os.environ.setdefault("MPLBACKEND", "agg")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_a_lost_worker_does_not_change_a_byte(client, tmp_path):
    """A user's first study, here and on a cluster whose worker is killed midway."""
    assert len(PROGRAM.strip().splitlines()) < 10
    workers = client.run(os.getpid)
    assert len(workers) == 2
    killed = {}

    def kill_one(progress):
        # Meanwhile no record is taken from a worker, so that the runs of a busy one are lost.
        busy = [worker for worker, runs in client.processing().items() if runs] if progress.done >= 10 else []
        if busy and not killed:
            killed[workers[busy[0]]] = progress.done
            os.kill(*killed, signal.SIGKILL)

    here, there = tmp_path / "here", tmp_path / "there"
    for out, of, progress in [(here, None, False), (there, client, kill_one)]:
        names = {"OUT": out, "CLIENT": of, "PROGRESS": progress, "VARY": LOSSY, "SHORT": SHORT}
        exec(PROGRAM, names)
        assert len(names["goodput"]) == 2 * 3 * 5 and names["goodput"]["value"].n_unique() > 20
        assert (out / "goodput.pdf").read_bytes().startswith(b"%PDF")
    ((pid, done),) = killed.items()
    assert 10 <= done < 50, "midway"
    assert pid not in client.run(os.getpid).values()
    events = [event for _, event in client.get_events("all") if event["action"] == "remove-worker"]
    client.wait_for_workers(2)  # Dask starts a replacement for the worker.
    lost = [len(event[tasks]) for event in events for tasks in ("processing-tasks", "lost-computed-tasks")]
    assert sum(lost) > 0, "runs were lost"
    for name in ["results.parquet", "results.csv"]:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name
    runs = [polars.read_parquet(out / "runs.parquet").drop("cpu_s") for out in (here, there)]
    assert runs[0].equals(runs[1]) and runs[0].height == 60
    assert sorted(os.listdir(here)) == sorted(os.listdir(there))
    assert sorted(os.listdir(here / "runs")) == sorted(os.listdir(there / "runs"))


def test_the_examples_of_the_page_are_right(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    programs = [compile(example, str(PAGE), "exec") for example in examples]
    (sweep,) = [program for program, example in zip(programs, examples) if "weir.sweep(" in example]
    names = {"client": client}
    exec(sweep, names)
    assert len(names["goodput"]) == 60 and names["study"].failed == 0
    assert polars.read_parquet("my-sweep/results.parquet").equals(names["study"].results.to_polars())


def test_what_is_kept_is_not_sent_again(client, tmp_path):
    first = weir.sweep("examples/minimal", LOSSY, "reno", seeds=1, set=SHORT, out=tmp_path)
    told = []
    again = weir.sweep("examples/minimal", LOSSY, "reno", 2, SHORT, out=tmp_path, client=client, progress=told.append)
    assert told[0].done >= 4 and told[-1].done == told[-1].all == 8 and told[-1].fraction == 1
    kept = dict(zip(first.runs.column("key"), first.runs.column("cpu_s")))
    cpu_s = dict(zip(again.runs.column("key"), again.runs.column("cpu_s")))
    assert len(cpu_s) == 8 and {key: cpu_s[key] for key in kept} == kept


def test_a_seed_that_decides_nothing_is_not_sent_while_workers_have_other_runs():
    begun = []

    def execute(schedule):
        begun.append(first := schedule.begin(True))
        assert schedule.begin(True) is None, "no other run is needed in any case"
        begun.append(second := schedule.begin(False))
        for place, _, request in (first, second):
            schedule.end(place, weir._native.run_request(request))
        assert schedule.begin(False) is None, "the first one spoke for the others"

    scenario = weir.Scenario.load("examples/minimal", SHORT)
    study = weir._native.sweep(scenario, [], False, ["reno"], "20", [], None, None, None, None, execute)
    made = [key for key, cpu_s in zip(study.runs.column("key"), study.runs.column("cpu_s")) if cpu_s > 0]
    assert made == [key for _, key, _ in begun] and study.runs.num_rows == 20 and study.failed == 0


def test_a_record_of_another_run_is_refused():
    def execute(schedule):
        (one, _, request), (other, _, _) = schedule.begin(False), schedule.begin(False)
        schedule.end(other, weir._native.run_request(request))
        schedule.end(one, b"{}")

    scenario = weir.Scenario.load("examples/minimal", {**SHORT, "link.alice-bob.loss": 0.01})
    study = weir._native.sweep(scenario, [], False, ["reno"], "2", [], None, None, None, None, execute)
    errors = study.runs.column("error")
    assert "this is not a record of a run" in errors[0] and "came instead of this run's" in errors[1]


def test_a_run_that_fails_is_told_with_its_key_and_ends_nothing(client):
    studies = [
        weir.sweep("examples/minimal", {"duration": ["2 s", "1 s"]}, "reno", 2, windows=[(1, 1.5)], client=of)
        for of in (None, client)
    ]
    here, there = [study.runs.to_polars().drop("cpu_s") for study in studies]
    assert there.equals(here)
    failed = there.filter(polars.col("error").is_not_null())
    assert studies[1].failed == 2 and failed["duration"].unique().to_list() == ["1 s"]
    assert failed["key"].str.len_chars().to_list() == [32, 32] and "window" in failed["error"][0]


def test_a_run_that_no_worker_can_make_is_tried_some_times(client):
    def disable():
        from weir import _native

        def broken(request):
            raise MemoryError("too large")

        _native.kept, _native.run_request = _native.run_request, broken

    def enable():
        from weir import _native

        _native.run_request = _native.kept

    client.run(disable)
    try:
        study = weir.sweep("examples/minimal", LOSSY, "reno", seeds=1, set=SHORT, client=client)
    finally:
        client.run(enable)
    assert study.failed == 4
    assert set(study.runs.column("error")) == {
        "no worker of the cluster made the run, tried 3 times; at last: MemoryError: too large"
    }


def set_sources(sources):
    """Gives a worker the sources of another version."""
    def change():
        from weir import _native

        _native.SOURCES = sources

    return change


def test_a_worker_with_another_program_is_refused(client):
    worker = next(iter(client.nthreads()))
    client.run(set_sources("0123456789"), workers=[worker])
    try:
        with pytest.raises(weir.WeirError, match=f"(?s)install the same wheel.*{worker}: it has Weir .*, sources 01234567$"):
            weir.sweep("examples/minimal", schemes="reno", seeds=1, set=SHORT, client=client)
    finally:
        client.run(set_sources(weir._native.SOURCES))


def test_a_worker_that_comes_later_with_another_program_is_refused(client, tmp_path):
    def change(progress):
        if progress.done >= 4:
            client.run(set_sources("0123456789"))

    try:
        with pytest.raises(weir.WeirError, match="every worker needs the Weir of this machine"):
            weir.sweep("examples/minimal", LOSSY, "reno", 10, SHORT, out=tmp_path, client=client, progress=change)
    finally:
        client.run(set_sources(weir._native.SOURCES))
    assert 4 <= polars.read_parquet(tmp_path / "runs.parquet").height < 40, "what is complete is kept"


def test_ctrl_c_cancels_what_is_at_the_cluster(client, tmp_path):
    def interrupt(progress):
        if progress.done >= 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        weir.sweep("examples/minimal", LOSSY, "reno", 100, SHORT, out=tmp_path, client=client, progress=interrupt)
    end = time.monotonic() + 20
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        assert time.monotonic() < end, "the scheduler has no run any more"
        time.sleep(0.1)
    kept = len(list((tmp_path / "runs").glob("*.json")))
    assert 3 <= kept < 400 and polars.read_parquet(tmp_path / "runs.parquet").height == kept


def test_mistakes_are_told(client, monkeypatch):
    with pytest.raises(weir.WeirError, match="give `jobs` or `client`"):
        weir.sweep("examples/minimal", jobs=2, client=client)
    with pytest.raises(weir.WeirError, match="is a dask.distributed.Client, not str"):
        weir.sweep("examples/minimal", client="tcp://127.0.0.1:8786")
    with pytest.raises(weir.ScenarioError, match="unknown key `rat`"):
        weir.sweep("examples/minimal", {"link.alice-bob.rat": [1, 2]}, client=client)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(weir.WeirError, match=r"pip install 'ndn-weir\[cluster\]'"):
        weir.sweep("examples/minimal", client=client)
