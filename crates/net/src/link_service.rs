//! NDNLPv2 on one face: frames to packets and back.
//!
//! ```text
//!   frame --> duplicates, acknowledgements --> reassembly --> packet with its header
//!   frame <-- numbers, acknowledgements <-- fragmentation <-- congestion mark <-- packet
//! ```
//!
//! It has no socket and no clock: the caller gives times, and frames leave through a callback.

pub use weir_core::link::marking::Marking;

use weir_core::link::marking::Marker;
use weir_core::units::Time;
use weir_packet::fragment::{FragmentError, Fragmenter};
use weir_packet::lp::{Acks, LinkHeader, LpPacket, TX_SEQUENCE_LEN};
use weir_packet::tlv::MAX_PACKET_SIZE;
use weir_packet::{DecodeError, LpHeader};

use crate::reassembly::{Reassembler, ReassemblerConfig, ReassemblerCounters};
use crate::reliability::{Arrival, Receiver, ReceiverConfig, Sender, SenderConfig, SenderEvent};

/// The options of a link service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Largest frame, bytes; `None`: packets are not split.
    pub mtu: Option<usize>,
    /// Memory for incomplete packets, bytes.
    pub reassembly_bytes: usize,
    /// Whether frames are acknowledged and sent again.
    pub reliability: bool,
    /// Congestion marks, if any.
    pub marking: Option<Marking>,
}

/// The link service of one face.
#[derive(Debug)]
pub struct LinkService {
    options: LinkOptions,
    fragmenter: Fragmenter,
    reassembler: Reassembler,
    reliability: Option<Box<Reliability>>,
    marker: Marker,
}

#[derive(Debug)]
struct Reliability {
    sender: Sender<Sending>,
    receiver: Receiver,
    lost: u64,
}

/// What is kept of a frame until it is acknowledged.
#[derive(Debug)]
struct Sending {
    link: LinkHeader,
    header: LpHeader,
    piece: Vec<u8>,
}

impl Sending {
    /// The Sequence of the packet's first frame: the others are of no use without this one.
    fn packet(&self) -> u64 {
        self.link.sequence.unwrap_or_default().wrapping_sub(self.link.frag_index)
    }
}

/// Acknowledgements that one frame takes along.
const ACKS_PER_FRAME: usize = 16;

impl LinkService {
    /// A link service whose Sequence numbers begin at `first_sequence`, which should differ after each start.
    pub fn new(options: LinkOptions, first_sequence: u64) -> LinkService {
        let mtu = options.mtu.unwrap_or(MAX_PACKET_SIZE);
        let mut fragmenter = Fragmenter::new(mtu, first_sequence);
        if options.reliability {
            fragmenter = fragmenter.with_sequence_always();
        }
        let bounds =
            ReassemblerConfig { max_bytes: options.reassembly_bytes, ..ReassemblerConfig::default() };
        // A fragment may be sent again and again, a retransmission timeout later each time; what is kept
        // meanwhile is bounded in bytes.
        let SenderConfig { rto, max_retransmissions, .. } = SenderConfig::default();
        let longest = rto.max * u64::from(max_retransmissions);
        let timeout = if options.reliability { longest } else { bounds.timeout };
        LinkService {
            options,
            fragmenter,
            reassembler: Reassembler::new(ReassemblerConfig { timeout, ..bounds }),
            reliability: options.reliability.then(|| {
                Box::new(Reliability {
                    sender: Sender::new(SenderConfig::default(), first_sequence),
                    receiver: Receiver::new(ReceiverConfig::default()),
                    lost: 0,
                })
            }),
            marker: Marker::default(),
        }
    }

    /// Its options.
    pub fn options(&self) -> LinkOptions {
        self.options
    }

    /// Changes its options. Switching reliability discards the frames that wait for acknowledgements.
    pub fn set_options(&mut self, options: LinkOptions, first_sequence: u64) {
        if options.reliability == self.options.reliability {
            self.fragmenter.set_mtu(options.mtu.unwrap_or(MAX_PACKET_SIZE));
            self.options = options;
        } else {
            *self = LinkService::new(options, first_sequence);
        }
    }

