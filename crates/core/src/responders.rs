//! Round-trip times of a flow whose Data come from several responders: its producer, and caches on the path
//! to it.
//!
//! A round-trip time belongs to a responder. A cache 2 ms away says nothing about the round-trip time to a
//! producer 300 ms away, or about when an Interest to the producer is lost. Data do not name their responder:
//! other forwarders carry no hop count, and a cache may answer any segment. But round-trip times identify it
//! well enough. For one responder they change gradually from one Data to the next, as a queue does. Between
//! two responders they jump.
//!
//! ```text
//!   round trip r --> the responder whose last round trip is nearest to r, by ratio
//!                      within a factor of two, or 1 ms --> it is that responder's
//!                      else                            --> a new responder's
//!   two responders whose shortest round trips are as near to each other --> one
//! ```
//!
//! A queue also makes round-trip times jump: others fill it between two Interests, and it drains while
//! nothing is sent. But a queue keeps the order. So *overtaken* responders are certain: a Data came although
//! it was requested before another Data that had already come. A certain responder is forgotten when it has
//! not answered for 10 s, an uncertain one after two of its round-trip times. If the forgotten responder was
//! farther than the one that answers now, its queue has drained: the two are one responder, with the smaller
//! of their shortest round-trip times.
//!
//! Two responders within a factor of two count as one. The results of a round-trip time, a timeout or a
//! window, tolerate such a difference.

use crate::rtt::{Backoff, RtoConfig, Smoothed};
use crate::units::{Span, Time};

/// Round-trip times of one responder differ by at most this factor from one to the next. The factor includes
/// the timing of hosts.
const APART: u64 = 2;
const LEAST_APART: Span = Span::from_millis(1);
/// A certain responder that has not answered for this long is gone. This is also the validity of a shortest
/// round-trip time (RTpropFilterLen of BBR).
const LASTS: Span = Span::from_secs(10);
/// Largest number of distinguished responders.
const MOST: usize = 4;
/// Gain of each responder's share of the Data.
const SHARE_GAIN: f64 = 1.0 / 64.0;
/// Largest factor of a flow's timeouts.
const MOST_PATIENT: u64 = 64;

/// One responder.
#[derive(Clone, Copy, Debug)]
struct Responder {
    /// The latest round-trip time, and the shortest one with the time of its sample.
    last: Span,
    least: (Span, Time),
    heard_at: Time,
    smoothed: Smoothed,
    /// Set if the responder is certain, because Data of a nearer one have overtaken its own: the shortest
    /// round-trip time of the overtaken Data, and when the latest of them came.
    overtaken: Option<(Span, Time)>,
    /// Its share of the latest Data; all shares add up to one.
    share: f64,
}

impl Responder {
    fn new(now: Time, rtt: Span) -> Responder {
        Responder {
            last: rtt,
            least: (rtt, now),
            heard_at: now,
            smoothed: Smoothed::new(rtt),
            overtaken: None,
            share: 0.0,
        }
    }

    /// Returns whether it no longer answers.
    fn is_gone(&self, now: Time) -> bool {
        let lasts = if self.overtaken.is_some() { LASTS } else { (self.last * 2).min(LASTS) };
        now.since(self.heard_at) > lasts
    }

    /// Returns whether it may have answered an Interest with this round-trip time.
    fn explains(&self, rtt: Span) -> bool {
        let Smoothed { srtt, var } = self.smoothed;
        self.least.0 / APART <= rtt && rtt <= srtt + (var * 4).max(srtt)
    }
}

/// The responder to which a round-trip time is attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution {
    /// `true` if it has not answered before.
    pub is_new: bool,
    /// Its shortest round-trip time.
    pub base: Span,
    /// `true` if the previous shortest round-trip time had expired.
    pub was_old: bool,
}

/// The shortest round-trip times of a flow's responders when a Data comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases {
    /// That of the farthest responder whose Data were overtaken; `None` if no Data were overtaken.
    pub farthest: Option<Span>,
    /// That of the responder that has sent the most Data lately.
    pub usual: Span,
    /// `true` if this Data comes from nearer than `farthest`: its own round-trip time is shorter, or its
    /// responder's shortest one is less than half.
    pub is_near: bool,
}

impl Bases {
    /// The values for a flow with one responder.
    pub fn of_one(base: Span) -> Bases {
        Bases { farthest: None, usual: base, is_near: false }
    }
}

