//! The part of a scenario's network that a world simulates.

/// The scenario's nodes, links and flows that a world has. A link between two parts is in both.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) nodes: Numbers,
    pub(crate) links: Numbers,
    pub(crate) flows: Numbers,
}

/// The scenario's numbers of the items that a world has, indexed by the item's place there, ascending;
/// `None`: it has all.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Option<Box<[u32]>>);

impl Numbers {
    /// The scenario's number of the item at a place.
    #[inline]
    pub(crate) fn number(&self, place: u32) -> usize {
        self.0.as_ref().map_or(place, |some| some[place as usize]) as usize
    }

    /// The place of the item with this number; `None` if it is in another part.
    pub(crate) fn place(&self, number: u32) -> Option<usize> {
        match &self.0 {
            None => Some(number as usize),
            Some(some) => some.binary_search(&number).ok(),
        }
    }

    /// All numbers. A world that has everything has `all` of them.
    pub(crate) fn of(&self, all: usize) -> impl Iterator<Item = usize> + '_ {
        let count = self.0.as_ref().map_or(all, |some| some.len());
        (0..count as u32).map(|place| self.number(place))
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Numbers {
        Numbers(Some(numbers.into_iter().collect()))
    }
}
