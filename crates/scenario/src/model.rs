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
            /// Returns its index in the scenario's list.
            #[inline]
            pub const fn index(self) -> usize {
                self.0
            }
        }
    };
}

index! {
    /// The number of a node: its index in [`Scenario::nodes`].
    NodeId
}
index! {
    /// The number of a link: its index in [`Scenario::links`].
    LinkId
}
index! {
    /// The number of a medium: its index in [`Scenario::media`].
    MediumId
}
index! {
    /// The number of a flow: its index in [`Scenario::flows`].
    FlowId
}

/// One experiment, complete and consistent: everything that a world needs to run it.
///
/// [`Scenario::parse`] makes it. Nothing in it is random, so the same file and overrides give the same
/// scenario on every machine.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The short name: that of the built-in scenario, or the caller's.
    pub name: String,
    /// The file's `title`: the experiment in one line.
    pub title: String,
    /// The paper or reason that the experiment comes from; empty if the file gives none.
    pub source: String,
    /// Simulated time at which the run ends, from its start at 0.
    pub duration: Span,
    /// The default scheme.
    pub scheme: String,
    /// Step of the time series, simulated time.
    pub sample: Span,
    /// The nodes, in the file's order.
    pub nodes: Vec<Node>,
    /// The links, in the file's order; after them the pairs of stations of each medium.
    pub links: Vec<Link>,
    /// The shared media, in the file's order.
    pub media: Vec<Medium>,
    /// The single flows (ranges of prefixes expanded), in the file's order. Those of a group are adjacent.
    pub flows: Vec<Flow>,
    /// The FIB: at most one entry for a node and prefix, ordered by prefix (as the flows come), then by node.
    pub routes: Vec<Route>,
    /// How next hops are computed, and whether they follow failures.
    pub routing: Routing,
    /// The timed events, in order of time.
    pub events: Vec<TimedEvent>,
    /// The parts of the run that are measured besides the whole run, in the file's order.
    pub windows: Vec<Window>,
    /// The statements about the results. [`Scenario::expectations_for`] returns those for one scheme.
    pub expectations: Vec<Expectation>,
    /// The parameters that the experiment sweeps.
    pub axes: Vec<Axis>,
    /// The figures of the paper that `weir reproduce` draws.
    pub figures: Vec<PaperFigure>,
    /// Every key that can be set with `--set`, with its current value and the source of the value.
    pub settings: Settings,
    /// What was left out because an override shortened the run, in words, one line each.
    pub notes: Vec<String>,
    /// Every key that names a scheme, so that a caller can check the names.
    pub schemes: Vec<NamedScheme>,
    /// The other files that it was made from: each path as written in the scenario, with its text.
    pub files: Vec<(String, Arc<str>)>,
    pub(crate) scheme_params: Vec<SchemeParams>,
    pub(crate) text: Arc<str>,
}

/// A node: a forwarder with the applications on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The unique name, used in results and routes.
    pub name: String,
    /// The capacity of the content store in Data packets; 0: no store; `u64::MAX`: no bound in packets.
    pub cache_packets: u64,
    /// The capacity of the content store in bytes of Data packets, if it has such a bound.
    pub cache_bytes: Option<Bytes>,
    /// The packet that a full content store evicts.
    pub cache_policy: CsPolicy,
    /// Which of the passing Data the content store keeps.
    pub cache_placement: CsPlacement,
    /// The part of the segments, 0 to 1, that the node has from the beginning (a simulated cache).
    pub cache_ratio: f64,
    /// The prefixes to which `cache_ratio` applies; empty: all.
    pub cache_ratio_prefixes: Vec<String>,
    /// The time after which a repeated Interest for a pending one is forwarded again; 0: never for other
    /// downstreams.
    pub reforward_after: Span,
    /// The time after which strategies ignore a next hop that answers nothing; 0: they never ignore it.
    pub next_hop_timeout: Span,
    /// Whether the flows from one face share as one.
    pub share_by_face: bool,
    /// Whether the node runs the scheme. If not, it forwards by best route with drop-tail queues and does not
    /// change signals and marks.
    pub active: bool,
    /// The forwarder in the lab.
    pub software: Software,
    /// The application that runs on the node in the lab, in place of its producers: a shell command.
    pub command: Option<Arc<str>>,
    /// The coordinates in the drawing of the report, if the file gives them.
    pub position: Option<(f64, f64)>,
}

