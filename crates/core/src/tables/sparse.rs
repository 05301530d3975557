//! Values by number, where most numbers have none.
//!
//! FIB entries have numbers up to a million, and few of them may have traffic. A vector up to the highest
//! number would be allocated at once, while packets wait.

/// Number of values that are allocated together.
const CHUNK: usize = 64;

/// Values by number; the default where none was set.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<T> {
    chunks: Vec<Option<Box<[T]>>>,
}

impl<T: Default> Default for Sparse<T> {
    fn default() -> Sparse<T> {
        Sparse::new()
    }
}

impl<T: Default> Sparse<T> {
    pub(crate) const fn new() -> Sparse<T> {
        Sparse { chunks: Vec::new() }
    }

    /// The value with a number, if its chunk was made.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        self.chunks.get_mut(number / CHUNK)?.as_mut()?.get_mut(number % CHUNK)
    }

    /// The value with a number; makes it if it is not there.
    #[inline]
    pub(crate) fn make(&mut self, number: u32) -> &mut T {
        let number = number as usize;
        if number / CHUNK >= self.chunks.len() {
            self.chunks.resize_with(number / CHUNK + 1, || None);
        }
        let chunk = &mut self.chunks[number / CHUNK];
        &mut chunk.get_or_insert_with(|| (0..CHUNK).map(|_| T::default()).collect())[number % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_high_number_makes_none_of_those_below() {
        let mut sparse: Sparse<u32> = Sparse::new();
        *sparse.make(1_000_000) = 5;
        assert_eq!([1_000_000, 3, u32::MAX].map(|n| sparse.get_mut(n).copied()), [Some(5), None, None]);
        *sparse.make(3) += 1;
        assert_eq!((*sparse.make(3), *sparse.make(1_000_000), *sparse.make(4)), (1, 5, 0));
        assert_eq!(sparse.chunks.iter().flatten().count(), 2);
    }
}
