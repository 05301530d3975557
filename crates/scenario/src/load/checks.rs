//! Checks over several sections: queues that hold no packet, and valid settings that are probably mistakes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use weir_core::seam::QueueLimit;
use weir_core::units::{Bytes, Span};
use weir_document::{Origin, list};

use super::nodes::Network;
use super::{Listed, Loader, first_of};
use crate::model::{Flow, Link, NextHop, NodeId, Route};
use crate::routing::Fibs;

/// The largest number of flows whose lifetimes are compared with round trips. With more, it would take longer
/// than parsing.
const MOST_LIFETIMES: usize = 10_000;

/// The items to check.
pub(super) struct Checked<'s> {
    pub(super) network: &'s Network,
    pub(super) links: &'s [Link],
    pub(super) flows: &'s [Flow],
    pub(super) routes: &'s [Route],
}

impl Checked<'_> {
    /// Returns the consumers of a flow: its own, or all that the seed may draw.
    fn consumers<'f>(&self, flow: &'f Flow) -> impl Iterator<Item = NodeId> + 'f {
        let own = flow.drawn_from.is_empty().then_some(flow.consumer);
        own.into_iter().chain(flow.drawn_from.iter().copied())
    }

    /// Returns the links that Interests of a flow may take.
    fn links_of(&self, fibs: &Fibs<'_>, flow: &Flow) -> BTreeSet<usize> {
        let mut to_visit: Vec<NodeId> = self.consumers(flow).collect();
        let mut seen: BTreeSet<NodeId> = to_visit.iter().copied().collect();
        let mut links = BTreeSet::new();
        let fibs = fibs.of_name(&flow.prefix);
        while let Some(node) = to_visit.pop().filter(|node| !flow.producers.contains(node)) {
            for NextHop { node: next, link, .. } in fibs.next_hops(node) {
                links.insert(link.link.index());
                if seen.insert(*next) {
                    to_visit.push(*next);
                }
            }
        }
        links
    }

    /// Returns the shortest time from an Interest of a flow to its Data, over idle links.
    fn round_trip(&self, fibs: &Fibs<'_>, flow: &Flow, [interest, data]: [Bytes; 2]) -> Option<Span> {
        let mut open: BinaryHeap<_> = self.consumers(flow).map(|node| Reverse((Span::ZERO, node))).collect();
        let mut done = BTreeSet::new();
        let fibs = fibs.of_name(&flow.prefix);
        while let Some(Reverse((after, node))) = open.pop() {
            if flow.producers.contains(&node) {
                return Some(after);
            }
            if !done.insert(node) {
                continue;
            }
            for NextHop { node: next, link: way, .. } in fibs.next_hops(node) {
                let (link, there, back) = (&self.links[way.link.index()], way.direction, 1 - way.direction);
                let out = link.delay[there] + link.rate[there].time_for(interest);
                let home = link.delay[back] + link.rate[back].time_for(data);
                open.push(Reverse((after + out + home, *next)));
            }
        }
        None
    }
}

