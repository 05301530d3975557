//! The best steady allocation for a scenario by theory, independent of the scheme.
//!
//! | objective | what it maximises | method |
//! |---|---|---|
//! | link-fair | each link is divided separately: classes by priority and weight, flows of a class equally | a fixed point ([`Objective::LinkFair`]) |
//! | max-min | the smallest weighted rate, then the next, over all routes at once | a linear program for each level |
//! | proportional | the weighted sum of the logarithms of rates | one convex program with exponential cones |
//! | max-flow | the sum of rates | one linear program |
//!
//! Link-fair is the reference, because schedulers can enforce it hop by hop. The other objectives consider the whole
//! network at once. They show the cost of link-fair.
//!
//! # What is modelled
//! - Rates count all bits of Data on the wire; goodput counts their content. Packets have the lengths that they have under
//!   any scheme: with a PIT token and their class, without the header fields of a scheme, which are its overhead.
//! - A link carries Data up to η times its rate, less the Interests in its direction. Interests get at most half of the
//!   link if Data want the rest.
//! - On a shared medium a Data and its Interest take the airtime that they take when every station in use is saturated
//!   (Bianchi 2000), with idle slots, collisions and acknowledgements. η of the airtime can be used. In link-fair the
//!   directions share it equally, and a direction can use the airtime that others leave.
//! - A flow requests the rate of its source. An unresponsive flow requests its rate, and gets at most its share.
//! - Consumers of one prefix and class fetch the same names in step, with or without caches, on one node or several: a
//!   link carries one copy, at the rate of the fastest consumer. This is the upper bound. Consumers that are out of step
//!   share only by caches. With [`Copies::Apart`] nothing is shared: each consumer counts as if it fetched its own names.
//! - Behind a simulated cache that has a part k of a stream's names, links carry 1 − k of the stream.
//! - A link that loses every packet carries no Data. So a flow behind it gets nothing, and takes nothing from other flows.
//! - Round trips, queues and random loss are not modelled (except that a medium retransmits frames). Neither are caches
//!   that answer one consumer with content that another has fetched earlier.
//!
//! ```
//! use weir_core::Span;
//! use weir_core::seam::SharingPolicy;
//! use weir_optimum::{Options, steady};
//! use weir_scenario::{Scenario, builtin};
//!
//! let text = builtin("qsccp/dumbbell").expect("it is built in");
//! let scenario = Scenario::parse("qsccp/dumbbell", "scenarios/qsccp/dumbbell.toml", text, &[])?;
//! let window = (Span::from_secs(20), Span::from_secs(120));
//! let weights = [5.0, 4.0, 3.0, 2.0, 1.0];
//! let policy = SharingPolicy { class_weights: weights, ..SharingPolicy::default() };
//! let options = Options { utilisation: Some(0.99), ..Options::default() };
//! let optimum = steady(&scenario, &policy, window, &options)?;
//! let of_af2: f64 = optimum.flows[10..20].iter().map(|flow| flow.rate_bps).sum();
//! assert!((of_af2 - 4.45e6).abs() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alone;
mod fair;
mod global;
mod model;
mod network;
mod optimum;
mod paths;
mod policy;
mod program;
mod running;
mod solve;
mod theory;
mod timeline;

pub use optimum::{
    Alone, Bottleneck, Completions, Copies, FlowOptimum, Held, LinkOptimum, Optimum, OptimumError, Options,
    Share,
};
pub use solve::{Inexact, Objective};
pub use theory::{Theory, steady};
