//! `[[node]]`: the nodes, and the names of the network.

use std::collections::BTreeMap;

use weir_core::node::CsPlacement;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Span};
use weir_document::{Item, Limit, Origin, did_you_mean, list};

use super::{Loader, Result};
use crate::faults::Faults;
use crate::model::{DirectedLink, Flow, Node, NodeId, Software};
use crate::names::{self, covers};
use crate::read::ScenarioItem;

const MAX_NODES: usize = 20_000;

/// A direction of a link, with the link's name if it has one.
type NamedLink = (Option<String>, DirectedLink);

/// The nodes by name, and the links by their end nodes.
pub(super) struct Network {
    nodes: BTreeMap<String, NodeId>,
    /// The names of the nodes, by number.
    pub(super) names: Vec<String>,
    /// The links from a node to another, each with its name.
    pub(super) links: BTreeMap<(NodeId, NodeId), Vec<NamedLink>>,
    /// Whether a node or link is missing because of an error. References to it are then wrong for that
    /// reason.
    pub(super) has_gaps: bool,
}

impl Network {
    /// Returns the node of this name, which `key` gives at `at`.
    pub(super) fn node(&self, item: &Item<'_>, key: &str, name: &str, at: Origin) -> Result<NodeId> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let known = || self.names.iter().map(String::as_str);
            let meant = did_you_mean(name, known());
            let help = if self.names.is_empty() {
                "there are no nodes: write [[node]] and below it name = \"R1\"".to_owned()
            } else {
                format!("nodes: {}", list(known()))
            };
            let message = format!("there is no node `{name}`{meant}");
            item.doc.error(at, item.path_of(key), message, help).following(self.has_gaps)
        })
    }

    /// Returns whether there is a node of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.nodes.contains_key(name)
    }

    pub(super) fn name(&self, node: NodeId) -> &str {
        &self.names[node.index()]
    }

    /// Returns the direction from `a` to `b` of the link of this name between them, which `key` names at
    /// `at`. Without a name it is the link without one, or the only one.
    pub(super) fn link(
        &self,
        item: &Item<'_>,
        key: &str,
        (a, b, name): (NodeId, NodeId, Option<&str>),
        at: Origin,
    ) -> Result<DirectedLink> {
        let between = self.links.get(&(a, b)).map_or(&[][..], |links| links);
        let named = between.iter().find(|(of, _)| of.as_deref() == name);
        let found = match (named, between) {
            (None, [only]) if name.is_none() => Some(only),
            _ => named,
        };
        found.map(|(_, link)| *link).ok_or_else(|| {
            let (a_name, b_name) = (self.name(a), self.name(b));
            if !between.is_empty() {
                let message = match name {
                    Some(name) => format!("no link between {a_name} and {b_name} is called `{name}`"),
                    None => format!("there are several links between {a_name} and {b_name}"),
                };
                let full = |(of, _): &NamedLink| match of {
                    Some(of) => format!("{a_name}-{b_name}:{of}"),
                    None => format!("{a_name}-{b_name}"),
                };
                let known: Vec<String> = between.iter().map(full).collect();
                let help = format!("links: {}", list(known.iter().map(String::as_str)));
                return item.doc.error(at, item.path_of(key), message, help).following(self.has_gaps);
            }
            let of_a = self.links.range((a, NodeId(0))..=(a, NodeId(usize::MAX)));
            let message = format!("there is no link between {a_name} and {b_name}");
            let help = format!("{a_name} has links to: {}", list(of_a.map(|(ends, _)| self.name(ends.1))));
            item.doc.error(at, item.path_of(key), message, help).following(self.has_gaps)
        })
    }
}