impl Loader<'_> {
    pub(super) fn check(&mut self, checked: &Checked<'_>) {
        let fibs = Fibs::new(checked.routes);
        self.check_queues(checked, &fibs);
        self.warn_of_isolated_nodes(checked);
        self.warn_of_lifetimes(checked, &fibs);
        self.warn_of_shared_prefixes(checked);
    }

    /// Checks that a queue in bytes has room for the largest packet that comes to it.
    fn check_queues(&self, checked: &Checked<'_>, fibs: &Fibs<'_>) {
        let in_bytes = |link: &Link| matches!(link.queue, QueueLimit::Bytes(_));
        if !checked.links.iter().any(in_bytes) {
            return;
        }
        let mut largest: Vec<(Bytes, &str)> = vec![(Bytes::ZERO, ""); checked.links.len()];
        for flow in checked.flows {
            let [interest, data] = flow.packet_lengths();
            for link in checked.links_of(fibs, flow) {
                largest[link] = largest[link].max((interest.max(data), &flow.name));
            }
        }
        let (listed, media) = (self.all("link"), self.all("medium"));
        for ((at, link), (packet, flow)) in checked.links.iter().enumerate().zip(largest) {
            let QueueLimit::Bytes(queue) = link.queue else { continue };
            let listed = link.medium.map_or_else(|| &listed[at], |medium| &media[medium.index()]);
            if queue < packet {
                let item = self.item(listed);
                let message = format!(
                    "a queue of {queue} has no room for one packet of flow {flow}, which has {packet} with its headers"
                );
                let help = "give the queue in packets, such as 100, or more bytes";
                self.faults.push(self.doc.error(
                    item.origin_of("queue"),
                    item.path_of("queue"),
                    message,
                    help,
                ));
            }
        }
    }

    /// Adds a warning about a valid setting, with its position.
    fn warn(&mut self, at: Origin, path: &str, what: &str) {
        self.notes.push(format!("{}: {path}: warning: {what}", self.doc.location(at)));
    }

    fn warn_of_isolated_nodes(&mut self, checked: &Checked<'_>) {
        let joined: BTreeSet<NodeId> = checked.links.iter().flat_map(|link| [link.a, link.b]).collect();
        let all = self.all("node");
        let isolated: Vec<usize> = (0..all.len()).filter(|&node| !joined.contains(&NodeId(node))).collect();
        let Some(first) = isolated.first().map(|&node| &all[node]) else { return };
        let what = match isolated.len() {
            1 => "no link joins this node to another".to_owned(),
            n => {
                let names: Vec<String> = isolated.iter().map(|&node| all[node].name().to_owned()).collect();
                format!("no link joins {n} nodes ({}) to others", first_of(&names))
            }
        };
        let at = self.item(first).origin_of("name");
        self.warn(at, &first.path, &what);
    }

    /// Warns once for each group with Interests that expire before their Data can come.
    fn warn_of_lifetimes(&mut self, checked: &Checked<'_>, fibs: &Fibs<'_>) {
        let all = self.all("flow");
        let tables: BTreeMap<&str, &Listed<'_>> = all.iter().map(|listed| (listed.name(), listed)).collect();
        let late = |flow: &Flow| {
            let round_trip = checked.round_trip(fibs, flow, flow.packet_lengths())?;
            (round_trip > flow.lifetime).then_some((round_trip, flow.lifetime))
        };
        let some = &checked.flows[..checked.flows.len().min(MOST_LIFETIMES)];
        for group in some.chunk_by(|one, next| one.name == next.name) {
            let Some((round_trip, lifetime)) = group.iter().filter_map(late).max() else { continue };
            let Some(listed) = tables.get(group[0].name.as_str()) else { continue };
            let at = self.item(listed).origin_of("lifetime");
            let what = format!(
                "the lifetime of Interests, {lifetime}, is below the shortest round trip, {round_trip}: routers will \
                 throw the Data away"
            );
            self.warn(at, &format!("{}.lifetime", listed.path), &what);
        }
    }

    /// Warns of prefixes with different producers: Data come from the nearer one, also to the flows of the
    /// other group.
    fn warn_of_shared_prefixes(&mut self, checked: &Checked<'_>) {
        let all = self.all("flow");
        let mut first: BTreeMap<&str, &Flow> = BTreeMap::new();
        let mut told: BTreeSet<&str> = BTreeSet::new();
        for flow in checked.flows {
            let other = *first.entry(&flow.prefix).or_insert(flow);
            let sorted = |flow: &Flow| flow.producers.iter().copied().collect::<BTreeSet<_>>();
            if other.name == flow.name || sorted(other) == sorted(flow) || !told.insert(&flow.name) {
                continue;
            }
            let path = format!("flow.{}", flow.name);
            let at = all.iter().find(|listed| listed.path == path);
            let at = at.map_or(Origin::Default, |listed| self.item(listed).origin_of("producer"));
            let names = |flow: &Flow| list(flow.producers.iter().map(|&node| checked.network.name(node)));
            let what = format!(
                "{} is also the prefix of flow {}, with other producers ({} here, {} there): Interests of both go to \
                 the nearest of all",
                flow.prefix,
                other.name,
                names(flow),
                names(other)
            );
            self.warn(at, &format!("{path}.producer"), &what);
        }
    }
}
