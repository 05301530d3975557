//! The result of an optimum, and the reasons why there may be none.

use core::fmt;

use weir_core::units::Span;
use weir_packet::ServiceClass;
use weir_scenario::{DirectedLink, FlowId, ScenarioError};

use crate::solve::{Inexact, Objective};

/// Whether consumers of the same names share Data on the common links of their routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// Consumers of a prefix and class are in step: a link carries one copy for all of them.
    #[default]
    Shared,
    /// A link carries a copy for each consumer, and is divided as if each fetched its own prefix: Interests
    /// are not aggregated, and content stores do not answer.
    Apart,
}

/// The settings of a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// The objective, which defines the best allocation.
    pub objective: Objective,
    /// η, the part of a link's rate that may be used, above 0 to 1. `None`: 1, all of it.
    pub utilisation: Option<f64>,
    /// Whether consumers of the same names share copies.
    pub copies: Copies,
}

/// The reason why there is no optimum.
#[derive(Clone, Debug, PartialEq)]
pub enum OptimumError {
    /// The scenario has a part that cannot be computed.
    Scenario(ScenarioError),
    /// A weight or a limit of the policy is invalid.
    Policy(String),
    /// η is not above 0 and at most 1.
    Utilisation(f64),
    /// A window is not within the run.
    Window {
        /// The beginning of the window.
        from: Span,
        /// The end of the window.
        to: Span,
        /// The length of the run.
        duration: Span,
    },
    /// Next hops change from this time on, after a failure or a move.
    RoutesChange {
        /// The time of the first change.
        at: Span,
    },
    /// The solver gave up.
    Unsolved {
        /// The objective of the computation.
        objective: Objective,
        /// The solver's message.
        why: String,
    },
}

impl fmt::Display for OptimumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptimumError::Scenario(error) => error.fmt(f),
            OptimumError::Policy(fault) => f.write_str(fault),
            OptimumError::Utilisation(value) => {
                write!(f, "the utilisation {value} is not a number above 0 and at most 1")
            }
            OptimumError::Window { from, to, duration } => write!(
                f,
                "the window {from} to {to} is not within the run: it must begin before it ends, and end by {duration}"
            ),
            OptimumError::RoutesChange { at } => write!(
                f,
                "next hops change at {at} (`routing.converge`), and the optimum is known only until then: all windows, \
                 those of the scenario too, have to end by {at}, and no flow may have an `amount`"
            ),
            OptimumError::Unsolved { objective, why } => {
                write!(
                    f,
                    "the solver found no {objective} allocation: {why}; {} needs no solver",
                    Objective::LinkFair
                )
            }
        }
    }
}

impl std::error::Error for OptimumError {}

/// The cause that limits a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// The flow's own source.
    BySource,
    /// A link, in the direction of Data, or in the direction of Interests if these fill it.
    ByLink(DirectedLink),
}

/// A flow's part of the optimum, means over the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOptimum {
    /// Data on the wire, bit/s.
    pub rate_bps: f64,
    /// Their content, bit/s.
    pub goodput_bps: f64,
    /// The flow's rate if it were the only flow, over all its routes, bit/s of Data.
    pub alone_bps: f64,
    /// The causes that limit the flow, each with the part of the window in which it does, 0 to 1.
    pub held: Vec<(Held, f64)>,
}

/// A direction of a link in the optimum, means over the window.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOptimum {
    /// The direction.
    pub link: DirectedLink,
    /// Its rate, bit/s.
    pub rate_bps: f64,
    /// Data on it, bit/s.
    pub data_bps: f64,
    /// Data on it for each prefix and class with a route over it, bit/s, identified by the first of its
    /// flows.
    pub streams: Vec<(FlowId, f64)>,
    /// Interests on it, bit/s.
    pub interest_bps: f64,
    /// The part of the window in which the link limits a flow, 0 to 1.
    pub binding: f64,
    /// The share of a flow with unlimited demand, for each class with flows there. Only with link-fair.
    pub shares: Vec<Share>,
}

/// The share of a link for a flow of a class with unlimited demand; a mean over the time in which the class
/// has flows there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The class.
    pub class: ServiceClass,
    /// The share, bit/s of Data.
    pub bps: f64,
    /// The part of the window that the mean covers, 0 to 1.
    pub part: f64,
}

impl Share {
    /// Adds another mean that covers the part `part` of the window.
    pub(crate) fn add(&mut self, part: f64, bps: f64) {
        self.bps = (self.part * self.bps + part * bps) / (self.part + part);
        self.part += part;
    }
}

/// The best allocation over a window. If flows, links or sources change in it, the figures are means over its
/// pieces, weighted by their lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The objective.
    pub objective: Objective,
    /// η.
    pub utilisation: f64,
    /// The window.
    pub window: (Span, Span),
    /// The number of pieces of the window.
    pub pieces: usize,
    /// The flows, in the order of [`Scenario::flows`](weir_scenario::Scenario::flows).
    pub flows: Vec<FlowOptimum>,
    /// Both directions of each of [`Scenario::links`](weir_scenario::Scenario::links).
    pub links: Vec<LinkOptimum>,
    /// The reason why rates are not exact; `None` if they are exact to nine digits.
    pub inexact: Option<Inexact>,
}

/// The times at which flows would be complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Completions {
    /// For each flow with an amount, the time after its own start; `None` if it would not be complete within
    /// the run. Round trips do not count.
    pub times: Vec<Option<Span>>,
    /// The reason why times are not exact; `None` if they are exact to nine digits.
    pub inexact: Option<Inexact>,
}

/// The time that a flow with an amount would take if it were the only flow of the run, from its own start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// The propagation delay of its first Interest and Data, by the fastest of its routes at its start.
    pub round_trip: Span,
    /// The transmission time of its Data at the largest rate that its source, its routes and its limit allow,
    /// without the round trip; `None` if the Data would never come.
    pub transmission: Option<Span>,
}

impl Alone {
    /// Returns the sum of both.
    pub fn time(&self) -> Option<Span> {
        Some(self.round_trip + self.transmission?)
    }

    /// Returns a completion in the optimum, in which round trips do not count, divided by the time alone,
    /// both with one round trip; 1 or more.
    pub fn slowdown(&self, completion: Span) -> Option<f64> {
        let time = self.time().filter(|time| *time > Span::ZERO)?;
        Some((completion + self.round_trip).as_secs_f64() / time.as_secs_f64())
    }
}

/// A bottleneck link.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The link and its direction.
    pub link: DirectedLink,
    /// The smallest mean rate of a flow that it limits, bit/s of Data. Bottlenecks are in this order.
    pub least_bps: f64,
    /// The flows that it limits at some time of the window.
    pub flows: Vec<FlowId>,
    /// The gain or loss of flows for each bit/s by which the link is made faster (bit/s of Data, a mean over
    /// the window), the largest first. Those below half a hundredth are left out. They are computed by
    /// solving again with a link that is faster by a thousandth (by 5 % if rates are not exact). `None` if
    /// not requested, and on a shared medium.
    pub gains: Option<Vec<(FlowId, f64)>>,
}
