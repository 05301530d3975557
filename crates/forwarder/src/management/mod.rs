//! The NFD management protocol, without sockets and clocks: Interests in, Data out.
//!
//! ```text
//!   /localhost/nfd/<module>/<verb>/<ControlParameters>/<params-sha256>     command    -> ControlResponse
//!   /localhost/nfd/<module>/<verb>                                         dataset    -> .../v=…/seg=…
//!   /localhost/nfd/faces/events/seq=…                                      stream     -> FaceEventNotification
//! ```
//!
//! [`Management`] keeps the RIB and the rules for commands, and requests the rest from the forwarder by [`Control`]. Numbers and
//! rules follow the NFD management protocol, as in NFD and ndnd.

mod authority;
mod certificate;
mod connecting;
mod events;
mod lists;
mod queries;
mod rib;
mod segments;
mod verbs;

use weir_core::units::Time;
use weir_management::{ControlParameters, ControlResponse, Module, RouteFlags, origin};
use weir_packet::{
    Component, ContentType, Data, Interest, InterestLayout, MetaInfo, Name, NameRef, SignatureInfo,
    SignatureType,
};

pub use authority::{Applications, KnownKey, Policy, Refusal, Trust};
pub use certificate::known_keys;
pub use rib::{Rib, Route};
pub use segments::DatasetConfig;

use crate::control::{Control, ControlError, Owner};
use authority::{Authority, sign};
use connecting::{Connecting, Waiting};
use events::Events;
use lists::{Asked, Finished, Lists, Part};
use queries::Queries;
use segments::{Content, Datasets, List, MAX_DATA};
use verbs::{
    ANNOUNCE, COMMANDS, CREATE, DATASETS, Dataset, EVENTS, Outcome, QUERY, Refused, announce,
    asks_for_version, create_face, is_there, refused,
};
use weir_management::status::{FaceEventKind, FaceNumber, FaceScope, FaceStatus};

/// First component of names that only this host may request.
const LOCALHOST: Component<'static> = Component::generic(b"localhost");
/// First component of names that neighbours may request.
const LOCALHOP: Component<'static> = Component::generic(b"localhop");
const NFD: Component<'static> = Component::generic(b"nfd");

/// Settings of management.
#[derive(Debug)]
pub struct ManagementConfig {
    /// Rules for commands.
    pub policy: Policy,
    /// Largest number of routes.
    pub max_routes: usize,
    /// Limits of stored datasets.
    pub datasets: DatasetConfig,
}

/// NFD's policy, and a million routes.
impl Default for ManagementConfig {
    fn default() -> ManagementConfig {
        ManagementConfig {
            policy: Policy::default(),
            max_routes: 1 << 20,
            datasets: DatasetConfig::default(),
        }
    }
}

/// Counters of requests to management.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManagementCounters {
    /// Executed commands.
    pub commands: u64,
    /// Commands that failed or were not understood.
    pub failed: u64,
    /// Refused commands: signature, key, replay.
    pub refused: u64,
    /// Datasets made.
    pub datasets: u64,
    /// Interests from faces without permission; they are not answered.
    pub out_of_scope: u64,
    /// Malformed packets and packets other than Interests; they are not answered.
    pub malformed: u64,
}

/// An Interest for management.
struct Request<'a> {
    now: Time,
    wall_ms: u64,
    interest: Interest<'a>,
    layout: InterestLayout,
    wire: &'a [u8],
    incoming: &'a FaceStatus,
    /// Whether it is under `/localhost`, from this host.
    is_local: bool,
    /// The owner of its face.
    owner: Owner,
    /// Whether it comes from an application without rights and without a known key.
    is_restricted: bool,
    trust: Trust,
    module: Option<Component<'a>>,
    verb: Option<Component<'a>>,
    /// The name after the verb.
    suffix: NameRef<'a>,
}

