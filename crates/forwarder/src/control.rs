//! The operations that management can request from the forwarder.

use weir_net::user::{Rights, User};
use weir_packet::Name;

use weir_management::overview::Overview;
use weir_management::status::{
    CsInfo, FaceChange, FaceNumber, FaceRequest, FaceStatus, FibStatus, GeneralStatus, StrategyStatus,
};

/// Why the forwarder does not do what it is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlError {
    /// There is no such face.
    NoSuchFace,
    /// The face is there already: this one.
    FaceExists(Box<FaceStatus>),
    /// A face URI is not one, or not canonical: why.
    BadUri(String),
    /// Faces of this kind cannot be made: why.
    Unsupported(String),
    /// The properties do not go with the face: which.
    BadProperties(String),
    /// The operating system refused: its words.
    Failed(String),
    /// There is no such strategy; these there are.
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

/// Who is behind a face, as far as the forwarder can know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Another host, or somebody on a link.
    Neighbour,
    /// An application of this host that has rights.
    Privileged,
    /// An application of this user, who has none.
    User(u32),
    /// An application of this host whose user is unknown: on TCP, UDP or WebSocket.
    Anybody,
}

impl Owner {
    /// Who an application of a user is.
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
    /// Those of these users, by the Unix socket.
    pub(crate) users: Rights,
    /// Whether those on TCP, UDP and WebSocket have.
    pub(crate) loopback: bool,
}

/// The forwarder as management sees it.
///
/// Management keeps the RIB and the commands' rules; this has the faces and the tables.
pub trait Control {
    /// All faces, by ascending number.
    fn faces(&self) -> Vec<FaceStatus>;

    /// The state and counters of a face, if it is there.
    fn face(&self, face: FaceNumber) -> Option<FaceStatus>;

    /// Who is behind a face; [`Owner::Neighbour`] if it is not there.
    fn owner(&self, face: FaceNumber) -> Owner;

    /// Makes a face.
    ///
    /// # Errors
    /// All but [`ControlError::NoSuchFace`] and [`ControlError::NoSuchStrategy`].
    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceStatus, ControlError>;

    /// Changes a face; either everything that is asked, or nothing.
    ///
    /// # Errors
    /// [`ControlError::NoSuchFace`], [`ControlError::BadProperties`].
    fn update_face(&mut self, face: FaceNumber, change: &FaceChange) -> Result<FaceStatus, ControlError>;

    /// Closes a face; says whether it was there.
    fn destroy_face(&mut self, face: FaceNumber) -> bool;

    /// Local URIs of what listens for new faces.
    fn channels(&self) -> Vec<String>;

    /// Adds a next hop to the FIB, or changes its cost.
    ///
    /// # Errors
    /// [`ControlError::NoSuchFace`], [`ControlError::Full`].
    fn add_next_hop(&mut self, prefix: &Name, face: FaceNumber, cost: u64) -> Result<(), ControlError>;

    /// Takes a next hop out of the FIB, if it is there.
    fn remove_next_hop(&mut self, prefix: &Name, face: FaceNumber);

    /// The numbers of the FIB's entries are below this one.
    fn fib_bound(&self) -> u32;

    /// The entry of the FIB that has a number; `None` if there is none, or its next hops are gone.
    fn fib_entry(&self, number: u32) -> Option<FibStatus>;

    /// All prefixes with next hops.
    fn fib(&self) -> Vec<FibStatus> {
        (0..self.fib_bound()).filter_map(|number| self.fib_entry(number)).collect()
    }

    /// Chooses a strategy for a prefix; a name without a version means the newest. Gives the name with
    /// its version.
    ///
    /// # Errors
    /// [`ControlError::NoSuchStrategy`], [`ControlError::Full`].
    fn set_strategy(&mut self, prefix: &Name, strategy: &Name) -> Result<Name, ControlError>;

    /// Takes back the choice for a prefix; that of the empty prefix stays.
    fn unset_strategy(&mut self, prefix: &Name);

    /// The prefixes for which a strategy is chosen.
    fn strategies(&self) -> Vec<StrategyStatus>;

    /// Size, settings and hits of the content store.
    fn cs_info(&self) -> CsInfo;

    /// Changes the content store; `None` stays.
    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>);

    /// Erases at most `limit` Data under a prefix; says how many.
    fn erase_cs(&mut self, prefix: &Name, limit: u64) -> u64;

    /// The forwarder as a whole.
    fn general(&self) -> GeneralStatus;

    /// Everything that a status page shows.
    fn overview(&self) -> Overview;
}