/// The responders of a flow.
#[derive(Clone, Debug)]
pub struct Responders {
    known: Vec<Responder>,
    /// The latest sending time of an answered Interest.
    answered_sent: Time,
    are_told_apart: bool,
    base_lasts: Span,
}

impl Responders {
    fn new(are_told_apart: bool, base_lasts: Span) -> Responders {
        Responders { known: Vec::with_capacity(MOST), answered_sent: Time::ZERO, are_told_apart, base_lasts }
    }

    /// Shortest round-trip times are those of the last 10 s. Use it for a flow control that lets queues
    /// drain.
    pub fn of_late() -> Responders {
        Responders::new(true, LASTS)
    }

    /// Shortest round-trip times are those of all time. Use it if queues may never drain.
    pub fn of_all_time() -> Responders {
        Responders::new(true, Span::from_nanos(u64::MAX))
    }

    /// All responders count as one, and the shortest round-trip time is that of all time.
    pub fn as_one() -> Responders {
        Responders::new(false, Span::from_nanos(u64::MAX))
    }

    /// Takes a sample: the round-trip time of an Interest that was sent only once.
    pub fn sample(&mut self, now: Time, rtt: Span) -> Attribution {
        let sent = Time::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos()));
        let nearest = self.nearest(rtt);
        let is_new = nearest.is_none();
        let mut of = nearest.map_or_else(|| Responder::new(now, rtt), |index| self.known.swap_remove(index));
        let was_old = now.since(of.least.1) > self.base_lasts;
        if rtt <= of.least.0 || was_old {
            of.least = (rtt, now);
        }
        (of.last, of.heard_at) = (rtt, now);
        of.overtaken = of.overtaken.filter(|(_, at)| now.since(*at) <= LASTS);
        if sent < self.answered_sent {
            of.overtaken = Some((of.overtaken.map_or(rtt, |(least, _)| least.min(rtt)), now));
        }
        self.answered_sent = self.answered_sent.max(sent);
        let base_lasts = self.base_lasts;
        let mut is_first = is_new;
        self.known.retain_mut(|other| {
            let has_drained = other.overtaken.is_none() && other.is_gone(now) && other.last > rtt;
            let is_same = has_drained || are_near(other.least.0, of.least.0);
            if has_drained {
                (of.smoothed, is_first) = (other.smoothed, false);
            }
            if is_same {
                of.share += other.share;
                of.overtaken = of.overtaken.or(other.overtaken);
                if other.least.0 < of.least.0 && now.since(other.least.1) <= base_lasts {
                    of.least = other.least;
                }
            }
            other.share *= 1.0 - SHARE_GAIN;
            !is_same && !other.is_gone(now)
        });
        if !is_first {
            of.smoothed.sample(rtt);
        }
        of.share += SHARE_GAIN * (1.0 - of.share);
        if self.known.len() == MOST {
            let longest = (0..MOST).min_by_key(|&index| self.known[index].heard_at);
            longest.map(|index| self.known.swap_remove(index));
        }
        self.known.push(of);
        Attribution { is_new, base: of.least.0, was_old }
    }

    /// The responder that has answered with nearly this round-trip time.
    fn nearest(&self, rtt: Span) -> Option<usize> {
        if !self.are_told_apart {
            return self.known.first().map(|_| 0);
        }
        let ratio = |other: &Responder| {
            let [a, b] = [rtt, other.last].map(|span| span.as_nanos().max(1) as f64);
            (a / b).max(b / a)
        };
        let near = |&index: &usize| are_near(self.known[index].last, rtt);
        let by_ratio = |a: &usize, b: &usize| ratio(&self.known[*a]).total_cmp(&ratio(&self.known[*b]));
        (0..self.known.len()).filter(near).min_by(by_ratio)
    }

    /// Mean of the shortest round-trip times of all Data, weighted by each responder's recent share. This is
    /// the mean time for which the flow's Interests are pending without queues. A rate times this time is the
    /// number of Interests that must be pending for the rate (J. D. C. Little, A Proof for the Queuing
    /// Formula L = λW, 1961).
    pub fn mean_base(&self) -> Option<Span> {
        let share: f64 = self.known.iter().map(|of| of.share).sum();
        let sum: f64 = self.known.iter().map(|of| of.share * of.least.0.as_nanos() as f64).sum();
        (!self.known.is_empty()).then(|| Span::from_nanos((sum / share + 0.5) as u64))
    }

    /// The bases when a Data comes. `own` is the round-trip time of this Data and the shortest one of its
    /// responder; `None` if its Interest was sent more than once.
    fn bases(&self, own: Option<(Span, Span)>) -> Option<Bases> {
        let farthest = self.known.iter().filter_map(|of| of.overtaken).map(|(least, _)| least).max();
        let is_near = own
            .zip(farthest)
            .is_some_and(|((rtt, base), farthest)| rtt < farthest || base * APART < farthest);
        let usual = self.known.iter().max_by(|a, b| a.share.total_cmp(&b.share))?.least.0;
        Some(Bases { farthest, usual, is_near })
    }

    /// Notes that the shortest round-trip times of all responders have just been measured.
    pub fn renew_bases(&mut self, now: Time) {
        self.known.iter_mut().for_each(|of| of.least.1 = now);
    }
}

