//! The status page: a script that reads `/status.json` repeatedly and draws it. `web/src/status.ts` is its source.

const SCRIPT: &str = include_str!("../../../../web/dist/status.js");
const STYLE: &str = include_str!("../../../../web/dist/status.css");
const SHA256: &str = include_str!("../../../../web/dist/status.js.sha256");

/// The page as HTML text. Its content security policy admits this script and requests to the same port only.
pub fn page() -> String {
    let sha256 = SHA256.trim();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{sha256}'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'\">\n\
         <title>Weir forwarder</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <main id=\"status\"><noscript>This page needs a script that your browser does not run. The same figures are at \
         <a href=\"/status.json\">/status.json</a> and <a href=\"/metrics\">/metrics</a>.</noscript></main>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_cannot_end_its_own_element() {
        assert!(
            !SCRIPT.to_lowercase().contains("</script") && !SCRIPT.contains("<!--") && !SCRIPT.contains('\r')
        );
        assert!(!STYLE.to_lowercase().contains("</style"));
        assert!(page().contains(SHA256.trim()));
    }
}
