//! How one link is divided among those that want it: classes by priority and weight, flows of a
//! class equally. This is the policy of QSCCP's scheduler (section IV-C) in its steady state.
//!
//! ```text
//!   K, what Interests leave ──┬─ CS7  ≤ δ·K   ┐
//!                             ├─ CS6  ≤ δ·K   ├ strict priority, in this order
//!                             ├─ EF   ≤ δ·K   ┘
//!                             └─ the rest: AF4 … BE by ω, what a class leaves to the others by ω
//!   in each class: equal parts, what a flow leaves to the others
//! ```

use weir_packet::ServiceClass;
use weir_scenario::{Param, ParamValue, Scenario, ScenarioError};

/// How many classes there are.
pub(crate) const CLASSES: usize = ServiceClass::ALL.len();
/// How many of them, the first ones, are delay-sensitive.
pub(crate) const DELAY_SENSITIVE: usize = 3;

/// The scheme whose parameters in a scenario say what the policy is.
const SCHEME: &str = "qsccp";

/// Weights and limits of the classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// δ of CS7, CS6, EF: the largest part of a link that the class gets, 0 to 1.
    pub delta: [f64; DELAY_SENSITIVE],
    /// ω of AF4, AF3, AF2, AF1, BE.
    pub omega: [f64; CLASSES - DELAY_SENSITIVE],
}

impl Default for Policy {
    /// Those of QSCCP (paper: section V-B, 3:2:1; files: queues.cpp, the others and δ).
    fn default() -> Policy {
        Policy { delta: [0.2, 0.2, 0.3], omega: [5.0, 4.0, 3.0, 2.0, 1.0] }
    }
}

impl Policy {
    /// What the scenario's parameters `scheme.qsccp.weights` and `.delta` say, whichever scheme runs:
    /// schemes are compared by the same measure.
    ///
    /// # Errors
    /// A weight or limit that is none.
    pub fn of(scenario: &Scenario) -> Result<Policy, ScenarioError> {
        let mut policy = Policy::default();
        for class in ServiceClass::ALL {
            let (key, most) = match class.is_delay_sensitive() {
                true => (format!("delta.{class}"), 1.0),
                false => (format!("weights.{class}"), f64::MAX),
            };
            if let Some(value) = positive(scenario, &key, most)? {
                match class as usize {
                    c @ 0..DELAY_SENSITIVE => policy.delta[c] = value,
                    c => policy.omega[c - DELAY_SENSITIVE] = value,
                }
            }
        }
        Ok(policy)
    }

    /// The weight of a class among the delay-tolerant ones; 1 for the others.
    pub(crate) fn weight(&self, class: ServiceClass) -> f64 {
        (class as usize).checked_sub(DELAY_SENSITIVE).map_or(1.0, |c| self.omega[c])
    }

    /// What each class could have of `capacity` if it wanted all it can get, while the others want
    /// `demand`.
    fn classes(&self, capacity: f64, demand: &[f64; CLASSES]) -> [f64; CLASSES] {
        let mut left = capacity;
        let mut share = [0.0; CLASSES];
        for c in 0..DELAY_SENSITIVE {
            share[c] = (self.delta[c] * capacity).min(left);
            left -= demand[c].min(share[c]);
        }
        let demand = &demand[DELAY_SENSITIVE..];
        for c in 0..self.omega.len() {
            share[DELAY_SENSITIVE + c] = self.delay_tolerant(left, demand, c);
        }
        share
    }

    /// What delay-tolerant class `c` could have of `capacity`: its part by weight of what classes that
    /// want less than theirs leave.
    fn delay_tolerant(&self, capacity: f64, demand: &[f64], c: usize) -> f64 {
        let mut sated = [false; CLASSES - DELAY_SENSITIVE];
        loop {
            let weight: f64 = (0..sated.len()).filter(|&i| !sated[i]).map(|i| self.omega[i]).sum();
            let left: f64 = capacity - (0..sated.len()).filter(|&i| sated[i]).map(|i| demand[i]).sum::<f64>();
            let per_weight = left.max(0.0) / weight;
            let next =
                (0..sated.len()).find(|&i| i != c && !sated[i] && demand[i] < self.omega[i] * per_weight);
            match next {
                Some(i) => sated[i] = true,
                None => return self.omega[c] * per_weight,
            }
        }
    }
}

