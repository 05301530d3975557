//! Pages over runs that never were: variations of one.

use super::results::{
    CaseOptimumRow, CaseRow, ExperimentRow, OtherSchemeRow, ReproductionDocument, StatementRow, TheoryRow,
    WindowDistanceRow,
};
use super::results::{
    LeftOutRow, SummaryContext, SummaryDocument, SummaryPoint, SummaryRun, SummaryScenario,
};
use weir_measure::{DistanceRow, ExpectationRow, Relation, Report, RunDocument};

/// Two schemes with three seeds each, the second scheme with less goodput and more losses.
pub fn runs(report: &Report) -> Vec<Vec<RunDocument>> {
    let of_scheme = |scheme: &str, part: f64, lost: u64| {
        let run = |seed: u64| varied(report, scheme, seed, part * (1.0 + 0.01 * seed as f64), lost * seed);
        (1..=3).map(run).collect()
    };
    vec![of_scheme("qsccp", 0.98, 0), of_scheme("fixed", 0.5, 100)]
}

/// The run under another name, with so much of its goodput and more losses.
fn varied(report: &Report, scheme: &str, seed: u64, part: f64, lost: u64) -> RunDocument {
    let mut run = RunDocument { scheme: scheme.to_owned(), seed, ..report.document.clone() };
    let classes = run.classes.iter_mut().map(|row| &mut row.figures);
    let groups = run.groups.iter_mut().map(|row| &mut row.figures);
    let of_windows = run.windows.iter_mut().flat_map(|window| {
        let classes = window.classes.iter_mut().map(|row| &mut row.figures);
        classes.chain(window.groups.iter_mut().map(|row| &mut row.figures))
    });
    for figures in classes.chain(groups).chain(of_windows) {
        figures.goodput_bps *= part;
        figures.delay_ms.mean = figures.delay_ms.mean.map(|mean| mean * (0.5 + part * part));
        figures.lost += lost;
    }
    for row in &mut run.expectations {
        row.measured = row.measured.map(|value| value * part);
        let Some(stated) = row.stated else { continue };
        let apart = row.measured.unwrap_or(f64::NAN) - stated;
        row.holds = Some(match row.bound {
            Relation::AtMost | Relation::LessThan => apart <= 0.0,
            Relation::AtLeast | Relation::MoreThan => apart >= 0.0,
            Relation::About => apart.abs() <= row.tolerance * stated.abs(),
        });
    }
    run
}

/// The same seeds of the second scheme, where the first one is compared with it.
fn of_second(report: &Report, at: usize) -> OtherSchemeRow {
    let runs = &runs(report)[1];
    OtherSchemeRow::of(&runs[0].scheme, runs.iter().map(|run| run.expectations[at].measured).collect())
}

/// Scenarios of two papers, the first at two points of an axis; one scheme cannot run the last.
pub fn comparison(report: &Report) -> SummaryDocument {
    let mut runs = runs(report);
    for run in &mut runs[1] {
        for flow in run.windows.iter_mut().flat_map(|window| &mut window.flows).chain(&mut run.flows) {
            flow.goodput_bps *= 0.5 + 0.01 * run.seed as f64;
            flow.lost += 1000 + run.seed;
        }
    }
    let schemes: Vec<String> = runs.iter().map(|runs| runs[0].scheme.clone()).collect();
    let flows = report.document.flows.len();
    let context = SummaryContext {
        round_trip_ms: vec![Some(80.0); flows],
        payload_bytes: vec![1000.0; flows],
        ..SummaryContext::default()
    };
    let point = |set: &[&str], count: usize| {
        let of = |document| SummaryRun { document, settled: Vec::new() };
        let runs: Vec<Vec<SummaryRun<'_>>> =
            runs.iter().take(count).map(|runs| runs.iter().map(of).collect()).collect();
        let why = "it knows no loss".to_owned();
        SummaryPoint {
            set: set.iter().map(|set| (*set).to_owned()).collect(),
            left_out: schemes
                .iter()
                .skip(count)
                .map(|scheme| LeftOutRow { scheme: scheme.clone(), why: why.clone() })
                .collect(),
            ..SummaryPoint::of(&context, &runs)
        }
    };
    let scenario = |name: &str, points| {
        let mut scenario = SummaryScenario {
            scenario: name.to_owned(),
            title: report.title.clone(),
            page: Some(format!("scenario-{}.html", name.replace('/', "-"))),
            points,
            ..SummaryScenario::default()
        };
        scenario.fill_matrix(&schemes);
        scenario
    };
    SummaryDocument {
        schema: SummaryDocument::SCHEMA,
        command: "weir compare --all --seeds 3".to_owned(),
        version: "1.2.3".to_owned(),
        seeds: runs[0].iter().map(|run| run.seed).collect(),
        scenarios: vec![
            scenario("one/swept", vec![point(&["axis.rate=10 Mb/s"], 2), point(&["axis.rate=20 Mb/s"], 2)]),
            scenario("one/single", vec![point(&[], 2)]),
            scenario("two/lossy", vec![point(&[], 1)]),
        ],
        without_classes: vec!["fixed".to_owned()],
        schemes: schemes.clone(),
    }
}