fn are_near(a: Span, b: Span) -> bool {
    let (less, more) = (a.min(b), a.max(b));
    more <= less * APART || more - less <= LEAST_APART
}

/// Round-trip time and retransmission timeout of a consumer's Interests: RFC 6298 for each responder. The
/// longest of their timeouts applies to all Interests, because a consumer does not know which responder will
/// answer.
///
/// *A responder without a sample*, such as a producer far behind a near cache, answers after the timeout. Its
/// Interests are sent again and give no sample (Karn's algorithm). Forwarders absorb the repetition while the
/// first Interest is pending. So the time from the last sending to the Data is shorter or longer than the
/// round-trip time of any known responder. This shows that the timeout was too short and the Interest was not
/// lost. If the first and the last sending were close together, the time since the first one is the sample.
/// Otherwise timeouts are doubled from then on, until there is a sample of a new farthest responder, or for
/// 10 s.
#[derive(Clone, Debug)]
pub struct FlowRtt {
    config: RtoConfig,
    /// SRTT and RTTVAR over the Data of all responders.
    smoothed: Option<Smoothed>,
    responders: Responders,
    backoff: Backoff,
    /// Factor of all timeouts while there is a responder without a sample, and since when.
    patience: (u64, Time),
}

/// Uses the bounds for consumers.
impl Default for FlowRtt {
    fn default() -> FlowRtt {
        FlowRtt::new(RtoConfig::CONSUMER)
    }
}

impl FlowRtt {
    /// Makes an estimate without a sample.
    pub fn new(config: RtoConfig) -> FlowRtt {
        FlowRtt {
            config,
            smoothed: None,
            responders: Responders::of_all_time(),
            backoff: Backoff::NONE,
            patience: (1, Time::ZERO),
        }
    }

    /// Takes a sample: the round-trip time of an Interest that was sent only once.
    pub fn sample(&mut self, now: Time, rtt: Span) -> Option<Bases> {
        self.backoff = Backoff::NONE;
        match &mut self.smoothed {
            None => self.smoothed = Some(Smoothed::new(rtt)),
            Some(smoothed) => smoothed.sample(rtt),
        }
        let base = self.learn(now, rtt);
        self.responders.bases(Some((rtt, base)))
    }

    /// Handles the Data of an Interest that was sent more than once; `first` and `last` are its first and
    /// last sending times.
    pub fn repeated(&mut self, now: Time, first: Time, last: Time) -> Option<Bases> {
        let (longest, shortest) = (now.since(first), now.since(last));
        // A queue filled by many repetitions is not another responder.
        if let Some(index) = self.responders.nearest(shortest) {
            let of = &mut self.responders.known[index];
            (of.last, of.heard_at) = (shortest, now);
            return self.responders.bases(None);
        }
        let known = &self.responders.known;
        if known.is_empty() || known.iter().any(|of| of.explains(shortest)) {
            return self.responders.bases(None);
        }
        if are_near(longest, shortest) {
            let base = self.learn(now, longest);
            return self.responders.bases(Some((longest, base)));
        }
        // Interests that were sent before belong to the same timeout.
        if first >= self.patience.1 {
            self.patience = ((2 * self.patience.0).min(MOST_PATIENT), now);
        }
        self.responders.bases(None)
    }

