//! Strangers and bad neighbours on real sockets: their packets are counted and answered according to the protocol, and other
//! traffic continues.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::running::{self, Folder, Frame, Peer, Producer, Running, SECOND, data, name, now, pause};
use weir_core::random::Random;
use weir_keychain::{Algorithm, Certificate, Key, Moment, Validity, form};
use weir_management::ControlParameters;
use weir_management::status::FaceStatus;
use weir_packet::fragment::Fragmenter;
use weir_packet::tlv::Reader;
use weir_packet::{
    Component, Data, Interest, LpHeader, LpPacket, NackReason, Name, ServiceClass, Signal, SignatureInfo,
    SignatureType, Signer,
};

/// A forwarder with two neighbours: `/a` leads to the first and `/b` to the second.
struct World {
    forwarder: Running,
    a: Peer,
    b: Peer,
    _folder: Folder,
}

fn world(label: &str, more: &str, face: &str) -> World {
    let folder = Folder::new(label);
    let ((a, first), (b, second)) = (Peer::udp(), Peer::udp());
    let text = format!(
        "{more}\n[[face]]\nname = \"a\"\nremote = \"udp4://{first}\"\n{face}\n\
         [[face]]\nname = \"b\"\nremote = \"udp4://{second}\"\n{face}\n\
         [[route]]\nprefix = \"/a\"\nface = \"a\"\n[[route]]\nprefix = \"/b\"\nface = \"b\"\n"
    );
    let forwarder = Running::start(&folder, &text);
    a.know(forwarder.udp);
    b.know(forwarder.udp);
    World { forwarder, a, b, _folder: folder }
}

/// The faces of the neighbours, which were created first.
fn neighbours(forwarder: &Running) -> [FaceStatus; 2] {
    let faces = forwarder.client().faces().unwrap();
    let mut udp = faces.into_iter().map(|face| face.status).filter(|face| face.remote.starts_with("udp4://"));
    [udp.next().unwrap(), udp.next().unwrap()]
}

/// An application asks for `/b/TEXT`, and the second neighbour answers.
fn check_traffic(world: &mut World, text: &str) {
    let mut application = world.forwarder.connect();
    let asked = name(&format!("/b/{text}"));
    application.ask(&asked, 4000, None);
    let interest = world.b.receive(5 * SECOND).unwrap_or_else(|| panic!("no Interest after {text}"));
    assert_eq!(interest.name(), asked);
    world.b.answer(&interest, 100);
    let got = application.receive(5 * SECOND).unwrap_or_else(|| panic!("no Data after {text}"));
    assert!(got.is_data() && got.name() == asked);
}

/// Checks that no earlier packet of a peer reaches another one: its next Interest is the next packet there. The frames of a face
/// are handled in order.
fn nothing_else_comes(from: &mut Peer, to: &mut Peer, who: &str) {
    let asked = name(&format!("/b/nothing-else/{who}"));
    from.ask(&asked, 1000, None);
    let next = to.receive(5 * SECOND).expect("the Interest that is sent now comes");
    assert_eq!(next.name(), asked);
    to.answer(&next, 10);
}

fn interest(asked: &Name, nonce: u32, lifetime_ms: u64) -> Vec<u8> {
    let bare = Interest::new(asked.view());
    Interest { nonce: Some(nonce), lifetime: Some(lifetime_ms), ..bare }.to_vec()
}

#[test]
fn random_cut_and_oversized_frames_are_counted_and_nothing_else() {
    let mut world = world("malformed", "", "");
    let mut random = Random::named(1, "hostile");
    let whole = interest(&name("/b/cut"), 1, 1000);
    let mut sent = 0;
    let mut send = |world: &mut World, bytes: &[u8]| {
        world.a.send(bytes);
        sent += 1;
        // The socket's buffer is finite, and this test must not fill it.
        if sent % 50 == 0 {
            pause(Duration::from_millis(2));
        }
    };
    for _ in 0..500 {
        let length = random.below(200) as usize + 1;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next_u32() as u8).collect();
        // The bytes must not be valid by chance.
        bytes[0] |= 0x80;
        send(&mut world, &bytes);
    }
    for length in 1..whole.len() {
        send(&mut world, &whole[..length]);
        // A link frame with a part of an Interest as its fragment.
        send(
            &mut world,
            &LpPacket::new(running::with_class(Some(ServiceClass::Ef)), &whole[..length]).to_vec(),
        );
    }
    let oversized = data(&name("/b/long"), 9000);
    send(&mut world, &oversized);
    send(&mut world, &data(&name("/b/longest"), 60_000));
    check_traffic(&mut world, "malformed");
    let [a, _] = neighbours(&world.forwarder);
    assert_eq!(a.counters.in_malformed, sent, "of {sent}");
    assert_eq!((a.counters.in_interests, a.counters.in_data), (0, 0));
    assert!(a.up);
}

