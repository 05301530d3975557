//! A plain node does the same as a guarded one, which uses the general path.

use proptest::prelude::{any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as _;

use super::*;

/// Two nodes that get the same inputs. One has a guard that never acts: a bound that no queue reaches.
struct Twins {
    plain: Bench,
    guarded: Bench,
    /// Packets that left by links, with tokens that neighbours may return.
    sent: Vec<(FaceId, usize, PitToken)>,
}

#[derive(Clone, Debug)]
enum Step {
    Interest {
        face: usize,
        name: usize,
        nonce: u32,
        selectors: u8,
        hops: Option<u8>,
        lifetime: u64,
    },
    /// A Data with the name of a sent Interest, by its next hop or by another face.
    Data {
        which: usize,
        has_token: bool,
        face: Option<usize>,
    },
    Nack {
        which: usize,
    },
    Face {
        face: usize,
        up: bool,
    },
    Later(u64),
}

const NAMES: [&str; 6] = ["/a/1", "/a/2", "/a/3", "/a", "/localhop/1", "/b/1"];

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    let interest = (0..5_usize, 0..NAMES.len(), 0..6_u32, 0..16_u8, 0..20_u8, 0..3_u64);
    prop_oneof![
        8 => interest.prop_map(|(face, name, nonce, selectors, hops, lifetime)| Step::Interest {
            face, name, nonce, selectors, hops: (hops < 3).then_some(hops), lifetime: [1, 20, 4000][lifetime as usize],
        }),
        6 => (0..8_usize, any::<bool>(), prop::option::weighted(0.1, 0..5_usize))
            .prop_map(|(which, has_token, face)| Step::Data { which, has_token, face }),
        1 => (0..8_usize).prop_map(|which| Step::Nack { which }),
        1 => (0..5_usize, any::<bool>()).prop_map(|(face, up)| Step::Face { face, up }),
        4 => (0..30_u64).prop_map(Step::Later),
    ]
}

fn bench(queue_bytes: u64, strategy: Box<dyn Strategy>) -> Bench {
    let limits = TableLimits { queue_bytes, ..TableLimits::default() };
    let mut node = Node::new(NodeConfig { limits, ..config(strategy) });
    let application = node.add_application(Time::ZERO);
    let rates = [None, Some(1_000_000), Some(10_000), Some(100_000)];
    let neighbours = rates.map(|rate| {
        let link = Link::new(tail(2), rate.map(Rate::from_bps), Random::named(1, "face"));
        node.add_link(Time::ZERO, link)
    });
    let now = Time::from_nanos(5_000_000_000);
    let mut bench = Bench { node, pool: PacketPool::new(), now, application, neighbours };
    for (cost, neighbour) in [(1, 2), (2, 3)] {
        bench.node.add_route(&name("/a"), bench.neighbours[neighbour], cost);
    }
    bench.node.add_route(&name("/localhop"), bench.application, 0);
    bench
}

impl Twins {
    fn new(strategy: fn() -> Box<dyn Strategy>) -> Twins {
        let (plain, guarded) = (bench(u64::MAX, strategy()), bench(1 << 40, strategy()));
        assert!(plain.node.is_plain() && !guarded.node.is_plain());
        Twins { plain, guarded, sent: Vec::new() }
    }

    fn face(&self, face: usize) -> FaceId {
        if face == 4 { self.plain.application } else { self.plain.neighbours[face] }
    }

    /// Gives both nodes the same input, and compares their actions and packets.
    fn give(&mut self, mut input: impl FnMut(&mut Bench) -> Input<'static>) {
        let [plain, guarded] = [&mut self.plain, &mut self.guarded].map(|bench| {
            let mut actions = Vec::new();
            let input = input(bench);
            bench.node.handle(bench.now, input, &mut bench.pool, &mut actions);
            let packet = |action: &Action| match *action {
                Action::Transmit { packet, .. }
                | Action::Deliver { packet, .. }
                | Action::Drop { packet, .. } => packet,
            };
            let packets: Vec<String> =
                actions.iter().map(|a| format!("{:?}", bench.pool[packet(a)])).collect();
            let tables = (bench.node.pit().len(), bench.node.next_deadline(), bench.node.fates());
            (actions, packets, tables, bench.pool.in_use())
        });
        assert_eq!(plain, guarded);
        for action in plain.0 {
            let (Action::Transmit { packet, .. }
            | Action::Deliver { packet, .. }
            | Action::Drop { packet, .. }) = action;
            if let Action::Transmit { face, .. } = action {
                let sent = &self.plain.pool[packet];
                if let Some(name) = NAMES.iter().position(|uri| sent.is_interest() && name(uri) == sent.name)
                {
                    self.sent.insert(0, (face, name, sent.header().pit_token));
                }
            }
            self.plain.pool.free(packet);
            self.guarded.pool.free(packet);
        }
    }

    fn later(&mut self, millis: u64) {
        let end = self.plain.now + Span::from_millis(millis);
        loop {
            let due = self.plain.node.next_deadline();
            let now = due.min(end).max(self.plain.now);
            (self.plain.now, self.guarded.now) = (now, now);
            if due > end {
                return;
            }
            self.give(|_| Input::Deadline);
        }
    }

    fn answer(&mut self, which: usize, kind: Kind, has_token: bool, by: Option<usize>) {
        let Some(&(face, name, token)) = self.sent.get(which) else { return };
        let face = by.map_or(face, |face| self.face(face));
        self.give(|bench| {
            let packet = bench.packet(kind, NAMES[name], 1);
            if kind == Kind::Nack {
                bench.pool[packet].header_mut().set_nack(Some(NackReason::Congestion));
            }
            if has_token {
                bench.pool[packet].set_pit_token(token);
            }
            Input::Packet { face, packet }
        });
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Later(millis) => self.later(millis),
            Step::Face { face, up } => {
                let face = self.face(face);
                self.give(|_| if up { Input::FaceUp(face) } else { Input::FaceDown(face) });
            }
            Step::Nack { which } => self.answer(which, Kind::Nack, true, None),
            Step::Data { which, has_token, face } => self.answer(which, Kind::Data, has_token, face),
            Step::Interest { face, name, nonce, selectors, hops, lifetime } => {
                let face = self.face(face);
                self.give(|bench| {
                    let packet = bench.packet(Kind::Interest, NAMES[name], nonce);
                    let interest = &mut bench.pool[packet];
                    // Most Interests have neither.
                    interest.can_be_prefix = selectors == 0;
                    interest.must_be_fresh = selectors == 1;
                    interest.hop_limit = hops;
                    interest.lifetime = Span::from_millis(lifetime);
                    if selectors == 2 {
                        interest.header_mut().congestion_mark = 1;
                    }
                    if selectors == 3 {
                        interest.header_mut().signals.set(&Signal::PAST_STORES, 1);
                    }
                    Input::Packet { face, packet }
                });
            }
        }
    }
}

proptest! {
    #[test]
    fn a_plain_node_does_what_a_guarded_one_does(
        steps in prop::collection::vec(step(), 0..120),
        multicast in any::<bool>(),
    ) {
        let best: fn() -> Box<dyn Strategy> = || Box::new(BestRoute::default());
        let all: fn() -> Box<dyn Strategy> = || Box::new(crate::seam::Multicast::default());
        let mut twins = Twins::new(if multicast { all } else { best });
        steps.iter().for_each(|step| twins.step(step));
        twins.later(10_000);
        prop_assert_eq!(twins.plain.node.pit().len(), 0);
    }
}
