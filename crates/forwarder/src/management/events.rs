//! The notification stream `faces/events`: one Data for every event, named by a sequence number.
//!
//! A client asks for the next number and waits. An Interest without a number gets the next event, or the one that has just
//! happened.

use std::collections::{BTreeMap, VecDeque};

use weir_core::units::{Span, Time};
use weir_packet::{Data, Interest, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, component_type};

use super::authority::sign;
use weir_management::dataset::encode_face_event;
use weir_management::status::{FaceEventKind, FaceStatus};

/// Number of notifications kept for late Interests.
const MAX_KEPT: usize = 256;
/// Largest number of sequence numbers that clients wait for. These are the next ones.
const MAX_AHEAD: u64 = 16;
/// Freshness of a notification, ms.
const FRESHNESS_MS: u64 = 1000;

/// Recent notifications by number, and the Interests that wait for the next ones.
#[derive(Debug)]
pub(super) struct Events {
    prefix: Name,
    kept: VecDeque<Vec<u8>>,
    /// Number of the next notification.
    next: u64,
    /// Time of the last notification.
    last: Time,
    /// Expiry of the Interests that wait for a number.
    waiting: BTreeMap<u64, Time>,
    /// Expiry of the Interest that waits for the next event, whatever its number.
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

    /// Adds an event. Returns the notification if an Interest waits for it.
    pub(super) fn push(&mut self, now: Time, kind: FaceEventKind, face: &FaceStatus) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        encode_face_event(kind, face, &mut content);
        let mut name = self.prefix.clone();
        name.push_number(component_type::SEQUENCE_NUM, self.next);
        let mut data = Data::new(name.view(), &content, SignatureInfo::new(SignatureType::DigestSha256));
        data.meta = MetaInfo { freshness_period: Some(FRESHNESS_MS), ..MetaInfo::NONE };
        // A notification is small, even with long URIs: the kernel limits paths.
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

    /// Handles an Interest: returns the notification if it exists; otherwise the Interest waits. `suffix` follows the stream's
    /// name.
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
