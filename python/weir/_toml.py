"""Writes Python objects as the text of a scenario file."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any, Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def text(document: Mapping[str, Any]) -> str:
    """A document as TOML: values first, then tables and lists of tables."""
    return "\n\n".join(_parts(document, ())).strip() + "\n"


def plain(value: Any) -> Any:
    """A value as dicts, lists, texts, numbers and booleans. Entries that are `None` are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "item"):  # a number of NumPy
        return plain(value.item())
    raise TypeError(f"a scenario has no place for a {type(value).__name__}: {value!r}; give a text, a number or a bool")


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _parts(table: Mapping[str, Any], path: tuple[str, ...], header: str = "") -> Iterator[str]:
    """The text of a table of the first two levels, in parts separated by an empty line."""
    below = {key: each for key, each in table.items() if len(path) < 2 and (isinstance(each, dict) or _is_tables(each))}
    lines = [f"{_key(key)} = {_value(each)}" for key, each in table.items() if key not in below]
    if header and (lines or not below):
        lines.insert(0, header)
    if lines:
        yield "\n".join(lines)
    for key, each in below.items():
        inner = (*path, key)
        name = ".".join(map(_key, inner))
        if isinstance(each, dict):
            yield from _parts(each, inner, f"[{name}]")
        else:
            for one in each:
                entries = "".join(f"\n{_key(key)} = {_value(value)}" for key, value in one.items())
                yield f"[[{name}]]{entries}"


def _key(key: str) -> str:
    return key if _BARE.match(key) else _text(key)


def _text(value: str) -> str:
    # TOML has the escapes of JSON, and requires one for DEL too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
