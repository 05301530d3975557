//! Interests with forwarding hints, which name the networks of their producers.

use super::*;
use crate::packet::Packet;

impl Bench {
    fn hinted(&mut self, uri: &str, hint: &[&str]) -> Vec<Seen> {
        self.hinted_from(self.neighbours[0], uri, hint)
    }

    fn hinted_from(&mut self, from: FaceId, uri: &str, hint: &[&str]) -> Vec<Seen> {
        let nonce = self.now.as_nanos() as u32;
        self.later(1);
        let packet = self.packet(Kind::Interest, uri, nonce);
        self.pool[packet].hint = Some(hint.iter().map(|uri| name(uri)).collect());
        only_seen(self.give(from, packet))
    }
}

#[test]
fn the_first_delegation_with_a_route_says_where_an_interest_goes() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    bench.node.add_route(&name("/net"), other, 1);
    let no_route = [Seen::Nack(down, NackReason::NoRoute)];
    assert_eq!(bench.hinted("/b/1", &["/nowhere", "/net/x", "/a"]), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/b/1"), [Seen::Data(down)]);
    assert_eq!(bench.hinted("/b/2", &["/a/x", "/net"]), [Seen::Interest(up)]);
    assert_eq!(bench.hinted("/a/1", &["/nowhere"]), no_route, "not by its name");
    assert_eq!(bench.hinted("/a/2", &[]), no_route);
}

#[test]
fn interests_of_one_hint_are_one_and_others_are_not() {
    let mut bench = Bench::new().routed();
    let [down, second, up, other] = bench.neighbours;
    bench.node.add_route(&name("/b"), other, 1);
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    assert_eq!(bench.hinted_from(second, "/b/1", &["/a"]), []);
    assert_eq!(bench.interest(second, "/b/1", 99), [Seen::Interest(other)]);
    assert_eq!(bench.hinted_from(second, "/b/1", &["/nowhere", "/a"]), [Seen::Interest(up)]);
    assert_eq!(bench.node.pit().len(), 3);
    assert_eq!(bench.data(other, "/b/1"), [Seen::Data(second)]);
    assert_eq!(bench.data(up, "/b/1"), [Seen::Data(down), Seen::Data(second)]);
    assert!(bench.node.pit().is_empty());
}

#[test]
fn a_delegation_of_this_host_leads_nobody_to_its_applications() {
    let mut bench = Bench::new();
    let [down, ..] = bench.neighbours;
    for scope in ["/localhost", "/localhop"] {
        bench.node.add_route(&name(scope), bench.application, 0);
        let hint = format!("{scope}/nfd");
        assert_eq!(bench.hinted("/b/1", &[&hint]), [Seen::Nack(down, NackReason::NoRoute)]);
    }
}

/// A default route takes the names that no other route takes: also the first delegation, whatever the others
/// are (NFD, `Strategy::lookupFib`).
#[test]
fn a_default_route_leads_to_all_delegations() {
    let mut bench = Bench::new().routed();
    let [_, _, up, gateway] = bench.neighbours;
    bench.node.add_route(&name("/"), gateway, 1);
    assert_eq!(bench.hinted("/b/1", &["/nowhere", "/a"]), [Seen::Interest(gateway)]);
    assert_eq!(bench.hinted("/b/2", &["/a", "/nowhere"]), [Seen::Interest(up)]);
}

#[test]
fn the_content_store_answers_whatever_the_hint_where_the_name_leads_to_who_has_answered() {
    let mut bench = Bench::new().routed().cached();
    let [down, _, up, _] = bench.neighbours;
    bench.node.add_route(&name("/b"), up, 1);
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    assert_eq!(bench.data(up, "/b/1"), [Seen::Data(down)]);
    for hint in [&["/nowhere"][..], &["/a"], &[]] {
        assert_eq!(bench.hinted("/b/1", hint), [Seen::Data(down)]);
    }
    assert_eq!(bench.interest(down, "/b/1", 99), [Seen::Data(down)]);
}

