//! Values and tables, each with its position.

use std::sync::Arc;

use toml::de::{DeTable, DeValue};

/// The position of a value; [`Document::location`](crate::Document::location) converts it to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The bytes `start..end` of the file.
    File {
        /// Offset of the first byte.
        start: u32,
        /// Offset after the last byte.
        end: u32,
    },
    /// An override: its index in [`Document::overrides`](crate::Document::overrides).
    Set(u32),
    /// The key's default: neither the file nor an override gives the value.
    Default,
}

/// A value with its position and its source.
#[derive(Clone, Debug)]
pub struct Value {
    /// The value itself.
    pub kind: Kind,
    /// The bytes of the value, or the override that gave it.
    pub origin: Origin,
    /// The paper, table or reason that the file's `source` keys give for the value.
    pub source: Option<Arc<str>>,
}

/// The kinds of values that TOML has.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number of 64 bits.
    Int(i64),
    /// A number with a point or an exponent, also `inf` and `nan`.
    Float(f64),
    /// A text with its escapes resolved.
    Text(Arc<str>),
    /// A date, a time of day or a larger number, as written. No key accepts these.
    Other(Arc<str>),
    /// `[ ]`, or the tables of `[[name]]`.
    List(Vec<Value>),
    /// `{ }`, or the keys below `[name]`.
    Table(Table),
}

/// Keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<Entry>);

/// One `key = value`.
#[derive(Clone, Debug)]
pub struct Entry {
    /// One part of a dotted key: `a.b = 1` is a table `a` with an entry `b`.
    pub key: Arc<str>,
    /// The bytes of the key, for errors about the key itself.
    pub key_origin: Origin,
    /// The value after `=`.
    pub value: Value,
}

impl Table {
    /// Finds the entry of a key. A key with dots is not split.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| &*e.key == key)
    }

    /// Finds the value of a key.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|e| &e.value)
    }

    /// Finds the value of a key, to change it.
    pub fn value_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|e| &*e.key == key).map(|e| &mut e.value)
    }

    /// Finds the table of a key; `None` if the value is not a table.
    pub fn table(&self, key: &str) -> Option<&Table> {
        self.value(key).and_then(Value::as_table)
    }

    /// Replaces the value of a key, or adds the key at the end.
    pub fn set(&mut self, key: &str, value: Value) {
        match self.value_mut(key) {
            Some(old) => *old = value,
            None => self.0.push(Entry { key: key.into(), key_origin: value.origin, value }),
        }
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|e| &*e.key == key)?;
        Some(self.0.remove(at).value)
    }

    /// Iterates over the keys in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|e| &*e.key)
    }
}

impl Value {
    /// Returns a value without a source.
    pub fn new(kind: Kind, origin: Origin) -> Value {
        Value { kind, origin, source: None }
    }

    /// Returns a text without a source.
    pub fn text(text: &str, origin: Origin) -> Value {
        Value::new(Kind::Text(text.into()), origin)
    }

    /// Returns its keys and values; `None` if it is not a table.
    pub fn as_table(&self) -> Option<&Table> {
        if let Kind::Table(table) = &self.kind { Some(table) } else { None }
    }

    /// Returns its text; `None` if it is not a text.
    pub fn as_text(&self) -> Option<&str> {
        if let Kind::Text(text) = &self.kind { Some(text) } else { None }
    }

    /// Returns its items; `None` if it is not a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Kind::List(list) = &self.kind { Some(list) } else { None }
    }

    /// Returns the name of its kind in messages: `a whole number`.
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

    /// Sets the origin of the value and of all values in it, and removes their sources.
    pub fn reorigin(&mut self, origin: Origin) {
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
    /// Writes the notation of `--set`: that of a file, but texts have no quotes.
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

fn origin(span: core::ops::Range<usize>) -> Origin {
    Origin::File { start: span.start as u32, end: span.end as u32 }
}

/// Converts a parsed table to our tree.
pub(crate) fn table(from: &DeTable<'_>) -> Table {
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

/// Parses the value of an override or a default: TOML if it can be parsed as such, else a list of such values
/// in `[ ]`, else a text.
pub fn parse_value(text: &str, origin: Origin) -> Value {
    let text = text.trim();
    let mut value = match DeValue::parse(text) {
        Ok(v) => Value::new(kind(v.get_ref()), origin),
        Err(_) => match text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            // A list that is not TOML: its texts have no quotes.
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
