//! The prefix of a name that identifies its flow, and small numbers for these prefixes.
//!
//! By default it is the prefix of the FIB entry that the name matches. An operator may want finer or coarser
//! flows than routes: then it is the name's first components.

use crate::ids::{GroupId, NO_PREFIX, PrefixId};
use crate::name::HashedName;
use crate::shared_bound::SharedBound;
use crate::tables::fib::FibId;
use crate::tables::pairs::Pairs;
use crate::tables::recent::{ENTRY_BYTES, Recent};
use smallvec::SmallVec;

/// The rule for the flow prefix of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowPrefix {
    /// The prefix of the matching FIB entry.
    #[default]
    FibEntry,
    /// This number of first components, but never the last component, which numbers the segment.
    Components(u8),
}

/// Largest number of prefixes that are not FIB entries. The number is bounded because names come from
/// strangers.
const MOST_PREFIXES: usize = 1 << 16;

/// Largest number of prefixes of a group's flows at a time. Assumed: more than an application or a host
/// fetches at once. With the forwarder's default number of faces, all such groups together have no more than
/// the other prefixes may have.
const MOST_OF_GROUP: usize = 256;

/// Guaranteed memory for the prefixes of a group, whatever other groups use, bytes: eight prefixes with short
/// names. Assumed: an application or a host fetches no more at once in most cases.
const LEAST_OF_GROUP: u64 = 8 * 5 * PLACE as u64;

/// FIB entries with numbers below this use their own numbers as prefix numbers, while there are no groups. A
/// later entry gets a number when its first flow comes. Otherwise tables that are indexed by prefix would
/// grow by a million rows at once, while packets wait. Assumed.
const OWN_NUMBERS: u32 = 1 << 12;

/// Memory of a prefix beside its name, bytes: its place in a table, and, in buffers that may be half empty,
/// its FIB entry (8) and its number there (8), the place of its number among the forgotten (4), its
/// round-trip time (8), and a link that keeps state of it (8).
const PLACE: usize = ENTRY_BYTES + 2 * (8 + 8 + 4 + 8 + 8);

/// Charge of a prefix, bytes. Its place stays when it is forgotten. A prefix with a short name counts as five
/// places, so that places take at most a fifth of the bound.
fn charge(prefix: &HashedName) -> u32 {
    (PLACE + prefix.copy_bytes()).max(5 * PLACE) as u32
}

/// Prefixes that were forgotten to make room for another.
pub(crate) type Forgotten = SmallVec<[PrefixId; 2]>;

/// The numbers of prefixes.
///
/// The flows of a [group](GroupId) have numbers of their own, in a bounded table for each group, so its names
/// never push out those of others. One half of the bound in bytes is for the prefixes outside of groups. The
/// tables of groups share the other half. A table that exceeds its share forgets its own prefixes.
pub(crate) struct Prefixes {
    rule: FlowPrefix,
    /// Prefixes of several components, by use: the least recent one makes room.
    known: Recent<PrefixId>,
    /// Prefixes of FIB entries, or `NO_PREFIX`. While this is empty, entries below `OWN_NUMBERS` have their
    /// own numbers, and others have none.
    of_entries: Vec<PrefixId>,
    /// Prefixes of each group, from the first group on.
    groups: Vec<Recent<PrefixId>>,
    /// Memory of all groups' prefixes, bytes.
    groups_bound: SharedBound,
    numbers: Numbers,
    /// Bound of all prefixes, bytes.
    most_bytes: u64,
    /// The FIB entry of each number of a group, and the numbers of each FIB entry.
    entries: Vec<Option<FibId>>,
    of_groups: Pairs,
    /// Reused between calls.
    prefix: HashedName,
}

/// The assigned numbers.
struct Numbers {
    forgotten: Vec<PrefixId>,
    given: u32,
}

impl Prefixes {
    /// Makes an empty set of prefixes that take at most `bytes`.
    pub(crate) fn new(rule: FlowPrefix, bytes: u64) -> Prefixes {
        Prefixes::with_room(rule, MOST_PREFIXES, bytes)
    }

