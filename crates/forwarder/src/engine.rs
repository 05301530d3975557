//! The core between the faces, in rounds of the event loop.
//!
//! ```text
//!   begin: deadlines     ready: frames in, packets to the core, its actions     end: frames out, failed faces
//! ```
//!
//! The core's actions run after all frames of one socket are read. UDP frames leave at the end of a round, so that one system
//! call sends many.
//!
//! - `packets`: frames in and out; `faces`: creates and closes faces; `paths`: largest frames of datagram paths; `control`:
//!   requests of management.
//! - Parts with their own state: `sockets`, `admission` (which peers get a face), `round` (work put off to the end of a round),
//!   `timers`, `inbox` (packets that wait for management), `observation` (counters and capture), `next_hops` (log messages about
//!   next hops that strategies ignore).

mod admission;
mod control;
mod faces;
mod groups;
mod inbox;
mod next_hops;
mod observation;
mod packets;
mod paths;
mod round;
mod sockets;
#[cfg(test)]
mod tests;
mod timers;

use std::io;

use mio::Token;
use tracing::{debug, warn};
use weir_core::ids::FaceId;
use weir_core::shared_bound::SharedBound;
use weir_core::units::{Span, Time};
use weir_management::status::{FaceNumber, FacePersistency, Losses};
use weir_net::outside::Outside;
use weir_net::transport::udp::Source;
use weir_net::transport::{Flushed, Received};
use weir_net::user::Rights;

use crate::capture::Capture;
use crate::config::Faces as FaceConfigs;
use crate::control::ApplicationRights;
use crate::face::{Channel, Face, FaceSlot, FaceTable};
use crate::metrics::Document;
use crate::metrics::{self, Snapshot};
use crate::record::Recorder;
use crate::wire_node::WireNode;

pub(crate) use inbox::{ClosedFace, ManagementInterest};
pub(crate) use sockets::FIRST_TOKEN;

pub(crate) use admission::Origin;
use admission::{Admission, Refused};
use groups::Groups;
use inbox::Inbox;
use next_hops::NextHopLog;
use observation::Observation;
use packets::Buffers;
pub(crate) use paths::PathMtu;
use round::Round;
use sockets::{EventSource, Sockets};
use timers::Timers;

/// Largest number of frames from a face before others have their turn.
const FRAMES_A_ROUND: usize = 64;
/// Largest number of peers from a listener before others have their turn.
const PEERS_A_ROUND: usize = 64;
/// Largest number of system calls of a UDP socket before others have their turn.
const CALLS_A_ROUND: usize = 1;
/// At the end of a round, links may send packets that are due within this time. So a burst on a fast link needs no timer: 62 kB
/// at 10 Gb/s, about as much as one system call sends.
const AHEAD: Span = Span::from_micros(50);
/// The core may learn of a deadline this much later, so that one wake-up serves several packets of a fast link. Linux delays most
/// timers of a process by as much (prctl(2), PR_SET_TIMERSLACK).
const SLACK: Span = Span::from_micros(50);

/// The core between the faces.
pub struct Engine {
    pub(crate) outside: Box<dyn Outside>,
    /// Time of this round for the core. It is ahead of the clock by at most [`AHEAD`].
    pub(crate) now: Time,
    /// The last reading of the clock.
    clock: Time,
    pub(crate) node: WireNode,
    pub(crate) faces: FaceTable,
    /// Options of new faces.
    pub(crate) config: FaceConfigs,
    limits: Limits,
    /// Which applications have rights.
    pub(crate) rights: ApplicationRights,
    /// The face of management.
    management: FaceId,
    pub(crate) sockets: Sockets,
    admission: Admission,
    refused: Refused,
    groups: Groups,
    round: Round,
    timers: Timers,
    /// Losses at the last sweep.
    losses: Losses,
    /// The face at which the next sweep continues to query path MTUs.
    next_path: FaceNumber,
    pub(crate) inbox: Inbox,
    observation: Observation,
    next_hop_log: NextHopLog,
    buffers: Buffers,
    /// Memory of buffered frames and of fragments of incomplete packets, bytes.
    unsent: SharedBound,
    fragments: SharedBound,
}

