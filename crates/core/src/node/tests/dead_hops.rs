//! Next hops that answer nothing.

use super::*;
use crate::seam::Multicast;

const SECOND: Span = Span::from_secs(1);

impl Bench {
    /// Asks for `/a/N`, returns the next hops that got the Interest, and lets a tenth of a second pass.
    fn ask(&mut self, n: u32) -> Vec<FaceId> {
        let seen = self.interest(self.neighbours[0], &format!("/a/{n}"), n);
        self.later(100);
        let asked = |seen| match seen {
            Seen::Interest(face) => Some(face),
            _ => None,
        };
        seen.into_iter().filter_map(asked).collect()
    }

    /// The first next hop answers nothing, the second everything. Returns the numbers of the Interests that
    /// are sent to the first.
    fn asked_in_vain(&mut self, interests: core::ops::Range<u32>) -> Vec<u32> {
        let [down, _, silent, other] = self.neighbours;
        let mut in_vain = Vec::new();
        for n in interests {
            let asked = self.ask(n);
            if asked.contains(&silent) {
                in_vain.push(n);
            }
            if asked.contains(&other) {
                assert_eq!(self.data(other, &format!("/a/{n}")), [Seen::Data(down)]);
            }
        }
        in_vain
    }
}

fn watching(strategy: Box<dyn Strategy>) -> Bench {
    Bench::made(NodeConfig { next_hop_timeout: SECOND, ..config(strategy) }, || tail(100)).routed()
}

#[test]
fn a_silent_next_hop_is_left_after_a_second_and_probed_with_copies() {
    let mut bench = watching(Box::new(BestRoute::default()));
    // After a second an Interest goes to both; the probes follow after 1 s, 2 s, 4 s, 8 s and 16 s.
    let early: Vec<u32> = (1..12).collect();
    let probes = [22, 42, 82, 162, 322];
    assert_eq!(bench.asked_in_vain(1..400), [&early[..], &probes].concat());
    let prefix = bench.node.fib().lookup(&name("/a")).unwrap();
    let [_, _, silent, other] = bench.neighbours;
    assert!(bench.node.is_silent(prefix, silent) && !bench.node.is_silent(prefix, other));
    assert_eq!(bench.node.next_deadline(), bench.node.pit_timer, "no timer of its own");
}

#[test]
fn it_is_used_again_as_soon_as_it_answers_a_probe_though_too_late_for_the_consumer() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, silent, other] = bench.neighbours;
    bench.asked_in_vain(1..22);
    assert_eq!(bench.ask(22), [other, silent], "the copy leaves last");
    assert_eq!(bench.data(other, "/a/22"), [Seen::Data(down)]);
    assert_eq!(bench.data(bench.neighbours[1], "/a/22"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.ask(23), [other], "another's Data is no answer");
    assert_eq!(bench.data(silent, "/a/22"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.ask(24), [silent]);
}

#[test]
fn a_probe_that_asks_what_there_is_is_answered_by_a_longer_name() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, silent, other] = bench.neighbours;
    bench.asked_in_vain(1..22);
    let packet = bench.packet(Kind::Interest, "/a/22", 22);
    bench.pool[packet].can_be_prefix = true;
    assert_eq!(only_seen(bench.give(down, packet)), [Seen::Interest(other), Seen::Interest(silent)]);
    assert_eq!(bench.data(other, "/a/22/v1"), [Seen::Data(down)]);
    assert_eq!(bench.data(silent, "/a/22/v1"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.ask(23), [silent]);
}

#[test]
fn who_asks_once_a_second_loses_one_interest() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, silent, other] = bench.neighbours;
    let mut asked = Vec::new();
    for n in 1..6 {
        asked.push(bench.ask(n));
        if n > 1 {
            assert_eq!(bench.data(other, &format!("/a/{n}")), [Seen::Data(down)], "{n}");
        }
        bench.later(900);
    }
    // The second goes to both, and the fourth is a probe.
    let (left, probed) = (vec![other], vec![other, silent]);
    assert_eq!(asked, [vec![silent], vec![silent, other], left.clone(), probed, left]);
}

