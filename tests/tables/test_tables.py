#!/usr/bin/env python3
"""The tables of a study, and the published figures, in polars and in DuckDB: test_tables.py SAMPLE_STUDY, the example of
`weir-results`.

They have the columns that the reference says, the means of the documents that they were made of, and the same rows as
CSV."""

import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

import duckdb
import polars

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs/reference/results.md"
TABLES = ["results", "runs"]
# The axes of the sample: texts, and numbers if it has them.
AXES = {"link.R2-R3.rate": "text or null", "link.R2-R3.rate.bps": "64-bit float or null", "axis.active": "text or null"}
# How types in the reference are read.
IN_POLARS = {
    "text": polars.String,
    "64-bit float": polars.Float64,
    "unsigned 64-bit integer": polars.UInt64,
    "boolean": polars.Boolean,
}
IN_DUCKDB = {
    "text": "VARCHAR",
    "64-bit float": "DOUBLE",
    "unsigned 64-bit integer": "UBIGINT",
    "boolean": "BOOLEAN",
}
FAILURE = 'a "node", R1,\nhas no route'
STUDY = 'a study, of "samples"'


def reference(table):
    """The columns of a table and their types from the reference, with the axes of the sample."""
    section = REFERENCE.read_text().split(f"### `{table}.parquet`\n")[1].split("\n### ")[0]
    rows = [row.strip("| ").split(" | ") for row in section.splitlines() if row.startswith("| `")]
    columns = {}
    for name, stored, _ in rows:
        if name == "`AXIS`":
            columns |= AXES
        elif name != "`AXIS.UNIT`":
            columns[name.strip("`")] = stored
    return columns


