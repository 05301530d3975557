//! GML (M. Himsolt, GML: a portable graph file format, 1997), as written by Topology Zoo and networkx.

use crate::ImportError;
use crate::attributes::{Attributes, label, place, stated};
use crate::topology::{Kind, Reader};

/// The deepest nesting that is accepted.
const DEEPEST: usize = 32;

/// A value of a key.
enum Value<'t> {
    /// A number or a text.
    Text(&'t str),
    List(Vec<Entry<'t>>),
}

struct Entry<'t> {
    key: &'t str,
    value: Value<'t>,
    line: usize,
}

/// A token of the file.
#[derive(Clone, Copy, PartialEq)]
enum Token<'t> {
    Word(&'t str),
    Quoted(&'t str),
    Open,
    Close,
}

struct Tokens<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Tokens<'t> {
    /// Returns the next token; `Err` if a text has no end.
    fn next(&mut self) -> Result<Option<Token<'t>>, &'static str> {
        loop {
            let trimmed = self.rest.trim_start();
            self.line += lines(&self.rest[..self.rest.len() - trimmed.len()]);
            self.rest = trimmed;
            match self.rest.chars().next() {
                None => return Ok(None),
                Some('#') => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
                Some('[') => {
                    self.skip(1);
                    return Ok(Some(Token::Open));
                }
                Some(']') => {
                    self.skip(1);
                    return Ok(Some(Token::Close));
                }
                Some('"') => {
                    let end = self.rest[1..].find('"').ok_or("a text without its end")?;
                    let text = &self.rest[1..1 + end];
                    self.line += lines(text);
                    self.skip(end + 2);
                    return Ok(Some(Token::Quoted(text)));
                }
                Some(_) => {
                    let is_end = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
                    let end = self.rest.find(is_end).unwrap_or(self.rest.len());
                    let word = &self.rest[..end];
                    self.skip(end);
                    return Ok(Some(Token::Word(word)));
                }
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the entries up to the end of the list, or of the file.
fn list<'t>(
    tokens: &mut Tokens<'t>,
    depth: usize,
    reader: &Reader<'_>,
) -> Result<Vec<Entry<'t>>, ImportError> {
    let mut entries = Vec::new();
    loop {
        let wrong = |line: usize, why: &str| reader.error(line, format!("this is not GML: {why}"));
        let key = match tokens.next().map_err(|why| wrong(tokens.line, why))? {
            Some(Token::Word(key)) => key,
            Some(Token::Close) if depth > 0 => return Ok(entries),
            None if depth == 0 => return Ok(entries),
            None => return Err(wrong(tokens.line, "a `[` without its `]`")),
            Some(_) => return Err(wrong(tokens.line, "a value without its key")),
        };
        let line = tokens.line;
        let value = match tokens.next().map_err(|why| wrong(tokens.line, why))? {
            Some(Token::Word(text) | Token::Quoted(text)) => Value::Text(text),
            Some(Token::Open) if depth == DEEPEST => return Err(wrong(line, "lists in lists, too deep")),
            Some(Token::Open) => Value::List(list(tokens, depth + 1, reader)?),
            Some(Token::Close) | None => return Err(wrong(line, &format!("`{key}` has no value"))),
        };
        entries.push(Entry { key, value, line });
    }
}

/// Returns the texts among entries, including those of a list `graphics`.
fn attributes<'t>(entries: &[Entry<'t>]) -> Attributes<'t> {
    let mut all = Vec::new();
    for entry in entries {
        match &entry.value {
            Value::Text(text) => all.push((entry.key, *text)),
            Value::List(inner) if entry.key == "graphics" => all.extend(attributes(inner)),
            Value::List(_) => {}
        }
    }
    all
}

fn text_of<'t>(attributes: &Attributes<'t>, key: &str) -> Option<&'t str> {
    attributes.iter().find(|(name, _)| *name == key).map(|(_, text)| *text)
}

/// Replaces the few entities of GML.
fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

pub fn read(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let mut tokens = Tokens { rest: text.trim_start_matches('\u{feff}'), line: 1 };
    let entries = list(&mut tokens, 0, reader)?;
    let mut graphs = entries.iter().filter_map(|entry| match &entry.value {
        Value::List(inner) if entry.key == "graph" => Some(inner),
        _ => None,
    });
    let Some(graph) = graphs.next() else {
        return Err(reader.error(1, "this is not GML: there is no `graph [ … ]`"));
    };
    if graphs.next().is_some() {
        reader.unused("graphs after the first");
    }
    let kind = match text_of(&attributes(graph), "directed") {
        Some("1") => Kind::OneWay,
        _ => Kind::Both,
    };
    let of_kind = |kind: &'static str| {
        graph.iter().filter_map(move |entry| match &entry.value {
            Value::List(inner) if entry.key == kind => Some((attributes(inner), entry.line)),
            _ => None,
        })
    };
    for (own, line) in of_kind("node") {
        let Some(id) = text_of(&own, "id") else { return Err(reader.error(line, "a node without `id`")) };
        let number = reader.node(id, line)?;
        reader.topology.nodes[number].label = label(&own).map(unescaped);
        reader.topology.nodes[number].place = place(&own);
    }
    for (own, line) in of_kind("edge") {
        let end = |key: &str| {
            let id = text_of(&own, key);
            let id = id.ok_or_else(|| reader.error(line, format!("an edge without `{key}`")))?;
            reader.known(id).ok_or_else(|| reader.error(line, format!("there is no node {id}")))
        };
        let ends = [end("source")?, end("target")?];
        let stated = stated(&own, reader);
        reader.edge(ends, kind, stated, line)?;
    }
    Ok(())
}
