//! The observers of a run, and their observations: for a scenario's expectations and for further probes.

mod settling;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use weir_core::units::{Span, Time};
use weir_measure::{ExpectationRow, FlowAccounts, LinkAccounts, NodeAccounts, ProbeValue};
use weir_scenario::{self as scenario, Expectation, FlowId, Metric, Scenario, Stated};

use crate::error::ExperimentError;
use crate::experiment::Experiment;
use crate::probe::Probe;
use settling::Settling;
pub use value::relation;

/// The accounts of a run from which values are computed.
#[derive(Clone, Copy, Debug)]
pub struct Accounts<'a> {
    /// The accounts of the flows.
    pub flows: &'a FlowAccounts,
    /// The accounts of the links; `None` in a world that does not observe links.
    pub links: Option<&'a LinkAccounts>,
    /// The accounts of the nodes; `None` in a world that does not observe nodes.
    pub nodes: Option<&'a NodeAccounts>,
}

/// One probe and its observations.
#[derive(Clone, Debug)]
struct Observer {
    probe: Probe,
    flows: Vec<usize>,
    /// For [`Metric::DataRate`] and [`Metric::QueueingMean`]: the flows that represent the prefixes of the
    /// selected flows. A Data does not show to which consumer of its prefix it belongs.
    prefixes: Vec<u32>,
    /// The directions of links, sorted.
    links: Vec<usize>,
    nodes: Vec<usize>,
    /// For [`Metric::Lost`] of all flows: whether nodes and links report lost Data, and flows do not.
    by_network: bool,
    window: (Time, Time),
    /// The bits of Data on the links during the window.
    data_bits: u64,
    /// The total time for which these waited for the links.
    waited: Span,
    settling: Settling,
}

/// A scenario's statement about the value of a probe.
#[derive(Clone, Debug)]
struct Statement {
    source: String,
    stated: Stated,
}

/// All observers of a run, and their observations.
#[derive(Clone, Debug, Default)]
pub struct Observers {
    observers: Vec<Observer>,
    /// The scenario's expectations: an observer and a statement each.
    expectations: Vec<(usize, Statement)>,
    /// The observer of each probe of the setup; `None` if the world cannot measure it.
    further: Vec<Option<usize>>,
    /// The observers that count Data on each direction of a link.
    by_link: Vec<Vec<u32>>,
}

impl Observer {
    /// Returns an observer of the flows at these indices of the accounts, and of directions of links.
    fn new(scenario: &Scenario, probe: Probe, flows: Vec<usize>) -> Observer {
        let at = |span: Span| Time::ZERO + span;
        Observer {
            window: (at(probe.window.0), at(probe.window.1)),
            settling: Settling::of(scenario, &probe, flows.len()),
            probe,
            flows,
            prefixes: Vec::new(),
            links: Vec::new(),
            nodes: Vec::new(),
            by_network: false,
            data_bits: 0,
            waited: Span::ZERO,
        }
    }
}

impl Observers {
    /// Returns observers without probes, for this number of directions of links.
    fn new(links: usize) -> Observers {
        Observers { by_link: vec![Vec::new(); links], ..Observers::default() }
    }

    /// Adds an observer. Returns its index.
    fn add(&mut self, observer: Observer) -> usize {
        let place = self.observers.len();
        if is_of_data(observer.probe.metric) {
            for &link in &observer.links {
                self.by_link[link].push(place as u32);
            }
        }
        self.observers.push(observer);
        place
    }

    /// Adds the observer of an expectation.
    fn expect(&mut self, observer: Observer, expectation: &Expectation) {
        let Expectation { source, stated, .. } = expectation.clone();
        let place = self.add(observer);
        self.expectations.push((place, Statement { source, stated }));
    }

    /// Returns the observers for a part of the network, which has these directions of links in this order.
    #[must_use]
    pub fn of_links(mut self, links: impl Iterator<Item = usize>) -> Observers {
        self.by_link = links.map(|link| core::mem::take(&mut self.by_link[link])).collect();
        self
    }

