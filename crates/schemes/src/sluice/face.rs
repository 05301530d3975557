//! The face: it requests only as much Data as the link carries, divides this among flows, and grants each
//! flow its level.
//!
//! ```text
//!             enqueue           one meter of C'            LinkRate
//!   Interests -------> schedule ----------------> link ------------------> neighbour
//!                      (by class, flow)            link <------------------ Data, LinkRate
//!                                   on_receive: Grant = min(Grant, level)
//!   Data -------------------------> a queue that stays empty ------------> neighbour
//! ```

use weir_core::meter::Meter;
use weir_core::packet::{Packet, PacketId};
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, DropTail, Dropped, EnqueueEvent, FaceConfig, Next,
    PrefixRemoved, Queue, ReceiveEvent, SentEvent,
};
use weir_core::units::{Rate, Span, Time};

use super::Settings;
use super::flows::Flows;
use super::hidden::Hidden;
use super::interests::Interests;
use super::level::{Level, Measured};
use super::outgoing::Outgoing;
use super::schedule::Schedule;
use super::signals::{Grant, Load, MOST, ROUND_TRIP, RTT_MEASURE, take_link_rate};

/// The smallest rate of a link, bit/s.
const LEAST_RATE: f64 = 1000.0;
/// The size of a Data before the first one comes, bits.
const USUAL_DATA: f64 = 8.0 * 1125.0;
/// The bounds of the level's period, which is a quarter of the horizon, and the smallest number of Data in
/// it.
const PERIODS: (Span, Span) = (Span::from_millis(10), Span::from_millis(100));
const DATA_OF_PERIOD: f64 = 20.0;
/// The smallest number of longest packets in a period. While such a packet leaves, no Interest can.
const PACKETS_OF_PERIOD: u64 = 4;
const LONGEST_PERIOD: Span = Span::from_secs(2);
/// The largest round-trip time of a consumer that counts.
const LONGEST_LOOP: Span = Span::from_secs(2);
/// The smallest horizon.
const LEAST_HORIZON: Span = Span::from_millis(40);
/// The number of Interests that may be pending while the link's rate is unknown. It grows by one with each
/// Data.
const FIRST_WINDOW: f64 = 10.0;
/// Interests without an answer count as lost after this time.
const SILENCE: Span = Span::from_secs(1);
/// An Interest that has waited for this part of its lifetime is dropped, because its Data would come too
/// late.
const PATIENCE: f64 = 0.75;
/// While packets on the link delay Interests, the meter fills, for at most this time or the time of two such
/// packets.
const LATENESS: Span = Span::from_millis(10);
/// The largest part of future time that a Data larger than expected uses up.
const MOST_OWED: Span = Span::from_millis(200);

/// The state of one face.
#[derive(Debug)]
pub(super) struct Face {
    settings: Settings,
    flows: Flows,
    schedule: Schedule,
    level: Level,
    /// C, bit/s: the rate of the link from the neighbour, as the neighbour reports it.
    told: Option<f64>,
    /// Whether the link is a shared medium. Then C is the medium's estimate.
    is_shared: bool,
    /// Whether the neighbour runs the scheme, and so paces its requests.
    takes_part: bool,
    /// Whether a node beyond runs the scheme: Data report the time that they took there.
    measures: bool,
    hidden: Hidden,
    /// The meter of η_d·C'; `None` while no rate is known.
    meter: Option<Meter>,
    /// The time since which Interests have waited.
    waits_since: Time,
    /// State for an unknown rate: Interests of this epoch and of the previous one that are probably still
    /// pending, the largest number of them, and the time of the latest Data, or of the first Interest after a
    /// silence.
    pending: [f64; 2],
    window: f64,
    heard: Time,
    /// Arriving Interests. They use the same link as the Data.
    interests: Interests,
    began: Time,
    period: Span,
    /// The smoothed time from an Interest's departure to its Data, and the round-trip times that consumers
    /// measure.
    rtt: Option<Span>,
    loop_rtt: Option<Span>,
    epoch: u32,
    epoch_began: Time,
    /// The largest answered part of the Interests of any flow that sends in this epoch.
    answered: Option<f64>,
    outgoing: Outgoing,
    data: DropTail,
}

