//! Expectations: their observers during a run, and their results.

mod settling;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use weir_core::units::{Span, Time};
use weir_measure::{ExpectationRow, FlowAccounts, LinkAccounts};
use weir_scenario::{self as scenario, Expectation, FlowId, Metric, Scenario};

use crate::error::ExperimentError;
use crate::experiment::Experiment;
use settling::Settling;
use value::Measured;
pub use value::bound;

/// One expectation and what was seen for it.
#[derive(Debug)]
struct Probe {
    expectation: Expectation,
    flows: Vec<usize>,
    /// For [`Metric::DataRate`] and [`Metric::QueueingMean`]: the flows that stand for the prefixes of these. A Data
    /// does not say whose of several consumers of its prefix it is.
    prefixes: Vec<u32>,
    /// Directions of links, sorted.
    links: Vec<usize>,
    window: (Time, Time),
    /// Bits of Data on the links during the window.
    data_bits: u64,
    /// How long these waited for the links, together.
    waited: Span,
    settling: Settling,
}

/// Expectations, and what was seen for each.
#[derive(Debug, Default)]
pub struct Probes {
    probes: Vec<Probe>,
    /// For each direction of a link: which probes count Data on it.
    by_link: Vec<Vec<u32>>,
}

impl Probes {
    /// Nothing to watch on so many directions of links yet.
    fn new(links: usize) -> Probes {
        Probes { probes: Vec::new(), by_link: vec![Vec::new(); links] }
    }

    /// Watches for an expectation, about the flows at these places of the accounts and directions of links.
    fn add(
        &mut self,
        scenario: &Scenario,
        expectation: &Expectation,
        flows: Vec<usize>,
        links: Vec<usize>,
        prefixes: Vec<u32>,
    ) {
        let at = |span: Span| Time::ZERO + span;
        let window = (at(expectation.window.0), at(expectation.window.1));
        if is_of_data(expectation.metric) {
            for &link in &links {
                self.by_link[link].push(self.probes.len() as u32);
            }
        }
        let settling = Settling::of(scenario, expectation, flows.len());
        let expectation = expectation.clone();
        self.probes.push(Probe {
            expectation,
            flows,
            prefixes,
            links,
            window,
            data_bits: 0,
            waited: Span::ZERO,
            settling,
        });
    }

    /// The windows in which something is measured for them.
    pub fn windows(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.probes.iter().map(|probe| probe.window)
    }

    /// Whether somebody counts Data on a link.
    #[inline]
    pub fn watches(&self, link: usize) -> bool {
        !self.by_link[link].is_empty()
    }

    /// A Data that had waited so long was put on a link; `flow` stands for all of its prefix, and the accounts say
    /// what is being measured.
    pub fn on_data(
        &mut self,
        link: usize,
        flow: Option<u32>,
        bits: u64,
        waited: Span,
        accounts: &LinkAccounts,
    ) {
        let Some(flow) = flow else { return };
        for &index in &self.by_link[link] {
            let probe = &mut self.probes[index as usize];
            if probe.prefixes.contains(&flow) && accounts.is_measuring(probe.window) {
                probe.data_bits += bits;
                probe.waited = probe.waited + waited;
            }
        }
    }

    /// The end of a step, and the content that each flow got by then, bytes.
    pub fn on_sample(&mut self, now: Time, content: impl Fn(usize) -> u64) {
        for probe in self.probes.iter_mut().filter(|p| p.expectation.metric == Metric::Settle) {
            let bytes = probe.flows.iter().map(|&flow| content(flow)).sum();
            probe.settling.on_sample(now, bytes);
        }
    }

    /// The same of all steps at once, from the time series of the flows, whose steps are so long.
    pub fn on_series(&mut self, flows: &FlowAccounts, step: Span) {
        let (series, step_s) = (flows.flow_series(), step.as_secs_f64());
        let mut content = vec![0.0; series.len()];
        for sample in 0..flows.samples() {
            for (sum, flow) in content.iter_mut().zip(series) {
                *sum += f64::from(flow.goodput_bps[sample]) * step_s / 8.0;
            }
            let end = Time::ZERO + step * (sample as u64 + 1);
            self.on_sample(end, |flow| content.get(flow).map_or(0, |sum: &f64| sum.round() as u64));
        }
    }

