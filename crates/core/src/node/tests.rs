use super::testing::Told;
use super::*;
use crate::ids::GroupId;
use crate::ids::NO_PREFIX;
use crate::ids::PrefixId;
use crate::name::testing::{HASHER, name};
use crate::seam::{
    Answer, Backlog, BestRoute, ClearEvent, DataEvent, DataOutEvent, Decision, DequeueEvent, DropTail,
    Dropped, EnqueueEvent, ExpiredEvent, InterestEvent, NackEvent, Next, Queue, QueueLimit, Strategy,
    StrategyDeadline,
};
use crate::tables::flow_prefix::FlowPrefix;
use crate::tables::simulated_cache::SimulatedCache;
use crate::units::Rate;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use weir_packet::{LpHeader, NackReason, PitToken, ServiceClass, Signal};

/// A header field of some scheme.
const FEEDBACK: Signal = Signal::new(908, "Feedback", 64, "a number");

/// A node with an application and four neighbours, whose links take no time.
struct Bench {
    node: Node,
    pool: PacketPool,
    now: Time,
    application: FaceId,
    neighbours: [FaceId; 4],
}

/// An action that an input caused, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Interest(FaceId),
    Data(FaceId),
    Nack(FaceId, NackReason),
    Dropped(DropReason),
}

fn tail(packets: u32) -> Box<dyn Queue> {
    Box::new(DropTail::new(QueueLimit::Packets(packets)))
}

fn config(strategy: Box<dyn Strategy>) -> NodeConfig {
    NodeConfig::new(strategy, HASHER, Random::named(1, "node"))
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Box::new(BestRoute::default()), &TableLimits::default(), || tail(100))
    }

    fn with(strategy: Box<dyn Strategy>, limits: &TableLimits, queue: impl Fn() -> Box<dyn Queue>) -> Bench {
        Bench::made(NodeConfig { limits: limits.clone(), ..config(strategy) }, queue)
    }

    /// The default node, with a changed configuration.
    fn but(change: impl FnOnce(&mut NodeConfig)) -> Bench {
        let mut config = config(Box::new(BestRoute::default()));
        change(&mut config);
        Bench::made(config, || tail(100))
    }

    fn made(config: NodeConfig, queue: impl Fn() -> Box<dyn Queue>) -> Bench {
        let mut node = Node::new(config);
        let application = node.add_application(Time::ZERO);
        let neighbours =
            [(); 4].map(|()| node.add_link(Time::ZERO, Link::new(queue(), None, Random::named(1, "face"))));
        Bench { node, pool: PacketPool::new(), now: Time::from_nanos(5_000_000_000), application, neighbours }
    }

    /// Routes `/a` to the neighbours 2 and 3, the cheaper first.
    fn routed(mut self) -> Bench {
        for (cost, neighbour) in [(1, 2), (2, 3)] {
            self.node.add_route(&name("/a"), self.neighbours[neighbour], cost);
        }
        self
    }

    fn cached(mut self) -> Bench {
        self.node.set_content_store_limits(10, 1 << 20, &mut self.pool);
        self
    }

    fn later(&mut self, millis: u64) {
        self.now += Span::from_millis(millis);
    }

    fn packet(&mut self, kind: Kind, uri: &str, nonce: u32) -> PacketId {
        let id = self.pool.take();
        let packet = &mut self.pool[id];
        packet.kind = kind;
        packet.name = name(uri);
        packet.nonce = nonce;
        packet.lifetime = Span::from_secs(4);
        packet.net_len = 50;
        id
    }

    fn input(&mut self, input: Input) -> Vec<(Seen, PacketId)> {
        let mut actions = Vec::new();
        self.node.handle(self.now, input, &mut self.pool, &mut actions);
        let seen = |action| match action {
            Action::Drop { packet, reason, .. } => (Seen::Dropped(reason), packet),
            Action::Transmit { face, packet, .. } | Action::Deliver { face, packet } => {
                let seen = match self.pool[packet].kind {
                    Kind::Interest => Seen::Interest(face),
                    Kind::Data => Seen::Data(face),
                    Kind::Nack => Seen::Nack(face, self.pool[packet].header().nack().unwrap()),
                };
                (seen, packet)
            }
        };
        actions.into_iter().map(seen).collect()
    }

    fn give(&mut self, face: FaceId, packet: PacketId) -> Vec<(Seen, PacketId)> {
        self.input(Input::Packet { face, packet })
    }

    fn lasting(&mut self, face: FaceId, uri: &str, nonce: u32, lifetime: Span) -> Vec<Seen> {
        let packet = self.packet(Kind::Interest, uri, nonce);
        self.pool[packet].lifetime = lifetime;
        only_seen(self.give(face, packet))
    }

    fn interest(&mut self, face: FaceId, uri: &str, nonce: u32) -> Vec<Seen> {
        let packet = self.packet(Kind::Interest, uri, nonce);
        only_seen(self.give(face, packet))
    }

    fn data(&mut self, face: FaceId, uri: &str) -> Vec<Seen> {
        let packet = self.packet(Kind::Data, uri, 0);
        only_seen(self.give(face, packet))
    }

    fn nack(&mut self, face: FaceId, uri: &str, nonce: u32, reason: NackReason) -> Vec<Seen> {
        let packet = self.packet(Kind::Nack, uri, nonce);
        self.pool[packet].header_mut().set_nack(Some(reason));
        only_seen(self.give(face, packet))
    }

    fn entry(&self) -> &crate::tables::pit::PitEntry {
        self.node.pit().iter().next().expect("an Interest is pending").1
    }
}

fn only_seen(actions: Vec<(Seen, PacketId)>) -> Vec<Seen> {
    actions.into_iter().map(|(seen, _)| seen).collect()
}

#[test]
fn two_downstreams_ask_once_upstream_and_both_get_the_data() {
    let mut bench = Bench::new().routed();
    let [first, second, up, _] = bench.neighbours;
    assert_eq!(bench.interest(first, "/a/1", 1), [Seen::Interest(up)]);
    assert_eq!(bench.interest(second, "/a/1", 2), []);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(first), Seen::Data(second)]);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.data(up, "/a/1"), [Seen::Dropped(DropReason::Unsolicited)]);
}

/// As in NFD: 10 ms after the last transmission, then 20 ms, from any downstream. This holds for the node's
/// suppression and for the strategy's.
#[test]
fn who_wants_it_sends_interests_for_a_pending_one_on_again() {
    let mut bench = Bench::but(|config| config.reforward_after = Span::from_millis(10)).routed();
    let [first, second, up, other] = bench.neighbours;
    assert_eq!(bench.interest(first, "/a/1", 1), [Seen::Interest(up)]);
    bench.later(9);
    assert_eq!(bench.interest(second, "/a/1", 2), [], "too soon");
    bench.later(1);
    assert_eq!(bench.interest(second, "/a/1", 3), [Seen::Interest(other)], "best route tries another");
    bench.later(19);
    assert_eq!(bench.interest(first, "/a/1", 4), [], "of the same downstream too");
    bench.later(1);
    assert_eq!(bench.interest(first, "/a/1", 5), [Seen::Interest(up)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(first), Seen::Data(second)]);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Dropped(DropReason::Unsolicited)]);
}

