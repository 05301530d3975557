//! A file that appears only when it is complete, and its resumable part.
//!
//! ```text
//!   FILE.part        content in order, from the first byte on
//!   FILE.part.json   what of it is certain: object, segments, bytes, SHA-256; rewritten from time to time
//! ```
//!
//! Only what the note (the second file) covers is used: bytes beyond it are cut off, and if the digest of the rest
//! differs, the part is not used. Neither is it used if it was verified against other keys. An unused part stays until
//! there is new content to write. At the end the part is synced to the disk and renamed to FILE.
//!
//! The writer holds a lock on the part. The part is renamed and removed only under the lock, and a lock counts only if
//! its file still is the part. So no process writes into FILE or into a removed file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_core::units::Span;
use weir_packet::sign::{Sha256, sha256};
use weir_packet::{Name, SignatureType};

use super::{GetError, hex, weakest};

/// Size of the pieces in which content is written, bytes.
const BUFFER: usize = 1 << 20;
/// Interval at which the note is written.
const SAVE_EVERY: Span = Span::from_secs(1);
/// More segments than any object has.
const MOST_SEGMENTS: u64 = 1 << 48;
/// Why a part that another user may have created is not used: that user knows the segment with which it is compared.
const ANOTHERS: &str = "it belongs to another user";

/// The certain contents of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The requested name.
    pub(super) asked: String,
    /// What the segments were verified against. Absent in parts of an older program.
    #[serde(default)]
    trust: String,
    /// Signature type of the segments: the value of a SignatureType.
    #[serde(default)]
    signature: Option<u64>,
    /// The object.
    pub(super) object: String,
    /// The object's last segment, if known.
    pub(super) last_segment: Option<u64>,
    /// Number of segments in the part, from 0 on.
    pub(super) segments: u64,
    /// Number of bytes in the part.
    pub(super) bytes: u64,
    /// SHA-256 of these bytes.
    sha256: String,
    /// Number of bytes of the last of these segments.
    tail: u64,
}

/// Why a part is not resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// It belongs to another name.
    Other(String),
    /// It was verified against other keys.
    Trust,
    /// It is damaged.
    Damaged,
    /// It belongs to this version, of which the rest is no longer available.
    Gone(Name),
}

impl core::fmt::Display for Discarded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Discarded::Other(name) => write!(f, "it belongs to {name}"),
            Discarded::Trust => f.write_str("it was not verified against the given key or certificate"),
            Discarded::Damaged => f.write_str("its content has changed"),
            Discarded::Gone(name) => write!(f, "it belongs to {name}, and the rest of that is not available"),
        }
    }
}

/// An incomplete file, which can be resumed. See the head of this module's `partial`.
#[derive(Debug)]
pub struct PartialFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
    /// Whether this process created the part.
    is_new: bool,
    /// Whether useless contents have been cut off and a note exists.
    is_begun: bool,
    /// What segments are verified against now.
    trust: String,
    buffer: Vec<u8>,
    digest: Sha256,
    note: Note,
    /// The note as of the last write of the buffer. The digest covers these bytes.
    written: Note,
    /// Number of segments in the saved note.
    saved: u64,
    saved_after: Span,
}

impl PartialFile {
    /// Opens or creates the part of a file. If existing contents cannot be resumed, also returns why. `trust` says what
    /// segments are verified against; it is empty if any key is accepted.
    ///
    /// # Errors
    /// Returns [`GetError::File`], [`GetError::Busy`] if the part is locked, or [`GetError::Foreign`] if it belongs to
    /// another user.
    pub fn open(
        path: &Path,
        asked: &Name,
        trust: &str,
    ) -> Result<(PartialFile, Option<Discarded>), GetError> {
        let part = beside(path, ".part");
        if path.is_dir() {
            return Err(GetError::File(path.to_owned(), ErrorKind::IsADirectory.into()));
        }
        let (mut file, is_new) = lock(&part)?;
        if is_of_another(&file).map_err(|error| GetError::File(part.clone(), error))? {
            return Err(GetError::Foreign(part, ANOTHERS));
        }
        let (note, digest, discarded) = match read_note(path, asked, trust, &mut file)? {
            Ok((note, digest)) => (note, digest, None),
            Err(why) => (Note::nothing(asked), Sha256::new(), why),
        };
        let (path, trust, buffer) = (path.to_owned(), trust.to_owned(), Vec::with_capacity(BUFFER));
        let (written, saved, saved_after) = (note.clone(), note.segments, Span::ZERO);
        let is_begun = false;
        let opened = PartialFile {
            path,
            part,
            file,
            is_new,
            is_begun,
            trust,
            buffer,
            digest,
            note,
            written,
            saved,
            saved_after,
        };
        Ok((opened, discarded))
    }

