//! The time that a flow would take if it were the only one. Slowdowns are relative to it.

use weir_core::units::Span;
use weir_scenario::{Event, Scenario};

use crate::model::alone_rate;
use crate::network::{Change, Network, State, changes};
use crate::optimum::Alone;
use crate::paths::Paths;
use crate::timeline::{amounts, time};

/// Computes the time that each flow with an amount takes alone. Links and sources change according to the
/// scenario.
pub(crate) fn alone(scenario: &Scenario, network: &Network, utilisation: f64) -> Vec<Option<Alone>> {
    let mut left = amounts(scenario, network);
    let mut found: Vec<Option<Alone>> = vec![None; left.len()];
    let mut delay: Vec<Span> = scenario.links.iter().flat_map(|link| link.mean_delay()).collect();
    let mut state = State::new(scenario, network, utilisation);
    let mut paths = Paths::default();
    let mut open: Vec<usize> = Vec::new();
    let mut changes = changes(scenario);
    changes.reverse();
    let mut now = Span::ZERO;
    loop {
        // Starts and ends of the other flows do not count. All starts between two events are handled
        // together.
        let mut until = Span::MAX;
        while let Some((at, change)) = changes.pop() {
            if let Change::Event(event) = &change {
                if at > now {
                    until = at;
                    changes.push((at, change));
                    break;
                }
                if let Event::LinkDelay { link, delay: new } = event {
                    delay[2 * link.index()..][..2].copy_from_slice(new);
                }
                state.apply(network, &change);
            } else if let Change::Start(flow) = change
                && left[flow].is_some()
            {
                let round_trip = round_trip(network, &delay, flow);
                found[flow] = Some(Alone { round_trip, transmission: None });
                open.push(flow);
            }
        }
        open.retain(|&flow| {
            let (Some(left), Some(found)) = (&mut left[flow], &mut found[flow]) else { return false };
            let from = now.max(scenario.flows[flow].start);
            let rate = rate_of(network, &mut state, flow, &mut paths);
            match time(*left, rate) {
                Some(needed) if needed <= until - from => {
                    found.transmission = Some(from + needed - scenario.flows[flow].start);
                    false
                }
                _ => {
                    *left -= rate * (until - from).as_secs_f64();
                    true
                }
            }
        });
        if until == Span::MAX {
            return found;
        }
        now = until;
    }
}

/// Returns its rate if nothing else runs, bit/s of Data.
fn rate_of(network: &Network, state: &mut State, flow: usize, paths: &mut Paths) -> f64 {
    let source = state.source[flow];
    if network.media.is_empty() {
        return alone_rate(network, state.conditions(network), flow, source, paths);
    }
    // The capacity of a medium depends on the stations in use.
    state.apply(network, &Change::Start(flow));
    let rate = alone_rate(network, state.conditions(network), flow, source, paths);
    state.apply(network, &Change::Stop(flow));
    rate
}

/// Returns the propagation delay of an Interest and its Data on the fastest of a flow's routes.
fn round_trip(network: &Network, delay: &[Span], flow: usize) -> Span {
    let stream = &network.streams[network.stream_of[flow]];
    let mut least = vec![None; stream.nodes.len()];
    for node in (network.node_of[flow]..stream.nodes.len()).rev() {
        let by = |arc: usize| {
            let arc = stream.arcs[arc];
            Some(least[arc.to]? + delay[arc.channel] + delay[arc.back])
        };
        let next: Option<Span> = stream.arcs_of(node).filter_map(by).min();
        least[node] = if stream.produces[node] { Some(Span::ZERO) } else { next };
    }
    least[network.node_of[flow]].unwrap_or_default()
}