impl Face {
    pub(super) fn new(settings: &Settings, face: &FaceConfig) -> Face {
        let mut new = Face {
            settings: settings.clone(),
            flows: Flows::default(),
            schedule: Schedule::new(settings),
            level: Level::new(settings),
            told: None,
            is_shared: false,
            takes_part: false,
            measures: false,
            hidden: Hidden::new(),
            meter: None,
            waits_since: Time::ZERO,
            pending: [0.0; 2],
            window: FIRST_WINDOW,
            heard: Time::ZERO,
            interests: Interests::new(),
            began: Time::ZERO,
            period: PERIODS.0,
            rtt: None,
            loop_rtt: None,
            epoch: 0,
            epoch_began: Time::ZERO,
            answered: None,
            outgoing: Outgoing::new(),
            data: DropTail::new(face.limit),
        };
        new.offer_window();
        new
    }

    /// Returns the size of a burst, bits.
    fn burst(&self) -> f64 {
        self.level.burst().max(1000.0)
    }

    /// Notes the round-trip time that an Interest reports.
    fn note_loop(&mut self, interest: &Packet) {
        if let Some(around) = interest.header().signals.value(&ROUND_TRIP) {
            self.loop_rtt = Some(smooth(self.loop_rtt, Span::from_nanos(around).min(LONGEST_LOOP)));
        }
    }

    /// Returns h, the time after which a change of the level shows.
    fn horizon(&self) -> f64 {
        let hop = self.rtt.unwrap_or(Span::ZERO);
        let around = self.loop_rtt.unwrap_or(hop * 2);
        around.scale(1.5).max(LEAST_HORIZON).max(self.period).as_secs_f64()
    }

    /// Sets C' = min(C, Ĥ) less the rate of arriving Interests; at least half of it.
    fn set_rate(&mut self, now: Time) {
        let rate = self.told.unwrap_or(f64::INFINITY).min(self.hidden.rate);
        if rate.is_infinite() {
            return;
        }
        let rate = (rate - self.interests.rate).max(0.5 * rate);
        let metered = Rate::from_bps_f64(self.settings.drain * rate);
        match &mut self.meter {
            Some(meter) => meter.set_rate(now, metered),
            None => self.meter = Some(Meter::new(metered, 0)),
        }
        self.schedule.set_rate(now, rate);
        self.level.offer(self.settings.target * rate);
    }

    /// Returns the level of a flow, bit/s.
    fn level_of(&self, number: u32) -> f64 {
        let flow = &self.flows[number];
        let owner = &self.flows[flow.owner];
        let part = owner.weight / f64::from(owner.active.max(1));
        self.level.of(flow.class(), part)
    }

    /// Sets the offered rate while the link's rate is unknown: that of the allowed pending Interests.
    fn offer_window(&mut self) {
        let rtt = self.rtt.unwrap_or(LEAST_HORIZON).as_secs_f64().max(1e-4);
        let size = if self.level.burst() > 0.0 { self.level.burst() } else { USUAL_DATA };
        self.level.offer(self.window * size / rtt);
    }

    /// Returns whether Ĥ limits the rate. Then a missing Data may have used the link nevertheless.
    fn is_hidden(&self) -> bool {
        self.hidden.rate < self.told.unwrap_or(f64::INFINITY)
    }

    /// Returns the bits that an Interest of a flow will probably bring.
    fn expected(&self, number: u32) -> f64 {
        let flow = &self.flows[number];
        if self.is_hidden() { flow.size } else { flow.expected() }
    }

    /// Returns the grant for a Data of a flow: the flow's level, less the rate that drains its queue in a
    /// horizon.
    fn grant(&self, number: u32) -> Grant {
        let (flow, level) = (&self.flows[number], self.level_of(number));
        // Two Data, and Interests that arrive while the link is busy with another packet, are not a queue.
        let usual = 2.0 * flow.size + level.min(MOST) * self.outgoing.longest.as_secs_f64();
        let queued = (f64::from(flow.waiting) * flow.size - usual).max(0.0) / self.horizon();
        let load = match self.level.used() {
            used if used > 0.95 => Load::Full,
            used if used < 0.9 => Load::Free,
            _ => Load::Usual,
        };
        Grant { rate: (level - queued).max(0.1 * level), load }
    }

