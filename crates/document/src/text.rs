//! Converts the bytes of a file to text.

use core::fmt;

/// The file is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText {
    /// The line of the first wrong byte, from 1.
    pub line: usize,
    /// The number of bytes before it.
    pub at: usize,
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: this is not text: byte {} of the file is not UTF-8", self.line, self.at)
    }
}

impl core::error::Error for NotText {}

/// Converts the bytes of a file to text.
///
/// # Errors
/// Returns [`NotText`] if they are not UTF-8. The message begins with the line, to follow the name of the
/// file and a colon.
pub fn text(bytes: Vec<u8>) -> Result<String, NotText> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        NotText { line, at }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_text_is_refused_at_its_line_and_byte() {
        assert_eq!(text(b"a = 1\n".to_vec()), Ok("a = 1\n".to_owned()));
        let wrong = text(b"a = 1\nb = \xff".to_vec());
        assert_eq!(wrong, Err(NotText { line: 2, at: 10 }));
        let said = wrong.map_err(|error| error.to_string());
        assert_eq!(said, Err("2: this is not text: byte 10 of the file is not UTF-8".to_owned()));
    }
}
