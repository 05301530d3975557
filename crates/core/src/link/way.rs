//! The path of packets from one end of a link to the other: propagation, loss, jitter.
//!
//! - **Loss** is independent for each packet, or comes in bursts. Bursts follow the model of Gilbert and
//!   Elliott (E. N. Gilbert, Capacity of a Burst-Noise Channel, 1960; E. O. Elliott, 1963) in its simplest
//!   form: the good state loses nothing, the bad state loses everything. The state changes from packet to
//!   packet:
//!
//!   ```text
//!          begin              begin = p / (b (1 - p))     p: mean loss ratio
//!   good ----------> bad      end   = 1 / b               b: mean length of a burst, packets
//!        <----------
//!            end
//!   ```
//!
//! - **Jitter** is an additional delay of each packet, uniform from 0 up to a bound. Without reordering, a
//!   packet that would overtake an earlier one arrives together with it.

use crate::random::Random;
use crate::units::{Span, Time};

/// The path of packets from one end of a link to the other. The fields that each packet needs come first.
#[derive(Debug)]
#[repr(C)]
pub struct Way {
    delay: Span,
    /// The latest arrival so far.
    latest: Time,
    loss: f64,
    jitter: Option<Box<Jitter>>,
    /// `true` if jitter may reorder packets.
    reorders: bool,
    random: Random,
    burst: Option<Burst>,
}

/// Losses in bursts.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Mean length, packets.
    length: f64,
    /// The state of the last packet; `None` before the first.
    is_bad: Option<bool>,
}

#[derive(Debug)]
struct Jitter {
    bound: Span,
    random: Random,
}

/// The smallest mean length of bursts, packets, that permits this loss ratio, 0 to 1.
pub fn least_burst(loss: f64) -> f64 {
    (loss / (1.0 - loss)).max(1.0)
}

impl Way {
    /// Makes a path with this propagation delay and independent losses. `random` decides about losses.
    pub fn new(delay: Span, loss: f64, random: Random) -> Way {
        Way { delay, loss, random, burst: None, jitter: None, reorders: false, latest: Time::ZERO }
    }

    /// Makes losses come in bursts of this mean length, packets; at least [`least_burst`]. `None`: losses are
    /// independent.
    pub fn set_burst(&mut self, length: Option<f64>) {
        let is_bad = self.burst.and_then(|burst| burst.is_bad);
        self.burst = length.map(|length| Burst { length, is_bad });
    }

    /// Adds a delay, uniform from 0 up to `bound`, drawn from `random`. With `reorder`, packets may overtake
    /// each other.
    #[must_use]
    pub fn with_jitter(mut self, bound: Span, reorder: bool, random: Random) -> Way {
        self.jitter = Some(Box::new(Jitter { bound, random }));
        self.reorders = reorder;
        self
    }

    /// Changes the bound of the jitter. It has no effect if the path was made without [`Way::with_jitter`].
    pub fn set_jitter(&mut self, bound: Span) {
        if let Some(jitter) = &mut self.jitter {
            jitter.bound = bound;
        }
    }

    /// Changes the propagation delay for packets that leave from now on.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// The propagation delay: the least time between a packet's departure and its arrival.
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Changes the mean loss ratio, 0 to 1.
    pub fn set_loss(&mut self, loss: f64) {
        self.loss = loss;
    }

    /// Returns whether a packet may arrive before one that left earlier.
    #[inline]
    pub fn reorders(&self) -> bool {
        self.reorders
    }

    /// Drops all packets on the path.
    pub fn clear(&mut self) {
        self.latest = Time::ZERO;
    }

    /// Arrival time of the packet whose last bit leaves at `until`; `None` if it is lost.
    #[inline]
    pub fn pass(&mut self, until: Time) -> Option<Time> {
        if self.loss > 0.0 && self.is_lost() {
            return None;
        }
        let mut arrival = until + self.delay;
        if let Some(jitter) = &mut self.jitter {
            arrival += jitter.draw();
            if self.reorders {
                return Some(arrival);
            }
        }
        // Neither jitter nor a shortened delay makes packets overtake each other.
        self.latest = arrival.max(self.latest);
        Some(self.latest)
    }

    #[inline]
    fn is_lost(&mut self) -> bool {
        match &mut self.burst {
            None => self.random.chance(self.loss),
            Some(burst) => burst.is_lost(self.loss, &mut self.random),
        }
    }
}

impl Burst {
    /// Draws the state for the next packet, which is lost in the bad state.
    fn is_lost(&mut self, loss: f64, random: &mut Random) -> bool {
        let is_bad = match self.is_bad {
            // The first state has the stationary distribution.
            None => random.chance(loss),
            Some(true) => loss >= 1.0 || !random.chance(1.0 / self.length),
            Some(false) => random.chance((loss / (self.length * (1.0 - loss))).min(1.0)),
        };
        self.is_bad = Some(is_bad);
        is_bad
    }
}

