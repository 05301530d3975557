//! The sender of TCP NewReno, at the consumer. Names are those of RFC 5681, RFC 6582 and RFC 6298; windows are in
//! segments.
//!
//! ```text
//!                 third duplicate ACK, una > recover + 1
//!      +------+   ssthresh = flight/2, cwnd = ssthresh + 3, una again   +---------------+ <--+ duplicate: cwnd + 1
//!      | open | ------------------------------------------------------> | fast recovery |    | partial ACK: una again,
//!      +------+ <------------------------------------------------------ +---------------+ ---+ cwnd - what it covers + 1
//!       |    ^     full ACK: una > recover, cwnd = ssthresh at most         |
//!       +----+                                                              |
//!   timer over: ssthresh = flight/2, cwnd = 1, all again <------------------+
//! ```

use core::ops::Range;

use weir_core::parameters;
use weir_core::responders::FlowRtt;
use weir_core::rtt::RtoConfig;
use weir_core::seam::{
    DataReceived, FlowControl, FlowDeadline, Gauge, LossEvent, Permit, PermitEvent, SendEvent,
};
use weir_core::units::{Span, Time};

use crate::window::{KnownPath, LARGEST_WINDOW};

/// The number of duplicate ACKs that signal a loss (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;
/// The loss window, LW, segments.
const LOSS_WINDOW: f64 = 1.0;
/// The smallest ssthresh, segments (RFC 5681, (4)).
const LEAST_THRESHOLD: f64 = 2.0;

parameters! {
    /// The sender's parameters.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// initial W, packets
        initial_window: f64 = number("initial_window", 1.0..=1000.0) default "2"
            from "paper: RFC 5681, section 3.1, which allows it for segments of any size";
        /// the smallest retransmission timeout
        min_rto: Span = span("min_rto", Span::from_millis(1)..=Span::from_secs(60)) default "1 s"
            from "paper: RFC 6298, (2.4); ns-3 has the same";
    }
}

