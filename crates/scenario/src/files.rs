//! Other files that a scenario names: traces of rates. Their texts belong to the scenario as its own text does.

use std::cell::RefCell;
use std::sync::Arc;

use crate::model::Scenario;

/// Reads the files that a scenario names.
pub trait Files {
    /// The text of a file, by its path as the scenario has it.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn read(&self, path: &str) -> Result<Arc<str>, String>;
}

impl Scenario {
    /// The other files that it was made from: the path of each as the scenario has it, and its text.
    pub fn file_texts(&self) -> Vec<(String, String)> {
        self.files.iter().map(|(path, text)| (path.clone(), text.as_ref().to_owned())).collect()
    }
}

/// No files: for a scenario that is a text alone.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Arc<str>, String> {
        Err("a scenario without a file of its own names no other files".to_owned())
    }
}

/// Reads files, and notes which.
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

    /// What was read, in the order of the paths.
    pub(crate) fn take(&self) -> Vec<(String, Arc<str>)> {
        let mut all = self.read.take();
        all.sort();
        all
    }
}
