//! Management by its Interests and Data, with a forwarder without packets.

use crate::mock::{Mock, face};
use weir_core::units::{Span, Time};
use weir_forwarder::control::{Control, ControlError, Owner};
use weir_forwarder::management::{
    Applications, DatasetConfig, KnownKey, Management, ManagementConfig, ManagementCounters, Policy, Route,
    Trust,
};
use weir_management::dataset::{
    FaceQueryFilter, decode_channels, decode_cs_info, decode_face_event, decode_faces, decode_fib,
    decode_general, decode_rib, decode_strategy_choices,
};
use weir_management::status::{
    FaceEventKind, FaceNumber, FacePersistency, FaceScope, FaceStatus, NextHopStatus,
};
use weir_management::{ControlParameters, ControlResponse, Module, RouteFlags, origin};
use weir_packet::sign::{implicit_digest, sha256};
use weir_packet::tlv::{put_element, put_nni_element, types};
use weir_packet::{
    Component, ContentType, Data, Interest, MetaInfo, Name, Payload, Signature, SignatureInfo, SignatureType,
    Signer, Verifier, component_type, decode_frame,
};

/// 2026-11-21, the date of the recorded packets.
const WALL_MS: u64 = 1_795_253_330_000;

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A forwarder and its management.
struct World {
    management: Management,
    mock: Mock,
    now: Time,
    wall_ms: u64,
    nonce: u64,
}

impl World {
    fn new() -> World {
        World::with(ManagementConfig::default())
    }

    fn with(config: ManagementConfig) -> World {
        let (management, mock) = (Management::new(config), Mock::new());
        World { management, mock, now: at(1000), wall_ms: WALL_MS, nonce: 0 }
    }

    fn with_policy(policy: Policy) -> World {
        World::with(ManagementConfig { policy, ..ManagementConfig::default() })
    }

    /// The answer to an Interest that arrives on a face.
    fn ask_on(&mut self, number: FaceNumber, interest: &[u8]) -> Option<Vec<u8>> {
        let incoming = self.mock.face(number).unwrap();
        let mut replies = Vec::new();
        let (now, wall_ms) = (self.now, self.wall_ms);
        self.management.handle_interest(now, wall_ms, interest, &incoming, &mut self.mock, &mut replies);
        assert!(replies.len() <= 1);
        replies.pop()
    }

    fn ask(&mut self, interest: &[u8]) -> Option<Vec<u8>> {
        self.ask_on(1, interest)
    }

    /// A command on face 1, signed with a digest and a new nonce.
    fn command(&mut self, verb: &str, parameters: &ControlParameters) -> ControlResponse {
        self.nonce += 1;
        let interest = signed(verb, parameters, &Signer::digest(), None, self.wall_ms, self.nonce);
        response(&interest, &self.ask(&interest).expect("a response"))
    }

    /// A command to create a face over TCP whose connection takes time.
    fn connect(&mut self) -> Vec<u8> {
        self.mock.is_far = true;
        self.nonce += 1;
        let asked = with_uri("tcp4://10.0.0.9:6363");
        let interest = signed("faces/create", &asked, &Signer::digest(), None, self.wall_ms, self.nonce);
        assert!(self.ask(&interest).is_none(), "it waits");
        interest
    }

    /// Closes a face.
    fn close(&mut self, face: FaceNumber) -> Vec<Vec<u8>> {
        let mut replies = Vec::new();
        let why = Some("nothing listens there");
        self.management.face_gone(face, why, &mut self.mock, &mut replies);
        replies
    }

    /// The complete content of a dataset.
    fn dataset(&mut self, interest: &Interest<'_>) -> Vec<u8> {
        let first = self.ask(&interest.to_vec()).expect("a dataset");
        let data = Data::decode(&first).unwrap();
        assert!(data.name.starts_with(interest.name), "{} for {}", data.name, interest.name);
        assert_eq!(data.name.len(), interest.name.len() + 2);
        self.segments_of(&first)
    }

    /// The complete content of a dataset with this first segment.
    fn segments_of(&mut self, first: &[u8]) -> Vec<u8> {
        Verifier::digest().verify_data(first).unwrap();
        let data = Data::decode(first).unwrap();
        assert_eq!(data.name.last().unwrap().segment(), Some(0));
        let last = data.meta.final_block_id.unwrap().segment().unwrap();
        let mut content = data.payload().to_vec();
        for segment in 1..=last {
            let name = data.name.parent().to_name().with_segment(segment);
            let wire = self.ask(&Interest::new(name.view()).to_vec()).expect("a segment");
            assert!(wire.len() <= 8500);
            content.extend_from_slice(Data::decode(&wire).unwrap().payload());
        }
        content
    }

    fn list(&mut self, verb: &str) -> Vec<u8> {
        let name = name(&format!("/localhost/nfd/{verb}"));
        self.dataset(&query(&name))
    }
}

fn query(name: &Name) -> Interest<'_> {
    Interest { can_be_prefix: true, must_be_fresh: true, nonce: Some(7), ..Interest::new(name.view()) }
}

fn command_name(verb: &str, parameters: &ControlParameters) -> Name {
    let mut encoded = Vec::new();
    parameters.encode(&mut encoded);
    let prefix = if verb.starts_with('/') { verb.to_owned() } else { format!("/localhost/nfd/{verb}") };
    name(&prefix).with(Component::generic(&encoded))
}

/// A Signed Interest.
fn signed(
    verb: &str,
    parameters: &ControlParameters,
    signer: &Signer,
    key: Option<&Name>,
    time_ms: u64,
    nonce: u64,
) -> Vec<u8> {
    let name = command_name(verb, parameters);
    let nonce = nonce.to_be_bytes();
    let mut info = SignatureInfo::new(SignatureType::DigestSha256);
    if let Some(key) = key {
        info = info.with_key(key.view());
    }
    info = SignatureInfo { nonce: Some(&nonce), time_ms: Some(time_ms), ..info };
    let mut wire = Vec::new();
    Interest { nonce: Some(1), ..Interest::new(name.view()) }.sign(signer, info, &mut wire).unwrap();
    wire
}

/// A Command Interest, signed with a digest.
fn command_interest(verb: &str, parameters: &ControlParameters, time_ms: u64, nonce: u64) -> Vec<u8> {
    let mut name = command_name(verb, parameters);
    name.push_generic(&time_ms.to_be_bytes());
    name.push_generic(&nonce.to_be_bytes());
    name.push_generic(&[0x16, 0x03, 0x1b, 0x01, 0x00]);
    let mut value = Vec::new();
    put_element(&mut value, types::SIGNATURE_VALUE, &sha256(name.value()));
    name.push_generic(&value);
    Interest { nonce: Some(1), ..Interest::new(name.view()) }.to_vec()
}

/// The response in a Data that answers a command. The Data must have the command's name and a valid digest.
fn response(interest: &[u8], wire: &[u8]) -> ControlResponse {
    Verifier::digest().verify_data(wire).unwrap();
    let data = Data::decode(wire).unwrap();
    assert_eq!(data.name, Interest::decode(interest).unwrap().name);
    ControlResponse::decode(data.payload()).unwrap()
}

fn parameters(prefix: &str) -> ControlParameters {
    ControlParameters { name: Some(name(prefix)), ..ControlParameters::default() }
}

fn with_face(prefix: &str, face: FaceNumber) -> ControlParameters {
    ControlParameters { face: Some(face), ..parameters(prefix) }
}

fn with_uri(uri: &str) -> ControlParameters {
    ControlParameters { uri: Some(uri.to_owned()), ..ControlParameters::default() }
}

// Routes.

#[test]
fn a_route_is_registered_for_the_face_of_the_command_and_its_fields_have_defaults() {
    for face in [None, Some(0)] {
        let mut world = World::new();
        let answer = world.command("rib/register", &ControlParameters { face, ..parameters("/a") });
        assert_eq!((answer.code, answer.text.as_str()), (200, "OK"));
        let body = answer.body.unwrap();
        let expected =
            ControlParameters { origin: Some(0), cost: Some(0), flags: Some(1), ..with_face("/a", 1) };
        assert_eq!(body, expected);
        assert_eq!(world.mock.next_hops("/a"), [(1, 0)]);
    }
}

#[test]
fn a_route_has_the_face_cost_origin_and_flags_that_are_asked_for() {
    let mut world = World::new();
    let asked = ControlParameters {
        origin: Some(origin::CLIENT),
        cost: Some(20),
        flags: Some(2),
        expiration_period_ms: Some(60_000),
        ..with_face("/a/b", 2)
    };
    assert_eq!(world.command("rib/register", &asked).body, Some(asked));
    world.now += Span::from_secs(20);
    let rib = decode_rib(&world.list("rib/list")).unwrap();
    assert_eq!(rib.len(), 1);
    assert_eq!(rib[0].prefix, name("/a/b"));
    let route = rib[0].routes[0];
    assert_eq!((route.face, route.origin, route.cost), (2, 65, 20));
    assert_eq!(route.flags, RouteFlags { child_inherit: false, capture: true });
    assert_eq!(route.expires_in_ms, Some(40_000));
    let fib = decode_fib(&world.list("fib/list")).unwrap();
    assert_eq!(fib[0].prefix, name("/a/b"));
    assert_eq!(fib[0].next_hops, [NextHopStatus { face: 2, cost: 20, silent: false }]);
}

#[test]
fn routes_that_cannot_be_registered_have_codes() {
    let mut world = World::with(ManagementConfig { max_routes: 2, ..ManagementConfig::default() });
    assert_eq!(world.command("rib/register", &ControlParameters::default()).code, 400);
    assert_eq!(world.command("rib/register", &with_face("/a", 99)).code, 410);
    let deep: String = (0..33).map(|i| format!("/{i}")).collect();
    assert_eq!(world.command("rib/register", &parameters(&deep)).code, 414);
    assert_eq!(world.command("rib/register", &parameters(&deep[..deep.len() - 3])).code, 200);
    world.mock.max_fib = 1;
    let answer = world.command("rib/register", &parameters("/a"));
    assert_eq!((answer.code, answer.text.as_str()), (500, "the FIB is full"));
    world.mock.max_fib = 9;
    assert_eq!(world.command("rib/register", &parameters("/a")).code, 200);
    let answer = world.command("rib/register", &parameters("/b"));
    assert_eq!((answer.code, answer.text.as_str()), (500, "the RIB is full"));
    assert_eq!(world.management.rib().len(), 2);
    assert_eq!(world.mock.next_hops("/b"), []);
}

