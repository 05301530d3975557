//! Detection of dead next hops of a prefix.
//!
//! ```text
//!            no answer for the timeout             another answers what it does not
//!   alive ------------------------------> doubted ----------------------------------> dead
//!     ^                                      |                                          |
//!     +------------ Data or a Nack ----------+------------------------------------------+
//! ```
//!
//! A neighbour behind a datagram socket can disappear without a sign. No strategy of the papers leaves a next
//! hop that answers nothing, so the node does it: strategies see only the next hops that are not dead. If all
//! are dead, they see all.
//!
//! Silence alone is no evidence, because anybody may request names that do not exist. Silence only starts a
//! comparison: the node sends an Interest to the next hop in question and to another one. If only the other
//! one answers, the next hop has missed a name. If none answers, nothing is known. So a next hop is left only
//! if another one has answered in its place, and meanwhile the consumer gets the Data from that one.
//! Comparisons continue less often while a next hop is dead.
//!
//! A Data or a Nack for any Interest of the prefix is an answer. This includes a Data that comes too late for
//! its consumer. Doubts do not expire: they cost copies of a few Interests, and the next answer ends them.
//!
//! The state belongs to a prefix's next hop, not to the face, because a neighbour may answer for one prefix
//! and not for another. Only prefixes with several next hops have state. Numbers of prefixes and faces are
//! reused, so an Interest counts for a next hop only if it was sent after the next hop was first asked.

use std::collections::VecDeque;

use hashbrown::HashTable;
use smallvec::SmallVec;

use crate::ids::{FaceId, GroupId};
use crate::name::HashedName;
use crate::tables::fib::{FibId, NextHop};
use crate::units::{Span, Time};

/// An Interest with a longer lifetime waits for news: it raises no doubt and starts no comparison. Later
/// answers are not expected either. Assumed: between the lifetimes of applications that fetch (1 s to 4 s)
/// and of NFD's notifications (60 s).
const LONGEST_WAIT: Span = Span::from_secs(10);

/// Longer round trips count as this many timeouts. A producer that delays its answers must not hide that its
/// host is gone. Assumed.
const LONGEST_ROUND_TRIP: u64 = 2;

/// Number of comparisons that may be made at once when a doubt begins, so that a consumer that repeats a
/// window of Interests does not lose it again. Assumed: a window of 8 kB Data at 100 Mb/s and 100 ms is 150.
const AT_ONCE: u16 = 256;

/// Time between later comparisons of a doubted next hop. Assumed: few, compared with the Interests of a flow.
const COMPARED_EVERY: Span = Span::from_millis(100);

/// Shortest and longest time between comparisons of a dead next hop. Each missed comparison doubles the time.
/// Assumed: a neighbour that comes back is used soon, and one that does not costs very little.
const PROBE_INTERVALS: (Span, Span) = (Span::from_secs(1), Span::from_secs(16));

/// Number of remembered Interests of comparisons, whose late answers are recognised; and number of remembered
/// Interests with a hint that ended without an answer. Assumed: more than are on their way at a time.
const COMPARED: usize = 256;

/// Largest share of one downstream in these. Otherwise a downstream that requests names without Data would
/// leave no room for the late answers of others. Assumed: four downstreams at a time.
const MOST_OF_ONE: usize = COMPARED / 4;

/// Number of changes that wait to be taken; later ones are only counted. Assumed: more than a forwarder logs
/// in a round of its event loop.
const MOST_CHANGES: usize = 64;

/// Next hops of a prefix.
pub(in crate::node) type Faces = SmallVec<[FaceId; 4]>;

/// The sender of an Interest: a face, or the group of the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::node) struct Downstream(GroupId, FaceId);

impl Downstream {
    pub(in crate::node) fn new(face: FaceId, group: GroupId) -> Downstream {
        Downstream(group, if group == GroupId::NONE { face } else { FaceId(0) })
    }
}

/// A next hop was left, or a left one is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHopChange {
    /// The prefix.
    pub prefix: FibId,
    /// Its next hop.
    pub face: FaceId,
    /// The change.
    pub news: NextHopNews,
}

/// A change of a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHopNews {
    /// It was left: it answers nothing, and another one does.
    Left,
    /// It had been left and has answered.
    Answers,
    /// It had been left and is now the only next hop.
    IsOnly,
}

