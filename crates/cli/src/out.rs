//! The folders of results.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Failure;

/// The folder that results go to, if they go to one. What cannot be written there is said in the end:
/// what was measured is printed all the same.
pub struct Out {
    dir: Option<PathBuf>,
    /// The first thing that could not be written.
    failure: Mutex<Option<Failure>>,
}

impl Out {
    /// The folder given, or else `out/NAME`; none for a document alone, which needs neither files nor the
    /// series in them. It is made now: nobody waits for results that have no place.
    ///
    /// # Errors
    /// If it cannot be made, or takes no files.
    pub fn open(given: Option<&Path>, is_json: bool, name: &str) -> Result<Out, String> {
        let dir = match (given, is_json) {
            (Some(dir), _) => Some(dir.to_owned()),
            (None, true) => None,
            (None, false) => Some(Path::new("out").join(name)),
        };
        Out::at(dir)
    }

    /// The folder given, and no other.
    ///
    /// # Errors
    /// If it cannot be made, or takes no files.
    pub fn open_given(given: Option<&Path>) -> Result<Out, String> {
        Out::at(given.map(Path::to_owned))
    }

    fn at(dir: Option<PathBuf>) -> Result<Out, String> {
        if let Some(dir) = &dir {
            no_file_there(dir)?;
            make(dir).map_err(|error| {
                format!(
                    "results cannot be written to {}: {error}\n  = name another folder with --out",
                    dir.display()
                )
            })?;
        }
        Ok(Out { dir, failure: Mutex::default() })
    }

    /// The folder.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Takes what came of writing something.
    pub fn note<E: Into<Failure>>(&self, written: Result<(), E>) {
        if let Err(error) = written {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| error.into());
        }
    }

    /// The folder, if all that was to be in it is.
    pub fn complete(&self) -> Option<&Path> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        self.dir().filter(|_| failure.is_none())
    }

    /// Ends writing.
    ///
    /// # Errors
    /// The first of what was noted.
    pub fn close(self) -> Result<(), Failure> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Makes a folder, and a file in it that it takes away again.
fn make(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let file = dir.join(format!(".weir-{}", std::process::id()));
    File::create(&file)?;
    fs::remove_file(file)
}

/// Refuses, before anything else, a folder that cannot be one.
///
/// # Errors
/// If there is a file in its place or on the way to it.
pub fn no_file_there(dir: &Path) -> Result<(), String> {
    match dir.ancestors().find(|path| path.exists()) {
        Some(file) if !file.is_dir() => {
            Err(format!("--out {}: {} is a file, not a folder", dir.display(), file.display()))
        }
        _ => Ok(()),
    }
}
