//! Harness for topology files, which people get from others.

use weir_import::{File, Format, Options, import};
use weir_scenario::Scenario;

/// Bytes as a topology file in the format that the first byte picks, or as it is recognised: it is refused with a reason, or it
/// is a scenario. Returns whether it is one.
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
