use super::*;
use crate::sample;
use crate::schema::{Object, metric};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};
use parquet::schema::parser::parse_message_type;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use weir_measure::{DelayMs, ExpectationRow, TargetRow, WindowRow};

type Row = BTreeMap<String, Field>;

/// A test's folder, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-study-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn bytes(&self, file: &str) -> Vec<u8> {
        fs::read(self.0.join(file)).unwrap()
    }

    fn rows(&self, table: &str) -> Vec<Row> {
        let file = fs::File::open(self.0.join(format!("{table}.parquet"))).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        let rows = file.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().into_columns().into_iter().collect()).collect()
    }

    /// The rows of the CSV file, with the head.
    fn csv(&self, table: &str) -> Vec<Vec<String>> {
        let path = self.0.join(format!("{table}.csv"));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).unwrap();
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn tables() -> StudyTables {
    let axes = vec![
        Axis::new("link.R2-R3.rate", &["5 Mb/s", "10 Mb/s"]),
        Axis::new("axis.variant", &["article", "other"]),
    ];
    StudyTables::new("my study", axes).unwrap()
}

fn run(seed: u64, document: RunDocument) -> StudyRun<RunDocument> {
    StudyRun {
        key: format!("{seed:08x}"),
        scenario: document.scenario.clone(),
        scheme: document.scheme.clone(),
        variant: None,
        point: vec![Some("5 Mb/s".to_owned()), None],
        seed,
        command: format!("weir run qsccp/dumbbell --seed {seed}"),
        commit: Some("06295cb".to_owned()),
        cpu_s: Some(0.5),
        outcome: Ok(document),
    }
}

fn document() -> RunDocument {
    sample::dumbbell(4, 300).document
}

fn write(folder: &Folder, runs: Vec<StudyRun<RunDocument>>) {
    tables().write(&folder.0, runs.into_iter().map(Ok::<_, Infallible>)).unwrap();
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

/// The expected text of a value in CSV.
fn in_csv(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Double(value) => format!("{value:?}"),
        Field::Str(text) => text.clone(),
        other => panic!("no table has {other:?}"),
    }
}

fn find<'a>(rows: &'a [Row], window: &str, [kind, object]: [&str; 2], metric: &str) -> &'a Row {
    let wanted = [("window", window), ("kind", kind), ("object", object), ("metric", metric)];
    let is_it = |row: &&Row| wanted.iter().all(|(column, value)| row[*column] == text(value));
    let found: Vec<&Row> = rows.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{wanted:?}");
    found[0]
}

#[test]
fn a_figure_reads_back_as_it_was_measured() {
    let folder = Folder::new("read-back");
    let (document, other) = (document(), sample::dumbbell(8, 250).document);
    write(&folder, vec![run(1, document.clone()), run(u64::MAX, other.clone())]);
    let rows = folder.rows("results");
    assert_eq!(rows.len(), figures_of(&document).count() + figures_of(&other).count());
    let (rows, others) = rows.split_at(figures_of(&document).count());

    let node = document.nodes.iter().find(|node| node.has_cache()).unwrap();
    let row = find(rows, "run", ["node", &node.node], "cache_hit_ratio");
    assert_eq!((&row["value"], &row["unit"]), (&Field::Double(node.cache_hit_ratio.unwrap()), &text("1")));

    let flow = &document.windows[0].flows[1];
    let row = find(rows, "20:30", ["flow", &format!("{} {}", flow.consumer, flow.prefix)], "goodput");
    assert_eq!(row["value"], Field::Double(flow.goodput_bps));
    assert_eq!(row["unit"], text("bit/s"));
    assert_eq!((&row["class"], &row["group"]), (&text(&flow.class), &text(&flow.group)));
    assert_eq!((&row["from_s"], &row["to_s"]), (&Field::Double(20.0), &Field::Double(30.0)));
    assert_eq!((&row["study"], &row["scenario"]), (&text("my study"), &text("qsccp/dumbbell")));
    assert_eq!((&row["scheme"], &row["variant"]), (&text("qsccp"), &Field::Null));
    assert_eq!((&row["seed"], &row["key"]), (&Field::ULong(1), &text("00000001")));
    assert_eq!(row["link.R2-R3.rate"], text("5 Mb/s"));
    assert_eq!(row["link.R2-R3.rate.bps"], Field::Double(5e6));
    assert_eq!(row["axis.variant"], Field::Null);

    let class = &document.classes[0];
    let row = find(rows, "run", ["class", &class.class], "delay_p95");
    assert_eq!(row["value"], Field::Double(class.figures.delay_ms.p95.unwrap()));
    let link = other.links.iter().find(|link| link.from == "R3" && link.to == "R2").unwrap();
    let row = find(others, "run", ["link", "R3->R2"], "utilisation");
    assert_eq!(row["value"], Field::Double(link.utilisation));
    assert_eq!((&row["class"], &row["seed"]), (&Field::Null, &Field::ULong(u64::MAX)));
    let distance = other.windows[0].optimum.as_ref().unwrap().distance;
    let row = find(others, "20:25", ["run", "run"], "distance_mean");
    assert_eq!(row["value"], Field::Double(distance.mean.unwrap()));
}

