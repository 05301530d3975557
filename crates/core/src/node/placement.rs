//! Cache placement: which nodes on the path of a Data store it.
//!
//! Some placements depend on the position of a node on the path, counted in nodes with a content store. A
//! header field ([`Signal::CACHES_PASSED`]) carries the count. In an Interest it counts the stores without
//! the Data since the consumer. In a Data it counts the stores passed since the store or producer that
//! answered. So a node knows
//!
//! | number | from | meaning |
//! |---|---|---|
//! | k | the Interest, kept beside the PIT entry | stores between the consumer and this node |
//! | x | the Data, plus 1 | position of this node, counted from the sender of the Data |
//! | c | x + k | stores on the whole path |
//!
//! **Sources.** Leave copy down: Laoutaris, Che, Stavrakakis, *The LCD interconnection of LRU caches and its
//! analysis*, Performance Evaluation 63, 2006. ProbCache: Psaras, Chai, Pavlou, *In-network cache management
//! and resource allocation for information-centric networks*, IEEE TPDS 25 (11), 2014, which raises x/c of
//! the first version (ICN 2012) to the power of c. Edge: as in Icarus (Saino, Psaras, Pavlou, SIMUTools
//! 2014).
//!
//! **What is approximated**
//! 1. If several consumers wait for one Data, k is that of the nearest.
//! 2. ProbCache divides the sum of the cache sizes on the rest of the path by the size of this cache. Here
//!    this ratio is the number of these caches, which is exact if all have the same size.
//! 3. Under `edge` every store on the path is asked, and only the first one from the consumer keeps a copy.
//!    Icarus asks only that one.
//! 4. A neighbour that does not count forwards the field as if it had no store. If a neighbour removes the
//!    field, the count starts at 0 again.

use core::fmt;
use core::str::FromStr;

use weir_packet::Signal;

use super::Node;
use crate::ids::PitId;
use crate::packet::{Packet, PacketId, PacketPool};
use crate::random::Random;

/// ProbCache's time window T_tw, s: the time for which a path should store what passes it. The paper uses
/// 10 s.
const TIME_WINDOW: f64 = 10.0;

/// Which nodes on its path store a Data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CsPlacement {
    /// All of them.
    #[default]
    Everywhere,
    /// The first node with a store, counted from the consumer.
    Edge,
    /// Each node with this probability, 0 to 1.
    Probability(f64),
    /// The first node with a store, counted from the sender of the Data.
    LeaveCopyDown,
    /// Each node with a probability that depends on its position on the path.
    ProbCache,
}

impl CsPlacement {
    /// The accepted values, as text.
    pub const FORMS: &'static str = "everywhere, edge, leave-copy-down, probcache, or probability P with P from 0 to 1, such as \"probability 0.3\"";

    /// Returns whether it needs the count of stores on the path. Then all nodes with a store must count.
    pub const fn counts(self) -> bool {
        matches!(self, CsPlacement::Edge | CsPlacement::LeaveCopyDown | CsPlacement::ProbCache)
    }

    /// Returns whether the node stores a Data at this position, given by k and x.
    fn stores(self, k: u64, x: u64, random: &mut Random) -> bool {
        match self {
            CsPlacement::Everywhere => true,
            CsPlacement::Edge => k == 0,
            CsPlacement::Probability(p) => random.chance(p),
            CsPlacement::LeaveCopyDown => x == 1,
            CsPlacement::ProbCache => random.chance(prob_cache(k, x)),
        }
    }
}

/// ProbCache(x) = (c - x + 1) / T_tw * (x / c)^c.
fn prob_cache(k: u64, x: u64) -> f64 {
    let c = (x + k) as f64;
    let times_in = (k + 1) as f64 / TIME_WINDOW;
    times_in * (x as f64 / c).powf(c)
}

/// A parsed probability is never NaN.
impl Eq for CsPlacement {}

impl fmt::Display for CsPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CsPlacement::Everywhere => f.write_str("everywhere"),
            CsPlacement::Edge => f.write_str("edge"),
            CsPlacement::Probability(p) => write!(f, "probability {p}"),
            CsPlacement::LeaveCopyDown => f.write_str("leave-copy-down"),
            CsPlacement::ProbCache => f.write_str("probcache"),
        }
    }
}

/// The text is not a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlacement;

