//! `weir ping` and `weir ping-server`: reachability of a name, and round-trip times.
//!
//! Interests are `/NAME/ping/<number>`, as in `ndnping`. The server answers every name under `/NAME/ping`.

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::process::ExitCode;

use hdrhistogram::Histogram;
use serde::Serialize;
use weir_app::{Event, PendingId, Reply, Serve, SingleInterest};
use weir_core::packet::Packet;
use weir_core::units::{Bytes, Span, Time};
use weir_measure::DelayMs;
use weir_measure::to_json;
use weir_packet::{
    Component, Data, MetaInfo, NackReason, Name, NameRef, ServiceClass, SignatureInfo, SignatureType, Signer,
};

use crate::app::{Connection, Hint, LOOK_AROUND, Stop};
use crate::{Failure, terminal};

/// Send Interests for names under a prefix, and measure the round-trip times
///
/// The Interests are for `/NAME/ping/<number>`, which `weir ping-server`, `ndnpingserver` and `ndnd pingserver`
/// answer. The exit code is 1 if no answer came.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The prefix
    name: Name,
    /// The number of Interests, 1 or more; by default the command runs until Ctrl-C
    #[arg(long, short = 'c', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Time between two Interests, 1ms or more
    #[arg(long, short = 'i', value_name = "TIME", default_value = "1s", value_parser = a_while)]
    interval: Span,
    /// How long to wait for an answer, 1ms or more
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = a_while)]
    timeout: Span,
    /// The first number; by default the time in ms
    #[arg(long, value_name = "N")]
    start: Option<u64>,
    /// The service class of the Interests: CS7, CS6, EF, AF4 to AF1 or BE
    #[arg(long, value_name = "CLASS", default_value = "BE")]
    class: ServiceClass,
    /// Print only the summary
    #[arg(long, short = 'q')]
    quiet: bool,
    /// Print the summary as JSON and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hint: Hint,
    #[command(flatten)]
    connection: Connection,
}

/// Answer `weir ping`, `ndnping` and `ndnd ping`
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// The prefix; the server registers /NAME/ping
    name: Name,
    /// Content size of each Data
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    size: Bytes,
    /// How long caches may consider the answers fresh
    #[arg(long, value_name = "TIME", default_value = "1s")]
    freshness: Span,
    /// Do not print each Interest
    #[arg(long, short = 'q')]
    quiet: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Parses a non-zero time.
fn a_while(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    if span < Span::from_millis(1) { Err("wanted 1ms or more".to_owned()) } else { Ok(span) }
}

/// The prefix of the pinged names.
fn ping_prefix(name: &Name) -> Name {
    name.clone().with(Component::generic(b"ping"))
}

/// The summary of all pings.
#[derive(Debug, Serialize)]
struct Summary {
    name: String,
    sent: u64,
    received: u64,
    nacks: u64,
    timeouts: u64,
    /// `null` if no Interest was sent.
    loss: Option<f64>,
    rtt_ms: RttMs,
}

#[derive(Debug, Serialize)]
struct RttMs {
    min: Option<f64>,
    max: Option<f64>,
    #[serde(flatten)]
    delay: DelayMs,
}

/// Maximum recorded round-trip time: an hour, ns. A histogram without a maximum begins with 2 ns, and recording with
/// saturation never lets it grow.
const LONGEST_RTT_NS: u64 = 3_600_000_000_000;

/// Pending pings, and the results of the others.
struct Pings {
    sent: u64,
    nacks: u64,
    timeouts: u64,
    pending: BTreeMap<PendingId, (u64, Time)>,
    /// Round-trip times, ns, to three digits.
    rtt: Histogram<u64>,
    /// The exact shortest and longest round-trip time.
    extremes: Option<(Span, Span)>,
}

impl Pings {
    fn new() -> Pings {
        Pings {
            sent: 0,
            nacks: 0,
            timeouts: 0,
            pending: BTreeMap::new(),
            rtt: Histogram::new_with_max(LONGEST_RTT_NS, 3).expect("the bounds are right"),
            extremes: None,
        }
    }

    fn record(&mut self, rtt: Span) {
        self.rtt.saturating_record(rtt.as_nanos());
        let (min, max) = self.extremes.unwrap_or((rtt, rtt));
        self.extremes = Some((min.min(rtt), max.max(rtt)));
    }

