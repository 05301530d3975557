//! Edge lists: two nodes on a line, separated by blanks, commas, semicolons or `|`, and possibly a cost.
//! CAIDA's relationships have the kind of the relationship instead (`a|b|-1`), which is ignored. A first line
//! of words names columns.

use crate::ImportError;
use crate::attributes::{Attributes, cost, number, stated};
use crate::topology::{Kind, Reader, Stated};

pub fn read(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let mut header: Option<Vec<String>> = None;
    let mut is_first = true;
    for (at, line) in text.lines().enumerate() {
        let (at, line) = (at + 1, line.trim().trim_start_matches('\u{feff}'));
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let separator = ['|', ',', ';', '\t'].into_iter().find(|separator| line.contains(*separator));
        let fields: Vec<&str> = match separator {
            Some(separator) => line.split(separator).map(unquoted).collect(),
            // networkx writes its data as `{…}` at the end.
            None => line.split('{').next().unwrap_or("").split_whitespace().collect(),
        };
        if std::mem::take(&mut is_first) && is_header(&fields) {
            header = Some(fields.iter().map(|field| field.to_ascii_lowercase()).collect());
            continue;
        }
        let column = |names: &[&str], or: usize| match &header {
            Some(header) => header.iter().position(|name| names.contains(&&**name)).unwrap_or(or),
            None => or,
        };
        let ends = [column(FROM, 0), column(TO, 1)].map(|column| fields.get(column).copied().unwrap_or(""));
        if ends.iter().any(|end| end.is_empty()) {
            return Err(reader.error(at, "a line has two nodes, such as `a b`, `a,b` or `a|b|0`"));
        }
        let stated = match &header {
            Some(header) => {
                let named: Attributes<'_> =
                    header.iter().map(String::as_str).zip(fields.iter().copied()).collect();
                stated(&named, reader)
            }
            None if separator == Some('|') => {
                reader.unused("relationships");
                Stated::default()
            }
            None => match fields.get(2).filter(|field| !field.is_empty()) {
                Some(field) => {
                    let number = number(field).and_then(cost);
                    let wrong =
                        || reader.error(at, format!("`{field}` is not a cost: a number from 0.001 to 1e9"));
                    Stated { cost: Some(number.ok_or_else(wrong)?), ..Stated::default() }
                }
                None => Stated::default(),
            },
        };
        let ends = [reader.node(ends[0], at)?, reader.node(ends[1], at)?];
        reader.edge(ends, Kind::OneWay, stated, at)?;
    }
    Ok(())
}

const FROM: &[&str] = &["source", "from", "src", "node1"];
const TO: &[&str] = &["target", "to", "dst", "destination", "node2"];

/// Returns whether the first line names the columns of both ends.
fn is_header(fields: &[&str]) -> bool {
    let has = |names: &[&str]| fields.iter().any(|field| names.contains(&&*field.to_ascii_lowercase()));
    has(FROM) && has(TO)
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field).trim()
}
