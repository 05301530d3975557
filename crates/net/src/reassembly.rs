//! NDNLPv2 reassembly: packets from their fragments, without clock or socket.
//!
//! Sequence minus FragIndex identifies the packet, see [`weir_packet::fragment`].
//!
//! The [`Reassembler`] keeps partial packets in a short list with linear search, because few are open at a time on one
//! link. Everything that a peer can make it keep is bounded: partial packets, bytes, time. At a bound, the partial
//! packet that would expire first is discarded and counted.

use weir_core::units::{Span, Time};
use weir_packet::fragment::MAX_FRAGMENTS;
use weir_packet::lp::{Acks, LinkHeader, LpHeader, LpPacket};
use weir_packet::tlv::MAX_PACKET_SIZE;

/// Limits of a [`Reassembler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblerConfig {
    /// Maximum number of partial packets.
    pub max_packets: usize,
    /// Maximum memory of all partial packets, bytes.
    pub max_bytes: usize,
    /// How long a partial packet waits for its next piece.
    pub timeout: Span,
    /// The same after a piece with a TxSequence, because the peer retransmits lost pieces.
    pub repaired_timeout: Span,
}

impl Default for ReassemblerConfig {
    /// 256 packets, 1 MiB, 500 ms, and 4 s if lost pieces are retransmitted (the default InterestLifetime).
    fn default() -> Self {
        ReassemblerConfig {
            max_packets: 256,
            max_bytes: 1024 * 1024,
            timeout: Span::from_millis(500),
            repaired_timeout: Span::from_secs(4),
        }
    }
}

/// Counters of a [`Reassembler`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReassemblerCounters {
    /// Reassembled packets.
    pub completed: u64,
    /// Partial packets discarded because a piece did not arrive in time.
    pub timed_out: u64,
    /// Partial packets discarded because the memory was full.
    pub evicted: u64,
    /// Duplicate pieces.
    pub duplicates: u64,
    /// Partial packets discarded because a piece had another FragCount.
    pub contradicted: u64,
    /// Packets discarded because they would exceed [`MAX_PACKET_SIZE`], [`MAX_FRAGMENTS`] pieces or the allowed memory.
    pub too_large: u64,
    /// Empty pieces, or pieces with contradictory numbers.
    pub malformed: u64,
}

/// A reassembled packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassembled {
    /// The header of fragment 0, with the largest congestion mark of all pieces.
    pub header: LpHeader,
    /// The prefix announcement of fragment 0.
    pub prefix_announcement: Option<Vec<u8>>,
    /// The concatenated pieces: the network packet.
    pub packet: Vec<u8>,
}

impl Reassembled {
    /// The frame that would have arrived without fragmentation.
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

/// The range of a piece in the received bytes; `EMPTY` if the piece is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: u16,
    len: u16,
}

/// The list keeps memory for this many partial packets even if it is empty.
const FEW: usize = 4;

const EMPTY: Piece = Piece { start: 0, len: 0 };

#[derive(Clone, Debug)]
struct Partial {
    peer: u64,
    /// Sequence of fragment 0.
    base: u64,
    deadline: Time,
    header: LpHeader,
    /// The largest congestion mark of the pieces.
    congestion_mark: u64,
    prefix_announcement: Option<Vec<u8>>,
    pieces: Vec<Piece>,
    missing: usize,
    /// Whether the pieces came in order, so that `bytes` is the packet.
    in_order: bool,
    /// The pieces, concatenated in order of arrival.
    bytes: Vec<u8>,
}

impl Partial {
    /// Memory of the partial packet, bytes: its place in a list that may be half empty, and its buffers with the
    /// allocator's overhead (16 bytes each).
    fn cost(&self) -> usize {
        let announcement = self.prefix_announcement.as_ref().map_or(0, |bytes| bytes.capacity() + 16);
        let (pieces, bytes) = (self.pieces.capacity() * size_of::<Piece>(), self.bytes.capacity());
        2 * size_of::<Partial>() + pieces + bytes + announcement + 2 * 16
    }

