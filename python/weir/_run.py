"""One run, with its progress."""

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
    NativeProgress = Callable[[float, float, int, int], object]


class Progress(NamedTuple):
    """How far a run is."""

    simulated_s: float
    """Simulated time so far, s."""
    duration_s: float
    """Simulated time of the whole run, s."""
    events: int
    """Events so far."""
    packet_hops: int
    """Packets put on links so far."""

    @property
    def fraction(self) -> float:
        """The simulated part of the run, 0 to 1."""
        return self.simulated_s / self.duration_s if self.duration_s else 1.0


def run(
    scenario: str | os.PathLike[str] | Scenario,
    scheme: str | WindowLaw | type[WindowLaw] | None = None,
    seed: int = 1,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[tuple[Time, Time]] = (),
    *,
    series: bool = True,
    progress: bool | Callable[[Progress], object] | None = None,
) -> Result:
    """Simulates a scenario, and returns what was measured.

    :param scenario: a name of `weir.scenarios()`, a file, or a `weir.Scenario`
    :param scheme: a name of `weir.schemes()`, or a `weir.WindowLaw`; by default the scenario's own scheme
    :param seed: the seed of all random streams; the same seed gives the same figures
    :param set: values to change, such as `{"link.R2-R3.rate": "20 Mb/s"}`; `Scenario.parameters` lists them
    :param windows: further measuring windows, pairs of times: `(20, 120)` in seconds, or `("500 ms", "2 s")`
    :param series: whether to keep time series, which `Result.series` and the report need
    :param progress: a bar (`True`), nothing (`False`), a callable that gets a `weir.Progress`, or by default a bar in a
        terminal and in a notebook

    The interpreter's lock is free while it runs, so that threads make runs side by side. Ctrl-C stops it.

    Raises `weir.ScenarioError`, `weir.SchemeError` or `weir.RunError`.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario, dict(set or {}))
    elif set:
        scenario = scenario.with_set(dict(set))
    law = None
    if isinstance(scheme, type) and issubclass(scheme, WindowLaw):
        scheme = scheme()
    if scheme is not None and not isinstance(scheme, str):
        law, scheme = scheme, None
    with _shown(progress, scenario) as say:
        return _native.run(scenario, scheme, law, seed, list(windows), series, say)


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    instance = shell.get_ipython()
    return instance is not None and type(instance).__name__ == "ZMQInteractiveShell"


@contextmanager
def _shown(
    progress: bool | Callable[[Progress], object] | None, scenario: Scenario
) -> Iterator[NativeProgress | None]:
    """What a run calls to say how far it is."""
    if progress is None:
        progress = _is_notebook() or sys.stderr.isatty()
    if progress is False:
        yield None
    elif progress is True:
        bar = _bar(scenario)
        try:
            yield bar.say
        finally:
            bar.close()
    else:
        told = progress
        yield lambda *now: told(Progress(*now))


class _Tqdm:
    """A bar of tqdm."""

    def __init__(self, tqdm: Any, scenario: Scenario) -> None:
        # Of runs that are soon over there is none.
        self.bar = tqdm(total=scenario.duration_s, desc=scenario.name, unit="s", delay=0.5, leave=False)

    def say(self, simulated_s: float, duration_s: float, events: int, packet_hops: int) -> None:
        self.bar.update(simulated_s - self.bar.n)

    def close(self) -> None:
        self.bar.close()


class _Line:
    """A line of a terminal, where there is no tqdm."""

    def __init__(self, scenario: Scenario) -> None:
        self.name = scenario.name
        self.next = time.monotonic() + 0.5
        self.width = 0

    def say(self, simulated_s: float, duration_s: float, events: int, packet_hops: int) -> None:
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 0.2
        text = f"{self.name}: {100 * simulated_s / duration_s:.0f} %"
        self.write("\r" + text.ljust(self.width))
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            self.write("\r" + " " * self.width + "\r")

    def write(self, text: str) -> None:
        print(text, end="", file=sys.stderr, flush=True)


def _bar(scenario: Scenario) -> _Tqdm | _Line:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(scenario)
    return _Tqdm(tqdm, scenario)
