//! The forwarder's file: TOML in, a checked [`Config`] out. Errors name the correct alternatives.
//!
//! ```
//! use weir_forwarder::config::Config;
//!
//! let config = Config::parse("[faces.tcp]\nlisten = \"127.0.0.1:7000\"\n", "weir.toml")?;
//! assert_eq!(config.faces.tcp.listen[0].port(), 7000);
//! let error = Config::parse("[faces.tcp]\nlisten = 7000\n", "weir.toml").unwrap_err();
//! assert!(error.to_string().starts_with("weir.toml:2: faces.tcp.listen: 7000 is not an address"));
//! # Ok::<(), weir_forwarder::config::ConfigError>(())
//! ```
//!
//! The keys, their shapes and defaults are one table (`keys`); the [`reference`](mod@reference) and the
//! commented default file come from it. A file without a key is the file with its default, and
//! [`Config::default`] is an empty file.

mod change;
mod classes;
mod keys;
mod memory;
mod networks;
mod read;
pub mod reference;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::node::CsPlacement;
use weir_core::seam::{AsfOptions, QueueLimit};
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate, Span};
use weir_document::{Document, DocumentError, NotText, Origin, Table};
use weir_packet::Name;
use weir_schemes::Resolved;

use crate::management::Applications;

pub use change::{Change, FaceChanged};
pub use classes::{ClassTreatment, ClassTreatments, Trust, class_rules};
pub use networks::{MtuByNetwork, Network};
pub(crate) use read::LEAST_MTU;

use weir_management::status::FacePersistency;
use weir_net::uri::Mac;

/// What is wrong with a file.
#[derive(Debug)]
pub enum ConfigError {
    /// It cannot be read.
    Read {
        /// The file that was to be read.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
    /// It is not text.
    NotText {
        /// The file.
        path: PathBuf,
        /// Where.
        wrong: NotText,
    },
    /// Something in it is wrong: file, line, key, and what would be right.
    Wrong(DocumentError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Read { path, error } => {
                write!(f, "{}: the file cannot be read: {error}", path.display())
            }
            ConfigError::NotText { path, wrong } => write!(f, "{}:{wrong}", path.display()),
            ConfigError::Wrong(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<DocumentError> for ConfigError {
    fn from(error: DocumentError) -> Self {
        ConfigError::Wrong(error)
    }
}

/// What the file says, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where faces come from.
    pub faces: Faces,
    /// The faces that are there from the start.
    pub face: Vec<Face>,
    /// Routes to them.
    pub routes: Vec<Route>,
    /// Strategies by prefix.
    pub strategies: Vec<StrategyChoice>,
    /// The scheme of every face that has none of its own.
    pub scheme: Resolved,
    /// Parameters of every scheme, in the order of the list of schemes.
    pub schemes: Vec<Resolved>,
    /// How large the tables may get.
    pub tables: Tables,
    /// Who may command the forwarder, and by which names.
    pub management: Management,
    /// Where Prometheus asks, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Where frames are captured, if anywhere.
    pub capture: Option<File>,
    /// Where the node's inputs are recorded, if anywhere.
    pub record: Option<File>,
    /// Which messages are written, and in which form.
    pub log: Log,
    source: Arc<Source>,
}

/// The text that it was read from, for errors that show later.
#[derive(Debug)]
struct Source {
    doc: Document,
    root: Table,
}

/// Where faces come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Faces {
    /// The socket of applications; `None`: there is none.
    pub unix: Option<UnixFaces>,
    /// Unicast UDP.
    pub udp: UdpFaces,
    /// Where connections over TCP are accepted, and what their faces are like.
    pub tcp: StreamFaces,
    /// The same over WebSocket.
    pub websocket: StreamFaces,
    /// Groups of UDP multicast, and the interfaces on which they are joined.
    pub multicast: MulticastFaces,
    /// The group on Ethernet, and the interfaces on which it is joined.
    pub ethernet: EthernetFaces,
}

/// A kind of face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaceKind {
    /// Unix stream sockets: `unix://`, `fd://`.
    Unix,
    /// Unicast UDP.
    Udp,
    /// `tcp4://`, `tcp6://`.
    Tcp,
    /// `ws://`, and who has connected: `wsclient://`.
    WebSocket,
    /// A group of UDP on an interface.
    Multicast,
    /// `ether://`, on an interface.
    Ethernet,
}

impl FaceKind {
    /// The kind of face that a URI names; `None` if none does.
    pub fn of_uri(uri: &str) -> Option<FaceKind> {
        Some(match uri.split_once("://")?.0 {
            "udp" | "udp4" | "udp6" => FaceKind::Udp,
            "tcp" | "tcp4" | "tcp6" => FaceKind::Tcp,
            "unix" | "fd" => FaceKind::Unix,
            "ws" | "wsclient" => FaceKind::WebSocket,
            "ether" => FaceKind::Ethernet,
            _ => return None,
        })
    }
}

impl Faces {
    /// What faces of a kind are like unless their own table says otherwise.
    pub fn options(&self, kind: FaceKind) -> FaceOptions {
        match kind {
            FaceKind::Unix => self.unix.as_ref().map_or_else(FaceOptions::default, |unix| unix.options),
            FaceKind::Udp => self.udp.options,
            FaceKind::Tcp => self.tcp.options,
            FaceKind::WebSocket => self.websocket.options,
            FaceKind::Multicast => self.multicast.options,
            FaceKind::Ethernet => self.ethernet.options,
        }
    }
}

/// What a face is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceOptions {
    /// Rate at which frames leave; `None`: as fast as the socket takes them.
    pub rate: Option<Rate>,
    /// Rate at which the other end sends; `None` if nobody says.
    pub receive_rate: Option<Rate>,
    /// Bound of the queue in front of it.
    pub queue: QueueLimit,
    /// Largest frame, bytes; `None`: the transport's own.
    pub mtu: Option<u64>,
    /// NDNLPv2 link reliability.
    pub reliability: Switching,
    /// Mark packets while the queue is long.
    pub congestion_marking: bool,
    /// Length of the queue from which on packets are marked.
    pub marking_threshold: Bytes,
    /// How long it has to be that, and the time from the first mark to the second.
    pub marking_interval: Span,
    /// Whether the service classes and signals of who is there are believed.
    pub trust: Trust,
    /// What becomes of single classes.
    pub classes: ClassTreatments,
    /// Who shares links with others; `None`: that depends on who is behind the face.
    pub share_by: Option<ShareBy>,
}

