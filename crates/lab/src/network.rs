//! The network of a scenario in the lab: nodes, their interfaces and addresses, and each forwarder's file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use weir_core::seam::QueueLimit;
use weir_core::seam::params::Value;
use weir_core::units::Rate;
use weir_experiment::Experiment;
use weir_scenario::{LinkId, NodeId, Route, Software};
use weir_schemes::Resolved;

use crate::error::LabError;
use crate::interfaces::Mac;

/// The UDP port of all forwarders.
pub(crate) const PORT: u16 = 6363;
/// The metrics address of a forwarder, in its own namespace.
pub(crate) const METRICS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9363);
/// Maximum length of an interface's name (IFNAMSIZ minus the zero byte).
const LONGEST_NAME: usize = 15;
/// Maximum number of links: each uses four addresses of 10.0.0.0/8.
const MOST_LINKS: usize = 1 << 20;
/// Maximum length of an NDN packet with its link header, bytes: it fits in a frame without fragmentation, as in the
/// simulator.
pub(crate) const FRAME: u32 = 8800;
/// MTU of an emulated link, bytes: such a frame and the headers of UDP and IP.
pub(crate) const MTU: u32 = FRAME + 28;

/// One end of a link.
#[derive(Clone, Debug)]
pub struct End {
    /// The link.
    pub link: LinkId,
    /// The direction in which this end sends, 0 or 1.
    pub direction: usize,
    /// The interface at the node.
    pub interface: String,
    /// The outer end of the interface, at the emulated link.
    pub outer: String,
    /// The interface's address.
    pub address: Ipv4Addr,
    /// The interface's Ethernet address.
    pub mac: Mac,
    /// The neighbour's addresses.
    pub neighbour: (Ipv4Addr, Mac),
    /// Whether the forwarder is configured with the link's rate.
    pub is_told: bool,
    /// Whether the forwarder paces by this rate, so packets wait in its queue. Otherwise they wait at the emulated
    /// link.
    pub paces: bool,
}

/// A node of the lab.
#[derive(Clone, Debug)]
pub struct Node {
    /// The node in the scenario.
    pub id: NodeId,
    /// Name.
    pub name: String,
    /// Forwarder software.
    pub software: Software,
    /// Folder.
    pub folder: PathBuf,
    /// The forwarder's socket.
    pub socket: PathBuf,
    /// The node's ends of links, in the order of the links.
    pub ends: Vec<End>,
}

/// All nodes, and the configuration of their forwarders.
#[derive(Debug)]
pub struct Network<'e> {
    experiment: &'e Experiment,
    /// The nodes, in the scenario's order.
    pub nodes: Vec<Node>,
    /// Whether forwarders are configured with the rates of their links.
    tells_rates: bool,
}

