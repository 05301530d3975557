"""Figures as matplotlib figures, from Weir's description of them: the same data, colours, markers and dashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Style = tuple[str, str, bool, list[float]]

MARKERS = {
    "Circle": "o",
    "Square": "s",
    "Up": "^",
    "Down": "v",
    "Diamond": "D",
    "Cross": "X",
    "Plus": "P",
    "Star": "*",
}
WIDTHS = {1: 3.5, 2: 7.16}
PREFIXES = {"bit/s": [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")], "B": [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]}


def draw(figure: dict[str, Any], styles: dict[int, Style], columns: int) -> Figure:
    """The figure, `columns` columns of a paper wide."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'ndn-weir[figures]'") from error
    panels = figure["panels"]
    across = max(1, min(figure["across"], len(panels)))
    rows = -(-len(panels) // across)
    width = WIDTHS[columns]
    height = max(2.2, rows * (0.62 if rows == 1 else 0.5) * width / across)
    drawn = Figure(figsize=(width, height), layout="constrained")
    grid = np.atleast_1d(drawn.subplots(rows, across, squeeze=False)).ravel()
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid, panels, strict=False):
        _panel(axes, panel, styles)
    if entries := figure["legend"]:
        _legend(drawn, entries, styles, 3 * columns)
    if title := figure.get("title"):
        drawn.suptitle(title, fontsize=9)
    return drawn


def _panel(axes: Any, panel: dict[str, Any], styles: dict[int, Style]) -> None:
    axes.tick_params(labelsize=7)
    axes.set_title(panel.get("title", ""), fontsize=8, loc="left")
    for layer in panel["layers"]:
        _layer(axes, layer, styles[layer["style"] % len(styles)], panel)
    if any(layer["shape"]["kind"] == "network" for layer in panel["layers"]):
        axes.margins(0.15)
        axes.set_axis_off()
        return
    for mark in panel.get("marks", []):
        if mark.get("horizontal"):
            axes.axhline(mark["from"], color="#666666", linewidth=0.7, linestyle=":")
        elif mark.get("to") is not None:
            axes.axvspan(mark["from"], mark["to"], color="#f0f0f0", zorder=0)
        else:
            axes.axvline(mark["from"], color="#666666", linewidth=0.7, linestyle=":")
            text = mark.get("text", "")
            axes.text(mark["from"], 1.0, text, transform=axes.get_xaxis_transform(), fontsize=6, va="bottom", ha="center")
    axes.grid(axis="y", color="#dddddd", linewidth=0.4)
    for name, axis in (("x", panel["x"]), ("y", panel["y"])):
        _axis(axes, name, axis)


def _axis(axes: Any, name: str, axis: dict[str, Any]) -> None:
    of = axes.xaxis if name == "x" else axes.yaxis
    unit = axis["unit"]
    if axis["scale"] == "categories":
        names = axis.get("categories", [])
        of.set_ticks(range(len(names)), names)
        if name == "x" and sum(map(len, names)) > 30:
            axes.tick_params(axis="x", labelrotation=45)
    else:
        getattr(axes, f"set_{name}scale")(axis["scale"])
        low, high = axis["range"]
        getattr(axes, f"set_{name}lim")(low, high)
        largest = max(map(abs, getattr(axes, f"get_{name}lim")()))
        for factor, prefixed in PREFIXES.get(unit, []):
            if largest >= factor:
                of.set_major_formatter(lambda value, _, factor=factor: f"{value / factor:g}")
                unit = prefixed
                break
    label = axis["label"] if unit in ("", "1") else f"{axis['label']} ({unit})"
    of.set_label_text(label, fontsize=8)


