//! The key chain: a folder with a file for each private key and each certificate.
//!
//! | file | content |
//! |---|---|
//! | `<digest>.privkey` | a private key, unencrypted: a line `Name: …` and a PEM block ([`crate::form::key_pem`]) |
//! | `<digest>.ndncert` | a certificate in base64, as `ndnsec` prints it |
//! | `default` | the name of the default key |
//!
//! The digest is the first half of SHA-256 of the name of the key or certificate. The folder has mode 0700,
//! and private keys have mode 0600. A private key that other users may read is not used, and a file that
//! cannot be read is skipped. A file appears completely or not at all. Keys and certificates are never
//! overwritten.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use weir_packet::sign::sha256;
use weir_packet::{Name, NameRef};
use zeroize::Zeroizing;

use crate::certificate::Certificate;
use crate::form::{self, FormError, Item};
use crate::key::Key;
use crate::name::KeyName;

/// The environment variable with the folder of the key chain.
pub const FOLDER_VARIABLE: &str = "WEIR_KEYCHAIN";
/// The folder of the key chain below the home folder, if the variable is not set.
pub const DEFAULT_FOLDER: &str = ".ndn/weir";

const PRIVATE_KEY: &str = "privkey";
const CERTIFICATE: &str = "ndncert";
const DEFAULT: &str = "default";

/// An error of a key chain.
#[derive(Debug)]
pub enum StoreError {
    /// There is neither the variable nor a home folder.
    NoFolder,
    /// An error of the operating system.
    Io(PathBuf, io::Error),
    /// A file in it is not valid.
    Form(PathBuf, FormError),
    /// Other users may read a private key. The number is the mode of its file.
    Exposed(PathBuf, u32),
    /// A key of this name exists already.
    KeyExists(KeyName),
    /// There is no key or certificate for this name.
    NotFound(Name),
    /// There is no key at all.
    Empty(PathBuf),
    /// There are several keys, and none of them is the default.
    Several(Vec<KeyName>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::NoFolder => {
                write!(f, "no folder for keys is known: set {FOLDER_VARIABLE} or HOME")
            }
            StoreError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            StoreError::Form(path, error) => write!(f, "{}: {error}", path.display()),
            StoreError::Exposed(path, mode) => write!(
                f,
                "{}: other users can read this private key (mode {mode:04o}): wanted 0600",
                path.display()
            ),
            StoreError::KeyExists(name) => {
                write!(f, "the key {name} exists and is not overwritten")
            }
            StoreError::NotFound(name) => {
                write!(f, "there is no key and no certificate {name}: `weir key list` lists them")
            }
            StoreError::Empty(path) => {
                write!(f, "there is no key in {}: `weir key new` makes one", path.display())
            }
            StoreError::Several(names) => {
                write!(f, "there are {} keys: name one, or make one the default", names.len())?;
                names.iter().try_for_each(|name| write!(f, "\n  {name}"))
            }
        }
    }
}

impl std::error::Error for StoreError {}

/// The keys and certificates in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChain {
    folder: PathBuf,
}

impl KeyChain {
    /// Returns the key chain in a folder, which is created with the first key or certificate.
    pub const fn at(folder: PathBuf) -> KeyChain {
        KeyChain { folder }
    }

    /// Returns the user's key chain: the folder in `WEIR_KEYCHAIN`, or else `~/.ndn/weir`.
    ///
    /// # Errors
    /// Returns [`StoreError::NoFolder`] if there is neither the variable nor a home folder.
    pub fn of_user() -> Result<KeyChain, StoreError> {
        let set = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || set("HOME").map(|home| home.join(DEFAULT_FOLDER));
        set(FOLDER_VARIABLE).or_else(home).map(KeyChain::at).ok_or(StoreError::NoFolder)
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: NameRef<'_>, extension: &str) -> PathBuf {
        let digest = sha256(name.value());
        let hex: String = digest.iter().take(digest.len() / 2).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{hex}.{extension}"))
    }

    /// Stores a private key.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if a key with this name exists already, or if the file cannot be written.
    pub fn insert_key(&self, key: &Key) -> Result<(), StoreError> {
        let path = self.path(key.name().name(), PRIVATE_KEY);
        match self.create(&path, form::key_pem(key).as_bytes(), 0o600) {
            Err(StoreError::Io(_, error)) if error.kind() == ErrorKind::AlreadyExists => {
                Err(StoreError::KeyExists(key.name().clone()))
            }
            done => done,
        }
    }

    /// Stores a certificate. An existing certificate with the same name is not replaced.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the file cannot be written.
    pub fn insert_certificate(&self, certificate: &Certificate) -> Result<(), StoreError> {
        let path = self.path(certificate.name(), CERTIFICATE);
        match self.create(&path, form::base64(certificate.wire()).as_bytes(), 0o644) {
            Err(StoreError::Io(_, error)) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done,
        }
    }