    /// Adds the observations of another part of the network.
    pub fn take_in(&mut self, part: &Observers) {
        for (own, of_part) in self.observers.iter_mut().zip(&part.observers) {
            own.data_bits += of_part.data_bits;
            own.waited = own.waited + of_part.waited;
            own.settling.take_in(&of_part.settling);
        }
    }

    /// Iterates over the windows in which the observers measure.
    pub fn windows(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.observers.iter().map(|observer| observer.window)
    }

    /// Returns whether an observer counts Data on a link.
    #[inline]
    pub fn watches(&self, link: usize) -> bool {
        !self.by_link[link].is_empty()
    }

    /// Counts a Data that was put on a link after it had waited for `waited`. `flow` represents its prefix,
    /// and the accounts know the current windows.
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
            let observer = &mut self.observers[index as usize];
            if observer.prefixes.contains(&flow) && accounts.is_measuring(observer.window) {
                observer.data_bits += bits;
                observer.waited = observer.waited + waited;
            }
        }
    }

    /// Handles the end of a step, with the content that each flow received until then, bytes.
    pub fn on_sample(&mut self, now: Time, content: impl Fn(usize) -> u64) {
        for observer in self.observers.iter_mut().filter(|o| o.probe.metric == Metric::Settle) {
            let bytes = observer.flows.iter().map(|&flow| content(flow)).sum();
            observer.settling.on_sample(now, bytes);
        }
    }

    /// Handles all steps at once, from the time series of the flows with this step.
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

    /// Returns the results, a row for each expectation whose window was measured to its end.
    pub fn rows(&self, accounts: Accounts<'_>) -> Vec<ExpectationRow> {
        let row = |(place, statement): &(usize, Statement)| {
            let observer = &self.observers[*place];
            Some(statement.row(&observer.probe, observer.value(accounts)?))
        };
        self.expectations.iter().filter_map(row).collect()
    }

    /// Returns the values of the further probes, in order.
    pub fn values(&self, accounts: Accounts<'_>) -> Vec<ProbeValue> {
        let value = |place: &Option<usize>| self.observers[(*place)?].value(accounts);
        self.further.iter().map(|place| value(place).unwrap_or_default()).collect()
    }
}

impl Experiment {
    /// Returns observers of the scheme's expectations and of the further probes, for a world that observes
    /// all flows and links.
    ///
    /// # Errors
    /// Returns [`ExperimentError::Unsupported`] if something cannot be measured.
    pub fn observers(&self) -> Result<Observers, ExperimentError> {
        let mut observers = Observers::new(2 * self.scenario().links.len());
        for expectation in self.expectations() {
            observers.expect(self.observer(Probe::from(expectation))?, expectation);
        }
        for probe in self.further_probes() {
            let place = observers.add(self.observer(probe.clone())?);
            observers.further.push(Some(place));
        }
        Ok(observers)
    }

    /// Returns observers that need only the flows of applications, and the descriptions of the other probes.
    /// `place` returns the index of a flow in the accounts, or `None` if it is not there.
    pub fn observers_of_applications(
        &self,
        place: impl Fn(FlowId) -> Option<usize>,
    ) -> (Observers, Vec<String>) {
        let (mut observers, mut others) = (Observers::new(0), Vec::new());
        let observer = |probe: Probe| {
            let flows: Option<Vec<usize>> = probe.select.flows.iter().map(|flow| place(*flow)).collect();
            let flows = flows.filter(|_| is_seen_by_applications(probe.metric))?;
            Some(Observer::new(self.scenario(), probe, flows))
        };
        for expectation in self.expectations() {
            match observer(Probe::from(expectation)) {
                Some(observer) => observers.expect(observer, expectation),
                None => others.push(expectation.what.clone()),
            }
        }
        for probe in self.further_probes() {
            let place = observer(probe.clone()).map(|observer| observers.add(observer));
            observers.further.push(place);
            others.extend(place.is_none().then(|| probe.label.clone()));
        }
        (observers, others)
    }

