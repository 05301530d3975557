//! The kinds of published content: bytes, a file, a folder.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use weir_packet::NameRef;

use super::PublishError;
use super::content::{self, Content, Stamp};
use super::folder::Folder;

/// The content to publish.
#[derive(Debug)]
pub struct Source(Kind);

#[derive(Debug)]
enum Kind {
    /// A single fixed version, until it is taken: bytes, or an unnamed file.
    Fixed(Option<Content>),
    /// The file at this path.
    Path(PathBuf),
    /// An open file.
    Open(File),
    /// All files below a folder.
    Folder(Folder),
}

impl Source {
    /// Publishes bytes.
    pub fn bytes(bytes: Vec<u8>) -> Source {
        Source(Kind::Fixed(Some(Content::Bytes(bytes))))
    }

    /// Publishes a file or a folder. Every regular file below a folder is an object, named by the components of its
    /// path. Hidden files, whose path contains a name that begins with a dot, are not published. Links that lead out of
    /// the folder are not followed.
    ///
    /// # Errors
    /// Returns an error if the path cannot be opened, or is neither a file nor a folder.
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

    /// Also publishes the hidden files of a folder.
    #[must_use]
    pub fn with_hidden(mut self) -> Source {
        if let Kind::Folder(folder) = &mut self.0 {
            folder.has_hidden = true;
        }
        self
    }

    /// Publishes all data of a reader. It is read to its end first, because each segment contains the number of the
    /// last one. The data are stored in an unnamed file in the folder for temporary files, so they may be larger than
    /// memory.
    ///
    /// # Errors
    /// Returns the reader's error, or an error of the folder for temporary files.
    pub fn reader(reader: &mut dyn Read) -> Result<Source, PublishError> {
        let spooled = content::spool(reader).and_then(|file| {
            let stamp = Stamp::of(&file)?.ok_or(io::ErrorKind::InvalidInput)?;
            Ok(Content::File(file, stamp))
        });
        let content = spooled.map_err(|error| PublishError::Spool(std::env::temp_dir(), error))?;
        Ok(Source(Kind::Fixed(Some(content))))
    }

    /// Publishes an open file. A regular file at its beginning is published like a path, any other like a reader.
    ///
    /// # Errors
    /// Returns the errors of [`Source::reader`].
    pub fn open_file(mut file: File) -> Result<Source, PublishError> {
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        if is_regular && file.stream_position().is_ok_and(|position| position == 0) {
            return Ok(Source(Kind::Open(file)));
        }
        Source::reader(&mut file)
    }

    /// Returns whether it is a folder with several objects.
    pub fn is_folder(&self) -> bool {
        matches!(self.0, Kind::Folder(_))
    }

    /// Takes the single fixed version. Only the first call returns it.
    pub(super) fn take_fixed(&mut self) -> Option<Content> {
        if let Kind::Fixed(content) = &mut self.0 { content.take() } else { None }
    }

    /// The current file of an object, if there is one.
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

    /// The error that its single file cannot be read.
    pub(super) fn unreadable(&self, error: io::Error) -> PublishError {
        let path = if let Kind::Path(path) = &self.0 { path.clone() } else { "standard input".into() };
        PublishError::Unreadable(path, error)
    }
}
