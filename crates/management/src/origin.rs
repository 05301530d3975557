//! Origins of routes: values of the Origin field.

/// An application, for its own prefixes.
pub const APP: u64 = 0;
/// Automatic prefix propagation.
pub const AUTOREG: u64 = 64;
/// A client, on behalf of another.
pub const CLIENT: u64 = 65;
/// Automatic configuration of hosts.
pub const AUTOCONF: u64 = 66;
/// A routing protocol.
pub const NLSR: u64 = 128;
/// A prefix announcement.
pub const PREFIX_ANNOUNCEMENT: u64 = 129;
/// Configuration.
pub const STATIC: u64 = 255;
