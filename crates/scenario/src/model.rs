//! The content of a scenario file, checked: every name resolved, every quantity in its unit.

use std::sync::Arc;

use weir_core::consumer::Source;
use weir_core::link::RateTrace;
use weir_core::node::CsPlacement;
use weir_core::seam::QueueLimit;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate, Span};
use weir_document::{Location, Param, ParamValue};
use weir_packet::signal::ServiceClass;

use crate::names::covers;
use crate::settings::Settings;
use crate::traffic::{Activity, Distribution, Requests};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl $name {
            /// Its index in the scenario's list.
            #[inline]
            pub const fn index(self) -> usize {
                self.0
            }
        }
    };
}

index! {
    /// Number of a node: its index in [`Scenario::nodes`].
    NodeId
}
index! {
    /// Number of a link: its index in [`Scenario::links`].
    LinkId
}
index! {
    /// Number of a medium: its index in [`Scenario::media`].
    MediumId
}
index! {
    /// Number of a flow: its index in [`Scenario::flows`].
    FlowId
}

/// One experiment, complete and consistent: what a world needs to run it.
///
/// Made by [`Scenario::parse`]; nothing in it is random, so the same file and overrides give the
/// same scenario on every machine.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name: that of the built-in, or what the caller gave.
    pub name: String,
    /// The file's `title`: the experiment in one line.
    pub title: String,
    /// The paper or reason that the experiment comes from; empty if the file gives none.
    pub source: String,
    /// Simulated time at which the run ends, from its start at 0.
    pub duration: Span,
    /// The scheme to use when none is named.
    pub scheme: String,
    /// Step of the time series, simulated time.
    pub sample: Span,
    /// Nodes, in the file's order.
    pub nodes: Vec<Node>,
    /// Links, in the file's order; after them the pairs of stations of each medium.
    pub links: Vec<Link>,
    /// Shared media, in the file's order.
    pub media: Vec<Medium>,
    /// Single flows (ranges of prefixes expanded), in the file's order; those of a group follow
    /// each other.
    pub flows: Vec<Flow>,
    /// The FIB: at most one entry for a node and prefix, ordered by prefix (as the flows come), then node.
    pub routes: Vec<Route>,
    /// How next hops are computed, and whether they follow failures.
    pub routing: Routing,
    /// Timed events, in order of time.
    pub events: Vec<TimedEvent>,
    /// Parts of the run that are measured beside the whole, in the file's order.
    pub windows: Vec<Window>,
    /// Statements about the results. Those for one scheme: [`Scenario::expectations_for`].
    pub expectations: Vec<Expectation>,
    /// Parameters that the experiment sweeps over.
    pub axes: Vec<Axis>,
    /// The figures of the paper that `weir reproduce` draws.
    pub figures: Vec<PaperFigure>,
    /// Every key that can be set with `--set`, with its value now and where that comes from.
    pub settings: Settings,
    /// What was left out because an override shortened the run; a line each, for people.
    pub notes: Vec<String>,
    /// Every key that names a scheme, so that a caller can check the names.
    pub schemes: Vec<NamedScheme>,
    /// The other files that it was made from, by their paths as the scenario has them, with their texts.
    pub files: Vec<(String, Arc<str>)>,
    pub(crate) scheme_params: Vec<SchemeParams>,
    pub(crate) text: Arc<str>,
}

/// A node: a forwarder with the applications on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Unique; results and routes call the node by it.
    pub name: String,
    /// Capacity of the content store in Data packets; 0 is no store, `u64::MAX` no such bound.
    pub cache_packets: u64,
    /// Capacity of the content store in bytes of Data packets, if bounded so.
    pub cache_bytes: Option<Bytes>,
    /// The packet that a full content store evicts.
    pub cache_policy: CsPolicy,
    /// Which Data of those that pass the content store keeps.
    pub cache_placement: CsPlacement,
    /// The part of the segments, 0 to 1, that the node has from the beginning (a simulated cache).
    pub cache_ratio: f64,
    /// The prefixes that `cache_ratio` is about; empty: all.
    pub cache_ratio_prefixes: Vec<String>,
    /// Time after which an Interest for a pending one is forwarded again; 0: never for other downstreams.
    pub reforward_after: Span,
    /// Time after which strategies do not see a next hop that answers nothing; 0: they always do.
    pub next_hop_timeout: Span,
    /// Whether the flows that come from one face share as one.
    pub share_by_face: bool,
    /// Whether the node runs the scheme; if not, it forwards by best route with drop-tail queues
    /// and leaves signals and marks as they are.
    pub active: bool,
    /// Its forwarder in the lab.
    pub software: Software,
    /// The application that runs on it in the lab, in place of its producers: a line for a shell.
    pub command: Option<Arc<str>>,
    /// Coordinates in the drawing of the report, if the file gives them.
    pub position: Option<(f64, f64)>,
}

