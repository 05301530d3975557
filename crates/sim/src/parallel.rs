//! One run on several threads.
//!
//! The network is cut into parts ([`crate::partition`]). Each part is a world of its own, with nodes, flows,
//! a packet pool, events and measurements. Parts affect each other only by packets on links, and a packet
//! takes at least the delay of its link. So each part may handle all events of a **window**, as long as the
//! smallest delay between parts, before it exchanges packets with the others (K. M. Chandy and J. Misra,
//! Distributed Simulation, 1979; windows as in D. Nicol, The Cost of Conservative Synchronization in Parallel
//! Discrete Event Simulations, 1993). Then the parts meet and exchange the packets that have crossed.
//!
//! The sending part of a link between parts handles everything up to the arrival time, which it computes with
//! the link's random stream. The receiving part handles the rest. The events of a part have the same order as
//! in the whole network. So the results are the same to the bit for any number of threads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use weir_core::ids::FaceId;
use weir_core::link::Way;
use weir_core::packet::{Packet, PacketId};
use weir_core::random::Random;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_experiment::{Change, Experiment};
use weir_measure::Report;
use weir_scenario::{FlowId, LinkId, NodeId};

use crate::measure::Measurements;
use crate::part::Part;
use crate::partition::{self, Cut, parts_of_link};
use crate::requests::FlowSchemes;
use crate::world::{Channel, FIRST_CHANNEL_EVENT, FaceKind, Outcome, Parts, RunError, World};

/// Packets and losses that leave a part.
#[derive(Default)]
pub(crate) struct Outbox {
    exits: Vec<Exit>,
    /// One parcel for each part, until the parts meet.
    parcels: Vec<Parcel>,
    /// The part of each flow of the scenario.
    home: Arc<[u32]>,
}

/// The other end of a channel that leaves a part.
#[derive(Clone, Copy)]
struct Exit {
    part: u32,
    /// Its index there.
    channel: u32,
}

/// The contents that go from one part to another when they meet.
#[derive(Default)]
struct Parcel {
    /// Packets with their arrival times, and the channels by which they come.
    packets: Vec<(Time, u32, Packet)>,
    /// The scenario's flows that have lost a packet.
    lost: Vec<u32>,
}

/// A run on one thread or several: a world, or the parts of one.
pub struct Worlds {
    parts: Vec<World>,
    lookahead: Span,
    /// The times of changes that two parts make, and that the whole would make once.
    twice: Vec<Time>,
    reason: Option<&'static str>,
}

impl World {
    /// Runs on this many threads, on fewer if the network has fewer parts, or on one if it cannot be divided
    /// ([`Worlds::reason`]). The results are the same.
    pub fn on_threads(self, threads: usize) -> Worlds {
        let alone =
            |world, reason| Worlds { parts: vec![world], lookahead: Span::ZERO, twice: Vec::new(), reason };
        if threads <= 1 {
            return alone(self, None);
        }
        if let Some(reason) = self.cannot_be_divided() {
            return alone(self, Some(reason));
        }
        match partition::cut(&self, threads) {
            Some(cut) => self.divided(&cut),
            None => alone(
                self,
                Some("no link can be cut: each link has no delay, fails, or shares its time with others"),
            ),
        }
    }

