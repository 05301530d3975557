//! Charges of faces, and the order of losses.

use super::*;
use weir_packet::{PitToken, ServiceClass};

const PLAIN: u64 = PLACE as u64;

fn waits(face: u32, aggregated: bool) -> InRecord {
    InRecord {
        face: FaceId(face),
        nonce: 1,
        arrived: Time::ZERO,
        expires: ms(4000),
        aggregated,
        retransmission: false,
        class: ServiceClass::Be,
        token: PitToken::NONE,
        holding: 0,
    }
}

/// An Interest of a face.
fn ask(pit: &mut Pit, name: &HashedName, face: u32) -> PitId {
    let (id, is_new) = pit.find_or_insert(name, false, false, 0, Time::ZERO);
    let known = pit.entry_mut(id).and_then(|entry| entry.in_record(FaceId(face))).is_some();
    match known {
        true => pit.renew_in_record(id, waits(face, false)),
        false => pit.add_in_record(id, waits(face, !is_new)),
    }
    id
}

/// Removes entries until the table is within its bound. Returns the names that were lost, with the faces.
fn trim(pit: &mut Pit) -> Vec<(String, u32)> {
    let mut lost = Vec::new();
    while let Some((id, face)) = pit.first_to_lose() {
        let entry = pit.entry(id).unwrap();
        lost.push((format!("{:?}", entry.name()), face.0));
        if entry.in_records.len() > 1 {
            assert!(pit.remove_in_record(id, face).is_some());
        } else {
            assert!(pit.remove(id));
        }
    }
    lost
}

/// A table with room for this many short names.
fn room_for(entries: u64) -> Pit {
    listing(2 * PLAIN * entries)
}

/// A table of this many bytes that records the charges from the beginning.
fn listing(bytes: u64) -> Pit {
    let mut pit = Pit::new(HASHER, bytes);
    pit.list_holdings();
    pit
}

#[test]
fn the_face_that_holds_most_loses_its_oldest() {
    let mut pit = room_for(4);
    for uri in ["/f/1", "/f/2", "/f/3"] {
        ask(&mut pit, &name(uri), 1);
    }
    ask(&mut pit, &name("/n/1"), 2);
    assert_eq!(trim(&mut pit), []);
    ask(&mut pit, &name("/n/2"), 2);
    assert_eq!(trim(&mut pit), [("/f/1".to_owned(), 1)]);
    ask(&mut pit, &name("/f/4"), 1);
    assert_eq!(trim(&mut pit), [("/f/2".to_owned(), 1)], "whoever asks now");
    assert_eq!(
        (pit.held_by(FaceId(1)), pit.held_by(FaceId(2)), pit.held()),
        (2 * PLAIN, 2 * PLAIN, 4 * PLAIN)
    );
}

#[test]
fn an_interest_that_is_sent_again_is_young_and_one_that_did_not_leave_goes_first() {
    let mut pit = room_for(3);
    let [_, second, _] = ["/f/1", "/f/2", "/f/3"].map(|uri| ask(&mut pit, &name(uri), 1));
    ask(&mut pit, &name("/f/1"), 1);
    ask(&mut pit, &name("/f/4"), 1);
    assert_eq!(trim(&mut pit), [("/f/2".to_owned(), 1)]);
    assert!(pit.entry(second).is_none());
    let last = pit.find_exact(&name("/f/4"), false, false, 0).unwrap();
    pit.put_first(last);
    ask(&mut pit, &name("/f/5"), 1);
    assert_eq!(trim(&mut pit), [("/f/4".to_owned(), 1)]);
}

#[test]
fn an_entry_that_others_wait_for_stays_and_is_charged_to_the_next_of_them() {
    let mut pit = listing(1 << 20);
    let id = ask(&mut pit, &name("/a"), 1);
    ask(&mut pit, &name("/a"), 2);
    assert_eq!((pit.held_by(FaceId(1)), pit.held_by(FaceId(2))), (PLAIN, u64::from(FURTHER)));
    assert_eq!(pit.remove_in_record(id, FaceId(1)).map(|record| record.face), Some(FaceId(1)));
    assert_eq!((pit.held_by(FaceId(1)), pit.held_by(FaceId(2))), (0, PLAIN));
    assert!(pit.remove_in_record(id, FaceId(1)).is_none());
    assert!(pit.remove_in_record(id, FaceId(2)).is_some());
    assert_eq!(pit.held_by(FaceId(2)), PLAIN, "it takes its place until it goes");
    assert_eq!(pit.oldest_of(FaceId(2)), Some(id));
    ask(&mut pit, &name("/a"), 3);
    assert_eq!((pit.held_by(FaceId(2)), pit.held_by(FaceId(3))), (0, PLAIN));
    assert!(pit.remove(id));
    assert_eq!(pit.held(), 0);
}

