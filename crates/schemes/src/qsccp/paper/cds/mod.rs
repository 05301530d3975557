//! CDS, class-based differentiated scheduling (section IV-C), in front of each link, with the rate computation of PECN.
//!
//! ```text
//!  Interests                 bottom: WDRR       middle              top           total TBRL
//!   flow  -> virtual queue -+
//!   flow  -> virtual queue -+-> class CS7 -> TBRL -+
//!   …                           class CS6 -> TBRL -+- strict priority -+
//!                               class EF  -> TBRL -+                   |
//!                               class AF4 --------+                    +-> priority -> η·B − B_I -> link
//!                               …                 +- WFQ by ω ---------+
//!                               class BE  --------+
//!  Data ------------------------- drop-tail (`urgent_data`: C_DS first) --------------------> link
//! ```
//!
//! An Interest counts with the size of the Data that it will bring, because the Data load the link, in the
//! other direction. Each packet costs O(1): a class keeps its backlogged flows in a ring, a flow's queue is a
//! list through the packets themselves, and flows are found by index.
//!
//! `flow.rs` has the state of a flow, `members.rs` the bottom level and the shares of flows, `class.rs` a class,
//! `schedule.rs` the levels above, and `period.rs` the computation every T.

mod class;
pub(crate) mod flow;
pub(crate) mod members;
mod period;
mod schedule;

use weir_core::ids::GroupId;
use weir_core::meter::Meter;
use weir_core::packet::{FlowKey, Packet, PacketId};
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, EnqueueEvent, FaceConfig, Next, PrefixRemoved,
    Queue, ReceiveEvent,
};
use weir_core::units::{Rate, Span, Time};
use weir_packet::ServiceClass;

use super::greedy;
use super::pecn::Shares;
use crate::flow_index::{CLASSES, FlowIndex};
use crate::qsccp::Settings;
use crate::qsccp::extensions::charges::Ledger;
use crate::qsccp::extensions::elsewhere::Overbooking;
use crate::qsccp::extensions::urgent::Outgoing;
use crate::qsccp::signals::TARGET_RATE;
use class::Class;
use flow::{Flow, NONE, VirtualQueue};

/// The first class of C_DT. C_DS = {CS7, CS6, EF} comes first in the numbering.
const FIRST_DT: usize = ServiceClass::Ef as usize + 1;
const DT_CLASSES: usize = CLASSES - FIRST_DT;

/// The largest size of a Data, bits: NDN packets have at most 8800 bytes. Larger declared sizes do not count.
const MAX_DATA_BITS: u64 = 8 * 8800;

/// The longest wait of a link because Data were larger than their charges. If a link is faster than
/// configured, Data bring more than the limiter can ever compensate.
const LONGEST_DEBT: Span = Span::from_secs(1);

/// Class-based differentiated scheduling at one face.
#[derive(Debug)]
pub(crate) struct Cds {
    settings: Settings,
    /// B: the rate at which Data can arrive on this face. On a shared medium it is the expected rate of the
    /// face, and the rate that the face could have if it asked for all.
    capacity: f64,
    fair_capacity: Option<f64>,
    /// B_I of the last period.
    reverse_interests: f64,
    classes: [Class; CLASSES],
    /// A, divided among the delay-tolerant classes, and the excess that they are offered.
    shares: Shares,
    overbooking: Overbooking,
    /// The flows of each class by prefix. Flows in groups are found by group (`class.rs`).
    index: FlowIndex,
    /// A bit for each class that has a head.
    backlogged: u8,
    /// The WFQ virtual time: the finish tag that was served last.
    virtual_time: f64,
    /// The total TBRL.
    total: Meter,
    /// The charges of Interests whose Data have not come.
    ledger: Ledger,
    /// The largest Data of any flow, bits.
    largest_bits: u64,
    /// Data and Nacks, which are not scheduled.
    data: Outgoing,
    /// The rate at which packets leave; the largest Data that left in this period and in the previous one;
    /// and the part of the link that Interests may take from Data.
    send_rate: Option<Rate>,
    largest_sent_bits: u64,
    interests_out: Meter,
    queued_interests: u32,
    queued_interest_bytes: u64,
    /// The shortest round trip from this face in this period, and in the latest earlier period that had one.
    shortest_rtt: Span,
    shortest_rtt_before: Span,
    /// The bits of Interests received on this face in this period: B_I·T.
    received_interest_bits: u64,
    period_began: Time,
    /// The end of the period; never while no flow has state.
    period_ends: Time,
}

