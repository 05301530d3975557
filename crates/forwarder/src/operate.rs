//! Faces made and closed, and what management asks: [`Control`] of the engine.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use mio::Token;
use tracing::{debug, info, warn};
use weir_core::ids::FaceId;
use weir_core::node::CsUse;
use weir_core::units::{Span, Time};
use weir_packet::{Name, ServiceClass};
use weir_schemes::Resolved;

use crate::config::{FaceOptions, Kind, LEAST_MTU, RouteFace};
use crate::control::{Control, ControlError};
use crate::engine::{Engine, FACES, SOCKETS};
use crate::face::{Channel, Face, Place, UdpPeer};
use crate::metrics::Snapshot;
use crate::node::LinkConfig;
use weir_management::status::{
    CsInfo, FaceChange, FaceCounters, FaceEventKind, FaceNumber, FacePersistency, FaceRequest, FaceScope,
    FaceStatus, FibStatus, GeneralStatus, LinkType, StrategyStatus,
};
use weir_net::clock::wall_ms;
use weir_net::link_service::{LinkOptions, LinkService, Marking};
use weir_net::transport::udp::{Batch, Socket, Source};
use weir_net::transport::{self, Transport};
use weir_net::uri::{Endpoint, FaceUri};

/// NFD's default, and the largest packet: nothing is split, IP may.
const UDP_MTU: usize = 8800;
/// IPv6 does not split on the way.
const UDP6_MTU: usize = 1400;
/// Time between attempts to connect: doubled from one to the next.
const FIRST_RETRY: Span = Span::from_millis(500);
const LONGEST_RETRY: Span = Span::from_secs(60);
/// Of so many faces, one is kept for who is no stranger: applications of this host, and faces that were asked for.
/// Assumed.
const KEPT: usize = 8;
/// A neighbour that has been silent for so long may have to make room for another: the default lifetime of
/// Interests, so that most likely none of its own are pending.
const LEAST_IDLE: Span = Span::from_secs(4);

/// A face to be made.
struct NewFace<'a> {
    channel: Channel,
    remote: String,
    local: String,
    persistency: FacePersistency,
    link_type: LinkType,
    /// Whether an application of this host is behind it.
    is_application: bool,
    options: FaceOptions,
    idle_timeout: Option<Span>,
    local_fields: bool,
    mtu: Option<usize>,
    scheme: Option<&'a Resolved>,
}

impl Engine {
    pub(crate) fn add_internal_face(&mut self) {
        let options = FaceOptions { congestion_marking: false, ..FaceOptions::default() };
        let face = self.face(1, self.management, Channel::Internal, &options, None);
        self.faces.insert(Face {
            remote: "internal://".to_owned(),
            local: "internal://".to_owned(),
            scope: FaceScope::Local,
            persistency: FacePersistency::Permanent,
            local_fields: true,
            ..face
        });
    }

    /// A face with what its options say; the rest is to be filled in.
    fn face(
        &self,
        number: FaceNumber,
        core: FaceId,
        channel: Channel,
        options: &FaceOptions,
        mtu: Option<usize>,
    ) -> Face {
        let link = LinkOptions {
            mtu,
            reassembly_bytes: self.limits.reassembly_bytes,
            reliability: options.reliability,
            marking: marking(options),
        };
        Face {
            number,
            core,
            channel,
            link: LinkService::new(link, first_sequence()),
            remote: String::new(),
            local: String::new(),
            scope: FaceScope::NonLocal,
            persistency: FacePersistency::OnDemand,
            link_type: LinkType::PointToPoint,
            local_fields: false,
            send_rate: options.rate,
            own_mtu: None,
            up: true,
            idle_timeout: None,
            last_used: self.now,
            counters: FaceCounters::default(),
            is_dirty: false,
            attempts: 0,
            reconnect_at: Time::NEVER,
            due: Time::NEVER,
        }
    }

    /// Whether there is room for one more face: of a stranger, or another.
    fn has_room(&self, is_stranger: bool) -> bool {
        let kept = if is_stranger { self.limits.faces / KEPT } else { 0 };
        self.faces.len() + kept < self.limits.faces
    }

