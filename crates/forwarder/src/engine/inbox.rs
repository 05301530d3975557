//! The engine's messages to management: Interests to answer, events to announce, state to clean up.

use weir_management::status::{FaceEventKind, FaceNumber, FaceStatus};

/// An Interest for management.
#[derive(Debug)]
pub(crate) struct ManagementInterest {
    /// Its bytes, without a link header.
    pub(crate) wire: bytes::Bytes,
    /// The face by which it came, as it was then.
    pub(crate) incoming: FaceStatus,
}

/// What awaits management, each kind in the order in which it happened.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    interests: Vec<ManagementInterest>,
    notifications: Vec<(FaceEventKind, FaceStatus)>,
    closed: Vec<FaceNumber>,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.interests.is_empty() && self.notifications.is_empty() && self.closed.is_empty()
    }

    pub(super) fn add_interest(&mut self, wire: bytes::Bytes, incoming: FaceStatus) {
        self.interests.push(ManagementInterest { wire, incoming });
    }

    pub(super) fn notify(&mut self, kind: FaceEventKind, face: FaceStatus) {
        self.notifications.push((kind, face));
    }

    pub(super) fn add_closed(&mut self, face: FaceNumber) {
        self.closed.push(face);
    }

    pub(crate) fn take_interests(&mut self) -> Vec<ManagementInterest> {
        core::mem::take(&mut self.interests)
    }

    /// What happened to faces, for those who subscribe to it.
    pub(crate) fn take_notifications(&mut self) -> Vec<(FaceEventKind, FaceStatus)> {
        core::mem::take(&mut self.notifications)
    }

    /// Faces that are gone, whose routes have to go.
    pub(crate) fn take_closed(&mut self) -> Vec<FaceNumber> {
        core::mem::take(&mut self.closed)
    }

    #[cfg(test)]
    pub(super) fn notified(&self, kind: FaceEventKind) -> usize {
        self.notifications.iter().filter(|(of, _)| *of == kind).count()
    }
}
