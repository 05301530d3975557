//! The measurements of a run: counters of flows and links, observations for expectations, and reasons of
//! drops.

use std::sync::Arc;

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

use crate::part::Part;
use crate::requests::{RequestSource, add};
use crate::world::{FlowApp, SimNode};

/// All accounts of a run or of a part of its network. A channel's index is that of its direction among the
/// links.
#[derive(Clone, Debug)]
pub(crate) struct Measurements {
    part: Arc<Part>,
    flows: FlowAccounts,
    links: LinkAccounts,
    nodes: NodeAccounts,
    observers: Observers,
    requests: RequestAccounts,
    drops: DroppedByReason,
    packet_hops: u64,
    /// The flow of each prefix, by the scenario's numbers.
    flow_of_prefix: HashTable<(u64, u32)>,
    /// The flows of other parts that lost a packet here; each occurs once per loss.
    pub(crate) lost_elsewhere: Vec<u32>,
}

impl Measurements {
    pub(crate) fn new(experiment: &Experiment, part: Arc<Part>) -> Result<Measurements, ExperimentError> {
        let scenario = experiment.scenario();
        let all = scenario.flows.len();
        let mut flow_of_prefix = HashTable::with_capacity(all);
        for (index, flow) in scenario.flows.iter().enumerate() {
            let hash = name_of(&flow.prefix).hash();
            if flow_of_prefix.find(hash, |entry: &(u64, u32)| entry.0 == hash).is_none() {
                flow_of_prefix.insert_unique(hash, (hash, index as u32), |entry| entry.0);
            }
        }
        let observers = experiment.observers()?;
        let extent = experiment.extent(&observers);
        let infos = part.flows.of(all).map(|flow| experiment.flow_info(FlowId(flow))).collect();
        let flows = FlowAccounts::of_part(infos, &extent, all);
        let requests = RequestAccounts::new(experiment.request_infos(), &extent);
        let infos = experiment.link_infos();
        let channels = || part.links.of(infos.len() / 2).flat_map(|link| [2 * link, 2 * link + 1]);
        let links = LinkAccounts::new(channels().map(|at| infos[at].clone()).collect(), &flows, &extent);
        let observers = observers.of_links(channels());
        let nodes = part.nodes.of(scenario.nodes.len()).map(|node| scenario.nodes[node].name.clone());
        let nodes = NodeAccounts::new(nodes.collect(), &flows, &extent);
        let (drops, lost_elsewhere) = (DroppedByReason::default(), Vec::new());
        Ok(Measurements {
            part,
            flows,
            links,
            nodes,
            observers,
            requests,
            drops,
            packet_hops: 0,
            flow_of_prefix,
            lost_elsewhere,
        })
    }

    /// Adds the measurements of a part of the network to those of the whole. `owns` tells whether the part
    /// sends by a channel, by its index there.
    pub(crate) fn take_in(&mut self, part: Measurements, owns: impl Fn(usize) -> bool) {
        let Measurements { part: of, flows, links, nodes, observers, requests, drops, packet_hops, .. } =
            part;
        self.flows.take_in(&of.flows.of(flows.flows()).collect::<Vec<_>>(), flows);
        let channels = of.links.of(0).flat_map(|link| [2 * link, 2 * link + 1]).enumerate();
        let places: Vec<_> = channels.map(|(at, place)| owns(at).then_some(place)).collect();
        self.links.take_in(&places, links);
        self.nodes.take_in(&of.nodes.of(0).collect::<Vec<_>>(), nodes);
        self.observers.take_in(&observers);
        self.requests.take_in(requests);
        for (sum, of_part) in self.drops.iter_mut().zip(drops) {
            sum.data += of_part.data;
            sum.interests += of_part.interests;
        }
        self.packet_hops += packet_hops;
    }

    /// Packets put on links so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    // ---- Hooks

    /// Notes that a channel is in use from `now` until `until`.
    #[inline]
    pub(crate) fn on_use(&mut self, channel: u32, now: Time, until: Time) {
        self.links.on_use(channel as usize, now, until);
    }

    /// Prefetches the memory that a packet of a channel changes.
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

