//! Which prefix of a name tells flows apart, and small numbers for these prefixes.
//!
//! By default it is the prefix of the FIB entry that a name matches. An operator may want flows that
//! are finer or coarser than routes: then it is the name's first components.

use crate::ids::{GroupId, NO_PREFIX, PrefixId};
use crate::name::HashedName;
use crate::tables::cs::{ContentStore, CsPolicy};
use crate::tables::fib::FibId;
use crate::units::Time;

/// Which prefix of a name its flow has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowPrefix {
    /// The prefix of the matching FIB entry.
    #[default]
    FibEntry,
    /// This number of first components, but never the last component, which numbers the segment.
    Components(u8),
}

/// How many prefixes are told apart that are not the FIB's: names come from strangers.
const MOST_PREFIXES: usize = 1 << 16;

/// How many prefixes of a group's flows are told apart at a time. Assumed: more than an application or a host fetches at
/// once; and as many groups as the forwarder has faces by default then have no more than others may have.
const MOST_OF_GROUP: usize = 256;

/// The numbers of prefixes.
///
/// The flows of a [group](GroupId) have numbers of their own, for each group a bounded table. So its names push out
/// those of no other.
pub(crate) struct Prefixes {
    rule: FlowPrefix,
    /// Of several components, by use: the least recent makes room.
    known: ContentStore<PrefixId>,
    /// Those of FIB entries. Of an entry beyond the end, and while there are no groups, it is that of the entry.
    of_entries: Vec<PrefixId>,
    /// Those of each group, from the first on.
    groups: Vec<ContentStore<PrefixId>>,
    /// Which FIB entry a number of a group belongs to, by number.
    entries: Vec<Option<FibId>>,
    forgotten: Vec<PrefixId>,
    given: u32,
    /// Reused between calls.
    prefix: HashedName,
}

impl Prefixes {
    pub(crate) fn new(rule: FlowPrefix) -> Prefixes {
        Prefixes::with_room(rule, MOST_PREFIXES)
    }

    fn with_room(rule: FlowPrefix, most: usize) -> Prefixes {
        Prefixes {
            rule,
            known: ContentStore::new(CsPolicy::Lru, most, u64::MAX),
            of_entries: Vec::new(),
            groups: Vec::new(),
            entries: Vec::new(),
            forgotten: Vec::new(),
            given: 0,
            prefix: HashedName::new(),
        }
    }

    /// The prefix of a name outside of groups that matches this FIB entry; and one that is forgotten for it, whose
    /// number will come to mean another.
    #[inline]
    pub(crate) fn of(&mut self, name: &HashedName, entry: Option<FibId>) -> (PrefixId, Option<PrefixId>) {
        match self.rule {
            FlowPrefix::FibEntry => (entry.map_or(NO_PREFIX, |id| self.of_entry(id)), None),
            FlowPrefix::Components(n) => {
                self.prefix.assign_prefix(name, usize::from(n).min(name.len().saturating_sub(1)));
                number(&mut self.known, &self.prefix, &mut self.forgotten, &mut self.given)
            }
        }
    }

    /// The same of a name that comes from a group. A FIB entry is given with the length of its prefix.
    pub(crate) fn of_group(
        &mut self,
        group: GroupId,
        name: &HashedName,
        entry: Option<(FibId, usize)>,
    ) -> (PrefixId, Option<PrefixId>) {
        let len = match (self.rule, entry) {
            (FlowPrefix::FibEntry, None) => return (NO_PREFIX, None),
            (FlowPrefix::FibEntry, Some((_, len))) => len,
            (FlowPrefix::Components(n), _) => usize::from(n).min(name.len().saturating_sub(1)),
        };
        self.prefix.assign_prefix(name, len);
        let place = usize::from(group.0);
        while self.groups.len() <= place {
            self.groups.push(ContentStore::new(CsPolicy::Lru, MOST_OF_GROUP, u64::MAX));
        }
        let known = &mut self.groups[place];
        let (id, forgotten) = number(known, &self.prefix, &mut self.forgotten, &mut self.given);
        let at = id.0 as usize;
        if at >= self.entries.len() {
            self.entries.resize(at + 1, None);
        }
        self.entries[at] = entry.map(|(entry, _)| entry);
        (id, forgotten)
    }

    /// There are going to be groups: from now on the prefixes of FIB entries, `bound` so far, have numbers as any other.
    pub(crate) fn number_entries(&mut self, bound: usize) {
        if self.of_entries.is_empty() && self.rule == FlowPrefix::FibEntry {
            self.of_entries.extend((0..bound.max(1) as u32).map(PrefixId));
            self.given = self.of_entries.len() as u32;
        }
    }

    #[inline]
    fn of_entry(&mut self, id: FibId) -> PrefixId {
        if self.of_entries.is_empty() {
            return PrefixId(id.0);
        }
        while self.of_entries.len() <= id.0 as usize {
            self.of_entries.push(fresh(&mut self.forgotten, &mut self.given));
        }
        self.of_entries[id.0 as usize]
    }

