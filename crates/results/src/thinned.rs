//! The time series that a comparison plots, small enough to keep for each of many runs.

use crate::html::Thinning;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use weir_measure::{ClassSeries, ControlSeries, FlowSeries, Series};

/// The series of classes and flows, thinned to the number of steps that a page shows. Thinning is idempotent, so a page made from
/// them equals the page made from the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThinnedSeries {
    /// Length of a step, s.
    step_s: f64,
    /// Number of steps.
    samples: usize,
    flows: Vec<Columns>,
    /// Name and columns of each class.
    classes: Vec<(String, Columns)>,
}

/// The little-endian values of a class or a flow as base64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Columns {
    goodput_bps: String,
    delay_ms: String,
    lost: String,
    retransmitted: String,
}

impl ThinnedSeries {
    /// Thins the series of a run.
    pub fn of(series: &Series) -> ThinnedSeries {
        let thin = Thinning::of(series);
        let flow = |flow: &FlowSeries| {
            Columns::of(&thin, &flow.goodput_bps, &flow.delay_ms, [&flow.lost, &flow.retransmitted])
        };
        let class = |class: &ClassSeries| {
            let counts = [&class.lost[..], &class.retransmitted];
            (class.class.clone(), Columns::of(&thin, &class.goodput_bps, &class.delay_ms, counts))
        };
        ThinnedSeries {
            step_s: thin.step_s(series.step_s),
            samples: if series.samples == 0 { 0 } else { thin.points() },
            flows: series.flows.iter().map(flow).collect(),
            classes: series.classes.iter().map(class).collect(),
        }
    }

    /// The series of classes and flows, without links; `None` if the data are damaged.
    pub fn series(&self) -> Option<Series> {
        let flow = |columns: &Columns| {
            Some(FlowSeries {
                goodput_bps: floats(&columns.goodput_bps)?,
                delay_ms: floats(&columns.delay_ms)?,
                sent_rate: Vec::new(),
                lost: counts(&columns.lost)?,
                retransmitted: counts(&columns.retransmitted)?,
                control: ControlSeries::default(),
            })
        };
        let class = |(class, columns): &(String, Columns)| {
            Some(ClassSeries {
                class: class.clone(),
                goodput_bps: floats(&columns.goodput_bps)?,
                delay_ms: floats(&columns.delay_ms)?,
                lost: counts(&columns.lost)?,
                retransmitted: counts(&columns.retransmitted)?,
            })
        };
        Some(Series {
            step_s: self.step_s,
            samples: self.samples,
            flows: self.flows.iter().map(flow).collect::<Option<_>>()?,
            classes: self.classes.iter().map(class).collect::<Option<_>>()?,
            links: Vec::new(),
            requests: Vec::new(),
            nodes: Vec::new(),
        })
    }
}

impl Columns {
    fn of(thin: &Thinning, goodput: &[f32], delay: &[f32], [lost, again]: [&[u32]; 2]) -> Columns {
        let floats = |values: Vec<f32>| packed(values.into_iter().map(f32::to_le_bytes));
        let counts = |values: Vec<u32>| packed(values.into_iter().map(u32::to_le_bytes));
        Columns {
            goodput_bps: floats(thin.mean_values(goodput)),
            delay_ms: floats(thin.weighted_values(delay, goodput)),
            lost: counts(thin.count_values(lost)),
            retransmitted: counts(thin.count_values(again)),
        }
    }
}

fn packed(values: impl Iterator<Item = [u8; 4]>) -> String {
    STANDARD.encode(values.flatten().collect::<Vec<u8>>())
}

fn floats(text: &str) -> Option<Vec<f32>> {
    Some(words(text)?.into_iter().map(f32::from_le_bytes).collect())
}

fn counts(text: &str) -> Option<Vec<u32>> {
    Some(words(text)?.into_iter().map(u32::from_le_bytes).collect())
}

fn words(text: &str) -> Option<Vec<[u8; 4]>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (words, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| words.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay;
    use crate::sample;

    #[test]
    fn a_page_of_thinned_series_is_the_page_of_the_run() {
        for samples in [0, 1, 599, 1450] {
            let report = sample::dumbbell(4, samples);
            let text = serde_json::to_string(&ThinnedSeries::of(&report.series)).expect("JSON");
            let read: ThinnedSeries = serde_json::from_str(&text).expect("the same shape");
            let mut thinned = report.clone();
            thinned.series = read.series().expect("it is not damaged");
            let document = crate::ComparisonDocument::of("", &[vec![report.document.clone()]]);
            let plots = |report: &weir_measure::Report| {
                let mut page: serde_json::Value =
                    serde_json::from_str(&overlay::data(&document, std::slice::from_ref(report)))
                        .unwrap_or_default();
                // Thinned series do not contain the number of measured steps in a shown one.
                if let Some(time) = page["series"].get_mut("time") {
                    time["merged"] = serde_json::Value::Null;
                }
                page
            };
            assert_eq!(plots(&thinned), plots(&report), "{samples} samples");
            assert_eq!(ThinnedSeries::of(&thinned.series), read);
        }
    }

    #[test]
    fn damaged_series_are_none() {
        let mut thinned = ThinnedSeries::of(&sample::dumbbell(4, 10).series);
        thinned.flows[0].lost.truncate(5);
        assert_eq!(thinned.series(), None);
    }
}
