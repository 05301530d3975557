//! Face URIs: the addresses of the ends of faces.
//!
//! ```text
//!   udp4://192.0.2.1:6363   tcp6://[2001:db8::1]:6363   udp6://[fe80::1%eth0]:6363   ws://192.0.2.1:9696
//!   unix:///run/nfd/nfd.sock   ether://[01:00:5e:00:17:aa]   dev://eth0   fd://7   internal://
//! ```
//!
//! The schemes and the canonical forms are those of NFD. Input may omit the port, use a host name instead of an
//! address, and use `udp` or `tcp` for either family. `Display` writes the canonical form. [`FaceUri::resolve`]
//! converts a host name to an address.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nix::net::if_::{if_indextoname, if_nametoindex};

/// Port of UDP and TCP (NFD's default, registered with IANA for NDN).
pub const NDN_PORT: u16 = 6363;
/// Port of UDP multicast (NFD's default).
pub const NDN_MULTICAST_PORT: u16 = 56363;
/// Port of WebSocket (NFD's default).
pub const NDN_WEBSOCKET_PORT: u16 = 9696;
/// NDN's multicast group on IPv4 (assigned by IANA).
pub const NDN_GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 23, 170);
/// NDN's link-local multicast group on IPv6 (NFD's default).
pub const NDN_GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1234);
/// NDN's multicast group on Ethernet, derived from [`NDN_GROUP_V4`].
pub const NDN_GROUP_ETHERNET: Mac = Mac([0x01, 0x00, 0x5E, 0x00, 0x17, 0xAA]);

/// Maximum length of a face URI, bytes. A host name has at most 253 bytes, a Unix path 107.
const MAX_LEN: usize = 512;
/// Maximum length of a Unix socket's path, bytes (limit of the operating system).
const MAX_UNIX_PATH: usize = 107;
/// Maximum length of a network interface's name, bytes.
const MAX_DEVICE: usize = 15;

/// One end of a face.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FaceUri {
    /// `udp4://`, `udp6://`: a host, or a multicast group.
    Udp(Endpoint),
    /// `tcp4://`, `tcp6://`
    Tcp(Endpoint),
    /// `ws://`: a WebSocket server.
    WebSocket(Endpoint),
    /// `wsclient://`: a client that has connected to a WebSocket server.
    WebSocketClient(Endpoint),
    /// `unix://`: a Unix stream socket with its absolute path.
    Unix(PathBuf),
    /// `ether://`: a host on an Ethernet, or a multicast group.
    Ethernet(Mac),
    /// `dev://`: a network interface of this host.
    Device(String),
    /// `fd://`: a socket of this process whose far end has no address.
    Fd(u32),
    /// `internal://`: the forwarder itself.
    Internal,
    /// A host name. It is not canonical, see [`FaceUri::resolve`].
    Host(Host),
}

/// An IP address, its zone and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    ip: IpAddr,
    zone: Option<String>,
    port: u16,
}

/// A host name, and the protocol, family and port to reach it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    kind: HostKind,
    family: Family,
    name: String,
    port: u16,
}

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

/// Error: a text is not a face URI. It also says what would be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceUriError {
    uri: String,
    why: String,
}

/// Protocol of a host and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum HostKind {
    Udp,
    Tcp,
    WebSocket,
    WebSocketClient,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Family {
    Any,
    V4,
    V6,
}