#[test]
fn names_that_need_buffers_take_nothing_from_those_that_do_not() {
    let mut pit = listing(1 << 20);
    let mut long = HashedName::new();
    long.push(&HASHER, 8, &[1; 4000]).unwrap();
    for n in 0..1000 {
        let mut one = long.clone();
        one.push(&HASHER, 8, &[(n / 256) as u8, n as u8]).unwrap();
        ask(&mut pit, &one, 1);
        if n == 0 {
            ask(&mut pit, &name("/a"), 2);
        }
        assert!(trim(&mut pit).iter().all(|(_, face)| *face == 1));
    }
    assert!(pit.held() > 200_000 && pit.held_by(FaceId(1)) <= 1 << 18, "{}", pit.held_by(FaceId(1)));
    let ids: Vec<PitId> = pit.iter().map(|(id, _)| id).collect();
    ids.into_iter().for_each(|id| assert!(pit.remove(id)));
    assert!(pit.buffers <= (1 << 16) + 10_000, "{} bytes are kept", pit.buffers);
}

#[derive(Clone, Debug)]
enum Op {
    Ask(HashedName, u32),
    /// Sent by several next hops.
    Send(usize, u32),
    Withdraw(usize, usize),
    PutFirst(usize),
    Remove(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let names = (few_names(4), 0usize..3).prop_map(|(mut name, longer)| {
        for length in [60, 600].into_iter().take(longer) {
            name.push(&HASHER, 8, &vec![b'x'; length]).unwrap();
        }
        name
    });
    prop_oneof![
        12 => (names, 0u32..5).prop_map(|(n, f)| Op::Ask(n, f * f)),
        3 => (any::<usize>(), 0u32..4).prop_map(|(i, f)| Op::Send(i, f)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(i, f)| Op::Withdraw(i, f)),
        1 => any::<usize>().prop_map(Op::PutFirst),
        2 => any::<usize>().prop_map(Op::Remove),
    ]
}

/// A holding of a face: an entry, or a further in-record of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    entry: PitId,
    face: u32,
    owns: bool,
    since: i64,
}

/// All holdings, and a clock that counts operations.
#[derive(Default)]
struct Model {
    held: Vec<Held>,
    clock: i64,
}

impl Model {
    fn now(&mut self) -> i64 {
        self.clock += 1;
        self.clock
    }

    fn entries(&self) -> Vec<PitId> {
        self.held.iter().filter(|held| held.owns).map(|held| held.entry).collect()
    }

    fn cost(&self, pit: &Pit, held: &Held) -> (Kind, u64) {
        let (kind, bytes) = match held.owns {
            true => pit.entry(held.entry).unwrap().charge(),
            false => (Kind::Large, FURTHER),
        };
        (kind, u64::from(bytes))
    }

    fn sum(&self, pit: &Pit, wanted: Kind, face: Option<u32>) -> u64 {
        let of_face = self.held.iter().filter(|held| face.is_none_or(|face| held.face == face));
        of_face
            .map(|held| self.cost(pit, held))
            .filter(|(kind, _)| *kind == wanted)
            .map(|(_, bytes)| bytes)
            .sum()
    }

    fn ask(&mut self, entry: PitId, face: u32, is_new: bool, waiting: usize) {
        let since = self.now();
        if let Some(known) =
            self.held.iter_mut().find(|held| held.entry == entry && held.face == face && waiting > 0)
        {
            known.since = since;
        } else {
            // An entry without a waiting downstream passes to the face that asks for it.
            self.held.retain(|held| held.entry != entry || waiting > 0);
            self.held.push(Held { entry, face, owns: is_new || waiting == 0, since });
        }
    }

    /// Removes a downstream; `rest` are the others, in order.
    fn withdraw(&mut self, entry: PitId, face: u32, rest: &[u32]) {
        let at = self.held.iter().position(|held| held.entry == entry && held.face == face).unwrap();
        let owns = self.held[at].owns;
        match (owns, rest.first()) {
            (true, None) => {}
            (true, Some(next)) => {
                let since = self.now();
                self.held.remove(at);
                let next =
                    self.held.iter_mut().find(|held| held.entry == entry && held.face == *next).unwrap();
                (next.owns, next.since) = (true, since);
            }
            (false, _) => drop(self.held.remove(at)),
        }
    }
}

