//! The sockets of the engine: UDP sockets, which faces share, and listeners; and the mapping from events to faces.

use std::io;
use std::net::{IpAddr, SocketAddr};

use mio::Token;
use weir_net::outside::{Datagrams, Outside, Place};
use weir_net::transport::udp::{Batch, Refused};
use weir_net::transport::{Listener, Transport};
use weir_net::uri::{Endpoint, FaceUri};

use crate::control::ControlError;
use crate::face::FaceSlot;

/// The first token of the engine.
pub(crate) const FIRST_TOKEN: usize = 1 << 16;
const FIRST_LISTENER: usize = 1 << 17;
const FIRST_FACE: usize = 1 << 20;

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventSource {
    /// A UDP socket, by its index.
    Udp(usize),
    /// A listener, by its index.
    Listener(usize),
    /// A face with its own socket.
    Face(FaceSlot),
}

impl EventSource {
    /// The source of a token; `None` if the token is not the engine's.
    pub(super) fn of(token: Token) -> Option<EventSource> {
        match token.0 {
            at if at >= FIRST_FACE => Some(EventSource::Face((at - FIRST_FACE) as FaceSlot)),
            at if at >= FIRST_LISTENER => Some(EventSource::Listener(at - FIRST_LISTENER)),
            at if at >= FIRST_TOKEN => Some(EventSource::Udp(at - FIRST_TOKEN)),
            _ => None,
        }
    }

    pub(super) fn token(self) -> Token {
        Token(match self {
            EventSource::Udp(at) => FIRST_TOKEN + at,
            EventSource::Listener(at) => FIRST_LISTENER + at,
            EventSource::Face(slot) => FIRST_FACE + slot as usize,
        })
    }
}

/// UDP sockets and listeners.
#[derive(Default)]
pub(crate) struct Sockets {
    udp: Vec<Box<dyn Datagrams>>,
    listeners: Vec<Box<dyn Listener>>,
}

