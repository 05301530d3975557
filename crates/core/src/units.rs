//! Units as types: [`Time`], [`Span`], [`Rate`], [`Bytes`]. They are integers, so that the same inputs give
//! the same bits on every machine.
//!
//! All except `Time` are read from and written as text with their unit: `"10 ms"`, `"10 Mb/s"`, `"1024 B"`.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

const NS_PER_S: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the beginning of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// A rate, bit/s, in 64 bits. 100 Gb/s links fit, and [`Rate::MAX`] means "no bound".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// An amount of data, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point this many nanoseconds after the beginning.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// The time since `earlier`; zero if that is later.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);

    /// A span of this many nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns)
    }

    /// A span of this many microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000)
    }

    /// A span of this many milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// A span of this many seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Span {
        Span(s * NS_PER_S)
    }

    /// A span of this many seconds, to the nearest nanosecond. Negative values and NaN give zero; too large
    /// values give [`Span::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * NS_PER_S as f64 + 0.5) as u64)
    }

    /// Its length in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Its length in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// Its length in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The difference, or zero.
    #[inline]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }

    /// The span times a factor, to the nearest nanosecond.
    #[inline]
    pub fn scale(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Rate {
    /// Zero rate.
    pub const ZERO: Rate = Rate(0);
    /// No bound.
    pub const MAX: Rate = Rate(u64::MAX);

    /// A rate in bit/s.
    #[inline]
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }

    /// A rate in Mb/s (1e6 bit/s).
    #[inline]
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// A rate in bit/s, rounded. Negative values and NaN give zero; too large values give [`Rate::MAX`].
    #[inline]
    pub fn from_bps_f64(bps: f64) -> Rate {
        Rate((bps + 0.5) as u64)
    }

    /// The rate in bit/s.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The rate in bit/s.
    #[inline]
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// The time that `bits` take at this rate, rounded up; [`Span::MAX`] at rate zero.
    #[inline]
    pub const fn time_for_bits(self, bits: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        match bits.checked_mul(NS_PER_S) {
            Some(scaled) => Span(scaled.div_ceil(self.0)),
            None => {
                let exact = (bits as u128 * NS_PER_S as u128).div_ceil(self.0 as u128);
                if exact > u64::MAX as u128 { Span::MAX } else { Span(exact as u64) }
            }
        }
    }

    /// The time that `bytes` take at this rate, rounded up; [`Span::MAX`] at rate zero.
    #[inline]
    pub const fn time_for(self, bytes: Bytes) -> Span {
        self.time_for_bits(bytes.0.saturating_mul(8))
    }

    /// The number of bits that pass in `span`, rounded down.
    #[inline]
    pub const fn bits_in(self, span: Span) -> u64 {
        let bits = self.0 as u128 * span.0 as u128 / NS_PER_S as u128;
        if bits > u64::MAX as u128 { u64::MAX } else { bits as u64 }
    }

    /// The rate times a factor.
    #[inline]
    pub fn scale(self, factor: f64) -> Rate {
        Rate::from_bps_f64(self.0 as f64 * factor)
    }
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// A number of bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    /// The number of bytes.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The number of bits.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Span;
    #[inline]
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl Add for Rate {
    type Output = Rate;
    #[inline]
    fn add(self, other: Rate) -> Rate {
        Rate(self.0.saturating_add(other.0))
    }
}

impl Sub for Rate {
    type Output = Rate;
    #[inline]
    fn sub(self, other: Rate) -> Rate {
        Rate(self.0.saturating_sub(other.0))
    }
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Rate>>(rates: I) -> Rate {
        rates.fold(Rate::ZERO, |a, b| a + b)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        *self = *self - other;
    }
}

/// The text is not a quantity of the wanted kind. The message shows the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    given: String,
    why: Why,
    wanted: &'static Wanted,
}

