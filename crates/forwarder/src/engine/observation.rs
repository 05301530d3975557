//! Counts and records passing packets, without any effect on forwarding.

use weir_core::packet::Kind;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_management::status::{FaceCounters, FaceEventKind, FaceNumber, FaceStatus};
use weir_packet::{LpPacket, ServiceClass};

use crate::capture::{Capture, Direction};
use crate::metrics::{ByClass, Delays};

/// Counters that do not belong to an open face, and the capture.
pub(super) struct Observation {
    /// Time of the engine's clock zero, ns since 1970.
    start_unix_ns: u64,
    /// Counters of closed faces, and of datagrams without a face.
    closed: FaceCounters,
    /// Drops in the order of [`DropReason::ALL`]: Data, and all other packets.
    drops: [[u64; 2]; DropReason::ALL.len()],
    /// Queueing delays of faces with a rate, by service class.
    delays: [Delays; ServiceClass::ALL.len()],
    /// Counters by service class of all faces.
    classes: ByClass,
    capture: Option<Box<Capture>>,
}

impl Observation {
    pub(super) fn new(start_unix_ns: u64) -> Observation {
        Observation {
            start_unix_ns,
            closed: FaceCounters::default(),
            drops: [[0; 2]; DropReason::ALL.len()],
            delays: Default::default(),
            classes: ByClass::default(),
            capture: None,
        }
    }

    pub(super) fn capture_to(&mut self, capture: Capture) {
        self.capture = Some(Box::new(capture));
    }

    #[inline]
    pub(super) fn count_drop(&mut self, reason: DropReason, class: ServiceClass, is_data: bool) {
        self.drops[reason as usize][usize::from(!is_data)] += 1;
        self.classes.count_dropped(class);
    }

    #[inline]
    pub(super) fn count_sent(&mut self, class: ServiceClass, kind: Kind, bytes: u64) {
        self.classes.count_sent(class, kind, bytes);
    }

    pub(super) fn classes(&self) -> ByClass {
        self.classes
    }

    #[inline]
    pub(super) fn count_delay(&mut self, class: ServiceClass, queued: Span) {
        self.delays[class as usize].add(queued);
    }

    /// Counts a stranger's datagram without a packet, which creates no face.
    pub(super) fn count_malformed(&mut self) {
        self.closed.in_malformed += 1;
    }

    /// Adds the counters of a closed face to the totals.
    pub(super) fn keep(&mut self, counters: FaceCounters) {
        self.closed = self.closed + counters;
    }

    /// The sum over closed faces and these open ones.
    pub(super) fn totals(&self, open: impl Iterator<Item = FaceCounters>) -> FaceCounters {
        open.fold(self.closed, |total, counters| total + counters)
    }

    pub(super) fn drops(&self) -> [[u64; 2]; DropReason::ALL.len()] {
        self.drops
    }

    /// Queueing delays of the classes with packets.
    pub(super) fn delays(&self) -> Vec<(ServiceClass, Delays)> {
        let each = ServiceClass::ALL.into_iter().zip(self.delays);
        each.filter(|(_, delays)| delays.count() > 0).collect()
    }

    /// Captures a frame that arrived.
    #[inline]
    pub(super) fn received(&mut self, now: Time, face: FaceNumber, frame: &[u8]) {
        if let Some(capture) = &mut self.capture {
            capture.frame(self.start_unix_ns + now.as_nanos(), face, Direction::Received, frame);
        }
    }

    /// Captures a frame that leaves.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, face: FaceNumber, frame: &LpPacket<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.frame(self.start_unix_ns + now.as_nanos(), face, Direction::Sent, &frame.to_vec());
        }
    }

    /// Notes a new or closed face: faces are the interfaces of the capture file.
    pub(super) fn face_event(&mut self, kind: FaceEventKind, face: &FaceStatus) {
        let Some(capture) = &mut self.capture else { return };
        match kind {
            FaceEventKind::Created => capture.add_face(face.number, &face.remote),
            FaceEventKind::Destroyed => capture.remove_face(face.number),
            FaceEventKind::Up | FaceEventKind::Down => {}
        }
    }

    /// Number of errors of the capture file.
    pub(super) fn file_errors(&self) -> u64 {
        self.capture.as_ref().map_or(0, |capture| capture.counters().errors)
    }

    /// Writes the buffered part of the capture.
    pub(super) fn flush(&mut self) {
        if let Some(capture) = &mut self.capture {
            capture.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_faces_that_are_gone_and_datagrams_that_made_none() {
        let mut observation = Observation::new(0);
        let counters = |in_data| FaceCounters { in_data, ..FaceCounters::default() };
        observation.keep(counters(5));
        observation.keep(counters(6));
        observation.count_malformed();
        let totals = observation.totals([counters(7), counters(8)].into_iter());
        assert_eq!(totals, FaceCounters { in_malformed: 1, ..counters(26) });
    }

    #[test]
    fn only_classes_that_had_a_packet_have_delays() {
        let mut observation = Observation::new(0);
        assert!(observation.delays().is_empty());
        observation.count_delay(ServiceClass::Be, Span::from_millis(3));
        let classes: Vec<_> = observation.delays().into_iter().map(|(class, _)| class).collect();
        assert_eq!(classes, [ServiceClass::Be]);
    }
}
