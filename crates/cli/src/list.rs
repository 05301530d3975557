//! `weir list`: what there is to run, and what can be set.

use std::error::Error;
use std::path::Path;

use weir_scenario::{builtin, builtins};
use weir_schemes::{SCHEMES, find};

use crate::{Failure, load, terminal};

/// List scenarios and schemes, or what can be set in one of them
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario or a scheme: list what `--set` can change in it, each with its value and source
    name: Option<String>,
}

/// Prints the list.
pub fn list(args: &Args) -> Result<(), Failure> {
    let text = match &args.name {
        None => everything(),
        Some(name) => match find(name) {
            Some(_) => parameters(name),
            None => settings(name).map_err(|error| or_scheme(name, &*error))?,
        },
    };
    terminal::print(&text)
}

fn everything() -> String {
    let mut text = String::from("Scenarios\n");
    for (name, title) in builtins() {
        text += &format!("  {name:<24} {title}\n");
    }
    text += "\nSchemes\n";
    for scheme in SCHEMES {
        text += &format!("  {:<24} {}\n", scheme.name, scheme.title);
    }
    text + "\n`weir list NAME` shows what can be set in a scenario or scheme.\n"
}

fn parameters(name: &str) -> String {
    let Some(scheme) = find(name) else { return String::new() };
    let mut text = format!("{}: {}\n{}\n\n", scheme.name, scheme.title, scheme.citation);
    for parameter in scheme.parameters {
        let path = format!("scheme.{name}.{} = {}", parameter.key, parameter.default);
        text += &format!("  {path:<46} {} [{}]\n", parameter.meaning, parameter.from);
    }
    text
}

/// What is neither a scenario nor a file may have been meant for a scheme.
fn or_scheme(name: &str, error: &dyn Error) -> String {
    let schemes: Vec<_> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    if Path::new(name).exists() || builtin(name).is_some() {
        return error.to_string();
    }
    format!("{error}\n  schemes: {}", schemes.join(", "))
}

fn settings(name: &str) -> Result<String, Failure> {
    let scenario = load::scenario(name, &[])?;
    let mut text = format!("{}: {}\n\n", scenario.name, scenario.title);
    for setting in &scenario.settings {
        let source = setting.source.as_deref().map(|s| format!("  [{s}]")).unwrap_or_default();
        let value = if setting.value.is_empty() { "(not set)" } else { &setting.value };
        text += &format!("  {} = {value}{source}\n", setting.path);
    }
    if !scenario.axes.is_empty() {
        text += "\nAxes\n";
    }
    for axis in &scenario.axes {
        let value = axis.current.map_or("(at none of its values)", |at| &axis.values[at]);
        let (name, values, sets) = (&axis.name, axis.values.join(", "), axis.set.join(", "));
        text += &format!("  axis.{name} = {value}  [values: {values}; sets {sets}]\n");
    }
    Ok(text + "\nChange one with `weir run SCENARIO --set KEY=VALUE`; `*` stands for every name.\n")
}
