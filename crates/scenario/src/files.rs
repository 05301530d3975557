//! The files that a scenario names: their content is a part of its text, so that a run depends on the text alone.

use toml::de::{DeTable, DeValue};

/// The keys that name a file, as `file NAME`.
const KEYS: [&str; 2] = ["arrivals", "amount"];

/// The files that a scenario's text names and has no content of, each once. None if it has a table `[files]`.
pub fn named_files(text: &str) -> Vec<String> {
    let (parsed, _) = DeTable::parse_recoverable(text);
    let root = parsed.get_ref();
    let mut names = Vec::new();
    if !root.contains_key("files") {
        of_table(root, &mut names);
    }
    names
}

fn of_table(table: &DeTable<'_>, names: &mut Vec<String>) {
    for (key, value) in table {
        of_value(key.get_ref(), value.get_ref(), names);
    }
}

fn of_value(key: &str, value: &DeValue<'_>, names: &mut Vec<String>) {
    match value {
        DeValue::Table(table) => of_table(table, names),
        DeValue::Array(list) => list.iter().for_each(|value| of_value(key, value.get_ref(), names)),
        DeValue::String(text) if KEYS.contains(&key) => {
            let name = text.trim().strip_prefix("file ").map(str::trim).filter(|name| !name.is_empty());
            if let Some(name) = name.filter(|name| !names.iter().any(|known| known == name)) {
                names.push(name.to_owned());
            }
        }
        _ => {}
    }
}

/// The text with the content of these files, in a table `[files]` at its end.
pub fn with_files(text: &str, files: &[(String, String)]) -> String {
    if files.is_empty() {
        return text.to_owned();
    }
    let lines = files.iter().map(|(name, content)| format!("{} = {}\n", quoted(name), quoted(content)));
    format!("{text}\n[files]\n{}", lines.collect::<String>())
}

/// A text as TOML has it in quotes.
fn quoted(text: &str) -> String {
    let escaped = text.chars().flat_map(|c| match c {
        '"' | '\\' => vec!['\\', c],
        '\n' => vec!['\\', 'n'],
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)).chars().collect(),
        c => vec![c],
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_where_keys_name_them_and_become_a_part_of_the_text() {
        let text = "title = \"file x\"\n[[flow]]\narrivals = \"file a.csv\"\namount = \"file s \\\"1\\\".txt\"\n[[flow]]\narrivals = \"file a.csv\"\n";
        let names = named_files(text);
        assert_eq!(names, ["a.csv", "s \"1\".txt"]);
        let files: Vec<_> = names.iter().map(|name| (name.clone(), format!("0,1\n'''{name}\"\"\"\n"))).collect();
        let whole = with_files(text, &files);
        assert_eq!(named_files(&whole), [""; 0]);
        let (parsed, faults) = DeTable::parse_recoverable(&whole);
        assert!(faults.is_empty(), "{faults:?}");
        let DeValue::Table(table) = parsed.get_ref()["files"].get_ref() else { panic!("[files] is a table") };
        for (name, content) in &files {
            assert_eq!(table[name.as_str()].get_ref().as_str(), Some(content.as_str()));
        }
    }
}