impl Request<'_> {
    /// Whether it is for this module and verb.
    fn is_for(&self, module: Module, verb: &str) -> bool {
        self.module.and_then(Module::from_component) == Some(module)
            && self.verb == Some(Component::generic(verb.as_bytes()))
    }
}

/// Management of one forwarder.
#[derive(Debug)]
pub struct Management {
    authority: Authority,
    rib: Rib,
    datasets: Datasets,
    lists: Lists,
    queries: Queries,
    events: Events,
    connecting: Connecting,
    counters: ManagementCounters,
}

impl Management {
    /// Creates management without routes.
    pub fn new(config: ManagementConfig) -> Management {
        let stream = [b"localhost", &b"nfd"[..], b"faces", b"events"];
        let stream = stream.into_iter().fold(Name::new(), |name, part| name.with(Component::generic(part)));
        Management {
            authority: Authority::new(config.policy),
            rib: Rib::new(config.max_routes),
            datasets: Datasets::new(config.datasets),
            lists: Lists::new(),
            queries: Queries::default(),
            events: Events::new(stream),
            connecting: Connecting::default(),
            counters: ManagementCounters::default(),
        }
    }

    /// Handles an Interest under `/localhost/nfd` or `/localhop/nfd`: appends at most one Data as its answer. A delayed answer
    /// comes from [`Management::face_event`], [`Management::face_gone`] or [`Management::handle_deadline`].
    ///
    /// `wall_ms` is the time since 1970, ms, which is compared with the times in commands. `interest` is the packet without a
    /// link header.
    pub fn handle_interest(
        &mut self,
        now: Time,
        wall_ms: u64,
        interest: &[u8],
        incoming: &FaceStatus,
        control: &mut dyn Control,
        replies: &mut Vec<Vec<u8>>,
    ) {
        let Ok((decoded, layout)) = Interest::decode_with_layout(interest) else {
            self.counters.malformed += 1;
            return;
        };
        let Some((is_local, trust)) = self.admits(decoded.name, incoming) else {
            self.counters.out_of_scope += 1;
            if decoded.name.component(0) == Some(LOCALHOP) {
                let why = refused(403, "neighbours may not send this command or query");
                replies.extend(respond(decoded.name, *why, None));
            }
            return;
        };
        let owner = control.owner(incoming.number);
        let is_application = owner != Owner::Neighbour;
        if is_application != (incoming.scope == FaceScope::Local) {
            // The face is closed, so its permissions are no longer known.
            return;
        }
        let (applications, _) = self.authority.of_applications();
        let has_none = matches!(owner, Owner::User(_) | Owner::Anybody);
        let mut request = Request {
            now,
            wall_ms,
            interest: decoded,
            layout,
            wire: interest,
            incoming,
            is_local,
            owner,
            is_restricted: has_none && applications != Applications::All,
            trust,
            module: decoded.name.component(2),
            verb: decoded.name.component(3),
            suffix: decoded.name.suffix(4),
        };
        replies.extend(self.answer(&mut request, control));
    }

    /// Handles an event of a face: appends the notification if an Interest waits for it. If the face came up, appends the answers
    /// to commands that waited for its connection.
    pub fn face_event(
        &mut self,
        now: Time,
        kind: FaceEventKind,
        face: &FaceStatus,
        replies: &mut Vec<Vec<u8>>,
    ) {
        replies.extend(self.events.push(now, kind, face));
        if kind == FaceEventKind::Up {
            for Waiting { command, is_creator, .. } in self.connecting.take_of(face.number) {
                replies.extend(self.reply(command.view(), is_there(face, is_creator)));
            }
        }
    }

    /// Handles a closed face: removes its routes, and appends the answers to commands that waited for its connection. `why`: the
    /// error of the face, if any.
    pub fn face_gone(
        &mut self,
        face: FaceNumber,
        why: Option<&str>,
        control: &mut dyn Control,
        replies: &mut Vec<Vec<u8>>,
    ) {
        self.rib.remove_face(face, control);
        for Waiting { command, .. } in self.connecting.take_of(face) {
            let error = refused(504, why.unwrap_or("the face was closed before it was connected"));
            replies.extend(self.reply(command.view(), Err(error)));
        }
    }

