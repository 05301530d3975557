//! Colours, markers and dashes, by number.

/// A colour: red, green, blue.
pub type Colour = [u8; 3];

/// Black, for axes and text.
pub const INK: Colour = [0x20, 0x20, 0x20];
/// Grey, for grids.
pub const GRID: Colour = [0xdd, 0xdd, 0xdd];
/// Grey, for intervals, marks and what is beside the data.
pub const MUTED: Colour = [0x66, 0x66, 0x66];
/// The shade of a window.
pub const SHADE: Colour = [0xf0, 0xf0, 0xf0];

/// The palette of Okabe and Ito (2008), with grey for yellow, which is too light for a line on white. It can be told apart with
/// all forms of colour blindness.
const COLOURS: [Colour; 8] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x00, 0x00],
    [0x8c, 0x8c, 0x8c],
];

/// Lengths of dashes and gaps, in widths of a line.
const DASHES: [&[f32]; 4] = [&[], &[4.0, 1.6], &[1.2, 1.2], &[5.0, 1.5, 1.2, 1.5]];

/// The form of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle, point upwards.
    Up,
    /// A triangle, point downwards.
    Down,
    /// A square on a corner.
    Diamond,
    /// A broad cross of two diagonals.
    Cross,
    /// A broad cross of two axes.
    Plus,
    /// A five-pointed star.
    Star,
}

const MARKERS: [Marker; 8] = [
    Marker::Circle,
    Marker::Square,
    Marker::Up,
    Marker::Diamond,
    Marker::Down,
    Marker::Star,
    Marker::Cross,
    Marker::Plus,
];

/// How a layer looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Of lines, markers and bars.
    pub colour: Colour,
    /// At points.
    pub marker: Marker,
    /// Whether the marker is filled.
    pub filled: bool,
    /// Lengths of dashes and gaps, in widths of the line; empty for an unbroken line.
    pub dash: &'static [f32],
}

impl Style {
    /// The number of styles; from there on they repeat.
    pub const COUNT: u32 = 32;

    /// The style with this number. The first eight differ in colour; the first sixteen differ in marker, and the same colour never
    /// has the same dash, so that they can be told apart in grey.
    pub fn of(number: u32) -> Style {
        let number = (number % Style::COUNT) as usize;
        let (colour, round) = (number % 8, number / 8);
        Style {
            colour: COLOURS[colour],
            marker: MARKERS[(colour + 3 * (round / 2)) % 8],
            filled: round % 2 == 0,
            dash: DASHES[(colour + round) % 4],
        }
    }
}

/// The colour of a part from 0 to 1: the map `cividis` reversed (Nuñez, Anderton and Renslow, 2018), from light to dark, so that it
/// also reads in grey.
pub fn on_scale(part: f64) -> Colour {
    const STOPS: [Colour; 6] = [
        [0xe6, 0xdc, 0x8c],
        [0xc8, 0xb8, 0x6a],
        [0x9d, 0x94, 0x76],
        [0x70, 0x71, 0x73],
        [0x41, 0x4d, 0x6b],
        [0x00, 0x20, 0x4c],
    ];
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 } * (STOPS.len() - 1) as f64;
    let at = (part as usize).min(STOPS.len() - 2);
    let mix = |k: usize| {
        let (a, b) = (f64::from(STOPS[at][k]), f64::from(STOPS[at + 1][k]));
        (a + (b - a) * (part - at as f64)).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_differ_and_sixteen_of_them_without_colour() {
        for a in 0..Style::COUNT {
            for b in 0..a {
                assert_ne!(Style::of(a), Style::of(b), "{a} and {b}");
                if a < 16 {
                    let grey = |n| (Style::of(n).marker, Style::of(n).filled);
                    assert_ne!(grey(a), grey(b), "{a} and {b} in grey");
                }
            }
        }
    }

    #[test]
    fn the_scale_goes_from_light_to_dark() {
        let luminance = |part| on_scale(part).iter().map(|c| u32::from(*c)).sum::<u32>();
        let all: Vec<u32> = (0..=20).map(|k| luminance(f64::from(k) / 20.0)).collect();
        assert!(all.windows(2).all(|two| two[0] > two[1]), "{all:?}");
        assert_eq!(on_scale(f64::NAN), on_scale(0.0));
    }
}