/// The error in the text of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    NoQuantity,
    Negative,
    TooLarge,
    Exponent,
    TooFine,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (given, Wanted { right, most, .. }) = (&self.given, self.wanted);
        match self.why {
            Why::NoQuantity => write!(f, "`{given}` is not {right}"),
            Why::Negative => write!(f, "`{given}` is negative: wanted {right}"),
            Why::TooLarge => write!(f, "`{given}` is too large: the largest value is {most}"),
            Why::Exponent => write!(f, "`{given}` has an exponent: write all digits, with a larger unit"),
            Why::TooFine => write!(f, "`{given}` has more than 12 decimals: write it with a smaller unit"),
        }
    }
}

impl std::error::Error for UnitError {}

/// The form of a kind of quantity.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    units: &'static [(&'static str, u64)],
    /// An example of the correct form.
    right: &'static str,
    /// The largest value.
    most: &'static str,
}

const SPAN: &Wanted = &Wanted {
    units: &[
        ("s", NS_PER_S),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("µs", 1_000),
        ("ns", 1),
        ("min", 60 * NS_PER_S),
    ],
    right: "a time with its unit, such as \"10 ms\" (s, ms, us, ns, min)",
    most: "18446744073 s",
};
const RATE: &Wanted = &Wanted {
    units: &[
        ("b/s", 1),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
    ],
    right: "a rate with its unit, such as \"10 Mb/s\" (b/s, kb/s, Mb/s, Gb/s, Tb/s)",
    most: "18446744 Tb/s",
};
const BYTES: &Wanted = &Wanted {
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    right: "a size with its unit, such as \"1024 B\" (B, kB, MB, GB, KiB, MiB, GiB)",
    most: "18446744073 GB",
};

/// Parses `<number> <unit>` into a whole number of the smallest unit.
fn quantity(text: &str, wanted: &'static Wanted) -> Result<u64, UnitError> {
    exact(text, wanted.units).ok_or_else(|| UnitError {
        given: text.to_owned(),
        why: why(text.trim(), wanted.units),
        wanted,
    })
}

fn exact(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let (number, unit) = trimmed.split_at(split);
    let scale = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.replace('_', "");
    let whole: u64 = digits(whole).parse().ok()?;
    let fraction = digits(fraction);
    if fraction.len() > 12 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // This is exact: the fraction is an integer over a power of ten.
    let below = if fraction.is_empty() {
        0
    } else {
        let numerator: u128 = fraction.parse().ok()?;
        (numerator * scale as u128 / 10u128.pow(fraction.len() as u32)) as u64
    };
    whole.checked_mul(scale).and_then(|n| n.checked_add(below))
}

/// The error of a text that [`exact`] cannot parse.
fn why(text: &str, units: &[(&str, u64)]) -> Why {
    let read = |(name, scale): &(&str, u64)| {
        let number = text.strip_suffix(name)?.trim_end().replace('_', "");
        let begins = number.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
        let value = number.parse::<f64>().ok().filter(|_| begins)?;
        Some((number, value * *scale as f64))
    };
    let Some((number, value)) = units.iter().find_map(read) else { return Why::NoQuantity };
    match value {
        _ if number.starts_with('-') => Why::Negative,
        _ if value >= u64::MAX as f64 => Why::TooLarge,
        _ if number.contains(['e', 'E']) => Why::Exponent,
        _ if number.split_once('.').is_some_and(|(_, fraction)| fraction.len() > 12) => Why::TooFine,
        _ => Why::NoQuantity,
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        quantity(text, SPAN).map(Span)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        quantity(text, RATE).map(Rate)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        quantity(text, BYTES).map(Bytes)
    }
}

/// Writes a whole number in the largest of `units` (ascending) that leaves at most three decimals.
fn write_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |scale: u64| value >= scale && (u128::from(value) * 1_000).is_multiple_of(u128::from(scale));
    let (unit, scale) = units.iter().rev().find(|(_, scale)| fits(*scale)).unwrap_or(&units[0]);
    let thousandths = (value as u128 * 1_000 / *scale as u128) % 1_000;
    let mut decimals = format!("{thousandths:03}");
    while decimals.ends_with('0') {
        decimals.pop();
    }
    let dot = if decimals.is_empty() { "" } else { "." };
    write!(f, "{}{dot}{decimals} {unit}", value / scale)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", NS_PER_S)])
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, RATE.units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, &BYTES.units[..4])
    }
}

