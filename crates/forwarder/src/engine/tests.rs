//! Tests of the engine with scripted sockets.

mod next_hops;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use mio::{Poll, Registry};
use weir_packet::signal::{CAPACITY, types};
use weir_packet::{
    Data, Interest, LpHeader, LpPacket, NackReason, Name, ServiceClass, Signal, SignatureInfo, SignatureType,
};

use super::*;
use crate::config::{Config, Switching};
use crate::control::{ApplicationRights, Control, ControlError, Owner};
use weir_core::units::Rate;
use weir_management::OWN_MTU;
use weir_management::status::{
    FaceChange, FaceEventKind, FaceFlags, FaceNumber, FaceRequest, FaceScope, LinkType,
};
use weir_net::link_service::Repair;
use weir_net::outside::{Datagrams, System};
use weir_net::secrets::Secrets;
use weir_net::transport::udp::{self, Batch};
use weir_net::transport::{Listener, Peer, Sent, Transport, Uris};
use weir_net::uri::FaceUri;
use weir_net::user::{Rights, User};

/// The behaviour of a scripted socket, and the frames written to it.
struct Script {
    incoming: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    link_type: LinkType,
    scope: FaceScope,
    user: Option<User>,
    /// Sending fails.
    fails: bool,
    /// The peer does not read.
    is_stuck: bool,
    /// The transport answers each frame, as WebSocket answers a ping.
    answers: bool,
    is_connected: bool,
}

impl Default for Script {
    fn default() -> Script {
        Script {
            incoming: VecDeque::new(),
            sent: Vec::new(),
            link_type: LinkType::PointToPoint,
            scope: FaceScope::NonLocal,
            user: None,
            fails: false,
            is_stuck: false,
            answers: false,
            is_connected: true,
        }
    }
}

struct Scripted(Rc<RefCell<Script>>);

impl Transport for Scripted {
    fn register(&mut self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        for _ in 0..budget {
            let Some(frame) = self.0.borrow_mut().incoming.pop_front() else { break };
            each(0, &frame);
            let mut script = self.0.borrow_mut();
            if script.answers {
                script.sent.push(vec![0; 100]);
            }
        }
        Ok(Received::Drained)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if self.0.borrow().fails {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.0.borrow_mut().sent.push(frame.to_vec());
        Ok(Sent::Taken)
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        Ok(Flushed::Done)
    }

    fn is_connected(&self) -> bool {
        self.0.borrow().is_connected
    }

    fn waiting(&self) -> usize {
        let script = self.0.borrow();
        if script.is_stuck { script.sent.iter().map(Vec::len).sum() } else { 0 }
    }

    fn mtu(&self) -> Option<usize> {
        None
    }

    fn uris(&self) -> Uris<'_> {
        Uris { remote: "tcp4://192.0.2.9:6363", local: "tcp4://192.0.2.1:6363" }
    }

    fn scope(&self) -> FaceScope {
        self.0.borrow().scope
    }

    fn user(&self) -> Option<User> {
        self.0.borrow().user
    }

    fn link_type(&self) -> LinkType {
        self.0.borrow().link_type
    }
}

fn engine(text: &str) -> Engine {
    engine_with(text, Secrets::fixed(1))
}

fn engine_with(text: &str, secrets: Secrets) -> Engine {
    let config = Config::parse(text, "test").unwrap();
    let poll = Poll::new().unwrap();
    let limits = Limits {
        faces: config.tables.faces,
        fib_entries: 100,
        send_buffer_bytes: 1 << 20,
        reassembly_bytes: 1 << 20,
    };
    let registry = poll.registry().try_clone().unwrap();
    Engine::new(Box::new(System::new(registry)), WireNode::new(&config, 1, secrets), config.faces, limits)
}

/// Adds a face on a scripted socket.
fn add(engine: &mut Engine, script: Script) -> (FaceSlot, Rc<RefCell<Script>>) {
    let script = Rc::new(RefCell::new(script));
    let slot = engine.faces.next_slot();
    engine.add_accepted(Box::new(Scripted(Rc::clone(&script))));
    (slot, script)
}

/// Delivers a frame, and runs all actions that follow.
fn come(engine: &mut Engine, slot: FaceSlot, script: &Rc<RefCell<Script>>, frame: Vec<u8>) {
    script.borrow_mut().incoming.push_back(frame);
    engine.ready(EventSource::Face(slot).token());
    engine.end();
}

fn face(engine: &Engine, slot: FaceSlot) -> &Face {
    engine.faces.get(slot).unwrap()
}

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn interest(uri: &str, nonce: u32) -> Vec<u8> {
    Interest { nonce: Some(nonce), ..Interest::new(name(uri).view()) }.to_vec()
}

fn nack(interest: &[u8]) -> Vec<u8> {
    LpPacket::new(LpHeader::with_nack(NackReason::NoRoute), interest).to_vec()
}

fn is_nack(frame: &[u8]) -> bool {
    LpPacket::decode(frame).unwrap().header.nack().is_some()
}

#[test]
fn a_full_table_of_strategies_takes_another_one_for_a_prefix_that_is_in_it() {
    let mut engine = engine("");
    let strategy = engine.strategies()[0].strategy.clone();
    let most = engine.limits.fib_entries;
    // One entry is that of the empty prefix.
    for number in 1..most {
        engine.set_strategy(&name(&format!("/{number}")), &strategy).unwrap();
    }
    let full = Err(ControlError::Full("table of strategies"));
    assert_eq!(engine.set_strategy(&name("/new"), &strategy), full);
    for prefix in ["/", "/1"] {
        assert_eq!(engine.set_strategy(&name(prefix), &strategy), Ok(strategy.clone()));
    }
    assert_eq!(engine.strategies().len(), most);
}

#[test]
fn nacks_neither_come_nor_go_on_links_with_several_neighbours() {
    for (link_type, passes) in [(LinkType::PointToPoint, true), (LinkType::MultiAccess, false)] {
        let mut engine = engine("");
        let (consumer, asks) = add(&mut engine, Script::default());
        let (group, heard) = add(&mut engine, Script { link_type, ..Script::default() });
        let hop = face(&engine, group).number;
        engine.add_next_hop(&name("/a"), hop, 0).unwrap();
        // One member of the group has no route, but another may have the Data.
        let asked = interest("/a/1", 1);
        come(&mut engine, consumer, &asks, asked.clone());
        assert_eq!(heard.borrow().sent.len(), 1);
        come(&mut engine, group, &heard, nack(&asked));
        assert_eq!(asks.borrow().sent.iter().any(|frame| is_nack(frame)), passes);
        let counters = face(&engine, group).counters;
        assert_eq!((counters.in_nacks, counters.in_malformed), if passes { (1, 0) } else { (0, 1) });
        // The group gets no Nack from us either.
        come(&mut engine, group, &heard, interest("/b/1", 2));
        assert_eq!(heard.borrow().sent.iter().any(|frame| is_nack(frame)), passes);
        let counters = face(&engine, group).counters;
        assert_eq!((counters.out_nacks, counters.out_dropped), if passes { (1, 0) } else { (0, 1) });
    }
}

