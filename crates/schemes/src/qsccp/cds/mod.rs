//! CDS, class-based differentiated scheduling (section IV-C), in front of each link, with the rate estimation of PECN.
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
//!  Data ------------------------------------- drop-tail, C_DS first ------------------------> link
//! ```
//!
//! A flow with its own limit has a TBRL before its class's ring. It is out of the ring while it has no tokens.
//!
//! An Interest counts with the size of the Data that it will bring, because the Data load the link, in the other
//! direction. Each packet costs O(1): a class keeps its backlogged flows in a ring, a flow's queue is a list through
//! the packets themselves, and flows are found by index.
//!
//! `schedule.rs` has the scheduler, `flows.rs` the state of flows and classes, `period.rs` the computation every T.

mod flows;
mod period;
mod schedule;

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_core::meter::Meter;
use weir_core::packet::PacketId;
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, EnqueueEvent, FaceConfig, Next, PrefixRemoved,
    Queue, ReceiveEvent,
};
use weir_core::units::{Rate, Span, Time};
use weir_packet::ServiceClass;

use super::Settings;
use super::index::{CLASSES, FlowIndex};
use super::ledger::Ledger;
use super::outgoing::Outgoing;
use super::pecn::Overbooking;
use flows::{Class, Flow, Group};

/// C_DS = {CS7, CS6, EF} come first in the numbering, then C_DT.
const FIRST_DT: usize = ServiceClass::Ef as usize + 1;
const DT_CLASSES: usize = CLASSES - FIRST_DT;

/// No flow.
const NONE: u32 = u32::MAX;

/// Class-based differentiated scheduling at one face.
#[derive(Debug)]
pub(in crate::qsccp) struct Cds {
    settings: Settings,
    /// B: the rate at which Data can arrive on this face. On a shared medium: the expected rate of the face,
    /// and the rate that it could have if it asked for all.
    capacity: f64,
    fair_capacity: Option<f64>,
    /// B_I of the last period.
    reverse_interests: f64,
    flows: Vec<Flow>,
    free_flows: Vec<u32>,
    index: FlowIndex,
    /// Groups of faces in a class, by the number of the group in place of a prefix: the flows that stand for them.
    groups: Vec<Group>,
    free_groups: Vec<u32>,
    group_index: FlowIndex,
    classes: [Class; CLASSES],
    /// A of the last period, bit/s: the rate that the delay-tolerant classes share; and how much more they are
    /// offered.
    shared_rate: f64,
    overbooking: Overbooking,
    /// Flows that lack tokens of their own, by when they have them.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    /// A bit for each class that has a head.
    backlogged: u8,
    /// WFQ virtual time: the finish tag last served.
    virtual_time: f64,
    /// The total TBRL.
    total: Meter,
    /// The largest Data of any flow, bits, as known when the period began.
    largest_bits: u64,
    /// Its charges for Interests whose Data have not come.
    ledger: Ledger,
    /// Data and Nacks: not scheduled.
    data: Outgoing,
    /// The rate at which packets leave; the largest Data among them since the period before; and the
    /// part of the link that Interests may take from Data.
    send_rate: Option<Rate>,
    largest_sent_bits: u64,
    interests_out: Meter,
    queued_interests: u32,
    queued_interest_bytes: u64,
    /// The shortest round trip from this face since the period began, and in the latest period before
    /// that had any.
    shortest_rtt: Span,
    shortest_rtt_before: Span,
    /// Bits of Interests received on this face since the period began: B_I·T.
    received_interest_bits: u64,
    period_began: Time,
    /// Never while no flow has state.
    period_ends: Time,
}

/// Half of the link; no bound if the rate of the link is not known.
fn interests_part(send_rate: Option<Rate>) -> Rate {
    send_rate.map_or(Rate::from_bps(u64::MAX), |rate| Rate::from_bps(rate.as_bps() / 2))
}

impl Cds {
    pub(super) fn new(settings: &Settings, face: &FaceConfig) -> Cds {
        let capacity = face.receive_rate.unwrap_or(settings.unknown_capacity).as_bps_f64();
        let target = settings.eta * capacity;
        let classes = core::array::from_fn(|c| {
            let limiter = (c < FIRST_DT)
                .then(|| Meter::new(Rate::from_bps_f64(target * settings.delta[c]), settings.bucket_bits));
            Class::new(limiter)
        });
        let mut cds = Cds {
            settings: settings.clone(),
            capacity,
            fair_capacity: None,
            reverse_interests: 0.0,
            flows: Vec::new(),
            free_flows: Vec::new(),
            index: FlowIndex::default(),
            groups: Vec::new(),
            free_groups: Vec::new(),
            group_index: FlowIndex::default(),
            classes,
            shared_rate: 0.0,
            overbooking: Overbooking::default(),
            parked: BinaryHeap::new(),
            backlogged: 0,
            virtual_time: 0.0,
            total: Meter::new(Rate::from_bps_f64(target), settings.burst_bits),
            largest_bits: 0,
            ledger: Ledger::new(Rate::from_bps_f64(capacity), settings.default_data_bits),
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
        let PrefixRemoved { now, prefix, pool, dropped } = ev;
        for id in self.index.of_prefix(*prefix) {
            self.flush(id, *now, pool, &mut |packet| {
                dropped.push(Dropped { packet, reason: DropReason::NoRoute, nack: None });
            });
            self.remove_flow(id);
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        for id in 0..self.flows.len() as u32 {
            self.flush(id, ev.now, ev.pool, &mut |packet| ev.cleared.push(packet));
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
