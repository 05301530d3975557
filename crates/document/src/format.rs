//! What a file format is: its tables, their keys and what values look like.

/// A format: what its files may say.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Every table, in the order of the reference.
    pub sections: &'static [Section],
    /// Every key.
    pub keys: &'static [Key],
    /// The key of a table, also one that it shares with another.
    pub find: fn(table: &str, key: &str) -> Option<&'static Key>,
    /// The keys of a table, in order, with those that it shares.
    pub of: fn(table: &str) -> Vec<&'static Key>,
    /// A table of which there may be several, for messages.
    pub list: &'static str,
}

/// What the value of a key looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A text.
    Text,
    /// A text that is something: what in the reference, and what would be right.
    TextOf(&'static str, &'static str),
    /// Such a text, or a list of them.
    TextsOf(&'static str, &'static str),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A service class.
    Class,
    /// `true` or `false`.
    Switch,
    /// A whole number from .. to.
    Whole(i64, i64),
    /// A number from .. to.
    Number(f64, f64),
    /// A time with its unit.
    Span,
    /// A time with its unit, from that many milliseconds.
    SpanFrom(u64),
    /// A rate with its unit.
    Rate,
    /// A size with its unit.
    Size,
    /// A rate, or a list of two: there and back.
    Rates,
    /// A time, or a list of two: there and back.
    Spans,
    /// A range of rates: one, or a list of the lowest and the highest.
    RateRange,
    /// A range of times: one, or a list of the shortest and the longest.
    SpanRange,
    /// A rate, or `"elastic"`.
    SourceRate,
    /// A bound in packets (a whole number, or `"20 packets"`), in bytes, or `"unlimited"`.
    Limit,
    /// A text, or a list of texts.
    Texts,
    /// A list of two texts.
    Pair,
    /// A time, or a list with one for each flow.
    SpanEach,
    /// A whole number from 1, or a list with one for each flow.
    WholeEach,
    /// A list of two numbers.
    Position,
    /// A list of values.
    Values,
    /// The name of a window, or a list of two times.
    Window,
    /// A number in the metric's unit, or a quantity with its unit.
    Quantity,
    /// A text, or a table of texts by key.
    Source,
    /// A table of values by name.
    Map,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table: `""` is the document's top, `link` is `[[link]]`, `generate.flows` is `[generate.flows]`.
    pub table: &'static str,
    /// The key.
    pub key: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What it is without being given, as it would stand in a file; `REQUIRED`, or `NONE`.
    pub default: &'static str,
    /// Whether `--set` may change it.
    pub settable: bool,
    /// What it means, one sentence or two.
    pub meaning: &'static str,
}

/// The key has to be given.
pub const REQUIRED: &str = "required";
/// Without the key there is no such thing.
pub const NONE: &str = "";

/// A table of the format.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its path.
    pub name: &'static str,
    /// How it is written.
    pub written: &'static str,
    /// How `--set` addresses an item, if it does.
    pub address: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

impl Shape {
    /// In words, with an example: what would be right.
    pub fn wanted(self) -> String {
        match self {
            Shape::Text => "a text".into(),
            Shape::TextOf(_, wanted) => wanted.into(),
            Shape::TextsOf(_, wanted) => format!("{wanted}; or a list of such"),
            Shape::Choice(of) => {
                format!("one of {}", of.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", "))
            }
            Shape::Class => "a service class: CS7, CS6, EF, AF4, AF3, AF2, AF1 or BE".into(),
            Shape::Switch => "true or false".into(),
            Shape::Whole(from, i64::MAX) => format!("a whole number from {from}"),
            Shape::Whole(from, to) => format!("a whole number from {from} to {to}"),
            Shape::Number(from, to) => format!("a number from {from} to {to}"),
            Shape::Span => "a time with its unit, such as \"10 ms\"".into(),
            Shape::SpanFrom(ms) => format!("a time from {ms} ms, such as \"{} ms\"", 10 * ms),
            Shape::Rate => "a rate with its unit, such as \"10 Mb/s\"".into(),
            Shape::Size => "a size with its unit, such as \"1024 B\"".into(),
            Shape::Rates => "a rate such as \"10 Mb/s\", or two: [\"10 Mb/s\", \"1 Mb/s\"]".into(),
            Shape::Spans => "a time such as \"10 ms\", or two: [\"10 ms\", \"20 ms\"]".into(),
            Shape::RateRange => "a rate such as \"10 Mb/s\", or a range: [\"10 Mb/s\", \"1 Gb/s\"]".into(),
            Shape::SpanRange => "a time such as \"10 ms\", or a range: [\"1 ms\", \"20 ms\"]".into(),
            Shape::SourceRate => "a rate such as \"100 kb/s\", or \"elastic\"".into(),
            Shape::Limit => "a bound: a number of packets, a size such as \"30 kB\", or \"unlimited\"".into(),
            Shape::Texts => "a text, or a list of texts".into(),
            Shape::Pair => "a list of two names, such as [\"R1\", \"R2\"]".into(),
            Shape::SpanEach => "a time such as \"10 s\", or a list with one for each flow".into(),
            Shape::WholeEach => "a whole number from 1, or a list with one for each flow".into(),
            Shape::Position => "a list of two numbers, such as [2, 0.5]".into(),
            Shape::Values => "a list of values, such as [0.0, 0.5, 1.0]".into(),
            Shape::Window => "the name of a window, or a list of two times".into(),
            Shape::Quantity => "a number, or a quantity with its unit".into(),
            Shape::Source => "a text, or a table with a text for each key".into(),
            Shape::Map => "a table, such as { ratio = 0.4 }".into(),
        }
    }
}
