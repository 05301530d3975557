//! Which prefix of a name tells flows apart, and small numbers for these prefixes.
//!
//! By default it is the prefix of the FIB entry that a name matches. An operator may want flows that
//! are finer or coarser than routes: then it is the name's first components.

use crate::ids::{NO_PREFIX, PrefixId};
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

/// The numbers of prefixes.
pub(crate) struct Prefixes {
    rule: FlowPrefix,
    /// Of several components, by use: the least recent makes room.
    known: ContentStore<PrefixId>,
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
        let known = ContentStore::new(CsPolicy::Lru, most, u64::MAX);
        Prefixes { rule, known, forgotten: Vec::new(), given: 0, prefix: HashedName::new() }
    }

    pub(crate) fn rule(&self) -> FlowPrefix {
        self.rule
    }

    /// The prefix of a name that matches this FIB entry; and one that is forgotten for it, whose number
    /// will come to mean another.
    #[inline]
    pub(crate) fn of(&mut self, name: &HashedName, entry: Option<FibId>) -> (PrefixId, Option<PrefixId>) {
        match self.rule {
            FlowPrefix::FibEntry => (entry.map_or(NO_PREFIX, |id| PrefixId(id.0)), None),
            FlowPrefix::Components(n) => self.of_components(name, usize::from(n)),
        }
    }

    fn of_components(&mut self, name: &HashedName, n: usize) -> (PrefixId, Option<PrefixId>) {
        self.prefix.assign_prefix(name, n.min(name.len().saturating_sub(1)));
        if let Some(known) = self.known.lookup(&self.prefix, false, false, Time::ZERO) {
            return (known, None);
        }
        let id = self.forgotten.pop().unwrap_or_else(|| {
            self.given += 1;
            PrefixId(self.given - 1)
        });
        self.known.insert(&self.prefix, id, 0, Time::NEVER, &mut self.forgotten);
        (id, self.forgotten.last().copied())
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
}
