//! Axes: ends that follow from data, units with prefixes, and ticks at round values.

use crate::model::{Axis, Scale};

/// Values beyond this are drawn as this: sums of two do not overflow.
const LARGEST: f64 = 1e300;
/// The smallest positive value of a logarithmic axis.
const SMALLEST: f64 = 1e-300;
/// Ticks of an axis at most.
const MOST_TICKS: usize = 40;

/// The smallest and the largest of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub low: f64,
    pub high: f64,
    /// Whether zero belongs to it: the foot of bars.
    pub from_zero: bool,
    /// Whether there is to be room beside the outermost values.
    pub has_room: bool,
}

impl Extent {
    pub const NONE: Extent =
        Extent { low: f64::INFINITY, high: f64::NEG_INFINITY, from_zero: false, has_room: false };

    pub fn add(&mut self, scale: Scale, value: f64) {
        let is_drawn = value.is_finite() && (scale != Scale::Log || value > 0.0);
        if is_drawn {
            let value = value.clamp(-LARGEST, LARGEST);
            (self.low, self.high) = (self.low.min(value), self.high.max(value));
        }
    }

    pub fn join(&mut self, other: Extent) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        self.from_zero |= other.from_zero;
        self.has_room |= other.has_room;
    }
}

/// An axis with both ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub low: f64,
    pub high: f64,
    pub scale: Scale,
    /// What the data are divided by for the texts of ticks.
    pub factor: f64,
    /// The axis' title with the unit.
    pub title: String,
    pub categories: Vec<String>,
}

/// A tick.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Its place, 0 to 1.
    pub at: f64,
    /// Empty for a tick without text.
    pub text: String,
}

impl Placed {
    pub fn of(axis: &Axis, data: Extent) -> Placed {
        let (low, high) = ends(axis, data);
        let (factor, unit) = prefixed(&axis.unit, low.abs().max(high.abs()));
        let title = match (axis.label.as_str(), unit.as_str()) {
            (label, "" | "1") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label} ({unit})"),
        };
        Placed { low, high, scale: axis.scale, factor, title, categories: axis.categories.clone() }
    }

    /// The place of a value, 0 to 1 between the ends; `None` where it has none.
    pub fn at(&self, value: f64) -> Option<f64> {
        let part = match self.scale {
            Scale::Log => {
                let [value, low, high] = [value, self.low, self.high].map(libm::log10);
                (value - low) / (high - low)
            }
            _ => (value.clamp(-LARGEST, LARGEST) - self.low) / (self.high - self.low),
        };
        // Far outside, a line still has to end somewhere.
        (!value.is_nan() && !part.is_nan()).then(|| part.clamp(-50.0, 50.0))
    }

    /// The foot of a bar, as a place.
    pub fn foot(&self) -> f64 {
        if self.scale == Scale::Log { 0.0 } else { self.at(0.0).unwrap_or_default().clamp(0.0, 1.0) }
    }

    /// At most `most` ticks with text.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.clamp(2, MOST_TICKS);
        match self.scale {
            Scale::Linear => self.linear(most),
            Scale::Log => self.log(most),
            Scale::Categories => {
                let tick = |(k, name): (usize, &String)| Tick {
                    at: self.at(k as f64).unwrap_or_default(),
                    text: name.clone(),
                };
                self.categories.iter().enumerate().map(tick).collect()
            }
        }
    }

    fn linear(&self, most: usize) -> Vec<Tick> {
        let (low, high) = (self.low / self.factor, self.high / self.factor);
        let step = step((high - low) / most as f64);
        let slack = 1e-9 * (high - low);
        let first = ((low - slack) / step).ceil();
        let values = (0..=MOST_TICKS).map(|k| (first + k as f64) * step).take_while(|x| *x <= high + slack);
        let largest = low.abs().max(high.abs());
        let tick =
            |x: f64| Tick { at: ((x - low) / (high - low)).clamp(0.0, 1.0), text: number(x, step, largest) };
        values.map(tick).collect()
    }

    fn log(&self, most: usize) -> Vec<Tick> {
        let (low, high) = (libm::log10(self.low / self.factor), libm::log10(self.high / self.factor));
        let (first, last) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
        let decades = (last - first + 1).max(0) as usize;
        let every = decades.div_ceil(most).max(1) as i32;
        let at = |x: f64| (x - low) / (high - low);
        // With few decades, 2 and 5 have texts too; with none, the ends of a linear axis serve.
        let parts: &[i32] = if decades <= 2 && most >= 3 * decades.max(1) { &[1, 2, 5] } else { &[1] };
        let is_written_out = WRITTEN_OUT.contains(&first) && WRITTEN_OUT.contains(&last);
        let mut ticks = Vec::new();
        for decade in first - 1..=last {
            let with_text = (decade - first).rem_euclid(every) == 0;
            for part in 1..10 {
                if every > 1 && part > 1 {
                    break;
                }
                let place = at(f64::from(decade) + libm::log10(f64::from(part)));
                if (-1e-9..=1.0 + 1e-9).contains(&place) {
                    let text = if with_text && parts.contains(&part) {
                        power(part, decade, is_written_out)
                    } else {
                        String::new()
                    };
                    ticks.push(Tick { at: place, text });
                }
            }
        }
        if ticks.iter().filter(|tick| !tick.text.is_empty()).count() < 2 {
            let linear = Placed { scale: Scale::Linear, ..self.clone() }.linear(5);
            let value = |tick: &Tick| self.low + tick.at * (self.high - self.low);
            let place = |tick: Tick| Some(Tick { at: self.at(value(&tick))?, text: tick.text });
            ticks.retain(|tick| tick.text.is_empty());
            ticks.extend(linear.into_iter().filter_map(place));
        }
        ticks
    }
}