def _values(values: list[float | None]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _layer(axes: Any, layer: dict[str, Any], style: Style, panel: dict[str, Any]) -> None:
    colour, marker, is_filled, _ = style
    shape = layer["shape"]
    line = {"color": colour, "linewidth": 1.0, "linestyle": _dash(style), "label": layer["name"]}
    mark = {"marker": MARKERS[marker], "markersize": 4, "markerfacecolor": colour if is_filled else "white"}
    match shape["kind"]:
        case "line":
            x = _values(shape["x"])
            every = 1 if shape["markers"] == "all" else max(1, len(x) // 6)
            if shape["markers"] == "none":
                mark = {}
            axes.plot(x, _values(shape["y"]), markevery=every, **line, **mark)
        case "steps":
            x = _values(shape["x"])
            axes.plot(x, _values(shape["y"]), drawstyle="steps-post", markevery=max(1, len(x) // 6), **line, **mark)
        case "band":
            low, high = _values(shape["low"]), _values(shape["high"])
            axes.fill_between(_values(shape["x"]), low, high, color=colour, alpha=0.18, linewidth=0)
        case "points":
            x, y = _values(shape["x"]), _values(shape["y"])
            errors = _errors(y, shape)
            axes.errorbar(x, y, yerr=errors, color=colour, linestyle="none", elinewidth=0.7, capsize=1.5, label=layer["name"], **mark)
            if shape.get("named") and len(x):
                axes.annotate(layer["name"], (x[0], y[0]), xytext=(4, 3), textcoords="offset points", fontsize=7)
        case "bars":
            wide = 0.8 / max(1, shape["slots"])
            y = _values(shape["y"])
            x = _values(shape["x"]) - 0.4 + (shape["slot"] + 0.5) * wide
            fill = {"facecolor": colour, "alpha": 0.75} if is_filled else {"facecolor": "white"}
            error = {"elinewidth": 0.7, "capsize": 1.5}
            axes.bar(x, y, 0.92 * wide, yerr=_errors(y, shape), edgecolor=colour, error_kw=error, label=layer["name"], **fill)
            for dot in shape.get("seeds", []):
                place = dot["x"] - 0.4 + (shape["slot"] + 0.5) * wide
                axes.plot(place, dot["y"], ".", color="#202020", markersize=2, alpha=0.55)
        case "ellipse":
            _ellipse(axes, shape, colour)
        case "network":
            _network(axes, shape, panel.get("colours"))


def _dash(style: Style) -> Any:
    return (0, tuple(style[3])) if style[3] else "solid"


def _errors(y: Any, shape: dict[str, Any]) -> Any:
    if not shape.get("low"):
        return None
    low, high = _values(shape["low"]), _values(shape["high"])
    return np.nan_to_num(np.array([y - low, high - y]))


def _ellipse(axes: Any, shape: dict[str, Any], colour: str) -> None:
    xx, yy, xy = shape["covariance"]
    a = np.sqrt(xx)
    b = xy / a if a > 0 else 0.0
    c = np.sqrt(max(0.0, yy - b * b))
    angles = np.linspace(0, 2 * np.pi, 65)
    x, y = shape["x"] + a * np.cos(angles), shape["y"] + b * np.cos(angles) + c * np.sin(angles)
    axes.fill(x, y, facecolor=colour, edgecolor=colour, alpha=0.15, linewidth=0.5)


def _network(axes: Any, shape: dict[str, Any], colours: dict[str, Any] | None) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = (colours or {}).get("range", (0.0, 1.0))
    scale = ScalarMappable(Normalize(low or 0.0, high or 1.0), "cividis_r")
    nodes = shape["nodes"]
    for link in shape["links"]:
        (ax, ay), (bx, by) = (np.array([nodes[link[end]]["x"], -nodes[link[end]]["y"]]) for end in ("from", "to"))
        long = np.hypot(bx - ax, by - ay) or 1.0
        dx, dy = -(by - ay) / long * 0.008, (bx - ax) / long * 0.008
        colour = "#dddddd" if link["value"] is None else scale.to_rgba(link["value"])
        axes.plot([ax - dx, bx - dx], [ay - dy, by - dy], color=colour, linewidth=2)
    forms = {"consumer": "s", "producer": "D"}
    for node in nodes:
        axes.plot(node["x"], -node["y"], forms.get(node["role"], "o"), color="white", markeredgecolor="#202020", markersize=5)
        axes.annotate(node["name"], (node["x"], -node["y"]), xytext=(4, 4), textcoords="offset points", fontsize=7)
    if colours:
        bar = axes.figure.colorbar(scale, ax=axes, orientation="horizontal", shrink=0.5)
        bar.set_label(colours["label"], fontsize=8)
        bar.ax.tick_params(labelsize=7)


def _legend(drawn: Any, entries: list[dict[str, Any]], styles: dict[int, Style], across: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for entry in entries:
        colour, marker, is_filled, _ = style = styles[entry["style"] % len(styles)]
        if entry["sign"] == "box":
            fill = colour if is_filled else "white"
            handles.append(Patch(facecolor=fill, edgecolor=colour, label=entry["name"]))
            continue
        form = "" if entry["sign"] == "line" else MARKERS[marker]
        line: Any = "none" if entry["sign"] == "marker" else _dash(style)
        face = colour if is_filled else "white"
        handles.append(
            Line2D([], [], color=colour, linestyle=line, marker=form, markerfacecolor=face, markersize=4, linewidth=1, label=entry["name"])
        )
    drawn.legend(handles=handles, loc="outside upper left", ncols=min(across, len(handles)), fontsize=7, frameon=False)
