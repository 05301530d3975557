//! NDNLPv2 link reliability: acknowledgements and retransmissions on one link, without clock or socket.
//!
//! ```text
//! Sender                                   Receiver
//!  transmit -> TxSequence, kept  --frame-->  handle -> New | Duplicate; TxSequence queued
//!  handle_ack -> forgotten       <--Acks---  take_acks (on a frame that leaves, or alone when due)
//!  poll -> Retransmit (RTO, or three later ones acknowledged; new TxSequence) | Lost
//! ```
//!
//! TxSequence numbers a transmission, Sequence the fragment in it. A retransmission has a new TxSequence and the old
//! Sequence, so the receiver recognises duplicates.
//!
//! The frames that wait for acknowledgement are a queue in order of TxSequence, which is the order of sending: the
//! front is always the next to time out.
//!
//! The receiver remembers the last [`SEQUENCES`] Sequences that came with a TxSequence. The sender gives a frame up
//! before it has sent this many others after it. So a frame with a TxSequence is delivered at most once while the peer
//! runs, if the network holds no frame back for a second ([`SILENCE`]) or for 4096 others. A frame without TxSequence
//! is not checked: it is delivered as often as the network delivers it.
//!
//! If a network reorders frames, acknowledgements of later frames arrive first. The sender keeps the earlier
//! TxSequences of retransmitted frames. The acknowledgement of such a TxSequence shows that the frame was late, not
//! lost. Then the number of later acknowledgements that count as a loss doubles, up to
//! [`SenderConfig::most_later_acks`]. It halves after 1024 acknowledgements without such a case.
//!
//! Acknowledgements can be lost like frames. A duplicate shows such a loss: the next [`REPEATED`] acknowledgements are
//! sent twice, in two frames.
//!
//! A restarted peer may reuse its Sequences: NFD begins with the same ones each time. Its TxSequences are then not
//! ahead of the newest. If for a second no received TxSequence was ahead, the receiver concludes that the peer has
//! restarted, and treats its Sequences as new. The receiver cannot detect a restart in two cases: the peer restarts
//! within a second, or the first frame that arrives has a TxSequence ahead of the newest. Then the frames with known
//! Sequences are acknowledged but lost. Weir starts numbering at its wall clock, so its Sequences are new each time.

use core::mem;
use std::collections::VecDeque;

use weir_core::rtt::{RtoConfig, RttEstimate};
use weir_core::units::{Span, Time};
use weir_packet::lp::ACK_LEN;

/// Parameters of a [`Sender`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// Maximum number of kept frames. Beyond it, frames are sent without TxSequence, that is, unreliably.
    pub max_unacknowledged: usize,
    /// Maximum number of retransmissions of a frame. After them it counts as lost.
    pub max_retransmissions: u32,
    /// Number of acknowledged later transmissions after which a frame counts as lost.
    pub later_acks: u32,
    /// Maximum of this number, which grows if the network reorders frames.
    pub most_later_acks: u32,
    /// Maximum age of a frame since its first transmission. An older frame is not retransmitted, because no consumer
    /// waits for it any longer.
    pub max_age: Span,
    /// Maximum number of later frames, with and without TxSequence. After more, a frame is not retransmitted, because
    /// the receiver may have forgotten its Sequence.
    pub max_later_frames: u64,
    /// Bounds of the retransmission timeout.
    pub rto: RtoConfig,
}

impl Default for SenderConfig {
    /// 1024 frames, 3 retransmissions, 3 to 384 later acknowledgements, the default InterestLifetime of 4 s, 12 288
    /// later frames, an initial RTO of 1 s, bounded by 10 ms and 60 s.
    fn default() -> Self {
        SenderConfig {
            max_unacknowledged: 1024,
            max_retransmissions: 3,
            later_acks: 3,
            most_later_acks: 384,
            max_age: Span::from_secs(4),
            max_later_frames: SEQUENCES as u64 - 4096,
            rto: RtoConfig {
                initial: Span::from_secs(1),
                min: Span::from_millis(10),
                max: Span::from_secs(60),
                granularity: Span::ZERO,
                max_backoff: 1 << 16,
            },
        }
    }
}

/// Counters of a [`Sender`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Acknowledged frames.
    pub acknowledged: u64,
    /// Frames acknowledged after a retransmission.
    pub recovered: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Frames given up, except those that [`Sender::retain`] removes.
    pub lost: u64,
    /// Unnecessary retransmissions: a later acknowledgement showed that the earlier transmission had arrived.
    pub spurious: u64,
    /// Acknowledgements of frames that were not waiting for one.
    pub unknown_acks: u64,
}

#[derive(Clone, Debug)]
struct Unacknowledged<T> {
    tx_sequence: u64,
    /// Number of the frame among all frames.
    number: u64,
    /// Times of the first and the last transmission.
    first_sent: Time,
    sent: Time,
    retransmissions: u32,
    later_acks: u32,
    frame: T,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
struct Replaced {
    /// The frame's TxSequences before and after.
    before: u64,
    now: u64,
    /// Number of later transmissions that had been acknowledged.
    later_acks: u32,
}

/// Index of the frame with this TxSequence. Frames move from the front of the waiting queue to the back of the due
/// queue, so both are in order of their numbers.
fn find<T>(frames: &VecDeque<Unacknowledged<T>>, tx_sequence: u64) -> Option<usize> {
    let front = frames.front()?.tx_sequence;
    // Compares distances from the front, so that numbers may wrap around.
    let distance = |number: u64| number.wrapping_sub(front);
    frames.binary_search_by_key(&distance(tx_sequence), |entry| distance(entry.tx_sequence)).ok()
}

/// An action that a [`Sender`] requests.
#[derive(Debug, PartialEq, Eq)]
pub enum SenderEvent<'a, T> {
    /// Retransmit this frame with this TxSequence.
    Retransmit {
        /// The new TxSequence.
        tx_sequence: u64,
        /// The value that the caller passed with the frame.
        frame: &'a T,
    },
    /// The frame is given up.
    Lost(T),
}

