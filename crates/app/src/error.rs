//! Errors that end an application.

use std::io;

use weir_management::client::ClientError;
use weir_packet::Name;

/// Why an application cannot go on.
#[derive(Debug)]
pub enum AppError {
    /// The forwarder cannot be reached, or does not do what it was asked.
    Forwarder(ClientError),
    /// The event loop failed.
    Io(io::Error),
    /// A name with more components than a name may have, or longer than a packet.
    LongName(Name),
    /// Two consumers of one prefix: the forwarder sees one face, and could not tell their Interests apart.
    SamePrefix(Name),
}

impl core::fmt::Display for AppError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AppError::Forwarder(error) => error.fmt(f),
            AppError::Io(error) => error.fmt(f),
            AppError::LongName(name) => write!(f, "{name} is too long for a name"),
            AppError::SamePrefix(name) => {
                write!(f, "{name} is already being fetched: a second consumer needs its own connection")
            }
        }
    }
}

impl std::error::Error for AppError {}

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> AppError {
        AppError::Io(error)
    }
}

impl From<ClientError> for AppError {
    fn from(error: ClientError) -> AppError {
        AppError::Forwarder(error)
    }
}
