//! The table of all keys of the forwarder's file, with their defaults. The reference and the commented default file
//! are generated from it.

use weir_document::{Format, Key, NONE, REQUIRED, Section, Shape};

/// The format of the forwarder's file.
pub(crate) const FORMAT: Format = Format { sections: SECTIONS, keys: KEYS, find, of, list: "face" };

/// The keys that every table of faces has, as a table of its own.
pub(crate) const SHARED: &str = "faces.*";

/// The tables of which there may be several.
pub(crate) const LISTS: &[&str] = &["face", "route", "strategy"];

const ADDRESSES: Shape = Shape::TextsOf(
    "address and port",
    "an address with its port, such as \"192.0.2.1:6363\" or \"[::]:6363\"",
);
const INTERFACES: Shape = Shape::TextsOf("interface", "the name of a network interface, such as \"eth0\"");
const PREFIX: Shape = Shape::TextOf("name prefix", "a name prefix, such as \"/video\"");
const PATH: Shape = Shape::TextOf("path", "the path of a file");
const MAX: i64 = i64::MAX;
/// Entries of a table are counted in 32 bits.
const ENTRIES: Shape = Shape::Whole(1, 1 << 30);

const fn section(name: &'static str, written: &'static str, meaning: &'static str) -> Section {
    Section { name, written, address: "", meaning }
}

const fn key(
    table: &'static str,
    key: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key { table, key, shape, default, settable: false, meaning }
}

/// Every table, in the order of the reference.
const SECTIONS: &[Section] = &[
    section("faces.unix", "[faces.unix]", "The socket of this host's applications."),
    section(
        "faces.udp",
        "[faces.udp]",
        "The addresses of UDP. A peer that sends a first packet gets its own face.",
    ),
    section("faces.tcp", "[faces.tcp]", "The addresses of TCP, to which peers connect."),
    section(
        "faces.websocket",
        "[faces.websocket]",
        "The addresses of WebSocket, to which browsers connect, with any path. Pages on this host are applications; pages on other hosts are neighbours.",
    ),
    section(
        "faces.multicast",
        "[faces.multicast]",
        "Groups of UDP multicast: a face for each interface and group.",
    ),
    section(
        "faces.ethernet",
        "[faces.ethernet]",
        "NDN in Ethernet frames: a face to the group on each interface. A face to one host is a `[[face]]`, at both ends.",
    ),
    section(
        SHARED,
        "[faces.KIND], [[face]]",
        "Keys of every table of faces. In `[faces.KIND]` they apply to all faces of the kind, also to those that peers and management create; in `[[face]]` to that face. A connection from this host, by Unix socket or loopback, is an application: it has no link, and rates do not apply. A `[[face]]`, or `weir face create`, to loopback is a link.",
    ),
    section("face", "[[face]]", "A face that exists from the start. Its URI determines its kind."),
    section("route", "[[route]]", "A route: a prefix and the face that leads to it."),
    section(
        "strategy",
        "[[strategy]]",
        "The strategy for the names under a prefix; the longest prefix applies. By default, `/` has the scheme's strategy.",
    ),
    section(
        "scheme",
        "[scheme]",
        "The scheme: the queues of all faces, and the default strategy. Its parameters are in `[scheme.NAME]`, as in a scenario. The parameters of schemes that do not run are also checked.",
    ),
    section(
        "tables",
        "[tables]",
        "Limits of the forwarder's tables. Packets from strangers cannot exceed them.",
    ),
    section("management", "[management]", "Commands of the NFD management protocol."),
    section("metrics", "[metrics]", "Figures for Prometheus, at `/metrics`."),
    section("capture", "[capture]", "All frames, written to a file that Wireshark reads."),
    section("record", "[record]", "All inputs of the node, written to a file for `weir replay`."),
    section("log", "[log]", "Messages on standard error."),
];

