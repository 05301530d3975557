//! The core between the faces, in rounds of the event loop.
//!
//! ```text
//!   begin: deadlines     ready: frames in, packets to the core, its actions     end: frames out, failed faces
//! ```
//!
//! What the core wants done is done when the frames of one socket are all handed in; UDP frames leave at the end
//! of a round, so that many go in one system call.
//!
//! - `packets`: frames in and out; `faces`: faces made and closed; `paths`: the largest frames that the paths of datagrams
//!   carry; `control`: what management may ask.
//! - Parts with a state of their own: `sockets`, `admission` (who may have a face), `round` (what is put off to its
//!   end), `timers`, `inbox` (what awaits management), `observation` (counters and capture), `next_hops` (what the log says
//!   of those that are left).

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
use crate::metrics::http::Document;
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

/// Frames that a face may hand in before others have their turn.
const FRAMES_A_ROUND: usize = 64;
/// Peers that a listener may hand in before others have their turn.
const PEERS_A_ROUND: usize = 64;
/// System calls that a UDP socket may make before others have their turn.
const CALLS_A_ROUND: usize = 1;
/// How early at the end of a round links may send what is due, so that a burst on a fast link needs no timer: 62 kB at 10 Gb/s,
/// about what one system call sends.
const AHEAD: Span = Span::from_micros(50);
/// How late after a round the core may be told of a deadline, so that one wake-up serves several packets of a fast link. As
/// much as Linux lets most timers of a process be late (prctl(2), PR_SET_TIMERSLACK).
const SLACK: Span = Span::from_micros(50);

/// The core between the faces.
pub struct Engine {
    pub(crate) outside: Box<dyn Outside>,
    /// The time of this round for the core. It may be ahead of the clock, by [`AHEAD`] at most.
    pub(crate) now: Time,
    /// What the clock said last.
    clock: Time,
    pub(crate) node: WireNode,
    pub(crate) faces: FaceTable,
    /// What faces that are made are like.
    pub(crate) config: FaceConfigs,
    limits: Limits,
    /// Which applications are believed.
    pub(crate) rights: ApplicationRights,
    /// The face of management.
    management: FaceId,
    pub(crate) sockets: Sockets,
    admission: Admission,
    refused: Refused,
    groups: Groups,
    round: Round,
    timers: Timers,
    /// As of the last sweep.
    losses: Losses,
    /// Where the next sweep goes on to ask for the MTU of paths.
    next_path: FaceNumber,
    pub(crate) inbox: Inbox,
    observation: Observation,
    next_hop_log: NextHopLog,
    buffers: Buffers,
    /// What buffers in front of sockets take, and fragments of incomplete packets, bytes.
    unsent: SharedBound,
    fragments: SharedBound,
}

/// How much peers and management can make the forwarder keep.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most faces, with that of management.
    pub faces: usize,
    /// Prefixes with routes; also the limit of prefixes with strategies.
    pub fib_entries: usize,
    /// Memory of frames in front of sockets, bytes.
    pub send_buffer_bytes: u64,
    /// Memory of incomplete packets, bytes.
    pub reassembly_bytes: u64,
}

impl Engine {
    /// One without faces but for management's.
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

    /// The core with its packets, to look at.
    pub fn node(&self) -> &WireNode {
        &self.node
    }

    /// How many faces there are, with that of management.
    pub fn face_count(&self) -> usize {
        self.faces.len()
    }

    /// Packets that wait in the queues in front of faces.
    pub fn queued_packets(&self) -> usize {
        let backlogs = self.faces.iter().map(|(_, face)| self.node.core().backlog(face.core));
        backlogs.map(|backlog| backlog.packets as usize).sum()
    }

    /// When there is something to do though nothing comes.
    pub fn next_deadline(&self) -> Time {
        if self.round.has_unread() || self.inbox.has_waiting() {
            return self.clock;
        }
        self.node.next_deadline().max(self.clock + SLACK).min(self.timers.next())
    }

    /// A round begins: does what was due until now.
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

    /// Reads the clock, and lets the core do what was due until then.
    fn run_core(&mut self) {
        self.clock = self.outside.now();
        self.now = self.now.max(self.clock);
        self.node.run_until(self.now);
    }