#[test]
fn a_route_is_unregistered_by_prefix_face_and_origin() {
    let mut world = World::new();
    world.command("rib/register", &with_face("/a", 2));
    world.command("rib/register", &ControlParameters { origin: Some(255), ..with_face("/a", 2) });
    assert_eq!(world.command("rib/unregister", &with_face("/a", 3)).code, 200);
    assert_eq!(world.management.rib().len(), 2);
    let answer = world.command("rib/unregister", &with_face("/a", 2));
    assert_eq!(answer.body, Some(ControlParameters { origin: Some(0), ..with_face("/a", 2) }));
    assert_eq!(world.mock.next_hops("/a"), [(2, 0)], "the static route stays");
    world.command("rib/unregister", &ControlParameters { origin: Some(255), ..with_face("/a", 2) });
    assert_eq!(world.mock.next_hops("/a"), []);
    assert!(world.management.rib().is_empty());
    assert_eq!(world.command("rib/unregister", &ControlParameters::default()).code, 400);
}

#[test]
fn a_route_expires_unless_it_is_registered_again() {
    let mut world = World::new();
    let asked = ControlParameters { expiration_period_ms: Some(1000), ..parameters("/a") };
    world.command("rib/register", &asked);
    assert_eq!(world.management.next_deadline(), at(2000));
    world.now = at(1500);
    world.command("rib/register", &asked);
    assert_eq!(world.management.next_deadline(), at(2500));
    world.management.handle_deadline(at(2499), &mut world.mock, &mut Vec::new());
    assert_eq!(world.mock.next_hops("/a"), [(1, 0)]);
    world.management.handle_deadline(at(2500), &mut world.mock, &mut Vec::new());
    assert_eq!(world.mock.next_hops("/a"), []);
    assert_eq!(world.management.next_deadline(), Time::NEVER);
    let forever = ControlParameters { expiration_period_ms: Some(u64::MAX), ..parameters("/a") };
    world.command("rib/register", &forever);
    assert_eq!(world.management.next_deadline(), Time::NEVER);
}

#[test]
fn a_face_that_is_gone_takes_its_routes_along() {
    let mut world = World::new();
    for prefix in ["/", "/a", "/a/b", "/c"] {
        world.command("rib/register", &with_face(prefix, 2));
    }
    world.command("rib/register", &with_face("/a/b", 3));
    assert_eq!(world.mock.next_hops("/a/b"), [(2, 0), (3, 0)]);
    world.close(2);
    assert_eq!(world.mock.next_hops("/a/b"), [(3, 0)]);
    assert_eq!((world.mock.fib.len(), world.management.rib().len()), (1, 1));
}

#[test]
fn static_routes_are_there_without_a_command_and_go_when_they_are_removed() {
    let mut world = World::new();
    let flags = RouteFlags::default();
    world.management.add_static(&name("/s"), 2, 5, flags, &mut world.mock).unwrap();
    let unknown = world.management.add_static(&name("/s"), 9, 5, flags, &mut world.mock);
    assert_eq!(unknown, Err(ControlError::NoSuchFace));
    assert_eq!(world.mock.next_hops("/s"), [(2, 5)]);
    world.management.remove_route(&name("/s"), 2, origin::STATIC, &mut world.mock);
    assert_eq!(world.mock.next_hops("/s"), []);
}

#[test]
fn the_fib_is_told_only_what_is_different() {
    let mut world = World::new();
    for _ in 0..3 {
        world.command("rib/register", &parameters("/a"));
        assert_eq!(world.mock.changes, 1);
    }
    world.command("rib/register", &ControlParameters { cost: Some(9), ..parameters("/a") });
    assert_eq!((world.mock.changes, world.mock.next_hops("/a")), (2, vec![(1, 9)]));
}

/// A prefix announcement for `/pa/x`.
fn announcement(signer: &Signer, expires_ms: u64, not_after: &[u8; 15]) -> Vec<u8> {
    let mut content = Vec::new();
    put_nni_element(&mut content, 109, expires_ms);
    let mut validity = Vec::new();
    put_element(&mut validity, types::NOT_BEFORE, b"20200229T000000");
    put_element(&mut validity, types::NOT_AFTER, not_after);
    put_element(&mut content, types::VALIDITY_PERIOD, &validity);
    let name = name("/pa/x/32=PA/v=1/seg=0");
    let mut data = Data::new(name.view(), &content, SignatureInfo::new(SignatureType::DigestSha256));
    data.meta = MetaInfo { content_type: Some(ContentType::PrefixAnnouncement), ..MetaInfo::NONE };
    let mut wire = Vec::new();
    data.sign(signer, &mut wire).unwrap();
    wire
}

fn announce(world: &mut World, announcement: &[u8]) -> ControlResponse {
    world.nonce += 1;
    let nonce = world.nonce.to_be_bytes();
    let name = name("/localhost/nfd/rib/announce");
    let interest = Interest { application_parameters: Some(announcement), ..Interest::new(name.view()) };
    let info = SignatureInfo {
        nonce: Some(&nonce),
        time_ms: Some(world.wall_ms),
        ..SignatureInfo::new(SignatureType::DigestSha256)
    };
    let mut wire = Vec::new();
    interest.sign(&Signer::digest(), info, &mut wire).unwrap();
    response(&wire, &world.ask(&wire).unwrap())
}

#[test]
fn a_prefix_announcement_makes_a_route_while_it_is_valid() {
    let mut world = World::new();
    let good = announcement(&Signer::digest(), 5000, b"20261121T092855");
    let answer = announce(&mut world, &good);
    let body = answer.body.unwrap();
    assert_eq!((answer.code, body.origin, body.cost), (200, Some(129), Some(2048)), "{}", answer.text);
    assert_eq!((body.face, body.expiration_period_ms), (Some(1), Some(5000)));
    assert_eq!(world.mock.next_hops("/pa/x"), [(1, 2048)]);
    assert_eq!(world.management.next_deadline(), at(6000));
    let late = announcement(&Signer::digest(), 5000, b"20261121T092849");
    assert_eq!(announce(&mut world, &late).code, 403);
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(announce(&mut world, &wrong).code, 403);
    let other = Data::new(name("/a").view(), b"", SignatureInfo::new(SignatureType::Null)).to_vec();
    assert_eq!(announce(&mut world, &other).code, 400);
    assert_eq!(announce(&mut world, b"no packet").code, 400);
}

// Faces.

#[test]
fn a_face_is_created_with_what_is_asked_for() {
    let mut world = World::new();
    let asked = ControlParameters {
        persistency: Some(FacePersistency::Permanent),
        mtu: Some(1400),
        flags: Some(2),
        mask: Some(2),
        ..with_uri("udp4://10.0.0.9:6363")
    };
    let answer = world.command("faces/create", &asked);
    let body = answer.body.unwrap();
    assert_eq!((answer.code, body.face, body.mtu), (200, Some(4), Some(1400)));
    assert_eq!(body.persistency, Some(FacePersistency::Permanent));
    assert_eq!(body.flags, Some(0b110), "congestion marking is the kind's own");
    assert_eq!(body.local_uri.as_deref(), Some("udp4://127.0.0.1:6363"));
    assert!(world.mock.faces[&4].flags.reliability);
    let again = world.command("faces/create", &asked);
    assert_eq!((again.code, again.body.unwrap().face), (409, Some(4)));
}

#[test]
fn faces_that_cannot_be_created_have_codes() {
    let mut world = World::new();
    let codes = [
        (ControlParameters::default(), 400),
        (with_uri("nonsense"), 400),
        (ControlParameters { flags: Some(1), ..with_uri("udp4://10.0.0.9:6363") }, 400),
        (ControlParameters { mask: Some(1), ..with_uri("udp4://10.0.0.9:6363") }, 400),
        (with_uri("carrier-pigeon://coop"), 406),
        (ControlParameters { mtu: Some(1), ..with_uri("udp4://10.0.0.9:6363") }, 406),
        (ControlParameters { flags: Some(1), mask: Some(1), ..with_uri("udp4://10.0.0.9:6363") }, 406),
        (with_uri("full4://10.0.0.9:6363"), 500),
        (with_uri("down4://10.0.0.9:6363"), 504),
    ];
    for (asked, code) in codes {
        assert_eq!(world.command("faces/create", &asked).code, code, "{asked:?}");
        assert_eq!(world.mock.faces.len(), 3);
    }
    let on_demand = ControlParameters {
        persistency: Some(FacePersistency::OnDemand),
        ..with_uri("udp4://10.0.0.9:6363")
    };
    assert_eq!(world.command("faces/create", &on_demand).code, 406);
}

#[test]
fn a_face_is_created_when_it_has_connected_and_others_who_ask_for_it_hear_that_it_exists() {
    let mut world = World::new();
    let [first, second] = [world.connect(), world.connect()];
    let mut replies = Vec::new();
    let face = world.mock.face(4).unwrap();
    world.management.face_event(world.now, FaceEventKind::Created, &face, &mut replies);
    assert!(replies.is_empty());
    world.management.face_event(world.now, FaceEventKind::Up, &face, &mut replies);
    let [created, exists] = [response(&first, &replies[0]), response(&second, &replies[1])];
    assert_eq!((created.code, created.body), (200, Some(ControlParameters::of_face(&face))));
    assert_eq!((exists.code, exists.body), (409, Some(ControlParameters::of_face(&face))));
    assert!(world.close(4).is_empty(), "they are answered");
    assert_eq!(world.management.next_deadline(), Time::NEVER);
}

#[test]
fn a_face_whose_connection_fails_is_not_created_and_the_answer_says_why() {
    let mut world = World::new();
    let [first, second] = [world.connect(), world.connect()];
    let replies = world.close(4);
    for (interest, reply) in [first, second].iter().zip(&replies) {
        let answer = response(interest, reply);
        assert_eq!((answer.code, answer.text.as_str()), (504, "nothing listens there"));
    }
    let counters = world.management.counters();
    assert_eq!((replies.len(), counters.commands, counters.failed), (2, 0, 2));
}