/// A consumer whose hint names its own network chooses who answers, but only for itself.
#[test]
fn data_that_a_hint_has_asked_for_reach_nobody_who_asks_otherwise() {
    let mut bench = Bench::new().routed().cached();
    let [victim, stranger, bank, evil] = bench.neighbours;
    bench.node.add_route(&name("/evil"), evil, 1);
    bench.node.add_route(&name("/bank"), bank, 1);
    // While others wait for the same name.
    assert_eq!(bench.interest(victim, "/bank/1", 1), [Seen::Interest(bank)]);
    assert_eq!(bench.hinted_from(stranger, "/bank/1", &["/evil"]), [Seen::Interest(evil)]);
    assert_eq!(bench.data(evil, "/bank/1"), [Seen::Data(stranger)]);
    assert_eq!(bench.data(evil, "/bank/1"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.data(bank, "/bank/1"), [Seen::Data(victim)]);
    // Before others ask with another hint, for a prefix, or by the name.
    assert_eq!(bench.hinted_from(stranger, "/bank/2", &["/evil"]), [Seen::Interest(evil)]);
    assert_eq!(bench.data(evil, "/bank/2"), [Seen::Data(stranger)]);
    assert_eq!(bench.hinted_from(stranger, "/bank/2", &["/evil"]), [Seen::Data(stranger)], "it is here");
    assert_eq!(bench.hinted_from(victim, "/bank/2", &["/a"]), [Seen::Interest(bank)]);
    let prefix = bench.packet(Kind::Interest, "/bank/2", 2);
    bench.pool[prefix].can_be_prefix = true;
    assert_eq!(only_seen(bench.give(victim, prefix)), [Seen::Interest(bank)]);
    assert_eq!(bench.interest(victim, "/bank/2", 3), [Seen::Interest(bank)]);
    assert_eq!(bench.data(bank, "/bank/2"), [Seen::Data(victim)]);
    assert_eq!(bench.interest(victim, "/bank/2", 4), [Seen::Data(victim)]);
    // Nor does it replace the copy for all consumers, or answer late.
    assert_eq!(bench.interest(stranger, "/bank/2", 5), [Seen::Data(stranger)]);
    let packet = bench.packet(Kind::Interest, "/bank/2", 6);
    bench.pool[packet].hint = Some([name("/evil")].into());
    bench.pool[packet].header_mut().signals.set(&Signal::PAST_STORES, 1);
    assert_eq!(only_seen(bench.give(stranger, packet)), [Seen::Interest(evil)]);
    assert_eq!(bench.data(evil, "/bank/2"), [Seen::Data(stranger)]);
    assert_eq!(bench.interest(victim, "/bank/2", 7), [Seen::Data(victim)]);
}

#[test]
fn an_earlier_interest_of_a_hint_lets_nobody_answer_for_others() {
    let mut bench = Bench::new().routed();
    let [victim, stranger, bank, evil] = bench.neighbours;
    bench.node.add_route(&name("/evil"), evil, 1);
    bench.node.add_route(&name("/bank"), bank, 1);
    let packet = bench.packet(Kind::Interest, "/bank/1", 1);
    bench.pool[packet].hint = Some([name("/evil")].into());
    bench.pool[packet].lifetime = Span::from_millis(10);
    assert_eq!(only_seen(bench.give(stranger, packet)), [Seen::Interest(evil)]);
    bench.later(20);
    bench.input(Input::Deadline);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.interest(victim, "/bank/1", 2), [Seen::Interest(bank)]);
    assert_eq!(bench.data(evil, "/bank/1"), [Seen::Dropped(DropReason::OutOfLifetime)]);
    assert_eq!(bench.hinted_from(stranger, "/bank/1", &["/evil"]), [Seen::Interest(evil)]);
    assert_eq!(bench.data(evil, "/bank/1"), [Seen::Data(stranger)]);
}

/// A Data looks at all entries of a name.
#[test]
fn of_the_hints_of_one_name_who_has_most_loses_first() {
    let mut bench = Bench::new().routed();
    let [victim, stranger, up, _] = bench.neighbours;
    let hint = |n: u32| format!("/a/{n}");
    assert_eq!(bench.hinted_from(victim, "/b/1", &["/a/victim"]), [Seen::Interest(up)]);
    for n in 0..1000 {
        assert_eq!(bench.hinted_from(stranger, "/b/1", &[&hint(n)]), [Seen::Interest(up)]);
    }
    assert_eq!((bench.node.pit().len(), bench.node.evicted_interests()), (8, 993));
    assert_eq!(bench.hinted_from(victim, "/b/1", &["/a/second"]), [Seen::Interest(up)]);
    assert_eq!(bench.interest(victim, "/a", 1), [Seen::Interest(up)], "another name");
    assert_eq!(bench.node.evicted_interests(), 994);
    let got = bench.data(up, "/b/1");
    // A neighbour gets it once for all of its Interests.
    assert_eq!(got, [Seen::Data(victim), Seen::Data(stranger)]);
    assert_eq!(bench.node.pit().len(), 1);
}

