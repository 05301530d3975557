//! Path steering: an Interest takes the next hop that its label says (`../path_label.rs`). The label of
//! a Data is the affair of the face by which it arrives (`shaper.rs`).

use weir_core::seam::best_route::is_suppressed;
use weir_core::seam::{Decision, InterestEvent, Strategy};
use weir_packet::NackReason;

use crate::path_label;

/// A node's strategy. It has no tables.
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
    use weir_core::node::{Action, Forwarder, Input, TableLimits};
    use weir_core::packet::{Kind, PacketPool};
    use weir_core::random::Random;
    use weir_core::seam::DropTail;
    use weir_core::seam::QueueLimit;
    use weir_core::units::{Span, Time};
    use weir_packet::{Name, Signal};

    const HASHER: NameHasher = NameHasher::new(1);

    fn name(uri: &str) -> HashedName {
        HashedName::parse(&HASHER, uri.parse::<Name>().unwrap().value()).unwrap()
    }

    /// A node with a downstream, and two next hops for `/a`.
    struct Bench {
        node: Forwarder,
        pool: PacketPool,
        now: Time,
        nonce: u32,
    }

    impl Bench {
        fn new() -> Bench {
            let limits = TableLimits::default();
            let mut node = Forwarder::new(Box::new(Steering {}), &limits, HASHER, Random::named(1, "node"));
            for _ in 0..3 {
                let queue = Box::new(DropTail::new(QueueLimit::Packets(9)));
                node.add_link(Time::ZERO, Link::new(queue, None, Random::named(1, "link")));
            }
            node.add_route(&name("/a"), FaceId(1), 0);
            node.add_route(&name("/a"), FaceId(2), 0);
            Bench { node, pool: PacketPool::new(), now: Time::from_nanos(1), nonce: 0 }
        }

        /// Where an Interest of this label goes, what is left of its label, and as what.
        fn interest(&mut self, uri: &str, label: u64) -> Option<(u32, Option<u64>, Kind)> {
            let id = self.pool.take();
            self.nonce += 1;
            let interest = &mut self.pool[id];
            (interest.kind, interest.name, interest.nonce) = (Kind::Interest, name(uri), self.nonce);
            (interest.lifetime, interest.net_len) = (Span::from_secs(2), 60);
            interest.header_mut().signals.set(Signal::PathLabel, label);
            let mut actions = Vec::new();
            let input = Input::Packet { face: FaceId(0), packet: id };
            self.node.handle(self.now, input, &mut self.pool, &mut actions);
            actions.iter().find_map(|action| match action {
                Action::Transmit { face, packet, .. } => {
                    let packet = &self.pool[*packet];
                    Some((face.0, packet.header().signals.value(Signal::PathLabel), packet.kind))
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
