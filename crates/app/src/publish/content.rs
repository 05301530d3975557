//! Sources of content: memory, or a file that is read on demand.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use nix::fcntl::OFlag;
use weir_core::units::Span;
use weir_net::secrets::random_seed;

use super::object::Packing;

/// File attributes that change if the file is written or replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    /// Number of hard links.
    links: u64,
    /// Time of the last modification (mtime), µs since 1970; 0 if before. Any process can set it.
    modified_us: u64,
    /// Time of the last change (ctime), µs since 1970: a write, a change of the mtime, or of a hard link. Only the
    /// kernel sets it.
    changed_us: u64,
}

impl Stamp {
    /// The stamp of an open file; `None` if it is not a regular file.
    pub(super) fn of(file: &File) -> io::Result<Option<Stamp>> {
        let metadata = file.metadata()?;
        let modified_us = us(metadata.mtime(), metadata.mtime_nsec());
        let changed_us = us(metadata.ctime(), metadata.ctime_nsec());
        Ok(metadata.is_file().then(|| Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            links: metadata.nlink(),
            modified_us,
            // Some user-space file systems have no ctime.
            changed_us: if changed_us == 0 { modified_us } else { changed_us },
        }))
    }

    /// The version of a file's content: its ctime, µs since 1970, in units of 10 ms, plus a number for segment size and
    /// signing. So republishing the same packets gives the same names, and other packets get other names.
    pub(super) fn version(&self, packing: &Packing) -> u64 {
        let how = packing.segment_size as u64 + packing.signing.number() % VERSION_UNIT_US;
        self.changed_us / VERSION_UNIT_US * VERSION_UNIT_US + how % VERSION_UNIT_US
    }

    /// Returns whether a file whose stamp changed from `self` to `now` still has the same content. Removing or
    /// replacing a file changes its ctime but not its content.
    pub(super) fn has_same_content(&self, now: &Stamp) -> bool {
        let removed = Stamp { links: 0, changed_us: now.changed_us, ..*self };
        self == now || self.links > 0 && removed == *now
    }

    /// Time in µs until the file has been unmodified for `wanted`, and until a further change would change its version.
    pub(super) fn settles_in_us(&self, now_us: u64, wanted: Span) -> u64 {
        let is_coarse = self.changed_us.is_multiple_of(1_000_000);
        let least = if is_coarse { COARSE_SETTLES_US } else { SETTLES_US };
        let settling = least.max(wanted.as_nanos() / 1000);
        // The ctime is in the future: the clock was set back. A further change gives the file another time.
        let age = now_us.checked_sub(self.changed_us).unwrap_or(settling);
        settling.saturating_sub(age)
    }
}

/// Converts a file's time to µs since 1970; 0 if before.
fn us(seconds: i64, nanos: i64) -> u64 {
    let us = seconds.checked_mul(1_000_000).and_then(|us| u64::try_from(us + nanos / 1000).ok());
    us.unwrap_or(0)
}

/// Minimum distance between versions of a file, µs: more than the largest segment size.
const VERSION_UNIT_US: u64 = 10_000;
/// Time in µs after which a further change gets another version. File systems distinguish changes by a kernel tick of
/// at most 10 ms.
const SETTLES_US: u64 = 2 * VERSION_UNIT_US;
/// The same for times in whole seconds. They may be from FAT, which has a resolution of 2 s.
const COARSE_SETTLES_US: u64 = 2_000_000 + SETTLES_US;

/// Errors of reading content.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The file has changed.
    Changed,
    /// Error of the operating system.
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

/// Content of one version of an object.
#[derive(Debug)]
pub(super) enum Content {
    /// Content in memory.
    Bytes(Vec<u8>),
    /// Content of a file, as of this stamp.
    File(File, Stamp),
}

