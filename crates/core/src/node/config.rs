//! The settings of a node.

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
    /// The strategies. The first one forwards names for which no other is chosen. At most
    /// [`MOST_STRATEGIES`](super::MOST_STRATEGIES) are used.
    pub strategies: Vec<Box<dyn Strategy>>,
    /// Bounds of its tables.
    pub limits: TableLimits,
    /// The hasher of the names that it receives.
    pub hasher: NameHasher,
    /// Its random stream.
    pub random: Random,
    /// How flows are identified at this node. Default: by FIB entry.
    pub flow_prefix: FlowPrefix,
    /// Its content store, empty. Default: a store without room.
    pub content_store: ContentStore<PacketId>,
    /// Which Data it stores. Default: all Data that pass.
    pub placing: Option<Placing>,
    /// A simulated cache, asked when the content store has no Data. Default: none.
    pub simulated_cache: Option<SimulatedCache>,
    /// The node forwards a repeated Interest again if the last transmission was at least this long ago. The time doubles with
    /// each transmission, up to 250 ms, as in NFD. Zero, the default: other downstreams wait for the Data, and the strategy
    /// decides when the same downstream may repeat its Interest.
    pub reforward_after: Span,
    /// A next hop of a prefix that has answered nothing for this long is compared with another one, by copies
    /// of Interests. If another next hop answers what this one does not, strategies no longer see it. Zero,
    /// the default: strategies see all next hops.
    pub next_hop_timeout: Span,
    /// Signals of Interests that are accepted from faces that are not fully trusted
    /// ([`IngressPolicy`](super::IngressPolicy)). Default: none.
    pub signals_of_consumers: SignalSet,
    /// Computes the implicit digest of a Data from its bytes. It is called when an Interest asks for a Data
    /// by digest. Default: such Interests are not answered.
    pub digest: Option<ImplicitDigest>,
}

impl NodeConfig {
    /// Makes a node with one strategy and without a content store.
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

/// Function that computes the SHA-256 digest of a bare Data.
pub type ImplicitDigest = fn(&[u8]) -> [u8; 32];

/// Bounds of a node's tables.
#[derive(Clone, Debug)]
pub struct TableLimits {
    /// Memory of pending Interests, bytes, including all their state.
    pub pit_bytes: u64,
    /// Longest time for which an Interest that arrives on a link is pending. The node's own applications may
    /// use up to 300 s.
    pub longest_lifetime: Span,
    /// Number of dead nonces, and number of upstreams of ended entries.
    pub dead_nonces: usize,
    /// Memory of the packets in the queues of all links, bytes, including all their state.
    pub queue_bytes: u64,
    /// Memory of the flow prefixes that are not FIB entries, bytes, including all their state.
    pub flow_bytes: u64,
}

impl Default for TableLimits {
    /// The default bounds: queues have only their own bounds, and flow prefixes are bounded only in number.
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
