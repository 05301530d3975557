"""Runs and their results."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import command

import weir


def without_time(document: dict) -> dict:
    """A run's document without its run time."""
    return {**document, "wall_s": 0}


def test_a_run_has_the_figures_and_the_command_of_weir_run():
    args = ["--scheme", "pcon", "--seed", "3", "--set", "duration=10 s", "--window", "2:4.5"]
    said = json.loads(command("run", "qsccp/tree", *args, "--json", check=True).stdout)
    result = weir.run("qsccp/tree", "pcon", 3, {"duration": "10 s"}, [(2, 4.5)])
    assert without_time(result.document) == without_time(said)
    assert json.loads(result.json()) == result.document
    assert result.seed == 3 and result.scheme == "pcon" and result.wall_s > 0


def test_a_run_of_a_text_names_no_command():
    text = weir.Scenario.load("examples/minimal").text
    result = weir.run(weir.Scenario.parse(text, "mine"))
    assert result.document["command"] == "" and result.scenario == "mine"


def test_values_are_set_by_type():
    set = {
        "link.alice-bob.rate": ["2 Mb/s", "1 Mb/s"],
        "link.alice-bob.loss": 0.125,
        "link.alice-bob.queue": 7,
        "flow.video.early_loss": True,
        "duration": "1 s",
    }
    scenario = weir.Scenario.load("examples/minimal", set)
    values = {row["key"]: row["value"] for row in scenario.parameters.rows()}
    assert values["link.alice-bob.rate"] == '["2 Mb/s", "1 Mb/s"]'
    assert values["link.alice-bob.loss"] == "0.125"
    assert values["link.alice-bob.queue"] == "7"
    assert values["flow.video.early_loss"] == "true"
    assert scenario.duration_s == 1
    assert weir.run(scenario, set={"link.alice-bob.rate": "3 Mb/s"}).links[0]["rate_bps"] == 3e6
    with pytest.raises(TypeError, match="duration.*NoneType"):
        weir.run("examples/minimal", set={"duration": None})


def test_windows_are_parts_of_the_tables(dumbbell):
    assert dumbbell.windows.column("window") == ["20:30", "5:7.5"]
    rows = dumbbell.classes.rows()
    parts = {(row["window"], row["from_s"], row["to_s"]) for row in rows}
    assert parts == {("run", 0, 30), ("20:30", 20, 30), ("5:7.5", 5, 7.5)}
    flows = [row for row in dumbbell.flows.rows() if row["window"] == "5:7.5" and row["class"] == "EF"]
    (ef,) = [row for row in rows if row["window"] == "5:7.5" and row["class"] == "EF"]
    assert sum(flow["goodput_bps"] for flow in flows) == pytest.approx(ef["goodput_bps"])
    assert dumbbell.flows.num_rows == 3 * 40


@pytest.mark.parametrize("window", [(5, 5), (5, 2), (0, 31)])
def test_a_window_outside_of_the_run_is_refused(window):
    with pytest.raises(weir.RunError, match="not within the run"):
        weir.run("examples/minimal", windows=[window])


@pytest.mark.parametrize("window", [(-1, 2), (float("nan"), 2), ("soon", 2)])
def test_a_time_that_is_none_is_refused_with_what_would_be_right(window):
    with pytest.raises(ValueError, match="give seconds, 0 or more"):
        weir.run("examples/minimal", windows=[window])
    with pytest.raises(TypeError, match=r"such as \(20, 120\)"):
        weir.run("examples/minimal", windows=[3])


def test_an_unknown_scheme_is_refused_with_the_one_that_was_meant():
    with pytest.raises(weir.SchemeError, match="did you mean `qsccp`"):
        weir.run("examples/minimal", "qscp")


def test_the_seed_decides():
    goodput = lambda seed: weir.run("qsccp/tree", "pcon", seed, {"duration": "5 s"}).flows.column("goodput_bps")
    assert goodput(1) == goodput(1) != goodput(2)


