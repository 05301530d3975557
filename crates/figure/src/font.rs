//! The one font of all figures: widths, and outlines for a picture of pixels.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

/// DejaVu Sans Condensed, without hinting and kerning: Latin, Greek and some symbols.
pub const BYTES: &[u8] = include_bytes!("../font/DejaVuSansCondensed.ttf");
/// The family under which an SVG has it.
pub const FAMILY: &str = "Weir Figure";

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(BYTES, 0).expect("the embedded font is complete"));

pub(crate) fn face() -> &'static Face<'static> {
    &FACE
}

/// The glyph of a character; that for an unknown one if the font lacks it.
pub(crate) fn glyph(c: char) -> GlyphId {
    face().glyph_index(c).unwrap_or_default()
}

/// The width of a glyph, in parts of the text's size.
pub(crate) fn advance(glyph: GlyphId) -> f64 {
    f64::from(face().glyph_hor_advance(glyph).unwrap_or_default()) / f64::from(face().units_per_em())
}

/// The width of a text of this size.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| advance(glyph(c))).sum::<f64>() * size
}

/// A text that is at most `most` wide: cut, with an ellipsis, if it is longer.
pub(crate) fn cut(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut left = most - width("…", size);
    let fits = |c: &char| {
        left -= advance(glyph(*c)) * size;
        left >= 0.0
    };
    text.chars().take_while(fits).collect::<String>().trim_end().to_owned() + "…"
}

/// The lines of a text, each at most `most` wide where its words allow it.
pub(crate) fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(cut(word, size, most)),
        }
    }
    lines
}

/// A font whose only outlines are those of these glyphs. The numbers of all glyphs stay.
pub(crate) fn subset(mut used: Vec<GlyphId>) -> Vec<u8> {
    let table = |tag: &[u8; 4]| face().raw_face().table(ttf_parser::Tag::from_bytes(tag)).unwrap_or_default();
    let (glyf, loca) = (table(b"glyf"), table(b"loca"));
    let is_long = table(b"head").get(51) == Some(&1);
    let offset = |at: usize| {
        let short =
            || loca.get(2 * at..2 * at + 2).map(|b| 2 * usize::from(u16::from_be_bytes([b[0], b[1]])));
        let long =
            || loca.get(4 * at..4 * at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize);
        if is_long { long() } else { short() }.unwrap_or_default()
    };
    let outline = |glyph: GlyphId| {
        let at = usize::from(glyph.0);
        glyf.get(offset(at)..offset(at + 1)).unwrap_or_default()
    };
    used.push(GlyphId(0));
    let mut next = 0;
    while let Some(glyph) = used.get(next) {
        let parts = parts(outline(*glyph));
        parts.into_iter().for_each(|part| {
            if !used.contains(&part) {
                used.push(part)
            }
        });
        next += 1;
    }
    let (mut glyphs, mut places) = (Vec::new(), Vec::new());
    for at in 0..face().number_of_glyphs() {
        places.extend((glyphs.len() as u32).to_be_bytes());
        if used.contains(&GlyphId(at)) {
            glyphs.extend(outline(GlyphId(at)));
            glyphs.resize(glyphs.len().next_multiple_of(4), 0);
        }
    }
    places.extend((glyphs.len() as u32).to_be_bytes());
    let mut head = table(b"head").to_vec();
    if let Some(long) = head.get_mut(50..52) {
        long.copy_from_slice(&[0, 1]);
    }
    let whole = [b"OS/2", b"cmap", b"hhea", b"hmtx", b"maxp", b"name", b"post"];
    let mut tables: Vec<(&[u8; 4], &[u8])> = whole.into_iter().map(|tag| (tag, table(tag))).collect();
    tables.extend([(b"glyf", &glyphs[..]), (b"head", &head), (b"loca", &places)]);
    tables.sort_by_key(|(tag, _)| **tag);
    assemble(&tables)
}

/// The glyphs that a compound outline is made of.
fn parts(outline: &[u8]) -> Vec<GlyphId> {
    let word = |at: usize| Some(u16::from_be_bytes([*outline.get(at)?, *outline.get(at + 1)?]));
    let mut parts = Vec::new();
    // A negative number of contours.
    let mut at = if word(0).is_some_and(|contours| contours >= 0x8000) { 10 } else { outline.len() };
    while let (Some(flags), Some(part)) = (word(at), word(at + 2)) {
        parts.push(GlyphId(part));
        let arguments = if flags & 1 == 1 { 4 } else { 2 };
        let scales = [(0x08, 2), (0x40, 4), (0x80, 8)].iter().find(|(bit, _)| flags & bit != 0);
        at += 4 + arguments + scales.map_or(0, |(_, bytes)| *bytes);
        if flags & 0x20 == 0 {
            break;
        }
    }
    parts
}

/// The file of a font with these tables, in the order of their tags.
fn assemble(tables: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let count = tables.len() as u16;
    let power = count.ilog2() as u16;
    let mut file = 0x0001_0000_u32.to_be_bytes().to_vec();
    for number in [count, 16 << power, power, 16 * (count - (1 << power))] {
        file.extend(number.to_be_bytes());
    }
    let mut at = 12 + 16 * tables.len();
    for (tag, bytes) in tables {
        file.extend(*tag);
        let words = bytes
            .chunks(4)
            .map(|b| u32::from_be_bytes([0, 1, 2, 3].map(|k| b.get(k).copied().unwrap_or_default())));
        file.extend(words.fold(0_u32, u32::wrapping_add).to_be_bytes());
        file.extend((at as u32).to_be_bytes());
        file.extend((bytes.len() as u32).to_be_bytes());
        at += bytes.len().next_multiple_of(4);
    }
    for (_, bytes) in tables {
        file.extend(*bytes);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_a_width_and_a_text_is_as_wide_as_its_letters() {
        for c in (' '..='~').chain("éßαμΣΩ≤∞→⁻³".chars()) {
            assert!(face().glyph_index(c).is_some_and(|glyph| advance(glyph) > 0.1), "{c:?}");
        }
        assert!((width("ab", 8.0) - width("a", 8.0) - width("b", 8.0)).abs() < 1e-9);
        assert_eq!(cut("goodput", 8.0, 1000.0), "goodput");
        assert!(width(&cut("goodput of many flows", 8.0, 40.0), 8.0) <= 40.0);
        assert_eq!(lines("a b", 8.0, 1.0).len(), 2);
    }

    #[test]
    fn a_subset_has_the_outlines_of_its_glyphs_alone() {
        struct Nothing;
        impl ttf_parser::OutlineBuilder for Nothing {
            fn move_to(&mut self, _: f32, _: f32) {}
            fn line_to(&mut self, _: f32, _: f32) {}
            fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {}
            fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
            fn close(&mut self) {}
        }
        let bytes = subset(vec![glyph('a'), glyph('é')]);
        assert!(bytes.len() < BYTES.len() / 2, "{} bytes", bytes.len());
        let small = Face::parse(&bytes, 0).unwrap();
        for (c, is_there) in [('a', true), ('é', true), ('b', false)] {
            let of = |face: &Face<'_>| face.outline_glyph(glyph(c), &mut Nothing);
            assert_eq!(of(&small), of(face()).filter(|_| is_there), "{c}");
            assert_eq!(small.glyph_hor_advance(glyph(c)), face().glyph_hor_advance(glyph(c)));
        }
    }
}
