//! Prefetching: with tens of thousands of packets on their way, a hop waits for memory most of the time.

use prefetch_index::prefetch_index;

/// Has the processor fetch the cache line that this value begins in; changes nothing, and does not wait.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index(core::slice::from_ref(value), 0);
}