impl Node {
    /// Whether it runs the scheme: it is active, and the forwarder is Weir's.
    pub fn runs_scheme(&self) -> bool {
        self.active && self.software == Software::Weir
    }

    /// Whether its simulated cache, if it has one, is also of this prefix.
    pub fn simulates_cache_of(&self, prefix: &str) -> bool {
        self.cache_ratio_prefixes.is_empty()
            || self.cache_ratio_prefixes.iter().any(|covered| covers(covered, prefix))
    }
}

/// A forwarder. All but Weir's forward by best route, and drop the header fields that they do not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Software {
    /// `weir forward`.
    #[default]
    Weir,
    /// `ndnd fw run`.
    Ndnd,
    /// NFD, the NDN Forwarding Daemon.
    Nfd,
}

impl Software {
    /// Every forwarder, with what files and people call it.
    pub const ALL: [(Software, &'static str); 3] =
        [(Software::Weir, "weir"), (Software::Ndnd, "ndnd"), (Software::Nfd, "nfd")];

    /// The forwarder that a file calls so.
    pub fn named(name: &str) -> Option<Software> {
        Software::ALL.iter().find(|software| software.1 == name).map(|software| software.0)
    }

    /// What files and people call it.
    pub const fn name(self) -> &'static str {
        Software::ALL[self as usize].1
    }
}

/// A full-duplex point-to-point link, or two stations that talk over a shared medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, if it has one: of several links between two nodes at most one has none.
    pub name: Option<String>,
    /// The end that the file names first; direction 0 leads away from it.
    pub a: NodeId,
    /// The end that the file names second; direction 1 leads away from it.
    pub b: NodeId,
    /// Rate from `a` to `b`, and from `b` to `a`.
    pub rate: [Rate; 2],
    /// Propagation delay from `a` to `b`, and from `b` to `a`.
    pub delay: [Span; 2],
    /// The seed draws a factor for the delay, at most this far from 1; 0 to 0.5.
    pub delay_jitter: f64,
    /// Bound of the queue in front of the link, at each end.
    pub queue: QueueLimit,
    /// Probability that a packet put on the link is lost; 0 to 1, each direction. On a shared medium:
    /// that a frame is, which is then sent again.
    pub loss: f64,
    /// Cost of an Interest from `a` to `b`, and from `b` to `a`, in thousandths; 1 or more.
    pub cost: [u64; 2],
    /// Mean number of packets in a row that are lost; `None`: losses are independent.
    pub loss_burst: Option<f64>,
    /// Bound of a further delay of each packet, uniform from 0.
    pub jitter: Span,
    /// Whether packets overtake each other because of it.
    pub reorder: bool,
    /// Where its rates come from, if they change all the time; [`Link::rate`] then has the means.
    pub rate_trace: Option<[Arc<RateTrace>; 2]>,
    /// Whether its two directions share its time.
    pub half_duplex: bool,
    /// The medium that it shares with others. Its rate is then that of a frame's bits, and its delay 0.
    pub medium: Option<MediumId>,
}

impl Link {
    /// The mean delay of a packet, both directions: that of propagation, and half of the jitter.
    pub fn mean_delay(&self) -> [Span; 2] {
        self.delay.map(|delay| delay + self.jitter / 2)
    }
}