/// Both ends: those that are given and make sense, or else those of the data with some room.
fn ends(axis: &Axis, data: Extent) -> (f64, f64) {
    if axis.scale == Scale::Categories {
        let last = if data.high.is_finite() { data.high.clamp(0.0, 1e4) } else { 0.0 };
        return (-0.5, last.max(axis.categories.len() as f64 - 1.0) + 0.5);
    }
    let is_log = axis.scale == Scale::Log;
    let is_end = |x: &f64| x.is_finite() && x.abs() <= LARGEST && (!is_log || *x >= SMALLEST);
    let (mut from, mut to) = (axis.range.0.filter(is_end), axis.range.1.filter(is_end));
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        (from, to) = (None, None);
    }
    let (mut low, mut high) = if data.low <= data.high { (data.low, data.high) } else { (1.0, 1.0) };
    if is_log {
        (low, high) = (low.max(SMALLEST), high.max(SMALLEST));
        let room = if data.has_room { 1.25 } else { 1.0 };
        (low, high) = (low / room, high * room);
    } else {
        let is_near_zero = low >= 0.0 && low < 0.5 * high;
        if data.from_zero || is_near_zero {
            low = low.min(0.0);
            high = high.max(0.0);
        }
        let room = if data.has_room { 0.06 * (high - low) } else { 0.0 };
        low -= if low == 0.0 { 0.0 } else { room };
        high += if high == 0.0 { 0.0 } else { room };
    }
    (low, high) = (from.unwrap_or(low), to.unwrap_or(high));
    // One value alone, or data beyond an end that is given, or numbers so close that nothing is between them.
    let least = 1e-9 * low.abs().max(high.abs());
    let is_wide = high - low > least;
    if !is_wide && is_log {
        (low, high) = if to.is_none() { (low, low * 10.0) } else { (high / 10.0, high) };
    } else if !is_wide {
        let beside = if low == 0.0 && high == 0.0 { 1.0 } else { 0.5 * low.abs().max(high.abs()) };
        (low, high) = match (from, to) {
            (Some(low), _) => (low, low + beside),
            (None, Some(high)) => (high - beside, high),
            // Nothing but zeros.
            (None, None) if low == 0.0 && high == 0.0 => (0.0, 1.0),
            (None, None) => (low - beside, high + beside),
        };
    }
    (low, high)
}

