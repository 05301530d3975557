//! The reference of results: the tables of a run, and the documents from the code of their models.

use weir_results::schema::{
    AXES_BEHIND, METADATA, Metric, Object, REQUESTS, STUDY_METADATA, STUDY_TABLES, TABLES, TRACE,
    TRACE_EVENTS, Table, axis, axis_number, metric,
};

use crate::page::Document;
use crate::{Result, read, root};

const PAGE: &str = "docs/reference/results.md";

/// The generated parts of the page.
pub fn documents() -> Result<Vec<Document>> {
    Ok(vec![
        Document::part(
            PAGE,
            "tables",
            reference_of(&[&TABLES[..], &[REQUESTS]].concat(), "run", "", &METADATA) + &trace(),
        ),
        Document::part(PAGE, "study", study()),
        Document::part(PAGE, "document", models()?),
    ])
}

/// The columns of the tables of a run or a study, and the metadata of their files. `axes` is the text at the place of a
/// study's axes.
fn reference_of(tables: &[Table], of: &str, axes: &str, metadata: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for table in tables {
        text += &format!("### `{}.parquet`\n\n", table.name);
        text += "| column | stored as | what it says |\n|---|---|---|\n";
        for column in table.columns {
            text += &format!("| `{}` | {} | {} |\n", column.name, column.stored(), column.about);
            text += if column.name == AXES_BEHIND { axes } else { "" };
        }
        text.push('\n');
    }
    text += &format!("### Metadata of each file of a {of}\n\n| key | value |\n|---|---|\n");
    for (key, about) in metadata {
        text += &format!("| `{key}` | {about} |\n");
    }
    text
}

/// The table of a trace.
fn trace() -> String {
    let mut text = "\n### A trace (`weir run --trace`)\n\n".to_owned();
    text += "| column | stored as | what it says |\n|---|---|---|\n";
    for column in TRACE.columns {
        text += &format!("| `{}` | {} | {} |\n", column.name, column.stored(), column.about);
    }
    text += "\n| `what` | what happens |\n|---|---|\n";
    for (name, about) in TRACE_EVENTS {
        text += &format!("| `{name}` | {about} |\n");
    }
    text
}

/// The tables of a study, and the objects of its figures.
fn study() -> String {
    let axes: String = [axis("AXIS"), axis_number("AXIS", "UNIT")]
        .map(|column| format!("| `{}` | {} | {} |\n", column.name, column.stored(), column.about))
        .concat();
    let mut text = reference_of(&STUDY_TABLES, "study", &axes, &STUDY_METADATA);
    text += "\n### Objects\n\n| `kind` | `object` |\n|---|---|\n";
    for (_, name, object) in Object::ALL {
        text += &format!("| `{name}` | {object} |\n");
    }
    text += "\n### Metrics\n\n| `metric` | `unit` | of | what it is |\n|---|---|---|---|\n";
    for Metric { name, unit, of, about } in metric::ALL {
        let unit = unit.map_or("of the quantity".to_owned(), |unit| format!("`{unit}`"));
        let of: Vec<&str> = of.iter().map(|kind| kind.name()).collect();
        text += &format!("| `{name}` | {unit} | {} | {about} |\n", of.join(", "));
    }
    text
}

/// A section for each struct of the models.
fn models() -> Result<String> {
    let mut code = String::new();
    for of in ["measure/src/model.rs", "results/src/model.rs", "results/src/sweep/model.rs"] {
        code += &read(&root().join("crates").join(of))?;
    }
    let mut text = String::new();
    for Shape { name, about, fields } in without_flattened(shapes(&code)) {
        text += &format!("### {name}\n\n{about}\n\n| key | value | meaning |\n|---|---|---|\n");
        for Field { name, kind, about, .. } in fields {
            text += &format!("| `{name}` | {} | {} |\n", in_json(&kind), about.replace("`None`", "`null`"));
        }
        text.push('\n');
    }
    Ok(text)
}

/// A struct of the models with its doc comment.
#[derive(Clone)]
struct Shape {
    name: String,
    about: String,
    fields: Vec<Field>,
}

#[derive(Clone)]
struct Field {
    name: String,
    kind: String,
    about: String,
    is_flattened: bool,
}

/// The structs of a source file.
fn shapes(code: &str) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let (mut comment, mut is_flattened) = (Vec::new(), false);
    for line in code.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("pub struct ") {
            let name = rest.trim_end_matches(" {").to_owned();
            shapes.push(Shape { name, about: comment.join(" "), fields: Vec::new() });
            comment.clear();
        } else if let Some((name, kind)) = line.strip_prefix("pub ").and_then(|field| field.split_once(": "))
        {
            let (name, kind) = (name.to_owned(), kind.trim_end_matches(',').to_owned());
            let field = Field { name, kind, about: comment.join(" "), is_flattened };
            if let Some(shape) = shapes.last_mut() {
                shape.fields.push(field);
            }
            (comment, is_flattened) = (Vec::new(), false);
        } else if line.starts_with("#[") {
            is_flattened |= line == "#[serde(flatten)]";
        } else {
            comment.clear();
        }
    }
    shapes
}

/// The structs, with flattened fields replaced by those of their types.
fn without_flattened(shapes: Vec<Shape>) -> Vec<Shape> {
    let fields = || shapes.iter().flat_map(|shape| &shape.fields);
    let is_part = |shape: &Shape| fields().any(|field| field.is_flattened && field.kind == shape.name);
    let is_row =
        |shape: &Shape| fields().any(|field| !field.is_flattened && field.kind.contains(&shape.name));
    let parts: Vec<Shape> = shapes.iter().filter(|shape| is_part(shape)).cloned().collect();
    // A flattened struct may also be a row elsewhere.
    let stays: Vec<bool> = shapes.iter().map(|shape| !is_part(shape) || is_row(shape)).collect();
    let mut stays = stays.into_iter();
    let mut whole = shapes;
    whole.retain(|_| stays.next() == Some(true));
    for shape in &mut whole {
        let in_place = |field: Field| {
            let part = parts.iter().find(|part: &&Shape| field.is_flattened && part.name == field.kind);
            part.map_or_else(|| vec![field], |part| part.fields.clone())
        };
        shape.fields = std::mem::take(&mut shape.fields).into_iter().flat_map(in_place).collect();
    }
    whole
}

/// The argument of a generic type.
fn inside<'k>(kind: &'k str, of: &str) -> Option<&'k str> {
    kind.strip_prefix(of)?.strip_prefix('<')?.strip_suffix('>')
}

/// The form of a Rust type in the JSON document.
fn in_json(kind: &str) -> String {
    let row = |name: &str| format!("[{name}](#{})", name.to_lowercase());
    match kind {
        "String" => "text".to_owned(),
        "f64" => "number".to_owned(),
        "u32" | "u64" => "whole number".to_owned(),
        "Vec<String>" => "list of texts".to_owned(),
        "Vec<u64>" => "list of whole numbers".to_owned(),
        "Vec<f64>" => "list of numbers".to_owned(),
        "Vec<Option<f64>>" => "list of numbers or `null`".to_owned(),
        "Vec<(u64, u64)>" => "list of pairs of whole numbers".to_owned(),
        "bool" => "`true`, `false`".to_owned(),
        "Relation" => "`about`, `at_most`, `at_least`, `more_than`, `less_than`".to_owned(),
        _ => match (inside(kind, "Option"), inside(kind, "Vec")) {
            (Some(inner), _) => format!("{} or `null`", in_json(inner)),
            (_, Some(inner)) => format!("list of {}", row(inner)),
            _ => row(kind),
        },
    }
}
