//! Forwarding of repeated Interests: NFD's suppression of retransmissions, as an option.
//!
//! By default, a node forwards one Interest, and all other downstreams wait for its Data. NFD forwards an
//! Interest for a pending one again, from any downstream, if the last transmission was long enough ago: at
//! first `reforward_after`. The time doubles with each transmission, up to 250 ms
//! (`RetxSuppressionExponential::decidePerPitEntry` of NFD 0.7; best-route has 10 ms). An Interest sent twice
//! brings its Data twice. That adds load if many consumers request the same Data and queues are longer than
//! 10 ms. If a Data is lost, the Interest of another downstream recovers it.

use crate::tables::pit::PitEntry;
use crate::units::{Span, Time};

/// Longest suppression (NFD's `DEFAULT_MAX_INTERVAL`), unless the first interval is longer.
const MOST: Span = Span::from_millis(250);

/// Returns whether an Interest comes too soon after the last transmission of its pending entry to be
/// forwarded again.
pub(super) fn comes_too_soon(entry: &PitEntry, after: Span, now: Time) -> bool {
    let sendings: u32 = entry.out_records.iter().map(|record| u32::from(record.times_sent)).sum();
    let last = entry.out_records.iter().map(|record| record.sent).max();
    // With more doublings, even a microsecond exceeds the maximum.
    let doublings = sendings.saturating_sub(1).min(20);
    let interval = (after * (1 << doublings)).min(MOST.max(after));
    entry.held.is_some() || last.is_some_and(|last| now.since(last) < interval)
}
