//! `[[link]]` and `[[medium]]`: point-to-point links, and links between the stations of a medium.

use std::sync::Arc;

use weir_core::link::{RateTrace, least_burst};
use weir_core::seam::QueueLimit;
use weir_core::units::{Rate, Span};
use weir_document::{Item, Origin, list};
use weir_medium::phy::RATES;

use super::nodes::Network;
use super::{Loader, Result};
use crate::model::{DirectedLink, Link, LinkId, Medium, MediumId, NodeId};
use crate::names;
use crate::read::ScenarioItem;

impl Loader<'_> {
    pub(super) fn links(&self, network: &mut Network) -> Vec<Link> {
        let mut links = Vec::new();
        let faults = self.faults;
        for listed in &self.all("link") {
            let item = self.item(listed);
            faults.keys(&item);
            let rate_trace = faults.or(self.rate_traces(&item), None);
            let rate = match &rate_trace {
                Some(traces) => traces.each_ref().map(|trace| trace.mean_rate()),
                None if item.given("rate_trace").is_some() => [Rate::from_bps(1); 2],
                None => faults.or(item.rates("rate"), [Rate::from_bps(1); 2]),
            };
            let delay = faults.or(item.spans("delay"), [Span::ZERO; 2]);
            let delay_jitter = faults.or(item.number("delay_jitter"), 0.0);
            let queue = faults.or(item.queue("queue"), QueueLimit::Packets(u32::MAX));
            let loss = faults.or(item.number("loss"), 0.0);
            let cost = faults.or(item.numbers("cost"), [1.0; 2]).map(thousandths);
            let loss_burst = faults.or(burst(&item, loss), None);
            let jitter = faults.or(item.span("jitter"), Span::ZERO);
            let reorder = faults.or(item.switch("reorder"), false);
            let half_duplex = faults.or(half_duplex(&item), false);
            let Some((a, b, at)) = faults.keep(ends(&item, network)) else { continue };
            let Some(name) = faults.keep(name(&item)) else { continue };
            let added = add_link(&item, "ends", network, (a, b, name.clone()), at, links.len());
            if faults.keep(added).is_some() {
                links.push(Link {
                    name,
                    a,
                    b,
                    rate,
                    delay,
                    delay_jitter,
                    queue,
                    loss,
                    cost,
                    loss_burst,
                    jitter,
                    reorder,
                    rate_trace,
                    half_duplex,
                    medium: None,
                });
            }
        }
        links
    }

    /// Returns the media. Each pair of stations becomes a link; with an access point, each pair with it.
    pub(super) fn media(&self, network: &mut Network, links: &mut Vec<Link>) -> Vec<Medium> {
        let mut media: Vec<Medium> = Vec::new();
        let faults = self.faults;
        for listed in &self.all("medium") {
            let item = self.item(listed);
            faults.keys(&item);
            let name = faults.or(item.label("name"), String::new());
            if media.iter().any(|m| m.name == name) {
                faults.push(item.error_here(format!("there are two media `{name}`"), ""));
            }
            faults.or(item.choice("standard"), "");
            let rate = [faults.or(item.rate_of("rate", &RATES, "802.11a"), RATES[0]); 2];
            let queue = faults.or(item.queue("queue"), QueueLimit::Packets(u32::MAX));
            let loss = faults.or(item.number("loss"), 0.0);
            let Some(stations) = faults.keep(stations(&item, network)) else { continue };
            let Some(access_point) = faults.keep(access_point(&item, network, &stations)) else { continue };
            let medium = Some(MediumId(media.len()));
            for (i, &(a, _)) in stations.iter().enumerate() {
                for &(b, at) in &stations[i + 1..] {
                    if access_point.is_some_and(|ap| a != ap && b != ap) {
                        continue;
                    }
                    let added = add_link(&item, "stations", network, (a, b, None), at, links.len());
                    if faults.keep(added).is_some() {
                        let delay = [Span::ZERO; 2];
                        let cost = [thousandths(1.0); 2];
                        let name = None;
                        links.push(Link {
                            name,
                            a,
                            b,
                            rate,
                            delay,
                            delay_jitter: 0.0,
                            queue,
                            loss,
                            cost,
                            loss_burst: None,
                            jitter: Span::ZERO,
                            reorder: false,
                            rate_trace: None,
                            half_duplex: false,
                            medium,
                        });
                    }
                }
            }
            media.push(Medium { name, stations: stations.into_iter().map(|s| s.0).collect() });
        }
        media
    }
}

