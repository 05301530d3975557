//! The possible paths of a scenario's Interests, by propagation delay alone. They are the reference for delays, and an
//! estimate of the length of a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use weir_core::units::Span;
use weir_scenario::{Event, Fibs, Flow, NextHop, Scenario};

/// The shortest path of a flow to one of its producers along the FIB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortestWay {
    /// The round-trip propagation delay of the links.
    pub round_trip: Span,
    /// The number of links.
    pub hops: u32,
}

/// Returns the shortest path of each flow; `None` if no route leads to a producer.
pub fn shortest_ways(scenario: &Scenario) -> Vec<Option<ShortestWay>> {
    let fibs = Fibs::new(&scenario.routes);
    scenario.flows.iter().map(|flow| shortest_way(scenario, flow, &fibs)).collect()
}

/// Returns for each flow the round-trip propagation delay, ms; `None` if it is zero or unknown. All are
/// `None` if the scenario changes delays or routes.
pub fn round_trips_ms(scenario: &Scenario) -> Vec<Option<f64>> {
    let changes = scenario.events.iter().any(|event| matches!(event.what, Event::LinkDelay { .. }))
        || scenario.routes_change_at().is_some();
    let of_way = |way: ShortestWay| way.round_trip.as_millis_f64();
    let ways = shortest_ways(scenario).into_iter();
    ways.map(|way| way.map(of_way).filter(|delay| *delay > 0.0 && !changes)).collect()
}

/// Dijkstra's algorithm on the nodes that the flow's Interests reach.
fn shortest_way(scenario: &Scenario, flow: &Flow, fibs: &Fibs<'_>) -> Option<ShortestWay> {
    let fibs = fibs.of_name(&flow.prefix);
    let mut known = BTreeMap::from([(flow.consumer, ShortestWay { round_trip: Span::ZERO, hops: 0 })]);
    let mut open = BinaryHeap::from([Reverse((Span::ZERO, flow.consumer))]);
    while let Some(Reverse((round_trip, at))) = open.pop() {
        let way = known[&at];
        if round_trip > way.round_trip {
            continue;
        }
        if flow.producers.contains(&at) {
            return Some(way);
        }
        for NextHop { node: next, link, .. } in fibs.next_hops(at) {
            let [there, back] = scenario.links[link.link.index()].mean_delay();
            let further = ShortestWay { round_trip: way.round_trip + there + back, hops: way.hops + 1 };
            if known.get(next).is_none_or(|known| further.round_trip < known.round_trip) {
                known.insert(*next, further);
                open.push(Reverse((further.round_trip, *next)));
            }
        }
    }
    None
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
        let fibs = Fibs::new(&scenario.routes);
        // The sums of the file's delays along C1-R1-R2-R3-R4-P1 and the like.
        for (flow, way) in scenario.flows.iter().zip(&ways) {
            let way = way.expect("there is a route");
            let mut at = flow.consumer;
            let (mut there, mut hops) = (Span::ZERO, 0);
            while !flow.producers.contains(&at) {
                let next = fibs.of_name(&flow.prefix).next_hops(at)[0].node;
                let link = scenario.link_between(at, next).expect("a link");
                let [a, b] = scenario.links[link.link.index()].delay;
                (there, hops, at) = (there + a + b, hops + 1, next);
            }
            assert_eq!(way, ShortestWay { round_trip: there, hops });
        }
    }

    /// QSCCP's paper, section V-C: the round-trip times of the paths are 90, 100, 110 and 120 ms.
    #[test]
    fn of_several_ways_the_shortest_one_is_taken() {
        let scenario = Source::find("qsccp/diamond-latency")
            .and_then(|source| source.read(&[]))
            .expect("it is built in");
        assert_eq!(round_trips_ms(&scenario), vec![Some(90.0); 3]);
    }
}