#[test]
fn interests_are_sent_on_again_after_a_quarter_of_a_second_at_most() {
    let mut bench = Bench::but(|config| config.reforward_after = Span::from_millis(10)).routed();
    let [first, second, ..] = bench.neighbours;
    let mut waited = Vec::new();
    bench.interest(first, "/a/1", 0);
    for nonce in 1..9 {
        let mut millis = 0;
        while bench.interest(second, "/a/1", nonce).is_empty() {
            bench.later(10);
            millis += 10;
        }
        waited.push(millis);
    }
    assert_eq!(waited, [10, 20, 40, 80, 160, 250, 250, 250]);
}

#[test]
fn the_answer_says_to_the_strategy_who_was_aggregated() {
    #[derive(Default)]
    struct Watch(Arc<Mutex<Vec<Answer>>>);
    impl Strategy for Watch {
        fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
            Decision::Forward(ev.next_hops[0].face)
        }
        fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
            self.0.lock().unwrap().push(ev.answer);
        }
    }
    let seen = Arc::default();
    let watch = Watch(Arc::clone(&seen));
    let mut bench = Bench::with(Box::new(watch), &TableLimits::default(), || tail(10)).routed().cached();
    let [first, second, up, _] = bench.neighbours;
    bench.interest(first, "/a/1", 1);
    bench.interest(second, "/a/1", 2);
    bench.data(up, "/a/1");
    bench.interest(first, "/a/1", 3);
    assert_eq!(*seen.lock().unwrap(), [Answer::Forwarded, Answer::Aggregated, Answer::Cached(Span::ZERO)]);
}

#[test]
fn a_simulated_cache_answers_as_the_content_store_does() {
    #[derive(Default)]
    struct Watch(Arc<Mutex<Vec<String>>>);
    impl Strategy for Watch {
        fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
            self.0.lock().unwrap().push("forwarded".to_owned());
            Decision::Forward(ev.next_hops[0].face)
        }
        fn on_cached(&mut self, ev: &mut crate::seam::CachedEvent<'_>) {
            self.0.lock().unwrap().push(format!("cached, class {}", ev.interest.flow.class.name()));
        }
        fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
            self.0.lock().unwrap().push(format!("{:?}, {} B", ev.answer, ev.data.content_len));
        }
    }
    let seen = Arc::default();
    let watch = Watch(Arc::clone(&seen));
    let mut cache = SimulatedCache::new(1.0, &mut Random::named(1, "cache"));
    cache.add(
        &name("/a"),
        crate::producer::Producer {
            payload: crate::units::Bytes::new(700),
            freshness: Span::from_secs(3),
            signature: 32,
        },
    );
    let config = NodeConfig { simulated_cache: Some(cache), ..config(Box::new(watch)) };
    let mut bench = Bench::made(config, || tail(10)).routed();
    let [down, _, up, _] = bench.neighbours;

    let interest = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[interest].header_mut().pit_token = PitToken::new(&[7; 4]).unwrap();
    bench.pool[interest].header_mut().signals.set(&FEEDBACK, 9);
    let answers = bench.give(down, interest);
    let [(Seen::Data(to), data)] = answers[..] else { panic!("{answers:?}") };
    assert_eq!(to, down);
    let data = &bench.pool[data];
    assert_eq!((data.content_len, data.freshness), (700, Span::from_secs(3)));
    assert_eq!(data.header().pit_token.bytes(), [7; 4]);
    assert_eq!(data.header().signals.value(&FEEDBACK), None, "signals belong to one hop");
    assert_eq!(*seen.lock().unwrap(), ["cached, class BE", "Cached(Span(5000000000)), 700 B"]);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.pool.in_use(), 1, "the Data alone");

    bench.node.set_cache_ratio(0.0);
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Interest(up)]);
}

#[test]
fn a_nonce_that_comes_back_by_another_face_is_a_loop() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 7);
    assert_eq!(bench.interest(other, "/a/1", 7), [Seen::Nack(other, NackReason::Duplicate)]);
    assert_eq!(bench.interest(up, "/a/1", 7), [Seen::Nack(up, NackReason::Duplicate)]);
    assert_eq!(bench.interest(bench.application, "/a/1", 7), [Seen::Dropped(DropReason::Loop)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)], "the loop leaves the entry alone");
}

#[test]
fn a_retransmission_of_another_downstream_that_comes_back_is_a_loop() {
    let mut bench = Bench::new().routed();
    let [down, second, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.interest(second, "/a/1", 2);
    bench.later(150);
    assert_eq!(bench.interest(down, "/a/1", 3), [Seen::Interest(other)]);
    bench.later(150);
    assert_eq!(bench.interest(down, "/a/1", 4), [Seen::Interest(up)]);
    let duplicate = [Seen::Nack(second, NackReason::Duplicate)];
    assert_eq!(bench.interest(second, "/a/1", 3), duplicate, "sent to the other next hop");
    assert_eq!(bench.interest(second, "/a/1", 1), duplicate, "sent before");
    assert_eq!(bench.interest(down, "/a/1", 4), [], "a neighbour may repeat itself");
}

#[test]
fn a_copy_that_comes_back_after_the_answer_or_the_nacks_is_a_loop() {
    let bench = || Bench::with(Box::new(Everywhere), &TableLimits::default(), || tail(9)).routed();
    let [down, second, up, other] = bench().neighbours;
    let duplicate = [Seen::Nack(second, NackReason::Duplicate)];

    let mut answered = bench();
    answered.interest(down, "/a/1", 1);
    answered.data(up, "/a/1");
    assert_eq!(answered.interest(second, "/a/1", 1), duplicate);

    let mut rejected = bench();
    rejected.interest(down, "/a/1", 1);
    rejected.nack(up, "/a/1", 1, NackReason::NoRoute);
    assert_eq!(rejected.nack(other, "/a/1", 1, NackReason::NoRoute).len(), 1);
    assert_eq!(rejected.interest(second, "/a/1", 1), duplicate);

    let mut stored = bench().cached();
    stored.interest(down, "/a/1", 1);
    stored.data(up, "/a/1");
    assert_eq!(stored.interest(second, "/a/1", 1), [Seen::Data(second)], "the store ends the loop");
}

#[test]
fn the_nonce_of_an_interest_that_its_only_next_hop_answered_is_not_remembered() {
    let mut bench = Bench::new().routed();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.data(up, "/a/1");
    assert!(bench.node.dead_nonces.is_empty());
}

#[test]
fn a_nonce_that_comes_back_after_its_entry_expired_is_a_loop() {
    let mut bench = Bench::new().routed();
    let [down, other, ..] = bench.neighbours;
    bench.interest(down, "/a/1", 7);
    bench.later(4_002);
    assert_eq!(bench.input(Input::Deadline), []);
    assert_eq!(bench.interest(other, "/a/1", 7), [Seen::Nack(other, NackReason::Duplicate)]);
    assert_eq!(bench.interest(other, "/a/2", 7).len(), 1, "the nonce is dead for its name only");
}

#[test]
fn a_retransmission_is_absorbed_for_100_ms_and_then_sent_by_the_untried_next_hop() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    bench.later(99);
    assert_eq!(bench.interest(down, "/a/1", 2), []);
    bench.later(1);
    assert_eq!(bench.interest(down, "/a/1", 3), [Seen::Interest(other)]);
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/1", 4), [Seen::Interest(up)], "then the one tried longest ago");
    let entry = bench.entry();
    assert_eq!(entry.in_records.len(), 1);
    assert!(entry.in_records[0].retransmission);
    assert_eq!(entry.out_records.iter().map(|r| r.times_sent).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn an_entry_expires_with_its_lifetime_and_late_data_is_unsolicited() {
    let mut bench = Bench::new().routed();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let deadline = bench.node.next_deadline();
    assert!(deadline >= bench.now + Span::from_secs(4));
    assert!(deadline <= bench.now + Span::from_millis(4_002));
    bench.now = deadline;
    assert_eq!(bench.input(Input::Deadline), []);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.node.next_deadline(), Time::NEVER);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Dropped(DropReason::OutOfLifetime)]);
}

