use super::super::timing_wheel::{SLOT_SHIFT, SLOTS};
use super::*;
use crate::ids::FaceId;
use crate::name::testing::{HASHER, few_names, name};
use crate::seam::Departed;
use crate::units::Span;
use proptest::prelude::*;
use weir_packet::NackReason;

const SLOT: Span = Span::from_nanos(1 << SLOT_SHIFT);
const ROUND: Span = Span::from_nanos((SLOTS as u64) << SLOT_SHIFT);

/// Bytes: more than any test fills.
const ROOM: u64 = 1 << 24;

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Inserts with an expiry.
fn pend(pit: &mut Pit, name: &HashedName, can_be_prefix: bool, until: Time) -> PitId {
    let (id, _) = pit.find_or_insert(name, can_be_prefix, false, 0, Time::ZERO);
    pit.extend_expiry(id, until);
    id
}

/// Pops the next entry; the number of looks is not limited.
fn pop(pit: &mut Pit, now: Time) -> Option<PitId> {
    pit.pop_expired(now, &mut { usize::MAX })
}

fn matches(pit: &Pit, name: &HashedName, token: Option<PitId>, digest: Option<&[u8; 32]>) -> Vec<PitId> {
    let mut out = SmallVec::new();
    pit.matches(name, token, digest, &mut out);
    out.to_vec()
}

fn digest_name(uri: &str, digest: u8) -> HashedName {
    let mut full = name(uri);
    full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
    full
}

#[test]
fn an_interest_finds_its_entry_again_by_name_and_selectors() {
    let mut pit = Pit::new(HASHER, ROOM);
    let all = [(false, false), (true, false), (false, true), (true, true)];
    let ids = all.map(|(cbp, mbf)| pit.find_or_insert(&name("/a"), cbp, mbf, 0, Time::ZERO));
    assert!(ids.iter().all(|(_, new)| *new));
    for ((cbp, mbf), (id, _)) in all.into_iter().zip(ids) {
        assert_eq!(pit.find_or_insert(&name("/a"), cbp, mbf, 0, Time::ZERO), (id, false));
        assert_eq!(pit.find_exact(&name("/a"), cbp, mbf, 0), Some(id));
        let entry = pit.entry(id).unwrap();
        assert_eq!((entry.can_be_prefix(), entry.must_be_fresh(), entry.name()), (cbp, mbf, &name("/a")));
    }
    assert_eq!(pit.len(), 4);
    assert_eq!(pit.find_exact(&name("/b"), false, false, 0), None);
    assert_eq!(pit.iter().map(|(id, _)| id).collect::<Vec<_>>(), ids.map(|(id, _)| id));
}

#[test]
fn a_handle_outlives_its_entry_without_naming_another() {
    let mut pit = Pit::new(HASHER, ROOM);
    let old = pend(&mut pit, &name("/a"), false, ms(1));
    pit.entry_mut(old).unwrap().scratch = 5;
    assert!(pit.remove(old) && !pit.remove(old));
    let new = pend(&mut pit, &name("/a"), false, ms(1));
    assert_eq!(new.index(), old.index());
    assert!(pit.entry(old).is_none() && pit.entry_mut(old).is_none());
    assert_eq!(pit.entry(new).unwrap().scratch, 0);
    assert_eq!(matches(&pit, &name("/a"), Some(old), None), [new]);
    assert!(pit.remove(new));
    let stale = PitId { generation: new.generation.wrapping_add(1), ..new };
    assert!(pit.entry(stale).is_none(), "a free place has no entry, whatever the generation");
}

