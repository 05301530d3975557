//! A forwarder as its file says: engine and management between sockets and clocks, without a process around them.
//!
//! ```text
//!   begin    ready, for each token    go_on    settle: management, frames out
//! ```
//!
//! Who has the event loop calls these in a round, at [`Instance::next_deadline`] at the latest. The sockets and clocks are
//! those of its [`Outside`], so that the daemon runs it, and a test that simulates them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use mio::Token;
use tracing::{info, warn};
use weir_core::units::Time;
use weir_packet::Name;

use crate::capture::Capture;
use crate::config::{Config, ConfigError, Face as FaceConfig, FaceOptions, Route, RouteFace};
use crate::control::{ApplicationRights, Control, ControlError};
use crate::engine::{ClosedFace, Engine, Limits, ManagementInterest};
use crate::management::{Management, ManagementConfig, Policy, Trust, known_keys};
use crate::record::{Header, Recorder};
use crate::wire_node::WireNode;
use weir_management::RouteFlags;
use weir_management::status::{FaceNumber, FacePersistency, FaceScope};
use weir_net::outside::{Outside, Place};
use weir_net::secrets::Secrets;
use weir_net::transport::cannot_listen;
use weir_net::uri::{Endpoint, FaceUri};
use weir_net::user::Rights;

/// Why the forwarder does not start, or stops.
#[derive(Debug)]
pub enum DaemonError {
    /// The file asks for what cannot be: a port that is in use, for one.
    Config(ConfigError),
    /// A socket, the event loop or a timer failed.
    Io(io::Error),
}

impl core::fmt::Display for DaemonError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            DaemonError::Config(error) => error.fmt(f),
            DaemonError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for DaemonError {}

impl From<ConfigError> for DaemonError {
    fn from(error: ConfigError) -> DaemonError {
        DaemonError::Config(error)
    }
}

impl From<io::Error> for DaemonError {
    fn from(error: io::Error) -> DaemonError {
        DaemonError::Io(error)
    }
}

/// A forwarder as its file says.
pub struct Instance {
    pub(crate) engine: Engine,
    pub(crate) management: Management,
    pub(crate) config: Config,
    seed: u64,
    replies: Vec<Vec<u8>>,
    /// Faces of the file, by their two ends as it has them.
    pub(crate) configured: BTreeMap<(String, Option<String>), FaceNumber>,
}

impl Instance {
    /// With the tables of a configuration, but neither sockets nor faces yet: [`Instance::listen`], then
    /// [`Instance::set_up`]. Its random choices follow from `seed`.
    ///
    /// # Errors
    /// The keys of management cannot be read.
    pub fn new(
        config: Config,
        outside: Box<dyn Outside>,
        seed: u64,
        secrets: Secrets,
    ) -> Result<Instance, DaemonError> {
        let node = WireNode::new(&config, seed, secrets);
        let limits = Limits {
            faces: config.tables.faces,
            fib_entries: config.tables.fib_entries,
            send_buffer_bytes: config.tables.send_buffer_bytes.as_u64(),
            reassembly_bytes: config.tables.reassembly_bytes.as_u64(),
        };
        let mut engine = Engine::new(outside, node, config.faces.clone(), limits);
        engine.rights = application_rights(&config)?;
        let management = Management::new(management_config(&config)?);
        let (replies, configured) = (Vec::new(), BTreeMap::new());
        Ok(Instance { engine, management, config, seed, replies, configured })
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// So many connections were refused, and why: the log has a line now and then.
    pub fn note_refused(&mut self, connections: u64, why: impl FnOnce() -> String) {
        self.engine.note_refused(connections, why);
    }

    /// The management, to look at.
    pub fn management(&self) -> &Management {
        &self.management
    }

    /// What the file says.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What the clock says now.
    pub fn clock(&self) -> Time {
        self.engine.outside.now()
    }

    /// Sends what can be sent at once, before the end.
    pub fn drain(&mut self) {
        self.engine.drain();
    }

    /// Begins recording and capture: not before it listens, or one that cannot start would replace the files of
    /// the one that runs.
    fn begin_files(&mut self) -> Result<(), DaemonError> {
        let config = &self.config;
        if let Some(file) = &config.record {
            let header = Header::of(config, self.seed, self.engine.outside.start_unix_ns());
            let recorder = Recorder::create(&file.path, file.limit.as_u64(), &header);
            let recorder = recorder.map_err(|error| cannot_write(config, "record.path", &error))?;
            self.engine.record_to(recorder);
        }
        if let Some(file) = &config.capture {
            let software = concat!("weir ", env!("CARGO_PKG_VERSION"));
            let capture = Capture::create(&file.path, file.limit.as_u64(), software);
            let capture = capture.map_err(|error| cannot_write(config, "capture.path", &error))?;
            self.engine.capture_to(capture);
        }
        Ok(())
    }

    /// Listens where the file says.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn listen(&mut self) -> Result<(), DaemonError> {
        let config = self.config.clone();
        if let Some(unix) = &config.faces.unix {
            self.add_listener(Place::Unix(&unix.path, unix.mode), "faces.unix.path")?;
        }
        for &address in &config.faces.tcp.listen {
            self.add_listener(Place::Tcp(address), "faces.tcp.listen")?;
        }
        for &address in &config.faces.websocket.listen {
            self.add_listener(Place::WebSocket(address), "faces.websocket.listen")?;
        }
        for &address in &config.faces.udp.listen {
            let buffer = config.faces.udp.kernel_buffer.as_u64();
            let bound = self.engine.sockets.bind_udp(&mut *self.engine.outside, address, buffer);
            let at = bound.map_err(|error| {
                not_listening(&config, "faces.udp.listen", &cannot_listen(address, "UDP", &error))
            })?;
            info!(at = self.engine.sockets.udp_uri(at), "listening");
        }
        Ok(())
    }

