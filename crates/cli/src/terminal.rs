//! Output to the user: results on standard output, and progress on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Failure;

/// Exit code if content was not delivered because standard output was closed. A shell returns the same code for a
/// program that SIGPIPE ended.
pub const CLOSED: u8 = 141;

/// Returns whether the error means that a pipe was closed by its reader.
///
/// The reader of a table has seen what it wanted, so the rest is dropped and the command continues ([`print()`]).
/// Incomplete content is useless, so its command ends with [`CLOSED`].
pub fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Prints a table or a document to standard output. A closed output is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed(&error) => {
            Err(format!("standard output could not be written: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard error. The command continues if that is closed, because then nobody reads it.
macro_rules! note {
    ($($line:tt)*) => {{
        use ::std::io::Write;
        let _ = writeln!(::std::io::stderr(), $($line)*);
    }};
}

/// Returns whether there is a terminal for progress.
pub fn has_progress() -> bool {
    io::stderr().is_terminal()
}

/// The target for progress: the terminal, or nothing.
pub fn progress() -> ProgressDrawTarget {
    if has_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// Redraws a bar regularly. If nothing is drawn, there is no timer, so a run takes the same number of instructions each
/// time.
pub fn tick(bar: &ProgressBar) {
    if has_progress() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
}

/// The style of a bar. All templates in Weir are valid.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shows on the terminal what is waited for, and for how long, until it is cleared.
pub fn waiting(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, progress());
    let bar = bar.with_style(style("{msg} {elapsed}")).with_message(what);
    tick(&bar);
    bar
}

/// Runs `work`, and shows a message on a terminal meanwhile.
pub fn while_waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let bar = waiting(what);
    let done = work();
    bar.finish_and_clear();
    done
}
