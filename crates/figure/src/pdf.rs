//! A drawing as PDF: one page, with the glyphs of its texts embedded.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Name, Pdf, Rect, Ref, Str, TextStr};
use ttf_parser::GlyphId;

use crate::drawing::{Drawing, Item, Path, Step, Text};
use crate::font;
use crate::style::Colour;

/// The name of the font inside the file.
const FONT: Name<'_> = Name(b"WEIRFG+DejaVuSansCondensed");
const SYSTEM: SystemInfo<'_> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Level of compression, 0 to 10.
const LEVEL: u8 = 7;

impl Drawing {
    /// As PDF.
    pub fn pdf(&self) -> Vec<u8> {
        let [catalog, pages, page, content, info] = [1, 2, 3, 4, 5].map(Ref::new);
        let [outer, inner, descriptor, file, unicode] = [6, 7, 8, 9, 10].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        // Each opacity is a state of its own.
        let mut opacities: BTreeMap<u8, f32> = BTreeMap::new();
        let mut used: BTreeMap<u16, char> = BTreeMap::new();
        for item in &self.items {
            match item {
                Item::Path(path) if path.fill.is_some() => {
                    opacities.insert(percent(path), f32::from(percent(path)) / 100.0);
                }
                Item::Text(text) => used.extend(text.text.chars().map(|c| (font::glyph(c).0, c))),
                _ => {}
            }
        }
        {
            let mut page = pdf.page(page);
            page.parent(pages).media_box(Rect::new(0.0, 0.0, self.width as f32, self.height as f32));
            page.contents(content);
            let mut resources = page.resources();
            resources.fonts().pair(Name(b"F"), outer);
            let mut states = resources.ext_g_states();
            for (percent, opacity) in &opacities {
                let mut state = states
                    .insert(Name(state_name(*percent).as_bytes()))
                    .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
                state.non_stroking_alpha(*opacity);
            }
        }
        let stream = compress_to_vec_zlib(&self.content(), LEVEL);
        pdf.stream(content, &stream).filter(Filter::FlateDecode);
        pdf.document_info(info).title(TextStr(&self.title)).producer(TextStr("Weir"));
        pdf.type0_font(outer)
            .base_font(FONT)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(inner)
            .to_unicode(unicode);
        {
            let mut font = pdf.cid_font(inner);
            font.subtype(CidFontType::Type2).base_font(FONT).system_info(SYSTEM).font_descriptor(descriptor);
            font.cid_to_gid_map_predefined(Name(b"Identity"));
            let mut widths = font.widths();
            for glyph in used.keys() {
                widths.consecutive(*glyph, [(font::advance(GlyphId(*glyph)) * 1000.0) as f32]);
            }
        }
        let face = font::face();
        let scale = |x: i16| f32::from(x) * 1000.0 / f32::from(face.units_per_em());
        let bounds = face.global_bounding_box();
        pdf.font_descriptor(descriptor)
            .name(FONT)
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(
                scale(bounds.x_min),
                scale(bounds.y_min),
                scale(bounds.x_max),
                scale(bounds.y_max),
            ))
            .italic_angle(0.0)
            .ascent(scale(face.ascender()))
            .descent(scale(face.descender()))
            .cap_height(scale(face.capital_height().unwrap_or_default()))
            .stem_v(80.0)
            .font_file2(file);
        let bytes = font::subset(used.keys().map(|glyph| GlyphId(*glyph)).collect());
        let stream = compress_to_vec_zlib(&bytes, LEVEL);
        let length = bytes.len() as i32;
        pdf.stream(file, &stream).filter(Filter::FlateDecode).pair(Name(b"Length1"), length);
        let mut map = UnicodeCmap::new(Name(b"Weir"), SYSTEM);
        used.iter().for_each(|(glyph, c)| map.pair(*glyph, *c));
        let map = map.finish();
        pdf.cmap(unicode, &map).name(Name(b"Weir")).system_info(SYSTEM);
        pdf.finish()
    }

    fn content(&self) -> Vec<u8> {
        let mut to = Content::new();
        // From the top down.
        to.transform([1.0, 0.0, 0.0, -1.0, 0.0, self.height as f32]);
        let mut clips = 0;
        for item in &self.items {
            match item {
                Item::Path(path) => draw_path(&mut to, path),
                Item::Text(text) => draw_text(&mut to, text),
                Item::Clip(at) => {
                    let [x, y, width, height] = at.map(|x| x as f32);
                    to.save_state().rect(x, y, width, height).clip_nonzero().end_path();
                    clips += 1;
                }
                Item::Unclip if clips > 0 => {
                    to.restore_state();
                    clips -= 1;
                }
                Item::Unclip => {}
            }
        }
        for _ in 0..clips {
            to.restore_state();
        }
        to.finish().to_vec()
    }
}

fn percent(path: &Path) -> u8 {
    (path.opacity.clamp(0.0, 1.0) * 100.0).round() as u8
}

fn state_name(percent: u8) -> String {
    format!("O{percent}")
}

fn parts(colour: Colour) -> [f32; 3] {
    colour.map(|part| (f32::from(part) / 255.0 * 1000.0).round() / 1000.0)
}

fn draw_path(to: &mut Content, path: &Path) {
    if path.steps.is_empty() {
        return;
    }
    if let Some(colour) = path.fill {
        let [r, g, b] = parts(colour);
        to.set_fill_rgb(r, g, b).set_parameters(Name(state_name(percent(path)).as_bytes()));
    }
    if let Some((colour, width)) = path.stroke {
        let [r, g, b] = parts(colour);
        to.set_stroke_rgb(r, g, b).set_line_width(width as f32);
        to.set_line_join(pdf_writer::types::LineJoinStyle::RoundJoin);
        to.set_dash_pattern(path.dash.iter().map(|x| *x as f32), 0.0);
    }
    for step in &path.steps {
        match step {
            Step::Move(x, y) => to.move_to(*x as f32, *y as f32),
            Step::Line(x, y) => to.line_to(*x as f32, *y as f32),
            Step::Curve(places) => {
                let [a, b, c, d, e, f] = places.map(|x| x as f32);
                to.cubic_to(a, b, c, d, e, f)
            }
            Step::Close => to.close_path(),
        };
    }
    match (path.fill, path.stroke) {
        (Some(_), Some(_)) => to.fill_nonzero_and_stroke(),
        (Some(_), None) => to.fill_nonzero(),
        (None, Some(_)) => to.stroke(),
        (None, None) => to.end_path(),
    };
}

fn draw_text(to: &mut Content, text: &Text) {
    let [r, g, b] = parts(text.colour);
    let (sin, cos) = (libm::sin(text.angle.to_radians()) as f32, libm::cos(text.angle.to_radians()) as f32);
    let glyphs: Vec<u8> = text.text.chars().flat_map(|c| font::glyph(c).0.to_be_bytes()).collect();
    to.begin_text();
    to.set_fill_rgb(r, g, b).set_font(Name(b"F"), text.size as f32);
    // Letters stand upright although the page is drawn from the top down.
    to.set_text_matrix([cos, -sin, -sin, -cos, text.x as f32, text.y as f32]);
    to.show(Str(&glyphs));
    to.end_text();
}
