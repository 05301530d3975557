//! The crates of this workspace, from cargo's metadata.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Result, root};

/// The metadata of the workspace.
fn metadata() -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The packages in the folder `crates`.
pub fn packages() -> Result<Vec<Value>> {
    let mut metadata = metadata()?;
    let packages = metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let is_crate = |package: &Value| {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        Path::new(manifest).parent().and_then(Path::parent).is_some_and(|folder| folder.ends_with("crates"))
    };
    Ok(packages.into_iter().filter(is_crate).collect())
}

/// The target directory.
pub fn target() -> Result<String> {
    Ok(metadata()?["target_directory"].as_str().unwrap_or_default().to_owned())
}

/// Names of a package's dependencies. `with_tests` includes those of its tests.
pub fn dependencies(package: &Value, with_tests: bool) -> Vec<&str> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    let wanted = all.filter(|dependency| with_tests || dependency["kind"] != "dev");
    wanted.filter_map(|dependency| dependency["name"].as_str()).collect()
}

/// The name of a package.
pub fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}
