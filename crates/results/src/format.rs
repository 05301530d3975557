//! Numbers in readable form, for the terminal and the report.

use weir_measure::{Estimate, ExpectationRow, Relation};

/// What a number counts, to choose its unit and decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// bit/s.
    Rate,
    /// ms.
    Millis,
    /// s.
    Seconds,
    /// A whole number of packets or of something else.
    Count,
    /// A part of a whole, shown in per cent.
    Percent,
    /// Without a unit.
    Plain,
}

impl Quantity {
    /// What has this unit, as metrics name it.
    pub(crate) fn of_unit(unit: &str) -> Quantity {
        match unit {
            "bit/s" => Quantity::Rate,
            "ms" => Quantity::Millis,
            "s" => Quantity::Seconds,
            "packets" | "flows" => Quantity::Count,
            _ => Quantity::Plain,
        }
    }

    /// The unit for a column of values up to this one, and how much it is.
    pub(crate) fn unit(self, largest: f64) -> (&'static str, f64) {
        match self {
            Quantity::Rate => rate_unit(largest),
            Quantity::Millis => ("ms", 1.0),
            Quantity::Seconds => ("s", 1.0),
            Quantity::Percent => ("%", 0.01),
            Quantity::Count | Quantity::Plain => ("", 1.0),
        }
    }

    /// A mean and its interval in one unit: `4.502 ± 0.012 Mb/s`. Without an interval if there is none
    /// in the digits of the mean.
    pub(crate) fn estimate(self, estimate: &Estimate) -> String {
        let mean = self.format(estimate.mean);
        let Some(ci95) = estimate.ci95 else { return mean };
        let (scale, shown) = match self {
            Quantity::Rate => {
                let (_, scale) = rate_unit(estimate.mean);
                (scale, decimals(estimate.mean / scale, 4))
            }
            Quantity::Millis => (1.0, if estimate.mean.abs() < 10.0 { 2 } else { 1 }),
            Quantity::Seconds => (1.0, 2),
            Quantity::Percent => (0.01, decimals(estimate.mean * 100.0, 4)),
            Quantity::Count | Quantity::Plain => (1.0, decimals(estimate.mean, 4)),
        };
        let interval = ci95 / scale;
        let decimals = shown.min(decimals(interval, 2));
        let interval = without_zeros(format!("{interval:.decimals$}"));
        match mean.split_once(' ') {
            _ if interval == "0" => mean,
            Some((number, unit)) => format!("{number} ± {interval} {unit}"),
            None => format!("{mean} ± {interval}"),
        }
    }

    /// The same of a figure that not all of so many seeds need have.
    pub(crate) fn over_seeds(self, estimate: Option<&Estimate>, seeds: usize) -> String {
        match estimate {
            None => NONE.to_owned(),
            Some(some) if some.n < seeds as u64 => format!("{} ({} of {seeds})", self.estimate(some), some.n),
            Some(all) => self.estimate(all),
        }
    }

    /// A value with so many digits more than [`Quantity::format`] shows.
    fn precise(self, value: f64, more: i32) -> String {
        let places = more as usize;
        match self {
            Quantity::Rate => {
                let (unit, scale) = rate_unit(value);
                format!("{} {unit}", significant(value / scale, 4 + more))
            }
            Quantity::Millis => format!("{value:.*} ms", places + if value.abs() < 10.0 { 2 } else { 1 }),
            Quantity::Seconds => format!("{value:.*} s", places + 2),
            Quantity::Percent => format!("{} %", significant(value * 100.0, 4 + more)),
            Quantity::Count | Quantity::Plain => without_zeros(format!("{value:.places$}")),
        }
    }

    /// A value beside limits that it is not: with as many digits as it takes to differ from each of them.
    pub(crate) fn apart(self, value: f64, limits: &[f64]) -> String {
        let is_alike = |limit: &&f64| self.format(**limit) == self.format(value) && **limit != value;
        let Some(limit) = limits.iter().find(is_alike) else { return self.format(value) };
        let texts = (1..=MOST_MORE).map(|more| (self.precise(value, more), self.precise(*limit, more)));
        let differs = texts.into_iter().find(|(value, limit)| value != limit);
        differs.map_or_else(|| self.format(value), |(value, _)| value)
    }

