//! Harness for a forwarder's answers to its tools: responses, datasets, events.

use weir_management::dataset::{
    FaceQueryFilter, decode_channels, decode_cs_info, decode_face_event, decode_faces, decode_fib,
    decode_general, decode_rib, decode_strategy_choices, encode_channel, encode_cs_info, encode_face,
    encode_fib_entry, encode_general, encode_rib_entry, encode_strategy_choice,
};
use weir_management::{ControlParameters, ControlResponse};

/// Reads bytes with every decoder. A decoded value is encoded and decoded again unchanged, and its texts are printable.
/// Returns how many decoders accepted the bytes.
pub fn dataset(bytes: &[u8]) -> usize {
    let mut taken = 0;
    macro_rules! again {
        ($decode:expr, $encode:expr) => {
            if let Ok(read) = $decode(bytes) {
                let mut wire = Vec::new();
                $encode(&read, &mut wire);
                assert_eq!($decode(&wire).as_ref(), Ok(&read));
                taken += 1;
            }
        };
    }
    /// Encodes one entry after another.
    fn each<T>(encode: impl Fn(&T, &mut Vec<u8>)) -> impl Fn(&Vec<T>, &mut Vec<u8>) {
        move |entries, wire| entries.iter().for_each(|entry| encode(entry, wire))
    }
    again!(ControlParameters::decode, ControlParameters::encode);
    again!(ControlResponse::decode, ControlResponse::encode);
    again!(FaceQueryFilter::decode, FaceQueryFilter::encode);
    again!(decode_channels, each(|uri: &String, wire: &mut Vec<u8>| encode_channel(uri, wire)));
    again!(decode_fib, each(encode_fib_entry));
    again!(decode_rib, each(encode_rib_entry));
    again!(decode_strategy_choices, each(encode_strategy_choice));
    again!(decode_cs_info, encode_cs_info);
    again!(decode_general, encode_general);
    // Weir's own fields are always written, and read as reported.
    if let Ok(faces) = decode_faces(bytes) {
        let mut wire = Vec::new();
        faces.iter().for_each(|face| encode_face(&face.status, &mut wire));
        let again = decode_faces(&wire).expect("what was written is read");
        assert!(again.iter().map(|face| &face.status).eq(faces.iter().map(|face| &face.status)));
        let texts = faces.iter().flat_map(|face| [&face.status.remote, &face.status.local]);
        assert!(texts.into_iter().all(|text| can_be_printed(text)));
        taken += 1;
    }
    if let Ok(event) = decode_face_event(bytes) {
        assert!(can_be_printed(&event.face.remote));
        taken += 1;
    }
    if let Ok(response) = ControlResponse::decode(bytes) {
        assert!(can_be_printed(&response.text));
    }
    taken
}

fn can_be_printed(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}
