//! The sources of values, from the keys `source`.

use std::sync::Arc;

use crate::document::Document;
use crate::error::DocumentError;
use crate::tree::{Kind, Table, Value};

/// Gives each value the source that the document's `source` keys state for it.
///
/// A text covers its table and the tables in it. A table gives one source for each key, and `rest` for all
/// other keys. The document's own `source` covers only the keys at its top.
///
/// Returns an error for each source that is not a text, or whose key is not in the table.
pub fn annotate(doc: &Document, root: &mut Table) -> Vec<DocumentError> {
    let mut errors = Vec::new();
    let own = root.value("source").and_then(Value::as_text).map(Arc::from);
    for entry in &mut root.0 {
        match &mut entry.value.kind {
            Kind::Table(table) => annotate_table(doc, table, &entry.key, None, &mut errors),
            Kind::List(list) => {
                for value in list {
                    match &mut value.kind {
                        Kind::Table(table) => annotate_table(doc, table, &entry.key, None, &mut errors),
                        _ => value.source = own.clone(),
                    }
                }
            }
            _ => entry.value.source = own.clone(),
        }
    }
    errors
}

fn annotate_table(
    doc: &Document,
    table: &mut Table,
    path: &str,
    inherited: Option<Arc<str>>,
    errors: &mut Vec<DocumentError>,
) {
    let mut by_key: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    let mut rest = inherited;
    match table.value("source").map(|v| &v.kind) {
        None => {}
        Some(Kind::Text(text)) => rest = Some(Arc::clone(text)),
        Some(Kind::Table(says)) => {
            for e in &says.0 {
                let Some(text) = e.value.as_text() else {
                    let message = format!("{} is not a text that names the source of a value", e.value);
                    errors.push(doc.error(e.value.origin, format!("{path}.source.{}", e.key), message, ""));
                    continue;
                };
                if &*e.key == "rest" {
                    rest = Some(text.into());
                } else if table.entry(&e.key).is_some() {
                    by_key.push((Arc::clone(&e.key), text.into()));
                } else {
                    let keys: Vec<_> = table.keys().filter(|k| *k != "source").collect();
                    errors.push(doc.error(
                        e.key_origin,
                        format!("{path}.source"),
                        format!("this table has no key `{}` that could have a source", e.key),
                        format!("keys here: {}, and `rest` for all others", keys.join(", ")),
                    ));
                }
            }
        }
        // A value of a wrong kind is reported when the table is read.
        Some(_) => {}
    }
    for entry in &mut table.0 {
        if &*entry.key == "source" {
            continue;
        }
        let said = by_key.iter().find(|(k, _)| *k == entry.key).map(|(_, s)| Arc::clone(s)).or(rest.clone());
        annotate_value(doc, &mut entry.value, &format!("{path}.{}", entry.key), said, errors);
    }
}

fn annotate_value(
    doc: &Document,
    value: &mut Value,
    path: &str,
    said: Option<Arc<str>>,
    errors: &mut Vec<DocumentError>,
) {
    value.source = said.clone();
    match &mut value.kind {
        Kind::Table(table) => annotate_table(doc, table, path, said, errors),
        Kind::List(list) => list.iter_mut().for_each(|v| annotate_value(doc, v, path, said.clone(), errors)),
        _ => {}
    }
}
