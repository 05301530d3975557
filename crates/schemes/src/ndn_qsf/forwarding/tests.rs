use proptest::prelude::*;
use weir_core::node::Input;
use weir_core::node::testing::Told;
use weir_core::packet::PacketId;
use weir_core::seam::{DropTail, QueueLimit};
use weir_core::units::{Bytes, Rate};

use super::*;
use crate::bench::{Bench, LIFETIME, name};

const DOWN: [FaceId; 2] = [FaceId(0), FaceId(1)];
const UP: [FaceId; 3] = [FaceId(2), FaceId(3), FaceId(4)];
const MS: Span = Span::from_millis(1);

type Node = Bench<Forwarding, ()>;

fn settings() -> NodeSettings {
    NodeSettings { round: Some(MS * 40), ..NodeSettings::usual() }
}

impl Node {
    /// A node with two downstreams and `upstreams` next hops for `/a`, all over fast links.
    fn new(upstreams: usize, settings: NodeSettings) -> Node {
        let mut node = Bench::of(Forwarding::new(settings), ());
        for _ in 0..DOWN.len() + UP.len() {
            node.add_link(Box::new(DropTail::new(QueueLimit::Packets(1000))), Rate::from_mbps(100_000));
        }
        for face in &UP[..upstreams] {
            node.forwarder.add_route(&name("/a"), *face, 0);
        }
        node
    }

    fn interest(&mut self, from: FaceId, segment: u64) {
        let packet = self.interest_of(&format!("/a/{segment}"));
        self.handle(Input::Packet { face: from, packet });
    }

    /// Answers the Interest of this segment with this queue size.
    fn answer(&mut self, segment: u64, queue: Option<u64>) {
        let wanted = name(&format!("/a/{segment}"));
        let at = self.upstream.iter().position(|(_, packet)| self.pool[*packet].name == wanted).unwrap();
        let sent = self.upstream.remove(at);
        self.reply(sent, queue);
    }

    fn reply(&mut self, (face, packet): (FaceId, PacketId), queue: Option<u64>) {
        let producer =
            weir_core::producer::Producer { payload: Bytes::new(4400), freshness: Span::ZERO, signature: 32 };
        producer.answer(&mut self.pool[packet]);
        self.pool[packet].header_mut().signals = Default::default();
        if let Some(size) = queue {
            self.pool[packet].header_mut().signals.set(&QUEUE_SIZE, size);
        }
        self.handle(Input::Packet { face, packet });
    }

    /// Returns the queue sizes of the Data that left, and their faces.
    fn said(&mut self) -> Vec<(FaceId, Option<u64>)> {
        let value =
            |(face, header): (FaceId, weir_packet::LpHeader)| (face, header.signals.value(&QUEUE_SIZE));
        self.headers.drain(..).map(value).collect()
    }

    fn waiting(&self) -> u32 {
        let strategy = self.strategy.look();
        strategy.prefixes.iter().flatten().map(|known| known.list.len()).sum()
    }

    fn held(&self) -> usize {
        self.forwarder.pit().iter().filter(|(_, entry)| entry.held.is_some()).count()
    }

    fn sent_by(&self) -> Vec<usize> {
        UP.iter().map(|up| self.upstream.iter().filter(|(face, _)| face == up).count()).collect()
    }
}

#[test]
fn interests_leave_at_the_limit_in_their_order() {
    let mut node = Node::new(1, settings());
    (0..20).for_each(|segment| node.interest(DOWN[0], segment));
    // At 278 a second, the first leaves at once and the others 3.6 ms apart.
    assert_eq!((node.upstream.len(), node.waiting()), (1, 19));
    node.later(MS * 37);
    assert_eq!((node.upstream.len(), node.waiting()), (11, 9));
    let names: Vec<_> = node.upstream.iter().map(|(_, id)| node.pool[*id].name.clone()).collect();
    let expected: Vec<_> = (0..11).map(|segment| name(&format!("/a/{segment}"))).collect();
    assert_eq!(names, expected);
}

