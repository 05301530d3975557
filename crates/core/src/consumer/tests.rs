use super::*;
use crate::name::testing::{HASHER, name};
use crate::seam::{FlowDeadline, LossEvent};
use std::sync::{Arc, Mutex};

/// A fixed window that records its events.
#[derive(Default)]
struct Window {
    size: u32,
    longest_wait: Span,
    told: Arc<Mutex<Vec<Event>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Data { segment: u64, rtt: Option<Span>, tag: u32 },
    Timeout(u64),
    Nack(u64),
}

impl FlowControl for Window {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if ev.pending < self.size { Permit::Now } else { Permit::Blocked }
    }
    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        1000 + ev.segment as u32
    }
    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.told.lock().unwrap().push(Event::Data { segment: ev.segment, rtt: ev.rtt, tag: ev.tag });
    }
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.told.lock().unwrap().push(Event::Timeout(ev.segment));
    }
    fn on_nack(&mut self, ev: &mut LossEvent<'_>) {
        self.told.lock().unwrap().push(Event::Nack(ev.segment));
    }
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.longest_wait).min(lifetime)
    }
    fn longest_wait(&self) -> Span {
        self.longest_wait
    }
    fn gauge(&self) -> Gauge {
        Gauge::Window(f64::from(self.size))
    }
}

/// Declares the oldest missing segment lost with each Data of another segment, and all missing ones when its
/// timer expires.
#[derive(Default)]
struct Deciding {
    window: Window,
    timer: Option<Time>,
}

impl FlowControl for Deciding {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        self.window.permit(ev)
    }
    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        assert!(ev.oldest_missing != ev.segment);
        if ev.oldest_missing < ev.segment {
            ev.lost = ev.oldest_missing..ev.oldest_missing + 1;
        }
    }
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.window.on_timeout(ev);
    }
    fn timeout(&self, _rto: Span, lifetime: Span) -> Span {
        lifetime
    }
    fn next_deadline(&self) -> Time {
        self.timer.unwrap_or(Time::NEVER)
    }
    fn on_deadline(&mut self, ev: &mut FlowDeadline) {
        assert_eq!((Some(ev.now), ev.pending), (self.timer.take(), 3));
        ev.lost = 0..u64::MAX;
    }
    fn gauge(&self) -> Gauge {
        self.window.gauge()
    }
}

struct Bench {
    consumer: Consumer,
    pool: PacketPool,
    now: Time,
    told: Arc<Mutex<Vec<Event>>>,
}

impl Bench {
    fn new(window: u32, amount: Option<u64>, source: Source) -> Bench {
        Bench::with(Window { size: window, ..Window::default() }, amount, source)
    }

    fn with(mut control: Window, amount: Option<u64>, source: Source) -> Bench {
        let told = Arc::default();
        control.told = Arc::clone(&told);
        Bench::of(Box::new(control), told, amount, source)
    }

    fn of(
        control: Box<dyn FlowControl>,
        told: Arc<Mutex<Vec<Event>>>,
        amount: Option<u64>,
        source: Source,
    ) -> Bench {
        let config = ConsumerConfig {
            prefix: name("/a"),
            hasher: HASHER,
            class: ServiceClass::Be,
            first: 0,
            amount,
            reorder: REORDER_BOUND,
            source,
            lifetime: Span::from_secs(4),
            must_be_fresh: false,
            hint: None,
            expected_size: Bytes::new(1000),
            source_jitter: 0.0,
            early_loss: false,
        };
        let mut consumer = Consumer::new(config, control, Random::named(1, "flow"));
        consumer.start(Time::ZERO);
        Bench { consumer, pool: PacketPool::new(), now: Time::ZERO, told }
    }

    /// Fifty round trips of 20 ms.
    fn a_second_of_round_trips(&mut self) {
        for turn in 0..50 {
            let sent = self.sent();
            self.now = Time::ZERO + Span::from_millis(20 * (turn + 1));
            sent.into_iter().for_each(|segment| {
                self.data(segment);
            });
        }
    }

