//! Where results are written.

use std::path::{Path, PathBuf};

/// Refuses, before anything runs, a folder that cannot be one.
///
/// # Errors
/// If there is a file in its place or on the way to it.
pub fn no_file_there(dir: &Path) -> Result<(), String> {
    match dir.ancestors().find(|path| path.exists()) {
        Some(file) if !file.is_dir() => {
            Err(format!("--out {}: {} is a file, not a folder", dir.display(), file.display()))
        }
        _ => Ok(()),
    }
}

/// The folder to write to: the one given, or else `out/NAME`; none for a document alone, which needs
/// neither files nor the series in them.
///
/// # Errors
/// If it cannot be a folder.
pub fn folder(given: Option<&Path>, is_json: bool, name: &str) -> Result<Option<PathBuf>, String> {
    let dir = match (given, is_json) {
        (Some(dir), _) => Some(dir.to_owned()),
        (None, true) => None,
        (None, false) => Some(Path::new("out").join(name)),
    };
    dir.iter().try_for_each(|dir| no_file_there(dir))?;
    Ok(dir)
}

/// The name of a scenario as one of a folder: `qsccp/dumbbell` is `qsccp-dumbbell`.
pub fn stem(scenario: &str) -> String {
    let stem = Path::new(scenario).with_extension("");
    let name = stem.to_string_lossy().replace(['/', '\\'], "-");
    name.trim_matches(['-', '.']).to_owned()
}
