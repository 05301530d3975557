//! Completed runs, stored in a folder, so that an interrupted comparison resumes.
//!
//! Each run has a file with what is known of it and a key: everything that determines it. A file with another key, or one
//! that cannot be read to its end, is as good as none. Files appear in full or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use weir_measure::{ProbeValue, Report, RunDocument, Series};
use weir_results::{ThinnedSeries, write_atomically};

use crate::{Failure, provenance};

/// The folder of the files, in that of the results.
const RUNS: &str = "runs";

/// Everything that determines a run and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunKey {
    /// Version and commit.
    version: String,
    /// A digest of the program: with changes that are not committed a commit names several.
    program: String,
    /// Name of the scenario, or path of its file.
    scenario: String,
    /// A digest of its text.
    text: String,
    /// What is set in it.
    set: Vec<String>,
    /// Further windows.
    windows: Vec<String>,
    /// What is measured besides the scenario's expectations.
    probes: Vec<String>,
    scheme: String,
    seed: u64,
    /// Whether series are kept.
    with_series: bool,
}

/// What determines all runs at a point alike.
#[derive(Clone, Debug)]
pub struct PointKey {
    pub scenario: String,
    pub text: String,
    pub set: Vec<String>,
    pub windows: Vec<String>,
    pub probes: Vec<String>,
}

/// What is kept of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    pub document: RunDocument,
    /// What was measured besides the scenario's expectations.
    pub probes: Vec<ProbeValue>,
    /// For plots, of the first seed.
    series: Option<ThinnedSeries>,
}

impl Kept {
    /// Of a run.
    pub fn of(report: &Report, with_series: bool) -> Kept {
        Kept {
            document: report.document.clone(),
            probes: report.probes.clone(),
            series: with_series.then(|| ThinnedSeries::of(&report.series)),
        }
    }

    /// What plots are drawn from; none without series.
    pub fn report(&self) -> Option<Report> {
        let series: Series = self.series.as_ref()?.series()?;
        Some(Report { document: self.document.clone(), series, ..Report::default() })
    }
}

/// A file.
#[derive(Serialize, Deserialize)]
struct File<K, R> {
    key: K,
    run: R,
}

/// All that are kept: in a folder, or else in memory.
pub struct KeptRuns {
    dir: Option<PathBuf>,
    program: String,
    in_memory: Mutex<BTreeMap<PathBuf, Kept>>,
}

impl KeptRuns {
    /// In this folder of results.
    pub fn new(dir: Option<&Path>) -> KeptRuns {
        let dir = dir.map(|dir| dir.join(RUNS));
        let program = if dir.is_some() { program() } else { String::new() };
        KeptRuns { dir, program, in_memory: Mutex::default() }
    }

    /// The folder of the files.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The key of a run.
    pub fn key(&self, point: &PointKey, scheme: &str, seed: u64, with_series: bool) -> RunKey {
        let PointKey { scenario, text, set, windows, probes } = point.clone();
        RunKey {
            version: provenance::VERSION.to_owned(),
            program: self.program.clone(),
            scenario,
            text,
            set,
            windows,
            probes,
            scheme: scheme.to_owned(),
            seed,
            with_series,
        }
    }

    /// A run that was kept under this name, if it is the one meant.
    pub fn find(&self, name: &Path, key: &RunKey) -> Option<Kept> {
        let in_memory = self.in_memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = in_memory.get(name) {
            return Some(kept.clone());
        }
        let text = fs::read_to_string(self.path(name)?).ok()?;
        let file: File<RunKey, Kept> = serde_json::from_str(&text).ok()?;
        // Nothing is known of a program that could not be read.
        (file.key == *key && !self.program.is_empty()).then_some(file.run)
    }

