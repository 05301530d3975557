//! The table of all keys of a scenario file, their defaults, and whether `--set` may change them. The reference and
//! the JSON Schema are generated from it.

use weir_core::node::CsPlacement;
use weir_core::tables::cs::CsPolicy;
use weir_document::{Format, Key, NONE, REQUIRED, Section, Shape, names};

use crate::model::{Metric, Software};

/// An end of an axis of a figure.
const AXIS_END: Shape = Shape::Number(-1e15, 1e15);

/// The format of a scenario.
pub const FORMAT: Format = Format { sections: SECTIONS, keys: KEYS, find, of, list: "link" };

const fn key(
    table: &'static str,
    key: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { table, key, shape, default, settable: true, beside: &[], meaning }
}

/// A key that names or places its table, which `--set` leaves alone.
const fn fixed(
    table: &'static str,
    key: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { table, key, shape, default, settable: false, beside: &[], meaning }
}

/// The kinds of what an event happens to.
const FLOW: &[&str] = &["flow"];
const LINK: &[&str] = &["link"];
const NODE: &[&str] = &["node"];
const LINK_OR_NODE: &[&str] = &["link", "node"];

const SOURCE: &str = "The source of the numbers in this table: one text for all, or a table with a text for each key (`rest`: all others). Write `paper: …`, `files: …`, `fitted: …` (chosen with the stated figures in sight) or `assumed: …`.";

/// Topologies that can be generated.
pub const KINDS: &[&str] = &["random", "waxman", "grid", "line", "ring", "star", "tree", "dumbbell"];
/// Names of the policies of content stores.
pub const CACHE_POLICIES: &[&str] = names!(CsPolicy::ALL, 1);
/// Forwarders that a node may have.
pub const FORWARDERS: &[&str] = names!(Software::ALL, 1);
/// Names of the metrics.
pub const METRICS: &[&str] = names!(Metric::ALL, 1);
const MAX: i64 = i64::MAX;
const DISTRIBUTION: &str = "a whole number from 1, a list with one for each flow, or a distribution such as \"exponential 50\", \"pareto 50 shape 1.5\", \"pareto 3 to 3000 shape 1.1\", \"lognormal 50 sigma 1.2\", \"uniform 10 to 90\", \"one of 10, 20, 50\" or \"file NAME\"";
const ARRIVALS: &str = "a process of arrivals such as \"poisson 5/s\", \"every 200 ms\" or \"file NAME\"";
const POPULARITY: &str = "a popularity such as \"zipf 0.8\", \"zipf 0.8 shift 5\" or \"uniform\"";
const ACTIVITY: &str = "an activity such as \"on exponential 1 s off pareto 3 s shape 1.5\"";

