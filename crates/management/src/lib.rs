//! The NFD management protocol, for clients and for forwarders.
//!
//! ```text
//!   /localhost/nfd/<module>/<verb>/<ControlParameters>/<params-sha256>     command    -> ControlResponse
//!   /localhost/nfd/<module>/<verb>                                         dataset    -> .../v=…/seg=…
//! ```
//!
//! - [`status`]: the status of faces, tables and the forwarder, as values.
//! - [`parameters`]: the parameters of commands and responses; [`dataset`]: status datasets. [`tlv`] has their numbers.
//! - [`overview`]: a document of everything that a status page shows; only Weir has it.
//! - [`client`]: a client of a forwarder.
//!
//! Numbers and rules are those of NFD and ndnd.

pub mod client;
pub mod dataset;
pub mod module;
pub mod origin;
pub mod overview;
pub mod parameters;
pub mod status;
pub mod tlv;

pub use dataset::RouteFlags;
pub use module::Module;
pub use parameters::{ControlParameters, ControlResponse, OWN_MTU};
pub use tlv::Malformed;