#[test]
fn the_node_never_asks_to_be_called_in_the_past() {
    let mut bench = Bench::new().routed();
    let down = bench.neighbours[0];
    bench.lasting(down, "/a/1", 1, Span::from_secs(4));
    bench.later(3_000);
    // More than a round of the timing wheel after the first one, so in a past slot.
    bench.lasting(down, "/a/2", 2, Span::from_secs(2));
    bench.lasting(down, "/a/3", 3, Span::from_millis(500));
    assert!(bench.node.next_deadline() >= bench.now, "{}", bench.node.next_deadline());
    bench.input(Input::Deadline);
    assert!(bench.node.next_deadline() >= bench.now + Span::from_millis(500));
}

#[test]
fn a_downstream_whose_lifetime_is_over_gets_nothing_though_another_still_waits() {
    let mut bench = Bench::new().routed();
    let [short, long, up, _] = bench.neighbours;
    let packet = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[packet].lifetime = Span::from_millis(50);
    bench.give(short, packet);
    bench.interest(long, "/a/1", 2);
    bench.later(51);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(long)]);
}

#[test]
fn a_newcomer_does_not_wait_for_what_upstream_has_forgotten() {
    let mut bench = Bench::new().routed();
    let [first, second, up, third] = bench.neighbours;
    bench.lasting(first, "/a/1", 1, Span::from_millis(100));
    bench.later(50);
    assert_eq!(bench.interest(second, "/a/1", 2), [], "aggregated");
    bench.later(1_000);
    assert_eq!(bench.interest(third, "/a/1", 3), [Seen::Interest(up)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(second), Seen::Data(third)]);
}

#[test]
fn what_left_by_a_face_that_is_down_is_not_waited_for() {
    let mut bench = Bench::new().routed();
    let [first, second, up, other] = bench.neighbours;
    bench.interest(first, "/a/1", 1);
    bench.interest(first, "/a/2", 2);
    bench.input(Input::FaceDown(up));
    assert_eq!(bench.interest(second, "/a/1", 3), [Seen::Interest(other)], "another asks");
    bench.later(50);
    assert_eq!(bench.interest(first, "/a/2", 4), [Seen::Interest(other)], "the same asks again");
}

#[test]
fn what_is_asked_for_again_after_a_round_trip_is_sent_again() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    // Unknown round-trip time: a tenth of a second.
    bench.interest(down, "/a/0", 1);
    bench.later(99);
    assert_eq!(bench.interest(down, "/a/0", 2), []);
    bench.later(1);
    assert_eq!(bench.interest(down, "/a/0", 3), [Seen::Interest(other)]);
    // 20 ms.
    bench.interest(down, "/a/1", 4);
    bench.later(20);
    bench.data(up, "/a/1");
    bench.interest(down, "/a/2", 5);
    bench.later(19);
    assert_eq!(bench.interest(down, "/a/2", 6), [], "its Data may be on their way");
    bench.later(1);
    assert_eq!(bench.interest(down, "/a/2", 7), [Seen::Interest(other)]);
    bench.later(19);
    assert_eq!(bench.interest(down, "/a/2", 8), [], "since the last sending");
    // A second: at most a tenth of it.
    for segment in 10..60 {
        let uri = format!("/a/{segment}");
        bench.interest(down, &uri, segment);
        bench.later(1000);
        bench.data(up, &uri);
    }
    bench.interest(down, "/a/3", 9);
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/3", 10), [Seen::Interest(other)]);
}

/// Sends to the first next hop, and records the round-trip times of Data.
#[derive(Default)]
struct Watch(Arc<Mutex<Vec<Option<Span>>>>);

impl Strategy for Watch {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        Decision::Forward(ev.next_hops[0].face)
    }
    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.0.lock().unwrap().push(ev.rtt);
    }
}

type RoundTrips = Arc<Mutex<Vec<Option<Span>>>>;

fn watching() -> (Bench, RoundTrips) {
    let seen = RoundTrips::default();
    let watch = Watch(Arc::clone(&seen));
    (Bench::with(Box::new(watch), &TableLimits::default(), || tail(10)).routed(), seen)
}

#[test]
fn a_round_trip_is_measured_only_if_the_interest_was_sent_once() {
    let (mut bench, seen) = watching();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.later(20);
    bench.data(up, "/a/1");
    bench.interest(down, "/a/2", 2);
    bench.later(20);
    bench.interest(down, "/a/2", 3);
    bench.later(5);
    bench.data(up, "/a/2");
    assert_eq!(*seen.lock().unwrap(), [Some(Span::from_millis(20)), None]);
}

/// Sends an Interest. Returns the token with which it was forwarded.
fn sent_with(bench: &mut Bench, uri: &str, nonce: u32, can_be_prefix: bool, lifetime: Span) -> PitToken {
    let packet = bench.packet(Kind::Interest, uri, nonce);
    (bench.pool[packet].can_be_prefix, bench.pool[packet].lifetime) = (can_be_prefix, lifetime);
    let seen = bench.give(bench.neighbours[0], packet);
    bench.pool[seen[0].1].header().pit_token
}

fn answered_with(bench: &mut Bench, uri: &str, token: PitToken) {
    let packet = bench.packet(Kind::Data, uri, 0);
    bench.pool[packet].header_mut().pit_token = token;
    bench.give(bench.neighbours[2], packet);
}

#[test]
fn what_answers_an_interest_that_has_expired_is_no_round_trip_of_the_one_after_it() {
    let (mut bench, seen) = watching();
    let earlier = sent_with(&mut bench, "/a/1", 1, false, Span::from_millis(10));
    bench.later(50);
    bench.input(Input::Deadline);
    assert!(bench.node.pit().is_empty());
    sent_with(&mut bench, "/a/1", 2, false, Span::from_secs(4));
    bench.later(1);
    answered_with(&mut bench, "/a/1", earlier);
    assert_eq!(*seen.lock().unwrap(), [None]);
}

#[test]
fn of_two_interests_that_a_data_satisfies_the_one_that_it_answers_is_measured() {
    for (by, round_trips) in [(0, [None, Some(21)]), (1, [Some(1), None]), (2, [None, None])] {
        let (mut bench, seen) = watching();
        let prefix = sent_with(&mut bench, "/a", 1, true, Span::from_secs(4));
        bench.later(20);
        let exact = sent_with(&mut bench, "/a/1", 2, false, Span::from_secs(4));
        bench.later(1);
        answered_with(&mut bench, "/a/1", [prefix, exact, PitToken::NONE][by]);
        assert_eq!(
            *seen.lock().unwrap(),
            round_trips.map(|ms| ms.map(Span::from_millis)),
            "longest name first"
        );
    }
}

#[test]
fn an_interest_without_end_does_not_stay_for_ever() {
    let mut bench = Bench::new().routed();
    let packet = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[packet].lifetime = Span::MAX;
    bench.give(bench.neighbours[0], packet);
    for _ in 0..10_000 {
        match bench.node.next_deadline() {
            Time::NEVER => break,
            at => bench.now = at,
        }
        bench.input(Input::Deadline);
    }
    assert!(bench.node.pit().is_empty());
}

