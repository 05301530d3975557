//! Comparison of several scenarios: each at every point of its axes, and all of them in one summary.

use std::sync::Arc;

use weir_core::units::Span;
use weir_experiment::{Experiment, Probe, scheme_for};
use weir_measure::ProbeValue;
use weir_results::{
    LeftOutRow, SettleTime, SummaryContext, SummaryDocument, SummaryPoint, SummaryRun, SummaryScenario, named,
};
use weir_scenario::{Axis, Flow, FlowId, Metric, Scenario, Select};
use weir_sim::World;

use crate::compare::{Planned, Point, Request};
use crate::kept_runs::{Kept, KeptRuns};
use crate::out::Out;
use crate::propagation::round_trips_ms;
use crate::{Failure, load, papers, provenance};

/// The scenarios.
pub struct ComparedScenarios(Vec<ComparedScenario>);

/// One of them.
struct ComparedScenario {
    /// Those that are swept.
    axes: Vec<Axis>,
    points: Vec<ComparedPoint>,
}

/// One of its points.
struct ComparedPoint {
    /// What picks it.
    axes: Vec<String>,
    /// Its folder in that of the results.
    folder: String,
    point: Point,
    /// The part of the run that each of the point's probes is about: 0 for the whole run, or from 1 on a window.
    parts: Vec<usize>,
    /// The schemes that can run there, and those that cannot.
    schemes: Vec<String>,
    left_out: Vec<LeftOutRow>,
}

impl ComparedScenarios {
    /// Those of these names.
    ///
    /// # Errors
    /// The first that is wrong, that none of the schemes can run any of them, or a setting of a scheme that does not run.
    pub fn load(request: &Request<'_>, names: &[String]) -> Result<ComparedScenarios, Failure> {
        let of =
            |name: &String| ComparedScenario::load(request, name).map_err(|error| in_scenario(name, &error));
        let all = names.iter().map(of);
        let all = ComparedScenarios(all.collect::<Result<_, _>>()?);
        let can_run = all.points().any(|compared| !compared.schemes.is_empty());
        let why = all.points().flat_map(|compared| &compared.left_out).next().map(|row| &row.why);
        if let (false, Some(why)) = (can_run, why) {
            return Err(format!("no scheme can run any of these scenarios: {why}").into());
        }
        request.refuse_idle(all.points().map(|compared| &*compared.point.scenario))?;
        Ok(all)
    }

    /// Runs all of them. What is written of each point goes into a folder of its own.
    pub fn summary(&self, request: &Request<'_>, out: &Out) -> Result<SummaryDocument, Failure> {
        let runs = KeptRuns::new(out.dir());
        let planned: Vec<Planned<'_>> = self.0.iter().flat_map(|one| one.planned(request)).collect();
        request.simulate(&planned, &runs, out)?;
        let scenarios = self.0.iter().map(|experiment| experiment.row(request, &runs, out));
        Ok(SummaryDocument {
            schema: SummaryDocument::SCHEMA,
            command: request.command(),
            version: provenance::VERSION.to_owned(),
            seeds: request.seeds.clone(),
            schemes: request.schemes.clone(),
            scenarios: scenarios.collect::<Result<_, _>>()?,
        })
    }

    fn points(&self) -> impl Iterator<Item = &ComparedPoint> {
        self.0.iter().flat_map(|experiment| &experiment.points)
    }
}

impl ComparedScenario {
    fn load(request: &Request<'_>, name: &str) -> Result<ComparedScenario, Failure> {
        let mut axes = load::scenario(name, request.set())?.axes;
        // Who sets an axis has picked its point.
        let is_set = |axis: &Axis| {
            let key = format!("axis.{}=", axis.name);
            request.set().iter().any(|set| set.replace(' ', "").starts_with(&key))
        };
        axes.retain(|axis| !is_set(axis));
        let points = papers::points(&axes).into_iter().map(|axes| ComparedPoint::load(request, name, axes));
        Ok(ComparedScenario { axes, points: points.collect::<Result<_, _>>()? })
    }

