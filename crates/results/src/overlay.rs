//! The plots of a comparison's page: the figures and the distributions of all seeds, and of each scheme's run with the first seed
//! its time series.
//!
//! Of many flows the page has those that tell most in the first scheme's run, the same for all schemes.

use crate::contest::{self, PeriodData};
use crate::html::{
    Curves, Steps, Thinning, Traffic, VALUES, curves_of, flow_orders, most_telling, script_data,
};
use crate::model::{ComparedScheme, ComparisonDocument};
use crate::plot::numbers_of_styles;
use serde::Serialize;
use weir_measure::{DistributionRow, Report};

/// What the page knows; `web/src/compare.ts` has the same shape.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    scenario: &'a str,
    seeds: &'a [u64],
    schemes: Vec<String>,
    /// For each scheme the number of its style in figures.
    styles: Vec<u32>,
    /// The part of the runs that is shown first.
    first: usize,
    periods: Vec<PeriodData>,
    /// One for each quantity and class, or link, that is measured; a curve for each scheme.
    distributions: Vec<Curves<'a>>,
    series: Option<SeriesData<'a>>,
}

/// The time series.
#[derive(Serialize)]
struct SeriesData<'a> {
    time: Steps,
    seed: u64,
    /// Classes, then flows.
    rows: Vec<Row<'a>>,
    /// For each scheme, beside the rows.
    of: Vec<Vec<Traffic>>,
}

/// What a line is about.
#[derive(Serialize)]
struct Row<'a> {
    name: String,
    class: &'a str,
    is_flow: bool,
    /// The largest mean of all schemes, bit/s.
    goodput_bps: f64,
}

/// The page's data as JSON that may stand between script tags. The reports are of one scenario, so their rows have one
/// order. Their distributions are those of all seeds.
pub(crate) fn data(document: &ComparisonDocument, reports: &[Report]) -> String {
    script_data(&Page {
        title: &document.title,
        scenario: &document.scenario,
        seeds: &document.seeds,
        schemes: document.schemes.iter().map(ComparedScheme::name).collect(),
        styles: numbers_of_styles(document.schemes.iter().map(|one| one.scheme.as_str()), &document.styles),
        first: document.first_period(),
        periods: contest::data(document),
        distributions: if reports.len() == document.schemes.len() {
            distributions(reports)
        } else {
            Vec::new()
        },
        series: series(reports),
    })
}

/// Of each quantity that all runs measured of the same class or links.
fn distributions(reports: &[Report]) -> Vec<Curves<'_>> {
    let Some(first) = reports.first() else { return Vec::new() };
    let of_row = |row: &DistributionRow| {
        let key = (&row.what, &row.kind, &row.of);
        let is_same = |other: &&DistributionRow| (&other.what, &other.kind, &other.of) == key;
        let rows: Option<Vec<&DistributionRow>> =
            reports.iter().map(|report| report.document.distributions.iter().find(is_same)).collect();
        rows.map(|rows| (rows[0], rows))
    };
    let rows = first.document.distributions.iter().filter_map(of_row).take(MOST_DISTRIBUTIONS);
    rows.map(|(row, rows)| curves_of(&row.what, &rows)).collect()
}

/// Distributions in a page at most: a network may have many links.
const MOST_DISTRIBUTIONS: usize = 40;

/// The time series; none where nothing was measured over time.
fn series(reports: &[Report]) -> Option<SeriesData<'_>> {
    let first = reports.first().filter(|report| report.series.samples > 0)?;
    let document = &first.document;
    let thin = Thinning::of(&first.series);
    let most = VALUES / (thin.points().max(1) * reports.len());
    let recorded = first.series.flows.len().min(document.flows.len());
    let mut flows = most_telling(document.flows.len(), most, &flow_orders(document));
    flows.retain(|&flow| flow < recorded);
    let best = |of: &dyn Fn(&Report) -> Option<f64>| reports.iter().filter_map(of).fold(0.0, f64::max);
    let class = |at: usize| Row {
        name: document.classes[at].class.clone(),
        class: &document.classes[at].class,
        is_flow: false,
        goodput_bps: best(&|report| Some(report.document.classes.get(at)?.figures.goodput_bps)),
    };
    let flow = |&at: &usize| Row {
        name: format!("{} {}", document.flows[at].consumer, document.flows[at].prefix),
        class: &document.flows[at].class,
        is_flow: true,
        goodput_bps: best(&|report| Some(report.document.flows.get(at)?.goodput_bps)),
    };
    let classes = 0..first.series.classes.len().min(document.classes.len());
    let series = |report: &Report| {
        let of_classes = classes.clone().filter_map(|at| report.series.classes.get(at));
        let of_classes = of_classes.map(|class| {
            thin.traffic(&class.goodput_bps, &class.delay_ms, &class.lost, &class.retransmitted)
        });
        let of_flows = flows.iter().filter_map(|&at| report.series.flows.get(at));
        let of_flows = of_flows
            .map(|flow| thin.traffic(&flow.goodput_bps, &flow.delay_ms, &flow.lost, &flow.retransmitted));
        of_classes.chain(of_flows).collect()
    };
    Some(SeriesData {
        time: thin.steps(first.series.step_s),
        seed: document.seed,
        rows: classes.clone().map(class).chain(flows.iter().map(flow)).collect(),
        of: reports.iter().map(series).collect(),
    })
}

#[cfg(test)]
mod tests {
    use crate::{ComparisonDocument, sample, samples};

    #[test]
    fn each_scheme_has_a_line_for_each_row_and_its_values_with_each_seed() {
        let names = ["one", "</script>"];
        let reports = names.map(|scheme| {
            let mut report = sample::dumbbell(4, 30);
            report.document.scheme = scheme.to_owned();
            report
        });
        let mut runs = samples::runs(&reports[0]);
        runs.iter_mut().zip(names).for_each(|(runs, name)| {
            runs.iter_mut().for_each(|run| run.scheme = name.to_owned());
        });
        let text = super::data(&ComparisonDocument::of("title", &runs), &reports);
        assert!(!text.contains('<'));
        let page: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let rows = page["series"]["rows"].as_array().expect("rows").len();
        assert_eq!(rows, reports[0].document.classes.len() + reports[0].document.flows.len());
        assert_eq!(page["schemes"][1], "</script>");
        for scheme in page["series"]["of"].as_array().expect("series") {
            assert_eq!(scheme.as_array().expect("lines").len(), rows);
        }
        let goodput = &page["periods"][0]["figures"][0];
        assert_eq!(goodput["key"], "goodput");
        assert_eq!(goodput["of"][1]["values"].as_array().expect("values").len(), 3);
        for curves in page["distributions"].as_array().expect("distributions") {
            assert_eq!(curves["curves"].as_array().expect("curves").len(), names.len());
        }
    }

    #[test]
    fn without_series_there_is_nothing_over_time() {
        let mut report = sample::dumbbell(4, 30);
        report.series = weir_measure::Series::default();
        let document = ComparisonDocument::of("", &samples::runs(&report));
        for reports in [&[report][..], &[]] {
            let page: serde_json::Value =
                serde_json::from_str(&super::data(&document, reports)).expect("JSON");
            assert!(page["series"].is_null());
        }
    }
}
