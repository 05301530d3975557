//! `weir._native`: what the Python package `weir` has from Rust.
//!
//! Errors are exceptions of `weir.errors`. Tables are Arrow record batches that any library takes by the PyCapsule
//! interface. Runs release the interpreter's lock, and take it again for progress, for signals, and for window laws that
//! are written in Python.

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

/// What the Python package `weir` has from Rust.
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

    /// The version of Weir, with the commit that it was built from.
    #[pymodule_export]
    const VERSION: &str = weir_study::VERSION;

    /// A digest of everything that decides the figures of a run: modules with the same digest make the same runs.
    #[pymodule_export]
    const SOURCES: &str = weir_study::SOURCES;
}
