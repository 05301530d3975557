"""Scenarios from Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Collection, Iterable, Mapping

from . import _toml
from ._native import Scenario

if TYPE_CHECKING:
    import networkx as nx

    Entry = Mapping[str, Any] | Any
    """A table of the file: a mapping of its keys, or a dataclass with these fields."""


def scenario(
    graph: nx.Graph[Any] | None = None,
    *,
    title: str,
    duration: float | str,
    scheme: str,
    flows: Iterable[Entry] = (),
    nodes: Iterable[str | Entry] = (),
    links: Iterable[Entry] = (),
    media: Iterable[Entry] = (),
    routing: Mapping[str, Any] | None = None,
    routes: Iterable[Entry] = (),
    events: Iterable[Entry] = (),
    windows: Iterable[Entry] = (),
    expectations: Iterable[Entry] = (),
    axes: Iterable[Entry] = (),
    schemes: Mapping[str, Mapping[str, Any]] | None = None,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
    generate: Mapping[str, Any] | None = None,
    sample: float | str | None = None,
    source: str | None = None,
    name: str = "scenario",
    ignore: Collection[str] = (),
) -> Scenario:
    """Builds a scenario. Each argument is a part of the scenario file, and has its keys (docs/reference/scenario.md).

    >>> weir.scenario(
    ...     title="Two consumers behind one link",
    ...     duration=20,
    ...     scheme="qsccp",
    ...     nodes=["C1", "C2", "R", "P"],
    ...     links=[
    ...         {"ends": ["C{1..2}", "R"], "rate": "100 Mb/s", "delay": "2 ms"},
    ...         {"ends": ["R", "P"], "rate": "10 Mb/s", "delay": "8 ms"},
    ...     ],
    ...     flows=[{"name": "web", "consumer": "C{1..2}", "producer": "P", "prefix": "/web/{1..2}"}],
    ... )

    :param graph: a `networkx` graph, whose nodes and edges come before `nodes` and `links`. Their attributes are keys of
        the file, such as `cache` of a node, and `rate`, `delay` and `queue` of an edge. A directed graph has an edge for
        each direction; an edge without its opposite is the same both ways
    :param duration: the length of the run, seconds or a text with a unit
    :param scheme: the scheme that runs if no other is named
    :param nodes: names, or tables with `name`
    :param flows: who fetches what from whom: tables with `name`, `consumer`, `producer` and `prefix`
    :param schemes: parameters of schemes: `{"qsccp": {"eta": 0.98}}`
    :param defaults: keys that nodes, links or flows have if they do not say otherwise:
        `{"link": {"queue": "50 packets"}}`
    :param sample: step of the time series, seconds or a text with a unit
    :param name: what results call it
    :param ignore: attributes of the graph that are not for Weir

    Raises `weir.ScenarioError`, as for a file: with the key, and the line of `Scenario.text`.
    """
    node_tables = [{"name": node} if isinstance(node, str) else node for node in nodes]
    link_tables = list(links)
    if graph is not None:
        node_tables = _nodes_of(graph, ignore) + node_tables
        link_tables = _links_of(graph, ignore) + link_tables
    document = {
        "title": title,
        "source": source,
        "duration": _time(duration),
        "sample": None if sample is None else _time(sample),
        "scheme": {"default": scheme, **(schemes or {})},
        "defaults": defaults,
        "generate": generate,
        "node": node_tables,
        "link": link_tables,
        "medium": list(media),
        "routing": routing,
        "route": list(routes),
        "flow": list(flows),
        "event": list(events),
        "window": list(windows),
        "axis": list(axes),
        "expectation": list(expectations),
    }
    given = {key: value for key, value in document.items() if value is not None and value != []}
    return Scenario.parse(_toml.text(_toml.plain(given)), name)


def _time(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value} s"


def _nodes_of(graph: nx.Graph[Any], ignore: Collection[str]) -> list[Entry]:
    return [{"name": str(node), **_attributes(of, ignore)} for node, of in graph.nodes(data=True)]


def _links_of(graph: nx.Graph[Any], ignore: Collection[str]) -> list[Entry]:
    if graph.is_multigraph():
        raise ValueError("two nodes have at most one link: give a Graph or a DiGraph, not a multigraph")
    links: dict[frozenset[str], dict[str, Any]] = {}
    for one, other, of in graph.edges(data=True):
        ends, attributes = [str(one), str(other)], _attributes(of, ignore)
        forward = links.get(frozenset(ends))
        if forward is None:
            links[frozenset(ends)] = {"ends": ends, **attributes}
        else:
            _add_backward(forward, attributes)
    return list(links.values())


def _add_backward(link: dict[str, Any], backward: Mapping[str, Any]) -> None:
    """Adds the opposite direction: rates and delays may differ; other properties of a link apply to both directions."""
    for key, value in backward.items():
        forward = link.setdefault(key, value)
        if forward == value:
            continue
        if key not in ("rate", "delay"):
            ends = "-".join(link["ends"])
            raise ValueError(f"{key} of {ends} is {forward!r} one way and {value!r} the other: give both the same")
        link[key] = [forward, value]


def _attributes(of: Mapping[str, Any], ignore: Collection[str]) -> dict[str, Any]:
    return {str(key): value for key, value in of.items() if key not in ignore}
