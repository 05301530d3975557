//! The diagram of the crates on the page about the architecture.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::page::Document;
use crate::workspace::{dependencies, name, packages};

type Crates = BTreeMap<String, BTreeSet<String>>;

/// The diagram: an arrow from each crate to its direct dependencies.
pub fn picture() -> Result<Document> {
    let packages = packages()?;
    let short = |name: &str| match name {
        "weir" => Some("cli".to_owned()),
        _ => name.strip_prefix("weir-").map(str::to_owned),
    };
    let crates: Crates = packages
        .iter()
        .filter_map(|package| {
            let used = dependencies(package, false).into_iter().filter_map(short);
            Some((short(name(package))?, used.collect()))
        })
        .collect();
    let arrows: String =
        arrows(&crates).iter().map(|(user, used)| format!("  {user} --> {used}\n")).collect();
    let picture = format!("```mermaid\nflowchart BT\n{arrows}```");
    Ok(Document::part("docs/develop/architecture.md", "crates", picture))
}

/// A pair for each dependency that is not implied by a chain of others.
fn arrows(crates: &Crates) -> Vec<(&str, &str)> {
    fn reaches(crates: &Crates, from: &str, to: &str) -> bool {
        from == to || crates.get(from).is_some_and(|used| used.iter().any(|next| reaches(crates, next, to)))
    }
    let pairs =
        crates.iter().flat_map(|(user, used)| used.iter().map(move |one| (user.as_str(), one.as_str())));
    let is_direct = |&(user, used): &(&str, &str)| {
        !crates[user].iter().any(|other| other != used && reaches(crates, other, used))
    };
    pairs.filter(is_direct).collect()
}