#[test]
fn what_the_queue_of_a_face_drops_is_counted_at_the_face_and_what_is_refused_is_not() {
    let mut engine = engine("[faces.tcp]\nlisten = []\nrate = \"8 kb/s\"\nqueue = 1\n");
    let (consumer, asks) = add(&mut engine, Script::default());
    let (producer, _) = add(&mut engine, Script::default());
    let hop = face(&engine, producer).number;
    engine.add_next_hop(&name("/a"), hop, 0).unwrap();
    for nonce in 1..=4 {
        come(&mut engine, consumer, &asks, interest(&format!("/a/{nonce}"), nonce));
    }
    // One leaves and one waits.
    assert_eq!(face(&engine, producer).counters.out_dropped, 2);
    // Unsolicited Data: no Interest left by this face.
    let (name, info) = (name("/a/9"), SignatureInfo::new(SignatureType::DigestSha256));
    come(&mut engine, consumer, &asks, Data::new(name.view(), b"", info).to_vec());
    assert_eq!(face(&engine, consumer).counters.out_dropped, 0);
}

#[test]
fn what_is_due_soon_after_a_round_waits_for_more_and_what_is_due_later_does_not() {
    let mut engine = engine("[faces.tcp]\nlisten = []\nrate = \"8 kb/s\"\n");
    let (consumer, asks) = add(&mut engine, Script::default());
    let (producer, _) = add(&mut engine, Script::default());
    let hop = face(&engine, producer).number;
    engine.add_next_hop(&name("/a"), hop, 0).unwrap();
    for nonce in 1..=2 {
        come(&mut engine, consumer, &asks, interest(&format!("/a/{nonce}"), nonce));
    }
    // The second one leaves after the first.
    let due = engine.node.next_deadline();
    for (before, late) in [(1000, 0), (51, 0), (50, 0), (30, 20), (1, 49)].map(|(a, b)| (us(a), us(b))) {
        engine.clock = due - before;
        assert_eq!(engine.next_deadline(), due + late);
    }
}

#[test]
fn what_a_link_carries_in_50_us_leaves_at_once_and_the_rest_at_its_rate() {
    let text = "[scheme]\nname = \"fixed\"\n[faces.tcp]\nlisten = []\nrate = \"10 Mb/s\"\nqueue = 100\n";
    let mut engine = engine(text);
    let (consumer, asks) = add(&mut engine, Script::default());
    let (producer, asked) = add(&mut engine, Script::default());
    let hop = face(&engine, producer).number;
    engine.add_next_hop(&name("/a"), hop, 0).unwrap();
    let began = engine.outside.now();
    let interests = (1..=60).map(|nonce| interest(&format!("/a/{nonce}"), nonce));
    asks.borrow_mut().incoming.extend(interests);
    engine.ready(EventSource::Face(consumer).token());
    engine.end();
    assert!(asked.borrow().sent.len() > 2);
    loop {
        assert!(engine.now >= engine.clock && engine.now <= engine.clock + AHEAD);
        let sent: Vec<u64> = asked.borrow().sent.iter().map(|frame| 8 * frame.len() as u64).collect();
        let before_the_last = sent.iter().sum::<u64>() - sent[sent.len() - 1];
        assert!(before_the_last <= Rate::from_mbps(10).bits_in(engine.clock - began + AHEAD));
        if engine.queued_packets() == 0 {
            break assert_eq!(sent.len(), 60);
        }
        assert!(engine.node.next_deadline() > engine.clock + AHEAD, "more could leave");
        engine.end();
    }
}

fn us(us: u64) -> Span {
    Span::from_micros(us)
}

#[test]
fn what_becomes_due_during_a_round_leaves_at_its_end() {
    let mut engine = engine("[faces.tcp]\nlisten = []\nrate = \"100 kb/s\"\n");
    let (consumer, asks) = add(&mut engine, Script::default());
    let (producer, asked) = add(&mut engine, Script::default());
    let hop = face(&engine, producer).number;
    engine.add_next_hop(&name("/a"), hop, 0).unwrap();
    for nonce in 1..=2 {
        asks.borrow_mut().incoming.push_back(interest(&format!("/a/{nonce}"), nonce));
    }
    engine.ready(EventSource::Face(consumer).token());
    assert_eq!(asked.borrow().sent.len(), 1, "the second waits for the first");
    let due = engine.node.next_deadline();
    while engine.outside.now() < due {}
    engine.end();
    assert_eq!(asked.borrow().sent.len(), 2);
}

/// A datagram from a stranger's address.
fn datagram(engine: &mut Engine, host: u8, frame: &[u8]) -> Option<FaceSlot> {
    let source = Source { from: ([192, 0, 2, host], 6363).into(), to: None };
    let slot = engine.udp_face(0, ([192, 0, 2, 1], 6363).into(), source, frame);
    if let Some(slot) = slot {
        engine.receive(slot, 0, frame);
        engine.perform();
    }
    slot
}

/// The class of the forwarded Interest of an Interest in EF, and whether it keeps signals that only routers set.
fn believed(engine: &mut Engine, slot: FaceSlot, nonce: u32) -> (ServiceClass, bool) {
    let (upstream, sent) = add(engine, Script::default());
    let hop = face(engine, upstream).number;
    let prefix = format!("/believed/{nonce}");
    engine.add_next_hop(&name(&prefix), hop, 0).unwrap();
    let mut header = LpHeader::NONE;
    header.signals.set(&Signal::SERVICE_CLASS, ServiceClass::Ef as u64);
    header.signals.set_type(DOWNSTREAM_RATE, 1_000_000);
    engine.receive(slot, 0, &LpPacket::new(header, &interest(&prefix, nonce)).to_vec());
    engine.perform();
    let sent = sent.borrow();
    let signals = LpPacket::decode(&sent.sent[0]).unwrap().header.signals;
    let class = signals.value(&Signal::SERVICE_CLASS).map_or(ServiceClass::Be, ServiceClass::from_value);
    (class, signals.iter().any(|(typ, _)| typ == DOWNSTREAM_RATE))
}

