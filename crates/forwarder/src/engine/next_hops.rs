//! Says in the log which next hops were left because they answer nothing, and which are used again.
//!
//! A next hop may come and go every second, and a neighbour may be a next hop of thousands of prefixes. So there are
//! [`LINES`] lines at once, and then one every [`LINE_EVERY`]. A change that has no line is counted in a later one, and so
//! are all after it until then; so is one of a next hop that was removed before it could have a line.

use tracing::{info, warn};
use weir_core::node::{NextHopChange, NextHopNews};
use weir_core::units::{Span, Time};

use super::Engine;
use crate::wire_node::plain;

/// Lines at once. Assumed: the prefixes of a neighbour, most often.
const LINES: u64 = 16;
/// The time in which one more may be written. Assumed: 3000 lines a day, which a log has room for.
const LINE_EVERY: Span = Span::from_secs(30);

/// What the log has been told.
#[derive(Debug, Default)]
pub(super) struct NextHopLog {
    /// When there may be [`LINES`] lines at once again.
    all_at: Time,
    /// How many next hops that were left, and how many that are used again.
    told: (u64, u64),
    /// Whether a change had no line.
    is_behind: bool,
}

impl NextHopLog {
    /// Whether a change has a line of its own.
    fn has_line(&mut self, is_left: bool, now: Time) -> bool {
        self.is_behind = self.is_behind || !self.take_line(now);
        if !self.is_behind {
            *(if is_left { &mut self.told.0 } else { &mut self.told.1 }) += 1;
        }
        !self.is_behind
    }

    /// These are all changes, and no other one will have a line of its own.
    fn note_all(&mut self, all: (u64, u64)) {
        self.is_behind = self.told != all;
    }

    /// Those of all changes that had no line, if one may be written now for them.
    fn rest(&mut self, all: (u64, u64), now: Time) -> Option<(u64, u64)> {
        if !self.is_behind || !self.take_line(now) {
            return None;
        }
        self.is_behind = false;
        let told = core::mem::replace(&mut self.told, all);
        Some((all.0 - told.0, all.1 - told.1))
    }

    /// Whether there may be one more line; then it is written.
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
    /// Writes down what became of next hops since the last call.
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
                    warn!(%prefix, face, %remote, "left a next hop: it answers nothing, and another one does");
                }
                NextHopNews::Answers => {
                    info!(%prefix, face, %remote, "a next hop that was left answers again");
                }
                NextHopNews::IsOnly => {
                    info!(%prefix, face, %remote, "a next hop that was left is used again: there is no other one");
                }
            }
        }
        self.next_hop_log.note_all(self.node.core().next_hops_left_and_back());
    }

    /// Writes one line for all changes of next hops that had none.
    pub(super) fn tell_other_next_hops(&mut self) {
        self.tell_next_hops();
        let all = self.node.core().next_hops_left_and_back();
        if let Some((left, back)) = self.next_hop_log.rest(all, self.now) {
            warn!(
                left,
                back,
                "more next hops were left or are used again: `weir route list --fib` shows which are silent"
            );
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
