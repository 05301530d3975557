//! The kinds of published content: bytes, a file, a folder.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use weir_packet::NameRef;

use super::PublishError;
use super::content::{self, Content, Stamp};
use super::folder::Folder;

/// What is published.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    /// One version for ever, until it is taken: bytes, or a file that nobody else has.
    Fixed(Option<Content>),
    /// The file at this path.
    Path(PathBuf),
    /// An open file.
    Open(File),
    /// All files below.
    Folder(Folder),
}

impl Source {
    /// Bytes.
    pub fn bytes(bytes: Vec<u8>) -> Source {
        Source(Kind::Fixed(Some(Content::Bytes(bytes))))
    }

    /// A file, or a folder: every regular file below it is an object, named by the components of its path, but for hidden
    /// ones, on whose path a name begins with a dot. Links that lead out of it are not followed.
    ///
    /// # Errors
    /// It cannot be opened, or is neither.
    pub fn path(path: &Path) -> Result<Source, PublishError> {
        let unreadable = |error| PublishError::Unreadable(path.to_owned(), error);
        if path.is_dir() {
            return Ok(Source(Kind::Folder(Folder::open(path).map_err(unreadable)?)));
        }
        let path = path.to_owned();
        let file = content::open(&path).map_err(unreadable)?;
        match Stamp::of(&file).map_err(unreadable)? {
            Some(_) => Ok(Source(Kind::Path(path))),
            None => Err(PublishError::NotRegular(path)),
        }
    }

    /// Of a folder the hidden files too.
    #[must_use]
    pub fn with_hidden(mut self) -> Source {
        if let Kind::Folder(folder) = &mut self.0 {
            folder.has_hidden = true;
        }
        self
    }

    /// All that a reader gives. It is read to its end before anything is served, since each segment says which is
    /// the last; into a file without a name in the folder for temporary files, so that it may be larger than
    /// memory.
    ///
    /// # Errors
    /// Of the reader, or of the folder for temporary files.
    pub fn reader(reader: &mut dyn Read) -> Result<Source, PublishError> {
        let spooled = content::spool(reader).and_then(|file| {
            let stamp = Stamp::of(&file)?.ok_or(io::ErrorKind::InvalidInput)?;
            Ok(Content::File(file, stamp))
        });
        let content = spooled.map_err(|error| PublishError::Spool(std::env::temp_dir(), error))?;
        Ok(Source(Kind::Fixed(Some(content))))
    }

    /// An open file: as one at a path if it is a regular one at its beginning, else as a reader.
    ///
    /// # Errors
    /// As [`Source::reader`].
    pub fn open_file(mut file: File) -> Result<Source, PublishError> {
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_regular && file.stream_position().is_ok_and(|position| position == 0) {
            return Ok(Source(Kind::Open(file)));
        }
        Source::reader(&mut file)
    }

    /// Whether it has several objects.
    pub fn is_folder(&self) -> bool {
        matches!(self.0, Kind::Folder(_))
    }

    /// What it has for ever, for whoever asks first.
    pub(super) fn take_fixed(&mut self) -> Option<Content> {
        if let Kind::Fixed(content) = &mut self.0 { content.take() } else { None }
    }

    /// The file of an object as it is now, if there is one.
    pub(super) fn file(&self, own_name: NameRef<'_>) -> io::Result<Option<(File, Stamp)>> {
        let file = match &self.0 {
            Kind::Folder(folder) => folder.file(own_name)?,
            _ if !own_name.is_empty() => None,
            Kind::Path(path) => match content::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                file => Some(file?),
            },
            Kind::Open(file) => Some(file.try_clone()?),
            Kind::Fixed(_) => None,
        };
        let Some(file) = file else { return Ok(None) };
        Ok(Stamp::of(&file)?.map(|stamp| (file, stamp)))
    }

    /// Says that its one file cannot be read.
    pub(super) fn unreadable(&self, error: io::Error) -> PublishError {
        let path = if let Kind::Path(path) = &self.0 { path.clone() } else { "standard input".into() };
        PublishError::Unreadable(path, error)
    }
}
