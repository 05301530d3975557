//! Random values of management messages.
#![allow(dead_code, reason = "each test uses a part of them")]

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use weir_management::dataset::{FaceQueryFilter, RibStatus, RouteStatus};
use weir_management::status::{FaceCounters, FaceFlags, FacePersistency, FaceScope, FaceStatus, LinkType};
use weir_management::{ControlParameters, RouteFlags};
use weir_packet::{Component, Name};

pub fn name() -> impl Strategy<Value = Name> {
    let component = (prop::sample::select(vec![8_u16, 8, 32, 50, 54, 300]), vec(any::<u8>(), 0..9));
    let build = |parts: Vec<(u16, Vec<u8>)>| {
        parts.iter().fold(Name::new(), |name, (typ, value)| name.with(Component { typ: *typ, value }))
    };
    vec(component, 0..5).prop_map(build)
}

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof!["udp4://[0-9.]{1,15}:6363", "[ -~äßλ字]{0,40}"]
}

pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300_u64, 65_530..65_540_u64, any::<u64>()]
}

pub fn persistency() -> impl Strategy<Value = FacePersistency> {
    (0..3_u64).prop_map(|value| FacePersistency::from_value(value).unwrap())
}

pub fn scope() -> impl Strategy<Value = FaceScope> {
    (0..2_u64).prop_map(|value| FaceScope::from_value(value).unwrap())
}

pub fn link_type() -> impl Strategy<Value = LinkType> {
    (0..3_u64).prop_map(|value| LinkType::from_value(value).unwrap())
}

prop_compose! {
    pub fn control_parameters()(
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
    pub fn face_status()(
        (remote, local) in (text(), text()),
        (scope, persistency, link_type) in (scope(), persistency(), link_type()),
        (up, flags) in (any::<bool>(), 0..8_u64),
        o in vec(of(number()), 5),
        n in vec(number(), 16),
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
                in_remarked: n[13], in_refused: n[14], in_over_rate: n[15],
            },
        }
    }
}

prop_compose! {
    pub fn filter()(
        face in of(number()), scheme in of(text()), uri in of(text()), local_uri in of(text()),
        scope in of(scope()), persistency in of(persistency()), link_type in of(link_type()),
    ) -> FaceQueryFilter {
        FaceQueryFilter { face, scheme, uri, local_uri, scope, persistency, link_type }
    }
}

pub fn rib_entry() -> impl Strategy<Value = RibStatus> {
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

pub fn encoded<T>(entries: &[T], encode: impl Fn(&T, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    entries.iter().for_each(|entry| encode(entry, &mut out));
    out
}
