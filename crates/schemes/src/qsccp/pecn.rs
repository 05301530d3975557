//! PECN's flow rate computation (section IV-D 1): divides the capacity for Data between classes and flows, once per
//! period T at each face.
//!
//! Equations (1) to (3) are the paper's. The page with (4) to (9) is missing from every available copy. We
//! reconstructed them from the authors' published code, and assigned the numbers ourselves. All rates are bit/s of
//! returned Data.
//!
//! A count over T has steps of one Data per T, coarser than most thresholds: a paced flow with a share of five Data per
//! period would be counted with four, five or six. So r_f is measured between Interests ([`RateMeasure`]), and r_c is
//! the sum of the r_f of a class.

use weir_core::units::{Span, Time};

/// The share of its base rate up to which a class counts as idle.
const CLASS_IDLE: f64 = 0.05;

/// How often spare capacity is divided again, at most. Each time the offered rate grows, and no claim counts
/// more than before. So it is safe to stop at any time.
const ROUNDS: u32 = 8;

/// (1) B'(t) = η·B(t) − B_I(t), and at least half: the other end leaves half of the link to waiting Data.
pub(super) fn data_capacity(eta: f64, capacity: f64, reverse_interests: f64) -> f64 {
    (eta * capacity - reverse_interests).max(eta * capacity / 2.0)
}

/// A claim to a part of a shared rate: that of a flow in its class, or of a class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Claim {
    /// Its weight.
    pub(super) weight: f64,
    /// Its demand, bit/s.
    pub(super) demand: f64,
    /// Whether it is limited elsewhere: it has not used its offer for so long.
    pub(super) is_limited: bool,
    /// Whether it is so new that it cannot have followed its rate yet.
    pub(super) is_new: bool,
    /// Where most new ones stop soon, how likely this new one is to stay. Otherwise 0.
    pub(super) stays: f64,
    /// Its smallest rate of late, bit/s.
    pub(super) least_told: f64,
}

/// A new claim that stays may ask for so many times as much in the next period, or for its base rate.
const GROWTH: f64 = 4.0;

impl Claim {
    /// (5), (7) High-demand: asks for γ of its base rate or more; or for γ of its last rates, if they were
    /// lower. A flow that follows a rate that a full queue has lowered does not leave the rest to others. Nor
    /// does a new flow whose rate still grows, where most stay.
    fn is_high(self, base: f64, gamma: f64) -> bool {
        let share = base * self.weight;
        self.is_new && self.demand > 0.0 || self.takes(self.least_told.min(share), gamma)
    }

    /// What a claim that is not high-demand does not leave to others, bit/s: its demand, and what it is expected to ask for
    /// besides before the next period ends.
    fn expected(self, base: f64) -> f64 {
        let most = (base * self.weight).min(GROWTH * self.demand);
        self.demand + self.stays * (most - self.demand).max(0.0)
    }

    fn takes(self, share: f64, gamma: f64) -> bool {
        self.demand > 0.0 && self.demand >= gamma * share
    }
}

/// A claim that does not use its offer for so many periods is limited elsewhere. In that time consumers have
/// received the offer and followed it.
pub(super) const PATIENCE: u32 = 5;

/// How long rates are remembered, periods: at least as long as consumers take to follow.
const WINDOW: u32 = 10;

/// The last rates of a flow or class, and for how long it has not used them.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfferHistory {
    /// Its smallest rate, with the discount for its queue, and its largest one, without: in this window and in
    /// the one before.
    least: [f64; 2],
    most: [f64; 2],
    window: u32,
    /// For how many periods it has used less than γ of it.
    untaken: u32,
    /// For how many periods it has been silent.
    silent: u32,
    /// Whether it has used it once, or had the time to.
    is_known: bool,
}

impl Default for OfferHistory {
    fn default() -> OfferHistory {
        OfferHistory {
            least: [f64::INFINITY; 2],
            most: [0.0; 2],
            window: 0,
            untaken: 0,
            silent: 0,
            is_known: false,
        }
    }
}

impl OfferHistory {
    /// In a period it asked for `demand`, and had `rate`, before the discount. High-demand claims were offered
    /// `offered`. If its rate was lower than theirs, and it used this rate, it is still limited.
    pub(super) fn note(&mut self, demand: f64, rate: f64, offered: f64, discount: f64, gamma: f64) {
        self.silent = 0;
        let told = rate * discount;
        if demand < gamma * told {
            self.untaken = (self.untaken + 1).min(PATIENCE);
        } else if demand >= gamma * offered * discount {
            self.untaken = 0;
        }
        self.is_known |= self.untaken == 0 || self.untaken == PATIENCE;
        if self.window == WINDOW {
            *self = OfferHistory {
                least: [f64::INFINITY, self.least[0]],
                most: [0.0, self.most[0]],
                window: 0,
                ..*self
            };
        }
        self.window += 1;
        self.least[0] = self.least[0].min(told);
        self.most[0] = self.most[0].max(rate);
    }

