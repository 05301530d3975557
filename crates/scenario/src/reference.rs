//! Documentation of the file format: the key tables of the reference and a JSON Schema, both from the table of keys.

use core::fmt::Write;

use serde_json::{Map, Value, json};
use weir_document::reference::rows;
use weir_document::{Key, NONE, REQUIRED, Shape};
use weir_packet::signal::ServiceClass;

use crate::keys::{self, HANDED_ON, SECTIONS};
use crate::model::Metric;

const LISTS: &[&str] =
    &["node", "link", "medium", "flow", "route", "event", "window", "axis", "figure", "expectation"];

/// The reference of all keys, as Markdown: a heading and a table for each table of the format, then
/// the metrics.
pub fn markdown() -> String {
    let mut text = String::new();
    for section in SECTIONS {
        let title = if section.name.is_empty() {
            "The top of the file".to_owned()
        } else {
            format!("`{}`", section.written)
        };
        let title = title.replace(", ", "`, `");
        let _ = write!(text, "### {title}\n\n{}\n\n", section.meaning);
        if !section.address.is_empty() {
            let address: Vec<String> = section
                .address
                .split_once(" (")
                .map_or(section.address, |a| a.0)
                .split(", ")
                .map(|a| format!("`{a}`"))
                .collect();
            let note = section.address.split_once(" (").map_or(String::new(), |a| format!(" ({}", a.1));
            let _ = write!(text, "With `--set`: {}{note}.\n\n", address.join(", "));
        }
        if section.name == "defaults" {
            continue;
        }
        text.push_str(&rows(&keys::FORMAT, section, true));
        if section.name == "generate.flows" {
            let keys: Vec<String> = HANDED_ON.iter().map(|k| format!("`{k}`")).collect();
            let _ = write!(text, "\nAnd, as in `[[flow]]`: {}.\n", keys.join(", "));
        }
        text.push('\n');
    }
    text.push_str("### Metrics\n\nAn expectation measures one of these over its window.\n\n");
    text.push_str("| metric | unit | of | meaning |\n|---|---|---|---|\n");
    for (metric, name, unit) in Metric::ALL {
        let of = match (metric.needs_link(), metric) {
            (true, Metric::DataRate) => "flows on links",
            (true, _) => "links",
            (false, _) => "flows",
        };
        let _ = writeln!(text, "| `{name}` | {unit} | {of} | {} |", metric.meaning());
    }
    text
}

/// The JSON Schema of the format, for editors that complete and check TOML.
pub fn schema() -> String {
    let mut top = table("");
    let properties = top["properties"].as_object_mut().expect("a table has properties");
    for name in LISTS {
        properties.insert((*name).to_owned(), json!({ "type": "array", "items": table(name) }));
    }
    for name in ["scheme", "routing", "generate"] {
        properties.insert(name.to_owned(), table(name));
    }
    properties["scheme"]["additionalProperties"] = json!({ "type": "object" });
    properties["generate"]["properties"]["flows"] = table("generate.flows");
    let defaults: Map<String, Value> = ["node", "link", "flow"]
        .iter()
        .map(|of| {
            let mut table = table(&format!("defaults.{of}"));
            table.as_object_mut().expect("a table is an object").remove("required");
            ((*of).to_owned(), table)
        })
        .collect();
    properties.insert(
        "defaults".into(),
        json!({ "type": "object", "properties": defaults, "additionalProperties": false, "description": meaning("defaults") }),
    );
    let out = top.as_object_mut().expect("a table is an object");
    out["required"].as_array_mut().expect("some keys are required").push(json!("scheme"));
    out.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    out.insert("title".into(), json!("Weir scenario"));
    let mut text = serde_json::to_string_pretty(&top).expect("a value is written as text");
    text.push('\n');
    text
}

fn meaning(section: &str) -> &'static str {
    SECTIONS.iter().find(|s| s.name == section).map_or("", |s| s.meaning)
}