    /// The reason why the run needs a single thread, if there is one.
    fn cannot_be_divided(&self) -> Option<&'static str> {
        let is_of_all = |change: &Change| {
            matches!(change, Change::NodeUp(..) | Change::Produce(_) | Change::Learn(_) | Change::Reroute)
        };
        match () {
            () if self.event_count > 0 => Some("the run has already started"),
            () if self.trace.is_some() => Some("a trace needs the order of all events"),
            () if self.wire_check.is_some() => Some("the wire check stops at the first wrong packet"),
            () if self.experiment.scheme().is_own() => Some("its scheme is not a built-in one"),
            () if self.script.iter().any(|(_, change)| is_of_all(change)) => {
                Some("nodes fail, producers move or next hops change, which affects the whole network")
            }
            () => None,
        }
    }

    fn divided(self, cut: &Cut) -> Worlds {
        let mut twice = Vec::new();
        let parts = self.parts(cut);
        let scripts = self.scripts(cut, &parts, &mut twice);
        let home: Arc<[u32]> = self.flows.iter().map(|flow| cut.part_of[flow.node as usize]).collect();
        let World {
            experiment,
            nodes,
            channels,
            media,
            wires,
            flows,
            flow_of_event,
            sources,
            seed_use,
            measure,
            ..
        } = self;
        // The parts have accounts of their own.
        drop(measure);
        let mut own: Vec<Parts> = Vec::with_capacity(cut.parts);
        let mut exits = vec![Vec::new(); cut.parts];
        for (part, script) in parts.iter().zip(scripts) {
            let of_run = experiment.scheme().build();
            let some = part.flows.of(0).filter(|flow| sources.get(*flow).is_some_and(Option::is_some));
            own.push(Parts {
                part: Arc::clone(part),
                script,
                nodes: Vec::new(),
                channels: Vec::new(),
                media: Vec::new(),
                wires: Vec::new(),
                flows: Vec::new(),
                sources: Vec::new(),
                schemes: FlowSchemes::new(of_run, &experiment, some.map(FlowId)),
                // Only undivided networks use this.
                produced: Vec::new(),
                measure: Measurements::new(&experiment, Arc::clone(part))
                    .expect("the whole has been measured"),
                seed_use: seed_use.clone(),
            });
        }
        let part_of = |node: u32| cut.part_of[node as usize] as usize;
        let node_at =
            |node: u32| parts[part_of(node)].nodes.place(node).expect("a node is in its part") as u32;
        let flow_at = |flow: u32| {
            parts[home[flow as usize] as usize].flows.place(flow).expect("a flow is in its part") as u32
        };
        let channel_at = |part: usize, channel: u32| {
            let link = parts[part].links.place(channel / 2).expect("the parts of both ends have a link");
            2 * link as u32 + channel % 2
        };
        let part_of_channel = |channel: u32| part_of(channels[channel as usize].from.0);
        let (mut of_media, mut of_wires) = (Vec::new(), Vec::new());
        for mut medium in media {
            let part = part_of_channel(medium.first_channel);
            medium.first_channel = channel_at(part, medium.first_channel);
            of_media.push(own[part].media.len() as u32);
            own[part].media.push(medium);
        }
        for mut wire in wires {
            let part = part_of_channel(wire.first_channel);
            wire.first_channel = channel_at(part, wire.first_channel);
            of_wires.push(own[part].wires.len() as u32);
            own[part].wires.push(wire);
        }
        for (number, mut node) in nodes.into_iter().enumerate() {
            let part = part_of(number as u32);
            for face in &mut node.faces {
                *face = match *face {
                    FaceKind::Channel(channel) | FaceKind::Away { channel, .. } => {
                        let other = part_of(channels[channel as usize].to.0);
                        if other == part {
                            FaceKind::Channel(channel_at(part, channel))
                        } else {
                            let exit = exits[part].len() as u32;
                            exits[part]
                                .push(Exit { part: other as u32, channel: channel_at(other, channel) });
                            FaceKind::Away { channel: channel_at(part, channel), exit }
                        }
                    }
                    FaceKind::Medium { medium, direction } => {
                        FaceKind::Medium { medium: of_media[medium as usize], direction }
                    }
                    FaceKind::HalfDuplex { wire, direction } => {
                        FaceKind::HalfDuplex { wire: of_wires[wire as usize], direction }
                    }
                    FaceKind::Consumer(flow) => FaceKind::Consumer(flow_at(flow)),
                    FaceKind::Producer(producer) => FaceKind::Producer(producer),
                };
            }
            node.last_turn.1 = 0;
            own[part].nodes.push(node);
        }
        for channel in channels {
            let ends = [channel.from, channel.to];
            let [from, to] = ends.map(|(node, _)| part_of(node));
            let at = |part: usize| {
                ends.map(|(node, face)| (if part_of(node) == part { node_at(node) } else { ELSEWHERE }, face))
            };
            let medium = channel.medium.map(|(medium, direction)| (of_media[medium as usize], direction));
            let ([a, b], arriving) = (at(from), arriving(&channel));
            own[from].channels.push(Channel { from: a, to: b, medium, ..channel });
            if from != to {
                let [a, b] = at(to);
                own[to].channels.push(Channel { from: a, to: b, ..arriving });
            }
        }
        let mut orders = vec![0; flows.len()];
        let mut counts = vec![0; cut.parts];
        for flow in flow_of_event {
            let count = &mut counts[home[flow as usize] as usize];
            orders[flow as usize] = *count;
            *count += 1;
        }
        for (number, mut flow) in flows.into_iter().enumerate() {
            let part = &mut own[home[number] as usize];
            (flow.node, flow.event, flow.flow) = (node_at(flow.node), orders[number], flow_at(number as u32));
            part.flows.push(flow);
        }
        for (number, source) in sources.into_iter().enumerate() {
            own[home[number] as usize].sources.push(source);
        }
        let world = |(parts, exits): (Parts, Vec<Exit>)| {
            let mut world = World::new(Arc::clone(&experiment), parts);
            let parcels = (0..cut.parts).map(|_| Parcel::default()).collect();
            world.outbox = Outbox { exits, parcels, home: Arc::clone(&home) };
            world
        };
        let parts = own.into_iter().zip(exits).map(world).collect();
        Worlds { parts, lookahead: cut.lookahead, twice, reason: None }
    }

    /// The nodes, links and flows of each part.
    fn parts(&self, cut: &Cut) -> Vec<Arc<Part>> {
        let of = |part: u32| {
            let is_own = |node: u32| cut.part_of[node as usize] == part;
            let nodes = (0..self.nodes.len() as u32).filter(|node| is_own(*node));
            let links = self.channels.iter().step_by(2).enumerate();
            let links = links.filter(|(_, channel)| is_own(channel.from.0) || is_own(channel.to.0));
            let flows = self.flows.iter().enumerate().filter(|(_, flow)| is_own(flow.node));
            Arc::new(Part {
                nodes: nodes.collect(),
                links: links.map(|(link, _)| link as u32).collect(),
                flows: flows.map(|(flow, _)| flow as u32).collect(),
            })
        };
        (0..cut.parts as u32).map(of).collect()
    }

    /// The script of each part; `twice` gets the times at which two parts do the same.
    fn scripts(
        &self,
        cut: &Cut,
        parts: &[Arc<Part>],
        twice: &mut Vec<Time>,
    ) -> Vec<VecDeque<(Time, Change)>> {
        let mut scripts = vec![VecDeque::new(); cut.parts];
        for (at, change) in &self.script {
            let mut add = |part: u32, change: Change| scripts[part as usize].push_back((*at, change));
            let of_flow = |flow: FlowId| {
                let part = cut.part_of[self.flows[flow.index()].node as usize];
                let place = parts[part as usize].flows.place(flow.index() as u32);
                (part, FlowId(place.expect("a flow is in the part of its consumer")))
            };
            let mut of_link = |link: LinkId, change: &dyn Fn(LinkId) -> Change| {
                let [one, other] = parts_of_link(self, cut, link);
                let place = |part: u32| {
                    let place = parts[part as usize].links.place(link.index() as u32);
                    LinkId(place.expect("the parts of both ends have a link"))
                };
                add(one, change(place(one)));
                if one != other {
                    add(other, change(place(other)));
                    twice.push(*at);
                }
            };
            match *change {
                Change::Start(flow) => {
                    let (part, flow) = of_flow(flow);
                    add(part, Change::Start(flow));
                }
                Change::Stop(flow) => {
                    let (part, flow) = of_flow(flow);
                    add(part, Change::Stop(flow));
                }
                Change::Source(flow, source) => {
                    let (part, flow) = of_flow(flow);
                    add(part, Change::Source(flow, source));
                }
                Change::Rate(link, rates) => of_link(link, &|link| Change::Rate(link, rates)),
                Change::Delay(link, delays) => of_link(link, &|link| Change::Delay(link, delays)),
                Change::Loss(link, loss) => of_link(link, &|link| Change::Loss(link, loss)),
                Change::LossBurst(link, length) => of_link(link, &|link| Change::LossBurst(link, length)),
                Change::Jitter(link, jitter) => of_link(link, &|link| Change::Jitter(link, jitter)),
                Change::Up(link, up) => of_link(link, &|link| Change::Up(link, up)),
                Change::CacheRatio(node, ratio) => {
                    let part = cut.part_of[node.index()];
                    let place = parts[part as usize].nodes.place(node.index() as u32);
                    add(part, Change::CacheRatio(NodeId(place.expect("a node is in its part")), ratio));
                }
                Change::NodeUp(..) | Change::Produce(_) | Change::Learn(_) | Change::Reroute => {
                    unreachable!("these are never divided")
                }
            }
        }
        scripts
    }

    /// Sends a node's packet by a channel to another part. Such a channel never fails.
    pub(crate) fn transmit_away(
        &mut self,
        node: u32,
        face: FaceId,
        packet: PacketId,
        (until, waited): (Time, Span),
        (channel, exit): (u32, u32),
    ) {
        self.measure.on_use(channel, self.now, until);
        self.measure.on_sent(channel, &self.pool[packet], waited);
        match self.channels[channel as usize].way.pass(until) {
            Some(arrival) => {
                let Exit { part, channel } = self.outbox.exits[exit as usize];
                let packet = self.pool.take_out(packet);
                self.outbox.parcels[part as usize].packets.push((arrival, channel, packet));
            }
            None => self.drop_packet(node, face, packet, DropReason::LinkLoss),
        }
    }

    /// When it, or a part that gets something from it, has its next event.
    fn next_of_own(&self) -> Time {
        let sent = self.outbox.parcels.iter().flat_map(|parcel| &parcel.packets);
        sent.fold(self.events.next(), |first, (arrival, ..)| first.min(*arrival))
    }

    /// Hands over the outgoing parcels, each in exchange for an empty one.
    fn send_parcels(&mut self, boxes: &[Mutex<Parcel>]) {
        for flow in self.measure.lost_elsewhere.drain(..) {
            self.outbox.parcels[self.outbox.home[flow as usize] as usize].lost.push(flow);
        }
        for (parcel, of_part) in self.outbox.parcels.iter_mut().zip(boxes) {
            core::mem::swap(parcel, &mut lock(of_part));
        }
    }

    /// Takes the parcel that has come from another part.
    fn take_parcel(&mut self, parcel: &mut Parcel) {
        for (arrival, channel, packet) in parcel.packets.drain(..) {
            let packet = self.pool.put_in(packet);
            if self.channels[channel as usize].put_in_flight(packet, arrival) {
                self.events.set(FIRST_CHANNEL_EVENT + channel, arrival);
            }
        }
        parcel.lost.drain(..).for_each(|flow| self.measure.on_loss(flow));
    }
}

