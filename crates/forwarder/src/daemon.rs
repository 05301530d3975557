//! The forwarder as a process: start, event loop, reload, stop.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tracing::{error, info, warn};
use weir_core::units::Time;
use weir_packet::Name;

use crate::capture::Capture;
use crate::clock::{Clock, Timer, random_seed, wall_ms};
use crate::config::{Change, Config, ConfigError, Face as FaceConfig, FaceOptions, Route, RouteFace};
use crate::control::{Control, ControlError};
use crate::engine::{Asked, Engine, LISTENERS, Limits};
use crate::management::{Management, ManagementConfig, Policy, RouteFlags, Trust, known_key, origin};
use crate::metrics::Server;
use crate::node::Node;
use crate::record::{Header, Recorder};
use crate::status::{FaceNumber, FacePersistency};
use crate::transport::{
    Listener, Options, tcp::TcpListener, unix::UnixListener, websocket::WebSocketListener,
};
use crate::uri::{Endpoint, FaceUri};

const TIMER: Token = Token(0);
const SIGNALS: Token = Token(1);
const METRICS: Token = Token(1 << 10);

/// Why the forwarder does not start, or stops.
#[derive(Debug)]
pub enum DaemonError {
    /// The file asks for what cannot be: a port that is in use, for one.
    Config(ConfigError),
    /// The operating system.
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

/// The forwarder.
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
        let clock = Clock::start();
        let seed = random_seed();
        let node = Node::new(&config, seed);
        let limits = Limits {
            faces: config.tables.faces,
            fib_entries: config.tables.fib_entries,
            reassembly_bytes: config.tables.reassembly_bytes.as_u64() as usize,
        };
        let registry = poll.registry().try_clone()?;
        let engine = Engine::new(registry, node, config.faces.clone(), limits, clock);
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
            let help = "stop what listens there, or give another path";
            self.add_listener(listener, &config, "faces.unix.path", help)?;
        }
        for &address in &config.faces.tcp.listen {
            let listener = TcpListener::bind(address, Options::default());
            self.add_listener(listener, &config, "faces.tcp.listen", &free_port(address))?;
        }
        for &address in &config.faces.websocket.listen {
            let listener = WebSocketListener::bind(address, Options::default());
            self.add_listener(listener, &config, "faces.websocket.listen", &free_port(address))?;
        }
        for &address in &config.faces.udp.listen {
            self.engine.add_socket(address).map_err(|error| {
                config.error_at("faces.udp.listen", &format!("{address}: {error}"), &free_port(address))
            })?;
        }
        if let Some(address) = config.metrics {
            let mut server = Server::bind(address).map_err(|error| {
                config.error_at("metrics.listen", &format!("{address}: {error}"), &free_port(address))
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
        help: &str,
    ) -> Result<(), DaemonError> {
        let mut listener = listener.map_err(|error| {
            let help = match error.kind() {
                io::ErrorKind::PermissionDenied => "run it as a user who may, or give another one",
                _ => help,
            };
            config.error_at(key, &error.to_string(), help)
        })?;
        let token = Token(LISTENERS + self.engine.listeners.len());
        listener.register(self.poll.registry(), token)?;
        info!(at = listener.uri(), "listening");
        self.engine.listeners.push(Box::new(listener));
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
            self.add_face(face)
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

    fn add_face(&mut self, face: &FaceConfig) -> Result<(), (String, &'static str)> {
        let uri: FaceUri =
            face.remote.parse().map_err(|error| (format!("{error}"), "for example udp4://192.0.2.1:6363"))?;
        let uri =
            uri.resolve().map_err(|error| (error.to_string(), "give its address, or one that is known"))?;
        let local = face.local.as_deref();
        let (persistency, options) = (face.persistency, face.options);
        let opened = self.engine.open(&uri, local, persistency, options, false, face.scheme.as_ref());
        match opened {
            Ok(_) => Ok(()),
            Err(error)
                if persistency == FacePersistency::Permanent && matches!(error, ControlError::Failed(_)) =>
            {
                Err((error.to_string(), "is the network up?"))
            }
            Err(error) => Err((error.to_string(), "give what can be reached from this host")),
        }
    }

    /// The face that a route of the file means.
    fn face_of(&self, face: &RouteFace) -> Option<FaceNumber> {
        let RouteFace::Face { remote, .. } = face else {
            return self.engine.group_face(face);
        };
        let uri = remote.parse::<FaceUri>().ok()?.resolve().ok()?.to_string();
        self.engine.faces().into_iter().find(|face| face.remote == uri).map(|face| face.number)
    }

    fn add_route(&mut self, route: &Route) -> Result<(), ControlError> {
        let face = self.face_of(&route.face).ok_or(ControlError::NoSuchFace)?;
        let flags = RouteFlags { child_inherit: route.child_inherit, capture: route.capture };
        self.management.add_static(&route.prefix, face, route.cost, flags, &mut self.engine)
    }

    fn choose_strategy(&mut self, prefix: &Name, short: &str) {
        if let Some(name) = self.engine.node.strategy_name(short)
            && let Err(error) = self.engine.set_strategy(prefix, &name)
        {
            warn!(%prefix, %error, "strategy not chosen");
        }
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
                    token if token.0 >= METRICS.0 && token.0 < crate::engine::SOCKETS => self.scrape(token),
                    token => self.engine.ready(token),
                }
            }
            self.engine.go_on();
            self.settle();
            match self.signals.next() {
                Some(SIGHUP) => self.reload(),
                Some(_) => {
                    info!("stopping");
                    break;
                }
                None => {}
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
            if !self.engine.has_news() {
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
        for Asked { interest, incoming } in core::mem::take(&mut self.engine.asked) {
            self.management.handle_interest(
                now,
                wall_ms(),
                &interest,
                &incoming,
                &mut self.engine,
                &mut self.replies,
            );
        }
        for face in core::mem::take(&mut self.engine.gone) {
            self.management.face_gone(face, &mut self.engine);
        }
        for (kind, face) in core::mem::take(&mut self.engine.events) {
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

    /// Reads the file again, and makes what is different so.
    fn reload(&mut self) {
        let Some(path) = &self.path else {
            return warn!("there is no file to read again");
        };
        let new = match Config::load(path) {
            Ok(new) => new,
            Err(error) => return error!(%error, "the file is not taken; everything stays as it is"),
        };
        let change = Change::between(&self.config, &new);
        self.apply(&change);
        for key in &change.restart {
            warn!(key, "takes effect with the next start");
        }
        self.config = new;
        info!("read the file again");
    }

    fn apply(&mut self, change: &Change) {
        for (prefix, face) in &change.routes_removed {
            if let Some(face) = self.face_of(face) {
                self.management.remove_route(prefix, face, origin::STATIC, &mut self.engine);
            }
        }
        for face in &change.faces_removed {
            let remote = RouteFace::Face { remote: face.remote.clone(), local: face.local.clone() };
            if let Some(face) = self.face_of(&remote) {
                self.engine.destroy_face(face);
            }
        }
        if let Some(faces) = &change.faces {
            self.engine.config = faces.clone();
        }
        for changed in &change.faces_changed {
            self.change_face(&changed.new);
        }
        for face in &change.faces_added {
            if let Err((message, help)) = self.add_face(face) {
                error!(face = face.label(), message, help, "face not made");
            }
        }
        for route in &change.routes_set {
            if let Err(error) = self.add_route(route) {
                error!(prefix = %route.prefix, %error, "route not made");
            }
        }
        for prefix in &change.strategies_unset {
            self.engine.unset_strategy(prefix);
        }
        for choice in &change.strategies_set {
            self.choose_strategy(&choice.prefix, choice.strategy);
        }
        if let Some((packets, bytes)) = change.content_store {
            self.engine.node.set_content_store_limits(packets, bytes.as_u64());
        }
    }

    fn change_face(&mut self, face: &FaceConfig) {
        let remote = RouteFace::Face { remote: face.remote.clone(), local: face.local.clone() };
        if let Some(number) = self.face_of(&remote) {
            self.engine.change_options(number, face.persistency, &face.options);
        }
    }

    /// Addresses of the UDP sockets, for who has let the system choose.
    pub fn udp_addresses(&self) -> Vec<SocketAddr> {
        self.engine.sockets.iter().map(|socket| socket.local()).collect()
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

fn cannot_write(config: &Config, key: &str, error: &io::Error) -> ConfigError {
    config.error_at(key, &error.to_string(), "give a file in a folder that is there and may be written")
}

fn free_port(address: SocketAddr) -> String {
    format!("stop what uses port {}, or give another; ports below 1024 need privileges", address.port())
}

fn management_config(config: &Config) -> Result<ManagementConfig, ConfigError> {
    let mut policy = Policy::default();
    for (at, path) in config.management.trusted_keys.iter().enumerate() {
        let key = known_key(path).map_err(|error| {
            config.error_at(
                &format!("management.trusted_keys.{at}"),
                &error,
                "a certificate as ndnsec or ndnd write it",
            )
        })?;
        policy.keys.push(key);
    }
    policy.localhop = config.management.localhop.then_some(Trust::KnownKeys);
    Ok(ManagementConfig { policy, max_routes: config.tables.fib_entries, ..ManagementConfig::default() })
}
