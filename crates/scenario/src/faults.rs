//! The errors of a scenario, collected while it is read, so that all of them are reported at once.

use std::cell::{Cell, RefCell};

use weir_document::{DocumentError, Item};

type Result<T> = core::result::Result<T, DocumentError>;

/// The largest number of errors. Each is compared with those before, and more are of no use.
const MOST: usize = 200;

/// The errors found so far. Parsing continues after an error, without the item that has it ([`Faults::keep`])
/// or with another value in place of the wrong one ([`Faults::or`]).
#[derive(Debug, Default)]
pub struct Faults {
    all: RefCell<Vec<DocumentError>>,
    has_gaps: Cell<bool>,
}

impl Faults {
    /// Adds an error, unless it follows from another one.
    pub fn push(&self, error: DocumentError) {
        if error.follows() {
            return;
        }
        let mut all = self.all.borrow_mut();
        if all.len() >= MOST {
            return;
        }
        // One value of the file may apply to many nodes and links.
        let is_known = |known: &DocumentError| {
            (known.location(), known.message()) == (error.location(), error.message())
        };
        if !all.iter().any(is_known) {
            all.push(error);
        }
    }

    /// Returns the parsed value. Returns `None` after an error, and marks a gap, because references to the
    /// value may then be wrong too.
    pub fn keep<T>(&self, read: Result<T>) -> Option<T> {
        read.map_err(|error| {
            self.has_gaps.set(true);
            self.push(error);
        })
        .ok()
    }

    /// Returns the parsed value, or `other` after an error, a value that causes no further errors.
    pub fn or<T>(&self, read: Result<T>, other: T) -> T {
        read.unwrap_or_else(|error| {
            self.push(error);
            other
        })
    }

    /// Adds the unknown keys of a table.
    pub fn keys(&self, item: &Item<'_>) {
        item.unknown_keys().for_each(|error| self.push(error));
    }

    /// Returns whether an item is missing because of an error.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps.get()
    }

    /// Returns whether there is no error so far.
    pub fn is_empty(&self) -> bool {
        self.all.borrow().is_empty()
    }

    /// Returns and removes the errors so far, in the order of the file.
    pub fn take(&self) -> Vec<DocumentError> {
        let mut all = self.all.take();
        all.sort_by_key(DocumentError::line);
        all
    }
}
