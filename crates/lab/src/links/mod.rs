//! Emulated links between network interfaces, frame by frame, by the link model of the core.
//!
//! Each end of a link is an interface of the lab's own network namespace, whose peer is in the namespace of a node. One
//! thread, [`Emulator::run`], takes frames from these interfaces and sends each from the other end when the model says so:
//! after its transmission time, the propagation delay and jitter, unless it is lost. It has the same [`Way`] and the same
//! accounts as the simulator.
//!
//! - **Bytes that count** for rates and accounts are those of the NDNLPv2 frame, as in the simulator: an Ethernet frame
//!   without its header, and without the headers of IPv4 and UDP.
//! - **Time** is that of the run. A frame comes when the kernel had it, and what follows is computed from this: what the
//!   thread does late makes a frame late, but does not slow a link down. [`Outcome`] says how late frames were.
//! - **Before the run** frames pass at once and do not count: nodes find each other.

mod capture;
mod emulator;
mod model;
mod port;
mod sys;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use weir_core::link::{RateTrace, Way};
use weir_core::seam::QueueLimit;
use weir_core::units::{Rate, Span};
use weir_measure::LinkAccounts;

pub use capture::Capture;
pub use emulator::{Control, Emulator, Outcome, Plan, Trouble};
pub use port::{Port, open};
pub(crate) use sys::prefer;
pub use sys::{Priority, no_offload};

/// One direction of a link. Its place among the directions is that in the accounts.
#[derive(Debug)]
pub struct Direction {
    /// Where frames come from: a place among the ports.
    pub from: usize,
    /// Where they go.
    pub to: usize,
    /// How long a frame takes to leave, and where frames wait.
    pub pace: Pace,
    /// The bound of the queue, unless the sender paces itself.
    pub limit: QueueLimit,
    /// Delay, loss, jitter.
    pub way: Way,
    /// The other direction of a half-duplex link: they send in turn. Both say so, and neither is paced by its sender.
    pub shares_with: Option<usize>,
}

/// How long a frame takes to leave, and where frames wait for that.
#[derive(Clone, Debug)]
pub enum Pace {
    /// The node paces its frames by this rate, so that they wait in its queue, as in the simulator. A frame takes its
    /// transmission time here, and neither waits nor is dropped.
    Sender(Rate),
    /// The link paces frames by this rate. They wait here, in a drop-tail queue. For nodes that are not told the rate.
    Link(Rate),
    /// As with [`Pace::Link`], by a trace, which begins with the run.
    Trace(Arc<RateTrace>),
}

/// A change of a direction, which is given by its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Its rate, from the next frame on; it takes the place of a trace.
    Rate(usize, Rate),
    /// Its propagation delay, for frames that leave from now on.
    Delay(usize, Span),
    /// Its mean loss ratio, 0 to 1.
    Loss(usize, f64),
    /// The mean length of its bursts of losses, packets.
    LossBurst(usize, f64),
    /// The bound of its jitter.
    Jitter(usize, Span),
    /// Whether it carries frames. What is on it when it fails is lost.
    Up(usize, bool),
}

/// Counters of a direction since the beginning of the run. The display of progress reads them.
#[derive(Debug, Default)]
pub struct Live {
    /// Bytes that count, of frames that left.
    pub bytes: AtomicU64,
    /// Frames that left.
    pub frames: AtomicU64,
    /// Frames that were dropped or lost.
    pub drops: AtomicU64,
    /// Frames that wait now.
    pub queued: AtomicU64,
}

/// Headers of Ethernet and UDP, bytes.
const ETHERNET: usize = 14;
const UDP: usize = 8;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_UDP: u8 = 17;

/// Is told of frames that leave during the run.
pub trait Observe: Send {
    /// A frame leaves by a direction; `payload` are its bytes that count.
    fn on_frame(&mut self, direction: usize, payload: &[u8], accounts: &LinkAccounts);

    /// A step of the accounts ends: adds what nodes know of the links.
    fn at_step(&mut self, accounts: &mut LinkAccounts);
}

/// The bytes of an Ethernet frame that count; `None`: it has no whole header.
fn counted(frame: &[u8]) -> Option<&[u8]> {
    let payload = frame.get(ETHERNET..)?;
    let headers = match payload {
        &[first, _, _, _, _, _, offset, offset_low, _, PROTOCOL_UDP, ..]
            if frame[12..ETHERNET] == ETHERTYPE_IPV4 =>
        {
            // Only the first fragment has the header of UDP.
            let is_first = offset & 0x1f == 0 && offset_low == 0;
            4 * usize::from(first & 0xf) + if is_first { UDP } else { 0 }
        }
        _ => 0,
    };
    Some(payload.get(headers..).unwrap_or_default())
}