    /// Adds a route, or replaces the one with this prefix, face and origin.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchFace`] or [`ControlError::Full`]; then nothing has changed.
    pub fn add_route(&mut self, route: &Route, control: &mut dyn Control) -> Result<(), ControlError> {
        self.rib.add(route, control)
    }

    /// Adds a route of the configuration. It is removed with its face.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchFace`] or [`ControlError::Full`]; then nothing has changed.
    pub fn add_static(
        &mut self,
        prefix: &Name,
        face: FaceNumber,
        cost: u64,
        flags: RouteFlags,
        control: &mut dyn Control,
    ) -> Result<(), ControlError> {
        let (prefix, origin, expires) = (prefix.clone(), origin::STATIC, Time::NEVER);
        self.rib.add(&Route { prefix, face, origin, cost, flags, expires }, control)
    }

    /// Removes a route, if it exists.
    pub fn remove_route(&mut self, prefix: &Name, face: FaceNumber, origin: u64, control: &mut dyn Control) {
        self.rib.remove(prefix, face, origin, control);
    }

    /// The routes of all origins. The FIB has the best of them.
    pub const fn rib(&self) -> &Rib {
        &self.rib
    }

    /// The time of the next [`Management::handle_deadline`]; [`Time::NEVER`] if there is none.
    pub fn next_deadline(&self) -> Time {
        self.rib.next_deadline().min(self.lists.next_deadline()).min(self.connecting.next_deadline())
    }

    /// Removes expired routes and the routes of removed faces, and continues long lists. Appends complete lists, and the answers
    /// to commands that waited too long for a connection.
    pub fn handle_deadline(&mut self, now: Time, control: &mut dyn Control, replies: &mut Vec<Vec<u8>>) {
        self.rib.expire(now, control);
        if let Some(finished) = self.lists.go_on(now, &self.rib, control) {
            self.publish(now, finished, replies);
        }
        for waiting in self.connecting.take_due(now) {
            let outcome = self.give_up(&waiting, control);
            replies.extend(self.reply(waiting.command.view(), outcome));
        }
    }

    /// The answer to a command that waited too long. Closes the face that it created, unless the face has become permanent
    /// meanwhile.
    fn give_up(&mut self, waiting: &Waiting, control: &mut dyn Control) -> Outcome {
        let face = control.face(waiting.face).ok_or_else(|| refused(504, "the face is gone"))?;
        if !Connecting::is_connecting(&face) {
            return is_there(&face, waiting.is_creator);
        }
        if waiting.is_creator {
            control.destroy_face(face.number);
            self.rib.remove_face(face.number, control);
        }
        let seconds = waiting.wait.as_secs_f64();
        Err(refused(504, format!("cannot connect to {}: no answer within {seconds} s", face.remote)))
    }

    /// Counters of its requests.
    pub const fn counters(&self) -> ManagementCounters {
        self.counters
    }

    /// Whether a name belongs to management and its face may request it; if so, whether as this host, and which signatures are
    /// accepted.
    ///
    /// Under `/localhop` an application of this host may do what neighbours may, with the signatures accepted under `/localhost`:
    /// over TCP, UDP or WebSocket some libraries use this prefix wherever the forwarder runs.
    fn admits(&self, name: NameRef<'_>, incoming: &FaceStatus) -> Option<(bool, Trust)> {
        let mut components = name.components();
        let (first, second) = (components.next()?, components.next()?);
        let is_host = incoming.scope == FaceScope::Local;
        if second != NFD {
            return None;
        }
        if first == LOCALHOST {
            return is_host.then(|| (true, self.authority.local()));
        }
        let trust = if is_host { Some(self.authority.local()) } else { self.authority.localhop() };
        let trust = trust.filter(|_| first == LOCALHOP)?;
        let is_open = components.next().and_then(Module::from_component) == Some(Module::Rib)
            && components.next().is_some_and(|verb| verb != Component::generic(b"list"));
        is_open.then_some((false, trust))
    }