impl Jitter {
    fn draw(&mut self) -> Span {
        if self.bound == Span::ZERO { Span::ZERO } else { self.bound.scale(self.random.unit()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(loss: f64, burst: Option<f64>, seed: u64) -> Way {
        let mut way = Way::new(Span::from_millis(10), loss, Random::named(seed, "link"));
        way.set_burst(burst);
        way
    }

    fn at(micros: u64) -> Time {
        Time::from_nanos(1000 * micros)
    }

    /// Loss ratio and mean length of bursts over a million packets.
    fn losses(loss: f64, burst: Option<f64>) -> (f64, f64) {
        let mut way = way(loss, burst, 7);
        let (mut lost, mut bursts, mut before) = (0, 0, false);
        for k in 0..1_000_000 {
            let is_lost = way.pass(at(k)).is_none();
            lost += u64::from(is_lost);
            bursts += u64::from(is_lost && !before);
            before = is_lost;
        }
        (lost as f64 / 1e6, lost as f64 / bursts as f64)
    }

    #[test]
    fn bursts_have_the_stated_mean_loss_and_mean_length() {
        for (loss, burst) in [(0.01, 5.0), (0.001, 2.0), (0.2, 20.0), (0.5, 1.0), (0.3, 3.0)] {
            let (ratio, length) = losses(loss, Some(burst));
            // Five standard errors. Bursts of b packets make the standard error √(2b) times as large.
            let error = 5.0 * (loss * 2.0 * burst / 1e6).sqrt();
            assert!((ratio - loss).abs() < error, "{ratio} is not {loss}");
            let error = 5.0 * burst * (burst / (loss * 1e6)).sqrt();
            assert!((length - burst).abs() <= error, "bursts of {length}, not {burst}");
        }
    }

    #[test]
    fn independent_losses_come_in_bursts_of_chance() {
        let (ratio, length) = losses(0.2, None);
        assert!((ratio - 0.2).abs() < 0.002 && (length - 1.25).abs() < 0.01, "{ratio}, {length}");
        // The same model with the mean burst length of independent losses.
        let (ratio, length) = losses(0.2, Some(1.25));
        assert!((ratio - 0.2).abs() < 0.002 && (length - 1.25).abs() < 0.01, "{ratio}, {length}");
    }

    #[test]
    fn a_loss_that_changes_keeps_the_length_of_bursts() {
        let mut way = way(0.0, Some(4.0), 1);
        assert!((0..1000).all(|k| way.pass(at(k)).is_some()));
        way.set_loss(1.0);
        assert!((0..1000).all(|k| way.pass(at(k)).is_none()));
        way.set_loss(0.25);
        let lost = (0..100_000).filter(|k| way.pass(at(*k)).is_none()).count();
        assert!((24_000..26_000).contains(&lost), "{lost}");
    }

    #[test]
    fn jitter_with_reordering_is_uniform_up_to_its_bound() {
        let jitter = Random::named(3, "jitter");
        let mut way = way(0.0, None, 3).with_jitter(Span::from_millis(2), true, jitter);
        let mut delays: Vec<u64> =
            (0..100_000).map(|k| way.pass(at(k)).expect("nothing is lost").since(at(k)).as_nanos()).collect();
        delays.sort_unstable();
        // Kolmogorov–Smirnov test: the distance is below 1.95 / √n with a probability of 0.999.
        for (k, delay) in delays.iter().enumerate() {
            let (part, expected) = (k as f64 / 1e5, (*delay as f64 / 1e6 - 10.0) / 2.0);
            assert!((part - expected).abs() < 1.95 / 1e5_f64.sqrt(), "{delay} ns at {part}");
        }
    }

    #[test]
    fn jitter_larger_than_the_spacing_keeps_the_order_unless_reordering_is_allowed() {
        for reorder in [false, true] {
            let jitter = Random::named(3, "jitter");
            let mut way = way(0.0, None, 3).with_jitter(Span::from_millis(2), reorder, jitter);
            let arrivals: Vec<_> = (0..1000).map(|k| way.pass(at(100 * k)).unwrap()).collect();
            assert_eq!(arrivals.is_sorted(), !reorder);
            let least = |(k, arrival): (usize, &Time)| arrival.since(at(100 * k as u64));
            assert!(arrivals.iter().enumerate().map(least).all(|delay| delay >= Span::from_millis(10)));
        }
    }

    #[test]
    fn a_delay_that_is_cut_makes_no_packet_overtake_another() {
        let mut way = way(0.0, None, 1);
        assert_eq!(way.pass(at(0)), Some(at(10_000)));
        way.set_delay(Span::from_millis(1));
        assert_eq!(way.pass(at(500)), Some(at(10_000)));
        way.clear();
        assert_eq!(way.pass(at(600)), Some(at(1_600)));
    }
}
