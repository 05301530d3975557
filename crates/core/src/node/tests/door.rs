//! The inputs of a node, and their effect on its packets.

use super::*;
use crate::ids::StrategyId;
use crate::node::{Change, Effect};
use std::borrow::Cow;

#[test]
fn a_node_is_plain_until_it_gets_what_few_nodes_have() {
    let is_plain = |change: fn(&mut NodeConfig)| Bench::but(change).node.is_plain();
    assert!(is_plain(|_| {}));
    assert!(!is_plain(|config| config.limits.queue_bytes = 1 << 20));
    assert!(!is_plain(|config| config.next_hop_timeout = Span::from_secs(1)));
    assert!(!is_plain(|config| config.reforward_after = Span::from_millis(10)));
    assert!(!is_plain(|config| config.flow_prefix = FlowPrefix::Components(1)));
    assert!(!is_plain(|config| config.strategies.push(Box::new(BestRoute::default()))));
    let face = FaceId(1);
    let told = |change: Change<'_>| {
        let mut bench = Bench::new().routed();
        bench.node.set(&change);
        bench.node.is_plain()
    };
    assert!(told(Change::SetSendRate { face, rate: None }) && told(Change::RemoveFace(face)));
    assert!(told(Change::SetGroup { face, group: GroupId::NONE }));
    assert!(!told(Change::SetGroup { face, group: GroupId(1) }));
    assert!(!told(Change::SetIngress { face, policy: IngressPolicy::without_signals() }));
    let mut bench = Bench::new().cached();
    assert!(!bench.node.is_plain());
    bench.node.set(&Change::SetStoreLimits { packets: 0, bytes: 0 });
    assert!(bench.node.is_plain(), "without the store it is plain again");
    bench.node.add_strategy(Box::new(BestRoute::default()));
    assert!(!bench.node.is_plain());
}

#[test]
fn a_change_that_names_what_is_not_there_does_nothing_and_says_so() {
    let mut bench = Bench::new().routed();
    let [down, _, up, _] = bench.neighbours;
    let prefix = name("/a");
    let choose = |id| Change::ChooseStrategy { prefix: Cow::Borrowed(&prefix), strategy: StrategyId(id) };
    assert_eq!(bench.node.set(&choose(1)), Effect::Nothing);
    assert_eq!(bench.node.set(&choose(0)), Effect::Done);
    let mut remove = |face| bench.node.set(&Change::RemoveRoute { prefix: Cow::Borrowed(&prefix), face });
    assert_eq!([remove(down), remove(up), remove(up)], [Effect::Nothing, Effect::Done, Effect::Nothing]);
}

/// Packets come from the queues of its links, its strategy and its store. Later inputs do no harm.
#[test]
fn a_node_that_fails_gives_back_every_packet_it_has() {
    let strategies: [Box<dyn Strategy>; 2] = [Box::new(BestRoute::default()), Box::new(Holding::default())];
    for strategy in strategies {
        let mut bench = Bench::with(strategy, &TableLimits::default(), || tail(9)).cached();
        let [down, _, up, _] = bench.neighbours;
        bench.node.add_route(&name("/a"), up, 1);
        bench.node.set_link_rate(bench.now, up, Some(Rate::ZERO));
        (0..3).for_each(|n| drop(bench.interest(down, &format!("/a/{n}"), n)));
        assert!(bench.pool.in_use() > 0);
        for (seen, packet) in bench.input(Input::Change(&Change::Fail)) {
            assert_eq!(seen, Seen::Dropped(DropReason::FaceDown));
            bench.pool.free(packet);
        }
        assert_eq!(bench.pool.in_use(), 0);
        bench.later(10_000);
        assert_eq!(bench.input(Input::Deadline), []);
    }
}