#[test]
fn the_hop_limit_is_lowered_and_zero_leaves_the_node_only_to_an_application() {
    let mut bench = Bench::new().routed();
    let application = bench.application;
    bench.node.add_route(&name("/here"), application, 0);
    let [down, _, up, _] = bench.neighbours;
    let mut ask = |uri, limit: u8| {
        let packet = bench.packet(Kind::Interest, uri, limit.into());
        bench.pool[packet].hop_limit = Some(limit);
        let seen = bench.give(down, packet);
        let left = bench.pool[seen[0].1].hop_limit;
        (seen[0].0.clone(), left)
    };
    assert_eq!(ask("/a/1", 2), (Seen::Interest(up), Some(1)));
    assert_eq!(ask("/a/2", 1).0, Seen::Dropped(DropReason::HopLimit));
    assert_eq!(ask("/a/3", 0).0, Seen::Dropped(DropReason::HopLimit));
    assert_eq!(ask("/here/1", 1), (Seen::Interest(application), Some(0)));
}

#[test]
fn without_a_route_the_interest_comes_back_at_once_with_its_nonce_and_token() {
    let mut bench = Bench::new().routed();
    let down = bench.neighbours[0];
    let packet = bench.packet(Kind::Interest, "/nowhere/1", 9);
    let token = PitToken::new(b"mine").unwrap();
    bench.pool[packet].header_mut().pit_token = token;
    let seen = bench.give(down, packet);
    assert_eq!(seen[0].0, Seen::Nack(down, NackReason::NoRoute));
    let nack = &bench.pool[seen[0].1];
    assert_eq!((nack.nonce, nack.header().pit_token), (9, token));
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.pool.in_use(), 1);
}

#[test]
fn an_interest_does_not_go_back_to_where_it_came_from() {
    let mut bench = Bench::new().routed();
    let [_, _, up, other] = bench.neighbours;
    assert_eq!(bench.interest(up, "/a/1", 1), [Seen::Interest(other)]);
}

#[test]
fn an_application_may_choose_the_next_hop_itself() {
    let mut bench = Bench::new().routed();
    let [other, _, _, dearer] = bench.neighbours;
    let (application, mut nonce) = (bench.application, 0);
    let mut ask = |bench: &mut Bench, uri, face| {
        nonce += 1;
        let packet = bench.packet(Kind::Interest, uri, nonce);
        bench.pool[packet].header_mut().set_next_hop_face_id(Some(face));
        only_seen(bench.give(application, packet))
    };
    assert_eq!(ask(&mut bench, "/a/1", u64::from(dearer.0)), [Seen::Interest(dearer)]);
    assert_eq!(ask(&mut bench, "/a/1", u64::from(other.0)), [Seen::Interest(other)], "a route or none");
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(application)]);
    let nowhere = [Seen::Nack(application, NackReason::NoRoute)];
    assert_eq!(ask(&mut bench, "/a/2", u64::MAX), nowhere);
    bench.node.add_route(&name("/localhost"), application, 1);
    assert_eq!(
        ask(&mut bench, "/localhost/a", u64::from(other.0)),
        nowhere,
        "nothing of this host leaves it"
    );
    bench.node.remove_face(bench.now, other, &mut bench.pool, &mut Vec::new());
    assert_eq!(ask(&mut bench, "/a/3", u64::from(other.0)), nowhere);
}

#[test]
fn what_is_for_this_host_or_one_hop_is_not_kept() {
    let mut bench = Bench::new().cached();
    let answering = bench.node.add_application(Time::ZERO);
    for (scope, asking) in [("/localhost", bench.application), ("/localhop", bench.neighbours[0])] {
        bench.node.add_route(&name(scope), answering, 1);
        let command = format!("{scope}/command");
        for nonce in 1..3 {
            assert_eq!(bench.interest(asking, &command, nonce), [Seen::Interest(answering)]);
            assert_eq!(bench.data(answering, &command), [Seen::Data(asking)]);
        }
    }
}

#[test]
fn after_a_nack_the_next_hop_is_tried_and_after_the_last_one_the_nack_is_passed_on() {
    let mut bench = Bench::new().routed();
    let [down, second, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.interest(second, "/a/1", 2);
    assert_eq!(bench.nack(up, "/a/1", 1, NackReason::Congestion), [Seen::Interest(other)]);
    assert_eq!(
        bench.nack(up, "/a/1", 1, NackReason::Congestion),
        [],
        "while another next hop is pending a Nack is only noted"
    );
    assert_eq!(
        bench.nack(other, "/a/1", 1, NackReason::NoRoute),
        [Seen::Nack(down, NackReason::Congestion), Seen::Nack(second, NackReason::Congestion)],
        "the least severe reason"
    );
    assert!(bench.node.pit().is_empty());
}

#[test]
fn the_least_severe_reason_is_passed_on() {
    use NackReason::{Congestion, NoRoute, Other};
    let reasons = [
        (Congestion, NoRoute, Congestion),
        (NoRoute, Congestion, Congestion),
        (NackReason::None, NoRoute, NoRoute),
        (NackReason::None, Other(256), Other(256)),
    ];
    for (first, second, passed_on) in reasons {
        let mut bench = Bench::new().routed();
        let [down, _, up, other] = bench.neighbours;
        bench.interest(down, "/a/1", 1);
        bench.nack(up, "/a/1", 1, first);
        assert_eq!(bench.nack(other, "/a/1", 1, second), [Seen::Nack(down, passed_on)]);
    }
}

#[test]
fn an_interest_that_is_sent_again_after_a_nack_keeps_its_class_its_flow_and_its_entry() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    bench.node.add_route(&name("/first"), other, 0);
    let packet = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[packet].header_mut().signals.set(&Signal::SERVICE_CLASS, ServiceClass::Ef as u64);
    let first = bench.give(down, packet)[0].1;
    let (flow, pit) = (bench.pool[first].flow, bench.pool[first].pit);
    assert_eq!(flow.class, ServiceClass::Ef);
    let nack = bench.packet(Kind::Nack, "/a/1", 1);
    bench.pool[nack].header_mut().set_nack(Some(NackReason::Congestion));
    let again = bench.give(up, nack)[0].1;
    let again = &bench.pool[again];
    assert_eq!((again.flow, again.pit, again.class()), (flow, pit, ServiceClass::Ef));
}

#[test]
fn an_interest_that_is_sent_again_after_a_nack_has_the_hop_limit_it_was_sent_with_and_nothing_of_the_nack() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    let packet = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[packet].hop_limit = Some(9);
    bench.give(down, packet);
    let nack = bench.packet(Kind::Nack, "/a/1", 1);
    bench.pool[nack].hop_limit = Some(3);
    let header = bench.pool[nack].header_mut();
    header.set_nack(Some(NackReason::Congestion));
    header.congestion_mark = 1;
    header.signals.set(&FEEDBACK, 5);
    let again = bench.give(up, nack);
    assert_eq!(again[0].0, Seen::Interest(other));
    let again = &bench.pool[again[0].1];
    assert_eq!(again.hop_limit, Some(8));
    let ours = LpHeader::with_token(again.header().pit_token);
    assert_eq!(*again.header(), ours);
}

