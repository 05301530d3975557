//! The thread that carries frames.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use nix::errno::Errno;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use weir_core::units::{Span, Time};
use weir_measure::{DelayHistogram, Extent, FlowAccounts, LinkAccounts};
use weir_net::clock::{Clock, Timer};

use super::capture::Tap;
use super::model::Model;
use super::port::{BATCH, Calls, Frame, Port, VNET, unix_ns};
use super::{Capture, Change, Direction, Live, Observe, Pace, Priority, counted, sys};

/// Maximum memory of all frame buffers, bytes. If a network has more on its links, later frames are lost.
const MOST_MEMORY: usize = 1 << 30;
/// A frame that is sent this much after its due time counts as late.
const LATE: Span = Span::from_millis(1);
/// Processor time to carry a frame between nodes, divided by the time to send a frame that no node handles, at the rate
/// at which frames begin to be late. Measured: see `links_alone` in the tests.
const TIMES_SENDING: f64 = 12.0;
/// Maximum time that a frame counts as waiting in the kernel.
const MOST_AGE: Span = Span::from_secs(1);
/// Maximum sleep, so that the thread notices the end, and takes frames before the kernel's buffers overflow.
const LONGEST_SLEEP: Span = Span::from_millis(2);

/// The links to emulate.
pub struct Plan {
    /// The lab's ends of all interfaces.
    pub ports: Vec<Port>,
    /// The directions of the links.
    pub directions: Vec<Direction>,
    /// Changes with their times since the beginning of the run.
    pub script: Vec<(Time, Change)>,
    /// Accounts of the directions, in their order.
    pub accounts: LinkAccounts,
    /// The period of the accounts.
    pub extent: Extent,
    /// Captures to write.
    pub captures: Vec<Capture>,
    /// Receives the frames sent during the run.
    pub observe: Option<Box<dyn Observe>>,
}

/// Begins and ends the run. Shared with the emulator's thread.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
    waker: Arc<Waker>,
}

#[derive(Debug)]
struct Shared {
    begin: AtomicU64,
    end: AtomicU64,
    stop: AtomicBool,
}

impl Control {
    /// Begins the run at a time of the emulator's clock.
    pub fn begin(&self, at: Time) {
        self.shared.begin.store(at.as_nanos(), Relaxed);
        self.wake();
    }

    /// Ends the run at a time since its beginning, if that is before its planned end. Frames still pass.
    pub fn end(&self, at: Time) {
        self.shared.end.store(at.as_nanos(), Relaxed);
        self.wake();
    }

    /// Stops the thread.
    pub fn stop(&self) {
        self.shared.stop.store(true, Relaxed);
        self.wake();
    }

    fn wake(&self) {
        // It fails only if the thread has too many wake-ups already.
        let _ = self.waker.wake();
    }
}

/// Result of the emulation.
#[derive(Debug)]
pub struct Outcome {
    /// Accounts of the run.
    pub accounts: LinkAccounts,
    /// Frames that were delivered during the run.
    pub frames: u64,
    /// Delay of the frames after their due times.
    pub lateness: DelayHistogram,
    /// The largest of these delays.
    pub latest: Span,
    /// Frames that were more than a millisecond late.
    pub late: u64,
    /// Time of the processor that the thread used.
    pub processor: Span,
    /// Priority of the thread.
    pub priority: Priority,
    /// Errors of the emulation.
    pub trouble: Trouble,
}

/// Frames lost or not carried for a reason other than the emulated link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Dropped by the kernel, because the thread did not receive them in time.
    pub kernel_drops: u64,
    /// Dropped because there was no memory.
    pub no_memory: u64,
    /// Frames joined by the sending kernel ([`super::no_offload`] prevents it), or longer than the MTU.
    pub too_long: u64,
    /// Frames without a whole header, or from an interface without a direction.
    pub strays: u64,
    /// Refused by the other end: it is down or gone, or has no room.
    pub undeliverable: u64,
    /// Errors of sockets.
    pub errors: u64,
    /// Frames, or files, missing in a capture.
    pub uncaptured: u64,
}

