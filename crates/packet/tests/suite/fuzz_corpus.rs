//! Replays the corpus of the fuzz targets, and runs the same harnesses on random bytes.
#[path = "../../../../fuzz/src/packet.rs"]
mod harness;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn replay(target: &str, harness: fn(&[u8]), at_least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is beside the fuzz targets") {
        harness(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= at_least, "{count} files in {}", folder.display());
}

#[test]
fn the_corpus_of_frames_breaks_no_promise() {
    replay("packet_frame", harness::frame, 10);
}

#[test]
fn the_corpus_of_names_breaks_no_promise() {
    replay("packet_name_uri", harness::name_uri, 5);
}

/// Bytes that are almost TLV: known types and short lengths.
fn nearly_tlv() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        prop::sample::select(vec![
            0u8, 1, 2, 4, 5, 6, 7, 8, 10, 12, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 33, 34, 36, 44,
            46, 50, 80, 81, 82, 83, 98, 100, 0xFD
        ]),
        any::<u8>(),
    ];
    prop::collection::vec(byte, 0..64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_frames_break_no_promise(body in nearly_tlv(), outer in prop::sample::select(vec![5u8, 6, 100])) {
        harness::frame(&body);
        let mut wire = vec![outer, body.len() as u8];
        wire.extend(body);
        harness::frame(&wire);
    }

    #[test]
    fn arbitrary_names_break_no_promise(bytes in nearly_tlv(), text in "(/|(/[a-z.%=0-9]{0,6}){0,4})") {
        harness::name_uri(&bytes);
        harness::name_uri(text.as_bytes());
    }
}
