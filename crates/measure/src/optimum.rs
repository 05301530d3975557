//! The distance of a run from the optimum.

use crate::model::{DistanceRow, FlowRow, OptimumFlowRow, OptimumRow, TargetRow};
use crate::stats::jain;

/// A flow within this part of the optimum is near it.
const NEAR: f64 = 0.05;

impl TargetRow {
    /// Returns a target with these goodputs for this part of the links' rates, compared with the measured
    /// flows.
    pub fn new(utilisation: f64, flows: &[OptimumFlowRow], measured: &[FlowRow]) -> TargetRow {
        let goodput_bps = flows.iter().map(|flow| flow.goodput_bps).sum();
        TargetRow { utilisation, goodput_bps, distance: DistanceRow::of(flows, measured) }
    }
}

impl OptimumRow {
    /// Returns the optimum, compared with the measured flows in the same order.
    pub fn new(
        objective: &str,
        utilisation: f64,
        flows: Vec<OptimumFlowRow>,
        measured: &[FlowRow],
    ) -> OptimumRow {
        let distance = DistanceRow::of(&flows, measured);
        let pairs = flows.iter().zip(measured).filter(|(best, _)| best.goodput_bps > 0.0);
        let parts: Vec<f64> = pairs.map(|(best, flow)| flow.goodput_bps / best.goodput_bps).collect();
        let weighted_jain = jain(&parts).filter(|_| parts.len() > 1);
        let (objective, weights) = (objective.to_owned(), String::new());
        OptimumRow { objective, utilisation, weights, weighted_jain, flows, distance, target: None }
    }
}

impl DistanceRow {
    /// Returns the distances of the measured goodputs from `best`, for the same flows in the same order.
    pub fn of(best: &[OptimumFlowRow], measured: &[FlowRow]) -> DistanceRow {
        let pairs = best.iter().zip(measured).filter(|(best, _)| best.goodput_bps > 0.0);
        let signed: Vec<f64> = pairs.map(|(best, flow)| flow.goodput_bps / best.goodput_bps - 1.0).collect();
        let apart: Vec<f64> = signed.iter().map(|apart| apart.abs()).collect();
        let mean = |values: f64| (!apart.is_empty()).then(|| values / apart.len() as f64);
        DistanceRow {
            mean: mean(apart.iter().sum()),
            largest: apart.iter().copied().reduce(f64::max),
            lowest: signed.iter().copied().reduce(f64::min),
            highest: signed.iter().copied().reduce(f64::max),
            within_5_percent: mean(apart.iter().filter(|apart| **apart <= NEAR).count() as f64),
        }
    }
}