#[test]
fn a_stream_that_is_no_stream_of_packets_is_closed_and_others_are_not() {
    let mut world = world("stream", "", "");
    let nonsense: [&[u8]; 4] = [
        &[0xFF; 300],
        // A frame with a length of 4 GB.
        &[0x64, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0x00],
        // A length of 2⁶⁴ − 1 bytes.
        &[0x05, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0x00, 0x00],
    ];
    for (round, bytes) in nonsense.into_iter().enumerate() {
        let mut peer = world.forwarder.connect();
        peer.send(bytes);
        check_traffic(&mut world, &format!("stream/{round}"));
        let closed = (0..500).any(|_| {
            pause(Duration::from_millis(10));
            !peer.send(bytes)
        });
        assert!(closed, "{bytes:?}");
    }
    // The forwarder waits for the end of an endless frame, without cost for others.
    let mut slow = world.forwarder.connect();
    slow.send(&interest(&name("/b/slow"), 7, 1000)[..5]);
    check_traffic(&mut world, "slow");
}

#[test]
fn fragments_that_never_complete_do_not_keep_whole_packets_out() {
    let mut world = world("fragments", "[tables]\nreassembly_bytes = \"64 KiB\"\n", "");
    let long = data(&name("/b/fragments/never"), 4000);
    let mut fragmenter = Fragmenter::new(500, 1);
    for round in 0..3000 {
        let pieces: Vec<_> = fragmenter.split(LpPacket::new(LpHeader::NONE, &long), 0).unwrap().collect();
        assert!(pieces.len() > 5);
        // Each time another fragment is missing, or all but one.
        for (place, piece) in pieces.iter().enumerate() {
            if place == round % pieces.len() {
                world.a.send(&piece.to_vec());
            }
        }
        if round % 50 == 0 {
            pause(Duration::from_millis(2));
        }
    }
    check_traffic(&mut world, "incomplete");
    // The same neighbour's valid packets are still reassembled.
    let mut application = world.forwarder.connect();
    application.ask(&name("/a/fragments"), 4000, None);
    let asked = world.a.receive(5 * SECOND).unwrap();
    let answer = data(&asked.name(), 4000);
    let pieces: Vec<Vec<u8>> = fragmenter
        .split(LpPacket::new(asked.header, &answer), 0)
        .unwrap()
        .map(|piece| piece.to_vec())
        .collect();
    for piece in &pieces {
        world.a.send(piece);
    }
    let got = application.receive(5 * SECOND).expect("it comes together");
    assert_eq!(got.packet, answer);
}

#[test]
fn a_looping_interest_is_answered_with_a_nack_while_it_is_pending_and_after() {
    let mut world = world("loop", "", "");
    let asked = name("/b/loop");
    world.a.send(&interest(&asked, 77, 300));
    let there = world.b.receive(5 * SECOND).unwrap();
    assert_eq!(there.name(), asked);
    let nack_of_loop = |peer: &mut Peer, when: &str| {
        peer.send(&interest(&asked, 77, 300));
        let nack = peer.receive(5 * SECOND).unwrap_or_else(|| panic!("no Nack {when}"));
        assert_eq!(nack.header.nack(), Some(NackReason::Duplicate), "{when}");
        assert_eq!(Interest::decode(&nack.packet).unwrap().nonce, Some(77));
    };
    nack_of_loop(&mut world.b, "while it is pending");
    pause(Duration::from_millis(500));
    nack_of_loop(&mut world.b, "after it has expired");
    nack_of_loop(&mut world.a, "where it came from");
    // The hop limit is 0, or becomes 0 at this node: neither Interest is forwarded.
    for (hops, path) in [(0, "/b/hops/0"), (1, "/b/hops/1")] {
        let asked = name(path);
        let last = Interest { hop_limit: Some(hops), nonce: Some(5), ..Interest::new(asked.view()) };
        world.a.send(&last.to_vec());
    }
    nothing_else_comes(&mut world.a, &mut world.b, "a");
    check_traffic(&mut world, "loop");
}

