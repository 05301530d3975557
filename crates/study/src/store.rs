//! The store of runs: in a folder with a file for each run, named after its key, or in memory.
//!
//! A file appears completely or not at all. So a study that was killed continues where it stopped, and two
//! folders of one study can be merged by copying their files together. Several programs may use the same
//! folder at the same time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use weir_results::write_atomically;

use crate::error::StudyError;
use crate::run::{Key, Record, Run};

/// The folder of the runs, in the folder of a study's results.
pub const RUNS: &str = "runs";

/// The environment variable with a folder of runs that all commands share.
pub const SHARED_RUNS: &str = "WEIR_RUNS";

/// The store of kept runs.
#[derive(Debug, Default)]
pub struct RunStore {
    dir: Option<PathBuf>,
    shared: Option<PathBuf>,
    in_memory: Mutex<BTreeMap<Key, Record>>,
}

impl RunStore {
    /// Returns a store in this folder, which is created with the first run; in memory without a folder. Runs
    /// are also searched, and kept, in the folder `shared`.
    pub fn new(dir: Option<PathBuf>, shared: Option<PathBuf>) -> RunStore {
        RunStore { dir, shared, in_memory: Mutex::default() }
    }

    /// Returns a store in the folder of a study's results, and in the folder that the environment names
    /// ([`SHARED_RUNS`]).
    pub fn of_results(dir: Option<&Path>) -> RunStore {
        let shared = std::env::var_os(SHARED_RUNS).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        RunStore::new(dir.map(|dir| dir.join(RUNS)), shared)
    }

    /// Returns the folder of the files; `None` if runs are kept in memory.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Returns a kept run; `None` if it does not exist, lacks requested series or probes, or if its file is
    /// damaged or of another format.
    pub fn find(&self, run: &Run) -> Option<Record> {
        let key = run.request().key();
        let serves = |record: &Record| record.request.key() == key && record.serves(run);
        if let Some(record) = self.in_memory().get(&key).filter(|record| serves(record)) {
            return Some(record.clone().named(run));
        }
        let own = self.dir.iter().find_map(|dir| read(dir, &key).filter(serves));
        let record = own.or_else(|| {
            let record = self.shared.iter().find_map(|dir| read(dir, &key).filter(serves))?;
            // The folder of a study has all of its runs.
            self.dir.iter().for_each(|dir| drop(write(dir, &key, &record)));
            Some(record)
        })?;
        Some(record.named(run))
    }

    /// Returns whether a run is kept, here or in the shared folder. Copies nothing.
    pub fn has(&self, run: &Run) -> bool {
        let key = run.request().key();
        let serves = |record: &Record| record.request.key() == key && record.serves(run);
        let is_in = |dir: &PathBuf| read(dir, &key).is_some_and(|record| serves(&record));
        self.in_memory().get(&key).is_some_and(serves) || self.dir.iter().chain(&self.shared).any(is_in)
    }

    /// Returns the same as [`RunStore::find`], for a run that was made.
    ///
    /// # Errors
    /// Returns [`StudyError::Missing`] if it does not exist.
    pub fn get(&self, run: &Run) -> Result<Record, StudyError> {
        self.find(run).ok_or_else(|| StudyError::Missing { key: run.request().key().to_string() })
    }

    /// Keeps a run. An error in writing to the shared folder is ignored.
    ///
    /// # Errors
    /// Returns an error if the run cannot be written into the store's own folder. Then it is kept in memory.
    pub fn keep(&self, record: Record) -> Result<(), StudyError> {
        let key = record.request.key();
        let write_to = |dir: &PathBuf| write(dir, &key, &record);
        // Other programs make the run themselves.
        self.shared.iter().for_each(|dir| drop(write_to(dir)));
        let own = self.dir.as_ref().map(write_to);
        if !matches!(own, Some(Ok(()))) {
            self.in_memory().insert(key, record);
        }
        own.unwrap_or(Ok(()))
    }