/// A half-duplex medium that stations share as IEEE 802.11's distributed coordination function says.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Unique; `--set medium.NAME.KEY` calls the medium by it.
    pub name: String,
    /// The nodes that share it, two or more.
    pub stations: Vec<NodeId>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectedLink {
    /// Number of the link, both directions of which it may be.
    pub link: LinkId,
    /// 0 from `a` to `b`, 1 from `b` to `a`: the index into [`Link::rate`].
    pub direction: usize,
}

/// One consumer application that fetches segments 0, 1, 2, … below a prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Name of its group: the `[[flow]]` table.
    pub name: String,
    /// The node that the consumer runs on.
    pub consumer: NodeId,
    /// The nodes with a producer of the prefix, one or more; none of them is `consumer`.
    pub producers: Vec<NodeId>,
    /// URI of the prefix, as `/A0`.
    pub prefix: String,
    /// Service class of its packets.
    pub class: ServiceClass,
    /// Simulated time at which its first Interest may leave.
    pub start: Span,
    /// The seed draws how much later, less than this.
    pub start_jitter: Span,
    /// The nodes from which the seed draws the consumers of its group, none twice; empty if `consumer` is the node.
    pub drawn_from: Arc<[NodeId]>,
    /// Simulated time from which it sends no more Interests; `None`: the end of the run.
    pub stop: Option<Span>,
    /// Segments to fetch, after which the flow is complete; `None`: as many as it can.
    pub amount: Option<u64>,
    /// From which the seed draws `amount`.
    pub amount_drawn: Option<Arc<Distribution>>,
    /// Its requests, if it is a source of requests instead of one consumer.
    pub requests: Option<Arc<Requests>>,
    /// When it pauses.
    pub activity: Option<Arc<Activity>>,
    /// How much the application asks for.
    pub source: Source,
    /// The seed draws a factor for each time between two Interests of a source with a rate, at most this far from 1; 0 to 1.
    pub source_jitter: f64,
    /// Bytes of content in each segment, also in the last one.
    pub payload: Bytes,
    /// Length of the value of each segment's signature, bytes.
    pub signature: u16,
    /// The Interests' lifetime: how long a node keeps one pending.
    pub lifetime: Span,
    /// Whether the consumer takes an Interest for lost before its timeout, and probes for losses at the end (RFC 8985); `None`:
    /// as its scheme has it.
    pub early_loss: Option<bool>,
    /// FreshnessPeriod of the Data; without: none, and Interests do not ask for fresh Data.
    pub freshness: Option<Span>,
    /// The scheme of this consumer, if another than that of the run.
    pub scheme: Option<String>,
    /// The application that runs in the lab in place of this consumer: a line for a shell.
    pub command: Option<Arc<str>>,
}

/// A FIB entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node whose FIB has the entry.
    pub node: NodeId,
    /// URI of the prefix.
    pub prefix: Arc<str>,
    /// Cheapest first; those of equal cost in the order of nodes, then of links.
    pub next_hops: Vec<NextHop>,
    /// Which of them is the cheapest for a strategy that keeps to one, where that is another than the first.
    pub single: Option<DirectedLink>,
}

/// A next hop of a FIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The neighbour.
    pub node: NodeId,
    /// The direction of the link that leads there.
    pub link: DirectedLink,
    /// The cost of the way by it to the nearest producer: hops, nanoseconds or thousandths of costs, as the metric; 1, 2, … for the
    /// next hops of a given route.
    pub cost: u64,
}

/// How the next hops of prefixes without given routes are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// Which next hops a node has.
    pub policy: RoutingPolicy,
    /// What a shortest path minimises.
    pub metric: RoutingMetric,
    /// Next hops are those of the network as it was so long ago; `None`: as it is at the start, always.
    pub converge: Option<Span>,
    /// The prefixes of given routes. These routes stay.
    pub given: Vec<String>,
}

impl Default for Routing {
    fn default() -> Routing {
        let (policy, metric) = (RoutingPolicy::ShortestPath, RoutingMetric::Hops);
        Routing { policy, metric, converge: None, given: Vec::new() }
    }
}

/// Which next hops a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingPolicy {
    /// One on a shortest path.
    ShortestPath,
    /// All on shortest paths.
    EqualCost,
    /// All neighbours that are nearer to a producer.
    Multipath,
    /// Those on so many shortest paths of each consumer.
    KShortest(usize),
    /// Those on so many paths of each consumer that share as few links as can be.
    KDisjoint(usize),
}

