//! The errors of a scenario, collected while it is read, so that a reader sees all of them at once.

use std::cell::{Cell, RefCell};

use weir_document::{DocumentError, Item};

type Result<T> = core::result::Result<T, DocumentError>;

/// Nobody reads more errors at once; and each is compared with those before.
const MOST: usize = 200;

/// The errors found so far. Reading goes on after an error, without the item that has it ([`Faults::keep`]) or with
/// another value in place of the wrong one ([`Faults::or`]).
#[derive(Debug, Default)]
pub struct Faults {
    all: RefCell<Vec<DocumentError>>,
    has_gaps: Cell<bool>,
}

impl Faults {
    /// Collects an error, unless it follows from another.
    pub fn push(&self, error: DocumentError) {
        if error.follows() {
            return;
        }
        let mut all = self.all.borrow_mut();
        if all.len() >= MOST {
            return;
        }
        // One value of the file may stand for many nodes and links.
        let is_known = |known: &DocumentError| {
            (known.location(), known.message()) == (error.location(), error.message())
        };
        if !all.iter().any(is_known) {
            all.push(error);
        }
    }

    /// What was read; nothing in place of an error, so that what refers to it may be in error too.
    pub fn keep<T>(&self, read: Result<T>) -> Option<T> {
        read.map_err(|error| {
            self.has_gaps.set(true);
            self.push(error);
        })
        .ok()
    }

    /// What was read, or `other` in place of an error: a value that causes no further errors.
    pub fn or<T>(&self, read: Result<T>, other: T) -> T {
        read.unwrap_or_else(|error| {
            self.push(error);
            other
        })
    }

    /// Collects the unknown keys of a table.
    pub fn keys(&self, item: &Item<'_>) {
        item.unknown_keys().for_each(|error| self.push(error));
    }

    /// Whether something is missing that was in error.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps.get()
    }

    /// Whether there is no error so far.
    pub fn is_empty(&self) -> bool {
        self.all.borrow().is_empty()
    }

    /// The errors so far, in the order of the file.
    pub fn take(&self) -> Vec<DocumentError> {
        let mut all = self.all.take();
        all.sort_by_key(DocumentError::line);
        all
    }
}