impl Outcome {
    /// Why the figures of the run are unreliable: the machine did not keep up. `None` if they are reliable.
    pub fn doubt(&self) -> Option<String> {
        let Trouble { kernel_drops, no_memory, too_long, undeliverable, .. } = self.trouble;
        let lost = kernel_drops + no_memory + too_long + undeliverable;
        if lost > 0 {
            return Some(format!(
                "the emulated links lost {lost} frames that the scenario does not lose ({kernel_drops} not taken in \
                 time, {no_memory} without memory, {too_long} too long, {undeliverable} not taken by a node)"
            ));
        }
        let ratio = self.late as f64 / self.frames.max(1) as f64;
        (ratio > 0.01).then(|| {
            format!(
                "{:.1} % of the frames left the emulated links more than 1 ms late, the latest by {:.1} ms",
                100.0 * ratio,
                self.latest.as_millis_f64()
            )
        })
    }
}

/// All emulated links.
pub struct Emulator {
    clock: Clock,
    ports: Vec<Port>,
    /// The direction that begins at each port.
    from: Vec<Option<usize>>,
    /// The port at which each direction ends.
    to: Vec<usize>,
    model: Model,
    /// The capture of each direction, and the number of its interface there.
    captured: Vec<Option<(usize, u32)>>,
    taps: Vec<Tap>,
    poll: Poll,
    timer: Timer,
    shared: Arc<Shared>,
    /// Buffers for the next received frames.
    hand: [Box<[u8]>; BATCH],
    /// Length of a buffer, and how many more may be allocated.
    length: usize,
    more: usize,
    /// Ports that may have frames.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
    frames: u64,
    lateness: DelayHistogram,
    latest: Span,
    late: u64,
    trouble: Trouble,
}

