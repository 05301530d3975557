//! Properties of everything that can be encoded: decoding returns the encoded value, the length is the announced one,
//! no shorter input decodes, and no flipped bit causes a panic.
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use weir_packet::data::{ContentType, DataLengths, MetaInfo};
use weir_packet::interest::InterestLengths;
use weir_packet::lp::{CachePolicy, LinkHeader};
use weir_packet::signal;
use weir_packet::{
    Acks, Component, Data, ForwardingHint, Interest, KeyLocator, LpHeader, LpPacket, NackReason, Name,
    NameRef, PitToken, Signature, SignatureInfo, SignatureType, ValidityPeriod, decode_frame,
};

fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..=max)
}

/// Numbers of every length.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(number, shift)| number >> shift)
}

fn name(min: usize) -> impl Strategy<Value = Name> {
    let typ =
        prop_oneof![Just(8u16), prop::sample::select(vec![1u16, 2, 32, 50, 54, 252, 253]), 1..=u16::MAX];
    let component = (typ, bytes(12), any::<[u8; 32]>(), option::of(number()));
    vec(component, min..6).prop_map(|components| {
        let mut name = Name::new();
        for (typ, value, digest, number) in components {
            match (typ, number) {
                (1 | 2, _) => assert!(name.push(Component { typ, value: &digest })),
                (50..=58, Some(number)) => assert!(name.push_number(typ, number)),
                _ => assert!(name.push(Component { typ, value: &value })),
            }
        }
        name
    })
}

/// The fields of a SignatureInfo.
#[derive(Clone, Debug)]
struct Info {
    typ: u64,
    key: Option<Result<Name, Vec<u8>>>,
    nonce: Option<Vec<u8>>,
    time_ms: Option<u64>,
    seq_num: Option<u64>,
    validity: Option<([u8; 15], [u8; 15])>,
    description: Option<Vec<u8>>,
    value: Vec<u8>,
}

impl Info {
    fn signature(&self) -> Signature<'_> {
        let info = SignatureInfo {
            typ: SignatureType::from_value(self.typ),
            key_locator: self.key.as_ref().map(|key| match key {
                Ok(name) => KeyLocator::Name(name.view()),
                Err(digest) => KeyLocator::KeyDigest(digest),
            }),
            nonce: self.nonce.as_deref(),
            time_ms: self.time_ms,
            seq_num: self.seq_num,
            validity: self
                .validity
                .as_ref()
                .map(|(not_before, not_after)| ValidityPeriod { not_before, not_after }),
            description: self.description.as_deref(),
        };
        Signature { info, value: &self.value }
    }
}

fn info() -> impl Strategy<Value = Info> {
    let key = prop_oneof![name(0).prop_map(Ok), bytes(40).prop_map(Err)];
    let numbers = (prop_oneof![0..8u64, Just(200), number()], option::of(number()), option::of(number()));
    (
        numbers,
        option::of(key),
        option::of(bytes(9)),
        any::<Option<([u8; 15], [u8; 15])>>(),
        option::of(bytes(9)),
        bytes(80),
    )
        .prop_map(|((typ, time_ms, seq_num), key, nonce, validity, description, value)| Info {
            typ,
            key,
            nonce,
            time_ms,
            seq_num,
            validity,
            description,
            value,
        })
}