#[test]
fn every_column_of_a_run_reads_back() {
    let folder = Folder::new("runs");
    let mut document = document();
    document.version = "0.1.0 (06295cb)".to_owned();
    write(&folder, vec![run(7, document.clone())]);
    let decided = document.expectations.iter().filter(|row| row.holds.is_some()).count();
    let held = document.expectations.iter().filter(|row| row.holds == Some(true)).count();
    let wanted: Row = [
        ("key", text("00000007")),
        ("study", text("my study")),
        ("scenario", text("qsccp/dumbbell")),
        ("scheme", text("qsccp")),
        ("variant", Field::Null),
        ("link.R2-R3.rate", text("5 Mb/s")),
        ("link.R2-R3.rate.bps", Field::Double(5e6)),
        ("axis.variant", Field::Null),
        ("seed", Field::ULong(7)),
        ("version", text("0.1.0 (06295cb)")),
        ("commit", text("06295cb")),
        ("command", text("weir run qsccp/dumbbell --seed 7")),
        ("cpu_s", Field::Double(0.5)),
        ("simulated_s", Field::Double(30.0)),
        ("events", Field::ULong(document.events)),
        ("packet_hops", Field::ULong(document.packet_hops)),
        ("seed_matters", Field::Bool(true)),
        ("expectations_checked", Field::ULong(decided as u64)),
        ("expectations_held", Field::ULong(held as u64)),
        ("error", Field::Null),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    assert!(held < decided && decided < document.expectations.len());
    assert_eq!(folder.rows("runs"), [wanted]);
}

#[test]
fn a_run_that_failed_has_a_row_and_no_figures() {
    let folder = Folder::new("failed");
    let failed = StudyRun { outcome: Err("no route, \"R1\"\nto R2".to_owned()), ..run(2, document()) };
    let mut other = run(1, document());
    other.commit = Some("d0bb168".to_owned());
    write(&folder, vec![failed, other]);
    let rows = folder.rows("runs");
    assert_eq!(rows[0]["error"], text("no route, \"R1\"\nto R2"));
    for column in ["version", "simulated_s", "events", "packet_hops", "seed_matters", "expectations_held"] {
        assert_eq!(rows[0][column], Field::Null, "{column}");
    }
    assert_eq!((&rows[0]["scheme"], &rows[1]["error"]), (&text("qsccp"), &Field::Null));
    assert_eq!((&rows[0]["commit"], &rows[1]["commit"]), (&text("06295cb"), &text("d0bb168")));
    assert!(folder.rows("results").iter().all(|row| row["seed"] == Field::ULong(1)));
}

#[test]
fn csv_is_the_same_table() {
    let folder = Folder::new("csv");
    let mut document = document();
    document.flows[0].consumer = "C \"1\", the first\nand only".to_owned();
    document.flows[0].goodput_bps = f64::NAN;
    document.flows[1].delay_ms = DelayMs::default();
    let failed = StudyRun { outcome: Err("a, b\r\n\"c\"".to_owned()), ..run(2, document.clone()) };
    write(&folder, vec![run(1, document), failed]);
    for table in schema::STUDY_TABLES {
        let (rows, csv) = (folder.rows(table.name), folder.csv(table.name));
        let names: Vec<String> =
            tables().columns(table).into_iter().map(|column| column.name.into_owned()).collect();
        assert_eq!(csv[0], names);
        let texts: Vec<Vec<String>> =
            rows.iter().map(|row| names.iter().map(|name| in_csv(&row[name])).collect()).collect();
        assert_eq!(csv[1..], texts);
    }
    let raw = String::from_utf8(folder.bytes("results.csv")).unwrap();
    assert!(raw.contains("\"C \"\"1\"\", the first\nand only /A0\""));
    let rows = folder.rows("results");
    let row = find(&rows, "run", ["flow", "C \"1\", the first\nand only /A0"], "goodput");
    assert_eq!(row["value"], Field::Null);
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let (first, second) = (Folder::new("first"), Folder::new("second"));
    for folder in [&first, &second, &second] {
        write(folder, (1..4).map(|seed| run(seed, document())).collect());
    }
    assert_eq!(first.files(), ["results.csv", "results.parquet", "runs.csv", "runs.parquet"]);
    for file in first.files() {
        assert!(first.bytes(&file) == second.bytes(&file), "{file}");
    }
}

#[test]
fn more_rows_than_a_row_group_are_all_there() {
    let folder = Folder::new("groups");
    let document = sample::dumbbell(400, 2).document;
    let each = figures_of(&document).count();
    let runs = rows::GROUP / each + 2;
    write(&folder, (0..runs as u64).map(|seed| run(seed, document.clone())).collect());
    let file = fs::File::open(folder.0.join("results.parquet")).unwrap();
    let file = SerializedFileReader::new(file).unwrap();
    assert_eq!(file.num_row_groups(), 2);
    let only_seeds =
        parse_message_type("message results { REQUIRED INT64 seed (INTEGER(64,false)); }").unwrap();
    let rows = file.get_row_iter(Some(only_seeds)).unwrap();
    let seeds: Vec<u64> = rows.map(|row| row.unwrap().get_ulong(0).unwrap()).collect();
    let wanted: Vec<u64> = (0..runs as u64).flat_map(|seed| vec![seed; each]).collect();
    assert!(seeds == wanted);
}

#[test]
fn an_error_leaves_the_files_that_are_there() {
    let folder = Folder::new("error");
    write(&folder, vec![run(1, document())]);
    let before = folder.bytes("results.parquet");
    let runs = [Ok(run(2, document())), Err("the run 3 is gone".to_owned())];
    let error = tables().write(&folder.0, runs).unwrap_err();
    assert_eq!(error.to_string(), "the run 3 is gone");
    assert!(folder.bytes("results.parquet") == before);
    assert_eq!(folder.files().len(), 4, "no part of a new file is left: {:?}", folder.files());
}

#[test]
fn files_say_which_study_they_are_of() {
    let folder = Folder::new("metadata");
    write(&folder, vec![run(1, document())]);
    for table in schema::STUDY_TABLES {
        let file = fs::File::open(folder.0.join(format!("{}.parquet", table.name))).unwrap();
        let file = SerializedFileReader::new(file).unwrap();
        let pairs = file.metadata().file_metadata().key_value_metadata().unwrap();
        let pairs: Vec<(&str, &str)> =
            pairs.iter().map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap())).collect();
        let axes = r#"[{"number":"link.R2-R3.rate.bps","text":"link.R2-R3.rate"},{"number":null,"text":"axis.variant"}]"#;
        assert_eq!(pairs, [("weir.schema", "1"), ("weir.study", "my study"), ("weir.axes", axes)]);
    }
}

