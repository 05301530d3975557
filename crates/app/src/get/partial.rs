//! A file that is there only when it is complete, and a part that can be gone on with.
//!
//! ```text
//!   FILE.part        content in order, from the first byte on
//!   FILE.part.json   what of it is certain: object, segments, bytes, SHA-256; written anew now and then
//! ```
//!
//! The part is worth what the second file says of it, and no more: bytes beyond are cut off, and if the rest has
//! another digest it is not used. At the end the part is written to the disk and becomes FILE.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_core::units::Span;
use weir_packet::Name;
use weir_packet::sign::{Sha256, sha256};

use super::GetError;

/// Content is written in pieces of this size, bytes.
const BUFFER: usize = 1 << 20;
/// How often it is noted what of the part is certain.
const SAVE_EVERY: Span = Span::from_secs(1);

/// What of a part is certain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The name that was asked for.
    pub(super) asked: String,
    /// The object.
    pub(super) object: String,
    /// Its last segment, if that is known.
    pub(super) last_segment: Option<u64>,
    /// Segments in the part, from 0 on.
    pub(super) segments: u64,
    /// Bytes in the part.
    pub(super) bytes: u64,
    /// SHA-256 of these bytes.
    sha256: String,
    /// Bytes of the last of these segments.
    tail: u64,
}

/// Why a part is not gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// Nothing says what it is.
    Unknown,
    /// It is of another name.
    Other(String),
    /// It is not what was written.
    Damaged,
    /// It is of this version, of which nobody has the rest.
    Gone(Name),
}

impl core::fmt::Display for Discarded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Discarded::Unknown => f.write_str("nothing says what is in it"),
            Discarded::Other(name) => write!(f, "it is of {name}"),
            Discarded::Damaged => f.write_str("it is not what was written"),
            Discarded::Gone(name) => write!(f, "it is of {name}, of which nobody has the rest"),
        }
    }
}

/// A file on its way.
#[derive(Debug)]
pub(super) struct PartialFile {
    path: PathBuf,
    part: PathBuf,
    file: File,
    buffer: Vec<u8>,
    digest: Sha256,
    note: Note,
    /// As it was when the buffer was written: what the digest is of.
    written: Note,
    /// As it stands in the second file.
    saved: Note,
    saved_after: Span,
}

impl PartialFile {
    /// Opens the part of a file, or makes one; and why what was there cannot be gone on with.
    pub(super) fn open(path: &Path, asked: &Name) -> Result<(PartialFile, Option<Discarded>), GetError> {
        let part = beside(path, ".part");
        let failed = |error| GetError::File(part.clone(), error);
        if path.is_dir() {
            return Err(GetError::File(path.to_owned(), io::ErrorKind::IsADirectory.into()));
        }
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(GetError::Busy(part)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let (note, digest, discarded) = match read_note(path, asked, &mut file).map_err(failed)? {
            Ok((note, digest)) => (note, digest, None),
            Err(why) => (Note::nothing(asked), Sha256::new(), why),
        };
        let (written, saved, saved_after) = (note.clone(), note.clone(), Span::ZERO);
        let (path, buffer) = (path.to_owned(), Vec::with_capacity(BUFFER));
        Ok((PartialFile { path, part, file, buffer, digest, note, written, saved, saved_after }, discarded))
    }

    /// What is in it.
    pub(super) fn note(&self) -> &Note {
        &self.note
    }

    /// The object that it is of, and the newest segment in it, if there is one.
    pub(super) fn object(&self) -> Option<(Name, u64)> {
        Some((self.note.object.parse().ok()?, self.note.segments.checked_sub(1)?))
    }

    /// Whether these are the bytes of the newest segment in it.
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

    /// Goes on behind what is certain; with another object at the beginning.
    pub(super) fn begin(&mut self, object: &Name) -> Result<(), GetError> {
        let object = object.to_string();
        if self.note.object != object {
            self.note = Note { asked: self.note.asked.clone(), object, ..Note::default() };
            (self.written, self.digest) = (self.note.clone(), Sha256::new());
            // From now on there is a file to write notes to, though the disk be full.
            self.write_note()?;
        }
        self.cut()
    }

    fn remove_note(&self) -> Result<(), GetError> {
        let note = self.note_path();
        match fs::remove_file(&note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(GetError::File(note, error)),
            _ => Ok(()),
        }
    }

    fn note_path(&self) -> PathBuf {
        beside(&self.path, ".part.json")
    }

    /// Cuts off what is not certain.
    fn cut(&mut self) -> Result<(), GetError> {
        let bytes = self.note.bytes;
        let cut = self.file.set_len(bytes).and_then(|()| self.file.seek(SeekFrom::Start(bytes)));
        cut.map(|_| ()).map_err(|error| self.failed(error))
    }

    /// Appends the content of the next segment.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<(), GetError> {
        if self.buffer.len() + content.len() > BUFFER {
            self.flush()?;
        }
        self.buffer.extend_from_slice(content);
        self.note.segments += 1;
        self.note.bytes += content.len() as u64;
        self.note.tail = content.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), GetError> {
        if let Err(error) = self.file.write_all(&self.buffer) {
            self.retreat();
            return Err(self.failed(error));
        }
        self.digest.update(&self.buffer);
        self.buffer.clear();
        self.written = self.note.clone();
        Ok(())
    }

