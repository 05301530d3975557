//! Finds a scheme by its name and checks its parameters, for files, command lines and recordings. The errors contain no
//! file name; the reader of a file adds the position.

use core::fmt;
use std::sync::Arc;

use weir_core::seam::Scheme;
use weir_core::seam::params::{Parameter, ParameterError, Params, Value};
use weir_core::words::{did_you_mean, nearest};

use crate::registry::{Entry, SCHEMES, find};

/// A scheme with values for all its parameters.
#[derive(Clone)]
pub struct Resolved {
    /// The entry in the registry of schemes.
    pub entry: &'static Entry,
    /// The given parameters, in the given order.
    pub given: Vec<(String, Value)>,
    /// All parameters: the given values, and the defaults of the others.
    pub params: Params,
    /// A constructor that replaces the one of the entry.
    own: Option<Build>,
}

/// Builds a scheme with these parameters.
type Build = Arc<dyn Fn(&Params) -> Box<dyn Scheme> + Send + Sync>;

impl Resolved {
    /// Builds the scheme.
    pub fn build(&self) -> Box<dyn Scheme> {
        self.own.as_ref().map_or_else(|| (self.entry.build)(&self.params), |build| build(&self.params))
    }

    /// Returns whether the program that uses this crate builds the scheme, and not its entry.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Returns the same scheme, built by `build` in place of its entry.
    pub(crate) fn built_by(
        self,
        build: impl Fn(&Params) -> Box<dyn Scheme> + Send + Sync + 'static,
    ) -> Resolved {
        Resolved { own: Some(Arc::new(build)), ..self }
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolved").field("name", &self.entry.name).field("given", &self.given).finish()
    }
}

impl PartialEq for Resolved {
    fn eq(&self, other: &Resolved) -> bool {
        (self.entry.name, &self.given) == (other.entry.name, &other.given)
    }
}

/// An error in the choice of a scheme or of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// The name of the scheme is unknown.
    Unknown(UnknownScheme),
    /// The scheme does not have the parameter, or the value is invalid.
    Parameter(WrongParameter),
}

/// The name of the scheme is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScheme(pub String);

/// The scheme does not have the parameter, or the value is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongParameter {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Key of the parameter, as given.
    pub key: String,
    /// The error, without the key.
    pub message: String,
    /// The parameter that was probably meant, if the scheme has no parameter with this key.
    pub meant: Option<&'static str>,
}

impl UnknownScheme {
    /// Returns where the names of all schemes are.
    pub fn help(&self) -> String {
        "`weir list` prints the schemes".to_owned()
    }
}

impl WrongParameter {
    /// Returns a question with the parameter that was probably meant; empty if there is none.
    pub fn help(&self) -> String {
        self.meant.map_or(String::new(), |meant| format!("did you mean `{meant}`?"))
    }
}

impl fmt::Display for UnknownScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no scheme `{}`{}", self.0, did_you_mean(&self.0, names()))
    }
}

impl fmt::Display for WrongParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scheme.{}.{}: {}", self.scheme, self.key, self.message)
    }
}

impl fmt::Display for SchemeError {
    /// Writes the error, and the help on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (error, help): (&dyn fmt::Display, _) = match self {
            SchemeError::Unknown(unknown) => (unknown, unknown.help()),
            SchemeError::Parameter(wrong) => (wrong, wrong.help()),
        };
        error.fmt(f)?;
        if help.is_empty() { Ok(()) } else { write!(f, "\n  = {help}") }
    }
}

impl std::error::Error for UnknownScheme {}
impl std::error::Error for WrongParameter {}
impl std::error::Error for SchemeError {}

impl From<UnknownScheme> for SchemeError {
    fn from(unknown: UnknownScheme) -> SchemeError {
        SchemeError::Unknown(unknown)
    }
}

impl From<WrongParameter> for SchemeError {
    fn from(wrong: WrongParameter) -> SchemeError {
        SchemeError::Parameter(wrong)
    }
}

/// Returns the scheme with this name and these parameters.
///
/// # Errors
/// Returns a [`SchemeError`] if the scheme or a parameter is unknown, or a value is invalid.
pub fn resolve(
    name: &str,
    given: impl IntoIterator<Item = (String, Value)>,
) -> Result<Resolved, SchemeError> {
    Ok(known(name)?.resolve(given)?)
}

