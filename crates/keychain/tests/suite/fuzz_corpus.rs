//! Replays the fuzz targets' corpus, and runs the same harnesses with nearly valid inputs.
#[path = "../../../../fuzz/src/keychain.rs"]
mod harness;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn the_corpus_of_files_breaks_no_promise() {
    let files = files("fuzz/corpus/keychain_file");
    assert!(files.len() >= 15);
    files.iter().for_each(|file| harness::file(file));
}

#[test]
fn the_corpus_of_trust_breaks_no_promise() {
    let files = files("fuzz/corpus/keychain_trust");
    assert!(files.len() >= 3);
    files.iter().for_each(|file| harness::trust(file));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    /// Files of other programs with some bytes changed, cut or doubled.
    #[test]
    fn damaged_files_break_no_promise(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for (folder, harness) in [
            ("fuzz/corpus/keychain_file", harness::file as fn(&[u8])),
            ("fuzz/corpus/keychain_trust", harness::trust),
        ] {
            let files = files(folder);
            let mut file = which.get(&files).clone();
            for (place, byte) in &changes {
                if !file.is_empty() {
                    let place = place.index(file.len());
                    file[place] = *byte;
                }
            }
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len() + 1));
            }
            harness(&file);
        }
    }

    #[test]
    fn arbitrary_bytes_break_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[ -~\n]{0,200}") {
        harness::file(&bytes);
        harness::file(text.as_bytes());
        harness::trust(&bytes);
    }
}
