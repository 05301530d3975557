//! An operator's settings for single flows, by name prefix, such as weights and limits.

use std::sync::Arc;

use weir_packet::Name;

/// Values for name prefixes. If several prefixes cover a name, the longest counts.
#[derive(Clone, Debug)]
pub(crate) struct PerPrefix<T>(Arc<[(Name, T)]>);

impl<T> FromIterator<(Name, T)> for PerPrefix<T> {
    fn from_iter<I: IntoIterator<Item = (Name, T)>>(values: I) -> PerPrefix<T> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.value().len()));
        PerPrefix(values.into())
    }
}

impl<T: Copy> PerPrefix<T> {
    /// Returns the value for a name, given by the encoding of its components.
    pub(crate) fn of(&self, name: &[u8]) -> Option<T> {
        self.0.iter().find(|(prefix, _)| name.starts_with(prefix.value())).map(|(_, value)| *value)
    }

    /// Iterates over the prefixes and their values, the longest prefix first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Name, T)> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_counts() {
        let name = |uri: &str| uri.parse::<Name>().expect("a name");
        let values = PerPrefix::from_iter([(name("/a"), 1), (name("/a/b"), 2)]);
        let of = |uri| values.of(name(uri).value());
        assert_eq!([of("/a/b/c"), of("/a/c"), of("/a"), of("/ab")], [Some(2), Some(1), Some(1), None]);
    }
}