    fn end_period(&mut self, now: Time) {
        let passed = now.since(self.began).as_secs_f64();
        self.began = now;
        if passed <= 0.0 {
            return;
        }
        let horizon = self.horizon().max(passed);
        let offered = |rate: f64| self.settings.target * (rate - self.level.wanted()).max(0.5 * rate);
        self.interests.end_period(passed, self.told.map(offered), self.settings.gain * passed / horizon);
        self.set_rate(now);
        self.flows.end_silent(now, &mut self.level);
        let standing = self.schedule.standing();
        self.level.end_period(&Measured { period: passed, horizon, standing });
        let queue = 8.0 * self.data.backlog().bytes as f64 - 3.0 * self.burst();
        self.outgoing.end_period(self.settings.gain, passed, horizon, queue.max(0.0));
        if now.since(self.epoch_began) > SILENCE.max(self.rtt.unwrap_or(Span::ZERO) * 4) {
            (self.epoch, self.epoch_began) = (self.epoch + 1, now);
            // Interests of the epoch before the previous one will not be answered. This number did not fit.
            let lost = core::mem::replace(&mut self.pending[(self.epoch & 1) as usize], 0.0);
            self.window = (self.window - lost).max(FIRST_WINDOW);
            self.hidden.on_epoch(self.answered.take());
            self.set_rate(now);
            if self.meter.is_none() {
                self.offer_window();
            }
        }
        let data = match self.meter {
            Some(meter) => Span::from_secs_f64(DATA_OF_PERIOD * self.burst() / meter.bits_per_second()),
            None => Span::ZERO,
        };
        let quarter = Span::from_secs_f64(horizon / 4.0).max(PERIODS.0).min(PERIODS.1);
        self.period = quarter
            .max(data.min(LONGEST_PERIOD))
            .max((self.outgoing.longest * PACKETS_OF_PERIOD).min(LONGEST_PERIOD));
    }

    /// Returns the time by which packets on the link may have delayed an Interest.
    fn lateness(&self) -> Span {
        LATENESS.max(self.outgoing.longest * 2)
    }

    /// Returns when the next Interest may leave: now, or at this time.
    fn passes(&mut self, now: Time) -> Next {
        match &self.meter {
            Some(meter) => Next::At(meter.passes_at(0)),
            None if now.since(self.heard) > SILENCE => {
                (self.pending, self.heard, self.window) = ([0.0; 2], now, FIRST_WINDOW);
                self.offer_window();
                self.hidden.on_silence(now);
                self.set_rate(now);
                Next::At(now)
            }
            None if self.pending[0] + self.pending[1] < self.window => Next::At(now),
            None => Next::At(self.heard + SILENCE + Span::from_nanos(1)),
        }
    }

