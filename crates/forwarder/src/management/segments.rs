//! Datasets as segmented Data: names with version and segment number, and a bounded store of recent datasets.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weir_core::units::{Span, Time};
use weir_management::Module;
use weir_packet::{Component, Data, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, component_type};

use super::authority::sign;
use crate::control::Owner;

/// Largest Data of management, bytes. The rest up to 8800 is for a link header.
pub(super) const MAX_DATA: usize = 8500;
/// Largest size of a Data without name and content, bytes.
const OVERHEAD: usize = 100;
/// Smallest content of a segment, bytes. A name that leaves less is too long for a dataset.
const MIN_CONTENT: usize = 500;

/// Time for which applications without rights get the same list again, whatever its length.
const REUSED_FOR: Span = Span::from_millis(10);
/// Additional time for each byte: about ten times the time to make one, so that endless requests take a small part of the time.
/// Assumed.
pub(super) const REUSED_FOR_A_BYTE: Span = Span::from_nanos(100);

/// Limits of the store of recent datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetConfig {
    /// Freshness of the first segment in content stores, ms.
    pub freshness_ms: u64,
    /// A dataset is kept for this time after its last request.
    pub kept_for: Span,
    /// Largest size of all stored datasets, bytes. Each counts at least a `MAX_SNAPSHOTS`th of it. The newest is always kept, and
    /// so is each list while it is given again to applications without rights.
    pub max_bytes: usize,
}

/// Freshness 1 ms, so that a list shows recent changes; kept for 10 s, at most 16 MiB.
impl Default for DatasetConfig {
    fn default() -> DatasetConfig {
        DatasetConfig { freshness_ms: 1, kept_for: Span::from_secs(10), max_bytes: 16 << 20 }
    }
}

/// The content of a dataset at one moment.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// The list; `None`: the answer to a query, which others do not share.
    list: Option<List>,
    made: Time,
    pieces: Arc<Pieces>,
}

/// The bytes of a dataset, in pieces as they were made. They are never copied as a whole.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Pieces with their offsets; no piece is empty.
    pieces: Vec<(usize, Vec<u8>)>,
    len: usize,
}

impl Pieces {
    /// Appends bytes.
    pub(super) fn push(&mut self, mut bytes: Vec<u8>) {
        let begin = self.len;
        self.len += bytes.len();
        if !bytes.is_empty() {
            bytes.shrink_to_fit();
            self.pieces.push((begin, bytes));
        }
    }