const DOWNSTREAM_RATE: u32 = 904;

#[test]
fn a_neighbour_that_sends_every_signal_keeps_out_none_of_the_nodes_own() {
    let mut engine = engine("[scheme]\nname = \"qsccp\"\n");
    let (downstream, _) = add(&mut engine, Script::default());
    let number = face(&engine, downstream).number;
    engine.change_options(number, FacePersistency::Permanent, &crate::config::FaceOptions::default());
    let (upstream, sent) = add(&mut engine, Script::default());
    let hop = face(&engine, upstream).number;
    engine.add_next_hop(&name("/full"), hop, 0).unwrap();
    // An LpPacket with a byte of each signal, and an Interest: the encoder has no room for so many.
    let interest = interest("/full", 1);
    let fields = types().flat_map(|typ| [0xFD, (typ >> 8) as u8, typ as u8, 1, 0]);
    let value: Vec<u8> = fields.chain([80, interest.len() as u8]).chain(interest).collect();
    let frame: Vec<u8> = [100, value.len() as u8].into_iter().chain(value).collect();
    engine.receive(downstream, 0, &frame);
    engine.perform();
    let sent = LpPacket::decode(&sent.borrow().sent[0]).unwrap().header.signals;
    let sent: Vec<u32> = sent.iter().map(|(typ, _)| typ).collect();
    let own = Signal::COMMON.iter().chain(weir_schemes::registry::find("qsccp").unwrap().signals);
    let on_data = 908;
    assert!(own.map(Signal::type_number).all(|typ| typ == on_data || sent.contains(&typ)), "{sent:?}");
    let known = weir_schemes::registry::signals();
    let is_known = |typ: &u32| known.iter().any(|(signal, _)| signal.type_number() == *typ);
    assert!(sent.iter().all(is_known), "{sent:?}");
    assert_eq!(sent.len(), CAPACITY, "{sent:?}");
}

#[test]
fn neighbours_of_the_file_and_applications_with_rights_are_believed_and_others_are_not() {
    let mut engine = engine("");
    let own = User { uid: 7, gid: 7 };
    let mut users = Rights::own();
    users.add_user("7").unwrap();
    engine.rights = ApplicationRights { users, loopback: false };
    let (yes, no) = ((ServiceClass::Ef, true), (ServiceClass::Be, false));
    let local = |user| Script { scope: FaceScope::Local, user, ..Script::default() };
    let scripts = [
        (Script::default(), no, Owner::Neighbour),
        (local(Some(own)), yes, Owner::Privileged),
        (local(Some(User { uid: 8, gid: 7 })), no, Owner::User(8)),
        (local(None), no, Owner::Anybody),
    ];
    for (nonce, (script, expected, owner)) in (1..).zip(scripts) {
        let (slot, _) = add(&mut engine, script);
        assert_eq!((believed(&mut engine, slot, nonce), face(&engine, slot).owner), (expected, owner));
        let remarked = engine.status_at(slot).unwrap().counters.in_remarked;
        assert_eq!(remarked, u64::from(expected == no));
    }
    let peer = datagram(&mut engine, 9, &interest("/a", 10)).unwrap();
    assert_eq!(believed(&mut engine, peer, 11), no);
    let options = crate::config::FaceOptions::default();
    let neighbour: FaceUri = "udp4://192.0.2.77:6363".parse().unwrap();
    let slot = engine.open(&neighbour, None, FacePersistency::Permanent, options, false, None).unwrap();
    assert_eq!(believed(&mut engine, slot, 12), yes);
    // The file now contains a peer that sent packets before.
    let number = face(&engine, peer).number;
    engine.change_options(number, FacePersistency::Permanent, &options);
    assert_eq!(believed(&mut engine, peer, 13), yes);
    let before = engine.totals().in_remarked;
    engine.close(peer);
    assert_eq!((before, engine.totals().in_remarked), (4, 4), "of faces that are gone too");
    engine.rights.loopback = true;
    let (slot, _) = add(&mut engine, local(None));
    assert_eq!(believed(&mut engine, slot, 14), yes);
}

#[test]
fn the_file_says_who_is_believed_and_what_becomes_of_classes() {
    let class = |text: &str, of_file: bool| {
        let mut engine = engine(text);
        let slot = match of_file {
            true => {
                let options = engine.config.udp.options;
                let uri: FaceUri = "udp4://192.0.2.77:6363".parse().unwrap();
                engine.open(&uri, None, FacePersistency::Permanent, options, false, None).unwrap()
            }
            false => datagram(&mut engine, 9, &interest("/a", 10)).unwrap(),
        };
        believed(&mut engine, slot, 1)
    };
    assert_eq!(class("[faces.udp]\ntrust = \"all\"\n", false), (ServiceClass::Ef, true));
    assert_eq!(class("[faces.udp]\ntrust = \"none\"\n", true), (ServiceClass::Be, false));
    let remark = "[faces.udp]\nclasses = { EF = \"AF1\" }\n";
    assert_eq!(class(remark, false), (ServiceClass::Af1, false));
    assert_eq!(class(remark, true), (ServiceClass::Af1, true));
    let keep = "[faces.udp.classes]\nEF = \"keep\"\n";
    assert_eq!(class(keep, false), (ServiceClass::Ef, false));
}

#[test]
fn peers_of_a_network_of_the_file_get_frames_as_long_as_it_says() {
    let mut engine =
        engine("[faces.udp]\nmtu = \"1300 B\"\nmtu_by_network = { \"192.0.2.8/30\" = \"8800 B\" }\n");
    let [inside, outside] =
        [9, 12].map(|host| datagram(&mut engine, host, &interest("/a", host.into())).unwrap());
    assert_eq!([inside, outside].map(|slot| face(&engine, slot).mtu()), [Some(8800), Some(1300)]);
    // Requested faces have their own key.
    let options = engine.config.options(crate::config::FaceKind::Udp);
    let neighbour: FaceUri = "udp4://192.0.2.10:6363".parse().unwrap();
    let slot = engine.open(&neighbour, None, FacePersistency::Permanent, options, false, None).unwrap();
    assert_eq!(face(&engine, slot).mtu(), Some(1300));
}

