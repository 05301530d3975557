"""What the package has from Rust."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, final

import pandas
import polars
import pyarrow
from matplotlib.figure import Figure
from typing_extensions import CapsuleType

__all__ = [
    "VERSION",
    "Congestion",
    "Data",
    "Distribution",
    "Flow",
    "Loss",
    "Optimum",
    "Result",
    "SOURCES",
    "Scenario",
    "Schedule",
    "Send",
    "Series",
    "Study",
    "Table",
    "compare",
    "lab_options",
    "lab_result",
    "main",
    "optimum",
    "reproduce",
    "run",
    "run_request",
    "scenarios",
    "schemes",
    "sweep",
]

VERSION: str
"""The version of Weir, with the commit that it was built from."""

SOURCES: str
"""A digest of everything that decides the figures of a run: modules with the same digest make the same runs."""

def main(argv: Sequence[str]) -> int: ...
def run(
    scenario: Scenario,
    scheme: str | None = None,
    law: Any | None = None,
    seed: int = 1,
    windows: Iterable[tuple[float | str, float | str]] | None = None,
    series: bool = True,
    progress: Callable[[float], object] | None = None,
    threads: int = 1,
) -> Result: ...
def run_request(request: bytes) -> bytes: ...
def optimum(
    scenario: Scenario,
    windows: Iterable[tuple[float | str, float | str]] | None = None,
    objective: str | None = None,
    utilisation: float | None = None,
    seed: int | None = None,
) -> Optimum: ...
def lab_options(
    scenario: Scenario,
    scheme: str | None = None,
    seed: int = 1,
    windows: Iterable[tuple[float | str, float | str]] | None = None,
) -> tuple[bool, list[str], list[tuple[str, str]]]: ...
def lab_result(
    scenario: Scenario, document: str, folder: str | os.PathLike[str], notes: Sequence[str]
) -> Result: ...
def sweep(
    scenario: Scenario,
    vary: Sequence[tuple[str, Sequence[Any] | None]],
    zip: bool,
    schemes: Sequence[str],
    seeds: str | Sequence[int],
    windows: Iterable[tuple[float | str, float | str]] | None,
    shard: tuple[int, int] | None,
    jobs: int | None,
    folder: str | os.PathLike[str] | None,
    progress: Callable[[float, int, int], object] | None,
    elsewhere: Callable[[Schedule], object] | None = None,
) -> Study: ...
def compare(
    names: Sequence[str],
    schemes: Sequence[str],
    seeds: str | Sequence[int],
    set: dict[str, Any] | None,
    windows: Iterable[tuple[float | str, float | str]] | None,
    jobs: int | None,
    folder: str | os.PathLike[str] | None,
    progress: Callable[[float, int, int], object] | None,
) -> Study: ...
def reproduce(
    names: Sequence[str],
    seeds: str | Sequence[int],
    scheme: str | None,
    jitter: bool,
    jobs: int | None,
    folder: str | os.PathLike[str] | None,
    progress: Callable[[float, int, int], object] | None,
) -> Study: ...
def scenarios() -> Table:
    """The scenarios that come with Weir, a row each: `name` and `title`."""

def schemes(name: str | None = None, *, parameters: bool = False) -> Table:
    """The schemes, a row each: `name`, `title` and `citation`.

    With `parameters`, a row for each parameter of each scheme (or of the one named): `scheme`, `key` (as `set` takes it),
    `default`, `meaning` and `source`.
    """

@final
class Table:
    """A table: columns with names, types and equal lengths.

    It implements the Arrow PyCapsule interface, so that polars, pyarrow, DuckDB and others take it without a copy.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, with their units."""

    @property
    def about(self) -> dict[str, str]:
        """What each column says, with its unit: a text for each name."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    def column(self, name: str) -> list[Any]:
        """The values of a column: `None` where there is no value."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows."""

    def to_polars(self) -> polars.DataFrame:
        """A `polars.DataFrame` of it; needs polars."""

    def to_arrow(self) -> pyarrow.Table:
        """A `pyarrow.Table` of it; needs pyarrow."""

    def to_pandas(self) -> pandas.DataFrame:
        """A `pandas.DataFrame` of it; needs pandas and pyarrow."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> dict[str, Any]: ...
    def __arrow_c_stream__(self, requested_schema: Any | None = None) -> CapsuleType: ...
    def _repr_html_(self) -> str: ...

@final
class Scenario:
    """An experiment, read and checked: a network, its flows, its events, and what should come out.

    `weir.Scenario.load` reads a file or one of the scenarios that come with Weir; `weir.scenario` builds one from Python
    objects.
    """

    @staticmethod
    def load(name: str | os.PathLike[str], set: dict[str, Any] | None = None) -> Scenario:
        """A scenario of the list (`weir.scenarios()`) or a file, with `set` applied.

        `set` is a dict of keys, such as `link.R2-R3.rate`, and their values.

        Raises `weir.ScenarioError` with the file, the line and the key.
        """

    @staticmethod
    def parse(text: str, name: str = "scenario", set: dict[str, Any] | None = None) -> Scenario:
        """A scenario from the text of its file, called `name` in results and in messages.

        Raises `weir.ScenarioError` with the line of the text and the key.
        """

    def with_set(self, set: dict[str, Any]) -> Scenario:
        """The same scenario with further values set: a dict of keys, such as `link.R2-R3.rate`, and their values."""

    @property
    def name(self) -> str:
        """Its name in results: that of the list, the path of its file, or the given one."""

    @property
    def title(self) -> str:
        """The experiment in one line."""

    @property
    def source(self) -> str:
        """The paper or the reason that it comes from; may be empty."""

    @property
    def text(self) -> str:
        """The text of its file, TOML, without what was set."""

    @property
    def scheme(self) -> str:
        """The scheme that runs if no other is named."""

    @property
    def duration_s(self) -> float:
        """Simulated time of a run, s."""

    @property
    def set(self) -> list[str]:
        """What was changed in it: texts `KEY=VALUE`, in order."""

    @property
    def notes(self) -> list[str]:
        """Remarks on what was left out because the run was shortened."""

    @property
    def parameters(self) -> Table:
        """Every key that `set` takes, a row each: `key`, `value` (as a text of the file) and `source`."""

    @property
    def axes(self) -> dict[str, list[str]]:
        """The parameters that the experiment varies: for each axis its values, as `set={"axis.NAME": VALUE}` takes
        them.
        """

    @property
    def windows(self) -> Table:
        """The measuring windows, a row each: `name`, `from_s` and `to_s`."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    @staticmethod
    def _restore(
        name: str, text: str, set: Sequence[str], is_named: bool, files: Sequence[tuple[str, str]]
    ) -> Scenario: ...

