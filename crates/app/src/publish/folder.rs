//! Looks up the files of a folder by name components. Requests are untrusted, so no name leads out of the folder.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::Mode;
use weir_packet::{NameRef, component_type};

/// A folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: OwnedFd,
    /// Whether files are served whose path contains a name that begins with a dot.
    pub(super) has_hidden: bool,
}

const FILE: OFlag = OFlag::O_RDONLY.union(OFlag::O_CLOEXEC).union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY);
const DIRECTORY: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC).union(OFlag::O_DIRECTORY);

impl Folder {
    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder { root: open(path, DIRECTORY, Mode::empty())?, has_hidden: false })
    }

    /// Returns the file for a name: each component is a name in a folder. Returns `None` if there is no such file
    /// inside the folder. Links are followed as long as they stay within.
    pub(super) fn file(&self, name: NameRef<'_>) -> io::Result<Option<File>> {
        let Some(path) = path(name).filter(|path| self.has_hidden || !is_hidden(path)) else {
            return Ok(None);
        };
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let opened = match openat2(&self.root, &path, OpenHow::new().flags(FILE).resolve(resolve)) {
            // The kernel is older than 5.6, or a sandbox does not know the call.
            Err(Errno::ENOSYS | Errno::EPERM) => walk(self.root.as_fd(), &path),
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Some(File::from(file))),
            Err(error) if is_absence(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Opens a file without following links.
fn walk(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let mut folder: Option<OwnedFd> = None;
    let mut components = path.iter().peekable();
    while let Some(component) = components.next() {
        let flags = if components.peek().is_some() { DIRECTORY } else { FILE };
        let within = folder.as_ref().map_or(root, AsFd::as_fd);
        let opened = openat(within, component, flags | OFlag::O_NOFOLLOW, Mode::empty())?;
        folder = Some(opened);
    }
    folder.ok_or(Errno::ENOENT)
}

/// Returns whether the error means that there is no such file, or none that may be served. Such an error is not
/// reported. `EAGAIN`: a folder was just renamed; a repeated request succeeds.
fn is_absence(error: Errno) -> bool {
    let absent = [
        Errno::ENOENT,
        Errno::ENOTDIR,
        Errno::ELOOP,
        Errno::EXDEV,
        Errno::ENAMETOOLONG,
        Errno::ENXIO,
        Errno::EAGAIN,
    ];
    absent.contains(&error)
}

/// Returns whether a name on the path begins with a dot. Such files often contain keys and passwords.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.iter().any(|name| name.as_bytes().starts_with(b"."))
}

/// The path for a name of generic components. `None` if a component cannot be in a path.
fn path(name: NameRef<'_>) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for component in name.components() {
        let bytes = component.value;
        let is_name = component.typ == component_type::GENERIC
            && !matches!(bytes, b"" | b"." | b"..")
            && !bytes.iter().any(|byte| matches!(byte, b'/' | 0));
        if !is_name {
            return None;
        }
        path.push(OsStr::from_bytes(bytes));
    }
    (!name.is_empty()).then_some(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use weir_packet::Name;

    struct Temporary(PathBuf);

    impl Temporary {
        fn new() -> Temporary {
            let path = std::env::temp_dir().join(format!("weir-folder-{}", std::process::id()));
            std::fs::create_dir_all(path.join("served/sub")).unwrap();
            Temporary(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn names_lead_to_files_and_never_out() {
        let temporary = Temporary::new();
        let served = temporary.0.join("served");
        let special = "sub/a b%é\n=.txt";
        std::fs::create_dir_all(served.join(".ssh")).unwrap();
        for file in ["top", "sub/inner", special, "...", ".ssh/key"] {
            std::fs::write(served.join(file), file).unwrap();
        }
        std::fs::write(temporary.0.join("secret"), "secret").unwrap();
        symlink("../secret", served.join("out")).unwrap();
        symlink(temporary.0.join("secret"), served.join("absolute")).unwrap();
        symlink("..", served.join("up")).unwrap();
        symlink("../top", served.join("sub/within")).unwrap();
        symlink("loop", served.join("loop")).unwrap();
        let mut folder = Folder::open(&served).unwrap();
        let hidden = ["/...", "/.ssh/key"].map(|uri| uri.parse::<Name>().unwrap());
        assert!(hidden.iter().all(|name| folder.file(name.view()).unwrap().is_none()));
        folder.has_hidden = true;
        let resolved = |name: &Name| folder.file(name.view()).unwrap();
        let walked = |name: &Name| {
            let path = path(name.view())?;
            walk(folder.root.as_fd(), &path).ok().map(File::from)
        };
        let name = |parts: &[&[u8]]| {
            parts.iter().fold(Name::new(), |name, part| name.with(weir_packet::Component::generic(part)))
        };
        let text = |file: Option<File>| {
            let mut text = String::new();
            file.map(|mut file| file.read_to_string(&mut text).unwrap()).map(|_| text)
        };
        for parts in [
            &[b"top" as &[u8]][..],
            &[b"sub", b"inner"],
            &[b"sub", &special.as_bytes()[4..]],
            &[b"..."],
            &[b".ssh", b"key"],
        ] {
            let expected = Some(String::from_utf8(parts.join(&b"/"[..])).unwrap());
            assert_eq!(text(resolved(&name(parts))), expected);
            assert_eq!(text(walked(&name(parts))), expected);
        }
        let huge = [b'x'; 5000];
        for parts in [
            &[][..],
            &[b"nothing" as &[u8]],
            &[b".."],
            &[b"..", b"secret"],
            &[b"../secret"],
            &[b"sub", b"..", b"top"],
            &[b"top", b"x"],
            &[b""],
            &[b"a\0b"],
            &[b"out"],
            &[b"absolute"],
            &[b"up", b"secret"],
            &[b"loop"],
            &[&huge],
        ] {
            let name = name(parts);
            assert!(resolved(&name).is_none() && walked(&name).is_none(), "{name}");
        }
        let within = name(&[b"sub", b"within"]);
        assert_eq!(text(resolved(&within)).as_deref(), Some("top"));
        assert!(walked(&within).is_none(), "without the system's help no link is followed");
        let typed: Name = "/32=top".parse().unwrap();
        assert!(resolved(&typed).is_none());
    }
}
