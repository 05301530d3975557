//! The Interests that wait at a face: which of them is next.
//!
//! ```text
//!   CS7, CS6, EF: in this order, each up to δ_c of the link
//!   AF4 ... BE:   by weights ω: the class whose finish tag is least (weighted fair queueing)
//!   in a class:   deficit round robin over its flows and groups
//! ```
//!
//! An Interest counts as the Data that it will bring.

use weir_core::meter::Meter;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::units::{Rate, Time};

use super::Settings;
use super::flows::Flows;
use super::level::{CLASSES, URGENT};

/// Depth of the meter of an urgent class, bits: four Data of the largest size.
const URGENT_BURST: u64 = 4 * 8 * 8800;

/// Bits of a turn, at least.
const LEAST_QUANTUM: f64 = 1000.0;

/// A class.
#[derive(Debug)]
struct Class {
    /// The ring of the flows and groups with Interests that wait: the last of them. Its next is the first.
    last: Option<u32>,
    /// Its virtual finish time.
    tag: f64,
    /// Bits of the Data for which Interests wait, and their least in this period: the standing queue.
    waiting: f64,
    least: f64,
    /// δ_c of the link.
    limit: Meter,
}

/// All classes.
#[derive(Debug)]
pub(super) struct Schedule {
    omega: [f64; CLASSES - URGENT],
    delta: [f64; URGENT],
    classes: [Class; CLASSES],
    /// The virtual time: the tag of the class that was served last.
    virtual_time: f64,
    packets: u32,
    bytes: u64,
}

impl Schedule {
    pub(super) fn new(settings: &Settings) -> Schedule {
        let limit = Meter::new(Rate::from_bps(1 << 50), URGENT_BURST);
        Schedule {
            omega: settings.omega,
            delta: settings.delta,
            classes: core::array::from_fn(|_| Class {
                last: None,
                tag: 0.0,
                waiting: 0.0,
                least: 0.0,
                limit,
            }),
            virtual_time: 0.0,
            packets: 0,
            bytes: 0,
        }
    }

    /// Interests that wait, and their bytes.
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Ends a period: the bits of the Data for which Interests of each class have waited all the time.
    pub(super) fn standing(&mut self) -> [f64; CLASSES] {
        let next = |class: &mut Class| core::mem::replace(&mut class.least, class.waiting);
        core::array::from_fn(|c| next(&mut self.classes[c]))
    }

    /// The urgent classes have their parts of another rate, bit/s.
    pub(super) fn set_rate(&mut self, now: Time, rate: f64) {
        for (class, delta) in self.classes.iter_mut().zip(self.delta) {
            class.limit.set_rate(now, Rate::from_bps_f64(delta * rate));
        }
    }

    /// An Interest of a flow waits.
    pub(super) fn push(&mut self, flows: &mut Flows, number: u32, packet: PacketId, pool: &mut PacketPool) {
        let owner = flows[number].owner;
        let (c, size) = (flows[number].class(), flows[number].size);
        flows[number].waiting += 1;
        let class = &mut self.classes[c];
        if flows[owner].queue.is_empty() {
            // Behind the last one: that is before the first one.
            match class.last {
                Some(last) => {
                    flows[owner].next = flows[last].next;
                    flows[last].next = owner;
                }
                None => {
                    flows[owner].next = owner;
                    class.tag = class.tag.max(self.virtual_time);
                }
            }
            class.last = Some(owner);
            flows[owner].deficit = size;
        }
        flows[owner].queue.push_back(pool, packet);
        class.waiting += size;
        self.packets += 1;
        self.bytes += pool[packet].wire_len();
    }

