"""Weir: congestion control and quality of service for Named Data Networking.

>>> import weir
>>> result = weir.run("qsccp/dumbbell", scheme="pcon", seed=2)
>>> result.classes.to_polars()              # or pandas, pyarrow, DuckDB

A run is made in this process, on one processor; `weir.lab` makes it on real forwarders; `weir.sweep`, `weir.compare` and `weir.reproduce` make many runs, on all
processors. Tables have units in the names of their columns: `goodput_bps` is in
bit/s, `delay_ms_p95` in milliseconds, `completion_s` in seconds.
"""

from ._native import VERSION, Distribution, Optimum, Result, Scenario, Series, Study, Table, scenarios, schemes
from ._lab import lab
from ._optimum import optimum
from ._run import Progress, run
from ._study import compare, reproduce, sweep
from .build import scenario
from .errors import RunError, ScenarioError, SchemeError, WeirError
from .law import WindowLaw

__version__ = VERSION.split(" ")[0]

__all__ = [
    "VERSION",
    "Distribution",
    "Optimum",
    "Progress",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SchemeError",
    "Series",
    "Study",
    "Table",
    "WeirError",
    "WindowLaw",
    "compare",
    "lab",
    "optimum",
    "reproduce",
    "run",
    "scenario",
    "scenarios",
    "schemes",
    "sweep",
]
