//! Nodes, links and applications, and the loop that runs them.

use std::collections::VecDeque;
use std::mem::replace;
use std::sync::Arc;

use weir_core::consumer::Consumer;
use weir_core::deadline::Deadlines;
use weir_core::ids::FaceId;
use weir_core::link::Way;
use weir_core::node::{self, Action, CacheCounters, Input, Node};
use weir_core::packet::wire::{self, WireError};
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::SeedUse;
use weir_core::seam::DropReason;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Change, Experiment, HASHER};
use weir_measure::{Trace, TraceEvent, TraceWhat};
use weir_medium::MediumAction;
use weir_scenario::LinkId;

use crate::ahead::Ahead;
use crate::build::Produced;
use crate::failures::Failures;
use crate::half_duplex::Wire;
use crate::measure::Measurements;
use crate::medium::SharedMedium;
use crate::parallel::Outbox;
use crate::part::Part;
use crate::requests::{FlowSchemes, LiveRequest, RequestSource};

/// One direction of a link. The fields that each packet needs come first.
#[repr(C, align(64))]
pub(crate) struct Channel {
    /// The packets in flight, oldest first.
    pub(crate) in_flight: VecDeque<(Time, PacketId)>,
    /// The receiving node and its face.
    pub(crate) to: (u32, FaceId),
    pub(crate) up: bool,
    pub(crate) way: Way,
    /// The sending node and its face.
    pub(crate) from: (u32, FaceId),
    /// The medium that it is on, and its direction there.
    pub(crate) medium: Option<(u32, u32)>,
    /// The rate in the file or of the last event; on a medium, the rate of its frames.
    pub(crate) rate: Rate,
}

impl Channel {
    /// Adds a packet in flight. Returns whether it is the next to arrive.
    #[inline]
    pub(crate) fn put_in_flight(&mut self, packet: PacketId, arrival: Time) -> bool {
        if self.way.reorders() {
            return self.put_in_order(packet, arrival);
        }
        let is_first = self.in_flight.is_empty();
        self.in_flight.push_back((arrival, packet));
        is_first
    }

    /// Adds a packet that may arrive before others that left earlier.
    #[cold]
    fn put_in_order(&mut self, packet: PacketId, arrival: Time) -> bool {
        let place = self.in_flight.partition_point(|(at, _)| *at <= arrival);
        self.in_flight.insert(place, (arrival, packet));
        place == 0
    }
}

/// What a face of a node leads to.
#[derive(Clone, Copy)]
pub(crate) enum FaceKind {
    Channel(u32),
    Medium {
        medium: u32,
        direction: u32,
    },
    HalfDuplex {
        wire: u32,
        direction: u32,
    },
    /// A channel whose other end is in another part of the network.
    Away {
        channel: u32,
        exit: u32,
    },
    Consumer(u32),
    Producer(Producer),
}

/// A node with the kind of each of its faces.
#[repr(C)]
pub(crate) struct SimNode {
    pub(crate) faces: Vec<FaceKind>,
    /// The time of its event.
    pub(crate) scheduled: Time,
    /// When one of its flows last had an event, and which one.
    pub(crate) last_turn: (Time, u32),
    /// `true` if its strategy keeps to one next hop of a prefix.
    pub(crate) keeps_to_one: bool,
    /// `true` if it works. The forwarder of a failed node is not used any more.
    pub(crate) up: bool,
    /// Counters of its stores before its last start.
    pub(crate) cache_before: CacheCounters,
    /// Number of its starts.
    pub(crate) starts: u32,
    /// The hit ratio of its simulated cache, 0 to 1.
    pub(crate) cache_ratio: f64,
    pub(crate) forwarder: Node,
}

/// A consumer of a flow or of a request, and its face.
pub(crate) struct FlowApp {
    pub(crate) consumer: Consumer,
    pub(crate) node: u32,
    pub(crate) face: FaceId,
    /// Its event. The events of flows have an order that the seed shuffles.
    pub(crate) event: u32,
    /// The scenario's flow.
    pub(crate) flow: u32,
    /// The request that it serves.
    pub(crate) request: Option<LiveRequest>,
}

