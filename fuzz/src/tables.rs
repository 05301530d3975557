//! Harness for the tables of `weir-core`: operations from bytes on the FIB, the PIT, the content store, the dead nonces
//! and the asked upstreams, each compared with a naive model, a list that is searched. It panics if they disagree.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PitId};
use weir_core::name::{HashedName, NameHasher, TYPE_GENERIC, TYPE_IMPLICIT_DIGEST};
use weir_core::tables::asked::AskedUpstreams;
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::tables::dead_nonce::{DEAD_NONCE_LIFETIME, DeadNonceList};
use weir_core::tables::fib::{Fib, Removed};
use weir_core::tables::pit::{InRecord, Pit};
use weir_core::units::{Span, Time};
use weir_packet::PitToken;

use super::input::Choices;

const HASHER: NameHasher = NameHasher::new(9);
const FACES: u32 = 4;
/// Maximum lateness of a timing wheel: two of its slots.
const LATE: Span = Span::from_nanos(2 << 22);

/// Runs the operations of `bytes` on one of the tables.
pub fn tables(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    match choices.below(4) {
        0 => fib(&mut choices),
        1 => pit(&mut choices),
        2 => store(&mut choices),
        _ => seen(&mut choices),
    }
}

/// One of few names, so that they collide: short ones, and some that need buffers.
fn name(choices: &mut Choices<'_>) -> HashedName {
    let mut name = HashedName::new();
    for _ in 0..choices.of(&[2, 1, 3, 0, 4, 6]) {
        let part = choices.of(&[0, 0, 1, 2, 7]);
        let value = if part == 7 { vec![7; 50] } else { vec![part] };
        // A few short components always fit.
        let _ = name.push(&HASHER, TYPE_GENERIC, &value);
    }
    name
}

fn face(choices: &mut Choices<'_>) -> FaceId {
    FaceId(choices.below(FACES as usize) as u32)
}

fn later(now: &mut Time, choices: &mut Choices<'_>) {
    let spans = [
        Span::from_millis(1),
        Span::ZERO,
        Span::from_nanos(1),
        Span::from_millis(5),
        Span::from_millis(700),
        Span::from_secs(5),
    ];
    *now += choices.of(&spans);
}

// ---- FIB

fn fib(choices: &mut Choices<'_>) {
    let mut fib = Fib::new();
    // The next hops in order: by cost, and with equal cost in the order of insertion.
    let mut model: BTreeMap<Vec<u8>, Vec<(u64, FaceId)>> = BTreeMap::new();
    while !choices.is_over() {
        match choices.below(8) {
            0..=2 => {
                let (prefix, face, cost) = (name(choices), face(choices), choices.of(&[0, 1, 2, u64::MAX]));
                let id = fib.insert(&prefix, face, cost);
                assert_eq!(fib.exact(&prefix), Some(id));
                let hops = model.entry(prefix.wire().to_vec()).or_default();
                hops.retain(|(_, other)| *other != face);
                hops.push((cost, face));
                hops.sort_by_key(|(cost, _)| *cost);
            }
            3 | 4 => {
                let (prefix, face) = (name(choices), face(choices));
                let hops = model.entry(prefix.wire().to_vec()).or_default();
                let before = hops.len();
                hops.retain(|(_, other)| *other != face);
                assert_eq!(fib.remove_next_hop(&prefix, face) != Removed::Nothing, hops.len() < before);
            }
            5 => {
                let face = face(choices);
                fib.remove_face(face, usize::MAX);
                model.values_mut().for_each(|hops| hops.retain(|(_, other)| *other != face));
            }
            _ => {
                let name = name(choices);
                let longest = (0..=name.len())
                    .rev()
                    .map(|n| name.prefix_wire(n))
                    .find(|wire| model.contains_key(*wire));
                let found = fib.lookup(&name);
                let entry = found.and_then(|id| fib.iter().find(|(other, ..)| *other == id));
                assert_eq!(entry.map(|(_, prefix, _)| prefix), longest);
                if let (Some(id), Some(wire)) = (found, longest) {
                    let found: Vec<_> = fib.next_hops(id).iter().map(|hop| (hop.cost, hop.face)).collect();
                    assert_eq!(found, model[wire]);
                }
            }
        }
        model.retain(|_, hops| !hops.is_empty());
        assert_eq!((fib.len(), fib.iter().count()), (model.len(), model.len()));
    }
}

// ---- PIT

/// An entry of the PIT.
struct Pending {
    id: PitId,
    name: HashedName,
    can_be_prefix: bool,
    must_be_fresh: bool,
    hint: u32,
    expires: Time,
    downstreams: Vec<FaceId>,
}

