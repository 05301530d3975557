//! Frames in, frames out: the core between the faces, one round of the event loop after the other.
//!
//! What the core wants done is done when the frames of one socket are all handed in; UDP frames leave at the end
//! of a round, so that many go in one system call.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use mio::{Registry, Token};
use tracing::{debug, info};
use weir_core::ids::FaceId;
use weir_core::node::Action;
use weir_core::packet::{Kind, PacketId};
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_packet::{Data, Interest, LpHeader, LpPacket, ServiceClass};

use crate::capture::{Capture, Direction};
use crate::config::Faces as FaceConfigs;
use crate::face::{Channel, Face, FaceTable, Place, UdpPeer};
use crate::metrics::Delays;
use crate::node::Node;
use crate::record::{Entry, Recorder};
use weir_management::status::{
    FaceCounters, FaceEventKind, FaceNumber, FacePersistency, FaceStatus, LinkType,
};
use weir_net::clock::Clock;
use weir_net::codec::{net_packet, trusted};
use weir_net::transport::udp::{Socket, Source};
use weir_net::transport::{Flushed, Listener, Received};

#[cfg(test)]
mod tests;

/// Tokens of the event loop from these numbers on.
pub const SOCKETS: usize = 1 << 16;
/// Of listeners.
pub const LISTENERS: usize = 1 << 17;
/// Of faces with sockets of their own.
pub const FACES: usize = 1 << 20;

/// Frames that a face may hand in before others have their turn.
const FRAMES_A_ROUND: usize = 64;
/// System calls that a UDP socket may make before others have their turn.
const CALLS_A_ROUND: usize = 1;
/// How often idle faces, and packets that are not complete, are looked for.
const SWEEP: Span = Span::from_secs(5);
/// How often capture and recording are written: so much of them is lost when the process is killed.
const FLUSH: Span = Span::from_secs(1);

/// An Interest for management.
#[derive(Debug)]
pub struct Asked {
    /// The packet.
    pub interest: bytes::Bytes,
    /// The face by which it came.
    pub incoming: FaceStatus,
}

/// The core between the faces.
pub struct Engine {
    pub(crate) clock: Clock,
    /// The time of this round.
    pub(crate) now: Time,
    pub(crate) registry: Registry,
    pub(crate) node: Node,
    pub(crate) faces: FaceTable,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) listeners: Vec<Box<dyn Listener>>,
    pub(crate) config: FaceConfigs,
    pub(crate) limits: Limits,
    pub(crate) management: FaceId,
    /// UDP faces with frames to send.
    dirty: Vec<Place>,
    /// Places that may have more to read: faces, and sockets by their tokens.
    more: BTreeSet<usize>,
    /// Faces that failed in this round, and why.
    pub(crate) failed: Vec<(Place, io::Error)>,
    /// Interests for management.
    pub(crate) asked: Vec<Asked>,
    /// What happened to faces, for management to tell.
    pub(crate) events: Vec<(FaceEventKind, FaceStatus)>,
    /// Faces that are gone, with their routes.
    pub(crate) gone: Vec<FaceNumber>,
    /// Counters of faces that are gone.
    pub(crate) past: FaceCounters,
    pub(crate) drops: [u64; DropReason::ALL.len()],
    /// How long packets were queued in front of faces with a rate, by service class.
    pub(crate) delays: [Delays; ServiceClass::ALL.len()],
    pub(crate) capture: Option<Box<Capture>>,
    next_sweep: Time,
    /// When capture and recording are written; never if there are none.
    next_flush: Time,
    /// Before then no neighbour's face has been idle for long enough to make room for another.
    pub(crate) no_room_before: Time,
    /// Faces with deadlines of their own, link reliability or to be connected again, by when.
    pub(crate) timed: BTreeSet<(Time, Place)>,
    /// Reused between frames.
    net: Vec<u8>,
    frame: Vec<u8>,
}

/// Bounds.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Faces.
    pub faces: usize,
    /// Prefixes with routes, and so many with strategies.
    pub fib_entries: usize,
    /// Fragments of incomplete packets, for each face, bytes.
    pub reassembly_bytes: usize,
}

