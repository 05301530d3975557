//! Experiments from outside. One program, since each would be linked anew with all that it stands on.

mod experiment;
mod files;
