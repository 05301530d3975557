//! Arbitrary frames and slightly wrong ones, through link service, decoder and core and out again.
#[path = "../../../../fuzz/src/forwarder.rs"]
mod harness;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use weir_packet::lp::LinkHeader;
use weir_packet::signal;
use weir_packet::{
    Data, Interest, LpHeader, LpPacket, NackReason, Name, PitToken, SignatureInfo, SignatureType,
};

fn some_name() -> impl Strategy<Value = Name> {
    let known =
        prop::sample::select(vec!["/", "/a", "/a/b", "/a/b/c", "/b", "/localhost/nfd", "/localhop/x"]);
    (known, 0..5usize).prop_map(|(uri, more)| {
        let name: Name = uri.parse().unwrap();
        (0..[0, 0, 1, 5, 200][more]).fold(name, |name, number| name.with_segment(number))
    })
}

/// An Interest or a Data.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let interest = (some_name(), any::<[bool; 2]>(), 0..4u32, 0..3u64, any::<Option<u8>>()).prop_map(
        |(name, [can_be_prefix, must_be_fresh], nonce, lifetime, hop_limit)| {
            let nonce = (nonce > 0).then_some(nonce);
            let lifetime = Some([0, 900, u64::MAX][lifetime as usize]);
            let bare = Interest::new(name.view());
            Interest { can_be_prefix, must_be_fresh, nonce, lifetime, hop_limit, ..bare }.to_vec()
        },
    );
    let data = (some_name(), 0..1200usize).prop_map(|(name, length)| {
        let info = SignatureInfo::new(SignatureType::Null);
        Data::new(name.view(), &vec![1; length], info).to_vec()
    });
    prop_oneof![2 => interest, 1 => data]
}

fn header() -> impl Strategy<Value = LpHeader> {
    let nack = prop::option::weighted(0.2, 0..4usize);
    let token = prop::collection::vec(0..3u8, 0..9);
    (nack, token, any::<(bool, u64)>(), prop::option::of((0..signal::TYPES as u32, any::<u64>()))).prop_map(
        |(nack, token, (non_discovery, number), signal)| {
            let reasons =
                [NackReason::None, NackReason::Duplicate, NackReason::NoRoute, NackReason::Other(number)];
            let mut header = LpHeader::with_token(PitToken::new(&token).unwrap_or(PitToken::NONE));
            header.set_nack(nack.map(|at| reasons[at]));
            header.non_discovery = non_discovery;
            header.congestion_mark = number % 3;
            if let Some((at, value)) = signal {
                header.signals.set_type(signal::types().nth(at as usize).expect("one of them"), value);
            }
            header
        },
    )
}

/// A frame: a whole packet, or a fragment with numbers that may or may not match others.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let numbers = prop::option::weighted(0.3, (0..4u64, 0..4u64, 0..5u64));
    (header(), packet(), numbers).prop_map(|(header, packet, numbers)| {
        let mut frame = LpPacket::new(header, &packet);
        if let Some((index, sequence, count)) = numbers {
            let (frag_index, frag_count) = (index, count);
            frame.link = LinkHeader {
                sequence: Some(1000 + sequence),
                frag_index,
                frag_count,
                tx_sequence: (count % 2 == 0).then_some(sequence),
            };
        }
        frame.to_vec()
    })
}

/// The harness's input: steps with frames, some with wrong bytes.
fn steps() -> impl Strategy<Value = Vec<u8>> {
    let wrong = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    let right = (any::<u8>(), frame(), prop::bool::weighted(0.2), wrong);
    let frame = right.prop_map(|(step, mut frame, is_wrong, wrong)| {
        for (at, byte) in wrong.into_iter().filter(|_| is_wrong) {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        [&[step & 0x7F][..], &(frame.len() as u16).to_be_bytes(), &frame].concat()
    });
    let change = (0x80..=0xFFu8).prop_map(|step| vec![step]);
    prop::collection::vec(prop_oneof![8 => frame, 1 => change], 0..60).prop_map(|steps| steps.concat())
}

#[test]
fn the_corpus_of_frames_breaks_no_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/forwarder_input");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is beside the fuzz targets") {
        harness::input(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8, "{count} files in {}", folder.display());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nearly_right_frames_break_no_promise(scheme: u8, steps in steps()) {
        harness::input(&[&[scheme][..], &steps].concat());
    }

    #[test]
    fn arbitrary_bytes_break_no_promise(bytes: Vec<u8>) {
        harness::input(&bytes);
    }
}
