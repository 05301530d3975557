//! The report of a run as a page: one file with its script, its style and its data.
//!
//! The data are JSON without `<`, so no text can end the script element that contains it.
//! The script inserts text only as text.
//!
//! Series of more than [`POINTS`] steps are thinned for the page: that many steps in a row become
//! one. Rates, utilisations and queue lengths become means, counts become sums, delays become
//! means weighted by the rate they came with. The Parquet tables keep every step.
//!
//! A run may have more than a page can show. Above [`NODES`] the network is not drawn. Above
//! [`ROWS`] the tables, and above [`VALUES`] the plots, have only the most informative rows. The
//! page says what it leaves out; the other files have everything.

use crate::comparison::part;
use crate::format::{self, Quantity};
use crate::layout;
use crate::optimum;
use crate::page;
use crate::provenance;
use crate::thrown;
use crate::verdict::{Headline, headlines};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use weir_measure::{
    DistributionRow, ExpectationRow, FlowRow, LinkRow, NodeRow, OptimumRow, RunDocument, WindowRow,
};
use weir_measure::{Report, Series, Topology, TopologyLink};

/// Steps shown at most.
pub const POINTS: usize = 600;
/// Nodes drawn at most.
const NODES: usize = 500;
/// Rows of a table at most.
const ROWS: usize = 1000;
/// Windows with distributions at most.
const WINDOWS: usize = 3;
/// Steps shown of all flows, or of all links, at most.
pub(crate) const VALUES: usize = 120_000;

/// How far a run is that is on.
#[derive(Clone, Debug, Serialize)]
pub struct RunProgress {
    /// The time that the report is up to, s.
    pub now_s: f64,
    /// The time at which the run ends, s.
    pub until_s: f64,
    /// Whether the report is the last.
    pub is_over: bool,
    /// The path of the report file that there will be at the end.
    pub report: Option<String>,
}

/// The report page as HTML text.
pub fn report_html(report: &Report) -> String {
    html(report, None)
}

/// The report page of a run that is on, as HTML text. It asks for `data.json` beside it, which is [`live_data`].
pub fn live_html(report: &Report, progress: &RunProgress) -> String {
    html(report, Some(progress))
}

/// The data of the page of a run that is on, as JSON.
pub fn live_data(report: &Report, progress: &RunProgress) -> String {
    data(report, Some(progress))
}

fn html(report: &Report, progress: Option<&RunProgress>) -> String {
    let heading = if report.title.is_empty() { &report.document.scenario } else { &report.title };
    let bundle = if progress.is_some() { &page::LIVE } else { &page::REPORT };
    let body = format!(
        "<main id=\"report\"><noscript>This report is drawn by a script in this file, which your \
         browser does not run. The same figures are in run.json and the Parquet tables beside \
         it.</noscript></main>\n\
         <script type=\"application/json\" id=\"data\">{}</script>",
        data(report, progress)
    );
    page::html(&format!("{heading}: {}", report.document.scheme), bundle, &body)
}

/// What the page knows; `web/src/data.ts` has the same shape.
#[derive(Serialize)]
struct Page<'a> {
    version: &'a str,
    title: &'a str,
    source: &'a str,
    document: RunDocument,
    totals: Totals,
    verdicts: Vec<Verdict>,
    /// Of the whole run, then of each window.
    headlines: Vec<Headline>,
    time: Steps,
    /// Beside the rows of the document; null for those that are not plotted.
    flows: Vec<Option<FlowTraffic>>,
    classes: Vec<Traffic>,
    links: Vec<Option<Link>>,
    /// Of the whole run, then of each window: one for each measured quantity.
    distributions: Vec<Vec<Curves<'a>>>,
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge<'a>>,
    media: Vec<Medium<'a>>,
    provenance: Vec<(String, String)>,
    notes: Vec<String>,
    /// The progress of a run that goes on; left out of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a RunProgress>,
}

/// How many there are, of which the page may have only some.
#[derive(Serialize)]
struct Totals {
    nodes: usize,
    edges: usize,
    flows: usize,
    links: usize,
    /// Whether the series of each flow were recorded.
    by_flow: bool,
}

/// An expectation as text with units; the order is that of the document.
#[derive(Serialize)]
struct Verdict {
    /// Who states it.
    kind: String,
    stated: String,
    measured: String,
    tolerance: String,
}