impl Sockets {
    /// Begins to listen for connections. Returns the address as a face URI.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub(crate) fn listen(&mut self, outside: &mut dyn Outside, at: Place<'_>) -> io::Result<&str> {
        let token = EventSource::Listener(self.listeners.len()).token();
        let listener = outside.listen(at, token)?;
        self.listeners.push(listener);
        Ok(self.listener_uri(self.listeners.len() - 1))
    }

    /// Adds a test's listener. Returns its token.
    #[cfg(test)]
    pub(super) fn add_listener(&mut self, listener: Box<dyn Listener>) -> Token {
        self.listeners.push(listener);
        EventSource::Listener(self.listeners.len() - 1).token()
    }

    /// The next peer that connected to a listener, if any.
    pub(super) fn accept(&mut self, listener: usize) -> io::Result<Option<Box<dyn Transport>>> {
        self.listeners[listener].accept()
    }

    pub(super) fn listener_uri(&self, listener: usize) -> &str {
        self.listeners[listener].uri()
    }

    /// Binds a UDP socket with `kernel_buffer` bytes in the kernel in each direction. Returns its index.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub(crate) fn bind_udp(
        &mut self,
        outside: &mut dyn Outside,
        local: SocketAddr,
        kernel_buffer: u64,
    ) -> io::Result<usize> {
        let at = self.udp.len();
        let socket = outside.bind_udp(local, kernel_buffer as usize, EventSource::Udp(at).token())?;
        self.udp.push(socket);
        Ok(at)
    }

    /// The UDP socket that reaches a peer from `local`, a face URI: a listening one, or the shared socket of outgoing faces,
    /// which is bound at first use.
    pub(super) fn udp_towards(
        &mut self,
        outside: &mut dyn Outside,
        peer: SocketAddr,
        local: Option<&str>,
        kernel_buffer: u64,
    ) -> Result<usize, ControlError> {
        if let Some(at) = self.bound_towards(outside, peer, local) {
            return Ok(at);
        }
        let local = match (local, peer) {
            (Some(local), _) => udp_address(local)?,
            (None, peer) => any_address(peer),
        };
        let bound = self.bind_udp(outside, local, kernel_buffer);
        bound.map_err(|error| ControlError::Failed(format!("{local}: {error}")))
    }

    /// A bound socket that reaches a peer.
    fn bound_towards(&self, outside: &dyn Outside, peer: SocketAddr, local: Option<&str>) -> Option<usize> {
        let reaches = |socket: &dyn Datagrams| {
            let ours = socket.local();
            let is_named = local.is_none_or(|local| FaceUri::Udp(Endpoint::from(ours)).to_string() == local);
            let may = ours.ip().is_unspecified() || ours.ip().is_loopback() == peer.ip().is_loopback();
            is_named && may && ours.is_ipv4() == peer.is_ipv4()
        };
        // Of several sockets, the one with our address towards the peer, because the peer sends to that address.
        let here = outside.address_towards(peer);
        let is_on_the_way = |socket: &dyn Datagrams| {
            let ip = socket.local().ip();
            reaches(socket) && (ip.is_unspecified() || Some(ip) == here)
        };
        let find =
            |is_it: &dyn Fn(&dyn Datagrams) -> bool| self.udp.iter().position(|socket| is_it(&**socket));
        find(&is_on_the_way).or_else(|| find(&reaches))
    }

    /// The face URI of a UDP socket.
    pub(crate) fn udp_uri(&self, at: usize) -> String {
        udp_uri(self.udp_local(at))
    }

    pub(super) fn udp_local(&self, at: usize) -> SocketAddr {
        self.udp[at].local()
    }

    /// Sends a batch of frames. Returns the frames that the operating system refused. While the sockets are
    /// [taken](Self::take_udp), the frames stay in the batch.
    pub(super) fn send_udp(
        &mut self,
        at: usize,
        batch: &mut Batch,
        to: SocketAddr,
        from: Option<IpAddr>,
    ) -> Refused {
        self.udp.get_mut(at).map_or_else(Refused::default, |socket| socket.send(batch, to, from))
    }

    /// Number of datagrams lost because a receive buffer of a UDP socket was full.
    pub(super) fn dropped(&self) -> u64 {
        self.udp.iter().map(|socket| socket.dropped()).sum()
    }

    /// Takes the UDP sockets, because received packets can create faces meanwhile.
    pub(super) fn take_udp(&mut self) -> Vec<Box<dyn Datagrams>> {
        core::mem::take(&mut self.udp)
    }

    /// Puts back the sockets from [`Sockets::take_udp`].
    pub(super) fn restore_udp(&mut self, sockets: Vec<Box<dyn Datagrams>>) {
        self.udp = sockets;
    }

    /// Addresses of the UDP sockets.
    pub(crate) fn udp_addresses(&self) -> Vec<SocketAddr> {
        self.udp.iter().map(|socket| socket.local()).collect()
    }

    /// Face URIs of the listeners.
    pub(super) fn uris(&self) -> Vec<String> {
        let udp = self.udp.iter().map(|socket| udp_uri(socket.local()));
        udp.chain(self.listeners.iter().map(|listener| listener.uri().to_owned())).collect()
    }
}

/// The face URI of a UDP address.
pub(super) fn udp_uri(address: SocketAddr) -> String {
    FaceUri::Udp(Endpoint::from(address)).to_string()
}

/// The address in a UDP face URI.
fn udp_address(local: &str) -> Result<SocketAddr, ControlError> {
    match local.parse::<FaceUri>() {
        Ok(FaceUri::Udp(end)) => end.socket_addr().map_err(|error| ControlError::BadUri(error.to_string())),
        _ => Err(ControlError::BadUri(format!("{local} is not a UDP address, such as udp4://10.0.0.1:6363"))),
    }
}

/// The unspecified address and port 0, of the peer's IP version.
fn any_address(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_it_is_of() {
        for source in [EventSource::Udp(3), EventSource::Listener(0), EventSource::Face(70_000)] {
            assert_eq!(EventSource::of(source.token()), Some(source));
        }
        assert_eq!(EventSource::of(Token(FIRST_TOKEN - 1)), None);
    }

    #[test]
    fn a_local_end_must_be_an_address_of_udp() {
        assert_eq!(udp_address("udp4://10.0.0.1:7000").unwrap().to_string(), "10.0.0.1:7000");
        assert!(matches!(udp_address("tcp4://10.0.0.1:7000"), Err(ControlError::BadUri(_))));
    }
}
