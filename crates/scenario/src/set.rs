//! `--set PATH=VALUE`: changes the tree before it is read.

use weir_document::{
    Document, DocumentError, Kind, Location, Origin, Table, Value, did_you_mean, list, parse_value,
};

use crate::error::ScenarioError;
use crate::faults::Faults;
use crate::keys;
use crate::names;

type Result<T> = core::result::Result<T, DocumentError>;

/// One `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The path of the key or keys, such as `link.R2-R3.rate`; `*` in a name stands for any text.
    pub path: String,
    /// The new value: TOML if it can be parsed as such, else a text.
    pub value: String,
}

impl Override {
    /// Returns an override of the keys at `path`. [`Scenario::parse`](crate::Scenario::parse) applies it.
    pub fn new(path: impl Into<String>, value: impl Into<String>) -> Override {
        Override { path: path.into(), value: value.into() }
    }

    /// Parses `PATH=VALUE`.
    ///
    /// # Errors
    /// Returns an error if there is no `=`, or if the path is empty.
    pub fn parse(text: &str) -> core::result::Result<Override, ScenarioError> {
        if let Some((path, value)) = text.split_once('=')
            && !path.trim().is_empty()
        {
            return Ok(Override::new(path.trim(), value.trim()));
        }
        let location = Location::Set(format!("--set {text}").into());
        let help = "write for example --set link.R2-R3.rate=\"10 Mb/s\"";
        Err(DocumentError::new(location, "", "this is not a path and a value", help, "").into())
    }

    pub(crate) fn label(&self) -> String {
        format!("--set {}={}", self.path, self.value)
    }
}

/// The sections whose tables `--set` addresses by name.
pub const NAMED: &[&str] = &["node", "link", "medium", "flow", "event", "window"];

/// One path that an override sets. An override of an axis sets several.
#[derive(Clone, Debug)]
pub struct Change {
    pub path: String,
    pub value: Value,
    pub origin: Origin,
}

/// Returns overrides as changes. `axis.NAME=VALUE` is replaced by the paths that the axis sets.
pub fn changes(doc: &mut Document, root: &Table, overrides: &[Override], faults: &Faults) -> Vec<Change> {
    doc.overrides = overrides.iter().map(|o| o.label().into()).collect();
    let mut changes = Vec::new();
    for (i, over) in overrides.iter().enumerate() {
        let origin = Origin::Set(i as u32);
        let value = parse_value(&over.value, origin);
        let Some(name) = over.path.strip_prefix("axis.") else {
            changes.push(Change { path: over.path.clone(), value, origin });
            continue;
        };
        let axes: Vec<&Table> = root
            .value("axis")
            .and_then(Value::as_list)
            .unwrap_or(&[])
            .iter()
            .filter_map(Value::as_table)
            .collect();
        let named = |t: &&&Table| t.value("name").and_then(Value::as_text) == Some(name);
        let Some(axis) = axes.iter().find(named) else {
            let known = axes.iter().filter_map(|t| t.value("name").and_then(Value::as_text));
            let (message, help) = (format!("there is no axis `{name}`"), format!("axes: {}", list(known)));
            faults.push(doc.error(origin, &over.path, message, help));
            continue;
        };
        let paths: Vec<&str> = match axis.value("set").map(|v| &v.kind) {
            Some(Kind::Text(path)) => vec![path],
            Some(Kind::List(list)) => list.iter().filter_map(Value::as_text).collect(),
            _ => Vec::new(),
        };
        for path in paths {
            changes.push(Change { path: path.to_owned(), value: value.clone(), origin });
        }
    }
    changes
}

/// Splits a path at dots. A quoted part, as in a file, may contain dots: `flow_weights."/a.b"`.
fn segments(path: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = path.split(|c| {
        is_quoted ^= c == '"';
        c == '.' && !is_quoted
    });
    parts.map(|part| part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).unwrap_or(part)).collect()
}

