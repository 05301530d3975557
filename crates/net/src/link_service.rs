//! NDNLPv2 on one face: frames to packets and back.
//!
//! ```text
//!   frame --> duplicates, acknowledgements --> reassembly --> packet with its header
//!   frame <-- numbers, acknowledgements <-- fragmentation <-- congestion mark <-- packet
//! ```
//!
//! It has no socket and no clock: the caller passes times, and frames leave through a callback.
//!
//! # Automatic link repair
//! With [`Repair::Auto`] both ends acknowledge each received TxSequence. Neither end repairs before the other has
//! acknowledged.
//!
//! ```text
//!         the probe is acknowledged           a frame is acknowledged that was sent again
//!   PROBING --------------------> SAMPLING ------------------------------> REPAIRING
//!    ^  a frame has a TxSequence,   |  ^  the frames of every 16th packet     |  those of each packet
//!    |  100 ms, 200 ms, … 1 min     |  |  are kept, and of one each 10 ms     |
//!    |  apart                       |  +--------------------------------------+
//!    |                              |       nothing was lost for 10 s         |
//!    +------------------------------+-----------------------------------------+
//!           no acknowledgement for 2 s though one was wanted
//! ```
//!
//! So repair costs almost nothing on a link without losses.
//!
//! A probe is a frame that is sent anyway. It is not kept. A peer that does not know TxSequence ignores it, as NDNLPv2
//! requires for the number 840. A TxSequence from the peer brings the next probe forward: the peer has just started, or
//! was unreachable before.
//!
//! Consumers still learn of a repaired loss: the Data gets a congestion mark if [`Repair::Auto`] is set so. The link
//! cannot know whether congestion caused the loss. Loss-based congestion controls treat the mark like a loss; `bbr`
//! ignores both.

pub use weir_core::link::marking::Marking;

use weir_core::link::marking::Marker;
use weir_core::units::{Span, Time};
use weir_packet::fragment::{FragmentError, Fragmenter};
use weir_packet::lp::{Acks, LinkHeader, LpPacket, TX_SEQUENCE_LEN, types};
use weir_packet::tlv::{MAX_PACKET_SIZE, nni_element_len};
use weir_packet::{DecodeError, LpHeader, SignalSet};

use crate::reassembly::{Reassembler, ReassemblerConfig, ReassemblerCounters};
use crate::reliability::{
    Arrival, KNOWN_BYTES, Receiver, ReceiverConfig, Sender, SenderConfig, SenderCounters, SenderEvent,
};

/// When lost frames are retransmitted (link reliability of NDNLPv2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repair {
    /// Never, and no acknowledgements are sent.
    #[default]
    Off,
    /// While the peer acknowledges frames.
    Auto {
        /// Whether repaired Data get a congestion mark.
        marks: bool,
    },
    /// Always.
    On,
}

/// The options of a link service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Maximum length of a frame, bytes; `None`: packets are not split.
    pub mtu: Option<usize>,
    /// Memory for incomplete packets, bytes.
    pub reassembly_bytes: usize,
    /// When frames are acknowledged and retransmitted.
    pub repair: Repair,
    /// Congestion marks, if any.
    pub marking: Option<Marking>,
}

/// The link service of one face.
#[derive(Debug)]
pub struct LinkService {
    options: LinkOptions,
    known: SignalSet,
    fragmenter: Fragmenter,
    reassembler: Reassembler,
    reliability: Option<Box<Reliability>>,
    marker: Marker,
}

#[derive(Debug)]
struct Reliability {
    sender: Sender<Sending>,
    receiver: Receiver,
    /// Whether the peer acknowledges frames, or is assumed to.
    is_on: bool,
    probing: Probing,
    /// Until this time the frames of all packets are kept, because some were lost.
    lossy_until: Time,
    /// The time when frames of a packet were last kept, and the number of packets since then.
    sampled_at: Time,
    passed: u32,
    /// Whether the Data of retransmitted frames are marked.
    marks: bool,
    lost: u64,
    /// Bytes of the kept frames, and their maximum.
    kept: usize,
    most_kept: usize,
    /// Buffers of acknowledged frames, for reuse.
    spare: Vec<Vec<u8>>,
}

/// State of probing whether the peer acknowledges.
#[derive(Debug)]
struct Probing {
    /// The TxSequences of the first and the last probe. While no frame is kept, all numbers between them are of probes.
    sent: Option<(u64, u64)>,
    last_at: Time,
    /// The time between this probe and the next one.
    wait: Span,
}

