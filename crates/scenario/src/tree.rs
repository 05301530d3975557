//! The document as a tree that remembers where every value stands and what is said about its
//! origin, so that overrides and expansions can work on it before it is read.

use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::error::{Location, ScenarioError};
use crate::format::Format;

/// Where a value stands: bytes of the file, or an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bytes of the file.
    File {
        /// The first.
        start: u32,
        /// The first after it.
        end: u32,
    },
    /// An override, by its number.
    Set(u32),
    /// Nobody gave it.
    Default,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Value {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub origin: Origin,
    /// What the file says about where the value comes from.
    pub source: Option<Arc<str>>,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(Arc<str>),
    /// Dates and the like, which no key takes.
    Other(Arc<str>),
    /// A list.
    List(Vec<Value>),
    /// A table.
    Table(Table),
}

/// Keys in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<Entry>);

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Arc<str>,
    /// Where the key stands.
    pub key_origin: Origin,
    /// Its value.
    pub value: Value,
}

impl Table {
    /// The entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| &*e.key == key)
    }

    /// The value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|e| &e.value)
    }

    pub(crate) fn value_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|e| &*e.key == key).map(|e| &mut e.value)
    }

    /// The table of a key, if it is one.
    pub fn table(&self, key: &str) -> Option<&Table> {
        self.value(key).and_then(Value::as_table)
    }

    /// Adds a key, or gives it another value.
    pub(crate) fn set(&mut self, key: &str, value: Value) {
        match self.value_mut(key) {
            Some(old) => *old = value,
            None => self.0.push(Entry { key: key.into(), key_origin: value.origin, value }),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|e| &*e.key == key)?;
        Some(self.0.remove(at).value)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|e| &*e.key)
    }
}

impl Value {
    pub(crate) fn new(kind: Kind, origin: Origin) -> Value {
        Value { kind, origin, source: None }
    }

    pub(crate) fn text(text: &str, origin: Origin) -> Value {
        Value::new(Kind::Text(text.into()), origin)
    }

    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        if let Kind::Table(table) = &self.kind { Some(table) } else { None }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// The list, if it is one.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Kind::List(list) = &self.kind { Some(list) } else { None }
    }

    /// Its kind in words, for messages.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            Kind::Bool(_) => "true or false",
            Kind::Int(_) => "a whole number",
            Kind::Float(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::Other(_) => "a date or time of day",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
        }
    }

    /// Gives the value and all in it another origin and no source.
    pub(crate) fn reorigin(&mut self, origin: Origin) {
        self.origin = origin;
        self.source = None;
        match &mut self.kind {
            Kind::List(list) => list.iter_mut().for_each(|v| v.reorigin(origin)),
            Kind::Table(table) => {
                for e in &mut table.0 {
                    e.key_origin = origin;
                    e.value.reorigin(origin);
                }
            }
            _ => {}
        }
    }
}

impl core::fmt::Display for Value {
    /// As in a file, but a text without quotes; as `--set` takes it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.kind {
            Kind::Bool(b) => write!(f, "{b}"),
            Kind::Int(n) => write!(f, "{n}"),
            Kind::Float(x) => write!(f, "{x:?}"),
            Kind::Text(s) | Kind::Other(s) => f.write_str(s),
            Kind::List(list) => {
                f.write_str("[")?;
                for (i, v) in list.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    match v.as_text() {
                        Some(text) => write!(f, "{text:?}")?,
                        None => write!(f, "{v}")?,
                    }
                }
                f.write_str("]")
            }
            Kind::Table(table) => {
                f.write_str("{")?;
                for (i, e) in table.0.iter().enumerate() {
                    write!(f, "{}{} = {}", if i == 0 { " " } else { ", " }, e.key, e.value)?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// The text of a file and the overrides: turns origins into places.
#[derive(Debug)]
pub struct Doc {
    /// What its keys may be.
    pub format: Format,
    /// The label that the caller gave it.
    pub file: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
    /// `--set PATH=VALUE` of each override.
    pub labels: Vec<Arc<str>>,
}

impl Doc {
    /// A document of this format, not yet read.
    pub fn new(format: Format, file: &str, text: &str) -> Doc {
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1));
        Doc { format, file: file.into(), text: text.into(), line_starts, labels: Vec::new() }
    }

    /// Where that is, for people.
    pub fn location(&self, origin: Origin) -> Location {
        match origin {
            Origin::Set(i) => Location::Set(Arc::clone(&self.labels[i as usize])),
            Origin::Default => Location::File { file: Arc::clone(&self.file), line: 1, column: 1, width: 0 },
            Origin::File { start, end } => {
                let start = start.min(self.text.len() as u32);
                let line = self.line_starts.partition_point(|&s| s <= start) - 1;
                let from = self.line_starts[line] as usize;
                let chars = |range: core::ops::Range<usize>| {
                    self.text.get(range).map_or(0, |s| s.lines().next().unwrap_or("").chars().count()) as u32
                };
                Location::File {
                    file: Arc::clone(&self.file),
                    line: line as u32 + 1,
                    column: 1 + chars(from..start as usize),
                    width: chars(start as usize..(end.max(start) as usize).min(self.text.len())).max(1),
                }
            }
        }
    }

    /// An error at a place.
    pub fn error(
        &self,
        origin: Origin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        self.error_at(self.location(origin), key, message, help)
    }

    /// An error at a place that is for people already.
    pub fn error_at(
        &self,
        location: Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        ScenarioError::new(location, key, message, help, &self.text)
    }

    /// Reads the text into a tree.
    ///
    /// # Errors
    /// It is not TOML.
    pub fn tree(&self) -> Result<Table, ScenarioError> {
        if self.text.len() > u32::MAX as usize {
            return Err(self.error(Origin::Default, "", "the file is larger than 4 GiB", ""));
        }
        let parsed = DeTable::parse(&self.text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let at = Origin::File { start: span.start as u32, end: span.end as u32 };
            // The parser's message may have lines of its own.
            let message = e.message().lines().collect::<Vec<_>>().join("; ");
            let help = if e.message().contains("duplicate key") {
                let list = self.format.list;
                format!(
                    "a key may be given once in a table; for a list of tables write [[{list}]], not [{list}]"
                )
            } else if e.message().contains("literal") || e.message().contains("invalid") {
                "texts and quantities stand in quotes: rate = \"10 Mb/s\"".to_owned()
            } else {
                String::new()
            };
            self.error(at, "", format!("this is not TOML: {message}"), help)
        })?;
        Ok(table(parsed.get_ref()))
    }
}

