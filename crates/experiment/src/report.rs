//! Makes the report of a run from its counters.

use weir_core::seam::DropReason;
use weir_measure::{
    FlowAccounts, Interval, LinkAccounts, LinkRow, Report, RunDocument, Series, Topology, WindowRow,
};

use crate::experiment::Experiment;
use crate::observe::Observers;

/// What a world measured.
#[derive(Debug)]
pub struct Measured<'a> {
    /// Accounts of the flows; of all, or of those that the world runs.
    pub flows: FlowAccounts,
    /// Accounts of the links; `None` in a world that does not see them.
    pub links: Option<LinkAccounts>,
    /// What was seen for the expectations and the further probes.
    pub observers: &'a Observers,
    /// Events handled.
    pub events: u64,
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets dropped, by [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
}

impl Measured<'_> {
    fn link_rows(&self, place: usize, interval: &Interval) -> Vec<LinkRow> {
        self.links.as_ref().map_or_else(Vec::new, |links| links.rows(place, interval.seconds()))
    }
}

impl Experiment {
    /// The report of a run. Its `wall_s` is zero, since no clock is read here, and it does not say which command made it.
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
            optimum: None,
        });
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
            flows: flows.flow_rows(whole),
            classes: flows.class_rows(whole),
            groups: flows.group_rows(whole),
            links: measured.link_rows(0, whole),
            windows: windows.collect(),
            expectations: measured.observers.rows(flows, measured.links.as_ref()),
            ..RunDocument::default()
        };
        let reasons = DropReason::ALL.into_iter().zip(measured.drops).filter(|(_, count)| *count > 0);
        Report {
            document,
            probes: measured.observers.values(flows, measured.links.as_ref()),
            series: self.series(&mut measured),
            topology: if measured.links.is_some() { self.topology() } else { Topology::default() },
            title: scenario.title.clone(),
            source: scenario.source.clone(),
            provenance: self.provenance(),
            drops_by_reason: reasons.map(|(reason, count)| (reason.words().to_owned(), count)).collect(),
            notes: scenario.notes.clone(),
        }
    }

    fn series(&self, measured: &mut Measured<'_>) -> Series {
        let (flows, classes, samples) = measured.flows.take_series();
        let step_s = if self.with_series() { self.scenario().sample.as_secs_f64() } else { 0.0 };
        let links = measured.links.as_mut().map_or_else(Vec::new, LinkAccounts::take_series);
        Series { step_s, samples, flows, classes, links }
    }

    /// The scenario's numbers, each with where it comes from.
    fn provenance(&self) -> Vec<(String, String)> {
        let said = |setting: &weir_scenario::Setting| {
            let source = setting.source.clone()?;
            Some((format!("{} = {}", setting.path, setting.value), source))
        };
        self.scenario().settings.iter().filter_map(said).collect()
    }
}