impl Node {
    /// Returns whether it runs the scheme: it is active, and the forwarder is Weir's.
    pub fn runs_scheme(&self) -> bool {
        self.active && self.software == Software::Weir
    }

    /// Returns whether it has a simulated cache that covers this prefix.
    pub fn simulates_cache_of(&self, prefix: &str) -> bool {
        self.cache_ratio_prefixes.is_empty()
            || self.cache_ratio_prefixes.iter().any(|covered| covers(covered, prefix))
    }
}

/// A forwarder. All except Weir's forward by best route, and drop header fields that they do not know.
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
    /// Every forwarder, with its name in files and messages.
    pub const ALL: [(Software, &'static str); 3] =
        [(Software::Weir, "weir"), (Software::Ndnd, "ndnd"), (Software::Nfd, "nfd")];

    /// Returns the forwarder with this name in files.
    pub fn named(name: &str) -> Option<Software> {
        Software::ALL.iter().find(|software| software.1 == name).map(|software| software.0)
    }

    /// Returns its name in files and messages.
    pub const fn name(self) -> &'static str {
        Software::ALL[self as usize].1
    }
}

/// A full-duplex point-to-point link, or two stations that communicate over a shared medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name, if it has one. Of several links between two nodes at most one has none.
    pub name: Option<String>,
    /// The end that the file names first. Direction 0 leads away from it.
    pub a: NodeId,
    /// The end that the file names second. Direction 1 leads away from it.
    pub b: NodeId,
    /// The rate from `a` to `b`, and from `b` to `a`.
    pub rate: [Rate; 2],
    /// The propagation delay from `a` to `b`, and from `b` to `a`.
    pub delay: [Span; 2],
    /// The largest deviation from 1 of the factor that the seed draws for the delay; 0 to 0.5.
    pub delay_jitter: f64,
    /// The limit of the queue in front of the link, at each end.
    pub queue: QueueLimit,
    /// The probability that a packet put on the link is lost; 0 to 1, each direction. On a shared medium: the
    /// probability that a frame is lost, which is then sent again.
    pub loss: f64,
    /// The cost of an Interest from `a` to `b`, and from `b` to `a`, in thousandths; 1 or more.
    pub cost: [u64; 2],
    /// The mean number of successive lost packets; `None`: losses are independent.
    pub loss_burst: Option<f64>,
    /// The largest additional delay of a packet, uniform from 0.
    pub jitter: Span,
    /// Whether packets overtake each other because of `jitter`.
    pub reorder: bool,
    /// The traces of its rates, if these change all the time. [`Link::rate`] then has the means.
    pub rate_trace: Option<[Arc<RateTrace>; 2]>,
    /// Whether its two directions share its time.
    pub half_duplex: bool,
    /// The medium that it shares with others. Its rate is then that of a frame's bits, and its delay 0.
    pub medium: Option<MediumId>,
}

impl Link {
    /// Returns the mean delay of a packet, both directions: the propagation delay and half of the jitter.
    pub fn mean_delay(&self) -> [Span; 2] {
        self.delay.map(|delay| delay + self.jitter / 2)
    }
}

/// A half-duplex medium that stations share by the distributed coordination function of IEEE 802.11.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// The unique name, used in `--set medium.NAME.KEY`.
    pub name: String,
    /// The nodes that share it, at least two.
    pub stations: Vec<NodeId>,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectedLink {
    /// The number of the link.
    pub link: LinkId,
    /// 0 from `a` to `b`, 1 from `b` to `a`: the index into [`Link::rate`].
    pub direction: usize,
}