#[test]
fn a_face_that_does_not_connect_while_the_command_is_pending_is_closed() {
    let mut world = World::new();
    let first = world.connect();
    world.now += Span::from_millis(1000);
    let second = world.connect();
    // Seven eighths of the default lifetime of 4 s.
    assert_eq!(world.management.next_deadline(), at(1000 + 3500));
    let mut replies = Vec::new();
    world.management.handle_deadline(at(4499), &mut world.mock, &mut replies);
    assert!(replies.is_empty() && world.mock.faces.contains_key(&4));
    world.management.handle_deadline(at(4500), &mut world.mock, &mut replies);
    let answer = response(&first, &replies[0]);
    let text = "cannot connect to tcp4://10.0.0.9:6363: no answer within 3.5 s";
    assert_eq!((answer.code, answer.text.as_str()), (504, text));
    assert!(!world.mock.faces.contains_key(&4));
    assert_eq!(response(&second, &world.close(4)[0]).code, 504);
}

#[test]
fn a_command_that_is_asked_for_again_while_it_waits_waits_on() {
    let mut world = World::new();
    let waiting = world.connect();
    assert!(world.ask(&waiting).is_none(), "it is no replay");
    let face = world.mock.face(4).unwrap();
    let mut replies = Vec::new();
    world.management.face_event(world.now, FaceEventKind::Up, &face, &mut replies);
    assert_eq!((replies.len(), response(&waiting, &replies[0]).code), (1, 200));
    let replayed = world.ask(&waiting).unwrap();
    assert_eq!(response(&waiting, &replayed).code, 403, "it is answered");
}

#[test]
fn who_waits_for_the_connection_of_anothers_face_hears_of_no_face_before() {
    let mut world = World::new();
    world.mock.is_far = true;
    let ask = |world: &mut World, lifetime_ms| {
        let wire = signed(
            "faces/create",
            &with_uri("tcp4://10.0.0.9:6363"),
            &Signer::digest(),
            None,
            WALL_MS,
            lifetime_ms,
        );
        let mut interest = Interest::decode(&wire).unwrap();
        interest.lifetime = Some(lifetime_ms);
        let wire = interest.to_vec();
        assert!(world.ask(&wire).is_none());
        wire
    };
    let [_, second] = [ask(&mut world, 8000), ask(&mut world, 1000)];
    let mut replies = Vec::new();
    world.management.handle_deadline(at(1875), &mut world.mock, &mut replies);
    assert_eq!((replies.len(), response(&second, &replies[0]).code), (1, 504));
    assert!(world.mock.faces.contains_key(&4), "the other one waits on");
}

#[test]
fn only_so_many_commands_wait_for_connections() {
    let mut world = World::new();
    for _ in 0..1024 {
        world.connect();
    }
    assert_eq!(world.command("faces/create", &with_uri("tcp4://10.0.0.9:6363")).code, 503);
    world.close(4);
    world.connect();
}

#[test]
fn a_permanent_face_is_created_though_its_peer_is_away() {
    let mut world = World::new();
    world.mock.is_far = true;
    let persistency = Some(FacePersistency::Permanent);
    let asked = ControlParameters { persistency, ..with_uri("tcp4://10.0.0.9:6363") };
    assert_eq!(world.command("faces/create", &asked).code, 200);
    assert_eq!(world.command("faces/create", &asked).code, 409, "it is there, and down");
    // A face that becomes permanent while a command waits for it stays.
    world.command("faces/destroy", &ControlParameters { face: Some(4), ..ControlParameters::default() });
    let waiting = world.connect();
    world.command("faces/update", &ControlParameters { face: Some(4), persistency, ..asked });
    let mut replies = Vec::new();
    world.management.handle_deadline(at(9000), &mut world.mock, &mut replies);
    assert_eq!((response(&waiting, &replies[0]).code, world.mock.faces.contains_key(&4)), (200, true));
}

#[test]
fn a_face_is_updated_by_mask_and_the_face_of_the_command_is_face_0() {
    let mut world = World::new();
    let asked = ControlParameters {
        face: Some(0),
        flags: Some(0b001),
        mask: Some(0b101),
        default_congestion_threshold: Some(1000),
        ..ControlParameters::default()
    };
    let answer = world.command("faces/update", &asked);
    let body = answer.body.unwrap();
    assert_eq!((answer.code, body.face, body.flags), (200, Some(1), Some(0b001)));
    assert_eq!(body.default_congestion_threshold, Some(1000));
    assert_eq!(body.uri, None);
    assert_eq!(world.mock.faces[&1].flags.bits(), 0b001);
    assert_eq!(
        world.command("faces/update", &ControlParameters { face: Some(9), ..asked.clone() }).code,
        404
    );
    let on_other = ControlParameters { face: Some(2), ..asked.clone() };
    let refused = world.command("faces/update", &on_other);
    assert_eq!((refused.code, refused.body), (409, Some(on_other)));
    assert_eq!(world.command("faces/update", &ControlParameters { mask: None, ..asked }).code, 400);
}

#[test]
fn a_face_is_destroyed_with_its_routes_and_once_more_without_an_error() {
    let mut world = World::new();
    world.command("rib/register", &with_face("/a", 2));
    let asked = ControlParameters { face: Some(2), ..ControlParameters::default() };
    for _ in 0..2 {
        assert_eq!(world.command("faces/destroy", &asked).code, 200);
        assert_eq!((world.mock.faces.len(), world.mock.fib.len()), (2, 0));
    }
    assert_eq!(world.command("faces/destroy", &ControlParameters::default()).code, 400);
    let zero = ControlParameters { face: Some(0), ..ControlParameters::default() };
    assert_eq!(world.command("faces/destroy", &zero).code, 400);
    world.mock.faces.insert(9, face(9, "internal://", FaceScope::Local));
    let own = ControlParameters { face: Some(9), ..ControlParameters::default() };
    assert_eq!(world.command("faces/destroy", &own).code, 409);
}

#[test]
fn faces_are_listed_with_all_that_is_known_of_them() {
    let mut world = World::new();
    let face = world.mock.faces.get_mut(&2).unwrap();
    face.expires_in_ms = Some(77);
    face.send_rate_bps = Some(10_000_000);
    (face.queued_packets, face.queued_bytes, face.up) = (3, 4000, false);
    face.counters.in_bytes = 1 << 40;
    face.counters.out_nacks = 5;
    face.counters.out_dropped = 6;
    let listed = decode_faces(&world.list("faces/list")).unwrap();
    assert!(listed.iter().all(|face| face.has_queue));
    let listed: Vec<FaceStatus> = listed.into_iter().map(|face| face.status).collect();
    assert_eq!(listed, world.mock.faces());
}

#[test]
fn faces_are_found_by_every_field_of_a_filter() {
    let mut world = World::new();
    world.mock.faces.get_mut(&3).unwrap().persistency = FacePersistency::Permanent;
    let filters = [
        (FaceQueryFilter::default(), vec![1, 2, 3]),
        (FaceQueryFilter { face: Some(2), ..Default::default() }, vec![2]),
        (FaceQueryFilter { scheme: Some("tcp4".to_owned()), ..Default::default() }, vec![3]),
        (FaceQueryFilter { scheme: Some("udp4".to_owned()), ..Default::default() }, vec![1, 2, 3]),
        (FaceQueryFilter { scheme: Some("udp".to_owned()), ..Default::default() }, vec![]),
        (FaceQueryFilter { uri: Some("fd://7".to_owned()), ..Default::default() }, vec![1]),
        (FaceQueryFilter { local_uri: Some("fd://7".to_owned()), ..Default::default() }, vec![]),
        (FaceQueryFilter { scope: Some(FaceScope::NonLocal), ..Default::default() }, vec![2, 3]),
        (FaceQueryFilter { persistency: Some(FacePersistency::Permanent), ..Default::default() }, vec![3]),
    ];
    for (filter, found) in filters {
        let mut encoded = Vec::new();
        filter.encode(&mut encoded);
        let name = name("/localhost/nfd/faces/query").with(Component::generic(&encoded));
        let faces = decode_faces(&world.dataset(&query(&name))).unwrap();
        let numbers: Vec<u64> = faces.iter().map(|face| face.status.number).collect();
        assert_eq!(numbers, found, "{filter:?}");
    }
    for uri in ["/localhost/nfd/faces/query", "/localhost/nfd/faces/query/x"] {
        let name = name(uri);
        let wire = world.ask(&query(&name).to_vec()).unwrap();
        let data = Data::decode(&wire).unwrap();
        assert_eq!(data.content_type(), ContentType::Nack);
        assert_eq!(ControlResponse::decode(data.payload()).unwrap().code, 400);
    }
}

#[test]
fn channels_are_listed() {
    let mut world = World::new();
    let channels = decode_channels(&world.list("faces/channels")).unwrap();
    assert_eq!(channels, ["udp4://127.0.0.1:6363", "unix:///run/nfd/nfd.sock"]);
}

// Events.

#[test]
fn who_waits_for_the_next_event_is_told_and_who_asks_late_gets_it_too() {
    let mut world = World::new();
    let stream = name("/localhost/nfd/faces/events");
    let numbered = |seq| {
        let mut name = stream.clone();
        name.push_number(component_type::SEQUENCE_NUM, seq);
        name
    };
    let event = |world: &mut World, kind, number| {
        let mut replies = Vec::new();
        let face = world.mock.face(number).unwrap();
        world.management.face_event(world.now, kind, &face, &mut replies);
        replies
    };
    assert!(world.ask(&query(&stream).to_vec()).is_none());
    let told = event(&mut world, FaceEventKind::Created, 2);
    let data = Data::decode(&told[0]).unwrap();
    assert_eq!(data.name, numbered(0));
    Verifier::digest().verify_data(&told[0]).unwrap();
    let found = decode_face_event(data.payload()).unwrap();
    assert_eq!((found.kind, found.face.number), (FaceEventKind::Created, 2));
    assert_eq!(found.face.remote, "udp4://10.0.0.2:6363");
    assert_eq!(found.face.flags, world.mock.faces[&2].flags);

    assert!(event(&mut world, FaceEventKind::Down, 2).is_empty(), "nobody waits");
    let late = world.ask(&Interest::new(numbered(1).view()).to_vec()).unwrap();
    assert_eq!(decode_face_event(Data::decode(&late).unwrap().payload()).unwrap().kind, FaceEventKind::Down);
    assert_eq!(Data::decode(&world.ask(&query(&stream).to_vec()).unwrap()).unwrap().name, numbered(1));
    world.now += Span::from_secs(2);
    assert!(world.ask(&query(&stream).to_vec()).is_none(), "what is old is not what comes next");

    assert!(world.ask(&Interest::new(numbered(2).view()).to_vec()).is_none());
    world.now += Span::from_secs(5);
    assert!(event(&mut world, FaceEventKind::Up, 2).is_empty(), "the Interest's lifetime is over");
    for _ in 0..300 {
        event(&mut world, FaceEventKind::Up, 2);
    }
    assert!(world.ask(&Interest::new(numbered(2).view()).to_vec()).is_none(), "forgotten");
    assert!(world.ask(&Interest::new(numbered(302).view()).to_vec()).is_some());
    assert!(world.ask(&Interest::new(numbered(u64::MAX).view()).to_vec()).is_none());
}

