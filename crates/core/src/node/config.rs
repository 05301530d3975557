//! All that a node is made of.

use weir_packet::SignalSet;

use super::{LONGEST_LIFETIME, Placing};
use crate::name::NameHasher;
use crate::packet::PacketId;
use crate::random::Random;
use crate::seam::Strategy;
use crate::tables::cs::{ContentStore, CsPolicy};
use crate::tables::flow_prefix::FlowPrefix;
use crate::tables::simulated_cache::SimulatedCache;
use crate::units::Span;

/// The parts and settings of a node. [`NodeConfig::new`] has the defaults.
pub struct NodeConfig {
    /// The first one forwards what no other is chosen for. At most [`MOST_STRATEGIES`](super::MOST_STRATEGIES) are used.
    pub strategies: Vec<Box<dyn Strategy>>,
    /// Bounds of its tables.
    pub limits: TableLimits,
    /// The hasher of the names that it gets.
    pub hasher: NameHasher,
    /// Its random stream.
    pub random: Random,
    /// What a flow is at this node. Default: a FIB entry.
    pub flow_prefix: FlowPrefix,
    /// Its content store, empty. Default: none, a store without room.
    pub content_store: ContentStore<PacketId>,
    /// Which Data it stores. Default: all that pass.
    pub placing: Option<Placing>,
    /// Asked for what the content store does not have. Default: none.
    pub simulated_cache: Option<SimulatedCache>,
    /// The node forwards a repeated Interest again if the last transmission was at least this long ago. The time doubles with
    /// each transmission, up to 250 ms, as in NFD. Zero, the default: other downstreams wait for the Data, and the strategy
    /// decides when the same downstream may repeat its Interest.
    pub reforward_after: Span,
    /// A prefix's next hop that has answered nothing for so long is compared with another one, by copies of Interests.
    /// Strategies see it no more while others answer what it does not. Zero, the default: strategies see all next hops.
    pub next_hop_timeout: Span,
    /// Believed of Interests by faces that are not believed in all ([`IngressPolicy`](super::IngressPolicy)). Default: none.
    pub signals_of_consumers: SignalSet,
    /// Makes the implicit digest of a Data from its bytes, where an Interest asks for a Data of that name by its digest.
    /// Default: such Interests are not answered.
    pub digest: Option<ImplicitDigest>,
}

impl NodeConfig {
    /// A node of one strategy, without content store.
    pub fn new(strategy: Box<dyn Strategy>, hasher: NameHasher, random: Random) -> NodeConfig {
        NodeConfig {
            strategies: vec![strategy],
            limits: TableLimits::default(),
            hasher,
            random,
            flow_prefix: FlowPrefix::FibEntry,
            content_store: ContentStore::new(CsPolicy::Lru, 0, 0),
            placing: None,
            simulated_cache: None,
            reforward_after: Span::ZERO,
            next_hop_timeout: Span::ZERO,
            signals_of_consumers: SignalSet::from_iter([]),
            digest: None,
        }
    }
}

/// SHA-256 of a bare Data.
pub type ImplicitDigest = fn(&[u8]) -> [u8; 32];

/// Bounds of a node's tables.
#[derive(Clone, Debug)]
pub struct TableLimits {
    /// Pending Interests, bytes, all included.
    pub pit_bytes: u64,
    /// How long an Interest that comes by a link is pending at most. Whoever uses the node's own applications may ask for
    /// up to 300 s.
    pub longest_lifetime: Span,
    /// Dead nonces, and as many upstreams of entries that are gone.
    pub dead_nonces: usize,
    /// Packets in the queues of all links, bytes, all included.
    pub queue_bytes: u64,
    /// Prefixes of flows that are not the FIB's, bytes, all included.
    pub flow_bytes: u64,
}

impl Default for TableLimits {
    /// Queues have only their own bounds, and prefixes of flows one in number.
    fn default() -> TableLimits {
        TableLimits {
            pit_bytes: 512_000_000,
            longest_lifetime: LONGEST_LIFETIME,
            dead_nonces: 1 << 16,
            queue_bytes: u64::MAX,
            flow_bytes: u64::MAX,
        }
    }
}
