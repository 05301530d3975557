//! A file that grows while the forwarder runs. It is buffered and bounded, and its errors do not affect the forwarder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tracing::warn;

/// Bytes that are buffered before they are written.
const BUFFER: usize = 256 * 1024;

/// A file to which whole blocks are appended.
///
/// A block is in the file completely or not at all. If a block cannot be written, the file is truncated after the last complete
/// block, and accepts no more blocks.
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
    /// Creates an empty file that only its owner can read, because packets are private. An existing file is renamed to [`older`],
    /// so its contents survive a restart after a crash.
    ///
    /// # Errors
    /// Returns [`io::ErrorKind::ResourceBusy`] if another forwarder writes to the file, and otherwise the operating system's
    /// error.
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

    /// Whether the file still accepts blocks.
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes in the file and in the buffer.
    pub(crate) fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Number of errors of the operating system.
    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    /// Appends a block. Returns whether the file accepted it.
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

    /// Writes the buffered bytes.
    pub(crate) fn flush(&mut self) {
        let Some(file) = &mut self.file else { return };
        match file.write_all(&self.buffer) {
            Ok(()) => self.written += self.buffer.len() as u64,
            Err(error) => {
                // A device cannot be truncated, and need not be.
                let _ = file.set_len(self.written);
                self.file = None;
                self.note(&error);
            }
        }
        self.buffer.clear();
    }

    /// Writes the buffered bytes, and accepts no more blocks.
    pub(crate) fn close(&mut self) {
        self.flush();
        if let Some(file) = self.file.take() {
            // Closing is not enough: a process that is being started shares the file until it runs.
            let _ = file.unlock();
        }
    }

    /// Accepts no more blocks, after an error outside this file.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.close();
        self.note(error);
    }

    fn note(&mut self, error: &io::Error) {
        self.errors += 1;
        warn!(%error, path = %self.path.display(), "cannot write: this file ends here");
    }
}

/// The path of the previous file: `PATH.1`.
pub(crate) fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Locks a file against other writers while it is open.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::ResourceBusy, "another forwarder writes to it"))
        }
        // A file that cannot be locked, such as a pipe, is not locked.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.close();
    }
}