    /// Creates a file that does not exist, completely or not at all.
    fn create(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
        let new = self.write_beside(path, bytes, mode)?;
        let done = place(&new, path).map_err(|error| StoreError::Io(path.to_owned(), error));
        let removed = match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::Io(new, error)),
            _ => Ok(()),
        };
        done.and(removed).and_then(|()| self.sync())
    }

    /// Writes a file under a temporary name, and syncs it to the disk.
    fn write_beside(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<PathBuf, StoreError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError::Io(path, error)
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(io(&self.folder))?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new);
        let mut file = match file {
            // A file that a killed process with this number left.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&new).map_err(io(&new))?;
                OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)
            }
            file => file,
        }
        .map_err(io(&new))?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(error) = written {
            let _ = fs::remove_file(&new);
            return Err(StoreError::Io(new, error));
        }
        Ok(new)
    }

    /// Syncs the folder to the disk.
    fn sync(&self) -> Result<(), StoreError> {
        let done = File::open(&self.folder).and_then(|folder| folder.sync_all());
        done.map_err(|error| StoreError::Io(self.folder.clone(), error))
    }

    /// Returns the paths of the files with this extension, in order.
    fn files(&self, extension: &str) -> Result<Vec<PathBuf>, StoreError> {
        let io = |error| StoreError::Io(self.folder.clone(), error);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(io)?.path();
            if path.extension().is_some_and(|own| own == extension) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Returns all usable private keys, by name.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the folder cannot be read.
    pub fn keys(&self) -> Result<Vec<Key>, StoreError> {
        let mut keys: Vec<Key> =
            self.files(PRIVATE_KEY)?.iter().filter_map(|path| read_key(path).ok()).collect();
        keys.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(keys)
    }

    /// Returns all readable certificates, by name.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the folder cannot be read.
    pub fn certificates(&self) -> Result<Vec<Certificate>, StoreError> {
        let files = self.files(CERTIFICATE)?;
        let mut all: Vec<Certificate> =
            files.iter().filter_map(|path| read_certificates(path).ok()).flatten().collect();
        all.sort_by(|a, b| a.name().cmp(&b.name()));
        Ok(all)
    }

    /// Returns the errors of the files that are not used: they cannot be read, are not keys or certificates,
    /// or other users may read a private key.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the folder cannot be read.
    pub fn unused(&self) -> Result<Vec<StoreError>, StoreError> {
        let (keys, certificates) = (self.files(PRIVATE_KEY)?, self.files(CERTIFICATE)?);
        let keys = keys.iter().filter_map(|path| read_key(path).err());
        let certificates = certificates.iter().filter_map(|path| read_certificates(path).err());
        Ok(keys.chain(certificates).collect())
    }

    /// Returns the private key with this name, if it exists.
    fn named(&self, name: &KeyName) -> Result<Option<Key>, StoreError> {
        match read_key(&self.path(name.name(), PRIVATE_KEY)) {
            Err(StoreError::Io(_, error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            key => key.map(Some),
        }
    }

    /// Returns the private key for a name: a key's own name, the name of one of its certificates, or an
    /// identity. For an identity it is the default key, or the only one. Without a name it is also the
    /// default key, or the only one.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if there is no such key, if there are several and none is the default, or if
    /// its file cannot be used.
    pub fn key(&self, name: Option<NameRef<'_>>) -> Result<Key, StoreError> {
        let is_meant = |key: &KeyName| name.is_none_or(|name| means(name, key));
        if let Some(named) = name.and_then(KeyName::of_locator)
            && let Some(key) = self.named(&named)?
        {
            return Ok(key);
        }
        let default = self.default_key();
        if let Ok(Some(default)) = &default
            && is_meant(default)
            && let Some(key) = self.named(default)?
        {
            return Ok(key);
        }
        let mut keys: Vec<Key> = self.keys()?.into_iter().filter(|key| is_meant(key.name())).collect();
        match (keys.pop(), keys.is_empty()) {
            (Some(key), true) => Ok(key),
            (Some(key), false) => {
                default?;
                keys.push(key);
                Err(StoreError::Several(keys.iter().map(|key| key.name().clone()).collect()))
            }
            (None, _) => Err(self.without_key(name)?),
        }
    }

    /// Returns the error that there is no key with this name. The cause may be one of the unused files.
    fn without_key(&self, name: Option<NameRef<'_>>) -> Result<StoreError, StoreError> {
        let files = match name.and_then(KeyName::of_locator) {
            // The key's file would be in the folder.
            Some(_) => Vec::new(),
            None => self.files(PRIVATE_KEY)?,
        };
        let unused = files.iter().find_map(|path| read_key(path).err());
        Ok(unused.unwrap_or_else(|| match name {
            Some(name) => StoreError::NotFound(name.to_name()),
            None => StoreError::Empty(self.folder.clone()),
        }))
    }

    /// Returns the certificate for a name: its own name, or the newest certificate of a key, or of an
    /// identity's default or only key.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if there is none, or if several keys match; or the errors of
    /// [`KeyChain::certificates`].
    pub fn certificate(&self, name: NameRef<'_>) -> Result<Certificate, StoreError> {
        let all = self.certificates()?;
        if let Some(certificate) = all.iter().find(|certificate| certificate.name() == name) {
            return Ok(certificate.clone());
        }
        let mut meant: Vec<Certificate> = all.into_iter().filter(|own| means(name, own.key_name())).collect();
        if let Ok(Some(default)) = self.default_key()
            && meant.iter().any(|certificate| *certificate.key_name() == default)
        {
            meant.retain(|certificate| *certificate.key_name() == default);
        }
        let mut keys: Vec<KeyName> = meant.iter().map(|certificate| certificate.key_name().clone()).collect();
        keys.dedup();
        if keys.len() > 1 {
            return Err(StoreError::Several(keys));
        }
        let version = |certificate: &Certificate| certificate.name().last().and_then(|last| last.version());
        meant.into_iter().max_by_key(version).ok_or_else(|| StoreError::NotFound(name.to_name()))
    }

    /// Removes a private key and its certificates.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if there is no such key, or if a file cannot be removed.
    pub fn remove_key(&self, name: &KeyName) -> Result<(), StoreError> {
        let certificates = self.certificates()?;
        self.remove(&self.path(name.name(), PRIVATE_KEY), name.name())?;
        for certificate in certificates.iter().filter(|certificate| certificate.key_name() == name) {
            self.remove_certificate(certificate.name())?;
        }
        if self.default_key()?.as_ref() == Some(name) {
            let path = self.folder.join(DEFAULT);
            fs::remove_file(&path).map_err(|error| StoreError::Io(path, error))?;
        }
        Ok(())
    }

    /// Removes a certificate.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if there is no such certificate, or if the file cannot be removed.
    pub fn remove_certificate(&self, name: NameRef<'_>) -> Result<(), StoreError> {
        self.remove(&self.path(name, CERTIFICATE), name)
    }

    fn remove(&self, path: &Path, name: NameRef<'_>) -> Result<(), StoreError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::NotFound(name.to_name())),
            done => done.map_err(|error| StoreError::Io(path.to_owned(), error)),
        }
    }

    /// Returns the name of the default key, if one was chosen.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the file cannot be read, or does not contain a key's name.
    pub fn default_key(&self) -> Result<Option<KeyName>, StoreError> {
        let path = self.folder.join(DEFAULT);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| StoreError::Io(path.clone(), error))?,
        };
        let name = text.trim().parse::<Name>().ok().and_then(|name| KeyName::of_key(name.view()));
        name.map(Some).ok_or(StoreError::Form(path, FormError::Name))
    }

    /// Chooses the default key.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the file cannot be written.
    pub fn set_default(&self, name: &KeyName) -> Result<(), StoreError> {
        let path = self.folder.join(DEFAULT);
        let new = self.write_beside(&path, format!("{name}\n").as_bytes(), 0o644)?;
        fs::rename(&new, &path).map_err(|error| StoreError::Io(path, error))?;
        self.sync()
    }
}