#[test]
fn a_token_survives_the_wire_and_a_foreign_one_does_no_harm() {
    let mut pit = Pit::new(HASHER, ROOM);
    let a = pend(&mut pit, &name("/a"), false, ms(1));
    let b = pend(&mut pit, &name("/b"), false, ms(1));
    assert_eq!(PitId::from_token(&b.to_token()), Some(b));
    assert_eq!(PitId::from_token(&[1; 5]), None);
    assert_eq!(PitId::from_token(&[]), None);
    for token in [Some(b), PitId::from_token(&[255; 6]), None, Some(a)] {
        assert_eq!(matches(&pit, &name("/a"), token, None), [a]);
        assert_eq!(matches(&pit, &name("/c"), token, None), []);
    }
}

#[test]
fn a_sending_is_pending_for_its_lifetime_until_a_nack_or_another_sending() {
    let mut record = OutRecord::unsent(FaceId(1));
    assert!(!record.is_pending(ms(0)));
    record.send(7, ms(10), Span::from_nanos(1_000_001));
    assert!(record.is_pending(ms(11)) && !record.is_pending(ms(12)));
    assert_eq!(record.rtt(ms(15)), Some(Span::from_millis(5)));
    record.send(8, ms(12), Span::from_secs(3600));
    assert_eq!((record.nonce, record.sent, record.rtt(ms(15))), (8, ms(12), None));
    assert!(record.is_pending(ms(12 + 3_599_999)) && !record.is_pending(ms(12 + 3_600_000)));
    record.give_up(Some(NackReason::Other(256)));
    assert!(!record.is_pending(ms(13)));
    assert_eq!(record.nacked, Some(255));
    record.send(9, ms(20), Span::from_secs(1));
    assert_eq!((record.nacked, record.rtt(ms(21))), (None, Some(Span::from_millis(1))));
    record.leave(8, ms(21), 3);
    assert_eq!(record.departed(), None, "an earlier sending has left");
    record.leave(9, ms(22), 4);
    assert_eq!(record.departed(), Some(Departed { left: ms(22), note: 4 }));
    record.send(9, ms(23), Span::from_secs(1));
    record.leave(9, ms(24), 6);
    assert_eq!(record.departed(), None, "which of the two is answered is not known");
    record.give_up(None);
    assert_eq!(record.departed(), None);
    record.send(10, ms(25), Span::from_secs(1));
    assert_eq!(record.departed(), None);
}

#[test]
fn a_hop_touches_few_cache_lines() {
    assert_eq!(size_of::<OutRecord>(), 32);
    assert_eq!(size_of::<PitEntry>(), 256);
}

#[test]
fn a_pit_that_grows_moves_none_but_its_first_entries() {
    let mut pit = Pit::new(HASHER, 1 << 30);
    let mut places = Vec::new();
    for n in 0..3_000 {
        let mut one = HashedName::new();
        one.assign_segment(&HASHER, &name("/a"), n).unwrap();
        let id = pend(&mut pit, &one, false, ms(1));
        places.push((id, &raw const *pit.entry(id).unwrap()));
    }
    let moved = places.iter().filter(|(id, place)| &raw const *pit.entry(*id).unwrap() != *place).count();
    assert!(moved <= 64, "{moved} have moved");
}

#[test]
fn data_satisfies_every_interest_that_it_may() {
    let mut pit = Pit::new(HASHER, ROOM);
    let exact = pend(&mut pit, &name("/a/b"), false, ms(1));
    let root = pend(&mut pit, &name("/"), true, ms(1));
    let prefix = pend(&mut pit, &name("/a"), true, ms(1));
    pend(&mut pit, &name("/a"), false, ms(1));
    pend(&mut pit, &name("/a/b/c"), true, ms(1));
    let fresh = pit.find_or_insert(&name("/a/b"), true, true, 0, Time::ZERO).0;
    assert_eq!(matches(&pit, &name("/a/b"), Some(exact), None), [exact, fresh, prefix, root]);
    assert_eq!(matches(&pit, &name("/"), None, None), [root]);
    assert_eq!(matches(&pit, &name("/x/y/z"), None, None), [root]);
}

