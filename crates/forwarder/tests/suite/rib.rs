//! The FIB that follows from the RIB, compared with a model that computes it from the rules.

use std::collections::BTreeMap;

use crate::mock::{Mock, face};
use proptest::prelude::*;
use weir_core::units::{Span, Time};
use weir_forwarder::management::{Rib, Route};
use weir_management::RouteFlags;
use weir_management::status::{FaceNumber, FaceScope};
use weir_packet::Name;

type Key = (String, FaceNumber, u64);
type Model = BTreeMap<Key, (u64, RouteFlags, Time)>;

/// The next hops of a prefix by the rules, without tables: its own routes, then those of shorter prefixes one by one.
fn next_hops(model: &Model, prefix: &str) -> Vec<(FaceNumber, u64)> {
    let mut hops: Vec<(FaceNumber, u64)> = Vec::new();
    let mut here = prefix.to_owned();
    loop {
        let mut level: BTreeMap<FaceNumber, u64> = BTreeMap::new();
        let mut is_captured = false;
        let of_here = (here.clone(), 0, 0)..=(here.clone(), FaceNumber::MAX, u64::MAX);
        for ((_, face, _), (cost, flags, _)) in model.range(of_here) {
            is_captured |= flags.capture;
            if here == prefix || flags.child_inherit {
                let cheapest = level.entry(*face).or_insert(*cost);
                *cheapest = (*cheapest).min(*cost);
            }
        }
        for (face, cost) in level {
            if hops.iter().all(|hop| hop.0 != face) {
                hops.push((face, cost));
            }
        }
        if is_captured || here == "/" {
            return hops;
        }
        let end = here.rfind('/').unwrap();
        here = if end == 0 { "/".to_owned() } else { here[..end].to_owned() };
    }
}

fn fib(model: &Model) -> BTreeMap<Name, BTreeMap<FaceNumber, u64>> {
    let prefixes = model.keys().map(|key| &key.0);
    prefixes.map(|prefix| (prefix.parse().unwrap(), next_hops(model, prefix).into_iter().collect())).collect()
}

/// The faces of each prefix by cost; those of equal cost in the order of the rules.
fn in_order(model: &Model) -> BTreeMap<Name, Vec<FaceNumber>> {
    let faces = |prefix: &str| {
        let mut hops = next_hops(model, prefix);
        hops.sort_by_key(|hop| hop.1);
        hops.into_iter().map(|hop| hop.0).collect()
    };
    model.keys().map(|key| (key.0.parse().unwrap(), faces(&key.0))).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Add(Key, u64, RouteFlags, Option<u64>),
    Remove(Key),
    Lose(FaceNumber),
    Wait(u64),
}

fn prefix() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["/", "/a", "/a/a", "/a/a/a", "/a/b", "/a/b/a/b", "/b", "/b/a", "/ab", "/a/ab"])
        .prop_map(str::to_owned)
}

fn key() -> impl Strategy<Value = Key> {
    (prefix(), 1..4_u64, 0..2_u64)
}

