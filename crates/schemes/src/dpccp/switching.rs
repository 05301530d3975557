//! The node: path switching, hop counts, and the flags of RTT probing.
//!
//! ```text
//!   Interest, RTT probing --> [face is labelled for a while] --> next hop: of the label, drawn, or by name
//!   Data, drain           <-- [face is labelled]             <-- label and hop count of the link it came by
//! ```

use weir_core::ids::FaceId;
use weir_core::packet::Packet;
use weir_core::seam::best_route::is_suppressed;
use weir_core::seam::{
    Answer, BestRoute, CachedEvent, DataOutEvent, Decision, InterestEvent, NackEvent, Strategy,
};
use weir_core::units::{Span, Time};

use super::label::Label;
use super::signals::HopsAndFlags;

/// Adds the link by which a Data came to its label and hop count.
#[inline]
pub(super) fn note_arrival(data: &mut Packet, face: FaceId) {
    Label::of(data).extended(face).write(data);
    HopsAndFlags::of(data).hop_added().write(data);
}

/// A node's strategy.
#[derive(Debug)]
pub(super) struct Switching {
    /// The time for which a face stays labelled.
    lasting: Span,
    /// For each face, the time until which it is labelled RTT-probing.
    labelled_until: Vec<Time>,
    by_name: BestRoute,
}

impl Switching {
    pub(super) fn new(lasting: Span) -> Switching {
        Switching { lasting, labelled_until: Vec::new(), by_name: BestRoute::default() }
    }

    /// Labels the face of an Interest of RTT probing. The face of an application is not labelled, because it
    /// has no queue.
    #[inline]
    fn note_probing(&mut self, interest: &Packet, local: bool, now: Time) {
        if local || !HopsAndFlags::of(interest).is_probing() {
            return;
        }
        let face = interest.arrived_on.0 as usize;
        if face >= self.labelled_until.len() {
            self.labelled_until.resize(face + 1, Time::ZERO);
        }
        self.labelled_until[face] = now + self.lasting;
    }

    #[inline]
    fn is_labelled(&self, face: FaceId, now: Time) -> bool {
        self.labelled_until.get(face.0 as usize).is_some_and(|until| *until > now)
    }
}

/// Returns the next hop of an Interest's label, if it is one of its prefix's next hops, and removes it from
/// the label. A label whose next hop is not usable is removed completely, because the rest belongs to another
/// path.
fn switched(ev: &mut InterestEvent<'_>) -> Option<FaceId> {
    let label = Label::of(ev.interest);
    if label == Label::NONE {
        return None;
    }
    let next = ev.next_hops.iter().map(|hop| hop.face).find(|face| label.names(*face));
    let rest = if next.is_some() { label.rest() } else { Label::NONE };
    rest.write(ev.interest);
    next
}

