//! The limit of faces, what strangers may have of it, and the choice of a face to replace.
//!
//! A stranger is a peer that nobody asked for: it sends datagrams or connects from another host. Strangers may not take
//! what is kept for applications and known neighbours, nor may those of one origin take what is there for all.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use weir_core::units::{Span, Time};
use weir_management::status::FacePersistency;

use crate::face::{Face, FaceSlot, FaceTable};

/// Of so many faces, one is kept for who is no stranger: applications of this host, and faces that were asked for.
/// Assumed.
const KEPT: usize = 8;
/// Of so many faces, the strangers of one origin may have one. Assumed.
const OF_ONE_ORIGIN: usize = 4;
/// A neighbour that has been silent for so long may have to make room for another: the default lifetime of
/// Interests, so that most likely none of its own are pending.
const LEAST_IDLE: Span = Span::from_secs(4);

/// Where a stranger comes from: an IPv4 address, or the half of an IPv6 address that a site cannot choose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<IpAddr> for Origin {
    fn from(ip: IpAddr) -> Origin {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Origin::V4(ip.octets()),
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                Origin::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

impl Origin {
    /// By the face URI of a peer on TCP or WebSocket. Addresses with the name of an interface are those of one link, and
    /// count as one.
    pub(super) fn of_uri(uri: &str) -> Origin {
        let address = uri.split_once("://").and_then(|(_, address)| address.parse::<SocketAddr>().ok());
        address.map_or(Origin::V6([0xfe, 0x80, 0, 0, 0, 0, 0, 0]), |address| address.ip().into())
    }
}

/// What the strangers of one origin have.
#[derive(Debug)]
struct Held {
    faces: usize,
    /// Before then none of them has been silent for long enough to make room for another.
    no_room_before: Time,
}

/// Who may have one more face.
#[derive(Debug)]
pub(super) struct Admission {
    /// The most faces.
    limit: usize,
    /// Before then no stranger's face has been silent for long enough to make room for another.
    no_room_before: Time,
    held: BTreeMap<Origin, Held>,
}

impl Admission {
    pub(super) fn new(limit: usize, now: Time) -> Admission {
        Admission { limit, no_room_before: now, held: BTreeMap::new() }
    }

    /// Whether beside this many faces there is room for one more: of a stranger, or another.
    pub(super) fn has_room(&self, faces: usize, is_stranger: bool) -> bool {
        let kept = if is_stranger { self.limit / KEPT } else { 0 };
        faces + kept < self.limit
    }

    /// Whether strangers of an origin have as many faces as they may.
    pub(super) fn is_at_limit(&self, origin: Origin) -> bool {
        let most = (self.limit / OF_ONE_ORIGIN).max(1);
        self.held.get(&origin).is_some_and(|held| held.faces >= most)
    }

    /// A stranger has a face.
    pub(super) fn add(&mut self, origin: Origin, now: Time) {
        let held = self.held.entry(origin).or_insert(Held { faces: 0, no_room_before: now });
        held.faces += 1;
    }

    /// A stranger's face is gone.
    pub(super) fn remove(&mut self, origin: Origin) {
        let Some(held) = self.held.get_mut(&origin) else { return };
        held.faces -= 1;
        if held.faces == 0 {
            self.held.remove(&origin);
        }
    }

    /// The stranger's face, of one origin or of any, that may have to make room for another: the one that has been silent
    /// longest. `None` if none has been silent for long enough.
    pub(super) fn longest_idle(
        &mut self,
        now: Time,
        faces: &FaceTable,
        of: Option<Origin>,
    ) -> Option<FaceSlot> {
        let no_room_before = match of {
            None => &mut self.no_room_before,
            Some(origin) => &mut self.held.get_mut(&origin)?.no_room_before,
        };
        if now < *no_room_before {
            return None;
        }
        let is_meant = |face: &Face| is_strangers(face) && (of.is_none() || face.origin == of);
        let strangers = faces.iter().filter(|(_, face)| is_meant(face));
        let longest = strangers.map(|(slot, face)| (face.last_used, slot)).min();
        let until = longest.map_or(now, |(last_used, _)| last_used) + LEAST_IDLE;
        if until > now {
            *no_room_before = until;
            return None;
        }
        longest.map(|(_, slot)| slot)
    }
}

/// Management may have made it a face that stays.
fn is_strangers(face: &Face) -> bool {
    face.origin.is_some() && face.persistency == FacePersistency::OnDemand
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
    fn strangers_of_one_origin_have_a_quarter_of_the_faces_and_others_theirs() {
        let [one, other] = ["tcp4://192.0.2.1:4000", "wsclient://192.0.2.2:4000"].map(Origin::of_uri);
        let mut admission = Admission::new(16, Time::ZERO);
        for _ in 0..4 {
            assert!(!admission.is_at_limit(one));
            admission.add(one, Time::ZERO);
        }
        assert!(admission.is_at_limit(one) && !admission.is_at_limit(other));
        admission.remove(one);
        assert!(!admission.is_at_limit(one));
        (0..3).for_each(|_| admission.remove(one));
        assert!(admission.held.is_empty(), "what nobody holds takes no room");
        assert!(!Admission::new(1, Time::ZERO).is_at_limit(one), "one is always possible");
    }

    #[test]
    fn an_origin_is_an_ipv4_address_or_a_network_of_ipv6() {
        let origin = |address: &str| Origin::from(address.parse::<IpAddr>().expect("an address"));
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
        assert_eq!(Origin::of_uri("tcp6://[2001:db8::1]:6363"), origin("2001:db8::1"));
        assert_eq!(Origin::of_uri("tcp6://[fe80::1%eth0]:6363"), origin("fe80::2"));
    }

    #[test]
    fn without_a_stranger_nobody_is_looked_for_until_one_could_have_been_silent() {
        let mut admission = Admission::new(16, Time::ZERO);
        assert_eq!(admission.longest_idle(Time::ZERO, &FaceTable::new(), None), None);
        assert_eq!(admission.no_room_before, Time::ZERO + LEAST_IDLE);
    }
}