fn step() -> impl Strategy<Value = Step> {
    let flags = (any::<bool>(), prop::bool::weighted(0.2));
    let flags = flags.prop_map(|(child_inherit, capture)| RouteFlags { child_inherit, capture });
    prop_oneof![
        6 => (key(), 0..4_u64, flags, prop::option::of(1..50_u64)).prop_map(|(k, c, f, e)| Step::Add(k, c, f, e)),
        3 => key().prop_map(Step::Remove),
        1 => (1..4_u64).prop_map(Step::Lose),
        1 => (1..60_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_fib_is_always_that_of_the_rules(steps in prop::collection::vec(step(), 1..40)) {
        let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(100), Model::new());
        let mut now = Time::ZERO;
        for step in steps {
            match step {
                Step::Add((prefix, face, origin), cost, flags, lives_ms) => {
                    let expires = lives_ms.map_or(Time::NEVER, |ms| now + Span::from_millis(ms));
                    let name = prefix.parse().unwrap();
                    rib.add(&Route { prefix: name, face, origin, cost, flags, expires }, &mut mock).unwrap();
                    model.insert((prefix, face, origin), (cost, flags, expires));
                }
                Step::Remove((prefix, face, origin)) => {
                    rib.remove(&prefix.parse().unwrap(), face, origin, &mut mock);
                    model.remove(&(prefix, face, origin));
                }
                Step::Lose(face) => {
                    rib.remove_face(face, &mut mock);
                    model.retain(|key, _| key.1 != face);
                }
                Step::Wait(ms) => {
                    now += Span::from_millis(ms);
                    rib.expire(now, &mut mock);
                    model.retain(|_, route| route.2 > now);
                }
            }
            // Work that does not fit a part is left to the next one.
            while rib.next_deadline() == Time::ZERO {
                rib.expire(now, &mut mock);
            }
            prop_assert_eq!(&mock.fib, &fib(&model));
            for (prefix, faces) in in_order(&model) {
                prop_assert_eq!(mock.in_order(&prefix), faces, "{}", prefix);
            }
            prop_assert_eq!(rib.len(), model.len());
            let next = model.values().map(|route| route.2).min().unwrap_or(Time::NEVER);
            prop_assert_eq!(rib.next_deadline(), next);
        }
    }

    /// If a full FIB refuses a route, nothing changes.
    #[test]
    fn a_full_fib_leaves_what_was_there(keys in prop::collection::vec(key(), 1..30), room in 1..5_usize) {
        let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(100), Model::new());
        mock.max_fib = room;
        let flags = RouteFlags::default();
        for (prefix, face, origin) in keys {
            let route = Route {
                prefix: prefix.parse().unwrap(), face, origin, cost: 0, flags, expires: Time::NEVER,
            };
            if rib.add(&route, &mut mock).is_ok() {
                model.insert((prefix, face, origin), (0, flags, Time::NEVER));
            }
            prop_assert_eq!(&mock.fib, &fib(&model));
            prop_assert_eq!(rib.len(), model.len());
        }
    }
}

#[test]
fn the_longest_prefix_wins_then_the_cheapest_route_and_a_capture_ends_it() {
    let (mut mock, mut rib) = (Mock::new(), Rib::new(100));
    mock.faces.insert(4, face(4, "udp4://10.0.0.4:6363", FaceScope::NonLocal));
    let mut add = |prefix: &str, face, origin, cost, bits| {
        let prefix = prefix.parse().unwrap();
        let flags = RouteFlags::from_bits(bits);
        let route = Route { prefix, face, origin, cost, flags, expires: Time::NEVER };
        rib.add(&route, &mut mock).unwrap();
    };
    add("/", 1, 0, 10, 1);
    add("/", 2, 0, 20, 1);
    add("/", 3, 0, 30, 0);
    add("/a", 2, 0, 90, 1);
    add("/a", 2, 65, 25, 1);
    add("/a/b", 4, 0, 5, 1);
    add("/a/b/c", 3, 0, 0, 2);
    add("/a/b/c/d", 3, 0, 1, 0);
    assert_eq!(mock.next_hops("/"), [(1, 10), (2, 20), (3, 30)]);
    assert_eq!(mock.next_hops("/a"), [(1, 10), (2, 25)]);
    assert_eq!(mock.next_hops("/a/b"), [(1, 10), (2, 25), (4, 5)]);
    assert_eq!(mock.next_hops("/a/b/c"), [(3, 0)], "a capture inherits nothing");
    assert_eq!(mock.next_hops("/a/b/c/d"), [(3, 1)], "nor does what is below it");
}

