//! A drawing: lines, areas and texts at places. Lengths are in points, 1/72 in, from the top left.

use crate::font;
use crate::style::Colour;

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Width, points.
    pub width: f64,
    /// Height, points.
    pub height: f64,
    /// What it is about, for readers that see no drawing.
    pub title: String,
    /// In the order of drawing.
    pub items: Vec<Item>,
}

/// A part of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Lines, areas, or both.
    Path(Path),
    /// Text in one line.
    Text(Text),
    /// What follows is drawn inside a rectangle only: left, top, width, height.
    Clip([f64; 4]),
    /// Ends the last [`Item::Clip`].
    Unclip,
}

/// Lines, areas, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// Its parts.
    pub steps: Vec<Step>,
    /// Of the lines: colour and width, points; `None` for no lines.
    pub stroke: Option<(Colour, f64)>,
    /// Lengths of dashes and gaps, points; empty for unbroken lines.
    pub dash: Vec<f64>,
    /// Of the area; `None` for no area.
    pub fill: Option<Colour>,
    /// Of the area, 0 to 1.
    pub opacity: f64,
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Begins at a place.
    Move(f64, f64),
    /// A line to a place.
    Line(f64, f64),
    /// A cubic curve: two control points, and its end.
    Curve([f64; 6]),
    /// A line to the beginning.
    Close,
}

/// Text in one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Its beginning on the base line.
    pub x: f64,
    /// Its beginning on the base line.
    pub y: f64,
    /// Its size, points.
    pub size: f64,
    /// The angle against the horizontal, degrees, counter-clockwise.
    pub angle: f64,
    /// Colour.
    pub colour: Colour,
    /// The text.
    pub text: String,
}

/// The part of a text that is to be at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// No length is further away than this, points: more than readers of PDF can do is of no use.
const FURTHEST: f64 = 1e4;

/// A length that is drawn: to a hundredth of a point, and not endless.
pub(crate) fn length(x: f64) -> f64 {
    let x = if x.is_nan() { 0.0 } else { x.clamp(-FURTHEST, FURTHEST) };
    // A zero has no sign.
    (x * 100.0).round() / 100.0 + 0.0
}

impl Drawing {
    /// A line through places.
    pub(crate) fn line(&mut self, places: &[(f64, f64)], colour: Colour, width: f64, dash: &[f64]) {
        let step = |(at, (x, y)): (usize, &(f64, f64))| {
            if at == 0 { Step::Move(*x, *y) } else { Step::Line(*x, *y) }
        };
        let steps = places.iter().enumerate().map(step).collect();
        let stroke = Some((colour, width));
        self.path(Path { steps, stroke, dash: dash.to_vec(), ..Path::default() });
    }

    /// A filled rectangle.
    pub(crate) fn area(&mut self, [x, y, width, height]: [f64; 4], colour: Colour, opacity: f64) {
        let steps = rectangle([x, y, width, height]);
        self.path(Path { steps, fill: Some(colour), opacity, ..Path::default() });
    }

    pub(crate) fn path(&mut self, mut path: Path) {
        for step in &mut path.steps {
            match step {
                Step::Move(x, y) | Step::Line(x, y) => (*x, *y) = (length(*x), length(*y)),
                Step::Curve(places) => *places = places.map(length),
                Step::Close => {}
            }
        }
        self.items.push(Item::Path(path));
    }

    /// Text. `angle` is in degrees, counter-clockwise.
    pub(crate) fn text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        angle: f64,
        size: f64,
        colour: Colour,
        text: &str,
    ) {
        // Control characters have no form, and no place in XML.
        let visible = |c: char| if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') { ' ' } else { c };
        let text: String = text.chars().map(visible).collect();
        if text.trim().is_empty() {
            return;
        }
        let back = font::width(&text, size)
            * match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => 0.5,
                Anchor::End => 1.0,
            };
        let (sin, cos) = (libm::sin(angle.to_radians()), libm::cos(angle.to_radians()));
        let (x, y) = (length(x - back * cos), length(y + back * sin));
        self.items.push(Item::Text(Text { x, y, size, angle, colour, text }));
    }
}

/// The outline of a rectangle: left, top, width, height.
pub(crate) fn rectangle([x, y, width, height]: [f64; 4]) -> Vec<Step> {
    vec![
        Step::Move(x, y),
        Step::Line(x + width, y),
        Step::Line(x + width, y + height),
        Step::Line(x, y + height),
        Step::Close,
    ]
}

/// The outline of an ellipse: its centre, and the vectors of two conjugate radii.
pub(crate) fn ellipse((x, y): (f64, f64), (ax, ay): (f64, f64), (bx, by): (f64, f64)) -> Vec<Step> {
    // The length of the control lines of a quarter.
    const K: f64 = 0.552_284_75;
    let at = |a: f64, b: f64| [x + a * ax + b * bx, y + a * ay + b * by];
    let curve = |one: [f64; 2], two: [f64; 2], end: [f64; 2]| {
        Step::Curve([one[0], one[1], two[0], two[1], end[0], end[1]])
    };
    let begin = at(1.0, 0.0);
    vec![
        Step::Move(begin[0], begin[1]),
        curve(at(1.0, K), at(K, 1.0), at(0.0, 1.0)),
        curve(at(-K, 1.0), at(-1.0, K), at(-1.0, 0.0)),
        curve(at(-1.0, -K), at(-K, -1.0), at(0.0, -1.0)),
        curve(at(K, -1.0), at(1.0, -K), at(1.0, 0.0)),
        Step::Close,
    ]
}
