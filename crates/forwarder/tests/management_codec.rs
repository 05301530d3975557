//! What management says is read as it was written, and no bytes make it fall over.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod mock;

use mock::{Mock, face};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use weir_core::units::{Span, Time};
use weir_forwarder::control::Control;
use weir_forwarder::management::dataset::{
    FaceQueryFilter, RibStatus, RouteStatus, decode_channels, decode_cs_info, decode_face_event,
    decode_faces, decode_fib, decode_general, decode_rib, decode_strategy_choices, encode_channel,
    encode_cs_info, encode_face, encode_face_event, encode_fib_entry, encode_general, encode_rib_entry,
    encode_strategy_choice,
};
use weir_forwarder::management::{
    ControlParameters, ControlResponse, Management, ManagementConfig, Policy, RouteFlags, Trust,
};
use weir_forwarder::status::{
    CsInfo, FaceCounters, FaceEventKind, FaceFlags, FacePersistency, FaceScope, FaceStatus, FibStatus,
    GeneralStatus, LinkType, StrategyStatus,
};
use weir_packet::{Component, Data, Interest, Name, SignatureInfo, SignatureType, Signer};

fn name() -> impl Strategy<Value = Name> {
    let component = (prop::sample::select(vec![8_u16, 8, 32, 50, 54, 300]), vec(any::<u8>(), 0..9));
    let build = |parts: Vec<(u16, Vec<u8>)>| {
        parts.iter().fold(Name::new(), |name, (typ, value)| name.with(Component { typ: *typ, value }))
    };
    vec(component, 0..5).prop_map(build)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["udp4://[0-9.]{1,15}:6363", any::<String>()]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300_u64, 65_530..65_540_u64, any::<u64>()]
}

fn persistency() -> impl Strategy<Value = FacePersistency> {
    (0..3_u64).prop_map(|value| FacePersistency::from_value(value).unwrap())
}

fn scope() -> impl Strategy<Value = FaceScope> {
    (0..2_u64).prop_map(|value| FaceScope::from_value(value).unwrap())
}

fn link_type() -> impl Strategy<Value = LinkType> {
    (0..3_u64).prop_map(|value| LinkType::from_value(value).unwrap())
}

prop_compose! {
    fn control_parameters()(
        (name, strategy) in (of(name()), of(name())),
        (uri, local_uri) in (of(text()), of(text())),
        persistency in of(persistency()),
        n in vec(of(number()), 11),
    ) -> ControlParameters {
        ControlParameters {
            name, strategy, uri, local_uri, persistency,
            face: n[0], origin: n[1], cost: n[2], capacity: n[3], count: n[4], flags: n[5], mask: n[6],
            expiration_period_ms: n[7], base_congestion_marking_interval_ns: n[8],
            default_congestion_threshold: n[9], mtu: n[10],
        }
    }
}

prop_compose! {
    fn face_status()(
        (remote, local) in (text(), text()),
        (scope, persistency, link_type) in (scope(), persistency(), link_type()),
        (up, flags) in (any::<bool>(), 0..8_u64),
        o in vec(of(number()), 5),
        n in vec(number(), 13),
    ) -> FaceStatus {
        FaceStatus {
            number: n[0], remote, local, scope, persistency, link_type, up,
            flags: FaceFlags::from_bits(flags),
            mtu: o[0], base_congestion_marking_interval_ns: o[1], default_congestion_threshold: o[2],
            expires_in_ms: o[3], send_rate_bps: o[4],
            queued_packets: n[1], queued_bytes: n[2],
            counters: FaceCounters {
                in_interests: n[3], in_data: n[4], in_nacks: n[5], out_interests: n[6], out_data: n[7],
                out_nacks: n[8], in_bytes: n[9], out_bytes: n[10], in_malformed: n[11], out_dropped: n[12],
            },
        }
    }
}

prop_compose! {
    fn filter()(
        face in of(number()), scheme in of(text()), uri in of(text()), local_uri in of(text()),
        scope in of(scope()), persistency in of(persistency()), link_type in of(link_type()),
    ) -> FaceQueryFilter {
        FaceQueryFilter { face, scheme, uri, local_uri, scope, persistency, link_type }
    }
}

fn rib_entry() -> impl Strategy<Value = RibStatus> {
    let route = (number(), number(), number(), 0..4_u64, of(number())).prop_map(
        |(face, origin, cost, flags, expires_in_ms)| RouteStatus {
            face,
            origin,
            cost,
            flags: RouteFlags::from_bits(flags),
            expires_in_ms,
        },
    );
    (name(), vec(route, 0..4)).prop_map(|(prefix, routes)| RibStatus { prefix, routes })
}

