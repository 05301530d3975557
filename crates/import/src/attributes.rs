//! The attributes of nodes and edges in GraphML and GML, by the names that Topology Zoo, networkx and TopoHub
//! use.

use weir_core::units::{Rate, Span};

use crate::topology::{MOST_BPS, Place, Reader, Stated};

/// The longest delay of a link. A longer one is a mistake.
const LONGEST: Span = Span::from_secs(60);

/// Parses a rate with its unit: `10Mbps`, `10 Gb/s`, `100M`. With `plain`, a number without a unit is in bits
/// a second.
pub fn rate(text: &str, plain: bool) -> Option<Rate> {
    let (number, unit) = quantity(text)?;
    let factor = match unit.trim_end_matches("/s").trim_end_matches("ps").to_ascii_lowercase().as_str() {
        "" if plain => 1.0,
        "b" | "bit" | "bits" => 1.0,
        "k" | "kb" | "kbit" => 1e3,
        "m" | "mb" | "mbit" => 1e6,
        "g" | "gb" | "gbit" => 1e9,
        "t" | "tb" | "tbit" => 1e12,
        _ => return None,
    };
    let bps = number * factor;
    (bps >= 1.0 && bps <= MOST_BPS as f64).then(|| Rate::from_bps(bps.round() as u64))
}

/// Parses a time with its unit: `10ms`, `2.5 ms`. A number without a unit is in `plain` ms.
pub fn delay(text: &str, plain: Option<f64>) -> Option<Span> {
    let (number, unit) = quantity(text)?;
    let ms = match unit {
        "" => plain?,
        "s" => 1e3,
        "ms" => 1.0,
        "us" | "µs" => 1e-3,
        "ns" => 1e-6,
        _ => return None,
    };
    let nanos = number * ms * 1e6;
    (nanos >= 0.0 && nanos <= LONGEST.as_nanos() as f64).then(|| Span::from_nanos(nanos.round() as u64))
}

/// Splits a finite number from the text after it.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    // `1e9` is a number; `10 exabit` is not.
    let mut end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    if let Some(rest) = text[end..].strip_prefix(['e', 'E']) {
        let exponent = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        if exponent > 0 {
            end += 1 + exponent;
        }
    }
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// Parses a finite number.
pub fn number(text: &str) -> Option<f64> {
    quantity(text).filter(|(_, unit)| unit.is_empty()).map(|(number, _)| number)
}

/// Returns a cost that is valid in a scenario.
pub fn cost(number: f64) -> Option<f64> {
    (0.001..=1e9).contains(&number).then_some(number)
}

/// The attributes in a file: name and text.
pub type Attributes<'t> = Vec<(&'t str, &'t str)>;

fn get<'t>(attributes: &Attributes<'t>, names: &[&str]) -> Option<&'t str> {
    let named = |name: &&str| attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    names.iter().find_map(named).map(|(_, text)| text.trim()).filter(|text| !text.is_empty())
}

/// Returns the label of a node.
pub fn label<'t>(attributes: &Attributes<'t>) -> Option<&'t str> {
    get(attributes, &["label", "name"]).filter(|label| !matches!(*label, "None" | "?"))
}

/// Returns the place of a node.
pub fn place(attributes: &Attributes<'_>) -> Option<Place> {
    let at = |names: &[&str]| get(attributes, names).and_then(number);
    let earth = (at(&["latitude", "lat"]), at(&["longitude", "lon", "lng"]));
    if let (Some(latitude), Some(longitude)) = earth {
        return on_earth(latitude, longitude);
    }
    Some(drawn(at(&["x"])?, at(&["y"])?))
}

/// Returns a place on the earth, if the coordinates are valid.
pub fn on_earth(latitude: f64, longitude: f64) -> Option<Place> {
    let is_there = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
    is_there.then_some(Place::OnEarth(latitude, longitude))
}

/// Returns a place in a drawing, limited in size.
pub fn drawn(x: f64, y: f64) -> Place {
    Place::Drawn(x.clamp(-1e6, 1e6), y.clamp(-1e6, 1e6))
}

/// Returns the stated values of an edge. A number without a unit is used only if its name contains the unit.
pub fn stated(attributes: &Attributes<'_>, reader: &mut Reader<'_>) -> Stated {
    let raw = get(attributes, &["LinkSpeedRaw"]).and_then(|text| rate(text, true));
    // Topology Zoo: `LinkSpeed "10"`, `LinkSpeedUnits "G"`.
    let speed = get(attributes, &["LinkSpeed"]).zip(get(attributes, &["LinkSpeedUnits"]));
    let speed = speed.and_then(|(speed, unit)| rate(&format!("{speed}{unit}"), false));
    let mut of = Stated {
        rate: raw.or(speed),
        distance: get(attributes, &["dist", "distance_km", "length_km"]).and_then(number),
        ..Stated::default()
    };
    of.distance = of.distance.filter(|km| (0.0..=50_000.0).contains(km));
    let rates = ["bandwidth", "capacity", "rate", "bw", "speed"];
    if let Some(text) = get(attributes, &rates).filter(|_| of.rate.is_none()) {
        of.rate = rate(text, false);
        if of.rate.is_none() {
            reader.unused("rates without a unit (such as `10Mbps`)");
        }
    }
    if let Some(text) = get(attributes, &["delay", "latency"]) {
        of.delay = delay(text, None);
        if of.delay.is_none() {
            reader.unused("delays without a unit (such as `10ms`)");
        }
    }
    if let Some(ms) = get(attributes, &["delay_ms", "latency_ms"]) {
        of.delay = of.delay.or(delay(ms, Some(1.0)));
    }
    if let Some(text) = get(attributes, &["cost", "metric", "weight"]) {
        of.cost = number(text).and_then(cost);
        if of.cost.is_none() {
            reader.unused("costs that are not a number from 0.001 to 1e9");
        }
    }
    of
}
