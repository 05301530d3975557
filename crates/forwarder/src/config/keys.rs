//! The one table of keys: what the forwarder's file may say, and the defaults. The reference and the
//! commented default file are generated from it.

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
        "Where peers are heard on UDP. A peer that speaks first gets a face of its own.",
    ),
    section("faces.tcp", "[faces.tcp]", "Where peers may connect by TCP."),
    section(
        "faces.websocket",
        "[faces.websocket]",
        "Where browsers may connect by WebSocket, whatever the path. Pages of this host are its applications, pages of others are neighbours.",
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
        "What every table of faces may say. In `[faces.KIND]` it is about all faces of the kind, also those that \
         peers and management make; in `[[face]]` about that one. Who comes from this host itself, by Unix or loopback, is taken \
         for an application: there is no link, and rates do not count. A `[[face]]`, or `weir face create`, to loopback is a link.",
    ),
    section("face", "[[face]]", "A face that is there from the start. Its kind is that of its URI."),
    section("route", "[[route]]", "A prefix that is to be found by a face."),
    section(
        "strategy",
        "[[strategy]]",
        "The strategy for the names under a prefix; the longest prefix counts. Without one for `/`, the scheme's.",
    ),
    section(
        "scheme",
        "[scheme]",
        "The scheme: the queues in front of all faces, and the strategy where no other is chosen. Its parameters \
         stand in `[scheme.NAME]`, as in a scenario; those of schemes that do not run are checked too.",
    ),
    section("tables", "[tables]", "How much the forwarder keeps: what strangers send cannot make it more."),
    section("management", "[management]", "Commands by the NFD management protocol."),
    section("metrics", "[metrics]", "Figures for Prometheus, at `/metrics`."),
    section("capture", "[capture]", "All frames, written to a file that Wireshark reads."),
    section(
        "record",
        "[record]",
        "All that the node is told, written to a file that `weir replay` runs again.",
    ),
    section("log", "[log]", "Messages on standard error."),
];

