//! Expands the file to one table for each node and link: the kinds of the sections, defaults, ranges of names.
use std::collections::BTreeSet;

use weir_document::{Document, DocumentError, Entry, Item, Kind, Origin, Table, Value, did_you_mean};

use crate::faults::Faults;
use crate::keys;
use crate::names;
use crate::read::ScenarioItem;

type Result<T> = core::result::Result<T, DocumentError>;

const LISTS: &[&str] =
    &["node", "link", "medium", "flow", "route", "event", "window", "axis", "figure", "expectation"];
const TABLES: &[&str] = &["scheme", "defaults", "routing", "generate"];

/// Refuses unknown keys at the top and sections of the wrong kind; one of these is a gap.
pub fn check_sections(doc: &Document, root: &Table, faults: &Faults) {
    for entry in &root.0 {
        let key = &*entry.key;
        if LISTS.contains(&key) {
            let list = entry.value.as_list();
            if list.is_none_or(|l| l.iter().any(|v| v.as_table().is_none())) {
                let message = format!("`{key}` is a list of tables");
                let help = format!("write [[{key}]] above each of them");
                faults.keep::<()>(Err(doc.error(entry.key_origin, key, message, help)));
            }
        } else if TABLES.contains(&key) {
            if entry.value.as_table().is_none() {
                let help = if key == "scheme" {
                    "write [scheme] and below it default = \"NAME\"".to_owned()
                } else {
                    format!("write [{key}] above its keys")
                };
                let message = format!("`{key}` is a table");
                faults.keep::<()>(Err(doc.error(entry.key_origin, key, message, help)));
            }
        } else if keys::find("", key).is_none() {
            let tops: Vec<&str> = keys::of("").iter().map(|k| k.key).collect();
            let known = tops.iter().chain(TABLES).chain(LISTS).copied();
            let meant = did_you_mean(key, known);
            let help = format!(
                "keys here: {}; tables: {}, {}",
                tops.join(", "),
                TABLES.join(", "),
                LISTS.join(", ")
            );
            faults.push(doc.error(entry.key_origin, "", format!("unknown key `{key}`{meant}"), help));
        }
    }
}

/// The tables of a list section, each with its place.
pub fn items<'r>(root: &'r Table, section: &str) -> impl Iterator<Item = (usize, &'r Value, &'r Table)> {
    let list = root.value(section).and_then(Value::as_list).unwrap_or(&[]);
    list.iter().enumerate().filter_map(|(i, v)| v.as_table().map(|t| (i, v, t)))
}

/// Hands defaults down and makes one table of each node and each link.
pub fn expand(doc: &Document, root: &mut Table, faults: &Faults) {
    if let Some(defaults) = root.value("defaults") {
        let origin = defaults.origin;
        let table = defaults.as_table().cloned().unwrap_or_default();
        for entry in &table.0 {
            let section = match &*entry.key {
                "node" => "defaults.node",
                "link" => "defaults.link",
                "flow" => "defaults.flow",
                // What is said of all three.
                "source" => continue,
                other => {
                    let message = format!("unknown key `{other}`");
                    let help = "keys here: node, link, flow, source";
                    faults.push(doc.error(entry.key_origin, "defaults", message, help));
                    continue;
                }
            };
            let Some(inner) = entry.value.as_table() else {
                let message = format!("`{section}` is a table");
                let help = format!("write [{section}] above its keys");
                faults.push(doc.error(entry.key_origin, section, message, help));
                continue;
            };
            faults.keys(&Item { doc, section, path: section, table: inner, origin });
        }
        for section in ["node", "link", "flow"] {
            let Some(given) = table.table(section) else { continue };
            let Some(Kind::List(list)) = root.value_mut(section).map(|v| &mut v.kind) else { continue };
            for value in list {
                let Kind::Table(own) = &mut value.kind else { continue };
                for entry in &given.0 {
                    if &*entry.key != "source" && own.entry(&entry.key).is_none() {
                        own.0.push(entry.clone());
                    }
                }
            }
        }
    }
    expand_nodes(doc, root, faults);
    expand_links(doc, root, faults);
}

fn expand_nodes(doc: &Document, root: &mut Table, faults: &Faults) {
    let mut nodes = Vec::new();
    for (i, value, table) in items(root, "node") {
        let path = format!("node.{}", crate::set::item_name("node", i, value));
        let item = Item { doc, section: "node", path: &path, table, origin: value.origin };
        faults.keys(&item);
        faults.keep(expand_node(&item, value, &mut nodes));
    }
    replace(root, "node", nodes);
}

