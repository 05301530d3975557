//! The NFD management protocol, for clients and for forwarders.
//!
//! ```text
//!   /localhost/nfd/<module>/<verb>/<ControlParameters>/<params-sha256>     command    -> ControlResponse
//!   /localhost/nfd/<module>/<verb>                                         dataset    -> .../v=…/seg=…
//! ```
//!
//! - [`status`]: what faces, tables and the forwarder say of themselves, as values.
//! - [`parameters`]: what commands say and are answered; [`dataset`]: lists; both in [`tlv`].
//! - [`client`]: asks a forwarder.
//!
//! Numbers and rules are those of the protocol as NFD and ndnd have them.

pub mod client;
pub mod dataset;
pub mod module;
pub mod origin;
pub mod parameters;
pub mod status;
pub mod tlv;

pub use dataset::RouteFlags;
pub use module::Module;
pub use parameters::{ControlParameters, ControlResponse};
pub use tlv::Malformed;