#[derive(Serialize)]
pub(crate) struct Steps {
    /// Length of a step shown, s.
    step_s: f64,
    /// Steps shown.
    points: usize,
    /// Steps measured that make one shown.
    merged: usize,
}

#[derive(Serialize)]
pub(crate) struct Traffic {
    goodput_bps: Column,
    delay_ms: Column,
    lost: Column,
    retransmitted: Column,
}

/// A flow has what its flow control steers by besides.
#[derive(Serialize)]
struct FlowTraffic {
    #[serde(flatten)]
    traffic: Traffic,
    window: Column,
    rate_bps: Column,
    pending: Column,
    srtt_ms: Column,
}

#[derive(Serialize)]
struct Link {
    utilisation: Column,
    queue_packets: Column,
    queue_ms: Column,
    drops: Column,
}

/// Cumulative distributions of one quantity over the whole run.
#[derive(Serialize)]
pub(crate) struct Curves<'a> {
    what: &'a str,
    unit: &'a str,
    /// Values, in `unit`, common to all curves.
    at: Vec<f64>,
    curves: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    kind: &'a str,
    of: &'a str,
    count: u64,
    /// The part of the values up to each of `at`, 0 to 1.
    parts: Vec<f64>,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    role: &'static str,
    x: f64,
    y: f64,
}

#[derive(Serialize)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    rate_bps: f64,
    delay_ms: f64,
    /// The medium that it is on: its place among all.
    medium: Option<usize>,
}

/// A shared medium, drawn as one thing with its stations around it.
#[derive(Serialize)]
struct Medium<'a> {
    name: &'a str,
    stations: &'a [String],
    x: f64,
    y: f64,
}

/// A series: one number where it never changes (null for none), otherwise the base64 of its
/// little-endian 32-bit floats.
#[derive(Serialize)]
#[serde(untagged)]
enum Column {
    Constant(Option<f32>),
    Packed(String),
}

impl Column {
    fn of(values: &[f32]) -> Column {
        let first = values.first().copied().unwrap_or(f32::NAN);
        if values.iter().all(|x| x.to_bits() == first.to_bits() || (x.is_nan() && first.is_nan())) {
            return Column::Constant(first.is_finite().then_some(first));
        }
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Column::Packed(STANDARD.encode(bytes))
    }
}

/// How steps measured become steps shown.
pub(crate) struct Thinning {
    samples: usize,
    merged: usize,
}

impl Thinning {
    pub(crate) fn of(series: &Series) -> Thinning {
        Thinning { samples: series.samples, merged: series.samples.div_ceil(POINTS).max(1) }
    }

    pub(crate) fn points(&self) -> usize {
        self.samples.div_ceil(self.merged)
    }

    /// The length of a step shown, of steps measured of this length, s.
    pub(crate) fn step_s(&self, step_s: f64) -> f64 {
        step_s * self.merged as f64
    }

    /// Of steps measured of this length, s.
    pub(crate) fn steps(&self, step_s: f64) -> Steps {
        Steps { step_s: self.step_s(step_s), points: self.points(), merged: self.merged }
    }

    /// The columns of a class or a flow.
    pub(crate) fn traffic(
        &self,
        goodput: &[f32],
        delay: &[f32],
        lost: &[u32],
        retransmitted: &[u32],
    ) -> Traffic {
        Traffic {
            goodput_bps: self.means(goodput),
            delay_ms: self.weighted(delay, goodput),
            lost: self.sums(lost),
            retransmitted: self.sums(retransmitted),
        }
    }

    /// One value a step shown, from the range of steps measured that it stands for.
    fn values<T>(&self, value: impl Fn(std::ops::Range<usize>) -> T) -> Vec<T> {
        let steps = (0..self.points()).map(|k| k * self.merged..((k + 1) * self.merged).min(self.samples));
        steps.map(value).collect()
    }

    /// Means; a step that was not recorded is left out.
    fn means(&self, values: &[f32]) -> Column {
        Column::of(&self.mean_values(values))
    }

    pub(crate) fn mean_values(&self, values: &[f32]) -> Vec<f32> {
        self.values(|steps| {
            let recorded = steps.filter_map(|k| values.get(k)).filter(|x| x.is_finite());
            let (sum, n) = recorded.fold((0.0, 0.0), |(sum, n), x| (sum + f64::from(*x), n + 1.0));
            (sum / n) as f32
        })
    }

