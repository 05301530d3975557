"""Sweeps, comparisons and reproductions."""

import json
import os
import signal
import subprocess
import sys
import time

import polars
import pytest
from conftest import command

import weir

SHORT = {"duration": "2 s"}
VARY = {"link.alice-bob.rate": ["5 Mb/s", "10 Mb/s"], "link.alice-bob.queue": "10 packets,20 packets"}


@pytest.fixture(scope="module")
def swept() -> weir.Study:
    return weir.sweep("examples/minimal", VARY, ["reno", "fixed"], seeds=3, set=SHORT, progress=False)


def test_a_sweep_is_one_tidy_table(swept):
    results = polars.DataFrame(swept.results)
    points = results.select("link.alice-bob.rate.bps", "link.alice-bob.queue.packets", "scheme", "seed").unique()
    assert len(points) == 2 * 2 * 2 * 3
    goodput = results.filter(kind="run", metric="goodput", window="run", scheme="reno", seed=1)
    assert goodput.sort("link.alice-bob.rate.bps")["value"].to_list()[0] < 5e6 and len(goodput) == 4
    one = weir.run("examples/minimal", "reno", 1, {**SHORT, "link.alice-bob.rate": "5 Mb/s", "link.alice-bob.queue": "10 packets"})
    (row,) = goodput.filter(polars.col("link.alice-bob.rate") == "5 Mb/s", polars.col("link.alice-bob.queue") == "10 packets").to_dicts()
    assert row["value"] == one.flows[0]["goodput_bps"]
    assert swept.failed == 0 and swept.folder is None
    assert swept.axes == {"link.alice-bob.rate": ["5 Mb/s", "10 Mb/s"], "link.alice-bob.queue": ["10 packets", "20 packets"]}
    assert all(swept.results.about.values()) and all(swept.runs.about.values())