#[test]
fn an_interest_with_a_digest_is_for_that_data_only() {
    let mut pit = Pit::new(HASHER, ROOM);
    let full = pend(&mut pit, &digest_name("/a", 1), false, ms(1));
    let plain = pend(&mut pit, &name("/a"), false, ms(1));
    assert!(pit.wants_digest(&name("/a")) && !pit.wants_digest(&name("/b")));
    assert_eq!(matches(&pit, &name("/a"), None, Some(&[1; 32])), [full, plain]);
    assert_eq!(matches(&pit, &name("/a"), Some(full), Some(&[2; 32])), [plain]);
    assert_eq!(matches(&pit, &name("/b"), None, Some(&[1; 32])), []);
    assert_eq!(matches(&pit, &name("/a"), None, None), [plain]);
    pit.remove(full);
    assert!(!pit.wants_digest(&name("/a")));
}

#[test]
fn an_entry_expires_within_a_slot_of_its_time() {
    let mut pit = Pit::new(HASHER, ROOM);
    let expiry = ms(4_000);
    let id = pend(&mut pit, &name("/a"), false, expiry);
    let deadline = pit.next_deadline();
    assert!(deadline >= expiry && deadline <= expiry + SLOT, "{deadline}");
    assert_eq!(pop(&mut pit, deadline - Span::from_nanos(1)), None);
    assert_eq!(pop(&mut pit, deadline), Some(id));
    assert_eq!(pop(&mut pit, deadline), None);
    assert_eq!(pit.next_deadline(), Time::NEVER);
    assert!(pit.entry(id).is_some(), "popped is not removed");
    pit.extend_expiry(id, deadline + Span::from_millis(10));
    let deadline = pit.next_deadline();
    assert_eq!(pop(&mut pit, deadline), Some(id));
}

#[test]
fn an_expiry_is_extended_and_never_shortened_unless_set() {
    let mut pit = Pit::new(HASHER, ROOM);
    let id = pend(&mut pit, &name("/a"), false, ms(100));
    pit.extend_expiry(id, ms(50));
    assert_eq!(pit.entry(id).unwrap().expires(), ms(100));
    pit.extend_expiry(id, ms(200));
    assert_eq!(pop(&mut pit, ms(150)), None);
    pit.set_expiry(id, ms(160));
    assert_eq!(pop(&mut pit, ms(170)), Some(id));
    pit.set_expiry(id, Time::NEVER);
    assert_eq!((pit.next_deadline(), pop(&mut pit, Time::NEVER)), (Time::NEVER, None));
}

#[test]
fn an_expiry_in_the_past_is_due_soon() {
    let mut pit = Pit::new(HASHER, ROOM);
    let now = ms(1_000_000);
    let (id, _) = pit.find_or_insert(&name("/a"), false, false, 0, now);
    pit.extend_expiry(id, ms(5));
    assert!(pit.next_deadline() > now && pit.next_deadline() <= now + SLOT);
    let deadline = pit.next_deadline();
    assert_eq!(pop(&mut pit, deadline), Some(id));
}

#[test]
fn a_lifetime_of_many_rounds_is_kept() {
    let mut pit = Pit::new(HASHER, ROOM);
    let expiry = Time::ZERO + ROUND * 3 + Span::from_millis(500);
    let id = pend(&mut pit, &name("/a"), false, expiry);
    let mut wakes = 0;
    loop {
        let now = pit.next_deadline();
        wakes += 1;
        if let Some(popped) = pop(&mut pit, now) {
            assert_eq!(popped, id);
            assert!(now >= expiry && now <= expiry + SLOT);
            break;
        }
        assert!(now < expiry);
    }
    assert_eq!(wakes, 4, "once a round");
}