// FIB, strategies, content store, status.

#[test]
fn next_hops_are_added_and_removed() {
    let mut world = World::new();
    let asked = ControlParameters { cost: Some(3), ..with_face("/f", 2) };
    assert_eq!(world.command("fib/add-nexthop", &asked).body, Some(asked));
    assert_eq!(world.command("fib/add-nexthop", &parameters("/f")).body.unwrap().cost, Some(0));
    assert_eq!(world.mock.next_hops("/f"), [(1, 0), (2, 3)]);
    assert_eq!(world.command("fib/add-nexthop", &with_face("/f", 9)).code, 410);
    assert_eq!(world.command("fib/add-nexthop", &ControlParameters::default()).code, 400);
    let deep: String = (0..33).map(|i| format!("/{i}")).collect();
    assert_eq!(world.command("fib/add-nexthop", &parameters(&deep)).code, 414);
    for _ in 0..2 {
        assert_eq!(world.command("fib/remove-nexthop", &with_face("/f", 2)).code, 200);
        assert_eq!(world.mock.next_hops("/f"), [(1, 0)]);
    }
}

#[test]
fn a_strategy_is_chosen_and_the_choice_taken_back() {
    let mut world = World::new();
    let with = |strategy: &str| ControlParameters { strategy: Some(name(strategy)), ..parameters("/s") };
    let answer = world.command("strategy-choice/set", &with("/localhost/nfd/strategy/multicast"));
    assert_eq!((answer.code, answer.body.unwrap().strategy), (200, Some(Mock::strategy("multicast"))));
    let listed = decode_strategy_choices(&world.list("strategy-choice/list")).unwrap();
    assert_eq!(listed, world.mock.strategies());
    let unknown = world.command("strategy-choice/set", &with("/localhost/nfd/strategy/oracle"));
    assert_eq!(unknown.code, 404);
    assert!(unknown.text.contains("/localhost/nfd/strategy/multicast/v=1"), "{}", unknown.text);
    assert_eq!(world.command("strategy-choice/set", &parameters("/s")).code, 400);
    assert_eq!(world.command("strategy-choice/unset", &parameters("/s")).code, 200);
    assert_eq!(world.mock.strategies.len(), 1);
    assert_eq!(world.command("strategy-choice/unset", &parameters("/")).code, 400);
    assert_eq!(world.command("strategy-choice/unset", &ControlParameters::default()).code, 400);
}

#[test]
fn the_content_store_is_configured_erased_and_described() {
    let mut world = World::new();
    let asked = ControlParameters {
        capacity: Some(99),
        flags: Some(0),
        mask: Some(1),
        ..ControlParameters::default()
    };
    let body = world.command("cs/config", &asked).body.unwrap();
    assert_eq!((body.capacity, body.flags), (Some(99), Some(2)));
    assert_eq!(decode_cs_info(&world.list("cs/info")).unwrap(), world.mock.cs);
    assert!(!world.mock.cs.admit && world.mock.cs.serve);
    assert_eq!(world.command("cs/config", &ControlParameters { mask: None, ..asked }).code, 400);

    let erased = world.command("cs/erase", &parameters("/")).body.unwrap();
    assert_eq!((erased.count, erased.capacity), (Some(256), Some(256)), "there may be more");
    let erased = world.command("cs/erase", &parameters("/")).body.unwrap();
    assert_eq!((erased.count, erased.capacity), (Some(44), None));
    let none = ControlParameters { count: Some(0), ..parameters("/") };
    assert_eq!(world.command("cs/erase", &none).code, 400);
    assert_eq!(world.command("cs/erase", &ControlParameters::default()).code, 400);
}

#[test]
fn the_forwarder_is_described() {
    let mut world = World::new();
    assert_eq!(decode_general(&world.list("status/general")).unwrap(), world.mock.general());
}

// Datasets in segments.

#[test]
fn a_large_dataset_comes_in_segments_and_each_version_stays_as_it_was() {
    let mut world = World::new();
    for number in 10..1010 {
        world
            .mock
            .faces
            .insert(number, face(number, &format!("udp4://10.1.2.3:{number}"), FaceScope::NonLocal));
    }
    let uri = name("/localhost/nfd/faces/list");
    let first = world.ask(&query(&uri).to_vec()).unwrap();
    let first_name = Data::decode(&first).unwrap().name.to_name();
    let content = world.list("faces/list");
    assert_eq!(decode_faces(&content).unwrap().len(), 1003);
    assert!(content.len() > 50_000);

    world.mock.faces.clear();
    world.mock.faces.insert(1, face(1, "fd://7", FaceScope::Local));
    let again = world.ask(&Interest::new(first_name.view()).to_vec()).unwrap();
    assert_eq!(again, first, "segment 0 asked for by its name");
    let version = first_name.view().parent();
    let with_prefix = Interest { can_be_prefix: true, ..Interest::new(version) };
    assert_eq!(world.ask(&with_prefix.to_vec()), Some(first));
    let beyond = version.to_name().with_segment(1000);
    assert_eq!(world.ask(&Interest::new(beyond.view()).to_vec()), None);
    world.now += Span::from_secs(11);
    assert_eq!(world.ask(&Interest::new(first_name.view()).to_vec()), None, "too old");
}

#[test]
fn recent_datasets_are_bounded_in_bytes() {
    let datasets = DatasetConfig { max_bytes: 1000, ..DatasetConfig::default() };
    let mut world = World::with(ManagementConfig { datasets, ..ManagementConfig::default() });
    let uri = name("/localhost/nfd/faces/list");
    let mut names = Vec::new();
    for _ in 0..5 {
        let wire = world.ask(&query(&uri).to_vec()).unwrap();
        names.push(Data::decode(&wire).unwrap().name.to_name());
    }
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "versions go up");
    let kept = |name: &Name| world.ask(&Interest::new(name.view()).to_vec()).is_some();
    assert_eq!(names.iter().map(kept).collect::<Vec<_>>(), [false, false, false, true, true]);
}

#[test]
fn the_name_of_a_reply_is_all_of_the_interests_name() {
    let mut world = World::new();
    let name = name("/localhost/nfd/faces/list");
    let interest = query(&name);
    let mut wire = Vec::new();
    let info = SignatureInfo { nonce: Some(b"12345678"), ..SignatureInfo::new(SignatureType::DigestSha256) };
    interest.sign(&Signer::digest(), info, &mut wire).unwrap();
    let asked = Interest::decode(&wire).unwrap();
    assert!(asked.parameters_digest().is_some());
    let content = world.dataset(&asked);
    assert_eq!(decode_faces(&content).unwrap().len(), 3);
}

#[test]
fn a_dataset_that_could_not_be_matched_is_not_sent() {
    let mut world = World::new();
    let name = name("/localhost/nfd/faces/list");
    let interest = Interest::new(name.view()).to_vec();
    assert_eq!(response(&interest, &world.ask(&interest).unwrap()).code, 400);
}

// Permissions of commands.

#[test]
fn both_formats_of_signatures_are_taken_and_each_command_once() {
    let mut world = World::new();
    let signed_interest: fn(&str, u64) -> Vec<u8> =
        |prefix, nonce| signed("rib/register", &parameters(prefix), &Signer::digest(), None, WALL_MS, nonce);
    let legacy: fn(&str, u64) -> Vec<u8> =
        |prefix, nonce| command_interest("rib/register", &parameters(prefix), WALL_MS, nonce);
    for make in [signed_interest, legacy] {
        for (prefix, nonce) in [("/a", 1), ("/b", 1), ("/a", 2)] {
            let interest = make(prefix, nonce);
            assert_eq!(response(&interest, &world.ask(&interest).unwrap()).code, 200);
            let again = response(&interest, &world.ask(&interest).unwrap());
            assert_eq!((again.code, again.text.as_str()), (403, "the command was already given"));
        }
    }
    let counters = ManagementCounters { commands: 6, refused: 6, ..ManagementCounters::default() };
    assert_eq!(world.management.counters(), counters);
}

#[test]
fn ten_thousand_commands_of_one_millisecond_are_taken_and_none_of_them_twice() {
    let mut world = World::new();
    let commands: Vec<Vec<u8>> = (0..10_000)
        .map(|nonce| signed("rib/register", &parameters("/a"), &Signer::digest(), None, WALL_MS, nonce))
        .collect();
    // In arbitrary order: every third, then the rest backwards.
    let order = (0..10_000).step_by(3).chain((0..10_000).rev().filter(|i| i % 3 != 0));
    for i in order {
        assert_eq!(response(&commands[i], &world.ask(&commands[i]).unwrap()).code, 200);
    }
    for command in &commands {
        assert_eq!(response(command, &world.ask(command).unwrap()).code, 403);
    }
}

#[test]
fn what_is_remembered_is_bounded_and_what_is_forgotten_is_refused() {
    let policy = Policy { max_remembered: 100, ..Policy::default() };
    let mut world = World::with_policy(policy);
    let make = |time| signed("rib/register", &parameters("/a"), &Signer::digest(), None, time, 1);
    let commands: Vec<Vec<u8>> = (0..1000).map(|i| make(WALL_MS + i)).collect();
    for command in &commands {
        assert_eq!(response(command, &world.ask(command).unwrap()).code, 200);
    }
    for command in &commands {
        assert_eq!(response(command, &world.ask(command).unwrap()).code, 403);
    }
    assert_eq!(response(&make(WALL_MS + 1000), &world.ask(&make(WALL_MS + 1000)).unwrap()).code, 200);
}

