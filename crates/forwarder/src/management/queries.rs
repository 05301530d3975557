//! Limits the time spent on queries of faces. Each query examines all faces, and its answer is rarely of use for another one.
//!
//! ```text
//!   asked for -> made, and adds to a debt that decreases with time
//!   asked for, and the debt is large -> refused
//! ```
//!
//! Each user without rights has its own debt. So a user with endless queries takes a small part of the time, and does not affect
//! other users.

use std::collections::BTreeMap;

use weir_core::units::{Span, Time};

use super::segments::REUSED_FOR_A_BYTE;
use crate::control::Owner;

/// Cost of an examined face: about ten times the real time. Assumed.
const OF_A_FACE: Span = Span::from_micros(5);
/// Queries are refused above this debt. Assumed: a few simultaneous queries are answered, also with many faces.
const MOST: Span = Span::from_millis(50);

/// The debts of users without rights.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// The time at which each debt is paid.
    debts: BTreeMap<Owner, Time>,
}

impl Queries {
    /// Whether a user's query is admitted.
    pub(super) fn admits(&self, now: Time, owner: Owner) -> bool {
        self.debts.get(&owner).is_none_or(|paid| paid.since(now) < MOST)
    }

    /// Charges a query: it examined this many faces, and its answer has this many bytes.
    pub(super) fn charge(&mut self, now: Time, owner: Owner, faces: usize, bytes: usize) {
        self.debts.retain(|_, paid| *paid > now);
        let cost = OF_A_FACE * faces as u64 + REUSED_FOR_A_BYTE * bytes as u64;
        let paid = self.debts.entry(owner).or_insert(now);
        *paid += cost;
    }
}
