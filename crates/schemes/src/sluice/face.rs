//! The face: it asks for no more Data than the link brings, divides them, and grants each flow its level.
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

/// Bits of a Data before one came.
const USUAL_DATA: f64 = 8.0 * 1125.0;
/// Periods of the level: a quarter of the horizon, but in these bounds, and so many Data.
const PERIODS: (Span, Span) = (Span::from_millis(10), Span::from_millis(100));
const DATA_OF_PERIOD: f64 = 20.0;
/// And so many packets on the link, while which no Interest can leave.
const PACKETS_OF_PERIOD: u64 = 4;
const LONGEST_PERIOD: Span = Span::from_secs(2);
/// A round trip that a consumer says counts as no more.
const LONGEST_LOOP: Span = Span::from_secs(2);
/// The horizon is at least this.
const LEAST_HORIZON: Span = Span::from_millis(40);
/// LinkRate is believed once two packets come so close together: another one's neighbour may say it, through a node that
/// takes no part.
const CLOSE: f64 = 1.05;
/// Interests that may be pending while the link's rate is unknown; one more for each Data.
const FIRST_WINDOW: f64 = 10.0;
/// After so long without an answer they count as lost.
const SILENCE: Span = Span::from_secs(1);
/// An Interest that waited for this part of its lifetime is dropped: its Data would come too late.
const PATIENCE: f64 = 0.75;
/// While packets on the link delay Interests the meter fills, for this long at most, or two such packets.
const LATENESS: Span = Span::from_millis(10);
/// A Data that was larger than expected takes this much of the time to come at most.
const MOST_OWED: Span = Span::from_millis(200);