#[test]
fn an_axis_may_not_have_the_name_of_a_column() {
    let taken = |axes| StudyTables::new("s", axes).unwrap_err().column;
    assert_eq!(taken(vec![Axis::new("seed", &["1"])]), "seed");
    assert_eq!(taken(vec![Axis::new("error", &["1"])]), "error");
    let (delay, other) = (Axis::new("delay", &["1 s"]), Axis::new("delay.s", &["none"]));
    assert_eq!(taken(vec![delay.clone(), delay.clone()]), "delay");
    assert_eq!(taken(vec![delay, other]), "delay.s");
}

#[test]
fn each_metric_is_measured_of_its_objects() {
    let mut document = document();
    document.windows[0].optimum.as_mut().unwrap().flows[0].unshared_goodput_bps = Some(1.0);
    document.windows[0].optimum.as_mut().unwrap().target = Some(TargetRow::default());
    document.expectations[0].never = true;
    let ideal_slowdown = Some(weir_measure::SlowdownFigures::default());
    document
        .requests
        .push(weir_measure::RequestRow { ideal_slowdown, ..weir_measure::RequestRow::default() });
    let mut seen = BTreeSet::new();
    for figure in figures_of(&document) {
        let metric = metric::ALL.iter().find(|metric| metric.name == figure.metric).unwrap();
        assert!(metric.of.contains(&figure.kind), "{figure:?}");
        assert!(metric.unit.is_none_or(|unit| unit == figure.unit) && !figure.unit.is_empty(), "{figure:?}");
        assert_eq!(figure.window.is_none(), figure.kind == Object::Expectation);
        seen.insert((figure.metric, figure.kind));
    }
    for metric in metric::ALL {
        for kind in metric.of {
            assert!(seen.contains(&(metric.name, *kind)), "no {kind:?} has {}", metric.name);
        }
    }
    assert!(Object::ALL.iter().all(|(kind, name, _)| kind.name() == *name));
}