/// Who shares links, of what comes from a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareBy {
    /// Each flow.
    Flow,
    /// All flows together, as one.
    Face,
}

impl Default for FaceOptions {
    /// Those of an empty file.
    fn default() -> FaceOptions {
        FaceOptions {
            rate: None,
            receive_rate: None,
            queue: QueueLimit::Packets(1000),
            mtu: None,
            reliability: Switching::Auto,
            congestion_marking: true,
            marking_threshold: Bytes::new(65_536),
            marking_interval: Span::from_millis(100),
            trust: Trust::Known,
            classes: ClassTreatments::default(),
            share_by: None,
        }
    }
}

/// Whether something is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switching {
    /// While the other end takes part.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Switching {
    /// What `true` and `false` mean.
    pub const fn of(is_on: bool) -> Switching {
        if is_on { Switching::On } else { Switching::Off }
    }
}

/// `[faces.unix]`
#[derive(Clone, Debug, PartialEq)]
pub struct UnixFaces {
    /// Where the socket is.
    pub path: PathBuf,
    /// Its file mode: who may connect.
    pub mode: u32,
    /// What its faces are like.
    pub options: FaceOptions,
}

/// `[faces.udp]`
#[derive(Clone, Debug, PartialEq)]
pub struct UdpFaces {
    /// Addresses of the sockets.
    pub listen: Vec<SocketAddr>,
    /// What the kernel is asked to keep for a socket in either direction; 0: nothing is asked for.
    pub kernel_buffer: Bytes,
    /// When a face that a peer made is closed.
    pub idle_timeout: Span,
    /// Largest frames to peers in some networks, on faces that they made.
    pub mtu_by_network: MtuByNetwork,
    /// What its faces are like.
    pub options: FaceOptions,
}

/// `[faces.tcp]`, `[faces.websocket]`
#[derive(Clone, Debug, PartialEq)]
pub struct StreamFaces {
    /// Addresses of the sockets.
    pub listen: Vec<SocketAddr>,
    /// What its faces are like.
    pub options: FaceOptions,
}

/// `[faces.multicast]`
#[derive(Clone, Debug, PartialEq)]
pub struct MulticastFaces {
    /// Names of interfaces of this host.
    pub interfaces: Vec<String>,
    /// The group on interfaces with an IPv4 address.
    pub group_ipv4: SocketAddrV4,
    /// The group on interfaces with an IPv6 address.
    pub group_ipv6: SocketAddrV6,
    /// What its faces are like.
    pub options: FaceOptions,
}

/// `[faces.ethernet]`
#[derive(Clone, Debug, PartialEq)]
pub struct EthernetFaces {
    /// Names of interfaces of this host.
    pub interfaces: Vec<String>,
    /// Address of the group, the same on all interfaces.
    pub group: Mac,
    /// When a face that a peer made is closed.
    pub idle_timeout: Span,
    /// What its faces are like.
    pub options: FaceOptions,
}

