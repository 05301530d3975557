//! Congestion estimation (section VI.C): the number of packets of a sub-flow in queues.
//!
//! A hop-flow h is the Data of one source on the path, identified by their hop count. At the end of each control cycle it has
//! n_h Data with a mean round-trip time d̄_h. d⁰_h is the smallest round-trip time so far:
//!
//! > Δ_h = x_h·(d̄_h − d⁰_h)   (14)
//! > Δ_r = Σ_h Δ_h           (13)
//!
//! x_h is n_h divided by the time from the sub-flow's last Data before the cycle to its last Data in the cycle. So n arrivals
//! span n gaps, and at low rates the position of the cycle's ends causes no error.

use weir_core::units::{Span, Time};

/// The queue is empty if fewer packets than this wait.
const EMPTY: f64 = 0.5;
/// Two round-trip times are equal if they differ by less than 1/64.
const EQUAL: u64 = 64;
/// Assumed: the number of successive equal round-trip times that show a drained queue to be empty, whatever
/// the base is.
const LEVEL: u32 = 2;

/// The Data of one source on the path.
#[derive(Clone, Copy, Debug)]
struct HopFlow {
    hops: u8,
    /// d⁰_h, the base RTT.
    base: Span,
    /// n_h of this cycle, the number of those with a round-trip time, and the sum of these times.
    received: u32,
    samples: u32,
    sum: Span,
    /// The arrival time and the round-trip time of the latest Data.
    latest: Option<(Time, Span)>,
    /// Δ_h of the latest cycle, packets.
    backlog: f64,
    /// The last time at which a Data met no queue.
    met: Time,
    /// Round-trip times of the Interests that left while the queue was drained.
    drained: Option<Drained>,
}

/// Measurements of one source during a drain.
#[derive(Clone, Copy, Debug)]
struct Drained {
    least: Span,
    latest: Span,
    /// The number of successive round-trip times equal to the one before.
    level: u32,
}

impl HopFlow {
    fn mean(&self) -> Option<Span> {
        (self.samples > 0).then(|| self.sum / u64::from(self.samples))
    }
}

/// Results of a control cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// x_r, Data a second.
    pub(super) rate: f64,
    /// Δ_r, packets.
    pub(super) backlog: f64,
    /// The longest round trip, which is the length of the next cycle; zero if there was none.
    pub(super) longest: Span,
    /// Whether Data came, but only for aggregated Interests.
    pub(super) is_blind: bool,
}

/// The congestion estimate of one sub-flow.
#[derive(Debug)]
pub(super) struct Estimation {
    /// One entry a hop count, at most 64.
    hop_flows: Vec<HopFlow>,
    /// The start of the cycle.
    from: Time,
    received: u32,
    longest: Span,
    latest: Option<Time>,
    /// The time of the latest Data before the cycle.
    counts_from: Option<Time>,
}

impl Estimation {
    pub(super) fn new(now: Time) -> Estimation {
        Estimation {
            hop_flows: Vec::new(),
            from: now,
            received: 0,
            longest: Span::ZERO,
            latest: None,
            counts_from: None,
        }
    }

    pub(super) fn received(&self) -> u32 {
        self.received
    }

    /// Returns whether the latest Data came longer than `span` ago.
    pub(super) fn is_silent_for(&self, now: Time, span: Span) -> bool {
        self.latest.is_some_and(|latest| now.since(latest) > span)
    }

    pub(super) fn began(&self) -> Time {
        self.from
    }

    /// Returns whether there is a round-trip time.
    pub(super) fn is_measured(&self) -> bool {
        !self.hop_flows.is_empty()
    }

    /// Returns the largest d⁰_h.
    pub(super) fn base(&self) -> Span {
        self.hop_flows.iter().map(|flow| flow.base).max().unwrap_or(Span::ZERO)
    }

    /// Returns the source with the largest backlog.
    fn heaviest(&self) -> Option<&HopFlow> {
        self.hop_flows.iter().max_by(|a, b| a.backlog.total_cmp(&b.backlog))
    }

