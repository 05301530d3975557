//! Harnesses of the fuzz targets.

pub mod forwarder;
pub mod get;
pub mod import;
mod input;
pub mod keychain;
pub mod link;
pub mod management;
pub mod node;
pub mod observation;
pub mod packet;
pub mod resume;
pub mod scenario;
pub mod scheme;
pub mod tables;
pub mod transport;
