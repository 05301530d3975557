//! The forwarder as a process: start, event loop, reload, stop.

mod reload;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token, Waker};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tracing::{info, warn};
use weir_core::units::Time;
use weir_packet::Name;

use crate::capture::Capture;
use crate::config::{Config, ConfigError, Face as FaceConfig, FaceOptions, Route, RouteFace};
use crate::control::{ApplicationRights, Control, ControlError};
use crate::engine::{Engine, FIRST_TOKEN, Limits, ManagementInterest};
use crate::management::{Management, ManagementConfig, Policy, Trust, known_keys};
use crate::metrics::Server;
use crate::node::Node;
use crate::record::{Header, Recorder};
use weir_management::RouteFlags;
use weir_management::status::{FaceNumber, FacePersistency, FaceScope};
use weir_net::clock::{Clock, Timer, wall_ms};
use weir_net::secrets::{Secrets, random_seed};
use weir_net::transport::{
    Listener, Options, cannot_listen, tcp::TcpListener, unix::UnixListener, websocket::WebSocketListener,
};
use weir_net::uri::{Endpoint, FaceUri};
use weir_net::user::Rights;

const TIMER: Token = Token(0);
const SIGNALS: Token = Token(1);
/// The resolver has answered.
const LOOKUP: Token = Token(2);
const METRICS: Token = Token(1 << 10);

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

/// The forwarder as a process: event loop, engine, management and metrics.
pub struct Daemon {
    poll: Poll,
    timer: Timer,
    engine: Engine,
    management: Management,
    metrics: Option<Server>,
    config: Config,
    /// Where the configuration came from, to read it again.
    path: Option<PathBuf>,
    signals: Signals,
    replies: Vec<Vec<u8>>,
    /// Faces of the file, by their two ends as it has them.
    configured: BTreeMap<(String, Option<String>), FaceNumber>,
    /// A file that was read and waits for addresses of hosts.
    lookup: Option<reload::Lookup>,
    waker: Arc<Waker>,
}