impl Engine {
    /// One without faces but for management's.
    pub fn new(
        registry: Registry,
        mut node: Node,
        config: FaceConfigs,
        limits: Limits,
        clock: Clock,
    ) -> Engine {
        let now = clock.now();
        let management = node.add_application(now);
        let mut engine = Engine {
            clock,
            now,
            registry,
            node,
            faces: FaceTable::new(),
            sockets: Vec::new(),
            listeners: Vec::new(),
            config,
            limits,
            management,
            dirty: Vec::new(),
            more: BTreeSet::new(),
            failed: Vec::new(),
            asked: Vec::new(),
            events: Vec::new(),
            gone: Vec::new(),
            past: FaceCounters::default(),
            drops: [0; DropReason::ALL.len()],
            delays: Default::default(),
            capture: None,
            next_sweep: now + SWEEP,
            next_flush: Time::NEVER,
            no_room_before: now,
            timed: BTreeSet::new(),
            net: Vec::new(),
            frame: Vec::new(),
        };
        engine.add_internal_face();
        engine
    }

    /// When there is something to do though nothing comes.
    pub fn next_deadline(&self) -> Time {
        if !self.more.is_empty() {
            return self.now;
        }
        let timed = self.timed.first().map_or(Time::NEVER, |&(due, _)| due);
        self.node.next_deadline().min(self.next_sweep).min(self.next_flush).min(timed)
    }

    /// Takes note of when a face wants to be called. What was noted before and comes earlier stays: then it is
    /// asked again.
    #[inline]
    pub(crate) fn note_deadline(&mut self, place: Place) {
        let Some(face) = self.faces.get_mut(place) else { return };
        let due = face.link.next_deadline().min(face.reconnect_at);
        if due < face.due {
            self.timed.remove(&(face.due, place));
            self.timed.insert((due, place));
            face.due = due;
        }
    }

    /// A round begins: does what was due until now.
    pub fn begin(&mut self) {
        self.now = self.clock.now();
        self.node.run_until(self.now);
        self.perform();
        self.link_deadlines();
        if self.now >= self.next_sweep {
            self.sweep();
        }
        if self.now >= self.next_flush {
            self.flush_files();
            self.next_flush = self.now + FLUSH;
        }
    }

    /// Records what the node is told from now on, which is all but that there is management.
    pub(crate) fn record_to(&mut self, mut recorder: Recorder) {
        recorder.record(self.now, &Entry::AddApplication(self.management.0));
        self.node.record(recorder);
        self.next_flush = self.now;
    }

    /// Captures all frames from now on.
    pub(crate) fn capture_to(&mut self, capture: Capture) {
        self.capture = Some(Box::new(capture));
        self.next_flush = self.now;
    }

    /// Something can be read or written behind a token.
    pub fn ready(&mut self, token: Token) {
        match token.0 {
            place if place >= FACES => self.face_ready((place - FACES) as Place),
            place if place >= LISTENERS => self.accept(place - LISTENERS),
            place if place >= SOCKETS => self.socket_ready(place - SOCKETS),
            _ => {}
        }
    }

    /// Goes on with what had more than one round takes.
    pub fn go_on(&mut self) {
        for token in core::mem::take(&mut self.more) {
            self.ready(Token(token));
        }
    }

    /// A round ends: sends what has gathered, and closes what has failed.
    pub fn end(&mut self) {
        loop {
            self.send_batches();
            let Some((place, error)) = self.failed.pop() else { break };
            // Each packet that was sent in vain is an entry: the first one counts.
            if self.faces.get(place).is_none_or(|face| matches!(face.channel, Channel::Down)) {
                continue;
            }
            self.fail(place, &error);
            self.perform();
        }
    }

    /// Whether there is something for management.
    pub fn has_news(&self) -> bool {
        !(self.asked.is_empty() && self.events.is_empty() && self.gone.is_empty())
    }