#[test]
fn who_asked_first_does_not_end_by_other_hints_what_others_wait_for() {
    let mut bench = Bench::new().routed();
    let [victim, stranger, up, _] = bench.neighbours;
    assert_eq!(bench.hinted_from(stranger, "/b/1", &["/a/shared"]), [Seen::Interest(up)]);
    assert_eq!(bench.hinted_from(victim, "/b/1", &["/a/shared"]), []);
    for n in 0..20 {
        bench.hinted_from(stranger, "/b/1", &[&format!("/a/{n}")]);
    }
    let pit = bench.node.pit();
    assert_eq!((pit.len(), pit.iter().filter(|(_, entry)| entry.in_records.len() == 2).count()), (8, 1));
}

/// The name selects the strategy, not the delegation (NFD).
#[test]
fn the_name_says_which_strategy_forwards_an_interest() {
    let mut bench = Bench::new().routed();
    let [_, _, up, other] = bench.neighbours;
    let multicast = bench.node.add_strategy(Box::new(crate::seam::Multicast::default())).unwrap();
    bench.node.choose_strategy(&name("/b"), multicast);
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(other), Seen::Interest(up)]);
    assert_eq!(bench.hinted("/c/1", &["/a"]), [Seen::Interest(up)]);
}

impl Bench {
    /// A Nack for the pending Interest, with this hint.
    fn nack_hinted(&mut self, face: FaceId, uri: &str, hint: Option<&str>) -> Vec<Seen> {
        let is_it = |(_, entry): &(PitId, &crate::tables::pit::PitEntry)| *entry.name() == name(uri);
        let nonce = self.node.pit().iter().find(is_it).expect("it is pending").1.out_records[0].nonce;
        let nack = self.packet(Kind::Nack, uri, nonce);
        self.pool[nack].header_mut().set_nack(Some(NackReason::NoRoute));
        self.pool[nack].hint = hint.map(|uri| [name(uri)].into());
        only_seen(self.give(face, nack))
    }
}

#[test]
fn after_a_nack_the_hint_says_which_next_hop_is_tried() {
    let mut bench = Bench::new().routed();
    let [_, _, up, other] = bench.neighbours;
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    assert_eq!(bench.nack_hinted(up, "/b/1", Some("/a")), [Seen::Interest(other)]);
}

/// NFD removes the hint in the producer's region, also in the Nack that it returns.
#[test]
fn after_a_nack_without_the_hint_the_interest_goes_on_with_it() {
    let mut bench = Bench::new().routed();
    let [down, accomplice, up, other] = bench.neighbours;
    bench.node.add_route(&name("/b"), accomplice, 1);
    let packet = bench.packet(Kind::Interest, "/b/1", 7);
    bench.pool[packet].hint = Some([name("/a")].into());
    bench.pool[packet].hop_limit = Some(9);
    assert_eq!(only_seen(bench.give(down, packet)), [Seen::Interest(up)]);
    let nack = bench.packet(Kind::Nack, "/b/1", 7);
    bench.pool[nack].header_mut().set_nack(Some(NackReason::Congestion));
    bench.pool[nack].hop_limit = Some(3);
    let sent = bench.give(up, nack);
    let [(Seen::Interest(face), again)] = sent[..] else { panic!("{sent:?}") };
    let again = &bench.pool[again];
    assert_eq!((face, again.nonce, again.hop_limit), (other, 7, Some(8)));
    assert_eq!(again.hint.as_deref(), Some(&[name("/a")][..]));
    // No next hop is left: the downstream gets its own Interest back, with the least severe reason.
    let refused = bench.packet(Kind::Nack, "/b/1", 7);
    bench.pool[refused].header_mut().set_nack(Some(NackReason::NoRoute));
    let sent = bench.give(other, refused);
    let [(Seen::Nack(face, NackReason::Congestion), back)] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((face, bench.pool[back].hint.as_deref()), (down, Some(&[name("/a")][..])));
}

