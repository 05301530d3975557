//! `[[link]]` and `[[medium]]`: point-to-point links, and links between the stations of a medium.

use weir_core::units::Span;
use weir_document::{Item, Origin, list};
use weir_medium::phy::RATES;

use super::nodes::Network;
use super::{Loader, Result};
use crate::model::{DirectedLink, Link, LinkId, Medium, MediumId, NodeId};
use crate::names;
use crate::read::ScenarioItem;

impl Loader<'_> {
    pub(super) fn links(&self, network: &mut Network) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        for listed in &self.all("link") {
            let item = self.item(listed);
            item.check_keys()?;
            let (a, b, at) = ends(&item, network)?;
            add_link(&item, "ends", network, (a, b), at, links.len())?;
            links.push(Link {
                a,
                b,
                rate: item.rates("rate")?,
                delay: item.spans("delay")?,
                delay_jitter: item.number("delay_jitter")?,
                queue: item.queue("queue")?,
                loss: item.number("loss")?,
                medium: None,
            });
        }
        Ok(links)
    }

    /// The media. Each pair of stations becomes a link; with an access point, each pair with it.
    pub(super) fn media(&self, network: &mut Network, links: &mut Vec<Link>) -> Result<Vec<Medium>> {
        let mut media: Vec<Medium> = Vec::new();
        for listed in &self.all("medium") {
            let item = self.item(listed);
            item.check_keys()?;
            let name = item.label("name")?;
            if media.iter().any(|m| m.name == name) {
                return Err(item.error_here(format!("there are two media `{name}`"), ""));
            }
            item.choice("standard")?;
            let stations = stations(&item, network)?;
            let access_point = access_point(&item, network, &stations)?;
            let medium = Some(MediumId(media.len()));
            let rate = [item.rate_of("rate", &RATES, "802.11a")?; 2];
            let (queue, loss) = (item.queue("queue")?, item.number("loss")?);
            for (i, &(a, _)) in stations.iter().enumerate() {
                for &(b, at) in &stations[i + 1..] {
                    if access_point.is_some_and(|ap| a != ap && b != ap) {
                        continue;
                    }
                    add_link(&item, "stations", network, (a, b), at, links.len())?;
                    let delay = [Span::ZERO; 2];
                    links.push(Link { a, b, rate, delay, delay_jitter: 0.0, queue, loss, medium });
                }
            }
            media.push(Medium { name, stations: stations.into_iter().map(|s| s.0).collect() });
        }
        Ok(media)
    }
}

/// The two nodes of a link, and where the first stands.
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

/// The stations of a medium, each with where its name stands.
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

/// Gives the network the link between two nodes, which is the `index`th.
fn add_link(
    item: &Item<'_>,
    key: &str,
    network: &mut Network,
    (a, b): (NodeId, NodeId),
    at: Origin,
    index: usize,
) -> Result<()> {
    if network.links.contains_key(&(a, b)) {
        let message = format!("there is already a link between {} and {}", network.name(a), network.name(b));
        let help = "two nodes have at most one link; for a second path, add a node";
        return Err(item.doc.error(at, item.path_of(key), message, help));
    }
    if index >= names::MAX_NAMES {
        return Err(item.error_here(format!("there are more than {} links", names::MAX_NAMES), ""));
    }
    let link = LinkId(index);
    network.links.insert((a, b), DirectedLink { link, direction: 0 });
    network.links.insert((b, a), DirectedLink { link, direction: 1 });
    Ok(())
}

/// The link of `A-B` or `A->B`; also whether the text is of the second form, which means one direction.
pub(super) fn link_text(
    item: &Item<'_>,
    key: &str,
    text: &str,
    at: Origin,
    network: &Network,
) -> Result<(DirectedLink, bool)> {
    let (pair, one_way) = match text.split_once("->") {
        Some(pair) => (Some(pair), true),
        None => (text.split_once('-'), false),
    };
    let Some((a, b)) = pair else {
        let message = format!("`{text}` is not a link such as \"R1-R2\", nor a direction such as \"R1->R2\"");
        return Err(item.doc.error(at, item.path_of(key), message, ""));
    };
    let (a, b) = (network.node(item, key, a.trim(), at)?, network.node(item, key, b.trim(), at)?);
    Ok((network.link(item, key, a, b, at)?, one_way))
}