    /// The segments of the Interests that leave now.
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
        packet.name.assign_segment(&HASHER, &name("/a"), segment).unwrap();
        packet.content_len = 900;
        packet.net_len = 1000;
        packet
    }

    fn data(&mut self, segment: u64) -> Option<Delivery> {
        let data = self.packet(segment, Kind::Data);
        self.consumer.handle_data(self.now, &data)
    }

    fn nack(&mut self, segment: u64) {
        let nack = self.packet(segment, Kind::Nack);
        self.consumer.handle_nack(self.now, &nack);
    }

    fn at(&mut self, millis: u64) -> Vec<u64> {
        self.now = Time::ZERO + Span::from_millis(millis);
        self.consumer.handle_deadline(self.now);
        self.sent()
    }
}

#[test]
fn segments_are_asked_for_in_order_as_the_window_permits() {
    let mut bench = Bench::new(3, None, Source::Elastic);
    assert_eq!(bench.sent(), [0, 1, 2]);
    assert_eq!(bench.sent(), []);
    bench.data(1);
    assert_eq!(bench.sent(), [3]);
    bench.data(0);
    bench.data(2);
    assert_eq!(bench.sent(), [4, 5]);
    assert_eq!((bench.consumer.pending(), bench.consumer.counters().delivered), (3, 3));
}

#[test]
fn what_the_flow_control_takes_for_lost_is_asked_for_again_and_is_no_timeout() {
    let told = Arc::default();
    let window = Window { size: 3, told: Arc::clone(&told), ..Window::default() };
    let mut bench = Bench::of(Box::new(Deciding { window, timer: None }), told, None, Source::Elastic);
    assert_eq!(bench.sent(), [0, 1, 2]);
    bench.data(1);
    assert_eq!(bench.sent(), [0, 3]);
    assert_eq!((bench.consumer.counters().retransmitted, bench.consumer.counters().timeouts), (1, 0));
    bench.data(0);
    assert_eq!(bench.sent(), [4]);
    assert_eq!(bench.told.lock().unwrap().len(), 0, "no timeout");
}

#[test]
fn a_timer_of_the_flow_control_has_all_that_it_gives_up_time_out() {
    let told = Arc::default();
    let timer = Some(Time::ZERO + Span::from_millis(300));
    let window = Window { size: 3, ..Window::default() };
    let mut bench = Bench::of(Box::new(Deciding { window, timer }), told, None, Source::Elastic);
    bench.sent();
    assert_eq!(Some(bench.consumer.next_deadline()), timer);
    assert_eq!(bench.at(300), [0, 1, 2]);
    assert_eq!((bench.consumer.counters().retransmitted, bench.consumer.counters().timeouts), (3, 3));
    assert_eq!(bench.consumer.next_deadline(), Time::ZERO + Span::from_millis(4300), "their lifetime");
}

#[test]
fn each_interest_has_its_own_nonce_and_the_class_of_the_flow() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    let ids: Vec<_> = core::iter::from_fn(|| bench.consumer.poll_send(Time::ZERO, &mut bench.pool)).collect();
    assert_ne!(bench.pool[ids[0]].nonce, bench.pool[ids[1]].nonce);
    assert_eq!(bench.pool[ids[0]].class(), ServiceClass::Be);
    assert_eq!(bench.pool[ids[0]].lifetime, Span::from_secs(4));
}

#[test]
fn what_timed_out_is_asked_for_first_and_the_smallest_first_of_all() {
    let mut bench = Bench::new(4, None, Source::Elastic);
    bench.sent();
    bench.now = Time::ZERO + Span::from_millis(100);
    bench.data(1);
    assert_eq!(bench.sent(), [4]);
    // RTO is 300 ms after the first sample of 100 ms.
    let due = Time::ZERO + Span::from_millis(300);
    assert_eq!(bench.consumer.next_deadline(), due);
    assert_eq!(bench.at(299), []);
    assert_eq!(bench.at(300), [0, 2, 3]);
    let counters = *bench.consumer.counters();
    assert_eq!((counters.timeouts, counters.retransmitted, counters.sent), (3, 3, 8));
    let told = bench.told.lock().unwrap();
    assert_eq!(told[1..], [Event::Timeout(0), Event::Timeout(2), Event::Timeout(3)]);
}

