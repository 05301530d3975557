//! Nodes and tables from outside. All tests are one program, because linking takes long.

mod caches;
mod conservation;
mod hostile_names;
mod memory;
