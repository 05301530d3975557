//! The tables under names that an attacker would choose: 64 components, empty components, 8 kB, a crowd of
//! prefixes of one another. Nothing panics, bounds hold, and what is inserted is found again.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::ids::PitId;
use weir_core::name::{HashedName, MAX_COMPONENTS, NameHasher};
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::tables::dead_nonce::{DEAD_NONCE_LIFETIME, DeadNonceList};
use weir_core::tables::fib::Fib;
use weir_core::tables::pit::Pit;
use weir_core::{Span, Time};

const HASHER: NameHasher = NameHasher::new(99);

/// Numbers from a seed: a xorshift generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn odds(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

fn hostile_name(numbers: &mut Numbers) -> HashedName {
    let mut name = HashedName::new();
    let count = match numbers.below(4) {
        0 => MAX_COMPONENTS as u64,
        1 => numbers.below(MAX_COMPONENTS as u64 + 1),
        _ => numbers.below(4),
    };
    for _ in 0..count {
        let (typ, len) = match numbers.below(8) {
            0 => (1, 32),
            1 => (1, 31),
            2 => (50, numbers.below(9)),
            3 => (0xFFFF, 300),
            4 if count < 4 => (8, 8000),
            _ => (8, 0),
        };
        let byte = numbers.below(2) as u8;
        // A full name does not change.
        let _ = name.push(&HASHER, typ, &vec![byte; len as usize]);
    }
    name
}

#[test]
fn hostile_names_break_no_table() {
    let mut numbers = Numbers(0x5EED);
    let mut names: Vec<HashedName> = (0..200).map(|_| hostile_name(&mut numbers)).collect();
    for n in 0..100 {
        let mut prefix = HashedName::new();
        prefix.assign_prefix(&names[n], numbers.below(MAX_COMPONENTS as u64) as usize);
        names.push(prefix);
    }
    let (mut pit, mut fib) = (Pit::new(HASHER, 1 << 24), Fib::new());
    let mut cs: ContentStore<usize> = ContentStore::new(CsPolicy::Lru, 40, 40_000);
    let mut nonces = DeadNonceList::new(HASHER, 30, DEAD_NONCE_LIFETIME);
    let (mut evicted, mut found, mut known) = (Vec::new(), SmallVec::new(), Vec::<PitId>::new());
    let (mut now, mut inserted, mut returned) = (Time::ZERO, 0, 0);
    for step in 0..60_000_usize {
        let name = &names[numbers.below(names.len() as u64) as usize];
        now += Span::from_micros(numbers.below(3_000));
        match numbers.below(10) {
            0 | 1 => {
                let (id, _) = pit.find_or_insert(name, numbers.odds(3), numbers.odds(3), 0, now);
                let life = if numbers.odds(9) { u64::MAX } else { numbers.below(10_000_000) };
                pit.extend_expiry(id, now + Span::from_nanos(life));
                assert_eq!(pit.entry(id).map(|entry| entry.name()), Some(name));
                known.push(id);
                if known.len() > 100 {
                    pit.remove(known.swap_remove(numbers.below(100) as usize));
                }
            }
            2 => {
                let mut token = [0; 6];
                token.iter_mut().for_each(|byte| *byte = numbers.below(256) as u8);
                let token = if numbers.odds(2) { PitId::from_token(&token) } else { known.last().copied() };
                let digest = [numbers.below(2) as u8; 32];
                pit.matches(name, token, Some(&digest), &mut found);
                for id in &found {
                    let entry = pit.entry(*id).unwrap();
                    let matched = entry.name();
                    let full = matched.implicit_digest() == Some(&digest) && matched.starts_with(name);
                    assert!(full || matched == name || entry.can_be_prefix() && name.starts_with(matched));
                }
                found.iter().for_each(|id| assert!(pit.remove(*id)));
            }
            3 => {
                while let Some(id) = pit.pop_expired(now, &mut { usize::MAX }) {
                    nonces.add(pit.entry(id).unwrap().name().hash(), step as u32, now);
                    assert!(pit.remove(id));
                }
                assert!(pit.next_deadline() > now);
            }
            4 => {
                fib.insert(name, FaceId(numbers.below(5) as u32), numbers.below(3));
            }
            5 => {
                fib.remove_next_hop(name, FaceId(numbers.below(5) as u32));
            }
            6 => {
                if let Some(id) = fib.lookup(name) {
                    let (_, prefix, next_hops) = fib.iter().find(|(other, ..)| *other == id).unwrap();
                    assert!(name.wire().starts_with(prefix));
                    assert!(!next_hops.is_empty());
                }
            }
            7 => {
                inserted += 1;
                cs.insert(
                    name,
                    step,
                    name.wire_len() as u64,
                    now + Span::from_micros(numbers.below(50_000)),
                    &mut evicted,
                );
            }
            8 => {
                cs.lookup(name, numbers.odds(2), numbers.odds(2), now);
            }
            _ => {
                nonces.contains(name.hash(), step as u32, now);
                if numbers.odds(50) {
                    cs.erase(name, 3, &mut evicted);
                }
            }
        }
        returned += evicted.drain(..).count();
        assert!(pit.len() <= 50 && cs.len() <= 40 && cs.bytes() <= 40_000 && nonces.len() <= 30);
        assert_eq!(inserted, cs.len() + returned);
    }
    assert!(inserted > 1_000 && cs.hits() > 100);
}

