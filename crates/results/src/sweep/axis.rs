//! The axes of a sweep: their values as numbers.

use super::SweepAxis;
use weir_core::units::{Bytes, Rate, Span};

impl SweepAxis {
    /// An axis with these values. It has a unit if all of them are rates, times, sizes, or numbers with the same word
    /// behind them, or none.
    pub fn new(name: impl Into<String>, values: Vec<String>) -> SweepAxis {
        let (unit, positions) = positions(&values).unzip();
        SweepAxis { name: name.into(), values, unit, positions: positions.unwrap_or_default() }
    }
}

/// The values as numbers, and their unit.
fn positions(values: &[String]) -> Option<(String, Vec<f64>)> {
    let all = |number: &dyn Fn(&str) -> Option<f64>| {
        values.iter().map(|value| number(value.trim())).collect::<Option<Vec<f64>>>()
    };
    let quantity = |unit: &str, number: &dyn Fn(&str) -> Option<f64>| Some((unit.to_owned(), all(number)?));
    let (_, word) = number_and_word(values.first()?)?;
    quantity("bit/s", &|text| Some(text.parse::<Rate>().ok()?.as_bps_f64()))
        .or_else(|| quantity("s", &|text| Some(text.parse::<Span>().ok()?.as_secs_f64())))
        .or_else(|| quantity("B", &|text| Some(text.parse::<Bytes>().ok()?.as_u64() as f64)))
        .or_else(|| {
            let unit = if word.is_empty() { "1" } else { word };
            quantity(unit, &|text| number_and_word(text).filter(|(_, own)| *own == word).map(|(n, _)| n))
        })
}

/// `200 packets` as 200 and `packets`.
fn number_and_word(text: &str) -> Option<(f64, &str)> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let text = text.trim();
    // All of it, so that an exponent is no word.
    let whole = text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| (number, ""));
    whole.or_else(|| {
        let (number, word) = text.split_at(text.find(|c| !is_of_number(c))?);
        Some((number.parse().ok()?, word.trim_start()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[&str]) -> SweepAxis {
        SweepAxis::new("one", values.iter().map(|value| (*value).to_owned()).collect())
    }

    #[track_caller]
    fn is(values: &[&str], unit: &str, positions: &[f64]) {
        let axis = axis(values);
        assert_eq!((axis.unit.as_deref(), &axis.positions[..]), (Some(unit), positions));
    }

    #[test]
    fn values_of_one_kind_are_numbers_in_one_unit() {
        is(&["500 kb/s", "5Mb/s"], "bit/s", &[5e5, 5e6]);
        is(&["5 ms", "0.1 s"], "s", &[0.005, 0.1]);
        is(&["1 kB", "1 KiB"], "B", &[1000.0, 1024.0]);
        is(&["0", "-0.5", "1e3"], "1", &[0.0, -0.5, 1000.0]);
        is(&["20 packets", "200 packets"], "packets", &[20.0, 200.0]);
        is(&["0 %", "1.5 %"], "%", &[0.0, 1.5]);
    }

    #[test]
    fn values_of_several_kinds_are_names() {
        for values in [
            &["drop-tail", "codel"][..],
            &["5 ms", "5 Mb/s"],
            &["5", "5 ms"],
            &["inf"],
            &["NaN"],
            &["3", "x"],
            &[],
        ] {
            let axis = axis(values);
            assert_eq!((axis.unit, axis.positions), (None, Vec::new()), "{values:?}");
        }
    }
}