    /// Keeps a run under this name.
    ///
    /// # Errors
    /// If it cannot be written; then it is kept in memory, as without a folder.
    pub fn keep(&self, name: &Path, key: &RunKey, run: Kept) -> Result<(), Failure> {
        let written = self.path(name).map(|path| write(&path, &File { key, run: &run }));
        if !matches!(written, Some(Ok(()))) || self.program.is_empty() {
            let mut in_memory = self.in_memory.lock().unwrap_or_else(PoisonError::into_inner);
            in_memory.insert(name.to_owned(), run);
        }
        written.unwrap_or(Ok(()))
    }

    fn path(&self, name: &Path) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("{}.json", name.display())))
    }
}

fn write(path: &Path, file: &impl Serialize) -> Result<(), Failure> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| format!("cannot write {}: {error}", dir.display()))?;
    }
    Ok(write_atomically(path, &serde_json::to_string(file)?)?)
}

/// A digest of the program that runs; empty where it cannot be read.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read);
    bytes.map_or_else(|_| String::new(), |bytes| digest(&bytes))
}

/// A digest of some bytes, to tell them from others that come by chance.
pub fn digest(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLED: ProbeValue = ProbeValue { value: Some(0.1), never: true };

    fn kept(goodput_bps: f64) -> Kept {
        let flows = vec![weir_measure::FlowRow { goodput_bps, ..Default::default() }];
        let document = RunDocument { flows, ..RunDocument::default() };
        Kept { document, probes: vec![SETTLED, ProbeValue::default()], series: None }
    }

    fn key(runs: &KeptRuns, seed: u64) -> RunKey {
        let point = PointKey {
            scenario: "s".to_owned(),
            text: digest(b"text"),
            set: vec!["a=1".to_owned()],
            windows: Vec::new(),
            probes: Vec::new(),
        };
        runs.key(&point, "qsccp", seed, false)
    }

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("weir-kept-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn a_run_comes_back_to_the_last_digit() {
        let dir = folder("digits");
        let name = Path::new("s/qsccp-1");
        let value = 1.0 / 3.0 * 1e6 + f64::EPSILON;
        let runs = KeptRuns::new(Some(&dir));
        runs.keep(name, &key(&runs, 1), kept(value)).unwrap();
        let again = KeptRuns::new(Some(&dir));
        let found = again.find(name, &key(&again, 1)).unwrap();
        assert_eq!(found.document.flows[0].goodput_bps.to_bits(), value.to_bits());
        assert_eq!(found.probes, [SETTLED, ProbeValue::default()]);
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn a_stale_a_truncated_and_another_run_are_none() {
        let dir = folder("stale");
        let name = Path::new("s/qsccp-1");
        let runs = KeptRuns::new(Some(&dir));
        let right = key(&runs, 1);
        runs.keep(name, &right, kept(1.0)).unwrap();
        let find = |key: &RunKey| KeptRuns::new(Some(&dir)).find(name, key);
        assert!(find(&right).is_some());
        let other = "other".to_owned();
        let others = [
            RunKey { version: other.clone(), ..right.clone() },
            RunKey { program: other.clone(), ..right.clone() },
            RunKey { scenario: other.clone(), ..right.clone() },
            RunKey { text: other.clone(), ..right.clone() },
            RunKey { set: vec![other.clone()], ..right.clone() },
            RunKey { windows: vec![other.clone()], ..right.clone() },
            RunKey { probes: vec![other.clone()], ..right.clone() },
            RunKey { scheme: other, ..right.clone() },
            RunKey { seed: 2, ..right.clone() },
            RunKey { with_series: true, ..right.clone() },
        ];
        assert!(others.iter().all(|key| find(key).is_none()), "each part of the key counts");
        let path = runs.path(name).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        assert!(find(&right).is_none(), "a truncated file is none");
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn what_cannot_be_written_is_kept_in_memory() {
        let dir = folder("full");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(RUNS), "a file in the way").unwrap();
        let runs = KeptRuns::new(Some(&dir));
        let (name, key) = (Path::new("s/qsccp-1"), key(&runs, 1));
        assert!(runs.keep(name, &key, kept(1.0)).is_err());
        assert!(runs.find(name, &key).is_some());
        let _ = fs::remove_dir_all(dir);
    }
}