/// Applies one change to the tree. `early` selects the changes that expansion needs (`generate`, `defaults`);
/// the others come after it.
pub fn apply(doc: &Document, root: &mut Table, change: &Change, early: bool) -> Result<()> {
    let segments = segments(&change.path);
    let first = segments[0];
    if matches!(first, "generate" | "defaults") != early {
        return Ok(());
    }
    if segments.iter().any(|s| s.is_empty()) {
        return Err(fail(doc, change, "a part of the path is empty".into(), how(root)));
    }
    if NAMED.contains(&first) {
        return apply_named(doc, root, change, &segments);
    }
    match first {
        "scheme" => apply_scheme(doc, root, change, &segments),
        "routing" => match segments[..] {
            [_, key] => {
                settable(doc, change, "routing", key)?;
                put(table_at(doc, root, &["routing"], change)?, key, change);
                Ok(())
            }
            _ => Err(not_a_path(doc, change, "routing")),
        },
        "defaults" | "generate" => {
            let (section, key): (&str, &str) = match segments[..] {
                [_, key] => (first, key),
                [_, inner, key] => (&format!("{first}.{inner}"), key),
                _ => return Err(not_a_path(doc, change, first)),
            };
            if !["generate", "generate.flows", "defaults.node", "defaults.link", "defaults.flow"]
                .contains(&section)
            {
                return Err(not_a_path(doc, change, first));
            }
            if first == "generate" && root.value(first).is_none() {
                return Err(fail(doc, change, "the scenario has no `[generate]`".into(), how(root)));
            }
            settable(doc, change, section, key)?;
            put(table_at(doc, root, &section.split('.').collect::<Vec<_>>(), change)?, key, change);
            Ok(())
        }
        key if segments.len() == 1 && keys::find("", key).is_some() => {
            settable(doc, change, "", key)?;
            put(root, key, change);
            Ok(())
        }
        "expectation" => Err(fail(
            doc,
            change,
            "expectations cannot be set: they are the source's statements".into(),
            how(root),
        )),
        "route" => Err(fail(doc, change, "given routes cannot be set".into(), how(root))),
        _ => {
            let top_keys = keys::of("");
            let tops = keys::SECTIONS.iter().map(|s| s.name).chain(top_keys.iter().map(|k| k.key));
            let meant = did_you_mean(first, tops.filter(|s| !s.is_empty()));
            Err(fail(doc, change, format!("`{first}` does not exist or cannot be set{meant}"), how(root)))
        }
    }
}

fn apply_named(doc: &Document, root: &mut Table, change: &Change, segments: &[&str]) -> Result<()> {
    let section = segments[0];
    let [_, name, key] = segments[..] else {
        let message = format!("a path here has three parts: {}", address(section));
        return Err(fail(doc, change, message, settable_help(section, &item_names(root, section))));
    };
    let known = item_names(root, section);
    let items = root.value(section).and_then(Value::as_list).unwrap_or(&[]);
    // No name has quotes. They only mark the end of a name.
    let plain = name.replace(['\'', '"'], "");
    let hits = |named: bool| -> Vec<(usize, bool)> {
        let all = items.iter().enumerate();
        all.filter_map(|(i, value)| Some((i, is_meant(section, &plain, &known[i], value, named)?))).collect()
    };
    // Without a name, all links between two nodes match, unless one of them has no name.
    let hits = Some(hits(true)).filter(|hits| !hits.is_empty()).unwrap_or_else(|| hits(false));
    if hits.is_empty() {
        if section == "link"
            && let Some(medium) = medium_of(root, name)
        {
            let message = format!("{name} are stations of the medium `{medium}`, not a separate link");
            let help =
                format!("set medium.{medium}.KEY, with a KEY of: {}", settable_keys("medium").join(", "));
            return Err(fail(doc, change, message, help));
        }
        let meant = did_you_mean(name, known.iter().map(String::as_str));
        return Err(fail(
            doc,
            change,
            format!("there is no {section} `{name}`{meant}"),
            settable_help(section, &known),
        ));
    }
    settable(doc, change, section, key)?;
    if let Some(Kind::List(items)) = root.value_mut(section).map(|v| &mut v.kind) {
        for (i, back) in hits {
            if let Some(Kind::Table(table)) = items.get_mut(i).map(|v| &mut v.kind) {
                put(table, key, change);
                if back && let Some(Kind::List(pair)) = table.value_mut(key).map(|v| &mut v.kind) {
                    pair.reverse();
                }
            }
        }
    }
    Ok(())
}

/// Returns whether a text matches an item: a link by its ends in either order, and if `named` with its name.
/// The result is whether the order is reversed.
fn is_meant(section: &str, text: &str, known: &str, value: &Value, named: bool) -> Option<bool> {
    let Some([a, b]) = ends(value).filter(|_| section == "link") else {
        return names::fits(text, known).then_some(false);
    };
    let full = |a: &str, b: &str| match names::link_and_name(known).1.filter(|_| named) {
        Some(name) => format!("{a}-{b}:{name}"),
        None => format!("{a}-{b}"),
    };
    let straight = names::fits(text, &full(a, b));
    (straight || names::fits(text, &full(b, a))).then_some(!straight)
}

fn apply_scheme(doc: &Document, root: &mut Table, change: &Change, segments: &[&str]) -> Result<()> {
    match segments {
        [_, "default"] => {
            put(table_at(doc, root, &["scheme"], change)?, "default", change);
            Ok(())
        }
        [_, _] => Err(fail(
            doc,
            change,
            "a path here is `scheme.default` or `scheme.NAME.KEY`".into(),
            "the parameters of each scheme are on its page".into(),
        )),
        [path @ .., key] if path.len() >= 2 => {
            put(table_at(doc, root, path, change)?, key, change);
            Ok(())
        }
        _ => Err(not_a_path(doc, change, "scheme")),
    }
}

fn put(table: &mut Table, key: &str, change: &Change) {
    let mut value = change.value.clone();
    value.reorigin(change.origin);
    value.source = None;
    table.set(key, value);
}

