//! NDNLPv2 fragmentation and reassembly, as two state machines without clock or socket.
//!
//! Every fragment has a Sequence, consecutive within a packet, so that Sequence minus FragIndex
//! names the packet. Fragment 0 alone carries the packet's header fields.
//!
//! The [`Reassembler`] keeps partial packets in a short list that is searched from end to end: few
//! are open at a time on one link. Everything a peer can make it keep is bounded (partial packets,
//! bytes, time); what has to go is what would expire first, and it is counted.

use crate::lp::{Acks, LinkHeader, LpHeader, LpPacket, types};
use crate::tlv::{MAX_PACKET_SIZE, element_len, nni_element_len};
use alloc::vec::Vec;
use core::fmt;

/// The most fragments of one packet that are made or put together.
pub const MAX_FRAGMENTS: usize = 400;

/// Why a packet cannot be sent in frames of the link's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentError {
    /// The header fields leave no room for a byte of the packet in a frame.
    HeaderTooLarge,
    /// More than [`MAX_FRAGMENTS`] frames were needed.
    TooManyFragments,
    /// There is no packet to send.
    Idle,
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FragmentError::HeaderTooLarge => "the header fields do not fit in a frame",
            FragmentError::TooManyFragments => "the packet needs too many frames",
            FragmentError::Idle => "an idle frame has nothing to split",
        })
    }
}

impl core::error::Error for FragmentError {}

/// Splits network packets into frames that fit a link.
#[derive(Clone, Debug)]
pub struct Fragmenter {
    mtu: usize,
    next_sequence: u64,
    number_whole_packets: bool,
}

impl Fragmenter {
    /// For frames of at most `mtu` bytes (never more than [`MAX_PACKET_SIZE`]). `first_sequence`
    /// should differ from one start to the next, so that a peer does not confuse the two.
    pub fn new(mtu: usize, first_sequence: u64) -> Self {
        Fragmenter {
            mtu: mtu.min(MAX_PACKET_SIZE),
            next_sequence: first_sequence,
            number_whole_packets: false,
        }
    }

    /// Gives a Sequence to packets that need no splitting as well. A link with reliability needs it:
    /// a receiver knows a retransmission by its Sequence.
    #[must_use]
    pub fn with_sequence_always(mut self) -> Self {
        self.number_whole_packets = true;
        self
    }

    /// The largest frame, bytes.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Changes the largest frame.
    pub fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu.min(MAX_PACKET_SIZE);
    }

    /// Splits a packet into frames, of which each leaves `reserve` bytes of the MTU free for fields
    /// that the caller adds (such as a TxSequence, [`crate::lp::TX_SEQUENCE_LEN`], or Acks).
    ///
    /// The link header of `packet` is overwritten. A packet that fits comes out as one frame.
    pub fn split<'a>(
        &mut self,
        mut packet: LpPacket<'a>,
        reserve: usize,
    ) -> Result<Fragments<'a>, FragmentError> {
        let bytes = packet.fragment.ok_or(FragmentError::Idle)?;
        packet.link = LinkHeader::NONE;
        if self.number_whole_packets {
            packet.link.sequence = Some(self.next_sequence);
        }
        let room = self.mtu.saturating_sub(reserve);
        // With fields added later, a frame that is bare now gets an LpPacket around it.
        let wrapping = if reserve > 0 && packet.wire_len() == bytes.len() {
            element_len(types::LP_PACKET, element_len(types::FRAGMENT, bytes.len()) + reserve)
                - bytes.len()
                - reserve
        } else {
            0
        };
        // Fields added later can also make the LpPacket's length one form longer, by 2 bytes.
        let slack = if reserve > 0 { 2 } else { 0 };
        if packet.wire_len() + wrapping + slack <= room {
            if self.number_whole_packets {
                self.next_sequence = self.next_sequence.wrapping_add(1);
            }
            return Ok(Fragments { packet, rest: bytes, first: bytes.len(), other: 0, index: 0, count: 1 });
        }
        // What a frame costs besides its piece: outer and inner header, and the three fields.
        let headers = 2 * element_len(types::LP_PACKET, MAX_PACKET_SIZE) - 2 * MAX_PACKET_SIZE;
        let fields =
            element_len(types::SEQUENCE, 8) + 2 * nni_element_len(types::FRAG_COUNT, MAX_FRAGMENTS as u64);
        let other = room.saturating_sub(headers + fields);
        packet.link = LinkHeader::NONE;
        let shared = LpPacket { fragment: None, ..packet };
        // Fields of fragment 0, without the frame's own header.
        let first_fields = shared.wire_len() - element_len(types::LP_PACKET, 0);
        let first = other.saturating_sub(first_fields);
        if first == 0 {
            return Err(FragmentError::HeaderTooLarge);
        }
        let count = 1 + bytes.len().saturating_sub(first).div_ceil(other);
        if count > MAX_FRAGMENTS {
            return Err(FragmentError::TooManyFragments);
        }
        packet.link = LinkHeader {
            sequence: Some(self.next_sequence),
            frag_index: 0,
            frag_count: count as u64,
            tx_sequence: None,
        };
        self.next_sequence = self.next_sequence.wrapping_add(count as u64);
        Ok(Fragments { packet, rest: bytes, first, other, index: 0, count: count as u64 })
    }
}