/// One face.
#[derive(Debug)]
pub(super) struct Face {
    settings: Settings,
    flows: Flows,
    schedule: Schedule,
    level: Level,
    /// LinkRate, bit/s, as it came; and C, the rate of the link from the neighbour, once it is believed.
    said: Option<f64>,
    told: Option<f64>,
    /// On a shared medium C is the medium's estimate.
    is_shared: bool,
    /// When a packet last came.
    arrived: Time,
    /// The neighbour takes part: it paces what it asks for.
    takes_part: bool,
    hidden: Hidden,
    /// η_d·C' once a rate is known.
    meter: Option<Meter>,
    /// Since when Interests wait.
    waits_since: Time,
    /// While none is: Interests of this epoch and of the one before that will probably be answered and are not yet, how many may
    /// be, and when a Data last came.
    pending: [f64; 2],
    window: f64,
    heard: Time,
    /// Interests that come: they take the same link as the Data.
    interests: Interests,
    began: Time,
    period: Span,
    /// From an Interest's departure to its Data, smoothed; and what consumers measure.
    rtt: Option<Span>,
    loop_rtt: Option<Span>,
    epoch: u32,
    epoch_began: Time,
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
            said: None,
            told: None,
            is_shared: false,
            arrived: Time::ZERO,
            takes_part: false,
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
            outgoing: Outgoing::new(),
            data: DropTail::new(face.limit),
        };
        new.offer_window();
        new
    }

    /// The size of a burst, bits.
    fn burst(&self) -> f64 {
        self.level.burst().max(1000.0)
    }

    /// An Interest says what its consumer measures.
    fn note_loop(&mut self, interest: &Packet) {
        if let Some(around) = interest.header().signals.value(&ROUND_TRIP) {
            self.loop_rtt = Some(smooth(self.loop_rtt, Span::from_nanos(around).min(LONGEST_LOOP)));
        }
    }

    /// h: the time in which a change of the level is answered.
    fn horizon(&self) -> f64 {
        let around = self.loop_rtt.or(self.rtt.map(|rtt| rtt * 2)).unwrap_or(Span::ZERO);
        around.scale(1.5).max(LEAST_HORIZON).max(self.period).as_secs_f64()
    }

    /// C' = min(C, Ĥ) less the Interests that come by the same link: half of it at least.
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

    /// The level of a flow, bit/s.
    fn level_of(&self, number: u32) -> f64 {
        let flow = &self.flows[number];
        let owner = &self.flows[flow.owner];
        let part = owner.weight / f64::from(owner.active.max(1));
        part * self.level.of(flow.class())
    }

    /// What is offered while the link's rate is unknown: what the pending Interests bring that there may be.
    fn offer_window(&mut self) {
        let rtt = self.rtt.unwrap_or(LEAST_HORIZON).as_secs_f64().max(1e-4);
        let size = if self.level.burst() > 0.0 { self.level.burst() } else { USUAL_DATA };
        self.level.offer(self.window * size / rtt);
    }

    /// What a Data of a flow grants: its level, less what drains its queue in a horizon.
    fn grant(&self, number: u32) -> Grant {
        let (flow, level) = (&self.flows[number], self.level_of(number));
        // Two Data, and what comes while the link is busy with another packet, are no queue.
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
            // Those of the epoch before last are not answered any more.
            self.pending[(self.epoch & 1) as usize] = 0.0;
        }
        let data = match self.meter {
            Some(meter) => Span::from_secs_f64(DATA_OF_PERIOD * self.burst() / meter.bits_per_second()),
            None => Span::ZERO,
        };
        let quarter = Span::from_secs_f64(horizon / 4.0).max(PERIODS.0).min(PERIODS.1);
        self.period = quarter.max(data.min(LONGEST_PERIOD)).max(self.outgoing.longest * PACKETS_OF_PERIOD);
    }

    /// How long packets on the link may have delayed an Interest.
    fn lateness(&self) -> Span {
        LATENESS.max(self.outgoing.longest * 2)
    }

    /// When the next Interest may leave: now, or this.
    fn passes(&mut self, now: Time) -> Next {
        match &self.meter {
            Some(meter) => Next::At(meter.passes_at(0)),
            None if self.pending[0] + self.pending[1] < self.window => Next::At(now),
            None if now.since(self.heard) > SILENCE => {
                (self.pending, self.heard) = ([0.0; 2], now);
                Next::At(now)
            }
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
            let (charge, lateness) = (self.flows[number].charge(self.epoch), self.lateness());
            self.pending[(self.epoch & 1) as usize] += charge / self.flows[number].size;
            let bits = charge as u64;
            if let Some(meter) = &mut self.meter {
                // Packets on the link have delayed it: the time is not lost.
                meter.take(self.waits_since.max(ev.now - lateness), bits);
            }
            ev.note = Some((bits as u32) << 1 | self.epoch & 1);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// The answer of an Interest that left with this note: settles what it was charged.
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
        if !ev.pool[packet].is_interest() {
            let data = &ev.pool[packet];
            self.outgoing.on_data(data.flow, 8.0 * data.wire_len() as f64);
            ev.keeps_prefix = ev.pool[packet].is_data();
            return self.data.enqueue(ev, packet);
        }
        if !self.flows.is_active() {
            self.began = ev.now;
        }
        let usual = if self.level.burst() > 0.0 { self.level.burst() } else { USUAL_DATA };
        let weight_of = |name: &[u8]| self.settings.flow_weights.of(name).unwrap_or(1.0);
        let number = self.flows.find_or_add(&ev.pool[packet], usual, weight_of);
        ev.keeps_prefix = true;
        self.flows.note_interest(ev.now, number, &mut self.level);
        self.note_loop(&ev.pool[packet]);
        let (flow, level) = (&self.flows[number], self.level_of(number));
        self.level.ask(flow.class(), flow.expected());
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
        if let Some(rate) = take_link_rate(ev.packet) {
            self.takes_part = true;
            self.said = if rate > 0.0 { Some(rate) } else { self.said };
        }
        let gap = now.since(core::mem::replace(&mut self.arrived, now)).as_secs_f64();
        if let Some(rate) = self.said.filter(|_| !self.is_shared)
            && self.told.is_none_or(|told| (told / rate - 1.0).abs() > 0.001)
            && (self.told.is_some() || gap * rate < CLOSE * ev.wire_len.bits() as f64)
        {
            if self.told.is_none_or(|told| rate > 1.2 * told) {
                self.hidden.forget();
            }
            self.told = Some(rate);
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

    /// On a shared medium what a neighbour measures is what others leave. The medium's own estimate counts.
    fn on_fair_rate(&mut self, rate: Rate, now: Time) {
        self.is_shared = true;
        self.told = Some(rate.as_bps_f64());
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
