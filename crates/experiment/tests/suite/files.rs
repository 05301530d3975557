//! Replays the corpus of the fuzz target of scenario files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../fuzz/src/scenario.rs"]
mod harness;

use std::fs;
use std::path::Path;

#[test]
fn the_corpus_of_scenario_files_is_run_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario_file");
    let mut right = 0;
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        right += usize::from(harness::file(&fs::read(entry.unwrap().path()).unwrap()));
        files += 1;
    }
    assert!(files >= 5 && right >= 4, "{right} of {files} are experiments");
}