/// The frames of one packet, in order.
#[derive(Clone, Debug)]
pub struct Fragments<'a> {
    packet: LpPacket<'a>,
    rest: &'a [u8],
    first: usize,
    other: usize,
    index: u64,
    count: u64,
}

impl<'a> Iterator for Fragments<'a> {
    type Item = LpPacket<'a>;

    fn next(&mut self) -> Option<LpPacket<'a>> {
        if self.index >= self.count {
            return None;
        }
        let size = if self.index == 0 { self.first } else { self.other };
        let (piece, rest) = self.rest.split_at_checked(size).unwrap_or((self.rest, &[]));
        self.rest = rest;
        let mut frame = if self.index == 0 { self.packet } else { LpPacket::default() };
        frame.link = LinkHeader {
            sequence: self.packet.link.sequence.map(|sequence| sequence.wrapping_add(self.index)),
            frag_index: self.index,
            ..self.packet.link
        };
        frame.fragment = Some(piece);
        self.index += 1;
        Some(frame)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.count - self.index) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Fragments<'_> {}

/// Bounds of a [`Reassembler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblerConfig {
    /// Partial packets kept at a time.
    pub max_packets: usize,
    /// Memory for pieces and their tables over all partial packets, bytes.
    pub max_bytes: usize,
    /// How long a partial packet waits for its next piece, nanoseconds.
    pub timeout: u64,
}

impl Default for ReassemblerConfig {
    /// 64 packets, 256 kB, 500 ms.
    fn default() -> Self {
        ReassemblerConfig { max_packets: 64, max_bytes: 256 * 1024, timeout: 500_000_000 }
    }
}

/// What a [`Reassembler`] has done and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReassemblerCounters {
    /// Packets put together.
    pub completed: u64,
    /// Partial packets given up because a piece did not come in time.
    pub timed_out: u64,
    /// Partial packets given up for want of room.
    pub evicted: u64,
    /// Pieces that were there already.
    pub duplicates: u64,
    /// Partial packets given up because a piece named another FragCount.
    pub contradicted: u64,
    /// Packets given up because they would be larger than [`MAX_PACKET_SIZE`], or have more than
    /// [`MAX_FRAGMENTS`] pieces, or more than fits in the memory allowed.
    pub too_large: u64,
    /// Pieces without a byte, or whose numbers contradict each other.
    pub malformed: u64,
}

/// A packet that has been put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassembled {
    /// The header of fragment 0.
    pub header: LpHeader,
    /// The prefix announcement of fragment 0.
    pub prefix_announcement: Option<Vec<u8>>,
    /// The network packet.
    pub packet: Vec<u8>,
}

impl Reassembled {
    /// The frame that would have come without fragmentation.
    pub fn frame(&self) -> LpPacket<'_> {
        LpPacket {
            link: LinkHeader::NONE,
            header: self.header,
            acks: Acks::NONE,
            prefix_announcement: self.prefix_announcement.as_deref(),
            fragment: Some(&self.packet),
        }
    }
}

