//! The script of an experiment: its changes and their times.

use weir_core::consumer::Source;
use weir_core::units::{Rate, Span, Time};
use weir_scenario::{Event, FlowId, LinkId, NodeId};

use crate::applications::source;
use crate::experiment::Experiment;

/// Something that changes at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A flow begins.
    Start(FlowId),
    /// A flow sends no more Interests.
    Stop(FlowId),
    /// A flow's application asks for something else.
    Source(FlowId, Source),
    /// The rates of a link, from its first end and from its second.
    Rate(LinkId, [Rate; 2]),
    /// The propagation delays of a link, likewise, for packets put on it from now on.
    Delay(LinkId, [Span; 2]),
    /// The loss ratio of a link, 0 to 1.
    Loss(LinkId, f64),
    /// The mean length of a link's bursts of losses, packets.
    LossBurst(LinkId, f64),
    /// The bound of a link's jitter, for packets put on it from now on.
    Jitter(LinkId, Span),
    /// A link works, or fails: then what is on it is lost.
    Up(LinkId, bool),
    /// The hit ratio of a node's simulated cache, 0 to 1.
    CacheRatio(NodeId, f64),
}

impl Experiment {
    /// All changes, in order of time; those at one time in the order of flows, and then of events.
    pub fn script(&self) -> Vec<(Time, Change)> {
        let mut script = Vec::new();
        for (index, flow) in self.scenario().flows.iter().enumerate() {
            script.push((Time::ZERO + flow.start, Change::Start(FlowId(index))));
            if let Some(stop) = flow.stop {
                script.push((Time::ZERO + stop, Change::Stop(FlowId(index))));
            }
        }
        for event in &self.scenario().events {
            let at = Time::ZERO + event.at;
            match &event.what {
                Event::FlowSource { flows, source: rate } => {
                    script.extend(flows.iter().map(|flow| (at, Change::Source(*flow, source(*rate)))));
                }
                Event::LinkRate { link, rate } => script.push((at, Change::Rate(*link, *rate))),
                Event::LinkDelay { link, delay } => script.push((at, Change::Delay(*link, *delay))),
                Event::LinkLoss { link, loss } => script.push((at, Change::Loss(*link, *loss))),
                Event::LinkLossBurst { link, length } => script.push((at, Change::LossBurst(*link, *length))),
                Event::LinkJitter { link, jitter } => script.push((at, Change::Jitter(*link, *jitter))),
                Event::LinkDown { link } => script.push((at, Change::Up(*link, false))),
                Event::LinkUp { link } => script.push((at, Change::Up(*link, true))),
                Event::NodeCacheRatio { node, ratio } => script.push((at, Change::CacheRatio(*node, *ratio))),
            }
        }
        script.sort_by_key(|(at, _)| *at);
        script
    }
}