#[test]
fn a_command_of_another_time_is_refused() {
    let mut world = World::new();
    for (time, code) in [
        (WALL_MS - 120_001, 403),
        (WALL_MS - 120_000, 200),
        (WALL_MS + 120_000, 200),
        (WALL_MS + 120_001, 403),
    ] {
        let interest = signed("rib/register", &parameters("/a"), &Signer::digest(), None, time, 1);
        assert_eq!(response(&interest, &world.ask(&interest).unwrap()).code, code, "{time}");
        let legacy = command_interest("rib/register", &parameters("/a"), time, 1);
        assert_eq!(response(&legacy, &world.ask(&legacy).unwrap()).code, code, "{time}");
    }
}

#[test]
fn commands_with_no_signature_or_a_wrong_one_are_refused() {
    let mut world = World::new();
    let name = command_name("rib/register", &parameters("/a"));
    let info = SignatureInfo::new(SignatureType::DigestSha256);
    let timed = SignatureInfo { time_ms: Some(WALL_MS), ..info };
    let with_signature = |signature| {
        let parameters = Some(&[][..]);
        let mut wire = Vec::new();
        let interest =
            Interest { application_parameters: parameters, signature, ..Interest::new(name.view()) };
        interest.encode_with_parameters_digest(&mut wire).unwrap();
        wire
    };
    let mut without_time = Vec::new();
    Interest::new(name.view()).sign(&Signer::digest(), info, &mut without_time).unwrap();
    let mut changed = command_interest("rib/register", &parameters("/a"), WALL_MS, 1);
    let at = changed.windows(3).position(|part| part == [8, 1, b'a']).unwrap();
    changed[at + 2] = b'b';
    for (wire, why) in [
        (Interest::new(name.view()).to_vec(), "the command is not signed"),
        (with_signature(None), "the command is not signed"),
        (with_signature(Some(Signature { info: timed, value: &[0; 32] })), "the signature is wrong"),
        (without_time, "the signature has no time, nonce or sequence number"),
        (changed, "the signature is wrong"),
    ] {
        let answer = response(&wire, &world.ask(&wire).unwrap());
        assert_eq!((answer.code, answer.text.as_str()), (403, why));
    }
    assert!(world.mock.fib.is_empty());
}

#[test]
fn a_digest_in_the_name_that_is_wrong_is_refused() {
    let mut world = World::new();
    let mut wire = signed("rib/register", &parameters("/a"), &Signer::digest(), None, WALL_MS, 1);
    let digest = *Interest::decode(&wire).unwrap().parameters_digest().unwrap();
    let at = wire.windows(32).position(|part| part == digest).unwrap();
    wire[at] ^= 1;
    assert_eq!(response(&wire, &world.ask(&wire).unwrap()).code, 403);
}

#[test]
fn signatures_of_unknown_keys_are_taken_as_they_are_and_those_of_known_ones_are_checked() {
    let key = name("/op/KEY/1");
    let secret = Signer::hmac(b"secret");
    let other = Signer::hmac(b"other");
    let policy = |local| Policy {
        local,
        keys: vec![KnownKey {
            name: key.clone(),
            verifier: Verifier::hmac(b"secret"),
            modules: vec![Module::Rib, Module::Cs],
        }],
        ..Policy::default()
    };
    let stranger = name("/stranger/KEY/1");
    let certificate = name("/op/KEY/1/self/v=3");
    for (trust, signer, key, verb, code) in [
        (Trust::AnySignature, &secret, &key, "rib/register", 200),
        (Trust::AnySignature, &other, &key, "rib/register", 403),
        (Trust::AnySignature, &other, &stranger, "rib/register", 200),
        (Trust::AnySignature, &secret, &key, "fib/add-nexthop", 200),
        (Trust::KnownKeys, &secret, &key, "rib/register", 200),
        (Trust::KnownKeys, &secret, &certificate, "rib/register", 200),
        (Trust::KnownKeys, &other, &key, "rib/register", 403),
        (Trust::KnownKeys, &other, &stranger, "rib/register", 403),
        (Trust::KnownKeys, &secret, &key, "fib/add-nexthop", 403),
        (Trust::KnownKeys, &Signer::digest(), &key, "rib/register", 403),
    ] {
        let mut world = World::with_policy(policy(trust));
        let wire = signed(verb, &parameters("/a"), signer, Some(key), WALL_MS, 1);
        assert_eq!(response(&wire, &world.ask(&wire).unwrap()).code, code, "{trust:?} {key} {verb}");
    }
}

#[test]
fn a_known_key_has_a_time_and_one_that_counts_must_count_up() {
    let key = name("/op/KEY/1");
    let known =
        KnownKey { name: key.clone(), verifier: Verifier::hmac(b"secret"), modules: Module::ALL.to_vec() };
    let mut world =
        World::with_policy(Policy { local: Trust::KnownKeys, keys: vec![known], ..Policy::default() });
    let command = command_name("rib/register", &parameters("/a"));
    let mut give = |time_ms, seq_num, nonce: Option<&[u8]>| {
        let info = SignatureInfo {
            time_ms,
            seq_num,
            nonce,
            ..SignatureInfo::new(SignatureType::HmacWithSha256).with_key(key.view())
        };
        let mut wire = Vec::new();
        Interest::new(command.view()).sign(&Signer::hmac(b"secret"), info, &mut wire).unwrap();
        response(&wire, &world.ask(&wire).unwrap()).code
    };
    // A restarted forwarder knows no sequence numbers, so an old command could be replayed.
    assert_eq!(give(None, Some(3), None), 403, "a sequence number says nothing of when");
    assert_eq!(give(None, None, Some(b"12345678")), 403, "nor does a nonce");
    let codes = [5, 5, 4, 6].map(|seq_num| give(Some(WALL_MS + seq_num), Some(seq_num), None));
    assert_eq!(codes, [200, 403, 403, 200]);
    assert_eq!(give(Some(WALL_MS), None, None), 200);
}

/// Other users of this host can see the bytes of a command. They must not be able to repeat it after a restart.
#[test]
fn a_known_key_has_a_time_also_where_any_signature_counts() {
    let key = name("/op/KEY/1");
    let known =
        KnownKey { name: key.clone(), verifier: Verifier::hmac(b"secret"), modules: Module::ALL.to_vec() };
    let mut world = with_applications(Policy { keys: vec![known], ..Policy::default() });
    let asked = ControlParameters { capacity: Some(7), ..ControlParameters::default() };
    let command = command_name("cs/config", &asked);
    let mut give = |face, time_ms| {
        let info = SignatureInfo {
            time_ms,
            nonce: Some(b"12345678"),
            ..SignatureInfo::new(SignatureType::HmacWithSha256).with_key(key.view())
        };
        let mut wire = Vec::new();
        Interest::new(command.view()).sign(&Signer::hmac(b"secret"), info, &mut wire).unwrap();
        response(&wire, &world.ask_on(face, &wire).unwrap()).code
    };
    assert_eq!([give(ALICE, None), give(ALICE, Some(WALL_MS)), give(BOB, Some(WALL_MS))], [403, 200, 403]);
}

#[test]
fn a_command_is_done_once_though_the_clock_was_wrong_for_a_while() {
    const HOUR: u64 = 3_600_000;
    let key = name("/op/KEY/1");
    let known =
        KnownKey { name: key.clone(), verifier: Verifier::hmac(b"secret"), modules: Module::ALL.to_vec() };
    let mut world = World::with_policy(Policy { keys: vec![known], ..Policy::default() });
    let secret = Signer::hmac(b"secret");
    let asked = ControlParameters { capacity: Some(7), ..ControlParameters::default() };
    // The clock's value when a command with this time arrives.
    let mut give = |wall_ms, time_ms| {
        world.wall_ms = wall_ms;
        let wire = signed("cs/config", &asked, &secret, Some(&key), time_ms, 1);
        response(&wire, &world.ask(&wire).unwrap()).code
    };
    assert_eq!(give(WALL_MS, WALL_MS), 200);
    // The clock is an hour late for ten minutes.
    for late in (HOUR..HOUR + 600_000).step_by(10_000) {
        assert_eq!(give(WALL_MS + late, WALL_MS + late), 200);
    }
    // The clock is correct again: earlier commands are refused, and others work as before.
    assert_eq!(give(WALL_MS + 60_000, WALL_MS), 403, "the clock was set forward and back");
    for later in (60_000..600_000).step_by(60_000) {
        assert_eq!(give(WALL_MS + later, WALL_MS + later), 200, "nobody is shut out");
    }
    // The commands given while it was wrong have a valid time again.
    assert_eq!([HOUR, HOUR + 590_000].map(|late| give(WALL_MS + late, WALL_MS + late)), [403, 403]);
    assert_eq!(give(WALL_MS + HOUR, WALL_MS + HOUR + 1), 200);
    // The clock is a day early.
    assert_eq!(give(WALL_MS - 24 * HOUR, WALL_MS - 24 * HOUR), 200);
    assert_eq!(give(WALL_MS, WALL_MS), 403);
}

#[test]
fn other_hosts_are_not_obeyed() {
    let mut world = World::new();
    let command = signed("rib/register", &parameters("/a"), &Signer::digest(), None, WALL_MS, 1);
    assert_eq!(world.ask_on(2, &command), None);
    let list = name("/localhost/nfd/faces/list");
    assert_eq!(world.ask_on(2, &query(&list).to_vec()), None);
    let hop = signed("/localhop/nfd/rib/register", &parameters("/a"), &Signer::digest(), None, WALL_MS, 1);
    assert_eq!(response(&hop, &world.ask_on(2, &hop).unwrap()).code, 403);
    assert_eq!(world.management.counters().out_of_scope, 3);
    assert!(world.mock.fib.is_empty());
}

#[test]
fn an_application_may_register_its_own_face_under_localhop_too() {
    let mut world = World::new();
    let mut give = |parameters: &ControlParameters| {
        let wire = signed("/localhop/nfd/rib/register", parameters, &Signer::digest(), None, WALL_MS, 1);
        response(&wire, &world.ask(&wire).unwrap()).code
    };
    assert_eq!([give(&parameters("/a")), give(&with_face("/b", 2))], [200, 403]);
    assert_eq!(world.mock.next_hops("/a"), [(1, 0)]);
}

