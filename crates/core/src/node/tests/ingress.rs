//! Which fields of arriving packets a node accepts from a face.

use super::*;
use crate::seam::ReceiveEvent;

/// A field that consumers write, and one that only routers write.
const OF_CONSUMERS: Signal = Signal::new(912, "Size", 64, "a number");
const OF_ROUTERS: Signal = Signal::new(904, "Rate", 64, "a number").of_routers();

fn stranger() -> IngressPolicy {
    let best_effort = ClassRule { class: Some(ServiceClass::Be), rate: None };
    IngressPolicy { is_believed: false, classes: [best_effort; 8] }
}

/// A node that knows which signals are written by consumers.
fn knowing() -> Bench {
    Bench::made(with_signals(), || tail(100)).routed()
}

fn with_signals() -> NodeConfig {
    let signals_of_consumers = [Signal::SERVICE_CLASS, OF_CONSUMERS].into_iter().collect();
    NodeConfig { signals_of_consumers, ..config(Box::new(BestRoute::default())) }
}

fn with_rule(mut policy: IngressPolicy, of: ServiceClass, rule: ClassRule) -> IngressPolicy {
    policy.classes[of as usize] = rule;
    policy
}

impl Bench {
    fn in_class(&mut self, face: FaceId, uri: &str, nonce: u32, class: u64) -> (Vec<Seen>, Option<PacketId>) {
        let packet = self.packet(Kind::Interest, uri, nonce);
        let signals = &mut self.pool[packet].header_mut().signals;
        signals.set(&Signal::SERVICE_CLASS, class);
        signals.set(&OF_CONSUMERS, 7);
        signals.set(&OF_ROUTERS, 8);
        let seen = self.give(face, packet);
        let first = seen.first().map(|seen| seen.1);
        (only_seen(seen), first)
    }

    /// The class in which an Interest leaves; `None` if it does not leave.
    fn class_of(&mut self, face: FaceId, number: u32, class: ServiceClass) -> Option<ServiceClass> {
        let (seen, packet) = self.in_class(face, &format!("/a/{number}"), number, class as u64);
        matches!(seen[..], [Seen::Interest(_)]).then(|| self.pool[packet.unwrap()].flow.class)
    }
}

#[test]
fn a_node_that_knows_no_signals_passes_none_on() {
    let mut bench = Bench::new().routed();
    let [consumer, up, ..] = bench.neighbours;
    for face in [consumer, up] {
        bench.node.set_ingress(face, &IngressPolicy::without_signals());
    }
    let (_, packet) = bench.in_class(consumer, "/a/1", 1, 2);
    let interest = &bench.pool[packet.unwrap()];
    assert!(interest.header().signals.is_empty() && interest.class() == ServiceClass::Be);
}

#[test]
fn whatever_class_a_stranger_names_it_is_best_effort_and_says_nothing_for_routers() {
    let mut bench = knowing();
    let [stranger_face, neighbour, ..] = bench.neighbours;
    bench.node.set_ingress(stranger_face, &stranger());
    // All classes, without and with the mark of a greedy flow.
    for value in 0..16 {
        let (seen, packet) = bench.in_class(stranger_face, &format!("/a/{value}"), value as u32, value);
        assert_eq!(seen.len(), 1);
        let packet = &bench.pool[packet.unwrap()];
        assert_eq!((packet.class(), packet.flow.class), (ServiceClass::Be, ServiceClass::Be));
        let left: Vec<_> = packet.header().signals.iter().collect();
        assert_eq!(left, [(OF_CONSUMERS.type_number(), 7)], "{value}");
    }
    let counters = bench.node.ingress_counters(stranger_face);
    assert_eq!(counters, IngressCounters { remarked: 14, ..IngressCounters::default() });
    let (_, packet) = bench.in_class(neighbour, "/a/other", 99, 15);
    let signals = &bench.pool[packet.unwrap()].header().signals;
    assert_eq!((signals.value(&Signal::SERVICE_CLASS), signals.value(&OF_ROUTERS)), (Some(15), Some(8)));
    assert_eq!(bench.node.ingress_counters(neighbour), IngressCounters::default());
}

