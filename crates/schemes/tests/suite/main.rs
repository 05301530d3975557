//! Schemes from outside. All tests are one program, because linking takes long.

mod add_a_scheme;
mod any_scheme;
mod qsccp_scheduling;
mod what_ends;

/// The names that the example of a scheme imports from this path, where it is a module of the crate.
mod registry {
    pub use weir_schemes::Entry;
}
