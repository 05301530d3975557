//! The axes of a sweep, and the points that they span.

use core::str::FromStr;
use std::collections::BTreeSet;

use crate::error::StudyError;

/// The largest number of points in a study.
const MOST_POINTS: usize = 100_000;
/// The number of digits of the values of a logarithmic range.
const LOG_DIGITS: usize = 4;

/// A key of the scenario and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The key in the form of `--set`: `link.R2-R3.rate`, or `axis.NAME` for an axis of the scenario.
    pub key: String,
    /// The values in the form of `--set`.
    pub values: Vec<String>,
}

impl Axis {
    /// Returns a key with these values. Quantities are written uniformly, as `10 Mb/s`. Numbers without a
    /// unit get the unit of the last value.
    ///
    /// # Errors
    /// Returns an error if there is no value, or if one is given twice.
    pub fn new(key: &str, values: Vec<String>) -> Result<Axis, StudyError> {
        let values = with_units(values);
        let mut seen = BTreeSet::new();
        match values.iter().find(|value| !seen.insert(value.as_str())) {
            _ if values.is_empty() => Err(StudyError::Invalid(format!("{key}: give at least one value"))),
            Some(twice) => Err(StudyError::Invalid(format!("the value {twice} is given twice"))),
            None => Ok(Axis { key: key.to_owned(), values }),
        }
    }

    /// Finds one of its values. Its number is enough if no other value has the same number.
    pub fn find(&self, text: &str) -> Option<&str> {
        let given = with_units(vec![text.to_owned()]).remove(0);
        let is_it =
            |value: &&String| **value == given || quantity(value).is_some_and(|(number, _)| number == given);
        let mut found = self.values.iter().filter(is_it);
        found.next().filter(|_| found.next().is_none()).map(String::as_str)
    }

    /// Returns the setting of the axis to a value.
    pub fn set(&self, value: &str) -> String {
        format!("{}={value}", self.key)
    }
}

impl FromStr for Axis {
    type Err = StudyError;

    /// Parses `KEY=a,b,c`, `KEY=from:to:step` or `KEY=from..to log n`. Numbers without a unit get the unit
    /// that follows.
    fn from_str(text: &str) -> Result<Axis, StudyError> {
        let wrong = |why: &str| StudyError::Invalid(format!("--vary {text}: {why}\n  = {RIGHT}"));
        let (key, values) = text.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (key, values) = (key.trim(), values.trim());
        if key.is_empty() {
            return Err(wrong("there is no key before the `=`"));
        }
        let values = values_of(values).map_err(|why| wrong(&why))?;
        Axis::new(key, values).map_err(|error| wrong(&error.to_string()))
    }
}

/// Returns whether the settings leave an axis of a scenario nothing to vary: they select a point of the axis,
/// or set all of its paths.
pub(crate) fn is_fixed<'a>(axis: &weir_scenario::Axis, keys: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |key: &str| keys.clone().any(|given| given.trim() == key);
    has(&format!("axis.{}", axis.name)) || axis.set.iter().all(|path| has(path))
}

/// Returns the key of a setting `KEY=VALUE`.
pub(crate) fn key(set: &str) -> &str {
    set.split_once('=').map_or(set, |(key, _)| key).trim()
}

const RIGHT: &str = "write KEY=5,10,20Mb/s, KEY=5:20:5Mb/s (from, to, step), or KEY=1..100Mb/s log 5 (five values, evenly on a logarithmic scale)";

fn values_of(text: &str) -> Result<Vec<String>, String> {
    if let Some(range) = steps(text) {
        return range;
    }
    if let Some(range) = logarithmic(text) {
        return range;
    }
    if let Some(range) = uncounted(text) {
        return Err(format!("write how many values the range has: {range} log 5"));
    }
    let values: Vec<String> = parts(text).into_iter().map(|value| value.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err("there is an empty value".to_owned());
    }
    Ok(values)
}

/// Splits a list at its commas. Commas within brackets and quotes belong to a value.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut depth, mut quote) = (0_i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Gives numbers without a unit the unit of the last value, and writes quantities uniformly: `10 Mb/s`, `50
/// packets`.
fn with_units(values: Vec<String>) -> Vec<String> {
    let unit = values.last().and_then(|last| quantity(last)).map_or("", |(_, unit)| unit).to_owned();
    let whole = |value: String| match quantity(&value) {
        Some((number, "")) if is_unit(&unit) => format!("{number} {unit}"),
        Some((number, own)) if is_unit(own) => format!("{number} {own}"),
        _ => value,
    };
    values.into_iter().map(whole).collect()
}