/// A command to register a prefix for the face on which it arrives, signed unless `is_signed` is false.
fn register(root: &str, prefix: &str, nonce: u32, is_signed: bool) -> Vec<u8> {
    let mut parameters = Vec::new();
    ControlParameters { name: Some(name(prefix)), ..ControlParameters::default() }.encode(&mut parameters);
    let command = name(&format!("{root}/rib/register")).with(Component::generic(&parameters));
    let bare = Interest { nonce: Some(nonce), must_be_fresh: true, ..Interest::new(command.view()) };
    if !is_signed {
        return bare.to_vec();
    }
    sign(&bare, &Signer::digest(), SignatureInfo::new(SignatureType::DigestSha256))
}

fn sign(bare: &Interest<'_>, signer: &Signer, info: SignatureInfo<'_>) -> Vec<u8> {
    let salt = bare.nonce.unwrap_or_default().to_be_bytes();
    let info = SignatureInfo { nonce: Some(&salt), time_ms: Some(wall_ms()), ..info };
    let mut wire = Vec::new();
    bare.sign(signer, info, &mut wire).unwrap();
    wire
}

#[allow(clippy::disallowed_methods, reason = "commands carry the time of day")]
fn wall_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The code in the ControlResponse of an answer to a command.
fn code(answer: &Frame) -> u64 {
    let data = Data::decode(&answer.packet).unwrap();
    weir_management::ControlResponse::decode(data.payload()).unwrap().code
}

fn has_route(forwarder: &Running, prefix: &str) -> bool {
    forwarder.client().fib().unwrap().iter().any(|entry| entry.prefix == name(prefix))
}

#[test]
fn unsigned_and_replayed_commands_are_refused_and_change_nothing() {
    let world = world("commands", "[tables]\ncontent_store_packets = 0\n", "");
    let mut application = world.forwarder.connect();
    let unsigned = register("/localhost/nfd", "/unsigned", 1, false);
    application.send(&unsigned);
    let answer = application.receive(5 * SECOND);
    assert!(answer.is_none_or(|answer| code(&answer) != 200));
    assert!(!has_route(&world.forwarder, "/unsigned"));
    let signed = register("/localhost/nfd", "/signed", 2, true);
    application.send(&signed);
    assert_eq!(code(&application.receive(5 * SECOND).unwrap()), 200);
    assert!(has_route(&world.forwarder, "/signed"));
    let mut other = world.forwarder.connect();
    other.send(&signed);
    assert_eq!(code(&other.receive(5 * SECOND).unwrap()), 403);
    // A signature of something else.
    let mut forged = register("/localhost/nfd", "/forged", 3, true);
    let at = forged.windows(6).position(|window| window == b"forged").unwrap();
    forged[at] = b'g';
    other.send(&forged);
    let answer = other.receive(SECOND);
    assert!(answer.is_none_or(|answer| code(&answer) != 200));
    assert!(!has_route(&world.forwarder, "/gorged") && !has_route(&world.forwarder, "/forged"));
}

