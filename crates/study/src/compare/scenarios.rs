//! The scenarios of a comparison, each at every point of its axes.

use std::sync::Arc;

use weir_experiment::{Probe, scheme_for};
use weir_results::{
    LeftOutRow, SettleTime, SummaryContext, SummaryPoint, SummaryRun, SummaryScenario, named,
};
use weir_scenario::{Axis, Flow, Scenario};

use super::settle::{settle_time, when_settled};
use super::{CompareRequest, Pages};
use crate::error::StudyError;
use crate::papers;
use crate::point::Point;
use crate::propagation::round_trips_ms;
use crate::run::{Elsewhere, Record, Run};
use crate::source::Source;
use crate::store::RunStore;
use crate::vary::{is_fixed, key};

/// A scenario of a comparison.
#[derive(Debug)]
pub(super) struct ComparedScenario {
    /// The axes that are swept.
    pub(super) axes: Vec<Axis>,
    pub(super) points: Vec<ComparedPoint>,
}

/// A scenario at one point of its axes.
#[derive(Debug)]
pub(super) struct ComparedPoint {
    /// The settings of the point, one for each axis.
    pub(super) axes: Vec<String>,
    /// The folder of the point within that of the results; empty if they are the same.
    pub(super) folder: String,
    pub(super) point: Arc<Point>,
    /// The probes for the settling of goodputs; empty if a single scenario is compared.
    probes: Arc<[Probe]>,
    /// The part of the run of each probe: 0 for the whole run, or from 1 on a window.
    parts: Vec<usize>,
    /// The schemes that can run there, and those that cannot.
    pub(super) schemes: Vec<String>,
    pub(super) left_out: Vec<LeftOutRow>,
}

impl ComparedScenario {
    /// Parses the scenario of this name at every point of its axes.
    pub(super) fn load(request: &CompareRequest, name: &str) -> Result<ComparedScenario, StudyError> {
        let source = Source::find(name)?;
        let mut axes = source.read(&request.set)?.axes;
        // A set axis has its point already.
        axes.retain(|axis| !is_fixed(axis, request.set.iter().map(|set| key(set))));
        let point = |axes: Vec<String>| ComparedPoint::load(request, &source, axes);
        let points = papers::points(&axes).into_iter().map(point).collect::<Result<_, _>>()?;
        Ok(ComparedScenario { axes, points })
    }