    /// Returns the last time at which a Data of the source with the largest backlog met no queue.
    pub(super) fn met(&self) -> Time {
        self.heaviest().map_or(self.from, |flow| flow.met)
    }

    /// Returns the increase of the source's round-trip time since its previous Data, if the two Interests
    /// left shortly after each other; else zero.
    pub(super) fn step(&self, now: Time, hops: u8, rtt: Span) -> Span {
        let flow = self.hop_flows.iter().find(|flow| flow.hops == hops);
        let Some((then, earlier)) = flow.and_then(|flow| flow.latest) else { return Span::ZERO };
        let step = rtt - earlier;
        let apart = now.since(then) - step;
        if apart < step { step } else { Span::ZERO }
    }

    /// Counts a Data from a source that is `hops` links away. `rtt` is `None` if the Data gives no round-trip
    /// time. `waited` is the time since its Interest was sent. The sub-flow receives x_r Data a second.
    pub(super) fn on_data(
        &mut self,
        now: Time,
        hops: u8,
        rtt: Option<Span>,
        waited: Option<Span>,
        rate: f64,
    ) {
        self.received += 1;
        self.latest = Some(now);
        self.longest = self.longest.max(waited.unwrap_or(Span::ZERO));
        let Some(rtt) = rtt else {
            if let Some(flow) = self.hop_flows.iter_mut().find(|flow| flow.hops == hops) {
                flow.received += 1;
            }
            return;
        };
        let flow = self.flow(now, hops, rtt);
        flow.latest = Some((now, rtt));
        flow.base = flow.base.min(rtt);
        if is_empty(rtt, flow.base, rate) {
            flow.met = now;
        }
        flow.received += 1;
        flow.samples += 1;
        flow.sum = flow.sum + rtt;
    }

    /// Returns the hop-flow of this hop count. A new one takes this round-trip time as its base.
    fn flow(&mut self, now: Time, hops: u8, rtt: Span) -> &mut HopFlow {
        let place = match self.hop_flows.iter().position(|flow| flow.hops == hops) {
            Some(place) => place,
            None => {
                let (received, samples, sum) = (0, 0, Span::ZERO);
                let (latest, drained, backlog) = (None, None, 0.0);
                let flow =
                    HopFlow { hops, base: rtt, received, samples, sum, latest, backlog, met: now, drained };
                self.hop_flows.push(flow);
                self.hop_flows.len() - 1
            }
        };
        &mut self.hop_flows[place]
    }

    /// Ends the cycle, and begins the next one.
    pub(super) fn close(&mut self, now: Time) -> Measured {
        let cycle = now.since(self.from);
        let counted = match (self.counts_from, self.latest) {
            (Some(from), Some(latest)) if latest > from => latest.since(from),
            _ => cycle,
        };
        let per_second = 1.0 / counted.as_secs_f64().max(1e-6);
        let mut measured = Measured {
            rate: f64::from(self.received) * per_second,
            longest: self.longest,
            is_blind: self.received > 0 && self.hop_flows.iter().all(|flow| flow.samples == 0),
            ..Measured::default()
        };
        for flow in &mut self.hop_flows {
            let Some(mean) = flow.mean() else { continue };
            flow.backlog = f64::from(flow.received) * per_second * (mean - flow.base).as_secs_f64();
            measured.backlog += flow.backlog;
        }
        self.begin(now);
        self.counts_from = self.latest;
        measured
    }

    /// Begins a cycle that ignores everything before it.
    pub(super) fn restart(&mut self, now: Time) {
        self.begin(now);
        self.counts_from = None;
    }

    fn begin(&mut self, now: Time) {
        (self.from, self.received, self.longest) = (now, 0, Span::ZERO);
        for flow in &mut self.hop_flows {
            (flow.received, flow.samples, flow.sum) = (0, 0, Span::ZERO);
        }
    }

    /// Prepares for a drain of the queue.
    pub(super) fn begin_drain(&mut self) {
        self.hop_flows.iter_mut().for_each(|flow| flow.drained = None);
    }

