//! The schedule of a face: chooses the waiting Interest that leaves next.
//!
//! ```text
//!   CS7, CS6, EF: in this order, each up to δ_c of the link
//!   AF4 ... BE:   by weights ω: the class whose finish tag is least (weighted fair queueing)
//!   in a class:   deficit round robin over its flows and groups
//! ```
//!
//! An Interest counts with the size of the Data that it will bring.

use weir_core::meter::Meter;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::units::{Rate, Time};

use super::Settings;
use super::flows::Flows;
use super::level::{CLASSES, URGENT};

/// The depth of an urgent class's meter, bits: four Data of the largest size.
const URGENT_BURST: u64 = 4 * 8 * 8800;

/// The smallest quantum, bits.
const LEAST_QUANTUM: f64 = 1000.0;

/// The state of a class.
#[derive(Debug)]
struct Class {
    /// The last entry of the ring of flows and groups with waiting Interests. Its next entry is the first.
    last: Option<u32>,
    /// The virtual finish time.
    tag: f64,
    /// The bits of Data for which Interests wait, and their minimum in this period, which is the standing
    /// queue.
    waiting: f64,
    least: f64,
    /// The meter of δ_c of the link.
    limit: Meter,
}

/// The schedule of all classes.
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

    /// Returns the number of waiting Interests, and their bytes.
    pub(super) fn backlog(&self) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    /// Ends a period. Returns the bits of the Data for which Interests of each class have waited during the
    /// whole period.
    pub(super) fn standing(&mut self) -> [f64; CLASSES] {
        let next = |class: &mut Class| core::mem::replace(&mut class.least, class.waiting);
        core::array::from_fn(|c| next(&mut self.classes[c]))
    }

    /// Sets the rate of the link, bit/s, of which urgent classes have their parts.
    pub(super) fn set_rate(&mut self, now: Time, rate: f64) {
        for (class, delta) in self.classes.iter_mut().zip(self.delta) {
            class.limit.set_rate(now, Rate::from_bps_f64(delta * rate));
        }
    }

    /// Adds an Interest of a flow.
    pub(super) fn push(&mut self, flows: &mut Flows, number: u32, packet: PacketId, pool: &mut PacketPool) {
        let owner = flows[number].owner;
        let (c, size) = (flows[number].class(), flows[number].size);
        flows[number].waiting += 1;
        let class = &mut self.classes[c];
        if flows[owner].queue.is_empty() {
            // The new entry comes after the last one, which is before the first one.
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

    /// Returns the class whose turn it is.
    fn next_class(&self, now: Time) -> Option<usize> {
        let waits = |c: &usize| self.classes[*c].last.is_some();
        let is_free = |c: &usize| self.classes[*c].limit.passes_at(0) <= now;
        let by_tag = |a: &usize, b: &usize| self.classes[*a].tag.total_cmp(&self.classes[*b].tag);
        let urgent = (0..URGENT).filter(waits);
        let tolerant = || (URGENT..CLASSES).filter(waits).min_by(by_tag);
        // Urgent classes may have what no other class wants.
        urgent.clone().find(is_free).or_else(tolerant).or_else(|| urgent.clone().next())
    }

    /// Removes and returns the next Interest with its flow. A turn of a flow of weight 1 has `quantum` bits.
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
            // Its turn is over. All flows have the same quantum, whatever the sizes of their Data.
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

    /// Updates the schedule after an Interest of a flow has left the queue of its owner.
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
        // The owner leaves the ring. It is at its beginning, unless its prefix is being removed.
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

    /// Removes the Interests of a flow from the queue of its owner.
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
            if flows.find(pool[packet].flow) == Some(number) {
                self.take_out(flows, number, packet, pool);
                gone(packet);
            } else {
                flows[owner].queue.push_back(pool, packet);
            }
        }
    }

    /// Removes all waiting Interests.
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use weir_core::ids::{GroupId, PrefixId};
    use weir_core::packet::FlowKey;
    use weir_core::seam::params::Params;
    use weir_core::units::Span;
    use weir_packet::ServiceClass::{self, Af1, Af2, Af3, Af4, Be, Cs7, Ef};

    use super::*;
    use crate::sluice::level::Level;

    const LINK: f64 = 10e6;

    /// A flow, the bits of its Data, and its weight.
    type Asks = (FlowKey, f64, f64);

    fn flow(prefix: u32, class: ServiceClass) -> FlowKey {
        FlowKey { prefix: PrefixId(prefix), class, group: GroupId::NONE }
    }

    struct Bench {
        schedule: Schedule,
        flows: Flows,
        level: Level,
        pool: PacketPool,
        now: Time,
    }

    impl Bench {
        fn new() -> Bench {
            let settings = Settings::new(&Params::resolve(Settings::PARAMETERS, []).unwrap());
            let (mut schedule, level) = (Schedule::new(&settings), Level::new(&settings));
            schedule.set_rate(Time::ZERO, LINK);
            let now = Time::ZERO + Span::from_secs(1);
            Bench { schedule, flows: Flows::default(), level, pool: PacketPool::new(), now }
        }

        fn ask(&mut self, (key, bits, weight): Asks) -> PacketId {
            let id = self.pool.take();
            self.pool[id].flow = key;
            self.pool[id].net_len = 50;
            let number = self.flows.find_or_add(&self.pool[id], bits, |_| weight);
            self.flows.note_interest(self.now, number, &mut self.level);
            self.schedule.push(&mut self.flows, number, id, &mut self.pool);
            id
        }

        fn ask_all(&mut self, all: &[Asks]) {
            for &asks in all {
                self.ask(asks);
            }
        }

        fn pop(&mut self, quantum: f64) -> Option<(PacketId, u32)> {
            self.schedule.pop(self.now, quantum, &mut self.flows, &mut self.pool)
        }

        /// Returns the bits that each flow gets in `seconds` of the link while Interests of all flows wait.
        fn serve(&mut self, all: &[Asks], quantum: f64, seconds: f64) -> Vec<f64> {
            for _ in 0..5 {
                self.ask_all(all);
            }
            let (mut served, end) = (vec![0.0; all.len()], self.now + Span::from_secs_f64(seconds));
            while self.now < end {
                let (id, _) = self.pop(quantum).unwrap();
                let key = self.pool[id].flow;
                self.pool.free(id);
                let place = all.iter().position(|asks| asks.0 == key).unwrap();
                served[place] += all[place].1;
                self.now += Span::from_secs_f64(all[place].1 / LINK);
                self.ask(all[place]);
            }
            served
        }
    }

    #[test]
    fn flows_of_equal_weight_get_equal_bits_whatever_the_sizes_of_their_data_are() {
        let (small, usual, large) = (8.0 * 64.0, 8.0 * 1125.0, 8.0 * 8000.0);
        let flows = [(flow(1, Be), large, 1.0), (flow(2, Be), small, 1.0), (flow(3, Be), usual, 1.0)];
        for quantum in [0.0, usual, large] {
            let served = Bench::new().serve(&flows, quantum, 2.0);
            for bits in &served {
                // The tolerance of deficit round robin: a turn, and the largest Data.
                assert!((bits - 2.0 * LINK / 3.0).abs() < quantum + large, "{quantum}: {served:?}");
            }
        }
    }

    #[test]
    fn a_flow_gets_bits_by_its_weight() {
        let flows = [(flow(1, Be), 8e3, 1.0), (flow(2, Be), 2e3, 3.0), (flow(3, Be), 6e4, 0.5)];
        let served = Bench::new().serve(&flows, 8e3, 4.0);
        for (bits, weight) in served.iter().zip([1.0, 3.0, 0.5]) {
            assert!((bits / (4.0 * LINK) / (weight / 4.5) - 1.0).abs() < 0.02, "{served:?}");
        }
    }

    #[test]
    fn classes_share_by_their_weights_whatever_their_flows_and_sizes_are() {
        let mut flows: Vec<Asks> =
            [(Af4, 6e4), (Af3, 1e3), (Af2, 8e3), (Af1, 2e3)].map(|(c, bits)| (flow(0, c), bits, 1.0)).into();
        flows.extend((1..=9).map(|prefix| (flow(prefix, Be), 8e3, 1.0)));
        let served = Bench::new().serve(&flows, 8e3, 4.0);
        let best_effort: f64 = served[4..].iter().sum();
        for (bits, omega) in served[..4].iter().chain([&best_effort]).zip([5.0, 4.0, 3.0, 2.0, 1.0]) {
            assert!((bits / (4.0 * LINK) / (omega / 15.0) - 1.0).abs() < 0.02, "{served:?}");
        }
    }

    #[test]
    fn urgent_classes_leave_first_up_to_their_parts() {
        let mut bench = Bench::new();
        let flows = [(flow(1, Be), 8e3, 1.0), (flow(2, Ef), 8e3, 1.0), (flow(3, Cs7), 8e3, 1.0)];
        bench.ask_all(&flows);
        let mut next = || bench.pop(8e3).map(|(id, _)| bench.pool[id].flow.class);
        assert_eq!([next(), next(), next(), next()], [Some(Cs7), Some(Ef), Some(Be), None]);
        let served = bench.serve(&flows, 8e3, 4.0);
        for (bits, part) in served.iter().zip([0.5, 0.3, 0.2]) {
            let right = part * 4.0 * LINK;
            assert!((bits - right).abs() < 2.0 * URGENT_BURST as f64 + 1e4, "{served:?}");
        }
    }

    #[test]
    fn a_group_of_a_hundred_flows_has_the_part_of_one() {
        let of_group = |prefix| FlowKey { group: GroupId(1), ..flow(prefix, Be) };
        let mut flows: Vec<Asks> = (1..=100).map(|prefix| (of_group(prefix), 8e3, 1.0)).collect();
        flows.push((flow(0, Be), 8e3, 1.0));
        let served = Bench::new().serve(&flows, 8e3, 4.0);
        assert!((served[100] / (2.0 * LINK) - 1.0).abs() < 0.01, "{}", served[100]);
        let (least, most) =
            served[..100].iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
        assert!(most - least <= 8e3, "in a group they are served in turn: {least} to {most}");
    }

    /// Prefixes 0 to 2 are in no group, 3 to 5 in one, 6 and 7 in another. There are two classes.
    fn any_flow(number: u8) -> Asks {
        let (prefix, class) = (u32::from(number % 8), [Be, Ef][usize::from(number / 8 % 2)]);
        let group = GroupId([0, 0, 0, 1, 1, 1, 2, 2][prefix as usize]);
        (FlowKey { group, ..flow(prefix, class) }, 500.0 * f64::from(1 + 7 * prefix), 1.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

        #[test]
        fn interests_in_are_interests_out_removed_or_waiting(ops in prop::collection::vec(any::<(u8, u8)>(), 0..300)) {
            let mut bench = Bench::new();
            let mut model = vec![VecDeque::new(); 16];
            for (op, number) in ops {
                match op % 16 {
                    0..8 => {
                        let id = bench.ask(any_flow(number));
                        model[usize::from(number % 16)].push_back(id);
                    }
                    8..14 => {
                        bench.now += Span::from_micros(u64::from(number));
                        let popped = bench.pop(8e3);
                        prop_assert_eq!(popped.is_none(), model.iter().all(VecDeque::is_empty));
                        if let Some((id, _)) = popped {
                            let of_flow = model.iter_mut().find(|waits| waits.front() == Some(&id));
                            prop_assert!(of_flow.is_some(), "the oldest Interest of its flow");
                            of_flow.unwrap().pop_front();
                            bench.pool.free(id);
                        }
                    }
                    14 => {
                        for number in bench.flows.of_prefix(PrefixId(u32::from(number % 8))) {
                            let Bench { schedule, flows, level, pool, .. } = &mut bench;
                            let mut gone = VecDeque::new();
                            schedule.remove(number, flows, pool, |id| gone.push_back(id));
                            let FlowKey { prefix, class, .. } = flows[number].key;
                            let place = prefix.0 as usize + if class == Ef { 8 } else { 0 };
                            prop_assert_eq!(&gone, &model[place]);
                            model[place].clear();
                            flows.remove(number, level);
                            gone.into_iter().for_each(|id| pool.free(id));
                        }
                    }
                    _ if number < 32 => {
                        let mut all = Vec::new();
                        bench.schedule.clear(&mut bench.flows, &mut bench.pool, &mut all);
                        prop_assert_eq!(all.len(), model.iter().map(VecDeque::len).sum::<usize>());
                        model.iter_mut().for_each(VecDeque::clear);
                        all.into_iter().for_each(|id| bench.pool.free(id));
                    }
                    _ => {
                        bench.now += Span::from_secs(1);
                        bench.flows.end_silent(bench.now, &mut bench.level);
                    }
                }
                let waiting = model.iter().map(|waits| waits.len() as u32).sum::<u32>();
                prop_assert_eq!(bench.schedule.backlog(), (waiting, 50 * u64::from(waiting)));
            }
            while let Some((id, number)) = bench.pop(8e3) {
                let waits = model.iter_mut().find(|waits| waits.front() == Some(&id));
                prop_assert!(waits.is_some_and(|waits| waits.pop_front().is_some()));
                prop_assert!(bench.flows[number].waiting < 300);
            }
            prop_assert!(model.iter().all(VecDeque::is_empty));
            bench.flows.end_silent(bench.now + Span::from_secs(100), &mut bench.level);
            prop_assert!(!bench.flows.is_active() && bench.level.active() == 0.0);
        }
    }
}
