//! The routing information base: routes, and the FIB that follows from them.
//!
//! An entry of the FIB has the next hops of the routes to its prefix. Of routes to shorter prefixes it
//! has those that are child-inherit, unless a route to it, or to a prefix between, is a capture. Of
//! several routes to one face, those to the longest prefix count, and of these the cheapest. Next hops of
//! equal cost stand in the order of their prefixes, the longest first, then in that of their faces. Only
//! prefixes that have routes have FIB entries: what is longer finds the longest of them.
//!
//! Entries have places, as small as they can be: a million routes are no rarity. An index has the places by name, in the
//! order of the bytes: the prefixes below one stand right behind it. An entry has no allocation of its own, since packets
//! would wait while the allocator joins those of a million that have gone.
//!
//! What concerns many prefixes is done in parts, with packets in between: the routes of a face that is gone, and whatever
//! changes below a prefix.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use smallvec::SmallVec;
use weir_core::tables::blocks::Blocks;
use weir_core::tables::runs::{Run, Runs};
use weir_core::tables::slab::Slab;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hop {
    face: FaceNumber,
    origin: u64,
    cost: u64,
    flags: RouteFlags,
    expires: Time,
}

/// Where an entry is in the table; used again after a removal.
pub(super) type Place = u32;

/// Prefixes up to this long, bytes, are kept in place.
const IN_PLACE: usize = 40;

/// A prefix with routes. Most have one.
#[derive(Debug, Default)]
struct Entry {
    /// The value of its Name element.
    prefix: Run<u8, IN_PLACE>,
    /// By face and origin.
    routes: Run<Hop, 1>,
    /// What the FIB was last told, in this order: faces and costs. Those of equal cost are in this order there, too.
    next_hops: Run<(FaceNumber, u64), 1>,
}

/// Entries by place, with those of their lists that are long.
#[derive(Debug, Default)]
struct Entries {
    entries: Slab<Entry>,
    /// Places without an entry.
    free: Slab<Place>,
    prefixes: Runs<u8>,
    routes: Runs<Hop>,
    next_hops: Runs<(FaceNumber, u64)>,
}

impl Entries {
    const fn new() -> Entries {
        Entries {
            entries: Slab::new(),
            free: Slab::new(),
            prefixes: Runs::new(),
            routes: Runs::new(),
            next_hops: Runs::new(),
        }
    }

    /// A new entry, without routes.
    fn add(&mut self, prefix: &Name) -> Place {
        let prefix = Run::new(prefix.value(), &mut self.prefixes);
        let entry = Entry { prefix, ..Entry::default() };
        match self.free.pop() {
            Some(place) => {
                self.entries[place] = entry;
                place
            }
            None => self.entries.push(entry),
        }
    }

    fn remove(&mut self, place: Place) {
        let entry = &mut self.entries[place];
        entry.prefix.clear(&mut self.prefixes);
        entry.routes.clear(&mut self.routes);
        entry.next_hops.clear(&mut self.next_hops);
        self.free.push(place);
    }

    fn prefix(&self, place: Place) -> &[u8] {
        self.entries[place].prefix.values(&self.prefixes)
    }

    fn name(&self, place: Place) -> NameRef<'_> {
        NameRef::from_value(self.prefix(place)).unwrap_or(NameRef::ROOT)
    }

    fn routes(&self, place: Place) -> &[Hop] {
        self.entries[place].routes.values(&self.routes)
    }

    fn next_hops(&self, place: Place) -> &[(FaceNumber, u64)] {
        self.entries[place].next_hops.values(&self.next_hops)
    }

    /// Puts a route behind those that are less.
    fn add_route(&mut self, place: Place, hop: Hop) {
        let key = (hop.face, hop.origin);
        let at = self.routes(place).partition_point(|other| (other.face, other.origin) < key);
        self.entries[place].routes.insert(at, hop, &mut self.routes);
    }

    fn take_route(&mut self, place: Place, face: FaceNumber, origin: u64) -> Option<Hop> {
        let routes = self.routes(place);
        let at = routes.iter().position(|hop| (hop.face, hop.origin) == (face, origin))?;
        let hop = routes[at];
        self.entries[place].routes.remove(at, &mut self.routes);
        Some(hop)
    }

    /// The FIB has these.
    fn set_next_hops(&mut self, place: Place, told: &[(FaceNumber, u64)]) {
        let entry = &mut self.entries[place];
        entry.next_hops.clear(&mut self.next_hops);
        entry.next_hops = Run::new(told, &mut self.next_hops);
    }

    fn has_capture(&self, place: Place) -> bool {
        self.routes(place).iter().any(|hop| hop.flags.capture)
    }

    fn concerns_longer_prefixes(&self, place: Place) -> bool {
        self.routes(place).iter().any(|hop| hop.flags.capture || hop.flags.child_inherit)
    }

    /// Compares an entry's prefix with a name.
    fn order<'a>(&'a self, name: &'a [u8]) -> impl Fn(Place) -> Ordering + 'a {
        move |place| self.prefix(place).cmp(name)
    }
}

