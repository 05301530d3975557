//! The routing information base: routes, and the FIB that follows from them.
//!
//! An entry of the FIB has the next hops of the routes to its prefix. Of routes to shorter prefixes it
//! has those that are child-inherit, unless a route to it, or to a prefix between, is a capture. Of
//! several routes to one face, those to the longest prefix count, and of these the cheapest. Only
//! prefixes that have routes have FIB entries: what is longer finds the longest of them.
//!
//! Names are kept in the order of their bytes: the prefixes below one stand right behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

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

/// What of a route is not in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    face: FaceNumber,
    origin: u64,
    cost: u64,
    flags: RouteFlags,
    expires: Time,
}

#[derive(Debug, Default)]
struct Entry {
    /// By face and origin.
    routes: Vec<Hop>,
    /// What the FIB was last told, by face.
    next_hops: Vec<(FaceNumber, u64)>,
}

impl Entry {
    fn has_capture(&self) -> bool {
        self.routes.iter().any(|hop| hop.flags.capture)
    }

    fn concerns_longer_prefixes(&self) -> bool {
        self.routes.iter().any(|hop| hop.flags.capture || hop.flags.child_inherit)
    }
}

/// The routing information base.
#[derive(Debug)]
pub struct Rib {
    entries: BTreeMap<Name, Entry>,
    /// Prefixes that have routes to a face.
    by_face: BTreeMap<FaceNumber, BTreeSet<Name>>,
    /// Routes that expire, by when.
    expiring: BTreeSet<(Time, Name, FaceNumber, u64)>,
    routes: usize,
    max_routes: usize,
}