#[test]
fn the_mtu_that_the_file_or_management_gives_a_face_can_be_taken_back() {
    let mut engine = engine("[faces.udp]\nmtu = \"1300 B\"\n");
    let peer = datagram(&mut engine, 9, &interest("/a", 1)).unwrap();
    let (number, own) = (face(&engine, peer).number, face(&engine, peer).own_mtu.map(|mtu| mtu as u64));
    let mut mtu = |asked| {
        let change = FaceChange { mtu: Some(asked), ..FaceChange::default() };
        engine.update_face(number, &change).map(|changed| changed.mtu)
    };
    assert_eq!(mtu(OWN_MTU), Ok(own), "of the file");
    assert_eq!((mtu(1000), mtu(OWN_MTU)), (Ok(Some(1000)), Ok(own)), "of management");
    assert_eq!(mtu(1 << 40), Ok(Some(8800)), "a large one is one");
    assert!(mtu(1).is_err() && own.is_some_and(|own| own >= 1200));
}

#[test]
fn a_datagram_without_a_packet_makes_no_face() {
    let mut engine = engine("");
    let faces = engine.faces.len();
    let piece = LpPacket {
        link: weir_packet::lp::LinkHeader { sequence: Some(1), frag_count: 2, ..Default::default() },
        ..LpPacket::new(LpHeader::NONE, b"piece")
    };
    for nothing in [&b"GET /"[..], &[5, 0], &[0x64, 0], &[0x64, 2, 0x50, 0], &[]] {
        assert_eq!(datagram(&mut engine, 7, nothing), None, "{nothing:?}");
    }
    assert_eq!((engine.faces.len(), engine.totals().in_malformed), (faces, 5));
    assert!(datagram(&mut engine, 7, &interest("/a", 1)).is_some());
    assert!(datagram(&mut engine, 8, &piece.to_vec()).is_some());
    assert_eq!(engine.faces.len(), faces + 2);
}

#[test]
fn strangers_neither_lock_others_out_nor_each_other() {
    let mut engine = engine("[tables]\nfaces = 16\n");
    let at = |seconds: u64| Time::ZERO + Span::from_secs(100 + seconds);
    engine.now = at(0);
    let made = (1..=20).filter(|host| datagram(&mut engine, *host, &interest("/a", 1)).is_some()).count();
    assert_eq!((made, engine.faces.len()), (13, 14), "management has a face too");
    // The rest is for applications of this host, and for a requested neighbour.
    engine.now = at(1);
    let (slot, _) = add(&mut engine, Script { scope: FaceScope::Local, ..Script::default() });
    assert_eq!(face(&engine, slot).scope, FaceScope::Local);
    // An active peer stays; a peer that has been silent for long is replaced.
    engine.now = at(3);
    let first = datagram(&mut engine, 1, &interest("/a", 2)).expect("it has a face");
    let number = face(&engine, first).number;
    assert_eq!(datagram(&mut engine, 50, &interest("/a", 1)), None, "all have spoken just now");
    engine.now = at(5);
    let new = (50..=99).filter(|host| datagram(&mut engine, *host, &interest("/a", 1)).is_some()).count();
    assert_eq!(new, 13 - 1);
    assert_eq!(engine.faces.of_number(number), Some(first));
    assert!(engine.faces.len() <= 15);
}

#[test]
fn connections_of_one_address_that_say_nothing_shut_nobody_out() {
    let mut engine = engine("[tables]\nfaces = 16\n");
    let none = engine.faces.len();
    let connect = |engine: &mut Engine| drop(add(engine, Script::default()));
    (0..20).for_each(|_| connect(&mut engine));
    assert_eq!(engine.faces.len(), none + 4, "a quarter is for one origin");
    let made = (1..=8).filter(|host| datagram(&mut engine, *host, &interest("/a", 1)).is_some()).count();
    assert_eq!(made, 8, "others have theirs");
    // A later peer from that address replaces an earlier one.
    engine.now = Time::ZERO + Span::from_secs(100);
    let numbers =
        |engine: &Engine| -> Vec<FaceNumber> { engine.faces.iter().map(|(_, face)| face.number).collect() };
    let before = numbers(&engine);
    connect(&mut engine);
    let mut after = numbers(&engine);
    assert_eq!(after.len(), none + 12);
    after.retain(|number| !before.contains(number));
    assert_eq!(after.len(), 1, "it has a face");
    let on_udp = engine.faces.iter().filter(|(_, face)| matches!(face.channel, Channel::Udp(_))).count();
    assert_eq!(on_udp, 8, "nobody else had to go");
}

#[test]
fn applications_without_rights_shut_nobody_out() {
    let mut engine = engine("[tables]\nfaces = 32\n");
    let none = engine.faces.len();
    for user in [None, Some(1), Some(2), Some(3), Some(4)] {
        for _ in 0..40 {
            let user = user.map(|uid| User { uid, gid: uid });
            add(&mut engine, Script { scope: FaceScope::Local, user, ..Script::default() });
        }
    }
    assert_eq!(engine.faces.len(), none + 16, "half of the faces");
    let (connections, from, why) = engine.refused.take().expect("some were refused");
    assert_eq!((connections, from, engine.refused.take()), (200 - 16, None, None));
    assert_eq!(why, "one origin may have 8 of 32 faces");
    let user = Some(User { uid: 5, gid: 5 });
    for _ in 0..2 {
        add(&mut engine, Script { scope: FaceScope::Local, user, ..Script::default() });
    }
    let (connections, from, why) = engine.refused.take().expect("some were refused");
    assert_eq!((connections, from.unwrap().to_string().as_str()), (2, "user 5"));
    assert_eq!(why, "applications without rights may have 16 of 32 faces");
    // Neighbours may have a quarter of the rest, and applications with rights all that is left.
    let made = (1..=30).filter(|host| datagram(&mut engine, *host, &interest("/a", 1)).is_some()).count();
    assert_eq!(made, 32 - 32 / 8 - 16 - none);
    let rights = Some(User { uid: 0, gid: 0 });
    for _ in 0..10 {
        add(&mut engine, Script { scope: FaceScope::Local, user: rights, ..Script::default() });
    }
    assert_eq!(engine.faces.len(), 32);
}

