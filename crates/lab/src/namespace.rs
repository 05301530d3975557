//! Network namespaces, and running code in them.

use std::fs::{self, File};
use std::io;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::interfaces;

/// A network namespace. It ends with its last process and its last [`Namespace`] handle.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Creates a namespace. Its loopback interface is up. Its interfaces have no IPv6, which would send its own
    /// messages on the links.
    ///
    /// # Errors
    /// Returns an error if the system does not permit it.
    pub fn new() -> io::Result<Namespace> {
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            set_up()?;
            current()
        })
    }

    /// The namespace of this process.
    ///
    /// # Errors
    /// Returns an error if there is no `/proc`.
    pub fn own() -> io::Result<Namespace> {
        current()
    }

    /// Runs `work` in the namespace: created sockets and started processes belong to it.
    ///
    /// # Errors
    /// Returns an error if the system does not permit it, or the error of `work`.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }

    /// The namespace's file, for the kernel.
    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

/// The namespace of the calling thread.
fn current() -> io::Result<Namespace> {
    Ok(Namespace(File::open("/proc/thread-self/ns/net")?))
}

/// Prepares the namespace of the calling thread.
pub(crate) fn set_up() -> io::Result<()> {
    // A system without IPv6 has no such file. If it is not permitted, the links carry a few more packets.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    interfaces::Netlink::open()?.set_up("lo", None)
}

/// Runs `work` in a new thread, because a thread can change its network namespace.
fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let done = thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, work)?.join();
        done.unwrap_or_else(|_| Err(io::Error::other("a thread of the lab ended early")))
    })
}
