//! The optimum under given conditions, for each objective.

use core::fmt;
use core::str::FromStr;
use weir_core::seam::SharingPolicy;

use weir_packet::ServiceClass;

use crate::OptimumError;
use crate::fair::Fair;
use crate::global;
use crate::model::{Allocation, ChannelLoads, alone, alone_rate};
use crate::network::{Changed, Channel, Conditions, Network};
use crate::paths::Paths;

/// The objective that defines the best allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The result of fair scheduling at every link. It is the reference, because schedulers can enforce it
    /// hop by hop.
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

    /// Returns its name.
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

/// The reason why rates are not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    /// Link-fair if routes fork and join: the split of the spare rate does not settle, so rates may be wrong
    /// by about a thousandth.
    Forks,
    /// Link-fair on single paths or a shared medium, if the rounds did not settle.
    Unrest,
    /// Proportional fairness and the maximum flow: the solver ends near the optimum, with at least four
    /// digits.
    Solver,
    /// Max-min fairness: the precision of the solver, and the Interests of the previous solution; 0.2 %.
    Interests,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Inexact::Forks => "routes fork and join, so rates may be wrong by about a thousandth",
            Inexact::Unrest => "the shares of links do not come to rest, so rates are means over rounds",
            Inexact::Solver => "the solver ends near the optimum, so rates have about four digits",
            Inexact::Interests => {
                "the solver uses the Interests of its previous solution, so rates may be wrong by 0.2 %"
            }
        })
    }
}

/// The optimum under some conditions.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// The rate of each flow, bit/s of Data.
    pub rate: Vec<f64>,
    /// The load of each arc in the list of all, bit/s of Data.
    pub load: Vec<f64>,
    /// The channels that limit each flow; empty if it has all that it requests.
    pub bound_by: Vec<Vec<Channel>>,
    /// For each channel and class with a stream there: the share of a stream of weight 1 with unlimited
    /// demand. Only if links are divided separately.
    pub shares: Vec<Vec<(ServiceClass, f64)>>,
    /// Each flow's rate if it were the only flow, bit/s.
    pub alone: Vec<f64>,
    /// The reason why rates are not exact, if they are not.
    pub inexact: Option<Inexact>,
}

/// Finds optima, one after the other as conditions change.
#[derive(Debug)]
pub(crate) struct Solver<'n> {
    network: &'n Network,
    objective: Objective,
    policy: &'n SharingPolicy,
    fair: Fair<'n>,
    paths: Paths,
    pub solution: Solution,
}

