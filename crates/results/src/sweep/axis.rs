//! The axes of a sweep: their values as numbers.

use super::SweepAxis;
use crate::quantity::Unit;

impl SweepAxis {
    /// An axis with these values. It has a unit if all values are rates, times, sizes, or numbers with the same word after them,
    /// or with none.
    pub fn new(name: impl Into<String>, values: Vec<String>) -> SweepAxis {
        let unit = Unit::of(&values);
        let number = |value: &String| unit.as_ref()?.number(value);
        let positions = values.iter().filter_map(number).collect();
        SweepAxis { name: name.into(), positions, unit: unit.map(|unit| unit.name().to_owned()), values }
    }
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
