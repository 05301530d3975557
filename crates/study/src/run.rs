//! One run: a pure function of a scenario's text and a few settings, with a digest of them as its key.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Probe, Setup};
use weir_measure::{ProbeValue, Report, RunDocument, Series, Trace};
use weir_results::{ThinnedSeries, grouped};
use weir_sim::World;

use crate::cancel::Cancel;
use crate::clock::{ProcessorTime, Stopwatch};
use crate::error::StudyError;
use crate::point::Point;
use crate::program::{self, CommandLine};
use crate::source::Source;

/// The key of a run: a digest of everything that determines it, 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that determines a run, as plain data, so that it can be made on another machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The scenario's name or the path of its file. It is a label; the key does not depend on it.
    pub name: String,
    /// The scenario's text, so that a kept run is complete.
    pub text: String,
    /// The settings, `KEY=VALUE` each.
    pub set: Vec<String>,
    /// The scheme.
    pub scheme: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// The measuring windows besides the scenario's own, ns from and to.
    pub windows: Vec<(u64, u64)>,
    /// The other files that the scenario names, each with path and text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<(String, String)>,
    /// The world that makes it, with its options; left out for the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<String>,
}

/// The content of the digest, in this order.
#[derive(Serialize)]
struct Keyed<'a> {
    sources: &'a str,
    text: &'a str,
    set: &'a [String],
    scheme: &'a str,
    seed: u64,
    windows: &'a [(u64, u64)],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    files: &'a [(String, String)],
    #[serde(skip_serializing_if = "Option::is_none")]
    world: Option<&'a str>,
}

impl Request {
    /// Returns its key: a digest of the texts, the settings and the program's sources ([`program::SOURCES`]).
    pub fn key(&self) -> Key {
        let keyed = Keyed {
            sources: program::SOURCES,
            text: &self.text,
            set: &self.set,
            scheme: &self.scheme,
            seed: self.seed,
            windows: &self.windows,
            files: &self.files,
            world: self.world.as_deref(),
        };
        let text = serde_json::to_vec(&keyed).expect("plain data have a text");
        Key(Sha256::digest(&text).iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Encodes it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data have a text")
    }

    /// Decodes bytes from [`Request::to_bytes`].
    ///
    /// # Errors
    /// Returns [`StudyError::Invalid`] if the bytes are not a request.
    pub fn from_bytes(bytes: &[u8]) -> Result<Request, StudyError> {
        serde_json::from_slice(bytes)
            .map_err(|error| StudyError::Invalid(format!("this is not a request for a run: {error}")))
    }

    /// Returns the run, with its scenario parsed.
    ///
    /// # Errors
    /// Returns an error if the scenario or a setting is invalid, or if the run is of another world than the
    /// simulator.
    pub fn run(&self) -> Result<Run, StudyError> {
        if let Some(world) = &self.world {
            return Err(StudyError::Invalid(format!("this is a run of the {world}: `weir lab` makes it")));
        }
        let windows: Vec<(Span, Span)> =
            self.windows.iter().map(|(from, to)| (Span::from_nanos(*from), Span::from_nanos(*to))).collect();
        let source = Source::of_text(self.name.clone(), self.text.clone()).with_files(self.files.clone());
        let point = Point::new(source, self.set.clone(), windows)?;
        Ok(Run::new(&Arc::new(point), &self.scheme, self.seed))
    }
}

/// A run. Runs at the same point share its scenario.
#[derive(Clone, Debug)]
pub struct Run {
    /// The scenario, its settings, and the measuring windows.
    pub point: Arc<Point>,
    /// The scheme.
    pub scheme: String,
    /// The seed of all random streams.
    pub seed: u64,
    /// The probes besides the scenario's expectations.
    pub probes: Arc<[Probe]>,
    /// Whether time series are kept.
    pub with_series: bool,
    /// Whether every packet goes through the codec.
    pub check_wire: bool,
    /// The number of threads that make it. It does not change the figures.
    pub threads: usize,
    /// The receiver of the run's events, if any.
    pub trace: Option<Tracing>,
    /// Whoever watches the run while it goes on.
    pub viewer: Option<Arc<dyn Viewer>>,
    /// The world that makes it, if it is not the simulator.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// Shows a run while it goes on.
pub trait Viewer: fmt::Debug + Send + Sync {
    /// Returns whether to make a report now. The time until [`Viewer::show`] counts as the time that it takes. It is asked
    /// about a thousand times in a run.
    fn begin_report(&self) -> bool;