/// Returns half of the link's rate; unlimited if the rate is not known.
fn interests_part(send_rate: Option<Rate>) -> Rate {
    send_rate.map_or(Rate::from_bps(u64::MAX), |rate| Rate::from_bps(rate.as_bps() / 2))
}

impl Cds {
    pub(crate) fn new(settings: &Settings, face: &FaceConfig) -> Cds {
        let capacity = face.receive_rate.unwrap_or(settings.unknown_capacity).as_bps_f64();
        let target = settings.eta * capacity;
        let classes = core::array::from_fn(|c| {
            let limiter = (c < FIRST_DT)
                .then(|| Meter::new(Rate::from_bps_f64(target * settings.delta[c]), settings.bucket_bits));
            Class { limiter, ..Class::default() }
        });
        let mut cds = Cds {
            settings: settings.clone(),
            capacity,
            fair_capacity: None,
            reverse_interests: 0.0,
            classes,
            shares: Shares::default(),
            overbooking: Overbooking::default(),
            index: FlowIndex::default(),
            backlogged: 0,
            virtual_time: 0.0,
            total: Meter::new(Rate::from_bps_f64(target), settings.burst_bits),
            ledger: Ledger::new(Rate::from_bps_f64(capacity), settings.default_data_bits),
            largest_bits: 0,
            data: Outgoing::new(face.limit, face.send_rate, settings.urgent_part(), settings.bucket_bits),
            send_rate: face.send_rate,
            largest_sent_bits: 0,
            interests_out: Meter::new(interests_part(face.send_rate), 0),
            queued_interests: 0,
            queued_interest_bytes: 0,
            shortest_rtt: Span::MAX,
            shortest_rtt_before: Span::MAX,
            received_interest_bits: 0,
            period_began: Time::ZERO,
            period_ends: Time::NEVER,
        };
        cds.share_capacity(Time::ZERO);
        cds
    }

    /// Returns the slot of a flow in its class, and in its group there, if it has one.
    #[inline]
    fn find(&self, key: FlowKey) -> Option<(u32, u32)> {
        if key.group == GroupId::NONE {
            return self.index.find(key).map(|flow| (flow, NONE));
        }
        self.classes[key.class as usize].find_in_group(key)
    }

    /// Adds the flow of a first Interest. Returns its slot in its class, and in its group there.
    fn add_flow(&mut self, now: Time, key: FlowKey, name: &[u8], declared_bits: u64) -> (u32, u32) {
        let Settings { bucket_bits, flow_weights, flow_limits, .. } = &self.settings;
        let weight = flow_weights.of(name).unwrap_or(1.0);
        let limiter = flow_limits.of(name).map(|rate| Meter::new(rate, *bucket_bits));
        let flow = Flow { limiter, ..Flow::new(now, key, weight, declared_bits) };
        if self.period_ends == Time::NEVER {
            self.period_began = now;
            self.period_ends = now + self.settings.period;
            self.received_interest_bits = 0;
        }
        let class = &mut self.classes[key.class as usize];
        if key.group != GroupId::NONE {
            return class.add_to_group(now, flow);
        }
        let id = class.flows.add(flow);
        self.index.insert(key, id);
        (id, NONE)
    }

    /// Returns R_f,j: the rate that this face suggests to a flow now, bit/s.
    fn suggested_rate(&self, class: ServiceClass, known: Option<(u32, u32)>) -> u64 {
        let class = &self.classes[class as usize];
        let rate = match known {
            Some((flow, member)) => class.suggested_rate(flow, member),
            None => class.flows.shares.of_new(1.0, 1.0),
        };
        rate as u64
    }

    /// Returns whether this face finds a flow, or its group, greedy.
    fn is_greedy(&self, class: ServiceClass, (flow, member): (u32, u32)) -> bool {
        let flow = &self.classes[class as usize].flows.flows[flow as usize];
        flow.greed.is_greedy
            || matches!(&flow.queue, VirtualQueue::Group(group) if group.members.flows[member as usize].greed.is_greedy)
    }

    /// Notes the size of a Data that has come, and that it carries a rate to its flow.
    fn note_data(&mut self, now: Time, data: &Packet, bits: u64, (id, member): (u32, u32)) {
        let class = &mut self.classes[data.flow.class as usize];
        class.flows.note_data(id, member, bits.clamp(1, MAX_DATA_BITS));
        let flow = class.flow(id, member);
        if member != NONE {
            flow.policing.note(data.header().signals.value(&TARGET_RATE));
        }
        flow.data.answers.note_came();
        // A flow or class pays for the average size. The total limiter settles each Data whose charge is
        // recorded.
        let is_unsettled = flow.data.unsettled > 0;
        flow.data.unsettled -= u32::from(is_unsettled);
        let size = flow.data.bits;
        class.largest_bits = class.largest_bits.max(size);
        self.largest_bits = self.largest_bits.max(size);
        match is_unsettled.then(|| self.ledger.settle(data.pit)).flatten() {
            Some(charged) if bits > charged => self.total.owe(now, bits - charged, LONGEST_DEBT),
            Some(charged) => self.total.give_back(charged - bits),
            None => {}
        }
    }

