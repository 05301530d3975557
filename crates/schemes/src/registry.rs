//! The registry of schemes.

use weir_core::seam::params::{Parameter, Params};
use weir_core::seam::{Scheme, SharingPolicy};
use weir_packet::Signal;

use crate::resolve::Resolved;

/// The description of a scheme for users, and its constructor.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name on the command line and in files.
    pub name: &'static str,
    /// The title, in one line.
    pub title: &'static str,
    /// The citation of the paper.
    pub citation: &'static str,
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// The header fields that the scheme reads or writes, besides [`Signal::COMMON`].
    pub signals: &'static [Signal],
    /// Whether its consumers detect losses early (RFC 8985) if a scenario does not set it. This is so for
    /// schemes whose window follows losses. A scheme whose rates come from routers or from delays gains
    /// nothing by it: over several paths, the Data of the slower path are constantly overtaken.
    pub early_loss: bool,
    /// The sharing policy of the scheme in the steady state, if theory can compute it.
    pub sharing: Option<Sharing>,
    /// Builds the scheme with these parameters.
    pub build: fn(&Params) -> Box<dyn Scheme>,
}

/// How a scheme shares links in the steady state.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Whether it divides links by classes, by weights or in an order.
    pub by_class: bool,
    /// The parameters that determine the policy. A key that ends in `.*` covers all keys with that beginning.
    pub parameters: &'static [&'static str],
    /// Computes the policy of the scheme with its parameters.
    pub policy: fn(&Resolved) -> SharingPolicy,
}

impl Sharing {
    /// Returns whether the policy depends on this parameter.
    pub fn reads(&self, key: &str) -> bool {
        self.parameters.iter().any(|parameter| match parameter.strip_suffix('*') {
            Some(family) => key.starts_with(family),
            None => *parameter == key,
        })
    }
}

impl Entry {
    /// Returns whether the scheme divides links by classes: by weights or in an order.
    pub fn knows_classes(&self) -> bool {
        self.sharing.is_some_and(|sharing| sharing.by_class)
    }

    /// Builds the scheme with its defaults.
    pub fn with_defaults(&self) -> Box<dyn Scheme> {
        let defaults =
            Params::resolve(self.parameters, []).expect("declared defaults are of their own kinds");
        (self.build)(&defaults)
    }

    /// Builds the scheme with its defaults for applications.
    pub fn for_application(&'static self) -> Box<dyn Scheme> {
        self.resolve_for_application([]).expect("declared values are of their own kinds").build()
    }
}

/// The default scheme of a node: drop-tail queues and best route.
pub const PLAIN: &str = crate::fixed::ENTRY.name;

/// The default scheme for fetching content: it fills fast and slow paths without tuning (`docs/reference/fetching.md` has the
/// measurements).
pub const FETCHING: &str = crate::window::bbr::ENTRY.name;

/// The scheme that a new scenario names by default: Weir's own.
pub const OWN: &str = crate::sluice::ENTRY.name;

/// All schemes.
pub const SCHEMES: &[Entry] = &[
    crate::qsccp::ENTRY,
    crate::mircc::ENTRY,
    crate::omcc_rf::ENTRY,
    crate::pcon::ENTRY,
    crate::hbhcm::ENTRY,
    crate::dpccp::ENTRY,
    crate::e2e_aqm::ENTRY,
    crate::ndn_qsf::ENTRY,
    crate::sluice::ENTRY,
    crate::tcp_newreno::ENTRY,
    crate::window::reno::ENTRY,
    crate::window::bic::ENTRY,
    crate::window::cubic::ENTRY,
    crate::window::bbr::ENTRY,
    crate::fixed::ENTRY,
];

/// Returns the scheme with this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

/// Returns the scheme whose policy is the reference for all schemes of a scenario, and the policy. It is
/// `own`, the scenario's scheme, if that has a policy; otherwise the first scheme of the registry that has
/// one.
pub fn reference_policy(own: &str) -> Option<(&'static Entry, Sharing)> {
    let of = |entry: &'static Entry| entry.sharing.map(|sharing| (entry, sharing));
    find(own).and_then(of).or_else(|| SCHEMES.iter().find_map(of))
}