    /// Means weighted by `weights`, of the steps that have a value.
    fn weighted(&self, values: &[f32], weights: &[f32]) -> Column {
        Column::of(&self.weighted_values(values, weights))
    }

    pub(crate) fn weighted_values(&self, values: &[f32], weights: &[f32]) -> Vec<f32> {
        self.values(|steps| {
            let (mut sum, mut total) = (0.0, 0.0);
            for k in steps {
                if let Some(value) = values.get(k).filter(|x| x.is_finite()) {
                    let weight = f64::from(weights.get(k).copied().unwrap_or(1.0)).max(1e-3);
                    sum += f64::from(*value) * weight;
                    total += weight;
                }
            }
            (sum / total) as f32
        })
    }

    fn sums(&self, counts: &[u32]) -> Column {
        let sums = self.count_values(counts);
        Column::of(&sums.into_iter().map(|sum| f64::from(sum) as f32).collect::<Vec<f32>>())
    }

    pub(crate) fn count_values(&self, counts: &[u32]) -> Vec<u32> {
        self.values(|steps| steps.filter_map(|k| counts.get(k)).fold(0, |sum: u32, n| sum.saturating_add(*n)))
    }
}

/// Those of `n` things that tell most, in their order: the first of each of `orders` in turn.
pub(crate) fn most_telling(n: usize, most: usize, orders: &[Vec<usize>]) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let mut chosen = vec![false; n];
    let mut left = most;
    let longest = orders.iter().map(Vec::len).max().unwrap_or(0);
    for place in 0..longest {
        for order in orders {
            let Some(&i) = order.get(place) else { continue };
            if left > 0 && !chosen[i] {
                chosen[i] = true;
                left -= 1;
            }
        }
    }
    (0..n).filter(|&i| chosen[i]).collect()
}

/// The rows from the largest value down.
fn descending<Row>(rows: &[Row], value: impl Fn(&Row) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| value(&rows[b]).total_cmp(&value(&rows[a])));
    order
}

/// The fastest flows of each class, the slowest, and those with most loss. Where flows end, the fastest are
/// the first to: over a run, goodput says how much each fetched.
pub(crate) fn flow_orders(document: &RunDocument) -> Vec<Vec<usize>> {
    let flows = &document.flows;
    let ends = flows.iter().any(|row| row.completion_s.is_some());
    let fastest = descending(flows, |row| match row.completion_s {
        completion if ends => -completion.unwrap_or(f64::INFINITY),
        _ => row.goodput_bps,
    });
    let slowest = fastest.iter().rev().copied().collect();
    let of = |class: &str| fastest.iter().copied().filter(|&i| flows[i].class == class).collect();
    let mut orders: Vec<Vec<usize>> = document.classes.iter().map(|row| of(&row.class)).collect();
    orders.extend([slowest, descending(flows, |row| row.lost as f64)]);
    orders
}

/// The busiest links, those with most drops, and those with the longest waits.
fn link_orders(rows: &[LinkRow]) -> Vec<Vec<usize>> {
    vec![
        descending(rows, |row| row.utilisation),
        descending(rows, |row| (row.drops + row.lost + row.down) as f64),
        descending(rows, |row| row.queue_ms.p99.unwrap_or(0.0)),
    ]
}

/// The notes, and how far the run is from the optimum.
fn notes(report: &Report) -> Vec<String> {
    let document = &report.document;
    let sentences = |when: String, at: usize| -> Vec<String> {
        let Some(optimum) = part(document, at).and_then(|part| part.optimum) else { return Vec::new() };
        let target = optimum::target_sentence(optimum, &document.scheme);
        let all = [Some(optimum::sentence(optimum)), target].into_iter().flatten();
        all.map(|sentence| format!("{when}: {sentence}.")).collect()
    };
    let whole = sentences("Whole run".to_owned(), 0);
    let of_window =
        |(at, window): (usize, &WindowRow)| sentences(format::period(window.from_s, window.to_s), at + 1);
    let windows = document.windows.iter().enumerate().flat_map(of_window);
    let thrown_away = thrown::line(document);
    let slowdown = crate::table::slowdown(document);
    whole
        .into_iter()
        .chain(windows)
        .chain(slowdown)
        .chain(thrown_away)
        .chain(report.notes.iter().cloned())
        .collect()
}