    /// Notes that a packet leaves by a channel from `now` until `until`, after it has waited.
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
        // The flow continues when a request is complete.
        self.on_delivery(flow, &Delivery { complete: false, ..*delivery }, links, now);
    }

    /// A request came.
    pub(crate) fn on_request(&mut self, flow: u32, now: Time, amount: u64) {
        self.requests.on_request(self.part.flows.number(flow), now, amount);
    }

    /// Notes that a request was completed. `alone` is the time that it would take alone.
    pub(crate) fn on_request_end(
        &mut self,
        flow: u32,
        came: Time,
        amount: u64,
        took: Span,
        alone: Option<Span>,
    ) {
        self.requests.on_end(self.part.flows.number(flow), came, amount, took, alone);
    }

    /// Notes that a node dropped a packet. `channel` is the channel of its face.
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
            self.on_loss(flow);
        }
    }

    /// A packet of the scenario's flow of this number was lost.
    pub(crate) fn on_loss(&mut self, flow: u32) {
        match self.part.flows.place(flow) {
            Some(own) => self.flows.on_loss(own),
            None => self.lost_elsewhere.push(flow),
        }
    }

    pub(crate) fn set_link_rate(&mut self, channel: u32, rate: Rate) {
        self.links.set_rate(channel as usize, rate);
    }

    /// The scenario's flow of a Data; the first one if several consumers share a prefix. Names of requests
    /// have an object between prefix and segment.
    fn flow_of(&self, data: &Packet) -> Option<u32> {
        let flow_of = |behind: usize| {
            let hash = data.name.hash_of(data.name.len().checked_sub(behind)?);
            self.flow_of_prefix.find(hash, |entry| entry.0 == hash).map(|entry| entry.1)
        };
        flow_of(1).or_else(|| self.requests.has_sources().then(|| flow_of(2)).flatten())
    }

    // ---- Time

    /// When to call [`Measurements::step`].
    pub(crate) fn next_step(&self) -> Time {
        self.flows.next_step()
    }

    /// Handles the end of a step or of an interval.
    pub(crate) fn step(
        &mut self,
        apps: &[FlowApp],
        sources: &[Option<Box<RequestSource>>],
        nodes: &mut [SimNode],
    ) {
        self.set_states(nodes);
        nodes.iter_mut().filter(|node| node.up).for_each(|node| node.forwarder.begin_most_pending());
        self.end_step(apps, sources);
    }

    fn set_states(&mut self, nodes: &[SimNode]) {
        for (index, SimNode { forwarder, cache_before, up, .. }) in nodes.iter().enumerate() {
            let state = if *up {
                NodeState {
                    cache: *cache_before + forwarder.cache_counters(),
                    cached: forwarder.content_store().len() as u64,
                    pending: forwarder.pit().len() as u64,
                    most_pending: forwarder.most_pending() as u64,
                }
            } else {
                // A failed node has nothing.
                NodeState { cache: *cache_before, ..NodeState::default() }
            };
            self.nodes.set_state(index, state);
        }
    }

    fn end_step(&mut self, apps: &[FlowApp], sources: &[Option<Box<RequestSource>>]) {
        let (now, is_sample) = (self.flows.next_step(), self.flows.is_sample());
        self.links.end_step(now, is_sample);
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
            // A source of requests has no window, but its consumers have.
            let is_source = |flow: usize| sources.get(flow).is_some_and(Option::is_some);
            let flows = apps[..self.flows.flows()].iter().enumerate();
            for (index, app) in flows.filter(|(flow, _)| !is_source(*flow)) {
                self.flows.set_control(index, &ControlSample::of(&app.consumer));
            }
        }
        self.flows.end_step();
        if is_sample {
            let (flows, part) = (&self.flows, &self.part.flows);
            let content = |flow: usize| part.place(flow as u32).map_or(0, |own| flows.total(own).content);
            self.observers.on_sample(now, content);
        }
    }

    /// Ends the run. Events at `until` are not included.
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

    /// The measurements as if the run ended now.
    pub(crate) fn so_far(
        &self,
        now: Time,
        apps: &[FlowApp],
        sources: &[Option<Box<RequestSource>>],
        nodes: &[SimNode],
    ) -> Measurements {
        let mut so_far = self.clone();
        so_far.set_states(nodes);
        so_far.flows.end_at(now);
        so_far.links.end_at(now);
        so_far.nodes.end_at(now);
        so_far.end_step(apps, sources);
        so_far
    }

    /// Makes the report, after [`Measurements::finish`] or of [`Measurements::so_far`].
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