#[test]
fn an_interest_that_is_sent_again_after_a_nack_carries_the_signals_it_was_sent_with() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    // The second entry reuses the place of the first, which carried more.
    for (uri, nonce, signals) in [("/a/1", 1, &[(904, 7), (916, 8)][..]), ("/a/2", 2, &[(904, 9)])] {
        let packet = bench.packet(Kind::Interest, uri, nonce);
        for (typ, value) in signals {
            bench.pool[packet].header_mut().signals.set_type(*typ, *value);
        }
        bench.give(down, packet);
        let nack = bench.packet(Kind::Nack, uri, nonce);
        bench.pool[nack].header_mut().set_nack(Some(NackReason::Congestion));
        bench.pool[nack].header_mut().signals.set_type(904, 1);
        let again = bench.give(up, nack);
        assert_eq!(again[0].0, Seen::Interest(other));
        assert!(bench.pool[again[0].1].header().signals.iter().eq(signals.iter().copied()));
        bench.data(other, uri);
    }
}

#[test]
fn a_nack_is_of_the_flow_that_it_is_here() {
    let mut bench = Bench::new().routed();
    let [down, second, ..] = bench.neighbours;
    let mut ask = |face: FaceId, uri: &str| {
        let packet = bench.packet(Kind::Interest, uri, 1);
        // The neighbour's flow refers to the neighbour's tables.
        bench.pool[packet].flow =
            FlowKey { prefix: PrefixId(77), class: ServiceClass::Ef, ..FlowKey::default() };
        let (seen, nack) = bench.give(face, packet)[0].clone();
        (seen, bench.pool[nack].flow)
    };
    let (_, here) = ask(down, "/a/1");
    assert_eq!(ask(second, "/a/1"), (Seen::Nack(second, NackReason::Duplicate), here));
    let nowhere = FlowKey { prefix: NO_PREFIX, class: ServiceClass::Be, ..FlowKey::default() };
    assert_eq!(ask(down, "/nowhere/1"), (Seen::Nack(down, NackReason::NoRoute), nowhere));
}

#[test]
fn a_nack_goes_to_nobody_whose_lifetime_is_over() {
    let mut bench = Bench::new().routed();
    let [short, long, _, other] = bench.neighbours;
    bench.lasting(short, "/a/1", 1, Span::from_millis(50));
    bench.later(10);
    bench.interest(long, "/a/1", 2);
    bench.later(100);
    assert_eq!(bench.interest(long, "/a/1", 3), [Seen::Interest(other)]);
    assert_eq!(bench.nack(other, "/a/1", 3, NackReason::NoRoute), [Seen::Nack(long, NackReason::NoRoute)]);
}

#[test]
fn a_nack_for_another_nonce_or_from_a_stranger_is_ignored() {
    let mut bench = Bench::new().routed();
    let [down, stranger, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let unsolicited = [Seen::Dropped(DropReason::Unsolicited)];
    assert_eq!(bench.nack(up, "/a/1", 2, NackReason::NoRoute), unsolicited);
    assert_eq!(bench.nack(stranger, "/a/1", 1, NackReason::NoRoute), unsolicited);
    assert_eq!(bench.nack(up, "/a/2", 1, NackReason::NoRoute), unsolicited);
    assert_eq!(bench.node.pit().len(), 1);
}

#[test]
fn the_content_store_answers_without_the_signals_of_the_hop_before() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].header_mut().signals.set(&FEEDBACK, 5);
    bench.pool[data].header_mut().congestion_mark = 1;
    let passed = bench.give(up, data)[0].1;
    assert_eq!(bench.pool[passed].header().signals.value(&FEEDBACK), Some(5));
    let ask = bench.packet(Kind::Interest, "/a/1", 2);
    let token = PitToken::new(b"own").unwrap();
    bench.pool[ask].header_mut().pit_token = token;
    let seen = bench.give(second, ask);
    assert_eq!(seen[0].0, Seen::Data(second));
    assert_eq!(*bench.pool[seen[0].1].header(), LpHeader::with_token(token));
    assert_eq!((seen.len(), bench.node.pit().len()), (1, 0));
}

#[test]
fn stale_data_answers_only_who_does_not_want_it_fresh() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].freshness = Span::from_millis(100);
    bench.give(up, data);
    let mut fresh = |nonce| {
        let ask = bench.packet(Kind::Interest, "/a/1", nonce);
        bench.pool[ask].must_be_fresh = true;
        bench.now += Span::from_millis(60);
        only_seen(bench.give(second, ask))
    };
    assert_eq!(fresh(2), [Seen::Data(second)]);
    assert_eq!(fresh(3), [Seen::Interest(up)]);
    assert_eq!(bench.interest(down, "/a/1", 4), [Seen::Data(down)]);
}

#[test]
fn data_with_a_longer_name_answers_can_be_prefix_and_nothing_else() {
    let mut bench = Bench::new().routed();
    let [down, second, up, _] = bench.neighbours;
    let ask = bench.packet(Kind::Interest, "/a/1", 1);
    bench.pool[ask].can_be_prefix = true;
    assert_eq!(only_seen(bench.give(down, ask)), [Seen::Interest(up)]);
    assert_eq!(bench.interest(second, "/a/1", 2), [Seen::Interest(up)], "an entry of its own");
    assert_eq!(bench.data(up, "/a/1/v"), [Seen::Data(down)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(second)]);
}

#[test]
fn one_data_satisfies_every_entry_that_it_matches() {
    let mut bench = Bench::new().routed();
    let [down, second, up, third] = bench.neighbours;
    for (face, uri, can_be_prefix) in [(down, "/a/1", false), (second, "/a/1", true), (third, "/a", true)] {
        let ask = bench.packet(Kind::Interest, uri, face.0);
        bench.pool[ask].can_be_prefix = can_be_prefix;
        bench.give(face, ask);
    }
    let mut seen = bench.data(up, "/a/1");
    seen.sort_by_key(|seen| if let Seen::Data(face) = seen { *face } else { FaceId(99) });
    assert_eq!(seen, [Seen::Data(down), Seen::Data(second), Seen::Data(third)]);
    assert!(bench.node.pit().is_empty());
}

#[test]
fn a_neighbour_gets_a_data_once_though_it_asked_twice_and_an_application_for_each_interest() {
    let mut bench = Bench::new().routed();
    let (down, up) = (bench.neighbours[0], bench.neighbours[2]);
    for face in [down, bench.application] {
        for can_be_prefix in [false, true] {
            let ask = bench.packet(Kind::Interest, "/a/1", 2 * face.0 + u32::from(can_be_prefix));
            bench.pool[ask].can_be_prefix = can_be_prefix;
            bench.give(face, ask);
        }
    }
    let application = Seen::Data(bench.application);
    let mut seen = bench.data(up, "/a/1");
    seen.sort_by_key(|seen| *seen == application);
    assert_eq!(seen, [Seen::Data(down), application.clone(), application]);
    assert_eq!(bench.pool.in_use(), 5, "two Interests and three Data left");
}

#[test]
fn each_downstream_gets_its_own_token_back_and_the_upstream_sees_ours() {
    let mut bench = Bench::new().routed();
    let [down, second, up, _] = bench.neighbours;
    let tokens = [&b"a"[..], &[7; 32][..]].map(|bytes| PitToken::new(bytes).unwrap());
    let mut upstream = None;
    for (face, token) in [(down, tokens[0]), (second, tokens[1])] {
        let ask = bench.packet(Kind::Interest, "/a/1", face.0);
        bench.pool[ask].header_mut().pit_token = token;
        upstream = upstream.or(bench.give(face, ask).first().map(|seen| seen.1));
    }
    let ours = bench.pool[upstream.unwrap()].header().pit_token;
    assert_eq!(PitId::from_token(ours.bytes()), Some(bench.node.pit().iter().next().unwrap().0));
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].header_mut().pit_token = ours;
    let seen = bench.give(up, data);
    let got: Vec<_> = seen.iter().map(|(_, id)| bench.pool[*id].header().pit_token).collect();
    assert_eq!(got, tokens);
}

