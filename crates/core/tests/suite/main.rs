//! Nodes and tables from outside. One program, since each would be linked anew with all that it stands on.

mod conservation;
mod hostile_names;
mod memory;