#[test]
fn what_is_kept_for_a_nack_is_counted_and_given_back() {
    let mut bench = Bench::new().routed();
    let [down, _, up, other] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    let plain = bench.node.pit().held_by(down);
    let long = format!("/a/{}", "x".repeat(900));
    for n in 0..4 {
        assert_eq!(bench.hinted(&format!("/b/{n}"), &[&long]), [Seen::Interest(up)]);
    }
    let each = (bench.node.pit().held_by(down) - plain) / 4;
    assert!(each > plain + 900 + size_of::<Packet>() as u64, "{each}");
    let in_use = bench.pool.in_use();
    assert_eq!(bench.data(up, "/b/0"), [Seen::Data(down)]);
    assert_eq!(bench.nack_hinted(up, "/b/1", None), [Seen::Interest(other)]);
    bench.later(5_000);
    bench.input(Input::Deadline);
    assert_eq!(bench.node.pit().len(), 0);
    // The world owns the Data and the Interest that left.
    assert_eq!(bench.pool.in_use(), in_use - 4 + 2);
}

#[test]
fn after_a_nack_the_route_is_looked_up_again() {
    let mut bench = Bench::new().routed();
    let [down, third, up, other] = bench.neighbours;
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    for face in [up, other] {
        bench.node.remove_route(bench.now, &name("/a"), face, &mut bench.pool, &mut Vec::new());
    }
    // The number of the entry belongs to another one now.
    bench.node.add_route(&name("/c"), third, 1);
    assert_eq!(bench.nack_hinted(up, "/b/1", None), [Seen::Nack(down, NackReason::NoRoute)]);
}

#[test]
fn a_nack_with_another_hint_is_no_answer() {
    let mut bench = Bench::new().routed();
    let [down, accomplice, up, other] = bench.neighbours;
    for prefix in ["/net", "/b"] {
        bench.node.add_route(&name(prefix), accomplice, 1);
    }
    let unsolicited = [Seen::Dropped(DropReason::Unsolicited)];
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    for changed in ["/net", "/a/x"] {
        assert_eq!(bench.nack_hinted(up, "/b/1", Some(changed)), unsolicited, "{changed}");
    }
    assert_eq!(bench.data(up, "/b/1"), [Seen::Data(down)]);
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    assert_eq!(bench.nack_hinted(up, "/a/1", Some("/net")), unsolicited);
    assert_eq!(bench.nack_hinted(up, "/a/1", None), [Seen::Interest(other)]);
}

/// The store answers the consumer, and an entry of another hint gets its own answer.
#[test]
fn what_the_store_answers_ends_nothing_that_waits_by_another_hint() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, other] = bench.neighbours;
    bench.node.add_route(&name("/b"), other, 1);
    for uri in ["/b/1", "/b/2"] {
        assert_eq!(bench.hinted(uri, &["/a"]), [Seen::Interest(up)]);
        assert_eq!(bench.interest(second, uri, 99), [Seen::Interest(other)]);
        assert_eq!(bench.data(other, uri), [Seen::Data(second)]);
        assert_eq!(bench.interest(second, uri, 100), [Seen::Data(second)], "from the store");
        assert_eq!(bench.hinted_from(second, uri, &["/nowhere"]), [Seen::Data(second)]);
        assert_eq!(bench.interest(down, uri, 101), [Seen::Data(down)], "also who waits by the hint");
        bench.later(200);
        assert_eq!(bench.hinted(uri, &["/a"]), [Seen::Data(down)], "and asks by it again");
    }
    assert_eq!(bench.node.pit().len(), 2);
    assert_eq!(bench.data(up, "/b/1"), [], "nobody waits for it any more");
    bench.later(5_000);
    assert_eq!(bench.input(Input::Deadline), []);
    assert_eq!((bench.node.pit().len(), bench.node.satisfied_and_unsatisfied()), (0, (4, 0)));
}

impl Bench {
    /// A consumer requests `/b/1` by the name, so that the store has it while another consumer waits with a
    /// hint.
    fn store_meanwhile(&mut self) {
        let [_, second, _, other] = self.neighbours;
        self.node.add_route(&name("/b"), other, 1);
        assert_eq!(self.interest(second, "/b/1", 99), [Seen::Interest(other)]);
        assert_eq!(self.data(other, "/b/1"), [Seen::Data(second)]);
    }
}

#[test]
fn who_is_answered_from_the_store_while_others_wait_by_its_hint_is_not_answered_twice() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    assert_eq!(bench.hinted_from(second, "/b/1", &["/a"]), []);
    bench.store_meanwhile();
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Data(down)]);
    assert_eq!(bench.data(up, "/b/1"), [Seen::Data(second)]);
    assert!(bench.node.pit().is_empty());
    assert_eq!(bench.node.satisfied_and_unsatisfied(), (2, 0));
}

