//! The Interest shaper of a face, and the rates that the face writes into Data.
//!
//! ```text
//!   Interests --> primary   [#####] --+
//!                 secondary [##   ] --+--> one per S_D/C --> link
//!   Data, Nacks -> drop-tail ---------------------------^ while none is due
//! ```
//!
//! An Interest leaves when its Data fits the link. Both classes share one queue. If it is full, a primary
//! Interest pushes out the newest secondary one.

use weir_core::ids::FaceId;
use weir_core::meter::Meter;
use weir_core::packet::{Packet, PacketId, PacketPool};
use weir_core::seam::DropTail;
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, EnqueueEvent, FaceConfig, Next, Queue,
    ReceiveEvent,
};
use weir_core::units::{Rate, Span, Time};

use super::Settings;
use super::answers::Answers;
use super::rates::{Class, LinkRates};
use super::signals::{PRIMARY_RATE, RATE_CLASS, SECONDARY_RATE};
use crate::path_label;
use std::collections::VecDeque;

/// The largest size of a Data, bits: NDN packets have at most 8800 bytes.
const MAX_DATA_BITS: u64 = 8 * 8800;

/// The shaper and the queue of a face.
#[derive(Debug)]
pub(super) struct Shaper {
    settings: Settings,
    face: FaceId,
    /// The primary and the secondary Interests. Each queue has at most `shaper` Interests, so it never
    /// reallocates.
    waiting: [VecDeque<PacketId>; 2],
    waiting_bytes: u64,
    data: DropTail,
    /// C.
    capacity: Rate,
    clock: Meter,
    /// S_D, the size of arriving Data, bits.
    data_bits: u64,
    has_seen_data: bool,
    answers: Answers,
    rates: LinkRates,
    period_began: Time,
    period_ends: Time,
}

impl Shaper {
    pub(super) fn new(settings: Settings, face: &FaceConfig) -> Shaper {
        let capacity = settings.capacity(face.receive_rate);
        Shaper {
            settings,
            face: face.face,
            waiting: [0, 1].map(|_| VecDeque::with_capacity(settings.shaper)),
            waiting_bytes: 0,
            data: DropTail::new(face.limit),
            capacity,
            clock: Meter::new(capacity, settings.data_bits),
            data_bits: settings.data_bits,
            has_seen_data: false,
            answers: Answers::new(),
            rates: LinkRates::new(capacity.as_bps_f64(), settings.gain, settings.secondary_flows),
            period_began: Time::ZERO,
            period_ends: Time::NEVER,
        }
    }

    fn waiting(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }

    /// Returns the Data bits of an Interest: S_D times the part that is answered.
    fn expected_bits(&self) -> u64 {
        match self.answers.part() {
            1.0 => self.data_bits,
            part => ((self.data_bits as f64 * part) as u64).max(1),
        }
    }

    fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        let class = class_of(&ev.pool[packet]);
        self.begin_period(ev.now);
        // Dropped Interests also count as demand. Otherwise a rate that is too high would not fall.
        self.rates.count(class, self.expected_bits());
        if self.waiting() >= self.settings.shaper {
            let pushed_out = if class == Class::Primary { self.waiting[1].pop_back() } else { None };
            let (packet, reason) = match pushed_out {
                Some(secondary) => (secondary, DropReason::PushedOut),
                None => (packet, DropReason::QueueFull),
            };
            ev.dropped.push(Dropped { packet, reason, nack: None });
            if pushed_out.is_none() {
                return;
            }
            self.waiting_bytes -= ev.pool[packet].wire_len();
        }
        self.waiting_bytes += ev.pool[packet].wire_len();
        self.waiting[class as usize].push_back(packet);
    }

    /// Returns the Data bits that wait before a primary Interest that comes now, and before a secondary one,
    /// as (3) counts them.
    fn waiting_bits(&self) -> [f64; 2] {
        let [primary, secondary] = [0, 1].map(|class| self.waiting[class].len() as f64);
        let before_primary = if self.settings.primary_first { primary } else { primary + secondary };
        let bits = self.settings.queue_weight * self.expected_bits() as f64;
        [bits * before_primary, bits * (primary + secondary)]
    }

    /// Begins a period. Rates are computed only while Interests come.
    fn begin_period(&mut self, now: Time) {
        if self.period_ends == Time::NEVER {
            self.rates.reset();
            self.period_began = now;
            self.period_ends = now + self.settings.period;
        }
    }

    /// Returns the class that sends next, of those with waiting Interests.
    fn next_class(&self, pool: &PacketPool) -> Option<usize> {
        match (self.waiting[0].front(), self.waiting[1].front()) {
            (Some(&primary), Some(&secondary)) if !self.settings.primary_first => {
                Some(usize::from(pool[secondary].queued_at < pool[primary].queued_at))
            }
            (Some(_), _) => Some(0),
            (None, Some(_)) => Some(1),
            (None, None) => None,
        }
    }

    fn on_data(&mut self, data: &mut Packet, bits: u64, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.rates.note_rtt(rtt);
        }
        let bits = bits.clamp(1, MAX_DATA_BITS);
        self.data_bits = if self.has_seen_data { (7 * self.data_bits + bits + 4) / 8 } else { bits };
        self.has_seen_data = true;
        self.clock.set_depth(self.data_bits);
        path_label::note_arrival(data, self.face);
        let (primary, secondary) = self.rates.rates();
        let signals = &mut data.header_mut().signals;
        signals.lower(&PRIMARY_RATE, primary);
        signals.lower(&SECONDARY_RATE, secondary);
    }
}

fn class_of(interest: &Packet) -> Class {
    Class::from_value(interest.header().signals.value(&RATE_CLASS))
}

