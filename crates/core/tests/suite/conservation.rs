//! A node under random and hostile inputs: nothing panics, packets are neither leaked nor duplicated, no
//! deadline is in the past, and tables are bounded. Its tables alone are compared with naive models. The
//! harnesses are those of the fuzz targets `core_node` and `core_tables`, whose corpora are replayed here.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../fuzz/src/input.rs"]
mod input;
#[path = "../../../../fuzz/src/node.rs"]
mod node;
#[path = "../../../../fuzz/src/tables.rs"]
mod tables;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_breaks_no_promise() {
    for (target, run) in [("core_node", node::node as fn(&[u8])), ("core_tables", tables::tables)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert!(files.len() >= 3, "{} files in {}", files.len(), folder.display());
        for file in files {
            run(&fs::read(file.unwrap().path()).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn packets_in_are_packets_out_dropped_queued_stored_or_held(bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        node::node(&bytes);
    }

    #[test]
    fn tables_agree_with_lists(table in 0..4u8, bytes in prop::collection::vec(any::<u8>(), 0..1500)) {
        tables::tables(&[&[table], &bytes[..]].concat());
    }
}