    /// Adds a round-trip time to its responder. Returns the responder's shortest one.
    fn learn(&mut self, now: Time, rtt: Span) -> Span {
        let answer = self.responders.sample(now, rtt);
        let is_farthest = self.responders.known.iter().all(|of| of.least.0 <= answer.base);
        if answer.is_new && is_farthest || now.since(self.patience.1) > LASTS {
            self.patience.0 = 1;
        }
        answer.base
    }

    /// Doubles the timeouts, because an Interest timed out.
    pub fn back_off(&mut self) {
        self.backoff.double(&self.config);
    }

    /// Smoothed round-trip time of all Data; `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    /// Mean of the shortest round-trip times of all Data; `None` before the first sample.
    pub fn mean_base(&self) -> Option<Span> {
        self.responders.mean_base()
    }

    /// The longest value of all responders.
    fn longest(&self, of_one: impl Fn(Smoothed) -> Span) -> Span {
        let all = self.responders.known.iter().map(|of| of_one(of.smoothed));
        all.max().map_or(self.config.initial, |longest| longest * self.patience.0)
    }

    /// The retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Span {
        self.backoff.rto(self.base(), &self.config)
    }

    /// How much later than the answer to a later Interest an answer may come. Data arrive out of order by at
    /// most the variation of round-trip times (RFC 8985 waits a quarter of a round trip, RFC 9002 an eighth).
    pub fn overtaken(&self) -> Span {
        self.longest(Smoothed::overtaken)
    }

    /// How long no Data may come before all pending Interests may be lost. RFC 8985 waits two round trips.
    pub fn silence(&self) -> Span {
        self.longest(|smoothed| (smoothed.srtt * 2).max(smoothed.overtaken()))
    }

    /// Returns whether an Interest has timed out since the last sample.
    pub fn is_backed_off(&self) -> bool {
        self.backoff.is_some()
    }

    /// The RTO of Interests that were sent before the last backoff.
    #[inline]
    pub fn earlier_rto(&self) -> Span {
        self.backoff.earlier_rto(self.base(), &self.config)
    }

    /// RTO without a backoff.
    #[inline]
    fn base(&self) -> Span {
        self.longest(|smoothed| self.config.rto(smoothed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// One Interest per millisecond until a time. Every `nth` is answered by a producer 300 ms away, the
    /// others by a cache 4 ms away. The list has the order in which their Data come.
    fn mixed(until: u64, nth: u64) -> Vec<(Time, Span)> {
        let one = |sent: u64| {
            let rtt = if sent.is_multiple_of(nth) { 300 } else { 4 };
            (at(sent + rtt), MS * rtt)
        };
        let mut all: Vec<_> = (0..until).map(one).collect();
        all.sort();
        all
    }

    #[test]
    fn a_near_cache_does_not_shorten_the_timeout_of_a_far_producer() {
        for nth in [2, 10, 100] {
            let mut rtt = FlowRtt::default();
            let mut bases = None;
            for (now, sample) in mixed(5000, nth) {
                bases = rtt.sample(now, sample);
                let is_far_known = now > at(301);
                assert!(
                    !is_far_known || rtt.rto() > MS * 300 && rtt.overtaken() > MS * 300,
                    "{nth}, {now:?}"
                );
            }
            let bases = bases.unwrap();
            assert_eq!((bases.farthest, bases.is_near), (Some(MS * 300), false));
            assert!(rtt.sample(at(5400), MS * 4).unwrap().is_near);
            assert!(rtt.srtt().unwrap() < MS * 300, "that of all");
        }
    }

    #[test]
    fn the_mean_of_the_bases_counts_each_as_often_as_it_answers() {
        for (nth, from, to) in [(2, 130, 175), (10, 15, 60), (1, 300, 300)] {
            let mut all = Responders::of_late();
            mixed(5000, nth).into_iter().for_each(|(now, rtt)| {
                all.sample(now, rtt);
                let mean = all.mean_base().unwrap();
                assert!(
                    now < at(1500) || now > at(5000) || mean >= MS * from && mean <= MS * to,
                    "{nth}: {mean:?}"
                );
            });
        }
    }

    #[test]
    fn a_queue_is_no_other_responder() {
        // The queue fills as fast as the window doubles, drains while nothing is sent, and fills again.
        let mut all = Responders::of_late();
        let mut sent = 0;
        for filling in [3, 100, 3, 40] {
            let rtts: Vec<u64> = (0..).map(|n| 3 + n).take_while(|rtt| *rtt <= filling).collect();
            for rtt in rtts {
                sent += 1;
                all.sample(at(sent + rtt), MS * rtt);
                assert_eq!(all.mean_base(), Some(MS * 3), "{rtt}");
            }
            sent += 500;
        }
        assert_eq!(all.bases(None).unwrap(), Bases { farthest: None, usual: MS * 3, is_near: false });
    }

    #[test]
    fn behind_a_cache_that_ends_the_path_is_that_to_the_producer() {
        let mut all = Responders::of_late();
        (0..200).for_each(|n| {
            all.sample(at(n + 4), MS * 4);
        });
        (200..400).for_each(|n| {
            all.sample(at(n + 300), MS * 300);
        });
        assert_eq!(all.bases(None).unwrap().usual, MS * 300);
        assert!(all.mean_base().unwrap() > MS * 285, "{:?}", all.mean_base());
    }

    #[test]
    fn a_responder_that_is_slower_than_the_timeout_is_waited_for_longer_until_there_is_a_sample() {
        let mut rtt = FlowRtt::default();
        (0..100).for_each(|n| {
            rtt.sample(at(n + 4), MS * 4);
        });
        let (timeout, soon) = (rtt.rto(), rtt.overtaken());
        // The Interest was repeated after 200 ms, in vain: the first one takes 300 ms.
        rtt.repeated(at(500), at(200), at(400));
        assert_eq!((rtt.rto(), rtt.overtaken()), (timeout * 2, soon * 2));
        rtt.repeated(at(501), at(201), at(401));
        assert_eq!(rtt.rto(), timeout * 2, "of the same timeout");
        rtt.sample(at(510), MS * 4);
        assert_eq!(rtt.rto(), timeout * 2, "that tells nothing about it");
        rtt.sample(at(810), MS * 300);
        assert_eq!(rtt.rto(), MS * 900);
    }

    #[test]
    fn of_two_that_are_hardly_apart_the_nearer_one_is_told_by_what_it_has_overtaken() {
        let mut rtt = FlowRtt::default();
        let one = |sent: u64| {
            let rtt = if sent.is_multiple_of(2) { 30 } else { 20 };
            (at(sent + rtt), rtt)
        };
        let mut all: Vec<_> = (0..200).map(one).collect();
        all.sort();
        for (now, sample) in all {
            let is_near = rtt.sample(now, MS * sample).unwrap().is_near;
            assert!(now < at(40) || is_near == (sample == 20), "{now:?}");
        }
    }

    #[test]
    fn what_was_lost_makes_no_flow_patient() {
        let mut rtt = FlowRtt::default();
        (0..100).for_each(|n| {
            rtt.sample(at(n + 20), MS * 20);
        });
        let timeout = rtt.rto();
        for taken in [19, 20, 25, 39] {
            rtt.repeated(at(1000 + taken), at(800), at(1000));
            assert_eq!(rtt.rto(), timeout, "{taken}");
        }
    }

    #[test]
    fn where_both_sendings_were_long_ago_either_is_a_sample() {
        let mut rtt = FlowRtt::default();
        (0..300).for_each(|n| {
            rtt.sample(at(n + 4), MS * 4);
        });
        // Nearer ones have overtaken it three times.
        let bases = rtt.repeated(at(500), at(200), at(204)).unwrap();
        assert_eq!(bases.farthest, Some(MS * 300));
        assert!(!bases.is_near && rtt.rto() > MS * 300);
    }

    #[test]
    fn silence_is_two_round_trips_and_no_less_than_what_is_out_of_order() {
        let mut rtt = FlowRtt::default();
        let first = RtoConfig::CONSUMER.initial;
        assert_eq!((rtt.silence(), rtt.is_backed_off()), (first, false));
        for n in 0..100 {
            rtt.sample(at(n + 10), MS * 10);
        }
        assert_eq!(rtt.silence(), MS * 20);
        let mut rtt = FlowRtt::default();
        for n in 0..100 {
            rtt.sample(at(n), Span::from_micros(100));
        }
        assert_eq!(rtt.silence(), rtt.overtaken());
        rtt.back_off();
        assert!(rtt.is_backed_off());
    }
}
