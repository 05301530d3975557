//! Limits on faces, for all and for strangers, and the choice of the face to close when they are reached.
//!
//! A stranger is a peer without a requested face: it sends datagrams or connects from another host. Neither strangers nor
//! applications without rights may use the faces reserved for known neighbours and for applications with rights. One origin may
//! not use the faces of all others.

use core::fmt;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use weir_core::units::{Span, Time};
use weir_management::status::FacePersistency;

use crate::control::Owner;
use crate::face::{Face, FaceSlot, FaceTable};

/// One in this many faces is reserved for applications of this host and for requested faces. Assumed.
const KEPT_FROM_STRANGERS: usize = 8;
/// One in this many faces is reserved for applications with rights and for requested faces. Assumed.
const KEPT_FROM_APPLICATIONS: usize = 16;
/// Applications without rights may have one in this many faces. Assumed.
const OF_APPLICATIONS: usize = 2;
/// One origin may have one in this many faces. Assumed.
const OF_ONE_ORIGIN: usize = 4;
/// A neighbour's face may be closed for another one after this time without packets. It is the default lifetime of Interests, so
/// most likely no Interest of the neighbour is pending.
const LEAST_IDLE: Span = Span::from_secs(4);

/// An IPv4 address, or the half of an IPv6 address that a site cannot choose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Network {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl From<IpAddr> for Network {
    fn from(ip: IpAddr) -> Network {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Network::V4(ip.octets()),
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                Network::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

/// The origin of a face that was not requested. Addresses of datagrams are kept apart from those of connections, because they can
/// be forged; a forged address must not use the share of a real peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    /// A stranger that connected from this network.
    Connected(Network),
    /// A stranger whose datagrams have a source address in this network.
    Datagrams(Network),
    /// An application of this user without rights; `None`: unknown user.
    Application(Option<u32>),
}

impl Origin {
    /// The origin of a face, if it has one. `stranger` is called only for a stranger.
    pub(super) fn of(owner: Owner, stranger: impl FnOnce() -> Origin) -> Option<Origin> {
        match owner {
            Owner::Neighbour => Some(stranger()),
            Owner::Privileged => None,
            Owner::User(user) => Some(Origin::Application(Some(user))),
            Owner::Anybody => Some(Origin::Application(None)),
        }
    }

    /// The origin of a peer on TCP or WebSocket, from its face URI. Addresses with an interface name belong to one link, and
    /// count as one.
    pub(super) fn connected(uri: &str) -> Origin {
        let address = uri.split_once("://").and_then(|(_, address)| address.parse::<SocketAddr>().ok());
        let network = address.map(|address| address.ip().into());
        Origin::Connected(network.unwrap_or(Network::V6([0xfe, 0x80, 0, 0, 0, 0, 0, 0])))
    }

    /// Whether it is a stranger, not an application of this host.
    pub(super) const fn is_stranger(&self) -> bool {
        !matches!(self, Origin::Application(_))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Origin::Connected(Network::V4(ip)) | Origin::Datagrams(Network::V4(ip)) => {
                Ipv4Addr::from(ip).fmt(f)
            }
            Origin::Connected(Network::V6(half)) | Origin::Datagrams(Network::V6(half)) => {
                let network = u128::from(u64::from_be_bytes(half)) << 64;
                write!(f, "{}/64", Ipv6Addr::from(network))
            }
            Origin::Application(Some(user)) => write!(f, "user {user}"),
            Origin::Application(None) => f.write_str("unknown users"),
        }
    }
}

/// The faces of one origin.
#[derive(Debug)]
struct Held {
    faces: usize,
    /// Until then, none of its faces has been silent long enough to be closed for another.
    no_room_before: Time,
}

/// The counts and limits of faces.
#[derive(Debug)]
pub(super) struct Admission {
    /// Largest number of faces.
    limit: usize,
    /// Until then, no stranger's face has been silent long enough to be closed for another.
    no_room_before: Time,
    /// Number of faces of applications without rights.
    applications: usize,
    held: BTreeMap<Origin, Held>,
}

