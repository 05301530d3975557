//! Typed reads from one table of the tree, each checked against the format's table of keys.

use std::borrow::Cow;
use std::sync::Arc;

use weir_core::seam::QueueLimit;
use weir_core::units::{Bytes, Rate, Span};
use weir_core::words::{did_you_mean, nearest};

use crate::document::Document;
use crate::error::DocumentError;
use crate::format::{Key, NONE, REQUIRED, Shape};
use crate::tree::{Entry, Kind, Origin, Table, Value, parse_value};

type Result<T> = core::result::Result<T, DocumentError>;

/// One table of a document, read against the keys of its section: `[metrics]`, or one `[[link]]`.
///
/// Each reading method takes a key of the section; the [`Shape`] of the key defines the valid values. A method
/// named `opt_*` returns `None` for a key that is not in the table; the others return its default.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The document, which finds lines and makes errors.
    pub doc: &'a Document,
    /// The section of the format whose keys the table may have: `link`.
    pub section: &'static str,
    /// Its path in messages and for `--set`: `link.R2-R3`.
    pub path: &'a str,
    /// Keys and values as given.
    pub table: &'a Table,
    /// The position of the table's header.
    pub origin: Origin,
}

/// A bound of a queue or a cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes of packets.
    Bytes(Bytes),
    /// The text `unlimited`.
    Unlimited,
}

impl<'a> Item<'a> {
    /// Returns the path of one of its keys: `link.R2-R3.rate`.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Returns the position of the value of `key`; without the key, that of the table's header.
    pub fn origin_of(&self, key: &str) -> Origin {
        self.given(key).map_or(self.origin, |value| value.origin)
    }

    /// Returns an error about `key`, at the value `at`.
    pub fn error(
        &self,
        key: &str,
        at: &Value,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> DocumentError {
        self.doc.error(at.origin, self.path_of(key), message, help)
    }

    /// Returns an error about the table as a whole, at its header.
    pub fn error_here(&self, message: impl Into<String>, help: impl Into<String>) -> DocumentError {
        self.doc.error(self.origin, self.path, message, help)
    }

    /// Rejects keys that the section does not have.
    ///
    /// # Errors
    /// Returns an error for the first unknown key, with the known one that was probably meant.
    pub fn check_keys(&self) -> Result<()> {
        self.unknown_keys().next().map_or(Ok(()), Err)
    }

    /// Returns an error for each unknown key, with the known one that was probably meant.
    pub fn unknown_keys(&self) -> impl Iterator<Item = DocumentError> {
        let is_unknown = |entry: &&Entry| (self.doc.format.find)(self.section, &entry.key).is_none();
        let unknown = self.table.0.iter().filter(is_unknown);
        unknown.map(|entry| self.unknown(&entry.key, entry.key_origin))
    }

    fn unknown(&self, key: &str, origin: Origin) -> DocumentError {
        let known: Vec<&str> = (self.doc.format.of)(self.section).iter().map(|k| k.key).collect();
        let meant = did_you_mean(key, known.iter().copied());
        let path = self.path.to_owned();
        self.doc.error(
            origin,
            path,
            format!("unknown key `{key}`{meant}"),
            format!("keys here: {}", known.join(", ")),
        )
    }

    /// Returns whether an unknown key is probably meant to be this one.
    fn is_misspelt(&self, key: &str) -> bool {
        let known = (self.doc.format.of)(self.section);
        let unknown = self.table.keys().filter(|k| (self.doc.format.find)(self.section, k).is_none());
        unknown.into_iter().any(|unknown| nearest(unknown, known.iter().map(|k| k.key)) == Some(key))
    }

    fn key(&self, key: &str) -> &'static Key {
        (self.doc.format.find)(self.section, key).expect("only keys of the table are asked for")
    }

