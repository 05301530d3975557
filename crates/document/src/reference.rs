//! The reference of a format's keys, as Markdown.

use core::fmt::Write;

use crate::format::{Format, NONE, REQUIRED, Section, Shape};

/// Returns a heading and a table of keys for each section of a format.
pub fn tables(format: &Format) -> String {
    let mut text = String::new();
    for section in format.sections {
        let written = section.written.replace(", ", "`, `");
        let _ = write!(text, "### `{written}`\n\n{}\n\n{}\n", section.meaning, rows(format, section, false));
    }
    text
}

/// Returns the keys of one section, a row each. `with_set` adds a column for whether `--set` may change them.
pub fn rows(format: &Format, section: &Section, with_set: bool) -> String {
    let (head, rule) = if with_set { ("`--set` | ", "---|") } else { ("", "") };
    let mut text = format!("| key | value | without it | {head}meaning |\n|---|---|---|{rule}---|\n");
    for key in format.keys.iter().filter(|k| k.table == section.name) {
        let default = match key.default {
            REQUIRED => "an error".to_owned(),
            NONE => String::new(),
            default => format!("`{default}`"),
        };
        let set = match (with_set, key.settable) {
            (false, _) => "",
            (true, true) => "yes | ",
            (true, false) => " | ",
        };
        let (shape, meaning) = (label(key.shape).replace('|', "\\|"), key.meaning.replace('|', "\\|"));
        let _ = writeln!(text, "| `{}` | {shape} | {default} | {set}{meaning} |", key.key);
    }
    text
}

fn label(shape: Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::TextOf(what, _) => what.into(),
        Shape::TextsOf(what, _) => format!("{what}, or a list"),
        Shape::Choice(of) if of.len() > 9 => "a metric's name".into(),
        Shape::Choice(of) => of.iter().map(|c| format!("`\"{c}\"`")).collect::<Vec<_>>().join(", "),
        Shape::Class => "service class".into(),
        Shape::Switch => "`true`, `false`".into(),
        Shape::SwitchOr(word) => format!("`\"{word}\"`, `true`, `false`"),
        Shape::Whole(from, i64::MAX) => format!("whole number from {from}"),
        Shape::Whole(from, to) => format!("whole number, {from} to {to}"),
        Shape::Number(from, to) if to >= 1e12 => format!("number from {from}"),
        Shape::Number(from, to) => format!("number, {from} to {to}"),
        Shape::Span => "time".into(),
        Shape::SpanFrom(ms) => format!("time from {ms} ms"),
        Shape::Rate => "rate".into(),
        Shape::Size => "size".into(),
        Shape::Rates => "rate, or two".into(),
        Shape::Spans => "time, or two".into(),
        Shape::Numbers(from, to) => format!("number, {from} to {to}, or two"),
        Shape::RateRange => "rate, or a range of two".into(),
        Shape::SpanRange => "time, or a range of two".into(),
        Shape::SourceRate => "rate, or `\"elastic\"`".into(),
        Shape::Limit => "packets, size, or `\"unlimited\"`".into(),
        Shape::Texts => "text, or a list".into(),
        Shape::Pair => "two names".into(),
        Shape::SpanEach => "time, or a list".into(),
        Shape::WholeEach => "whole number from 1, or a list".into(),
        Shape::WholeEachOr(name, _) => format!("whole number from 1, a list, or a {name}"),
        Shape::Position => "two numbers".into(),
        Shape::Values => "list of values".into(),
        Shape::Window => "window's name, or two times".into(),
        Shape::Quantity => "quantity".into(),
        Shape::Source => "text, or a table of texts".into(),
        Shape::Map => "table".into(),
    }
}