#[test]
fn a_face_that_is_down_is_no_next_hop_and_nothing_leaves_by_it() {
    let mut bench = Bench::new().routed();
    let [down, second, up, other] = bench.neighbours;
    bench.input(Input::FaceDown(up));
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(other)]);
    bench.input(Input::FaceDown(down));
    assert_eq!(bench.data(other, "/a/1"), [Seen::Dropped(DropReason::FaceDown)]);
    bench.input(Input::FaceDown(other));
    assert_eq!(bench.interest(second, "/a/2", 2), [Seen::Nack(second, NackReason::NoRoute)]);
    bench.input(Input::FaceUp(up));
    assert_eq!(bench.interest(second, "/a/3", 3), [Seen::Interest(up)]);
}

/// Holds every Interest for 10 ms.
#[derive(Default)]
struct Holding {
    held: Vec<(Time, PitId, FaceId)>,
}

impl Strategy for Holding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.held.push((ev.now + Span::from_millis(10), ev.pit, ev.next_hops[0].face));
        Decision::Hold
    }
    fn next_deadline(&self) -> Time {
        self.held.first().map_or(Time::NEVER, |held| held.0)
    }
    fn on_deadline(&mut self, ev: &mut StrategyDeadline<'_>) {
        let due = self.held.iter().take_while(|held| held.0 <= ev.now).count();
        ev.releases.extend(self.held.drain(..due).map(|(_, pit, face)| (pit, face)));
    }
}

#[test]
fn a_strategy_whose_deadline_is_always_past_makes_time_pass_all_the_same() {
    struct Restless;
    impl Strategy for Restless {
        fn on_interest(&mut self, _ev: &mut InterestEvent<'_>) -> Decision {
            Decision::Suppress
        }
        fn next_deadline(&self) -> Time {
            Time::ZERO
        }
    }
    let mut bench = Bench::with(Box::new(Restless), &TableLimits::default(), || tail(9));
    bench.input(Input::Deadline);
    for _ in 0..3 {
        bench.input(Input::Deadline);
        assert!(bench.node.next_deadline() > bench.now);
        bench.now = bench.node.next_deadline();
    }
}

#[test]
fn a_link_is_next_unless_something_else_is_due_before() {
    let mut bench = Bench::new().routed();
    let [down, _, up, _] = bench.neighbours;
    bench.node.set_link_rate(bench.now, up, Some(Rate::from_bps(400_000)));
    assert_eq!(bench.node.next_of_links(), Time::NEVER);
    // Each takes a millisecond, and the PIT has slots of four.
    for nonce in 1..=9 {
        bench.lasting(down, &format!("/a/{nonce}"), nonce, Span::from_millis(5));
    }
    let mut sent = 1;
    while bench.node.next_of_links() != Time::NEVER {
        assert_eq!(bench.node.next_of_links(), bench.node.next_deadline());
        bench.now = bench.node.next_deadline();
        sent += bench.input(Input::Deadline).len();
    }
    assert!((4..9).contains(&sent) && bench.node.backlog(up).packets > 0, "{sent}");
    assert!(bench.node.next_deadline() > bench.now, "the first one expires");
}

#[test]
fn a_held_interest_is_sent_when_the_strategy_releases_it() {
    let mut bench = Bench::with(Box::new(Holding::default()), &TableLimits::default(), || tail(9)).routed();
    let [down, second, up, _] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), []);
    assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(10));
    bench.later(10);
    let sent = bench.input(Input::Deadline);
    assert_eq!(sent[0].0, Seen::Interest(up));
    let waited = bench.now - bench.pool[sent[0].1].queued_at;
    assert_eq!(waited, Span::from_millis(10), "the wait counts for the link");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
    // Satisfied while it is held: the release finds nothing, and nothing leaks.
    bench.interest(second, "/a/2", 2);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Dropped(DropReason::Unsolicited)], "nobody was asked");
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Interest(up)]);
    bench.interest(second, "/a/2", 3);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(second)]);
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), []);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.pool.in_use(), 5, "two Interests and three Data that the test was given");
}

#[test]
fn another_downstream_waits_for_what_is_held_without_asking_the_strategy_again() {
    let mut bench = Bench::with(Box::new(Holding::default()), &TableLimits::default(), || tail(9)).routed();
    let [down, second, up, _] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), []);
    bench.later(5);
    assert_eq!(bench.interest(second, "/a/1", 2), []);
    assert_eq!(bench.entry().in_records.iter().map(|r| r.aggregated).collect::<Vec<_>>(), [false, true]);
    bench.later(5);
    let sent = bench.input(Input::Deadline);
    assert_eq!(bench.pool[sent[0].1].nonce, 1, "the held one");
    assert!(bench.node.next_deadline() > bench.now + Span::from_secs(3), "nothing else is held");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down), Seen::Data(second)]);
}

fn holding() -> Bench {
    Bench::with(Box::new(Holding::default()), &TableLimits::default(), || tail(9)).routed()
}

#[test]
fn an_interest_that_is_repeated_while_it_is_held_is_held_once() {
    let mut bench = holding();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.later(5);
    assert_eq!(bench.interest(down, "/a/1", 2), []);
    assert_eq!(bench.pool.in_use(), 1, "the strategy holds it anew, and the first one is gone");
    bench.later(5);
    let sent = bench.input(Input::Deadline);
    assert_eq!((sent.len(), bench.pool[sent[0].1].nonce), (1, 2));
    bench.later(5);
    assert_eq!(bench.input(Input::Deadline), [], "the second release finds nothing");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
}

#[test]
fn what_expires_while_it_is_held_is_forgotten_and_its_release_does_nothing() {
    let mut bench = holding();
    let [down, ..] = bench.neighbours;
    bench.lasting(down, "/a/1", 1, Span::from_millis(2));
    // Its lifetime is over, though the PIT's wheel may not have advanced.
    bench.later(10);
    assert_eq!(bench.input(Input::Deadline), []);
    assert_eq!(bench.pool.in_use(), 0);
    bench.later(10);
    bench.input(Input::Deadline);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.node.satisfied_and_unsatisfied(), (0, 1));
    assert_eq!(bench.interest(down, "/a/1", 1), [], "it was never sent: no loop");
}

#[test]
fn an_interest_whose_lifetime_is_over_is_not_released_though_its_entry_is_there() {
    let mut bench = holding();
    let [down, ..] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.later(7);
    // Expires a millisecond before the release, within the same slot of the wheel.
    bench.lasting(down, "/a/2", 2, Span::from_micros(9_500));
    bench.later(10);
    bench.input(Input::Deadline);
    assert_eq!(bench.node.pit().iter().filter(|(_, entry)| entry.held.is_some()).count(), 0);
    assert!(
        bench
            .node
            .pit()
            .iter()
            .all(|(_, entry)| entry.name() == &name("/a/1") || entry.out_records.is_empty())
    );
}

#[test]
fn interests_of_one_name_with_other_selectors_are_held_each_for_itself() {
    let mut bench = holding();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let fresh = bench.packet(Kind::Interest, "/a/1", 2);
    bench.pool[fresh].must_be_fresh = true;
    assert_eq!(bench.give(down, fresh), []);
    assert_eq!(bench.node.pit().len(), 2);
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Interest(up), Seen::Interest(up)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)], "a neighbour gets it once");
    assert!(bench.node.pit().is_empty());
}