    /// Ends a period in which it was silent: its flow, or all flows of its class, have stopped. Silence does not show
    /// that it is limited. After a long one it is new when it returns, unless it was limited before.
    pub(super) fn note_silence(&mut self) {
        self.silent = (self.silent + 1).min(PATIENCE);
        if self.silent == PATIENCE {
            self.is_known = self.is_limited();
        }
    }

    /// Whether it is limited elsewhere.
    pub(super) fn is_limited(&self) -> bool {
        self.untaken == PATIENCE
    }

    /// Whether it may not have had the time to follow.
    pub(super) fn is_new(&self) -> bool {
        !self.is_known
    }

    /// Its smallest rate: it cannot be expected to ask for more.
    pub(super) fn least(&self) -> f64 {
        self.least[0].min(self.least[1])
    }

    /// Its largest rate: a flow that still asks for it is not greedy.
    pub(super) fn most(&self) -> f64 {
        self.most[0].max(self.most[1])
    }
}

/// How those that came of late went on: whether they stayed, as a flow does that sends Interests in [`PATIENCE`] periods.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newcomers {
    /// The part that stopped before, with the weight [`NEWCOMER_GAIN`] for the latest one.
    stopped: f64,
}

const NEWCOMER_GAIN: f64 = 0.125;

impl Newcomers {
    pub(super) fn note(&mut self, has_stopped: bool) {
        let part = if has_stopped { 1.0 } else { 0.0 };
        self.stopped += NEWCOMER_GAIN * (part - self.stopped);
    }

    /// Whether one that comes will rather use its rate than stop before.
    pub(super) fn mostly_stay(self) -> bool {
        self.stopped < 0.5
    }

    /// Where most stop soon, how likely one that comes is to stay. Otherwise 0.
    pub(super) fn stays(self) -> f64 {
        if self.mostly_stay() { 0.0 } else { 1.0 - self.stopped }
    }
}

/// How much more than the available rate is offered to high-demand claims.
///
/// A claim that asks for γ of its share or more may want all of it, or it may be limited elsewhere. It counts
/// as high-demand, so no other claim would get the unused part. Its demand does not show which of the two it
/// is. So more is offered, as long as a part is unused and a claim uses the offer. A limited claim does not
/// follow. In the end it asks for less than γ of its rate, and is recognised.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overbooking {
    /// As a part of the available rate.
    extra: f64,
    /// Over the last period: the unused parts of the shares of claims that asked for γ of them or more, bit/s,
    /// less the rates beyond shares; the number of shares; and whether a claim used half of `extra`.
    unused: f64,
    sharers: u32,
    is_taken: bool,
}

/// The part of what is unused by which a period's offer grows. Consumers take some periods to follow, and
/// the rates of slow ones are smoothed over some: with more it would swing.
const OVERBOOKING_GAIN: f64 = 0.1;
/// The part of the available rate that may stay unused: it drains queues, as σ(0) does.
const UNUSED: f64 = 0.001;
/// The largest offer: its part γ is more than the available rate.
const BEYOND: f64 = 1.01;

impl Overbooking {
    /// In a period a claim had this rate and asked for that.
    pub(super) fn note(&mut self, demand: f64, told: f64, is_limited: bool, gamma: f64) {
        self.sharers += 1;
        let share = told / self.offer();
        if !is_limited && demand >= gamma * share {
            self.unused += share - demand;
            self.is_taken |= demand >= share * (1.0 + self.extra / 2.0 - UNUSED);
        }
    }

    /// Ends a period in which the claims shared `rate`. A single claim gets nothing from others.
    pub(super) fn end_period(&mut self, rate: f64, gamma: f64) {
        let Overbooking { extra, unused, sharers, is_taken } = *self;
        let unused = if is_taken { unused } else { unused.min(0.0) };
        let next = extra + OVERBOOKING_GAIN * (unused / rate.max(1.0) - UNUSED);
        let most = (BEYOND / gamma - 1.0).max(0.0);
        let extra = if sharers > 1 { next.clamp(0.0, most) } else { 0.0 };
        *self = Overbooking { extra, ..Overbooking::default() };
    }

    /// The offer, as a multiple of the available rate.
    pub(super) fn offer(&self) -> f64 {
        1.0 + self.extra
    }
}