    /// The certain contents.
    pub(super) fn note(&self) -> &Note {
        &self.note
    }

    /// The object of the part, and the newest segment in it, if there is one.
    pub fn object(&self) -> Option<(Name, u64)> {
        Some((self.note.object.parse().ok()?, self.note.segments.checked_sub(1)?))
    }

    /// Returns whether these are the bytes of the newest segment in the part.
    pub(super) fn ends_with(&mut self, content: &[u8]) -> Result<bool, GetError> {
        if content.len() as u64 != self.note.tail {
            return Ok(false);
        }
        let mut tail = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(self.note.bytes - self.note.tail))
            .and_then(|_| (&self.file).take(self.note.tail).read_to_end(&mut tail));
        read.map_err(|error| self.failed(error))?;
        Ok(tail == content)
    }

    /// Signature type of the contents.
    pub(super) fn signature(&self) -> Option<SignatureType> {
        self.note.signature.map(SignatureType::from_value)
    }

    /// Continues after the certain contents. With another object, starts at the beginning.
    pub fn begin(&mut self, object: &Name) {
        let is_same = self.object().is_some_and(|(begun, _)| begun == *object);
        if !is_same {
            let (asked, object) = (self.note.asked.clone(), object.to_string());
            self.note = Note { asked, object, ..Note::default() };
            (self.written, self.digest, self.saved) = (self.note.clone(), Sha256::new(), 0);
        }
    }

    fn remove_note(&self) -> Result<(), GetError> {
        let note = self.note_path();
        match fs::remove_file(&note) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(GetError::File(note, error)),
            _ => Ok(()),
        }
    }

    fn note_path(&self) -> PathBuf {
        beside(&self.path, ".part.json")
    }

    /// Cuts off the uncertain bytes.
    fn cut(&mut self) -> Result<(), GetError> {
        let bytes = self.written.bytes;
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::Start(bytes)));
        cut.map(|_| ()).map_err(|error| self.failed(error))
    }

    /// Appends the content of the next segment and records its signature type.
    ///
    /// # Errors
    /// Returns [`GetError::File`]. Then bytes beyond the note are cut off; the noted ones stay.
    pub fn write(&mut self, content: &[u8], signature: SignatureType) -> Result<(), GetError> {
        if self.buffer.len() + content.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(content);
        self.note.trust.clone_from(&self.trust);
        self.note.signature = Some(weakest(self.signature(), signature).value());
        // This segment comes after the one that the note calls the last.
        self.note.last_segment = self.note.last_segment.filter(|last| *last >= self.note.segments);
        self.note.segments += 1;
        self.note.bytes += content.len() as u64;
        self.note.tail = content.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), GetError> {
        if !self.is_begun {
            self.cut()?;
            self.is_begun = true;
            if self.written.segments == 0 {
                // Write the note now, so that it has its disk space even if the disk becomes full later.
                self.write_note()?;
            }
        }
        if let Err(error) = self.file.write_all(&self.buffer) {
            self.retreat();
            return Err(self.failed(error));
        }
        self.digest.update(&self.buffer);
        self.buffer.clear();
        self.written = self.note.clone();
        Ok(())
    }

    /// Cuts off the bytes of the buffer that may have been written. On a full disk this makes room for the note.
    fn retreat(&mut self) {
        self.note = self.written.clone();
        self.buffer.clear();
        // If this fails too, the older note counts.
        let _ = self.cut().and_then(|()| self.write_note());
    }

    /// Saves the note if it is time to. `elapsed` is the time since the beginning.
    pub(super) fn save_now_and_then(&mut self, elapsed: Span, last: Option<u64>) -> Result<(), GetError> {
        self.note.last_segment = self.note.last_segment.or(last);
        if elapsed.saturating_sub(self.saved_after) < SAVE_EVERY || self.note.segments == self.saved {
            return Ok(());
        }
        self.saved_after = elapsed;
        self.save()
    }

    /// Writes all contents, and saves the note.
    ///
    /// # Errors
    /// Returns [`GetError::File`] if writing fails.
    pub fn save(&mut self) -> Result<(), GetError> {
        self.flush()?;
        self.write_note()
    }

    /// Saves the note of the written bytes.
    fn write_note(&mut self) -> Result<(), GetError> {
        self.written.sha256 = hex(&self.digest.finish());
        let path = self.note_path();
        let text = serde_json::to_vec_pretty(&self.written).map_err(io::Error::from);
        let written = text.and_then(|text| replace(&path, &text));
        written.map_err(|error| GetError::File(path, error))?;
        self.saved = self.written.segments;
        Ok(())
    }

    /// Renames the part to the file.
    pub(super) fn finish(mut self) -> Result<(), GetError> {
        self.become_file()?;
        self.remove_old_note()
    }

    fn become_file(&mut self) -> Result<(), GetError> {
        self.flush()?;
        self.file.sync_all().map_err(|error| self.failed(error))?;
        if !is_at(&self.file, &self.part).map_err(|error| self.failed(error))? {
            return Err(self.failed(ErrorKind::NotFound.into()));
        }
        let renamed = fs::rename(&self.part, &self.path).and_then(|()| sync_folder_of(&self.path));
        renamed.map_err(|error| GetError::File(self.path.clone(), error))
    }

    /// Removes the note of the finished file, unless another process has started a new part: then the note belongs to
    /// it, or soon will. A part is created for a moment, so that no process starts meanwhile.
    fn remove_old_note(&self) -> Result<(), GetError> {
        let Ok(file) = own().create_new(true).open(&self.part) else { return Ok(()) };
        if !claim(&file, &self.part).unwrap_or(false) {
            return Ok(());
        }
        let removed = self.remove_note();
        let _ = fs::remove_file(&self.part);
        removed
    }

    /// Ends before the file is complete. The contents stay and are noted. If there are none, the created files are
    /// removed.
    pub(super) fn leave(mut self, why: &GetError) -> Result<(), GetError> {
        match why {
            _ if self.note.segments == 0 => self.give_up(),
            // The last written bytes may be beyond the note. If saving fails too, the older note counts.
            GetError::File(..) | GetError::Changed { .. } => {}
            _ => self.save()?,
        }
        Ok(())
    }

    /// Removes the note before the part: after the part is gone, the note may belong to another process.
    fn give_up(&self) {
        if self.is_begun {
            let _ = self.remove_note();
        }
        if self.is_new || self.is_begun {
            let _ = fs::remove_file(&self.part);
        }
    }

    fn failed(&self, error: io::Error) -> GetError {
        GetError::File(self.part.clone(), error)
    }
}