    /// Lets links send what they would send within the next [`AHEAD`]: so that a burst on a fast link leaves at once.
    fn run_ahead(&mut self) {
        self.now = self.node.run_links_until(self.now, self.clock + AHEAD);
    }

    /// Records what the node is told from now on.
    pub(crate) fn record_to(&mut self, recorder: Recorder) {
        self.node.record(recorder);
        self.timers.begin_flushing(self.now);
    }

    /// Captures all frames from now on.
    pub(crate) fn capture_to(&mut self, capture: Capture) {
        self.observation.capture_to(capture);
        self.timers.begin_flushing(self.now);
    }

    /// Something can be read or written behind a token.
    pub fn ready(&mut self, token: Token) {
        match EventSource::of(token) {
            Some(EventSource::Face(slot)) => self.face_ready(slot),
            Some(EventSource::Listener(at)) => self.accept(at),
            Some(EventSource::Udp(at)) => self.udp_ready(at),
            None => {}
        }
    }

    /// Goes on with what had more than one round takes.
    pub fn go_on(&mut self) {
        for token in self.round.take_unread() {
            self.ready(token);
        }
    }

    /// A round ends: sends what has gathered, with what became due meanwhile, and closes what has failed.
    pub fn end(&mut self) {
        self.run_core();
        self.run_ahead();
        self.perform();
        self.tell_next_hops();
        loop {
            self.send_batches();
            self.follow_links();
            let Some((slot, error)) = self.round.next_failed() else { break };
            // Each packet that was sent in vain is an entry: the first one counts.
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
        // Some answer by themselves.
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
                // Others may wait behind the one that failed.
                Err(error) => {
                    let at = self.sockets.listener_uri(listener);
                    debug!(%error, at, "cannot accept");
                    self.refused.add(1, None, || format!("{at}: {error}"));
                }
            }
        }
        // Nobody tells of them again.
        self.round.note_unread(EventSource::Listener(listener).token());
    }

    /// So many connections were refused, and why.
    pub(crate) fn note_refused(&mut self, connections: u64, why: impl FnOnce() -> String) {
        self.refused.add(connections, None, why);
    }

    /// Acknowledgements and retransmissions of faces with link reliability, and faces to connect again.
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

    /// Takes note of when a face wants to be called.
    #[inline]
    fn note_deadline(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get(slot) {
            self.timers.note_face(slot, face.link.next_deadline().min(face.reconnect_at));
        }
    }

    /// Writes what of capture and recording is kept in memory.
    fn flush_files(&mut self) {
        self.node.flush_recording();
        self.observation.flush();
    }

    /// What is to be done now and then.
    fn sweep(&mut self) {
        self.close_idle();
        if let Some((connections, from, why)) = self.refused.take() {
            let from = from.map(tracing::field::display);
            warn!(connections, from, why, "refused connections");
        }
        self.note_losses();
        self.tell_other_next_hops();
        self.follow_paths();
        // Also where nothing comes any more, which would do it.
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

    /// Losses that no face counts.
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

    /// Takes note of what the buffers in front of a face's socket take, with the frames that wait for acknowledgements.
    #[inline]
    fn note_unsent_bytes(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get_mut(slot) {
            let bytes = face.channel.memory() + face.link.kept_bytes() as u64;
            self.unsent.replace(face.unsent_bytes, bytes);
            face.unsent_bytes = bytes;
        }
    }

    /// Takes note of what the incomplete packets of a face take.
    #[inline]
    fn note_fragments(&mut self, slot: FaceSlot) {
        if let Some(face) = self.faces.get_mut(slot) {
            let bytes = face.link.fragment_bytes() as u64;
            self.fragments.replace(face.fragment_bytes, bytes);
            face.fragment_bytes = bytes;
        }
    }

    /// Waits until what transports have kept is out, or they take no more.
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
            // The overview has no map whose keys are not text, so it always is JSON.
            Document::Overview => serde_json::to_string(&self.overview()).unwrap_or_default(),
            Document::Metrics => self.snapshot().text(),
        }
    }

    /// The forwarder at this moment.
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