def test_a_sweep_has_the_tables_and_the_document_of_the_command(swept, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    again = weir.sweep("examples/minimal", VARY, ["reno", "fixed"], 3, SHORT, out=ours)
    args = ["--vary", "link.alice-bob.rate=5 Mb/s,10 Mb/s", "--vary", "link.alice-bob.queue=10 packets,20 packets"]
    args += ["--schemes", "reno,fixed", "--seeds", "3", "--set", "duration=2 s", "--out", str(theirs)]
    command("sweep", "examples/minimal", *args, check=True)
    for name in ["results.csv", "results.parquet"]:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    assert again.document == json.loads((theirs / "sweep.json").read_text()) == swept.document
    assert polars.read_parquet(ours / "results.parquet").equals(polars.DataFrame(swept.results))
    assert (ours / "sweep.html").exists() and again.folder == ours


def test_what_is_kept_is_not_made_again(tmp_path):
    told = []
    weir.sweep("examples/minimal", VARY, "reno", seeds=1, set=SHORT, out=tmp_path)
    weir.sweep("examples/minimal", VARY, "reno", seeds=1, set=SHORT, out=tmp_path, progress=told.append)
    assert told and {progress.done for progress in told} == {4}
    kept = sorted((tmp_path / "runs").iterdir())
    before = [file.stat().st_mtime_ns for file in kept]
    weir.sweep("examples/minimal", VARY, "reno", seeds=range(1, 2), set=SHORT, out=tmp_path)
    assert [file.stat().st_mtime_ns for file in kept] == before and len(kept) == 4


def test_shards_merge_by_copying(tmp_path):
    for index in (1, 2):
        weir.sweep("examples/minimal", VARY, "reno", seeds=[7], set=SHORT, shard=(index, 2), out=tmp_path)
    told = []
    whole = weir.sweep("examples/minimal", VARY, "reno", seeds=[7], set=SHORT, out=tmp_path, progress=told.append)
    assert {progress.done for progress in told} == {4} and whole.runs.num_rows == 4
    with pytest.raises(weir.WeirError, match="a part is written"):
        weir.sweep("examples/minimal", VARY, shard=(3, 2))


def test_a_scenario_of_python_objects_is_swept():
    scenario = weir.scenario(
        title="Two nodes",
        duration=2,
        scheme="reno",
        nodes=["a", "b"],
        links=[{"ends": ["a", "b"], "rate": "10 Mb/s", "delay": "10 ms"}],
        flows=[{"name": "f", "consumer": "a", "producer": "b", "prefix": "/f"}],
        axes=[{"name": "delay", "set": "link.a-b.delay", "values": ["1 ms", "5 ms"]}],
    )
    study = weir.sweep(scenario, {"link.a-b.loss": [0.0, 0.02]}, seeds=2)
    rows = polars.DataFrame(study.results).filter(kind="run", metric="goodput", window="run")
    assert len(rows) == 2 * 2 * 2 and rows["axis.delay.s"].unique().sort().to_list() == [0.001, 0.005]
    lossy = rows.filter(polars.col("link.a-b.loss.value") == 0.02)
    assert lossy["value"].max() < rows["value"].max() and lossy["value"].n_unique() == 4


def test_pairs_of_values_are_zipped():
    study = weir.sweep("examples/minimal", {**VARY, "link.alice-bob.queue": [10, 20]}, seeds=1, set=SHORT, zip=True)
    assert study.runs.num_rows == 2
    assert study.runs.column("link.alice-bob.queue") == ["10", "20"]


def test_mistakes_are_told():
    with pytest.raises(weir.ScenarioError, match="unknown key `rat`"):
        weir.sweep("examples/minimal", {"link.alice-bob.rat": [1, 2]})
    with pytest.raises(weir.WeirError, match="from, to, step"):
        weir.sweep("examples/minimal", {"link.alice-bob.rate": "5,,7 Mb/s"})
    with pytest.raises(weir.WeirError, match="at least one value"):
        weir.sweep("examples/minimal", {"link.alice-bob.rate": []})
    with pytest.raises(weir.SchemeError, match="did you mean `reno`"):
        weir.sweep("examples/minimal", schemes=["rno"])
    with pytest.raises(weir.WeirError, match="seed 3 is given twice"):
        weir.sweep("examples/minimal", seeds=[3, 3])
    with pytest.raises(weir.WeirError, match="at least one seed"):
        weir.sweep("examples/minimal", seeds=0)


def test_ctrl_c_stops_a_sweep_and_keeps_what_is_complete(tmp_path):
    script = f"""
import sys, weir
def told(progress):
    if progress.done:
        print("runs", flush=True)
try:
    weir.sweep("qsccp/geant", schemes=["reno", "bbr"], seeds=50, set={{"duration": "1 s"}}, out={str(tmp_path)!r}, progress=told)
except KeyboardInterrupt:
    sys.exit(42)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"runs\n"
    begun = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 42
    assert time.monotonic() - begun < 20
    kept = len(list((tmp_path / "runs").glob("*.json")))
    assert 0 < kept < 100
    assert polars.read_parquet(tmp_path / "runs.parquet").height >= kept


def test_an_exception_of_the_progress_ends_a_study():
    def fail(progress):
        raise ArithmeticError("enough")

    with pytest.raises(ArithmeticError, match="enough"):
        weir.sweep("qsccp/geant", seeds=20, progress=fail)


def test_a_comparison_is_that_of_the_command(tmp_path):
    study = weir.compare("qsccp/dumbbell", ["qsccp", "reno"], seeds=2, set={"duration": "10 s"}, out=tmp_path)
    args = ["--schemes", "qsccp,reno", "--seeds", "2", "--set", "duration=10 s", "--json"]
    said = json.loads(command("compare", "qsccp/dumbbell", *args, check=True).stdout)
    mine = study.document
    for compared in mine["schemes"]:
        assert compared.pop("report") == f"{compared['scheme']}/report.html"
    for compared in said["schemes"]:
        compared.pop("report", None)
    assert mine == said
    assert (tmp_path / "compare.html").exists() and (tmp_path / "reno" / "report.html").exists()
    assert set(study.results.column("scheme")) == {"qsccp", "reno"}
    assert "reno" in study.text() and study.command.startswith("weir compare qsccp/dumbbell")


def test_a_reproduction_has_each_statement(tmp_path):
    study = weir.reproduce("hbhcm/cache", seeds=1)
    said = json.loads(command("reproduce", "hbhcm/cache", "--seeds", "1", "--json", check=True).stdout)
    assert study.document == said
    page = study.report(tmp_path / "page.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    with pytest.raises(weir.WeirError, match="hbhcm"):
        weir.reproduce("hbhc")
