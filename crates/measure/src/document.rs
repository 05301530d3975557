//! The head of a document, and its text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::model::RunDocument;

/// The end of a scheme's name in figures of runs in the lab.
pub const IN_LAB: &str = " (lab)";

impl RunDocument {
    /// The version of the document's format that this code writes.
    pub const SCHEMA: u64 = 1;

    /// Returns the version that made it; this code's own if the document has none.
    pub fn made_by(&self) -> &str {
        if self.version.is_empty() { env!("CARGO_PKG_VERSION") } else { &self.version }
    }
}

/// Returns a document as JSON text, with a line break at its end. The counts of a histogram are on one line.
pub fn to_json(document: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, Lines::default());
    document.serialize(&mut writer).expect("a document has only text keys");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Pretty JSON, but with the list below the key `counts` on one line.
#[derive(Default)]
struct Lines {
    pretty: PrettyFormatter<'static>,
    is_key: bool,
    /// Whether the last key was `counts`.
    of_counts: bool,
    /// The number of open lists, counted from the one below `counts`.
    depth: u32,
}

impl Formatter for Lines {
    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.is_key = true;
        self.pretty.begin_object_key(to, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.is_key = false;
        self.pretty.end_object_key(to)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        if self.is_key {
            self.of_counts = text == "counts";
        }
        self.pretty.write_string_fragment(to, text)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.of_counts = false;
        self.pretty.end_object_value(to)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.of_counts {
            self.depth += 1;
            return to.write_all(b"[");
        }
        self.pretty.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.depth > 0 {
            self.depth -= 1;
            return to.write_all(b"]");
        }
        self.pretty.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        match (self.depth, first) {
            (0, _) => self.pretty.begin_array_value(to, first),
            (_, true) => Ok(()),
            (_, false) => to.write_all(b","),
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        if self.depth > 0 { Ok(()) } else { self.pretty.end_array_value(to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distribution;

    #[test]
    fn counts_are_on_one_line_and_all_else_is_as_always() {
        let mut delays = Distribution::new("ms", 0.05);
        [1.0, 1.0, 2.0].into_iter().for_each(|delay| delays.record(delay));
        let text =
            to_json(&serde_json::json!({ "a": [1, [2]], "empty": [], "of": [delays], "z": { "b": [] } }));
        assert!(text.contains("\"counts\": [[20,2],[40,1]]"), "{text}");
        let plain = serde_json::json!({ "a": [1, [2]], "counts": 3, "c": [{}, { "d": "counts" }, [4]] });
        assert_eq!(to_json(&plain), format!("{}\n", serde_json::to_string_pretty(&plain).unwrap()));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["z"]["b"],
            serde_json::json!([])
        );
    }
}
