//! A medium that several stations share: the distributed coordination function (DCF) of IEEE 802.11,
//! basic access, with the times of 802.11a ([`phy`]).
//!
//! ```text
//!              offer                     alone in its slot
//!   packet ----------> [ station ] -----------------------------> MediumAction::Receive
//!                         |   ^   collides or is lost
//!            back-off,    |   +---- waits again, window doubled
//!            slot by slot +-------> after seven transmissions: given up
//! ```
//!
//! Only one frame at a time can be received, and a station that sends does not hear. So a station
//! that has a frame counts idle slots, from a number drawn at random in 0 to its contention window,
//! and sends when it gets to zero. Counters stand still while the medium is busy. Stations whose
//! counters end in the same slot collide. Only an acknowledgement tells the sender that its frame
//! was received; without one it doubles its window and draws again. After each frame a station draws
//! once more before the next (post-backoff); one that has done so, and gets a frame while the medium
//! is idle, sends without back-off.
//!
//! Sans-IO like the rest: the world offers packets, calls at [`Medium::next_deadline`], and is told
//! what becomes of them. A packet that was offered comes back once, in [`MediumAction::Receive`] or in
//! [`MediumAction::Release`].
//!
//! # Simplifications
//! 1. All stations hear each other, at once: nobody is hidden, and propagation takes no time.
//! 2. They count the same slots, also when the medium has been idle for long: a frame that comes in
//!    the middle of a slot leaves at its end. Within a slot stations cannot hear each other begin.
//! 3. Frames that collide are all lost. Acknowledgements are not.
//! 4. After a frame that was not received everybody waits EIFS, its sender too (its ACK timeout and
//!    DIFS are 84 µs, EIFS is 94 µs).
//! 5. No RTS/CTS, no fragments, no beacons, no change of rate; a packet goes to one named station.

use std::collections::VecDeque;

use weir_packet::Signal;

use weir_core::packet::{PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::units::{Bytes, Rate, Span, Time};

pub mod phy;
mod saturation;
mod shares;

pub use saturation::Saturation;

use phy::{DIFS, EIFS, SIFS, SLOT};
use shares::Shares;

/// CWmin of 802.11a: the first back-off is drawn from 0 to this, slots.
const MIN_WINDOW: u32 = 15;
/// CWmax.
const MAX_WINDOW: u32 = 1023;
/// How often a frame is sent before it is given up: dot11ShortRetryLimit.
const TRANSMISSIONS: u32 = 7;

/// One direction between two stations.
#[derive(Debug)]
struct MediumLink {
    from: u32,
    rate: Rate,
    loss: f64,
    up: bool,
    /// Draws which frames are lost.
    random: Random,
}

/// What the world must know to make a pair of stations that talk to each other.
#[derive(Debug)]
pub struct Pair {
    /// The two stations.
    pub stations: [u32; 2],
    /// Rate of frames from the first to the second, and back: one of [`phy::RATES`].
    pub rate: [Rate; 2],
    /// Probability that a frame is lost though it does not collide, each direction.
    pub loss: f64,
    /// The random streams of the two directions.
    pub random: [Random; 2],
}

/// A frame that a station has to send.
#[derive(Clone, Copy, Debug)]
struct Frame {
    link: u32,
    packet: PacketId,
    /// How long it is on the air, and its acknowledgement.
    time: Span,
    ack: Span,
}

#[derive(Debug)]
struct Station {
    /// The first one contends.
    frames: VecDeque<Frame>,
    /// The slot in which it may send, counted from the beginning of the slots.
    slot: u64,
    window: u32,
    /// Transmissions of the first frame so far.
    sent: u32,
    /// Draws back-offs.
    random: Random,
}

impl Station {
    fn draw(&mut self) {
        self.slot = u64::from(self.random.below(self.window + 1));
    }

    /// The frame that is on the air was not received; gives it back if it is given up.
    fn fail(&mut self) -> Option<Frame> {
        self.sent += 1;
        self.window = (2 * self.window + 1).min(MAX_WINDOW);
        if self.sent < TRANSMISSIONS {
            self.draw();
            return None;
        }
        self.finish()
    }

    /// The first frame is done with.
    fn finish(&mut self) -> Option<Frame> {
        (self.window, self.sent) = (MIN_WINDOW, 0);
        self.draw();
        self.frames.pop_front()
    }
}

/// What happens on the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumAction {
    /// A frame of this direction is on the air from now on; its acknowledgement ends, or it ends if it
    /// is not received, at `until`.
    OnAir {
        /// The direction.
        link: u32,
        /// When the air is free of it.
        until: Time,
    },
    /// The frame that just began will be received: hand the packet over at `at`.
    Receive {
        /// The direction.
        link: u32,
        /// The packet.
        packet: PacketId,
        /// When its last bit arrives.
        at: Time,
    },
    /// The sender of this direction is done with its packet and may offer the next one.
    Release {
        /// The direction.
        link: u32,
        /// The packet, if it was given up.
        lost: Option<PacketId>,
    },
    /// So much can be sent in this direction from now on.
    Rate {
        /// The direction.
        link: u32,
        /// Bits of packets a second.
        rate: Rate,
        /// What it would be if this direction wanted all that it can get: its max-min fair part. Others may
        /// be using what is above `rate`.
        fair: Rate,
    },
}