#[test]
fn what_is_pending_when_others_time_out_keeps_its_own_timeout() {
    let mut bench = Bench::new(4, None, Source::Elastic);
    bench.sent();
    bench.now = Time::ZERO + Span::from_millis(100);
    bench.data(1);
    assert_eq!(bench.sent(), [4]);
    // RTO is 300 ms. It is doubled for Interests sent from now on, and doubled again later.
    assert_eq!(bench.at(300), [0, 2, 3]);
    let due = |bench: &Bench| bench.consumer.next_deadline().since(Time::ZERO).as_millis_f64();
    assert_eq!(due(&bench), 400.0);
    assert_eq!(bench.at(400), [4]);
    assert_eq!(due(&bench), 900.0, "the timeout of 4 did not double it again");
    assert_eq!(bench.at(900), [0, 2, 3]);
    assert_eq!(bench.at(1000), [4]);
    assert_eq!(due(&bench), 2100.0);
    // Data come again.
    bench.now = Time::ZERO + Span::from_millis(1200);
    bench.data(0);
    assert_eq!(bench.sent(), [5]);
    bench.data(5);
    bench.sent();
    // SRTT is 87.5 ms and RTTVAR 62.5 ms, also for Interests sent at 900 ms.
    assert_eq!(due(&bench), 1237.5, "a sample ends it for all that is pending");
}

#[test]
fn an_overtaken_interest_is_lost_after_a_round_trip_where_that_is_wanted() {
    for early_loss in [false, true] {
        let mut bench = Bench::new(4, None, Source::Elastic);
        bench.consumer.config.early_loss = early_loss;
        bench.a_second_of_round_trips();
        let (lost, others) = (200, [201, 202, 203]);
        assert_eq!(bench.at(1000), [lost, others[0], others[1], others[2]]);
        bench.now = Time::ZERO + Span::from_millis(1010);
        others.into_iter().for_each(|segment| {
            bench.data(segment);
        });
        // Both were sent at the same time, so it is not overtaken.
        let due = |bench: &Bench| bench.consumer.timeout_at().since(Time::ZERO).as_millis_f64();
        assert!(due(&bench) >= 1200.0);
        assert_eq!(bench.sent(), [204, 205, 206]);
        bench.now = Time::ZERO + Span::from_millis(1024);
        bench.data(204);
        let due = due(&bench);
        assert_eq!(due < 1060.0, early_loss, "{due}");
        assert_eq!(due >= 1200.0, !early_loss, "{due}");
        let again = bench.at(1060).contains(&lost);
        assert_eq!(again, early_loss);
        assert_eq!(bench.consumer.rtt.rto(), Span::from_millis(200), "RTO is not backed off for it");
    }
}

#[test]
fn what_waits_by_the_schemes_own_doing_is_not_lost_though_it_is_overtaken() {
    let control = Window { size: 4, longest_wait: Span::from_millis(150), ..Window::default() };
    let mut bench = Bench::with(control, None, Source::Elastic);
    bench.consumer.config.early_loss = true;
    bench.a_second_of_round_trips();
    assert_eq!(bench.at(1000), [200, 201, 202, 203]);
    bench.now = Time::ZERO + Span::from_millis(1010);
    [201, 202, 203].into_iter().for_each(|segment| {
        bench.data(segment);
    });
    assert_eq!(bench.sent(), [204, 205, 206]);
    bench.now = Time::ZERO + Span::from_millis(1024);
    bench.data(204);
    assert!(!bench.at(1149).contains(&200));
    assert!(bench.at(1150).contains(&200));
}

/// One second of round trips of 20 ms with a window of 4; then 200 to 203 are sent.
fn on_a_short_path(amount: Option<u64>) -> Bench {
    let mut bench = Bench::new(4, amount, Source::Elastic);
    bench.consumer.config.early_loss = true;
    bench.a_second_of_round_trips();
    assert_eq!(bench.at(1000), [200, 201, 202, 203]);
    assert_eq!(bench.consumer.next_deadline(), Time::ZERO + Span::from_millis(1040), "two round trips");
    bench
}

