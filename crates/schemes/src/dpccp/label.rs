//! Labels of path switching: a label lists the faces by which a Data arrived. An Interest with this label takes them back.
//!
//! ```text
//!   consumer's node A          B                  C          producer's node D
//!   Data      (a, b, c)  <--  (b, c)  <--------  (c)  <----  ()
//!   Interest  (a, b, c)  --   (b, c)  -------->  (c)  ---->  ()
//! ```
//!
//! a is A's name for its face to B, and b is B's name for its face to C. Each has six bits; 0 means none. The next hop is in
//! the lowest bits. A node appends its face to a Data there, and removes it from an Interest there. A label has room for ten
//! hops. The far end of a longer path is cut off, and routers there forward by name.

use weir_core::ids::FaceId;
use weir_core::packet::Packet;

use super::signals::SWITCH_LABEL;

const DIGIT_BITS: u32 = 6;
const DIGIT: u64 = (1 << DIGIT_BITS) - 1;
/// Ten hops of six bits.
const ALL: u64 = (1 << 60) - 1;

/// The label of a path, or of the end of it that is nearest to the consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Label(u64);

/// Returns a node's number for a face. Faces 63 apart share a number; of next hops that share one, the
/// cheapest is used.
#[inline]
fn digit(face: FaceId) -> u64 {
    1 + u64::from(face.0) % DIGIT
}

impl Label {
    /// No label: the Interest is forwarded by name.
    pub(super) const NONE: Label = Label(0);

    #[inline]
    pub(super) fn of(packet: &Packet) -> Label {
        Label(packet.header().signals.value(&SWITCH_LABEL).unwrap_or(0) & ALL)
    }

    /// Writes the label into a packet. An empty label writes no field.
    #[inline]
    pub(super) fn write(self, packet: &mut Packet) {
        let signals = &mut packet.header_mut().signals;
        if self == Label::NONE {
            signals.clear(&SWITCH_LABEL);
        } else {
            signals.set(&SWITCH_LABEL, self.0);
        }
    }

    /// Returns the label with one more link: the Data arrived by `face`.
    #[inline]
    pub(super) fn extended(self, face: FaceId) -> Label {
        Label((self.0 << DIGIT_BITS | digit(face)) & ALL)
    }

    /// Returns whether `face` is the next hop of this label.
    #[inline]
    pub(super) fn names(self, face: FaceId) -> bool {
        self.0 & DIGIT == digit(face)
    }

    /// Returns the rest of the label after the next hop.
    #[inline]
    pub(super) fn rest(self) -> Label {
        Label(self.0 >> DIGIT_BITS)
    }

    /// Returns whether a Data with the label `nearer` came from a node on this path: `nearer` is the
    /// consumer's end of it.
    #[inline]
    pub(super) fn covers(self, nearer: Label) -> bool {
        let digits = (u64::BITS - nearer.0.leading_zeros()).div_ceil(DIGIT_BITS);
        self.0 & ((1 << (digits * DIGIT_BITS)) - 1) == nearer.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the label of a Data that came by these faces, the producer's end first.
    fn label(faces: &[u32]) -> Label {
        faces.iter().fold(Label::NONE, |label, face| label.extended(FaceId(*face)))
    }

    #[test]
    fn an_interest_takes_the_faces_that_the_data_came_by_from_the_last_to_the_first() {
        let mut left = label(&[7, 0, 62]);
        for face in [62, 0, 7] {
            assert!(left.names(FaceId(face)) && !left.names(FaceId(face + 1)));
            left = left.rest();
        }
        assert_eq!(left, Label::NONE);
    }

    #[test]
    fn a_path_covers_the_nodes_on_it() {
        let path = label(&[3, 2, 1]);
        for nearer in [label(&[]), label(&[1]), label(&[2, 1]), path] {
            assert!(path.covers(nearer), "{nearer:?}");
        }
        for other in [label(&[2]), label(&[3, 1]), label(&[4, 3, 2, 1]), label(&[4, 2, 1])] {
            assert!(!path.covers(other), "{other:?}");
        }
    }

    #[test]
    fn of_more_than_ten_hops_the_far_end_is_forgotten() {
        let far: Vec<u32> = (0..14).collect();
        assert_eq!(label(&far), label(&far[4..]));
        assert!(label(&far).covers(label(&far[4..])));
    }

    proptest! {
        #[test]
        fn any_number_is_a_label_that_ends(number: u64, face: u32) {
            let mut packet = Packet::default();
            packet.header_mut().signals.set(&SWITCH_LABEL, number);
            let mut label = Label::of(&packet);
            prop_assert!(label.covers(label) && label.covers(Label::NONE));
            prop_assert!(label.extended(FaceId(face)).names(FaceId(face)));
            for _ in 0..10 {
                label = label.rest();
            }
            prop_assert_eq!(label, Label::NONE);
        }
    }
}