impl Queue for Shaper {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if ev.pool[packet].is_interest() {
            self.enqueue_interest(ev, packet);
        } else {
            self.data.enqueue(ev, packet);
        }
    }

    /// Sends an Interest that is due before Data. It is small, and if it waited behind Data the other
    /// direction would be idle.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let class = self.next_class(ev.pool);
        let bits = self.expected_bits();
        let due = self.clock.passes_at(bits);
        if let Some(class) = class.filter(|_| due <= ev.now)
            && let Some(packet) = self.waiting[class].pop_front()
        {
            self.waiting_bytes -= ev.pool[packet].wire_len();
            self.clock.take(ev.now, bits);
            self.answers.on_sent(ev.now, ev.now.since(ev.pool[packet].queued_at));
            return Next::Packet(packet);
        }
        match (self.data.pop(ev.pool), class) {
            (Some(data), _) => Next::Packet(data),
            (None, Some(_)) => Next::At(due),
            (None, None) => Next::Empty,
        }
    }

    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        if ev.packet.is_data() {
            self.answers.on_data(ev.now, ev.rtt);
            self.on_data(ev.packet, ev.wire_len.bits(), ev.rtt);
        }
    }

    fn next_deadline(&self) -> Time {
        self.period_ends
    }

    fn on_deadline(&mut self, now: Time) {
        // A world may call late.
        let elapsed = now.since(self.period_began).max(self.settings.period);
        self.rates.end_period(elapsed.as_secs_f64(), self.waiting_bits());
        self.period_began = now;
        let is_idle = self.waiting() == 0 && self.rates.is_idle();
        self.period_ends = if is_idle { Time::NEVER } else { now + self.settings.period };
    }

    fn on_receive_rate(&mut self, rate: Option<Rate>, now: Time) {
        self.capacity = self.settings.capacity(rate);
        self.clock.set_rate(now, self.capacity);
        self.rates.set_capacity(self.capacity.as_bps_f64());
        if self.period_ends == Time::NEVER {
            self.rates.reset();
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.waiting.iter_mut().for_each(|queue| ev.cleared.extend(queue.drain(..)));
        self.waiting_bytes = 0;
        self.data.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        let data = self.data.backlog();
        Backlog { packets: self.waiting() as u32 + data.packets, bytes: self.waiting_bytes + data.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::packet::Kind;
    use weir_core::random::Random;
    use weir_core::seam::QueueLimit;

    struct Bench {
        shaper: Shaper,
        pool: PacketPool,
        random: Random,
        dropped: Vec<Dropped>,
    }

    impl Bench {
        /// A link of 10 Mb/s each way; C = 9.5 Mb/s.
        fn new() -> Bench {
            let params = weir_core::seam::params::Params::resolve(Settings::PARAMETERS, []).unwrap();
            Bench::with(Settings::new(&params))
        }

        fn primary_first() -> Bench {
            let settings = Bench::new().shaper.settings;
            Bench::with(Settings { primary_first: true, ..settings })
        }

        fn with(settings: Settings) -> Bench {
            let rate = Some(Rate::from_mbps(10));
            let limit = QueueLimit::Packets(20);
            let face = FaceConfig { face: FaceId(3), send_rate: rate, receive_rate: rate, limit };
            let shaper = Shaper::new(settings, &face);
            Bench { shaper, pool: PacketPool::new(), random: Random::named(1, "shaper"), dropped: Vec::new() }
        }

        fn enqueue(&mut self, now: Time, kind: Kind, class: Option<Class>) -> PacketId {
            let id = self.pool.take();
            (self.pool[id].kind, self.pool[id].net_len, self.pool[id].queued_at) = (kind, 60, now);
            if let Some(class) = class {
                self.pool[id].header_mut().signals.set(&RATE_CLASS, class.value());
            }
            let Bench { shaper, pool, random, dropped } = self;
            shaper.enqueue(&mut EnqueueEvent { now, pool, dropped, random, keeps_prefix: false }, id);
            id
        }

        fn interest(&mut self, now: Time, class: Class) -> PacketId {
            self.enqueue(now, Kind::Interest, Some(class))
        }

        fn interests(&mut self, count: usize, class: Class) {
            for _ in 0..count {
                self.interest(NOW, class);
            }
        }

        fn dequeue(&mut self, now: Time) -> Next {
            let Bench { shaper, pool, random, dropped } = self;
            shaper.dequeue(&mut DequeueEvent { now, pool, dropped, random, note: None })
        }

        /// Returns R_p after a period in which this many primary Interests come and none leaves.
        fn primary_rate_after(&mut self, interests: usize) -> u64 {
            self.interests(interests, Class::Primary);
            self.shaper.on_deadline(self.shaper.next_deadline());
            self.shaper.rates.rates().0
        }

        fn receive(&mut self, now: Time, bytes: u64) -> Packet {
            let mut packet = Packet::default();
            packet.kind = Kind::Data;
            let wire_len = weir_core::units::Bytes::new(bytes);
            let (random, rtt) = (&mut self.random, Some(Span::from_millis(100)));
            let mut ev = ReceiveEvent {
                now,
                packet: &mut packet,
                wire_len,
                rtt,
                departed: None,
                random,
                may_send: false,
            };
            self.shaper.on_receive(&mut ev);
            packet
        }
    }

    const NOW: Time = Time::from_nanos(1_000_000_000);

    #[test]
    fn interests_leave_one_per_size_of_a_data_at_the_target_rate() {
        let mut bench = Bench::new();
        bench.receive(NOW, 1187);
        let ids: Vec<_> = (0..3).map(|_| bench.interest(NOW, Class::Primary)).collect();
        assert_eq!(bench.dequeue(NOW), Next::Packet(ids[0]));
        // 1187 B at 9.5 Mb/s.
        let next = NOW + Span::from_nanos(1187 * 8 * 1_000_000 / 9_500);
        let Next::At(at) = bench.dequeue(NOW) else { panic!("it waits") };
        assert!(at.since(next) < Span::from_micros(1), "{at:?}");
        assert_eq!(bench.dequeue(at), Next::Packet(ids[1]));
        assert_eq!(bench.dequeue(NOW + Span::from_secs(1)), Next::Packet(ids[2]));
    }

    #[test]
    fn a_full_shaper_pushes_out_the_newest_secondary_for_a_primary_and_refuses_others() {
        let mut bench = Bench::new();
        let secondaries: Vec<_> = (0..4).map(|_| bench.interest(NOW, Class::Secondary)).collect();
        for _ in 0..6 {
            bench.interest(NOW, Class::Primary);
        }
        assert!(bench.dropped.is_empty());
        let refused = bench.interest(NOW, Class::Secondary);
        let last = bench.interest(NOW, Class::Primary);
        let dropped: Vec<_> = bench.dropped.drain(..).map(|d| (d.packet, d.reason, d.nack)).collect();
        let pushed_out = (secondaries[3], DropReason::PushedOut, None);
        assert_eq!(dropped, [(refused, DropReason::QueueFull, None), pushed_out]);
        for _ in 0..3 {
            bench.interest(NOW, Class::Primary);
        }
        bench.dropped.clear();
        let refused = bench.interest(NOW, Class::Primary);
        assert_eq!(bench.dropped[0].packet, refused);
        assert_eq!(bench.shaper.backlog().packets, 10);
        assert!(bench.shaper.waiting[0].contains(&last));
    }

    #[test]
    fn the_older_interest_leaves_first_whatever_its_class_and_data_while_none_is_due() {
        let mut bench = Bench::new();
        let secondary = bench.interest(NOW, Class::Secondary);
        let unlabelled = bench.enqueue(NOW + Span::from_micros(1), Kind::Interest, None);
        let later = bench.interest(NOW + Span::from_micros(2), Class::Secondary);
        let data = bench.enqueue(NOW, Kind::Data, None);
        let now = NOW + Span::from_micros(3);
        assert_eq!(bench.dequeue(now), Next::Packet(secondary));
        assert_eq!(bench.dequeue(now), Next::Packet(data));
        assert!(matches!(bench.dequeue(now), Next::At(_)));
        assert_eq!(bench.dequeue(now + Span::from_millis(5)), Next::Packet(unlabelled));
        assert_eq!(bench.dequeue(now + Span::from_millis(10)), Next::Packet(later));
        assert_eq!(bench.dequeue(now + Span::from_millis(10)), Next::Empty);
    }

    #[test]
    fn with_primary_first_a_secondary_interest_waits_for_all_primary_ones() {
        let mut bench = Bench::primary_first();
        let secondary = bench.interest(NOW, Class::Secondary);
        let primary = bench.interest(NOW + Span::from_micros(1), Class::Primary);
        assert_eq!(bench.dequeue(NOW + Span::from_micros(1)), Next::Packet(primary));
        assert_eq!(bench.dequeue(NOW + Span::from_millis(5)), Next::Packet(secondary));
    }

    #[test]
    fn what_is_dropped_was_asked_for_too() {
        // Twice C: at 9.5 Mb/s, 109 Data of 8696 bits fit in 100 ms. Ten Interests fit the shaper.
        let rate = Bench::new().primary_rate_after(218);
        // (1) N = 2; (3) with q = 10 Interests: 0.8·C + 0.2·(C − β·q/d)/2, β = 1.
        let drain = 10.0 * 8696.0 / 0.03;
        let expected = 0.8 * 9.5e6 + 0.1 * (9.5e6 - drain);
        assert!((rate as f64 / expected - 1.0).abs() < 1e-3, "{rate} of {expected}");
    }

    #[test]
    fn a_primary_interest_waits_for_secondary_ones_unless_primary_ones_leave_first() {
        for (mut bench, before_primary) in [(Bench::new(), 7.0), (Bench::primary_first(), 3.0)] {
            bench.interests(3, Class::Primary);
            bench.interests(4, Class::Secondary);
            assert_eq!(bench.shaper.waiting_bits(), [before_primary * 8696.0, 7.0 * 8696.0]);
        }
    }

    #[test]
    fn the_size_of_data_follows_those_that_come() {
        let mut bench = Bench::new();
        bench.receive(NOW, 1000);
        assert_eq!(bench.shaper.data_bits, 8000);
        bench.receive(NOW, 2000);
        // 7/8·8000 + 1/8·16000
        assert_eq!(bench.shaper.data_bits, 9000);
        bench.receive(NOW, 1 << 20);
        assert_eq!(bench.shaper.data_bits, (7 * 9000 + MAX_DATA_BITS + 4) / 8);
    }

    #[test]
    fn a_link_with_another_rate_lets_interests_go_by_it_and_offers_it() {
        let mut bench = Bench::new();
        bench.receive(NOW, 1000);
        bench.shaper.on_receive_rate(Some(Rate::from_mbps(2)), NOW);
        assert_eq!(bench.shaper.rates.rates(), (1_900_000, 0));
        let ids: Vec<_> = (0..2).map(|_| bench.interest(NOW, Class::Primary)).collect();
        assert_eq!(bench.dequeue(NOW), Next::Packet(ids[0]));
        let Next::At(at) = bench.dequeue(NOW) else { panic!("it waits") };
        // 8000 bits at 1.9 Mb/s.
        assert!(at.since(NOW + Span::from_nanos(8_000_000_000 / 1_900)) < Span::from_micros(1), "{at:?}");
        bench.shaper.on_receive_rate(None, NOW);
        assert_eq!(bench.shaper.capacity, Rate::from_mbps(95));
    }

    #[test]
    fn a_face_that_is_gone_gives_up_all_that_waits() {
        let mut bench = Bench::new();
        let mut inside = vec![bench.interest(NOW, Class::Primary), bench.interest(NOW, Class::Secondary)];
        inside.push(bench.enqueue(NOW, Kind::Data, None));
        let mut cleared = Vec::new();
        bench.shaper.clear(&mut ClearEvent { now: NOW, pool: &mut bench.pool, cleared: &mut cleared });
        assert_eq!(cleared, inside);
        assert_eq!(bench.shaper.backlog(), Backlog { packets: 0, bytes: 0 });
        assert_eq!(bench.dequeue(NOW), Next::Empty);
    }

    #[test]
    fn who_comes_after_a_rest_finds_all_of_the_link() {
        let mut bench = Bench::new();
        assert!(bench.primary_rate_after(218) < 9_000_000);
        while bench.shaper.next_deadline() != Time::NEVER {
            let now = bench.shaper.next_deadline();
            while let Next::Packet(_) = bench.dequeue(now) {}
            bench.shaper.on_deadline(now);
        }
        let now = NOW + Span::from_secs(60);
        bench.interest(now, Class::Primary);
        assert_eq!(bench.shaper.rates.rates(), (9_500_000, 0));
        assert_eq!(bench.shaper.next_deadline(), now + Span::from_millis(100));
    }

    #[test]
    fn data_are_told_the_rates_and_where_they_came_by() {
        let mut bench = Bench::new();
        let data = bench.receive(NOW, 1100);
        let signals = &data.header().signals;
        assert_eq!(signals.value(&PRIMARY_RATE), Some(9_500_000));
        assert_eq!(signals.value(&SECONDARY_RATE), Some(0));
        assert!(path_label::PathLabel::of(&data) != path_label::PathLabel::HERE);
    }

    #[test]
    fn rates_rest_while_nobody_asks() {
        let mut bench = Bench::new();
        assert_eq!(bench.shaper.next_deadline(), Time::NEVER);
        bench.interest(NOW, Class::Primary);
        let mut now = bench.shaper.next_deadline();
        assert_eq!(now, NOW + Span::from_millis(100));
        assert!(matches!(bench.dequeue(now), Next::Packet(_)));
        for _ in 0..100 {
            if now == Time::NEVER {
                return;
            }
            bench.shaper.on_deadline(now);
            now = bench.shaper.next_deadline();
        }
        panic!("the shaper never becomes idle");
    }
}
