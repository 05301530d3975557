//! System calls that no safe library has: ioctl(2) of network interfaces, the priority of a thread, and a descriptor from
//! another process.
#![expect(
    unsafe_code,
    reason = "ioctl(2) and sched_setattr(2) take pointers, and a number becomes a descriptor; all of it is in this file"
)]

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, getsockname, socket};

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

/// Makes a request about an interface. Returns the `Value` that the kernel left in it.
///
/// # Safety
/// `value` must be what `request` expects: a pointer to enough room for what the kernel writes, or a number.
unsafe fn ask(interface: &str, request: libc::Ioctl, value: Value) -> io::Result<Value> {
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
    // SAFETY: `asked` outlives the call and is as long as `struct ifreq`. The caller guarantees the rest.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut asked) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("interface {interface}: {error}")));
    }
    Ok(asked.value)
}

/// The maximum payload of an Ethernet frame of an interface, bytes.
pub(super) fn mtu(interface: &str) -> io::Result<usize> {
    // SAFETY: the kernel writes a number into the request itself.
    let number = unsafe { ask(interface, libc::SIOCGIFMTU as libc::Ioctl, Value { room: [0; 3] })?.number };
    usize::try_from(number).map_err(io::Error::other)
}

const GET_STRINGS: u32 = 0x1b;
const COUNT_STRINGS: u32 = 0x37;
const SET_FEATURES: u32 = 0x3b;
/// ETH_SS_FEATURES: the names of features.
const FEATURE_NAMES: u32 = 4;
/// ETH_GSTRING_LEN.
const NAME: usize = 32;

/// Features that join frames, or keep frames together that were sent as several.
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

/// Disables segmentation offload and receive offload of an interface, so that an emulated link sees single frames, like
/// a wire.
///
/// # Errors
/// Returns an error if there is no such interface in this network namespace, or no permission.
pub fn no_offload(interface: &str) -> io::Result<()> {
    let mut count = [COUNT_STRINGS, 0, 1 << FEATURE_NAMES, 0, 0];
    ethtool(interface, &mut count)?;
    let features = count[4] as usize;
    // There is room for more features, in case their number grows between the calls.
    let mut strings = vec![0; 3 + (features + 64) * NAME / 4];
    strings[..3].copy_from_slice(&[GET_STRINGS, FEATURE_NAMES, features as u32]);
    ethtool(interface, &mut strings)?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    // For every 32 features: which are changed, and their new values.
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

/// Runs a command of ethtool(8). Its first word determines what the kernel expects and writes. `words` has room for it.
fn ethtool(interface: &str, words: &mut [u32]) -> io::Result<()> {
    let value = Value { pointer: words.as_mut_ptr() };
    // SAFETY: the commands in this file write no more than their callers provide room for.
    unsafe { ask(interface, libc::SIOCETHTOOL as libc::Ioctl, value)? };
    Ok(())
}

/// Scheduling priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before all ordinary threads: SCHED_FIFO.
    RealTime,
    /// With preference among ordinary threads: nice -20.
    Nice,
    /// Like any other thread, because there was no permission for more.
    Usual,
}

/// Gives the calling thread the highest permitted priority.
pub(super) fn prioritise() -> Priority {
    let first = Attributes { priority: 10, flags: RESET_ON_FORK, ..Attributes::of(libc::SCHED_FIFO) };
    if schedule(&first) {
        return Priority::RealTime;
    }
    // Short time slices, ns, which the scheduler grants sooner (Linux 6.12 and later). They need no permission.
    schedule(&Attributes { runtime: 100_000, ..Attributes::of(libc::SCHED_OTHER) });
    // By default the kernel extends a thread's sleep by up to 50 µs. An error is ignored.
    let _ = nix::sys::prctl::set_timerslack(1);
    // SAFETY: it takes only numbers; 0 is the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) } == 0 {
        Priority::Nice
    } else {
        Priority::Usual
    }
}

/// Gives the calling thread and its children priority over ordinary processes of this host, if permitted, but below the
/// links. A node that waits for the processor would distort the network.
pub(crate) fn prefer() {
    if !schedule(&Attributes { priority: 1, ..Attributes::of(libc::SCHED_RR) }) {
        // SAFETY: it takes only numbers; 0 is the calling thread.
        let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
    }
}

/// `struct sched_attr` in its first version.
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

/// SCHED_FLAG_RESET_ON_FORK.
const RESET_ON_FORK: u64 = 1;

impl Attributes {
    /// The usual attributes of a scheduling policy.
    fn of(policy: libc::c_int) -> Attributes {
        let size = size_of::<Attributes>() as u32;
        let policy = policy as u32;
        Attributes { size, policy, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 }
    }
}

/// Sets the scheduling of the calling thread (sched_setattr(2)). Returns whether it is permitted. The C library musl has no
/// sched_setscheduler(2).
fn schedule(attributes: &Attributes) -> bool {
    // SAFETY: the attributes outlive the call and contain their own length; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, core::ptr::from_ref(attributes), 0) == 0 }
}

/// Whether the socket of the parent has been taken.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The listening socket that the parent of this process has passed on, by the number of its descriptor.
///
/// # Errors
/// Returns an error if the descriptor is not that of a socket, and at every call but the first.
pub(crate) fn inherited(number: RawFd) -> io::Result<TcpListener> {
    getsockname::<SockaddrIn>(number)?;
    if IS_TAKEN.swap(true, Ordering::AcqRel) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    // SAFETY: the descriptor is open: the parent left it open for this. Only the first call owns it.
    let listener = unsafe { TcpListener::from_raw_fd(number) };
    set_inherited(&listener, false)?;
    Ok(listener)
}

/// Determines whether processes that are started from now on inherit a descriptor.
///
/// # Errors
/// Returns the operating system's error.
pub(crate) fn set_inherited(of: impl AsFd, is_inherited: bool) -> io::Result<()> {
    let flags = if is_inherited { FdFlag::empty() } else { FdFlag::FD_CLOEXEC };
    fcntl(of, FcntlArg::F_SETFD(flags)).map(drop).map_err(io::Error::from)
}