#[test]
fn where_only_trusted_keys_count_others_of_this_host_are_refused() {
    let folder = Folder::new("trusted");
    let certificate = folder.path("op.cert");
    let key = Key::generate(name("/op").view(), Algorithm::Ecdsa).unwrap();
    let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
    let made = Certificate::self_signed(&key, Moment::EPOCH, validity).unwrap();
    fs::write(&certificate, form::certificate_pem(&made)).unwrap();
    let more = format!("[management]\nlocal = \"trusted\"\ntrusted_keys = \"{}\"\n", certificate.display());
    let forwarder = Running::start(&folder, &more);
    let mut application = forwarder.connect();
    for root in ["/localhost/nfd", "/localhop/nfd"] {
        application.send(&register(root, "/anybody", 1, true));
        assert_eq!(code(&application.receive(5 * SECOND).unwrap()), 403, "{root}");
    }
    let mut parameters = Vec::new();
    ControlParameters { name: Some(name("/own")), ..ControlParameters::default() }.encode(&mut parameters);
    let command = name("/localhost/nfd/rib/register").with(Component::generic(&parameters));
    let bare = Interest { nonce: Some(3), must_be_fresh: true, ..Interest::new(command.view()) };
    let info = SignatureInfo::new(SignatureType::Null).with_key(key.name().name());
    application.send(&sign(&bare, key.signer(), info));
    assert_eq!(code(&application.receive(5 * SECOND).unwrap()), 200);
    assert!(has_route(&forwarder, "/own") && !has_route(&forwarder, "/anybody"));
}

/// Any web page can make a browser on this host send its bytes to a port of this host.
#[test]
fn what_a_web_page_posts_is_no_command() {
    let world = world("page", "", "");
    let mut application = world.forwarder.connect();
    application.send(&register("/localhost/nfd", "/own", 1, true));
    assert_eq!(code(&application.receive(5 * SECOND).unwrap()), 200);
    let mut browser = world.forwarder.connect();
    let mut head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1:6363\r\nContent-Type: text/plain\r\n".to_vec();
    // With this length the head parses as elements to its end.
    let rest = |head: &[u8]| {
        (0..400).find(|more| {
            let padded = [head, b"X: ", &vec![b'y'; *more], b"\r\n\r\n"].concat();
            let mut reader = Reader::new(&padded);
            while let Ok(Some(_)) = reader.element() {}
            reader.is_empty()
        })
    };
    let padding = rest(&head).expect("such a length");
    head.extend([&b"X: "[..], &vec![b'y'; padding], b"\r\n\r\n"].concat());
    browser.send(&[head, register("/localhost/nfd", "/page", 2, true)].concat());
    assert_eq!(browser.receive(5 * SECOND), None);
    assert!(browser.is_closed(), "what is no stream of packets is closed");
    assert!(has_route(&world.forwarder, "/own") && !has_route(&world.forwarder, "/page"));
}

#[test]
fn commands_of_neighbours_are_dropped_or_refused() {
    let mut world = world("remote", "", "");
    for (number, root) in ["/localhost/nfd", "/localhop/nfd"].iter().enumerate() {
        world.a.send(&register(root, "/stolen", number as u32 + 1, true));
    }
    // A request under `/localhost` is not answered; a refused one under `/localhop` gets a response.
    let answer = world.a.receive(5 * SECOND).unwrap();
    assert!(answer.is_data() && code(&answer) == 403);
    assert!(answer.name().to_string().starts_with("/localhop/nfd"), "{}", answer.name());
    // There is no later answer either: the next answer is for the next command.
    let again = register("/localhop/nfd", "/stolen", 3, true);
    world.a.send(&again);
    let answer = world.a.receive(5 * SECOND).unwrap();
    assert_eq!(answer.name(), Interest::decode(&again).unwrap().name.to_name());
    assert!(!has_route(&world.forwarder, "/stolen"));
    // Data with such names are not accepted either.
    world.a.send(&data(&name("/localhost/nfd/status/general"), 10));
    check_traffic(&mut world, "remote");
}

#[test]
fn names_of_200_components_are_refused_and_counted() {
    let mut world = world("names", "", "");
    let long = (0..200).fold(name("/b"), |name, number| name.with_segment(number));
    world.a.send(&interest(&long, 1, 1000));
    world.a.send(&data(&long, 10));
    let mut application = world.forwarder.connect();
    application.ask(&long, 1000, None);
    for (from, who) in [(&mut world.a, "a"), (&mut application, "application")] {
        nothing_else_comes(from, &mut world.b, who);
    }
    check_traffic(&mut world, "names");
    let [a, _] = neighbours(&world.forwarder);
    assert_eq!(a.counters.in_malformed, 2);
    // The response to a refused route has a text.
    let mut client = world.forwarder.client();
    let asked = ControlParameters { name: Some(long), ..ControlParameters::default() };
    let refused = client.command(weir_management::Module::Rib, "register", &asked).unwrap_err();
    assert!(refused.to_string().contains("code 4") || refused.to_string().contains("code 5"), "{refused}");
}

