"""The optimum."""

import json

import pytest
from conftest import command

import weir


def test_it_is_that_of_the_command():
    args = ["--set", "link.R2-R3.rate=20 Mb/s", "--window", "20:120", "--objective", "proportional"]
    said = json.loads(command("optimum", "qsccp/dumbbell", *args, "--json", check=True).stdout)
    set = {"link.R2-R3.rate": "20 Mb/s"}
    optimum = weir.optimum("qsccp/dumbbell", set, [(20, 120)], "proportional")
    assert optimum.document == said == json.loads(optimum.json())
    assert optimum.objective == "proportional" and optimum.utilisation == 1
    goodputs = [flow["goodput_bps"] for flow in said["windows"][0]["flows"]]
    assert optimum.flows.column("goodput_bps") == goodputs
    assert set_of(optimum.flows.column("window")) == {"20:120"}


set_of = set


def test_tables_say_who_is_held_by_what():
    optimum = weir.optimum("qsccp/dumbbell")
    (bottleneck,) = [row for row in optimum.bottlenecks.rows() if row["from"] == "R3"]
    assert bottleneck["to"] == "R2" and bottleneck["flows"] > 0
    held = [row["held_by"] for row in optimum.flows.rows() if row["class"] == "BE"]
    assert set_of(held) == {"R3->R2"}
    (link,) = [row for row in optimum.links.rows() if (row["from"], row["to"]) == ("R3", "R2")]
    assert link["binding"] == 1 and link["data_bps"] == pytest.approx(link["rate_bps"]) and link["rate_bps"] == 10e6
    assert optimum.completions.num_rows == 0


def test_a_flow_with_an_end_has_a_completion():
    optimum = weir.optimum("examples/minimal", {"flow.video.amount": 1000}, seed=1)
    (row,) = optimum.completions.rows()
    assert 0.8 < row["completion_s"] < 1.0
    assert row["alone_s"] == pytest.approx(row["completion_s"] + row["round_trip_s"])
    assert row["slowdown"] == pytest.approx(1)
    assert optimum.inexact == []
    solved = weir.optimum("examples/minimal", objective="max-min")
    assert ["0.2 %" in why for why in solved.inexact] == [True]


def test_what_is_no_objective_is_refused():
    with pytest.raises(weir.RunError, match="`fair` is not one of link-fair, max-min"):
        weir.optimum("examples/minimal", objective="fair")
    with pytest.raises(weir.WeirError, match="utilisation"):
        weir.optimum("examples/minimal", utilisation=1.5)
