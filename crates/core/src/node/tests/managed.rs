//! Management of a node while packets pass.

use super::*;
use crate::node::expiry::ENDED_AT_ONCE;
use crate::seam::Multicast;
use weir_packet::CachePolicy;

impl Bench {
    pub(super) fn remove(&mut self, face: FaceId) -> Vec<DropReason> {
        let mut actions = Vec::new();
        self.node.remove_face(self.now, face, &mut self.pool, &mut actions);
        let reason = |action: &Action| match action {
            Action::Drop { reason, .. } => *reason,
            other => panic!("{other:?}"),
        };
        actions.iter().map(reason).collect()
    }

    fn unroute(&mut self, prefix: &str, face: FaceId) -> bool {
        self.node.remove_route(self.now, &name(prefix), face, &mut self.pool, &mut Vec::new())
    }
}

#[test]
fn localhost_is_for_applications_on_this_node_only() {
    let mut bench = Bench::new();
    let [down, up, ..] = bench.neighbours;
    let other = bench.node.add_application(bench.now);
    for (prefix, face) in [("/", up), ("/localhost/nfd", other), ("/localhost/away", up)] {
        bench.node.add_route(&name(prefix), face, 0);
    }
    assert_eq!(bench.interest(down, "/localhost/nfd/x", 1), [Seen::Dropped(DropReason::Scope)]);
    assert_eq!(bench.data(down, "/localhost/nfd/x"), [Seen::Dropped(DropReason::Scope)]);
    let application = bench.application;
    assert_eq!(bench.interest(application, "/localhost/nfd/x", 2), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/localhost/nfd/x"), [Seen::Data(application)]);
    let refused = [Seen::Nack(application, NackReason::NoRoute)];
    assert_eq!(bench.interest(application, "/localhost/away/x", 3), refused);
    assert_eq!(bench.interest(application, "/localhosts/x", 4), [Seen::Interest(up)]);
}

#[test]
fn localhop_goes_one_hop() {
    let mut bench = Bench::new();
    let [down, up, ..] = bench.neighbours;
    bench.node.add_route(&name("/localhop"), up, 0);
    let application = bench.application;
    assert_eq!(bench.interest(application, "/localhop/x", 1), [Seen::Interest(up)]);
    assert_eq!(bench.interest(down, "/localhop/y", 2), [Seen::Nack(down, NackReason::NoRoute)]);
    let other = bench.node.add_application(bench.now);
    bench.node.add_route(&name("/localhop"), other, 5);
    assert_eq!(bench.interest(down, "/localhop/z", 3), [Seen::Interest(other)]);
}

#[test]
fn the_strategy_is_that_of_the_longest_prefix_and_can_be_taken_back() {
    let mut bench = Bench::new().routed();
    let [down, _, first, second] = bench.neighbours;
    let multicast = bench.node.add_strategy(Box::new(Multicast::default())).unwrap();
    bench.node.choose_strategy(&name("/a/all"), multicast);
    let both = |mut seen: Vec<Seen>| {
        seen.sort_by_key(|seen| format!("{seen:?}"));
        assert_eq!(seen, [Seen::Interest(first), Seen::Interest(second)]);
    };
    both(bench.interest(down, "/a/all/1", 1));
    assert_eq!(bench.interest(down, "/a/one/1", 2), [Seen::Interest(first)]);
    assert_eq!(bench.data(second, "/a/all/1"), [Seen::Data(down)]);
    assert_eq!(bench.data(first, "/a/all/1"), [Seen::Dropped(DropReason::Unsolicited)]);
    bench.node.unchoose_strategy(&name("/a/all"));
    assert_eq!(bench.interest(down, "/a/all/2", 3), [Seen::Interest(first)]);
    bench.node.choose_strategy(&name("/"), multicast);
    both(bench.interest(down, "/a/3", 4));
}

#[test]
fn what_is_pending_stays_with_the_strategy_that_it_began_with() {
    let mut bench = Bench::new().routed();
    let [down, _, first, second] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(first)]);
    let multicast = bench.node.add_strategy(Box::new(Multicast::default())).unwrap();
    bench.node.choose_strategy(&name("/a"), multicast);
    bench.later(150);
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Interest(second)], "best route tries the other");
    assert_eq!(bench.interest(down, "/a/2", 3).len(), 2);
}

#[test]
fn there_is_a_bound_of_strategies() {
    let mut bench = Bench::new();
    let added = (0..100).filter(|_| bench.node.add_strategy(Box::new(Multicast::default())).is_some());
    assert_eq!(added.count() + 1, crate::node::MOST_STRATEGIES);
}

#[test]
fn a_face_that_is_removed_takes_its_routes_and_what_waits_with_it() {
    let mut bench = Bench::new().routed();
    let [down, _, first, second] = bench.neighbours;
    bench.node.set_link_rate(bench.now, first, Some(Rate::from_bps(800)));
    for nonce in 0..3 {
        bench.interest(down, &format!("/a/{nonce}"), nonce);
    }
    assert_eq!(bench.node.backlog(first).packets, 2);
    assert_eq!(bench.remove(first), [DropReason::FaceDown; 2]);
    assert_eq!(bench.remove(first), [], "it is gone already");
    assert_eq!(bench.interest(down, "/a/9", 9), [Seen::Interest(second)]);
    assert_eq!(bench.remove(second), []);
    assert!(bench.node.fib().is_empty());
    assert_eq!(bench.interest(down, "/a/10", 10), [Seen::Nack(down, NackReason::NoRoute)]);
    bench.node.add_route(&name("/b"), bench.application, 0);
    assert_eq!(bench.interest(down, "/b/1", 11), [Seen::Interest(bench.application)]);
    bench.remove(down);
    let data = bench.packet(Kind::Data, "/b/1", 0);
    assert_eq!(only_seen(bench.give(bench.application, data)), [Seen::Dropped(DropReason::Unsolicited)]);
    assert!(bench.node.pit().is_empty(), "nobody else waited");
}