/// Moves or links a new file to a path where no file exists.
fn place(new: &Path, path: &Path) -> io::Result<()> {
    // A link fails if the file exists; a rename would replace it.
    match fs::hard_link(new, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => rename_to_none(new, path),
        linked => linked,
    }
}

/// Does the same on file systems with one name for each file (FAT, some shares): an empty file reserves the
/// path in the meantime.
fn rename_to_none(new: &Path, path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    fs::rename(new, path).inspect_err(|_| drop(fs::remove_file(path)))
}

/// Returns whether a name selects a key: its identity's name, its own, or that of one of its certificates.
fn means(name: NameRef<'_>, key: &KeyName) -> bool {
    name == key.identity() || KeyName::of_locator(name).as_ref() == Some(key)
}

fn read_certificates(path: &Path) -> Result<Vec<Certificate>, StoreError> {
    let bytes = fs::read(path).map_err(|error| StoreError::Io(path.to_owned(), error))?;
    form::certificates(&bytes).map_err(|error| StoreError::Form(path.to_owned(), error))
}

fn read_key(path: &Path) -> Result<Key, StoreError> {
    let io = |error| StoreError::Io(path.to_owned(), error);
    let mode = fs::metadata(path).map_err(io)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(StoreError::Exposed(path.to_owned(), mode));
    }
    let bytes = Zeroizing::new(fs::read(path).map_err(io)?);
    let form = |error| StoreError::Form(path.to_owned(), error);
    match form::read(&bytes, None).map_err(form)?.pop() {
        Some(Item::Key(key)) => Ok(key),
        _ => Err(form(FormError::Unknown)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_in_its_place_by_a_link_or_without_one_and_replaces_none() {
        let folder = std::env::temp_dir().join(format!("weir-keychain-place-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [new, path] = ["new", "path"].map(|file| folder.join(file));
        for put in [place, rename_to_none] {
            fs::write(&new, "one").unwrap();
            put(&new, &path).unwrap();
            fs::write(folder.join("two"), "two").unwrap();
            assert_eq!(put(&folder.join("two"), &path).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), "one");
            let _ = fs::remove_file(&new);
            fs::remove_file(&path).unwrap();
        }
        assert!(rename_to_none(&folder.join("nothing"), &path).is_err() && !path.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
