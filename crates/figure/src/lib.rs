//! Figures: one description, and its drawing.
//!
//! ```text
//!   Figure --draw--> Drawing: lines, areas, texts at places --+--> svg
//!   (JSON)           (points, 1/72 in)                        +--> pdf
//!      |                                                      +--> png (feature `png`)
//!      +----> csv
//! ```
//!
//! A [`Figure`] has the data as plain numbers and the number of each layer's [`Style`]. It has no places, lengths or colours.
//! [`draw`] computes those. The same figure gives the same bytes everywhere: there is no I/O, no clock and no random number.

mod axis;
mod csv;
mod draw;
mod drawing;
pub mod font;
mod layers;
mod model;
mod network;
mod pdf;
#[cfg(feature = "png")]
mod png;
mod style;
mod svg;

pub use draw::{Width, draw};
pub use drawing::{Drawing, Item, Path, Step, Text};
pub use model::{
    Axis, ColourScale, Dot, Entry, Figure, Layer, Link, Mark, Markers, Node, Panel, Scale, Shape, Sign,
};
pub use style::{Colour, Marker, Style, on_scale};
