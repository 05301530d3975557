//! The random traffic of a flow: when it requests objects, which ones, how many Data each has, and when it
//! pauses.
//!
//! A scenario gives distributions as texts, such as `exponential 50`, `pareto 3 to 3000 shape 1.1` or
//! `poisson 20/s`. This module parses them. Nothing here is random: a world draws from them with streams of
//! its seed.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use weir_core::units::Span;

/// A distribution of positive numbers. Its use determines the unit: Data, or seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always this value.
    Constant(f64),
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto: the probability of a value above x is (least/x)^shape.
    Pareto {
        /// The smallest value.
        least: f64,
        /// The shape, above 1: the mean is least·shape/(shape − 1).
        shape: f64,
    },
    /// Pareto between two values: its probability density falls as x^(−shape − 1) between them.
    BoundedPareto {
        /// The smallest value.
        least: f64,
        /// The largest value.
        most: f64,
        /// The shape, above 0.
        shape: f64,
    },
    /// Lognormal: its logarithm is normal.
    Lognormal {
        /// The mean of the values, not of their logarithms.
        mean: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Uniform between two values.
    Uniform {
        /// The smallest value.
        least: f64,
        /// The largest value.
        most: f64,
    },
    /// One of these values with equal probability: a list, or the content of a file.
    OneOf(Arc<[f64]>),
}

impl Distribution {
    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Constant(value) => value,
            Distribution::Exponential { mean } | Distribution::Lognormal { mean, .. } => mean,
            Distribution::Pareto { least, shape } => least * shape / (shape - 1.0),
            Distribution::BoundedPareto { least, most, shape } => {
                let weight = 1.0 - (least / most).powf(shape);
                if (shape - 1.0).abs() < 1e-9 {
                    least * (most / least).ln() / weight
                } else {
                    least * shape / (shape - 1.0) * (1.0 - (least / most).powf(shape - 1.0)) / weight
                }
            }
            Distribution::Uniform { least, most } => f64::midpoint(least, most),
            Distribution::OneOf(ref values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// Returns the median: half of the draws are this or more.
    pub fn median(&self) -> f64 {
        match *self {
            Distribution::Constant(value) => value,
            Distribution::Exponential { mean } => mean * core::f64::consts::LN_2,
            Distribution::Pareto { least, shape } => least * 2.0_f64.powf(1.0 / shape),
            Distribution::BoundedPareto { least, most, shape } => {
                let beyond = (least / most).powf(shape);
                least * (1.0 - 0.5 * (1.0 - beyond)).powf(-1.0 / shape)
            }
            Distribution::Lognormal { mean, sigma } => mean * (-sigma * sigma / 2.0).exp(),
            Distribution::Uniform { least, most } => f64::midpoint(least, most),
            Distribution::OneOf(ref values) => {
                let mut sorted = values.to_vec();
                sorted.sort_by(f64::total_cmp);
                sorted[sorted.len() / 2]
            }
        }
    }

    /// Returns whether all draws are equal.
    pub fn is_constant(&self) -> bool {
        matches!(self, Distribution::Constant(_))
    }

    /// Parses a distribution such as `exponential 50`. `number` parses a value, such as `50` or `20 ms`.
    ///
    /// # Errors
    /// Returns a message if the text is not a valid distribution.
    pub fn parse(text: &str, number: &dyn Fn(&str) -> Result<f64, String>) -> Result<Distribution, String> {
        let text = text.trim();
        let (kind, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        let value = |text: &str| {
            let value = number(text.trim())?;
            if value > 0.0 && value.is_finite() { Ok(value) } else { Err(format!("`{text}` is not above 0")) }
        };
        let bare = |text: &str, what: &str| -> Result<f64, String> {
            let number: f64 =
                text.trim().parse().map_err(|_| format!("the {what} `{}` is not a number", text.trim()))?;
            if number > 0.0 && number.is_finite() {
                Ok(number)
            } else {
                Err(format!("the {what} is not above 0"))
            }
        };
        let range = |text: &str| -> Result<(f64, f64), String> {
            let (least, most) = text.split_once(" to ").ok_or("a range is written as `10 to 90`")?;
            let (least, most) = (value(least)?, value(most)?);
            if least < most {
                Ok((least, most))
            } else {
                Err(format!("`{text}` is not a range: write the smaller value first"))
            }
        };
        match kind {
            "constant" => Ok(Distribution::Constant(value(rest)?)),
            "exponential" => Ok(Distribution::Exponential { mean: value(rest)? }),
            "pareto" => {
                let (of, shape) = rest.split_once(" shape ").ok_or("a Pareto distribution has a mean and a shape, `pareto 50 shape 1.5`, or a range and a shape, `pareto 3 to 3000 shape 1.1`")?;
                let shape = bare(shape, "shape")?;
                if of.contains(" to ") {
                    let (least, most) = range(of)?;
                    return Ok(Distribution::BoundedPareto { least, most, shape });
                }
                if shape <= 1.0 {
                    return Err(format!(
                        "a Pareto distribution of shape {shape} has no mean: give a shape above 1, or a range, `pareto 3 to 3000 shape {shape}`"
                    ));
                }
                Ok(Distribution::Pareto { least: value(of)? * (shape - 1.0) / shape, shape })
            }
            "lognormal" => {
                let (mean, sigma) = rest.split_once(" sigma ").ok_or("a lognormal distribution has a mean and the standard deviation of the logarithm: `lognormal 50 sigma 1.2`")?;
                let sigma = bare(sigma, "sigma")?;
                if sigma > 10.0 {
                    return Err(format!(
                        "sigma is {sigma}: it is the standard deviation of the logarithm, at most 10"
                    ));
                }
                Ok(Distribution::Lognormal { mean: value(mean)?, sigma })
            }
            "uniform" => {
                let (least, most) = range(rest)?;
                Ok(Distribution::Uniform { least, most })
            }
            "one" => {
                let list = rest.strip_prefix("of ").ok_or("a list is written as `one of 10, 20, 50`")?;
                let values: Result<Vec<f64>, String> = list.split(',').map(value).collect();
                Ok(Distribution::OneOf(values?.into()))
            }
            _ => Ok(Distribution::Constant(
                value(text).map_err(|_| format!("`{text}` is not a distribution"))?,
            )),
        }
    }

    /// Reads the values of a file, one on each line. Empty lines and those that begin with `#` are ignored.
    ///
    /// # Errors
    /// Returns a message about the first wrong line.
    pub fn of_lines(
        text: &str,
        number: &dyn Fn(&str) -> Result<f64, String>,
    ) -> Result<Distribution, String> {
        let mut values = Vec::new();
        for (line, content) in lines(text) {
            let value = number(content).ok().filter(|value| *value > 0.0 && value.is_finite());
            values.push(value.ok_or_else(|| format!("line {line}: `{content}` is not a number above 0"))?);
        }
        if values.is_empty() {
            Err("it has no values".to_owned())
        } else {
            Ok(Distribution::OneOf(values.into()))
        }
    }
}

/// Iterates over the lines of a file that have content, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The arrival process of a flow's requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// A Poisson process.
    Poisson {
        /// The rate, requests a second.
        per_second: f64,
    },
    /// One request in each interval of this length, the first at the start of the flow.
    Every(Span),
    /// At given times.
    Listed(Arc<[Request]>),
}

/// A request of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Its time, from the start of the flow.
    pub at: Span,
    /// The object, from 0; `None`: a new one.
    pub object: Option<u64>,
    /// The Data that it fetches; `None`: as given by the flow's `amount`.
    pub amount: Option<u64>,
}

