//! The table of all keys of the forwarder's file, with their defaults. The reference and the commented default file
//! are generated from it.

use weir_core::node::CsPlacement;
use weir_core::tables::cs::CsPolicy;
use weir_document::{Format, Key, NONE, REQUIRED, Section, Shape, names};

/// The format of the forwarder's file.
pub(crate) const FORMAT: Format = Format { sections: SECTIONS, keys: KEYS, find, of, list: "face" };

/// The keys that every table of faces has, as a table of its own.
pub(crate) const SHARED: &str = "faces.*";

/// The tables that can occur several times.
pub(crate) const LISTS: &[&str] = &["face", "route", "strategy"];

const ADDRESSES: Shape = Shape::TextsOf(
    "address and port",
    "an address with its port, such as \"192.0.2.1:6363\" or \"[::]:6363\"",
);
const INTERFACES: Shape = Shape::TextsOf("interface", "the name of a network interface, such as \"eth0\"");
const PREFIX: Shape = Shape::TextOf("name prefix", "a name prefix, such as \"/video\"");
const PATH: Shape = Shape::TextOf("path", "the path of a file");
const MAX: i64 = i64::MAX;
/// Tables count their entries in 32 bits.
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
    Key { table, key, shape, default, settable: false, beside: &[], meaning }
}