/// The routing information base.
#[derive(Debug)]
pub struct Rib {
    entries: Entries,
    /// All places, in the order of the names.
    index: Blocks,
    /// Entries that have routes to a face.
    by_face: BTreeMap<FaceNumber, Blocks>,
    /// Routes that expire, by when.
    expiring: BTreeSet<(Time, Place, FaceNumber, u64)>,
    routes: usize,
    max_routes: usize,
    /// Faces that are gone, whose routes are being removed.
    leaving: BTreeSet<FaceNumber>,
    /// Where the FIB has yet to follow.
    below: VecDeque<Below>,
    /// The roots of those that have not begun.
    waiting: BTreeSet<Vec<u8>>,
    /// What is left of this part, in prefixes with one next hop.
    left: usize,
    /// When the next part is done.
    resume: Time,
    /// Nothing expires before, so that packets have their turn.
    may_expire: Time,
}

/// The prefixes below one, at which the FIB has yet to follow.
#[derive(Debug)]
struct Below {
    root: Vec<u8>,
    /// It followed up to this one.
    after: Vec<u8>,
}

/// The work in a part, in prefixes with one next hop at which routes are removed or the FIB follows: see [`work`]. Packets wait
/// for that, a millisecond or so, and for the one prefix that is more than there was room for.
const AT_ONCE: usize = 256;

/// What it costs to tell the FIB of a prefix, in prefixes with one next hop: so many shorter ones were looked up for it, so many
/// next hops were found, and so many were removed or added.
const fn work(looked_up: usize, found: usize, changes: usize) -> usize {
    1 + (looked_up + changes) / 4 + found / 16
}

/// The time from one part to the next, for packets.
const PAUSE: Span = Span::from_millis(1);

