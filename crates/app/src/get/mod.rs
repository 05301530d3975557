//! Fetching of objects: discovered, fetched with congestion control, verified, and delivered in order.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use core::ops::ControlFlow;
//! use weir_app::App;
//! use weir_app::get::{Fetcher, Get, Progress};
//!
//! let scheme = weir_schemes::find(weir_schemes::FETCHING).ok_or("no such scheme")?.for_application();
//! let mut app = App::connect(&weir_management::client::Endpoint::of_environment()?)?;
//! let report = Fetcher::new(&mut app, Get::new("/movies/a".parse()?), &*scheme).for_each(&mut |progress| {
//!     if let Progress::Content { content, .. } = progress {
//!         println!("{} more bytes", content.len());
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} bytes of {}", report.bytes, report.object);
//! # Ok(())
//! # }
//! ```
//!
//! There are three ways to receive the content: a callback ([`Fetcher::for_each`]), a reader ([`Fetcher::into_reader`])
//! and a resumable file ([`Fetcher::to_file`]). All deliver only verified content.

mod assembly;
mod discovery;
mod error;
mod final_segment;
mod partial;
mod reader;
mod reorder_buffer;
mod requester;
mod transfer;

use core::ops::ControlFlow;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use hdrhistogram::Histogram;
use weir_core::consumer::ConsumerCounters;
use weir_core::seam::{Gauge, Scheme};
use weir_core::units::{Bytes, Rate, Span};
use weir_keychain::{CertificateError, Trust, Validator};
use weir_packet::sign::sha256;
use weir_packet::{ContentType, Data, Name, ServiceClass, SignatureType};

use crate::{App, SingleInterest};
use requester::Requester;
use transfer::Transfer;

pub use assembly::Assembly;
pub use error::GetError;
pub use partial::{Discarded, PartialFile};
pub use reader::Reader;

/// How long to ask for a segment of an older version: three tries.
const OLD_VERSION: Span = Span::from_secs(7);

/// What to fetch, and how.
#[derive(Clone, Debug)]
pub struct Get {
    /// The name. With a version it is the object's name; without one, the newest version is discovered.
    pub name: Name,
    /// Whether to discover the version. If not, segment numbers follow the name directly.
    pub discovery: bool,
    /// The forwarding hint of the Interests: names of networks that lead to the producer, most preferred first.
    /// Interests for certificates alternate between with and without the hint.
    pub hint: Vec<Name>,
    /// The service class of the Interests.
    pub class: ServiceClass,
    /// Lifetime of the Interests.
    pub lifetime: Span,
    /// How long the metadata, a certificate or the oldest missing segment may be missing before the fetch fails;
    /// `None`: forever.
    pub patience: Option<Span>,
    /// Memory for segments that arrive out of order. It bounds how far ahead segments are requested.
    pub memory: Bytes,
}

impl Get {
    /// Fetches the newest version, in the class Best Effort, with a patience of one minute and 256 MB of memory.
    pub fn new(name: Name) -> Get {
        Get {
            name,
            discovery: true,
            hint: Vec::new(),
            class: ServiceClass::Be,
            lifetime: Span::from_secs(4),
            patience: Some(Span::from_secs(60)),
            memory: Bytes::new(256_000_000),
        }
    }
}

/// A discovered object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The object's name. Segment numbers follow it.
    pub name: Name,
    /// The object's last segment, if the metadata contain it.
    pub last_segment: Option<u64>,
    /// Content and signature type, if the object is a single Data without a segment number.
    whole: Option<(Vec<u8>, SignatureType)>,
}

impl Object {
    fn named(name: Name) -> Object {
        Object { name, last_segment: None, whole: None }
    }
}