impl Default for Note {
    fn default() -> Note {
        let (asked, trust, object) = (String::new(), String::new(), String::new());
        let (sha256, signature) = (hex(&sha256(b"")), None);
        Note { asked, trust, signature, object, last_segment: None, segments: 0, bytes: 0, sha256, tail: 0 }
    }
}

impl Note {
    fn nothing(asked: &Name) -> Note {
        Note { asked: asked.to_string(), ..Note::default() }
    }

    /// Returns whether the note's fields are consistent. It may be damaged, or a user may have changed it.
    fn is_possible(&self) -> bool {
        let most = self.last_segment.map_or(MOST_SEGMENTS, |last| MOST_SEGMENTS.min(last.saturating_add(1)));
        let is_of_object = self.segments == 0 || self.object.parse::<Name>().is_ok();
        is_of_object
            && self.segments <= most
            && self.tail <= self.bytes
            && (self.segments > 0 || self.bytes == 0)
    }
}

/// Opens or creates the part, and locks it. Returns whether it was created.
fn lock(part: &Path) -> Result<(File, bool), GetError> {
    let failed = |error| GetError::File(part.to_owned(), error);
    loop {
        let (file, is_new) = match own().create_new(true).open(part) {
            Ok(file) => (file, true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match own().open(part) {
                Ok(file) => (file, false),
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            },
            Err(error) => return Err(failed(error)),
        };
        if claim(&file, part)? {
            return Ok((file, is_new));
        }
    }
}

/// Locks a file that was opened as the part. Returns whether it still is the part: the previous holder of the lock may
/// have renamed or removed it.
fn claim(file: &File, part: &Path) -> Result<bool, GetError> {
    let failed = |error| GetError::File(part.to_owned(), error);
    match file.try_lock() {
        Ok(()) => is_at(file, part).map_err(failed),
        Err(TryLockError::WouldBlock) => Err(GetError::Busy(part.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Options for opening files in a folder that other users can write to.
fn own() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits());
    options
}

/// Returns whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether another user, except the administrator, may have created a file.
fn is_of_another(file: &File) -> io::Result<bool> {
    let owner = file.metadata()?.uid();
    Ok(owner != 0 && owner != nix::unistd::geteuid().as_raw())
}

/// Syncs the folder of a file to the disk.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        // The folder is writable but not readable.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

/// A part's note and its digest so far; or why the part is useless, `None` if there is no part.
type Known = Result<(Note, Sha256), Option<Discarded>>;

fn read_note(path: &Path, asked: &Name, trust: &str, part: &mut File) -> Result<Known, GetError> {
    let (part_path, note_path) = (beside(path, ".part"), beside(path, ".part.json"));
    let failed = |error| GetError::File(part_path.clone(), error);
    let length = part.metadata().map_err(failed)?.len();
    if length == 0 {
        return Ok(Err(None));
    }
    let foreign = |why| Err(GetError::Foreign(part_path.clone(), why));
    let note = match own().open(&note_path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return foreign("it has no record of its content");
        }
        note => note.map_err(|error| GetError::File(note_path.clone(), error))?,
    };
    if is_of_another(&note).map_err(failed)? {
        return foreign(ANOTHERS);
    }
    let text = io::read_to_string(note).map_err(|error| GetError::File(note_path, error))?;
    check(&text, asked, trust, part, length).map_err(failed)
}

/// Checks whether a note belongs to this fetch and matches the part.
fn check(text: &str, asked: &Name, trust: &str, part: &mut File, length: u64) -> io::Result<Known> {
    let damaged = Ok(Err(Some(Discarded::Damaged)));
    let Ok(note) = serde_json::from_str::<Note>(text) else { return damaged };
    if note.asked != asked.to_string() {
        return Ok(Err(Some(Discarded::Other(note.asked))));
    }
    if !trust.is_empty() && note.trust != trust {
        return Ok(Err(Some(Discarded::Trust)));
    }
    if length < note.bytes || !note.is_possible() {
        return damaged;
    }
    let digest = digest_of(part, note.bytes)?;
    if hex(&digest.finish()) == note.sha256 { Ok(Ok((note, digest))) } else { damaged }
}

/// SHA-256 of the first `bytes` bytes of a file.
fn digest_of(file: &mut File, bytes: u64) -> io::Result<Sha256> {
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; BUFFER]);
    file.seek(SeekFrom::Start(0))?;
    let mut reader = file.take(bytes);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(digest),
            read => digest.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Replaces a file atomically. If there is no room for both versions, overwrites it in place.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    let opened = own().create(true).truncate(true).open(&new);
    let written = opened.and_then(|mut file| file.write_all(text)).and_then(|()| fs::rename(&new, path));
    written.or_else(|error| {
        let _ = fs::remove_file(&new);
        overwrite(path, text).map_err(|_| error)
    })
}

