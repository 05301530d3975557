//! The downstreams of a flow: what they are granted of what its next hops grant, S.
//!
//! - m·S, where m is moved so that what is sent on is S: m > 1 where content stores answer a part, 1 where all ask for the
//!   same names, less where they ask for different ones. Of one downstream the part that is sent on tells m. Of several it is
//!   found slowly, from 1 on: if it fell at once, names asked for one after another would be further apart in time, and
//!   they would share less.
//! - A downstream that is ahead of another one in the same names waits for it: a_k·m·S (adaptive piggybacking, Golubchik
//!   1995). So they come into step, and links carry one copy.
//! - One whose Data come from the content store alone gets more, by their age. It catches up without overtaking.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::seam::Answer;
use weir_core::units::{Span, Time};

/// A downstream is forgotten after so long, and counts as present or as asking beyond stores for so long.
const MEMORY: Span = Span::from_secs(10);
const RECENT: Span = Span::from_millis(300);
/// m moves after so long and so many Interests, or ten times so long.
const PERIOD: Span = Span::from_millis(100);
const INTERESTS: u32 = 10;
/// How fast m follows the part that is sent on, a period.
const FOLLOW: f64 = 0.3;
/// Gain of m of several, and its most as a multiple of the Interests that came for each sent on. It is one of their number at
/// least: one that asks for more than its grant takes no more from the others.
const GAIN: f64 = 0.1;
const MOST: f64 = 1.25;
/// a_k falls to a half, its least, for one that is ahead by this. With less it would starve beside one that cannot go faster.
const AHEAD: f64 = 0.05;
const LEAST_PART: f64 = 0.5;
/// A Data of this age from the content store is granted twice. One that is younger than the second is granted no more: soon the
/// store has no more, and what is asked for then comes from afar.
const CATCH_UP: f64 = 0.2;
const CLOSE: Span = Span::from_secs(2);

/// A downstream.
#[derive(Clone, Copy, Debug)]
struct Downstream {
    face: FaceId,
    heard: Time,
    /// When an Interest of it was last sent on.
    sent_on: Option<Time>,
    /// How long before it another one asked for the same names, s.
    behind: f64,
}

/// The downstreams of a flow.
#[derive(Debug)]
pub(super) struct Downstreams {
    all: SmallVec<[Downstream; 2]>,
    /// m.
    share: f64,
    /// Since when these Interests came, and were sent on.
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

    /// Whether there are several.
    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// An Interest came, which is sent on or not. Whether its downstream is new.
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

    /// A downstream asks for a name that another one asked for before, if at all, by this time, s.
    pub(super) fn note_behind(&mut self, face: FaceId, age: f64) {
        if let Some(down) = self.of(face) {
            down.behind += (age - down.behind) / 8.0;
        }
    }

    /// A downstream asks for what is pending: it is not behind by much.
    pub(super) fn note_in_step(&mut self, face: FaceId) {
        if let Some(down) = self.of(face) {
            down.behind *= 0.7;
        }
    }

    /// Ends a period, if it is time: moves m, where next hops grant S bit/s, and Data have these bits. What is sent on, bit/s.
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

    /// Moves m of one downstream: of its Interests stores answer a part.
    fn follow_stores(&mut self) {
        if self.sent == self.came {
            self.share = 1.0;
        } else if self.sent > 0 {
            let (part, before) = (f64::from(self.sent) / f64::from(self.came), 1.0 / self.share);
            self.share = 1.0 / (before + FOLLOW * (part - before));
        }
    }

    /// What a downstream is granted with an answer, bit/s.
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