impl<'n> Solver<'n> {
    pub fn new(network: &'n Network, objective: Objective, policy: &'n SharingPolicy) -> Solver<'n> {
        let flows = network.stream_of.len();
        Solver {
            network,
            objective,
            policy,
            fair: Fair::new(network, policy),
            paths: Paths::default(),
            solution: Solution {
                rate: vec![0.0; flows],
                load: vec![0.0; network.stream_of_arc.len()],
                bound_by: vec![Vec::new(); flows],
                shares: vec![Vec::new(); network.channels.len()],
                alone: vec![0.0; flows],
                inexact: None,
            },
        }
    }

    /// Finds the optimum, [`Solver::solution`], under these conditions. `changed` lists the changes since the
    /// last call.
    ///
    /// # Errors
    /// Returns an error if the solver gave up.
    pub fn solve(&mut self, conditions: &Conditions, changed: &Changed) -> Result<(), OptimumError> {
        let (network, policy) = (self.network, self.policy);
        self.find_alone(conditions, changed);
        let found = match self.objective {
            Objective::LinkFair => {
                self.link_fair(conditions, changed);
                return Ok(());
            }
            Objective::MaxMin => {
                self.fair.settle(conditions, changed);
                let others = ChannelLoads::of(network, &self.fair.load, conditions);
                global::max_min(network, policy, conditions, others)
            }
            Objective::Proportional => global::proportional(network, policy, conditions),
            Objective::MaxFlow => global::maximum_flow(network, conditions),
        };
        let Allocation { rate, load, bound_by } =
            found.map_err(|why| OptimumError::Unsolved { objective: self.objective, why: why.0 })?;
        let by_interests = self.objective == Objective::MaxMin;
        let inexact = Some(if by_interests { Inexact::Interests } else { Inexact::Solver });
        self.solution.rate = rate;
        self.solution.load = load;
        self.solution.bound_by = bound_by;
        self.solution.inexact = inexact;
        Ok(())
    }

    fn link_fair(&mut self, conditions: &Conditions, changed: &Changed) {
        self.fair.settle(conditions, changed);
        let Solver { network, fair, solution, .. } = self;
        if fair.is_settled {
            for &index in fair.taken.list() {
                let (stream, arcs) = (&network.streams[index], network.arcs_of(index));
                stream.consumers.iter().for_each(|(flow, _)| solution.rate[*flow] = fair.rate[*flow]);
                solution.load[arcs.clone()].copy_from_slice(&fair.load[arcs]);
            }
        } else {
            solution.rate.copy_from_slice(&fair.rate);
            solution.load.copy_from_slice(&fair.load);
        }
        solution.inexact = match fair.is_settled {
            true => None,
            false if conditions.running.forks() => Some(Inexact::Forks),
            false => Some(Inexact::Unrest),
        };
        for &channel in fair.divided.list() {
            let shares = &mut solution.shares[channel];
            shares.clear();
            for &(stream, arc) in &conditions.running.data_on[channel] {
                let stream = &network.streams[stream];
                if conditions.part[arc] > 0.0 {
                    add_share(shares, stream.class, conditions.part[arc] * fair.share[arc] / stream.weight);
                }
            }
        }
        for &index in fair.taken.list() {
            bound_by(network, conditions, fair, index, &mut self.paths, &mut solution.bound_by);
        }
    }

    /// Computes the rate that each flow could have alone, if it may have changed.
    fn find_alone(&mut self, conditions: &Conditions, changed: &Changed) {
        if changed.all || !changed.channels.is_empty() {
            self.solution.alone = alone(self.network, conditions, &conditions.demand);
            return;
        }
        for &flow in &changed.flows {
            self.solution.alone[flow] =
                alone_rate(self.network, conditions, flow, conditions.demand[flow], &mut self.paths);
        }
    }
}

/// Adds the share of a stream to its class. The share of a class is the smallest of its streams: those with
/// more have what others leave.
fn add_share(shares: &mut Vec<(ServiceClass, f64)>, class: ServiceClass, share: f64) {
    match shares.iter_mut().find(|(known, _)| *known == class) {
        Some((_, least)) => *least = least.min(share),
        None => {
            shares.push((class, share));
            shares.sort_by_key(|(class, _)| *class as usize);
        }
    }
}

/// Returns for each flow of a stream the channels that limit it: those whose shares it uses up.
fn bound_by(
    network: &Network,
    conditions: &Conditions,
    fair: &Fair<'_>,
    index: usize,
    paths: &mut Paths,
    bound_by: &mut [Vec<Channel>],
) {
    let (stream, arcs) = (&network.streams[index], network.arcs_of(index));
    let share = &fair.share[arcs.clone()];
    let mut cut = Vec::new();
    for &(flow, node) in &stream.consumers {
        let (bound_by, demand) = (&mut bound_by[flow], conditions.demand[flow]);
        bound_by.clear();
        if demand <= 0.0 {
            continue;
        }
        paths.find(stream, node, demand, share);
        if paths.total >= demand {
            continue;
        }
        paths.cut(stream, node, share, &mut cut);
        for &arc in &cut {
            let ends = stream.arcs[arc];
            let channel = if fair.by_interests[arcs.start + arc] { ends.back } else { ends.channel };
            if !bound_by.contains(&channel) {
                bound_by.push(channel);
            }
        }
    }
}