#[test]
fn where_nothing_comes_a_new_segment_overtakes_what_is_lost() {
    let mut bench = on_a_short_path(None);
    assert_eq!(bench.at(1039), []);
    assert_eq!(bench.at(1040), [204], "the window is full");
    assert_eq!(bench.at(1079), []);
    assert_eq!(bench.consumer.counters().timeouts, 0);
    assert_eq!(bench.at(1120), [205], "twice as long");
    bench.now = Time::ZERO + Span::from_millis(1140);
    bench.data(205);
    assert_eq!(bench.at(1141), [200, 201, 202, 203]);
    assert_eq!((bench.consumer.counters().timeouts, bench.consumer.probes), (5, 0), "204 as well");
    assert!(!bench.consumer.rtt.is_backed_off());
}

#[test]
fn where_no_new_segment_is_wanted_the_oldest_missing_one_is_asked_for_again() {
    let mut bench = on_a_short_path(Some(204));
    assert_eq!(bench.at(1040), [200]);
    assert_eq!(*bench.told.lock().unwrap().last().unwrap(), Event::Timeout(200));
    assert_eq!(bench.consumer.pending(), 4);
    bench.now = Time::ZERO + Span::from_millis(1060);
    bench.data(200);
    assert_eq!(bench.at(1100), [201]);
}

#[test]
fn what_a_probe_has_asked_for_again_is_not_lost_when_its_first_sending_would_be() {
    let mut bench = Bench::new(1, Some(51), Source::Elastic);
    bench.consumer.config.early_loss = true;
    for turn in 0..50 {
        bench.at(60 * turn);
        bench.now = Time::ZERO + Span::from_millis(60 * (turn + 1));
        bench.data(turn);
    }
    assert_eq!(bench.at(3000), [50]);
    assert_eq!(bench.at(3120), [50], "the probe");
    assert_eq!(bench.at(3200), [], "RTO of the first sending");
    assert_eq!((bench.consumer.counters().timeouts, bench.consumer.rtt.is_backed_off()), (1, false));
    bench.now = Time::ZERO + Span::from_millis(3210);
    assert!(bench.data(50).unwrap().complete);
}

#[test]
fn what_is_lost_and_may_not_leave_is_what_probes() {
    let mut bench = on_a_short_path(None);
    // A second loss while the window is full.
    bench.nack(200);
    bench.nack(201);
    bench.consumer.paused_until = Time::ZERO;
    bench.now = Time::ZERO + Span::from_millis(1002);
    let now = bench.now;
    bench.consumer.reconsider(now);
    assert_eq!(bench.sent(), [200, 201]);
    bench.nack(202);
    bench.consumer.paused_until = Time::ZERO + Span::from_millis(1100);
    bench.consumer.send_at = Time::NEVER;
    assert_eq!(
        bench.consumer.next_deadline(),
        Time::ZERO + Span::from_millis(1100),
        "not while it waits after a Nack"
    );
    assert_eq!(bench.at(1100), [202]);
}

#[test]
fn after_a_timeout_there_are_no_probes() {
    let mut bench = on_a_short_path(None);
    let mut sent = Vec::new();
    while bench.consumer.counters().timeouts == 0 {
        let due = bench.consumer.next_deadline();
        sent.extend(bench.at(due.since(Time::ZERO).as_nanos() / 1_000_000));
    }
    assert_eq!(sent, [204, 205, 200, 201], "RTO is 200 ms, and 204 and 205 are pending still");
    let due = bench.consumer.next_deadline().since(Time::ZERO).as_millis_f64();
    assert_eq!(due, 1240.0, "the first probe times out");
    assert_eq!(bench.at(1240), [202]);
    assert_eq!(bench.consumer.probe_at(), Time::NEVER);
}

#[test]
fn what_is_absorbed_on_its_way_is_repeated_after_twice_as_long_each_time_and_holds_up_no_other() {
    let mut bench = on_a_short_path(None);
    let mut sent: Vec<(u64, u64)> = [200, 201, 202, 203].map(|segment| (1000, segment)).to_vec();
    let mut repeated = vec![1000];
    // The Interests for 200 are never answered, nor is the first one for 230.
    for millis in 1001..1700 {
        bench.now = Time::ZERO + Span::from_millis(millis);
        for &(_, segment) in sent.iter().filter(|(at, _)| *at + 20 == millis) {
            let is_lost =
                segment == 200 || segment == 230 && bench.consumer.segments.get(230).unwrap().times_sent < 2;
            if !is_lost {
                bench.data(segment);
            }
        }
        for segment in bench.at(millis) {
            sent.push((millis, segment));
            if segment == 200 {
                repeated.push(millis);
            }
        }
    }
    let waits: Vec<u64> = repeated.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 25 ms have passed, but the Data of a later Interest comes after 40; then 50, 100 and RTO.
    assert_eq!(waits, [40, 40, 50, 100, 200, 200]);
    let again =
        |of: u64| sent.iter().filter(|(_, segment)| *segment == of).map(|(at, _)| *at).collect::<Vec<_>>();
    let [first, second] = again(230)[..] else { panic!("{:?}", again(230)) };
    assert!(second - first <= 40, "{first} {second}");
}