    /// Some of the buffer may have been written, and is cut off: that gives a full disk room for the note.
    fn retreat(&mut self) {
        self.note = self.written.clone();
        self.buffer.clear();
        // If this fails too, the older note counts.
        let _ = self.cut().and_then(|()| self.write_note());
    }

    /// Notes what is certain, if it is time to: `elapsed` since the beginning.
    pub(super) fn save_now_and_then(&mut self, elapsed: Span, last: Option<u64>) -> Result<(), GetError> {
        self.note.last_segment = self.note.last_segment.or(last);
        if elapsed.saturating_sub(self.saved_after) < SAVE_EVERY || self.note.segments == self.saved.segments
        {
            return Ok(());
        }
        self.saved_after = elapsed;
        self.save()
    }

    /// Writes all there is, and notes it.
    pub(super) fn save(&mut self) -> Result<(), GetError> {
        self.flush()?;
        self.write_note()
    }

    fn write_note(&mut self) -> Result<(), GetError> {
        self.note.sha256 = hex(&self.digest.finish());
        let path = self.note_path();
        let text = serde_json::to_vec_pretty(&self.note).map_err(io::Error::from);
        let written = text.and_then(|text| replace(&path, &text));
        written.map_err(|error| GetError::File(path, error))?;
        self.saved = self.note.clone();
        Ok(())
    }

    /// The part is the file.
    pub(super) fn finish(mut self) -> Result<(), GetError> {
        self.flush()?;
        self.file.sync_all().map_err(|error| self.failed(error))?;
        fs::rename(&self.part, &self.path).map_err(|error| GetError::File(self.path.clone(), error))?;
        self.remove_note()
    }

    /// Nothing was got: what was made only for this goes away.
    pub(super) fn give_up(self) {
        if self.note.segments == 0 && self.saved.segments == 0 {
            let _ = fs::remove_file(&self.part).and_then(|()| fs::remove_file(self.note_path()));
        }
    }

    fn failed(&self, error: io::Error) -> GetError {
        GetError::File(self.part.clone(), error)
    }
}

impl Default for Note {
    fn default() -> Note {
        let (asked, object) = (String::new(), String::new());
        let sha256 = hex(&sha256(b""));
        Note { asked, object, last_segment: None, segments: 0, bytes: 0, sha256, tail: 0 }
    }
}

impl Note {
    fn nothing(asked: &Name) -> Note {
        Note { asked: asked.to_string(), ..Note::default() }
    }
}

/// What is known of a part, and its digest so far; or why it is worth nothing, unless nothing is there.
type Known = Result<(Note, Sha256), Option<Discarded>>;

