//! Files in the form of each format, made for these tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod errors;
mod formats;
mod hostile;

use weir_import::{File, ImportError, Imported, Options, import};
use weir_scenario::Scenario;

/// Imports one file.
pub fn imported(name: &str, text: &str, options: &Options) -> Result<Imported, ImportError> {
    import(&[File { name, bytes: text.as_bytes() }], options)
}

/// Returns the scenario of a file, which Weir parses without an error.
pub fn scenario(name: &str, text: &str, options: &Options) -> (Scenario, Imported) {
    let imported = imported(name, text, options).unwrap_or_else(|error| panic!("{error}"));
    (read(&imported), imported)
}

/// Parses an imported scenario.
pub fn read(imported: &Imported) -> Scenario {
    let read = Scenario::parse("imported", "imported.toml", &imported.scenario, &[]);
    read.unwrap_or_else(|error| panic!("{error}\n{}", imported.scenario))
}
