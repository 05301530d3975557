//! Generated documents: whole files, or parts of pages between marks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{Result, read};

/// A generated document: a file, or a part of a page.
pub struct Document {
    /// Its path from the root.
    pub path: String,
    /// The part of the page, or `None` for a whole file.
    pub part: Option<&'static str>,
    /// The generated text.
    pub text: String,
}

impl Document {
    /// Creates a whole file.
    pub fn whole(path: &str, text: String) -> Document {
        Document { path: path.to_owned(), part: None, text }
    }

    /// Creates a part of a page: the text between `<!-- generated, part: begin -->` and `<!-- generated, part: end
    /// -->`.
    pub fn part(path: &str, part: &'static str, text: String) -> Document {
        Document { path: path.to_owned(), part: Some(part), text }
    }

    /// The path, and the part if there is one.
    pub fn name(&self) -> String {
        self.part.map_or_else(|| self.path.clone(), |part| format!("{}, {part}", self.path))
    }

    /// The committed file with this text inserted.
    fn placed(&self, committed: &str) -> Result<String> {
        let Some(part) = self.part else { return Ok(self.text.clone()) };
        let [before, _, after] = around(committed, &self.path, part)?;
        Ok(format!("{before}\n{}\n\n{after}", self.text.trim()))
    }
}

/// Splits a page around a part: the text up to its beginning, the part, and the text from its end.
fn around<'t>(text: &'t str, page: &str, part: &str) -> Result<[&'t str; 3]> {
    let (begin, end) =
        (format!("<!-- generated, {part}: begin -->\n"), format!("<!-- generated, {part}: end -->\n"));
    let from = text.find(&begin).ok_or_else(|| format!("{page} needs a line {begin}"))? + begin.len();
    let length = text[from..].find(&end).ok_or_else(|| format!("{page} needs a line {end}"))?;
    Ok([&text[..from], &text[from..from + length], &text[from + length..]])
}

/// The text of a part of a page.
pub fn part_of(root: &Path, page: &str, part: &str) -> Result<String> {
    let text = read(&root.join(page))?;
    let [_, part, _] = around(&text, page, part)?;
    Ok(part.to_owned())
}

/// The names of the documents that differ from the committed ones.
pub fn differing(root: &Path, documents: &[Document]) -> Result<Vec<String>> {
    let mut differing = Vec::new();
    for document in documents {
        let committed = fs::read_to_string(root.join(&document.path)).unwrap_or_default();
        if document.placed(&committed)? != committed {
            differing.push(document.name());
        }
    }
    Ok(differing)
}

/// Writes the documents that differ. Returns their names.
pub fn write(root: &Path, documents: &[Document]) -> Result<BTreeSet<String>> {
    let mut written = BTreeSet::new();
    for document in documents {
        let path = root.join(&document.path);
        let committed = fs::read_to_string(&path).unwrap_or_default();
        let wanted = document.placed(&committed)?;
        if wanted != committed {
            fs::write(&path, wanted)?;
            written.insert(document.name());
        }
    }
    Ok(written)
}