@final
class Distribution:
    """A histogram of a run. `+` adds those of several runs, over seeds for example."""

    @property
    def unit(self) -> str:
        """Unit of the values: `ms`, `s`, or `1` for ratios."""

    @property
    def count(self) -> int:
        """The number of values."""

    @property
    def mean(self) -> float | None:
        """Their mean, exact."""

    def cdf(self) -> tuple[list[float], list[float]]:
        """The points of the cumulative distribution: values, and the part of all values up to each, 0 to 1."""

    def quantile(self, part: float) -> float | None:
        """The value that this part (0 to 1) of all values does not exceed; off by half a step or 0.4 %."""

    def __add__(self, value: Distribution, /) -> Distribution: ...
    def __radd__(self, value: Distribution, /) -> Distribution: ...

@final
class Result:
    """What a run has measured.

    The tables `flows`, `classes`, `groups`, `links` and `nodes` have rows for the whole run and for each window, which the
    columns `window` (`run`, or such as `20:120`), `from_s` and `to_s` say.
    """

    @property
    def scenario(self) -> str:
        """The scenario's name."""

    @property
    def title(self) -> str:
        """The scenario's title."""

    @property
    def scheme(self) -> str:
        """The scheme's name."""

    @property
    def seed(self) -> int:
        """The seed of all random streams."""

    @property
    def seed_matters(self) -> bool:
        """Whether the figures depend on the seed."""

    @property
    def wall_s(self) -> float:
        """The time that the run took, s."""

    @property
    def notes(self) -> list[str]:
        """Remarks of the run, a text each."""

    @property
    def flows(self) -> Table:
        """Each flow: goodput, delay, losses, and when it was complete."""

    @property
    def classes(self) -> Table:
        """Each service class: its flows together."""

    @property
    def groups(self) -> Table:
        """Each group of flows, those of one [[flow]] table, together."""

    @property
    def links(self) -> Table:
        """Each direction of each link."""

    @property
    def nodes(self) -> Table:
        """Each node: its role (consumer, router, producer or peer), its cache, its pending Interests, the packets that it
        threw away, and where it is drawn, if the scenario says so.
        """

    @property
    def windows(self) -> Table:
        """The measuring windows: those of the scenario, then further ones."""

    @property
    def expectations(self) -> Table:
        """The statements of the scenario's source about this scheme, with the measured values."""

    @property
    def series(self) -> Series:
        """The figures over time."""

    def distribution(self, what: str, of: str | None = None, window: str = "run") -> Distribution:
        """The histogram of a measured quantity: `delay`, `queueing`, `completion` or `slowdown`.

        `of` is the name of a class, of a group, of a flow as `C1 /A`, or of the direction of a link as `R1->R2`; without
        it, that of all flows or all links. `window` is a window as in the tables, such as `20:120`; without it, that of the
        whole run.
        """

    @property
    def document(self) -> dict[str, Any]:
        """The document of the run: what `weir run --json` prints."""

    def json(self) -> str:
        """The document of the run as JSON text."""

    def plot(
        self,
        what: str | None = None,
        *,
        metric: str | list[str] | None = None,
        by: str | None = None,
        only: str | list[str] | None = None,
        window: str | None = None,
        x: str | None = None,
        log: str | list[str] | None = None,
        columns: int = 1,
        title: str | None = None,
    ) -> Figure:
        """A figure of matplotlib, with the data and styles of `weir plot`: `pip install 'ndn-weir[figures]'`.

        :param what: the kind: `series`, `bars`, `scatter`, `axis`, `cdf`, `ccdf`, `completion`, `fairness` or `topology`; by
            default the one that shows most
        :param metric: a metric, or several with a panel each
        :param by: what lines and bars are of: `class`, `group`, `flow`, `scheme` or `link`
        :param only: names of schemes, classes, groups, flows or links
        :param window: its number, its ends such as `20:120`, or `run`
        :param x: the axis of a sweep
        :param log: `x`, `y` or both
        :param columns: the width in columns of a paper, 1 or 2

        Raises `weir.WeirError` if the results have no such figure; it says which they have.
        """

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the report, one HTML page with all in it, and returns its path."""

    def _repr_html_(self) -> str: ...

@final
class Series:
    """The figures over time, a row for each step of each flow, class, direction of a link, or node.

    Empty if the run was made without series.
    """

    @property
    def flows(self) -> Table:
        """Each flow over time."""

    @property
    def classes(self) -> Table:
        """Each class over time: its flows summed."""

    @property
    def links(self) -> Table:
        """Each direction of each link over time."""

    @property
    def nodes(self) -> Table:
        """Each node over time."""

    @property
    def step_s(self) -> float:
        """Length of a step, s."""

@final
class Optimum:
    """The best allocation for a scenario, independent of the scheme, in each window."""

    @property
    def scenario(self) -> str:
        """The scenario's name."""

    @property
    def objective(self) -> str:
        """What is maximised: `link-fair`, `max-min`, `proportional` or `max-flow`."""

    @property
    def utilisation(self) -> float:
        """The usable part of the links' rates, 0 to 1."""

    @property
    def notes(self) -> list[str]:
        """Remarks, a text each."""

    @property
    def flows(self) -> Table:
        """Each flow: its rate and goodput, and what it would have alone."""

    @property
    def links(self) -> Table:
        """Each direction of each link that Data use."""

    @property
    def bottlenecks(self) -> Table:
        """The bottlenecks, the tightest first."""

    @property
    def inexact(self) -> list[str]:
        """Why figures are not exact, for windows and then for completions, a text each; empty if all are exact."""

    @property
    def completions(self) -> Table:
        """When each flow that has an end would be complete."""

    @property
    def document(self) -> dict[str, Any]:
        """The document: what `weir optimum --json` prints."""

    def json(self) -> str:
        """The document as JSON text."""

    def _repr_html_(self) -> str: ...

