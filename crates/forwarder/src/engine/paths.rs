//! The largest frames that the paths of datagrams carry.
//!
//! The host knows the MTU of a path by the route's network interface and by what routers say of it, and refuses what is
//! longer. It is asked for when a face is made, when it refuses a frame, and now and then, because a path's MTU also grows.
//! What was refused is lost, as on any link; the next packets go in frames that fit.
//!
//! What routers say can be forged. So frames are never shorter than [`BASE_MTU`] for it; where less fits, IP may split them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tracing::{debug, info, warn};
use weir_management::status::LinkType;
use weir_net::outside::Outside;
use weir_net::transport::udp::Batch;
use weir_packet::MAX_PACKET_SIZE;

use super::Engine;
use super::sockets::udp_uri;
use crate::face::{Channel, FaceSlot, UdpPeer};

/// The largest packet: where the path carries it whole, nothing is split.
pub(super) const LARGEST_FRAME: usize = MAX_PACKET_SIZE;
/// The largest frame where the host knows no path: with the headers of UDP and IP less than an Ethernet with the usual
/// tunnels carries.
const UNKNOWN_MTU: usize = 1400;
/// Frames are no shorter, whatever the host says of the path: BASE_PLPMTU (RFC 8899, 5.1.2), which nearly all paths carry.
const BASE_MTU: usize = 1200;
/// Faces of which one sweep asks: each costs four system calls.
const ASKED_A_SWEEP: usize = 64;

/// What is known of the MTU of the path to a UDP peer, in bytes of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathMtu {
    /// What the host says that the path carries; `None`: it knows no path.
    said: Option<usize>,
    /// What it carries at most, if the host has refused what fits what it says: then frames take another path than the one
    /// that it was asked for.
    most: usize,
}

impl PathMtu {
    fn new(said: Option<usize>) -> PathMtu {
        PathMtu { said, most: usize::MAX }
    }

    /// IP need not split frames up to this one.
    pub(super) fn whole(&self) -> usize {
        self.said.unwrap_or(UNKNOWN_MTU).min(self.most)
    }

    /// The largest frame that is sent, unless another is asked for.
    pub(super) fn frame(&self) -> usize {
        self.whole().clamp(BASE_MTU, LARGEST_FRAME)
    }

    /// What the host says now. A change ends what was concluded from refused frames.
    fn hear(&mut self, said: Option<usize>) {
        if said != self.said {
            *self = PathMtu::new(said);
        }
    }

    /// The host has refused a frame of so many bytes. Where it says that such a frame fits, the next that may fit is taken,
    /// and in the end IP may split all of them.
    fn refuse(&mut self, len: usize) {
        if len <= self.whole() {
            self.most = [UNKNOWN_MTU, BASE_MTU].into_iter().find(|mtu| *mtu < len).unwrap_or(0);
        }
    }

    /// Whether the host has refused what fits what it says.
    fn is_in_doubt(&self) -> bool {
        self.most < usize::MAX
    }
}

/// What the host says of the path to a peer. If it has lost the address of ours that the peer knows, the route chooses another from
/// now on.
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
    /// A peer on a UDP socket that is bound to `local`; `from`: our address that it knows, where the socket has several.
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

    /// Asks for the MTU of a face's path again; frames that it sends from now on fit. `refused`: the bytes of a datagram that
    /// the host did not take.
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

    /// Asks for the MTU of the paths on which a frame was refused.
    pub(super) fn follow_links(&mut self) {
        for (slot, refused) in self.round.take_too_long() {
            self.follow_path(slot, refused);
        }
    }

    /// Asks for the MTU of some paths, and of others next time.
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
        assert_eq!(path, PathMtu::new(Some(1300)), "the host says something else: it is believed again");
        path.refuse(1250);
        assert_eq!(path.whole(), 1200);
        let mut short = PathMtu::new(Some(1000));
        short.refuse(900);
        assert_eq!((short.whole(), short.frame()), (0, 1200), "IP may split all of them");
    }
}