impl FromStr for Arrivals {
    type Err = String;

    /// Parses `poisson 5/s` or `every 200 ms`.
    fn from_str(text: &str) -> Result<Arrivals, String> {
        let (kind, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        match kind {
            "poisson" => {
                let per_second = rate(rest.trim()).ok_or_else(|| {
                    format!("`{}` is not a rate of requests, such as `5/s` or `0.2/s`, at most {MOST_REQUESTS_PER_SECOND}/s", rest.trim())
                })?;
                Ok(Arrivals::Poisson { per_second })
            }
            "every" => {
                let every: Span = rest.trim().parse().map_err(|e| format!("{e}"))?;
                if every < Span::from_micros(1) {
                    return Err(format!("a request every {every}: the shortest interval is 1 us"));
                }
                Ok(Arrivals::Every(every))
            }
            _ => Err(format!("`{text}` is not a process of arrivals")),
        }
    }
}

const MOST_REQUESTS_PER_SECOND: f64 = 1e6;

/// Parses `5/s`, `300/min` or `0.5/ms`.
fn rate(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once('/')?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "ms" => 1e-3,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let per_second = number.trim().parse::<f64>().ok()? / seconds;
    (per_second > 0.0 && per_second <= MOST_REQUESTS_PER_SECOND).then_some(per_second)
}

impl Arrivals {
    /// Reads a file of requests in order of time: `time`, `time,object` or `time,object,amount` on each line.
    /// Times are in seconds. An empty field counts as missing. A first line of words is a header.
    ///
    /// # Errors
    /// Returns a message about the first wrong line.
    pub fn of_lines(text: &str) -> Result<Arrivals, String> {
        let mut requests: Vec<Request> = Vec::new();
        for (at, (line, content)) in lines(text).enumerate() {
            let fields: Vec<&str> = content.split(',').map(str::trim).collect();
            if at == 0 && fields[0].starts_with(char::is_alphabetic) {
                continue;
            }
            let wrong = |what: &str| {
                format!("line {line}: {what}; a line is `time,object,amount`, the time in seconds")
            };
            let time: f64 =
                fields[0].parse().map_err(|_| wrong(&format!("`{}` is not a time", fields[0])))?;
            if !(0.0..=1e9).contains(&time) {
                return Err(wrong(&format!("the time {time} s is not 0 to 1e9 s")));
            }
            let whole =
                |at: usize, least: u64, what: &str| match fields.get(at).filter(|field| !field.is_empty()) {
                    None => Ok(None),
                    Some(field) => match field.parse::<u64>() {
                        Ok(value) if (least..=MOST_DATA).contains(&value) => Ok(Some(value)),
                        _ => Err(wrong(&format!("`{field}` is not an {what}"))),
                    },
                };
            if fields.len() > 3 {
                return Err(wrong("too many fields"));
            }
            let request = Request {
                at: Span::from_nanos((time * 1e9).round() as u64),
                object: whole(1, 0, "object, a whole number from 0")?,
                amount: whole(2, 1, "amount, a whole number from 1")?,
            };
            if requests.last().is_some_and(|before| before.at > request.at) {
                return Err(wrong("the time is before that of the line above"));
            }
            requests.push(request);
        }
        if requests.is_empty() {
            Err("it has no requests".to_owned())
        } else {
            Ok(Arrivals::Listed(requests.into()))
        }
    }
}

/// The largest number of Data in a request.
pub const MOST_DATA: u64 = 1 << 40;

/// The popularity of a flow's objects; by default all are equally popular.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Popularity {
    /// s: the object of rank k, from 1, is requested in proportion to 1/(k + q)^s. 0: all are equally
    /// popular.
    pub exponent: f64,
    /// q, at least 0.
    pub shift: f64,
}

