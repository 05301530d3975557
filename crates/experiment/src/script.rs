//! The script of an experiment: its changes and their times.

use weir_core::consumer::Source;
use weir_core::units::{Rate, Span, Time};
use weir_scenario::{Event, FlowId, LinkId, NodeId};

use crate::experiment::Experiment;

/// A change at a time of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A flow begins.
    Start(FlowId),
    /// A flow sends no more Interests.
    Stop(FlowId),
    /// The demand of a flow's application changes.
    Source(FlowId, Source),
    /// The rates of a link, from its first end and from its second.
    Rate(LinkId, [Rate; 2]),
    /// The propagation delays of a link, from its first end and from its second, for packets put on it from
    /// now on.
    Delay(LinkId, [Span; 2]),
    /// The loss ratio of a link, 0 to 1.
    Loss(LinkId, f64),
    /// The mean length of a link's bursts of losses, packets.
    LossBurst(LinkId, f64),
    /// The bound of a link's jitter, for packets put on it from now on.
    Jitter(LinkId, Span),
    /// A link works (`true`) or fails. If it fails, packets on it are lost.
    Up(LinkId, bool),
    /// A node works (`true`), with empty tables, or fails. If it fails, it loses its state, and packets on
    /// its links are lost.
    NodeUp(NodeId, bool),
    /// The producers of prefixes move, by the event with this number
    /// ([`Scenario::events`](weir_scenario::Scenario::events)).
    Produce(usize),
    /// The hit ratio of a node's simulated cache, 0 to 1.
    CacheRatio(NodeId, f64),
    /// Routing learns of the event with this number
    /// ([`NetworkView::learn`](weir_scenario::NetworkView::learn)).
    Learn(usize),
    /// Next hops are computed again from the view of routing, and installed
    /// ([`NetworkView::routes`](weir_scenario::NetworkView::routes)).
    Reroute,
}

impl Experiment {
    /// Returns all changes, in order of time; those at one time in the order of flows, and then of events.
    pub fn script(&self) -> Vec<(Time, Change)> {
        let mut script = Vec::new();
        for (index, flow) in self.scenario().flows.iter().enumerate() {
            script.push((Time::ZERO + flow.start, Change::Start(FlowId(index))));
            if let Some(stop) = flow.stop {
                script.push((Time::ZERO + stop, Change::Stop(FlowId(index))));
            }
            for (from, to) in self.pauses(FlowId(index)) {
                script.push((from, Change::Stop(FlowId(index))));
                if flow.stop.is_none_or(|stop| to < Time::ZERO + stop) {
                    script.push((to, Change::Start(FlowId(index))));
                }
            }
        }
        for (number, event) in self.scenario().events.iter().enumerate() {
            let at = Time::ZERO + event.at;
            match &event.what {
                Event::FlowSource { flows, source: rate } => {
                    script.extend(flows.iter().map(|flow| (at, Change::Source(*flow, *rate))));
                }
                Event::LinkRate { link, rate } => script.push((at, Change::Rate(*link, *rate))),
                Event::LinkDelay { link, delay } => script.push((at, Change::Delay(*link, *delay))),
                Event::LinkLoss { link, loss } => script.push((at, Change::Loss(*link, *loss))),
                Event::LinkLossBurst { link, length } => script.push((at, Change::LossBurst(*link, *length))),
                Event::LinkJitter { link, jitter } => script.push((at, Change::Jitter(*link, *jitter))),
                Event::LinkDown { link } => script.push((at, Change::Up(*link, false))),
                Event::LinkUp { link } => script.push((at, Change::Up(*link, true))),
                Event::NodeDown { node } => script.push((at, Change::NodeUp(*node, false))),
                Event::NodeUp { node } => script.push((at, Change::NodeUp(*node, true))),
                Event::FlowProducers { .. } => script.push((at, Change::Produce(number))),
                Event::NodeCacheRatio { node, ratio } => script.push((at, Change::CacheRatio(*node, *ratio))),
            }
        }
        self.add_reroutes(&mut script);
        script.sort_by_key(|(at, _)| *at);
        script
    }

    /// Adds the events that routing learns, and after all those of one time the new next hops.
    fn add_reroutes(&self, script: &mut Vec<(Time, Change)>) {
        let mut times = Vec::new();
        for (at, number) in self.scenario().learned() {
            script.push((Time::ZERO + at, Change::Learn(number)));
            times.push(Time::ZERO + at);
        }
        times.dedup();
        script.extend(times.into_iter().map(|at| (at, Change::Reroute)));
    }
}
