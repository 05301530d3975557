//! The rules of NDNLPv2 for header fields, each tested on a frame written by hand.
use weir_packet::DecodeErrorKind as K;
use weir_packet::signal;
use weir_packet::tlv::put_element;
use weir_packet::{CachePolicy, LpPacket, NackReason, NetPacket, Payload, decode_frame};

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn frame(fields: &[&str]) -> Vec<u8> {
    let value: Vec<u8> = fields.iter().flat_map(|field| unhex(field)).collect();
    let mut wire = Vec::new();
    put_element(&mut wire, 100, &value);
    wire
}

const INTEREST: &str = "5007 0505 0703080161";
const DATA: &str = "500E 060C 0703080161 16031B0100 1700";

fn unknown(typ: u16) -> String {
    if typ < 253 { format!("{typ:02X}00") } else { format!("FD{typ:04X}00") }
}

#[test]
fn an_unknown_field_is_ignored_from_800_to_959_if_a_multiple_of_four_and_else_drops_the_frame() {
    for typ in (84..=96).chain([97, 99]).chain(253..=1100) {
        let known = [800, 812, 816, 820, 832, 836, 840, 844, 848].contains(&typ);
        if known || signal::is_signal(typ.into()) {
            continue;
        }
        let ignorable = (800..=959).contains(&typ) && typ % 4 == 0;
        let result = decode_frame(&frame(&[&unknown(typ), INTEREST])).map(drop);
        let expected = if ignorable { Ok(()) } else { Err(K::Critical(typ.into()).at(2)) };
        assert_eq!(result, expected, "{typ}");
    }
}

#[test]
fn the_numbers_that_published_simulators_use_are_judged_by_the_rule() {
    let judge = |typ| decode_frame(&frame(&[&unknown(typ), INTEREST])).is_ok();
    assert_eq!([852, 856, 860].map(judge), [true; 3]);
    assert_eq!([84, 85, 817, 853, 890, 894].map(judge), [false; 6]);
}

/// A description, the fields of the frame, and the error, or `None` if the frame is valid.
type Case<'a> = (&'a str, &'a [&'a str], Option<(K, usize)>);

#[test]
fn fields_are_judged_by_order_count_and_length() {
    let sequence = "51080000000000000001";
    let ack = "FD0344080000000000000001";
    let cases: &[Case<'_>] = &[
        ("no field", &[], None),
        ("a packet alone", &[INTEREST], None),
        ("a field behind the fragment", &[INTEREST, "FD03400101"], Some((K::OutOfOrder(832), 11))),
        ("two fragments", &[INTEREST, INTEREST], Some((K::Repeated(80), 11))),
        ("sequence behind FragIndex", &["520100", sequence, INTEREST], Some((K::OutOfOrder(81), 5))),
        ("mark before token", &["FD03400101", "620101", INTEREST], Some((K::OutOfOrder(98), 7))),
        ("ignorable out of order", &["FD035800", "FD035400", INTEREST], Some((K::OutOfOrder(852), 6))),
        ("ignorable twice", &["FD035400", "FD035400", INTEREST], None),
        ("token twice", &["620101", "620101", INTEREST], Some((K::Repeated(98), 5))),
        ("mark twice", &["FD03400101", "FD03400101", INTEREST], Some((K::Repeated(832), 7))),
        ("signal twice", &["FD03840101", "FD03840101", INTEREST], Some((K::Repeated(900), 7))),
        ("two acks", &[ack, ack, INTEREST], None),
        ("acks apart", &[ack, "FD034C00", ack], Some((K::OutOfOrder(836), 18))),
        ("empty token", &["6200", INTEREST], Some((K::BadLength(98), 2))),
        ("token of 33 bytes", &[&format!("6221{}", "00".repeat(33)), INTEREST], Some((K::BadLength(98), 2))),
        ("token of 32 bytes", &[&format!("6220{}", "00".repeat(32)), INTEREST], None),
        ("sequence of 1 byte", &["510101", INTEREST], Some((K::BadLength(81), 2))),
        ("ack of 4 bytes", &["FD03440400000001"], Some((K::BadLength(836), 2))),
        ("TxSequence of 4 bytes", &["FD03480400000001", INTEREST], Some((K::BadLength(840), 2))),
        ("mark without a number", &["FD034000", INTEREST], Some((K::BadLength(832), 2))),
        ("mark of 3 bytes", &["FD034003000001", INTEREST], Some((K::BadLength(832), 2))),
        ("mark of 8 bytes", &["FD0340080000000000000001", INTEREST], None),
        ("signal of 3 bytes", &["FD038403000001", INTEREST], Some((K::BadLength(900), 2))),
        ("NonDiscovery with a value", &["FD034C0100", INTEREST], Some((K::BadLength(844), 2))),
        ("CachePolicy without a type", &["FD033400", INTEREST], Some((K::Missing(821), 6))),
        ("Nack with a critical element", &["FD032003FD0323", INTEREST], Some((K::Truncated, 6))),
        ("Nack with an unknown odd element", &["FD032004FD032300", INTEREST], Some((K::Critical(803), 6))),
        ("Nack with an unknown even element", &["FD032004FD032400", INTEREST], None),
        ("Nack of a Data", &["FD032000", DATA], Some((K::Unexpected(6), 8))),
        ("Nack of nothing", &["FD032000"], Some((K::Missing(5), 6))),
        ("index as large as the count", &[sequence, "520103", "530103", "500161"], Some((K::BadFragment, 2))),
        ("count of 0", &[sequence, "530100", "500161"], Some((K::BadFragment, 2))),
        ("index without count", &[sequence, "520101", "500161"], Some((K::BadFragment, 2))),
        ("count without sequence", &["520100", "530102", "500161"], Some((K::BadFragment, 2))),
        ("count of 1", &["520100", "530101", INTEREST], None),
        ("a frame in a frame", &["5002 6400"], Some((K::Unexpected(100), 4))),
        ("an empty fragment", &["5000"], Some((K::Truncated, 4))),
    ];
    for (what, fields, expected) in cases {
        let result = decode_frame(&frame(fields)).map(drop);
        assert_eq!(result, expected.map_or(Ok(()), |(kind, offset)| Err(kind.at(offset))), "{what}");
    }
}

