//! The applications of one node of a scenario, as an application of a forwarder: its consumers and producers, with
//! classes, rates, sizes and times as the scenario says. `tests/qos` runs it.
//!
//! ```text
//! traffic SCENARIO NODE UNIX-SOCKET [PATH=VALUE]...
//! ```
//!
//! A `PATH=VALUE` changes a value of the scenario, as `--set` of `weir run` does.
//!
//! A node that only produces does so until it is killed. One that consumes stops with the scenario and prints, as
//! JSON, what each of its consumers got in each of the scenario's windows.

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use weir_app::{App, AppError, Event, Fetch, FlowId, Segments};
use weir_core::consumer::{ConsumerCounters, Source};
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::Packet;
use weir_core::params::{Params, Value as ParamValue};
use weir_core::scheme::Scheme;
use weir_core::units::{Bytes, Span, Time};
use weir_core::wire;
use weir_management::client::Endpoint;
use weir_packet::Name;
use weir_scenario::{Flow, Override, Scenario, SourceRate};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, node, socket, set @ ..] = &arguments[..] else {
        return Err("usage: traffic SCENARIO NODE UNIX-SOCKET [PATH=VALUE]...".into());
    };
    let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
    let scenario = Scenario::parse(file, file, &fs::read_to_string(file)?, &overrides)?;
    let node = scenario.node(node).ok_or_else(|| format!("{file} has no node {node}"))?;
    let mut app = App::connect(&Endpoint::Unix(socket.into()))?;
    for flow in scenario.flows.iter().filter(|flow| flow.producers.contains(&node)) {
        let segments = Segments::new(flow.payload, flow.freshness)?;
        app.produce(flow.prefix.parse()?, Box::new(segments))?;
    }
    println!("ready");
    std::io::stdout().flush()?;
    let flows: Vec<&Flow> = scenario.flows.iter().filter(|flow| flow.consumer == node).collect();
    if flows.is_empty() {
        return Ok(app.run(Time::NEVER, &mut |_, _| ControlFlow::Continue(()))?);
    }
    println!("{}", consume(&scenario, &flows, &mut app)?);
    Ok(())
}

/// Runs the consumers until the scenario ends; what they got.
fn consume(scenario: &Scenario, flows: &[&Flow], app: &mut App) -> Result<Value, Box<dyn Error>> {
    let scheme = scheme(scenario)?;
    let begin = app.now();
    for flow in flows {
        app.fetch(fetch(flow)?, &*scheme, begin + flow.start)?;
    }
    let mut windows = Vec::new();
    for window in &scenario.windows {
        windows.push(Window {
            from: begin + window.from,
            to: begin + window.to,
            flows: (0..flows.len()).map(|_| Got::new()).collect::<Result<_, _>>()?,
        });
    }
    app.run(begin + scenario.duration, &mut |now, event| {
        let Event::Segment { flow, delivery, .. } = event else { return ControlFlow::Continue(()) };
        for window in windows.iter_mut().filter(|window| window.from <= now && now < window.to) {
            let got = &mut window.flows[flow as usize];
            got.content += delivery.content;
            got.delays.saturating_record(delivery.delay.as_nanos() / 1000);
        }
        ControlFlow::Continue(())
    })?;
    drain(app, flows)?;
    let counters: Vec<ConsumerCounters> = (0..flows.len() as FlowId)
        .filter_map(|flow| app.consumer(flow).map(|consumer| *consumer.counters()))
        .collect();
    let windows: Vec<Value> = windows.iter().map(|window| window.json(flows)).collect();
    let sum = |of: fn(&ConsumerCounters) -> u64| counters.iter().map(of).sum::<u64>();
    Ok(json!({
        "windows": windows,
        "sent": sum(|c| c.sent),
        "delivered": sum(|c| c.delivered),
        "timeouts": sum(|c| c.timeouts),
        "retransmitted": sum(|c| c.retransmitted),
        "nacks": sum(|c| c.nacks),
        "duplicates": sum(|c| c.duplicates),
        "refused": app.refused(),
    }))
}

