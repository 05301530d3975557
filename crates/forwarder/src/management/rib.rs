//! The routing information base (RIB): routes, and the FIB that is computed from them.
//!
//! A FIB entry has the next hops of the routes to its prefix. It also inherits routes of shorter prefixes that are child-inherit,
//! unless it, or a prefix between, has a capture route. Among several routes to one face, the longest prefix counts, and then the
//! lowest cost. Next hops of equal cost are in the order of their prefixes, the longest first, and then of their faces. Only
//! prefixes with routes have FIB entries: longer names match the longest of them.
//!
//! Entries are as small as possible, because a million routes are common. An index lists them by name, in byte order, so the
//! prefixes below another one follow it directly. An entry has no allocation of its own: freeing a million of them would delay
//! packets.
//!
//! Work on many prefixes is done in parts, with packets between them. Examples are the routes of a removed face, and any change
//! that affects the entries below a prefix.

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
    /// Names with this prefix take the route.
    pub prefix: Name,
    /// The outgoing face.
    pub face: FaceNumber,
    /// Origin of the route: see [`weir_management::origin`].
    pub origin: u64,
    /// Cost; a lower cost is better.
    pub cost: u64,
    /// Flags for longer prefixes.
    pub flags: RouteFlags,
    /// Expiry time; [`Time::NEVER`] if it does not expire.
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

/// Index of an entry in the table. It is reused after a removal.
pub(super) type Place = u32;

/// Prefixes of up to this many bytes are stored in the entry itself.
const IN_PLACE: usize = 40;

/// A prefix with routes. Most prefixes have one route.
#[derive(Debug, Default)]
struct Entry {
    /// The value of the Name element.
    prefix: Run<u8, IN_PLACE>,
    /// Routes by face and origin.
    routes: Run<Hop, 1>,
    /// The next hops last passed to the FIB: faces and costs. Those of equal cost have the same order in the FIB.
    next_hops: Run<(FaceNumber, u64), 1>,
}

/// Entries by place, with the overflow of their lists.
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

    /// Inserts a route in its order.
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

    /// Stores the next hops that the FIB has.
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
    /// All places in the order of names.
    index: Blocks,
    /// Entries that have routes to a face.
    by_face: BTreeMap<FaceNumber, Blocks>,
    /// Expiring routes by time.
    expiring: BTreeSet<(Time, Place, FaceNumber, u64)>,
    routes: usize,
    max_routes: usize,
    /// Removed faces whose routes are still being removed.
    leaving: BTreeSet<FaceNumber>,
    /// Subtrees where the FIB must still be updated.
    below: VecDeque<Below>,
    /// The roots of subtrees that have not begun.
    waiting: BTreeSet<Vec<u8>>,
    /// Remaining work of this part, in prefixes with one next hop.
    left: usize,
    /// The time of the next part.
    resume: Time,
    /// No route expires before this time, so that packets have their turn.
    may_expire: Time,
}

/// A subtree in which the FIB must still be updated.
#[derive(Debug)]
struct Below {
    root: Vec<u8>,
    /// The FIB is updated up to this prefix.
    after: Vec<u8>,
}

/// Work in one part, in prefixes with one next hop at which routes are removed or the FIB is updated: see [`work`]. Packets wait
/// for one part, which takes about a millisecond, plus one prefix that exceeds it.
const AT_ONCE: usize = 256;

/// Cost of a FIB update at a prefix, in prefixes with one next hop: the number of shorter prefixes that were examined, of next
/// hops found, and of next hops removed or added.
const fn work(looked_up: usize, found: usize, changes: usize) -> usize {
    1 + (looked_up + changes) / 4 + found / 16
}

/// Pause between two parts, for packets.
const PAUSE: Span = Span::from_millis(1);

impl Rib {
    /// An empty RIB with room for this many routes.
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

