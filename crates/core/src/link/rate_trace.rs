//! Link rate from a trace file, in the format of Mahimahi (R. Netravali et al., Mahimahi: Accurate
//! Record-and-Replay for HTTP, USENIX ATC 2015). Each line is a time in milliseconds at which the link can
//! deliver [`OPPORTUNITY`] bytes. The last line is the length of the trace, which then repeats.
//!
//! Waiting packets share an opportunity, and a long packet takes several. An opportunity without a waiting
//! packet is lost.

use std::sync::Arc;

use crate::units::{Bytes, Rate, Span, Time};

/// Bytes that can be delivered at each time of a trace: a packet of 1500 bytes with Mahimahi's header.
pub const OPPORTUNITY: u64 = 1504;
/// The longest trace, ms: a year.
const LONGEST: u64 = 366 * 86_400_000;
const MILLI: u64 = 1_000_000;

/// The times of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// Times in ms, ascending. The last one is the length of the trace.
    times: Vec<u64>,
}

/// An error in the text of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateTraceError {
    /// The line, from 1.
    pub line: usize,
    /// The error and what would be right.
    pub what: &'static str,
}

impl core::fmt::Display for RateTraceError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl RateTrace {
    /// Parses the text of a trace.
    ///
    /// # Errors
    /// Returns the first invalid line.
    pub fn parse(text: &str) -> Result<RateTrace, RateTraceError> {
        let mut times = Vec::new();
        let mut last = 0;
        for (at, line) in text.trim_end().lines().enumerate() {
            let wrong = |what| RateTraceError { line: at + 1, what };
            let time: u64 =
                line.trim().parse().map_err(|_| wrong("a line must be one whole number of milliseconds"))?;
            if time < last {
                return Err(wrong("the time is earlier than on the line above; times must ascend"));
            }
            if time > LONGEST {
                return Err(wrong("the trace is longer than a year"));
            }
            times.push(time);
            last = time;
        }
        match (times.is_empty(), last) {
            (true, _) => Err(RateTraceError { line: 1, what: "the file is empty" }),
            (_, 0) => Err(RateTraceError {
                line: times.len(),
                what: "the last time, which is the length of the trace, is 0",
            }),
            _ => Ok(RateTrace { times }),
        }
    }

    /// The length of the trace, after which it begins again.
    pub fn length(&self) -> Span {
        Span::from_millis(self.last())
    }

    fn last(&self) -> u64 {
        *self.times.last().expect("a trace has a time")
    }

    /// Bytes that the whole trace can deliver.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(OPPORTUNITY * self.times.len() as u64)
    }

    /// The mean rate.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bps_f64(8.0 * self.bytes().as_u64() as f64 / self.length().as_secs_f64())
    }

    /// Time of an opportunity, by its number from the beginning of the run; [`Time::NEVER`] beyond all time.
    fn time(&self, number: u64) -> Time {
        let many = self.times.len() as u64;
        let (round, at) = (number / many, (number % many) as usize);
        let millis = round.checked_mul(self.last()).and_then(|begin| begin.checked_add(self.times[at]));
        millis.and_then(|millis| millis.checked_mul(MILLI)).map_or(Time::NEVER, Time::from_nanos)
    }

    /// Number of the first opportunity that is not before `now`.
    fn first_from(&self, now: Time) -> u64 {
        let millis = now.as_nanos().div_ceil(MILLI);
        // The opportunities at the end of a round come before the beginning of the next one.
        let round = millis.saturating_sub(1) / self.last();
        let within = millis - round * self.last();
        round * self.times.len() as u64 + self.times.partition_point(|time| *time < within) as u64
    }
}

/// The position of a link in its trace.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<RateTrace>,
    /// Number of the next opportunity, and its remaining bytes.
    next: u64,
    left: u64,
}

impl Opportunities {
    /// Starts at the beginning of the trace, which is the beginning of the run.
    pub fn new(trace: Arc<RateTrace>) -> Opportunities {
        Opportunities { trace, next: 0, left: OPPORTUNITY }
    }