#[test]
fn a_long_sleep_loses_nobody() {
    let mut pit = Pit::new(HASHER, ROOM);
    for n in 0..5_000 {
        let mut one = HashedName::new();
        one.assign_segment(&HASHER, &name("/a"), n).unwrap();
        pend(&mut pit, &one, false, ms(n * 3));
    }
    let late = pend(&mut pit, &name("/late"), false, Time::from_nanos(u64::MAX - 1));
    let far = Time::from_nanos(u64::MAX / 2);
    let mut count = 0;
    while let Some(id) = pop(&mut pit, far) {
        assert!(pit.remove(id));
        count += 1;
    }
    assert_eq!((count, pit.len()), (5_000, 1));
    assert!(pit.next_deadline() > far);
    assert!(pit.entry(late).is_some());
}

#[test]
fn removing_others_while_popping_is_safe() {
    let mut pit = Pit::new(HASHER, ROOM);
    let ids: Vec<PitId> = ["/a", "/b", "/c", "/d", "/e"]
        .into_iter()
        .map(|uri| pend(&mut pit, &name(uri), false, ms(10)))
        .collect();
    let now = ms(20);
    assert_eq!(pop(&mut pit, now), Some(ids[0]));
    pit.remove(ids[1]);
    pit.remove(ids[4]);
    // An entry that joins the slot being drained is not forgotten.
    let joined = pend(&mut pit, &name("/f"), false, ms(10));
    assert!(pit.next_deadline() <= now);
    pit.remove(ids[0]);
    let mut rest = Vec::new();
    while let Some(id) = pop(&mut pit, now) {
        rest.push(id);
    }
    assert_eq!(rest, [ids[2], ids[3], joined]);
}

#[test]
fn one_that_comes_late_to_the_slot_being_drained_is_due_in_the_next() {
    let mut pit = Pit::new(HASHER, ROOM);
    let first = pend(&mut pit, &name("/a"), false, ms(10));
    let other = pend(&mut pit, &name("/b"), false, ms(50));
    assert_eq!(pop(&mut pit, ms(20)), Some(first));
    let late = pend(&mut pit, &name("/c"), false, ms(10));
    assert!(pit.next_deadline() <= ms(20));
    assert_eq!(pop(&mut pit, ms(20)), Some(late));
    assert_eq!(pop(&mut pit, ms(60)), Some(other));
}

#[test]
fn no_more_are_looked_at_than_may_be_and_the_next_call_goes_on_behind_them() {
    let mut pit = Pit::new(HASHER, ROOM);
    let pend_in = |pit: &mut Pit, number, rounds| {
        let mut one = HashedName::new();
        one.assign_segment(&HASHER, &name("/a"), number).unwrap();
        pend(pit, &one, false, ms(10) + ROUND * rounds)
    };
    let rounds = [1, 2, 1, 3, 0, 0, 1, 1, 2, 0, 1, 1];
    let ids: Vec<PitId> =
        (0..).zip(rounds).map(|(number, rounds)| pend_in(&mut pit, number, rounds)).collect();
    let now = ms(10) + SLOT;
    let pop = |pit: &mut Pit, most| {
        let mut looks = most;
        (pit.pop_expired(now, &mut looks), most - looks)
    };
    assert_eq!(pop(&mut pit, 3), (None, 3));
    assert!(pit.next_deadline() <= now, "there is more to look at");
    // The next entry to examine is removed, and another is added after the last.
    pit.remove(ids[3]);
    pend_in(&mut pit, 12, 1);
    assert_eq!(pop(&mut pit, 0), (None, 0));
    assert_eq!(pop(&mut pit, 1), (Some(ids[4]), 1));
    assert_eq!(pop(&mut pit, 3), (Some(ids[5]), 1));
    assert_eq!(pop(&mut pit, 2), (None, 2));
    assert_eq!(pop(&mut pit, 2), (Some(ids[9]), 2));
    assert_eq!(pop(&mut pit, 9), (None, 3));
    assert!(pit.next_deadline() >= ms(10) + ROUND, "{}", pit.next_deadline());
}

