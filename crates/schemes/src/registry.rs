//! The list of all schemes.

use weir_core::seam::Scheme;
use weir_core::seam::params::{Parameter, Params};

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

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::seam::params::{ParameterKind, Value};

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