/// Events passed to the callback.
#[derive(Debug)]
pub enum Progress<'a> {
    /// Discovery is in progress, or the check whether the object still exists. Reported ten times a second.
    Searching,
    /// A partial file cannot be resumed. Everything is fetched from the beginning.
    Discarded(&'a Discarded),
    /// A Data was rejected, and why. It is requested again, bypassing content stores.
    Refused(&'a GetError),
    /// The object was discovered.
    Found {
        /// The object.
        object: &'a Object,
        /// The first segment to fetch. Earlier segments are already in the file.
        first: u64,
        /// Number of bytes already in the file.
        bytes: u64,
    },
    /// The verified content of the next segment.
    Content {
        /// Segment number.
        segment: u64,
        /// Its content.
        content: &'a [u8],
        /// Signature type of the content so far: [`SignatureType::DigestSha256`] only if all of it has a digest.
        signature: SignatureType,
    },
    /// The current state, ten times a second.
    Status(&'a Status<'a>),
}

/// The current state of a fetch.
#[derive(Clone, Debug)]
pub struct Status<'a> {
    /// The object.
    pub object: &'a Name,
    /// The first fetched segment.
    pub first: u64,
    /// The next segment to deliver.
    pub next: u64,
    /// The last segment, if known.
    pub last: Option<u64>,
    /// Number of delivered bytes of content.
    pub bytes: u64,
    /// Time since the first Interest for a segment.
    pub elapsed: Span,
    /// Rate of delivery in about the last second.
    pub rate: Rate,
    /// The scheme's congestion window or rate.
    pub gauge: Option<Gauge>,
    /// A message from the scheme for the user about its present state.
    pub notice: Option<&'static str>,
    /// Pending Interests.
    pub pending: u32,
    /// The smoothed round-trip time (SRTT).
    pub srtt: Option<Span>,
    /// Number of Data with a congestion mark.
    pub marks: u64,
    /// Counters of the consumer.
    pub counters: ConsumerCounters,
    /// Whether the forwarder is connected.
    pub is_connected: bool,
}

/// The result of a fetch.
#[derive(Clone, Debug)]
pub struct Report {
    /// The object.
    pub object: Name,
    /// The first fetched segment.
    pub first: u64,
    /// The segment after the last one.
    pub next: u64,
    /// Number of delivered bytes of content, without those that were already in the file.
    pub bytes: u64,
    /// Time from the first Interest for a segment to the last Data.
    pub elapsed: Span,
    /// Signature type of the content, including what was already in the file: [`SignatureType::DigestSha256`] only if
    /// all of it has a digest, else the type of the first segment without one. `None` if unknown.
    pub signature: Option<SignatureType>,
    /// Delays from the first transmission of an Interest to its Data, µs; `None` if no segment was fetched.
    pub delays_us: Option<Histogram<u64>>,
    /// The smoothed round-trip time (SRTT).
    pub srtt: Option<Span>,
    /// Number of Data with a congestion mark.
    pub marks: u64,
    /// Counters of the consumer.
    pub counters: ConsumerCounters,
}

impl Report {
    /// The report of an object that was not fetched in segments.
    fn without_segments(object: Name, bytes: u64, signature: Option<SignatureType>) -> Report {
        Report {
            object,
            first: 0,
            next: 0,
            bytes,
            elapsed: Span::ZERO,
            signature,
            delays_us: None,
            srtt: None,
            marks: 0,
            counters: ConsumerCounters::default(),
        }
    }
}

/// The callback: receives progress and content, and decides whether to continue.
pub type Each<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// Fetches an object over an application's connection.
pub struct Fetcher<'a> {
    app: &'a mut App,
    get: Get,
    scheme: &'a dyn Scheme,
    validator: Validator,
    /// The trusted keys, for notes of partial files. Empty: any key.
    trust: String,
}

