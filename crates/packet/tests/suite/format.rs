//! The rules of NDN Packet Format v0.3, tested on packets written by hand from its definitions.
use weir_packet::DecodeErrorKind as K;
use weir_packet::data::ContentType;
use weir_packet::tlv::put_element;
use weir_packet::{
    Data, ForwardingHint, Interest, KeyLocator, MAX_PACKET_SIZE, Name, NetPacket, Payload, SignatureType,
    decode_frame,
};

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

/// A packet of this type with these elements.
fn packet(typ: u32, elements: &[&str]) -> Vec<u8> {
    let value: Vec<u8> = elements.iter().flat_map(|element| unhex(element)).collect();
    let mut wire = Vec::new();
    put_element(&mut wire, typ, &value);
    wire
}

const NAME: &str = "0703 080161";

#[test]
fn an_interest_with_every_element_is_understood() {
    let wire = packet(
        5,
        &[
            "0706 080161 320107",
            "2100",
            "1200",
            "1E0A 0703080161 0703080162",
            "0A04 01020304",
            "0C02 0FA0",
            "2201 40",
            "2402 C0C1",
            "2C0E 1B0104 2602AABB 280203E8 2A0105",
            "2E02 D0D1",
        ],
    );
    let (interest, layout) = Interest::decode_with_layout(&wire).unwrap();
    assert_eq!(interest.name, name("/a/seg=7"));
    assert!(interest.can_be_prefix && interest.must_be_fresh);
    let hint: Vec<_> = interest.forwarding_hint.names().map(|name| name.to_string()).collect();
    assert_eq!(hint, ["/a", "/b"]);
    assert_eq!(interest.nonce, Some(0x0102_0304));
    assert_eq!(interest.lifetime_ms(), 4000);
    assert_eq!(interest.hop_limit, Some(64));
    assert_eq!(interest.application_parameters, Some(&[0xC0, 0xC1][..]));
    let signature = interest.signature.unwrap();
    assert_eq!(signature.info.typ, SignatureType::HmacWithSha256);
    assert_eq!(signature.info.nonce, Some(&[0xAA, 0xBB][..]));
    assert_eq!((signature.info.time_ms, signature.info.seq_num), (Some(1000), Some(5)));
    assert_eq!(signature.value, [0xD0, 0xD1]);
    assert!(!interest.parameters_are_consistent());
    assert_eq!(interest.to_vec(), wire);
    assert_eq!(interest.wire_len(), wire.len());
    assert_eq!(wire[layout.nonce.unwrap()..][..4], [1, 2, 3, 4]);
    assert_eq!(wire[layout.hop_limit.unwrap()], 64);
    assert_eq!(wire[layout.parameters.clone().unwrap()][..4], [0x24, 2, 0xC0, 0xC1]);
    assert_eq!(layout.parameters.unwrap().end, wire.len());
    assert_eq!(layout.signed.unwrap().end, wire.len() - 4);
}

#[test]
fn an_interest_with_nothing_but_a_name_lives_four_seconds() {
    let wire = packet(5, &[NAME]);
    let interest = Interest::decode(&wire).unwrap();
    assert_eq!(interest, Interest::new(name("/a").view()));
    assert_eq!((interest.lifetime_ms(), interest.nonce, interest.hop_limit), (4000, None, None));
}

#[test]
fn a_data_with_every_element_is_understood() {
    let wire = packet(
        6,
        &[
            NAME,
            "140D 180102 19020FA0 1A04 32020100",
            "1502 6869",
            "1638 1B0103 1C05 070308016B",
            "FD00FD 26 FD00FE 0F 323032363031303154303030303030 FD00FF 0F 323032373031303154303030303030",
            "FD0102 00",
            "1703 010203",
        ],
    );
    let (data, layout) = Data::decode_with_layout(&wire).unwrap();
    assert_eq!(data.name, name("/a"));
    assert_eq!(data.content_type(), ContentType::Key);
    assert_eq!(data.freshness_period_ms(), 4000);
    let last = data.meta.final_block_id.unwrap();
    assert_eq!((last.typ, last.value, last.segment()), (50, &[1, 0][..], Some(256)));
    assert_eq!(data.payload(), b"hi");
    let info = data.signature.info;
    assert_eq!(info.typ, SignatureType::Sha256WithEcdsa);
    assert_eq!(info.key_locator, Some(KeyLocator::Name(name("/k").view())));
    assert_eq!(info.validity.unwrap().not_before, b"20260101T000000");
    assert_eq!(info.validity.unwrap().not_after, b"20270101T000000");
    assert_eq!(info.description, Some(&[][..]));
    assert_eq!(data.signature.value, [1, 2, 3]);
    assert_eq!(data.to_vec(), wire);
    assert_eq!(data.wire_len(), wire.len());
    assert_eq!(layout.signed, 2..wire.len() - 5);
    assert_eq!(&wire[layout.content.unwrap()], b"hi");
}