#[test]
fn a_consumer_that_is_stopped_does_not_probe() {
    let mut bench = on_a_short_path(None);
    bench.consumer.stop();
    assert_eq!(bench.at(1150), []);
    assert_eq!(bench.consumer.next_deadline(), Time::ZERO + Span::from_millis(1200));
}

#[test]
fn a_segment_that_was_sent_twice_gives_no_round_trip_time() {
    let mut bench = Bench::new(1, None, Source::Elastic);
    bench.sent();
    assert_eq!(bench.at(1000), [0], "the first RTO is 1 s");
    bench.now = Time::ZERO + Span::from_millis(1010);
    let delivery = bench.data(0).unwrap();
    assert_eq!(delivery.delay, Span::from_millis(1010), "the delay counts from the first sending");
    assert_eq!(bench.consumer.srtt(), None);
    assert_eq!(
        *bench.told.lock().unwrap(),
        [Event::Timeout(0), Event::Data { segment: 0, rtt: None, tag: 1000 }]
    );
    bench.sent();
    bench.now += Span::from_millis(30);
    bench.data(1);
    assert_eq!(bench.consumer.srtt(), Some(Span::from_millis(30)));
    let last = bench.told.lock().unwrap().last().copied();
    assert_eq!(last, Some(Event::Data { segment: 1, rtt: Some(Span::from_millis(30)), tag: 1001 }));
}

#[test]
fn after_a_nack_the_consumer_waits_and_asks_again() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    bench.sent();
    bench.nack(0);
    assert_eq!(bench.sent(), [], "nothing leaves for 100 ms while no round-trip time is known");
    assert_eq!(bench.consumer.next_deadline(), Time::ZERO + PAUSE_AFTER_NACK);
    assert_eq!(bench.at(100), [0]);
    bench.nack(0);
    bench.nack(7);
    assert_eq!(
        *bench.told.lock().unwrap(),
        [Event::Nack(0), Event::Nack(0)],
        "what is not pending is not lost"
    );
    assert_eq!(bench.consumer.counters().nacks, 3);
}

#[test]
fn who_is_refused_again_and_again_asks_after_twice_as_long_each_time_up_to_a_second() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    let mut asked = Vec::new();
    for millis in 0..4000 {
        let segments = bench.at(millis);
        if !segments.is_empty() {
            asked.push(millis);
        }
        // Both Nacks come together.
        segments.into_iter().for_each(|segment| bench.nack(segment));
    }
    assert_eq!(asked, [0, 100, 300, 700, 1500, 2500, 3500]);
    assert_eq!(bench.consumer.refusals, 7);
    assert_eq!(bench.at(4500), [0, 1]);
    bench.now += Span::from_millis(50);
    bench.data(0);
    bench.nack(1);
    assert_eq!(bench.consumer.paused_until, bench.now + PAUSE_AFTER_NACK, "as the first one, after Data");
}

#[test]
fn interests_that_left_together_and_come_back_one_by_one_are_refused_once() {
    let mut bench = Bench::new(20, None, Source::Elastic);
    let sent = bench.sent();
    for (millis, segment) in (0..).step_by(30).zip(sent) {
        bench.now = Time::ZERO + Span::from_millis(millis);
        bench.nack(segment);
    }
    assert_eq!((bench.consumer.refusals, bench.consumer.paused_until), (1, Time::ZERO + PAUSE_AFTER_NACK));
}

