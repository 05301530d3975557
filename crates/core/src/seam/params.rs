//! Parameters of schemes. Each is declared once, in [`parameters!`](crate::parameters). Values are checked
//! against the declaration, and the reference is generated from it.

#[doc(hidden)]
pub mod declare;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::BTreeMap;

use weir_packet::Name;

use crate::units::{Bytes, Rate, Span};

pub use declare::Setting;

/// A parameter's value in a file or on a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// Text: a quantity with its unit, or a word.
    Text(String),
}

impl Value {
    /// Parses the text of a command line: `true`, `false`, a number, else text.
    pub fn parse(text: &str) -> Value {
        from_text(text)
    }
}

/// Conversions of a checked value to its declared type. Each panics if the value has another type, which is a
/// mistake in the scheme's code.
impl Value {
    /// The value as a number, whole or not.
    pub fn number(&self) -> f64 {
        match self {
            Value::Float(value) => *value,
            Value::Int(value) => *value as f64,
            other => panic!("a parameter is declared as {other:?}, not as a number"),
        }
    }

    /// The value as a whole number that is not negative.
    pub fn integer(&self) -> u64 {
        self.number() as u64
    }

    /// The value as a time, from text such as "100 ms".
    pub fn span(&self) -> Span {
        self.text().parse().expect("checked when resolved")
    }

    /// The value as a rate, from text such as "10 Mb/s".
    pub fn rate(&self) -> Rate {
        self.text().parse().expect("checked when resolved")
    }

    /// The value as a size, from text such as "1024 B".
    pub fn bytes(&self) -> Bytes {
        self.text().parse().expect("checked when resolved")
    }

    /// The value as a switch.
    pub fn switch(&self) -> bool {
        match self {
            Value::Bool(value) => *value,
            other => panic!("a parameter is declared as {other:?}, not as a switch"),
        }
    }

    /// The value as one of several words.
    pub fn choice(&self) -> &str {
        self.text()
    }

    /// The value as the name of a variant.
    pub fn variant(&self) -> &str {
        self.text()
    }

    /// A word or an unparsed quantity.
    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            other => panic!("a parameter is declared as {other:?}, not as a text"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(value) => f.write_str(value),
        }
    }
}

/// The type and bounds of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterKind {
    /// A number between two bounds, both included.
    Number(f64, f64),
    /// A whole number between two bounds, both included.
    Integer(i64, i64),
    /// A rate such as `"10 Mb/s"` between two bounds, both included.
    Rate(Rate, Rate),
    /// A time such as `"100 ms"` between two bounds, both included.
    Span(Span, Span),
    /// A size such as `"1024 B"`.
    Bytes,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of one of these variants: the scheme as in its article, or as in some published code.
    Variant(&'static [Variant]),
}

/// A scheme as in its article or in some published code: other defaults for some parameters. Values that are
/// given override them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// The name in files and in `--set`.
    pub name: &'static str,
    /// Parameters whose defaults differ, with these defaults.
    pub defaults: &'static [(&'static str, &'static str)],
}

/// One parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key under `[scheme.<name>]`, dotted: `weights.AF2`. A key that ends in `.*` declares a family: one
    /// parameter for each name prefix that is given in place of the `*`.
    pub key: &'static str,
    /// The type and bounds.
    pub kind: ParameterKind,
    /// Default, written as in a file.
    pub default: &'static str,
    /// Default for applications, if it differs: most defaults are for simulations with Data of one packet.
    pub of_applications: Option<&'static str>,
    /// Key of a parameter that this one must not be below. Both are numbers.
    pub at_least: Option<&'static str>,
    /// The meaning, with the paper's symbol.
    pub meaning: &'static str,
    /// The source of the default: `paper …`, `files …`, `fitted: what to` (chosen with stated figures in sight) or `assumed: why`.
    pub from: &'static str,
}

/// An invalid parameter, with the valid alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The key as given.
    pub key: String,
    /// The error and the valid alternatives.
    pub message: String,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for ParameterError {}

/// A scheme's parameters: every declared one, with its given value or its default.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: BTreeMap<&'static str, Value>,
    /// Members of families: family, prefix, value.
    members: Vec<(&'static str, Name, Value)>,
}

impl Params {
    /// Checks `given` against the declarations and fills in the defaults.
    ///
    /// # Errors
    /// Returns an error if a key is not declared or a value does not fit its parameter's kind.
    pub fn resolve<'a>(
        declared: &'static [Parameter],
        given: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<Params, ParameterError> {
        let given: Vec<_> = given.into_iter().collect();
        let mut params = Params::default();
        let variant = variant(declared, &given);
        for parameter in declared {
            let default = variant.iter().find(|(key, _)| *key == parameter.key);
            let default = from_text(default.map_or(parameter.default, |(_, default)| default));
            let checked = check(parameter, &default).expect("a declared default is of its own kind");
            params.values.insert(parameter.key, checked);
        }
        for (key, value) in given {
            let wrong = |message| ParameterError { key: key.to_owned(), message };
            if let Some((family, prefix)) = member(declared, key) {
                let prefix = prefix.parse().map_err(|_| wrong(no_prefix(prefix)))?;
                params.members.push((family.key, prefix, check(family, value).map_err(wrong)?));
                continue;
            }
            let parameter = declared.iter().find(|p| p.key == key).ok_or_else(|| unknown(declared, key))?;
            params.values.insert(parameter.key, check(parameter, value).map_err(wrong)?);
        }
        Ok(params)
    }