def kind(stored):
    return stored.removesuffix(" or null")


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([SAMPLE_STUDY, cls.folder], check=True)
        cls.documents = {
            path.stem: json.loads(path.read_text()) for path in (cls.folder / "documents").glob("*.json")
        }

    def path(self, name):
        return str(self.folder / name)

    def read(self, table):
        return polars.read_parquet(self.path(f"{table}.parquet"))

    def goodputs(self):
        """The mean goodput of class EF in the window, over the seeds, by link rate and scheme."""
        runs = self.read("runs")
        rates = dict(runs.select("key", "link.R2-R3.rate.bps").iter_rows())
        found = collections.defaultdict(list)
        for key, document in self.documents.items():
            values = [row["goodput_bps"] for row in document["windows"][0]["classes"] if row["class"] == "EF"]
            found[rates[key], document["scheme"]] += values
        self.assertEqual(len(found), 9)
        return {point: statistics.fmean(values) for point, values in found.items()}

    def assert_means(self, found):
        wanted = self.goodputs()
        self.assertEqual(set(found), set(wanted))
        for point, mean in found.items():
            self.assertAlmostEqual(mean / wanted[point], 1, places=12, msg=point)
        self.assertGreater(len(set(wanted.values())), 6, "means differ")

    def test_polars_has_the_columns_of_the_reference(self):
        for table in TABLES:
            columns = reference(table)
            wanted = {name: IN_POLARS[kind(stored)] for name, stored in columns.items()}
            frame = self.read(table)
            self.assertEqual(list(frame.schema.items()), list(wanted.items()))
            for name, stored in columns.items():
                self.assertTrue(stored.endswith(" or null") or frame[name].null_count() == 0, name)

    def test_duckdb_has_the_columns_of_the_reference(self):
        for table in TABLES:
            wanted = [(name, IN_DUCKDB[kind(stored)]) for name, stored in reference(table).items()]
            rows = duckdb.sql(f"DESCRIBE FROM '{self.path(table)}.parquet'").fetchall()
            self.assertEqual([(name, stored) for name, stored, *_ in rows], wanted)

    def test_a_pivot_in_polars_has_the_means(self):
        figures = self.read("results").filter(
            polars.col("kind") == "class",
            polars.col("object") == "EF",
            polars.col("metric") == "goodput",
            polars.col("window") == "20:25",
        )
        pivot = figures.pivot(
            "scheme", index="link.R2-R3.rate.bps", values="value", aggregate_function="mean"
        )
        self.assertEqual(pivot.shape, (3, 4))
        rows = pivot.iter_rows(named=True)
        self.assert_means(
            {(row["link.R2-R3.rate.bps"], scheme): row[scheme] for row in rows for scheme in ("one", "two", "three")}
        )

    def test_a_query_in_duckdb_has_the_means(self):
        rows = duckdb.sql(f"""
            SELECT "link.R2-R3.rate.bps", runs.scheme, avg(value)
            FROM '{self.path("results")}.parquet' results JOIN '{self.path("runs")}.parquet' runs
                USING (key, "link.R2-R3.rate.bps")
            WHERE kind = 'class' AND object = 'EF' AND metric = 'goodput' AND from_s = 20 AND error IS NULL
            GROUP BY ALL
        """).fetchall()
        self.assert_means({(rate, scheme): mean for rate, scheme, mean in rows})

    def test_csv_has_the_rows_of_parquet(self):
        for table in TABLES:
            types = {name: IN_POLARS[kind(stored)] for name, stored in reference(table).items()}
            frame = self.read(table)
            csv = polars.read_csv(self.path(f"{table}.csv"), schema=types)
            self.assertTrue(frame.equals(csv), table)
            parquet = f"SELECT * FROM '{self.path(table)}.parquet'"
            types = {name: IN_DUCKDB[kind(stored)] for name, stored in reference(table).items()}
            csv = f"SELECT * FROM read_csv('{self.path(table)}.csv', columns = {types})"
            for one, other in ((parquet, csv), (csv, parquet)):
                self.assertEqual(duckdb.sql(f"{one} EXCEPT ALL {other}").fetchall(), [])
        self.assertGreater(len(self.read("results")), 32768, "the sample has several row groups")

    def test_numbers_of_csv_are_floats_to_a_reader_that_guesses(self):
        guessed = polars.read_csv(self.path("results.csv")).schema
        for name in ("value", "from_s", "to_s", "link.R2-R3.rate.bps"):
            self.assertEqual(guessed[name], polars.Float64, name)

    def test_every_run_is_there_and_a_failed_one_says_why(self):
        runs = self.read("runs")
        self.assertEqual(len(runs), 60)
        failed = runs.filter(polars.col("error").is_not_null())
        self.assertEqual(failed["error"].to_list(), [FAILURE])
        self.assertEqual(set(runs["study"]), {STUDY})
        self.assertEqual(set(runs["key"]) - set(self.documents), set(failed["key"]))
        self.assertEqual(set(self.read("results")["key"]), set(self.documents))
        self.assertEqual(runs["commit"].value_counts()["count"].to_list(), [30, 30])
        for key, events, matters in runs.select("key", "events", "seed_matters").iter_rows():
            if key in self.documents:
                document = self.documents[key]
                self.assertEqual((events, matters), (document["events"], document["seed_matters"]))

    def test_what_was_not_measured_is_null(self):
        query = f"""
            SELECT DISTINCT object, metric FROM '{self.path("results")}.parquet'
            WHERE value IS NULL AND "window" = 'run' AND kind = 'flow' AND metric LIKE 'delay%' ORDER BY ALL
        """
        metrics = ["delay_mean", "delay_p50", "delay_p95", "delay_p99"]
        self.assertEqual(duckdb.sql(query).fetchall(), [("C1 /A0", metric) for metric in metrics])

    def test_files_say_their_study_and_its_axes(self):
        for table in TABLES:
            rows = duckdb.sql(
                f"SELECT decode(key), decode(value) FROM parquet_kv_metadata('{self.path(table)}.parquet')"
            ).fetchall()
            metadata = dict(rows)
            self.assertEqual(metadata, {**metadata, "weir.schema": "1", "weir.study": STUDY})
            self.assertEqual(
                json.loads(metadata["weir.axes"]),
                [
                    {"text": "link.R2-R3.rate", "number": "link.R2-R3.rate.bps"},
                    {"text": "axis.active", "number": None},
                ],
            )


class Published(unittest.TestCase):
    """The figures on the pages about schemes."""

    PATH = ROOT / "docs/data/published.csv"

    def columns(self):
        text = (ROOT / "docs/data/README.md").read_text().split("| `metric` | `unit` |")[0]
        rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| `")]
        return {name.strip("`"): kind(stored) for name, stored, _ in rows}

    def test_polars_reads_the_columns_of_the_reference(self):
        schema = {name: IN_POLARS[stored] for name, stored in self.columns().items()}
        figures = polars.read_csv(self.PATH, schema=schema)
        self.assertEqual(figures.columns, polars.read_csv(self.PATH, infer_schema=False).columns)
        shares = figures.filter(page="matrix", metric="share_of_optimum")["mean"]
        self.assertGreater(len(shares), 500)
        self.assertTrue(shares.is_between(0, 1).all())

    def test_duckdb_reads_the_columns_of_the_reference(self):
        columns = {name: IN_DUCKDB[stored] for name, stored in self.columns().items()}
        query = "select count(*), count(mean), count(why) from read_csv(?, header = true, columns = ?)"
        rows, means, reasons = duckdb.execute(query, [str(self.PATH), columns]).fetchall()[0]
        self.assertEqual(rows, means + reasons)
        self.assertGreater(means, 5000)


if __name__ == "__main__":
    SAMPLE_STUDY = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
