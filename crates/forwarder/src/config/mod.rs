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

/// An error of a configuration file.
#[derive(Debug)]
pub enum ConfigError {
    /// The file cannot be read.
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The file is not text.
    NotText {
        /// The file.
        path: PathBuf,
        /// The position of the first invalid byte.
        wrong: NotText,
    },
    /// A value is wrong: file, line, key, and the correct alternatives.
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

/// A checked configuration file.
#[derive(Clone, Debug)]
pub struct Config {
    /// Options and listeners of each kind of face.
    pub faces: Faces,
    /// The faces that exist from the start.
    pub face: Vec<Face>,
    /// Routes to these faces.
    pub routes: Vec<Route>,
    /// Strategies by prefix.
    pub strategies: Vec<StrategyChoice>,
    /// The scheme of every face without a scheme of its own.
    pub scheme: Resolved,
    /// Parameters of every scheme, in the order of the scheme list.
    pub schemes: Vec<Resolved>,
    /// Limits of the tables.
    pub tables: Tables,
    /// Which users and keys may send commands, under which prefixes.
    pub management: Management,
    /// Address of the metrics server; `None`: none.
    pub metrics: Option<SocketAddr>,
    /// The file for captured frames; `None`: none.
    pub capture: Option<File>,
    /// The file for the node's recorded inputs; `None`: none.
    pub record: Option<File>,
    /// Level and form of log messages.
    pub log: Log,
    source: Arc<Source>,
}

/// The text of the file, for errors that are found later.
#[derive(Debug)]
struct Source {
    doc: Document,
    root: Table,
}

/// Options and listeners of each kind of face.
#[derive(Clone, Debug, PartialEq)]
pub struct Faces {
    /// The socket of applications; `None`: none.
    pub unix: Option<UnixFaces>,
    /// Unicast UDP.
    pub udp: UdpFaces,
    /// TCP listeners and the options of their faces.
    pub tcp: StreamFaces,
    /// WebSocket listeners and the options of their faces.
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
    /// `ws://`, and accepted connections: `wsclient://`.
    WebSocket,
    /// A UDP multicast group on an interface.
    Multicast,
    /// `ether://`, on an interface.
    Ethernet,
}

impl FaceKind {
    /// The kind of face of a URI; `None` for other URIs.
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
    /// Options of the faces of a kind, unless their own table overrides them.
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

/// Options of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaceOptions {
    /// Rate of outgoing frames; `None`: as fast as the socket accepts them.
    pub rate: Option<Rate>,
    /// Rate at which the other end sends; `None`: unknown.
    pub receive_rate: Option<Rate>,
    /// Limit of the face's queue.
    pub queue: QueueLimit,
    /// Largest frame, bytes; `None`: the transport's own.
    pub mtu: Option<u64>,
    /// NDNLPv2 link reliability.
    pub reliability: Switching,
    /// Mark packets while the queue is long.
    pub congestion_marking: bool,
    /// Length of the queue above which packets are marked.
    pub marking_threshold: Bytes,
    /// How long the queue must stay above the threshold before the first mark; also the time from the first mark to the second.
    pub marking_interval: Span,
    /// Whether the forwarder accepts the peer's service classes and signals.
    pub trust: Trust,
    /// Rules for service classes.
    pub classes: ClassTreatments,
    /// The unit of sharing; `None`: it depends on the kind of peer.
    pub share_by: Option<ShareBy>,
}

/// The unit among which a scheme divides links, for packets from a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareBy {
    /// Each flow.
    Flow,
    /// All flows together, as one.
    Face,
}

impl Default for FaceOptions {
    /// The options of an empty configuration file.
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

/// Whether a feature is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switching {
    /// On if the other end supports it.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Switching {
    /// Converts the values `true` and `false`.
    pub const fn of(is_on: bool) -> Switching {
        if is_on { Switching::On } else { Switching::Off }
    }
}

/// `[faces.unix]`
#[derive(Clone, Debug, PartialEq)]
pub struct UnixFaces {
    /// Path of the socket.
    pub path: PathBuf,
    /// File mode of the socket, which decides which users may connect.
    pub mode: u32,
    /// Options of its faces.
    pub options: FaceOptions,
}

/// `[faces.udp]`
#[derive(Clone, Debug, PartialEq)]
pub struct UdpFaces {
    /// Addresses of the sockets.
    pub listen: Vec<SocketAddr>,
    /// Size of the kernel buffer requested for a socket in each direction; 0: the system's default.
    pub kernel_buffer: Bytes,
    /// A face that a peer created is closed after this time without a packet.
    pub idle_timeout: Span,
    /// Largest frames to peers in some networks, for faces that these peers created.
    pub mtu_by_network: MtuByNetwork,
    /// Options of its faces.
    pub options: FaceOptions,
}

