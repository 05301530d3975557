//! The operations that management can request from the forwarder.

use weir_net::user::{Rights, User};
use weir_packet::Name;

use weir_management::overview::Overview;
use weir_management::status::{
    CsInfo, FaceChange, FaceNumber, FaceRequest, FaceStatus, FibStatus, GeneralStatus, StrategyStatus,
};

/// The reason why the forwarder refuses a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlError {
    /// There is no such face.
    NoSuchFace,
    /// The face exists already: this one.
    FaceExists(Box<FaceStatus>),
    /// The face URI is not valid or not canonical: the reason.
    BadUri(String),
    /// Faces of this kind cannot be created: the reason.
    Unsupported(String),
    /// The face does not support these properties.
    BadProperties(String),
    /// The operating system's error.
    Failed(String),
    /// There is no such strategy; these are available.
    NoSuchStrategy(Vec<Name>),
    /// A table is full.
    Full(&'static str),
}

impl core::fmt::Display for ControlError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ControlError::NoSuchFace => f.write_str("there is no such face"),
            ControlError::FaceExists(face) => write!(f, "face {} exists already", face.number),
            ControlError::BadUri(why) | ControlError::Unsupported(why) => f.write_str(why),
            ControlError::BadProperties(why) | ControlError::Failed(why) => f.write_str(why),
            ControlError::NoSuchStrategy(known) => {
                f.write_str("there is no such strategy: wanted one of")?;
                known.iter().try_for_each(|name| write!(f, " {name}"))
            }
            ControlError::Full(table) => write!(f, "the {table} is full"),
        }
    }
}

impl std::error::Error for ControlError {}

/// The peer behind a face, as far as the forwarder knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Another host, or a member of a group.
    Neighbour,
    /// An application of this host with rights.
    Privileged,
    /// An application of this user without rights.
    User(u32),
    /// An application of this host with an unknown user: on TCP, UDP or WebSocket.
    Anybody,
}

impl Owner {
    /// The owner of the face of an application.
    pub(crate) fn of_application(user: Option<User>, rights: &ApplicationRights) -> Owner {
        match user {
            Some(user) if rights.users.has(user) => Owner::Privileged,
            Some(user) => Owner::User(user.uid),
            None if rights.loopback => Owner::Privileged,
            None => Owner::Anybody,
        }
    }
}

/// Which applications of this host have rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApplicationRights {
    /// Users whose applications on the Unix socket have rights.
    pub(crate) users: Rights,
    /// Whether applications on TCP, UDP and WebSocket have rights.
    pub(crate) loopback: bool,
}

/// The operations of the forwarder for management.
///
/// Management keeps the RIB and the rules for commands; the implementor has the faces and the tables.
pub trait Control {
    /// All faces, by ascending number.
    fn faces(&self) -> Vec<FaceStatus>;

    /// The state and counters of a face, if it exists.
    fn face(&self, face: FaceNumber) -> Option<FaceStatus>;

    /// The owner of a face; [`Owner::Neighbour`] if the face does not exist.
    fn owner(&self, face: FaceNumber) -> Owner;

    /// Creates a face.
    ///
    /// # Errors
    /// Returns any error except [`ControlError::NoSuchFace`] and [`ControlError::NoSuchStrategy`].
    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceStatus, ControlError>;

    /// Changes a face: all requested properties, or none.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchFace`] or [`ControlError::BadProperties`].
    fn update_face(&mut self, face: FaceNumber, change: &FaceChange) -> Result<FaceStatus, ControlError>;

    /// Closes a face. Returns whether it existed.
    fn destroy_face(&mut self, face: FaceNumber) -> bool;

    /// Local URIs of the listeners.
    fn channels(&self) -> Vec<String>;

    /// Adds a next hop to the FIB, or changes its cost.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchFace`] or [`ControlError::Full`].
    fn add_next_hop(&mut self, prefix: &Name, face: FaceNumber, cost: u64) -> Result<(), ControlError>;

    /// Removes a next hop from the FIB, if it exists.
    fn remove_next_hop(&mut self, prefix: &Name, face: FaceNumber);

    /// An upper bound of the numbers of FIB entries.
    fn fib_bound(&self) -> u32;

    /// The FIB entry with a number; `None` if it does not exist, or if its next hops are closed.
    fn fib_entry(&self, number: u32) -> Option<FibStatus>;

    /// All prefixes with next hops.
    fn fib(&self) -> Vec<FibStatus> {
        (0..self.fib_bound()).filter_map(|number| self.fib_entry(number)).collect()
    }

    /// Sets the strategy of a prefix; a name without a version selects the newest one. Returns the name with its version.
    ///
    /// # Errors
    /// Returns [`ControlError::NoSuchStrategy`] or [`ControlError::Full`].
    fn set_strategy(&mut self, prefix: &Name, strategy: &Name) -> Result<Name, ControlError>;

    /// Removes the strategy choice of a prefix, except that of the empty prefix.
    fn unset_strategy(&mut self, prefix: &Name);

    /// The prefixes with a chosen strategy.
    fn strategies(&self) -> Vec<StrategyStatus>;

    /// Size, settings and hits of the content store.
    fn cs_info(&self) -> CsInfo;

    /// Changes the content store; `None` keeps a setting.
    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>);

    /// Erases at most `limit` Data under a prefix. Returns their number.
    fn erase_cs(&mut self, prefix: &Name, limit: u64) -> u64;

    /// The status of the forwarder as a whole.
    fn general(&self) -> GeneralStatus;

    /// All data of the status page.
    fn overview(&self) -> Overview;
}
