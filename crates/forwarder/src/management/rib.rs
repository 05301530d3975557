//! The routing information base: routes, and the FIB that follows from them.
//!
//! An entry of the FIB has the next hops of the routes to its prefix. Of routes to shorter prefixes it
//! has those that are child-inherit, unless a route to it, or to a prefix between, is a capture. Of
//! several routes to one face, those to the longest prefix count, and of these the cheapest. Next hops of
//! equal cost stand in the order of their prefixes, the longest first, then in that of their faces. Only
//! prefixes that have routes have FIB entries: what is longer finds the longest of them.
//!
//! Entries have places, as small as they can be: a million routes are no rarity. An index has the places by name, in the
//! order of the bytes: the prefixes below one stand right behind it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;
use weir_core::units::{Span, Time};
use weir_packet::{Name, NameRef};

use crate::control::{Control, ControlError, Owner};
use weir_management::dataset::{RibStatus, RouteFlags, RouteStatus};
use weir_management::status::FaceNumber;

/// A route to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Names that begin with it take this route.
    pub prefix: Name,
    /// The face by which their Interests leave.
    pub face: FaceNumber,
    /// Who made it: see [`weir_management::origin`].
    pub origin: u64,
    /// Cost: less is better.
    pub cost: u64,
    /// What it means for longer prefixes.
    pub flags: RouteFlags,
    /// When it is removed; [`Time::NEVER`] if it stays.
    pub expires: Time,
}

/// A route without its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    face: FaceNumber,
    origin: u64,
    cost: u64,
    flags: RouteFlags,
    expires: Time,
}

/// Where an entry is in the table; used again after a removal.
type Place = u32;

/// A prefix with routes. Most have one.
#[derive(Debug, Default)]
struct Entry {
    /// The value of its Name element; the index shares it.
    prefix: Arc<[u8]>,
    /// By face and origin.
    routes: SmallVec<[Hop; 1]>,
    /// What the FIB was last told, in this order.
    next_hops: SmallVec<[(FaceNumber, u64); 1]>,
}

impl Entry {
    fn view(&self) -> NameRef<'_> {
        view(&self.prefix)
    }

    fn has_capture(&self) -> bool {
        self.routes.iter().any(|hop| hop.flags.capture)
    }

    fn concerns_longer_prefixes(&self) -> bool {
        self.routes.iter().any(|hop| hop.flags.capture || hop.flags.child_inherit)
    }
}

/// A prefix of the index as a name.
fn view(prefix: &[u8]) -> NameRef<'_> {
    NameRef::from_value(prefix).unwrap_or(NameRef::ROOT)
}

/// The routing information base.
#[derive(Debug)]
pub struct Rib {
    entries: Vec<Entry>,
    /// Places without an entry.
    free: Vec<Place>,
    index: BTreeMap<Arc<[u8]>, Place>,
    /// Entries that have routes to a face.
    by_face: BTreeMap<FaceNumber, BTreeSet<Place>>,
    /// Routes that expire, by when.
    expiring: BTreeSet<(Time, Place, FaceNumber, u64)>,
    routes: usize,
    max_routes: usize,
    /// Faces that are gone, whose routes are being removed.
    leaving: VecDeque<FaceNumber>,
    /// Where the FIB follows meanwhile.
    below: Option<Below>,
    /// When the next part of this is done.
    resume: Time,
}

/// Where the FIB has yet to follow.
#[derive(Debug)]
struct Below {
    /// At this prefix, and below.
    root: Arc<[u8]>,
    /// Not below.
    is_alone: bool,
    /// The last that it followed at, if it has begun.
    after: Option<Arc<[u8]>>,
}

/// Prefixes at which routes are removed at once, or at which the FIB follows: packets wait for that, a millisecond or so.
const AT_ONCE: usize = 256;

/// The time from one part to the next.
const PAUSE: Span = Span::from_millis(1);

impl Rib {
    /// An empty one that has room for so many routes.
    pub const fn new(max_routes: usize) -> Rib {
        Rib {
            entries: Vec::new(),
            free: Vec::new(),
            index: BTreeMap::new(),
            by_face: BTreeMap::new(),
            expiring: BTreeSet::new(),
            routes: 0,
            max_routes,
            leaving: VecDeque::new(),
            below: None,
            resume: Time::NEVER,
        }
    }

    /// Number of routes.
    pub const fn len(&self) -> usize {
        self.routes
    }

    /// Whether there is no route.
    pub const fn is_empty(&self) -> bool {
        self.routes == 0
    }

