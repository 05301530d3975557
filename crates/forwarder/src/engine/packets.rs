//! Incoming and outgoing frames: between a face's channel, its link service, and the core.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use weir_core::ids::FaceId;
use weir_core::node::Action;
use weir_core::packet::{Kind, PacketId};
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_management::status::{FaceNumber, LinkType};
use weir_net::codec::{net_packet, trusted};
use weir_net::transport::Sent;
use weir_net::transport::udp::Source;
use weir_packet::{Data, Interest, LpHeader, LpPacket};

use super::Engine;
use super::observation::Observation;
use crate::control::Owner;
use crate::face::{Channel, Face, FaceSlot, UdpPeer};

/// Memory that every face may use for incomplete packets, whatever other faces use, bytes: more than one packet of the largest
/// size.
const ROOM_OF_ONE: u64 = 16 << 10;

/// Frames that wait for acknowledgements may use one part in this many of a face's share of the send buffers. They do not stop
/// other packets.
const KEPT: u64 = 2;

/// Buffers that are reused between packets.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    packet: Vec<u8>,
    frame: Vec<u8>,
}

/// Parts of packets of at least this length are sent by UDP without a copy; others are copied. Assumed: copying a shorter part
/// costs no more than holding the packet until the batch is sent.
const LEAST_SHARED: usize = 2048;

/// Writes the frames of one packet to a face's channel and to the capture.
struct FrameWriter<'a> {
    /// The packet, if its bytes can be sent without a copy.
    packet: Option<&'a Bytes>,
    channel: &'a mut Channel,
    buffer: &'a mut Vec<u8>,
    observation: &'a mut Observation,
    now: Time,
    face: FaceNumber,
    /// Bytes that the channel accepted.
    bytes: u64,
    /// Whether the channel had no room for a frame.
    is_full: bool,
    /// Whether a frame is longer than the channel carries.
    is_too_long: bool,
    failure: Option<io::Error>,
}

/// A frame's fragment as a part of the packet's bytes, if it is long.
#[inline]
fn shared_part(packet: Option<&Bytes>, frame: &LpPacket<'_>) -> Option<Bytes> {
    let fragment = frame.fragment.filter(|fragment| fragment.len() >= LEAST_SHARED)?;
    let packet = packet?;
    let start = fragment.as_ptr().addr().checked_sub(packet.as_ptr().addr())?;
    let end = start.checked_add(fragment.len()).filter(|end| *end <= packet.len())?;
    Some(packet.slice(start..end))
}

impl<'a> FrameWriter<'a> {
    fn new(
        channel: &'a mut Channel,
        buffer: &'a mut Vec<u8>,
        observation: &'a mut Observation,
        (now, face): (Time, FaceNumber),
    ) -> FrameWriter<'a> {
        let (packet, bytes, is_full, is_too_long, failure) = (None, 0, false, false, None);
        FrameWriter { packet, channel, buffer, observation, now, face, bytes, is_full, is_too_long, failure }
    }

    fn write(&mut self, frame: &LpPacket<'_>) {
        let bytes = match self.channel {
            Channel::Udp(udp) => match shared_part(self.packet, frame) {
                Some(shared) => udp.batch.push_shared(|out| frame.encode_head(out), shared),
                None => udp.batch.push(|out| frame.encode(out)),
            },
            Channel::Transport(transport) => {
                self.buffer.clear();
                frame.encode(self.buffer);
                match transport.send(self.buffer) {
                    Ok(Sent::Taken) => self.buffer.len(),
                    Ok(refused @ (Sent::Full | Sent::TooLong)) => {
                        self.is_full = true;
                        self.is_too_long |= refused == Sent::TooLong;
                        return;
                    }
                    Err(error) => {
                        self.failure = Some(error);
                        return;
                    }
                }
            }
            Channel::Internal | Channel::Down => return,
        };
        self.bytes += bytes as u64;
        self.observation.sent(self.now, self.face, frame);
    }
}

impl Engine {
    /// Handles a frame that arrived on a face.
    #[inline]
    pub(super) fn receive(&mut self, slot: FaceSlot, peer: u64, frame: &[u8]) {
        let Some((face, numbers)) = self.faces.get_mut_and_numbers(slot) else { return };
        let Face { number, link, counters, core, local_fields, last_used, link_type, .. } = face;
        counters.in_bytes += frame.len() as u64;
        self.observation.received(self.now, *number, frame);
        *last_used = self.now;
        let (node, now) = (&mut self.node, self.now);
        let room = self.fragments.share(face.fragment_bytes).max(ROOM_OF_ONE);
        link.limit_fragments(room as usize);
        let mut malformed = 0;
        let taken = link.receive(now, peer, frame, &mut |header, packet| {
            // A Nack from a group is ambiguous: it does not say which neighbour's Interest it answers. NFD ignores it too.
            if header.nack().is_some() && *link_type != LinkType::PointToPoint {
                malformed += 1;
                return;
            }
            let mut header = trusted(*header, *local_fields);
            // From here on it is the core's number of the face. A face that does not exist remains one.
            let chosen = |number| numbers.core(number).map_or(u64::MAX, |core| u64::from(core.0));
            header.set_next_hop_face_id(header.next_hop_face_id().map(chosen));
            match node.receive(now, *core, &header, packet) {
                Ok(Kind::Interest) => counters.in_interests += 1,
                Ok(Kind::Data) => counters.in_data += 1,
                Ok(Kind::Nack) => counters.in_nacks += 1,
                Err(_) => malformed += 1,
            }
        });
        counters.in_malformed += malformed + u64::from(taken.is_err());
        self.note_fragments(slot);
        self.note_deadline(slot);
    }

