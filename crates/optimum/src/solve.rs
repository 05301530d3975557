//! The optimum under given conditions, for each objective.

use core::fmt;
use core::str::FromStr;
use weir_core::seam::SharingPolicy;

use weir_packet::ServiceClass;

use crate::OptimumError;
use crate::fair::{Fair, fair};
use crate::global;
use crate::model::{Allocation, ChannelLoads, alone};
use crate::network::{Channel, Conditions, Network};
use crate::paths::Paths;

/// Which allocation is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// What fair scheduling at every link gives: the yardstick, because schedulers can enforce it hop by hop.
    #[default]
    LinkFair,
    /// Weighted max-min fairness over all routes at once.
    MaxMin,
    /// The largest sum of weighted logarithms of rates.
    Proportional,
    /// The largest sum of rates.
    MaxFlow,
}

impl Objective {
    /// Every objective, with its name.
    pub const ALL: [(Objective, &'static str); 4] = [
        (Objective::LinkFair, "link-fair"),
        (Objective::MaxMin, "max-min"),
        (Objective::Proportional, "proportional"),
        (Objective::MaxFlow, "max-flow"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Objective::ALL[self as usize].1
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Objective, String> {
        let found = Objective::ALL.iter().find(|(_, name)| *name == text);
        let names = Objective::ALL.map(|(_, name)| name).join(", ");
        found.map(|(objective, _)| *objective).ok_or(format!("`{text}` is not one of {names}"))
    }
}

/// The optimum under some conditions.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// For each flow, bit/s of Data.
    pub rate: Vec<f64>,
    /// For each arc in the list of all, bit/s of Data.
    pub load: Vec<f64>,
    /// For each flow the channels that limit it; empty if it has all that it requests.
    pub bound_by: Vec<Vec<Channel>>,
    /// For each channel and class with a stream there: the share of a stream of weight 1 that wants more. Only if links are
    /// divided separately.
    pub shares: Vec<Vec<(ServiceClass, f64)>>,
    /// Each flow's rate if it were the only flow, bit/s.
    pub alone: Vec<f64>,
    /// Whether rates are exact; if not, they may be wrong by about a thousandth.
    pub is_exact: bool,
}

/// Finds optima.
#[derive(Debug)]
pub(crate) struct Solver<'p> {
    pub objective: Objective,
    pub policy: &'p SharingPolicy,
}

impl Solver<'_> {
    pub fn solve(&self, network: &Network, conditions: &Conditions) -> Result<Solution, OptimumError> {
        let policy = self.policy;
        let found = match self.objective {
            Objective::LinkFair => return Ok(self.link_fair(network, conditions)),
            Objective::MaxMin => {
                let load = fair(network, policy, conditions).load;
                global::max_min(network, policy, conditions, ChannelLoads::of(network, &load, conditions))
            }
            Objective::Proportional => global::proportional(network, policy, conditions),
            Objective::MaxFlow => global::maximum_flow(network, conditions),
        };
        let Allocation { rate, load, bound_by } =
            found.map_err(|why| OptimumError::Unsolved { objective: self.objective, why: why.0 })?;
        let shares = vec![Vec::new(); network.channels.len()];
        let is_exact = !network.forks(&network.running(conditions));
        Ok(Solution { rate, load, bound_by, shares, alone: alone(network, conditions), is_exact })
    }

    fn link_fair(&self, network: &Network, conditions: &Conditions) -> Solution {
        let fair = fair(network, self.policy, conditions);
        let running = network.running(conditions);
        let mut shares = vec![Vec::new(); network.channels.len()];
        for (channel, shares) in shares.iter_mut().enumerate() {
            for &(stream, arc) in network.data_on[channel].iter().filter(|(stream, _)| running[*stream]) {
                let stream = &network.streams[stream];
                if conditions.part[arc] > 0.0 {
                    add_share(shares, stream.class, conditions.part[arc] * fair.share[arc] / stream.weight);
                }
            }
        }
        let bound_by = bound_by(network, conditions, &fair);
        let alone = alone(network, conditions);
        let Fair { rate, load, is_settled, .. } = fair;
        Solution { rate, load, bound_by, shares, alone, is_exact: is_settled }
    }
}

/// A class's share is the least that a stream of it has: those with more have what others leave.
fn add_share(shares: &mut Vec<(ServiceClass, f64)>, class: ServiceClass, share: f64) {
    match shares.iter_mut().find(|(known, _)| *known == class) {
        Some((_, least)) => *least = least.min(share),
        None => {
            shares.push((class, share));
            shares.sort_by_key(|(class, _)| *class as usize);
        }
    }
}

/// For each flow the channels that limit it: those of shares that it uses up.
fn bound_by(network: &Network, conditions: &Conditions, fair: &Fair) -> Vec<Vec<Channel>> {
    let mut bound_by = vec![Vec::new(); network.stream_of.len()];
    let (mut paths, mut cut) = (Paths::default(), Vec::new());
    for (index, stream) in network.streams.iter().enumerate() {
        let arcs = network.arcs_of(index);
        let share = &fair.share[arcs.clone()];
        for &(flow, node) in stream.consumers.iter().filter(|(flow, _)| conditions.demand[*flow] > 0.0) {
            paths.find(stream, node, conditions.demand[flow], share);
            if paths.total >= conditions.demand[flow] {
                continue;
            }
            paths.cut(stream, node, share, &mut cut);
            for &arc in &cut {
                let ends = stream.arcs[arc];
                let channel = if fair.by_interests[arcs.start + arc] { ends.back } else { ends.channel };
                if !bound_by[flow].contains(&channel) {
                    bound_by[flow].push(channel);
                }
            }
        }
    }
    bound_by
}