#[test]
fn names_that_nobody_answers_move_nobody_off_a_next_hop() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, stranger, up, other] = bench.neighbours;
    for n in 1..400 {
        let uri = format!("/a/{n}");
        if n % 20 == 0 {
            let seen = bench.interest(down, &uri, n);
            assert_eq!(seen[0], Seen::Interest(up), "{n}");
            bench.data(up, &uri);
        } else {
            assert_eq!(bench.interest(stranger, &uri, n)[0], Seen::Interest(up), "{n}");
        }
        bench.later(100);
    }
    bench.later(60_000);
    assert_eq!(bench.ask(400), [up, other], "a doubt is a copy");
    assert_eq!(bench.data(up, "/a/400"), [Seen::Data(down)]);
    assert_eq!(bench.data(other, "/a/400"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.ask(401), [up]);
}

#[test]
fn data_that_come_too_late_for_who_asked_are_answers() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, up, _] = bench.neighbours;
    for n in 1..40 {
        let uri = format!("/a/{n}");
        assert_eq!(bench.lasting(down, &uri, n, Span::from_millis(1)), [Seen::Interest(up)], "{n}");
        bench.later(50);
        bench.input(Input::Deadline);
        assert_eq!(bench.data(up, &uri), [Seen::Dropped(DropReason::OutOfLifetime)]);
        bench.later(50);
    }
}

/// By their names alone they would answer another prefix, or none.
#[test]
fn data_that_come_too_late_for_who_asked_by_a_hint_are_answers() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, up, _] = bench.neighbours;
    for n in 1..40 {
        let uri = format!("/b/{n}");
        let packet = bench.packet(Kind::Interest, &uri, n);
        bench.pool[packet].hint = Some([name("/a")].into());
        bench.pool[packet].lifetime = Span::from_millis(1);
        assert_eq!(only_seen(bench.give(down, packet)), [Seen::Interest(up)], "{n}");
        bench.later(50);
        bench.input(Input::Deadline);
        assert_eq!(bench.data(up, &uri), [Seen::Dropped(DropReason::OutOfLifetime)]);
        bench.later(50);
    }
}

#[test]
fn who_asks_by_a_hint_for_what_nobody_has_does_not_have_late_data_of_others_count_as_none() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, stranger, up, _] = bench.neighbours;
    let ask = |bench: &mut Bench, face: FaceId, uri: &str, nonce: u32| {
        let packet = bench.packet(Kind::Interest, uri, nonce);
        bench.pool[packet].hint = Some([name("/a")].into());
        bench.pool[packet].lifetime = Span::from_millis(1);
        assert_eq!(only_seen(bench.give(face, packet)), [Seen::Interest(up)], "{uri}");
    };
    for n in 1..30 {
        let uri = format!("/b/{n}");
        ask(&mut bench, down, &uri, n);
        (0..300).for_each(|k| ask(&mut bench, stranger, &format!("/made/up/{n}/{k}"), n));
        bench.later(50);
        bench.input(Input::Deadline);
        bench.data(up, &uri);
        bench.later(50);
    }
}

/// The numbers of a FIB entry and a face are reused, before or after the Interest of the first one ends.
#[test]
fn a_late_answer_of_a_prefix_that_is_gone_is_none_of_the_one_that_has_its_number() {
    for lifetime in [1, 1_500, 10_000].map(Span::from_millis) {
        let mut bench = watching(Box::new(BestRoute::default()));
        let [down, third, up, other] = bench.neighbours;
        let gone = bench.node.fib().lookup(&name("/a")).unwrap();
        let packet = bench.packet(Kind::Interest, "/x/1", 1);
        bench.pool[packet].hint = Some([name("/a")].into());
        bench.pool[packet].lifetime = lifetime;
        assert_eq!(only_seen(bench.give(down, packet)), [Seen::Interest(up)]);
        bench.later(10);
        bench.input(Input::Deadline);
        for face in [other, up] {
            bench.node.remove_route(bench.now, &name("/a"), face, &mut bench.pool, &mut Vec::new());
        }
        bench.node.add_route(&name("/c"), up, 1);
        bench.node.add_route(&name("/c"), third, 2);
        assert_eq!(bench.node.fib().exact(&name("/c")), Some(gone));
        for n in 1..20 {
            if bench.interest(down, &format!("/c/{n}"), n).contains(&Seen::Interest(third)) {
                bench.data(third, &format!("/c/{n}"));
            }
            bench.later(100);
        }
        bench.input(Input::Deadline);
        assert!(bench.node.is_silent(gone, up));
        bench.data(up, "/x/1");
        assert!(bench.node.is_silent(gone, up), "{lifetime}");
    }
}

