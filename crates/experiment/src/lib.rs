//! A scenario under a scheme, resolved and checked once for every world.
//!
//! An [`Experiment`] says what runs: the scheme of each node and flow, the settings of each consumer and producer, the
//! content stores, what changes when ([`Change`]), what is measured ([`Probe`]), and what should come out. A world
//! executes it with nodes, links and clocks of its own, keeps accounts as `weir_measure` has them, and gets its
//! [`Report`](weir_measure::Report) from [`Experiment::report`]. A world that cannot do something that an experiment
//! asks for refuses it.

mod applications;
mod changes;
mod drawn;
mod error;
mod experiment;
mod observe;
mod probe;
mod report;
mod resolve;
mod script;
mod traffic;

pub use applications::name_of;
pub use drawn::drawn;
pub use error::ExperimentError;
pub use experiment::{Experiment, HASHER, Setup, SimulatedCacheConfig, StoreConfig};
pub use observe::{Accounts, Observers, relation};
pub use probe::Probe;
pub use report::Measured;
pub use resolve::{check_schemes, scheme_for};
pub use script::Change;
pub use traffic::{Arrival, RequestStream, Unloaded};