/// An application with a route for these names could answer the commands of others.
#[test]
fn nobody_registers_the_names_of_management() {
    let mut world = World::with_policy(Policy { localhop: Some(Trust::AnySignature), ..Policy::default() });
    for prefix in ["/localhost/nfd", "/localhost/nfd/rib/register", "/localhop/nfd/rib"] {
        for verb in ["rib/register", "fib/add-nexthop", "fib/remove-nexthop"] {
            assert_eq!(world.command(verb, &parameters(prefix)).code, 403, "{verb} {prefix}");
        }
    }
    for prefix in ["/localhop/nfd", "/localhop/x", "/localhost/x"] {
        let wire =
            signed("/localhop/nfd/rib/register", &parameters(prefix), &Signer::digest(), None, WALL_MS, 1);
        assert_eq!(response(&wire, &world.ask_on(2, &wire).unwrap()).code, 403, "a neighbour: {prefix}");
    }
    for (number, owner) in [(ALICE, Owner::User(1)), (UNKNOWN, Owner::Anybody)] {
        world.mock.faces.insert(number, face(number, "fd://8", FaceScope::Local));
        world.mock.owners.insert(number, owner);
        for prefix in ["/localhop", "/localhop/nfd", "/localhop/nfd/rib", "/localhop/nfd/rib/register"] {
            assert_eq!(world.register_on(number, prefix), 403, "without rights: {prefix}");
        }
    }
    assert!(world.mock.fib.is_empty());
    assert_eq!(world.register_on(ALICE, "/localhop/x"), 200);
    // A host may use a neighbour's management, and its applications may communicate.
    for prefix in ["/localhop/nfd", "/localhost/x"] {
        assert_eq!(world.command("rib/register", &parameters(prefix)).code, 200, "{prefix}");
    }
}

#[test]
fn neighbours_register_themselves_where_that_is_open_and_nothing_else() {
    let mut world = World::with_policy(Policy { localhop: Some(Trust::AnySignature), ..Policy::default() });
    let mut give = |verb: &str, parameters: &ControlParameters| {
        let wire = signed(verb, parameters, &Signer::digest(), None, WALL_MS, 1);
        let reply = world.ask_on(2, &wire);
        reply.map(|reply| response(&wire, &reply).code)
    };
    assert_eq!(give("/localhop/nfd/rib/register", &parameters("/a")), Some(200));
    assert_eq!(give("/localhop/nfd/rib/register", &with_face("/b", 2)), Some(200));
    assert_eq!(give("/localhop/nfd/rib/register", &with_face("/c", 1)), Some(403));
    assert_eq!(give("/localhop/nfd/faces/destroy", &with_face("/c", 1)), Some(403));
    assert_eq!(give("/localhost/nfd/rib/register", &parameters("/d")), None);
    assert_eq!(world.mock.next_hops("/a"), [(2, 0)]);
    assert_eq!(world.mock.fib.len(), 2);
    let list = query(&name("/localhop/nfd/rib/list")).to_vec();
    assert_eq!(response(&list, &world.ask_on(2, &list).unwrap()).code, 403);
}

#[test]
fn what_is_not_there_and_what_is_malformed_has_a_code() {
    let mut world = World::new();
    for uri in
        ["/localhost/nfd/nothing/here", "/localhost/nfd/rib/steal", "/localhost/nfd/rib", "/localhost/nfd"]
    {
        let interest = Interest { can_be_prefix: true, ..Interest::new(name(uri).view()) }.to_vec();
        assert_eq!(response(&interest, &world.ask(&interest).unwrap()).code, 501, "{uri}");
    }
    for garbage in [&b""[..], b"x", &[104, 2, 105, 9], &[104, 3, 133, 1, 7], &[104, 0, 0]] {
        let name = name("/localhost/nfd/rib/register").with(Component::generic(garbage));
        let info =
            SignatureInfo { time_ms: Some(WALL_MS), ..SignatureInfo::new(SignatureType::DigestSha256) };
        let mut wire = Vec::new();
        Interest::new(name.view()).sign(&Signer::digest(), info, &mut wire).unwrap();
        assert_eq!(response(&wire, &world.ask(&wire).unwrap()).code, 400, "{garbage:?}");
    }
    assert_eq!(world.ask(b"\x05\x03\x07\x01\x08"), None);
    assert_eq!(world.management.counters().malformed, 1);
}

#[test]
fn a_reply_is_never_larger_than_a_packet_may_be() {
    let mut world = World::new();
    let long = "x".repeat(4200);
    let answer = world.command("rib/register", &parameters(&format!("/{long}")));
    assert_eq!((answer.code, answer.body), (200, None), "the body is left out");
    let wire =
        signed("rib/register", &parameters(&format!("/{long}{long}")), &Signer::digest(), None, WALL_MS, 1);
    assert_eq!(world.ask(&wire), None, "the name alone is too long");
}

// Live packets.

/// The packets of a recording: whether a client sent it, the Interest or Data, and its implicit digest.
fn recorded(file: &str) -> Vec<(bool, Vec<u8>)> {
    let unhex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
    };
    let packet = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let wire = unhex(fields[2]);
        let (frame, payload) = decode_frame(&wire).unwrap();
        assert!(matches!(payload, Payload::Packet(_)));
        (fields[0].contains("C>F"), frame.fragment.unwrap().to_vec())
    };
    file.lines().map(packet).collect()
}

const RECORDINGS: [&str; 5] = [
    include_str!("../../../packet/tests/vectors/ndnd-cli.tsv"),
    include_str!("../../../packet/tests/vectors/ndnts.tsv"),
    include_str!("../../../packet/tests/vectors/pynfdc.tsv"),
    include_str!("../../../packet/tests/vectors/python-ndn-v1.tsv"),
    include_str!("../../../packet/tests/vectors/python-ndn-v2.tsv"),
];

#[test]
fn every_management_interest_that_clients_were_recorded_sending_is_answered() {
    let mut answered = 0;
    for file in RECORDINGS {
        let mut world = World::new();
        for (_, packet) in recorded(file).into_iter().filter(|(from_client, _)| *from_client) {
            let Ok(interest) = Interest::decode(&packet) else { continue };
            let is_management = interest.name.starts_with(name("/localhost/nfd").view());
            let has_version = interest.name.components().any(|component| component.version().is_some());
            if !is_management || has_version {
                continue;
            }
            let reply = world.ask(&packet).expect("an answer");
            let data = Data::decode(&reply).unwrap();
            assert!(data.name.starts_with(interest.name));
            Verifier::digest().verify_data(&reply).unwrap();
            let is_command = interest.name == data.name;
            if is_command {
                assert_eq!(ControlResponse::decode(data.payload()).unwrap().code, 200, "{}", data.name);
            }
            answered += 1;
        }
    }
    assert_eq!(answered, 10 + 8 + 4 + 1 + 1);
}

#[test]
fn every_dataset_that_ndnd_was_recorded_sending_is_understood() {
    let mut seen = Vec::new();
    for (_, packet) in RECORDINGS.into_iter().flat_map(recorded).filter(|(from_client, _)| !from_client) {
        let Ok(data) = Data::decode(&packet) else { continue };
        let verb: Vec<String> = data.name.components().skip(2).take(2).map(|c| c.to_string()).collect();
        if !data.name.starts_with(name("/localhost/nfd").view()) {
            continue;
        }
        let content = data.payload();
        match verb.join("/").as_str() {
            "faces/list" => {
                let faces = decode_faces(content).unwrap();
                assert!(faces.len() >= 3 && faces.iter().all(|face| !face.has_queue));
                assert!(faces.iter().all(|face| face.status.remote.contains("://")), "{faces:?}");
            }
            "fib/list" => assert!(decode_fib(content).unwrap().iter().all(|e| !e.next_hops.is_empty())),
            "rib/list" => assert!(decode_rib(content).unwrap().iter().all(|e| !e.routes.is_empty())),
            "cs/info" => assert_eq!(decode_cs_info(content).unwrap().capacity, 1024),
            "strategy-choice/list" => {
                let [choice] = &decode_strategy_choices(content).unwrap()[..] else { panic!() };
                assert_eq!(choice.strategy, Mock::strategy("best-route"));
            }
            "status/general" => {
                let general = decode_general(content).unwrap();
                assert!(general.now_ms > general.started_ms && general.counters.in_interests > 0);
            }
            "faces/channels" => assert_eq!(ControlResponse::decode(content).unwrap().code, 501),
            _ => assert_eq!(ControlResponse::decode(content).unwrap().code, 200, "{}", data.name),
        }
        seen.push((verb.join("/"), implicit_digest(&packet)));
    }
    assert!(seen.len() > 25, "{}", seen.len());
}

// Applications without rights.

/// Applications of two users and of an unknown one, beside a privileged one and the neighbours 2 and 3.
const ALICE: FaceNumber = 10;
const ALICES_OTHER: FaceNumber = 11;
const BOB: FaceNumber = 20;
const UNKNOWN: FaceNumber = 30;
const OTHER_UNKNOWN: FaceNumber = 31;

fn with_applications(policy: Policy) -> World {
    let mut world = World::with_policy(policy);
    let owners = [
        (ALICE, Owner::User(1)),
        (ALICES_OTHER, Owner::User(1)),
        (BOB, Owner::User(2)),
        (UNKNOWN, Owner::Anybody),
        (OTHER_UNKNOWN, Owner::Anybody),
    ];
    for (number, owner) in owners {
        world.mock.faces.insert(number, face(number, "fd://8", FaceScope::Local));
        world.mock.owners.insert(number, owner);
    }
    world
}

impl World {
    /// The code for a command on a face, signed with a digest.
    fn code_on(&mut self, face: FaceNumber, verb: &str, parameters: &ControlParameters) -> u64 {
        self.nonce += 1;
        let interest = signed(verb, parameters, &Signer::digest(), None, self.wall_ms, self.nonce);
        response(&interest, &self.ask_on(face, &interest).expect("a response")).code
    }

    fn register_on(&mut self, face: FaceNumber, prefix: &str) -> u64 {
        self.code_on(face, "rib/register", &parameters(prefix))
    }
}