/// A stranger requests names that only the second next hop answers, ten times as often as others request what
/// the first one has.
#[test]
fn who_asks_for_what_only_others_have_does_not_keep_a_next_hop_left() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, stranger, up, other] = bench.neighbours;
    let strange = |bench: &mut Bench, n: u32| {
        let uri = format!("/a/strange/{n}");
        let seen = bench.interest(stranger, &uri, n);
        bench.later(50);
        if seen.contains(&Seen::Interest(other)) {
            bench.data(other, &uri);
        }
        seen
    };
    let alone: Vec<_> = (0..1200).map(|n| strange(&mut bench, n)).collect();
    assert!(alone[1190..].iter().all(|seen| *seen == [Seen::Interest(other)]), "it is left");
    let mut back = Vec::new();
    for n in 0..30 {
        (0..10).for_each(|k| drop(strange(&mut bench, 2000 + 10 * n + k)));
        let uri = format!("/a/{n}");
        let seen = bench.interest(down, &uri, n);
        back.push(seen[0] == Seen::Interest(up));
        if seen.contains(&Seen::Interest(up)) {
            bench.data(up, &uri);
        } else {
            bench.data(other, &uri);
        }
    }
    // One Interest every half second. The longest interval is 16 s, half of which goes to the other
    // downstream's turns.
    let first = back.iter().position(|used| *used).expect("it is used again");
    assert!(first <= 17 && back[first..].iter().all(|used| *used), "{back:?}");
}

#[test]
fn who_only_waits_does_not_decide_which_next_hop_has_answered() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, up, other] = bench.neighbours;
    for n in 1..40 {
        let uri = format!("/a/{n}");
        assert_eq!(bench.interest(down, &uri, n), [Seen::Interest(up)], "{n}");
        assert_eq!(bench.interest(other, &uri, 1000 + n), [], "it has one next hop less");
        let hinted = bench.packet(Kind::Interest, &uri, 2000 + n);
        bench.pool[hinted].hint = Some([name("/nowhere")].into());
        let refused = [Seen::Nack(bench.neighbours[1], NackReason::NoRoute)];
        assert_eq!(only_seen(bench.give(bench.neighbours[1], hinted)), refused, "nor one by another route");
        assert_eq!(bench.data(up, &uri), [down, other].map(Seen::Data));
        bench.later(100);
    }
}

#[test]
fn a_copy_has_a_nonce_of_its_own_and_is_answered_by_it() {
    let nonces = |mut bench: Bench| {
        let [down, _, silent, other] = bench.neighbours;
        bench.ask(1);
        bench.later(1_000);
        let packet = bench.packet(Kind::Interest, "/a/2", 2);
        let sent: Vec<(Seen, u32)> =
            bench.give(down, packet).into_iter().map(|(seen, id)| (seen, bench.pool[id].nonce)).collect();
        assert_eq!(sent[0], (Seen::Interest(silent), 2));
        assert_eq!(sent[1].0, Seen::Interest(other));
        let looped = [Seen::Nack(other, NackReason::Duplicate)];
        assert_eq!(bench.interest(other, "/a/2", sent[1].1), looped, "known here");
        sent[1].1
    };
    let once = nonces(watching(Box::new(BestRoute::default())));
    assert_ne!(once, 2);
    assert_eq!(once, nonces(watching(Box::new(BestRoute::default()))));
}

#[test]
fn nothing_is_known_of_a_face_that_becomes_a_next_hop() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [_, new, ..] = bench.neighbours;
    for n in 1..10 {
        let packet = bench.packet(Kind::Interest, &format!("/a/{n}"), n);
        bench.pool[packet].header_mut().set_next_hop_face_id(Some(u64::from(new.0)));
        assert_eq!(only_seen(bench.give(bench.application, packet)), [Seen::Interest(new)]);
        bench.later(500);
    }
    bench.node.add_route(&name("/a"), new, 0);
    assert_eq!(bench.ask(10), [new]);
}

