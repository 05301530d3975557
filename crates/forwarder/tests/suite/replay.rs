//! Two worlds: the recorded inputs of a running forwarder give the same actions in the core again.

use std::collections::BTreeSet;
use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use crate::running::{Folder, Peer, Producer, Running, SECOND, name};
use proptest::prelude::*;
use weir_core::random::Random;
use weir_core::seam::DropReason;
use weir_core::units::Time;
use weir_forwarder::record::{Entry, Recording};
use weir_forwarder::replay::{DifferenceKind, Replayed, replay};
use weir_management::{ControlParameters, Module};
use weir_packet::{Data, Interest, LpPacket, ServiceClass};

const INTERESTS: u64 = 600;

/// The recording of a forwarder with these options under busy traffic: consumers of several classes, one of which leaves in the
/// middle, a producer that does not answer some Interests, and a route that changes.
fn recording(label: &str, scheme: &str, face: &str) -> Vec<u8> {
    let folder = Folder::new(label);
    let file = folder.path("inputs.record");
    let ((first, a), (second, b)) = (Peer::udp(), Peer::udp());
    let forwarder = Running::start(
        &folder,
        &format!(
            "[record]\npath = \"{}\"\n[tables]\ncontent_store_packets = 50\n{scheme}\n\
             [[face]]\nname = \"a\"\nremote = \"udp4://{a}\"\n{face}\n\
             [[face]]\nname = \"b\"\nremote = \"udp4://{b}\"\nscheme = {{ }}\n{face}\n\
             [[route]]\nprefix = \"/a\"\nface = \"a\"\ncost = 1\n\
             [[route]]\nprefix = \"/b\"\nface = \"b\"\n",
            file.display()
        ),
    );
    first.know(forwarder.udp);
    second.know(forwarder.udp);
    let producers = [Producer::start(first, 1000, 7), Producer::start(second, 300, 5)];
    let (mut staying, mut leaving) = (forwarder.connect(), forwarder.connect());
    let classes = [ServiceClass::Ef, ServiceClass::Af2, ServiceClass::Be];
    let mut client = forwarder.client();
    let mut got = 0;
    for number in 0..INTERESTS {
        let prefix = if number % 3 == 0 { "/b" } else { "/a" };
        // Some names occur twice: answered from the content store, aggregated, or sent again.
        let asked = name(&format!("{prefix}/{}", number - number % 4 / 3));
        staying.ask(&asked, 150, Some(classes[number as usize % 3]));
        if number < INTERESTS / 2 {
            leaving.ask(&name(&format!("/a/other/{number}")), 4000, None);
        }
        if number % 50 == 0 {
            let bare = Interest::new(name("/a/without/nonce").view()).to_vec();
            staying.send(&bare);
            staying.ask(&name("/nowhere"), 100, None);
        }
        if number == INTERESTS / 2 {
            // Its Interests are pending when its face is closed, and their Data arrive later.
            drop(std::mem::replace(&mut leaving, forwarder.connect()));
            let faces = client.faces().unwrap();
            let face = faces.iter().find(|face| face.status.remote.ends_with(&b.to_string()));
            let face = face.map(|face| face.status.number);
            let route = ControlParameters {
                name: Some(name("/a")),
                face,
                cost: Some(0),
                ..ControlParameters::default()
            };
            client.command(Module::Rib, "register", &route).unwrap();
        }
        if number == INTERESTS * 3 / 4 {
            let chosen = ControlParameters {
                name: Some(name("/a")),
                strategy: Some(name("/localhost/nfd/strategy/multicast")),
                ..ControlParameters::default()
            };
            client.command(Module::StrategyChoice, "set", &chosen).unwrap();
            let erased =
                ControlParameters { name: Some(name("/b")), count: Some(9), ..ControlParameters::default() };
            client.command(Module::Cs, "erase", &erased).unwrap();
        }
        while staying.receive(Duration::from_millis(1)).is_some() {
            got += 1;
        }
    }
    while staying.receive(SECOND / 4).is_some() {
        got += 1;
    }
    assert!(got > INTERESTS / 2, "{got}");
    producers.into_iter().for_each(|producer| drop(producer.stop()));
    forwarder.stop();
    fs::read(file).unwrap()
}

fn best_route() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let strategy = "[[strategy]]\nprefix = \"/\"\nstrategy = \"best-route\"\n";
    FILE.get_or_init(|| recording("replay-best-route", strategy, ""))
}

fn qsccp() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    let rate = "rate = \"3 Mb/s\"\nqueue = 20";
    FILE.get_or_init(|| recording("replay-qsccp", "[scheme]\nname = \"qsccp\"\n", rate))
}

/// The file has no rate. The forwarder paces by its measured rate.
fn sluice() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| recording("replay-sluice", "[scheme]\nname = \"sluice\"\n", ""))
}

/// Its strategy chooses next hops at random.
fn omcc_rf() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| recording("replay-omcc-rf", "[scheme]\nname = \"omcc-rf\"\n", "rate = \"3 Mb/s\""))
}

fn run(file: &[u8]) -> Replayed {
    replay(Recording::read(file).unwrap()).unwrap()
}

fn check_identical(file: &[u8]) -> Replayed {
    let replayed = run(file);
    assert_eq!(replayed.difference, None, "{}", replayed.difference.as_ref().unwrap());
    assert!(replayed.is_ended && replayed.rest == 0, "{replayed:?}");
    assert!(replayed.packets > INTERESTS && replayed.actions() > INTERESTS, "{replayed:?}");
    assert!(replayed.hashes > 10 && replayed.deadlines > 20, "{replayed:?}");
    // Faces of three applications and a manager, two neighbours; routes and strategies.
    assert!(replayed.changes > 10, "{replayed:?}");
    let (from, to) = replayed.span.unwrap();
    assert!(to > from);
    replayed
}

