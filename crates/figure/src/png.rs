//! A drawing as PNG.

use tiny_skia::{
    Color, FillRule, LineJoin, Mask, Paint, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use crate::drawing::{Drawing, Item, Path, Step, Text};
use crate::font;
use crate::style::Colour;

/// No picture has more pixels in a direction.
const MOST: f64 = 20_000.0;

impl Drawing {
    /// As PNG with so many pixels an inch; `None` if it would have no pixel, or more than 20 000 in a direction.
    pub fn png(&self, per_inch: f64) -> Option<Vec<u8>> {
        let scale = per_inch / 72.0;
        let pixels = |x: f64| Some((x * scale).ceil()).filter(|x| (1.0..=MOST).contains(x)).map(|x| x as u32);
        let mut map = Pixmap::new(pixels(self.width)?, pixels(self.height)?)?;
        map.fill(Color::WHITE);
        let base = Transform::from_scale(scale as f32, scale as f32);
        let mut mask: Option<Mask> = None;
        for item in &self.items {
            match item {
                Item::Path(path) => draw_path(&mut map, path, base, mask.as_ref()),
                Item::Text(text) => draw_text(&mut map, text, base, mask.as_ref()),
                Item::Clip(at) => {
                    let [x, y, width, height] = at.map(|x| x as f32);
                    let path = Rect::from_xywh(x, y, width, height).map(PathBuilder::from_rect);
                    mask = Mask::new(map.width(), map.height());
                    if let (Some(mask), Some(path)) = (&mut mask, path) {
                        mask.fill_path(&path, FillRule::Winding, true, base);
                    }
                }
                Item::Unclip => mask = None,
            }
        }
        map.encode_png().ok()
    }
}

fn paint([r, g, b]: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint
}

fn draw_path(map: &mut Pixmap, path: &Path, base: Transform, mask: Option<&Mask>) {
    let mut built = PathBuilder::new();
    for step in &path.steps {
        match step {
            Step::Move(x, y) => built.move_to(*x as f32, *y as f32),
            Step::Line(x, y) => built.line_to(*x as f32, *y as f32),
            Step::Curve(places) => {
                let [a, b, c, d, e, f] = places.map(|x| x as f32);
                built.cubic_to(a, b, c, d, e, f);
            }
            Step::Close => built.close(),
        }
    }
    let Some(built) = built.finish() else { return };
    if let Some(colour) = path.fill {
        map.fill_path(&built, &paint(colour, path.opacity), FillRule::Winding, base, mask);
    }
    if let Some((colour, width)) = path.stroke {
        let dash: Vec<f32> = path.dash.iter().map(|x| *x as f32).collect();
        let stroke = Stroke {
            width: width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dash, 0.0),
            ..Stroke::default()
        };
        map.stroke_path(&built, &paint(colour, 1.0), &stroke, base, mask);
    }
}

/// The outline of a glyph.
struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

fn draw_text(map: &mut Pixmap, text: &Text, base: Transform, mask: Option<&Mask>) {
    let size = text.size as f32 / f32::from(font::face().units_per_em());
    let place = base
        .pre_translate(text.x as f32, text.y as f32)
        .pre_concat(Transform::from_rotate(-text.angle as f32));
    let mut along = 0.0;
    for c in text.text.chars() {
        let glyph = font::glyph(c);
        let mut outline = Outline(PathBuilder::new());
        font::face().outline_glyph(glyph, &mut outline);
        if let Some(outline) = outline.0.finish() {
            let place = place.pre_translate(along as f32, 0.0).pre_scale(size, -size);
            map.fill_path(&outline, &paint(text.colour, 1.0), FillRule::Winding, place, mask);
        }
        along += font::advance(glyph) * text.size;
    }
}
