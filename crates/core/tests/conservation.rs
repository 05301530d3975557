//! A node under random inputs, hostile ones too: nothing panics, no packet leaks or doubles, nothing
//! is due in the past, tables are bounded. The harness is that of the fuzz target `core_node`, whose
//! corpus is replayed here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../fuzz/src/input.rs"]
mod input;
#[path = "../../../fuzz/src/node.rs"]
mod node;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_breaks_no_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/core_node");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert!(files.len() >= 3, "{} files in {}", files.len(), folder.display());
    for file in files {
        node::node(&fs::read(file.unwrap().path()).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn packets_in_are_packets_out_dropped_queued_stored_or_held(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        node::node(&bytes);
    }
}
