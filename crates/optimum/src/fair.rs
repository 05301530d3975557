//! The result of fair scheduling at every link: the allocation that schedulers can enforce hop by hop.
//!
//! The [policy](crate::policy) divides each link among the streams that want Data over it. A stream counts
//! once at a link, even if several routes lead there. Each consumer takes as much as its shares along its
//! routes carry, split in the ratio of the next hops' offers. So a stream's share of a link depends on the
//! demands of the others there, and these depend on their shares of other links. The result is a fixed point:
//! ```text
//!   share = policy(capacity − Interests, wants of the others)      wants, loads = paths(shares)
//! ```
//!
//! At this point, a stream could get more of a link that limits it only at the cost of a stream of its class
//! that has no more, or of a class that has no more for its weight. If all routes are single paths, this is
//! the hierarchical weighted max-min allocation (Bertsekas and Gallager, section 6.5.2, at each level).
//!
//! The rounds start with empty links. So the first shares and the demands that follow are too large, the next
//! shares are too small, and so on. The shares converge from both sides: every two rounds settle the links
//! that bind next.
//!
//! On single paths with one class, they converge from any start. For any demands of the others, a share of a
//! link is at least as large as with unlimited demands. So the tightest link settles first, then the next
//! (Charny 1994). When a flow starts or ends, the rounds therefore continue from the existing shares. A round
//! divides only links on which something has changed, and updates only streams whose shares have changed. So
//! the cost of an event depends on the size of its effect, not on the size of the network.
//!
//! If two links of several classes become full at the same time, there may be more than one fixed point. Over
//! several paths there are many. In these cases, and with several classes of up to 100 flows at a time,
//! rounds start with empty links at each event. So the result does not depend on earlier events. Over several
//! paths, shares change by half of the difference in each round. If routes fork and join in many places, the
//! split of a stream's spare rate may not converge. Rates then still change by about a thousandth, and the
//! result is the mean of the second half of the rounds.

use weir_core::seam::SharingPolicy;
use weir_packet::ServiceClass;

use crate::network::{Changed, Channel, Conditions, Network, Stream};
use crate::paths::{Paths, along};
use crate::policy::Division;

/// Loads have settled if they change by at most this, relative to the largest load of their stream.
const SETTLED: f64 = 1e-10;
/// A value that changes by at most this part of itself stays unchanged, because the change is rounding.
const ROUNDING: f64 = 1e-10;
/// A share is used up if at most this part of it is left.
const USED_UP: f64 = 1e-9;
/// The number of rounds with whole steps, over single paths. Every two rounds settle at least one link; a
/// network of 200 nodes and 1000 flows takes 50.
const WHOLE_STEPS: usize = 200;
/// The largest number of rounds over single paths.
const ROUNDS: usize = 600;
/// With several classes, loads may oscillate between two links. A load oscillates if it changes by as much as
/// two rounds before, to within this part of the change. Then the rounds make half steps.
const SWINGS: f64 = 1e-6;
/// The largest number of rounds over changed links and streams. Two links with nearly the same spare rate may
/// settle in many small steps.
const ROUNDS_OF_CHANGES: usize = 2000;
/// Rounds start with empty links at each event if there are several classes and at most this number of flows.
const FEW_FLOWS: usize = 100;
/// The largest number of rounds over several paths. On a network of 200 nodes with three next hops at each node, all rates
/// are then within 0.2 % of the result of ten times as many rounds.
const ROUNDS_MULTIPATH: usize = 80;

/// The shares of links and the loads of streams, bit/s of Data; and the parts that need an update.
#[derive(Clone, Debug)]
pub(crate) struct Fair<'n> {
    network: &'n Network,
    policy: &'n SharingPolicy,
    /// For each arc in the list of all: the link's offer to the stream if it wanted more.
    pub share: Vec<f64>,
    /// For each arc: its load. For a stream with several consumers, it is the load of the one that takes
    /// most.
    pub load: Vec<f64>,
    /// For each arc: whether the link's Interests limit its share, not its Data.
    pub by_interests: Vec<bool>,
    /// The rate of each flow.
    pub rate: Vec<f64>,
    /// Whether loads have settled. If not, `load` and `rate` are means.
    pub is_settled: bool,
    /// The streams that were updated, and the channels that were divided, since the last [`Fair::settle`]
    /// began.
    pub taken: Marks,
    pub divided: Marks,
    /// The share of each arc in the link's Data, and in its Interests, bit/s.
    by_data: Vec<f64>,
    of_interests: Vec<f64>,
    /// The load that each arc would have if its shares were unlimited, bit/s.
    wanted: Vec<f64>,
    /// Whether rounds cover all links and streams, so that every change counts, however small.
    counts_all: bool,
    /// Whether each stream ran when shares were last divided.
    ran: Vec<bool>,
    /// The channels and streams that need an update.
    data: Marks,
    interests: Marks,
    streams: Marks,
    /// The usable rate of each channel of a medium, bit/s of Data.
    of_media: Vec<f64>,
    division: Division,
    paths: Paths,
    wish: Wish,
    next: Vec<f64>,
}

