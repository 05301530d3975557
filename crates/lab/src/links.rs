//! Emulated links between network interfaces.
