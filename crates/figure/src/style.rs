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

/// The colours of schemes: the palette of Okabe and Ito (2008), with grey for yellow, which is too light for a line on white, then
/// eight that differ from these. The first eight can be told apart with all forms of colour blindness. `web/src/theme.ts` has the same.
const SCHEMES: [Colour; 16] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x00, 0x00],
    [0x8c, 0x8c, 0x8c],
    [0xa0, 0x10, 0x40],
    [0x66, 0x33, 0x11],
    [0xa0, 0xa0, 0x30],
    [0x22, 0x33, 0xaa],
    [0x22, 0x55, 0x44],
    [0x66, 0x88, 0xff],
    [0x7b, 0x2f, 0xa0],
    [0x55, 0x88, 0x44],
];

/// The colours of classes, and of flows, links and groups in this order. `web/src/theme.ts` has the same.
const CLASSES: [(&str, Colour); 8] = [
    ("EF", [0x0a, 0x46, 0x96]),
    ("AF2", [0xe0, 0x4a, 0x1a]),
    ("AF1", [0x00, 0x74, 0x5f]),
    ("BE", [0xb7, 0x78, 0x92]),
    ("CS7", [0x3b, 0x32, 0x32]),
    ("AF4", [0x37, 0x87, 0xcf]),
    ("AF3", [0x85, 0x80, 0x0a]),
    ("CS6", [0x7c, 0x4b, 0xda]),
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

/// Numbers below this one are of schemes: each of the sixteen colours three times. The others are of classes and further objects:
/// each of the eight colours twice.
const OBJECTS: u32 = 48;

impl Style {
    /// The number of styles; from there on they repeat.
    pub const COUNT: u32 = OBJECTS + 16;

    /// The style with this number. The first sixteen, those of schemes, differ in colour and in marker. The same colour never has
    /// the same marker or dash, so that lines can be told apart in grey.
    pub fn of(number: u32) -> Style {
        let number = number % Style::COUNT;
        let (at, round, colour) = match number.checked_sub(OBJECTS) {
            None => (number % 16, number / 16, SCHEMES[(number % 16) as usize]),
            Some(number) => (number % 8, number / 8, CLASSES[(number % 8) as usize].1),
        };
        Style {
            colour,
            marker: MARKERS[((at + 3 * round) % 8) as usize],
            filled: (at / 8 + round).is_multiple_of(2),
            dash: DASHES[((at + round) % 4) as usize],
        }
    }

    /// The number of the style of a scheme's variant: the same colour with another marker and dash.
    pub fn number_of_variant(scheme: u32, variant: u32) -> u32 {
        (scheme + 16 * variant) % OBJECTS
    }

    /// The number of the style of the object at a place among others, such as a flow or a link.
    pub fn number_of_object(place: usize) -> u32 {
        OBJECTS + (place % 16) as u32
    }

    /// The number of the style of a class, the same in every figure. A class of another name has one by its place.
    pub fn number_of_class(name: &str, place: usize) -> u32 {
        let known = CLASSES.iter().position(|(class, _)| *class == name);
        Style::number_of_object(known.unwrap_or(place))
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
    fn schemes_differ_in_colour_and_marker_and_a_colour_has_no_marker_or_dash_twice() {
        let marker = |number| (Style::of(number).marker, Style::of(number).filled);
        for a in 0..Style::COUNT {
            for b in 0..a {
                let (one, other) = (Style::of(a), Style::of(b));
                assert_ne!(one, other, "{a} and {b}");
                if a < 16 {
                    assert_ne!(one.colour, other.colour, "{a} and {b}");
                    assert_ne!(marker(a), marker(b), "{a} and {b} in grey");
                }
                if one.colour == other.colour {
                    assert!(one.marker != other.marker && one.dash != other.dash, "{a} and {b}");
                }
            }
        }
    }

    #[test]
    fn variants_have_the_colour_of_their_scheme_and_classes_their_own() {
        for scheme in 0..16 {
            for variant in 0..3 {
                let number = Style::number_of_variant(scheme, variant);
                assert_eq!(Style::of(number).colour, SCHEMES[scheme as usize]);
            }
        }
        assert_eq!(Style::number_of_class("BE", 0), Style::number_of_object(3));
        assert_eq!(Style::number_of_class("gold", 2), Style::number_of_object(2));
    }

    /// The pages draw with the same colours and markers in the same order, on a light ground.
    #[test]
    fn the_pages_have_the_same_colours() {
        let theme = include_str!("../../../web/src/theme.ts");
        let list = |name: &str| {
            let from = theme.find(&format!("const {name}")).unwrap_or_else(|| panic!("no {name}"));
            let list = &theme[from..];
            list[..list.find(";").unwrap_or(list.len())].to_owned()
        };
        let hex = |[r, g, b]: Colour| format!("[\"#{r:02x}{g:02x}{b:02x}\", ");
        let pairs = |text: &str| text.matches("[\"#").count();
        let in_order = |list: &str, wanted: &[String]| {
            let mut rest = list;
            for one in wanted {
                let at = rest.find(one.as_str()).unwrap_or_else(|| panic!("{one} is missing, or elsewhere"));
                rest = &rest[at + one.len()..];
            }
        };
        let schemes = list("SCHEMES");
        in_order(&schemes, &SCHEMES.map(hex));
        assert_eq!(pairs(&schemes), SCHEMES.len());
        let classes = list("CLASSES");
        in_order(&classes, &CLASSES.map(|(name, colour)| format!("{name}: {}", hex(colour))));
        assert_eq!(pairs(&classes), CLASSES.len());
        let markers = MARKERS.map(|marker| format!("\"{}\"", format!("{marker:?}").to_lowercase()));
        in_order(&list("SHAPES"), &markers);
    }

    #[test]
    fn the_scale_goes_from_light_to_dark() {
        let luminance = |part| on_scale(part).iter().map(|c| u32::from(*c)).sum::<u32>();
        let all: Vec<u32> = (0..=20).map(|k| luminance(f64::from(k) / 20.0)).collect();
        assert!(all.windows(2).all(|two| two[0] > two[1]), "{all:?}");
        assert_eq!(on_scale(f64::NAN), on_scale(0.0));
    }
}
