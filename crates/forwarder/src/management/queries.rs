//! The time that queries of faces take: each looks at all faces, and no two need be the same.
//!
//! ```text
//!   asked for -> made, and paid for by a debt that goes down with time
//!   asked for, and the debt is large -> refused
//! ```
//!
//! Each user without rights has a debt of its own. So who asks without end takes a small part of the time, and refuses
//! nobody else.

use std::collections::BTreeMap;

use weir_core::units::{Span, Time};

use super::segments::REUSED_FOR_A_BYTE;
use crate::control::Owner;

/// What a face costs that is looked at: some ten times what it takes. Assumed.
const OF_A_FACE: Span = Span::from_micros(5);
/// The debt from which on queries are refused. Assumed: some that come together are made, also among many faces.
const MOST: Span = Span::from_millis(50);

/// The debts of users without rights.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// When each is paid.
    debts: BTreeMap<Owner, Time>,
}

impl Queries {
    /// Whether a query is made for a user.
    pub(super) fn admits(&self, now: Time, owner: Owner) -> bool {
        self.debts.get(&owner).is_none_or(|paid| paid.since(now) < MOST)
    }

    /// A query was made: it has looked at so many faces, and its answer has so many bytes.
    pub(super) fn charge(&mut self, now: Time, owner: Owner, faces: usize, bytes: usize) {
        self.debts.retain(|_, paid| *paid > now);
        let cost = OF_A_FACE * faces as u64 + REUSED_FOR_A_BYTE * bytes as u64;
        let paid = self.debts.entry(owner).or_insert(now);
        *paid += cost;
    }
}
