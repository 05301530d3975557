//! The tables of a run and of a study, with their columns and units. The content of the files is defined only here.
//!
//! A run has time series: one row for each step and flow (class, direction of a link), ordered by step. A study has figures and
//! runs. Each file contains the facts of its run or study as key-value metadata, see [`METADATA`] and [`STUDY_METADATA`].

use std::borrow::Cow;

/// The version of the tables. It increases when a column is removed or changes its meaning, not when one is added.
pub const SCHEMA: u64 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// True or false.
    Bool,
    /// UTF-8 text.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit if it has one.
    pub name: Cow<'static, str>,
    /// Its type.
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its meaning.
    pub about: &'static str,
}

impl Column {
    /// Its type in words.
    pub fn stored(&self) -> String {
        let kind = match self.kind {
            Kind::F64 => "64-bit float",
            Kind::F32 => "32-bit float",
            Kind::U32 => "unsigned 32-bit integer",
            Kind::U64 => "unsigned 64-bit integer",
            Kind::Bool => "boolean",
            Kind::Text => "text",
        };
        if self.nullable { format!("{kind} or null") } else { kind.to_owned() }
    }
}

/// A table; each is one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Name of its file without `.parquet`.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

impl Table {
    /// Its columns, with those of a study's axes inserted.
    pub(crate) fn with_axes(&self, axes: &[Column]) -> Vec<Column> {
        let mut columns = self.columns.to_vec();
        let behind = columns.iter().position(|column| column.name == AXES_BEHIND);
        let at = behind.map_or(columns.len(), |i| i + 1);
        columns.splice(at..at, axes.iter().cloned());
        columns
    }
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name: Cow::Borrowed(name), kind, nullable: false, about }
}

const fn nullable(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name: Cow::Borrowed(name), kind, nullable: true, about }
}

const T_S: Column = column("t_s", Kind::F64, "beginning of the step, s");
const CLASS: Column = column("class", Kind::Text, "service class");
const GOODPUT: Column = column("goodput_bps", Kind::F32, "Data content delivered to the application, bit/s");
const DELAY: Column =
    nullable("delay_ms", Kind::F32, "mean from the first transmission of an Interest to its Data, ms");
const LOST: Column = column("lost", Kind::U32, "Data packets dropped in the network");
const RETRANSMITTED: Column = column("retransmitted", Kind::U32, "Retransmitted Interests");

/// Flows over time.
pub const FLOWS: Table = Table {
    name: "flows",
    columns: &[
        T_S,
        column("flow", Kind::U32, "index of the flow in the document's `flows`"),
        column("consumer", Kind::Text, "the consumer's node"),
        column("prefix", Kind::Text, "the prefix that it fetches"),
        CLASS,
        GOODPUT,
        DELAY,
        LOST,
        RETRANSMITTED,
        nullable("sent_rate", Kind::F32, "Interests sent, 1/s; null if not recorded"),
        nullable(
            "window",
            Kind::F32,
            "congestion window at the end of the step, packets; null while the flow control steers by a rate",
        ),
        nullable(
            "rate_bps",
            Kind::F32,
            "rate of Data at the end of the step, bit/s; null while the flow control steers by a window",
        ),
        nullable("pending", Kind::F32, "pending Interests at the end of the step"),
        nullable("srtt_ms", Kind::F32, "smoothed round-trip time at the end of the step, ms"),
        nullable("rto_ms", Kind::F32, "retransmission timeout at the end of the step, ms"),
        nullable(
            "base_rtt_ms",
            Kind::F32,
            "shortest round trip at the end of the step, ms: the mean over the responders by their answers",
        ),
    ],
};

/// Classes over time: the sums of their flows.
pub const CLASSES: Table =
    Table { name: "classes", columns: &[T_S, CLASS, GOODPUT, DELAY, LOST, RETRANSMITTED] };

/// Directions of links over time.
pub const LINKS: Table = Table {
    name: "links",
    columns: &[
        T_S,
        column("link", Kind::U32, "index of the direction in the document's `links`"),
        column("from", Kind::Text, "the sending node"),
        column("to", Kind::Text, "the receiving node"),
        column("rate_bps", Kind::F64, "rate of the link, bit/s"),
        column("throughput_bps", Kind::F32, "bits sent on the link, bit/s"),
        column("utilisation", Kind::F32, "share of the step in which it was sending, 0 to 1"),
        column("queue_packets", Kind::F32, "packets in the queue, mean over the step"),
        nullable("queue_ms", Kind::F32, "mean queueing delay of the packets sent, ms"),
        column("drops", Kind::U32, "packets dropped at its queue"),
        column("lost", Kind::U32, "packets that the link lost at random"),
    ],
};

