//! What fair scheduling at every link gives: the allocation that schedulers can enforce hop by hop.
//!
//! Each link is divided by the [policy](crate::policy) among the streams that want Data by it; a stream
//! counts once at a link, however many ways lead there. Of the shares that it has along its routes each
//! consumer takes the most that they carry, split by what next hops offer. So a stream's share of a link
//! depends on what the others take, and what they take on their shares: a fixed point,
//!
//! ```text
//!   load = paths(share),  share = policy(capacity − Interests, load of the others)
//! ```
//!
//! at which no stream can have more of a link that keeps it from more but at the cost of one of its class
//! that has no more than it, or of a class that has no more for its weight. Where all routes are single
//! paths that is the hierarchical weighted max-min allocation (Bertsekas and Gallager, section 6.5.2, for
//! each level).
//!
//! The rounds begin with nothing on the links: the first shares are too large, the loads that they lead to
//! too, so the next shares are too small, and so on from both sides, nearer each time. Every two rounds
//! the links that bind next are settled. Where two links would hold each other in balance at more than one
//! point, as classes with different members make possible, steps of half the way end between them.

use crate::network::{Conditions, Network};
use crate::paths::Paths;
use crate::policy::{Division, Policy};

/// When loads change by no more than this, as a part of their stream's largest, they are settled.
const SETTLED: f64 = 1e-10;
/// Rounds with whole steps.
const WHOLE_STEPS: usize = 60;
/// Rounds at the most.
const ROUNDS: usize = 2000;

/// Shares, loads and rates, bit/s of Data.
#[derive(Clone, Debug)]
pub(crate) struct Fair {
    /// For each arc in the list of all: what the link would give the stream if it wanted more.
    pub share: Vec<f64>,
    /// For each arc: what is on it; of a stream with several consumers what the one that takes most takes.
    pub load: Vec<f64>,
    /// For each arc: whether its share is what the link's Interests leave room for, not its Data.
    pub by_interests: Vec<bool>,
    /// For each flow.
    pub rate: Vec<f64>,
    /// How many rounds it took.
    pub rounds: usize,
    /// By how much the last round changed a load, as a part of its stream's largest.
    pub unrest: f64,
}

/// The fixed point under these conditions.
pub(crate) fn fair(network: &Network, policy: &Policy, conditions: &Conditions) -> Fair {
    let arcs = network.first_arc[network.streams.len()];
    let fair = Fair {
        share: vec![0.0; arcs],
        load: vec![0.0; arcs],
        by_interests: vec![false; arcs],
        rate: vec![0.0; network.stream_of.len()],
        rounds: 0,
        unrest: f64::INFINITY,
    };
    let runs = |stream: &crate::network::Stream| {
        stream.consumers.iter().any(|(flow, _)| conditions.demand[*flow] > 0.0)
    };
    let running = network.streams.iter().map(runs).collect();
    let mut rounds = Rounds {
        network,
        policy,
        conditions,
        running,
        fair,
        division: Division::default(),
        paths: Paths::default(),
        next: Vec::new(),
    };
    while rounds.fair.unrest > SETTLED && rounds.fair.rounds < ROUNDS {
        rounds.round();
    }
    rounds.fair
}

struct Rounds<'n> {
    network: &'n Network,
    policy: &'n Policy,
    conditions: &'n Conditions,
    /// For each stream.
    running: Vec<bool>,
    fair: Fair,
    division: Division,
    paths: Paths,
    next: Vec<f64>,
}

impl Rounds<'_> {
    fn round(&mut self) {
        self.divide_links();
        self.fair.rounds += 1;
        let step = match self.fair.rounds {
            n if n <= WHOLE_STEPS => 1.0,
            // Shorter and shorter, so that whatever still goes round comes to rest.
            n => 0.5 / (1.0 + (n - WHOLE_STEPS) as f64 / 200.0),
        };
        self.fair.unrest = 0.0;
        for stream in 0..self.network.streams.len() {
            if self.running[stream] {
                self.take(stream, step);
            }
        }
    }

    /// Sets every share from the loads.
    fn divide_links(&mut self) {
        for channel in 0..self.network.channels.len() {
            if self.network.data_on[channel].iter().any(|(stream, _)| self.running[*stream]) {
                self.divide_data(channel);
            }
        }
        for channel in 0..self.network.channels.len() {
            if self.wanted_by_interests(channel) > self.conditions.capacity[channel] {
                self.divide_interests(channel);
            }
        }
    }

    /// Data have what Interests leave.
    fn divide_data(&mut self, channel: usize) {
        let Rounds { network, running, fair, division, .. } = self;
        let interests = network.interests_on[channel].iter();
        let interests: f64 =
            interests.map(|&(stream, arc)| network.streams[stream].interest_ratio * fair.load[arc]).sum();
        let capacity = (self.conditions.capacity[channel] - interests).max(0.0);
        let running = |(stream, _): &&(usize, usize)| running[*stream];
        division.clear();
        for &(stream, arc) in network.data_on[channel].iter().filter(running) {
            division.add(network.streams[stream].class, fair.load[arc]);
        }
        let shares = division.shares(self.policy, capacity);
        for (&(_, arc), share) in network.data_on[channel].iter().filter(running).zip(shares) {
            fair.share[arc] = *share;
            fair.by_interests[arc] = false;
        }
    }

    /// What Interests would take of a channel if all Data came that may.
    fn wanted_by_interests(&self, channel: usize) -> f64 {
        let running = self.network.interests_on[channel].iter().filter(|(stream, _)| self.running[*stream]);
        running.map(|&(stream, arc)| self.network.streams[stream].interest_ratio * self.fair.share[arc]).sum()
    }

    /// Where Interests alone fill a channel, they are divided as Data are.
    fn divide_interests(&mut self, channel: usize) {
        let Rounds { network, running, fair, division, .. } = self;
        let running = |(stream, _): &&(usize, usize)| running[*stream];
        division.clear();
        for &(stream, arc) in network.interests_on[channel].iter().filter(running) {
            let stream = &network.streams[stream];
            division.add(stream.class, stream.interest_ratio * fair.load[arc]);
        }
        let shares = division.shares(self.policy, self.conditions.capacity[channel]);
        for (&(stream, arc), share) in network.interests_on[channel].iter().filter(running).zip(shares) {
            let share = share / network.streams[stream].interest_ratio;
            if share < fair.share[arc] {
                fair.share[arc] = share;
                fair.by_interests[arc] = true;
            }
        }
    }

    /// A stream's consumers take what its shares carry.
    fn take(&mut self, index: usize, step: f64) {
        let Rounds { network, fair, paths, next, .. } = self;
        let stream = &network.streams[index];
        let arcs = network.arcs_of(index);
        next.clear();
        next.resize(arcs.len(), 0.0);
        for &(flow, node) in &stream.consumers {
            paths.find(stream, node, self.conditions.demand[flow], &fair.share[arcs.clone()]);
            fair.rate[flow] = paths.total;
            for (load, flow) in next.iter_mut().zip(&paths.flow) {
                *load = load.max(*flow);
            }
        }
        let largest = next.iter().fold(0.0, |a: f64, b| a.max(*b));
        for (load, next) in fair.load[arcs].iter_mut().zip(next) {
            let change = *next - *load;
            if largest > 0.0 {
                fair.unrest = fair.unrest.max(change.abs() / largest);
            }
            *load += step * change;
        }
    }
}
