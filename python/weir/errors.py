"""What can go wrong. Messages say what would be right."""

from __future__ import annotations


class WeirError(Exception):
    """Any error of Weir."""


class ScenarioError(WeirError):
    """A mistake in a scenario.

    `str(error)` is what the command prints: the place, the line with a caret below, and what would be right.
    """

    file: str = ""
    """The file, the name of the scenario, or the value of `set` that it is about."""
    line: int | None = None
    """The line of the text, from 1; `None` for a value of `set`."""
    column: int | None = None
    """The column in the line, in characters, from 1."""
    key: str = ""
    """The key, such as `link.R2-R3.rate`; empty if the text is no TOML."""
    message: str = ""
    """What is wrong, without the place."""
    help: str = ""
    """What would be right; may be empty."""


class SchemeError(WeirError):
    """A scheme that there is not, or a parameter that it does not have."""


class RunError(WeirError):
    """A run that cannot be made, such as one with a window after its end."""