/// Where a piece is in the bytes that have come; `EMPTY` if it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u16,
    len: u16,
}

const EMPTY: Piece = Piece { start: 0, len: 0 };

#[derive(Clone, Debug)]
struct Partial {
    peer: u64,
    /// Sequence of fragment 0.
    base: u64,
    deadline: u64,
    header: LpHeader,
    prefix_announcement: Option<Vec<u8>>,
    pieces: Vec<Piece>,
    missing: usize,
    /// Whether the pieces came in order, so that `bytes` is the packet.
    in_order: bool,
    /// The pieces one behind the other as they came.
    bytes: Vec<u8>,
}

impl Partial {
    /// Memory that the packet is charged with, bytes.
    fn cost(&self) -> usize {
        let announcement = self.prefix_announcement.as_ref().map_or(0, Vec::len);
        self.pieces.len() * size_of::<Piece>() + self.bytes.len() + announcement
    }

    fn finish(self) -> Reassembled {
        let packet = if self.in_order {
            self.bytes
        } else {
            let mut packet = Vec::with_capacity(self.bytes.len());
            for piece in &self.pieces {
                let start = usize::from(piece.start);
                let bytes = self.bytes.get(start..start + usize::from(piece.len));
                packet.extend_from_slice(bytes.unwrap_or_default());
            }
            packet
        };
        Reassembled { header: self.header, prefix_announcement: self.prefix_announcement, packet }
    }
}

/// Puts packets together from their fragments.
#[derive(Clone, Debug)]
pub struct Reassembler {
    config: ReassemblerConfig,
    partial: Vec<Partial>,
    bytes: usize,
    counters: ReassemblerCounters,
}

impl Reassembler {
    /// An empty one.
    pub const fn new(config: ReassemblerConfig) -> Self {
        Reassembler {
            config,
            partial: Vec::new(),
            bytes: 0,
            counters: ReassemblerCounters {
                completed: 0,
                timed_out: 0,
                evicted: 0,
                duplicates: 0,
                contradicted: 0,
                too_large: 0,
                malformed: 0,
            },
        }
    }

    /// What it has done.
    pub fn counters(&self) -> ReassemblerCounters {
        self.counters
    }

    /// Partial packets kept.
    pub fn len(&self) -> usize {
        self.partial.len()
    }

    /// Whether no partial packet is kept.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// When [`Reassembler::expire`] has something to do, nanoseconds.
    pub fn next_deadline(&self) -> Option<u64> {
        self.partial.iter().map(|partial| partial.deadline).min()
    }

    /// Gives up partial packets whose time is over.
    pub fn expire(&mut self, now: u64) {
        let (bytes, counters) = (&mut self.bytes, &mut self.counters);
        self.partial.retain(|partial| {
            let keep = partial.deadline > now;
            if !keep {
                *bytes -= partial.cost();
                counters.timed_out += 1;
            }
            keep
        });
    }

    fn remove(&mut self, index: usize) -> Partial {
        let partial = self.partial.swap_remove(index);
        self.bytes -= partial.cost();
        partial
    }

    /// Gives up the packet that would expire first, except the one at `keep`, of which the index
    /// afterwards is returned; `None` if there is no other.
    fn evict(&mut self, keep: usize) -> Option<usize> {
        let others = self.partial.iter().enumerate().filter(|(index, _)| *index != keep);
        let (victim, _) = others.min_by_key(|(_, partial)| partial.deadline)?;
        self.remove(victim);
        self.counters.evicted += 1;
        // The last one has moved to the victim's place.
        Some(if keep == self.partial.len() { victim } else { keep })
    }