    /// The face of a UDP peer, which is created if the peer is new and sends a packet. Returns `None` if it sends none, or if
    /// there are too many faces.
    pub(super) fn udp_face(
        &mut self,
        socket: usize,
        local: SocketAddr,
        source: Source,
        frame: &[u8],
    ) -> Option<FaceSlot> {
        let known = self.faces.of_peer(socket, source.from);
        if known.is_some() {
            return known;
        }
        // Port 0 cannot receive answers.
        if !carries_packet(frame) || source.from.port() == 0 {
            self.observation.count_malformed();
            return None;
        }
        self.add_udp_peer(socket, local, source)
    }

    /// Passes a packet of management to the core.
    pub fn inject(&mut self, packet: &[u8]) {
        let taken = self.node.receive(self.now, self.management, &LpHeader::NONE, packet);
        debug_assert!(taken.is_ok(), "{taken:?}");
        self.perform();
    }

    /// Performs the core's actions.
    pub(crate) fn perform(&mut self) {
        loop {
            let actions = self.node.take_actions();
            if actions.is_empty() {
                return self.node.recycle(actions);
            }
            for action in &actions {
                match *action {
                    Action::Transmit { face, packet, waited, .. } => {
                        self.note_delay(face, packet, waited);
                        self.send(face, packet);
                        self.node.free(packet);
                    }
                    Action::Deliver { face, packet } => {
                        self.send(face, packet);
                        self.node.free(packet);
                    }
                    Action::Drop { face, packet, reason } => {
                        self.count_drop(face, packet, reason);
                        self.node.free(packet);
                    }
                }
            }
            self.node.recycle(actions);
        }
    }

    /// Counts a dropped packet, at its outgoing face or at the face where it arrived.
    fn count_drop(&mut self, core: FaceId, packet: PacketId, reason: DropReason) {
        let dropped = self.node.packet(packet);
        self.observation.count_drop(reason, dropped.flow.class, dropped.is_data());
        let leaves = self.faces.of_core(core).filter(|_| reason.is_loss());
        if let Some(face) = leaves.and_then(|slot| self.faces.get_mut(slot)) {
            face.counters.out_dropped += 1;
        }
    }

    /// Counts the queueing delay of a packet, if the face has a rate. Other faces have no queue.
    #[inline]
    fn note_delay(&mut self, core: FaceId, id: PacketId, waited: Span) {
        let slot = self.faces.of_core(core);
        let face = slot.and_then(|slot| self.faces.get_mut(slot)).filter(|face| face.send_rate.is_some());
        if let Some(face) = face {
            face.delays.add(waited);
            self.observation.count_delay(self.node.packet(id).flow.class, waited);
        }
    }

    #[inline]
    fn send(&mut self, core: FaceId, id: PacketId) {
        if core == self.management {
            return self.ask_management(id);
        }
        let Some(slot) = self.faces.of_core(core) else { return };
        let has_memory = self.has_memory(slot, self.node.packet(id).net_len);
        let packet = self.node.packet(id);
        let incoming = self.faces.of_core(packet.arrived_on).and_then(|slot| self.faces.get(slot));
        let incoming = incoming.map(|face| face.number);
        let mut header = *packet.header();
        header.set_next_hop_face_id(None);
        header.set_cache_policy(None);
        let queued = self.node.core().backlog(core).bytes;
        let (kind, class) = (packet.kind, packet.flow.class);
        let Buffers { packet: net, frame } = &mut self.buffers;
        let (net, wire) = (net_packet(packet, net), &packet.wire);
        let Some(face) = self.faces.get_mut(slot) else { return };
        let has_one_peer = face.link_type == LinkType::PointToPoint;
        let is_there = !matches!(face.channel, Channel::Internal | Channel::Down);
        if !is_there || !has_memory || (kind == Kind::Nack && !has_one_peer) {
            face.counters.out_dropped += 1;
            return;
        }
        header.set_incoming_face_id(incoming.filter(|_| face.local_fields));
        let queued = queued + face.channel.waiting();
        let Face { number, link, channel, counters, classes, unsent_bytes, .. } = face;
        link.limit_kept((self.unsent.share(*unsent_bytes) / KEPT) as usize);
        let mut writer = FrameWriter::new(channel, frame, &mut self.observation, (self.now, *number));
        writer.packet = (kind == Kind::Data).then_some(wire);
        let sent = link.send(self.now, &header, net, queued, &mut |frame| writer.write(frame));
        let FrameWriter { bytes, is_full, is_too_long, failure, .. } = writer;
        counters.out_bytes += bytes;
        if is_too_long {
            self.round.note_too_long(slot, None);
        }
        if sent.is_err() || is_full || failure.is_some() {
            counters.out_dropped += 1;
        } else {
            match kind {
                Kind::Interest => counters.out_interests += 1,
                Kind::Data => counters.out_data += 1,
                Kind::Nack => counters.out_nacks += 1,
            }
            classes.count_sent(class, kind, bytes);
            self.observation.count_sent(class, kind, bytes);
        }
        self.note_sent(slot, failure);
    }

