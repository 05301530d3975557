//! A scenario under a scheme, resolved and checked once for every world.
//!
//! An [`Experiment`] defines the run: the scheme of each node and flow, the settings of each consumer and
//! producer, the content stores, the changes and their times ([`Change`]), the measurements ([`Probe`]), and
//! the expected results. A world executes it with its own nodes, links and clocks, and keeps the accounts of
//! `weir_measure`. It gets its [`Report`](weir_measure::Report) from [`Experiment::report`]. A world rejects
//! an experiment that needs something it does not support.

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
