//! The largest frames that the paths of datagrams carry (path MTU).
//!
//! The host derives a path's MTU from the route's interface and from routers' messages, and refuses longer datagrams. The engine
//! queries it when a face is created, when the host refuses a frame, and periodically, because it can also grow. A refused frame
//! is lost, as on any link; the next packets use frames that fit.
//!
//! Routers' messages can be forged. So frames never become shorter than [`BASE_MTU`] because of them; on smaller paths IP may
//! split them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tracing::{debug, info, warn};
use weir_management::status::LinkType;
use weir_net::outside::Outside;
use weir_net::transport::udp::Batch;
use weir_packet::MAX_PACKET_SIZE;

use super::Engine;
use super::sockets::udp_uri;
use crate::face::{Channel, FaceSlot, UdpPeer};

/// The largest packet: a path that carries it needs no fragments.
pub(super) const LARGEST_FRAME: usize = MAX_PACKET_SIZE;
/// The largest frame without a known path. With UDP and IP headers it fits an Ethernet with the usual tunnels.
const UNKNOWN_MTU: usize = 1400;
/// Frames never become shorter, whatever the host reports: BASE_PLPMTU (RFC 8899, 5.1.2), which nearly all paths carry.
const BASE_MTU: usize = 1200;
/// Number of faces whose paths one sweep queries: each costs four system calls.
const ASKED_A_SWEEP: usize = 64;

/// The MTU of the path to a UDP peer, in bytes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathMtu {
    /// The host's value; `None`: no path is known.
    said: Option<usize>,
    /// A lower limit, if the host refused a frame that fits its value: then frames take another path than the one queried.
    most: usize,
}

impl PathMtu {
    fn new(said: Option<usize>) -> PathMtu {
        PathMtu { said, most: usize::MAX }
    }

    /// The largest frame that IP need not split.
    pub(super) fn whole(&self) -> usize {
        self.said.unwrap_or(UNKNOWN_MTU).min(self.most)
    }

    /// The largest frame that is sent, unless an MTU is configured.
    pub(super) fn frame(&self) -> usize {
        self.whole().clamp(BASE_MTU, LARGEST_FRAME)
    }

    /// Stores the host's value. A new value ends conclusions from refused frames.
    fn hear(&mut self, said: Option<usize>) {
        if said != self.said {
            *self = PathMtu::new(said);
        }
    }

    /// Notes that the host refused a frame of this length. If the host's value allows it, the next smaller candidate is tried; in
    /// the end IP may split all frames.
    fn refuse(&mut self, len: usize) {
        if len <= self.whole() {
            self.most = [UNKNOWN_MTU, BASE_MTU].into_iter().find(|mtu| *mtu < len).unwrap_or(0);
        }
    }

    /// Whether the host refused a frame that fits its value.
    fn is_in_doubt(&self) -> bool {
        self.most < usize::MAX
    }
}

/// Queries the host for the path to a peer. If the host has lost our address that the peer knows, the route selects another
/// address from now on.
fn ask_for_path(outside: &dyn Outside, udp: &mut UdpPeer) -> Option<usize> {
    let said = outside.path_mtu(udp.local, udp.peer);
    if said.is_some() || udp.from.is_none() {
        return said;
    }
    let any: IpAddr =
        if udp.peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let any = SocketAddr::new(any, udp.local.port());
    let said = outside.path_mtu(any, udp.peer)?;
    info!(
        peer = %udp.peer, address = %udp.local,
        "no path leads from our address that this peer knows: the route chooses another"
    );
    (udp.from, udp.local) = (None, any);
    Some(said)
}

impl Engine {
    /// A peer on a UDP socket bound to `local`. `from`: our address that the peer knows, if the socket has several.
    pub(super) fn udp_peer(
        &self,
        socket: usize,
        mut local: SocketAddr,
        peer: SocketAddr,
        from: Option<IpAddr>,
    ) -> UdpPeer {
        if let Some(from) = from {
            local.set_ip(from);
        }
        let path = PathMtu::new(None);
        let mut udp = UdpPeer { socket, peer, from, local, path, batch: Batch::default() };
        udp.path = PathMtu::new(ask_for_path(&*self.outside, &mut udp));
        udp.batch.set_path_mtu(udp.path.whole());
        udp
    }