#[test]
fn faces_are_bounded_and_go_with_their_connections() {
    let mut world = world("faces", "[tables]\nfaces = 12\n", "");
    let many: Vec<Peer> = (0..60).map(|_| world.forwarder.connect()).collect();
    let strangers: Vec<Peer> = (0..60)
        .map(|number| {
            let (mut peer, _) = Peer::udp();
            peer.know(world.forwarder.udp);
            peer.send(&interest(&name("/b/stranger"), number, 100));
            peer
        })
        .collect();
    pause(Duration::from_millis(300));
    drop(many);
    // Closed connections make room again, and the limit is never exceeded.
    let client = (0..200).find_map(|_| {
        pause(Duration::from_millis(20));
        world.forwarder.try_client()?.faces().ok()
    });
    assert!(client.expect("a connection is taken").len() <= 12);
    drop(strangers);
    while world.b.receive(SECOND / 5).is_some() {}
    check_traffic(&mut world, "faces");
}

/// Sends Interests at a steady rate for a time. Returns the number of received Data.
fn steady(peer: &mut Peer, prefix: &str, per_second: u64, lasts: Duration, class: ServiceClass) -> u64 {
    let (start, mut sent, mut got) = (now(), 0, 0);
    while start.elapsed() < lasts {
        let due = (start.elapsed().as_micros() as u64 * per_second) / 1_000_000;
        while sent < due {
            peer.ask(&name(&format!("{prefix}/{sent}")), 1000, Some(class));
            sent += 1;
        }
        got += u64::from(peer.receive(Duration::from_millis(1)).is_some_and(|frame| frame.is_data()));
    }
    while peer.receive(Duration::from_millis(300)).is_some_and(|frame| frame.is_data()) {
        got += 1;
    }
    got
}

/// A link of 8 Mb/s carries 1000 Data of 1 kB a second. Another prefix of the same class has 300 of them a second, less than
/// half, which is its own share. A flood of 10 000 Interests a second requests names without Data.
#[test]
fn a_flood_of_interests_leaves_another_prefix_its_rate_and_tables_their_bounds() {
    let (alone, beside) = beside_a_flood("flood", "qsccp", "", &["/video", "/flood"], (10_000, ""));
    assert!(beside * 10 >= alone * 9, "{beside} Data beside the flood, {alone} without");
}

/// The same flood if both prefixes are one flow, which only their faces distinguish.
#[test]
fn a_flood_over_the_only_route_leaves_another_application_its_answers() {
    let (alone, beside) = beside_a_flood("one-route", "qsccp", "", &["/"], (10_000, ""));
    assert!(beside * 20 >= alone * 19, "{beside} Data beside the flood, {alone} without");
}

/// The same under Sluice. No node signals the rate of the link that brings the Data.
#[test]
fn a_flood_over_the_only_route_leaves_another_application_its_answers_under_sluice() {
    let (alone, beside) = beside_a_flood("one-route-sluice", "sluice", "", &["/"], (10_000, ""));
    assert!(beside * 20 >= alone * 19, "{beside} Data beside the flood, {alone} without");
}

/// The same flood with 3000 new flows a second.
#[test]
fn flows_without_end_leave_another_application_its_answers() {
    let (alone, beside) =
        beside_a_flood("endless", "qsccp", "[scheme.qsccp]\nflow_prefix = 2\n", &["/"], (3000, "/0"));
    assert!(beside * 20 >= alone * 19, "{beside} Data beside the flood, {alone} without");
}