/// Nodes over time; without rows if there are too many nodes.
pub const NODES: Table = Table {
    name: "nodes",
    columns: &[
        T_S,
        column("node", Kind::U32, "index of the node in the document's `nodes`"),
        column("name", Kind::Text, "the node's name"),
        column("cache_hits", Kind::U32, "Interests that its content store or its simulated cache answered"),
        column("cache_misses", Kind::U32, "Interests that its stores did not answer"),
        column("cached_packets", Kind::U32, "Data in its content store at the end of the step"),
        column("pit", Kind::U32, "pending Interests at the end of the step"),
        column("drops", Kind::U32, "packets that it dropped, for any reason"),
    ],
};

/// Completed requests, in the order of completion; written if flows have `arrivals`.
pub const REQUESTS: Table = Table {
    name: "requests",
    columns: &[
        column("flow", Kind::U32, "index of the flow in the document's `flows`"),
        column("came_s", Kind::F64, "when it came, s"),
        column("amount", Kind::U64, "the Data that it fetched"),
        column("completion_s", Kind::F64, "the time until its last Data, s"),
        nullable(
            "slowdown",
            Kind::F64,
            "that over the time that it would take alone; null if that is not known",
        ),
    ],
};

/// The events of a trace (`weir run --trace`), one row for each event, in order of time.
pub const TRACE: Table = Table {
    name: "trace",
    columns: &[
        column("t_s", Kind::F64, "when, s"),
        column("node", Kind::Text, "the node"),
        nullable("neighbour", Kind::Text, "the node at the other end of the face; null for an application"),
        column("what", Kind::Text, "what happens, see below"),
        column("kind", Kind::Text, "`Interest`, `Data` or `Nack`"),
        column("name", Kind::Text, "its name; of a timeout the prefix of the flow"),
        nullable("class", Kind::Text, "service class; null for a timeout"),
        nullable("size", Kind::U64, "length of the whole frame on a link, bytes; null for a timeout"),
        nullable("wait_ms", Kind::F64, "of `send`: its waiting time at this node, ms"),
        nullable(
            "signals",
            Kind::Text,
            "header fields of schemes and the congestion mark, `NAME=VALUE` with blanks between; null without any",
        ),
        nullable("reason", Kind::Text, "of `drop`: the reason, as in the document's `drops`"),
        column("count", Kind::U64, "of `timeout`: Interests taken for lost; otherwise 1"),
    ],
};

/// The values of column `what` of [`TRACE`], and their meanings.
pub const TRACE_EVENTS: [(&str, &str); 8] = [
    ("express", "a consumer expresses an Interest"),
    ("send", "the packet begins to leave by a link; on a shared medium it has left, or is given up"),
    ("receive", "it has arrived by a link"),
    ("deliver", "an application gets it: a consumer its Data or Nack, a producer an Interest"),
    ("hit", "the node's content store or simulated cache answers the Interest"),
    ("aggregate", "the Interest is not forwarded, because one of its name is pending"),
    ("drop", "it is thrown away"),
    ("timeout", "a consumer takes Interests for lost"),
];

/// Keys of the metadata of a trace as Parquet, and their values.
pub const TRACE_METADATA: [(&str, &str); 3] = [
    OF_SCHEMA,
    ("weir.command", "the command that makes the run"),
    ("weir.version", "the version that wrote the file"),
];

/// The tables of a run.
pub const TABLES: [Table; 4] = [FLOWS, CLASSES, LINKS, NODES];

/// The version of the tables, in the metadata of every file.
const OF_SCHEMA: (&str, &str) = (
    "weir.schema",
    "the version of the tables; it increases when a column is removed or changes its meaning, not when one is added",
);

/// Keys of the metadata of each file of a run, and their values.
pub const METADATA: [(&str, &str); 10] = [
    OF_SCHEMA,
    ("weir.scenario", "the scenario's name or path"),
    ("weir.title", "its title"),
    ("weir.source", "its source: paper, section, figure"),
    ("weir.scheme", "the scheme's name"),
    ("weir.seed", "the seed"),
    ("weir.set", "the `--set` arguments, a JSON list of texts"),
    ("weir.simulated_s", "simulated time, s"),
    ("weir.step_s", "length of a step, s"),
    ("weir.version", "the version that wrote the file"),
];

