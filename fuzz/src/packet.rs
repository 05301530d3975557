//! Harnesses for the crate `weir-packet`. They panic if a property is violated.

use weir_packet::fragment::Fragmenter;
use weir_packet::{
    Data, Interest, LpPacket, MAX_PACKET_SIZE, Name, NameRef, NetPacket, Payload, Signal, SignalSet,
    decode_frame, signal, tlv,
};

/// Decodes a frame from the network. A decoded frame is encoded and decoded again unchanged, in exactly the announced
/// length. Offsets are within the packet.
pub fn frame(bytes: &[u8]) {
    let _ = tlv::stream_frame_len(bytes);
    let decoded = decode_frame(bytes);
    if let Err(error) = decoded {
        assert!(error.offset <= bytes.len(), "{error}");
    }
    if let Ok(frame) = LpPacket::decode(bytes) {
        let wire = frame.to_vec();
        assert_eq!(wire.len(), frame.wire_len());
        if wire.len() <= MAX_PACKET_SIZE {
            assert_eq!(LpPacket::decode(&wire), Ok(frame));
        }
        for mtu in [60, 300, 1500] {
            let Ok(frames) = Fragmenter::new(mtu, 7).split(frame, 12) else { continue };
            frames.for_each(|frame| assert!(frame.wire_len() + 12 <= mtu));
        }
    }
    signals(bytes);
    match decoded {
        Ok((_, Payload::Packet(NetPacket::Interest(interest) | NetPacket::Nack(_, interest)))) => {
            check_interest(&interest);
        }
        Ok((_, Payload::Packet(NetPacket::Data(data)))) => check_data(&data),
        _ => {}
    }
    if let Ok((interest, layout)) = Interest::decode_with_layout(bytes) {
        let mut wire = bytes.to_vec();
        let lowered = layout.decrement_hop_limit(&mut wire);
        assert_eq!(lowered, interest.hop_limit.is_some_and(|limit| limit > 0));
        let expected =
            Interest { hop_limit: interest.hop_limit.map(|limit| limit.saturating_sub(1)), ..interest };
        assert_eq!(Interest::decode(&wire), Ok(expected));
        assert!(layout.signed.clone().is_none_or(|range| bytes.get(range).is_some()));
        assert!(layout.parameters.clone().is_none_or(|range| bytes.get(range).is_some()));
        if interest.nonce.is_none() && bytes.len() + 8 <= MAX_PACKET_SIZE {
            wire.clear();
            layout.encode_with_nonce(bytes, 0x0102_0304, &mut wire);
            let expected = Interest { nonce: Some(0x0102_0304), ..interest };
            assert_eq!(Interest::decode(&wire), Ok(expected));
        }
    }
    if let Ok((data, layout)) = Data::decode_with_layout(bytes) {
        assert!(bytes.get(layout.signed).is_some());
        assert_eq!(layout.content.and_then(|range| bytes.get(range)), data.content);
    }
}

/// A node receives all its own signals from a frame, receives none that it does not know, and has room for those that
/// it writes. A smaller set of known signals makes no frame malformed.
fn signals(bytes: &[u8]) {
    const OWN: [Signal; 3] =
        [Signal::SERVICE_CLASS, Signal::PAST_STORES, Signal::new(signal::LAST_TYPE, "Last", 64, "")];
    const ALONE: Signal = Signal::new(864, "Alone", 64, "");
    let alone: SignalSet = OWN.into_iter().collect();
    let Ok(alone) = LpPacket::decode_knowing(bytes, &alone) else {
        assert!(LpPacket::decode(bytes).is_err());
        return;
    };
    assert!(alone.header.signals.iter().all(|(typ, _)| OWN.iter().any(|own| own.type_number() == typ)));
    let Ok(frame) = LpPacket::decode_knowing(bytes, &SignalSet::ALL.with_own(OWN)) else { return };
    let mut signals = frame.header.signals;
    assert!(OWN.iter().all(|own| signals.value(own) == alone.header.signals.value(own)));
    assert!(signals.iter().count() <= signal::CAPACITY);
    signals.set(&ALONE, 7);
    assert!(signals.value(&ALONE) == Some(7));
    assert!(OWN.iter().all(|own| signals.value(own) == alone.header.signals.value(own)));
}

fn check_interest(interest: &Interest<'_>) {
    let wire = interest.to_vec();
    assert_eq!(wire.len(), interest.wire_len());
    assert_eq!(Interest::decode(&wire).as_ref(), Ok(interest));
    assert!(interest.forwarding_hint.is_empty() || interest.forwarding_hint.names().count() > 0);
    check_name(interest.name);
}

fn check_data(data: &Data<'_>) {
    let wire = data.to_vec();
    assert_eq!(wire.len(), data.wire_len());
    assert_eq!(Data::decode(&wire).as_ref(), Ok(data));
    check_name(data.name);
}

fn check_name(name: NameRef<'_>) {
    let uri = name.to_string();
    assert_eq!(uri.parse::<Name>().as_ref().map(Name::view), Ok(name), "{uri}");
    assert_eq!(name.prefixes().count(), name.len() + 1);
    assert!(name.prefixes().all(|prefix| name.starts_with(prefix)));
    let mut rebuilt = Name::new();
    assert!(name.components().all(|component| rebuilt.push(component)));
    assert_eq!(rebuilt, name);
}

/// Reads a name as text, and as the value of a Name element.
pub fn name_uri(bytes: &[u8]) {
    if let Ok(name) = NameRef::from_value(bytes) {
        check_name(name);
    }
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match text.parse::<Name>() {
        Ok(name) => {
            assert_eq!(NameRef::from_value(name.value()), Ok(name.view()));
            check_name(name.view());
        }
        Err(error) => assert!(error.offset <= text.len(), "{error}"),
    }
}