/// Returns the name of a link, if it has one. The name contains no separator of full names.
fn name(item: &Item<'_>) -> Result<Option<String>> {
    let Some(value) = item.given("name") else { return Ok(None) };
    let name = item.label("name")?;
    if name.contains([':', '-', ',']) {
        let message = format!("`{name}` is not a link's name: letters, digits, `_`, `+` and blanks within");
        return Err(item.error("name", value, message, ""));
    }
    Ok(Some(name))
}

/// Converts a cost to thousandths.
fn thousandths(cost: f64) -> u64 {
    ((cost * 1000.0).round() as u64).max(1)
}

impl Loader<'_> {
    /// Returns the traces of a link's rates in both directions, if it has any.
    fn rate_traces(&self, item: &Item<'_>) -> Result<Option<[Arc<RateTrace>; 2]>> {
        let key = "rate_trace";
        let Some(value) = item.given(key) else { return Ok(None) };
        let mut traces = Vec::new();
        for (path, at) in item.texts(key)? {
            let wrong = |message: String, help: &str| item.doc.error(at, item.path_of(key), message, help);
            let text = self
                .files
                .read(&path)
                .map_err(|why| wrong(why, "a path is relative to the scenario's file"))?;
            let trace = RateTrace::parse(&text).map_err(|error| {
                let help = "each line is a time in ms, at which 1504 bytes may leave, such as 12";
                wrong(format!("{path}, {error}"), help)
            })?;
            traces.push(Arc::new(trace));
        }
        match &traces[..] {
            [both] => Ok(Some([Arc::clone(both), Arc::clone(both)])),
            [forward, backward] => Ok(Some([Arc::clone(forward), Arc::clone(backward)])),
            _ => Err(item.error(key, value, "a link has one trace for both directions, or one for each", "")),
        }
    }
}

/// Returns the mean length of bursts of losses, if losses come in bursts.
fn burst(item: &Item<'_>, loss: f64) -> Result<Option<f64>> {
    let length = item.opt_number("loss_burst")?;
    check_burst(item, "loss_burst", loss, length)?;
    Ok(length)
}

/// Rejects bursts that are too short for a loss ratio. The error is at `key`.
pub(super) fn check_burst(item: &Item<'_>, key: &str, loss: f64, length: Option<f64>) -> Result<()> {
    let least = least_burst(loss);
    match length {
        Some(length) if loss < 1.0 && length < least => {
            let message =
                format!("a part of {loss} is lost, so {least:.1} packets in a row and more, not {length}");
            let value = item.value(key)?;
            Err(item.error(key, &value, message, "the smallest length is loss / (1 - loss)"))
        }
        _ => Ok(()),
    }
}

fn half_duplex(item: &Item<'_>) -> Result<bool> {
    let is_half = item.choice("duplex")? == "half";
    if is_half && item.given("rate_trace").is_some() {
        let value = item.value("duplex")?;
        let help = "remove one of the two keys";
        return Err(item.error("duplex", &value, "a link with a `rate_trace` is full duplex", help));
    }
    Ok(is_half)
}

/// Returns the two nodes of a link, and the position of the first.
fn ends(item: &Item<'_>, network: &Network) -> Result<(NodeId, NodeId, Origin)> {
    let ends = item.texts("ends")?;
    let [(a, a_at), (b, b_at)] = &ends[..] else {
        return Err(item.error_here("a link has two ends", ""));
    };
    let (a, b) = (network.node(item, "ends", a, *a_at)?, network.node(item, "ends", b, *b_at)?);
    if a == b {
        let message = format!("the link joins {0} to itself", network.name(a));
        let help = "a link joins two different nodes";
        return Err(item.doc.error(*a_at, item.path_of("ends"), message, help));
    }
    Ok((a, b, *a_at))
}

