//! The small part of HTTP/1.1 that the pages of a program need: bytes in, one response out.
//!
//! A connection carries one request, GET or HEAD, of at most [`MAX_REQUEST`] bytes. A body is not read. The sockets belong to
//! the caller.

/// Longest request, bytes: request line and header fields.
pub const MAX_REQUEST: usize = 8192;

/// A request that is arriving.
#[derive(Clone, Debug, Default)]
pub struct Request {
    received: Vec<u8>,
    answered: bool,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The path, which begins with `/`.
    pub path: &'a str,
    /// What follows `?`; empty without it.
    pub query: &'a str,
    /// The host that the client named, without its port; `None` if it named none or several.
    pub host: Option<&'a str>,
}

/// A document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its type.
    pub content_type: &'static str,
    /// Its text.
    pub body: String,
}

/// The reason why there is no document: the status code of the response, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub u16, pub &'static str);

impl Refusal {
    /// There is nothing at the path.
    pub const NOT_FOUND: Refusal = Refusal(404, "Not Found");
}

impl Request {
    /// Adds received bytes. Returns the response when the request is complete or invalid, and nothing after that. `hint`
    /// follows the text of a refusal.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        hint: &str,
        document: impl FnOnce(Target<'_>) -> Result<Document, Refusal>,
    ) -> Option<Vec<u8>> {
        if self.answered {
            return None;
        }
        // The end marker may begin in the bytes received before.
        let from = self.received.len().saturating_sub(3);
        let room = MAX_REQUEST - self.received.len();
        self.received.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let reply = match end_of_head(&self.received, from) {
            Some(end) => asked(&self.received[..end])
                .and_then(|(target, with_body)| document(target).map(|document| (document, with_body))),
            None if bytes.len() >= room => Err(Refusal(431, "Request Header Fields Too Large")),
            None => return None,
        };
        let response = match reply {
            Ok((Document { content_type, body }, with_body)) => {
                response(200, "OK", content_type, &body, with_body)
            }
            Err(Refusal(status, reason)) => {
                let body = format!("{reason}; {hint}\n");
                response(status, reason, "text/plain; charset=utf-8", &body, true)
            }
        };
        self.answered = true;
        self.received = Vec::new();
        Some(response)
    }
}

/// Position of the empty line that ends the request line and header fields.
fn end_of_head(received: &[u8], from: usize) -> Option<usize> {
    received[from..].windows(4).position(|four| four == b"\r\n\r\n").map(|at| from + at)
}

/// What a request asks for, and whether with the body.
fn asked(head: &[u8]) -> Result<(Target<'_>, bool), Refusal> {
    let bad = Refusal(400, "Bad Request");
    let mut lines = core::str::from_utf8(head).map_err(|_| bad)?.lines();
    let mut parts = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(bad);
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let hosts = lines.filter_map(|line| line.split_once(':'));
    let mut hosts = hosts.filter(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host.trim());
    let host = hosts.next().filter(|_| hosts.next().is_none()).map(without_port);
    match (method, version) {
        (_, version) if !version.starts_with("HTTP/") => Err(bad),
        (_, version) if !version.starts_with("HTTP/1.") => Err(Refusal(505, "HTTP Version Not Supported")),
        ("GET" | "HEAD", _) => Ok((Target { path, query, host }, method == "GET")),
        _ => Err(Refusal(405, "Method Not Allowed")),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn response(status: u16, reason: &str, content_type: &str, body: &str, with_body: bool) -> Vec<u8> {
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let body = if with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There is a document at `/there`.
    fn answer(target: Target<'_>) -> Result<Document, Refusal> {
        let body = format!("{target:?}");
        let document = Document { content_type: "text/x", body };
        if target.path == "/there" { Ok(document) } else { Err(Refusal::NOT_FOUND) }
    }

    fn ask(request: &str) -> String {
        let response = Request::default().receive(request.as_bytes(), "it is at /there", answer);
        String::from_utf8(response.expect("it is whole")).unwrap()
    }

    #[test]
    fn a_document_is_at_its_path() {
        let response = ask("GET /there HTTP/1.1\r\nHost: x:1\r\n\r\n");
        let target = Target { path: "/there", query: "", host: Some("x") };
        let body = format!("{target:?}");
        assert!(response.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n"), "{response}");
        assert!(response.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{response}");
        assert!(response.ends_with(&format!("\r\nConnection: close\r\n\r\n{body}")), "{response}");
        let head = ask("HEAD /there HTTP/1.1\r\nHost: x:1\r\n\r\n");
        assert!(
            head.contains(&format!("Content-Length: {}", body.len())) && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        for (request, status) in [
            ("GET /there?x=y HTTP/1.0\r\n\r\n", "200"),
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /there/x HTTP/1.1\r\n\r\n", "404"),
            ("POST /there HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", "405"),
            ("GET /there\r\n\r\n", "400"),
            ("GET  /there HTTP/1.1\r\n\r\n", "400"),
            ("GET /there SPDY/3\r\n\r\n", "400"),
            ("GET /there HTTP/2.0\r\n\r\n", "505"),
            ("\r\n\r\n", "400"),
        ] {
            let response = ask(request);
            assert_eq!(&response[9..12], status, "{request:?}");
            assert!(status == "200" || response.ends_with("; it is at /there\n"), "{response}");
        }
    }

    #[test]
    fn a_host_is_known_if_there_is_one() {
        for (fields, host) in [
            ("", None),
            ("Host: a.example:80\r\n", Some("a.example")),
            ("hOST:a.example\r\n", Some("a.example")),
            ("Host: [::1]:80\r\n", Some("[::1]")),
            ("Host: a\r\nHost: b\r\n", None),
        ] {
            let response = ask(&format!("GET /there?q HTTP/1.1\r\n{fields}\r\n"));
            let target = Target { path: "/there", query: "q", host };
            assert!(response.ends_with(&format!("{target:?}")), "{fields:?}: {response}");
        }
    }

    #[test]
    fn a_request_may_come_byte_by_byte() {
        let text = b"GET /there HTTP/1.1\r\nHost: x\r\n\r\n";
        let mut request = Request::default();
        for byte in &text[..text.len() - 1] {
            assert!(request.receive(&[*byte], "", |_| unreachable!("it is not whole")).is_none());
        }
        assert!(request.receive(&text[text.len() - 1..], "", answer).is_some());
        assert!(request.receive(text, "", |_| unreachable!("it is answered")).is_none());
    }

    #[test]
    fn a_request_without_end_is_refused() {
        let mut request = Request::default();
        let mut sent = 0;
        let response = loop {
            sent += 1000;
            if let Some(response) = request.receive(&[b'x'; 1000], "", answer) {
                break response;
            }
        };
        assert!(response.starts_with(b"HTTP/1.1 431 "));
        assert!((MAX_REQUEST..MAX_REQUEST + 1000).contains(&sent));
    }

    proptest::proptest! {
        #[test]
        fn no_request_makes_it_panic(pieces: Vec<Vec<u8>>) {
            let mut request = Request::default();
            let answers = pieces.iter().filter(|piece| request.receive(piece, "", answer).is_some()).count();
            proptest::prop_assert!(answers <= 1);
        }
    }
}
