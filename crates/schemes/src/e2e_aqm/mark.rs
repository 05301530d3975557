//! The 64-bit congestion mark, section 3.2 and Fig. 2: the report of one queue on the path.
//!
//! ```text
//!   63            32 31    24  23  22          8 7       0
//!  +----------------+--------+---+--------------+---------+
//!  |    Queue ID    | Count  | R |  significand | exponent|     value = significand · 2^exponent
//!  +----------------+--------+---+--------------+---------+     R = 1: rate, bit/s;  R = 0: queueing delay, ps
//! ```
//!
//! It is the value of NDNLPv2's CongestionMark. A field of 0 would mean no mark. Count is 1 at the first
//! queue, so the field is never 0. A mark with a Count of 0 comes from another scheme, such as NFD's 1.

use weir_core::units::Span;

const COUNT_SHIFT: u32 = 24;
const RATE_BIT: u64 = 1 << 23;
const SIGNIFICAND_BITS: u32 = 15;
const SIGNIFICAND_SHIFT: u32 = 8;
const PS_PER_NS: u64 = 1000;

/// The value that a queue reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// Queueing delay δ.
    Delay(Span),
    /// Rate r at which packets leave, bit/s; 0 if it is not known.
    Rate(f64),
}

/// The report of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    /// The id of the reported queue.
    pub(super) queue: u32,
    /// The number of queues that the Data has left so far, from the producer on; 255 if there are more.
    pub(super) count: u8,
    pub(super) reading: Reading,
}

impl Mark {
    /// Returns the field that carries this mark.
    pub(super) fn encode(self) -> u64 {
        let reading = match self.reading {
            Reading::Delay(delay) => float(delay.as_nanos().saturating_mul(PS_PER_NS)),
            Reading::Rate(rate) => RATE_BIT | float(rate as u64),
        };
        with_count(u64::from(self.queue) << 32 | reading, self.count)
    }

    /// Decodes a field. Returns `None` if there is no mark, or one of another scheme.
    pub(super) fn decode(field: u64) -> Option<Mark> {
        let count = count(field);
        let value = (significand(field) as f64) * f64::from((field & 0xFF) as u32).exp2();
        let reading = if field & RATE_BIT != 0 {
            Reading::Rate(value)
        } else {
            // A delay beyond the range of `Span` becomes the longest `Span`.
            Reading::Delay(Span::from_nanos((value / PS_PER_NS as f64) as u64))
        };
        (count > 0).then_some(Mark { queue: (field >> 32) as u32, count, reading })
    }
}

/// Returns the Count of a field; 0 without a mark of this scheme.
pub(super) fn count(field: u64) -> u8 {
    (field >> COUNT_SHIFT) as u8
}

/// Returns the field with another Count.
pub(super) fn with_count(field: u64, count: u8) -> u64 {
    field & !(0xFF << COUNT_SHIFT) | u64::from(count) << COUNT_SHIFT
}

fn significand(field: u64) -> u64 {
    field >> SIGNIFICAND_SHIFT & ((1 << SIGNIFICAND_BITS) - 1)
}

