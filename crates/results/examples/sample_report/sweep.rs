//! A sweep that never was: variations of one run over two axes.

use super::results::{SweepAxis, SweepDocument, SweepRow};
use weir_measure::{ClassRow, DelayMs, FlowRow, GroupRow, LinkRow, Report, RunDocument, TrafficFigures};

const RATES_MBPS: [u32; 5] = [2, 5, 10, 20, 50];
const DELAYS_MS: [u32; 2] = [5, 50];
const SCHEMES: [&str; 3] = ["qsccp", "pcon", "bbr"];
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];

/// Three schemes over a rate and a delay. One cannot run at the highest rate, one fails once, and one has the same outcome with
/// every seed.
pub fn sweep(report: &Report) -> SweepDocument {
    let texts = |values: &[u32], unit: &str| values.iter().map(|value| format!("{value} {unit}")).collect();
    let head = SweepDocument {
        version: "1.2.3".to_owned(),
        command: "weir sweep sample --vary link.R2-R3.rate=2,5,10,20,50Mb/s --vary link.R2-R3.delay=5,50ms"
            .to_owned(),
        scenario: report.document.scenario.clone(),
        title: report.title.clone(),
        source: report.source.clone(),
        axes: vec![
            SweepAxis::new("link.R2-R3.rate", texts(&RATES_MBPS, "Mb/s")),
            SweepAxis::new("link.R2-R3.delay", texts(&DELAYS_MS, "ms")),
        ],
        schemes: SCHEMES.map(str::to_owned).to_vec(),
        seeds: SEEDS.to_vec(),
        ..SweepDocument::default()
    };
    let points = RATES_MBPS.iter().flat_map(|rate| DELAYS_MS.iter().map(move |delay| (*rate, *delay)));
    SweepDocument::of(head, points.flat_map(|point| SCHEMES.map(|scheme| row(report, point, scheme))))
}

fn row(report: &Report, (rate, delay): (u32, u32), scheme: &str) -> SweepRow {
    let values = vec![format!("{rate} Mb/s"), format!("{delay} ms")];
    let set = vec![format!("link.R2-R3.rate={}", values[0]), format!("link.R2-R3.delay={}", values[1])];
    let is_left_out = scheme == "pcon" && rate == 50;
    let fails = |seed: u64| scheme == "qsccp" && (rate, delay, seed) == (20, 50, 3);
    let runs: Vec<RunDocument> = SEEDS
        .into_iter()
        .filter(|seed| !is_left_out && !fails(*seed))
        .map(|seed| varied(report, scheme, seed, f64::from(rate), f64::from(delay)))
        .collect();
    let failures = SEEDS.into_iter().filter(|seed| fails(*seed)).count() as u64;
    SweepRow {
        left_out: is_left_out.then(|| "it knows no such rate".to_owned()),
        failures,
        failure: (failures > 0).then(|| "the queue of R2 → R3 holds no packet".to_owned()),
        ..SweepRow::of(set, values, scheme, &runs)
    }
}

/// The run as it would be with this rate, Mb/s, and delay, ms.
fn varied(report: &Report, scheme: &str, seed: u64, rate: f64, delay: f64) -> RunDocument {
    let place = SCHEMES.iter().position(|own| *own == scheme).unwrap_or_default();
    // Every scheme but the last depends on its seed; the longer the delay, the more.
    let luck = if place == 2 { 0.0 } else { ((seed * 37 + place as u64 * 11) % 13) as f64 / 13.0 - 0.5 };
    let used = [0.98, 0.9 - 0.003 * delay, 0.8][place] * (1.0 + 0.004 * delay * luck).min(1.2);
    let goodput = used * rate / 10.0;
    let waits = [2.0, 8.0 + 4.0 * luck, 20.0][place] * 10.0 / rate;
    let traffic = |figures: &mut TrafficFigures| {
        figures.goodput_bps *= goodput;
        slow(&mut figures.delay_ms, delay + waits);
        figures.lost = [0, 40, 300][place] * (1 + seed * u64::from(place == 1));
    };
    let part =
        |flows: &mut [FlowRow], classes: &mut [ClassRow], groups: &mut [GroupRow], links: &mut [LinkRow]| {
            for row in flows {
                row.goodput_bps *= goodput;
                slow(&mut row.delay_ms, delay + waits);
            }
            classes.iter_mut().for_each(|row| traffic(&mut row.figures));
            groups.iter_mut().for_each(|row| traffic(&mut row.figures));
            for row in links {
                row.utilisation *= used;
            }
        };
    let mut run = RunDocument { scheme: scheme.to_owned(), seed, ..report.document.clone() };
    part(&mut run.flows, &mut run.classes, &mut run.groups, &mut run.links);
    for window in &mut run.windows {
        part(&mut window.flows, &mut window.classes, &mut window.groups, &mut window.links);
    }
    run
}

fn slow(delay: &mut DelayMs, by: f64) {
    for figure in [&mut delay.mean, &mut delay.p50, &mut delay.p95, &mut delay.p99] {
        *figure = figure.map(|ms| ms + by);
    }
}
