//! Failures and recoveries of nodes and links, producers that move, and changes of next hops.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::ids::FaceId;
use weir_core::name::HashedName;
use weir_core::node::{Change, Input, Part};
use weir_core::seam::DropReason;
use weir_core::units::Time;
use weir_experiment::name_of;
use weir_scenario::{Event, FlowId, LinkId, NetworkView, NodeId, Route, Scenario, Software};

use crate::build::{
    Builder, LinkFace, Produced, add_application, add_next_hop, add_route, drop_signals, face_of, set_groups,
    suffix, tell,
};
use crate::world::{FaceKind, SimNode, World, channels_of};

/// State of links, producers and routes that is not in the nodes.
pub(crate) struct Failures {
    /// `true` for each link that works, apart from its ends.
    link_up: Vec<bool>,
    produced: Vec<Produced>,
    /// The network as routing knows it, if routing has learned of an event.
    view: Option<NetworkView>,
    /// The computed entries that nodes have now, in the order of prefixes and nodes.
    routes: Vec<Route>,
}

impl Failures {
    pub(crate) fn new(scenario: &Scenario, produced: Vec<Produced>) -> Failures {
        let is_computed =
            |route: &&Route| !scenario.routing.given.iter().any(|given| **given == *route.prefix);
        let follows = scenario.routing.converge.is_some();
        let routes = scenario.routes.iter().filter(|route| follows && is_computed(route)).cloned();
        Failures { link_up: vec![true; scenario.links.len()], produced, view: None, routes: routes.collect() }
    }
}

impl World {
    pub(crate) fn set_link_up(&mut self, link: LinkId, up: bool) {
        self.failures.link_up[link.index()] = up;
        channels_of(link).into_iter().for_each(|channel| self.set_channel(channel, up));
    }

    /// A channel works if its link and both ends do.
    fn set_channel(&mut self, channel: u32, link_up: bool) {
        let ends = [self.channels[channel as usize].from, self.channels[channel as usize].to];
        self.set_up(channel, link_up && ends.iter().all(|(node, _)| self.nodes[*node as usize].up));
    }

    pub(crate) fn set_node_up(&mut self, node: u32, up: bool) {
        if self.nodes[node as usize].up == up {
            return;
        }
        if up {
            self.start(node);
        } else {
            self.fail(node);
        }
        // Its neighbours notice it by their faces.
        for channel in 0..self.channels.len() as u32 {
            let ends = [self.channels[channel as usize].from, self.channels[channel as usize].to];
            let is_down = !self.channels[channel as usize].up;
            if ends[0].0 == node || (ends[1].0 == node && up == is_down) {
                self.set_channel(channel, self.failures.link_up[channel as usize / 2]);
            }
        }
    }

    /// A node fails and loses everything.
    fn fail(&mut self, node: u32) {
        let counted = self.nodes[node as usize].forwarder.cache_counters();
        self.nodes[node as usize].cache_before = self.nodes[node as usize].cache_before + counted;
        self.input(node, Input::Change(&Change::Fail));
        self.settle(node);
        self.nodes[node as usize].up = false;
        self.nodes[node as usize].scheduled = Time::NEVER;
        self.events.set(self.node_event(node), Time::NEVER);
        // Routing installs them again.
        self.failures.routes.retain(|route| route.node.index() != node as usize);
    }