/// (6), (8): the offer to each unit of weight of `rate`; `base` is an equal part for all.
///
/// Claims that ask for less than γ of their base rate leave a part. The others get it by weight. The authors'
/// code stops here. But some of these are limited elsewhere and do not use it either. So their unused part is
/// divided again, until nothing is left. Limited claims count with their demand. This fixed point is the
/// weighted max-min share.
///
/// A limited claim that asks for γ of this share or more is finally a taker, because its demand varies.
fn offered(rate: f64, base: f64, gamma: f64, claims: impl Iterator<Item = Claim> + Clone) -> f64 {
    let divided = |level: f64, part: f64| {
        let (mut left, mut takers) = (rate, 0.0);
        for claim in claims.clone() {
            let is_taker = match claim.is_limited {
                true => claim.takes(level * claim.weight, part),
                false => claim.is_high(base, gamma),
            };
            if is_taker {
                takers += claim.weight;
            } else {
                left -= claim.expected(base);
            }
        }
        if takers == 0.0 { level } else { left / takers }
    };
    let mut level = base;
    for _ in 0..ROUNDS {
        let next = divided(level, 1.0);
        if next <= level * (1.0 + 1e-9) {
            break;
        }
        level = next;
    }
    divided(level, gamma).max(base)
}

/// (4) to (6): the rates B_c of the delay-tolerant classes, of A = B' − total_rate_DS.
///
/// base_c = A·ω_c/Σω over all classes, active or not (3). High-demand classes get the unused parts of
/// low-demand and idle ones by weight, `offer` times. If there is no high-demand class, low-demand ones get
/// them. Then the rate of a class and the use of the others together fit A.
pub(super) fn class_rates<const N: usize>(
    available: f64,
    gamma: f64,
    offer: f64,
    classes: &[Claim; N],
) -> [f64; N] {
    let total: f64 = classes.iter().map(|c| c.weight).sum();
    let per_weight = if total > 0.0 { available / total } else { 0.0 };
    let base = |c: &Claim| per_weight * c.weight;
    if classes.iter().any(|c| c.is_high(per_weight, gamma)) {
        let level = offer * offered(available, per_weight, gamma, classes.iter().copied());
        let share = |c: &Claim| if c.is_high(per_weight, gamma) { level * c.weight } else { base(c) };
        return core::array::from_fn(|i| share(&classes[i]));
    }
    let is_low = |c: &&Claim| c.demand > CLASS_IDLE * base(c);
    let low: f64 = classes.iter().filter(is_low).map(|c| c.weight).sum();
    let demanded: f64 = classes.iter().map(|c| c.demand).sum();
    let spare = (available - demanded).max(0.0);
    core::array::from_fn(|i| {
        let c = &classes[i];
        let share = base(c) + if is_low(&c) { spare * c.weight / low } else { 0.0 };
        share.min(available - (demanded - c.demand))
    })
}

/// r_f: the rate of Data that a flow asks for, measured from Interest to Interest.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateMeasure {
    /// Smoothed, bit/s; its value at the end of the period before; and as of the last Interest, which tells its usual gap.
    rate: f64,
    rate_before: f64,
    usual: f64,
    /// Whether it was measured since the flow began or returned; and in more than one period.
    is_known: bool,
    is_steady: bool,
    /// Whether it has stopped; and whether an Interest has come since. That counts as the first. It may be alone, as
    /// a probe is. So the flow has returned with the second one.
    has_stopped: bool,
    is_back: bool,
    /// Whether the last period with an Interest ended with a silence shorter than four gaps.
    is_asking: bool,
    /// Bits asked for since `since`, and the time of the Interest before them.
    asked_bits: u64,
    since: Time,
    last: Time,
}

/// The measure of a period with so many Interests is used directly; others are smoothed.
const INTERESTS_TO_KNOW: f64 = 8.0;
/// The smallest gain of the smoothing.
const LEAST_GAIN: f64 = 0.25;

/// After so many of its usual gaps without an Interest a flow has stopped.
const GAPS_TO_STOP: f64 = 4.0;

/// The same for a flow that goes on for more than a period, with gaps about as long as one or longer: they vary more.
const STEADY_GAPS_TO_STOP: f64 = 8.0;

/// A rate falls if it is less than this part of its earlier value.
const FALLING: f64 = 0.98;

impl RateMeasure {
    /// For a flow whose first Interest, for so many bits, came now. Until more Interests come, its demand is
    /// one Data per period.
    pub(super) fn new(now: Time, bits: u64, period: Span) -> RateMeasure {
        let rate = bits as f64 / period.as_secs_f64();
        let (is_known, has_stopped, is_back, is_asking) = (false, false, false, false);
        RateMeasure {
            rate,
            rate_before: rate,
            usual: rate,
            is_steady: false,
            is_known,
            has_stopped,
            is_back,
            is_asking,
            asked_bits: 0,
            since: now,
            last: now,
        }
    }