/// `[[face]]`
#[derive(Clone, Debug)]
pub struct Face {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The other end, as a face URI with its port: canonical, or with a host's name.
    pub remote: String,
    /// Face URI of this end, where it matters.
    pub local: Option<String>,
    /// Permanent or persistent.
    pub persistency: FacePersistency,
    /// What it is like; what its own table does not say is that of its kind.
    pub options: FaceOptions,
    /// Parameters of the scheme for its queue, if it has its own.
    pub scheme: Option<Resolved>,
}

impl Face {
    /// The kind that its remote URI says.
    pub fn kind(&self) -> FaceKind {
        FaceKind::of_uri(&self.remote).expect("checked when read")
    }

    /// What messages and routes call it.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.remote)
    }

    /// Whether that is the same face, perhaps with other options.
    pub fn is_same(&self, other: &Face) -> bool {
        (&self.remote, &self.local) == (&other.remote, &other.local)
    }
}

impl PartialEq for Face {
    /// The name does not count: it is for the file.
    fn eq(&self, other: &Face) -> bool {
        self.is_same(other)
            && (self.persistency, &self.options, &self.scheme)
                == (other.persistency, &other.options, &other.scheme)
    }
}

/// The face of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFace {
    /// A `[[face]]`, by its two ends.
    Face {
        /// Face URI of the other end, as the file has it.
        remote: String,
        /// Face URI of this end, if the file gives it.
        local: Option<String>,
    },
    /// The groups of UDP multicast on an interface.
    Multicast(String),
    /// The Ethernet group on an interface.
    Ethernet(String),
}

/// `[[route]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Names that begin with it take this route.
    pub prefix: Name,
    /// Where it leads.
    pub face: RouteFace,
    /// The cheapest comes first.
    pub cost: u64,
    /// Whether longer prefixes have it too.
    pub child_inherit: bool,
    /// Whether routes of shorter prefixes are left out below.
    pub capture: bool,
}

/// `[[strategy]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyChoice {
    /// Interests whose names begin with it are forwarded by this strategy.
    pub prefix: Name,
    /// One of [`strategies`]; that of ASF may have options behind it.
    pub strategy: String,
}

/// The strategy that has options.
pub const ASF: &str = "asf";

/// The options of ASF from text such as `probing-interval~30000/max-timeouts~5`, an interval in milliseconds; `None` if it
/// is none of that, or the interval is shorter than a second.
pub fn asf_options(text: &str) -> Option<AsfOptions> {
    let mut options = AsfOptions::default();
    for option in text.split('/') {
        match option.split_once('~')? {
            ("probing-interval", value) => {
                options.probing_interval = Span::from_millis(u64::from(value.parse::<u32>().ok()?));
            }
            ("max-timeouts", value) => options.max_timeouts = value.parse().ok()?,
            _ => return None,
        }
    }
    let is_valid = options.probing_interval >= AsfOptions::LEAST_INTERVAL && options.max_timeouts > 0;
    is_valid.then_some(options)
}

/// Names of the strategies that can be chosen: three of NFD's, and that of each scheme.
pub fn strategies() -> impl Iterator<Item = &'static str> {
    ["best-route", "multicast", ASF].into_iter().chain(weir_schemes::SCHEMES.iter().map(|scheme| scheme.name))
}

/// `[tables]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The most faces.
    pub faces: usize,
    /// Memory of pending Interests.
    pub pit_bytes: Bytes,
    /// How long an Interest of a neighbour is pending at most.
    pub longest_lifetime: Span,
    /// Prefixes with routes; also the limit of prefixes with strategies.
    pub fib_entries: usize,
    /// The most nonces of Interests that are gone which are kept to find loops.
    pub dead_nonces: usize,
    /// Memory of packets in queues.
    pub queue_bytes: Bytes,
    /// Memory of the prefixes of flows.
    pub flow_bytes: Bytes,
    /// Time after which an Interest for a pending one is forwarded again; 0: never for other downstreams.
    pub reforward_after: Span,
    /// Time after which strategies do not see a next hop that answers nothing; 0: they always do.
    pub next_hop_timeout: Span,
    /// Names of the networks that this host is in.
    pub regions: Vec<Name>,
    /// Data packets in the content store; 0: no content store.
    pub content_store_packets: usize,
    /// Bytes of Data in the content store, at most.
    pub content_store_bytes: Bytes,
    /// Which leaves a full one.
    pub content_store_policy: CsPolicy,
    /// Which of the Data that pass it keeps.
    pub content_store_placement: CsPlacement,
    /// Memory of frames in front of sockets.
    pub send_buffer_bytes: Bytes,
    /// Memory of incomplete packets.
    pub reassembly_bytes: Bytes,
}