/// The time between the first two probes. Assumed: about the longest round-trip time of a link.
const FIRST_WAIT: Span = Span::from_millis(100);
/// The maximum time between two probes. Assumed.
const LONGEST_WAIT: Span = Span::from_secs(60);
/// A peer that acknowledges nothing for this time counts as not acknowledging. Assumed: longer than an outage that
/// consumers do not notice, and short enough that at most 1024 frames are retransmitted in vain.
const GIVE_UP: Span = Span::from_secs(2);
/// While nothing is lost, the frames of one in this many packets are kept, and also those of one packet after each such
/// time. Assumed: a link with 5 % loss shows it within tens of frames, and the other packets cost nothing.
const SAMPLED: u32 = 16;
const SAMPLED_AFTER: Span = Span::from_millis(10);
/// After a loss, the frames of all packets are kept for this time. Assumed.
const LOSSY: Span = Span::from_secs(10);
/// If a peer sends no TxSequence for this time, its Sequences are forgotten. Its frames are too old to arrive again.
const FORGET: Span = Span::from_secs(10);
/// Maximum number of buffers kept for reuse: as many as the peer acknowledges in one round.
const SPARE: usize = 256;
/// Memory for incomplete packets that is always available besides the known Sequences, bytes: more than one packet of
/// the maximum size.
const LEAST_FRAGMENTS: usize = 16 << 10;
/// Maximum length of a congestion mark field added to a frame, bytes.
const MARK_LEN: usize = nni_element_len(types::CONGESTION_MARK, 1);
/// Maximum length that the headers of LpPacket and Fragment add to a bare packet, or that longer TLV-LENGTHs add to a
/// frame, bytes.
const WRAPPING: usize = 8;
/// The first byte of a Data packet.
const DATA: u8 = 6;

/// What frames carry besides their packet. All frames can carry acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addition {
    /// Each frame has a TxSequence, and is kept.
    Kept,
    /// The first frame has a TxSequence, and is not kept.
    Probe,
    /// Only acknowledgements.
    Acks,
}

impl Probing {
    const NEW: Probing = Probing { sent: None, last_at: Time::ZERO, wait: FIRST_WAIT };

    fn is_due(&self, now: Time) -> bool {
        self.sent.is_none() || now.since(self.last_at) >= self.wait
    }

    fn sent(&mut self, now: Time, tx_sequence: u64) {
        if self.sent.is_some() {
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
        let (first, _) = self.sent.unwrap_or((tx_sequence, tx_sequence));
        (self.sent, self.last_at) = (Some((first, tx_sequence)), now);
    }

    /// Returns whether this number acknowledges a probe. On a long link it may be an earlier probe than the last one.
    fn is_answered_by(&self, ack: u64) -> bool {
        self.sent.is_some_and(|(first, last)| (first..=last).contains(&ack))
    }
}

/// The part of a frame that is kept until its acknowledgement.
#[derive(Debug)]
struct Sending {
    link: LinkHeader,
    /// `None` if the header has no fields, as in all fragments but the first. It is boxed because entries are moved.
    header: Option<Box<LpHeader>>,
    is_data: bool,
    piece: Vec<u8>,
}

impl Sending {
    /// The Sequence of the packet's first frame. Without that frame the others are useless.
    fn packet(&self) -> u64 {
        self.link.sequence.unwrap_or_default().wrapping_sub(self.link.frag_index)
    }

    /// The frame to retransmit, without its TxSequence.
    fn again(&self, marks: bool) -> LpPacket<'_> {
        let mut header = self.header.as_deref().copied().unwrap_or(LpHeader::NONE);
        if marks && self.is_data {
            header.congestion_mark = header.congestion_mark.max(1);
        }
        LpPacket { link: self.link, ..LpPacket::new(header, &self.piece) }
    }

    /// Memory of the frame, bytes.
    fn bytes(&self) -> usize {
        let header = if self.header.is_some() { size_of::<LpHeader>() } else { 0 };
        size_of::<Sending>() + header + self.piece.capacity()
    }
}

/// Maximum number of acknowledgements in one frame.
const ACKS_PER_FRAME: usize = 16;

impl LinkService {
    /// Creates a link service whose Sequences begin at `first_sequence`. This number should differ after each start.
    pub fn new(options: LinkOptions, first_sequence: u64) -> LinkService {
        let mtu = options.mtu.unwrap_or(MAX_PACKET_SIZE);
        let fragmenter = Fragmenter::new(mtu, first_sequence);
        let is_on = options.repair == Repair::On;
        let bounds =
            ReassemblerConfig { max_bytes: options.reassembly_bytes, ..ReassemblerConfig::default() };
        LinkService {
            options,
            known: SignalSet::ALL,
            fragmenter,
            reassembler: Reassembler::new(bounds),
            reliability: (options.repair != Repair::Off).then(|| {
                Box::new(Reliability {
                    sender: Sender::new(SenderConfig::default(), first_sequence),
                    receiver: Receiver::new(ReceiverConfig::default()),
                    is_on,
                    probing: Probing::NEW,
                    lossy_until: if is_on { Time::NEVER } else { Time::ZERO },
                    sampled_at: Time::ZERO,
                    passed: 0,
                    marks: options.repair == Repair::Auto { marks: true },
                    lost: 0,
                    kept: 0,
                    most_kept: usize::MAX,
                    spare: Vec::new(),
                })
            }),
            marker: Marker::default(),
        }
    }

