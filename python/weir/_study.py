"""Studies: many runs, and the tables of their figures."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping

from . import _cluster, _native
from ._native import Scenario, Study
from ._run import Progress, scenario_of, shown
from .errors import WeirError

if TYPE_CHECKING:
    from distributed import Client

    from ._run import Window

    Names = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
    Seeds = int | str | Iterable[int]
    Told = bool | Callable[[Progress], object] | None


def sweep(
    scenario: str | os.PathLike[str] | Scenario,
    vary: Mapping[str, str | Iterable[Any]] | None = None,
    schemes: str | Iterable[str] = (),
    seeds: Seeds = 10,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[Window] = (),
    *,
    zip: bool = False,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    shard: tuple[int, int] | None = None,
    client: Client | None = None,
    progress: Told = None,
) -> Study:
    """Simulates a scenario at every point of some axes, under several schemes and with several seeds.

    >>> study = weir.sweep(
    ...     "qsccp/dumbbell",
    ...     {"link.R2-R3.rate": ["5 Mb/s", "10 Mb/s", "20 Mb/s"], "link.R2-R3.delay": "5,10ms"},
    ...     schemes=["qsccp", "pcon", "bbr"],
    ...     seeds=5,
    ...     out="my-sweep",
    ... )
    >>> study.results.to_polars()

    :param scenario: a name of `weir.scenarios()`, a file, or a `weir.Scenario`. Its own axes are swept too, unless `vary` or
        `set` has them
    :param vary: for each key its values: a list, or a text as the command takes it: `"5,10,20Mb/s"`, `"5:20:5Mb/s"` (from,
        to, step), or `"1..100Mb/s log 5"`
    :param schemes: names, or `"all"`; by default the scenario's own
    :param seeds: a number of seeds from 1 on, a list or a range of seeds, or a text such as `"3..8"`
    :param set: values to change at all points
    :param windows: further measuring windows, pairs of times
    :param zip: pair the values of all axes of `vary` instead of combining them
    :param jobs: how many runs are made at a time; by default as many as there are processors
    :param out: a folder, which gets the tables, the page and the runs. The same call makes only the runs that are missing
        there, so it goes on where it was stopped
    :param shard: make only a part, `(2, 8)` for the second of eight. Then copy the folders `runs` of all parts into one, and
        call it without `shard`
    :param client: a `dask.distributed.Client`: the workers of its cluster make the runs, in place of this machine
    :param progress: as for `weir.run`

    A run that fails does not end the others: `Study.failed` counts them, and `Study.runs` says why.
    """
    scenario = scenario_of(scenario, set)
    if client is not None and jobs is not None:
        raise WeirError("`jobs` is for runs on this machine: give `jobs` or `client`")
    elsewhere = None if client is None else _cluster.executor(client)
    axes = [
        (f"{key}={values}", None) if isinstance(values, str) else (key, list(values))
        for key, values in (vary or {}).items()
    ]
    with _told(progress, scenario.name) as told:
        return _native.sweep(
            scenario, axes, zip, _names(schemes), _seeds(seeds), list(windows), shard, jobs, _path(out), told, elsewhere
        )


def compare(
    scenarios: Names,
    schemes: str | Iterable[str] = "all",
    seeds: Seeds = 10,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[Window] = (),
    *,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Told = None,
) -> Study:
    """Simulates scenarios under several schemes, and compares them.

    :param scenarios: a name of `weir.scenarios()`, a paper such as `qsccp`, a file, or a list of these; an empty list for
        every experiment of every paper. A scenario with axes runs at every point of them, unless `set` picks one
    :param schemes: names, or `"all"`
    :param seeds: as for `weir.sweep`
    :param set: values to change in all scenarios
    :param windows: further measuring windows, pairs of times
    :param jobs: how many runs are made at a time; by default as many as there are processors
    :param out: a folder for the page, the reports, the tables and the runs. The same call makes only the missing runs
    :param progress: as for `weir.run`
    """
    names = _names(scenarios)
    with _told(progress, "compare") as told:
        return _native.compare(
            names, _names(schemes), _seeds(seeds), dict(set or {}), list(windows), jobs, _path(out), told
        )


def reproduce(
    experiments: Names = (),
    seeds: Seeds = 10,
    scheme: str | None = None,
    *,
    jitter: bool = True,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Told = None,
) -> Study:
    """Runs the experiments of papers, and checks what the papers state.

    `Study.document` has each statement with the stated and the measured value, and whether it holds.

    :param experiments: a paper (`qsccp`), an experiment (`qsccp/dumbbell`), a file, or a list of these; by default all papers
    :param seeds: as for `weir.sweep`
    :param scheme: only the statements about this scheme
    :param jitter: whether seeds other than 1 run with delays that differ by up to 2 %, and starts up to 20 ms later
    :param jobs: how many runs are made at a time; by default as many as there are processors
    :param out: a folder for the page, the reports, the tables and the runs. The same call makes only the missing runs
    :param progress: as for `weir.run`
    """
    names = _names(experiments)
    with _told(progress, "reproduce") as told:
        return _native.reproduce(names, _seeds(seeds), scheme, jitter, jobs, _path(out), told)


def _names(given: Names) -> list[str]:
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return [os.fspath(name) for name in given]


def _seeds(given: Seeds) -> str | list[int]:
    return str(given) if isinstance(given, (int, str)) else list(given)


def _path(out: str | os.PathLike[str] | None) -> str | None:
    return None if out is None else os.fspath(out)


@contextmanager
def _told(progress: Told, name: str) -> Iterator[Callable[[float, int, int], object] | None]:
    """Returns the progress callback of a study."""
    with shown(progress, name) as say:
        yield None if say is None else lambda *now: say(Progress(*now))
