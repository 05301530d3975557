//! Harnesses for the forwarder's other inputs: its configuration file, a recording, a request for metrics.

use weir_core::Time;
use weir_forwarder::config::{Change, Config};
use weir_forwarder::record::{Recording, encode};
use weir_forwarder::replay::replay;
use weir_net::http::{Document, MAX_REQUEST, Request};

/// Reads a forwarder's file. It is an error with its place, or the value stays the same when it is read again.
pub fn config(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Config::parse(text, "fuzz") {
        Ok(config) => {
            let again = Config::parse(text, "fuzz").expect("it was right before");
            assert!(Change::between(&config, &again).is_empty());
            let _ = (Change::between(&Config::default(), &config), config.without_rate());
        }
        Err(error) => assert!(error.to_string().starts_with("fuzz:"), "{error}"),
    }
}

/// Reads a recording. Its entries, written again, are read unchanged. A replay returns a result.
pub fn recording(bytes: &[u8]) {
    let Ok(recording) = Recording::read(bytes) else { return };
    if let Ok(replayed) = replay(recording.clone()) {
        assert!(replayed.difference.is_none_or(|difference| difference.entry == replayed.entries));
    }
    let mut entries = recording.entries;
    let mut last = Time::ZERO;
    let start = bytes.len() - entries.rest();
    let mut again = bytes[..start].to_vec();
    for entry in entries.by_ref().map_while(Result::ok) {
        encode(&entry.entry, last, entry.at, &mut again);
        last = entry.at;
    }
    let mut twice = bytes[..start].to_vec();
    last = Time::ZERO;
    for entry in Recording::read(&again).expect("its header is the same").entries {
        let entry = entry.expect("we have written it");
        encode(&entry.entry, last, entry.at, &mut twice);
        last = entry.at;
    }
    assert_eq!(again, twice);
}

/// Reads a request in pieces, whose lengths are in the first bytes. There is at most one answer, with its length.
pub fn request(bytes: &[u8]) {
    let document = Document { content_type: "text/plain", body: "figures\n".to_owned() };
    let mut request = Request::default();
    let (mut rest, mut answers, mut sent) = (bytes, 0, 0);
    while let Some((length, more)) = rest.split_first() {
        let (piece, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        sent += piece.len();
        let Some(answer) = request.receive(piece, "hint", |_| Ok(document.clone())) else { continue };
        answers += 1;
        let text = String::from_utf8(answer).expect("an answer is text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head has its end");
        assert!(head.starts_with("HTTP/1.1 "));
        assert!(body.is_empty() || head.contains(&format!("Content-Length: {}\r\n", body.len())));
    }
    assert!(answers <= 1 && (answers == 1 || sent < MAX_REQUEST));
}