#[derive(Clone, Debug)]
enum Op {
    /// Name, digest, CanBePrefix, MustBeFresh, hint, lifetime.
    Insert(HashedName, Option<u8>, bool, bool, u32, u64),
    /// Name, digest, which token.
    Match(HashedName, u8, usize),
    Remove(usize),
    Extend(usize, u64),
    Shorten(usize, u64),
    Later(u64),
    /// Pops at most this many, and examines at most this many.
    Pop(usize, usize),
}

fn lifetime() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..20_000_000, 4 => 0u64..4_000_000_000, 1 => 0u64..40_000_000_000]
}

fn op() -> impl Strategy<Value = Op> {
    let digest = prop_oneof![6 => Just(None), 1 => (0u8..2).prop_map(Some)];
    let hint = prop_oneof![6 => Just(0), 1 => 1u32..3];
    prop_oneof![
        10 => (few_names(3), digest, prop::bool::weighted(0.2), prop::bool::weighted(0.2), hint, lifetime())
            .prop_map(|(n, d, c, m, h, l)| Op::Insert(n, d, c, m, h, l)),
        8 => (few_names(4), 0u8..2, any::<usize>()).prop_map(|(n, d, t)| Op::Match(n, d, t)),
        3 => any::<usize>().prop_map(Op::Remove),
        2 => (any::<usize>(), lifetime()).prop_map(|(i, l)| Op::Extend(i, l)),
        1 => (any::<usize>(), lifetime()).prop_map(|(i, l)| Op::Shorten(i, l)),
        4 => lifetime().prop_map(Op::Later),
        4 => (0usize..4, prop_oneof![Just(usize::MAX), 0usize..4]).prop_map(|(m, l)| Op::Pop(m, l)),
    ]
}

/// The expected contents of the table, in order of insertion.
#[derive(Clone, Debug)]
struct Pending {
    id: PitId,
    name: HashedName,
    digest: Option<u8>,
    can_be_prefix: bool,
    must_be_fresh: bool,
    hint: u32,
    expires: Time,
}

