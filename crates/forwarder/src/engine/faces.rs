//! Creates and closes faces.

use std::io;
use std::net::SocketAddr;

use tracing::{debug, info, warn};
use weir_core::ids::{FaceId, GroupId};
use weir_core::units::{Span, Time};
use weir_management::status::{
    FaceCounters, FaceEventKind, FaceNumber, FacePersistency, FaceScope, FaceStatus, LinkType,
};
use weir_net::link_service::{LinkOptions, LinkService, Marking, Repair};
use weir_net::transport::Transport;
use weir_net::transport::udp::Source;
use weir_net::uri::FaceUri;
use weir_schemes::Resolved;

use super::Engine;
use super::admission::Origin;
use super::sockets::{EventSource, udp_uri};
use crate::config::{FaceKind, FaceOptions, RouteFace, ShareBy, Switching, class_rules};
use crate::control::{ControlError, Owner};
use crate::face::{Channel, Face, FaceSlot};
use crate::metrics::{ByClass, Delays};
use crate::wire_node::LinkConfig;
use weir_core::node::IngressPolicy;

/// Time until the first new attempt to connect. It doubles with each attempt.
const FIRST_RETRY: Span = Span::from_millis(500);
const LONGEST_RETRY: Span = Span::from_secs(60);

/// A face to create.
struct NewFace<'a> {
    channel: Channel,
    remote: String,
    local: String,
    persistency: FacePersistency,
    link_type: LinkType,
    /// The owner of the face.
    owner: Owner,
    /// Whether the file or management created it for one neighbour.
    is_neighbour: bool,
    /// The origin of a face that was not requested.
    origin: Option<Origin>,
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
            owner: Owner::Privileged,
            persistency: FacePersistency::Permanent,
            local_fields: true,
            ..face
        });
    }

    /// A face with the values from its options; the caller fills in the rest.
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
            reassembly_bytes: self.limits.reassembly_bytes as usize,
            repair: repair(options),
            marking: marking(options),
        };
        Face {
            number,
            core,
            channel,
            link: LinkService::new(link, self.first_sequence()).knowing(self.node.known_signals()),
            remote: String::new(),
            local: String::new(),
            scope: FaceScope::NonLocal,
            persistency: FacePersistency::OnDemand,
            link_type: LinkType::PointToPoint,
            local_fields: false,
            send_rate: options.rate,
            asked_mtu: None,
            own_mtu: None,
            origin: None,
            owner: Owner::Neighbour,
            up: true,
            idle_timeout: None,
            last_used: self.now,
            counters: FaceCounters::default(),
            classes: ByClass::default(),
            delays: Delays::default(),
            unsent_bytes: 0,
            fragment_bytes: 0,
            is_unsent: false,
            attempts: 0,
            reconnect_at: Time::NEVER,
        }
    }

    /// Whether an origin, or a requested face if `None`, may have one more face. A stranger's face that has been silent for long
    /// may be closed for another stranger, of the same origin if that is at its limit. An application's face is not closed for
    /// it, because it may wait for Interests.
    fn admit(&mut self, origin: Option<Origin>) -> bool {
        let Some(origin) = origin else { return self.has_room(None) };
        let of = self.admission.is_at_limit(origin).then_some(origin);
        (of.is_none() && self.has_room(Some(origin))) || (origin.is_stranger() && self.replace_idle(of))
    }

    /// Makes room for a stranger: closes the face that has been silent longest, of one origin or of any. Returns whether there
    /// was one.
    fn replace_idle(&mut self, of: Option<Origin>) -> bool {
        let Some(slot) = self.admission.longest_idle(self.now, &self.faces, of) else { return false };
        // Pending actions for the old face must not reach the new one.
        self.perform();
        self.close(slot);
        self.perform();
        true
    }

    fn has_room(&self, origin: Option<Origin>) -> bool {
        self.admission.has_room(self.faces.len(), origin)
    }

    /// Adds a face; `None` if there are too many.
    fn add(&mut self, new: NewFace<'_>) -> Option<FaceSlot> {
        if !self.has_room(None) {
            return None;
        }
        let mut options = new.options;
        let is_application = new.owner != Owner::Neighbour;
        options.reliability = possible(options.reliability, new.link_type, &new.remote, is_application);
        if is_application {
            // An application has no link to pace, and status reports must not show one.
            (options.rate, options.receive_rate) = (None, None);
        }
        let core = if is_application {
            self.node.add_application(self.now)
        } else {
            let (send_rate, receive_rate) = (options.rate, options.receive_rate);
            let config = LinkConfig { send_rate, receive_rate, limit: options.queue };
            self.node.add_link(self.now, config, new.scheme)
        };
        let is_known = new.is_neighbour || new.owner == Owner::Privileged;
        let ingress = ingress(&options, is_known);
        if !ingress.is_open() {
            self.node.set_ingress(self.now, core, ingress);
        }
        let number = self.faces.next_number();
        let asked_mtu = options.mtu.map(|mtu| mtu as usize);
        let up = new.channel.is_connected();
        if !up {
            self.node.set_up(self.now, core, false);
        }
        let face = self.face(number, core, new.channel, &options, asked_mtu.or(new.mtu));
        let slot = self.faces.insert(Face {
            remote: new.remote,
            local: new.local,
            scope: if is_application { FaceScope::Local } else { FaceScope::NonLocal },
            persistency: new.persistency,
            link_type: new.link_type,
            local_fields: new.local_fields,
            idle_timeout: new.idle_timeout,
            asked_mtu,
            own_mtu: new.mtu,
            up,
            origin: new.origin,
            owner: new.owner,
            ..face
        });
        if let Some(origin) = new.origin {
            self.admission.add(origin, self.now);
        }
        self.set_group(slot, options.share_by);
        self.notify(FaceEventKind::Created, slot);
        Some(slot)
    }

    /// Sets whether a face shares links as one or by its flows, as configured. By default, faces that were not requested share as
    /// one: a stranger that invents flows gets no more than one with a single flow.
    fn set_group(&mut self, slot: FaceSlot, share_by: Option<ShareBy>) {
        let Some(face) = self.faces.get(slot) else { return };
        let (core, origin) = (face.core, face.origin);
        let is_asked_for =
            face.persistency != FacePersistency::OnDemand && face.link_type == LinkType::PointToPoint;
        let wanted = share_by.unwrap_or(if is_asked_for { ShareBy::Flow } else { ShareBy::Face });
        let before = self.node.core().group(core);
        match wanted {
            ShareBy::Face if before == GroupId::NONE => {
                let group = self.groups.join(origin, self.now);
                self.node.set_group(self.now, core, group);
            }
            ShareBy::Flow if before != GroupId::NONE => {
                self.node.set_group(self.now, core, GroupId::NONE);
                self.leave_group(before, origin);
            }
            ShareBy::Face | ShareBy::Flow => {}
        }
    }

    /// Removes a face from its group. With the last face, the group's prefixes and their queued Interests are removed.
    fn leave_group(&mut self, group: GroupId, origin: Option<Origin>) {
        if group != GroupId::NONE && self.groups.leave(group, origin, self.now) {
            self.node.forget_group(self.now, group);
        }
    }

    /// Reports an event of a face to the log, to subscribers and to the capture.
    fn notify(&mut self, kind: FaceEventKind, slot: FaceSlot) {
        let Some(status) = self.status_at(slot) else { return };
        if status.persistency == FacePersistency::OnDemand {
            debug!(face = status.number, remote = %status.remote, "face {}", words(kind));
        } else {
            info!(face = status.number, remote = %status.remote, "face {}", words(kind));
        }
        self.observation.face_event(kind, &status);
        self.inbox.notify(kind, status);
    }

    /// Adds the face of a peer that has connected.
    pub(crate) fn add_accepted(&mut self, mut transport: Box<dyn Transport>) {
        let (remote, local) = (transport.uris().remote.to_owned(), transport.uris().local.to_owned());
        let kind = FaceKind::of_uri(&remote).unwrap_or(FaceKind::Unix);
        let owner = match transport.scope() {
            FaceScope::Local => Owner::of_application(transport.user(), &self.rights),
            FaceScope::NonLocal => Owner::Neighbour,
        };
        let (link_type, mtu) = (transport.link_type(), transport.mtu());
        let origin = Origin::of(owner, || Origin::connected(&remote));
        if !self.admit(origin) {
            debug!(%remote, "refused a connection");
            let why = || self.admission.limit_reached(self.faces.len(), origin);
            return self.refused.add(1, origin, why);
        }
        let slot = self.faces.next_slot();
        if let Err(error) = self.outside.watch(&mut *transport, EventSource::Face(slot).token()) {
            return warn!(%error, %remote, "cannot watch a connection");
        }
        let added = self.add(NewFace {
            channel: Channel::Transport(transport),
            remote,
            local,
            persistency: FacePersistency::OnDemand,
            link_type,
            owner,
            is_neighbour: false,
            origin,
            options: self.config.options(kind),
            idle_timeout: None,
            local_fields: false,
            mtu,
            scheme: None,
        });
        debug_assert_eq!(added, Some(slot));
        // Events are edge-triggered: input that arrived before is not reported again.
        self.ready(EventSource::Face(slot).token());
    }

    pub(crate) fn add_udp_peer(
        &mut self,
        socket: usize,
        local: SocketAddr,
        source: Source,
    ) -> Option<FaceSlot> {
        let Source { from: peer, to } = source;
        // As in ndnd: applications of this host may use UDP.
        let owner = match peer.ip().is_loopback() {
            true => Owner::of_application(None, &self.rights),
            false => Owner::Neighbour,
        };
        let origin = Origin::of(owner, || Origin::Datagrams(peer.ip().into()));
        if !self.admit(origin) {
            return None;
        }
        let from = to.filter(|to| local.ip().is_unspecified() && !self.outside.is_of_many(*to));
        let udp = self.udp_peer(socket, local, peer, from);
        let (mtu, local_addr) = (udp.path.frame(), udp.local);
        let mut options = self.config.options(FaceKind::Udp);
        options.mtu = self.config.udp.mtu_by_network.of(peer.ip()).or(options.mtu);
        self.add(NewFace {
            remote: udp_uri(peer),
            local: udp_uri(local_addr),
            channel: Channel::Udp(udp),
            persistency: FacePersistency::OnDemand,
            link_type: LinkType::PointToPoint,
            owner,
            is_neighbour: false,
            origin,
            options,
            idle_timeout: Some(self.config.udp.idle_timeout),
            local_fields: false,
            mtu: Some(mtu),
            scheme: None,
        })
    }

    /// Creates a face to a canonical URI. It is down until a pending connection is established.
    pub(crate) fn open(
        &mut self,
        remote: &FaceUri,
        local: Option<&str>,
        persistency: FacePersistency,
        options: FaceOptions,
        local_fields: bool,
        scheme: Option<&Resolved>,
    ) -> Result<FaceSlot, ControlError> {
        if !self.has_room(None) {
            return Err(ControlError::Full("table of faces"));
        }
        let uri = remote.to_string();
        // The same URI on another interface is another face.
        let is_on_interface = match remote {
            FaceUri::Ethernet(_) => true,
            FaceUri::Udp(end) => end.ip().is_multicast() && end.zone().is_none(),
            _ => false,
        };
        let is_same =
            |face: &Face| face.remote == uri && local.map_or(!is_on_interface, |local| face.local == local);
        if let Some((slot, _)) = self.faces.iter().find(|(_, face)| is_same(face)) {
            let status = self.status_at(slot).ok_or(ControlError::NoSuchFace)?;
            return Err(ControlError::FaceExists(Box::new(status)));
        }
        let slot = self.faces.next_slot();
        let (channel, local, link_type, mtu) = match remote {
            FaceUri::Udp(end) if !end.ip().is_multicast() => {
                let peer = end.socket_addr().map_err(|error| ControlError::BadUri(error.to_string()))?;
                let buffer = self.config.udp.kernel_buffer.as_u64();
                let socket = self.sockets.udp_towards(&mut *self.outside, peer, local, buffer)?;
                let local = self.sockets.udp_local(socket);
                let udp = self.udp_peer(socket, local, peer, None);
                let mtu = udp.path.frame();
                (Channel::Udp(udp), udp_uri(local), LinkType::PointToPoint, Some(mtu))
            }
            _ => {
                let connected = self.outside.connect(remote, local, EventSource::Face(slot).token());
                let transport = connected.map_err(|error| refused(remote, &error))?;
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
            // A face that we connect is a neighbour's, wherever it runs.
            owner: Owner::Neighbour,
            // The members of a group are unknown.
            is_neighbour: link_type == LinkType::PointToPoint,
            origin: None,
            options,
            idle_timeout: None,
            local_fields,
            mtu,
            scheme,
        };
        self.add(new).ok_or(ControlError::Full("table of faces"))
    }

    /// Handles the failure of a face's socket.
    pub(crate) fn fail(&mut self, slot: FaceSlot, error: &io::Error) {
        let Some(face) = self.faces.get_mut(slot) else { return };
        debug!(face = face.number, remote = %face.remote, %error, "face failed");
        if face.persistency != FacePersistency::Permanent {
            return self.close_because(slot, Some(error.to_string()));
        }
        face.channel = Channel::Down;
        face.attempts += 1;
        let wait = FIRST_RETRY.as_nanos().saturating_mul(1 << face.attempts.min(10));
        face.reconnect_at = self.now + Span::from_nanos(wait.min(LONGEST_RETRY.as_nanos()));
        if core::mem::replace(&mut face.up, false) {
            let core = face.core;
            self.node.set_up(self.now, core, false);
            self.notify(FaceEventKind::Down, slot);
        }
        self.note_unsent_bytes(slot);
        self.note_deadline(slot);
    }

    /// Connects a permanent face again.
    pub(crate) fn reconnect(&mut self, slot: FaceSlot) {
        let Some(face) = self.faces.get_mut(slot) else { return };
        face.reconnect_at = Time::NEVER;
        let Ok(remote) = face.remote.parse::<FaceUri>() else { return };
        // A face with a choice of interfaces has an interface as its local URI.
        let local = face.local.starts_with("dev://").then_some(face.local.as_str());
        match self.outside.connect(&remote, local, EventSource::Face(slot).token()) {
            Ok(transport) => {
                face.local = transport.uris().local.to_owned();
                face.channel = Channel::Transport(transport);
                self.note_connected(slot);
            }
            Err(error) => self.fail(slot, &error),
        }
    }

    /// Checks whether a pending connection is established; then packets use its face.
    pub(crate) fn note_connected(&mut self, slot: FaceSlot) {
        let Some(face) = self.faces.get_mut(slot).filter(|face| !face.up && face.channel.is_connected())
        else {
            return;
        };
        face.up = true;
        face.attempts = 0;
        let core = face.core;
        self.node.set_up(self.now, core, true);
        self.notify(FaceEventKind::Up, slot);
    }

    /// Closes a face.
    pub(crate) fn close(&mut self, slot: FaceSlot) {
        self.close_because(slot, None);
    }

    /// Closes a face; `why`: its error, if any.
    fn close_because(&mut self, slot: FaceSlot, why: Option<String>) {
        self.notify(FaceEventKind::Destroyed, slot);
        let Some(face) = self.faces.remove(slot) else { return };
        if let Some(origin) = face.origin {
            self.admission.remove(origin);
        }
        self.unsent.replace(face.unsent_bytes, 0);
        self.fragments.replace(face.fragment_bytes, 0);
        // The slot may be reused.
        self.timers.forget_face(slot);
        self.round.forget(slot);
        self.observation.keep(face.counters(&self.node));
        let group = self.node.core().group(face.core);
        self.node.remove_face(self.now, face.core);
        self.leave_group(group, face.origin);
        self.inbox.add_closed(face.number, why);
    }

    /// The sum over all faces, including closed ones.
    pub(crate) fn totals(&self) -> FaceCounters {
        self.observation.totals(self.faces.iter().map(|(_, face)| face.counters(&self.node)))
    }

    /// The status of a face for management.
    pub(crate) fn status_at(&self, slot: FaceSlot) -> Option<FaceStatus> {
        let face = self.faces.get(slot)?;
        Some(face.status(self.now, &self.node))
    }

    /// Applies the configuration's options to a face.
    pub(crate) fn change_options(
        &mut self,
        number: FaceNumber,
        persistency: FacePersistency,
        options: &FaceOptions,
    ) {
        let Some(slot) = self.faces.of_number(number) else { return };
        let first_sequence = self.first_sequence();
        let Some(face) = self.faces.get_mut(slot) else { return };
        face.persistency = persistency;
        face.idle_timeout = None;
        face.send_rate = options.rate;
        face.asked_mtu = options.mtu.map(|mtu| mtu as usize);
        let reliability = possible(options.reliability, face.link_type, &face.remote, false);
        let link = LinkOptions {
            mtu: face.mtu(),
            repair: repair(&FaceOptions { reliability, ..*options }),
            marking: marking(options),
            ..face.link.options()
        };
        face.link.set_options(link, first_sequence);
        let (core, is_neighbour) = (face.core, face.link_type == LinkType::PointToPoint);
        self.node.set_ingress(self.now, core, ingress(options, is_neighbour));
        self.node.set_rates(self.now, core, options.rate, options.receive_rate);
        self.set_group(slot, options.share_by);
    }

    /// First fragment number. It differs from start to start, so that peers do not confuse fragments.
    pub(super) fn first_sequence(&self) -> u64 {
        self.outside.wall_ms() << 20
    }

    /// The faces of a group in the file, if it names one. Routes use the first.
    pub(crate) fn group_faces(&self, face: &RouteFace) -> impl Iterator<Item = FaceNumber> {
        let local = match face {
            RouteFace::Multicast(interface) | RouteFace::Ethernet(interface) => {
                Some(format!("dev://{interface}"))
            }
            RouteFace::Face { .. } => None,
        };
        let is_ethernet = matches!(face, RouteFace::Ethernet(_));
        let is_it = move |face: &Face| {
            face.link_type == LinkType::MultiAccess
                && Some(&face.local) == local.as_ref()
                && face.remote.starts_with("ether://") == is_ethernet
        };
        self.faces.iter().filter(move |(_, face)| is_it(face)).map(|(_, face)| face.number)
    }
}

