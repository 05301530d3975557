//! The entries of all nodes, indexed for name look-ups.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::model::{NextHop, NodeId, Route};

/// The FIBs of all nodes.
#[derive(Clone, Debug)]
pub struct Fibs<'s> {
    /// The routes, by prefix, then by node.
    routes: Vec<&'s Route>,
    of_prefix: BTreeMap<&'s str, Range<usize>>,
}

impl<'s> Fibs<'s> {
    /// Returns the FIBs of these routes.
    pub fn new(routes: &'s [Route]) -> Fibs<'s> {
        let mut sorted: Vec<&Route> = routes.iter().collect();
        sorted.sort_by_key(|route| (&*route.prefix, route.node));
        let mut of_prefix: BTreeMap<&'s str, Range<usize>> = BTreeMap::new();
        let mut begin = 0;
        for group in sorted.chunk_by(|one, next| one.prefix == next.prefix) {
            of_prefix.insert(&group[0].prefix, begin..begin + group.len());
            begin += group.len();
        }
        Fibs { routes: sorted, of_prefix }
    }

    /// Returns the entries for a name.
    pub fn of_name(&self, name: &str) -> FibsOfName<'_> {
        let parents = core::iter::successors(Some(name), |name| match name.rfind('/')? {
            0 if name.len() > 1 => Some("/"),
            0 => None,
            at => Some(&name[..at]),
        });
        let found = parents.filter_map(|prefix| self.of_prefix.get(prefix));
        FibsOfName { by_length: found.map(|range| &self.routes[range.clone()]).collect() }
    }
}

/// The entries of all nodes for one name.
#[derive(Clone, Debug)]
pub struct FibsOfName<'f> {
    /// The entries of each prefix of the name, the longest first, each in the order of nodes.
    by_length: Vec<&'f [&'f Route]>,
}

impl<'f> FibsOfName<'f> {
    /// Returns the next hops of a node by its longest prefix; none without an entry.
    pub fn next_hops(&self, node: NodeId) -> &'f [NextHop] {
        let of_node = |routes: &&'f [&'f Route]| {
            routes.binary_search_by_key(&node, |route| route.node).ok().map(|at| routes[at])
        };
        self.by_length.iter().find_map(of_node).map_or(&[], |route| &route.next_hops)
    }
}
