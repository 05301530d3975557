//! The small part of HTTP/1.1 that the metrics port needs: bytes in, one response out.
//!
//! A connection carries one request, GET or HEAD, of at most [`MAX_REQUEST`] bytes. The port serves these paths:
//!
//! ```text
//!   /              a page that shows the overview and refreshes itself
//!   /status.json   the overview
//!   /metrics       OpenMetrics text
//! ```

/// Longest request, bytes: request line and header fields.
pub const MAX_REQUEST: usize = 8192;

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

impl Document {
    /// The document at a path.
    fn at(path: &str) -> Option<Document> {
        match path {
            "/" => Some(Document::Page),
            "/status.json" => Some(Document::Overview),
            "/metrics" => Some(Document::Metrics),
            _ => None,
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Document::Page => "text/html; charset=utf-8",
            Document::Overview => "application/json",
            Document::Metrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A request that is arriving.
#[derive(Clone, Debug, Default)]
pub struct Request {
    received: Vec<u8>,
    answered: bool,
}

/// The reply to a request.
enum Reply {
    /// A document: with its body, or the head only.
    Document { document: Document, with_body: bool },
    /// An error: status code and text.
    Error(u16, &'static str),
}

impl Request {
    /// Adds received bytes. Returns the response when the request is complete or invalid, and nothing after that.
    pub fn receive(&mut self, bytes: &[u8], text: impl FnOnce(Document) -> String) -> Option<Vec<u8>> {
        if self.answered {
            return None;
        }
        // The end marker may begin in the bytes received before.
        let from = self.received.len().saturating_sub(3);
        let room = MAX_REQUEST - self.received.len();
        self.received.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let reply = match end_of_head(&self.received, from) {
            Some(end) => reply_to(&self.received[..end]),
            None if bytes.len() >= room => Reply::Error(431, "Request Header Fields Too Large"),
            None => return None,
        };
        self.answered = true;
        self.received = Vec::new();
        Some(match reply {
            Reply::Document { document, with_body } => {
                response(200, "OK", document.content_type(), &text(document), with_body)
            }
            Reply::Error(status, reason) => {
                let body = format!("{reason}; the metrics are at /metrics, the status page at /\n");
                response(status, reason, "text/plain; charset=utf-8", &body, true)
            }
        })
    }
}

/// Position of the empty line that ends the request line and header fields.
fn end_of_head(received: &[u8], from: usize) -> Option<usize> {
    received[from..].windows(4).position(|four| four == b"\r\n\r\n").map(|at| from + at)
}

fn reply_to(head: &[u8]) -> Reply {
    let bad = Reply::Error(400, "Bad Request");
    let Ok(head) = core::str::from_utf8(head) else { return bad };
    let mut parts = head.lines().next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return bad;
    };
    let path = target.split('?').next().unwrap_or_default();
    match (method, Document::at(path), version) {
        (_, _, version) if !version.starts_with("HTTP/") => bad,
        (_, _, version) if !version.starts_with("HTTP/1.") => Reply::Error(505, "HTTP Version Not Supported"),
        ("GET" | "HEAD", Some(document), _) => Reply::Document { document, with_body: method == "GET" },
        ("GET" | "HEAD", None, _) => Reply::Error(404, "Not Found"),
        _ => Reply::Error(405, "Method Not Allowed"),
    }
}

fn response(status: u16, reason: &str, content_type: &str, body: &str, with_body: bool) -> Vec<u8> {
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let body = if with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