    fn answer(&mut self, request: &mut Request<'_>, control: &mut dyn Control) -> Option<Vec<u8>> {
        if request.is_for(EVENTS.0, EVENTS.1) {
            return self.events.ask(request.now, &request.interest, request.suffix);
        }
        if let Some(&(module, verb, make)) = DATASETS.iter().find(|row| request.is_for(row.0, row.1)) {
            return match asks_for_version(request.suffix) {
                true => self.datasets.find(request.now, request.interest.name),
                false => self.dataset(request, (module, verb), make, control),
            };
        }
        let outcome = self.command(request, control).transpose()?;
        self.reply(request.interest.name, outcome)
    }

    /// The Data that answers a command. Counts the command.
    fn reply(&mut self, command: NameRef<'_>, outcome: Outcome) -> Option<Vec<u8>> {
        let response = match outcome {
            Ok(body) => {
                self.counters.commands += 1;
                ControlResponse::ok(body)
            }
            Err(refused) => {
                match refused.code {
                    403 => self.counters.refused += 1,
                    _ => self.counters.failed += 1,
                }
                *refused
            }
        };
        respond(command, response, None)
    }

    /// Executes a command; `None` if the answer comes later.
    fn command(
        &mut self,
        request: &mut Request<'_>,
        control: &mut dyn Control,
    ) -> Result<Option<ControlParameters>, Refused> {
        // The digest in its name shows that this is the same command, and not a replay: it gets the pending answer.
        if self.connecting.has(request.interest.name) {
            return Ok(None);
        }
        let (module, command) = match COMMANDS.iter().find(|row| request.is_for(row.0, row.1)) {
            Some((module, _, command)) => (*module, Some(command)),
            None if request.is_for(ANNOUNCE.0, ANNOUNCE.1) => (ANNOUNCE.0, None),
            None if request.is_for(CREATE.0, CREATE.1) => (CREATE.0, None),
            None => return Err(unknown(request)),
        };
        let is_refused = |refusal: Refusal| refused(403, refusal.to_string());
        let packet = (&request.interest, &request.layout, request.wire);
        let signed = self.authority.verify(request.trust, module, packet).map_err(is_refused)?;
        self.authority.check_time(&signed, request.wall_ms).map_err(is_refused)?;
        request.is_restricted &= !signed.has_rights;
        if !request.is_restricted {
            self.authority.remember(&signed, request.wall_ms).map_err(is_refused)?;
        } else if !self.is_for_everybody(module) {
            return Err(refused(
                403,
                "only applications with rights may give this command: see [management] of the forwarder's file",
            ));
        }
        let request = &*request;
        if request.is_for(ANNOUNCE.0, ANNOUNCE.1) {
            return announce(self, request, request.trust, control).map(Some);
        }
        let parameters = request.suffix.component(0).map_or(&[][..], |component| component.value);
        let parameters = ControlParameters::decode(parameters)
            .map_err(|error| refused(400, format!("ControlParameters: {error}")))?;
        match command {
            Some(command) => command(self, request, parameters, control).map(Some),
            None => self.create_face(request, &parameters, control),
        }
    }

    /// Creates a face; `None` if the answer comes after its connection.
    fn create_face(
        &mut self,
        request: &Request<'_>,
        parameters: &ControlParameters,
        control: &mut dyn Control,
    ) -> Result<Option<ControlParameters>, Refused> {
        if !self.connecting.has_room() {
            return Err(refused(503, "too many commands wait for connections"));
        }
        let (face, is_new) = create_face(parameters, control)?;
        if Connecting::is_connecting(&face) {
            self.connecting.wait(request.now, &request.interest, face.number, is_new);
            return Ok(None);
        }
        is_there(&face, is_new).map(Some)
    }