#[test]
fn an_application_without_rights_changes_nothing_but_its_own_routes() {
    for (who, root) in [(ALICE, "/localhost/nfd"), (UNKNOWN, "/localhost/nfd"), (UNKNOWN, "/localhop/nfd")] {
        let mut world = with_applications(Policy::default());
        world.command("rib/register", &with_face("/n", 2));
        world.command("rib/register", &with_face("/b", BOB));
        let before =
            (world.mock.faces.clone(), world.mock.fib.clone(), world.mock.strategies.clone(), world.mock.cs);
        let strategy = Some(name("/localhost/nfd/strategy/multicast"));
        let own = ControlParameters { face: Some(who), ..ControlParameters::default() };
        let commands = [
            ("faces/create", with_uri("udp4://10.0.0.9:6363")),
            ("faces/update", ControlParameters { flags: Some(1), mask: Some(1), ..own.clone() }),
            ("faces/destroy", ControlParameters { face: Some(BOB), ..own.clone() }),
            ("faces/destroy", own),
            ("fib/add-nexthop", parameters("/x")),
            ("fib/remove-nexthop", with_face("/n", 2)),
            ("strategy-choice/set", ControlParameters { strategy, ..parameters("/x") }),
            ("strategy-choice/unset", parameters("/x")),
            ("cs/config", ControlParameters { capacity: Some(0), ..ControlParameters::default() }),
            ("cs/erase", parameters("/")),
            ("rib/register", with_face("/x", BOB)),
            ("rib/register", with_face("/x", 2)),
            ("rib/unregister", with_face("/b", BOB)),
            ("rib/unregister", with_face("/n", 2)),
        ];
        for (verb, asked) in &commands {
            if root == "/localhost/nfd" || verb.starts_with("rib/") {
                assert_eq!(world.code_on(who, &format!("{root}/{verb}"), asked), 403, "{who} {verb}");
            }
        }
        let after =
            (world.mock.faces.clone(), world.mock.fib.clone(), world.mock.strategies.clone(), world.mock.cs);
        assert_eq!(before, after);
        // An application may send the commands that it needs.
        for verb in ["rib/register", "rib/register", "rib/unregister", "rib/register"] {
            assert_eq!(world.code_on(who, &format!("{root}/{verb}"), &parameters("/own")), 200);
        }
        assert_eq!(world.mock.next_hops("/own"), [(who, 0)]);
        let list = name("/localhost/nfd/faces/list");
        assert!(world.ask_on(who, &query(&list).to_vec()).is_some());
    }
}

#[test]
fn applications_without_rights_stop_nobodys_commands() {
    let mut world = with_applications(Policy { max_remembered: 10, ..Policy::default() });
    let mut give = |face, verb, time_ms, nonce| {
        let wire = signed(verb, &parameters("/x"), &Signer::digest(), None, time_ms, nonce);
        response(&wire, &world.ask_on(face, &wire).unwrap()).code
    };
    // These have future times, so they would be forgotten last.
    for nonce in 0..100 {
        assert_eq!(give(ALICE, "cs/erase", WALL_MS + 119_000, nonce), 403);
        assert_eq!(give(UNKNOWN, "rib/register", WALL_MS + 119_000, nonce), 200);
    }
    assert_eq!([give(1, "cs/erase", WALL_MS, 0), give(UNKNOWN, "rib/register", WALL_MS, 0)], [200, 200]);
    assert_eq!(give(1, "cs/erase", WALL_MS, 0), 403, "what has rights is given once");
}

#[test]
fn an_application_without_rights_gets_a_list_again_that_was_just_made() {
    let mut world = with_applications(Policy::default());
    let routes = |world: &mut World, who, suffix| {
        let list = name(&format!("/localhost/nfd/rib/list{suffix}"));
        let wire = world.ask_on(who, &query(&list).to_vec()).unwrap();
        let data = Data::decode(&wire).unwrap();
        assert!(data.name.starts_with(list.view()) && data.name.len() == list.len() + 2);
        decode_rib(data.payload()).unwrap().len()
    };
    assert_eq!(routes(&mut world, ALICE, ""), 0);
    world.command("rib/register", &parameters("/a"));
    world.now += Span::from_nanos(9_999_999);
    assert_eq!([ALICE, BOB].map(|who| routes(&mut world, who, "/under/another/name")), [0, 0]);
    world.now += Span::from_nanos(1);
    assert_eq!(routes(&mut world, ALICE, ""), 1);
    world.command("rib/register", &parameters("/b"));
    assert_eq!(routes(&mut world, 1, ""), 2, "who has rights sees what was just changed");
    // Datasets that depend on the query are not given again.
    let faces = |world: &mut World, filter| {
        let mut encoded = Vec::new();
        FaceQueryFilter { face: Some(filter), ..FaceQueryFilter::default() }.encode(&mut encoded);
        let query_name = name("/localhost/nfd/faces/query").with(Component::generic(&encoded));
        let wire = world.ask_on(ALICE, &query(&query_name).to_vec()).unwrap();
        decode_faces(Data::decode(&wire).unwrap().payload()).unwrap()[0].status.number
    };
    assert_eq!([2, 3].map(|number| faces(&mut world, number)), [2, 3]);
}

#[test]
fn a_list_is_given_again_whatever_else_was_asked_for_meanwhile() {
    let mut world = with_applications(Policy::default());
    let [faces, info] = ["faces/list", "cs/info"].map(|list| name(&format!("/localhost/nfd/{list}")));
    let count = |world: &mut World| {
        let first = world.ask_on(ALICE, &query(&faces).to_vec()).unwrap();
        decode_faces(&world.segments_of(&first)).unwrap().len()
    };
    let before = count(&mut world);
    world.mock.faces.remove(&3);
    for _ in 0..1000 {
        world.ask_on(ALICE, &query(&info).to_vec()).unwrap();
    }
    assert_eq!(count(&mut world), before);
    world.now += Span::from_millis(11);
    // The name is too long for an answer. The list was made, and is given again for a while.
    let long = faces.clone().with(Component::generic(&[b'x'; 8300]));
    assert!(world.ask_on(ALICE, &query(&long).to_vec()).is_none());
    world.mock.faces.remove(&2);
    assert_eq!(count(&mut world), before - 1);
}

#[test]
fn queries_of_applications_without_rights_take_a_small_part_of_the_time() {
    let mut world = with_applications(Policy::default());
    for number in 1000..2000 {
        let uri = format!("udp4://10.1.2.3:{number}");
        world.mock.faces.insert(number, face(number, &uri, FaceScope::NonLocal));
    }
    let by_uri = |number: FaceNumber| FaceQueryFilter {
        uri: Some(format!("udp4://10.1.2.3:{number}")),
        ..FaceQueryFilter::default()
    };
    let by_number = |number: FaceNumber| FaceQueryFilter { face: Some(number), ..FaceQueryFilter::default() };
    // Whether faces are found; otherwise the query is refused.
    let ask = |world: &mut World, who, filter: &FaceQueryFilter| {
        let mut encoded = Vec::new();
        filter.encode(&mut encoded);
        let name = name("/localhost/nfd/faces/query").with(Component::generic(&encoded));
        let wire = world.ask_on(who, &query(&name).to_vec()).unwrap();
        let data = Data::decode(&wire).unwrap();
        if data.meta.content_type.is_none() {
            assert!(!decode_faces(&world.segments_of(&wire)).unwrap().is_empty());
            return true;
        }
        assert_eq!(ControlResponse::decode(data.payload()).unwrap().code, 503);
        false
    };
    // Each query examines a thousand faces. Other tools send such queries one at a time.
    assert!((0..5).all(|number| ask(&mut world, ALICE, &by_uri(1000 + number))));
    let more = (5..1000).filter(|number| ask(&mut world, ALICE, &by_uri(1000 + number))).count();
    assert!((1..10).contains(&more), "{more} at once");
    // Other users are not delayed, and a face number needs no search.
    for who in [BOB, UNKNOWN, 1] {
        assert!(ask(&mut world, who, &by_uri(1999)), "{who}");
    }
    assert!(
        (1000..2000).all(|number| ask(&mut world, 1, &by_uri(number))),
        "who has rights asks as it likes"
    );
    assert!((1000..2000).all(|number| ask(&mut world, ALICE, &by_number(number))));
    assert!(!ask(&mut world, ALICES_OTHER, &by_uri(1999)), "another face of the same user");
    let in_a_second = |world: &mut World, filter: &dyn Fn(FaceNumber) -> FaceQueryFilter| {
        let mut made = 0;
        for number in 1000..2000 {
            world.now += Span::from_millis(1);
            made += usize::from(ask(world, ALICE, &filter(number)));
        }
        made
    };
    let few = in_a_second(&mut world, &by_uri);
    assert!((150..=201).contains(&few), "{few} that find one of a thousand faces");
    // Long answers cost more.
    let everything = |_| FaceQueryFilter { scope: Some(FaceScope::NonLocal), ..FaceQueryFilter::default() };
    let many = in_a_second(&mut world, &everything);
    assert!((20..100).contains(&many), "{many} that find all");
}

/// A world with enough routes for a list in several parts.
fn with_many_routes() -> World {
    let mut world = with_applications(Policy::default());
    for number in 0..5000 {
        add_route(&mut world, &format!("/many/{number:04}"));
    }
    world
}

fn add_route(world: &mut World, prefix: &str) {
    let (flags, expires) = (RouteFlags::default(), Time::NEVER);
    let route = Route { prefix: name(prefix), face: 2, origin: 0, cost: 7, flags, expires };
    world.management.add_route(&route, &mut world.mock).unwrap();
}

/// The lists that are complete after the next part.
fn next_part(world: &mut World) -> Vec<Vec<u8>> {
    let mut replies = Vec::new();
    world.now = world.management.next_deadline().max(world.now);
    world.management.handle_deadline(world.now, &mut world.mock, &mut replies);
    replies
}

/// The number of routes in a list.
fn routes_of(world: &mut World, first: &[u8]) -> usize {
    let content = world.segments_of(first);
    let routes = decode_rib(&content).unwrap();
    assert!(routes.is_sorted_by(|one, other| one.prefix < other.prefix), "each once, in order");
    routes.len()
}

#[test]
fn a_long_list_is_made_in_parts_with_packets_in_between() {
    for list in ["rib/list", "fib/list"] {
        let mut world = with_many_routes();
        let asked = query(&name(&format!("/localhost/nfd/{list}"))).to_vec();
        assert!(world.ask(&asked).is_none(), "its first part is not all of it");
        assert!(world.management.next_deadline() <= world.now, "it goes on when packets had their turn");
        assert!(next_part(&mut world).is_empty());
        let resumes = world.management.next_deadline();
        assert_eq!(resumes, world.now + Span::from_millis(1));
        // The Interest arrives again, and a route is added.
        assert!(world.ask_on(ALICE, &asked).is_none());
        add_route(&mut world, "/many/9999");
        let replies = next_part(&mut world);
        assert_eq!(
            (replies.len(), world.management.next_deadline()),
            (1, Time::NEVER),
            "one for all who ask by it"
        );
        let content = world.segments_of(&replies[0]);
        let prefixes: Vec<Name> = match list {
            "rib/list" => decode_rib(&content).unwrap().into_iter().map(|entry| entry.prefix).collect(),
            _ => decode_fib(&content).unwrap().into_iter().map(|entry| entry.prefix).collect(),
        };
        let many = prefixes.iter().filter(|prefix| prefix.len() == 2 && prefix.to_string() != "/many/9999");
        assert_eq!(many.count(), 5000, "what is there all the time is there once");
        assert!(prefixes.is_sorted_by(|one, other| one < other));
    }
}

