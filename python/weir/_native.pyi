"""The Rust part of the package."""

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
"""The version of Weir, with the commit from which it was built."""

SOURCES: str
"""A digest of everything that determines the figures of a run. Modules with the same digest make the same runs."""

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
    """The scenarios that come with Weir, one row each: `name` and `title`."""

def schemes(name: str | None = None, *, parameters: bool = False) -> Table:
    """The schemes, one row each: `name`, `title` and `citation`.

    With `parameters`, one row for each parameter of each scheme (or of the named one): `scheme`, `key` (for `set`),
    `default`, `meaning` and `source`.
    """

@final
class Table:
    """A table: columns with names, types and equal lengths.

    It implements the Arrow PyCapsule interface, so that polars, pyarrow, DuckDB and other libraries read it without a
    copy.
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, with units."""

    @property
    def about(self) -> dict[str, str]:
        """The meaning of each column with its unit: a text for each name."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    def column(self, name: str) -> list[Any]:
        """The values of a column; `None` if there is no value."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows."""

    def to_polars(self) -> polars.DataFrame:
        """Converts to a `polars.DataFrame`; needs polars."""

    def to_arrow(self) -> pyarrow.Table:
        """Converts to a `pyarrow.Table`; needs pyarrow."""

    def to_pandas(self) -> pandas.DataFrame:
        """Converts to a `pandas.DataFrame`; needs pandas and pyarrow."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> dict[str, Any]: ...
    def __arrow_c_stream__(self, requested_schema: Any | None = None) -> CapsuleType: ...
    def _repr_html_(self) -> str: ...

@final
class Scenario:
    """A checked experiment: a network, its flows, its events, and the expected results.

    `weir.Scenario.load` loads a file or one of the scenarios that come with Weir. `weir.scenario` builds one from
    Python objects.
    """

    @staticmethod
    def load(name: str | os.PathLike[str], set: dict[str, Any] | None = None) -> Scenario:
        """Loads a scenario from the list (`weir.scenarios()`) or from a file, and applies `set`.

        `set` is a dict of keys, such as `link.R2-R3.rate`, and their values.

        Raises `weir.ScenarioError` with the file, the line and the key.
        """

    @staticmethod
    def parse(text: str, name: str = "scenario", set: dict[str, Any] | None = None) -> Scenario:
        """Parses a scenario from a text in the file format. `name` is its name in results and messages.

        Raises `weir.ScenarioError` with the line of the text and the key.
        """

    def with_set(self, set: dict[str, Any]) -> Scenario:
        """Returns the scenario with additional values set: a dict of keys, such as `link.R2-R3.rate`, and their
        values."""

    @property
    def name(self) -> str:
        """The scenario's name in results: its name in the list, its file's path, or the given name."""

    @property
    def title(self) -> str:
        """A description of the experiment in one line."""

    @property
    def source(self) -> str:
        """The paper or the reason behind the scenario; may be empty."""

    @property
    def text(self) -> str:
        """The text of the file, TOML, without the changes by `set`."""

    @property
    def scheme(self) -> str:
        """The scheme that runs by default."""

    @property
    def duration_s(self) -> float:
        """Simulated time of a run, s."""

    @property
    def set(self) -> list[str]:
        """The changes by `set`: texts `KEY=VALUE`, in order."""

    @property
    def notes(self) -> list[str]:
        """Remarks about parts that were left out because the run was shortened."""

    @property
    def parameters(self) -> Table:
        """Every key for `set`, one row each: `key`, `value` (as text of the file) and `source`."""

    @property
    def axes(self) -> dict[str, list[str]]:
        """The parameters that the experiment varies: for each axis its values, in the form of `set={"axis.NAME":
        VALUE}`.
        """

    @property
    def windows(self) -> Table:
        """The measuring windows, one row each: `name`, `from_s` and `to_s`."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]: ...
    @staticmethod
    def _restore(
        name: str, text: str, set: Sequence[str], is_named: bool, files: Sequence[tuple[str, str]]
    ) -> Scenario: ...