fn origin(span: core::ops::Range<usize>) -> Origin {
    Origin::File { start: span.start as u32, end: span.end as u32 }
}

fn table(from: &DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = from
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().as_ref().into(),
            key_origin: origin(key.span()),
            value: Value::new(kind(value.get_ref()), origin(value.span())),
        })
        .collect();
    entries.sort_by_key(|e| match e.key_origin {
        Origin::File { start, .. } => start,
        _ => 0,
    });
    Table(entries)
}

fn kind(from: &DeValue<'_>) -> Kind {
    match from {
        DeValue::String(s) => Kind::Text(s.as_ref().into()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Kind::Int(n),
            Err(_) => Kind::Other(n.as_str().into()),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Kind::Float(x),
            Err(_) => Kind::Other(x.as_str().into()),
        },
        DeValue::Boolean(b) => Kind::Bool(*b),
        DeValue::Datetime(d) => Kind::Other(d.to_string().into()),
        DeValue::Array(list) => {
            Kind::List(list.iter().map(|v| Value::new(kind(v.get_ref()), origin(v.span()))).collect())
        }
        DeValue::Table(t) => Kind::Table(table(t)),
    }
}

/// The value in an override or a default: TOML if it reads as that, else a list of such in `[ ]`,
/// else text.
pub fn parse_value(text: &str, origin: Origin) -> Value {
    let text = text.trim();
    let mut value = match DeValue::parse(text) {
        Ok(v) => Value::new(kind(v.get_ref()), origin),
        Err(_) => match text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            // A list of what is no list: texts without quotes.
            Some(inner) if !inner.contains(['[', ']', '"']) => {
                let list = split(inner).into_iter().map(|item| parse_value(item, origin)).collect();
                Value::new(Kind::List(list), origin)
            }
            _ => Value::text(text, origin),
        },
    };
    if let Kind::Other(_) = value.kind {
        value = Value::text(text, origin);
    }
    value.reorigin(origin);
    value
}

/// Splits at commas outside of braces.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0u32);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// Writes what `source` keys say onto the values that they are about.
///
/// A text covers its table and the tables in it; a table says it key by key, `rest` for all others.
/// The document's own `source` covers only the keys at its top.
pub fn annotate(doc: &Doc, root: &mut Table) -> Result<(), ScenarioError> {
    let own = root.value("source").and_then(Value::as_text).map(Arc::from);
    for entry in &mut root.0 {
        match &mut entry.value.kind {
            Kind::Table(table) => annotate_table(doc, table, &entry.key, None)?,
            Kind::List(list) => {
                for value in list {
                    match &mut value.kind {
                        Kind::Table(table) => annotate_table(doc, table, &entry.key, None)?,
                        _ => value.source = own.clone(),
                    }
                }
            }
            _ => entry.value.source = own.clone(),
        }
    }
    Ok(())
}

fn annotate_table(
    doc: &Doc,
    table: &mut Table,
    path: &str,
    inherited: Option<Arc<str>>,
) -> Result<(), ScenarioError> {
    let mut by_key: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    let mut rest = inherited;
    match table.value("source").map(|v| &v.kind) {
        None => {}
        Some(Kind::Text(text)) => rest = Some(Arc::clone(text)),
        Some(Kind::Table(says)) => {
            for e in &says.0 {
                let Some(text) = e.value.as_text() else {
                    let message = format!("{} is not a text that says where a value comes from", e.value);
                    return Err(doc.error(e.value.origin, format!("{path}.source.{}", e.key), message, ""));
                };
                if &*e.key == "rest" {
                    rest = Some(text.into());
                } else if table.entry(&e.key).is_some() {
                    by_key.push((Arc::clone(&e.key), text.into()));
                } else {
                    let keys: Vec<_> = table.keys().filter(|k| *k != "source").collect();
                    return Err(doc.error(
                        e.key_origin,
                        format!("{path}.source"),
                        format!("there is no key `{}` in this table to say the source of", e.key),
                        format!("keys here: {}, and `rest` for all others", keys.join(", ")),
                    ));
                }
            }
        }
        // A wrong kind is reported when the table is read.
        Some(_) => {}
    }
    for entry in &mut table.0 {
        if &*entry.key == "source" {
            continue;
        }
        let said = by_key.iter().find(|(k, _)| *k == entry.key).map(|(_, s)| Arc::clone(s)).or(rest.clone());
        annotate_value(doc, &mut entry.value, &format!("{path}.{}", entry.key), said)?;
    }
    Ok(())
}

fn annotate_value(
    doc: &Doc,
    value: &mut Value,
    path: &str,
    said: Option<Arc<str>>,
) -> Result<(), ScenarioError> {
    value.source = said.clone();
    match &mut value.kind {
        Kind::Table(table) => annotate_table(doc, table, path, said),
        Kind::List(list) => list.iter_mut().try_for_each(|v| annotate_value(doc, v, path, said.clone())),
        _ => Ok(()),
    }
}