    /// Handles the end of a ping. Returns a line to print.
    fn ended(&mut self, now: Time, name: &Name, id: PendingId, reply: Reply<'_>) -> Option<String> {
        let (number, sent) = self.pending.remove(&id)?;
        Some(match reply {
            Reply::Data(_) => {
                let rtt = now.since(sent);
                self.record(rtt);
                format!("content from {name}: seq={number} time={:.3} ms\n", rtt.as_millis_f64())
            }
            Reply::Nack(reason) => {
                self.nacks += 1;
                format!("nack from {name}: seq={number} reason={}\n", words(reason))
            }
            Reply::Timeout => {
                self.timeouts += 1;
                format!("timeout from {name}: seq={number}\n")
            }
        })
    }

    fn summary(&self, name: &Name) -> Summary {
        let received = self.rtt.len();
        let (min, max) = self.extremes.map(|(min, max)| (min.as_millis_f64(), max.as_millis_f64())).unzip();
        // The histogram returns bounds of buckets, which may be outside the measured range.
        let ms = |ns: f64| Some((ns / 1e6).clamp(min?, max?));
        let at = |quantile: f64| ms(self.rtt.value_at_quantile(quantile) as f64);
        let delay = DelayMs { mean: ms(self.rtt.mean()), p50: at(0.5), p95: at(0.95), p99: at(0.99) };
        Summary {
            name: name.to_string(),
            sent: self.sent,
            received,
            nacks: self.nacks,
            timeouts: self.timeouts,
            loss: (self.sent > 0).then(|| 1.0 - received as f64 / self.sent as f64),
            rtt_ms: RttMs { min, max, delay },
        }
    }
}

fn words(reason: NackReason) -> String {
    match reason {
        NackReason::Congestion => "Congestion".to_owned(),
        NackReason::Duplicate => "Duplicate".to_owned(),
        NackReason::NoRoute => "NoRoute".to_owned(),
        other => other.value().to_string(),
    }
}

