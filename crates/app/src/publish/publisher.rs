//! The producer of published objects.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;

use weir_core::packet::Packet;
use weir_core::units::{Bytes, Span, Time};
use weir_net::clock::{Clock, wall_us};
use weir_packet::sign::implicit_digest;
use weir_packet::{Name, NameRef};

use super::cache::Cache;
use super::content::{Content, ReadError};
use super::object::{NoSegment, Object, Packing};
use super::request::{self, Part};
use super::{Notice, PublishCounters, PublishError, PublishOptions, Published, Source, TooLarge};
use crate::Serve;
use crate::rdr::{Metadata, metadata_name};

/// How long caches may consider metadata fresh, as in ndn-cxx, ndnd and NDNts.
const METADATA_FRESHNESS: Span = Span::from_millis(10);
/// Additional time to wait for a recently changed file. Assumed: shorter than a user's patience.
const PATIENCE: Span = Span::from_secs(1);
/// Maximum number of kept versions of one object.
const MAX_VERSIONS: usize = 4;
/// Maximum number of kept metadata, to be sent again while they are fresh.
const MAX_METADATA: usize = 64;
/// Maximum number of remembered notices, so that none is given twice.
const MAX_NOTICED: usize = 1024;

/// Created metadata.
struct MadeMetadata {
    own_name: Vec<u8>,
    /// Version of the metadata: creation time, µs since 1970, or later than the previous one if the clock was set back.
    version: u64,
    /// Creation time on a monotonic clock.
    made_at: Time,
    wire: Vec<u8>,
}

