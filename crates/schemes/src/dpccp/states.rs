//! The laws of the states (section VI.E): the rate of a sub-flow, as a function of the results of its control cycles.

use weir_core::units::{Span, Time};

use super::Settings;
use super::hop_flow::Measured;

/// The state of a sub-flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// RP: measures the round-trip time while other flows empty their queues.
    Probing(Probe),
    /// BF: looks for the rate of the bottleneck.
    Filling(ZigZag),
    /// FC: makes Δ_r converge to α_r.
    Converging(Convergence),
    /// QD: lets the queue drain.
    Draining(Drain),
}

/// The state of RTT probing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Probe {
    /// The time of the first round-trip time, and the number of them so far.
    pub(super) first: Option<Time>,
    pub(super) samples: u32,
    /// The time at which the first Interest left.
    pub(super) began: Option<Time>,
}

impl Probe {
    /// Counts a round-trip time. Returns whether there are enough.
    pub(super) fn on_sample(&mut self, now: Time, base: Span, settings: &Settings) -> bool {
        self.samples += 1;
        let first = *self.first.get_or_insert(now);
        self.samples >= settings.probing_samples
            && now.since(first) >= base.scale(settings.probing_round_trips)
    }
}

/// The stages of a round of Z-MI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    One,
    Two,
    Three,
}

/// Zigzag multiplicative increase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZigZag {
    /// u*, Interests a second.
    tolerable: f64,
    stage: Stage,
    /// β of this round.
    beta: f64,
    /// The number of rounds without congestion.
    rounds: u32,
}

impl ZigZag {
    /// Begins the first round, at this u*.
    pub(super) fn new(tolerable: f64, growth: &Growth) -> ZigZag {
        ZigZag::round(tolerable, 0, growth)
    }

    fn round(tolerable: f64, rounds: u32, growth: &Growth) -> ZigZag {
        ZigZag { tolerable, stage: Stage::One, beta: growth.beta(tolerable, rounds), rounds }
    }

    /// (17): u_r.
    pub(super) fn rate(&self) -> f64 {
        match self.stage {
            Stage::One => (1.0 + self.beta) * self.tolerable,
            Stage::Two => self.tolerable,
            Stage::Three => (1.0 - self.beta) * self.tolerable,
        }
    }

    /// Returns whether less Data arrive than stage III requests.
    pub(super) fn exceeds(&self, measured: &Measured) -> bool {
        measured.rate < (1.0 - self.beta) * self.tolerable
    }

    /// Ends a cycle. Returns the next stage, or `None` if the bottleneck is full. The Data of stage I arrive
    /// in stage II, so stage I itself gives no result.
    pub(super) fn next(self, measured: &Measured, is_congested: bool, growth: &Growth) -> Option<ZigZag> {
        let ZigZag { tolerable, beta, rounds, .. } = self;
        match self.stage {
            Stage::One => Some(ZigZag { stage: Stage::Two, ..self }),
            _ if is_congested => None,
            Stage::Two => Some(ZigZag { stage: Stage::Three, ..self }),
            // (18). A sub-flow that receives less than half of its allowed rate has not shown that the path
            // tolerates more.
            Stage::Three if 2.0 * measured.rate >= tolerable => {
                Some(ZigZag::round((1.0 + beta) * tolerable, rounds + 1, growth))
            }
            Stage::Three => Some(ZigZag::round(tolerable, rounds, growth)),
        }
    }
}

/// The limits on β of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// β.
    pub(super) most: f64,
    /// The rate at which the bottleneck was last full, Data a second; `None` if it never was.
    pub(super) full: Option<f64>,
    /// The largest excess over u* of the first stage I beyond that rate, Interests a second.
    pub(super) step: f64,
}

impl Growth {
    /// Returns β. Until the bottleneck has been full once, it is the configured β. Later it is the step to
    /// the rate at which the bottleneck was full. Beyond that rate the step doubles with each tolerated
    /// round.
    fn beta(&self, tolerable: f64, rounds: u32) -> f64 {
        let Some(full) = self.full else { return self.most };
        let step = self.step * f64::from(1_u32 << rounds.min(16)) / tolerable;
        (full / tolerable - 1.0).max(step).min(self.most)
    }
}

