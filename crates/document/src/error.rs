//! Errors in a document, with their positions.

use core::fmt;
use std::sync::Arc;

/// The position of a value, as errors show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the file.
    File {
        /// The file's name as the caller gave it.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// Number of characters on that line; 0 if the error is about the file as a whole.
        width: u32,
    },
    /// In an override: `--set link.R2-R3.rate=10Mb/s`.
    Set(Arc<str>),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File { file, line, .. } => write!(f, "{file}:{line}"),
            Location::Set(label) => f.write_str(&shown(label, MESSAGE)),
        }
    }
}

/// The largest number of characters of a line of the file that are shown around a mistake.
const LINE: usize = 120;
/// The largest number of characters of a message. A text from the file may be as long as the file.
const MESSAGE: usize = 2000;

/// Returns a character for display. A control character is replaced by a symbol of the same width, so that
/// the caret is below its value.
fn harmless(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        // Direction marks would reverse the rest of the line.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    }
}

/// Returns a text that is safe for a terminal, cut to `most` characters.
fn shown(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(most).map(harmless).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns the part of a line around columns `from..from + width`, from 0, with the new position of these.
fn around(line: &str, from: usize, width: usize) -> (String, usize, usize) {
    let length = line.chars().count();
    let wide = width.clamp(1, LINE);
    let first =
        if length <= LINE || from + wide <= LINE { 0 } else { from.saturating_sub((LINE - wide) / 2) };
    let tabs_stay = |c: char| if c == '\t' { c } else { harmless(c) };
    let mut text: String = line.chars().skip(first).take(LINE).map(tabs_stay).collect();
    if first > 0 {
        text.insert(0, '…');
    }
    if length > first + LINE {
        text.push('…');
    }
    let at = from - first + usize::from(first > 0);
    let end = text.chars().count().max(at + 1);
    (text, at, wide.min(end - at))
}

/// An error in a document: position, key, message and help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    location: Location,
    key: String,
    message: String,
    help: String,
    /// The line around the mistake, and the position of the mistake in it.
    source_line: Option<(String, usize, usize)>,
    /// Whether another error may be its cause.
    follows: bool,
}

impl DocumentError {
    /// Returns an error at `location` of the document `text`; the error shows this line. `key` has the form
    /// that `--set` takes, and `help` names the correct alternatives; it may be empty.
    pub fn new(
        location: Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
        text: &str,
    ) -> DocumentError {
        let source_line = match &location {
            Location::File { width: 0, .. } => None,
            Location::File { line, column, width, .. } => text
                .lines()
                .nth(*line as usize - 1)
                .map(|l| around(l.trim_end(), *column as usize - 1, *width as usize)),
            Location::Set(_) => None,
        };
        let [key, message, help] = [key.into(), message.into(), help.into()].map(|t| shown(&t, MESSAGE));
        DocumentError(Box::new(Inner { location, key, message, help, source_line, follows: false }))
    }

    /// Marks the error as possibly caused by another one. It is then not shown beside others.
    pub fn following(mut self, follows: bool) -> DocumentError {
        self.0.follows = follows;
        self
    }

    /// Returns whether another error may have caused this one.
    pub fn follows(&self) -> bool {
        self.0.follows
    }

    /// Returns file, line and column, or the override.
    pub fn location(&self) -> &Location {
        &self.0.location
    }

    /// Returns whether the other error has the same key and message, at any position.
    pub fn is_same(&self, other: &DocumentError) -> bool {
        (self.key(), self.message()) == (other.key(), other.message())
    }

    /// Moves the error to `overrides`: the override or overrides without which the document is valid.
    pub fn made_by(self, overrides: &str) -> DocumentError {
        let Inner { location, key, message, mut help, follows, .. } = *self.0;
        if let Location::File { width: 1.., .. } = location {
            help += if help.is_empty() { "" } else { "; " };
            help += &format!("see {location}");
        }
        let location = Location::Set(overrides.into());
        DocumentError(Box::new(Inner { location, key, message, help, source_line: None, follows }))
    }

    /// Returns the path of the file, or the override as `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        match &self.0.location {
            Location::File { file, .. } => file,
            Location::Set(label) => label,
        }
    }

    /// Returns the line in the file, from 1; 0 for an override.
    pub fn line(&self) -> u32 {
        match self.0.location {
            Location::File { line, .. } => line,
            Location::Set(_) => 0,
        }
    }

    /// Returns the column in the line, in characters, from 1; 0 for an override.
    pub fn column(&self) -> u32 {
        match self.0.location {
            Location::File { column, .. } => column,
            Location::Set(_) => 0,
        }
    }

    /// Returns the key, in the form that `--set` takes; empty if the text is not TOML.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Returns the message, without the position.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the correct alternatives; may be empty.
    pub fn help(&self) -> &str {
        &self.0.help
    }
}

impl fmt::Display for DocumentError {
    /// Writes `FILE:LINE: KEY: message`, the line with a caret below, and the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { location, key, message, help, source_line, .. } = &*self.0;
        let said = |set: &str| set.contains(&format!("{key}="));
        write!(f, "{location}: ")?;
        // An override already contains its key, unless it covers several keys.
        if !key.is_empty() && !matches!(location, Location::Set(set) if said(set)) {
            write!(f, "{key}: ")?;
        }
        f.write_str(message)?;
        if let (Location::File { line, .. }, Some((text, at, width))) = (location, source_line) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret is below its value.
            let lead: String = text.chars().take(*at).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n{margin} |\n{number} | {text}\n{margin} | {lead}{}", "^".repeat(*width))?;
        }
        if !help.is_empty() {
            write!(f, "\n  = {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DocumentError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(column: u32, width: u32, text: &str) -> String {
        let location = Location::File { file: "x.toml".into(), line: 1, column, width };
        DocumentError::new(location, "key", "wrong", "", text).to_string()
    }

    #[test]
    fn a_long_line_is_shown_around_the_mistake() {
        let line = format!("{}bad{}", "a".repeat(5000), "b".repeat(5000));
        let said = at(5001, 3, &line);
        assert!(said.chars().count() < 400, "{said}");
        let lines: Vec<&str> = said.lines().collect();
        let column =
            |part: &str, of: &str| of.chars().collect::<String>().find(part).map(|b| of[..b].chars().count());
        assert_eq!(column("bad", lines[2]), column("^^^", lines[3]), "{said}");
        assert!(lines[2].contains("…aaa") && lines[2].ends_with("bbb…"), "{said}");
        // The whole line may be the mistake.
        let said = at(1, 10_000, &line);
        assert!(said.chars().count() < 400, "{said}");
        assert_eq!(said.matches('^').count(), 120);
    }

    #[test]
    fn nothing_that_is_shown_is_obeyed_by_a_terminal() {
        let said = at(3, 1, "a\u{1b}[31m\0\u{7f}\u{9b}\u{202e}\tx");
        assert!(said.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{said:?}");
        assert!(said.contains("a␛[31m␀␡\u{fffd}\u{fffd}\tx"), "{said:?}");
        let location = Location::Set("--set x=\u{1b}c".into());
        let said = DocumentError::new(location, "k\u{7}", "m\u{8}", "h\r", "").to_string();
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    }

    #[test]
    fn a_message_does_not_grow_with_the_file() {
        let said = DocumentError::new(Location::Set("--set x=1".into()), "", "m".repeat(1 << 20), "", "");
        assert!(said.to_string().len() < 3000);
    }
}
