//! The kind of link behind a socket.

/// Whether the other end of a face is on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaceScope {
    /// Another host.
    NonLocal = 0,
    /// This host. Only such a face carries names under `/localhost`.
    Local = 1,
}

impl FaceScope {
    /// Returns the scope with this number, or `None`.
    pub const fn from_value(value: u64) -> Option<FaceScope> {
        Some(match value {
            0 => FaceScope::NonLocal,
            1 => FaceScope::Local,
            _ => return None,
        })
    }
}

/// The kind of link of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LinkType {
    /// One peer.
    PointToPoint = 0,
    /// All members of a group.
    MultiAccess = 1,
    /// A wireless link on which not every node hears every other.
    AdHoc = 2,
}

impl LinkType {
    /// Returns the link type with this number, or `None`.
    pub const fn from_value(value: u64) -> Option<LinkType> {
        Some(match value {
            0 => LinkType::PointToPoint,
            1 => LinkType::MultiAccess,
            2 => LinkType::AdHoc,
            _ => return None,
        })
    }
}
