//! The division of one link among its flows: classes by priority and weight, flows of a class by weights.
//!
//! ```text
//!   K, what Interests leave ──┬─ CS7  ≤ δ·K   ┐
//!                             ├─ CS6  ≤ δ·K   ├ strict priority, in this order
//!                             ├─ EF   ≤ δ·K   ┘
//!                             └─ the rest: AF4 … BE by ω, what a class leaves to the others by ω
//!   in each class: parts by w, equal ones unless the operator says otherwise; what a flow leaves to the others
//! ```

use weir_core::seam::SharingPolicy;
use weir_packet::ServiceClass;

/// The number of classes.
pub(crate) const CLASSES: usize = ServiceClass::ALL.len();
/// The number of delay-sensitive classes, which come first.
pub(crate) const DELAY_SENSITIVE: usize = ServiceClass::DELAY_SENSITIVE;

/// Returns the fault of a policy that has no optimum.
pub(crate) fn fault(policy: &SharingPolicy) -> Option<String> {
    let is_weight = |value: f64| value > 0.0 && value.is_finite();
    let delta = policy.class_parts.iter().copied().find(|delta| !(*delta > 0.0 && *delta <= 1.0));
    let flows = policy.flow_weights.iter().map(|(_, weight)| *weight);
    let weight = policy.class_weights.iter().copied().chain(flows).find(|weight| !is_weight(*weight));
    let limit =
        policy.flow_limits.iter().map(|(_, limit)| *limit).find(|limit| limit.is_nan() || *limit <= 0.0);
    let delta =
        delta.map(|delta| format!("the part {delta} of a class is not a number above 0 and at most 1"));
    let weight = weight.map(|weight| format!("the weight {weight} is not a number above 0"));
    delta.or(weight).or(limit.map(|limit| format!("the limit {limit} bit/s is not above 0")))
}

/// Returns what each class could have of `capacity` with unlimited demand, while the others have `demand`.
fn classes(policy: &SharingPolicy, capacity: f64, demand: &[f64; CLASSES]) -> [f64; CLASSES] {
    let mut left = capacity;
    let mut share = [0.0; CLASSES];
    for c in 0..DELAY_SENSITIVE {
        share[c] = (policy.class_parts[c] * capacity).min(left);
        left -= demand[c].min(share[c]);
    }
    let demand = &demand[DELAY_SENSITIVE..];
    for c in 0..policy.class_weights.len() {
        share[DELAY_SENSITIVE + c] = delay_tolerant(policy, left, demand, c);
    }
    share
}

/// Returns what delay-tolerant class `c` could have of `capacity`: its part by weight in what classes with
/// smaller wants leave.
fn delay_tolerant(policy: &SharingPolicy, capacity: f64, demand: &[f64], c: usize) -> f64 {
    let mut sated = [false; CLASSES - DELAY_SENSITIVE];
    loop {
        let weight: f64 = (0..sated.len()).filter(|&i| !sated[i]).map(|i| policy.class_weights[i]).sum();
        let left: f64 = capacity - (0..sated.len()).filter(|&i| sated[i]).map(|i| demand[i]).sum::<f64>();
        let per_weight = left.max(0.0) / weight;
        let next = (0..sated.len())
            .find(|&i| i != c && !sated[i] && demand[i] < policy.class_weights[i] * per_weight);
        match next {
            Some(i) => sated[i] = true,
            None => return policy.class_weights[c] * per_weight,
        }
    }
}

/// A claim to a part of a link.
#[derive(Clone, Copy, Debug)]
struct Claim {
    weight: f64,
    demand: f64,
    /// The demand divided by the weight.
    level: f64,
    /// Its index in the order of addition.
    place: usize,
}

/// The claims to a link, and, after the division, what each could have. It is reused to keep its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    claims: [Vec<Claim>; CLASSES],
    count: usize,
    /// The sums of demands and weights of the claims of a class with the smallest levels.
    sums: Vec<(f64, f64)>,
    shares: Vec<f64>,
}

