//! The shares of faces in the PIT, and which face loses first when it is full.
//!
//! Everything that is pending is charged in bytes to faces. The entry is charged to the face that owns it:
//! the face of its first in-record. Each further in-record is charged to its own face. Each charge is a
//! *holding*, in a list of its face from the oldest to the newest.
//!
//! There are two kinds of holdings, each with a bound. *Plain* ones are entries that need only a place in the
//! slab. *Large* ones need buffers too: entries with long names or several out-records, and further
//! in-records. The bounds are separate, because a place in the slab is never freed: otherwise a flood of
//! short names would leave no memory for long ones.
//!
//! When a kind exceeds its bound, the face that holds most of it loses its oldest holding (max-min fairness).
//! A face loses nothing if it holds less than the bound divided by the number of faces that hold something.
//! All operations are O(1), except for the ranking of the faces: a tournament tree with three levels for 512
//! faces. The ranking exists only from the first time that the bound is exceeded until half of the memory is
//! free again.

use crate::deadline::Deadlines;
use crate::ids::FaceId;
use crate::tables::slab::Slab;
use crate::units::Time;

/// No holding.
const NONE: u32 = u32::MAX;
/// Marks the number of a further in-record's holding. Without the mark, the number is that of the entry.
const FURTHER: u32 = 1 << 31;
/// Ranks are deadlines: the face that holds most is due first.
const LATEST: u64 = 1 << 60;

/// The memory that a holding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A place in the slab.
    Plain,
    /// Buffers too.
    Large,
}

/// A charge: a face holds an entry, or waits for one that another face holds.
#[derive(Clone, Copy, Debug)]
struct Holding {
    /// The neighbours in the list of the face.
    older: u32,
    newer: u32,
    face: FaceId,
    entry: u32,
    /// Bytes charged; 0: no face holds it.
    bytes: u32,
    kind: Kind,
}

const NOTHING: Holding =
    Holding { older: NONE, newer: NONE, face: FaceId(0), entry: NONE, bytes: 0, kind: Kind::Plain };

/// The amount that a face holds of one kind.
#[derive(Clone, Copy, Debug)]
struct Share {
    bytes: u64,
    oldest: u32,
    newest: u32,
}

/// All holdings of one kind.
#[derive(Clone, Debug)]
struct Shares {
    bound: u64,
    held: u64,
    /// The share of each face.
    of: Vec<Share>,
    /// The faces ranked by what they hold, while memory is short.
    ranking: Option<Deadlines>,
}

/// All holdings.
#[derive(Clone, Debug)]
pub(super) struct Holdings {
    plain: Shares,
    large: Shares,
    /// The owner's holding of each entry.
    owned: Slab<Holding>,
    /// The holdings of further in-records.
    further: Slab<Holding>,
    /// The first free one of these. The others follow by `newer`.
    free: u32,
}

impl Shares {
    fn new(bound: u64) -> Shares {
        Shares { bound, held: 0, of: Vec::new(), ranking: None }
    }

    #[inline]
    fn charge(&mut self, face: FaceId, bytes: u32) {
        self.held += u64::from(bytes);
        self.of[face.0 as usize].bytes += u64::from(bytes);
        if self.ranking.is_some() {
            self.rank(face);
        }
    }

    #[inline]
    fn discharge(&mut self, face: FaceId, bytes: u32) {
        self.held -= u64::from(bytes);
        self.of[face.0 as usize].bytes -= u64::from(bytes);
        if self.ranking.is_some() {
            self.rank(face);
        }
    }

    #[cold]
    fn rank(&mut self, face: FaceId) {
        if self.held <= self.bound / 2 {
            self.ranking = None;
        }
        let Some(ranking) = &mut self.ranking else { return };
        while ranking.len() < self.of.len() {
            ranking.push();
        }
        ranking.set(face.0, rank_of(self.of[face.0 as usize].bytes));
    }

    /// The oldest holding of the face that holds most, if the bound is exceeded.
    #[inline]
    fn first_to_lose(&mut self) -> Option<u32> {
        if self.held <= self.bound { None } else { self.oldest_of_largest() }
    }

    #[cold]
    fn oldest_of_largest(&mut self) -> Option<u32> {
        let of = &self.of;
        let ranking = self.ranking.get_or_insert_with(|| {
            let mut ranking = Deadlines::new(of.len());
            let all = of.iter().zip(0..).filter(|(share, _)| share.bytes > 0);
            all.for_each(|(share, face)| ranking.set(face, rank_of(share.bytes)));
            ranking
        });
        let (_, face) = ranking.next_id()?;
        Some(self.of[face as usize].oldest).filter(|&oldest| oldest != NONE)
    }
}

fn rank_of(bytes: u64) -> Time {
    if bytes == 0 { Time::NEVER } else { Time::from_nanos(LATEST.saturating_sub(bytes)) }
}

impl Holdings {
    /// Makes an empty account with a bound for each kind.
    pub(super) fn new(plain: u64, large: u64) -> Holdings {
        let (plain, large) = (Shares::new(plain), Shares::new(large));
        Holdings { plain, large, owned: Slab::new(), further: Slab::new(), free: NONE }
    }

    /// Adds an entry that no face holds.
    #[inline]
    pub(super) fn add_entry(&mut self) {
        self.owned.push(NOTHING);
    }

    /// Adds this many entries that no face holds.
    pub(super) fn add_entries(&mut self, count: usize) {
        (0..count).for_each(|_| self.add_entry());
    }

