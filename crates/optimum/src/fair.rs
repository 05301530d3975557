//! The result of fair scheduling at every link: the allocation that schedulers can enforce hop by hop.
//!
//! The [policy](crate::policy) divides each link among the streams that want Data over it. A stream counts once at a
//! link, however many routes lead there. Each consumer takes as much as its shares along its routes carry, split in the
//! ratio of what next hops offer. So a stream's share of a link depends on the demands of the others there, and these
//! depend on their shares of other links. The result is a fixed point:
//!
//! ```text
//!   share = policy(capacity − Interests, wants of the others)      wants, loads = paths(shares)
//! ```
//!
//! There, a stream could get more of a link that limits it only at the cost of a stream of its class that has no more, or
//! of a class that has no more for its weight. If all routes are single paths, this is the hierarchical weighted max-min
//! allocation (Bertsekas and Gallager, section 6.5.2, at each level).
//!
//! The rounds begin with empty links. So the first shares and the demands that follow are too large, the next shares are
//! too small, and so on. The shares converge from both sides: every two rounds settle the links that bind next. Over
//! several paths, shares go half the way in each round. If routes fork and join in many places, the split of a stream's
//! spare rate may not converge. Rates then still change by about a thousandth, and the result is the mean of the second
//! half of the rounds.

use weir_core::seam::SharingPolicy;
use weir_packet::ServiceClass;

use crate::network::{Conditions, Network, Stream};
use crate::paths::Paths;
use crate::policy::Division;

/// Loads are settled when they change by no more than this, relative to the largest load of their stream.
const SETTLED: f64 = 1e-10;
/// A share is used up when no more than this part of it is left.
const USED_UP: f64 = 1e-9;
/// Rounds with whole steps, over single paths. Every two rounds settle at least one link; a network of 200 nodes and
/// 1000 flows takes 50.
const WHOLE_STEPS: usize = 200;
/// The largest number of rounds over single paths.
const ROUNDS: usize = 600;
/// The largest number of rounds over several paths. On a network of 200 nodes with three next hops at each node, all rates
/// are then within 0.2 % of the result of ten times as many rounds.
const ROUNDS_MULTIPATH: usize = 80;

/// Shares, loads and rates, bit/s of Data.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    /// For each arc in the list of all: what the link would give the stream if it wanted more.
    pub share: Vec<f64>,
    /// For each arc: its load. If a stream has several consumers, this is the load of the one that takes most.
    pub load: Vec<f64>,
    /// For each arc: whether the link's Interests limit its share, not its Data.
    pub by_interests: Vec<bool>,
    /// For each flow.
    pub rate: Vec<f64>,
    /// How many rounds it took.
    pub rounds: usize,
    /// Whether loads came to rest; if not, `load` and `rate` are means.
    pub is_settled: bool,
}

/// The fixed point under these conditions.
pub(crate) fn fair(network: &Network, policy: &SharingPolicy, conditions: &Conditions) -> Fair {
    let mut rounds = Rounds::new(network, policy, conditions);
    let (whole, most) =
        if network.forks(&rounds.running) { (1, ROUNDS_MULTIPATH) } else { (WHOLE_STEPS, ROUNDS) };
    let mut mean = Mean::default();
    for round in 0..most {
        let unrest = rounds.round(if round < whole { 1.0 } else { 0.5 });
        rounds.fair.is_settled = unrest <= SETTLED;
        if rounds.fair.is_settled {
            return rounds.fair;
        }
        if round >= most / 2 {
            mean.add(&rounds.fair);
        }
    }
    mean.of(rounds.fair)
}

/// The mean of several rounds.
#[derive(Debug, Default)]
struct Mean {
    rounds: f64,
    load: Vec<f64>,
    rate: Vec<f64>,
}

