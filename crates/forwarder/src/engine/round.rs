//! Work that a round of the event loop defers to its end or to the next round.

use std::collections::BTreeSet;
use std::io;

use mio::Token;

use crate::face::{Face, FaceSlot};

/// Work that is put off within a round.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Faces with frames to send at the end.
    unsent: Vec<FaceSlot>,
    /// Sockets that may have more to read in the next round.
    unread: BTreeSet<Token>,
    /// Faces with frames that their links refused as too long, and the bytes of the shortest such datagram. A face can occur more
    /// than once.
    too_long: Vec<(FaceSlot, Option<usize>)>,
    /// Faces with failed sockets, and the errors. A face can occur more than once.
    failed: Vec<(FaceSlot, io::Error)>,
}

impl Round {
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    pub(super) fn note_unread(&mut self, token: Token) {
        self.unread.insert(token);
    }

    pub(super) fn take_unread(&mut self) -> BTreeSet<Token> {
        core::mem::take(&mut self.unread)
    }

    /// Notes once that a face has frames to send.
    #[inline]
    pub(super) fn note_unsent(&mut self, slot: FaceSlot, face: &mut Face) {
        if !core::mem::replace(&mut face.is_unsent, true) {
            self.unsent.push(slot);
        }
    }

    pub(super) fn take_unsent(&mut self) -> Vec<FaceSlot> {
        core::mem::take(&mut self.unsent)
    }

    pub(super) fn note_too_long(&mut self, slot: FaceSlot, refused: Option<usize>) {
        self.too_long.push((slot, refused));
    }

    pub(super) fn take_too_long(&mut self) -> Vec<(FaceSlot, Option<usize>)> {
        core::mem::take(&mut self.too_long)
    }

    pub(super) fn note_failed(&mut self, slot: FaceSlot, error: io::Error) {
        self.failed.push((slot, error));
    }

    pub(super) fn next_failed(&mut self) -> Option<(FaceSlot, io::Error)> {
        self.failed.pop()
    }

    /// Forgets the notes on a closed face, so that they do not affect the next face in its slot.
    pub(super) fn forget(&mut self, slot: FaceSlot) {
        self.too_long.retain(|(too_long, _)| *too_long != slot);
        self.failed.retain(|(failed, _)| *failed != slot);
    }

    #[cfg(test)]
    pub(super) fn failures(&self) -> usize {
        self.failed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> io::Error {
        io::ErrorKind::ConnectionReset.into()
    }

    #[test]
    fn failures_of_a_closed_face_are_not_those_of_the_next_one_in_its_slot() {
        let mut round = Round::default();
        for slot in [1, 2, 1] {
            round.note_failed(slot, error());
        }
        round.forget(1);
        assert_eq!(round.next_failed().map(|(slot, _)| slot), Some(2));
        assert!(round.next_failed().is_none());
    }

    #[test]
    fn what_was_too_long_for_a_closed_face_is_not_for_the_next_one_in_its_slot() {
        let mut round = Round::default();
        for slot in [1, 2, 1] {
            round.note_too_long(slot, None);
        }
        round.forget(1);
        assert_eq!(round.take_too_long(), [(2, None)]);
    }

    #[test]
    fn what_is_unread_is_taken_once() {
        let mut round = Round::default();
        for token in [7, 5, 7] {
            round.note_unread(Token(token));
        }
        assert!(round.has_unread());
        assert_eq!(round.take_unread().into_iter().collect::<Vec<_>>(), [Token(5), Token(7)]);
        assert!(!round.has_unread());
    }
}