fn read_note(path: &Path, asked: &Name, part: &mut File) -> io::Result<Known> {
    let length = part.metadata()?.len();
    let unknown = if length == 0 { None } else { Some(Discarded::Unknown) };
    let text = match fs::read(beside(path, ".part.json")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Err(unknown)),
        text => text?,
    };
    let Ok(note) = serde_json::from_slice::<Note>(&text) else { return Ok(Err(unknown)) };
    if note.asked != asked.to_string() {
        return Ok(Err(unknown.map(|_| Discarded::Other(note.asked))));
    }
    if length < note.bytes || note.tail > note.bytes {
        return Ok(Err(Some(Discarded::Damaged)));
    }
    let digest = digest_of(part, note.bytes)?;
    if hex(&digest.finish()) == note.sha256 {
        Ok(Ok((note, digest)))
    } else {
        Ok(Err(Some(Discarded::Damaged)))
    }
}

/// SHA-256 of the first bytes of a file.
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

/// Writes a file so that it is there as a whole, or as before; where there is no room for both, in its place.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written.or_else(|error| {
        let _ = fs::remove_file(&new);
        overwrite(path, text).map_err(|_| error)
    })
}

/// Writes a file that is there, block by block: what is cut off first may be gone to others on a full disk.
fn overwrite(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text)?;
    file.set_len(text.len() as u64)
}

/// The path of a file with something appended to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn hex(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A folder that goes with the test.
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

    /// Large enough for the buffer to be written in between.
    fn content(segment: u64) -> Vec<u8> {
        vec![segment as u8; (segment as usize * 7919) % 50_000]
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    /// What happens to a file that is being written.
    #[derive(Clone, Debug)]
    enum Fate {
        /// It goes on for so many segments.
        Write(u64),
        Save,
        /// The process ends without a word.
        Crash,
        /// So many bytes more were written than is known.
        Tail(usize),
        /// A byte of the part is changed.
        Damage(usize),
        /// So many bytes are missing at the end.
        Shorten(u64),
    }

    fn fate() -> impl Strategy<Value = Fate> {
        prop_oneof![
            4 => (1_u64..20).prop_map(Fate::Write),
            2 => Just(Fate::Save),
            2 => Just(Fate::Crash),
            1 => (1_usize..9999).prop_map(Fate::Tail),
            1 => any::<usize>().prop_map(Fate::Damage),
            1 => (1_u64..99_999).prop_map(Fate::Shorten),
        ]
    }

    /// A file, opened anew and at its place.
    fn open(path: &Path) -> PartialFile {
        let (mut file, _) = PartialFile::open(path, &name("/a")).unwrap();
        file.begin(&name("/a/v=1")).unwrap();
        file
    }

    fn write(file: &mut PartialFile, segments: u64) {
        let next = file.note().segments;
        (next..SEGMENTS.min(next + segments)).for_each(|segment| file.write(&content(segment)).unwrap());
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
                        change(&part, |part| part.resize(part.len() + bytes, 7));
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
        let (mut file, discarded) = PartialFile::open(&path, &name("/a")).unwrap();
        assert_eq!((file.object(), discarded), (Some((name("/a/v=1"), 9)), None));
        assert!(file.ends_with(&content(9)).unwrap() && !file.ends_with(&content(8)).unwrap());
        assert!(matches!(PartialFile::open(&path, &name("/a")), Err(GetError::Busy(_))));
        drop(file);
        let (file, discarded) = PartialFile::open(&path, &name("/b")).unwrap();
        assert_eq!((file.object(), discarded), (None, Some(Discarded::Other("/a".to_owned()))));
    }

    #[test]
    fn where_no_file_can_be_made_any_more_it_is_still_noted_what_is_certain() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        let mut file = open(&path);
        // A folder where the new note would be, in place of a full disk.
        let in_the_way = folder.0.join("file.part.json.new");
        fs::create_dir(&in_the_way).unwrap();
        write(&mut file, 10);
        file.save().unwrap();
        drop(file);
        let (file, discarded) = PartialFile::open(&path, &name("/a")).unwrap();
        assert_eq!((file.object(), discarded), (Some((name("/a/v=1"), 9)), None));
        assert!(in_the_way.is_dir());
    }

    #[test]
    fn a_part_of_nothing_goes_away() {
        let folder = Folder::new();
        let path = folder.0.join("file");
        open(&path).give_up();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        let error = PartialFile::open(&folder.0, &name("/a")).unwrap_err().to_string();
        assert!(error.contains("is a directory"), "{error}");
    }
}