/// The sending side. `T` is the value from which the caller can retransmit a frame: its bytes, or a handle.
#[derive(Clone, Debug)]
pub struct Sender<T> {
    config: SenderConfig,
    next_tx_sequence: u64,
    /// Number of all frames, with and without TxSequence.
    frames: u64,
    waiting: VecDeque<Unacknowledged<T>>,
    /// Frames that count as lost, by later acknowledgements or by the timeout. They are to be retransmitted or given
    /// up.
    due: VecDeque<Unacknowledged<T>>,
    /// The last retransmissions, in ascending order of the earlier TxSequence.
    replaced: VecDeque<Replaced>,
    /// The current number of acknowledged later transmissions after which a frame counts as lost, and the number of
    /// acknowledgements since it changed.
    later_acks: u32,
    steady: u32,
    /// The time since which an acknowledgement is expected: since the last one, or since the first frame after it.
    unanswered: Option<Time>,
    /// Round-trip time of the link, from frames that were sent once.
    rtt: RttEstimate,
    counters: SenderCounters,
}

/// Maximum number of retransmissions whose earlier TxSequence is remembered. Assumed: a link of 100 Mb/s with frames of
/// 1472 bytes, 10 % loss and 100 ms round-trip time loses this many in a round-trip time.
const REPLACED: usize = 128;
/// After this many acknowledgements without a spurious retransmission, fewer later ones count as a loss.
const STEADY: u32 = 1024;

impl<T> Sender<T> {
    /// Creates a sender whose TxSequence begins at `first_tx_sequence`.
    pub const fn new(config: SenderConfig, first_tx_sequence: u64) -> Self {
        Sender {
            config,
            next_tx_sequence: first_tx_sequence,
            frames: 0,
            waiting: VecDeque::new(),
            due: VecDeque::new(),
            replaced: VecDeque::new(),
            later_acks: config.later_acks,
            steady: 0,
            unanswered: None,
            rtt: RttEstimate::new(config.rto),
            counters: SenderCounters {
                acknowledged: 0,
                recovered: 0,
                retransmitted: 0,
                lost: 0,
                spurious: 0,
                unknown_acks: 0,
            },
        }
    }

