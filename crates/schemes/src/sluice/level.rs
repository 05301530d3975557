//! The level of a link: the rate that each of its flows may have, by class. Equations (1) to (5) of `docs/schemes/sluice.md`.
//!
//! ```text
//!   O ──┬─ CS7, CS6, EF:  B_c = δ_c·O                                  level_c = x_c·B_c/n_c
//!       └─ AF4 ... BE:    B_c = min(1, x·s_c)·(O − U)  s_c = ω_c/Σω
//! ```
//!
//! n_c corrects the level at once when flows come and go. Two slow integrators find the rate that flows with
//! less demand leave: x_c for the flows of a class, x for classes. So the demand of a flow need not be
//! estimated.

use weir_packet::ServiceClass;

use super::Settings;

/// The number of service classes.
pub(super) const CLASSES: usize = ServiceClass::ALL.len();
/// The number of delay-sensitive classes. They come first.
pub(super) const URGENT: usize = ServiceClass::DELAY_SENSITIVE;

/// The smallest x. The excess of a flow that ignores its grant is in its own queue, and must not lower the
/// level of the others.
const LEAST_SLACK: f64 = 0.995;
/// The weight of a new measurement of a rate, a period.
const SMOOTHING: f64 = 0.3;

/// The state of a class on a link.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// n_c: the weights of its active flows.
    active: f64,
    /// x_c, at least 1.
    slack: f64,
    /// The bits requested in this period, and y_c, their rate, bit/s.
    asked: f64,
    rate: f64,
}

/// The level of a link.
#[derive(Clone, Debug)]
pub(super) struct Level {
    omega: [f64; CLASSES - URGENT],
    delta: [f64; URGENT],
    gain: f64,
    /// O, bit/s: the rate offered to Data.
    offered: f64,
    /// x.
    slack: f64,
    classes: [Class; CLASSES],
    /// Σ size² and Σ size of the Data requested in this period, and their quotient, the size of a burst,
    /// bits.
    squares: f64,
    burst: f64,
    /// The smoothed part of O that is requested.
    used: f64,
}

/// Measurements of a period besides the requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// T, s.
    pub(super) period: f64,
    /// h, s: the time after which a change of the level shows.
    pub(super) horizon: f64,
    /// q_c: the bits of Data for which Interests of each class waited during the whole period.
    pub(super) standing: [f64; CLASSES],
}

impl Level {
    pub(super) fn new(settings: &Settings) -> Level {
        let class = Class { active: 0.0, slack: 1.0, asked: 0.0, rate: 0.0 };
        Level {
            omega: settings.omega,
            delta: settings.delta,
            gain: settings.gain,
            offered: f64::INFINITY,
            slack: 1.0,
            classes: [class; CLASSES],
            squares: 0.0,
            burst: 0.0,
            used: 0.0,
        }
    }

    /// Sets O.
    pub(super) fn offer(&mut self, rate: f64) {
        self.offered = rate;
    }

    /// Returns the sum of the weights of all active flows.
    pub(super) fn active(&self) -> f64 {
        self.classes.iter().map(|class| class.active).sum()
    }

    /// Returns the requested part of O.
    pub(super) fn used(&self) -> f64 {
        self.used
    }

    /// Returns y, the requested rate, bit/s.
    pub(super) fn wanted(&self) -> f64 {
        self.classes.iter().map(|class| class.rate).sum()
    }

    /// Returns ω of a class as a multiple of the smallest ω; for an urgent class that of the largest.
    pub(super) fn weight(&self, class: usize) -> f64 {
        let least = self.omega.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.omega.iter().copied().fold(0.0, f64::max);
        class.checked_sub(URGENT).map_or(most, |c| self.omega[c]) / least
    }

    /// Returns the size of a burst, bits; 0 before the first.
    pub(super) fn burst(&self) -> f64 {
        self.burst
    }

    /// Adds the weight of a flow that becomes active in a class. The weight is negative if the flow becomes
    /// inactive.
    pub(super) fn join(&mut self, class: usize, weight: f64) {
        let class = &mut self.classes[class];
        class.active += weight;
        if class.active < 1e-9 {
            *class = Class { active: 0.0, slack: 1.0, rate: 0.0, ..*class };
        }
    }

    /// Counts the request of a Data of this size.
    #[inline]
    pub(super) fn ask(&mut self, class: usize, bits: f64) {
        self.classes[class].asked += bits;
        self.squares += bits * bits;
    }

    /// (2): returns B_c, the rate that a class may have, bit/s.
    fn share(&self, class: usize) -> f64 {
        if class < URGENT {
            return self.delta[class] * self.offered;
        }
        let urgent: f64 = self.classes[..URGENT].iter().map(|class| class.rate).sum();
        let left = (self.offered - urgent).max(0.1 * self.offered);
        (self.slack * self.part(class)).min(1.0) * left
    }

    /// Returns ω_c/Σω over the active classes and this one.
    fn part(&self, class: usize) -> f64 {
        let counts = |c: usize| c == class || self.classes[c].active > 0.0;
        let all: f64 = (URGENT..CLASSES).filter(|&c| counts(c)).map(|c| self.omega[c - URGENT]).sum();
        self.omega[class - URGENT] / all
    }

    /// (3): returns the level of a class for a flow of this weight, bit/s.
    pub(super) fn of(&self, class: usize, weight: f64) -> f64 {
        let Class { active, slack, .. } = self.classes[class];
        let all = if active > 0.0 { active } else { weight };
        (weight * slack * self.share(class) / all).min(self.offered)
    }

