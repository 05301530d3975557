//! Send buffers that faces share in turn. A face with nothing to send has none.

use std::cell::RefCell;

/// Maximum number of kept buffers. Assumed: most rounds of the event loop have at most this many sending faces.
const MOST: usize = 64;
/// Maximum size of a kept buffer, bytes: twice what is sent at once.
const LARGEST: usize = 128 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer. It reuses a spare buffer's memory if there is one.
pub(super) fn take() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Takes a buffer back and empties it.
pub(super) fn give(mut buffer: Vec<u8>) {
    buffer.clear();
    SPARE.with_borrow_mut(|spare| {
        if (1..=LARGEST).contains(&buffer.capacity()) && spare.len() < MOST {
            spare.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_buffers_are_kept_and_none_that_is_large() {
        give(Vec::with_capacity(LARGEST + 1));
        assert_eq!(take().capacity(), 0);
        (0..2 * MOST).for_each(|_| give(vec![7; 1000]));
        for _ in 0..MOST {
            let buffer = take();
            assert!(buffer.is_empty() && buffer.capacity() >= 1000);
        }
        assert_eq!(take().capacity(), 0);
    }
}