impl Mac {
    /// Returns whether this is a multicast address.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The address as a number.
    pub fn number(self) -> u64 {
        self.0.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Endpoint {
    /// The IP address.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// The zone of an IPv6 address: a network interface.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the endpoint on the link of a network interface. Only IPv6 addresses that need a zone get one.
    #[must_use]
    pub fn in_zone(mut self, device: &str) -> Endpoint {
        let needs_one = match self.ip {
            IpAddr::V4(_) => false,
            // Interface-local and link-local groups have the scopes 1 and 2 (RFC 4291, section 2.7).
            IpAddr::V6(ip) => {
                ip.is_unicast_link_local() || matches!(ip.octets(), [0xFF, scope, ..] if scope & 15 <= 2)
            }
        };
        self.zone = needs_one.then(|| device.to_owned());
        self
    }

    /// The address in the form that sockets use.
    ///
    /// # Errors
    /// Returns an error if the zone is not a network interface of this host.
    pub fn socket_addr(&self) -> io::Result<SocketAddr> {
        let scope_id = match &self.zone {
            None => 0,
            Some(zone) => zone_index(zone)?,
        };
        Ok(match self.ip {
            IpAddr::V4(ip) => SocketAddr::from((ip, self.port)),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, self.port, 0, scope_id).into(),
        })
    }
}

/// Index of the interface in a zone. A zone that is a number is the index itself.
fn zone_index(zone: &str) -> io::Result<u32> {
    if let Ok(index) = zone.parse() {
        return Ok(index);
    }
    if_nametoindex(zone).map_err(|_| {
        io::Error::new(io::ErrorKind::NotFound, format!("this host has no network interface `{zone}`"))
    })
}

impl From<SocketAddr> for Endpoint {
    /// Converts an address. An IPv4-mapped IPv6 address becomes the IPv4 address.
    fn from(addr: SocketAddr) -> Endpoint {
        let zone = match addr {
            SocketAddr::V6(v6) if v6.scope_id() != 0 => Some(zone_name(v6.scope_id())),
            _ => None,
        };
        Endpoint { ip: addr.ip().to_canonical(), zone, port: addr.port() }
    }
}

fn zone_name(index: u32) -> String {
    let name = if_indextoname(index).ok().and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| index.to_string())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip, &self.zone) {
            (IpAddr::V4(ip), _) => write!(f, "{ip}:{}", self.port),
            (IpAddr::V6(ip), None) => write!(f, "[{ip}]:{}", self.port),
            (IpAddr::V6(ip), Some(zone)) => {
                // Readers would take a zone that begins with 25 for a part of an escaped percent sign, so the sign is
                // escaped.
                let sign = if zone.starts_with(ESCAPED_SIGN) { "%25" } else { "%" };
                write!(f, "[{ip}{sign}{zone}]:{}", self.port)
            }
        }
    }
}

impl HostKind {
    /// The protocol and the family of a scheme.
    fn of_scheme(scheme: &str) -> Option<(HostKind, Family)> {
        Some(match scheme {
            "udp" => (HostKind::Udp, Family::Any),
            "udp4" => (HostKind::Udp, Family::V4),
            "udp6" => (HostKind::Udp, Family::V6),
            "tcp" => (HostKind::Tcp, Family::Any),
            "tcp4" => (HostKind::Tcp, Family::V4),
            "tcp6" => (HostKind::Tcp, Family::V6),
            "ws" => (HostKind::WebSocket, Family::Any),
            "wsclient" => (HostKind::WebSocketClient, Family::Any),
            _ => return None,
        })
    }

    fn scheme(self, family: Family) -> &'static str {
        match (self, family) {
            (HostKind::Udp, Family::Any) => "udp",
            (HostKind::Udp, Family::V4) => "udp4",
            (HostKind::Udp, Family::V6) => "udp6",
            (HostKind::Tcp, Family::Any) => "tcp",
            (HostKind::Tcp, Family::V4) => "tcp4",
            (HostKind::Tcp, Family::V6) => "tcp6",
            (HostKind::WebSocket, _) => "ws",
            (HostKind::WebSocketClient, _) => "wsclient",
        }
    }

    fn default_port(self, ip: Option<IpAddr>) -> u16 {
        match self {
            HostKind::Udp if ip.is_some_and(|ip| ip.is_multicast()) => NDN_MULTICAST_PORT,
            HostKind::Udp | HostKind::Tcp => NDN_PORT,
            HostKind::WebSocket | HostKind::WebSocketClient => NDN_WEBSOCKET_PORT,
        }
    }

    fn at(self, end: Endpoint) -> FaceUri {
        match self {
            HostKind::Udp => FaceUri::Udp(end),
            HostKind::Tcp => FaceUri::Tcp(end),
            HostKind::WebSocket => FaceUri::WebSocket(end),
            HostKind::WebSocketClient => FaceUri::WebSocketClient(end),
        }
    }
}