/// The cumulative distributions over the whole run and over the last windows; of others there are none.
fn distributions(document: &RunDocument) -> Vec<Vec<Curves<'_>>> {
    let earlier = document.windows.len().saturating_sub(WINDOWS);
    let windows = document.windows.iter().enumerate();
    let of_windows =
        windows.map(|(at, window)| if at < earlier { Vec::new() } else { curves(&window.distributions) });
    [curves(&document.distributions)].into_iter().chain(of_windows).collect()
}

/// The cumulative distributions of each quantity, at [`POINTS`] values at most.
fn curves(rows: &[DistributionRow]) -> Vec<Curves<'_>> {
    let mut all: Vec<(&str, Vec<&DistributionRow>)> = Vec::new();
    for row in rows {
        match all.iter_mut().find(|(what, _)| *what == row.what) {
            Some((_, rows)) => rows.push(row),
            None => all.push((&row.what, vec![row])),
        }
    }
    all.into_iter().map(|(what, rows)| curves_of(what, &rows)).collect()
}

pub(crate) fn curves_of<'d>(what: &'d str, rows: &[&'d DistributionRow]) -> Curves<'d> {
    let mut ends: Vec<f64> = rows.iter().flat_map(|row| row.distribution.cdf().map(|(x, _)| x)).collect();
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    let each = ends.len().div_ceil(POINTS).max(1);
    // The last one is that of all values.
    let mut at: Vec<f64> = ends.iter().rev().step_by(each).copied().collect();
    at.reverse();
    let curve = |row: &&'d DistributionRow| {
        let mut points = row.distribution.cdf().peekable();
        let mut part = 0.0;
        let parts = at.iter().map(|x| {
            while let Some((_, up_to)) = points.next_if(|(end, _)| end <= x) {
                part = up_to;
            }
            (part * 1e5_f64).round() / 1e5
        });
        let parts = parts.collect();
        Curve { kind: &row.kind, of: &row.of, count: row.distribution.count, parts }
    };
    let curves = rows.iter().map(curve).collect();
    let unit = rows.first().map_or("", |row| row.distribution.unit.as_str());
    Curves { what, unit, at, curves }
}

/// The document with these rows of flows and links and no others; the page shows no groups.
fn with_rows(document: &RunDocument, flows: &[usize], links: &[usize]) -> RunDocument {
    fn some<Row: Clone>(rows: &[Row], which: &[usize]) -> Vec<Row> {
        which.iter().filter_map(|&i| rows.get(i).cloned()).collect()
    }
    let flow_rows = |rows: &[FlowRow]| some(rows, flows);
    let link_rows = |rows: &[LinkRow]| some(rows, links);
    let optimum = |at: usize| {
        let row = part(document, at)?.optimum?;
        Some(OptimumRow {
            objective: row.objective.clone(),
            weights: row.weights.clone(),
            flows: some(&row.flows, flows),
            ..*row
        })
    };
    let window = |(at, window): (usize, &WindowRow)| WindowRow {
        from_s: window.from_s,
        to_s: window.to_s,
        flows: flow_rows(&window.flows),
        classes: window.classes.clone(),
        groups: Vec::new(),
        links: link_rows(&window.links),
        requests: window.requests.clone(),
        distributions: Vec::new(),
        nodes: with_caches(&window.nodes),
        optimum: optimum(at + 1),
    };
    RunDocument {
        version: document.version.clone(),
        command: document.command.clone(),
        scenario: document.scenario.clone(),
        scenario_text: String::new(),
        scheme: document.scheme.clone(),
        variant: document.variant.clone(),
        set: document.set.clone(),
        optimum: optimum(0),
        drops: document.drops.clone(),
        flows: flow_rows(&document.flows),
        classes: document.classes.clone(),
        groups: Vec::new(),
        links: link_rows(&document.links),
        distributions: Vec::new(),
        nodes: with_caches(&document.nodes),
        windows: document.windows.iter().enumerate().map(window).collect(),
        requests: document.requests.clone(),
        slowdowns: Vec::new(),
        changes: document.changes.clone(),
        expectations: document.expectations.clone(),
        lab: document.lab.clone(),
        ..*document
    }
}

/// The nodes with a cache, without what the page does not show.
fn with_caches(nodes: &[NodeRow]) -> Vec<NodeRow> {
    let some = nodes.iter().filter(|node| node.has_cache()).take(ROWS);
    some.map(|node| NodeRow { drops: Vec::new(), ..node.clone() }).collect()
}

