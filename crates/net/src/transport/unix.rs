//! Faces over Unix stream sockets, for applications on this host.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};

use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use nix::sys::stat::{Mode, fchmod};
use socket2::{Domain, SockAddr, Socket, Type};

use super::accept::Acceptor;
use super::stream::{FaceAddresses, Stream, StreamSocket, not_connected};
use super::{Listener, Options, Transport};
use crate::scope::FaceScope;
use crate::uri::FaceUri;
use crate::user::User;

/// Maximum number of connections that wait to be accepted. Assumed: all applications of a host that start at once.
const BACKLOG: i32 = 1024;

impl StreamSocket for UnixStream {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self, token, Interest::READABLE | Interest::WRITABLE)
    }

    fn is_connected(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// Connects to a Unix socket.
///
/// # Errors
/// Returns an error if no process listens, or the process lacks permission.
pub(super) fn connect(path: &Path, options: Options) -> io::Result<Box<dyn Transport>> {
    let remote = FaceUri::Unix(path.to_owned()).to_string();
    let socket = UnixStream::connect(path).map_err(|error| not_connected(&remote, &error))?;
    let addresses = FaceAddresses { remote, local: fd_uri(&socket), scope: FaceScope::Local };
    Ok(Box::new(Stream::new(socket, true, options, addresses)))
}

/// The URI of the end without an address.
fn fd_uri(socket: &UnixStream) -> String {
    format!("fd://{}", socket.as_raw_fd())
}

/// Listens for applications at a path. Removes the path when dropped.
#[derive(Debug)]
pub struct UnixListener {
    socket: mio::net::UnixListener,
    acceptor: Acceptor,
    path: PathBuf,
    file: FileId,
    uri: String,
    options: Options,
}

/// Identifies a file independently of its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    fn of(path: &Path) -> io::Result<FileId> {
        fs::symlink_metadata(path).map(|file| FileId(file.dev(), file.ino()))
    }
}

impl UnixListener {
    /// Listens on a path with these permission bits. A client needs write permission to connect. Missing folders are
    /// created, and a socket that a program left behind is replaced.
    ///
    /// # Errors
    /// Returns an error if another process listens on the path, the file is not a socket, or the process lacks
    /// permission.
    pub fn bind(path: &Path, mode: u32, options: Options) -> io::Result<UnixListener> {
        let cannot = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {}: {error}", path.display()))
        };
        let socket = listen(path, mode).map_err(cannot)?;
        Ok(UnixListener {
            socket: mio::net::UnixListener::from_std(socket),
            acceptor: Acceptor::new()?,
            path: path.to_owned(),
            file: FileId::of(path).map_err(cannot)?,
            uri: FaceUri::Unix(path.to_owned()).to_string(),
            options,
        })
    }
}

fn listen(path: &Path, mode: u32) -> io::Result<std::os::unix::net::UnixListener> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
    // The file is created with these bits, so no one else can connect before the next call.
    fchmod(&socket, Mode::from_bits_truncate(mode))?;
    socket.bind(&SockAddr::unix(path)?)?;
    // The umask may have removed bits, so set them again.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok(OwnedFd::from(socket).into())
}

/// Removes a socket on which no process listens. Leaves everything else.
fn remove_stale(path: &Path) -> io::Result<()> {
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let taken = |why: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    if !file.file_type().is_socket() {
        return taken("the file exists and is not a socket");
    }
    match StdUnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => taken("another process listens on this path"),
    }
}

impl Drop for UnixListener {
    fn drop(&mut self) {
        if FileId::of(&self.path).is_ok_and(|file| file == self.file) {
            // An error cannot be reported here. The next listener replaces a leftover socket.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Listener for UnixListener {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.socket, token, Interest::READABLE)
    }

    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>> {
        let Some((socket, _)) = self.acceptor.next(|| self.socket.accept())? else { return Ok(None) };
        let addresses =
            FaceAddresses { remote: fd_uri(&socket), local: self.uri.clone(), scope: FaceScope::Local };
        let user = User::of_peer(&socket);
        Ok(Some(Box::new(Stream::new(socket, true, self.options, addresses).of_user(user))))
    }

    fn uri(&self) -> &str {
        &self.uri
    }
}