#[test]
fn each_answer_says_the_queue_that_its_interest_was_in() {
    let mut node = Node::new(1, settings());
    node.forwarder.set_content_store_limits(100, 1 << 20, &mut node.pool);
    (0..8).for_each(|segment| node.interest(DOWN[0], segment));
    node.interest(DOWN[1], 0);
    // One Interest is pending upstream, and seven wait.
    node.answer(0, Some(3));
    assert_eq!(node.said(), [(DOWN[0], Some(7)), (DOWN[1], Some(0))], "forwarded, aggregated");
    node.later(Span::from_micros(10));
    node.interest(DOWN[1], 0);
    assert_eq!(node.said(), [(DOWN[1], Some(0))], "cached");
}

/// The other reading of section 4.1.
#[test]
fn with_the_larger_of_both_queues_an_aggregated_interest_says_the_queue_of_interests_too() {
    let mut node = Node::new(1, NodeSettings { aggregated: Aggregated::Larger, ..settings() });
    (0..8).for_each(|segment| node.interest(DOWN[0], segment));
    node.interest(DOWN[1], 0);
    node.answer(0, Some(3));
    assert_eq!(node.said(), [(DOWN[0], Some(7)), (DOWN[1], Some(7))], "forwarded, aggregated");
}

#[test]
fn who_asks_for_what_waits_waits_with_it() {
    let mut node = Node::new(1, settings());
    node.interest(DOWN[0], 0);
    node.interest(DOWN[0], 1);
    node.interest(DOWN[1], 1);
    node.interest(DOWN[0], 1);
    assert_eq!((node.waiting(), node.held(), node.pool.in_use()), (1, 1, 2));
    node.later(MS * 4);
    node.answer(1, Some(0));
    assert_eq!(node.said().len(), 2);
    assert_eq!((node.waiting(), node.held()), (0, 0));
}

/// Both neighbours are also next hops of each other.
#[test]
fn who_waits_for_an_interest_is_not_asked_for_it() {
    let mut node = Node::new(0, settings());
    for face in [DOWN[1], DOWN[0], UP[0]] {
        node.forwarder.add_route(&name("/a"), face, 0);
    }
    // The limiters of all three are busy.
    (100..103).for_each(|segment| node.interest(UP[1], segment));
    assert_eq!((node.upstream.len(), node.waiting()), (3, 0));
    node.upstream.clear();
    node.interest(DOWN[0], 0);
    node.interest(DOWN[1], 0);
    // The Interest is repeated while it waits.
    node.interest(DOWN[0], 0);
    assert_eq!(node.waiting(), 1);
    node.later(MS * 10);
    let sent: Vec<_> = node.upstream.iter().map(|(face, _)| *face).collect();
    assert_eq!(sent, [UP[0]]);
}

#[test]
fn what_nobody_waits_for_any_more_leaves_the_queue() {
    let slow = NodeSettings { initial: 1.0, least: 0.01, ..settings() };
    let mut node = Node::new(1, slow);
    (0..10).for_each(|segment| node.interest(DOWN[0], segment));
    assert_eq!(node.waiting(), 9);
    node.later(LIFETIME + MS * 10);
    assert_eq!((node.waiting(), node.held()), (0, 0));
    assert!(node.upstream.len() <= 4, "{}", node.upstream.len());
    assert_eq!(node.pool.in_use(), node.upstream.len());
}

#[test]
fn a_full_queue_sends_back_and_other_prefixes_do_not_notice() {
    let mut node = Node::new(1, NodeSettings { queue: 5, ..settings() });
    node.forwarder.add_route(&name("/b"), UP[0], 0);
    (0..10).for_each(|segment| node.interest(DOWN[0], segment));
    assert_eq!(node.waiting(), 5);
    node.later(Span::from_micros(10));
    let nacks = node.headers.iter().filter(|(_, header)| header.nack() == Some(NackReason::Congestion));
    assert_eq!(nacks.count(), 4);
    let packet = node.interest_of("/b/1");
    node.handle(Input::Packet { face: DOWN[1], packet });
    assert_eq!(node.upstream.len(), 2, "its own limiter is free");
}