    /// Sets the signals that the node knows. The default is all signals.
    #[must_use]
    pub fn knowing(mut self, known: SignalSet) -> LinkService {
        self.known = known;
        self
    }

    /// The options.
    pub fn options(&self) -> LinkOptions {
        self.options
    }

    /// Changes the options. Changing reliability discards the frames that wait for acknowledgements.
    pub fn set_options(&mut self, options: LinkOptions, first_sequence: u64) {
        if options.repair == self.options.repair {
            self.fragmenter.set_mtu(options.mtu.unwrap_or(MAX_PACKET_SIZE));
            self.options = options;
        } else {
            *self = LinkService::new(options, first_sequence).knowing(self.known);
        }
    }

    /// Returns whether lost frames are retransmitted: the peer acknowledges, or is assumed to.
    pub fn is_repairing(&self) -> bool {
        self.reliability.as_ref().is_some_and(|reliability| reliability.is_on)
    }

    /// Handles a received frame. Returns the packet that it completes, if any.
    ///
    /// # Errors
    /// Returns an error if the frame is malformed.
    pub fn receive(
        &mut self,
        now: Time,
        peer: u64,
        frame: &[u8],
        packet: &mut dyn FnMut(&LpHeader, &[u8]),
    ) -> Result<(), DecodeError> {
        let frame = LpPacket::decode_knowing(frame, &self.known)?;
        if let Some(reliability) = &mut self.reliability {
            for ack in frame.acks.iter() {
                reliability.handle_ack(now, ack);
            }
            let is_always = self.options.repair == Repair::On;
            let may_know = is_always || self.options.reassembly_bytes >= KNOWN_BYTES + LEAST_FRAGMENTS;
            if frame.fragment.is_some() && !reliability.is_new(now, frame.link, may_know) {
                return Ok(());
            }
        }
        match frame.fragment {
            None => {}
            Some(_) if frame.link.is_piece() => {
                if let Some(whole) = self.reassembler.handle(now, peer, &frame) {
                    packet(&whole.header, &whole.packet);
                }
            }
            Some(bare) => packet(&frame.header, bare),
        }
        Ok(())
    }