impl<'e> Network<'e> {
    /// Creates the network of a scenario for the lab with this number, with its files below `folder`. If `tells_rates`
    /// is set, forwarders are configured with the rates of their links and queue packets themselves; otherwise the
    /// emulated links do.
    ///
    /// # Errors
    /// Returns an error that names what emulated networks do not support.
    pub fn new(
        experiment: &'e Experiment,
        (number, folder): (usize, &Path),
        tells_rates: bool,
    ) -> Result<Network<'e>, LabError> {
        let scenario = experiment.scenario();
        refuse(experiment)?;
        let mut nodes: Vec<Node> = Vec::new();
        for (index, node) in scenario.nodes.iter().enumerate() {
            let folder = folder.join(format!("{index}-{}", plain(&node.name, 40)));
            let socket = folder.join("nfd.sock");
            nodes.push(Node {
                id: NodeId(index),
                name: node.name.clone(),
                software: node.software,
                folder,
                socket,
                ends: Vec::new(),
            });
        }
        for (index, link) in scenario.links.iter().enumerate() {
            for (direction, (own, other)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
                // Foreign forwarders are not configured with a rate and do not pace.
                let is_told = tells_rates && nodes[own.index()].software == Software::Weir;
                let interface =
                    interface(&scenario.nodes[other.index()].name, index, &nodes[own.index()].ends);
                nodes[own.index()].ends.push(End {
                    link: LinkId(index),
                    direction,
                    interface,
                    outer: format!("{number}.{index}{}", ["a", "b"][direction]),
                    address: address(index, direction),
                    mac: mac(index, direction),
                    neighbour: (address(index, 1 - direction), mac(index, 1 - direction)),
                    is_told,
                    // A forwarder cannot pace by a rate that changes all the time, or depends on other senders.
                    paces: is_told && link.rate_trace.is_none() && !link.half_duplex,
                });
            }
        }
        Ok(Network { experiment, nodes, tells_rates })
    }

    /// Returns whether forwarders are configured with the rates of their links.
    pub fn tells_rates(&self) -> bool {
        self.tells_rates
    }

    /// The end that sends in a direction of a link.
    pub fn end(&self, link: LinkId, direction: usize) -> &End {
        let link_of = &self.experiment.scenario().links[link.index()];
        let node = [link_of.a, link_of.b][direction];
        let ends = &self.nodes[node.index()].ends;
        ends.iter()
            .find(|end| end.link == link && end.direction == direction)
            .expect("each link has two ends")
    }

    /// The configuration file of a node's forwarder, with these rates of links and these routes.
    pub fn forwarder_file(&self, node: &Node, rates: &[[Rate; 2]], routes: &[Route]) -> String {
        let scenario = self.experiment.scenario();
        let of = &scenario.nodes[node.id.index()];
        let scheme =
            if of.runs_scheme() { self.experiment.scheme() } else { self.experiment.inactive_scheme() };
        let shares = if of.share_by_face { "face" } else { "flow" };
        let mut file = String::new();
        let mut line = |text: String| {
            file += &text;
            file.push('\n');
        };
        line(format!("# {} of {}, written by weir lab.", node.name, scenario.name));
        line(format!(
            "[faces.unix]\npath = {}\ntrust = \"all\"\nshare_by = \"{shares}\"",
            quoted(&node.socket.display().to_string())
        ));
        line(format!("[faces.udp]\nlisten = \"0.0.0.0:{PORT}\""));
        line("[faces.tcp]\nlisten = []".to_owned());
        line(format!("[metrics]\nlisten = \"{}:{}\"", METRICS.0, METRICS.1));
        line(format!("[tables]\n{}", self.tables(node)));
        line(scheme_tables(scheme));
        for end in &node.ends {
            let link = &scenario.links[end.link.index()];
            line(format!(
                "[[face]]\nname = {}\nremote = \"udp4://{}:{PORT}\"",
                quoted(&end.interface),
                end.neighbour.0
            ));
            if end.is_told {
                let [own, other] = [end.direction, 1 - end.direction].map(|of| rates[end.link.index()][of]);
                line(format!("rate = \"{own}\"\nreceive_rate = \"{other}\""));
            }
            line(format!("queue = {}", queue(link.queue)));
            // As in the simulator: only the scheme marks packets, and lost packets are not retransmitted.
            line(format!(
                "mtu = \"{FRAME} B\"\nreliability = false\ncongestion_marking = false\nshare_by = \"{shares}\""
            ));
        }
        for route in routes.iter().filter(|route| route.node == node.id) {
            for (face, cost) in self.next_hops(route, scheme) {
                line(format!(
                    "[[route]]\nprefix = {}\nface = {}\ncost = {cost}",
                    quoted(&route.prefix),
                    quoted(face)
                ));
            }
        }
        file
    }

    /// The routes of a node with a foreign forwarder: prefixes, indices of the next hops among its ends, and costs.
    pub fn foreign_routes<'r>(&self, node: &Node, routes: &'r [Route]) -> Vec<(&'r str, usize, u64)> {
        let hop = |route: &'r Route, (interface, cost): (&str, u64)| {
            let end = node.ends.iter().position(|end| end.interface == interface);
            (&*route.prefix, end.expect("a next hop is behind an end"), cost)
        };
        let own = routes.iter().filter(|route| route.node == node.id);
        let scheme = self.experiment.inactive_scheme();
        own.flat_map(|route| self.next_hops(route, scheme).into_iter().map(move |of| hop(route, of)))
            .collect()
    }

    fn tables(&self, node: &Node) -> String {
        let of = &self.experiment.scenario().nodes[node.id.index()];
        let mut text = format!(
            "reforward_after = \"{}\"\nnext_hop_timeout = \"{}\"\n",
            of.reforward_after, of.next_hop_timeout
        );
        match self.experiment.store(node.id) {
            None => text += "content_store_packets = 0\n",
            Some(store) => {
                let packets = store.packets.min(1 << 30);
                let _ = writeln!(text, "content_store_packets = {packets}");
                if store.bytes != u64::MAX {
                    let _ = writeln!(text, "content_store_bytes = \"{} B\"", store.bytes);
                }
                let _ = writeln!(text, "content_store_policy = \"{}\"", store.policy.name());
                let _ = writeln!(text, "content_store_placement = \"{}\"", store.placement);
            }
        }
        text
    }

    /// The next hops of a route, as names of their faces; the same as in the simulator.
    fn next_hops<'n>(&'n self, route: &Route, scheme: &Resolved) -> Vec<(&'n str, u64)> {
        let keeps_to_one = scheme.build().strategy().keeps_to_one();
        let single = route.single.filter(|_| keeps_to_one);
        let hop = |hop: &weir_scenario::NextHop| {
            let cost = if single == Some(hop.link) { 0 } else { hop.cost };
            (self.end(hop.link.link, hop.link.direction).interface.as_str(), cost)
        };
        route.next_hops.iter().map(hop).collect()
    }
}