#[test]
fn management_answers_so_many_in_a_round_and_faces_take_turns() {
    let mut engine = engine("");
    engine.add_next_hop(&name("/localhost/nfd"), 1, 0).unwrap();
    let users = [None, Some(1), Some(0)].map(|uid| uid.map(|uid| User { uid, gid: uid }));
    let [(one, many), (other, few), (root, all)] =
        users.map(|user| add(&mut engine, Script { scope: FaceScope::Local, user, ..Script::default() }));
    let numbers = [one, other, root].map(|slot| face(&engine, slot).number);
    let long = "x".repeat(8000);
    for nonce in 0..200 {
        come(&mut engine, one, &many, interest(&format!("/localhost/nfd/{long}/{nonce}"), nonce));
    }
    for nonce in 200..220 {
        come(&mut engine, other, &few, interest(&format!("/localhost/nfd/other/{nonce}"), nonce));
        come(&mut engine, root, &all, interest(&format!("/localhost/nfd/by-root/{nonce}"), nonce));
    }
    let dropped = face(&engine, engine.faces.of_number(1).unwrap()).counters.out_dropped;
    assert!(
        (80..100).contains(&dropped),
        "a megabyte waits with what is kept of each, {dropped} were dropped"
    );
    let taken = |engine: &mut Engine| {
        let taken = engine.inbox.take_interests();
        numbers.map(|number| taken.iter().filter(|interest| interest.incoming.number == number).count())
    };
    assert_eq!(taken(&mut engine), [4, 4, 20]);
    assert_eq!(engine.next_deadline(), engine.now, "others wait");
    engine.close(one);
    assert_eq!([(); 3].map(|()| taken(&mut engine)), [[0, 8, 0], [0, 8, 0], [0, 0, 0]]);
    assert!(engine.next_deadline() > engine.now);
}

/// Peers that connect faster than they are accepted.
struct Crowd {
    waiting: usize,
}

impl Listener for Crowd {
    fn register(&mut self, _: &Registry, _: Token) -> io::Result<()> {
        Ok(())
    }

    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>> {
        let Some(waiting) = self.waiting.checked_sub(1) else { return Ok(None) };
        self.waiting = waiting;
        if waiting % 2 == 0 {
            return Err(io::ErrorKind::Other.into());
        }
        Ok(Some(Box::new(Scripted(Rc::default()))))
    }

    fn uri(&self) -> &str {
        "tcp4://192.0.2.1:6363"
    }
}

#[test]
fn peers_that_connect_without_end_leave_others_their_turns() {
    let mut engine = engine("[tables]\nfaces = 16\n");
    let token = engine.sockets.add_listener(Box::new(Crowd { waiting: 200 }));
    engine.ready(token);
    for left in [3, 2, 1] {
        assert!(engine.round.has_unread(), "{left} more rounds");
        engine.go_on();
    }
    assert!(!engine.round.has_unread());
    assert_eq!(
        engine.refused.take().map(|(connections, ..)| connections),
        Some(200 - 4),
        "in one line of the log"
    );
}

#[test]
fn strangers_and_applications_share_by_face_and_who_was_asked_for_by_flow_unless_the_file_says_otherwise() {
    let groups = |text| {
        let mut engine = engine(text);
        let strangers = [7, 8].map(|host| datagram(&mut engine, host, &interest("/a", 1)).unwrap());
        let applications =
            [(); 2].map(|()| add(&mut engine, Script { scope: FaceScope::Local, ..Script::default() }).0);
        let remote = "udp4://192.0.2.9:6363".parse().unwrap();
        let options = engine.config.options(crate::config::FaceKind::Udp);
        let neighbour = engine.open(&remote, None, FacePersistency::Permanent, options, false, None).unwrap();
        let slots = [strangers[0], strangers[1], applications[0], applications[1], neighbour];
        slots.map(|slot| engine.node.core().group(face(&engine, slot).core).0)
    };
    assert_eq!(groups(""), [1, 2, 3, 4, 0]);
    assert_eq!(groups("[faces.udp]\nshare_by = \"flow\"\n"), [0, 0, 1, 2, 0]);
    assert_eq!(
        groups("[faces.udp]\nshare_by = \"face\"\n[faces.tcp]\nshare_by = \"flow\"\n"),
        [1, 2, 0, 0, 3]
    );
}

#[test]
fn a_failure_is_one_attempt_however_many_packets_met_it() {
    let mut engine = engine("");
    let (consumer, asks) = add(&mut engine, Script::default());
    let (hop, there) = add(&mut engine, Script::default());
    engine.faces.get_mut(hop).unwrap().persistency = FacePersistency::Permanent;
    let number = face(&engine, hop).number;
    engine.add_next_hop(&name("/a"), number, 0).unwrap();
    there.borrow_mut().fails = true;
    for nonce in 0..20 {
        asks.borrow_mut().incoming.push_back(interest(&format!("/a/{nonce}"), nonce));
    }
    engine.ready(EventSource::Face(consumer).token());
    assert_eq!(engine.round.failures(), 20);
    engine.end();
    let hop = face(&engine, hop);
    assert!(!hop.up);
    assert_eq!((hop.attempts, hop.reconnect_at.since(engine.now)), (1, Span::from_secs(1)));
}

#[test]
fn a_face_is_up_when_it_is_connected_and_another_next_hop_is_used_until_then() {
    let mut engine = engine("[[strategy]]\nprefix = \"/\"\nstrategy = \"best-route\"\n");
    let (consumer, asks) = add(&mut engine, Script::default());
    let (cheap, begun) = add(&mut engine, Script { is_connected: false, ..Script::default() });
    let (dear, there) = add(&mut engine, Script::default());
    for (slot, cost) in [(cheap, 0), (dear, 1)] {
        let number = face(&engine, slot).number;
        engine.add_next_hop(&name("/a"), number, cost).unwrap();
    }
    come(&mut engine, consumer, &asks, interest("/a/1", 1));
    assert_eq!((begun.borrow().sent.len(), there.borrow().sent.len()), (0, 1));
    assert!(!face(&engine, cheap).up);
    begun.borrow_mut().is_connected = true;
    engine.ready(EventSource::Face(cheap).token());
    assert!(face(&engine, cheap).up);
    assert_eq!(engine.inbox.notified(FaceEventKind::Up), 1);
    come(&mut engine, consumer, &asks, interest("/a/2", 2));
    assert_eq!((begun.borrow().sent.len(), there.borrow().sent.len()), (1, 1));
}

#[test]
fn a_permanent_face_that_cannot_connect_is_never_up_and_one_that_can_is() {
    let mut engine = engine("");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = FaceUri::Tcp(listener.local_addr().unwrap().into());
    let options = crate::config::FaceOptions::default();
    let slot = engine.open(&remote, None, FacePersistency::Permanent, options, false, None).unwrap();
    assert!(!face(&engine, slot).up, "it has begun to connect");
    engine.ready(EventSource::Face(slot).token());
    assert!(face(&engine, slot).up);
    drop(listener);
    for attempt in 1..=3 {
        engine.fail(slot, &io::ErrorKind::ConnectionReset.into());
        engine.reconnect(slot);
        engine.ready(EventSource::Face(slot).token());
        assert_eq!((face(&engine, slot).up, face(&engine, slot).attempts), (false, attempt));
    }
}