/// Every key.
const KEYS: &[Key] = &[
    // faces.unix
    key("faces.unix", "enabled", Shape::Switch, "true", "Whether the forwarder opens this socket."),
    key(
        "faces.unix",
        "path",
        PATH,
        "/run/nfd/nfd.sock",
        "The path of the socket. Applications look for the default.",
    ),
    key(
        "faces.unix",
        "mode",
        Shape::TextOf("file mode", "a file mode in octal, such as \"0660\""),
        "0666",
        "The permissions of the socket. By default every user of this host may connect, as with NFD; `[management]` says what they may do. Users can also connect by TCP, UDP and WebSocket on the loopback address. To prevent that, empty those lists too.",
    ),
    // faces.udp
    key("faces.udp", "listen", ADDRESSES, "[\"127.0.0.1:6363\"]", "Addresses; an empty list: none."),
    key(
        "faces.udp",
        "kernel_buffer",
        Shape::Size,
        "4 MiB",
        "Kernel buffer of a socket in each direction. It may exceed the system's limit only if the forwarder has the right to do so. `0 B`: the system's default.",
    ),
    key(
        "faces.udp",
        "idle_timeout",
        Shape::SpanFrom(1000),
        "10 min",
        "A face that a peer created is closed after this time without a packet.",
    ),
    // faces.tcp
    key("faces.tcp", "listen", ADDRESSES, "[\"127.0.0.1:6363\"]", "Addresses; an empty list: none."),
    // faces.websocket
    key("faces.websocket", "listen", ADDRESSES, "[]", "Addresses, usually with port 9696; by default none."),
    // faces.multicast
    key("faces.multicast", "interfaces", INTERFACES, "[]", "Interfaces; by default none."),
    key(
        "faces.multicast",
        "group_ipv4",
        Shape::TextOf(
            "address and port",
            "a multicast address with its port, such as \"224.0.23.170:56363\"",
        ),
        "224.0.23.170:56363",
        "The group on interfaces with an IPv4 address.",
    ),
    key(
        "faces.multicast",
        "group_ipv6",
        Shape::TextOf(
            "address and port",
            "a multicast address with its port, such as \"[ff02::1234]:56363\"",
        ),
        "[ff02::1234]:56363",
        "The group on interfaces with an IPv6 address.",
    ),
    // faces.ethernet
    key("faces.ethernet", "interfaces", INTERFACES, "[]", "Interfaces; by default none."),
    key(
        "faces.ethernet",
        "group",
        Shape::TextOf("Ethernet address", "an Ethernet group address, such as \"01:00:5e:00:17:aa\""),
        "01:00:5e:00:17:aa",
        "The group.",
    ),
    key(
        "faces.ethernet",
        "idle_timeout",
        Shape::SpanFrom(1000),
        "10 min",
        "A face that a peer created is closed after this time without a packet.",
    ),
    // faces.*
    key(
        SHARED,
        "rate",
        Shape::Rate,
        NONE,
        "Rate of outgoing frames, without headers of UDP, TCP, IP and Ethernet. Without a rate, frames leave as fast as the socket accepts them, and a scheme that divides rates cannot work.",
    ),
    key(
        SHARED,
        "receive_rate",
        Shape::Rate,
        NONE,
        "Rate at which the other end of the link sends; by default `rate`.",
    ),
    key(SHARED, "queue", Shape::Limit, "1000", "Limit of the face's queue."),
    key(
        SHARED,
        "mtu",
        Shape::Size,
        NONE,
        "Largest frame, from 256 B to 65507 B; longer packets are fragmented. The default is 8800 B on UDP over IPv4, 1400 B over IPv6, the interface's MTU on Ethernet, and no limit on streams.",
    ),
    key(
        SHARED,
        "reliability",
        Shape::Switch,
        "false",
        "Whether NDNLPv2 link reliability retransmits lost frames; the peer must support it too. Retransmissions do not count in `rate`.",
    ),
    key(
        SHARED,
        "congestion_marking",
        Shape::Switch,
        "true",
        "Whether packets get a congestion mark while the queue is long.",
    ),
    key(
        SHARED,
        "marking_threshold",
        Shape::Size,
        "65536 B",
        "The queue length above which packets are marked.",
    ),
    key(
        SHARED,
        "marking_interval",
        Shape::SpanFrom(1),
        "100 ms",
        "How long the queue must stay above the threshold before the first mark; also the time from the first mark to the second.",
    ),
    key(
        SHARED,
        "trust",
        Shape::Choice(&["known", "all", "none"]),
        "known",
        "Whose service classes and signals are believed. `known`: those of each `[[face]]`, of faces that management creates, and of applications with rights (`[management]`). Others are best effort, and lose the signals that only routers say: peers that connect or send a first packet, members of a group, other applications of this host. `all`: also theirs. `none`: nobody's.",
    ),
    key(
        SHARED,
        "classes",
        Shape::Map,
        NONE,
        "Rules for service classes, over `trust`. The value for a class is `\"keep\"`, `\"refuse\"`, the class that its Interests get instead, such as `\"BE\"`, or the rate up to which it is believed, such as `\"1 Mb/s\"`. The rate is that of the Data which leave by the face for Interests that then are in the class. Interests beyond it are best effort; beyond a rate of BE they are dropped.",
    ),
    key(
        SHARED,
        "share_by",
        Shape::Choice(&["face", "flow"]),
        NONE,
        "Who shares links, if the scheme divides them among flows. `flow`: each flow that comes from the face has a share, as in the scheme's paper. `face`: they have together what one flow has, and faces of strangers with one IPv4 address, or in one /64 of IPv6, count as one face. The default is `flow` for a `[[face]]` and for what `weir face create` makes, and `face` for applications, strangers and groups.",
    ),
    // face
    key("face", "name", Shape::Text, NONE, "Its name for routes; without a name, routes use `remote`."),
    key(
        "face",
        "remote",
        Shape::TextOf("face URI", "a face URI, such as \"udp4://192.0.2.1:6363\""),
        REQUIRED,
        "The remote URI: `udp://`, `udp4://`, `udp6://`, `tcp://`, `tcp4://`, `tcp6://` with host and port, or \
         `ether://[08:00:27:01:02:03]`.",
    ),
    key(
        "face",
        "local",
        Shape::TextOf("face URI", "a face URI, such as \"udp4://192.0.2.7:6363\" or \"dev://eth0\""),
        NONE,
        "The local URI; only an Ethernet face needs it: `dev://eth0`.",
    ),
    key(
        "face",
        "persistency",
        Shape::Choice(&["permanent", "persistent"]),
        "permanent",
        "After a failure a permanent face connects again; a persistent face is removed. Until it is connected, a face is down, and Interests take other next hops.",
    ),
    key(
        "face",
        "scheme",
        Shape::Map,
        NONE,
        "Parameters of the scheme's queue of this face; they override those of `[scheme.NAME]`.",
    ),
    // route
    key("route", "prefix", PREFIX, REQUIRED, "The prefix."),
    key(
        "route",
        "face",
        Shape::TextOf("face", "the name or the remote URI of a [[face]]"),
        REQUIRED,
        "The `name` or `remote` of a `[[face]]`; or a group, such as `\"multicast/eth0\"` or `\"ethernet/eth0\"`.",
    ),
    key("route", "cost", Shape::Whole(0, MAX), "0", "The cheapest next hop comes first."),
    key(
        "route",
        "child_inherit",
        Shape::Switch,
        "true",
        "Whether longer prefixes with their own routes also use this route.",
    ),
    key(
        "route",
        "capture",
        Shape::Switch,
        "false",
        "Whether this prefix and longer ones ignore routes of shorter prefixes.",
    ),
    // strategy
    key("strategy", "prefix", PREFIX, REQUIRED, "The prefix."),
    key(
        "strategy",
        "strategy",
        Shape::Text,
        REQUIRED,
        "`best-route`, `multicast`, or a scheme; also a full name such as `/localhost/nfd/strategy/best-route`.",
    ),
    // scheme
    key(
        "scheme",
        "name",
        Shape::Text,
        weir_schemes::PLAIN,
        "The scheme's name. In a forwarder `fixed` has only drop-tail queues and best route.",
    ),
    // tables
    key(
        "tables",
        "faces",
        Shape::Whole(1, 1 << 20),
        "4096",
        "Faces, of all kinds. The last eighth is reserved for this host's applications and for faces that management creates. When the rest is full, a new UDP peer replaces the peer that has been silent longest, if that is at least 4 s.",
    ),
    key(
        "tables",
        "pit_bytes",
        Shape::Size,
        "512 MB",
        "Memory of pending Interests, from 16 kB: about 368 B for one with a short name. Faces share it. When it is full, the face that has most loses the Interest that has been pending longest.",
    ),
    key(
        "tables",
        "longest_lifetime",
        Shape::SpanFrom(1000),
        "60 s",
        "How long an Interest of a neighbour is pending at most, up to 300 s; longer lifetimes count as this. For applications of this host it is 300 s.",
    ),
    key(
        "tables",
        "fib_entries",
        ENTRIES,
        "1048576",
        "Prefixes with routes; also the limit of prefixes with strategies.",
    ),
    key(
        "tables",
        "dead_nonces",
        ENTRIES,
        "65536",
        "Nonces of Interests that are no longer pending, for loop detection; and as many faces that were asked and may still answer.",
    ),
    key(
        "tables",
        "reforward_after",
        Shape::SpanFrom(0),
        "0 ms",
        "Time after which an Interest for a pending one is forwarded again, whoever sent it; it doubles with each transmission, up to 250 ms. NFD has 10 ms. 0: Interests of other faces wait for the Data, and the strategy decides when to forward a repeated one.",
    ),
    key(
        "tables",
        "content_store_packets",
        Shape::Whole(0, 1 << 30),
        "65536",
        "Data packets in the content store; 0: no content store.",
    ),
    key(
        "tables",
        "content_store_bytes",
        Shape::Size,
        "256 MB",
        "Their memory, all included: about 0.8 kB for each Data beside its bytes, 60 B for each component of its name, and more for names of more than four components or 40 bytes.",
    ),
    key(
        "tables",
        "content_store_policy",
        Shape::Choice(&["lru", "fifo"]),
        "lru",
        "The Data that a full content store evicts: the least recently used, or the oldest.",
    ),
    key(
        "tables",
        "reassembly_bytes",
        Shape::Size,
        "256 KiB",
        "Fragments of incomplete packets, for each face.",
    ),
    // management
    key(
        "management",
        "enabled",
        Shape::Switch,
        "true",
        "Whether the forwarder accepts commands. Without them no application can register a prefix.",
    ),
    key(
        "management",
        "local",
        Shape::Choice(&["any", "trusted"]),
        "any",
        "Which commands from this host are accepted: all that rights allow, or only those signed with one of `trusted_keys`. The commands of `weir` are not signed: with `trusted` they can only show.",
    ),
    key(
        "management",
        "localhop",
        Shape::Switch,
        "false",
        "Whether neighbours may register prefixes, under `/localhop/nfd`, with commands signed by one of `trusted_keys`.",
    ),
    key(
        "management",
        "trusted_keys",
        Shape::TextsOf("path", "the path of a certificate"),
        "[]",
        "Files with certificates. A command from this host that is signed with one of their keys has rights, whoever sends it. If `localhop` is on, neighbours register prefixes with these keys.",
    ),
    key(
        "management",
        "applications",
        Shape::Choice(&["register", "show", "all"]),
        "register",
        "What applications of this host without rights may do. `show`: read the status. `register`: also register and unregister prefixes for their own faces, if nobody else has the prefix or a longer one, and no other application a shorter one. `all`: everything, as with NFD. Those with rights may do everything: root, the user who runs the forwarder, `users`, `groups`, and who signs with one of `trusted_keys`.",
    ),
    key(
        "management",
        "registrations",
        Shape::Whole(1, 1 << 20),
        "1000",
        "Registrations of one user without rights. All applications on TCP, UDP and WebSocket together count as one user.",
    ),
    key(
        "management",
        "users",
        Shape::TextsOf("user", "the name or number of a user"),
        "[]",
        "Users of this host with rights, beside root and the user who runs the forwarder. They are known by the Unix socket.",
    ),
    key(
        "management",
        "groups",
        Shape::TextsOf("group", "the name or number of a group"),
        "[]",
        "Groups whose members have rights. Members are looked up at the start.",
    ),
    key(
        "management",
        "loopback",
        Shape::Switch,
        "false",
        "Whether applications of this host that connect by TCP, UDP or WebSocket have rights. Nobody knows their users.",
    ),
    // metrics
    key(
        "metrics",
        "listen",
        Shape::TextOf("address and port", "an address with its port, such as \"127.0.0.1:9363\""),
        NONE,
        "The address of the HTTP server; by default none.",
    ),
    // capture
    key(
        "capture",
        "path",
        PATH,
        NONE,
        "The file; by default no capture. An existing file is renamed to `PATH.1`.",
    ),
    key(
        "capture",
        "limit",
        Shape::Size,
        "1 GB",
        "A file of this size is renamed to `PATH.1`, which replaces the previous one, and a new file begins.",
    ),
    // record
    key(
        "record",
        "path",
        PATH,
        NONE,
        "The file; by default no recording. An existing file is renamed to `PATH.1`.",
    ),
    key("record", "limit", Shape::Size, "1 GB", "The recording ends at this size."),
    // log
    key(
        "log",
        "level",
        Shape::Choice(&["error", "warn", "info", "debug", "trace"]),
        "info",
        "The verbosity.",
    ),
    key(
        "log",
        "format",
        Shape::Choice(&["text", "json"]),
        "text",
        "Text for people, or one JSON object a line.",
    ),
];

/// Whether a table has the shared keys.
fn shares(table: &str) -> bool {
    table == "face" || table.starts_with("faces.")
}

fn find(table: &str, key: &str) -> Option<&'static Key> {
    let in_table = |table: &str| KEYS.iter().find(|k| k.table == table && k.key == key);
    in_table(table).or_else(|| shares(table).then(|| in_table(SHARED)).flatten())
}

fn of(table: &str) -> Vec<&'static Key> {
    let own = KEYS.iter().filter(|k| k.table == table);
    let shared = KEYS.iter().filter(|k| k.table == SHARED && shares(table) && table != SHARED);
    own.chain(shared).collect()
}