impl Rib {
    /// An empty one that has room for so many routes.
    pub const fn new(max_routes: usize) -> Rib {
        Rib {
            entries: BTreeMap::new(),
            by_face: BTreeMap::new(),
            expiring: BTreeSet::new(),
            routes: 0,
            max_routes,
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
        self.entries.iter().map(move |(prefix, entry)| RibStatus {
            prefix: prefix.clone(),
            routes: entry.routes.iter().map(|hop| hop.status(now)).collect(),
        })
    }

    /// Adds a route, or changes the one with this prefix, face and origin; the FIB follows.
    ///
    /// # Errors
    /// [`ControlError::NoSuchFace`], [`ControlError::Full`]; then everything is as before.
    pub fn add(&mut self, route: &Route, control: &mut dyn Control) -> Result<(), ControlError> {
        if control.face(route.face).is_none() {
            return Err(ControlError::NoSuchFace);
        }
        let old = self.find(route.prefix.view(), route.face, route.origin);
        if old.is_none() && self.routes >= self.max_routes {
            return Err(ControlError::Full("RIB"));
        }
        if old.as_ref().is_some_and(|old| (old.cost, old.flags) == (route.cost, route.flags)) {
            self.insert(route);
            return Ok(());
        }
        let reaches = self.reaches(&route.prefix);
        self.insert(route);
        self.update(&route.prefix, reaches, control).inspect_err(|_| {
            match old {
                Some(old) => self.insert(&old),
                None => self.take(&route.prefix, route.face, route.origin),
            }
            // What was there before had room.
            let _ = self.update(&route.prefix, true, control);
        })
    }

    /// Removes a route, if it is there; the FIB follows.
    pub fn remove(&mut self, prefix: &Name, face: FaceNumber, origin: u64, control: &mut dyn Control) {
        if self.find(prefix.view(), face, origin).is_none() {
            return;
        }
        let reaches = self.reaches(prefix);
        self.take(prefix, face, origin);
        self.shrink(prefix, reaches, control);
    }

    /// Removes all routes to a face; the FIB follows.
    pub fn remove_face(&mut self, face: FaceNumber, control: &mut dyn Control) {
        let prefixes = self.by_face.get(&face).cloned().unwrap_or_default();
        let mut removed = Vec::new();
        for prefix in prefixes {
            let reaches = self.reaches(&prefix);
            let hops = self.entries.get(&prefix).map_or(&[][..], |entry| &entry.routes);
            let origins: Vec<u64> =
                hops.iter().filter(|hop| hop.face == face).map(|hop| hop.origin).collect();
            for origin in origins {
                self.take(&prefix, face, origin);
            }
            removed.push((prefix, reaches));
        }
        // Prefixes below one that is done with its subtree are done too.
        let mut done: Option<Name> = None;
        for (prefix, reaches) in removed {
            if done.as_ref().is_some_and(|done| prefix.view().starts_with(done.view())) {
                continue;
            }
            self.shrink(&prefix, reaches, control);
            done = reaches.then_some(prefix);
        }
    }

    /// A prefix whose names somebody else gets, in part or in all, if this owner does not register this one: the prefix itself
    /// or a longer one with a route to another's face, or a shorter one of another application. What leads from a shorter
    /// prefix to a neighbour is in nobody's way.
    pub(super) fn held_by_others(&self, prefix: &Name, owner: Owner, control: &dyn Control) -> Option<Name> {
        let is_others = |hop: &Hop| control.owner(hop.face) != owner;
        let from_here = self.entries.range::<Name, _>((Bound::Included(prefix), Bound::Unbounded));
        let mut below = from_here.take_while(|(name, _)| name.view().starts_with(prefix.view()));
        let held = below.find(|(_, entry)| entry.routes.iter().any(is_others));
        if let Some((name, _)) = held {
            return Some(name.clone());
        }
        let is_applications = |hop: &Hop| is_others(hop) && control.owner(hop.face) != Owner::Neighbour;
        let mut shorter =
            prefix.view().prefixes().filter_map(|prefix| self.entries.get_key_value(&prefix.to_name()));
        let above = shorter.find(|(_, entry)| entry.routes.iter().any(is_applications));
        above.map(|(name, _)| name.clone())
    }

    /// How many routes lead to the faces of an owner.
    pub(super) fn routes_of(&self, owner: Owner, control: &dyn Control) -> usize {
        let faces = self.by_face.iter().filter(|(face, _)| control.owner(**face) == owner);
        let to = |face: FaceNumber, prefix: &Name| {
            let hops = self.entries.get(prefix).map_or(&[][..], |entry| &entry.routes);
            hops.iter().filter(|hop| hop.face == face).count()
        };
        faces.map(|(face, prefixes)| prefixes.iter().map(|prefix| to(*face, prefix)).sum::<usize>()).sum()
    }

    /// Whether there is a route of this prefix, face and origin.
    pub(super) fn has(&self, prefix: &Name, face: FaceNumber, origin: u64) -> bool {
        self.find(prefix.view(), face, origin).is_some()
    }

    /// When the next route expires.
    pub fn next_deadline(&self) -> Time {
        self.expiring.first().map_or(Time::NEVER, |(time, ..)| *time)
    }

    /// Removes the routes that have expired; the FIB follows.
    pub fn expire(&mut self, now: Time, control: &mut dyn Control) {
        while let Some((_, prefix, face, origin)) = self.expiring.first().filter(|first| first.0 <= now) {
            let (prefix, face, origin) = (prefix.clone(), *face, *origin);
            self.remove(&prefix, face, origin, control);
        }
    }

    fn find(&self, prefix: NameRef<'_>, face: FaceNumber, origin: u64) -> Option<Route> {
        let (prefix, entry) = self.entries.get_key_value(&prefix.to_name())?;
        let hop = entry.routes.iter().find(|hop| (hop.face, hop.origin) == (face, origin))?;
        Some(Route {
            prefix: prefix.clone(),
            face,
            origin,
            cost: hop.cost,
            flags: hop.flags,
            expires: hop.expires,
        })
    }

    /// Whether longer prefixes depend on the routes to this one.
    fn reaches(&self, prefix: &Name) -> bool {
        self.entries.get(prefix).is_some_and(Entry::concerns_longer_prefixes)
    }

    /// Puts a route into the tables, in the place of the one with the same key.
    fn insert(&mut self, route: &Route) {
        self.take(&route.prefix, route.face, route.origin);
        let Route { face, origin, cost, flags, expires, .. } = *route;
        let entry = self.entries.entry(route.prefix.clone()).or_default();
        let at = entry.routes.partition_point(|hop| (hop.face, hop.origin) < (face, origin));
        entry.routes.insert(at, Hop { face, origin, cost, flags, expires });
        self.by_face.entry(face).or_default().insert(route.prefix.clone());
        if expires != Time::NEVER {
            self.expiring.insert((expires, route.prefix.clone(), face, origin));
        }
        self.routes += 1;
    }

    /// Takes a route out of the tables. Its entry stays, until the FIB has followed.
    fn take(&mut self, prefix: &Name, face: FaceNumber, origin: u64) {
        let Some(entry) = self.entries.get_mut(prefix) else { return };
        let Some(at) = entry.routes.iter().position(|hop| (hop.face, hop.origin) == (face, origin)) else {
            return;
        };
        let hop = entry.routes.remove(at);
        self.routes -= 1;
        if hop.expires != Time::NEVER {
            self.expiring.remove(&(hop.expires, prefix.clone(), face, origin));
        }
        if entry.routes.iter().all(|hop| hop.face != face)
            && let Some(prefixes) = self.by_face.get_mut(&face)
        {
            prefixes.remove(prefix);
            if prefixes.is_empty() {
                self.by_face.remove(&face);
            }
        }
    }

    /// Has the FIB follow after routes were taken.
    fn shrink(&mut self, prefix: &Name, reached: bool, control: &mut dyn Control) {
        // Where a capture ends, entries inherit again. If the FIB has no room for that, they do without.
        let _ = self.update(prefix, reached, control);
    }

    /// Has the FIB follow at a prefix and, if routes to it matter or `reached` below, at longer ones.
    /// Goes on after an error, and gives the first.
    fn update(
        &mut self,
        prefix: &Name,
        reached: bool,
        control: &mut dyn Control,
    ) -> Result<(), ControlError> {
        if !reached && !self.reaches(prefix) {
            return self.update_one(prefix, control);
        }
        let from_here = self.entries.range::<Name, _>((Bound::Included(prefix), Bound::Unbounded));
        let names = from_here.map(|(name, _)| name);
        let names: Vec<Name> =
            names.take_while(|name| name.view().starts_with(prefix.view())).cloned().collect();
        let mut result = Ok(());
        for name in names {
            let updated = self.update_one(&name, control);
            result = result.and(updated);
        }
        result
    }

    /// Tells the FIB what is different at one prefix.
    fn update_one(&mut self, prefix: &Name, control: &mut dyn Control) -> Result<(), ControlError> {
        let wanted = self.next_hops(prefix);
        let Some(entry) = self.entries.get_mut(prefix) else { return Ok(()) };
        entry.next_hops.retain(|&(face, _)| {
            let stays = wanted.iter().any(|hop| hop.0 == face);
            if !stays {
                control.remove_next_hop(prefix, face);
            }
            stays
        });
        let mut result = Ok(());
        for (face, cost) in wanted {
            if entry.next_hops.contains(&(face, cost)) {
                continue;
            }
            let added = control.add_next_hop(prefix, face, cost);
            if added.is_ok() {
                entry.next_hops.retain(|hop| hop.0 != face);
                entry.next_hops.push((face, cost));
            }
            result = result.and(added);
        }
        if entry.routes.is_empty() {
            self.entries.remove(prefix);
        }
        result
    }

    /// The next hops of a prefix's FIB entry: none without routes of its own.
    fn next_hops(&self, prefix: &Name) -> Vec<(FaceNumber, u64)> {
        let mut hops = Vec::new();
        let Some(own) = self.entries.get(prefix).filter(|entry| !entry.routes.is_empty()) else {
            return hops;
        };
        take_cheapest(&mut hops, own.routes.iter());
        let mut entry = own;
        let shorter: Vec<NameRef<'_>> = prefix.view().prefixes().collect();
        let mut shorter = shorter.iter().rev().skip(1);
        while !entry.has_capture() {
            let Some(found) = shorter.find_map(|prefix| self.entries.get(&prefix.to_name())) else { break };
            entry = found;
            take_cheapest(&mut hops, entry.routes.iter().filter(|hop| hop.flags.child_inherit));
        }
        hops
    }
}

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
fn take_cheapest<'a>(hops: &mut Vec<(FaceNumber, u64)>, routes: impl Iterator<Item = &'a Hop>) {
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