    /// Takes in a frame that carries a piece of a packet ([`LinkHeader::is_piece`]), at time `now`
    /// (nanoseconds). `peer` tells senders on a link with several apart. Returns the packet once all of it is there.
    pub fn handle(&mut self, now: u64, peer: u64, frame: &LpPacket<'_>) -> Option<Reassembled> {
        let LinkHeader { sequence, frag_index, frag_count, .. } = frame.link;
        let (Some(sequence), Some(piece)) = (sequence, frame.fragment) else {
            self.counters.malformed += 1;
            return None;
        };
        if piece.is_empty() || frag_count < 2 || frag_index >= frag_count {
            self.counters.malformed += 1;
            return None;
        }
        if frag_count > MAX_FRAGMENTS as u64 {
            self.counters.too_large += 1;
            return None;
        }
        self.expire(now);
        let (place, count) = (frag_index as usize, frag_count as usize);
        let base = sequence.wrapping_sub(frag_index);
        let mut found = self.partial.iter().position(|p| p.base == base && p.peer == peer);
        if let Some(index) = found
            && self.partial[index].pieces.len() != count
        {
            // The later word counts: a peer that starts again may use its numbers again.
            self.remove(index);
            self.counters.contradicted += 1;
            found = None;
        }
        let mut index = match found {
            Some(index) => index,
            None => {
                let partial = Partial {
                    peer,
                    base,
                    deadline: 0,
                    header: LpHeader::NONE,
                    prefix_announcement: None,
                    pieces: alloc::vec![EMPTY; count],
                    missing: count,
                    in_order: true,
                    bytes: Vec::new(),
                };
                self.bytes += partial.cost();
                self.partial.push(partial);
                self.partial.len() - 1
            }
        };
        let before = self.partial[index].cost();
        let partial = &mut self.partial[index];
        if partial.pieces[place] != EMPTY {
            self.counters.duplicates += 1;
            return None;
        }
        if partial.bytes.len() + piece.len() > MAX_PACKET_SIZE {
            self.remove(index);
            self.counters.too_large += 1;
            return None;
        }
        partial.deadline = now.saturating_add(self.config.timeout);
        partial.in_order &= count - partial.missing == place;
        // Both fit: a packet has at most `MAX_PACKET_SIZE` bytes.
        partial.pieces[place] = Piece { start: partial.bytes.len() as u16, len: piece.len() as u16 };
        partial.bytes.extend_from_slice(piece);
        partial.missing -= 1;
        if place == 0 {
            partial.header = frame.header;
            partial.prefix_announcement = frame.prefix_announcement.map(<[u8]>::to_vec);
        }
        let complete = partial.missing == 0;
        self.bytes += partial.cost() - before;
        if complete {
            self.counters.completed += 1;
            return Some(self.remove(index).finish());
        }
        while self.partial.len() > self.config.max_packets || self.bytes > self.config.max_bytes {
            match self.evict(index) {
                Some(at) => index = at,
                None => {
                    // Alone it is more than we may keep.
                    self.remove(index);
                    self.counters.too_large += 1;
                    break;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::{PitToken, TX_SEQUENCE_LEN};
    use crate::signal::Signal;

    const MS: u64 = 1_000_000;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 % 251) as u8).collect()
    }

    fn header() -> LpHeader {
        let mut header = LpHeader::with_token(PitToken::from_u48(9));
        header.congestion_mark = 1;
        header.signals.set(Signal::TargetRate, 10_000_000);
        header
    }

    fn frames(packet: &[u8], mtu: usize, base: u64) -> Vec<Vec<u8>> {
        let mut fragmenter = Fragmenter::new(mtu, base);
        fragmenter.split(LpPacket::new(header(), packet), 0).unwrap().map(|frame| frame.to_vec()).collect()
    }

    fn feed(reassembler: &mut Reassembler, now: u64, wire: &[u8]) -> Option<Reassembled> {
        reassembler.handle(now, 0, &LpPacket::decode(wire).unwrap())
    }

    #[test]
    fn every_size_and_mtu_comes_out_as_it_went_in() {
        for mtu in [100, 128, 255, 256, 260, 300, 576, 1280, 1500, 8800] {
            for len in [1, 50, 90, 200, 253, 256, 1000, 8000, 8800] {
                let packet = bytes(len);
                let mut fragmenter = Fragmenter::new(mtu, u64::MAX - 2);
                let split = fragmenter.split(LpPacket::new(header(), &packet), 0).unwrap();
                let frames: Vec<_> = split.map(|frame| frame.to_vec()).collect();
                assert!(frames.iter().all(|frame| frame.len() <= mtu), "{len} bytes in {mtu}");
                if let [frame] = &frames[..] {
                    assert_eq!(LpPacket::decode(frame), Ok(LpPacket::new(header(), &packet)));
                    continue;
                }
                let mut reassembler = Reassembler::new(ReassemblerConfig::default());
                // The last fragment first, so that the order is not the easy one.
                let order = core::iter::once(frames.len() - 1).chain(0..frames.len() - 1);
                let mut done = None;
                for index in order {
                    assert_eq!(done, None);
                    done = feed(&mut reassembler, 0, &frames[index]);
                }
                assert_eq!(done.unwrap().frame(), LpPacket::new(header(), &packet));
                assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
            }
        }
    }

    #[test]
    fn only_fragment_zero_carries_the_header_and_sequences_are_consecutive() {
        let packet = bytes(3000);
        for (index, wire) in frames(&packet, 1000, 77).iter().enumerate() {
            let frame = LpPacket::decode(wire).unwrap();
            assert_eq!(frame.link.sequence, Some(77 + index as u64));
            assert_eq!(frame.link.frag_index, index as u64);
            assert_eq!(frame.header == LpHeader::NONE, index > 0);
        }
        let mut fragmenter = Fragmenter::new(1000, 0);
        let first = fragmenter.split(LpPacket::new(LpHeader::NONE, &packet), 0).unwrap().len() as u64;
        let next = fragmenter.split(LpPacket::new(LpHeader::NONE, &packet), 0).unwrap().next().unwrap();
        assert_eq!(next.link.sequence, Some(first));
    }

    #[test]
    fn the_reserve_leaves_room_for_what_reliability_adds() {
        for mtu in 100..420 {
            for len in (mtu - 60)..(mtu + 10) {
                let packet = bytes(len);
                for mut fragmenter in
                    [Fragmenter::new(mtu, 0), Fragmenter::new(mtu, 0).with_sequence_always()]
                {
                    let lp = LpPacket::new(LpHeader::NONE, &packet);
                    for mut frame in fragmenter.split(lp, TX_SEQUENCE_LEN).unwrap() {
                        frame.link.tx_sequence = Some(1);
                        assert!(frame.wire_len() <= mtu, "{len} bytes in {mtu}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_header_larger_than_a_frame_is_an_error_and_not_a_loop() {
        let packet = bytes(100);
        for mtu in 0..48 {
            let result = Fragmenter::new(mtu, 0).split(LpPacket::new(header(), &packet), 0);
            assert_eq!(result.err(), Some(FragmentError::HeaderTooLarge), "{mtu}");
        }
        let idle = LpPacket::default();
        assert_eq!(Fragmenter::new(1500, 0).split(idle, 0).err(), Some(FragmentError::Idle));
        let result = Fragmenter::new(47, 0).split(LpPacket::new(LpHeader::NONE, &[0; 8800]), 0);
        assert_eq!(result.err(), Some(FragmentError::TooManyFragments));
    }

    #[test]
    fn a_duplicate_piece_changes_nothing() {
        let packet = bytes(2500);
        let frames = frames(&packet, 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(feed(&mut reassembler, 0, &frames[0]), None);
        assert_eq!(feed(&mut reassembler, 0, &frames[0]), None);
        assert_eq!(feed(&mut reassembler, 0, &frames[1]), None);
        assert_eq!(feed(&mut reassembler, 0, &frames[2]).unwrap().packet, packet);
        assert_eq!(reassembler.counters().duplicates, 1);
    }

    #[test]
    fn a_piece_with_another_count_starts_the_packet_anew() {
        let packet = bytes(1500);
        let stale = frames(&bytes(2500), 1000, 5);
        let fresh = frames(&packet, 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(feed(&mut reassembler, 0, &stale[0]), None);
        assert_eq!(feed(&mut reassembler, 0, &fresh[0]), None);
        assert_eq!(feed(&mut reassembler, 0, &fresh[1]).unwrap().packet, packet);
        assert_eq!(reassembler.counters().contradicted, 1);
    }

    #[test]
    fn senders_with_the_same_numbers_are_kept_apart() {
        let (a, b) = (bytes(1500), alloc::vec![7; 1500]);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        for index in 0..2 {
            for (peer, packet) in [(1, &a), (2, &b)] {
                let frames = frames(packet, 1000, 5);
                let done = reassembler.handle(0, peer, &LpPacket::decode(&frames[index]).unwrap());
                assert_eq!(done.map(|done| done.packet), (index == 1).then(|| packet.clone()));
            }
        }
    }

    #[test]
    fn a_partial_packet_expires_when_no_piece_has_come_for_the_timeout() {
        let frames = frames(&bytes(2500), 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(reassembler.next_deadline(), None);
        feed(&mut reassembler, 0, &frames[0]);
        assert_eq!(reassembler.next_deadline(), Some(500 * MS));
        feed(&mut reassembler, 400 * MS, &frames[1]);
        assert_eq!(reassembler.next_deadline(), Some(900 * MS));
        reassembler.expire(899 * MS);
        assert_eq!(reassembler.len(), 1);
        // Coming at the deadline is coming too late.
        assert_eq!(feed(&mut reassembler, 900 * MS, &frames[2]), None);
        assert_eq!(reassembler.counters().timed_out, 1);
        assert_eq!(reassembler.len(), 1);
    }

    #[test]
    fn the_bounds_hold_whatever_comes_and_the_oldest_goes_first() {
        let config = ReassemblerConfig { max_packets: 3, ..ReassemblerConfig::default() };
        let packet = bytes(1500);
        let mut reassembler = Reassembler::new(config);
        for base in 0..4 {
            feed(&mut reassembler, base, &frames(&packet, 1000, base * 100)[0]);
        }
        assert_eq!((reassembler.len(), reassembler.counters().evicted), (3, 1));
        assert_eq!(feed(&mut reassembler, 9, &frames(&packet, 1000, 0)[1]), None, "the first was evicted");
        assert!(feed(&mut reassembler, 9, &frames(&packet, 1000, 300)[1]).is_some());

        let config = ReassemblerConfig { max_bytes: 3000, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        for base in 0..50 {
            feed(&mut reassembler, base, &frames(&packet, 1000, base * 100)[0]);
            assert!(reassembler.bytes() <= 3000);
        }
        let config = ReassemblerConfig { max_bytes: 100, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        feed(&mut reassembler, 0, &frames(&packet, 1000, 0)[0]);
        assert_eq!((reassembler.bytes(), reassembler.counters().too_large), (0, 1));
    }

    #[test]
    fn the_packet_that_makes_room_for_itself_is_not_the_one_given_up() {
        let config = ReassemblerConfig { max_bytes: 3000, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        let mut handle = |sequence, frag_index, len| {
            let piece = bytes(len);
            let mut frame = LpPacket::new(LpHeader::NONE, &piece);
            frame.link =
                LinkHeader { sequence: Some(sequence), frag_index, frag_count: 2, tx_sequence: None };
            reassembler.handle(0, 0, &frame).is_some()
        };
        // All at one time, so that every packet would expire at once.
        for packet in [10, 20, 30] {
            assert!(!handle(packet, 0, 900));
        }
        assert!(!handle(40, 0, 2500));
        assert!(handle(41, 1, 1));
        assert_eq!((reassembler.len(), reassembler.counters().evicted), (0, 3));
    }

    #[test]
    fn a_packet_above_the_limit_is_given_up() {
        let piece = bytes(8000);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        for index in 0..2 {
            let mut frame = LpPacket::new(LpHeader::NONE, &piece);
            frame.link =
                LinkHeader { sequence: Some(index), frag_index: index, frag_count: 3, tx_sequence: None };
            assert_eq!(reassembler.handle(0, 0, &frame), None);
        }
        assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
        assert_eq!(reassembler.counters().too_large, 1);
        let mut frame = LpPacket::new(LpHeader::NONE, &piece);
        frame.link.sequence = Some(0);
        frame.link.frag_count = u64::MAX;
        assert_eq!(reassembler.handle(0, 0, &frame), None);
        assert_eq!(reassembler.counters().too_large, 2);
        frame.link.frag_count = 2;
        frame.fragment = Some(&[]);
        assert_eq!(reassembler.handle(0, 0, &frame), None);
        assert_eq!(reassembler.counters().malformed, 1);
    }
}