#[test]
fn a_frame_with_every_field_is_understood_and_written_in_order() {
    let wire = frame(&[
        "5108 0000000000000007",
        "5201 01",
        "5301 03",
        "6206 000100000003",
        "FD032005 FD03210196",
        "FD032C02 0101",
        "FD033001 05",
        "FD033405 FD03350101",
        "FD034001 02",
        "FD034408 0000000000000001",
        "FD034408 00000000000000FF",
        "FD034808 0000000000000009",
        "FD034C00",
        "FD035004 0602 0700",
        "FD038401 02",
        "FD038804 000F4240",
        "FD038C04 00989680",
        "FD039002 03E8",
        "FD03B001 03",
        "5003 616263",
    ]);
    let (packet, payload) = decode_frame(&wire).unwrap();
    let (link, header) = (packet.link, packet.header);
    assert_eq!((link.sequence, link.frag_index, link.frag_count), (Some(7), 1, 3));
    assert_eq!(link.tx_sequence, Some(9));
    assert_eq!(header.pit_token.as_u48(), Some(0x1_0000_0003));
    assert_eq!(header.nack(), Some(NackReason::NoRoute));
    assert_eq!((header.incoming_face_id(), header.next_hop_face_id()), (Some(257), Some(5)));
    assert_eq!(header.cache_policy(), Some(CachePolicy::NoCache));
    assert_eq!(header.congestion_mark, 2);
    assert_eq!(packet.acks.iter().collect::<Vec<_>>(), [1, 255]);
    assert!(header.non_discovery);
    assert_eq!(packet.prefix_announcement, Some(&[6, 2, 7, 0][..]));
    let signals: Vec<_> = header.signals.iter().collect();
    assert_eq!(signals, [(900, 2), (904, 1_000_000), (908, 10_000_000), (912, 1000), (944, 3),]);
    assert_eq!(payload, Payload::Piece(b"abc"));
    assert_eq!(packet.to_vec(), wire);
    assert_eq!(packet.wire_len(), wire.len());
    let mut head = Vec::new();
    packet.encode_head(&mut head);
    head.extend(b"abc");
    assert_eq!(head, wire);
}

#[test]
fn a_frame_without_fragment_is_idle() {
    for fields in [&[][..], &["FD0344080000000000000001"], &["620101"]] {
        let wire = frame(fields);
        let (packet, payload) = decode_frame(&wire).unwrap();
        assert_eq!(payload, Payload::Idle);
        assert_eq!(packet.to_vec(), wire);
    }
}

#[test]
fn a_nack_has_a_reason_or_none() {
    for (fields, reason) in [
        ("FD032000", NackReason::None),
        ("FD032005FD03210132", NackReason::Congestion),
        ("FD032005FD03210164", NackReason::Duplicate),
        ("FD032005FD03210196", NackReason::NoRoute),
        ("FD032005FD032101C8", NackReason::Other(200)),
    ] {
        let wire = frame(&[fields, INTEREST]);
        let (packet, payload) = decode_frame(&wire).unwrap();
        let Payload::Packet(NetPacket::Nack(found, interest)) = payload else { panic!("no Nack") };
        assert_eq!((found, interest.name.to_string().as_str()), (reason, "/a"));
        assert_eq!(packet.to_vec(), wire);
    }
}

#[test]
fn other_packets_than_interest_data_and_lp_are_no_frames() {
    for wire in ["0700", "6500", "FD006400", ""] {
        let result = LpPacket::decode(&unhex(wire)).map(drop);
        match wire {
            // The TLV-TYPE of LpPacket in a longer form is valid input.
            "FD006400" => assert_eq!(result, Ok(())),
            _ => assert!(result.is_err(), "{wire}"),
        }
    }
    assert_eq!(decode_frame(&frame(&[INTEREST, INTEREST])[..11]), Err(K::Truncated.at(0)));
}