    /// PECN: writes the lower of the Data's TargetRate and R_f,j into the Data.
    fn on_data(&mut self, now: Time, data: &mut Packet, bits: u64) {
        // Only this face sets the mark, for this node's tables.
        greedy::take_mark(data);
        let (class, known) = (data.flow.class, self.find(data.flow));
        if let Some(known) = known {
            self.note_data(now, data, bits, known);
        }
        let rate = self.suggested_rate(class, known);
        let is_first = data.header().signals.value(&TARGET_RATE).is_none();
        data.header_mut().signals.lower(&TARGET_RATE, rate);
        if is_first {
            // TargetRate makes the Data longer from here on, and its consumer counts the longer Data.
            let longer = (8 * data.wire_len()) as f64 / bits.max(1) as f64;
            data.header_mut().signals.set(&TARGET_RATE, (rate as f64 * longer) as u64);
        }
        if known.is_some_and(|known| self.is_greedy(class, known)) {
            greedy::mark(data);
        }
    }
}

impl Queue for Cds {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if ev.pool[packet].is_interest() {
            self.enqueue_interest(ev, packet);
        } else {
            self.largest_sent_bits = self.largest_sent_bits.max(8 * ev.pool[packet].wire_len());
            self.data.enqueue(ev, packet);
        }
    }

    /// Interests leave before Data. They are small, and the scheduler has paced them. While an Interest waits
    /// behind Data, the other direction may be idle. But they may use at most half of the link while Data wait.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if self.interests_out.passes_at(0) > ev.now
            && let Some(data) = self.data.pop(ev.pool)
        {
            return Next::Packet(data);
        }
        match self.dequeue_interest(ev) {
            Next::Packet(packet) => {
                self.interests_out.take(ev.now, 8 * ev.pool[packet].wire_len());
                Next::Packet(packet)
            }
            wait => self.data.pop(ev.pool).map_or(wait, Next::Packet),
        }
    }

    fn on_send_rate(&mut self, rate: Option<Rate>, now: Time) {
        self.send_rate = rate;
        self.interests_out.set_rate(now, interests_part(rate));
        self.data.set_rate(now, rate);
        self.share_capacity(now);
    }

    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        if ev.packet.is_data() {
            self.on_data(ev.now, ev.packet, ev.wire_len.bits());
            self.shortest_rtt = self.shortest_rtt.min(ev.rtt.unwrap_or(Span::MAX));
        } else if ev.packet.is_interest() {
            self.received_interest_bits += ev.wire_len.bits();
        }
    }

    fn next_deadline(&self) -> Time {
        self.period_ends
    }

    fn on_deadline(&mut self, now: Time) {
        self.end_period(now);
    }

    fn on_receive_rate(&mut self, rate: Option<Rate>, now: Time) {
        let rate = rate.unwrap_or(self.settings.unknown_capacity);
        self.capacity = rate.as_bps_f64();
        self.ledger.fit(rate, self.settings.default_data_bits);
        self.share_capacity(now);
    }

    fn on_fair_rate(&mut self, rate: Rate, _now: Time) {
        self.fair_capacity = Some(rate.as_bps_f64());
    }

    fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        for class in ServiceClass::ALL {
            let c = class as usize;
            let key = FlowKey { prefix: ev.prefix, class, group: GroupId::NONE };
            let find = |cds: &Cds| cds.index.find(key).map(|id| (id, NONE));
            while let Some((id, member)) = find(self).or_else(|| self.classes[c].find_in_groups(ev.prefix)) {
                let dropped = &mut *ev.dropped;
                self.give_up(c, Some((id, member)), ev.now, ev.pool, &mut |packet| {
                    dropped.push(Dropped { packet, reason: DropReason::NoRoute, nack: None });
                });
                self.classes[c].remove(id, member);
                if member == NONE {
                    self.index.remove(key);
                }
            }
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        for c in 0..CLASSES {
            self.give_up(c, None, ev.now, ev.pool, &mut |packet| ev.cleared.push(packet));
        }
        self.data.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        let data = self.data.backlog();
        Backlog {
            packets: self.queued_interests + data.packets,
            bytes: self.queued_interest_bytes + data.bytes,
        }
    }
}
