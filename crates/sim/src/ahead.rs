//! Prefetches the memory that the next events need while others are handled. In a network of a thousand
//! nodes, each packet reaches a node that is no longer in the processor's cache, and waits for some fifty
//! cache lines. Prefetching affects no result: an event that is not foreseen, or does not come, only costs
//! time.
//!
//! An event passes five steps before its turn, two events apart. Each step reads what the step before has
//! prefetched.

use weir_core::ids::FaceId;
use weir_core::prefetch::prefetch;
use weir_core::units::{Span, Time};

use crate::world::{FIRST_CHANNEL_EVENT, FaceKind, SimNode, World};

/// Number of events by which each step of an event comes before it.
const STEPS: [usize; 5] = [10, 8, 6, 4, 2];
/// With fewer entities, everything is in the caches anyway. Assumed: some 2 kB for each, and caches of a few
/// megabytes.
const FEW: usize = 2_000;
/// Number of events that are looked up at once, if the span permits it.
const WANTED: core::ops::Range<usize> = 64..256;
const MOST: usize = 1024;

/// The next events, as far as they are known.
pub(crate) struct Ahead {
    events: Vec<(Time, u32)>,
    /// Index of the first event that is not over.
    at: usize,
    /// The progress of each step.
    steps: [usize; STEPS.len()],
    /// How far to look ahead, ns.
    span: u64,
}

impl Default for Ahead {
    fn default() -> Ahead {
        Ahead { events: Vec::new(), at: 0, steps: [0; STEPS.len()], span: 1_000 }
    }
}

impl World {
    /// Returns whether the world is large enough for looking ahead to pay.
    pub(crate) fn is_large(&self) -> bool {
        self.events.len() > FEW
    }

    /// Makes the next step for the events after the one that is about to be handled.
    #[inline]
    pub(crate) fn look_ahead(&mut self) {
        while self.ahead.events.get(self.ahead.at).is_some_and(|(at, _)| *at <= self.now) {
            self.ahead.at += 1;
        }
        if self.ahead.at + 2 >= self.ahead.events.len() {
            self.look_up_next();
        }
        for (step, distance) in STEPS.into_iter().enumerate() {
            let end = (self.ahead.at + distance).min(self.ahead.events.len());
            while self.ahead.steps[step] < end {
                let (_, event) = self.ahead.events[self.ahead.steps[step]];
                self.ahead.steps[step] += 1;
                self.fetch(step, event);
            }
        }
    }

    #[cold]
    fn look_up_next(&mut self) {
        let ahead = &mut self.ahead;
        ahead.events.clear();
        (ahead.at, ahead.steps) = (0, [0; STEPS.len()]);
        self.events.before(self.now + Span::from_nanos(ahead.span), MOST, &mut ahead.events);
        ahead.events.sort_unstable();
        if ahead.events.len() < WANTED.start {
            ahead.span = (2 * ahead.span).min(1_000_000_000);
        } else if ahead.events.len() > WANTED.end {
            ahead.span = (ahead.span / 2).max(1);
        }
    }

    #[inline]
    fn fetch(&self, step: usize, event: u32) {
        let first_node = self.node_event(0);
        if event >= first_node {
            if let Some(node) = self.nodes.get((event - first_node) as usize) {
                self.fetch_node(step, node);
            }
        } else if event >= self.first_flow_event() {
            self.fetch_flow(step, self.flow_of_event[(event - self.first_flow_event()) as usize]);
        } else if event >= FIRST_CHANNEL_EVENT && event < self.medium_event(0) {
            self.fetch_arrival(step, event - FIRST_CHANNEL_EVENT);
        }
    }

    fn fetch_node(&self, step: usize, node: &SimNode) {
        match step {
            0 => node.forwarder.prefetch_deadlines(),
            1 => node.forwarder.prefetch_due(),
            2 => {
                prefetch(&node.faces);
                prefetch(&node.scheduled);
                node.forwarder.prefetch_due_link();
            }
            3 => self.fetch_way(node, node.forwarder.prefetch_due_link()),
            _ => {}
        }
    }

    fn fetch_flow(&self, step: usize, flow: u32) {
        let flow = &self.flows[flow as usize];
        match step {
            0 => flow.consumer.prefetch(),
            1 => self.nodes[flow.node as usize].forwarder.prefetch_fields(),
            2 => self.nodes[flow.node as usize].forwarder.prefetch_behind(flow.face),
            _ => {}
        }
    }

    fn fetch_arrival(&self, step: usize, channel: u32) {
        let channel = &self.channels[channel as usize];
        if step == 0 {
            prefetch(&channel.in_flight);
            return prefetch(&channel.way);
        }
        let (node, face) = channel.to;
        let node = &self.nodes[node as usize];
        let Some((_, packet)) = channel.in_flight.front() else { return };
        if step == 1 {
            prefetch(&channel.in_flight[0]);
            node.forwarder.prefetch_fields();
            prefetch(&node.faces);
            return prefetch(&node.scheduled);
        }
        let packet = &self.pool[*packet];
        match step {
            2 => {
                packet.prefetch();
                node.forwarder.prefetch_behind(face);
            }
            3 => node.forwarder.prefetch_for(face, packet),
            _ => self.fetch_way(node, node.forwarder.prefetch_out(packet)),
        }
    }

    /// Prefetches the memory for a packet that leaves by a face.
    #[inline]
    fn fetch_way(&self, node: &SimNode, face: Option<FaceId>) {
        match face.and_then(|face| node.faces.get(face.0 as usize)) {
            Some(FaceKind::Channel(index)) => {
                let channel = &self.channels[*index as usize];
                prefetch(&channel.in_flight);
                prefetch(&channel.way);
                self.measure.prefetch(*index);
            }
            Some(FaceKind::Consumer(flow)) => self.flows[*flow as usize].consumer.prefetch(),
            _ => {}
        }
    }
}