#[test]
fn data_and_nacks_of_a_stranger_say_nothing_but_what_they_are() {
    let mut bench = knowing();
    let [down, _, up, _] = bench.neighbours;
    bench.node.set_ingress(up, &stranger());
    bench.interest(down, "/a/1", 1);
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].header_mut().signals.set(&FEEDBACK, 5);
    bench.pool[data].header_mut().congestion_mark = 1;
    let sent = bench.give(up, data)[0].1;
    assert!(bench.pool[sent].header().signals.is_empty());
    assert_eq!(bench.pool[sent].header().congestion_mark, 1, "of the link protocol, not of a scheme");
}

/// The queue of the face would learn from it too.
#[test]
fn no_scheme_sees_what_is_refused_or_not_believed() {
    struct Watch(Arc<Mutex<Vec<u64>>>, DropTail);
    impl Queue for Watch {
        fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
            self.1.enqueue(ev, packet);
        }
        fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
            self.1.dequeue(ev)
        }
        fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
            let rate = ev.packet.header().signals.value(&OF_ROUTERS);
            self.0.lock().unwrap().push(rate.unwrap_or(0) + 10 * ev.packet.class() as u64);
        }
        fn clear(&mut self, ev: &mut ClearEvent<'_>) {
            self.1.clear(ev);
        }
        fn backlog(&self) -> Backlog {
            self.1.backlog()
        }
    }
    let seen = Arc::<Mutex<Vec<u64>>>::default();
    let queue =
        || -> Box<dyn Queue> { Box::new(Watch(Arc::clone(&seen), DropTail::new(QueueLimit::Packets(9)))) };
    let mut bench = Bench::made(with_signals(), queue).routed();
    let [stranger_face, ..] = bench.neighbours;
    let refused = ClassRule { class: None, rate: None };
    bench.node.set_ingress(stranger_face, &with_rule(stranger(), ServiceClass::Ef, refused));
    let (dropped, _) = bench.in_class(stranger_face, "/a/1", 1, ServiceClass::Ef as u64);
    assert_eq!(dropped, [Seen::Dropped(DropReason::ClassRefused)]);
    assert!(seen.lock().unwrap().is_empty() && bench.node.pit().is_empty());
    bench.in_class(stranger_face, "/a/1", 2, ServiceClass::Cs7 as u64);
    assert_eq!(*seen.lock().unwrap(), [10 * ServiceClass::Be as u64]);
    let counters = bench.node.ingress_counters(stranger_face);
    assert_eq!(counters, IngressCounters { refused: 1, remarked: 1, over_rate: 0 });
}

#[test]
fn a_class_is_remarked_once_and_the_rate_is_that_of_the_class_it_gets() {
    let mut bench = Bench::new().routed();
    let [face, ..] = bench.neighbours;
    let to = |class| ClassRule { class: Some(class), rate: None };
    let limited = ClassRule { class: Some(ServiceClass::Af1), rate: Some(Rate::from_bps(8 * 256 * 4)) };
    let policy = with_rule(IngressPolicy::open(), ServiceClass::Ef, to(ServiceClass::Af4));
    let policy = with_rule(policy, ServiceClass::Af4, to(ServiceClass::Af1));
    bench.node.set_ingress(face, &with_rule(policy, ServiceClass::Af1, limited));
    assert_eq!(bench.class_of(face, 1, ServiceClass::Ef), Some(ServiceClass::Af4));
    // Four Interests a second; the bucket holds those of a quarter of a second.
    assert_eq!(bench.class_of(face, 2, ServiceClass::Af4), Some(ServiceClass::Af1));
    assert_eq!(bench.class_of(face, 3, ServiceClass::Af1), Some(ServiceClass::Be), "beyond its rate");
    assert_eq!(bench.class_of(face, 4, ServiceClass::Af4), Some(ServiceClass::Be));
    bench.later(250);
    assert_eq!(bench.class_of(face, 5, ServiceClass::Af1), Some(ServiceClass::Af1));
    let counters = bench.node.ingress_counters(face);
    assert_eq!(counters, IngressCounters { remarked: 3, refused: 0, over_rate: 2 });
    // A new policy starts with full buckets.
    bench.node.set_ingress(face, &IngressPolicy::open());
    assert_eq!(bench.node.ingress_counters(face), counters);
}

