//! A scenario with smaller rates, and the packets a second that one asks for.

use std::sync::Arc;

use weir_core::units::Rate;
use weir_scenario::{DirectedLink, Event, Flow, NodeId, Scenario, SourceRate};

use crate::error::LabError;

/// Processor time that a forwarder takes for a packet, s. Assumed, from the time that `make bench` measures for an exchange
/// over UDP (an Interest and its Data at two faces each), with room for wake-ups of few packets.
const FORWARDING_S: f64 = 12e-6;
/// The part of all processors that a lab may use before it is to be late.
const USABLE: f64 = 0.8;
/// Bytes of a Data beside its content, and of an Interest, about.
const HEADERS: f64 = 60.0;

/// The scenario with all rates and amounts multiplied by a factor; delays and times stay. Its expectations go: they are about
/// the rates of the file.
///
/// # Errors
/// A factor that is not above 0 and at most 1, and a link whose rates come from a trace.
pub fn scaled(scenario: &Arc<Scenario>, factor: f64) -> Result<Arc<Scenario>, LabError> {
    if !(factor > 0.0 && factor <= 1.0) {
        return Err(LabError::Invalid(format!("--scale {factor}: wanted a number above 0, up to 1")));
    }
    if factor == 1.0 {
        return Ok(Arc::clone(scenario));
    }
    let mut scaled = Scenario::clone(scenario);
    if scaled.links.iter().any(|link| link.rate_trace.is_some()) {
        return Err(LabError::Invalid("--scale: a link has `rate_trace`, which cannot be scaled".to_owned()));
    }
    let rate = |rate: Rate| Rate::from_bps((rate.as_bps_f64() * factor).round() as u64);
    let source = |of: SourceRate| match of {
        SourceRate::Elastic => SourceRate::Elastic,
        SourceRate::Limited(limit) => SourceRate::Limited(rate(limit)),
        SourceRate::Unresponsive(fixed) => SourceRate::Unresponsive(rate(fixed)),
    };
    for link in &mut scaled.links {
        link.rate = link.rate.map(rate);
    }
    for flow in &mut scaled.flows {
        flow.source = source(flow.source);
        flow.amount = flow.amount.map(|amount| ((amount as f64 * factor).round() as u64).max(1));
    }
    for event in &mut scaled.events {
        match &mut event.what {
            Event::LinkRate { rate: of, .. } => *of = of.map(rate),
            Event::FlowSource { source: of, .. } => *of = source(*of),
            _ => {}
        }
    }
    scaled.expectations.clear();
    Ok(Arc::new(scaled))
}

/// About how many packets a second flows put on all links together at most: each flow is as fast as the slowest link of its way
/// or its source, and links share what their flows have.
pub fn packets_per_second(scenario: &Scenario) -> f64 {
    let mut load = vec![0.0; 2 * scenario.links.len()];
    let mut packets = vec![0.0; 2 * scenario.links.len()];
    for flow in &scenario.flows {
        let ways = ways(scenario, flow);
        // Data go the other way.
        let back = |hop: &DirectedLink| 2 * hop.link.index() + 1 - hop.direction;
        let rate_of = |hop: &DirectedLink| {
            scenario.links[hop.link.index()].rate[1 - hop.direction].as_bps_f64()
        };
        // The slowest cut of a way with branches is at most the sum of a node's next hops.
        let most = ways.iter().map(|hops| hops.iter().map(rate_of).sum::<f64>()).fold(f64::MAX, f64::min);
        let most = match flow.source {
            SourceRate::Elastic => most,
            SourceRate::Limited(rate) | SourceRate::Unresponsive(rate) => most.min(rate.as_bps_f64()),
        };
        if most == f64::MAX {
            continue;
        }
        let bits = 8.0 * (flow.payload.as_u64() as f64 + HEADERS);
        for hops in &ways {
            for hop in hops {
                let direction = back(hop);
                let part = rate_of(hop) / hops.iter().map(rate_of).sum::<f64>();
                load[direction] += most * part;
                packets[direction] += most * part / bits;
            }
        }
    }
    let rates = scenario.links.iter().flat_map(|link| [link.rate[0], link.rate[1]]);
    let of_direction = rates.zip(load.iter().zip(&packets)).map(|(rate, (load, packets))| {
        // A Data and its Interest.
        2.0 * packets * (rate.as_bps_f64() / load.max(1.0)).min(1.0)
    });
    of_direction.sum()
}

/// The next hops at each node on the ways from a flow's consumer, each node once.
fn ways(scenario: &Scenario, flow: &Flow) -> Vec<Vec<DirectedLink>> {
    let mut seen: Vec<NodeId> = vec![flow.consumer];
    let mut ways = Vec::new();
    let mut at = 0;
    while let Some(&node) = seen.get(at) {
        at += 1;
        if flow.producers.contains(&node) {
            continue;
        }
        let routes = scenario.routes.iter().filter(|route| route.node == node);
        let best = routes
            .filter(|route| weir_scenario::covers(&route.prefix, &flow.prefix))
            .max_by_key(|route| route.prefix.len());
        let Some(route) = best else { continue };
        ways.push(route.next_hops.iter().map(|hop| hop.link).collect());
        for hop in &route.next_hops {
            if !seen.contains(&hop.node) {
                seen.push(hop.node);
            }
        }
    }
    ways
}

/// Why a scenario may be too much for this machine, whose links can carry so many frames a second; `None`: it should keep up.
pub fn warning(scenario: &Scenario, carried: Option<f64>, processors: usize) -> Option<String> {
    let asked = packets_per_second(scenario);
    let of_nodes = USABLE * processors as f64 / FORWARDING_S;
    let most = carried.unwrap_or(f64::MAX).min(of_nodes);
    // A factor that people would write: 0.5, 0.2, 0.1, 0.05, …
    let factor = most / asked;
    let fits = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01].into_iter().find(|of| *of <= factor).unwrap_or(0.005);
    (asked > most).then(|| {
        format!(
            "the flows may put {asked:.0} packets a second on links, and this machine carries about {most:.0}; --scale {fits} runs with smaller rates"
        )
    })
}