/// `[faces.tcp]`, `[faces.websocket]`
#[derive(Clone, Debug, PartialEq)]
pub struct StreamFaces {
    /// Addresses of the sockets.
    pub listen: Vec<SocketAddr>,
    /// Options of its faces.
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
    /// Options of its faces.
    pub options: FaceOptions,
}

/// `[faces.ethernet]`
#[derive(Clone, Debug, PartialEq)]
pub struct EthernetFaces {
    /// Names of interfaces of this host.
    pub interfaces: Vec<String>,
    /// Address of the group, the same on all interfaces.
    pub group: Mac,
    /// A face that a peer created is closed after this time without a packet.
    pub idle_timeout: Span,
    /// Options of its faces.
    pub options: FaceOptions,
}

/// `[[face]]`
#[derive(Clone, Debug)]
pub struct Face {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The other end, as a face URI with its port: canonical, or with a host's name.
    pub remote: String,
    /// Face URI of this end, if the face needs one.
    pub local: Option<String>,
    /// Permanent or persistent.
    pub persistency: FacePersistency,
    /// Its options. Keys missing in its own table have the values of its kind.
    pub options: FaceOptions,
    /// Parameters of the scheme for its queue, if it has its own.
    pub scheme: Option<Resolved>,
}

impl Face {
    /// The kind of face, from the remote URI.
    pub fn kind(&self) -> FaceKind {
        FaceKind::of_uri(&self.remote).expect("checked when read")
    }

    /// The name of the face in messages and routes.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.remote)
    }

    /// Whether the other face is the same one, perhaps with other options.
    pub fn is_same(&self, other: &Face) -> bool {
        (&self.remote, &self.local) == (&other.remote, &other.local)
    }
}

impl PartialEq for Face {
    /// The name is not compared: only the file uses it.
    fn eq(&self, other: &Face) -> bool {
        self.is_same(other)
            && (self.persistency, &self.options, &self.scheme)
                == (other.persistency, &other.options, &other.scheme)
    }
}

/// The face of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFace {
    /// A `[[face]]`, identified by both ends.
    Face {
        /// Face URI of the other end, as the file has it.
        remote: String,
        /// Face URI of this end, if the file gives it.
        local: Option<String>,
    },
    /// The UDP multicast groups on an interface.
    Multicast(String),
    /// The Ethernet group on an interface.
    Ethernet(String),
}

/// `[[route]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Names with this prefix take the route.
    pub prefix: Name,
    /// The face of the route.
    pub face: RouteFace,
    /// Cost; the cheapest next hop comes first.
    pub cost: u64,
    /// Whether longer prefixes inherit the route.
    pub child_inherit: bool,
    /// Whether this prefix and longer ones ignore routes of shorter prefixes.
    pub capture: bool,
}

/// `[[strategy]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyChoice {
    /// This strategy forwards Interests whose names have this prefix.
    pub prefix: Name,
    /// One of [`strategies`]. ASF may have options after its name.
    pub strategy: String,
}

/// The strategy that has options.
pub const ASF: &str = "asf";

/// Parses the options of ASF, such as `probing-interval~30000/max-timeouts~5`, with the interval in milliseconds. Returns `None`
/// if the text is not valid, or if the interval is shorter than a second.
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

/// Names of the available strategies: three of NFD's, and the strategy of each scheme.
pub fn strategies() -> impl Iterator<Item = &'static str> {
    ["best-route", "multicast", ASF].into_iter().chain(weir_schemes::SCHEMES.iter().map(|scheme| scheme.name))
}

/// `[tables]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Largest number of faces.
    pub faces: usize,
    /// Memory of pending Interests.
    pub pit_bytes: Bytes,
    /// Longest lifetime of a neighbour's pending Interest.
    pub longest_lifetime: Span,
    /// Prefixes with routes; also the limit of prefixes with strategies.
    pub fib_entries: usize,
    /// Number of remembered nonces of Interests that are no longer pending, for loop detection.
    pub dead_nonces: usize,
    /// Memory of packets in queues.
    pub queue_bytes: Bytes,
    /// Memory of the prefixes of flows.
    pub flow_bytes: Bytes,
    /// A repeated Interest is forwarded again if the last transmission was at least this time ago; 0: never for other
    /// downstreams.
    pub reforward_after: Span,
    /// Strategies ignore a next hop that has not answered for this time; 0: they never do.
    pub next_hop_timeout: Span,
    /// Names of the networks that this host is in.
    pub regions: Vec<Name>,
    /// Data packets in the content store; 0: no content store.
    pub content_store_packets: usize,
    /// Largest number of bytes of Data in the content store.
    pub content_store_bytes: Bytes,
    /// The eviction policy of the content store.
    pub content_store_policy: CsPolicy,
    /// The placement policy: which Data the content store accepts.
    pub content_store_placement: CsPlacement,
    /// Memory of frames that wait for sockets.
    pub send_buffer_bytes: Bytes,
    /// Memory of incomplete packets.
    pub reassembly_bytes: Bytes,
}

