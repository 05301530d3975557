//! Several scenarios compared: each at every point of its axes, and all of them in one summary.

use weir_core::units::Span;
use weir_experiment::Experiment;
use weir_results::{
    LeftOutRow, SummaryContext, SummaryDocument, SummaryPoint, SummaryRun, SummaryScenario, named,
};
use weir_scenario::{Axis, Expectation, Flow, Metric, Scenario};
use weir_sim::World;

use crate::batch::Shown;
use crate::compare::{Kept, Point, Request};
use crate::out::Out;
use crate::{Failure, load, papers, provenance};

/// The scenarios.
pub struct ComparedScenarios(Vec<ComparedScenario>);

/// One of them.
struct ComparedScenario {
    points: Vec<ComparedPoint>,
}

/// One of its points.
struct ComparedPoint {
    /// What picks it.
    axes: Vec<String>,
    point: Point,
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
        let all = names.iter().map(|name| ComparedScenario::load(request, name));
        let all = ComparedScenarios(all.collect::<Result<_, _>>()?);
        let can_run = all.points().any(|compared| !compared.schemes.is_empty());
        let why = all.points().flat_map(|compared| &compared.left_out).next().map(|row| &row.why);
        if let (false, Some(why)) = (can_run, why) {
            return Err(format!("no scheme can run any of these scenarios: {why}").into());
        }
        request.refuse_idle(all.points().map(|compared| &compared.point.scenario))?;
        Ok(all)
    }

    /// Runs all of them. What is written of each point goes into a folder of its own.
    pub fn summary(&self, request: &Request<'_>, out: &Out) -> Result<SummaryDocument, Failure> {
        let of_point = |compared: &ComparedPoint| {
            let runs = compared.schemes.len() * request.seeds.len();
            std::iter::repeat_n(compared.point.scenario.duration, runs)
        };
        let simulated: Vec<Span> = self.points().flat_map(of_point).collect();
        let shown = Shown::new(simulated.len(), simulated.into_iter());
        let scenarios = self.0.iter().map(|experiment| experiment.row(request, &shown, out));
        Ok(SummaryDocument {
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
        Ok(ComparedScenario { points: points.collect::<Result<_, _>>()? })
    }

    fn row(&self, request: &Request<'_>, shown: &Shown, out: &Out) -> Result<SummaryScenario, Failure> {
        let points = self.points.iter().map(|compared| compared.row(request, shown, out));
        let points = points.collect::<Result<_, _>>()?;
        let Scenario { name, title, source, flows, .. } = &self.points[0].point.scenario;
        let mut others: Vec<String> = flows.iter().filter_map(|flow| flow.scheme.clone()).collect();
        others.sort_unstable();
        others.dedup();
        let scenario = &self.points[0].point.scenario;
        let with_variant = |scheme: &String| Some(named(scheme, Some(scenario.variant_of(scheme)?)));
        let variants = request.schemes.iter().filter_map(with_variant).collect();
        Ok(SummaryScenario {
            scenario: name.clone(),
            title: title.clone(),
            source: source.clone(),
            others,
            variants,
            points,
        })
    }
}

impl ComparedPoint {
    fn load(request: &Request<'_>, name: &str, axes: Vec<String>) -> Result<ComparedPoint, Failure> {
        let mut point = request.point(name, &axes)?;
        let (mut schemes, mut left_out) = (Vec::new(), Vec::new());
        for scheme in &request.schemes {
            let setup = request.setup(scheme, request.seeds[0], false);
            let experiment = Experiment::new(&point.scenario, &setup);
            match experiment.and_then(|experiment| World::build(&experiment).map(drop)) {
                Ok(()) => schemes.push(scheme.clone()),
                Err(error) => {
                    let why = error.to_string().lines().next().unwrap_or_default().to_owned();
                    left_out.push(LeftOutRow { scheme: scheme.clone(), why });
                }
            }
        }
        let parts = request.parts(&point.scenario);
        ask_when_settled(&mut point, &parts);
        Ok(ComparedPoint { axes, point, schemes, left_out })
    }

    /// Its runs; the page with all of their tables, and their reports, go into its folder.
    fn row(&self, request: &Request<'_>, shown: &Shown, out: &Out) -> Result<SummaryPoint, Failure> {
        let folder = papers::folder(&self.point.scenario.name, &self.axes);
        let dir = out.dir().map(|dir| dir.join(&folder));
        let runs = request.simulate(&self.point, &self.schemes, shown, out, dir.as_deref())?;
        let mut row = self.figures(&runs);
        request.comparison(&self.point, runs, out, dir.as_deref());
        row.set = self.axes.clone();
        row.left_out = self.left_out.clone();
        row.page = dir.filter(|_| !self.schemes.is_empty()).map(|_| format!("{folder}/compare.html"));
        Ok(row)
    }

    fn figures(&self, runs: &[Vec<Kept>]) -> SummaryPoint {
        let has_own_scheme = |flow: &Flow| flow.scheme.is_some();
        let context = SummaryContext {
            has_own_scheme: self.point.scenario.flows.iter().map(has_own_scheme).collect(),
            limits: self.point.optimum.as_ref().map(|optimum| optimum.limits()).unwrap_or_default(),
        };
        let schemes: Vec<Vec<SummaryRun<'_>>> = runs.iter().map(|runs| self.with_settled(runs)).collect();
        SummaryPoint::of(&context, &schemes)
    }

    fn with_settled<'k>(&self, runs: &'k [Kept]) -> Vec<SummaryRun<'k>> {
        let run = |kept: &'k Kept| SummaryRun { document: &kept.document, settle_s: self.settled(kept) };
        runs.iter().map(run).collect()
    }

    /// For the whole run and then for each window when the last goodput that was asked for had settled.
    fn settled(&self, run: &Kept) -> Vec<Option<f64>> {
        let of_part = |part: usize| {
            let times = self.point.asked.iter().zip(&run.asked).filter(|(about, _)| **about == part);
            times.map(|(_, time)| *time).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
        };
        (0..=run.document.windows.len()).map(of_part).collect()
    }
}

/// Has every scheme asked when goodputs settle, where the scenario asks it of some scheme: each time in the last part
/// of the run that ends with it.
fn ask_when_settled(point: &mut Point, parts: &[(Span, Span)]) {
    let mut asked: Vec<Expectation> = Vec::new();
    let is_same = |a: &Expectation, b: &Expectation| (a.window, &a.select) == (b.window, &b.select);
    for expectation in point.scenario.expectations.iter().filter(|one| one.metric == Metric::Settle) {
        let is_known = asked.iter().any(|one| is_same(one, expectation));
        let part = parts.iter().rposition(|part| part.1 == expectation.window.1);
        if let (Some(part), false) = (part, is_known) {
            asked.push(Expectation { scheme: "*".to_owned(), ..expectation.clone() });
            point.asked.push(part);
        }
    }
    point.scenario.expectations.extend(asked);
}