    /// Makes room for a stranger: the one on UDP that has been silent longest has to go. Says whether there is
    /// such a one.
    fn replace_idle(&mut self) -> bool {
        if self.now < self.no_room_before {
            return false;
        }
        let is_strangers = |face: &Face| {
            matches!(face.channel, Channel::Udp(_))
                && (face.persistency, face.scope) == (FacePersistency::OnDemand, FaceScope::NonLocal)
        };
        let last_used = |place| {
            self.faces.get(place).filter(|face| is_strangers(face)).map(|face| (face.last_used, place))
        };
        let longest = self.faces.places().filter_map(last_used).min();
        let until = longest.map_or(self.now, |(last_used, _)| last_used) + LEAST_IDLE;
        match longest {
            Some((_, place)) if until <= self.now => {
                // What is under way to it is not for the one that comes.
                self.perform();
                self.close(place);
                self.perform();
                true
            }
            _ => {
                self.no_room_before = until;
                false
            }
        }
    }

    /// Adds a face; `None` if there are too many.
    fn add(&mut self, new: NewFace<'_>) -> Option<Place> {
        if !self.has_room(false) {
            return None;
        }
        let mut options = new.options;
        if new.is_application {
            // There is no link to pace, and nobody is told that there is.
            (options.rate, options.receive_rate) = (None, None);
        }
        let core = if new.is_application {
            self.node.add_application(self.now)
        } else {
            let (send_rate, receive_rate) = (options.rate, options.receive_rate);
            let config = LinkConfig { send_rate, receive_rate, limit: options.queue };
            self.node.add_link(self.now, config, new.scheme)
        };
        let number = self.faces.next_number();
        let mtu = options.mtu.map(|mtu| mtu as usize).or(new.mtu);
        let up = is_connected(&new.channel);
        if !up {
            self.node.set_up(self.now, core, false);
        }
        let face = self.face(number, core, new.channel, &options, mtu);
        let place = self.faces.insert(Face {
            remote: new.remote,
            local: new.local,
            scope: if new.is_application { FaceScope::Local } else { FaceScope::NonLocal },
            persistency: new.persistency,
            link_type: new.link_type,
            local_fields: new.local_fields,
            idle_timeout: new.idle_timeout,
            own_mtu: new.mtu,
            up,
            ..face
        });
        self.tell(FaceEventKind::Created, place);
        Some(place)
    }

    fn tell(&mut self, kind: FaceEventKind, place: Place) {
        if let Some(status) = self.status_at(place) {
            if status.persistency == FacePersistency::OnDemand {
                debug!(face = status.number, remote = %status.remote, "face {}", words(kind));
            } else {
                info!(face = status.number, remote = %status.remote, "face {}", words(kind));
            }
            if let Some(capture) = &mut self.capture {
                match kind {
                    FaceEventKind::Created => capture.add_face(status.number, &status.remote),
                    FaceEventKind::Destroyed => capture.remove_face(status.number),
                    FaceEventKind::Up | FaceEventKind::Down => {}
                }
            }
            self.events.push((kind, status));
        }
    }

    /// A peer has connected.
    pub(crate) fn add_accepted(&mut self, mut transport: Box<dyn Transport>) {
        let (remote, local) = (transport.uris().remote.to_owned(), transport.uris().local.to_owned());
        let kind = Kind::of_uri(&remote).unwrap_or(Kind::Unix);
        let (is_application, link_type) = (transport.scope() == FaceScope::Local, transport.link_type());
        let mtu = transport.mtu();
        if !self.has_room(!is_application) {
            return info!(%remote, "refused a connection: there are {} faces", self.faces.len());
        }
        let place = self.next_place();
        if let Err(error) = transport.register(&self.registry, Token(FACES + place as usize)) {
            return warn!(%error, %remote, "cannot watch a connection");
        }
        let added = self.add(NewFace {
            channel: Channel::Transport(transport),
            remote,
            local,
            persistency: FacePersistency::OnDemand,
            link_type,
            is_application,
            options: self.config.options(kind),
            idle_timeout: None,
            local_fields: false,
            mtu,
            scheme: None,
        });
        debug_assert_eq!(added, Some(place));
        // Edge-triggered: what came before it was watched is not told again.
        self.ready(Token(FACES + place as usize));
    }

    /// Where the next face is put.
    fn next_place(&self) -> Place {
        self.faces.next_place()
    }

