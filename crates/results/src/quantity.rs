//! Values of an axis as numbers: quantities of one kind.

use weir_core::units::{Bytes, Rate, Span};

/// The unit in which the values of an axis are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Numbers without a unit.
    Plain,
    /// Rates, such as `5 Mb/s`, in bit/s.
    BitsPerSecond,
    /// Times, such as `10 ms`, in s.
    Seconds,
    /// Sizes, such as `8 KiB`, in bytes.
    Bytes,
    /// Numbers with the same word behind them, such as `200 packets`.
    Word(String),
}

impl Unit {
    /// The unit that all of these values can be read in; `None` if they are of several kinds, or there is none.
    pub fn of<S: AsRef<str>>(values: &[S]) -> Option<Unit> {
        let mut units = vec![Unit::Plain, Unit::BitsPerSecond, Unit::Seconds, Unit::Bytes];
        units.extend(split(values.first()?.as_ref()).map(|(_, word)| Unit::Word(word.to_owned())));
        let fits = |unit: &Unit| values.iter().all(|value| unit.number(value.as_ref()).is_some());
        units.into_iter().find(fits)
    }

    /// Its name: `bit/s`, `s`, `B`, the word, or `1`.
    pub fn name(&self) -> &str {
        match self {
            Unit::Plain => "1",
            Unit::BitsPerSecond => "bit/s",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Word(word) => word,
        }
    }

    /// What stands for it at the end of a column's name.
    pub fn suffix(&self) -> &str {
        match self {
            Unit::Plain => "value",
            Unit::BitsPerSecond => "bps",
            Unit::Word(word) if word == "%" => "percent",
            other => other.name(),
        }
    }

    /// A value as a number of this unit; `None` if it is no quantity of its kind.
    pub fn number(&self, value: &str) -> Option<f64> {
        let value = value.trim();
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
    let is_of_word = |c: char| c.is_alphabetic() || c == '%';
    let value = value.trim();
    let (number, word) = value.split_at(value.find(is_of_word)?);
    finite(number).filter(|_| word.chars().all(is_of_word)).map(|number| (number, word))
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}