/// A progress report during a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time so far.
    pub now: Time,
    /// End of the simulation.
    pub until: Time,
    /// Events so far.
    pub events: u64,
    /// Packets put on links so far.
    pub packet_hops: u64,
}

/// The result of a run: the measurements, and the counts of the engine.
#[derive(Debug)]
pub struct Outcome {
    /// All measurements, for the report. Its `wall_s` is zero, because no clock is read here.
    pub report: weir_measure::Report,
    /// Number of packets that were checked against the codec.
    pub wire_checks: u64,
}

/// The reason why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A packet differs from its encoded and decoded form.
    Wire {
        /// When it was put on a link.
        at: Time,
        /// The difference.
        error: WireError,
    },
    /// A trace cannot be written.
    Trace(String),
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            RunError::Wire { at, error } => write!(f, "a packet sent at {at} fails the wire check: {error}"),
            RunError::Trace(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for RunError {}

/// The event of the script and the samples comes first, so that events at the end of a step belong to the
/// next step.
const SCRIPT_EVENT: u32 = 0;
pub(crate) const FIRST_CHANNEL_EVENT: u32 = 1;

/// With fewer packets, they and the state of nodes for them are in the processor's caches anyway. Assumed:
/// 2 MiB.
const FEW_PACKETS: usize = 4096;

/// A simulated network, or a part of one.
pub struct World {
    pub(crate) experiment: Arc<Experiment>,
    /// The part of the scenario's network that it simulates.
    pub(crate) part: Arc<Part>,
    /// Packets and losses that leave for other parts.
    pub(crate) outbox: Outbox,
    pub(crate) now: Time,
    pub(crate) until: Time,
    pub(crate) pool: PacketPool,
    pub(crate) nodes: Vec<SimNode>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) wires: Vec<Wire>,
    /// The scenario's flows, and after them the consumers of requests.
    pub(crate) flows: Vec<FlowApp>,
    /// Flow of each flow event.
    pub(crate) flow_of_event: Vec<u32>,
    /// The flows that are sources of requests; empty if there are none.
    pub(crate) sources: Vec<Option<Box<RequestSource>>>,
    /// Makes the flow controls of requests.
    pub(crate) schemes: FlowSchemes,
    pub(crate) script: VecDeque<(Time, Change)>,
    pub(crate) failures: Failures,
    pub(crate) events: Deadlines,
    pub(crate) measure: Measurements,
    pub(crate) event_count: u64,
    pub(crate) seed_use: SeedUse,
    pub(crate) wire_check: Option<WireCheck>,
    pub(crate) trace: Option<Box<dyn Trace>>,
    pub(crate) actions: Vec<Action>,
    pub(crate) ahead: Ahead,
    /// `true` if few nodes have many packets. Then the packets that come next on a link are prefetched,
    /// instead of the memory for the next events.
    pub(crate) looks_along: bool,
    pub(crate) medium_actions: Vec<MediumAction>,
}

/// Encodes and decodes every packet.
#[derive(Default)]
pub(crate) struct WireCheck {
    buffer: Vec<u8>,
    checked: u64,
    failed: Option<RunError>,
}

/// The parts from which [`World::new`] makes a world.
pub(crate) struct Parts {
    pub(crate) part: Arc<Part>,
    pub(crate) script: VecDeque<(Time, Change)>,
    pub(crate) nodes: Vec<SimNode>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<FlowApp>,
    pub(crate) sources: Vec<Option<Box<RequestSource>>>,
    pub(crate) schemes: FlowSchemes,
    pub(crate) produced: Vec<Produced>,
    pub(crate) measure: Measurements,
    pub(crate) seed_use: SeedUse,
}

