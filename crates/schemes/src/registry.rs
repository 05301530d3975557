//! The list of all schemes.

use weir_core::seam::Scheme;
use weir_core::seam::params::{Parameter, Params};
use weir_packet::Signal;

/// A scheme as users see it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Where it comes from.
    pub citation: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The header fields that it reads or writes, besides [`Signal::COMMON`].
    pub signals: &'static [Signal],
    /// Makes it with these parameters.
    pub build: fn(&Params) -> Box<dyn Scheme>,
}

impl Entry {
    /// The scheme with its defaults.
    pub fn with_defaults(&self) -> Box<dyn Scheme> {
        let defaults =
            Params::resolve(self.parameters, []).expect("declared defaults are of their own kinds");
        (self.build)(&defaults)
    }
}

/// Every scheme.
pub const SCHEMES: &[Entry] = &[
    crate::qsccp::ENTRY,
    crate::mircc::ENTRY,
    crate::omcc_rf::ENTRY,
    crate::pcon::ENTRY,
    crate::window::reno::ENTRY,
    crate::window::bic::ENTRY,
    crate::window::cubic::ENTRY,
    crate::window::bbr::ENTRY,
    crate::fixed::ENTRY,
];

/// The scheme of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    SCHEMES.iter().find(|entry| entry.name == name)
}

/// Every header field, in the order of type numbers, with the schemes that use it; the common ones come with none.
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

    /// Type numbers that are kept free for schemes that are not implemented: `docs/reference/signals.md`.
    const RESERVED: [u32; 4] = [920, 924, 928, 944];

    #[test]
    fn every_header_field_has_a_number_and_a_name_of_its_own() {
        // That numbers are in range, `Signal::new` says.
        let all = signals();
        for (at, (signal, users)) in all.iter().enumerate() {
            let others = all.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, (other, _))| other);
            for other in others {
                assert_ne!(signal.type_number(), other.type_number(), "{} {}", signal.name, other.name);
                assert_ne!(signal.name, other.name);
            }
            assert!(!RESERVED.contains(&signal.type_number()), "{}", signal.name);
            assert!(!signal.meaning.is_empty());
            assert!(!users.is_empty() || Signal::COMMON.contains(signal), "{}", signal.name);
        }
        for entry in SCHEMES {
            assert!(entry.signals.iter().all(|signal| !Signal::COMMON.contains(signal)), "{}", entry.name);
        }
    }

    #[test]
    fn every_scheme_is_built_with_its_defaults_and_says_where_they_come_from() {
        for entry in SCHEMES {
            let params = Params::resolve(entry.parameters, []).unwrap();
            let _ = (entry.build)(&params);
            for parameter in entry.parameters {
                let known = ["paper", "files", "assumed"].iter().any(|kind| parameter.from.starts_with(kind));
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
