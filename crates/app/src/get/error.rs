//! Errors of fetching an object.

use std::io;
use std::path::PathBuf;

use weir_core::units::Span;
use weir_keychain::{Reason, trust::Refused};
use weir_packet::{DecodeError, NackReason, Name};

use crate::AppError;

/// Why an object is not got. No content that is wrong was delivered before.
#[derive(Debug)]
pub enum GetError {
    /// The application cannot go on.
    App(AppError),
    /// The callback said that it is enough.
    Stopped,
    /// An Interest came back: nobody can be asked for this name.
    Nack(Name, NackReason),
    /// Nobody has answered.
    Unanswered(Name),
    /// The metadata of this name are none.
    Metadata(Name, DecodeError),
    /// The metadata of the first name are of the second, which is not under it.
    Elsewhere(Name, Name),
    /// A Data is not to be believed.
    Invalid {
        /// The object.
        object: Name,
        /// Its segment, if it is one.
        segment: Option<u64>,
        /// What is wrong with it.
        reason: Reason,
    },
    /// A certificate that is needed cannot be had.
    Certificate(Name, Box<GetError>),
    /// What came in place of a certificate.
    NoCertificate(Name, Refused),
    /// The producer states that there is no such Data.
    Absent(Name),
    /// A segment has not come.
    Missing {
        /// The object.
        object: Name,
        /// The oldest segment that is missing.
        segment: u64,
        /// For how long.
        waited: Span,
        /// How many Interests came back as Nacks meanwhile.
        nacks: u64,
        /// Why the last of them did.
        reason: Option<NackReason>,
        /// The last segment, if any Data has said.
        last: Option<u64>,
    },
    /// Two Data of one object do not agree on where it ends.
    End {
        /// The object.
        object: Name,
        /// The segment that says something else.
        segment: u64,
        /// The last segment as it was said before, or that came already.
        before: u64,
        /// The last segment as this one says.
        now: u64,
    },
    /// The content of a version is not what it was when its first part was got.
    Changed {
        /// The object.
        object: Name,
        /// The segment that differs.
        segment: u64,
    },
    /// The file cannot be written, or its partial file not be read.
    File(PathBuf, io::Error),
    /// Another process is writing the same file.
    Busy(PathBuf),
    /// What is in the place of the partial file is not ours, and why; it is not touched.
    Foreign(PathBuf, &'static str),
}

impl GetError {
    /// Whether it is about something that may have been there, and is not now.
    pub(super) fn says_that_nobody_has_it(&self) -> bool {
        matches!(self, GetError::Nack(..) | GetError::Unanswered(_) | GetError::Absent(_))
    }

    /// The same of a Data for which another one came, with what is wrong with that.
    pub(super) fn because(self, reason: Reason) -> GetError {
        match self {
            GetError::Invalid { object, segment, .. } => GetError::Invalid { object, segment, reason },
            other => other,
        }
    }

    /// Whether it is about something that is there, but not signed as is wanted.
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