    /// (4), (5): adjusts the slacks at the end of a period.
    pub(super) fn end_period(&mut self, measured: &Measured) {
        let &Measured { period, horizon, standing } = measured;
        let asked: f64 = self.classes.iter().map(|class| class.asked).sum();
        if asked > 0.0 {
            self.burst = self.squares / asked;
        }
        self.squares = 0.0;
        for class in &mut self.classes {
            let rate = class.asked / period;
            class.rate = if class.rate == 0.0 { rate } else { class.rate + SMOOTHING * (rate - class.rate) };
            class.asked = 0.0;
        }
        if self.offered.is_infinite() || self.active() == 0.0 {
            return;
        }
        let gain = self.gain * period / horizon;
        let error = |rate: f64, want: f64, queue: f64| {
            ((rate - want - (queue - self.burst).max(0.0) / horizon) / rate).clamp(-1.0, 1.0)
        };
        let want: f64 = self.classes.iter().map(|class| class.rate).sum();
        let step = gain * error(self.offered, want, standing.iter().sum());
        let slacks: [f64; CLASSES] = core::array::from_fn(|c| {
            let Class { active, slack, rate, .. } = self.classes[c];
            let share = self.share(c);
            let most = active * self.offered / share.max(1.0);
            (slack * (1.0 + gain * error(share, rate, standing[c]))).min(most).max(1.0)
        });
        self.classes.iter_mut().zip(slacks).for_each(|(class, slack)| class.slack = slack);
        let parts = (URGENT..CLASSES).filter(|&c| self.classes[c].active > 0.0).map(|c| self.part(c));
        let most = 1.0 / parts.fold(1.0, f64::min);
        self.slack = (self.slack * (1.0 + step)).clamp(LEAST_SLACK, most);
        self.used += 0.1 * (want / self.offered - self.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::seam::params::Params;

    const AF4: usize = ServiceClass::Af4 as usize;
    const BE: usize = ServiceClass::Be as usize;
    const EF: usize = ServiceClass::Ef as usize;

    fn level(rate: f64) -> Level {
        let params = Params::resolve(Settings::PARAMETERS, []).unwrap();
        let mut level = Level::new(&Settings::new(&params));
        level.offer(rate);
        level
    }

    /// A fluid model: flows (class, largest rate) follow their level `delay` periods later, with periods of a
    /// quarter of a horizon. Returns the smallest and the largest request in the last half of these periods,
    /// and the request of each flow at the end.
    fn fluid(flows: &[(usize, f64)], delay: usize, periods: usize) -> ((f64, f64), Vec<f64>) {
        const HORIZON: f64 = 0.1;
        let mut level = level(1e6);
        flows.iter().for_each(|(class, _)| level.join(*class, 1.0));
        let mut granted = vec![[0.0; CLASSES]; delay];
        let (mut least, mut most, mut last) = (f64::INFINITY, 0.0_f64, Vec::new());
        for period in 0..periods {
            granted.push(core::array::from_fn(|class| level.of(class, 1.0)));
            let now = granted[granted.len() - 1 - delay];
            last = flows.iter().map(|(class, most)| now[*class].min(*most)).collect();
            flows.iter().zip(&last).for_each(|((class, _), rate)| level.ask(*class, rate * HORIZON / 4.0));
            let standing = [0.0; CLASSES];
            level.end_period(&Measured { period: HORIZON / 4.0, horizon: HORIZON, standing });
            if period > periods / 2 {
                let all = last.iter().sum();
                (least, most) = (least.min(all), most.max(all));
            }
        }
        ((least, most), last)
    }

    #[test]
    fn a_fluid_settles_at_the_fair_shares_whatever_delay_up_to_two_horizons_it_has() {
        // In class BE three flows want little. EF wants everything and has δ; AF4 wants less than its share.
        let flows = [(EF, 1e6), (AF4, 2e5), (BE, 5e4), (BE, 5e4), (BE, 5e4), (BE, 1e6), (BE, 1e6)];
        let right = [3e5, 2e5, 5e4, 5e4, 5e4, 1.75e5, 1.75e5];
        for delay in [0, 1, 4, 8] {
            let ((least, most), last) = fluid(&flows, delay, 1500);
            assert!(least > 0.98e6 && most < 1.02e6, "{delay}: {least} to {most}");
            for (rate, right) in last.iter().zip(right) {
                assert!((rate / right - 1.0).abs() < 0.02, "{delay}: {last:?}");
            }
        }
    }

    #[test]
    fn flows_that_come_and_go_change_the_level_at_once() {
        let mut level = level(1e6);
        level.join(BE, 1.0);
        assert_eq!(level.of(BE, 1.0), 1e6);
        level.join(BE, 3.0);
        assert_eq!(level.of(BE, 1.0), 2.5e5);
        level.join(AF4, 1.0);
        assert!((level.of(AF4, 1.0) - 1e6 * 5.0 / 6.0).abs() < 1.0);
        level.join(BE, -4.0);
        assert_eq!((level.of(AF4, 1.0), level.active()), (1e6, 1.0));
    }

    #[test]
    fn flows_that_ask_for_too_much_lower_the_level_of_nobody() {
        let mut level = level(1e6);
        level.join(BE, 4.0);
        for _ in 0..1000 {
            level.ask(BE, 1e6);
            level.end_period(&Measured { period: 0.1, horizon: 0.4, standing: [1e5; CLASSES] });
        }
        assert!(level.of(BE, 1.0) >= LEAST_SLACK * 2.5e5, "{}", level.of(BE, 1.0));
    }
}
