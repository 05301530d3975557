"""A single run, with its progress."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from . import _native
from ._native import Result, Scenario
from .law import WindowLaw

if TYPE_CHECKING:
    Time = float | str
    Window = tuple[Time, Time]
    NativeProgress = Callable[[float], object]


class Progress(NamedTuple):
    """Progress of a run or a study."""

    fraction: float
    """The completed fraction of the work, 0 to 1."""
    done: int
    """Number of completed runs."""
    all: int
    """Number of all runs."""


def run(
    scenario: str | os.PathLike[str] | Scenario,
    scheme: str | WindowLaw | type[WindowLaw] | None = None,
    seed: int = 1,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[Window] = (),
    *,
    series: bool = True,
    progress: bool | Callable[[Progress], object] | None = None,
    threads: int = 1,
) -> Result:
    """Simulates a scenario, and returns the measurements.

    :param scenario: a name of `weir.scenarios()`, a file, or a `weir.Scenario`
    :param scheme: a name of `weir.schemes()`, or a `weir.WindowLaw`; by default the scenario's own scheme
    :param seed: the seed of all random streams; the same seed gives the same figures
    :param set: values to change, such as `{"link.R2-R3.rate": "20 Mb/s"}`; `Scenario.parameters` lists them
    :param windows: additional measuring windows, pairs of times: `(20, 120)` in seconds, or `("500 ms", "2 s")`
    :param series: whether to keep time series, which `Result.series` and the report need
    :param progress: a bar (`True`), nothing (`False`), a callable that gets a `weir.Progress`, or by default a bar in a
        terminal and in a notebook
    :param threads: the number of threads for the run; the figures do not change. More are useful for a large network

    The interpreter's lock is free during the run, so that threads can make runs simultaneously. Ctrl-C stops it.

    Raises `weir.ScenarioError`, `weir.SchemeError` or `weir.RunError`.
    """
    scenario = scenario_of(scenario, set)
    law = None
    if isinstance(scheme, type) and issubclass(scheme, WindowLaw):
        scheme = scheme()
    if scheme is not None and not isinstance(scheme, str):
        law, scheme = scheme, None
    with shown(progress, scenario.name) as say:
        told = None if say is None else lambda fraction: say(Progress(fraction, int(fraction == 1), 1))
        return _native.run(scenario, scheme, law, seed, list(windows), series, told, threads)


def scenario_of(
    scenario: str | os.PathLike[str] | Scenario, set: Mapping[str, Any] | None
) -> Scenario:
    """Returns a scenario: the given one, or one loaded by name or path, with values set."""
    if not isinstance(scenario, Scenario):
        return Scenario.load(scenario, dict(set or {}))
    return scenario.with_set(dict(set)) if set else scenario


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    instance = shell.get_ipython()
    return instance is not None and type(instance).__name__ == "ZMQInteractiveShell"


@contextmanager
def shown(
    progress: bool | Callable[[Progress], object] | None, name: str
) -> Iterator[Callable[[Progress], object] | None]:
    """Reports the progress of a run or a study."""
    if progress is None:
        progress = _is_notebook() or sys.stderr.isatty()
    if progress is False:
        yield None
    elif progress is True:
        bar = _bar(name)
        try:
            yield bar.say
        finally:
            bar.close()
    else:
        yield progress


class _Tqdm:
    """A bar of tqdm."""

    def __init__(self, tqdm: Any, name: str) -> None:
        # Short runs show no bar.
        form = "{l_bar}{bar}| {elapsed}, {remaining} left{postfix}"
        self.bar = tqdm(total=1.0, desc=name, delay=0.5, leave=False, bar_format=form)

    def say(self, progress: Progress) -> None:
        if progress.all > 1:
            self.bar.set_postfix_str(f"{progress.done} of {progress.all} runs", refresh=False)
        self.bar.update(progress.fraction - self.bar.n)

    def close(self) -> None:
        self.bar.close()


class _Line:
    """A line on a terminal, used without tqdm."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.next = time.monotonic() + 0.5
        self.width = 0

    def say(self, progress: Progress) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 0.2
        runs = f", {progress.done} of {progress.all} runs" if progress.all > 1 else ""
        text = f"{self.name}: {100 * progress.fraction:.0f} %{runs}"
        self._write("\r" + text.ljust(self.width))
        self.width = max(self.width, len(text))

    def close(self) -> None:
        if self.width:
            self._write("\r" + " " * self.width + "\r")

    def _write(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


def _bar(name: str) -> _Tqdm | _Line:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(name)
    return _Tqdm(tqdm, name)