impl FromStr for Popularity {
    type Err = String;

    /// Parses `zipf 0.8`, `zipf 0.8 shift 5` (Zipf-Mandelbrot) or `uniform`.
    fn from_str(text: &str) -> Result<Popularity, String> {
        let text = text.trim();
        if text == "uniform" {
            return Ok(Popularity::default());
        }
        let rest = text.strip_prefix("zipf ").ok_or_else(|| format!("`{text}` is not a popularity"))?;
        let (exponent, shift) = rest.split_once(" shift ").unwrap_or((rest, "0"));
        let number = |text: &str, what: &str, most: f64| {
            let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
            number.ok_or_else(|| format!("the {what} `{}` is not a number from 0 to {most}", text.trim()))
        };
        Ok(Popularity { exponent: number(exponent, "exponent", 10.0)?, shift: number(shift, "shift", 1e6)? })
    }
}

/// The requests of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// The number of Data of an object.
    pub amount: Distribution,
    /// The number of objects; `None`: each request is for a new one.
    pub objects: Option<u64>,
    /// The popularity of the objects.
    pub popularity: Popularity,
}

impl Requests {
    /// Returns whether any part of them is random.
    pub fn is_random(&self) -> bool {
        match &self.arrivals {
            Arrivals::Poisson { .. } => true,
            Arrivals::Every(_) => {
                self.objects.is_some_and(|objects| objects > 1) || !self.amount.is_constant()
            }
            Arrivals::Listed(requests) => {
                let draws_amount =
                    requests.iter().any(|request| request.amount.is_none()) && !self.amount.is_constant();
                draws_amount
                    || self.objects.is_some() && requests.iter().any(|request| request.object.is_none())
            }
        }
    }
}

/// The active times and the pauses of a flow, in turns, the first active.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The lengths of the active times, s.
    pub on: Distribution,
    /// The lengths of the pauses, s.
    pub off: Distribution,
}

/// The smallest median of an active time and of a pause, s. So a run has at most twice as many of them as
/// milliseconds.
const LEAST_MEDIAN_S: f64 = 1e-3;

impl FromStr for Activity {
    type Err = String;

    /// Parses `on exponential 1 s off pareto 3 s shape 1.5`.
    fn from_str(text: &str) -> Result<Activity, String> {
        let form = || format!("`{text}` is not an activity");
        let (on, off) =
            text.trim().strip_prefix("on ").and_then(|rest| rest.split_once(" off ")).ok_or_else(form)?;
        let read = |text: &str| {
            let times = Distribution::parse(text, &seconds)?;
            if times.median() < LEAST_MEDIAN_S {
                return Err(format!("half of the times of `{text}` are below 1 ms"));
            }
            Ok(times)
        };
        Ok(Activity { on: read(on)?, off: read(off)? })
    }
}

/// Parses a time as seconds.
fn seconds(text: &str) -> Result<f64, String> {
    text.parse::<Span>().map(Span::as_secs_f64).map_err(|error| error.to_string())
}

