//! The optimum of the whole network, by convex programs: the maximum flow, weighted max-min fairness and
//! proportional fairness over all routes at once. No scheduler knows the whole network; this is a reference
//! for comparison.
//!
//! Max-min fairness assumes the loads of Interests, and repeats with the resulting Interests. So a flow is
//! not limited because its Interests cross a link that others fill with Data.
//!
//! Delay-sensitive classes come first, one after the other, each with at most δ of a link. Each keeps the
//! paths that it has found. The delay-tolerant classes then share the rest. There is no single link at which
//! classes are weighed against each other, so a flow of class c has the weight ω_c·w/Σw, with the sum over
//! all flows of its class.

use crate::model::{Allocation, ChannelLoads, Model, Stage};
use crate::network::{Conditions, Network};
use crate::policy::{CLASSES, DELAY_SENSITIVE};
use crate::program::{NoSolution, Solution};
use weir_core::seam::SharingPolicy;

/// A flow whose floor costs this part of the most expensive one cannot have more. Rounding of the solver must
/// not count as a cost. A flow that is missed is settled at the next level, which is the same.
const BLOCKED: f64 = 1e-3;
/// The largest number of repetitions of max-min fairness for Interests.
const REPEATS: usize = 5;
/// Interests that change by less than this part of their link have settled.
const SETTLED: f64 = 5e-4;

/// Finds the largest sum of rates. Classes do not count.
///
/// # Errors
/// Returns [`NoSolution`] if the solver gave up.
pub(crate) fn maximum_flow(network: &Network, conditions: &Conditions) -> Result<Allocation, NoSolution> {
    let mut stage = Stage::new(network, conditions, None, None);
    let all = stage.takers(&(0..CLASSES));
    let (model, solution) = stage.solve(&all, |model| {
        for &flow in &all {
            model.program.worth(model.rate_of(flow), 1.0);
        }
    })?;
    settle_all(&mut stage, &model, &solution, &all);
    Ok(stage.allocation)
}

/// Finds the largest sum of weighted logarithms of rates (Kelly).
///
/// # Errors
/// Returns [`NoSolution`] if the solver gave up.
pub(crate) fn proportional(
    network: &Network,
    policy: &SharingPolicy,
    conditions: &Conditions,
) -> Result<Allocation, NoSolution> {
    let mut stage = Stage::new(network, conditions, Some(policy), None);
    let weight = weights(&stage, policy);
    for members in stages() {
        let own = stage.takers(&members);
        let largest = own.iter().map(|&flow| weight[flow]).fold(0.0, f64::max);
        let (model, solution) = stage.solve(&own, |model| {
            for &flow in &own {
                model.program.worth_log(model.rate_of(flow), weight[flow] / largest);
            }
        })?;
        settle_all(&mut stage, &model, &solution, &own);
        stage.fix_paths(&model, &solution, &own);
    }
    Ok(stage.allocation)
}

/// Finds the weighted max-min fair rates: no rate can grow except at the cost of one that is no larger for
/// its weight. `others` is the initial load of Interests and Data on each channel; each have what the others
/// leave.
///
/// # Errors
/// Returns [`NoSolution`] if the solver gave up.
pub(crate) fn max_min(
    network: &Network,
    policy: &SharingPolicy,
    conditions: &Conditions,
    others: ChannelLoads,
) -> Result<Allocation, NoSolution> {
    let mut known = others.clone();
    let mut stage = Stage::new(network, conditions, Some(policy), Some(others));
    for repeat in 1.. {
        max_min_beside(&mut stage, policy)?;
        let mut now = ChannelLoads::of(network, &stage.allocation.load, conditions);
        let grown = |channel: usize| now.interests[channel] - known.interests[channel];
        let capacity = &conditions.capacity;
        let is_settled = |channel: usize| match repeat {
            1 => grown(channel).abs() <= SETTLED * capacity[channel],
            _ => grown(channel) <= SETTLED * capacity[channel],
        };
        if repeat == REPEATS || (0..capacity.len()).all(is_settled) {
            break;
        }
        if repeat > 1 {
            // If routes fork, loads may change each time. The largest load of Interests so far is reserved
            // for them.
            let most = now.interests.iter_mut().zip(&known.interests);
            most.for_each(|(now, before)| *now = now.max(*before));
        }
        known = now.clone();
        stage.begin_again(now);
    }
    Ok(stage.allocation)
}

/// Proceeds level by level: finds the largest rate for its weight that all flows can have. Flows that cannot
/// have more are settled, and the others continue.
fn max_min_beside(stage: &mut Stage<'_>, policy: &SharingPolicy) -> Result<(), NoSolution> {
    let weight = weights(stage, policy);
    for members in stages() {
        let own = stage.takers(&members);
        let largest = own.iter().map(|&flow| weight[flow]).fold(0.0, f64::max);
        loop {
            let open: Vec<usize> = own.iter().copied().filter(|&flow| !stage.is_settled[flow]).collect();
            if open.is_empty() {
                break;
            }
            let mut level = 0;
            let mut floors = Vec::new();
            let (model, solution) = stage.solve(&open, |model| {
                level = model.program.variable();
                model.program.worth(level, 1.0);
                floors.clear();
                for &flow in &open {
                    let terms = vec![(level, weight[flow] / largest), (model.rate_of(flow), -1.0)];
                    floors.push(model.program.at_most(terms, 0.0));
                }
            })?;
            let cost = |at: usize| solution.price[floors[at]] * weight[open[at]] / largest;
            let most = (0..open.len()).map(cost).fold(0.0, f64::max);
            let blocked: Vec<usize> = (0..open.len()).filter(|&at| cost(at) >= BLOCKED * most).collect();
            for &at in &blocked {
                let rate = solution.value[level] * weight[open[at]] / largest * model.unit;
                stage.settle(&model, &solution, open[at], rate);
            }
            if blocked.len() == open.len() {
                stage.fix_paths(&model, &solution, &own);
            }
        }
    }
    Ok(())
}

/// Iterates over the ranges of classes that are served together, the most urgent first.
fn stages() -> impl Iterator<Item = core::ops::Range<usize>> {
    (0..DELAY_SENSITIVE).map(|class| class..class + 1).chain(core::iter::once(DELAY_SENSITIVE..CLASSES))
}

/// Returns ω_c·w/Σw of each flow.
fn weights(stage: &Stage<'_>, policy: &SharingPolicy) -> Vec<f64> {
    let network = stage.network;
    let own = |flow: usize| network.streams[network.stream_of[flow]].weight;
    let mut of_class = [0.0; CLASSES];
    for flow in stage.takers(&(0..CLASSES)) {
        of_class[network.class(flow) as usize] += own(flow);
    }
    let part = |flow: usize| own(flow) / of_class[network.class(flow) as usize].max(own(flow));
    (0..network.stream_of.len()).map(|flow| policy.weight(network.class(flow)) * part(flow)).collect()
}

/// Settles these flows at their rates in the solution.
fn settle_all(stage: &mut Stage<'_>, model: &Model, solution: &Solution, flows: &[usize]) {
    for &flow in flows {
        let rate = solution.value[model.rate_of(flow)] * model.unit;
        stage.settle(model, solution, flow, rate);
    }
}