/// Adaptive additive increase, additive decrease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Convergence {
    /// ρ, in the unit of `rho_unit`.
    rho: f64,
    /// Δ_r(n − 1).
    before: Option<f64>,
    /// The start of the K periods, and Δ_r(n − K).
    since: Time,
    from: f64,
    /// Whether this is the first cycle. Its Data answer Interests sent before it.
    is_first: bool,
}

/// The inputs of A-AIAD besides a cycle's measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aim {
    /// α_r, packets.
    pub(super) set_point: f64,
    /// The length of a period: one control cycle.
    pub(super) period: Span,
    /// K.
    pub(super) periods: f64,
    /// ρ = 1, Interests a second.
    pub(super) unit: f64,
}

impl Convergence {
    pub(super) fn new(now: Time, backlog: f64) -> Convergence {
        Convergence { rho: 1.0, before: None, since: now, from: backlog, is_first: true }
    }

    /// (19): returns u_r at the end of a cycle, after (20) has changed ρ; `None` if u_r stays the same. A
    /// loss counts as a backlog above the set point.
    pub(super) fn next(&mut self, now: Time, measured: &Measured, is_lossy: bool, aim: &Aim) -> Option<f64> {
        if core::mem::take(&mut self.is_first) {
            return None;
        }
        let set_point = aim.set_point;
        let backlog = if is_lossy { measured.backlog.max(set_point + 1.0) } else { measured.backlog };
        self.adapt(now, backlog, aim);
        self.rho = self.rho.min(measured.rate / aim.unit).max(1.0);
        // ρ is at least one Interest a cycle. Below that rate one Interest would be more than x_r.
        let step = (self.rho * aim.unit).min(0.5 * measured.rate);
        Some(if backlog < set_point {
            measured.rate + step
        } else if backlog > set_point {
            measured.rate - step
        } else {
            measured.rate
        })
    }

    /// (20).
    fn adapt(&mut self, now: Time, backlog: f64, aim: &Aim) {
        let (period, elapsed) = (aim.period.max(Span::from_micros(1)), now.since(self.since));
        if elapsed >= period.scale(aim.periods) {
            let speed = (backlog - self.from).abs() * (period.as_secs_f64() / elapsed.as_secs_f64());
            if speed < 1.0 {
                self.rho += 1.0;
            } else if speed > 1.0 {
                self.rho -= 1.0;
            }
            (self.since, self.from) = (now, backlog);
        }
        let has_crossed = self.before.is_some_and(|before| {
            (backlog >= aim.set_point && aim.set_point >= before)
                || (backlog <= aim.set_point && aim.set_point <= before)
        });
        if has_crossed {
            self.rho = 1.0;
        }
        self.before = Some(backlog);
    }
}

/// The state of queue draining.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drain {
    /// u*, to which the sub-flow returns.
    pub(super) backup: f64,
    /// x_r of the previous cycle.
    pub(super) before: f64,
    /// The number of the first Interest that leaves during the drain.
    pub(super) from: u32,
    /// The latest end of the drain.
    pub(super) until: Time,
    /// The longest time between Interests.
    pub(super) gap: Span,
    /// If the base RTT is measured again: the end of the drain if the base is not met earlier.
    pub(super) renews: Option<Time>,
}

