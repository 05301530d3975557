//! Path labels: a consumer learns the path of a Data from them, and chooses the path of an Interest with
//! them.
//!
//! ```text
//!   consumer --Interest: PathLabel = s--> router, n next hops: takes s mod n, passes on s div n --> ...
//!   consumer <--Data: PathLabel = L----- router: L <- mix(L, face that the Data came by) <--------- ...
//! ```
//!
//! The label of a Data is a hash of the faces on which it arrived, from the content to the consumer's node.
//! It can only be compared. The published simulators have numbers of base 10 or 64, which are not enough for
//! more than ten faces or ten hops. A hash takes any number of both. A label of 32 bits makes a packet four
//! bytes shorter than one of 64 bits. Two of a hundred paths have the same label once in a million.
//!
//! The label of an Interest is a random number of its consumer, and routers consume it hop by hop. It has no
//! meaning of its own: the same number takes the same path while routes stay the same, and the label of the
//! Data identifies that path.
//!
//! The content store keeps no signals. So a Data from a cache has the label of the path from the cache, which
//! differs from the producer's and is shorter. A Data from the consumer's own node came by no face, and has
//! no label.

use weir_core::ids::FaceId;
use weir_core::packet::{Packet, PacketId};
use weir_core::seam::DropTail;
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, EnqueueEvent, FaceConfig, Next, Queue, ReceiveEvent,
};
use weir_packet::Signal;

/// The path label: next hops of an Interest, or the faces by which a Data arrived.
pub(crate) const PATH_LABEL: Signal =
    Signal::new(916, "PathLabel", 32, "path: next hops of an Interest, or faces by which a Data arrived");

/// The path of a Data: equal for the same faces in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathLabel(u32);

impl PathLabel {
    /// The label of a Data that came by no face.
    #[cfg(test)]
    pub(crate) const HERE: PathLabel = PathLabel(0);

    /// Returns the label that a Data carries.
    #[inline]
    pub(crate) fn of(data: &Packet) -> PathLabel {
        // A neighbour may write more than 32 bits. The higher bits also distinguish paths.
        let value = data.header().signals.value(&PATH_LABEL).unwrap_or(0);
        PathLabel(value as u32 ^ (value >> 32) as u32)
    }

    /// Returns the label after one more face.
    #[inline]
    fn extended(self, face: FaceId) -> PathLabel {
        // The finaliser of SplitMix64: a bijection in which every input bit changes half of the output bits.
        let mut mixed = (u64::from(self.0) << 32 | u64::from(face.0)).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        PathLabel(((mixed ^ (mixed >> 31)) as u32).max(1))
    }
}

/// Adds the face by which a Data came to its label, once an arrival, however many entries it satisfies.
#[inline]
pub(crate) fn note_arrival(data: &mut Packet, face: FaceId) {
    let label = PathLabel::of(data).extended(face);
    data.header_mut().signals.set(&PATH_LABEL, u64::from(label.0));
}

/// Returns which of `next_hops` (at least one) an Interest takes by its label; the first without a label.
/// Removes the part of the label that it used.
#[inline]
pub(crate) fn steer(interest: &mut Packet, next_hops: usize) -> usize {
    match interest.header().signals.value(&PATH_LABEL) {
        Some(label) if next_hops > 1 => {
            let next_hops = next_hops as u64;
            interest.header_mut().signals.set(&PATH_LABEL, label / next_hops);
            (label % next_hops) as usize
        }
        _ => 0,
    }
}

/// A drop-tail queue whose face writes into each arriving Data, for example its label. It is for schemes that
/// need nothing else at the face.
#[derive(Debug)]
pub(crate) struct LabellingQueue {
    face: FaceId,
    note: fn(&mut Packet, FaceId),
    packets: DropTail,
}

impl LabellingQueue {
    /// Builds the queue. `note` is the function that writes; [`note_arrival`] writes these labels.
    pub(crate) fn new(config: &FaceConfig, note: fn(&mut Packet, FaceId)) -> LabellingQueue {
        LabellingQueue { face: config.face, note, packets: DropTail::new(config.limit) }
    }
}

impl Queue for LabellingQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.packets.dequeue(ev)
    }

    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        if ev.packet.is_data() {
            (self.note)(ev.packet, self.face);
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(faces: &[u32]) -> PathLabel {
        let mut data = Packet::default();
        faces.iter().for_each(|&face| note_arrival(&mut data, FaceId(face)));
        PathLabel::of(&data)
    }

    fn steered(label: u64, next_hops: &[usize]) -> Vec<usize> {
        let mut interest = Packet::default();
        interest.header_mut().signals.set(&PATH_LABEL, label);
        next_hops.iter().map(|&n| steer(&mut interest, n)).collect()
    }

    #[test]
    fn a_label_is_used_up_digit_by_digit_in_the_base_of_each_hop() {
        // 29 = 1 + 2·(2 + 3·4): hop 1 of 2, then 2 of 3, then 4 of 5. A single next hop uses nothing.
        assert_eq!(steered(29, &[2, 1, 3, 5]), [1, 0, 2, 4]);
        assert_eq!(steer(&mut Packet::default(), 3), 0);
    }

    #[test]
    fn data_from_here_has_no_label_and_any_face_gives_one() {
        assert_eq!(label(&[]), PathLabel::HERE);
        assert!((0..100_000).all(|face| label(&[face]) != PathLabel::HERE));
    }

    #[test]
    fn labels_of_many_hops_and_faces_differ() {
        let mut labels = Vec::new();
        for first in 0..30 {
            for last in 0..100 {
                let mut faces = [7; 20];
                (faces[0], faces[19]) = (first, last);
                labels.push(label(&faces));
            }
        }
        labels.sort_unstable();
        labels.dedup();
        // With 3000 of 2^32 values, a pair is equal in one of a thousand such sets. This set is fixed.
        assert_eq!(labels.len(), 3000);
    }

    proptest! {
        #[test]
        fn order_matters_and_equal_ways_are_equal(a in 0_u32..500, b in 0_u32..500) {
            prop_assert_eq!(label(&[a, b]), label(&[a, b]));
            prop_assert!(a == b || label(&[a, b]) != label(&[b, a]));
        }

        #[test]
        fn a_label_leads_the_same_way_again_and_never_astray(label: u64, hops in prop::collection::vec(1_usize..9, 0..30)) {
            let way = steered(label, &hops);
            prop_assert!(way.iter().zip(&hops).all(|(taken, n)| taken < n));
            prop_assert_eq!(way, steered(label, &hops));
        }
    }
}
