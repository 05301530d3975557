//! Publishing: files, folders and bytes as segmented objects that consumers find and fetch.
//!
//! ```text
//!   /object/32=metadata/v=…/seg=0     the newest version (RDR)      fresh for 10 ms
//!   /object/v=…/seg=0 … seg=n         its segments, FinalBlockId in each
//! ```
//!
//! As `ndnd cat`, `ndncatchunks` and NDNts fetch them. A file is read where it is asked for, and is never in memory
//! as a whole. Its version is the time of its last change (ctime) and how it is cut and signed, so a publisher that was
//! restarted serves the same version, and who has a part of it can go on. A file that changes while it is served is
//! told apart: the old version is answered no longer (unless its file was replaced by another and is still there), the
//! new one is found by its metadata. No version has parts of two, as long as the file system keeps that time.
//!
//! What cannot be answered is left unanswered: there are no Nacks of producers.

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

/// How objects are published.
#[derive(Debug)]
pub struct PublishOptions {
    /// Content of a segment, bytes. The default is 8000, as ndnd and ndn-cxx have it.
    pub segment_size: usize,
    /// The version. By default that of a file says when it was changed, and that of anything else is now, µs since
    /// 1970.
    pub version: Option<u64>,
    /// How long caches may consider segments fresh, to the millisecond. The default is 10 s, as ndn-cxx has it.
    pub freshness: Span,
    /// What signs.
    pub signing: Signing,
    /// Memory for packets that were signed, so that who asks again does not have them signed again. The default is 32
    /// MiB.
    pub cache: Bytes,
    /// How many files of a folder are open at most. The default is 64.
    pub open_files: usize,
    /// How long a file must have been left alone before it is served, 20 ms at least, which is the default: what is
    /// written with longer pauses is served as it is in a pause.
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

/// Why something is not published.
#[derive(Debug)]
pub enum PublishError {
    /// This cannot be opened.
    Unreadable(PathBuf, io::Error),
    /// This is neither a file nor a folder.
    NotRegular(PathBuf),
    /// What was read could not be put into this folder.
    Spool(PathBuf, io::Error),
    /// Its segments do not fit in packets.
    TooLarge(TooLarge),
    /// The key does not sign.
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

/// What a publisher tells besides answering.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A version of an object is served from now on.
    Serving {
        /// Its name, with the version.
        name: &'a Name,
        /// Its length.
        content: Bytes,
        /// How many segments it has.
        segments: u64,
    },
    /// The file of this version was changed: it is answered no longer.
    Changed(&'a Name),
    /// The file of this object was changed, but there is no other version for what is in it now: the version
    /// was given, or the file system does not tell when a file was changed. It is not answered.
    SameVersion(&'a Name),
    /// The file of this object is being written to. It is served as soon as it is left alone.
    BeingWritten(&'a Name),
    /// The file of this object cannot be read.
    Unreadable(&'a Name, &'a io::Error),
    /// Segments of this object do not fit in packets.
    TooLarge(&'a Name, TooLarge),
}

impl Notice<'_> {
    /// Which kind it is, and of which name.
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

/// What a publisher has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishCounters {
    /// Interests that came.
    pub interests: u64,
    /// Data that answered them.
    pub data: u64,
    /// Their length: whole packets, bytes.
    pub bytes: u64,
    /// How many were signed; the others were sent again.
    pub signed: u64,
}

/// A look at a publisher while it runs.
#[derive(Clone, Debug)]
pub struct Published {
    counters: Rc<Cell<PublishCounters>>,
}

impl Published {
    /// What it has done.
    pub fn counters(&self) -> PublishCounters {
        self.counters.get()
    }
}

impl App {
    /// Registers the prefix of a publisher with the forwarder, and has its Interests answered from then on.
    ///
    /// # Errors
    /// As [`App::produce`].
    pub fn publish(&mut self, publisher: Publisher) -> Result<Published, AppError> {
        let published = publisher.published();
        self.produce(publisher.name().clone(), Box::new(publisher))?;
        Ok(published)
    }
}
