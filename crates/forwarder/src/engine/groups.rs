//! Which faces share links as one: the numbers of their groups.
//!
//! The faces of strangers of one origin are a group: those on UDP, and those with connections. Any other face that shares
//! as one is a group by itself, for instance an application of this host.

use std::collections::{BTreeMap, VecDeque};

use weir_core::ids::GroupId;
use weir_core::units::{Span, Time};

use super::admission::Origin;

/// The number of a group without faces is kept for so long: who comes back is who it was for a scheme that punishes.
/// Assumed: six times what QSCCP holds against a group.
const MEMORY: Span = Span::from_secs(60);

/// The faces of an origin.
#[derive(Debug)]
struct Held {
    group: GroupId,
    faces: usize,
}

/// The groups of faces.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The largest number so far.
    largest: u16,
    of_origin: BTreeMap<Origin, Held>,
    /// Without faces, and since when.
    left: VecDeque<(Time, GroupId, Option<Origin>)>,
}

impl Groups {
    /// The group of a new face.
    pub(super) fn join(&mut self, origin: Option<Origin>, now: Time) -> GroupId {
        let origin = origin.filter(Origin::is_stranger);
        if let Some(held) = origin.and_then(|origin| self.of_origin.get_mut(&origin)) {
            if held.faces == 0 {
                self.left.retain(|(_, group, _)| *group != held.group);
            }
            held.faces += 1;
            return held.group;
        }
        let is_over = |since: &Time| now.since(*since) >= MEMORY;
        let left = self.left.front().filter(|(since, ..)| is_over(since) || self.largest == u16::MAX);
        let group = match left.copied() {
            Some((_, group, before)) => {
                self.left.pop_front();
                before.and_then(|before| self.of_origin.remove(&before));
                group
            }
            // Not all of some ten thousand faces can be groups of their own.
            None => {
                self.largest = self.largest.saturating_add(1);
                GroupId(self.largest)
            }
        };
        if let Some(origin) = origin {
            self.of_origin.insert(origin, Held { group, faces: 1 });
        }
        group
    }

    /// A face of a group is gone: whether it was the last.
    pub(super) fn leave(&mut self, group: GroupId, origin: Option<Origin>, now: Time) -> bool {
        let origin = origin.filter(Origin::is_stranger);
        let held =
            origin.and_then(|origin| self.of_origin.get_mut(&origin)).filter(|held| held.group == group);
        if let Some(held) = held {
            held.faces -= 1;
            if held.faces > 0 {
                return false;
            }
        }
        self.left.push_back((now, group, origin));
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
        assert!(groups.left.is_empty());
    }
}