// ---- Studies

const KEY: Column = column("key", Kind::Text, "the run's digest, hexadecimal");
const STUDY: Column = column("study", Kind::Text, "the study's name");
const SCENARIO: Column = column("scenario", Kind::Text, "the scenario's name or path");
const SCHEME: Column = column("scheme", Kind::Text, "the scheme's name");
const VARIANT: Column =
    nullable("variant", Kind::Text, "the variant of the scheme's parameters; null for the default");
const SEED: Column = column("seed", Kind::U64, "the seed of all random streams");

/// The figures of all runs of a study, one row for each figure. The columns of the axes follow [`AXES_BEHIND`].
pub const RESULTS: Table = Table {
    name: "results",
    columns: &[
        STUDY,
        SCENARIO,
        SCHEME,
        VARIANT,
        SEED,
        nullable(
            "window",
            Kind::Text,
            "`20:120` for 20 s to 120 s, `run` for the whole run; null for an expectation, whose `object` says it",
        ),
        nullable("from_s", Kind::F64, "beginning of the window, s"),
        nullable("to_s", Kind::F64, "end of the window, s"),
        column("kind", Kind::Text, "what the figure is about: the kind of the object, see below"),
        column(
            "object",
            Kind::Text,
            "which one, see below; if several have the same name, each has its number behind it, such as `C1 /A #2`",
        ),
        nullable("class", Kind::Text, "service class of a flow; null for other objects"),
        nullable(
            "group",
            Kind::Text,
            "group of a flow, the name of its `[[flow]]` table; null for other objects",
        ),
        column("metric", Kind::Text, "the measured quantity, see below"),
        column(
            "unit",
            Kind::Text,
            "unit of the value: `bit/s`, `ms`, `s`, `packets`, `flows`, `hops`, or `1`",
        ),
        nullable("value", Kind::F64, "the value; null if there was nothing to measure"),
        KEY,
    ],
};

/// The runs of a study, one row for each run. The columns of the axes follow [`AXES_BEHIND`].
pub const RUNS: Table = Table {
    name: "runs",
    columns: &[
        KEY,
        STUDY,
        SCENARIO,
        SCHEME,
        VARIANT,
        SEED,
        nullable("version", Kind::Text, "the version of Weir that made the run; null if the run failed"),
        nullable("commit", Kind::Text, "the commit that this version was built from"),
        column(
            "command",
            Kind::Text,
            "the command that makes this run alone; empty if its scenario has no file",
        ),
        nullable("cpu_s", Kind::F64, "processor time that the run took, s"),
        nullable("simulated_s", Kind::F64, "simulated time, s; null if the run failed"),
        nullable("events", Kind::U64, "events handled; null if the run failed"),
        nullable(
            "packet_hops",
            Kind::U64,
            "packets sent on links, counted once for every link; null if the run failed",
        ),
        nullable(
            "seed_matters",
            Kind::Bool,
            "whether the figures depend on the seed; null if the run failed",
        ),
        nullable(
            "expectations_checked",
            Kind::U64,
            "expectations that this run decides, which comparisons with other schemes are not; null if the run failed",
        ),
        nullable("expectations_held", Kind::U64, "those of them that hold; null if the run failed"),
        nullable("error", Kind::Text, "why the run failed; null if it did not"),
    ],
};

