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
    /// The last call ended in an error that may stay.
    has_failed: bool,
}

impl Acceptor {
    pub(super) fn new() -> io::Result<Acceptor> {
        Ok(Acceptor { reserve: Some(reserve()?), has_failed: false })
    }

    /// The next peer; `None` if there is no more, or if it can neither be taken nor refused now. Who calls until
    /// then, comes to an end.
    ///
    /// # Errors
    /// Of the operating system, not twice on end; when there are too many open files, once for each peer that
    /// was refused.
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
