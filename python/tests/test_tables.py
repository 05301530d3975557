"""Tables are passed to other libraries."""

import math

import duckdb
import pandas
import polars
import pyarrow
import pytest

TABLES = ["flows", "classes", "groups", "links", "nodes", "windows", "expectations"]
SERIES = ["flows", "classes", "links", "nodes"]


def tables(result):
    return [getattr(result, name) for name in TABLES] + [getattr(result.series, name) for name in SERIES]


def test_every_library_has_the_same_rows(dumbbell):
    for whole in tables(dumbbell):
        rows = whole.rows()
        assert rows and len(rows) == len(whole)
        assert polars.DataFrame(whole).to_dicts() == rows
        assert pyarrow.table(whole).to_pylist() == rows
        assert duckdb.sql("select count(*) from whole").fetchall() == [(len(rows),)]
        frame = whole.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == whole.column_names


def test_a_table_can_be_read_more_than_once(dumbbell):
    flows = dumbbell.flows
    assert polars.DataFrame(flows).equals(flows.to_polars())


def test_duckdb_computes_with_them(dumbbell):
    flows = dumbbell.flows
    query = """select class, sum(goodput_bps) from flows where "window" = 'run' group by class order by class"""
    classes = {row["class"]: row["goodput_bps"] for row in dumbbell.classes.rows() if row["window"] == "run"}
    got = dict(duckdb.sql(query).fetchall())
    assert got == pytest.approx(classes)


def test_rows_columns_and_what_they_say(dumbbell):
    links = dumbbell.links
    assert links[0]["from"] == links.column("from")[0]
    assert links[-1] == links.rows()[-1]
    with pytest.raises(IndexError):
        links[len(links)]
    with pytest.raises(KeyError, match="there is no column `rate`; columns: .*rate_bps"):
        links.column("rate")
    for table in tables(dumbbell):
        assert list(table.about) == table.column_names
        assert all(table.about.values()), "each column says what it is"


def test_tables_have_what_the_document_has(dumbbell):
    document = dumbbell.document
    flow, row = document["flows"][7], dumbbell.flows[7]
    assert {row[f"delay_ms_{key}"] == value for key, value in flow.pop("delay_ms").items()} == {True}
    assert row["hops_mean"] == flow.pop("hops")["mean"]
    assert {key: row[key] for key in flow} == flow
    node, row = document["nodes"][2], dumbbell.nodes[2]
    assert row["drops"] == sum(drop["data"] + drop["interests"] for drop in node.pop("drops"))
    assert {key: row[key] for key in node} == node
    link, row = document["windows"][0]["links"][1], dumbbell.links[len(document["links"]) + 1]
    assert row["window"] == "20:30" and row["drops"] == link["drops"]
    assert row["queue_ms_p99"] == link["queue_ms"]["p99"]
    stated = dumbbell.expectations[0]
    assert stated["measured"] == document["expectations"][0]["measured"]


def test_steps_add_up_to_the_whole_run(dumbbell):
    series = dumbbell.series
    steps = series.classes.to_polars().filter(polars.col("class") == "EF")
    assert steps["t_s"][1] == series.step_s and len(steps) * series.step_s == pytest.approx(30)
    (ef,) = [row for row in dumbbell.classes.rows() if (row["window"], row["class"]) == ("run", "EF")]
    assert steps["goodput_bps"].mean() == pytest.approx(ef["goodput_bps"], rel=1e-3)


def test_a_step_without_data_has_no_delay(dumbbell):
    flows = dumbbell.series.flows
    delays, goodputs = flows.column("delay_ms"), flows.column("goodput_bps")
    assert None in delays and not any(delay is not None and math.isnan(delay) for delay in delays)
    assert all(goodput == 0 for delay, goodput in zip(delays, goodputs) if delay is None)