impl Content {
    /// Length, bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(_, stamp) => stamp.len,
        }
    }

    /// Returns whether the content is still available and unchanged.
    pub(super) fn is_intact(&self) -> bool {
        match self {
            Content::Bytes(_) => true,
            Content::File(file, stamp) => {
                Stamp::of(file).is_ok_and(|now| now.is_some_and(|now| stamp.has_same_content(&now)))
            }
        }
    }

    /// Reads `len` bytes from `offset` on. They must exist.
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
                // Check after reading, so that earlier writes are noticed.
                if !self.is_intact() {
                    return Err(ReadError::Changed);
                }
            }
        }
        Ok(())
    }
}

/// Opens a file for reading. If it is a pipe, does not wait for its other end.
pub(super) fn open(path: &PathBuf) -> io::Result<File> {
    File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}

/// Copies all data of a reader to an unnamed file, which disappears with this process.
pub(super) fn spool(reader: &mut dyn Read) -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("weir-{}-{:016x}", std::process::id(), random_seed()?));
    let mut file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    io::copy(reader, &mut file)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::Signing;
    use super::*;
    use std::collections::BTreeSet;
    use weir_keychain::{Algorithm, Key};
    use weir_packet::Name;

    fn stamp(changed_us: u64) -> Stamp {
        Stamp { device: 1, inode: 2, len: 3, links: 1, modified_us: 4, changed_us }
    }

    fn packing(segment_size: usize, signing: Signing) -> Packing {
        Packing { segment_size, freshness_ms: 0, signing }
    }

    #[test]
    fn a_version_says_when_a_file_was_changed_and_how_it_is_cut() {
        let changed = 1_795_315_881_501_234;
        let version = |changed, size| stamp(changed).version(&packing(size, Signing::Digest));
        assert_eq!(version(changed, 8000), 1_795_315_881_508_000);
        assert_eq!(version(changed, 1), 1_795_315_881_500_001);
        assert!(version(changed + 10_000, 1) > version(changed, 8800));
    }

    #[test]
    fn a_version_says_what_signs() {
        let identity: Name = "/alice".parse().unwrap();
        let key = || Signing::Key(Key::generate(identity.view(), Algorithm::Ed25519).unwrap());
        let changed = 1_795_315_881_501_234;
        let signed = packing(8000, key());
        let version = stamp(changed).version(&signed);
        assert_ne!(version, 1_795_315_881_508_000);
        assert_eq!(version / 10_000, 179_531_588_150);
        assert_eq!(stamp(changed).version(&signed), version);
        assert_ne!(stamp(changed).version(&Packing { segment_size: 7999, ..signed }), version);
        let versions: BTreeSet<u64> =
            (0..20).map(|_| stamp(changed).version(&packing(8000, key()))).collect();
        assert!(versions.len() > 15, "two of 20 keys are alike once in 50 times: {versions:?}");
    }

    #[test]
    fn a_file_that_is_removed_has_the_same_in_it_and_any_other_change_may_not() {
        let before = stamp(7);
        let removed = Stamp { links: 0, changed_us: 8, ..before };
        assert!(before.has_same_content(&before) && before.has_same_content(&removed));
        for other in [
            Stamp { changed_us: 8, ..before },
            Stamp { links: 2, changed_us: 8, ..before },
            Stamp { modified_us: 5, ..removed },
            Stamp { len: 4, ..removed },
            Stamp { inode: 3, ..removed },
        ] {
            assert!(!before.has_same_content(&other), "{other:?}");
        }
        assert!(!removed.has_same_content(&Stamp { changed_us: 9, ..removed }));
    }

    #[test]
    fn a_file_is_left_alone_until_a_change_would_show() {
        let changed = 1_795_315_881_501_234;
        let settles = |now, wanted| stamp(changed).settles_in_us(now, Span::from_millis(wanted));
        assert_eq!(settles(changed, 0), 20_000);
        assert_eq!(settles(changed + 5_000, 20), 15_000);
        assert_eq!(settles(changed + 5_000, 2000), 1_995_000);
        assert_eq!(settles(changed + 20_000, 20), 0);
        assert_eq!(settles(changed - 1, 2000), 0);
        let coarse = |now| stamp(1_795_315_880_000_000).settles_in_us(now, Span::ZERO);
        assert_eq!((coarse(1_795_315_881_000_000), coarse(1_795_315_882_020_000)), (1_020_000, 0));
    }
}