impl FromStr for CsPlacement {
    type Err = NoPlacement;

    fn from_str(text: &str) -> Result<CsPlacement, NoPlacement> {
        Ok(match text {
            "everywhere" => CsPlacement::Everywhere,
            "edge" => CsPlacement::Edge,
            "leave-copy-down" => CsPlacement::LeaveCopyDown,
            "probcache" => CsPlacement::ProbCache,
            _ => {
                let p = text
                    .strip_prefix("probability ")
                    .and_then(|p| p.parse::<f64>().ok())
                    .ok_or(NoPlacement)?;
                if !(0.0..=1.0).contains(&p) {
                    return Err(NoPlacement);
                }
                CsPlacement::Probability(p)
            }
        })
    }
}

/// The placement of a node, and its state.
#[derive(Debug)]
pub struct Placing {
    placement: CsPlacement,
    counts: bool,
    random: Random,
    /// The fewest stores that an Interest of each PIT entry has passed.
    passed: Vec<u8>,
}

impl Placing {
    /// Makes the state of a placement; `None`: the node stores all Data that pass. With `counts`, a node with
    /// a content store also counts for the placements of others. Random choices are drawn from `random`.
    pub fn of(placement: CsPlacement, counts: bool, random: Random) -> Option<Placing> {
        let counts = counts || placement.counts();
        let is_plain = placement == CsPlacement::Everywhere && !counts;
        (!is_plain).then(|| Placing { placement, counts, random, passed: Vec::new() })
    }
}

impl Node {
    /// The placement.
    pub fn placement(&self) -> CsPlacement {
        self.placing.as_ref().map_or(CsPlacement::Everywhere, |placing| placing.placement)
    }
}

fn caches_passed(packet: &Packet) -> u64 {
    // A neighbour may write any value.
    packet.header().signals.value(&Signal::CACHES_PASSED).unwrap_or(0).min(u64::from(u8::MAX))
}

impl Placing {
    /// Notes that an Interest that the store does not answer waits at an entry.
    pub(super) fn on_interest(&mut self, pit: PitId, is_new: bool, interest: &mut Packet, has_store: bool) {
        if !self.counts {
            return;
        }
        let k = caches_passed(interest) as u8;
        if pit.index() >= self.passed.len() {
            self.passed.resize(pit.index() + 1, 0);
        }
        let passed = &mut self.passed[pit.index()];
        *passed = if is_new { k } else { k.min(*passed) };
        if has_store {
            interest.header_mut().signals.set(&Signal::CACHES_PASSED, u64::from(k) + 1);
        }
    }

    /// Returns whether the store keeps a Data that answers these entries.
    pub(super) fn stores(&mut self, id: PacketId, matches: &[PitId], pool: &PacketPool) -> bool {
        let passed = |pit: &PitId| self.passed.get(pit.index()).copied().unwrap_or(0);
        let k = matches.iter().map(passed).min().unwrap_or(0);
        self.placement.stores(u64::from(k), caches_passed(&pool[id]) + 1, &mut self.random)
    }

    /// Updates the count in a Data that goes on to the downstreams.
    pub(super) fn on_data(&self, data: &mut Packet, has_store: bool) {
        if self.counts && has_store {
            let x = caches_passed(data) + 1;
            data.header_mut().signals.set(&Signal::CACHES_PASSED, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_reads_back_as_it_is_written() {
        for text in ["everywhere", "edge", "probability 0.25", "leave-copy-down", "probcache"] {
            assert_eq!(
                text.parse::<CsPlacement>().map(|placement| placement.to_string()).as_deref(),
                Ok(text)
            );
        }
        for text in
            ["", "Edge", "probability", "probability 1.1", "probability -0.1", "probability nan", "lcd"]
        {
            assert_eq!(text.parse::<CsPlacement>(), Err(NoPlacement), "{text}");
        }
    }

    #[test]
    fn probcache_prefers_the_consumers_side_and_long_ways() {
        // Computed by hand for three caches: 3/10 (1/3)^3, 2/10 (2/3)^3, 1/10.
        for (k, x, p) in [(2, 1, 0.3 / 27.0), (1, 2, 0.2 * 8.0 / 27.0), (0, 3, 0.1)] {
            assert!((prob_cache(k, x) - p).abs() < 1e-12, "k = {k}, x = {x}");
        }
    }
}