    #[inline]
    fn shares(&mut self, kind: Kind) -> &mut Shares {
        match kind {
            Kind::Plain => &mut self.plain,
            Kind::Large => &mut self.large,
        }
    }

    #[inline]
    fn at(&mut self, number: u32) -> &mut Holding {
        match number & FURTHER {
            0 => &mut self.owned[number],
            _ => &mut self.further[number ^ FURTHER],
        }
    }

    /// Makes a face the owner of an entry without owner.
    #[inline]
    pub(super) fn own(&mut self, entry: u32, face: FaceId, kind: Kind, bytes: u32) {
        self.make_room_for(face);
        self.owned[entry] = Holding { face, entry, bytes, kind, ..NOTHING };
        self.shares(kind).charge(face, bytes);
        self.push_newest(entry);
    }

    /// Adds a face that waits for another face's entry. Returns the number of the holding.
    pub(super) fn join(&mut self, entry: u32, face: FaceId, bytes: u32) -> u32 {
        self.make_room_for(face);
        let holding = Holding { face, entry, bytes, kind: Kind::Large, ..NOTHING };
        let place = match self.further.get_mut(self.free) {
            Some(free) => {
                let place = core::mem::replace(&mut self.free, free.newer);
                *free = holding;
                place
            }
            None => self.further.push(holding),
        };
        let number = place | FURTHER;
        self.large.charge(face, bytes);
        self.push_newest(number);
        number
    }

    /// Changes the owner's charge for an entry.
    pub(super) fn recharge(&mut self, entry: u32, kind: Kind, bytes: u32) {
        let owned = self.owned[entry];
        if owned.bytes == 0 || (owned.kind == kind && owned.bytes == bytes) {
            return;
        }
        self.disown(entry);
        self.own(entry, owned.face, kind, bytes);
    }

    /// Removes the owner of the entry.
    #[inline]
    pub(super) fn disown(&mut self, entry: u32) {
        if self.owned[entry].bytes > 0 {
            self.discharge(entry);
        }
    }

    /// Removes the holding of a face that no longer waits.
    pub(super) fn leave(&mut self, number: u32) {
        self.discharge(number);
        self.at(number).newer = self.free;
        self.free = number ^ FURTHER;
    }

    #[inline]
    fn discharge(&mut self, number: u32) {
        self.unlink(number);
        let holding = self.at(number);
        let (face, kind, bytes) = (holding.face, holding.kind, core::mem::take(&mut holding.bytes));
        self.shares(kind).discharge(face, bytes);
    }

    /// Makes a holding the newest of its face again.
    #[inline]
    pub(super) fn renew(&mut self, number: u32) {
        if self.at(number).newer != NONE {
            self.unlink(number);
            self.push_newest(number);
        }
    }

    /// Makes a holding the first that its face loses.
    pub(super) fn put_first(&mut self, number: u32) {
        let Holding { face, kind, bytes, .. } = *self.at(number);
        if bytes == 0 {
            return;
        }
        self.unlink(number);
        let share = &mut self.shares(kind).of[face.0 as usize];
        let next = core::mem::replace(&mut share.oldest, number);
        match next {
            NONE => share.newest = number,
            next => self.at(next).older = number,
        }
        let holding = self.at(number);
        (holding.older, holding.newer) = (NONE, next);
    }

    /// The entry and the face that lose first while a bound is exceeded.
    #[inline]
    pub(super) fn first_to_lose(&mut self) -> Option<(u32, FaceId)> {
        let number = self.plain.first_to_lose().or_else(|| self.large.first_to_lose())?;
        let holding = self.at(number);
        Some((holding.entry, holding.face))
    }

    /// The oldest entry that a face holds or waits for.
    pub(super) fn oldest_of(&mut self, face: FaceId) -> Option<u32> {
        let oldest = |shares: &Shares| {
            shares.of.get(face.0 as usize).map(|share| share.oldest).filter(|&oldest| oldest != NONE)
        };
        let number = oldest(&self.plain).or_else(|| oldest(&self.large))?;
        Some(self.at(number).entry)
    }

    /// Bytes charged to a face.
    pub(super) fn held_by(&self, face: FaceId) -> u64 {
        [&self.plain, &self.large]
            .into_iter()
            .filter_map(|shares| shares.of.get(face.0 as usize))
            .map(|share| share.bytes)
            .sum()
    }

    /// Bytes charged to all faces.
    pub(super) fn held(&self) -> u64 {
        self.plain.held + self.large.held
    }

    #[inline]
    fn make_room_for(&mut self, face: FaceId) {
        if face.0 as usize >= self.plain.of.len() {
            let none = Share { bytes: 0, oldest: NONE, newest: NONE };
            self.plain.of.resize(face.0 as usize + 1, none);
            self.large.of.resize(face.0 as usize + 1, none);
        }
    }

    #[inline]
    fn push_newest(&mut self, number: u32) {
        let Holding { face, kind, .. } = *self.at(number);
        let share = &mut self.shares(kind).of[face.0 as usize];
        let before = core::mem::replace(&mut share.newest, number);
        match before {
            NONE => share.oldest = number,
            before => self.at(before).newer = number,
        }
        let holding = self.at(number);
        (holding.older, holding.newer) = (before, NONE);
    }

    #[inline]
    fn unlink(&mut self, number: u32) {
        let Holding { older, newer, face, kind, .. } = *self.at(number);
        match older {
            NONE => self.shares(kind).of[face.0 as usize].oldest = newer,
            older => self.at(older).newer = newer,
        }
        match newer {
            NONE => self.shares(kind).of[face.0 as usize].newest = older,
            newer => self.at(newer).older = older,
        }
    }
}
