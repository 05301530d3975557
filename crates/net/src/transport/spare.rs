//! Buffers for frames that leave, which faces use in turn: a face that has nothing to send has none.

use std::cell::RefCell;

/// How many are kept. Assumed: as many faces as send in most rounds of the event loop.
const MOST: usize = 64;
/// The largest that is kept, bytes: twice what leaves at once.
const LARGEST: usize = 128 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer, with memory if there is a spare one.
pub(super) fn take() -> Vec<u8> {
    SPARE.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// Takes a buffer back, emptied.
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
