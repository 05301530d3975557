use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use weir_core::ids::{GroupId, StrategyId};
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::{ClassRule, CsUse, IngressPolicy};
use weir_core::seam::{DropReason, QueueLimit};
use weir_core::units::{Bytes, Rate, Span};
use weir_packet::{NackReason, Name, PitToken, ServiceClass};

use super::*;
use weir_packet::Signal;

fn header() -> Header {
    let params = vec![
        ("period".to_owned(), Value::Text("50 ms".into())),
        ("target_utilisation".to_owned(), Value::Float(0.95)),
        ("lambda".to_owned(), Value::Int(-7)),
        ("shared_retrieval".to_owned(), Value::Bool(true)),
    ];
    Header {
        software: "weir 0.1.0".into(),
        started_unix_ns: 1_800_000_000_123_456_789,
        seed: u64::MAX,
        scheme: "qsccp".into(),
        schemes: vec![("fixed".into(), Vec::new()), ("qsccp".into(), params)],
        pit_bytes: 1 << 20,
        longest_lifetime_ns: 1 << 36,
        dead_nonces: 0,
        queue_bytes: 1 << 33,
        flow_bytes: 7,
        reforward_after_ns: 10_000_000,
        next_hop_timeout_ns: 1_000_000_000,
        store_packets: 127,
        store_bytes: 1 << 63,
        store_policy: CsPolicy::S3Fifo,
        store_placement: CsPlacement::Probability(0.25),
    }
}

/// A policy in which every class has a different rule.
fn policy() -> IngressPolicy {
    let rule = |class: ServiceClass| ClassRule {
        class: (class != ServiceClass::Ef).then_some(ServiceClass::ALL[7 - class as usize]),
        rate: (class as u64 > 3).then(|| Rate::from_bps(u64::MAX >> (class as u64))),
    };
    IngressPolicy { is_believed: false, classes: ServiceClass::ALL.map(rule) }
}

/// Hashes a name as [`Recording::read`] does.
fn hashed(uri: &str) -> HashedName {
    let name: Name = uri.parse().unwrap();
    HashedName::parse(&NameHasher::new(0), name.value()).unwrap()
}

/// One entry of every kind.
fn all(name: &HashedName) -> Vec<Entry<'_>> {
    let prefix = Cow::Borrowed(name);
    let face = FaceId(1);
    let changes = [
        Change::AddApplication,
        Change::RemoveFace(FaceId(3)),
        Change::SetGroup { face, group: GroupId(u16::MAX) },
        Change::ForgetGroup(GroupId(7)),
        Change::SetIngress { face, policy: policy() },
        Change::SetSendRate { face, rate: Some(Rate::from_bps(1_000_000)) },
        Change::SetReceiveRate { face, rate: None },
        Change::SetFairRate { face, rate: Rate::from_bps(u64::MAX) },
        Change::AddRoute { prefix: prefix.clone(), face, cost: u64::MAX },
        Change::RemoveRoute { prefix: prefix.clone(), face },
        Change::ChooseStrategy { prefix: prefix.clone(), strategy: StrategyId(255) },
        Change::UnchooseStrategy { prefix: prefix.clone() },
        Change::SetStoreLimits { packets: 1, bytes: 2 },
        Change::SetStoreUse(CsUse { admit: true, serve: false }),
        Change::EraseStored { prefix, limit: 9 },
        Change::SetCacheRatio(0.25),
        Change::Fail,
    ];
    let config = LinkConfig {
        send_rate: Some(Rate::from_bps(u64::MAX)),
        receive_rate: None,
        limit: QueueLimit::Bytes(Bytes::new(64_000)),
    };
    let given = vec![("weights.AF2".to_owned(), Value::Int(7)), ("x".to_owned(), Value::Text(String::new()))];
    let other =
        LinkConfig { send_rate: None, receive_rate: Some(Rate::ZERO), limit: QueueLimit::Packets(u32::MAX) };
    let mut all = vec![
        Entry::Packet { face: FaceId(300), frame: &[5; 200] },
        Entry::Packet { face: FaceId(0), frame: &[] },
        Entry::Deadline,
        Entry::FaceUp(FaceId(0)),
        Entry::FaceDown(FaceId(u32::MAX)),
        Entry::AddLink(LinkPlan { config, scheme: Some(("qsccp", Cow::Owned(given))) }),
        Entry::AddLink(LinkPlan { config: other, scheme: None }),
        Entry::AddStrategy("asf/max-timeouts~5"),
        Entry::ActionsHash(0x0102_0304_0506_0708),
    ];
    all.extend(changes.map(Entry::Change));
    all
}

