//! `weir._native`: the Rust part of the Python package `weir`.
//!
//! Errors are exceptions of `weir.errors`. Tables are Arrow record batches, which other libraries read through the
//! PyCapsule interface. Runs release the interpreter's lock. They take it for progress, for signals, and for window
//! laws written in Python.

mod cluster;
mod command;
mod errors;
mod lab;
mod law;
mod listing;
mod optimum;
mod plot;
mod result;
mod run;
mod scenario;
mod series;
mod study;
mod table;

use pyo3::prelude::*;

/// The Rust part of the Python package `weir`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::cluster::{Schedule, run_request};
    #[pymodule_export]
    use crate::command::main;
    #[pymodule_export]
    use crate::lab::{lab_options, lab_result};
    #[pymodule_export]
    use crate::law::{Congestion, Data, Flow, Loss, Sent};
    #[pymodule_export]
    use crate::listing::{scenarios, schemes};
    #[pymodule_export]
    use crate::optimum::{Optimum, optimum};
    #[pymodule_export]
    use crate::result::{Distribution, Result, Series};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::study::{Study, compare, reproduce, sweep};
    #[pymodule_export]
    use crate::table::Table;

    /// The version of Weir, with the commit from which it was built.
    #[pymodule_export]
    const VERSION: &str = weir_study::VERSION;

    /// A digest of everything that determines the figures of a run. Modules with the same digest make the same runs.
    #[pymodule_export]
    const SOURCES: &str = weir_study::SOURCES;
}
