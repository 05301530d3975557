//! Writes events of packets to a trace. Nothing here runs without a trace.

use weir_core::ids::FaceId;
use weir_core::node::Input;
use weir_core::packet::{Packet, PacketId};
use weir_measure::{TraceEvent, TraceWhat};

use crate::world::{FaceKind, World};

impl World {
    /// Traces an event of a packet at a face of a node.
    #[inline]
    pub(crate) fn trace(&mut self, node: u32, face: FaceId, what: TraceWhat, packet: PacketId) {
        if self.trace.is_some() {
            self.trace_event(node, face, what, packet);
        }
    }

    #[cold]
    fn trace_event(&mut self, node: u32, face: FaceId, what: TraceWhat, packet: PacketId) {
        let neighbour = self.neighbour(node, face);
        let Some(trace) = &mut self.trace else { return };
        trace.on_event(&TraceEvent { at: self.now, node, neighbour, what, packet: &self.pool[packet] });
    }

    /// The node at the other end of a face; `None` for an application.
    fn neighbour(&self, node: u32, face: FaceId) -> Option<u32> {
        let channel = match self.nodes[node as usize].faces[face.0 as usize] {
            FaceKind::Channel(channel) | FaceKind::Away { channel, .. } => channel,
            FaceKind::Medium { medium, direction } => self.media[medium as usize].first_channel + direction,
            FaceKind::HalfDuplex { wire, direction } => self.wires[wire as usize].first_channel + direction,
            FaceKind::Consumer(_) | FaceKind::Producer(_) => return None,
        };
        Some(self.channels[channel as usize].to.0)
    }

    /// Handles an input and traces the fate of an Interest that is not forwarded.
    #[cold]
    pub(crate) fn traced_input(&mut self, node: u32, input: Input<'_>) {
        let interest = match input {
            Input::Packet { face, packet } if self.pool[packet].is_interest() => {
                Some((face, self.pool[packet].clone()))
            }
            _ => None,
        };
        let forwarder = &mut self.nodes[node as usize].forwarder;
        let before = forwarder.fates();
        forwarder.handle(self.now, input, &mut self.pool, &mut self.actions);
        let after = forwarder.fates();
        let Some((face, packet)) = interest else { return };
        let what = match () {
            () if after.answered > before.answered => TraceWhat::Hit,
            () if after.aggregated > before.aggregated => TraceWhat::Aggregate,
            () => return,
        };
        let neighbour = self.neighbour(node, face);
        let Some(trace) = &mut self.trace else { return };
        trace.on_event(&TraceEvent { at: self.now, node, neighbour, what, packet: &packet });
    }

    /// Hands a consumer's Interests to its node.
    #[cold]
    pub(crate) fn send_traced(&mut self, index: u32) {
        let (node, face) = (self.flows[index as usize].node, self.flows[index as usize].face);
        while let Some(packet) = self.flows[index as usize].consumer.poll_send(self.now, &mut self.pool) {
            self.trace_event(node, face, TraceWhat::Express, packet);
            self.traced_input(node, Input::Packet { face, packet });
        }
    }

    /// Traces the Interests that a consumer has declared lost; `before` is its earlier number of timeouts.
    #[cold]
    pub(crate) fn trace_timeouts(&mut self, index: u32, before: u64) {
        let flow = &self.flows[index as usize];
        let interests = flow.consumer.counters().timeouts - before;
        if interests == 0 {
            return;
        }
        let mut packet = Packet::default();
        packet.name = flow.consumer.prefix().clone();
        let (node, what) = (flow.node, TraceWhat::Timeout { interests });
        let Some(trace) = &mut self.trace else { return };
        trace.on_event(&TraceEvent { at: self.now, node, neighbour: None, what, packet: &packet });
    }
}
