//! The face: the Data of each prefix have a queue, and deficit round robin serves the queues (section 6.6).
//! The face also adds the part of the feedback that only it knows (section 4.1): the number of Data of the
//! prefix that wait for this downstream.
//!
//! Interests and Nacks share one more queue. All queues have the same weight. If the face is full, the
//! longest queue drops its oldest packet, so no prefix uses the space of others.

use std::collections::VecDeque;

use weir_core::packet::{Packet, PacketId, PacketList, PacketPool};
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, Drops, EnqueueEvent, FaceConfig, Next,
    PrefixRemoved, Queue, QueueLimit,
};
use weir_packet::NackReason;

use super::signals::QUEUE_SIZE;

/// The quantum before any packet has left, bytes.
const FIRST_QUANTUM: u64 = 500;
/// The number of packets over whose mean length the quantum is taken.
const PACKETS_IN_MEAN: u64 = 64;

/// The queue of a prefix. With one queue for all, the first one holds the packets, and the others only count
/// theirs.
#[derive(Clone, Copy, Debug, Default)]
struct PrefixQueue {
    packets: PacketList,
    bytes: u64,
    /// The number of packets of the prefix.
    count: u32,
    deficit: u64,
    /// Whether the queue is in the round.
    has_turn: bool,
    /// Whether the node knows that packets of the prefix may be here.
    is_known: bool,
}

/// The queue of a face.
#[derive(Debug)]
pub(super) struct DataQueue {
    limit: QueueLimit,
    is_fair: bool,
    /// The first queue holds the packets without a prefix. The others are in the order of prefixes.
    queues: Vec<PrefixQueue>,
    turns: VecDeque<u32>,
    /// [`PACKETS_IN_MEAN`] times the quantum, which is the mean length of leaving packets. With a larger
    /// quantum, several Data of a prefix would leave in succession, and the downstream would measure the
    /// burst as a rate that is too high.
    quanta: u64,
    backlog: Backlog,
}

/// Returns the queue of a packet. A packet without a route has the number before the first prefix.
fn place_of(packet: &Packet) -> usize {
    if packet.is_data() { packet.flow.prefix.0.wrapping_add(1) as usize } else { 0 }
}

impl DataQueue {
    pub(super) fn new(face: &FaceConfig, is_fair: bool) -> DataQueue {
        let (queues, turns) = (vec![PrefixQueue::default()], VecDeque::new());
        let (quanta, backlog) = (PACKETS_IN_MEAN * FIRST_QUANTUM, Backlog::default());
        DataQueue { limit: face.limit, is_fair, queues, turns, quanta, backlog }
    }

    fn list_of(&self, place: usize) -> usize {
        if self.is_fair { place } else { 0 }
    }

    fn fits(&self, packets: u32, bytes: u64) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => packets < limit,
            QueueLimit::Bytes(limit) => bytes <= limit.as_u64(),
        }
    }

    /// Makes room for a packet of this length in this queue. Returns whether there is room.
    fn make_room(&mut self, list: usize, len: u64, pool: &mut PacketPool, dropped: &mut Drops) -> bool {
        if !self.fits(0, len) {
            return false;
        }
        while !self.fits(self.backlog.packets, self.backlog.bytes + len) {
            let longest = self.turns.iter().copied().max_by_key(|&at| self.queues[at as usize].bytes);
            let Some(longest) = longest.map(|at| at as usize) else { return false };
            if longest == list || self.queues[longest].bytes <= self.queues[list].bytes + len {
                return false;
            }
            let Some(packet) = self.pop(longest, pool) else { return false };
            dropped.push(Dropped { packet, reason: DropReason::PushedOut, nack: nack_for(&pool[packet]) });
        }
        true
    }

    fn pop(&mut self, list: usize, pool: &mut PacketPool) -> Option<PacketId> {
        let queue = &mut self.queues[list];
        let packet = queue.packets.pop_front(pool)?;
        let len = pool[packet].wire_len();
        queue.bytes -= len;
        self.backlog.packets -= 1;
        self.backlog.bytes -= len;
        self.queues[place_of(&pool[packet])].count -= 1;
        Some(packet)
    }

    /// Returns the next packet by deficit round robin.
    fn next(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        loop {
            let at = *self.turns.front()?;
            let queue = &mut self.queues[at as usize];
            let Some(head) = queue.packets.front() else {
                (queue.has_turn, queue.deficit) = (false, 0);
                self.turns.pop_front();
                continue;
            };
            let len = pool[head].wire_len();
            if queue.deficit < len {
                queue.deficit += (self.quanta / PACKETS_IN_MEAN).max(1);
                self.turns.rotate_left(1);
                continue;
            }
            queue.deficit -= len;
            self.quanta = self.quanta - self.quanta / PACKETS_IN_MEAN + len;
            return self.pop(at as usize, pool);
        }
    }
}