    fn add_listener(&mut self, at: Place<'_>, key: &str) -> Result<(), DaemonError> {
        let uri = self.engine.sockets.listen(&mut *self.engine.outside, at);
        let uri = uri.map_err(|error| not_listening(&self.config, key, &error))?;
        info!(at = uri, "listening");
        Ok(())
    }

    /// Makes what the configuration says is there from the start, and begins its recording and capture.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn set_up(&mut self) -> Result<(), DaemonError> {
        self.begin_files()?;
        let config = self.config.clone();
        for prefix in ["/localhost/nfd", "/localhop/nfd"] {
            if config.management.enabled {
                let prefix: Name = prefix.parse().unwrap_or_default();
                self.engine
                    .add_next_hop(&prefix, 1, 0)
                    .map_err(|e| config.error_at("management", &e.to_string(), ""))?;
            }
        }
        self.add_groups(&config)?;
        for (at, face) in config.face.iter().enumerate() {
            self.add_face(face, address(&face.remote))
                .map_err(|(message, help)| config.error_at(&format!("face.{at}.remote"), &message, help))?;
        }
        for (at, route) in config.routes.iter().enumerate() {
            self.add_route(route)
                .map_err(|error| config.error_at(&format!("route.{at}"), &error.to_string(), ""))?;
        }
        for choice in &config.strategies {
            self.choose_strategy(&choice.prefix, &choice.strategy);
        }
        Ok(())
    }

    /// Faces to the groups of multicast: on every interface that the file names.
    fn add_groups(&mut self, config: &Config) -> Result<(), DaemonError> {
        let (multicast, ethernet) = (&config.faces.multicast, &config.faces.ethernet);
        for interface in &multicast.interfaces {
            let groups: [SocketAddr; 2] = [multicast.group_ipv4.into(), multicast.group_ipv6.into()];
            let opened = groups.map(|group| {
                self.add_group(FaceUri::Udp(Endpoint::from(group)), interface, multicast.options)
            });
            if let [Err(error), Err(_)] = opened {
                let help = "name an interface of this host that is up and has an address";
                return Err(config.error_at("faces.multicast.interfaces", &error.to_string(), help).into());
            }
        }
        for interface in &ethernet.interfaces {
            let group = FaceUri::Ethernet(ethernet.group);
            self.add_group(group, interface, ethernet.options).map_err(|error| {
                let help = "name an interface of this host; raw Ethernet needs the capability CAP_NET_RAW";
                config.error_at("faces.ethernet.interfaces", &error.to_string(), help)
            })?;
        }
        Ok(())
    }

    fn add_group(
        &mut self,
        group: FaceUri,
        interface: &str,
        options: FaceOptions,
    ) -> Result<(), ControlError> {
        let local = format!("dev://{interface}");
        self.engine.open(&group, Some(&local), FacePersistency::Permanent, options, false, None).map(|_| ())
    }

    /// Makes a face of the file to an address. A neighbour that has spoken first keeps the face that it has.
    pub(crate) fn add_face(
        &mut self,
        face: &FaceConfig,
        address: Result<FaceUri, String>,
    ) -> Result<(), (String, &'static str)> {
        let uri = address.map_err(|error| (error, "give its address, or one that is known"))?;
        let mut opened = self.open_face(face, &uri);
        if let Err(ControlError::FaceExists(there)) = &opened
            && !self.configured.values().any(|number| *number == there.number)
            && matches!(uri, FaceUri::Udp(_))
        {
            let number = there.number;
            opened = match there.scope {
                FaceScope::NonLocal => {
                    let usual = self.engine.config.options(face.kind()).queue;
                    if face.scheme.is_some() || face.options.queue != usual {
                        let face = face.label();
                        warn!(
                            face,
                            "was there already: its queue and scheme take effect with the next start"
                        );
                    }
                    self.engine.change_options(number, face.persistency, &face.options);
                    Ok(number)
                }
                // As an application's it has no queue.
                FaceScope::Local => {
                    self.remove_face(number);
                    self.open_face(face, &uri)
                }
            };
        }
        match opened {
            Ok(number) => {
                self.configured.insert((face.remote.clone(), face.local.clone()), number);
                Ok(())
            }
            Err(error)
                if face.persistency == FacePersistency::Permanent
                    && matches!(error, ControlError::Failed(_)) =>
            {
                Err((error.to_string(), "is the network up?"))
            }
            Err(error) => Err((error.to_string(), "give what can be reached from this host")),
        }
    }

    pub(crate) fn open_face(&mut self, face: &FaceConfig, uri: &FaceUri) -> Result<FaceNumber, ControlError> {
        let (local, scheme) = (face.local.as_deref(), face.scheme.as_ref());
        let slot = self.engine.open(uri, local, face.persistency, face.options, false, scheme)?;
        self.engine.status_at(slot).map(|status| status.number).ok_or(ControlError::NoSuchFace)
    }

    /// Closes a face, and forgets its routes: others may be made that they would be in the way of.
    pub(crate) fn remove_face(&mut self, face: FaceNumber) {
        self.engine.destroy_face(face);
        self.forget_closed();
    }

    /// The face that a route of the file means.
    pub(crate) fn face_of(&self, face: &RouteFace) -> Option<FaceNumber> {
        let RouteFace::Face { remote, local } = face else {
            return self.engine.group_faces(face).next();
        };
        let number = *self.configured.get(&(remote.clone(), local.clone()))?;
        self.engine.face(number).map(|face| face.number)
    }

    pub(crate) fn add_route(&mut self, route: &Route) -> Result<(), ControlError> {
        let face = self.face_of(&route.face).ok_or(ControlError::NoSuchFace)?;
        let flags = RouteFlags { child_inherit: route.child_inherit, capture: route.capture };
        self.management.add_static(&route.prefix, face, route.cost, flags, &mut self.engine)
    }

    /// Says whether it is chosen.
    pub(crate) fn choose_strategy(&mut self, prefix: &Name, short: &str) -> bool {
        let Some(name) = self.engine.node.strategy_name(short) else { return false };
        let chosen = self.engine.set_strategy(prefix, &name);
        if let Err(error) = &chosen {
            warn!(%prefix, %error, "strategy not chosen");
        }
        chosen.is_ok()
    }

    /// When there is something to do though nothing comes.
    pub fn next_deadline(&self) -> Time {
        self.engine.next_deadline().min(self.management.next_deadline())
    }

    /// A round begins: does what was due until now.
    pub fn begin(&mut self) {
        self.engine.begin();
    }

    /// Something can be read, written or accepted behind a token.
    pub fn ready(&mut self, token: Token) {
        self.engine.ready(token);
    }

    /// Goes on with what had more than one round takes.
    pub fn go_on(&mut self) {
        self.engine.go_on();
    }

    /// Ends a round: what is sent may fail, and faces that fail are news for management.
    pub fn settle(&mut self) {
        loop {
            self.manage();
            self.engine.end();
            if self.engine.inbox.is_empty() {
                return;
            }
        }
    }

    /// Tells management of the faces that are gone.
    fn forget_closed(&mut self) {
        for ClosedFace { number, why } in self.engine.inbox.take_closed() {
            self.management.face_gone(number, why.as_deref(), &mut self.engine, &mut self.replies);
        }
    }

    /// Answers commands, and tells what happened to faces.
    fn manage(&mut self) {
        let now = self.engine.now;
        if self.management.next_deadline() <= now {
            self.management.handle_deadline(now, &mut self.engine, &mut self.replies);
        }
        // Before commands, which may be about faces that come in their place.
        self.forget_closed();
        for ManagementInterest { wire, incoming } in self.engine.inbox.take_interests() {
            self.management.handle_interest(
                now,
                self.engine.outside.wall_ms(),
                &wire,
                &incoming,
                &mut self.engine,
                &mut self.replies,
            );
        }
        self.forget_closed();
        for (kind, face) in self.engine.inbox.take_notifications() {
            self.management.face_event(now, kind, &face, &mut self.replies);
        }
        for reply in core::mem::take(&mut self.replies) {
            self.engine.inject(&reply);
        }
        self.engine.perform();
    }
}