    /// Returns whether flows are identified by FIB entries.
    pub(crate) fn are_entries(&self) -> bool {
        self.rule == FlowPrefix::FibEntry
    }

    fn with_room(rule: FlowPrefix, most: usize, bytes: u64) -> Prefixes {
        Prefixes {
            rule,
            known: Recent::new(most),
            of_entries: Vec::new(),
            groups: Vec::new(),
            groups_bound: SharedBound::new(bytes / 2),
            numbers: Numbers { forgotten: Vec::new(), given: 0 },
            most_bytes: bytes,
            entries: Vec::new(),
            of_groups: Pairs::default(),
            prefix: HashedName::new(),
        }
    }

    /// The prefix of a name outside of groups that matches this FIB entry, and the prefixes that are
    /// forgotten to make room for it. Their numbers will be reused.
    #[inline]
    pub(crate) fn of(&mut self, name: &HashedName, entry: Option<FibId>) -> (PrefixId, Forgotten) {
        match self.rule {
            FlowPrefix::FibEntry => (entry.map_or(NO_PREFIX, |id| self.of_entry(id)), Forgotten::new()),
            FlowPrefix::Components(n) => {
                self.prefix.assign_prefix(name, usize::from(n).min(name.len().saturating_sub(1)));
                self.numbers.of(&mut self.known, &self.prefix, self.most_bytes / 2)
            }
        }
    }

    /// The same for a name that comes from a group. A FIB entry is given with the length of its prefix.
    pub(crate) fn of_group(
        &mut self,
        group: GroupId,
        name: &HashedName,
        entry: Option<(FibId, usize)>,
    ) -> (PrefixId, Forgotten) {
        let len = match (self.rule, entry) {
            (FlowPrefix::FibEntry, None) => return (NO_PREFIX, Forgotten::new()),
            (FlowPrefix::FibEntry, Some((_, len))) => len,
            (FlowPrefix::Components(n), _) => usize::from(n).min(name.len().saturating_sub(1)),
        };
        self.prefix.assign_prefix(name, len);
        let place = usize::from(group.0);
        while self.groups.len() <= place {
            self.groups.push(Recent::new(MOST_OF_GROUP));
        }
        let known = &mut self.groups[place];
        let before = known.bytes();
        let share = self.groups_bound.share(before).max(LEAST_OF_GROUP);
        let (id, forgotten) = self.numbers.of(known, &self.prefix, share);
        self.groups_bound.replace(before, known.bytes());
        if self.rule == FlowPrefix::FibEntry {
            self.set_entry(id, entry.map(|(entry, _)| entry));
        }
        (id, forgotten)
    }

    /// Assigns a number of a group to this FIB entry.
    #[inline]
    fn set_entry(&mut self, id: PrefixId, entry: Option<FibId>) {
        let at = id.0 as usize;
        if at >= self.entries.len() {
            self.entries.resize(at + 1, None);
        }
        let before = core::mem::replace(&mut self.entries[at], entry);
        if before != entry {
            before.into_iter().for_each(|before| self.of_groups.remove(before.0, id.0));
            entry.into_iter().for_each(|entry| self.of_groups.add(entry.0, id.0));
        }
    }

    /// Gives the prefixes of FIB entries, `bound` so far, numbers like any other prefix. This is needed if
    /// there are groups or many entries.
    pub(crate) fn number_entries(&mut self, bound: usize) {
        if self.of_entries.is_empty() && self.rule == FlowPrefix::FibEntry {
            let bound = (bound as u32).clamp(1, OWN_NUMBERS);
            self.of_entries.extend((0..bound).map(PrefixId));
            self.numbers.given = self.of_entries.len() as u32;
        }
    }

    /// The number of a FIB entry's prefix, if it is the entry's own and prefixes are those of FIB entries.
    #[inline]
    pub(crate) fn own_number(&self, id: FibId) -> Option<PrefixId> {
        let is_own = self.rule == FlowPrefix::FibEntry && self.of_entries.is_empty() && id.0 < OWN_NUMBERS;
        is_own.then_some(PrefixId(id.0))
    }

