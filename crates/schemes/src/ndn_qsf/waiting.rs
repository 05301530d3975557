//! The Interest queues: one for each prefix, all in one slab.
//!
//! The PIT entry of a waiting Interest has its position in the queue in its scratch word. So an Interest
//! leaves the queue as soon as its entry ends, and the length of a queue is the number of Interests that are
//! still pending. Each Interest has a set of upstreams that may take it: not the face from which it came, and
//! none that refused it.

use weir_core::ids::PitId;
use weir_core::tables::pit::PitEntry;

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// A set of upstreams of a prefix, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places(pub(super) u32);

impl Places {
    /// The largest number of slots.
    pub(super) const MOST: usize = 32;

    pub(super) fn of(place: usize) -> Places {
        Places(1 << place)
    }

    #[inline]
    pub(super) fn has(self, place: usize) -> bool {
        self.0 >> place & 1 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the slots that are not in `others`, or all slots if none would be left.
    pub(super) fn without(self, others: Places) -> Places {
        match self.0 & !others.0 {
            0 => self,
            left => Places(left),
        }
    }
}

/// The queue of one prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
    len: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE, len: 0 }
    }
}

impl List {
    /// Returns |Qi(p)|, the number of waiting Interests.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    pit: PitId,
    prefix: u32,
    places: Places,
    previous: u32,
    next: u32,
    /// Increases when the node is freed.
    generation: u32,
}

/// All waiting Interests.
#[derive(Debug)]
pub(super) struct Waiting {
    nodes: Vec<Node>,
    /// The first free node; the others follow by `next`.
    free: u32,
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting { nodes: Vec::new(), free: NONE }
    }
}

/// Encodes a node for the scratch word of its entry; 0 means none.
fn word(index: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index + 1)
}

impl Waiting {
    /// Returns the node of a waiting entry, and its prefix.
    #[inline]
    pub(super) fn find(&self, entry: &PitEntry) -> Option<(u32, u32)> {
        let index = (entry.scratch as u32).checked_sub(1)?;
        let node = self.nodes.get(index as usize)?;
        (u64::from(node.generation) == entry.scratch >> 32).then_some((index, node.prefix))
    }

    /// Returns the limiters that may take the Interest.
    pub(super) fn places(&self, node: u32) -> Places {
        self.nodes[node as usize].places
    }

    pub(super) fn set_places(&mut self, node: u32, places: Places) {
        self.nodes[node as usize].places = places;
    }

    /// Appends an Interest.
    #[inline]
    pub(super) fn push(
        &mut self,
        list: &mut List,
        entry: &mut PitEntry,
        pit: PitId,
        prefix: u32,
        places: Places,
    ) {
        let index = match self.free {
            NONE => {
                let (previous, next, generation) = (NONE, NONE, 0);
                self.nodes.push(Node { pit, prefix, places, previous, next, generation });
                self.nodes.len() as u32 - 1
            }
            free => {
                self.free = self.nodes[free as usize].next;
                free
            }
        };
        let node = &mut self.nodes[index as usize];
        *node = Node { pit, prefix, places, previous: list.last, next: NONE, generation: node.generation };
        entry.scratch = word(index, node.generation);
        match list.last {
            NONE => list.first = index,
            last => self.nodes[last as usize].next = index,
        }
        list.last = index;
        list.len += 1;
    }

    /// Returns the Interest that has waited longest of those that this upstream may take.
    #[inline]
    pub(super) fn first_for(&self, list: &List, place: usize) -> Option<(u32, PitId)> {
        let mut next = list.first;
        while next != NONE {
            let node = &self.nodes[next as usize];
            if node.places.has(place) {
                return Some((next, node.pit));
            }
            next = node.next;
        }
        None
    }

    /// Removes an Interest from its queue. Returns the limiters that could have taken it.
    #[inline]
    pub(super) fn remove(&mut self, list: &mut List, index: u32) -> Places {
        let Node { previous, next, places, .. } = self.nodes[index as usize];
        match previous {
            NONE => list.first = next,
            before => self.nodes[before as usize].next = next,
        }
        match next {
            NONE => list.last = previous,
            after => self.nodes[after as usize].previous = previous,
        }
        list.len -= 1;
        let node = &mut self.nodes[index as usize];
        node.generation = node.generation.wrapping_add(1);
        node.next = self.free;
        self.free = index;
        places
    }

    /// Empties a queue, because its prefix is removed.
    pub(super) fn clear(&mut self, list: &mut List) {
        while list.first != NONE {
            self.remove(list, list.first);
        }
    }
}
