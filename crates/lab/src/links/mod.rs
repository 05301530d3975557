//! Emulated links between network interfaces, frame by frame, with the core's link model.
//!
//! Each end of a link is an interface in the lab's own network namespace. Its peer is in the namespace of a node. One
//! thread, [`Emulator::run`], receives frames from these interfaces and sends each from the other end when the model
//! says so: after its transmission time, the propagation delay and jitter, unless it is lost. It uses the same [`Way`]
//! and the same accounts as the simulator.
//!
//! - **Counted bytes** for rates and accounts are those of the NDNLPv2 frame, as in the simulator: an Ethernet frame
//!   without its header, and without the headers of IPv4 and UDP.
//! - **Time** is that of the run. A frame's arrival time is the kernel's, and all later times are computed from it. A
//!   late thread makes a frame late, but does not slow the link down. [`Outcome`] reports how late frames were.
//! - **Before the run** frames pass at once and do not count, so that nodes find each other.

mod capture;
mod emulator;
mod model;
mod port;
pub(crate) mod sys;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use weir_core::link::{RateTrace, Way};
use weir_core::seam::QueueLimit;
use weir_core::units::{Rate, Span, Time};
use weir_measure::LinkAccounts;

pub use capture::Capture;
pub use emulator::{Control, Emulator, Outcome, Plan, Trouble};
pub use port::{Port, open};
pub(crate) use sys::prefer;
pub use sys::{Priority, no_offload};

/// One direction of a link. Its index is also that in the accounts.
#[derive(Debug)]
pub struct Direction {
    /// Index of the source port.
    pub from: usize,
    /// Index of the destination port.
    pub to: usize,
    /// How frames are paced, and where they wait.
    pub pace: Pace,
    /// Limit of the queue, unless the sender paces itself.
    pub limit: QueueLimit,
    /// Delay, loss, jitter.
    pub way: Way,
    /// The other direction of a half-duplex link: they send in turn. Both directions set it, and their senders do not
    /// pace.
    pub shares_with: Option<usize>,
}

/// How frames are paced, and where they wait.
#[derive(Clone, Debug)]
pub enum Pace {
    /// The node paces its frames by this rate, so they wait in its queue, as in the simulator. Here a frame takes its
    /// transmission time, and neither waits nor is dropped.
    Sender(Rate),
    /// The link paces frames by this rate. They wait here, in a drop-tail queue. For nodes that do not know the rate.
    Link(Rate),
    /// Like [`Pace::Link`], with a trace that begins with the run.
    Trace(Arc<RateTrace>),
}

/// A change of a direction, given by its index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// New rate, from the next frame on. It replaces a trace.
    Rate(usize, Rate),
    /// New propagation delay, for frames sent from now on.
    Delay(usize, Span),
    /// New mean loss ratio, 0 to 1.
    Loss(usize, f64),
    /// New mean length of loss bursts, packets.
    LossBurst(usize, f64),
    /// New maximum jitter.
    Jitter(usize, Span),
    /// Whether the direction carries frames. If it fails, the frames on it are lost.
    Up(usize, bool),
}

/// Counters of a direction since the beginning of the run, for the progress display.
#[derive(Debug, Default)]
pub struct Live {
    /// Counted bytes of sent frames.
    pub bytes: AtomicU64,
    /// Sent frames.
    pub frames: AtomicU64,
    /// Dropped or lost frames.
    pub drops: AtomicU64,
    /// Frames waiting now.
    pub queued: AtomicU64,
}

/// Length of the headers of Ethernet and UDP, bytes.
const ETHERNET: usize = 14;
const UDP: usize = 8;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_UDP: u8 = 17;

/// Receives the frames sent during the run.
pub trait Observe: Send {
    /// A frame is sent in a direction. `payload` are its counted bytes.
    fn on_frame(&mut self, direction: usize, payload: &[u8], accounts: &LinkAccounts);

    /// A step of the accounts ends at this time: add the nodes' figures of the links.
    fn at_step(&mut self, end: Time, accounts: &mut LinkAccounts);
}

/// The counted bytes of an Ethernet frame; `None` if it has no whole header.
fn counted(frame: &[u8]) -> Option<&[u8]> {
    let payload = frame.get(ETHERNET..)?;
    let headers = match payload {
        &[first, _, _, _, _, _, offset, offset_low, _, PROTOCOL_UDP, ..]
            if frame[12..ETHERNET] == ETHERTYPE_IPV4 =>
        {
            // Only the first fragment has the UDP header.
            let is_first = offset & 0x1f == 0 && offset_low == 0;
            4 * usize::from(first & 0xf) + if is_first { UDP } else { 0 }
        }
        _ => 0,
    };
    Some(payload.get(headers..).unwrap_or_default())
}