/// The figures of the pages that compare schemes, one row for each figure: over all flows of the runs together, as means over the
/// seeds. The repository has it as `docs/data/published.csv`.
pub const PUBLISHED: Table = Table {
    name: "published",
    columns: &[
        column("page", Kind::Text, "the page that shows it: `matrix` or `comparison`"),
        SCENARIO,
        column(
            "point",
            Kind::Text,
            "the `--set` arguments that pick the point of the scenario's axes, such as `axis.delay=5 ms`, several with `; ` \
             between them; empty without axes, and where it is the mean over all points",
        ),
        column("scheme", Kind::Text, "the scheme's name; empty for a figure of the optimum"),
        VARIANT,
        nullable("from_s", Kind::F64, "beginning of the window, s; null over all windows"),
        nullable("to_s", Kind::F64, "end of the window, s; null over all windows"),
        column("metric", Kind::Text, "the measured quantity, see below"),
        column("unit", Kind::Text, "unit of the mean: `bit/s`, `ms`, `s`, `packets`, or `1`"),
        nullable("mean", Kind::F64, "the mean over the seeds; null if there is no value"),
        nullable(
            "ci95",
            Kind::F64,
            "half of its 95 % confidence interval; null if it is not known, or if the page did not show it",
        ),
        nullable("n", Kind::U64, "the number of seeds with a value"),
        nullable("distinct", Kind::U64, "the number of different values among them; null if it is not known"),
        column(
            "never",
            Kind::Bool,
            "of times to settle: whether goodputs settle with no seed; the mean is then that of the times until the \
             windows' ends",
        ),
        nullable("why", Kind::Text, "why there is no value; null if there is one"),
        column("seeds", Kind::Text, "the seeds that were run"),
        column("commit", Kind::Text, "the commit that the program which made it was built from"),
        nullable(
            "golden",
            Kind::Text,
            "digest of the golden figures that the scheme had on the scenario at this commit; null for the optimum",
        ),
    ],
};

/// The metrics of [`PUBLISHED`]: name, unit, and meaning.
pub const PUBLISHED_METRICS: [(&str, &str, &str); 18] = [
    (
        "share_of_optimum",
        "1",
        "weighted: the goodputs of the flows, each up to that in the optimum, divided by the goodput in the optimum",
    ),
    (
        "delay_over_propagation",
        "1",
        "mean delay as a multiple of the propagation delay to the nearest producer and back",
    ),
    ("lost_share", "1", "Data dropped in the network, divided by dropped and delivered Data"),
    (
        "slowdown_mean",
        "1",
        "mean over the requests of random traffic: the completion divided by the time that a request would take alone",
    ),
    ("optimum", "bit/s", "goodput in the optimum, in which consumers of a prefix share each copy of Data"),
    ("optimum_unshared", "bit/s", "the same if they share none"),
    ("goodput", "bit/s", "Data content delivered to the applications"),
    (
        "goodput_ratio",
        "1",
        "mean goodput of the flows, divided by that of the flows with a fixed scheme beside them",
    ),
    ("utilisation", "1", "mean utilisation of the bottleneck links of the optimum"),
    ("jain", "1", "Jain's index, weighted: over each flow's goodput as a part of its goodput in the optimum"),
    (
        "jain_in_class",
        "1",
        "Jain's index over the goodputs of a class, without weights; the mean over the classes by their flows",
    ),
    ("delay_mean", "ms", "mean time from the first transmission of an Interest to its Data"),
    ("delay_p99", "ms", "99th percentile of this delay in the class with the largest one"),
    ("lost", "packets", "Data packets dropped in the network"),
    ("retransmitted", "packets", "retransmitted Interests"),
    ("completion_mean", "s", "mean completion time of the flows, over the seeds in which all completed"),
    ("completion", "s", "completion time of the last flow, over the same seeds"),
    ("settle", "s", "from the last change until the goodputs stay within 5 % of their final values"),
];

/// The tables of a study.
pub const STUDY_TABLES: [Table; 2] = [RESULTS, RUNS];

/// The column of both tables of a study that precedes the columns of its axes.
pub const AXES_BEHIND: &str = "variant";

/// The column of an axis.
pub fn axis(name: &str) -> Column {
    let about = "value of the axis, as it was given; null if the run has none";
    Column { name: Cow::Owned(name.to_owned()), ..nullable("", Kind::Text, about) }
}

/// The column of an axis with its values as numbers of `unit`.
pub fn axis_number(name: &str, unit: &str) -> Column {
    let about = "value of the axis as a number; null if the run has none";
    Column { name: Cow::Owned(format!("{name}.{unit}")), ..nullable("", Kind::F64, about) }
}

/// Keys of the metadata of each file of a study, and their values.
pub const STUDY_METADATA: [(&str, &str); 3] = [
    OF_SCHEMA,
    ("weir.study", "the study's name"),
    (
        "weir.axes",
        "the columns of its axes in order, a JSON list of `{\"text\": NAME, \"number\": NAME or null}`",
    ),
];

