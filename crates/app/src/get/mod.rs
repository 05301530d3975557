//! Fetching objects: discovered, fetched with congestion control, verified, in order.
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
//! There are three ways to take the content: a callback ([`Fetcher::for_each`]), a reader
//! ([`Fetcher::into_reader`]) and a file that resumes ([`Fetcher::to_file`]). In each, what was not verified is not
//! delivered.

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

/// How long it is asked whether a segment of an older version can be had: three tries.
const OLD_VERSION: Span = Span::from_secs(7);

/// What to get, and how.
#[derive(Clone, Debug)]
pub struct Get {
    /// The name: with a version it is the object's, without one the newest version is looked for.
    pub name: Name,
    /// Whether a version is looked for. If not, segments follow the name as it is.
    pub discovery: bool,
    /// The forwarding hint of its Interests: names of networks that lead to the producer, the first choice first.
    /// Certificates are asked for with the hint and without it by turns.
    pub hint: Vec<Name>,
    /// The service class of its Interests.
    pub class: ServiceClass,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// How long anything may be missing before it is given up: the metadata, a certificate, the oldest segment that is
    /// missing; `None`: for ever.
    pub patience: Option<Span>,
    /// Memory for segments that arrive out of order: more is not asked for.
    pub memory: Bytes,
}

impl Get {
    /// The newest version, in the class Best Effort, with a minute's patience and 256 MB of memory.
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

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name, which segment numbers follow.
    pub name: Name,
    /// Its last segment, if its metadata say.
    pub last_segment: Option<u64>,
    /// Its content and how it is signed, if it is a single Data without a segment number.
    whole: Option<(Vec<u8>, SignatureType)>,
}

impl Object {
    fn named(name: Name) -> Object {
        Object { name, last_segment: None, whole: None }
    }
}

/// What a callback is told.
#[derive(Debug)]
pub enum Progress<'a> {
    /// It is being looked for, or asked whether it is still there; ten times a second.
    Searching,
    /// A partial file is not gone on with: everything is fetched from the beginning.
    Discarded(&'a Discarded),
    /// What came is not to be believed, and why: it is asked for again, past the content stores on the way.
    Refused(&'a GetError),
    /// It was found.
    Found {
        /// What was found.
        object: &'a Object,
        /// The segment that it begins with: what is before was there.
        first: u64,
        /// Bytes that were there.
        bytes: u64,
    },
    /// The content of the next segment, verified.
    Content {
        /// Its number.
        segment: u64,
        /// Its content.
        content: &'a [u8],
        /// How the content is signed until here: [`SignatureType::DigestSha256`] only if all of it has a digest.
        signature: SignatureType,
    },
    /// How things are; ten times a second.
    Status(&'a Status<'a>),
}

/// How things are.
#[derive(Clone, Debug)]
pub struct Status<'a> {
    /// The object.
    pub object: &'a Name,
    /// The segment that was begun with.
    pub first: u64,
    /// The segment that is to be delivered next.
    pub next: u64,
    /// The last segment, once it is known.
    pub last: Option<u64>,
    /// Bytes of content that were delivered.
    pub bytes: u64,
    /// Time since the first segment was asked for.
    pub elapsed: Span,
    /// Rate at which content was delivered in the last second or so.
    pub rate: Rate,
    /// The scheme's window or rate.
    pub gauge: Option<Gauge>,
    /// What the user should know of the scheme's present state.
    pub notice: Option<&'static str>,
    /// Pending Interests.
    pub pending: u32,
    /// The smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Data that came with a congestion mark.
    pub marks: u64,
    /// What its consumer has counted.
    pub counters: ConsumerCounters,
    /// Whether the forwarder is there.
    pub is_connected: bool,
}

/// What was got.
#[derive(Clone, Debug)]
pub struct Report {
    /// The object.
    pub object: Name,
    /// The segment that was begun with.
    pub first: u64,
    /// The segment behind the last one.
    pub next: u64,
    /// Bytes of content that were delivered; those that were there before do not count.
    pub bytes: u64,
    /// Time from the first Interest for a segment to the last Data.
    pub elapsed: Span,
    /// How its content is signed, also what was there before: [`SignatureType::DigestSha256`] only if all of it has a
    /// digest, else as the first that has none. `None` if that is not known.
    pub signature: Option<SignatureType>,
    /// From the first sending of an Interest to its Data, µs; `None` if no segment was fetched.
    pub delays_us: Option<Histogram<u64>>,
    /// The smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Data that came with a congestion mark.
    pub marks: u64,
    /// What its consumer has counted.
    pub counters: ConsumerCounters,
}

