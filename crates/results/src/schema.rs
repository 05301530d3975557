//! The tables of a run, their columns and units: the only definition of the files' content.
//!
//! One row a step and flow (class, direction of a link), all steps of one after the other. Each
//! file carries the facts of its run as key-value metadata, see [`METADATA`].

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit float.
    F64,
    /// 32-bit float.
    F32,
    /// 32-bit float, null where there is no sample.
    F32OrNull,
    /// Unsigned 32-bit integer.
    U32,
    /// UTF-8.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit where it has one.
    pub name: &'static str,
    /// How it is stored.
    pub kind: Kind,
    /// What it says.
    pub about: &'static str,
}

/// A table, one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its file's name without `.parquet`.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, about }
}

const T_S: Column = column("t_s", Kind::F64, "beginning of the step, s");
const CLASS: Column = column("class", Kind::Text, "service class");
const GOODPUT: Column = column("goodput_bps", Kind::F32, "Data content delivered to the application, bit/s");
const DELAY: Column =
    column("delay_ms", Kind::F32OrNull, "mean from the first transmission of an Interest to its Data, ms");
const LOST: Column = column("lost", Kind::U32, "Data packets dropped in the network");
const RETRANSMITTED: Column = column("retransmitted", Kind::U32, "Retransmitted Interests");

/// Each flow over time.
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
        column("sent_rate", Kind::F32OrNull, "Interests sent, 1/s; null if not recorded"),
    ],
};

/// Each class over time: its flows summed.
pub const CLASSES: Table =
    Table { name: "classes", columns: &[T_S, CLASS, GOODPUT, DELAY, LOST, RETRANSMITTED] };

/// Each direction of each link over time.
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
        column("queue_ms", Kind::F32OrNull, "mean queueing delay of the packets sent, ms"),
        column("drops", Kind::U32, "packets dropped at its queue"),
    ],
};

/// All tables.
pub const TABLES: [Table; 3] = [FLOWS, CLASSES, LINKS];

/// Keys of each file's metadata and what they hold.
pub const METADATA: [(&str, &str); 9] = [
    ("weir.scenario", "the scenario's name or path"),
    ("weir.title", "its title"),
    ("weir.source", "where it comes from"),
    ("weir.scheme", "the scheme's name"),
    ("weir.seed", "the seed"),
    ("weir.set", "the `--set` arguments, a JSON list of texts"),
    ("weir.simulated_s", "simulated time, s"),
    ("weir.step_s", "length of a step, s"),
    ("weir.version", "the version that wrote the file"),
];
