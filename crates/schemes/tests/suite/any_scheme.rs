//! Invariants of every scheme, whatever the inputs of its queue and flow control. The harnesses are those of
//! the fuzz targets `scheme_queue`, `scheme_flow_control` and `scheme_node`, whose corpus is replayed here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../fuzz/src/input.rs"]
mod input;
#[path = "../../../../fuzz/src/scheme.rs"]
mod scheme;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn replay(target: &str, harness: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert!(files.len() >= 3, "{} files in {}", files.len(), folder.display());
    for file in files {
        harness(&fs::read(file.unwrap().path()).unwrap());
    }
}

#[test]
fn the_corpus_breaks_no_promise() {
    replay("scheme_queue", scheme::queue);
    replay("scheme_flow_control", scheme::flow_control);
    replay("scheme_node", scheme::node);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn packets_in_are_packets_out_dropped_or_waiting(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        scheme::queue(&bytes);
    }

    #[test]
    fn windows_are_finite_and_permits_come(bytes in prop::collection::vec(any::<u8>(), 0..1000)) {
        scheme::flow_control(&bytes);
    }

    #[test]
    fn a_node_keeps_its_accounts_whatever_its_neighbours_say(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        scheme::node(&bytes);
    }
}