@final
class Distribution:
    """A histogram of a run. `+` adds histograms of several runs, for example over seeds."""

    @property
    def unit(self) -> str:
        """Unit of the values: `ms`, `s`, or `1` for ratios."""

    @property
    def count(self) -> int:
        """The number of values."""

    @property
    def mean(self) -> float | None:
        """The exact mean of the values."""

    def cdf(self) -> tuple[list[float], list[float]]:
        """The points of the cumulative distribution: values, and the fraction of all values up to each, 0 to 1."""

    def quantile(self, part: float) -> float | None:
        """The value that this fraction (0 to 1) of all values does not exceed. Its error is at most half a step or 0.4
        %."""

    def __add__(self, value: Distribution, /) -> Distribution: ...
    def __radd__(self, value: Distribution, /) -> Distribution: ...

@final
class Result:
    """The measurements of a run.

    The tables `flows`, `classes`, `groups`, `links` and `nodes` have rows for the whole run and for each window,
    identified by the columns `window` (`run`, or for example `20:120`), `from_s` and `to_s`.
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
        """The time that the run took on the wall clock, s."""

    @property
    def notes(self) -> list[str]:
        """Remarks about the run, one text each."""

    @property
    def flows(self) -> Table:
        """One row per flow: goodput, delay, losses, and completion time."""

    @property
    def classes(self) -> Table:
        """One row per service class: the sum of its flows."""

    @property
    def groups(self) -> Table:
        """One row per group of flows, which are those of one [[flow]] table: the sum of its flows."""

    @property
    def links(self) -> Table:
        """One row per direction of each link."""

    @property
    def nodes(self) -> Table:
        """One row per node: its role (consumer, router, producer or peer), its cache, its pending Interests, its
        dropped packets, and its drawing position if the scenario gives one.
        """

    @property
    def windows(self) -> Table:
        """The measuring windows: first those of the scenario, then additional ones."""

    @property
    def expectations(self) -> Table:
        """The statements of the scenario's source about this scheme, with the measured values."""

    @property
    def series(self) -> Series:
        """The figures over time."""

    def distribution(self, what: str, of: str | None = None, window: str = "run") -> Distribution:
        """The histogram of a measured quantity: `delay`, `queueing`, `completion` or `slowdown`.

        `of` is the name of a class, of a group, of a flow such as `C1 /A`, or of the direction of a link such as
        `R1->R2`; by default all flows or all links. `window` is a window as in the tables, such as `20:120`; by
        default the whole run.
        """

    @property
    def document(self) -> dict[str, Any]:
        """The document of the run: the output of `weir run --json`."""

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
        """Writes the report as one HTML page, and returns its path."""

    def _repr_html_(self) -> str: ...

@final
class Series:
    """The figures over time: one row for each step of each flow, class, direction of a link, or node.

    Empty if the run was made without series.
    """

    @property
    def flows(self) -> Table:
        """The figures of each flow over time."""

    @property
    def classes(self) -> Table:
        """The figures of each class over time, summed over its flows."""

    @property
    def links(self) -> Table:
        """The figures of each direction of each link over time."""

    @property
    def nodes(self) -> Table:
        """The figures of each node over time."""

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
        """The maximised objective: `link-fair`, `max-min`, `proportional` or `max-flow`."""

    @property
    def utilisation(self) -> float:
        """The usable part of the links' rates, 0 to 1."""

    @property
    def notes(self) -> list[str]:
        """Remarks, one text each."""

    @property
    def flows(self) -> Table:
        """One row per flow: its rate and goodput, and those that it would have alone."""

    @property
    def links(self) -> Table:
        """One row per direction of each link that Data use."""

    @property
    def bottlenecks(self) -> Table:
        """The bottlenecks, tightest first."""

    @property
    def inexact(self) -> list[str]:
        """Why figures are not exact, first for windows, then for completions, one text each; empty if all are exact."""

    @property
    def completions(self) -> Table:
        """The completion time of each flow that has an end."""

    @property
    def document(self) -> dict[str, Any]:
        """The document: the output of `weir optimum --json`."""

    def json(self) -> str:
        """The document as JSON text."""

    def _repr_html_(self) -> str: ...

