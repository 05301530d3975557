//! Cost of a lookup in the FIB, the PIT and the content store as they grow, and the memory of an entry.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::time::Instant;

use weir_core::ids::FaceId;
use weir_core::name::{HashedName, NameHasher};
use weir_core::random::Random;
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::tables::fib::Fib;
use weir_core::tables::pit::Pit;
use weir_core::units::{Span, Time};

const LOOKUPS: usize = 1_000_000;

fn main() {
    println!("{:>9} {:>6} {:>14} {:>14}", "entries", "table", "ns a lookup", "bytes an entry");
    for entries in [1_000, 10_000, 100_000, 1_000_000] {
        let names = names(entries);
        let hasher = NameHasher::new(1);
        report(entries, "FIB", &names, || {
            let mut fib = Fib::new();
            for name in &names {
                fib.insert(name, FaceId(1), 0);
            }
            move |name: &HashedName| fib.lookup(name).is_some()
        });
        report(entries, "PIT", &names, || {
            let mut pit = Pit::new(hasher, u64::MAX);
            let expires = Time::ZERO + Span::from_secs(4);
            for name in &names {
                let (entry, _) = pit.find_or_insert(name, false, false, 0, Time::ZERO);
                pit.set_expiry(entry, expires);
            }
            move |name: &HashedName| pit.find_exact(name, false, false, 0).is_some()
        });
        report(entries, "CS", &names, || {
            let mut store = ContentStore::new(CsPolicy::Lru, entries, u64::MAX);
            let mut evicted = Vec::new();
            for (at, name) in names.iter().enumerate() {
                store.insert(name, at as u32, 1000, Time::NEVER, &mut evicted);
            }
            move |name: &HashedName| store.lookup(name, false, false, Time::ZERO).is_some()
        });
    }
}

/// Names of three components, like the names of files and their segments.
fn names(count: usize) -> Vec<HashedName> {
    let hasher = NameHasher::new(1);
    let name = |number: usize| {
        let mut name = HashedName::new();
        for part in [&b"example"[..], &(number as u64 / 100).to_be_bytes(), &(number as u64).to_be_bytes()] {
            name.push(&hasher, 8, part).expect("short");
        }
        name
    };
    (0..count).map(name).collect()
}

fn report<L: FnMut(&HashedName) -> bool>(
    entries: usize,
    table: &str,
    names: &[HashedName],
    fill: impl FnOnce() -> L,
) {
    let before = resident_bytes();
    let mut lookup = fill();
    let bytes = resident_bytes().saturating_sub(before) / entries as u64;
    let mut random = Random::named(1, table);
    let asked: Vec<u32> = (0..LOOKUPS).map(|_| random.below(entries as u32)).collect();
    let begun = Instant::now();
    let found = asked.iter().filter(|at| lookup(black_box(&names[**at as usize]))).count();
    let nanos = begun.elapsed().as_nanos() as f64 / LOOKUPS as f64;
    assert_eq!(found, LOOKUPS);
    println!("{entries:>9} {table:>6} {nanos:>14.1} {bytes:>14}");
}

/// Memory of this process in use, bytes, as the operating system reports it; 0 if it reports nothing.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