impl Strategy for Switching {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.note_probing(ev.interest, ev.local, ev.now);
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        if HopsAndFlags::of(ev.interest).is_exploring() && !ev.next_hops.is_empty() {
            let drawn = ev.random.below(ev.next_hops.len() as u32);
            return Decision::Forward(ev.next_hops[drawn as usize].face);
        }
        match switched(ev) {
            Some(face) => Decision::Forward(face),
            None => self.by_name.on_interest(ev),
        }
    }

    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        self.note_probing(ev.interest, ev.local, ev.now);
    }

    fn on_cached(&mut self, ev: &mut CachedEvent<'_>) {
        self.note_probing(ev.interest, ev.local, ev.now);
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let mut octet = HopsAndFlags::of(ev.data);
        if !ev.local && self.is_labelled(ev.face, ev.now) {
            octet = octet.with_drain();
        }
        if ev.answer == Answer::Aggregated {
            octet = octet.with_aggregated();
        }
        if octet != HopsAndFlags::of(ev.data) {
            octet.write(ev.data);
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.by_name.on_nack(ev)
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        if let Some(until) = self.labelled_until.get_mut(face.0 as usize) {
            *until = Time::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::link::Link;
    use weir_core::name::{HashedName, NameHasher};
    use weir_core::node::testing::Told;
    use weir_core::node::{Action, Input, Node, NodeConfig};
    use weir_core::packet::{Kind, PacketId, PacketPool};
    use weir_core::producer::Producer;
    use weir_core::random::Random;
    use weir_core::seam::{FaceConfig, QueueLimit};
    use weir_core::tables::cs::{ContentStore, CsPolicy};
    use weir_core::units::{Bytes, Rate};
    use weir_packet::{NackReason, Name};

    use super::super::signals::SWITCH_LABEL;
    use crate::path_label::LabellingQueue;

    const HASHER: NameHasher = NameHasher::new(1);
    /// The downstreams are 0 and 1. `/a` has the next hops 2, 3 and 66. Face 66 has the same digit as face 3.
    const FACES: u32 = 67;

    fn name(uri: &str) -> HashedName {
        HashedName::parse(&HASHER, uri.parse::<Name>().unwrap().value()).unwrap()
    }

    struct Bench {
        node: Node,
        pool: PacketPool,
        now: Time,
        nonce: u32,
    }

    impl Bench {
        fn new() -> Bench {
            let strategy = Box::new(Switching::new(Span::from_millis(200)));
            let content_store = ContentStore::new(CsPolicy::Lru, 10, 1 << 20);
            let config = NodeConfig::new(strategy, HASHER, Random::named(1, "node"));
            let mut node = Node::new(NodeConfig { content_store, ..config });
            for face in 0..FACES {
                let (face, limit, rate) = (FaceId(face), QueueLimit::Packets(9), Some(Rate::from_mbps(1000)));
                let config = FaceConfig { face, send_rate: rate, receive_rate: rate, limit };
                let queue = Box::new(LabellingQueue::new(&config, note_arrival));
                node.add_link(Time::ZERO, Link::new(queue, rate, Random::named(1, "link")));
            }
            for face in [2, 3] {
                node.add_route(&name("/a"), FaceId(face), u64::from(face));
            }
            Bench { node, pool: PacketPool::new(), now: Time::from_nanos(1), nonce: 0 }
        }

        /// Returns what leaves after this packet arrives by a face.
        fn handle(&mut self, face: u32, packet: PacketId) -> Option<(u32, PacketId)> {
            let (mut actions, mut left) = (Vec::new(), None);
            let input = Input::Packet { face: FaceId(face), packet };
            self.node.handle(self.now, input, &mut self.pool, &mut actions);
            for action in actions {
                if let Action::Transmit { face, packet, .. } = action {
                    left = Some((face.0, packet));
                    self.now += Span::from_micros(100);
                    let sent = Input::Sent(face);
                    self.node.handle(self.now, sent, &mut self.pool, &mut Vec::new());
                }
            }
            left
        }

        fn interest(
            &mut self,
            from: u32,
            uri: &str,
            label: &[u32],
            octet: HopsAndFlags,
        ) -> Option<(u32, PacketId)> {
            self.nonce += 1;
            let id = self.pool.take();
            let packet = &mut self.pool[id];
            (packet.kind, packet.name, packet.nonce) = (Kind::Interest, name(uri), self.nonce);
            (packet.lifetime, packet.net_len) = (Span::from_secs(2), 60);
            label_of(label).write(packet);
            if octet != HopsAndFlags::default() {
                octet.write(packet);
            }
            self.handle(from, id)
        }

        /// Returns the next hop of an Interest, and the rest of its label.
        fn goes(&mut self, from: u32, uri: &str, label: &[u32]) -> (u32, Label) {
            let (face, id) =
                self.interest(from, uri, label, HopsAndFlags::default()).expect("it is forwarded");
            (face, Label::of(&self.pool[id]))
        }

        /// Returns the octet and the label that the consumer receives if a producer answers this Interest.
        fn answer(&mut self, (face, interest): (u32, PacketId)) -> (HopsAndFlags, Label) {
            let producer =
                Producer { payload: Bytes::new(100), freshness: Span::from_secs(9), signature: 32 };
            producer.answer(&mut self.pool[interest]);
            let (_, data) = self.handle(face, interest).expect("the Data is forwarded");
            (HopsAndFlags::of(&self.pool[data]), Label::of(&self.pool[data]))
        }
    }

    /// Returns the label of an Interest that should take these faces, the next hop's first.
    fn label_of(faces: &[u32]) -> Label {
        faces.iter().rev().fold(Label::NONE, |label, face| label.extended(FaceId(*face)))
    }

    const PLAIN: HopsAndFlags = HopsAndFlags::PROBING;

    #[test]
    fn an_interest_takes_the_next_hop_of_its_label_and_the_rest_of_it_along() {
        let mut bench = Bench::new();
        assert_eq!(bench.goes(0, "/a/1", &[3, 9, 8]), (3, label_of(&[9, 8])));
        assert_eq!(bench.goes(0, "/a/2", &[2]), (2, Label::NONE));
    }

    #[test]
    fn without_a_label_or_with_one_that_is_no_next_hop_of_the_name_it_goes_by_name() {
        let mut bench = Bench::new();
        assert_eq!(bench.goes(0, "/a/1", &[]), (2, Label::NONE));
        assert_eq!(bench.goes(0, "/a/2", &[1, 9]), (2, Label::NONE), "a face, but no next hop of /a");
        assert_eq!(bench.goes(2, "/a/3", &[2, 9]), (3, Label::NONE), "where it came from");
        bench.node.handle(bench.now, Input::FaceDown(FaceId(3)), &mut bench.pool, &mut Vec::new());
        assert_eq!(bench.goes(0, "/a/4", &[3, 9]), (2, Label::NONE), "it is down");
    }

    #[test]
    fn of_next_hops_that_share_a_digit_the_cheapest_is_taken() {
        let mut bench = Bench::new();
        bench.node.add_route(&name("/a"), FaceId(66), 66);
        assert_eq!(bench.goes(0, "/a/1", &[66]), (3, Label::NONE));
    }

    #[test]
    fn what_explores_is_sent_to_any_next_hop() {
        let mut bench = Bench::new();
        let mut counts = [0; FACES as usize];
        for n in 0..200 {
            let (face, _) = bench.interest(0, &format!("/a/{n}"), &[], HopsAndFlags::EXPLORING).unwrap();
            counts[face as usize] += 1;
        }
        assert!(counts[2] > 70 && counts[3] > 70 && counts[2] + counts[3] == 200, "{counts:?}");
    }

    #[test]
    fn a_nack_has_it_tried_elsewhere() {
        let mut bench = Bench::new();
        let (face, id) = bench.interest(0, "/a/1", &[3, 9], HopsAndFlags::default()).unwrap();
        bench.pool[id].make_nack(NackReason::NoRoute);
        let (next, id) = bench.handle(face, id).unwrap();
        assert_eq!((next, bench.pool[id].kind), (2, Kind::Interest));
    }

    #[test]
    fn the_label_of_a_data_leads_back_to_where_it_came_from() {
        let mut bench = Bench::new();
        let sent = bench.interest(0, "/a/1", &[3], HopsAndFlags::default()).unwrap();
        let (octet, label) = bench.answer(sent);
        assert_eq!((octet.hops(), octet.is_drain(), label), (1, false, label_of(&[3])));
        // The content store answers, so the count of hops begins here.
        let (_, id) = bench.interest(1, "/a/1", &[], HopsAndFlags::default()).unwrap();
        assert_eq!((HopsAndFlags::of(&bench.pool[id]).hops(), Label::of(&bench.pool[id])), (0, Label::NONE));
    }

    #[test]
    fn data_by_a_face_where_round_trips_are_probed_drain_queues_for_a_while() {
        let mut bench = Bench::new();
        let drains = |bench: &mut Bench, from, uri: &str, octet| {
            let sent = bench.interest(from, uri, &[], octet).unwrap();
            bench.answer(sent).0.is_drain()
        };
        assert!(!drains(&mut bench, 0, "/a/1", HopsAndFlags::default()));
        assert!(drains(&mut bench, 0, "/a/2", PLAIN));
        assert!(drains(&mut bench, 0, "/a/3", HopsAndFlags::default()), "anybody's");
        assert!(!drains(&mut bench, 1, "/a/4", HopsAndFlags::default()), "but not by another face");
        bench.now += Span::from_millis(200);
        assert!(!drains(&mut bench, 0, "/a/5", HopsAndFlags::default()), "the label has expired");
        // Aggregated Interests and those answered from the cache label the face as well.
        bench.interest(0, "/a/6", &[], HopsAndFlags::default());
        assert_eq!(bench.interest(1, "/a/6", &[], PLAIN), None);
        assert!(drains(&mut bench, 1, "/a/7", HopsAndFlags::default()));
        bench.now += Span::from_millis(300);
        bench.interest(1, "/a/7", &[], PLAIN);
        assert!(drains(&mut bench, 1, "/a/8", HopsAndFlags::default()));
    }

    #[test]
    fn who_joined_anothers_interest_is_told() {
        let mut bench = Bench::new();
        let first = bench.interest(0, "/a/1", &[], HopsAndFlags::default()).unwrap();
        bench.interest(1, "/a/1", &[], HopsAndFlags::default());
        let producer = Producer { payload: Bytes::new(100), freshness: Span::ZERO, signature: 32 };
        producer.answer(&mut bench.pool[first.1]);
        let mut actions = Vec::new();
        let input = Input::Packet { face: FaceId(first.0), packet: first.1 };
        bench.node.handle(bench.now, input, &mut bench.pool, &mut actions);
        let mut told: Vec<(u32, bool)> = actions
            .iter()
            .filter_map(|action| match action {
                Action::Transmit { face, packet, .. } => {
                    Some((face.0, HopsAndFlags::of(&bench.pool[*packet]).is_aggregated()))
                }
                _ => None,
            })
            .collect();
        told.sort_unstable();
        assert_eq!(told, [(0, false), (1, true)]);
    }

    #[test]
    fn absurd_fields_do_no_harm() {
        let mut bench = Bench::new();
        let (face, id) = bench.interest(0, "/a/1", &[3], HopsAndFlags::default()).unwrap();
        let producer = Producer { payload: Bytes::new(100), freshness: Span::ZERO, signature: 32 };
        producer.answer(&mut bench.pool[id]);
        bench.pool[id].header_mut().signals.set(&SWITCH_LABEL, u64::MAX);
        bench.pool[id].header_mut().signals.set(&super::super::signals::HOPS_AND_FLAGS, u64::MAX);
        let (_, data) = bench.handle(face, id).unwrap();
        let (octet, label) = (HopsAndFlags::of(&bench.pool[data]), Label::of(&bench.pool[data]));
        assert_eq!(octet.hops(), 63);
        assert!(label.names(FaceId(3)));
    }
}
