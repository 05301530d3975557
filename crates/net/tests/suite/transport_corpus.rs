//! Replays the corpus of the fuzz targets of transports and link service, and runs the same harnesses on random bytes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../../fuzz/src/transport.rs"]
mod harness;
#[path = "../../../../fuzz/src/link.rs"]
mod link;

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
fn the_corpus_of_streams_breaks_no_promise() {
    replay("forwarder_stream", harness::stream, 9);
}

#[test]
fn the_corpus_of_websockets_breaks_no_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/forwarder_websocket");
    for (file, frames) in
        [("whole", 2), ("pieces", 20), ("in-parts", 1), ("handshake", 1), ("no-handshake", 0), ("post", 0)]
    {
        assert_eq!(harness::websocket(&fs::read(folder.join(file)).unwrap()), frames, "{file}");
    }
    let websocket = |bytes: &[u8]| assert!(harness::websocket(bytes) < 100);
    replay("forwarder_websocket", websocket, 9);
}

#[test]
fn the_corpus_of_face_uris_breaks_no_promise() {
    replay("forwarder_face_uri", harness::face_uri, 14);
}

#[test]
fn the_corpus_of_reassembly_breaks_no_promise() {
    replay("packet_reassembly", link::reassembly, 3);
}

#[test]
fn the_corpus_of_reliable_links_breaks_no_promise() {
    replay("reliable_link", |bytes| assert!(link::reliable_link(bytes) > 0), 3);
}

fn element(typ: u8, len: u16) -> Vec<u8> {
    let mut element = Vec::new();
    weir_packet::tlv::put_element(&mut element, u32::from(typ), &vec![typ; usize::from(len)]);
    element
}

/// A stream of frames with some wrong bytes.
fn nearly_frames() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => (0..3usize, 0..9000u16).prop_map(|(typ, len)| element([5, 6, 100][typ], len)),
        1 => (any::<u8>(), 0..300u16).prop_map(|(typ, len)| element(typ, len)),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Messages of a client, masked with zeros, with some invalid bytes between them.
fn nearly_messages() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![4 => Just(0x82u8), 1 => prop::sample::select(vec![0x81, 0x89, 0x8A, 0x88, 2, 0x80]), 1 => any::<u8>()];
    let message = (first, 0..9000u16, any::<u8>()).prop_map(|(first, len, fill)| {
        let len = if first == 0x82 { len } else { len % 130 };
        let mut message = vec![first];
        match len {
            0..126 => message.push(0x80 | len as u8),
            _ => message.extend([0xFE, (len >> 8) as u8, len as u8]),
        }
        message.extend([0; 4]);
        message.resize(message.len() + usize::from(len), fill);
        message
    });
    let piece = prop_oneof![8 => message, 1 => prop::collection::vec(any::<u8>(), 0..4)];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_streams_break_no_promise(head: [u8; 32], body in nearly_frames()) {
        harness::stream(&[&head[..], &body].concat());
    }

    #[test]
    fn arbitrary_messages_break_no_promise(head: [u8; 32], messages in nearly_messages()) {
        harness::websocket(&[&head[..], &messages].concat());
    }

    #[test]
    fn arbitrary_texts_break_no_promise(bytes: Vec<u8>, text in "[a-z46]{2,8}://[\\[\\]a-f0-9:.%/]{0,24}") {
        harness::face_uri(&bytes);
        harness::face_uri(text.as_bytes());
    }

    #[test]
    fn packets_come_once_over_a_reliable_link(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        link::reliable_link(&bytes);
    }

    #[test]
    fn arbitrary_operations_on_a_link_break_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        link::reassembly(&bytes);
    }
}
