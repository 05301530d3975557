//! `sample`: the step of the time series.

use weir_core::units::Span;
use weir_document::Item;

use super::Result;

/// The largest number of values in the time series: steps times flows and link directions.
const MAX_SERIES: u64 = 20_000_000;

/// Returns the step of the time series, which has `width` values a step. The default is 100 ms, or a longer
/// step with at most 2400 steps.
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

/// Returns the first of 1, 2, 5 times a power of ten nanoseconds, from `decade`, that gives at most `most`
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
