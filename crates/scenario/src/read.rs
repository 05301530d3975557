//! Reading one table of the tree: every value checked against the table of keys.

use std::borrow::Cow;
use std::sync::Arc;

use weir_core::units::{Bytes, Rate, Span};
use weir_packet::signal::ServiceClass;

use crate::error::ScenarioError;
use crate::format::{Key, NONE, REQUIRED, Shape};
use crate::model::{Param, ParamValue, QueueLimit, SourceRate};
use crate::names;
use crate::tree::{Doc, Kind, Origin, Table, Value, parse_value};

type Result<T> = core::result::Result<T, ScenarioError>;

/// A table of the document with its place: `link`, `link.R2-R3`.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The document.
    pub doc: &'a Doc,
    /// Its name in the table of keys.
    pub section: &'static str,
    /// Its path in messages and for `--set`.
    pub path: &'a str,
    /// Its keys and values.
    pub table: &'a Table,
    /// Where its header stands.
    pub origin: Origin,
}

/// A bound in packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    Packets(u64),
    Bytes(Bytes),
    Unlimited,
}

impl<'a> Item<'a> {
    /// `path.key`.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// An error at a value of this table.
    pub fn error(
        &self,
        key: &str,
        at: &Value,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        self.doc.error(at.origin, self.path_of(key), message, help)
    }

    /// An error at the header of this table.
    pub fn error_here(&self, message: impl Into<String>, help: impl Into<String>) -> ScenarioError {
        self.doc.error(self.origin, self.path, message, help)
    }

