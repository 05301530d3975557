//! Shared media of a world: their offered frames, and the results.

use weir_core::ids::FaceId;
use weir_core::node::{Change, Input};
use weir_core::packet::PacketId;
use weir_core::seam::DropReason;
use weir_measure::TraceWhat;
use weir_medium::{Medium, MediumAction};

use crate::world::{Channel, FIRST_CHANNEL_EVENT, World};

/// A shared medium. Each direction from one station to another is a channel for the received packets.
pub(crate) struct SharedMedium {
    pub(crate) medium: Medium,
    /// The channel of its first direction. The others follow.
    pub(crate) first_channel: u32,
}

impl World {
    /// Offers a node's packet to a station of a medium.
    pub(crate) fn offer(&mut self, node: u32, face: FaceId, packet: PacketId, medium: u32, direction: u32) {
        let SharedMedium { medium: state, first_channel } = &mut self.media[medium as usize];
        if !self.channels[(*first_channel + direction) as usize].up {
            self.drop_packet(node, face, packet, DropReason::FaceDown);
            return self.input(node, Input::Sent(face));
        }
        if let Some(check) = &mut self.wire_check {
            check.packet(self.now, &self.pool[packet]);
        }
        state.offer(self.now, direction, packet, &self.pool);
        self.schedule_medium(medium);
    }

    pub(crate) fn schedule_medium(&mut self, medium: u32) {
        let deadline = self.media[medium as usize].medium.next_deadline();
        self.events.set(self.medium_event(medium), deadline);
    }

    pub(crate) fn medium_deadline(&mut self, medium: u32) {
        let mut actions = core::mem::take(&mut self.medium_actions);
        self.media[medium as usize].medium.handle_deadline(self.now, &self.pool, &mut actions);
        let first_channel = self.media[medium as usize].first_channel;
        for action in actions.drain(..) {
            self.carry_out_on_medium(first_channel, action);
        }
        self.medium_actions = actions;
        self.schedule_medium(medium);
    }

    fn carry_out_on_medium(&mut self, first_channel: u32, action: MediumAction) {
        match action {
            MediumAction::OnAir { link, until } => self.measure.on_use(first_channel + link, self.now, until),
            MediumAction::Receive { link, packet, at } => {
                let channel = first_channel + link;
                self.sent_on_medium(channel, packet);
                if !self.nodes[self.channels[channel as usize].to.0 as usize].up {
                    let (node, face) = self.channels[channel as usize].from;
                    return self.drop_packet(node, face, packet, DropReason::FaceDown);
                }
                self.channels[channel as usize].in_flight.push_back((at, packet));
                // One frame at a time is received. It has arrived before the next one starts.
                self.events.set(FIRST_CHANNEL_EVENT + channel, at);
            }
            MediumAction::Release { link, lost } => {
                let (node, face) = self.channels[(first_channel + link) as usize].from;
                if let Some(packet) = lost {
                    self.sent_on_medium(first_channel + link, packet);
                    self.drop_packet(node, face, packet, DropReason::LinkLoss);
                }
                if self.nodes[node as usize].up {
                    self.input(node, Input::Sent(face));
                    self.settle(node);
                }
            }
            MediumAction::Rate { link, rate, fair } => {
                let Channel { from: (node, face), to, .. } = self.channels[(first_channel + link) as usize];
                if self.nodes[node as usize].up {
                    self.input(node, Input::Change(&Change::SetSendRate { face, rate: Some(rate) }));
                    self.settle(node);
                }
                let (node, face) = to;
                if self.nodes[node as usize].up {
                    self.input(node, Input::Change(&Change::SetFairRate { face, rate: fair }));
                    self.input(node, Input::Change(&Change::SetReceiveRate { face, rate: Some(rate) }));
                    self.settle(node);
                }
            }
        }
    }

    /// Handles a packet that was sent on a medium. Its waiting time includes the wait for its turn.
    fn sent_on_medium(&mut self, channel: u32, packet: PacketId) {
        if self.trace.is_some() {
            let (node, face) = self.channels[channel as usize].from;
            let waited = self.now - self.pool[packet].queued_at;
            self.trace(node, face, TraceWhat::Send { waited }, packet);
        }
        let packet = &self.pool[packet];
        self.measure.on_sent(channel, packet, self.now - packet.queued_at);
    }
}