/// One consumer application that fetches segments 0, 1, 2, … below a prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The name of its group, the `[[flow]]` table.
    pub name: String,
    /// The node on which the consumer runs.
    pub consumer: NodeId,
    /// The nodes with a producer of the prefix, at least one. None of them is `consumer`.
    pub producers: Vec<NodeId>,
    /// The URI of the prefix, such as `/A0`.
    pub prefix: String,
    /// The service class of its packets.
    pub class: ServiceClass,
    /// The simulated time from which its first Interest may leave.
    pub start: Span,
    /// The seed draws how much later it starts, less than this.
    pub start_jitter: Span,
    /// The nodes from which the seed draws the consumers of its group, none twice; empty if `consumer` is the
    /// node.
    pub drawn_from: Arc<[NodeId]>,
    /// The simulated time from which it sends no more Interests; `None`: the end of the run.
    pub stop: Option<Span>,
    /// The number of segments to fetch, after which the flow is complete; `None`: unlimited.
    pub amount: Option<u64>,
    /// The distribution from which the seed draws `amount`.
    pub amount_drawn: Option<Arc<Distribution>>,
    /// Its requests, if it is a source of requests instead of one consumer.
    pub requests: Option<Arc<Requests>>,
    /// The times at which it pauses.
    pub activity: Option<Arc<Activity>>,
    /// The demand of the application.
    pub source: Source,
    /// The largest deviation from 1 of the factor that the seed draws for each time between two Interests of
    /// a source with a rate; 0 to 1.
    pub source_jitter: f64,
    /// The bytes of content in each segment, including the last one.
    pub payload: Bytes,
    /// The length of the value of each segment's signature, bytes.
    pub signature: u16,
    /// The lifetime of Interests: how long a node keeps one pending.
    pub lifetime: Span,
    /// Whether the consumer detects losses before the timeout, and probes for losses at the end (RFC 8985);
    /// `None`: as its scheme does.
    pub early_loss: Option<bool>,
    /// The FreshnessPeriod of the Data; `None`: Data have none, and Interests do not ask for fresh Data.
    pub freshness: Option<Span>,
    /// The scheme of this consumer, if it differs from that of the run.
    pub scheme: Option<String>,
    /// The application that runs in the lab in place of this consumer: a shell command.
    pub command: Option<Arc<str>>,
}

/// A FIB entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The node whose FIB has the entry.
    pub node: NodeId,
    /// The URI of the prefix.
    pub prefix: Arc<str>,
    /// The next hops, cheapest first; those of equal cost in the order of nodes, then of links.
    pub next_hops: Vec<NextHop>,
    /// The next hop for strategies that use one path, if it is not the first.
    pub single: Option<DirectedLink>,
}

/// A next hop of a FIB entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The neighbour.
    pub node: NodeId,
    /// The direction of the link that leads there.
    pub link: DirectedLink,
    /// The cost of the path by it to the nearest producer, in the unit of the metric: hops, nanoseconds or
    /// thousandths; 1, 2, … for the next hops of a given route.
    pub cost: u64,
}

/// How the next hops of prefixes without given routes are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routing {
    /// The next hops of a node.
    pub policy: RoutingPolicy,
    /// The length that a shortest path minimises.
    pub metric: RoutingMetric,
    /// Next hops are those of the network this time ago; `None`: always those of the start.
    pub converge: Option<Span>,
    /// The prefixes of given routes. These routes do not change.
    pub given: Vec<String>,
}

impl Default for Routing {
    fn default() -> Routing {
        let (policy, metric) = (RoutingPolicy::ShortestPath, RoutingMetric::Hops);
        Routing { policy, metric, converge: None, given: Vec::new() }
    }
}

/// The next hops of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingPolicy {
    /// One next hop on a shortest path.
    ShortestPath,
    /// All next hops on shortest paths.
    EqualCost,
    /// All neighbours that are nearer to a producer.
    Multipath,
    /// The next hops on this number of shortest paths of each consumer.
    KShortest(usize),
    /// The next hops on this number of paths of each consumer that share as few links as possible.
    KDisjoint(usize),
}