/// A shared medium. Its directions have numbers: those of pair k are 2k, from its first station to
/// its second, and 2k + 1.
#[derive(Debug)]
pub struct Medium {
    stations: Vec<Station>,
    links: Vec<MediumLink>,
    /// The stations that are sending, and until when the medium is busy with it.
    sending: Vec<u32>,
    /// Whether the frame on the air is received.
    is_received: bool,
    busy_until: Time,
    /// When the first slot began, or begins.
    slots_from: Time,
    shares: Shares,
}

impl Medium {
    /// An idle medium; `stations` are their random streams.
    pub fn new(stations: Vec<Random>, pairs: Vec<Pair>) -> Medium {
        let station =
            |random| Station { frames: VecDeque::new(), slot: 0, window: MIN_WINDOW, sent: 0, random };
        let mut links = Vec::with_capacity(2 * pairs.len());
        for Pair { stations: [a, b], rate, loss, random: [there, back] } in pairs {
            links.push(MediumLink { from: a, rate: rate[0], loss, up: true, random: there });
            links.push(MediumLink { from: b, rate: rate[1], loss, up: true, random: back });
        }
        let shares = Shares::new(&links);
        Medium {
            stations: stations.into_iter().map(station).collect(),
            links,
            sending: Vec::new(),
            is_received: false,
            busy_until: Time::ZERO,
            slots_from: Time::ZERO,
            shares,
        }
    }

    /// How many directions it has.
    pub fn directions(&self) -> usize {
        self.links.len()
    }

    /// Bits of packets a second that a direction can carry now, as the latest [`MediumAction::Rate`] said.
    pub fn rate(&self, link: u32) -> Rate {
        self.shares.rate(link)
    }

    /// Changes the rate of a direction's frames, from the next one offered on.
    pub fn set_rate(&mut self, now: Time, link: u32, rate: Rate) {
        self.links[link as usize].rate = rate;
        self.shares.on_change(now);
    }

    /// Changes how often frames of a direction are lost, from the next one sent on.
    pub fn set_loss(&mut self, link: u32, loss: f64) {
        self.links[link as usize].loss = loss;
    }

    /// While a direction is down, none of its frames is received.
    pub fn set_up(&mut self, link: u32, up: bool) {
        self.links[link as usize].up = up;
    }