#[test]
fn the_last_segment_completes_the_amount_wherever_it_stands() {
    let mut bench = Bench::new(10, Some(3), Source::Elastic);
    assert_eq!(bench.sent(), [0, 1, 2]);
    assert!(!bench.data(2).unwrap().complete);
    assert!(!bench.data(0).unwrap().complete);
    assert!(bench.data(1).unwrap().complete);
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.consumer.next_deadline(), Time::NEVER);
}

#[test]
fn duplicates_are_counted_and_not_delivered() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    bench.sent();
    assert!(bench.data(1).is_some() && bench.data(0).is_some());
    assert_eq!((bench.data(1), bench.data(0), bench.data(50)), (None, None, None));
    assert_eq!(bench.consumer.counters().duplicates, 3);
    let mut foreign = bench.packet(0, Kind::Data);
    foreign.name = name("/a");
    assert_eq!(bench.consumer.handle_data(bench.now, &foreign), None);
}

#[test]
fn data_for_a_lost_segment_is_taken_and_not_asked_for_again() {
    let mut bench = Bench::new(1, Some(2), Source::Elastic);
    bench.sent();
    bench.now = Time::ZERO + Span::from_millis(1000);
    bench.consumer.handle_deadline(bench.now);
    assert!(bench.data(0).is_some());
    assert_eq!(bench.sent(), [1]);
    assert_eq!(bench.consumer.counters().retransmitted, 0);
}

#[test]
fn of_several_lost_segments_those_found_late_are_not_asked_for_again_wherever_they_stand() {
    let mut bench = Bench::new(5, Some(5), Source::Elastic);
    bench.sent();
    bench.now = Time::ZERO + Span::from_millis(1000);
    bench.consumer.handle_deadline(bench.now);
    for segment in [1, 0, 3] {
        assert!(bench.data(segment).is_some());
    }
    assert_eq!(bench.sent(), [2, 4]);
    assert!(bench.data(2).is_some());
    assert!(bench.data(4).unwrap().complete);
    assert_eq!((bench.sent(), bench.consumer.next_deadline()), (vec![], Time::NEVER));
}

/// Runs a consumer whose Data comes 20 ms after its Interest. Returns how many Interests left.
fn run(bench: &mut Bench, seconds: u64) -> u64 {
    let end = Time::ZERO + Span::from_secs(seconds);
    let mut under_way: VecDeque<(Time, u64)> = VecDeque::new();
    loop {
        for segment in bench.sent() {
            under_way.push_back((bench.now + Span::from_millis(20), segment));
        }
        let arrival = under_way.front().map_or(Time::NEVER, |first| first.0);
        bench.now = arrival.min(bench.consumer.next_deadline());
        if bench.now >= end {
            return bench.consumer.counters().sent;
        }
        if arrival <= bench.now {
            let (_, segment) = under_way.pop_front().unwrap();
            bench.data(segment);
        } else {
            bench.consumer.handle_deadline(bench.now);
        }
    }
}

#[test]
fn a_limited_source_sends_exactly_its_rate() {
    // 1000 bytes at 1 Mb/s are one Interest every 8 ms.
    let mut bench = Bench::new(100, None, Source::Limited(Rate::from_mbps(1)));
    assert_eq!(run(&mut bench, 10), 1250);
    // A window of one permits one Interest every 20 ms.
    let mut bench = Bench::new(1, None, Source::Limited(Rate::from_mbps(1)));
    assert_eq!(run(&mut bench, 10), 500);
}

#[test]
fn an_unresponsive_source_sends_what_it_wants_whatever_its_flow_control_says() {
    let mut bench = Bench::new(0, None, Source::Unresponsive(Rate::from_mbps(1)));
    assert_eq!(run(&mut bench, 10), 1250);
    let mut blocked = Bench::new(0, None, Source::Elastic);
    assert_eq!(run(&mut blocked, 10), 0);
}

#[test]
fn a_source_that_turns_greedy_sends_at_its_new_rate_at_once() {
    let mut bench = Bench::new(1, None, Source::Elastic);
    assert_eq!(bench.sent(), [0]);
    bench.now = Time::ZERO + Span::from_millis(9);
    bench.consumer.set_source(bench.now, Source::Unresponsive(Rate::from_mbps(1)));
    assert_eq!(bench.sent(), [1]);
    assert_eq!(bench.consumer.next_deadline(), Time::ZERO + Span::from_millis(17));
}

