//! Nodes, links and applications, and the loop that runs them.

use std::collections::VecDeque;
use std::mem::replace;
use std::sync::Arc;

use weir_core::consumer::Consumer;
use weir_core::deadline::Deadlines;
use weir_core::ids::FaceId;
use weir_core::node::{Action, Forwarder, Input};
use weir_core::packet::wire::{self, WireError};
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::{Random, SeedUse};
use weir_core::seam::DropReason;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Change, Experiment, HASHER};
use weir_medium::MediumAction;
use weir_scenario::LinkId;

use crate::measure::Measurements;
use crate::medium::SharedMedium;

/// One direction of a link: the packets in flight, oldest first.
pub(crate) struct Channel {
    /// The node that sends, and its face.
    pub(crate) from: (u32, FaceId),
    /// The node that receives, and its face.
    pub(crate) to: (u32, FaceId),
    /// The medium that it is on, and its direction there.
    pub(crate) medium: Option<(u32, u32)>,
    pub(crate) delay: Span,
    pub(crate) loss: f64,
    pub(crate) up: bool,
    pub(crate) random: Random,
    pub(crate) in_flight: VecDeque<(Time, PacketId)>,
}

/// What a face of a node leads to.
#[derive(Clone, Copy)]
pub(crate) enum FaceKind {
    Channel(u32),
    Medium { medium: u32, direction: u32 },
    Consumer(u32),
    Producer(Producer),
}

/// A node with the kind of each of its faces.
pub(crate) struct Node {
    pub(crate) forwarder: Forwarder,
    /// Whether its strategy keeps to one next hop of a prefix.
    pub(crate) keeps_to_one: bool,
    pub(crate) faces: Vec<FaceKind>,
    /// When its event is.
    pub(crate) scheduled: Time,
    /// When one of its flows had an event last, and which one.
    pub(crate) last_turn: (Time, u32),
}

/// A consumer flow and the face it is behind.
pub(crate) struct FlowApp {
    pub(crate) consumer: Consumer,
    pub(crate) node: u32,
    pub(crate) face: FaceId,
    /// Where its event is in the order of events: a shuffle by the seed.
    pub(crate) event: u32,
}

/// Reported now and then while a run goes on.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated so far.
    pub now: Time,
    /// To be simulated.
    pub until: Time,
    /// Events so far.
    pub events: u64,
    /// Packets put on links so far.
    pub packet_hops: u64,
}

/// What a run is: the measurements, and the counts of the engine.
#[derive(Debug)]
pub struct Outcome {
    /// Everything measured, as the report wants it; its `wall_s` is zero, since no clock is read
    /// here.
    pub report: weir_measure::Report,
    /// Packets that were checked against the codec.
    pub wire_checks: u64,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A packet is not what the codec makes of it.
    Wire {
        /// When it was put on a link.
        at: Time,
        /// What is wrong.
        error: WireError,
    },
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            RunError::Wire { at, error } => write!(f, "a packet sent at {at} fails the wire check: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

/// The event of the script and the samples comes first, so that what happens at the end of a step
/// belongs to the next.
const SCRIPT_EVENT: u32 = 0;
pub(crate) const FIRST_CHANNEL_EVENT: u32 = 1;

/// A simulated network.
pub struct World {
    experiment: Arc<Experiment>,
    pub(crate) now: Time,
    pub(crate) until: Time,
    pub(crate) pool: PacketPool,
    pub(crate) nodes: Vec<Node>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) flows: Vec<FlowApp>,
    /// Flow of each flow event.
    pub(crate) flow_of_event: Vec<u32>,
    pub(crate) script: VecDeque<(Time, Change)>,
    pub(crate) events: Deadlines,
    pub(crate) measure: Measurements,
    pub(crate) event_count: u64,
    seed_use: SeedUse,
    pub(crate) wire_check: Option<WireCheck>,
    actions: Vec<Action>,
    pub(crate) medium_actions: Vec<MediumAction>,
}

/// Sends every packet through the codec.
#[derive(Default)]
pub(crate) struct WireCheck {
    buffer: Vec<u8>,
    checked: u64,
    failed: Option<RunError>,
}

/// The parts that [`World::new`] puts together.
pub(crate) struct Parts {
    pub(crate) nodes: Vec<Node>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) media: Vec<SharedMedium>,
    pub(crate) flows: Vec<FlowApp>,
    pub(crate) measure: Measurements,
    pub(crate) seed_use: SeedUse,
}

impl World {
    pub(crate) fn new(experiment: Arc<Experiment>, parts: Parts) -> World {
        let Parts { nodes, channels, media, flows, measure, seed_use } = parts;
        let count = FIRST_CHANNEL_EVENT as usize + channels.len() + media.len() + flows.len() + nodes.len();
        let mut flow_of_event = vec![0; flows.len()];
        for (index, flow) in flows.iter().enumerate() {
            flow_of_event[flow.event as usize] = index as u32;
        }
        let mut world = World {
            now: Time::ZERO,
            until: experiment.until(),
            pool: PacketPool::new(),
            nodes,
            channels,
            media,
            flows,
            flow_of_event,
            script: experiment.script().into(),
            experiment,
            events: Deadlines::new(count),
            measure,
            event_count: 0,
            seed_use,
            wire_check: None,
            actions: Vec::new(),
            medium_actions: Vec::new(),
        };
        world.schedule_script();
        world
    }

