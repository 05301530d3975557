//! Prefetching: with tens of thousands of packets under way, a hop spends most of its time waiting for
//! memory.

use prefetch_index::prefetch_index;

/// Prefetches the cache line in which this value begins. Changes nothing and does not wait.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index(core::slice::from_ref(value), 0);
}
