//! TOML documents that are checked against a table of keys. Errors name the correct alternatives.
//!
//! A [`Format`] is the table of keys that a kind of file may have. A [`Document`] is the text of one
//! file; [`Document::tree`] parses it into a [`Table`] whose values know their position ([`Origin`]).
//! [`Item`] reads one table of it: quantities with units, numbers in a range, choices, lists. An error is
//! a [`DocumentError`] with file, line, key, message and the correct alternatives.
//!
//! The caller gives the text, and nothing here opens a file. Scenarios and the forwarder's
//! file use this crate; each has its own table of keys and its own error type.
//!
//! ```
//! use weir_document::{Document, Format, Item, Key, NONE, Section, Shape};
//!
//! const SECTIONS: &[Section] =
//!     &[Section { name: "link", written: "[link]", address: "", meaning: "A link." }];
//! const KEYS: &[Key] = &[Key {
//!     table: "link",
//!     key: "delay",
//!     shape: Shape::Span,
//!     default: NONE,
//!     settable: false,
//!     beside: &[],
//!     meaning: "Propagation delay.",
//! }];
//! const FORMAT: Format = Format {
//!     sections: SECTIONS,
//!     keys: KEYS,
//!     find: |table, key| KEYS.iter().find(|k| (k.table, k.key) == (table, key)),
//!     of: |table| KEYS.iter().filter(|k| k.table == table).collect(),
//!     list: "link",
//! };
//!
//! let document = Document::new(FORMAT, "net.toml", "[link]\ndelay = \"10\"\n");
//! let root = document.tree()?;
//! let link = root.value("link").expect("it is in the text");
//! let table = link.as_table().expect("it is a table");
//! let item = Item { doc: &document, section: "link", path: "link", table, origin: link.origin };
//! let error = item.opt_span("delay").unwrap_err();
//! assert_eq!((error.file(), error.line(), error.key()), ("net.toml", 2, "link.delay"));
//! # Ok::<(), weir_document::DocumentError>(())
//! ```

mod document;
mod error;
mod format;
mod params;
mod read;
pub mod reference;
mod source;
mod text;
mod tree;
mod words;

pub use document::Document;
pub use error::{DocumentError, Location};
pub use format::{Format, Key, NONE, REQUIRED, Section, Shape};
pub use params::{Param, ParamValue, params};
pub use read::{Item, Limit};
pub use source::annotate;
pub use text::{NotText, text};
pub use tree::{Entry, Kind, Origin, Table, Value, parse_value};
pub use weir_core::words::{did_you_mean, nearest};
pub use words::list;
