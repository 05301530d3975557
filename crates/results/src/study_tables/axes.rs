//! The columns of a study's axes: each value as it was given and, if all of an axis are quantities of one kind, as a
//! number.

use super::rows::Value;
use crate::schema::{self, Column};
use std::fmt;
use weir_core::units::{Bytes, Rate, Span};

/// An axis of a study: a parameter with a value in each run. Its column has its name, with the values as they were
/// given. If all of them are quantities of one kind, a second column `NAME.UNIT` has them as numbers:
///
/// | values | unit |
/// |---|---|
/// | rates, such as `5 Mb/s` | `bps`, bit/s |
/// | times, such as `10 ms` | `s` |
/// | sizes, such as `8 KiB` | `B` |
/// | numbers with the same word, such as `200 packets` | the word |
/// | numbers | `value` |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    name: String,
    unit: Option<Unit>,
}

/// The unit of an axis with numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Unit {
    Plain,
    BitsPerSecond,
    Seconds,
    Bytes,
    Word(String),
}

/// Two columns of a table would have the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTaken {
    /// The name.
    pub column: String,
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = &self.column;
        write!(f, "two columns of the results would have the name `{column}`: give the axis another name")
    }
}

impl std::error::Error for NameTaken {}

impl Axis {
    /// The axis with that name, such as `link.R2-R3.rate` or `axis.delay`, and all values that it has in the study.
    pub fn new<S: AsRef<str>>(name: impl Into<String>, values: &[S]) -> Axis {
        let fits = |unit: &Unit| values.iter().all(|value| unit.number(value.as_ref()).is_some());
        let unit = values.first().and_then(|value| Unit::candidates(value.as_ref()).into_iter().find(fits));
        Axis { name: name.into(), unit }
    }

    /// Its columns: of the text and of the number.
    pub(super) fn columns(&self) -> (Column, Option<Column>) {
        let number = self.unit.as_ref().map(|unit| schema::axis_number(&self.name, unit.name()));
        (schema::axis(&self.name), number)
    }

    /// What its columns have for a run with this value.
    pub(super) fn values(&self, value: Option<&str>) -> Vec<Value> {
        let text = value.map_or(Value::Null, Value::from);
        let number = self.unit.as_ref().map(|unit| value.and_then(|text| unit.number(text)).into());
        [Some(text), number].into_iter().flatten().collect()
    }
}

impl Unit {
    /// The units that a value may be read in.
    fn candidates(value: &str) -> Vec<Unit> {
        let mut units = vec![Unit::Plain, Unit::BitsPerSecond, Unit::Seconds, Unit::Bytes];
        units.extend(split(value).map(|(_, word)| Unit::Word(word.to_owned())));
        units
    }

    /// Its name at the end of a column's.
    fn name(&self) -> &str {
        match self {
            Unit::Plain => "value",
            Unit::BitsPerSecond => "bps",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Word(word) => word,
        }
    }

    /// A value as a number of this unit; `None` if it is no quantity of its kind.
    fn number(&self, value: &str) -> Option<f64> {
        match self {
            Unit::Plain => finite(value),
            Unit::BitsPerSecond => value.parse().ok().map(Rate::as_bps_f64),
            Unit::Seconds => value.parse().ok().map(Span::as_secs_f64),
            Unit::Bytes => value.parse::<Bytes>().ok().map(|bytes| bytes.as_u64() as f64),
            Unit::Word(wanted) => split(value).filter(|(_, word)| word == wanted).map(|(number, _)| number),
        }
    }
}

/// A number and the word behind it.
fn split(value: &str) -> Option<(f64, &str)> {
    let at = value.find(|c: char| c.is_alphabetic())?;
    let (number, word) = value.split_at(at);
    let is_word = word.trim_end().chars().all(char::is_alphabetic);
    finite(number).filter(|_| is_word).map(|number| (number, word.trim_end()))
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(values: &[&str], at: usize) -> Option<(String, Value)> {
        let axis = Axis::new("x", values);
        let column = axis.columns().1?;
        Some((column.name.into_owned(), axis.values(Some(values[at])).pop()?))
    }

    #[test]
    fn quantities_have_a_column_of_numbers_in_base_units() {
        let column = |name: &str, value: f64| Some((name.to_owned(), Value::F64(value)));
        assert_eq!(number(&["5 Mb/s", "1.5 Gb/s"], 1), column("x.bps", 1.5e9));
        assert_eq!(number(&["10 ms", "1 s"], 0), column("x.s", 0.01));
        assert_eq!(number(&["8 KiB", "100 B"], 0), column("x.B", 8192.0));
        assert_eq!(number(&["200 packets", "50 packets"], 1), column("x.packets", 50.0));
        assert_eq!(number(&["0.2", "1e-3", "3"], 1), column("x.value", 0.001));
    }

    #[test]
    fn values_of_several_kinds_are_texts_only() {
        for values in [
            &["10 ms", "5 Mb/s"][..],
            &["true", "false"],
            &["10 ms", "3"],
            &["5 packets", "5 flows"],
            &["1", "nan"],
            &["inf"],
            &["poisson 20/s"],
            &[],
        ] {
            assert_eq!(Axis::new("x", values).columns().1, None, "{values:?}");
        }
    }

    #[test]
    fn a_run_without_a_value_has_none() {
        let axis = Axis::new("x", &["1 s"]);
        assert_eq!(axis.values(None), [Value::Null, Value::Null]);
        assert_eq!(axis.values(Some("none")), [Value::from("none"), Value::Null]);
    }
}
