//! Reads the time series of a run from its files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use weir_measure::{
    ClassSeries, ControlSeries, FlowSeries, LinkSeries, NodeSeries, RequestSample, RunDocument, Series,
};

use crate::schema::{self, Table};

/// Reads the time series of the run with this document from the tables that [`write_parquet`](crate::write_parquet) wrote
/// into the folder `dir`.
///
/// # Errors
/// A table is not there, or is no Parquet.
pub fn read_series(document: &RunDocument, dir: impl AsRef<Path>) -> Result<Series, ParquetError> {
    let read = |table, things| Steps::read(dir.as_ref(), table, things);
    let flows = read(schema::FLOWS, document.flows.len())?;
    let classes = read(schema::CLASSES, document.classes.len())?;
    let links = read(schema::LINKS, document.links.len())?;
    let nodes = read(schema::NODES, document.nodes.len())?;
    Ok(Series {
        step_s: flows.step_s,
        samples: flows.samples,
        flows: flows.things().map(|at| flow(&flows, at)).collect(),
        classes: classes
            .things()
            .zip(&document.classes)
            .map(|(at, row)| class(&classes, at, &row.class))
            .collect(),
        links: links.things().map(|at| link(&links, at)).collect(),
        nodes: nodes.things().map(|at| node(&nodes, at)).collect(),
        requests: requests(dir.as_ref())?,
    })
}

fn flow(of: &Steps, at: usize) -> FlowSeries {
    FlowSeries {
        goodput_bps: of.floats("goodput_bps", at),
        delay_ms: of.floats("delay_ms", at),
        sent_rate: of.floats("sent_rate", at),
        lost: of.counts("lost", at),
        retransmitted: of.counts("retransmitted", at),
        control: ControlSeries {
            window: of.floats("window", at),
            rate_bps: of.floats("rate_bps", at),
            pending: of.floats("pending", at),
            srtt_ms: of.floats("srtt_ms", at),
            rto_ms: of.floats("rto_ms", at),
            base_rtt_ms: of.floats("base_rtt_ms", at),
        },
    }
}

fn class(of: &Steps, at: usize, class: &str) -> ClassSeries {
    ClassSeries {
        class: class.to_owned(),
        goodput_bps: of.floats("goodput_bps", at),
        delay_ms: of.floats("delay_ms", at),
        lost: of.counts("lost", at),
        retransmitted: of.counts("retransmitted", at),
    }
}

fn link(of: &Steps, at: usize) -> LinkSeries {
    LinkSeries {
        throughput_bps: of.floats("throughput_bps", at),
        utilisation: of.floats("utilisation", at),
        queue_packets: of.floats("queue_packets", at),
        queue_ms: of.floats("queue_ms", at),
        drops: of.counts("drops", at),
        lost: of.counts("lost", at),
    }
}

fn node(of: &Steps, at: usize) -> NodeSeries {
    NodeSeries {
        cache_hits: of.counts("cache_hits", at),
        cache_misses: of.counts("cache_misses", at),
        cached_packets: of.counts("cached_packets", at),
        pit: of.counts("pit", at),
        drops: of.counts("drops", at),
    }
}

/// Only runs with requests have their table.
fn requests(dir: &Path) -> Result<Vec<RequestSample>, ParquetError> {
    if !dir.join(file_name(schema::REQUESTS)).exists() {
        return Ok(Vec::new());
    }
    let table = Steps::read(dir, schema::REQUESTS, 1)?;
    let value = |name, row: usize| table.columns.get(name).map_or(f64::NAN, |values| values[row]);
    let request = |row| RequestSample {
        flow: value("flow", row) as u32,
        came_s: value("came_s", row),
        amount: value("amount", row) as u64,
        completion_s: value("completion_s", row),
        slowdown: value("slowdown", row),
    };
    Ok((0..table.samples).map(request).collect())
}

fn file_name(table: Table) -> String {
    format!("{}.parquet", table.name)
}

/// The numbers of a table: all steps of one flow, class, link or node after the other.
struct Steps {
    columns: BTreeMap<String, Vec<f64>>,
    things: usize,
    samples: usize,
    step_s: f64,
}

impl Steps {
    fn read(dir: &Path, table: Table, things: usize) -> Result<Steps, ParquetError> {
        let file = SerializedFileReader::new(File::open(dir.join(file_name(table)))?)?;
        let metadata = file.metadata().file_metadata();
        let step = metadata.key_value_metadata().into_iter().flatten().find(|pair| pair.key == "weir.step_s");
        let step_s = step.and_then(|pair| pair.value.as_ref()?.parse().ok()).unwrap_or_default();
        let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut rows = 0;
        for row in file.get_row_iter(None)? {
            rows += 1;
            for (name, field) in row?.get_column_iter() {
                let value = match field {
                    Field::Float(value) => f64::from(*value),
                    Field::Double(value) => *value,
                    Field::UInt(value) => f64::from(*value),
                    Field::ULong(value) => *value as f64,
                    Field::Null => f64::NAN,
                    _ => continue,
                };
                match columns.get_mut(name) {
                    Some(values) => values.push(value),
                    None => drop(columns.insert(name.clone(), vec![value])),
                }
            }
        }
        let samples = rows / things.max(1);
        Ok(Steps { columns, things: if samples == 0 { 0 } else { things }, samples, step_s })
    }

    fn things(&self) -> std::ops::Range<usize> {
        0..self.things
    }

    fn of(&self, name: &str, thing: usize) -> &[f64] {
        let steps = thing * self.samples..(thing + 1) * self.samples;
        self.columns.get(name).and_then(|values| values.get(steps)).unwrap_or_default()
    }

    fn floats(&self, name: &str, thing: usize) -> Vec<f32> {
        self.of(name, thing).iter().map(|value| *value as f32).collect()
    }

    fn counts(&self, name: &str, thing: usize) -> Vec<u32> {
        self.of(name, thing).iter().map(|value| *value as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, write_parquet};

    #[test]
    fn series_read_back_as_they_were_written() {
        let report = sample::dumbbell(4, 30);
        let dir = std::env::temp_dir().join(format!("weir-read-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        write_parquet(&report, &dir).unwrap();
        let read = read_series(&report.document, &dir).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        // NaN is not equal to itself.
        assert_eq!(format!("{read:?}"), format!("{:?}", report.series));
    }
}