#[test]
fn who_has_rights_sees_in_a_long_list_what_was_changed_before_it_asked() {
    let mut world = with_many_routes();
    let asked = query(&name("/localhost/nfd/rib/list")).to_vec();
    assert!(world.ask(&asked).is_none());
    add_route(&mut world, "/a");
    // Another name, so that both Interests are answered.
    let again = name("/localhost/nfd/rib/list/again");
    assert!(world.ask(&query(&again).to_vec()).is_none());
    let mut lists = Vec::new();
    while world.management.next_deadline() != Time::NEVER {
        lists.extend(next_part(&mut world));
    }
    let counts: Vec<usize> = lists.iter().map(|list| routes_of(&mut world, list)).collect();
    assert_eq!(counts, [5000, 5001]);
    assert!(Data::decode(&lists[1]).unwrap().name.starts_with(again.view()));
}

#[test]
fn a_long_list_is_not_made_for_more_than_a_few_names_at_once() {
    let mut world = with_many_routes();
    let ask = |world: &mut World, number: usize| {
        let list = name(&format!("/localhost/nfd/rib/list/{number}"));
        world.ask_on(ALICE, &query(&list).to_vec())
    };
    assert!((0..64).all(|number| ask(&mut world, number).is_none()));
    let refused = ask(&mut world, 64).expect("an answer");
    assert_eq!(Data::decode(&refused).unwrap().meta.content_type, Some(ContentType::Nack));
    assert!(ask(&mut world, 63).is_none(), "who waits already waits once");
    let mut lists = 0;
    while world.management.next_deadline() != Time::NEVER {
        lists += next_part(&mut world).len();
    }
    assert_eq!(lists, 64);
}

#[test]
fn a_command_by_a_face_that_is_gone_is_not_done() {
    let mut world = with_applications(Policy::default());
    let incoming = world.mock.faces.remove(&ALICE).unwrap();
    world.mock.owners.remove(&ALICE);
    let asked = ControlParameters { capacity: Some(0), ..ControlParameters::default() };
    let wire = signed("cs/config", &asked, &Signer::digest(), None, WALL_MS, 1);
    let mut replies = Vec::new();
    let (now, wall_ms) = (world.now, world.wall_ms);
    world.management.handle_interest(now, wall_ms, &wire, &incoming, &mut world.mock, &mut replies);
    assert!(replies.is_empty() && world.mock.cs.capacity > 0);
}

#[test]
fn a_dataset_that_is_read_stays_whatever_others_ask_for() {
    let mut world = with_applications(Policy::default());
    for number in 100..1100 {
        world.mock.faces.insert(number, face(number, "udp4://10.1.2.3:6363", FaceScope::NonLocal));
    }
    let second = |wire: Vec<u8>| Data::decode(&wire).unwrap().name.parent().to_name().with_segment(1);
    let (faces, info) = (name("/localhost/nfd/faces/list"), name("/localhost/nfd/cs/info"));
    let of = [1, BOB].map(|who| second(world.ask_on(who, &query(&faces).to_vec()).unwrap()));
    for round in 0..1000 {
        world.now += Span::from_millis(1);
        let asked = if round % 10 == 0 { &faces } else { &info };
        world.ask_on(ALICE, &query(asked).to_vec()).unwrap();
    }
    for name in of {
        assert!(world.ask(&Interest::new(name.view()).to_vec()).is_some(), "{name}");
    }
}

#[test]
fn an_application_without_rights_gets_no_names_that_others_have() {
    let mut world = with_applications(Policy::default());
    let flags = RouteFlags::default();
    world.management.add_static(&name("/"), 2, 0, flags, &mut world.mock).unwrap();
    world.management.add_static(&name("/far/away"), 3, 0, flags, &mut world.mock).unwrap();
    assert_eq!(world.command("rib/register", &parameters("/admin")).code, 200);
    assert_eq!(world.register_on(ALICE, "/alice/app"), 200);
    assert_eq!(world.register_on(UNKNOWN, "/unknown"), 200);
    for (prefix, why) in [
        ("/", "everybody's names"),
        ("/admin", "of one with rights"),
        ("/admin/below", "of one with rights"),
        ("/alice", "above another's"),
        ("/alice/app", "another's"),
        ("/alice/app/below", "below another's"),
        ("/unknown/below", "of one whom nobody knows"),
        ("/far", "above a route to a neighbour"),
        ("/far/away", "a neighbour's"),
    ] {
        assert_eq!(world.register_on(BOB, prefix), 403, "{prefix} is {why}");
    }
    // Prefixes below or beside a neighbour's are free; a user's applications share prefixes.
    for (who, prefix) in [
        (BOB, "/far/away/here"),
        (BOB, "/alic"),
        (ALICES_OTHER, "/alice/app"),
        (ALICES_OTHER, "/alice"),
        (OTHER_UNKNOWN, "/unknown"),
    ] {
        assert_eq!(world.register_on(who, prefix), 200, "{who} {prefix}");
    }
    // A user with rights may register any prefix.
    assert_eq!(world.command("rib/register", &parameters("/alice/app/below")).code, 200);
    // A prefix is free after its owner has given it up.
    world.close(UNKNOWN);
    assert_eq!(world.register_on(BOB, "/unknown"), 403, "the other has it still");
    world.close(OTHER_UNKNOWN);
    assert_eq!(world.register_on(BOB, "/unknown"), 200);
    let announced = announcement(&Signer::digest(), 5000, b"20261121T092855");
    assert_eq!(world.register_on(ALICE, "/pa"), 200);
    world.nonce += 1;
    let nonce = world.nonce.to_be_bytes();
    let announce = name("/localhost/nfd/rib/announce");
    let bare = Interest { application_parameters: Some(&announced), ..Interest::new(announce.view()) };
    let info = SignatureInfo {
        nonce: Some(&nonce),
        time_ms: Some(world.wall_ms),
        ..SignatureInfo::new(SignatureType::DigestSha256)
    };
    let mut wire = Vec::new();
    bare.sign(&Signer::digest(), info, &mut wire).unwrap();
    assert_eq!(response(&wire, &world.ask_on(BOB, &wire).unwrap()).code, 403);
}

#[test]
fn nobody_looks_through_the_many_routes_of_a_face_that_is_gone() {
    let mut world = with_applications(Policy::default());
    for number in 0..1000 {
        let prefix = name(&format!("/big/{number}"));
        world.management.add_static(&prefix, 3, 0, RouteFlags::default(), &mut world.mock).unwrap();
    }
    world.close(3);
    assert_eq!(world.register_on(BOB, "/big"), 403, "they count as held until they are removed");
    while world.management.next_deadline() != Time::NEVER {
        let now = world.management.next_deadline();
        world.management.handle_deadline(now, &mut world.mock, &mut Vec::new());
    }
    assert_eq!(world.register_on(BOB, "/big"), 200);
}

#[test]
fn the_registrations_of_a_user_are_bounded_also_over_several_faces_and_origins() {
    let mut world = with_applications(Policy { max_registrations: 5, ..Policy::default() });
    assert_eq!(world.register_on(ALICE, "/a/1"), 200);
    assert_eq!(world.register_on(ALICES_OTHER, "/a/1"), 200);
    for origin in 1..4 {
        let asked = ControlParameters { origin: Some(origin), ..parameters("/a/1") };
        assert_eq!(world.code_on(ALICE, "rib/register", &asked), 200);
    }
    assert_eq!(world.register_on(ALICE, "/a/2"), 403);
    assert_eq!(world.register_on(ALICES_OTHER, "/a/2"), 403);
    assert_eq!(world.register_on(ALICE, "/a/1"), 200, "it is there already");
    assert_eq!(world.register_on(BOB, "/b"), 200, "others have their own");
    assert_eq!(world.code_on(ALICE, "rib/unregister", &parameters("/a/1")), 200);
    assert_eq!(world.register_on(ALICE, "/a/2"), 200);
    for number in 0..20 {
        assert_eq!(world.command("rib/register", &parameters(&format!("/admin/{number}"))).code, 200);
    }
}

#[test]
fn the_file_says_what_applications_without_rights_may_do() {
    let policy = |applications| Policy { applications, ..Policy::default() };
    let mut world = with_applications(policy(Applications::Show));
    assert_eq!(world.register_on(ALICE, "/a"), 403);
    let list = name("/localhost/nfd/rib/list");
    assert!(world.ask_on(ALICE, &query(&list).to_vec()).is_some());
    let mut world = with_applications(policy(Applications::All));
    assert_eq!(world.command("rib/register", &parameters("/a")).code, 200);
    assert_eq!(world.register_on(ALICE, "/a"), 200);
    let asked = ControlParameters { capacity: Some(0), ..ControlParameters::default() };
    assert_eq!(world.code_on(UNKNOWN, "cs/config", &asked), 200);
    assert_eq!(world.mock.cs.capacity, 0);
}

#[test]
fn a_known_key_has_rights_whoever_sends_its_commands() {
    let key = name("/op/KEY/1");
    let signer = Signer::hmac(b"a secret of the operator");
    let known = KnownKey {
        name: key.clone(),
        verifier: Verifier::hmac(b"a secret of the operator"),
        modules: Module::ALL.to_vec(),
    };
    let mut world = with_applications(Policy { keys: vec![known], ..Policy::default() });
    let asked = ControlParameters { capacity: Some(7), ..ControlParameters::default() };
    let wire = signed("cs/config", &asked, &signer, Some(&key), world.wall_ms, 900);
    assert_eq!(response(&wire, &world.ask_on(UNKNOWN, &wire).unwrap()).code, 200);
    assert_eq!(world.mock.cs.capacity, 7);
    assert_eq!(world.code_on(UNKNOWN, "cs/config", &asked), 403);
}