/// Every key.
const KEYS: &[Key] = &[
    // faces.unix
    key("faces.unix", "enabled", Shape::Switch, "true", "Whether there is such a socket."),
    key("faces.unix", "path", PATH, "/run/nfd/nfd.sock", "Where it is; applications look there."),
    key(
        "faces.unix",
        "mode",
        Shape::TextOf("file mode", "a file mode in octal, such as \"0660\""),
        "0666",
        "Who may connect, and so also command the forwarder; without it everybody on this host, as with NFD. Who may not \
         connect here still may by TCP, UDP and WebSocket on the loopback address, which counts as this host: empty those \
         lists too, or have commands signed (`local` of `[management]`).",
    ),
    // faces.udp
    key("faces.udp", "listen", ADDRESSES, "[\"127.0.0.1:6363\"]", "Addresses; an empty list: none."),
    key(
        "faces.udp",
        "kernel_buffer",
        Shape::Size,
        "4 MiB",
        "What the kernel is asked to keep for a socket in either direction while the forwarder is not run: beyond the \
         system's bound where it may, else up to it. `0 B`: the system's default.",
    ),
    key(
        "faces.udp",
        "idle_timeout",
        Shape::SpanFrom(1000),
        "10 min",
        "A face that a peer made is closed when nothing has come for so long.",
    ),
    // faces.tcp
    key("faces.tcp", "listen", ADDRESSES, "[\"127.0.0.1:6363\"]", "Addresses; an empty list: none."),
    // faces.websocket
    key("faces.websocket", "listen", ADDRESSES, "[]", "Addresses, usually with port 9696; without it none."),
    // faces.multicast
    key("faces.multicast", "interfaces", INTERFACES, "[]", "Interfaces; without it none."),
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
    key("faces.ethernet", "interfaces", INTERFACES, "[]", "Interfaces; without it none."),
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
        "A face that a peer made is closed when nothing has come for so long.",
    ),
    // faces.*
    key(
        SHARED,
        "rate",
        Shape::Rate,
        NONE,
        "Rate at which frames leave; headers of UDP, TCP, IP and Ethernet are not counted. Without it they leave as \
         fast as the socket takes them, and a scheme that divides rates has none to divide.",
    ),
    key(
        SHARED,
        "receive_rate",
        Shape::Rate,
        NONE,
        "Rate at which the other end of the link sends; without it as `rate`.",
    ),
    key(SHARED, "queue", Shape::Limit, "1000", "What may wait in front of the face."),
    key(
        SHARED,
        "mtu",
        Shape::Size,
        NONE,
        "Largest frame, from 256 B to 65507 B; longer packets go in fragments. Without it 8800 B on UDP over IPv4, 1400 B \
         over IPv6, that of the interface on Ethernet, and no bound on streams.",
    ),
    key(
        SHARED,
        "reliability",
        Shape::Switch,
        "false",
        "Whether lost frames are sent again by NDNLPv2 link reliability; the peer has to do it too. What is sent again is not \
         counted in `rate`.",
    ),
    key(
        SHARED,
        "congestion_marking",
        Shape::Switch,
        "true",
        "Whether packets get a congestion mark while much waits.",
    ),
    key(SHARED, "marking_threshold", Shape::Size, "65536 B", "How much has to wait for that."),
    key(
        SHARED,
        "marking_interval",
        Shape::SpanFrom(1),
        "100 ms",
        "For how long, and the time from the first mark to the second.",
    ),
    // face
    key("face", "name", Shape::Text, NONE, "What routes call it; without it they use `remote`."),
    key(
        "face",
        "remote",
        Shape::TextOf("face URI", "a face URI, such as \"udp4://192.0.2.1:6363\""),
        REQUIRED,
        "The other end: `udp://`, `udp4://`, `udp6://`, `tcp://`, `tcp4://`, `tcp6://` with host and port, or \
         `ether://[08:00:27:01:02:03]`.",
    ),
    key(
        "face",
        "local",
        Shape::TextOf("face URI", "a face URI, such as \"udp4://192.0.2.7:6363\" or \"dev://eth0\""),
        NONE,
        "This end, if it matters; an Ethernet face needs it: `dev://eth0`.",
    ),
    key(
        "face",
        "persistency",
        Shape::Choice(&["permanent", "persistent"]),
        "permanent",
        "After a failure a permanent face connects again; a persistent one is gone. Until it is connected a face is down, and \
         Interests take other next hops.",
    ),
    key(
        "face",
        "scheme",
        Shape::Map,
        NONE,
        "Parameters for the scheme's queue of this face, over those of `[scheme.NAME]`.",
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
        "Whether longer prefixes with routes of their own have it too.",
    ),
    key(
        "route",
        "capture",
        Shape::Switch,
        "false",
        "Whether routes of shorter prefixes are left out below this one.",
    ),
    // strategy
    key("strategy", "prefix", PREFIX, REQUIRED, "The prefix."),
    key(
        "strategy",
        "strategy",
        Shape::Text,
        REQUIRED,
        "`best-route`, `multicast`, or a scheme; also as a name, `/localhost/nfd/strategy/best-route`.",
    ),
    // scheme
    key(
        "scheme",
        "name",
        Shape::Text,
        weir_schemes::PLAIN,
        "Its name; `fixed` does nothing of its own in a forwarder: drop-tail queues and best route.",
    ),
    // tables
    key(
        "tables",
        "faces",
        Shape::Whole(1, 1 << 20),
        "4096",
        "Faces, of all kinds. The last eighth is kept for this host's applications and for faces that are asked for; \
         when the rest is full, a new peer on UDP replaces the one that has been silent longest, if for 4 s at least.",
    ),
    key("tables", "pit_entries", ENTRIES, "1048576", "Pending Interests."),
    key("tables", "fib_entries", ENTRIES, "1048576", "Prefixes with routes, and so many with strategies."),
    key(
        "tables",
        "dead_nonces",
        ENTRIES,
        "65536",
        "Nonces of Interests that are no longer pending, against loops.",
    ),
    key(
        "tables",
        "reforward_after",
        Shape::SpanFrom(0),
        "0 ms",
        "After how long an Interest for one that is pending is sent on again, whoever it comes from; doubled with each \
         sending, up to 250 ms. NFD has 10 ms. 0: Interests of other faces wait for the Data, and the strategy says when a \
         repeated one is sent on.",
    ),
    key(
        "tables",
        "content_store_packets",
        Shape::Whole(0, 1 << 30),
        "65536",
        "Data in the content store; 0: there is none.",
    ),
    key("tables", "content_store_bytes", Shape::Size, "256 MB", "Their bytes."),
    key(
        "tables",
        "content_store_policy",
        Shape::Choice(&["lru", "fifo"]),
        "lru",
        "Which Data leaves a full one: the least recently used, or the oldest.",
    ),
    key(
        "tables",
        "reassembly_bytes",
        Shape::Size,
        "256 KiB",
        "Fragments of packets that are not complete, for each face.",
    ),
    // management
    key(
        "management",
        "enabled",
        Shape::Switch,
        "true",
        "Whether there are commands; without them no application can register a prefix.",
    ),
    key(
        "management",
        "local",
        Shape::Choice(&["any", "trusted"]),
        "any",
        "Whose commands are done that come from this host: anybody's, as with NFD, or only those signed with one of \
         `trusted_keys`. The commands of `weir` have no key: with `trusted` they only show.",
    ),
    key(
        "management",
        "localhop",
        Shape::Switch,
        "false",
        "Whether neighbours may register prefixes, under `/localhop/nfd`, signed with one of `trusted_keys`.",
    ),
    key(
        "management",
        "trusted_keys",
        Shape::TextsOf("path", "the path of a certificate"),
        "[]",
        "Files with certificates: of who may command from this host if `local` is `trusted`, and of neighbours who may \
         register prefixes if `localhop` is on.",
    ),
    // metrics
    key(
        "metrics",
        "listen",
        Shape::TextOf("address and port", "an address with its port, such as \"127.0.0.1:9363\""),
        NONE,
        "Where they are asked for by HTTP; without it nowhere.",
    ),
    // capture
    key(
        "capture",
        "path",
        PATH,
        NONE,
        "The file; without it nothing is captured. One that is there is renamed to `PATH.1`.",
    ),
    key(
        "capture",
        "limit",
        Shape::Size,
        "1 GB",
        "A file that has grown to this is renamed to `PATH.1`, in place of the one before, and a new one begins.",
    ),
    // record
    key(
        "record",
        "path",
        PATH,
        NONE,
        "The file; without it nothing is recorded. One that is there is renamed to `PATH.1`.",
    ),
    key("record", "limit", Shape::Size, "1 GB", "The recording ends when it has grown to this."),
    // log
    key(
        "log",
        "level",
        Shape::Choice(&["error", "warn", "info", "debug", "trace"]),
        "info",
        "How much is said.",
    ),
    key(
        "log",
        "format",
        Shape::Choice(&["text", "json"]),
        "text",
        "Lines for people, or a JSON object a line.",
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
