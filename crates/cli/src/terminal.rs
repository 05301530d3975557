//! Output to the user: results on standard output, and progress on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::Failure;

/// The exit code where content was not delivered because standard output was closed: that of a program that SIGPIPE
/// ended, in a shell.
pub const CLOSED: u8 = 141;

/// Whether nobody reads a pipe any more.
///
/// A reader of a table has seen what it wanted, so the rest of a table is left out and the command goes on
/// ([`print()`]). Content that is cut off is not delivered: its command ends with [`CLOSED`].
pub fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Prints a table or a document to standard output; that nobody reads it is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if !is_closed(&error) => {
            Err(format!("standard output could not be written: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Whether there is a terminal to show progress on.
pub fn has_progress() -> bool {
    io::stderr().is_terminal()
}

/// Where progress is shown: on a terminal, else nowhere.
pub fn progress() -> ProgressDrawTarget {
    if has_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}

/// Has a bar drawn now and then. Where nothing is drawn, nothing is done by the clock, and a run takes as many instructions
/// each time.
pub fn tick(bar: &ProgressBar) {
    if has_progress() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
}

/// How progress looks; every template of ours is right.
pub fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Says on the terminal what is waited for, and for how long, until it is cleared.
pub fn waiting(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, progress());
    let bar = bar.with_style(style("{msg} {elapsed}")).with_message(what);
    tick(&bar);
    bar
}

/// Does something that may take a while, and says so on a terminal.
pub fn while_waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let bar = waiting(what);
    let done = work();
    bar.finish_and_clear();
    done
}
