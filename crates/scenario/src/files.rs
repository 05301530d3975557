//! Other files that a scenario names, such as traces of rates. Their texts belong to the scenario like its
//! own text.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::Scenario;

/// A reader of the files that a scenario names.
pub trait Files {
    /// Returns the text of a file, by its path as written in the scenario.
    ///
    /// # Errors
    /// Returns the reason in words if the file cannot be read.
    fn read(&self, path: &str) -> Result<Arc<str>, String>;
}

impl Scenario {
    /// Returns the other files that the scenario was made from: each path as written in the scenario, with
    /// its text.
    pub fn file_texts(&self) -> Vec<(String, String)> {
        self.files.iter().map(|(path, text)| (path.clone(), text.as_ref().to_owned())).collect()
    }
}

/// A reader without files, for a scenario that is a text alone.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Arc<str>, String> {
        Err("a scenario without a file of its own names no other files".to_owned())
    }
}

/// A reader that notes which files were read.
pub(crate) struct Noted<'f> {
    files: &'f dyn Files,
    read: RefCell<Vec<(String, Arc<str>)>>,
}

impl<'f> Noted<'f> {
    pub(crate) fn new(files: &'f dyn Files) -> Noted<'f> {
        Noted { files, read: RefCell::default() }
    }

    pub(crate) fn read(&self, path: &str) -> Result<Arc<str>, String> {
        if let Some((_, text)) = self.read.borrow().iter().find(|(known, _)| known == path) {
            return Ok(Arc::clone(text));
        }
        let text = self.files.read(path)?;
        self.read.borrow_mut().push((path.to_owned(), Arc::clone(&text)));
        Ok(text)
    }

    /// Returns and removes the files that were read, in the order of the paths.
    pub(crate) fn take(&self) -> Vec<(String, Arc<str>)> {
        let mut all = self.read.take();
        all.sort();
        all
    }
}