impl Emulator {
    /// Creates the links, the handle that begins and stops them, and their counters. `clock` is the lab's clock.
    ///
    /// # Errors
    /// Returns an error if a capture cannot be created, directions are inconsistent, or the operating system's error.
    pub fn new(plan: Plan, clock: Clock) -> io::Result<(Emulator, Control, Arc<[Live]>)> {
        let Plan { ports, directions, script, accounts, extent, captures, observe } = plan;
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Token(ports.len() + 1))?);
        let timer = Timer::new(poll.registry(), Token(ports.len()))?;
        for (number, port) in ports.iter().enumerate() {
            port.register(poll.registry(), Token(number))?;
        }
        let from = sources(&ports, &directions)?;
        let mut captured = vec![None; directions.len()];
        for (file, capture) in captures.iter().enumerate() {
            for (interface, (direction, _)) in capture.directions.iter().enumerate() {
                captured[*direction] = Some((file, interface as u32));
            }
        }
        let shared = Arc::new(Shared {
            begin: AtomicU64::new(u64::MAX),
            end: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
        });
        let live: Arc<[Live]> = directions.iter().map(|_| Live::default()).collect();
        let length = ports.iter().map(Port::longest).max().unwrap_or(0);
        let steps = FlowAccounts::new(Vec::new(), &extent);
        let emulator = Emulator {
            clock,
            from,
            to: directions.iter().map(|direction| direction.to).collect(),
            model: Model::new(directions, script, (steps, accounts), extent.until, live.clone(), observe),
            captured,
            taps: captures.iter().map(Tap::create).collect::<io::Result<_>>()?,
            poll,
            timer,
            shared: shared.clone(),
            hand: std::array::from_fn(|_| vec![0; length].into()),
            length,
            more: MOST_MEMORY / length.max(1),
            ready: (0..ports.len()).collect(),
            is_ready: vec![true; ports.len()],
            ports,
            frames: 0,
            lateness: DelayHistogram::new(),
            latest: Span::ZERO,
            late: 0,
            trouble: Trouble::default(),
        };
        Ok((emulator, Control { shared, waker }, live))
    }

    /// Estimates how many frames of this length the links can carry per second in total on this machine before 1 % of
    /// them are more than a millisecond late; `None` without ports. The estimate is for a warning: [`Outcome::doubt`]
    /// is measured.
    ///
    /// It sends some frames with an experimental EtherType to the first node, which ignores them, and measures the
    /// processor time.
    ///
    /// # Errors
    /// Returns an error if the interface is down or gone.
    pub fn capacity(&self, bytes: usize) -> io::Result<Option<f64>> {
        const ROUNDS: usize = 32;
        let Some(port) = self.ports.first() else { return Ok(None) };
        let mut calls = Calls::new();
        let frames: [Frame; BATCH] =
            std::array::from_fn(|_| Frame::of_nothing(bytes.min(self.length - VNET)));
        let before = processor_time();
        let mut sent = 0;
        for _ in 0..ROUNDS {
            sent += port.send(frames.iter(), &mut calls)?;
        }
        let took = processor_time().saturating_sub(before).as_secs_f64();
        Ok((sent > 0).then(|| sent as f64 / (TIMES_SENDING * took)))
    }

    /// Carries frames until [`Control::stop`]. The calling thread does nothing else.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn run(mut self) -> io::Result<Outcome> {
        let priority = sys::prioritise();
        let mut calls = Calls::new();
        let mut events = Events::with_capacity(256);
        let mut begin = Time::NEVER;
        while !self.shared.stop.load(Relaxed) {
            if begin == Time::NEVER {
                begin = Time::from_nanos(self.shared.begin.load(Relaxed));
            }
            self.take(begin, &mut calls);
            let now = self.clock.now();
            let has_begun = now >= begin;
            if has_begun {
                self.model.end_at(Time::from_nanos(self.shared.end.load(Relaxed)));
                self.model.advance(Time::ZERO + now.since(begin));
            }
            self.deliver(begin, &mut calls);
            let due = match self.model.next_deadline() {
                Time::NEVER => Time::NEVER,
                _ if !has_begun => begin,
                due => begin + due.since(Time::ZERO),
            };
            self.wait(due, &mut events)?;
        }
        let ran = self.clock.now().since(begin);
        self.model.end_at(Time::ZERO + ran);
        self.model.advance(Time::ZERO + ran);
        self.trouble.kernel_drops = self.ports.iter().map(Port::kernel_drops).sum();
        for tap in self.taps {
            // It is unknown how much a file lacks that could not be written.
            self.trouble.uncaptured += tap.close().unwrap_or(1);
        }
        let processor = processor_time();
        Ok(Outcome {
            accounts: self.model.into_accounts(),
            frames: self.frames,
            lateness: self.lateness,
            latest: self.latest,
            late: self.late,
            processor,
            priority,
            trouble: self.trouble,
        })
    }

    /// Waits until `due`, or until a frame arrives.
    ///
    /// If no frame that arrives meanwhile can be due earlier, it sleeps until `due`: a frame carries the kernel's
    /// arrival time, and waking up for it would cost as much as carrying it.
    fn wait(&mut self, due: Time, events: &mut Events) -> io::Result<()> {
        let now = self.clock.now();
        let timeout = if !self.ready.is_empty() || due <= now {
            Some(Duration::ZERO)
        } else if due.since(now) <= self.model.least_delay().min(LONGEST_SLEEP) {
            let left = TimeSpec::nanoseconds(due.since(now).as_nanos() as i64);
            // An interruption only shortens the sleep.
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &left);
            Some(Duration::ZERO)
        } else {
            self.timer.wait(now, due)?
        };
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        for event in events.iter() {
            // The other tokens are those of the timer and the waker.
            if let Some(is_ready @ false) = self.is_ready.get_mut(event.token().0) {
                *is_ready = true;
                self.ready.push(event.token().0);
            }
        }
        Ok(())
    }

    /// Receives a batch from each port that may have frames.
    fn take(&mut self, begin: Time, calls: &mut Calls) {
        let mut at = 0;
        while let Some(&port) = self.ready.get(at) {
            let count = match self.ports[port].take(&mut self.hand, calls) {
                Ok(count) => count,
                Err(Errno::EAGAIN) => 0,
                // An interface that goes down reports this once.
                Err(_) => {
                    self.trouble.errors += 1;
                    0
                }
            };
            self.sort_in(port, count, begin, calls);
            if count == BATCH {
                at += 1;
            } else {
                self.ready.swap_remove(at);
                self.is_ready[port] = false;
            }
        }
    }

    /// Passes the frames received from a port to its direction.
    fn sort_in(&mut self, port: usize, count: usize, begin: Time, calls: &Calls) {
        let (now, unix) = (self.clock.now(), unix_ns());
        for (place, taken) in calls.taken[..count].iter().enumerate() {
            if taken.len < VNET {
                continue;
            }
            let buffer = std::mem::take(&mut self.hand[place]);
            let frame = Frame { buffer, len: taken.len.min(self.length) };
            let size = counted(frame.ethernet()).map(|payload| payload.len() as u64);
            let (Some(lane), Some(size)) = (self.from[port], size) else {
                self.trouble.strays += 1;
                self.hand[place] = frame.buffer;
                continue;
            };
            if taken.is_cut || frame.is_joined() {
                self.trouble.too_long += 1;
                self.hand[place] = frame.buffer;
                continue;
            }
            let Some(spare) = self.spare() else {
                self.trouble.no_memory += 1;
                self.model.refuse(lane);
                self.hand[place] = frame.buffer;
                continue;
            };
            self.hand[place] = spare;
            // The kernel received the frame some time ago. The wall clock may have been set meanwhile.
            let age = unix.saturating_sub(taken.unix_ns).min(MOST_AGE.as_nanos());
            let came = Time::from_nanos(now.as_nanos().saturating_sub(age));
            if now < begin {
                self.model.pass(lane, frame);
            } else {
                self.model.take(lane, Time::ZERO + came.since(begin), size, frame);
            }
        }
    }

    /// Returns a buffer for a frame, or `None` if there are too many.
    fn spare(&mut self) -> Option<Box<[u8]>> {
        if let Some(buffer) = self.model.freed() {
            return Some(buffer);
        }
        self.more = self.more.checked_sub(1)?;
        Some(vec![0; self.length].into())
    }

    /// Sends all due frames.
    fn deliver(&mut self, begin: Time, calls: &mut Calls) {
        loop {
            let now = self.clock.now();
            let run = Time::ZERO + now.since(begin);
            let Some(lane) = self.model.next_due(run) else { return };
            let due = self.model.due(lane, run, BATCH);
            let sent = self.ports[self.to[lane]].send(due.map(|(_, frame)| frame), calls);
            let count = sent.unwrap_or(0);
            let has_begun = now >= begin;
            if has_begun && !self.model.is_over() {
                self.frames += count as u64;
                for (at, _) in self.model.due(lane, run, count) {
                    let lateness = run.since(*at);
                    self.lateness.record(lateness.as_nanos());
                    self.latest = self.latest.max(lateness);
                    self.late += u64::from(lateness > LATE);
                }
            }
            if let Some((tap, interface)) = self.captured[lane] {
                let unix = unix_ns();
                for (_, frame) in self.model.due(lane, run, count) {
                    self.taps[tap].frame(interface, unix, frame.ethernet());
                }
            }
            self.model.delivered(lane, count);
            if sent.is_err() {
                self.trouble.undeliverable += 1;
                self.model.undeliverable(lane);
            }
        }
    }
}

/// Returns the direction that begins at each port.
///
/// # Errors
/// Returns an error if directions are inconsistent.
fn sources(ports: &[Port], directions: &[Direction]) -> io::Result<Vec<Option<usize>>> {
    let wrong = |number: usize, what: &str| {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("direction {number} of the links {what}")))
    };
    let mut from = vec![None; ports.len()];
    for (number, direction) in directions.iter().enumerate() {
        if direction.from.max(direction.to) >= ports.len() {
            return wrong(number, "has an end that is not an interface");
        }
        if from[direction.from].replace(number).is_some() {
            return wrong(number, "begins at the same interface as another direction");
        }
        let Some(other) = direction.shares_with else { continue };
        if other == number || directions.get(other).is_none_or(|other| other.shares_with != Some(number)) {
            return wrong(number, "shares its link with a direction that does not share it");
        }
        if matches!(direction.pace, Pace::Sender(_)) {
            return wrong(number, "shares its link, but its sender paces itself");
        }
    }
    Ok(from)
}

/// Processor time of this thread.
fn processor_time() -> Span {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Span::ZERO, |time| {
        Span::from_nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
    })
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator").field("ports", &self.ports).finish_non_exhaustive()
    }
}
