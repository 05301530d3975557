//! Schemes from outside. All tests are one program, because linking takes long.

mod add_a_scheme;
mod any_scheme;
mod qsccp_scheduling;
mod what_ends;

/// What the example of a scheme finds at this path where it is a module of the crate.
mod registry {
    pub use weir_schemes::Entry;
}