struct Pits {
    pit: Pit,
    /// In order of insertion.
    model: Vec<Pending>,
    /// Handles of removed entries.
    stale: Vec<PitId>,
    now: Time,
}

fn pit(choices: &mut Choices<'_>) {
    let bytes = choices.of(&[1 << 20, 20_000, 3000]);
    let mut pits = Pits {
        pit: Pit::new(HASHER, bytes),
        model: Vec::new(),
        stale: Vec::new(),
        now: Time::from_nanos(1 << 40),
    };
    while !choices.is_over() {
        match choices.below(10) {
            0..=3 => pits.ask(choices),
            4 | 5 => pits.answer(choices),
            6 => pits.pass(choices),
            7 => {
                let id = pits.any(choices);
                pits.remove(id);
            }
            8 => {
                let (id, face) = (pits.any(choices), face(choices));
                let known = pits.model.iter_mut().find(|entry| entry.id == id);
                let place =
                    known.as_ref().and_then(|entry| entry.downstreams.iter().position(|f| *f == face));
                assert_eq!(pits.pit.remove_in_record(id, face).is_some(), place.is_some());
                if let (Some(entry), Some(place)) = (known, place) {
                    entry.downstreams.remove(place);
                }
            }
            _ => {
                let (id, until) = (pits.any(choices), pits.until(choices));
                pits.pit.set_expiry(id, until);
                if let Some(entry) = pits.model.iter_mut().find(|entry| entry.id == id) {
                    entry.expires = until;
                }
            }
        }
        pits.check();
    }
    while let Some(entry) = pits.model.first() {
        pits.remove(entry.id);
    }
    assert!(pits.pit.is_empty() && pits.pit.held() == 0, "{} bytes are held by nobody", pits.pit.held());
}

impl Pits {
    /// A handle, mostly of an existing entry.
    fn any(&self, choices: &mut Choices<'_>) -> PitId {
        let of = |entry: &Pending| entry.id;
        let live = self.model.get(choices.below(self.model.len().clamp(1, 256))).map(of);
        let stale = self.stale.get(choices.below(16)).copied();
        let token = PitToken::from_u48(choices.number() & 0xFFFF_FFFF_FFFF);
        let made_up = || PitId::from_token(token.bytes());
        match choices.below(4) {
            3 => stale.or(live),
            _ => live.or(stale),
        }
        .or_else(made_up)
        .unwrap_or_default()
    }

    fn until(&self, choices: &mut Choices<'_>) -> Time {
        match choices.below(5) {
            0 => Time::NEVER,
            1 => self.now,
            2 => self.now + Span::from_millis(20),
            3 => self.now + Span::from_secs(4),
            _ => self.now + Span::from_secs(60),
        }
    }

