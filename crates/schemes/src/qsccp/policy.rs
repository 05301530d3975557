//! The operator's settings for single flows: weights and limits by name prefix.

use std::sync::Arc;

use weir_packet::Name;

/// A value for each of some prefixes. If several cover a name, the longest counts.
#[derive(Clone, Debug)]
pub(super) struct PerPrefix<T>(Arc<[(Vec<u8>, T)]>);

impl<T: Copy> PerPrefix<T> {
    pub(super) fn new(values: impl Iterator<Item = (Name, T)>) -> PerPrefix<T> {
        let mut values: Vec<_> = values.map(|(prefix, value)| (prefix.value().to_vec(), value)).collect();
        values.sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.len()));
        PerPrefix(values.into())
    }

    /// The value for a name, given by the encoding of its components.
    pub(super) fn of(&self, name: &[u8]) -> Option<T> {
        self.0.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        let name = |uri: &str| uri.parse::<Name>().expect("a name");
        let values = PerPrefix::new([(name("/a"), 1), (name("/a/b"), 2)].into_iter());
        let of = |uri| values.of(name(uri).value());
        assert_eq!([of("/a/b/c"), of("/a/c"), of("/a"), of("/ab")], [Some(2), Some(1), Some(1), None]);
    }
}
