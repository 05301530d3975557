//! A drawing as SVG.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::drawing::{Drawing, Item, Path, Step, Text, length};
use crate::font;
use crate::style::Colour;

impl Drawing {
    /// As SVG, with the glyphs of its texts embedded, so that it looks the same everywhere.
    pub fn svg(&self) -> String {
        let texts =
            self.items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text) } else { None });
        let mut used: Vec<_> = texts.flat_map(|text| text.text.chars().map(font::glyph)).collect();
        used.sort_unstable();
        used.dedup();
        let font = STANDARD.encode(font::subset(used));
        self.svg_with(&format!(
            "<style>@font-face{{font-family:\"{}\";src:url(data:font/ttf;base64,{font})}}</style>\n",
            font::FAMILY
        ))
    }

    /// As SVG for a page that has the font: without it, the text is set in what the page has for sans-serif.
    pub fn svg_without_font(&self) -> String {
        self.svg_with("")
    }

    fn svg_with(&self, head: &str) -> String {
        let (width, height) = (length(self.width), length(self.height));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"'{}',sans-serif\" font-kerning=\"none\">\n",
            font::FAMILY
        );
        if !self.title.is_empty() {
            let _ = writeln!(svg, "<title>{}</title>", escaped(&self.title));
        }
        svg += head;
        let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>");
        let mut clips = 0;
        for item in &self.items {
            match item {
                Item::Path(path) => write_path(&mut svg, path),
                Item::Text(text) => write_text(&mut svg, text),
                Item::Clip([x, y, width, height]) => {
                    clips += 1;
                    let [x, y, width, height] = [*x, *y, *width, *height].map(length);
                    // Nested, so that drawings in one page do not have clips of the same name.
                    let _ = writeln!(
                        svg,
                        "<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" viewBox=\"{x} {y} {width} {height}\">"
                    );
                }
                Item::Unclip if clips > 0 => {
                    clips -= 1;
                    svg += "</svg>\n";
                }
                Item::Unclip => {}
            }
        }
        (0..clips).for_each(|_| svg += "</svg>\n");
        svg + "</svg>\n"
    }
}

fn hex([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn write_path(svg: &mut String, path: &Path) {
    *svg += "<path d=\"";
    for step in &path.steps {
        let _ = match step {
            Step::Move(x, y) => write!(svg, "M{x} {y}"),
            Step::Line(x, y) => write!(svg, "L{x} {y}"),
            Step::Curve([a, b, c, d, e, f]) => write!(svg, "C{a} {b} {c} {d} {e} {f}"),
            Step::Close => write!(svg, "Z"),
        };
    }
    *svg += "\"";
    match path.fill {
        Some(colour) => {
            let _ = write!(svg, " fill=\"{}\"", hex(colour));
            if path.opacity < 1.0 {
                let _ = write!(svg, " fill-opacity=\"{}\"", length(path.opacity));
            }
        }
        None => *svg += " fill=\"none\"",
    }
    if let Some((colour, width)) = path.stroke {
        let _ = write!(
            svg,
            " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"",
            hex(colour),
            length(width)
        );
        if !path.dash.is_empty() {
            let dash: Vec<String> = path.dash.iter().map(|x| length(*x).to_string()).collect();
            let _ = write!(svg, " stroke-dasharray=\"{}\"", dash.join(" "));
        }
    }
    *svg += "/>\n";
}

fn write_text(svg: &mut String, text: &Text) {
    let Text { x, y, size, angle, colour, .. } = text;
    let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{}\"", hex(*colour));
    if *angle != 0.0 {
        let _ = write!(svg, " transform=\"rotate({} {x} {y})\"", -angle);
    }
    let _ = writeln!(svg, ">{}</text>", escaped(&text.text));
}