    fn socket_ready(&mut self, at: usize) {
        // What comes in may make faces, so the sockets are apart meanwhile.
        let mut sockets = core::mem::take(&mut self.sockets);
        let mut known: Option<(Source, Place)> = None;
        self.now = self.clock.now();
        self.node.run_until(self.now);
        let local = sockets[at].local();
        let received = sockets[at].receive(CALLS_A_ROUND, &mut |source, frame| {
            let place = match known {
                Some((last, place)) if last == source => Some(place),
                _ => self.udp_face(at, local, source, frame),
            };
            known = place.map(|place| (source, place));
            if let Some(place) = place {
                self.receive(place, 0, frame);
            }
        });
        self.sockets = sockets;
        match received {
            Ok(Received::More) => {
                self.more.insert(SOCKETS + at);
            }
            Ok(Received::Drained) => {}
            Err(error) => debug!(%error, socket = %local, "cannot receive"),
        }
        self.perform();
    }

    fn face_ready(&mut self, place: Place) {
        let Some(Face { channel: Channel::Transport(transport), .. }) = self.faces.get_mut(place) else {
            return;
        };
        if let Err(error) = transport.flush() {
            return self.failed.push((place, error));
        }
        self.now = self.clock.now();
        self.node.run_until(self.now);
        self.note_connected(place);
        let Some(face) = self.faces.get_mut(place) else { return };
        let Channel::Transport(mut transport) = core::mem::replace(&mut face.channel, Channel::Down) else {
            return;
        };
        let malformed = transport.malformed();
        let received = transport.receive(FRAMES_A_ROUND, &mut |peer, frame| self.receive(place, peer, frame));
        let malformed = transport.malformed() - malformed;
        if let Some(face) = self.faces.get_mut(place) {
            face.channel = Channel::Transport(transport);
            face.counters.in_malformed += malformed;
        }
        self.note_connected(place);
        match received {
            Ok(Received::More) => {
                self.more.insert(FACES + place as usize);
            }
            Ok(Received::Drained) => {}
            Err(error) => self.failed.push((place, error)),
        }
        self.perform();
    }