/// Limits of the state that peers and management can create.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of faces, including the face of management.
    pub faces: usize,
    /// Prefixes with routes; also the limit of prefixes with strategies.
    pub fib_entries: usize,
    /// Memory of frames that wait for sockets, bytes.
    pub send_buffer_bytes: u64,
    /// Memory of incomplete packets, bytes.
    pub reassembly_bytes: u64,
}

impl Engine {
    /// Creates an engine whose only face is that of management.
    pub fn new(outside: Box<dyn Outside>, node: WireNode, config: FaceConfigs, limits: Limits) -> Engine {
        let now = outside.now();
        let management = node.management();
        let mut engine = Engine {
            now,
            clock: now,
            node,
            faces: FaceTable::new(),
            config,
            limits,
            rights: ApplicationRights { users: Rights::own(), loopback: false },
            management,
            sockets: Sockets::default(),
            admission: Admission::new(limits.faces, now),
            refused: Refused::default(),
            groups: Groups::default(),
            round: Round::default(),
            timers: Timers::new(now),
            losses: Losses::default(),
            next_path: 0,
            inbox: Inbox::default(),
            observation: Observation::new(outside.start_unix_ns()),
            next_hop_log: NextHopLog::default(),
            buffers: Buffers::default(),
            unsent: SharedBound::new(limits.send_buffer_bytes),
            fragments: SharedBound::new(limits.reassembly_bytes),
            outside,
        };
        engine.add_internal_face();
        engine
    }

    /// The core with its packets.
    pub fn node(&self) -> &WireNode {
        &self.node
    }

    /// Number of faces, including the face of management.
    pub fn face_count(&self) -> usize {
        self.faces.len()
    }

    /// Number of packets in the queues of faces.
    pub fn queued_packets(&self) -> usize {
        let backlogs = self.faces.iter().map(|(_, face)| self.node.core().backlog(face.core));
        backlogs.map(|backlog| backlog.packets as usize).sum()
    }

    /// The time of the next work if no packet arrives.
    pub fn next_deadline(&self) -> Time {
        if self.round.has_unread() || self.inbox.has_waiting() {
            return self.clock;
        }
        self.node.next_deadline().max(self.clock + SLACK).min(self.timers.next())
    }

    /// Begins a round: does the work that is due.
    pub fn begin(&mut self) {
        self.run_core();
        self.perform();
        self.run_faces();
        if self.timers.is_sweep_due(self.now) {
            self.sweep();
        }
        if self.timers.is_flush_due(self.now) {
            self.flush_files();
        }
    }

    /// Reads the clock, and lets the core do the work that is due.
    fn run_core(&mut self) {
        self.clock = self.outside.now();
        self.now = self.now.max(self.clock);
        self.node.run_until(self.now);
    }

    /// Lets links send packets that are due within the next [`AHEAD`], so that a burst on a fast link leaves at once.
    fn run_ahead(&mut self) {
        self.now = self.node.run_links_until(self.now, self.clock + AHEAD);
    }

    /// Records the node's inputs from now on.
    pub(crate) fn record_to(&mut self, recorder: Recorder) {
        self.node.record(recorder);
        self.timers.begin_flushing(self.now);
    }

    /// Captures all frames from now on.
    pub(crate) fn capture_to(&mut self, capture: Capture) {
        self.observation.capture_to(capture);
        self.timers.begin_flushing(self.now);
    }

    /// Handles an event: the source of a token is readable or writable.
    pub fn ready(&mut self, token: Token) {
        match EventSource::of(token) {
            Some(EventSource::Face(slot)) => self.face_ready(slot),
            Some(EventSource::Listener(at)) => self.accept(at),
            Some(EventSource::Udp(at)) => self.udp_ready(at),
            None => {}
        }
    }

    /// Continues work that was too much for one round.
    pub fn go_on(&mut self) {
        for token in self.round.take_unread() {
            self.ready(token);
        }
    }

    /// Ends a round: sends buffered frames and those that became due meanwhile, and closes failed faces.
    pub fn end(&mut self) {
        self.run_core();
        self.run_ahead();
        self.perform();
        self.tell_next_hops();
        loop {
            self.send_batches();
            self.follow_links();
            let Some((slot, error)) = self.round.next_failed() else { break };
            // There is an entry for each packet that was not sent. Only the first one counts.
            if self.faces.get(slot).is_none_or(|face| matches!(face.channel, Channel::Down)) {
                continue;
            }
            self.fail(slot, &error);
            self.perform();
        }
    }