    /// Handles a received frame; returns the packet that it completes, if any.
    ///
    /// # Errors
    /// The frame is malformed.
    pub fn receive(
        &mut self,
        now: Time,
        peer: u64,
        frame: &[u8],
        packet: &mut dyn FnMut(&LpHeader, &[u8]),
    ) -> Result<(), DecodeError> {
        let frame = LpPacket::decode(frame)?;
        if let Some(reliability) = &mut self.reliability {
            for ack in frame.acks.iter() {
                reliability.sender.handle_ack(now, ack);
            }
            let LinkHeader { tx_sequence, sequence, .. } = frame.link;
            let is_new = frame.fragment.is_none()
                || reliability.receiver.handle(now, tx_sequence, sequence) == Arrival::New;
            if !is_new {
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
    /// The packet cannot be sent in frames of this size.
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
        match &mut self.reliability {
            None if self.options.mtu.is_none_or(|mtu| packet.wire_len() <= mtu) => frame(&packet),
            None => self.fragmenter.split(packet, 0)?.for_each(|piece| frame(&piece)),
            Some(reliability) => {
                for piece in self.fragmenter.split(packet, TX_SEQUENCE_LEN)? {
                    reliability.send(now, piece, self.fragmenter.mtu(), frame);
                }
            }
        }
        Ok(())
    }

    /// The time at which [`LinkService::on_deadline`] must be called.
    pub fn next_deadline(&self) -> Time {
        let Some(reliability) = &self.reliability else { return Time::NEVER };
        reliability.sender.next_deadline().min(reliability.receiver.next_deadline())
    }

    /// Retransmits lost frames, and sends acknowledgements that are due.
    pub fn on_deadline(&mut self, now: Time, frame: &mut dyn FnMut(&LpPacket<'_>)) {
        let mtu = self.fragmenter.mtu();
        if let Some(reliability) = &mut self.reliability {
            reliability.on_deadline(now, mtu, frame);
        }
    }

    /// Discards incomplete packets whose time is over. Calling it from time to time is enough.
    pub fn expire_fragments(&mut self, now: Time) {
        self.reassembler.expire(now);
    }

    /// Memory of incomplete packets, bytes.
    #[inline]
    pub fn fragment_bytes(&self) -> usize {
        self.reassembler.bytes()
    }

    /// Changes the bound of this memory, from the next frame on.
    #[inline]
    pub fn limit_fragments(&mut self, bytes: usize) {
        self.options.reassembly_bytes = bytes;
        self.reassembler.set_max_bytes(bytes);
    }

    /// The counters of reassembly.
    pub fn reassembly(&self) -> ReassemblerCounters {
        self.reassembler.counters()
    }

    /// Frames given up, without the other fragments of their packets.
    pub fn lost(&self) -> u64 {
        self.reliability.as_ref().map_or(0, |reliability| reliability.lost)
    }
}

impl Reliability {
    fn send(&mut self, now: Time, piece: LpPacket<'_>, mtu: usize, frame: &mut dyn FnMut(&LpPacket<'_>)) {
        let sending = Sending {
            link: piece.link,
            header: piece.header,
            piece: piece.fragment.unwrap_or_default().to_vec(),
        };
        // With too many unacknowledged it goes unreliably.
        let tx_sequence = self.sender.transmit(now, sending).ok();
        let piece = LpPacket { link: LinkHeader { tx_sequence, ..piece.link }, ..piece };
        let mut numbers = [0; ACKS_PER_FRAME];
        // The lengths of the frame and of its fields may each take two bytes more.
        let room = mtu.saturating_sub(piece.wire_len() + 4);
        let count = self.receiver.take_acks(room, &mut numbers);
        frame(&LpPacket { acks: Acks::Numbers(&numbers[..count]), ..piece });
    }

    fn on_deadline(&mut self, now: Time, mtu: usize, frame: &mut dyn FnMut(&LpPacket<'_>)) {
        // Packets of which a fragment is lost.
        let mut given_up = Vec::new();
        while let Some(event) = self.sender.poll(now) {
            match event {
                SenderEvent::Retransmit { tx_sequence, frame: sending } => {
                    let link = LinkHeader { tx_sequence: Some(tx_sequence), ..sending.link };
                    frame(&LpPacket { link, ..LpPacket::new(sending.header, &sending.piece) });
                }
                SenderEvent::Lost(lost) => {
                    self.lost += 1;
                    if lost.link.is_piece() {
                        given_up.push(lost.packet());
                    }
                }
            }
        }
        if !given_up.is_empty() {
            given_up.sort_unstable();
            self.sender.retain(|other| given_up.binary_search(&other.packet()).is_err());
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
    use weir_core::units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn options(mtu: usize, reliability: bool) -> LinkOptions {
        LinkOptions { mtu: Some(mtu), reliability, reassembly_bytes: 1 << 20, marking: None }
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
        /// Frames are lost both ways, and yet each packet arrives once.
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
            // Three times the same frame lost is a lost frame: the list of losses is not that long for all.
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
        // Three later pieces overtake the first, and then three other packets the first and those behind.
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
        // The first is given up, and nothing waits any more.
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
