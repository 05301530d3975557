//! Path steering: an Interest takes the next hop that its label selects (`../path_label.rs`). The face on which a Data
//! arrives updates the label of the Data (`shaper.rs`).

use weir_core::seam::best_route::is_suppressed;
use weir_core::seam::{Decision, InterestEvent, Strategy};
use weir_packet::NackReason;

use crate::path_label;

/// The strategy of a node. It has no tables.
#[derive(Debug)]
pub(super) struct Steering {}

impl Strategy for Steering {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        match ev.next_hops {
            [] => Decision::Nack(NackReason::NoRoute),
            next_hops => Decision::Forward(next_hops[path_label::steer(ev.interest, next_hops.len())].face),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::ids::FaceId;
    use weir_core::link::Link;
    use weir_core::name::{HashedName, NameHasher};
    use weir_core::node::testing::Told;
    use weir_core::node::{Action, Input, Node, NodeConfig};
    use weir_core::packet::{Kind, PacketPool};
    use weir_core::random::Random;
    use weir_core::seam::{BestRoute, DropTail, QueueLimit};
    use weir_core::units::{Span, Time};
    use weir_packet::Name;

    use crate::path_label::PATH_LABEL;

    const HASHER: NameHasher = NameHasher::new(1);

    fn name(uri: &str) -> HashedName {
        HashedName::parse(&HASHER, uri.parse::<Name>().unwrap().value()).unwrap()
    }

    /// A node with one downstream, and two next hops for `/a`.
    struct Bench {
        node: Node,
        pool: PacketPool,
        now: Time,
        nonce: u32,
    }

    impl Bench {
        fn new() -> Bench {
            Bench::with(Box::new(Steering {}))
        }

        fn with(strategy: Box<dyn Strategy>) -> Bench {
            let mut node = Node::new(NodeConfig::new(strategy, HASHER, Random::named(1, "node")));
            for _ in 0..3 {
                let queue = Box::new(DropTail::new(QueueLimit::Packets(9)));
                node.add_link(Time::ZERO, Link::new(queue, None, Random::named(1, "link")));
            }
            node.add_route(&name("/a"), FaceId(1), 0);
            node.add_route(&name("/a"), FaceId(2), 0);
            Bench { node, pool: PacketPool::new(), now: Time::from_nanos(1), nonce: 0 }
        }

        /// Returns the next hop of an Interest with this label, the rest of the label, and the Interest's
        /// class.
        fn interest(&mut self, uri: &str, label: u64) -> Option<(u32, Option<u64>, Kind)> {
            self.nonce += 1;
            self.packet(FaceId(0), Kind::Interest, uri, Some(label))
        }

        /// Returns the fate of a packet with the last nonce, as above.
        fn packet(
            &mut self,
            from: FaceId,
            kind: Kind,
            uri: &str,
            label: Option<u64>,
        ) -> Option<(u32, Option<u64>, Kind)> {
            let id = self.pool.take();
            let packet = &mut self.pool[id];
            (packet.kind, packet.name, packet.nonce) = (kind, name(uri), self.nonce);
            (packet.lifetime, packet.net_len) = (Span::from_secs(2), 60);
            if kind == Kind::Nack {
                packet.header_mut().set_nack(Some(NackReason::Congestion));
            }
            if let Some(label) = label {
                packet.header_mut().signals.set(&PATH_LABEL, label);
            }
            let mut actions = Vec::new();
            let input = Input::Packet { face: from, packet: id };
            self.node.handle(self.now, input, &mut self.pool, &mut actions);
            actions.iter().find_map(|action| match action {
                Action::Transmit { face, packet, .. } => {
                    let packet = &self.pool[*packet];
                    Some((face.0, packet.header().signals.value(&PATH_LABEL), packet.kind))
                }
                _ => None,
            })
        }
    }

    #[test]
    fn an_interest_goes_where_its_label_says_and_takes_the_rest_of_it_along() {
        let mut bench = Bench::new();
        assert_eq!(bench.interest("/a/1", 6), Some((1, Some(3), Kind::Interest)));
        assert_eq!(bench.interest("/a/2", 7), Some((2, Some(3), Kind::Interest)));
    }

    #[test]
    fn an_interest_that_a_node_of_another_strategy_sends_again_after_a_nack_keeps_its_label() {
        let mut bench = Bench::with(Box::new(BestRoute::default()));
        assert_eq!(bench.interest("/a/1", 6), Some((1, Some(6), Kind::Interest)));
        let again = bench.packet(FaceId(1), Kind::Nack, "/a/1", None);
        assert_eq!(again, Some((2, Some(6), Kind::Interest)));
    }

    #[test]
    fn what_has_no_next_hop_goes_back() {
        let mut bench = Bench::new();
        bench.node.handle(bench.now, Input::FaceDown(FaceId(1)), &mut bench.pool, &mut Vec::new());
        assert_eq!(bench.interest("/a/1", 6), Some((2, Some(6), Kind::Interest)), "there is no choice");
        bench.node.handle(bench.now, Input::FaceDown(FaceId(2)), &mut bench.pool, &mut Vec::new());
        assert!(matches!(bench.interest("/a/2", 6), Some((0, _, Kind::Nack))));
    }

    #[test]
    fn a_repeated_interest_is_absorbed_for_100_ms_and_then_goes_where_its_new_label_says() {
        let mut bench = Bench::new();
        bench.interest("/a/1", 0);
        bench.now += Span::from_millis(99);
        assert_eq!(bench.interest("/a/1", 1), None);
        bench.now += Span::from_millis(1);
        assert_eq!(bench.interest("/a/1", 1), Some((2, Some(0), Kind::Interest)));
    }
}
