//! The best steady allocation for a scenario according to theory, independent of the scheme.
//!
//! | objective | what it maximises | how |
//! |---|---|---|
//! | link-fair | each link divided by itself: classes by priority and weight, flows of a class equally | a fixed point ([`Objective::LinkFair`]) |
//! | max-min | the smallest rate, then the next, for its weight, over all routes at once | a linear program a level |
//! | proportional | the weighted sum of the logarithms of rates | one convex program with exponential cones |
//! | max-flow | the sum of rates | one linear program |
//!
//! Link-fair is the yardstick: it is what schedulers can enforce hop by hop. The others see the whole
//! network at once; they tell what that costs.
//!
//! # What is modelled
//! - Rates are bits of Data on the wire; goodput is their content. Packets are as long as they are under any
//!   scheme: with a PIT token and their class, without a scheme's own fields, which are what the scheme costs.
//! - A link carries Data up to η times its rate, less the Interests that go its way; those have half of it at
//!   the most where Data want the rest.
//! - On a shared medium a Data and its Interest take the air that they take when every station in use is
//!   saturated (Bianchi 2000), idle slots, collisions and acknowledgements included. η of the air may be used; in
//!   link-fair, directions have equal parts of it, and what others do not want.
//! - A flow asks for as much as its source does. One that does not listen asks for its rate, and gets no
//!   more than its share.
//! - Consumers of one prefix and class fetch the same names in step, with or without caches, on one node or
//!   several: a link carries one copy, as much as the one that takes most takes. It is the best that could
//!   be; out of step, only caches keep it from being more. With [`Copies::Apart`] nothing is shared: each
//!   consumer counts as one that fetches names of its own.
//! - Behind a simulated cache that has a part k of a stream's names, links carry 1 − k of it.
//! - Not modelled: round trips, queues, random loss (but on a medium, where frames are sent again), and caches that serve one consumer what another has
//!   fetched before.
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
//! let policy = SharingPolicy { omega: weights, target_utilisation: Some(0.99), ..SharingPolicy::default() };
//! let optimum = steady(&scenario, &policy, window, &Options::default())?;
//! let of_af2: f64 = optimum.flows[10..20].iter().map(|flow| flow.rate_bps).sum();
//! assert!((of_af2 - 4.45e6).abs() < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fair;
mod global;
mod model;
mod network;
mod optimum;
mod paths;
mod policy;
mod program;
mod solve;
mod theory;
mod timeline;

pub use optimum::{
    Bottleneck, Copies, FlowOptimum, Held, LinkOptimum, Optimum, OptimumError, Options, Share,
};
pub use solve::Objective;
pub use theory::{Theory, steady};
