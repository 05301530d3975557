//! When Interests for one that is pending are sent on again: NFD's suppression of retransmissions, for who wants it.
//!
//! A node of Weir sends one Interest on and has all other downstreams wait for its Data. One of NFD sends an Interest that
//! comes for a pending one on again if the last sending was long enough ago, whoever it comes from: at first
//! `reforward_after`, and twice as long with each sending, up to 250 ms (`RetxSuppressionExponential::decidePerPitEntry`
//! of NFD 0.7; best-route has 10 ms). What it sends twice comes back twice: where many ask for the same and queues are
//! longer than 10 ms it is load, and where a Data is lost another downstream mends it.

use crate::tables::pit::PitEntry;
use crate::units::{Span, Time};

/// Never absorbed for longer (NFD's `DEFAULT_MAX_INTERVAL`), unless the first interval is longer.
const MOST: Span = Span::from_millis(250);

/// Whether an Interest comes too soon after the last sending of its entry, which is pending, to be sent on again.
pub(super) fn comes_too_soon(entry: &PitEntry, after: Span, now: Time) -> bool {
    let sendings: u32 = entry.out_records.iter().map(|record| u32::from(record.times_sent)).sum();
    let last = entry.out_records.iter().map(|record| record.sent).max();
    // Doubled more often than this, a microsecond is more than the most.
    let doublings = sendings.saturating_sub(1).min(20);
    let interval = (after * (1 << doublings)).min(MOST.max(after));
    entry.held.is_some() || last.is_some_and(|last| now.since(last) < interval)
}