impl Admission {
    pub(super) fn new(limit: usize, now: Time) -> Admission {
        Admission { limit, no_room_before: now, applications: 0, held: BTreeMap::new() }
    }

    /// Whether there is room for one more face beside this many, for this origin if given.
    pub(super) fn has_room(&self, faces: usize, origin: Option<Origin>) -> bool {
        let of_applications = (self.limit / OF_APPLICATIONS).max(1);
        let kept = match origin {
            None => 0,
            Some(origin) if origin.is_stranger() => self.limit / KEPT_FROM_STRANGERS,
            Some(_) if self.applications >= of_applications => return false,
            Some(_) => self.limit / KEPT_FROM_APPLICATIONS,
        };
        faces + kept < self.limit
    }

    /// Whether an origin has as many faces as it may.
    pub(super) fn is_at_limit(&self, origin: Origin) -> bool {
        let most = (self.limit / OF_ONE_ORIGIN).max(1);
        self.held.get(&origin).is_some_and(|held| held.faces >= most)
    }

    /// The limit that prevents one more face beside this many, for this origin; for the log.
    pub(super) fn limit_reached(&self, faces: usize, origin: Option<Origin>) -> String {
        let limit = self.limit;
        match origin {
            Some(origin) if self.is_at_limit(origin) => {
                let most = (limit / OF_ONE_ORIGIN).max(1);
                format!("one origin may have {most} of {limit} faces")
            }
            Some(origin) if origin.is_stranger() => {
                let kept = limit / KEPT_FROM_STRANGERS;
                format!("there are {faces} of {limit} faces, and the last {kept} are not for strangers")
            }
            Some(_) if self.applications >= (limit / OF_APPLICATIONS).max(1) => {
                let most = (limit / OF_APPLICATIONS).max(1);
                format!("applications without rights may have {most} of {limit} faces")
            }
            Some(_) => {
                let kept = limit / KEPT_FROM_APPLICATIONS;
                format!(
                    "there are {faces} of {limit} faces, and the last {kept} are not for applications without rights"
                )
            }
            None => format!("there are {faces} of {limit} faces"),
        }
    }

    /// Counts a new face of an origin.
    pub(super) fn add(&mut self, origin: Origin, now: Time) {
        let held = self.held.entry(origin).or_insert(Held { faces: 0, no_room_before: now });
        held.faces += 1;
        self.applications += usize::from(!origin.is_stranger());
    }

    /// Counts a closed face of an origin.
    pub(super) fn remove(&mut self, origin: Origin) {
        let Some(held) = self.held.get_mut(&origin) else { return };
        held.faces -= 1;
        self.applications -= usize::from(!origin.is_stranger());
        if held.faces == 0 {
            self.held.remove(&origin);
        }
    }

    /// The stranger's face that may be closed for another, of one origin or of any: the one that has been silent longest. `None`
    /// if none has been silent long enough.
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

/// Refused connections since the last line in the log. One line for each would let strangers fill the log.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Number since the last report.
    connections: u64,
    /// The reason for the first of them.
    why: String,
    /// Their origin, if they have the same.
    from: Option<Origin>,
    /// Number before the last report.
    reported: u64,
}

impl Refused {
    /// Adds refused connections, with their origin if known.
    pub(super) fn add(&mut self, connections: u64, from: Option<Origin>, why: impl FnOnce() -> String) {
        if connections == 0 {
            return;
        }
        if self.connections == 0 {
            (self.why, self.from) = (why(), from);
        }
        self.from = self.from.filter(|_| self.from == from);
        self.connections += connections;
    }

    /// The number since the last report, if not zero, their common origin, and the reason for the first.
    pub(super) fn take(&mut self) -> Option<(u64, Option<Origin>, String)> {
        let Refused { connections, why, from, reported } = core::mem::take(self);
        self.reported = reported + connections;
        (connections > 0).then_some((connections, from, why))
    }

    /// The number since the start.
    pub(super) fn total(&self) -> u64 {
        self.reported + self.connections
    }
}

