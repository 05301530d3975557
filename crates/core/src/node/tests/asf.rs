//! ASF on a node.

use super::*;
use crate::seam::{Asf, AsfOptions};

impl Bench {
    fn asf(options: AsfOptions) -> Bench {
        Bench::with(Box::new(Asf::new(options)), &TableLimits::default(), || tail(100)).routed()
    }

    /// Asks for `/a/N`. The next hops answer after this many milliseconds, or never. Returns the next hops
    /// that were asked.
    fn ask_asf(&mut self, n: u32, answers: [Option<u64>; 2]) -> Vec<FaceId> {
        let [down, _, near, far] = self.neighbours;
        let uri = format!("/a/{n}");
        let asked: Vec<FaceId> = self.interest(down, &uri, n).into_iter().filter_map(interest_at).collect();
        let mut answers: Vec<(u64, FaceId)> = [near, far]
            .into_iter()
            .zip(answers)
            .filter(|(face, _)| asked.contains(face))
            .filter_map(|(face, after)| Some((after?, face)))
            .collect();
        answers.sort_unstable();
        let began = self.now;
        for (after, face) in answers {
            self.now = began + Span::from_millis(after);
            self.data(face, &uri);
        }
        self.now = began + Span::from_millis(100);
        self.input(Input::Deadline);
        asked
    }
}

fn interest_at(seen: Seen) -> Option<FaceId> {
    match seen {
        Seen::Interest(face) => Some(face),
        _ => None,
    }
}

#[test]
fn the_cheapest_is_used_until_a_probe_shows_a_faster_one() {
    let mut bench = Bench::asf(AsfOptions::default());
    let [_, _, near, far] = bench.neighbours;
    let asked: Vec<Vec<FaceId>> = (1..=60).map(|n| bench.ask_asf(n, [Some(50), Some(10)])).collect();
    let probe = asked.iter().position(|asked| asked.len() == 2).expect("a probe in the first five seconds");
    assert!(probe < 51 && asked[..probe].iter().all(|asked| *asked == [near]), "{probe}");
    assert_eq!(asked[probe], [near, far], "the probe leaves last");
    assert!(asked[probe + 1..].iter().all(|asked| *asked == [far]));
}

#[test]
fn one_that_times_out_comes_last_and_is_used_again_after_a_probe() {
    let mut bench = Bench::asf(AsfOptions { probing_interval: Span::from_secs(5), max_timeouts: 3 });
    let [_, _, near, far] = bench.neighbours;
    for n in 1..100 {
        bench.ask_asf(n, [Some(10), Some(50)]);
    }
    let silent: Vec<_> = (100..110).map(|n| bench.ask_asf(n, [None, Some(50)])).collect();
    let chosen = |asked: &Vec<FaceId>| asked[0];
    // Three Interests, the third one 200 ms ago, which is the shortest retransmission timeout.
    assert!(silent[..4].iter().map(chosen).all(|face| face == near), "{silent:?}");
    assert!(silent[5..].iter().map(chosen).all(|face| face == far), "{silent:?}");
    let back: Vec<_> = (110..170).map(|n| bench.ask_asf(n, [Some(10), Some(50)])).collect();
    let probe = back.iter().position(|asked| *asked == [far, near]).expect("a probe in five seconds");
    assert!(back[probe + 1..].iter().map(chosen).all(|face| face == near), "{back:?}");
}

#[test]
fn probes_come_once_in_an_interval_and_other_interests_go_to_one_next_hop() {
    let mut bench = Bench::asf(AsfOptions { probing_interval: Span::ZERO, max_timeouts: 0 });
    let copies = (1..=200).filter(|&n| bench.ask_asf(n, [Some(10), Some(50)]).len() == 2).count();
    // 20 s, the first after at most five. No interval is shorter than a second.
    assert!((15..=20).contains(&copies), "{copies}");
}