/// A set of numbers below a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    has: Vec<bool>,
    list: Vec<usize>,
}

impl Marks {
    pub fn new(bound: usize) -> Marks {
        Marks { has: vec![false; bound], list: Vec::new() }
    }

    pub fn add(&mut self, number: usize) {
        if !core::mem::replace(&mut self.has[number], true) {
            self.list.push(number);
        }
    }

    /// Returns its numbers, in the order in which they were added.
    pub fn list(&self) -> &[usize] {
        &self.list
    }

    pub fn clear(&mut self) {
        self.list.drain(..).for_each(|number| self.has[number] = false);
    }

    /// Returns its numbers in ascending order, and empties the set.
    fn take(&mut self) -> Vec<usize> {
        let mut list = core::mem::take(&mut self.list);
        list.iter().for_each(|number| self.has[*number] = false);
        list.sort_unstable();
        list
    }

    /// Keeps the memory of a list for later use.
    fn give_back(&mut self, mut list: Vec<usize>) {
        if self.list.is_empty() {
            list.clear();
            self.list = list;
        }
    }
}

/// The mean of several rounds.
#[derive(Debug, Default)]
struct Mean {
    rounds: f64,
    load: Vec<f64>,
    rate: Vec<f64>,
}

impl Mean {
    fn add(&mut self, fair: &Fair<'_>) {
        self.rounds += 1.0;
        for (sums, values) in [(&mut self.load, &fair.load), (&mut self.rate, &fair.rate)] {
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    fn put(self, fair: &mut Fair<'_>) {
        let mean = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / self.rounds).collect();
        (fair.load, fair.rate) = (mean(self.load), mean(self.rate));
    }
}

/// Returns the part of a link that Data may use: the part that Interests leave, but at least half.
pub(crate) fn room_for_data(capacity: f64, interests: f64) -> f64 {
    (capacity - interests).max(capacity / 2.0)
}

/// Returns the part of a link that Interests may use: half of it, and the part that Data leave.
pub(crate) fn room_for_interests(capacity: f64, data: f64) -> f64 {
    (capacity - data).max(capacity / 2.0)
}

impl<'n> Fair<'n> {
    /// Returns the state in which nothing runs.
    pub fn new(network: &'n Network, policy: &'n SharingPolicy) -> Fair<'n> {
        let (arcs, streams, channels) =
            (network.stream_of_arc.len(), network.streams.len(), network.channels.len());
        Fair {
            network,
            policy,
            share: vec![0.0; arcs],
            load: vec![0.0; arcs],
            by_interests: vec![false; arcs],
            rate: vec![0.0; network.stream_of.len()],
            is_settled: false,
            taken: Marks::new(streams),
            divided: Marks::new(channels),
            by_data: vec![0.0; arcs],
            of_interests: vec![f64::INFINITY; arcs],
            wanted: vec![0.0; arcs],
            counts_all: false,
            ran: vec![false; streams],
            data: Marks::new(channels),
            interests: Marks::new(channels),
            streams: Marks::new(streams),
            of_media: vec![0.0; channels],
            division: Division::default(),
            paths: Paths::default(),
            wish: Wish::default(),
            next: Vec::new(),
        }
    }

    /// Finds the fixed point under these conditions. `changed` lists the changes since the last call.
    pub fn settle(&mut self, conditions: &Conditions, changed: &Changed) {
        self.taken.clear();
        self.divided.clear();
        let is_single = !conditions.running.forks() && self.network.media.is_empty();
        let may_go_on = conditions.running.has_one_class() || conditions.running.flows.len() > FEW_FLOWS;
        let goes_on = is_single && may_go_on && self.is_settled && !changed.all;
        self.is_settled = goes_on && self.go_on(conditions, changed);
        if !self.is_settled && is_single {
            self.begin(conditions);
            self.is_settled = self.rounds_of_changes(conditions);
        }
        if !self.is_settled {
            self.begin(conditions);
            self.rounds_of_all(conditions);
        }
    }