@final
class Study:
    """What came of a list of runs: of a sweep, a comparison or a reproduction."""

    @property
    def name(self) -> str:
        """Its name in the tables."""

    @property
    def axes(self) -> dict[str, list[str]]:
        """Its axes: for each key the values, as texts."""

    @property
    def command(self) -> str:
        """The command that makes the same study, without its folder."""

    @property
    def folder(self) -> Path | None:
        """The folder of its results; `None` if they are in memory only."""

    @property
    def results(self) -> Table:
        """Every figure of every run: a row for each, with the run, the window, the object, the metric, the unit and the
        value.
        """

    @property
    def runs(self) -> Table:
        """The runs, a row for each: its key, command, time and, if it failed, the error."""

    @property
    def failed(self) -> int:
        """The number of runs that failed."""

    @property
    def document(self) -> dict[str, Any]:
        """The document with means and intervals: what the command prints with `--json`."""

    def plot(
        self,
        what: str | None = None,
        *,
        metric: str | list[str] | None = None,
        by: str | None = None,
        only: str | list[str] | None = None,
        window: str | None = None,
        x: str | None = None,
        log: str | list[str] | None = None,
        columns: int = 1,
        title: str | None = None,
    ) -> Figure:
        """A figure of matplotlib, with the data and styles of `weir plot`: `pip install 'ndn-weir[figures]'`.

        :param what: the kind: `series`, `bars`, `scatter`, `axis`, `cdf`, `ccdf`, `completion`, `fairness` or `topology`; by
            default the one that shows most
        :param metric: a metric, or several with a panel each
        :param by: what lines and bars are of: `class`, `group`, `flow`, `scheme` or `link`
        :param only: names of schemes, classes, groups, flows or links
        :param window: its number, its ends such as `20:120`, or `run`
        :param x: the axis of a sweep
        :param log: `x`, `y` or both
        :param columns: the width in columns of a paper, 1 or 2

        Raises `weir.WeirError` if the results have no such figure; it says which they have.
        """

    def json(self) -> str:
        """The document as JSON text."""

    def text(self) -> str:
        """The tables that the command prints."""

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page, one HTML file, and returns its path.

        A study with a folder has a page there, with plots over time and reports of runs beside it.
        """

    def _repr_html_(self) -> str: ...

@final
class Schedule:
    """Which run of a study is made next, and what came of the others."""

    def begin(self, needed: bool) -> tuple[int, str, bytes] | None:
        """Begins a run: its place, its key, and the request for `run_request`. `None` if there is none to begin now.

        :param needed: not one that the seed of another one may turn out to decide nothing for
        """

    def end(self, place: int, record: bytes) -> None:
        """A run has ended: its record."""

    def fail(self, place: int, reason: str) -> None:
        """A run has failed, for this reason."""

    def give_back(self, place: int) -> None:
        """A run that has begun did not end: it can begin again."""

    def look(self) -> None:
        """Looks for signals, and tells the progress."""

@final
class Flow:
    """The flow that a law is of."""

    @property
    def class_name(self) -> str:
        """The service class: `EF`, `AF3`, `AF2`, `AF1` or `BE`."""

    @property
    def expected_size_bytes(self) -> int:
        """Size of the Data to expect, bytes; 0 if the application does not know it."""

    @property
    def lifetime_s(self) -> float:
        """Lifetime of its Interests, s."""

@final
class Data:
    """A Data came to its consumer."""

    @property
    def now_s(self) -> float:
        """When it came, s."""

    @property
    def segment(self) -> int:
        """Its segment number."""

    @property
    def rtt_s(self) -> float | None:
        """The round-trip time, s; `None` if the Interest was sent more than once."""

    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time, this sample included, s; `None` before the first."""

    @property
    def congestion_mark(self) -> int:
        """The congestion mark; 0: there is none."""

    @property
    def was_pending(self) -> bool:
        """Whether its Interest was pending until now: not if it counted as lost, and was not sent again."""

    @property
    def pending(self) -> int:
        """Pending Interests, this one no longer counted."""

    @property
    def highest_sent(self) -> int:
        """Highest segment number sent so far."""

    @property
    def oldest_missing(self) -> int:
        """The oldest segment that did not come yet."""

    @property
    def expected_size_bytes(self) -> int:
        """Expected size of the next Data on the wire, bytes."""

    @property
    def packets(self) -> float:
        """Packets that the Data counts as; 1 unless the law has the parameter `unit`."""

    lost: tuple[int, int] | None
    """The law's decision in `on_data`: the segments from the first to before the second number, whose pending Interests
    it declares lost; `None`: none.
    """