/// Stands for a node that is in another part.
const ELSEWHERE: u32 = u32::MAX;

/// Makes a channel from another part. Packets come with their arrival times.
fn arriving(channel: &Channel) -> Channel {
    let random = || Random::named(0, "");
    let mut way = Way::new(channel.way.delay(), 0.0, random());
    if channel.way.reorders() {
        way = way.with_jitter(Span::ZERO, true, random());
    }
    Channel { way, in_flight: VecDeque::new(), ..*channel }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State that the threads share.
struct Exchange {
    /// Time of the next event of each part, in two alternating sets: a part that is ahead does not write a
    /// set that another still reads.
    next: [Vec<AtomicU64>; 2],
    /// The parcels from each part to each, in two alternating sets.
    boxes: [Vec<Vec<Mutex<Parcel>>>; 2],
    meeting: Meeting,
}

impl Exchange {
    fn new(parts: &[World]) -> Exchange {
        let next = |time: Time| AtomicU64::new(time.as_nanos());
        let boxes = || parts.iter().map(|_| parts.iter().map(|_| Mutex::default()).collect()).collect();
        Exchange {
            next: [
                parts.iter().map(|part| next(part.next_of_own())).collect(),
                parts.iter().map(|_| next(Time::NEVER)).collect(),
            ],
            boxes: [boxes(), boxes()],
            meeting: Meeting::new(parts.len()),
        }
    }

    /// Runs a part up to `end`, window by window.
    fn run(&self, number: usize, part: &mut World, lookahead: Span, end: Time) -> Result<(), RunError> {
        let _guard = Guard(&self.meeting);
        let mut turn = 0;
        loop {
            let next = self.next[turn].iter().map(|next| Time::from_nanos(next.load(Ordering::Relaxed)));
            let start = next.min().unwrap_or(Time::NEVER);
            if start >= end {
                return Ok(());
            }
            // Losses must reach their flows before a measurement step, so the step is a window of its own.
            let step = part.measure.next_step();
            let stop = if start < step { step.min(start + lookahead) } else { start + Span::from_nanos(1) };
            part.run_until(stop.min(end), &mut |_| ())?;
            turn = 1 - turn;
            self.next[turn][number].store(part.next_of_own().as_nanos(), Ordering::Relaxed);
            part.send_parcels(&self.boxes[turn][number]);
            if !self.meeting.meet() {
                return Ok(());
            }
            for from in &self.boxes[turn] {
                part.take_parcel(&mut lock(&from[number]));
            }
        }
    }
}

/// A barrier at which threads wait for each other.
struct Meeting {
    all: usize,
    /// Number of completed meetings.
    round: AtomicUsize,
    state: Mutex<Waiting>,
    wake: Condvar,
}

struct Waiting {
    here: usize,
    /// `true` if a thread will not come any more, so no thread waits.
    is_over: bool,
}

/// How often a thread polls before it sleeps: some microseconds, about the time to wake up.
const LOOKS: usize = 2_000;

impl Meeting {
    fn new(all: usize) -> Meeting {
        let state = Mutex::new(Waiting { here: 0, is_over: false });
        Meeting { all, round: AtomicUsize::new(0), state, wake: Condvar::new() }
    }

    /// Waits for all others. Returns whether they come.
    fn meet(&self) -> bool {
        let mut state = lock(&self.state);
        let round = self.round.load(Ordering::Acquire);
        state.here += 1;
        if state.here == self.all {
            state.here = 0;
            self.round.store(round.wrapping_add(1), Ordering::Release);
            self.wake.notify_all();
            return true;
        }
        drop(state);
        for _ in 0..LOOKS {
            if self.round.load(Ordering::Acquire) != round {
                return true;
            }
            core::hint::spin_loop();
        }
        let mut state = lock(&self.state);
        while self.round.load(Ordering::Acquire) == round && !state.is_over {
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.round.load(Ordering::Acquire) != round
    }
}

/// Releases the others when a thread ends. At the end of a run all end. Before that, none may wait for one
/// that has panicked.
struct Guard<'m>(&'m Meeting);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_over = true;
        self.0.wake.notify_all();
    }
}