    fn in_memory(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, Record>> {
        self.in_memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn path(dir: &Path, key: &Key) -> PathBuf {
    dir.join(format!("{key}.json"))
}

fn read(dir: &Path, key: &Key) -> Option<Record> {
    Record::from_bytes(&fs::read(path(dir, key)).ok()?).ok()
}

/// Writes a record, with what the existing file of the same run has in addition.
fn write(dir: &Path, key: &Key, record: &Record) -> Result<(), StudyError> {
    let bytes = match read(dir, key).filter(|before| before.request.key() == *key) {
        Some(before) => record.clone().with_those_of(before).to_bytes(),
        None => record.to_bytes(),
    };
    fs::create_dir_all(dir).map_err(|error| StudyError::File { path: dir.to_owned(), error })?;
    Ok(write_atomically(&path(dir, key), bytes)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weir_measure::{FlowRow, ProbeValue, RunDocument};

    use super::*;
    use crate::point::Point;
    use crate::program;
    use crate::run::Request;
    use crate::source::Source;

    fn run(name: &str, set: &[&str], seed: u64) -> Run {
        let text = Source::find("examples/minimal").unwrap().text().to_owned();
        let set = set.iter().map(|&set| set.to_owned()).collect();
        let point = Point::new(Source::of_text(name, text), set, Vec::new()).unwrap();
        Run::new(&Arc::new(point), "qsccp", seed)
    }

    fn record(run: &Run, goodput_bps: f64) -> Record {
        let flows = vec![FlowRow { goodput_bps, ..FlowRow::default() }];
        Record {
            schema: Record::SCHEMA,
            request: run.request(),
            version: program::VERSION.to_owned(),
            commit: program::COMMIT.to_owned(),
            cpu_s: 0.5,
            document: RunDocument { flows, ..RunDocument::default() },
            probes: BTreeMap::from([("settle".to_owned(), ProbeValue { value: Some(0.1), never: true })]),
            series: None,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("weir-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_run_comes_back_to_the_last_digit_under_the_name_that_asks() {
        let dir = folder("digits");
        let value = 1.0 / 3.0 * 1e6 + f64::EPSILON;
        let stored = RunStore::new(Some(dir.clone()), None);
        stored.keep(record(&run("mine.toml", &[], 1), value)).unwrap();
        let again = RunStore::new(Some(dir.clone()), None);
        let found = again.find(&run("elsewhere/mine.toml", &[], 1)).unwrap();
        assert_eq!(found.document.flows[0].goodput_bps.to_bits(), value.to_bits());
        assert_eq!(found.document.scenario, "elsewhere/mine.toml");
        assert_eq!(found.probes["settle"], ProbeValue { value: Some(0.1), never: true });
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn every_part_of_a_request_but_the_name_is_in_the_key() {
        let right = run("a.toml", &[], 1).request();
        let others = [
            Request { text: "other".to_owned(), ..right.clone() },
            Request { set: vec!["duration=1s".to_owned()], ..right.clone() },
            Request { scheme: "pcon".to_owned(), ..right.clone() },
            Request { seed: 2, ..right.clone() },
            Request { windows: vec![(0, 1)], ..right.clone() },
        ];
        assert!(others.iter().all(|other| other.key() != right.key()));
        assert_eq!(Request { name: "b.toml".to_owned(), ..right.clone() }.key(), right.key());
    }

    #[test]
    fn the_files_that_a_scenario_names_are_in_the_key_and_go_with_the_request() {
        let dir = folder("files");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("mine.toml");
        let text = Source::find("examples/minimal").unwrap().text().to_owned();
        fs::write(&path, text.replacen("rate = \"10 Mb/s\"", "rate_trace = \"a.trace\"", 1)).unwrap();
        let with_trace = |trace: &str| {
            fs::write(dir.join("a.trace"), trace).unwrap();
            let source = Source::find(path.to_str().unwrap()).unwrap();
            Run::new(&Arc::new(Point::new(source, Vec::new(), Vec::new()).unwrap()), "qsccp", 1).request()
        };
        let (one, other) = (with_trace("1\n"), with_trace("1\n2\n3\n"));
        assert_ne!(one.key(), other.key());
        assert_eq!(one.key(), with_trace("1\n").key());
        fs::remove_dir_all(dir).unwrap();
        // There is no such file elsewhere.
        let sent = Request::from_bytes(&other.to_bytes()).unwrap();
        let rate = sent.run().unwrap().point.scenario.links[0].rate[0];
        assert_eq!((sent.key(), rate.as_bps_f64()), (other.key(), 1504.0 * 8.0 * 1000.0));
    }

    #[test]
    fn a_truncated_file_and_the_file_of_another_run_are_none() {
        let dir = folder("damaged");
        let (one, other) = (run("a.toml", &[], 1), run("a.toml", &[], 2));
        let store = RunStore::new(Some(dir.clone()), None);
        store.keep(record(&one, 1.0)).unwrap();
        let [file, wrong] = [&one, &other].map(|run| path(&dir, &run.request().key()));
        fs::copy(&file, wrong).unwrap();
        assert!(store.find(&other).is_none(), "the file of another run");
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(store.find(&one).is_none(), "a truncated file");
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn what_cannot_be_written_is_kept_in_memory() {
        let dir = folder("full");
        fs::write(&dir, "a file in the way").unwrap();
        let store = RunStore::new(Some(dir.clone()), None);
        let run = run("a.toml", &[], 1);
        assert!(store.keep(record(&run, 1.0)).is_err());
        assert!(store.find(&run).is_some());
        let _ = fs::remove_file(dir);
    }

    #[test]
    fn a_record_that_lacks_series_does_not_serve_and_one_that_has_them_keeps_them() {
        let dir = folder("series");
        let without = run("a.toml", &[], 1);
        let with = Run { with_series: true, ..without.clone() };
        let store = RunStore::new(Some(dir.clone()), None);
        store.keep(record(&without, 1.0)).unwrap();
        assert!(store.find(&with).is_none());
        let series = Some(weir_results::ThinnedSeries::of(&weir_measure::Series::default()));
        store.keep(Record { series, probes: BTreeMap::new(), ..record(&with, 1.0) }).unwrap();
        store.keep(record(&without, 1.0)).unwrap();
        let found = store.find(&with).unwrap();
        assert_eq!((found.series.is_some(), found.probes.len()), (true, 1));
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn a_shared_folder_has_the_runs_of_all_and_gives_them_to_others() {
        let (shared, own) = (folder("shared"), folder("own"));
        let run = run("a.toml", &[], 1);
        RunStore::new(None, Some(shared.clone())).keep(record(&run, 1.0)).unwrap();
        assert!(RunStore::new(Some(own.clone()), Some(shared.clone())).has(&run));
        assert!(!RunStore::new(Some(own.clone()), None).has(&run), "to ask copies nothing");
        assert!(RunStore::new(Some(own.clone()), Some(shared.clone())).find(&run).is_some());
        assert!(
            RunStore::new(Some(own.clone()), None).find(&run).is_some(),
            "the folder of results is complete"
        );
        for dir in [shared, own] {
            let _ = fs::remove_dir_all(dir);
        }
    }
}