    /// Whether applications without rights may send commands of this module: only those about their own routes.
    fn is_for_everybody(&self, module: Module) -> bool {
        let (applications, _) = self.authority.of_applications();
        module == Module::Rib && applications == Applications::Register
    }

    /// The first segment of a dataset; `None` if the answer comes later.
    fn dataset(
        &mut self,
        request: &Request<'_>,
        list: List,
        make: Dataset,
        control: &dyn Control,
    ) -> Option<Vec<u8>> {
        let (now, name) = (request.now, request.interest.name);
        let list = Some(list).filter(|list| list.1 != QUERY);
        // A user with rights sees the latest changes; others may send endless requests.
        let recent = request.is_restricted.then(|| self.datasets.recent(now, list)).flatten();
        let content = match (request.interest.can_be_prefix, recent, make) {
            (false, ..) => Err(refused(400, "a query of a dataset needs CanBePrefix")),
            (true, Some(recent), _) => Ok(Some(recent)),
            (true, None, Dataset::AtOnce(make)) => {
                make(request, control).map(|bytes| Some(Content::new(now, list, bytes.into())))
            }
            (true, None, Dataset::Query(make)) => make(&mut self.queries, request, control)
                .map(|bytes| Some(Content::new(now, None, bytes.into()))),
            (true, None, Dataset::InParts(part)) => {
                list.map_or(Ok(None), |list| self.long_list(request, list, part, control))
            }
        };
        match content {
            Ok(content) => {
                self.counters.datasets += 1;
                self.datasets.publish(now, request.wall_ms, name, content?, request.owner)
            }
            Err(refused) => {
                self.counters.failed += 1;
                respond(name, *refused, Some(ContentType::Nack))
            }
        }
    }

    /// A list that may be long; `None` if the answer comes later.
    fn long_list(
        &mut self,
        request: &Request<'_>,
        list: List,
        part: Part,
        control: &dyn Control,
    ) -> Result<Option<Content>, Refused> {
        let &Request { now, wall_ms, owner, is_restricted, .. } = request;
        let asked = Asked { name: request.interest.name.to_name(), wall_ms, owner };
        if self.lists.has(list) {
            let waits = self.lists.wait(list, asked, is_restricted);
            return waits.map(|()| None).map_err(|_| refused(503, "too many Interests wait for this list"));
        }
        let finished = self.lists.begin(now, (list, part), asked, &self.rib, control);
        Ok(finished.map(|finished| Content::new(now, Some(list), finished.pieces)))
    }

    /// Answers the Interests that wait for a complete list.
    fn publish(&mut self, now: Time, finished: Finished, replies: &mut Vec<Vec<u8>>) {
        let content = Content::new(now, Some(finished.list), finished.pieces);
        for Asked { name, wall_ms, owner } in finished.waiting {
            replies.extend(self.datasets.publish(now, wall_ms, name.view(), content.clone(), owner));
        }
    }
}

fn unknown(request: &Request<'_>) -> Refused {
    let is_known = request.module.and_then(Module::from_component).is_some();
    refused(501, if is_known { "there is no such verb" } else { "there is no such module" })
}

/// The Data with a response, without the response's body if it is too long.
fn respond(
    name: NameRef<'_>,
    mut response: ControlResponse,
    content_type: Option<ContentType>,
) -> Option<Vec<u8>> {
    loop {
        let mut content = Vec::new();
        response.encode(&mut content);
        let mut data = Data::new(name, &content, SignatureInfo::new(SignatureType::DigestSha256));
        data.meta = MetaInfo { content_type, ..MetaInfo::NONE };
        match sign(&data).filter(|wire| wire.len() <= MAX_DATA) {
            Some(wire) => return Some(wire),
            None => response.body.take()?,
        };
    }
}