    #[inline]
    fn of_entry(&mut self, id: FibId) -> PrefixId {
        if self.of_entries.is_empty() && id.0 < OWN_NUMBERS {
            return PrefixId(id.0);
        }
        match self.of_entries.get(id.0 as usize) {
            Some(&known) if known != NO_PREFIX => known,
            _ => self.number_entry(id),
        }
    }

    #[cold]
    fn number_entry(&mut self, id: FibId) -> PrefixId {
        self.number_entries(OWN_NUMBERS as usize);
        let at = id.0 as usize;
        if at >= self.of_entries.len() {
            self.of_entries.resize(at + 1, NO_PREFIX);
        }
        self.of_entries[at] = self.numbers.fresh();
        self.of_entries[at]
    }

    /// The number of a FIB entry, if it may have flows.
    fn known_of_entry(&self, id: FibId) -> Option<PrefixId> {
        if self.of_entries.is_empty() {
            return (id.0 < OWN_NUMBERS).then_some(PrefixId(id.0));
        }
        self.of_entries.get(id.0 as usize).copied().filter(|known| *known != NO_PREFIX)
    }

    /// The numbers that belong to a removed FIB entry, whose flows have ended.
    pub(crate) fn of_removed(&mut self, id: FibId) -> Vec<PrefixId> {
        if self.rule != FlowPrefix::FibEntry {
            return Vec::new();
        }
        let mut all: Vec<PrefixId> = self.known_of_entry(id).into_iter().collect();
        for number in self.of_groups.take(id.0) {
            self.entries[number as usize] = None;
            all.push(PrefixId(number));
        }
        all
    }

    /// Forgets a group. Its numbers will be reused.
    pub(crate) fn forget_group(&mut self, group: GroupId) -> Vec<PrefixId> {
        let mut gone = Vec::new();
        if let Some(known) = self.groups.get_mut(usize::from(group.0)) {
            gone.extend(known.values());
            self.groups_bound.replace(known.bytes(), 0);
            *known = Recent::new(MOST_OF_GROUP);
        }
        gone.iter().for_each(|id| self.set_entry(*id, None));
        self.numbers.forgotten.extend(&gone);
        gone
    }
}

impl Numbers {
    /// An unused number.
    fn fresh(&mut self) -> PrefixId {
        self.forgotten.pop().unwrap_or_else(|| {
            self.given += 1;
            PrefixId(self.given - 1)
        })
    }

    /// The number of a prefix in a table of at most this many bytes, and the prefixes that were forgotten to
    /// make room for it.
    #[inline]
    fn of(&mut self, known: &mut Recent<PrefixId>, prefix: &HashedName, bytes: u64) -> (PrefixId, Forgotten) {
        match known.get(prefix) {
            Some(id) => (id, Forgotten::new()),
            None => self.add(known, prefix, bytes),
        }
    }

