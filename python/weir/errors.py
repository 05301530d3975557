"""Errors of Weir. Messages say what would be valid."""

from __future__ import annotations


class WeirError(Exception):
    """Any error of Weir."""


class ScenarioError(WeirError):
    """A mistake in a scenario.

    `str(error)` is the command's message: the place, the line with a caret below, and what would be valid.
    """

    file: str = ""
    """The file, the name of the scenario, or the value of `set` with the mistake."""
    line: int | None = None
    """The line of the text, from 1; `None` for a value of `set`."""
    column: int | None = None
    """The column in the line, in characters, from 1."""
    key: str = ""
    """The key, such as `link.R2-R3.rate`; empty if the text is not TOML."""
    message: str = ""
    """The mistake, without the place."""
    help: str = ""
    """What would be valid; may be empty."""


class SchemeError(WeirError):
    """An unknown scheme, or an unknown parameter of a scheme."""


class RunError(WeirError):
    """An impossible run, for example with a window after its end."""
