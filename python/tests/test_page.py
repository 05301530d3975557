"""The pages about Python: their examples run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def examples_of(page):
    """The examples of a page as programs."""
    path = DOCS / f"{page}.md"
    return [compile(text, str(path), "exec") for text in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)]


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What examples have made, in a folder of their own and without a window for plots."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    return {}


def test_the_examples_of_the_page_run(names, capsys):
    examples = examples_of("guide/python")
    assert len(examples) == 8
    for example in examples:
        exec(example, names)
    assert names["steady"].height == 4, "a row for each class"
    assert names["busiest"].fetchall()[0][2] > 0.9
    assert Path("goodput.pdf").read_bytes()[:4] == b"%PDF"
    assert names["means"].height == 3 * 2 * 3 and names["means"]["value"].max() > 8e6
    assert sum(names["goodputs"]) > 8e6
    assert capsys.readouterr().out.startswith("link.R-P.rate `10 Mb` is not a rate")
    assert names["barbell"].name == "scenario" and names["result"].flows.num_rows == 2


def test_the_law_of_the_page_runs(names):
    (law,) = examples_of("guide/scheme")
    exec(law, names)
    assert all(goodput > 8e6 for goodput in names["goodput"].values())


def test_the_figure_of_the_page_is_drawn(names):
    (figure,) = examples_of("tasks/figures")
    exec(figure, names)
    assert all(len(points) == 3 and points[0][1] > 8 for points in names["curves"].values())
    assert Path("goodput-over-loss.pdf").read_bytes()[:4] == b"%PDF"
