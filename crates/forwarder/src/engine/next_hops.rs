//! Logs which next hops strategies stop using because they do not answer, and which are used again.
//!
//! A next hop can fail and recover every second, and a neighbour can be the next hop of thousands of prefixes. So the log gets at
//! most [`LINES`] lines at once, and then one every [`LINE_EVERY`]. A change without a line is counted in a later line, with all
//! changes in between. So is a change of a next hop that was removed before its line.

use tracing::{info, warn};
use weir_core::node::{NextHopChange, NextHopNews};
use weir_core::units::{Span, Time};

use super::Engine;
use crate::wire_node::plain;

/// Number of lines at once. Assumed: usually enough for the prefixes of a neighbour.
const LINES: u64 = 16;
/// Time between two further lines. Assumed: 3000 lines a day are acceptable in a log.
const LINE_EVERY: Span = Span::from_secs(30);

/// State of the log.
#[derive(Debug, Default)]
pub(super) struct NextHopLog {
    /// The time at which [`LINES`] lines at once are allowed again.
    all_at: Time,
    /// Number of logged failures and of logged recoveries.
    told: (u64, u64),
    /// Whether some changes have no line yet.
    is_behind: bool,
}

impl NextHopLog {
    /// Whether a change gets its own line.
    fn has_line(&mut self, is_left: bool, now: Time) -> bool {
        self.is_behind = self.is_behind || !self.take_line(now);
        if !self.is_behind {
            *(if is_left { &mut self.told.0 } else { &mut self.told.1 }) += 1;
        }
        !self.is_behind
    }

    /// Notes that all changes up to these counts are logged.
    fn note_all(&mut self, all: (u64, u64)) {
        self.is_behind = self.told != all;
    }

    /// The counts of all changes without a line, if a line for them may be written now.
    fn rest(&mut self, all: (u64, u64), now: Time) -> Option<(u64, u64)> {
        if !self.is_behind || !self.take_line(now) {
            return None;
        }
        self.is_behind = false;
        let told = core::mem::replace(&mut self.told, all);
        Some((all.0 - told.0, all.1 - told.1))
    }

    /// Takes one line from the allowance. Returns whether there was one.
    fn take_line(&mut self, now: Time) -> bool {
        let from = self.all_at.max(now);
        let may = from.since(now) <= LINE_EVERY * (LINES - 1);
        if may {
            self.all_at = from + LINE_EVERY;
        }
        may
    }
}

impl Engine {
    /// Logs the changes of next hops since the last call.
    pub(super) fn tell_next_hops(&mut self) {
        while let Some(NextHopChange { prefix, face, news }) = self.node.take_next_hop_change() {
            let face = self.faces.of_core(face).and_then(|slot| self.faces.get(slot));
            let prefix = self.node.core().fib().prefix(prefix).map(plain);
            let (Some(face), Some(prefix)) = (face, prefix) else { continue };
            if !self.next_hop_log.has_line(news == NextHopNews::Left, self.now) {
                continue;
            }
            let (face, remote) = (face.number, &face.remote);
            match news {
                NextHopNews::Left => {
                    warn!(%prefix, face, %remote, "stopped using a next hop: it does not answer, and another one does");
                }
                NextHopNews::Answers => {
                    info!(%prefix, face, %remote, "a next hop answers again, and is used again");
                }
                NextHopNews::IsOnly => {
                    info!(%prefix, face, %remote, "a next hop that does not answer is used again: there is no other one");
                }
            }
        }
        self.next_hop_log.note_all(self.node.core().next_hops_left_and_back());
    }

    /// Logs one line for all changes of next hops without a line.
    pub(super) fn tell_other_next_hops(&mut self) {
        self.tell_next_hops();
        let all = self.node.core().next_hops_left_and_back();
        if let Some((left, back)) = self.next_hop_log.rest(all, self.now) {
            warn!(left, back, "further changes of next hops: `weir route list --fib` shows which are silent");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_next_hop_that_comes_and_goes_does_not_fill_the_log() {
        let mut log = NextHopLog::default();
        let (mut lines, mut counted) = (0, (0, 0));
        for second in 0..3_600 {
            let all = (second + 1, second + 1);
            for is_left in [true, false] {
                lines += u64::from(log.has_line(is_left, at(second)));
            }
            if let Some((left, back)) = log.rest(all, at(second)) {
                counted = (counted.0 + left, counted.1 + back);
            }
        }
        assert_eq!(lines, LINES);
        assert!((3_550..3_600).contains(&(LINES / 2 + counted.0)), "{counted:?}");
    }

    #[test]
    fn after_a_line_for_many_and_some_minutes_each_change_has_one_again() {
        let mut log = NextHopLog::default();
        assert_eq!((0..20).filter(|_| log.has_line(true, at(0))).count() as u64, LINES);
        assert_eq!(log.rest((20, 0), at(29)), None);
        assert!(!log.has_line(false, at(30)), "first the line for those before it");
        assert_eq!(log.rest((20, 1), at(30)), Some((20 - LINES, 1)));
        assert_eq!(log.rest((20, 1), at(300)), None, "nothing is new");
        assert_eq!((0..20).filter(|_| log.has_line(true, at(900))).count() as u64, LINES);
    }
}