impl Rib {
    /// An empty one that has room for so many routes.
    pub const fn new(max_routes: usize) -> Rib {
        Rib {
            entries: Entries::new(),
            index: Blocks::new(),
            by_face: BTreeMap::new(),
            expiring: BTreeSet::new(),
            routes: 0,
            max_routes,
            leaving: BTreeSet::new(),
            below: VecDeque::new(),
            waiting: BTreeSet::new(),
            left: AT_ONCE,
            resume: Time::NEVER,
            may_expire: Time::ZERO,
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
        self.entries_after(None).filter_map(move |place| self.status(place, now))
    }

    /// The places of the entries behind a prefix, which need not be there, in the order of their names' bytes.
    pub(super) fn entries_after<'a>(&'a self, after: Option<&'a [u8]>) -> impl Iterator<Item = Place> + 'a {
        let order =
            move |place| after.map_or(Ordering::Greater, |prefix| self.entries.prefix(place).cmp(prefix));
        self.index.after(order)
    }

    /// The value of the Name element of an entry's prefix.
    pub(super) fn prefix(&self, place: Place) -> &[u8] {
        self.entries.prefix(place)
    }

    /// What is to be told of an entry; nothing if its faces are gone.
    pub(super) fn status(&self, place: Place, now: Time) -> Option<RibStatus> {
        let routes = self.entries.routes(place).iter().filter(|hop| self.is_there(hop));
        let routes: Vec<RouteStatus> = routes.map(|hop| hop.status(now)).collect();
        let prefix = || self.entries.name(place).to_name();
        (!routes.is_empty()).then(|| RibStatus { prefix: prefix(), routes })
    }

    /// Whether a route's face is not gone.
    fn is_there(&self, hop: &Hop) -> bool {
        !self.leaving.contains(&hop.face)
    }

    /// Adds a route, or changes the one with this prefix, face and origin; the FIB follows. At many longer prefixes it
    /// follows in parts, the next ones at deadlines.
    ///
    /// # Errors
    /// [`ControlError::NoSuchFace`], [`ControlError::Full`]; then everything is as before.
    pub fn add(&mut self, route: &Route, control: &mut dyn Control) -> Result<(), ControlError> {
        if control.face(route.face).is_none() {
            return Err(ControlError::NoSuchFace);
        }
        let Route { ref prefix, face, origin, cost, flags, expires } = *route;
        if !self.has(prefix, face, origin) && !self.make_room(control) {
            return Err(ControlError::Full("RIB"));
        }
        let known = self.place(prefix.view());
        let old = known.and_then(|place| self.route(place, face, origin));
        let reached = known.is_some_and(|place| self.entries.concerns_longer_prefixes(place));
        let place = known.unwrap_or_else(|| self.new_entry(prefix));
        self.put(place, Hop { face, origin, cost, flags, expires });
        if old.is_some_and(|old| (old.cost, old.flags) == (cost, flags)) {
            return Ok(());
        }
        match self.update_one(place, control) {
            Ok(()) => {
                if reached || self.entries.concerns_longer_prefixes(place) {
                    self.update_below(prefix.value(), control);
                }
                Ok(())
            }
            Err(error) => {
                match old {
                    Some(old) => self.put(place, old),
                    None => self.take(place, face, origin),
                }
                // What was there before had room.
                let _ = self.update_one(place, control);
                Err(error)
            }
        }
    }

    /// Removes a route, if it is there; the FIB follows, as after [`Rib::add`].
    pub fn remove(&mut self, prefix: &Name, face: FaceNumber, origin: u64, control: &mut dyn Control) {
        if let Some(place) =
            self.place(prefix.view()).filter(|place| self.route(*place, face, origin).is_some())
        {
            self.remove_at(place, &[(face, origin)], control);
        }
    }

    /// Removes routes of an entry.
    fn remove_at(&mut self, place: Place, routes: &[(FaceNumber, u64)], control: &mut dyn Control) {
        let reached = self.entries.concerns_longer_prefixes(place);
        let root = reached.then(|| self.entries.prefix(place).to_vec());
        for &(face, origin) in routes {
            self.take(place, face, origin);
        }
        // Where a capture ends, entries inherit again. If the FIB has no room for that, they do without.
        let _ = self.update_one(place, control);
        if let Some(root) = root {
            self.update_below(&root, control);
        }
    }

    /// A face is gone: removes all routes to it, and the FIB follows. Many are removed in parts, the next ones at deadlines;
    /// meanwhile no Interest leaves by the face anyway.
    pub fn remove_face(&mut self, face: FaceNumber, control: &mut dyn Control) {
        if self.by_face.contains_key(&face) && self.leaving.insert(face) {
            self.begin(control);
        }
    }

    /// Has the FIB follow below a prefix: at what inherits from it, or did.
    fn update_below(&mut self, root: &[u8], control: &mut dyn Control) {
        if self.waiting.contains(root) || self.from(root, root, 1).is_empty() {
            return;
        }
        self.waiting.insert(root.to_vec());
        self.below.push_back(Below { root: root.to_vec(), after: root.to_vec() });
        self.begin(control);
    }

    /// Begins what there is to do, as far as this part has room for it.
    fn begin(&mut self, control: &mut dyn Control) {
        if self.resume == Time::NEVER {
            // What is left goes on as soon as packets had their turn. What this part finds to do does not begin another one.
            self.resume = Time::ZERO;
            self.do_part(control);
            if !self.is_behind() {
                self.resume = Time::NEVER;
            }
        }
    }

    /// Does the next part.
    fn go_on(&mut self, now: Time, control: &mut dyn Control) {
        self.left = AT_ONCE;
        self.do_part(control);
        self.resume = if self.is_behind() { now + PAUSE } else { Time::NEVER };
    }

    /// Whether there is more to do.
    fn is_behind(&self) -> bool {
        !self.below.is_empty() || !self.leaving.is_empty()
    }

    fn do_part(&mut self, control: &mut dyn Control) {
        while self.left > 0 {
            // Routes of faces that are gone have half of each part: what is changed again and again would keep them else.
            let rest = if self.leaving.is_empty() { 0 } else { AT_ONCE / 2 };
            if self.left > rest
                && let Some(below) = self.below.pop_front()
            {
                self.follow(below, rest, control);
            } else if let Some(&face) = self.leaving.first() {
                self.take_last(face, control);
            } else {
                return;
            }
        }
    }

    /// Whether there is room for a route. Routes of faces that are gone make room.
    fn make_room(&mut self, control: &mut dyn Control) -> bool {
        while self.routes >= self.max_routes
            && let Some(&face) = self.leaving.first()
        {
            self.take_last(face, control);
        }
        self.routes < self.max_routes
    }

    /// Removes the routes of one entry to a face that is gone; forgets the face if there is none.
    fn take_last(&mut self, face: FaceNumber, control: &mut dyn Control) {
        // The last place first: it is more often than not below the others, and then they have less below them.
        match self.by_face.get(&face).and_then(Blocks::last) {
            Some(place) => self.take_all(place, face, control),
            None => {
                self.leaving.remove(&face);
            }
        }
    }

    /// Removes the routes of an entry to a face.
    fn take_all(&mut self, place: Place, face: FaceNumber, control: &mut dyn Control) {
        let to_face = self.entries.routes(place).iter().filter(|hop| hop.face == face);
        let all: SmallVec<[(FaceNumber, u64); 4]> = to_face.map(|hop| (face, hop.origin)).collect();
        self.remove_at(place, &all, control);
    }

    /// Has the FIB follow at the next prefixes below one, until no more than the rest is left of the part.
    fn follow(&mut self, mut below: Below, rest: usize, control: &mut dyn Control) {
        if below.after == below.root {
            self.waiting.remove(&below.root);
        }
        let most = self.left - rest;
        let places = self.from(&below.after, &below.root, most);
        // To look costs something too.
        self.left -= usize::from(places.is_empty());
        let has_more = places.len() == most;
        let mut places = places.into_iter();
        while self.left > rest
            && let Some(place) = places.next()
        {
            below.after.clear();
            below.after.extend_from_slice(self.entries.prefix(place));
            let _ = self.update_one(place, control);
        }
        if has_more || places.len() > 0 {
            self.below.push_front(below);
        }
    }

    /// The places of at most so many prefixes below a root, after this one, in the order of their bytes.
    fn from(&self, after: &[u8], root: &[u8], most: usize) -> Vec<Place> {
        let from_here = self.index.after(self.entries.order(after));
        from_here.take_while(|place| self.entries.prefix(*place).starts_with(root)).take(most).collect()
    }

    /// A prefix whose names somebody else gets, in part or in all, if this owner does not register this one: the prefix itself
    /// or a longer one with a route to another's face, or a shorter one of another application. What leads from a shorter
    /// prefix to a neighbour is in nobody's way.
    ///
    /// What many routes of faces that are gone are below counts as held, until they are removed: packets would wait for a look
    /// at all of them.
    pub(super) fn held_by_others(&self, prefix: &Name, owner: Owner, control: &dyn Control) -> Option<Name> {
        let is_others = |hop: &Hop| self.is_there(hop) && control.owner(hop.face) != owner;
        let mut gone = 0;
        let has_others = |place: &Place| {
            let routes = self.entries.routes(*place);
            gone += routes.iter().filter(|hop| !self.is_there(hop)).count();
            gone > AT_ONCE || routes.iter().any(is_others)
        };
        let here = self.place(prefix.view()).into_iter();
        let below = self.index.after(self.entries.order(prefix.value()));
        let mut below = below.take_while(|place| self.entries.prefix(*place).starts_with(prefix.value()));
        if let Some(held) = here.chain(&mut below).find(has_others) {
            return Some(self.entries.name(held).to_name());
        }
        let is_applications = |hop: &Hop| is_others(hop) && control.owner(hop.face) != Owner::Neighbour;
        let mut shorter = prefix.view().prefixes().filter_map(|prefix| self.place(prefix));
        let above = shorter.find(|place| self.entries.routes(*place).iter().any(is_applications));
        above.map(|place| self.entries.name(place).to_name())
    }

    /// How many routes lead to the faces of an owner.
    pub(super) fn routes_of(&self, owner: Owner, control: &dyn Control) -> usize {
        let faces = self.by_face.iter().filter(|(face, _)| control.owner(**face) == owner);
        let to = |face: FaceNumber, place: Place| {
            self.entries.routes(place).iter().filter(|hop| hop.face == face).count()
        };
        faces.map(|(face, places)| places.iter().map(|place| to(*face, place)).sum::<usize>()).sum()
    }

    /// Whether there is a route of this prefix, face and origin.
    pub(super) fn has(&self, prefix: &Name, face: FaceNumber, origin: u64) -> bool {
        self.place(prefix.view()).is_some_and(|place| self.route(place, face, origin).is_some())
    }

    /// When the next route expires, or the next part is done: of the routes of faces that are gone, or of what the FIB has to
    /// follow below a prefix.
    pub fn next_deadline(&self) -> Time {
        let expires = self.expiring.first().map_or(Time::NEVER, |(time, ..)| *time);
        expires.max(self.may_expire).min(self.resume)
    }

    /// Removes routes that have expired, and does the next part if it is time: removes routes of faces that are gone, and has
    /// the FIB follow below prefixes.
    pub fn expire(&mut self, now: Time, control: &mut dyn Control) {
        if self.resume <= now {
            self.go_on(now, control);
        }
        if self.may_expire <= now {
            self.left = AT_ONCE;
            self.expire_some(now, control);
        }
    }

    /// Removes routes that have expired, as many as a part has room for: the others wait for packets, too. Fewer if the FIB has
    /// much to follow already, but one in any case.
    fn expire_some(&mut self, now: Time, control: &mut dyn Control) {
        while let Some(&(_, place, face, origin)) = self.expiring.first().filter(|first| first.0 <= now) {
            self.remove_at(place, &[(face, origin)], control);
            if self.left == 0 || self.below.len() >= AT_ONCE {
                self.may_expire = now + PAUSE;
                return;
            }
        }
    }

    /// Where the entry of a prefix is.
    fn place(&self, prefix: NameRef<'_>) -> Option<Place> {
        self.index.find(self.entries.order(prefix.value()))
    }

    /// The route of an entry with this face and origin.
    fn route(&self, place: Place, face: FaceNumber, origin: u64) -> Option<Hop> {
        self.entries.routes(place).iter().find(|hop| (hop.face, hop.origin) == (face, origin)).copied()
    }

    fn new_entry(&mut self, prefix: &Name) -> Place {
        let place = self.entries.add(prefix);
        self.index.insert(place, self.entries.order(prefix.value()));
        place
    }

    /// Puts a route into an entry, in the place of the one with the same key.
    fn put(&mut self, place: Place, hop: Hop) {
        let Hop { face, origin, expires, .. } = hop;
        self.take(place, face, origin);
        self.entries.add_route(place, hop);
        self.by_face.entry(face).or_default().insert(place, |other| other.cmp(&place));
        if expires != Time::NEVER {
            self.expiring.insert((expires, place, face, origin));
        }
        self.routes += 1;
    }

    /// Takes a route out of the tables. Its entry stays, until the FIB has followed.
    fn take(&mut self, place: Place, face: FaceNumber, origin: u64) {
        let Some(hop) = self.entries.take_route(place, face, origin) else { return };
        self.routes -= 1;
        if hop.expires != Time::NEVER {
            self.expiring.remove(&(hop.expires, place, face, origin));
        }
        if self.entries.routes(place).iter().all(|hop| hop.face != face)
            && let Some(places) = self.by_face.get_mut(&face)
        {
            places.remove(|other| other.cmp(&place));
            if places.is_empty() {
                self.by_face.remove(&face);
            }
        }
    }

    /// Tells the FIB what is different at one prefix. Goes on after an error, and gives the first.
    fn update_one(&mut self, place: Place, control: &mut dyn Control) -> Result<(), ControlError> {
        let (wanted, looked_up) = self.next_hops(place);
        let prefix = self.entries.name(place).to_name();
        let told = self.entries.next_hops(place);
        let Difference { gone, new } = difference(told, &wanted);
        self.left = self.left.saturating_sub(work(looked_up, wanted.len(), gone.len() + new.len()));
        for &face in &gone {
            control.remove_next_hop(&prefix, face);
        }
        let (mut result, mut added) = (Ok(()), NextHops::new());
        for (face, cost) in new {
            match control.add_next_hop(&prefix, face, cost) {
                Ok(()) => added.push((face, cost)),
                Err(error) => result = result.and(Err(error)),
            }
        }
        if !gone.is_empty() || !added.is_empty() {
            let moved = sorted(gone.into_iter().chain(added.iter().map(|hop| hop.0)));
            let stay = told.iter().filter(|hop| moved.binary_search(&hop.0).is_err());
            let told: NextHops = stay.chain(&added).copied().collect();
            self.entries.set_next_hops(place, &told);
        }
        if self.entries.routes(place).is_empty() {
            self.index.remove(self.entries.order(prefix.value()));
            self.entries.remove(place);
        }
        result
    }

    /// The next hops of a prefix's FIB entry: none without routes of its own. And how many shorter prefixes were looked up.
    fn next_hops(&self, place: Place) -> (NextHops, usize) {
        let (mut hops, mut place) = (NextHops::new(), place);
        let is_there = |hop: &&Hop| self.is_there(hop);
        let own = self.entries.routes(place);
        if own.is_empty() {
            return (hops, 0);
        }
        take_cheapest(&mut hops, own.iter().filter(is_there));
        let shorter: SmallVec<[NameRef<'_>; 16]> = self.entries.name(place).prefixes().collect();
        let mut shorter = shorter.iter().rev().skip(1);
        let all = shorter.len();
        while !self.entries.has_capture(place) {
            let Some(found) = shorter.find_map(|prefix| self.place(*prefix)) else { break };
            place = found;
            let inherited = self.entries.routes(place).iter().filter(|hop| hop.flags.child_inherit);
            take_cheapest(&mut hops, inherited.filter(is_there));
        }
        keep_first_of_each_face(&mut hops);
        (hops, all - shorter.len())
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

/// Adds the cheapest route of each face, those of one prefix. Routes are in the order of their faces.
fn take_cheapest<'a>(hops: &mut NextHops, routes: impl Iterator<Item = &'a Hop>) {
    let nearer = hops.len();
    for route in routes {
        match hops[nearer..].last_mut().filter(|hop| hop.0 == route.face) {
            Some(hop) => hop.1 = hop.1.min(route.cost),
            None => hops.push((route.face, route.cost)),
        }
    }
}

/// Of several next hops by one face keeps the first. The order stays.
fn keep_first_of_each_face(hops: &mut NextHops) {
    let mut first = sorted(hops.iter().enumerate().map(|(at, hop)| (hop.0, at)));
    first.dedup_by_key(|hop| hop.0);
    if first.len() < hops.len() {
        let places = sorted(first.into_iter().map(|(_, at)| at));
        *hops = places.into_iter().map(|at| hops[at]).collect();
    }
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> SmallVec<[T; 4]> {
    let mut values: SmallVec<[T; 4]> = values.collect();
    values.sort_unstable();
    values
}

/// What a FIB entry needs to become what is wanted.
struct Difference {
    /// Faces that it has no more.
    gone: SmallVec<[FaceNumber; 4]>,
    /// What is to be added, in this order, be it only to stand behind others of its cost.
    new: NextHops,
}

/// The FIB sorts by cost, and adds a next hop behind those of equal cost. Among these, all behind the first difference are added
/// again.
fn difference(told: &[(FaceNumber, u64)], wanted: &NextHops) -> Difference {
    let by_face = sorted(wanted.iter().copied());
    let is_wanted = |face: FaceNumber| by_face.binary_search_by_key(&face, |hop| hop.0).is_ok();
    let gone = told.iter().map(|hop| hop.0).filter(|face| !is_wanted(*face)).collect();
    let stay = by_cost(told.iter().filter(|hop| by_face.binary_search(hop).is_ok()));
    let (mut stay, mut new, mut differs_at) = (stay.into_iter().peekable(), NextHops::new(), None);
    for hop in by_cost(wanted.iter()) {
        while stay.next_if(|other| other.1 < hop.1).is_some() {}
        if differs_at == Some(hop.1) || stay.next_if_eq(&hop).is_none() {
            differs_at = Some(hop.1);
            new.push(hop);
        }
    }
    Difference { gone, new }
}

/// Next hops by cost, those of equal cost as they were.
fn by_cost<'a>(hops: impl Iterator<Item = &'a (FaceNumber, u64)>) -> NextHops {
    let mut hops: NextHops = hops.copied().collect();
    hops.sort_by_key(|hop| hop.1);
    hops
}