#[test]
fn the_number_of_a_removed_face_rests_until_no_pending_interest_can_mean_it() {
    let mut bench = Bench::new();
    let [face, next, ..] = bench.neighbours;
    bench.node.add_route(&name("/b"), face, 0);
    assert_eq!(bench.interest(next, "/b/0", 1), [Seen::Interest(face)]);
    bench.remove(face);
    let fresh = bench.node.add_application(bench.now);
    assert!(fresh > bench.neighbours[3]);
    bench.now += LONGEST_LIFETIME + Span::from_nanos(1);
    assert_eq!(bench.node.next_face(bench.now), face);
    assert_eq!(bench.node.add_link(bench.now, Link::new(tail(9), None, Random::named(1, "again"))), face);
    bench.node.add_route(&name("/b"), face, 0);
    assert_eq!(bench.interest(next, "/b/1", 1), [Seen::Interest(face)]);
}

#[test]
fn ten_thousand_faces_that_come_and_go_leave_nothing() {
    let mut bench = Bench::new().routed();
    let [_, second, up, _] = bench.neighbours;
    let mut faces = std::collections::BTreeSet::new();
    for nonce in 0..10_000 {
        let face = bench.node.add_link(bench.now, Link::new(tail(9), None, Random::named(1, "short")));
        faces.insert(face);
        assert_eq!(
            bench.lasting(face, &format!("/a/{nonce}"), nonce, Span::from_secs(300)),
            [Seen::Interest(up)]
        );
        if nonce == 0 {
            assert_eq!(bench.interest(second, "/a/0", 77), [], "aggregated");
        }
        bench.remove(face);
    }
    assert_eq!((faces.len(), bench.node.pit().len()), (1, 1));
    assert_eq!(bench.data(up, "/a/0"), [Seen::Data(second)]);
}

#[test]
fn a_route_that_is_removed_is_used_no_more() {
    let mut bench = Bench::new().routed();
    let [down, _, first, second] = bench.neighbours;
    assert!(bench.unroute("/a", first) && !bench.unroute("/a", first) && !bench.unroute("/b", first));
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(second)]);
    assert!(bench.unroute("/a", second));
    assert_eq!(bench.interest(down, "/a/2", 2), [Seen::Nack(down, NackReason::NoRoute)]);
}

#[test]
fn the_content_store_obeys_its_switches_and_what_the_data_says() {
    let mut bench = Bench::new().routed().cached();
    let [down, other, up, _] = bench.neighbours;
    let fetch = |bench: &mut Bench, uri: &str, policy| {
        bench.interest(down, uri, 1);
        let data = bench.packet(Kind::Data, uri, 0);
        bench.pool[data].header_mut().set_cache_policy(policy);
        bench.give(up, data);
        bench.later(1);
        bench.interest(other, uri, 2) == [Seen::Data(other)]
    };
    assert!(fetch(&mut bench, "/a/1", None));
    assert!(!fetch(&mut bench, "/a/2", Some(CachePolicy::NoCache)));
    bench.node.use_content_store(CsUse { admit: true, serve: false });
    assert!(!fetch(&mut bench, "/a/3", None));
    bench.node.use_content_store(CsUse { admit: false, serve: true });
    assert!(!fetch(&mut bench, "/a/4", None));
    bench.later(5000);
    bench.input(Input::Deadline);
    assert_eq!(bench.interest(other, "/a/3", 9), [Seen::Data(other)], "stored while it was not used");
    assert_eq!(bench.node.erase_content(&name("/a"), 1, &mut bench.pool), 1);
    bench.node.set_content_store_limits(0, 0, &mut bench.pool);
    assert!(bench.node.content_store().is_empty());
    let (satisfied, _) = bench.node.satisfied_and_unsatisfied();
    assert!(satisfied >= 4);
}

#[test]
fn many_routes_of_a_face_that_is_gone_are_removed_in_parts_while_packets_pass() {
    let mut bench = Bench::new();
    let [down, _, up, other] = bench.neighbours;
    let routes = 4 * ENDED_AT_ONCE - 1;
    let last = format!("/a/{}/x", routes - 1);
    for n in 0..routes {
        bench.node.add_route(&name(&format!("/a/{n}")), up, 1);
    }
    bench.node.add_route(&name("/a"), other, 1);
    let faces = bench.node.face_count();
    assert!(bench.remove(up).is_empty());
    assert_eq!((bench.node.face_count(), bench.node.fib().len()), (faces - 1, routes + 1 - ENDED_AT_ONCE));
    let next = bench.node.next_face(bench.now);
    assert_ne!(next, up, "its number is not free yet");
    assert_eq!(bench.interest(down, &last, 1), [Seen::Nack(down, NackReason::NoRoute)]);
    for left in [2 * ENDED_AT_ONCE, ENDED_AT_ONCE, 1] {
        assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(1));
        bench.later(1);
        assert_eq!(bench.input(Input::Deadline), []);
        assert_eq!(bench.node.fib().len(), left);
    }
    assert!(bench.node.leaving.is_empty() && bench.node.next_deadline() == bench.node.pit_timer);
    assert_eq!(bench.node.next_face(bench.now), up);
    assert_eq!(bench.interest(down, &last, 2), [Seen::Interest(other)]);
}