impl Report {
    /// Of what did not have to be fetched by segments.
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

/// What is told how things go, handed the content, and says whether to go on.
pub type Each<'a> = dyn FnMut(Progress<'_>) -> ControlFlow<()> + 'a;

/// Gets an object by an application's connection.
pub struct Fetcher<'a> {
    app: &'a mut App,
    get: Get,
    scheme: &'a dyn Scheme,
    validator: Validator,
    /// Whom it believes, for the notes of partial files; empty: anybody.
    trust: String,
}

impl<'a> Fetcher<'a> {
    /// Gets with this scheme's flow control. Where Data have a digest it must be right; signatures of keys are not
    /// looked at, unless [`Fetcher::trusting`] says whose.
    pub fn new(app: &'a mut App, get: Get, scheme: &'a dyn Scheme) -> Fetcher<'a> {
        let validator = Validator::new(Trust::Any).expect("it has no anchor that could be wrong");
        Fetcher { app, get, scheme, validator, trust: String::new() }
    }

    /// Believes only what these have signed: metadata and segments.
    ///
    /// # Errors
    /// The anchor's key cannot be used.
    pub fn trusting(mut self, trust: Trust) -> Result<Fetcher<'a>, CertificateError> {
        self.trust = words(&trust);
        self.validator = Validator::new(trust)?;
        Ok(self)
    }

    /// Hands the content to a callback.
    ///
    /// # Errors
    /// [`GetError`]; what was delivered until then is right.
    pub fn for_each(&mut self, each: &mut Each<'_>) -> Result<Report, GetError> {
        let object = self.find(each)?;
        self.transfer(&object, (0, 0), each)
    }

    /// The content as something to read from, after it was found.
    ///
    /// # Errors
    /// [`GetError`]: it was not found.
    pub fn into_reader(self) -> Result<Reader<'a>, GetError> {
        Reader::new(self)
    }

    /// Writes the content to a file, which is there when it is complete. What stops before is gone on with by the
    /// same call: see the head of this module's `partial`. A path that is no ordinary file, such as a device, is
    /// written directly.
    ///
    /// # Errors
    /// [`GetError`]. What is right of the content stays beside the file, in `FILE.part`.
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

    /// Writes the content to something that cannot be gone on with; errors name it as `path`.
    ///
    /// # Errors
    /// [`GetError`]; what was written until then is right.
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

    /// Goes on with a file.
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

    /// The object that goes into a file: that of its part, if it is the one that is found, or an older version that can
    /// still be had.
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
        // Of a name that is taken as it is there are no versions.
        let is_version = self.get.discovery && old.name.view().len() > self.get.name.view().len();
        if is_version && self.can_be_had(file, (&old, newest), found.is_ok(), each)? {
            return Ok(old);
        }
        if found.is_ok() {
            told(each(Progress::Discarded(&Discarded::Gone(old.name))))?;
        }
        found
    }

    /// The newest segment of a part must be what it was.
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

    /// Whether the rest of a part is still there, as far as the next segment and the last one tell: a cache may have
    /// any of them. Where another object can be had, it may also be there and no longer to be believed.
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

    /// A single segment, verified.
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

    /// Finds the object.
    fn find(&mut self, each: &mut Each<'_>) -> Result<Object, GetError> {
        let name = self.get.name.clone();
        if !self.get.discovery {
            return Ok(Object::named(name));
        }
        self.requester(self.get.patience, each, |requester| discovery::find(&name, requester))
    }

    /// Asks for single Data; `each` is told that it is being looked for.
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

    /// Fetches the segments of an object, from one on.
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

/// Whom a get believes, in a note: what is the same for the same keys only.
fn words(trust: &Trust) -> String {
    match trust {
        Trust::Any => String::new(),
        Trust::Key(key) | Trust::NamedKey(_, key) => format!("key {}", hex(&key.fingerprint())),
        Trust::Anchor(anchor) => format!("anchor {} {}", anchor.name(), hex(&sha256(anchor.wire()))),
    }
}

/// How content is signed, of which some is signed as `before` and some as `now`.
fn weakest(before: Option<SignatureType>, now: SignatureType) -> SignatureType {
    before.filter(|before| *before != SignatureType::DigestSha256).unwrap_or(now)
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether to go on.
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
