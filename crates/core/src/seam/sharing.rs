//! The steady-state shares that a scheme aims at, as values; theory compares them with the measured shares.

use weir_packet::ServiceClass;

/// Number of classes.
const CLASSES: usize = ServiceClass::ALL.len();
/// Number of delay-sensitive classes, which come first.
const DELAY_SENSITIVE: usize = ServiceClass::DELAY_SENSITIVE;

/// How links are shared in the steady state. Delay-sensitive classes come first, in their order, each up to a
/// limit. The other classes share the rest by weights. Capacity that a class does not use goes to the classes
/// that want more. The flows of a class share in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct SharingPolicy {
    /// Largest share of a link for each of CS7, CS6, EF; above 0, at most 1.
    pub class_parts: [f64; DELAY_SENSITIVE],
    /// Weights of AF4, AF3, AF2, AF1, BE; above 0.
    pub class_weights: [f64; CLASSES - DELAY_SENSITIVE],
    /// Weights of the flows below a prefix, above 0. The longest prefix that covers a flow counts; without
    /// one the weight is 1.
    pub flow_weights: Vec<(String, f64)>,
    /// Largest rate on a link of each flow below a prefix, bit/s. The longest prefix that covers a flow
    /// counts; without one there is no limit.
    pub flow_limits: Vec<(String, f64)>,
}

/// All classes are equal, without limits.
impl Default for SharingPolicy {
    fn default() -> SharingPolicy {
        SharingPolicy {
            class_parts: [1.0; DELAY_SENSITIVE],
            class_weights: [1.0; CLASSES - DELAY_SENSITIVE],
            flow_weights: Vec::new(),
            flow_limits: Vec::new(),
        }
    }
}

impl SharingPolicy {
    /// The weight of the flows of a prefix.
    pub fn flow_weight(&self, prefix: &str) -> f64 {
        of_longest(&self.flow_weights, prefix).unwrap_or(1.0)
    }

    /// Largest rate on a link of each flow of a prefix, bit/s.
    pub fn flow_limit(&self, prefix: &str) -> f64 {
        of_longest(&self.flow_limits, prefix).unwrap_or(f64::INFINITY)
    }

    /// The weight of a class among the delay-tolerant ones; 1 for the others.
    pub fn weight(&self, class: ServiceClass) -> f64 {
        (class as usize).checked_sub(DELAY_SENSITIVE).map_or(1.0, |c| self.class_weights[c])
    }
}

/// The value of the longest prefix that covers a name.
fn of_longest(values: &[(String, f64)], name: &str) -> Option<f64> {
    let covers = |(prefix, _): &&(String, f64)| {
        let rest = name.strip_prefix(prefix.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    values.iter().filter(covers).max_by_key(|(prefix, _)| prefix.len()).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_the_longest_prefix_counts() {
        let flow_weights = vec![("/a".to_owned(), 2.0), ("/a/b".to_owned(), 3.0)];
        let policy = SharingPolicy { flow_weights, ..SharingPolicy::default() };
        let of = |prefix| policy.flow_weight(prefix);
        assert_eq!([of("/a/b/c"), of("/a/c"), of("/a"), of("/ab")], [3.0, 2.0, 2.0, 1.0]);
    }
}