#[test]
fn a_data_may_have_no_content_and_no_metainfo() {
    let wire = packet(6, &[NAME, "1603 1B0100", "1700"]);
    let data = Data::decode(&wire).unwrap();
    assert_eq!((data.content, data.payload()), (None, &[][..]));
    assert_eq!((data.content_type(), data.freshness_period_ms()), (ContentType::Blob, 0));
    assert!(!data.is_final_block());
    assert_eq!(data.to_vec(), wire);
}

/// A description, the elements of the packet, and the error, or `None` if the packet is valid.
type Case<'a> = (&'a str, &'a [&'a str], Option<(K, usize)>);

#[test]
fn elements_of_an_interest_are_judged_by_the_evolvability_rule() {
    let cases: &[Case<'_>] = &[
        ("unknown even type", &[NAME, "6001FF"], None),
        ("unknown even type between", &[NAME, "2100", "6000", "1200"], None),
        ("unknown even three-byte type", &[NAME, "FD040000"], None),
        ("unknown odd type", &[NAME, "6100"], Some((K::Critical(0x61), 7))),
        ("unknown type of 31 or less", &[NAME, "1C00"], Some((K::Critical(28), 7))),
        ("unknown element before the name", &["6000", NAME], Some((K::Unexpected(0x60), 2))),
        ("no name", &["2100"], Some((K::Unexpected(33), 2))),
        ("nothing", &[], Some((K::Missing(7), 2))),
        ("empty name", &["0700"], Some((K::EmptyName, 2))),
        ("second name", &[NAME, NAME], Some((K::Critical(7), 7))),
        ("flag twice", &[NAME, "2100", "2100"], Some((K::Critical(33), 9))),
        ("MustBeFresh before CanBePrefix", &[NAME, "1200", "2100"], Some((K::Critical(33), 9))),
        ("Nonce behind InterestLifetime", &[NAME, "0C0101", "0A0400000000"], Some((K::Critical(10), 10))),
        ("HopLimit twice: the second is even", &[NAME, "220101", "220102"], None),
        ("InterestLifetime behind HopLimit", &[NAME, "220101", "0C0101"], Some((K::Critical(12), 10))),
        ("CanBePrefix with a value", &[NAME, "210100"], Some((K::BadLength(33), 7))),
        ("Nonce of 3 bytes", &[NAME, "0A03000000"], Some((K::BadLength(10), 7))),
        ("Nonce of 5 bytes", &[NAME, "0A050000000000"], Some((K::BadLength(10), 7))),
        ("HopLimit of 2 bytes", &[NAME, "22020001"], Some((K::BadLength(34), 7))),
        ("lifetime of 3 bytes", &[NAME, "0C03000001"], Some((K::BadLength(12), 7))),
        ("lifetime of 8 bytes", &[NAME, "0C080000000000000FA0"], None),
        ("hint without a name", &[NAME, "1E00"], Some((K::Missing(7), 9))),
        ("hint with an old delegation", &[NAME, "1E071F05 1E0101 0700"], Some((K::Critical(31), 9))),
        ("hint with an ignorable element", &[NAME, "1E076000 0703080162"], None),
        ("signature info without value", &[NAME, "2400", "2C031B0100"], Some((K::Missing(46), 14))),
        ("signature value without info", &[NAME, "2400", "2E00"], Some((K::Missing(44), 9))),
        ("signature without parameters", &[NAME, "2C031B0100", "2E00"], Some((K::Missing(36), 12))),
        ("signature info without type", &[NAME, "2400", "2C00", "2E00"], Some((K::Missing(27), 11))),
        ("element that ends outside", &[NAME, "0C04 00"], Some((K::Truncated, 7))),
        ("half a header", &[NAME, "0C"], Some((K::Truncated, 7))),
        ("type 0", &[NAME, "0000"], Some((K::BadType, 7))),
        ("component that ends outside", &["0703 080261"], Some((K::Truncated, 4))),
        ("component of type 65536", &["0706 FE0001000000"], Some((K::BadComponentType(65536), 4))),
        ("component length in a long form", &["0705 08FD000161"], Some((K::NotShortest, 4))),
        ("digest of 31 bytes", &["0703 020100"], Some((K::BadLength(2), 4))),
    ];
    judge(5, cases, |wire| Interest::decode(wire).map(drop));
}

