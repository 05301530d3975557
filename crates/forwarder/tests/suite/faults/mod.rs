//! Whole forwarders under faults, on simulated sockets and time: everything follows from a seed.
//!
//! A seed draws a network of forwarders, with datagrams and streams between them, applications, and faults: loss, reordering,
//! repeated and damaged frames, partitions, slow readers, resets, crashes, floods, clocks that are set. During the faults,
//! nothing breaks and every table keeps its limits. After them, every fetch completes, and nothing is left.

mod application;
mod net;
mod world;

use std::env;
use std::panic;

use weir_core::name::NameHasher;
use world::World;

/// Runs a seed. A failure prints how to repeat it.
fn run(seed: u64) -> u64 {
    panic::catch_unwind(|| World::new(seed).run()).unwrap_or_else(|failure| {
        eprintln!(
            "seed {seed} fails; again: WEIR_SEED={seed} cargo test -p weir-forwarder --test suite faults"
        );
        panic::resume_unwind(failure)
    })
}

/// The seeds: `WEIR_SEED` alone, or the first `WEIR_SEEDS` ones.
fn seeds() -> Vec<u64> {
    let number = |variable| env::var(variable).ok().map(|text| text.parse::<u64>().expect("a number"));
    match number("WEIR_SEED") {
        Some(seed) => vec![seed],
        None => (1..=number("WEIR_SEEDS").unwrap_or(50)).collect(),
    }
}

#[test]
fn forwarders_survive_faults_and_nothing_is_left_of_them() {
    for seed in seeds() {
        let digest = run(seed);
        if env::var("WEIR_SEED").is_ok() {
            println!("seed {seed}: {digest:016x}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_bits_again() {
    for seed in [3, 8] {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    assert_ne!(run(3), run(8));
}

/// All sent packets and their times are the same under another key, so they reveal nothing about the key.
#[test]
fn nothing_that_is_sent_depends_on_the_key_of_the_hash_of_names() {
    for seed in [1, 2, 5] {
        let sent_under = |key| World::new(seed).with_names(NameHasher::with_key(key)).run();
        assert_eq!(sent_under([1, 2]), sent_under([u64::MAX, 99]), "seed {seed}");
    }
}