/// Encodes a value as significand and exponent. It keeps the 15 highest bits and cuts off the others.
fn float(value: u64) -> u64 {
    let exponent = (u64::BITS - value.leading_zeros()).saturating_sub(SIGNIFICAND_BITS);
    value >> exponent << SIGNIFICAND_SHIFT | u64::from(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MARK: Mark = Mark { queue: 0xDEAD_BEEF, count: 3, reading: Reading::Rate(100e6) };

    /// Returns the value that arrives if `value` is sent.
    fn through(value: u64) -> f64 {
        let field = float(value);
        significand(field) as f64 * f64::from((field & 0xFF) as u32).exp2()
    }

    #[test]
    fn fields_are_where_figure_2_has_them() {
        // 100 Mb/s need 27 bits. 12 are cut off, which leaves 24414.
        let field = MARK.encode();
        assert_eq!(field >> 32, 0xDEAD_BEEF);
        assert_eq!((field >> 24 & 0xFF, field >> 23 & 1), (3, 1));
        assert_eq!((field >> 8 & 0x7FFF, field & 0xFF), (24_414, 12));
        // 5 ms are 5·10^9 ps, which need 33 bits.
        let delay = Mark { reading: Reading::Delay(Span::from_millis(5)), ..MARK }.encode();
        assert_eq!((delay >> 23 & 1, delay >> 8 & 0x7FFF, delay & 0xFF), (0, 19_073, 18));
    }

    #[test]
    fn what_is_below_two_to_the_fifteenth_is_exact() {
        for value in [0, 1, 2, 120_000 >> 2, (1 << 15) - 1] {
            assert_eq!(through(value), value as f64);
            assert_eq!(float(value) & 0xFF, 0);
        }
        assert_eq!(float(1 << 15), (1 << 14) << 8 | 1);
    }

    #[test]
    fn a_delay_of_the_target_is_not_read_as_more_than_the_target() {
        let target = Span::from_millis(5);
        let mark = Mark { reading: Reading::Delay(target), ..MARK };
        let Some(Mark { reading: Reading::Delay(read), .. }) = Mark::decode(mark.encode()) else { panic!() };
        assert!(read <= target && target - read < Span::from_nanos(300), "{read}");
    }

    #[test]
    fn marks_of_others_are_not_taken_for_one() {
        for field in [0, 1, 2, 0xFF_FFFF, u64::from(u32::MAX) << 32] {
            assert_eq!(Mark::decode(field), None, "{field:x}");
        }
    }

    #[test]
    fn the_most_absurd_marks_are_numbers_and_times() {
        let all_ones = Mark::decode(u64::MAX).unwrap();
        let Reading::Rate(rate) = all_ones.reading else { panic!() };
        assert!(rate.is_finite() && rate > 1e80);
        let longest = Mark::decode(!RATE_BIT).unwrap();
        assert_eq!(longest.reading, Reading::Delay(Span::from_nanos(u64::MAX)));
        let most = Mark { reading: Reading::Delay(Span::from_nanos(u64::MAX)), ..MARK };
        assert!(
            matches!(Mark::decode(most.encode()).unwrap().reading, Reading::Delay(d) if d > Span::from_secs(86_400))
        );
        for rate in [f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            let mark = Mark { reading: Reading::Rate(rate), ..MARK };
            assert!(
                matches!(Mark::decode(mark.encode()).unwrap().reading, Reading::Rate(r) if r.is_finite())
            );
        }
    }

    proptest! {
        #[test]
        fn a_value_comes_back_less_by_no_more_than_its_16384th(bits in 0_u32..64, value: u64) {
            let value = value >> bits;
            let back = through(value);
            prop_assert!(back <= value as f64);
            prop_assert!(value as f64 - back <= value as f64 / 16384.0);
        }

        #[test]
        fn a_field_is_read_and_written_as_the_same(queue: u32, count in 1_u8..=255, is_rate: bool, value in 1_u64..(1 << 50)) {
            let reading = if is_rate { Reading::Rate(value as f64) } else { Reading::Delay(Span::from_nanos(value)) };
            let field = Mark { queue, count, reading }.encode();
            let mark = Mark::decode(field).unwrap();
            prop_assert_eq!((mark.queue, mark.count), (queue, count));
            prop_assert_eq!(matches!(mark.reading, Reading::Rate(_)), is_rate);
            if is_rate {
                prop_assert_eq!(mark.encode(), field);
            }
            prop_assert_eq!(with_count(field, 200), Mark { count: 200, ..mark }.encode() & (0xFF << 24) | field & !(0xFF << 24));
        }

        #[test]
        fn any_field_decodes_to_finite_values(field: u64) {
            match Mark::decode(field) {
                None => prop_assert_eq!(count(field), 0),
                Some(Mark { reading: Reading::Rate(rate), .. }) => prop_assert!(rate.is_finite() && rate >= 0.0),
                Some(Mark { reading: Reading::Delay(_), queue, .. }) => prop_assert_eq!(u64::from(queue), field >> 32),
            }
        }
    }
}