#[test]
fn of_equal_cost_the_routes_of_the_prefix_itself_come_first() {
    let (mut mock, mut rib) = (Mock::new(), Rib::new(100));
    let flags = RouteFlags::default();
    let route = |prefix: &str, face| {
        let prefix = prefix.parse().unwrap();
        Route { prefix, face, origin: 0, cost: 0, flags, expires: Time::NEVER }
    };
    for (prefix, face) in [("/", 1), ("/w", 2), ("/w/ping", 3)] {
        rib.add(&route(prefix, face), &mut mock).unwrap();
    }
    let ping = "/w/ping".parse().unwrap();
    assert_eq!(mock.in_order(&ping), [3, 2, 1]);
    rib.add(&route("/w/ping", 1), &mut mock).unwrap();
    assert_eq!(mock.in_order(&ping), [1, 3, 2], "its own, by face");
    rib.remove(&ping, 1, 0, &mut mock);
    assert_eq!(mock.in_order(&ping), [3, 2, 1], "inherited again");
    rib.add(&Route { cost: 1, ..route("/w/ping", 3) }, &mut mock).unwrap();
    assert_eq!(mock.in_order(&ping), [2, 1, 3], "the cost counts more");
}

/// Runs all parts until the FIB is up to date. Returns their number; none has more than 256 prefixes.
fn follow(rib: &mut Rib, mock: &mut Mock, now: &mut Time) -> usize {
    let mut parts = 0;
    while rib.next_deadline() != Time::NEVER {
        *now = rib.next_deadline().max(*now);
        let before = mock.fib.clone();
        rib.expire(*now, mock);
        let changed = before.iter().filter(|(name, hops)| mock.fib.get(name) != Some(hops)).count();
        assert!(changed <= 256, "{changed} prefixes at once");
        parts += 1;
    }
    parts
}

fn add(rib: &mut Rib, mock: &mut Mock, model: &mut Model, prefix: &str, face: FaceNumber, inherits: bool) {
    let flags = RouteFlags { child_inherit: inherits, capture: false };
    let (name, origin, cost, expires) = (prefix.parse().unwrap(), 0, 1, Time::NEVER);
    rib.add(&Route { prefix: name, face, origin, cost, flags, expires }, mock).unwrap();
    model.insert((prefix.to_owned(), face, origin), (cost, flags, expires));
}

#[test]
fn the_many_routes_of_a_face_that_is_gone_are_removed_in_parts() {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(5000), Model::new());
    for n in 0..1000 {
        add(&mut rib, &mut mock, &mut model, &format!("/a/{n}"), 1, n % 2 == 0);
        add(&mut rib, &mut mock, &mut model, &format!("/a/{n}/b"), 2, true);
    }
    let mut now = Time::from_nanos(5_000_000);
    add(&mut rib, &mut mock, &mut model, "/", 1, true);
    follow(&mut rib, &mut mock, &mut now);
    add(&mut rib, &mut mock, &mut model, "/c", 2, true);
    assert_eq!(mock.fib, fib(&model));
    rib.remove_face(1, &mut mock);
    assert!(rib.list(now).all(|entry| entry.routes.iter().all(|route| route.face == 2)), "no route is shown");
    assert!(rib.len() > 1500, "most are there yet");
    let parts = follow(&mut rib, &mut mock, &mut now);
    assert!(parts >= 8, "{parts}");
    model.retain(|key, _| key.1 != 1);
    assert_eq!(mock.fib, fib(&model));
    assert_eq!(rib.len(), model.len());
}

#[test]
fn at_the_many_prefixes_below_one_the_fib_follows_in_parts() {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(5000), Model::new());
    let mut now = Time::from_nanos(5_000_000);
    for n in 0..2000 {
        add(&mut rib, &mut mock, &mut model, &format!("/a/{n}"), 1, false);
    }
    assert_eq!(rib.next_deadline(), Time::NEVER, "nothing is below them");
    let changes = mock.changes;
    // A second change adds no work while the first is not done.
    for face in [2, 3] {
        add(&mut rib, &mut mock, &mut model, "/", face, true);
        assert!(mock.fib[&"/".parse::<Name>().unwrap()].contains_key(&face), "there it follows at once");
    }
    assert!(mock.changes - changes <= 2 + 256, "{} changes at once", mock.changes - changes);
    let parts = follow(&mut rib, &mut mock, &mut now);
    assert!((7..=16).contains(&parts), "{parts}");
    assert_eq!(mock.fib, fib(&model));
    // A route that is added and removed before the update leaves nothing.
    for _ in 0..100 {
        rib.remove(&"/".parse().unwrap(), 2, 0, &mut mock);
        add(&mut rib, &mut mock, &mut model, "/", 2, true);
    }
    rib.remove(&"/".parse().unwrap(), 2, 0, &mut mock);
    model.remove(&("/".to_owned(), 2, 0));
    let parts = follow(&mut rib, &mut mock, &mut now);
    assert!((7..=17).contains(&parts), "{parts}");
    assert_eq!(mock.fib, fib(&model));
}