/// Every table, in the order of the reference.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "",
        written: "the top of the file",
        address: "KEY",
        meaning: "The title, the duration and the source of the experiment.",
    },
    Section {
        name: "scheme",
        written: "[scheme]",
        address: "scheme.default, scheme.NAME.KEY",
        meaning: "The scheme that runs by default. The parameters of a scheme are in `[scheme.NAME]`, as nested tables or dotted keys (`weights.AF2 = 3`). Each scheme documents and checks its own parameters.",
    },
    Section {
        name: "node",
        written: "[[node]]",
        address: "node.NAME.KEY",
        meaning: "A forwarder, or a range of them.",
    },
    Section {
        name: "link",
        written: "[[link]]",
        address: "link.A-B.KEY",
        meaning: "A full-duplex link between two nodes, or a range of links. Further links between the same nodes have a `name`; such a link is called `A-B:NAME`, and its directions `A->B:NAME`, wherever a link is named.",
    },
    Section {
        name: "medium",
        written: "[[medium]]",
        address: "medium.NAME.KEY",
        meaning: "A half-duplex medium that two or more nodes share. One station sends at a time; the distributed coordination function (DCF) of IEEE 802.11 decides which. Each pair of stations that communicate is a link without delay: routes, events and expectations call it `A-B` or `A->B`.",
    },
    Section {
        name: "flow",
        written: "[[flow]]",
        address: "flow.NAME.KEY",
        meaning: "A group of flows. Each is one consumer application that fetches the segments 0, 1, 2, … below a \
                  prefix. A range in `consumer`, `producer` or `prefix` makes a flow for each of its names. Several ranges step together; a value without a range is the same for all flows.",
    },
    Section {
        name: "defaults",
        written: "[defaults.node], [defaults.link], [defaults.flow]",
        address: "defaults.link.KEY",
        meaning: "Default values for the tables of that kind. Keys that name a node, link or flow are not allowed here.",
    },
    Section {
        name: "routing",
        written: "[routing]",
        address: "routing.KEY",
        meaning: "The routing policy for prefixes that no `[[route]]` covers. Without `converge`, routes do not change when a link fails.",
    },
    Section {
        name: "route",
        written: "[[route]]",
        address: "",
        meaning: "FIB entries given by hand. They replace the policy for the prefixes that they cover.",
    },
    Section {
        name: "event",
        written: "[[event]]",
        address: "event.NAME.KEY (without a name: its index, from 0)",
        meaning: "A change during the run, of one `flow` group, one `link` or one `node`.",
    },
    Section {
        name: "window",
        written: "[[window]]",
        address: "window.NAME.KEY (without a name: its index, from 0)",
        meaning: "A part of the run for which figures are reported.",
    },
    Section {
        name: "axis",
        written: "[[axis]]",
        address: "axis.NAME=VALUE",
        meaning: "A parameter that the experiment sweeps. The values in the file are one point. `--set axis.NAME=VALUE` selects another point, and so does `--set` of the paths themselves.",
    },
    Section {
        name: "figure",
        written: "[[figure]]",
        address: "",
        meaning: "A figure of the paper. `weir reproduce` draws it from the runs, with the paper's axes.",
    },
    Section {
        name: "expectation",
        written: "[[expectation]]",
        address: "",
        meaning: "An expected result and its source. Give exactly one of `about`, `at_most`, `at_least`, `more_than` and `less_than`. The last two compare schemes: `weir reproduce` runs all of these schemes and checks the comparison; `weir run` only shows its own measurement.",
    },
    Section {
        name: "generate",
        written: "[generate]",
        address: "generate.KEY",
        meaning: "A generated topology. It is connected, and the same values give the same topology on every machine. Its nodes and links can be set individually, like those of the file.",
    },
    Section {
        name: "generate.flows",
        written: "[generate.flows]",
        address: "generate.flows.KEY",
        meaning: "Generated flows. Each has its own prefix and two different random nodes (in a dumbbell: C1 fetches from P1, and so on, in turn). The flows of a class form one group, named after the class. The keys of `[[flow]]` that are listed here apply to every group; random traffic is not among them.",
    },
];