#[test]
fn what_nobody_waits_for_makes_room_for_another_hint_and_not_what_several_wait_for() {
    let mut bench = Bench::new().routed().cached();
    let [stranger, victim, ..] = bench.neighbours;
    bench.hinted_from(stranger, "/b/1", &["/a/shared"]);
    bench.hinted_from(victim, "/b/1", &["/a/shared"]);
    (0..7).for_each(|n| drop(bench.hinted_from(stranger, "/b/1", &[&format!("/a/{n}")])));
    bench.store_meanwhile();
    for n in 0..7 {
        let answered = [Seen::Data(stranger)];
        assert_eq!(bench.hinted_from(stranger, "/b/1", &[&format!("/a/{n}")]), answered);
    }
    for n in 7..12 {
        let packet = bench.packet(Kind::Interest, "/b/1", n);
        bench.pool[packet].hint = Some([name(&format!("/a/{n}"))].into());
        bench.pool[packet].header_mut().signals.set(&Signal::PAST_STORES, 1);
        bench.give(stranger, packet);
    }
    let pit = bench.node.pit();
    assert_eq!((pit.len(), pit.iter().filter(|(_, entry)| entry.in_records.len() == 2).count()), (8, 1));
    assert_eq!(bench.node.evicted_interests(), 0);
}

/// Nor is it answered with Data, which would satisfy the entry that the Interest came from.
#[test]
fn an_interest_that_comes_back_is_a_loop_though_the_store_has_its_data_by_now() {
    let mut bench = Bench::new().routed().cached();
    let [_, second, up, _] = bench.neighbours;
    let nonce = bench.now.as_nanos() as u32;
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    bench.store_meanwhile();
    let looping = bench.packet(Kind::Interest, "/b/1", nonce);
    bench.pool[looping].hint = Some([name("/a")].into());
    assert_eq!(only_seen(bench.give(second, looping)), [Seen::Nack(second, NackReason::Duplicate)]);
}

#[test]
fn an_application_with_two_interests_of_a_hint_is_answered_twice() {
    let mut bench = Bench::new().routed().cached();
    let (application, [_, _, up, _]) = (bench.application, bench.neighbours);
    let ask = |bench: &mut Bench, token: u8| {
        bench.later(1);
        let nonce = bench.now.as_nanos() as u32;
        let packet = bench.packet(Kind::Interest, "/b/1", nonce);
        bench.pool[packet].hint = Some([name("/a")].into());
        bench.pool[packet].header_mut().pit_token = PitToken::new(&[token]).unwrap();
        only_seen(bench.give(application, packet))
    };
    assert_eq!(ask(&mut bench, 1), [Seen::Interest(up)]);
    bench.store_meanwhile();
    assert_eq!(ask(&mut bench, 2), [Seen::Data(application)]);
    assert_eq!(bench.entry().in_records.len(), 1, "the first still waits");
    assert_eq!(ask(&mut bench, 1), [Seen::Data(application)]);
    assert_eq!(bench.data(up, "/b/1"), []);
    assert!(bench.node.pit().is_empty());
}

#[test]
fn the_store_is_asked_once_for_each_interest_of_a_hint() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    let packet = bench.packet(Kind::Interest, "/b/1", 1);
    bench.pool[packet].hint = Some([name("/a")].into());
    bench.pool[packet].header_mut().signals.set(&Signal::PAST_STORES, 1);
    assert_eq!(only_seen(bench.give(down, packet)), [Seen::Interest(up)]);
    assert_eq!(bench.hinted_from(second, "/b/1", &["/a"]), []);
    assert_eq!(bench.node.content_store().misses(), 1);
}

/// So a scheme that counts pending Interests counts them correctly.
#[test]
fn a_strategy_hears_of_an_entry_whose_downstreams_the_store_has_answered() {
    let ends = Arc::default();
    let strategy = Box::new(CountsEnds(Arc::clone(&ends)));
    let mut bench = Bench::with(strategy, &TableLimits::default(), || tail(9)).routed().cached();
    let [down, _, up, _] = bench.neighbours;
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Interest(up)]);
    bench.store_meanwhile();
    assert_eq!(bench.hinted("/b/1", &["/a"]), [Seen::Data(down)]);
    assert_eq!(ends.load(Ordering::Relaxed), 0);
    bench.later(5_000);
    bench.input(Input::Deadline);
    assert_eq!((ends.load(Ordering::Relaxed), bench.node.satisfied_and_unsatisfied()), (1, (2, 0)));
}
