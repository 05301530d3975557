//! Moments and validity periods in the notation of certificates: `YYYYMMDDThhmmss`, UTC.

use std::fmt;
use std::time::Duration;

use pkcs8::der::DateTime;

/// A moment in UTC: milliseconds since the Unix epoch, up to the end of the year 9999.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

const DAY_S: u64 = 86_400;

impl Moment {
    /// 1970-01-01T00:00:00.
    pub const EPOCH: Moment = Moment(0);
    /// 9999-12-31T23:59:59, the last moment in this notation.
    pub const LAST: Moment = Moment(253_402_300_799_000);

    /// Returns the moment at this many milliseconds after the Unix epoch, at most [`Moment::LAST`].
    pub fn from_unix_ms(ms: u64) -> Moment {
        Moment(ms).min(Moment::LAST)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn unix_ms(self) -> u64 {
        self.0
    }

    /// Returns the moment this many days later, at most [`Moment::LAST`].
    #[must_use]
    pub fn plus_days(self, days: u32) -> Moment {
        Moment(self.0 + u64::from(days) * DAY_S * 1000).min(Moment::LAST)
    }

    /// Parses `YYYYMMDDThhmmss`. Returns `None` if the text is not such a moment, or is before 1970.
    pub fn parse(text: &[u8; 15]) -> Option<Moment> {
        let number = |digits: &[u8]| {
            digits.iter().try_fold(0u16, |number, digit| {
                digit.is_ascii_digit().then(|| number * 10 + u16::from(digit - b'0'))
            })
        };
        let two = |at: usize| u8::try_from(number(text.get(at..at + 2)?)?).ok();
        if text.get(8) != Some(&b'T') {
            return None;
        }
        let year = number(text.get(..4)?)?;
        let moment = DateTime::new(year, two(4)?, two(6)?, two(9)?, two(11)?, two(13)?).ok()?;
        Some(Moment(moment.unix_duration().as_secs() * 1000))
    }

    /// Formats as `YYYYMMDDThhmmss`, without fractions of a second.
    pub fn text(self) -> [u8; 15] {
        let mut out = [b'0'; 15];
        let text = self.date_time().to_string();
        // The library writes YYYY-MM-DDThh:mm:ssZ.
        let letters = text.bytes().filter(|letter| !matches!(letter, b'-' | b':' | b'Z'));
        out.iter_mut().zip(letters).for_each(|(to, from)| *to = from);
        out
    }

    fn date_time(self) -> DateTime {
        DateTime::from_unix_duration(Duration::from_secs(self.0 / 1000)).unwrap_or(DateTime::INFINITY)
    }
}

/// Writes `2026-11-22 08:30:00 UTC`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.date_time().to_string().replace('T', " ").replace('Z', " UTC"))
    }
}

/// The validity period of a certificate. Both ends are inclusive, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub not_before: Moment,
    /// The last moment.
    pub not_after: Moment,
}

impl Validity {
    /// Returns whether the period contains this moment.
    pub const fn contains(&self, now: Moment) -> bool {
        self.not_before.0 / 1000 <= now.0 / 1000 && now.0 / 1000 <= self.not_after.0 / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // The values of `date -u -d @SECONDS +%Y%m%dT%H%M%S`.
        for (seconds, text) in [
            (0, "19700101T000000"),
            (951_782_399, "20000228T235959"),
            (951_782_400, "20000229T000000"),
            (1_795_315_881, "20261122T025121"),
            (4_107_542_400, "21000301T000000"),
            (253_402_300_799, "99991231T235959"),
        ] {
            let moment = Moment::from_unix_ms(seconds * 1000 + 999);
            assert_eq!(std::str::from_utf8(&moment.text()).unwrap(), text);
            let read = Moment::parse(text.as_bytes().try_into().unwrap()).unwrap();
            assert_eq!(read.unix_ms(), seconds * 1000);
        }
        assert_eq!(Moment::from_unix_ms(1_795_315_881_501).to_string(), "2026-11-22 02:51:21 UTC");
        assert_eq!(Moment::from_unix_ms(u64::MAX), Moment::LAST);
        assert_eq!(Moment::LAST.plus_days(1), Moment::LAST);
        assert_eq!(Moment::EPOCH.plus_days(59).text(), *b"19700301T000000");
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "20260229T000000",
            "20261301T000000",
            "20260001T000000",
            "20260100T000000",
            "20260101T240000",
            "20260101T006000",
            "20260101T000060",
            "20260101 000000",
            "2026010 T000000",
            "19691231T235959",
        ] {
            assert_eq!(Moment::parse(text.as_bytes().try_into().unwrap()), None, "{text}");
        }
    }

    #[test]
    fn both_ends_of_a_validity_belong_to_it() {
        let [first, last] = [5_000, 7_000].map(Moment::from_unix_ms);
        let validity = Validity { not_before: first, not_after: last };
        let is_valid = [4_999, 5_000, 7_999, 8_000].map(|ms| validity.contains(Moment::from_unix_ms(ms)));
        assert_eq!(is_valid, [false, true, true, false]);
    }

    proptest! {
        #[test]
        fn moments_are_read_as_they_are_written_and_sort_as_text(a in 0..=253_402_300_799u64, b in 0..=253_402_300_799u64) {
            let [a, b] = [a, b].map(|s| Moment::from_unix_ms(s * 1000));
            prop_assert_eq!(Moment::parse(&a.text()), Some(a));
            prop_assert_eq!(a.cmp(&b), a.text().cmp(&b.text()));
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<[u8; 15]>()) {
            prop_assert!(Moment::parse(&text).is_none_or(|moment| moment.text() == text));
        }
    }
}