    /// The counters.
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Number of frames that wait for an acknowledgement.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.due.len()
    }

    /// Returns whether no frame waits for an acknowledgement.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Round-trip time and retransmission timeout of the link.
    pub fn rtt(&self) -> &RttEstimate {
        &self.rtt
    }

    /// Stores a frame sent at `now` and returns its TxSequence. Returns the frame if too many frames wait already.
    pub fn transmit(&mut self, now: Time, frame: T) -> Result<u64, T> {
        self.frames += 1;
        if self.len() >= self.config.max_unacknowledged {
            return Err(frame);
        }
        self.unanswered.get_or_insert(now);
        let tx_sequence = self.number();
        let (number, first_sent, sent) = (self.frames, now, now);
        let entry = Unacknowledged {
            tx_sequence,
            number,
            first_sent,
            sent,
            retransmissions: 0,
            later_acks: 0,
            frame,
        };
        self.waiting.push_back(entry);
        Ok(tx_sequence)
    }

    /// Counts a frame that is sent without TxSequence.
    pub fn pass(&mut self) {
        self.frames += 1;
    }

    /// Returns the TxSequence of a frame that is sent but not kept.
    pub fn number(&mut self) -> u64 {
        let tx_sequence = self.next_tx_sequence;
        self.next_tx_sequence = tx_sequence.wrapping_add(1);
        tx_sequence
    }

    /// How long a frame has waited without any acknowledgement from the peer. Zero if no frame waits.
    pub fn silence(&self, now: Time) -> Span {
        self.unanswered.map_or(Span::ZERO, |since| now.since(since))
    }

    /// Handles the acknowledgement of a TxSequence. Returns the frame if it was waiting.
    pub fn handle_ack(&mut self, now: Time, tx_sequence: u64) -> Option<T> {
        let Some(index) = find(&self.waiting, tx_sequence) else {
            return self.handle_late_ack(now, tx_sequence);
        };
        let entry = self.waiting.remove(index)?;
        self.note_acknowledged(now);
        if entry.retransmissions == 0 {
            self.rtt.sample(now.since(entry.sent));
        } else {
            self.counters.recovered += 1;
        }
        // Earlier transmissions have been overtaken once more. Those overtaken often enough form a prefix of the queue:
        // each has been overtaken at least as often as those after it.
        for earlier in self.waiting.iter_mut().take(index) {
            earlier.later_acks += 1;
        }
        while let Some(front) = self.waiting.front()
            && front.later_acks >= self.later_acks
        {
            self.due.extend(self.waiting.pop_front());
        }
        Some(entry.frame)
    }

    fn note_acknowledged(&mut self, now: Time) {
        self.unanswered = (!self.is_empty()).then_some(now);
        self.counters.acknowledged += 1;
        self.steady += 1;
        if self.steady >= STEADY {
            self.steady = 0;
            self.later_acks = (self.later_acks / 2).max(self.config.later_acks);
        }
    }

    /// Handles the acknowledgement of a TxSequence that is not waiting. It may belong to a frame that is due for
    /// retransmission, or to the earlier transmission of a retransmitted frame. Such a frame was late, not lost.
    fn handle_late_ack(&mut self, now: Time, tx_sequence: u64) -> Option<T> {
        let frame = if let Some(index) = find(&self.due, tx_sequence) {
            self.due.remove(index)?.frame
        } else if let Some(index) = self.find_replaced(tx_sequence)
            && let Some(replaced) = self.replaced.remove(index)
        {
            self.counters.spurious += 1;
            if replaced.later_acks >= self.config.later_acks {
                let more = (2 * replaced.later_acks).min(self.config.most_later_acks);
                (self.later_acks, self.steady) = (self.later_acks.max(more), 0);
            }
            let index = find(&self.waiting, replaced.now)?;
            self.waiting.remove(index)?.frame
        } else {
            self.counters.unknown_acks += 1;
            return None;
        };
        self.note_acknowledged(now);
        Some(frame)
    }

    fn find_replaced(&self, tx_sequence: u64) -> Option<usize> {
        let front = self.replaced.front()?.before;
        let distance = |number: u64| number.wrapping_sub(front);
        self.replaced.binary_search_by_key(&distance(tx_sequence), |entry| distance(entry.before)).ok()
    }

    /// The time at which [`Sender::poll`] has work to do; [`Time::NEVER`] if no frame waits.
    pub fn next_deadline(&self) -> Time {
        if !self.due.is_empty() {
            return Time::ZERO;
        }
        self.times_out_at()
    }

    /// The timer of RFC 6298 restarts with each acknowledgement. While acknowledgements arrive, those of later frames
    /// reveal losses.
    fn times_out_at(&self) -> Time {
        let since = |front: &Unacknowledged<T>| front.sent.max(self.unanswered.unwrap_or(front.sent));
        self.waiting.front().map_or(Time::NEVER, |front| since(front) + self.rtt.rto())
    }

    /// Returns the next action at `now`. Call it until it returns `None`.
    pub fn poll(&mut self, now: Time) -> Option<SenderEvent<'_, T>> {
        if self.due.is_empty() && self.times_out_at() <= now {
            let rto = self.rtt.rto();
            while let Some(front) = self.waiting.front()
                && front.sent + rto <= now
            {
                self.due.extend(self.waiting.pop_front());
            }
            self.rtt.back_off();
        }
        let entry = self.due.pop_front()?;
        let is_too_late = self.frames - entry.number > self.config.max_later_frames
            || now.since(entry.first_sent) >= self.config.max_age;
        if is_too_late || entry.retransmissions >= self.config.max_retransmissions {
            self.counters.lost += 1;
            return Some(SenderEvent::Lost(entry.frame));
        }
        self.counters.retransmitted += 1;
        let tx_sequence = self.number();
        if self.replaced.len() == REPLACED {
            self.replaced.pop_front();
        }
        let (before, later_acks) = (entry.tx_sequence, entry.later_acks);
        self.replaced.push_back(Replaced { before, now: tx_sequence, later_acks });
        let retransmissions = entry.retransmissions + 1;
        self.waiting.push_back(Unacknowledged {
            tx_sequence,
            sent: now,
            retransmissions,
            later_acks: 0,
            ..entry
        });
        self.waiting.back().map(|entry| SenderEvent::Retransmit { tx_sequence, frame: &entry.frame })
    }

    /// Keeps only the frames for which `keep` returns true. When a fragment is lost, the other fragments of its packet
    /// are useless.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.waiting.retain(|entry| keep(&entry.frame));
        self.due.retain(|entry| keep(&entry.frame));
    }

    /// Removes and returns all waiting frames, for example because the link is gone.
    pub fn clear(&mut self) -> impl Iterator<Item = T> + use<T> {
        self.unanswered = None;
        let (due, waiting) = (mem::take(&mut self.due), mem::take(&mut self.waiting));
        due.into_iter().chain(waiting).map(|entry| entry.frame)
    }
}

/// Parameters of a [`Receiver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// How long an acknowledgement waits for a frame that carries it.
    pub ack_delay: Span,
    /// Maximum number of waiting acknowledgements. Beyond it the oldest are dropped, and the peer retransmits.
    pub max_acks: usize,
}

impl Default for ReceiverConfig {
    /// 5 ms, 1024 acknowledgements.
    fn default() -> Self {
        ReceiverConfig { ack_delay: Span::from_millis(5), max_acks: 1024 }
    }
}

/// Whether a frame is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The frame is new among the remembered frames: handle it.
    New,
    /// The frame is a duplicate: drop it. It is acknowledged nevertheless.
    Duplicate,
}

/// Number of acknowledgements that are sent twice after a duplicate.
pub const REPEATED: u32 = 512;

