//! The downstreams of a flow, and their grants. S is the sum that the flow's next hops grant.
//!
//! - The grant is m·S. m is adjusted so that the forwarded rate is S: m > 1 if content stores answer a part,
//!   1 if all downstreams request the same names, less if they request different names. With one downstream,
//!   the forwarded part gives m. With several, m is found slowly, starting from 1: if it fell at once,
//!   requests for the same name would move apart in time, and the downstreams would share less.
//! - A downstream that is ahead of another one in the same names waits for it: its grant is a_k·m·S (adaptive
//!   piggybacking, Golubchik 1995). So they come into step, and links carry one copy.
//! - A downstream whose Data all come from the content store is granted more, depending on their age. It
//!   catches up without overtaking.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::seam::Answer;
use weir_core::units::{Span, Time};

/// The time after which a downstream is forgotten. It counts as present, or as requesting more than stores
/// have, for as long.
const MEMORY: Span = Span::from_secs(10);
const RECENT: Span = Span::from_millis(300);
/// The shortest period of m, with a smallest number of Interests. A period ends at the latest after ten times
/// this time.
const PERIOD: Span = Span::from_millis(100);
const INTERESTS: u32 = 10;
/// The weight of a new measurement of the forwarded part.
const FOLLOW: f64 = 0.3;
/// The gain of m of several downstreams, and its largest value, as a multiple of the received Interests for
/// each forwarded one. m is at least 1 divided by their number: a downstream that exceeds its grant does not
/// reduce the others' grants further.
const GAIN: f64 = 0.1;
const MOST: f64 = 1.25;
/// The lead, s, at which a_k falls to one half, its smallest value. With a smaller a_k, a downstream would
/// starve beside one that cannot go faster.
const AHEAD: f64 = 0.05;
const LEAST_PART: f64 = 0.5;
/// The age of a Data from the content store at which the grant doubles. A downstream with Data younger than
/// the second value is granted no more: the store will soon have no more Data, and the next Data come from
/// far away.
const CATCH_UP: f64 = 0.2;
const CLOSE: Span = Span::from_secs(2);

/// The state of one downstream.
#[derive(Clone, Copy, Debug)]
struct Downstream {
    face: FaceId,
    heard: Time,
    /// The time at which an Interest of it was last forwarded.
    sent_on: Option<Time>,
    /// The time by which it follows another downstream that requests the same names, s.
    behind: f64,
}

/// The downstreams of a flow.
#[derive(Debug)]
pub(super) struct Downstreams {
    all: SmallVec<[Downstream; 2]>,
    /// m.
    share: f64,
    /// The start of the period, and the numbers of Interests received and forwarded since.
    since: Time,
    came: u32,
    sent: u32,
}

impl Default for Downstreams {
    fn default() -> Downstreams {
        Downstreams { all: SmallVec::new(), share: 1.0, since: Time::ZERO, came: 0, sent: 0 }
    }
}

impl Downstreams {
    fn of(&mut self, face: FaceId) -> Option<&mut Downstream> {
        self.all.iter_mut().find(|down| down.face == face)
    }

    /// Returns whether there are several.
    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Counts an Interest, which is forwarded or not. Returns whether its downstream is new.
    pub(super) fn on_interest(&mut self, now: Time, face: FaceId, is_sent: bool) -> bool {
        self.came += 1;
        self.sent += u32::from(is_sent);
        if let Some(down) = self.of(face) {
            down.heard = now;
            if is_sent {
                down.sent_on = Some(now);
            }
            return false;
        }
        self.all.retain(|down| now.since(down.heard) < MEMORY);
        let sent_on = is_sent.then_some(now);
        self.all.push(Downstream { face, heard: now, sent_on, behind: 0.0 });
        true
    }

    fn present(&self, now: Time, within: Span) -> u32 {
        self.all.iter().filter(|down| now.since(down.heard) < within).count() as u32
    }

    /// Notes that a downstream requests a name that another one requested `age` s before, if any did.
    pub(super) fn note_behind(&mut self, face: FaceId, age: f64) {
        if let Some(down) = self.of(face) {
            down.behind += (age - down.behind) / 8.0;
        }
    }

    /// Notes that a downstream requests a pending name: it is not far behind.
    pub(super) fn note_in_step(&mut self, face: FaceId) {
        if let Some(down) = self.of(face) {
            down.behind *= 0.7;
        }
    }