fn table(section: &str) -> Value {
    let keys = keys::of(section);
    let properties: Map<String, Value> = keys.iter().map(|k| (k.key.to_owned(), property(k))).collect();
    // What [defaults] may give is not required of each table.
    let has_defaults = |k: &Key| keys::find(&format!("defaults.{}", k.table), k.key).is_some();
    let required: Vec<&str> =
        keys.iter().filter(|k| k.default == REQUIRED && !has_defaults(k)).map(|k| k.key).collect();
    let mut out = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    if !meaning(section).is_empty() {
        out["description"] = json!(meaning(section));
    }
    out
}

fn property(key: &Key) -> Value {
    let mut of = shape(key.shape);
    of["description"] = json!(key.meaning);
    if key.default != REQUIRED && key.default != NONE {
        of["default"] = serde_json::from_str(key.default).unwrap_or_else(|_| json!(key.default));
    }
    of
}

fn quantity(units: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^\\s*[0-9][0-9_]*(\\.[0-9_]*)?\\s*({units})\\s*$") })
}

fn shape(shape: Shape) -> Value {
    let text = || json!({ "type": "string" });
    let span = || quantity("s|ms|us|µs|ns|min");
    let rate = || quantity("b/s|kb/s|Mb/s|Gb/s|Tb/s");
    let size = || quantity("B|kB|MB|GB|KiB|MiB|GiB");
    let two = |of: Value| json!({ "type": "array", "items": of, "minItems": 2, "maxItems": 2 });
    let or_two = |of: Value| json!({ "anyOf": [of.clone(), two(of)] });
    match shape {
        Shape::Text | Shape::TextOf(..) => text(),
        Shape::Choice(of) => json!({ "enum": of }),
        Shape::Class => json!({ "enum": ServiceClass::ALL.map(ServiceClass::name) }),
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::SwitchOr(word) => json!({ "anyOf": [{ "type": "boolean" }, { "const": word }] }),
        Shape::Whole(from, i64::MAX) => json!({ "type": "integer", "minimum": from }),
        Shape::Whole(from, to) => json!({ "type": "integer", "minimum": from, "maximum": to }),
        Shape::Number(from, to) => json!({ "type": "number", "minimum": from, "maximum": to }),
        Shape::Numbers(from, to) => or_two(json!({ "type": "number", "minimum": from, "maximum": to })),
        Shape::Span | Shape::SpanFrom(_) => span(),
        Shape::Rate => rate(),
        Shape::Size => size(),
        Shape::Rates | Shape::RateRange => or_two(rate()),
        Shape::Spans | Shape::SpanRange => or_two(span()),
        Shape::SourceRate => json!({ "anyOf": [rate(), { "const": "elastic" }] }),
        Shape::Limit => json!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "const": "unlimited" },
                { "type": "string", "pattern": "^\\s*[0-9][0-9_]*\\s*packets?\\s*$" },
                size(),
            ]
        }),
        Shape::Texts | Shape::TextsOf(..) => {
            json!({ "anyOf": [text(), { "type": "array", "items": text() }] })
        }
        Shape::Pair => two(text()),
        Shape::SpanEach => json!({ "anyOf": [span(), { "type": "array", "items": span(), "minItems": 1 }] }),
        Shape::WholeEach => {
            let one = json!({ "type": "integer", "minimum": 1 });
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Shape::WholeEachOr(..) => {
            let one = json!({ "type": "integer", "minimum": 1 });
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }, text()] })
        }
        Shape::Position => {
            let one = two(json!({ "type": "number" }));
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Shape::Values => json!({ "type": "array", "minItems": 1 }),
        Shape::Window => json!({ "anyOf": [text(), two(span())] }),
        Shape::Quantity => json!({ "anyOf": [{ "type": "number" }, rate(), span()] }),
        Shape::Source => {
            json!({ "anyOf": [text(), { "type": "object", "additionalProperties": text() }] })
        }
        Shape::Map => json!({ "type": "object" }),
    }
}
