//! Lists of entries, linked by entry numbers. An entry is in at most one list of its table.

/// No entry.
pub(in super::super) const NONE: u32 = u32::MAX;

/// Makes room for index `index`, with this value in new places. Grows by an eighth, as the store does,
/// because unused memory counts too.
pub(super) fn ensure<T: Clone>(places: &mut Vec<T>, index: u32, value: &T) {
    let needed = index as usize + 1;
    if needed > places.len() {
        if needed > places.capacity() {
            places.reserve_exact(needed - places.len() + 8 + places.len() / 8);
        }
        places.resize(needed, value.clone());
    }
}

/// The neighbours of each entry in its list: newer, older.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(Vec<(u32, u32)>);

/// The ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    pub(super) newest: u32,
    pub(super) oldest: u32,
}

impl List {
    pub(super) const EMPTY: List = List { newest: NONE, oldest: NONE };

    pub(super) fn is_empty(self) -> bool {
        self.oldest == NONE
    }
}

impl Links {
    /// Adds an entry that is in no list as the newest one.
    pub(super) fn push(&mut self, list: &mut List, entry: u32) {
        ensure(&mut self.0, entry, &(NONE, NONE));
        self.0[entry as usize] = (NONE, list.newest);
        match list.newest {
            NONE => list.oldest = entry,
            newest => self.0[newest as usize].0 = entry,
        }
        list.newest = entry;
    }

    /// Removes an entry from its list.
    pub(super) fn unlink(&mut self, list: &mut List, entry: u32) {
        let (newer, older) = core::mem::replace(&mut self.0[entry as usize], (NONE, NONE));
        match newer {
            NONE => list.newest = older,
            newer => self.0[newer as usize].1 = older,
        }
        match older {
            NONE => list.oldest = newer,
            older => self.0[older as usize].0 = newer,
        }
    }

    /// Removes the oldest entry.
    pub(super) fn pop(&mut self, list: &mut List) -> Option<u32> {
        let oldest = list.oldest;
        if oldest == NONE {
            return None;
        }
        self.unlink(list, oldest);
        Some(oldest)
    }
}

/// A list and the size of its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) list: List,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Segment {
    pub(super) const EMPTY: Segment = Segment { list: List::EMPTY, packets: 0, bytes: 0 };

    pub(super) fn push(&mut self, links: &mut Links, entry: u32, bytes: u64) {
        links.push(&mut self.list, entry);
        self.packets += 1;
        self.bytes += bytes;
    }

    pub(super) fn unlink(&mut self, links: &mut Links, entry: u32, bytes: u64) {
        links.unlink(&mut self.list, entry);
        self.packets -= 1;
        self.bytes -= bytes;
    }
}
