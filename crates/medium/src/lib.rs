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
//! Only one frame at a time can be received, and a station that sends does not hear. So a station with a
//! frame counts idle slots, from a random number between 0 and its contention window, and sends when the
//! counter is zero. Counters stop while the medium is busy. Stations whose counters end in the same slot
//! collide. Only an acknowledgement tells the sender that its frame was received. Without one it doubles its
//! window and draws again. After each frame a station draws once more before the next one (post-backoff). A
//! station whose post-backoff is over, and which gets a frame while the medium is idle, sends without
//! back-off.
//!
//! The medium is sans-IO: the world offers packets, calls at [`Medium::next_deadline`], and is told the fate
//! of each packet. An offered packet comes back once, in [`MediumAction::Receive`] or in
//! [`MediumAction::Release`].
//!
//! # Simplifications
//! 1. All stations hear each other at once: there are no hidden stations, and propagation takes no time.
//! 2. They count the same slots, even if the medium has been idle for long. A frame that comes in the middle
//!    of a slot leaves at its end. Within a slot stations cannot hear each other begin.
//! 3. Frames that collide are all lost. Acknowledgements are never lost.
//! 4. After a frame that was not received all stations wait EIFS, including its sender (its ACK timeout and
//!    DIFS are 84 µs, EIFS is 94 µs).
//! 5. There are no RTS/CTS, no fragments, no beacons, and no change of rate. A packet goes to one given
//!    station.

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
/// CWmax, slots.
const MAX_WINDOW: u32 = 1023;
/// The number of transmissions of a frame before it is given up: dot11ShortRetryLimit.
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

/// The settings of a pair of stations that communicate.
#[derive(Debug)]
pub struct Pair {
    /// The two stations.
    pub stations: [u32; 2],
    /// The rate of frames from the first to the second, and back: one of [`phy::RATES`].
    pub rate: [Rate; 2],
    /// The probability that a frame is lost without a collision, each direction.
    pub loss: f64,
    /// The random streams of the two directions.
    pub random: [Random; 2],
}

/// A frame that a station has to send.
#[derive(Clone, Copy, Debug)]
struct Frame {
    link: u32,
    packet: PacketId,
    /// The time of the frame on the air, and of its acknowledgement.
    time: Span,
    ack: Span,
}

#[derive(Debug)]
struct Station {
    /// The waiting frames. The first one contends.
    frames: VecDeque<Frame>,
    /// The slot in which the station may send, counted from the first slot.
    slot: u64,
    window: u32,
    /// The number of transmissions of the first frame so far.
    sent: u32,
    /// Draws back-offs.
    random: Random,
}

impl Station {
    fn draw(&mut self) {
        self.slot = u64::from(self.random.below(self.window + 1));
    }

    /// Handles a frame that was not received. Returns it if it is given up.
    fn fail(&mut self) -> Option<Frame> {
        self.sent += 1;
        self.window = (2 * self.window + 1).min(MAX_WINDOW);
        if self.sent < TRANSMISSIONS {
            self.draw();
            return None;
        }
        self.finish()
    }

    /// Removes the first frame.
    fn finish(&mut self) -> Option<Frame> {
        (self.window, self.sent) = (MIN_WINDOW, 0);
        self.draw();
        self.frames.pop_front()
    }
}

/// An event on the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumAction {
    /// A frame of this direction is on the air from now until `until`: the end of its acknowledgement, or its
    /// own end if it is not received.
    OnAir {
        /// The direction.
        link: u32,
        /// The time at which the air is free again.
        until: Time,
    },
    /// The frame that just began will be received. The world delivers the packet at `at`.
    Receive {
        /// The direction.
        link: u32,
        /// The packet.
        packet: PacketId,
        /// The time at which its last bit arrives.
        at: Time,
    },
    /// The sender of this direction has finished its packet and may offer the next one.
    Release {
        /// The direction.
        link: u32,
        /// The packet, if it was given up.
        lost: Option<PacketId>,
    },
    /// The expected rate of this direction from now on.
    Rate {
        /// The direction.
        link: u32,
        /// The rate, bits of packets a second.
        rate: Rate,
        /// The rate if this direction had unlimited demand: its max-min fair share. Others may use the part
        /// above `rate`.
        fair: Rate,
    },
}

/// A shared medium. Its directions have numbers: those of pair k are 2k, from its first station to its
/// second, and 2k + 1.
#[derive(Debug)]
pub struct Medium {
    stations: Vec<Station>,
    links: Vec<MediumLink>,
    /// The stations that are sending, and the time until which the medium is busy with it.
    sending: Vec<u32>,
    /// Whether the frame on the air is received.
    is_received: bool,
    busy_until: Time,
    /// The time at which the first slot began, or begins.
    slots_from: Time,
    shares: Shares,
}

impl Medium {
    /// Returns an idle medium; `stations` are the random streams of the stations.
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

    /// Returns the number of directions.
    pub fn directions(&self) -> usize {
        self.links.len()
    }

    /// Returns the rate that a direction can carry now, bits of packets a second, as in the latest
    /// [`MediumAction::Rate`].
    pub fn rate(&self, link: u32) -> Rate {
        self.shares.rate(link)
    }

    /// Changes the rate of a direction's frames, from the next offered one on.
    pub fn set_rate(&mut self, now: Time, link: u32, rate: Rate) {
        self.links[link as usize].rate = rate;
        self.shares.on_change(now);
    }

    /// Changes the loss ratio of a direction's frames, from the next transmission on.
    pub fn set_loss(&mut self, link: u32, loss: f64) {
        self.links[link as usize].loss = loss;
    }

    /// Sets whether a direction is up. While it is down, none of its frames is received.
    pub fn set_up(&mut self, link: u32, up: bool) {
        self.links[link as usize].up = up;
    }

    /// Offers a packet to send in this direction.
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

    /// Returns when to call [`Medium::handle_deadline`].
    pub fn next_deadline(&self) -> Time {
        self.next_change().min(self.shares.next_deadline())
    }

    /// Returns when a transmission begins or ends.
    fn next_change(&self) -> Time {
        if !self.sending.is_empty() {
            return self.busy_until;
        }
        let waiting = self.stations.iter().filter(|station| !station.frames.is_empty());
        let slot = waiting.map(|station| station.slot).min();
        slot.map_or(Time::NEVER, |slot| self.slots_from + SLOT * slot)
    }

    /// Handles the deadline. Appends the events to `actions`.
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

    /// Starts the stations whose back-off is over.
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

    /// Returns whether one station sends alone, and its frame is not lost.
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

    /// Ends the transmission. The medium is idle again.
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
