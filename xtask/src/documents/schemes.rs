//! The reference of the schemes: the parameters of each, and its deviations from its source as the code has them.

use weir_core::seam::params::{Parameter, ParameterKind, Variant};
use weir_schemes::{Entry, SCHEMES};

use super::capital;
use crate::page::Document;
use crate::{Result, read, root};

/// The heads of the list in a module's documentation.
const DEVIATIONS: [&str; 2] = ["# Deviations from the paper", "# Deviations from the article"];

/// The schemes without a source from which they could deviate.
const WITHOUT_SOURCE: [&str; 2] = ["sluice", "fixed"];

/// The reference.
pub fn documents() -> Result<Vec<Document>> {
    Ok(vec![Document::part("docs/reference/schemes.md", "schemes", reference()?)])
}

fn reference() -> Result<String> {
    let mut text = String::new();
    for scheme in SCHEMES {
        let name = scheme.name;
        text += &format!("## `{name}`\n\n{}. Source: {}.\n", capital(scheme.title), scheme.citation);
        text += &format!(
            "Page: [{name}](../schemes/{name}.md). `early_loss` of a flow is `{}` by default.\n\n",
            scheme.early_loss
        );
        text += &format!("{}\n", parameters(scheme.parameters));
        if !WITHOUT_SOURCE.contains(&name) {
            let list = deviations(&code(scheme)?)
                .ok_or_else(|| format!("the head of {name} needs a list below `{}`", DEVIATIONS[0]))?;
            text += &format!("### Deviations of `{name}`\n\n{list}\n");
        }
    }
    Ok(text)
}

/// The module of a scheme: a folder, a file, or a law of the window schemes.
fn code(scheme: &Entry) -> Result<String> {
    let name = scheme.name.replace('-', "_");
    let folder = root().join("crates/schemes/src");
    let places = [format!("{name}/mod.rs"), format!("{name}.rs"), format!("window/{name}.rs")];
    let place = places.iter().map(|place| folder.join(place)).find(|place| place.exists());
    read(&place.ok_or_else(|| format!("there is no module of {name}"))?)
}

fn parameters(declared: &[Parameter]) -> String {
    let mut table =
        "| key | value | default | meaning | where the default comes from |\n|---|---|---|---|---|\n"
            .to_owned();
    for p in declared {
        let kind = kind(p.kind);
        table += &format!("| `{}` | {kind} | `{}` | {} | {} |\n", p.key, p.default, p.meaning, p.from);
    }
    table
}

fn kind(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Number(low, high) => format!("number, {low} to {high}"),
        ParameterKind::Integer(low, high) => format!("whole number, {low} to {high}"),
        ParameterKind::Rate(low, high) => format!("rate, {low} to {high}"),
        ParameterKind::Span(low, high) => format!("time, {low} to {high}"),
        ParameterKind::Bytes => "size".to_owned(),
        ParameterKind::Switch => "`true`, `false`".to_owned(),
        ParameterKind::Choice(words) => format!("one of `{}`", words.join("`, `")),
        ParameterKind::Variant(variants) => variants.iter().map(variant).collect::<Vec<_>>().join("; "),
    }
}

fn variant(variant: &Variant) -> String {
    let defaults = variant.defaults.iter().map(|(key, value)| format!("`{key} = {value}`"));
    let defaults: Vec<String> = defaults.collect();
    if defaults.is_empty() {
        format!("`{}`", variant.name)
    } else {
        format!("`{}`: {}", variant.name, defaults.join(", "))
    }
}

/// The list of deviations in the head of a module, an item with its claim on a line and the detail below. The list begins at
/// its first number and ends at an empty line.
fn deviations(code: &str) -> Option<String> {
    let head =
        code.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.trim_start_matches(' '));
    let number = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let section = head.skip_while(|line| !DEVIATIONS.contains(line)).skip(1);
    let lines = section.skip_while(|line| !number(line)).take_while(|line| !line.is_empty());
    let mut text = String::new();
    for line in lines {
        let begins = number(line);
        text += match (text.is_empty(), begins) {
            (true, _) => "",
            (false, true) => "\n",
            (false, false) => " ",
        };
        text += line;
    }
    let items: Vec<String> = text.lines().map(claim_and_detail).collect();
    (!items.is_empty()).then(|| items.join("\n"))
}

/// Splits `1. **The claim.** The detail.`: the claim on its own line, the detail as a paragraph below.
fn claim_and_detail(item: &str) -> String {
    match item.split_once(".** ") {
        Some((claim, detail)) => {
            let number = item.split(' ').next().unwrap_or_default();
            let indent = " ".repeat(number.len() + 1);
            format!("{claim}.**\n\n{indent}{detail}\n")
        }
        None => format!("{item}\n"),
    }
}