/// Returns the RTO's parameters by RFC 6298: initially 1 s, at most 60 s. ns-3's clock granularity, G, is 1
/// ms.
fn rto(min: Span) -> RtoConfig {
    RtoConfig {
        initial: Span::from_secs(1),
        min,
        max: Span::from_secs(60),
        granularity: Span::from_millis(1),
        max_backoff: 64,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Slow start or congestion avoidance.
    Open,
    /// Fast recovery, with whether a partial ACK came.
    FastRecovery { is_partial: bool },
}

/// The state of the sender.
#[derive(Debug)]
pub(super) struct Sender {
    initial_window: f64,
    lifetime: Span,
    rtt: FlowRtt,
    path: KnownPath,
    cwnd: f64,
    ssthresh: f64,
    phase: Phase,
    /// SND.UNA: the oldest segment without an ACK.
    una: u64,
    /// The segment after the newest one that was sent; `None` before the first.
    end: Option<u64>,
    /// The number of received segments after `una` that cwnd counts as in flight: fast recovery inflates cwnd
    /// by as many.
    arrived: u64,
    /// The number of segments after `una` that came from a near cache. cwnd does not count them.
    nearby: u64,
    /// The newest segment at the latest reaction to a loss.
    recover: Option<u64>,
    dupacks: u32,
    /// The number of segments that limited transmit sent since the last ACK that was no duplicate.
    limited: u64,
    /// Whether a segment leaves regardless of cwnd: the retransmission of fast retransmit or of a partial
    /// ACK.
    is_due: bool,
    /// The time at which the retransmission timer expires.
    expires: Time,
    last_sent: Time,
    /// The segment of the latest timeout.
    timed_out: Option<u64>,
}

impl Sender {
    pub(super) fn new(settings: Settings, lifetime: Span) -> Sender {
        Sender {
            initial_window: settings.initial_window,
            lifetime,
            rtt: FlowRtt::new(rto(settings.min_rto)),
            path: KnownPath::default(),
            cwnd: settings.initial_window,
            ssthresh: f64::INFINITY,
            phase: Phase::Open,
            una: 0,
            end: None,
            arrived: 0,
            nearby: 0,
            recover: None,
            dupacks: 0,
            limited: 0,
            is_due: false,
            expires: Time::NEVER,
            last_sent: Time::ZERO,
            timed_out: None,
        }
    }

    /// Returns FlightSize, without segments that came before the loss under repair: they left the network
    /// long ago.
    fn flight(&self, pending: u32) -> u64 {
        u64::from(pending).saturating_add(self.arrived)
    }

    /// Returns whether segments that were lost when `recover` was set are still being retransmitted.
    fn is_recovering(&self) -> bool {
        self.recover.is_some_and(|recover| self.una <= recover)
    }

    /// Limited transmit (RFC 3042): the first two duplicate ACKs permit a new segment each. cwnd does not
    /// change.
    fn extra(&self) -> u32 {
        if self.phase == Phase::Open && !self.is_recovering() { self.dupacks.min(DUPLICATES - 1) } else { 0 }
    }

    fn rto(&self) -> Span {
        self.rtt.rto().min(self.lifetime)
    }

    /// RFC 6298, (5.3); (5.2) if nothing is outstanding.
    fn restart_timer(&mut self, now: Time, pending: u32) {
        self.expires = if pending > 0 { now + self.rto() } else { Time::NEVER };
    }

    /// RFC 5681, (4), without the segments of limited transmit.
    fn halve(&mut self, flight: u64) {
        self.path.renew();
        self.ssthresh = (flight.saturating_sub(self.limited) as f64 / 2.0).max(LEAST_THRESHOLD);
    }

    /// Handles an ACK that covers new segments, up to `una`. Returns the segments that are lost because of
    /// it.
    fn on_ack(&mut self, una: u64, now: Time, pending: u32) -> Range<u64> {
        let before = self.flight(pending).saturating_add(1);
        let nearby = self.nearby.min(una - self.una - 1);
        let acked = una - self.una - nearby;
        self.nearby -= nearby;
        self.una = una;
        (self.dupacks, self.limited) = (0, 0);
        match self.phase {
            Phase::FastRecovery { is_partial } if self.is_recovering() => {
                // Only the first partial ACK restarts the timer ("Impatient", RFC 6582, section 4).
                if !is_partial {
                    self.restart_timer(now, pending);
                }
                self.phase = Phase::FastRecovery { is_partial: true };
                self.arrived = self.arrived.saturating_sub(acked - 1);
                self.cwnd = (self.cwnd - acked as f64).max(0.0) + 1.0;
                return self.send_again();
            }
            Phase::FastRecovery { .. } => {
                // Option 1 of RFC 6582, section 3.2, step 3: it prevents a burst if little is outstanding.
                self.cwnd = self.ssthresh.min(f64::from(pending.max(1)) + 1.0);
                (self.phase, self.is_due) = (Phase::Open, false);
            }
            Phase::Open if self.is_used(before) => self.grow(),
            Phase::Open => {}
        }
        self.arrived = 0;
        self.restart_timer(now, pending);
        0..0
    }

    /// Slow start, RFC 5681, (2); congestion avoidance, (3).
    fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        self.cwnd = self.cwnd.min(LARGEST_WINDOW);
    }

    /// Handles a Data of a cache that has overtaken Data from farther away. It is no duplicate ACK, and
    /// acknowledges its own segment.
    fn on_nearby(&mut self, pending: u32) {
        self.nearby = self.nearby.saturating_add(1);
        if self.phase == Phase::Open && self.is_used(self.flight(pending).saturating_add(1)) {
            self.grow();
        }
    }

    /// Returns whether `flight` segments used half of cwnd.
    fn is_used(&self, flight: u64) -> bool {
        2.0 * flight as f64 >= self.cwnd
    }

    /// Handles a duplicate ACK. Returns the segments that are lost because of it.
    fn on_duplicate(&mut self, pending: u32) -> Range<u64> {
        self.arrived = self.arrived.saturating_add(1);
        if self.phase != Phase::Open {
            self.cwnd = (self.cwnd + 1.0).min(LARGEST_WINDOW);
            return 0..0;
        }
        self.dupacks = self.dupacks.saturating_add(1);
        if self.dupacks == DUPLICATES && self.may_retransmit() {
            self.enter_recovery(self.flight(pending));
            return self.send_again();
        }
        0..0
    }

    /// Returns whether the ACK covers more than `recover` (RFC 6582, section 3.2, step 2).
    fn may_retransmit(&self) -> bool {
        self.recover.is_none_or(|recover| self.una > recover.saturating_add(1))
    }

    /// Steps 2 and 3 of RFC 5681, section 3.2: the segments that caused duplicates have left the network.
    fn enter_recovery(&mut self, flight: u64) {
        self.halve(flight);
        self.limited = 0;
        self.recover = self.newest();
        self.cwnd = self.ssthresh + self.arrived as f64;
        self.phase = Phase::FastRecovery { is_partial: false };
    }

    fn newest(&self) -> Option<u64> {
        self.end.map(|end| end.saturating_sub(1))
    }

    fn send_again(&mut self) -> Range<u64> {
        self.is_due = true;
        self.una..self.una.saturating_add(1)
    }

    /// Handles the expiry of the timer (RFC 6298, (5.4) to (5.6); RFC 5681, section 3.1; RFC 6582, section
    /// 3.2, step 4), with this number of segments in the network.
    fn time_out(&mut self, pending: u32) {
        // For a segment that has timed out before, FlightSize gives no new information.
        if self.timed_out != Some(self.una) {
            self.limited = 0;
            self.halve(u64::from(pending));
        }
        self.timed_out = Some(self.una);
        self.cwnd = LOSS_WINDOW;
        self.recover = self.newest();
        self.phase = Phase::Open;
        (self.dupacks, self.arrived, self.limited, self.is_due) = (0, 0, 0, true);
        self.rtt.back_off();
        // The timer starts again with the retransmission.
        self.expires = Time::NEVER;
    }
}

