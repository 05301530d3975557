//! Calls of the operating system that no safe library has: ioctl(2) of network interfaces, and the priority of a thread.
#![expect(
    unsafe_code,
    reason = "ioctl(2) and sched_setscheduler(2) take pointers; all of it is in this file"
)]

use std::io;
use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `struct ifreq` with a pointer or a number, at its full length.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: Value,
}

#[repr(C)]
union Value {
    number: libc::c_int,
    pointer: *mut u32,
    room: [u64; 3],
}

/// A request about an interface; `Value` is what the kernel left in it.
///
/// # Safety
/// `value` must be what `request` expects: a pointer to as much room as the kernel writes, or a number.
unsafe fn ask(interface: &str, request: libc::c_ulong, value: Value) -> io::Result<Value> {
    let mut asked = Request { name: [0; libc::IFNAMSIZ], value };
    // The last byte stays zero.
    if interface.len() >= asked.name.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{interface}: the name is too long"),
        ));
    }
    asked.name[..interface.len()].copy_from_slice(interface.as_bytes());
    let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: `asked` lives as long as the call and is as long as `struct ifreq`; the rest is the caller's.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut asked) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("interface {interface}: {error}")));
    }
    Ok(asked.value)
}

/// The largest payload of an Ethernet frame of an interface, bytes.
pub(super) fn mtu(interface: &str) -> io::Result<usize> {
    // SAFETY: the kernel writes a number into the request itself.
    let number = unsafe { ask(interface, libc::SIOCGIFMTU, Value { room: [0; 3] })?.number };
    usize::try_from(number).map_err(io::Error::other)
}

const GET_STRINGS: u32 = 0x1b;
const COUNT_STRINGS: u32 = 0x37;
const SET_FEATURES: u32 = 0x3b;
/// ETH_SS_FEATURES: the names of features.
const FEATURE_NAMES: u32 = 4;
/// ETH_GSTRING_LEN.
const NAME: usize = 32;

/// What joins frames, or lets one stay together that leaves as many.
const JOINING: [&str; 8] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-udp-segmentation",
    "tx-sctp-segmentation",
    "tx-gso-list",
    "rx-gro",
];

/// Has an interface send and take each frame by itself: no segmentation offload and no joining of what arrives, so that an
/// emulated link sees frames as a wire does.
///
/// # Errors
/// There is no such interface in this network namespace, or no permission.
pub fn no_offload(interface: &str) -> io::Result<()> {
    let mut count = [COUNT_STRINGS, 0, 1 << FEATURE_NAMES, 0, 0];
    ethtool(interface, &mut count)?;
    let features = count[4] as usize;
    // Room for many more than there are, should they become more in between.
    let mut strings = vec![0; 3 + (features + 64) * NAME / 4];
    strings[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, features as u32]);
    ethtool(interface, &mut strings)?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    // For each 32 features: which of them are meant, and what they become.
    let blocks = features.div_ceil(32);
    let mut set = vec![0; 2 + 2 * blocks];
    set[..2].copy_from_slice(&[SET_FEATURES, blocks as u32]);
    for (feature, name) in bytes.chunks_exact(NAME).take(features).enumerate() {
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if JOINING.iter().any(|joining| joining.as_bytes() == name) {
            set[2 + 2 * (feature / 32)] |= 1 << (feature % 32);
        }
    }
    ethtool(interface, &mut set)
}

/// A command of ethtool(8): what the kernel expects and writes follows from its first word. `words` has room for it.
fn ethtool(interface: &str, words: &mut [u32]) -> io::Result<()> {
    let value = Value { pointer: words.as_mut_ptr() };
    // SAFETY: the commands of this file write no more than their callers made room for.
    unsafe { ask(interface, libc::SIOCETHTOOL as libc::c_ulong, value)? };
    Ok(())
}

/// How the system treats a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before all usual threads: SCHED_FIFO.
    RealTime,
    /// Before others, as often as it is its turn: nice -20.
    Nice,
    /// As all: there was no permission for more.
    Usual,
}

/// Gives the calling thread the best priority that it may have.
pub(super) fn prioritise() -> Priority {
    let parameters = libc::sched_param { sched_priority: 10 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameters live as long as the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } == 0 {
        return Priority::RealTime;
    }
    short_slices();
    // Without it the kernel lets other threads sleep up to 50 µs longer. If it cannot be set, it is so.
    let _ = nix::sys::prctl::set_timerslack(1);
    // SAFETY: it takes numbers only; 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) } == 0 {
        Priority::Nice
    } else {
        Priority::Usual
    }
}

/// Has the calling thread, and what it starts, run before usual processes of this host where that is permitted, and behind the
/// links: a node that is kept waiting is no part of the network.
pub(crate) fn prefer() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters live as long as the call; 0 is the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) } != 0 {
        // SAFETY: it takes numbers only; 0 is the calling thread.
        let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
    }
}

/// `struct sched_attr`, at its first length.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks for short slices of the processor, ns, which the scheduler gives sooner (sched_setattr(2), Linux 6.12 and later). It
/// needs no permission.
fn short_slices() {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: 100_000,
        deadline: 0,
        period: 0,
    };
    // SAFETY: the attributes live as long as the call, and say how long they are; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
