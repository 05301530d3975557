//! Puts segments into order.

use std::collections::BTreeMap;

/// Segments that arrived out of order.
#[derive(Debug)]
pub(super) struct ReorderBuffer {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

impl ReorderBuffer {
    /// Starts with segment `next`.
    pub(super) fn new(next: u64) -> ReorderBuffer {
        ReorderBuffer { next, waiting: BTreeMap::new() }
    }

    /// The oldest missing segment.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether a segment has arrived.
    pub(super) fn has(&self, segment: u64) -> bool {
        segment < self.next || self.waiting.contains_key(&segment)
    }

    /// Number of segments that wait for an earlier one.
    pub(super) fn held(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a segment, and delivers all content that is now in order. For a repeated segment, the first content
    /// counts.
    pub(super) fn put(&mut self, segment: u64, content: &[u8], deliver: &mut dyn FnMut(u64, &[u8])) {
        if segment > self.next {
            self.waiting.entry(segment).or_insert_with(|| content.to_vec());
            return;
        }
        if segment < self.next {
            return;
        }
        deliver(segment, content);
        self.next += 1;
        while let Some(content) = self.waiting.remove(&self.next) {
            deliver(self.next, &content);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(segment: u64) -> Vec<u8> {
        vec![segment as u8; segment as usize % 5]
    }

    proptest! {
        #[test]
        fn any_order_with_any_repetitions_gives_the_same_bytes(
            first in 0_u64..100,
            order in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle(),
            again in prop::collection::vec((0_usize..40, 0_u64..40), 0..40),
        ) {
            let mut arrivals = order;
            for (at, segment) in again {
                arrivals.insert(at, segment);
            }
            let (mut all, mut bytes, mut seen) = (ReorderBuffer::new(first), Vec::new(), Vec::new());
            for segment in arrivals {
                all.put(first + segment, &content(first + segment), &mut |segment, content| {
                    seen.push(segment);
                    bytes.extend_from_slice(content);
                });
            }
            let whole: Vec<u8> = (first..first + 40).flat_map(content).collect();
            prop_assert_eq!(bytes, whole);
            prop_assert_eq!(seen, (first..first + 40).collect::<Vec<_>>());
            prop_assert_eq!((all.next(), all.waiting.len()), (first + 40, 0));
        }
    }

    #[test]
    fn the_first_content_of_a_segment_counts() {
        let (mut order, mut bytes) = (ReorderBuffer::new(0), Vec::new());
        for (segment, content) in [(1, b"b"), (1, b"x"), (0, b"a"), (0, b"x"), (1, b"x")] {
            order.put(segment, content, &mut |_, content| bytes.extend_from_slice(content));
        }
        assert_eq!(bytes, b"ab");
    }
}