impl core::fmt::Debug for Instance {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Instance").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// The address of a URI. Asks the resolver for that of a host's name, which takes time.
pub(crate) fn address(remote: &str) -> Result<FaceUri, String> {
    let uri: FaceUri =
        remote.parse().map_err(|error| format!("{error}: for example udp4://192.0.2.1:6363"))?;
    uri.resolve().map_err(|error| error.to_string())
}

fn cannot_write(config: &Config, key: &str, error: &io::Error) -> ConfigError {
    config.error_at(key, &error.to_string(), "give a file in a folder that is there and may be written")
}

/// The error of the address under `key`, on which the forwarder cannot listen, with the setting that changes it. An
/// address that is the default has no line in the file.
pub(crate) fn not_listening(config: &Config, key: &str, error: &io::Error) -> DaemonError {
    let (section, setting) = key.rsplit_once('.').unwrap_or(("", key));
    let example = if setting == "path" { "/run/weir.sock" } else { "127.0.0.1:7000" };
    let first = match error.kind() {
        io::ErrorKind::AddrInUse => "stop the other process, or ",
        io::ErrorKind::PermissionDenied => "start the forwarder as a user with this permission, or ",
        _ => "",
    };
    let file = if config.gives(key) { "" } else { " in the file of --config" };
    let help = format!("{first}set another one{file}: {setting} = \"{example}\" in [{section}]");
    match config.gives(key) {
        true => config.error_at(key, &error.to_string(), &help).into(),
        false => io::Error::new(error.kind(), format!("{error}\n  = this is the default; {help}")).into(),
    }
}

/// Checks what a file names of this host: users, groups, and files with keys.
///
/// # Errors
/// The first that is not there.
pub fn check_host(config: &Config) -> Result<(), ConfigError> {
    application_rights(config)?;
    management_config(config).map(|_| ())
}

fn application_rights(config: &Config) -> Result<ApplicationRights, ConfigError> {
    let mut users = Rights::own();
    let wrong = |key: &str, at: usize, error: &str| {
        config.error_at(&format!("management.{key}.{at}"), error, "`getent` lists users and groups")
    };
    for (at, name) in config.management.users.iter().enumerate() {
        users.add_user(name).map_err(|error| wrong("users", at, &error))?;
    }
    for (at, name) in config.management.groups.iter().enumerate() {
        users.add_group(name).map_err(|error| wrong("groups", at, &error))?;
    }
    Ok(ApplicationRights { users, loopback: config.management.loopback })
}

fn management_config(config: &Config) -> Result<ManagementConfig, ConfigError> {
    let mut policy = Policy::default();
    for (at, path) in config.management.trusted_keys.iter().enumerate() {
        let keys = known_keys(path).map_err(|error| {
            config.error_at(
                &format!("management.trusted_keys.{at}"),
                &error,
                "a certificate as `weir key export`, ndnsec or ndnd write it",
            )
        })?;
        policy.keys.extend(keys);
    }
    if config.management.local_trusted {
        policy.local = Trust::KnownKeys;
    }
    policy.applications = config.management.applications;
    policy.max_registrations = config.management.registrations;
    policy.localhop = config.management.localhop.then_some(Trust::KnownKeys);
    Ok(ManagementConfig { policy, max_routes: config.tables.fib_entries, ..ManagementConfig::default() })
}