fn verdicts(document: &RunDocument) -> Vec<Verdict> {
    let verdict = |row: &ExpectationRow| {
        let quantity = Quantity::of_unit(&row.unit);
        Verdict {
            kind: format::kind_of_source(&row.source).to_owned(),
            stated: format::stated(quantity, row),
            measured: format::measured(quantity, row),
            tolerance: format::tolerance(quantity, row),
        }
    };
    document.expectations.iter().map(verdict).collect()
}

/// Nodes and media, each at its place.
fn placed(topology: &Topology) -> (Vec<Node<'_>>, Vec<Medium<'_>>) {
    let places = layout::positions(topology);
    let (of_nodes, of_media) = places.split_at(topology.nodes.len());
    let nodes = topology.nodes.iter().zip(of_nodes);
    let media = topology.media.iter().zip(of_media);
    (
        nodes.map(|(node, &(x, y))| Node { name: &node.name, role: node.role.name(), x, y }).collect(),
        media.map(|(own, &(x, y))| Medium { name: &own.name, stations: &own.stations, x, y }).collect(),
    )
}

fn edges(topology: &Topology) -> Vec<Edge<'_>> {
    let links = topology.links.iter();
    links
        .map(|TopologyLink { from, to, rate_bps, delay_ms, medium }| Edge {
            from,
            to,
            rate_bps: *rate_bps,
            delay_ms: *delay_ms,
            medium: *medium,
        })
        .collect()
}

/// The page's data as JSON that may stand between script tags.
fn data(report: &Report, progress: Option<&RunProgress>) -> String {
    let (document, series, topology) = (&report.document, &report.series, &report.topology);
    let thin = Thinning::of(series);
    let plotted = VALUES / thin.points().max(1);
    let orders = flow_orders(document);
    let flows = most_telling(document.flows.len(), ROWS, &orders);
    let flows_plotted = most_telling(document.flows.len(), plotted.min(ROWS), &orders);
    let flow_series = |i: &usize| {
        let flow = series.flows.get(*i).filter(|_| flows_plotted.binary_search(i).is_ok())?;
        let control = &flow.control;
        Some(FlowTraffic {
            traffic: thin.traffic(&flow.goodput_bps, &flow.delay_ms, &flow.lost, &flow.retransmitted),
            window: thin.means(&control.window),
            rate_bps: thin.means(&control.rate_bps),
            pending: thin.means(&control.pending),
            srtt_ms: thin.means(&control.srtt_ms),
        })
    };
    let orders = link_orders(&document.links);
    let links = most_telling(document.links.len(), ROWS, &orders);
    let links_plotted = most_telling(document.links.len(), plotted.min(ROWS), &orders);
    let link_series = |i: &usize| {
        let link = series.links.get(*i).filter(|_| links_plotted.binary_search(i).is_ok())?;
        Some(Link {
            utilisation: thin.means(&link.utilisation),
            queue_packets: thin.means(&link.queue_packets),
            queue_ms: thin.weighted(&link.queue_ms, &link.throughput_bps),
            drops: thin.sums(&link.drops),
        })
    };
    let is_drawn = topology.nodes.len() <= NODES;
    let (nodes, media) = if is_drawn { placed(topology) } else { Default::default() };
    let page = Page {
        version: document.made_by(),
        title: &report.title,
        source: &report.source,
        document: with_rows(document, &flows, &links),
        totals: Totals {
            nodes: topology.nodes.len(),
            edges: topology.links.len(),
            flows: document.flows.len(),
            links: document.links.len(),
            by_flow: !series.flows.is_empty(),
        },
        verdicts: verdicts(document),
        headlines: headlines(document),
        time: thin.steps(series.step_s),
        flows: flows.iter().map(flow_series).collect(),
        classes: series
            .classes
            .iter()
            .map(|class| thin.traffic(&class.goodput_bps, &class.delay_ms, &class.lost, &class.retransmitted))
            .collect(),
        links: links.iter().map(link_series).collect(),
        distributions: distributions(document),
        nodes,
        edges: if is_drawn { edges(topology) } else { Vec::new() },
        media,
        provenance: provenance::folded(&report.provenance),
        notes: notes(report),
        progress,
    };
    script_data(&page)
}