#[test]
fn what_is_held_for_a_face_that_goes_is_dropped_and_may_be_asked_for_again() {
    let mut bench = holding();
    let [down, _, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let mut actions = Vec::new();
    bench.node.remove_face(bench.now, up, &mut bench.pool, &mut actions);
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Dropped(DropReason::FaceDown)]);
    assert_eq!(bench.interest(down, "/a/1", 2), []);
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(down)]);
}

#[test]
fn what_is_held_for_nobody_is_not_sent() {
    let mut bench = holding();
    let [down, _, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    for face in [up, other] {
        let mut actions = Vec::new();
        bench.node.remove_route(bench.now, &name("/a"), face, &mut bench.pool, &mut actions);
    }
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Nack(down, NackReason::NoRoute)]);
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), []);
}

#[test]
fn an_interest_that_was_refused_may_be_held_for_another_next_hop() {
    /// Sends at once; holds Interests that come back for 10 ms.
    #[derive(Default)]
    struct Patient(Holding);
    impl Strategy for Patient {
        fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
            Decision::Forward(ev.next_hops[0].face)
        }
        fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
            let Some(hop) = ev.next_hops.first() else { return Decision::Nack(ev.reason) };
            self.0.held.push((ev.now + Span::from_millis(10), ev.pit, hop.face));
            Decision::Hold
        }
        fn next_deadline(&self) -> Time {
            self.0.next_deadline()
        }
        fn on_deadline(&mut self, ev: &mut StrategyDeadline<'_>) {
            self.0.on_deadline(ev);
        }
    }
    let mut bench = Bench::with(Box::new(Patient::default()), &TableLimits::default(), || tail(9)).routed();
    let [down, second, up, other] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    assert_eq!(bench.nack(up, "/a/1", 1, NackReason::Congestion), []);
    assert_eq!(bench.interest(second, "/a/1", 2), [], "it waits for what is held");
    bench.later(10);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(down), Seen::Data(second)]);
    assert!(bench.node.pit().is_empty());
}

/// Marks, drops with a Nack, or passes Interests, by the last digit of their nonces. The others wait until
/// `release`.
#[derive(Default)]
struct Moody {
    inner: Vec<PacketId>,
}

impl Queue for Moody {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if ev.pool[packet].is_interest() && ev.pool[packet].nonce == 13 {
            let nack = Some(NackReason::Congestion);
            ev.dropped.push(Dropped { packet, reason: DropReason::QueueFull, nack });
        } else {
            self.inner.push(packet);
        }
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let Some(packet) = self.inner.pop() else { return Next::Empty };
        if ev.pool[packet].nonce == 7 {
            ev.pool[packet].header_mut().congestion_mark = 1;
        }
        Next::Packet(packet)
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        ev.cleared.append(&mut self.inner);
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.inner.len() as u32, bytes: 0 }
    }
}

fn moody(strategy: Box<dyn Strategy>) -> Bench {
    Bench::with(strategy, &TableLimits::default(), || Box::new(Moody::default())).routed()
}

#[test]
fn a_mark_on_an_interest_at_dequeue_is_remembered_with_its_next_hop() {
    let mut bench = moody(Box::new(BestRoute::default()));
    let down = bench.neighbours[0];
    bench.interest(down, "/a/1", 7);
    assert!(bench.entry().out_records[0].marked);
    bench.later(100);
    bench.interest(down, "/a/1", 8);
    bench.later(100);
    bench.interest(down, "/a/1", 9);
    assert!(!bench.entry().out_records[0].marked, "sent again without");
    let mut bench = moody(Box::new(BestRoute::default()));
    bench.interest(down, "/a/1", 8);
    assert!(!bench.entry().out_records[0].marked);
}

#[test]
fn a_queue_that_drops_with_a_nack_tells_the_downstream() {
    let mut bench = moody(Box::new(BestRoute::default()));
    let down = bench.neighbours[0];
    assert_eq!(
        bench.interest(down, "/a/1", 13),
        [Seen::Nack(down, NackReason::Congestion), Seen::Dropped(DropReason::QueueFull)]
    );
    assert!(bench.node.pit().is_empty());
}

/// Sends every Interest to all next hops.
struct Everywhere;

impl Strategy for Everywhere {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        Decision::Multicast(ev.next_hops.iter().map(|hop| hop.face).collect())
    }
}

/// Sends to the cheapest next hop; counts entries that end without Data.
struct CountsEnds(Arc<AtomicUsize>);

impl Strategy for CountsEnds {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        BestRoute::default().on_interest(ev)
    }
    fn on_expired(&mut self, _ev: &mut ExpiredEvent<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_strategy_hears_of_every_entry_that_ends_without_data() {
    let ends = Arc::default();
    let mut bench = moody(Box::new(CountsEnds(Arc::clone(&ends))));
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.data(up, "/a/1");
    assert_eq!(ends.load(Ordering::Relaxed), 0);
    bench.interest(down, "/a/2", 13);
    assert_eq!(ends.load(Ordering::Relaxed), 1, "a queue has dropped it with a Nack");
    bench.interest(down, "/a/3", 3);
    bench.nack(up, "/a/3", 3, NackReason::NoRoute);
    assert_eq!(ends.load(Ordering::Relaxed), 2, "the last next hop has refused it");
    bench.interest(down, "/a/4", 4);
    bench.later(4001);
    bench.input(Input::Deadline);
    assert_eq!(ends.load(Ordering::Relaxed), 3, "it has expired");
    assert!(bench.node.pit().is_empty());
}

#[test]
fn copies_go_to_all_next_hops_and_the_first_data_answers() {
    let mut bench = Bench::with(Box::new(Everywhere), &TableLimits::default(), || tail(9)).routed();
    let [down, _, up, other] = bench.neighbours;
    let mut seen = bench.interest(down, "/a/1", 1);
    seen.reverse();
    assert_eq!(seen, [Seen::Interest(up), Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(down)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Dropped(DropReason::Unsolicited)]);
}

#[test]
fn when_queues_drop_all_copies_with_nacks_the_downstream_hears_of_it_once() {
    let mut bench = moody(Box::new(Everywhere));
    let down = bench.neighbours[0];
    let seen = bench.interest(down, "/a/1", 13);
    assert_eq!(seen.iter().filter(|seen| matches!(seen, Seen::Nack(..))).count(), 1, "{seen:?}");
    assert!(bench.node.pit().is_empty());
}

/// A bench where only neighbour 3, the more expensive next hop of `/a`, is behind a [`Moody`] queue.
fn one_moody(strategy: Box<dyn Strategy>) -> Bench {
    let made = std::cell::Cell::new(0);
    let queue = || -> Box<dyn Queue> {
        made.set(made.get() + 1);
        if made.get() == 4 { Box::new(Moody::default()) } else { tail(9) }
    };
    Bench::with(strategy, &TableLimits::default(), queue).routed()
}

#[test]
fn a_nack_of_one_queue_leaves_alone_what_another_next_hop_may_answer() {
    let dropped = [Seen::Dropped(DropReason::QueueFull)];
    let mut bench = one_moody(Box::new(BestRoute::default()));
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.later(150);
    assert_eq!(bench.interest(down, "/a/1", 13), dropped, "a retransmission");
    assert_eq!(bench.interest(second, "/a/1", 3), [], "the first sending is still pending");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down), Seen::Data(second)]);
    let mut bench = one_moody(Box::new(Everywhere));
    let mut seen = bench.interest(down, "/a/1", 13);
    seen.sort_by_key(|seen| *seen == dropped[0]);
    assert_eq!(seen, [Seen::Interest(up), dropped[0].clone()], "a copy");
    let nacked = bench.nack(up, "/a/1", 13, NackReason::NoRoute);
    assert_eq!(nacked, [Seen::Nack(down, NackReason::Congestion)], "the queue's reason is the less severe");
}

