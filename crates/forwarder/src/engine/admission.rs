//! The limit of faces, what those may have of it whom nobody asked for, and the choice of a face to replace.
//!
//! A stranger is a peer that nobody asked for: it sends datagrams or connects from another host. Neither strangers nor
//! applications without rights may take what is kept for known neighbours and for applications with rights, nor may those
//! of one origin take what is there for all.

use core::fmt;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use weir_core::units::{Span, Time};
use weir_management::status::FacePersistency;

use crate::control::Owner;
use crate::face::{Face, FaceSlot, FaceTable};

/// Of so many faces, one is kept from strangers: for applications of this host, and faces that were asked for. Assumed.
const KEPT_FROM_STRANGERS: usize = 8;
/// Of so many faces, one is kept from applications without rights: for those with rights, and faces that were asked for.
/// Assumed.
const KEPT_FROM_APPLICATIONS: usize = 16;
/// Of so many faces, applications without rights may have one. Assumed.
const OF_APPLICATIONS: usize = 2;
/// Of so many faces, those of one origin may have one. Assumed.
const OF_ONE_ORIGIN: usize = 4;
/// A neighbour that has been silent for so long may have to make room for another: the default lifetime of
/// Interests, so that most likely none of its own are pending.
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

/// Who is behind a face that nobody asked for. Addresses of datagrams are apart from those of connections: anybody can
/// write them, and must not so take what belongs to who is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Origin {
    /// A stranger that has connected from there.
    Connected(Network),
    /// A stranger whose datagrams say that they come from there.
    Datagrams(Network),
    /// An application of this user, who has no rights; `None` if nobody knows the user.
    Application(Option<u32>),
}

impl Origin {
    /// That of a face, if it has one. The origin of a stranger is asked for only if it is one.
    pub(super) fn of(owner: Owner, stranger: impl FnOnce() -> Origin) -> Option<Origin> {
        match owner {
            Owner::Neighbour => Some(stranger()),
            Owner::Privileged => None,
            Owner::User(user) => Some(Origin::Application(Some(user))),
            Owner::Anybody => Some(Origin::Application(None)),
        }
    }

    /// By the face URI of a peer on TCP or WebSocket. Addresses with the name of an interface are those of one link, and
    /// count as one.
    pub(super) fn connected(uri: &str) -> Origin {
        let address = uri.split_once("://").and_then(|(_, address)| address.parse::<SocketAddr>().ok());
        let network = address.map(|address| address.ip().into());
        Origin::Connected(network.unwrap_or(Network::V6([0xfe, 0x80, 0, 0, 0, 0, 0, 0])))
    }

    /// Whether it is a stranger, and no application of this host.
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

/// What those of one origin have.
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
    /// Faces of applications without rights.
    applications: usize,
    held: BTreeMap<Origin, Held>,
}

impl Admission {
    pub(super) fn new(limit: usize, now: Time) -> Admission {
        Admission { limit, no_room_before: now, applications: 0, held: BTreeMap::new() }
    }

    /// Whether beside this many faces there is room for one more, of this origin if it has one.
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

    /// Whether those of an origin have as many faces as they may.
    pub(super) fn is_at_limit(&self, origin: Origin) -> bool {
        let most = (self.limit / OF_ONE_ORIGIN).max(1);
        self.held.get(&origin).is_some_and(|held| held.faces >= most)
    }

    /// The limit that keeps one of an origin from one more face beside this many; for the log.
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

    /// One of an origin has a face.
    pub(super) fn add(&mut self, origin: Origin, now: Time) {
        let held = self.held.entry(origin).or_insert(Held { faces: 0, no_room_before: now });
        held.faces += 1;
        self.applications += usize::from(!origin.is_stranger());
    }

    /// A face of an origin is gone.
    pub(super) fn remove(&mut self, origin: Origin) {
        let Some(held) = self.held.get_mut(&origin) else { return };
        held.faces -= 1;
        self.applications -= usize::from(!origin.is_stranger());
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

/// Connections that were refused since the log told of some: a line for each would let strangers fill it.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Since the last report.
    connections: u64,
    /// Why the first of these was.
    why: String,
    /// Whose all of these were, if they were of one origin.
    from: Option<Origin>,
    /// Before these.
    reported: u64,
}

impl Refused {
    /// So many more, of an origin if that is known.
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

    /// How many since the last report, if there were some, whose all were, and why the first was.
    pub(super) fn take(&mut self) -> Option<(u64, Option<Origin>, String)> {
        let Refused { connections, why, from, reported } = core::mem::take(self);
        self.reported = reported + connections;
        (connections > 0).then_some((connections, from, why))
    }

    /// How many since the start.
    pub(super) fn total(&self) -> u64 {
        self.reported + self.connections
    }
}

/// Management may have made it a face that stays.
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
        assert!(admission.held.is_empty(), "what nobody holds takes no room");
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