/// Adds a table for each name of a node.
fn expand_node(item: &Item<'_>, value: &Value, nodes: &mut Vec<Value>) -> Result<()> {
    let mut all = Vec::new();
    for (text, at) in item.texts("name")? {
        all.extend(item.expand("name", &text, at, None)?.into_iter().map(|name| (name, at)));
        if nodes.len() + all.len() > names::MAX_NAMES {
            return Err(item.error_here(format!("there are more than {} nodes", names::MAX_NAMES), ""));
        }
    }
    // A list of positions has one for each name.
    let positions = item.given("position").and_then(|v| Some((v, v.as_list()?)));
    let positions = positions.filter(|(_, list)| list.iter().any(|p| p.as_list().is_some()));
    if let Some((at, list)) = positions.filter(|(_, list)| list.len() != all.len()) {
        let message = format!("{} positions for {} nodes", list.len(), all.len());
        return Err(item.error("position", at, message, "one for each node: [[0, 0], [1, 0]]"));
    }
    for (i, (name, at)) in all.into_iter().enumerate() {
        let mut own = value.clone();
        if let Kind::Table(table) = &mut own.kind {
            table.set("name", Value::text(&name, at));
            if let Some((_, list)) = positions {
                table.set("position", list[i].clone());
            }
        }
        nodes.push(own);
    }
    Ok(())
}

fn expand_links(doc: &Document, root: &mut Table, faults: &Faults) {
    let mut links = Vec::new();
    let nodes: BTreeSet<String> = crate::set::item_names(root, "node").into_iter().collect();
    for (i, value, table) in items(root, "link") {
        let path = format!("link.{}", crate::set::item_name("link", i, value));
        let item = Item { doc, section: "link", path: &path, table, origin: value.origin };
        faults.keys(&item);
        let Some(pairs) = faults.keep(pairs_of_link(&item, &nodes)) else { continue };
        for (a, b, at) in pairs {
            if links.len() >= names::MAX_NAMES {
                let message = format!("there are more than {} links", names::MAX_NAMES);
                faults.keep::<()>(Err(item.error_here(message, "")));
                return;
            }
            let mut own = value.clone();
            if let Kind::Table(table) = &mut own.kind {
                table.remove("between");
                let ends = Kind::List(vec![Value::text(&a, at), Value::text(&b, at)]);
                table.set("ends", Value::new(ends, at));
            }
            links.push(own);
        }
    }
    replace(root, "link", links);
}

/// The nodes of each link that a `[[link]]` stands for, and where they are given.
fn pairs_of_link(item: &Item<'_>, nodes: &BTreeSet<String>) -> Result<Vec<(String, String, Origin)>> {
    let mut pairs = Vec::new();
    match (item.given("ends"), item.given("between")) {
        (Some(ends), None) => {
            let texts = item.texts("ends")?;
            let [(a, at_a), (b, at_b)] = &texts[..] else {
                let help = "write ends = [\"R1\", \"R2\"]";
                return Err(item.error("ends", ends, "a link has two ends", help));
            };
            let a = item.expand("ends", a, *at_a, None)?;
            let b = item.expand("ends", b, *at_b, None)?;
            let zipped = zip(&a, &b).map_err(|m| item.error("ends", ends, m, ""))?;
            pairs.extend(zipped.map(|(a, b)| (a.clone(), b.clone(), ends.origin)));
        }
        (None, Some(_)) => {
            for (text, at) in item.texts("between")? {
                let wrong = |m: String| item.doc.error(at, item.path_of("between"), m, "");
                let are_nodes = |text: &str| {
                    names::expand(text, None).is_ok_and(|all| all.iter().all(|n| nodes.contains(n)))
                };
                let (a, b) = names::pair(&text, |a, b| are_nodes(a) && are_nodes(b)).map_err(wrong)?;
                let a = item.expand("between", a, at, None)?;
                let b = item.expand("between", b, at, None)?;
                pairs.extend(zip(&a, &b).map_err(wrong)?.map(|(a, b)| (a.clone(), b.clone(), at)));
            }
        }
        (Some(_), Some(between)) => {
            return Err(item.error("between", between, "a link has either `ends` or `between`", ""));
        }
        (None, None) => {
            return Err(item.error_here("the key `ends` is missing", "write ends = [\"R1\", \"R2\"]"));
        }
    }
    Ok(pairs)
}

fn replace(root: &mut Table, section: &str, list: Vec<Value>) {
    if list.is_empty() && root.value(section).is_none() {
        return;
    }
    match root.value_mut(section) {
        Some(value) => value.kind = Kind::List(list),
        None => root.0.push(Entry {
            key: section.into(),
            key_origin: Origin::Default,
            value: Value::new(Kind::List(list), Origin::Default),
        }),
    }
}

/// Adds tables to a list section, before those of the file.
pub fn prepend(root: &mut Table, section: &str, mut tables: Vec<Value>) {
    if let Some(Kind::List(own)) = root.value_mut(section).map(|v| &mut v.kind) {
        tables.append(own);
    }
    replace(root, section, tables);
}

/// Two ranges step together; a single name goes with all.
pub fn zip<'s>(
    a: &'s [String],
    b: &'s [String],
) -> core::result::Result<impl Iterator<Item = (&'s String, &'s String)>, String> {
    let n = a.len().max(b.len());
    if (a.len() != n && a.len() != 1) || (b.len() != n && b.len() != 1) {
        return Err(format!("ranges step together, but one has {} names and the other {}", a.len(), b.len()));
    }
    Ok((0..n).map(move |i| (&a[i.min(a.len() - 1)], &b[i.min(b.len() - 1)])))
}