    /// Continues the rounds from the existing shares. Returns whether loads settled.
    fn go_on(&mut self, conditions: &Conditions, changed: &Changed) -> bool {
        for &flow in &changed.flows {
            let stream = self.network.stream_of[flow];
            self.streams.add(stream);
            if self.ran[stream] != conditions.running.is(stream) {
                self.starts_or_stops(stream, !self.ran[stream]);
            }
        }
        for &channel in &changed.channels {
            self.data.add(channel);
            self.interests.add(channel);
        }
        self.rounds_of_changes(conditions)
    }

    fn starts_or_stops(&mut self, index: usize, runs: bool) {
        self.ran[index] = runs;
        self.taken.add(index);
        let stream = &self.network.streams[index];
        stream.consumers.iter().for_each(|(flow, _)| self.rate[*flow] = 0.0);
        for (at, arc) in self.network.arcs_of(index).zip(&stream.arcs) {
            self.forget(at);
            for channel in [arc.channel, arc.back] {
                self.data.add(channel);
                self.interests.add(channel);
            }
            self.divided.add(arc.channel);
        }
    }

    fn forget(&mut self, arc: usize) {
        for of in [&mut self.share, &mut self.by_data, &mut self.load, &mut self.wanted] {
            of[arc] = 0.0;
        }
        self.of_interests[arc] = f64::INFINITY;
        self.by_interests[arc] = false;
    }

    /// Starts with empty links.
    fn begin(&mut self, conditions: &Conditions) {
        for index in 0..self.network.streams.len() {
            let runs = conditions.running.is(index);
            if runs || self.ran[index] {
                self.starts_or_stops(index, runs);
                self.streams.add(index);
            }
        }
    }

    fn look_at_all(&mut self, conditions: &Conditions) {
        for &channel in &conditions.running.channels {
            self.data.add(channel);
            self.interests.add(channel);
        }
        conditions.running.streams.iter().for_each(|stream| self.streams.add(*stream));
    }

    /// Makes rounds over changed links and streams, on single paths, until nothing changes. Returns whether
    /// this happened.
    fn rounds_of_changes(&mut self, conditions: &Conditions) -> bool {
        self.counts_all = false;
        let mut unrest_before = [f64::INFINITY; 2];
        for round in 0..ROUNDS_OF_CHANGES {
            let unrest = self.round(conditions, 1.0);
            if self.data.list.is_empty() && self.interests.list.is_empty() && self.streams.list.is_empty() {
                return true;
            }
            let before = core::mem::replace(&mut unrest_before[round % 2], unrest);
            if unrest > SETTLED && (unrest - before).abs() <= SWINGS * unrest {
                return false;
            }
        }
        false
    }

    /// Makes rounds over all links and streams, until loads change only by rounding; else the result is the
    /// mean of the last rounds.
    fn rounds_of_all(&mut self, conditions: &Conditions) {
        let (whole, most) =
            if conditions.running.forks() { (1, ROUNDS_MULTIPATH) } else { (WHOLE_STEPS, ROUNDS) };
        let whole = if self.network.media.is_empty() { 1 } else { whole };
        let mut mean = Mean::default();
        self.counts_all = true;
        for round in 0..most {
            self.look_at_all(conditions);
            let unrest = self.round(conditions, if round < whole { 1.0 } else { 0.5 });
            self.is_settled = unrest <= SETTLED;
            if self.is_settled {
                return;
            }
            if round >= most / 2 {
                mean.add(self);
            }
        }
        mean.put(self);
    }

    /// Divides links and updates streams. Shares change by the part `step` of the difference. Returns the
    /// largest change of a load, or its largest excess over its target share, as a part of its stream's
    /// largest load.
    fn round(&mut self, conditions: &Conditions, step: f64) -> f64 {
        for medium in 0..self.network.media.len() {
            self.divide_air(conditions, medium);
        }
        let mut unrest = 0.0f64;
        let data = self.data.take();
        for &channel in data.iter().filter(|channel| !conditions.running.data_on[**channel].is_empty()) {
            unrest = unrest.max(self.divide_data(conditions, channel, step));
        }
        self.data.give_back(data);
        let interests = self.interests.take();
        for &channel in
            interests.iter().filter(|channel| !conditions.running.interests_on[**channel].is_empty())
        {
            if self.network.medium_of[channel].is_none() {
                self.divide_interests(conditions, channel);
            }
        }
        self.interests.give_back(interests);
        let streams = self.streams.take();
        for &stream in streams.iter().filter(|stream| conditions.running.is(**stream)) {
            unrest = unrest.max(self.take(conditions, stream));
        }
        self.streams.give_back(streams);
        unrest
    }

