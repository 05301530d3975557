"""Runs on real forwarders."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import command

import weir

SET = {"duration": "2 s"}


@pytest.fixture(autouse=True, scope="module")
def namespaces():
    """Skips the test if namespaces cannot be created."""
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", *(["--map-root-user"] if os.geteuid() else []), "true"]
    try:
        tried = subprocess.run(unshare, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(str(error))
    if tried.returncode:
        pytest.skip(f"no namespaces: {tried.stderr.strip()}")


@pytest.fixture(scope="module")
def lab(namespaces) -> weir.Result:
    return weir.lab("examples/minimal", "cubic", set=SET, windows=[(1, "1500 ms")])


def test_a_run_in_the_lab_has_the_tables_of_a_run(lab):
    run = weir.run("examples/minimal", "cubic", set=SET, windows=[(1, "1500 ms")])
    assert lab.title == run.title and lab.scenario == run.scenario and lab.scheme == "cubic"
    for of_lab, of_run in [(lab, run), (lab.series, run.series)]:
        for name in ("flows", "classes", "links", "nodes"):
            one, other = getattr(of_lab, name), getattr(of_run, name)
            assert one.column_names == other.column_names
            assert one.num_rows == other.num_rows > 0
    assert lab.windows.column("window") == run.windows.column("window")
    assert lab.nodes.column("role") == run.nodes.column("role")
    assert lab.document["lab"]["told_rates"] and lab.flows[0]["goodput_bps"] > 0
    assert lab.document["command"].startswith("weir lab examples/minimal --scheme cubic")
    goodputs = lab.series.flows.column("goodput_bps")
    mean = sum(goodputs) / len(goodputs)
    assert mean == pytest.approx(lab.flows[0]["goodput_bps"], rel=0.02)


def test_its_report_is_that_of_a_run(lab, tmp_path):
    page = lab.report(tmp_path / "report.html").read_text()
    assert lab.title in page


def test_a_scenario_that_no_command_finds_and_a_folder(tmp_path):
    text = weir.Scenario.load("examples/minimal").text
    result = weir.lab(weir.Scenario.parse(text, "mine"), set={"duration": "500 ms"}, out=tmp_path / "out", untold=True, scale=0.5)
    assert result.scenario == "mine" and result.document["command"] == ""
    assert not result.document["lab"]["told_rates"] and result.document["lab"]["scale"] == 0.5
    assert {"run.json", "report.html", "flows.parquet"} <= {file.name for file in (tmp_path / "out").iterdir()}


def test_mistakes_are_exceptions():
    with pytest.raises(weir.SchemeError, match="did you mean `qsccp`"):
        weir.lab("examples/minimal", "qscp")
    with pytest.raises(weir.ScenarioError, match="duration"):
        weir.lab("examples/minimal", set={"duration": "long"})
    with pytest.raises(weir.RunError, match="not within the run"):
        weir.lab("examples/minimal", windows=[(5, 2)])
    with pytest.raises(weir.RunError, match="no shared media"):
        weir.lab("qsccp/multiaccess")


def test_an_interruption_ends_it_with_all_its_processes():
    script = 'import weir\nweir.lab("examples/minimal", set={"duration": "60 s"})'
    mark = f"WEIR_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, **dict([mark.split("=")])}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if len(of(mark)) >= 6:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=20)[1]
    assert not of(mark)


def of(mark: str) -> list[str]:
    """The processes with this text in their environment."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in file.read_bytes().split(b"\0"):
                found.append(file.parent.name)
        except OSError:
            pass
    return found


def test_the_script_of_an_environment_finds_its_package_in_forwarders(tmp_path):
    """In a virtual environment, forwarders are started by the path of its Python, which has the packages."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "weir.pth").write_text(str(Path(weir.__file__).parents[1]))
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["PATH"] = f"{venv / 'bin'}{os.pathsep}{environment['PATH']}"
    words = ["-m", "weir", "lab", "examples/minimal", "--set", "duration=200ms", "--json"]
    for python in ("python", venv / "bin" / "python"):
        done = subprocess.run([python, *words], env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_command_of_the_package_has_a_lab():
    done = command("lab", "examples/minimal", "--set", "duration=200ms", "--json")
    assert done.returncode == 0, done.stderr
