//! The command `weir`.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs the command `weir` with these arguments, the program's name first, and returns its exit code. Help, an invalid
/// argument and an interruption end the process.
#[pyfunction]
pub fn main(py: Python<'_>, argv: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = weir_cli::main(argv);
        // A reader that has closed the pipe has seen what it wanted.
        let _ = std::io::stdout().flush();
        number(code)
    })
}

/// Converts an exit code. `ExitCode` has no method for its number.
fn number(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}