#[test]
fn a_nack_makes_an_interest_wait_for_the_other_upstreams() {
    let mut node = Node::new(2, settings());
    node.interest(DOWN[0], 1);
    let sent = node.upstream.remove(0);
    node.interest(DOWN[0], 2);
    node.interest(DOWN[0], 3);
    assert_eq!(node.waiting(), 1, "both limiters are busy");
    node.refuse_for(sent, NackReason::Congestion);
    assert_eq!(node.waiting(), 2);
    node.later(MS * 8);
    let again = node.upstream.iter().find(|(_, id)| node.pool[*id].name == name("/a/1")).unwrap();
    assert_ne!(again.0, sent.0);
    let again = *again;
    node.upstream.retain(|one| *one != again);
    node.headers.clear();
    node.refuse_for(again, NackReason::Congestion);
    assert_eq!(node.headers.len(), 1, "all have refused");
}

#[test]
fn limiters_divide_traffic_in_proportion_to_their_limits_busy_or_not() {
    for gap in [Span::from_micros(100), MS * 5] {
        let mut node = Node::new(2, settings());
        node.interest(DOWN[0], 0);
        for (upstream, limit) in [(0, 300.0), (1, 100.0)] {
            let mut strategy = node.strategy.look();
            strategy.prefixes[0].as_mut().unwrap().set_limit(upstream, limit);
        }
        for segment in 1..400 {
            node.interest(DOWN[0], segment);
            node.later(gap);
        }
        node.later(Span::from_secs(1));
        let sent = node.sent_by();
        let part = sent[0] as f64 / (sent[0] + sent[1]) as f64;
        assert!((part - 0.75).abs() < 0.03, "{sent:?}");
    }
}

/// An upstream answers one Interest every `each` ms, with a round-trip time of 40 ms. A consumer requests
/// more. Returns the number of Interests sent in each second, and the queue length at the end.
fn run_against_a_bottleneck(seconds: u64, each: u64, says: bool) -> (Vec<usize>, usize) {
    let mut node = Node::new(1, settings());
    let mut queue: std::collections::VecDeque<(Time, (FaceId, PacketId))> = Default::default();
    let (mut segment, mut sent, mut free_at) = (0, Vec::new(), 0);
    for second in 0..seconds {
        let mut served = 0;
        for ms in 0..1000 {
            while node.waiting() < 20 {
                segment += 1;
                node.interest(DOWN[0], segment);
            }
            node.later(MS);
            let now = node.now;
            queue.extend(node.upstream.drain(..).map(|one| (now + MS * 40, one)));
            if free_at <= 1000 * second + ms && queue.front().is_some_and(|(at, _)| *at <= now) {
                let (_, one) = queue.pop_front().unwrap();
                let waiting = queue.iter().filter(|(at, _)| *at <= now).count() as u64;
                node.reply(one, says.then_some(waiting));
                free_at = 1000 * second + ms + each;
                served += 1;
            }
        }
        sent.push(served);
    }
    let now = node.now;
    (sent, queue.iter().filter(|(at, _)| *at <= now).count())
}

#[test]
fn a_bottleneck_is_found_filled_and_its_queue_kept_near_the_threshold() {
    let (sent, queue) = run_against_a_bottleneck(6, 1, true);
    assert!(sent[0] < 700, "it begins slowly: {sent:?}");
    assert!(sent[2..].iter().all(|served| *served > 950), "{sent:?}");
    assert!(queue < 20, "{queue}");
}

/// 1 Mb/s of Data of 4500 B is about one Data in a round. A quarter of it is less than one.
#[test]
fn a_slow_upstream_is_filled_and_its_queue_kept_near_the_threshold() {
    for (each, least) in [(36, 27), (144, 6)] {
        let (sent, queue) = run_against_a_bottleneck(60, each, true);
        assert!(sent[2..].iter().all(|served| *served >= least), "{sent:?}");
        assert!(queue < 20, "{queue}");
    }
}

#[test]
fn an_upstream_that_never_says_is_sent_little_more_than_it_answers() {
    let (sent, queue) = run_against_a_bottleneck(6, 1, false);
    assert!(sent[3..].iter().all(|served| *served > 950), "{sent:?}");
    assert!(queue < 6 * 60, "at most 5 % too much: {queue}");
}