    /// Queries the MTU of a face's path again, so that further frames fit. `refused`: the length of a refused datagram, bytes.
    fn follow_path(&mut self, slot: FaceSlot, refused: Option<usize>) {
        let first_sequence = self.first_sequence();
        let Some(face) = self.faces.get_mut(slot) else { return };
        let (number, remote) = (face.number, &face.remote);
        let mtu = match &mut face.channel {
            Channel::Udp(udp) => {
                let before = udp.local;
                let said = ask_for_path(&*self.outside, udp);
                if udp.local != before {
                    face.local = udp_uri(udp.local);
                }
                udp.path.hear(said);
                let was_in_doubt = udp.path.is_in_doubt();
                if let Some(len) = refused {
                    udp.path.refuse(len);
                }
                if udp.path.is_in_doubt() && !was_in_doubt {
                    warn!(
                        face = number, %remote, said, refused,
                        "the host refuses frames that it says the path carries: does another route apply to them? Frames \
                         become shorter"
                    );
                }
                udp.batch.set_path_mtu(udp.path.whole());
                Some(udp.path.frame())
            }
            Channel::Transport(transport) => {
                transport.update_mtu();
                transport.mtu()
            }
            Channel::Internal | Channel::Down => return,
        };
        if face.own_mtu == mtu {
            return;
        }
        let before = core::mem::replace(&mut face.own_mtu, mtu);
        let mut link = face.link.options();
        link.mtu = face.mtu();
        face.link.set_options(link, first_sequence);
        match (before, mtu) {
            (Some(before), Some(mtu)) if mtu < before => {
                info!(face = number, %remote, before, mtu, "the path carries only shorter frames");
            }
            _ => debug!(face = number, %remote, ?before, ?mtu, "the path carries other frames"),
        }
    }

    /// Queries the MTU of the paths on which a frame was refused.
    pub(super) fn follow_links(&mut self) {
        for (slot, refused) in self.round.take_too_long() {
            self.follow_path(slot, refused);
        }
    }

    /// Queries the MTU of some paths; the next call continues with others.
    pub(super) fn follow_paths(&mut self) {
        let may_change = |slot: &FaceSlot| {
            self.faces.get(*slot).is_some_and(|face| match &face.channel {
                Channel::Udp(udp) => !udp.peer.ip().is_loopback(),
                _ => face.link_type == LinkType::MultiAccess,
            })
        };
        let slots: Vec<_> =
            self.faces.slots_from(self.next_path).filter(may_change).take(ASKED_A_SWEEP).collect();
        let last = slots.last().and_then(|slot| self.faces.get(*slot)).map(|face| face.number);
        self.next_path = last.filter(|_| slots.len() == ASKED_A_SWEEP).map_or(0, |number| number + 1);
        for slot in slots {
            self.follow_path(slot, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_no_shorter_than_the_base_whatever_is_said() {
        for (said, whole, frame) in [
            (Some(1472), 1472, 1472),
            (Some(65_507), 65_507, LARGEST_FRAME),
            (Some(1232), 1232, 1232),
            (Some(524), 524, 1200),
            (Some(0), 0, 1200),
            (None, 1400, 1400),
        ] {
            let path = PathMtu::new(said);
            assert_eq!((path.whole(), path.frame()), (whole, frame), "{said:?}");
        }
    }

    #[test]
    fn what_the_host_refuses_counts_more_than_what_it_says() {
        let mut path = PathMtu::new(Some(1472));
        path.refuse(1473);
        assert!(!path.is_in_doubt(), "it has learned of it since");
        for (len, whole, frame) in [(1472, 1400, 1400), (1390, 1200, 1200), (1200, 0, 1200), (40, 0, 1200)] {
            path.hear(Some(1472));
            path.refuse(len);
            assert_eq!((path.whole(), path.frame()), (whole, frame), "{len} B");
            assert!(path.is_in_doubt());
        }
        path.hear(Some(1300));
        assert_eq!(path, PathMtu::new(Some(1300)), "a new value of the host is accepted again");
        path.refuse(1250);
        assert_eq!(path.whole(), 1200);
        let mut short = PathMtu::new(Some(1000));
        short.refuse(900);
        assert_eq!((short.whole(), short.frame()), (0, 1200), "IP may split all of them");
    }
}
