//! Scales a scenario to lower rates, and estimates its packets per second.

use std::sync::Arc;

use weir_core::units::Rate;
use weir_scenario::{DirectedLink, Event, Flow, NodeId, Scenario, Source};

use crate::error::LabError;

/// Processor time of a forwarder per packet, s. Assumed, from `make bench` for an exchange over UDP (an Interest and
/// its Data at two faces each), with a reserve for wake-ups for few packets.
const FORWARDING_S: f64 = 12e-6;
/// Fraction of all processors that a lab may use without being late.
const USABLE: f64 = 0.8;
/// Approximate bytes of a Data besides its content, and of an Interest.
const HEADERS: f64 = 60.0;

/// The scenario with all rates and amounts multiplied by a factor. Delays and times stay. Its expectations are removed,
/// because they are for the original rates.
///
/// # Errors
/// Returns an error if the factor is not above 0 and at most 1, or a link's rate comes from a trace.
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
    // The smallest rate above 0.
    let rate = |rate: Rate| {
        Rate::from_bps(u64::from(rate > Rate::ZERO).max((rate.as_bps_f64() * factor).round() as u64))
    };
    let source = |of: Source| match of {
        Source::Elastic => Source::Elastic,
        Source::Limited(limit) => Source::Limited(rate(limit)),
        Source::Unresponsive(fixed) => Source::Unresponsive(rate(fixed)),
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

/// Estimates how many packets per second the flows put on all links. Each flow is as fast as the slowest link of its
/// path or its source. Flows that share a link get less in proportion.
pub fn packets_per_second(scenario: &Scenario) -> f64 {
    let rates: Vec<f64> =
        scenario.links.iter().flat_map(|link| link.rate).map(|rate| rate.as_bps_f64()).collect();
    // Data travel in the opposite direction.
    let back = |hop: &DirectedLink| 2 * hop.link.index() + 1 - hop.direction;
    let mut load = vec![0.0; rates.len()];
    let mut flows = Vec::new();
    for flow in &scenario.flows {
        let ways = ways(scenario, flow);
        let of_all = |hops: &[DirectedLink]| hops.iter().map(|hop| rates[back(hop)]).sum::<f64>();
        let slowest = ways.iter().map(|hops| of_all(hops)).fold(f64::MAX, f64::min);
        let most = match flow.source {
            Source::Elastic => slowest,
            Source::Limited(rate) | Source::Unresponsive(rate) => slowest.min(rate.as_bps_f64()),
        };
        // If a node has several next hops, the flow is split among them.
        let part = |hops: &[DirectedLink], hop: &DirectedLink| rates[back(hop)] / of_all(hops).max(1.0);
        let parts: Vec<(usize, f64)> =
            ways.iter().flat_map(|hops| hops.iter().map(move |hop| (back(hop), part(hops, hop)))).collect();
        if !parts.is_empty() {
            parts.iter().for_each(|(direction, part)| load[*direction] += most * part);
            let bits = 8.0 * (flow.payload.as_u64() as f64 + HEADERS);
            flows.push((most / bits, parts));
        }
    }
    let fits = |direction: usize| (rates[direction] / load[direction].max(1.0)).min(1.0);
    let packets = |(most, parts): &(f64, Vec<(usize, f64)>)| {
        let part = parts.iter().map(|(direction, _)| fits(*direction)).fold(1.0, f64::min);
        let hops: f64 = parts.iter().map(|(_, part)| part).sum();
        // A Data and its Interest.
        2.0 * most * part * hops
    };
    flows.iter().map(packets).sum()
}

/// The next hops at each node on the paths from a flow's consumer. Each node occurs once.
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

/// Why a scenario may be too much for this machine; `None` if it should keep up. `carried` is the number of frames per
/// second that its links can carry.
pub fn warning(scenario: &Scenario, carried: Option<f64>, processors: usize) -> Option<String> {
    let asked = packets_per_second(scenario);
    let of_nodes = USABLE * processors as f64 / FORWARDING_S;
    let most = carried.unwrap_or(f64::MAX).min(of_nodes);
    // Choose a round factor: 0.5, 0.2, 0.1, 0.05, …
    let factor = most / asked;
    let fits = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01].into_iter().find(|of| *of <= factor).unwrap_or(0.005);
    (asked > most).then(|| {
        format!(
            "the flows may put {asked:.0} packets a second on links, and this machine carries about {most:.0}; --scale {fits} runs with smaller rates"
        )
    })
}