def test_progress_is_told_to_a_callable():
    told = []
    weir.run("qsccp/dumbbell", set={"duration": "10 s"}, progress=told.append)
    assert told == sorted(told) and told[-1] == weir.Progress(fraction=1, done=1, all=1)
    assert 0 < told[0].fraction < 1 and told[0].done == 0


def test_an_exception_of_the_callable_ends_the_run():
    def stop(progress):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        weir.run("qsccp/dumbbell", progress=stop)


def test_without_tqdm_progress_is_a_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr("time.monotonic", iter(range(0, 10**9)).__next__)
    weir.run("qsccp/dumbbell", progress=True)
    said = capsys.readouterr().err
    assert "\rqsccp/dumbbell: " in said and said.endswith("\r"), "shown, and wiped"


def test_other_threads_run_meanwhile():
    """The lock is free during a run: a thread counts meanwhile. The run holds it only between two slices."""
    counted, done = 0, threading.Event()

    def count():
        nonlocal counted
        while not done.wait(0.001):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    result = weir.run("qsccp/geant", set={"duration": "5 s"}, progress=False)
    done.set()
    thread.join()
    # If the run held the lock, a thread would run every 50 ms, that is 20 times a second.
    assert counted > 60 * result.wall_s


def test_ctrl_c_stops_a_run():
    script = """
import sys, weir
try:
    weir.run("qsccp/dumbbell", set={"duration": "30000 s"}, progress=lambda p: print("runs", flush=True))
except KeyboardInterrupt:
    sys.exit(42)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"runs\n"
    begun = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(30) == 42
    assert time.monotonic() - begun < 10


def test_series_are_left_out_on_request():
    result = weir.run("examples/minimal", series=False)
    assert result.series.flows.num_rows == 0
    assert weir.run("examples/minimal").series.flows.num_rows > 0


def test_the_report_is_a_page(tmp_path, dumbbell):
    path = dumbbell.report(tmp_path / "report.html")
    page = path.read_text()
    assert page.lower().startswith("<!doctype html>") and dumbbell.title in page
    with pytest.raises(weir.WeirError, match="cannot write"):
        dumbbell.report(tmp_path / "none" / "report.html")


def test_a_notebook_shows_classes_and_expectations(dumbbell):
    html = dumbbell._repr_html_()
    assert dumbbell.title in html and "<th>goodput_bps</th>" in html and "<th>stated</th>" in html


def test_what_there_is_is_listed():
    assert "qsccp/dumbbell" in weir.scenarios().column("name")
    assert weir.schemes("reno").column("name") == ["reno"]
    keys = weir.schemes("reno", parameters=True).column("key")
    assert "scheme.reno.beta" in keys
    weir.run("examples/minimal", "reno", set={"scheme.reno.beta": 0.7})
    with pytest.raises(weir.SchemeError, match="did you mean `reno`"):
        weir.schemes("rno")


def test_distributions_are_arrays_for_a_plot_and_add_up(dumbbell):
    delay = dumbbell.distribution("delay")
    values, parts = delay.cdf()
    assert len(values) == len(parts) and parts[-1] == 1 and values == sorted(values)
    classes = {row["class"] for row in dumbbell.classes.rows()}
    of_classes = [dumbbell.distribution("delay", name) for name in classes]
    assert sum(one.count for one in of_classes) == delay.count
    assert (delay + delay).count == 2 * delay.count and delay.unit == "ms"
    row = next(row for row in dumbbell.classes.rows() if row["window"] == "20:30")
    part = dumbbell.distribution("delay", row["class"], "20:30")
    assert part.quantile(0.95) == pytest.approx(row["delay_ms_p95"], rel=0.005)
    with pytest.raises(weir.WeirError, match="there are: delay"):
        dumbbell.distribution("delays")
    with pytest.raises(weir.WeirError, match="20:30"):
        dumbbell.distribution("delay", window="1:2")