/// Management may have made the face permanent.
fn is_strangers(face: &Face) -> bool {
    face.origin.is_some_and(|origin| origin.is_stranger()) && face.persistency == FacePersistency::OnDemand
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_of_the_faces_is_not_for_strangers() {
        let admission = Admission::new(16, Time::ZERO);
        let stranger = Some(Origin::connected("tcp4://192.0.2.1:4000"));
        assert!(admission.has_room(13, stranger) && !admission.has_room(14, stranger));
        assert!(admission.has_room(15, None) && !admission.has_room(16, None));
    }

    #[test]
    fn applications_without_rights_have_half_of_the_faces_and_a_user_a_quarter() {
        let user = |user| Origin::of(Owner::User(user), || unreachable!()).expect("without rights");
        let mut admission = Admission::new(16, Time::ZERO);
        assert!(admission.has_room(14, Some(user(1))) && !admission.has_room(15, Some(user(1))));
        for _ in 0..4 {
            assert!(!admission.is_at_limit(user(1)));
            admission.add(user(1), Time::ZERO);
        }
        assert!(admission.is_at_limit(user(1)) && !admission.is_at_limit(user(2)));
        (0..4).for_each(|_| admission.add(user(2), Time::ZERO));
        assert!(!admission.has_room(8, Some(user(3))) && admission.has_room(8, None));
        admission.remove(user(2));
        assert!(admission.has_room(8, Some(user(3))));
    }

    #[test]
    fn who_writes_the_address_of_others_into_datagrams_takes_nothing_of_their_connections() {
        let datagrams = Origin::Datagrams(Network::V4([192, 0, 2, 1]));
        let connected = Origin::connected("tcp4://192.0.2.1:4000");
        let mut admission = Admission::new(16, Time::ZERO);
        (0..4).for_each(|_| admission.add(datagrams, Time::ZERO));
        assert!(admission.is_at_limit(datagrams) && !admission.is_at_limit(connected));
    }

    #[test]
    fn strangers_of_one_origin_have_a_quarter_of_the_faces_and_others_theirs() {
        let [one, other] = ["tcp4://192.0.2.1:4000", "wsclient://192.0.2.2:4000"].map(Origin::connected);
        let mut admission = Admission::new(16, Time::ZERO);
        for _ in 0..4 {
            assert!(!admission.is_at_limit(one));
            admission.add(one, Time::ZERO);
        }
        assert!(admission.is_at_limit(one) && !admission.is_at_limit(other));
        admission.remove(one);
        assert!(!admission.is_at_limit(one));
        (0..3).for_each(|_| admission.remove(one));
        assert!(admission.held.is_empty(), "an origin without faces takes no room");
        assert!(!Admission::new(1, Time::ZERO).is_at_limit(one), "one is always possible");
    }

    #[test]
    fn an_origin_is_an_ipv4_address_or_a_network_of_ipv6() {
        let origin = |address: &str| Origin::Connected(address.parse::<IpAddr>().expect("an address").into());
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
        assert_eq!(Origin::connected("tcp6://[2001:db8::1]:6363"), origin("2001:db8::1"));
        assert_eq!(Origin::connected("tcp6://[fe80::1%eth0]:6363"), origin("fe80::2"));
        assert_eq!(origin("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn the_log_names_an_address_only_if_all_were_refused_there() {
        let [one, other] =
            ["tcp4://192.0.2.1:4000", "tcp4://192.0.2.2:4000"].map(|uri| Some(Origin::connected(uri)));
        let mut refused = Refused::default();
        (0..2).for_each(|_| refused.add(1, one, || "full".to_owned()));
        assert_eq!(refused.take(), Some((2, one, "full".to_owned())));
        for from in [one, other, one] {
            refused.add(1, from, || "full".to_owned());
        }
        assert_eq!(refused.take(), Some((3, None, "full".to_owned())));
        assert_eq!((refused.take(), refused.total()), (None, 5));
    }

    #[test]
    fn without_a_stranger_nobody_is_looked_for_until_one_could_have_been_silent() {
        let mut admission = Admission::new(16, Time::ZERO);
        assert_eq!(admission.longest_idle(Time::ZERO, &FaceTable::new(), None), None);
        assert_eq!(admission.no_room_before, Time::ZERO + LEAST_IDLE);
    }
}
