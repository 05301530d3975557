//! The table of keys of a file format, and the shapes of values.

/// The table of keys of one kind of file.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Every table that a file may have, in the order of the reference.
    pub sections: &'static [Section],
    /// Every key, those of one section together.
    pub keys: &'static [Key],
    /// Finds a key of a section, including keys that it shares with another section.
    pub find: fn(table: &str, key: &str) -> Option<&'static Key>,
    /// Returns the keys of a section, including shared ones, in the order of messages.
    pub of: fn(table: &str) -> Vec<&'static Key>,
    /// A section with several tables, as the example in the message about `[name]` instead of
    /// `[[name]]`.
    pub list: &'static str,
}

/// The kinds and bounds of values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Any text.
    Text,
    /// A text with a special form: the name of the form for the reference, and the help of an error.
    TextOf(&'static str, &'static str),
    /// As [`Shape::TextOf`], or a list of such texts.
    TextsOf(&'static str, &'static str),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A service class such as `EF`.
    Class,
    /// `true` or `false`.
    Switch,
    /// `true`, `false`, or this text.
    SwitchOr(&'static str),
    /// A whole number from the first to the second, both included.
    Whole(i64, i64),
    /// A number from the first to the second, both included.
    Number(f64, f64),
    /// A time with its unit.
    Span,
    /// A time with its unit, at least this many milliseconds.
    SpanFrom(u64),
    /// A rate with its unit.
    Rate,
    /// A size with its unit.
    Size,
    /// A rate, or a list of two rates, one for each direction.
    Rates,
    /// A time, or a list of two times, one for each direction.
    Spans,
    /// A number from the first to the second, both included, or a list of two, one for each direction.
    Numbers(f64, f64),
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
    /// As [`Shape::WholeEach`], or a text with a special form: its name for the reference, and the help of an error.
    WholeEachOr(&'static str, &'static str),
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

/// A key of a section: its values and its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its section: `""` is the top of the document, `link` is `[[link]]`, `generate.flows` is `[generate.flows]`.
    pub table: &'static str,
    /// Its name in the file: `rate`.
    pub key: &'static str,
    /// The kinds and bounds of its values.
    pub shape: Shape,
    /// The default in the notation of a file; or [`REQUIRED`], or [`NONE`].
    pub default: &'static str,
    /// Whether `--set` may change it.
    pub settable: bool,
    /// For a table that names one of several kinds of things: the keys that name the kinds with this key.
    /// Empty: all kinds have it.
    pub beside: &'static [&'static str],
    /// One sentence or two for the reference, the JSON Schema and errors.
    pub meaning: &'static str,
}

impl Key {
    /// Returns the same key, restricted to tables with one of these keys.
    #[must_use]
    pub const fn beside(self, keys: &'static [&'static str]) -> Key {
        Key { beside: keys, ..self }
    }
}

/// Returns the names of a list of values. The second argument is their index in the tuples.
///
/// ```
/// const COLOURS: [(u8, &str); 2] = [(0, "red"), (1, "blue")];
/// const NAMES: &[&str] = weir_document::names!(COLOURS, 1);
/// assert_eq!(NAMES, ["red", "blue"]);
/// ```
#[macro_export]
macro_rules! names {
    ($all:expr, $place:tt) => {
        const {
            &{
                let (mut names, mut at) = ([""; $all.len()], 0);
                while at < names.len() {
                    names[at] = $all[at].$place;
                    at += 1;
                }
                names
            }
        }
    };
}

/// In [`Key::default`]: a table without the key is an error.
pub const REQUIRED: &str = "required";
/// In [`Key::default`]: a table without the key has no such value.
pub const NONE: &str = "";

/// A table that a file may have, once or several times.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its path: `link`, `generate.flows`; empty for the top of the file.
    pub name: &'static str,
    /// Its header in a file: `[[link]]`.
    pub written: &'static str,
    /// The path that `--set` takes for a key of it: `link.A-B.KEY`; empty if none.
    pub address: &'static str,
    /// Its description.
    pub meaning: &'static str,
}

impl Shape {
    /// Returns whether a value may be a list of two, one for each direction of a link.
    pub const fn has_directions(self) -> bool {
        matches!(self, Shape::Rates | Shape::Spans | Shape::Numbers(..))
    }

    /// Returns a description of the valid values, with an example.
    pub fn wanted(self) -> String {
        match self {
            Shape::Text => "a text".into(),
            Shape::TextOf(_, wanted) => wanted.into(),
            Shape::TextsOf(_, wanted) => format!("{wanted}; or a list of them"),
            Shape::Choice(of) => {
                format!("one of {}", of.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", "))
            }
            Shape::Class => "a service class: CS7, CS6, EF, AF4, AF3, AF2, AF1 or BE".into(),
            Shape::Switch => "true or false".into(),
            Shape::SwitchOr(word) => format!("true, false or \"{word}\""),
            Shape::Whole(from, i64::MAX) => format!("a whole number from {from}"),
            Shape::Whole(from, to) => format!("a whole number from {from} to {to}"),
            Shape::Number(from, to) => format!("a number from {from} to {to}"),
            Shape::Span => "a time with its unit, such as \"10 ms\"".into(),
            Shape::SpanFrom(ms) => format!("a time from {ms} ms, such as \"{} ms\"", 10 * ms),
            Shape::Rate => "a rate with its unit, such as \"10 Mb/s\"".into(),
            Shape::Size => "a size with its unit, such as \"1024 B\"".into(),
            Shape::Rates => "a rate such as \"10 Mb/s\", or two: [\"10 Mb/s\", \"1 Mb/s\"]".into(),
            Shape::Spans => "a time such as \"10 ms\", or two: [\"10 ms\", \"20 ms\"]".into(),
            Shape::Numbers(from, to) => format!("a number from {from} to {to}, or two: [{from}, {to}]"),
            Shape::RateRange => "a rate such as \"10 Mb/s\", or a range: [\"10 Mb/s\", \"1 Gb/s\"]".into(),
            Shape::SpanRange => "a time such as \"10 ms\", or a range: [\"1 ms\", \"20 ms\"]".into(),
            Shape::SourceRate => "a rate such as \"100 kb/s\", or \"elastic\"".into(),
            Shape::Limit => "a bound: a number of packets, a size such as \"30 kB\", or \"unlimited\"".into(),
            Shape::Texts => "a text, or a list of texts".into(),
            Shape::Pair => "a list of two names, such as [\"R1\", \"R2\"]".into(),
            Shape::SpanEach => "a time such as \"10 s\", or a list with one for each flow".into(),
            Shape::WholeEach => "a whole number from 1, or a list with one for each flow".into(),
            Shape::WholeEachOr(_, wanted) => wanted.into(),
            Shape::Position => "a list of two numbers, such as [2, 0.5]".into(),
            Shape::Values => "a list of values, such as [0.0, 0.5, 1.0]".into(),
            Shape::Window => "the name of a window, or a list of two times".into(),
            Shape::Quantity => "a number, or a quantity with its unit".into(),
            Shape::Source => "a text, or a table with a text for each key".into(),
            Shape::Map => "a table, such as { ratio = 0.4 }".into(),
        }
    }
}