impl Worlds {
    /// Number of threads in use.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }

    /// The reason why one thread runs although several were requested.
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Runs the events before `end`.
    ///
    /// # Errors
    /// As [`World::run`].
    pub fn run_until(&mut self, end: Time) -> Result<(), RunError> {
        if let [one] = &mut self.parts[..] {
            return one.run_until(end, &mut |_| ());
        }
        let (exchange, lookahead) = (Exchange::new(&self.parts), self.lookahead);
        thread::scope(|scope| {
            let exchange = &exchange;
            let mut parts = self.parts.iter_mut().enumerate();
            let first = parts.next();
            let others: Vec<_> = parts
                .map(|(number, part)| scope.spawn(move || exchange.run(number, part, lookahead, end)))
                .collect();
            let mut result =
                first.map_or(Ok(()), |(number, part)| exchange.run(number, part, lookahead, end));
            for other in others {
                match other.join() {
                    Ok(of_other) => result = result.and(of_other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })?;
        self.parts.iter_mut().for_each(|part| part.now = end.min(part.until));
        Ok(())
    }

    /// Packets put on links so far.
    pub fn packet_hops(&self) -> u64 {
        self.parts.iter().map(World::packet_hops).sum()
    }

    /// Ends the trace. Call it before [`Worlds::finish`].
    ///
    /// # Errors
    /// Returns an error if the trace cannot be written.
    pub fn end_trace(&mut self) -> Result<(), RunError> {
        self.parts.iter_mut().try_for_each(World::end_trace)
    }

    /// The report as if the run ended now: windows that have begun end now. It changes nothing of the run.
    pub fn so_far(&self) -> Report {
        let (experiment, events) = (Arc::clone(&self.parts[0].experiment), self.event_count());
        let parts = self.parts.iter().map(|part| (part.sending(), part.so_far()));
        joined(&experiment, parts).report(&experiment, events)
    }

    /// Ends the run and completes the accounts.
    pub fn finish(mut self) -> Outcome {
        if self.parts.len() == 1
            && let Some(one) = self.parts.pop()
        {
            return one.finish();
        }
        let events = self.event_count();
        let (experiment, seed_use) = (Arc::clone(&self.parts[0].experiment), self.parts[0].seed_use.clone());
        let parts = self.parts.into_iter().map(|part| (part.sending(), part.finished()));
        let mut report = joined(&experiment, parts).report(&experiment, events);
        report.document.seed_matters = seed_use.is_noted();
        Outcome { report, wire_checks: 0 }
    }

    /// Events so far. One that two parts have handled counts once.
    fn event_count(&self) -> u64 {
        let twice = self.twice.iter().filter(|at| **at < self.parts[0].now).count() as u64;
        self.parts.iter().map(World::event_count).sum::<u64>() - twice
    }
}

/// Joins the measurements of the parts of a network. Each comes with whether it sends by each of its channels.
fn joined(
    experiment: &Experiment,
    mut parts: impl ExactSizeIterator<Item = (Vec<bool>, Measurements)>,
) -> Measurements {
    if parts.len() == 1
        && let Some((_, whole)) = parts.next()
    {
        return whole;
    }
    let mut whole = Measurements::new(experiment, Arc::default()).expect("the parts have been measured");
    parts.for_each(|(sends, measure)| whole.take_in(measure, |channel| sends[channel]));
    whole
}

impl World {
    /// Whether it sends by each of its channels.
    fn sending(&self) -> Vec<bool> {
        self.channels.iter().map(|channel| channel.from.0 != ELSEWHERE).collect()
    }

    fn finished(mut self) -> Measurements {
        self.measure.finish(self.until, &self.flows, &self.sources, &mut self.nodes);
        self.measure
    }

    fn so_far(&self) -> Measurements {
        self.measure.so_far(self.now, &self.flows, &self.sources, &self.nodes)
    }
}

impl core::fmt::Debug for Worlds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Worlds")
            .field("parts", &self.parts)
            .field("lookahead", &self.lookahead)
            .finish_non_exhaustive()
    }
}
