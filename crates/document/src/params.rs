//! Parameters of a scheme, as written in a document.

use crate::document::Document;
use crate::error::{DocumentError, Location};
use crate::tree::{Kind, Table};

type Result<T> = core::result::Result<T, DocumentError>;

/// A scheme's parameter as given; the scheme checks it.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its key, dotted: `weights.AF2`.
    pub key: String,
    /// The given value, not yet checked against the scheme's own table of parameters.
    pub value: ParamValue,
    /// The position of the value, for errors that the scheme finds.
    pub location: Location,
    /// The paper, table or reason that the file gives for the value.
    pub source: Option<String>,
}

/// The value of a [`Param`].
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A text: a quantity with its unit, or a word.
    Text(String),
}

impl core::fmt::Display for ParamValue {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ParamValue::Bool(b) => write!(f, "{b}"),
            ParamValue::Int(n) => write!(f, "{n}"),
            ParamValue::Float(x) => write!(f, "{x}"),
            ParamValue::Text(s) => f.write_str(s),
        }
    }
}

impl From<&ParamValue> for weir_core::seam::params::Value {
    fn from(value: &ParamValue) -> Self {
        match value {
            ParamValue::Bool(b) => Self::Bool(*b),
            ParamValue::Int(n) => Self::Int(*n),
            ParamValue::Float(x) => Self::Float(*x),
            ParamValue::Text(text) => Self::Text(text.clone()),
        }
    }
}

/// Reads the parameters of a scheme from its table at `path`. Those in nested tables get dotted keys. The key
/// `source` is not a parameter.
///
/// # Errors
/// Returns an error if a value is a list, a date or a number that is not finite.
pub fn params(doc: &Document, path: &str, table: &Table) -> Result<Vec<Param>> {
    let mut list = Vec::new();
    add_params(doc, &mut list, path, "", table)?;
    Ok(list)
}

fn add_params(doc: &Document, list: &mut Vec<Param>, path: &str, prefix: &str, table: &Table) -> Result<()> {
    for entry in &table.0 {
        if &*entry.key == "source" {
            continue;
        }
        let key = if prefix.is_empty() { entry.key.to_string() } else { format!("{prefix}.{}", entry.key) };
        let value = match &entry.value.kind {
            Kind::Table(inner) => {
                add_params(doc, list, path, &key, inner)?;
                continue;
            }
            Kind::Bool(b) => ParamValue::Bool(*b),
            Kind::Int(n) => ParamValue::Int(*n),
            Kind::Float(x) if x.is_finite() => ParamValue::Float(*x),
            Kind::Text(text) => ParamValue::Text(text.to_string()),
            Kind::Float(_) | Kind::Other(_) | Kind::List(_) => {
                let message = format!("{} is not a parameter", entry.value.kind_name());
                let help = "a parameter is true or false, a number, or a text";
                return Err(doc.error(entry.value.origin, format!("{path}.{key}"), message, help));
            }
        };
        let location = doc.location(entry.value.origin);
        let source = entry.value.source.as_deref().map(str::to_owned);
        list.push(Param { key, value, location, source });
    }
    Ok(())
}