    /// r_f, bit/s.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Whether it fell in the last period, more than by chance.
    pub(super) fn is_falling(&self) -> bool {
        self.rate < FALLING * self.rate_before
    }

    /// When the latest Interest came.
    pub(super) fn last_interest(&self) -> Time {
        self.last
    }

    /// Whether the flow has stopped: no Interest came for four or eight of its usual gaps, and since then one at most.
    #[inline]
    pub(super) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Whether a second Interest has not come yet.
    pub(super) fn has_one_interest(&self) -> bool {
        !self.is_known && !self.has_stopped && self.asked_bits == 0
    }

    /// The flow's first Interest was alone. If another one comes, that is the second.
    pub(super) fn stop(&mut self) {
        self.rate = 0.0;
        self.has_stopped = true;
        self.is_back = true;
    }

    /// Whether the flow was sending when the last period ended, as far as its gaps tell.
    pub(super) fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// What it has asked for since the last measure, bits. Its first Interest does not count.
    #[inline]
    pub(super) fn asked_bits(&self) -> u64 {
        self.asked_bits
    }

    /// An Interest for so many bits of Data, forwarded or not.
    #[inline]
    pub(super) fn on_interest(&mut self, now: Time, bits: u64) {
        self.last = now;
        if self.has_stopped && !self.is_back {
            self.is_back = true;
            self.since = now;
        } else {
            self.has_stopped = false;
            self.asked_bits += bits;
        }
    }

    /// Ends a period of a flow whose Data have so many bits.
    pub(super) fn end_period(&mut self, now: Time, data_bits: u64, period: Span) {
        let bits = data_bits as f64;
        self.rate_before = self.rate;
        if self.asked_bits == 0 {
            self.fade(bits / now.since(self.last).max(period).as_secs_f64());
            return;
        }
        // Interests that come all at once give no rate: at least a quarter of a period.
        let span = self.last.since(self.since).max(period / 4);
        let mut measured = self.asked_bits as f64 / span.as_secs_f64();
        let interests = self.asked_bits as f64 / bits;
        self.is_asking = now.since(self.last).as_secs_f64() * measured <= GAPS_TO_STOP * bits;
        if !self.is_known && !self.is_asking {
            measured = self.asked_bits as f64 / now.since(self.since).max(period).as_secs_f64();
        }
        let gain = if self.is_known { (interests / INTERESTS_TO_KNOW).clamp(LEAST_GAIN, 1.0) } else { 1.0 };
        self.rate += gain * (measured - self.rate);
        self.usual = self.rate;
        self.is_steady = self.is_known;
        self.is_known = true;
        self.asked_bits = 0;
        self.since = self.last;
    }

    /// In a period without an Interest the rate is not much more than `now`, the rate that an Interest at this
    /// time would give. Gaps vary, but after four usual ones a flow has stopped, after eight a slow one.
    fn fade(&mut self, now: f64) {
        let gaps = if self.is_steady { STEADY_GAPS_TO_STOP } else { GAPS_TO_STOP };
        if !self.is_known {
            self.rate = self.rate.min(now);
        } else if now < self.rate / GAPS_TO_STOP || now < self.usual / gaps {
            self.rate = 0.0;
            (self.is_known, self.is_steady, self.is_asking) = (false, false, false);
            (self.has_stopped, self.is_back) = (true, false);
        } else {
            self.rate = self.rate.min(2.0 * now);
        }
    }
}

/// A flow over the last period, as its class sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowLoad {
    /// w.
    pub(super) weight: f64,
    /// φ: less than 1 while the flow is greedy.
    pub(super) phi: f64,
    /// r_f, bit/s.
    pub(super) demand: f64,
    /// As in a [`Claim`].
    pub(super) is_limited: bool,
    pub(super) is_new: bool,
    pub(super) stays: f64,
    pub(super) least_told: f64,
}

impl FlowLoad {
    fn claim(&self) -> Claim {
        let FlowLoad { weight, demand, is_limited, is_new, stays, least_told, .. } = *self;
        Claim { weight, demand, is_limited, is_new, stays, least_told }
    }
}

/// The shares of a class's flows: computed in a few passes over the flows, and read in another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassShare {
    gamma: f64,
    /// B_c.
    rate: f64,
    /// (7) B_c per unit of w·φ.
    per_weight: f64,
    /// (8) The rate of a unit of w of the high-demand flows, including spare_c.
    offered: f64,
}