    /// Takes a report as if the run ended now, and the end of the run. The report has neither the optimum nor the
    /// scenario's text.
    fn show(&self, report: Report, until: Span);
}

/// A world other than the simulator that makes runs.
pub trait Elsewhere: fmt::Debug + Send + Sync {
    /// Returns its name with its options. Runs with another text are different runs.
    fn text(&self) -> String;

    /// Returns the command that makes a single run: its subcommand, and further options.
    fn command(&self) -> (&'static str, Vec<String>);

    /// Checks that a run can be made.
    ///
    /// # Errors
    /// Returns an error if the world cannot make the run.
    fn check(&self, experiment: &Experiment) -> Result<(), StudyError>;

    /// Makes a run. Calls `progress` from time to time with the part of it that is over, 0 to 1.
    ///
    /// # Errors
    /// Returns an error if the run fails, or [`StudyError::Cancelled`].
    fn make(
        &self,
        experiment: Experiment,
        progress: &mut dyn FnMut(f64),
        cancel: &Cancel,
    ) -> Result<Report, StudyError>;
}

/// A trace for one run, which removes it when the run is made.
#[derive(Clone)]
pub struct Tracing(Arc<Mutex<Option<Box<dyn Trace>>>>);

impl Tracing {
    /// Returns a trace for the next run that has it.
    pub fn new(trace: Box<dyn Trace>) -> Tracing {
        Tracing(Arc::new(Mutex::new(Some(trace))))
    }

    fn take(&self) -> Option<Box<dyn Trace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tracing")
    }
}

impl Run {
    /// Returns a run at a point, without series, probes or check of the codec.
    pub fn new(point: &Arc<Point>, scheme: &str, seed: u64) -> Run {
        let (point, scheme) = (Arc::clone(point), scheme.to_owned());
        Run {
            point,
            scheme,
            seed,
            probes: Arc::new([]),
            with_series: false,
            check_wire: false,
            threads: 1,
            trace: None,
            viewer: None,
            elsewhere: None,
        }
    }

    /// Returns the same run in another world, if one is given.
    #[must_use]
    pub fn made_by(mut self, world: Option<&Arc<dyn Elsewhere>>) -> Run {
        self.elsewhere = world.cloned();
        self
    }

    /// Returns the name of the folder of its report among those of a scenario: that of its scheme, and of its
    /// world.
    pub fn folder(&self) -> String {
        let world = self.elsewhere.as_ref().map_or(String::new(), |world| format!("-{}", world.command().0));
        format!("{}{world}", self.scheme)
    }

    /// Returns the run as plain data.
    pub fn request(&self) -> Request {
        let nanos = |(from, to): &(Span, Span)| (from.as_nanos(), to.as_nanos());
        Request {
            name: self.point.source.name().to_owned(),
            text: self.point.source.text().to_owned(),
            set: self.point.set.clone(),
            scheme: self.scheme.clone(),
            seed: self.seed,
            windows: self.point.windows.iter().map(nanos).collect(),
            files: self.point.scenario.file_texts(),
            world: self.elsewhere.as_ref().map(|world| world.text()),
        }
    }

    /// Returns whether it differs from another run only in the seed, and has no series that the other lacks.
    pub fn differs_in_seed(&self, other: &Run) -> bool {
        Arc::ptr_eq(&self.point, &other.point)
            && self.scheme == other.scheme
            && self.probes == other.probes
            && self.check_wire == other.check_wire
            && self.elsewhere.is_none() == other.elsewhere.is_none()
            && (other.with_series || !self.with_series)
    }

    /// Returns the command that makes only this run; empty if its scenario has no file.
    pub fn command(&self) -> CommandLine {
        if !self.point.source.is_named() {
            return CommandLine::none();
        }
        let (subcommand, options) =
            self.elsewhere.as_ref().map_or(("run", Vec::new()), |world| world.command());
        CommandLine::new(subcommand, self.point.source.name())
            .option("--scheme", [&self.scheme])
            .option("--seed", [self.seed])
            .option("--set", &self.point.set)
            .option("--window", self.point.windows.iter().map(program::window_text))
            .flag("--check-wire", self.check_wire)
            .words(options)
    }

    fn setup(&self) -> Setup {
        Setup {
            scheme: Some(self.scheme.clone()),
            seed: self.seed,
            windows: self.point.windows.clone(),
            probes: self.probes.to_vec(),
            with_series: self.with_series,
        }
    }

    /// Returns the experiment, checked.
    ///
    /// # Errors
    /// Returns an error if a scheme, a parameter, a window or a probe is invalid.
    pub fn experiment(&self) -> Result<Experiment, StudyError> {
        Ok(Experiment::new(Arc::clone(&self.point.scenario), &self.setup())?)
    }

