//! A file that grows while the forwarder runs. It is buffered and bounded, and its errors do not affect the forwarder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tracing::warn;

/// How much is kept before it is written.
const BUFFER: usize = 256 * 1024;

/// A file to which whole blocks are appended.
///
/// A block is in the file whole or not at all: if one cannot be written, the file is cut after the last
/// one that was, and nothing more is taken.
#[derive(Debug)]
pub(crate) struct Output {
    file: Option<File>,
    buffer: Vec<u8>,
    /// Bytes in the file.
    written: u64,
    errors: u64,
    path: PathBuf,
}

impl Output {
    /// Makes the file, empty, for its owner only: packets are nobody else's. One that is there becomes
    /// [`older`], so that what was written before a crash outlives the restart.
    ///
    /// # Errors
    /// [`io::ErrorKind::ResourceBusy`]: another forwarder writes to it. Else what the operating system says.
    pub(crate) fn create(path: &Path) -> io::Result<Output> {
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        match options.open(path) {
            Ok(known) if known.metadata()?.is_file() => {
                lock(&known)?;
                fs::rename(path, older(path))?;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let file = options.create(true).open(path)?;
        lock(&file)?;
        Ok(Output {
            file: Some(file),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
            errors: 0,
            path: path.to_owned(),
        })
    }

    /// Whether blocks are still taken.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes in the file and in the buffer.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Errors of the operating system.
    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    /// Appends a block; says whether it was taken.
    #[inline]
    pub(crate) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        if self.file.is_none() {
            return false;
        }
        write(&mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.flush();
        }
        true
    }

    /// Writes what is kept.
    pub(crate) fn flush(&mut self) {
        let Some(file) = &mut self.file else { return };
        match file.write_all(&self.buffer) {
            Ok(()) => self.written += self.buffer.len() as u64,
            Err(error) => {
                // A device cannot be cut, and need not be.
                let _ = file.set_len(self.written);
                self.file = None;
                self.note(&error);
            }
        }
        self.buffer.clear();
    }

    /// Writes what is kept, and takes nothing more.
    pub(crate) fn close(&mut self) {
        self.flush();
        if let Some(file) = self.file.take() {
            // Closing is not enough: a process that is being started has the file too until it runs.
            let _ = file.unlock();
        }
    }

    /// Takes nothing more after an error of another kind.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.close();
        self.note(error);
    }

    fn note(&mut self, error: &io::Error) {
        self.errors += 1;
        warn!(%error, path = %self.path.display(), "cannot write: this file ends here");
    }
}

/// `PATH.1`
pub(crate) fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Keeps others from writing to a file as long as it is open.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another forwarder writes to it"))
        }
        // What cannot be locked, such as a pipe, is nobody's.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.close();
    }
}