/// Number of Sequences that a [`Receiver`] remembers. Assumed: a link of 1 Gb/s sends this many frames of 1200 bytes,
/// minus a reserve of 4096, while it retransmits a frame after 100 ms.
pub const SEQUENCES: usize = 1 << 14;

/// Memory of the Sequences that a [`Receiver`] remembers, bytes. It is allocated when the first frame with a TxSequence
/// arrives.
pub const KNOWN_BYTES: usize = SEQUENCES * size_of::<u64>();

/// If no TxSequence was ahead of the newest for this time, the peer has restarted. Assumed: longer than a network holds
/// a frame back, and no longer than a forwarder takes to start.
pub const SILENCE: Span = Span::from_secs(1);

/// The last received Sequences.
#[derive(Clone, Debug)]
struct Known {
    /// Place `n % SEQUENCES` holds the last received Sequence that belongs there. Empty until the first one arrives.
    places: Vec<u64>,
}

impl Known {
    /// Records a Sequence. Returns whether it is new.
    fn insert(&mut self, sequence: u64) -> bool {
        if self.places.is_empty() {
            self.clear();
        }
        let place = &mut self.places[(sequence % SEQUENCES as u64) as usize];
        mem::replace(place, sequence) != sequence
    }

    /// Memory of the table, bytes.
    fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<u64>()
    }

    /// Forgets all Sequences: each place gets a number that belongs to another place.
    fn clear(&mut self) {
        self.places.clear();
        self.places.extend((0..SEQUENCES as u64).map(|place| place + 1));
    }
}

/// Progress of a peer's TxSequences.
#[derive(Clone, Copy, Debug)]
struct Run {
    newest: u64,
    /// Arrival time of the newest one.
    heard: Time,
}

impl Run {
    /// Compares serial numbers that wrap around (RFC 1982).
    fn is_ahead(&self, tx_sequence: u64) -> bool {
        (1..1 << 63).contains(&tx_sequence.wrapping_sub(self.newest))
    }

    fn is_over(&self, now: Time) -> bool {
        now.since(self.heard) >= SILENCE
    }
}

/// The receiving side.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    acks: VecDeque<u64>,
    /// Acknowledgements to send a second time, and how many of the next ones are sent twice.
    again: VecDeque<u64>,
    repeated: u32,
    /// The time at which the oldest acknowledgement has waited long enough; [`Time::NEVER`] if none waits.
    deadline: Time,
    known: Known,
    /// The peer's run, if it has sent a frame.
    run: Option<Run>,
    duplicates: u64,
    dropped_acks: u64,
}

impl Receiver {
    /// Creates a receiver that has received no frame.
    pub const fn new(config: ReceiverConfig) -> Self {
        Receiver {
            config,
            acks: VecDeque::new(),
            again: VecDeque::new(),
            repeated: 0,
            deadline: Time::NEVER,
            known: Known { places: Vec::new() },
            run: None,
            duplicates: 0,
            dropped_acks: 0,
        }
    }

    /// Handles a frame that has a fragment and these numbers, received at `now`.
    pub fn handle(&mut self, now: Time, tx_sequence: Option<u64>, sequence: Option<u64>) -> Arrival {
        let Some(tx_sequence) = tx_sequence else { return Arrival::New };
        if self.config.max_acks > 0 {
            if self.acks.len() >= self.config.max_acks {
                self.acks.pop_front();
                self.dropped_acks += 1;
            }
            self.acks.push_back(tx_sequence);
            self.deadline = self.deadline.min(now + self.config.ack_delay);
        }
        self.follow(now, tx_sequence);
        match sequence {
            Some(sequence) if !self.known.insert(sequence) => {
                self.duplicates += 1;
                self.repeated = REPEATED;
                Arrival::Duplicate
            }
            _ => Arrival::New,
        }
    }

    /// Records a TxSequence, and forgets the Sequences of a run that is over.
    fn follow(&mut self, now: Time, tx_sequence: u64) {
        let is_ahead = self.run.is_none_or(|run| run.is_ahead(tx_sequence));
        let starts_again = !is_ahead && self.run.is_some_and(|run| run.is_over(now));
        if starts_again {
            self.known.clear();
        }
        if is_ahead || starts_again {
            self.run = Some(Run { newest: tx_sequence, heard: now });
        }
    }

    /// Number of waiting acknowledgements.
    pub fn len(&self) -> usize {
        self.acks.len()
    }

    /// Returns whether no acknowledgement waits.
    pub fn is_empty(&self) -> bool {
        self.acks.is_empty()
    }

    /// Number of duplicates received.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Number of acknowledgements dropped because too many waited.
    pub fn dropped_acks(&self) -> u64 {
        self.dropped_acks
    }

    /// The time at which a frame with only acknowledgements must be sent; [`Time::NEVER`] if none waits.
    pub fn next_deadline(&self) -> Time {
        self.deadline
    }

    /// Moves acknowledgements into `numbers`, as many as fit there and into `room` bytes of a frame: first those that
    /// are sent a second time, then the oldest. Returns their number. Those left over are due at once.
    pub fn take_acks(&mut self, room: usize, numbers: &mut [u64]) -> usize {
        let most = numbers.len().min(room / ACK_LEN);
        let (new, old) = (self.acks.len().min(most), self.again.len());
        let again = old.min(most - new);
        // Those sent a second time are older, so no later one makes their frames count as lost.
        for (place, ack) in numbers.iter_mut().zip(self.again.drain(..again).chain(self.acks.drain(..new))) {
            *place = ack;
        }
        let repeated =
            new.min(self.repeated as usize).min(self.config.max_acks.saturating_sub(self.again.len()));
        self.again.extend(&numbers[again..again + repeated]);
        self.repeated -= repeated as u32;
        if self.acks.is_empty() {
            self.deadline = Time::NEVER;
        }
        new + again
    }