fn encoded<T>(entries: &[T], encode: impl Fn(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    entries.iter().for_each(|entry| encode(entry, &mut out));
    out
}

proptest! {
    #[test]
    fn parameters_and_responses_come_back(
        parameters in control_parameters(), code in number(), words in any::<String>(), has_body in any::<bool>(),
    ) {
        let wire = encoded(std::slice::from_ref(&parameters), ControlParameters::encode);
        prop_assert_eq!(ControlParameters::decode(&wire), Ok(parameters.clone()));
        let mut response = ControlResponse::new(code, words);
        response.body = has_body.then_some(parameters);
        let wire = encoded(std::slice::from_ref(&response), ControlResponse::encode);
        prop_assert_eq!(ControlResponse::decode(&wire), Ok(response));
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
        fib in vec((name(), vec((number(), number()), 0..4)), 0..5),
        choices in vec((name(), name()), 0..5),
        (admit, serve) in any::<(bool, bool)>(),
        version in any::<String>(),
        n in vec(number(), 13),
    ) {
        prop_assert_eq!(decode_rib(&encoded(&rib, encode_rib_entry)), Ok(rib));
        let entry = |(prefix, next_hops)| FibStatus { prefix, next_hops };
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
            counters: FaceCounters {
                in_interests: n[7], in_data: n[8], in_nacks: n[9], out_interests: n[10], out_data: n[11],
                out_nacks: n[12], ..FaceCounters::default()
            },
        };
        prop_assert_eq!(decode_general(&encoded(std::slice::from_ref(&general), encode_general)), Ok(general));
    }

    /// Also bytes that are nearly right.
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

    /// Whatever comes, by whomever: at most one reply, that is a Data under the Interest's name; and
    /// another host changes nothing.
    #[test]
    fn no_interest_makes_management_panic(
        asked in vec((verb(), parameters(), any::<bool>(), 1..4_u64, 0..200_u64), 1..12),
        raw in vec(any::<u8>(), 0..40),
    ) {
        let policy = Policy { max_remembered: 5, ..Policy { localhop: Some(Trust::KnownKeys), ..Policy::default() } };
        let mut management = Management::new(ManagementConfig { policy, max_routes: 4, ..Default::default() });
        let mut mock = Mock::new();
        let incoming = face(1, "fd://7", FaceScope::Local);
        let mut replies = Vec::new();
        management.handle_interest(Time::ZERO, 0, &raw, &incoming, &mut mock, &mut replies);
        for (at, (verb, parameters, is_signed, number, time_ms)) in asked.into_iter().enumerate() {
            let Some(incoming) = mock.face(number) else { continue };
            let name = verb.parse::<Name>().unwrap().with(Component::generic(&parameters));
            let interest = Interest { can_be_prefix: at % 2 == 0, ..Interest::new(name.view()) };
            let mut wire = interest.to_vec();
            if is_signed {
                let info = SignatureInfo::new(SignatureType::DigestSha256);
                let info = SignatureInfo { time_ms: Some(time_ms), ..info };
                wire.clear();
                interest.sign(&Signer::digest(), info, &mut wire).unwrap();
            }
            let name = Interest::decode(&wire).unwrap().name;
            let now = Time::ZERO + Span::from_millis(time_ms);
            let before = format!("{mock:?}");
            replies.clear();
            management.handle_interest(now, 100, &wire, &incoming, &mut mock, &mut replies);
            prop_assert!(replies.len() <= 1);
            for reply in &replies {
                let data = Data::decode(reply).unwrap();
                prop_assert!(data.name.starts_with(name));
                if number != 1 {
                    prop_assert!(matches!(ControlResponse::decode(data.payload()).unwrap().code, 403 | 501));
                }
            }
            let after = format!("{mock:?}");
            prop_assert!(number == 1 || before == after);
            management.handle_deadline(now, &mut mock);
            prop_assert!(management.next_deadline() > now);
        }
    }
}

fn verb() -> impl Strategy<Value = String> {
    let first = prop::sample::select(vec!["localhost", "localhost", "localhop", "a"]);
    let verb = prop::sample::select(vec![
        "rib/register",
        "rib/unregister",
        "rib/announce",
        "rib/list",
        "faces/create",
        "faces/update",
        "faces/destroy",
        "faces/query",
        "faces/events",
        "fib/add-nexthop",
        "fib/remove-nexthop",
        "strategy-choice/set",
        "strategy-choice/unset",
        "cs/config",
        "cs/erase",
        "cs/what",
        "x",
    ]);
    (first, verb).prop_map(|(first, verb)| format!("/{first}/nfd/{verb}"))
}

fn parameters() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => control_parameters().prop_map(|parameters| encoded(&[parameters], ControlParameters::encode)),
        1 => filter().prop_map(|filter| encoded(&[filter], FaceQueryFilter::encode)),
        1 => vec(any::<u8>(), 0..30),
    ]
}