/// The number of Data that an application gets in three seconds of 300 Interests each, first alone and then beside another
/// application's flood. Both use these routes to the second neighbour.
fn beside_a_flood(label: &str, scheme: &str, more: &str, routes: &[&str], flood: (u64, &str)) -> (u64, u64) {
    let tables = format!(
        "[scheme]\nname = \"{scheme}\"\n{more}[tables]\npit_bytes = \"6 MB\"\ncontent_store_packets = 0\n"
    );
    let world = world(label, &tables, "rate = \"8 Mb/s\"");
    let World { forwarder, b, a: _a, _folder } = world;
    let mut client = forwarder.client();
    // The neighbour has `/video`, but not `/flood`.
    let face = neighbours(&forwarder)[1].number;
    for prefix in routes {
        let route =
            ControlParameters { name: Some(name(prefix)), face: Some(face), ..ControlParameters::default() };
        client.command(weir_management::Module::Rib, "register", &route).unwrap();
    }
    let producer = Video::start(b);
    let mut consumer = forwarder.connect();
    let lasts = Duration::from_secs(3);
    let alone = steady(&mut consumer, "/video/alone", 300, lasts, ServiceClass::Be);
    assert!(alone > 850, "{alone} without a flood");
    let (per_second, end) = flood;
    let flood = Flood::start(forwarder.connect(), per_second, 4000, end);
    pause(SECOND);
    let beside = steady(&mut consumer, "/video/beside", 300, lasts, ServiceClass::Be);
    let pending = client.general().unwrap().pit_entries;
    let flooded = flood.stop();
    assert!(flooded > 7_000, "{flooded} Interests are no flood");
    assert!((1..=8192).contains(&pending), "{pending} pending");
    assert!(producer.flooded.load(Ordering::Relaxed) > 0, "none of the flood came through");
    producer.stop.store(true, Ordering::Relaxed);
    println!("{label}: {beside} Data beside the flood, {alone} without");
    (alone, beside)
}

/// The stranger's Interests are not answered, so they would be pending for five minutes.
#[test]
fn interests_of_long_lifetimes_fill_the_share_of_their_face_and_no_other() {
    let (_sink, address) = Peer::udp();
    let sink = format!(
        "[tables]\npit_bytes = \"1 MB\"\ncontent_store_packets = 0\n[[face]]\nname = \"sink\"\n\
         remote = \"udp4://{address}\"\n[[route]]\nprefix = \"/flood\"\nface = \"sink\"\n"
    );
    let World { forwarder, mut a, mut b, _folder } = world("lifetimes", &sink, "");
    let mut client = forwarder.client();
    // The share has room for 1358 Interests with short names, or some 150 with long ones. They are removed with their face.
    let ends = [(0, String::new(), 1300..1400), (1, "/long".repeat(6) + &"g".repeat(1000), 100..200)];
    for (round, end, room) in ends {
        let flood = Flood::start(forwarder.connect(), 20_000, 300_000, &end);
        pause(SECOND);
        let mut answered = 0;
        for n in 0..500 {
            a.ask(&name(&format!("/b/{round}/{n}")), 1000, None);
            let Some(interest) = b.receive(SECOND) else { continue };
            b.answer(&interest, 100);
            answered += u64::from(a.receive(SECOND).is_some_and(|frame| frame.is_data()));
        }
        let pending = client.general().unwrap().pit_entries;
        let flooded = flood.stop();
        assert!(flooded > 10_000, "{flooded} Interests are no flood");
        assert!(room.contains(&pending), "{pending} pending");
        assert_eq!(answered, 500, "in round {round}");
    }
}

/// A producer of `/video` that also receives Interests for `/flood`.
struct Video {
    stop: Arc<AtomicBool>,
    flooded: Arc<AtomicU64>,
}

impl Video {
    fn start(mut peer: Peer) -> Video {
        let video = Video { stop: Arc::default(), flooded: Arc::default() };
        let (stop, flooded) = (Arc::clone(&video.stop), Arc::clone(&video.flooded));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let Some(frame) = peer.receive(Duration::from_millis(20)) else { continue };
                if frame.is_interest() && frame.name().to_string().starts_with("/video") {
                    peer.answer(&frame, 900);
                } else {
                    flooded.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        video
    }
}

/// An application that requests random names with the same last component.
struct Flood {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
}

impl Flood {
    fn start(mut peer: Peer, per_second: u64, lifetime_ms: u64, end: &str) -> Flood {
        let end = end.to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (start, mut sent, mut random) = (now(), 0, Random::named(9, "flood"));
            while !told.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_micros() as u64 * per_second) / 1_000_000;
                while sent < due {
                    let asked = name(&format!("/flood/{:x}{end}", random.next_u64()));
                    peer.ask(&asked, lifetime_ms, Some(ServiceClass::Be));
                    sent += 1;
                }
                // Nacks come back, and must be read.
                while peer.receive(Duration::from_millis(1)).is_some() {}
            }
            sent
        });
        Flood { stop, thread }
    }

    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Names with equal hashes would make every look-up a search. The key of the hash is random, and differs from start to start; so