impl<'a> Fetcher<'a> {
    /// Creates a fetcher with this scheme's congestion control. Digests of Data are always checked. Signatures by keys
    /// are checked only after [`Fetcher::trusting`].
    pub fn new(app: &'a mut App, get: Get, scheme: &'a dyn Scheme) -> Fetcher<'a> {
        let validator = Validator::new(Trust::Any).expect("it has no anchor that could be wrong");
        Fetcher { app, get, scheme, validator, trust: String::new() }
    }

    /// Accepts only metadata and segments that the given trust covers.
    ///
    /// # Errors
    /// Returns an error if the anchor's key cannot be used.
    pub fn trusting(mut self, trust: Trust) -> Result<Fetcher<'a>, CertificateError> {
        self.trust = words(&trust);
        self.validator = Validator::new(trust)?;
        Ok(self)
    }

    /// Passes the content to a callback.
    ///
    /// # Errors
    /// Returns [`GetError`]. The content delivered before is valid.
    pub fn for_each(&mut self, each: &mut Each<'_>) -> Result<Report, GetError> {
        let object = self.find(each)?;
        self.transfer(&object, (0, 0), each)
    }

    /// Discovers the object and returns a reader of its content.
    ///
    /// # Errors
    /// Returns [`GetError`] if the object was not found.
    pub fn into_reader(self) -> Result<Reader<'a>, GetError> {
        Reader::new(self)
    }

    /// Writes the content to a file, which appears when it is complete. The same call resumes an interrupted fetch: see
    /// the head of this module's `partial`. If the path is not an ordinary file, for example a device, it is written
    /// directly.
    ///
    /// # Errors
    /// Returns [`GetError`]. The valid content stays beside the file, in `FILE.part`.
    pub fn to_file(&mut self, path: &Path, each: &mut Each<'_>) -> Result<Report, GetError> {
        if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let output = OpenOptions::new().write(true).open(path);
            let mut output = output.map_err(|error| GetError::File(path.to_owned(), error))?;
            return self.to_writer(path, &mut output, each);
        }
        let (mut file, discarded) = PartialFile::open(path, &self.get.name, &self.trust)?;
        if let Some(why) = discarded {
            told(each(Progress::Discarded(&why)))?;
        }
        let outcome = self.go_on(&mut file, each);
        match &outcome {
            Ok(_) => file.finish()?,
            Err(error) => file.leave(error)?,
        }
        outcome
    }

    /// Writes the content to a writer without the possibility to resume. `path` is the writer's name in errors.
    ///
    /// # Errors
    /// Returns [`GetError`]. The content written before is valid.
    pub fn to_writer(
        &mut self,
        path: &Path,
        output: &mut dyn Write,
        each: &mut Each<'_>,
    ) -> Result<Report, GetError> {
        let mut failure = None;
        let outcome = self.for_each(&mut |progress| match progress {
            Progress::Content { content, .. } => {
                let written = output.write_all(content);
                written.map_or_else(|error| stop_with(&mut failure, error), ControlFlow::Continue)
            }
            other => each(other),
        });
        let failure = failure.or_else(|| output.flush().err());
        failure.map_or(outcome, |error| Err(GetError::File(path.to_owned(), error)))
    }

    /// Resumes a file.
    fn go_on(&mut self, file: &mut PartialFile, each: &mut Each<'_>) -> Result<Report, GetError> {
        let object = self.find_for(file, each)?;
        file.begin(&object.name);
        let (note, signature) = (file.note().clone(), file.signature());
        if note.last_segment.is_some_and(|last| note.segments > last) {
            told(each(Progress::Found { object: &object, first: note.segments, bytes: note.bytes }))?;
            return Ok(Report {
                first: note.segments,
                next: note.segments,
                ..Report::without_segments(object.name, 0, signature)
            });
        }
        let mut failure = None;
        let outcome = self.transfer(&object, (note.segments, note.bytes), &mut |progress| {
            let written = match &progress {
                Progress::Content { content, signature, .. } => file.write(content, *signature),
                Progress::Status(status) => file.save_now_and_then(status.elapsed, status.last),
                _ => Ok(()),
            };
            match (written, progress) {
                (Err(error), _) => stop_with(&mut failure, error),
                (Ok(()), Progress::Content { .. }) => ControlFlow::Continue(()),
                (Ok(()), progress) => each(progress),
            }
        });
        let report = failure.map_or(outcome, Err)?;
        Ok(Report { signature: report.signature.map(|typ| weakest(signature, typ)), ..report })
    }

    /// Returns the object to write to a file: the object of the partial file, if it is the discovered one or an older
    /// version that is still available; otherwise the discovered one.
    fn find_for(&mut self, file: &mut PartialFile, each: &mut Each<'_>) -> Result<Object, GetError> {
        let found = self.find(each);
        let Some((old, newest)) = file.object() else { return found };
        let old = Object { last_segment: file.note().last_segment, ..Object::named(old) };
        match found {
            Ok(object) if object.name == old.name => {
                self.compare(file, (&old, newest), self.get.patience, each)?;
                return Ok(Object { last_segment: old.last_segment.or(object.last_segment), ..old });
            }
            Ok(_) => {}
            Err(ref error) if error.says_that_nobody_has_it() => {}
            Err(error) => return Err(error),
        }
        // Only discovery finds versions.
        let is_version = self.get.discovery && old.name.view().len() > self.get.name.view().len();
        if is_version && self.can_be_had(file, (&old, newest), found.is_ok(), each)? {
            return Ok(old);
        }
        if found.is_ok() {
            told(each(Progress::Discarded(&Discarded::Gone(old.name))))?;
        }
        found
    }

    /// Checks that the newest segment of the partial file is still the same.
    fn compare(
        &mut self,
        file: &mut PartialFile,
        (object, newest): (&Object, u64),
        patience: Option<Span>,
        each: &mut Each<'_>,
    ) -> Result<(), GetError> {
        let wire = self.segment(object, newest, patience, each)?;
        let content = Data::decode(&wire).map(|data| data.payload().to_vec()).unwrap_or_default();
        if file.ends_with(&content)? {
            return Ok(());
        }
        Err(GetError::Changed { object: object.name.clone(), segment: newest })
    }

    /// Returns whether the rest of a partial file's object is still available, judged by the next and the last segment,
    /// because a cache may have any of them. If another object is available, the rest may also fail verification.
    fn can_be_had(
        &mut self,
        file: &mut PartialFile,
        (object, newest): (&Object, u64),
        is_another_there: bool,
        each: &mut Each<'_>,
    ) -> Result<bool, GetError> {
        let patience = Some(self.get.patience.map_or(OLD_VERSION, |patience| patience.min(OLD_VERSION)));
        let mut outcome = self.compare(file, (object, newest), patience, each);
        let last = object.last_segment.unwrap_or(newest + 1);
        for segment in [newest + 1, last].into_iter().filter(|segment| (newest + 1..=last).contains(segment))
        {
            outcome = outcome.and_then(|()| self.segment(object, segment, patience, each).map(|_| ()));
        }
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.says_that_nobody_has_it() => Ok(false),
            Err(error) if is_another_there && error.says_that_it_is_not_believed() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fetches a single verified segment.
    fn segment(
        &mut self,
        object: &Object,
        segment: u64,
        patience: Option<Span>,
        each: &mut Each<'_>,
    ) -> Result<Vec<u8>, GetError> {
        let name = object.name.clone().with_segment(segment);
        let interest = SingleInterest { hint: self.get.hint.clone(), ..SingleInterest::new(name) };
        let wire = self.requester(patience, each, |requester| requester.fetch_verified(&interest))?;
        let is_absent =
            Data::decode(&wire).is_ok_and(|data| data.meta.content_type == Some(ContentType::Nack));
        if is_absent { Err(GetError::Absent(interest.name)) } else { Ok(wire) }
    }

    /// Discovers the object.
    fn find(&mut self, each: &mut Each<'_>) -> Result<Object, GetError> {
        let name = self.get.name.clone();
        if !self.get.discovery {
            return Ok(Object::named(name));
        }
        self.requester(self.get.patience, each, |requester| discovery::find(&name, requester))
    }

    /// Fetches single Data. `each` is told that discovery is in progress.
    fn requester<T>(
        &mut self,
        patience: Option<Span>,
        each: &mut Each<'_>,
        ask: impl FnOnce(&mut Requester<'_, '_>) -> Result<T, GetError>,
    ) -> Result<T, GetError> {
        let Get { class, hint, .. } = &self.get;
        let validator = &mut self.validator;
        ask(&mut Requester { app: self.app, validator, hint, class: *class, patience, each })
    }

    /// Fetches the segments of an object from `first` on.
    fn transfer(
        &mut self,
        object: &Object,
        (first, bytes): (u64, u64),
        each: &mut Each<'_>,
    ) -> Result<Report, GetError> {
        told(each(Progress::Found { object, first, bytes }))?;
        if let Some((content, signature)) = &object.whole {
            told(each(Progress::Content { segment: 0, content, signature: *signature }))?;
            let bytes = content.len() as u64;
            return Ok(Report::without_segments(object.name.clone(), bytes, Some(*signature)));
        }
        let mut transfer = Transfer::start(self.app, &self.get, self.scheme, object, first)?;
        let flow = transfer.flow;
        let done = self.run(&mut transfer, each);
        let report = transfer.report(self.app);
        self.app.forget(flow);
        done.map(|()| report)
    }

    fn run(&mut self, transfer: &mut Transfer, each: &mut Each<'_>) -> Result<(), GetError> {
        loop {
            let mut is_done = transfer.turn(self.app, &mut self.validator, false, each)?;
            while transfer.wants_more() {
                transfer.fetch_wanted(self.app, &mut self.validator, each)?;
                is_done = transfer.verify_waiting(self.app, &mut self.validator, each)?;
            }
            told(each(Progress::Status(&transfer.status(self.app))))?;
            if is_done {
                return Ok(());
            }
        }
    }
}

/// The trusted keys as text for a note. The text is equal only for equal keys.
fn words(trust: &Trust) -> String {
    match trust {
        Trust::Any => String::new(),
        Trust::Key(key) | Trust::NamedKey(_, key) => format!("key {}", hex(&key.fingerprint())),
        Trust::Anchor(anchor) => format!("anchor {} {}", anchor.name(), hex(&sha256(anchor.wire()))),
    }
}

/// The signature type of content of which one part is signed as `before` and the other as `now`.
fn weakest(before: Option<SignatureType>, now: SignatureType) -> SignatureType {
    before.filter(|before| *before != SignatureType::DigestSha256).unwrap_or(now)
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fails if the callback stopped the fetch.
fn told(flow: ControlFlow<()>) -> Result<(), GetError> {
    if flow.is_break() { Err(GetError::Stopped) } else { Ok(()) }
}

fn stop_with<E>(failure: &mut Option<E>, error: E) -> ControlFlow<()> {
    *failure = Some(error);
    ControlFlow::Break(())
}

impl core::fmt::Debug for Fetcher<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Fetcher").field("get", &self.get).finish_non_exhaustive()
    }
}
