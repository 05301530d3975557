//! Generates the documents from the code, and the records of figures in `tests/golden`. The tests compare both with the
//! committed files.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

pub mod documents;
pub mod golden;
pub mod instructions;
pub mod page;
pub mod published;
pub mod records;
pub mod workspace;

/// Any error, shown to the developer.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// FNV-1a. The first call starts with [`DIGEST_OF_NOTHING`].
fn digest(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

const DIGEST_OF_NOTHING: u64 = 0xcbf2_9ce4_8422_2325;