    pub(crate) fn add_udp_peer(&mut self, socket: usize, local: SocketAddr, source: Source) -> Option<Place> {
        let Source { from: peer, to } = source;
        // As ndnd has it: applications of this host may speak UDP.
        let is_application = peer.ip().is_loopback();
        if !self.has_room(!is_application) && (is_application || !self.replace_idle()) {
            return None;
        }
        let from = to.filter(|_| local.ip().is_unspecified());
        let udp = UdpPeer { socket, peer, from, batch: Batch::default() };
        let local_addr = SocketAddr::new(from.unwrap_or(local.ip()), local.port());
        self.add(NewFace {
            remote: FaceUri::Udp(Endpoint::from(peer)).to_string(),
            local: FaceUri::Udp(Endpoint::from(local_addr)).to_string(),
            channel: Channel::Udp(udp),
            persistency: FacePersistency::OnDemand,
            link_type: LinkType::PointToPoint,
            is_application,
            options: self.config.options(Kind::Udp),
            idle_timeout: Some(self.config.udp.idle_timeout),
            local_fields: false,
            mtu: Some(udp_mtu(peer)),
            scheme: None,
        })
    }

    /// Makes a face to a canonical URI. It is down until a connection that takes time is there.
    pub(crate) fn open(
        &mut self,
        remote: &FaceUri,
        local: Option<&str>,
        persistency: FacePersistency,
        options: FaceOptions,
        local_fields: bool,
        scheme: Option<&Resolved>,
    ) -> Result<Place, ControlError> {
        if !self.has_room(false) {
            return Err(ControlError::Full("table of faces"));
        }
        let uri = remote.to_string();
        // What is on an interface is another face on another one.
        let is_on_interface = match remote {
            FaceUri::Ethernet(_) => true,
            FaceUri::Udp(end) => end.ip().is_multicast() && end.zone().is_none(),
            _ => false,
        };
        let same =
            |face: &Face| face.remote == uri && local.map_or(!is_on_interface, |local| face.local == local);
        if let Some(place) = self.faces.places().find(|&p| self.faces.get(p).is_some_and(same)) {
            let status = self.status_at(place).ok_or(ControlError::NoSuchFace)?;
            return Err(ControlError::FaceExists(Box::new(status)));
        }
        let place = self.next_place();
        let (channel, local, link_type, mtu) = match remote {
            FaceUri::Udp(end) if !end.ip().is_multicast() => {
                let peer = end.socket_addr().map_err(|error| ControlError::BadUri(error.to_string()))?;
                let socket = self.socket_for(peer, local)?;
                let udp = UdpPeer { socket, peer, from: None, batch: Batch::default() };
                let local = FaceUri::Udp(Endpoint::from(self.sockets[socket].local())).to_string();
                (Channel::Udp(udp), local, LinkType::PointToPoint, Some(udp_mtu(peer)))
            }
            _ => {
                let transport = transport::connect(remote, local, transport::Options::default())
                    .and_then(|mut transport| {
                        transport.register(&self.registry, Token(FACES + place as usize)).map(|()| transport)
                    })
                    .map_err(|error| refused(remote, &error))?;
                let (local, link_type) = (transport.uris().local.to_owned(), transport.link_type());
                let mtu = transport.mtu();
                (Channel::Transport(transport), local, link_type, mtu)
            }
        };
        let new = NewFace {
            channel,
            remote: uri,
            local,
            persistency,
            link_type,
            // What we connect to is a neighbour, wherever it runs.
            is_application: false,
            options,
            idle_timeout: None,
            local_fields,
            mtu,
            scheme,
        };
        self.add(new).ok_or(ControlError::Full("table of faces"))
    }