#[test]
fn fragments_are_forgotten_also_where_no_more_come() {
    let mut engine = engine("");
    let (slot, script) = add(&mut engine, Script::default());
    let link = weir_packet::lp::LinkHeader { sequence: Some(1), frag_count: 2, ..Default::default() };
    let piece = LpPacket { link, ..LpPacket::new(LpHeader::NONE, b"piece") };
    come(&mut engine, slot, &script, piece.to_vec());
    engine.now += timers::SWEEP;
    engine.sweep();
    assert_eq!(face(&engine, slot).link.reassembly().timed_out, 1);
}

#[test]
fn only_faces_on_udp_end_when_they_are_idle() {
    let mut engine = engine("");
    let (stream, _) = add(&mut engine, Script::default());
    let datagrams = datagram(&mut engine, 7, &interest("/a", 1)).unwrap();
    for (slot, expires) in [(stream, false), (datagrams, true)] {
        let number = face(&engine, slot).number;
        let change = FaceChange { persistency: Some(FacePersistency::OnDemand), ..FaceChange::default() };
        assert_eq!(engine.update_face(number, &change).unwrap().expires_in_ms.is_some(), expires);
    }
}

#[test]
fn a_group_on_one_interface_is_not_that_on_another() {
    let mut engine = engine("");
    let mut open = |local| {
        let group: FaceUri = "udp4://224.0.23.170:56363".parse().unwrap();
        let options = crate::config::FaceOptions::default();
        engine.open(&group, local, FacePersistency::Permanent, options, false, None)
    };
    open(Some("dev://lo")).unwrap();
    assert!(matches!(open(Some("dev://lo")), Err(ControlError::FaceExists(_))));
    let without = open(None).unwrap_err();
    assert!(
        matches!(&without, ControlError::BadUri(why) if why.contains("needs a network interface")),
        "{without}"
    );
}

#[test]
fn a_group_has_no_link_reliability() {
    let reliability = FaceFlags { reliability: true, ..FaceFlags::default() };
    let change = FaceChange { reliability: Some(true), ..FaceChange::default() };
    let mut engine = engine("");
    for (link_type, may) in [(LinkType::PointToPoint, true), (LinkType::MultiAccess, false)] {
        let (slot, _) = add(&mut engine, Script { link_type, ..Script::default() });
        let number = face(&engine, slot).number;
        let is_group =
            |result| matches!(result, Err(ControlError::BadProperties(why)) if why.contains("group"));
        assert_eq!(is_group(engine.update_face(number, &change)), !may);
        assert_eq!(face(&engine, slot).link.options().repair == Repair::On, may);
        // The options of the kind may enable it, for the kind's faces with one peer.
        let options = crate::config::FaceOptions { reliability: Switching::On, ..Default::default() };
        engine.change_options(number, FacePersistency::Permanent, &options);
        assert_eq!(face(&engine, slot).link.options().repair == Repair::On, may);
    }
    let options = crate::config::FaceOptions { reliability: Switching::On, ..Default::default() };
    let ends = [("udp4://224.0.23.170:56363", Some("dev://lo")), ("udp4://127.0.0.1:9", None)];
    for (remote, local) in ends {
        let slot =
            engine.open(&remote.parse().unwrap(), local, FacePersistency::Permanent, options, false, None);
        let is_on = face(&engine, slot.unwrap()).link.options().repair == Repair::On;
        assert_eq!(is_on, local.is_none(), "{remote}");
    }
    for remote in ["udp4://224.0.23.170:56364", "ether://[01:00:5e:00:17:aa]"] {
        let request = FaceRequest {
            remote: remote.to_owned(),
            local: Some("dev://lo".to_owned()),
            persistency: FacePersistency::Permanent,
            flags: Some(reliability),
            mtu: None,
            base_congestion_marking_interval_ns: None,
            default_congestion_threshold: None,
        };
        let refused = engine.create_face(&request);
        assert!(
            matches!(&refused, Err(ControlError::BadProperties(why)) if why.contains("group")),
            "{refused:?}"
        );
    }
}

#[test]
fn repair_turns_itself_on_only_for_datagrams_between_hosts_and_not_if_it_is_switched_off() {
    let mut engine = engine("");
    let mut repair = |uri: &str, options: crate::config::FaceOptions| {
        let slot = engine.open(&uri.parse().unwrap(), None, FacePersistency::Permanent, options, false, None);
        face(&engine, slot.unwrap()).link.options().repair
    };
    let usual = crate::config::FaceOptions::default();
    assert_eq!(repair("udp4://127.0.0.1:9", usual), Repair::Auto { marks: true });
    // The queue of a face with a rate is in this forwarder, so its losses are not due to congestion.
    let paced = crate::config::FaceOptions { rate: Some(Rate::from_bps(1_000_000)), ..usual };
    assert_eq!(repair("udp4://127.0.0.1:10", paced), Repair::Auto { marks: false });
    let off = crate::config::FaceOptions { reliability: Switching::Off, ..usual };
    assert_eq!(repair("udp4://127.0.0.1:11", off), Repair::Off);
    // A stream loses no frames.
    let (slot, _) = add(&mut engine, Script::default());
    assert_eq!(face(&engine, slot).link.options().repair, Repair::Off);

    let slot = engine.faces.slots().nth(1).unwrap();
    let number = face(&engine, slot).number;
    let mut update = |change: FaceChange| {
        engine.update_face(number, &change).unwrap();
        face(&engine, slot).link.options().repair
    };
    let marking = Some(FaceFlags { congestion_marking: false, ..FaceFlags::default() });
    assert_eq!(
        update(FaceChange { flags: marking, ..FaceChange::default() }),
        Repair::Auto { marks: true },
        "nothing was asked for"
    );
    assert_eq!(update(FaceChange { reliability: Some(false), ..FaceChange::default() }), Repair::Off);
    assert_eq!(update(FaceChange { reliability: Some(true), ..FaceChange::default() }), Repair::On);
}

