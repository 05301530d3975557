//! Groups of faces that share links as one, and their numbers.
//!
//! The faces of strangers with one origin are a group: those on UDP, and separately those with connections. Any other face that
//! shares as one is a group by itself, for example an application of this host.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_core::ids::GroupId;
use weir_core::units::{Span, Time};

use super::admission::Origin;

/// A group without faces keeps its number for this time, so a scheme's penalty still applies to a stranger that returns. Assumed:
/// six times the duration of QSCCP's penalty for a group.
const MEMORY: Span = Span::from_secs(60);

/// The faces of an origin.
#[derive(Debug)]
struct Held {
    group: GroupId,
    faces: usize,
    /// The time when its last face was closed, if it has none.
    left: Time,
}

/// The groups of faces.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The largest number used so far.
    largest: u16,
    of_origin: BTreeMap<Origin, Held>,
    /// Groups of origins without faces, by the time when the last was closed.
    left: BTreeSet<(Time, GroupId, Origin)>,
    /// Other groups without faces, which are not needed again, by the time when they were left.
    given_up: VecDeque<(Time, GroupId)>,
}

impl Groups {
    /// The group of a new face.
    pub(super) fn join(&mut self, origin: Option<Origin>, now: Time) -> GroupId {
        let origin = origin.filter(Origin::is_stranger);
        let held = origin.and_then(|origin| Some((origin, self.of_origin.get_mut(&origin)?)));
        if let Some((origin, held)) = held {
            if held.faces == 0 {
                self.left.remove(&(held.left, held.group, origin));
            }
            held.faces += 1;
            return held.group;
        }
        let group = self.free(now);
        if let Some(origin) = origin {
            self.of_origin.insert(origin, Held { group, faces: 1, left: now });
        }
        group
    }

    /// A number without faces. If all numbers are used, one that is not needed again is taken before that of an origin.
    fn free(&mut self, now: Time) -> GroupId {
        let may_go = |since: Time| self.largest == u16::MAX || now.since(since) >= MEMORY;
        if self.given_up.front().is_some_and(|(since, _)| may_go(*since))
            && let Some((_, group)) = self.given_up.pop_front()
        {
            return group;
        }
        if self.left.first().is_some_and(|(since, ..)| may_go(*since))
            && let Some((_, group, before)) = self.left.pop_first()
        {
            self.of_origin.remove(&before);
            return group;
        }
        // Some ten thousand faces cannot use all numbers.
        self.largest = self.largest.saturating_add(1);
        GroupId(self.largest)
    }

    /// Removes a face from its group. Returns whether it was the last.
    pub(super) fn leave(&mut self, group: GroupId, origin: Option<Origin>, now: Time) -> bool {
        let origin = origin.filter(Origin::is_stranger);
        let held = origin.and_then(|origin| Some((origin, self.of_origin.get_mut(&origin)?)));
        match held.filter(|(_, held)| held.group == group) {
            Some((origin, held)) => {
                held.faces -= 1;
                if held.faces > 0 {
                    return false;
                }
                held.left = now;
                self.left.insert((now, group, origin));
            }
            None => self.given_up.push_back((now, group)),
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::admission::Network;

    #[test]
    fn faces_of_one_origin_are_a_group_and_others_each_their_own() {
        let mut groups = Groups::default();
        let [one, other] = [1, 2].map(|last| Some(Origin::Datagrams(Network::V4([192, 0, 2, last]))));
        let mut join = |origin| groups.join(origin, Time::ZERO);
        let first = join(one);
        assert_eq!(join(one), first);
        let connected = Some(Origin::Connected(Network::V4([192, 0, 2, 1])));
        let application = Some(Origin::Application(Some(1)));
        let rest = [other, connected, None, None, application, application].map(join);
        let mut groups: Vec<_> = rest.into_iter().chain([first]).collect();
        groups.sort_unstable();
        groups.dedup();
        assert!(first != GroupId::NONE && groups.len() == 7);
    }

    #[test]
    fn who_comes_back_in_time_is_who_it_was_and_later_its_number_is_anothers() {
        let mut groups = Groups::default();
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let origin = Some(Origin::Connected(Network::V4([192, 0, 2, 1])));
        let group = groups.join(origin, at(0));
        assert_eq!(groups.join(origin, at(1)), group);
        assert!(!groups.leave(group, origin, at(9)) && groups.leave(group, origin, at(10)));
        assert_eq!(groups.join(origin, at(69)), group);
        assert!(groups.leave(group, origin, at(70)));
        assert_ne!(groups.join(None, at(129)), group);
        assert_eq!(groups.join(None, at(130)), group);
        assert_ne!(groups.join(origin, at(131)), group);
        assert!(groups.left.is_empty() && groups.given_up.is_empty());
    }

    fn stranger(last: u8) -> Option<Origin> {
        Some(Origin::Connected(Network::V4([192, 0, 2, last])))
    }

    #[test]
    fn applications_that_come_and_go_without_end_do_not_end_the_memory_of_strangers() {
        let mut groups = Groups::default();
        let punished = groups.join(stranger(1), Time::ZERO);
        groups.leave(punished, stranger(1), Time::ZERO);
        let later = |n: u64| Time::ZERO + Span::from_micros(500) * n;
        for n in 0..100_000 {
            let group = groups.join(None, later(n));
            assert!(group != punished && group != GroupId::NONE);
            groups.leave(group, None, later(n));
        }
        assert_eq!(groups.join(stranger(1), later(100_000)), punished);
        // If strangers use all numbers, the group that was left first loses its number.
        let all = |n: u16| {
            let [a, b] = n.to_be_bytes();
            Some(Origin::Connected(Network::V4([10, 0, a, b])))
        };
        let mut groups = Groups::default();
        for n in 1..=u16::MAX {
            let group = groups.join(all(n), Time::ZERO);
            groups.leave(group, all(n), Time::ZERO + Span::from_micros(n.into()));
        }
        let now = Time::ZERO + Span::from_secs(1);
        assert_eq!(groups.join(stranger(1), now), GroupId(1));
        assert_eq!(groups.join(all(2), now), GroupId(2));
        assert_eq!(groups.join(all(1), now), GroupId(3));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it measures how long something takes")]
    fn a_stranger_comes_back_as_fast_however_many_others_have_left() {
        let shortest = |others: usize| {
            let mut groups = Groups::default();
            let joined: Vec<_> = (0..others).map(|_| groups.join(None, Time::ZERO)).collect();
            for group in joined {
                groups.leave(group, None, Time::ZERO);
            }
            let round = |_| {
                let began = std::time::Instant::now();
                for _ in 0..20 {
                    let group = groups.join(stranger(1), Time::ZERO);
                    groups.leave(group, stranger(1), Time::ZERO);
                }
                began.elapsed()
            };
            (0..20).map(round).min().unwrap_or_default()
        };
        let [few, many] = [1, 60_000].map(shortest);
        assert!(many < 20 * few.max(core::time::Duration::from_nanos(200)), "{few:?}, {many:?}");
    }
}