impl FlowControl for Sender {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        let window = self.cwnd + f64::from(self.extra());
        let fits = self.flight(ev.pending) as f64 + 1.0 <= window;
        if fits || self.is_due || ev.pending == 0 { Permit::Now } else { Permit::Blocked }
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        if self.end.is_none() {
            self.una = ev.segment;
        }
        // The restart window, RFC 5681, section 4.1.
        if ev.pending == 0 && ev.now.since(self.last_sent) > self.rto() {
            self.cwnd = self.cwnd.min(self.initial_window);
        }
        let next = ev.segment.saturating_add(1);
        if self.extra() > 0 && !ev.retransmission {
            self.limited = self.limited.saturating_add(1);
        }
        self.is_due = false;
        self.end = self.end.max(Some(next));
        self.last_sent = ev.now;
        if self.expires == Time::NEVER {
            self.expires = ev.now + self.rto();
        }
        0
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        if let Some(rtt) = ev.rtt {
            self.rtt.sample(ev.now, rtt);
        }
        if self.path.is_left(ev.now, ev.bases) && self.phase == Phase::Open {
            self.ssthresh = f64::INFINITY;
        }
        ev.lost = if ev.oldest_missing > self.una {
            self.on_ack(ev.oldest_missing, ev.now, ev.pending)
        } else if ev.is_from_nearby() {
            self.on_nearby(ev.pending);
            0..0
        } else {
            self.on_duplicate(ev.pending)
        };
    }

    /// Handles the end of an Interest's lifetime. Interests that left before the last timeout belong to the
    /// same loss.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if self.phase != Phase::Open || !self.is_recovering() || self.recover < Some(ev.segment) {
            self.time_out(ev.pending.saturating_add(1));
        }
    }

    fn on_nack(&mut self, ev: &mut LossEvent<'_>) {
        if self.phase == Phase::Open && self.may_retransmit() {
            self.enter_recovery(self.flight(ev.pending.saturating_add(1)));
        }
        self.is_due = true;
    }

    fn next_deadline(&self) -> Time {
        self.expires
    }

    fn on_deadline(&mut self, ev: &mut FlowDeadline) {
        if ev.pending == 0 {
            self.expires = Time::NEVER;
            return;
        }
        self.time_out(ev.pending);
        ev.lost = self.una..self.end.unwrap_or(self.una);
    }

    /// The timer of [`FlowControl::next_deadline`] expires earlier.
    fn timeout(&self, _rto: Span, lifetime: Span) -> Span {
        lifetime
    }

    /// Later Data are the equivalent of duplicate ACKs.
    fn longest_wait(&self) -> Span {
        self.lifetime
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::Watched;
    use weir_core::consumer::{Consumer, ConsumerConfig, REORDER_BOUND, Source};
    use weir_core::name::{HashedName, NameHasher};
    use weir_core::packet::{Kind, Packet, PacketPool};
    use weir_core::random::Random;
    use weir_core::units::Bytes;
    use weir_packet::{NackReason, Name, ServiceClass};

    const HASHER: NameHasher = NameHasher::new(1);
    const MS: Span = Span::from_millis(1);
    const LIFETIME: Span = Span::from_secs(20);
    const SETTINGS: Settings = Settings { initial_window: 2.0, min_rto: Span::from_secs(1) };

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// The core's consumer with this sender, and a test in the place of the network.
    struct Bench {
        consumer: Consumer,
        sender: Watched<Sender>,
        pool: PacketPool,
        prefix: HashedName,
        now: Time,
    }

    impl Bench {
        fn new(amount: Option<u64>) -> Bench {
            Bench::living(amount, LIFETIME)
        }

        fn living(amount: Option<u64>, lifetime: Span) -> Bench {
            let uri: Name = "/a".parse().unwrap();
            let prefix = HashedName::parse(&HASHER, uri.value()).unwrap();
            let sender = Watched::new(Sender::new(SETTINGS, lifetime));
            let config = ConsumerConfig {
                prefix: prefix.clone(),
                hasher: HASHER,
                class: ServiceClass::Be,
                first: 0,
                amount,
                reorder: REORDER_BOUND,
                source: Source::Elastic,
                lifetime,
                must_be_fresh: false,
                hint: None,
                expected_size: Bytes::new(1100),
                source_jitter: 0.0,
                early_loss: false,
            };
            let control = Box::new(sender.clone());
            let mut consumer = Consumer::new(config, control, Random::named(1, "flow"));
            consumer.start(Time::ZERO);
            Bench { consumer, sender, pool: PacketPool::new(), prefix, now: Time::ZERO }
        }

        /// A sender in congestion avoidance, with the segments 0 to `window` - 1 pending.
        fn steady(window: u64) -> Bench {
            let mut bench = Bench::new(None);
            bench.sender.look().cwnd = window as f64;
            bench.sender.look().ssthresh = 2.0;
            assert_eq!(bench.sent(), (0..window).collect::<Vec<_>>());
            bench
        }

        /// Returns the segments of the Interests that leave now.
        fn sent(&mut self) -> Vec<u64> {
            let mut segments = Vec::new();
            while let Some(id) = self.consumer.poll_send(self.now, &mut self.pool) {
                segments.push(self.pool[id].name.segment().unwrap());
                self.pool.free(id);
            }
            segments
        }

        fn packet(&self, segment: u64, kind: Kind) -> Packet {
            let mut packet = Packet::default();
            packet.kind = kind;
            packet.name.assign_segment(&HASHER, &self.prefix, segment).unwrap();
            (packet.content_len, packet.net_len) = (1024, 1090);
            packet
        }

        /// Delivers the Data of a segment, a millisecond after the last one. Returns what leaves then.
        fn data(&mut self, segment: u64) -> Vec<u64> {
            self.now += MS;
            let data = self.packet(segment, Kind::Data);
            self.consumer.handle_data(self.now, &data);
            self.sent()
        }

        fn each(&mut self, segments: impl IntoIterator<Item = u64>) -> Vec<Vec<u64>> {
            segments.into_iter().map(|segment| self.data(segment)).collect()
        }

        /// Waits until `until`, with no Data. Returns the times at which the consumer acts, and what leaves.
        fn wait(&mut self, until: Time) -> Vec<(Time, Vec<u64>)> {
            let mut sent = Vec::new();
            while self.consumer.next_deadline() <= until {
                self.now = self.now.max(self.consumer.next_deadline());
                self.consumer.handle_deadline(self.now);
                sent.push((self.now, self.sent()));
            }
            self.now = until;
            sent
        }

        fn cwnd(&self) -> f64 {
            self.sender.look().cwnd
        }

        fn ssthresh(&self) -> f64 {
            self.sender.look().ssthresh
        }

        fn is_open(&self) -> bool {
            self.sender.look().phase == Phase::Open
        }
    }

    #[test]
    fn slow_start_adds_a_segment_for_each_ack_and_congestion_avoidance_one_a_window() {
        let mut bench = Bench::new(None);
        assert_eq!(bench.sent(), [0, 1]);
        assert_eq!(bench.each(0..3), [vec![2, 3], vec![4, 5], vec![6, 7]]);
        assert_eq!(bench.cwnd(), 5.0);
        let mut steady = Bench::steady(10);
        steady.each(0..10);
        assert!((steady.cwnd() - 11.0).abs() < 0.05, "{}", steady.cwnd());
    }

    /// RFC 6582, section 3.2, by hand: of the ten segments 0 to 9, two are lost, 0 and 4.
    #[test]
    fn two_losses_of_a_window_are_recovered_one_a_round_trip() {
        let mut bench = Bench::steady(10);
        // Limited transmit: two new segments, and the same cwnd.
        assert_eq!(bench.each([1, 2]), [[10], [11]]);
        assert_eq!((bench.cwnd(), bench.is_open()), (10.0, true));
        // FlightSize without these two is 10.
        assert_eq!(bench.data(3), [0]);
        assert_eq!((bench.ssthresh(), bench.cwnd()), (5.0, 8.0));
        assert_eq!(bench.sender.look().recover, Some(11));
        // Each duplicate inflates cwnd. With 12 outstanding segments, none leaves before cwnd is 13.
        assert_eq!(bench.each([5, 6, 7, 8]), [[0; 0]; 4]);
        assert_eq!(bench.each([9, 10, 11]), [[12], [13], [14]]);
        assert_eq!(bench.cwnd(), 15.0);
        // The partial ACK covers 0 to 3: 15 - 4 + 1, and 4 is retransmitted.
        assert_eq!(bench.data(0), [4, 15]);
        assert_eq!((bench.cwnd(), bench.is_open()), (12.0, false));
        assert_eq!(bench.each([12, 13]), [[16], [17]]);
        // The full ACK covers 4 to 13. 14 to 17 are outstanding.
        assert_eq!(bench.data(4), [18]);
        assert_eq!((bench.cwnd(), bench.ssthresh(), bench.is_open()), (5.0, 5.0, true));
        assert_eq!(bench.consumer.counters().retransmitted, 2);
        assert_eq!(bench.consumer.counters().timeouts, 0);
    }

    #[test]
    fn two_data_out_of_order_are_no_loss_and_a_third_is() {
        let mut bench = Bench::steady(10);
        bench.each([1, 2]);
        bench.data(0);
        assert!(bench.is_open() && bench.cwnd() > 10.0);
        bench.each([4, 5, 6]);
        assert!(!bench.is_open());
    }

    /// Nothing is outstanding when the full ACK comes. cwnd is 2, and slow start leads to ssthresh.
    #[test]
    fn the_full_ack_makes_no_burst_where_little_is_out() {
        let mut bench = Bench::new(Some(10));
        bench.sender.look().cwnd = 10.0;
        bench.sent();
        bench.each(1..10);
        bench.data(0);
        assert_eq!((bench.ssthresh(), bench.cwnd(), bench.is_open()), (5.0, 2.0, true));
    }

    /// RFC 6582, section 3.2, step 2: the segment after `recover` is lost, and all later ones come.
    #[test]
    fn duplicates_that_cover_no_more_than_recover_retransmit_nothing() {
        let mut bench = Bench::steady(10);
        bench.each([1, 2, 3]);
        bench.each(4..10);
        // `recover` is 11; 12 to 14 have left since.
        bench.each([10, 11, 13]);
        assert_eq!(bench.data(0), [17], "it covers up to 11; 12 and 14 to 16 are out");
        assert_eq!((bench.is_open(), bench.sender.look().una), (true, 12));
        let cwnd = bench.cwnd();
        for segment in 14..20 {
            bench.data(segment);
        }
        assert_eq!((bench.is_open(), bench.cwnd()), (true, cwnd));
        let sent = bench.wait(at(3000));
        assert_eq!(sent.iter().find(|(_, sent)| !sent.is_empty()).unwrap().1, [12]);
    }

    #[test]
    fn where_nothing_comes_the_timer_is_over_and_doubles_each_time() {
        let mut bench = Bench::steady(10);
        bench.now = at(100);
        bench.consumer.handle_data(at(100), &bench.packet(0, Kind::Data));
        assert_eq!(bench.sent(), [10]);
        let sent = bench.wait(at(16_000));
        // There is one sample of 100 ms, so the RTO is 1 s. The timer began with the Data.
        assert_eq!(sent, [1100, 3100, 7100, 15_100].map(|ms| (at(ms), vec![1])));
        // FlightSize was 10, and is not computed again.
        assert_eq!((bench.cwnd(), bench.ssthresh()), (1.0, 5.0));
        assert_eq!(bench.consumer.counters().timeouts, 10 + 3);
    }

    /// 0 to 11 are outstanding, the last two by limited transmit. 3 and 4 come; the others are lost.
    #[test]
    fn after_a_timeout_slow_start_asks_for_what_is_missing() {
        let mut bench = Bench::steady(10);
        bench.each([3, 4]);
        assert_eq!(bench.wait(at(1500)), [(at(1000), vec![0])]);
        assert_eq!((bench.cwnd(), bench.ssthresh()), (1.0, 5.0));
        assert_eq!(bench.data(0), [1, 2]);
        // 3 and 4 are not requested again, because the ACK of 2 covers them.
        assert_eq!(bench.each([1, 2]), [vec![5, 6], vec![7, 8]]);
        assert_eq!(bench.cwnd(), 4.0);
        // Three Data behind a gap that `recover` covers are no signal, and permit no new segments.
        assert_eq!(bench.each([6, 7, 8]), [[0; 0]; 3]);
        assert!(bench.is_open());
    }

    /// Segments that came behind a gap during a recovery are no longer in the network when the next recovery
    /// begins. RFC 5681's FlightSize counts them, and ssthresh would grow from one recovery to the next.
    #[test]
    fn what_came_in_an_earlier_recovery_does_not_raise_ssthresh() {
        let mut bench = Bench::steady(10);
        bench.each(1..10);
        // 10 to 14 have left since. 12 is lost. The others come, and so do the segments that they permit.
        bench.each([10, 11]);
        bench.each(13..15);
        assert_eq!(bench.sender.look().recover, Some(11));
        bench.data(0);
        assert_eq!((bench.is_open(), bench.sender.look().una), (true, 12));
        let cwnd = bench.cwnd();
        assert!(cwnd <= 5.0 && bench.sender.look().arrived == 0, "{cwnd}");
    }

    /// RFC 6582, section 4, "Impatient".
    #[test]
    fn only_the_first_partial_ack_restarts_the_timer() {
        let mut bench = Bench::steady(10);
        bench.each([1, 3, 5, 6, 7, 8, 9]);
        assert!(!bench.is_open());
        bench.now = at(300);
        bench.data(0);
        assert_eq!(bench.sender.look().expires, at(1301));
        bench.now = at(600);
        assert_eq!(bench.data(2)[0], 4);
        assert_eq!(bench.sender.look().expires, at(1301));
    }

    #[test]
    fn the_timer_is_no_longer_than_the_lifetime() {
        let mut bench = Bench::living(None, Span::from_millis(1500));
        bench.sent();
        let times: Vec<_> = bench.wait(at(5000)).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times, [1000, 2500, 4000].map(at));
    }

    /// Each ACK restarts the timer, but not the lifetime of an Interest.
    #[test]
    fn an_interest_that_is_older_than_its_lifetime_is_a_timeout() {
        let mut bench = Bench::living(None, Span::from_millis(1200));
        bench.sent();
        bench.now = at(800);
        bench.data(0);
        // 1 left at 0 s; 2 and 3 left with the ACK.
        let sent = bench.wait(at(1300));
        assert_eq!(sent, [(at(1200), vec![1])]);
        assert_eq!(bench.cwnd(), 1.0);
        // The others are late, and belong to the same loss.
        bench.each([2, 3]);
        assert_eq!(bench.data(1).len(), 2);
        assert_eq!(bench.cwnd(), 2.0);
    }

    #[test]
    fn after_a_pause_the_window_is_the_initial_one() {
        let mut bench = Bench::new(Some(8));
        bench.sent();
        bench.each(0..8);
        assert!(bench.cwnd() > 2.0);
        bench.now = at(5000);
        assert!(bench.consumer.set_amount(bench.now, 8));
        let mut pool = PacketPool::new();
        let id = pool.take();
        bench.sender.look().on_send(&mut SendEvent {
            now: bench.now,
            interest: &mut pool[id],
            segment: 8,
            retransmission: false,
            is_permitted: true,
            pending: 0,
            expected_size: Bytes::new(1100),
            random: &mut Random::named(1, "flow"),
        });
        assert_eq!(bench.cwnd(), 2.0);
    }

    #[test]
    fn what_is_not_used_does_not_grow() {
        let mut bench = Bench::steady(4);
        bench.sender.look().cwnd = 20.0;
        bench.sender.look().ssthresh = f64::INFINITY;
        bench.consumer.handle_data(at(1), &bench.packet(0, Kind::Data));
        assert_eq!(bench.cwnd(), 20.0);
    }

    #[test]
    fn a_nack_halves_once_a_window_and_the_segment_is_sent_again() {
        let mut bench = Bench::steady(10);
        bench.data(0);
        for segment in [1, 2] {
            let mut nack = bench.packet(segment, Kind::Interest);
            nack.make_nack(NackReason::Congestion);
            bench.consumer.handle_nack(bench.now, &nack);
        }
        assert_eq!((bench.ssthresh(), bench.cwnd(), bench.is_open()), (5.0, 5.0, false));
        let sent = bench.wait(at(400));
        assert_eq!(sent[0].1, [1]);
        assert_eq!(bench.data(1)[0], 2, "the partial ACK");
    }
}
