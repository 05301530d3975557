//! A forwarder with its configuration: engine and management between sockets and clocks, without a process around them.
//!
//! ```text
//!   begin    ready, for each token    go_on    settle: management, frames out
//! ```
//!
//! The owner of the event loop calls these in each round, at [`Instance::next_deadline`] at the latest. Sockets and clocks come
//! from its [`Outside`], so the daemon can run it, and so can a test with simulated ones.

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

/// The reason why the forwarder does not start, or stops.
#[derive(Debug)]
pub enum DaemonError {
    /// The configuration cannot be applied, for example because a port is in use.
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

/// A forwarder with its configuration.
pub struct Instance {
    pub(crate) engine: Engine,
    pub(crate) management: Management,
    pub(crate) config: Config,
    seed: u64,
    replies: Vec<Vec<u8>>,
    /// Faces of the file, by both ends as in the file.
    pub(crate) configured: BTreeMap<(String, Option<String>), FaceNumber>,
}

impl Instance {
    /// Creates a forwarder with the tables of a configuration, without sockets and faces: see [`Instance::listen`], then
    /// [`Instance::set_up`]. Its random choices depend on `seed`.
    ///
    /// # Errors
    /// Returns an error if the keys of management cannot be read.
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

    /// The engine, read-only.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Counts refused connections, and logs the reason from time to time.
    pub fn note_refused(&mut self, connections: u64, why: impl FnOnce() -> String) {
        self.engine.note_refused(connections, why);
    }

    /// The management, read-only.
    pub fn management(&self) -> &Management {
        &self.management
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The current time of the clock.
    pub fn clock(&self) -> Time {
        self.engine.outside.now()
    }

    /// Sends buffered frames that can be sent at once, before the end.
    pub fn drain(&mut self) {
        self.engine.drain();
    }

    /// Begins recording and capture. This must follow `listen`: a second forwarder that cannot start must not replace the files
    /// of the running one.
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

    /// Opens the listeners of the configuration.
    ///
    /// # Errors
    /// Returns the first listener that cannot be opened.
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

    /// Creates the initial faces, routes and strategies of the configuration, and begins recording and capture.
    ///
    /// # Errors
    /// Returns the first part of the configuration that cannot be applied.
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

    /// Creates faces to the multicast groups on every interface in the file.
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

    /// Creates a face of the file to an address. A neighbour that sent packets before keeps its face.
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
                // An application's face has no queue.
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

    /// Closes a face and removes its routes, which could conflict with new ones.
    pub(crate) fn remove_face(&mut self, face: FaceNumber) {
        self.engine.destroy_face(face);
        self.forget_closed();
    }

    /// The face of a route in the file.
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

    /// Sets the strategy of a prefix. Returns whether it succeeded.
    pub(crate) fn choose_strategy(&mut self, prefix: &Name, short: &str) -> bool {
        let Some(name) = self.engine.node.strategy_name(short) else { return false };
        let chosen = self.engine.set_strategy(prefix, &name);
        if let Err(error) = &chosen {
            warn!(%prefix, %error, "strategy not chosen");
        }
        chosen.is_ok()
    }

    /// The time of the next work if no packet arrives.
    pub fn next_deadline(&self) -> Time {
        self.engine.next_deadline().min(self.management.next_deadline())
    }

    /// Begins a round: does the work that is due.
    pub fn begin(&mut self) {
        self.engine.begin();
    }

    /// Handles an event: the source of a token is readable or writable, or has a connection.
    pub fn ready(&mut self, token: Token) {
        self.engine.ready(token);
    }

    /// Continues work that was too much for one round.
    pub fn go_on(&mut self) {
        self.engine.go_on();
    }

    /// Ends a round: sends frames, and reports failed faces to management.
    pub fn settle(&mut self) {
        loop {
            self.manage();
            self.engine.end();
            if self.engine.inbox.is_empty() {
                return;
            }
        }
    }

    /// Reports closed faces to management.
    fn forget_closed(&mut self) {
        for ClosedFace { number, why } in self.engine.inbox.take_closed() {
            self.management.face_gone(number, why.as_deref(), &mut self.engine, &mut self.replies);
        }
    }

    /// Answers commands, and reports events of faces.
    fn manage(&mut self) {
        let now = self.engine.now;
        if self.management.next_deadline() <= now {
            self.management.handle_deadline(now, &mut self.engine, &mut self.replies);
        }
        // This precedes commands, which may concern new faces in the same place.
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

/// The address of a URI. Resolves a host name, which takes time.
pub(crate) fn address(remote: &str) -> Result<FaceUri, String> {
    let uri: FaceUri =
        remote.parse().map_err(|error| format!("{error}: for example udp4://192.0.2.1:6363"))?;
    uri.resolve().map_err(|error| error.to_string())
}

fn cannot_write(config: &Config, key: &str, error: &io::Error) -> ConfigError {
    config.error_at(key, &error.to_string(), "give a file in a folder that is there and may be written")
}

/// The error of the address under `key` on which the forwarder cannot listen, with the setting that changes it. A default address
/// has no line in the file.
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

/// Checks the users, groups and key files that a configuration names.
///
/// # Errors
/// Returns the first one that does not exist.
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