/// The callback for notices.
type OnNotice = dyn FnMut(Notice<'_>);

/// Answers the Interests for the objects published under a prefix.
pub struct Publisher {
    prefix: Name,
    prefix_len: usize,
    source: Source,
    /// Whether there is a single object that never changes.
    is_fixed: bool,
    packing: Packing,
    version: Option<u64>,
    /// How long a file must be unmodified.
    settling: Span,
    /// Maximum number of open files.
    open_files: usize,
    /// Requested versions, the most recently used at the end.
    objects: Vec<Object>,
    objects_made: u64,
    metadata: VecDeque<MadeMetadata>,
    /// Version of the last metadata.
    last_metadata: u64,
    clock: Clock,
    cache: Cache,
    counters: Rc<Cell<PublishCounters>>,
    on_notice: Box<OnNotice>,
    noticed: BTreeSet<(u8, Vec<u8>)>,
    /// Reused between segments.
    content: Vec<u8>,
}

impl Publisher {
    /// Publishes a source under a name, once it is passed to [`App::publish`](crate::App::publish). `on_notice`
    /// receives notices.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, segments do not fit in packets, or the key cannot sign.
    pub fn new(
        name: Name,
        source: Source,
        options: PublishOptions,
        on_notice: impl FnMut(Notice<'_>) + 'static,
    ) -> Result<Publisher, PublishError> {
        let packing = Packing {
            segment_size: options.segment_size,
            freshness_ms: options.freshness.as_nanos() / 1_000_000,
            signing: options.signing,
        };
        packing.check(&name.clone().with_version(u64::MAX), 0).map_err(PublishError::TooLarge)?;
        let mut publisher = Publisher {
            prefix_len: name.len(),
            prefix: name,
            source,
            is_fixed: false,
            packing,
            version: options.version,
            settling: options.settling,
            open_files: options.open_files.max(1),
            objects: Vec::new(),
            objects_made: 0,
            metadata: VecDeque::new(),
            last_metadata: 0,
            clock: Clock::start(),
            cache: Cache::new(options.cache.as_u64() as usize),
            counters: Rc::default(),
            on_notice: Box::new(on_notice),
            noticed: BTreeSet::new(),
            content: Vec::new(),
        };
        publisher.begin()?;
        Ok(publisher)
    }

    /// Opens the single object, if there is one, and checks that the key can sign.
    fn begin(&mut self) -> Result<(), PublishError> {
        let name = self.prefix.clone().with_version(0);
        self.packing.pack(name.view(), &[], 0, None, &mut Vec::new()).map_err(PublishError::Sign)?;
        if self.source.is_folder() {
            return Ok(());
        }
        if let Some(content) = self.source.take_fixed() {
            self.is_fixed = true;
            let version = self.version.unwrap_or_else(wall_us);
            return self.add(NameRef::ROOT, version, content).map(drop).map_err(PublishError::TooLarge);
        }
        let until = wall_us() + (self.settling + PATIENCE).as_nanos() / 1000;
        loop {
            let found =
                self.source.file(NameRef::ROOT).and_then(|file| file.ok_or(io::ErrorKind::NotFound.into()));
            let (file, stamp) = found.map_err(|error| self.source.unreadable(error))?;
            let left = stamp.settles_in_us(wall_us(), self.settling);
            if left == 0 {
                let version = self.version.unwrap_or_else(|| stamp.version(&self.packing));
                let added = self.add(NameRef::ROOT, version, Content::File(file, stamp));
                return added.map(drop).map_err(PublishError::TooLarge);
            }
            if wall_us() > until {
                let name = self.prefix.clone();
                self.notice(Notice::BeingWritten(&name));
                return Ok(());
            }
            #[expect(clippy::disallowed_methods, reason = "a change of a file must show in its time")]
            std::thread::sleep(core::time::Duration::from_micros(left));
        }
    }

    /// The name under which it publishes.
    pub fn name(&self) -> &Name {
        &self.prefix
    }

    /// A handle to inspect it while it runs.
    pub fn published(&self) -> Published {
        Published { counters: Rc::clone(&self.counters) }
    }

    /// Gives a notice about a name, once.
    fn notice(&mut self, notice: Notice<'_>) {
        if self.noticed.len() >= MAX_NOTICED {
            self.noticed.clear();
        }
        let (kind, name) = notice.key();
        if self.noticed.insert((kind, name.value().to_vec())) {
            (self.on_notice)(notice);
        }
    }

    /// Adds a version of an object. Returns its index.
    fn add(&mut self, own_name: NameRef<'_>, version: u64, content: Content) -> Result<usize, TooLarge> {
        let mut versioned = self.prefix.clone();
        versioned.extend(own_name);
        versioned.push_version(version);
        self.packing.check(&versioned, content.len())?;
        let bytes = content.len();
        let last_segment = self.packing.last_segment(bytes);
        let (content_len, segments) = (Bytes::new(bytes), last_segment + 1);
        self.notice(Notice::Serving { name: &versioned, content: content_len, segments });
        self.make_room(own_name);
        self.objects_made += 1;
        let own_name = own_name.value().to_vec();
        self.objects.push(Object {
            id: self.objects_made,
            own_name,
            versioned,
            version,
            content,
            last_segment,
            is_gone: false,
        });
        Ok(self.objects.len() - 1)
    }

    /// Closes the least recently used object: a version of this object if there are many, else any.
    fn make_room(&mut self, own_name: NameRef<'_>) {
        let is_own = |object: &Object| object.own_name == own_name.value();
        if self.objects.iter().filter(|object| is_own(object)).count() >= MAX_VERSIONS
            && let Some(oldest) = self.objects.iter().position(is_own)
        {
            self.objects.remove(oldest);
        }
        if self.objects.len() >= self.open_files {
            self.objects.remove(0);
        }
    }

    /// Moves an object to the end, as the most recently used. Returns its new index.
    fn touch(&mut self, place: usize) -> usize {
        self.objects[place..].rotate_left(1);
        self.objects.len() - 1
    }

    /// The newest version of an object: the present content of its file.
    fn newest(&mut self, own_name: NameRef<'_>) -> Option<usize> {
        if self.is_fixed {
            return self.place(own_name, |_| true);
        }
        let mut name = self.prefix.clone();
        name.extend(own_name);
        let (file, stamp) = match self.source.file(own_name) {
            Ok(Some(found)) => found,
            // Anybody can request a file that never existed: do not report it.
            Ok(None) => {
                if self.place(own_name, |_| true).is_some() {
                    self.notice(Notice::Unreadable(&name, &io::ErrorKind::NotFound.into()));
                }
                return None;
            }
            Err(error) => {
                self.notice(Notice::Unreadable(&name, &error));
                return None;
            }
        };
        let is_same = |object: &Object| {
            !object.is_gone
                && matches!(&object.content, Content::File(_, known) if known.has_same_content(&stamp))
        };
        if let Some(place) = self.place(own_name, is_same) {
            return Some(self.touch(place));
        }
        if stamp.settles_in_us(wall_us(), self.settling) > 0 {
            self.notice(Notice::BeingWritten(&name));
            return None;
        }
        let version = self.version.unwrap_or_else(|| stamp.version(&self.packing));
        if let Some(place) = self.place(own_name, |object| object.version == version) {
            // Another file, or other content, has the same version. A consumer with a part of the old one must not
            // receive parts of the new one.
            self.gone(place);
            self.notice(Notice::SameVersion(&name));
            return None;
        }
        match self.add(own_name, version, Content::File(file, stamp)) {
            Ok(place) => Some(place),
            Err(error) => {
                self.notice(Notice::TooLarge(&name, error));
                None
            }
        }
    }

    /// The index of an object for which `is_it` is true.
    fn place(&self, own_name: NameRef<'_>, is_it: impl Fn(&Object) -> bool) -> Option<usize> {
        self.objects.iter().rposition(|object| object.own_name == own_name.value() && is_it(object))
    }

    /// The index of a version of an object.
    fn version(&mut self, own_name: NameRef<'_>, version: u64) -> Option<usize> {
        if let Some(place) = self.place(own_name, |object| object.version == version) {
            return Some(self.touch(place));
        }
        self.newest(own_name).filter(|&place| self.objects[place].version == version)
    }

    /// Marks an object whose file has changed.
    fn gone(&mut self, place: usize) {
        self.objects[place].is_gone = true;
        let name = self.objects[place].versioned.clone();
        self.notice(Notice::Changed(&name));
    }

    /// Appends a segment. Returns whether there is one.
    fn segment(&mut self, place: usize, segment: u64, out: &mut Vec<u8>) -> bool {
        let object = &self.objects[place];
        if object.is_gone || segment > object.last_segment {
            return false;
        }
        let key = (object.id, segment);
        if let Some(packet) = self.cache.find(key) {
            out.extend_from_slice(packet);
            return true;
        }
        match object.segment(segment, &self.packing, &mut self.content, out) {
            Ok(()) => {
                self.count(|counters| counters.signed += 1);
                self.cache.keep(key, out);
                return true;
            }
            Err(NoSegment::Read(ReadError::Changed)) => self.gone(place),
            Err(NoSegment::Read(ReadError::Io(error))) => {
                let name = object.versioned.clone();
                self.notice(Notice::Unreadable(&name, &error));
            }
            // Already checked: the key can sign and the segment fits.
            Err(NoSegment::Sign) => {}
        }
        false
    }

    /// Appends metadata: of this version, or of the newest version.
    fn metadata(&mut self, own_name: NameRef<'_>, version: Option<u64>, out: &mut Vec<u8>) -> bool {
        let now = self.clock.now();
        let is_wanted = |made: &&MadeMetadata| {
            let is_fresh = now.since(made.made_at) < METADATA_FRESHNESS;
            made.own_name == own_name.value() && version.map_or(is_fresh, |version| version == made.version)
        };
        if let Some(made) = self.metadata.iter().rev().find(is_wanted) {
            out.extend_from_slice(&made.wire);
            return true;
        }
        if version.is_some() {
            return false;
        }
        let Some(place) = self.newest(own_name) else { return false };
        let object = &self.objects[place];
        let metadata =
            Metadata { versioned: object.versioned.clone(), last_segment: Some(object.last_segment) };
        let mut content = Vec::new();
        metadata.encode(&mut content);
        let mut name = self.prefix.clone();
        name.extend(own_name);
        let version = wall_us().max(self.last_metadata + 1);
        let name = metadata_name(&name).with_version(version).with_segment(0);
        if self.packing.pack(name.view(), &content, 0, Some(METADATA_FRESHNESS), out).is_err() {
            return false;
        }
        self.count(|counters| counters.signed += 1);
        if self.metadata.len() >= MAX_METADATA {
            self.metadata.pop_front();
        }
        self.last_metadata = version;
        let own_name = own_name.value().to_vec();
        self.metadata.push_back(MadeMetadata { own_name, version, made_at: now, wire: out.clone() });
        true
    }

    fn count(&self, count: impl FnOnce(&mut PublishCounters)) {
        let mut counters = self.counters.get();
        count(&mut counters);
        self.counters.set(counters);
    }

    /// Appends the Data for an Interest with this name.
    fn find(&mut self, name: NameRef<'_>, can_be_prefix: bool, out: &mut Vec<u8>) -> bool {
        let Some((own_name, part)) = request::read(name.suffix(self.prefix_len)) else { return false };
        let place = match part {
            Part::Metadata(version) => {
                // The Data's name must be longer.
                let is_whole = version.is_some() && name.last().is_some_and(|last| last.segment().is_some());
                return (can_be_prefix || is_whole) && self.metadata(own_name, version, out);
            }
            Part::Version(version, Some(segment)) => {
                let place = self.version(own_name, version);
                return place.is_some_and(|place| self.segment(place, segment, out));
            }
            Part::Version(_, None) | Part::Newest if !can_be_prefix => None,
            Part::Version(version, None) => self.version(own_name, version),
            Part::Newest => self.newest(own_name),
        };
        place.is_some_and(|place| self.segment(place, 0, out))
    }
}

impl Serve for Publisher {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        self.count(|counters| counters.interests += 1);
        let Ok(name) = NameRef::from_value(interest.name.wire()) else { return false };
        let digest = interest.name.implicit_digest();
        let asked = if digest.is_some() { name.parent() } else { name };
        let is_there = asked.starts_with(self.prefix.view())
            && self.find(asked, interest.can_be_prefix && digest.is_none(), out)
            && digest.is_none_or(|digest| *digest == implicit_digest(out));
        if is_there {
            self.count(|counters| {
                counters.data += 1;
                counters.bytes += out.len() as u64;
            });
        }
        is_there
    }
}

impl core::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Publisher").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