#[test]
fn what_is_changed_all_the_time_does_not_keep_the_routes_of_a_face_that_is_gone() {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(5000), Model::new());
    for n in 0..600 {
        add(&mut rib, &mut mock, &mut model, &format!("/u/{n}"), 3, false);
    }
    add(&mut rib, &mut mock, &mut model, "/a", 1, false);
    let change = |rib: &mut Rib, mock: &mut Mock, cost| {
        let flags = RouteFlags { child_inherit: true, capture: false };
        let prefix = "/u".parse().unwrap();
        rib.add(&Route { prefix, face: 2, origin: 0, cost, flags, expires: Time::NEVER }, mock).unwrap();
    };
    change(&mut rib, &mut mock, 0);
    rib.remove_face(1, &mut mock);
    for ms in 1..20 {
        change(&mut rib, &mut mock, ms);
        rib.expire(Time::ZERO + Span::from_millis(ms), &mut mock);
    }
    assert_eq!(rib.len(), 601, "the lost route is gone");
    assert!(!mock.fib.contains_key(&"/a".parse::<Name>().unwrap()));
}

#[test]
fn no_more_expires_than_the_fib_can_follow() {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(100_000), Model::new());
    let (parents, children) = (1000, 4);
    let mut now = Time::from_nanos(5_000_000);
    for n in 0..parents {
        let flags = RouteFlags { child_inherit: true, capture: false };
        let prefix = format!("/{n}").parse().unwrap();
        rib.add(&Route { prefix, face: 1, origin: 0, cost: 1, flags, expires: now }, &mut mock).unwrap();
        for child in 0..children {
            add(&mut rib, &mut mock, &mut model, &format!("/{n}/{child}"), 2, false);
        }
    }
    let all = rib.len();
    let mut rounds = 0;
    while rib.next_deadline() != Time::NEVER {
        if rib.next_deadline() > now {
            assert!(rounds > 0 || rib.len() + 300 > all, "{} have expired at once", all - rib.len());
            now = rib.next_deadline();
            rounds += 1;
        }
        let changes = mock.changes;
        rib.expire(now, &mut mock);
        assert!(mock.changes - changes <= 2 * 256, "{} changes in a round", mock.changes - changes);
    }
    assert!((8..200).contains(&rounds), "{rounds}");
    assert_eq!((rib.len(), &mock.fib), (model.len(), &fib(&model)));
}

/// A mock with this many faces, each with a route to a prefix with this many prefixes below it.
fn many_faces(faces: u64, below: u64) -> (Mock, Rib, Model, Time) {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(100_000), Model::new());
    for n in 1..=faces {
        mock.faces.insert(n, face(n, "udp4://10.0.0.4:6363", FaceScope::NonLocal));
        add(&mut rib, &mut mock, &mut model, "/u", n, true);
    }
    for n in 0..below {
        add(&mut rib, &mut mock, &mut model, &format!("/u/{n}"), 1, false);
    }
    (mock, rib, model, Time::from_nanos(5_000_000))
}

/// Changes the cost of a route to `/u`.
fn change(rib: &mut Rib, mock: &mut Mock, model: &mut Model, face: FaceNumber, cost: u64) {
    let flags = RouteFlags { child_inherit: true, capture: false };
    let (prefix, origin, expires) = ("/u".parse().unwrap(), 0, Time::NEVER);
    rib.add(&Route { prefix, face, origin, cost, flags, expires }, mock).unwrap();
    model.insert(("/u".to_owned(), face, origin), (cost, flags, expires));
}

