//! The distance of a run from the optimum.

use crate::model::{DistanceRow, FlowRow, OptimumFlowRow, OptimumRow};

/// Within this part of the optimum a flow is near it.
const NEAR: f64 = 0.05;

impl OptimumRow {
    /// The optimum beside what was measured of the same flows, in the same order.
    pub fn new(
        objective: &str,
        utilisation: f64,
        flows: Vec<OptimumFlowRow>,
        measured: &[FlowRow],
    ) -> OptimumRow {
        let pairs = flows.iter().zip(measured).filter(|(best, _)| best.goodput_bps > 0.0);
        let signed: Vec<f64> = pairs.map(|(best, flow)| flow.goodput_bps / best.goodput_bps - 1.0).collect();
        let apart: Vec<f64> = signed.iter().map(|apart| apart.abs()).collect();
        let mean = |values: f64| (!apart.is_empty()).then(|| values / apart.len() as f64);
        let distance = DistanceRow {
            mean: mean(apart.iter().sum()),
            largest: apart.iter().copied().reduce(f64::max),
            lowest: signed.iter().copied().reduce(f64::min),
            highest: signed.iter().copied().reduce(f64::max),
            within_5_percent: mean(apart.iter().filter(|apart| **apart <= NEAR).count() as f64),
        };
        OptimumRow { objective: objective.to_owned(), utilisation, flows, distance }
    }
}
