//! The description of a figure: its panels, axes, data and marks. Pages, files and Python draw from it.

use serde::{Deserialize, Serialize};

/// A figure: panels in a grid, with one legend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Above all panels; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// A line below all panels: the scenario, the seeds, the window; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The number of panels side by side; 0 is 1.
    #[serde(default)]
    pub across: usize,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// The entries of the legend; empty for a figure without legend.
    #[serde(default)]
    pub legend: Vec<Entry>,
}

/// One plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Above the plot; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The data, in the order of drawing.
    pub layers: Vec<Layer>,
    /// Events and windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// The scale of the colours of a network's links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colours: Option<ColourScale>,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity, such as `goodput`.
    #[serde(default)]
    pub label: String,
    /// The unit of the data: `bit/s`, `B`, `s`, `ms`, `packets`; empty for numbers, `1` for parts. The drawing adds the prefix
    /// to `bit/s` and `B`.
    #[serde(default)]
    pub unit: String,
    /// How values become places.
    #[serde(default)]
    pub scale: Scale,
    /// The ends of the axis, in the unit of the data; each end that is `None` follows from the data.
    #[serde(default)]
    pub range: (Option<f64>, Option<f64>),
    /// The names of the categories 0, 1, …, for [`Scale::Categories`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// How values become places on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// In proportion.
    #[default]
    Linear,
    /// By their logarithm; values that are not positive are not drawn.
    Log,
    /// The values 0, 1, … are categories, side by side.
    Categories,
}

/// Data with one style.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its name, as in the legend.
    #[serde(default)]
    pub name: String,
    /// The number of its style: see [`Style::of`](crate::Style::of).
    #[serde(default)]
    pub style: u32,
    /// The data.
    pub shape: Shape,
}

/// Data and how they are drawn. Values are in the units of the axes; NaN (`null` in JSON) is a gap. Lists of one shape have the same
/// length; a list that is shorter counts as NaN from its end on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// Points joined by a line.
    Line {
        /// Places.
        #[serde(with = "numbers")]
        x: Vec<f64>,
        /// Values.
        #[serde(with = "numbers")]
        y: Vec<f64>,
        /// Which points have markers.
        #[serde(default)]
        markers: Markers,
    },
    /// Each value holds from its place to the next one.
    Steps {
        /// Places.
        #[serde(with = "numbers")]
        x: Vec<f64>,
        /// Values.
        #[serde(with = "numbers")]
        y: Vec<f64>,
    },
    /// An area between two lines, such as an interval.
    Band {
        /// Places.
        #[serde(with = "numbers")]
        x: Vec<f64>,
        /// Lower ends.
        #[serde(with = "numbers")]
        low: Vec<f64>,
        /// Upper ends.
        #[serde(with = "numbers")]
        high: Vec<f64>,
    },
    /// Markers, with intervals where there are ends.
    Points {
        /// Places.
        #[serde(with = "numbers")]
        x: Vec<f64>,
        /// Values.
        #[serde(with = "numbers")]
        y: Vec<f64>,
        /// Lower ends; empty for none.
        #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
        low: Vec<f64>,
        /// Upper ends; empty for none.
        #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
        high: Vec<f64>,
        /// Whether the layer's name is written beside the first point.
        #[serde(default)]
        named: bool,
    },
    /// Bars from zero, at places on an axis with categories.
    Bars {
        /// Categories.
        #[serde(with = "numbers")]
        x: Vec<f64>,
        /// Heights.
        #[serde(with = "numbers")]
        y: Vec<f64>,
        /// Lower ends of intervals; empty for none.
        #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
        low: Vec<f64>,
        /// Upper ends of intervals; empty for none.
        #[serde(default, with = "numbers", skip_serializing_if = "Vec::is_empty")]
        high: Vec<f64>,
        /// The place of this layer's bar among those of one category, from 0 on.
        slot: usize,
        /// The number of bars of one category.
        slots: usize,
        /// The values of single seeds, each a dot.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seeds: Vec<Dot>,
    },
    /// An ellipse of scatter around a mean: by the covariance of `x` and `y`.
    Ellipse {
        /// Its centre.
        #[serde(with = "number")]
        x: f64,
        /// Its centre.
        #[serde(with = "number")]
        y: f64,
        /// Variance of `x`, of `y`, and their covariance, times the square of the radius in standard deviations.
        #[serde(with = "numbers")]
        covariance: Vec<f64>,
    },
    /// A network: places are from 0 to 1, the vertical one downwards. It has no axes.
    Network {
        /// The nodes.
        nodes: Vec<Node>,
        /// The directions of its links.
        links: Vec<Link>,
    },
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::Line { x: Vec::new(), y: Vec::new(), markers: Markers::Few }
    }
}

/// Which points of a line have markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Markers {
    /// A few, so that the line differs from others in grey.
    #[default]
    Few,
    /// All.
    All,
    /// None, so that the line differs from the points of another layer.
    None,
}

/// The value of one seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dot {
    /// Category.
    #[serde(with = "number")]
    pub x: f64,
    /// Value.
    #[serde(with = "number")]
    pub y: f64,
    /// Seed.
    pub seed: u64,
}

/// A node of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name; empty for a node without text.
    pub name: String,
    /// From the left, 0 to 1.
    #[serde(with = "number")]
    pub x: f64,
    /// From the top, 0 to 1.
    #[serde(with = "number")]
    pub y: f64,
    /// Its kind: `consumer`, `producer`, `router`, or another word.
    #[serde(default)]
    pub role: String,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The sending node: its place in the list.
    pub from: usize,
    /// The receiving node.
    pub to: usize,
    /// The value that its colour shows; NaN for none.
    #[serde(with = "number")]
    pub value: f64,
}

/// What the colours of links mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColourScale {
    /// The quantity.
    pub label: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The values of the first and the last colour; an end that is `None` follows from the data.
    #[serde(default)]
    pub range: (Option<f64>, Option<f64>),
}

/// An event or a window on the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Its place, or its beginning.
    #[serde(with = "number")]
    pub from: f64,
    /// The end of a window, which is shaded; `None` for a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// Text; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether it is a line at a value of the vertical axis, such as a stated figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub horizontal: bool,
}

/// An entry of the legend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Text.
    pub name: String,
    /// The number of the style.
    pub style: u32,
    /// What is drawn before the text.
    #[serde(default)]
    pub sign: Sign,
}

/// What an entry of the legend shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// A line.
    #[default]
    Line,
    /// A line with a marker.
    MarkedLine,
    /// A marker.
    Marker,
    /// A filled rectangle.
    Box,
}

/// Lists of numbers: what is not finite is `null`.
mod numbers {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|x| Some(*x).filter(|x| x.is_finite())))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let values: Vec<Option<f64>> = Vec::deserialize(from)?;
        Ok(values.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect())
    }
}

/// A number: what is not finite is `null`.
mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        Some(*value).filter(|x| x.is_finite()).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
    }
}
