//! Scenario files: parses TOML into checked structs. Errors name the correct alternatives.
//!
//! The crate is pure: a caller passes the text. The crate opens no file, reads no clock, and draws only
//! random numbers that the file seeds.
//!
//! ```
//! use weir_scenario::{Override, Scenario, builtin};
//!
//! let text = builtin("qsccp/dumbbell").expect("it is built in");
//! let overrides = [Override::parse("link.R2-R3.rate=20Mb/s")?];
//! let scenario = Scenario::parse("qsccp/dumbbell", "scenarios/qsccp/dumbbell.toml", text, &overrides)?;
//! assert_eq!(scenario.flows.len(), 40);
//! # Ok::<(), weir_scenario::ScenarioError>(())
//! ```
//!
//! [`Scenario::parse`] reads the text into a tree that keeps the position of every value ([`weir_document`]).
//! It applies the overrides to the tree (`set`), adds generated items (`generate`), makes one table for each
//! node and link (`expand`), and reads the tree section by section according to the table of keys (`keys`,
//! `read`, `load`, `routing`). The reference and the JSON Schema come from the same table
//! ([`mod@reference`]).

mod builtin;
mod error;
mod expand;
mod faults;
mod files;
mod generate;
mod keys;
mod load;
mod model;
mod names;
mod read;
pub mod reference;
mod routing;
mod set;
mod settings;
mod sizes;
mod traffic;

pub use builtin::{builtin, builtins, emulated, emulated_names};
pub use error::ScenarioError;
pub use files::{Files, NoFiles};
pub use model::*;
pub use names::covers;
pub use routing::{Fibs, FibsOfName, NetworkView};
pub use set::Override;
pub use settings::Settings;
pub use traffic::{Activity, Arrivals, Distribution, MOST_DATA, Popularity, Request, Requests};
pub use weir_core::consumer::Source;
pub use weir_core::seam::QueueLimit;
pub use weir_document::{Location, Param, ParamValue, did_you_mean, nearest, text};