fn compare(ops: Vec<Op>) -> Result<(), TestCaseError> {
    let mut pit = Pit::new(HASHER, ROOM);
    let mut model: Vec<Pending> = Vec::new();
    let mut dead: Vec<PitId> = Vec::new();
    let mut now = Time::ZERO;
    for op in ops {
        let some = |at: usize| (!model.is_empty()).then(|| at % model.len());
        match op {
            Op::Insert(name, digest, can_be_prefix, must_be_fresh, hint, life) => {
                let mut full = name.clone();
                if let Some(digest) = digest {
                    full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
                }
                let known = model.iter().find(|p| {
                    p.name == name
                        && p.digest == digest
                        && (p.can_be_prefix, p.must_be_fresh, p.hint) == (can_be_prefix, must_be_fresh, hint)
                });
                let found = pit.find_exact(&full, can_be_prefix, must_be_fresh, hint);
                prop_assert_eq!(found, known.map(|p| p.id));
                let got = pit.find_or_insert(&full, can_be_prefix, must_be_fresh, hint, now);
                match known {
                    Some(known) => prop_assert_eq!(got, (known.id, false)),
                    None => {
                        let (id, new) = got;
                        prop_assert!(new && !dead.contains(&id) && model.iter().all(|p| p.id != id));
                        let expires = now + Span::from_nanos(life);
                        pit.extend_expiry(id, expires);
                        model.push(Pending { id, name, digest, can_be_prefix, must_be_fresh, hint, expires });
                    }
                }
            }
            Op::Match(name, digest, token) => {
                let token = match token % 3 {
                    0 => some(token / 3).map(|at| model[at].id),
                    1 => dead.get(token / 3 % dead.len().max(1)).copied(),
                    _ => model.iter().find(|p| p.name == name).map(|p| p.id),
                };
                let mut expected: Vec<PitId> = Vec::new();
                let mut found = matches(&pit, &name, token, Some(&[digest; 32]));
                for p in &model {
                    let exact = p.name == name && p.digest.is_none_or(|d| d == digest);
                    let longer =
                        p.can_be_prefix && p.digest.is_none() && name.wire().starts_with(p.name.wire());
                    if exact || longer {
                        expected.push(p.id);
                    }
                }
                found.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
            Op::Remove(at) => {
                if let Some(at) = some(at) {
                    let gone = model.remove(at);
                    prop_assert!(pit.remove(gone.id));
                    dead.push(gone.id);
                }
            }
            Op::Extend(at, life) => {
                if let Some(at) = some(at) {
                    let until = now + Span::from_nanos(life);
                    pit.extend_expiry(model[at].id, until);
                    model[at].expires = model[at].expires.max(until);
                }
            }
            Op::Shorten(at, life) => {
                if let Some(at) = some(at) {
                    model[at].expires = now + Span::from_nanos(life);
                    pit.set_expiry(model[at].id, model[at].expires);
                }
            }
            Op::Later(ns) => now += Span::from_nanos(ns),
            Op::Pop(most, mut looks) => {
                let mut popped = 0;
                while popped < most
                    && let Some(id) = pit.pop_expired(now, &mut looks)
                {
                    let at = model.iter().position(|p| p.id == id);
                    prop_assert!(at.is_some(), "only live entries expire");
                    let gone = model.remove(at.unwrap());
                    prop_assert!(gone.expires <= now, "not before its time");
                    prop_assert!(pit.remove(id));
                    dead.push(id);
                    popped += 1;
                }
                if popped < most && looks > 0 {
                    prop_assert!(model.iter().all(|p| p.expires + SLOT > now), "nobody is forgotten");
                    prop_assert!(pit.next_deadline() > now, "time goes on");
                }
            }
        }
        prop_assert_eq!(pit.len(), model.len());
        let digests: u32 = pit.digests.values().sum();
        prop_assert_eq!(digests as usize, model.iter().filter(|p| p.digest.is_some()).count());
        prop_assert!(pit.digests.values().all(|&count| count > 0), "nothing is made in vain");
        // The values that decide about the fast paths.
        let mut names: Vec<_> = model.iter().map(|p| (p.name.wire(), p.digest)).collect();
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(pit.siblings, model.len() - names.len());
        prop_assert_eq!(pit.prefix_lengths.is_empty(), model.iter().all(|p| !p.can_be_prefix));
        for p in &model {
            let entry = pit.entry(p.id);
            prop_assert_eq!(entry.map(|e| e.expires()), Some(p.expires));
        }
        prop_assert!(dead.iter().all(|id| pit.entry(*id).is_none()));
        let deadline = pit.next_deadline();
        match model.iter().map(|p| p.expires).min() {
            None => prop_assert_eq!(deadline, Time::NEVER),
            // An expiry that is already past when it is set waits for the present slot.
            Some(first) => {
                prop_assert!(deadline <= first.max(now) + SLOT, "{} after {}", deadline, first)
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn it_agrees_with_a_list(ops in prop::collection::vec(op(), 0..200)) {
        compare(ops)?;
    }

    #[test]
    fn within_a_round_the_deadline_is_never_before_the_expiry(lives in prop::collection::vec(0u64..4_000_000_000, 1..50)) {
        let mut pit = Pit::new(HASHER, ROOM);
        for (n, life) in lives.iter().enumerate() {
            let mut one = HashedName::new();
            one.assign_segment(&HASHER, &name("/a"), n as u64).unwrap();
            pend(&mut pit, &one, false, Time::from_nanos(*life));
        }
        let mut order = Vec::new();
        while !pit.is_empty() {
            let now = pit.next_deadline();
            let id = pop(&mut pit, now);
            prop_assert!(id.is_some(), "no wake-up in vain");
            order.push(pit.entry(id.unwrap()).unwrap().expires().as_nanos() >> SLOT_SHIFT);
            pit.remove(id.unwrap());
        }
        prop_assert!(order.is_sorted());
    }
}

mod shares;