#[test]
fn a_repeated_interest_goes_to_another_next_hop_and_a_refused_one_too() {
    let mut bench = Bench::asf(AsfOptions::default());
    let [down, _, near, far] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(near)]);
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Interest(far)]);
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/1", 3), [Seen::Interest(near)]);
    assert_eq!(bench.interest(down, "/a/2", 4), [Seen::Interest(near)]);
    assert_eq!(bench.nack(near, "/a/2", 4, NackReason::NoRoute), [Seen::Interest(far)]);
    let refused = [Seen::Nack(down, NackReason::NoRoute)];
    assert_eq!(bench.nack(far, "/a/2", 4, NackReason::NoRoute), refused);
}

#[test]
fn a_probe_has_a_nonce_of_its_own() {
    let mut bench = Bench::asf(AsfOptions::default());
    let [down, _, near, far] = bench.neighbours;
    let probe = (1..60).find_map(|n| {
        let packet = bench.packet(Kind::Interest, &format!("/a/{n}"), n);
        let sent = bench.give(down, packet);
        let nonces = sent.iter().map(|(_, id)| bench.pool[*id].nonce).collect::<Vec<_>>();
        bench.later(100);
        (sent.len() == 2).then(|| (only_seen(sent), nonces, n))
    });
    let (seen, nonces, n) = probe.expect("a probe in the first five seconds");
    assert_eq!(seen, [near, far].map(Seen::Interest));
    assert!(nonces[0] == n && nonces[1] != n);
}

/// Applications are in groups of their own, and each starts with its first Interest.
#[test]
fn who_comes_later_gains_from_what_others_have_measured() {
    let mut bench = Bench::asf(AsfOptions::default());
    let [down, late, _, far] = bench.neighbours;
    for n in 1..60 {
        bench.ask_asf(n, [Some(50), Some(10)]);
    }
    for (group, from) in [(1, late), (2, bench.application)] {
        bench.node.set_group(from, GroupId(group));
        let uri = format!("/a/late/{group}");
        assert_eq!(bench.interest(from, &uri, 1000), [Seen::Interest(far)]);
        assert_eq!(bench.data(far, &uri), [Seen::Data(from)]);
    }
    // The name itself has another route.
    bench.node.add_route(&name("/a/b"), bench.neighbours[2], 1);
    bench.node.add_route(&name("/a/b"), far, 2);
    assert_eq!(bench.interest(down, "/a/b/1", 1001), [Seen::Interest(bench.neighbours[2])]);
}

#[test]
fn nothing_is_known_of_a_route_that_is_added_again() {
    let mut bench = Bench::asf(AsfOptions::default());
    let [down, _, near, far] = bench.neighbours;
    for n in 1..60 {
        bench.ask_asf(n, [Some(50), Some(10)]);
    }
    for face in [near, far] {
        bench.node.remove_route(bench.now, &name("/a"), face, &mut bench.pool, &mut Vec::new());
    }
    bench = bench.routed();
    assert_eq!(bench.interest(down, "/a/60", 60), [Seen::Interest(near)]);
}

/// The next new face gets the number of the removed one.
#[test]
fn nothing_is_known_of_a_next_hop_that_has_gone_whatever_comes_in_its_place() {
    for is_closed in [false, true] {
        let mut bench = Bench::asf(AsfOptions::default());
        let [down, _, near, far] = bench.neighbours;
        for n in 1..60 {
            bench.ask_asf(n, [Some(50), Some(10)]);
        }
        assert_eq!(bench.interest(down, "/a/60", 60), [Seen::Interest(far)], "it is faster");
        bench.data(far, "/a/60");
        if is_closed {
            bench.node.remove_face(bench.now, far, &mut bench.pool, &mut Vec::new());
            bench.later(301_000);
            let link = Link::new(tail(100), None, Random::named(2, "face"));
            assert_eq!(bench.node.add_link(bench.now, link), far);
        } else {
            bench.node.remove_route(bench.now, &name("/a"), far, &mut bench.pool, &mut Vec::new());
        }
        bench.node.add_route(&name("/a"), far, 2);
        let asked = bench.interest(down, "/a/61", 61);
        assert_eq!(asked[0], Seen::Interest(near), "only that one is measured");
    }
}
