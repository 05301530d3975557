//! Encoded management values decode to themselves, and no bytes make the decoders panic.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod values;

#[path = "../../../fuzz/src/management.rs"]
mod harness;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use weir_management::dataset::{
    FaceQueryFilter, decode_channels, decode_cs_info, decode_face_event, decode_faces, decode_fib,
    decode_general, decode_rib, decode_strategy_choices, encode_channel, encode_cs_info, encode_face,
    encode_face_event, encode_fib_entry, encode_general, encode_rib_entry, encode_strategy_choice,
};
use weir_management::status::{
    CsInfo, FaceCounters, FaceEventKind, FaceStatus, FibStatus, GeneralStatus, Losses, NextHopStatus,
    StrategyStatus,
};
use weir_management::{ControlParameters, ControlResponse};

use values::{control_parameters, encoded, face_status, filter, name, number, rib_entry, text};

proptest! {
    #[test]
    fn parameters_and_responses_come_back(
        parameters in control_parameters(), code in number(), words in text(), has_body in any::<bool>(),
    ) {
        let wire = encoded(std::slice::from_ref(&parameters), ControlParameters::encode);
        prop_assert_eq!(ControlParameters::decode(&wire), Ok(parameters.clone()));
        let mut response = ControlResponse::new(code, words);
        response.body = has_body.then_some(parameters);
        let wire = encoded(std::slice::from_ref(&response), ControlResponse::encode);
        prop_assert_eq!(ControlResponse::decode(&wire), Ok(response));
    }

    /// Unprintable characters include the escape that begins terminal control sequences, and those that change the
    /// writing direction.
    #[test]
    fn a_text_that_is_read_can_be_printed(words in any::<String>(), place in 0..9_usize) {
        let words = format!("{words}{}{words}", ["\u{1b}]0;title\u{7}", "\u{202e}", "\r\n\u{9b}2J"][place % 3]);
        let response = ControlResponse::new(200, words);
        let wire = encoded(std::slice::from_ref(&response), ControlResponse::encode);
        let text = ControlResponse::decode(&wire).unwrap().text;
        prop_assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }

    #[test]
    fn faces_come_back(faces in vec(face_status(), 0..4), filter in filter(), kind in 1..5_u64) {
        let listed = decode_faces(&encoded(&faces, encode_face)).unwrap();
        let listed: Vec<FaceStatus> = listed.into_iter().map(|face| face.status).collect();
        prop_assert_eq!(&listed, &faces);
        let wire = encoded(std::slice::from_ref(&filter), FaceQueryFilter::encode);
        prop_assert_eq!(FaceQueryFilter::decode(&wire), Ok(filter));
        for face in &faces {
            let kind = FaceEventKind::from_value(kind).unwrap();
            let mut wire = Vec::new();
            encode_face_event(kind, face, &mut wire);
            let event = decode_face_event(&wire).unwrap();
            prop_assert_eq!((event.kind, event.face.number), (kind, face.number));
            prop_assert_eq!((&event.face.remote, &event.face.local), (&face.remote, &face.local));
            prop_assert_eq!((event.face.scope, event.face.flags), (face.scope, face.flags));
        }
        let uris: Vec<String> = faces.into_iter().map(|face| face.local).collect();
        prop_assert_eq!(decode_channels(&encoded(&uris, |uri, out| encode_channel(uri, out))), Ok(uris));
    }

    #[test]
    fn tables_come_back(
        rib in vec(rib_entry(), 0..5),
        fib in vec((name(), vec((number(), number(), any::<bool>()), 0..4)), 0..5),
        choices in vec((name(), name()), 0..5),
        (admit, serve) in any::<(bool, bool)>(),
        version in text(),
        n in vec(number(), 16),
    ) {
        prop_assert_eq!(decode_rib(&encoded(&rib, encode_rib_entry)), Ok(rib));
        let hop = |(face, cost, silent)| NextHopStatus { face, cost, silent };
        let entry = |(prefix, hops): (_, Vec<_>)| FibStatus { prefix, next_hops: hops.into_iter().map(hop).collect() };
        let fib: Vec<FibStatus> = fib.into_iter().map(entry).collect();
        prop_assert_eq!(decode_fib(&encoded(&fib, encode_fib_entry)), Ok(fib));
        let choice = |(prefix, strategy)| StrategyStatus { prefix, strategy };
        let choices: Vec<StrategyStatus> = choices.into_iter().map(choice).collect();
        prop_assert_eq!(decode_strategy_choices(&encoded(&choices, encode_strategy_choice)), Ok(choices));
        let cs = CsInfo { capacity: n[0], admit, serve, entries: n[1], hits: n[2], misses: n[3] };
        prop_assert_eq!(decode_cs_info(&encoded(&[cs], encode_cs_info)), Ok(cs));
        let general = GeneralStatus {
            version, started_ms: n[0], now_ms: n[1], fib_entries: n[2], pit_entries: n[3], cs_entries: n[4],
            satisfied_interests: n[5], unsatisfied_interests: n[6],
            losses: Losses { datagrams: n[2], reassembly: n[1], connections: n[3], files: n[4] },
            counters: FaceCounters {
                in_interests: n[7], in_data: n[8], in_nacks: n[9], out_interests: n[10], out_data: n[11],
                out_nacks: n[12], in_remarked: n[13], in_refused: n[14], in_over_rate: n[15],
                ..FaceCounters::default()
            },
        };
        prop_assert_eq!(decode_general(&encoded(std::slice::from_ref(&general), encode_general)), Ok(general));
    }

    /// Includes almost valid bytes.
    #[test]
    fn no_bytes_make_a_decoder_panic(
        bytes in vec(any::<u8>(), 0..64),
        faces in vec(face_status(), 1..3), rib in vec(rib_entry(), 1..3), parameters in control_parameters(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(),
    ) {
        let parameters = encoded(&[parameters], ControlParameters::encode);
        for mut wire in [bytes, encoded(&faces, encode_face), encoded(&rib, encode_rib_entry), parameters] {
            for (at, byte) in &changes {
                if !wire.is_empty() {
                    let at = at.index(wire.len());
                    wire[at] = *byte;
                }
            }
            wire.truncate(cut.index(wire.len() + 1).max(wire.len() / 2));
            let _ = (ControlParameters::decode(&wire), ControlResponse::decode(&wire));
            let _ = (decode_faces(&wire), FaceQueryFilter::decode(&wire), decode_face_event(&wire));
            let _ = (decode_fib(&wire), decode_rib(&wire), decode_strategy_choices(&wire));
            let _ = (decode_cs_info(&wire), decode_general(&wire), decode_channels(&wire));
        }
    }
}

/// The corpus of the fuzz target has a valid answer of each kind.
#[test]
fn the_corpus_of_datasets_breaks_no_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/management_dataset");
    let taken: Vec<usize> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| harness::dataset(&fs::read(entry.unwrap().path()).unwrap()))
        .collect();
    assert!(taken.len() >= 8 && taken.iter().filter(|taken| **taken > 0).count() >= 7, "{taken:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn arbitrary_answers_break_no_promise(bytes: Vec<u8>, faces in vec(face_status(), 0..3), at: usize, byte: u8) {
        harness::dataset(&bytes);
        let mut wire = encoded(&faces, encode_face);
        if let Some(len) = wire.len().checked_sub(1) {
            wire[at % (len + 1)] = byte;
        }
        harness::dataset(&wire);
    }
}