/// Every key.
pub const KEYS: &[Key] = &[
    fixed("", "title", Shape::Text, REQUIRED, "A title, one line."),
    fixed("", "source", Shape::Text, NONE, "The source of the experiment: paper, section, figure, files."),
    key("", "duration", Shape::Span, REQUIRED, "The length of the run."),
    key(
        "",
        "sample",
        Shape::Span,
        NONE,
        "Step of the time series. The default is 100 ms, or longer for at most 2400 steps. The product of steps with flows and link directions is at most 20 million.",
    ),
    // scheme
    key("scheme", "default", Shape::Text, REQUIRED, "The scheme that runs by default."),
    fixed("scheme", "source", Shape::Source, NONE, SOURCE),
    // node
    fixed(
        "node",
        "name",
        Shape::Texts,
        REQUIRED,
        "Its name (letters, digits, `_`, `-`, `,` and blanks within), a range such as `\"C{1..4}\"`, or a list of them.",
    ),
    key(
        "node",
        "cache",
        Shape::Limit,
        "0",
        "Capacity of the content store: packets, bytes (`\"10 MB\"`) or `\"unlimited\"`.",
    ),
    key(
        "node",
        "cache_policy",
        Shape::Choice(CACHE_POLICIES),
        "\"lru\"",
        "The packet that a full content store evicts. `lru`: the least recently used; `fifo`: the oldest; `lfu`: the one whose name was asked for least often, also before it came; `random`: any; `slru`: segmented LRU; `s3-fifo`: S3-FIFO.",
    ),
    key(
        "node",
        "cache_placement",
        Shape::TextOf("placement", CsPlacement::FORMS),
        "\"everywhere\"",
        "Which of the Data that pass the content store keeps. `everywhere`: all; `probability P`: each with this probability, such as `\"probability 0.3\"`; `edge`: those for which it is the first content store from the consumer; `leave-copy-down`: those for which it is the first from the producer or the store that answered; `probcache`: each with a probability that grows towards the consumer. The last three count the content stores on the way, by a header field on all of them.",
    ),
    key(
        "node",
        "cache_ratio",
        Shape::Number(0.0, 1.0),
        "0.0",
        "The part of the segments that the node has from the beginning, chosen at random with the seed: a simulated cache.",
    ),
    key(
        "node",
        "cache_ratio_for",
        Shape::Texts,
        NONE,
        "The prefixes to which `cache_ratio` applies; by default all.",
    ),
    key(
        "node",
        "reforward_after",
        Shape::Span,
        "\"0 ms\"",
        "While an Interest is pending, the same Interest may arrive again, from any face. It is forwarded again if the last transmission was at least this time ago. The time doubles with each transmission, up to 250 ms. NFD has `\"10 ms\"`. 0: Interests of other consumers wait for the Data, and the scheme decides when to forward a repeated one.",
    ),
    key(
        "node",
        "next_hop_timeout",
        Shape::Span,
        "\"0 ms\"",
        "Time after which a next hop that answers nothing is compared with another one of its prefix, by copies of Interests. If another answers one that it does not, it is left: strategies do not see it. Then it is probed with copies after 1 s, 2 s, up to 16 s, and used again when it answers. The time is at least two round trips of the next hop. 0, the papers' schemes: next hops are never left. `weir forward` has `\"1 s\"`.",
    ),
    key(
        "node",
        "share_by",
        Shape::Choice(&["flow", "face"]),
        "\"flow\"",
        "The unit of sharing, if the scheme divides links among flows. `flow`: each flow gets a share. `face`: all flows from one face, a neighbour or an application, together get the share of one flow. In `weir forward` this is the default for strangers and applications.",
    ),
    key(
        "node",
        "active",
        Shape::Switch,
        "true",
        "Whether the node runs the scheme. If not, it forwards by best route with drop-tail queues and does not change signals and marks.",
    ),
    key(
        "node",
        "forwarder",
        Shape::Choice(FORWARDERS),
        "\"weir\"",
        "The forwarder of the node in `weir lab`. `ndnd`, `nfd`: software of others, which must be installed. It forwards by best route, the emulated links pace what it sends, and of the node's other keys only `cache` applies, in packets. It does not know Weir's header fields and drops them. The simulator then does as with `active = false`, and removes all signals and service classes from packets that arrive at the node.",
    ),
    key(
        "node",
        "command",
        Shape::Text,
        NONE,
        "In `weir lab`: a command that runs at the node during the run, in place of Weir's producers on it, such as `\"ndnd pingserver /A\"`. See `flow.command`. The simulator runs the ordinary producers.",
    ),
    key(
        "node",
        "position",
        Shape::Position,
        NONE,
        "Position in the drawing, `[x, y]`: x to the right and y down; for several nodes a list of positions.",
    ),
    fixed("node", "source", Shape::Source, NONE, SOURCE),
    // link
    fixed(
        "link",
        "ends",
        Shape::Pair,
        NONE,
        "Its two nodes, `[\"R1\", \"R2\"]`. Ranges make several links: ranges step together, and a single node is an end of all links.",
    ),
    fixed(
        "link",
        "between",
        Shape::Texts,
        NONE,
        "Instead of `ends`, a list of links with the same values: `[\"R1-R2\", \"R2-R3\"]`. Ranges step together.",
    ),
    fixed(
        "link",
        "name",
        Shape::Text,
        NONE,
        "Its name, if there are several links between its nodes. `A-B` without `:NAME` means the link without a name, or the only link; in `--set` also all of several that have names.",
    ),
    key(
        "link",
        "rate",
        Shape::Rates,
        REQUIRED,
        "Its rate in both directions, or `[forward, backward]` in the order of its ends. A link with a `rate_trace` needs none.",
    ),
    key("link", "delay", Shape::Spans, REQUIRED, "Its one-way propagation delay, or `[forward, backward]`."),
    key(
        "link",
        "delay_jitter",
        Shape::Number(0.0, 0.5),
        "0.0",
        "Makes the seed matter: the seed draws a factor between 1 − `delay_jitter` and 1 + `delay_jitter` for the link's delay, once for the run.",
    ),
    key("link", "queue", Shape::Limit, "100", "Limit of the queue at each end: packets or bytes."),
    key(
        "link",
        "loss",
        Shape::Number(0.0, 1.0),
        "0.0",
        "Probability that a packet is lost on it, each direction.",
    ),
    key(
        "link",
        "cost",
        Shape::Numbers(0.001, 1e9),
        "1.0",
        "What routing by `metric = \"cost\"` sums up along a path, or `[forward, backward]`: a direction's cost is that of Interests in this direction. To three digits after the point.",
    ),
    key(
        "link",
        "loss_burst",
        Shape::Number(1.0, 1e9),
        NONE,
        "Mean number of packets in a row that are lost, with the mean of `loss` (the model of Gilbert and Elliott). Without it, losses are independent. At least `loss` / (1 − `loss`).",
    ),
    key(
        "link",
        "jitter",
        Shape::Span,
        "\"0 ms\"",
        "Makes the seed matter: each packet is delayed by a further time, uniform from 0 to `jitter`, in each direction. The optimum counts the mean. Without `reorder`, packets that wait for an earlier one come later on average.",
    ),
    key(
        "link",
        "reorder",
        Shape::Switch,
        "false",
        "Whether packets overtake each other because of `jitter`. If not, one that would arrive before an earlier one arrives together with it.",
    ),
    key(
        "link",
        "rate_trace",
        Shape::Texts,
        NONE,
        "In place of `rate`, a file in Mahimahi's format: each line is a time in milliseconds, at which 1504 bytes may leave; after the last line it begins again. One file for both directions, or `[forward, backward]`. A path is relative to the scenario's file. Schemes and the optimum know only the mean rate.",
    ),
    key(
        "link",
        "duplex",
        Shape::Choice(&["full", "half"]),
        "\"full\"",
        "`half`: both directions share the link's time, a packet at a time; if both have one, they take turns. Schemes are told the whole rate in each direction.",
    ),
    fixed("link", "source", Shape::Source, NONE, SOURCE),
    // medium
    fixed("medium", "name", Shape::Text, REQUIRED, "Its name."),
    fixed(
        "medium",
        "standard",
        Shape::Choice(&["802.11a"]),
        REQUIRED,
        "The standard, which defines slots, gaps, contention windows, headers and acknowledgements.",
    ),
    fixed(
        "medium",
        "stations",
        Shape::Texts,
        REQUIRED,
        "Its nodes: a list, also with ranges. All of them hear each other.",
    ),
    fixed(
        "medium",
        "access_point",
        Shape::Text,
        NONE,
        "The station with which all others communicate. Without it, every station communicates with every other.",
    ),
    key(
        "medium",
        "rate",
        Shape::Rate,
        REQUIRED,
        "Bit rate of the frames: 6, 9, 12, 18, 24, 36, 48 or 54 Mb/s. Packets get less: packets of 1100 bytes get 16 of 24 Mb/s.",
    ),
    key(
        "medium",
        "queue",
        Shape::Limit,
        "100",
        "Limit of each station's queue to each other station: packets or bytes.",
    ),
    key(
        "medium",
        "loss",
        Shape::Number(0.0, 1.0),
        "0.0",
        "Probability that a frame is lost without a collision. It is sent up to seven times in all.",
    ),
    fixed("medium", "source", Shape::Source, NONE, SOURCE),
    // flow
    fixed("flow", "name", Shape::Text, REQUIRED, "Name of the group."),
    key(
        "flow",
        "consumer",
        Shape::Texts,
        REQUIRED,
        "The node with the consumer, a range, or a list with one node for each flow.",
    ),
    key(
        "flow",
        "producer",
        Shape::Texts,
        REQUIRED,
        "The node with the producer, or a range; a list gives every flow several producers (each may be a range).",
    ),
    key(
        "flow",
        "prefix",
        Shape::Texts,
        REQUIRED,
        "The name prefix, a range such as `\"/A{0..9}\"`, or a list with one for each flow. `{}` stands for 0, 1, … \
         below `count`.",
    ),
    key(
        "flow",
        "count",
        Shape::Whole(0, 100_000),
        NONE,
        "The number of flows; by default the length of the ranges and lists.",
    ),
    key("flow", "class", Shape::Class, "\"BE\"", "Service class: CS7, CS6, EF, AF4, AF3, AF2, AF1 or BE."),
    key("flow", "start", Shape::SpanEach, "\"0 s\"", "The earliest time of the first Interest."),
    key(
        "flow",
        "start_spread",
        Shape::Span,
        "\"0 s\"",
        "Spreads the starts evenly: flow i of n starts `start_spread`·i/n later.",
    ),
    key(
        "flow",
        "start_jitter",
        Shape::Span,
        "\"0 s\"",
        "Makes the seed matter: the seed draws for each flow how much later it starts, less than `start_jitter`.",
    ),
    fixed(
        "flow",
        "drawn_from",
        Shape::Texts,
        NONE,
        "Nodes from which the seed draws the consumers of the group, none twice. `consumer` then says how many there are.",
    ),
    key("flow", "stop", Shape::SpanEach, NONE, "The end of the flow; by default the end of the run."),
    key(
        "flow",
        "amount",
        Shape::WholeEachOr("distribution", DISTRIBUTION),
        NONE,
        "The number of segments that it fetches; by default it never ends. A text is a distribution, from which the seed draws the amount of each flow, or with `arrivals` that of each object: `\"exponential 50\"`, `\"pareto 50 shape 1.5\"` (mean 50), `\"pareto 3 to 3000 shape 1.1\"`, `\"lognormal 50 sigma 1.2\"` (mean 50), `\"uniform 10 to 90\"`, `\"one of 10, 20, 50\"`, or `\"file sizes.txt\"` with one value on each line. Draws are rounded to whole segments, at least one.",
    ),
    key(
        "flow",
        "arrivals",
        Shape::TextOf("arrivals", ARRIVALS),
        NONE,
        "Makes the flow a source of requests, each by a consumer of its own that fetches one object, `PREFIX/OBJECT/SEGMENT`, and ends. `\"poisson 5/s\"`; `\"every 200 ms\"`, the first at `start`; or `\"file requests.csv\"` with a line `time,object,amount` for each request, the time in seconds from `start`.",
    ),
    key(
        "flow",
        "objects",
        Shape::Whole(1, 10_000_000),
        NONE,
        "With `arrivals`: the number of objects below the prefix. An object has the same amount each time. Without it each request is for a new object.",
    ),
    key(
        "flow",
        "popularity",
        Shape::TextOf("popularity", POPULARITY),
        NONE,
        "With `objects`: which are requested. `\"uniform\"`; `\"zipf 0.8\"`, the object of rank k in proportion to 1/k^0.8; `\"zipf 0.8 shift 5\"` (Zipf-Mandelbrot), in proportion to 1/(k + 5)^0.8. Object 0 has rank 1. By default uniform.",
    ),
    key(
        "flow",
        "activity",
        Shape::TextOf("activity", ACTIVITY),
        NONE,
        "When the application is active and when it pauses, in turns from `start` on, with times drawn by the seed: `\"on exponential 1 s off pareto 3 s shape 1.5\"`. In a pause it sends no new Interests, and with `arrivals` no request comes.",
    ),
    key(
        "flow",
        "source_rate",
        Shape::SourceRate,
        "\"elastic\"",
        "Rate at which the application asks for Data, counting all bits of the packets. `\"elastic\"`: as fast as the scheme allows.",
    ),
    key(
        "flow",
        "source_jitter",
        Shape::Number(0.0, 1.0),
        "0.0",
        "With a `source_rate`: the seed draws a factor between 1 − `source_jitter` and 1 + `source_jitter` for the time between two Interests.",
    ),
    key(
        "flow",
        "unresponsive",
        Shape::Switch,
        "false",
        "With a `source_rate`: whether it ignores the scheme and always asks at this rate.",
    ),
    key("flow", "payload", Shape::Size, "\"1024 B\"", "Content of a segment, 1 to 8192 bytes."),
    key(
        "flow",
        "signature",
        Shape::Size,
        "\"32 B\"",
        "Length of the value of a segment's signature, 0 to 512 bytes: 32 for a SHA-256 digest, some 72 for ECDSA. Name, headers and signals come on top.",
    ),
    key(
        "flow",
        "lifetime",
        Shape::SpanFrom(1),
        "\"2 s\"",
        "Interest lifetime, at least 1 ms, the smallest value that a packet can carry.",
    ),
    key(
        "flow",
        "early_loss",
        Shape::Switch,
        NONE,
        "Whether consumers detect losses early, as `weir get` does (RFC 8985). Then an Interest counts as lost if a later one was answered, about a round trip after it was sent; a probe detects losses at the end. `false`: consumers wait for the timeout, at least 200 ms in most schemes, as the consumers of most papers' programs do. The default is the scheme's, as the reference of schemes says: `true` for schemes with a window that follows losses.",
    ),
    key(
        "flow",
        "freshness",
        Shape::Span,
        NONE,
        "FreshnessPeriod of the Data; by default none, and Interests accept any Data.",
    ),
    key(
        "flow",
        "command",
        Shape::Text,
        NONE,
        "In `weir lab`: a command that runs in place of Weir's consumer, such as `\"ndnd ping $NDN_PREFIX\"`. `/bin/sh -c` runs it at the consumer's node from `start` to `stop`, with the forwarder's address in `NDN_CLIENT_TRANSPORT` and the flow's prefix in `NDN_PREFIX`. If it ends with exit code 0, the flow is complete; goodput and delay are not measured. The simulator and `weir traffic` run the ordinary consumer. Read the commands of a stranger's scenario before you run it in the lab.",
    ),
    key("flow", "scheme", Shape::Text, NONE, "The scheme of these consumers, if it differs from the run's."),
    fixed("flow", "source", Shape::Source, NONE, SOURCE),
    // routing
    key(
        "routing",
        "policy",
        Shape::Choice(&["shortest-path", "equal-cost", "multipath", "k-shortest", "k-disjoint", "given"]),
        "\"shortest-path\"",
        "`shortest-path`: one next hop, on a shortest path to the nearest producer (of equal paths, the node that comes first in the file). `equal-cost`: all next hops on such paths. `multipath`: every neighbour that is strictly nearer to the nearest producer. `k-shortest`: the next hops on the `k` shortest paths of each consumer. `k-disjoint`: those on `k` paths of each consumer that share as few links as possible. `given`: only the routes of `[[route]]`.",
    ),
    key(
        "routing",
        "k",
        Shape::Whole(1, 16),
        "2",
        "`k-shortest` and `k-disjoint`: the number of paths of each consumer.",
    ),
    key(
        "routing",
        "metric",
        Shape::Choice(&["hops", "delay", "cost"]),
        "\"hops\"",
        "The length that a shortest path minimises: links (hops), round-trip delay, or the sum of the links' `cost` in the direction of Interests.",
    ),
    key(
        "routing",
        "converge",
        Shape::Span,
        NONE,
        "The time that routing takes to react: next hops are always those of the network as it was this time ago. Then they follow links and nodes that fail and return, and producers that move. Without it, next hops never change.",
    ),
    fixed("routing", "source", Shape::Source, NONE, SOURCE),
    // route
    fixed(
        "route",
        "prefix",
        Shape::Texts,
        REQUIRED,
        "The prefix, a range or a list; the longest match applies.",
    ),
    fixed(
        "route",
        "hops",
        Shape::Texts,
        REQUIRED,
        "Next hops at each node, best first: `[\"R1->P1\", \"R6->R7|R5\"]`. Ranges on both sides step together.",
    ),
    fixed(
        "route",
        "single",
        Shape::Texts,
        NONE,
        "For schemes that use one path: the best next hop of some nodes, `[\"R6->R5\"]`; by default the first of `hops`. Schemes that divide traffic ignore it.",
    ),
    fixed("route", "source", Shape::Source, NONE, SOURCE),
    // event
    fixed("event", "name", Shape::Text, NONE, "Its name."),
    key("event", "at", Shape::Span, REQUIRED, "The time of the event."),
    fixed("event", "flow", Shape::Text, NONE, "The flow group that changes."),
    fixed(
        "event",
        "link",
        Shape::Text,
        NONE,
        "The link, or pair of stations on a medium, that changes: `\"R1-R2\"`, or one direction of its rate or delay: `\"R1->R2\"`.",
    ),
    fixed("event", "node", Shape::Text, NONE, "The node that changes."),
    key(
        "event",
        "source_rate",
        Shape::SourceRate,
        NONE,
        "Flow: as in `[[flow]]`, from now on; `\"0 b/s\"`: it sends no new Interests. Requests still come, and wait.",
    ).beside(FLOW),
    key("event", "unresponsive", Shape::Switch, "false", "Flow: as in `[[flow]]`; `true` makes it greedy.").beside(FLOW),
    key("event", "rate", Shape::Rates, NONE, "Link: its rate from now on, also in place of a `rate_trace`.").beside(LINK),
    key(
        "event",
        "delay",
        Shape::Spans,
        NONE,
        "Link: its delay from now on; not on a medium, which has none.",
    ).beside(LINK),
    key("event", "loss", Shape::Number(0.0, 1.0), NONE, "Link: its random loss from now on.").beside(LINK),
    key(
        "event",
        "loss_burst",
        Shape::Number(1.0, 1e9),
        NONE,
        "Link: as in `[[link]]`, from now on; 1 / (1 − `loss`) is what independent losses have. Not on a medium.",
    ).beside(LINK),
    key(
        "event",
        "jitter",
        Shape::Span,
        NONE,
        "Link: as in `[[link]]`, from now on; only of a link that has a `jitter`.",
    ).beside(LINK),
    key(
        "event",
        "up",
        Shape::Switch,
        NONE,
        "Link or node: `false` when it fails, `true` when it works again. A node that fails loses its PIT, content store, queues, scheme state and the packets on its links; its applications go on, and lose what they send.",
    ).beside(LINK_OR_NODE),
    fixed(
        "event",
        "producer",
        Shape::Texts,
        NONE,
        "Flow: the node with the producer from now on, as in `[[flow]]`. It is the producer of the group's prefixes, also for other groups that fetch them. Needs `routing.converge`.",
    ).beside(FLOW),
    key("event", "cache_ratio", Shape::Number(0.0, 1.0), NONE, "Node: as in `[[node]]`, from now on.").beside(NODE),
    fixed("event", "source", Shape::Source, NONE, SOURCE),
    // window
    fixed("window", "name", Shape::Text, NONE, "Its name."),
    key("window", "from", Shape::Span, REQUIRED, "Its beginning."),
    key("window", "to", Shape::Span, REQUIRED, "Its end."),
    fixed("window", "source", Shape::Source, NONE, SOURCE),
    // axis
    fixed("axis", "name", Shape::Text, REQUIRED, "Its name."),
    fixed(
        "axis",
        "set",
        Shape::Texts,
        REQUIRED,
        "The path that the axis sets, or a list of paths, as in `--set`.",
    ),
    fixed(
        "axis",
        "values",
        Shape::Values,
        REQUIRED,
        "The values of the experiment. Another value also runs, as a point without expectations.",
    ),
    fixed("axis", "source", Shape::Source, NONE, SOURCE),
    // figure
    fixed("figure", "number", Shape::Text, REQUIRED, "Its number in the paper, such as `7(a)`."),
    fixed("figure", "emulated_number", Shape::Text, NONE, "The number of its counterpart in the paper's emulated network."),
    fixed("figure", "caption", Shape::Text, REQUIRED, "What it shows, in the paper's words."),
    fixed("figure", "what", Shape::Text, REQUIRED, "The kind of figure, as in `weir plot --what`."),
    fixed("figure", "metric", Shape::Texts, NONE, "The metrics, a panel each, as in `weir plot --metric`."),
    fixed("figure", "by", Shape::Text, NONE, "What lines and bars are of, as in `weir plot --by`."),
    fixed(
        "figure",
        "only",
        Shape::Texts,
        NONE,
        "Schemes, classes, flows or links: the figure shows these alone.",
    ),
    fixed("figure", "window", Shape::Text, NONE, "The window, as in `weir plot --window`."),
    fixed("figure", "axis", Shape::Text, NONE, "The axis of the experiment that a figure `axis` is over."),
    fixed("figure", "x_from", AXIS_END, NONE, "The beginning of the horizontal axis, in s, bit/s or ms."),
    fixed("figure", "x_to", AXIS_END, NONE, "Its end."),
    fixed("figure", "y_from", AXIS_END, NONE, "The beginning of the vertical axis, in the unit of the metric."),
    fixed("figure", "y_to", AXIS_END, NONE, "Its end."),
    fixed("figure", "source", Shape::Source, NONE, SOURCE),
    // expectation
    fixed(
        "expectation",
        "what",
        Shape::Text,
        NONE,
        "The statement in words; by default made from the other keys.",
    ),
    fixed("expectation", "source", Shape::Text, REQUIRED, "The source: `paper, section V-B`."),
    fixed(
        "expectation",
        "scheme",
        Shape::Text,
        NONE,
        "The scheme that it is about, `\"*\"` for any; by default the file's default scheme.",
    ),
    fixed(
        "expectation",
        "metric",
        Shape::Choice(METRICS),
        REQUIRED,
        "The measured quantity; see the list below.",
    ),
    fixed("expectation", "class", Shape::Class, NONE, "Only flows of this class."),
    fixed("expectation", "flow", Shape::Text, NONE, "Only flows of this group."),
    fixed("expectation", "consumer", Shape::Text, NONE, "Only flows of the consumers on this node."),
    fixed("expectation", "prefix", Shape::Text, NONE, "Only flows of this prefix."),
    fixed(
        "expectation",
        "link",
        Shape::Texts,
        NONE,
        "On this link, in this direction: `\"R3->R2\"` (Data flow towards the consumer); or a list.",
    ),
    fixed(
        "expectation",
        "node",
        Shape::Texts,
        NONE,
        "At this node, or a list of nodes; for `cache_hit_ratio`.",
    ),
    fixed(
        "expectation",
        "window",
        Shape::Window,
        NONE,
        "The name of a window or `[\"20 s\", \"120 s\"]`; by default the whole run.",
    ),
    fixed(
        "expectation",
        "about",
        Shape::Quantity,
        NONE,
        "The stated value: a quantity with its unit, or a number in the metric's unit.",
    ),
    fixed("expectation", "at_most", Shape::Quantity, NONE, "An upper bound."),
    fixed("expectation", "at_least", Shape::Quantity, NONE, "A lower bound."),
    fixed(
        "expectation",
        "more_than",
        Shape::Texts,
        NONE,
        "More than under this other scheme, or under each of these schemes. The compared runs differ only in the scheme.",
    ),
    fixed(
        "expectation",
        "less_than",
        Shape::Texts,
        NONE,
        "Less than under this other scheme, or under each of these schemes.",
    ),
    fixed(
        "expectation",
        "tolerance",
        Shape::Number(0.0, 1e12),
        NONE,
        "Allowed deviation: relative to the value, or absolute if the value is 0. The default is 0.05 for `about` and 0 for bounds.",
    ),
    fixed("expectation", "when", Shape::Map, NONE, "Only at a point of the axes: `when = { NAME = VALUE }`."),
    // generate
    key("generate", "kind", Shape::Choice(KINDS), REQUIRED, "The shape of the topology."),
    key(
        "generate",
        "nodes",
        Shape::Whole(2, 20_000),
        REQUIRED,
        "The number of nodes: n0, n1, … (in a dumbbell C1, …, R1, R2, P1, …: an even number from 4).",
    ),
    key(
        "generate",
        "degree",
        Shape::Number(1.0, 100.0),
        "3.0",
        "Random and Waxman: mean number of links of a node. Tree: number of children of a node.",
    ),
    key("generate", "seed", Shape::Whole(0, MAX), "1", "Seed of the random topology and flows."),
    key(
        "generate",
        "rate",
        Shape::RateRange,
        REQUIRED,
        "Rate of every link, or `[lowest, highest]`: a uniform random rate for each link, in steps of at most a hundredth of the lowest.",
    ),
    key(
        "generate",
        "delay",
        Shape::SpanRange,
        REQUIRED,
        "Delay of every link, or `[shortest, longest]`: a random delay for each link, likewise.",
    ),
    key("generate", "queue", Shape::Limit, "100", "Queue of every link."),
    key(
        "generate",
        "bottleneck",
        Shape::Rate,
        NONE,
        "Dumbbell: rate of the link in the middle; by default as the others.",
    ),
    key(
        "generate",
        "alpha",
        Shape::Number(0.01, 1.0),
        "0.2",
        "Waxman: a larger value gives more links between distant nodes.",
    ),
    fixed("generate", "source", Shape::Source, NONE, SOURCE),
    // generate.flows
    key("generate.flows", "count", Shape::Whole(0, 100_000), REQUIRED, "The total number of flows."),
    key("generate.flows", "classes", Shape::Texts, "\"BE\"", "Their service classes, in turn."),
    fixed("generate.flows", "source", Shape::Source, NONE, SOURCE),
];

