//! Text blocks around base64: PEM with headers (RFC 1421), as in ndnd, and without (RFC 7468).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// The number of base64 characters on a line, as in other programs.
const LINE: usize = 64;
/// The header with the key's name.
const NAME: &str = "Name:";

/// A block, `-----BEGIN label-----` to `-----END label-----`.
pub(crate) struct Block {
    pub label: String,
    /// The line `Name: …`, in the block's headers or before the block.
    pub name: Option<String>,
    pub bytes: Zeroizing<Vec<u8>>,
}

/// Returns whether a text has such blocks.
pub(crate) fn has_blocks(text: &str) -> bool {
    text.lines().any(|line| boundary(line, "BEGIN").is_some())
}

/// Returns the label of a boundary line.
fn boundary<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.trim().strip_prefix("-----")?.strip_prefix(word)?.strip_prefix(' ')?.strip_suffix("-----")
}

/// Returns all blocks of a text; `None` if one has no end or is not base64.
pub(crate) fn blocks(text: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut name = None;
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(value) = line.strip_prefix(NAME) {
            name = Some(value.trim().to_owned());
        }
        let Some(label) = boundary(line, "BEGIN") else { continue };
        // It has room for everything: a buffer that grows would leave copies of a private key in memory.
        let mut body = Zeroizing::new(String::with_capacity(text.len()));
        loop {
            let line = lines.next()?;
            if boundary(line, "END") == Some(label) {
                break;
            }
            match line.strip_prefix(NAME) {
                Some(value) => name = Some(value.trim().to_owned()),
                // Other headers. Base64 has no colon.
                None if line.contains(':') => {}
                None => body.push_str(line),
            }
        }
        let bytes = Zeroizing::new(STANDARD.decode(body.as_bytes()).ok()?);
        blocks.push(Block { label: label.to_owned(), name: name.take(), bytes });
    }
    Some(blocks)
}

/// Returns base64 in lines.
pub(crate) fn base64_lines(bytes: &[u8]) -> Zeroizing<String> {
    let text = Zeroizing::new(STANDARD.encode(bytes));
    let mut lines = Zeroizing::new(String::with_capacity(text.len() + text.len() / LINE + 1));
    for (index, letter) in text.chars().enumerate() {
        if index > 0 && index.is_multiple_of(LINE) {
            lines.push('\n');
        }
        lines.push(letter);
    }
    lines.push('\n');
    lines
}

/// Parses base64 with any line breaks.
pub(crate) fn from_base64(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut packed = Zeroizing::new(String::with_capacity(text.len()));
    packed.extend(text.split_ascii_whitespace());
    let text = packed;
    (!text.is_empty()).then(|| STANDARD.decode(text.as_bytes()).ok().map(Zeroizing::new))?
}

/// Returns a block with headers.
pub(crate) fn write(label: &str, headers: &[(&str, String)], bytes: &[u8]) -> Zeroizing<String> {
    let mut head = format!("-----BEGIN {label}-----\n");
    for (key, value) in headers {
        head.push_str(&format!("{key}: {value}\n"));
    }
    if !headers.is_empty() {
        head.push('\n');
    }
    let (body, end) = (base64_lines(bytes), format!("-----END {label}-----\n"));
    let mut text = Zeroizing::new(String::with_capacity(head.len() + body.len() + end.len()));
    [&head, &*body, &end].iter().for_each(|part| text.push_str(part));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_as_they_are_written_with_their_names() {
        let long: Vec<u8> = (0..100).collect();
        let one = write("NDN CERT", &[("Name", "/a".into()), ("SigType", "Ed25519".into())], &long);
        let two = write("PRIVATE KEY", &[], b"secret");
        let text = format!("said before\n{}Name: /b\n{}\r\nand after", *one, two.replace('\n', "\r\n"));
        assert!(text.lines().all(|line| line.len() <= LINE) && has_blocks(&text));
        let read = blocks(&text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].label.as_str(), read[0].name.as_deref()), ("NDN CERT", Some("/a")));
        assert_eq!((read[1].label.as_str(), read[1].name.as_deref()), ("PRIVATE KEY", Some("/b")));
        assert_eq!((&*read[0].bytes, &**read[1].bytes), (&long, &b"secret"[..]));
    }

    #[test]
    fn blocks_without_end_or_base64_are_refused() {
        for text in [
            "-----BEGIN A-----\nAAAA",
            "-----BEGIN A-----\nAAAA\n-----END B-----",
            "-----BEGIN A-----\nA\n-----END A-----",
        ] {
            assert!(blocks(text).is_none(), "{text}");
        }
        assert_eq!(blocks("nothing").map(|blocks| blocks.len()), Some(0));
    }

    #[test]
    fn base64_may_be_in_lines() {
        let bytes: Vec<u8> = (0..200).collect();
        assert_eq!(*from_base64(&base64_lines(&bytes)).unwrap(), bytes);
        assert!(from_base64(" \n").is_none() && from_base64("a:b").is_none());
    }
}
