//! Harnesses of the fuzz targets.

pub mod packet;
