//! The clock of the real world, and a timer finer than the event loop's.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use weir_core::units::Time;

/// The core's clock: the time since the forwarder started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_unix_ns: u64,
}

impl Clock {
    /// Starts a clock at time 0.
    pub fn start() -> Clock {
        #[expect(clippy::disallowed_methods, reason = "this is the world's clock")]
        let (start, unix) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH));
        Clock { start, start_unix_ns: unix.map_or(0, |since| since.as_nanos() as u64) }
    }

    /// The clock's start time, ns since 1970.
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// The time since the start. It never decreases.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }
}

/// Time since 1970, ms.
pub fn wall_ms() -> u64 {
    wall_us() / 1000
}

/// Time since 1970, µs.
pub fn wall_us() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "commands and versions carry the time of day")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Deadlines later than this, in ns, use the event loop's own timeout, which is accurate enough for them.
const NEAR_NS: u64 = 2_000_000;

/// Wakes the event loop with microsecond resolution. The event loop's own timeout counts in milliseconds.
#[derive(Debug)]
pub struct Timer {
    fd: TimerFd,
    /// The time at which the timer fires.
    set_to: Time,
}

impl Timer {
    /// Creates a timer that is not set.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn new(registry: &Registry, token: Token) -> io::Result<Timer> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        registry.register(&mut SourceFd(&fd.as_fd().as_raw_fd()), token, Interest::READABLE)?;
        Ok(Timer { fd, set_to: Time::NEVER })
    }

    /// Returns whether [`Timer::wait`] would set the timer. In this case, checking for events first is cheaper: on a
    /// virtual machine, setting the timer may take longer than forwarding a packet.
    pub fn is_to_be_set(&self, now: Time, due: Time) -> bool {
        let is_near = due > now && due.since(now).as_nanos() < NEAR_NS;
        is_near && (due < self.set_to || self.set_to <= now)
    }

    /// Returns how long the event loop may wait until `due`. `None` means that it waits for any event, including this
    /// timer.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn wait(&mut self, now: Time, due: Time) -> io::Result<Option<Duration>> {
        if due == Time::NEVER {
            return Ok(None);
        }
        let left = due.since(now).as_nanos();
        if left >= NEAR_NS {
            return Ok(Some(Duration::from_millis(left / 1_000_000)));
        }
        if left == 0 {
            return Ok(Some(Duration::ZERO));
        }
        if self.is_to_be_set(now, due) {
            let once = Expiration::OneShot(TimeSpec::new(0, left as i64));
            self.fd.set(once, TimerSetTimeFlags::empty())?;
            self.set_to = due;
        }
        Ok(None)
    }
}