/// Changes of next hops, for observers. No decision depends on them.
#[derive(Debug, Default)]
struct Changes {
    /// Changes that were not taken yet, oldest first, with the time since when the next hop is known. It may
    /// be gone by now.
    waiting: VecDeque<(NextHopChange, Time)>,
    left: u64,
    back: u64,
}

impl Changes {
    fn add(&mut self, watched: &Watched, news: NextHopNews) {
        *(if news == NextHopNews::Left { &mut self.left } else { &mut self.back }) += 1;
        if self.waiting.len() < MOST_CHANGES {
            let change = NextHopChange { prefix: watched.prefix, face: watched.face, news };
            self.waiting.push_back((change, watched.since));
        }
    }
}

/// A next hop to compare with another one, by an Interest of a downstream.
#[derive(Clone, Copy, Debug)]
pub(in crate::node) struct Question {
    prefix: FibId,
    face: FaceId,
    by: Downstream,
}

/// State of the next hops that were asked.
#[derive(Debug, Default)]
pub(in crate::node) struct Liveness {
    /// How long a next hop may be silent; `None`: for ever.
    timeout: Option<Span>,
    hops: HashTable<Watched>,
    /// The Interests of the last comparisons, latest at the end.
    compared: VecDeque<Asked>,
    /// Interests with a hint that were not answered, latest at the end. The name of their Data does not tell
    /// which prefix it answers.
    hinted: VecDeque<Asked>,
    changes: Changes,
}

/// An Interest that was sent to a next hop.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Hash of its name, and number of the name's components.
    name: (u64, usize),
    prefix: FibId,
    face: FaceId,
    sent: Time,
    /// The downstream that requested it; `None` if no downstream waits any more.
    by: Option<Downstream>,
}

impl Asked {
    /// Returns whether this Data of a face answers it.
    fn is_answered(&self, name: &HashedName, face: FaceId, now: Time) -> bool {
        let (hash, len) = self.name;
        let in_time = now.since(self.sent) <= LONGEST_WAIT;
        self.face == face && in_time && len <= name.len() && name.hash_of(len) == hash
    }
}

/// Appends the latest Interest. If there are too many, the oldest is removed: the oldest of the same
/// downstream if that has used its share, else the oldest of all.
fn remember(all: &mut VecDeque<Asked>, latest: Asked) {
    if all.len() == COMPARED {
        let own = || all.iter().enumerate().filter(|(_, of)| of.by == latest.by).map(|(at, _)| at);
        let oldest = if own().count() >= MOST_OF_ONE { own().next().unwrap_or(0) } else { 0 };
        all.remove(oldest);
    }
    all.push_back(latest);
}

/// State of a next hop of a prefix.
#[derive(Clone, Copy, Debug)]
struct Watched {
    prefix: FibId,
    face: FaceId,
    /// When it was first asked.
    since: Time,
    /// When the first Interest since the last answer was sent.
    silent_since: Option<Time>,
    /// When another next hop first answered in its place during this doubt.
    missed_since: Option<Time>,
    is_dead: bool,
    /// Smoothed round-trip time, gain 1/8; zero before the first sample.
    rtt: Span,
    /// Number of comparisons that may still be made at once in this doubt, before they are due.
    at_once: u16,
    /// When it was last compared or declared dead, and the downstream of that Interest.
    compared: Time,
    by: Option<Downstream>,
    /// `true` if it has missed nothing since then.
    is_open: bool,
    interval: Span,
}

impl Watched {
    fn new(prefix: FibId, face: FaceId, since: Time) -> Watched {
        Watched {
            prefix,
            face,
            since,
            silent_since: None,
            missed_since: None,
            is_dead: false,
            rtt: Span::ZERO,
            at_once: AT_ONCE,
            compared: Time::ZERO,
            by: None,
            is_open: false,
            interval: COMPARED_EVERY,
        }
    }

    fn is(&self, prefix: FibId, face: FaceId) -> bool {
        (self.prefix, self.face) == (prefix, face)
    }

    fn round_trip(&self, timeout: Span) -> Span {
        self.rtt.min(timeout * LONGEST_ROUND_TRIP)
    }

    /// Returns whether it has been silent for too long.
    fn is_doubted(&self, now: Time, timeout: Span) -> bool {
        let patience = timeout.max(self.round_trip(timeout) * 2);
        self.silent_since.is_some_and(|since| now.since(since) >= patience)
    }

