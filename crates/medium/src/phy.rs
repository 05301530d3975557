//! The physical layer of IEEE 802.11a: the lengths of frames and of the gaps between them.
//!
//! IEEE Std 802.11-1999 and its amendment 802.11a-1999 (clause 17), as in IEEE Std 802.11-2020.

use weir_core::units::{Bytes, Rate, Span};

/// A slot: the time in which a station detects that another one has begun to send.
pub const SLOT: Span = Span::from_micros(9);
/// Short interframe space, between a frame and its acknowledgement.
pub const SIFS: Span = Span::from_micros(16);
/// DCF interframe space, SIFS and two slots: the idle time before slots are counted.
pub const DIFS: Span = Span::from_micros(34);
/// Extended interframe space. It replaces DIFS after a frame that could not be read, so that an
/// acknowledgement at the lowest rate is not disturbed.
pub const EIFS: Span = Span::from_micros(16 + 44 + 34);

/// The rates of 802.11a.
pub const RATES: [Rate; 8] = [
    Rate::from_mbps(6),
    Rate::from_mbps(9),
    Rate::from_mbps(12),
    Rate::from_mbps(18),
    Rate::from_mbps(24),
    Rate::from_mbps(36),
    Rate::from_mbps(48),
    Rate::from_mbps(54),
];

/// The longest packet that a frame carries: an MSDU of 2304 bytes less the LLC/SNAP header.
pub const MAX_PACKET: Bytes = Bytes::new(2304 - LLC_SNAP);

/// The rates that every station supports. Acknowledgements use these rates.
const BASIC_RATES: [Rate; 3] = [Rate::from_mbps(6), Rate::from_mbps(12), Rate::from_mbps(24)];

/// The PLCP preamble (16 µs) and the SIGNAL symbol (4 µs).
const PREAMBLE: Span = Span::from_micros(20);
/// An OFDM symbol.
const SYMBOL: Span = Span::from_micros(4);
/// The SERVICE field and the tail bits.
const SERVICE_AND_TAIL_BITS: u64 = 16 + 6;
/// The MAC header with three addresses, and the FCS.
const MAC_BYTES: u64 = 24 + 4;
const LLC_SNAP: u64 = 8;
const ACK: Bytes = Bytes::new(14);

/// Returns the time that the frame of a packet is on the air.
pub fn frame_time(packet: Bytes, rate: Rate) -> Span {
    time_on_air(Bytes::new(packet.as_u64() + LLC_SNAP + MAC_BYTES), rate)
}

/// Returns the time that the acknowledgement of a frame with this rate is on the air.
pub fn ack_time(rate: Rate) -> Span {
    time_on_air(ACK, control_rate(rate))
}

/// Returns the highest basic rate that does not exceed the rate of the acknowledged frame.
fn control_rate(rate: Rate) -> Rate {
    BASIC_RATES.into_iter().rev().find(|basic| *basic <= rate).unwrap_or(BASIC_RATES[0])
}

fn time_on_air(frame: Bytes, rate: Rate) -> Span {
    let bits_per_symbol = rate.bits_in(SYMBOL).max(1);
    PREAMBLE + SYMBOL * (SERVICE_AND_TAIL_BITS + frame.bits()).div_ceil(bits_per_symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_frame_takes_as_long_as_the_standard_says() {
        // 802.11a-1999, table 78 and 17.4.3: N_DBPS is 24 at 6 Mb/s and 216 at 54 Mb/s. An MPDU of
        // 1536 bytes: ceil((16 + 12288 + 6) / 24) = 513 symbols, and 57.
        let packet = Bytes::new(1536 - LLC_SNAP - MAC_BYTES);
        assert_eq!(frame_time(packet, Rate::from_mbps(6)), Span::from_micros(20 + 4 * 513));
        assert_eq!(frame_time(packet, Rate::from_mbps(54)), Span::from_micros(20 + 4 * 57));
    }

    #[test]
    fn acknowledgements_are_sent_at_the_highest_basic_rate_that_is_not_faster() {
        let micros = |mbps| ack_time(Rate::from_mbps(mbps));
        // 134 bits: 6 symbols at 6 Mb/s, 3 at 12 Mb/s, 2 at 24 Mb/s.
        for (rates, time) in [([6, 9], 44), ([12, 18], 32), ([24, 54], 28)] {
            assert_eq!(rates.map(micros), [Span::from_micros(time); 2], "{rates:?}");
        }
    }

    #[test]
    fn the_spaces_are_made_of_one_another() {
        assert_eq!(DIFS, SIFS + SLOT * 2);
        assert_eq!(EIFS, SIFS + ack_time(RATES[0]) + DIFS);
    }
}
