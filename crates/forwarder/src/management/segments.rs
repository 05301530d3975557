//! Datasets as segmented Data: a name with version and segment number, and a bounded store of recent ones.

use std::collections::VecDeque;

use weir_core::units::{Span, Time};
use weir_packet::{Component, Data, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, component_type};

use super::authority::sign;

/// Largest Data that management makes, bytes: the rest up to 8800 is for a link header.
pub(super) const MAX_DATA: usize = 8500;
/// Of a Data all but name and content, bytes: at most this.
const OVERHEAD: usize = 100;
/// Smallest content of a segment, bytes: names that leave less are too long for a dataset.
const MIN_CONTENT: usize = 500;

/// How much of recent datasets is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetConfig {
    /// How long the first segment counts as fresh in content stores, ms.
    pub freshness_ms: u64,
    /// How long a dataset is kept after it was last asked for.
    pub kept_for: Span,
    /// Bytes of all that are kept; the newest is kept whatever its size.
    pub max_bytes: usize,
}

/// Fresh for 1 ms, so that a list shows what was just changed; kept for 10 s, 16 MiB at most.
impl Default for DatasetConfig {
    fn default() -> DatasetConfig {
        DatasetConfig { freshness_ms: 1, kept_for: Span::from_secs(10), max_bytes: 16 << 20 }
    }
}

/// A dataset at one moment.
#[derive(Debug)]
struct Snapshot {
    /// With its version.
    name: Name,
    content: Vec<u8>,
    asked: Time,
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
        let start = number as usize * size;
        let end = self.content.len().min(start + size);
        let name = self.name.clone().with_segment(number);
        let mut data = Data::new(
            name.view(),
            self.content.get(start..end)?,
            SignatureInfo::new(SignatureType::DigestSha256),
        );
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
    bytes: usize,
    last_version: u64,
}

impl Datasets {
    pub(super) const fn new(config: DatasetConfig) -> Datasets {
        Datasets { config, kept: VecDeque::new(), bytes: 0, last_version: 0 }
    }

    /// Takes a dataset and gives its first segment; `None` if the name is too long. The version is the
    /// time in microseconds, and goes up.
    pub(super) fn publish(
        &mut self,
        now: Time,
        wall_ms: u64,
        name: NameRef<'_>,
        content: Vec<u8>,
    ) -> Option<Vec<u8>> {
        self.last_version = wall_ms.saturating_mul(1000).max(self.last_version + 1);
        let name = name.to_name().with_version(self.last_version);
        if name.value().len() + OVERHEAD + MIN_CONTENT > MAX_DATA {
            return None;
        }
        let snapshot = Snapshot { name, content, asked: now };
        let first = snapshot.segment(0, self.config.freshness_ms);
        self.bytes += snapshot.content.len();
        self.kept.push_back(snapshot);
        self.forget(now);
        first
    }

    /// The segment that a name with version asks for, the first if it has no segment number.
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
        self.kept.retain(|snapshot| now.since(snapshot.asked) <= kept_for);
        self.bytes = self.kept.iter().map(|snapshot| snapshot.content.len()).sum();
        while self.kept.len() > 1 && (self.bytes > self.config.max_bytes || self.kept.len() > MAX_SNAPSHOTS) {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.content.len();
        }
    }
}

/// Datasets that are kept at most, however small.
const MAX_SNAPSHOTS: usize = 256;