    /// All of its runs, each once.
    fn planned<'a>(&'a self, request: &'a Request<'_>) -> impl Iterator<Item = Planned<'a>> {
        let own = move |(at, compared): (usize, &'a ComparedPoint)| {
            let is_run = move |scheme: &&String| self.runs_at(at, scheme) == at;
            compared.schemes.iter().filter(is_run).flat_map(move |scheme| compared.planned(request, scheme))
        };
        self.points.iter().enumerate().flat_map(own)
    }

    /// The point whose runs of a scheme are those at this one: where an axis sets nothing but parameters of schemes that
    /// do not run then, its first value.
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
            let measures_the_same = other.point.probes_in_words().eq(point.point.probes_in_words());
            other.axes == first && other.schemes.iter().any(|one| one == scheme) && measures_the_same
        };
        self.points.iter().position(is_there).unwrap_or(at)
    }

    /// The variants of a scheme's parameters, each once, in the order of the points; `None` if no point names one.
    fn variants(&self, scheme: &str) -> Option<Vec<String>> {
        let scenarios = || self.points.iter().map(|compared| &*compared.point.scenario);
        scenarios().find_map(|scenario| scenario.variant_of(scheme))?;
        let mut variants: Vec<String> = Vec::new();
        for resolved in scenarios().filter_map(|scenario| scheme_for(scenario, scheme).ok()) {
            let of = resolved.params.iter().find(|(key, _)| *key == "variant");
            let new = of.map(|(_, name)| name.text().to_owned()).filter(|name| !variants.contains(name));
            variants.extend(new);
        }
        Some(variants)
    }

    fn row(&self, request: &Request<'_>, runs: &KeptRuns, out: &Out) -> Result<SummaryScenario, Failure> {
        let points = (0..self.points.len()).map(|at| self.point_row(at, request, runs, out));
        let points = points.collect::<Result<_, _>>()?;
        let Scenario { name, title, source, flows, .. } = &*self.points[0].point.scenario;
        let mut others: Vec<String> = flows.iter().filter_map(|flow| flow.scheme.clone()).collect();
        others.sort_unstable();
        others.dedup();
        let with_variant =
            |scheme: &String| self.variants(scheme).map(|all| named(scheme, Some(&all.join(", "))));
        let variants = request.schemes.iter().filter_map(with_variant).collect();
        let mut row = SummaryScenario {
            scenario: name.clone(),
            title: title.clone(),
            source: source.clone(),
            others,
            variants,
            page: out.dir().map(|_| format!("scenario-{}.html", papers::folder(name, &[]))),
            matrix: Vec::new(),
            points,
        };
        row.fill_matrix(&request.schemes);
        Ok(row)
    }

    /// What was measured at a point; the page with all of its tables goes into its folder.
    fn point_row(
        &self,
        at: usize,
        request: &Request<'_>,
        runs: &KeptRuns,
        out: &Out,
    ) -> Result<SummaryPoint, Failure> {
        let compared = &self.points[at];
        let kept = |scheme: &String| {
            let from = &self.points[self.runs_at(at, scheme)];
            request.kept(runs, &from.point, &from.folder, scheme, out)
        };
        let mut kept: Vec<Vec<Kept>> = compared.schemes.iter().map(kept).collect::<Result<_, _>>()?;
        kept.iter_mut().flatten().for_each(|run| compared.point.add_optimum(&mut run.document));
        let mut row = compared.figures(&kept);
        let dir = out.dir().map(|dir| dir.join(&compared.folder));
        let report = |scheme: &str| {
            let from = self.runs_at(at, scheme);
            (from != at).then(|| format!("../{}/{scheme}/report.html", self.points[from].folder))
        };
        request.comparison(&compared.point, kept, out, dir.as_deref(), report);
        row.set = compared.axes.clone();
        row.left_out = compared.left_out.clone();
        row.page =
            dir.filter(|_| !compared.schemes.is_empty()).map(|_| format!("{}/compare.html", compared.folder));
        Ok(row)
    }
}

/// An error that names the scenario: one of `--set` does not.
fn in_scenario(name: &str, error: &Failure) -> Failure {
    let said = error.to_string();
    if said.contains(name) { said.into() } else { format!("{name}: {said}").into() }
}

