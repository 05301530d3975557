//! The choice of a strategy for each prefix.

use super::Effect;
use crate::ids::StrategyId;
use crate::name::HashedName;
use crate::seam::Strategy;
use crate::tables::prefix_table::PrefixTable;
use crate::units::Time;

/// Largest number of strategies of a node.
pub const MOST_STRATEGIES: usize = 64;

/// The strategies of a node, and the choice among them by longest prefix match. The first one forwards names
/// for which no other is chosen.
#[repr(C)]
pub(crate) struct StrategyChoice {
    strategies: Vec<Box<dyn Strategy>>,
    chosen: PrefixTable<StrategyId>,
}

impl StrategyChoice {
    /// Makes the choice among these strategies; the first one is the default.
    ///
    /// # Panics
    /// Panics if there are no strategies.
    pub(crate) fn new(mut strategies: Vec<Box<dyn Strategy>>) -> StrategyChoice {
        assert!(!strategies.is_empty(), "a node has a strategy");
        strategies.truncate(MOST_STRATEGIES);
        StrategyChoice { strategies, chosen: PrefixTable::new() }
    }

    /// Returns whether there is only one strategy and no choice.
    pub(crate) fn is_one(&self) -> bool {
        self.strategies.len() == 1
    }

    /// Adds a strategy; `None` if there are too many.
    pub(crate) fn add(&mut self, strategy: Box<dyn Strategy>) -> Option<StrategyId> {
        let id = StrategyId(self.strategies.len() as u8);
        (self.strategies.len() < MOST_STRATEGIES).then(|| {
            self.strategies.push(strategy);
            id
        })
    }

    pub(crate) fn choose(&mut self, prefix: &HashedName, strategy: StrategyId) -> Effect {
        if usize::from(strategy.0) >= self.strategies.len() {
            return Effect::Nothing;
        }
        let place = self.chosen.find_or_insert(prefix, || strategy);
        if let Some(chosen) = self.chosen.get_mut(place) {
            *chosen = strategy;
        }
        Effect::Done
    }

    pub(crate) fn unchoose(&mut self, prefix: &HashedName) {
        if let Some(place) = self.chosen.exact(prefix) {
            self.chosen.remove(place);
        }
    }

    /// The strategy that forwards this name.
    #[inline]
    pub(crate) fn of(&self, name: &HashedName) -> StrategyId {
        let place = self.chosen.lookup(name);
        place.and_then(|place| self.chosen.get(place)).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn get(&mut self, id: StrategyId) -> &mut dyn Strategy {
        &mut *self.strategies[usize::from(id.0)]
    }

    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut Box<dyn Strategy>> {
        self.strategies.iter_mut()
    }

    /// When the first strategy needs a call.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Time {
        self.strategies.iter().map(|strategy| strategy.next_deadline()).min().unwrap_or(Time::NEVER)
    }
}
