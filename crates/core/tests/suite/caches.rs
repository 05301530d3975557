//! Content stores under independent requests with Zipf popularity, compared with theory.
//!
//! | policy | hit ratio |
//! |---|---|
//! | LRU | Che's approximation: Che, Tung, Wang, *Hierarchical web caching systems*, IEEE JSAC 20 (7), 2002 |
//! | FIFO, random | the same with exponential stays: Fricker, Robert, Roberts, *A versatile and accurate approximation for LRU cache performance*, ITC 2012 |
//! | LFU | the most popular names, for ever |

use weir_core::name::{HashedName, NameHasher};
use weir_core::random::Random;
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::units::Time;

const NAMES: usize = 4_000;
const HELD: usize = 200;

/// Probabilities of the names, by rank.
fn zipf(exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=NAMES).map(|rank| (rank as f64).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// The hit ratio of a store where a name with request probability `p` is present with probability
/// `present(p t)`; `t` is chosen so that the store is full.
fn approximated(popularity: &[f64], present: fn(f64) -> f64) -> f64 {
    let held = |t: f64| popularity.iter().map(|p| present(p * t)).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if held(middle) < HELD as f64 { low = middle } else { high = middle }
    }
    popularity.iter().map(|p| p * present(p * low)).sum()
}

/// The hit ratio of a store of equal Data over many requests, after enough requests to fill it.
fn measured(policy: CsPolicy, popularity: &[f64], requests: usize) -> f64 {
    let hasher = NameHasher::new(1);
    let prefix = HashedName::parse(&hasher, &[8, 1, b'a']).expect("a short name");
    let name = |rank: usize| {
        let mut name = HashedName::new();
        name.assign_segment(&hasher, &prefix, rank as u64).expect("a short name");
        name
    };
    let names: Vec<HashedName> = (0..NAMES).map(name).collect();
    let upto: Vec<f64> = popularity
        .iter()
        .scan(0.0, |sum, p| {
            *sum += p;
            Some(*sum)
        })
        .collect();
    let mut store = ContentStore::new(policy, HELD, u64::MAX).drawing_from(Random::named(1, "store"));
    let (mut random, mut evicted) = (Random::named(1, "requests"), Vec::new());
    let (mut hits, mut counted) = (0_u64, 0_u64);
    for request in 0..requests {
        let draw = random.unit();
        let rank = upto.partition_point(|sum| *sum < draw).min(NAMES - 1);
        let found = store.lookup(&names[rank], false, false, Time::ZERO);
        if request >= requests / 4 {
            (hits, counted) = (hits + u64::from(found.is_some()), counted + 1);
        }
        if found.is_none() {
            store.insert(&names[rank], rank as u32, 1, Time::ZERO, &mut evicted);
            evicted.clear();
        }
        assert!(store.len() <= HELD);
    }
    hits as f64 / counted as f64
}

#[track_caller]
fn within(tolerance: f64, what: &str, measured: f64, theory: f64) {
    assert!((measured / theory - 1.0).abs() < tolerance, "{what}: {measured} instead of {theory}");
}

#[test]
fn lru_hits_as_che_says() {
    for exponent in [0.8, 1.0] {
        let popularity = zipf(exponent);
        let che = approximated(&popularity, |x| 1.0 - (-x).exp());
        within(0.01, "LRU", measured(CsPolicy::Lru, &popularity, 600_000), che);
    }
}

#[test]
fn fifo_and_random_hit_alike_and_less_than_lru() {
    let popularity = zipf(0.8);
    let theory = approximated(&popularity, |x| x / (1.0 + x));
    for policy in [CsPolicy::Fifo, CsPolicy::Random] {
        within(0.01, policy.name(), measured(policy, &popularity, 600_000), theory);
    }
    assert!(theory < 0.95 * approximated(&popularity, |x| 1.0 - (-x).exp()));
}

#[test]
fn lfu_comes_to_the_static_optimum_and_no_policy_beats_it() {
    let popularity = zipf(0.8);
    let optimum: f64 = popularity[..HELD].iter().sum();
    let lru = approximated(&popularity, |x| 1.0 - (-x).exp());
    within(0.02, "LFU", measured(CsPolicy::Lfu, &popularity, 600_000), optimum);
    for policy in [CsPolicy::Slru, CsPolicy::S3Fifo] {
        let hits = measured(policy, &popularity, 200_000);
        assert!(
            (1.05 * lru..optimum).contains(&hits),
            "{}: {hits} between {lru} and {optimum}",
            policy.name()
        );
    }
}
