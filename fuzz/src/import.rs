//! Harness for topology files from other sources.

use weir_import::{File, Format, Options, import};
use weir_scenario::Scenario;

/// Reads bytes as a topology file in the format that the first byte selects, or with detection of the format. They are
/// refused with a reason, or they are a scenario. Returns whether they are one.
pub fn topology(bytes: &[u8]) -> bool {
    let Some((&first, bytes)) = bytes.split_first() else { return false };
    let format = Format::ALL.get(usize::from(first.wrapping_sub(b'0'))).map(|(format, _)| *format);
    match import(&[File { name: "fuzzed", bytes }], &Options { format, ..Options::new("fixed") }) {
        Ok(imported) => {
            let read = Scenario::parse("fuzzed", "fuzzed.toml", &imported.scenario, &[]);
            assert!(read.is_ok(), "{read:?}\n{}", imported.scenario);
            true
        }
        Err(error) => {
            assert!(!error.to_string().trim().is_empty());
            false
        }
    }
}