impl Family {
    const fn of(ip: IpAddr) -> Family {
        match ip {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    fn admits(self, ip: IpAddr) -> bool {
        self == Family::Any || self == Family::of(ip)
    }
}

impl FaceUri {
    /// Returns whether the URI is canonical, that is, not a host name.
    pub fn is_canonical(&self) -> bool {
        !matches!(self, FaceUri::Host(_))
    }

    /// The scheme of the canonical form.
    pub fn scheme(&self) -> &'static str {
        match self {
            FaceUri::Udp(end) => HostKind::Udp.scheme(Family::of(end.ip)),
            FaceUri::Tcp(end) => HostKind::Tcp.scheme(Family::of(end.ip)),
            FaceUri::WebSocket(_) => "ws",
            FaceUri::WebSocketClient(_) => "wsclient",
            FaceUri::Unix(_) => "unix",
            FaceUri::Ethernet(_) => "ether",
            FaceUri::Device(_) => "dev",
            FaceUri::Fd(_) => "fd",
            FaceUri::Internal => "internal",
            FaceUri::Host(host) => host.kind.scheme(host.family),
        }
    }

    /// Resolves a host name. A canonical URI stays as it is. **Blocks** during the lookup: do not call it on a thread
    /// that forwards packets.
    ///
    /// # Errors
    /// Returns an error if the host is unknown, or has no address of the scheme's family.
    pub fn resolve(self) -> io::Result<FaceUri> {
        let FaceUri::Host(host) = self else { return Ok(self) };
        let found = (host.name.as_str(), host.port).to_socket_addrs().map_err(|error| {
            io::Error::new(error.kind(), format!("the host `{}` cannot be resolved: {error}", host.name))
        })?;
        let mut addresses = found.map(Endpoint::from);
        match addresses.find(|end| host.family.admits(end.ip)) {
            Some(end) => Ok(host.kind.at(end)),
            None => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("host `{}` has no address for {}://", host.name, host.kind.scheme(host.family)),
            )),
        }
    }
}

impl fmt::Display for FaceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme())?;
        match self {
            FaceUri::Udp(end)
            | FaceUri::Tcp(end)
            | FaceUri::WebSocket(end)
            | FaceUri::WebSocketClient(end) => end.fmt(f),
            FaceUri::Unix(path) => path.display().fmt(f),
            FaceUri::Ethernet(mac) => write!(f, "[{mac}]"),
            FaceUri::Device(name) => f.write_str(name),
            FaceUri::Fd(number) => number.fmt(f),
            FaceUri::Internal => Ok(()),
            FaceUri::Host(host) => write!(f, "{}:{}", host.name, host.port),
        }
    }
}

impl fmt::Display for FaceUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a face URI: {}", self.uri, self.why)
    }
}

impl std::error::Error for FaceUriError {}

