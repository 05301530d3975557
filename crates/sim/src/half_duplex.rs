//! Half-duplex links of a world: the packets that they are offered, and when these have left.

use weir_core::ids::FaceId;
use weir_core::link::HalfDuplex;
use weir_core::node::Input;
use weir_core::packet::PacketId;
use weir_core::seam::DropReason;
use weir_core::units::{Bytes, Time};
use weir_measure::TraceWhat;

use crate::world::World;

/// A half-duplex link with its two directions as channels.
pub(crate) struct Wire {
    pub(crate) link: HalfDuplex,
    /// The channel of its first direction. The other one follows.
    pub(crate) first_channel: u32,
}

impl World {
    /// Offers a node's packet to one end of a half-duplex link.
    pub(crate) fn offer_wire(
        &mut self,
        node: u32,
        face: FaceId,
        packet: PacketId,
        wire: u32,
        direction: u32,
    ) {
        let Wire { link, first_channel } = &mut self.wires[wire as usize];
        if !self.channels[(*first_channel + direction) as usize].up {
            self.drop_packet(node, face, packet, DropReason::FaceDown);
            return self.input(node, Input::Sent(face));
        }
        if let Some(check) = &mut self.wire_check {
            check.packet(self.now, &self.pool[packet]);
        }
        link.offer(direction as usize, packet, Bytes::new(self.pool[packet].wire_len()));
        self.begin_on_wire(wire);
    }

    /// Starts the next packet, if the link is free.
    pub(crate) fn begin_on_wire(&mut self, wire: u32) {
        let Wire { link, first_channel } = &mut self.wires[wire as usize];
        if let Some(sending) = link.begin(self.now) {
            let channel = *first_channel + sending.direction as u32;
            let packet = &self.pool[sending.packet];
            let waited = self.now - packet.queued_at;
            self.measure.on_use(channel, self.now, sending.until);
            self.measure.on_sent(channel, packet, waited);
            let (node, face) = self.channels[channel as usize].from;
            self.trace(node, face, TraceWhat::Send { waited }, sending.packet);
        }
        self.schedule_wire(wire);
    }

    fn schedule_wire(&mut self, wire: u32) {
        let deadline = self.wires[wire as usize].link.next_deadline();
        self.events.set(self.wire_event(wire), deadline);
    }

    /// Handles a packet that has left: the other direction is next, and this one offers another packet.
    pub(crate) fn wire_deadline(&mut self, wire: u32) {
        let Wire { link, first_channel } = &mut self.wires[wire as usize];
        let Some(sent) = link.end(self.now) else { return self.schedule_wire(wire) };
        let channel = *first_channel + sent.direction as u32;
        self.begin_on_wire(wire);
        self.carry(channel, sent.packet, sent.until);
        let (node, face) = self.channels[channel as usize].from;
        self.input(node, Input::Sent(face));
        self.settle(node);
    }

    /// Handles the failure of one direction: its packets are lost, and its node may offer more.
    pub(crate) fn clear_wire(&mut self, wire: u32, direction: u32) {
        let Wire { link, first_channel } = &mut self.wires[wire as usize];
        let (node, face) = self.channels[(*first_channel + direction) as usize].from;
        let mut is_released = false;
        for packet in link.clear(direction as usize).into_iter().flatten() {
            self.drop_packet(node, face, packet, DropReason::FaceDown);
            is_released = true;
        }
        if is_released && self.nodes[node as usize].up {
            self.input(node, Input::Sent(face));
            self.settle(node);
        }
        self.begin_on_wire(wire);
    }

    /// Changes the rate of one direction.
    pub(crate) fn set_wire_rate(&mut self, wire: u32, direction: u32, rate: weir_core::units::Rate) {
        self.wires[wire as usize].link.set_rate(direction as usize, rate);
        if self.wires[wire as usize].link.next_deadline() == Time::NEVER {
            self.begin_on_wire(wire);
        }
    }
}
