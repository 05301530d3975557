//! Captured packets of five implementations (ndnd, NDNts, python-ndn with both of its APIs, pynfdc): direction,
//! description cut at 160 characters, packet in hexadecimal.
use std::fmt::Write as _;
use weir_packet::data::MetaInfo;
use weir_packet::{
    Component, Data, Interest, KeyLocator, LpPacket, NameRef, NetPacket, Payload, SignatureInfo,
    decode_frame, tlv,
};

const FILES: [(&str, &str, usize); 5] = [
    ("ndnd-cli", include_str!("../vectors/ndnd-cli.tsv"), 56),
    ("ndnts", include_str!("../vectors/ndnts.tsv"), 30),
    ("pynfdc", include_str!("../vectors/pynfdc.tsv"), 4),
    ("python-ndn-v1", include_str!("../vectors/python-ndn-v1.tsv"), 6),
    ("python-ndn-v2", include_str!("../vectors/python-ndn-v2.tsv"), 6),
];

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex_number(number: u64) -> String {
    let mut bytes = Vec::new();
    tlv::put_nni(&mut bytes, number);
    hex(&bytes)
}

/// The source of each packet, its description and its bytes.
fn vectors() -> Vec<(String, &'static str, Vec<u8>)> {
    let mut all = Vec::new();
    for (file, text, count) in FILES {
        let before = all.len();
        for (number, line) in text.lines().enumerate() {
            let mut fields = line.split('\t').skip(1);
            let description = fields.next().unwrap();
            all.push((format!("{file}:{}", number + 1), description, unhex(fields.next().unwrap())));
        }
        assert_eq!(all.len() - before, count, "{file}");
    }
    all
}

fn describe_component(component: Component<'_>) -> String {
    let digest = |name: &str| format!("{name}={}..", &hex(component.value)[..8]);
    let number = |name: &str| format!("{name}={}", component.as_number().unwrap());
    let mut text = String::new();
    for byte in component.value {
        match byte {
            b'%' | b'/' => write!(text, "%{byte:02X}").unwrap(),
            33..127 => text.push(char::from(*byte)),
            _ => write!(text, "%{byte:02X}").unwrap(),
        }
    }
    match component.typ {
        1 => digest("sha256digest"),
        2 => digest("params-sha256"),
        32 => format!("32={text}"),
        50 => number("seg"),
        52 => number("off"),
        54 => number("v"),
        56 => number("t"),
        58 => number("seq"),
        _ if text.len() < 60 => text,
        _ => format!("{}..({}B)", &text[..20], component.value.len()),
    }
}

fn describe_name(name: NameRef<'_>) -> String {
    name.components().map(|component| format!("/{}", describe_component(component))).collect()
}

fn describe_signature(info: &SignatureInfo<'_>, limit: usize) -> String {
    let mut fields = vec![format!("27:{}", hex_number(info.typ.value()))];
    if let Some(KeyLocator::Name(name)) = info.key_locator {
        let mut wire = Vec::new();
        name.encode(&mut wire);
        fields.push(format!("28:{}", hex(&wire)));
    }
    fields.extend(info.nonce.map(|nonce| format!("38:{}", hex(nonce))));
    fields.extend(info.time_ms.map(|time| format!("40:{:016x}", time)));
    fields.extend(info.seq_num.map(|seq_num| format!("42:{}", hex_number(seq_num))));
    fields.iter().map(|field| &field[..field.len().min(limit)]).collect::<Vec<_>>().join(",")
}

fn describe_interest(interest: &Interest<'_>) -> String {
    let mut text = format!("INTEREST {}", describe_name(interest.name));
    for (flag, name) in [
        (interest.can_be_prefix, " CanBePrefix"),
        (interest.must_be_fresh, " MustBeFresh"),
        (!interest.forwarding_hint.is_empty(), " FwHint"),
        (interest.nonce.is_some(), " Nonce"),
    ] {
        text.push_str(if flag { name } else { "" });
    }
    if let Some(lifetime) = interest.lifetime {
        write!(text, " Life={lifetime}").unwrap();
    }
    if let Some(hop_limit) = interest.hop_limit {
        write!(text, " HopLimit={hop_limit}").unwrap();
    }
    if let Some(parameters) = interest.application_parameters {
        let value = hex(parameters);
        write!(text, " AppParams[{}]={}", parameters.len(), &value[..value.len().min(80)]).unwrap();
    }
    if let Some(signature) = &interest.signature {
        let info = describe_signature(&signature.info, usize::MAX);
        write!(text, " ISigInfo={info} ISigValue[{}]", signature.value.len()).unwrap();
    }
    text
}

fn describe_data(data: &Data<'_>) -> String {
    let mut text = format!("DATA {}", describe_name(data.name));
    if data.meta != MetaInfo::NONE {
        let mut fields = Vec::new();
        fields.extend(data.meta.content_type.map(|typ| format!("24:{}", hex_number(typ.value()))));
        fields.extend(data.meta.freshness_period.map(|period| format!("25:{}", hex_number(period))));
        fields.extend(data.meta.final_block_id.map(|component| {
            let mut wire = Vec::new();
            component.encode(&mut wire);
            format!("26:{}", hex(&wire))
        }));
        write!(text, " Meta({})", fields.join(",")).unwrap();
    }
    if let Some(content) = data.content {
        write!(text, " Content[{}]", content.len()).unwrap();
        if content.len() < 200 {
            let value = hex(content);
            write!(text, "={}", &value[..value.len().min(80)]).unwrap();
        }
    }
    let signature = &data.signature;
    let info = describe_signature(&signature.info, 23);
    write!(text, " SigInfo={info} SigValue[{}]", signature.value.len()).unwrap();
    text
}