#[test]
fn elements_of_a_data_are_judged_by_the_evolvability_rule() {
    const INFO: &str = "16031B0100";
    const VALUE: &str = "1700";
    let cases: &[Case<'_>] = &[
        ("the least", &[NAME, INFO, VALUE], None),
        ("empty name", &["0700", INFO, VALUE], None),
        ("empty MetaInfo", &[NAME, "1400", INFO, VALUE], None),
        ("no signature info", &[NAME, VALUE], Some((K::Missing(22), 9))),
        ("no signature value", &[NAME, INFO], Some((K::Missing(23), 12))),
        ("Content before MetaInfo", &[NAME, "1500", "1400", INFO, VALUE], Some((K::Critical(20), 9))),
        ("Content twice", &[NAME, "1500", "1500", INFO, VALUE], Some((K::Critical(21), 9))),
        (
            "unknown even type at every place",
            &[NAME, "6000", "1400", "6000", INFO, "6000", VALUE, "6000"],
            None,
        ),
        ("unknown odd type", &[NAME, INFO, VALUE, "6500"], Some((K::Critical(0x65), 14))),
        ("unknown critical in MetaInfo", &[NAME, "14021F00", INFO, VALUE], Some((K::Critical(31), 9))),
        ("unknown ignorable in MetaInfo", &[NAME, "14026000", INFO, VALUE], None),
        ("MetaInfo out of order", &[NAME, "1406190101180100", INFO, VALUE], Some((K::Critical(24), 12))),
        (
            "FreshnessPeriod of 5 bytes",
            &[NAME, "140719050000000000", INFO, VALUE],
            Some((K::BadLength(25), 9)),
        ),
        ("empty FinalBlockId", &[NAME, "14021A00", INFO, VALUE], Some((K::Missing(26), 11))),
        ("FinalBlockId of two", &[NAME, "14081A06080161080162", INFO, VALUE], Some((K::TrailingBytes, 14))),
        ("empty KeyLocator", &[NAME, "16051B01001C00", VALUE], Some((K::Missing(7), 14))),
        ("KeyLocator with two keys", &[NAME, "16091B01001C0407001D00", VALUE], Some((K::Critical(29), 16))),
        ("KeyDigest", &[NAME, "16081B01001C031D0107", VALUE], None),
        ("signature type of no number", &[NAME, "16021B00", VALUE], Some((K::BadLength(27), 9))),
        ("unknown first in SignatureInfo", &[NAME, "160560001B0100", VALUE], Some((K::Unexpected(0x60), 9))),
    ];
    judge(6, cases, |wire| Data::decode(wire).map(drop));
}