/// The length of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingMetric {
    /// The number of its links.
    Hops,
    /// Its round-trip delay, ns.
    Delay,
    /// The sum of [`Link::cost`] in the direction of Interests.
    Cost,
}

/// A change at a time of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEvent {
    /// The simulated time of the change.
    pub at: Span,
    /// The name in the file, or else its number in the file, from 0.
    pub name: String,
    /// The change.
    pub what: Event,
}

/// A change to flows, a link or a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The applications of these flows have another demand from now on. A flow becomes greedy if its source
    /// becomes [`Source::Unresponsive`].
    FlowSource {
        /// The numbers of the flows.
        flows: Vec<FlowId>,
        /// The demand of each of them from now on.
        source: Source,
    },
    /// A link's rates change.
    LinkRate {
        /// The number of the link.
        link: LinkId,
        /// Its rates from now on, as in [`Link::rate`].
        rate: [Rate; 2],
    },
    /// A link's propagation delays change, for packets put on it from now on.
    LinkDelay {
        /// The number of the link.
        link: LinkId,
        /// Its delays from now on, as in [`Link::delay`].
        delay: [Span; 2],
    },
    /// A link's random loss changes.
    LinkLoss {
        /// The number of the link.
        link: LinkId,
        /// Its [`Link::loss`] from now on, 0 to 1.
        loss: f64,
    },
    /// The mean length of a link's bursts of losses changes.
    LinkLossBurst {
        /// The number of the link.
        link: LinkId,
        /// Its [`Link::loss_burst`] from now on.
        length: f64,
    },
    /// A link's jitter changes, for packets put on it from now on.
    LinkJitter {
        /// The number of the link.
        link: LinkId,
        /// Its [`Link::jitter`] from now on.
        jitter: Span,
    },
    /// A link fails. Packets on it are lost.
    LinkDown {
        /// The number of the link.
        link: LinkId,
    },
    /// A link works again.
    LinkUp {
        /// The number of the link.
        link: LinkId,
    },
    /// A node fails. It loses its tables, queues and scheme state, and the packets on its links.
    NodeDown {
        /// The number of the node.
        node: NodeId,
    },
    /// A node works again, with empty tables.
    NodeUp {
        /// The number of the node.
        node: NodeId,
    },
    /// The producers of some flows' prefixes move.
    FlowProducers {
        /// The numbers of the flows, each with the nodes of its producers from now on.
        flows: Vec<(FlowId, Vec<NodeId>)>,
    },
    /// The hit ratio of a node's simulated cache changes.
    NodeCacheRatio {
        /// The number of the node.
        node: NodeId,
        /// Its [`Node::cache_ratio`] from now on.
        ratio: f64,
    },
}

/// A part of the run that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The unique name, used in results and expectations.
    pub name: String,
    /// The simulated time of its beginning.
    pub from: Span,
    /// The simulated time of its end, after the beginning and at most [`Scenario::duration`].
    pub to: Span,
}

/// An expected result of a run, and its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The description, such as `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// The paper, section or reason that states it.
    pub source: String,
    /// The scheme to which it applies; `*`: any.
    pub scheme: String,
    /// The simulated times from and to which it is measured.
    pub window: (Span, Span),
    /// The measured quantity.
    pub metric: Metric,
    /// The measured flows and links.
    pub select: Select,
    /// The statement about the measured value.
    pub stated: Stated,
}

/// A statement about a measured value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stated {
    /// A relation to a number.
    Value {
        /// The relation.
        bound: Bound,
        /// The number, in the metric's unit.
        value: f64,
        /// For [`Bound::About`]: the allowed deviation, relative to `value`, or absolute (in the metric's
        /// unit) if `value` is 0. For the others: the allowed excess over the bound, in the same way.
        tolerance: f64,
    },
    /// A relation to the measurements under other schemes, with the same scenario, point of its axes and
    /// seed.
    Comparison {
        /// The relation.
        order: Order,
        /// The other schemes: at least one, each once.
        schemes: Vec<String>,
    },
}