    /// The socket that reaches a peer: one that listens, or one for all that we connect to ourselves.
    fn socket_for(&mut self, peer: SocketAddr, local: Option<&str>) -> Result<usize, ControlError> {
        let reaches = |socket: &Socket| {
            let ours = socket.local();
            let is_named = local.is_none_or(|local| FaceUri::Udp(Endpoint::from(ours)).to_string() == local);
            let may = ours.ip().is_unspecified() || ours.ip().is_loopback() == peer.ip().is_loopback();
            is_named && may && ours.is_ipv4() == peer.is_ipv4()
        };
        // Of several, the one with the address that we have towards the peer: it answers to that.
        let here = address_towards(peer);
        let is_on_the_way = |socket: &Socket| {
            let ip = socket.local().ip();
            reaches(socket) && (ip.is_unspecified() || Some(ip) == here)
        };
        let sockets = &self.sockets;
        let found = sockets.iter().position(is_on_the_way).or_else(|| sockets.iter().position(reaches));
        if let Some(at) = found {
            return Ok(at);
        }
        let any: SocketAddr = match (local, peer) {
            (Some(local), _) => match local.parse::<FaceUri>() {
                Ok(FaceUri::Udp(end)) => {
                    end.socket_addr().map_err(|e| ControlError::BadUri(e.to_string()))?
                }
                _ => {
                    return Err(ControlError::BadUri(format!(
                        "{local} is no address of UDP: udp4://10.0.0.1:6363"
                    )));
                }
            },
            (None, SocketAddr::V4(_)) => ([0, 0, 0, 0], 0).into(),
            (None, SocketAddr::V6(_)) => ([0u16; 8], 0).into(),
        };
        self.add_socket(any).map_err(|error| ControlError::Failed(format!("{any}: {error}")))
    }

    /// Binds a UDP socket.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn add_socket(&mut self, local: SocketAddr) -> io::Result<usize> {
        let socket = Socket::bind(local, self.config.udp.kernel_buffer.as_u64() as usize)?;
        let at = self.sockets.len();
        socket.register(&self.registry, Token(SOCKETS + at))?;
        self.sockets.push(socket);
        Ok(at)
    }

    /// A face's socket has failed.
    pub(crate) fn fail(&mut self, place: Place, error: &io::Error) {
        let Some(face) = self.faces.get_mut(place) else { return };
        debug!(face = face.number, remote = %face.remote, %error, "face failed");
        if face.persistency != FacePersistency::Permanent {
            return self.close(place);
        }
        face.channel = Channel::Down;
        face.attempts += 1;
        let wait = FIRST_RETRY.as_nanos().saturating_mul(1 << face.attempts.min(10));
        face.reconnect_at = self.now + Span::from_nanos(wait.min(LONGEST_RETRY.as_nanos()));
        if core::mem::replace(&mut face.up, false) {
            let core = face.core;
            self.node.set_up(self.now, core, false);
            self.tell(FaceEventKind::Down, place);
        }
        self.note_deadline(place);
    }

    /// Connects a permanent face again.
    pub(crate) fn reconnect(&mut self, place: Place) {
        let Some(face) = self.faces.get_mut(place) else { return };
        face.reconnect_at = Time::NEVER;
        let Ok(remote) = face.remote.parse::<FaceUri>() else { return };
        // Where there was a choice it was an interface.
        let local = face.local.starts_with("dev://").then_some(face.local.as_str());
        let connected = transport::connect(&remote, local, transport::Options::default());
        let registered = connected.and_then(|mut transport| {
            transport.register(&self.registry, Token(FACES + place as usize)).map(|()| transport)
        });
        match registered {
            Ok(transport) => {
                face.local = transport.uris().local.to_owned();
                face.channel = Channel::Transport(transport);
                self.note_connected(place);
            }
            Err(error) => self.fail(place, &error),
        }
    }

    /// A connection that was begun may be there: then packets go by its face.
    pub(crate) fn note_connected(&mut self, place: Place) {
        let Some(face) = self.faces.get_mut(place).filter(|face| !face.up && is_connected(&face.channel))
        else {
            return;
        };
        face.up = true;
        face.attempts = 0;
        let core = face.core;
        self.node.set_up(self.now, core, true);
        self.tell(FaceEventKind::Up, place);
    }

    /// Closes a face.
    pub(crate) fn close(&mut self, place: Place) {
        self.tell(FaceEventKind::Destroyed, place);
        let Some(face) = self.faces.remove(place) else { return };
        self.timed.remove(&(face.due, place));
        // The next face may be put there.
        self.failed.retain(|(failed, _)| *failed != place);
        self.past = sum(self.past, face.counters);
        self.node.remove_face(self.now, face.core);
        self.gone.push(face.number);
    }

    fn place_of(&self, face: FaceNumber) -> Result<Place, ControlError> {
        self.faces.of_number(face).ok_or(ControlError::NoSuchFace)
    }

    /// Sums over all faces, also those that are gone.
    pub(crate) fn totals(&self) -> FaceCounters {
        let faces = self.faces.places().filter_map(|place| self.faces.get(place));
        faces.fold(self.past, |total, face| sum(total, face.counters))
    }

    /// Gives a face the options that the configuration has for it.
    pub(crate) fn change_options(
        &mut self,
        number: FaceNumber,
        persistency: FacePersistency,
        options: &FaceOptions,
    ) {
        let Some(place) = self.faces.of_number(number) else { return };
        let Some(face) = self.faces.get_mut(place) else { return };
        face.persistency = persistency;
        face.idle_timeout = None;
        face.send_rate = options.rate;
        let link = LinkOptions {
            mtu: options.mtu.map(|mtu| mtu as usize).or(face.own_mtu),
            reliability: options.reliability,
            marking: marking(options),
            ..face.link.options()
        };
        face.link.set_options(link, first_sequence());
        let core = face.core;
        self.node.set_rates(self.now, core, options.rate, options.receive_rate);
    }

    /// The faces of the groups that the file means, if it means any: a route is by the first.
    pub(crate) fn group_faces(&self, face: &RouteFace) -> impl Iterator<Item = FaceNumber> {
        let local = match face {
            RouteFace::Multicast(interface) | RouteFace::Ethernet(interface) => {
                Some(format!("dev://{interface}"))
            }
            RouteFace::Face { .. } => None,
        };
        let is_ethernet = matches!(face, RouteFace::Ethernet(_));
        let is_it = move |face: &&Face| {
            face.link_type == LinkType::MultiAccess
                && Some(&face.local) == local.as_ref()
                && face.remote.starts_with("ether://") == is_ethernet
        };
        self.faces.places().filter_map(|place| self.faces.get(place)).filter(is_it).map(|face| face.number)
    }

    /// The forwarder at this moment, for Prometheus.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let (general, cs, faces) = (self.general(), self.cs_info(), self.faces());
        let delays = ServiceClass::ALL.into_iter().zip(self.delays).filter(|(_, of)| of.count() > 0);
        Snapshot { general, cs, faces, drops: self.drops, delays: delays.collect() }
    }
}