/// Checks the properties of a wire form.
fn check_wire(wire: &[u8], seed: usize) {
    assert!(decode_frame(wire).is_ok());
    for len in 0..wire.len() {
        assert!(decode_frame(&wire[..len]).is_err(), "cut to {len} of {} bytes", wire.len());
    }
    let mut flipped = wire.to_vec();
    for step in 0..64 {
        let bit = (seed + step * 37) % (wire.len() * 8);
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = decode_frame(&flipped);
        if step % 3 > 0 {
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn names_survive_bytes_and_uri(name in name(0), other in name(0)) {
        prop_assert_eq!(NameRef::from_value(name.value()), Ok(name.view()));
        prop_assert_eq!(name.to_string().parse::<Name>(), Ok(name.clone()));
        let mut wire = Vec::new();
        name.view().encode(&mut wire);
        prop_assert_eq!(wire.len(), name.view().wire_len());
        prop_assert_eq!(NameRef::decode(&wire), Ok(name.view()));
        for len in 0..wire.len() {
            prop_assert!(NameRef::decode(&wire[..len]).is_err());
        }
        // The order of the bytes is the order of the components.
        let by_component = name.view().components().cmp(other.view().components());
        prop_assert_eq!(name.cmp(&other), by_component);
        let is_prefix = name.view().len() <= other.len() && name == other.view().prefix(name.len());
        prop_assert_eq!(other.view().starts_with(name.view()), is_prefix);
        let mut joined = name.clone();
        joined.extend(other.view());
        prop_assert_eq!(joined.view().suffix(name.len()), other.view());
        joined.truncate(name.len());
        prop_assert_eq!(joined, name);
    }

    #[test]
    fn interests_survive(
        name in name(1),
        flags in any::<(bool, bool)>(),
        hint in vec(name(0), 0..3),
        nonce in any::<Option<u32>>(),
        lifetime in option::of(number()),
        hop_limit in any::<Option<u8>>(),
        parameters in option::of(bytes(300)),
        info in option::of(info()),
        seed in any::<usize>(),
    ) {
        let mut hint_value = Vec::new();
        hint.iter().for_each(|name| name.view().encode(&mut hint_value));
        let forwarding_hint = match hint.is_empty() {
            true => ForwardingHint::NONE,
            false => ForwardingHint::from_value(&hint_value).unwrap(),
        };
        let interest = Interest {
            name: name.view(),
            can_be_prefix: flags.0,
            must_be_fresh: flags.1,
            forwarding_hint,
            nonce,
            lifetime,
            hop_limit,
            application_parameters: parameters.as_deref(),
            signature: info.as_ref().filter(|_| parameters.is_some()).map(Info::signature),
        };
        let wire = interest.to_vec();
        prop_assert_eq!(wire.len(), interest.wire_len());
        let (decoded, layout) = Interest::decode_with_layout(&wire).unwrap();
        prop_assert_eq!(decoded, interest);
        prop_assert!(forwarding_hint.names().eq(hint.iter().map(Name::view)));
        prop_assert_eq!(layout.nonce.map(|at| wire[at..at + 4].to_vec()), nonce.map(|n| n.to_be_bytes().to_vec()));
        prop_assert_eq!(layout.hop_limit.map(|at| wire[at]), hop_limit);
        if nonce.is_none() {
            let mut with_nonce = Vec::new();
            layout.encode_with_nonce(&wire, 7, &mut with_nonce);
            prop_assert_eq!(with_nonce, Interest { nonce: Some(7), ..interest }.to_vec());
        }
        check_wire(&wire, seed);
    }

    #[test]
    fn data_packets_survive(
        name in name(0),
        content_type in option::of(prop_oneof![0..7u64, number()]),
        freshness_period in option::of(number()),
        last in option::of(number()),
        content in option::of(bytes(300)),
        info in info(),
        seed in any::<usize>(),
    ) {
        let mut buffer = [0; 8];
        let meta = MetaInfo {
            content_type: content_type.map(ContentType::from_value),
            freshness_period,
            final_block_id: last.map(|last| Component::number(50, last, &mut buffer)),
        };
        let data = Data { name: name.view(), meta, content: content.as_deref(), signature: info.signature() };
        let wire = data.to_vec();
        prop_assert_eq!(wire.len(), data.wire_len());
        let (decoded, layout) = Data::decode_with_layout(&wire).unwrap();
        prop_assert_eq!(decoded, data);
        let mut signed = Vec::new();
        data.encode_signed_portion(&mut signed);
        prop_assert_eq!(&wire[layout.signed], &signed[..]);
        prop_assert_eq!(data.lengths().signed_len(), signed.len());
        prop_assert_eq!(layout.content.map(|range| &wire[range]), data.content);
        check_wire(&wire, seed);
    }

    #[test]
    fn frames_survive_and_their_header_says_their_length(
        numbers in (option::of(number()), option::of(number()), option::of(number()), option::of(number())),
        link in (option::of(number()), option::of(number()), 0..5u64, 1..5u64),
        token in bytes(32),
        mark in option::of(number()),
        non_discovery in any::<bool>(),
        acks in vec(any::<u64>(), 0..5),
        signals in vec((0..signal::TYPES as u32, number()), 0..20),
        name in name(1),
        seed in any::<usize>(),
    ) {
        let mut header = LpHeader::with_token(PitToken::new(&token).unwrap_or_default());
        header.set_nack(numbers.0.map(NackReason::from_value));
        header.set_incoming_face_id(numbers.1);
        header.set_next_hop_face_id(numbers.2);
        header.set_cache_policy(numbers.3.map(CachePolicy::from_value));
        header.congestion_mark = mark.unwrap_or(0);
        header.non_discovery = non_discovery;
        for (index, value) in signals {
            header.signals.set_type(signal::types().nth(index as usize).unwrap(), value);
        }
        let interest = Interest::new(name.view()).to_vec();
        let simple = LpPacket::new(header, &interest);
        prop_assert_eq!(simple.to_vec().len(), header.wire_len(interest.len()));
        let (sequence, tx_sequence, index, count) = link;
        let sequence = sequence.or((count > 1).then_some(0));
        let link = LinkHeader { sequence, frag_index: index % count, frag_count: count, tx_sequence };
        let frame = LpPacket { link, acks: Acks::Numbers(&acks), ..simple };
        let wire = frame.to_vec();
        prop_assert_eq!(wire.len(), frame.wire_len());
        prop_assert_eq!(LpPacket::decode(&wire), Ok(frame));
        check_wire(&wire, seed);
    }
}

#[test]
fn the_length_of_a_packet_is_known_without_the_packet() {
    for content in [0, 1, 100, 200, 252, 253, 1024, 8000] {
        for segment in [0, 255, 256, 70000] {
            let name: Name = format!("/A0/seg={segment}").parse().unwrap();
            let bytes = vec![0; content];
            let mut data = Data::new(name.view(), &bytes, SignatureInfo::new(SignatureType::DigestSha256));
            data.signature.value = &[0; 32];
            let lengths = DataLengths::with_digest(name.value().len(), 0, content);
            assert_eq!(lengths.wire_len(), data.to_vec().len());
            let interest = Interest { nonce: Some(1), lifetime: Some(1000), ..Interest::new(name.view()) };
            let lengths = InterestLengths {
                name: name.value().len(),
                nonce: true,
                lifetime: Some(1000),
                ..InterestLengths::default()
            };
            assert_eq!(lengths.wire_len(), interest.to_vec().len());
        }
    }
    // A constant, for tables of sizes.
    const LEN: usize = DataLengths::with_digest(8, 0, 1024).wire_len();
    assert_eq!(LEN, 4 + (2 + 8) + (4 + 1024) + (2 + 3) + (2 + 32));
}
