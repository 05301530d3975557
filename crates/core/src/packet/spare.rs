//! Separate memory of freed packets, for reuse by the next packets that need it: a full content store takes
//! as much memory as it frees.

use bytes::{Bytes, BytesMut};

/// Number of buffers that are kept, at most 70 kB together. Assumed: more than the number of alternating Data
/// lengths.
const MOST: usize = 8;

/// A buffer is reused only if the bytes fill it except for a fraction of 1 in this number. The rest is
/// charged ([`Packet::memory`](super::Packet::memory)), so it must be small.
pub(super) const SLACK: usize = 64;

/// Shorter bytes are copied into new memory, because searching for a buffer costs more.
const LEAST: usize = 1024;

/// The buffers, newest at the end.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers(Vec<BytesMut>);

impl SpareBuffers {
    /// Copies these bytes into memory that is not shared.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Bytes {
        if bytes.len() < LEAST {
            return Bytes::copy_from_slice(bytes);
        }
        let fitting = bytes.len()..=bytes.len() + bytes.len() / SLACK;
        let found = self.0.iter().rposition(|buffer| fitting.contains(&buffer.capacity()));
        let mut buffer = match found {
            Some(at) => self.0.remove(at),
            // `split_off` creates the owner count now. A buffer without one would get it with its first copy,
            // and lose it each time that it is returned.
            None => BytesMut::with_capacity(bytes.len()).split_off(0),
        };
        buffer.extend_from_slice(bytes);
        buffer.freeze()
    }

    /// Takes the memory of bytes that are no longer used, in place of the oldest buffer. Memory that others
    /// still use is not taken.
    pub(super) fn give(&mut self, bytes: Bytes) {
        if bytes.len() < LEAST {
            return;
        }
        let Ok(mut buffer) = bytes.try_into_mut() else { return };
        buffer.clear();
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_for_bytes_that_nearly_fill_it() {
        for (len, is_used) in [(8001, false), (8000, true), (7900, true), (7800, false)] {
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
        // The last of several owners returns the memory.
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
        assert!(spare.0.iter().all(BytesMut::is_empty));
        let capacities: Vec<usize> = spare.0.iter().map(BytesMut::capacity).collect();
        assert_eq!(capacities, (1100 - MOST..1100).collect::<Vec<_>>(), "those that came last");
    }
}