#[cfg(feature = "serde")]
mod from_text {
    use super::{Bytes, Rate, Span};
    use serde::{Deserialize, Deserializer, de::Error};
    use std::borrow::Cow;

    macro_rules! deserialize_text {
        ($($unit:ty),*) => {$(
            impl<'de> Deserialize<'de> for $unit {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    Cow::<'de, str>::deserialize(from)?.parse().map_err(D::Error::custom)
                }
            }
        )*};
    }
    deserialize_text!(Span, Rate, Bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_value_agree_both_ways() {
        assert_eq!("10 Mb/s".parse(), Ok(Rate::from_mbps(10)));
        assert_eq!("1.5Mb/s".parse(), Ok(Rate::from_bps(1_500_000)));
        assert_eq!("10 ms".parse(), Ok(Span::from_millis(10)));
        assert_eq!("0.5 s".parse(), Ok(Span::from_millis(500)));
        assert_eq!("1 KiB".parse(), Ok(Bytes::new(1024)));
        assert_eq!(Rate::from_bps(1_500_000).to_string(), "1.5 Mb/s");
        assert_eq!(Rate::from_bps(8_901_234).to_string(), "8901.234 kb/s");
        assert_eq!(Span::from_millis(120_000).to_string(), "120 s");
        assert_eq!(Span::ZERO.to_string(), "0 ns");
        assert_eq!(Bytes::new(1024).to_string(), "1.024 kB");
    }

    #[test]
    fn a_wrong_unit_says_what_would_be_right() {
        let error = "10 Mbps".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`10 Mbps` is not a rate with its unit, such as \"10 Mb/s\" (b/s, kb/s, Mb/s, Gb/s, Tb/s)"
        );
        for bad in ["", "ms", "10", "-1 ms", "1e9 ms", "99999999999999999999 s", "1.2.3 s"] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_that_cannot_be_says_why() {
        let span = |text: &str| text.parse::<Span>().unwrap_err().to_string();
        assert_eq!(span("9999999999min"), "`9999999999min` is too large: the largest value is 18446744073 s");
        assert!(span("-1s").starts_with("`-1s` is negative: wanted a time with its unit"), "{}", span("-1s"));
        assert!(span("-1 ms").contains("is negative"));
        assert!(span("1e3 ms").contains("has an exponent"));
        assert!(span("0.0000000000001 s").contains("12 decimals"));
        for (text, part) in [("-1", "is not a time"), ("inf s", "is not a time"), ("- s", "is not a time")] {
            assert!(span(text).contains(part), "{text}: {}", span(text));
        }
        let rate = "1e9Tb/s".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(rate, "`1e9Tb/s` is too large: the largest value is 18446744 Tb/s");
        let size = "99999999999 GB".parse::<Bytes>().unwrap_err().to_string();
        assert_eq!(size, "`99999999999 GB` is too large: the largest value is 18446744073 GB");
        // The stated maximum can be written.
        for wanted in [SPAN, RATE, BYTES] {
            assert!(quantity(wanted.most, wanted).is_ok());
        }
    }

    #[test]
    fn transmission_time_is_exact_and_rounds_up() {
        assert_eq!(Rate::from_mbps(10).time_for(Bytes::new(1250)), Span::from_millis(1));
        assert_eq!(Rate::from_bps(3).time_for_bits(1), Span::from_nanos(333_333_334));
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Span::MAX);
        assert_eq!(Rate::from_mbps(1).time_for_bits(1 << 40), Span::from_nanos((1 << 40) * 1_000));
        assert_eq!(Rate::from_mbps(10).bits_in(Span::from_millis(1)), 10_000);
    }
}