    /// Counts the answer to an Interest that left during the drain. Returns whether the queue is empty at
    /// `rate`, or will not become emptier.
    pub(super) fn on_drained(&mut self, hops: u8, rtt: Span, rate: f64) -> bool {
        let Some(flow) = self.hop_flows.iter_mut().find(|flow| flow.hops == hops) else { return false };
        let is_no_shorter = flow.drained.is_some_and(|drained| rtt + rtt / EQUAL >= drained.least);
        let (least, level) = match flow.drained {
            Some(Drained { least, latest, level }) if is_equal(rtt, latest) => (least.min(rtt), level + 1),
            Some(Drained { least, .. }) => (least.min(rtt), 0),
            None => (rtt, 0),
        };
        flow.drained = Some(Drained { least, latest: rtt, level });
        is_no_shorter || is_empty(rtt, flow.base, rate)
    }

    /// Returns whether the drain has reached the base of the source with the largest backlog: at `rate`, its
    /// Data meet no queue.
    pub(super) fn is_met(&self, rate: f64) -> bool {
        let heaviest = self.heaviest().and_then(|flow| Some((flow.base, flow.drained?.least)));
        heaviest.is_some_and(|(base, least)| is_empty(least, base, rate))
    }

    /// Ends a drain by all flows. Round-trip times that were equal in the end become the base. Returns
    /// whether a source had such times.
    pub(super) fn renew(&mut self, now: Time) -> bool {
        let mut is_renewed = false;
        for flow in &mut self.hop_flows {
            if let Some(drained) = flow.drained.filter(|drained| drained.level >= LEVEL) {
                (flow.base, flow.met, is_renewed) = (drained.least, now, true);
            }
        }
        is_renewed
    }
}

/// Returns whether fewer than half a packet is queued.
fn is_empty(rtt: Span, base: Span, rate: f64) -> bool {
    (rtt - base).as_secs_f64() * rate < EMPTY
}

