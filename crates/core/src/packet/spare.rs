//! Memory that packets had of their own and have left. The next such packets take it: a content store that is full takes as much
//! as it gives back.

use bytes::{Bytes, BytesMut};

/// Buffers that are kept, 70 kB at most. Assumed: more than there are lengths of Data that come in turn.
const MOST: usize = 8;

/// A buffer is taken for bytes that fill all of it but one part in so many: what it has more is counted
/// ([`Packet::memory`](super::Packet::memory)), and is to be little.
pub(super) const SLACK: usize = 64;

/// Shorter bytes are copied into new memory: to look for a buffer costs more.
const LEAST: usize = 1024;

/// The buffers, the last to come at the end.
#[derive(Debug, Default)]
pub(super) struct SpareBuffers(Vec<BytesMut>);

impl SpareBuffers {
    /// A copy of these bytes that shares its memory with no others.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Bytes {
        if bytes.len() < LEAST {
            return Bytes::copy_from_slice(bytes);
        }
        let fitting = bytes.len()..=bytes.len() + bytes.len() / SLACK;
        let found = self.0.iter().rposition(|buffer| fitting.contains(&buffer.capacity()));
        let mut buffer = match found {
            Some(at) => self.0.remove(at),
            // `split_off` makes the count of its owners now. A buffer without one would get it with its first copy, and lose
            // it each time that it comes back.
            None => BytesMut::with_capacity(bytes.len()).split_off(0),
        };
        buffer.extend_from_slice(bytes);
        buffer.freeze()
    }

    /// Takes the memory of bytes that nobody needs any more, in place of the oldest. What others still need stays theirs.
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
        assert!(spare.0.iter().all(BytesMut::is_empty));
        let capacities: Vec<usize> = spare.0.iter().map(BytesMut::capacity).collect();
        assert_eq!(capacities, (1100 - MOST..1100).collect::<Vec<_>>(), "those that came last");
    }
}