impl World {
    pub(crate) fn new(experiment: Arc<Experiment>, parts: Parts) -> World {
        let Parts { part, script, nodes, channels, media, wires, mut flows, .. } = parts;
        let Parts { sources, schemes, produced, measure, seed_use, .. } = parts;
        let first_flow = FIRST_CHANNEL_EVENT as usize + channels.len() + media.len() + wires.len();
        let count = first_flow + flows.len() + nodes.len();
        let mut flow_of_event = vec![0; flows.len()];
        for (index, flow) in flows.iter_mut().enumerate() {
            flow_of_event[flow.event as usize] = index as u32;
            flow.event += first_flow as u32;
        }
        let mut world = World {
            now: Time::ZERO,
            until: experiment.until(),
            pool: PacketPool::new(),
            nodes,
            channels,
            media,
            wires,
            flows,
            flow_of_event,
            sources,
            schemes,
            script,
            failures: Failures::new(experiment.scenario(), produced),
            experiment,
            part,
            outbox: Outbox::default(),
            events: Deadlines::new(count),
            measure,
            event_count: 0,
            seed_use,
            wire_check: None,
            trace: None,
            actions: Vec::new(),
            ahead: Ahead::default(),
            looks_along: true,
            medium_actions: Vec::new(),
        };
        world.schedule_script();
        world.looks_along = !world.is_large();
        world
    }

    /// Encodes and decodes every packet from now on, and compares the result.
    #[must_use]
    pub fn checking_wire(mut self) -> World {
        self.wire_check = Some(WireCheck::default());
        self
    }

    /// Traces the events of each packet from now on.
    #[must_use]
    pub fn tracing(mut self, trace: Box<dyn Trace>) -> World {
        self.trace = Some(trace);
        self
    }

    pub(crate) fn medium_event(&self, medium: u32) -> u32 {
        FIRST_CHANNEL_EVENT + self.channels.len() as u32 + medium
    }

    pub(crate) fn wire_event(&self, wire: u32) -> u32 {
        self.medium_event(self.media.len() as u32) + wire
    }

    pub(crate) fn first_flow_event(&self) -> u32 {
        self.wire_event(self.wires.len() as u32)
    }

    pub(crate) fn node_event(&self, node: u32) -> u32 {
        self.first_flow_event() + self.flow_of_event.len() as u32 + node
    }

    fn schedule_script(&mut self) {
        let scripted = self.script.front().map_or(Time::NEVER, |(at, _)| *at);
        self.events.set(SCRIPT_EVENT, scripted.min(self.measure.next_step()));
    }

