"""The notebooks run from their first cell to their last, with the expected results."""

from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "python" / "notebooks"

# Conditions after the last cell of each notebook.
HOLDS = {
    "first-run": """
        shares = dict(zip(classes["class"], classes["goodput_bps"]))
        assert 2.9 < shares["AF2"] / shares["BE"] < 3.1 and both.height == 8
        assert open("report.html").read().lower().startswith("<!doctype html>")
    """,
    "own-topology": """
        assert study.failed == 0 and study.runs.num_rows == 3 * 2 * 2 * 3
        assert goodput.height == 12 and goodput["deviation"].max() > 0
        narrow = goodput.filter(pl.col("link.server-root.rate.bps") == 10e6, scheme="reno").sort("node.root.cache")
        assert narrow["mean"][1] > 1.1 * narrow["mean"][0], "the cache spares the narrow link"
    """,
}


def test_each_notebook_is_tested():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(HOLDS)


@pytest.mark.parametrize("name", HOLDS)
def test_a_notebook_runs(name, tmp_path):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "notebooks are kept without outputs"
    lines = "\n".join(line.strip() for line in HOLDS[name].splitlines())
    notebook.cells.append(nbformat.v4.new_code_cell(lines))
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