@final
class Study:
    """The results of a list of runs: of a sweep, a comparison or a reproduction."""

    @property
    def name(self) -> str:
        """The study's name in the tables."""

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes: for each key its values as texts."""

    @property
    def command(self) -> str:
        """The command that makes the same study, without its folder."""

    @property
    def folder(self) -> Path | None:
        """The folder of the results; `None` if they are only in memory."""

    @property
    def results(self) -> Table:
        """Every figure of every run, one row each, with the run, the window, the object, the metric, the unit and the
        value.
        """

    @property
    def runs(self) -> Table:
        """The runs, one row each: key, command, time and, if the run failed, the error."""

    @property
    def failed(self) -> int:
        """The number of runs that failed."""

    @property
    def document(self) -> dict[str, Any]:
        """The document with means and intervals: the output of the command with `--json`."""

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
        """Writes the page as one HTML file, and returns its path.

        A study with a folder has a page there, with plots over time and reports of runs beside it.
        """

    def _repr_html_(self) -> str: ...

@final
class Schedule:
    """The schedule of a study's runs: which run is next, and the results of the others."""

    def begin(self, needed: bool) -> tuple[int, str, bytes] | None:
        """Begins a run. Returns its index, its key, and the request for `run_request`, or `None` if no run can begin now.

        :param needed: whether to skip runs that may turn out to be unaffected by the seed
        """

    def end(self, place: int, record: bytes) -> None:
        """Takes the record of a run that has ended."""

    def fail(self, place: int, reason: str) -> None:
        """Records that a run has failed, with the reason."""

    def give_back(self, place: int) -> None:
        """Returns a run that has begun but did not end. It can begin again."""

    def look(self) -> None:
        """Handles signals, and reports the progress."""

@final
class Flow:
    """The flow that a law controls."""

    @property
    def class_name(self) -> str:
        """The service class: `EF`, `AF3`, `AF2`, `AF1` or `BE`."""

    @property
    def expected_size_bytes(self) -> int:
        """Expected size of a Data, bytes; 0 if the application does not know it."""

    @property
    def lifetime_s(self) -> float:
        """Lifetime of the Interests, s."""

@final
class Data:
    """A Data arrived at its consumer."""

    @property
    def now_s(self) -> float:
        """Arrival time, s."""

    @property
    def segment(self) -> int:
        """Segment number."""

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time, s; `None` if the Interest was sent more than once."""

    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time including this sample, s; `None` before the first sample."""

    @property
    def congestion_mark(self) -> int:
        """Congestion mark; 0: none."""

    @property
    def was_pending(self) -> bool:
        """Whether the Interest was still pending. It was not if it counted as lost and was not sent again."""

    @property
    def pending(self) -> int:
        """Pending Interests, without this one."""

    @property
    def highest_sent(self) -> int:
        """Highest segment number sent so far."""

    @property
    def oldest_missing(self) -> int:
        """The oldest missing segment."""

    @property
    def expected_size_bytes(self) -> int:
        """Expected size of the next Data on the wire, bytes."""

    @property
    def packets(self) -> float:
        """Number of packets that the Data counts as; 1 unless the law has the parameter `unit`."""

    lost: tuple[int, int] | None
    """The law's decision in `on_data`: the pending Interests for the segments from the first number up to, but not
    including, the second count as lost; `None`: none.
    """

@final
class Send:
    """An Interest is sent."""

    @property
    def now_s(self) -> float:
        """Send time, s."""

    @property
    def segment(self) -> int:
        """Segment number."""

    @property
    def retransmission(self) -> bool:
        """Whether it is a retransmission."""

    @property
    def pending(self) -> int:
        """Pending Interests, without this one."""

    @property
    def expected_size_bytes(self) -> int:
        """Expected size of its Data on the wire, bytes."""

    @property
    def late_s(self) -> float:
        """How much later it is sent than the law permitted, s, because the application had nothing to request."""

@final
class Loss:
    """An Interest counts as lost."""

    @property
    def now_s(self) -> float:
        """The time of this decision, s."""

    @property
    def segment(self) -> int:
        """Segment number."""

    @property
    def pending(self) -> int:
        """Pending Interests, without this one."""

    @property
    def highest_sent(self) -> int:
        """Highest segment number sent so far."""

@final
class Congestion:
    """A congestion signal that counts."""

    @property
    def sign(self) -> str:
        """`mark`: a Data had a congestion mark; `loss`: an Interest timed out, or was answered with a Nack."""

    @property
    def now_s(self) -> float:
        """Arrival time, s."""

    @property
    def pending(self) -> int:
        """Pending Interests."""

    @property
    def packets(self) -> float:
        """Number of packets that the Data of one of them counts as."""
