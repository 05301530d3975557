//! The documents of the metrics port, by their paths:
//!
//! ```text
//!   /              a page that shows the overview and refreshes itself
//!   /status.json   the overview
//!   /metrics       OpenMetrics text
//! ```

use weir_net::http::{self, Refusal};

/// A document of the metrics port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// The status page as HTML. It is always the same text.
    Page,
    /// The [overview](weir_management::overview::Overview) as JSON.
    Overview,
    /// The figures for Prometheus.
    Metrics,
}

/// What follows the text of a refusal.
pub const HINT: &str = "the metrics are at /metrics, the status page at /";

impl Document {
    /// The document at a path, with its text.
    ///
    /// # Errors
    /// Returns [`Refusal::NOT_FOUND`] if there is none.
    pub fn at(path: &str, text: impl FnOnce(Document) -> String) -> Result<http::Document, Refusal> {
        let (document, content_type) = match path {
            "/" => (Document::Page, "text/html; charset=utf-8"),
            "/status.json" => (Document::Overview, "application/json"),
            "/metrics" => (Document::Metrics, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
            _ => return Err(Refusal::NOT_FOUND),
        };
        Ok(http::Document { content_type, body: text(document) })
    }
}