/// The expected relation of a value measured under one scheme to that of each other scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Above it.
    MoreThan,
    /// Below it.
    LessThan,
}

/// The expected relation of a measured value to the stated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Equal, within the tolerance.
    About,
    /// At most the value, plus the tolerance.
    AtMost,
    /// At least the value, minus the tolerance.
    AtLeast,
}

/// A quantity that is measured over the window of the expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Content delivered to the selected flows' applications, bit/s, summed.
    Goodput,
    /// All bits of the selected flows' Data packets put on the selected links, bit/s, summed.
    DataRate,
    /// Mean delay of the selected flows' segments (first Interest to Data), ms.
    DelayMean,
    /// Median of this delay, ms.
    DelayP50,
    /// 95th percentile of this delay, ms.
    DelayP95,
    /// 99th percentile of this delay, ms.
    DelayP99,
    /// Mean time for which the selected flows' Data were queued, over all links that they crossed, ms.
    QueueingMean,
    /// Data packets of the selected flows dropped in the network.
    Lost,
    /// Interests of the selected flows that were retransmitted.
    Retransmitted,
    /// Interests of the selected flows that timed out.
    Timeouts,
    /// The time at which the last of the selected flows had fetched its amount, s after its own start.
    Completion,
    /// Mean time over the selected flows to fetch the amount, s.
    CompletionMean,
    /// The number of selected flows that had not fetched their amount by the window's end.
    Unfinished,
    /// Mean used share of the selected links' rate, 0 to 1.
    Utilisation,
    /// Mean queueing delay in front of the selected links, ms.
    QueueMean,
    /// 99th percentile of this delay, ms.
    QueueP99,
    /// Mean length of the queue in front of the selected links, packets.
    QueuePackets,
    /// Jain's index over the goodputs of the selected flows, 0 to 1.
    Jain,
    /// Largest relative deviation of a selected flow's goodput from the mean of the selected flows; at least
    /// 0.
    Unfairness,
    /// The time, from the scenario's last change of the selected flows, after which their summed goodput
    /// (means over bins of half a second or more, whole steps) stays within 5 % of its mean over the window's
    /// last quarter, s.
    Settle,
    /// The part of the Interests looked up at the selected nodes that their stores answered, 0 to 1.
    CacheHitRatio,
    /// Mean number of links that the selected flows' Data crossed from the producer or the store that
    /// answered.
    HopsMean,
}

/// The flows, links and nodes of a metric: those that match all given fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// The class of the flows.
    pub class: Option<ServiceClass>,
    /// The group of the flows.
    pub flow: Option<String>,
    /// The consumer of the flows.
    pub consumer: Option<NodeId>,
    /// The prefix of the flows.
    pub prefix: Option<String>,
    /// The links, each in one direction (for Data: towards the consumer).
    pub links: Vec<DirectedLink>,
    /// The nodes; empty: all of them.
    pub nodes: Vec<NodeId>,
    /// The matching flows; all of them if no field about flows is given.
    pub flows: Vec<FlowId>,
}

/// A parameter that the experiment sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name; `--set axis.NAME=VALUE` selects a point.
    pub name: String,
    /// The paths that it sets.
    pub set: Vec<String>,
    /// Its values, as `--set` takes them.
    pub values: Vec<String>,
    /// The index of this scenario's value; `None` if its paths differ or the value is not listed.
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

/// A key that can be set with `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Its path for `--set`, such as `link.R2-R3.rate`.
    pub path: String,
    /// Its current value, as it would be written in the file (texts without quotes).
    pub value: String,
    /// The source of the value: that of the file, `--set`, or `None` for a default or a value without a
    /// source.
    pub source: Option<Arc<str>>,
    /// Its position; `None` for a default.
    pub location: Option<Location>,
}

/// A key or table that names a scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedScheme {
    /// The key, such as `scheme.default` or `flow.A.scheme`.
    pub key: String,
    /// The scheme's name as given, not checked yet.
    pub name: String,
    /// The position of the name, for [`Scenario::error_at`].
    pub location: Location,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SchemeParams {
    pub scheme: String,
    pub params: Vec<Param>,
}