/// do the tokens and nonces.
#[test]
fn the_key_of_names_hashes_differs_from_start_to_start() {
    let seed = |label: &str| {
        let folder = Folder::new(label);
        let file = folder.path("inputs");
        let forwarder = Running::start(&folder, &format!("[record]\npath = \"{}\"\n", file.display()));
        forwarder.stop();
        let file = fs::read(file).unwrap();
        weir_forwarder::record::Recording::read(&file).unwrap().header.seed
    };
    assert_ne!(seed("seed-1"), seed("seed-2"));
}

#[test]
fn a_face_that_goes_down_and_comes_back_has_its_traffic_again() {
    let mut world = world("back", "", "");
    check_traffic(&mut world, "before");
    let mut client = world.forwarder.client();
    let mut lists = Vec::new();
    for round in 0..3 {
        // An application whose route is removed during its traffic and registered again.
        let application = world.forwarder.connect();
        let producer = Producer::start(registered(application, round), 100, 0);
        let mut consumer = world.forwarder.connect();
        let got = steady(&mut consumer, &format!("/app/{round}"), 100, SECOND / 2, ServiceClass::Be);
        assert!(got > 30, "{got} in round {round}");
        drop(producer.stop());
        consumer.ask(&name("/app/gone"), 200, None);
        while consumer.receive(Duration::from_millis(300)).is_some() {}
        lists.push(client.faces().unwrap().len());
    }
    assert!(lists.iter().all(|faces| *faces <= 8), "{lists:?}");
    check_traffic(&mut world, "after");
}

/// An application that has registered `/app`.
fn registered(mut application: Peer, round: u32) -> Peer {
    application.send(&register("/localhost/nfd", "/app", 1000 + round, true));
    assert_eq!(code(&application.receive(5 * SECOND).unwrap()), 200);
    application
}

/// A neighbour that is not a next hop, an application and a downstream may send any Data.
#[test]
fn data_count_only_from_whom_was_asked_and_others_reach_neither_consumer_nor_store() {
    let mut world = world("unasked", "", "");
    let (mut stranger, _) = Peer::udp();
    stranger.know(world.forwarder.udp);
    let (mut consumer, mut application) = (world.forwarder.connect(), world.forwarder.connect());
    for round in 0..20 {
        let asked = name(&format!("/b/unasked/{round}"));
        consumer.ask(&asked, 4000, None);
        let interest = world.b.receive(5 * SECOND).expect("it goes on to the next hop");
        let forged = data(&asked, 666);
        // The header also has the token of the next hop's Interest, in case it could be guessed.
        let mut header = interest.header;
        header.set_nack(None);
        for from in [&mut stranger, &mut application, &mut world.a] {
            from.send(&forged);
            from.send(&LpPacket::new(header, &forged).to_vec());
        }
        // Frames of a face are handled in order, and these are handled before the answer of the next hop.
        for (who, from) in [("application", &mut application), ("a", &mut world.a)] {
            nothing_else_comes(from, &mut world.b, &format!("{who}/{round}"));
            assert!(from.receive(5 * SECOND).expect("it is answered").is_data());
        }
        world.b.answer(&interest, 100);
        let got = consumer.receive(5 * SECOND).expect("the true Data come");
        assert_eq!((got.name(), got.packet.len()), (asked.clone(), data(&asked, 100).len()));
        // From the content store.
        application.ask(&asked, 4000, None);
        assert_eq!(application.receive(5 * SECOND).expect("it is stored").packet, got.packet);
    }
    let [a, b] = neighbours(&world.forwarder);
    assert_eq!((a.counters.in_data, b.counters.in_data), (40, 60), "what came is counted, taken or not");
}

