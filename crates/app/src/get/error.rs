//! Errors of fetching an object.

use std::io;
use std::path::PathBuf;

use weir_core::units::Span;
use weir_keychain::{Reason, trust::Refused};
use weir_packet::{DecodeError, NackReason, Name};

use crate::AppError;

/// Errors of fetching an object. The content delivered before an error is valid.
#[derive(Debug)]
pub enum GetError {
    /// The application cannot go on.
    App(AppError),
    /// The callback stopped the fetch.
    Stopped,
    /// An Interest was answered with a Nack.
    Nack(Name, NackReason),
    /// No answer came.
    Unanswered(Name),
    /// The metadata of this name are malformed.
    Metadata(Name, DecodeError),
    /// The metadata of the first name describe the second, which is not under it.
    Elsewhere(Name, Name),
    /// A Data failed verification.
    Invalid {
        /// The object.
        object: Name,
        /// The segment number, if the Data is a segment.
        segment: Option<u64>,
        /// Why the verification failed.
        reason: Reason,
    },
    /// A needed certificate cannot be fetched.
    Certificate(Name, Box<GetError>),
    /// The fetched Data is not a usable certificate.
    NoCertificate(Name, Refused),
    /// The producer declared that this Data does not exist.
    Absent(Name),
    /// A segment did not arrive.
    Missing {
        /// The object.
        object: Name,
        /// The oldest missing segment.
        segment: u64,
        /// How long it has been missing.
        waited: Span,
        /// Number of Interests answered with a Nack during this time.
        nacks: u64,
        /// Reason of the last of these Nacks.
        reason: Option<NackReason>,
        /// The last segment, if known.
        last: Option<u64>,
    },
    /// Two Data of an object disagree about its last segment.
    End {
        /// The object.
        object: Name,
        /// The segment that disagrees.
        segment: u64,
        /// The last segment declared before, or the newest segment received.
        before: u64,
        /// The last segment that this Data declares.
        now: u64,
    },
    /// The content of a version differs from what was fetched before.
    Changed {
        /// The object.
        object: Name,
        /// The segment that differs.
        segment: u64,
    },
    /// The file cannot be written, or its partial file cannot be read.
    File(PathBuf, io::Error),
    /// Another process is writing the same file.
    Busy(PathBuf),
    /// The existing partial file is not ours, and why. It is left unchanged.
    Foreign(PathBuf, &'static str),
}

impl GetError {
    /// Returns whether the data may have existed but is not available now.
    pub(super) fn says_that_nobody_has_it(&self) -> bool {
        matches!(self, GetError::Nack(..) | GetError::Unanswered(_) | GetError::Absent(_))
    }

    /// Returns the same error, with the reason why the replacement Data was rejected.
    pub(super) fn because(self, reason: Reason) -> GetError {
        match self {
            GetError::Invalid { object, segment, .. } => GetError::Invalid { object, segment, reason },
            other => other,
        }
    }

    /// Returns whether the data exists but does not have the required signature.
    pub(super) fn says_that_it_is_not_believed(&self) -> bool {
        matches!(self, GetError::Invalid { .. } | GetError::Certificate(..) | GetError::NoCertificate(..))
    }
}

impl core::fmt::Display for GetError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            GetError::App(error) => error.fmt(f),
            GetError::Stopped => f.write_str("stopped"),
            GetError::Nack(name, NackReason::NoRoute) => {
                write!(f, "there is no route to {name}: its Interest came back as a Nack (NoRoute)")
            }
            GetError::Nack(name, reason) => {
                write!(f, "the Interest for {name} came back as a Nack ({reason:?})")
            }
            GetError::Unanswered(name) => write!(f, "no answer came for {name}"),
            GetError::Metadata(name, error) => write!(f, "the metadata of {name} cannot be read: {error}"),
            GetError::Elsewhere(name, other) => {
                write!(f, "the metadata of {name} name {other}, which is another object")
            }
            GetError::Invalid { object, segment: Some(segment), reason } => {
                write!(f, "segment {segment} of {object} cannot be trusted: {reason}")
            }
            GetError::Invalid { object, segment: None, reason } => {
                write!(f, "the Data for {object} cannot be trusted: {reason}")
            }
            GetError::Certificate(name, error) => {
                write!(f, "the certificate {name} cannot be fetched: {error}")
            }
            GetError::NoCertificate(name, refused) => write!(f, "the certificate {name}: {refused}"),
            GetError::Absent(name) => write!(f, "the producer states that there is no {name}"),
            GetError::Missing { object, segment, waited, nacks, reason, last } => {
                write!(
                    f,
                    "segment {segment} of {object} is missing: no answer came for {:.1} s",
                    waited.as_secs_f64()
                )?;
                if *nacks > 0 {
                    write!(f, "; {nacks} Interests came back as Nacks")?;
                }
                match reason {
                    Some(NackReason::NoRoute) => {
                        f.write_str(", the last one because there is no route (NoRoute)")?
                    }
                    Some(reason) => write!(f, ", the last one because of {reason:?}")?,
                    None => {}
                }
                match last {
                    Some(_) => Ok(()),
                    None => f.write_str("; no Data has named the last segment"),
                }
            }
            GetError::End { object, segment, before, now } => write!(
                f,
                "segment {segment} of {object} says that segment {now} is the last, but it was segment {before}"
            ),
            GetError::Changed { object, segment } => write!(
                f,
                "segment {segment} of {object} differs from the partial file: two objects have the same name"
            ),
            GetError::File(path, error) => write!(f, "{}: {error}", path.display()),
            GetError::Busy(path) => write!(f, "{}: another process is writing it", path.display()),
            GetError::Foreign(path, why) => {
                write!(f, "{}: {why}: remove it, or write to another file", path.display())
            }
        }
    }
}

impl std::error::Error for GetError {}

impl From<AppError> for GetError {
    fn from(error: AppError) -> GetError {
        GetError::App(error)
    }
}
