//! Values that exist only in scenarios: service classes, offered rates, positions, names with ranges.

use weir_core::units::{Rate, Span};
use weir_document::{DocumentError, Item, Kind, Origin, Shape, Value};
use weir_packet::signal::ServiceClass;

use crate::names;
use weir_core::consumer::Source;

type Result<T> = core::result::Result<T, DocumentError>;

/// Methods to read values that only scenarios have; [`Item`] has those of every document.
pub trait ScenarioItem {
    /// Reads `position = [x, y]`, in metres, if given.
    fn position(&self) -> Result<Option<(f64, f64)>>;
    /// Reads a service class, given or by default.
    fn class(&self, key: &str) -> Result<ServiceClass>;
    /// Reads a service class, if given.
    fn opt_class(&self, key: &str) -> Result<Option<ServiceClass>>;
    /// Returns the service class that `text` names, whose position is `at`.
    fn class_of(&self, key: &str, text: &str, at: &Value) -> Result<ServiceClass>;
    /// Reads `source_rate` with `unresponsive`.
    fn source_rate(&self) -> Result<Source>;
    /// Reads `window = ["20 s", "120 s"]`, in order; `None` if the key is missing or is not a list of two.
    fn window_times(&self) -> Result<Option<(Span, Span)>>;
    /// Reads the name of a flow group, window, event, medium or axis.
    fn label(&self, key: &str) -> Result<String>;
    /// Checks a name prefix. `empty` is whether `/` alone is valid.
    fn check_prefix(&self, key: &str, uri: &str, at: Origin, empty: bool) -> Result<()>;
    /// Returns the names that a text with ranges such as `C{1..4}` describes.
    fn expand(&self, key: &str, text: &str, at: Origin, count: Option<usize>) -> Result<Vec<String>>;
}

impl ScenarioItem for Item<'_> {
    fn position(&self) -> Result<Option<(f64, f64)>> {
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

    fn opt_class(&self, key: &str) -> Result<Option<ServiceClass>> {
        self.given(key).map(|_| self.class(key)).transpose()
    }

    fn class(&self, key: &str) -> Result<ServiceClass> {
        let value = self.value(key)?;
        self.class_of(key, value.as_text().unwrap_or(""), &value)
    }

    fn class_of(&self, key: &str, text: &str, at: &Value) -> Result<ServiceClass> {
        text.parse().map_err(|_| self.wrong_shape(key, at, Shape::Class))
    }

    fn source_rate(&self) -> Result<Source> {
        let value = self.value("source_rate")?;
        let unresponsive = self.switch("unresponsive")?;
        if value.as_text() == Some("elastic") {
            if unresponsive {
                return Err(self.error(
                    "unresponsive",
                    self.given("unresponsive").unwrap_or(&value),
                    "an elastic flow has no rate, so it cannot be unresponsive",
                    "give its rate: source_rate = \"10 Mb/s\"",
                ));
            }
            return Ok(Source::Elastic);
        }
        if value.as_text().is_some_and(|t| t.chars().all(char::is_alphabetic)) {
            return Err(self.wrong("source_rate", &value));
        }
        // An event may silence a flow, and a later event may resume it.
        let is_silence =
            self.section == "event" && value.as_text().and_then(|text| text.parse().ok()) == Some(Rate::ZERO);
        let rate = if is_silence { Rate::ZERO } else { self.rate("source_rate")? };
        Ok(if unresponsive { Source::Unresponsive(rate) } else { Source::Limited(rate) })
    }

    fn label(&self, key: &str) -> Result<String> {
        let label = self.text(key)?;
        let wrong = |message| self.doc.error(self.origin_of(key), self.path_of(key), message, "");
        names::check_label(&label).map_err(wrong)?;
        Ok(label)
    }

    fn check_prefix(&self, key: &str, uri: &str, at: Origin, empty: bool) -> Result<()> {
        names::check_prefix(uri, empty).map_err(|m| self.doc.error(at, self.path_of(key), m, ""))
    }

    fn expand(&self, key: &str, text: &str, at: Origin, count: Option<usize>) -> Result<Vec<String>> {
        names::expand(text, count).map_err(|m| self.doc.error(at, self.path_of(key), m, ""))
    }

    fn window_times(&self) -> Result<Option<(Span, Span)>> {
        let Some(value) = self.given("window") else { return Ok(None) };
        let Some([from, to]) = value.as_list() else { return Ok(None) };
        let read = |v: &Value| {
            let text = v.as_text().unwrap_or("");
            text.parse::<Span>().map_err(|e| self.error("window", v, e.to_string(), ""))
        };
        let (from, to) = (read(from)?, read(to)?);
        if from >= to {
            return Err(self.error(
                "window",
                value,
                format!("the window ends at {to}, but begins at {from}"),
                "",
            ));
        }
        Ok(Some((from, to)))
    }
}