#[test]
fn objects_of_the_same_name_are_numbered() {
    let mut document = document();
    let same = document.flows[0].clone();
    document.flows[2] = same;
    document.windows.clear();
    let flows = figures_of(&document).filter(|figure| figure.kind == Object::Flow);
    let mut names: Vec<String> = flows.map(|figure| figure.object.into_owned()).collect();
    names.dedup();
    assert_eq!(names, ["C1 /A0 #1", "C2 /B1", "C1 /A0 #2", "C4 /D3"]);
}

#[test]
fn what_did_not_settle_was_not_measured() {
    let of = |never| {
        let row = ExpectationRow {
            what: "time to settle".to_owned(),
            unit: "s".to_owned(),
            measured: Some(120.0),
            stated: Some(2.0),
            never,
            holds: Some(!never),
            ..ExpectationRow::default()
        };
        let document = RunDocument { expectations: vec![row], ..RunDocument::default() };
        let figures = figures_of(&document).filter(|figure| figure.kind == Object::Expectation);
        figures.map(|figure| (figure.metric, figure.unit.to_owned(), figure.value)).collect::<Vec<_>>()
    };
    let row = |metric, unit: &str, value| (metric, unit.to_owned(), value);
    let stated = row("stated", "s", Some(2.0));
    assert_eq!(of(false), [row("measured", "s", Some(120.0)), stated.clone(), row("holds", "1", Some(1.0))]);
    assert_eq!(
        of(true),
        [
            row("measured", "s", None),
            row("unsettled", "s", Some(120.0)),
            stated,
            row("holds", "1", Some(0.0))
        ]
    );
}

#[test]
fn windows_have_the_form_of_the_command_line() {
    let mut document = document();
    document.windows = vec![WindowRow { from_s: 0.5, to_s: 120.0, ..WindowRow::default() }];
    let windows: BTreeSet<String> =
        figures_of(&document).filter_map(|figure| Some(figure.window?.to_string())).collect();
    assert_eq!(windows, ["0.5:120", "run"].map(str::to_owned).into());
}
