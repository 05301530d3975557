//! The report page: one file with its script, its style and its data, that opens without a server
//! and without a network. The script and the style are the built bundle of `web/`.
//!
//! The page forbids itself, by its content security policy, any script but the bundle and any
//! request. Data goes in as JSON in which no `<` is left, so that no text can end the element it
//! stands in; the bundle puts text into the page as text only.
//!
//! Series of more than [`POINTS`] steps are thinned for the page: that many steps in a row become
//! one. Rates, utilisations and queue lengths become means, counts become sums, delays become
//! means weighted by the rate they came with. The Parquet tables keep every step.

use crate::format::{self, NONE, Quantity};
use crate::layout;
use crate::model::RunDocument;
use crate::series::{Report, Series};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// Steps shown at most.
pub const POINTS: usize = 600;

const SCRIPT: &str = include_str!("../../../web/dist/report.js");
const STYLE: &str = include_str!("../../../web/dist/report.css");
/// The base64 SHA-256 of the script, for the content security policy; written when it is built.
const SCRIPT_SHA256: &str = include_str!("../../../web/dist/report.js.sha256");

/// The report page as HTML text.
pub fn report_html(report: &Report) -> String {
    let heading = if report.title.is_empty() { &report.document.scenario } else { &report.title };
    let title = escaped(&format!("{heading}: {}", report.document.scheme));
    let data = data(report);
    let sha256 = SCRIPT_SHA256.trim();
    // A script's hash covers every byte between its tags.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{sha256}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main id=\"report\"><noscript>This report is drawn by a script in this file, which your \
         browser does not run. The same figures are in run.json and the Parquet tables beside \
         it.</noscript></main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Text for between tags and in quoted attributes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

/// What the page knows; `web/src/data.ts` has the same shape.
#[derive(Serialize)]
struct Page<'a> {
    version: &'a str,
    title: &'a str,
    source: &'a str,
    document: &'a RunDocument,
    verdicts: Vec<Verdict>,
    time: Steps,
    flows: Vec<Traffic>,
    classes: Vec<Traffic>,
    links: Vec<Link>,
    nodes: Vec<Node<'a>>,
    edges: Vec<Edge<'a>>,
    provenance: &'a [(String, String)],
    drops: &'a [(String, u64)],
    notes: &'a [String],
}

/// The numbers of an expectation as text with units; the order is that of the document.
#[derive(Serialize)]
struct Verdict {
    stated: String,
    measured: String,
    tolerance: String,
}

#[derive(Serialize)]
struct Steps {
    /// Length of a step shown, s.
    step_s: f64,
    /// Steps shown.
    points: usize,
    /// Steps measured that make one shown.
    merged: usize,
}

#[derive(Serialize)]
struct Traffic {
    goodput_bps: Column,
    delay_ms: Column,
    lost: Column,
    retransmitted: Column,
}

#[derive(Serialize)]
struct Link {
    utilisation: Column,
    queue_packets: Column,
    queue_ms: Column,
    drops: Column,
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
struct Thinning {
    samples: usize,
    merged: usize,
}

impl Thinning {
    fn of(series: &Series) -> Thinning {
        Thinning { samples: series.samples, merged: series.samples.div_ceil(POINTS).max(1) }
    }

    fn points(&self) -> usize {
        self.samples.div_ceil(self.merged)
    }

    /// One value a step shown, from the range of steps measured that it stands for.
    fn column(&self, value: impl Fn(std::ops::Range<usize>) -> f32) -> Column {
        let steps = (0..self.points()).map(|k| k * self.merged..((k + 1) * self.merged).min(self.samples));
        Column::of(&steps.map(value).collect::<Vec<f32>>())
    }

    /// Means; a step that was not recorded is left out.
    fn means(&self, values: &[f32]) -> Column {
        self.column(|steps| {
            let recorded = steps.filter_map(|k| values.get(k)).filter(|x| x.is_finite());
            let (sum, n) = recorded.fold((0.0, 0.0), |(sum, n), x| (sum + f64::from(*x), n + 1.0));
            (sum / n) as f32
        })
    }

    /// Means weighted by `weights`, of the steps that have a value.
    fn weighted(&self, values: &[f32], weights: &[f32]) -> Column {
        self.column(|steps| {
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
        self.column(|steps| steps.filter_map(|k| counts.get(k)).map(|n| f64::from(*n)).sum::<f64>() as f32)
    }
}

/// The page's data as JSON that may stand between script tags.
fn data(report: &Report) -> String {
    let series = &report.series;
    let thin = Thinning::of(series);
    let places = layout::positions(&report.topology);
    let traffic = |goodput: &[f32], delay: &[f32], lost: &[u32], retransmitted: &[u32]| Traffic {
        goodput_bps: thin.means(goodput),
        delay_ms: thin.weighted(delay, goodput),
        lost: thin.sums(lost),
        retransmitted: thin.sums(retransmitted),
    };
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title: &report.title,
        source: &report.source,
        document: &report.document,
        verdicts: report
            .document
            .expectations
            .iter()
            .map(|row| {
                let quantity = Quantity::of(&row.what);
                Verdict {
                    stated: format::stated(quantity, row),
                    measured: row.measured.map_or_else(|| NONE.to_owned(), |value| quantity.format(value)),
                    tolerance: format::tolerance(quantity, row),
                }
            })
            .collect(),
        time: Steps {
            step_s: series.step_s * thin.merged as f64,
            points: thin.points(),
            merged: thin.merged,
        },
        flows: series
            .flows
            .iter()
            .map(|flow| traffic(&flow.goodput_bps, &flow.delay_ms, &flow.lost, &flow.retransmitted))
            .collect(),
        classes: series
            .classes
            .iter()
            .map(|class| traffic(&class.goodput_bps, &class.delay_ms, &class.lost, &class.retransmitted))
            .collect(),
        links: series
            .links
            .iter()
            .map(|link| Link {
                utilisation: thin.means(&link.utilisation),
                queue_packets: thin.means(&link.queue_packets),
                queue_ms: thin.weighted(&link.queue_ms, &link.throughput_bps),
                drops: thin.sums(&link.drops),
            })
            .collect(),
        nodes: report
            .topology
            .nodes
            .iter()
            .zip(places)
            .map(|(node, (x, y))| Node { name: &node.name, role: node.role.name(), x, y })
            .collect(),
        edges: report
            .topology
            .links
            .iter()
            .map(|link| Edge {
                from: &link.from,
                to: &link.to,
                rate_bps: link.rate_bps,
                delay_ms: link.delay_ms,
            })
            .collect(),
        provenance: &report.provenance,
        drops: &report.drops_by_reason,
        notes: &report.notes,
    };
    let json = serde_json::to_string(&page).expect("a page has only text keys");
    // `<` is in JSON only inside strings, where this says the same.
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
    fn the_bundle_cannot_end_its_own_element() {
        assert!(!SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.to_lowercase().contains("</style"));
        assert!(!SCRIPT.contains('\r'), "a browser would read, and hash, another text");
    }

    #[test]
    fn forty_flows_over_twelve_hundred_steps_stay_around_a_megabyte() {
        let html = report_html(&sample::dumbbell(40, 1200));
        assert!(html.len() < 1_600_000, "{} bytes", html.len());
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
