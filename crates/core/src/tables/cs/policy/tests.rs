//! Each policy is compared with a model on plain lists that follows its paper.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An operation on a policy. Names are small numbers. A name that is already stored is hit instead of
/// inserted.
#[derive(Clone, Copy, Debug)]
enum Op {
    Insert(u64, u64),
    Remove(u64),
    Evict,
    Limits(u64, u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (0u64..14, 1u64..5).prop_map(|(name, bytes)| Op::Insert(name, bytes)),
        1 => (0u64..14).prop_map(Op::Remove),
        6 => Just(Op::Evict),
        1 => (0u64..14, 0u64..30).prop_map(|(packets, bytes)| Op::Limits(packets, bytes)),
    ]
}

/// A policy on lists of names.
trait Naive {
    fn insert(&mut self, name: u64, bytes: u64);
    fn hit(&mut self, name: u64, bytes: u64);
    fn remove(&mut self, name: u64);
    fn evict(&mut self) -> Option<u64>;
    fn set_limits(&mut self, limits: Limits);
}

fn compare(policy: &mut dyn Replacement, naive: &mut dyn Naive, ops: Vec<Op>) -> Result<(), TestCaseError> {
    let mut held: BTreeMap<u64, u32> = BTreeMap::new();
    for op in ops {
        match op {
            Op::Insert(name, bytes) => match held.get(&name) {
                Some(&entry) => {
                    policy.hit(entry, bytes);
                    naive.hit(name, bytes);
                }
                None => {
                    // Numbers are reused, as in the store.
                    let entry = (0..).find(|entry| !held.values().any(|used| used == entry)).unwrap_or(0);
                    policy.insert(entry, name, bytes);
                    naive.insert(name, bytes);
                    held.insert(name, entry);
                }
            },
            Op::Remove(name) => {
                if let Some(entry) = held.remove(&name) {
                    policy.remove(entry);
                    naive.remove(name);
                }
            }
            Op::Evict => {
                let evicted = policy.evict();
                let name = evicted.and_then(|entry| held.iter().find(|(_, used)| **used == entry));
                let name = name.map(|(name, _)| *name);
                prop_assert_eq!(name, naive.evict());
                prop_assert_eq!(evicted.is_none(), held.is_empty());
                name.map(|name| held.remove(&name));
            }
            Op::Limits(packets, bytes) => {
                policy.set_limits(Limits { packets, bytes });
                naive.set_limits(Limits { packets, bytes });
            }
        }
    }
    while let Some(entry) = policy.evict() {
        let name = held.iter().find(|(_, used)| **used == entry).map(|(name, _)| *name);
        prop_assert_eq!(name, naive.evict());
        name.map(|name| held.remove(&name));
    }
    prop_assert!(held.is_empty() && naive.evict().is_none());
    Ok(())
}

const LIMITS: Limits = Limits { packets: 8, bytes: 20 };

/// Stored names with their counts, least recently requested first, and evicted names.
#[derive(Default)]
struct NaiveLfu {
    held: Vec<(u64, u32)>,
    past: Vec<(u64, u32)>,
}

impl Naive for NaiveLfu {
    fn insert(&mut self, name: u64, _: u64) {
        let known = self.past.iter().position(|(past, _)| *past == name);
        let before = known.map_or(0, |at| self.past.remove(at).1);
        self.held.push((name, before + 1));
    }

    fn hit(&mut self, name: u64, _: u64) {
        let at = self.held.iter().position(|(held, _)| *held == name).expect("it is held");
        let (_, count) = self.held.remove(at);
        self.held.push((name, count + 1));
    }

    fn remove(&mut self, name: u64) {
        self.held.retain(|(held, _)| *held != name);
    }

    fn evict(&mut self) -> Option<u64> {
        let least = self.held.iter().map(|(_, count)| *count).min()?;
        let at = self.held.iter().position(|(_, count)| *count == least)?;
        let most = 16 * self.held.len();
        let gone = self.held.remove(at);
        self.past.push(gone);
        if self.past.len() > most {
            self.past.remove(0);
        }
        Some(gone.0)
    }

    fn set_limits(&mut self, _: Limits) {}
}

/// Both segments, oldest first: name and size.
struct NaiveSlru {
    limits: Limits,
    probation: Vec<(u64, u64)>,
    protected: Vec<(u64, u64)>,
}

impl NaiveSlru {
    fn demote(&mut self) {
        let bytes = |list: &[(u64, u64)]| list.iter().map(|(_, bytes)| bytes).sum::<u64>();
        while !self.protected.is_empty()
            && (10 * self.protected.len() as u64 > 8 * self.limits.packets
                || 10 * bytes(&self.protected) > 8 * self.limits.bytes)
        {
            let oldest = self.protected.remove(0);
            self.probation.push(oldest);
        }
    }
}

impl Naive for NaiveSlru {
    fn insert(&mut self, name: u64, bytes: u64) {
        self.probation.push((name, bytes));
    }

    fn hit(&mut self, name: u64, bytes: u64) {
        self.remove(name);
        self.protected.push((name, bytes));
        self.demote();
    }

    fn remove(&mut self, name: u64) {
        self.probation.retain(|(held, _)| *held != name);
        self.protected.retain(|(held, _)| *held != name);
    }

