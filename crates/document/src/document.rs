//! The text of a document, and the positions in it.

use std::sync::Arc;

use toml::de::DeTable;

use crate::error::{DocumentError, Location};
use crate::format::Format;
use crate::tree::{self, Origin, Table};

/// The text of a file with its overrides. It parses the tree, and converts origins to lines for errors.
#[derive(Debug)]
pub struct Document {
    /// The keys that the document may have.
    pub format: Format,
    /// The file's name in errors, as the caller gave it.
    pub file: Arc<str>,
    /// The whole file.
    pub text: Arc<str>,
    /// Offset of the first byte of each line.
    line_starts: Vec<u32>,
    /// `--set PATH=VALUE` of each override, as [`Origin::Set`] counts them.
    pub overrides: Vec<Arc<str>>,
}

impl Document {
    /// Returns a document of this format without overrides. [`Document::tree`] parses it.
    pub fn new(format: Format, file: &str, text: &str) -> Document {
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1));
        Document { format, file: file.into(), text: text.into(), line_starts, overrides: Vec::new() }
    }

    /// Returns the line and column of an origin, or the override.
    pub fn location(&self, origin: Origin) -> Location {
        match origin {
            Origin::Set(i) => Location::Set(Arc::clone(&self.overrides[i as usize])),
            Origin::Default => Location::File { file: Arc::clone(&self.file), line: 1, column: 1, width: 0 },
            Origin::File { start, end } => {
                let start = start.min(self.text.len() as u32);
                let line = self.line_starts.partition_point(|&s| s <= start) - 1;
                let from = self.line_starts[line] as usize;
                let chars = |range: core::ops::Range<usize>| {
                    self.text.get(range).map_or(0, |s| s.lines().next().unwrap_or("").chars().count()) as u32
                };
                Location::File {
                    file: Arc::clone(&self.file),
                    line: line as u32 + 1,
                    column: 1 + chars(from..start as usize),
                    width: chars(start as usize..(end.max(start) as usize).min(self.text.len())).max(1),
                }
            }
        }
    }

    /// Returns an error about the value or key at `origin`.
    pub fn error(
        &self,
        origin: Origin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> DocumentError {
        self.error_at(self.location(origin), key, message, help)
    }

    /// Returns an error like [`Document::error`], at a known line.
    pub fn error_at(
        &self,
        location: Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> DocumentError {
        DocumentError::new(location, key, message, help, &self.text)
    }

    /// Parses the text into a tree.
    ///
    /// # Errors
    /// Returns the first error of [`Document::tree_or_errors`] if the text is not TOML, or is larger than 4
    /// GiB.
    pub fn tree(&self) -> Result<Table, DocumentError> {
        self.tree_or_errors().map_err(|mut errors| errors.swap_remove(0))
    }

    /// Parses the text like [`Document::tree`], with an error for each line that is not TOML.
    ///
    /// # Errors
    /// Returns these errors, at least one.
    pub fn tree_or_errors(&self) -> Result<Table, Vec<DocumentError>> {
        if self.text.len() > u32::MAX as usize {
            return Err(vec![self.error(Origin::Default, "", "the file is larger than 4 GiB", "")]);
        }
        let (parsed, faults) = DeTable::parse_recoverable(&self.text);
        let mut errors: Vec<DocumentError> = Vec::new();
        for fault in &faults {
            let error = self.not_toml(fault);
            // A further error on the same line is caused by the first.
            if errors.last().is_none_or(|last| last.line() != error.line()) {
                errors.push(error);
            }
        }
        if errors.is_empty() { Ok(tree::table(parsed.get_ref())) } else { Err(errors) }
    }

    fn not_toml(&self, fault: &toml::de::Error) -> DocumentError {
        let span = fault.span().unwrap_or(0..0);
        let at = Origin::File { start: span.start as u32, end: span.end as u32 };
        // The parser's message may have several lines.
        let message = fault.message().lines().collect::<Vec<_>>().join("; ");
        let help = if fault.message().contains("duplicate key") {
            let list = self.format.list;
            format!("a table has each key only once; for a list of tables write [[{list}]], not [{list}]")
        } else if fault.message().contains("literal") || fault.message().contains("invalid") {
            "texts and quantities need quotes: rate = \"10 Mb/s\"".to_owned()
        } else {
            String::new()
        };
        self.error(at, "", format!("this is not TOML: {message}"), help)
    }
}
