//! NDNLPv2 fragmentation: splits packets into frames that fit a link.
//!
//! Every fragment has a Sequence. Sequences are consecutive within a packet, so Sequence minus FragIndex identifies the
//! packet. Only fragment 0 carries the packet's header fields.
//!
//! Reassembly needs a clock and a table: the crate `weir-net` does it.

use crate::lp::{LinkHeader, LpPacket, types};
use crate::tlv::{MAX_PACKET_SIZE, element_len, nni_element_len};
use core::fmt;

/// Maximum number of fragments of a packet, for sending and for reassembly.
pub const MAX_FRAGMENTS: usize = 400;

/// Reasons why a packet cannot be split into frames of the link's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentError {
    /// The header fields leave no room in a frame for a byte of the packet.
    HeaderTooLarge,
    /// The packet needs more than [`MAX_FRAGMENTS`] frames.
    TooManyFragments,
    /// The frame carries no packet.
    Idle,
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FragmentError::HeaderTooLarge => "the header fields do not fit in a frame",
            FragmentError::TooManyFragments => "the packet needs too many frames",
            FragmentError::Idle => "an idle frame cannot be fragmented",
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
    /// Creates a fragmenter for frames of at most `mtu` bytes; an MTU above [`MAX_PACKET_SIZE`] is lowered to it.
    /// `first_sequence` should differ after each start, so that a peer does not confuse fragments of two runs.
    pub fn new(mtu: usize, first_sequence: u64) -> Self {
        Fragmenter {
            mtu: mtu.min(MAX_PACKET_SIZE),
            next_sequence: first_sequence,
            number_whole_packets: false,
        }
    }

    /// Sets whether packets that fit into one frame also have a Sequence. Link reliability needs it: the receiver
    /// recognises a retransmission by its Sequence.
    pub fn set_sequence_always(&mut self, always: bool) {
        self.number_whole_packets = always;
    }

    /// Maximum length of a frame, bytes.
    pub fn mtu(&self) -> usize {
        self.mtu
    }

    /// Sets the maximum length of a frame, bytes.
    pub fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu.min(MAX_PACKET_SIZE);
    }

    /// Splits a packet into frames. Each frame leaves `reserve` bytes of the MTU free for fields that the caller adds,
    /// such as a TxSequence ([`crate::lp::TX_SEQUENCE_LEN`]) or Acks.
    ///
    /// The link header of `packet` is overwritten. A packet that fits becomes one frame.
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
        // If the caller adds fields, a bare packet gets an LpPacket around it.
        let wrapping = if reserve > 0 && packet.wire_len() == bytes.len() {
            element_len(types::LP_PACKET, element_len(types::FRAGMENT, bytes.len()) + reserve)
                - bytes.len()
                - reserve
        } else {
            0
        };
        // Added fields can lengthen the LpPacket's TLV-LENGTH by 2 bytes.
        let slack = if reserve > 0 { 2 } else { 0 };
        if packet.wire_len() + wrapping + slack <= room {
            if self.number_whole_packets {
                self.next_sequence = self.next_sequence.wrapping_add(1);
            }
            return Ok(Fragments { packet, rest: bytes, first: bytes.len(), other: 0, index: 0, count: 1 });
        }
        // Overhead of a frame: outer and inner header, and the three fields.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp::{LpHeader, PitToken, TX_SEQUENCE_LEN};

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

    #[test]
    fn the_pieces_in_order_are_the_packet_and_a_packet_that_fits_is_one_frame() {
        for mtu in [100, 128, 255, 256, 260, 300, 576, 1280, 1500, 8800] {
            for len in [1, 50, 90, 200, 253, 256, 1000, 8000, 8800] {
                let packet = bytes(len);
                let mut fragmenter = Fragmenter::new(mtu, u64::MAX - 2);
                let frames: Vec<_> = fragmenter.split(LpPacket::new(header(), &packet), 0).unwrap().collect();
                assert!(frames.iter().all(|frame| frame.wire_len() <= mtu), "{len} bytes in {mtu}");
                let pieces = frames.iter().flat_map(|frame| frame.fragment.unwrap());
                assert!(pieces.eq(&packet), "{len} bytes in {mtu}");
                let is_split = LpPacket::new(header(), &packet).wire_len() > mtu;
                assert_eq!(frames.len() > 1, is_split, "{len} bytes in {mtu}");
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
                for is_always in [false, true] {
                    let mut fragmenter = Fragmenter::new(mtu, 0);
                    fragmenter.set_sequence_always(is_always);
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
}