    fn evict(&mut self) -> Option<u64> {
        let list = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        if list.is_empty() { None } else { Some(list.remove(0).0) }
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.demote();
    }
}

/// S, M and G, oldest first: name, size and count.
struct NaiveS3Fifo {
    limits: Limits,
    s: Vec<(u64, u64, u8)>,
    m: Vec<(u64, u64, u8)>,
    g: Vec<u64>,
}

impl NaiveS3Fifo {
    fn evict_s(&mut self) -> Option<u64> {
        while !self.s.is_empty() {
            let all = self.s.len() + self.m.len();
            let (name, bytes, freq) = self.s.remove(0);
            if freq > 1 {
                self.m.push((name, bytes, 0));
                continue;
            }
            self.g.push(name);
            if self.g.len() > (all * 9 / 10).max(1) {
                self.g.drain(..self.g.len() - (all * 9 / 10).max(1));
            }
            return Some(name);
        }
        None
    }

    fn evict_m(&mut self) -> Option<u64> {
        while !self.m.is_empty() {
            let (name, bytes, freq) = self.m.remove(0);
            if freq == 0 {
                return Some(name);
            }
            self.m.push((name, bytes, freq - 1));
        }
        None
    }
}

impl Naive for NaiveS3Fifo {
    fn insert(&mut self, name: u64, bytes: u64) {
        match self.g.iter().position(|ghost| *ghost == name) {
            Some(at) => {
                self.g.remove(at);
                self.m.push((name, bytes, 0));
            }
            None => self.s.push((name, bytes, 0)),
        }
    }

    fn hit(&mut self, name: u64, bytes: u64) {
        for held in self.s.iter_mut().chain(&mut self.m).filter(|held| held.0 == name) {
            (held.1, held.2) = (bytes, (held.2 + 1).min(3));
        }
    }

    fn remove(&mut self, name: u64) {
        self.s.retain(|held| held.0 != name);
        self.m.retain(|held| held.0 != name);
    }

    fn evict(&mut self) -> Option<u64> {
        let bytes = self.s.iter().map(|held| held.1).sum::<u64>();
        let is_full = 10 * self.s.len() as u64 >= self.limits.packets || 10 * bytes >= self.limits.bytes;
        let first = if is_full { self.evict_s() } else { None };
        first.or_else(|| self.evict_m()).or_else(|| self.evict_s()).or_else(|| self.evict_m())
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
}

proptest! {
    #[test]
    fn lfu_agrees_with_lists(ops in prop::collection::vec(op(), 0..200)) {
        compare(&mut lfu::Lfu::default(), &mut NaiveLfu::default(), ops)?;
    }

    #[test]
    fn slru_agrees_with_lists(ops in prop::collection::vec(op(), 0..200)) {
        let mut naive = NaiveSlru { limits: LIMITS, probation: Vec::new(), protected: Vec::new() };
        compare(&mut slru::Slru::new(LIMITS), &mut naive, ops)?;
    }

    #[test]
    fn s3_fifo_agrees_with_lists(ops in prop::collection::vec(op(), 0..200)) {
        let mut naive = NaiveS3Fifo { limits: LIMITS, s: Vec::new(), m: Vec::new(), g: Vec::new() };
        compare(&mut s3_fifo::S3Fifo::new(LIMITS), &mut naive, ops)?;
    }

    /// The table from which numbers are drawn, as a plain list.
    #[test]
    fn random_draws_from_what_is_held(ops in prop::collection::vec(op(), 0..200)) {
        struct NaiveRandom(Vec<u64>, Random);
        impl Naive for NaiveRandom {
            fn insert(&mut self, name: u64, _: u64) {
                self.0.push(name);
            }
            fn hit(&mut self, _: u64, _: u64) {}
            fn remove(&mut self, name: u64) {
                let at = self.0.iter().position(|held| *held == name).expect("it is held");
                self.0.swap_remove(at);
            }
            fn evict(&mut self) -> Option<u64> {
                if self.0.is_empty() {
                    return None;
                }
                let at = self.1.below(self.0.len() as u32);
                Some(self.0.swap_remove(at as usize))
            }
            fn set_limits(&mut self, _: Limits) {}
        }
        let stream = Random::named(1, "test");
        compare(&mut random::Chance::new(stream.clone()), &mut NaiveRandom(Vec::new(), stream), ops)?;
    }
}

/// All entries of S were requested twice, and M is empty.
#[test]
fn s3_fifo_always_finds_what_makes_room() {
    let mut s3 = s3_fifo::S3Fifo::new(Limits { packets: 100, bytes: 100 });
    (0..3).for_each(|entry| s3.insert(entry, u64::from(entry), 1));
    (0..6).for_each(|hit| s3.hit(hit % 3, 1));
    assert_eq!([s3.evict(), s3.evict(), s3.evict(), s3.evict()], [Some(0), Some(1), Some(2), None]);
}

#[test]
fn every_policy_has_a_name_that_reads_back() {
    for (place, (policy, name)) in CsPolicy::ALL.into_iter().enumerate() {
        assert_eq!((policy as usize, policy.name(), CsPolicy::named(name)), (place, name, Some(policy)));
    }
    assert_eq!(CsPolicy::named("mru"), None);
}