    /// Divides the air of a medium: its directions have equal parts, and the parts that others do not want.
    /// The cost of Data includes that of their Interests.
    fn divide_air(&mut self, conditions: &Conditions, medium: usize) {
        let Fair { network, division, wanted, of_media, .. } = self;
        let channels = network.media[medium].clone();
        let arcs = |channel: usize| conditions.running.data_on[channel].iter().map(|(_, arc)| *arc);
        let used: Vec<usize> = channels.filter(|channel| arcs(*channel).count() > 0).collect();
        division.clear();
        for &channel in &used {
            let wants =
                arcs(channel).map(|arc| wanted[arc] * conditions.part[arc] * conditions.air[arc]).sum();
            division.add(ServiceClass::Be, 1.0, wants);
        }
        // The air time of a bit/s is the same for all Data of one size; else it is a mean.
        let cost = |channel: usize| {
            let all: f64 = arcs(channel).map(|arc| conditions.air[arc]).sum();
            all / arcs(channel).count() as f64
        };
        for (&channel, part) in used.iter().zip(division.shares(self.policy, conditions.air_to_use)) {
            of_media[channel] = (part / cost(channel)).min(conditions.capacity[channel]);
        }
    }

    /// Divides a channel among Data: they have what Interests leave, at least half of the link. Returns the
    /// largest excess of a load over its share, as a part of the load.
    fn divide_data(&mut self, conditions: &Conditions, channel: Channel, step: f64) -> f64 {
        let mut excess = 0.0f64;
        let capacity = match self.network.medium_of[channel] {
            Some(_) => self.of_media[channel],
            None => {
                let interests = self.network.interests(channel, &self.load, conditions);
                room_for_data(conditions.capacity[channel], interests)
            }
        };
        let on = &conditions.running.data_on[channel];
        self.division.clear();
        for &(stream, arc) in on {
            let of = &self.network.streams[stream];
            self.division.add(of.class, of.weight, conditions.part[arc] * self.wanted[arc]);
        }
        self.division.divide(self.policy, capacity);
        for (place, &(index, arc)) in on.iter().enumerate() {
            let stream = &self.network.streams[index];
            let share = conditions.by(arc, self.division.share(place).min(stream.limit));
            excess = excess.max((self.load[arc] - share) / self.load[arc].max(f64::MIN_POSITIVE));
            let share = if step < 1.0 { self.share[arc] + step * (share - self.share[arc]) } else { share };
            if self.differ(share, self.by_data[arc]) {
                self.by_data[arc] = share;
                self.interests.add(stream.arcs[arc - self.network.first_arc[index]].back);
                self.limit(index, arc);
                self.divided.add(channel);
            }
        }
        excess
    }

    /// Returns whether two values differ by more than rounding.
    fn differ(&self, a: f64, b: f64) -> bool {
        let most = a.abs().max(b.abs());
        a != b && (self.counts_all || most == f64::INFINITY || (a - b).abs() > ROUNDING * most)
    }

    /// Sets the share of an arc to the smaller one of those of its Data and of its Interests.
    fn limit(&mut self, stream: usize, arc: usize) {
        let by_interests = self.of_interests[arc] < self.by_data[arc];
        let share = if by_interests { self.of_interests[arc] } else { self.by_data[arc] };
        if share != self.share[arc] || by_interests != self.by_interests[arc] {
            self.share[arc] = share;
            self.by_interests[arc] = by_interests;
            self.streams.add(stream);
        }
    }

