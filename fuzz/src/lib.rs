//! Harnesses of the fuzz targets.

mod input;
pub mod node;
pub mod packet;
pub mod scheme;
pub mod transport;