    /// A node starts again with the same faces. Next hops that never change are restored at once; others when
    /// routing installs the next ones.
    fn start(&mut self, node: u32) {
        let (now, index) = (self.now, node as usize);
        self.nodes[index].up = true;
        self.nodes[index].starts += 1;
        let experiment = self.experiment.clone();
        let scenario = experiment.scenario();
        let builder = Builder::noting(&experiment, self.seed_use.clone());
        let (name, start) = (&scenario.nodes[index].name, self.nodes[index].starts);
        let (mut forwarder, keeps_to_one) = builder.forwarder(index, &format!("node {name}, start {start}"));
        let ratio = self.nodes[index].cache_ratio;
        tell(&mut forwarder, now, Input::Change(&Change::SetCacheRatio(ratio)));
        for (at, kind) in self.nodes[index].faces.iter().enumerate() {
            let (channel, rates) = match *kind {
                FaceKind::Consumer(_) | FaceKind::Producer(_) => {
                    add_application(&mut forwarder, now);
                    continue;
                }
                FaceKind::Channel(channel) | FaceKind::Away { channel, .. } => {
                    (channel, [channel, channel ^ 1].map(|of| self.channels[of as usize].rate))
                }
                FaceKind::HalfDuplex { wire, direction } => {
                    let channel = self.wires[wire as usize].first_channel + direction;
                    (channel, [channel, channel ^ 1].map(|of| self.channels[of as usize].rate))
                }
                FaceKind::Medium { medium, direction } => {
                    let medium = &self.media[medium as usize];
                    let rates = [direction, direction ^ 1].map(|of| medium.medium.rate(of));
                    (medium.first_channel + direction, rates)
                }
            };
            let other = self.channels[channel as usize].to.0 as usize;
            let of = &scenario.links[channel as usize / 2];
            let link = builder.link(&LinkFace {
                link: of,
                ends: [NodeId(index), NodeId(other)],
                face: FaceId(at as u32),
                rates,
                stream: format!(
                    "face of {name} to {}{}, start {start}",
                    scenario.nodes[other].name,
                    suffix(of)
                ),
            });
            tell(&mut forwarder, now, Input::Add(Box::new(Part::Link(link))));
        }
        if scenario.nodes[index].software != Software::Weir {
            let faces = self.nodes[index].faces.len() as u32;
            (0..faces).for_each(|face| drop_signals(&mut forwarder, now, FaceId(face)));
        }
        if scenario.nodes[index].share_by_face {
            set_groups(&mut forwarder, now, self.nodes[index].faces.len());
        }
        for produced in self.failures.produced.iter().filter(|of| of.node == node && of.is_here) {
            let prefix = name_of(&scenario.flows[produced.flow.index()].prefix);
            add_next_hop(&mut forwarder, now, &prefix, produced.face, 0);
        }
        let follows = scenario.routing.converge.is_some();
        let stays =
            |route: &&Route| !follows || scenario.routing.given.iter().any(|given| **given == *route.prefix);
        for route in scenario.routes.iter().filter(|route| route.node.index() == index).filter(stays) {
            add_route(&mut forwarder, now, keeps_to_one, &self.channels, route, &name_of(&route.prefix));
        }
        self.nodes[index].forwarder = forwarder;
        self.nodes[index].keeps_to_one = keeps_to_one;
        self.settle(node);
    }

    /// Drops the Interests of a consumer at a failed node.
    #[cold]
    pub(crate) fn lose_interests(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (node, face) = (flow.node, flow.face);
        while let Some(packet) = self.flows[index as usize].consumer.poll_send(self.now, &mut self.pool) {
            self.drop_packet(node, face, packet, DropReason::FaceDown);
        }
        self.schedule_flow(index);
    }