#[test]
fn an_upstream_that_claims_an_absurd_queue_keeps_the_least_rate_and_does_no_more_harm() {
    let mut node = Node::new(2, settings());
    let mut segment = 0;
    for _ in 0..4000 {
        while node.waiting() < 10 {
            segment += 1;
            node.interest(DOWN[0], segment);
        }
        node.later(MS);
        for sent in core::mem::take(&mut node.upstream) {
            let queue = if sent.0 == UP[0] { Some(u64::MAX) } else { Some(0) };
            node.reply(sent, queue);
        }
    }
    let strategy = node.strategy.look();
    let limits = strategy.prefixes[0].as_ref().unwrap().limits();
    assert!((limits[0] - 25.0).abs() < 1.0, "one in 40 ms: {limits:?}");
    assert!(limits[1] > 500.0 && limits[1].is_finite(), "{limits:?}");
}

#[test]
fn what_waits_for_an_application_goes_as_soon_as_its_first_data_shows_that_it_is_one() {
    let mut node = Node::new(1, settings());
    let application = node.forwarder.add_application(Time::ZERO);
    node.forwarder.add_route(&name("/b"), application, 0);
    for segment in 0..3 {
        let packet = node.interest_of(&format!("/b/{segment}"));
        node.handle(Input::Packet { face: DOWN[0], packet });
    }
    assert_eq!(node.upstream.len(), 1);
    let sent = node.upstream.remove(0);
    node.reply(sent, None);
    node.later(Span::from_nanos(1));
    assert_eq!((node.upstream.len(), node.waiting()), (2, 0));
}

#[test]
fn a_prefix_that_is_forgotten_leaves_nothing_behind() {
    let mut node = Node::new(1, settings());
    (0..8).for_each(|segment| node.interest(DOWN[0], segment));
    let mut actions = Vec::new();
    node.forwarder.remove_route(node.now, &name("/a"), UP[0], &mut node.pool, &mut actions);
    assert_eq!((node.waiting(), node.held()), (0, 7));
    node.forwarder.add_route(&name("/c"), UP[0], 0);
    let packet = node.interest_of("/c/1");
    node.handle(Input::Packet { face: DOWN[0], packet });
    node.later(LIFETIME + MS * 10);
    assert_eq!((node.waiting(), node.held()), (0, 0));
}

/// For any inputs, the number of waiting Interests equals the number of held ones, and is 0 in the end.
fn any_inputs(ops: &[(u8, u8, u8)]) {
    let mut node = Node::new(3, NodeSettings { queue: 6, ..settings() });
    node.forwarder.add_route(&name("/a/2"), UP[1], 0);
    for &(op, a, b) in ops {
        match op % 8 {
            0..=2 => node.interest([DOWN[0], DOWN[1], UP[1]][usize::from(b) % 3], u64::from(a % 20)),
            3 if !node.upstream.is_empty() => {
                let sent = node.upstream.swap_remove(usize::from(a) % node.upstream.len());
                node.reply(sent, [None, Some(u64::from(b)), Some(u64::MAX)][usize::from(b) % 3]);
            }
            4 if !node.upstream.is_empty() => {
                let sent = node.upstream.swap_remove(usize::from(a) % node.upstream.len());
                node.refuse_for(sent, NackReason::Congestion);
            }
            5 => node.later(MS * u64::from(a)),
            6 => {
                let face = UP[usize::from(a) % 3];
                node.handle(if b % 2 == 0 { Input::FaceDown(face) } else { Input::FaceUp(face) });
            }
            7 if !node.upstream.is_empty() => {
                let (_, lost) = node.upstream.swap_remove(usize::from(a) % node.upstream.len());
                node.pool.free(lost);
            }
            _ => {}
        }
        assert_eq!(node.waiting() as usize, node.held());
        let strategy = node.strategy.look();
        assert!(strategy.prefixes.iter().flatten().all(|known| known.list.len() <= 6));
    }
    node.later(Span::from_secs(10));
    assert_eq!((node.waiting(), node.held(), node.forwarder.pit().len()), (0, 0, 0));
    assert!(node.forwarder.next_deadline() == Time::NEVER, "idle prefixes have no rounds");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_many_wait_as_are_held(ops in prop::collection::vec(any::<(u8, u8, u8)>(), 0..300)) {
        any_inputs(&ops);
    }
}