    /// Runs to the end, or until an error; `progress` is called at each sample.
    ///
    /// # Errors
    /// Returns an error if a packet fails the wire check or a trace cannot be written.
    pub fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        self.run_until(self.until, progress)
    }

    /// Runs the events before `end`.
    ///
    /// # Errors
    /// As [`World::run`].
    pub fn run_until(&mut self, end: Time, progress: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        let first_medium = self.medium_event(0);
        let first_wire = self.wire_event(0);
        let first_flow = self.first_flow_event();
        let first_node = self.node_event(0);
        let first_request = self.node_event(self.nodes.len() as u32);
        let scenario_flows = self.flow_of_event.len() as u32;
        while let Some((at, event)) = self.events.next_id() {
            if at >= end {
                break;
            }
            debug_assert!(at >= self.now, "time goes forward: {at} after {}", self.now);
            self.now = at;
            // Measurement steps are not events of the network: measuring does not change their number.
            self.event_count += u64::from(event != SCRIPT_EVENT);
            if !self.looks_along {
                self.look_ahead();
            }
            if event >= first_request {
                self.flow_deadline(event - first_request + scenario_flows);
            } else if event >= first_node {
                self.input(event - first_node, Input::Deadline);
                self.settle(event - first_node);
            } else if event >= first_flow {
                self.flow_deadline(self.flow_of_event[(event - first_flow) as usize]);
            } else if event >= first_wire {
                self.wire_deadline(event - first_wire);
            } else if event >= first_medium {
                self.medium_deadline(event - first_medium);
            } else if event >= FIRST_CHANNEL_EVENT {
                self.arrival(event - FIRST_CHANNEL_EVENT);
            } else {
                self.scripted();
                progress(self.progress());
                self.failed()?;
            }
        }
        self.now = end.min(self.until);
        self.failed()
    }

    /// Returns an error of the codec or of a trace.
    fn failed(&mut self) -> Result<(), RunError> {
        if let Some(failed) = self.wire_check.as_mut().and_then(|check| check.failed.take()) {
            return Err(failed);
        }
        match self.trace.as_mut().and_then(|trace| trace.failure()) {
            Some(failure) => Err(RunError::Trace(failure)),
            None => Ok(()),
        }
    }

    /// Ends the trace. Call it before [`World::finish`].
    ///
    /// # Errors
    /// Returns an error if the trace cannot be written.
    pub fn end_trace(&mut self) -> Result<(), RunError> {
        self.trace.take().map_or(Ok(()), |mut trace| trace.finish()).map_err(RunError::Trace)
    }

    fn progress(&self) -> Progress {
        let packet_hops = self.measure.packet_hops();
        Progress { now: self.now, until: self.until, events: self.event_count, packet_hops }
    }

    /// Packets put on links so far.
    pub fn packet_hops(&self) -> u64 {
        self.measure.packet_hops()
    }

    /// Events so far.
    pub fn event_count(&self) -> u64 {
        self.event_count
    }

    /// Number of packets that exist now: queued, in flight, held or stored.
    pub fn packets_in_use(&self) -> usize {
        self.pool.in_use()
    }

    /// Ends the run and completes the accounts.
    pub fn finish(mut self) -> Outcome {
        self.measure.finish(self.until, &self.flows, &self.sources, &mut self.nodes);
        let wire_checks = self.wire_check.map_or(0, |check| check.checked);
        let mut report = self.measure.report(&self.experiment, self.event_count);
        report.document.seed_matters = self.seed_use.is_noted();
        Outcome { report, wire_checks }
    }

    // ---- Events

    fn arrival(&mut self, index: u32) {
        let channel = &mut self.channels[index as usize];
        let (_, packet) = channel.in_flight.pop_front().expect("the event is the first packet's arrival");
        let next = channel.in_flight.front().map_or(Time::NEVER, |(at, _)| *at);
        let (node, face) = channel.to;
        if self.looks_along && self.pool.in_use() > FEW_PACKETS {
            let coming = [0, 1, 2].map(|at| channel.in_flight.get(at).map(|(_, packet)| *packet));
            self.nodes[node as usize].forwarder.prefetch(&self.pool, coming);
        }
        self.events.set(FIRST_CHANNEL_EVENT + index, next);
        self.trace(node, face, TraceWhat::Receive, packet);
        self.input(node, Input::Packet { face, packet });
        self.settle(node);
    }

    fn flow_deadline(&mut self, index: u32) {
        if self.is_source(index) {
            return self.request_comes(index);
        }
        let node = self.flows[index as usize].node;
        self.note_turn(node, index);
        let consumer = &mut self.flows[index as usize].consumer;
        let timeouts = self.trace.is_some().then(|| consumer.counters().timeouts);
        consumer.handle_deadline(self.now);
        if let Some(before) = timeouts {
            self.trace_timeouts(index, before);
        }
        self.send_interests(index);
        self.settle(node);
    }

    /// Notes that the seed decides the order of flows of one node that act at the same instant. Flows of
    /// other nodes do not interact then, because a packet needs time to cross a link.
    fn note_turn(&mut self, node: u32, flow: u32) {
        let (last, other) = replace(&mut self.nodes[node as usize].last_turn, (self.now, flow));
        if last == self.now && other != flow {
            self.seed_use.note();
        }
    }

    fn scripted(&mut self) {
        while self.measure.next_step() <= self.now {
            self.measure.step(&self.flows, &self.sources, &mut self.nodes);
        }
        while self.script.front().is_some_and(|(at, _)| *at <= self.now) {
            let (_, change) = self.script.pop_front().expect("there is a first");
            self.event_count += 1;
            self.carry_out(change);
        }
        self.schedule_script();
    }

    fn carry_out(&mut self, change: Change) {
        match change {
            Change::Start(flow) if self.is_source(flow.index() as u32) => {
                self.schedule_source(flow.index() as u32);
            }
            Change::Stop(flow) if self.is_source(flow.index() as u32) => {
                self.stop_requests(flow.index() as u32)
            }
            Change::Source(flow, source) if self.is_source(flow.index() as u32) => {
                self.set_request_source(flow.index() as u32, source);
            }
            Change::Start(flow) => {
                self.flows[flow.index()].consumer.start(self.now);
                self.schedule_flow(flow.index() as u32);
            }
            Change::Stop(flow) => {
                self.flows[flow.index()].consumer.stop();
                self.schedule_flow(flow.index() as u32);
            }
            Change::Source(flow, source) => {
                self.flows[flow.index()].consumer.set_source(self.now, source);
                self.schedule_flow(flow.index() as u32);
            }
            Change::Rate(link, [there, back]) => {
                let [first, second] = channels_of(link);
                self.set_rate(first, there);
                self.set_rate(second, back);
            }
            Change::Delay(link, [there, back]) => {
                let [first, second] = channels_of(link);
                self.channels[first as usize].way.set_delay(there);
                self.channels[second as usize].way.set_delay(back);
            }
            Change::Loss(link, loss) => {
                channels_of(link).into_iter().for_each(|channel| self.set_loss(channel, loss));
            }
            Change::LossBurst(link, length) => {
                for channel in channels_of(link) {
                    self.channels[channel as usize].way.set_burst(Some(length));
                }
            }
            Change::Jitter(link, jitter) => {
                for channel in channels_of(link) {
                    self.channels[channel as usize].way.set_jitter(jitter);
                }
            }
            Change::Up(link, up) => self.set_link_up(link, up),
            Change::NodeUp(node, up) => self.set_node_up(node.index() as u32, up),
            Change::Produce(event) => self.produce(event),
            Change::Learn(event) => self.learn(event),
            Change::Reroute => self.reroute(),
            Change::CacheRatio(node, ratio) => {
                self.nodes[node.index()].cache_ratio = ratio;
                self.input(node.index() as u32, Input::Change(&node::Change::SetCacheRatio(ratio)));
            }
        }
    }

    fn set_rate(&mut self, channel: u32, rate: Rate) {
        let Channel { from, to, medium, .. } = self.channels[channel as usize];
        self.channels[channel as usize].rate = rate;
        if let Some((medium, direction)) = medium {
            self.media[medium as usize].medium.set_rate(self.now, direction, rate);
            self.measure.set_link_rate(channel, rate);
            return self.schedule_medium(medium);
        }
        let (node, face) = from;
        let kind = self.nodes.get(node as usize).map(|node| node.faces[face.0 as usize]);
        if let Some(FaceKind::HalfDuplex { wire, direction }) = kind {
            self.set_wire_rate(wire, direction, rate);
        }
        // An end may be in another part, which makes the same change.
        let is_up = |world: &World, node: u32| world.nodes.get(node as usize).is_some_and(|node| node.up);
        if is_up(self, node) {
            self.input(node, Input::Change(&node::Change::SetSendRate { face, rate: Some(rate) }));
            self.settle(node);
        }
        let (node, face) = to;
        if is_up(self, node) {
            self.input(node, Input::Change(&node::Change::SetReceiveRate { face, rate: Some(rate) }));
            self.settle(node);
        }
        self.measure.set_link_rate(channel, rate);
    }

    fn set_loss(&mut self, channel: u32, loss: f64) {
        match self.channels[channel as usize].medium {
            Some((medium, direction)) => self.media[medium as usize].medium.set_loss(direction, loss),
            None => self.channels[channel as usize].way.set_loss(loss),
        }
    }

    pub(crate) fn set_up(&mut self, channel: u32, up: bool) {
        let Channel { from: (node, face), medium, .. } = self.channels[channel as usize];
        if let Some((medium, direction)) = medium {
            self.media[medium as usize].medium.set_up(direction, up);
        }
        self.channels[channel as usize].up = up;
        if !up {
            self.lose_in_flight(channel);
            if let FaceKind::HalfDuplex { wire, direction } = self.nodes[node as usize].faces[face.0 as usize]
            {
                self.clear_wire(wire, direction);
            }
        }
        if self.nodes[node as usize].up {
            self.input(node, if up { Input::FaceUp(face) } else { Input::FaceDown(face) });
            self.settle(node);
        }
    }

    fn lose_in_flight(&mut self, channel: u32) {
        let (node, face) = self.channels[channel as usize].from;
        while let Some((_, packet)) = self.channels[channel as usize].in_flight.pop_front() {
            self.trace(node, face, TraceWhat::Drop(DropReason::FaceDown), packet);
            self.measure.on_drop(node, &self.pool[packet], Some(channel), DropReason::FaceDown);
            self.pool.free(packet);
        }
        self.channels[channel as usize].way.clear();
        self.events.set(FIRST_CHANNEL_EVENT + channel, Time::NEVER);
    }

    // ---- Nodes

    #[inline]
    pub(crate) fn input(&mut self, node: u32, input: Input<'_>) {
        if self.trace.is_some() {
            return self.traced_input(node, input);
        }
        self.nodes[node as usize].forwarder.handle(self.now, input, &mut self.pool, &mut self.actions);
    }

    /// Carries out the actions of a node, including those that its applications cause in turn.
    pub(crate) fn settle(&mut self, node: u32) {
        let mut done = 0;
        while let Some(&action) = self.actions.get(done) {
            done += 1;
            match action {
                Action::Transmit { face, packet, until, waited } => {
                    self.transmit(node, face, packet, until, waited);
                }
                Action::Deliver { face, packet } => self.deliver(node, face, packet),
                Action::Drop { face, packet, reason } => self.drop_packet(node, face, packet, reason),
            }
        }
        self.actions.clear();
        let SimNode { forwarder, up, .. } = &self.nodes[node as usize];
        // A failed node does nothing more.
        let deadline = if *up { forwarder.next_deadline().max(self.now) } else { Time::NEVER };
        let event = self.node_event(node);
        let scheduled = &mut self.nodes[node as usize].scheduled;
        if *scheduled != deadline {
            *scheduled = deadline;
            self.events.set(event, deadline);
        }
    }

    #[inline]
    fn transmit(&mut self, node: u32, face: FaceId, packet: PacketId, until: Time, waited: Span) {
        let index = match self.nodes[node as usize].faces[face.0 as usize] {
            FaceKind::Channel(index) => index,
            FaceKind::Medium { medium, direction } => {
                return self.offer(node, face, packet, medium, direction);
            }
            FaceKind::HalfDuplex { wire, direction } => {
                return self.offer_wire(node, face, packet, wire, direction);
            }
            FaceKind::Away { channel, exit } => {
                return self.transmit_away(node, face, packet, (until, waited), (channel, exit));
            }
            FaceKind::Consumer(_) | FaceKind::Producer(_) => unreachable!("only links transmit"),
        };
        let channel = &mut self.channels[index as usize];
        if !channel.up {
            return self.drop_packet(node, face, packet, DropReason::FaceDown);
        }
        if let Some(check) = &mut self.wire_check {
            check.packet(self.now, &self.pool[packet]);
        }
        self.measure.on_transmit(index, &self.pool[packet], waited, self.now, until);
        if let Some(trace) = &mut self.trace {
            let (neighbour, what) = (Some(channel.to.0), TraceWhat::Send { waited });
            trace.on_event(&TraceEvent { at: self.now, node, neighbour, what, packet: &self.pool[packet] });
        }
        match channel.way.pass(until) {
            Some(arrival) => {
                if channel.put_in_flight(packet, arrival) {
                    self.events.set(FIRST_CHANNEL_EVENT + index, arrival);
                }
            }
            None => self.drop_packet(node, face, packet, DropReason::LinkLoss),
        }
    }

    /// Handles a packet that has left by a channel. It arrives unless it is lost.
    pub(crate) fn carry(&mut self, index: u32, packet: PacketId, until: Time) {
        let channel = &mut self.channels[index as usize];
        let (node, face) = channel.from;
        match channel.way.pass(until) {
            Some(arrival) => {
                if channel.put_in_flight(packet, arrival) {
                    self.events.set(FIRST_CHANNEL_EVENT + index, arrival);
                }
            }
            None => self.drop_packet(node, face, packet, DropReason::LinkLoss),
        }
    }

    fn deliver(&mut self, node: u32, face: FaceId, packet: PacketId) {
        self.trace(node, face, TraceWhat::Deliver, packet);
        match self.nodes[node as usize].faces[face.0 as usize] {
            FaceKind::Consumer(flow) => self.deliver_to_consumer(flow, packet),
            FaceKind::Producer(producer) => {
                if self.pool[packet].is_interest() {
                    producer.answer(&mut self.pool[packet]);
                    self.input(node, Input::Packet { face, packet });
                } else {
                    self.pool.free(packet);
                }
            }
            FaceKind::Channel(_)
            | FaceKind::Medium { .. }
            | FaceKind::HalfDuplex { .. }
            | FaceKind::Away { .. } => unreachable!("links transmit"),
        }
    }

    fn deliver_to_consumer(&mut self, index: u32, id: PacketId) {
        let flow = &mut self.flows[index as usize];
        let packet = &self.pool[id];
        if packet.is_data() {
            if let Some(delivery) = flow.consumer.handle_data(self.now, packet) {
                let links = packet.hops.saturating_sub(1);
                if let Some(request) = flow.request {
                    self.measure.on_request_delivery(flow.flow, &delivery, links, self.now);
                    if delivery.complete {
                        self.pool.free(id);
                        return self.request_ends(index, request);
                    }
                } else {
                    self.measure.on_delivery(index, &delivery, links, self.now);
                }
            }
        } else {
            flow.consumer.handle_nack(self.now, packet);
        }
        self.pool.free(id);
        self.send_interests(index);
    }

    /// Hands a consumer's Interests to its node.
    pub(crate) fn send_interests(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (node, face) = (flow.node, flow.face);
        if !self.nodes[node as usize].up {
            return self.lose_interests(index);
        }
        if self.trace.is_some() {
            self.send_traced(index);
            return self.schedule_flow(index);
        }
        while let Some(packet) = flow.consumer.poll_send(self.now, &mut self.pool) {
            let forwarder = &mut self.nodes[node as usize].forwarder;
            forwarder.handle(self.now, Input::Packet { face, packet }, &mut self.pool, &mut self.actions);
        }
        self.schedule_flow(index);
    }

    /// A shortened timeout may already have expired: then it expires now.
    #[inline]
    pub(crate) fn schedule_flow(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        self.events.set(flow.event, flow.consumer.next_deadline().max(self.now));
    }

    pub(crate) fn drop_packet(&mut self, node: u32, face: FaceId, packet: PacketId, reason: DropReason) {
        let channel = match self.nodes[node as usize].faces[face.0 as usize] {
            FaceKind::Channel(index) | FaceKind::Away { channel: index, .. } => Some(index),
            FaceKind::Medium { medium, direction } => {
                Some(self.media[medium as usize].first_channel + direction)
            }
            FaceKind::HalfDuplex { wire, direction } => {
                Some(self.wires[wire as usize].first_channel + direction)
            }
            FaceKind::Consumer(_) | FaceKind::Producer(_) => None,
        };
        self.measure.on_drop(node, &self.pool[packet], channel, reason);
        self.trace(node, face, TraceWhat::Drop(reason), packet);
        self.pool.free(packet);
    }
}

/// The channels of both directions of a link.
pub(crate) fn channels_of(link: LinkId) -> [u32; 2] {
    [0, 1].map(|direction| (2 * link.index() + direction) as u32)
}

impl WireCheck {
    pub(crate) fn packet(&mut self, now: Time, packet: &weir_core::packet::Packet) {
        self.checked += 1;
        if let Err(error) = wire::check(packet, &HASHER, &mut self.buffer) {
            self.failed.get_or_insert(RunError::Wire { at: now, error });
        }
    }
}

impl core::fmt::Debug for World {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}
