//! Accepts peers, even without free file descriptors.

use std::fs::File;
use std::io;

use nix::libc::{EMFILE, ENFILE};

/// Accepts peers from a listening socket.
///
/// It keeps one file descriptor in reserve. Without a free descriptor a peer cannot be accepted. The peer would stay in
/// the kernel's queue, which would report it without end. So the reserve is released for a moment to accept that peer
/// and close its connection.
#[derive(Debug)]
pub(super) struct Acceptor {
    reserve: Option<File>,
    /// Whether the last call ended with an error that may persist.
    has_failed: bool,
}

impl Acceptor {
    pub(super) fn new() -> io::Result<Acceptor> {
        Ok(Acceptor { reserve: Some(reserve()?), has_failed: false })
    }

    /// Returns the next peer. Returns `None` if there are no more, or if the next one can be neither accepted nor
    /// refused now. Calling until `None` always ends.
    ///
    /// # Errors
    /// Returns the operating system's error, but not twice in a row. If there are too many open files, returns an error
    /// for each refused peer.
    pub(super) fn next<S>(&mut self, mut accept: impl FnMut() -> io::Result<S>) -> io::Result<Option<S>> {
        loop {
            let error = match accept() {
                Ok(peer) => {
                    self.has_failed = false;
                    return Ok(Some(peer));
                }
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
                _ => {
                    self.has_failed = !self.has_failed;
                    return if self.has_failed { Err(error) } else { Ok(None) };
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_calls_until_there_is_no_more_comes_to_an_end() {
        let mut acceptor = Acceptor::new().expect("a file descriptor");
        let mut staying = || Err::<(), _>(io::Error::from_raw_os_error(nix::libc::ENOBUFS));
        assert!(acceptor.next(&mut staying).is_err());
        assert!(matches!(acceptor.next(&mut staying), Ok(None)));
        assert!(acceptor.next(&mut staying).is_err(), "the next time it is said again");
        assert!(matches!(acceptor.next(|| Ok(7)), Ok(Some(7))));
        assert!(acceptor.next(&mut staying).is_err());
        let mut none_free = || Err::<(), _>(io::Error::from_raw_os_error(EMFILE));
        assert!(matches!(acceptor.next(&mut none_free), Ok(None)), "not even to refuse the peer");
    }

    #[test]
    fn a_peer_that_is_gone_again_is_passed_over() {
        let mut answers = [
            Err(io::ErrorKind::ConnectionAborted.into()),
            Err(io::ErrorKind::Interrupted.into()),
            Ok(Some(1)),
        ]
        .into_iter();
        let mut acceptor = Acceptor::new().expect("a file descriptor");
        let next = acceptor.next(|| answers.next().expect("three are enough"));
        assert!(matches!(next, Ok(Some(Some(1)))));
    }
}
