//! What a scenario changes while it runs, in words: for marks in plots.

use std::collections::BTreeMap;
use weir_core::consumer::Source;
use weir_core::units::Span;
use weir_measure::ChangeRow;
use weir_scenario::{Event, FlowId, LinkId, NodeId, Scenario};

/// Times named at most; a scenario with more changes says nothing by naming all.
const MOST: usize = 40;

/// The scenario's events, and starts and stops of groups of flows within the run, in order of time. Empty if they are too many.
pub(crate) fn changes(scenario: &Scenario) -> Vec<ChangeRow> {
    let mut by_time: BTreeMap<Span, Vec<String>> = BTreeMap::new();
    let mut add = |at: Span, what: String| {
        if at >= scenario.duration {
            return;
        }
        let known = by_time.entry(at).or_default();
        if !known.contains(&what) {
            known.push(what);
        }
    };
    for flow in &scenario.flows {
        if flow.start > Span::ZERO && flow.start_jitter == Span::ZERO {
            add(flow.start, format!("{} starts", flow.name));
        }
        if let Some(stop) = flow.stop {
            add(stop, format!("{} stops", flow.name));
        }
    }
    for event in &scenario.events {
        add(event.at, words(scenario, &event.what));
    }
    if by_time.len() > MOST {
        return Vec::new();
    }
    let row = |(at, what): (Span, Vec<String>)| ChangeRow { at_s: at.as_secs_f64(), what: what.join(", ") };
    by_time.into_iter().map(row).collect()
}

fn words(scenario: &Scenario, event: &Event) -> String {
    let node = |node: NodeId| scenario.nodes[node.index()].name.as_str();
    let link = |link: LinkId| {
        let link = &scenario.links[link.index()];
        let name = link.name.as_ref().map_or_else(String::new, |name| format!(":{name}"));
        format!("{}–{}{name}", node(link.a), node(link.b))
    };
    let flows = |flows: &mut dyn Iterator<Item = FlowId>| {
        let mut names: Vec<&str> = flows.map(|flow| scenario.flows[flow.index()].name.as_str()).collect();
        names.dedup();
        names.join(" and ")
    };
    let pair = |one: String, other: String| if one == other { one } else { format!("{one} and {other}") };
    match event {
        Event::FlowSource { flows: of, source } => {
            let of = flows(&mut of.iter().copied());
            match source {
                Source::Elastic => format!("{of} asks for all it can get"),
                Source::Limited(rate) => format!("{of} asks for {rate} at most"),
                Source::Unresponsive(rate) => format!("{of} asks for {rate}, whatever comes"),
            }
        }
        Event::LinkRate { link: of, rate: [one, other] } => {
            format!("{} has {}", link(*of), pair(one.to_string(), other.to_string()))
        }
        Event::LinkDelay { link: of, delay: [one, other] } => {
            format!("{} has a delay of {}", link(*of), pair(one.to_string(), other.to_string()))
        }
        Event::LinkLoss { link: of, loss } => format!("{} loses {} %", link(*of), 100.0 * loss),
        Event::LinkLossBurst { link: of, length } => format!("{} loses {length} in a row", link(*of)),
        Event::LinkJitter { link: of, jitter } => format!("{} has a jitter of {jitter}", link(*of)),
        Event::LinkDown { link: of } => format!("{} fails", link(*of)),
        Event::LinkUp { link: of } => format!("{} works again", link(*of)),
        Event::NodeDown { node: of } => format!("{} fails", node(*of)),
        Event::NodeUp { node: of } => format!("{} works again", node(*of)),
        Event::FlowProducers { flows: of } => {
            format!("the producer of {} moves", flows(&mut of.iter().map(|(flow, _)| *flow)))
        }
        Event::NodeCacheRatio { node: of, ratio } => {
            format!("the cache of {} answers {} %", node(*of), 100.0 * ratio)
        }
    }
}