/// Returns the stations of a medium, with the positions of their names.
fn stations(item: &Item<'_>, network: &Network) -> Result<Vec<(NodeId, Origin)>> {
    let mut stations: Vec<(NodeId, Origin)> = Vec::new();
    for (text, at) in item.texts("stations")? {
        for name in item.expand("stations", &text, at, None)? {
            let node = network.node(item, "stations", &name, at)?;
            if stations.iter().any(|s| s.0 == node) {
                let message = format!("{name} is among the stations twice");
                return Err(item.doc.error(at, item.path_of("stations"), message, ""));
            }
            stations.push((node, at));
        }
    }
    if stations.len() < 2 {
        let value = item.value("stations")?;
        let help = "write stations = [\"AP\", \"N1\"]";
        return Err(item.error("stations", &value, "a medium has at least two stations", help));
    }
    Ok(stations)
}

fn access_point(item: &Item<'_>, network: &Network, stations: &[(NodeId, Origin)]) -> Result<Option<NodeId>> {
    let key = "access_point";
    let Some(name) = item.opt_text(key)? else { return Ok(None) };
    let at = item.origin_of(key);
    let node = network.node(item, key, &name, at)?;
    if stations.iter().any(|s| s.0 == node) {
        return Ok(Some(node));
    }
    let known = list(stations.iter().map(|s| network.name(s.0)));
    let message = format!("{name} is not one of the stations");
    Err(item.doc.error(at, item.path_of(key), message, format!("stations: {known}")))
}

/// Adds the link between two nodes, the `index`th, to the network.
fn add_link(
    item: &Item<'_>,
    key: &str,
    network: &mut Network,
    (a, b, name): (NodeId, NodeId, Option<String>),
    at: Origin,
    index: usize,
) -> Result<()> {
    let between = network.links.get(&(a, b));
    if between.is_some_and(|between| between.iter().any(|(of, _)| *of == name)) {
        let called = name.map_or(String::new(), |name| format!(" called `{name}`"));
        let ends = [a, b].map(|node| network.name(node));
        let message = format!("there is already a link between {} and {}{called}", ends[0], ends[1]);
        let help = "give each further link between two nodes its own name: name = \"upper\"";
        return Err(item.doc.error(at, item.path_of(key), message, help));
    }
    if index >= names::MAX_NAMES {
        return Err(item.error_here(format!("there are more than {} links", names::MAX_NAMES), ""));
    }
    let link = LinkId(index);
    for (ends, direction) in [((a, b), 0), ((b, a), 1)] {
        let between = network.links.entry(ends).or_default();
        between.push((name.clone(), DirectedLink { link, direction }));
    }
    Ok(())
}

/// Parses `A-B` or `A->B`, with `:NAME` if the link has one. Also returns whether the text has the second
/// form, which means one direction.
pub(super) fn link_text(
    item: &Item<'_>,
    key: &str,
    text: &str,
    at: Origin,
    network: &Network,
) -> Result<(DirectedLink, bool)> {
    let wrong = |message: String| item.doc.error(at, item.path_of(key), message, "");
    let (text, name) = names::link_and_name(text);
    let ((a, b), one_way) = match text.split_once("->") {
        Some((a, b)) => ((names::unquoted(a), names::unquoted(b)), true),
        None if names::pairs(text).is_empty() => {
            return Err(wrong(format!(
                "`{text}` is not a link such as \"R1-R2\", nor a direction such as \"R1->R2\""
            )));
        }
        None => (names::pair(text, |a, b| network.has(a) && network.has(b)).map_err(wrong)?, false),
    };
    let (a, b) = (network.node(item, key, a, at)?, network.node(item, key, b, at)?);
    Ok((network.link(item, key, (a, b, name), at)?, one_way))
}