fn faces(pit: &Pit, id: PitId) -> Vec<u32> {
    pit.entry(id).unwrap().in_records.iter().map(|record| record.face.0).collect()
}

fn shares_agree(ops: Vec<Op>) -> Result<(), TestCaseError> {
    const BYTES: u64 = 16_000;
    let (mut pit, mut model) = (listing(BYTES), Model::default());
    for op in ops {
        let entries = model.entries();
        let some = |at: usize| (!entries.is_empty()).then(|| entries[at % entries.len()]);
        match op {
            Op::Ask(name, face) => {
                let known = pit.find_exact(&name, false, false, 0);
                let waiting = known.map_or(Vec::new(), |id| faces(&pit, id));
                let id = ask(&mut pit, &name, face);
                prop_assert_eq!(known.is_none(), !entries.contains(&id));
                // An owner that was refused and asks again owns it again.
                model.ask(id, face, known.is_none(), waiting.len());
            }
            Op::Send(at, face) => {
                let Some(id) = some(at) else { continue };
                let before = pit.entry(id).unwrap().buffer_bytes();
                let cost = pit.entry(id).unwrap().charge();
                pit.entry_mut(id).unwrap().note_sending(FaceId(face), 7, Time::ZERO, Span::from_secs(4));
                pit.note_out_records(id, before);
                if pit.entry(id).unwrap().charge() != cost {
                    let since = model.now();
                    model
                        .held
                        .iter_mut()
                        .filter(|held| held.entry == id && held.owns)
                        .for_each(|held| held.since = since);
                }
            }
            Op::Withdraw(at, which) => {
                let Some(id) = some(at) else { continue };
                let waiting = faces(&pit, id);
                if !waiting.is_empty() {
                    let face = waiting[which % waiting.len()];
                    prop_assert!(pit.remove_in_record(id, FaceId(face)).is_some());
                    model.withdraw(id, face, &faces(&pit, id));
                }
            }
            Op::PutFirst(at) => {
                let Some(id) = some(at) else { continue };
                pit.put_first(id);
                let since = -model.now();
                model
                    .held
                    .iter_mut()
                    .filter(|held| held.entry == id && held.owns)
                    .for_each(|held| held.since = since);
            }
            Op::Remove(at) => {
                let Some(id) = some(at) else { continue };
                prop_assert!(pit.remove(id));
                model.held.retain(|held| held.entry != id);
            }
        }
        while let Some((id, face)) = pit.first_to_lose() {
            let sum = |kind, face| model.sum(&pit, kind, face);
            let (kind, bound) = match sum(Kind::Plain, None) > BYTES / 2 {
                true => (Kind::Plain, BYTES / 2),
                false => (Kind::Large, BYTES / 4),
            };
            prop_assert!(sum(kind, None) > bound, "nobody loses without need");
            let holders: Vec<u64> =
                (0..20).map(|face| sum(kind, Some(face))).filter(|bytes| *bytes > 0).collect();
            let lost = sum(kind, Some(face.0));
            prop_assert_eq!(Some(lost), holders.iter().copied().max());
            prop_assert!(lost * holders.len() as u64 > bound, "a face within its share loses nothing");
            let of_kind = |held: &&Held| held.face == face.0 && model.cost(&pit, held).0 == kind;
            let oldest = model.held.iter().filter(of_kind).min_by_key(|held| held.since).copied().unwrap();
            prop_assert_eq!(oldest.entry, id);
            let rest: Vec<u32> = faces(&pit, id).into_iter().filter(|other| *other != face.0).collect();
            if rest.is_empty() {
                prop_assert!(pit.remove(id));
                model.held.retain(|held| held.entry != id);
            } else {
                prop_assert!(pit.remove_in_record(id, face).is_some());
                model.withdraw(id, face.0, &rest);
            }
        }
        for face in 0..20 {
            let held = model.sum(&pit, Kind::Plain, Some(face)) + model.sum(&pit, Kind::Large, Some(face));
            prop_assert_eq!(pit.held_by(FaceId(face)), held, "face {}", face);
        }
        prop_assert_eq!(pit.held(), model.sum(&pit, Kind::Plain, None) + model.sum(&pit, Kind::Large, None));
        prop_assert_eq!(pit.len(), model.entries().len());
        prop_assert_eq!(pit.buffers, pit.entries.iter().map(PitEntry::buffer_bytes).sum::<u64>());
    }
    Ok(())
}

proptest! {
    #[test]
    fn shares_agree_with_a_list(ops in prop::collection::vec(op(), 0..250)) {
        shares_agree(ops)?;
    }
}
