//! Errors that end an application.

use std::io;

use weir_management::client::ClientError;
use weir_packet::Name;

/// Errors that end an application.
#[derive(Debug)]
pub enum AppError {
    /// The forwarder cannot be reached, or refuses a request.
    Forwarder(ClientError),
    /// The event loop failed.
    Io(io::Error),
    /// The name has too many components, or is longer than a packet.
    LongName(Name),
    /// Another consumer has the same prefix. The forwarder sees a single face, so it could not distinguish their
    /// Interests.
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