#[test]
fn what_a_next_hop_has_refused_is_asked_for_again_at_another_one_unless_all_have_refused() {
    let mut bench = Bench::with(Box::new(BestRoute::default()), &TableLimits::default(), || tail(9)).routed();
    let [down, _, up, other] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    assert_eq!(bench.nack(up, "/a/1", 1, NackReason::NoRoute), [Seen::Interest(other)]);
    for nonce in [2, 3] {
        bench.later(150);
        assert_eq!(bench.interest(down, "/a/1", nonce), [Seen::Interest(other)], "that was tried later");
    }
    assert_eq!(
        bench.nack(other, "/a/1", 3, NackReason::Congestion),
        [Seen::Nack(down, NackReason::Congestion)]
    );
    bench.later(150);
    assert_eq!(bench.interest(down, "/a/1", 4), [Seen::Interest(up)]);
}

#[test]
fn nobody_waits_for_an_interest_that_a_queue_dropped() {
    let mut bench = Bench::new();
    let [down, second, ..] = bench.neighbours;
    let slow = Link::new(tail(1), Some(Rate::from_bps(8_000)), Random::named(1, "slow"));
    let slow = bench.node.add_link(Time::ZERO, slow);
    bench.node.add_route(&name("/s"), slow, 0);
    bench.interest(down, "/s/1", 1);
    bench.interest(down, "/s/2", 2);
    assert_eq!(bench.interest(down, "/s/3", 3), [Seen::Dropped(DropReason::QueueFull)]);
    bench.later(100);
    bench.input(Input::Deadline);
    bench.later(100);
    bench.input(Input::Deadline);
    assert_eq!(bench.interest(second, "/s/3", 4), [Seen::Interest(slow)]);
}

#[test]
fn a_downstream_that_has_no_way_on_takes_none_from_the_others() {
    let mut bench = Bench::new();
    let [down, second, up, _] = bench.neighbours;
    bench.node.add_route(&name("/b"), up, 0);
    assert_eq!(bench.interest(down, "/b/1", 1), [Seen::Interest(up)]);
    assert_eq!(bench.interest(up, "/b/1", 2), [], "aggregated");
    bench.later(150);
    assert_eq!(bench.interest(up, "/b/1", 3), [Seen::Nack(up, NackReason::NoRoute)]);
    assert_eq!(bench.interest(second, "/b/1", 4), []);
    assert_eq!(bench.data(up, "/b/1"), [Seen::Data(down), Seen::Data(second)]);
}

#[test]
fn a_digest_is_made_only_when_somebody_asks_for_it_and_then_also_of_what_is_stored() {
    let mut bench = Bench::but(|config| config.digest = Some(|wire| [wire[0]; 32])).routed().cached();
    let [down, second, up, _] = bench.neighbours;
    let answer = |bench: &mut Bench, uri| {
        let data = bench.packet(Kind::Data, uri, 0);
        bench.pool[data].wire = vec![7].into();
        bench.give(up, data);
    };
    bench.interest(down, "/a/1", 1);
    answer(&mut bench, "/a/1");
    let stored = bench.node.content_store().iter().next().unwrap().1;
    assert_eq!(bench.pool[stored].digest, None);
    let ask = |bench: &mut Bench, uri, digest: u8, nonce| {
        let ask = bench.packet(Kind::Interest, uri, nonce);
        bench.pool[ask].name.push(&HASHER, crate::name::TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
        only_seen(bench.give(second, ask))
    };
    assert_eq!(ask(&mut bench, "/a/1", 7, 2), [Seen::Data(second)]);
    assert_eq!(ask(&mut bench, "/a/2", 7, 3), [Seen::Interest(up)]);
    answer(&mut bench, "/a/2");
    assert!(bench.node.pit().is_empty());
}

#[test]
fn after_a_nack_an_applications_interest_for_one_hop_goes_to_the_next_neighbour() {
    let mut bench = Bench::new();
    let [.., first, second] = bench.neighbours;
    bench.node.add_route(&name("/localhop"), first, 1);
    bench.node.add_route(&name("/localhop"), second, 2);
    let application = bench.application;
    assert_eq!(bench.interest(application, "/localhop/a", 1), [Seen::Interest(first)]);
    assert_eq!(bench.nack(first, "/localhop/a", 1, NackReason::NoRoute), [Seen::Interest(second)]);
}

#[test]
fn an_interest_for_a_digest_is_answered_by_the_stored_data_of_that_digest() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].digest = Some(Box::new([7; 32]));
    bench.give(up, data);
    let mut full = |digest: u8, nonce| {
        let ask = bench.packet(Kind::Interest, "/a/1", nonce);
        bench.pool[ask].name.push(&HASHER, crate::name::TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
        only_seen(bench.give(second, ask))
    };
    assert_eq!(full(7, 2), [Seen::Data(second)]);
    assert_eq!(full(8, 3), [Seen::Interest(up)]);
}

#[test]
fn a_packet_without_a_name_is_malformed() {
    let mut bench = Bench::new().routed();
    let down = bench.neighbours[0];
    for kind in [Kind::Interest, Kind::Data, Kind::Nack] {
        let packet = bench.packet(kind, "/", 1);
        assert_eq!(only_seen(bench.give(down, packet)), [Seen::Dropped(DropReason::Malformed)]);
    }
}

#[test]
fn a_full_queue_drops_with_its_reason_and_the_face() {
    let slow = || Link::new(tail(1), Some(Rate::from_bps(8)), Random::named(1, "slow"));
    let mut bench = Bench::new();
    let slow = bench.node.add_link(Time::ZERO, slow());
    bench.node.add_route(&name("/s"), slow, 0);
    let down = bench.neighbours[0];
    assert_eq!(bench.interest(down, "/s/1", 1), [Seen::Interest(slow)]);
    assert_eq!(bench.interest(down, "/s/2", 2), []);
    assert_eq!(bench.node.backlog(slow).packets, 1);
    assert_eq!(bench.interest(down, "/s/3", 3), [Seen::Dropped(DropReason::QueueFull)]);
}

#[test]
fn a_face_on_a_shared_medium_sends_one_packet_for_each_that_the_world_says_has_left() {
    let mut bench = Bench::new();
    let shared = bench.node.add_link(Time::ZERO, Link::shared(tail(10), Random::named(1, "shared")));
    bench.node.add_route(&name("/s"), shared, 1);
    let mut actions = Vec::new();
    for (nonce, uri) in ["/s/0", "/s/1", "/s/2"].into_iter().enumerate() {
        let packet = bench.packet(Kind::Interest, uri, nonce as u32);
        let input = Input::Packet { face: bench.application, packet };
        bench.node.handle(bench.now, input, &mut bench.pool, &mut actions);
    }
    for left in [2, 1, 0] {
        let [Action::Transmit { face, until, .. }] = actions[..] else { panic!("{actions:?}") };
        assert_eq!((face, until), (shared, Time::NEVER));
        assert_eq!(bench.node.backlog(shared).packets, left);
        actions.clear();
        bench.node.handle(bench.now, Input::Sent(shared), &mut bench.pool, &mut actions);
    }
    assert_eq!(actions, []);
}

mod asf;
mod asked;
mod dead_hops;
mod door;
mod full_pit;
mod hints;
mod ingress;
mod managed;
mod plain;
mod queue_hooks;
mod strangers;
mod waiting;