impl From<FaceUriError> for io::Error {
    fn from(error: FaceUriError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

impl FromStr for FaceUri {
    type Err = FaceUriError;

    fn from_str(text: &str) -> Result<FaceUri, FaceUriError> {
        parse(text).map_err(|why| FaceUriError { uri: quoted(text), why })
    }
}

/// The text for a message: its beginning, on one line.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

fn parse(text: &str) -> Result<FaceUri, String> {
    if text.len() > MAX_LEN {
        return Err(format!("it is longer than {MAX_LEN} bytes"));
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err("it has no `://`; write for example udp4://192.0.2.1:6363".into());
    };
    if let Some((kind, family)) = HostKind::of_scheme(scheme) {
        return parse_host(kind, family, rest);
    }
    match scheme {
        "unix" => parse_unix(rest),
        "ether" => parse_mac(rest).map(FaceUri::Ethernet),
        "dev" => parse_device(rest).map(FaceUri::Device),
        "fd" => match rest.parse() {
            Ok(number) if rest.bytes().all(|byte| byte.is_ascii_digit()) => Ok(FaceUri::Fd(number)),
            _ => Err("fd:// needs the number of a file descriptor: fd://7".into()),
        },
        "internal" if rest.is_empty() => Ok(FaceUri::Internal),
        "internal" => Err("internal:// has no address".into()),
        _ => Err(format!(
            "scheme `{}` is not known; there are udp4, udp6, udp, tcp4, tcp6, tcp, unix, ether, dev, ws, wsclient, fd \
             and internal",
            quoted(scheme)
        )),
    }
}

fn parse_unix(path: &str) -> Result<FaceUri, String> {
    if !path.starts_with('/') || path.ends_with('/') {
        return Err("the path of a Unix socket must be absolute: unix:///run/nfd/nfd.sock".into());
    }
    if path.len() > MAX_UNIX_PATH || path.contains(char::is_control) {
        return Err(format!("a path has at most {MAX_UNIX_PATH} bytes and no control characters"));
    }
    Ok(FaceUri::Unix(Path::new(path).to_owned()))
}

fn parse_mac(text: &str) -> Result<Mac, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let mut bytes = inner.unwrap_or_default().split(':').map(|byte| match byte.len() {
        1 | 2 if byte.bytes().all(|digit| digit.is_ascii_hexdigit()) => u8::from_str_radix(byte, 16).ok(),
        _ => None,
    });
    let mac = std::array::from_fn(|_| bytes.next().flatten());
    match (mac, bytes.next()) {
        ([Some(a), Some(b), Some(c), Some(d), Some(e), Some(f)], None) => Ok(Mac([a, b, c, d, e, f])),
        _ => Err(format!("an Ethernet address is written like ether://[{NDN_GROUP_ETHERNET}]")),
    }
}

fn parse_device(name: &str) -> Result<String, String> {
    let fits = |c: char| !(c.is_control() || c.is_whitespace() || matches!(c, '/' | ':' | '%' | '[' | ']'));
    if name.is_empty() || name.len() > MAX_DEVICE || !name.chars().all(fits) {
        return Err(format!("the name of a network interface has 1 to {MAX_DEVICE} bytes, such as eth0"));
    }
    Ok(name.to_owned())
}

/// The characters after the percent sign before a zone, if the sign is escaped (RFC 6874).
const ESCAPED_SIGN: &str = "25";

fn parse_host(kind: HostKind, family: Family, text: &str) -> Result<FaceUri, String> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = split_port(kind, text)?;
    let (address, zone) = match host.split_once('%') {
        Some((address, zone)) => (address, Some(zone.strip_prefix(ESCAPED_SIGN).unwrap_or(zone))),
        None => (host, None),
    };
    let Ok(ip) = address.parse::<IpAddr>() else {
        return parse_host_name(kind, family, host, port);
    };
    if ip.to_canonical() != ip {
        let end = Endpoint::from(SocketAddr::new(ip, port.unwrap_or(kind.default_port(Some(ip)))));
        return Err(format!("this is an IPv4 address: write {}", kind.at(end)));
    }
    if ip.is_ipv6() != text.starts_with('[') {
        return Err(
            "an IPv6 address needs brackets, and other addresses have none: udp6://[2001:db8::1]:6363".into(),
        );
    }
    let port = port.unwrap_or(kind.default_port(Some(ip)));
    if !family.admits(ip) {
        return Err(format!("the address needs the scheme {}://", kind.scheme(Family::of(ip))));
    }
    let zone = match zone {
        Some(_) if ip.is_ipv4() => return Err("an IPv4 address has no zone".into()),
        Some(zone) => Some(parse_device(zone)?),
        None => None,
    };
    Ok(kind.at(Endpoint { ip, zone, port }))
}

/// Splits `host:port`, `host`, `[host]:port` or `[host]` into host and port, without the brackets.
fn split_port(kind: HostKind, text: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((host, behind)) = rest.split_once(']') else {
                return Err("the bracket is not closed".into());
            };
            match behind.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if behind.is_empty() => (host, None),
                None => return Err("only a port may follow the bracket: [2001:db8::1]:6363".into()),
            }
        }
        None if text.matches(':').count() > 1 => {
            return Err("an IPv6 address needs brackets: udp6://[2001:db8::1]:6363".into());
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let Some(port) = port else { return Ok((host, None)) };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(number @ 1..) if digits => Ok((host, Some(number))),
        _ if port.contains('/') => Err("nothing may follow the port: a path is not supported".into()),
        _ => Err(format!(
            "the port must be a number from 1 to 65535; without a port it is {}",
            kind.default_port(None)
        )),
    }
}