    /// Checks that it can be made: the scheme, its parameters, and the features of the simulator.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub fn check(&self) -> Result<(), StudyError> {
        match &self.elsewhere {
            Some(world) => world.check(&self.experiment()?),
            None => World::build(self.experiment()?).map(drop).map_err(StudyError::from),
        }
    }

    /// Makes the run. Calls `progress` from time to time with the part of the simulated time that is over, 0
    /// to 1.
    ///
    /// # Errors
    /// Returns an error if the run cannot be made, if a packet fails the check of the codec, or
    /// [`StudyError::Cancelled`].
    pub fn make(&self, progress: &mut dyn FnMut(f64), cancel: &Cancel) -> Result<Made, StudyError> {
        self.make_experiment(self.experiment()?, progress, cancel)
    }

    /// Estimates how long the run takes and how much is kept of it, from the part that is simulated within
    /// `trial`.
    ///
    /// # Errors
    /// Returns the errors of [`Run::make`].
    pub fn pace(&self, trial: Duration) -> Result<Pace, StudyError> {
        let begun = ProcessorTime::now();
        let mut world = World::build(self.experiment()?)?;
        let built_s = begun.elapsed_s();
        let (wall, processor) = (Stopwatch::start(), ProcessorTime::now());
        let duration = self.point.scenario.duration;
        let mut slices = 0;
        while slices == 0 || (slices < SLICES && wall.elapsed() < trial) {
            slices += 1;
            world.run_until(Time::ZERO + duration / SLICES * slices, &mut |_| ())?;
        }
        let cpu_s = built_s + processor.elapsed_s() * SLICES as f64 / slices as f64;
        let made = Made { report: world.finish().report, cpu_s, alone: None };
        Ok(Pace { cpu_s, record: Record::of(self, &made) })
    }

    /// Adds the settings and the command to a document.
    fn sign(&self, document: &mut RunDocument) {
        document.set.clone_from(&self.point.set);
        self.command().sign(document);
    }

    /// Makes the run with a changed experiment, such as one under a scheme that is not in the registry.
    ///
    /// # Errors
    /// Returns the errors of [`Run::make`].
    pub fn make_experiment(
        &self,
        experiment: Experiment,
        progress: &mut dyn FnMut(f64),
        cancel: &Cancel,
    ) -> Result<Made, StudyError> {
        let (wall, processor) = (Stopwatch::start(), ProcessorTime::now());
        if let Some(world) = &self.elsewhere {
            let mut report = world.make(experiment, progress, cancel)?;
            self.sign(&mut report.document);
            return Ok(Made { report, cpu_s: processor.elapsed_s(), alone: None });
        }
        let mut world = World::build(experiment)?;
        if self.check_wire {
            world = world.checking_wire();
        }
        if let Some(trace) = self.trace.as_ref().and_then(Tracing::take) {
            world = world.tracing(trace);
        }
        let mut world = world.on_threads(self.threads);
        let (threads, alone) = (world.threads(), world.reason());
        let until = Time::ZERO + self.point.scenario.duration;
        // The user can cancel a run between two slices.
        let slice = (self.point.scenario.duration / SLICES).max(Span::from_nanos(1));
        let mut now = Time::ZERO;
        while now < until {
            if cancel.is_asked() {
                return Err(StudyError::Cancelled { done: 0, all: 1 });
            }
            now = (now + slice).min(until);
            world.run_until(now)?;
            progress((now - Time::ZERO).as_secs_f64() / self.point.scenario.duration.as_secs_f64());
            if let Some(viewer) = self.viewer.as_ref().filter(|viewer| viewer.begin_report()) {
                let mut report = world.so_far();
                report.document.wall_s = wall.elapsed_s();
                self.sign(&mut report.document);
                viewer.show(report, self.point.scenario.duration);
            }
        }
        world.end_trace()?;
        let outcome = world.finish();
        let mut report = outcome.report;
        report.document.wall_s = wall.elapsed_s();
        self.sign(&mut report.document);
        if self.check_wire {
            report.notes.push(format!(
                "{} packets went through the codec unchanged.",
                grouped(outcome.wire_checks as i64)
            ));
        }
        // All threads do about the same work.
        Ok(Made { report, cpu_s: processor.elapsed_s() * threads as f64, alone })
    }
}

/// The number of slices of simulated time in a run. The run can be cancelled between them.
const SLICES: u64 = 1000;

/// An estimate of the cost of a run.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The processor time of the whole run, s.
    pub cpu_s: f64,
    /// The measurements of its beginning, in the form in which those of the whole run are kept.
    pub record: Record,
}

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Made {
    /// All measurements.
    pub report: Report,
    /// The processor time, s.
    pub cpu_s: f64,
    /// The reason why one thread made it although several were requested.
    pub alone: Option<&'static str>,
}