/// Every table, in the order of the reference.
const SECTIONS: &[Section] = &[
    section("faces.unix", "[faces.unix]", "The socket of this host's applications."),
    section(
        "faces.udp",
        "[faces.udp]",
        "UDP addresses on which the forwarder listens. Each new peer gets its own face with its first packet.",
    ),
    section("faces.tcp", "[faces.tcp]", "TCP addresses on which the forwarder listens."),
    section(
        "faces.websocket",
        "[faces.websocket]",
        "WebSocket addresses on which the forwarder listens, for browsers; any path is accepted. A browser on this host is an application; a browser on another host is a neighbour.",
    ),
    section(
        "faces.multicast",
        "[faces.multicast]",
        "Groups of UDP multicast: a face for each interface and group.",
    ),
    section(
        "faces.ethernet",
        "[faces.ethernet]",
        "NDN in Ethernet frames: each interface has a face to the group. For a face to one host, both hosts need a `[[face]]`.",
    ),
    section(
        SHARED,
        "[faces.KIND], [[face]]",
        "Keys of every table of faces. In `[faces.KIND]` they apply to all faces of the kind, also to those that peers and management create. In `[[face]]` they apply to that face. A connection from this host, by Unix socket or loopback address, is an application: rates do not apply to it. A face that `[[face]]` or `weir face create` makes to a loopback address is a link: rates apply.",
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
    section("tables", "[tables]", "Limits of the forwarder's tables. No packet can make a table larger."),
    section("management", "[management]", "Commands of the NFD management protocol."),
    section(
        "metrics",
        "[metrics]",
        "A status page at `/`, its data at `/status.json`, and metrics for Prometheus at `/metrics`, each with its meaning \
         (`# HELP`).",
    ),
    section("capture", "[capture]", "A file with all frames, which Wireshark reads."),
    section("record", "[record]", "A file with all inputs of the node, for `weir replay`."),
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
        "The permissions of the socket. By default every user of this host may connect, as with NFD; `[management]` limits their commands. Users can also connect by TCP, UDP and WebSocket on the loopback address. To prevent that, empty the lists of those addresses too.",
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
    key(
        "faces.udp",
        "mtu_by_network",
        Shape::Map,
        NONE,
        "Largest frames to peers that connect by themselves, by the networks that they are in, such as `{ \"192.0.2.0/24\" = \"8800 B\" }`. The smallest network counts. For other peers, `mtu` counts. A network is an address, or an address and the number of bits in common.",
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
        "Rate of outgoing frames, without headers of UDP, TCP, IP and Ethernet. Without a rate, frames leave as fast as the socket accepts them. A scheme that divides the link rate among flows needs one.",
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
        "Largest frame, from 256 B to 65507 B; longer packets are fragmented. The default is what the path carries on UDP, as far as this host knows, at least 1200 B and at most 8800 B; 1400 B if it knows no path; the interface's MTU on Ethernet, and no limit on streams. IP splits UDP frames only if this key makes them longer than the path carries, or if the path carries less than 1200 B.",
    ),
    key(
        SHARED,
        "reliability",
        Shape::SwitchOr("auto"),
        "auto",
        "Whether NDNLPv2 link reliability retransmits lost frames. `auto`: on UDP and Ethernet, if the peer acknowledges, as Weir does, and the link loses frames. On a face without `rate`, Data then get a congestion mark if a frame of theirs was retransmitted. `true`: always, also on streams, and without such marks; the peer must support it too. `false`: never, and nothing is acknowledged. `rate` does not count retransmissions. Faces to groups never have it, since they have several peers.",
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
        "The faces whose service classes and signals the forwarder accepts. `known`: each `[[face]]`, faces that management creates, and applications with rights (`[management]`). All others are strangers: peers that connect or send a first packet, members of a group, other applications of this host. Packets of strangers are best effort, and lose the signals that only routers set. `all`: also strangers. `none`: no face.",
    ),
    key(
        SHARED,
        "classes",
        Shape::Map,
        NONE,
        "Rules for service classes; they override `trust`. The value for a class is one of four. `\"keep\"`: the class stays. `\"refuse\"`: its Interests are dropped. A class, such as `\"BE\"`: its Interests change to that class. A rate, such as `\"1 Mb/s\"`: the class stays up to this rate of Data, sent out of the face for Interests of the class. Interests above the rate change to best effort; Interests above a rate of BE are dropped.",
    ),
    key(
        SHARED,
        "share_by",
        Shape::Choice(&["face", "flow"]),
        NONE,
        "The unit of sharing, if the scheme divides links among flows. `flow`: each flow from the face gets a share, as in the scheme's paper. `face`: all flows from the face together get the share of one flow; faces of strangers with the same IPv4 address, or in the same IPv6 /64, count as one face on UDP, and as another on TCP and WebSocket. The default is `flow` for each `[[face]]` and for faces of `weir face create`, and `face` for applications, strangers and groups.",
    ),
    // face
    key("face", "name", Shape::Text, NONE, "Its name for routes; without a name, routes use `remote`."),
    key(
        "face",
        "remote",
        Shape::TextOf("face URI", "a face URI, such as \"udp4://192.0.2.1:6363\""),
        REQUIRED,
        "The URI of the peer: `udp://`, `udp4://`, `udp6://`, `tcp://`, `tcp4://`, `tcp6://` with host and port, or \
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
        "`best-route`, `multicast`, `asf` (the next hop with the shortest round-trip time, with options as `asf/probing-interval~30000/max-timeouts~5`), or a scheme; also a full name such as `/localhost/nfd/strategy/best-route`.",
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
        "Number of faces of all kinds. The last eighth is reserved for this host's applications and for faces that management creates. When the rest is full, a new UDP peer replaces the peer that has been silent longest, if it has been silent for at least 4 s.",
    ),
    key(
        "tables",
        "pit_bytes",
        Shape::Size,
        "512 MB",
        "Memory of the PIT, at least 16 kB. Half of it is for Interests with short names, about 368 B each. All faces share it. When it is full, the face with the largest part loses its oldest Interest.",
    ),
    key(
        "tables",
        "longest_lifetime",
        Shape::SpanFrom(1000),
        "60 s",
        "The longest time, up to 300 s, for which an Interest of a neighbour is pending. It replaces a longer lifetime. For applications of this host it is 300 s.",
    ),
    key(
        "tables",
        "fib_entries",
        ENTRIES,
        "1048576",
        "Limit of prefixes with routes, and the same limit of prefixes with strategies.",
    ),
    key(
        "tables",
        "dead_nonces",
        ENTRIES,
        "65536",
        "Number of remembered nonces of Interests that are no longer pending, for loop detection. The forwarder also remembers so many next hops that may still answer such an Interest.",
    ),
    key(
        "tables",
        "queue_bytes",
        Shape::Size,
        "128 MB",
        "Memory of packets in the queues of all faces, from 1 MB: about 0.6 kB beside the bytes of a packet, and 2 kB at least. A face may have half of what the others do not have, whatever its `queue`, and one packet in any case.",
    ),
    key(
        "tables",
        "flow_bytes",
        Shape::Size,
        "128 MB",
        "Memory of the prefixes that a scheme tells flows apart by: about 1 kB for each, and more for long names. One half is for neighbours that share by flow; faces that share by face share the other half, and eight short prefixes of each have room in any case.",
    ),
    key(
        "tables",
        "reforward_after",
        Shape::SpanFrom(0),
        "0 ms",
        "While an Interest is pending, the same Interest may arrive again, from any face. It is forwarded again if the last transmission was at least this time ago. The time doubles with each transmission, up to 250 ms. NFD has 10 ms. 0: Interests of other faces wait for the Data, and the strategy decides when to forward a repeated one.",
    ),
    key(
        "tables",
        "next_hop_timeout",
        Shape::SpanFrom(0),
        "1 s",
        "Time after which a next hop that answers nothing is compared with another one of its prefix, by copies of Interests. If another answers one that it does not, it is left: strategies do not see it. Then it is probed with copies after 1 s, 2 s, up to 16 s, and used again when it answers. The time is at least two round trips of the next hop. 0: next hops are never left.",
    ),
    key(
        "tables",
        "regions",
        Shape::TextsOf("name prefix", "a name prefix, such as \"/net/home\""),
        "[]",
        "Names of the networks that this host is in. An Interest with a forwarding hint goes where the first delegation with a route leads; where a delegation is a prefix of one of these names, the Interest has arrived, and goes on by its name without the hint.",
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
        "Memory of the content store. A Data takes its own bytes, about 0.8 kB, and 60 B for each component of its name; it takes more if its name has more than four components or 40 bytes.",
    ),
    key(
        "tables",
        "content_store_policy",
        Shape::Choice(names!(CsPolicy::ALL, 1)),
        "lru",
        "The Data that a full content store evicts. `lru`: the least recently used; `fifo`: the oldest; `lfu`: the one whose name was asked for least often, also before it came; `random`: any; `slru`: segmented LRU; `s3-fifo`: S3-FIFO.",
    ),
    key(
        "tables",
        "content_store_placement",
        Shape::TextOf("placement", CsPlacement::FORMS),
        "everywhere",
        "Which of the Data that pass the content store keeps. `everywhere`: all; `probability P`: each with this probability; `edge`: those for which it is the first content store from the consumer; `leave-copy-down`: those for which it is the first from the producer or the store that answered; `probcache`: each with a probability that grows towards the consumer. The last three count the content stores on the way, by a header field that those with one of these placements write.",
    ),
    key(
        "tables",
        "send_buffer_bytes",
        Shape::Size,
        "128 MB",
        "Memory of frames that wait for a socket, or with link reliability for an acknowledgement, from 1 MB. A face may have half of what the others do not have, and one packet in any case. An application has 4 MiB at most, a neighbour 256 KiB.",
    ),
    key(
        "tables",
        "reassembly_bytes",
        Shape::Size,
        "64 MB",
        "Memory of incomplete packets, from 64 kB. A face may have half of what the others do not have, and 16 KiB in any case, but no more than 256 packets. What a face knows of frames that came, for link reliability, counts too: 128 KiB.",
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
        "Which commands from this host are accepted. `any`: all that the sender has the right to send. `trusted`: only those signed with one of `trusted_keys`. `weir` does not sign its commands with a key, so with `trusted` it can only show the status.",
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
        "What applications of this host without rights may do. `show`: read the status. `register`: also register and unregister prefixes for their own faces. A prefix is free if no other face has it or a longer one, and no other application has a shorter one. `all`: everything, as with NFD. These have rights, and may do everything: root, the user who runs the forwarder, `users`, `groups`, and commands signed with one of `trusted_keys`.",
    ),
    key(
        "management",
        "registrations",
        Shape::Whole(1, 1 << 20),
        "1000",
        "Largest number of registrations of one user without rights. All applications on TCP, UDP and WebSocket together count as one user.",
    ),
    key(
        "management",
        "users",
        Shape::TextsOf("user", "the name or number of a user"),
        "[]",
        "Users of this host with rights, beside root and the user who runs the forwarder. The Unix socket identifies the user.",
    ),
    key(
        "management",
        "groups",
        Shape::TextsOf("group", "the name or number of a group"),
        "[]",
        "Groups whose members have rights. The forwarder looks up the members when it starts.",
    ),
    key(
        "management",
        "loopback",
        Shape::Switch,
        "false",
        "Whether applications of this host that connect by TCP, UDP or WebSocket have rights. The forwarder cannot identify their users.",
    ),
    // metrics
    key(
        "metrics",
        "listen",
        Shape::TextOf("address and port", "an address with its port, such as \"127.0.0.1:9363\""),
        NONE,
        "The address of the HTTP server; by default none. Whoever can connect can read all of it.",
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
