//! The plots of a comparison's page: the time series of each scheme's run with the first seed.
//!
//! Of many flows the page has those that tell most in the first scheme's run, the same for all schemes.

use crate::html::{Steps, Thinning, Traffic, VALUES, flow_orders, most_telling, script_data};
use serde::Serialize;
use weir_measure::Report;

/// What the page knows; `web/src/compare.ts` has the same shape.
#[derive(Serialize)]
struct Page<'a> {
    time: Steps,
    seed: u64,
    schemes: Vec<String>,
    /// Classes, then flows.
    rows: Vec<Row<'a>>,
    /// For each scheme, beside the rows.
    series: Vec<Vec<Traffic>>,
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

/// The page's data as JSON that may stand between script tags; none where nothing was measured over time.
/// The reports are of one scenario, so their rows have one order.
pub(crate) fn data(reports: &[Report]) -> Option<String> {
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
    Some(script_data(&Page {
        time: thin.steps(first.series.step_s),
        seed: document.seed,
        schemes: reports.iter().map(|report| report.document.contestant()).collect(),
        rows: classes.clone().map(class).chain(flows.iter().map(flow)).collect(),
        series: reports.iter().map(series).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use crate::sample;

    #[test]
    fn each_scheme_has_a_line_for_each_row() {
        let reports = ["one", "</script>"].map(|scheme| {
            let mut report = sample::dumbbell(4, 30);
            report.document.scheme = scheme.to_owned();
            report
        });
        let text = super::data(&reports).expect("series");
        assert!(!text.contains('<'));
        let page: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let rows = page["rows"].as_array().expect("rows").len();
        assert_eq!(rows, reports[0].document.classes.len() + reports[0].document.flows.len());
        assert_eq!(page["schemes"][1], "</script>");
        for scheme in page["series"].as_array().expect("series") {
            assert_eq!(scheme.as_array().expect("lines").len(), rows);
        }
    }

    #[test]
    fn without_series_there_is_nothing_to_plot() {
        let mut report = sample::dumbbell(4, 30);
        report.series = weir_measure::Series::default();
        assert_eq!(super::data(&[report]), None);
        assert_eq!(super::data(&[]), None);
    }
}