    pub(crate) fn format(self, value: f64) -> String {
        match self {
            Quantity::Rate => rate(value),
            Quantity::Millis => format!("{} ms", millis(value)),
            Quantity::Seconds => format!("{value:.2} s"),
            Quantity::Count if (value.fract() == 0.0 || value.abs() >= 1e3) && value.abs() < 1e15 => {
                grouped(value.round() as i64)
            }
            Quantity::Percent => format!("{} %", significant(value * 100.0, 4)),
            Quantity::Count | Quantity::Plain => significant(value, 4),
        }
    }
}

/// Digits that [`Quantity::apart`] adds at most: beyond them numbers of 64 bits do not differ.
const MOST_MORE: i32 = 15;

/// What stands where there is no value.
pub(crate) const NONE: &str = "–";

/// `value` with at least `digits` significant digits, without trailing zeros after the point.
fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { NONE.to_owned() };
    }
    let decimals = decimals(value, digits);
    without_zeros(format!("{value:.decimals$}"))
}

/// How many decimals give a number so many significant digits.
fn decimals(value: f64, digits: i32) -> usize {
    if value == 0.0 { 0 } else { (digits - 1 - value.abs().log10().floor() as i32).clamp(0, 9) as usize }
}

/// What was measured. If it misses what is stated, it has enough digits to differ from the nearest value that holds.
pub(crate) fn measured(quantity: Quantity, row: &ExpectationRow) -> String {
    match (row.measured, row.stated) {
        (None, _) => NONE.to_owned(),
        (Some(_), _) if row.never => NEVER.to_owned(),
        (Some(value), Some(stated)) if row.holds == Some(false) => {
            quantity.apart(value, &limits(row.bound, stated, row.tolerance))
        }
        (Some(value), _) => quantity.format(value),
    }
}

/// The outermost values for which a statement holds.
pub(crate) fn limits(bound: Relation, stated: f64, tolerance: f64) -> Vec<f64> {
    let slack = tolerance * if stated == 0.0 { 1.0 } else { stated.abs() };
    match bound {
        Relation::About => vec![stated - slack, stated + slack],
        Relation::AtMost | Relation::LessThan => vec![stated + slack],
        Relation::AtLeast | Relation::MoreThan => vec![stated - slack],
    }
}

/// The time to settle of a goodput that does not settle.
pub(crate) const NEVER: &str = "never";

/// A time to settle over so many seeds, in `never` of which the goodput does not settle.
pub(crate) fn settled(estimate: Option<&Estimate>, never: u64, seeds: usize) -> String {
    match estimate {
        Some(some) if never > 0 && never == some.n => match seeds as u64 == never {
            true => NEVER.to_owned(),
            false => format!("{NEVER} ({never} of {seeds})"),
        },
        Some(some) if never > 0 => {
            format!("{} (never in {never} of {seeds})", Quantity::Seconds.estimate(some))
        }
        _ => Quantity::Seconds.over_seeds(estimate, seeds),
    }
}

