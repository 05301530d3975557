//! Scenarios by name or path.

use std::error::Error;
use std::fs;
use std::path::Path;

use weir_scenario::{Override, Scenario, builtin, builtins};

/// The scenario that the user means: a built-in name, or else a file; with `--set` applied.
pub fn scenario(name: &str, set: &[String]) -> Result<Scenario, Box<dyn Error>> {
    let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
    if let Some(text) = builtin(name) {
        let file = format!("scenarios/{name}.toml");
        return Ok(Scenario::parse(name, &file, text, &overrides)?);
    }
    if !Path::new(name).exists() {
        let names: Vec<_> = builtins().into_iter().map(|(name, _)| name).collect();
        return Err(format!(
            "there is no scenario and no file called `{name}`\n  built-in scenarios: {}",
            names.join(", ")
        )
        .into());
    }
    let text = fs::read_to_string(name).map_err(|error| format!("cannot read {name}: {error}"))?;
    Ok(Scenario::parse(name, name, &text, &overrides)?)
}
