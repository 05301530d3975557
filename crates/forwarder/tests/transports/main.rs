//! Transports on real sockets.

mod files;
mod side;
mod stream;
mod unix;
mod websocket;
