//! Writes results as JSON, as Parquet, or as all files of a run.

use crate::columns::{self, write_values};
use crate::html::report_html;
use crate::model::{ComparisonDocument, ReproductionDocument, SummaryDocument};
use crate::reproduction::PaperFigure;
use crate::schema::{self, Column, Kind, METADATA, Table};
use crate::sweep::SweepDocument;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use weir_measure::RunDocument;
use weir_measure::{Report, RequestSample, Series, to_json};

/// A file of results that could not be written.
#[derive(Debug)]
pub struct WriteError {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    File(io::Error),
    Table(ParquetError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: ", self.path.display())?;
        match &self.cause {
            Cause::File(error) => error.fmt(f),
            Cause::Table(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::File(error) => Some(error),
            Cause::Table(error) => Some(error),
        }
    }
}

impl WriteError {
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> WriteError + '_ {
        |error| WriteError { path: path.to_owned(), cause: Cause::File(error) }
    }

    pub(crate) fn table(path: &Path) -> impl Fn(ParquetError) -> WriteError + '_ {
        |error| WriteError { path: path.to_owned(), cause: Cause::Table(error) }
    }
}

/// Writes `run.json`, `report.html`, `flows.parquet`, `classes.parquet`, `links.parquet` and `nodes.parquet` into
/// the directory `dir`, which is created if it does not exist.
pub fn write_all(report: &Report, dir: impl AsRef<Path>) -> Result<(), WriteError> {
    let dir = dir.as_ref();
    fs::create_dir_all(dir).map_err(WriteError::file(dir))?;
    write_json(&report.document, dir.join("run.json"))?;
    write_html(report, dir.join("report.html"))?;
    write_parquet(report, dir)
}

/// Writes `compare.json` and `compare.html` into the directory `dir`, which is created if it does not exist. The page
/// plots the time series and the distributions of the reports, one of each scheme. The caller gives them the distributions of all
/// seeds ([`pooled`](crate::pooled())).
pub fn write_comparison(
    document: &ComparisonDocument,
    reports: &[Report],
    dir: impl AsRef<Path>,
) -> Result<(), WriteError> {
    write_summary(dir.as_ref(), "compare", &to_json(document), &document.html(reports))
}

/// Writes `reproduce.json` and `reproduce.html` into the directory `dir`, which is made if it is not
/// there.
pub fn write_reproduction(document: &ReproductionDocument, dir: impl AsRef<Path>) -> Result<(), WriteError> {
    write_reproduction_with(document, &[], dir)
}

/// The same, with these figures in the page.
pub fn write_reproduction_with(
    document: &ReproductionDocument,
    figures: &[PaperFigure],
    dir: impl AsRef<Path>,
) -> Result<(), WriteError> {
    write_summary(dir.as_ref(), "reproduce", &to_json(document), &document.html_with(figures))
}

/// Writes `sweep.json` and `sweep.html` into the directory `dir`, which is created if it does not exist.
pub fn write_sweep(document: &SweepDocument, dir: impl AsRef<Path>) -> Result<(), WriteError> {
    write_summary(dir.as_ref(), "sweep", &to_json(document), &document.html())
}

/// Writes `compare.json`, `compare.html`, `compare.md`, and a page for each scheme and scenario into the directory `dir`,
/// which is created if it does not exist.
pub fn write_comparisons(document: &SummaryDocument, dir: impl AsRef<Path>) -> Result<(), WriteError> {
    let dir = dir.as_ref();
    fs::create_dir_all(dir).map_err(WriteError::file(dir))?;
    for (name, text) in document.pages() {
        write_atomically(&dir.join(name), &text)?;
    }
    write_atomically(&dir.join("compare.md"), document.markdown())?;
    write_summary(dir, "compare", &to_json(document), &document.html())
}

fn write_summary(dir: &Path, name: &str, json: &str, html: &str) -> Result<(), WriteError> {
    fs::create_dir_all(dir).map_err(WriteError::file(dir))?;
    for (extension, text) in [("json", json), ("html", html)] {
        let path = dir.join(name).with_extension(extension);
        write_atomically(&path, text)?;
    }
    Ok(())
}