    fn udp_ready(&mut self, at: usize) {
        let mut sockets = self.sockets.take_udp();
        let mut known: Option<(Source, FaceSlot)> = None;
        self.run_core();
        let local = sockets[at].local();
        let received = sockets[at].receive(CALLS_A_ROUND, &mut |source, frame| {
            let slot = match known {
                Some((last, slot)) if last == source => Some(slot),
                _ => self.udp_face(at, local, source, frame),
            };
            known = slot.map(|slot| (source, slot));
            if let Some(slot) = slot {
                self.receive(slot, 0, frame);
            }
        });
        self.sockets.restore_udp(sockets);
        match received {
            Ok(Received::More) => self.round.note_unread(EventSource::Udp(at).token()),
            Ok(Received::Drained) => {}
            Err(error) => debug!(%error, socket = %local, "cannot receive"),
        }
        self.perform();
    }

    fn face_ready(&mut self, slot: FaceSlot) {
        let Some(Face { channel: Channel::Transport(transport), .. }) = self.faces.get_mut(slot) else {
            return;
        };
        let flushed = transport.flush();
        self.note_unsent_bytes(slot);
        if let Err(error) = flushed {
            return self.round.note_failed(slot, error);
        }
        self.run_core();
        self.note_connected(slot);
        let Some(face) = self.faces.get_mut(slot) else { return };
        let Channel::Transport(mut transport) = core::mem::replace(&mut face.channel, Channel::Down) else {
            return;
        };
        let malformed = transport.malformed();
        let received = transport.receive(FRAMES_A_ROUND, &mut |peer, frame| self.receive(slot, peer, frame));
        let malformed = transport.malformed() - malformed;
        if let Some(face) = self.faces.get_mut(slot) {
            face.channel = Channel::Transport(transport);
            face.counters.in_malformed += malformed;
        }
        // Some channels answer at once.
        self.note_unsent_bytes(slot);
        self.note_connected(slot);
        match received {
            Ok(Received::More) => self.round.note_unread(EventSource::Face(slot).token()),
            Ok(Received::Drained) => {}
            Err(error) => self.round.note_failed(slot, error),
        }
        self.perform();
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..PEERS_A_ROUND {
            match self.sockets.accept(listener) {
                Ok(Some(transport)) => self.add_accepted(transport),
                Ok(None) => return,
                // More connections may wait behind the failed one.
                Err(error) => {
                    let at = self.sockets.listener_uri(listener);
                    debug!(%error, at, "cannot accept");
                    self.refused.add(1, None, || format!("{at}: {error}"));
                }
            }
        }
        // The event loop does not report these again.
        self.round.note_unread(EventSource::Listener(listener).token());
    }

    /// Counts refused connections, and logs the reason.
    pub(crate) fn note_refused(&mut self, connections: u64, why: impl FnOnce() -> String) {
        self.refused.add(connections, None, why);
    }

    /// Runs link reliability (acknowledgements and retransmissions) and connects faces again.
    fn run_faces(&mut self) {
        while let Some(slot) = self.timers.next_due_face(self.now) {
            match self.faces.get(slot) {
                Some(face) if face.reconnect_at <= self.now => self.reconnect(slot),
                Some(_) => self.run_link(slot),
                None => {}
            }
            self.note_deadline(slot);
        }
    }

    /// Updates the deadline of a face.
    #[inline]
    fn note_deadline(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get(slot) {
            self.timers.note_face(slot, face.link.next_deadline().min(face.reconnect_at));
        }
    }

    /// Writes the buffered blocks of capture and recording.
    fn flush_files(&mut self) {
        self.node.flush_recording();
        self.observation.flush();
    }

    /// Periodic work.
    fn sweep(&mut self) {
        self.close_idle();
        if let Some((connections, from, why)) = self.refused.take() {
            let from = from.map(tracing::field::display);
            warn!(connections, from, why, "refused connections");
        }
        self.note_losses();
        self.tell_other_next_hops();
        self.follow_paths();
        // Also for faces without traffic, where no packet would trigger it.
        for slot in self.faces.slots().collect::<Vec<_>>() {
            if let Some(face) = self.faces.get_mut(slot) {
                face.link.expire_fragments(self.now);
            }
            self.note_fragments(slot);
        }
    }

