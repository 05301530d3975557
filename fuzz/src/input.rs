//! Choices from bytes that a fuzzer mutates or an ordinary test draws at random.

/// Reads choices from bytes. After their end, every choice is the first.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Reads choices from these bytes.
    pub fn new(bytes: &'a [u8]) -> Choices<'a> {
        Choices(bytes)
    }

    /// Returns whether the bytes are used up.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below `bound`, which is at most 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// One of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A possible number in a signal, often an extreme one.
    pub fn number(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::from(self.byte()),
            3 => 1 << self.below(64),
            4 => 1_000_000 * u64::from(self.byte()),
            _ => u64::from_le_bytes([0; 8].map(|_: u8| self.byte())),
        }
    }
}
