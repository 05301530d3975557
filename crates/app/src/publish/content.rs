//! Where content comes from: memory, or a file that is read where it is asked for.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::OFlags;
use weir_net::clock::random_seed;

/// What differs once a file was written to, or is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    /// Time of its last modification, µs since 1970; 0 if before.
    modified_us: u64,
}

impl Stamp {
    /// That of an open file; `None` if it is no regular one.
    pub(super) fn of(file: &File) -> io::Result<Option<Stamp>> {
        let metadata = file.metadata()?;
        let modified_us = metadata
            .mtime()
            .checked_mul(1_000_000)
            .and_then(|us| u64::try_from(us + metadata.mtime_nsec() / 1000).ok());
        Ok(metadata.is_file().then(|| Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified_us: modified_us.unwrap_or(0),
        }))
    }

    /// The version of what a file has in it, in segments of this size: the time of its modification, µs since 1970, in
    /// units of 10 ms, to which the size is added. So the same segments have the same names when they are
    /// published again, and other segments have others.
    pub(super) fn version(&self, segment_size: usize) -> u64 {
        self.modified_us / VERSION_UNIT_US * VERSION_UNIT_US + segment_size as u64
    }

    /// µs after which a change of the file changes its version, if it has been left alone until then.
    pub(super) fn settles_in_us(&self, now_us: u64) -> u64 {
        // A time in the future was set by hand: it changes with the next modification.
        let age = now_us.checked_sub(self.modified_us).unwrap_or(SETTLES_US);
        SETTLES_US.saturating_sub(age)
    }
}

/// Versions of a file are so far apart at least: more than the largest segment size.
const VERSION_UNIT_US: u64 = 10_000;
/// File systems tell modifications apart by a tick of the kernel, 10 ms at most. One within the same unit of
/// versions as this or the tick before has another version after so long.
const SETTLES_US: u64 = 2 * VERSION_UNIT_US;

/// Why content cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file is not what it was.
    Changed,
    /// Of the system.
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

/// What one version of an object has in it.
#[derive(Debug)]
pub(super) enum Content {
    /// In memory.
    Bytes(Vec<u8>),
    /// In a file, as it was when it had this stamp.
    File(File, Stamp),
}

impl Content {
    /// Bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(_, stamp) => stamp.len,
        }
    }

    /// Whether it is still there as it was.
    pub(super) fn is_intact(&self) -> bool {
        match self {
            Content::Bytes(_) => true,
            Content::File(file, stamp) => Stamp::of(file).is_ok_and(|now| now == Some(*stamp)),
        }
    }

    /// Reads `len` bytes, which are there, from `offset` on.
    pub(super) fn read(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<(), ReadError> {
        out.clear();
        match self {
            Content::Bytes(bytes) => {
                let from = bytes.get(offset as usize..).unwrap_or_default();
                out.extend_from_slice(&from[..len.min(from.len())]);
            }
            Content::File(file, _) => {
                out.resize(len, 0);
                match file.read_exact_at(out, offset) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        return Err(ReadError::Changed);
                    }
                    read => read?,
                }
                // After the reading: what was written before it is seen.
                if !self.is_intact() {
                    return Err(ReadError::Changed);
                }
            }
        }
        Ok(())
    }
}

/// Opens a file to read it. It does not wait for whoever has the other end, if it is a pipe.
pub(super) fn open(path: &PathBuf) -> io::Result<File> {
    File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

/// Copies all that a reader gives to a file without a name, which is gone with this process.
pub(super) fn spool(reader: &mut dyn Read) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("weir-{}-{:016x}", std::process::id(), random_seed()));
    let mut file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    io::copy(reader, &mut file)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(modified_us: u64) -> Stamp {
        Stamp { device: 1, inode: 2, len: 3, modified_us }
    }

    #[test]
    fn a_version_says_when_a_file_was_modified_and_how_it_is_cut() {
        let modified = 1_795_315_881_501_234;
        assert_eq!(stamp(modified).version(8000), 1_795_315_881_508_000);
        assert_eq!(stamp(modified).version(1), 1_795_315_881_500_001);
        assert!(stamp(modified + 10_000).version(1) > stamp(modified).version(8800));
    }

    #[test]
    fn a_file_is_left_alone_until_a_change_would_show() {
        let modified = 1_795_315_881_501_234;
        assert_eq!(stamp(modified).settles_in_us(modified), 20_000);
        assert_eq!(stamp(modified).settles_in_us(modified + 5_000), 15_000);
        assert_eq!(stamp(modified).settles_in_us(modified + 20_000), 0);
        assert_eq!(stamp(modified).settles_in_us(modified - 1), 0);
    }
}
