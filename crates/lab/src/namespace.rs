//! A network namespace, and what runs in it.

use std::fs::{self, File};
use std::io;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::interfaces;

/// A network namespace. It ends with the last process in it and the last [`Namespace`] of it.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A new one. Its loopback interface is up, and interfaces of it have no IPv6, whose own messages would be on the links.
    ///
    /// # Errors
    /// The system does not permit it.
    pub fn new() -> io::Result<Namespace> {
        in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            set_up()?;
            current()
        })
    }

    /// That of this process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn own() -> io::Result<Namespace> {
        current()
    }

    /// Does something in it: sockets that are made and processes that are started there belong to it.
    ///
    /// # Errors
    /// The system does not permit it; else what `work` gives.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        in_thread(|| {
            setns(&self.0, CloneFlags::CLONE_NEWNET)?;
            work()
        })
    }

    /// Its file, for the kernel.
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
    // A system without IPv6 has no such file; one that does not permit it has a few more packets on its links.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    interfaces::Netlink::open()?.set_up("lo", None)
}

/// A thread may have a network namespace of its own, and takes it along.
fn in_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let done = thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, work)?.join();
        done.unwrap_or_else(|_| Err(io::Error::other("a thread of the lab ended early")))
    })
}
