//! Transports on real sockets.

mod ethernet;
mod files;
mod multicast;
mod namespace;
mod side;
mod stream;
mod unix;
mod websocket;