    /// Copies at most `most` bytes from an offset.
    fn copy(&self, from: usize, most: usize) -> Vec<u8> {
        let first = self.pieces.partition_point(|(begin, bytes)| begin + bytes.len() <= from);
        let mut copied = Vec::with_capacity(most);
        for (begin, bytes) in &self.pieces[first..] {
            let rest = bytes.get(from.saturating_sub(*begin)..).unwrap_or_default();
            copied.extend_from_slice(&rest[..rest.len().min(most - copied.len())]);
            if copied.len() == most {
                break;
            }
        }
        copied
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Pieces {
        let mut pieces = Pieces::default();
        pieces.push(bytes);
        pieces
    }
}

/// A list, by its module and verb. It is the same for all requests.
pub(super) type List = (Module, &'static str);

impl Content {
    pub(super) fn new(now: Time, list: Option<List>, pieces: Pieces) -> Content {
        Content { list, made: now, pieces: pieces.into() }
    }

    fn len(&self) -> usize {
        self.pieces.len
    }

    /// Whether the list may be given again.
    fn is_recent(&self, now: Time) -> bool {
        now.since(self.made) < REUSED_FOR + REUSED_FOR_A_BYTE * self.len() as u64
    }
}

/// A dataset under a name.
#[derive(Debug)]
struct Snapshot {
    /// Name with version.
    name: Name,
    content: Content,
    asked: Time,
    /// The owner of the request.
    owner: Owner,
}

impl Snapshot {
    fn segment_size(&self) -> usize {
        MAX_DATA - OVERHEAD - self.name.value().len()
    }

    /// Number of its last segment.
    fn last(&self) -> u64 {
        (self.content.len().saturating_sub(1) / self.segment_size()) as u64
    }

    fn segment(&self, number: u64, freshness_ms: u64) -> Option<Vec<u8>> {
        if number > self.last() {
            return None;
        }
        let size = self.segment_size();
        let payload = self.content.pieces.copy(number as usize * size, size);
        let name = self.name.clone().with_segment(number);
        let mut data = Data::new(name.view(), &payload, SignatureInfo::new(SignatureType::DigestSha256));
        let mut buffer = [0; 8];
        data.meta = MetaInfo {
            freshness_period: Some(freshness_ms),
            final_block_id: Some(Component::number(component_type::SEGMENT, self.last(), &mut buffer)),
            ..MetaInfo::NONE
        };
        sign(&data)
    }
}

/// Recent datasets, the newest last.
#[derive(Debug)]
pub(super) struct Datasets {
    config: DatasetConfig,
    kept: VecDeque<Snapshot>,
    /// The last version of each list, while it may be given again.
    lists: Vec<Content>,
    last_version: u64,
}

impl Datasets {
    pub(super) const fn new(config: DatasetConfig) -> Datasets {
        Datasets { config, kept: VecDeque::new(), lists: Vec::new(), last_version: 0 }
    }

    /// Stores a dataset and returns its first segment; `None` if the name is too long. The version is the time in microseconds,
    /// and always increases.
    pub(super) fn publish(
        &mut self,
        now: Time,
        wall_ms: u64,
        name: NameRef<'_>,
        content: Content,
        owner: Owner,
    ) -> Option<Vec<u8>> {
        // This applies also if the name is too long, because the list was made.
        if content.list.is_some() {
            self.lists.retain(|other| other.list != content.list);
            self.lists.push(content.clone());
        }
        self.last_version = wall_ms.saturating_mul(1000).max(self.last_version + 1);
        let name = name.to_name().with_version(self.last_version);
        if name.value().len() + OVERHEAD + MIN_CONTENT > MAX_DATA {
            return None;
        }
        let snapshot = Snapshot { name, content, asked: now, owner };
        let first = snapshot.segment(0, self.config.freshness_ms);
        self.kept.push_back(snapshot);
        self.forget(now);
        first
    }

    /// A list that was made recently enough to be given again.
    pub(super) fn recent(&self, now: Time, list: Option<List>) -> Option<Content> {
        let is_it = |content: &&Content| list.is_some() && content.list == list && content.is_recent(now);
        self.lists.iter().find(is_it).cloned()
    }

    /// The segment of a name with version, the first one without a segment number.
    pub(super) fn find(&mut self, now: Time, name: NameRef<'_>) -> Option<Vec<u8>> {
        self.forget(now);
        let (number, name) = match name.last()?.segment() {
            Some(number) => (number, name.parent()),
            None => (0, name),
        };
        let snapshot = self.kept.iter_mut().find(|snapshot| snapshot.name == name)?;
        snapshot.asked = now;
        snapshot.segment(number, self.config.freshness_ms)
    }

    fn forget(&mut self, now: Time) {
        let kept_for = self.config.kept_for;
        self.lists.retain(|content| content.is_recent(now));
        self.kept.retain(|snapshot| now.since(snapshot.asked) <= kept_for);
        let mut bytes: usize = self.kept.iter().map(|snapshot| self.counts(snapshot)).sum();
        while bytes > self.config.max_bytes {
            let Some(snapshot) = self.first_to_go().and_then(|at| self.kept.remove(at)) else { break };
            bytes -= self.counts(&snapshot);
        }
    }

    /// The counted size of a snapshot, bytes.
    fn counts(&self, snapshot: &Snapshot) -> usize {
        snapshot.content.len().max(self.config.max_bytes / MAX_SNAPSHOTS)
    }

    /// The snapshot to remove when there are too many: the oldest of the owner without rights that has the most, or, if there is
    /// none, the oldest of an owner with rights. So an owner with many requests takes nothing from an administrator, nor from
    /// owners with fewer. The newest stays.
    fn first_to_go(&self) -> Option<usize> {
        let mut owners: BTreeMap<Owner, (usize, usize)> = BTreeMap::new();
        for (at, snapshot) in self.kept.iter().enumerate() {
            let (bytes, _) = owners.entry(snapshot.owner).or_insert((0, at));
            *bytes += self.counts(snapshot);
        }
        let newest = self.kept.len().checked_sub(1)?;
        let may_go = owners.into_iter().filter(|(_, (_, oldest))| *oldest != newest);
        let first = may_go.max_by_key(|(owner, (bytes, _))| (*owner != Owner::Privileged, *bytes));
        first.map(|(_, (_, oldest))| oldest)
    }
}

/// Largest number of datasets, however small.
const MAX_SNAPSHOTS: usize = 256;