impl ClassShare {
    /// (7), (8): sums over the flows of a class with rate B_c = `rate`.
    ///
    /// A greedy flow has its base_f, and no part of the spare rate. The others are offered `offer` times the
    /// available rate.
    pub(super) fn new(
        rate: f64,
        gamma: f64,
        offer: f64,
        flows: impl Iterator<Item = FlowLoad> + Clone,
    ) -> ClassShare {
        let total: f64 = flows.clone().map(|f| f.weight * f.phi).sum();
        if total <= 0.0 {
            return ClassShare::of_nobody(rate, gamma);
        }
        let per_weight = rate / total;
        let is_punished = |f: &FlowLoad| f.phi < 1.0;
        let punished = flows.clone().filter(is_punished);
        let used: f64 = punished.map(|f| f.demand.min(per_weight * f.weight * f.phi)).sum();
        let others = flows.filter(move |f| !is_punished(f)).map(|f| f.claim());
        let offered = offer * offered(rate - used, per_weight, gamma, others);
        ClassShare { gamma, rate, per_weight, offered }
    }

    /// For a rate that no flow shares yet.
    pub(super) fn of_nobody(rate: f64, gamma: f64) -> ClassShare {
        ClassShare { gamma, rate, per_weight: rate, offered: rate }
    }

    /// (9) The suggested target rate R_f, before the discount for a filled queue.
    pub(super) fn rate_of(&self, flow: &FlowLoad) -> f64 {
        if flow.phi < 1.0 || !flow.claim().is_high(self.per_weight, self.gamma) {
            self.per_weight * flow.weight * flow.phi
        } else {
            self.offered_to(flow.weight)
        }
    }

    /// The offer to a flow of this weight that wants as much as possible.
    pub(super) fn offered_to(&self, weight: f64) -> f64 {
        self.offered * weight
    }

    /// The rate that a flow without history gets beside others whose weights are `others` together.
    pub(super) fn rate_of_new(&self, weight: f64, others: f64) -> f64 {
        self.rate * weight / (others + weight)
    }
}

/// σ(0).
pub(super) const UNDISCOUNTED: f64 = 0.999_537_996_820_976_3;