impl Scenario {
    /// Returns the parameters given for a scheme, in the file's order; empty if there are none.
    pub fn scheme_params(&self, scheme: &str) -> &[Param] {
        self.scheme_params.iter().find(|s| s.scheme == scheme).map_or(&[], |s| &s.params)
    }

    /// Returns the variant that a scheme's parameters name, if any.
    pub fn variant_of(&self, scheme: &str) -> Option<&str> {
        let named = self.scheme_params(scheme).iter().rev().find(|param| param.key == "variant");
        named.and_then(|param| match &param.value {
            ParamValue::Text(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the expectations for a scheme.
    pub fn expectations_for<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Expectation> {
        self.expectations.iter().filter(move |e| e.scheme == "*" || e.scheme == scheme)
    }

    /// Returns the node with this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n.name == name).map(NodeId)
    }

    /// Returns the first link between two nodes, in the direction from the first to the second.
    pub fn link_between(&self, from: NodeId, to: NodeId) -> Option<DirectedLink> {
        self.links.iter().enumerate().find_map(|(i, l)| match (l.a, l.b) {
            (a, b) if a == from && b == to => Some(DirectedLink { link: LinkId(i), direction: 0 }),
            (a, b) if b == from && a == to => Some(DirectedLink { link: LinkId(i), direction: 1 }),
            _ => None,
        })
    }

    /// Returns the node that a direction of a link leaves, and the node to which it leads.
    pub fn ends(&self, link: DirectedLink) -> (NodeId, NodeId) {
        let Link { a, b, .. } = self.links[link.link.index()];
        if link.direction == 0 { (a, b) } else { (b, a) }
    }

    /// Returns the name of a link in scenarios: `A-B`, or `A-B:NAME` if it has a name.
    pub fn link_name(&self, link: LinkId) -> String {
        let Link { a, b, name, .. } = &self.links[link.index()];
        let name = name.iter().map(|name| format!(":{name}"));
        let ends = format!("{}-{}", self.nodes[a.index()].name, self.nodes[b.index()].name);
        core::iter::once(ends).chain(name).collect()
    }

    /// Returns the names of the flow groups, in the file's order.
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

    /// Returns its name in files.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the unit of its values: `bit/s`, `ms`, `s`, `packets`, `flows`, `hops`, or `1` for ratios.
    pub fn unit(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    /// Returns its description.
    pub fn meaning(self) -> &'static str {
        match self {
            Metric::Goodput => "Sum of the content delivered to the flows' applications.",
            Metric::DataRate => "Sum of all bits of the flows' Data packets sent on the links.",
            Metric::DelayMean => "Mean time from the first transmission of an Interest to its Data.",
            Metric::DelayP50 => "Median of this delay.",
            Metric::DelayP95 => "95th percentile of this delay.",
            Metric::DelayP99 => "99th percentile of this delay.",
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
            Metric::QueueP99 => "99th percentile of this delay.",
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

    /// Returns whether it is about the completion of flows, which then need an amount.
    pub fn needs_amount(self) -> bool {
        matches!(self, Metric::Completion | Metric::CompletionMean | Metric::Unfinished)
    }

    /// Returns whether it is about nodes.
    pub fn is_of_nodes(self) -> bool {
        self == Metric::CacheHitRatio
    }

    /// Returns whether it is about links, which the expectation then has to name.
    pub fn needs_link(self) -> bool {
        use Metric::{DataRate, QueueMean, QueueP99, QueuePackets, Utilisation};
        matches!(self, DataRate | Utilisation | QueueMean | QueueP99 | QueuePackets)
    }
}

impl Bound {
    /// Returns whether a measured value satisfies the statement.
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
    /// Returns the other schemes of a comparison; none for a number.
    pub fn schemes(&self) -> &[String] {
        match self {
            Stated::Value { .. } => &[],
            Stated::Comparison { schemes, .. } => schemes,
        }
    }
}