#[test]
fn a_part_changes_the_fib_as_often_however_many_faces_there_are() {
    for faces in [2, 50, 250, 500] {
        let (mut mock, mut rib, mut model, mut now) = many_faces(faces, 300);
        // The route comes first among those of equal cost, so all others are added again after it.
        for cost in [7, 1] {
            change(&mut rib, &mut mock, &mut model, 2, cost);
            while rib.next_deadline() != Time::NEVER {
                now = rib.next_deadline().max(now);
                let before = mock.changes;
                rib.expire(now, &mut mock);
                let changes = mock.changes - before;
                assert!(changes <= 4 * 256 + faces, "{changes} changes with {faces} faces");
            }
        }
        assert_eq!(mock.fib, fib(&model));
        assert!(in_order(&model).iter().all(|(prefix, faces)| mock.in_order(prefix) == *faces));
    }
}

#[test]
fn a_change_of_cost_leaves_next_hops_of_other_costs_alone() {
    let (mut mock, mut rib, mut model, mut now) = many_faces(250, 100);
    for n in 1..=250 {
        change(&mut rib, &mut mock, &mut model, n, 10 * n);
    }
    follow(&mut rib, &mut mock, &mut now);
    // The route takes the last place, the first, and its own.
    for cost in [9999, 0, 20] {
        let before = mock.changes;
        change(&mut rib, &mut mock, &mut model, 2, cost);
        follow(&mut rib, &mut mock, &mut now);
        assert_eq!(mock.changes - before, 101, "one for each prefix");
        assert_eq!(mock.fib, fib(&model));
    }
}

#[test]
fn a_part_looks_up_as_much_however_long_the_prefixes_are() {
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(100_000), Model::new());
    let mut now = Time::from_nanos(5_000_000);
    let long = "/u".to_owned() + &"/x".repeat(30);
    for n in 0..500 {
        add(&mut rib, &mut mock, &mut model, &format!("{long}/{n}"), 1, false);
    }
    change(&mut rib, &mut mock, &mut model, 2, 1);
    let parts = follow(&mut rib, &mut mock, &mut now);
    assert!(parts >= 500 * 31 / 4 / 256, "{parts}");
    assert_eq!(mock.fib, fib(&model));
}

#[test]
fn the_routes_of_a_face_that_is_gone_leave_room_for_others() {
    let most = 2000;
    let (mut mock, mut rib, mut model) = (Mock::new(), Rib::new(most), Model::new());
    let mut now = Time::from_nanos(5_000_000);
    for n in 0..most {
        add(&mut rib, &mut mock, &mut model, &format!("/a/{n}"), 1, false);
    }
    rib.remove_face(1, &mut mock);
    model.clear();
    for n in 0..most {
        add(&mut rib, &mut mock, &mut model, &format!("/a/{n}"), 2, false);
    }
    let route = |origin| {
        let (prefix, flags) = ("/b".parse().unwrap(), RouteFlags::default());
        Route { prefix, face: 2, origin, cost: 0, flags, expires: Time::NEVER }
    };
    assert!(rib.add(&route(0), &mut mock).is_err(), "those of faces that are there stay");
    follow(&mut rib, &mut mock, &mut now);
    assert_eq!((rib.len(), &mock.fib), (most, &fib(&model)));
}

/// A prefix of 10 + 10 * 10 + 10 * 10 * 9 on three levels. Many have others below them, and all together are several parts.
fn one_of_a_thousand() -> impl Strategy<Value = String> {
    let first = || 0..10_u8;
    prop_oneof![
        1 => first().prop_map(|a| format!("/{a}")),
        3 => (first(), first()).prop_map(|(a, b)| format!("/{a}/{b}")),
        6 => (first(), first(), 0..9_u8).prop_map(|(a, b, c)| format!("/{a}/{b}/{c}")),
    ]
}

/// Chooses one of three faces. Its number depends on how many faces were removed before.
fn step_between_parts() -> impl Strategy<Value = Step> {
    let key = || (one_of_a_thousand(), 0..3_u64, 0..2_u64);
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.05));
    let flags = flags.prop_map(|(child_inherit, capture)| RouteFlags { child_inherit, capture });
    let lives = prop::option::weighted(0.3, 1..20_u64);
    prop_oneof![
        120 => (key(), 0..3_u64, flags, lives).prop_map(|(k, c, f, e)| Step::Add(k, c, f, e)),
        30 => key().prop_map(Step::Remove),
        1 => (0..3_u64).prop_map(Step::Lose),
        10 => (0..4_u64).prop_map(Step::Wait),
    ]
}