/// A positive parameter of the scheme, if the scenario gives it.
pub(crate) fn positive(scenario: &Scenario, key: &str, most: f64) -> Result<Option<f64>, ScenarioError> {
    let Some(param) = scenario.scheme_params(SCHEME).iter().find(|param| param.key == key) else {
        return Ok(None);
    };
    let value = number(param).filter(|value| *value > 0.0 && *value <= most);
    let wrong = || {
        let bound = if most < f64::MAX { format!(", {most} at most") } else { String::new() };
        scenario.param_error(SCHEME, param, &format!("`{}` is not a number above 0{bound}", param.value), "")
    };
    value.map(Some).ok_or_else(wrong)
}

fn number(param: &Param) -> Option<f64> {
    match param.value {
        ParamValue::Int(value) => Some(value as f64),
        ParamValue::Float(value) => Some(value),
        _ => None,
    }
}

/// Those that want a link: the class of each and how much it wants, and, once divided, what it could
/// have. Kept from one division to the next, for its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// By class: what each wants, with its place in the order in which they were added.
    wanted: [Vec<(f64, u32)>; CLASSES],
    count: u32,
    /// Sums of the smallest demands of a class.
    sums: Vec<f64>,
    shares: Vec<f64>,
}

impl Division {
    pub(crate) fn clear(&mut self) {
        self.wanted.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    pub(crate) fn add(&mut self, class: ServiceClass, demand: f64) {
        self.wanted[class as usize].push((demand, self.count));
        self.count += 1;
    }

    /// What each of them could have of `capacity` if it wanted all it can get, while the others want what
    /// they want; in the order in which they were added.
    pub(crate) fn shares(&mut self, policy: &Policy, capacity: f64) -> &[f64] {
        let demand = core::array::from_fn(|c| self.wanted[c].iter().map(|w| w.0).sum());
        let classes = policy.classes(capacity, &demand);
        self.shares.clear();
        self.shares.resize(self.count as usize, 0.0);
        for (wanted, share) in self.wanted.iter_mut().zip(classes) {
            wanted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            equal_parts(wanted, share, &mut self.sums, &mut self.shares);
        }
        &self.shares
    }
}

/// Each one's part of `capacity` if it alone wanted all it can get: what the others leave, or an equal
/// part with those of them that want more than that. `wanted` is sorted.
fn equal_parts(wanted: &[(f64, u32)], capacity: f64, sums: &mut Vec<f64>, shares: &mut [f64]) {
    let n = wanted.len();
    sums.clear();
    sums.push(0.0);
    for (i, w) in wanted.iter().enumerate() {
        sums.push(sums[i] + w.0);
    }
    for (at, &(own, place)) in wanted.iter().enumerate() {
        // Of the others, the `sated` that want least get what they want; the rest have equal parts.
        let taken = |sated: usize| if sated <= at { sums[sated] } else { sums[sated + 1] - own };
        let part = |sated: usize| (capacity - taken(sated)) / (n - sated) as f64;
        let other = |i: usize| wanted[if i < at { i } else { i + 1 }].0;
        let (mut low, mut high) = (0, n - 1);
        while low < high {
            let middle = (low + high) / 2;
            if other(middle) < part(middle) { low = middle + 1 } else { high = middle }
        }
        shares[place as usize] = part(low).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServiceClass::{Af1, Af2, Af4, Be, Cs6, Cs7, Ef};
    use proptest::prelude::*;

    fn shares(capacity: f64, wanted: &[(ServiceClass, f64)]) -> Vec<f64> {
        let mut division = Division::default();
        for &(class, demand) in wanted {
            division.add(class, demand);
        }
        division.shares(&Policy::default(), capacity).to_vec()
    }

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
    }

    #[test]
    fn the_dumbbell_of_qsccp_is_shared_3_2_1_beside_its_ef() {
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
        // Of the 9 that AF2 leaves 5/6; of the 11 that AF4 leaves 3/4; what both leave.
        assert!(near(&own, &[7.5, 8.25, 8.0]), "{own:?}");
    }

    #[test]
    fn what_a_flow_leaves_goes_to_those_of_its_class_that_want_more() {
        let own = shares(9.0, &[(Be, 1.0), (Be, 20.0), (Be, 20.0)]);
        assert!(near(&own, &[3.0, 4.0, 4.0]), "{own:?}");
    }

    /// Water poured in small steps, to those that still want some.
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
            // Whoever wants more than it can have takes what it can have; then all fit.
            let own = shares(capacity, &wanted);
            let cut: Vec<_> = wanted.iter().zip(&own).map(|(w, s)| (w.0, w.1.min(*s))).collect();
            let total: f64 = cut.iter().map(|c| c.1).sum();
            prop_assert!(total <= capacity + 1e-9, "{total} of {capacity}");
        }
    }
}