#[test]
fn beyond_the_rate_of_best_effort_there_is_nothing() {
    let mut bench = Bench::new().routed();
    let [face, ..] = bench.neighbours;
    let rate = Some(Rate::from_bps(8 * 256 * 4));
    let be = ClassRule { class: Some(ServiceClass::Be), rate };
    bench.node.set_ingress(face, &with_rule(stranger(), ServiceClass::Be, be));
    assert_eq!(bench.interest(face, "/a/1", 1).len(), 1);
    assert_eq!(bench.interest(face, "/a/2", 2), [Seen::Dropped(DropReason::ClassRate)]);
    assert_eq!(bench.class_of(face, 3, ServiceClass::Cs7), None);
    let counters = bench.node.ingress_counters(face);
    assert_eq!(counters, IngressCounters { remarked: 1, refused: 0, over_rate: 2 });
}

/// All Interests that are let through are answered after 100 ms. Their Data have the configured rate,
/// whatever their size. Only the Interests of a full bucket exceed it.
#[test]
fn the_rate_is_that_of_the_data_whatever_their_size() {
    for size in [300, 1_100, 8_800] {
        let mut bench = Bench::new().routed();
        let [face, _, up, _] = bench.neighbours;
        let rule = ClassRule { class: Some(ServiceClass::Ef), rate: Some(Rate::from_mbps(1)) };
        let policy = with_rule(IngressPolicy::open(), ServiceClass::Ef, rule);
        bench.node.set_ingress(face, &policy);
        let (mut pending, mut bytes) = (VecDeque::new(), 0);
        let seconds = 30;
        for ms in 0..1000 * seconds {
            for of_ms in 0..2 {
                let number = 2 * ms + of_ms;
                let class = bench.class_of(face, number, ServiceClass::Ef);
                if class == Some(ServiceClass::Ef) {
                    pending.push_back((ms, number));
                }
            }
            while let Some((_, number)) = pending.pop_front_if(|(sent, _)| *sent + 100 <= ms) {
                let data = bench.packet(Kind::Data, &format!("/a/{number}"), 0);
                bench.pool[data].net_len = size;
                let sent = bench.give(up, data);
                bytes += u64::from(size) * sent.len() as u64;
                sent.into_iter().for_each(|(_, packet)| bench.pool.free(packet));
            }
            bench.later(1);
        }
        let (least, at_once) = (950_000 * u64::from(seconds), 250_000 / (8 * 256) * 8 * u64::from(size));
        let most = 1_000_000 * u64::from(seconds) + 250_000 + at_once;
        assert!((least..=most).contains(&(8 * bytes)), "{bytes} bytes of Data of {size} bytes");
    }
}

#[test]
fn a_face_that_takes_the_number_of_another_is_believed_unless_told_otherwise() {
    let mut bench = Bench::new().routed();
    let [face, ..] = bench.neighbours;
    bench.node.set_ingress(face, &stranger());
    bench.node.remove_face(bench.now, face, &mut bench.pool, &mut Vec::new());
    bench.later(301_000);
    let link = Link::new(tail(9), None, Random::named(1, "face"));
    assert_eq!(bench.node.add_link(bench.now, link), face);
    assert_eq!(bench.class_of(face, 1, ServiceClass::Ef), Some(ServiceClass::Ef));
}
