//! Experiments from outside. All tests are one program, because linking takes long.

mod experiment;
mod files;
mod requests;