/// Overwrites an existing file block by block: if it were truncated first, other processes could take the space on a
/// full disk.
fn overwrite(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = own().open(path)?;
    file.write_all(text)?;
    file.set_len(text.len() as u64)
}

/// The path of a file with something appended to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A folder that is removed on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            use std::sync::atomic::{AtomicU64, Ordering};
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("weir-partial-{}-{number}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const SEGMENTS: u64 = 60;

    /// Large enough that the buffer is written several times.
    fn content(segment: u64) -> Vec<u8> {
        vec![segment as u8; (segment as usize * 7919) % 50_000]
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    /// Opens a file. Also returns why existing contents cannot be resumed. Any key is accepted.
    fn try_open(path: &Path, asked: &str) -> Result<(PartialFile, Option<Discarded>), GetError> {
        PartialFile::open(path, &name(asked), "")
    }

    /// Ends like an interrupted fetch.
    fn stop(file: PartialFile) {
        file.leave(&GetError::Stopped).unwrap();
    }

    /// What happens to a file during writing.
    #[derive(Clone, Debug)]
    enum Fate {
        /// This many segments are written.
        Write(u64),
        Save,
        /// The process crashes.
        Crash,
        /// This many bytes more were written than the note says.
        Tail(usize),
        /// A byte of the part is changed.
        Damage(usize),
        /// This many bytes are missing at the end.
        Shorten(u64),
        /// The fetch is interrupted, and another fetch of the file starts with another name but receives nothing.
        Other,
        /// The same with another version, of which this many segments arrive.
        Version(u64),
        /// Another process holds the part while we try.
        Busy,
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            4 => (1_u64..20).prop_map(Fate::Write),
            2 => Just(Fate::Save),
            2 => Just(Fate::Crash),
            1 => (1_usize..9999).prop_map(Fate::Tail),
            1 => any::<usize>().prop_map(Fate::Damage),
            1 => (1_u64..99_999).prop_map(Fate::Shorten),
            1 => Just(Fate::Other),
            1 => (0_u64..3).prop_map(Fate::Version),
            1 => Just(Fate::Busy),
        ]
    }

    /// Opens the file again and continues.
    fn open(path: &Path) -> PartialFile {
        let (mut file, _) = try_open(path, "/a").unwrap();
        file.begin(&name("/a/v=1"));
        file
    }

    fn write(file: &mut PartialFile, segments: u64) {
        let next = file.note().segments;
        (next..SEGMENTS.min(next + segments)).for_each(|segment| put(file, &content(segment)));
    }

    fn put(file: &mut PartialFile, content: &[u8]) {
        file.write(content, SignatureType::DigestSha256).unwrap();
    }

    fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn whatever_happens_to_a_part_the_file_is_right(fates in prop::collection::vec(fate(), 0..12)) {
            let folder = Folder::new();
            let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
            let mut file = open(&path);
            for fate in fates {
                match fate {
                    Fate::Write(segments) => {
                        write(&mut file, segments);
                        continue;
                    }
                    Fate::Save => {
                        file.save().unwrap();
                        continue;
                    }
                    Fate::Crash => drop(file),
                    Fate::Tail(bytes) => {
                        drop(file);
                        // Nothing is written before there is a note.
                        let is_noted = folder.0.join("file.part.json").exists();
                        change(&part, |part| part.resize(part.len() + if is_noted { bytes } else { 0 }, 7));
                    }
                    Fate::Damage(at) => {
                        drop(file);
                        change(&part, |part| {
                            let at = at % part.len().max(1);
                            part.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
                        });
                    }
                    Fate::Shorten(bytes) => {
                        drop(file);
                        change(&part, |part| part.truncate(part.len().saturating_sub(bytes as usize)));
                    }
                    Fate::Other => {
                        let before = file.note().bytes;
                        stop(file);
                        let (mut other, _) = try_open(&path, "/b").unwrap();
                        other.begin(&name("/b/v=1"));
                        stop(other);
                        file = open(&path);
                        prop_assert_eq!(file.note().bytes, before, "nothing is lost");
                        continue;
                    }
                    Fate::Version(segments) => {
                        drop(file);
                        let (mut other, _) = try_open(&path, "/a").unwrap();
                        other.begin(&name("/a/v=2"));
                        (0..segments).for_each(|_| put(&mut other, b"of another version"));
                        stop(other);
                    }
                    Fate::Busy => {
                        prop_assert!(matches!(try_open(&path, "/a"), Err(GetError::Busy(_))));
                        continue;
                    }
                }
                file = open(&path);
            }
            write(&mut file, SEGMENTS);
            file.finish().unwrap();
            let whole: Vec<u8> = (0..SEGMENTS).flat_map(content).collect();
            prop_assert!(fs::read(&path).unwrap() == whole);
            prop_assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
        }
    }

    #[test]
    fn what_was_saved_is_gone_on_with_and_what_is_of_another_name_is_not() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        let mut file = open(&path);
        write(&mut file, 10);
        file.save().unwrap();
        write(&mut file, 10);
        drop(file);
        let (mut file, discarded) = try_open(&path, "/a").unwrap();
        assert_eq!((file.object(), discarded), (Some((name("/a/v=1"), 9)), None));
        assert!(file.ends_with(&content(9)).unwrap() && !file.ends_with(&content(8)).unwrap());
        assert!(matches!(try_open(&path, "/a"), Err(GetError::Busy(_))));
        drop(file);
        let (file, discarded) = try_open(&path, "/b").unwrap();
        assert_eq!((file.object(), discarded), (None, Some(Discarded::Other("/a".to_owned()))));
        stop(file);
        let mut file = open(&path);
        assert_eq!(file.note().segments, 10, "nothing came of the other name");
        write(&mut file, 1);
        stop(file);
        let (mut file, _) = try_open(&path, "/b").unwrap();
        file.begin(&name("/b/v=1"));
        put(&mut file, b"the first of it");
        stop(file);
        assert_eq!(fs::read(folder.0.join("file.part")).unwrap(), b"the first of it");
        assert_eq!(try_open(&path, "/b").unwrap().0.object(), Some((name("/b/v=1"), 0)));
    }

    #[test]
    fn a_part_that_nobody_knows_is_not_touched() {
        let folder = Folder::new();
        let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
        fs::write(&part, b"of a browser").unwrap();
        let error = try_open(&path, "/a").unwrap_err();
        assert!(matches!(&error, GetError::Foreign(path, _) if *path == part), "{error}");
        assert_eq!(fs::read(&part).unwrap(), b"of a browser");
        fs::remove_file(&part).unwrap();
        fs::write(folder.0.join("elsewhere"), b"by a link").unwrap();
        std::os::unix::fs::symlink("elsewhere", &part).unwrap();
        assert!(matches!(try_open(&path, "/a"), Err(GetError::File(..))));
        assert_eq!(fs::read(folder.0.join("elsewhere")).unwrap(), b"by a link");
    }

    #[test]
    fn what_belongs_to_another_user_is_not_touched() {
        let folder = Folder::new();
        let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
        let mut file = open(&path);
        write(&mut file, 10);
        stop(file);
        // Only the administrator can change the owner of files.
        for given in [part.clone(), folder.0.join("file.part.json")] {
            if std::os::unix::fs::chown(&given, Some(12_345), None).is_err() {
                return;
            }
            assert!(matches!(try_open(&path, "/a"), Err(GetError::Foreign(..))), "{}", given.display());
            std::os::unix::fs::chown(&given, Some(0), None).unwrap();
        }
        assert_eq!(open(&path).note().segments, 10);
    }

    #[test]
    fn a_part_is_gone_on_with_under_the_same_trust_or_none() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        let with = |trust: &str| PartialFile::open(&path, &name("/a"), trust).unwrap();
        let mut all = Vec::new();
        // The trust at the start, the trust on resumption, and whether it resumes.
        for (first, then, goes_on) in [
            ("", "", true),
            ("", "key 1", false),
            ("key 1", "key 1", true),
            ("key 1", "key 2", false),
            ("key 1", "anchor 1", false),
            ("key 1", "", true),
        ] {
            let (mut file, _) = with(first);
            file.begin(&name("/a/v=1"));
            write(&mut file, 3);
            stop(file);
            let (mut file, discarded) = with(then);
            assert_eq!(discarded, (!goes_on).then_some(Discarded::Trust), "{first} {then}");
            file.begin(&name("/a/v=1"));
            assert_eq!(file.note().segments, if goes_on { 3 } else { 0 }, "{first} {then}");
            stop(file);
            let (file, discarded) = with(first);
            assert_eq!(
                (discarded, file.note().segments),
                (None, 3),
                "as nothing was written: {first} {then}"
            );
            drop(file);
            let (mut file, _) = with(then);
            file.begin(&name("/a/v=1"));
            write(&mut file, 2);
            stop(file);
            let (file, discarded) = with("key 1");
            all.push((then, discarded.is_none(), file.note().segments));
            drop(file);
            fs::remove_file(folder.0.join("file.part")).unwrap();
        }
        let (none, other) = (("", false, 0), ("key 2", false, 0));
        let expected = [none, ("key 1", true, 2), ("key 1", true, 5), other, ("anchor 1", false, 0), none];
        assert_eq!(all, expected, "whether it may be gone on with under key 1 then");
    }

    #[test]
    fn how_a_part_is_signed_is_known_when_it_is_gone_on_with() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        let mut file = open(&path);
        put(&mut file, b"a");
        assert_eq!(file.signature(), Some(SignatureType::DigestSha256));
        file.write(b"b", SignatureType::Null).unwrap();
        put(&mut file, b"c");
        stop(file);
        assert_eq!(open(&path).signature(), Some(SignatureType::Null));
    }

    #[test]
    fn what_is_not_the_part_any_more_does_not_become_the_file() {
        let folder = Folder::new();
        let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
        let mut file = open(&path);
        write(&mut file, SEGMENTS);
        fs::rename(&part, folder.0.join("elsewhere")).unwrap();
        fs::write(&part, b"half of another").unwrap();
        assert!(matches!(file.finish(), Err(GetError::File(..))));
        assert!(!path.exists());
        assert_eq!(fs::read(&part).unwrap(), b"half of another");
    }

    #[test]
    fn who_ends_does_not_remove_the_note_of_who_has_begun() {
        let folder = Folder::new();
        let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
        let mut first = open(&path);
        write(&mut first, SEGMENTS);
        first.save().unwrap();
        first.become_file().unwrap();
        // This is before the first has removed its note.
        let mut second = open(&path);
        assert_eq!(second.note().segments, 0, "the note is not of this part");
        write(&mut second, 10);
        second.save().unwrap();
        first.remove_old_note().unwrap();
        drop(second);
        assert_eq!(open(&path).note().segments, 10);
        // If no process has started, nothing is left.
        fs::remove_file(&part).unwrap();
        first.remove_old_note().unwrap();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_on_what_has_become_the_file_or_is_gone_does_not_count() {
        let folder = Folder::new();
        let (path, part) = (folder.0.join("file"), folder.0.join("file.part"));
        let mut first = open(&path);
        let second = own().open(&part).unwrap();
        assert!(matches!(claim(&second, &part), Err(GetError::Busy(_))));
        write(&mut first, SEGMENTS);
        first.finish().unwrap();
        assert!(path.exists() && !claim(&second, &part).unwrap(), "it is the file");
        let first = open(&path);
        let second = own().open(&part).unwrap();
        stop(first);
        assert!(!part.exists() && !claim(&second, &part).unwrap(), "it was removed");
        let first = open(&path);
        assert!(!claim(&second, &part).unwrap(), "another is in its place");
        stop(first);
    }

    #[test]
    fn where_no_file_can_be_made_any_more_it_is_still_noted_what_is_certain() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        let mut file = open(&path);
        write(&mut file, 1);
        file.save().unwrap();
        // A folder at the path of the new note has the effect of a full disk.
        let in_the_way = folder.0.join("file.part.json.new");
        fs::create_dir(&in_the_way).unwrap();
        write(&mut file, 9);
        file.save().unwrap();
        drop(file);
        let (file, discarded) = try_open(&path, "/a").unwrap();
        assert_eq!((file.object(), discarded), (Some((name("/a/v=1"), 9)), None));
        assert!(in_the_way.is_dir());
    }

    #[test]
    fn a_part_of_nothing_goes_away() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        stop(open(&path));
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        let error = try_open(&folder.0, "/a").unwrap_err().to_string();
        assert!(error.contains("is a directory"), "{error}");
    }
}