/// The kind of object of a study's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// One consumer fetching under one prefix.
    Flow,
    /// The flows of one `[[flow]]` table.
    Group,
    /// The flows of one service class.
    Class,
    /// One direction of a link.
    Link,
    /// One node.
    Node,
    /// The requests of a group for objects of some sizes.
    Requests,
    /// All flows of the run.
    Run,
    /// A statement of the scenario's source.
    Expectation,
}

impl Object {
    /// Every kind of object with its name in column `kind`, and the content of column `object`.
    pub const ALL: [(Object, &'static str, &'static str); 8] = [
        (Object::Flow, "flow", "consumer and prefix, such as `C1 /A`"),
        (Object::Group, "group", "name of the group"),
        (Object::Class, "class", "name of the class, such as `EF`"),
        (Object::Link, "link", "the sending and the receiving node, such as `R2->R3`"),
        (Object::Node, "node", "name of the node"),
        (Object::Requests, "requests", "name of the group and the Data of the objects, such as `web 10-99`"),
        (Object::Run, "run", "`run`: all flows together"),
        (Object::Expectation, "expectation", "the measured quantity in words, with its window"),
    ];

    /// Its name in column `kind`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// A measured quantity of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in column `metric`.
    pub name: &'static str,
    /// The unit of its values; `None` for an expectation, whose values have the unit of their quantity.
    pub unit: Option<&'static str>,
    /// The kinds of objects that have it.
    pub of: &'static [Object],
    /// Its meaning.
    pub about: &'static str,
}

/// The metrics of column `metric`.
pub mod metric {
    use super::{Metric, Object};

    const TRAFFIC: &[Object] = &[Object::Flow, Object::Group, Object::Class];
    const TOGETHER: &[Object] = &[Object::Group, Object::Class];
    const FLOW: &[Object] = &[Object::Flow];
    const LINK: &[Object] = &[Object::Link];
    const NODE: &[Object] = &[Object::Node];
    const REQUESTS: &[Object] = &[Object::Requests];
    const RUN: &[Object] = &[Object::Run];
    const EXPECTATION: &[Object] = &[Object::Expectation];

    macro_rules! metrics {
        ($($constant:ident = $name:literal, $unit:expr, $of:expr, $about:literal;)*) => {
            $(
                #[doc = $about]
                pub const $constant: Metric = Metric { name: $name, unit: $unit, of: $of, about: $about };
            )*
            /// All metrics.
            pub const ALL: &[Metric] = &[$($constant),*];
        };
    }