    /// Ends a period, if it is over, and adjusts m. Next hops grant `granted` bit/s, and Data have `size`
    /// bits. Returns the forwarded rate, bit/s.
    pub(super) fn end_period(&mut self, now: Time, granted: f64, size: f64) -> Option<f64> {
        let passed = now.since(self.since);
        if passed < PERIOD || self.came < INTERESTS && passed < PERIOD * 10 {
            return None;
        }
        let used = f64::from(self.sent) * size / passed.as_secs_f64();
        if granted > 0.0 && granted.is_finite() && self.since > Time::ZERO {
            let present = self.present(now, RECENT.max(passed));
            if present <= 1 {
                self.follow_stores();
            } else {
                let error = ((granted - used) / granted).clamp(-1.0, 1.0);
                let most = (MOST * f64::from(self.came) / f64::from(self.sent.max(1))).max(1.0);
                self.share = (self.share * (1.0 + GAIN * error)).clamp(1.0 / f64::from(present.max(1)), most);
            }
        }
        (self.since, self.came, self.sent) = (now, 0, 0);
        Some(used)
    }

    /// Adjusts m of a single downstream, whose Interests stores answer in part.
    fn follow_stores(&mut self) {
        if self.sent == self.came {
            self.share = 1.0;
        } else if self.sent > 0 {
            let (part, before) = (f64::from(self.sent) / f64::from(self.came), 1.0 / self.share);
            self.share = 1.0 / (before + FOLLOW * (part - before));
        }
    }

    /// Returns the grant of a downstream with an answer, bit/s.
    pub(super) fn grant(&self, now: Time, face: FaceId, answer: Answer, granted: f64) -> f64 {
        let asks_beyond = |down: &&Downstream| down.sent_on.is_some_and(|sent| now.since(sent) < RECENT);
        let Some(own) = self.all.iter().find(|down| down.face == face) else { return self.share * granted };
        let part = match answer {
            Answer::Forwarded => {
                let last =
                    self.all.iter().filter(asks_beyond).map(|down| down.behind).fold(own.behind, f64::max);
                (1.0 / (1.0 + (last - own.behind) / AHEAD)).max(LEAST_PART)
            }
            Answer::Cached(age) if !asks_beyond(&own) => {
                let factor = 1.0 + age.as_secs_f64() / CATCH_UP;
                if age < CLOSE { factor.min(2.0) } else { factor }
            }
            Answer::Aggregated | Answer::Cached(_) => 1.0,
        };
        part * self.share * granted
    }

    pub(super) fn faces(&self) -> impl Iterator<Item = FaceId> {
        self.all.iter().map(|down| down.face)
    }

    pub(super) fn forget(&mut self, face: FaceId) {
        self.all.retain(|down| down.face != face);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_downstream_is_granted_what_stores_answer_beside_what_is_sent_on() {
        let mut downs = Downstreams::default();
        for n in 0..2000 {
            downs.on_interest(at(n), FaceId(1), n % 4 == 0);
            downs.end_period(at(n), 10e6, 8000.0);
        }
        let granted = downs.grant(at(2000), FaceId(1), Answer::Forwarded, 10e6);
        assert!((granted / 40e6 - 1.0).abs() < 0.01, "{granted}");
        for n in 2000..3000 {
            downs.on_interest(at(n), FaceId(1), false);
            downs.end_period(at(n), 10e6, 8000.0);
        }
        assert!((downs.share - 4.0).abs() < 0.04, "stores that have all say nothing of m: {}", downs.share);
    }

    #[test]
    fn who_is_ahead_waits_for_who_is_behind_but_not_for_more_than_a_half() {
        let mut downs = Downstreams::default();
        for face in [1, 2] {
            downs.on_interest(at(1), FaceId(face), true);
        }
        let mut ahead = |age| {
            (0..100).for_each(|_| downs.note_behind(FaceId(2), age));
            let of = |face| downs.grant(at(2), FaceId(face), Answer::Forwarded, 10e6);
            assert_eq!(of(2), 10e6, "the last one has all");
            of(1) / 10e6
        };
        assert!((ahead(0.02) - 1.0 / 1.4).abs() < 0.01);
        assert_eq!(ahead(2.0), LEAST_PART);
    }
}
