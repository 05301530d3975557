//! The reference of the schemes, and the generated parts of their pages: parameters and deviations.

use weir_core::seam::params::{Parameter, ParameterKind, Variant};
use weir_schemes::SCHEMES;

use super::capital;
use crate::page::Document;
use crate::{Result, read, root};

/// The heading of the deviations in a module's documentation.
const DEVIATIONS: &str = "# Deviations from the paper";

/// The schemes whose pages contain the deviations from the code. PCON's page has its own text.
const WITH_DEVIATIONS: [&str; 8] =
    ["qsccp", "mircc", "omcc-rf", "hbhcm", "dpccp", "e2e-aqm", "ndn-qsf", "tcp-newreno"];

/// The reference, and the parts of each scheme's page.
pub fn documents() -> Result<Vec<Document>> {
    let mut documents = vec![Document::part("docs/reference/schemes.md", "schemes", reference())];
    for scheme in SCHEMES {
        documents.push(Document::part(&page(scheme.name), "parameters", parameters(scheme.parameters)));
    }
    for scheme in WITH_DEVIATIONS {
        let path = format!("crates/schemes/src/{}/mod.rs", scheme.replace('-', "_"));
        let list = deviations(&read(&root().join(&path))?);
        let list = list.ok_or_else(|| format!("{path} needs a list below `{DEVIATIONS}`"))?;
        documents.push(Document::part(&page(scheme), "deviations", list));
    }
    Ok(documents)
}

fn page(scheme: &str) -> String {
    format!("docs/schemes/{scheme}.md")
}

fn reference() -> String {
    let mut text = String::new();
    for scheme in SCHEMES {
        let name = scheme.name;
        text += &format!("## `{name}`\n\n{}. Source: {}.\n", capital(scheme.title), scheme.citation);
        text += &format!(
            "Page: [{name}](../schemes/{name}.md). `early_loss` of a flow is `{}` by default.\n\n",
            scheme.early_loss
        );
        text += &format!("{}\n", parameters(scheme.parameters));
    }
    text
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

/// The deviations in the head of a module. Each item has its claim on a line and the details below.
fn deviations(code: &str) -> Option<String> {
    let head =
        code.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.trim_start_matches(' '));
    let lines = head.skip_while(|line| *line != DEVIATIONS).skip(1).take_while(|line| !line.starts_with('#'));
    let mut text = String::new();
    for line in lines {
        let begins = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
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