    /// Returns whether it is dead, from now on or since earlier. A slow next hop gets one more round-trip
    /// time.
    fn is_dead(&mut self, now: Time, timeout: Span, changes: &mut Changes) -> bool {
        if !self.is_dead
            && self.missed_since.is_some_and(|since| now.since(since) >= self.round_trip(timeout))
        {
            (self.is_dead, self.is_open) = (true, false);
            (self.compared, self.interval) = (now, PROBE_INTERVALS.0);
            changes.add(self, NextHopNews::Left);
        }
        self.is_dead
    }

    fn is_in_question(&self, now: Time, timeout: Span) -> bool {
        self.is_dead || self.is_doubted(now, timeout)
    }

    /// Returns whether it may be compared with an Interest of this downstream. If several downstreams ask,
    /// they take turns: a downstream that requests names that only other next hops answer must not get all
    /// comparisons.
    fn is_due(&self, by: Downstream, now: Time) -> bool {
        let wait = if self.by.is_some_and(|last| last != by) { self.interval / 2 } else { self.interval };
        (!self.is_dead && self.at_once > 0) || now >= self.compared + wait
    }
}

impl Liveness {
    /// Makes the state; next hops are left if they answer nothing for `timeout`. Zero: never.
    pub(in crate::node) fn new(timeout: Span) -> Liveness {
        let timeout = Some(timeout).filter(|timeout| *timeout > Span::ZERO);
        Liveness { timeout, ..Liveness::default() }
    }

    /// Returns whether next hops are watched.
    #[inline]
    pub(in crate::node) fn is_on(&self) -> bool {
        self.timeout.is_some()
    }

    /// Notes that an Interest with this lifetime is sent to a next hop.
    pub(in crate::node) fn note_sending(&mut self, prefix: FibId, face: FaceId, lifetime: Span, now: Time) {
        let same = |watched: &Watched| watched.is(prefix, face);
        let place = self.hops.entry(hash(prefix, face), same, |w| hash(w.prefix, w.face));
        let mut place = place.or_insert_with(|| Watched::new(prefix, face, now));
        if lifetime <= LONGEST_WAIT {
            place.get_mut().silent_since.get_or_insert(now);
        }
    }

    /// Notes that a next hop has answered an Interest that was sent at this time, after `rtt` if that is
    /// known.
    pub(in crate::node) fn note_answer(
        &mut self,
        prefix: FibId,
        face: FaceId,
        sent: Time,
        rtt: Option<Span>,
    ) {
        let Some(watched) = find_since(&mut self.hops, prefix, face, sent) else { return };
        if core::mem::take(&mut watched.is_dead) {
            self.changes.add(watched, NextHopNews::Answers);
        }
        (watched.silent_since, watched.missed_since) = (None, None);
        (watched.at_once, watched.interval, watched.is_open) = (AT_ONCE, COMPARED_EVERY, false);
        if let Some(rtt) = rtt {
            let smoothed = watched.rtt;
            watched.rtt = if smoothed == Span::ZERO { rtt } else { smoothed - smoothed / 8 + rtt / 8 };
        }
    }

    /// Notes that another next hop has answered an Interest that this one got too, at `sent`, and has not
    /// answered. A doubted next hop is dead when its own answer is overdue: then at least two Interests, the
    /// timeout apart, were not answered.
    pub(in crate::node) fn note_missed(&mut self, prefix: FibId, face: FaceId, sent: Time, now: Time) {
        let Some(timeout) = self.timeout else { return };
        let watched = find_since(&mut self.hops, prefix, face, sent);
        let watched = watched.filter(|watched| watched.silent_since.is_some());
        let Some(watched) = watched else { return };
        let was_open = core::mem::take(&mut watched.is_open);
        if watched.is_dead && was_open {
            watched.interval = (watched.interval * 2).min(PROBE_INTERVALS.1);
        } else if !watched.is_dead && watched.is_doubted(now, timeout) {
            watched.missed_since.get_or_insert(now);
            watched.is_dead(now, timeout, &mut self.changes);
        }
    }

    /// Handles a Data for which no Interest is pending. Returns whether it answers a comparison or an
    /// Interest with a hint. Then the next hop is alive.
    pub(in crate::node) fn note_late_answer(&mut self, name: &HashedName, face: FaceId, now: Time) -> bool {
        let hops = &mut self.hops;
        let mut is_answered = |of: &&Asked| {
            of.is_answered(name, face, now) && find_since(hops, of.prefix, face, of.sent).is_some()
        };
        let compared = self.compared.iter().rev().find(&mut is_answered);
        let answered = compared.or_else(|| self.hinted.iter().rev().find(&mut is_answered));
        let Some(&Asked { prefix, sent, .. }) = answered else { return false };
        let is_compared = compared.is_some();
        self.note_answer(prefix, face, sent, is_compared.then(|| now.since(sent)));
        is_compared
    }