/// As JSON that may stand between script tags.
pub(crate) fn script_data(page: &impl Serialize) -> String {
    let json = serde_json::to_string(page).expect("a page has only text keys");
    // `<` is in JSON only inside strings, where this says the same.
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{crowd, sample};

    #[test]
    fn hostile_texts_stay_texts() {
        let mut report = sample::dumbbell(4, 30);
        let hostile = "</script><script>alert(1)</script><!--<script>\"'&";
        report.title = hostile.to_owned();
        report.source = hostile.to_owned();
        report.document.scheme = hostile.to_owned();
        report.document.flows[0].prefix = hostile.to_owned();
        report.topology.nodes[0].name = hostile.to_owned();
        report.notes.push(hostile.to_owned());
        report.provenance.push((hostile.to_owned(), hostile.to_owned()));
        let html = report_html(&report);
        let plain = report_html(&sample::dumbbell(4, 30));
        // Not one tag more than the page of a harmless report has.
        for tag in ["<script", "</script", "<!--", "<title", "</title"] {
            assert_eq!(html.matches(tag).count(), plain.matches(tag).count(), "{tag}");
        }
        let json = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let page: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(page["title"], hostile);
    }

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere() {
        let html = report_html(&sample::dumbbell(4, 30));
        let outside = html.split("<script type").next().unwrap();
        for attribute in ["src=", "href=", "url(", "@import"] {
            assert!(!outside.contains(attribute), "{attribute}");
        }
    }

    #[test]
    fn only_the_page_of_a_run_that_is_on_may_ask_its_server() {
        let report = sample::dumbbell(4, 30);
        let progress = RunProgress { now_s: 1.5, until_s: 40.0, is_over: false, report: None };
        let (file, live) = (report_html(&report), live_html(&report, &progress));
        let policy = |html: &str| {
            html.split("Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        assert_eq!(policy(&live), policy(&file).replace(" base-uri", " connect-src 'self'; base-uri"));
        assert!(!policy(&file).contains("connect-src"));
        let json = live_data(&report, &progress);
        assert!(live.contains(&json) && file.contains(&data(&report, None)));
        assert!(!data(&report, None).contains("\"progress\""));
        let page: serde_json::Value = serde_json::from_str(&json).unwrap();
        let stated = serde_json::json!({ "now_s": 1.5, "until_s": 40.0, "is_over": false, "report": null });
        assert_eq!(page["progress"], stated);
    }

    #[test]
    fn forty_flows_over_twelve_hundred_steps_stay_around_a_megabyte() {
        let html = report_html(&sample::dumbbell(40, 1200));
        // What draws files is the same in each page.
        assert!(page::FIGURE.len() < 250_000);
        assert!(html.len() - page::FIGURE.len() < 1_600_000, "{} bytes", html.len());
    }

    #[test]
    fn a_network_of_thousands_of_nodes_is_a_page_that_loads() {
        let report = crowd::crowd(2000, 3000, 600);
        let html = report_html(&report);
        assert!(html.len() < 9_000_000, "{} bytes", html.len());
        let json = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let page: serde_json::Value = serde_json::from_str(json).unwrap();
        let count = |list: &serde_json::Value| list.as_array().unwrap().len();
        assert_eq!((count(&page["nodes"]), count(&page["edges"])), (0, 0));
        assert_eq!(page["totals"]["nodes"], 2000);
        assert_eq!(page["totals"]["flows"], 3000);
        assert!(count(&page["provenance"]) < 40);
        for rows in [&page["document"], &page["document"]["windows"][0]] {
            assert_eq!((count(&rows["flows"]), count(&rows["links"])), (ROWS, ROWS));
        }
        for series in [&page["flows"], &page["links"]] {
            assert_eq!(count(series), ROWS);
            let plotted = series.as_array().unwrap().iter().filter(|one| !one.is_null()).count();
            assert_eq!(plotted, VALUES / 600);
        }
        // The row and the series of the fastest flow of each class are there.
        for class in &report.document.classes {
            let of_class = |row: &serde_json::Value| row["class"] == class.class.as_str();
            let rows = page["document"]["flows"].as_array().unwrap();
            let fastest =
                rows.iter().enumerate().filter(|(_, row)| of_class(row)).max_by(|(_, a), (_, b)| {
                    a["goodput_bps"].as_f64().unwrap().total_cmp(&b["goodput_bps"].as_f64().unwrap())
                });
            let (at, row) = fastest.unwrap();
            let wanted = report.document.flows.iter().filter(|flow| flow.class == class.class);
            let wanted = wanted.map(|flow| flow.goodput_bps).fold(0.0, f64::max);
            assert_eq!(row["goodput_bps"], wanted);
            assert!(!page["flows"][at].is_null());
        }
    }

    #[test]
    fn a_medium_has_a_place_and_its_pairs_of_stations_say_that_they_are_on_it() {
        let report = sample::on_air(sample::dumbbell(4, 30));
        let page: serde_json::Value = serde_json::from_str(&data(&report, None)).unwrap();
        let [medium] = &page["media"].as_array().unwrap()[..] else { panic!("{}", page["media"]) };
        assert_eq!(medium["name"], "wifi");
        assert_eq!(medium["stations"], serde_json::json!(["R1", "C1", "C2", "C3", "C4"]));
        let place = |of: &serde_json::Value| (of["x"].as_f64().unwrap(), of["y"].as_f64().unwrap());
        assert!(page["nodes"].as_array().unwrap().iter().all(|node| place(node) != place(medium)));
        let edges = page["edges"].as_array().unwrap();
        let on_air: Vec<&str> = edges
            .iter()
            .filter(|edge| edge["medium"] == 0)
            .map(|edge| edge["from"].as_str().unwrap())
            .collect();
        assert_eq!(on_air, ["C1", "C2", "C3", "C4"]);
        assert!(edges.iter().all(|edge| edge["medium"] == 0 || edge["medium"].is_null()));
    }

    #[test]
    fn a_flow_that_is_left_out_takes_its_optimum_along() {
        let mut document = sample::dumbbell(4, 30).document;
        for (at, best) in document.windows[0].optimum.as_mut().unwrap().flows.iter_mut().enumerate() {
            best.goodput_bps = at as f64;
        }
        let shown = with_rows(&document, &[1, 3], &[]);
        let optimum = shown.windows[0].optimum.as_ref().unwrap();
        let goodputs: Vec<f64> = optimum.flows.iter().map(|best| best.goodput_bps).collect();
        assert_eq!(goodputs, [1.0, 3.0]);
        let prefixes: Vec<&str> = shown.windows[0].flows.iter().map(|flow| &*flow.prefix).collect();
        assert_eq!(prefixes, optimum.flows.iter().map(|best| &*best.prefix).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_of_each_order_are_chosen() {
        let orders = [vec![5, 4, 3, 2, 1, 0], vec![0, 1, 2, 3, 4, 5]];
        assert_eq!(most_telling(6, 3, &orders), [0, 4, 5]);
        assert_eq!(most_telling(6, 6, &orders), [0, 1, 2, 3, 4, 5]);
        assert_eq!(most_telling(2, 6, &[]), [0, 1]);
    }

    #[test]
    fn thinning_keeps_totals_and_means() {
        let thin = Thinning { samples: 1201, merged: 3 };
        assert_eq!(thin.points(), 401);
        let unpack = |column: Column| -> Vec<f32> {
            let Column::Packed(text) = column else { panic!("a constant") };
            STANDARD
                .decode(text)
                .unwrap()
                .chunks(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                .collect()
        };
        let counts: Vec<u32> = (0..1201).collect();
        let total: f32 = unpack(thin.sums(&counts)).iter().sum();
        assert_eq!(total, (1200 * 1201 / 2) as f32);
        let mut delays: Vec<f32> = vec![f32::NAN; 1201];
        (delays[0], delays[2]) = (100.0, 40.0);
        let mut rates = vec![0.0; 1201];
        (rates[0], rates[2]) = (1.0, 3.0);
        let shown = unpack(thin.weighted(&delays, &rates));
        assert_eq!(shown[0], 55.0);
        assert!(shown[1].is_nan());
    }

    #[test]
    fn what_never_changes_is_one_number() {
        let json = |values: &[f32]| serde_json::to_string(&Column::of(values)).unwrap();
        assert_eq!(json(&[0.0, 0.0]), "0.0");
        assert_eq!(json(&[f32::NAN, f32::NAN]), "null");
        assert_eq!(json(&[]), "null");
        assert!(json(&[1.0, 2.0]).starts_with('"'));
    }
}