/// Two experiments: one at two points of an axis, one without axes.
pub fn reproduction(report: &Report) -> ReproductionDocument {
    let runs = runs(report).swap_remove(0);
    let case = |set: &[&str]| CaseRow {
        lab: false,
        doubts: Vec::new(),
        distinct: runs.len() as u64,
        fitted: Vec::new(),
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        scheme: runs[0].scheme.clone(),
        report: Some("report.html".to_owned()),
        statements: (0..runs[0].expectations.len()).map(|at| statement(report, &runs, at)).collect(),
        optimum: Some(optimum(&runs)),
    };
    let experiment = |scenario: &str, cases| ExperimentRow {
        scenario: scenario.to_owned(),
        title: report.title.clone(),
        source: report.source.clone(),
        cases,
    };
    let swept = vec![case(&["axis.rate=10 Mb/s"]), case(&["axis.rate=20 Mb/s"])];
    let experiments = vec![experiment("sample/swept", swept), experiment("sample/single", vec![case(&[])])];
    let seeds = runs.iter().map(|run| run.seed).collect();
    ReproductionDocument { seeds, experiments, ..ReproductionDocument::default() }
}

/// Each run is two per cent nearer than the one before.
fn optimum(runs: &[RunDocument]) -> CaseOptimumRow {
    let distance = |run: &RunDocument| {
        let mean = 0.1 - 0.02 * run.seed as f64;
        let largest = Some(2.0 * mean);
        let (lowest, highest) = (largest.map(|far| -far), Some(mean));
        DistanceRow { mean: Some(mean), largest, lowest, highest, within_5_percent: Some(0.5) }
    };
    let distances: Vec<DistanceRow> = runs.iter().map(distance).collect();
    let windows = runs[0].windows.iter();
    CaseOptimumRow {
        objective: "link-fair".to_owned(),
        utilisation: 0.99,
        windows: windows
            .map(|window| WindowDistanceRow::of((window.from_s, window.to_s), &distances))
            .collect(),
        note: String::new(),
    }
}

fn statement(report: &Report, runs: &[RunDocument], at: usize) -> StatementRow {
    let rows: Vec<&ExpectationRow> = runs.iter().map(|run| &run.expectations[at]).collect();
    let Some(stated) = rows[0].stated else {
        return StatementRow::of(&rows, vec![of_second(report, at)], Vec::new(), None);
    };
    let theory =
        TheoryRow { value: stated * 0.99, source: "theory: 99 %".to_owned(), ..TheoryRow::default() };
    let is_rate = rows[0].unit == "bit/s";
    let optimum = is_rate.then_some(stated * 0.98);
    StatementRow::of(&rows, Vec::new(), if is_rate { vec![theory] } else { Vec::new() }, optimum)
}