/// `[management]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// Whether management commands are enabled.
    pub enabled: bool,
    /// Whether commands from this host also need the signature of a trusted key.
    pub local_trusted: bool,
    /// Whether neighbours may register prefixes.
    pub localhop: bool,
    /// Files with the certificates of trusted keys.
    pub trusted_keys: Vec<PathBuf>,
    /// Permissions of applications without rights.
    pub applications: Applications,
    /// Largest number of routes to the faces of one user without rights.
    pub registrations: usize,
    /// Users of this host with rights, in addition to root and the forwarder's own user.
    pub users: Vec<String>,
    /// Groups whose members have rights.
    pub groups: Vec<String>,
    /// Whether applications of this host that connect by TCP, UDP or WebSocket have rights.
    pub loopback: bool,
}

/// `[capture]`, `[record]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path of the file.
    pub path: PathBuf,
    /// Largest size of the file.
    pub limit: Bytes,
}

/// `[log]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The verbosity.
    pub level: LogLevel,
    /// Whether a message is a JSON object on one line, instead of text for people.
    pub json: bool,
}

/// The verbosity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Failures only.
    Error,
    /// Also possible mistakes.
    Warn,
    /// Also events.
    Info,
    /// Also the causes of events.
    Debug,
    /// Also every step.
    Trace,
}

impl Default for Config {
    /// The configuration of an empty file.
    fn default() -> Config {
        Config::parse("", "defaults").expect("the defaults are right")
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or the first mistake in it.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let bytes =
            std::fs::read(path).map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        let text = weir_document::text(bytes)
            .map_err(|wrong| ConfigError::NotText { path: path.to_owned(), wrong })?;
        Config::parse(&text, &path.to_string_lossy())
    }

    /// Parses a configuration; `name` is its name in messages.
    ///
    /// # Errors
    /// Returns the first mistake in the text.
    pub fn parse(text: &str, name: &str) -> Result<Config, ConfigError> {
        read::config(text, name)
    }

    /// A scheme with its parameters from the file; `None` if there is no such scheme.
    pub fn scheme_named(&self, name: &str) -> Option<&Resolved> {
        self.schemes.iter().find(|scheme| scheme.entry.name == name)
    }

    /// An error at a key, for problems that are found later, such as a port in use. The key is dotted, with list items by index
    /// from 0: `face.0.remote`.
    pub fn error_at(&self, key: &str, message: &str, help: &str) -> ConfigError {
        let Source { doc, root } = &*self.source;
        let is_given = |key| read::origin(root, key) != Origin::Default;
        // A single text may replace a list with one item.
        let key = key.strip_suffix(".0").filter(|list| !is_given(key) && is_given(list)).unwrap_or(key);
        ConfigError::Wrong(doc.error(read::origin(root, key), key, message, help))
    }

    /// Whether the file contains a dotted key.
    pub fn gives(&self, key: &str) -> bool {
        read::origin(&self.source.root, key) != Origin::Default
    }

    /// Warnings for a scheme that needs the rates of faces: one for each table of faces without a rate. Faces of applications on
    /// this host are left out.
    pub fn without_rate(&self) -> Vec<ConfigError> {
        let scheme = self.scheme.entry.name;
        let say = |key: &str, what: &str| {
            let message = format!("scheme `{scheme}` needs the rate of a face, and {what} no rate");
            self.error_at(key, &message, "set it: rate = \"100 Mb/s\"")
        };
        let faces = &self.faces;
        // Peers on the loopback address are applications of this host.
        let is_heard = |listen: &[SocketAddr]| listen.iter().any(|address| !address.ip().is_loopback());
        let kinds = [
            ("faces.udp", is_heard(&faces.udp.listen), faces.udp.options),
            ("faces.tcp", is_heard(&faces.tcp.listen), faces.tcp.options),
            ("faces.websocket", is_heard(&faces.websocket.listen), faces.websocket.options),
            ("faces.multicast", !faces.multicast.interfaces.is_empty(), faces.multicast.options),
            ("faces.ethernet", !faces.ethernet.interfaces.is_empty(), faces.ethernet.options),
        ];
        let kinds = kinds.iter().filter(|(_, used, options)| *used && options.rate.is_none());
        let kinds = kinds.map(|(key, ..)| say(key, "faces that peers create here have"));
        let own = self.face.iter().enumerate().filter(|(_, face)| face.options.rate.is_none());
        let own = own.map(|(at, face)| say(&format!("face.{at}"), &format!("`{}` has", face.label())));
        kinds.chain(own).collect()
    }
}