    /// Warns at the first loss of each kind.
    fn note_losses(&mut self) {
        let before = self.losses;
        self.losses = Losses { reassembly: self.outside.reassembly_failures(), ..self.losses() };
        let Losses { datagrams, reassembly, .. } = self.losses;
        if before.datagrams == 0 && datagrams > 0 {
            warn!(
                datagrams,
                "receive buffers were full and the kernel dropped datagrams: weir status counts them; a larger \
                 kernel_buffer in [faces.udp] helps against bursts"
            );
        }
        if before.reassembly == 0 && reassembly > 0 {
            warn!(
                datagrams = reassembly,
                "this host could not reassemble IP datagrams: weir status counts them; peers should send what their path \
                 carries whole"
            );
        }
    }

    /// Losses that are not counted by faces.
    pub(crate) fn losses(&self) -> Losses {
        Losses {
            datagrams: self.sockets.dropped(),
            reassembly: self.losses.reassembly,
            connections: self.refused.total(),
            files: self.observation.file_errors() + self.node.recording_errors(),
        }
    }

    fn close_idle(&mut self) {
        let is_idle = |face: &Face| {
            face.persistency == FacePersistency::OnDemand
                && face.idle_timeout.is_some_and(|timeout| self.now.since(face.last_used) >= timeout)
        };
        let idle: Vec<_> = self
            .faces
            .iter()
            .filter(|(_, face)| is_idle(face))
            .map(|(slot, face)| (slot, face.number))
            .collect();
        for (slot, number) in idle {
            debug!(face = number, "closed: idle");
            self.close(slot);
            self.perform();
        }
    }

    /// Updates the memory of a face's unsent frames and of frames that wait for acknowledgements.
    #[inline]
    fn note_unsent_bytes(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get_mut(slot) {
            let bytes = face.channel.memory() + face.link.kept_bytes() as u64;
            self.unsent.replace(face.unsent_bytes, bytes);
            face.unsent_bytes = bytes;
        }
    }

    /// Updates the memory of a face's incomplete packets.
    #[inline]
    fn note_fragments(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get_mut(slot) {
            let bytes = face.link.fragment_bytes() as u64;
            self.fragments.replace(face.fragment_bytes, bytes);
            face.fragment_bytes = bytes;
        }
    }

    /// Waits until transports have sent their buffers, or accept no more.
    pub fn drain(&mut self) {
        self.end();
        self.flush_files();
        for slot in self.faces.slots().collect::<Vec<_>>() {
            if let Some(Face { channel: Channel::Transport(transport), .. }) = self.faces.get_mut(slot) {
                let _: io::Result<Flushed> = transport.flush();
            }
        }
    }

    /// A document of the metrics port.
    pub(crate) fn document(&self, document: Document) -> String {
        use crate::control::Control as _;

        match document {
            Document::Page => metrics::page(),
            // All map keys of the overview are text, so it can always be written as JSON.
            Document::Overview => serde_json::to_string(&self.overview()).unwrap_or_default(),
            Document::Metrics => self.snapshot().text(),
        }
    }

    /// The state of the forwarder at this moment.
    pub fn snapshot(&self) -> Snapshot {
        use crate::control::Control as _;

        let (drops, delays) = (self.observation.drops(), self.observation.delays());
        let (general, cs, faces) = (self.general(), self.cs_info(), self.faces());
        let evicted_interests = self.node.core().evicted_interests();
        let (left_next_hops, _) = self.node.core().next_hops_left_and_back();
        let cache = self.node.core().cache_counters();
        let with_rate = self.faces.iter().filter(|(_, face)| face.send_rate.is_some());
        let face_delays =
            with_rate.map(|(_, face)| (face.number, face.remote.clone(), face.delays)).collect();
        let sent = self.faces.iter().map(|(_, face)| (face.number, face.remote.clone(), face.classes));
        let face_classes = sent.filter(|(.., classes)| classes.used().next().is_some()).collect();
        Snapshot {
            general,
            evicted_interests,
            left_next_hops,
            cs,
            cache,
            faces,
            face_delays,
            face_classes,
            drops,
            delays,
            classes: self.observation.classes(),
        }
    }
}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("faces", &self.faces).field("node", &self.node).finish_non_exhaustive()
    }
}