    fn ask(&mut self, choices: &mut Choices<'_>) {
        let mut name = name(choices);
        if choices.below(4) == 1 {
            // Seven components always fit.
            let _ = name.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[choices.of(&[1, 2]); 32]);
        }
        let (can_be_prefix, must_be_fresh) = (choices.below(3) == 1, choices.below(3) == 1);
        let hint = choices.of(&[0, 0, 1, 2]);
        let (face, until) = (face(choices), self.until(choices));
        let is_it = |entry: &Pending| {
            (entry.can_be_prefix, entry.must_be_fresh, entry.hint) == (can_be_prefix, must_be_fresh, hint)
                && entry.name == name
        };
        let known = self.model.iter().position(is_it);
        assert_eq!(
            self.pit.find_exact(&name, can_be_prefix, must_be_fresh, hint),
            known.map(|at| self.model[at].id)
        );
        let (id, is_new) = self.pit.find_or_insert(&name, can_be_prefix, must_be_fresh, hint, self.now);
        assert_eq!(is_new, known.is_none());
        let at = known.unwrap_or_else(|| {
            let (expires, downstreams) = (Time::NEVER, Vec::new());
            self.model.push(Pending { id, name, can_be_prefix, must_be_fresh, hint, expires, downstreams });
            self.model.len() - 1
        });
        let entry = &mut self.model[at];
        assert_eq!(entry.id, id);
        let record = InRecord::new(face, 7, self.now, until, PitToken::NONE);
        if entry.downstreams.contains(&face) {
            self.pit.renew_in_record(id, record);
        } else {
            self.pit.add_in_record(id, record);
            entry.downstreams.push(face);
        }
        self.pit.extend_expiry(id, until);
        if until > entry.expires || entry.expires == Time::NEVER {
            entry.expires = until;
        }
        while let Some((id, face)) = self.pit.first_to_lose() {
            let entry = self.model.iter_mut().find(|entry| entry.id == id).expect("an entry that lives");
            assert!(
                entry.downstreams.is_empty() || entry.downstreams.contains(&face),
                "it waits for the Data"
            );
            if entry.downstreams.iter().any(|other| *other != face) {
                entry.downstreams.retain(|other| *other != face);
                assert!(self.pit.remove_in_record(id, face).is_some());
            } else {
                self.remove(id);
            }
        }
    }

    fn answer(&mut self, choices: &mut Choices<'_>) {
        let name = name(choices);
        let digest = (choices.below(2) == 1).then(|| [choices.of(&[1, 2]); 32]);
        let token = (choices.below(2) == 1).then(|| self.any(choices));
        let mut full = name.clone();
        let is_full = digest.is_some_and(|digest| full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &digest).is_ok());
        let mut expected: Vec<PitId> = Vec::new();
        let mut add = |is_it: &dyn Fn(&Pending) -> bool| {
            expected.extend(self.model.iter().filter(|entry| is_it(entry)).map(|entry| entry.id));
        };
        if is_full {
            add(&|entry| entry.name == full);
        }
        add(&|entry| entry.name == name);
        for len in (0..name.len()).rev() {
            add(&|entry| entry.can_be_prefix && entry.name.wire() == name.prefix_wire(len));
        }
        if expected.iter().any(|id| self.model.iter().any(|entry| entry.id == *id && entry.name == full))
            && is_full
        {
            assert!(self.pit.wants_digest(&name));
        }
        let mut found = SmallVec::new();
        self.pit.matches(&name, token, digest.as_ref(), &mut found);
        assert_eq!(found[..], expected[..]);
        if choices.below(2) == 1 {
            found.into_iter().for_each(|id| self.remove(id));
        }
    }

    /// Advances the time, and entries expire.
    fn pass(&mut self, choices: &mut Choices<'_>) {
        later(&mut self.now, choices);
        loop {
            // Few, so that it stops within a slot.
            let mut looks = 3;
            while let Some(id) = self.pit.pop_expired(self.now, &mut looks) {
                let entry = self.model.iter_mut().find(|entry| entry.id == id).expect("an entry that lives");
                assert!(entry.expires <= self.now, "not too early");
                if choices.below(8) == 1 {
                    entry.expires = self.now + Span::from_secs(1);
                    self.pit.extend_expiry(id, entry.expires);
                } else {
                    self.remove(id);
                }
            }
            if looks > 0 {
                break;
            }
        }
        assert!(self.model.iter().all(|entry| entry.expires + LATE > self.now), "not too late");
    }

    fn remove(&mut self, id: PitId) {
        let known = self.model.iter().position(|entry| entry.id == id);
        assert_eq!(self.pit.remove(id), known.is_some());
        if let Some(at) = known {
            self.model.remove(at);
            self.stale.insert(0, id);
            self.stale.truncate(16);
        }
    }

    fn check(&self) {
        assert_eq!(self.pit.len(), self.model.len());
        let held: u64 = (0..FACES).map(|face| self.pit.held_by(FaceId(face))).sum();
        assert_eq!(self.pit.held(), held);
        for entry in &self.model {
            let there = self.pit.entry(entry.id).expect("it lives");
            assert!(*there.name() == entry.name && there.expires() == entry.expires);
            let downstreams = there.in_records.iter().map(|record| record.face);
            assert!(downstreams.eq(entry.downstreams.iter().copied()));
        }
        assert!(self.stale.iter().all(|id| self.pit.entry(*id).is_none()));
    }
}

// ---- Content store

/// A Data in the content store.
struct Stored {
    name: HashedName,
    value: u32,
    bytes: u64,
    fresh_until: Time,
}

struct Stores {
    store: ContentStore<u32>,
    /// The next one to evict comes first.
    model: Vec<Stored>,
    evicted: Vec<u32>,
    /// The entries that the model has evicted.
    expected: Vec<u32>,
    now: Time,
}