    /// Whether a face may buffer this many bytes more. If not, its buffered frames are sent first, as far as the socket accepts
    /// them. So a peer that reads gets its packets whatever others leave unread.
    #[inline]
    fn has_memory(&mut self, slot: FaceSlot, bytes: u32) -> bool {
        let is_admitted = |engine: &Engine| {
            let unsent = |face: &Face| face.unsent_bytes.saturating_sub(face.link.kept_bytes() as u64);
            let own = engine.faces.get(slot).map_or(0, unsent);
            engine.unsent.admits(own, u64::from(bytes))
        };
        is_admitted(self) || {
            self.send_batch(slot);
            is_admitted(self)
        }
    }

    /// Notes that frames were passed to a face: they leave at the end of the round, or its socket has failed.
    #[inline]
    fn note_sent(&mut self, slot: FaceSlot, failure: Option<io::Error>) {
        self.note_unsent_bytes(slot);
        if let Some(face) = self.faces.get_mut(slot) {
            self.round.note_unsent(slot, face);
        }
        if let Some(error) = failure {
            self.round.note_failed(slot, error);
        }
        self.note_deadline(slot);
    }

    fn ask_management(&mut self, id: PacketId) {
        let packet = self.node.packet(id);
        if packet.kind != Kind::Interest {
            return;
        }
        let wire = packet.wire.clone();
        let Some(slot) = self.faces.of_core(packet.arrived_on) else { return };
        let has_rights = self.faces.get(slot).is_some_and(|face| face.owner == Owner::Privileged);
        let Some(incoming) = self.status_at(slot) else { return };
        if !self.inbox.add_interest(wire, incoming, has_rights) {
            self.count_drop(self.management, id, DropReason::QueueFull);
        }
    }

    /// Sends the buffered frames of all faces.
    pub(super) fn send_batches(&mut self) {
        for slot in self.round.take_unsent() {
            if let Some(face) = self.faces.get_mut(slot) {
                face.is_unsent = false;
            }
            self.send_batch(slot);
        }
    }

    /// Sends the buffered frames of one face.
    fn send_batch(&mut self, slot: FaceSlot) {
        let Some(face) = self.faces.get_mut(slot) else { return };
        match &mut face.channel {
            Channel::Udp(UdpPeer { socket, peer, from, batch, .. }) => {
                let refused = self.sockets.send_udp(*socket, batch, *peer, *from);
                face.counters.out_dropped += refused.frames;
                if refused.too_long.is_some() || (refused.has_no_path && from.is_some()) {
                    self.round.note_too_long(slot, refused.too_long);
                }
            }
            Channel::Transport(transport) => {
                if let Err(error) = transport.flush() {
                    self.round.note_failed(slot, error);
                }
            }
            Channel::Internal | Channel::Down => {}
        }
        self.note_unsent_bytes(slot);
    }

    /// Sends the due frames of a face's link service: acknowledgements and retransmissions.
    pub(super) fn run_link(&mut self, slot: FaceSlot) {
        let Some(face) = self.faces.get_mut(slot) else { return };
        let Face { number, link, channel, counters, .. } = face;
        let mut writer =
            FrameWriter::new(channel, &mut self.buffers.frame, &mut self.observation, (self.now, *number));
        link.on_deadline(self.now, &mut |frame| writer.write(frame));
        let FrameWriter { bytes, failure, .. } = writer;
        counters.out_bytes += bytes;
        self.note_sent(slot, failure);
    }
}

/// Whether a frame carries a packet or a fragment.
fn carries_packet(frame: &[u8]) -> bool {
    let Ok(LpPacket { link, fragment: Some(packet), .. }) = LpPacket::decode(frame) else { return false };
    link.is_piece() || Interest::decode(packet).is_ok() || Data::decode(packet).is_ok()
}
