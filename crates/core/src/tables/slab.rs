//! Values by number, in chunks.
//!
//! Adding a value moves at most a chunk of others, or the list of chunks: 24 bytes for each 16 KiB. Nothing is
//! returned to the allocator. A vector that doubles would copy a hundred megabytes at once, while packets wait.

use core::ops::{Index, IndexMut};

use crate::prefetch::prefetch;

/// Largest size of a chunk with several values, bytes. Copying it takes about a microsecond.
const CHUNK_BYTES: usize = 1 << 14;

/// Values by number, from 0 on.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Slab<T> {
    /// The first chunk. It grows by factors of four, because many tables stay small. Reading it takes one
    /// load less.
    first: Vec<T>,
    /// The other chunks. Chunks before the one with the last value are full. Chunks after it are empty and
    /// were used before.
    others: Vec<Vec<T>>,
    len: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

impl<T> Slab<T> {
    /// Values in a chunk, a power of two.
    const CHUNK: usize =
        if size_of::<T>() == 0 { 1 } else { 1 << ((CHUNK_BYTES / size_of::<T>()) | 1).ilog2() };

    /// Makes an empty slab.
    pub const fn new() -> Slab<T> {
        Slab { first: Vec::new(), others: Vec::new(), len: 0 }
    }

    /// The number of values.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the slab is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value. Returns its number.
    #[inline]
    pub fn push(&mut self, value: T) -> u32 {
        let place = (self.len as usize / Self::CHUNK).checked_sub(1);
        let chunk = match place {
            None => &mut self.first,
            Some(at) if at == self.others.len() => self.add_chunk(),
            Some(at) => &mut self.others[at],
        };
        if chunk.len() == chunk.capacity() {
            grow(chunk, Self::CHUNK);
        }
        chunk.push(value);
        self.len += 1;
        self.len - 1
    }

    #[cold]
    fn add_chunk(&mut self) -> &mut Vec<T> {
        self.others.push(Vec::with_capacity(Self::CHUNK));
        let last = self.others.len() - 1;
        &mut self.others[last]
    }

    /// Takes the last value. Its chunk stays allocated.
    pub fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        match (self.len as usize / Self::CHUNK).checked_sub(1) {
            None => self.first.pop(),
            Some(at) => self.others[at].pop(),
        }
    }

    /// The value with a number, if there is one.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let number = number as usize;
        match (number / Self::CHUNK).checked_sub(1) {
            None => self.first.get(number),
            Some(at) => self.others.get(at)?.get(number % Self::CHUNK),
        }
    }

    /// The value with a number, mutable.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let number = number as usize;
        match (number / Self::CHUNK).checked_sub(1) {
            None => self.first.get_mut(number),
            Some(at) => self.others.get_mut(at)?.get_mut(number % Self::CHUNK),
        }
    }

    /// All values, by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.others.iter().flatten())
    }

    /// Prefetches the addresses of the chunks.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        prefetch(&self.first);
        prefetch(&self.len);
    }
}

/// Makes room in a first chunk, or the copy of one, for four times as many values, at most `most`.
#[cold]
fn grow<T>(chunk: &mut Vec<T>, most: usize) {
    let len = chunk.len();
    chunk.reserve_exact((3 * len).max(4).min(most.saturating_sub(len)));
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        let number = number as usize;
        match (number / Slab::<T>::CHUNK).checked_sub(1) {
            None => &self.first[number],
            Some(at) => &self.others[at][number % Slab::<T>::CHUNK],
        }
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        let number = number as usize;
        match (number / Slab::<T>::CHUNK).checked_sub(1) {
            None => &mut self.first[number],
            Some(at) => &mut self.others[at][number % Slab::<T>::CHUNK],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = Slab::<u32>::CHUNK;

    #[test]
    fn values_stay_where_they_are_while_others_come_and_go() {
        let mut slab = Slab::default();
        let count = 3 * CHUNK as u32 + 7;
        (0..count).for_each(|n| assert_eq!(slab.push(n), n));
        let kept: *const u32 = &slab[CHUNK as u32];
        assert_eq!(
            (slab.pop(), slab.get(count - 1), slab.len()),
            (Some(count - 1), None, count as usize - 1)
        );
        (1..CHUNK as u32).for_each(|n| assert_eq!(slab.pop(), Some(count - 1 - n)));
        (0..2 * CHUNK as u32).for_each(|n| assert_eq!(slab.push(n) as usize, slab.len() - 1));
        assert_eq!(kept, &raw const slab[CHUNK as u32], "no chunk is copied for others");
        assert!(slab.iter().take(2 * CHUNK).copied().eq(0..2 * CHUNK as u32));
        *slab.get_mut(5).unwrap() = 9;
        slab[6] = 8;
        assert_eq!((slab[5], slab[6], slab.get_mut(1 << 20)), (9, 8, None));
        while slab.pop().is_some() {}
        assert!(slab.is_empty() && slab.iter().next().is_none());
        assert_eq!(slab.push(4), 0);
    }
}