    /// Notes that an Interest with a hint was sent to a next hop and ends without an answer. Nothing is
    /// stored if the answer would come too late, or if the face is not a next hop of the prefix.
    pub(in crate::node) fn note_unanswered(
        &mut self,
        (prefix, face): (FibId, FaceId),
        name: &HashedName,
        by: Option<Downstream>,
        sent: Time,
        now: Time,
    ) {
        let may_come = now.since(sent) <= LONGEST_WAIT;
        if may_come && find_since(&mut self.hops, prefix, face, sent).is_some() {
            let name = (name.hash(), name.len());
            remember(&mut self.hinted, Asked { name, prefix, face, sent, by });
        }
    }

    /// Removes dead next hops, unless all are dead. Returns the removed ones.
    pub(in crate::node) fn leave_alive(
        &mut self,
        prefix: FibId,
        next_hops: &mut SmallVec<[NextHop; 8]>,
        now: Time,
    ) -> Faces {
        let Some(timeout) = self.timeout else { return Faces::new() };
        let Liveness { hops, changes, .. } = self;
        let is_dead =
            |face: &FaceId| find(hops, prefix, *face).is_some_and(|w| w.is_dead(now, timeout, changes));
        let dead: Faces = next_hops.iter().map(|hop| hop.face).filter(is_dead).collect();
        if dead.len() < next_hops.len() {
            next_hops.retain(|hop| !dead.contains(&hop.face));
        }
        dead
    }

    /// The first of these next hops to compare with an Interest of this downstream: it is dead or doubted,
    /// and a comparison is due.
    pub(in crate::node) fn in_question(
        &mut self,
        prefix: FibId,
        next_hops: impl IntoIterator<Item = FaceId>,
        by: Downstream,
        lifetime: Span,
        now: Time,
    ) -> Option<Question> {
        let timeout = self.timeout.filter(|_| lifetime <= LONGEST_WAIT)?;
        let mut next_hops = next_hops.into_iter();
        let is_due = |w: &mut Watched| w.is_in_question(now, timeout) && w.is_due(by, now);
        let face = next_hops.find(|&face| find(&mut self.hops, prefix, face).is_some_and(is_due))?;
        Some(Question { prefix, face, by })
    }

    /// Compares a next hop with one of the others, by an Interest of this name that goes to `chosen`. Returns
    /// the next hops that get copies.
    pub(in crate::node) fn compare(
        &mut self,
        question: Question,
        chosen: &[FaceId],
        next_hops: impl IntoIterator<Item = FaceId>,
        name: &HashedName,
        now: Time,
    ) -> Faces {
        let Some(timeout) = self.timeout else { return Faces::new() };
        let Question { prefix, face: questioned, by } = question;
        let asked = chosen.iter().copied().find(|face| *face != questioned);
        let others = next_hops.into_iter().filter(|face| *face != questioned);
        // Of several next hops in question, take the one that was compared longest ago.
        let Some(other) = asked.or_else(|| {
            others.min_by_key(|&face| match find(&mut self.hops, prefix, face) {
                Some(w) if w.is_dead => (2, w.compared),
                Some(w) if w.is_doubted(now, timeout) => (1, w.compared),
                _ => (0, Time::ZERO),
            })
        }) else {
            return Faces::new();
        };
        for face in [questioned, other] {
            let watched = find(&mut self.hops, prefix, face);
            if let Some(watched) = watched.filter(|w| w.is_in_question(now, timeout)) {
                (watched.compared, watched.by, watched.is_open) = (now, Some(by), true);
                watched.at_once = watched.at_once.saturating_sub(1);
            }
            let asked = Asked { name: (name.hash(), name.len()), prefix, face, sent: now, by: Some(by) };
            remember(&mut self.compared, asked);
        }
        [questioned, other].into_iter().filter(|face| !chosen.contains(face)).collect()
    }

    /// Returns whether a next hop of a prefix has been left.
    pub(in crate::node) fn has_left(&self, prefix: FibId, face: FaceId) -> bool {
        let found = self.hops.find(hash(prefix, face), |watched| watched.is(prefix, face));
        found.is_some_and(|watched| watched.is_dead)
    }

