"""A run on real forwarders."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Mapping

from . import _native
from ._native import Result, Scenario
from ._run import scenario_of
from .errors import RunError

if TYPE_CHECKING:
    from ._run import Window

NOTE = "note: "


def lab(
    scenario: str | os.PathLike[str] | Scenario,
    scheme: str | None = None,
    seed: int = 1,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[Window] = (),
    *,
    out: str | os.PathLike[str] | None = None,
    untold: bool = False,
    scale: float = 1.0,
) -> Result:
    """Runs a scenario on real forwarders in network namespaces of this machine, and returns what was measured.

    :param scenario: a name of `weir.scenarios()`, a file, or a `weir.Scenario`
    :param scheme: a name of `weir.schemes()`; by default the scenario's own scheme
    :param seed: the seed of random losses and jitter, and of what the scenario draws
    :param set: values to change, such as `{"link.R2-R3.rate": "20 Mb/s"}`; `Scenario.parameters` lists them
    :param windows: further measuring windows, pairs of times: `(20, 120)` in seconds, or `("500 ms", "2 s")`
    :param out: the folder that keeps the report, the document and the time series; without it they are not kept
    :param untold: whether forwarders are told no rates of links, so that packets wait at the emulated links
    :param scale: a factor of all rates and amounts, for a machine that is too slow; delays and times stay

    It takes as long as the scenario does. It needs Linux, and root or user namespaces. `Result.notes` say if the machine did
    not keep up. Ctrl-C stops it; nothing of it stays behind.

    Raises `weir.ScenarioError`, `weir.SchemeError` or `weir.RunError`.
    """
    scenario = scenario_of(scenario, set)
    is_named, options, files = _native.lab_options(scenario, scheme, seed, list(windows))
    with tempfile.TemporaryDirectory(prefix="weir-lab-") as folder:
        results = Path(out) if out is not None else Path(folder, "results")
        file = _file_of(scenario, is_named, files, Path(folder))
        if untold:
            options.append("--untold")
        if scale != 1:
            options.append(f"--scale={scale}")
        document, notes = _make("lab", file, *options, f"--out={results}", "--json")
        return _native.lab_result(scenario, document, results, notes)


def _file_of(scenario: Scenario, is_named: bool, files: Iterable[tuple[str, str]], folder: Path) -> str:
    """The scenario's argument for the command: its name, or a file with its text in this folder, together with the
    files that it reads."""
    if is_named:
        return scenario.name
    # As deep as a path may lead up, so that no file is outside the folder.
    relative = {path: text for path, text in files if not os.path.isabs(path)}
    up = max((Path(path).parts.count("..") for path in relative), default=0)
    inner = folder.joinpath(*(f"level-{number}" for number in range(up)))
    for path, text in {"scenario.toml": scenario.text, **relative}.items():
        (inner / path).parent.mkdir(parents=True, exist_ok=True)
        (inner / path).write_text(text)
    return str(inner / "scenario.toml")


def _make(*words: str) -> tuple[str, list[str]]:
    """Runs the command. Returns its output, and its remarks."""
    package = str(Path(__file__).parents[1])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "weir", *words]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            printed, said = process.communicate()
        except BaseException:
            process.terminate()
            try:
                process.wait()
            finally:
                # After a second interruption the kernel ends the lab with the command.
                process.kill()
            raise
    if process.returncode != 0:
        raise RunError(said.strip().removeprefix("error: ") or f"the lab ended with {process.returncode}")
    return printed, [line.removeprefix(NOTE) for line in said.splitlines() if line.startswith(NOTE)]