    /// The numbers that belong to a FIB entry which is removed: its flows are over.
    pub(crate) fn of_removed(&mut self, id: FibId) -> Vec<PrefixId> {
        if self.rule != FlowPrefix::FibEntry {
            return Vec::new();
        }
        let mut all = vec![self.of_entry(id)];
        for (at, entry) in self.entries.iter_mut().enumerate().filter(|(_, entry)| **entry == Some(id)) {
            *entry = None;
            all.push(PrefixId(at as u32));
        }
        all
    }

    /// Forgets a group: its numbers will come to mean others.
    pub(crate) fn forget_group(&mut self, group: GroupId) -> Vec<PrefixId> {
        let mut gone = Vec::new();
        if let Some(known) = self.groups.get_mut(usize::from(group.0)) {
            gone.extend(known.iter().map(|(_, id)| id));
            *known = ContentStore::new(CsPolicy::Lru, MOST_OF_GROUP, u64::MAX);
        }
        gone.iter().for_each(|id| self.entries[id.0 as usize] = None);
        self.forgotten.extend(&gone);
        gone
    }
}

/// A number that nothing has.
fn fresh(forgotten: &mut Vec<PrefixId>, given: &mut u32) -> PrefixId {
    forgotten.pop().unwrap_or_else(|| {
        *given += 1;
        PrefixId(*given - 1)
    })
}

/// The number of a prefix in a table, and the one that was forgotten for it.
#[inline]
fn number(
    known: &mut ContentStore<PrefixId>,
    prefix: &HashedName,
    forgotten: &mut Vec<PrefixId>,
    given: &mut u32,
) -> (PrefixId, Option<PrefixId>) {
    if let Some(known) = known.lookup(prefix, false, false, Time::ZERO) {
        return (known, None);
    }
    let id = fresh(forgotten, given);
    let before = forgotten.len();
    known.insert(prefix, id, 0, Time::NEVER, forgotten);
    (id, forgotten.get(before).copied())
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
        let mut prefixes = Prefixes::new(FlowPrefix::FibEntry);
        assert_eq!(prefixes.of(&name("/a/b"), Some(FibId(7))), (PrefixId(7), None));
        assert_eq!(prefixes.of(&name("/a/b"), None), (NO_PREFIX, None));
    }

    #[test]
    fn components_tell_flows_apart_but_for_the_last() {
        let mut prefixes = Prefixes::new(FlowPrefix::Components(2));
        let mut of = |uri| prefixes.of(&name(uri), None).0;
        let [b, c, short] = ["/a/b/0", "/a/c/0", "/n/0"].map(&mut of);
        assert!(b != c && c != short && b != short);
        assert_eq!(["/a/b/1", "/a/b/x/2", "/a/c/9", "/n/1"].map(of), [b, b, c, short]);
    }

    #[test]
    fn the_table_is_bounded_and_the_least_recent_makes_room() {
        let mut prefixes = Prefixes::with_room(FlowPrefix::Components(1), 2);
        let [a, b] = ["/a/0", "/b/0"].map(|uri| prefixes.of(&name(uri), None).0);
        assert_eq!(prefixes.of(&name("/a/1"), None), (a, None));
        let (c, forgotten) = prefixes.of(&name("/c/0"), None);
        assert!(c != a && c != b && forgotten == Some(b));
        assert_eq!(prefixes.of(&name("/a/2"), None), (a, None));
        assert_eq!(prefixes.of(&name("/d/0"), None), (b, Some(c)));
    }

    #[test]
    fn a_group_has_numbers_of_its_own_and_forgets_only_its_own() {
        let mut prefixes = Prefixes::new(FlowPrefix::Components(1));
        let (honest, strange) = (GroupId(1), GroupId(2));
        let outside = prefixes.of(&name("/a/0"), None).0;
        let inside = prefixes.of_group(honest, &name("/a/0"), None).0;
        assert_ne!(outside, inside);
        let mut theirs = vec![];
        for n in 0..3 * MOST_OF_GROUP {
            let (id, forgotten) = prefixes.of_group(strange, &name(&format!("/x{n}/0")), None);
            theirs.push(id);
            assert_eq!(forgotten.is_some(), n >= MOST_OF_GROUP);
            assert!(forgotten.is_none_or(|id| theirs.contains(&id)));
        }
        assert_eq!(prefixes.of(&name("/a/1"), None), (outside, None));
        assert_eq!(prefixes.of_group(honest, &name("/a/1"), None), (inside, None));
        assert!(prefixes.given as usize <= MOST_OF_GROUP + 3, "numbers are used again");
        assert_eq!(prefixes.forget_group(strange).len(), MOST_OF_GROUP);
        let given = prefixes.given;
        assert!(prefixes.of_group(strange, &name("/y/0"), None).1.is_none() && prefixes.given == given);
    }

    #[test]
    fn with_groups_the_prefixes_of_fib_entries_have_numbers_that_no_group_has() {
        let mut prefixes = Prefixes::new(FlowPrefix::FibEntry);
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
        assert_eq!(prefixes.of_group(group, &name("/z"), None), (NO_PREFIX, None));
        assert_eq!(prefixes.of_removed(FibId(1)), [PrefixId(1), one]);
        assert_eq!(prefixes.of_removed(FibId(1)), [PrefixId(1)]);
    }
}