/// Returns an error for what emulated networks do not support.
fn refuse(experiment: &Experiment) -> Result<(), LabError> {
    let scenario = experiment.scenario();
    let invalid = |what: String| Err(LabError::Invalid(what));
    if let Some(medium) = scenario.media.first() {
        return invalid(format!(
            "{}: the lab has no shared media, and {} is one; `weir run` simulates it",
            scenario.name, medium.name
        ));
    }
    if scenario.links.len() > MOST_LINKS {
        return invalid(format!("{} links are too many for one machine", scenario.links.len()));
    }
    Ok(())
}

/// The address of the end that sends in a direction of a link. Each link is a network of four addresses.
fn address(link: usize, direction: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits((10 << 24) + 4 * link as u32 + 1 + direction as u32)
}

/// The Ethernet address of this end, locally administered.
fn mac(link: usize, direction: usize) -> Mac {
    let [a, b, c, d] = (link as u32).to_be_bytes();
    [0x02, a, b, c, d, direction as u8]
}

/// The name of the interface to a neighbour: the neighbour's name, shortened if necessary, and with the link's number
/// if another interface has it.
fn interface(neighbour: &str, link: usize, others: &[End]) -> String {
    // The kernel reserves these names.
    let is_reserved = |name: &str| ["lo", "all", "default"].contains(&name);
    let is_taken = |name: &str| is_reserved(name) || others.iter().any(|end| end.interface == name);
    let name = plain(neighbour, LONGEST_NAME);
    if !is_taken(&name) {
        return name;
    }
    let number = format!("-{link}");
    format!("{}{number}", plain(neighbour, LONGEST_NAME - number.len()))
}

/// The letters and digits of a name, at most `most`.
pub(crate) fn plain(name: &str, most: usize) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(most).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

fn queue(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(packets) if u64::from(packets) > 1 << 30 => "\"unlimited\"".to_owned(),
        QueueLimit::Packets(packets) => packets.to_string(),
        QueueLimit::Bytes(bytes) => format!("\"{bytes}\""),
    }
}

/// The scheme and its parameters from the scenario.
fn scheme_tables(scheme: &Resolved) -> String {
    let name = scheme.entry.name;
    let mut text = format!("[scheme]\nname = \"{name}\"\n");
    if !scheme.given.is_empty() {
        let _ = writeln!(text, "[scheme.{name}]");
    }
    let mut keys = BTreeSet::new();
    // The last value of a key counts.
    let given: Vec<_> = scheme.given.iter().rev().filter(|(key, _)| keys.insert(key.clone())).collect();
    for (key, value) in given.into_iter().rev() {
        let key: Vec<String> = parts(key);
        let value = match value {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Text(value) => quoted(value),
        };
        let _ = writeln!(text, "{} = {value}", key.join("."));
    }
    text
}

/// The parts of a key, each in TOML's form. A map's key may be a name with slashes.
fn parts(key: &str) -> Vec<String> {
    match key.split_once('.') {
        Some((map, entry)) => {
            let entry = entry.trim_matches('"');
            vec![map.to_owned(), quoted(entry)]
        }
        None => vec![key.to_owned()],
    }
}