/// Waits for what is still pending, but not longer than it lives.
fn drain(app: &mut App, flows: &[&Flow]) -> Result<(), AppError> {
    app.stop();
    let longest = flows.iter().map(|flow| flow.lifetime).max().unwrap_or(Span::ZERO);
    let until = app.now() + longest;
    while app.pending() > 0 && app.now() < until {
        app.run(until, &mut |_, _| ControlFlow::Break(()))?;
    }
    Ok(())
}

/// The scenario's own scheme.
fn scheme(scenario: &Scenario) -> Result<Box<dyn Scheme>, Box<dyn Error>> {
    let name = scenario.scheme.as_str();
    let entry = weir_schemes::find(name).ok_or_else(|| format!("there is no scheme {name}"))?;
    let given: Vec<(&str, ParamValue)> = scenario
        .scheme_params(name)
        .iter()
        .map(|param| (param.key.as_str(), ParamValue::from(&param.value)))
        .collect();
    let params = Params::resolve(entry.parameters, given.iter().map(|(key, value)| (*key, value)))
        .map_err(|error| format!("{name}: {}: {}", error.key, error.message))?;
    Ok((entry.build)(&params))
}

fn fetch(flow: &Flow) -> Result<Fetch, Box<dyn Error>> {
    let prefix: Name = flow.prefix.parse()?;
    Ok(Fetch {
        class: flow.class,
        amount: flow.amount,
        source: match flow.source {
            SourceRate::Elastic => Source::Elastic,
            SourceRate::Limited(rate) => Source::Limited(rate),
            SourceRate::Unresponsive(rate) => Source::Unresponsive(rate),
        },
        lifetime: flow.lifetime,
        must_be_fresh: flow.freshness.is_some(),
        expected_size: first_size(&prefix, flow),
        ..Fetch::new(prefix)
    })
}

/// Size of the Data of the first segment.
fn first_size(prefix: &Name, flow: &Flow) -> Bytes {
    let mut data = Packet::default();
    // Without the name it is a little too small, and soon learned.
    data.name =
        HashedName::parse(&NameHasher::new(0), prefix.clone().with_segment(0).value()).unwrap_or_default();
    data.content_len = flow.payload.as_u64() as u32;
    data.freshness = flow.freshness.unwrap_or(Span::ZERO);
    Bytes::new(u64::from(wire::data_len(&data)))
}

/// Longer delays count as this: no Interest lives for so long.
const LONGEST_DELAY_US: u64 = 100_000_000;

/// What a consumer got.
struct Got {
    content: u64,
    /// Delays, µs.
    delays: Histogram<u64>,
}

impl Got {
    fn new() -> Result<Got, hdrhistogram::CreationError> {
        Ok(Got { content: 0, delays: Histogram::new_with_max(LONGEST_DELAY_US, 3)? })
    }
}

/// What consumers got within a window.
struct Window {
    from: Time,
    to: Time,
    flows: Vec<Got>,
}

impl Window {
    fn json(&self, flows: &[&Flow]) -> Value {
        let seconds = (self.to - self.from).as_nanos() as f64 / 1e9;
        let mut classes: BTreeMap<&str, Vec<&Got>> = BTreeMap::new();
        for (flow, got) in flows.iter().zip(&self.flows) {
            classes.entry(flow.class.name()).or_default().push(got);
        }
        let one = |got: &[&Got]| -> Value {
            let mut delays = Histogram::<u64>::new_with_max(LONGEST_DELAY_US, 3).ok();
            for got in got {
                delays.as_mut().map(|delays| delays.add(&got.delays));
            }
            let content: u64 = got.iter().map(|got| got.content).sum();
            let at = |quantile| delays.as_ref().map(|d| d.value_at_quantile(quantile) as f64 / 1e3);
            json!({
                "goodput_bps": 8.0 * content as f64 / seconds,
                "delay_ms": {
                    "mean": delays.as_ref().map(|d| d.mean() / 1e3),
                    "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0),
                },
            })
        };
        let of = |name: Value, got: &[&Got]| {
            let mut document = one(got);
            document["name"] = name;
            document
        };
        json!({
            "classes": classes.iter().map(|(class, got)| of(json!(class), got)).collect::<Vec<_>>(),
            "flows": flows.iter().zip(&self.flows).map(|(flow, got)| of(json!(flow.prefix), &[got])).collect::<Vec<_>>(),
        })
    }
}