/// Writes a file atomically: a reader sees the old file until the new one is complete, also after an interruption.
///
/// Several processes may write the same file: each writes a part of its own, and one of them is complete in the end.
pub fn write_atomically(path: &Path, content: impl AsRef<[u8]>) -> Result<(), WriteError> {
    let mut file = NewFile::create(path)?;
    file.write_all(content.as_ref()).map_err(WriteError::file(&file.part))?;
    file.finish()
}

/// A file that is being written beside `path`, and takes its place when it is finished. Until then a reader sees the
/// old one. It is removed if it is dropped before.
pub(crate) struct NewFile {
    path: PathBuf,
    part: PathBuf,
    to: io::BufWriter<fs::File>,
    is_finished: bool,
}

impl NewFile {
    /// Begins a file that shall be at `path`.
    pub(crate) fn create(path: &Path) -> Result<NewFile, WriteError> {
        // Not the process's number: those of two containers that share a folder may be equal.
        let random = RandomState::new().build_hasher().finish();
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{random:016x}.part"));
        let part = PathBuf::from(part);
        let to = io::BufWriter::new(fs::File::create(&part).map_err(WriteError::file(&part))?);
        Ok(NewFile { path: path.to_owned(), part, to, is_finished: false })
    }

    /// Puts it in its place.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        self.to.flush().map_err(WriteError::file(&self.part))?;
        fs::rename(&self.part, &self.path).map_err(WriteError::file(&self.path))?;
        self.is_finished = true;
        Ok(())
    }
}

impl io::Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // Nothing reads what may remain of it.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Writes the document as JSON.
pub fn write_json(document: &RunDocument, path: impl AsRef<Path>) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_atomically(path, to_json(document))
}

/// Writes the report page.
pub fn write_html(report: &Report, path: impl AsRef<Path>) -> Result<(), WriteError> {
    let path = path.as_ref();
    write_atomically(path, report_html(report))
}

/// Writes the tables of [`schema`] into the directory `dir`.
pub fn write_parquet(report: &Report, dir: impl AsRef<Path>) -> Result<(), WriteError> {
    let dir = dir.as_ref();
    for table in schema::TABLES {
        let path = dir.join(format!("{}.parquet", table.name));
        let file = fs::File::create(&path).map_err(WriteError::file(&path))?;
        write_table(report, table, io::BufWriter::new(file)).map_err(WriteError::table(&path))?;
    }
    if !report.series.requests.is_empty() {
        let path = dir.join(format!("{}.parquet", schema::REQUESTS.name));
        let file = fs::File::create(&path).map_err(WriteError::file(&path))?;
        write_requests(report, io::BufWriter::new(file)).map_err(WriteError::table(&path))?;
    }
    Ok(())
}