    /// A frame came by a face.
    #[inline]
    fn receive(&mut self, place: Place, peer: u64, frame: &[u8]) {
        let Some((face, numbers)) = self.faces.get_mut_and_numbers(place) else { return };
        let Face { number, link, counters, core, local_fields, last_used, link_type, .. } = face;
        counters.in_bytes += frame.len() as u64;
        if let Some(capture) = &mut self.capture {
            let unix_ns = self.clock.start_unix_ns() + self.now.as_nanos();
            capture.frame(unix_ns, *number, Direction::Received, frame);
        }
        *last_used = self.now;
        let (node, now) = (&mut self.node, self.now);
        let mut malformed = 0;
        let taken = link.receive(now, peer, frame, &mut |header, packet| {
            // Whose Interest one of several neighbours means, nobody can say; NFD has it so too.
            if header.nack().is_some() && *link_type != LinkType::PointToPoint {
                malformed += 1;
                return;
            }
            let mut header = trusted(*header, *local_fields);
            // From here on it is what the core calls the face; one that does not exist stays one.
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
        self.note_deadline(place);
    }

    /// Gives a packet of our own to the core.
    pub fn inject(&mut self, packet: &[u8]) {
        let taken = self.node.receive(self.now, self.management, &LpHeader::NONE, packet);
        debug_assert!(taken.is_ok(), "{taken:?}");
        self.perform();
    }

    /// Does what the core wants done.
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
                    Action::Drop { packet, reason, .. } => {
                        self.drops[reason as usize] += 1;
                        self.node.free(packet);
                    }
                }
            }
            self.node.recycle(actions);
        }
    }

    /// A packet was queued for so long: counts where a face has a rate, others queue nothing.
    #[inline]
    fn note_delay(&mut self, core: FaceId, id: PacketId, waited: Span) {
        let face = self.faces.of_core(core).and_then(|place| self.faces.get(place));
        if face.is_some_and(|face| face.send_rate.is_some()) {
            self.delays[self.node.packet(id).flow.class as usize].add(waited);
        }
    }

    #[inline]
    fn send(&mut self, core: FaceId, id: PacketId) {
        if core == self.management {
            return self.ask_management(id);
        }
        let Some(place) = self.faces.of_core(core) else { return };
        let packet = self.node.packet(id);
        let incoming = self.faces.of_core(packet.arrived_on).and_then(|place| self.faces.get(place));
        let incoming = incoming.map(|face| face.number);
        let mut header = *packet.header();
        header.set_next_hop_face_id(None);
        header.set_cache_policy(None);
        let queued = self.node.core().backlog(core).bytes;
        let kind = packet.kind;
        let net = net_packet(packet, &mut self.net);
        let Some(face) = self.faces.get_mut(place) else { return };
        if kind == Kind::Nack && face.link_type != LinkType::PointToPoint {
            face.counters.out_dropped += 1;
            return;
        }
        header.set_incoming_face_id(incoming.filter(|_| face.local_fields));
        let Face { number, link, channel, counters, is_dirty, .. } = face;
        let number = *number;
        let unix_ns = self.clock.start_unix_ns() + self.now.as_nanos();
        let capture = &mut self.capture;
        let mut bytes = 0;
        let mut refused = 0;
        let scratch = &mut self.frame;
        let mut failure = None;
        let sent = match channel {
            Channel::Udp(udp) => link.send(self.now, &header, net, queued, &mut |frame| {
                bytes += udp.batch.push(|out| frame.encode(out)) as u64;
                captured(capture, unix_ns, number, frame);
            }),
            Channel::Transport(transport) => {
                let queued = queued + transport.waiting() as u64;
                link.send(self.now, &header, net, queued, &mut |frame| {
                    scratch.clear();
                    frame.encode(scratch);
                    match transport.send(scratch) {
                        Ok(weir_net::transport::Sent::Taken) => {
                            bytes += scratch.len() as u64;
                            captured(capture, unix_ns, number, frame);
                        }
                        Ok(_) => refused += 1,
                        Err(error) => failure = Some(error),
                    }
                })
            }
            Channel::Internal | Channel::Down => {
                counters.out_dropped += 1;
                return;
            }
        };
        counters.out_bytes += bytes;
        if sent.is_err() || refused > 0 || failure.is_some() {
            counters.out_dropped += 1;
        } else {
            match kind {
                Kind::Interest => counters.out_interests += 1,
                Kind::Data => counters.out_data += 1,
                Kind::Nack => counters.out_nacks += 1,
            }
        }
        if !core::mem::replace(is_dirty, true) {
            self.dirty.push(place);
        }
        self.failed.extend(failure.map(|error| (place, error)));
        self.note_deadline(place);
    }

    fn ask_management(&mut self, id: PacketId) {
        let packet = self.node.packet(id);
        if packet.kind != Kind::Interest {
            return;
        }
        let interest = packet.wire.clone();
        let place = self.faces.of_core(packet.arrived_on);
        if let Some(incoming) = place.and_then(|place| self.status_at(place)) {
            self.asked.push(Asked { interest, incoming });
        }
    }

    fn send_batches(&mut self) {
        for place in core::mem::take(&mut self.dirty) {
            let Some(face) = self.faces.get_mut(place) else { continue };
            face.is_dirty = false;
            match &mut face.channel {
                Channel::Udp(UdpPeer { socket, peer, from, batch }) => {
                    face.counters.out_dropped += self.sockets[*socket].send(batch, *peer, *from);
                }
                Channel::Transport(transport) => {
                    let flushed = transport.flush();
                    self.failed.extend(flushed.err().map(|error| (place, error)));
                }
                Channel::Internal | Channel::Down => {}
            }
        }
    }

    /// Acknowledgements and retransmissions of faces with link reliability, and faces to connect again.
    fn link_deadlines(&mut self) {
        let now = self.now;
        while let Some(&(due, place)) = self.timed.first().filter(|(due, _)| *due <= now) {
            self.timed.remove(&(due, place));
            let Some(face) = self.faces.get_mut(place) else { continue };
            face.due = Time::NEVER;
            if face.reconnect_at <= now {
                self.reconnect(place);
                self.note_deadline(place);
                continue;
            }
            let Face { number, link, channel, is_dirty, counters, .. } = face;
            let (scratch, mut failure) = (&mut self.frame, None);
            let unix_ns = self.clock.start_unix_ns() + now.as_nanos();
            let capture = &mut self.capture;
            link.on_deadline(now, &mut |frame| {
                match channel {
                    Channel::Udp(udp) => counters.out_bytes += udp.batch.push(|out| frame.encode(out)) as u64,
                    Channel::Transport(transport) => {
                        scratch.clear();
                        frame.encode(scratch);
                        counters.out_bytes += scratch.len() as u64;
                        failure = transport.send(scratch).err();
                    }
                    Channel::Internal | Channel::Down => return,
                }
                captured(capture, unix_ns, *number, frame);
            });
            if !core::mem::replace(is_dirty, true) {
                self.dirty.push(place);
            }
            self.failed.extend(failure.map(|error| (place, error)));
            self.note_deadline(place);
        }
    }

    /// Writes what of capture and recording is kept in memory.
    fn flush_files(&mut self) {
        self.node.flush_recording();
        if let Some(capture) = &mut self.capture {
            capture.flush();
        }
    }

    /// What is to be done now and then.
    fn sweep(&mut self) {
        self.close_idle();
        self.expire_fragments();
        self.next_sweep = self.now + SWEEP;
    }

    fn close_idle(&mut self) {
        let is_idle = |face: &Face| {
            face.persistency == FacePersistency::OnDemand
                && face.idle_timeout.is_some_and(|timeout| self.now.since(face.last_used) >= timeout)
        };
        let idle: Vec<Place> =
            self.faces.places().filter(|&place| self.faces.get(place).is_some_and(is_idle)).collect();
        for place in idle {
            debug!(face = self.faces.get(place).map(|face| face.number), "closed: idle");
            self.close(place);
            self.perform();
        }
    }

    /// Gives up packets that are not complete in time, also where nothing comes any more.
    fn expire_fragments(&mut self) {
        for place in self.faces.places().collect::<Vec<_>>() {
            if let Some(face) = self.faces.get_mut(place) {
                face.link.expire_fragments(self.now);
            }
        }
    }

    fn accept(&mut self, at: usize) {
        loop {
            match self.listeners[at].accept() {
                Ok(Some(transport)) => self.add_accepted(transport),
                Ok(None) => return,
                Err(error) => {
                    // Others may wait behind the one that failed, and nobody tells of them again.
                    info!(%error, at = self.listeners[at].uri(), "cannot accept");
                }
            }
        }
    }

    /// The face of a UDP peer, made if it is new and sends a packet; `None` if it does not, or if there are
    /// too many.
    fn udp_face(&mut self, socket: usize, local: SocketAddr, source: Source, frame: &[u8]) -> Option<Place> {
        let known = self.faces.of_peer(socket, source.from);
        if known.is_some() {
            return known;
        }
        if !carries_packet(frame) {
            self.past.in_malformed += 1;
            return None;
        }
        self.add_udp_peer(socket, local, source)
    }

    /// What management says of a face.
    pub(crate) fn status_at(&self, place: Place) -> Option<FaceStatus> {
        let face = self.faces.get(place)?;
        Some(face.status(self.now, self.node.core().backlog(face.core)))
    }

    /// Waits until what transports have kept is out, or they take no more.
    pub fn drain(&mut self) {
        self.end();
        self.flush_files();
        for place in self.faces.places().collect::<Vec<_>>() {
            if let Some(Face { channel: Channel::Transport(transport), .. }) = self.faces.get_mut(place) {
                let _: io::Result<Flushed> = transport.flush();
            }
        }
    }
}

/// Whether a frame carries a packet, or a piece of one.
fn carries_packet(frame: &[u8]) -> bool {
    let Ok(LpPacket { link, fragment: Some(packet), .. }) = LpPacket::decode(frame) else { return false };
    link.is_piece() || Interest::decode(packet).is_ok() || Data::decode(packet).is_ok()
}

/// A frame leaves.
#[inline]
fn captured(capture: &mut Option<Box<Capture>>, unix_ns: u64, face: FaceNumber, frame: &LpPacket<'_>) {
    if let Some(capture) = capture {
        capture.frame(unix_ns, face, Direction::Sent, &frame.to_vec());
    }
}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("faces", &self.faces).field("node", &self.node).finish_non_exhaustive()
    }
}
