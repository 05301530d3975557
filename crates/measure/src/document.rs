//! The head of a document, and its text.

use serde::Serialize;

use crate::model::RunDocument;

impl RunDocument {
    /// The shape of the document that this code writes.
    pub const SCHEMA: u64 = 1;

    /// The version that made it; this code's own, where the document does not say.
    pub fn made_by(&self) -> &str {
        if self.version.is_empty() { env!("CARGO_PKG_VERSION") } else { &self.version }
    }
}

/// A document as JSON text, with a line break at its end.
pub fn to_json(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a document has only text keys");
    text.push('\n');
    text
}
