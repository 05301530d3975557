"""Weir: congestion control and quality of service for Named Data Networking.

>>> import weir
>>> result = weir.run("qsccp/dumbbell", scheme="pcon", seed=2)
>>> result.classes.to_polars()              # or pandas, pyarrow, DuckDB

A run is made in this process, on one processor. Tables have units in the names of their columns: `goodput_bps` is in
bit/s, `delay_ms_p95` in milliseconds, `completion_s` in seconds.
"""

from ._native import VERSION, Optimum, Result, Scenario, Series, Table, scenarios, schemes
from ._optimum import optimum
from ._run import Progress, run
from .build import scenario
from .errors import RunError, ScenarioError, SchemeError, WeirError
from .law import WindowLaw

__version__ = VERSION.split(" ")[0]

__all__ = [
    "VERSION",
    "Optimum",
    "Progress",
    "Result",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SchemeError",
    "Series",
    "Table",
    "WeirError",
    "WindowLaw",
    "optimum",
    "run",
    "scenario",
    "scenarios",
    "schemes",
]