    /// Sends every packet through the codec from now on, and compares.
    #[must_use]
    pub fn checking_wire(mut self) -> World {
        self.wire_check = Some(WireCheck::default());
        self
    }

    pub(crate) fn medium_event(&self, medium: u32) -> u32 {
        FIRST_CHANNEL_EVENT + self.channels.len() as u32 + medium
    }

    fn flow_event(&self, event: u32) -> u32 {
        self.medium_event(self.media.len() as u32) + event
    }

    fn node_event(&self, node: u32) -> u32 {
        self.flow_event(self.flows.len() as u32) + node
    }

    fn schedule_script(&mut self) {
        let scripted = self.script.front().map_or(Time::NEVER, |(at, _)| *at);
        self.events.set(SCRIPT_EVENT, scripted.min(self.measure.next_step()));
    }

    /// Runs to the end, or until something is wrong; `progress` is called at each sample.
    ///
    /// # Errors
    /// A packet that fails the wire check.
    pub fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        self.run_until(self.until, progress)
    }

    /// Runs what happens before `end`.
    ///
    /// # Errors
    /// As [`World::run`].
    pub fn run_until(&mut self, end: Time, progress: &mut dyn FnMut(Progress)) -> Result<(), RunError> {
        let first_medium = self.medium_event(0);
        let first_flow = self.flow_event(0);
        let first_node = self.node_event(0);
        while let Some((at, event)) = self.events.next_id() {
            if at >= end {
                break;
            }
            debug_assert!(at >= self.now, "time goes forward: {at} after {}", self.now);
            self.now = at;
            // The steps of measurement are no events of the network: what is measured does not change their number.
            self.event_count += u64::from(event != SCRIPT_EVENT);
            if event >= first_node {
                self.input(event - first_node, Input::Deadline);
                self.settle(event - first_node);
            } else if event >= first_flow {
                self.flow_deadline(self.flow_of_event[(event - first_flow) as usize]);
            } else if event >= first_medium {
                self.medium_deadline(event - first_medium);
            } else if event >= FIRST_CHANNEL_EVENT {
                self.arrival(event - FIRST_CHANNEL_EVENT);
            } else {
                self.scripted();
                progress(self.progress());
                if let Some(failed) = self.wire_check.as_mut().and_then(|check| check.failed.take()) {
                    return Err(failed);
                }
            }
        }
        self.now = end.min(self.until);
        self.wire_check.as_mut().and_then(|check| check.failed.take()).map_or(Ok(()), Err)
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

    /// Packets that exist now: queued, in flight, held or stored.
    pub fn packets_in_use(&self) -> usize {
        self.pool.in_use()
    }

    /// Ends the run and makes up the accounts.
    pub fn finish(mut self) -> Outcome {
        self.measure.finish(self.until, &self.flows, &mut self.nodes);
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
        let coming = [0, 1, 2].map(|at| channel.in_flight.get(at).map(|(_, packet)| *packet));
        self.nodes[node as usize].forwarder.prefetch(&self.pool, coming);
        self.events.set(FIRST_CHANNEL_EVENT + index, next);
        self.input(node, Input::Packet { face, packet });
        self.settle(node);
    }

    fn flow_deadline(&mut self, index: u32) {
        let node = self.flows[index as usize].node;
        self.note_turn(node, index);
        self.flows[index as usize].consumer.handle_deadline(self.now);
        self.send_interests(index);
        self.settle(node);
    }

    /// The seed decides who is first among flows of one node at the same instant. Those of other nodes do not meet then:
    /// a packet needs time to cross a link.
    fn note_turn(&mut self, node: u32, flow: u32) {
        let (last, other) = replace(&mut self.nodes[node as usize].last_turn, (self.now, flow));
        if last == self.now && other != flow {
            self.seed_use.note();
        }
    }

    fn scripted(&mut self) {
        while self.measure.next_step() <= self.now {
            self.measure.step(&self.flows, &mut self.nodes);
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
                self.channels[first as usize].delay = there;
                self.channels[second as usize].delay = back;
            }
            Change::Loss(link, loss) => {
                channels_of(link).into_iter().for_each(|channel| self.set_loss(channel, loss));
            }
            Change::Up(link, up) => {
                channels_of(link).into_iter().for_each(|channel| self.set_up(channel, up));
            }
            Change::CacheRatio(node, ratio) => {
                self.nodes[node.index()].forwarder.set_cache_ratio(ratio);
            }
        }
    }

    fn set_rate(&mut self, channel: u32, rate: Rate) {
        let Channel { from, to, medium, .. } = self.channels[channel as usize];
        if let Some((medium, direction)) = medium {
            self.media[medium as usize].medium.set_rate(self.now, direction, rate);
            self.measure.set_link_rate(channel, rate);
            return self.schedule_medium(medium);
        }
        let (node, face) = from;
        self.nodes[node as usize].forwarder.set_link_rate(self.now, face, Some(rate));
        self.settle(node);
        let (node, face) = to;
        self.nodes[node as usize].forwarder.set_receive_rate(self.now, face, Some(rate));
        self.settle(node);
        self.measure.set_link_rate(channel, rate);
    }

    fn set_loss(&mut self, channel: u32, loss: f64) {
        match self.channels[channel as usize].medium {
            Some((medium, direction)) => self.media[medium as usize].medium.set_loss(direction, loss),
            None => self.channels[channel as usize].loss = loss,
        }
    }

    fn set_up(&mut self, channel: u32, up: bool) {
        let Channel { from: (node, face), medium, .. } = self.channels[channel as usize];
        if let Some((medium, direction)) = medium {
            self.media[medium as usize].medium.set_up(direction, up);
        }
        self.channels[channel as usize].up = up;
        if !up {
            self.lose_in_flight(channel);
        }
        self.input(node, if up { Input::FaceUp(face) } else { Input::FaceDown(face) });
        self.settle(node);
    }

    fn lose_in_flight(&mut self, channel: u32) {
        let (node, _) = self.channels[channel as usize].from;
        while let Some((_, packet)) = self.channels[channel as usize].in_flight.pop_front() {
            self.measure.on_drop(node, &self.pool[packet], Some(channel), DropReason::FaceDown);
            self.pool.free(packet);
        }
        self.events.set(FIRST_CHANNEL_EVENT + channel, Time::NEVER);
    }

    // ---- Nodes

    #[inline]
    pub(crate) fn input(&mut self, node: u32, input: Input) {
        self.nodes[node as usize].forwarder.handle(self.now, input, &mut self.pool, &mut self.actions);
    }

    /// Does what a node asked for, including what its applications ask of it in turn.
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
        let deadline = self.nodes[node as usize].forwarder.next_deadline().max(self.now);
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
            FaceKind::Consumer(_) | FaceKind::Producer(_) => unreachable!("only links transmit"),
        };
        let channel = &mut self.channels[index as usize];
        if !channel.up {
            return self.drop_packet(node, face, packet, DropReason::FaceDown);
        }
        if let Some(check) = &mut self.wire_check {
            check.packet(self.now, &self.pool[packet]);
        }
        self.measure.on_use(index, self.now, until);
        self.measure.on_sent(index, &self.pool[packet], waited);
        if channel.loss > 0.0 && channel.random.chance(channel.loss) {
            return self.drop_packet(node, face, packet, DropReason::LinkLoss);
        }
        // A delay that was cut does not make packets overtake each other.
        let arrival = (until + channel.delay).max(channel.in_flight.back().map_or(Time::ZERO, |(at, _)| *at));
        if channel.in_flight.is_empty() {
            self.events.set(FIRST_CHANNEL_EVENT + index, arrival);
        }
        channel.in_flight.push_back((arrival, packet));
    }

    fn deliver(&mut self, node: u32, face: FaceId, packet: PacketId) {
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
            FaceKind::Channel(_) | FaceKind::Medium { .. } => unreachable!("links transmit"),
        }
    }

    fn deliver_to_consumer(&mut self, index: u32, id: PacketId) {
        let flow = &mut self.flows[index as usize];
        let packet = &self.pool[id];
        if packet.is_data() {
            if let Some(delivery) = flow.consumer.handle_data(self.now, packet) {
                let links = packet.hops.saturating_sub(1);
                self.measure.on_delivery(index, &delivery, links, self.now);
            }
        } else {
            flow.consumer.handle_nack(self.now, packet);
        }
        self.pool.free(id);
        self.send_interests(index);
    }

    /// Hands a consumer's Interests to its node.
    fn send_interests(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (node, face) = (flow.node, flow.face);
        while let Some(packet) = flow.consumer.poll_send(self.now, &mut self.pool) {
            let forwarder = &mut self.nodes[node as usize].forwarder;
            forwarder.handle(self.now, Input::Packet { face, packet }, &mut self.pool, &mut self.actions);
        }
        self.schedule_flow(index);
    }

    /// A timeout that shrank may have been over before now: then it is over now.
    #[inline]
    fn schedule_flow(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        let event = self.flow_event(flow.event);
        self.events.set(event, flow.consumer.next_deadline().max(self.now));
    }

    pub(crate) fn drop_packet(&mut self, node: u32, face: FaceId, packet: PacketId, reason: DropReason) {
        let channel = match self.nodes[node as usize].faces[face.0 as usize] {
            FaceKind::Channel(index) => Some(index),
            FaceKind::Medium { medium, direction } => {
                Some(self.media[medium as usize].first_channel + direction)
            }
            FaceKind::Consumer(_) | FaceKind::Producer(_) => None,
        };
        self.measure.on_drop(node, &self.pool[packet], channel, reason);
        self.pool.free(packet);
    }
}

/// The channels of both directions of a link.
fn channels_of(link: LinkId) -> [u32; 2] {
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