/// Parses a number of Data.
pub(crate) fn data(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of Data"))?;
    if number <= MOST_DATA as f64 {
        Ok(number)
    } else {
        Err(format!("{number} Data are more than {MOST_DATA}"))
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arrivals::Poisson { per_second } => write!(f, "poisson {per_second}/s"),
            Arrivals::Every(every) => write!(f, "every {every}"),
            Arrivals::Listed(requests) => write!(f, "{} requests of a file", requests.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Distribution, String> {
        Distribution::parse(text, &data)
    }

    #[test]
    fn distributions_are_read_with_their_means() {
        let means = [
            ("50", 50.0),
            ("constant 50", 50.0),
            ("exponential 50", 50.0),
            ("pareto 50 shape 1.5", 50.0),
            ("lognormal 50 sigma 1.2", 50.0),
            ("uniform 10 to 90", 50.0),
            ("one of 10, 20, 60", 30.0),
            // From the integral of x times the density.
            ("pareto 3 to 3000 shape 1.1", 16.470),
            ("pareto 1 to 100 shape 1", 4.6517),
        ];
        for (text, mean) in means {
            let found = of(text).unwrap().mean();
            assert!((found - mean).abs() < 1e-3 * mean, "{text}: {found}");
        }
    }

    #[test]
    fn half_of_the_values_are_below_the_median() {
        let medians = [
            ("50", 50.0),
            ("exponential 50", 34.657),
            ("pareto 30 shape 3", 20.0 * 2.0_f64.cbrt()),
            // (1 - (3/x)^1.5) / (1 - 0.001) is one half there.
            ("pareto 3 to 300 shape 1.5", 4.7591),
            ("lognormal 50 sigma 1", 30.327),
            ("uniform 10 to 90", 50.0),
            ("one of 60, 10, 20", 20.0),
        ];
        for (text, median) in medians {
            let found = of(text).unwrap().median();
            assert!((found - median).abs() < 1e-3 * median, "{text}: {found}");
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused_with_the_reason() {
        let wrong = [
            ("normal 5", "not a distribution"),
            ("exponential", "not a number"),
            ("exponential -1", "not above 0"),
            ("exponential inf", "more than"),
            ("pareto 50", "shape"),
            ("pareto 50 shape 1", "no mean"),
            ("pareto 50 shape x", "not a number"),
            ("pareto 5 to 3 shape 1", "not a range"),
            ("uniform 10", "range"),
            ("lognormal 5 sigma 99", "at most 10"),
            ("one 5", "one of"),
            ("one of 5, x", "not a number"),
        ];
        for (text, part) in wrong {
            let message = of(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn arrivals_are_read() {
        assert_eq!("poisson 300/min".parse(), Ok(Arrivals::Poisson { per_second: 5.0 }));
        assert_eq!("every 200 ms".parse(), Ok(Arrivals::Every(Span::from_millis(200))));
        for wrong in
            ["poisson", "poisson 5", "poisson 0/s", "poisson 1e9/s", "every 0 ms", "every 5", "often", ""]
        {
            assert!(wrong.parse::<Arrivals>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_of_requests_is_read_line_by_line() {
        let Ok(Arrivals::Listed(requests)) =
            Arrivals::of_lines("time,object,amount\n# warm\n0.5,3,20\n\n1,,7\n1.5\n")
        else {
            panic!("it is a file of requests")
        };
        let at = |ms, object, amount| Request { at: Span::from_millis(ms), object, amount };
        assert_eq!(*requests, [at(500, Some(3), Some(20)), at(1000, None, Some(7)), at(1500, None, None)]);
        for (text, part) in [
            ("1\n0.5", "line 2"),
            ("1,x", "object"),
            ("1,1,0", "amount"),
            ("-1", "time"),
            ("1,1,1,1", "many"),
            ("t\n", "no requests"),
        ] {
            assert!(Arrivals::of_lines(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn popularity_and_activity_are_read() {
        assert_eq!("zipf 0.8".parse(), Ok(Popularity { exponent: 0.8, shift: 0.0 }));
        assert_eq!("zipf 0.8 shift 5".parse(), Ok(Popularity { exponent: 0.8, shift: 5.0 }));
        assert!("zipf x".parse::<Popularity>().is_err() && "zeta 1".parse::<Popularity>().is_err());
        let activity: Activity = "on exponential 1 s off pareto 3 s shape 1.5".parse().unwrap();
        assert_eq!((activity.on.mean(), activity.off.mean()), (1.0, 3.0));
        for wrong in [
            "on 1 s",
            "exponential 1 s",
            "on exponential 1 off exponential 1 s",
            "on 1 us off 1 s",
            "on lognormal 1 s sigma 10 off 1 s",
        ] {
            assert!(wrong.parse::<Activity>().is_err(), "{wrong}");
        }
    }
}
