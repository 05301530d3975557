//! Accepting peers, also when there are no file descriptors left for them.

use std::fs::File;
use std::io;

use nix::libc::{EMFILE, ENFILE};

/// Takes peers from a listening socket.
///
/// It keeps one file descriptor in reserve. When there are no others, a peer cannot be accepted and would
/// stay in the kernel's queue, where it is reported without end; so the reserve is given up for a moment
/// to take that peer and to close its connection.
#[derive(Debug)]
pub(super) struct Acceptor {
    reserve: Option<File>,
}

impl Acceptor {
    pub(super) fn new() -> io::Result<Acceptor> {
        Ok(Acceptor { reserve: Some(reserve()?) })
    }

    /// The next peer; `None` if there is no more, or if it cannot even be refused now.
    ///
    /// # Errors
    /// Of the operating system; when there are too many open files, once for each peer that was refused.
    pub(super) fn next<S>(&mut self, mut accept: impl FnMut() -> io::Result<S>) -> io::Result<Option<S>> {
        loop {
            let error = match accept() {
                Ok(peer) => return Ok(Some(peer)),
                Err(error) => error,
            };
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                _ if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) => {
                    let refused = self.reserve.take().is_some() && accept().is_ok();
                    self.reserve = reserve().ok();
                    return if refused { Err(too_many_files(&error)) } else { Ok(None) };
                }
                _ => return Err(error),
            }
        }
    }
}

fn reserve() -> io::Result<File> {
    File::open("/dev/null")
}

fn too_many_files(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "a peer was refused: {error}; raise the limit (`ulimit -n`, or LimitNOFILE in a systemd unit)"
        ),
    )
}