    /// Returns the value as given; `None` for a key that is not in the table.
    pub fn given(&self, key: &str) -> Option<&'a Value> {
        debug_assert!((self.doc.format.find)(self.section, key).is_some(), "{}.{key}", self.section);
        self.table.value(key)
    }

    /// Returns the value as given, else the key's default.
    ///
    /// # Errors
    /// Returns an error if the key is missing and has no default.
    pub fn value(&self, key: &str) -> Result<Cow<'a, Value>> {
        if let Some(value) = self.table.value(key) {
            return Ok(Cow::Borrowed(value));
        }
        let spec = self.key(key);
        if spec.default == REQUIRED {
            let message = format!("the key `{key}` is missing");
            let missing =
                self.error_here(message, format!("{} It is {}.", spec.meaning, spec.shape.wanted()));
            return Err(missing.following(self.is_misspelt(key)));
        }
        Ok(Cow::Owned(parse_value(spec.default, Origin::Default)))
    }

    /// Returns the error that `value` does not have the shape of `key`.
    pub fn wrong(&self, key: &str, value: &Value) -> DocumentError {
        self.wrong_shape(key, value, self.key(key).shape)
    }

    /// Returns the error that `value`, the value of `key`, does not have this shape.
    pub fn wrong_shape(&self, key: &str, value: &Value, shape: Shape) -> DocumentError {
        let message = match &value.kind {
            Kind::Text(t) => format!("`{t}` is not {}", shape.wanted()),
            Kind::Table(_) | Kind::List(_) => format!("{} is not {}", value.kind_name(), shape.wanted()),
            _ => format!("{value} is not {}", shape.wanted()),
        };
        self.error(key, value, message, "")
    }

    fn unit<T: core::str::FromStr<Err: core::fmt::Display>>(
        &self,
        key: &str,
        value: &Value,
        shape: Shape,
    ) -> Result<T> {
        match value.as_text() {
            Some(text) => text.parse().map_err(|e: T::Err| self.error(key, value, e.to_string(), "")),
            None => {
                let help = match (&value.kind, value.origin) {
                    (Kind::Int(_) | Kind::Float(_), Origin::Set(_)) => "write the unit behind the number",
                    (Kind::Int(_) | Kind::Float(_), _) => "write the number and its unit in quotes",
                    _ => "",
                };
                let error = self.wrong_shape(key, value, shape);
                Err(self.error(key, value, error.message(), help))
            }
        }
    }

    /// Reads a text. An override has no quotes, so a number in it may be meant as a text.
    fn text_of(&self, key: &str, value: &Value) -> Result<Arc<str>> {
        match (&value.kind, value.origin) {
            (Kind::Text(text), _) => Ok(Arc::clone(text)),
            (Kind::Int(_) | Kind::Float(_) | Kind::Bool(_), Origin::Set(_)) => Ok(value.to_string().into()),
            _ => Err(self.wrong(key, value)),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// Returns an error if the value is not a text, or is missing.
    pub fn text(&self, key: &str) -> Result<String> {
        let value = self.value(key)?;
        Ok(self.text_of(key, &value)?.to_string())
    }

    /// Reads a text, or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not a text.
    pub fn opt_text(&self, key: &str) -> Result<Option<String>> {
        self.given(key).map(|v| Ok(self.text_of(key, v)?.to_string())).transpose()
    }

    /// Reads a text or a list of texts, each with its position.
    ///
    /// # Errors
    /// Returns an error if one of them is not a text, or the value is missing.
    pub fn texts(&self, key: &str) -> Result<Vec<(Arc<str>, Origin)>> {
        let value = self.value(key)?;
        self.texts_of(key, &value)
    }

    fn texts_of(&self, key: &str, value: &Value) -> Result<Vec<(Arc<str>, Origin)>> {
        match value.as_list() {
            Some(list) => list.iter().map(|v| Ok((self.text_of(key, v)?, v.origin))).collect(),
            None => Ok(vec![(self.text_of(key, value)?, value.origin)]),
        }
    }

    /// Reads one of the words of a [`Shape::Choice`].
    ///
    /// # Errors
    /// Returns an error if the value is not one of these words, or is missing.
    pub fn choice(&self, key: &str) -> Result<&'static str> {
        let value = self.value(key)?;
        let Shape::Choice(of) = self.key(key).shape else { return Err(self.wrong(key, &value)) };
        let Some(text) = value.as_text() else { return Err(self.wrong(key, &value)) };
        of.iter().copied().find(|c| *c == text).ok_or_else(|| {
            let meant = nearest(text, of.iter().copied());
            let help = meant.map_or(String::new(), |m| format!("did you mean \"{m}\"?"));
            let error = self.wrong(key, &value);
            self.error(key, &value, error.message(), help)
        })
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// Returns an error if the value is neither, or is missing.
    pub fn switch(&self, key: &str) -> Result<bool> {
        let value = self.value(key)?;
        match value.kind {
            Kind::Bool(b) => Ok(b),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// Reads `true`, `false`, or the word of a [`Shape::SwitchOr`], for which it returns `None`.
    ///
    /// # Errors
    /// Returns an error if the value is none of the three.
    pub fn switch_or_word(&self, key: &str) -> Result<Option<bool>> {
        let value = self.value(key)?;
        match (&value.kind, self.key(key).shape) {
            (Kind::Bool(b), _) => Ok(Some(*b)),
            (Kind::Text(text), Shape::SwitchOr(word)) if **text == *word => Ok(None),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// Reads `true` or `false`, or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is neither `true` nor `false`.
    pub fn opt_switch(&self, key: &str) -> Result<Option<bool>> {
        self.given(key).map(|_| self.switch(key)).transpose()
    }

    /// Reads a whole number within the bounds of its [`Shape::Whole`].
    ///
    /// # Errors
    /// Returns an error if the value is not such a number, or is missing.
    pub fn whole(&self, key: &str) -> Result<u64> {
        let value = self.value(key)?;
        match (&value.kind, self.key(key).shape) {
            (Kind::Int(n), Shape::Whole(from, to)) if (from..=to).contains(n) => Ok(*n as u64),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// Reads a whole number like [`Item::whole`], or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not such a number.
    pub fn opt_whole(&self, key: &str) -> Result<Option<u64>> {
        self.given(key).map(|_| self.whole(key)).transpose()
    }

    /// Reads a number within the bounds of its [`Shape::Number`].
    ///
    /// # Errors
    /// Returns an error if the value is not such a number, or is missing.
    pub fn number(&self, key: &str) -> Result<f64> {
        let value = self.value(key)?;
        let number = match value.kind {
            Kind::Int(n) => n as f64,
            Kind::Float(x) => x,
            _ => return Err(self.wrong(key, &value)),
        };
        match self.key(key).shape {
            Shape::Number(from, to) if (from..=to).contains(&number) => Ok(number),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// Reads a number like [`Item::number`], or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not such a number.
    pub fn opt_number(&self, key: &str) -> Result<Option<f64>> {
        self.given(key).map(|_| self.number(key)).transpose()
    }

    /// Reads a time with its unit, at least that of its [`Shape::SpanFrom`].
    ///
    /// # Errors
    /// Returns an error if the value is not such a time, or is missing.
    pub fn span(&self, key: &str) -> Result<Span> {
        let value = self.value(key)?;
        let span: Span = self.unit(key, &value, Shape::Span)?;
        match self.key(key).shape {
            Shape::SpanFrom(ms) if span < Span::from_millis(ms) => Err(self.wrong(key, &value)),
            _ => Ok(span),
        }
    }

    /// Reads a time like [`Item::span`], or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not such a time.
    pub fn opt_span(&self, key: &str) -> Result<Option<Span>> {
        self.given(key).map(|_| self.span(key)).transpose()
    }

    /// Reads a time above zero with its unit.
    ///
    /// # Errors
    /// Returns an error if the value is not such a time, or is missing.
    pub fn positive_span(&self, key: &str) -> Result<Span> {
        let span = self.span(key)?;
        if span == Span::ZERO {
            let value = self.value(key)?;
            return Err(self.error(key, &value, "the time must be longer than 0 s", ""));
        }
        Ok(span)
    }

    /// Reads a rate above 0 b/s with its unit.
    ///
    /// # Errors
    /// Returns an error if the value is not such a rate, or is missing.
    pub fn rate(&self, key: &str) -> Result<Rate> {
        let value = self.value(key)?;
        let rate = self.unit(key, &value, self.key(key).shape)?;
        self.above_zero(key, &value, rate)
    }

    /// Reads a rate like [`Item::rate`], or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not such a rate.
    pub fn opt_rate(&self, key: &str) -> Result<Option<Rate>> {
        self.given(key).map(|_| self.rate(key)).transpose()
    }

    fn above_zero(&self, key: &str, value: &Value, rate: Rate) -> Result<Rate> {
        if rate == Rate::ZERO {
            return Err(self.error(key, value, "the rate must be above 0 b/s", ""));
        }
        Ok(rate)
    }

    /// Reads a size in bytes with its unit.
    ///
    /// # Errors
    /// Returns an error if the value is not a size, or is missing.
    pub fn size(&self, key: &str) -> Result<Bytes> {
        let value = self.value(key)?;
        self.unit(key, &value, Shape::Size)
    }

    /// Reads a size like [`Item::size`], or returns `None` without the key.
    ///
    /// # Errors
    /// Returns an error if the value is not a size.
    pub fn opt_size(&self, key: &str) -> Result<Option<Bytes>> {
        self.given(key).map(|v| self.unit(key, v, Shape::Size)).transpose()
    }

    /// Reads one value for both directions of a link, or a list of two.
    fn pair<T: Copy>(&self, key: &str, value: &Value, read: impl Fn(&Value) -> Result<T>) -> Result<[T; 2]> {
        match value.as_list() {
            Some([there, back]) => Ok([read(there)?, read(back)?]),
            Some(list) => {
                let message = format!("a list of {} is not {}", list.len(), self.key(key).shape.wanted());
                Err(self.error(key, value, message, ""))
            }
            None => read(value).map(|v| [v, v]),
        }
    }

    /// Reads the rates of both directions of a link, each above 0 b/s: one for both, or a list of two.
    ///
    /// # Errors
    /// Returns an error if one of them is not such a rate, or the value is missing.
    pub fn rates(&self, key: &str) -> Result<[Rate; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| {
            let rate = self.unit(key, v, Shape::Rates)?;
            self.above_zero(key, v, rate)
        })
    }

    /// Reads one of the rates that `what` supports, which are `allowed`.
    ///
    /// # Errors
    /// Returns an error if the value is not one of them, or is missing.
    pub fn rate_of(&self, key: &str, allowed: &[Rate], what: &str) -> Result<Rate> {
        let value = self.value(key)?;
        self.allowed_rate(key, &value, allowed, what)
    }

    /// Reads the rates of both directions of a link, each like [`Item::rate_of`].
    ///
    /// # Errors
    /// Returns an error if one of them is not allowed, or the value is missing.
    pub fn rates_of(&self, key: &str, allowed: &[Rate], what: &str) -> Result<[Rate; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| self.allowed_rate(key, v, allowed, what))
    }

    fn allowed_rate(&self, key: &str, value: &Value, allowed: &[Rate], what: &str) -> Result<Rate> {
        let rate: Rate = self.unit(key, value, self.key(key).shape)?;
        if allowed.contains(&rate) {
            return Ok(rate);
        }
        let known: Vec<String> = allowed.iter().map(Rate::to_string).collect();
        let message = format!("{rate} is not a rate of {what}");
        Err(self.error(key, value, message, format!("rates: {}", known.join(", "))))
    }

    /// Reads the times of both directions of a link: one for both, or a list of two.
    ///
    /// # Errors
    /// Returns an error if one of them is not a time, or the value is missing.
    pub fn spans(&self, key: &str) -> Result<[Span; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| self.unit(key, v, Shape::Spans))
    }

    /// Reads the numbers of both directions of a link within the bounds of its [`Shape::Numbers`]: one for
    /// both, or a list of two.
    ///
    /// # Errors
    /// Returns an error if one of them is not such a number, or the value is missing.
    pub fn numbers(&self, key: &str) -> Result<[f64; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| {
            let number = match v.kind {
                Kind::Int(n) => n as f64,
                Kind::Float(x) => x,
                _ => return Err(self.wrong(key, v)),
            };
            match self.key(key).shape {
                Shape::Numbers(from, to) if (from..=to).contains(&number) => Ok(number),
                _ => Err(self.wrong(key, v)),
            }
        })
    }

    /// Reads a time for all flows of a group, or a list with one for each. Returns `None` if there is neither
    /// value nor default.
    ///
    /// # Errors
    /// Returns an error if one of them is not a time, or the list is empty.
    pub fn spans_each(&self, key: &str) -> Result<Option<Vec<Span>>> {
        self.each(key, |v| self.unit(key, v, Shape::Span))
    }

    /// Reads a whole number from 1 for all flows of a group, or a list with one for each. Returns `None` if
    /// there is neither value nor default.
    ///
    /// # Errors
    /// Returns an error if one of them is not such a number, or the list is empty.
    pub fn wholes_each(&self, key: &str) -> Result<Option<Vec<u64>>> {
        self.each(key, |v| match v.kind {
            Kind::Int(n) if n > 0 => Ok(n as u64),
            _ => Err(self.wrong_shape(key, v, Shape::Whole(1, i64::MAX))),
        })
    }

    fn each<T>(&self, key: &str, read: impl Fn(&Value) -> Result<T>) -> Result<Option<Vec<T>>> {
        if self.given(key).is_none() && self.key(key).default == NONE {
            return Ok(None);
        }
        let value = self.value(key)?;
        match value.as_list() {
            Some([]) => {
                Err(self.error(key, &value, "an empty list", "one value for all flows, or one for each"))
            }
            Some(list) => list.iter().map(read).collect::<Result<_>>().map(Some),
            None => Ok(Some(vec![read(&value)?])),
        }
    }

    /// Reads a bound in packets or bytes, or `unlimited`.
    ///
    /// # Errors
    /// Returns an error if the value is not a bound, or is missing.
    pub fn limit(&self, key: &str) -> Result<Limit> {
        let value = self.value(key)?;
        match &value.kind {
            Kind::Int(n) if *n >= 0 => Ok(Limit::Packets(*n as u64)),
            Kind::Text(text) if &**text == "unlimited" => Ok(Limit::Unlimited),
            Kind::Text(text) => {
                let packets = text.trim().strip_suffix("packets").or(text.trim().strip_suffix("packet"));
                if let Some(n) = packets.and_then(|n| n.trim().replace('_', "").parse().ok()) {
                    return Ok(Limit::Packets(n));
                }
                text.parse().map(Limit::Bytes).map_err(|_| self.wrong(key, &value))
            }
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// Reads the bound of a queue, which holds at least one packet or byte.
    ///
    /// # Errors
    /// Returns an error if the value is not a bound, is zero, or is missing.
    pub fn queue(&self, key: &str) -> Result<QueueLimit> {
        let empty = |what: &str| {
            let value = self.value(key)?;
            Err(self.error(key, &value, format!("a queue of 0 {what} would drop every packet"), ""))
        };
        match self.limit(key)? {
            Limit::Packets(0) => empty("packets"),
            Limit::Bytes(Bytes::ZERO) => empty("bytes"),
            Limit::Packets(n) => Ok(QueueLimit::Packets(n.min(u32::MAX as u64) as u32)),
            Limit::Unlimited => Ok(QueueLimit::Packets(u32::MAX)),
            Limit::Bytes(bytes) => Ok(QueueLimit::Bytes(bytes)),
        }
    }
}