    /// The members of a family that were given, each with its prefix.
    pub fn members(&self, family: &str) -> impl Iterator<Item = (&Name, &Value)> {
        self.members.iter().filter(move |(of, ..)| *of == family).map(|(_, prefix, value)| (prefix, value))
    }

    /// The value of a parameter. Panics if the scheme has not declared the key, which is a mistake in its
    /// code: [`parameters!`](crate::parameters) reads only what it declares.
    pub fn value(&self, key: &str) -> &Value {
        self.values.get(key).unwrap_or_else(|| panic!("parameter {key} is not declared by its scheme"))
    }

    /// Every parameter with its value, in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(key, value)| (*key, value))
    }
}

/// The defaults of the given variant, or of the default one.
fn variant(declared: &[Parameter], given: &[(&str, &Value)]) -> &'static [(&'static str, &'static str)] {
    let of = |p: &Parameter| match p.kind {
        ParameterKind::Variant(variants) => Some((p.key, p.default, variants)),
        _ => None,
    };
    let Some((key, default, variants)) = declared.iter().find_map(of) else { return &[] };
    let name = match given.iter().find(|(given, _)| *given == key) {
        Some((_, Value::Text(name))) => name.as_str(),
        _ => default,
    };
    variants.iter().find(|variant| variant.name == name).map_or(&[], |variant| variant.defaults)
}

/// The family that a key belongs to, and the prefix in it.
fn member<'a>(declared: &'static [Parameter], key: &'a str) -> Option<(&'static Parameter, &'a str)> {
    declared.iter().find_map(|p| Some((p, key.strip_prefix(p.key.strip_suffix('*')?)?)))
}

/// The error about a text that is not a name prefix. It suggests a similar prefix.
fn no_prefix(text: &str) -> String {
    let meant = format!("/{}", text.trim_matches('"').trim_start_matches('/'));
    match meant.parse::<Name>() {
        Ok(name) if !name.is_empty() => format!("`{text}` is not a name prefix; did you mean `{meant}`?"),
        _ => format!("`{text}` is not a name prefix, such as `/video`"),
    }
}

fn from_text(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(number)) => Value::Float(number),
            _ => Value::Text(text.to_owned()),
        },
    }
}

fn check(parameter: &Parameter, value: &Value) -> Result<Value, String> {
    let number = match value {
        Value::Int(whole) => Some(*whole as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let text = if let Value::Text(text) = value { Some(text.as_str()) } else { None };
    let wanted = |what: &str| Err(format!("`{value}` is not {what}"));
    match parameter.kind {
        ParameterKind::Number(low, high) => match number {
            Some(number) if (low..=high).contains(&number) => Ok(Value::Float(number)),
            _ => wanted(&format!("a number from {low} to {high}")),
        },
        ParameterKind::Integer(low, high) => match value {
            Value::Int(whole) if (low..=high).contains(whole) => Ok(value.clone()),
            _ => wanted(&format!("a whole number from {low} to {high}")),
        },
        ParameterKind::Switch => match value {
            Value::Bool(_) => Ok(value.clone()),
            _ => wanted("true or false"),
        },
        ParameterKind::Choice(words) => match text {
            Some(text) if words.contains(&text) => Ok(value.clone()),
            _ => wanted(&format!("one of {}", words.join(", "))),
        },
        ParameterKind::Variant(variants) => match text {
            Some(text) if variants.iter().any(|variant| variant.name == text) => Ok(value.clone()),
            _ => {
                let names: Vec<_> = variants.iter().map(|variant| variant.name).collect();
                wanted(&format!("one of {}", names.join(", ")))
            }
        },
        ParameterKind::Rate(low, high) => match text.map(str::parse::<Rate>) {
            Some(Ok(rate)) if (low..=high).contains(&rate) => Ok(value.clone()),
            Some(Ok(_)) => wanted(&format!("a rate from {low} to {high}")),
            Some(Err(error)) => Err(error.to_string()),
            None => wanted("a rate with its unit, such as \"10 Mb/s\""),
        },
        ParameterKind::Span(low, high) => match text.map(str::parse::<Span>) {
            Some(Ok(span)) if (low..=high).contains(&span) => Ok(value.clone()),
            Some(Ok(_)) => wanted(&format!("a time from {low} to {high}")),
            Some(Err(error)) => Err(error.to_string()),
            None => wanted("a time with its unit, such as \"100 ms\""),
        },
        ParameterKind::Bytes => match text {
            Some(text) => text.parse::<Bytes>().map(|_| value.clone()).map_err(|e| e.to_string()),
            None => wanted("a size with its unit, such as \"1024 B\""),
        },
    }
}

fn unknown(declared: &[Parameter], key: &str) -> ParameterError {
    let keys: Vec<_> = declared.iter().map(|p| p.key).collect();
    let message = if keys.is_empty() {
        "unknown parameter; this scheme has none".to_owned()
    } else {
        format!("unknown parameter; this scheme has: {}", keys.join(", "))
    };
    ParameterError { key: key.to_owned(), message }
}