/// Returns the table at a path, and creates it if it is missing.
fn table_at<'t>(
    doc: &Document,
    root: &'t mut Table,
    path: &[&str],
    change: &Change,
) -> Result<&'t mut Table> {
    let mut at = root;
    for key in path {
        if at.entry(key).is_none() {
            at.set(key, Value::new(Kind::Table(Table::default()), change.origin));
        }
        match at.value_mut(key).map(|v| &mut v.kind) {
            Some(Kind::Table(table)) => at = table,
            _ => return Err(fail(doc, change, format!("`{key}` is a value, not a table"), String::new())),
        }
    }
    Ok(at)
}

fn settable(doc: &Document, change: &Change, section: &str, key: &str) -> Result<()> {
    let keys = settable_keys(section);
    match keys::find(section, key) {
        Some(k) if k.settable => Ok(()),
        Some(_) => Err(fail(
            doc,
            change,
            format!("`{key}` cannot be set"),
            format!("settable here: {}", keys.join(", ")),
        )),
        None => {
            let meant = did_you_mean(key, keys.iter().copied());
            let help = format!("settable here: {}", keys.join(", "));
            Err(fail(doc, change, format!("unknown key `{key}`{meant}"), help))
        }
    }
}

/// Returns the medium that has the two nodes of `A-B` as stations.
fn medium_of<'r>(root: &'r Table, link: &str) -> Option<&'r str> {
    let pairs = names::pairs(link);
    let tables = root.value("medium")?.as_list()?.iter().filter_map(Value::as_table);
    let is_on = |table: &&Table| {
        let of = table.value("stations").map(|v| v.as_list().unwrap_or(core::slice::from_ref(v)));
        let texts = of.unwrap_or(&[]).iter().filter_map(Value::as_text);
        let stations: Vec<String> = texts.filter_map(|t| names::expand(t, None).ok()).flatten().collect();
        let is_station = |end: &str| stations.iter().any(|station| station == end);
        pairs.iter().any(|(a, b)| is_station(a) && is_station(b))
    };
    tables.into_iter().find(is_on)?.value("name")?.as_text()
}

fn settable_keys(section: &str) -> Vec<&'static str> {
    keys::of(section).iter().filter(|k| k.settable).map(|k| k.key).collect()
}

fn address(section: &str) -> &'static str {
    keys::SECTIONS.iter().find(|s| s.name == section).map_or("", |s| s.address)
}

fn settable_help(section: &str, known: &[String]) -> String {
    let keys = settable_keys(section);
    let plural = if section == "medium" { "media".to_owned() } else { format!("{section}s") };
    format!(
        "{plural} here: {}; settable in each: {}",
        list(known.iter().map(String::as_str)),
        keys.join(", ")
    )
}

fn not_a_path(doc: &Document, change: &Change, section: &str) -> DocumentError {
    let keys = settable_keys(section);
    fail(
        doc,
        change,
        format!("a path here is {}", address(section)),
        format!("settable here: {}", keys.join(", ")),
    )
}

/// Returns a help about what can be set in this document.
fn how(root: &Table) -> String {
    let mut ways: Vec<String> =
        keys::of("").iter().filter(|k| k.settable).map(|k| k.key.to_owned()).collect();
    for section in keys::SECTIONS.iter().filter(|s| !s.name.is_empty() && !s.address.is_empty()) {
        let here = match section.name {
            "scheme" | "routing" => true,
            "generate.flows" => root.table("generate").is_some_and(|g| g.value("flows").is_some()),
            name => root.value(name).is_some(),
        };
        if here {
            ways.push(section.address.split(" (").next().unwrap_or("").to_owned());
        }
    }
    format!("settable: {}", ways.join(", "))
}

fn fail(doc: &Document, change: &Change, message: String, help: String) -> DocumentError {
    doc.error(change.origin, &change.path, message, help)
}

/// Returns the names of a section's items, after expansion, as `--set` uses them.
pub fn item_names(root: &Table, section: &str) -> Vec<String> {
    let items = root.value(section).and_then(Value::as_list).unwrap_or(&[]);
    items.iter().enumerate().map(|(i, v)| item_name(section, i, v)).collect()
}

/// Returns the name of one item.
pub fn item_name(section: &str, index: usize, value: &Value) -> String {
    let Some(table) = value.as_table() else { return index.to_string() };
    if section == "link" {
        let name = table.value("name").and_then(Value::as_text);
        let name = name.map_or(String::new(), |name| format!(":{name}"));
        return ends(value).map_or_else(|| index.to_string(), |[a, b]| format!("{a}-{b}{name}"));
    }
    match table.value("name").and_then(Value::as_text) {
        Some(name) => name.to_owned(),
        None => index.to_string(),
    }
}

/// Returns the two ends of a link.
fn ends(link: &Value) -> Option<[&str; 2]> {
    let ends = link.as_table()?.value("ends")?.as_list()?;
    let ends: Vec<&str> = ends.iter().filter_map(Value::as_text).collect();
    ends.try_into().ok()
}
