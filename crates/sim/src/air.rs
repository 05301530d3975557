//! Shared media in a world: what they are offered, and what comes of it.

use weir_core::ids::FaceId;
use weir_core::node::Input;
use weir_core::packet::PacketId;
use weir_core::seam::DropReason;
use weir_medium::{Medium, MediumAction};

use crate::world::{FIRST_CHANNEL_EVENT, World};

/// A shared medium. Its directions are channels too, for the packets that were received.
pub(crate) struct Air {
    pub(crate) medium: Medium,
    /// The channel of its first direction.
    pub(crate) first_channel: u32,
    /// The face that sends in each direction.
    pub(crate) senders: Vec<(u32, FaceId)>,
}

impl World {
    /// A node has a packet for a station of a medium.
    pub(crate) fn offer(&mut self, node: u32, face: FaceId, packet: PacketId, air: u32, link: u32) {
        let Air { medium, first_channel, .. } = &mut self.media[air as usize];
        if !self.channels[(*first_channel + link) as usize].up {
            self.drop_packet(node, face, packet, DropReason::FaceDown);
            return self.input(node, Input::Sent(face));
        }
        if let Some(check) = &mut self.wire_check {
            check.packet(self.now, &self.pool[packet]);
        }
        medium.offer(self.now, link, packet, &self.pool);
        self.schedule_air(air);
    }

    pub(crate) fn schedule_air(&mut self, air: u32) {
        let deadline = self.media[air as usize].medium.next_deadline();
        self.events.set(self.air_event(air), deadline);
    }

    pub(crate) fn air_deadline(&mut self, air: u32) {
        let mut actions = core::mem::take(&mut self.air_actions);
        self.media[air as usize].medium.handle_deadline(self.now, &self.pool, &mut actions);
        for action in actions.drain(..) {
            self.carry_out_on_air(air, action);
        }
        self.air_actions = actions;
        self.schedule_air(air);
    }

    fn carry_out_on_air(&mut self, air: u32, action: MediumAction) {
        let Air { first_channel, senders, .. } = &self.media[air as usize];
        let (first_channel, sender) = (*first_channel, |link: u32| senders[link as usize]);
        match action {
            MediumAction::OnAir { link, until } => self.measure.on_use(first_channel + link, self.now, until),
            MediumAction::Receive { link, packet, at } => {
                let channel = first_channel + link;
                self.sent_on_air(channel, packet);
                self.channels[channel as usize].in_flight.push_back((at, packet));
                // One frame at a time is received, and has arrived before the next begins.
                self.events.set(FIRST_CHANNEL_EVENT + channel, at);
            }
            MediumAction::Release { link, lost } => {
                let (node, face) = sender(link);
                if let Some(packet) = lost {
                    self.sent_on_air(first_channel + link, packet);
                    self.drop_packet(node, face, packet, DropReason::LinkLoss);
                }
                self.input(node, Input::Sent(face));
                self.settle(node);
            }
            MediumAction::Rate { link, rate, fair } => {
                let (node, face) = sender(link);
                self.nodes[node as usize].forwarder.set_link_rate(self.now, face, Some(rate));
                self.settle(node);
                let (node, face) = self.channels[(first_channel + link) as usize].to;
                let forwarder = &mut self.nodes[node as usize].forwarder;
                forwarder.set_fair_rate(self.now, face, fair);
                forwarder.set_receive_rate(self.now, face, Some(rate));
                self.settle(node);
            }
        }
    }

    /// What a packet waited for on a medium was its turn too.
    fn sent_on_air(&mut self, channel: u32, packet: PacketId) {
        let packet = &self.pool[packet];
        self.measure.on_sent(channel, packet, self.now - packet.queued_at);
    }
}
