//! An index of flows by their key: a row for each prefix, and in it a place for each class.

use weir_core::ids::PrefixId;
use weir_core::packet::FlowKey;
use weir_packet::ServiceClass;

/// The number of service classes.
pub(crate) const CLASSES: usize = ServiceClass::ALL.len();

/// Marks a place without a flow.
const NONE: u32 = u32::MAX;

/// The index. A look-up takes two array accesses, because prefixes are small numbers.
#[derive(Debug, Default)]
pub(crate) struct FlowIndex {
    rows: Vec<[u32; CLASSES]>,
}

impl FlowIndex {
    /// Returns the index of a flow's state.
    #[inline]
    pub(crate) fn find(&self, key: FlowKey) -> Option<u32> {
        let row = self.rows.get(key.prefix.0 as usize)?;
        Some(row[key.class as usize]).filter(|&flow| flow != NONE)
    }

    pub(crate) fn insert(&mut self, key: FlowKey, flow: u32) {
        let prefix = key.prefix.0 as usize;
        if prefix >= self.rows.len() {
            self.rows.resize(prefix + 1, [NONE; CLASSES]);
        }
        self.rows[prefix][key.class as usize] = flow;
    }

    pub(crate) fn remove(&mut self, key: FlowKey) {
        self.rows[key.prefix.0 as usize][key.class as usize] = NONE;
    }

    /// Removes all flows of a prefix.
    pub(crate) fn remove_prefix(&mut self, prefix: PrefixId) {
        if let Some(row) = self.rows.get_mut(prefix.0 as usize) {
            *row = [NONE; CLASSES];
        }
    }

    /// Iterates over the flows of a prefix.
    pub(crate) fn of_prefix(&self, prefix: PrefixId) -> impl Iterator<Item = u32> + use<> {
        let row = self.rows.get(prefix.0 as usize).copied().unwrap_or([NONE; CLASSES]);
        row.into_iter().filter(|&flow| flow != NONE)
    }
}