    /// Returns whether a frame with a TxSequence has arrived within this time.
    pub fn has_heard(&self, now: Time, within: Span) -> bool {
        self.run.is_some_and(|run| now.since(run.heard) < within)
    }

    /// Memory of the remembered Sequences, bytes.
    pub fn bytes(&self) -> usize {
        self.known.bytes()
    }

    /// Forgets the Sequences of a peer that has sent none for long, and frees their memory.
    pub fn forget(&mut self) {
        self.known = Known { places: Vec::new() };
        self.run = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn sender() -> Sender<&'static str> {
        Sender::new(SenderConfig::default(), u64::MAX)
    }

    fn events(sender: &mut Sender<&'static str>, now: Time) -> Vec<(Option<u64>, &'static str)> {
        let mut events = vec![];
        while let Some(event) = sender.poll(now) {
            events.push(match event {
                SenderEvent::Retransmit { tx_sequence, frame } => (Some(tx_sequence), *frame),
                SenderEvent::Lost(frame) => (None, frame),
            });
        }
        events
    }

    #[test]
    fn an_acknowledged_frame_is_forgotten_and_measures_the_link() {
        let mut sender = sender();
        assert_eq!(sender.transmit(at(0), "a"), Ok(u64::MAX));
        assert_eq!(sender.transmit(at(0), "b"), Ok(0), "numbers wrap round");
        assert_eq!(sender.next_deadline(), at(1000));
        assert_eq!(sender.handle_ack(at(20), 0), Some("b"));
        assert_eq!(sender.handle_ack(at(20), u64::MAX), Some("a"));
        assert_eq!(sender.handle_ack(at(20), u64::MAX), None);
        assert_eq!(
            sender.counters(),
            SenderCounters { acknowledged: 2, unknown_acks: 1, ..Default::default() }
        );
        assert_eq!(sender.rtt().srtt(), Some(MS * 20));
        // SRTT + 4 RTTVAR with RTTVAR = 10 ms, then 7.5 ms.
        assert_eq!(sender.rtt().rto(), MS * 50);
        assert_eq!((sender.is_empty(), sender.next_deadline()), (true, Time::NEVER));
    }

    #[test]
    fn three_later_acknowledgements_bring_a_retransmission_with_a_new_number() {
        let mut sender = sender();
        for frame in ["a", "b", "c", "d"] {
            sender.transmit(at(0), frame).unwrap();
        }
        sender.handle_ack(at(1), 0);
        sender.handle_ack(at(1), 1);
        assert_eq!(events(&mut sender, at(1)), []);
        sender.handle_ack(at(1), 2);
        assert_eq!(sender.next_deadline(), Time::ZERO);
        assert_eq!(events(&mut sender, at(1)), [(Some(3), "a")]);
        assert_eq!(sender.handle_ack(at(2), 3), Some("a"));
        assert_eq!(sender.counters().recovered, 1);
        assert_eq!(sender.rtt().srtt(), Some(MS), "a retransmission measures nothing");
    }

    #[test]
    fn a_frame_is_sent_again_after_each_timeout_and_given_up_after_the_third() {
        let config = SenderConfig { max_age: Span::from_secs(60), ..SenderConfig::default() };
        let mut sender = Sender::new(config, u64::MAX);
        sender.transmit(at(0), "a").unwrap();
        let mut now = at(0);
        for (rto, expected) in
            [(1000, (Some(0), "a")), (2000, (Some(1), "a")), (4000, (Some(2), "a")), (8000, (None, "a"))]
        {
            now += MS * rto;
            assert_eq!(sender.next_deadline(), now);
            assert_eq!(events(&mut sender, now - Span::from_nanos(1)), []);
            assert_eq!(events(&mut sender, now), [expected]);
        }
        assert_eq!(sender.counters(), SenderCounters { retransmitted: 3, lost: 1, ..Default::default() });
        assert!(sender.is_empty());
    }

    #[test]
    fn a_frame_that_nobody_waits_for_is_not_sent_again() {
        let mut sender = sender();
        sender.transmit(at(0), "a").unwrap();
        assert_eq!(events(&mut sender, at(3999)), [(Some(0), "a")]);
        assert_eq!(events(&mut sender, at(10_000)), [(None, "a")]);
    }

    #[test]
    fn how_long_a_peer_has_acknowledged_nothing_is_known() {
        let mut sender = sender();
        assert_eq!(sender.silence(at(50)), Span::ZERO);
        sender.transmit(at(100), "a").unwrap();
        sender.transmit(at(150), "b").unwrap();
        assert_eq!(sender.silence(at(200)), MS * 100);
        sender.handle_ack(at(210), u64::MAX).unwrap();
        assert_eq!(sender.silence(at(300)), MS * 90);
        sender.handle_ack(at(310), 0).unwrap();
        assert_eq!(sender.silence(at(1000)), Span::ZERO, "nothing waits");
        sender.transmit(at(2000), "c").unwrap();
        // Frames that were given up had no acknowledgement either.
        while !sender.is_empty() {
            let due = sender.next_deadline();
            events(&mut sender, due);
        }
        sender.transmit(at(20_000), "d").unwrap();
        assert_eq!(sender.silence(at(20_000)), MS * 18_000);
    }

