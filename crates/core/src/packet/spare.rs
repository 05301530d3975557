//! Buffers that packets with memory of their own have left, for the next such packets: a content store that is full takes as many
//! as it gives back.

use bytes::{Bytes, BytesMut};

/// Buffers that are kept. Assumed: more than packets of different lengths come in a row, and with the longest packets no more
/// than 0.3 MB.
const MOST: usize = 32;

/// A buffer is used again for bytes that fill all but so much of it, one part in so many: who counts the memory of a packet counts
/// its length.
const SLACK: usize = 16;

/// Bytes below that are copied into new memory: to look for a buffer costs more.
const LEAST: usize = 1024;

/// The buffers, the last to come at the end.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers(Vec<BytesMut>);

impl SpareBuffers {
    /// A copy of these bytes that shares its memory with no others.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Bytes {
        let fits = |buffer: &BytesMut| {
            (bytes.len()..=bytes.len() + bytes.len() / SLACK).contains(&buffer.capacity())
        };
        if bytes.len() < LEAST {
            return Bytes::copy_from_slice(bytes);
        }
        let mut buffer = match self.0.iter().rposition(fits) {
            Some(at) => self.0.swap_remove(at),
            // What is split off has its count of owners from the beginning. One that gets it with its first copy loses it with
            // the last.
            None => BytesMut::with_capacity(bytes.len()).split_off(0),
        };
        buffer.extend_from_slice(bytes);
        buffer.freeze()
    }

    /// Takes the memory of bytes that nobody needs any more; what others still need stays theirs.
    pub(super) fn give(&mut self, bytes: Bytes) {
        if bytes.len() < LEAST {
            return;
        }
        let Ok(mut buffer) = bytes.try_into_mut() else { return };
        buffer.clear();
        if self.0.len() == MOST {
            self.0.swap_remove(0);
        }
        self.0.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_for_bytes_that_nearly_fill_it() {
        for (len, is_used) in [(8001, false), (8000, true), (7600, true), (7500, false)] {
            let mut spare = SpareBuffers::default();
            let first = spare.copy(&[1; 8000]);
            let at = first.as_ptr();
            spare.give(first);
            let next = spare.copy(&vec![2; len]);
            assert_eq!((next.as_ptr() == at, next.len()), (is_used, len));
            assert!(next.iter().all(|byte| *byte == 2));
        }
    }

    #[test]
    fn what_others_still_need_stays_as_it_is() {
        let mut spare = SpareBuffers::default();
        let mine = spare.copy(&[1; 2000]);
        let theirs = mine.slice(100..);
        spare.give(mine);
        let next = spare.copy(&[2; 2000]);
        assert!(theirs.iter().all(|byte| *byte == 1) && next.iter().all(|byte| *byte == 2));
        // The last of several gives the memory back.
        let (copy, at) = (next.clone(), next.as_ptr());
        drop(next);
        spare.give(copy);
        assert_eq!(spare.copy(&[3; 2000]).as_ptr(), at);
    }

    #[test]
    fn few_buffers_are_kept_and_none_of_short_packets() {
        let mut spare = SpareBuffers::default();
        let all: Vec<Bytes> = (0..100).map(|n| spare.copy(&vec![0; 1000 + n])).collect();
        all.into_iter().for_each(|bytes| spare.give(bytes));
        assert_eq!(spare.0.len(), MOST);
        assert!(spare.0.iter().all(|buffer| buffer.capacity() >= LEAST && buffer.is_empty()));
    }
}