    fn dequeue_interest(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        while self.schedule.backlog().0 > 0 {
            match self.passes(ev.now) {
                Next::At(time) if time <= ev.now => {}
                wait => return wait,
            }
            let quantum = self.burst();
            let Some((packet, number)) = self.schedule.pop(ev.now, quantum, &mut self.flows, ev.pool) else {
                break;
            };
            let interest = &ev.pool[packet];
            if ev.now.since(interest.queued_at) > interest.lifetime.scale(PATIENCE) {
                ev.dropped.push(Dropped { packet, reason: DropReason::Expired, nack: None });
                continue;
            }
            self.flows[number].on_send(self.epoch);
            self.answered = self.answered.into_iter().chain(self.flows[number].answered()).reduce(f64::max);
            let (charge, lateness) = (self.expected(number), self.lateness());
            self.pending[(self.epoch & 1) as usize] += charge / self.flows[number].size;
            let bits = charge as u64;
            if let Some(meter) = &mut self.meter {
                // Packets on the link have delayed the Interest. The meter gets this time back.
                meter.take(self.waits_since.max(ev.now - lateness), bits);
            }
            ev.note = Some((bits as u32) << 1 | self.epoch & 1);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// Settles the charge of an Interest that left with this note, with its answer.
    fn settle(&mut self, now: Time, number: u32, note: u32, bits: u64) {
        self.flows[number].settle(note & 1, bits as f64);
        let (charged, lateness) = (u64::from(note >> 1), self.lateness());
        if let Some(meter) = &mut self.meter {
            match bits.checked_sub(charged) {
                Some(more) if meter.passes_at(0) < now + MOST_OWED => meter.take(now - lateness, more),
                Some(_) => {}
                None => meter.give_back(charged - bits),
            }
        }
    }
}

fn smooth(before: Option<Span>, sample: Span) -> Span {
    before.map_or(sample, |before| Span::from_nanos((7 * before.as_nanos() + sample.as_nanos()) / 8))
}

impl Queue for Face {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if self.next_deadline() == Time::NEVER {
            self.began = ev.now;
        }
        if !ev.pool[packet].is_interest() {
            let data = &ev.pool[packet];
            self.outgoing.on_data(data.flow, 8.0 * data.wire_len() as f64);
            ev.keeps_prefix = data.is_data() && !self.outgoing.knows(data.flow);
            return self.data.enqueue(ev, packet);
        }
        let usual = if self.level.burst() > 0.0 { self.level.burst() } else { USUAL_DATA };
        let weight_of = |name: &[u8]| self.settings.flow_weights.of(name).unwrap_or(1.0);
        ev.keeps_prefix = self.flows.find(ev.pool[packet].flow).is_none();
        let number = self.flows.find_or_add(&ev.pool[packet], usual, weight_of);
        self.flows.note_interest(ev.now, number, &mut self.level);
        self.note_loop(&ev.pool[packet]);
        let (flow, level) = (&self.flows[number], self.level_of(number));
        self.level.ask(flow.class(), self.expected(number));
        let room =
            (level * self.settings.room.as_secs_f64() / flow.size).clamp(self.settings.least_room, MOST);
        let of_group = self.flows[flow.owner].queue.len();
        if f64::from(flow.waiting) >= room || f64::from(of_group) >= 2.0 * room {
            ev.dropped.push(Dropped { packet, reason: DropReason::FlowQueueFull, nack: None });
            return;
        }
        if self.schedule.backlog().0 == 0 {
            self.waits_since = ev.now;
        }
        self.schedule.push(&mut self.flows, number, packet, ev.pool);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = match self.dequeue_interest(ev) {
            Next::Packet(packet) => Next::Packet(packet),
            wait => match self.data.pop(ev.pool) {
                Some(packet) => {
                    let data = &mut ev.pool[packet];
                    if data.is_data() {
                        self.interests.limit(data, self.level.weight(data.flow.class as usize));
                        self.outgoing.finish(ev.now, data, self.takes_part);
                    }
                    Next::Packet(packet)
                }
                None => wait,
            },
        };
        if let Next::Packet(packet) = next {
            self.outgoing.tell_rate(&mut ev.pool[packet]);
        }
        next
    }

    fn on_sent(&mut self, ev: &SentEvent) {
        self.outgoing.on_sent(ev.wire_len.bits() as f64, ev.took);
    }

    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        let now = ev.now;
        let said = take_link_rate(ev.packet);
        self.takes_part |= said.is_some();
        if let Some(rate) = said.filter(|rate| *rate > 0.0 && !self.is_shared)
            && self.told.is_none_or(|told| (told / rate - 1.0).abs() > 0.001)
        {
            if self.told.is_none_or(|told| rate > 1.2 * told) {
                self.hidden.forget();
            }
            self.told = Some(rate.max(LEAST_RATE));
            self.set_rate(now);
            ev.may_send = true;
        }
        if ev.packet.is_interest() {
            self.interests.note(ev.wire_len.bits() as f64);
            self.note_loop(ev.packet);
            return;
        }
        self.heard = now;
        if self.meter.is_none() {
            let is_used = 2.0 * (self.pending[0] + self.pending[1]) > self.window;
            self.window += if is_used && !self.hidden.waits { 1.0 } else { 0.0 };
            self.offer_window();
            ev.may_send = true;
        }
        if let Some(departed) = ev.departed {
            let pending = &mut self.pending[(departed.note & 1) as usize];
            *pending = (*pending - 1.0).max(0.0);
        }
        let Some(number) = self.flows.find(ev.packet.flow) else { return };
        let there = ev.packet.header().signals.value(&RTT_MEASURE).map(Span::from_nanos);
        let took = ev.departed.map(|departed| now.since(departed.left));
        if let Some(departed) = ev.departed {
            self.settle(now, number, departed.note, ev.wire_len.bits());
        }
        if let Some(took) = took {
            self.rtt = Some(smooth(self.rtt, took));
        }
        let on_link = self.told.map_or(Span::ZERO, |told| Rate::from_bps_f64(told).time_for(ev.wire_len));
        self.measures |= there.is_some();
        // If no node beyond runs the scheme, the hop is the whole path.
        let there = if self.measures || self.takes_part { there } else { Some(Span::ZERO) };
        let hop = took.and_then(|took| Some(took.saturating_sub(there? + on_link)));
        let before = self.hidden.rate;
        let (bits, burst) = (ev.wire_len.bits() as f64, self.burst());
        self.hidden.on_data(now, hop, bits, burst, self.told);
        if before != self.hidden.rate {
            self.set_rate(now);
        }
        if let Some(granted) = Grant::of(ev.packet) {
            self.flows[number].granted = granted;
        }
        self.grant(number).min(self.flows[number].granted).write(ev.packet);
    }