    /// What came out, a row an expectation whose window was measured to its end.
    pub fn rows(&self, flows: &FlowAccounts, links: Option<&LinkAccounts>) -> Vec<ExpectationRow> {
        let row = |probe: &Probe| {
            let (place, interval) = flows.between(probe.window)?;
            let links = links.map(|links| links.interval(place));
            Some(probe.row(probe.measured(&Measured { completion: flows.completion(), interval, links })))
        };
        self.probes.iter().filter_map(row).collect()
    }
}

impl Experiment {
    /// The expectations of the scheme, for a world that sees all flows and links.
    ///
    /// # Errors
    /// [`ExperimentError::Unsupported`]: one that cannot be measured.
    pub fn probes(&self) -> Result<Probes, ExperimentError> {
        let scenario = self.scenario();
        let mut probes = Probes::new(2 * scenario.links.len());
        for expectation in scenario.expectations_for(self.scheme().entry.name) {
            let direction = |link: &scenario::DirectedLink| 2 * link.link.index() + link.direction;
            let links = match expectation.metric {
                Metric::QueueingMean => (0..2 * scenario.links.len()).collect(),
                _ => expectation.select.links.iter().map(direction).collect(),
            };
            let flows = expectation.select.flows.iter().map(|flow| flow.index()).collect();
            let prefixes = match expectation.metric {
                metric if is_of_data(metric) => whole_prefixes(scenario, expectation)?,
                _ => Vec::new(),
            };
            probes.add(scenario, expectation, flows, links, prefixes);
        }
        Ok(probes)
    }

    /// Those that applications can check, from what their flows got; and what the others are about.
    /// `place` says where a flow is in the accounts, and `None` of one that is not there.
    pub fn probes_of_applications(&self, place: impl Fn(FlowId) -> Option<usize>) -> (Probes, Vec<String>) {
        let (mut probes, mut others) = (Probes::new(0), Vec::new());
        for expectation in self.scenario().expectations_for(self.scheme().entry.name) {
            let flows: Option<Vec<usize>> =
                expectation.select.flows.iter().map(|flow| place(*flow)).collect();
            match flows.filter(|_| is_seen_by_applications(expectation.metric)) {
                Some(flows) => probes.add(self.scenario(), expectation, flows, Vec::new(), Vec::new()),
                None => others.push(expectation.what.clone()),
            }
        }
        (probes, others)
    }
}

/// The prefixes of an expectation's flows, each by its first flow. All consumers of a prefix must
/// be selected, or none: Data on a link does not say whose it is.
fn whole_prefixes(scenario: &Scenario, expectation: &Expectation) -> Result<Vec<u32>, ExperimentError> {
    let selected: BTreeSet<usize> = expectation.select.flows.iter().map(|flow| flow.index()).collect();
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let first = *first_of.entry(&flow.prefix).or_insert(index);
        if selected.contains(&index) != selected.contains(&first) {
            return Err(ExperimentError::Unsupported(format!(
                "expectation \"{}\": on links, Data under {} cannot be attributed to one consumer; select all flows of the prefix, or measure goodput or delay",
                expectation.what, flow.prefix
            )));
        }
    }
    let firsts = first_of.into_values().filter(|first| selected.contains(first));
    Ok(firsts.map(|first| first as u32).collect())
}

/// Whether what was measured tells an application; what a network drops does not, and links are not its own.
fn is_seen_by_applications(metric: Metric) -> bool {
    !metric.needs_link() && !matches!(metric, Metric::Lost | Metric::QueueingMean)
}

/// Whether Data of certain flows are watched on links.
fn is_of_data(metric: Metric) -> bool {
    matches!(metric, Metric::DataRate | Metric::QueueingMean)
}
