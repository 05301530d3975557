//! Publishing: files, folders and bytes as segmented objects that consumers discover and fetch.
//!
//! ```text
//!   /object/32=metadata/v=…/seg=0     the newest version (RDR)      fresh for 10 ms
//!   /object/v=…/seg=0 … seg=n         its segments, FinalBlockId in each
//! ```
//!
//! The format is that of `ndnd cat`, `ndncatchunks` and NDNts. A file is read on demand and is never in memory as a
//! whole. Its version is derived from its ctime, segment size and signing. So a restarted publisher serves the same
//! version, and a consumer can resume it. A change of a file is detected: the old version is no longer served (unless
//! the file was replaced and its old inode still exists), and the metadata lead to the new one. No version mixes the
//! contents of two, as long as the file system maintains the ctime.
//!
//! An Interest that cannot be answered gets no answer: producers send no Nacks.

mod cache;
mod certificates;
mod content;
mod folder;
mod object;
mod publisher;
mod request;
mod source;

use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use weir_core::units::{Bytes, Span};
use weir_packet::Name;
use weir_packet::sign::SignError;

use crate::{App, AppError};

pub use certificates::Certificates;
pub use object::{Signing, TooLarge};
pub use publisher::Publisher;
pub use source::Source;

/// Options of publishing.
#[derive(Debug)]
pub struct PublishOptions {
    /// Content of a segment, bytes. The default is 8000, as in ndnd and ndn-cxx.
    pub segment_size: usize,
    /// The version. By default a file's version is derived from its ctime, and the version of other content is the
    /// current time, µs since 1970.
    pub version: Option<u64>,
    /// How long caches may consider segments fresh, to the millisecond. The default is 10 s, as in ndn-cxx.
    pub freshness: Span,
    /// How Data are signed.
    pub signing: Signing,
    /// Memory for signed packets, so that a repeated request needs no new signature. The default is 32 MiB.
    pub cache: Bytes,
    /// Maximum number of open files of a folder. The default is 64.
    pub open_files: usize,
    /// How long a file must be unmodified before it is served; at least 20 ms, which is the default. A file written
    /// with longer pauses is served as it is in a pause.
    pub settling: Span,
}

impl Default for PublishOptions {
    fn default() -> PublishOptions {
        PublishOptions {
            segment_size: 8000,
            version: None,
            freshness: Span::from_secs(10),
            signing: Signing::Digest,
            cache: Bytes::new(32 << 20),
            open_files: 64,
            settling: Span::from_millis(20),
        }
    }
}

/// Errors of publishing.
#[derive(Debug)]
pub enum PublishError {
    /// The path cannot be opened.
    Unreadable(PathBuf, io::Error),
    /// The path is neither a file nor a folder.
    NotRegular(PathBuf),
    /// The input cannot be copied to this folder.
    Spool(PathBuf, io::Error),
    /// The segments do not fit in packets.
    TooLarge(TooLarge),
    /// The key cannot sign.
    Sign(SignError),
}

impl core::fmt::Display for PublishError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            PublishError::Unreadable(path, error) => write!(f, "{}: {error}", path.display()),
            PublishError::NotRegular(path) => {
                write!(f, "{}: neither a file nor a folder; use - to read a pipe", path.display())
            }
            PublishError::Spool(folder, error) => {
                write!(f, "the input could not be stored in {}: {error}", folder.display())
            }
            PublishError::TooLarge(error) => error.fmt(f),
            PublishError::Sign(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PublishError {}

/// Notices of a publisher.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A version of an object is served from now on.
    Serving {
        /// Name with version.
        name: &'a Name,
        /// Length of the content.
        content: Bytes,
        /// Number of segments.
        segments: u64,
    },
    /// The file of this version has changed. It is no longer served.
    Changed(&'a Name),
    /// The file of this object has changed, but its content has no new version: the version was given, or the file
    /// system does not record changes. It is not served.
    SameVersion(&'a Name),
    /// The file of this object is being written. It is served as soon as it is left alone.
    BeingWritten(&'a Name),
    /// The file of this object cannot be read.
    Unreadable(&'a Name, &'a io::Error),
    /// Segments of this object do not fit in packets.
    TooLarge(&'a Name, TooLarge),
}

impl Notice<'_> {
    /// The kind of notice, and the name.
    fn key(&self) -> (u8, &Name) {
        match self {
            Notice::Serving { name, .. } => (0, name),
            Notice::Changed(name) => (1, name),
            Notice::SameVersion(name) => (2, name),
            Notice::BeingWritten(name) => (3, name),
            Notice::Unreadable(name, _) => (4, name),
            Notice::TooLarge(name, _) => (5, name),
        }
    }
}

/// Counters of a publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishCounters {
    /// Received Interests.
    pub interests: u64,
    /// Sent Data.
    pub data: u64,
    /// Their length as whole packets, bytes.
    pub bytes: u64,
    /// Number of created signatures. Other Data came from the cache.
    pub signed: u64,
}

/// A handle to inspect a running publisher.
#[derive(Clone, Debug)]
pub struct Published {
    counters: Rc<Cell<PublishCounters>>,
}

impl Published {
    /// The counters.
    pub fn counters(&self) -> PublishCounters {
        self.counters.get()
    }
}

impl App {
    /// Registers the prefix of a publisher with the forwarder, and answers its Interests from then on.
    ///
    /// # Errors
    /// Returns the errors of [`App::produce`].
    pub fn publish(&mut self, publisher: Publisher) -> Result<Published, AppError> {
        let published = publisher.published();
        self.produce(publisher.name().clone(), Box::new(publisher))?;
        Ok(published)
    }
}