    /// Returns its runs, each once, with the index of their point.
    pub(super) fn runs<'a>(
        &'a self,
        request: &'a CompareRequest,
        with_series: bool,
    ) -> impl Iterator<Item = (usize, Run)> + 'a {
        let own = move |(at, compared): (usize, &'a ComparedPoint)| {
            let is_run = move |scheme: &&String| self.runs_at(at, scheme) == at;
            let runs = move |scheme: &'a String| {
                let worlds = request.worlds().into_iter();
                let runs = move |world| compared.runs(request, (scheme, world), with_series);
                worlds.flat_map(runs).map(move |run| (at, run))
            };
            compared.schemes.iter().filter(is_run).flat_map(runs)
        };
        self.points.iter().enumerate().flat_map(own)
    }

    /// Returns the point whose runs of a scheme are the same as those at this point. If an axis sets only
    /// parameters of schemes that do not run, that is the point with its first value.
    fn runs_at(&self, at: usize, scheme: &str) -> usize {
        let point = &self.points[at];
        let value = |(axis, set): (&Axis, &String)| match axis.values.first() {
            Some(first) if is_of_others(axis, scheme, &point.point.scenario) => {
                format!("axis.{}={first}", axis.name)
            }
            _ => set.clone(),
        };
        let first: Vec<String> = self.axes.iter().zip(&point.axes).map(value).collect();
        let is_there = |other: &ComparedPoint| {
            let texts = |probes: &[Probe]| probes.iter().map(Probe::to_string).collect::<Vec<_>>();
            other.axes == first
                && other.schemes.iter().any(|one| one == scheme)
                && texts(&other.probes) == texts(&point.probes)
        };
        self.points.iter().position(is_there).unwrap_or(at)
    }

    /// Returns the variants of a scheme's parameters, each once, in the order of the points; `None` if no
    /// point names one.
    fn variants(&self, scheme: &str) -> Option<Vec<String>> {
        let scenarios = || self.points.iter().map(|compared| &compared.point.scenario);
        scenarios().find_map(|scenario| scenario.variant_of(scheme))?;
        let mut variants: Vec<String> = Vec::new();
        for resolved in scenarios().filter_map(|scenario| scheme_for(scenario, scheme).ok()) {
            let of = resolved.params.iter().find(|(key, _)| *key == "variant");
            let new = of.map(|(_, name)| name.text().to_owned()).filter(|name| !variants.contains(name));
            variants.extend(new);
        }
        Some(variants)
    }

    /// Returns its part of the summary, and writes the page of each point.
    pub(super) fn row(&self, pages: &Pages<'_>) -> Result<SummaryScenario, StudyError> {
        let points = (0..self.points.len()).map(|at| self.point_row(at, pages));
        let points = points.collect::<Result<_, _>>()?;
        let Scenario { name, title, source, flows, .. } = &*self.points[0].point.scenario;
        let mut others: Vec<String> = flows.iter().filter_map(|flow| flow.scheme.clone()).collect();
        others.sort_unstable();
        others.dedup();
        let with_variant =
            |scheme: &String| self.variants(scheme).map(|all| named(scheme, Some(&all.join(", "))));
        let variants = pages.request.schemes.iter().filter_map(with_variant).collect();
        let mut row = SummaryScenario {
            scenario: name.clone(),
            title: title.clone(),
            source: source.clone(),
            others,
            variants,
            page: pages.dir.map(|_| format!("scenario-{}.html", papers::folder(name, &[]))),
            matrix: Vec::new(),
            points,
        };
        row.fill_matrix(&pages.request.schemes);
        Ok(row)
    }

    /// Returns the measurements at a point, and writes the page with all of its tables into its folder.
    fn point_row(&self, at: usize, pages: &Pages<'_>) -> Result<SummaryPoint, StudyError> {
        let compared = &self.points[at];
        let records = |scheme: &String| {
            self.points[self.runs_at(at, scheme)].records(
                pages.request,
                (scheme, None),
                pages.store,
                pages.dir.is_some(),
            )
        };
        let mut records: Vec<Vec<Record>> = compared.schemes.iter().map(records).collect::<Result<_, _>>()?;
        records.iter_mut().flatten().for_each(|run| compared.point.add_optimum(&mut run.document));
        let mut row = compared.figures(&records);
        let dir = pages.dir.map(|dir| dir.join(&compared.folder));
        let report = |scheme: &str| {
            let from = self.runs_at(at, scheme);
            (from != at).then(|| format!("../{}/{scheme}/report.html", self.points[from].folder))
        };
        pages.comparison(&compared.point, records, dir.as_deref(), report);
        row.set = compared.axes.clone();
        row.left_out = compared.left_out.clone();
        row.page =
            dir.filter(|_| !compared.schemes.is_empty()).map(|_| format!("{}/compare.html", compared.folder));
        Ok(row)
    }
}

/// Returns whether an axis sets only parameters of schemes that do not run together with this one.
fn is_of_others(axis: &Axis, scheme: &str, scenario: &Scenario) -> bool {
    let is_of_another = |path: &String| {
        let of = path.strip_prefix("scheme.").and_then(|path| path.split_once('.'));
        let runs = |name: &str| {
            name == scheme || scenario.flows.iter().any(|flow| flow.scheme.as_deref() == Some(name))
        };
        of.is_some_and(|(name, _)| !runs(name))
    };
    axis.set.iter().all(is_of_another)
}

