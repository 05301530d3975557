//! The forwarder's address, from the client's configuration.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weir_net::uri::FaceUri;

use super::ClientError;

/// The environment variable with the forwarder's address.
pub const TRANSPORT_VARIABLE: &str = "NDN_CLIENT_TRANSPORT";
/// The default socket path of forwarders.
pub const DEFAULT_SOCKET: &str = "/run/nfd/nfd.sock";
/// Their socket path on some systems.
const OTHER_SOCKET: &str = "/run/nfd.sock";
const DEFAULT_PORT: u16 = 6363;

/// The address on which a forwarder accepts applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix stream socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Host name or IP address.
        host: String,
        /// Port.
        port: u16,
        /// Only IPv4 (4) or only IPv6 (6); `None`: either.
        version: Option<u8>,
    },
}

impl core::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix://{}", path.display()),
            Endpoint::Tcp { host, port, version } => {
                let version = version.map(|version| version.to_string()).unwrap_or_default();
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "tcp{version}://{open}{host}{close}:{port}")
            }
        }
    }
}

/// Parses `unix:///path`, `tcp://host:port`, `tcp4://…` or `tcp6://…`. The default port is 6363.
impl FromStr for Endpoint {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Endpoint, ClientError> {
        let bad = || ClientError::BadEndpoint { text: text.to_owned(), from: None };
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let version = match scheme {
            "unix" if !rest.is_empty() => return Ok(Endpoint::Unix(PathBuf::from(rest))),
            "tcp" => None,
            "tcp4" => Some(4),
            "tcp6" => Some(6),
            _ => return Err(bad()),
        };
        let rest = rest.trim_end_matches('/');
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(bad)?)),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| bad()))?;
        if host.is_empty() {
            return Err(bad());
        }
        Ok(Endpoint::Tcp { host: host.to_owned(), port, version })
    }
}

impl Endpoint {
    /// The default address of clients: `NDN_CLIENT_TRANSPORT`, or else `transport` in `~/.ndn/client.conf`,
    /// `/usr/local/etc/ndn/client.conf` or `/etc/ndn/client.conf`, or else the default Unix socket.
    ///
    /// # Errors
    /// Returns [`ClientError::BadEndpoint`] if the configured text is not such an address.
    pub fn of_environment() -> Result<Endpoint, ClientError> {
        if let Some(text) = std::env::var(TRANSPORT_VARIABLE).ok().filter(|text| !text.is_empty()) {
            return said(&text, TRANSPORT_VARIABLE.to_owned());
        }
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".ndn/client.conf"));
        let system = ["/usr/local/etc/ndn/client.conf", "/etc/ndn/client.conf"].map(PathBuf::from);
        for path in home.into_iter().chain(system) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if let Some((line, value)) = configured(&text) {
                return said(value, format!("{}, line {line}", path.display()));
            }
        }
        let is_elsewhere = !Path::new(DEFAULT_SOCKET).exists() && Path::new(OTHER_SOCKET).exists();
        Ok(Endpoint::Unix(PathBuf::from(if is_elsewhere { OTHER_SOCKET } else { DEFAULT_SOCKET })))
    }

    /// The addresses of a TCP endpoint. A host may have several. Empty for a Unix socket.
    ///
    /// # Errors
    /// Returns an error if the host is unknown, or has no address of the required IP version.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let Endpoint::Tcp { host, port, version } = self else { return Ok(Vec::new()) };
        let is_wanted = |address: &SocketAddr| match version {
            Some(4) => address.is_ipv4(),
            Some(_) => address.is_ipv6(),
            None => true,
        };
        let found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.filter(is_wanted).collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the host has no such address"));
        }
        Ok(found)
    }

    /// The addresses of the forwarder as face URIs, at least one.
    ///
    /// # Errors
    /// Returns the errors of [`Endpoint::addresses`].
    pub fn face_uris(&self) -> io::Result<Vec<FaceUri>> {
        match self {
            Endpoint::Unix(path) => {
                // The path stays as given: a short relative path may be too long for a socket address as an absolute
                // path.
                Ok(vec![FaceUri::Unix(path.clone())])
            }
            Endpoint::Tcp { .. } => {
                Ok(self.addresses()?.into_iter().map(|at| FaceUri::Tcp(at.into())).collect())
            }
        }
    }
}

/// Parses an address. `from` is its source, for errors.
fn said(text: &str, from: String) -> Result<Endpoint, ClientError> {
    text.parse().map_err(|_| ClientError::BadEndpoint { text: text.to_owned(), from: Some(from) })
}

/// Returns the `transport` of a client.conf and its line number. Lines are `key=value`; `;` begins a comment.
fn configured(text: &str) -> Option<(usize, &str)> {
    text.lines().zip(1..).find_map(|(line, number)| {
        let (key, value) = line.split(';').next()?.split_once('=')?;
        let value = value.trim();
        (key.trim() == "transport" && !value.is_empty()).then_some((number, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_and_written_as_a_uri() {
        for (text, canonical) in [
            ("unix:///run/nfd/nfd.sock", "unix:///run/nfd/nfd.sock"),
            ("unix://run/nfd.sock", "unix://run/nfd.sock"),
            ("tcp://host", "tcp://host:6363"),
            ("tcp4://127.0.0.1:7000", "tcp4://127.0.0.1:7000"),
            ("tcp6://[::1]:7000/", "tcp6://[::1]:7000"),
            ("tcp://[::1]", "tcp://[::1]:6363"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), canonical);
        }
        for text in ["", "/run/nfd.sock", "udp://host:1", "unix://", "tcp://", "tcp://host:x", "tcp://[::1]x"]
        {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains("wanted unix:///path"), "{error}");
        }
    }

    #[test]
    fn the_transport_is_found_in_a_client_configuration() {
        let text = "; transport=unix:///no\npib=sqlite\n transport = tcp://10.0.0.1 ; here\ntransport=x";
        assert_eq!(configured(text), Some((3, "tcp://10.0.0.1")));
        assert_eq!(configured("transport=\npib=x"), None);
        let error = said("carrier://pigeon", "client.conf, line 3".to_owned()).unwrap_err().to_string();
        assert!(error.starts_with("client.conf, line 3: cannot connect to \"carrier://pigeon\""), "{error}");
    }
}