#[test]
fn only_faces_that_wait_for_something_are_looked_at() {
    let mut engine = engine("");
    let reliable = FaceChange { reliability: Some(true), ..FaceChange::default() };
    let faces: Vec<_> = (0..5).map(|_| add(&mut engine, Script::default())).collect();
    for (slot, _) in &faces {
        let number = face(&engine, *slot).number;
        engine.update_face(number, &reliable).unwrap();
    }
    assert_eq!(engine.timers.faces(), []);
    let (hop, script) = &faces[1];
    let number = face(&engine, *hop).number;
    engine.add_next_hop(&name("/a"), number, 0).unwrap();
    // As from an application: frames on a reliable face are acknowledged.
    let (consumer, asks) = add(&mut engine, Script::default());
    come(&mut engine, consumer, &asks, interest("/a/1", 1));
    let due = face(&engine, *hop).link.next_deadline();
    assert_eq!(engine.timers.faces(), [(due, *hop)]);
    // Without an acknowledgement it is sent again, once each time.
    for times in 2..4 {
        assert!(engine.next_deadline() <= face(&engine, *hop).link.next_deadline());
        engine.now = face(&engine, *hop).link.next_deadline();
        engine.run_faces();
        assert_eq!(script.borrow().sent.len(), times);
    }
    engine.close(*hop);
    assert_eq!(engine.timers.faces(), []);
}

/// A stranger sees the nonces that the forwarder generates, in the Nacks of Interests that came without one. They must not follow
/// from the seed of the node's random choices.
#[test]
fn what_a_stranger_sees_does_not_follow_from_the_seed() {
    let nonces = |secrets: Secrets| {
        let mut engine = engine_with("", secrets);
        let (slot, script) = add(&mut engine, Script::default());
        let frames = (0..3).map(|n| Interest::new(name(&format!("/nowhere/{n}")).view()).to_vec());
        frames.for_each(|frame| come(&mut engine, slot, &script, frame));
        let sent = core::mem::take(&mut script.borrow_mut().sent);
        let nonce = |frame: &Vec<u8>| {
            assert!(is_nack(frame));
            Interest::decode(LpPacket::decode(frame).unwrap().fragment.unwrap()).unwrap().nonce.unwrap()
        };
        sent.iter().map(nonce).collect::<Vec<u32>>()
    };
    let [one, other] = [nonces(Secrets::draw().unwrap()), nonces(Secrets::draw().unwrap())];
    assert_eq!((one.len(), other.len()), (3, 3));
    assert_ne!(one, other, "two forwarders with one seed");
    assert_eq!(
        nonces(Secrets::fixed(1)),
        nonces(Secrets::fixed(1)),
        "what is seen follows from the secrets alone"
    );
}

#[test]
fn frames_for_peers_that_do_not_read_are_bounded_together_and_others_get_theirs() {
    const BOUND: usize = 1 << 20;
    let mut engine = engine("[tables]\ncontent_store_packets = 0\n");
    let (hop, gives) = add(&mut engine, Script::default());
    let number = face(&engine, hop).number;
    engine.add_next_hop(&name("/a"), number, 0).unwrap();
    let stuck: Vec<_> =
        (0..40).map(|_| add(&mut engine, Script { is_stuck: true, ..Script::default() })).collect();
    let waiting = |stuck: &[(FaceSlot, Rc<RefCell<Script>>)]| {
        stuck.iter().map(|(_, script)| Scripted(Rc::clone(script)).waiting()).collect::<Vec<_>>()
    };
    let exchange = |engine: &mut Engine, asking: &[(FaceSlot, Rc<RefCell<Script>>)], uri: &str| {
        for (at, (slot, script)) in asking.iter().enumerate() {
            come(engine, *slot, script, interest(uri, at as u32));
        }
        let info = SignatureInfo::new(SignatureType::Null);
        come(engine, hop, &gives, Data::new(name(uri).view(), &[7; 4000], info).to_vec());
    };
    for round in 0..60 {
        exchange(&mut engine, &stuck, &format!("/a/{round}"));
        assert!(waiting(&stuck).iter().sum::<usize>() <= BOUND);
    }
    let share = BOUND / 41;
    let waiting_now = waiting(&stuck);
    assert!(waiting_now.iter().all(|bytes| bytes.abs_diff(share) < 4200), "{waiting_now:?}");
    assert!(stuck.iter().all(|(slot, _)| face(&engine, *slot).counters.out_dropped > 50));
    // Another peer gets its Data, also one that does not read until its share is full.
    let (reads, late) =
        [false, true].map(|is_stuck| add(&mut engine, Script { is_stuck, ..Script::default() })).into();
    for round in 0..4 {
        exchange(
            &mut engine,
            &[(reads.0, Rc::clone(&reads.1)), (late.0, Rc::clone(&late.1))],
            &format!("/a/late/{round}"),
        );
    }
    // The rest is another share. The late peer gets half of it: three Data.
    assert_eq!((reads.1.borrow().sent.len(), late.1.borrow().sent.len()), (4, 3));
    // Peers that read again have an empty buffer, and removed faces release theirs.
    for (slot, script) in &stuck[..20] {
        script.borrow_mut().sent.clear();
        engine.ready(EventSource::Face(*slot).token());
    }
    for (slot, _) in &stuck[20..] {
        engine.close(*slot);
    }
    engine.close(late.0);
    assert_eq!(engine.unsent.held(), 0);
}

#[test]
fn what_a_transport_writes_while_it_is_read_counts_at_once() {
    let mut engine = engine("");
    let (slot, script) = add(&mut engine, Script { is_stuck: true, answers: true, ..Script::default() });
    let info = SignatureInfo::new(SignatureType::Null);
    for answers in 1..4 {
        // No Interest asks for it, so nothing else is sent.
        let data = Data::new(name("/a").view(), &[7], info).to_vec();
        script.borrow_mut().incoming.push_back(data);
        engine.ready(EventSource::Face(slot).token());
        assert_eq!(engine.unsent.held(), 100 * answers);
    }
}

#[test]
fn who_reads_gets_its_frames_though_others_keep_all_memory_of_frames_for_ever() {
    let mut engine = engine("[tables]\ncontent_store_packets = 0\n");
    let (hop, gives) = keep_all_memory_of_frames(&mut engine);
    let (reads, asks) = add(&mut engine, Script::default());
    for n in 0..200 {
        let uri = format!("/a/{}", 1_000_000 + n);
        come(&mut engine, reads, &asks, interest(&uri, n));
        come(&mut engine, hop, &gives, data_of(&uri));
    }
    assert_eq!(asks.borrow().sent.len(), 200);
}

/// A datagram with its source port.
type FromPort = (u16, Vec<u8>);

/// A scripted UDP socket: datagrams come from ports of one host.
#[derive(Clone, Default)]
struct Port {
    incoming: Rc<RefCell<VecDeque<FromPort>>>,
    /// Destination ports of sent frames.
    sent: Rc<RefCell<Vec<u16>>>,
}