fn store(choices: &mut Choices<'_>) {
    let policy = choices.of(&[CsPolicy::Lru, CsPolicy::Fifo]);
    let mut stores = Stores {
        store: ContentStore::new(policy, 5, 100),
        model: Vec::new(),
        evicted: Vec::new(),
        expected: Vec::new(),
        now: Time::from_nanos(1),
    };
    let mut value = 0;
    while !choices.is_over() {
        later(&mut stores.now, choices);
        match choices.below(8) {
            0..=2 => {
                value += 1;
                stores.insert(value, choices);
            }
            3..=5 => stores.look_up(choices),
            6 => {
                let (prefix, limit) = (name(choices), choices.of(&[100, 0, 1, 2]));
                let gone: Vec<u32> = stores
                    .model
                    .iter()
                    .rev()
                    .filter(|data| data.name.starts_with(&prefix))
                    .take(limit)
                    .map(|data| data.value)
                    .collect();
                stores.model.retain(|data| !gone.contains(&data.value));
                assert_eq!(stores.store.erase(&prefix, limit, &mut stores.evicted), gone.len());
                stores.expected.extend(gone);
            }
            _ => {
                // Fewer than are searched for a fresh one.
                let (packets, bytes) = (choices.of(&[5, 0, 1, 40]), choices.of(&[100, 0, 30, 10_000]));
                stores.store.set_limits(packets, bytes, &mut stores.evicted);
                stores.make_room(0, 0);
            }
        }
        assert_eq!(stores.evicted, stores.expected);
        let (len, bytes) = (stores.model.len(), stores.model.iter().map(|data| data.bytes).sum::<u64>());
        assert_eq!((stores.store.len(), stores.store.bytes()), (len, bytes));
        let there = stores.store.iter().map(|(name, value)| (name.wire().to_vec(), value));
        assert!(there.eq(stores.model.iter().rev().map(|data| (data.name.wire().to_vec(), data.value))));
    }
}

impl Stores {
    fn make_room(&mut self, packets: usize, bytes: u64) {
        let (most, most_bytes) = self.store.limits();
        let is_too_much = |model: &[Stored]| {
            let held: u64 = model.iter().map(|data| data.bytes).sum();
            model.len() + packets > most || held + bytes > most_bytes || !self.store.is_on()
        };
        while !self.model.is_empty() && is_too_much(&self.model) {
            self.expected.push(self.model.remove(0).value);
        }
    }

    fn insert(&mut self, value: u32, choices: &mut Choices<'_>) {
        let (name, bytes) = (name(choices), choices.of(&[10, 1, 40, 100, 101, 0]));
        let fresh_until = choices.of(&[Time::ZERO, self.now + Span::from_millis(3), Time::NEVER]);
        if let Some(at) = self.model.iter().position(|data| data.name == name) {
            self.expected.push(self.model.remove(at).value);
        }
        let fits = self.store.is_on() && bytes <= self.store.limits().1;
        if fits {
            self.make_room(1, bytes);
            self.model.push(Stored { name: name.clone(), value, bytes, fresh_until });
        } else {
            self.expected.push(value);
        }
        assert_eq!(self.store.insert(&name, value, bytes, fresh_until, &mut self.evicted), fits);
    }

    fn look_up(&mut self, choices: &mut Choices<'_>) {
        let (name, can_be_prefix, must_be_fresh) =
            (name(choices), choices.below(2) == 1, choices.below(2) == 1);
        let answers = |data: &Stored| {
            let is_it = if can_be_prefix { data.name.starts_with(&name) } else { data.name == name };
            is_it && (!must_be_fresh || self.now < data.fresh_until)
        };
        let found = self.store.lookup(&name, can_be_prefix, must_be_fresh, self.now);
        assert_eq!(found.is_some(), self.model.iter().any(answers));
        if let Some(value) = found {
            let at = self.model.iter().position(|data| data.value == value).expect("it is stored");
            assert!(answers(&self.model[at]));
            if self.store.policy() == CsPolicy::Lru {
                let data = self.model.remove(at);
                self.model.push(data);
            }
        }
    }
}

// ---- Dead nonces and asked upstreams

fn seen(choices: &mut Choices<'_>) {
    let capacity = choices.of(&[5, 0, 1, 20]);
    let mut nonces = DeadNonceList::new(HASHER, capacity, DEAD_NONCE_LIFETIME);
    let mut upstreams = AskedUpstreams::new(HASHER, capacity);
    // For each list: the remembered entries, and until when.
    let mut model: [Vec<(u64, u32, Time)>; 2] = [Vec::new(), Vec::new()];
    let mut now = Time::from_nanos(1);
    while !choices.is_over() {
        later(&mut now, choices);
        let (hash, number, list) = (name(choices).hash(), choices.below(4) as u32, choices.below(2));
        if choices.below(2) == 0 {
            match list {
                0 => nonces.add(hash, number, now),
                _ => upstreams.add(hash, FaceId(number), now),
            }
            let model = &mut model[list];
            model.retain(|(.., until)| *until > now);
            if capacity > 0 {
                if model.len() == capacity {
                    model.remove(0);
                }
                model.push((hash, number, now + DEAD_NONCE_LIFETIME));
            }
        } else {
            let is_there = match list {
                0 => nonces.contains(hash, number, now),
                _ => upstreams.contains(hash, FaceId(number), now),
            };
            let is_it = |(h, n, until): &(u64, u32, Time)| *h == hash && *n == number && *until > now;
            assert_eq!(is_there, model[list].iter().any(is_it));
        }
        assert!(nonces.len() <= capacity);
    }
}