/// What the length of a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingMetric {
    /// The number of its links.
    Hops,
    /// Its delay there and back, ns.
    Delay,
    /// The sum of [`Link::cost`] in the direction of Interests.
    Cost,
}

/// Something that happens during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEvent {
    /// Simulated time at which it happens.
    pub at: Span,
    /// The file's name for it, or else its number in the file, from 0.
    pub name: String,
    /// The change.
    pub what: Event,
}

/// A change to flows, a link or a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The applications of these flows ask for something else from now on. A flow that turns
    /// greedy is one whose source becomes [`Source::Unresponsive`].
    FlowSource {
        /// Numbers of the flows.
        flows: Vec<FlowId>,
        /// Rate at which each of them asks from now on.
        source: Source,
    },
    /// A link's rates change.
    LinkRate {
        /// Number of the link.
        link: LinkId,
        /// Its rates from now on, as [`Link::rate`].
        rate: [Rate; 2],
    },
    /// A link's propagation delays change, for packets put on it from now on.
    LinkDelay {
        /// Number of the link.
        link: LinkId,
        /// Its delays from now on, as [`Link::delay`].
        delay: [Span; 2],
    },
    /// A link's random loss changes.
    LinkLoss {
        /// Number of the link.
        link: LinkId,
        /// Its [`Link::loss`] from now on, 0 to 1.
        loss: f64,
    },
    /// A link's losses come in bursts of another mean length.
    LinkLossBurst {
        /// Number of the link.
        link: LinkId,
        /// Its [`Link::loss_burst`] from now on.
        length: f64,
    },
    /// A link's jitter changes, for packets put on it from now on.
    LinkJitter {
        /// Number of the link.
        link: LinkId,
        /// Its [`Link::jitter`] from now on.
        jitter: Span,
    },
    /// A link fails: what is on it is lost.
    LinkDown {
        /// Number of the link.
        link: LinkId,
    },
    /// A link works again.
    LinkUp {
        /// Number of the link.
        link: LinkId,
    },
    /// A node fails: it loses its tables, queues and scheme state, and what is on its links.
    NodeDown {
        /// Number of the node.
        node: NodeId,
    },
    /// A node works again, with empty tables.
    NodeUp {
        /// Number of the node.
        node: NodeId,
    },
    /// The producers of some flows' prefixes move.
    FlowProducers {
        /// Numbers of the flows, each with its nodes with a producer from now on.
        flows: Vec<(FlowId, Vec<NodeId>)>,
    },
    /// A node's simulated cache answers with another probability.
    NodeCacheRatio {
        /// Number of the node.
        node: NodeId,
        /// Its [`Node::cache_ratio`] from now on.
        ratio: f64,
    },
}

/// A part of the run that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Unique; results and expectations call the window by it.
    pub name: String,
    /// Simulated time of its beginning.
    pub from: Span,
    /// Simulated time of its end, after the beginning and at most [`Scenario::duration`].
    pub to: Span,
}

/// What should come out of a run, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// In words: `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// The paper, section or reason that states it.
    pub source: String,
    /// The scheme that it is about; `*`: any.
    pub scheme: String,
    /// Simulated times from and to which it is measured.
    pub window: (Span, Span),
    /// The quantity that is measured.
    pub metric: Metric,
    /// The flows and links that it is measured of.
    pub select: Select,
    /// What is stated of it.
    pub stated: Stated,
}

/// What is stated of a measured value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stated {
    /// How it relates to a number.
    Value {
        /// The relation.
        bound: Bound,
        /// The number, in the metric's unit.
        value: f64,
        /// For [`Bound::About`]: the deviation allowed, relative to `value`, or absolute (in the metric's
        /// unit) where `value` is 0. For the others, how far beyond the bound may lie, in the same way.
        tolerance: f64,
    },
    /// How it relates to what is measured under other schemes, with the same scenario, point of its axes and seed.
    Comparison {
        /// The relation.
        order: Order,
        /// The other schemes: one at least, each once.
        schemes: Vec<String>,
    },
}

