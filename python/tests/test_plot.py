"""`plot`: a figure of matplotlib with the same data and styles as `weir plot`."""

from __future__ import annotations

import pytest

import weir

matplotlib = pytest.importorskip("matplotlib")


def test_a_run_is_a_figure_over_time() -> None:
    result = weir.run("examples/minimal", series=True)
    figure = result.plot()
    assert isinstance(figure, matplotlib.figure.Figure)
    assert [axes.get_ylabel() for axes in figure.axes] == ["goodput (Mb/s)", "delay (ms)"]
    with pytest.raises(weir.WeirError, match="there is no metric `speed`"):
        result.plot(metric="speed")
    with pytest.raises(weir.WeirError, match="the kinds: series, bars"):
        result.plot(what="pie")


def test_schemes_are_bars_with_the_colours_of_their_places() -> None:
    study = weir.compare("examples/minimal", schemes=["pcon", "qsccp"], seeds=2)
    (axes,) = study.plot().axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["pcon", "qsccp"]
    colours = [matplotlib.colors.to_hex(bars.patches[0].get_edgecolor()) for bars in axes.containers if hasattr(bars, "patches")]
    assert colours == ["#cc79a7", "#0072b2"]


def test_a_sweep_is_lines_over_its_axis() -> None:
    study = weir.sweep("examples/minimal", vary={"link.alice-bob.rate": ["5 Mb/s", "10 Mb/s"]}, schemes=["qsccp"], seeds=1)
    (axes,) = study.plot(metric="goodput").axes
    (line,) = axes.lines
    assert list(line.get_xdata()) == [5e6, 10e6]