/// With the key, an attacker can find names that share one place of a table. Under another key, which differs
/// by one bit, the same names are distributed randomly.
#[test]
fn names_that_collide_under_one_key_are_spread_under_another() {
    let known = NameHasher::with_key([1, 2]);
    let bucket = |name: &HashedName| name.hash() & 0xFF;
    let numbered = |hasher: &NameHasher, number: u64| {
        let mut name = HashedName::new();
        name.push(hasher, 8, &number.to_be_bytes()).unwrap();
        name
    };
    let crowd: Vec<u64> = (0..400_000).filter(|&n| bucket(&numbered(&known, n)) == 0).collect();
    assert!(crowd.len() > 1_300, "{} of 400 000 in one of 256 buckets", crowd.len());
    for key in [[1, 3], [0, 2], [1 | 1 << 63, 2], [1, 2 | 1 << 63]] {
        let other = NameHasher::with_key(key);
        let mut buckets = [0_u32; 256];
        crowd.iter().for_each(|&n| buckets[bucket(&numbered(&other, n)) as usize] += 1);
        // About 6 per bucket.
        assert!(buckets.iter().all(|&count| count < 30), "{key:?}: {buckets:?}");
    }
}

/// Names that differ as an attacker would choose: in single bits, in both words of a block, in complements,
/// in the ends of components. Under an unknown key, the places of a table are filled randomly.
#[test]
fn chosen_differences_crowd_no_place_of_a_table() {
    let hasher = NameHasher::with_key([0x5EC2_E700_1122_3344, 0x9999_0000_8888_1111]);
    let mut names: Vec<HashedName> = Vec::new();
    let mut add = |parts: &[&[u8]]| {
        let mut name = HashedName::new();
        parts.iter().for_each(|part| name.push(&hasher, 8, part).unwrap());
        names.push(name);
    };
    for at in 0..128 {
        for flip in 0..256_u32 {
            // A block of sixteen bytes with two flipped bits, and its complement.
            let mut block = [0x5A_u8; 16];
            block[at / 8] ^= 1 << (at % 8);
            block[flip as usize / 16] ^= flip as u8;
            add(&[&block]);
            add(&[&block.map(|byte| !byte)]);
            add(&[&block[..at / 8], &block[at / 8..], &flip.to_le_bytes()]);
        }
    }
    names.sort_unstable_by(|a, b| a.wire().cmp(b.wire()));
    names.dedup_by(|a, b| a.wire() == b.wire());
    for shift in [0, 16, 32, 48] {
        let mut places = vec![0_u32; 1 << 16];
        names.iter().for_each(|name| places[(name.hash() >> shift & 0xFFFF) as usize] += 1);
        let most = places.iter().max().unwrap();
        // About 1.5 per place. By chance one place has 20 or more in fewer than one of 10¹⁰ tables.
        assert!(*most < 20, "{most} of {} names in one of 65536 places", names.len());
    }
    let mut hashes: Vec<u64> = names.iter().map(HashedName::hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), names.len());
}