fn judge(typ: u32, cases: &[Case<'_>], decode: fn(&[u8]) -> Result<(), weir_packet::DecodeError>) {
    for (what, elements, expected) in cases {
        let result = decode(&packet(typ, elements));
        let expected = expected.map_or(Ok(()), |(kind, offset)| Err(kind.at(offset)));
        assert_eq!(result, expected, "{what}");
    }
}

#[test]
fn long_forms_of_lengths_are_understood_outside_names_and_written_short() {
    // 20 bytes: a Name with a TLV-LENGTH of four bytes, and a lifetime of 1000 in eight bytes.
    let wire = unhex("05 FD0014 07 FE00000003 080161 0C 08 00000000000003E8");
    let truncated = Interest::decode(&wire).map(drop);
    assert_eq!(truncated, Err(K::Truncated.at(0)), "19 bytes, not 20");
    let wire = unhex("05 FD0015 07 FE00000003 080161 0C FD0008 00000000000003E8");
    assert_eq!(Interest::decode(&wire).unwrap().to_vec(), unhex("0509 0703 080161 0C02 03E8"));
}

#[test]
fn a_packet_is_one_element_of_its_type_within_the_limit() {
    let wire = packet(5, &[NAME]);
    assert_eq!(Data::decode(&wire), Err(K::Unexpected(5).at(0)));
    assert_eq!(Interest::decode(&packet(6, &[NAME])), Err(K::Unexpected(6).at(0)));
    assert_eq!(Interest::decode(&[&wire[..], &[0]].concat()), Err(K::TrailingBytes.at(7)));
    assert_eq!(Interest::decode(&[]), Err(K::Truncated.at(0)));
    let at_limit = |content: usize| {
        let bytes = vec![0; content];
        let info = weir_packet::SignatureInfo::new(SignatureType::Null);
        Data::new(name("/a").view(), &bytes, info).to_vec()
    };
    // 06 fd.. 07 03 .. 15 fd.. 16 03 .. 17 00: 20 bytes, and the second byte of the signature type.
    let overhead = at_limit(8000).len() - 8000;
    assert_eq!(at_limit(MAX_PACKET_SIZE - overhead).len(), MAX_PACKET_SIZE);
    assert!(Data::decode(&at_limit(MAX_PACKET_SIZE - overhead)).is_ok());
    assert_eq!(Data::decode(&at_limit(MAX_PACKET_SIZE - overhead + 1)), Err(K::TooLarge.at(0)));
}

#[test]
fn a_forwarder_changes_hop_limit_and_nonce_in_the_bytes_it_received() {
    let mut wire = packet(5, &[NAME, "2100", "6001AA", "0C0203E8", "220102"]);
    let (_, layout) = Interest::decode_with_layout(&wire).unwrap();
    assert!(layout.decrement_hop_limit(&mut wire));
    assert!(layout.decrement_hop_limit(&mut wire));
    assert!(!layout.decrement_hop_limit(&mut wire), "zero stays zero");
    let mut out = vec![0xFF];
    layout.encode_with_nonce(&wire, 0xDEAD_BEEF, &mut out);
    assert_eq!(out[1..], packet(5, &[NAME, "2100", "0A04DEADBEEF", "6001AA", "0C0203E8", "220100"]));
    assert_eq!(Interest::decode(&out[1..]).unwrap().nonce, Some(0xDEAD_BEEF));
}

#[test]
fn the_nonce_belongs_behind_the_hint() {
    let wire = packet(5, &[NAME, "2100", "1200", "1E050703080162", "220102"]);
    let (_, layout) = Interest::decode_with_layout(&wire).unwrap();
    let mut out = Vec::new();
    layout.encode_with_nonce(&wire, 1, &mut out);
    assert_eq!(out, packet(5, &[NAME, "2100", "1200", "1E050703080162", "0A0400000001", "220102"]));
}

#[test]
fn a_hint_is_made_of_names() {
    let mut value = Vec::new();
    name("/a").view().encode(&mut value);
    name("/b/c").view().encode(&mut value);
    let hint = ForwardingHint::from_value(&value).unwrap();
    assert_eq!(hint.names().map(|name| name.to_string()).collect::<Vec<_>>(), ["/a", "/b/c"]);
    assert!(ForwardingHint::from_value(&[]).is_err());
    assert!(ForwardingHint::NONE.is_empty());
    assert_eq!(ForwardingHint::NONE.names().count(), 0);
}

#[test]
fn an_error_in_a_wrapped_packet_has_its_offset_in_the_frame() {
    let inner = packet(5, &[NAME, "6100"]);
    let mut wire = vec![0x64, 5 + 2 + inner.len() as u8, 0xFD, 3, 0x40, 1, 1, 0x50, inner.len() as u8];
    wire.extend(&inner);
    let error = decode_frame(&wire).unwrap_err();
    assert_eq!(error, K::Critical(0x61).at(9 + 7));
    assert_eq!(error.to_string(), "unknown or misplaced critical element with TLV-TYPE 97 (at byte 16)");
    let bare = packet(6, &[NAME, "16031B0100", "1700"]);
    assert!(matches!(decode_frame(&bare), Ok((_, Payload::Packet(NetPacket::Data(_))))));
}