    /// Sends `frames` frames, one per millisecond, over a link where `delay` returns the delay of each.
    /// Acknowledgements take 10 ms. Nothing is lost. Returns the sender.
    fn reordered(frames: u64, delay: impl Fn(u64) -> u64) -> Sender<u64> {
        let mut sender = Sender::new(SenderConfig::default(), 0);
        let mut coming: Vec<(u64, u64)> = vec![];
        for now in 0..frames + 200 {
            let mut sent = vec![];
            while let Some(event) = sender.poll(at(now)) {
                let SenderEvent::Retransmit { tx_sequence, .. } = event else { panic!("{event:?}") };
                sent.push(tx_sequence);
            }
            if now < frames {
                sent.push(sender.transmit(at(now), now).unwrap());
            }
            coming.extend(sent.into_iter().map(|number| (now + delay(number) + 10, number)));
            coming.sort_unstable();
            while let Some((_, number)) = coming.first().copied().filter(|(when, _)| *when <= now) {
                coming.remove(0);
                sender.handle_ack(at(now), number);
            }
        }
        assert!(sender.is_empty());
        sender
    }

    #[test]
    fn a_link_that_reorders_frames_has_few_sent_again() {
        // Every eighth frame takes 20 ms longer, so 20 later ones arrive first.
        let sender = reordered(8000, |number| if number % 8 == 0 { 30 } else { 10 });
        let SenderCounters { spurious, retransmitted, lost, .. } = sender.counters();
        assert_eq!((lost, spurious), (0, retransmitted), "nothing was lost");
        assert!(retransmitted < 80, "{retransmitted} of 1000");
        // On a link that keeps the order, a loss is again detected after three.
        let sender = reordered(8000, |number| if number < 1000 && number % 8 == 0 { 30 } else { 10 });
        assert_eq!(sender.later_acks, 3);
    }

    #[test]
    fn a_duplicate_has_the_next_acknowledgements_sent_twice() {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let mut numbers = [0; 4];
        receiver.handle(at(0), Some(1), Some(1));
        assert_eq!((receiver.take_acks(100, &mut numbers), receiver.take_acks(100, &mut numbers)), (1, 0));
        receiver.handle(at(0), Some(2), Some(1));
        assert_eq!((receiver.take_acks(100, &mut numbers), numbers[0]), (1, 2));
        receiver.handle(at(0), Some(3), Some(3));
        assert_eq!((receiver.take_acks(100, &mut numbers), &numbers[..2]), (2, &[2, 3][..]));
        assert_eq!((receiver.take_acks(100, &mut numbers), numbers[0]), (1, 3));
        assert_eq!(receiver.take_acks(100, &mut numbers), 0);
        assert_eq!(receiver.next_deadline(), Time::NEVER);
    }

    #[test]
    fn a_late_acknowledgement_stops_a_retransmission_that_is_due() {
        let mut sender = sender();
        for frame in ["a", "b", "c", "d"] {
            sender.transmit(at(0), frame).unwrap();
        }
        for ack in [0, 1, 2] {
            sender.handle_ack(at(1), ack);
        }
        assert_eq!(sender.handle_ack(at(1), u64::MAX), Some("a"));
        assert_eq!(events(&mut sender, at(1)), []);
    }

    #[test]
    fn a_full_sender_gives_the_frame_back() {
        let config = SenderConfig { max_unacknowledged: 1, ..SenderConfig::default() };
        let mut sender = Sender::new(config, 0);
        assert_eq!(sender.transmit(at(0), "a"), Ok(0));
        assert_eq!(sender.transmit(at(0), "b"), Err("b"));
        assert_eq!(sender.clear().collect::<Vec<_>>(), ["a"]);
        assert!(sender.is_empty());
    }

    #[test]
    fn acknowledgements_wait_for_a_frame_but_not_for_long() {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        assert_eq!(receiver.next_deadline(), Time::NEVER);
        assert_eq!(receiver.handle(at(1), Some(7), Some(0)), Arrival::New);
        assert_eq!(receiver.handle(at(3), Some(8), Some(1)), Arrival::New);
        assert_eq!(receiver.next_deadline(), at(6));
        let mut numbers = [0; 8];
        assert_eq!(receiver.take_acks(2 * ACK_LEN - 1, &mut numbers), 1);
        assert_eq!((numbers[0], receiver.next_deadline()), (7, at(6)));
        assert_eq!(receiver.take_acks(1000, &mut numbers), 1);
        assert_eq!((numbers[0], receiver.next_deadline()), (8, Time::NEVER));
        assert_eq!(receiver.handle(at(9), None, None), Arrival::New);
        assert!(receiver.is_empty());
    }