/// Runs the command.
pub fn ping(args: &Args) -> Result<ExitCode, Failure> {
    let hint = args.hint.delegations(&args.name)?;
    let (stop, mut app) = (Stop::new()?, args.connection.open()?);
    let (prefix, mut pings) = (ping_prefix(&args.name), Pings::new());
    let is_told = !args.quiet && !args.json;
    if is_told {
        terminal::print(&format!("PING {prefix}\n"))?;
    }
    let first = args.start.unwrap_or_else(weir_net::clock::wall_ms);
    let mut next = app.now();
    loop {
        let is_over = stop.is_asked() || args.count.is_some_and(|count| pings.sent >= count);
        if stop.is_asked() || is_over && pings.pending.is_empty() {
            break;
        }
        if !is_over && app.now() >= next {
            let number = first.wrapping_add(pings.sent);
            let sent = app.now();
            pings.pending.insert(app.express(interest(args, &prefix, &hint, number)), (number, sent));
            pings.sent += 1;
            next = next.max(app.now() - args.interval) + args.interval;
        }
        let until = if is_over { app.now() + LOOK_AROUND } else { next.min(app.now() + LOOK_AROUND) };
        app.run(until, &mut |now, event| {
            if let Event::Reply { id, reply } = event
                && let Some(line) = pings.ended(now, &args.name, id, reply)
                && is_told
            {
                // If the output is closed, the exit code still tells the result.
                let _ = terminal::print(&line);
            }
            let is_done = pings.pending.is_empty() && args.count.is_some_and(|count| pings.sent >= count);
            if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    let summary = pings.summary(&args.name);
    terminal::print(&if args.json { to_json(&summary) } else { text(&summary) })?;
    Ok(if summary.received == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The Interest with this number.
fn interest(args: &Args, prefix: &Name, hint: &[Name], number: u64) -> SingleInterest {
    let name = prefix.clone().with(Component::generic(number.to_string().as_bytes()));
    SingleInterest {
        must_be_fresh: true,
        hint: hint.to_vec(),
        class: args.class,
        lifetime: args.timeout,
        tries: 1,
        ..SingleInterest::new(name)
    }
}

fn text(summary: &Summary) -> String {
    let Summary { name, sent, received, nacks, timeouts, loss, rtt_ms } = summary;
    let lost = loss.map_or("nothing sent".to_owned(), |loss| format!("{:.1} % lost", 100.0 * loss));
    let mut text =
        format!("\n--- {name} ping statistics ---\n{sent} sent, {received} received, {nacks} nacks, ");
    text += &format!("{timeouts} timeouts, {lost}\n");
    if let (Some(min), Some(mean), Some(max)) = (rtt_ms.min, rtt_ms.delay.mean, rtt_ms.max) {
        let p99 = rtt_ms.delay.p99.unwrap_or(max);
        text += &format!("round trip min/mean/max {min:.3}/{mean:.3}/{max:.3} ms, 99 % within {p99:.3} ms\n");
    }
    text
}

/// Answers every Interest.
struct Pong {
    content: Vec<u8>,
    freshness_ms: Option<u64>,
    signer: Signer,
    count: std::rc::Rc<std::cell::Cell<u64>>,
    is_told: bool,
}

impl Serve for Pong {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let Ok(name) = NameRef::from_value(interest.name.wire()) else { return false };
        // An Interest with an implicit digest asks for an existing Data, so none is created.
        if interest.name.implicit_digest().is_some() {
            return false;
        }
        let meta = MetaInfo { freshness_period: self.freshness_ms, ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        let data = Data { meta, ..Data::new(name, &self.content, info) };
        let is_answered = data.sign(&self.signer, out).is_ok();
        if is_answered {
            self.count.set(self.count.get() + 1);
            if self.is_told {
                let _ = terminal::print(&format!("interest for {name}\n"));
            }
        }
        is_answered
    }
}

/// Answers pings until it is stopped.
pub fn serve(args: &ServerArgs) -> Result<(), Failure> {
    let (stop, mut app) = (Stop::new()?, args.connection.open()?);
    let room = weir_app::Segments::new(args.size, None);
    room?;
    let count = std::rc::Rc::new(std::cell::Cell::new(0));
    let pong = Pong {
        content: vec![0; args.size.as_u64() as usize],
        freshness_ms: Some(args.freshness.as_nanos() / 1_000_000).filter(|&ms| ms > 0),
        signer: Signer::digest(),
        count: std::rc::Rc::clone(&count),
        is_told: !args.quiet,
    };
    let prefix = ping_prefix(&args.name);
    app.produce(prefix.clone(), Box::new(pong))?;
    terminal::print(&format!("PING SERVER {prefix}\n"))?;
    while !stop.is_asked() {
        let until = app.now() + LOOK_AROUND;
        app.run(until, &mut |_, event| {
            tell(&event);
            ControlFlow::Continue(())
        })?;
    }
    terminal::print(&format!("\n--- {prefix} ---\n{} Interests answered\n", count.get()))
}

/// Prints an event of the connection.
pub fn tell(event: &Event<'_>) {
    match event {
        Event::Disconnected(error) => note!("the forwarder is gone ({error}); waiting for it"),
        Event::Connected => note!("the forwarder is back"),
        Event::Registered { prefix, outcome: Err(error) } => note!("{prefix} is not registered: {error}"),
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_refused() {
        assert_eq!(a_while("1ms"), Ok(Span::from_millis(1)));
        assert_eq!(a_while("0s"), Err("wanted 1ms or more".to_owned()));
        assert_eq!(a_while("999us"), Err("wanted 1ms or more".to_owned()));
        assert!(a_while("soon").is_err());
    }

    #[test]
    fn the_summary_has_the_round_trips_that_were_measured() {
        let mut pings = Pings::new();
        for ms in [1, 2, 3, 7_200_000] {
            pings.record(Span::from_millis(ms));
        }
        let summary = pings.summary(&"/a".parse().unwrap());
        let rtt = serde_json::to_value(&summary.rtt_ms).unwrap();
        let within = |key: &str, ms: f64| {
            let is = rtt[key].as_f64().unwrap();
            assert!((is / ms - 1.0).abs() < 2e-3, "{key}: {is} for {ms}");
        };
        within("min", 1.0);
        within("p50", 2.0);
        within("max", 7.2e6);
        assert_eq!(summary.received, 4);
    }

    #[test]
    fn the_extremes_are_exact_and_no_percentile_is_outside_them() {
        let mut pings = Pings::new();
        for us in [4_708, 4_301, 4_707] {
            pings.record(Span::from_micros(us));
        }
        let summary = pings.summary(&"/a".parse().unwrap());
        let RttMs { min, max, delay } = &summary.rtt_ms;
        assert_eq!((*min, *max), (Some(4.301), Some(4.708)));
        assert_eq!((delay.p95, delay.p99), (Some(4.708), Some(4.708)));
        let said = text(&summary);
        assert!(
            said.contains("min/mean/max 4.301/") && said.contains("/4.708 ms, 99 % within 4.708 ms"),
            "{said}"
        );
        let one = Pings::new().summary(&"/a".parse().unwrap());
        assert_eq!((one.rtt_ms.min, one.rtt_ms.delay.p99), (None, None));
    }
}