    #[cold]
    fn add(
        &mut self,
        known: &mut Recent<PrefixId>,
        prefix: &HashedName,
        bytes: u64,
    ) -> (PrefixId, Forgotten) {
        let (id, before) = (self.fresh(), self.forgotten.len());
        // The newest prefix is always accepted: a packet of its flow is being handled.
        known.insert(prefix, id, charge(prefix), bytes, &mut self.forgotten);
        (id, self.forgotten[before..].iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::NameHasher;
    use weir_packet::Name;

    fn name(uri: &str) -> HashedName {
        let name: Name = uri.parse().expect("a name");
        HashedName::parse(&NameHasher::new(1), name.value()).expect("not too long")
    }

    #[test]
    fn by_default_a_flow_has_the_prefix_of_its_fib_entry() {
        let mut prefixes = Prefixes::new(FlowPrefix::FibEntry, u64::MAX);
        assert_eq!(prefixes.of(&name("/a/b"), Some(FibId(7))), (PrefixId(7), Forgotten::new()));
        assert_eq!(prefixes.of(&name("/a/b"), None), (NO_PREFIX, Forgotten::new()));
    }

    #[test]
    fn of_many_fib_entries_only_those_with_flows_have_numbers() {
        let mut prefixes = Prefixes::new(FlowPrefix::FibEntry, u64::MAX);
        let of = |prefixes: &mut Prefixes, id| prefixes.of(&name("/a/b"), Some(FibId(id))).0;
        assert_eq!(of(&mut prefixes, 9), PrefixId(9));
        assert!(prefixes.of_removed(FibId(1 << 20)).is_empty());
        let late: Vec<PrefixId> = [1 << 20, OWN_NUMBERS, 1 << 19].map(|id| of(&mut prefixes, id)).into();
        assert_eq!(late, [0, 1, 2].map(|n| PrefixId(OWN_NUMBERS + n)));
        assert_eq!(
            [9, OWN_NUMBERS, 1 << 20].map(|id| of(&mut prefixes, id)),
            [PrefixId(9), late[1], late[0]]
        );
        assert_eq!(prefixes.of_removed(FibId(1 << 20)), [late[0]]);
        assert!(prefixes.of_removed(FibId((1 << 20) - 1)).is_empty());
        // A group does not change this.
        prefixes.number_entries(1 << 20);
        assert_eq!([9, 1 << 19].map(|id| of(&mut prefixes, id)), [PrefixId(9), late[2]]);
    }

    #[test]
    fn components_tell_flows_apart_but_for_the_last() {
        let mut prefixes = Prefixes::new(FlowPrefix::Components(2), u64::MAX);
        let mut of = |uri| prefixes.of(&name(uri), None).0;
        let [b, c, short] = ["/a/b/0", "/a/c/0", "/n/0"].map(&mut of);
        assert!(b != c && c != short && b != short);
        assert_eq!(["/a/b/1", "/a/b/x/2", "/a/c/9", "/n/1"].map(of), [b, b, c, short]);
    }

    #[test]
    fn the_table_is_bounded_and_the_least_recent_makes_room() {
        let mut prefixes = Prefixes::with_room(FlowPrefix::Components(1), 2, u64::MAX);
        let [a, b] = ["/a/0", "/b/0"].map(|uri| prefixes.of(&name(uri), None).0);
        let none = Forgotten::new;
        assert_eq!(prefixes.of(&name("/a/1"), None), (a, none()));
        let (c, forgotten) = prefixes.of(&name("/c/0"), None);
        assert!(c != a && c != b && forgotten[..] == [b]);
        assert_eq!(prefixes.of(&name("/a/2"), None), (a, none()));
        assert_eq!(prefixes.of(&name("/d/0"), None), (b, [c].into_iter().collect()));
    }

    #[test]
    fn groups_share_a_bound_in_bytes_and_one_with_long_names_forgets_only_its_own() {
        const BOUND: u64 = 200_000;
        let mut prefixes = Prefixes::new(FlowPrefix::Components(1), 2 * BOUND);
        let outside = prefixes.of(&name("/a/0"), None).0;
        let (honest, strange) = (GroupId(1), GroupId(2));
        let long = |n| name(&format!("/{n:04000}/0"));
        for n in 0..300 {
            prefixes.of_group(strange, &long(n), None);
        }
        assert!((BOUND / 3..=BOUND / 2).contains(&prefixes.groups_bound.held()));
        let ids: Vec<_> =
            (0..30).map(|n| prefixes.of_group(honest, &name(&format!("/{n}/0")), None).0).collect();
        for n in 300..600 {
            let (_, forgotten) = prefixes.of_group(strange, &long(n), None);
            assert!(forgotten.iter().all(|id| !ids.contains(id)));
            assert!(prefixes.groups_bound.held() <= BOUND);
        }
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(prefixes.of_group(honest, &name(&format!("/{n}/1")), None), (*id, Forgotten::new()));
        }
        assert_eq!(prefixes.of(&name("/a/1"), None), (outside, Forgotten::new()));
        prefixes.forget_group(strange);
        prefixes.forget_group(honest);
        assert_eq!(prefixes.groups_bound.held(), 0);
        // A prefix larger than the bound is accepted too.
        let mut small = Prefixes::new(FlowPrefix::Components(1), 100);
        let [a, b] = [1, 2].map(|n| small.of(&long(n), None));
        assert_eq!(b.1[..], [a.0]);
        assert_eq!(small.of(&long(2), None), (b.0, Forgotten::new()));
    }

    #[test]
    fn a_group_that_comes_late_has_a_few_prefixes_though_others_keep_all_memory() {
        let mut prefixes = Prefixes::new(FlowPrefix::Components(1), 400_000);
        for group in 1..100 {
            (0..300)
                .for_each(|n| drop(prefixes.of_group(GroupId(group), &name(&format!("/{n:04000}/0")), None)));
        }
        let names: Vec<_> = (0..8).map(|n| name(&format!("/{n}/0"))).collect();
        assert!(prefixes.groups_bound.share(0) < 2 * u64::from(charge(&names[0])), "nothing is left");
        let ids: Vec<_> = names.iter().map(|name| prefixes.of_group(GroupId(100), name, None).0).collect();
        for (name, id) in names.iter().zip(ids) {
            assert_eq!(prefixes.of_group(GroupId(100), name, None), (id, Forgotten::new()));
        }
    }

    #[test]
    fn a_group_has_numbers_of_its_own_and_forgets_only_its_own() {
        let mut prefixes = Prefixes::new(FlowPrefix::Components(1), u64::MAX);
        let (honest, strange) = (GroupId(1), GroupId(2));
        let outside = prefixes.of(&name("/a/0"), None).0;
        let inside = prefixes.of_group(honest, &name("/a/0"), None).0;
        assert_ne!(outside, inside);
        let mut theirs = vec![];
        for n in 0..3 * MOST_OF_GROUP {
            let (id, forgotten) = prefixes.of_group(strange, &name(&format!("/x{n}/0")), None);
            theirs.push(id);
            assert_eq!(forgotten.len(), usize::from(n >= MOST_OF_GROUP));
            assert!(forgotten.iter().all(|id| theirs.contains(id)));
        }
        assert_eq!(prefixes.of(&name("/a/1"), None), (outside, Forgotten::new()));
        assert_eq!(prefixes.of_group(honest, &name("/a/1"), None), (inside, Forgotten::new()));
        assert!(prefixes.numbers.given as usize <= MOST_OF_GROUP + 3, "numbers are used again");
        assert_eq!(prefixes.forget_group(strange).len(), MOST_OF_GROUP);
        let given = prefixes.numbers.given;
        assert!(prefixes.of_group(strange, &name("/y/0"), None).1.is_empty());
        assert_eq!(prefixes.numbers.given, given);
    }

    #[test]
    fn with_groups_the_prefixes_of_fib_entries_have_numbers_that_no_group_has() {
        let mut prefixes = Prefixes::new(FlowPrefix::FibEntry, u64::MAX);
        let (group, entry) = (GroupId(1), |id, len| Some((FibId(id), len)));
        prefixes.number_entries(2);
        assert_eq!(
            prefixes.of(&name("/a/b"), Some(FibId(1))).0,
            PrefixId(1),
            "those that are there keep theirs"
        );
        let one = prefixes.of_group(group, &name("/a/b/0"), entry(1, 1)).0;
        let same = prefixes.of_group(group, &name("/a/c/0"), entry(1, 1)).0;
        let new = prefixes.of(&name("/c"), Some(FibId(5))).0;
        assert!(one == same && one.0 >= 2 && new != one && new.0 >= 2);
        assert_eq!(prefixes.of_group(group, &name("/z"), None), (NO_PREFIX, Forgotten::new()));
        assert_eq!(prefixes.of_removed(FibId(1)), [PrefixId(1), one]);
        assert_eq!(prefixes.of_removed(FibId(1)), [PrefixId(1)]);
    }
}
