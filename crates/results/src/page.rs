//! Pages in one file, with their script and their style, that open without a server and without a
//! network. Script and style are built bundles of `web/`.
//!
//! A page forbids itself, by its content security policy, any script but the bundle and any request. A page with plots may
//! compile WebAssembly, which it has in itself. The page of a run that is on may ask the server that it came from.

/// A script, its style, and the base64 SHA-256 of the script, for the content security policy;
/// written when it is built.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) script: &'static str,
    pub(crate) style: &'static str,
    pub(crate) sha256: &'static str,
    /// Whether the page has plots, which it can save with [`FIGURE`].
    pub(crate) has_plots: bool,
    /// Whether the page asks its server for new data.
    pub(crate) is_live: bool,
}

/// The crate `weir-figure` as WebAssembly, packed, in base64: what saves a plot as a file.
pub(crate) const FIGURE: &str = include_str!("../../../web/dist/figure.wasm.gz.b64");

/// What the report of a run has.
pub(crate) const REPORT: Bundle = Bundle {
    script: include_str!("../../../web/dist/report.js"),
    style: include_str!("../../../web/dist/report.css"),
    sha256: include_str!("../../../web/dist/report.js.sha256"),
    has_plots: true,
    is_live: false,
};

/// The same while the run is on.
pub(crate) const LIVE: Bundle = Bundle { is_live: true, ..REPORT };

/// What pages over many runs have.
pub(crate) const SUMMARY: Bundle = Bundle {
    script: include_str!("../../../web/dist/summary.js"),
    style: include_str!("../../../web/dist/summary.css"),
    sha256: include_str!("../../../web/dist/summary.js.sha256"),
    has_plots: false,
    is_live: false,
};

/// What a comparison with plots has.
pub(crate) const COMPARE: Bundle = Bundle {
    script: include_str!("../../../web/dist/compare.js"),
    style: include_str!("../../../web/dist/compare.css"),
    sha256: include_str!("../../../web/dist/compare.js.sha256"),
    has_plots: true,
    is_live: false,
};

/// What a sweep has.
pub(crate) const SWEEP: Bundle = Bundle {
    script: include_str!("../../../web/dist/sweep.js"),
    style: include_str!("../../../web/dist/sweep.css"),
    sha256: include_str!("../../../web/dist/sweep.js.sha256"),
    has_plots: true,
    is_live: false,
};

/// The page as HTML text: `title` is text, `body` is HTML.
pub(crate) fn html(title: &str, bundle: &Bundle, body: &str) -> String {
    let Bundle { script, style, sha256, has_plots, is_live } = bundle;
    let (compiles, figure) = match has_plots {
        true => (
            " 'wasm-unsafe-eval'",
            format!("<script type=\"text/plain\" id=\"weir-figure\">{}</script>\n", FIGURE.trim()),
        ),
        false => ("", String::new()),
    };
    let connects = if *is_live { " connect-src 'self';" } else { "" };
    let (title, sha256) = (escaped(title), sha256.trim());
    // A script's hash covers every byte between its tags.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'sha256-{sha256}'{compiles}; style-src 'unsafe-inline'; img-src data:;{connects} base-uri 'none'; \
         form-action 'none'\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n{figure}\
         <script>{script}</script>\n</body>\n</html>\n"
    )
}

/// Text for between tags and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_cannot_end_its_own_element() {
        for Bundle { script, style, .. } in [REPORT, SUMMARY, COMPARE, SWEEP] {
            assert!(!script.to_lowercase().contains("</script") && !script.contains("<!--"));
            assert!(!style.to_lowercase().contains("</style"));
            assert!(!script.contains('\r'), "a browser would read, and hash, another text");
        }
    }
}