    /// Forgets a next hop of a prefix, because its number may be reused. The lists of sent Interests and
    /// waiting changes are not searched, since a closed face may have many routes: outdated records are
    /// recognised when they are used.
    pub(in crate::node) fn forget(&mut self, prefix: FibId, face: FaceId) {
        if let Ok(watched) = self.hops.find_entry(hash(prefix, face), |watched| watched.is(prefix, face)) {
            watched.remove();
        }
    }

    /// Notes that all other next hops of a prefix are gone. The state of this one is reset: without
    /// comparisons nothing would show that it answers again.
    pub(in crate::node) fn note_only(&mut self, prefix: FibId, face: FaceId) {
        let Some(watched) = find(&mut self.hops, prefix, face) else { return };
        if watched.is_dead {
            self.changes.add(watched, NextHopNews::IsOnly);
        }
        *watched = Watched::new(prefix, face, watched.since);
    }

    /// Takes the oldest waiting change of a next hop that is not gone.
    pub(in crate::node) fn take_change(&mut self) -> Option<NextHopChange> {
        loop {
            let (change, since) = self.changes.waiting.pop_front()?;
            if find(&mut self.hops, change.prefix, change.face).is_some_and(|w| w.since == since) {
                return Some(change);
            }
        }
    }

    /// Number of times that a next hop was left, and that a left one was used again.
    pub(in crate::node) fn left_and_back(&self) -> (u64, u64) {
        (self.changes.left, self.changes.back)
    }
}

fn find(hops: &mut HashTable<Watched>, prefix: FibId, face: FaceId) -> Option<&mut Watched> {
    hops.find_mut(hash(prefix, face), |watched| watched.is(prefix, face))
}

/// The next hop, if it is the same as when an Interest was sent to it.
fn find_since(
    hops: &mut HashTable<Watched>,
    prefix: FibId,
    face: FaceId,
    sent: Time,
) -> Option<&mut Watched> {
    find(hops, prefix, face).filter(|watched| watched.since <= sent)
}