/// The key of the parameter for the part of a link's rate that a scheme aims for, above 0 to 1.
const TARGET_UTILISATION: &str = "target_utilisation";

impl Resolved {
    /// Returns the part of a link's rate that the scheme aims for, above 0 to 1; `None` if it has no such
    /// parameter.
    pub fn target_utilisation(&self) -> Option<f64> {
        let has_target = self.entry.parameters.iter().any(|parameter| parameter.key == TARGET_UTILISATION);
        has_target.then(|| self.params.value(TARGET_UTILISATION).number())
    }
}

/// Returns every header field, in the order of type numbers, with the schemes that use it. The list of
/// schemes is empty for the common fields.
pub fn signals() -> Vec<(Signal, Vec<&'static str>)> {
    let mut all: Vec<_> = Signal::COMMON.iter().map(|signal| (*signal, Vec::new())).collect();
    for entry in SCHEMES {
        for signal in entry.signals {
            match all.iter_mut().find(|(known, _)| known == signal) {
                Some((_, users)) => users.push(entry.name),
                None => all.push((*signal, vec![entry.name])),
            }
        }
    }
    all.sort_by_key(|(signal, _)| signal.type_number());
    all
}

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::seam::params::{ParameterKind, Value};
    use weir_packet::Signals;
    use weir_packet::signal::CAPACITY;

    #[test]
    fn every_header_field_has_a_number_and_a_name_of_its_own() {
        // `Signal::new` checks that numbers are in range.
        let all = signals();
        for (at, (signal, users)) in all.iter().enumerate() {
            let others = all.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, (other, _))| other);
            for other in others {
                assert_ne!(signal.type_number(), other.type_number(), "{} {}", signal.name, other.name);
                assert_ne!(signal.name, other.name);
            }
            assert!(!signal.meaning.is_empty());
            assert!(!users.is_empty() || Signal::COMMON.contains(signal), "{}", signal.name);
        }
        for entry in SCHEMES {
            assert!(entry.signals.iter().all(|signal| !Signal::COMMON.contains(signal)), "{}", entry.name);
        }
    }

    /// This guarantees room for the signals that the queues and the strategy of a node write.
    #[test]
    fn the_common_header_fields_and_those_of_any_two_schemes_fit_into_a_packet() {
        for one in SCHEMES {
            for other in SCHEMES {
                let mut signals = Signals::NONE;
                let both = || Signal::COMMON.iter().chain(one.signals).chain(other.signals);
                both().for_each(|signal| signals.set(signal, u64::MAX));
                let fit = both().all(|signal| signals.value(signal) == Some(u64::MAX));
                assert!(fit, "{} and {}: more than {CAPACITY}", one.name, other.name);
            }
        }
    }

    #[test]
    fn a_policy_depends_on_parameters_that_its_scheme_has() {
        for entry in SCHEMES {
            for parameter in entry.sharing.iter().flat_map(|sharing| sharing.parameters) {
                let family = parameter.trim_end_matches('*');
                assert!(entry.parameters.iter().any(|p| p.key.starts_with(family)), "{parameter}");
            }
        }
    }

    #[test]
    fn every_scheme_is_built_with_its_defaults_and_says_where_they_come_from() {
        for entry in SCHEMES {
            let params = Params::resolve(entry.parameters, []).unwrap();
            let _ = (entry.build)(&params);
            let _ = entry.for_application();
            for parameter in entry.parameters {
                let known = ["paper", "files", "fitted", "assumed"]
                    .iter()
                    .any(|kind| parameter.from.starts_with(kind));
                assert!(known, "{}.{}: {}", entry.name, parameter.key, parameter.from);
                assert!(!parameter.meaning.is_empty());
                let ParameterKind::Variant(variants) = parameter.kind else { continue };
                for variant in variants {
                    let name = Value::Text(variant.name.to_owned());
                    let params = Params::resolve(entry.parameters, [(parameter.key, &name)]).unwrap();
                    let _ = (entry.build)(&params);
                    let is_declared = |key| entry.parameters.iter().any(|p| p.key == key);
                    assert!(variant.defaults.iter().all(|(key, _)| is_declared(*key)), "{}", variant.name);
                }
            }
        }
    }
}