impl Drain {
    /// Returns the higher rate of the last two cycles.
    pub(super) fn highest(&self) -> f64 {
        self.backup.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(rate: f64, backlog: f64) -> Measured {
        Measured { rate, backlog, ..Measured::default() }
    }

    const AIM: Aim = Aim { set_point: 20.0, period: Span::from_millis(100), periods: 3.0, unit: 1.0 };

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    const GROWTH: Growth = Growth { most: 0.25, full: None, step: 1.0 };

    /// Returns the rates of cycles without congestion.
    fn rates(mut zigzag: ZigZag, growth: &Growth, cycles: usize) -> Vec<f64> {
        let mut rates = Vec::new();
        for _ in 0..cycles {
            rates.push(zigzag.rate());
            zigzag = zigzag.next(&measured(zigzag.tolerable, 0.0), false, growth).unwrap();
        }
        rates
    }

    #[test]
    fn a_round_of_z_mi_asks_for_more_for_as_much_and_for_less() {
        let rates = rates(ZigZag::new(100.0, &GROWTH), &GROWTH, 4);
        assert_eq!(rates, [125.0, 100.0, 75.0, 1.25 * 125.0]);
    }

    #[test]
    fn congestion_in_stages_two_and_three_ends_the_filling() {
        let full = measured(100.0, 9.0);
        let two = ZigZag::new(100.0, &GROWTH).next(&full, true, &GROWTH).unwrap();
        assert_eq!(two.stage, Stage::Two, "the Data of stage I answer earlier Interests");
        assert_eq!(two.next(&full, true, &GROWTH), None);
        let three = two.next(&measured(100.0, 0.0), false, &GROWTH).unwrap();
        assert_eq!(three.next(&full, true, &GROWTH), None);
    }

    #[test]
    fn a_rate_that_is_not_used_does_not_grow() {
        let three = ZigZag { stage: Stage::Three, ..ZigZag::new(100.0, &GROWTH) };
        for (came, tolerable) in [(49.0, 100.0), (50.0, 125.0)] {
            assert_eq!(three.next(&measured(came, 0.0), false, &GROWTH).unwrap().tolerable, tolerable);
        }
    }

    #[test]
    fn to_where_the_bottleneck_was_full_it_goes_at_once_and_beyond_in_steps_that_double() {
        let growth = Growth { full: Some(1000.0), step: 20.0, ..GROWTH };
        let rates = rates(ZigZag::new(800.0, &growth), &growth, 16);
        let of_stage_one: Vec<f64> = rates.iter().step_by(3).copied().collect();
        assert_eq!(of_stage_one[..4], [1000.0, 1040.0, 1120.0, 1280.0]);
    }

    /// The state after its first cycle.
    fn begun(backlog: f64) -> Convergence {
        let mut law = Convergence::new(at(0), backlog);
        assert_eq!(
            law.next(at(0), &measured(1.0, backlog), false, &AIM),
            None,
            "the first cycle changes nothing"
        );
        law
    }

    #[test]
    fn a_aiad_asks_for_rho_more_than_comes_or_less() {
        for (backlog, lossy, rate) in
            [(19.0, false, 1001.0), (21.0, false, 999.0), (20.0, false, 1000.0), (5.0, true, 999.0)]
        {
            let mut law = begun(backlog);
            assert_eq!(law.next(at(100), &measured(1000.0, backlog), lossy, &AIM), Some(rate));
        }
    }

    #[test]
    fn rho_grows_while_the_backlog_moves_by_less_than_one_a_round_trip_and_falls_while_it_moves_by_more() {
        let mut law = begun(3.0);
        for (cycle, backlog, rho) in [
            (1, 3.0, 1.0),
            (2, 3.5, 1.0),
            (3, 4.0, 2.0),
            (4, 5.0, 2.0),
            (5, 6.0, 2.0),
            (6, 6.5, 3.0),
            (9, 12.5, 2.0),
            (12, 15.5, 2.0),
            (15, 19.0, 1.0),
        ] {
            law.next(at(100 * cycle), &measured(1000.0, backlog), false, &AIM);
            assert_eq!(law.rho, rho, "cycle {cycle}");
        }
    }

    #[test]
    fn rho_is_one_again_when_the_backlog_passes_the_set_point() {
        for (before, after) in [(19.0, 20.5), (21.0, 19.5), (19.0, 20.0)] {
            let mut law = Convergence { rho: 7.0, ..begun(before) };
            law.next(at(100), &measured(1000.0, before), false, &AIM);
            assert_eq!(law.rho, 7.0);
            law.next(at(200), &measured(1000.0, after), false, &AIM);
            assert_eq!(law.rho, 1.0, "{before} {after}");
        }
    }

    #[test]
    fn rho_is_never_more_than_what_comes() {
        let mut law = Convergence { rho: 500.0, ..begun(5.0) };
        assert_eq!(law.next(at(100), &measured(30.0, 5.0), false, &AIM), Some(45.0));
        assert_eq!(law.rho, 30.0);
        let aim = Aim { unit: 20.0, ..AIM };
        assert_eq!(begun(5.0).next(at(100), &measured(10.0, 5.0), true, &aim), Some(5.0), "half at the most");
    }

    #[test]
    fn rho_counts_packets_in_its_unit() {
        let aim = Aim { unit: 10.0, ..AIM };
        let mut law = Convergence { rho: 3.0, ..begun(5.0) };
        assert_eq!(law.next(at(100), &measured(1000.0, 5.0), false, &aim), Some(1030.0));
    }
}