    metrics! {
        GOODPUT = "goodput", Some("bit/s"), &[Object::Flow, Object::Group, Object::Class, Object::Run],
            "Data content delivered to the applications";
        DELAY_MEAN = "delay_mean", Some("ms"), TRAFFIC,
            "mean time from the first transmission of an Interest to its Data";
        DELAY_P50 = "delay_p50", Some("ms"), TRAFFIC, "median of this delay";
        DELAY_P95 = "delay_p95", Some("ms"), TRAFFIC, "95th percentile of this delay";
        DELAY_P99 = "delay_p99", Some("ms"), TRAFFIC, "99th percentile of this delay";
        LOST = "lost", Some("packets"), TRAFFIC, "Data packets dropped in the network";
        RETRANSMITTED = "retransmitted", Some("packets"), TRAFFIC, "retransmitted Interests";
        TIMEOUTS = "timeouts", Some("packets"), TRAFFIC, "Interests taken for lost, after a timeout or earlier";
        COMPLETION = "completion", Some("s"), TRAFFIC,
            "from the start of the flow to its last Data; of several flows, the last completion; null unless all completed";
        COMPLETION_MEAN = "completion_mean", Some("s"), TOGETHER,
            "mean completion time of the flows; null unless all completed";
        OPTIMUM = "optimum", Some("bit/s"), FLOW,
            "goodput of the flow in the optimum; no row if the optimum is not known";
        OPTIMUM_UNSHARED = "optimum_unshared", Some("bit/s"), FLOW,
            "the same if no consumers shared Data; no row if no two consumers of a prefix have links in common";
        RATE = "rate", Some("bit/s"), LINK, "rate of the link";
        UTILISATION = "utilisation", Some("1"), LINK, "share of time in which it was sending";
        DROPS = "drops", Some("packets"), LINK, "packets dropped at its queue";
        LOST_AT_RANDOM = "lost_at_random", Some("packets"), LINK, "packets that the link lost at random";
        DOWN = "down", Some("packets"), LINK, "packets dropped because the link was down";
        QUEUE_MEAN = "queue_mean", Some("ms"), LINK, "mean queueing delay";
        QUEUE_P99 = "queue_p99", Some("ms"), LINK, "99th percentile of the queueing delay";
        HOPS_MEAN = "hops_mean", Some("hops"), TRAFFIC,
            "mean number of links that a Data crossed from the producer or the store that gave it; no row in a world that does not know it";
        CACHE_HITS = "cache_hits", Some("packets"), NODE, "Interests that the node's stores answered";
        CACHE_MISSES = "cache_misses", Some("packets"), NODE, "Interests that the node's stores did not answer";
        CACHE_INSERTIONS = "cache_insertions", Some("packets"), NODE, "Data that were stored and were not stored before";
        CACHE_EVICTIONS = "cache_evictions", Some("packets"), NODE, "Data evicted to make room for others";
        CACHE_HIT_RATIO = "cache_hit_ratio", Some("1"), NODE,
            "part of the Interests looked up that were answered; null without any";
        PIT_MEAN = "pit_mean", Some("packets"), NODE, "mean number of pending Interests";
        PIT_MAX = "pit_max", Some("packets"), NODE, "largest number of Interests that were pending at once";
        NODE_DROPS = "node_drops", Some("packets"), NODE, "packets that the node dropped, for any reason";
        CAME = "came", Some("requests"), REQUESTS, "requests that arrived";
        COMPLETED = "completed", Some("requests"), REQUESTS, "those of them that were complete at the end of the run";
        REQUEST_MEAN = "request_mean", Some("ms"), REQUESTS, "mean completion time of requests";
        REQUEST_P99 = "request_p99", Some("ms"), REQUESTS, "99th percentile of it";
        SLOWDOWN_MEAN = "slowdown_mean", Some("1"), REQUESTS,
            "mean of the completion time over the time that the request would take alone";
        SLOWDOWN_P99 = "slowdown_p99", Some("1"), REQUESTS, "99th percentile of it";
        IDEAL_SLOWDOWN_MEAN = "ideal_slowdown_mean", Some("1"), REQUESTS,
            "mean slowdown if links were shared ideally; no row if it is not known";
        IDEAL_SLOWDOWN_P99 = "ideal_slowdown_p99", Some("1"), REQUESTS, "99th percentile of it";
        JAIN = "jain", Some("1"), &[Object::Group, Object::Class, Object::Run],
            "Jain's index over the goodputs of the flows, without weights; of a group or a class null with fewer than two that take part";
        WEIGHTED_JAIN = "weighted_jain", Some("1"), RUN,
            "Jain's index over the goodput of each flow as a part of its goodput in the optimum, which divides by weights of classes; no row if the optimum is not known";
        THROWN_AWAY = "thrown_away", Some("1"), RUN,
            "part of the Data that was thrown away, for any reason; only for the whole run";
        DISTANCE_MEAN = "distance_mean", Some("1"), RUN,
            "mean distance of the flows from the optimum, without its sign; no row if the optimum is not known";
        DISTANCE_LARGEST = "distance_largest", Some("1"), RUN, "the largest of these distances";
        DISTANCE_LOWEST = "distance_lowest", Some("1"), RUN,
            "the distance, with its sign, of the flow furthest below its optimum, or else least above it";
        DISTANCE_HIGHEST = "distance_highest", Some("1"), RUN,
            "the distance, with its sign, of the flow furthest above its optimum, or else least below it";
        TARGET_DISTANCE_MEAN = "target_distance_mean", Some("1"), RUN,
            "mean distance of the flows from the target of the scheme, without its sign; no row if it aims for all of the links";
        WITHIN_5_PERCENT = "within_5_percent", Some("1"), RUN,
            "share of the flows that are within 5 % of the optimum";
        MEASURED = "measured", None, EXPECTATION,
            "the measured value; null if there was nothing to measure, or if a goodput did not settle";
        UNSETTLED = "unsettled", None, EXPECTATION,
            "the time for which a goodput did not settle, up to the end of the window; no row if it did";
        STATED = "stated", None, EXPECTATION, "the stated value; null for a comparison with other schemes";
        HOLDS = "holds", Some("1"), EXPECTATION,
            "1 if the two are in the stated relation, 0 if not; null for a comparison with other schemes";
    }
}
