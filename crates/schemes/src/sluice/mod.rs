//! `sluice`: Weir's own scheme.
//!
//! A link computes its level, and the lowest level on the path is the rate of the flow.
//!
//! Every face paces Interests so that their Data fit the link by which they come back. The neighbour sends
//! these Data. It measures the link and reports its rate. So load neither delays nor drops Data. Each Data
//! carries a grant: the smallest level on its path, which its consumer may use as its rate.
//! `docs/schemes/sluice.md` has the equations.
//!
//! ```text
//!   consumer ------- Interests ------> node ------- Interests ------> node ------> producer
//!     |  asks at its grant               |  next hop by grants           |
//!     |  (`consumer.rs`)                 |  (`node.rs`)                  |
//!     +<------- Data, Grant ------- face: level, schedule <------ Data, Grant, LinkRate
//!                                   (`face.rs`, `level.rs`, `schedule.rs`)
//! ```
//!
//! # Deviations from the paper
//! There is no paper. The page has the design, and the ideas that were tried and dropped.

mod consumer;
mod downstreams;
mod face;
mod flows;
mod hidden;
mod interests;
mod level;
mod node;
mod outgoing;
mod schedule;
mod signals;
mod upstreams;

use core::ops::RangeInclusive;

use weir_core::parameters;
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, SharingPolicy, Strategy};
use weir_core::tables::flow_prefix::FlowPrefix;
use weir_core::units::Span;

use crate::per_prefix::PerPrefix;
use crate::registry::{Entry, Sharing};
use crate::window::Unit;
use level::{CLASSES, URGENT};

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "sluice",
    title: "levels of links in Data, Interests paced by neighbours' measurements; no configured link rates",
    citation: "none: Weir's own, docs/schemes/sluice.md",
    parameters: Settings::PARAMETERS,
    signals: signals::SIGNALS,
    early_loss: false,
    sharing: Some(Sharing {
        by_class: true,
        parameters: &["weights.*", "delta.*", "flow_weights.*"],
        policy: |scheme| {
            let Settings { omega, delta, flow_weights, .. } = Settings::new(&scheme.params);
            let flow_weights = flow_weights.iter().map(|(prefix, weight)| (prefix.to_string(), *weight));
            SharingPolicy {
                class_parts: delta,
                class_weights: omega,
                flow_weights: flow_weights.collect(),
                ..SharingPolicy::default()
            }
        },
    }),
    build: |params| Box::new(Sluice { settings: Settings::new(params) }),
};

const WEIGHT: RangeInclusive<f64> = 0.001..=1000.0;
/// The range of a flow's weight. A flow of a smaller weight would have its turn too seldom.
const FLOW_WEIGHT: RangeInclusive<f64> = 0.1..=100.0;
const SHARE: RangeInclusive<f64> = 0.0001..=1.0;

parameters! {
    /// The parameters.
    #[derive(Clone, Debug)]
    struct Settings {
        /// η_t: part of a link that is offered to flows
        target: f64 = number("target_utilisation", 0.5..=1.0) default "0.995"
            from "assumed: a queue that forms drains at the difference to `drain`";
        /// η_d: part of a link that Interests may fill
        drain: f64 = number("drain", 0.5..=1.0) at_least "target_utilisation" default "0.999"
            from "assumed: clocks differ by less";
        /// gain of the level: the part of an error that is corrected in a horizon
        gain: f64 = number("gain", 0.01..=2.0) default "0.3"
            from "assumed: stable for delays up to two horizons";
        /// ω of AF4, AF3, AF2, AF1, BE.
        omega: [f64; CLASSES - URGENT] = [
            /// ω of class AF4
            number("weights.AF4", WEIGHT) default "5" from "assumed: as qsccp";
            /// ω of class AF3
            number("weights.AF3", WEIGHT) default "4" from "assumed: as qsccp";
            /// ω of class AF2
            number("weights.AF2", WEIGHT) default "3" from "assumed: as qsccp";
            /// ω of class AF1
            number("weights.AF1", WEIGHT) default "2" from "assumed: as qsccp";
            /// ω of class BE
            number("weights.BE", WEIGHT) default "1" from "assumed: as qsccp";
        ];
        /// δ of CS7, CS6, EF.
        delta: [f64; URGENT] = [
            /// δ of class CS7
            number("delta.CS7", SHARE) default "0.2" from "assumed: as qsccp";
            /// δ of class CS6
            number("delta.CS6", SHARE) default "0.2" from "assumed: as qsccp";
            /// δ of class EF
            number("delta.EF", SHARE) default "0.3" from "assumed: as qsccp";
        ];
        /// number of first name components that define a flow; the last component of a name never counts; 0: the
        /// prefix of the FIB entry
        flow_prefix: FlowPrefix = integer("flow_prefix", 0..=127) default "0" from "assumed: as qsccp";
        /// w of the flows of a prefix: `flow_weights."/video" = 2`
        flow_weights: PerPrefix<f64> = each number("flow_weights.*", FLOW_WEIGHT) default "1"
            from "assumed: as qsccp";
        /// Interests of a flow that may wait: those of this time at its level
        room: Span = span("room", Span::from_millis(1)..=Span::from_secs(10)) default "200 ms"
            from "assumed: the longest usual round trip";
        /// smallest number of Interests of a flow that may wait
        least_room: f64 = number("least_room", 1.0..=10000.0) default "20" from "assumed: as qsccp's virtual queue";
        /// Interests that a consumer may have pending before a grant, if their Data have 14600 bytes or less
        initial_window: u32 = integer("initial_window", 1..=1000) default "10" from "assumed: RFC 6928, as TCP";
        unit: Unit = group;
    }
}

/// The plug-in of Sluice.
#[derive(Clone, Debug)]
pub struct Sluice {
    settings: Settings,
}

impl Scheme for Sluice {
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(consumer::Consumer::new(&self.settings, flow))
    }

    fn flow_prefix(&self) -> FlowPrefix {
        self.settings.flow_prefix
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(node::Node::default())
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(face::Face::new(&self.settings, face))
    }
}
