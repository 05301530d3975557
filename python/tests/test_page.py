"""The page about Python: its examples run."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "use" / "python.md"


def test_the_examples_of_the_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 8
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    assert names["steady"].height == 4, "a row for each class"
    assert names["busiest"].fetchall()[0][2] > 0.9
    assert names["means"].height == 3 * 2 * 3 and names["means"]["value"].max() > 8e6
    assert sum(names["goodputs"]) > 8e6
    assert capsys.readouterr().out.startswith("link.R-P.rate `10 Mb` is not a rate")
    assert names["barbell"].name == "scenario" and names["result"].flows.num_rows == 2
    assert all(goodput > 8e6 for goodput in names["goodput"].values())