fn describe(wrapped: bool, frame: &LpPacket<'_>, packet: &NetPacket<'_>) -> String {
    let mut text = String::new();
    if wrapped {
        let mut fields = Vec::new();
        if !frame.header.pit_token.is_none() {
            fields.push(format!("PitToken={}", hex(frame.header.pit_token.bytes())));
        }
        if frame.header.congestion_mark != 0 {
            fields.push(format!("CongestionMark={}", hex_number(frame.header.congestion_mark)));
        }
        write!(text, "LP{{{}}} ", fields.join(" ")).unwrap();
    }
    match packet {
        NetPacket::Interest(interest) => text += &describe_interest(interest),
        NetPacket::Data(data) => text += &describe_data(data),
        NetPacket::Nack(..) => unreachable!("there is no Nack among the vectors"),
    }
    text.truncate(160);
    text
}

#[test]
fn every_live_packet_decodes_to_what_its_description_says() {
    for (place, description, wire) in vectors() {
        let (frame, payload) = decode_frame(&wire).unwrap_or_else(|error| panic!("{place}: {error}"));
        let Payload::Packet(packet) = payload else { panic!("{place}: no packet") };
        assert_eq!(describe(wire[0] == 0x64, &frame, &packet), description, "{place}");
    }
}

#[test]
fn every_live_packet_is_encoded_to_the_same_bytes() {
    let (mut whole, mut in_empty_header) = (0, 0);
    for (place, description, wire) in vectors() {
        let (frame, payload) = decode_frame(&wire).unwrap();
        let fragment = frame.fragment.unwrap();
        let (again, len) = match payload {
            Payload::Packet(NetPacket::Interest(interest)) => (interest.to_vec(), interest.wire_len()),
            Payload::Packet(NetPacket::Data(data)) => (data.to_vec(), data.wire_len()),
            other => panic!("{place}: {other:?}"),
        };
        assert_eq!(again, fragment, "{place}");
        assert_eq!(len, fragment.len(), "{place}");
        // Weir sends a packet without header fields bare. Other implementations wrap it.
        if description.starts_with("LP{} ") {
            assert_eq!(frame.to_vec(), fragment, "{place}");
            in_empty_header += 1;
        } else {
            assert_eq!(frame.to_vec(), wire, "{place}");
            whole += 1;
        }
        assert_eq!(frame.wire_len(), frame.to_vec().len(), "{place}");
    }
    assert_eq!(whole + in_empty_header, 102);
    assert!(whole > 60, "{whole} and {in_empty_header}");
}

#[test]
fn no_truncated_live_packet_decodes() {
    for (place, _, wire) in vectors() {
        for len in 0..wire.len() {
            assert!(decode_frame(&wire[..len]).is_err(), "{place} cut to {len} bytes");
        }
    }
}

#[test]
fn flipping_a_bit_of_a_live_packet_never_panics() {
    for (_, _, mut wire) in vectors() {
        // All bits at the start, which contains the structure.
        for bit in 0..wire.len().min(600) * 8 {
            wire[bit / 8] ^= 1 << (bit % 8);
            let _ = decode_frame(&wire);
            wire[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[cfg(feature = "crypto")]
#[test]
fn every_digest_signature_of_a_live_packet_is_right() {
    use weir_packet::SignatureType::DigestSha256;
    use weir_packet::sign::{Verifier, VerifyError, parameters_digest_is_valid};
    let verifier = Verifier::digest();
    let (mut data_packets, mut interests, mut commands, mut other) = (0, 0, 0, 0);
    for (place, _, wire) in vectors() {
        let fragment = decode_frame(&wire).unwrap().0.fragment.unwrap();
        if let Ok(data) = Data::decode(fragment) {
            let result = verifier.verify_data(fragment);
            if data.signature.info.typ == DigestSha256 {
                assert_eq!(result, Ok(()), "{place}");
                data_packets += 1;
            } else {
                assert_eq!(result, Err(VerifyError::WrongType(data.signature.info.typ)), "{place}");
                other += 1;
            }
            continue;
        }
        let (interest, layout) = Interest::decode_with_layout(fragment).unwrap();
        assert!(parameters_digest_is_valid(&interest, &layout, fragment), "{place}");
        if interest.signature.is_some() {
            assert_eq!(verifier.verify_interest(fragment), Ok(()), "{place}");
            interests += 1;
        } else if interest.name.component(5).is_some_and(|c| c.value.len() == 8) && interest.name.len() == 9 {
            assert_eq!(verifier.verify_command_interest(fragment), Ok(()), "{place}");
            commands += 1;
        }
    }
    assert_eq!((data_packets, interests, commands, other), (45, 11, 1, 4));
}