    #[test]
    fn a_retransmission_of_what_came_is_a_duplicate_and_acknowledged_again() {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for sequence in [5, 7, 6, 1000] {
            assert_eq!(receiver.handle(at(0), Some(sequence), Some(sequence)), Arrival::New);
            assert_eq!(receiver.handle(at(0), Some(sequence + 9), Some(sequence)), Arrival::Duplicate);
        }
        assert_eq!(receiver.handle(at(0), Some(1), Some(999)), Arrival::New);
        assert_eq!(receiver.handle(at(0), Some(1), Some(5)), Arrival::Duplicate);
        assert_eq!((receiver.len(), receiver.duplicates()), (10, 5));
    }

    /// A receiver after this many frames, all at `at(0)`, from a peer that counts from 0.
    fn after(frames: u64) -> Receiver {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        assert!((0..frames).all(|n| receiver.handle(at(0), Some(n), Some(n)) == Arrival::New));
        receiver
    }

    #[test]
    fn what_is_sent_again_late_is_a_duplicate_and_what_came_since_stays_known() {
        let newest = SEQUENCES as u64 + 4;
        let mut receiver = after(newest + 1);
        let mut again = |n| receiver.handle(at(0), Some(newest + 1 + n), Some(n));
        for n in [5, 6, 1000, newest] {
            assert_eq!(again(n), Arrival::Duplicate);
        }
        // This Sequence is forgotten. The others are still known, except the one in its place.
        assert_eq!(again(4), Arrival::New);
        for n in [5, newest - 1] {
            assert_eq!(again(n), Arrival::Duplicate);
        }
        assert_eq!(again(newest), Arrival::New);
    }

    #[test]
    fn what_is_not_retained_is_neither_waiting_nor_due() {
        let mut sender = sender();
        for frame in ["a", "b", "1", "2", "3"] {
            sender.transmit(at(0), frame).unwrap();
        }
        for n in 1..=3 {
            sender.handle_ack(at(1), n);
        }
        // "a" and "b" are due, and the next two wait.
        for frame in ["a", "b"] {
            sender.transmit(at(1), frame).unwrap();
        }
        sender.retain(|frame| *frame != "a");
        assert_eq!(sender.len(), 2);
        let all: Vec<_> = sender.clear().collect();
        assert_eq!(all, ["b", "b"]);
    }

    #[test]
    fn the_sender_gives_a_frame_up_before_the_receiver_forgets_it() {
        let max_age = Span::from_secs(1000);
        let config = SenderConfig { max_unacknowledged: 2, max_age, ..Default::default() };
        for (others, event) in
            [(0, true), (config.max_later_frames, true), (config.max_later_frames + 1, false)]
        {
            let mut sender = Sender::new(config, 0);
            assert_eq!(sender.transmit(at(0), "a"), Ok(0));
            for _ in 0..others {
                // Frames without TxSequence count too.
                let _ = sender.transmit(at(0), "b");
            }
            assert_eq!(
                matches!(sender.poll(at(1000)), Some(SenderEvent::Retransmit { frame: &"a", .. })),
                event
            );
            // A retransmission does not reset a frame's age.
            let _ = sender.transmit(at(1000), "b");
            let mut again = None;
            while let Some(next) = sender.poll(at(100_000)) {
                match next {
                    SenderEvent::Retransmit { frame: &"a", .. } => again = Some(true),
                    SenderEvent::Lost("a") => again = Some(false),
                    _ => {}
                }
            }
            assert_eq!(again, event.then_some(others == 0));
        }
        assert!(config.max_later_frames + 4096 <= SEQUENCES as u64);
    }

    #[test]
    fn a_peer_that_starts_again_with_its_first_numbers_is_heard() {
        for frames in [1, 3, 500, SEQUENCES as u64 + 10] {
            let mut receiver = after(frames);
            let mut hear = |now, n| receiver.handle(at(now), Some(n), Some(n));
            // Copies made by the network arrive soon.
            assert_eq!(hear(999, frames - 1), Arrival::Duplicate);
            assert!((0..frames).all(|n| hear(1000, n) == Arrival::New), "{frames}");
            assert!((0..frames).all(|n| n + 10 < frames || hear(1000, n) == Arrival::Duplicate));
        }
    }

    #[test]
    fn a_peer_that_starts_again_at_once_is_heard_after_a_second() {
        let mut receiver = after(SEQUENCES as u64);
        for n in 0..2000 {
            let arrival = receiver.handle(at(n), Some(n), Some(n));
            assert_eq!(arrival, if n < 1000 { Arrival::Duplicate } else { Arrival::New });
        }
    }

    #[test]
    fn a_peer_that_begins_with_its_wall_clock_is_heard_at_once() {
        for after_ms in [1, 300, 1000, 4095, 4096, 4097, 8192, 1 << 26] {
            let first = 1_795_000_000_000 << 20;
            let mut receiver = Receiver::new(ReceiverConfig::default());
            for (now, first) in [(0, first), (after_ms, first + (after_ms << 20))] {
                for n in first..first + SEQUENCES as u64 + 5 {
                    assert_eq!(receiver.handle(at(now), Some(n), Some(n)), Arrival::New, "{after_ms}");
                }
            }
        }
    }

    #[test]
    fn frames_with_odd_numbers_block_nothing() {
        let far = [1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX - 500];
        for (odd_tx, odd) in far.iter().flat_map(|tx| far.map(|n| (*tx, n))).chain(far.map(|n| (50, n))) {
            let mut receiver = after(50);
            for now in [0, 5000] {
                receiver.handle(at(now), Some(odd_tx), Some(odd));
            }
            for n in 51..3000 {
                let (arrival, again) = (
                    receiver.handle(at(5000 + n), Some(n), Some(n)),
                    receiver.handle(at(5000 + n), Some(n), Some(n)),
                );
                assert_eq!((arrival, again), (Arrival::New, Arrival::Duplicate), "{odd_tx} {odd} {n}");
            }
        }
    }

