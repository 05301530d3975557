//! The notification stream `faces/events`: a Data for every event, named by a sequence number.
//!
//! Who listens asks for the next number and waits; an Interest without a number asks for what comes
//! next, or for what has just come.

use std::collections::{BTreeMap, VecDeque};

use weir_core::units::{Span, Time};
use weir_packet::{Data, Interest, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, component_type};

use super::authority::sign;
use weir_management::dataset::encode_face_event;
use weir_management::status::{FaceEventKind, FaceStatus};

/// Notifications that are kept for who asks late.
const MAX_KEPT: usize = 256;
/// Sequence numbers that are waited for at once: they are those that come next.
const MAX_AHEAD: u64 = 16;
/// How long a notification counts as fresh.
const FRESHNESS_MS: u64 = 1000;

/// The notifications of faces that were sent, by their numbers, and who waits for the next.
#[derive(Debug)]
pub(super) struct Events {
    prefix: Name,
    kept: VecDeque<Vec<u8>>,
    /// Number of the next notification.
    next: u64,
    /// When the last one came.
    last: Time,
    /// Until when somebody waits for a number.
    waiting: BTreeMap<u64, Time>,
    /// Until when somebody waits for whatever comes next.
    waiting_for_any: Option<Time>,
}

impl Events {
    pub(super) const fn new(prefix: Name) -> Events {
        Events {
            prefix,
            kept: VecDeque::new(),
            next: 0,
            last: Time::ZERO,
            waiting: BTreeMap::new(),
            waiting_for_any: None,
        }
    }

    /// Something happened: gives the notification if somebody waits for it.
    pub(super) fn push(&mut self, now: Time, kind: FaceEventKind, face: &FaceStatus) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        encode_face_event(kind, face, &mut content);
        let mut name = self.prefix.clone();
        name.push_number(component_type::SEQUENCE_NUM, self.next);
        let mut data = Data::new(name.view(), &content, SignatureInfo::new(SignatureType::DigestSha256));
        data.meta = MetaInfo { freshness_period: Some(FRESHNESS_MS), ..MetaInfo::NONE };
        // A notification is small, whatever the URIs: the kernel bounds paths.
        let wire = sign(&data)?;
        let until = self.waiting.remove(&self.next).max(self.waiting_for_any.take());
        self.next += 1;
        self.last = now;
        self.kept.push_back(wire.clone());
        if self.kept.len() > MAX_KEPT {
            self.kept.pop_front();
        }
        until.is_some_and(|until| now <= until).then_some(wire)
    }

    /// Somebody asks: gives the notification if it is there, else the Interest waits. `suffix` is what
    /// follows the stream's name.
    pub(super) fn ask(&mut self, now: Time, interest: &Interest<'_>, suffix: NameRef<'_>) -> Option<Vec<u8>> {
        let until = now + Span::from_nanos(interest.lifetime_ms().saturating_mul(1_000_000));
        let Some(component) = suffix.component(0) else {
            return self.ask_for_any(now, until, interest);
        };
        let number = component.number_of_type(component_type::SEQUENCE_NUM)?;
        let first = self.next - self.kept.len() as u64;
        if number >= self.next {
            if number - self.next < MAX_AHEAD {
                let waiting = self.waiting.entry(number).or_insert(until);
                *waiting = until.max(*waiting);
            }
            return None;
        }
        self.kept.get(usize::try_from(number.checked_sub(first)?).ok()?).cloned()
    }

    fn ask_for_any(&mut self, now: Time, until: Time, interest: &Interest<'_>) -> Option<Vec<u8>> {
        if !interest.can_be_prefix {
            return None;
        }
        let is_fresh = now.since(self.last) <= Span::from_millis(FRESHNESS_MS);
        if is_fresh || !interest.must_be_fresh {
            let last = self.kept.back().cloned();
            if last.is_some() {
                return last;
            }
        }
        self.waiting_for_any = self.waiting_for_any.max(Some(until));
        None
    }
}