/// The rules for classes and signals of a face that is known, or of a stranger.
fn ingress(options: &FaceOptions, is_known: bool) -> IngressPolicy {
    let is_believed = options.trust.believes(is_known);
    IngressPolicy { is_believed, classes: class_rules(&options.classes, is_believed) }
}

/// Link reliability needs a single peer: the numbers of several peers would be confused.
pub(super) fn can_be_reliable(link_type: LinkType) -> bool {
    link_type != LinkType::MultiAccess
}

/// The possible setting for a requested one, on a face of this kind. `auto` is on only where frames can be lost between two
/// hosts: not on streams, and not between the forwarder and this host's applications.
fn possible(asked: Switching, link_type: LinkType, remote: &str, is_application: bool) -> Switching {
    let is_stream = !matches!(FaceKind::of_uri(remote), Some(FaceKind::Udp | FaceKind::Ethernet));
    match asked {
        _ if !can_be_reliable(link_type) => Switching::Off,
        Switching::Auto if is_stream || is_application => Switching::Off,
        asked => asked,
    }
}

/// The meaning of lost frames. With a rate, the queue is in this forwarder and losses are random. Without a rate, the queue is on
/// the path, and a loss may be due to congestion.
fn repair(options: &FaceOptions) -> Repair {
    match options.reliability {
        Switching::Off => Repair::Off,
        Switching::Auto => Repair::Auto { marks: options.rate.is_none() },
        Switching::On => Repair::On,
    }
}

fn marking(options: &FaceOptions) -> Option<Marking> {
    options.congestion_marking.then_some(Marking {
        threshold: options.marking_threshold.as_u64(),
        interval: options.marking_interval,
    })
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