fn parse_host_name(kind: HostKind, family: Family, name: &str, port: Option<u16>) -> Result<FaceUri, String> {
    let label = |label: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(fits) && !label.starts_with('-')
    };
    let mut labels = name.strip_suffix('.').unwrap_or(name).split('.');
    // A text whose last label is a number is an invalid address. Resolvers would guess an address.
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    if name.len() > 253 || !labels.clone().all(label) || labels.next_back().is_some_and(is_number) {
        return Err(format!(
            "`{}` is neither an address nor a host name; write for example {}://192.0.2.1:{}",
            quoted(name),
            kind.scheme(Family::V4),
            kind.default_port(None)
        ));
    }
    let port = port.unwrap_or(kind.default_port(None));
    Ok(FaceUri::Host(Host { kind, family, name: name.to_ascii_lowercase(), port }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<FaceUri>().unwrap_or_else(|error| panic!("{error}")).to_string()
    }

    fn why(text: &str) -> String {
        text.parse::<FaceUri>().expect_err(text).to_string()
    }

    #[test]
    fn canonical_forms_are_as_nfd_writes_them() {
        for uri in [
            "udp4://192.0.2.1:6363",
            "udp6://[2001:db8::1]:6363",
            "udp6://[fe80::1%eth0]:6363",
            "tcp4://127.0.0.1:6364",
            "tcp6://[::1]:6363",
            "ws://192.0.2.1:9696",
            "wsclient://[::1]:50000",
            "unix:///run/nfd/nfd.sock",
            "ether://[01:00:5e:00:17:aa]",
            "dev://eth0",
            "fd://7",
            "internal://",
        ] {
            assert_eq!(canonical(uri), uri);
            assert!(uri.parse::<FaceUri>().expect(uri).is_canonical());
        }
    }

    #[test]
    fn what_is_left_out_is_filled_in() {
        for (text, uri) in [
            ("udp://192.0.2.1", "udp4://192.0.2.1:6363"),
            ("udp4://224.0.23.170", "udp4://224.0.23.170:56363"),
            ("udp6://[FF02:0::1234%25eth0]", "udp6://[ff02::1234%eth0]:56363"),
            ("udp6://[fe80::1%2525]", "udp6://[fe80::1%2525]:6363"),
            ("udp6://[fe80::1%25250]:7", "udp6://[fe80::1%25250]:7"),
            ("tcp://[2001:0db8:0::1]/", "tcp6://[2001:db8::1]:6363"),
            ("ws://127.0.0.1", "ws://127.0.0.1:9696"),
            ("ether://[1:0:5E:0:17:aa]", "ether://[01:00:5e:00:17:aa]"),
            ("tcp4://Router.Example:7000", "tcp4://router.example:7000"),
            ("udp://router.example", "udp://router.example:6363"),
        ] {
            assert_eq!(canonical(text), uri);
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, right) in [
            ("", "udp4://192.0.2.1:6363"),
            ("192.0.2.1:6363", "no `://`"),
            ("quic://192.0.2.1", "there are udp4"),
            ("udp6://::1:6363", "brackets"),
            ("ws://127.0.0.1:7092/ws", "a path is not supported"),
            ("udp4://[192.0.2.1]:6363", "brackets"),
            ("udp4://[::1]:6363", "udp6://"),
            ("udp6://192.0.2.1", "udp4://"),
            ("udp6://[::ffff:192.0.2.1]:7", "udp4://192.0.2.1:7"),
            ("tcp://host:0", "1 to 65535"),
            ("tcp://host:65536", "1 to 65535"),
            ("tcp://host:+1", "1 to 65535"),
            ("tcp://host:", "6363"),
            ("ws://host:x", "9696"),
            ("udp6://[::1", "not closed"),
            ("udp6://[::1]6363", "a port"),
            ("udp4://192.0.2.1%eth0", "no zone"),
            ("udp4://192.0.2", "192.0.2.1"),
            ("udp4://192.0.2.256", "192.0.2.1"),
            ("tcp4://", "neither"),
            ("tcp4://a..b", "neither"),
            ("tcp4://-a", "neither"),
            ("tcp4://host/path", "neither"),
            ("unix://run/nfd.sock", "absolute"),
            ("unix:///", "absolute"),
            ("ether://01:00:5e:00:17:aa", "ether://[01:00:5e:00:17:aa]"),
            ("ether://[01:00:5e:00:17]", "ether://["),
            ("ether://[01:00:5e:00:17:aa:bb]", "ether://["),
            ("ether://[01:00:5e:00:17:+a]", "ether://["),
            ("dev://", "eth0"),
            ("dev://a/b", "eth0"),
            ("dev://abcdefghijklmnop", "eth0"),
            ("fd://-1", "fd://7"),
            ("fd://+1", "fd://7"),
            ("internal://x", "no address"),
        ] {
            let message = why(text);
            assert!(message.contains(right), "{message}");
        }
        let long = format!("unix:///{}", "x".repeat(200));
        assert!(why(&long).contains("107 bytes"));
        assert!(why(&format!("udp://{}", "x".repeat(600))).contains("longer"));
        assert!(why("udp\n\u{1b}[31m://x").contains("\\n"), "messages stay on one line");
    }

    #[test]
    fn hosts_are_resolved_within_the_family() {
        let resolve = |text: &str| text.parse::<FaceUri>().expect(text).resolve();
        assert_eq!(resolve("udp4://localhost").expect("known").to_string(), "udp4://127.0.0.1:6363");
        assert_eq!(resolve("dev://eth0").expect("stays"), FaceUri::Device("eth0".into()));
        let error = resolve("tcp://no-such-host.invalid").expect_err("reserved by RFC 2606").to_string();
        assert!(error.contains("no-such-host.invalid"), "{error}");
    }

    #[test]
    fn endpoints_are_those_of_sockets() {
        let index = if_nametoindex("lo").expect("every host has it");
        let v6 = SocketAddr::from(SocketAddrV6::new("fe80::1".parse().expect("v6"), 7, 0, index));
        let end = Endpoint::from(v6);
        assert_eq!((end.to_string().as_str(), end.zone()), ("[fe80::1%lo]:7", Some("lo")));
        assert_eq!(end.socket_addr().expect("it is there"), v6);
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:7".parse().expect("v6");
        assert_eq!(FaceUri::Tcp(mapped.into()).to_string(), "tcp4://192.0.2.1:7");
        let missing = "udp6://[fe80::1%nosuch]:7".parse().expect("text");
        let FaceUri::Udp(end) = missing else { panic!("{missing}") };
        assert!(end.socket_addr().expect_err("no interface").to_string().contains("nosuch"));
    }

    /// Texts close enough to face URIs to pass the first checks.
    fn near_uris() -> impl Strategy<Value = String> {
        let scheme = "udp4|udp6|udp|tcp4|tcp6|tcp|unix|ether|dev|ws|wsclient|fd|internal|x";
        let piece = "[\\[\\]:%./0-9a-f]|::1|127\\.0\\.0\\.1|:6363|%25|[a-z]{1,8}|\\PC";
        (scheme, proptest::collection::vec(piece, 0..10))
            .prop_map(|(scheme, pieces)| format!("{scheme}://{}", pieces.concat()))
    }

    proptest! {
        #[test]
        fn what_parses_has_one_canonical_form(text in near_uris()) {
            if let Ok(uri) = text.parse::<FaceUri>() {
                let written = uri.to_string();
                prop_assert_eq!(written.parse::<FaceUri>(), Ok(uri), "{}", written);
            }
        }

        #[test]
        fn any_text_is_read_or_refused_on_one_line(text in any::<String>()) {
            if let Err(error) = text.parse::<FaceUri>() {
                prop_assert!(!error.to_string().contains(char::is_control));
            }
        }

        #[test]
        fn addresses_of_sockets_come_back(ip: IpAddr, port in 1u16..) {
            let addr = SocketAddr::new(ip.to_canonical(), port);
            for uri in [FaceUri::Udp(addr.into()), FaceUri::Tcp(addr.into()), FaceUri::WebSocket(addr.into())] {
                prop_assert_eq!(uri.to_string().parse::<FaceUri>(), Ok(uri));
            }
            prop_assert_eq!(Endpoint::from(addr).socket_addr().expect("no zone"), addr);
        }
    }
}