#[test]
fn data_for_one_name_keep_a_next_hop_alive_for_its_prefix() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, up, _] = bench.neighbours;
    for n in 1..100 {
        assert_eq!(bench.ask(n), [up]);
        if n % 9 == 0 {
            assert_eq!(bench.data(up, &format!("/a/{n}")), [Seen::Data(down)]);
        }
    }
}

#[test]
fn a_nack_is_an_answer_and_no_interest_is_tried_at_a_dead_next_hop_after_one() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, up, other] = bench.neighbours;
    for n in 1..40 {
        assert_eq!(bench.ask(n), [up]);
        assert_eq!(bench.nack(up, &format!("/a/{n}"), n, NackReason::NoRoute), [Seen::Interest(other)]);
        assert_eq!(bench.data(other, &format!("/a/{n}")), [Seen::Data(down)]);
    }
    bench.asked_in_vain(40..60);
    assert_eq!(bench.ask(60), [other]);
    let refused = [Seen::Nack(down, NackReason::NoRoute)];
    assert_eq!(bench.nack(other, "/a/60", 60, NackReason::NoRoute), refused);
}

#[test]
fn if_none_answers_all_are_seen_and_the_one_that_the_strategy_does_not_use_is_probed() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [down, _, first, second] = bench.neighbours;
    let mut copies = Vec::new();
    for n in 1..200 {
        let asked = bench.ask(n);
        assert!(!asked.is_empty());
        if asked.len() > 1 {
            copies.push(n);
        }
    }
    assert!(copies.len() >= 3, "{copies:?}");
    // The more expensive one comes back.
    assert_eq!(bench.ask(200), [first, second]);
    assert_eq!(bench.data(second, "/a/200"), [Seen::Data(down)]);
    assert_eq!(bench.ask(201), [second]);
}

#[test]
fn a_prefix_with_one_next_hop_another_prefix_and_multicast_are_as_ever() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [_, _, silent, other] = bench.neighbours;
    bench.node.add_route(&name("/a/b"), silent, 1);
    bench.node.add_route(&name("/a/b"), other, 2);
    bench.asked_in_vain(1..20);
    assert_eq!(bench.interest(bench.neighbours[0], "/a/b/1", 900), [Seen::Interest(silent)]);
    bench.node.remove_route(bench.now, &name("/a"), other, &mut bench.pool, &mut Vec::new());
    assert_eq!(bench.ask(1_000), [silent]);
    let mut bench = watching(Box::new(Multicast::default()));
    assert_eq!(bench.asked_in_vain(1..100).len(), 99);
}

#[test]
fn nothing_is_known_of_a_next_hop_that_was_the_only_one_for_a_while() {
    for is_closed in [false, true] {
        let mut bench = watching(Box::new(BestRoute::default()));
        let [_, third, silent, other] = bench.neighbours;
        bench.asked_in_vain(1..20);
        let prefix = bench.node.fib().lookup(&name("/a")).unwrap();
        assert!(bench.node.is_silent(prefix, silent));
        if is_closed {
            bench.node.remove_face(bench.now, other, &mut bench.pool, &mut Vec::new());
        } else {
            bench.node.remove_route(bench.now, &name("/a"), other, &mut bench.pool, &mut Vec::new());
        }
        assert!(!bench.node.is_silent(prefix, silent), "it is used");
        assert_eq!(bench.ask(100), [silent]);
        bench.later(60_000);
        bench.node.add_route(&name("/a"), third, 2);
        assert!(!bench.node.is_silent(prefix, silent));
        assert_eq!(bench.ask(101), [silent], "it is not in doubt either");
    }
}

#[test]
fn a_next_hop_that_is_used_because_the_others_are_down_or_left_is_not_shown_as_left() {
    let mut bench = watching(Box::new(BestRoute::default()));
    let [_, third, silent, other] = bench.neighbours;
    bench.asked_in_vain(1..20);
    let prefix = bench.node.fib().lookup(&name("/a")).unwrap();
    bench.input(Input::FaceDown(other));
    assert_eq!((bench.node.is_silent(prefix, silent), bench.ask(20)), (false, vec![silent]));
    bench.node.add_route(&name("/a"), third, 3);
    assert!(bench.node.is_silent(prefix, silent), "there is another one again");
}

#[test]
fn by_default_no_next_hop_is_left() {
    let mut bench = Bench::new().routed();
    assert_eq!(bench.asked_in_vain(1..100).len(), 99);
}