    /// The class whose turn it is.
    fn next_class(&self, now: Time) -> Option<usize> {
        let waits = |c: &usize| self.classes[*c].last.is_some();
        let is_free = |c: &usize| self.classes[*c].limit.passes_at(0) <= now;
        let by_tag = |a: &usize, b: &usize| self.classes[*a].tag.total_cmp(&self.classes[*b].tag);
        let urgent = (0..URGENT).filter(waits);
        let tolerant = || (URGENT..CLASSES).filter(waits).min_by(by_tag);
        // What no other class wants, urgent ones may have.
        urgent.clone().find(is_free).or_else(tolerant).or_else(|| urgent.clone().next())
    }

    /// Takes the next Interest: it, and its flow. A turn of a flow of weight 1 is so many bits.
    pub(super) fn pop(
        &mut self,
        now: Time,
        quantum: f64,
        flows: &mut Flows,
        pool: &mut PacketPool,
    ) -> Option<(PacketId, u32)> {
        let c = self.next_class(now)?;
        let class = &mut self.classes[c];
        let (owner, packet, number, size) = loop {
            let last = class.last?;
            let owner = flows[last].next;
            let front = flows[owner].queue.front()?;
            let number = flows.find(pool[front].flow)?;
            let size = flows[number].size;
            if flows[owner].deficit >= size {
                break (owner, flows[owner].queue.pop_front(pool)?, number, size);
            }
            // Its turn is over. All have the same quantum, whatever the sizes of their Data are.
            flows[owner].deficit += quantum.max(LEAST_QUANTUM) * flows[owner].weight;
            class.last = Some(owner);
        };
        flows[owner].deficit -= size;
        self.take_out(flows, number, packet, pool);
        let class = &mut self.classes[c];
        if c < URGENT {
            class.limit.take(now, size as u64);
        } else {
            self.virtual_time = self.virtual_time.max(class.tag);
            class.tag = self.virtual_time + size / self.omega[c - URGENT];
        }
        Some((packet, number))
    }

    /// An Interest of a flow has left the queue of its owner.
    fn take_out(&mut self, flows: &mut Flows, number: u32, packet: PacketId, pool: &PacketPool) {
        let (owner, c, size) = (flows[number].owner, flows[number].class(), flows[number].size);
        flows[number].waiting -= 1;
        self.packets -= 1;
        self.bytes -= pool[packet].wire_len();
        let class = &mut self.classes[c];
        class.waiting = (class.waiting - size).max(0.0);
        class.least = class.least.min(class.waiting);
        if !flows[owner].queue.is_empty() {
            return;
        }
        // It leaves the ring, from whose beginning it is unless its prefix is forgotten.
        let Some(mut before) = class.last else { return };
        while flows[before].next != owner {
            before = flows[before].next;
        }
        class.last = if before == owner { None } else { Some(before) };
        flows[before].next = flows[owner].next;
        if class.last.is_none() {
            (class.waiting, class.least) = (0.0, 0.0);
        }
    }

    /// Takes the Interests of a flow out of the queue of its owner.
    pub(super) fn remove(
        &mut self,
        number: u32,
        flows: &mut Flows,
        pool: &mut PacketPool,
        mut gone: impl FnMut(PacketId),
    ) {
        let owner = flows[number].owner;
        for _ in 0..flows[owner].queue.len() {
            let Some(packet) = flows[owner].queue.pop_front(pool) else { break };
            if pool[packet].flow == flows[number].key {
                self.take_out(flows, number, packet, pool);
                gone(packet);
            } else {
                flows[owner].queue.push_back(pool, packet);
            }
        }
    }

    /// Gives up all that wait.
    pub(super) fn clear(&mut self, flows: &mut Flows, pool: &mut PacketPool, cleared: &mut Vec<PacketId>) {
        for class in &mut self.classes {
            while let Some(last) = class.last {
                let owner = flows[last].next;
                cleared.extend(core::iter::from_fn(|| flows[owner].queue.pop_front(pool)));
                flows[last].next = flows[owner].next;
                class.last = (owner != last).then_some(last);
            }
            (class.waiting, class.least) = (0.0, 0.0);
        }
        (self.packets, self.bytes) = (0, 0);
        flows.clear();
    }
}
