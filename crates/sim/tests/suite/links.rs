//! Links that lose packets in bursts, add jitter, follow a rate trace, or share their time between
//! directions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use crate::common::{experiment, goodput, parse, run, world};
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_experiment::Setup;
use weir_measure::{Report, Trace, TraceEvent, TraceWhat};
use weir_scenario::{Files, Scenario};

/// A constant stream of at least 100 packets of 1000 bytes per second from B to A, over a link with these
/// keys.
fn text(link: &str, rest: &str) -> String {
    format!(
        "title = \"a link\"\nsource = \"assumed: a test\"\nduration = \"60 s\"\nscheme.default = \"fixed\"\n\
         [[node]]\nname = [\"A\", \"B\"]\n\
         [[link]]\nends = [\"A\", \"B\"]\ndelay = \"10 ms\"\nqueue = \"unlimited\"\n{link}\n\
         [[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/f\"\nsource_rate = \"8 Mb/s\"\n\
         unresponsive = true\nlifetime = \"500 ms\"\n{rest}"
    )
}

/// Time, node, event, segment.
type Event = (Time, u32, TraceWhat, Option<u64>);

/// The trace of a run.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Event>>>);

impl Trace for Seen {
    fn on_event(&mut self, event: &TraceEvent<'_>) {
        self.0.lock().unwrap().push((event.at, event.node, event.what, event.packet.name.segment()));
    }
    fn failure(&mut self) -> Option<String> {
        None
    }
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn traced(scenario: &Scenario) -> (Report, Vec<Event>) {
    let seen = Seen::default();
    let mut world = world(experiment(scenario, &Setup::default())).tracing(Box::new(seen.clone()));
    world.run(&mut |_| ()).unwrap();
    world.end_trace().unwrap();
    let report = world.finish().report;
    let events = seen.0.lock().unwrap().clone();
    (report, events)
}

/// The packets that an end put on the link, in order, and whether each was lost.
fn losses(events: &[Event], end: u32) -> Vec<bool> {
    let mut lost = Vec::new();
    for (_, _, what, _) in events.iter().filter(|(_, node, ..)| *node == end) {
        match what {
            TraceWhat::Send { .. } => lost.push(false),
            TraceWhat::Drop(DropReason::LinkLoss) => *lost.last_mut().unwrap() = true,
            _ => {}
        }
    }
    lost
}

#[test]
fn losses_in_bursts_hit_interests_and_data_with_their_mean_and_length() {
    let link = "rate = \"100 Mb/s\"\nloss = 0.02\nloss_burst = 4";
    let (report, events) = traced(&parse("t", &text(link, ""), &[]));
    let mut all = 0;
    for end in [0, 1] {
        let lost = losses(&events, end);
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let (ratio, length) = (count / lost.len() as f64, count / bursts);
        // About 50 000 packets: 0.02 ± 0.0018 (√(2b) standard errors of independent losses), 250 bursts of 4
        // ± 0.22.
        assert!(lost.len() > 40_000 && (ratio - 0.02).abs() < 0.006, "{end}: {ratio} of {}", lost.len());
        assert!((length - 4.0).abs() < 0.9, "{end}: bursts of {length}");
        all += count as u64;
    }
    assert_eq!(report.document.links.iter().map(|row| row.lost).sum::<u64>(), all);
}

#[test]
fn events_change_losses_and_jitter() {
    let link = "rate = \"100 Mb/s\"\njitter = \"1 us\"\nreorder = true";
    let events = "[[event]]\nat = \"20 s\"\nlink = \"A-B\"\njitter = \"40 ms\"\n\
                  [[event]]\nat = \"40 s\"\nlink = \"A-B\"\nloss = 0.1\nloss_burst = 10\njitter = \"0 s\"\n";
    let windows = "[[window]]\nname = \"a\"\nfrom = \"1 s\"\nto = \"20 s\"\n\
                   [[window]]\nname = \"b\"\nfrom = \"21 s\"\nto = \"40 s\"\n\
                   [[window]]\nname = \"c\"\nfrom = \"41 s\"\nto = \"60 s\"\n";
    let report = run(&parse("t", &text(link, &format!("{events}{windows}")), &[]), &Setup::default());
    let delay = |at: usize| report.document.windows[at].classes[0].figures.delay_ms.p50.unwrap();
    let lost = |at: usize| report.document.windows[at].links.iter().map(|row| row.lost).sum::<u64>();
    assert!((delay(0) - 20.0).abs() < 0.5 && (delay(2) - 20.0).abs() < 0.5, "{} {}", delay(0), delay(2));
    // Two directions with 0 to 40 ms each: 40 ms on average.
    assert!((delay(1) - 60.0).abs() < 1.0, "{}", delay(1));
    assert!(lost(0) == 0 && lost(1) == 0 && lost(2) > 2000);
}

#[test]
fn jitter_delays_by_its_mean_and_reorders_only_if_it_may() {
    for reorder in [true, false] {
        let link = format!("rate = \"1 Gb/s\"\njitter = \"2 ms\"\nreorder = {reorder}");
        let set = if reorder { ["duration=10 s"] } else { ["flow.f.source_rate=800 kb/s"] };
        let (report, events) = traced(&parse("t", &text(&link, ""), &set));
        let measured = report.document.classes[0].figures.delay_ms.mean.unwrap();
        assert!((measured - 22.0).abs() < 0.1, "{reorder}: {measured} ms");
        let arrived = |event: &&Event| event.1 == 1 && event.2 == TraceWhat::Receive;
        let segments: Vec<_> = events.iter().filter(arrived).map(|event| event.3).collect();
        assert_eq!(segments.is_sorted(), !reorder);
    }
}

struct OneFile(String);

impl Files for OneFile {
    fn read(&self, _path: &str) -> Result<Arc<str>, String> {
        Ok(self.0.as_str().into())
    }
}

#[test]
fn a_trace_of_rates_delivers_its_bytes_and_nothing_in_its_seconds_of_silence() {
    // 3 Mb/s for two seconds, silence for one.
    let times: String = (1..=500).map(|k| format!("{}\n", 4 * k)).chain(["3000\n".to_owned()]).collect();
    let link = text("rate_trace = \"a.trace\"\nrate = \"1 Gb/s\"", "");
    let set = [weir_scenario::Override::parse("sample=1 s").unwrap()];
    let parsed = Scenario::parse_with_files("t", "t", &link, &set, &OneFile(times), |_| None);
    let scenario = parsed.unwrap_or_else(|error| panic!("{error}"));
    let setup = Setup { with_series: true, ..Setup::default() };
    let report = run(&scenario, &setup);
    let back = &report.series.links[1].throughput_bps;
    let mean = 501.0 * 1504.0 * 8.0 / 3.0;
    assert!((report.document.links[1].rate_bps - mean).abs() < 1.0);
    for (second, rate) in back.iter().enumerate().skip(3).take(54) {
        let expected = if second % 3 == 2 { 0.0 } else { 250.0 * 1504.0 * 8.0 };
        // A packet counts when it starts to leave, so one of them may be in the previous second.
        assert!((f64::from(*rate) - expected).abs() < 50_000.0, "{second}: {rate}");
    }
}

#[test]
fn the_directions_of_a_half_duplex_link_share_its_rate() {
    let other = "[[flow]]\nname = \"g\"\nconsumer = \"B\"\nproducer = \"A\"\nprefix = \"/g\"\nsource_rate = \"8 Mb/s\"\n\
                 unresponsive = true\nlifetime = \"500 ms\"\n[[window]]\nname = \"w\"\nfrom = \"10 s\"\nto = \"60 s\"\n";
    let set = [
        "flow.*.unresponsive=false",
        "flow.*.source_rate=elastic",
        "scheme.fixed.window=400",
        "flow.*.lifetime=4 s",
    ];
    let half = parse("t", &text("rate = \"6 Mb/s\"\nduplex = \"half\"", other), &set);
    let (report, events) = traced(&half);
    let window = &report.document.windows[0];
    let used: Vec<f64> = window.links.iter().map(|row| row.utilisation).collect();
    assert!((used[0] + used[1] - 1.0).abs() < 0.002, "{used:?}");
    // Never two at a time: a packet starts to leave when the previous one has left.
    let sent = events.iter().filter(|event| matches!(event.2, TraceWhat::Send { .. }));
    let times: Vec<Time> = sent.map(|event| event.0).collect();
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) > Span::ZERO));
    let [f, g] = ["/f", "/g"].map(|prefix| goodput(window, prefix));
    assert!((f / g - 1.0).abs() < 0.05 && f > 1e6, "{f} {g}");
    let full = parse("t", &text("rate = \"6 Mb/s\"", other), &set);
    assert!(goodput(&run(&full, &Setup::default()).document.windows[0], "/f") > 1.7 * f);
}