/// QSCCP reports to a consumer the total rate of its next hops.
#[test]
fn rates_are_not_learned_from_data_that_nobody_asked_for() {
    const TARGET_RATE: Signal = Signal::new(908, "TargetRate", 64, "bit/s");
    const LINK: u64 = 10_000_000;
    let mut world = world("rates", "[scheme]\nname = \"qsccp\"\n", "rate = \"10 Mb/s\"");
    let (mut stranger, _) = Peer::udp();
    stranger.know(world.forwarder.udp);
    let mut consumer = world.forwarder.connect();
    let mut told = |is_attacked: bool, round: u64| {
        let asked = name(&format!("/b/rates/{is_attacked}/{round}"));
        consumer.ask(&asked, 4000, None);
        let interest = world.b.receive(5 * SECOND).expect("it goes on to the next hop");
        if is_attacked {
            let mut header = LpHeader::NONE;
            header.signals.set(&TARGET_RATE, 50 * LINK);
            let forged = LpPacket::new(header, &data(&asked, 1000)).to_vec();
            stranger.send(&forged);
            world.a.send(&forged);
            pause(Duration::from_millis(1));
        }
        world.b.answer(&interest, 1000);
        let got = consumer.receive(5 * SECOND).expect("Data come");
        got.header.signals.value(&TARGET_RATE).expect("QSCCP tells the consumer its rate")
    };
    // The rate for a new flow grows every 100 ms.
    let mut first = (0..500).map(|round| {
        pause(Duration::from_millis(5));
        told(false, 1000 + round)
    });
    let before = first.find(|rate| *rate >= LINK / 2).expect("it grows to the link's");
    let attacked = (0..200).map(|round| told(true, round)).max().unwrap_or_default();
    let after = (50..100).map(|round| told(false, round)).max().unwrap_or_default();
    for rate in [before, attacked, after] {
        assert!((LINK / 2..=LINK).contains(&rate), "{before}, {attacked} and {after} bit/s");
    }
}

/// The forwarder does not know the user of an application on UDP.
#[test]
fn an_application_on_the_loopback_address_may_register_and_nothing_else() {
    let world = world("loopback", "", "");
    let [a, _] = neighbours(&world.forwarder);
    let (mut stranger, _) = Peer::udp();
    stranger.know(world.forwarder.udp);
    let mut nonce = 0;
    let mut code_of = |verb: &str, parameters: &ControlParameters| {
        nonce += 1;
        stranger.send(&command(verb, parameters, nonce));
        code(&stranger.receive(5 * SECOND).unwrap_or_else(|| panic!("no answer to {verb}")))
    };
    let none = ControlParameters::default;
    let prefix = |uri: &str| ControlParameters { name: Some(name(uri)), ..none() };
    assert_eq!(code_of("faces/destroy", &ControlParameters { face: Some(a.number), ..none() }), 403);
    assert_eq!(code_of("cs/config", &ControlParameters { capacity: Some(0), ..none() }), 403);
    assert_eq!(code_of("rib/register", &prefix("/")), 403);
    assert_eq!(code_of("rib/register", &prefix("/a")), 403, "the file has a route there");
    assert_eq!(
        code_of("rib/register", &prefix("/a/below")),
        200,
        "below, an application of this host answers"
    );
    assert_eq!(code_of("rib/register", &prefix("/stranger")), 200);
    let mut client = world.forwarder.client();
    assert!(client.cs_info().unwrap().capacity > 0);
    assert!(client.faces().unwrap().iter().any(|face| face.status.number == a.number));
    assert!(has_route(&world.forwarder, "/stranger"));
    // The forwarder's own user has rights on the Unix socket.
    let destroyed = ControlParameters { face: Some(a.number), ..none() };
    client.command(weir_management::Module::Faces, "destroy", &destroyed).unwrap();
    assert!(client.faces().unwrap().iter().all(|face| face.status.number != a.number));
}

fn command(verb: &str, parameters: &ControlParameters, nonce: u32) -> Vec<u8> {
    let mut encoded = Vec::new();
    parameters.encode(&mut encoded);
    let command = name(&format!("/localhost/nfd/{verb}")).with(Component::generic(&encoded));
    let bare = Interest { nonce: Some(nonce), must_be_fresh: true, ..Interest::new(command.view()) };
    sign(&bare, &Signer::digest(), SignatureInfo::new(SignatureType::DigestSha256))
}
