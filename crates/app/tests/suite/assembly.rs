//! Checks what a consumer delivers from segments in any order, some of them false: nothing is delivered twice, out of
//! order or unverified. The harness is that of the fuzz target `get_assembly`, whose corpus is replayed here.
#[path = "../../../../fuzz/src/get.rs"]
mod get;

use get::Outcome;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn corpus(file: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/get_assembly");
    fs::read(folder.join(file)).unwrap()
}

#[test]
fn the_corpus_breaks_no_promise_and_does_what_its_names_say() {
    let outcome = |delivered, is_complete, has_failed| Outcome { delivered, is_complete, has_failed };
    for (file, expected) in [
        ("whole", outcome(4, true, false)),
        ("backwards", outcome(4, true, false)),
        ("tampered", outcome(3, false, false)),
        ("two-ends", outcome(1, false, true)),
        ("absent", outcome(1, false, true)),
        ("late-certificate", outcome(4, true, false)),
        ("hidden-certificate", outcome(4, true, false)),
        ("no-certificate", outcome(0, false, true)),
        ("stranger", outcome(2, false, false)),
    ] {
        assert_eq!(get::assembly(&corpus(file)), expected, "{file}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_comes_only_what_is_right_is_delivered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        get::assembly(&bytes);
    }

    /// Valid segments arrive in any order and any number of times, with certificates at some points.
    #[test]
    fn all_that_is_right_is_delivered(
        (trust, first, knows_last) in (0..3_u8, 0..3_u8, 0..2_u8),
        order in (1..=12_u8).prop_flat_map(|count| Just((0..count).collect::<Vec<_>>()).prop_shuffle()),
        again in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..12),
        certificates in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let count = order.len() as u8;
        let mut operations: Vec<Vec<u8>> = order.iter().map(|&segment| vec![0, segment, 0]).collect();
        for (place, which) in again {
            operations.insert(place.index(operations.len()), vec![0, which.index(usize::from(count)) as u8, 0]);
        }
        for place in certificates {
            operations.insert(place.index(operations.len()), vec![3, 0, 0]);
        }
        // The certificate that is finally needed.
        operations.push(vec![3, 0, 0]);
        let mut bytes = vec![trust, first, count - 1, knows_last];
        bytes.extend(operations.concat());
        let expected = Outcome { delivered: u64::from(count), is_complete: true, has_failed: false };
        prop_assert_eq!(get::assembly(&bytes), expected);
    }
}