    /// A packet is to be sent in this direction.
    pub fn offer(&mut self, now: Time, link: u32, packet: PacketId, pool: &PacketPool) {
        let MediumLink { from, rate, .. } = self.links[link as usize];
        if pool[packet].is_interest() {
            let declared = pool[packet].header().signals.value(&Signal::EXPECTED_SIZE);
            self.shares.on_interest(now, link, declared);
        }
        let is_busy = !self.sending.is_empty();
        let station = &mut self.stations[from as usize];
        if station.frames.is_empty() {
            if is_busy && station.slot == 0 {
                station.draw();
            } else if !is_busy {
                let slots = now.since(self.slots_from).as_nanos().div_ceil(SLOT.as_nanos());
                station.slot = station.slot.max(slots);
            }
        }
        let time = phy::frame_time(Bytes::new(pool[packet].wire_len()), rate);
        station.frames.push_back(Frame { link, packet, time, ack: phy::ack_time(rate) });
    }

    /// When to call [`Medium::handle_deadline`].
    pub fn next_deadline(&self) -> Time {
        self.next_change().min(self.shares.next_deadline())
    }

    /// When a transmission begins or ends.
    fn next_change(&self) -> Time {
        if !self.sending.is_empty() {
            return self.busy_until;
        }
        let waiting = self.stations.iter().filter(|station| !station.frames.is_empty());
        let slot = waiting.map(|station| station.slot).min();
        slot.map_or(Time::NEVER, |slot| self.slots_from + SLOT * slot)
    }

    /// The deadline is reached; appends what happens to `actions`.
    pub fn handle_deadline(&mut self, now: Time, pool: &PacketPool, actions: &mut Vec<MediumAction>) {
        loop {
            let at = self.next_change();
            if at > now {
                break;
            }
            if self.sending.is_empty() { self.begin(at, pool, actions) } else { self.end(actions) }
        }
        self.shares.handle_deadline(now, &self.links, actions);
    }

    /// The stations whose back-off is over send.
    fn begin(&mut self, now: Time, pool: &PacketPool, actions: &mut Vec<MediumAction>) {
        let slot = now.since(self.slots_from).as_nanos() / SLOT.as_nanos();
        for (index, station) in self.stations.iter_mut().enumerate() {
            station.slot = station.slot.saturating_sub(slot);
            if station.slot == 0 && !station.frames.is_empty() {
                self.sending.push(index as u32);
            }
        }
        self.is_received = self.is_received_alone(pool);
        self.busy_until = now;
        for &station in &self.sending {
            let Frame { link, packet, time, ack } = self.stations[station as usize].frames[0];
            let end = now + time;
            let until = if self.is_received { end + SIFS + ack } else { end };
            actions.push(MediumAction::OnAir { link, until });
            if self.is_received {
                actions.push(MediumAction::Receive { link, packet, at: end });
            }
            self.busy_until = self.busy_until.max(until);
        }
        self.slots_from = self.busy_until + if self.is_received { DIFS } else { EIFS };
    }

    /// Whether one station sends alone, and its frame is not lost.
    fn is_received_alone(&mut self, pool: &PacketPool) -> bool {
        let [station] = self.sending[..] else { return false };
        let frame = self.stations[station as usize].frames[0];
        let link = &mut self.links[frame.link as usize];
        if !link.up || (link.loss > 0.0 && link.random.chance(link.loss)) {
            self.shares.on_lost();
            return false;
        }
        let packet = &pool[frame.packet];
        let length = Bytes::new(packet.wire_len());
        self.shares.on_received(frame.link, length, packet.is_interest(), link.rate);
        true
    }

    /// The medium is idle again.
    fn end(&mut self, actions: &mut Vec<MediumAction>) {
        for station in self.sending.drain(..) {
            let station = &mut self.stations[station as usize];
            let link = station.frames[0].link;
            if self.is_received {
                station.finish();
                actions.push(MediumAction::Release { link, lost: None });
            } else if let Some(frame) = station.fail() {
                actions.push(MediumAction::Release { link, lost: Some(frame.packet) });
            }
        }
    }
}

#[cfg(test)]
mod tests;