/// Returns whether a text can be a unit: a word such as `ms`, `Mb/s` or `packets`. The exponent of a number
/// is not a unit.
fn is_unit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic()) && text.chars().all(|c| c.is_alphabetic() || c == '/')
}

/// Splits a number from the text after it.
fn quantity(text: &str) -> Option<(&str, &str)> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.parse::<f64>().ok()?;
    Some((number, unit.trim()))
}

/// Parses `from:to:step` with a unit. Returns `None` if the text has another form.
fn steps(text: &str) -> Option<Result<Vec<String>, String>> {
    let [from, to, step] = text.split(':').map(str::trim).collect::<Vec<_>>()[..] else { return None };
    let [(from, a), (to, b), (step, unit)] = [quantity(from)?, quantity(to)?, quantity(step)?];
    let others = [a, b];
    if others.iter().any(|other| !other.is_empty() && *other != unit) {
        return Some(Err(format!(
            "write the three numbers in one unit, behind the last one: {from}:{to}:{step} UNIT"
        )));
    }
    Some(stepped(from, to, step, unit))
}

fn stepped(from: &str, to: &str, step: &str, unit: &str) -> Result<Vec<String>, String> {
    let decimal = |text: &str| Decimal::parse(text).ok_or_else(|| format!("`{text}` has too many digits"));
    let places = [from, to, step].iter().map(|text| places(text)).max().unwrap_or(0);
    let [first, last, by] = [decimal(from)?, decimal(to)?, decimal(step)?].map(|number| number.at(places));
    if by == 0 || (last - first).signum() * by.signum() < 0 {
        return Err(format!("steps of {step} do not lead from {from} to {to}"));
    }
    let count = (last - first) / by;
    if count >= MOST_POINTS as i128 {
        return Err(format!("these are {} values: at most {MOST_POINTS}", count + 1));
    }
    let value = |at: usize| with_unit(&Decimal { digits: first + by * at as i128, places }.text(), unit);
    Ok((0..=count as usize).map(value).collect())
}

/// Parses `from..to log n` with a unit before the word. Returns `None` if the text has another form.
fn logarithmic(text: &str) -> Option<Result<Vec<String>, String>> {
    let (from, rest) = text.split_once("..")?;
    let (to, count) = rest.split_once(" log ")?;
    let ((from, a), (to, unit)) = (quantity(from.trim())?, quantity(to.trim())?);
    if !a.is_empty() && a != unit {
        return Some(Err(format!("write both ends in one unit, behind the second: {from}..{to} UNIT log n")));
    }
    let Ok(count) = count.trim().parse::<usize>() else {
        return Some(Err(format!("`{}` is not a number of values", count.trim())));
    };
    let (Ok(low), Ok(high)) = (from.parse::<f64>(), to.parse::<f64>()) else { return None };
    if !(2..=MOST_POINTS).contains(&count) || low <= 0.0 || high <= 0.0 || low == high {
        return Some(Err(format!(
            "a logarithmic range has two different ends above 0, and 2 to {MOST_POINTS} values"
        )));
    }
    let value = |at: usize| {
        // Both ends are written as given.
        if at == 0 || at == count - 1 {
            return with_unit(if at == 0 { from } else { to }, unit);
        }
        let number = low * (high / low).powf(at as f64 / (count - 1) as f64);
        with_unit(&rounded(number), unit)
    };
    Some(Ok((0..count).map(value).collect()))
}

/// Parses a range `from..to` without a number of values. Returns `None` if the text has another form.
fn uncounted(text: &str) -> Option<&str> {
    let range = text.strip_suffix("log").unwrap_or(text).trim();
    let (from, to) = range.split_once("..")?;
    quantity(from.trim()).and(quantity(to.trim())).map(|_| range)
}

fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// Formats a number with [`LOG_DIGITS`] digits, without an exponent.
fn rounded(number: f64) -> String {
    let scientific: f64 = format!("{number:.*e}", LOG_DIGITS - 1).parse().unwrap_or(number);
    format!("{scientific}")
}

/// Returns the number of digits after the point.
fn places(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, behind)| behind.len())
}

