//! Folders for results.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Failure;

/// The folder for results, if there is one. An error of writing is reported at the end, so the measurements are printed
/// anyway.
pub struct Out {
    dir: Option<PathBuf>,
    /// The first error of writing.
    failure: Mutex<Option<Failure>>,
}

impl Out {
    /// Creates the given folder, or else `out/NAME`. With `is_json` and no given folder there is none: a document alone
    /// needs neither files nor series. The folder is created now, so an error is reported before the runs.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or takes no files.
    pub fn open(given: Option<&Path>, is_json: bool, name: &str) -> Result<Out, String> {
        let dir = match (given, is_json) {
            (Some(dir), _) => Some(dir.to_owned()),
            (None, true) => None,
            (None, false) => Some(Path::new("out").join(name)),
        };
        Out::at(dir)
    }

    /// Creates the given folder. There is no default.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or takes no files.
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

    /// Records the result of writing something.
    pub fn note<E: Into<Failure>>(&self, written: Result<(), E>) {
        if let Err(error) = written {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| error.into());
        }
    }

    /// The folder, if everything was written.
    pub fn complete(&self) -> Option<&Path> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        self.dir().filter(|_| failure.is_none())
    }

    /// Ends writing.
    ///
    /// # Errors
    /// Returns the first recorded error.
    pub fn close(self) -> Result<(), Failure> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Creates a folder, and a file in it that is removed again.
fn make(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let file = dir.join(format!(".weir-{}", std::process::id()));
    File::create(&file)?;
    fs::remove_file(file)
}

/// Refuses a path that cannot be a folder, before any work.
///
/// # Errors
/// Returns an error if there is a file at the path or at a parent of it.
pub fn no_file_there(dir: &Path) -> Result<(), String> {
    match dir.ancestors().find(|path| path.exists()) {
        Some(file) if !file.is_dir() => {
            Err(format!("--out {}: {} is a file, not a folder", dir.display(), file.display()))
        }
        _ => Ok(()),
    }
}