fn write_requests<W: io::Write + Send>(report: &Report, to: W) -> Result<(), ParquetError> {
    let table = schema::REQUESTS;
    let requests = &report.series.requests;
    let mut file = columns::file_writer(to, table.name, table.columns, metadata(report))?;
    let mut rows = file.next_row_group()?;
    for column in table.columns {
        let no_column = || ParquetError::General(format!("no column `{}`", column.name));
        let mut writer = rows.next_column()?.ok_or_else(no_column)?;
        let floats = |of: fn(&RequestSample) -> f64| {
            requests.iter().map(move |r| Some(of(r)).filter(|x| x.is_finite()))
        };
        match &*column.name {
            "flow" => {
                let flows = requests.iter().map(|r| Some(r.flow.cast_signed()));
                write_values::<Int32Type>(&mut writer, column, flows)?;
            }
            "amount" => {
                let amounts = requests.iter().map(|r| Some(r.amount.cast_signed()));
                write_values::<Int64Type>(&mut writer, column, amounts)?;
            }
            "came_s" => write_values::<DoubleType>(&mut writer, column, floats(|r| r.came_s))?,
            "completion_s" => write_values::<DoubleType>(&mut writer, column, floats(|r| r.completion_s))?,
            "slowdown" => write_values::<DoubleType>(&mut writer, column, floats(|r| r.slowdown))?,
            _ => return Err(ParquetError::General(format!("nothing fills `{}`", column.name))),
        }
        writer.close()?;
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

/// All steps of one column of one flow, class, link or node.
enum Cells<'a> {
    Times,
    F64(f64),
    F32(&'a [f32]),
    U32(&'a [u32]),
    Index(usize),
    Text(&'a str),
}

/// What column `name` of table `table` has for its `i`-th flow, class, link or node.
fn cells<'a>(report: &'a Report, table: &str, name: &str, i: usize) -> Option<Cells<'a>> {
    let series = &report.series;
    if name == schema::FLOWS.columns[0].name {
        return Some(Cells::Times);
    }
    Some(match table {
        "flows" => {
            let (flow, row) = (series.flows.get(i)?, report.document.flows.get(i)?);
            match name {
                "flow" => Cells::Index(i),
                "consumer" => Cells::Text(&row.consumer),
                "prefix" => Cells::Text(&row.prefix),
                "class" => Cells::Text(&row.class),
                "goodput_bps" => Cells::F32(&flow.goodput_bps),
                "delay_ms" => Cells::F32(&flow.delay_ms),
                "lost" => Cells::U32(&flow.lost),
                "retransmitted" => Cells::U32(&flow.retransmitted),
                "sent_rate" => Cells::F32(&flow.sent_rate),
                "window" => Cells::F32(&flow.control.window),
                "rate_bps" => Cells::F32(&flow.control.rate_bps),
                "pending" => Cells::F32(&flow.control.pending),
                "srtt_ms" => Cells::F32(&flow.control.srtt_ms),
                "rto_ms" => Cells::F32(&flow.control.rto_ms),
                "base_rtt_ms" => Cells::F32(&flow.control.base_rtt_ms),
                _ => return None,
            }
        }
        "classes" => {
            let class = series.classes.get(i)?;
            match name {
                "class" => Cells::Text(&class.class),
                "goodput_bps" => Cells::F32(&class.goodput_bps),
                "delay_ms" => Cells::F32(&class.delay_ms),
                "lost" => Cells::U32(&class.lost),
                "retransmitted" => Cells::U32(&class.retransmitted),
                _ => return None,
            }
        }
        "links" => {
            let (link, row) = (series.links.get(i)?, report.document.links.get(i)?);
            match name {
                "link" => Cells::Index(i),
                "from" => Cells::Text(&row.from),
                "to" => Cells::Text(&row.to),
                "rate_bps" => Cells::F64(row.rate_bps),
                "throughput_bps" => Cells::F32(&link.throughput_bps),
                "utilisation" => Cells::F32(&link.utilisation),
                "queue_packets" => Cells::F32(&link.queue_packets),
                "queue_ms" => Cells::F32(&link.queue_ms),
                "drops" => Cells::U32(&link.drops),
                "lost" => Cells::U32(&link.lost),
                _ => return None,
            }
        }
        "nodes" => {
            let (node, row) = (series.nodes.get(i)?, report.document.nodes.get(i)?);
            match name {
                "node" => Cells::Index(i),
                "name" => Cells::Text(&row.node),
                "cache_hits" => Cells::U32(&node.cache_hits),
                "cache_misses" => Cells::U32(&node.cache_misses),
                "cached_packets" => Cells::U32(&node.cached_packets),
                "pit" => Cells::U32(&node.pit),
                "drops" => Cells::U32(&node.drops),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// How many flows, classes, links or nodes a table is about.
fn members(report: &Report, table: &str) -> usize {
    match table {
        "flows" => report.series.flows.len().min(report.document.flows.len()),
        "classes" => report.series.classes.len(),
        "nodes" => report.series.nodes.len().min(report.document.nodes.len()),
        _ => report.series.links.len().min(report.document.links.len()),
    }
}

fn write_table<W: io::Write + Send>(report: &Report, table: Table, to: W) -> Result<(), ParquetError> {
    let mut file = columns::file_writer(to, table.name, table.columns, metadata(report))?;
    let count = members(report, table.name);
    let mut rows = file.next_row_group()?;
    for column in table.columns {
        let mut writer = rows
            .next_column()?
            .ok_or_else(|| ParquetError::General(format!("no column `{}`", column.name)))?;
        for i in 0..count {
            let cells = cells(report, table.name, &column.name, i)
                .ok_or_else(|| ParquetError::General(format!("nothing fills `{}`", column.name)))?;
            write_cells(&mut writer, column, &cells, &report.series)?;
        }
        writer.close()?;
    }
    rows.close()?;
    file.close()?;
    Ok(())
}

fn write_cells(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    cells: &Cells<'_>,
    series: &Series,
) -> Result<(), ParquetError> {
    let n = series.samples;
    match (column.kind, cells) {
        (Kind::F64, Cells::Times) => {
            // To the nanosecond, so that the eleventh step of 0.1 s begins at 1.1.
            let times = (0..n).map(|k| Some((k as f64 * series.step_s * 1e9).round() / 1e9));
            write_values::<DoubleType>(writer, column, times)
        }
        (Kind::F64, Cells::F64(value)) => write_values::<DoubleType>(writer, column, vec![Some(*value); n]),
        (Kind::F32, Cells::F32(values)) => {
            let fill = if column.nullable { f32::NAN } else { 0.0 };
            let present = |x: &f32| (!column.nullable || x.is_finite()).then_some(*x);
            write_values::<FloatType>(writer, column, padded(values, n, fill).iter().map(present))
        }
        (Kind::U32, Cells::U32(values)) => {
            // The physical type is signed; the logical type says that the bits are not.
            let bits = padded(values, n, 0);
            write_values::<Int32Type>(writer, column, bits.iter().map(|x| Some(x.cast_signed())))
        }
        (Kind::U32, Cells::Index(i)) => {
            write_values::<Int32Type>(writer, column, vec![Some((*i as u32).cast_signed()); n])
        }
        (Kind::Text, Cells::Text(text)) => {
            write_values::<ByteArrayType>(writer, column, vec![Some(ByteArray::from(*text)); n])
        }
        _ => Err(ParquetError::General("a column is filled with another kind of value".to_owned())),
    }
}

/// `values` with exactly `n` elements: a series may end early.
fn padded<T: Copy>(values: &[T], n: usize, fill: T) -> Cow<'_, [T]> {
    if values.len() >= n {
        Cow::Borrowed(&values[..n])
    } else {
        let mut longer = values.to_vec();
        longer.resize(n, fill);
        Cow::Owned(longer)
    }
}

fn metadata(report: &Report) -> Vec<(&'static str, String)> {
    let document = &report.document;
    let values = [
        schema::SCHEMA.to_string(),
        document.scenario.clone(),
        report.title.clone(),
        report.source.clone(),
        document.scheme.clone(),
        document.seed.to_string(),
        serde_json::to_string(&document.set).expect("texts are JSON"),
        document.simulated_s.to_string(),
        report.series.step_s.to_string(),
        document.made_by().to_owned(),
    ];
    METADATA.iter().zip(values).map(|((key, _), value)| (*key, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn read(report: &Report, table: Table) -> SerializedFileReader<Bytes> {
        let mut bytes = Vec::new();
        write_table(report, table, &mut bytes).unwrap();
        SerializedFileReader::new(Bytes::from(bytes)).unwrap()
    }

    #[test]
    fn tables_read_back_as_they_were_written() {
        let mut report = sample::dumbbell(4, 30);
        report.series.flows[1].delay_ms[3] = f32::NAN;
        let file = read(&report, schema::FLOWS);
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 4 * 30);
        let row: Vec<(&String, &Field)> = rows[30 + 3].get_column_iter().collect();
        let names: Vec<&str> = row.iter().map(|(name, _)| name.as_str()).collect();
        let wanted: Vec<&str> = schema::FLOWS.columns.iter().map(|column| &*column.name).collect();
        assert_eq!(names, wanted);
        let flow = &report.series.flows[1];
        assert_eq!(row[0].1, &Field::Double(0.3));
        assert_eq!(row[1].1, &Field::UInt(1));
        assert_eq!(row[2].1, &Field::Str(report.document.flows[1].consumer.clone()));
        assert_eq!(row[5].1, &Field::Float(flow.goodput_bps[3]));
        assert_eq!(row[6].1, &Field::Null);
        assert_eq!(row[7].1, &Field::UInt(flow.lost[3]));
    }

    #[test]
    fn every_table_is_filled_and_says_which_run_it_is_of() {
        let report = sample::dumbbell(4, 30);
        for table in schema::TABLES {
            let file = read(&report, table);
            let metadata = file.metadata().file_metadata();
            assert_eq!(metadata.num_rows(), (members(&report, table.name) * 30) as i64);
            let keys = metadata.key_value_metadata().unwrap();
            for (key, _) in METADATA {
                assert!(keys.iter().any(|pair| pair.key == key && pair.value.is_some()), "{key}");
            }
        }
    }

    #[test]
    fn what_was_set_is_in_the_document_and_in_each_table() {
        let mut report = sample::dumbbell(4, 30);
        report.document.set = vec!["link.*.delay=20ms".to_owned(), "node.R1.cache=5".to_owned()];
        let value: serde_json::Value = serde_json::from_str(&to_json(&report.document)).unwrap();
        assert_eq!(value["set"], serde_json::json!(["link.*.delay=20ms", "node.R1.cache=5"]));
        for table in schema::TABLES {
            let file = read(&report, table);
            let keys = file.metadata().file_metadata().key_value_metadata().unwrap().clone();
            let set = keys.into_iter().find(|pair| pair.key == "weir.set").unwrap().value.unwrap();
            assert_eq!(set, r#"["link.*.delay=20ms","node.R1.cache=5"]"#);
        }
    }

    #[test]
    fn a_series_that_ended_early_is_filled_up() {
        let mut report = sample::dumbbell(4, 30);
        report.series.flows[0].goodput_bps.truncate(10);
        report.series.flows[0].sent_rate.clear();
        let file = read(&report, schema::FLOWS);
        assert_eq!(file.metadata().file_metadata().num_rows(), 4 * 30);
    }

    #[test]
    fn the_document_has_the_keys_of_the_design_in_their_order() {
        let report = sample::dumbbell(4, 30);
        let json = to_json(&report.document);
        let mut at = 0;
        for key in [
            "schema",
            "version",
            "command",
            "scenario",
            "scheme",
            "seed",
            "seed_matters",
            "set",
            "simulated_s",
            "wall_s",
            "events",
            "packet_hops",
            "drops",
            "reason",
            "place",
            "data",
            "interests",
            "data_thrown_away",
            "flows",
            "consumer",
            "prefix",
            "group",
            "class",
            "goodput_bps",
            "delay_ms",
            "mean",
            "p50",
            "p95",
            "p99",
            "lost",
            "retransmitted",
            "timeouts",
            "completion_s",
            "hops",
            "mean",
            "counts",
            "classes",
            "groups",
            "links",
            "from",
            "to",
            "rate_bps",
            "utilisation",
            "drops",
            "queue_ms",
            "mean",
            "p99",
            "nodes",
            "node",
            "cache_hits",
            "cache_misses",
            "cache_insertions",
            "cache_evictions",
            "cache_hit_ratio",
            "pit_mean",
            "pit_max",
            "drops",
            "distributions",
            "what",
            "kind",
            "of",
            "unit",
            "step",
            "count",
            "mean",
            "counts",
            "windows",
            "from_s",
            "to_s",
            "flows",
            "classes",
            "groups",
            "links",
            "nodes",
            "optimum",
            "changes",
            "at_s",
            "expectations",
            "what",
            "source",
            "unit",
            "stated",
            "measured",
            "tolerance",
            "bound",
            "than",
            "holds",
        ] {
            let found = json[at..].find(&format!("\"{key}\":"));
            at += found.unwrap_or_else(|| panic!("no {key} after byte {at}"));
        }
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 24);
        assert_eq!(value["drops"][0].as_object().unwrap().len(), 4);
        assert_eq!(value["flows"][0].as_object().unwrap().len(), 11);
        assert_eq!(value["classes"][0].as_object().unwrap().len(), 10);
        assert_eq!(value["groups"][0].as_object().unwrap().len(), 10);
        assert_eq!(value["links"][0].as_object().unwrap().len(), 8);
        assert_eq!(value["distributions"][0].as_object().unwrap().len(), 8);
        assert_eq!(value["expectations"][0].as_object().unwrap().len(), 8);
        assert_eq!(value["nodes"][0].as_object().unwrap().len(), 9);
        assert!(serde_json::from_str::<RunDocument>(&json).is_ok());
    }

    #[test]
    fn what_has_no_number_is_null() {
        let mut document = sample::dumbbell(4, 30).document;
        document.flows[0].delay_ms = Default::default();
        document.flows[0].goodput_bps = f64::NAN;
        let json = to_json(&document);
        assert!(json.contains("\"mean\": null") && json.contains("\"goodput_bps\": null"));
        assert!(!json.contains("NaN"));
    }
}
