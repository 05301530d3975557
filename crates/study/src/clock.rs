//! The clocks that say how long a run took. No result but these times depends on them.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Time on the clock since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    #[expect(clippy::disallowed_methods, reason = "a study measures how long runs take")]
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// The same, s.
    pub fn elapsed_s(self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

/// Processor time of this thread since a moment.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTime(Duration);

impl ProcessorTime {
    /// From now on.
    pub fn now() -> ProcessorTime {
        ProcessorTime(thread_time())
    }

    /// Processor time that this thread has used since then, s; 0 if the system does not tell.
    pub fn elapsed_s(self) -> f64 {
        thread_time().saturating_sub(self.0).as_secs_f64()
    }
}

fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}