    /// Sends a packet in as many frames as necessary. `queued` is the length of the face's queue, bytes.
    ///
    /// # Errors
    /// Returns an error if the packet cannot be sent in frames of this size.
    #[inline]
    pub fn send(
        &mut self,
        now: Time,
        header: &LpHeader,
        net: &[u8],
        queued: u64,
        frame: &mut dyn FnMut(&LpPacket<'_>),
    ) -> Result<(), FragmentError> {
        let mut packet = LpPacket::new(*header, net);
        if let Some(marking) = self.options.marking
            && self.marker.marks(now, queued, marking)
        {
            packet.header.congestion_mark = packet.header.congestion_mark.max(1);
        }
        if let Some(reliability) = &mut self.reliability
            && let Some(addition) = reliability.addition(now)
        {
            let is_data = net.first() == Some(&DATA);
            self.fragmenter.set_sequence_always(addition == Addition::Kept);
            for piece in self.fragmenter.split(packet, reliability.reserve(addition))? {
                reliability.send(now, piece, addition, is_data, self.fragmenter.mtu(), frame);
            }
        } else if self.options.mtu.is_none_or(|mtu| packet.wire_len() <= mtu) {
            frame(&packet);
        } else {
            self.fragmenter.set_sequence_always(false);
            self.fragmenter.split(packet, 0)?.for_each(|piece| frame(&piece));
        }
        Ok(())
    }

    /// The time at which [`LinkService::on_deadline`] must be called.
    pub fn next_deadline(&self) -> Time {
        let Some(reliability) = &self.reliability else { return Time::NEVER };
        reliability.sender.next_deadline().min(reliability.receiver.next_deadline())
    }

    /// Retransmits lost frames and sends due acknowledgements.
    pub fn on_deadline(&mut self, now: Time, frame: &mut dyn FnMut(&LpPacket<'_>)) {
        let mtu = self.fragmenter.mtu();
        let Some(reliability) = &mut self.reliability else { return };
        if self.options.repair != Repair::On && reliability.sender.silence(now) >= GIVE_UP {
            reliability.give_up();
        }
        reliability.on_deadline(now, mtu, frame);
    }

    /// Discards incomplete packets that have timed out, and the Sequences of a peer that has been silent for long.
    /// Occasional calls are enough.
    pub fn expire_fragments(&mut self, now: Time) {
        self.reassembler.expire(now);
        if let Some(reliability) = &mut self.reliability
            && !reliability.receiver.has_heard(now, FORGET)
        {
            reliability.receiver.forget();
        }
    }

    /// Memory of incomplete packets and of known Sequences, bytes.
    #[inline]
    pub fn fragment_bytes(&self) -> usize {
        self.reassembler.bytes() + self.known_bytes()
    }

    fn known_bytes(&self) -> usize {
        self.reliability.as_ref().map_or(0, |reliability| reliability.receiver.bytes())
    }

    /// Sets the maximum of this memory, bytes, from the next frame on.
    #[inline]
    pub fn limit_fragments(&mut self, bytes: usize) {
        self.options.reassembly_bytes = bytes;
        let beside_known = bytes.saturating_sub(self.known_bytes());
        self.reassembler.set_max_bytes(beside_known.max(bytes.min(LEAST_FRAGMENTS)));
    }

    /// Memory of frames that wait for acknowledgements, bytes.
    #[inline]
    pub fn kept_bytes(&self) -> usize {
        self.reliability.as_ref().map_or(0, |reliability| reliability.kept)
    }

    /// Sets the maximum of this memory, bytes, from the next frame on. Beyond it, frames are sent only once.
    #[inline]
    pub fn limit_kept(&mut self, bytes: usize) {
        if let Some(reliability) = &mut self.reliability {
            reliability.most_kept = bytes;
        }
    }

    /// Counters of acknowledged and retransmitted frames.
    pub fn repaired(&self) -> SenderCounters {
        self.reliability
            .as_ref()
            .map_or(SenderCounters::default(), |reliability| reliability.sender.counters())
    }

    /// Counters of reassembly.
    pub fn reassembly(&self) -> ReassemblerCounters {
        self.reassembler.counters()
    }

    /// Number of frames given up, without the other fragments of their packets.
    pub fn lost(&self) -> u64 {
        self.reliability.as_ref().map_or(0, |reliability| reliability.lost)
    }
}

impl Reliability {
    /// What the frames of the next packet carry besides it, if anything.
    #[inline]
    fn addition(&mut self, now: Time) -> Option<Addition> {
        let is_sampled = self.passed + 1 >= SAMPLED || now.since(self.sampled_at) >= SAMPLED_AFTER;
        if self.is_on && (is_sampled || now < self.lossy_until) {
            (self.sampled_at, self.passed) = (now, 0);
            return Some(Addition::Kept);
        }
        self.passed = self.passed.saturating_add(1);
        if !self.is_on && self.probing.is_due(now) {
            return Some(Addition::Probe);
        }
        (!self.receiver.is_empty()).then_some(Addition::Acks)
    }

    /// Room to leave in frames for the addition, bytes.
    fn reserve(&self, addition: Addition) -> usize {
        match addition {
            Addition::Kept if self.marks => TX_SEQUENCE_LEN + MARK_LEN,
            Addition::Kept | Addition::Probe => TX_SEQUENCE_LEN,
            Addition::Acks => 0,
        }
    }

    fn handle_ack(&mut self, now: Time, ack: u64) {
        if !self.is_on {
            self.is_on = self.probing.is_answered_by(ack);
            return;
        }
        let before = self.sender.counters().recovered;
        if let Some(sending) = self.sender.handle_ack(now, ack) {
            self.kept -= sending.bytes();
            if self.spare.len() < SPARE {
                self.spare.push(sending.piece);
            }
        }
        if self.sender.counters().recovered > before {
            self.lossy_until = self.lossy_until.max(now + LOSSY);
        }
    }

    /// Returns whether a frame with a fragment is new, as far as this can be known.
    fn is_new(&mut self, now: Time, link: LinkHeader, may_know: bool) -> bool {
        if link.tx_sequence.is_none() {
            return true;
        }
        // The peer repairs, or tries to, so it may also acknowledge.
        self.probing.wait = FIRST_WAIT;
        let knows = may_know || self.receiver.bytes() > 0;
        // A frame without acknowledgement is not retransmitted, so it need not be known.
        !knows || self.receiver.handle(now, link.tx_sequence, link.sequence) == Arrival::New
    }

    /// Handles a peer that does not acknowledge.
    fn give_up(&mut self) {
        self.sender.clear().for_each(drop);
        self.spare = Vec::new();
        (self.is_on, self.kept, self.probing) = (false, 0, Probing::NEW);
        self.lossy_until = Time::ZERO;
    }

    fn send(
        &mut self,
        now: Time,
        piece: LpPacket<'_>,
        addition: Addition,
        is_data: bool,
        mtu: usize,
        frame: &mut dyn FnMut(&LpPacket<'_>),
    ) {
        let tx_sequence = match addition {
            Addition::Kept => self.keep(now, &piece, is_data),
            // If the packet has several pieces, only the first one is a probe.
            Addition::Probe if self.probing.is_due(now) => {
                let number = self.sender.number();
                self.probing.sent(now, number);
                Some(number)
            }
            Addition::Probe | Addition::Acks => None,
        };
        let piece = LpPacket { link: LinkHeader { tx_sequence, ..piece.link }, ..piece };
        let mut numbers = [0; ACKS_PER_FRAME];
        let room = mtu.saturating_sub(piece.wire_len() + WRAPPING);
        let count = self.receiver.take_acks(room, &mut numbers);
        frame(&LpPacket { acks: Acks::Numbers(&numbers[..count]), ..piece });
    }

    /// Keeps a sent frame and returns its TxSequence. Returns `None` if too many frames are kept.
    fn keep(&mut self, now: Time, piece: &LpPacket<'_>, is_data: bool) -> Option<u64> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(piece.fragment.unwrap_or_default());
        let header = (piece.header.fields_len() > 0).then(|| Box::new(piece.header));
        let sending = Sending { link: piece.link, header, is_data, piece: bytes };
        let kept = self.kept + sending.bytes();
        if kept > self.most_kept {
            self.sender.pass();
            return None;
        }
        let tx_sequence = self.sender.transmit(now, sending).ok()?;
        self.kept = kept;
        Some(tx_sequence)
    }

    fn on_deadline(&mut self, now: Time, mtu: usize, frame: &mut dyn FnMut(&LpPacket<'_>)) {
        // Packets that lost a fragment.
        let mut given_up = Vec::new();
        while let Some(event) = self.sender.poll(now) {
            match event {
                SenderEvent::Retransmit { tx_sequence, frame: sending } => {
                    let again = sending.again(self.marks);
                    let link = LinkHeader { tx_sequence: Some(tx_sequence), ..again.link };
                    frame(&LpPacket { link, ..again });
                }
                SenderEvent::Lost(lost) => {
                    self.lost += 1;
                    self.kept -= lost.bytes();
                    if lost.link.is_piece() {
                        given_up.push(lost.packet());
                    }
                }
            }
        }
        if !given_up.is_empty() {
            given_up.sort_unstable();
            let kept = &mut self.kept;
            self.sender.retain(|other| {
                let keep = given_up.binary_search(&other.packet()).is_err();
                *kept -= if keep { 0 } else { other.bytes() };
                keep
            });
        }
        while self.receiver.next_deadline() <= now {
            let mut numbers = [0; ACKS_PER_FRAME];
            let count = self.receiver.take_acks(mtu.saturating_sub(8), &mut numbers);
            if count == 0 {
                break;
            }
            let idle = LpPacket { acks: Acks::Numbers(&numbers[..count]), ..LpPacket::default() };
            frame(&idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn options(mtu: usize, is_on: bool) -> LinkOptions {
        let repair = if is_on { Repair::On } else { Repair::Off };
        LinkOptions { mtu: Some(mtu), repair, reassembly_bytes: 1 << 20, marking: None }
    }

    /// A bare Interest of about this length.
    fn interest(len: usize, number: u8) -> Vec<u8> {
        let name = weir_packet::Name::new()
            .with(weir_packet::Component::generic(&vec![b'x'; len]))
            .with_segment(u64::from(number));
        weir_packet::Interest::new(name.view()).to_vec()
    }

    fn frames(service: &mut LinkService, now: Time, net: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let mut header = LpHeader::NONE;
        header.congestion_mark = 1;
        service.send(now, &header, net, 0, &mut |frame| out.push(frame.to_vec())).unwrap();
        out
    }

    #[test]
    fn what_is_too_long_is_split_and_put_together_again() {
        let (mut sender, mut receiver) =
            (LinkService::new(options(500, false), 7), LinkService::new(options(500, false), 9));
        for len in [10, 480, 900, 8000] {
            let net = interest(len, 1);
            let sent = frames(&mut sender, at(0), &net);
            assert!(sent.iter().all(|frame| frame.len() <= 500));
            let mut got = Vec::new();
            for frame in sent.iter().rev() {
                let mut each =
                    |header: &LpHeader, net: &[u8]| got.push((header.congestion_mark, net.to_vec()));
                receiver.receive(at(1), 0, frame, &mut each).unwrap();
            }
            assert_eq!(got, [(1, net)]);
        }
    }

    #[test]
    fn without_a_limit_nothing_is_split_and_a_packet_without_fields_is_bare() {
        let mut service = LinkService::new(LinkOptions { mtu: None, ..options(0, false) }, 0);
        let net = interest(5000, 1);
        let mut out = Vec::new();
        service.send(at(0), &LpHeader::NONE, &net, 0, &mut |frame| out.push(frame.to_vec())).unwrap();
        assert_eq!(out, [net]);
    }

    proptest! {
        /// Frames are lost in both directions, but each packet arrives once.
        #[test]
        fn a_reliable_face_loses_nothing(lost in prop::collection::vec(any::<bool>(), 0..40), lengths in prop::collection::vec(1usize..2000, 1..12)) {
            let mut ends = [LinkService::new(options(700, true), 100), LinkService::new(options(700, true), 5)];
            let (mut now, mut lost) = (at(0), lost.into_iter());
            let mut wire: Vec<(usize, Vec<u8>)> = Vec::new();
            let sent: Vec<Vec<u8>> = lengths.iter().enumerate().map(|(i, len)| interest(*len, i as u8)).collect();
            for net in &sent {
                wire.extend(frames(&mut ends[0], now, net).into_iter().map(|frame| (1, frame)));
            }
            let mut got = Vec::new();
            for _ in 0..2000 {
                for (to, frame) in std::mem::take(&mut wire) {
                    prop_assert!(frame.len() <= 700);
                    if lost.next() != Some(true) {
                        ends[to].receive(now, 0, &frame, &mut |_, net| got.push(net.to_vec())).unwrap();
                    }
                }
                let due = ends[0].next_deadline().min(ends[1].next_deadline());
                if due == Time::NEVER {
                    break;
                }
                now = now.max(due);
                for (from, end) in ends.iter_mut().enumerate() {
                    end.on_deadline(now, &mut |frame| wire.push((1 - from, frame.to_vec())));
                }
            }
            got.sort();
            let mut sent = sent;
            sent.sort();
            // A frame that is lost three times is given up. The list of losses is not always long enough for that.
            if ends[0].lost() == 0 {
                prop_assert!(got == sent, "{} of {} packets", got.len(), sent.len());
            }
        }

        #[test]
        fn any_bytes_are_a_packet_or_an_error(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
            let mut service = LinkService::new(options(500, true), 0);
            for frame in frames {
                let _ = service.receive(at(0), 0, &frame, &mut |_, _| ());
                service.on_deadline(at(1), &mut |_| ());
            }
        }
    }

    const AUTO: Repair = Repair::Auto { marks: true };

    fn auto(mtu: usize, first_sequence: u64) -> LinkService {
        LinkService::new(LinkOptions { repair: AUTO, ..options(mtu, false) }, first_sequence)
    }

    /// A bare Data of about this length, with arbitrary bytes.
    fn data(len: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        weir_packet::tlv::put_element(&mut packet, u32::from(DATA), &vec![b'x'; len]);
        packet
    }

    /// Frames of a packet without header fields.
    fn plain_frames(service: &mut LinkService, now: Time, net: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        service.send(now, &LpHeader::NONE, net, 0, &mut |frame| out.push(frame.to_vec())).unwrap();
        out
    }

    /// The marks and packets that an end receives from frames.
    fn take(service: &mut LinkService, now: Time, frames: &[Vec<u8>]) -> Vec<(u64, Vec<u8>)> {
        let mut got = Vec::new();
        for frame in frames {
            let mut each = |header: &LpHeader, net: &[u8]| got.push((header.congestion_mark, net.to_vec()));
            service.receive(now, 0, frame, &mut each).unwrap();
        }
        got
    }

    fn due(service: &mut LinkService, now: Time) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        service.on_deadline(now, &mut |frame| out.push(frame.to_vec()));
        out
    }

    fn tx_sequences(frames: &[Vec<u8>]) -> usize {
        frames.iter().filter(|frame| LpPacket::decode(frame).unwrap().link.tx_sequence.is_some()).count()
    }

    /// Two ends that have found that both acknowledge and that frames are lost.
    fn repairing() -> [LinkService; 2] {
        let [mut one, mut other] = [auto(700, 100), auto(700, 5)];
        let probe = plain_frames(&mut one, at(0), &interest(10, 0));
        assert_eq!((tx_sequences(&probe), one.is_repairing()), (1, false));
        assert_eq!(take(&mut other, at(10), &probe), [(0, interest(10, 0))]);
        // The answer carries the acknowledgement and a probe of its own.
        let answer = plain_frames(&mut other, at(10), &data(10));
        assert_eq!(take(&mut one, at(20), &answer), [(0, data(10))]);
        assert_eq!((one.is_repairing(), other.is_repairing()), (true, false));
        let acks = due(&mut one, at(25));
        assert_eq!(take(&mut other, at(35), &acks), []);
        assert!(other.is_repairing());
        for end in [&mut one, &mut other] {
            end.reliability.as_mut().unwrap().lossy_until = at(60_000);
        }
        [one, other]
    }

    #[test]
    fn while_nothing_is_lost_one_packet_in_sixteen_is_kept_and_after_a_loss_each() {
        let [mut one, mut other] = repairing();
        one.reliability.as_mut().unwrap().lossy_until = at(0);
        // Sends 3200 packets, one each 0.1 ms. A packet takes 10 ms; it is lost if `is_lost` returns true. Returns the
        // number of kept packets.
        let mut fly = |since: u64, is_lost: &dyn Fn(usize) -> bool| {
            let (mut kept, mut flying) = (0, VecDeque::new());
            for count in 0..4000 {
                let now = at(since) + Span::from_micros(100) * count as u64;
                let frames = if count < 3200 { plain_frames(&mut one, now, &data(100)) } else { Vec::new() };
                kept += tx_sequences(&frames);
                let again = if one.next_deadline() <= now { due(&mut one, now) } else { Vec::new() };
                let arrive = frames.into_iter().filter(|_| !is_lost(count)).chain(again);
                flying.extend(arrive.map(|frame| (now + Span::from_millis(10), frame)));
                while let Some((_, frame)) = flying.pop_front_if(|(when, _)| *when <= now) {
                    take(&mut other, now, &[frame]);
                }
                if other.next_deadline() <= now {
                    let acks = due(&mut other, now);
                    take(&mut one, now, &acks);
                }
            }
            kept
        };
        assert_eq!(fly(1000, &|_| false), 200);
        // The first loss of a sampled frame is detected within 100 ms.
        let kept = fly(2000, &|count| count % 20 == 0);
        assert!((2000..3200).contains(&kept), "{kept}");
        assert_eq!(fly(5000, &|_| false), 3200, "10 s have not passed");
        assert_eq!(fly(13_000, &|_| false), 200);
    }

    #[test]
    fn two_ends_that_acknowledge_repair_a_lost_piece_alone_and_mark_its_data() {
        let [mut one, mut other] = repairing();
        for (net, mark) in [(data(3000), 1), (interest(3000, 1), 0)] {
            let mut sent = plain_frames(&mut one, at(100), &net);
            assert!(sent.len() == 5 && sent.iter().all(|frame| frame.len() <= 700));
            sent.remove(1);
            assert_eq!(take(&mut other, at(110), &sent), []);
            let acks = due(&mut other, at(115));
            take(&mut one, at(125), &acks);
            let again = due(&mut one, at(125));
            assert!(again.len() == 1 && again[0].len() <= 700);
            assert_eq!(take(&mut other, at(135), &again), [(mark, net)]);
            let acks = due(&mut other, at(140));
            take(&mut one, at(150), &acks);
            assert_eq!((one.kept_bytes(), one.next_deadline()), (0, Time::NEVER));
        }
        assert_eq!((one.repaired().retransmitted, one.repaired().spurious), (2, 0));
    }

    #[test]
    fn a_peer_that_does_not_acknowledge_is_asked_now_and_then_and_nothing_is_kept_for_it() {
        let mut end = auto(700, 0);
        let mut asked = Vec::new();
        for ms in 0..10_000 {
            let frames = plain_frames(&mut end, at(ms), &data(1000));
            if tx_sequences(&frames) > 0 {
                assert_eq!(tx_sequences(&frames), 1, "one piece of the packet");
                asked.push(ms);
            }
            // A peer without link reliability understands the frame.
            let mut peer = LinkService::new(options(700, false), 7);
            assert_eq!(take(&mut peer, at(ms), &frames), [(0, data(1000))]);
            assert_eq!(peer.next_deadline(), Time::NEVER);
        }
        assert_eq!(asked, [0, 100, 300, 700, 1500, 3100, 6300]);
        assert_eq!((end.is_repairing(), end.kept_bytes(), end.next_deadline()), (false, 0, Time::NEVER));
        // Unexpected acknowledgements do not turn repair on. A frame from the peer with a TxSequence brings the next
        // probe forward.
        let acks = LpPacket { acks: Acks::Numbers(&[7, 8, 1 << 40]), ..LpPacket::default() };
        take(&mut end, at(10_000), &[acks.to_vec()]);
        assert!(!end.is_repairing());
        let probe = plain_frames(&mut auto(700, 9), at(0), &interest(10, 0));
        take(&mut end, at(10_000), &probe);
        assert_eq!(tx_sequences(&plain_frames(&mut end, at(10_000), &data(10))), 1);
    }

    #[test]
    fn repair_turns_itself_off_when_the_peer_acknowledges_no_more() {
        let [mut one, _] = repairing();
        let mut sent = 0;
        for ms in (100..8000).step_by(10) {
            sent += plain_frames(&mut one, at(ms), &data(10)).len();
            while one.next_deadline() <= at(ms) {
                sent += due(&mut one, at(ms)).len();
            }
            assert_eq!(one.is_repairing(), ms < 3000 && one.kept_bytes() > 0, "{ms}");
            if !one.is_repairing() {
                break;
            }
        }
        assert!((one.kept_bytes(), one.next_deadline()) == (0, Time::NEVER) && sent < 1000, "{sent}");
        // Then it probes again.
        assert_eq!(tx_sequences(&plain_frames(&mut one, at(9000), &data(10))), 1);
    }

    #[test]
    fn without_memory_frames_are_sent_once_and_not_acknowledged() {
        let [mut one, mut other] = repairing();
        one.limit_kept(10);
        assert_eq!(tx_sequences(&plain_frames(&mut one, at(100), &data(10))), 0);
        one.limit_kept(1 << 20);
        other.limit_fragments(16 << 10);
        let sent = plain_frames(&mut one, at(100), &data(3000));
        assert_eq!(tx_sequences(&sent), sent.len());
        assert_eq!(take(&mut other, at(110), &sent), [(0, data(3000))]);
        assert!(due(&mut other, at(115)).is_empty() && other.fragment_bytes() == 0);
        other.limit_fragments(1 << 20);
        take(&mut other, at(120), &plain_frames(&mut one, at(110), &data(10)));
        assert_eq!(other.fragment_bytes(), KNOWN_BYTES);
        // A peer that sends nothing for long is forgotten.
        other.expire_fragments(at(20_000));
        assert_eq!(other.fragment_bytes(), 0);
    }

    #[test]
    fn a_flood_of_numbers_and_acknowledgements_takes_no_more_than_its_bounds() {
        let [mut one, mut other] = repairing();
        for number in 0..50_000u64 {
            let number = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let acks = [number, number ^ 1, u64::MAX - number];
            let link = LinkHeader { tx_sequence: Some(number), sequence: Some(!number), ..LinkHeader::NONE };
            let net = data(10);
            let frame = LpPacket { link, acks: Acks::Numbers(&acks), ..LpPacket::new(LpHeader::NONE, &net) };
            take(&mut one, at(1000), &[frame.to_vec()]);
        }
        assert_eq!((one.fragment_bytes(), one.kept_bytes()), (KNOWN_BYTES, 0));
        assert!(due(&mut one, at(1010)).len() <= 64, "1024 acknowledgements, 16 in a frame");
        // It still probes.
        let sent = plain_frames(&mut one, at(2000), &data(10));
        assert_eq!(take(&mut other, at(2010), &sent), [(0, data(10))]);
        let acks = due(&mut other, at(2015));
        take(&mut one, at(2025), &acks);
        assert_eq!(one.kept_bytes(), 0);
    }

    #[test]
    fn with_a_lost_fragment_the_others_of_its_packet_are_not_sent_again() {
        let mut end = LinkService::new(options(700, true), 0);
        let acknowledge = |end: &mut LinkService, numbers: &[u64]| {
            let frame = LpPacket { acks: Acks::Numbers(numbers), ..LpPacket::default() };
            end.receive(at(1), 0, &frame.to_vec(), &mut |_, _| ()).unwrap();
            let mut sent_again = 0;
            end.on_deadline(at(1), &mut |_| sent_again += 1);
            sent_again
        };
        let pieces = frames(&mut end, at(0), &interest(3500, 1)).len() as u64;
        assert_eq!(pieces, 6);
        // Three later pieces overtake the first one. Then three other packets overtake the first one and those after
        // it.
        assert_eq!(acknowledge(&mut end, &[1, 2, 3]), 1);
        let mut next = pieces + 1;
        for times in 0..3 {
            for number in 0..3 {
                assert_eq!(frames(&mut end, at(1), &interest(10, number)).len(), 1);
            }
            let sent_again = acknowledge(&mut end, &[next, next + 1, next + 2]);
            assert_eq!(sent_again, if times < 2 { 3 } else { 2 });
            next += 3 + sent_again;
        }
        // The first one is given up, and no frame waits any more.
        assert_eq!((end.lost(), end.next_deadline()), (1, Time::NEVER));
    }

    #[test]
    fn packets_are_marked_while_a_queue_stays_long_and_keep_the_mark_that_they_have() {
        let marking = Some(Marking { threshold: 1000, interval: Span::from_millis(100) });
        let mut service = LinkService::new(LinkOptions { marking, ..options(1500, false) }, 0);
        let net = interest(100, 1);
        let mut marks = |ms, queued, mark| {
            let mut header = LpHeader::NONE;
            header.congestion_mark = mark;
            let mut marks = Vec::new();
            let mut note = |frame: &LpPacket<'_>| marks.push(frame.header.congestion_mark);
            service.send(at(ms), &header, &net, queued, &mut note).unwrap();
            marks
        };
        assert_eq!(marks(0, 1001, 0), [0]);
        assert_eq!(marks(100, 1001, 0), [1]);
        assert_eq!(marks(101, 1001, 0), [0]);
        assert_eq!(marks(300, 1001, 7), [7]);
        assert_eq!(marks(400, 1000, 0), [0], "1000 bytes are not more than 1000");
    }
}
