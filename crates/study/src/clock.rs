//! The clocks that measure how long a run takes. Only these times in the results depend on them.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// The wall-clock time since a start.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts the stopwatch.
    #[expect(clippy::disallowed_methods, reason = "a study measures how long runs take")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Returns the time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns the time since the start, s.
    pub fn elapsed_s(self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

/// The processor time of this thread since a start.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTime(Duration);

impl ProcessorTime {
    /// Starts at this moment.
    pub fn now() -> ProcessorTime {
        ProcessorTime(thread_time())
    }

    /// Returns the processor time that this thread has used since the start, s; 0 if the system does not
    /// report it.
    pub fn elapsed_s(self) -> f64 {
        thread_time().saturating_sub(self.0).as_secs_f64()
    }
}

fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