    /// All entries in the order of their names' bytes; `now` is for what expires.
    pub fn list(&self, now: Time) -> impl Iterator<Item = RibStatus> + '_ {
        let entries = self.index.values().map(|place| &self.entries[*place as usize]);
        let all = entries.map(move |entry| RibStatus {
            prefix: entry.view().to_name(),
            routes: entry.routes.iter().filter(|hop| self.is_there(hop)).map(|hop| hop.status(now)).collect(),
        });
        all.filter(|entry| !entry.routes.is_empty())
    }

    /// Whether a route's face is not gone.
    fn is_there(&self, hop: &Hop) -> bool {
        !self.leaving.contains(&hop.face)
    }

    /// Adds a route, or changes the one with this prefix, face and origin; the FIB follows.
    ///
    /// # Errors
    /// [`ControlError::NoSuchFace`], [`ControlError::Full`]; then everything is as before.
    pub fn add(&mut self, route: &Route, control: &mut dyn Control) -> Result<(), ControlError> {
        if control.face(route.face).is_none() {
            return Err(ControlError::NoSuchFace);
        }
        let Route { ref prefix, face, origin, cost, flags, expires } = *route;
        let old = self.find(prefix, face, origin).map(|(_, hop)| hop);
        if old.is_none() && self.routes >= self.max_routes {
            return Err(ControlError::Full("RIB"));
        }
        let reaches = self.entry(prefix).is_some_and(Entry::concerns_longer_prefixes);
        let place = self.insert(prefix, Hop { face, origin, cost, flags, expires });
        if old.is_some_and(|old| (old.cost, old.flags) == (cost, flags)) {
            return Ok(());
        }
        self.update(place, reaches, control).inspect_err(|_| {
            match old {
                Some(old) => self.put(place, old),
                None => self.take(place, face, origin),
            }
            // What was there before had room.
            let _ = self.update(place, true, control);
        })
    }

    /// Removes a route, if it is there; the FIB follows.
    pub fn remove(&mut self, prefix: &Name, face: FaceNumber, origin: u64, control: &mut dyn Control) {
        if let Some((place, _)) = self.find(prefix, face, origin) {
            self.remove_at(place, face, origin, control);
        }
    }

    fn remove_at(&mut self, place: Place, face: FaceNumber, origin: u64, control: &mut dyn Control) {
        let reached = self.entries[place as usize].concerns_longer_prefixes();
        self.take(place, face, origin);
        // Where a capture ends, entries inherit again. If the FIB has no room for that, they do without.
        let _ = self.update(place, reached, control);
    }

    /// A face is gone: removes all routes to it, and the FIB follows. Many are removed in parts, the next ones at deadlines;
    /// meanwhile no Interest leaves by the face anyway.
    pub fn remove_face(&mut self, face: FaceNumber, now: Time, control: &mut dyn Control) {
        if self.by_face.contains_key(&face) && !self.leaving.contains(&face) {
            self.leaving.push_back(face);
            if self.resume == Time::NEVER {
                self.go_on(now, control);
            }
        }
    }

    /// Removes the next routes to faces that are gone.
    fn go_on(&mut self, now: Time, control: &mut dyn Control) {
        let mut left = AT_ONCE;
        while left > 0 {
            if let Some(below) = self.below.take() {
                left -= self.follow(below, left, control);
            } else if let Some(&face) = self.leaving.front() {
                // The last place first: it is more often than not below the others, and then they have less below them.
                if let Some(&place) = self.by_face.get(&face).and_then(BTreeSet::last) {
                    self.take_all(place, face);
                } else {
                    self.leaving.pop_front();
                    left -= 1;
                }
            } else {
                self.resume = Time::NEVER;
                return;
            }
        }
        self.resume = now + PAUSE;
    }

    /// Removes the routes of an entry to a face. The FIB is yet to follow.
    fn take_all(&mut self, place: Place, face: FaceNumber) {
        let entry = &self.entries[place as usize];
        let is_alone = !entry.concerns_longer_prefixes();
        self.below = Some(Below { root: Arc::clone(&entry.prefix), is_alone, after: None });
        let to_face = entry.routes.iter().filter(|hop| hop.face == face);
        let origins: SmallVec<[u64; 4]> = to_face.map(|hop| hop.origin).collect();
        for origin in origins {
            self.take(place, face, origin);
        }
    }

    /// Has the FIB follow at so many prefixes at most; says at how many it did, at least one: to look costs something too.
    fn follow(&mut self, mut below: Below, most: usize, control: &mut dyn Control) -> usize {
        let start = below.after.as_deref().map_or(Bound::Included(&*below.root), Bound::Excluded);
        let most = if below.is_alone { 1 } else { most };
        let places = self.from(start, &below.root, most);
        if places.len() == most && !below.is_alone {
            below.after = places.last().map(|place| Arc::clone(&self.entries[*place as usize].prefix));
            self.below = Some(below);
        }
        for place in &places {
            let _ = self.update_one(*place, control);
        }
        places.len().max(1)
    }

    /// The places of at most so many prefixes below a root, from one on, in the order of their bytes.
    fn from(&self, start: Bound<&[u8]>, root: &[u8], most: usize) -> Vec<Place> {
        let from_here = self.index.range::<[u8], _>((start, Bound::Unbounded));
        from_here.take_while(|(name, _)| name.starts_with(root)).take(most).map(|(_, place)| *place).collect()
    }

    /// A prefix whose names somebody else gets, in part or in all, if this owner does not register this one: the prefix itself
    /// or a longer one with a route to another's face, or a shorter one of another application. What leads from a shorter
    /// prefix to a neighbour is in nobody's way.
    pub(super) fn held_by_others(&self, prefix: &Name, owner: Owner, control: &dyn Control) -> Option<Name> {
        let is_others = |hop: &Hop| self.is_there(hop) && control.owner(hop.face) != owner;
        let all = self.index.range::<[u8], _>((Bound::Included(prefix.value()), Bound::Unbounded));
        let below = all.take_while(|(name, _)| name.starts_with(prefix.value()));
        let mut below = below.map(|(_, place)| &self.entries[*place as usize]);
        if let Some(held) = below.find(|entry| entry.routes.iter().any(is_others)) {
            return Some(held.view().to_name());
        }
        let is_applications = |hop: &Hop| is_others(hop) && control.owner(hop.face) != Owner::Neighbour;
        let mut shorter = prefix.view().prefixes().filter_map(|prefix| self.at(prefix));
        let above = shorter.find(|entry| entry.routes.iter().any(is_applications));
        above.map(|entry| entry.view().to_name())
    }

    /// How many routes lead to the faces of an owner.
    pub(super) fn routes_of(&self, owner: Owner, control: &dyn Control) -> usize {
        let faces = self.by_face.iter().filter(|(face, _)| control.owner(**face) == owner);
        let to = |face: FaceNumber, place: Place| {
            self.entries[place as usize].routes.iter().filter(|hop| hop.face == face).count()
        };
        faces.map(|(face, places)| places.iter().map(|place| to(*face, *place)).sum::<usize>()).sum()
    }

    /// Whether there is a route of this prefix, face and origin.
    pub(super) fn has(&self, prefix: &Name, face: FaceNumber, origin: u64) -> bool {
        self.find(prefix, face, origin).is_some()
    }

    /// When the next route expires, or the next routes of faces that are gone are removed.
    pub fn next_deadline(&self) -> Time {
        self.expiring.first().map_or(Time::NEVER, |(time, ..)| *time).min(self.resume)
    }

    /// Removes routes that have expired, or whose faces are gone; the FIB follows.
    pub fn expire(&mut self, now: Time, control: &mut dyn Control) {
        if self.resume <= now {
            self.go_on(now, control);
        }
        // What is more than this expires in the next round.
        for _ in 0..AT_ONCE {
            let Some(&(_, place, face, origin)) = self.expiring.first().filter(|first| first.0 <= now) else {
                return;
            };
            self.remove_at(place, face, origin, control);
        }
    }

    fn at(&self, prefix: NameRef<'_>) -> Option<&Entry> {
        self.index.get(prefix.value()).map(|place| &self.entries[*place as usize])
    }

    fn entry(&self, prefix: &Name) -> Option<&Entry> {
        self.at(prefix.view())
    }

    fn find(&self, prefix: &Name, face: FaceNumber, origin: u64) -> Option<(Place, Hop)> {
        let place = *self.index.get(prefix.value())?;
        let hops = &self.entries[place as usize].routes;
        Some((place, *hops.iter().find(|hop| (hop.face, hop.origin) == (face, origin))?))
    }

    /// Puts a route into the tables, in the place of the one with the same key. Where its entry is.
    fn insert(&mut self, prefix: &Name, hop: Hop) -> Place {
        let place = match self.index.get(prefix.value()) {
            Some(place) => *place,
            None => self.new_entry(prefix),
        };
        self.put(place, hop);
        place
    }

    fn new_entry(&mut self, prefix: &Name) -> Place {
        let place = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry::default());
            self.entries.len() as Place - 1
        });
        let prefix: Arc<[u8]> = prefix.value().into();
        self.entries[place as usize].prefix = Arc::clone(&prefix);
        self.index.insert(prefix, place);
        place
    }

    /// Puts a route into an entry, in the place of the one with the same key.
    fn put(&mut self, place: Place, hop: Hop) {
        let Hop { face, origin, expires, .. } = hop;
        self.take(place, face, origin);
        let routes = &mut self.entries[place as usize].routes;
        let at = routes.partition_point(|hop| (hop.face, hop.origin) < (face, origin));
        routes.insert(at, hop);
        self.by_face.entry(face).or_default().insert(place);
        if expires != Time::NEVER {
            self.expiring.insert((expires, place, face, origin));
        }
        self.routes += 1;
    }

    /// Takes a route out of the tables. Its entry stays, until the FIB has followed.
    fn take(&mut self, place: Place, face: FaceNumber, origin: u64) {
        let entry = &mut self.entries[place as usize];
        let Some(at) = entry.routes.iter().position(|hop| (hop.face, hop.origin) == (face, origin)) else {
            return;
        };
        let hop = entry.routes.remove(at);
        self.routes -= 1;
        if hop.expires != Time::NEVER {
            self.expiring.remove(&(hop.expires, place, face, origin));
        }
        if entry.routes.iter().all(|hop| hop.face != face)
            && let Some(places) = self.by_face.get_mut(&face)
        {
            places.remove(&place);
            if places.is_empty() {
                self.by_face.remove(&face);
            }
        }
    }

    /// Has the FIB follow at a prefix and, if routes to it matter or `reached` below, at longer ones.
    /// Goes on after an error, and gives the first.
    fn update(&mut self, place: Place, reached: bool, control: &mut dyn Control) -> Result<(), ControlError> {
        let entry = &self.entries[place as usize];
        if !reached && !entry.concerns_longer_prefixes() {
            return self.update_one(place, control);
        }
        let root = &entry.prefix;
        let mut result = Ok(());
        for place in self.from(Bound::Included(root), root, usize::MAX) {
            let updated = self.update_one(place, control);
            result = result.and(updated);
        }
        result
    }

    /// Tells the FIB what is different at one prefix.
    fn update_one(&mut self, place: Place, control: &mut dyn Control) -> Result<(), ControlError> {
        let wanted = self.next_hops(place);
        let entry = &mut self.entries[place as usize];
        let prefix = entry.view().to_name();
        entry.next_hops.retain(|&mut (face, _)| {
            let stays = wanted.iter().any(|hop| hop.0 == face);
            if !stays {
                control.remove_next_hop(&prefix, face);
            }
            stays
        });
        let mut result = Ok(());
        // The FIB has those of equal cost as they were added: from the first difference on, all are added again.
        let same = entry.next_hops.iter().zip(&wanted).take_while(|(told, wanted)| told == wanted).count();
        for &(face, cost) in &wanted[same..] {
            let added = control.add_next_hop(&prefix, face, cost);
            if added.is_ok() {
                entry.next_hops.retain(|hop| hop.0 != face);
                entry.next_hops.push((face, cost));
            }
            result = result.and(added);
        }
        if entry.routes.is_empty() {
            self.index.remove(&entry.prefix);
            *entry = Entry::default();
            self.free.push(place);
        }
        result
    }

    /// The next hops of a prefix's FIB entry: none without routes of its own.
    fn next_hops(&self, place: Place) -> NextHops {
        let mut hops = NextHops::new();
        let mut entry = &self.entries[place as usize];
        if entry.routes.is_empty() {
            return hops;
        }
        let is_there = |hop: &&Hop| self.is_there(hop);
        take_cheapest(&mut hops, entry.routes.iter().filter(is_there));
        let shorter: SmallVec<[NameRef<'_>; 16]> = entry.view().prefixes().collect();
        let mut shorter = shorter.iter().rev().skip(1);
        while !entry.has_capture() {
            let Some(found) = shorter.find_map(|prefix| self.at(*prefix)) else { break };
            entry = found;
            let inherited = entry.routes.iter().filter(|hop| hop.flags.child_inherit);
            take_cheapest(&mut hops, inherited.filter(is_there));
        }
        hops
    }
}

/// The prefix's own by face, then inherited ones, those of the longest prefix first.
type NextHops = SmallVec<[(FaceNumber, u64); 4]>;

impl Hop {
    fn status(&self, now: Time) -> RouteStatus {
        let expires = (self.expires != Time::NEVER).then_some(self.expires);
        RouteStatus {
            face: self.face,
            origin: self.origin,
            cost: self.cost,
            flags: self.flags,
            expires_in_ms: expires.map(|at| at.since(now).as_nanos() / Span::from_millis(1).as_nanos()),
        }
    }
}

/// Adds the cheapest route of each face that is not there yet. Routes are in the order of their faces.
fn take_cheapest<'a>(hops: &mut NextHops, routes: impl Iterator<Item = &'a Hop>) {
    let nearer = hops.len();
    for route in routes {
        if hops[..nearer].iter().any(|hop| hop.0 == route.face) {
            continue;
        }
        match hops[nearer..].iter_mut().find(|hop| hop.0 == route.face) {
            Some(hop) => hop.1 = hop.1.min(route.cost),
            None => hops.push((route.face, route.cost)),
        }
    }
}
