//! The state of a flow at a face (sections IV-C 3 and IV-D 1): its virtual queue, its demand r_f and its rate R_f.

use weir_core::meter::Meter;
use weir_core::packet::{FlowKey, PacketList};
use weir_core::units::{Span, Time};

use crate::qsccp::Settings;
use crate::qsccp::extensions::charges::Answers;
use crate::qsccp::extensions::elsewhere::Unused;
use crate::qsccp::extensions::groups::{Group, Policing};
use crate::qsccp::paper::greedy::Greed;
use crate::qsccp::paper::pecn::{Claim, Demand};

/// The shortest time for which a flow's state is kept after its last Interest. It is four of its usual gaps,
/// if that is longer.
const SHORTEST_MEMORY: Span = Span::from_secs(4);
pub(crate) const LONGEST_MEMORY: Span = Span::from_secs(10);

/// After this number of successive Data of one size, the charges of a flow are right and are not recorded.
/// With a hundred faces, whose tables are not in the processor's caches, recording takes a third of the time
/// of a hop.
const SAME_SIZE: u16 = 32;

/// Marks the absence of a flow.
pub(crate) const NONE: u32 = u32::MAX;

/// The state of a flow at this face. With many flows each packet uses another one, so the fields that a
/// packet needs come first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) queue: VirtualQueue,
    /// The next flow in the ring of backlogged flows.
    pub(crate) next: u32,
    /// Whether it has received its quantum in this turn.
    pub(crate) has_quantum: bool,
    /// Whether it is out of the ring for lack of tokens.
    pub(crate) is_parked: bool,
    /// The WDRR deficit, bits; used only while the flow is backlogged.
    pub(crate) deficit: f64,
    /// w·φ: the weight in the WDRR, discounted for a greedy flow.
    pub(crate) discounted_weight: f64,
    pub(crate) data: DataSize,
    pub(crate) demand: Demand,
    /// R_f, bit/s, before the discount; `None` until the first period ends.
    pub(crate) rate: Option<f64>,
    pub(crate) key: FlowKey,
    /// The index in the list of flows with state.
    pub(crate) place: u32,
    pub(crate) mean_gap: Span,
    /// w: the weight in the WDRR.
    pub(crate) weight: f64,
    pub(crate) unused: Unused,
    /// The token bucket (TBRL) of a flow that has its own limit.
    pub(crate) limiter: Option<Meter>,
    pub(crate) greed: Greed,
    pub(crate) policing: Policing,
}

/// The waiting Interests: those of a flow in order, or those of a group of flows.
#[derive(Debug)]
pub(crate) enum VirtualQueue {
    Interests(PacketList),
    Group(Box<Group>),
}

impl VirtualQueue {
    /// Returns the number of waiting Interests.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match self {
            VirtualQueue::Interests(list) => list.len(),
            VirtualQueue::Group(group) => group.members.queued,
        }
    }
}

/// The size of a flow's Data, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSize {
    /// The size, bits. Interests declare it until a Data arrives.
    pub(crate) bits: u64,
    is_seen: bool,
    /// The number of successive Data of one size, up to [`SAME_SIZE`].
    same: u16,
    /// The number of charges in the ledger that may still be settled.
    pub(crate) unsettled: u32,
    pub(crate) answers: Answers,
}

impl DataSize {
    /// Counts a Data of this size.
    pub(crate) fn note(&mut self, bits: u64) {
        // The average of equal sizes would stay some bits below or above them.
        let is_same = bits.abs_diff(self.bits) <= 8;
        self.same = if is_same { (self.same + 1).min(SAME_SIZE) } else { 0 };
        let is_average = self.is_seen && !is_same;
        self.bits = if is_average { (7 * self.bits + bits + 4) / 8 } else { bits };
        self.is_seen = true;
    }

    /// Returns whether its Data have had one size for long.
    pub(crate) fn is_steady(&self) -> bool {
        self.same == SAME_SIZE
    }
}

impl Flow {
    /// Returns the state of a flow whose first Interest comes now.
    pub(crate) fn new(now: Time, key: FlowKey, weight: f64, declared_bits: u64) -> Flow {
        let answers = Answers::new(now);
        Flow {
            queue: VirtualQueue::Interests(PacketList::default()),
            next: NONE,
            has_quantum: false,
            is_parked: false,
            deficit: 0.0,
            discounted_weight: weight,
            data: DataSize { bits: declared_bits, is_seen: false, same: 0, unsettled: 0, answers },
            demand: Demand::new(now),
            rate: None,
            key,
            place: 0,
            mean_gap: LONGEST_MEMORY / 4,
            weight,
            unused: Unused::default(),
            limiter: None,
            greed: Greed::default(),
            policing: Policing::NONE,
        }
    }

    /// Returns whether φ < 1.
    pub(crate) fn is_punished(&self) -> bool {
        self.discounted_weight < self.weight
    }

    pub(crate) fn claim(&self) -> Claim {
        Claim {
            weight: self.discounted_weight,
            demand: self.demand.rate(),
            is_greedy: self.is_punished(),
            is_limited: self.unused.is_limited(),
        }
    }

    /// Counts an Interest. It counts as demand even if it is dropped. Returns whether the flow becomes active
    /// again with it.
    #[inline]
    pub(crate) fn note_interest(&mut self, now: Time) -> bool {
        let gap = now.since(self.demand.last_interest()).min(LONGEST_MEMORY);
        self.mean_gap = Span::from_nanos((7 * self.mean_gap.as_nanos() + gap.as_nanos()) / 8);
        self.demand.on_interest(now, self.data.answers.part_of(self.data.bits))
    }

    /// Returns whether the flow has been silent for long.
    pub(crate) fn is_silent(&self, now: Time) -> bool {
        let memory = (self.mean_gap * 4).max(SHORTEST_MEMORY).min(LONGEST_MEMORY);
        now.since(self.demand.last_interest()) > memory
    }

    /// Judges whether the flow is greedy. It has to keep to its rate for `memory` periods to compensate for
    /// one above it.
    pub(crate) fn judge(&mut self, settings: &Settings, memory: u32) {
        let &Settings { lambda, phi, greedy_ratio, .. } = settings;
        let is_over = self.rate.is_some_and(|rate| {
            let told = rate.min(self.policing.upstream);
            self.greed.is_over(self.demand.rate(), told, greedy_ratio, lambda)
        });
        // A flow whose demand falls is not judged.
        self.greed.is_told &= !self.demand.is_falling();
        self.greed.end_period(is_over, lambda, memory);
        self.discounted_weight = self.weight * if self.greed.is_punished() { phi } else { 1.0 };
    }
}