/// How a value measured under one scheme should relate to that of each other scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Above it.
    MoreThan,
    /// Below it.
    LessThan,
}

/// How a measured value should relate to the stated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Equal, within the tolerance.
    About,
    /// Not above it, but for the tolerance.
    AtMost,
    /// Not below it, but for the tolerance.
    AtLeast,
}

/// What is measured, over the window of the expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Content delivered to the selected flows' applications, bit/s, summed.
    Goodput,
    /// All bits of the selected flows' Data packets put on the selected links, bit/s, summed.
    DataRate,
    /// Mean delay of the selected flows' segments (first Interest to Data), ms.
    DelayMean,
    /// Median of the same, ms.
    DelayP50,
    /// 95th percentile of the same, ms.
    DelayP95,
    /// 99th percentile of the same, ms.
    DelayP99,
    /// Mean time that the selected flows' Data waited in queues, over all links that they crossed, ms.
    QueueingMean,
    /// Data packets of the selected flows dropped in the network.
    Lost,
    /// Interests of the selected flows that were sent again.
    Retransmitted,
    /// Interests of the selected flows that timed out.
    Timeouts,
    /// When the last of the selected flows had fetched its amount, s after its own start.
    Completion,
    /// Mean over the selected flows of the time it took each to fetch its amount, s.
    CompletionMean,
    /// How many of the selected flows had not fetched their amount by the window's end.
    Unfinished,
    /// Mean share of the selected links' rate that was used, 0 to 1.
    Utilisation,
    /// Mean queueing delay in front of the selected links, ms.
    QueueMean,
    /// 99th percentile of the same, ms.
    QueueP99,
    /// Mean length of the queue in front of the selected links, packets.
    QueuePackets,
    /// Jain's index over the goodputs of the selected flows, 0 to 1.
    Jain,
    /// Largest relative deviation of a selected flow's goodput from the mean of the selected flows, 0 up.
    Unfairness,
    /// The time, from the last change that the scenario makes to the selected flows, after which their summed goodput
    /// (means over bins of half a second or more, whole steps) stays within 5 % of its mean over the window's last
    /// quarter, s.
    Settle,
    /// The part of the Interests looked up at the selected nodes that their stores answered, 0 to 1.
    CacheHitRatio,
    /// Mean number of links that the selected flows' Data crossed from the producer or the store that gave them.
    HopsMean,
}

/// Which flows, links and nodes a metric is about: those that fit everything that is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// Flows of this class.
    pub class: Option<ServiceClass>,
    /// Flows of this group.
    pub flow: Option<String>,
    /// Flows of this consumer.
    pub consumer: Option<NodeId>,
    /// Flows of this prefix.
    pub prefix: Option<String>,
    /// Links, each in the direction that is meant (for Data: towards the consumer).
    pub links: Vec<DirectedLink>,
    /// Nodes; all of them if none is given.
    pub nodes: Vec<NodeId>,
    /// The flows that fit; all of them if nothing about flows is given.
    pub flows: Vec<FlowId>,
}

/// A parameter that the experiment sweeps over.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name; `--set axis.NAME=VALUE` picks a point.
    pub name: String,
    /// The paths that it sets.
    pub set: Vec<String>,
    /// Its values, as `--set` takes them.
    pub values: Vec<String>,
    /// The value that this scenario has; `None` if its paths differ or it is none of the values.
    pub current: Option<usize>,
}

/// A figure of the paper. Kinds, metrics and names are checked when it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaperFigure {
    /// Its number in the paper, such as `7(a)`.
    pub number: String,
    /// The number of its counterpart in the paper's emulated network; empty for none.
    pub emulated_number: String,
    /// What the paper's caption says.
    pub caption: String,
    /// The kind of figure, as in `weir plot --what`.
    pub what: String,
    /// The metrics, a panel each; empty for those of the kind.
    pub metrics: Vec<String>,
    /// What lines and bars are of; empty for the default.
    pub by: String,
    /// The schemes, classes, flows or links that it shows; empty for all.
    pub only: Vec<String>,
    /// The window, as in `weir plot --window`; empty for the default.
    pub window: String,
    /// The axis of the experiment that it is over; empty for the first.
    pub axis: String,
    /// The ends of the horizontal axis, in the unit of its data: s, bit/s, ms.
    pub x: (Option<f64>, Option<f64>),
    /// The ends of the vertical axis.
    pub y: (Option<f64>, Option<f64>),
}

