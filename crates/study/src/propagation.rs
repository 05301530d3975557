//! The possible paths of a scenario's Interests, by propagation delay alone. They are the reference for delays, and an
//! estimate of the length of a run.

use weir_core::units::Span;
use weir_scenario::{Event, Flow, NextHop, NodeId, Route, Scenario, covers};

/// The shortest way of a flow to one of its producers along the FIB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortestWay {
    /// Propagation delay of the links there and back.
    pub round_trip: Span,
    /// Links on it.
    pub hops: u32,
}

/// That of each flow; `None` where no route leads to a producer.
pub fn shortest_ways(scenario: &Scenario) -> Vec<Option<ShortestWay>> {
    let mut ways = Vec::with_capacity(scenario.flows.len());
    let mut routes: (&str, Vec<Option<&Route>>) = ("", Vec::new());
    for flow in &scenario.flows {
        // Flows of one prefix often follow each other.
        if routes.1.is_empty() || routes.0 != flow.prefix {
            routes = (&flow.prefix, routes_of(scenario, &flow.prefix));
        }
        ways.push(shortest_way(scenario, flow, &routes.1));
    }
    ways
}

/// For each flow the propagation delay there and back, ms; `None` where that is nothing or unknown, and of all where the
/// scenario changes delays or routes.
pub fn round_trips_ms(scenario: &Scenario) -> Vec<Option<f64>> {
    let changes = scenario.events.iter().any(|event| matches!(event.what, Event::LinkDelay { .. }))
        || scenario.routes_change_at().is_some();
    let of_way = |way: ShortestWay| way.round_trip.as_millis_f64();
    let ways = shortest_ways(scenario).into_iter();
    ways.map(|way| way.map(of_way).filter(|delay| *delay > 0.0 && !changes)).collect()
}

/// For each node the FIB entry that an Interest below the prefix takes.
fn routes_of<'s>(scenario: &'s Scenario, prefix: &str) -> Vec<Option<&'s Route>> {
    let mut of_nodes: Vec<Option<&Route>> = vec![None; scenario.nodes.len()];
    for route in scenario.routes.iter().filter(|route| covers(&route.prefix, prefix)) {
        let best = &mut of_nodes[route.node.index()];
        if best.is_none_or(|best| best.prefix.len() < route.prefix.len()) {
            *best = Some(route);
        }
    }
    of_nodes
}

/// Dijkstra's algorithm; networks are small.
fn shortest_way(scenario: &Scenario, flow: &Flow, routes: &[Option<&Route>]) -> Option<ShortestWay> {
    let mut known: Vec<Option<ShortestWay>> = vec![None; scenario.nodes.len()];
    let mut is_done = vec![false; scenario.nodes.len()];
    known[flow.consumer.index()] = Some(ShortestWay { round_trip: Span::ZERO, hops: 0 });
    loop {
        let open = (0..known.len()).filter(|&node| !is_done[node]);
        let (at, way) =
            open.filter_map(|node| Some((node, known[node]?))).min_by_key(|(_, way)| way.round_trip)?;
        if flow.producers.contains(&NodeId(at)) {
            return Some(way);
        }
        is_done[at] = true;
        for NextHop { node: next, link, .. } in routes[at].iter().flat_map(|route| &route.next_hops) {
            let [there, back] = scenario.links[link.link.index()].mean_delay();
            let further = ShortestWay { round_trip: way.round_trip + there + back, hops: way.hops + 1 };
            if known[next.index()].is_none_or(|known| further.round_trip < known.round_trip) {
                known[next.index()] = Some(further);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn the_shortest_way_follows_the_routes_there_and_back() {
        let scenario =
            Source::find("qsccp/dumbbell").and_then(|source| source.read(&[])).expect("it is built in");
        let ways = shortest_ways(&scenario);
        assert_eq!(ways.len(), scenario.flows.len());
        // C1-R1-R2-R3-R4-P1 and the like: what the delays of the file add up to.
        for (flow, way) in scenario.flows.iter().zip(&ways) {
            let way = way.expect("there is a route");
            let mut at = flow.consumer;
            let (mut there, mut hops) = (Span::ZERO, 0);
            while !flow.producers.contains(&at) {
                let routes = routes_of(&scenario, &flow.prefix);
                let next = routes[at.index()].expect("a route").next_hops[0].node;
                let link = scenario.link_between(at, next).expect("a link");
                let [a, b] = scenario.links[link.link.index()].delay;
                (there, hops, at) = (there + a + b, hops + 1, next);
            }
            assert_eq!(way, ShortestWay { round_trip: there, hops });
        }
    }

    /// QSCCP's paper, section V-C: the paths take 90, 100, 110 or 120 ms there and back.
    #[test]
    fn of_several_ways_the_shortest_one_is_taken() {
        let scenario = Source::find("qsccp/diamond-latency")
            .and_then(|source| source.read(&[]))
            .expect("it is built in");
        assert_eq!(round_trips_ms(&scenario), vec![Some(90.0); 3]);
    }
}
