"""The theoretically best allocation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Literal, Mapping

from . import _native
from ._native import Optimum, Scenario
from ._run import scenario_of

if TYPE_CHECKING:
    from ._run import Window

    Objective = Literal["link-fair", "max-min", "proportional", "max-flow"]


def optimum(
    scenario: str | os.PathLike[str] | Scenario,
    set: Mapping[str, Any] | None = None,
    windows: Iterable[Window] = (),
    objective: Objective | None = None,
    *,
    utilisation: float | None = None,
    seed: int | None = None,
) -> Optimum:
    """Computes the best allocation for a scenario, independent of the scheme, and its bottleneck links.

    :param scenario: a name of `weir.scenarios()`, a file, or a `weir.Scenario`
    :param set: values to change, such as `{"link.R2-R3.rate": "20 Mb/s"}`
    :param windows: the parts of the run, pairs of times: `(20, 120)` in seconds, or `("500 ms", "2 s")`; by default the
        scenario's windows, or else the whole run
    :param objective: `link-fair` (the default), the result of fair scheduling at every link; `max-min` over all routes at
        once; `proportional` fairness; or `max-flow`, the largest sum of rates
    :param utilisation: the usable part of the links' rates, above 0 and at most 1; by default that of the scheme whose
        policy divides the links
    :param seed: the seed of the run whose random consumers, starts and delays are used; by default those of the scenario
        without random draws

    Raises `weir.ScenarioError` or `weir.WeirError`.
    """
    return _native.optimum(scenario_of(scenario, set), list(windows), objective, utilisation, seed)
