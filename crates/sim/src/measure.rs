//! The measurements of a run: counters of flows and links, observations for expectations, and reasons of drops.

use hashbrown::HashTable;
use weir_core::consumer::Delivery;
use weir_core::packet::Packet;
use weir_core::seam::DropReason;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Experiment, ExperimentError, Measured, Observers, name_of};
use weir_measure::{
    ControlSample, DroppedByReason, FlowAccounts, LinkAccounts, NodeAccounts, NodeState, Report,
    RequestAccounts,
};
use weir_scenario::FlowId;

use crate::requests::{RequestSource, add};
use crate::world::{FlowApp, SimNode};

/// All accounts of a run. A channel's place is that of its direction among the links.
#[derive(Debug)]
pub(crate) struct Measurements {
    flows: FlowAccounts,
    links: LinkAccounts,
    nodes: NodeAccounts,
    observers: Observers,
    requests: RequestAccounts,
    drops: DroppedByReason,
    packet_hops: u64,
    flow_of_prefix: HashTable<(u64, u32)>,
}

impl Measurements {
    pub(crate) fn new(experiment: &Experiment) -> Result<Measurements, ExperimentError> {
        let flows = &experiment.scenario().flows;
        let mut flow_of_prefix = HashTable::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let hash = name_of(&flow.prefix).hash();
            if flow_of_prefix.find(hash, |entry: &(u64, u32)| entry.0 == hash).is_none() {
                flow_of_prefix.insert_unique(hash, (hash, index as u32), |entry| entry.0);
            }
        }
        let observers = experiment.observers()?;
        let extent = experiment.extent(&observers);
        let infos = (0..flows.len()).map(|flow| experiment.flow_info(FlowId(flow))).collect();
        let flows = FlowAccounts::new(infos, &extent);
        let requests = RequestAccounts::new(experiment.request_infos(), &extent);
        let links = LinkAccounts::new(experiment.link_infos(), &flows, &extent);
        let names = experiment.scenario().nodes.iter().map(|node| node.name.clone()).collect();
        let nodes = NodeAccounts::new(names, &flows, &extent);
        let drops = DroppedByReason::default();
        Ok(Measurements { flows, links, nodes, observers, requests, drops, packet_hops: 0, flow_of_prefix })
    }

    /// Packets put on links so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    // ---- Hooks

    /// A channel is used from now until then.
    #[inline]
    pub(crate) fn on_use(&mut self, channel: u32, now: Time, until: Time) {
        self.links.on_use(channel as usize, now, until);
    }

    /// Has the processor fetch what a packet of a channel changes.
    #[inline]
    pub(crate) fn prefetch(&self, channel: u32) {
        self.links.prefetch(channel as usize);
    }

    /// A packet left by a channel.
    #[inline]
    pub(crate) fn on_sent(&mut self, channel: u32, packet: &Packet, waited: Span) {
        self.packet_hops += 1;
        let bits = 8 * packet.wire_len();
        self.links.on_sent(channel as usize, bits, waited);
        if packet.is_data() && self.observers.watches(channel as usize) {
            let flow = self.flow_of(packet);
            self.observers.on_data(channel as usize, flow, bits, waited, &self.links);
        }
    }

    /// A packet leaves by a channel from now until then, after it has waited.
    #[inline]
    pub(crate) fn on_transmit(
        &mut self,
        channel: u32,
        packet: &Packet,
        waited: Span,
        now: Time,
        until: Time,
    ) {
        self.packet_hops += 1;
        let bits = 8 * packet.wire_len();
        self.links.on_transmit(channel as usize, bits, waited, now, until);
        if packet.is_data() && self.observers.watches(channel as usize) {
            let flow = self.flow_of(packet);
            self.observers.on_data(channel as usize, flow, bits, waited, &self.links);
        }
    }

    #[inline]
    pub(crate) fn on_delivery(&mut self, flow: u32, delivery: &Delivery, links: u8, now: Time) {
        self.flows.on_delivery(flow as usize, delivery, now);
        self.flows.on_hops(flow as usize, links);
    }

    /// A segment of a request arrived.
    pub(crate) fn on_request_delivery(&mut self, flow: u32, delivery: &Delivery, links: u8, now: Time) {
        // The flow goes on when a request is complete.
        self.on_delivery(flow, &Delivery { complete: false, ..*delivery }, links, now);
    }

    /// A request came.
    pub(crate) fn on_request(&mut self, flow: u32, now: Time, amount: u64) {
        self.requests.on_request(flow as usize, now, amount);
    }

    /// A request was complete; `alone` is the time that it would take alone.
    pub(crate) fn on_request_end(
        &mut self,
        flow: u32,
        came: Time,
        amount: u64,
        took: Span,
        alone: Option<Span>,
    ) {
        self.requests.on_end(flow as usize, came, amount, took, alone);
    }

    /// A node dropped a packet; `channel` is that of its face.
    pub(crate) fn on_drop(&mut self, node: u32, packet: &Packet, channel: Option<u32>, reason: DropReason) {
        self.nodes.on_drop(node as usize, packet.is_data(), reason);
        let dropped = &mut self.drops[reason as usize];
        *(if packet.is_data() { &mut dropped.data } else { &mut dropped.interests }) += 1;
        if !reason.is_loss() {
            return;
        }
        if let Some(channel) = channel {
            self.links.on_drop(channel as usize, reason);
        }
        if packet.is_data()
            && let Some(flow) = self.flow_of(packet)
        {
            self.flows.on_loss(flow as usize);
        }
    }

    pub(crate) fn set_link_rate(&mut self, channel: u32, rate: Rate) {
        self.links.set_rate(channel as usize, rate);
    }

    /// The flow that a Data belongs to; the first one, where several consumers share a prefix. Names of requests have an object
    /// between prefix and segment.
    fn flow_of(&self, data: &Packet) -> Option<u32> {
        let flow_of = |behind: usize| {
            let hash = data.name.hash_of(data.name.len().checked_sub(behind)?);
            self.flow_of_prefix.find(hash, |entry| entry.0 == hash).map(|entry| entry.1)
        };
        flow_of(1).or_else(|| self.requests.has_sources().then(|| flow_of(2)).flatten())
    }

    // ---- Time

    /// When [`Measurements::step`] is to be called.
    pub(crate) fn next_step(&self) -> Time {
        self.flows.next_step()
    }

    /// The end of a step, or an end of an interval.
    pub(crate) fn step(
        &mut self,
        apps: &[FlowApp],
        sources: &[Option<Box<RequestSource>>],
        nodes: &mut [SimNode],
    ) {
        let (now, is_sample) = (self.flows.next_step(), self.flows.is_sample());
        self.links.end_step(now, is_sample);
        for (index, SimNode { forwarder, cache_before, up, .. }) in nodes.iter_mut().enumerate() {
            let state = if *up {
                NodeState {
                    cache: *cache_before + forwarder.cache_counters(),
                    cached: forwarder.content_store().len() as u64,
                    pending: forwarder.pit().len() as u64,
                    most_pending: forwarder.take_most_pending() as u64,
                }
            } else {
                // A node that has failed has nothing.
                NodeState { cache: *cache_before, ..NodeState::default() }
            };
            self.nodes.set_state(index, state);
        }
        self.nodes.end_step(now, is_sample);
        for (index, app) in apps[..self.flows.flows()].iter().enumerate() {
            self.flows.set_counters(index, *app.consumer.counters());
        }
        for (index, source) in sources.iter().enumerate().filter_map(|(at, s)| Some((at, s.as_ref()?))) {
            let mut sum = source.ended;
            let live =
                source.apps().iter().map(|app| &apps[*app as usize]).filter(|app| app.request.is_some());
            live.for_each(|app| add(&mut sum, app.consumer.counters()));
            self.flows.set_counters(index, sum);
        }
        if self.flows.wants_control() {
            // A source of requests has no window: its consumers have.
            let is_source = |flow: usize| sources.get(flow).is_some_and(Option::is_some);
            let flows = apps[..self.flows.flows()].iter().enumerate();
            for (index, app) in flows.filter(|(flow, _)| !is_source(*flow)) {
                self.flows.set_control(index, &ControlSample::of(&app.consumer));
            }
        }
        self.flows.end_step();
        if is_sample {
            let flows = &self.flows;
            self.observers.on_sample(now, |flow| flows.total(flow).content);
        }
    }

    /// The end of the run: what would have happened at `until`.
    pub(crate) fn finish(
        &mut self,
        until: Time,
        apps: &[FlowApp],
        sources: &[Option<Box<RequestSource>>],
        nodes: &mut [SimNode],
    ) {
        while self.next_step() < until {
            self.step(apps, sources, nodes);
        }
        self.flows.end_at(until);
        self.nodes.end_at(until);
        self.step(apps, sources, nodes);
    }

    /// The report, after [`Measurements::finish`].
    pub(crate) fn report(self, experiment: &Experiment, events: u64) -> Report {
        let Measurements { flows, links, nodes, observers, requests, drops, packet_hops, .. } = self;
        experiment.report(Measured {
            flows,
            links: Some(links),
            requests: Some(requests),
            nodes: Some(nodes),
            observers: &observers,
            events,
            packet_hops,
            drops,
        })
    }
}