    /// Refuses keys that the table does not have.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_keys(&self) -> Result<()> {
        for entry in &self.table.0 {
            if (self.doc.format.find)(self.section, &entry.key).is_none() {
                return Err(self.unknown(&entry.key, entry.key_origin));
            }
        }
        Ok(())
    }

    fn unknown(&self, key: &str, origin: Origin) -> ScenarioError {
        let known: Vec<&str> = (self.doc.format.of)(self.section).iter().map(|k| k.key).collect();
        let meant = names::did_you_mean(key, known.iter().copied());
        let path = self.path.to_owned();
        self.doc.error(
            origin,
            path,
            format!("unknown key `{key}`{meant}"),
            format!("keys here: {}", known.join(", ")),
        )
    }

    fn key(&self, key: &str) -> &'static Key {
        (self.doc.format.find)(self.section, key).expect("only keys of the table are asked for")
    }

    /// The value given, if any.
    pub fn given(&self, key: &str) -> Option<&'a Value> {
        debug_assert!((self.doc.format.find)(self.section, key).is_some(), "{}.{key}", self.section);
        self.table.value(key)
    }

    /// The value given, else the default.
    ///
    /// # Errors
    /// There is neither.
    pub fn value(&self, key: &str) -> Result<Cow<'a, Value>> {
        if let Some(value) = self.table.value(key) {
            return Ok(Cow::Borrowed(value));
        }
        let spec = self.key(key);
        if spec.default == REQUIRED {
            return Err(self.error_here(
                format!("the key `{key}` is missing"),
                format!("{} It is {}.", spec.meaning, spec.shape.wanted()),
            ));
        }
        Ok(Cow::Owned(parse_value(spec.default, Origin::Default)))
    }

    /// That a value is not what its key wants.
    pub fn wrong(&self, key: &str, value: &Value) -> ScenarioError {
        self.wrong_shape(key, value, self.key(key).shape)
    }

    fn wrong_shape(&self, key: &str, value: &Value, shape: Shape) -> ScenarioError {
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
                let help = match value.kind {
                    Kind::Int(_) | Kind::Float(_) => {
                        "a quantity is a text: its number and its unit, in quotes"
                    }
                    _ => "",
                };
                let error = self.wrong_shape(key, value, shape);
                Err(self.error(key, value, error.message(), help))
            }
        }
    }

    /// A text; one given by an override may look like something else.
    fn text_of(&self, key: &str, value: &Value) -> Result<Arc<str>> {
        match (&value.kind, value.origin) {
            (Kind::Text(text), _) => Ok(Arc::clone(text)),
            (Kind::Int(_) | Kind::Float(_) | Kind::Bool(_), Origin::Set(_)) => Ok(value.to_string().into()),
            _ => Err(self.wrong(key, value)),
        }
    }

    /// A text.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn text(&self, key: &str) -> Result<String> {
        let value = self.value(key)?;
        Ok(self.text_of(key, &value)?.to_string())
    }

    /// A text, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_text(&self, key: &str) -> Result<Option<String>> {
        self.given(key).map(|v| Ok(self.text_of(key, v)?.to_string())).transpose()
    }

    /// One or several texts, each with its place.
    ///
    /// # Errors
    /// The value is something else, or there is none.
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

    /// One of the words of its shape.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn choice(&self, key: &str) -> Result<&'static str> {
        let value = self.value(key)?;
        let Shape::Choice(of) = self.key(key).shape else { return Err(self.wrong(key, &value)) };
        let Some(text) = value.as_text() else { return Err(self.wrong(key, &value)) };
        of.iter().copied().find(|c| *c == text).ok_or_else(|| {
            let meant = names::nearest(text, of.iter().copied());
            let help = meant.map_or(String::new(), |m| format!("did you mean \"{m}\"?"));
            let error = self.wrong(key, &value);
            self.error(key, &value, error.message(), help)
        })
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn switch(&self, key: &str) -> Result<bool> {
        let value = self.value(key)?;
        match value.kind {
            Kind::Bool(b) => Ok(b),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// `true` or `false`, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_switch(&self, key: &str) -> Result<Option<bool>> {
        self.given(key).map(|_| self.switch(key)).transpose()
    }

    /// A whole number within the bounds of its shape.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn whole(&self, key: &str) -> Result<u64> {
        let value = self.value(key)?;
        match (&value.kind, self.key(key).shape) {
            (Kind::Int(n), Shape::Whole(from, to)) if (from..=to).contains(n) => Ok(*n as u64),
            _ => Err(self.wrong(key, &value)),
        }
    }

    /// A whole number, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_whole(&self, key: &str) -> Result<Option<u64>> {
        self.given(key).map(|_| self.whole(key)).transpose()
    }

    pub(crate) fn number(&self, key: &str) -> Result<f64> {
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

    pub(crate) fn opt_number(&self, key: &str) -> Result<Option<f64>> {
        self.given(key).map(|_| self.number(key)).transpose()
    }

    /// A time.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn span(&self, key: &str) -> Result<Span> {
        let value = self.value(key)?;
        let span: Span = self.unit(key, &value, Shape::Span)?;
        match self.key(key).shape {
            Shape::SpanFrom(ms) if span < Span::from_millis(ms) => Err(self.wrong(key, &value)),
            _ => Ok(span),
        }
    }

    /// A time, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_span(&self, key: &str) -> Result<Option<Span>> {
        self.given(key).map(|_| self.span(key)).transpose()
    }

    /// A time above zero.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn positive_span(&self, key: &str) -> Result<Span> {
        let span = self.span(key)?;
        if span == Span::ZERO {
            let value = self.value(key)?;
            return Err(self.error(key, &value, "it has to be longer than nothing", ""));
        }
        Ok(span)
    }

    /// A rate above zero, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_rate(&self, key: &str) -> Result<Option<Rate>> {
        self.given(key)
            .map(|v| {
                let rate = self.unit(key, v, Shape::Rate)?;
                self.above_zero(key, v, rate)
            })
            .transpose()
    }

    /// One of the rates of `what`.
    pub(crate) fn rate_of(&self, key: &str, allowed: &[Rate], what: &str) -> Result<Rate> {
        let value = self.value(key)?;
        self.allowed_rate(key, &value, allowed, what)
    }

    /// As [`Item::rates`], of the rates of `what`.
    pub(crate) fn rates_of(&self, key: &str, allowed: &[Rate], what: &str) -> Result<[Rate; 2]> {
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

    fn above_zero(&self, key: &str, value: &Value, rate: Rate) -> Result<Rate> {
        if rate == Rate::ZERO {
            return Err(self.error(key, value, "a rate has to be above 0 b/s", ""));
        }
        Ok(rate)
    }

    /// A size.
    ///
    /// # Errors
    /// The value is something else, or there is none.
    pub fn size(&self, key: &str) -> Result<Bytes> {
        let value = self.value(key)?;
        self.unit(key, &value, Shape::Size)
    }

    /// A size, if it is given.
    ///
    /// # Errors
    /// The value is something else.
    pub fn opt_size(&self, key: &str) -> Result<Option<Bytes>> {
        self.given(key).map(|v| self.unit(key, v, Shape::Size)).transpose()
    }

    /// One value for both directions, or a list of two.
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

    pub(crate) fn rates(&self, key: &str) -> Result<[Rate; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| {
            let rate = self.unit(key, v, Shape::Rates)?;
            self.above_zero(key, v, rate)
        })
    }

    pub(crate) fn spans(&self, key: &str) -> Result<[Span; 2]> {
        let value = self.value(key)?;
        self.pair(key, &value, |v| self.unit(key, v, Shape::Spans))
    }

    /// A time, or one for each of `n` flows.
    pub(crate) fn spans_each(&self, key: &str) -> Result<Option<Vec<Span>>> {
        self.each(key, |v| self.unit(key, v, Shape::Span))
    }

    /// A whole number from 1, or one for each flow.
    pub(crate) fn wholes_each(&self, key: &str) -> Result<Option<Vec<u64>>> {
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

    pub(crate) fn limit(&self, key: &str) -> Result<Limit> {
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

    /// The bound of a queue, which is at least one packet.
    ///
    /// # Errors
    /// The value is something else, or a queue without room.
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

    pub(crate) fn position(&self) -> Result<Option<(f64, f64)>> {
        let Some(value) = self.given("position") else { return Ok(None) };
        let number = |v: &Value| match v.kind {
            Kind::Int(n) => Some(n as f64),
            Kind::Float(x) if x.is_finite() => Some(x),
            _ => None,
        };
        match value.as_list() {
            Some([x, y]) => match (number(x), number(y)) {
                (Some(x), Some(y)) => Ok(Some((x, y))),
                _ => Err(self.wrong("position", value)),
            },
            _ => Err(self.wrong("position", value)),
        }
    }

    pub(crate) fn opt_class(&self, key: &str) -> Result<Option<ServiceClass>> {
        self.given(key).map(|_| self.class(key)).transpose()
    }

    pub(crate) fn class(&self, key: &str) -> Result<ServiceClass> {
        let value = self.value(key)?;
        self.class_of(key, value.as_text().unwrap_or(""), &value)
    }

    pub(crate) fn class_of(&self, key: &str, text: &str, at: &Value) -> Result<ServiceClass> {
        text.parse().map_err(|_| self.wrong_shape(key, at, Shape::Class))
    }

    /// `source_rate` with `unresponsive`.
    pub(crate) fn source_rate(&self) -> Result<SourceRate> {
        let value = self.value("source_rate")?;
        let unresponsive = self.switch("unresponsive")?;
        if value.as_text() == Some("elastic") {
            if unresponsive {
                return Err(self.error(
                    "unresponsive",
                    self.given("unresponsive").unwrap_or(&value),
                    "an elastic flow has no rate of its own to insist on",
                    "give its rate: source_rate = \"10 Mb/s\"",
                ));
            }
            return Ok(SourceRate::Elastic);
        }
        if value.as_text().is_some_and(|t| t.chars().all(char::is_alphabetic)) {
            return Err(self.wrong("source_rate", &value));
        }
        let rate = self.unit("source_rate", &value, Shape::SourceRate)?;
        let rate = self.above_zero("source_rate", &value, rate)?;
        Ok(if unresponsive { SourceRate::Unresponsive(rate) } else { SourceRate::Limited(rate) })
    }

    /// A prefix that is one text.
    pub(crate) fn check_prefix(&self, key: &str, uri: &str, at: Origin, empty: bool) -> Result<()> {
        names::check_prefix(uri, empty).map_err(|m| self.doc.error(at, self.path_of(key), m, ""))
    }

    /// The names that a text stands for.
    pub(crate) fn expand(
        &self,
        key: &str,
        text: &str,
        at: Origin,
        count: Option<usize>,
    ) -> Result<Vec<String>> {
        names::expand(text, count).map_err(|m| self.doc.error(at, self.path_of(key), m, ""))
    }
}

/// The parameters in the table of a scheme at `path`, nested tables and dotted keys alike; `source` is none.
///
/// # Errors
/// A value that no parameter can have.
pub fn params(doc: &Doc, path: &str, table: &Table) -> Result<Vec<Param>> {
    let mut list = Vec::new();
    add_params(doc, &mut list, path, "", table)?;
    Ok(list)
}

fn add_params(doc: &Doc, list: &mut Vec<Param>, path: &str, prefix: &str, table: &Table) -> Result<()> {
    for entry in &table.0 {
        if &*entry.key == "source" {
            continue;
        }
        let key = if prefix.is_empty() { entry.key.to_string() } else { format!("{prefix}.{}", entry.key) };
        let value = match &entry.value.kind {
            Kind::Table(inner) => {
                add_params(doc, list, path, &key, inner)?;
                continue;
            }
            Kind::Bool(b) => ParamValue::Bool(*b),
            Kind::Int(n) => ParamValue::Int(*n),
            Kind::Float(x) if x.is_finite() => ParamValue::Float(*x),
            Kind::Text(text) => ParamValue::Text(text.to_string()),
            Kind::Float(_) | Kind::Other(_) | Kind::List(_) => {
                let message = format!("{} is no parameter", entry.value.kind_name());
                let help = "a parameter is true or false, a number, or a text";
                return Err(doc.error(entry.value.origin, format!("{path}.{key}"), message, help));
            }
        };
        let location = doc.location(entry.value.origin);
        let source = entry.value.source.as_deref().map(str::to_owned);
        list.push(Param { key, value, location, source });
    }
    Ok(())
}