/// Hash of two numbers that the node itself assigns, so strangers cannot choose collisions. The multiplier is
/// 2^64 over the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
fn hash(prefix: FibId, face: FaceId) -> u64 {
    let both = u64::from(prefix.0) << 32 | u64::from(face.0);
    let product = both.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::name;

    const PREFIX: FibId = FibId(3);
    const NEAR: FaceId = FaceId(1);
    const FAR: FaceId = FaceId(2);
    const SECOND: Span = Span::from_secs(1);

    fn watching() -> Liveness {
        Liveness::new(SECOND)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// The next hops that a strategy sees.
    fn seen(liveness: &mut Liveness, millis: u64) -> Vec<FaceId> {
        let mut hops: SmallVec<[NextHop; 8]> =
            [NEAR, FAR].into_iter().map(|face| NextHop { face, cost: 1 }).collect();
        liveness.leave_alive(PREFIX, &mut hops, at(millis));
        hops.iter().map(|hop| hop.face).collect()
    }

    fn ask(liveness: &mut Liveness, face: FaceId, millis: u64) {
        liveness.note_sending(PREFIX, face, Span::from_secs(4), at(millis));
    }

    /// NEAR is asked, and another next hop answers in its place.
    fn miss(liveness: &mut Liveness, asked: u64, answered: u64) {
        ask(liveness, NEAR, asked);
        missed(liveness, NEAR, answered);
    }

    /// Another next hop answers an Interest that this one was sent too.
    fn missed(liveness: &mut Liveness, face: FaceId, millis: u64) {
        liveness.note_missed(PREFIX, face, at(millis), at(millis));
    }

    /// NEAR answers.
    fn answer(liveness: &mut Liveness, rtt: Option<Span>) {
        liveness.note_answer(PREFIX, NEAR, Time::NEVER, rtt);
    }

    /// Sends an Interest of this downstream to `chosen`. Returns the next hops that get copies.
    fn copies(liveness: &mut Liveness, from: u32, chosen: &[FaceId], millis: u64) -> Vec<FaceId> {
        let by = Downstream::new(FaceId(from), GroupId::NONE);
        let lifetime = Span::from_secs(4);
        let Some(question) = liveness.in_question(PREFIX, [NEAR, FAR], by, lifetime, at(millis)) else {
            return Vec::new();
        };
        liveness.compare(question, chosen, [NEAR, FAR], &name("/a/1"), at(millis)).to_vec()
    }

    #[test]
    fn a_next_hop_is_dead_after_a_second_of_silence_and_a_name_that_another_answers() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 999);
        assert_eq!(seen(&mut liveness, 60_000), [NEAR, FAR], "one is lost on any path");
        missed(&mut liveness, NEAR, 60_000);
        assert_eq!(seen(&mut liveness, 60_000), [FAR]);
        answer(&mut liveness, None);
        assert_eq!(seen(&mut liveness, 60_000), [NEAR, FAR]);
        missed(&mut liveness, NEAR, 90_000);
        assert_eq!(seen(&mut liveness, 99_000), [NEAR, FAR], "it was not asked");
    }

    #[test]
    fn one_that_is_only_slower_than_another_has_a_round_trip_more() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        answer(&mut liveness, Some(Span::from_millis(400)));
        ask(&mut liveness, NEAR, 1_000);
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 5_000), [FAR]);
        missed(&mut liveness, NEAR, 5_010);
        assert_eq!(seen(&mut liveness, 5_400), [NEAR, FAR]);
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 5_400), [FAR], "meanwhile both are asked");
        assert!(liveness.note_late_answer(&name("/a/1"), NEAR, at(5_400)));
        assert_eq!(seen(&mut liveness, 9_000), [NEAR, FAR]);
        miss(&mut liveness, 9_000, 10_000);
        assert_eq!(seen(&mut liveness, 10_300), [NEAR, FAR]);
        assert_eq!(seen(&mut liveness, 10_400), [FAR]);
    }

    #[test]
    fn one_that_is_silent_is_compared_often_then_ten_times_a_second_and_downstreams_take_turns() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        assert!(copies(&mut liveness, 7, &[NEAR], 999).is_empty());
        for _ in 0..AT_ONCE {
            assert_eq!(copies(&mut liveness, 7, &[NEAR], 1_000), [FAR]);
        }
        assert!(copies(&mut liveness, 7, &[NEAR], 1_099).is_empty());
        assert!(copies(&mut liveness, 8, &[NEAR], 1_049).is_empty());
        assert_eq!(copies(&mut liveness, 8, &[NEAR], 1_050), [FAR]);
        assert_eq!(copies(&mut liveness, 7, &[FAR], 1_150), [NEAR]);
        assert_eq!(copies(&mut liveness, 7, &[], 1_250), [NEAR, FAR], "one that a strategy holds back");
        assert!(copies(&mut liveness, 7, &[NEAR, FAR], 1_350).is_empty(), "both are asked");
    }

    #[test]
    fn each_change_is_told_once_and_counted_and_those_of_a_removed_next_hop_are_not_told() {
        let mut liveness = watching();
        let change = |news| Some(NextHopChange { prefix: PREFIX, face: NEAR, news });
        miss(&mut liveness, 0, 1_000);
        missed(&mut liveness, NEAR, 1_001);
        seen(&mut liveness, 1_002);
        (0..2).for_each(|_| answer(&mut liveness, None));
        assert_eq!(
            [(); 3].map(|()| liveness.take_change()),
            [change(NextHopNews::Left), change(NextHopNews::Answers), None]
        );
        miss(&mut liveness, 2_000, 3_000);
        liveness.forget(PREFIX, NEAR);
        assert_eq!((liveness.take_change(), liveness.left_and_back()), (None, (2, 1)));
    }

    #[test]
    fn one_that_was_left_and_is_the_only_one_is_told_to_be_used_again() {
        let mut liveness = watching();
        let change = |news| Some(NextHopChange { prefix: PREFIX, face: NEAR, news });
        miss(&mut liveness, 0, 1_000);
        (0..2).for_each(|_| liveness.note_only(PREFIX, NEAR));
        assert_eq!(seen(&mut liveness, 1_000), [NEAR, FAR]);
        let told = [(); 3].map(|()| liveness.take_change());
        assert_eq!(told, [change(NextHopNews::Left), change(NextHopNews::IsOnly), None]);
        assert_eq!(liveness.left_and_back(), (1, 1));
        missed(&mut liveness, NEAR, 9_000);
        assert_eq!(seen(&mut liveness, 9_000), [NEAR, FAR], "nothing is known of it");
    }

    #[test]
    fn changes_that_nobody_takes_are_counted_and_do_not_gather() {
        let mut liveness = watching();
        for n in 0..1_000 {
            miss(&mut liveness, 2_000 * n, 2_000 * n + 1_000);
            answer(&mut liveness, None);
        }
        let waiting = core::iter::from_fn(|| liveness.take_change()).count();
        assert_eq!((waiting, liveness.left_and_back()), (MOST_CHANGES, (1_000, 1_000)));
    }

    #[test]
    fn if_all_are_dead_all_are_seen() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        ask(&mut liveness, FAR, 0);
        missed(&mut liveness, FAR, 1_000);
        assert_eq!(seen(&mut liveness, 1_000), [NEAR, FAR]);
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 2_000), [FAR]);
    }

    #[test]
    fn a_dead_one_is_probed_after_a_second_and_twice_as_late_after_each_probe_that_it_misses() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        let probes = (0..100_000).step_by(100).filter(|&millis| {
            let is_probed = copies(&mut liveness, 7, &[FAR], millis) == [NEAR];
            if is_probed {
                (0..2).for_each(|_| missed(&mut liveness, NEAR, millis));
            }
            is_probed
        });
        let probes: Vec<u64> = probes.collect();
        assert_eq!(probes, [2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 64_000, 80_000, 96_000]);
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        let unanswered =
            (0..10_000).step_by(100).filter(|&t| !copies(&mut liveness, 7, &[FAR], t).is_empty());
        assert_eq!(unanswered.count(), 8, "names that nobody answers say nothing of it");
    }

    #[test]
    fn a_late_answer_to_a_comparison_tells_the_round_trip_and_may_have_a_longer_name() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        assert_eq!(copies(&mut liveness, 7, &[FAR], 2_000), [NEAR]);
        assert!(!liveness.note_late_answer(&name("/a/2"), NEAR, at(3_500)));
        assert!(!liveness.note_late_answer(&name("/a"), NEAR, at(3_500)));
        liveness.note_late_answer(&name("/a/1"), FAR, at(3_500));
        assert_eq!(seen(&mut liveness, 3_500), [FAR], "another's is no answer");
        assert!(liveness.note_late_answer(&name("/a/1/v1"), NEAR, at(3_500)));
        assert_eq!(seen(&mut liveness, 3_500), [NEAR, FAR]);
        ask(&mut liveness, NEAR, 4_000);
        assert!(copies(&mut liveness, 7, &[NEAR], 6_999).is_empty(), "twice 1.5 s");
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 7_000), [FAR]);
    }

    #[test]
    fn a_long_round_trip_and_an_interest_that_waits_for_news_raise_no_doubt() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        answer(&mut liveness, Some(Span::from_millis(800)));
        ask(&mut liveness, NEAR, 1_000);
        assert!(copies(&mut liveness, 7, &[NEAR], 2_599).is_empty());
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 2_600), [FAR]);
        let (by, long) = (Downstream::new(FAR, GroupId::NONE), Span::from_secs(60));
        liveness.note_sending(PREFIX, FAR, long, at(0));
        assert!(liveness.in_question(PREFIX, [FAR], by, SECOND, at(100_000)).is_none());
        assert!(liveness.in_question(PREFIX, [NEAR], by, long, at(100_000)).is_none());
        assert!(liveness.in_question(PREFIX, [NEAR], by, SECOND, at(100_000)).is_some());
    }

    #[test]
    fn a_producer_that_answers_late_hides_a_dead_next_hop_for_some_seconds_at_most() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        answer(&mut liveness, Some(Span::from_secs(9)));
        ask(&mut liveness, NEAR, 10_000);
        assert!(copies(&mut liveness, 7, &[NEAR], 13_999).is_empty());
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 14_000), [FAR]);
        missed(&mut liveness, NEAR, 14_000);
        assert_eq!(seen(&mut liveness, 15_999), [NEAR, FAR]);
        assert_eq!(seen(&mut liveness, 16_000), [FAR]);
    }

    /// An Interest of this downstream for NEAR ends without an answer, soon after it was sent.
    fn unanswered(liveness: &mut Liveness, uri: &str, by: u32, sent: u64) {
        let by = Some(Downstream::new(FaceId(by), GroupId::NONE));
        liveness.note_unanswered((PREFIX, NEAR), &name(uri), by, at(sent), at(sent + 1));
    }

    #[test]
    fn late_answers_of_a_hint_are_known_however_many_interests_another_sends_in_vain() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        for n in 0..1_000 {
            unanswered(&mut liveness, &format!("/strange/{n}"), 8, 900);
        }
        unanswered(&mut liveness, "/b/1", 7, 1_000);
        for n in 0..1_000 {
            unanswered(&mut liveness, &format!("/strange/{n}"), 8, 1_000);
        }
        liveness.note_late_answer(&name("/b/1"), NEAR, at(1_000));
        assert_eq!(seen(&mut liveness, 1_000), [NEAR, FAR]);
    }

    #[test]
    fn what_cannot_be_answered_any_more_takes_no_room() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        unanswered(&mut liveness, "/b/1", 7, 1_000);
        let kept = liveness.hinted.len();
        let by = Some(Downstream::new(FaceId(8), GroupId::NONE));
        liveness.note_unanswered((PREFIX, FaceId(9)), &name("/b/2"), by, at(1_000), at(1_001));
        liveness.note_unanswered((PREFIX, NEAR), &name("/b/3"), by, at(1_000), at(11_001));
        assert_eq!((kept, liveness.hinted.len()), (1, 1));
    }

    /// Gives NEAR the numbers of a next hop that is gone, and leaves it.
    fn left_anew(liveness: &mut Liveness) {
        liveness.forget(PREFIX, NEAR);
        miss(liveness, 3_000, 4_000);
        assert_eq!(seen(liveness, 4_000), [FAR]);
    }

    #[test]
    fn what_was_sent_before_the_numbers_of_a_next_hop_were_given_again_is_no_answer_of_it() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        assert_eq!(copies(&mut liveness, 7, &[NEAR], 1_000), [FAR]);
        unanswered(&mut liveness, "/b/1", 7, 1_000);
        left_anew(&mut liveness);
        unanswered(&mut liveness, "/b/2", 7, 1_000);
        liveness.note_answer(PREFIX, NEAR, at(1_000), None);
        for uri in ["/a/1", "/b/1", "/b/2"] {
            assert!(!liveness.note_late_answer(&name(uri), NEAR, at(4_000)));
            assert_eq!(seen(&mut liveness, 4_000), [FAR], "{uri}");
        }
        unanswered(&mut liveness, "/b/3", 7, 3_000);
        liveness.note_late_answer(&name("/b/3"), NEAR, at(4_000));
        assert_eq!(seen(&mut liveness, 4_000), [NEAR, FAR]);
    }

    #[test]
    fn what_was_sent_before_the_numbers_of_a_next_hop_were_given_again_was_not_missed_by_it() {
        let mut liveness = watching();
        ask(&mut liveness, NEAR, 0);
        liveness.forget(PREFIX, NEAR);
        ask(&mut liveness, NEAR, 1_000);
        liveness.note_missed(PREFIX, NEAR, at(0), at(2_000));
        assert_eq!(seen(&mut liveness, 2_000), [NEAR, FAR]);
        liveness.note_missed(PREFIX, NEAR, at(1_000), at(2_000));
        assert_eq!(seen(&mut liveness, 2_000), [FAR]);
    }

    #[test]
    fn an_answer_to_an_interest_that_waits_for_news_is_an_answer() {
        let mut liveness = watching();
        liveness.note_sending(PREFIX, NEAR, Span::from_secs(60), at(0));
        miss(&mut liveness, 1_000, 2_000);
        liveness.note_answer(PREFIX, NEAR, at(0), None);
        assert_eq!(seen(&mut liveness, 2_000), [NEAR, FAR]);
    }

    #[test]
    fn a_change_of_a_next_hop_whose_numbers_are_given_again_is_not_told() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        left_anew(&mut liveness);
        assert!(liveness.take_change().is_some());
        assert_eq!((liveness.take_change(), liveness.left_and_back()), (None, (2, 0)));
    }

    #[test]
    fn another_prefix_a_removed_next_hop_and_a_node_that_does_not_watch_know_nothing() {
        let mut liveness = watching();
        miss(&mut liveness, 0, 1_000);
        assert!(copies(&mut liveness, 7, &[FAR], 1_999).is_empty());
        liveness.note_answer(FibId(4), NEAR, Time::NEVER, None);
        assert_eq!(seen(&mut liveness, 9_000), [FAR]);
        assert_eq!(copies(&mut liveness, 7, &[FAR], 9_000), [NEAR]);
        liveness.forget(PREFIX, NEAR);
        assert_eq!(seen(&mut liveness, 9_000), [NEAR, FAR]);
        assert!(!liveness.note_late_answer(&name("/a/1"), NEAR, at(9_000)), "the number may be another's");
    }
}