fn file(entries: &[(Time, Entry<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::header(&header(), &mut out);
    let mut last = Time::ZERO;
    for (at, entry) in entries {
        encode(entry, last, *at, &mut out);
        last = *at;
    }
    out
}

fn decoded(file: &[u8]) -> Vec<(Time, Entry<'_>)> {
    let recording = Recording::read(file).unwrap();
    recording.entries.map(Result::unwrap).map(|recorded| (recorded.at, recorded.entry)).collect()
}

#[test]
fn every_kind_of_entry_is_read_as_it_was_written() {
    let name = hashed("/a/%00/v=7");
    let entries: Vec<_> =
        all(&name).into_iter().enumerate().map(|(at, e)| (Time::from_nanos((at as u64) << 20), e)).collect();
    let file = file(&entries);
    assert_eq!(Recording::read(&file).unwrap().header, header());
    assert_eq!(decoded(&file), entries);
}

#[test]
fn a_deadline_takes_little() {
    let mut out = Vec::new();
    encode(&Entry::Deadline, Time::from_nanos(1_000_000_000), Time::from_nanos(1_000_010_000), &mut out);
    assert_eq!(out, [3, 0, 0, 0, 2, 0x90, 0x4E]);
}

#[test]
fn a_cut_recording_gives_its_whole_entries() {
    let name = hashed("/a/b");
    let entries: Vec<_> = all(&name).into_iter().map(|entry| (Time::from_nanos(5), entry)).collect();
    let whole = file(&entries);
    let head = file(&[]).len();
    let mut seen = 0;
    for cut in head..=whole.len() {
        let read = decoded(&whole[..cut]);
        assert_eq!(read, entries[..read.len()]);
        assert!(read.len() >= seen, "at {cut}");
        seen = read.len();
        // Zeros left by a crash of the machine are not entries.
        let zeros = [&whole[..cut], &[0; 100]].concat();
        let recording = Recording::read(&zeros).unwrap();
        let with_zeros = recording.entries.take_while(Result::is_ok).count();
        assert!(with_zeros >= read.len() && with_zeros <= read.len() + 1);
    }
    assert_eq!(seen, entries.len());
    for cut in 0..head {
        assert!(Recording::read(&whole[..cut]).is_err());
    }
}

#[test]
fn what_is_no_recording_is_said() {
    assert_eq!(Recording::read(b"").unwrap_err(), RecordError::NoRecording);
    assert_eq!(Recording::read(b"weir-red\x01\0").unwrap_err(), RecordError::NoRecording);
    assert_eq!(Recording::read(b"weir-rec\x02\x01").unwrap_err(), RecordError::Version(258));
    let mut file = file(&[(Time::ZERO, Entry::Deadline), (Time::ZERO, Entry::FaceUp(FaceId(1)))]);
    let at = file.len() - 7;
    file[at + 4] = 99;
    let entries: Vec<_> = Recording::read(&file).unwrap().entries.collect();
    assert_eq!(entries[1..], [Err(RecordError::Malformed(at))]);
}

// ---- Files

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-record-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("inputs")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_recorder_that_ends_says_so_in_the_file() {
    let folder = Folder::new("end");
    let mut recorder = Recorder::create(&folder.file(), 1 << 20, &header()).unwrap();
    recorder.record(Time::from_nanos(1), &Entry::FaceUp(FaceId(1)));
    recorder.flush();
    let cut = fs::read(folder.file()).unwrap();
    drop(recorder);
    let file = fs::read(folder.file()).unwrap();
    let mut entries = Recording::read(&file).unwrap().entries;
    assert_eq!(entries.by_ref().last().unwrap().unwrap().entry, Entry::End);
    assert!(entries.is_ended() && entries.rest() == 0);
    let mut entries = Recording::read(&cut).unwrap().entries;
    assert_eq!(entries.by_ref().count(), 1);
    assert!(!entries.is_ended());
}

#[test]
fn a_recording_outlives_the_next_start_and_has_one_writer() {
    let folder = Folder::new("older");
    let recorder = Recorder::create(&folder.file(), 1 << 20, &header()).unwrap();
    let error = Recorder::create(&folder.file(), 1 << 20, &header()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    drop(recorder);
    let before = fs::read(folder.file()).unwrap();
    drop(Recorder::create(&folder.file(), 1 << 20, &header()).unwrap());
    assert_eq!(fs::read(folder.0.join("inputs.1")).unwrap(), before);
}

#[test]
fn a_full_recording_ends_and_takes_no_more() {
    let folder = Folder::new("full");
    let mut recorder = Recorder::create(&folder.file(), 100_000, &header()).unwrap();
    for at in 0..1000 {
        recorder.record(Time::from_nanos(at), &Entry::Packet { face: FaceId(1), frame: &[6; 1000] });
    }
    let counters = recorder.counters();
    assert!(counters.ended && counters.errors == 0 && !recorder.is_on());
    drop(recorder);
    let file = fs::read(folder.file()).unwrap();
    assert!((100_000..102_000).contains(&file.len()), "{}", file.len());
    let entries = decoded(&file);
    assert_eq!(entries.len() as u64, counters.entries);
    assert_eq!(entries.last().unwrap().1, Entry::End);
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let mut recorder = Recorder::create(Path::new("/dev/full"), 1 << 30, &header()).unwrap();
    for at in 0..1000 {
        recorder.record(Time::from_nanos(at), &Entry::Packet { face: FaceId(1), frame: &[6; 1000] });
    }
    let counters = recorder.counters();
    assert!(counters.ended && counters.errors == 1 && counters.entries < 400, "{counters:?}");
}

// ---- The hash of actions

fn packet(pool: &mut PacketPool, uri: &str, change: impl FnOnce(&mut Packet)) -> weir_core::packet::PacketId {
    let name: Name = uri.parse().unwrap();
    let id = pool.take();
    pool[id].name = HashedName::parse(&NameHasher::new(7), name.value()).unwrap();
    change(&mut pool[id]);
    id
}

#[test]
fn the_hash_tells_every_difference() {
    let mut pool = PacketPool::new();
    let plain = packet(&mut pool, "/a", |_| {});
    let packets = [
        packet(&mut pool, "/b", |_| {}),
        packet(&mut pool, "/a", |p| p.nonce = 1),
        packet(&mut pool, "/a", |p| p.wire = bytes::Bytes::from_static(&[0])),
        packet(&mut pool, "/a", |p| p.hop_limit = Some(0)),
        packet(&mut pool, "/a", |p| p.header_mut().congestion_mark = 1),
        packet(&mut pool, "/a", |p| p.header_mut().set_nack(Some(NackReason::NoRoute))),
        packet(&mut pool, "/a", |p| p.header_mut().pit_token = PitToken::new(&[0]).unwrap()),
        packet(&mut pool, "/a", |p| p.header_mut().signals.set(&Signal::SERVICE_CLASS, 0)),
    ];
    let (face, until, waited) = (FaceId(0), Time::ZERO, Span::ZERO);
    let mut actions = vec![
        Action::Transmit { face, packet: plain, until, waited },
        Action::Transmit { face: FaceId(1), packet: plain, until, waited },
        Action::Transmit { face, packet: plain, until: Time::from_nanos(1), waited },
        Action::Transmit { face, packet: plain, until, waited: Span::from_nanos(1) },
        Action::Deliver { face, packet: plain },
        Action::Drop { face, packet: plain, reason: DropReason::QueueFull },
        Action::Drop { face, packet: plain, reason: DropReason::Loop },
    ];
    actions.extend(packets.map(|packet| Action::Deliver { face, packet }));
    let hash = |actions: &[&Action]| {
        let mut hash = ActionsHash::default();
        actions.iter().for_each(|action| hash.add(action, &pool));
        hash.value()
    };
    let mut hashes: Vec<u64> = actions.iter().map(|action| hash(&[action])).collect();
    hashes.push(hash(&[]));
    hashes.push(hash(&[&actions[0], &actions[4]]));
    hashes.push(hash(&[&actions[4], &actions[0]]));
    let effects = [
        Effect::Nothing,
        Effect::Face(face),
        Effect::Face(FaceId(1)),
        Effect::Strategy(StrategyId(0)),
        Effect::Erased(0),
    ];
    hashes.extend(effects.map(|effect| {
        let mut hash = ActionsHash::default();
        hash.add_effect(effect);
        hash.value()
    }));
    assert_eq!(hash(&[&actions[0], &actions[4]]), hash(&[&actions[0], &actions[4]]));
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

fn some_entry() -> impl Strategy<Value = (u64, usize, Vec<u8>, u64)> {
    (any::<u64>(), 0..26usize, prop::collection::vec(any::<u8>(), 0..300), any::<u64>())
}

proptest! {
    #[test]
    fn whatever_was_recorded_is_read_again(steps in prop::collection::vec(some_entry(), 0..40), cut: prop::sample::Index) {
        let name = hashed("/a/b");
        let entries: Vec<(Time, Entry<'_>)> = steps
            .iter()
            .map(|(at, kind, bytes, number)| {
                let entry = match kind {
                    0 => Entry::Packet { face: FaceId(*number as u32), frame: bytes },
                    1 => Entry::ActionsHash(*number),
                    2 => Entry::Change(Change::SetFairRate {
                        face: FaceId(*at as u32),
                        rate: Rate::from_bps(*number),
                    }),
                    3 => Entry::Change(Change::AddRoute {
                        prefix: Cow::Borrowed(&name),
                        face: FaceId(*at as u32),
                        cost: *number,
                    }),
                    kind => all(&name).swap_remove(*kind),
                };
                // Times may run backwards: they are kept as recorded.
                (Time::from_nanos(*at), entry)
            })
            .collect();
        let file = file(&entries);
        prop_assert_eq!(decoded(&file), entries.clone());
        let head = self::file(&[]).len();
        let cut = head + cut.index(file.len() - head + 1);
        let read = decoded(&file[..cut]);
        prop_assert_eq!(&read[..], &entries[..read.len()]);
    }
}