    /// The next step of the peer and the network.
    #[derive(Clone, Copy, Debug)]
    enum Next {
        /// The peer sends a frame. The value says whether it arrives.
        Send(bool),
        /// The peer retransmits the frame sent this many frames ago. The second value says whether it arrives.
        SendAgain(usize, bool),
        /// The network delivers another copy of this many transmissions ago, or delivers it late.
        Copy(usize),
        Wait(u64),
        /// The peer restarts a second after its last frame, with its first numbers or with later ones.
        StartAgain(bool),
    }

    fn next() -> impl Strategy<Value = Next> {
        prop_oneof![
            6 => any::<bool>().prop_map(Next::Send),
            4 => (0..3000usize, any::<bool>()).prop_map(|(ago, comes)| Next::SendAgain(ago, comes)),
            4 => (0..50usize).prop_map(Next::Copy),
            2 => (0..400u64).prop_map(Next::Wait),
            1 => any::<bool>().prop_map(Next::StartAgain),
        ]
    }

    proptest! {
        /// The network holds nothing back for a second, and the first frame of each run arrives.
        #[test]
        fn each_frame_of_each_run_of_a_peer_is_new_once(
            base in prop_oneof![Just(0), Just(u64::MAX - 20), any::<u64>()],
            list in prop::collection::vec(next(), 0..200),
        ) {
            let mut receiver = Receiver::new(ReceiverConfig::default());
            let (mut now, mut run, mut tx, mut first, mut sent) = (0, 0, base, base.wrapping_sub(1), 0u64);
            // The time, the TxSequence, the Sequence, and the run and the frame.
            let mut transmissions: Vec<(u64, u64, u64, (u64, u64))> = vec![];
            let mut is_heard = false;
            let mut came = std::collections::BTreeSet::new();
            for next in list {
                let (back, comes) = match next {
                    Next::Wait(ms) => {
                        now += ms;
                        continue;
                    }
                    Next::StartAgain(with_first_numbers) => {
                        run += 1;
                        // Transmissions of the earlier run no longer matter.
                        transmissions.clear();
                        tx = base.wrapping_add(run << 32);
                        if with_first_numbers {
                            (now, tx, is_heard) = (now + 1000, base, false);
                        }
                        (first, sent) = (tx.wrapping_sub(1), 0);
                        continue;
                    }
                    Next::Copy(back) => (Some(back), true),
                    Next::Send(comes) => {
                        transmissions.push((now, tx, first.wrapping_add(sent), (run, sent)));
                        sent += 1;
                        (None, comes)
                    }
                    Next::SendAgain(ago, comes) => {
                        let Some(newest) = sent.checked_sub(1) else { continue };
                        let frame = newest.saturating_sub(ago as u64);
                        transmissions.push((now, tx, first.wrapping_add(frame), (run, frame)));
                        (None, comes)
                    }
                };
                if back.is_none() {
                    tx = tx.wrapping_add(1);
                }
                let index = transmissions.len().checked_sub(back.unwrap_or(0) + 1);
                let Some(&(sent_at, tx, sequence, frame)) = index.and_then(|index| transmissions.get(index)) else {
                    continue;
                };
                if (comes || !is_heard) && now - sent_at < 1000 {
                    is_heard = true;
                    let arrival = receiver.handle(at(now), Some(tx), Some(sequence));
                    prop_assert_eq!(arrival == Arrival::New, came.insert(frame), "{:?}", frame);
                }
            }
        }
    }

    #[test]
    fn a_lossy_link_delivers_every_frame_once() {
        // One frame in three and one acknowledgement in four are lost.
        let mut sender = Sender::new(SenderConfig { max_retransmissions: 50, ..Default::default() }, 0);
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let mut delivered = vec![0; 1000];
        let (mut now, mut next, mut coin, mut ack_coin) = (at(0), 0u64, 0, 0);
        while next < 1000 || !sender.is_empty() {
            now += MS;
            let mut frames = vec![];
            while let Some(event) = sender.poll(now) {
                match event {
                    SenderEvent::Retransmit { tx_sequence, frame } => frames.push((tx_sequence, *frame)),
                    SenderEvent::Lost(frame) => panic!("{frame} lost"),
                }
            }
            if next < 1000 {
                frames.push((sender.transmit(now, next).unwrap(), next));
                next += 1;
            }
            for (tx_sequence, frame) in frames {
                coin += 1;
                if coin % 3 != 0 && receiver.handle(now, Some(tx_sequence), Some(frame)) == Arrival::New {
                    delivered[frame as usize] += 1;
                }
            }
            let mut numbers = [0; 4];
            let count = receiver.take_acks(1000, &mut numbers);
            for ack in &numbers[..count] {
                ack_coin += 1;
                if ack_coin % 4 != 0 {
                    sender.handle_ack(now + MS / 2, *ack);
                }
            }
            assert!(now < at(10_000_000));
        }
        assert!(delivered.iter().all(|count| *count == 1));
        assert!(sender.counters().retransmitted > 300);
    }
}
