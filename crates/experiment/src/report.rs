//! Makes the report of a run from its counters.

use weir_core::consumer::ConsumerCounters;
use weir_measure::{
    DistributionRow, DropRow, DroppedByReason, FlowAccounts, Interval, LinkAccounts, LinkRow, NodeAccounts,
    NodeRow, Report, RequestAccounts, RequestRow, RunDocument, Series, Topology, WindowRow, drop_rows,
};

use crate::changes::changes;
use crate::experiment::Experiment;
use crate::observe::{Accounts, Observers};

/// The measurements of a world.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The accounts of the flows; of all, or of those that the world runs.
    pub flows: FlowAccounts,
    /// The accounts of the links; `None` in a world that does not observe them.
    pub links: Option<LinkAccounts>,
    /// The accounts of requests; `None` in a world without them.
    pub requests: Option<RequestAccounts>,
    /// The accounts of the nodes; `None` in a world that does not observe them.
    pub nodes: Option<NodeAccounts>,
    /// The observations for the expectations and the further probes.
    pub observers: &'a Observers,
    /// The number of events handled.
    pub events: u64,
    /// The number of packets put on links.
    pub packet_hops: u64,
    /// The packets dropped, in the order of [`weir_core::seam::DropReason::ALL`].
    pub drops: DroppedByReason,
}

impl Measured<'_> {
    /// Returns the dropped packets by reason, and the part of the Data that was dropped.
    fn drops(&self) -> (Vec<DropRow>, f64) {
        let sum = |of: fn(&ConsumerCounters) -> u64| -> u64 {
            (0..self.flows.flows()).map(|flow| of(&self.flows.total(flow).counters)).sum()
        };
        let again = DropRow {
            reason: "came to the consumer again".to_owned(),
            place: "consumer".to_owned(),
            data: sum(|counters| counters.duplicates),
            interests: 0,
        };
        let mut rows = drop_rows(&self.drops);
        rows.extend((again.data > 0).then_some(again));
        let thrown_away: u64 = rows.iter().map(|row| row.data).sum();
        let all = thrown_away + sum(|counters| counters.delivered);
        (rows, if all == 0 { 0.0 } else { thrown_away as f64 / all as f64 })
    }

    fn request_rows(&self, place: usize) -> Vec<RequestRow> {
        self.requests.as_ref().map_or_else(Vec::new, |requests| requests.rows(place))
    }

    fn distributions(&self, place: usize, interval: &Interval) -> Vec<DistributionRow> {
        let mut rows = self.flows.delay_distributions(interval);
        rows.extend(self.links.iter().flat_map(|links| links.distributions(place)));
        rows
    }

    fn link_rows(&self, place: usize, interval: &Interval) -> Vec<LinkRow> {
        self.links.as_ref().map_or_else(Vec::new, |links| links.rows(place, interval.seconds()))
    }

    fn node_rows(&self, place: usize) -> Vec<NodeRow> {
        self.nodes.as_ref().map_or_else(Vec::new, |nodes| nodes.rows(place))
    }
}

impl Experiment {
    /// Returns the report of a run. Its `wall_s` is zero, because no clock is read here, and it does not name
    /// the command.
    pub fn report(&self, mut measured: Measured<'_>) -> Report {
        let scenario = self.scenario();
        let scheme = self.scheme().entry.name;
        let flows = &measured.flows;
        let whole = flows.whole();
        let windows = flows.windows().map(|(window, interval)| WindowRow {
            from_s: interval.from().as_secs_f64(),
            to_s: interval.to().as_secs_f64(),
            flows: flows.flow_rows(interval),
            classes: flows.class_rows(interval),
            groups: flows.group_rows(interval),
            links: measured.link_rows(1 + window, interval),
            requests: measured.request_rows(1 + window),
            distributions: measured.distributions(1 + window, interval),
            nodes: measured.node_rows(1 + window),
            optimum: None,
        });
        let (drops, data_thrown_away) = measured.drops();
        let mut distributions = measured.distributions(0, whole);
        distributions.extend(flows.completion_distributions());
        distributions.extend(measured.requests.iter().flat_map(RequestAccounts::distributions));
        let accounts = Accounts { flows, links: measured.links.as_ref(), nodes: measured.nodes.as_ref() };
        let document = RunDocument {
            schema: RunDocument::SCHEMA,
            scenario: scenario.name.clone(),
            scheme: scheme.to_owned(),
            variant: scenario.variant_of(scheme).map(str::to_owned),
            seed: self.seed(),
            seed_matters: true,
            simulated_s: whole.seconds(),
            events: measured.events,
            packet_hops: measured.packet_hops,
            drops,
            data_thrown_away,
            flows: flows.flow_rows(whole),
            classes: flows.class_rows(whole),
            groups: flows.group_rows(whole),
            links: measured.link_rows(0, whole),
            requests: measured.request_rows(0),
            distributions,
            nodes: measured.node_rows(0),
            windows: windows.collect(),
            changes: changes(scenario),
            expectations: measured.observers.rows(accounts),
            ..RunDocument::default()
        };
        let probes = measured.observers.values(accounts);
        let series = self.series(&mut measured);
        let report = Report { probes, ..self.report_of(document, series) };
        if measured.links.is_some() { report } else { Report { topology: Topology::default(), ..report } }
    }

    /// Returns the report of a run that another process has measured.
    pub fn report_of(&self, document: RunDocument, series: Series) -> Report {
        let scenario = self.scenario();
        Report {
            document,
            probes: Vec::new(),
            series,
            topology: self.topology(),
            title: scenario.title.clone(),
            source: scenario.source.clone(),
            provenance: self.provenance(),
            notes: scenario.notes.clone(),
        }
    }

    fn series(&self, measured: &mut Measured<'_>) -> Series {
        let (flows, classes, samples) = measured.flows.take_series();
        let step_s = if self.with_series() { self.scenario().sample.as_secs_f64() } else { 0.0 };
        let links = measured.links.as_mut().map_or_else(Vec::new, LinkAccounts::take_series);
        let requests = measured.requests.as_mut().map_or_else(Vec::new, RequestAccounts::take_samples);
        let nodes = measured.nodes.as_mut().map_or_else(Vec::new, NodeAccounts::take_series);
        Series { step_s, samples, flows, classes, links, nodes, requests }
    }

    /// Returns the scenario's numbers, each with its source.
    fn provenance(&self) -> Vec<(String, String)> {
        let said = |setting: weir_scenario::Setting| {
            Some((format!("{} = {}", setting.path, setting.value), setting.source?.as_ref().to_owned()))
        };
        self.scenario().settings.with_source().filter_map(said).collect()
    }
}