@final
class Send:
    """An Interest leaves."""

    @property
    def now_s(self) -> float:
        """When it leaves, s."""

    @property
    def segment(self) -> int:
        """Its segment number."""

    @property
    def retransmission(self) -> bool:
        """Whether it was sent before."""

    @property
    def pending(self) -> int:
        """Pending Interests, this one not counted."""

    @property
    def expected_size_bytes(self) -> int:
        """Expected size of its Data on the wire, bytes."""

    @property
    def late_s(self) -> float:
        """How much later it leaves than the law would have let it, s: the application had nothing to ask for."""

@final
class Loss:
    """An Interest is given up for lost."""

    @property
    def now_s(self) -> float:
        """When it is given up, s."""

    @property
    def segment(self) -> int:
        """Its segment number."""

    @property
    def pending(self) -> int:
        """Pending Interests, this one no longer counted."""

    @property
    def highest_sent(self) -> int:
        """Highest segment number sent so far."""

@final
class Congestion:
    """A congestion signal that counts."""

    @property
    def sign(self) -> str:
        """`mark`: a Data came with a congestion mark; `loss`: an Interest timed out, or came back as a Nack."""

    @property
    def now_s(self) -> float:
        """When it came, s."""

    @property
    def pending(self) -> int:
        """Pending Interests."""

    @property
    def packets(self) -> float:
        """Packets that the Data of one of them counts as."""