/// The queue-occupancy discount σ(x) = (1/3)(π/2 − atan(8x − 4)) + 0.034 for a virtual queue that is filled to
/// the share x (authors' code; not in the available text). It drains the queues that start-up and bursts leave.
pub(super) fn occupancy_discount(filled: f64) -> f64 {
    (core::f64::consts::FRAC_PI_2 - libm::atan(8.0 * filled - 4.0)) / 3.0 + 0.034
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMMA: f64 = 0.95;

    fn class(weight: f64, demand: f64) -> Claim {
        Claim { weight, demand, is_limited: false, is_new: false, stays: 0.0, least_told: f64::INFINITY }
    }

    fn flow(demand: f64) -> FlowLoad {
        FlowLoad {
            weight: 1.0,
            phi: 1.0,
            demand,
            is_limited: false,
            is_new: false,
            stays: 0.0,
            least_told: f64::INFINITY,
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn the_dumbbell_of_the_paper_gives_4_45_2_97_and_1_48() {
        // Spec, section 9a: ηB = 9.9 Mb/s, 1 Mb/s of EF, AF4 and AF3 idle.
        let available = data_capacity(0.99, 10e6, 0.0) - 1e6;
        let classes =
            [class(5.0, 0.0), class(4.0, 0.0), class(3.0, 4.5e6), class(2.0, 3e6), class(1.0, 1.5e6)];
        let rates = class_rates(available, GAMMA, 1.0, &classes);
        assert!(
            near(rates[2], 4.45e6) && near(rates[3], 8.9e6 / 3.0) && near(rates[4], 8.9e6 / 6.0),
            "{rates:?}"
        );
    }

    #[test]
    fn without_high_demand_low_demand_classes_get_what_is_spare_and_the_others_do_not_use() {
        let rates = class_rates(10e6, GAMMA, 1.0, &[class(1.0, 1e6), class(1.0, 0.5e6)]);
        assert!(near(rates[0], 9.25e6) && near(rates[1], 10e6 - 1e6), "{rates:?}");
    }

    #[test]
    fn no_class_is_promised_more_than_the_others_leave() {
        for low in [0.3e6, 1e6, 3e6] {
            let rates = class_rates(9e6, GAMMA, 1.0, &[class(5.0, low), class(4.0, 0.0), class(1.0, 0.2e6)]);
            assert!(rates[0] <= 9e6 - 0.2e6 + 1.0, "{rates:?}");
        }
    }

    #[test]
    fn rates_of_high_demand_classes_and_their_use_by_others_fill_the_capacity() {
        let classes = [class(3.0, 9e6), class(2.0, 0.5e6), class(1.0, 9e6)];
        let rates = class_rates(9e6, GAMMA, 1.0, &classes);
        assert!(near(rates[0] + 0.5e6 + rates[2], 9e6), "{rates:?}");
        assert!(near(rates[0] - 4.5e6, 3.0 * (rates[2] - 1.5e6)), "spare is divided by weight");
    }

    #[test]
    fn flows_of_high_demand_share_what_the_others_leave() {
        let flows = [flow(3e6), flow(3e6), flow(0.5e6)];
        let share = ClassShare::new(6e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of(&flows[0]), 2.75e6));
        assert!(near(share.rate_of(&flows[2]), 2e6));
    }

    #[test]
    fn what_flows_leave_that_are_limited_elsewhere_is_divided_until_all_is_taken() {
        let limited = |demand| FlowLoad { is_limited: true, ..flow(demand) };
        // The first leaves 2.75 to each other; the second does not take it.
        let flows = [limited(1e6), limited(2.4e6), flow(3e6), flow(3e6), flow(3e6)];
        let share = ClassShare::new(12e6, GAMMA, 1.0, flows.iter().copied());
        let told: Vec<f64> = flows.iter().map(|f| share.rate_of(f)).collect();
        assert!(near(told[4], (12e6 - 3.4e6) / 3.0) && near(told[0], 2.4e6), "{told:?}");
        let flows = [limited(1e6), limited(1.5e6), flow(4e6), flow(4e6)];
        let share = ClassShare::new(12e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of(&flows[2]), 9.5e6 / 2.0));
    }

    #[test]
    fn who_keeps_to_a_lowered_rate_has_not_left_the_rest_to_others() {
        // Told 2 of its 3 while its queue drained, and asks for that.
        let drained = FlowLoad { least_told: 2e6, ..flow(2e6) };
        let share = ClassShare::new(6e6, GAMMA, 1.0, [drained, flow(3e6)].iter().copied());
        assert!(near(share.rate_of(&drained), 3e6) && near(share.rate_of(&flow(3e6)), 3e6));
    }

    #[test]
    fn who_is_new_has_left_nothing_to_others() {
        // All have just come: each is told its share, whatever it asks for by now.
        let new = |weight, demand| Claim { is_new: true, ..class(weight, demand) };
        let rates = class_rates(9e6, GAMMA, 1.0, &[new(3.0, 0.1e6), new(2.0, 2e6), class(4.0, 0.0)]);
        assert!(near(rates[0], 5.4e6) && near(rates[1], 3.6e6), "{rates:?}");
        let flows = [FlowLoad { is_new: true, ..flow(0.1e6) }, flow(9e6)];
        let share = ClassShare::new(6e6, GAMMA, 1.0, flows.iter().copied());
        assert!(flows.iter().all(|flow| near(share.rate_of(flow), 3e6)));
    }

    #[test]
    fn what_is_left_of_shares_is_offered_until_it_is_taken() {
        // Shares of 1 each: one takes what it is told, the others 0.97, whatever they are told.
        let after = |periods: u32, limited: u32| {
            let mut more = Overbooking::default();
            for _ in 0..periods {
                let told = more.offer();
                more.note(told, told, false, GAMMA);
                (0..limited).for_each(|_| more.note(0.97, told, false, GAMMA));
                more.end_period(f64::from(limited + 1), GAMMA);
            }
            more.offer()
        };
        assert!((after(200, 1) - 1.028).abs() < 0.001, "0.03, less 0.001 of 2: {}", after(200, 1));
        assert!(0.97 < GAMMA * after(200, 20), "the limited are known by now: {}", after(200, 20));
        assert!(near(after(200, 0), 1.0), "one alone");
    }

    #[test]
    fn nobody_is_offered_more_who_does_not_take_it_or_while_all_is_taken() {
        let after = |taken: f64| {
            let mut more = Overbooking::default();
            for _ in 0..200 {
                let told = more.offer();
                (0..10).for_each(|_| more.note(taken.min(told), told, false, GAMMA));
                more.end_period(10.0, GAMMA);
            }
            more.offer()
        };
        assert!(near(after(0.96), 1.0) && near(after(UNDISCOUNTED), 1.0));
        assert!(near(after(1.0), 1.0) && near(after(f64::INFINITY), 1.0));
    }

    #[test]
    fn who_is_limited_takes_part_as_long_as_it_asks_for_less_than_the_others_have() {
        // Told 1.2, each of twenty takes 0.99 of a share of 1.
        let limited = FlowLoad { is_limited: true, ..flow(0.99e6) };
        let flows: Vec<FlowLoad> = core::iter::repeat_n(limited, 20).chain([flow(1.2e6)]).collect();
        let share = ClassShare::new(21e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of(&flows[20]), 1.2e6), "{}", share.rate_of(&flows[20]));
    }

    #[test]
    fn who_takes_a_low_rate_that_it_was_told_is_limited_still() {
        let mut told = OfferHistory::default();
        (0..PATIENCE).for_each(|_| told.note(0.945e6, 1e6, 1e6, 1.0, GAMMA));
        told.note(0.955e6, 1e6, 2e6, 1.0, GAMMA);
        assert!(told.is_limited());
        told.note(1.95e6, 2e6, 2e6, 1.0, GAMMA);
        assert!(!told.is_limited());
    }

    #[test]
    fn nobody_is_new_any_more_who_took_what_it_was_told_or_had_the_time_to() {
        let mut told = OfferHistory::default();
        (1..PATIENCE).for_each(|_| told.note(1e6, 3e6, 3e6, 1.0, GAMMA));
        let mut follows = told;
        assert!(told.is_new());
        told.note(1e6, 3e6, 3e6, 1.0, GAMMA);
        follows.note(3e6, 3e6, 3e6, 1.0, GAMMA);
        assert!(!told.is_new() && told.is_limited() && !follows.is_new() && !follows.is_limited());
    }

    #[test]
    fn who_was_silent_for_long_is_new_and_limited_only_if_it_was_before() {
        for (demand, is_limited) in [(3e6, false), (1e6, true)] {
            let mut told = OfferHistory::default();
            (0..PATIENCE).for_each(|_| told.note(demand, 3e6, 3e6, 1.0, GAMMA));
            (1..PATIENCE).for_each(|_| told.note_silence());
            assert!(!told.is_new() && told.is_limited() == is_limited, "after a short silence");
            told.note_silence();
            assert!(told.is_new() != is_limited && told.is_limited() == is_limited, "after a long one");
        }
    }

    #[test]
    fn who_may_stay_does_not_leave_what_it_is_expected_to_ask_for() {
        for (demand, stays, left) in [
            (0.4e6, 0.0, 8.6e6),
            (0.4e6, 0.25, 8.6e6 - 0.25 * 3.0 * 0.4e6),
            (2e6, 0.25, 7e6 - 0.25 * (4.5e6 - 2e6)),
        ] {
            let flows = [FlowLoad { stays, ..flow(demand) }, flow(9e6)];
            let share = ClassShare::new(9e6, GAMMA, 1.0, flows.iter().copied());
            assert!(near(share.rate_of(&flows[0]), 4.5e6), "it may ask for its base rate");
            assert!(near(share.rate_of(&flows[1]), left), "{demand}, {stays}: {}", share.rate_of(&flows[1]));
        }
    }

    #[test]
    fn those_that_come_are_expected_to_do_what_most_of_late_have_done() {
        let mut newcomers = Newcomers::default();
        assert!(newcomers.mostly_stay());
        (0..6).for_each(|_| newcomers.note(true));
        assert!(!newcomers.mostly_stay());
        (0..40).for_each(|n| newcomers.note(n % 4 != 0));
        assert!(!newcomers.mostly_stay(), "three of four stop");
        (0..40).for_each(|n| newcomers.note(n % 4 == 0));
        assert!(newcomers.mostly_stay(), "one of four stops");
    }

    #[test]
    fn what_was_told_is_remembered_for_one_to_two_windows() {
        let mut told = OfferHistory::default();
        told.note(1e6, 5e6, 5e6, 0.2, GAMMA);
        for n in 1..=2 * WINDOW {
            assert!(n > WINDOW || near(told.least(), 1e6) && near(told.most(), 5e6), "{n}");
            told.note(3e6, 3e6, 3e6, 1.0, GAMMA);
        }
        assert!(near(told.least(), 3e6) && near(told.most(), 3e6));
        assert!(!told.is_limited());
        (0..PATIENCE).for_each(|_| told.note(1e6, 3e6, 3e6, 1.0, GAMMA));
        assert!(told.is_limited());
    }

    #[test]
    fn what_is_promised_to_flows_that_may_grow_fits_the_class() {
        // One has fallen back for a moment, another is on its way up.
        let flows = [flow(2.9e6), flow(9e6), flow(3e6)];
        let share = ClassShare::new(9e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(flows.iter().map(|f| share.rate_of(f)).sum::<f64>(), 9e6));
    }

    #[test]
    fn a_punished_flow_gets_half_and_no_spare() {
        let greedy = FlowLoad { phi: 0.5, ..flow(9e6) };
        let flows = [flow(4e6), flow(4e6), greedy];
        let share = ClassShare::new(10e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of(&flows[0]), 4e6) && near(share.rate_of(&flows[2]), 2e6));
    }

    #[test]
    fn a_new_flow_is_told_its_equal_share_at_once() {
        let flows = [flow(3e6), flow(3e6)];
        let share = ClassShare::new(6e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of_new(1.0, 2.0), 2e6));
        // Forty that come at once share it, whether there was a flow before or none.
        let none = ClassShare::new(6e6, GAMMA, 1.0, [].into_iter());
        assert!(near(none.rate_of_new(1.0, 39.0), 6e6 / 40.0));
        assert!(near(share.rate_of_new(1.0, 2.0 + 39.0), 6e6 / 42.0));
    }

    #[test]
    fn silent_flows_leave_their_share_to_the_one_that_asks() {
        let mut flows = vec![flow(0.0); 150];
        flows.push(flow(0.1e6));
        let share = ClassShare::new(9e6, GAMMA, 1.0, flows.iter().copied());
        assert!(near(share.rate_of(&flows[150]), 9e6));
    }

    /// Interests of 8000 bits at these times, ms, and the measure after each period of 100 ms.
    fn measured(sent: &[u64], periods: u64) -> Vec<f64> {
        let (bits, period) = (8000, Span::from_millis(100));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut sent = sent.iter().copied().peekable();
        let first = sent.next().unwrap();
        let mut measure = RateMeasure::new(at(first), bits, period);
        (1..=periods)
            .map(|n| {
                while let Some(ms) = sent.next_if(|ms| *ms < 100 * n) {
                    measure.on_interest(at(ms), bits);
                }
                measure.end_period(at(100 * n), bits, period);
                measure.rate()
            })
            .collect()
    }

    #[test]
    fn a_paced_flow_is_measured_without_steps() {
        for gap in [1, 7, 23, 58, 99, 130, 450, 1900] {
            let sent: Vec<u64> = (0..).map(|n| n * gap).take_while(|ms| *ms < 60_000).collect();
            let rates = measured(&sent, 600);
            let true_rate = 8e6 / gap as f64;
            for rate in &rates[100..] {
                assert!((rate / true_rate - 1.0).abs() < 0.01, "gap {gap} ms: {rate} of {true_rate}");
            }
        }
    }

    #[test]
    fn a_slow_flow_has_stopped_after_eight_of_its_gaps() {
        for gap in [50, 130, 450] {
            let sent: Vec<u64> = (0..20).map(|n| n * gap).collect();
            for (n, rate) in measured(&sent, 200).into_iter().enumerate() {
                let gaps = (100.0 * (n + 1) as f64 - 19.0 * gap as f64) / gap as f64;
                assert!(!(0.0..3.0).contains(&gaps) || rate > 0.0, "{gap} ms: none after {gaps:.1} gaps");
                assert!(
                    gaps < 8.0 + 200.0 / gap as f64 || rate == 0.0,
                    "{gap} ms: {rate} after {gaps:.1} gaps"
                );
            }
        }
    }

    #[test]
    fn a_few_interests_and_then_silence_are_what_was_asked_for_in_the_period() {
        // Eleven at 1 kHz in the middle of a period; the first counts only as the beginning.
        let sent: Vec<u64> = (30..41).collect();
        let rates = measured(&sent, 2);
        assert!(near(rates[0], 10.0 * 8000.0 / 0.1) && rates[1] == 0.0, "{rates:?}");
        // At the end of the period it may go on.
        let sent: Vec<u64> = (50..100).collect();
        assert!(near(measured(&sent, 1)[0], 8e6));
    }

    #[test]
    fn a_flow_that_comes_back_is_measured_from_its_return() {
        let sent: Vec<u64> = (0..100).chain(300..400).map(|n| n * 10).collect();
        let rates = measured(&sent, 40);
        assert!(near(rates[30], 8e5) && near(rates[39], 8e5), "{rates:?}");
    }

    #[test]
    fn a_flow_that_stops_is_seen_to() {
        let sent: Vec<u64> = (0..100).map(|n| n * 10).collect();
        let rates = measured(&sent, 40);
        assert!(near(rates[9], 8e5), "{rates:?}");
        assert!(rates[10] == 0.0 && rates[39] == 0.0, "{rates:?}");
    }

    #[test]
    fn an_empty_queue_is_not_discounted() {
        assert_eq!(UNDISCOUNTED.to_bits(), occupancy_discount(0.0).to_bits());
    }

    #[test]
    fn the_discount_has_the_authors_values() {
        for (filled, value) in [(0.0, 0.9995), (0.25, 0.927), (0.5, 0.558), (0.75, 0.189), (1.0, 0.116)] {
            assert!((occupancy_discount(filled) - value).abs() < 1e-3, "{filled}");
        }
    }
}