    /// Sends the next packet, at `now` or later. Returns when it is delivered.
    pub fn send(&mut self, now: Time, bytes: Bytes) -> Time {
        if self.trace.time(self.next) < now {
            (self.next, self.left) = (self.trace.first_from(now), OPPORTUNITY);
        }
        let more = bytes.as_u64().saturating_sub(self.left).div_ceil(OPPORTUNITY);
        self.next += more;
        self.left = self.left + more * OPPORTUNITY - bytes.as_u64();
        let delivered = self.trace.time(self.next);
        if self.left == 0 {
            (self.next, self.left) = (self.next + 1, OPPORTUNITY);
        }
        delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn trace(text: &str) -> Opportunities {
        Opportunities::new(Arc::new(RateTrace::parse(text).unwrap()))
    }

    #[test]
    fn a_packet_leaves_at_the_next_opportunity_and_the_trace_begins_again() {
        let mut link = trace("3\n5\n5\n10\n");
        let size = Bytes::new(OPPORTUNITY);
        let times: Vec<_> = (0..10).map(|_| link.send(at(0), size)).collect();
        assert_eq!(times, [3, 5, 5, 10, 13, 15, 15, 20, 23, 25].map(at));
        // Opportunities without a waiting packet are lost.
        assert_eq!(link.send(at(1_000_004), size), at(1_000_005));
        assert_eq!(link.send(Time::from_nanos(1_000_005_000_001), size), at(1_000_010));
        assert_eq!(link.send(at(1_000_010), size), at(1_000_013));
    }

    #[test]
    fn short_packets_share_an_opportunity_and_a_long_one_takes_several() {
        let mut link = trace("1\n2\n3\n4\n5\n");
        let sizes = [500, 1004, 1504, 100, 4000];
        assert_eq!(sizes.map(|size| link.send(at(0), Bytes::new(size))), [1, 1, 2, 3, 5].map(at));
        // 412 bytes of the opportunity at 5 ms are left for a packet that comes in time.
        assert_eq!(link.clone().send(at(5), Bytes::new(412)), at(5));
        assert_eq!(link.send(at(6), Bytes::new(412)), at(6));
    }

    #[test]
    fn as_many_bytes_are_delivered_as_the_trace_has() {
        // One second at 12 Mb/s, one second of nothing, and one second at 24 Mb/s.
        let text: String =
            (1..=1000).chain((2001..=3000).flat_map(|ms| [ms, ms])).map(|ms| format!("{ms}\n")).collect();
        let rates = RateTrace::parse(&text).unwrap();
        assert_eq!((rates.length(), rates.bytes().as_u64()), (Span::from_secs(3), 3000 * OPPORTUNITY));
        assert_eq!(rates.mean_rate(), Rate::from_bps(8 * 1000 * OPPORTUNITY));
        let mut link = trace(&text);
        let (mut now, mut delivered) = (Time::ZERO, [0_u64; 6]);
        while now <= at(6000) {
            let size = 100 + now.as_nanos() / MILLI % 1900;
            now = link.send(now, Bytes::new(size));
            if now <= at(6000) {
                delivered[(now.as_nanos().div_ceil(MILLI * 1000) - 1) as usize] += size;
            }
        }
        for (second, expected) in [1000, 0, 2000, 1000, 0, 2000].into_iter().enumerate() {
            let expected = expected * OPPORTUNITY;
            // The tolerance covers packets under way at the ends of the second.
            assert!(delivered[second].abs_diff(expected) <= 2000, "{second}: {delivered:?}");
        }
    }

    #[test]
    fn wrong_traces_say_where() {
        let wrong = |text: &str| RateTrace::parse(text).unwrap_err();
        for (text, line, what) in [
            ("", 1, "empty"),
            ("\n\n", 1, "empty"),
            ("1\nx\n", 2, "whole number"),
            ("1\n-2\n", 2, "whole number"),
            ("5\n4\n", 2, "ascend"),
            ("0\n0\n", 2, "is 0"),
            ("1\n99999999999999\n", 2, "a year"),
        ] {
            let error = wrong(text);
            assert!(error.line == line && error.what.contains(what), "{text:?}: {error}");
        }
    }
}