/// What values up to `largest` are divided by, and the unit with the prefix for it.
fn prefixed(unit: &str, largest: f64) -> (f64, String) {
    let is_for =
        |prefixes: &[(f64, &'static str)]| prefixes.iter().copied().find(|(factor, _)| largest >= *factor);
    let prefix = match unit {
        "bit/s" => is_for(&[(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")]),
        "B" => is_for(&[(1e9, "GB"), (1e6, "MB"), (1e3, "kB")]),
        "ms" => is_for(&[(3e3, "s")]).map(|_| (1e3, "s")),
        "s" if largest > 0.0 && largest < 0.1 => Some((1e-3, "ms")),
        _ => None,
    };
    prefix.map_or_else(|| (1.0, unit.to_owned()), |(factor, unit)| (factor, unit.to_owned()))
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn step(least: f64) -> f64 {
    let least = if least.is_finite() { least.clamp(SMALLEST, LARGEST) } else { LARGEST };
    let power = libm::pow(10.0, libm::log10(least).floor());
    let found = [1.0, 2.0, 5.0].into_iter().find(|k| k * power >= least * (1.0 - 1e-9));
    found.unwrap_or(10.0) * power
}

/// A number with the digits that steps of this size need.
fn number(x: f64, step: f64, largest: f64) -> String {
    let x = if x.abs() < step * 1e-6 { 0.0 } else { x };
    if !(1e-4..1e6).contains(&largest) {
        return scientific(x, step);
    }
    let digits = (-libm::log10(step * 1.000_001).floor()).clamp(0.0, 12.0) as usize;
    minus(&format!("{x:.digits$}"))
}

fn scientific(x: f64, step: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let exponent = libm::log10(x.abs() * 1.000_001).floor();
    let digits = (exponent - libm::log10(step * 1.000_001).floor()).clamp(0.0, 3.0) as usize;
    let mantissa = x / libm::pow(10.0, exponent);
    minus(&format!("{mantissa:.digits$}·10{}", superscript(exponent as i32)))
}

/// The decades whose numbers are written out, if all of an axis are.
const WRITTEN_OUT: std::ops::RangeInclusive<i32> = -3..=4;

/// `part` times a power of ten, written out or not.
fn power(part: i32, decade: i32, is_written_out: bool) -> String {
    match decade {
        0 => part.to_string(),
        1.. if is_written_out => format!("{part}{}", "0".repeat(decade as usize)),
        _ if is_written_out => format!("0.{}{part}", "0".repeat((-decade - 1) as usize)),
        _ if part == 1 => format!("10{}", superscript(decade)),
        _ => format!("{part}·10{}", superscript(decade)),
    }
}

fn superscript(number: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + (c as u32 - '0' as u32)).unwrap_or(c),
    };
    number.to_string().chars().map(digit).collect()
}

fn minus(text: &str) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(scale: Scale, unit: &str, low: f64, high: f64) -> Placed {
        let axis = Axis { scale, unit: unit.to_owned(), range: (Some(low), Some(high)), ..Axis::default() };
        Placed::of(&axis, Extent::NONE)
    }

    fn texts(axis: &Placed, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|tick| tick.text).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn ticks_are_at_round_values_of_the_prefixed_unit() {
        let axis = placed(Scale::Linear, "bit/s", 0.0, 10e6);
        assert_eq!(
            (texts(&axis, 5), axis.title.as_str()),
            (["0", "2", "4", "6", "8", "10"].iter().map(|t| (*t).to_owned()).collect(), "Mb/s")
        );
        assert_eq!(texts(&placed(Scale::Linear, "1", 0.9, 1.0), 3), ["0.90", "0.95", "1.00"]);
        assert_eq!(texts(&placed(Scale::Linear, "", -1e7, 1e7), 2), ["−1·10⁷", "0", "1·10⁷"]);
        assert_eq!(
            texts(&placed(Scale::Log, "ms", 0.01, 1000.0), 6),
            ["0.01", "0.1", "1", "10", "100", "1000"]
        );
        assert_eq!(texts(&placed(Scale::Log, "", 1e-8, 1e8), 5), ["10⁻⁸", "10⁻⁴", "1", "10⁴", "10⁸"]);
        assert_eq!(texts(&placed(Scale::Log, "", 20.0, 60.0), 5), ["20", "50"]);
        assert!(texts(&placed(Scale::Log, "", 21.0, 29.0), 5).len() > 1);
    }

    #[test]
    fn an_axis_begins_at_zero_if_the_data_come_near_it() {
        let of = |low, high, has_room| {
            let axis = Placed::of(&Axis::default(), Extent { low, high, from_zero: false, has_room });
            (axis.low, axis.high)
        };
        assert_eq!(of(1.0, 10.0, false), (0.0, 10.0));
        assert_eq!(of(9.0, 10.0, false), (9.0, 10.0));
        assert_eq!(of(0.0, 100.0, true), (0.0, 106.0));
        assert_eq!(of(0.0, 0.0, true), (0.0, 1.0));
        assert_eq!(of(4.0, 4.0, false), (2.0, 6.0));
    }

    #[test]
    fn ends_that_make_no_sense_are_those_of_the_data() {
        let data = Extent { low: 1.0, high: 2.0, from_zero: false, has_room: false };
        for range in [(Some(3.0), Some(2.0)), (Some(f64::NAN), None), (None, Some(f64::INFINITY))] {
            let axis = Placed::of(&Axis { range, ..Axis::default() }, data);
            assert_eq!((axis.low, axis.high), (1.0, 2.0), "{range:?}");
        }
    }
}
