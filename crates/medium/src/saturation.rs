//! The capacity of a medium on which every station always has a frame to send.
//!
//! G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3),
//! 2000, with a retry limit as in H. Wu et al., "Performance of Reliable Transport Protocol over IEEE 802.11
//! Wireless LAN", IEEE INFOCOM 2002, and with frames that are lost without a collision.

use super::{MAX_WINDOW, MIN_WINDOW, TRANSMISSIONS, phy};
use weir_core::units::{Bytes, Rate, Span};

/// The stationary state of saturated stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    /// p, the probability that a frame collides when it is sent.
    pub collision: f64,
    /// τ, the probability that a station sends in a slot.
    pub attempt: f64,
    /// For each received frame: the idle slots before it,
    idle_slots: f64,
    /// collisions before it,
    collisions: f64,
    /// and the frames before it that were lost without a collision.
    losses: f64,
}

impl Saturation {
    /// Returns the state of this number of stations. `loss` is the probability that a frame is lost without a
    /// collision (below 1).
    pub fn new(stations: usize, loss: f64) -> Saturation {
        // p grows with τ and τ falls with p, so there is one solution between 0 and 1.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = (low + high) / 2.0;
            if collision_probability(attempt_probability(p, loss), stations) > p {
                low = p;
            } else {
                high = p;
            }
        }
        let collision = (low + high) / 2.0;
        let attempt = attempt_probability(collision, loss);
        let idle = 1.0 - collision_probability(attempt, stations + 1);
        let alone = stations as f64 * attempt * (1.0 - collision_probability(attempt, stations));
        let received = alone * (1.0 - loss);
        Saturation {
            collision,
            attempt,
            idle_slots: idle / received,
            collisions: (1.0 - idle - alone).max(0.0) / received,
            losses: loss / (1.0 - loss),
        }
    }

    /// Returns the air time, s, of a packet of this length with all its overhead: idle slots, frame and
    /// acknowledgement, and the frames before it that were not received. Colliding frames are assumed to be
    /// as long as one of `other` on the air.
    pub fn air_time(&self, packet: Bytes, rate: Rate, other: Span) -> f64 {
        let frame = phy::frame_time(packet, rate);
        let exchange = frame + phy::SIFS + phy::ack_time(rate) + phy::DIFS;
        exchange.as_secs_f64()
            + self.idle_slots * phy::SLOT.as_secs_f64()
            + self.collisions * (other + phy::EIFS).as_secs_f64()
            + self.losses * (frame + phy::EIFS).as_secs_f64()
    }

    /// Returns the throughput of all stations together, bit/s of packets, if all packets have this length.
    pub fn throughput(&self, packet: Bytes, rate: Rate) -> f64 {
        packet.bits() as f64 / self.air_time(packet, rate, phy::frame_time(packet, rate))
    }

    /// Returns the probability that a frame is given up after its last transmission.
    pub fn drop_probability(&self, loss: f64) -> f64 {
        let fails = 1.0 - (1.0 - self.collision) * (1.0 - loss);
        (0..TRANSMISSIONS).map(|_| fails).product()
    }
}

/// Returns τ from p: the transmissions of a frame over the slots that they take, one for each and the
/// back-off before it. Transmission j follows j failures, after a back-off of half its window.
fn attempt_probability(p: f64, loss: f64) -> f64 {
    let fails = 1.0 - (1.0 - p) * (1.0 - loss);
    let (mut reached, mut window) = (1.0, MIN_WINDOW);
    let (mut sent, mut slots) = (0.0, 0.0);
    for _ in 0..TRANSMISSIONS {
        sent += reached;
        slots += reached * (1.0 + f64::from(window) / 2.0);
        reached *= fails;
        window = (2 * window + 1).min(MAX_WINDOW);
    }
    sent / slots
}

/// Returns p from τ: the probability that at least one of the others sends in the same slot.
fn collision_probability(attempt: f64, stations: usize) -> f64 {
    let silent: f64 = (1..stations).map(|_| 1.0 - attempt).product();
    1.0 - silent
}
