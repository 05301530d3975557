//! Packets to and from the queues of links, and the drops of these queues.

use weir_packet::NackReason;

use super::expiry::give_up_downed;
use super::{Action, Face, FaceKind, LinkFace, Node, Out};
use crate::ids::FaceId;
use crate::packet::{Packet, PacketId};
use crate::seam::{Departed, DropReason, Dropped};
use crate::tables::pit::Pit;
use crate::units::{Bytes, Span, Time};

impl Node {
    /// Shows an arriving packet to the queue of its face. Packets that may leave because of it leave at once.
    #[inline]
    pub(super) fn receive(
        &mut self,
        face: FaceId,
        id: PacketId,
        rtt: Option<Span>,
        departed: Option<Departed>,
        out: &mut Out<'_>,
    ) {
        if let FaceKind::Link(link) = self.faces[face.0 as usize].kind {
            let packet = &mut out.pool[id];
            let state = &mut self.links[link as usize].link;
            if !state.listens() {
                return packet.clear_signal_of_link();
            }
            let wire_len = Bytes::new(packet.wire_len());
            let may_send = state.on_receive(out.now, packet, wire_len, rtt, departed);
            packet.clear_signal_of_link();
            match may_send {
                true => self.serve(link, out),
                false => self.set_link_timer(link),
            }
        }
    }

    /// Sends a packet by a face: to the application, or into the queue of the link.
    #[inline]
    pub(super) fn send(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        self.send_since(face, id, out.now, out);
    }

    /// Sends a packet that has waited at this node since `since`. The time for which a strategy held it
    /// counts as waiting for the link by which it leaves.
    #[inline]
    pub(super) fn send_since(&mut self, face: FaceId, id: PacketId, since: Time, out: &mut Out<'_>) {
        let Face { kind, up, .. } = self.faces[face.0 as usize];
        match kind {
            _ if !up => out.drop(face, id, DropReason::FaceDown),
            FaceKind::Gone => out.drop(face, id, DropReason::FaceDown),
            FaceKind::Application => out.actions.push(Action::Deliver { face, packet: id }),
            FaceKind::Link(link) => {
                let (now, packet) = (out.now, &mut out.pool[id]);
                let state = &mut self.links[link as usize];
                if since == now
                    && let Some(until) = state.link.pass(now, packet)
                {
                    if packet.header().congestion_mark != 0 && packet.is_interest() {
                        remember(&mut self.pit, face, packet, None, now);
                    }
                    out.actions.push(Action::Transmit { face, packet: id, until, waited: Span::ZERO });
                    // Nothing waits.
                    if state.timer != Time::NEVER {
                        self.set_link_timer(link);
                    }
                    return;
                }
                if let Some(guard) = &mut self.guard
                    && !guard.waiting.enter(&mut state.charged, &out.pool[id])
                {
                    let dropped = Dropped { packet: id, reason: DropReason::QueueFull, nack: None };
                    return self.to_report.push((face, dropped));
                }
                let prefix = out.pool[id].flow.prefix;
                if state.link.enqueue_since(out.now, since, id, out.pool, &mut self.dropped) {
                    self.links_of_prefixes.add(prefix.0, link);
                }
                self.serve(link, out);
                if let Some(guard) = &mut self.guard
                    && guard.waiting.is_bounded()
                    && self.links[link as usize].link.backlog().packets > 0
                {
                    guard.waiting.note(id, out.pool);
                }
            }
        }
    }

    pub(super) fn on_sent(&mut self, face: FaceId, out: &mut Out<'_>) {
        if let FaceKind::Link(link) = self.faces[face.0 as usize].kind {
            self.links[link as usize].link.release(out.now);
            self.serve(link, out);
        }
    }

    /// Lets a link send all packets that may leave, and sets its timer.
    pub(super) fn serve(&mut self, link: u32, out: &mut Out<'_>) {
        let LinkFace { face, link: state, charged, .. } = &mut self.links[link as usize];
        while let Some(departure) = state.serve(out.now, out.pool, &mut self.dropped) {
            let packet = &out.pool[departure.packet];
            if let Some(guard) = &mut self.guard {
                guard.waiting.leave(charged, packet);
            }
            let is_marked = packet.header().congestion_mark != 0;
            if (is_marked || departure.note.is_some()) && packet.is_interest() {
                remember(&mut self.pit, *face, packet, departure.note, out.now);
            }
            let (packet, until, waited) = (departure.packet, departure.until, departure.waited);
            out.actions.push(Action::Transmit { face: *face, packet, until, waited });
        }
        if !self.dropped.is_empty() {
            self.take_dropped(link, out);
        }
        self.set_link_timer(link);
    }

    /// Collects the packets that the queue of a link has dropped. They are reported later.
    pub(super) fn take_dropped(&mut self, link: u32, out: &Out<'_>) {
        let LinkFace { face, charged, .. } = &mut self.links[link as usize];
        for dropped in self.dropped.drain(..) {
            if let Some(guard) = &mut self.guard {
                guard.waiting.leave(charged, &out.pool[dropped.packet]);
            }
            self.to_report.push((*face, dropped));
        }
    }

    /// Reports the drops of queues. This comes last, so that no entry ends while its Interest is being sent
    /// or answered. A resulting Nack may itself be dropped, or may push out other packets.
    #[cold]
    pub(super) fn report_drops(&mut self, out: &mut Out<'_>) {
        let mut done = 0;
        while let Some(&(face, Dropped { packet, reason, nack })) = self.to_report.get(done) {
            done += 1;
            if out.pool[packet].is_interest() {
                self.on_interest_dropped(face, packet, nack, out);
            }
            out.drop(face, packet, reason);
        }
        self.to_report.clear();
    }

    /// Handles an Interest that was dropped by a queue. Tells the downstreams if the queue requests it,
    /// unless Data may still come by another next hop or for an earlier sending.
    pub(super) fn on_interest_dropped(
        &mut self,
        face: FaceId,
        id: PacketId,
        nack: Option<NackReason>,
        out: &mut Out<'_>,
    ) {
        let interest = &out.pool[id];
        let (pit, nonce) = (interest.pit, interest.nonce);
        // It may have been queued so long that the handle of its entry belongs to another entry.
        let Some(entry) = self.pit.entry_mut(pit).filter(|entry| *entry.name() == interest.name) else {
            return;
        };
        let Some(record) = entry.out_record(face).filter(|r| r.nonce == nonce && r.times_sent == 1) else {
            return;
        };
        record.give_up(nack);
        give_up_downed(entry, &self.faces);
        match nack {
            _ if entry.is_pending(out.now) => {}
            Some(reason) => {
                let copy = out.pool.duplicate(id);
                self.reject(pit, copy, reason, out);
            }
            None => self.pit.put_first(pit),
        }
    }
}

/// Records for a departing Interest that it is marked, and the queue's note.
fn remember(pit: &mut Pit, face: FaceId, interest: &Packet, note: Option<u32>, now: Time) {
    let entry = pit.entry_mut(interest.pit);
    let Some(record) = entry.and_then(|entry| entry.out_record(face)) else { return };
    record.marked |= interest.header().congestion_mark != 0;
    if let Some(note) = note {
        record.leave(interest.nonce, now, note);
    }
}