impl Made {
    /// Returns what is known of a kept run: without the topology, notes, reasons of drops and probes.
    pub fn of_record(record: Record) -> Made {
        let series = record.series.as_ref().and_then(ThinnedSeries::series).unwrap_or_default();
        let report = Report { document: record.document, series, ..Report::default() };
        Made { report, cpu_s: record.cpu_s, alone: None }
    }

    /// Returns the same measurements for a run that differs only in the seed, if the seed decides nothing.
    pub fn of_seed(&self, run: &Run) -> Made {
        let series = if run.with_series { self.report.series.clone() } else { Series::default() };
        let mut document = self.report.document.clone();
        document.seed = run.seed;
        run.command().sign(&mut document);
        Made { report: Report { document, series, ..self.report.clone() }, cpu_s: 0.0, alone: None }
    }
}

/// The stored form of a run. It suffices for every table and page of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format, [`Record::SCHEMA`].
    pub schema: u64,
    /// Everything that determines the run.
    pub request: Request,
    /// The version of the program that made it.
    pub version: String,
    /// The commit from which it was built.
    pub commit: String,
    /// The processor time, s; 0 if the run was not repeated because the seed decides nothing.
    pub cpu_s: f64,
    /// The measurements.
    pub document: RunDocument,
    /// The values of probes, by their texts.
    pub probes: BTreeMap<String, ProbeValue>,
    /// Thinned time series for plots, if requested.
    pub series: Option<ThinnedSeries>,
}

impl Record {
    /// The version of the format that this code reads and writes.
    pub const SCHEMA: u64 = 1;

    /// Returns the record of a run that was made.
    pub fn of(run: &Run, made: &Made) -> Record {
        Record {
            schema: Record::SCHEMA,
            request: run.request(),
            version: program::VERSION.to_owned(),
            commit: program::COMMIT.to_owned(),
            cpu_s: made.cpu_s,
            document: made.report.document.clone(),
            probes: run.probes.iter().map(Probe::to_string).zip(made.report.probes.iter().copied()).collect(),
            series: run.with_series.then(|| ThinnedSeries::of(&made.report.series)),
        }
    }

    /// Returns the same record for a run that differs only in the seed, if the seed decides nothing.
    #[must_use]
    pub fn of_seed(mut self, run: &Run) -> Record {
        self.request = run.request();
        self.cpu_s = 0.0;
        self.document.seed = run.seed;
        self.series = self.series.filter(|_| run.with_series);
        self.named(run)
    }

    /// Returns whether it has everything that a run requests: its series and its probes.
    pub fn serves(&self, run: &Run) -> bool {
        let has = |probe: &Probe| self.probes.contains_key(&probe.to_string());
        (self.series.is_some() || !run.with_series) && run.probes.iter().all(has)
    }

    /// Returns the value of a probe; an empty value if the record does not have it.
    pub fn probe(&self, probe: &Probe) -> ProbeValue {
        self.probes.get(&probe.to_string()).copied().unwrap_or_default()
    }

    /// Adds what another record of the same run has in addition.
    #[must_use]
    pub fn with_those_of(mut self, other: Record) -> Record {
        for (probe, value) in other.probes {
            self.probes.entry(probe).or_insert(value);
        }
        self.series = self.series.or(other.series);
        self
    }

    /// Returns the same record with this run's name of the scenario, on which the key does not depend.
    #[must_use]
    pub fn named(mut self, run: &Run) -> Record {
        let name = run.point.source.name();
        name.clone_into(&mut self.request.name);
        name.clone_into(&mut self.document.scenario);
        self.document.command = run.command().text();
        self
    }

    /// Encodes it as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has only text keys")
    }

    /// Decodes bytes from [`Record::to_bytes`].
    ///
    /// # Errors
    /// Returns [`StudyError::Record`] if the bytes are not a record of this format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Record, StudyError> {
        let record: Record = serde_json::from_slice(bytes)
            .map_err(|error| StudyError::Record(format!("this is not a record of a run: {error}")))?;
        if record.schema != Record::SCHEMA {
            let (found, own) = (record.schema, Record::SCHEMA);
            return Err(StudyError::Record(format!("a record of format {found}: this program reads {own}")));
        }
        Ok(record)
    }

    /// Returns the report for plots; `None` without series.
    pub fn report(&self) -> Option<Report> {
        let series = self.series.as_ref()?.series()?;
        Some(Report { document: self.document.clone(), series, ..Report::default() })
    }
}