impl Daemon {
    /// Opens the sockets of a configuration and makes its faces and routes.
    ///
    /// # Errors
    /// What of it cannot be; nothing is left behind then.
    pub fn start(config: Config, path: Option<PathBuf>) -> Result<Daemon, DaemonError> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let signals = Signals::watch(poll.registry())?;
        let waker = Arc::new(Waker::new(poll.registry(), LOOKUP)?);
        let clock = Clock::start();
        let seed = random_seed()?;
        let node = Node::new(&config, seed, Secrets::draw()?);
        let limits = Limits {
            faces: config.tables.faces,
            fib_entries: config.tables.fib_entries,
            reassembly_bytes: config.tables.reassembly_bytes.as_u64() as usize,
        };
        let registry = poll.registry().try_clone()?;
        let mut engine = Engine::new(registry, node, config.faces.clone(), limits, clock);
        engine.rights = application_rights(&config)?;
        let management = Management::new(management_config(&config)?);
        let mut daemon = Daemon {
            poll,
            timer,
            engine,
            management,
            metrics: None,
            config,
            path,
            signals,
            replies: Vec::new(),
            configured: BTreeMap::new(),
            lookup: None,
            waker,
        };
        daemon.listen()?;
        daemon.begin_files(seed)?;
        daemon.set_up()?;
        Ok(daemon)
    }

    /// Begins recording and capture: not before it listens, or one that cannot start would replace the files of
    /// the one that runs.
    fn begin_files(&mut self, seed: u64) -> Result<(), DaemonError> {
        let config = &self.config;
        if let Some(file) = &config.record {
            let header = Header::of(config, seed, self.engine.clock.start_unix_ns());
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

    fn listen(&mut self) -> Result<(), DaemonError> {
        let config = self.config.clone();
        if let Some(unix) = &config.faces.unix {
            let listener = UnixListener::bind(&unix.path, unix.mode, Options::default());
            self.add_listener(listener, &config, "faces.unix.path")?;
        }
        for &address in &config.faces.tcp.listen {
            let listener = TcpListener::bind(address, Options::default());
            self.add_listener(listener, &config, "faces.tcp.listen")?;
        }
        for &address in &config.faces.websocket.listen {
            let listener = WebSocketListener::bind(address, Options::default());
            self.add_listener(listener, &config, "faces.websocket.listen")?;
        }
        for &address in &config.faces.udp.listen {
            let buffer = config.faces.udp.kernel_buffer.as_u64();
            self.engine.sockets.bind_udp(address, buffer).map_err(|error| {
                not_listening(&config, "faces.udp.listen", &cannot_listen(address, "UDP", &error))
            })?;
        }
        if let Some(address) = config.metrics {
            let mut server = Server::bind(address).map_err(|error| {
                not_listening(&config, "metrics.listen", &cannot_listen(address, "TCP", &error))
            })?;
            server.register(self.poll.registry(), METRICS)?;
            self.metrics = Some(server);
        }
        Ok(())
    }

    fn add_listener(
        &mut self,
        listener: io::Result<impl Listener + 'static>,
        config: &Config,
        key: &str,
    ) -> Result<(), DaemonError> {
        let listener = listener.map_err(|error| not_listening(config, key, &error))?;
        let uri = listener.uri().to_owned();
        self.engine.sockets.listen(Box::new(listener))?;
        info!(at = uri, "listening");
        Ok(())
    }

    /// Makes what the configuration says is there from the start.
    fn set_up(&mut self) -> Result<(), DaemonError> {
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
            self.choose_strategy(&choice.prefix, choice.strategy);
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
    fn add_face(
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

    fn open_face(&mut self, face: &FaceConfig, uri: &FaceUri) -> Result<FaceNumber, ControlError> {
        let (local, scheme) = (face.local.as_deref(), face.scheme.as_ref());
        let slot = self.engine.open(uri, local, face.persistency, face.options, false, scheme)?;
        self.engine.status_at(slot).map(|status| status.number).ok_or(ControlError::NoSuchFace)
    }

    /// Closes a face, and forgets its routes at once: others may be made that they would be in the way of.
    fn remove_face(&mut self, face: FaceNumber) {
        self.engine.destroy_face(face);
        self.management.face_gone(face, &mut self.engine);
    }

    /// The face that a route of the file means.
    fn face_of(&self, face: &RouteFace) -> Option<FaceNumber> {
        let RouteFace::Face { remote, local } = face else {
            return self.engine.group_faces(face).next();
        };
        let number = *self.configured.get(&(remote.clone(), local.clone()))?;
        self.engine.face(number).map(|face| face.number)
    }

    fn add_route(&mut self, route: &Route) -> Result<(), ControlError> {
        let face = self.face_of(&route.face).ok_or(ControlError::NoSuchFace)?;
        let flags = RouteFlags { child_inherit: route.child_inherit, capture: route.capture };
        self.management.add_static(&route.prefix, face, route.cost, flags, &mut self.engine)
    }

    /// Says whether it is chosen.
    fn choose_strategy(&mut self, prefix: &Name, short: &str) -> bool {
        let Some(name) = self.engine.node.strategy_name(short) else { return false };
        let chosen = self.engine.set_strategy(prefix, &name);
        if let Err(error) = &chosen {
            warn!(%prefix, %error, "strategy not chosen");
        }
        chosen.is_ok()
    }

    /// Forwards until it is told to stop.
    ///
    /// # Errors
    /// Of the event loop.
    pub fn run(&mut self) -> Result<(), DaemonError> {
        self.run_while(None, &mut || true)
    }

    /// Forwards until it is told to stop, or is no longer to go on: which is asked after each round, and a
    /// round takes no longer than `longest` where that is given.
    ///
    /// # Errors
    /// Of the event loop.
    pub fn run_while(
        &mut self,
        longest: Option<Duration>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), DaemonError> {
        let mut events = Events::with_capacity(1024);
        while go_on() {
            let now = self.engine.clock.now();
            let wait = self.timer.wait(now, self.next_deadline())?;
            let wait = longest.map_or(wait, |longest| Some(wait.map_or(longest, |wait| wait.min(longest))));
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.engine.begin();
            for event in &events {
                match event.token() {
                    TIMER => {}
                    SIGNALS => {}
                    LOOKUP => self.looked_up(),
                    token if token.0 >= METRICS.0 && token.0 < FIRST_TOKEN => self.scrape(token),
                    token => self.engine.ready(token),
                }
            }
            self.engine.go_on();
            let signal = self.signals.next();
            if signal == Some(SIGHUP) {
                self.reload();
            }
            self.settle();
            if signal.is_some_and(|signal| signal != SIGHUP) {
                info!("stopping");
                break;
            }
        }
        self.engine.drain();
        Ok(())
    }

    fn next_deadline(&self) -> Time {
        let metrics = self.metrics.as_ref().map_or(Time::NEVER, Server::next_deadline);
        self.engine.next_deadline().min(self.management.next_deadline()).min(metrics)
    }

    /// Ends a round: what is sent may fail, and faces that fail are news for management.
    fn settle(&mut self) {
        loop {
            self.manage();
            self.engine.end();
            if self.engine.inbox.is_empty() {
                return;
            }
        }
    }

    /// Answers commands, and tells what happened to faces.
    fn manage(&mut self) {
        let now = self.engine.now;
        if self.management.next_deadline() <= now {
            self.management.handle_deadline(now, &mut self.engine);
        }
        // Before commands, which may be about faces that come in their place.
        for face in self.engine.inbox.take_closed() {
            self.management.face_gone(face, &mut self.engine);
        }
        for ManagementInterest { wire, incoming } in self.engine.inbox.take_interests() {
            self.management.handle_interest(
                now,
                wall_ms(),
                &wire,
                &incoming,
                &mut self.engine,
                &mut self.replies,
            );
        }
        for face in self.engine.inbox.take_closed() {
            self.management.face_gone(face, &mut self.engine);
        }
        for (kind, face) in self.engine.inbox.take_notifications() {
            self.management.face_event(now, kind, &face, &mut self.replies);
        }
        for reply in core::mem::take(&mut self.replies) {
            self.engine.inject(&reply);
        }
        self.engine.perform();
        if let Some(server) = &mut self.metrics {
            server.handle_deadline(now);
        }
    }

    fn scrape(&mut self, token: Token) {
        let (engine, now) = (&self.engine, self.engine.now);
        if let Some(server) = &mut self.metrics {
            let taken = server.ready(self.poll.registry(), token, now, &mut || engine.snapshot().text());
            if let Err(error) = taken {
                info!(%error, "cannot answer who asks for figures");
            }
        }
    }

    /// Addresses of the UDP sockets, for who has let the system choose.
    pub fn udp_addresses(&self) -> Vec<SocketAddr> {
        self.engine.sockets.udp_addresses()
    }
}

impl core::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Daemon").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// Signals as bytes in a pipe, which the event loop watches.
struct Signals {
    pipes: Vec<(i32, UnixStream)>,
}

impl Signals {
    fn watch(registry: &mio::Registry) -> io::Result<Signals> {
        let mut pipes = Vec::new();
        for signal in [SIGHUP, SIGTERM, SIGINT] {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            signal_hook::low_level::pipe::register(signal, write)?;
            let fd = std::os::fd::AsRawFd::as_raw_fd(&read);
            registry.register(&mut mio::unix::SourceFd(&fd), SIGNALS, Interest::READABLE)?;
            pipes.push((signal, read));
        }
        Ok(Signals { pipes })
    }

    /// A signal that came; several of one kind are one.
    fn next(&mut self) -> Option<i32> {
        let mut bytes = [0; 16];
        self.pipes.iter_mut().find_map(|(signal, pipe)| {
            io::Read::read(pipe, &mut bytes).is_ok_and(|n| n > 0).then_some(*signal)
        })
    }
}

/// The address of a URI. Asks the resolver for that of a host's name, which takes time.
fn address(remote: &str) -> Result<FaceUri, String> {
    let uri: FaceUri =
        remote.parse().map_err(|error| format!("{error}: for example udp4://192.0.2.1:6363"))?;
    uri.resolve().map_err(|error| error.to_string())
}

fn cannot_write(config: &Config, key: &str, error: &io::Error) -> ConfigError {
    config.error_at(key, &error.to_string(), "give a file in a folder that is there and may be written")
}

/// The error of the address under `key`, on which the forwarder cannot listen, with the setting that changes it. An
/// address that is the default has no line in the file.
fn not_listening(config: &Config, key: &str, error: &io::Error) -> DaemonError {
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