/// Returns the registry's entry of a scheme.
///
/// # Errors
/// Returns [`UnknownScheme`] if there is no scheme with this name.
pub fn known(name: &str) -> Result<&'static Entry, UnknownScheme> {
    find(name).ok_or_else(|| UnknownScheme(name.to_owned()))
}

impl Entry {
    /// Returns the scheme with these parameters.
    ///
    /// # Errors
    /// Returns [`WrongParameter`] if a parameter is unknown, or a value is invalid.
    pub fn resolve(
        &'static self,
        given: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Resolved, WrongParameter> {
        let given: Vec<_> = given.into_iter().collect();
        let values = given.iter().map(|(key, value)| (key.as_str(), value));
        let params = Params::resolve(self.parameters, values)
            .and_then(|params| self.check_order(&given, &params).map(|()| params));
        match params {
            Ok(params) => Ok(Resolved { entry: self, given, params, own: None }),
            Err(ParameterError { key, message }) => {
                let meant = self.meant_by(&key);
                Err(WrongParameter { scheme: self.name, key, message, meant })
            }
        }
    }

    /// Returns the scheme with these parameters for an application. Parameters that are not given have their
    /// defaults for applications ([`Parameter::of_applications`]). A variant that follows another program
    /// does not get these.
    ///
    /// # Errors
    /// Returns [`WrongParameter`] if a parameter is unknown, or a value is invalid.
    pub fn resolve_for_application(
        &'static self,
        given: impl IntoIterator<Item = (String, Value)>,
    ) -> Result<Resolved, WrongParameter> {
        let mut given: Vec<_> = given.into_iter().collect();
        let is_default = |(key, value): &(String, Value)| {
            self.parameters.iter().any(|p| p.key == key && Value::parse(p.default) == *value)
        };
        if given.iter().any(|each| each.0 == "variant" && !is_default(each)) {
            return self.resolve(given);
        }
        for Parameter { key, of_applications, .. } in self.parameters {
            let Some(value) = of_applications else { continue };
            if given.iter().all(|(known, _)| known != key) {
                given.push(((*key).to_owned(), Value::parse(value)));
            }
        }
        self.resolve(given)
    }

    /// Returns the pairs of parameters of which the first must not exceed the second.
    fn ordered(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.parameters.iter().filter_map(|parameter| Some((parameter.at_least?, parameter.key)))
    }

    /// Checks the order of such pairs. The error is at the parameter that was given last.
    fn check_order(&self, given: &[(String, Value)], params: &Params) -> Result<(), ParameterError> {
        for (low, high) in self.ordered() {
            let (least, most) = (params.value(low).number(), params.value(high).number());
            let last = given.iter().rev().find(|(key, _)| key == low || key == high);
            let Some((key, _)) = last.filter(|_| least > most) else { continue };
            let message = match key == low {
                true => format!(
                    "`{least}` is larger than {high}, which is {most}: give {most} or less, or raise {high}"
                ),
                false => format!(
                    "`{most}` is smaller than {low}, which is {least}: give {least} or more, or lower {low}"
                ),
            };
            return Err(ParameterError { key: key.clone(), message });
        }
        Ok(())
    }

    /// Returns the parameter that was probably meant by an unknown key. It is the only one with the same last
    /// part, such as `delta.EF` for `weights.EF`, or else the most similar one.
    fn meant_by(&self, key: &str) -> Option<&'static str> {
        let keys = || self.parameters.iter().map(|declared| declared.key);
        let is_known = |known: &str| {
            known == key || known.strip_suffix('*').is_some_and(|family| key.starts_with(family))
        };
        if keys().any(is_known) {
            return None;
        }
        let last = |key: &'static str, of: &str| key.rsplit_once('.').is_some_and(|(_, last)| last == of);
        let mut alike =
            key.rsplit_once('.').into_iter().flat_map(|(_, of)| keys().filter(move |key| last(key, of)));
        match (alike.next(), alike.next()) {
            (Some(one), None) => Some(one),
            _ => nearest(key, keys()),
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().map(|scheme| scheme.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(name: &str, key: &str, value: &str) -> String {
        resolve(name, [(key.to_owned(), Value::parse(value))]).unwrap_err().to_string()
    }

    #[test]
    fn a_scheme_has_what_was_given_and_its_defaults() {
        let resolved = resolve("bbr", [("initial_window".to_owned(), Value::Int(20))]).unwrap();
        assert_eq!(resolved.entry.name, "bbr");
        assert_eq!(resolved.params.value("initial_window").number(), 20.0);
        assert_eq!(resolved.params.iter().count(), resolved.entry.parameters.len());
    }

    #[test]
    fn applications_have_their_own_defaults_and_what_is_given_goes_before_them() {
        let unit = |given: Vec<(String, Value)>| {
            let resolved = known("cubic").unwrap().resolve_for_application(given).unwrap();
            resolved.params.value("unit").text().to_owned()
        };
        assert_eq!(unit(Vec::new()), "1448 B");
        assert_eq!(unit(vec![("unit".to_owned(), Value::parse("0 B"))]), "0 B");
        assert_eq!(unit(vec![("variant".to_owned(), Value::parse("article"))]), "1448 B");
        assert_eq!(unit(vec![("variant".to_owned(), Value::parse("pcon-client"))]), "0 B", "as that program");
        assert!(known("fixed").unwrap().resolve_for_application([]).is_ok(), "it has no unit");
    }

    #[test]
    fn an_unknown_scheme_is_told_with_the_one_that_was_meant() {
        let said = wrong("qscp", "eta", "1");
        let wanted = "there is no scheme `qscp`; did you mean `qsccp`?\n  = `weir list` prints the schemes";
        assert_eq!(said, wanted);
    }

    #[test]
    fn thresholds_in_the_wrong_order_are_refused_with_the_right_one() {
        let said = wrong("ndn-qsf", "queue_low", "30");
        let wanted = "scheme.ndn-qsf.queue_low: `30` is larger than queue_high, which is 20: give 20 or less, or raise queue_high";
        assert_eq!(said, wanted);
        let said = wrong("ndn-qsf", "queue_high", "10");
        let wanted = "scheme.ndn-qsf.queue_high: `10` is smaller than queue_low, which is 15: give 15 or more, or lower queue_low";
        assert_eq!(said, wanted);
        let both = |low, high| {
            [("queue_low", low), ("queue_high", high)].map(|(k, v)| (k.to_owned(), Value::Int(v)))
        };
        assert!(resolve("ndn-qsf", both(30, 30)).is_ok());
        assert!(resolve("ndn-qsf", both(30, 29)).is_err());
    }

    #[test]
    fn interests_may_not_fill_less_of_a_link_than_is_offered() {
        let said = wrong("sluice", "drain", "0.9");
        let wanted = "scheme.sluice.drain: `0.9` is smaller than target_utilisation, which is 0.995: give 0.995 or more, or lower target_utilisation";
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_class_in_the_wrong_table_is_told_with_the_right_one() {
        for (scheme, key, meant) in [
            ("sluice", "weights.EF", "delta.EF"),
            ("sluice", "delta.AF2", "weights.AF2"),
            ("sluice", "wieghts.AF2", "weights.AF2"),
        ] {
            let said = wrong(scheme, key, "3");
            assert!(said.ends_with(&format!("\n  = did you mean `{meant}`?")), "{said}");
        }
    }

    #[test]
    fn a_prefix_of_a_family_is_told_as_it_should_be() {
        for scheme in ["sluice", "qsccp"] {
            for given in ["video", "\"/video\""] {
                let said = wrong(scheme, &format!("flow_weights.{given}"), "2");
                let wanted = format!(
                    "scheme.{scheme}.flow_weights.{given}: `{given}` is not a name prefix; did you mean `/video`?"
                );
                assert_eq!(said, wanted);
            }
        }
    }

    #[test]
    fn defaults_have_the_order_that_is_asked_of_parameters() {
        for scheme in SCHEMES {
            let params = Params::resolve(scheme.parameters, []).unwrap();
            for (low, high) in scheme.ordered() {
                let (least, most) = (params.value(low).number(), params.value(high).number());
                assert!(least <= most, "{}: {low}, {high}", scheme.name);
            }
        }
    }

    #[test]
    fn a_wrong_parameter_is_told_with_the_one_that_was_meant() {
        let said = wrong("bbr", "intial_window", "20");
        let wanted = "scheme.bbr.intial_window: unknown parameter; this scheme has: ";
        assert!(said.starts_with(wanted) && said.ends_with("\n  = did you mean `initial_window`?"), "{said}");
        let said = wrong("bbr", "initial_window", "true");
        assert!(
            said.starts_with("scheme.bbr.initial_window: `true` is not ") && !said.contains('\n'),
            "{said}"
        );
    }
}