impl Datagrams for Port {
    fn local(&self) -> SocketAddr {
        ([192, 0, 2, 1], 6363).into()
    }

    fn receive(&mut self, _: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received> {
        for (port, frame) in self.incoming.borrow_mut().drain(..) {
            each(Source { from: ([192, 0, 2, 9], port).into(), to: None }, &frame);
        }
        Ok(Received::Drained)
    }

    fn send(&mut self, batch: &mut Batch, to: SocketAddr, _: Option<IpAddr>) -> udp::Refused {
        self.sent.borrow_mut().extend(batch.frames().map(|_| to.port()));
        batch.clear();
        udp::Refused::default()
    }

    fn dropped(&self) -> u64 {
        0
    }
}

impl Port {
    /// Makes it the engine's only UDP socket.
    fn of(engine: &mut Engine) -> Port {
        let port = Port::default();
        engine.sockets.restore_udp(vec![Box::new(port.clone())]);
        port
    }

    /// Delivers these datagrams together, and runs all actions that follow.
    fn come<const N: usize>(&self, engine: &mut Engine, frames: [FromPort; N]) {
        self.incoming.borrow_mut().extend(frames);
        engine.ready(EventSource::Udp(0).token());
        engine.end();
    }
}

/// Peers that do not read use all memory of frames. The next hop of `/a` answers its Interests.
fn keep_all_memory_of_frames(engine: &mut Engine) -> (FaceSlot, Rc<RefCell<Script>>) {
    let (hop, gives) = add(engine, Script::default());
    let number = face(engine, hop).number;
    engine.add_next_hop(&name("/a"), number, 0).unwrap();
    for at in 0..100 {
        let (stuck, asks) = add(engine, Script { is_stuck: true, ..Script::default() });
        for n in 0..200 {
            let uri = format!("/a/{}", 1000 * at + n);
            come(engine, stuck, &asks, interest(&uri, n));
            come(engine, hop, &gives, data_of(&uri));
        }
    }
    assert!(engine.unsent.share(0) < 4000, "nothing is left: {}", engine.unsent.held());
    (hop, gives)
}

fn data_of(uri: &str) -> Vec<u8> {
    Data::new(name(uri).view(), &[7; 4000], SignatureInfo::new(SignatureType::Null)).to_vec()
}

#[test]
fn a_peer_on_udp_gets_its_frames_though_others_keep_all_memory_of_frames() {
    let mut engine = engine("[tables]\ncontent_store_packets = 0\n");
    let port = Port::of(&mut engine);
    let (hop, gives) = keep_all_memory_of_frames(&mut engine);
    for n in 0..200 {
        let uri = format!("/a/{}", 1_000_000 + n);
        port.come(&mut engine, [(7, interest(&uri, n))]);
        come(&mut engine, hop, &gives, data_of(&uri));
    }
    let is_on_udp = |face: &&Face| matches!(face.channel, Channel::Udp(_));
    let peer = engine.faces.iter().map(|(_, face)| face).find(is_on_udp).unwrap().counters;
    assert_eq!((peer.out_data, peer.out_dropped), (200, 0));
    assert_eq!(port.sent.borrow().len(), 200 * 3, "each is three frames");
}

#[test]
fn a_new_peer_may_come_beside_one_that_is_answered_at_once_without_memory_of_frames() {
    let mut engine = engine("[tables]\ncontent_store_packets = 0\nfaces = 512\n");
    let port = Port::of(&mut engine);
    keep_all_memory_of_frames(&mut engine);
    let ask = |port: u16, n: u32| (port, interest("/nowhere", 1000 * u32::from(port) + n));
    for from in 1..=128 {
        port.come(&mut engine, [ask(from, 0)]);
    }
    // A further peer replaces the one that has been silent longest, while answers for another are buffered.
    engine.now += Span::from_secs(60);
    port.sent.borrow_mut().clear();
    port.come(&mut engine, [ask(2, 1), ask(2, 2), ask(2, 3), ask(200, 1)]);
    let sent = port.sent.borrow();
    assert!(sent.contains(&2) && sent.contains(&200), "{sent:?}");
}

#[test]
fn a_packet_in_fragments_arrives_though_others_keep_all_memory_of_fragments() {
    let mut engine = engine("");
    let content = [vec![0x24, 0xfd, 0x1f, 0x40], vec![1; 8000]].concat();
    let all = |packet: u64| -> Vec<Vec<u8>> {
        let mut fragments = weir_packet::fragment::Fragmenter::new(1400, 1 + 10 * packet);
        let frames = fragments.split(LpPacket::new(LpHeader::NONE, &content), 0).unwrap();
        frames.map(|frame| frame.to_vec()).collect()
    };
    for _ in 0..60 {
        let (slot, script) = add(&mut engine, Script::default());
        (0..64).for_each(|packet| come(&mut engine, slot, &script, all(packet)[0].clone()));
    }
    assert!(engine.fragments.share(0) < 8000, "nothing is left: {}", engine.fragments.held());
    let (slot, script) = add(&mut engine, Script::default());
    for packet in 0..5 {
        all(packet).into_iter().for_each(|frame| come(&mut engine, slot, &script, frame));
    }
    assert_eq!(face(&engine, slot).link.reassembly().completed, 5);
}

#[test]
fn fragments_of_all_faces_are_bounded_together() {
    let mut engine = engine("");
    let long = vec![1; 8000];
    let mut faces: Vec<_> = (0..200).map(|_| add(&mut engine, Script::default())).collect();
    for packet in 0..64 {
        for (slot, script) in &mut faces {
            let mut fragments = weir_packet::fragment::Fragmenter::new(4000, 1 + 10 * packet);
            let first =
                fragments.split(LpPacket::new(LpHeader::NONE, &long), 0).unwrap().next().unwrap().to_vec();
            come(&mut engine, *slot, script, first);
        }
        let held: usize = faces.iter().map(|(slot, _)| face(&engine, *slot).link.fragment_bytes()).sum();
        assert!(held <= (1 << 20) + faces.len() * (16 << 10), "each may have one packet: {held}");
        assert_eq!(engine.fragments.held(), held as u64);
    }
    assert!(engine.fragments.held() > 1 << 19);
    for (slot, _) in &faces[1..] {
        engine.close(*slot);
    }
    // A single face may use half.
    let held = engine.fragments.held();
    assert!(held > 0 && held <= 1 << 19);
    engine.now += Span::from_secs(60);
    engine.sweep();
    assert_eq!(engine.fragments.held(), 0);
}
