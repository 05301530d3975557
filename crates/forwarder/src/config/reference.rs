//! Documentation of the file format: the tables of the reference, and the default file with a comment at each key.

use std::fmt::Write;

use weir_document::{Key, NONE, REQUIRED, Section, Shape};

use super::keys::{FORMAT, LISTS, SHARED};

/// The reference of all keys, as Markdown.
pub fn markdown() -> String {
    weir_document::reference::tables(&FORMAT)
}

/// Example values of keys without a default: table, key, value.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (SHARED, "rate", "\"100 Mb/s\""),
    (SHARED, "receive_rate", "\"20 Mb/s\""),
    (SHARED, "mtu", "\"1420 B\""),
    ("faces.udp", "mtu_by_network", "{ \"192.0.2.0/24\" = \"8800 B\" }"),
    (SHARED, "classes", "{ CS7 = \"refuse\", EF = \"1 Mb/s\", AF4 = \"AF1\" }"),
    (SHARED, "share_by", "\"flow\""),
    ("face", "name", "\"uplink\""),
    ("face", "remote", "\"udp4://192.0.2.1:6363\""),
    ("face", "local", "\"udp4://192.0.2.7:6363\""),
    ("face", "scheme", "{}"),
    ("route", "prefix", "\"/video\""),
    ("route", "face", "\"uplink\""),
    ("strategy", "prefix", "\"/video\""),
    ("strategy", "strategy", "\"best-route\""),
    ("metrics", "listen", "\"127.0.0.1:9363\""),
    ("capture", "path", "\"/var/lib/weir/capture.pcapng\""),
    ("record", "path", "\"/var/lib/weir/inputs.record\""),
];

const HEAD: &str = "\
# The forwarder's file with its defaults: `weir forward --config FILE` uses a file, `--check` checks it.
#
# Every key is commented out. `#key = value` is its default; `# key = value` is an example for a key without a default.
# docs/reference/forwarder-config.md describes every key.
";

/// The default file: every key with its meaning, commented out.
pub fn default_file() -> String {
    let mut text = HEAD.to_owned();
    for section in FORMAT.sections {
        text.push('\n');
        comment(&mut text, section.meaning);
        let is_example = section.name == SHARED || LISTS.contains(&section.name);
        match section.name {
            // These keys continue the table before, which is one of the tables that have them.
            SHARED => {}
            name if LISTS.contains(&name) => {
                let _ = writeln!(text, "# [[{name}]]");
            }
            name => {
                let _ = writeln!(text, "[{name}]");
            }
        }
        keys(&mut text, section, is_example);
    }
    text
}

fn keys(text: &mut String, section: &Section, is_example: bool) {
    for key in FORMAT.keys.iter().filter(|key| key.table == section.name) {
        comment(text, key.meaning);
        let mark = if is_example || matches!(key.default, NONE | REQUIRED) { "# " } else { "#" };
        let _ = writeln!(text, "{mark}{} = {}", key.key, value(key));
    }
}

/// The default of a key as the file writes it, or an example.
fn value(key: &Key) -> String {
    let example = EXAMPLES.iter().find(|(table, name, _)| (*table, *name) == (key.table, key.key));
    match (example, key.shape) {
        (Some((.., example)), _) => (*example).to_owned(),
        (_, Shape::Switch | Shape::Whole(..) | Shape::Limit | Shape::TextsOf(..)) => key.default.to_owned(),
        _ => format!("\"{}\"", key.default),
    }
}

/// Appends words as a comment, in lines of at most 100 characters.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.len() + 1 + word.len() > 100 {
            let _ = writeln!(text, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