impl Division {
    pub(crate) fn clear(&mut self) {
        self.claims.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    pub(crate) fn add(&mut self, class: ServiceClass, weight: f64, demand: f64) {
        let claim = Claim { weight, demand, level: demand / weight, place: self.count };
        self.claims[class as usize].push(claim);
        self.count += 1;
    }

    /// Divides `capacity`, and returns what each claim could have with unlimited demand, while the others
    /// keep their demands; in the order of addition.
    pub(crate) fn shares(&mut self, policy: &SharingPolicy, capacity: f64) -> &[f64] {
        self.divide(policy, capacity);
        &self.shares
    }

    /// Returns the share of the claim with this index, by the last division.
    pub(crate) fn share(&self, place: usize) -> f64 {
        self.shares[place]
    }

    /// Divides `capacity` for [`Division::share`].
    pub(crate) fn divide(&mut self, policy: &SharingPolicy, capacity: f64) {
        let demand = core::array::from_fn(|c| self.claims[c].iter().map(|claim| claim.demand).sum());
        let classes = classes(policy, capacity, &demand);
        self.shares.clear();
        self.shares.resize(self.count, 0.0);
        for (claims, share) in self.claims.iter_mut().zip(classes) {
            claims.sort_unstable_by(|a, b| a.level.total_cmp(&b.level).then(a.place.cmp(&b.place)));
            parts(claims, share, &mut self.sums, &mut self.shares);
        }
    }
}

/// Computes each claim's part of `capacity` if it alone had unlimited demand: its part by weight in what the
/// claims with smaller wants leave. `claims` is sorted.
fn parts(claims: &[Claim], capacity: f64, sums: &mut Vec<(f64, f64)>, shares: &mut [f64]) {
    let n = claims.len();
    sums.clear();
    sums.push((0.0, 0.0));
    for (i, claim) in claims.iter().enumerate() {
        sums.push((sums[i].0 + claim.demand, sums[i].1 + claim.weight));
    }
    for (at, own) in claims.iter().enumerate() {
        // Of the others, the `sated` claims with the smallest levels get what they want.
        let level = |sated: usize| {
            let (demand, weight) = match sated {
                _ if sated <= at => sums[sated],
                _ => (sums[sated + 1].0 - own.demand, sums[sated + 1].1 - own.weight),
            };
            (capacity - demand) / (sums[n].1 - weight)
        };
        let other = |i: usize| claims[if i < at { i } else { i + 1 }].level;
        let (mut low, mut high) = (0, n - 1);
        while low < high {
            let middle = (low + high) / 2;
            if other(middle) < level(middle) { low = middle + 1 } else { high = middle }
        }
        shares[own.place] = (own.weight * level(low)).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServiceClass::{Af1, Af2, Af4, Be, Cs6, Cs7, Ef};
    use proptest::prelude::*;

    fn policy() -> SharingPolicy {
        SharingPolicy {
            class_parts: [0.2, 0.2, 0.3],
            class_weights: [5.0, 4.0, 3.0, 2.0, 1.0],
            ..SharingPolicy::default()
        }
    }

    fn shares(capacity: f64, wanted: &[(ServiceClass, f64)]) -> Vec<f64> {
        let mut division = Division::default();
        for &(class, demand) in wanted {
            division.add(class, 1.0, demand);
        }
        division.shares(&policy(), capacity).to_vec()
    }

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
    }

    #[test]
    fn a_dumbbell_is_shared_3_2_1_beside_its_ef() {
        let all = 1e9;
        let own = shares(9.9, &[(Ef, 1.0), (Af2, all), (Af1, all), (Be, all)]);
        assert!(near(&own, &[0.3 * 9.9, 4.45, 8.9 / 3.0, 8.9 / 6.0]), "{own:?}");
    }

    #[test]
    fn delay_sensitive_classes_come_first_up_to_their_limits() {
        let own = shares(10.0, &[(Cs7, 9.0), (Cs6, 9.0), (Ef, 9.0), (Be, 9.0)]);
        assert!(near(&own, &[2.0, 2.0, 3.0, 3.0]), "{own:?}");
    }

    #[test]
    fn what_a_class_leaves_goes_to_the_others_by_weight() {
        let own = shares(12.0, &[(Af4, 1.0), (Af2, 3.0), (Be, 20.0)]);
        // 5/6 of the 9 that AF2 leaves; 3/4 of the 11 that AF4 leaves; and what both leave.
        assert!(near(&own, &[7.5, 8.25, 8.0]), "{own:?}");
    }

    #[test]
    fn what_a_flow_leaves_goes_to_those_of_its_class_that_want_more() {
        let own = shares(9.0, &[(Be, 1.0), (Be, 20.0), (Be, 20.0)]);
        assert!(near(&own, &[3.0, 4.0, 4.0]), "{own:?}");
    }

    #[test]
    fn flows_of_a_class_share_by_their_weights() {
        let mut division = Division::default();
        for (weight, demand) in [(1.0, 20.0), (2.0, 20.0), (3.0, 1.5)] {
            division.add(Be, weight, demand);
        }
        // The last one leaves 1.5 of its 3. With unlimited demand it would have all 3.
        let own = division.shares(&policy(), 6.0).to_vec();
        assert!(near(&own, &[1.5, 3.0, 3.0]), "{own:?}");
    }

    /// Water poured in small steps, to the claims that still want some.
    fn poured(capacity: f64, demand: &[f64]) -> Vec<f64> {
        let mut got = vec![0.0; demand.len()];
        let mut left = capacity;
        for _ in 0..=demand.len() {
            let thirsty: Vec<usize> = (0..got.len()).filter(|&i| got[i] < demand[i]).collect();
            if thirsty.is_empty() || left <= 0.0 {
                break;
            }
            let least = thirsty.iter().map(|&i| demand[i] - got[i]).fold(f64::INFINITY, f64::min);
            let step = least.min(left / thirsty.len() as f64);
            for &i in &thirsty {
                got[i] += step;
                left -= step;
                if demand[i] - got[i] < 1e-12 {
                    got[i] = demand[i];
                }
            }
        }
        got
    }

    proptest! {
        #[test]
        fn a_part_is_what_pouring_gives_one_that_wants_all(
            capacity in 0.0f64..20.0,
            demand in prop::collection::vec(0.0f64..10.0, 1..9),
        ) {
            let wanted: Vec<_> = demand.iter().map(|&d| (Be, d)).collect();
            let own = shares(capacity, &wanted);
            for k in 0..demand.len() {
                let mut one_wants_all = demand.clone();
                one_wants_all[k] = 1e9;
                let got = poured(capacity, &one_wants_all)[k];
                prop_assert!((own[k] - got).abs() < 1e-6, "{k}: {} and {got}", own[k]);
            }
        }

        #[test]
        fn what_is_wanted_and_granted_never_exceeds_the_link(
            capacity in 0.0f64..20.0,
            wanted in prop::collection::vec((0usize..CLASSES, 0.0f64..10.0), 1..12),
        ) {
            let wanted: Vec<_> = wanted.into_iter().map(|(c, d)| (ServiceClass::ALL[c], d)).collect();
            // Claims that want more than they can have take what they can have. Then all fit.
            let own = shares(capacity, &wanted);
            let cut: Vec<_> = wanted.iter().zip(&own).map(|(w, s)| (w.0, w.1.min(*s))).collect();
            let total: f64 = cut.iter().map(|c| c.1).sum();
            prop_assert!(total <= capacity + 1e-9, "{total} of {capacity}");
        }
    }
}