    /// If Interests want more of a channel than they may have, with all permitted Data, divides the channel
    /// among them like among Data.
    fn divide_interests(&mut self, conditions: &Conditions, channel: Channel) {
        let data = self.network.data(channel, &self.load, conditions);
        let room = room_for_interests(conditions.capacity[channel], data);
        let on = &conditions.running.interests_on[channel];
        let ratio =
            |stream: usize, arc: usize| self.network.streams[stream].interest_ratio * conditions.part[arc];
        let wanted: f64 = on.iter().map(|&(stream, arc)| ratio(stream, arc) * self.by_data[arc]).sum();
        let is_scarce = wanted > room;
        if is_scarce {
            self.division.clear();
            for &(stream, arc) in on {
                let of = &self.network.streams[stream];
                self.division.add(of.class, of.weight, ratio(stream, arc) * self.wanted[arc]);
            }
            self.division.divide(self.policy, room);
        }
        for (place, &(index, arc)) in on.iter().enumerate() {
            let stream = &self.network.streams[index];
            let share = if is_scarce {
                conditions.by(arc, self.division.share(place) / stream.interest_ratio)
            } else {
                f64::INFINITY
            };
            if self.differ(share, self.of_interests[arc]) {
                self.of_interests[arc] = share;
                self.limit(index, arc);
                self.divided.add(stream.arcs[arc - self.network.first_arc[index]].channel);
            }
        }
    }

    /// Sets the loads of a stream's consumers to what their shares carry. Returns the largest change of a
    /// load.
    fn take(&mut self, conditions: &Conditions, index: usize) -> f64 {
        self.taken.add(index);
        let stream = &self.network.streams[index];
        let arcs = self.network.arcs_of(index);
        let Fair { share, paths, next, wish, rate, .. } = self;
        let share = &share[arcs.clone()];
        next.clear();
        next.resize(arcs.len(), 0.0);
        for &(flow, node) in &stream.consumers {
            let demand = conditions.demand[flow];
            if demand <= 0.0 {
                rate[flow] = 0.0;
            } else if stream.forks {
                paths.find(stream, node, demand, share);
                rate[flow] = paths.total;
                next.iter_mut().zip(&paths.flow).for_each(|(load, flow)| *load = load.max(*flow));
            } else {
                rate[flow] = along(stream, node, demand, share);
                stream.chain(node).for_each(|arc| next[arc] = next[arc].max(rate[flow]));
            }
        }
        wish.find(stream, &conditions.demand, share);
        let (mut largest, mut change) = (f64::MIN_POSITIVE, 0.0f64);
        for (at, arc) in arcs.clone().enumerate() {
            let load = self.next[at];
            largest = largest.max(load);
            change = change.max((load - self.load[arc]).abs());
            let is_used_up = load >= self.share[arc] * (1.0 - USED_UP);
            let wish = self.wish.of[at].max(load).min(stream.limit);
            let wanted = if is_used_up { wish } else { load };
            let ends = stream.arcs[at];
            if self.differ(load, self.load[arc]) {
                self.load[arc] = load;
                self.data.add(ends.back);
                self.interests.add(ends.channel);
            }
            if self.differ(wanted, self.wanted[arc]) {
                self.wanted[arc] = wanted;
                self.data.add(ends.channel);
                self.interests.add(ends.back);
            }
        }
        change / largest
    }
}

/// The load that a stream would put on each arc if that arc were unlimited. On a single path it is the
/// smallest of the other shares. If paths join it may be too large, which matters only if a share is used up
/// anyway.
#[derive(Clone, Debug, Default)]
struct Wish {
    of: Vec<f64>,
    /// For each node: what it can offer.
    offer: Vec<f64>,
    /// For each node: what would reach it if it could offer everything.
    comes: Vec<f64>,
}

impl Wish {
    fn find(&mut self, stream: &Stream, demand: &[f64], share: &[f64]) {
        let nodes = stream.nodes.len();
        for (list, length) in
            [(&mut self.of, stream.arcs.len()), (&mut self.offer, nodes), (&mut self.comes, nodes)]
        {
            list.clear();
            list.resize(length, 0.0);
        }
        for at in (0..nodes).rev() {
            let by = |arc: usize| share[arc].min(self.offer[stream.arcs[arc].to]);
            let sum = stream.arcs_of(at).map(by).sum();
            self.offer[at] = if stream.produces[at] { f64::INFINITY } else { sum };
        }
        for &(flow, node) in &stream.consumers {
            self.comes[node] = self.comes[node].max(demand[flow]);
        }
        for (arc, ends) in stream.arcs.iter().enumerate() {
            let others = self.offer[ends.from] - share[arc].min(self.offer[ends.to]);
            let comes = self.comes[ends.from];
            // The part of this next hop in what comes, by its offer, and limited to its offer.
            let takes = |offer: f64| match offer / (others + offer) {
                _ if offer == f64::INFINITY => comes,
                part if part > 0.0 => offer.min(comes * part),
                _ => 0.0,
            };
            self.of[arc] = takes(self.offer[ends.to]);
            let passed_on = takes(share[arc]);
            self.comes[ends.to] += passed_on;
        }
    }
}
