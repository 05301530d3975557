//! The columns of a study's axes: each value as given, and as a number if all values of an axis are quantities of one kind.

use super::rows::Value;
use crate::quantity::Unit;
use crate::schema::{self, Column};
use std::fmt;

/// An axis of a study: a parameter with a value in each run. Its column has the axis's name and the values as given. If all
/// values are quantities of one kind, a second column `NAME.UNIT` has them as numbers:
///
/// | values | unit |
/// |---|---|
/// | rates, such as `5 Mb/s` | `bps`, bit/s |
/// | times, such as `10 ms` | `s` |
/// | sizes, such as `8 KiB` | `B` |
/// | numbers with the same word, such as `200 packets` | the word |
/// | percentages, such as `5 %` | `percent` |
/// | numbers | `value` |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    name: String,
    unit: Option<Unit>,
}

/// Error: two columns of a table would have the same name.
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
    /// The axis with this name, such as `link.R2-R3.rate` or `axis.delay`, and all of its values in the study.
    pub fn new<S: AsRef<str>>(name: impl Into<String>, values: &[S]) -> Axis {
        Axis { name: name.into(), unit: Unit::of(values) }
    }

    /// Its columns: the text and the number.
    pub(super) fn columns(&self) -> (Column, Option<Column>) {
        let number = self.unit.as_ref().map(|unit| schema::axis_number(&self.name, unit.suffix()));
        (schema::axis(&self.name), number)
    }

    /// The values of its columns for a run with this value.
    pub(super) fn values(&self, value: Option<&str>) -> Vec<Value> {
        let text = value.map_or(Value::Null, Value::from);
        let number = self.unit.as_ref().map(|unit| value.and_then(|text| unit.number(text)).into());
        [Some(text), number].into_iter().flatten().collect()
    }
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
