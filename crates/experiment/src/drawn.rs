//! Draws the random parts of the scenario itself with the seed, before the run: delays of links, starts and
//! amounts of flows, nodes of consumers.

use std::sync::Arc;

use weir_core::random::Random;
use weir_core::units::Span;
use weir_scenario::{Flow, Link, Scenario};

use crate::traffic::drawn_amount;

/// Returns the scenario of the run with this seed, without random parts, and whether the seed has drawn any.
pub fn drawn(scenario: Arc<Scenario>, seed: u64) -> (Arc<Scenario>, bool) {
    let is_drawn = scenario.links.iter().any(|link| link.delay_jitter > 0.0)
        || scenario.flows.iter().any(|flow| {
            flow.start_jitter > Span::ZERO || !flow.drawn_from.is_empty() || flow.amount_drawn.is_some()
        });
    if !is_drawn {
        return (scenario, false);
    }
    let mut drawn = Scenario::clone(&scenario);
    for link in &mut drawn.links {
        let names = [link.a, link.b].map(|node| scenario.nodes[node.index()].name.as_str());
        let name = link.name.as_ref().map_or(String::new(), |name| format!(":{name}"));
        draw_delay(link, Random::named(seed, &format!("delay of {}{name}", names.join("-"))));
    }
    for flow in drawn.flows.iter_mut().filter(|flow| flow.start_jitter > Span::ZERO) {
        let consumer = &scenario.nodes[flow.consumer.index()].name;
        let mut random = Random::named(seed, &format!("start of {} at {consumer}", flow.prefix));
        flow.start = flow.start + part(flow.start_jitter, random.unit());
        flow.start_jitter = Span::ZERO;
    }
    for group in drawn.flows.chunk_by_mut(|a, b| a.name == b.name) {
        draw_amounts(group, seed);
    }
    for group in drawn.flows.chunk_by_mut(|a, b| a.name == b.name) {
        draw_consumers(group, seed);
    }
    (Arc::new(drawn), true)
}

fn draw_delay(link: &mut Link, mut random: Random) {
    if link.delay_jitter > 0.0 {
        let factor = 1.0 + link.delay_jitter * (2.0 * random.unit() - 1.0);
        link.delay = link.delay.map(|delay| part(delay, factor));
        link.delay_jitter = 0.0;
    }
}

fn draw_amounts(group: &mut [Flow], seed: u64) {
    let mut random = Random::named(seed, &format!("amounts of {}", group[0].name));
    for flow in group {
        if let Some(distribution) = flow.amount_drawn.take() {
            flow.amount = Some(drawn_amount(&distribution, &mut random));
        }
    }
}

/// Draws without replacement: the beginning of a Fisher-Yates shuffle.
fn draw_consumers(group: &mut [Flow], seed: u64) {
    let mut nodes = group[0].drawn_from.to_vec();
    if nodes.is_empty() {
        return;
    }
    let mut random = Random::named(seed, &format!("consumers of {}", group[0].name));
    for (at, flow) in group.iter_mut().enumerate() {
        let left = (nodes.len() - at) as u32;
        nodes.swap(at, at + random.below(left) as usize);
        flow.consumer = nodes[at];
        flow.drawn_from = Arc::default();
    }
}

/// Returns a part of a time, to the nanosecond.
fn part(span: Span, factor: f64) -> Span {
    Span::from_nanos((span.as_nanos() as f64 * factor).round() as u64)
}