    /// All entries in byte order of names; `now` is used for expiry times.
    pub fn list(&self, now: Time) -> impl Iterator<Item = RibStatus> + '_ {
        self.entries_after(None).filter_map(move |place| self.status(place, now))
    }

    /// The places of the entries after a prefix, in byte order of names. The prefix itself need not have an entry.
    pub(super) fn entries_after<'a>(&'a self, after: Option<&'a [u8]>) -> impl Iterator<Item = Place> + 'a {
        let order =
            move |place| after.map_or(Ordering::Greater, |prefix| self.entries.prefix(place).cmp(prefix));
        self.index.after(order)
    }

    /// The value of the Name element of an entry's prefix.
    pub(super) fn prefix(&self, place: Place) -> &[u8] {
        self.entries.prefix(place)
    }

    /// The status of an entry; nothing if its faces are removed.
    pub(super) fn status(&self, place: Place, now: Time) -> Option<RibStatus> {
        let routes = self.entries.routes(place).iter().filter(|hop| self.is_there(hop));
        let routes: Vec<RouteStatus> = routes.map(|hop| hop.status(now)).collect();
        let prefix = || self.entries.name(place).to_name();
        (!routes.is_empty()).then(|| RibStatus { prefix: prefix(), routes })
    }

    /// Whether a route's face still exists.
    fn is_there(&self, hop: &Hop) -> bool {
        !self.leaving.contains(&hop.face)
    }

    /// Adds a route, or replaces the one with this prefix, face and origin, and updates the FIB. If many longer prefixes are
    /// affected, they are updated in parts, at deadlines.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchFace`] or [`ControlError::Full`]; then nothing has changed.
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
                // The old next hops had room, so restoring them cannot fail.
                let _ = self.update_one(place, control);
                Err(error)
            }
        }
    }

    /// Removes a route, if it exists, and updates the FIB as [`Rib::add`] does.
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
        // Entries inherit again where a capture ends. If the FIB has no room, they stay without these next hops.
        let _ = self.update_one(place, control);
        if let Some(root) = root {
            self.update_below(&root, control);
        }
    }

    /// Removes all routes to a removed face, and updates the FIB. Many routes are removed in parts, at deadlines. Meanwhile no
    /// Interest leaves by the face.
    pub fn remove_face(&mut self, face: FaceNumber, control: &mut dyn Control) {
        if self.by_face.contains_key(&face) && self.leaving.insert(face) {
            self.begin(control);
        }
    }

    /// Updates the FIB below a prefix, at entries that inherit from it, or did.
    fn update_below(&mut self, root: &[u8], control: &mut dyn Control) {
        if self.waiting.contains(root) || self.from(root, root, 1).is_empty() {
            return;
        }
        self.waiting.insert(root.to_vec());
        self.below.push_back(Below { root: root.to_vec(), after: root.to_vec() });
        self.begin(control);
    }

    /// Begins the pending work, as far as this part has room.
    fn begin(&mut self, control: &mut dyn Control) {
        if self.resume == Time::NEVER {
            // The rest continues after packets have had their turn. Work found in this part does not begin another part.
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

    /// Whether work is pending.
    fn is_behind(&self) -> bool {
        !self.below.is_empty() || !self.leaving.is_empty()
    }

    fn do_part(&mut self, control: &mut dyn Control) {
        while self.left > 0 {
            // Half of each part is reserved for the routes of removed faces, because constant changes would otherwise keep them
            // forever.
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

    /// Whether there is room for a route. Routes of removed faces are removed if needed.
    fn make_room(&mut self, control: &mut dyn Control) -> bool {
        while self.routes >= self.max_routes
            && let Some(&face) = self.leaving.first()
        {
            self.take_last(face, control);
        }
        self.routes < self.max_routes
    }

    /// Removes the routes of one entry to a removed face. Forgets the face if it has no entry left.
    fn take_last(&mut self, face: FaceNumber, control: &mut dyn Control) {
        // The last place comes first. It is usually below the others, which then have fewer entries below them.
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

    /// Updates the FIB at the next prefixes of a subtree, until only `rest` of the part is left.
    fn follow(&mut self, mut below: Below, rest: usize, control: &mut dyn Control) {
        if below.after == below.root {
            self.waiting.remove(&below.root);
        }
        let most = self.left - rest;
        let places = self.from(&below.after, &below.root, most);
        // The search has a cost too.
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

    /// The places of at most `most` prefixes below `root` and after `after`, in byte order.
    fn from(&self, after: &[u8], root: &[u8], most: usize) -> Vec<Place> {
        let from_here = self.index.after(self.entries.order(after));
        from_here.take_while(|place| self.entries.prefix(*place).starts_with(root)).take(most).collect()
    }

    /// A prefix that prevents this owner from registering `prefix`, because others already receive some of its names: the prefix
    /// itself, or a longer one, with a route to another owner's face; or a shorter one of another application. A shorter prefix
    /// that leads to a neighbour prevents nothing.
    ///
    /// A prefix above many routes of removed faces counts as held until they are removed, because examining all of them would
    /// delay packets.
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

    /// Number of routes to the faces of an owner.
    pub(super) fn routes_of(&self, owner: Owner, control: &dyn Control) -> usize {
        let faces = self.by_face.iter().filter(|(face, _)| control.owner(**face) == owner);
        let to = |face: FaceNumber, place: Place| {
            self.entries.routes(place).iter().filter(|hop| hop.face == face).count()
        };
        faces.map(|(face, places)| places.iter().map(|place| to(*face, place)).sum::<usize>()).sum()
    }

    /// Whether a route with this prefix, face and origin exists.
    pub(super) fn has(&self, prefix: &Name, face: FaceNumber, origin: u64) -> bool {
        self.place(prefix.view()).is_some_and(|place| self.route(place, face, origin).is_some())
    }

    /// The time when the next route expires, or the next part of pending work is due.
    pub fn next_deadline(&self) -> Time {
        let expires = self.expiring.first().map_or(Time::NEVER, |(time, ..)| *time);
        expires.max(self.may_expire).min(self.resume)
    }

    /// Removes expired routes. If the next part is due, it also removes routes of removed faces and updates the FIB below
    /// prefixes.
    pub fn expire(&mut self, now: Time, control: &mut dyn Control) {
        if self.resume <= now {
            self.go_on(now, control);
        }
        if self.may_expire <= now {
            self.left = AT_ONCE;
            self.expire_some(now, control);
        }
    }

    /// Removes expired routes, as many as a part has room for; the others wait for packets too. At least one is removed, even if
    /// the FIB has much pending work.
    fn expire_some(&mut self, now: Time, control: &mut dyn Control) {
        while let Some(&(_, place, face, origin)) = self.expiring.first().filter(|first| first.0 <= now) {
            self.remove_at(place, &[(face, origin)], control);
            if self.left == 0 || self.below.len() >= AT_ONCE {
                self.may_expire = now + PAUSE;
                return;
            }
        }
    }

    /// The place of a prefix's entry.
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

    /// Inserts a route into an entry, or replaces the one with the same key.
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

    /// Removes a route from the tables. Its entry stays until the FIB is updated.
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

    /// Updates the FIB at one prefix. Continues after an error, and returns the first one.
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

    /// The next hops of a prefix's FIB entry, empty if the prefix has no routes of its own; and the number of shorter prefixes
    /// that were examined.
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

/// Next hops by face: the prefix's own, then inherited ones, the longest prefix first.
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

/// Adds the cheapest route of each face for one prefix. Routes are in the order of their faces.
fn take_cheapest<'a>(hops: &mut NextHops, routes: impl Iterator<Item = &'a Hop>) {
    let nearer = hops.len();
    for route in routes {
        match hops[nearer..].last_mut().filter(|hop| hop.0 == route.face) {
            Some(hop) => hop.1 = hop.1.min(route.cost),
            None => hops.push((route.face, route.cost)),
        }
    }
}

/// Keeps the first next hop of each face. The order does not change.
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

/// The changes from a FIB entry to the wanted next hops.
struct Difference {
    /// Faces to remove.
    gone: SmallVec<[FaceNumber; 4]>,
    /// Next hops to add, in this order. Some are added again only to move them behind others of equal cost.
    new: NextHops,
}

/// The FIB sorts by cost, and adds a next hop after those of equal cost. So all next hops of that cost after the first difference
/// are added again.
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

/// Next hops by cost; those of equal cost keep their order.
fn by_cost<'a>(hops: impl Iterator<Item = &'a (FaceNumber, u64)>) -> NextHops {
    let mut hops: NextHops = hops.copied().collect();
    hops.sort_by_key(|hop| hop.1);
    hops
}