    /// Returns observers for a world that observes applications, links and nodes, but not the wait of a Data for
    /// a link or its hops; and the descriptions of the other probes.
    pub fn observers_of_network(&self) -> (Observers, Vec<String>) {
        let (mut observers, mut others) = (Observers::new(2 * self.scenario().links.len()), Vec::new());
        let all = self.scenario().flows.len();
        // It is not known whose Data was lost.
        let is_seen = |observer: &Observer| match observer.probe.metric {
            Metric::QueueingMean | Metric::HopsMean => false,
            Metric::Lost => observer.flows.len() == all,
            _ => true,
        };
        let observer = |probe: Probe| {
            let by_network = probe.metric == Metric::Lost;
            Some(Observer { by_network, ..self.observer(probe).ok()? }).filter(is_seen)
        };
        for expectation in self.expectations() {
            match observer(Probe::from(expectation)) {
                Some(observer) => observers.expect(observer, expectation),
                None => others.push(expectation.what.clone()),
            }
        }
        for probe in self.further_probes() {
            let place = observer(probe.clone()).map(|observer| observers.add(observer));
            observers.further.push(place);
            others.extend(place.is_none().then(|| probe.label.clone()));
        }
        (observers, others)
    }

    /// Iterates over the scenario's statements about the running scheme.
    fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.scenario().expectations_for(self.scheme().entry.name)
    }

    fn observer(&self, probe: Probe) -> Result<Observer, ExperimentError> {
        let scenario = self.scenario();
        let direction = |link: &scenario::DirectedLink| 2 * link.link.index() + link.direction;
        let links = match probe.metric {
            Metric::QueueingMean => (0..2 * scenario.links.len()).collect(),
            _ => probe.select.links.iter().map(direction).collect(),
        };
        let nodes = match &probe.select.nodes[..] {
            [] => (0..scenario.nodes.len()).collect(),
            some => some.iter().map(|node| node.index()).collect(),
        };
        let prefixes = match probe.metric {
            metric if is_of_data(metric) => whole_prefixes(scenario, &probe)?,
            _ => Vec::new(),
        };
        let flows = probe.select.flows.iter().map(|flow| flow.index()).collect();
        Ok(Observer { prefixes, links, nodes, ..Observer::new(scenario, probe, flows) })
    }
}

/// Returns the prefixes of a probe's flows, each by its first flow. All consumers of a prefix must be
/// selected, or none: a Data on a link does not show to which it belongs.
fn whole_prefixes(scenario: &Scenario, probe: &Probe) -> Result<Vec<u32>, ExperimentError> {
    let selected: BTreeSet<usize> = probe.select.flows.iter().map(|flow| flow.index()).collect();
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let first = *first_of.entry(&flow.prefix).or_insert(index);
        if selected.contains(&index) != selected.contains(&first) {
            return Err(ExperimentError::Unsupported(format!(
                "\"{}\" cannot be measured: on links, Data under {} cannot be attributed to one consumer; select all flows of the prefix, or measure goodput or delay",
                probe.label, flow.prefix
            )));
        }
    }
    let firsts = first_of.into_values().filter(|first| selected.contains(first));
    Ok(firsts.map(|first| first as u32).collect())
}

/// Returns whether an application can measure this. Drops in the network and links are not visible to it.
fn is_seen_by_applications(metric: Metric) -> bool {
    !metric.needs_link()
        && !metric.is_of_nodes()
        && !matches!(metric, Metric::Lost | Metric::QueueingMean | Metric::HopsMean)
}

/// Returns whether Data of certain flows are observed on links.
fn is_of_data(metric: Metric) -> bool {
    matches!(metric, Metric::DataRate | Metric::QueueingMean)
}