    /// Moves producers at an event.
    pub(crate) fn produce(&mut self, event: usize) {
        let experiment = self.experiment.clone();
        let scenario = experiment.scenario();
        let Event::FlowProducers { flows } = &scenario.events[event].what else { return };
        // One flow for each prefix suffices.
        let mut of_prefix: BTreeMap<&str, (FlowId, &[NodeId])> = BTreeMap::new();
        for (flow, producers) in flows {
            of_prefix.insert(&scenario.flows[flow.index()].prefix, (*flow, producers));
        }
        for (prefix, (flow, producers)) in of_prefix {
            let name = name_of(prefix);
            let is_of = |produced: &Produced| scenario.flows[produced.flow.index()].prefix == prefix;
            for at in 0..self.failures.produced.len() {
                let Produced { node, face, .. } = self.failures.produced[at];
                if !is_of(&self.failures.produced[at]) {
                    continue;
                }
                let is_here = producers.contains(&NodeId(node as usize));
                let was_here = core::mem::replace(&mut self.failures.produced[at].is_here, is_here);
                if was_here != is_here && self.nodes[node as usize].up {
                    self.set_produced(node, &name, face, is_here);
                }
            }
            for producer in producers {
                let node = producer.index() as u32;
                if self.failures.produced.iter().any(|known| known.node == node && is_of(known)) {
                    continue;
                }
                self.nodes[node as usize].faces.push(FaceKind::Producer(experiment.producer(flow)));
                let face = FaceId(self.nodes[node as usize].faces.len() as u32 - 1);
                self.failures.produced.push(Produced { node, face, flow, is_here: true });
                if self.nodes[node as usize].up {
                    add_application(&mut self.nodes[node as usize].forwarder, self.now);
                    self.set_produced(node, &name, face, true);
                }
            }
        }
    }

    /// Registers or withdraws a producer's prefix at a node.
    fn set_produced(&mut self, node: u32, prefix: &HashedName, face: FaceId, is_here: bool) {
        let prefix = Cow::Borrowed(prefix);
        let change = match is_here {
            true => Change::AddRoute { prefix, face, cost: 0 },
            false => Change::RemoveRoute { prefix, face },
        };
        self.input(node, Input::Change(&change));
        self.settle(node);
    }

    /// Routing learns of an event.
    pub(crate) fn learn(&mut self, event: usize) {
        let scenario = self.experiment.scenario();
        let view = self.failures.view.get_or_insert_with(|| NetworkView::new(scenario));
        view.learn(&scenario.events[event].what);
    }

    /// Installs the next hops of the network as routing knows it.
    pub(crate) fn reroute(&mut self) {
        let experiment = self.experiment.clone();
        let scenario = experiment.scenario();
        let Some(view) = &self.failures.view else { return };
        let mut new = view.routes(scenario, &self.failures.routes);
        // A node that has failed meanwhile gets none.
        new.retain(|route| self.nodes[route.node.index()].up);
        let old = core::mem::take(&mut self.failures.routes);
        let key = |route: &Route| (route.node, route.prefix.clone());
        let mut gone: BTreeMap<(NodeId, Arc<str>), Route> =
            old.into_iter().map(|route| (key(&route), route)).collect();
        let mut names: BTreeMap<&str, HashedName> = BTreeMap::new();
        for route in &new {
            let before = gone.remove(&key(route));
            if before.as_ref().is_some_and(|before| before.next_hops == route.next_hops) {
                continue;
            }
            let prefix = names.entry(&route.prefix).or_insert_with(|| name_of(&route.prefix)).clone();
            let node = &mut self.nodes[route.node.index()];
            let SimNode { forwarder, keeps_to_one, .. } = node;
            add_route(forwarder, self.now, *keeps_to_one, &self.channels, route, &prefix);
            let links = before.iter().flat_map(|before| &before.next_hops).map(|hop| hop.link);
            let left = links.filter(|link| route.next_hops.iter().all(|hop| hop.link != *link));
            for link in left.collect::<Vec<_>>() {
                self.remove_next_hop(route.node, &prefix, face_of(&self.channels, link));
            }
            self.settle(route.node.index() as u32);
        }
        // A node that has failed since then has none of them.
        for route in gone.into_values() {
            let prefix = name_of(&route.prefix);
            for hop in &route.next_hops {
                self.remove_next_hop(route.node, &prefix, face_of(&self.channels, hop.link));
            }
            self.settle(route.node.index() as u32);
        }
        self.failures.routes = new;
    }

    fn remove_next_hop(&mut self, node: NodeId, prefix: &HashedName, face: FaceId) {
        let change = Change::RemoveRoute { prefix: Cow::Borrowed(prefix), face };
        self.input(node.index() as u32, Input::Change(&change));
    }
}