#[test]
fn a_stopped_consumer_takes_what_comes_and_goes_on_where_it_was() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    bench.sent();
    bench.consumer.stop();
    assert!(bench.data(0).is_some());
    assert_eq!(bench.sent(), []);
    bench.now = Time::ZERO + Span::from_secs(9);
    bench.consumer.handle_deadline(bench.now);
    assert_eq!(bench.sent(), [], "the timeout of a stopped consumer sends nothing");
    bench.consumer.start(bench.now);
    assert_eq!(bench.sent(), [1, 2]);
}

#[test]
fn the_newest_segment_is_not_too_far_ahead_of_the_oldest_missing_one() {
    let mut bench = Bench::new(u32::MAX, None, Source::Elastic);
    assert_eq!(bench.sent().len() as u64, REORDER_BOUND);
    for segment in 1..100 {
        bench.data(segment);
    }
    assert_eq!(bench.sent(), []);
    bench.data(0);
    assert_eq!(bench.sent().len(), 100);
}

#[test]
fn the_expected_size_follows_what_comes() {
    let mut bench = Bench::new(1, None, Source::Elastic);
    for segment in 0..200 {
        bench.sent();
        let mut data = bench.packet(segment, Kind::Data);
        data.net_len = 5000;
        bench.consumer.handle_data(bench.now, &data);
    }
    let expected = bench.consumer.config.expected_size.as_u64();
    assert!((4990..=5000).contains(&expected), "{expected}");
}

#[test]
fn a_source_that_does_not_know_its_data_asks_for_one_until_it_does() {
    for source in [Source::Limited(Rate::from_mbps(1)), Source::Unresponsive(Rate::from_mbps(1))] {
        let mut bench = Bench::new(100, None, source);
        bench.consumer.config.expected_size = Bytes::ZERO;
        bench.consumer.size_256 = 0;
        assert_eq!((bench.sent(), bench.sent()), (vec![0], vec![]));
        let data = bench.packet(0, Kind::Data);
        bench.consumer.handle_data(bench.now, &data).unwrap();
        assert!(bench.consumer.next_deadline() < Time::NEVER);
        bench.now = bench.consumer.next_deadline();
        assert_eq!(bench.sent(), [1]);
    }
}

#[test]
fn an_end_that_becomes_known_ends_the_flow_there() {
    let mut bench = Bench::new(8, None, Source::Elastic);
    assert_eq!(bench.sent(), [0, 1, 2, 3, 4, 5, 6, 7]);
    bench.nack(6);
    bench.nack(2);
    bench.data(3);
    assert!(!bench.consumer.set_amount(bench.now, 4));
    assert_eq!(bench.consumer.pending(), 2, "0 and 1; 2 is lost, 3 came, the others are not wanted");
    assert_eq!(bench.at(200), [0, 1, 2], "0 and 1 have timed out");
    assert_eq!(bench.data(5), None);
    bench.data(0);
    bench.data(1);
    assert_eq!(bench.consumer.oldest_missing(), Some((2, Time::ZERO)));
    assert!(bench.data(2).unwrap().complete);
    assert_eq!((bench.sent(), bench.consumer.pending()), (vec![], 0));
    assert_eq!(bench.consumer.oldest_missing(), None);
}

#[test]
fn an_end_before_what_has_come_is_the_end() {
    let mut bench = Bench::new(2, None, Source::Elastic);
    bench.sent();
    bench.data(0);
    assert_eq!(bench.sent(), [2]);
    assert!(bench.consumer.set_amount(bench.now, 1));
    assert_eq!((bench.consumer.pending(), bench.consumer.next_deadline()), (0, Time::NEVER));
}

#[test]
fn it_begins_where_it_is_told_and_goes_no_further_ahead() {
    let mut bench = Bench::new(100, Some(50), Source::Elastic);
    bench.consumer.config.first = 40;
    bench.consumer.segments = Segments::new(40);
    bench.consumer.config.reorder = 3;
    assert_eq!(bench.sent(), [40, 41, 42]);
    bench.data(41);
    assert_eq!(bench.sent(), []);
    bench.data(40);
    assert_eq!(bench.sent(), [43, 44]);
}