/// A decimal number: digits over a power of ten. Sums of these are exact.
#[derive(Clone, Copy)]
struct Decimal {
    digits: i128,
    places: usize,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let places = places(text);
        let digits: i128 = text.replace('.', "").parse().ok()?;
        (places <= 12 && digits.unsigned_abs() < 1 << 60).then_some(Decimal { digits, places })
    }

    /// Returns its digits over a larger power of ten.
    fn at(self, places: usize) -> i128 {
        self.digits * 10_i128.pow((places - self.places) as u32)
    }

    fn text(self) -> String {
        if self.places == 0 {
            return self.digits.to_string();
        }
        let sign = if self.digits < 0 { "-" } else { "" };
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = self.places + 1);
        let (whole, behind) = digits.split_at(digits.len() - self.places);
        let behind = behind.trim_end_matches('0');
        if behind.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{behind}") }
    }
}

/// The axes of a study, and whether points pair their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Varied {
    /// The axes, those of the user first.
    axes: Vec<Axis>,
    /// The number of paired axes. The others give all combinations.
    zipped: usize,
}

impl Varied {
    /// Returns all combinations of these axes, or with `zip` their values in pairs, with all values of
    /// further axes.
    ///
    /// # Errors
    /// Returns an error if a key is given twice, if paired axes differ in length, or if there are too many
    /// points.
    pub fn new(given: Vec<Axis>, zip: bool, further: Vec<Axis>) -> Result<Varied, StudyError> {
        let zipped = if zip { given.len() } else { 0 };
        if let Some(other) = given.iter().take(zipped).find(|axis| axis.values.len() != given[0].values.len())
        {
            return Err(StudyError::Invalid(format!(
                "--zip pairs values: {} has {} and {} has {}\n  = give all axes as many values",
                given[0].key,
                given[0].values.len(),
                other.key,
                other.values.len()
            )));
        }
        let axes: Vec<Axis> = given.into_iter().chain(further).collect();
        for (at, axis) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.key == axis.key) {
                return Err(StudyError::Invalid(format!("--vary {}: this key is given twice", axis.key)));
            }
        }
        let varied = Varied { axes, zipped };
        match varied.count() {
            Some(count) if count <= MOST_POINTS => Ok(varied),
            _ => Err(StudyError::Invalid(format!("these axes have more than {MOST_POINTS} points"))),
        }
    }

    /// Returns all combinations of these axes, without a limit.
    pub(crate) fn all(axes: Vec<Axis>) -> Varied {
        Varied { axes, zipped: 0 }
    }

    /// Returns the axes, in the order of a point's values.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the number of points; `None` if it is too large.
    fn count(&self) -> Option<usize> {
        let paired = self.axes[..self.zipped].first().map_or(1, |axis| axis.values.len());
        let others = self.axes[self.zipped..].iter();
        others.map(|axis| axis.values.len()).try_fold(paired, usize::checked_mul)
    }

    /// Returns every point: the value of each axis. The last axis varies first. Without axes there is one
    /// point without values.
    pub fn points(&self) -> Vec<Vec<String>> {
        let (paired, others) = self.axes.split_at(self.zipped);
        let mut points: Vec<Vec<String>> = match paired.first() {
            Some(first) => (0..first.values.len())
                .map(|at| paired.iter().map(|axis| axis.values[at].clone()).collect())
                .collect(),
            None => vec![Vec::new()],
        };
        for axis in others {
            let with = |point: &Vec<String>, value: &String| {
                let mut point = point.clone();
                point.push(value.clone());
                point
            };
            points = points
                .iter()
                .flat_map(|point| axis.values.iter().map(move |value| with(point, value)))
                .collect();
        }
        points
    }

    /// Returns the settings that select a point, in the form of `--set`.
    pub fn set(&self, point: &[String]) -> Vec<String> {
        self.axes.iter().zip(point).map(|(axis, value)| axis.set(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Axis>().unwrap_or_else(|error| panic!("{error}")).values
    }

    #[test]
    fn numbers_of_a_list_have_the_unit_behind_the_last_one() {
        assert_eq!(values("link.R2-R3.rate=5,10,20Mb/s"), ["5 Mb/s", "10 Mb/s", "20 Mb/s"]);
        assert_eq!(values("k=500 kb/s, 1Mb/s"), ["500 kb/s", "1 Mb/s"]);
        assert_eq!(values("k=1,2"), ["1", "2"]);
        assert_eq!(values("k=10,50packets"), ["10 packets", "50 packets"]);
        assert_eq!(values("k=0.1,1e-3"), ["0.1", "1e-3"]);
        assert_eq!(values("node.R1.cache_policy=lru,fifo"), ["lru", "fifo"]);
    }

    #[test]
    fn a_value_is_found_by_its_number_if_only_one_has_it() {
        let axis: Axis = "k=5Mb/s,20Mb/s,5kb/s".parse().unwrap();
        for (text, found) in [
            ("20Mb/s", Some("20 Mb/s")),
            ("20", Some("20 Mb/s")),
            ("5kb/s", Some("5 kb/s")),
            ("5", None),
            ("2", None),
            ("Mb/s", None),
        ] {
            assert_eq!(axis.find(text), found, "{text}");
        }
        let axis: Axis = "k=0.1,0.01".parse().unwrap();
        assert_eq!(axis.find("0.1"), Some("0.1"));
    }

    #[test]
    fn commas_within_a_list_or_a_text_belong_to_a_value() {
        assert_eq!(values(r#"k=["0 s","5 s"],["1 s"]"#), [r#"["0 s","5 s"]"#, r#"["1 s"]"#]);
        assert_eq!(values(r#"k="a,b",c"#), [r#""a,b""#, "c"]);
    }

    #[test]
    fn steps_are_exact_decimals_and_include_the_end() {
        assert_eq!(values("k=5:20:5Mb/s"), ["5 Mb/s", "10 Mb/s", "15 Mb/s", "20 Mb/s"]);
        assert_eq!(values("k=0:0.3:0.1"), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(values("k=1:0:-0.5"), ["1", "0.5", "0"]);
        assert_eq!(values("k=0:10:4 ms"), ["0 ms", "4 ms", "8 ms"]);
    }

    #[test]
    fn a_logarithmic_range_has_evenly_spaced_logarithms() {
        assert_eq!(values("k=1..100Mb/s log 3"), ["1 Mb/s", "10 Mb/s", "100 Mb/s"]);
        assert_eq!(values("k=1ms..10 ms log 3"), ["1 ms", "3.162 ms", "10 ms"]);
        assert_eq!(values("k=1..65535ms log 3"), ["1 ms", "256 ms", "65535 ms"]);
    }

    #[test]
    fn what_is_no_axis_is_refused_with_what_would_be_right() {
        for text in [
            "k",
            "=1",
            "k=",
            "k=1,,2",
            "k=1,1",
            "k=5:1:2",
            "k=1:2:0",
            "k=1..2 log 1",
            "k=-1..2 log 3",
            "k=1..2 log x",
            "k=1..2Mb/s",
            "k=1..2Mb/s log",
            "k=1ms:2s:1s",
            "k=0:1:0.0000000000000000001",
            "k=0:999999999999:1",
            "k=1:4503599627370497:0.000000000001",
        ] {
            let error = text.parse::<Axis>().expect_err(text).to_string();
            assert!(error.contains("5:20:5Mb/s"), "{text}: {error}");
        }
    }

    fn axes(texts: &[&str]) -> Vec<Axis> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn points_are_all_combinations_and_the_last_axis_varies_first() {
        let varied = Varied::new(axes(&["a=1,2", "b=x,y"]), false, axes(&["axis.c=7"])).unwrap();
        let points = varied.points();
        assert_eq!(points, [["1", "x", "7"], ["1", "y", "7"], ["2", "x", "7"], ["2", "y", "7"]]);
        assert_eq!(varied.set(&points[1]), ["a=1", "b=y", "axis.c=7"]);
    }

    #[test]
    fn paired_axes_give_a_point_a_pair_and_all_values_of_others() {
        let varied = Varied::new(axes(&["a=1,2", "b=x,y"]), true, axes(&["c=7,8"])).unwrap();
        assert_eq!(varied.points(), [["1", "x", "7"], ["1", "x", "8"], ["2", "y", "7"], ["2", "y", "8"]]);
        assert!(Varied::new(axes(&["a=1,2", "b=x"]), true, Vec::new()).is_err());
    }

    #[test]
    fn a_key_given_twice_and_too_many_points_are_refused() {
        assert!(Varied::new(axes(&["a=1", "a=2"]), false, Vec::new()).is_err());
        let long = axes(&["a=1:1000:1", "b=1:1000:1"]);
        assert!(Varied::new(long, false, Vec::new()).is_err());
        assert_eq!(Varied::default().points(), [Vec::<String>::new()]);
    }
}