/// Whether an axis sets nothing but parameters of schemes that do not run where this one does.
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
    fn load(request: &Request<'_>, name: &str, axes: Vec<String>) -> Result<ComparedPoint, Failure> {
        let mut point = request.point(name, &axes)?;
        let (mut schemes, mut left_out) = (Vec::new(), Vec::new());
        for scheme in &request.schemes {
            let setup = request.setup(scheme, request.seeds[0], false);
            let experiment = Experiment::new(Arc::clone(&point.scenario), &setup);
            match experiment.and_then(|experiment| World::build(experiment).map(drop)) {
                Ok(()) => schemes.push(scheme.clone()),
                Err(error) => {
                    let why = error.to_string().lines().next().unwrap_or_default().to_owned();
                    left_out.push(LeftOutRow { scheme: scheme.clone(), why });
                }
            }
        }
        let parts;
        (point.probes, parts) = when_settled(&point.scenario, &request.parts(&point.scenario));
        let folder = papers::folder(&point.scenario.name, &axes);
        Ok(ComparedPoint { axes, folder, point, parts, schemes, left_out })
    }

    /// The runs of a scheme here.
    fn planned<'a>(&'a self, request: &'a Request<'_>, scheme: &'a str) -> impl Iterator<Item = Planned<'a>> {
        request.planned(&self.point, &self.folder, scheme)
    }

    fn figures(&self, runs: &[Vec<Kept>]) -> SummaryPoint {
        let has_own_scheme = |flow: &Flow| flow.scheme.is_some();
        let context = SummaryContext {
            has_own_scheme: self.point.scenario.flows.iter().map(has_own_scheme).collect(),
            limits: self.point.optimum.as_ref().map(|optimum| optimum.limits()).unwrap_or_default(),
            round_trip_ms: round_trips_ms(&self.point.scenario),
            payload_bytes: self
                .point
                .scenario
                .flows
                .iter()
                .map(|flow| flow.payload.as_u64() as f64)
                .collect(),
            asks_when_settled: !self.parts.is_empty(),
        };
        let schemes: Vec<Vec<SummaryRun<'_>>> = runs.iter().map(|runs| self.with_settled(runs)).collect();
        SummaryPoint::of(&context, &schemes)
    }

    fn with_settled<'k>(&self, runs: &'k [Kept]) -> Vec<SummaryRun<'k>> {
        let run = |kept: &'k Kept| SummaryRun { document: &kept.document, settled: self.settled(kept) };
        runs.iter().map(run).collect()
    }

    /// For the whole run and then for each window when the last goodput that was asked for had settled.
    fn settled(&self, run: &Kept) -> Vec<Option<SettleTime>> {
        let last = |a: SettleTime, b: SettleTime| SettleTime { s: a.s.max(b.s), never: a.never || b.never };
        let of_part = |part: usize| {
            let times = self.parts.iter().zip(&run.probes).filter(|(about, _)| **about == part);
            times
                .map(|(_, time)| settle_time(time))
                .collect::<Option<Vec<SettleTime>>>()?
                .into_iter()
                .reduce(last)
        };
        (0..=run.document.windows.len()).map(of_part).collect()
    }
}

/// A measured time to settle; `None` where nothing came.
fn settle_time(probe: &ProbeValue) -> Option<SettleTime> {
    Some(SettleTime { s: probe.value?, never: probe.never })
}

/// When goodputs settle, for every scheme alike: those that the scenario states something about for some scheme, each in the
/// last part of the run that ends with it; or, where it states nothing, those of all groups of flows. Also the parts.
fn when_settled(scenario: &Scenario, parts: &[(Span, Span)]) -> (Vec<Probe>, Vec<usize>) {
    let stated = scenario.expectations.iter().filter(|one| one.metric == Metric::Settle);
    let mut wanted: Vec<Probe> = stated.map(Probe::from).collect();
    if wanted.is_empty() {
        wanted = of_groups(scenario, parts.last().copied().unwrap_or_default());
    }
    let (mut probes, mut about): (Vec<Probe>, Vec<usize>) = Default::default();
    for probe in wanted {
        let is_same = |other: &Probe| (other.window, &other.select) == (probe.window, &probe.select);
        let part = parts.iter().rposition(|part| part.1 == probe.window.1);
        if let (Some(part), false) = (part, probes.iter().any(is_same)) {
            probes.push(probe);
            about.push(part);
        }
    }
    (probes, about)
}

/// When the goodput of each group settles after the last change before the end of a part of the run: of the groups whose flows
/// all go on until then and fetch no amount.
fn of_groups(scenario: &Scenario, (_, end): (Span, Span)) -> Vec<Probe> {
    let starts_and_stops = scenario.flows.iter().flat_map(|flow| [Some(flow.start), flow.stop]).flatten();
    let changes = starts_and_stops.chain(scenario.events.iter().map(|event| event.at));
    let begin = changes.filter(|at| *at < end).max().unwrap_or(Span::ZERO);
    let goes_on =
        |flow: &Flow| flow.start < end && flow.stop.is_none_or(|stop| stop >= end) && flow.amount.is_none();
    let mut groups: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    groups.dedup();
    let of_group = |group: &str| {
        let of = || scenario.flows.iter().enumerate().filter(|(_, flow)| flow.name == group);
        of().all(|(_, flow)| goes_on(flow)).then(|| Probe {
            label: format!("time to settle of group {group}"),
            metric: Metric::Settle,
            window: (begin, end),
            select: Select {
                flow: Some(group.to_owned()),
                flows: of().map(|(at, _)| FlowId(at)).collect(),
                ..Select::default()
            },
        })
    };
    groups.into_iter().filter_map(of_group).collect()
}
