//! Replays the corpus of the fuzz targets for input other than packets, whole and changed, and passes random bytes to the same
//! harnesses.
#[path = "../../../../fuzz/src/observation.rs"]
mod harness;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn corpus(target: &str, at_least: usize) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).expect("the corpus is beside the fuzz targets");
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort_unstable();
    assert!(files.len() >= at_least, "{} files in {}", files.len(), folder.display());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn the_corpus_of_files_breaks_no_promise() {
    corpus("forwarder_config", 4).iter().for_each(|bytes| harness::config(bytes));
}

#[test]
fn the_corpus_of_recordings_breaks_no_promise() {
    corpus("forwarder_recording", 5).iter().for_each(|bytes| harness::recording(bytes));
}

#[test]
fn the_corpus_of_requests_breaks_no_promise() {
    corpus("forwarder_request", 4).iter().for_each(|bytes| harness::request(bytes));
}

/// The corpus must contain recordings that decode completely; otherwise it would test nothing.
#[test]
fn the_corpus_has_whole_recordings() {
    let files = corpus("forwarder_recording", 5);
    let whole = files.iter().filter_map(|bytes| {
        let mut entries = weir_forwarder::record::Recording::read(bytes).unwrap().entries;
        let count = entries.by_ref().filter(Result::is_ok).count();
        entries.is_ended().then_some(count)
    });
    let mut whole: Vec<usize> = whole.collect();
    whole.sort_unstable();
    assert_eq!(whole, [16, 16, 16, 17, 17]);
}

/// A file of the corpus with some bytes changed.
fn changed(target: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let files = prop::sample::select(corpus(target, 4));
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (files, changes, any::<prop::sample::Index>()).prop_map(|(mut file, changes, cut)| {
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if cut.index(4) == 0 {
            file.truncate(cut.index(file.len()));
        }
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn changed_files_break_no_promise(bytes in changed("forwarder_config")) {
        harness::config(&bytes);
    }

    #[test]
    fn changed_recordings_break_no_promise(bytes in changed("forwarder_recording")) {
        harness::recording(&bytes);
    }

    #[test]
    fn arbitrary_requests_break_no_promise(bytes in changed("forwarder_request"), more: Vec<u8>) {
        harness::request(&bytes);
        harness::request(&more);
    }
}
