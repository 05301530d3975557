//! Harnesses of the fuzz targets.

mod input;
pub mod node;
pub mod observation;
pub mod packet;
pub mod scheme;
pub mod transport;