impl Loader<'_> {
    pub(super) fn nodes(&self) -> (Vec<Node>, Network) {
        let mut network =
            Network { nodes: BTreeMap::new(), names: Vec::new(), links: BTreeMap::new(), has_gaps: false };
        let mut nodes = Vec::new();
        let all = self.all("node");
        if all.is_empty() {
            let help = "write [[node]] and below it name = \"R1\", or a range: name = \"R{1..4}\"";
            self.faults.keep::<()>(Err(self.doc.error(Origin::Default, "node", "there are no nodes", help)));
        }
        for listed in &all {
            let item = self.item(listed);
            self.faults.keys(&item);
            let Some(name) = self.faults.keep(item.text("name")) else { continue };
            let wrong = |message| self.doc.error(item.origin_of("name"), item.path_of("name"), message, "");
            self.faults.or(names::check_node(&name).map_err(wrong), ());
            if nodes.len() >= MAX_NODES {
                self.faults
                    .keep::<()>(Err(item.error_here(format!("there are more than {MAX_NODES} nodes"), "")));
                break;
            }
            if network.nodes.contains_key(&name) {
                self.faults.push(wrong(format!("there are two nodes `{name}`")));
                continue;
            }
            network.nodes.insert(name.clone(), NodeId(nodes.len()));
            network.names.push(name.clone());
            nodes.push(node(&item, name, self.faults));
        }
        network.has_gaps = self.faults.has_gaps();
        (nodes, network)
    }

    /// Checks that the prefixes of a simulated cache are fetched by a flow.
    pub(super) fn check_cached_prefixes(&self, nodes: &[Node], flows: &[Flow]) {
        for (listed, node) in self.all("node").iter().zip(nodes) {
            let is_asked_for = |prefix: &str| flows.iter().any(|flow| covers(prefix, &flow.prefix));
            let item = self.item(listed);
            let Some(prefix) = node.cache_ratio_prefixes.iter().find(|prefix| !is_asked_for(prefix)) else {
                continue;
            };
            let meant = did_you_mean(prefix, flows.iter().map(|flow| flow.prefix.as_str()));
            let (key, message) =
                ("cache_ratio_for", format!("no flow fetches anything under {prefix}{meant}"));
            self.faults.push(self.doc.error(item.origin_of(key), item.path_of(key), message, ""));
        }
    }
}

fn node(item: &Item<'_>, name: String, faults: &Faults) -> Node {
    let (cache_packets, cache_bytes) = match faults.or(item.limit("cache"), Limit::Unlimited) {
        Limit::Packets(n) => (n, None),
        Limit::Bytes(bytes) if bytes == Bytes::ZERO => (0, None),
        Limit::Bytes(bytes) => (u64::MAX, Some(bytes)),
        Limit::Unlimited => (u64::MAX, None),
    };
    let policy = CsPolicy::named(faults.or(item.choice("cache_policy"), "")).unwrap_or_default();
    let cache_ratio_prefixes = faults.or(cache_ratio_prefixes(item), Vec::new());
    Node {
        name,
        cache_packets,
        cache_bytes,
        cache_policy: policy,
        cache_placement: faults.or(cache_placement(item), CsPlacement::Everywhere),
        cache_ratio: faults.or(item.number("cache_ratio"), 0.0),
        cache_ratio_prefixes,
        reforward_after: faults.or(item.span("reforward_after"), Span::ZERO),
        next_hop_timeout: faults.or(item.span("next_hop_timeout"), Span::ZERO),
        share_by_face: faults.or(item.choice("share_by"), "") == "face",
        active: faults.or(item.switch("active"), true),
        software: Software::named(faults.or(item.choice("forwarder"), "")).unwrap_or_default(),
        command: faults.or(item.opt_text("command"), None).map(Into::into),
        position: faults.or(item.position(), None),
    }
}

fn cache_placement(item: &Item<'_>) -> Result<CsPlacement> {
    let (key, value) = ("cache_placement", item.text("cache_placement")?);
    let wrong = |_| {
        let message = format!("`{value}` is not a placement");
        item.doc.error(
            item.origin_of(key),
            item.path_of(key),
            message,
            format!("write {}", CsPlacement::FORMS),
        )
    };
    value.parse().map_err(wrong)
}

fn cache_ratio_prefixes(item: &Item<'_>) -> Result<Vec<String>> {
    let key = "cache_ratio_for";
    let mut prefixes = Vec::new();
    if item.given(key).is_none() {
        return Ok(prefixes);
    }
    if item.given("cache_ratio").is_none() {
        let message = "there is no `cache_ratio` for these prefixes; if only an event sets it, write `cache_ratio = 0.0`";
        return Err(item.doc.error(item.origin_of(key), item.path_of(key), message, ""));
    }
    for (text, at) in item.texts(key)? {
        for prefix in item.expand(key, &text, at, None)? {
            item.check_prefix(key, &prefix, at, true)?;
            prefixes.push(prefix);
        }
    }
    Ok(prefixes)
}