impl ComparedPoint {
    fn load(
        request: &CompareRequest,
        source: &Source,
        axes: Vec<String>,
    ) -> Result<ComparedPoint, StudyError> {
        let point = Arc::new(request.point(source, &axes)?);
        let (mut schemes, mut left_out) = (Vec::new(), Vec::new());
        for scheme in &request.schemes {
            match Run::new(&point, scheme, request.seeds.list()[0]).check() {
                Ok(()) => schemes.push(scheme.clone()),
                Err(error) => {
                    let why = error.to_string().lines().next().unwrap_or_default().to_owned();
                    left_out.push(LeftOutRow { scheme: scheme.clone(), why });
                }
            }
        }
        let (probes, parts) = when_settled(&point.scenario, &point.parts());
        let folder = papers::folder(&point.scenario.name, &axes);
        Ok(ComparedPoint { axes, folder, point, probes: probes.into(), parts, schemes, left_out })
    }

    /// Compares a single scenario under all schemes. Its results are in the folder itself.
    pub(super) fn as_it_stands(
        request: &CompareRequest,
        source: &Source,
    ) -> Result<ComparedPoint, StudyError> {
        let point = Arc::new(request.point(source, &[])?);
        for scheme in &request.schemes {
            for world in request.worlds() {
                Run::new(&point, scheme, request.seeds.list()[0]).made_by(world).check()?;
            }
        }
        Ok(ComparedPoint {
            axes: Vec::new(),
            folder: String::new(),
            point,
            probes: Arc::new([]),
            parts: Vec::new(),
            schemes: request.schemes.clone(),
            left_out: Vec::new(),
        })
    }

    /// Returns the runs of a scheme in a world: one a seed. The first one has series, if any has.
    pub(super) fn runs<'a>(
        &'a self,
        request: &'a CompareRequest,
        (scheme, world): (&'a str, Option<&'a Arc<dyn Elsewhere>>),
        with_series: bool,
    ) -> impl Iterator<Item = Run> + 'a {
        request.seeds.list().iter().enumerate().map(move |(at, seed)| Run {
            probes: Arc::clone(&self.probes),
            with_series: with_series && at == 0,
            ..Run::new(&self.point, scheme, *seed).made_by(world)
        })
    }

    /// Returns the records of these runs.
    pub(super) fn records(
        &self,
        request: &CompareRequest,
        contestant: (&str, Option<&Arc<dyn Elsewhere>>),
        store: &RunStore,
        with_series: bool,
    ) -> Result<Vec<Record>, StudyError> {
        self.runs(request, contestant, with_series).map(|run| store.get(&run)).collect()
    }

    fn figures(&self, runs: &[Vec<Record>]) -> SummaryPoint {
        let flows = &self.point.scenario.flows;
        let context = SummaryContext {
            has_own_scheme: flows.iter().map(|flow: &Flow| flow.scheme.is_some()).collect(),
            limits: self.point.optimum().map(|optimum| optimum.limits()).unwrap_or_default(),
            round_trip_ms: round_trips_ms(&self.point.scenario),
            payload_bytes: flows.iter().map(|flow| flow.payload.as_u64() as f64).collect(),
            asks_when_settled: !self.parts.is_empty(),
        };
        let schemes: Vec<Vec<SummaryRun<'_>>> = runs.iter().map(|runs| self.with_settled(runs)).collect();
        SummaryPoint::of(&context, &schemes)
    }

    fn with_settled<'r>(&self, runs: &'r [Record]) -> Vec<SummaryRun<'r>> {
        let run =
            |record: &'r Record| SummaryRun { document: &record.document, settled: self.settled(record) };
        runs.iter().map(run).collect()
    }

    /// Returns, for the whole run and then for each window, when the last of the observed goodputs settled.
    fn settled(&self, run: &Record) -> Vec<Option<SettleTime>> {
        let last = |a: SettleTime, b: SettleTime| SettleTime { s: a.s.max(b.s), never: a.never || b.never };
        let of_part = |part: usize| {
            let of_part = self.parts.iter().zip(&*self.probes).filter(|(about, _)| **about == part);
            of_part
                .map(|(_, probe)| settle_time(run.probe(probe)))
                .collect::<Option<Vec<SettleTime>>>()?
                .into_iter()
                .reduce(last)
        };
        (0..=run.document.windows.len()).map(of_part).collect()
    }
}