/// `[management]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// Whether there are commands.
    pub enabled: bool,
    /// Whether commands of this host too have to be signed with a trusted key.
    pub local_trusted: bool,
    /// Whether neighbours may register prefixes.
    pub localhop: bool,
    /// Files with the certificates of those who may.
    pub trusted_keys: Vec<PathBuf>,
    /// What applications without rights may do.
    pub applications: Applications,
    /// Routes at most to the faces of one user without rights.
    pub registrations: usize,
    /// Users of this host with rights, beside root and the forwarder's own.
    pub users: Vec<String>,
    /// Groups whose members have rights.
    pub groups: Vec<String>,
    /// Whether applications on TCP, UDP and WebSocket of this host have rights.
    pub loopback: bool,
}

/// `[capture]`, `[record]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is written.
    pub path: PathBuf,
    /// How large it gets.
    pub limit: Bytes,
}

/// `[log]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The verbosity.
    pub level: LogLevel,
    /// A JSON object a line, instead of lines for people.
    pub json: bool,
}

/// The verbosity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Only what failed.
    Error,
    /// And what may be a mistake.
    Warn,
    /// And what happened.
    Info,
    /// And what led to it.
    Debug,
    /// And every step.
    Trace,
}

impl Default for Config {
    /// That of an empty file.
    fn default() -> Config {
        Config::parse("", "defaults").expect("the defaults are right")
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or the first mistake in it.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let bytes =
            std::fs::read(path).map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        let text = weir_document::text(bytes)
            .map_err(|wrong| ConfigError::NotText { path: path.to_owned(), wrong })?;
        Config::parse(&text, &path.to_string_lossy())
    }

    /// Reads a text; `name` is what messages call it.
    ///
    /// # Errors
    /// The first mistake in it.
    pub fn parse(text: &str, name: &str) -> Result<Config, ConfigError> {
        read::config(text, name)
    }

    /// A scheme with the parameters that the file has for it; `None` if there is no such scheme.
    pub fn scheme_named(&self, name: &str) -> Option<&Resolved> {
        self.schemes.iter().find(|scheme| scheme.entry.name == name)
    }

    /// An error at a key, for what shows only later: a port that is in use, for one. The key is dotted,
    /// items of lists by their place from 0: `face.0.remote`.
    pub fn error_at(&self, key: &str, message: &str, help: &str) -> ConfigError {
        let Source { doc, root } = &*self.source;
        let is_given = |key| read::origin(root, key) != Origin::Default;
        // A single text may stand where a list of one does.
        let key = key.strip_suffix(".0").filter(|list| !is_given(key) && is_given(list)).unwrap_or(key);
        ConfigError::Wrong(doc.error(read::origin(root, key), key, message, help))
    }

    /// Whether the file itself gives a key, dotted.
    pub fn gives(&self, key: &str) -> bool {
        read::origin(&self.source.root, key) != Origin::Default
    }

    /// What to tell the user if the scheme divides the rates of faces: each table of faces without a
    /// rate. Faces of applications on this host are left out.
    pub fn without_rate(&self) -> Vec<ConfigError> {
        let scheme = self.scheme.entry.name;
        let say = |key: &str, what: &str| {
            let message = format!("scheme `{scheme}` divides the rate of a face, and {what} no rate");
            self.error_at(key, &message, "give it: rate = \"100 Mb/s\"")
        };
        let faces = &self.faces;
        // By the loopback address come applications of this host.
        let is_heard = |listen: &[SocketAddr]| listen.iter().any(|address| !address.ip().is_loopback());
        let kinds = [
            ("faces.udp", is_heard(&faces.udp.listen), faces.udp.options),
            ("faces.tcp", is_heard(&faces.tcp.listen), faces.tcp.options),
            ("faces.websocket", is_heard(&faces.websocket.listen), faces.websocket.options),
            ("faces.multicast", !faces.multicast.interfaces.is_empty(), faces.multicast.options),
            ("faces.ethernet", !faces.ethernet.interfaces.is_empty(), faces.ethernet.options),
        ];
        let kinds = kinds.iter().filter(|(_, used, options)| *used && options.rate.is_none());
        let kinds = kinds.map(|(key, ..)| say(key, "the faces that peers make here have"));
        let own = self.face.iter().enumerate().filter(|(_, face)| face.options.rate.is_none());
        let own = own.map(|(at, face)| say(&format!("face.{at}"), &format!("`{}` has", face.label())));
        kinds.chain(own).collect()
    }
}