/// A key that can be set, as `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its path for `--set`, as `link.R2-R3.rate`.
    pub path: String,
    /// Its value now, as it would be written in the file (texts without quotes).
    pub value: String,
    /// Where the value comes from: what the file says about it, `--set`, or `None` (a default, or nothing said).
    pub source: Option<Arc<str>>,
    /// Where it stands; `None` for a default.
    pub location: Option<Location>,
}

/// A key or table that names a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedScheme {
    /// The key, as `scheme.default` or `flow.A.scheme`.
    pub key: String,
    /// The scheme's name as given; nobody has looked it up yet.
    pub name: String,
    /// Where the name stands, for [`Scenario::error_at`].
    pub location: Location,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SchemeParams {
    pub scheme: String,
    pub params: Vec<Param>,
}

impl Scenario {
    /// The parameters given for a scheme, in the file's order; empty if there are none.
    pub fn scheme_params(&self, scheme: &str) -> &[Param] {
        self.scheme_params.iter().find(|s| s.scheme == scheme).map_or(&[], |s| &s.params)
    }

    /// The variant of a scheme's parameters that is named, if one is.
    pub fn variant_of(&self, scheme: &str) -> Option<&str> {
        let named = self.scheme_params(scheme).iter().rev().find(|param| param.key == "variant");
        named.and_then(|param| match &param.value {
            ParamValue::Text(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The expectations that are about a scheme.
    pub fn expectations_for<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Expectation> {
        self.expectations.iter().filter(move |e| e.scheme == "*" || e.scheme == scheme)
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(NodeId)
    }

    /// The first link between two nodes, in the direction from the first to the second.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<DirectedLink> {
        self.links.iter().enumerate().find_map(|(i, l)| match (l.a, l.b) {
            (a, b) if a == from && b == to => Some(DirectedLink { link: LinkId(i), direction: 0 }),
            (a, b) if b == from && a == to => Some(DirectedLink { link: LinkId(i), direction: 1 }),
            _ => None,
        })
    }

    /// The node that a direction of a link leaves, and the one it goes to.
    pub fn ends(&self, link: DirectedLink) -> (NodeId, NodeId) {
        let Link { a, b, .. } = self.links[link.link.index()];
        if link.direction == 0 { (a, b) } else { (b, a) }
    }

    /// What scenarios call a link: `A-B`, or `A-B:NAME` if it has a name.
    pub fn link_name(&self, link: LinkId) -> String {
        let Link { a, b, name, .. } = &self.links[link.index()];
        let name = name.iter().map(|name| format!(":{name}"));
        let ends = format!("{}-{}", self.nodes[a.index()].name, self.nodes[b.index()].name);
        core::iter::once(ends).chain(name).collect()
    }

    /// The names of the flow groups, in the file's order.
    pub fn groups(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for flow in &self.flows {
            if names.last() != Some(&flow.name.as_str()) {
                names.push(&flow.name);
            }
        }
        names
    }
}

impl Metric {
    /// Every metric with its name in files and its unit.
    pub const ALL: [(Metric, &'static str, &'static str); 22] = [
        (Metric::Goodput, "goodput", "bit/s"),
        (Metric::DataRate, "data_rate", "bit/s"),
        (Metric::DelayMean, "delay_mean", "ms"),
        (Metric::DelayP50, "delay_p50", "ms"),
        (Metric::DelayP95, "delay_p95", "ms"),
        (Metric::DelayP99, "delay_p99", "ms"),
        (Metric::QueueingMean, "queueing_mean", "ms"),
        (Metric::Lost, "lost", "packets"),
        (Metric::Retransmitted, "retransmitted", "packets"),
        (Metric::Timeouts, "timeouts", "packets"),
        (Metric::Completion, "completion", "s"),
        (Metric::CompletionMean, "completion_mean", "s"),
        (Metric::Unfinished, "unfinished", "flows"),
        (Metric::Utilisation, "utilisation", "1"),
        (Metric::QueueMean, "queue_mean", "ms"),
        (Metric::QueueP99, "queue_p99", "ms"),
        (Metric::QueuePackets, "queue_packets", "packets"),
        (Metric::Jain, "jain", "1"),
        (Metric::Unfairness, "unfairness", "1"),
        (Metric::Settle, "settle", "s"),
        (Metric::CacheHitRatio, "cache_hit_ratio", "1"),
        (Metric::HopsMean, "hops_mean", "hops"),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The unit of its values: `bit/s`, `ms`, `s`, `packets`, `flows`, `hops`, or `1` for ratios.
    pub fn unit(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// What it is, in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Metric::Goodput => "Sum of the content delivered to the flows' applications.",
            Metric::DataRate => "Sum of all bits of the flows' Data packets sent on the links.",
            Metric::DelayMean => "Mean time from the first transmission of an Interest to its Data.",
            Metric::DelayP50 => "Median of this delay.",
            Metric::DelayP95 => "95th percentile of the same.",
            Metric::DelayP99 => "99th percentile of the same.",
            Metric::QueueingMean => {
                "Mean queueing delay of the flows' Data, summed over the links of the path: the total waiting time divided by the delivered Data."
            }
            Metric::Lost => "Data packets of the flows dropped in the network.",
            Metric::Retransmitted => "Retransmitted Interests of the flows.",
            Metric::Timeouts => "Interests of the flows that timed out.",
            Metric::Completion => "Time at which the last flow had fetched its `amount`, from its own start.",
            Metric::CompletionMean => {
                "Mean over the flows of the time to fetch the `amount`; no value if a flow did not complete."
            }
            Metric::Unfinished => "Flows that had not fetched their `amount` by the window's end.",
            Metric::Utilisation => {
                "Mean used share of the links' rate, 0 to 1; on a medium, the share of time with their frames on the air."
            }
            Metric::QueueMean => "Mean queueing delay in front of the links.",
            Metric::QueueP99 => "99th percentile of the same.",
            Metric::QueuePackets => "Mean length of the queue in front of the links.",
            Metric::Jain => "Jain's index over the flows' goodputs, 0 to 1.",
            Metric::Unfairness => {
                "Largest relative deviation of a flow's goodput from the mean of the flows: 0 is equal shares."
            }
            Metric::Settle => {
                "The time after the scenario's last change of the flows until their summed goodput (means over bins of half a second or more) stays within 5 % of its mean over the window's last quarter."
            }
            Metric::CacheHitRatio => {
                "Part of the Interests looked up that the caches of the nodes answered, 0 to 1; without `node`, of all nodes."
            }
            Metric::HopsMean => {
                "Mean number of links that the flows' Data crossed from the producer or the cache that gave them."
            }
        }
    }

    /// Whether it is about the end of flows, which then have an amount.
    pub fn needs_amount(self) -> bool {
        matches!(self, Metric::Completion | Metric::CompletionMean | Metric::Unfinished)
    }

    /// Whether it is about nodes.
    pub fn is_of_nodes(self) -> bool {
        self == Metric::CacheHitRatio
    }

    /// Whether it is about links, which the expectation then names.
    pub fn needs_link(self) -> bool {
        use Metric::{DataRate, QueueMean, QueueP99, QueuePackets, Utilisation};
        matches!(self, DataRate | Utilisation | QueueMean | QueueP99 | QueuePackets)
    }
}

impl Bound {
    /// Whether a measured value keeps to what is stated.
    pub fn holds(self, measured: f64, stated: f64, tolerance: f64) -> bool {
        let slack = if stated == 0.0 { tolerance } else { tolerance * stated.abs() };
        match self {
            Bound::About => (measured - stated).abs() <= slack,
            Bound::AtMost => measured <= stated + slack,
            Bound::AtLeast => measured >= stated - slack,
        }
    }
}

impl Stated {
    /// The other schemes that it compares with; none for a number.
    pub fn schemes(&self) -> &[String] {
        match self {
            Stated::Value { .. } => &[],
            Stated::Comparison { schemes, .. } => schemes,
        }
    }
}
