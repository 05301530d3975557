//! `sample`: the step of the time series.

use weir_core::units::Span;
use weir_document::Item;

use super::Result;

/// How many values the time series may have: steps times flows and directions of links.
const MAX_SERIES: u64 = 20_000_000;

/// The step of the time series, which has `width` values a step: 100 ms if none is given, or what
/// gives at most 2400 steps.
pub(super) fn step(top: &Item<'_>, duration: Span, width: usize) -> Result<Span> {
    let most = (MAX_SERIES / width.max(1) as u64).max(1);
    if top.given("sample").is_none() {
        return Ok(round_step(100_000_000, duration, most.min(2400)));
    }
    let sample = top.positive_span("sample")?;
    let steps = duration.as_nanos().div_ceil(sample.as_nanos());
    if steps > most {
        let value = top.value("sample")?;
        let message = format!(
            "{duration} in steps of {sample} are {steps} steps, of {width} flows and directions of links each: \
             more than {MAX_SERIES} values"
        );
        let help = format!("the smallest possible sample is {}", round_step(1, duration, most));
        return Err(top.error("sample", &value, message, help));
    }
    Ok(sample)
}

/// The first of 1, 2, 5 times a power of ten nanoseconds, from `decade`, that gives at most so many
/// steps.
fn round_step(mut decade: u64, duration: Span, most: u64) -> Span {
    let enough = |step: u64| duration.as_nanos().div_ceil(step) <= most;
    loop {
        for step in [1, 2, 5].map(|k| decade.saturating_mul(k)) {
            if enough(step) || step == u64::MAX {
                return Span::from_nanos(step);
            }
        }
        decade = decade.saturating_mul(10);
    }
}