fn is_connected(channel: &Channel) -> bool {
    match channel {
        Channel::Transport(transport) => transport.is_connected(),
        Channel::Udp(_) | Channel::Internal => true,
        Channel::Down => false,
    }
}

fn marking(options: &FaceOptions) -> Option<Marking> {
    options.congestion_marking.then_some(Marking {
        threshold: options.marking_threshold.as_u64(),
        interval: options.marking_interval,
    })
}

/// Numbers of fragments differ from start to start, so that a peer does not confuse them.
fn first_sequence() -> u64 {
    wall_ms() << 20
}

/// Our address on the way to a peer, as the host routes; nothing is sent.
fn address_towards(peer: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
    let probe = UdpSocket::bind(any).ok()?;
    probe.connect(peer).ok()?;
    probe.local_addr().ok().map(|address| address.ip())
}

fn udp_mtu(peer: SocketAddr) -> usize {
    if peer.is_ipv4() { UDP_MTU } else { UDP6_MTU }
}

fn refused(remote: &FaceUri, error: &io::Error) -> ControlError {
    let why = format!("{remote}: {error}");
    match error.kind() {
        io::ErrorKind::Unsupported => ControlError::Unsupported(why),
        io::ErrorKind::InvalidInput => ControlError::BadUri(why),
        _ => ControlError::Failed(why),
    }
}

fn words(kind: FaceEventKind) -> &'static str {
    match kind {
        FaceEventKind::Created => "created",
        FaceEventKind::Destroyed => "destroyed",
        FaceEventKind::Up => "up",
        FaceEventKind::Down => "down",
    }
}

fn sum(a: FaceCounters, b: FaceCounters) -> FaceCounters {
    FaceCounters {
        in_interests: a.in_interests + b.in_interests,
        in_data: a.in_data + b.in_data,
        in_nacks: a.in_nacks + b.in_nacks,
        out_interests: a.out_interests + b.out_interests,
        out_data: a.out_data + b.out_data,
        out_nacks: a.out_nacks + b.out_nacks,
        in_bytes: a.in_bytes + b.in_bytes,
        out_bytes: a.out_bytes + b.out_bytes,
        in_malformed: a.in_malformed + b.in_malformed,
        out_dropped: a.out_dropped + b.out_dropped,
    }
}