/// A RIB with arbitrary changes between two parts.
struct Between {
    mock: Mock,
    rib: Rib,
    model: Model,
    now: Time,
    /// The numbers of the existing faces.
    faces: [FaceNumber; 3],
}

impl Between {
    /// Creates a route to each of the thousand prefixes, by the faces in turn.
    fn new() -> Between {
        let faces = [1, 2, 3];
        let mut all =
            Between { mock: Mock::new(), rib: Rib::new(10_000), model: Model::new(), now: Time::ZERO, faces };
        for n in 0..1000_u64 {
            let (a, b, c) = (n / 100, n / 10 % 10, n % 10);
            let prefix = match (b, c) {
                (0, 0) => format!("/{a}"),
                (_, 0) => format!("/{a}/{b}"),
                _ => format!("/{a}/{b}/{c}"),
            };
            let flags = RouteFlags { child_inherit: c == 0, capture: false };
            all.step(Step::Add((prefix, n % 3, 0), n % 2, flags, None));
        }
        all
    }

    fn step(&mut self, step: Step) {
        let Between { mock, rib, model, now, faces } = self;
        match step {
            Step::Add((prefix, which, origin), cost, flags, lives_ms) => {
                let expires = lives_ms.map_or(Time::NEVER, |ms| *now + Span::from_millis(ms));
                let (name, face) = (prefix.parse().unwrap(), faces[which as usize]);
                rib.add(&Route { prefix: name, face, origin, cost, flags, expires }, mock).unwrap();
                model.insert((prefix, face, origin), (cost, flags, expires));
            }
            Step::Remove((prefix, which, origin)) => {
                let face = faces[which as usize];
                rib.remove(&prefix.parse().unwrap(), face, origin, mock);
                model.remove(&(prefix, face, origin));
            }
            Step::Lose(which) => self.lose(which as usize),
            Step::Wait(ms) => {
                *now += Span::from_millis(ms);
                self.expire();
            }
        }
    }

    /// Removes a face: the core forgets it, and its number is never used again.
    fn lose(&mut self, which: usize) {
        let Between { mock, rib, model, faces, .. } = self;
        let (lost, next) = (faces[which], faces.iter().max().unwrap() + 1);
        mock.faces.remove(&lost);
        for hops in mock.fib.values_mut() {
            hops.remove(&lost);
        }
        mock.fib.retain(|_, hops| !hops.is_empty());
        mock.added.values_mut().for_each(|faces| faces.retain(|face| *face != lost));
        rib.remove_face(lost, mock);
        model.retain(|key, _| key.1 != lost);
        mock.faces.insert(next, face(next, "udp4://10.0.0.4:6363", FaceScope::NonLocal));
        faces[which] = next;
    }

    fn expire(&mut self) {
        if self.rib.next_deadline() <= self.now {
            self.rib.expire(self.now, &mut self.mock);
        }
    }

    fn finish(&mut self) {
        while self.rib.next_deadline() != Time::NEVER {
            self.now = self.now.max(self.rib.next_deadline());
            self.expire();
        }
        let now = self.now;
        self.model.retain(|_, route| route.2 > now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_fib_becomes_that_of_the_rules_whatever_comes_between_parts(
        steps in prop::collection::vec(step_between_parts(), 1..1000)
    ) {
        let mut all = Between::new();
        steps.into_iter().for_each(|step| all.step(step));
        all.finish();
        let Between { mock, rib, model, .. } = all;
        prop_assert_eq!(rib.len(), model.len());
        prop_assert_eq!(&mock.fib, &fib(&model));
        for (prefix, faces) in in_order(&model) {
            prop_assert_eq!(mock.in_order(&prefix), faces, "{}", prefix);
        }
    }
}