fn is_equal(a: Span, b: Span) -> bool {
    a.max(b) - a.min(b) <= a.max(b) / EQUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    const fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn estimation() -> Estimation {
        Estimation::new(at(0))
    }

    /// Counts a Data with this round-trip time, for a sub-flow of 1000 Data a second.
    fn took(estimation: &mut Estimation, now: u64, hops: u8, rtt: u64) {
        estimation.on_data(at(now), hops, Some(ms(rtt)), Some(ms(rtt)), 1000.0);
    }

    /// Counts a Data whose Interest was aggregated.
    fn aggregated(estimation: &mut Estimation, now: u64, hops: u8) {
        estimation.on_data(at(now), hops, None, Some(ms(1)), 1000.0);
    }

    /// Counts `count` Data from `from` on, `gap` apart, with one hop count and one round-trip time.
    fn feed(estimation: &mut Estimation, from: u64, count: u64, gap: u64, hops: u8, rtt: u64) {
        (0..count).for_each(|n| took(estimation, from + n * gap, hops, rtt));
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// The paper's figures: 20 packets of 1 kB take 16 ms at 10 Mb/s.
    #[test]
    fn the_backlog_is_rate_times_queueing_delay() {
        let mut estimation = estimation();
        feed(&mut estimation, 1, 1, 1, 3, 170);
        estimation.close(at(1));
        // 1000 Data a second, each delayed by 16 ms.
        feed(&mut estimation, 2, 170, 1, 3, 186);
        let measured = estimation.close(at(171));
        near(measured.rate, 1000.0);
        near(measured.backlog, 16.0);
        assert_eq!((measured.longest, estimation.base()), (ms(186), ms(170)));
    }

    #[test]
    fn backlogs_of_hop_flows_add_up_each_with_its_own_base() {
        let mut estimation = estimation();
        feed(&mut estimation, 0, 1, 0, 2, 150);
        feed(&mut estimation, 0, 1, 0, 3, 170);
        estimation.close(at(0));
        // The cache answers 100 a second without delay; the producer answers 50, each delayed by 20 ms.
        for n in 1..=50 {
            feed(&mut estimation, 20 * n, 2, 0, 2, 150);
            feed(&mut estimation, 20 * n, 1, 0, 3, 190);
        }
        let measured = estimation.close(at(1010));
        near(measured.rate, 150.0);
        near(measured.backlog, 50.0 * 0.020);
    }

    #[test]
    fn what_tells_of_no_round_trip_counts_for_the_rate_alone() {
        let mut estimation = estimation();
        feed(&mut estimation, 0, 1, 0, 3, 170);
        estimation.close(at(0));
        (1..=100).for_each(|n| aggregated(&mut estimation, n, 1));
        let measured = estimation.close(at(100));
        near(measured.rate, 1000.0);
        near(measured.backlog, 0.0);
        assert!(measured.is_blind);
        assert_eq!(estimation.hop_flows.len(), 1, "it creates no hop-flow");
    }

    #[test]
    fn the_rate_of_few_data_does_not_depend_on_where_the_cycle_ends() {
        for end in [301, 350, 399] {
            let mut estimation = estimation();
            aggregated(&mut estimation, 0, 1);
            estimation.close(at(10));
            feed(&mut estimation, 100, 3, 100, 1, 50);
            near(estimation.close(at(end)).rate, 10.0);
        }
    }

    #[test]
    fn a_round_trip_that_is_longer_at_once_is_a_step_and_one_that_grows_or_comes_after_a_pause_is_not() {
        let mut estimation = estimation();
        took(&mut estimation, 100, 3, 100);
        for (now, rtt, step) in [(121, 120, 20), (150, 120, 0), (130, 115, 0), (125, 90, 0)] {
            assert_eq!(estimation.step(at(now), 3, ms(rtt)), ms(step), "{now} {rtt}");
        }
        assert_eq!(estimation.step(at(101), 2, ms(500)), ms(0), "another source");
    }

    /// Builds a base of 100 ms and a mean of 160 ms, then drains to `rtts`, at 1000 Data a second.
    fn drained(rtts: &[u64]) -> (Vec<bool>, Estimation) {
        let mut estimation = estimation();
        feed(&mut estimation, 0, 1, 0, 3, 100);
        estimation.close(at(0));
        feed(&mut estimation, 1, 100, 1, 3, 160);
        estimation.close(at(101));
        estimation.begin_drain();
        let ends = rtts.iter().map(|rtt| estimation.on_drained(3, ms(*rtt), 1000.0)).collect();
        (ends, estimation)
    }

    #[test]
    fn a_queue_is_drained_when_nothing_waits_or_the_round_trip_falls_no_more() {
        for (rtts, ends, is_met) in [
            (&[100][..], vec![true], true),
            (&[130, 110, 110], vec![false, false, true], false),
            (&[155, 155], vec![false, true], false),
        ] {
            let (ended, estimation) = drained(rtts);
            assert_eq!((ended, estimation.is_met(1000.0), estimation.base()), (ends, is_met, ms(100)));
        }
    }

    /// If any drain could raise the base, another flow's packets would become part of it.
    #[test]
    fn only_round_trips_that_stay_equal_renew_the_base() {
        for (rtts, base) in [
            (&[155, 155, 155][..], 155),
            (&[155, 155], 100),
            (&[150, 130, 120, 110], 100),
            (&[120, 140, 155, 155], 100),
        ] {
            let (_, mut estimation) = drained(rtts);
            assert_eq!(estimation.renew(at(500)), base != 100);
            assert_eq!(estimation.base(), ms(base), "{rtts:?}");
        }
    }

    #[test]
    fn a_base_is_met_while_nothing_of_the_source_with_the_longest_queue_waits() {
        let mut estimation = estimation();
        for (now, hops, rtt, met) in [(1, 3, 100, 1), (50, 3, 100, 50), (60, 3, 120, 50)] {
            took(&mut estimation, now, hops, rtt);
            estimation.close(at(now));
            assert_eq!(estimation.met(), at(met));
        }
        took(&mut estimation, 70, 2, 40);
        assert_eq!(estimation.met(), at(50), "a cache tells nothing of the queue behind it");
    }

    #[test]
    fn hop_flows_are_64_at_the_most() {
        let mut estimation = estimation();
        (0..=255_u8).for_each(|hops| took(&mut estimation, 1, hops & 63, 1));
        assert_eq!(estimation.hop_flows.len(), 64);
    }
}