impl Control for Engine {
    fn faces(&self) -> Vec<FaceStatus> {
        self.faces.places().filter_map(|place| self.status_at(place)).collect()
    }

    fn face(&self, face: FaceNumber) -> Option<FaceStatus> {
        self.status_at(self.faces.of_number(face)?)
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceStatus, ControlError> {
        let uri: FaceUri =
            request.remote.parse().map_err(|error| ControlError::BadUri(format!("{error}")))?;
        if !uri.is_canonical() {
            let why = format!("{} is not canonical: give the host's address", request.remote);
            return Err(ControlError::BadUri(why));
        }
        if request.persistency == FacePersistency::OnDemand {
            let why = "a face that is asked for is persistent or permanent".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        let kind = Kind::of_uri(&request.remote).unwrap_or(Kind::Unix);
        let mut options = self.config.options(kind);
        options.mtu = checked_mtu(request.mtu)?.or(options.mtu);
        if let Some(flags) = request.flags {
            options.reliability = flags.reliability;
            options.congestion_marking = flags.congestion_marking;
        }
        if let Some(interval) = request.base_congestion_marking_interval_ns {
            options.marking_interval = Span::from_nanos(interval);
        }
        if let Some(threshold) = request.default_congestion_threshold {
            options.marking_threshold = weir_core::Bytes::new(threshold);
        }
        let local_fields = request.flags.is_some_and(|flags| flags.local_fields);
        if local_fields {
            let why = "a neighbour is not given local fields".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        let local = request.local.as_deref();
        let place = self.open(&uri, local, request.persistency, options, local_fields, None)?;
        self.status_at(place).ok_or(ControlError::NoSuchFace)
    }

    fn update_face(&mut self, face: FaceNumber, change: &FaceChange) -> Result<FaceStatus, ControlError> {
        let place = self.place_of(face)?;
        let mtu = checked_mtu(change.mtu)?;
        let Some(face) = self.faces.get_mut(place) else { return Err(ControlError::NoSuchFace) };
        if change.flags.is_some_and(|flags| flags.local_fields) && face.scope != FaceScope::Local {
            let why = "local fields are for faces of applications on this host".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        if change.persistency == Some(FacePersistency::Permanent)
            && face.persistency == FacePersistency::OnDemand
            && !matches!(face.channel, Channel::Udp(_))
        {
            let why = "what has connected to us cannot be connected again from here".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        let mut link = face.link.options();
        link.mtu = mtu.map(|mtu| mtu as usize).or(link.mtu);
        if let Some(flags) = change.flags {
            face.local_fields = flags.local_fields;
            link.reliability = flags.reliability;
            let standard = FaceOptions::default();
            let marking = link.marking.unwrap_or(Marking {
                threshold: standard.marking_threshold.as_u64(),
                interval: standard.marking_interval,
            });
            link.marking = flags.congestion_marking.then_some(marking);
        }
        if let Some(marking) = &mut link.marking {
            let interval = change.base_congestion_marking_interval_ns.map(Span::from_nanos);
            marking.interval = interval.unwrap_or(marking.interval);
            marking.threshold = change.default_congestion_threshold.unwrap_or(marking.threshold);
        }
        if let Some(persistency) = change.persistency {
            face.persistency = persistency;
            // Those on streams end with their connections.
            let may_be_idle =
                persistency == FacePersistency::OnDemand && matches!(face.channel, Channel::Udp(_));
            face.idle_timeout = may_be_idle.then_some(self.config.udp.idle_timeout);
        }
        face.link.set_options(link, first_sequence());
        self.status_at(place).ok_or(ControlError::NoSuchFace)
    }

    fn destroy_face(&mut self, face: FaceNumber) -> bool {
        let Ok(place) = self.place_of(face) else { return false };
        let is_internal = self.faces.get(place).is_some_and(|face| matches!(face.channel, Channel::Internal));
        if is_internal {
            return false;
        }
        self.close(place);
        true
    }

    fn channels(&self) -> Vec<String> {
        let sockets =
            self.sockets.iter().map(|socket| FaceUri::Udp(Endpoint::from(socket.local())).to_string());
        sockets.chain(self.listeners.iter().map(|listener| listener.uri().to_owned())).collect()
    }

    fn add_next_hop(&mut self, prefix: &Name, face: FaceNumber, cost: u64) -> Result<(), ControlError> {
        let core =
            self.faces.get(self.place_of(face)?).map(|face| face.core).ok_or(ControlError::NoSuchFace)?;
        let prefix = self.node.hashed(prefix).ok_or(ControlError::Full("name"))?;
        let fib = self.node.core().fib();
        if fib.len() >= self.limits.fib_entries && fib.exact(&prefix).is_none() {
            return Err(ControlError::Full("FIB"));
        }
        self.node.add_route(&prefix, core, cost);
        Ok(())
    }

    fn remove_next_hop(&mut self, prefix: &Name, face: FaceNumber) {
        let core = self.faces.of_number(face).and_then(|place| self.faces.get(place)).map(|face| face.core);
        if let (Some(core), Some(prefix)) = (core, self.node.hashed(prefix)) {
            self.node.remove_route(self.now, &prefix, core);
        }
    }

    fn fib(&self) -> Vec<FibStatus> {
        let number = |core| self.faces.of_core(core).and_then(|p| self.faces.get(p)).map(|face| face.number);
        let entries = self.node.core().fib().iter();
        entries
            .map(|(_, prefix, hops)| FibStatus {
                prefix: crate::node::plain(prefix),
                next_hops: hops.iter().filter_map(|hop| Some((number(hop.face)?, hop.cost))).collect(),
            })
            .collect()
    }

    fn set_strategy(&mut self, prefix: &Name, strategy: &Name) -> Result<Name, ControlError> {
        let Some(hashed) = self.node.hashed(prefix) else { return Err(ControlError::Full("name")) };
        if self.node.chosen_strategies().len() >= self.limits.fib_entries {
            return Err(ControlError::Full("table of strategies"));
        }
        let chosen = self.node.choose_strategy(prefix, &hashed, strategy);
        chosen.ok_or_else(|| ControlError::NoSuchStrategy(self.node.strategy_names()))
    }

    fn unset_strategy(&mut self, prefix: &Name) {
        if let Some(hashed) = self.node.hashed(prefix).filter(|_| !prefix.is_empty()) {
            self.node.unchoose_strategy(prefix, &hashed);
        }
    }

    fn strategies(&self) -> Vec<StrategyStatus> {
        let chosen = self.node.chosen_strategies().iter();
        chosen
            .map(|(prefix, strategy)| StrategyStatus { prefix: prefix.clone(), strategy: strategy.clone() })
            .collect()
    }

    fn cs_info(&self) -> CsInfo {
        let (store, used) = (self.node.core().content_store(), self.node.core().content_store_use());
        CsInfo {
            capacity: store.limits().0 as u64,
            admit: used.admit,
            serve: used.serve,
            entries: store.len() as u64,
            hits: store.hits(),
            misses: store.misses(),
        }
    }

    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>) {
        if let Some(capacity) = capacity {
            self.node.set_content_store_packets(usize::try_from(capacity).unwrap_or(usize::MAX));
        }
        let used = self.node.core().content_store_use();
        let admit = admit.unwrap_or(used.admit);
        self.node.use_content_store(CsUse { admit, serve: serve.unwrap_or(used.serve) });
    }

    fn erase_cs(&mut self, prefix: &Name, limit: u64) -> u64 {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.node.hashed(prefix).map_or(0, |prefix| self.node.erase_content(&prefix, limit) as u64)
    }

    fn general(&self) -> GeneralStatus {
        let core = self.node.core();
        let (satisfied, unsatisfied) = core.satisfied_and_unsatisfied();
        let now_ms = wall_ms();
        GeneralStatus {
            version: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_ms: now_ms.saturating_sub(self.now.as_nanos() / 1_000_000),
            now_ms,
            fib_entries: core.fib().len() as u64,
            pit_entries: core.pit().len() as u64,
            cs_entries: core.content_store().len() as u64,
            counters: self.totals(),
            satisfied_interests: satisfied,
            unsatisfied_interests: unsatisfied,
        }
    }
}

fn checked_mtu(mtu: Option<u64>) -> Result<Option<u64>, ControlError> {
    match mtu {
        Some(mtu) if mtu < LEAST_MTU => {
            Err(ControlError::BadProperties(format!("an MTU of {mtu} bytes: at least {LEAST_MTU}")))
        }
        // Nothing is longer than the longest packet.
        Some(mtu) => Ok(Some(mtu.min(UDP_MTU as u64))),
        None => Ok(None),
    }
}