    fn finish(mut self) -> Reassembled {
        self.header.congestion_mark = self.congestion_mark;
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

/// Reassembles packets from their fragments.
#[derive(Clone, Debug)]
pub struct Reassembler {
    config: ReassemblerConfig,
    partial: Vec<Partial>,
    bytes: usize,
    counters: ReassemblerCounters,
}

impl Reassembler {
    /// Creates an empty reassembler.
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

    /// The counters.
    pub fn counters(&self) -> ReassemblerCounters {
        self.counters
    }

    /// Number of partial packets.
    pub fn len(&self) -> usize {
        self.partial.len()
    }

    /// Returns whether there is no partial packet.
    pub fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Memory in use, bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the maximum of the memory, bytes, from the next frame on.
    #[inline]
    pub fn set_max_bytes(&mut self, max_bytes: usize) {
        self.config.max_bytes = max_bytes;
    }

    /// Frees unused memory if there are no partial packets. Room for a few packets is kept.
    fn shrink(&mut self) {
        if self.partial.is_empty() {
            self.partial.shrink_to(FEW);
        }
    }

    /// The time at which [`Reassembler::expire`] has work to do; [`Time::NEVER`] if no partial packet is kept.
    pub fn next_deadline(&self) -> Time {
        self.partial.iter().map(|partial| partial.deadline).min().unwrap_or(Time::NEVER)
    }

    /// Discards partial packets that have timed out.
    pub fn expire(&mut self, now: Time) {
        let (bytes, counters) = (&mut self.bytes, &mut self.counters);
        self.partial.retain(|partial| {
            let keep = partial.deadline > now;
            if !keep {
                *bytes -= partial.cost();
                counters.timed_out += 1;
            }
            keep
        });
        self.shrink();
    }

    fn remove(&mut self, index: usize) -> Partial {
        let partial = self.partial.swap_remove(index);
        self.bytes -= partial.cost();
        self.shrink();
        partial
    }

    /// Discards the packet that would expire first, except the one at `keep`. Returns the new index of that one, or
    /// `None` if there is no other packet.
    fn evict(&mut self, keep: usize) -> Option<usize> {
        let others = self.partial.iter().enumerate().filter(|(index, _)| *index != keep);
        let (victim, _) = others.min_by_key(|(_, partial)| partial.deadline)?;
        self.remove(victim);
        self.counters.evicted += 1;
        // The last packet has moved to the victim's place.
        Some(if keep == self.partial.len() { victim } else { keep })
    }

    /// Handles a frame with a piece of a packet ([`LinkHeader::is_piece`]), received at `now`. `peer` distinguishes the
    /// senders on a link with several. Returns the packet when it is complete.
    pub fn handle(&mut self, now: Time, peer: u64, frame: &LpPacket<'_>) -> Option<Reassembled> {
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
        let (at, count) = (frag_index as usize, frag_count as usize);
        let base = sequence.wrapping_sub(frag_index);
        let mut found = self.partial.iter().position(|p| p.base == base && p.peer == peer);
        if let Some(index) = found
            && self.partial[index].pieces.len() != count
        {
            // The later piece counts: a restarted peer may reuse its numbers.
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
                    deadline: Time::ZERO,
                    header: LpHeader::NONE,
                    congestion_mark: 0,
                    prefix_announcement: None,
                    pieces: vec![EMPTY; count],
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
        if partial.pieces[at] != EMPTY {
            self.counters.duplicates += 1;
            return None;
        }
        if partial.bytes.len() + piece.len() > MAX_PACKET_SIZE {
            self.remove(index);
            self.counters.too_large += 1;
            return None;
        }
        let is_repaired = frame.link.tx_sequence.is_some();
        partial.deadline = now + if is_repaired { self.config.repaired_timeout } else { self.config.timeout };
        partial.congestion_mark = partial.congestion_mark.max(frame.header.congestion_mark);
        partial.in_order &= count - partial.missing == at;
        // Both fit into their type: a packet has at most `MAX_PACKET_SIZE` bytes.
        if partial.bytes.is_empty() {
            // All pieces but the last have the same length.
            partial.bytes.reserve_exact((count * piece.len()).min(MAX_PACKET_SIZE));
        } else if partial.bytes.capacity() - partial.bytes.len() < piece.len() {
            partial.bytes.reserve_exact(MAX_PACKET_SIZE - partial.bytes.len());
        }
        partial.pieces[at] = Piece { start: partial.bytes.len() as u16, len: piece.len() as u16 };
        partial.bytes.extend_from_slice(piece);
        partial.missing -= 1;
        if at == 0 {
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
                    // This packet alone exceeds the allowed memory.
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
    use proptest::collection::vec;
    use proptest::prelude::*;
    use weir_packet::PitToken;
    use weir_packet::fragment::Fragmenter;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 % 251) as u8).collect()
    }

    fn header() -> LpHeader {
        let mut header = LpHeader::with_token(PitToken::from_u48(9));
        header.congestion_mark = 1;
        header.signals.set_type(908, 10_000_000);
        header
    }

    fn frames(packet: &[u8], mtu: usize, base: u64) -> Vec<Vec<u8>> {
        let mut fragmenter = Fragmenter::new(mtu, base);
        fragmenter.split(LpPacket::new(header(), packet), 0).unwrap().map(|frame| frame.to_vec()).collect()
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn feed(reassembler: &mut Reassembler, now: Time, wire: &[u8]) -> Option<Reassembled> {
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
                // The last fragment comes first, so that the pieces are out of order.
                let order = core::iter::once(frames.len() - 1).chain(0..frames.len() - 1);
                let mut done = None;
                for index in order {
                    assert_eq!(done, None);
                    done = feed(&mut reassembler, at(0), &frames[index]);
                }
                assert_eq!(done.unwrap().frame(), LpPacket::new(header(), &packet));
                assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
            }
        }
    }

    #[test]
    fn a_duplicate_piece_changes_nothing() {
        let packet = bytes(2500);
        let frames = frames(&packet, 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(feed(&mut reassembler, at(0), &frames[0]), None);
        assert_eq!(feed(&mut reassembler, at(0), &frames[0]), None);
        assert_eq!(feed(&mut reassembler, at(0), &frames[1]), None);
        assert_eq!(feed(&mut reassembler, at(0), &frames[2]).unwrap().packet, packet);
        assert_eq!(reassembler.counters().duplicates, 1);
    }

    #[test]
    fn a_piece_with_another_count_starts_the_packet_anew() {
        let packet = bytes(1500);
        let stale = frames(&bytes(2500), 1000, 5);
        let fresh = frames(&packet, 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(feed(&mut reassembler, at(0), &stale[0]), None);
        assert_eq!(feed(&mut reassembler, at(0), &fresh[0]), None);
        assert_eq!(feed(&mut reassembler, at(0), &fresh[1]).unwrap().packet, packet);
        assert_eq!(reassembler.counters().contradicted, 1);
    }

    #[test]
    fn senders_with_the_same_numbers_are_kept_apart() {
        let (a, b) = (bytes(1500), vec![7; 1500]);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        for index in 0..2 {
            for (peer, packet) in [(1, &a), (2, &b)] {
                let frames = frames(packet, 1000, 5);
                let done = reassembler.handle(at(0), peer, &LpPacket::decode(&frames[index]).unwrap());
                assert_eq!(done.map(|done| done.packet), (index == 1).then(|| packet.clone()));
            }
        }
    }

    #[test]
    fn a_partial_packet_expires_when_no_piece_has_come_for_the_timeout() {
        let frames = frames(&bytes(2500), 1000, 5);
        let mut reassembler = Reassembler::new(ReassemblerConfig::default());
        assert_eq!(reassembler.next_deadline(), Time::NEVER);
        feed(&mut reassembler, at(0), &frames[0]);
        assert_eq!(reassembler.next_deadline(), at(500));
        feed(&mut reassembler, at(400), &frames[1]);
        assert_eq!(reassembler.next_deadline(), at(900));
        reassembler.expire(at(899));
        assert_eq!(reassembler.len(), 1);
        // A piece that arrives at the deadline is too late.
        assert_eq!(feed(&mut reassembler, at(900), &frames[2]), None);
        assert_eq!(reassembler.counters().timed_out, 1);
        assert_eq!(reassembler.len(), 1);
    }

    #[test]
    fn the_bounds_hold_whatever_comes_and_the_oldest_goes_first() {
        let config = ReassemblerConfig { max_packets: 3, ..ReassemblerConfig::default() };
        let packet = bytes(1500);
        let mut reassembler = Reassembler::new(config);
        for base in 0..4 {
            feed(&mut reassembler, at(base), &frames(&packet, 1000, base * 100)[0]);
        }
        assert_eq!((reassembler.len(), reassembler.counters().evicted), (3, 1));
        assert_eq!(
            feed(&mut reassembler, at(9), &frames(&packet, 1000, 0)[1]),
            None,
            "the first was evicted"
        );
        assert!(feed(&mut reassembler, at(9), &frames(&packet, 1000, 300)[1]).is_some());

        let config = ReassemblerConfig { max_bytes: 8000, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        for base in 0..50 {
            feed(&mut reassembler, at(base), &frames(&packet, 1000, base * 100)[0]);
            assert!((1..=8000).contains(&reassembler.bytes()));
        }
        // A lower limit applies from the next frame on.
        reassembler.set_max_bytes(4000);
        feed(&mut reassembler, at(60), &frames(&packet, 1000, 10_000)[0]);
        assert!((1..=4000).contains(&reassembler.bytes()));
        let config = ReassemblerConfig { max_bytes: 100, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        feed(&mut reassembler, at(0), &frames(&packet, 1000, 0)[0]);
        assert_eq!((reassembler.bytes(), reassembler.counters().too_large), (0, 1));
    }

    #[test]
    fn the_packet_that_makes_room_for_itself_is_not_the_one_given_up() {
        let config = ReassemblerConfig { max_bytes: 8000, ..ReassemblerConfig::default() };
        let mut reassembler = Reassembler::new(config);
        let mut handle = |sequence, frag_index, len| {
            let piece = bytes(len);
            let mut frame = LpPacket::new(LpHeader::NONE, &piece);
            frame.link =
                LinkHeader { sequence: Some(sequence), frag_index, frag_count: 2, tx_sequence: None };
            reassembler.handle(at(0), 0, &frame).is_some()
        };
        // All arrive at the same time, so all packets would expire at once.
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
            assert_eq!(reassembler.handle(at(0), 0, &frame), None);
        }
        assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
        assert_eq!(reassembler.counters().too_large, 1);
        let mut frame = LpPacket::new(LpHeader::NONE, &piece);
        frame.link.sequence = Some(0);
        frame.link.frag_count = u64::MAX;
        assert_eq!(reassembler.handle(at(0), 0, &frame), None);
        assert_eq!(reassembler.counters().too_large, 2);
        frame.link.frag_count = 2;
        frame.fragment = Some(&[]);
        assert_eq!(reassembler.handle(at(0), 0, &frame), None);
        assert_eq!(reassembler.counters().malformed, 1);
    }

    proptest! {
        #[test]
        fn fragments_in_any_order_with_duplicates_come_out_as_they_went_in(
            len in 1..=8800usize,
            mtu in 200..=8800usize,
            base in any::<u64>(),
            picks in vec(any::<prop::sample::Index>(), 0..60),
            mark in 0..3u64,
        ) {
            let packet: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut header = LpHeader::NONE;
            header.congestion_mark = mark;
            let frames: Vec<_> =
                Fragmenter::new(mtu, base).split(LpPacket::new(header, &packet), 0).unwrap().collect();
            prop_assume!(frames.len() > 1);
            let mut reassembler = Reassembler::new(ReassemblerConfig::default());
            let mut left: Vec<bool> = vec![true; frames.len()];
            let mut done = None;
            let order = picks.iter().map(|pick| pick.index(frames.len())).chain(0..frames.len());
            for index in order {
                // A piece after the last one would begin a new packet.
                if done.is_some() {
                    break;
                }
                left[index] = false;
                prop_assert!(frames[index].wire_len() <= mtu);
                done = reassembler.handle(Time::ZERO, 0, &frames[index]);
                prop_assert_eq!(done.is_some(), !left.contains(&true));
            }
            let done = done.unwrap();
            prop_assert_eq!((done.header, done.packet), (header, packet));
            prop_assert_eq!((reassembler.len(), reassembler.bytes()), (0, 0));
        }
    }
}