/// A number without zeros that end its decimals.
fn without_zeros(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A rate with three decimals at most: `4.502 Mb/s`.
pub fn rate(bps: f64) -> String {
    if !bps.is_finite() {
        return NONE.to_owned();
    }
    let (unit, scale) = rate_unit(bps);
    format!("{} {unit}", significant(bps / scale, 4))
}

/// The unit that leaves a small number of a rate, and how many bit/s it is.
fn rate_unit(bps: f64) -> (&'static str, f64) {
    const UNITS: [(&str, f64); 4] = [("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)];
    // Half a unit of the last place below, so that 999 999.9 b/s is 1 Mb/s.
    *UNITS.iter().find(|(_, scale)| bps.abs() >= scale * 0.9995).unwrap_or(&UNITS[3])
}

/// A time of so many seconds with at most three digits behind the point: in seconds, and below one in a smaller unit if
/// three digits are not enough.
pub fn time(s: f64) -> String {
    let rounded = |scale: f64| (s * scale * 1e3).round() / 1e3;
    let is_enough = (rounded(1.0) - s).abs() < 1e-9;
    let (scale, unit) = match s {
        _ if is_enough || s >= 1.0 => (1.0, "s"),
        1e-3.. => (1e3, "ms"),
        _ => (1e6, "us"),
    };
    format!("{} {unit}", rounded(scale))
}

/// From when to when, in seconds: `20 s to 120 s`.
pub(crate) fn period(from_s: f64, to_s: f64) -> String {
    format!("{} to {}", time(from_s), time(to_s))
}

/// Milliseconds with as many decimals as mean something.
pub(crate) fn millis(ms: f64) -> String {
    if !ms.is_finite() {
        NONE.to_owned()
    } else if ms.abs() < 10.0 {
        format!("{ms:.2}")
    } else {
        format!("{ms:.1}")
    }
}

/// As [`millis`], or a dash.
pub(crate) fn millis_or_none(ms: Option<f64>) -> String {
    ms.map_or_else(|| NONE.to_owned(), millis)
}

/// A whole number in groups of three, by narrow spaces.
pub fn grouped(n: impl Into<i128>) -> String {
    let n = n.into();
    let digits = n.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    if n < 0 {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// What is stated: a value, a bound with its sign, or the schemes that it is compared with.
pub(crate) fn stated(quantity: Quantity, row: &ExpectationRow) -> String {
    match row.stated {
        Some(value) => bounded(quantity, row.bound, value),
        None => compared(row.bound, row.than.iter().cloned()),
    }
}

/// How a scheme compares with others: `more than pcon, omcc-rf`.
pub(crate) fn compared(bound: Relation, schemes: impl Iterator<Item = String>) -> String {
    bounded_text(bound, &schemes.collect::<Vec<_>>().join(", "))
}

/// A value, or a bound with its sign.
pub(crate) fn bounded(quantity: Quantity, bound: Relation, value: f64) -> String {
    bounded_text(bound, &quantity.format(value))
}

fn bounded_text(bound: Relation, by: &str) -> String {
    match bound {
        Relation::About => by.to_owned(),
        Relation::AtMost => format!("≤ {by}"),
        Relation::AtLeast => format!("≥ {by}"),
        Relation::MoreThan => format!("more than {by}"),
        Relation::LessThan => format!("less than {by}"),
    }
}

/// How far the measured value may be from the stated one; empty for a bound that allows nothing
/// beyond it, and where schemes are compared.
pub(crate) fn tolerance(quantity: Quantity, row: &ExpectationRow) -> String {
    row.stated.map_or_else(String::new, |stated| slack(quantity, row.bound, stated, row.tolerance))
}

/// The same, of the parts of a statement.
pub(crate) fn slack(quantity: Quantity, bound: Relation, stated: f64, tolerance: f64) -> String {
    let sign = match bound {
        Relation::AtMost | Relation::AtLeast if tolerance == 0.0 => return String::new(),
        Relation::MoreThan | Relation::LessThan => return String::new(),
        Relation::About => '±',
        Relation::AtMost => '+',
        Relation::AtLeast => '−',
    };
    if stated == 0.0 {
        format!("{sign} {}", quantity.format(tolerance))
    } else {
        format!("{sign} {} %", significant(tolerance * 100.0, 3))
    }
}

/// Who states something, in a word: what a source has before its colon, such as `paper` or
/// `theory`.
pub fn kind_of_source(source: &str) -> &str {
    let word = source.split([':', ',']).next().unwrap_or_default().trim();
    if word.is_empty() || word.contains(char::is_whitespace) { NONE } else { word }
}

/// Whether a part of a source, `paper: …; assumed: …`, is of this kind.
pub fn is_said_by(source: &str, kind: &str) -> bool {
    source.split("; ").any(|part| part.split_once(':').is_some_and(|(said, _)| said.trim() == kind))
}

/// A scheme with the variant of its parameters: `pcon (qsccp)`.
pub fn named(scheme: &str, variant: Option<&str>) -> String {
    variant.map_or_else(|| scheme.to_owned(), |variant| format!("{scheme} ({variant})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_at_most_three_digits_behind_the_point() {
        let said = [0.0, 0.5, 2.0, 4.126_542_63, 1e6, 0.012_345_678, 0.000_05, 9.999_99e-4].map(time);
        assert_eq!(said, ["0 s", "0.5 s", "2 s", "4.127 s", "1000000 s", "12.346 ms", "50 us", "999.999 us"]);
        assert_eq!(period(2.0, 4.126_542_63), "2 s to 4.127 s");
    }

    #[test]
    fn rates_take_the_unit_that_leaves_a_small_number() {
        assert_eq!(rate(4_501_700.0), "4.502 Mb/s");
        assert_eq!(rate(999_999.9), "1 Mb/s");
        assert_eq!(rate(100_000.0), "100 kb/s");
        assert_eq!(rate(0.0), "0 b/s");
        assert_eq!(rate(f64::NAN), NONE);
    }

    #[test]
    fn an_interval_has_the_unit_of_its_mean() {
        let estimate = |mean, ci95| Estimate { mean, ci95, n: 5, distinct: 5 };
        let said = |quantity: Quantity, mean, ci95| quantity.estimate(&estimate(mean, Some(ci95)));
        assert_eq!(said(Quantity::Rate, 4_501_700.0, 12_300.0), "4.502 ± 0.012 Mb/s");
        assert_eq!(said(Quantity::Millis, 110.24, 1.0), "110.2 ± 1 ms");
        assert_eq!(said(Quantity::Seconds, 9.5, 0.25), "9.50 ± 0.25 s");
        assert_eq!(said(Quantity::Count, 1234.0, 5.0), "1\u{202f}234 ± 5");
        assert_eq!(said(Quantity::Plain, 0.99, 0.001), "0.99 ± 0.001");
        assert_eq!(said(Quantity::Percent, 0.9872, 0.001), "98.72 ± 0.1 %");
        assert_eq!(Quantity::Rate.estimate(&estimate(0.0, Some(0.0))), "0 b/s");
        assert_eq!(said(Quantity::Count, 1234.4, 270.3), "1\u{202f}234 ± 270");
        assert_eq!(said(Quantity::Plain, 0.999_98, 0.000_015), "1");
        assert_eq!(said(Quantity::Millis, 0.002, 0.002), "0.00 ms");
        assert_eq!(Quantity::Millis.estimate(&estimate(110.24, None)), "110.2 ms");
    }

    #[test]
    fn numbers_are_grouped_and_rounded() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped(-12), "-12");
        assert_eq!(significant(0.98765, 3), "0.988");
        assert_eq!(significant(123_456.0, 4), "123456");
    }

    #[test]
    fn a_bound_has_its_sign_and_no_tolerance_of_nothing() {
        let row = |bound, stated, tolerance| ExpectationRow {
            bound,
            stated: Some(stated),
            tolerance,
            ..Default::default()
        };
        let said = |quantity, row: &ExpectationRow| (stated(quantity, row), tolerance(quantity, row));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(said(Quantity::Rate, &row(Relation::About, 1e6, 0.05)), pair("1 Mb/s", "± 5 %"));
        assert_eq!(said(Quantity::Count, &row(Relation::About, 0.0, 10.0)), pair("0", "± 10"));
        assert_eq!(said(Quantity::Seconds, &row(Relation::AtMost, 2.0, 0.0)), pair("≤ 2.00 s", ""));
        assert_eq!(said(Quantity::Plain, &row(Relation::AtLeast, 0.95, 0.0)), pair("≥ 0.95", ""));
        assert_eq!(said(Quantity::Plain, &row(Relation::AtLeast, 0.95, 0.01)), pair("≥ 0.95", "− 1 %"));
        let than = vec!["pcon".to_owned(), "omcc-rf".to_owned()];
        let compared = ExpectationRow { bound: Relation::LessThan, than, ..Default::default() };
        assert_eq!(said(Quantity::Plain, &compared), pair("less than pcon, omcc-rf", ""));
    }

    #[test]
    fn a_value_that_misses_its_bound_has_the_digits_in_which_it_does() {
        let said = |unit: &str, bound, stated, tolerance, value| {
            let row = ExpectationRow {
                unit: unit.to_owned(),
                bound,
                stated: Some(stated),
                tolerance,
                measured: Some(value),
                holds: Some(false),
                ..Default::default()
            };
            measured(Quantity::of_unit(unit), &row)
        };
        assert_eq!(said("1", Relation::AtMost, 150.0, 0.0, 150.004), "150.004");
        assert_eq!(said("1", Relation::AtMost, 150.0, 0.0, 150.2), "150.2");
        assert_eq!(said("bit/s", Relation::AtLeast, 1e6, 0.0, 999_999.0), "0.999999 Mb/s");
        assert_eq!(said("bit/s", Relation::AtMost, 10e6, 0.05, 10.500_01e6), "10.50001 Mb/s");
        assert_eq!(said("ms", Relation::AtMost, 20.0, 0.0, 20.003), "20.003 ms");
        assert_eq!(said("s", Relation::About, 2.0, 0.5, 3.001), "3.001 s");
        assert_eq!(said("packets", Relation::AtMost, 1500.0, 0.0, 1500.25), "1500.2");
        // What differs in few digits has no more.
        assert_eq!(said("ms", Relation::AtMost, 20.0, 0.0, 25.003), "25.0 ms");
        assert_eq!(Quantity::Plain.apart(150.0, &[150.0]), "150");
        assert_eq!(Quantity::Rate.apart(f64::NAN, &[1.0]), NONE);
    }

    #[test]
    fn a_goodput_that_never_settles_has_no_time() {
        let row = |never| ExpectationRow { measured: Some(120.0), never, ..Default::default() };
        assert_eq!(measured(Quantity::Seconds, &row(true)), "never");
        assert_eq!(measured(Quantity::Seconds, &row(false)), "120.00 s");
        let estimate = |n| Estimate { mean: 110.0, ci95: None, n, distinct: n };
        let said = |n, never, seeds| settled(Some(&estimate(n)), never, seeds);
        assert_eq!(said(3, 0, 3), "110.00 s");
        assert_eq!(said(3, 3, 3), "never");
        assert_eq!(said(2, 2, 3), "never (2 of 3)");
        assert_eq!(said(3, 2, 3), "110.00 s (never in 2 of 3)");
        assert_eq!(settled(None, 0, 3), NONE);
    }

    #[test]
    fn a_source_begins_with_who_says_so() {
        assert_eq!(kind_of_source("paper: section V-B"), "paper");
        assert_eq!(kind_of_source("theory: equal weights; paper: section V-B"), "theory");
        assert_eq!(kind_of_source("paper, section V-B"), "paper");
        assert_eq!(kind_of_source("we think so"), NONE);
        assert_eq!(kind_of_source(""), NONE);
    }

    #[test]
    fn values_are_shown_as_their_unit_says() {
        let said = |unit: &str| Quantity::of_unit(unit).format(1500.0);
        assert_eq!(said("bit/s"), "1.5 kb/s");
        assert_eq!(said("ms"), "1500.0 ms");
        assert_eq!(said("s"), "1500.00 s");
        assert_eq!((said("packets"), said("flows")), ("1\u{202f}500".to_owned(), "1\u{202f}500".to_owned()));
        assert_eq!(said("1"), "1500");
    }
}