impl Mean {
    fn add(&mut self, fair: &Fair) {
        self.rounds += 1.0;
        for (sums, values) in [(&mut self.load, &fair.load), (&mut self.rate, &fair.rate)] {
            sums.resize(values.len(), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    fn of(self, fair: Fair) -> Fair {
        let mean = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / self.rounds).collect();
        Fair { load: mean(self.load), rate: mean(self.rate), ..fair }
    }
}

/// What Data may have of a link: what Interests leave, and half of it in any case.
pub(crate) fn room_for_data(capacity: f64, interests: f64) -> f64 {
    (capacity - interests).max(capacity / 2.0)
}

/// What Interests may have of a link: half of it, and what Data leave.
pub(crate) fn room_for_interests(capacity: f64, data: f64) -> f64 {
    (capacity - data).max(capacity / 2.0)
}

struct Rounds<'n> {
    network: &'n Network,
    policy: &'n SharingPolicy,
    conditions: &'n Conditions,
    /// For each stream.
    running: Vec<bool>,
    fair: Fair,
    /// For each arc: what the stream would put there if it could have more.
    wanted: Vec<f64>,
    /// For each channel of a medium what it may be used for, bit/s of Data.
    of_media: Vec<f64>,
    division: Division,
    paths: Paths,
    wish: Wish,
    next: Vec<f64>,
}

impl<'n> Rounds<'n> {
    fn new(network: &'n Network, policy: &'n SharingPolicy, conditions: &'n Conditions) -> Rounds<'n> {
        let arcs = network.first_arc[network.streams.len()];
        let fair = Fair {
            share: vec![0.0; arcs],
            load: vec![0.0; arcs],
            by_interests: vec![false; arcs],
            rate: vec![0.0; network.stream_of.len()],
            rounds: 0,
            is_settled: false,
        };
        Rounds {
            running: network.running(conditions),
            network,
            policy,
            conditions,
            fair,
            wanted: vec![0.0; arcs],
            of_media: vec![0.0; network.channels.len()],
            division: Division::default(),
            paths: Paths::default(),
            wish: Wish::default(),
            next: Vec::new(),
        }
    }

    /// Divides all links and lets all streams take; shares go `step` of the way. Returns the largest change
    /// of a load, or how much it is above the share that it should have, as a part of its stream's largest.
    fn round(&mut self, step: f64) -> f64 {
        for medium in 0..self.network.media.len() {
            self.divide_air(medium);
        }
        let mut excess = 0.0f64;
        for channel in 0..self.network.channels.len() {
            if self.network.data_on[channel].iter().any(|(stream, _)| self.running[*stream]) {
                excess = excess.max(self.divide_data(channel, step));
            }
        }
        for channel in 0..self.network.channels.len() {
            let is_own = self.network.medium_of[channel].is_none();
            let data = self.network.data(channel, &self.fair.load, self.conditions);
            let room = room_for_interests(self.conditions.capacity[channel], data);
            if is_own && self.wanted_by_interests(channel) > room {
                self.divide_interests(channel, room);
            }
        }
        self.fair.rounds += 1;
        let running = (0..self.network.streams.len()).filter(|&stream| self.running[stream]);
        running.collect::<Vec<_>>().into_iter().map(|stream| self.take(stream)).fold(excess, f64::max)
    }

    /// The directions of a medium have equal parts of its air, and what others do not want. Interests are
    /// paid for with their Data.
    fn divide_air(&mut self, medium: usize) {
        let Rounds { network, running, division, wanted, of_media, conditions, .. } = self;
        let channels = network.media[medium].clone();
        let arcs = |channel: usize| {
            let on = network.data_on[channel].iter().filter(|(stream, _)| running[*stream]);
            on.map(|(_, arc)| *arc)
        };
        let used: Vec<usize> = channels.filter(|channel| arcs(*channel).count() > 0).collect();
        division.clear();
        for &channel in &used {
            let wants =
                arcs(channel).map(|arc| wanted[arc] * conditions.part[arc] * conditions.air[arc]).sum();
            division.add(ServiceClass::Be, 1.0, wants);
        }
        // What a bit/s takes of the air is the same for all Data of one size; else a mean.
        let cost = |channel: usize| {
            let all: f64 = arcs(channel).map(|arc| conditions.air[arc]).sum();
            all / arcs(channel).count() as f64
        };
        for (&channel, part) in used.iter().zip(division.shares(self.policy, conditions.air_to_use)) {
            of_media[channel] = (part / cost(channel)).min(conditions.capacity[channel]);
        }
    }

    /// Data have what Interests leave, half of the link at least. Returns the most by which a load is above its share, as a part of itself.
    fn divide_data(&mut self, channel: usize, step: f64) -> f64 {
        let mut excess = 0.0f64;
        let Rounds { network, running, fair, division, wanted, of_media, conditions, .. } = self;
        let capacity = match network.medium_of[channel] {
            Some(_) => of_media[channel],
            None => {
                let interests = network.interests(channel, &fair.load, conditions);
                room_for_data(conditions.capacity[channel], interests)
            }
        };
        let running = |(stream, _): &&(usize, usize)| running[*stream];
        division.clear();
        for &(stream, arc) in network.data_on[channel].iter().filter(running) {
            let of = &network.streams[stream];
            division.add(of.class, of.weight, conditions.part[arc] * wanted[arc]);
        }
        let shares = division.shares(self.policy, capacity);
        for (&(stream, arc), share) in network.data_on[channel].iter().filter(running).zip(shares) {
            let share = conditions.by(arc, share.min(network.streams[stream].limit));
            excess = excess.max((fair.load[arc] - share) / fair.load[arc].max(f64::MIN_POSITIVE));
            fair.share[arc] += step * (share - fair.share[arc]);
            fair.by_interests[arc] = false;
        }
        excess
    }

    /// What Interests would take of a channel if all Data came that may.
    fn wanted_by_interests(&self, channel: usize) -> f64 {
        let running = self.network.interests_on[channel].iter().filter(|(stream, _)| self.running[*stream]);
        running
            .map(|&(stream, arc)| {
                let on_link = self.conditions.part[arc] * self.fair.share[arc];
                self.network.streams[stream].interest_ratio * on_link
            })
            .sum()
    }

    /// Where Interests want more of a channel than they may have, they are divided as Data are.
    fn divide_interests(&mut self, channel: usize, room: f64) {
        let Rounds { network, running, fair, division, wanted, conditions, .. } = self;
        let running = |(stream, _): &&(usize, usize)| running[*stream];
        division.clear();
        for &(stream, arc) in network.interests_on[channel].iter().filter(running) {
            let stream = &network.streams[stream];
            division.add(
                stream.class,
                stream.weight,
                stream.interest_ratio * conditions.part[arc] * wanted[arc],
            );
        }
        let shares = division.shares(self.policy, room);
        for (&(stream, arc), share) in network.interests_on[channel].iter().filter(running).zip(shares) {
            let share = conditions.by(arc, share / network.streams[stream].interest_ratio);
            if share < fair.share[arc] {
                fair.share[arc] = share;
                fair.by_interests[arc] = true;
            }
        }
    }

    /// A stream's consumers take what its shares carry; returns the largest change of a load.
    fn take(&mut self, index: usize) -> f64 {
        let Rounds { network, fair, paths, next, wish, .. } = self;
        let stream = &network.streams[index];
        let arcs = network.arcs_of(index);
        let share = &fair.share[arcs.clone()];
        next.clear();
        next.resize(arcs.len(), 0.0);
        for &(flow, node) in &stream.consumers {
            paths.find(stream, node, self.conditions.demand[flow], share);
            fair.rate[flow] = paths.total;
            next.iter_mut().zip(&paths.flow).for_each(|(load, flow)| *load = load.max(*flow));
        }
        wish.find(stream, &self.conditions.demand, share);
        let (mut largest, mut change) = (f64::MIN_POSITIVE, 0.0f64);
        for (at, arc) in arcs.enumerate() {
            largest = largest.max(next[at]);
            change = change.max((next[at] - fair.load[arc]).abs());
            fair.load[arc] = next[at];
            let is_used_up = next[at] >= share[at] * (1.0 - USED_UP);
            let wish = wish.of[at].max(next[at]).min(stream.limit);
            self.wanted[arc] = if is_used_up { wish } else { next[at] };
        }
        change / largest
    }
}

/// What a stream would put on each arc if that one had no bound. Of a single path it is the least of the
/// other shares; where ways join it may be too much, which matters only where a share is used up anyway.
#[derive(Debug, Default)]
struct Wish {
    of: Vec<f64>,
    /// For each node: what it can offer.
    offer: Vec<f64>,
    /// For each node: what would come to it if it could offer all.
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
            // Of what comes, this next hop's part by what it would offer, and no more than that.
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