/// Returns the Nack for an Interest that did not leave.
fn nack_for(packet: &Packet) -> Option<NackReason> {
    packet.is_interest().then_some(NackReason::Congestion)
}

impl Queue for DataQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        let (place, len) = (place_of(&ev.pool[packet]), ev.pool[packet].wire_len());
        if place >= self.queues.len() {
            self.queues.resize(place + 1, PrefixQueue::default());
        }
        let list = self.list_of(place);
        if !self.make_room(list, len, ev.pool, ev.dropped) {
            let nack = nack_for(&ev.pool[packet]);
            ev.dropped.push(Dropped { packet, reason: DropReason::QueueFull, nack });
            return;
        }
        ev.keeps_prefix = !core::mem::replace(&mut self.queues[place].is_known, true);
        self.queues[place].count += 1;
        let queue = &mut self.queues[list];
        queue.packets.push_back(ev.pool, packet);
        queue.bytes += len;
        self.backlog.packets += 1;
        self.backlog.bytes += len;
        if !queue.has_turn {
            queue.has_turn = true;
            self.turns.push_back(list as u32);
        }
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let Some(id) = self.next(ev.pool) else { return Next::Empty };
        let packet = &mut ev.pool[id];
        if packet.is_data() {
            let waiting = u64::from(self.queues[place_of(packet)].count);
            let said = packet.header().signals.value(&QUEUE_SIZE);
            if said.is_none_or(|said| said < waiting) {
                packet.header_mut().signals.set(&QUEUE_SIZE, waiting);
            }
        }
        Next::Packet(id)
    }

    fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        let place = ev.prefix.0.wrapping_add(1) as usize;
        if place == 0 || place >= self.queues.len() {
            return;
        }
        self.queues[place].is_known = false;
        if self.queues[place].count == 0 {
            return;
        }
        let list = self.list_of(place);
        let mut kept = PacketList::default();
        // With one queue for all, the packets of other prefixes stay in order.
        while let Some(packet) = self.queues[list].packets.pop_front(ev.pool) {
            if place_of(&ev.pool[packet]) != place {
                kept.push_back(ev.pool, packet);
                continue;
            }
            let len = ev.pool[packet].wire_len();
            self.queues[list].bytes -= len;
            self.backlog.packets -= 1;
            self.backlog.bytes -= len;
            ev.dropped.push(Dropped { packet, reason: DropReason::NoRoute, nack: None });
        }
        self.queues[list].packets = kept;
        self.queues[place].count = 0;
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        for list in 0..self.queues.len() {
            while let Some(packet) = self.pop(list, ev.pool) {
                ev.cleared.push(packet);
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::ids::{FaceId, PrefixId};
    use weir_core::packet::{FlowKey, Kind};
    use weir_core::random::Random;
    use weir_core::units::{Bytes, Time};
    use weir_packet::ServiceClass;

    struct Bench {
        queue: DataQueue,
        pool: PacketPool,
        dropped: Drops,
        random: Random,
    }

    impl Bench {
        fn new(limit: QueueLimit, is_fair: bool) -> Bench {
            let config = FaceConfig { face: FaceId(0), send_rate: None, receive_rate: None, limit };
            Bench {
                queue: DataQueue::new(&config, is_fair),
                pool: PacketPool::new(),
                dropped: Drops::new(),
                random: Random::named(1, "face"),
            }
        }

        fn put(&mut self, kind: Kind, prefix: u32, len: u32, says: Option<u64>) {
            let id = self.pool.take();
            let packet = &mut self.pool[id];
            (packet.kind, packet.net_len) = (kind, len);
            packet.flow = FlowKey { prefix: PrefixId(prefix), class: ServiceClass::Be, ..FlowKey::default() };
            if let Some(size) = says {
                packet.header_mut().signals.set(&QUEUE_SIZE, size);
            }
            let (pool, dropped, random) = (&mut self.pool, &mut self.dropped, &mut self.random);
            self.queue.enqueue(
                &mut EnqueueEvent { now: Time::ZERO, pool, dropped, random, keeps_prefix: false },
                id,
            );
        }

        fn put_data(&mut self, prefix: u32, len: u32) {
            self.put(Kind::Data, prefix, len, None);
        }

        /// Returns the prefix and the feedback of the next packet.
        fn get(&mut self) -> Option<(u32, Option<u64>)> {
            let (pool, dropped, random) = (&mut self.pool, &mut self.dropped, &mut self.random);
            match self.queue.dequeue(&mut DequeueEvent { now: Time::ZERO, pool, dropped, random, note: None })
            {
                Next::Packet(id) => {
                    let packet = &self.pool[id];
                    Some((packet.flow.prefix.0, packet.header().signals.value(&QUEUE_SIZE)))
                }
                _ => None,
            }
        }

        fn order(&mut self) -> Vec<u32> {
            core::iter::from_fn(|| self.get()).map(|(prefix, _)| prefix).collect()
        }
    }

    #[test]
    fn prefixes_share_a_link_by_bytes_whatever_the_size_of_their_data_and_queues() {
        let mut bench = Bench::new(QueueLimit::Packets(10_000), true);
        for _ in 0..300 {
            bench.put_data(1, 4500);
        }
        for _ in 0..900 {
            bench.put_data(2, 1000);
        }
        let mut bytes = [0_u32; 3];
        for _ in 0..500 {
            let (prefix, _) = bench.get().unwrap();
            bytes[prefix as usize] += if prefix == 1 { 4500 } else { 1000 };
        }
        let ratio = f64::from(bytes[1]) / f64::from(bytes[2]);
        assert!((ratio - 1.0).abs() < 0.05, "{bytes:?}");
    }

    #[test]
    fn equal_packets_take_turns_in_order_of_arrival_and_interests_have_a_turn_of_their_own() {
        let mut bench = Bench::new(QueueLimit::Packets(100), true);
        for (kind, prefix) in [
            (Kind::Data, 7),
            (Kind::Data, 7),
            (Kind::Data, 7),
            (Kind::Data, 8),
            (Kind::Interest, 9),
            (Kind::Data, 8),
        ] {
            bench.put(kind, prefix, 4000, None);
        }
        assert_eq!(bench.order(), [7, 8, 9, 7, 8, 7]);
    }

    /// A prefix that sends several small Data in one turn looks faster downstream than it is.
    #[test]
    fn data_of_a_prefix_do_not_leave_several_at_a_time() {
        let mut bench = Bench::new(QueueLimit::Packets(10_000), true);
        for _ in 0..200 {
            (1..=4).for_each(|prefix| bench.put_data(prefix, 1100));
        }
        let settled = &bench.order()[300..];
        assert!(settled.windows(2).all(|pair| pair[0] != pair[1]), "{settled:?}");
    }

    #[test]
    fn without_fair_queueing_packets_leave_as_they_came() {
        let mut bench = Bench::new(QueueLimit::Packets(100), false);
        for prefix in [7, 7, 8, 7, 9] {
            bench.put_data(prefix, 4000);
        }
        assert_eq!(bench.get(), Some((7, Some(2))), "its own prefix counts");
        assert_eq!(bench.order(), [7, 8, 7, 9]);
    }

    #[test]
    fn the_feedback_is_the_larger_of_both_queues() {
        let mut bench = Bench::new(QueueLimit::Packets(100), true);
        for says in [Some(1), Some(9), Some(0), None] {
            bench.put(Kind::Data, 3, 4000, says);
        }
        bench.put_data(4, 4000);
        let said: Vec<_> = core::iter::from_fn(|| bench.get()).filter(|(p, _)| *p == 3).collect();
        assert_eq!(said.iter().map(|(_, size)| size.unwrap()).collect::<Vec<_>>(), [3, 9, 1, 0]);
    }

    #[test]
    fn a_full_face_takes_from_the_longest_queue() {
        let mut bench = Bench::new(QueueLimit::Packets(4), true);
        for prefix in [1, 1, 1, 1, 1, 2, 3, 2] {
            bench.put_data(prefix, 4000);
        }
        let reasons: Vec<_> = bench.dropped.iter().map(|dropped| dropped.reason).collect();
        assert_eq!(reasons[..3], [DropReason::QueueFull, DropReason::PushedOut, DropReason::PushedOut]);
        let mut left = bench.order();
        left.sort_unstable();
        assert_eq!((left.len(), left.contains(&3)), (4, true), "{left:?}");
        assert_eq!(bench.queue.backlog(), Backlog::default());
    }

    #[test]
    fn a_packet_that_never_fits_pushes_nobody_out() {
        let mut bench = Bench::new(QueueLimit::Bytes(Bytes::new(9000)), true);
        bench.put_data(1, 4000);
        bench.put(Kind::Interest, 2, 9001, None);
        assert_eq!(bench.dropped.len(), 1);
        assert_eq!(bench.dropped[0].nack, Some(NackReason::Congestion));
        assert_eq!(bench.order(), [1]);
    }

    #[test]
    fn a_prefix_that_is_forgotten_takes_its_packets_with_it() {
        for is_fair in [true, false] {
            let mut bench = Bench::new(QueueLimit::Packets(100), is_fair);
            for prefix in [1, 2, 1, 3, u32::MAX] {
                bench.put_data(prefix, 4000);
            }
            let (now, pool, dropped) = (Time::ZERO, &mut bench.pool, &mut bench.dropped);
            let prefix = PrefixId(1);
            bench.queue.on_prefix_removed(&mut PrefixRemoved { now, prefix, pool, dropped });
            assert_eq!(bench.dropped.len(), 2);
            assert_eq!(bench.order(), [2, 3, u32::MAX]);
        }
    }
}
