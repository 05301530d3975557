//! The engine's messages to management: Interests to answer, events to announce, state to clean up.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use weir_management::status::{FaceEventKind, FaceNumber, FaceStatus};

/// An Interest to management.
#[derive(Debug)]
pub(crate) struct ManagementInterest {
    /// The packet without a link header.
    pub(crate) wire: bytes::Bytes,
    /// The status of its face at arrival.
    pub(crate) incoming: FaceStatus,
}

/// A closed face.
#[derive(Debug)]
pub(crate) struct ClosedFace {
    pub(crate) number: FaceNumber,
    /// The error of the face, if any.
    pub(crate) why: Option<String>,
}

/// Number of Interests, except those of applications with rights, that management answers before packets have their turn.
/// Assumed.
const INTERESTS_A_ROUND: usize = 8;
/// Memory of one face's waiting Interests if no other face has any, bytes. Otherwise the faces share it. Assumed.
const WAITING_BYTES: usize = 1 << 20;

/// Waiting Interests, in one queue for each face.
#[derive(Debug, Default)]
struct Waiting {
    faces: BTreeMap<FaceNumber, Queue>,
    /// The face whose Interest was taken last.
    last: FaceNumber,
}

#[derive(Debug, Default)]
struct Queue {
    interests: VecDeque<ManagementInterest>,
    /// Size of the waiting Interests.
    bytes: usize,
}

/// Memory of a waiting Interest, bytes, in a queue that is half empty, as after its growth.
fn bytes_of(interest: &ManagementInterest) -> usize {
    let ManagementInterest { wire, incoming } = interest;
    2 * size_of::<ManagementInterest>() + wire.len() + incoming.remote.len() + incoming.local.len()
}

impl Waiting {
    /// Appends an Interest to the queue of its face. Returns whether there was room.
    fn push(&mut self, interest: ManagementInterest) -> bool {
        let number = interest.incoming.number;
        let faces = self.faces.len() + usize::from(!self.faces.contains_key(&number));
        let queue = self.faces.entry(number).or_default();
        let bytes = bytes_of(&interest);
        let has_room = queue.bytes == 0 || queue.bytes + bytes <= WAITING_BYTES / faces;
        if has_room {
            queue.bytes += bytes;
            queue.interests.push_back(interest);
        }
        has_room
    }

    /// The next Interest, of each face in turn.
    fn pop(&mut self) -> Option<ManagementInterest> {
        let others = (Bound::Excluded(self.last), Bound::Unbounded);
        let next = self.faces.range(others).next().or_else(|| self.faces.iter().next());
        self.last = *next?.0;
        let queue = self.faces.get_mut(&self.last)?;
        let interest = queue.interests.pop_front();
        queue.bytes -= interest.as_ref().map_or(0, bytes_of);
        if queue.interests.is_empty() {
            self.faces.remove(&self.last);
        }
        interest
    }
}

/// Pending input of management, each kind in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Interests of applications with rights.
    interests: Vec<ManagementInterest>,
    /// All other Interests.
    waiting: Waiting,
    notifications: Vec<(FaceEventKind, FaceStatus)>,
    closed: Vec<ClosedFace>,
}

impl Inbox {
    /// Whether nothing is pending.
    pub(crate) fn is_empty(&self) -> bool {
        self.interests.is_empty() && self.notifications.is_empty() && self.closed.is_empty()
    }

    /// Whether Interests without rights are pending.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.faces.is_empty()
    }

    /// Adds an Interest from an application with rights, or from another face. Returns whether there was room.
    pub(super) fn add_interest(
        &mut self,
        wire: bytes::Bytes,
        incoming: FaceStatus,
        has_rights: bool,
    ) -> bool {
        match has_rights {
            true => {
                self.interests.push(ManagementInterest { wire, incoming });
                true
            }
            // Copied, because the shared buffer may contain many packets.
            false => {
                let wire = bytes::Bytes::copy_from_slice(&wire);
                self.waiting.push(ManagementInterest { wire, incoming })
            }
        }
    }

    pub(super) fn notify(&mut self, kind: FaceEventKind, face: FaceStatus) {
        self.notifications.push((kind, face));
    }

    pub(super) fn add_closed(&mut self, number: FaceNumber, why: Option<String>) {
        self.waiting.faces.remove(&number);
        self.closed.push(ClosedFace { number, why });
    }

    /// The Interests that management answers in this round.
    pub(crate) fn take_interests(&mut self) -> Vec<ManagementInterest> {
        let mut interests = core::mem::take(&mut self.interests);
        interests.extend((0..INTERESTS_A_ROUND).map_while(|_| self.waiting.pop()));
        interests
    }

    /// Events of faces, for subscribers.
    pub(crate) fn take_notifications(&mut self) -> Vec<(FaceEventKind, FaceStatus)> {
        core::mem::take(&mut self.notifications)
    }

    /// Closed faces whose routes must be removed.
    pub(crate) fn take_closed(&mut self) -> Vec<ClosedFace> {
        core::mem::take(&mut self.closed)
    }

    #[cfg(test)]
    pub(super) fn notified(&self, kind: FaceEventKind) -> usize {
        self.notifications.iter().filter(|(of, _)| *of == kind).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_management::status::{FaceCounters, FaceFlags, FacePersistency, FaceScope, LinkType};

    fn face(number: FaceNumber) -> FaceStatus {
        FaceStatus {
            number,
            remote: "tcp6://[2001:db8:1234:5678:9abc:def0:1234:5678]:65535".to_owned(),
            local: "tcp6://[2001:db8:1234:5678:9abc:def0:1234:5679]:6363".to_owned(),
            scope: FaceScope::Local,
            persistency: FacePersistency::OnDemand,
            link_type: LinkType::PointToPoint,
            flags: FaceFlags::default(),
            up: true,
            mtu: None,
            base_congestion_marking_interval_ns: None,
            default_congestion_threshold: None,
            expires_in_ms: None,
            send_rate_bps: None,
            queued_packets: 0,
            queued_bytes: 0,
            counters: FaceCounters::default(),
        }
    }

    #[test]
    fn interests_that_wait_take_a_megabyte_with_all_that_is_kept_of_them() {
        for faces in [1, 3] {
            for len in [35, 8800] {
                let mut inbox = Inbox::default();
                let wire = bytes::Bytes::from(vec![7; len]);
                let mut push = |number| inbox.add_interest(wire.clone(), face(number), false);
                for number in (1..=faces).cycle().take(4000 * faces as usize) {
                    push(number);
                }
                let taken = |queue: &Queue| {
                    let of = |one: &ManagementInterest| {
                        one.wire.len() + one.incoming.remote.capacity() + one.incoming.local.capacity()
                    };
                    queue.interests.capacity() * size_of::<ManagementInterest>()
                        + queue.interests.iter().map(of).sum::<usize>()
                };
                let taken: usize = inbox.waiting.faces.values().map(taken).sum();
                assert!((WAITING_BYTES / 4..=WAITING_BYTES).contains(&taken), "{faces} {len}: {taken}");
                // The counted bytes are released with the Interests.
                while inbox.has_waiting() {
                    let interests = &inbox.waiting.faces;
                    assert!(interests.values().all(|queue| (queue.bytes == 0) == queue.interests.is_empty()));
                    assert!(!inbox.take_interests().is_empty());
                }
            }
        }
    }
}
