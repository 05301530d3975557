//! The limit of faces, and the choice of a face to replace.

use weir_core::units::{Span, Time};
use weir_management::status::{FacePersistency, FaceScope};

use crate::face::{Channel, Face, FaceSlot, FaceTable};

/// Of so many faces, one is kept for who is no stranger: applications of this host, and faces that were asked for.
/// Assumed.
const KEPT: usize = 8;
/// A neighbour that has been silent for so long may have to make room for another: the default lifetime of
/// Interests, so that most likely none of its own are pending.
const LEAST_IDLE: Span = Span::from_secs(4);

/// Who may have one more face.
#[derive(Debug)]
pub(super) struct Admission {
    /// The most faces.
    limit: usize,
    /// Before then no stranger's face has been idle for long enough to make room for another.
    no_room_before: Time,
}

impl Admission {
    pub(super) fn new(limit: usize, now: Time) -> Admission {
        Admission { limit, no_room_before: now }
    }

    /// Whether beside this many faces there is room for one more: of a stranger, or another.
    pub(super) fn has_room(&self, faces: usize, is_stranger: bool) -> bool {
        let kept = if is_stranger { self.limit / KEPT } else { 0 };
        faces + kept < self.limit
    }

    /// The stranger's face that may have to make room for another: that on UDP which has been silent longest. `None`
    /// if none has been silent for long enough.
    pub(super) fn longest_idle(&mut self, now: Time, faces: &FaceTable) -> Option<FaceSlot> {
        if now < self.no_room_before {
            return None;
        }
        let strangers = faces.iter().filter(|(_, face)| is_strangers(face));
        let longest = strangers.map(|(slot, face)| (face.last_used, slot)).min();
        let until = longest.map_or(now, |(last_used, _)| last_used) + LEAST_IDLE;
        if until > now {
            self.no_room_before = until;
            return None;
        }
        longest.map(|(_, slot)| slot)
    }
}

fn is_strangers(face: &Face) -> bool {
    matches!(face.channel, Channel::Udp(_))
        && (face.persistency, face.scope) == (FacePersistency::OnDemand, FaceScope::NonLocal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_of_the_faces_is_not_for_strangers() {
        let admission = Admission::new(16, Time::ZERO);
        assert!(admission.has_room(13, true) && !admission.has_room(14, true));
        assert!(admission.has_room(15, false) && !admission.has_room(16, false));
    }

    #[test]
    fn without_a_stranger_nobody_is_looked_for_until_one_could_have_been_silent() {
        let mut admission = Admission::new(16, Time::ZERO);
        assert_eq!(admission.longest_idle(Time::ZERO, &FaceTable::new()), None);
        assert_eq!(admission.no_room_before, Time::ZERO + LEAST_IDLE);
    }
}