    /// On a shared medium a neighbour measures only what others leave. The medium's own estimate counts.
    fn on_fair_rate(&mut self, rate: Rate, now: Time) {
        self.is_shared = true;
        self.told = Some(rate.as_bps_f64().max(LEAST_RATE));
        self.set_rate(now);
    }

    fn next_deadline(&self) -> Time {
        if self.flows.is_active() || self.outgoing.is_used() { self.began + self.period } else { Time::NEVER }
    }

    fn on_deadline(&mut self, now: Time) {
        self.end_period(now);
    }

    fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        self.outgoing.forget(ev.prefix);
        for number in self.flows.of_prefix(ev.prefix) {
            let gone = |packet| ev.dropped.push(Dropped { packet, reason: DropReason::NoRoute, nack: None });
            self.schedule.remove(number, &mut self.flows, ev.pool, gone);
            self.flows.remove(number, &mut self.level);
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.schedule.clear(&mut self.flows, ev.pool, ev.cleared);
        self.data.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        let (packets, bytes) = self.schedule.backlog();
        let data = self.data.backlog();
        Backlog { packets: packets + data.packets, bytes: bytes + data.bytes }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::{FaceId, PrefixId};
    use weir_core::packet::{FlowKey, Kind, PacketPool};
    use weir_core::random::Random;
    use weir_core::seam::params::Params;
    use weir_core::seam::{Departed, Drops, QueueLimit};
    use weir_core::units::Bytes;

    use super::super::signals::write_link_rate;
    use super::*;

    const DATA: u64 = 1000;
    const MS: Span = Span::from_millis(1);

    /// A face, and the packets that it has sent.
    struct Bench {
        face: Face,
        pool: PacketPool,
        dropped: Drops,
        random: Random,
        now: Time,
    }

    impl Bench {
        /// Returns a face of a forwarder that has been up for a while.
        fn new() -> Bench {
            let settings = Settings::new(&Params::resolve(Settings::PARAMETERS, []).unwrap());
            let limit = QueueLimit::Packets(100);
            let config = FaceConfig { face: FaceId(0), send_rate: None, receive_rate: None, limit };
            let (face, random) = (Face::new(&settings, &config), Random::named(1, "face"));
            let now = Time::ZERO + Span::from_secs(100);
            Bench { face, pool: PacketPool::new(), dropped: Drops::new(), random, now }
        }

        /// Returns the same face after its neighbour has reported this rate.
        fn told(rate: f64) -> Bench {
            let mut bench = Bench::new();
            for _ in 0..2 {
                bench.now += Span::from_secs_f64(8.0 * DATA as f64 / rate);
                let mut packet = data(99);
                write_link_rate(&mut packet, rate);
                bench.receive(packet, DATA, None);
            }
            bench
        }

        fn ask(&mut self, prefix: u32) {
            let id = self.pool.take();
            let packet = &mut self.pool[id];
            packet.flow.prefix = PrefixId(prefix);
            (packet.net_len, packet.lifetime, packet.queued_at) = (50, Span::from_secs(4), self.now);
            let Bench { face, pool, dropped, random, now } = self;
            face.enqueue(&mut EnqueueEvent { now: *now, pool, dropped, random, keeps_prefix: false }, id);
        }

        /// Returns the flow of the next Interest, and what the face noted.
        fn next(&mut self) -> Result<(u32, Departed), Next> {
            let Bench { face, pool, dropped, random, now } = self;
            let mut ev = DequeueEvent { now: *now, pool, dropped, random, note: None };
            let next = face.dequeue(&mut ev);
            let Next::Packet(id) = next else { return Err(next) };
            let departed = Departed { left: *now, note: ev.note.unwrap() };
            let prefix = self.pool[id].flow.prefix.0;
            self.pool.free(id);
            Ok((prefix, departed))
        }

        /// Returns how many Interests leave now.
        fn leave(&mut self) -> usize {
            core::iter::from_fn(|| self.next().ok()).count()
        }

        /// Delivers a packet. Returns the grant with which it is forwarded.
        fn receive(&mut self, mut packet: Packet, bytes: u64, departed: Option<Departed>) -> Option<Grant> {
            self.face.on_receive(&mut ReceiveEvent {
                now: self.now,
                packet: &mut packet,
                wire_len: Bytes::new(bytes),
                rtt: departed.map(|departed| self.now.since(departed.left)),
                departed,
                random: &mut self.random,
                may_send: false,
            });
            Grant::of(&packet)
        }

        /// Advances the time to `end`, and ends periods.
        fn until(&mut self, end: Time) {
            while self.face.next_deadline() <= end {
                self.now = self.now.max(self.face.next_deadline());
                self.face.on_deadline(self.now);
            }
            self.now = end;
        }

        /// Returns the bits of Data requested in `seconds` while Interests of these flows wait, each with its
        /// Data size in bytes. The Data come at once. Each time the first of the spans `busy` has passed,
        /// another packet occupies the link for the second.
        fn run(&mut self, flows: &[(u32, u64)], seconds: f64, busy: Option<(Span, Span)>) -> Vec<f64> {
            let (mut bits, end) = (vec![0.0; flows.len()], self.now + Span::from_secs_f64(seconds));
            flows.iter().for_each(|(prefix, _)| (0..10).for_each(|_| self.ask(*prefix)));
            let mut next_busy = self.now;
            while self.now < end {
                if let Some((each, took)) = busy.filter(|_| self.now >= next_busy) {
                    self.until(self.now + took);
                    self.face.on_sent(&SentEvent { now: self.now, wire_len: Bytes::new(8000), took });
                    next_busy = self.now + each;
                }
                match self.next() {
                    Ok((prefix, departed)) => {
                        let place = flows.iter().position(|flow| flow.0 == prefix).unwrap();
                        bits[place] += 8.0 * flows[place].1 as f64;
                        self.receive(data(prefix), flows[place].1, Some(departed));
                        self.ask(prefix);
                    }
                    Err(Next::At(at)) => self.until(at.min(end)),
                    Err(other) => panic!("{other:?} while Interests wait"),
                }
            }
            bits
        }
    }

    fn data(prefix: u32) -> Packet {
        let flow = FlowKey { prefix: PrefixId(prefix), ..FlowKey::default() };
        let mut data = Packet::default();
        (data.kind, data.flow) = (Kind::Data, flow);
        data
    }

    fn granting(prefix: u32, rate: f64) -> Packet {
        let mut packet = data(prefix);
        Grant { rate, load: Load::Usual }.write(&mut packet);
        packet
    }

    #[test]
    fn interests_leave_at_the_drain_part_of_the_rate_that_is_told_whatever_sizes_their_data_have() {
        for (mbps, seconds) in [(1.0, 20.0), (10.0, 2.0), (200.0, 0.2)] {
            let mut bench = Bench::told(1e6 * mbps);
            bench.run(&[(1, DATA), (2, 64), (3, 8000)], 0.5 * seconds, None);
            let bits: f64 = bench.run(&[(1, DATA), (2, 64), (3, 8000)], seconds, None).iter().sum();
            let part = bits / (1e6 * mbps * seconds);
            // The tolerance is two of the largest Data.
            assert!((part - 0.999).abs() < 0.001 + 128e3 / (1e6 * mbps * seconds), "{mbps}: {part}");
        }
    }

    #[test]
    fn a_long_packet_on_the_link_loses_interests_no_time() {
        // The link is busy for 0.6 of the time, for 6 ms or 60 ms at a time.
        for (each, took) in [(4, 6), (40, 60)] {
            let mut bench = Bench::told(10e6);
            bench.run(&[(1, DATA)], 0.5, Some((MS * each, MS * took)));
            let bits = bench.run(&[(1, DATA)], 4.0, Some((MS * each, MS * took)))[0];
            assert!((bits / 40e6 - 0.999).abs() < 0.006, "{took}: {bits}");
        }
    }

    #[test]
    fn an_idle_face_saves_up_no_more_than_its_lateness() {
        let mut bench = Bench::told(10e6);
        bench.run(&[(1, DATA)], 0.5, None);
        bench.until(bench.now + Span::from_secs(1));
        (0..30).for_each(|_| bench.ask(1));
        // The Interests that have waited since before the pause leave as well, within the allowed lateness.
        let left = bench.leave();
        assert!(left <= 15, "{left}");
    }

    #[test]
    fn before_a_rate_is_known_ten_interests_are_pending_and_one_more_for_each_data() {
        let mut bench = Bench::new();
        (0..30).for_each(|_| bench.ask(1));
        let (_, departed) = bench.next().unwrap();
        assert_eq!(bench.leave(), 9);
        bench.until(bench.now + MS * 100);
        assert_eq!(bench.leave(), 0);
        bench.receive(data(1), DATA, Some(departed));
        assert_eq!(bench.leave(), 2);
        // The others are not answered. After a second or two they count as lost.
        bench.until(bench.now + MS * 850);
        assert_eq!(bench.leave(), 0);
        bench.until(bench.now + MS * 1200);
        assert!(bench.leave() > 0);
    }

    #[test]
    fn a_rate_that_the_neighbour_says_counts_at_once_and_none_is_below_the_least() {
        let mut bench = Bench::new();
        let mut tell = |rate: f64| {
            let mut packet = data(99);
            write_link_rate(&mut packet, rate);
            bench.receive(packet, DATA, None);
            bench.face.told
        };
        assert_eq!([tell(0.0), tell(8e6), tell(1.0)], [None, Some(8e6), Some(LEAST_RATE)]);
    }

    #[test]
    fn a_data_grants_the_smaller_of_what_upstream_grants_and_the_level() {
        let mut bench = Bench::told(10e6);
        let ask = |bench: &mut Bench, prefix| {
            bench.ask(prefix);
            bench.until(bench.now + MS * 10);
            bench.next().unwrap().1
        };
        let near = |grant: Option<Grant>, rate: f64| (grant.unwrap().rate / rate - 1.0).abs() < 0.002;
        let departed = ask(&mut bench, 1);
        assert!(near(bench.receive(data(1), DATA, Some(departed)), 0.995 * 10e6), "none of upstream: all");
        let departed = ask(&mut bench, 1);
        assert!(near(bench.receive(granting(1, 2e6), DATA, Some(departed)), 2e6));
        let departed = ask(&mut bench, 1);
        assert!(near(bench.receive(data(1), DATA, Some(departed)), 2e6), "as before");
        let mut bench = Bench::told(10e6);
        (1..=2).for_each(|prefix| bench.ask(prefix));
        let (first, departed) = bench.next().unwrap();
        assert!(near(bench.receive(granting(first, 8e6), DATA, Some(departed)), 0.995 * 5e6), "two flows");
    }

    #[test]
    fn interests_of_the_other_side_have_their_part_of_the_link() {
        let mut bench = Bench::told(10e6);
        bench.run(&[(1, DATA)], 0.5, None);
        // They use 2 Mb/s: an Interest of 250 bytes each millisecond.
        let mut bits = 0.0;
        for n in 0..500 {
            bench.receive(Packet::default(), 250, None);
            let got = bench.run(&[(1, DATA)], 1e-3, None)[0];
            bits += if n < 100 { 0.0 } else { got };
        }
        let rate = bits / 0.4;
        assert!((rate / 8e6 - 0.999).abs() < 0.02, "{rate}");
    }

    #[test]
    fn an_interest_that_waited_for_most_of_its_lifetime_is_dropped() {
        let mut bench = Bench::told(10e6);
        bench.ask(1);
        bench.now += Span::from_millis(3001);
        assert_eq!(bench.next(), Err(Next::Empty));
        assert_eq!((bench.dropped.len(), bench.face.backlog()), (1, Backlog::default()));
    }
}