#[test]
fn what_best_route_was_told_gives_the_same_actions_again() {
    let replayed = check_identical(best_route());
    assert!(replayed.drops[DropReason::NoRoute as usize] == 0 && replayed.delivered > INTERESTS / 2);
}

#[test]
fn what_qsccp_was_told_gives_the_same_actions_again() {
    let replayed = check_identical(qsccp());
    assert!(replayed.transmitted > 100, "{replayed:?}");
}

#[test]
fn what_sluice_was_told_gives_the_same_actions_again() {
    let replayed = check_identical(sluice());
    assert!(replayed.transmitted > 100, "{replayed:?}");
}

#[test]
fn what_chose_at_random_chooses_the_same_again() {
    check_identical(omcc_rf());
}

/// A recording contains the seed of random choices. The generated nonces must not follow from it: they are recorded themselves.
#[test]
fn an_interest_without_a_nonce_is_recorded_with_one_that_does_not_follow_from_the_seed() {
    let file = best_route();
    let bare = name("/a/without/nonce");
    let nonces: BTreeSet<u32> = entries(file)
        .iter()
        .filter_map(|(_, entry)| {
            let Entry::Packet { frame, .. } = entry else { return None };
            let interest = Interest::decode(LpPacket::decode(frame).unwrap().fragment.unwrap()).ok()?;
            (interest.name.to_name() == bare).then(|| interest.nonce.expect("it was given one"))
        })
        .collect();
    assert_eq!(nonces.len() as u64, INTERESTS / 50);
    let mut random = Random::named(Recording::read(file).unwrap().header.seed, "nonces");
    assert!((0..1000).all(|_| !nonces.contains(&random.next_u32())));
}

/// The offsets of a recording's entries.
fn entries(file: &[u8]) -> Vec<(usize, Entry<'_>)> {
    let mut entries = Recording::read(file).unwrap().entries;
    let mut all = Vec::new();
    loop {
        let at = file.len() - entries.rest();
        let Some(entry) = entries.next() else { return all };
        all.push((at, entry.unwrap().entry));
    }
}

#[test]
fn a_recording_that_was_cut_replays_to_its_last_whole_entry() {
    let file = qsccp();
    let all = entries(file);
    for (place, (at, _)) in all.iter().enumerate().skip(5).step_by(all.len() / 20) {
        for more in [0, 1, 5] {
            let replayed = run(&file[..at + more]);
            assert_eq!((replayed.entries, replayed.rest), (place as u64, more));
            assert!(replayed.difference.is_none() && !replayed.is_ended);
        }
    }
}

/// A requested Data is forwarded, and an unsolicited one is dropped, so changed content changes the actions.
#[test]
fn a_packet_with_another_byte_is_found_to_differ() {
    let file = best_route();
    let all = entries(file);
    let mut tried = 0;
    for pair in all.windows(2) {
        let [(from, Entry::Packet { frame, .. }), (to, _)] = pair else { continue };
        let packet = LpPacket::decode(frame).unwrap().fragment.unwrap();
        // The consumers of the other Data have left.
        let Some(data) = Data::decode(packet).ok().filter(|data| data.name.len() == 2) else { continue };
        if data.payload().len() < 100 || tried > 60 {
            continue;
        }
        let mut changed = file.to_vec();
        changed[to - 50] ^= 0x10;
        let difference = run(&changed).difference;
        assert!(difference.is_some(), "byte {} of the packet {} at {from}", to - 50 - from, data.name);
        tried += 1;
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn another_seed_another_scheme_and_a_face_that_is_missing_are_found() {
    let file = qsccp();
    let all = entries(file);
    let (at, _) = all.iter().find(|(_, entry)| matches!(entry, Entry::AddLink(_))).unwrap();
    let (_, after) = (at, all.iter().find(|(from, _)| from > at).unwrap().0);
    let without = [&file[..*at], &file[after..]].concat();
    let difference = run(&without).difference.unwrap();
    assert!(
        matches!(difference.kind, DifferenceKind::Actions { .. } | DifferenceKind::Impossible(_)),
        "{difference}"
    );
    let mut recording = Recording::read(omcc_rf()).unwrap();
    recording.header.seed ^= 1;
    let difference = replay(recording).unwrap().difference.unwrap();
    assert!(
        matches!(difference.kind, DifferenceKind::Actions { .. } | DifferenceKind::Deadline(_)),
        "{difference}"
    );
    let mut recording = Recording::read(file).unwrap();
    recording.header.scheme = "fixed".to_owned();
    assert!(replay(recording).unwrap().difference.is_some_and(|difference| difference.at > Time::ZERO));
    let mut recording = Recording::read(file).unwrap();
    recording.header.scheme = "none-such".to_owned();
    assert!(replay(recording).unwrap_err().to_string().contains("`none-such`"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// A damaged file always gives a result or an error.
    #[test]
    fn a_damaged_recording_breaks_nothing(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        cut: prop::sample::Index,
    ) {
        let mut file = qsccp().to_vec();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(file.len() - cut.index(file.len() / 2));
        if let Ok(recording) = Recording::read(&file) {
            let _ = replay(recording);
        }
    }
}