/// Keys of `[[flow]]` that `[generate.flows]` hands on.
pub const HANDED_ON: &[&str] = &[
    "start",
    "start_spread",
    "stop",
    "amount",
    "source_rate",
    "unresponsive",
    "payload",
    "lifetime",
    "early_loss",
    "freshness",
    "scheme",
];

/// The key of a table.
pub fn find(table: &str, key: &str) -> Option<&'static Key> {
    if let Some(of) = table.strip_prefix("defaults.") {
        return find(of, key).filter(|k| k.key == "source" || (k.settable && !is_identity(of, key)));
    }
    let own = KEYS.iter().find(|k| k.table == table && k.key == key);
    if own.is_none() && table == "generate.flows" && HANDED_ON.contains(&key) {
        return find("flow", key);
    }
    own
}

/// The keys of a table, in order.
pub fn of(table: &str) -> Vec<&'static Key> {
    if let Some(of_table) = table.strip_prefix("defaults.") {
        return KEYS
            .iter()
            .filter(|k| k.table == of_table && k.settable && !is_identity(of_table, k.key))
            .chain(KEYS.iter().filter(|k| k.table == of_table && k.key == "source"))
            .collect();
    }
    let handed_on =
        KEYS.iter().filter(|k| table == "generate.flows" && k.table == "flow" && HANDED_ON.contains(&k.key));
    KEYS.iter().filter(|k| k.table == table).chain(handed_on).collect()
}

/// Keys that say which flow it is: settable, but not the same for all.
fn is_identity(table: &str, key: &str) -> bool {
    table == "flow" && matches!(key, "consumer" | "producer" | "prefix" | "count")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_section_and_stands_once() {
        for (i, k) in KEYS.iter().enumerate() {
            assert!(SECTIONS.iter().any(|s| s.name == k.table), "{}.{}", k.table, k.key);
            assert!(!KEYS[..i].iter().any(|o| o.table == k.table && o.key == k.key), "{}.{}", k.table, k.key);
        }
    }

    #[test]
    fn the_meaning_of_a_change_begins_with_what_has_it() {
        for k in KEYS.iter().filter(|k| !k.beside.is_empty()) {
            assert!(k.beside.iter().all(|kind| find(k.table, kind).is_some()), "{}.{}", k.table, k.key);
            let kinds = k.meaning.split_once(": ").map(|(kinds, _)| kinds.to_lowercase());
            assert_eq!(kinds, Some(k.beside.join(" or ")), "{}.{}", k.table, k.key);
        }
    }

    #[test]
    fn metrics_are_in_the_order_of_their_list() {
        for (i, m) in Metric::ALL.iter().enumerate() {
            assert_eq!(m.0 as usize, i);
        }
    }
}
