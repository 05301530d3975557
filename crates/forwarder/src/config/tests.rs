use super::*;
use weir_management::status::FacePersistency;
use weir_packet::ServiceClass;

fn parse(text: &str) -> Config {
    Config::parse(text, "weir.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The first line of the error message, without the file, and the help text.
fn mistake(text: &str) -> (String, String) {
    let error = Config::parse(text, "weir.toml").expect_err(text).to_string();
    let first = error.lines().next().unwrap_or_default();
    let help = error.lines().last().filter(|line| line.starts_with("  = ")).unwrap_or_default();
    (first.strip_prefix("weir.toml:").unwrap_or(first).to_owned(), help.trim_start_matches("  = ").to_owned())
}

#[track_caller]
fn assert_mistake(text: &str, message: &str, help: &str) {
    let said = mistake(text);
    assert_eq!(said.0, message);
    assert!(said.1.contains(help) && (help.is_empty() == said.1.is_empty()), "{}", said.1);
}

#[test]
fn without_a_file_there_are_the_usual_sockets() {
    let config = Config::default();
    let unix = config.faces.unix.as_ref().unwrap();
    assert_eq!((unix.path.to_str().unwrap(), unix.mode), ("/run/nfd/nfd.sock", 0o666));
    assert_eq!(config.faces.udp.listen, ["127.0.0.1:6363".parse().unwrap()]);
    assert_eq!(config.faces.tcp.listen, ["127.0.0.1:6363".parse().unwrap()]);
    assert!(config.faces.websocket.listen.is_empty() && config.faces.multicast.interfaces.is_empty());
    assert_eq!(config.faces.udp.idle_timeout, Span::from_secs(600));
    assert_eq!(config.faces.udp.kernel_buffer, Bytes::new(4 << 20));
    assert_eq!(config.faces.ethernet.group, weir_net::uri::NDN_GROUP_ETHERNET);
    assert_eq!(config.tables.content_store_packets, 65_536);
    assert_eq!(config.tables.reforward_after, Span::ZERO, "other faces wait");
    assert_eq!(config.scheme.entry.name, "fixed");
    assert!(config.management.enabled && !config.management.localhop);
    assert!(config.metrics.is_none() && config.capture.is_none() && config.record.is_none());
    assert!(config.strategies.is_empty() && config.routes.is_empty() && config.face.is_empty());
    assert_eq!(config.log, Log { level: LogLevel::Info, json: false });
}

#[test]
fn the_options_of_an_empty_table_are_the_default_ones() {
    let faces = Config::default().faces;
    for kind in [
        FaceKind::Unix,
        FaceKind::Udp,
        FaceKind::Tcp,
        FaceKind::WebSocket,
        FaceKind::Multicast,
        FaceKind::Ethernet,
    ] {
        assert_eq!(faces.options(kind), FaceOptions::default(), "{kind:?}");
    }
}

const WHOLE: &str = r#"
[faces.unix]
path = "weir.sock"
mode = "0660"
queue = "64 kB"
[faces.udp]
listen = ["0.0.0.0:6363", "[::]:6363"]
rate = "1 Gb/s"
mtu = "1420 B"
[faces.ethernet]
interfaces = "eth1"

[[face]]
name = "uplink"
remote = "udp4://192.0.2.1"
rate = "20 Mb/s"
receive_rate = "100 Mb/s"
persistency = "persistent"
reliability = true
scheme = { target_utilisation = 0.9, weights.AF2 = 7 }
[[face]]
remote = "tcp6://[2001:db8::1]:7000"
marking_threshold = "1 MB"

[[route]]
prefix = "/"
face = "uplink"
cost = 10
[[route]]
prefix = "/video"
face = "tcp6://[2001:db8::1]:7000"
child_inherit = false
capture = true
[[route]]
prefix = "/local"
face = "ethernet/eth1"

[[strategy]]
prefix = "/sensors"
strategy = "/localhost/nfd/strategy/multicast/v=5"

[scheme]
name = "qsccp"
[scheme.qsccp]
period = "50 ms"
target_utilisation = 0.95

[tables]
content_store_bytes = "1 GiB"
content_store_policy = "s3-fifo"
content_store_placement = "probability 0.25"
[management]
localhop = true
trusted_keys = ["operator.cert"]
[metrics]
listen = "127.0.0.1:9363"
[capture]
path = "all.pcapng"
[record]
path = "inputs"
limit = "10 MB"
[log]
level = "debug"
format = "json"
"#;

#[test]
fn everything_is_read() {
    let config = parse(WHOLE);
    assert_eq!(config.faces.options(FaceKind::Unix).queue, QueueLimit::Bytes(Bytes::new(64_000)));
    assert_eq!(config.faces.udp.options.rate, Some(Rate::from_mbps(1000)));
    let [uplink, other] = &config.face[..] else { panic!("{:?}", config.face) };
    assert_eq!((uplink.kind(), other.kind()), (FaceKind::Udp, FaceKind::Tcp));
    assert_eq!(uplink.persistency, FacePersistency::Persistent);
    assert_eq!(other.persistency, FacePersistency::Permanent);
    assert_eq!(uplink.options.rate, Some(Rate::from_mbps(20)));
    assert_eq!(uplink.options.receive_rate, Some(Rate::from_mbps(100)));
    assert_eq!((uplink.options.mtu, uplink.options.reliability), (Some(1420), Switching::On));
    assert_eq!(other.options, FaceOptions { marking_threshold: Bytes::new(1_000_000), ..Default::default() });
    let own = &uplink.scheme.as_ref().unwrap().params;
    assert_eq!((own.value("target_utilisation").number(), own.value("weights.AF2").number()), (0.9, 7.0));
    assert_eq!(own.value("period").span(), Span::from_millis(50));
    assert_eq!(config.scheme.params.value("target_utilisation").number(), 0.95);
    let routes: Vec<_> = config.routes.iter().map(|r| (r.prefix.to_string(), r.cost)).collect();
    assert_eq!(routes, [("/".into(), 10), ("/video".into(), 0), ("/local".into(), 0)]);
    assert!(config.routes[1].capture && !config.routes[1].child_inherit);
    assert_eq!(config.routes[2].face, RouteFace::Ethernet("eth1".into()));
    assert_eq!(config.strategies[0].strategy, "multicast");
    assert_eq!(config.tables.content_store_policy, CsPolicy::S3Fifo);
    assert_eq!(config.tables.content_store_placement, CsPlacement::Probability(0.25));
    assert_eq!(config.capture.as_ref().unwrap().limit, Bytes::new(1_000_000_000));
    assert_eq!(config.record.as_ref().unwrap().limit, Bytes::new(10_000_000));
    assert_eq!(config.management.trusted_keys, [PathBuf::from("operator.cert")]);
    assert_eq!(config.log, Log { level: LogLevel::Debug, json: true });
}

#[test]
fn a_rate_of_the_file_is_for_both_directions_unless_it_says_otherwise() {
    let options = |text: &str| parse(&format!("[faces.udp]\n{text}")).faces.udp.options;
    let both = options("rate = \"5 Mb/s\"");
    assert_eq!((both.rate, both.receive_rate), (Some(Rate::from_mbps(5)), Some(Rate::from_mbps(5))));
    let one = options("receive_rate = \"5 Mb/s\"");
    assert_eq!((one.rate, one.receive_rate), (None, Some(Rate::from_mbps(5))));
}

#[test]
fn unknown_tables_and_keys_are_named_with_what_was_meant() {
    assert_mistake(
        "[metric]\n",
        "1: there is no table `metric`; did you mean `metrics`?",
        "tables here: faces, face,",
    );
    assert_mistake(
        "[faces.upd]\n",
        "1: faces: there is no table `upd`; did you mean `udp`?",
        "unix, udp, tcp",
    );
    assert_mistake("[faces]\npath = \"x\"\n", "2: faces: there is no table `path`", "unix");
    assert_mistake(
        "[faces.udp]\nlisten = []\nrat = \"1 Mb/s\"\n",
        "3: faces.udp: unknown key `rat`; did you mean `rate`?",
        "listen, kernel_buffer, idle_timeout, mtu_by_network, rate, receive_rate",
    );
    assert_mistake(
        "[[route]]\nprefix = \"/\"\nfaec = \"x\"\n",
        "3: route.0: unknown key `faec`; did you mean `face`?",
        "prefix, face",
    );
    assert_mistake("[scheme]\nnmae = \"qsccp\"\n", "2: scheme: unknown key `nmae`", "[scheme.NAME]");
}

#[test]
fn tables_and_lists_are_not_confused() {
    assert_mistake(
        "[face]\nremote = \"udp4://192.0.2.1\"\n",
        "1: face: `face` is not a list of tables",
        "[[face]]",
    );
    assert_mistake("[[log]]\nlevel = \"info\"\n", "1: log: a list is not a table", "write [log]");
    assert_mistake("faces.tcp = 7\n", "1: faces.tcp: a whole number is not a table", "[faces.tcp]");
}

#[test]
fn a_wrong_value_is_named_with_what_would_be_right() {
    let udp = |key: &str| format!("[faces.udp]\n{key}\n");
    assert_mistake(
        &udp("listen = [\"0.0.0.0:6363\", \"0.0.0.0\"]"),
        "2: faces.udp.listen: `0.0.0.0` is not an address with its port, such as \"192.0.2.1:6363\" or \"[::]:6363\"",
        "",
    );
    assert_mistake(
        &udp("listen = [\"[::]:1\", \"[::]:1\"]"),
        "2: faces.udp.listen: `[::]:1` is there twice",
        "each must be different",
    );
    assert_mistake(
        &udp("rate = 100"),
        "2: faces.udp.rate: 100 is not a rate with its unit, such as \"10 Mb/s\"",
        "in quotes",
    );
    assert_mistake(&udp("rate = \"0 b/s\""), "2: faces.udp.rate: the rate must be above 0 b/s", "");
    assert_mistake(
        &udp("mtu = \"64 B\""),
        "2: faces.udp.mtu: 64 B is not a valid frame size",
        "from 256 B to 65507 B",
    );
    assert_mistake(
        &udp("mtu_by_network = { \"192.0.2.1/24\" = \"8800 B\" }"),
        "2: faces.udp.mtu_by_network: `192.0.2.1/24` is not a network",
        "such as \"192.0.2.0/24\"",
    );
    assert_mistake(
        &udp("mtu_by_network = { \"192.0.2.0/24\" = 8800 }"),
        "2: faces.udp.mtu_by_network.192.0.2.0/24: a whole number is not a valid frame size",
        "from 256 B to 65507 B",
    );
    assert_mistake(
        &udp("mtu_by_network = { \"10.0.0.1\" = \"1 kB\", \"10.0.0.1/32\" = \"2 kB\" }"),
        "2: faces.udp.mtu_by_network.10.0.0.1/32: the network is there twice",
        "one size",
    );
    assert_mistake(
        &udp("kernel_buffer = \"2 GB\""),
        "2: faces.udp.kernel_buffer: 2 GB is larger than a socket buffer can be",
        "at most 1 GB",
    );
    assert_mistake(&udp("queue = 0"), "2: faces.udp.queue: a queue of 0 packets would drop every packet", "");
    assert_mistake(
        "[faces.unix]\nmode = \"0999\"\n",
        "2: faces.unix.mode: `0999` is not a file mode in octal, such as \"0660\"",
        "",
    );
    assert_mistake(
        "[faces.unix]\nmode = 660\n",
        "2: faces.unix.mode: 660 is not a file mode in octal, such as \"0660\"",
        "",
    );
    assert_mistake(
        "[faces.ethernet]\ninterfaces = [\"eth0\", \"a name too long for it\"]\n",
        "2: faces.ethernet.interfaces: `a name too long for it` is not the name of a network interface, such as \"eth0\"",
        "",
    );
    assert_mistake(
        "[faces.ethernet]\ngroup = \"00:00:5e:00:17:aa\"\n",
        "2: faces.ethernet.group: `00:00:5e:00:17:aa` is not an Ethernet group address, such as \"01:00:5e:00:17:aa\"",
        "",
    );
    assert_mistake(
        "[faces.multicast]\ngroup_ipv4 = \"192.0.2.1:56363\"\n",
        "2: faces.multicast.group_ipv4: `192.0.2.1:56363` is not a multicast address with its port, such as \"224.0.23.170:56363\"",
        "",
    );
    assert_mistake(
        "[faces.multicast]\nreliability = true\n",
        "2: faces.multicast.reliability: link reliability is for faces with one peer, and these are groups",
        "leave it out, or `false`",
    );
    assert_mistake(
        "[log]\nlevel = \"inof\"\n",
        "2: log.level: `inof` is not one of \"error\", \"warn\", \"info\", \"debug\", \"trace\"",
        "did you mean \"info\"?",
    );
    assert_mistake(
        "[tables]\ndead_nonces = 0\n",
        "2: tables.dead_nonces: 0 is not a whole number from 1 to 1073741824",
        "",
    );
    assert_mistake(
        "[tables]\npit_bytes = \"1 kB\"\n",
        "2: tables.pit_bytes: no Interest could be pending",
        "at least 16 kB",
    );
    assert_mistake(
        "[tables]\ncontent_store_placement = \"lcd\"\n",
        "2: tables.content_store_placement: `lcd` is not a placement",
        "write everywhere, edge, leave-copy-down, probcache, or probability P",
    );
    assert_mistake(
        "[tables]\nlongest_lifetime = \"301 s\"\n",
        "2: tables.longest_lifetime: no Interest is pending for more than 300 s",
        "at most \"300 s\"",
    );
    assert_mistake(
        "[capture]\npath = \"x\"\nlimit = \"1 kB\"\n",
        "3: capture.limit: 1 kB is too small for a file",
        "64 KiB",
    );
}

#[test]
fn a_face_is_checked_before_it_is_made() {
    let face = |rest: &str| format!("[[face]]\n{rest}\n");
    for (given, canonical) in [
        ("udp://router.example", "udp://router.example:6363"),
        ("udp4://192.0.2.1", "udp4://192.0.2.1:6363"),
        ("udp://192.0.2.1:7000", "udp4://192.0.2.1:7000"),
        ("udp6://[2001:db8::1]", "udp6://[2001:db8::1]:6363"),
        ("tcp4://192.0.2.1:1", "tcp4://192.0.2.1:1"),
    ] {
        assert_eq!(parse(&face(&format!("remote = \"{given}\""))).face[0].remote, canonical);
    }
    for (wrong, said) in [
        (
            "192.0.2.1:6363",
            "`192.0.2.1:6363` is not a face URI: it has no `://`; write for example udp4://192.0.2.1:6363",
        ),
        ("unix:///run/nfd/nfd.sock", "`unix:///run/nfd/nfd.sock`: faces of this kind cannot be created"),
        ("ws://192.0.2.1", "`ws://192.0.2.1:9696`: a WebSocket face cannot be in the file"),
        ("udp4://224.0.23.170", "`udp4://224.0.23.170:56363` is a group"),
        ("ether://[01:00:5e:00:17:aa]", "`ether://[01:00:5e:00:17:aa]` is a group"),
    ] {
        assert_eq!(mistake(&face(&format!("remote = \"{wrong}\""))).0, format!("2: face.0.remote: {said}"));
    }
    assert_mistake("[[face]]\n", "1: face.0: the key `remote` is missing", "a face URI");
    let ethernet = "remote = \"ether://[08:00:27:01:02:03]\"";
    assert_mistake(&face(ethernet), "1: face.0.local: an Ethernet face needs its interface", "dev://eth0");
    parse(&face(&format!("{ethernet}\nlocal = \"dev://eth0\"")));
    assert_mistake(
        &face("remote = \"udp4://192.0.2.1\"\nlocal = \"tcp4://192.0.2.7:6363\""),
        "3: face.0.local: both ends of a face must have the same kind",
        "udp4://192.0.2.1",
    );
    let two = "[[face]]\nname = \"a\"\nremote = \"udp4://192.0.2.1\"\n[[face]]\nname = \"b\"\nremote = \"udp4://192.0.2.1\"\n";
    assert_mistake(
        two,
        "6: face.b.remote: there is a face to `udp4://192.0.2.1:6363` already",
        "one [[face]]",
    );
    assert_mistake(
        &two.replace("\"b\"\nremote = \"udp4://192.0.2.1\"", "\"a\"\nremote = \"udp4://192.0.2.2\""),
        "5: face.a.name: there is a face of the name `a` already",
        "each face needs a different name",
    );
    assert_mistake(
        &face("name = \"a/b\"\nremote = \"udp4://192.0.2.1\""),
        "2: face.a/b.name: a name must not be empty or contain `:` or `/`",
        "",
    );
}

#[test]
fn routes_and_strategies_name_what_there_is() {
    let face = "[[face]]\nname = \"uplink\"\nremote = \"udp4://192.0.2.1\"\n";
    let route = |rest: &str| format!("{face}[[route]]\n{rest}\n");
    assert_mistake(
        &route("prefix = \"/\"\nface = \"uplnk\""),
        "6: route.0.face: there is no face `uplnk`; did you mean `uplink`?",
        "faces: uplink",
    );
    assert_mistake(
        "[[route]]\nprefix = \"/\"\nface = \"x\"\n",
        "3: route.0.face: there is no face `x`",
        "[[face]]",
    );
    assert_mistake(
        &route("prefix = \"/\"\nface = \"ethernet/eth0\""),
        "6: route.0.face: there is no face `ethernet/eth0`",
        "uplink",
    );
    assert_mistake(
        &route("prefix = \"video\"\nface = \"uplink\""),
        "5: route.0.prefix: `video` is not a name prefix, such as \"/video\"",
        "",
    );
    let (said, _) = mistake(&route("prefix = \"/a/%zz\"\nface = \"uplink\""));
    assert!(said.starts_with("5: route.0.prefix: `/a/%zz` is not a name: "), "{said}");
    assert_mistake(
        &route("prefix = \"/localhost/x\"\nface = \"uplink\""),
        "5: route.0.prefix: names under /localhost do not leave this host",
        "other hosts",
    );
    assert_mistake(
        &format!(
            "{}[[route]]\nprefix = \"/\"\nface = \"udp4://192.0.2.1\"\n",
            route("prefix = \"/\"\nface = \"uplink\"")
        ),
        "8: route.1.prefix: there is a route for `/` to this face already",
        "one [[route]]",
    );
    let strategy = |name: &str| format!("[[strategy]]\nprefix = \"/\"\nstrategy = \"{name}\"\n");
    assert_eq!(parse(&strategy("qsccp")).strategies[0].strategy, "qsccp");
    assert_eq!(parse(&strategy("/localhost/nfd/strategy/best-route")).strategies[0].strategy, "best-route");
    let options = "asf/probing-interval~30000/max-timeouts~5";
    assert_eq!(parse(&strategy(options)).strategies[0].strategy, options);
    let full = "/localhost/nfd/strategy/asf/v=5/max-timeouts~5";
    assert_eq!(parse(&strategy(full)).strategies[0].strategy, "asf/max-timeouts~5");
    assert_eq!(parse(&strategy("/localhost/nfd/strategy/asf/v=5")).strategies[0].strategy, "asf");
    assert_mistake(
        &strategy("best-rout"),
        "3: strategy.0.strategy: there is no strategy `best-rout`; did you mean `best-route`?",
        "strategies: best-route, multicast, asf, qsccp",
    );
    assert_mistake(
        &strategy("qsccp").repeat(2),
        "5: strategy.1.prefix: there is a strategy for `/` already",
        "one [[strategy]]",
    );
}

#[test]
fn parameters_of_schemes_are_checked_as_in_scenarios() {
    assert_mistake(
        "[scheme]\nname = \"qscp\"\n",
        "2: scheme.name: there is no scheme `qscp`; did you mean `qsccp`?",
        "`weir list` prints the schemes",
    );
    assert_mistake(
        "[scheme.qscp]\n",
        "1: scheme: there is no scheme `qscp`; did you mean `qsccp`?",
        "`weir list` prints the schemes",
    );
    let (said, _) = mistake("[scheme.qsccp]\nperiod = \"50 ms\"\n[scheme.qsccp.weights]\nAF2 = 0\n");
    assert_eq!(said, "4: scheme.qsccp.weights.AF2: `0` is not a number from 0.001 to 1000");
    let face =
        "[scheme]\nname = \"qsccp\"\n[[face]]\nremote = \"udp4://192.0.2.1\"\nscheme = { period = 5 }\n";
    let (said, _) = mistake(face);
    assert!(said.starts_with("5: face.0.scheme.period: `5` is not a time with its unit"), "{said}");
}

#[test]
fn keys_that_need_each_other_say_so() {
    assert_mistake(
        "[management]\nlocalhop = true\n",
        "2: management.localhop: no neighbour's key is trusted",
        "trusted_keys",
    );
    assert_mistake(
        "[management]\nlocal = \"trusted\"\n",
        "2: management.local: no key is trusted, so nobody could command the forwarder",
        "trusted_keys",
    );
    assert_mistake(
        "[metrics]\nlisten = \"127.0.0.1:6363\"\n",
        "2: metrics.listen: 127.0.0.1:6363 is taken by `faces.tcp.listen`",
        "another port",
    );
    assert_mistake(
        "[capture]\npath = \"x\"\n[record]\npath = \"x\"\n",
        "4: record.path: frames are captured to the same file",
        "another path",
    );
}

#[test]
fn applications_without_rights_may_register_unless_the_file_says_otherwise() {
    let management = Config::default().management;
    assert_eq!((management.applications, management.registrations), (Applications::Register, 1000));
    assert!(management.users.is_empty() && management.groups.is_empty() && !management.loopback);
    let text = "[management]\napplications = \"show\"\nusers = [\"alice\", \"1007\"]\ngroups = \"ndn\"\nloopback = true\n";
    let management = parse(text).management;
    assert_eq!(management.applications, Applications::Show);
    assert_eq!(
        (management.users, management.groups),
        (vec!["alice".into(), "1007".into()], vec!["ndn".to_owned()])
    );
    assert!(management.loopback);
}

#[test]
fn rules_for_classes_are_those_of_the_kind_and_over_them_those_of_the_face() {
    let text = "[faces.udp]\ntrust = \"none\"\nclasses = { EF = \"1 Mb/s\", CS7 = \"refuse\" }\n\
                [[face]]\nremote = \"udp4://192.0.2.1\"\ntrust = \"known\"\nclasses = { EF = \"keep\", af4 = \"BE\" }\n";
    let config = parse(text);
    let (kind, own) = (config.faces.udp.options, config.face[0].options);
    let of = |options: &FaceOptions, class| options.classes[class as usize];
    assert_eq!((kind.trust, own.trust), (Trust::Nobody, Trust::Known));
    assert_eq!(of(&kind, ServiceClass::Ef), Some(ClassTreatment::Limit(Rate::from_mbps(1))));
    assert_eq!(of(&own, ServiceClass::Ef), Some(ClassTreatment::Keep));
    assert_eq!(
        [of(&kind, ServiceClass::Cs7), of(&own, ServiceClass::Cs7)],
        [Some(ClassTreatment::Refuse); 2]
    );
    assert_eq!(of(&own, ServiceClass::Af4), Some(ClassTreatment::Remark(ServiceClass::Be)));
    let rules = class_rules(&own.classes, false);
    assert_eq!(rules[ServiceClass::Ef as usize].class, Some(ServiceClass::Ef));
    assert_eq!(rules[ServiceClass::Af1 as usize].class, Some(ServiceClass::Be));
    assert_eq!(rules[ServiceClass::Cs7 as usize].class, None);
    for (wrong, said) in [
        ("{ EX = \"BE\" }", "2: faces.tcp.classes: there is no service class `EX`"),
        ("{ EF = \"some\" }", "2: faces.tcp.classes.EF: `some` is not a rule for a class"),
        ("{ EF = \"0 b/s\" }", "2: faces.tcp.classes.EF: `0 b/s` is not a rule for a class"),
        ("{ EF = 7 }", "2: faces.tcp.classes.EF: a whole number is not a rule for a class"),
        ("7", "2: faces.tcp.classes: 7 is not a table, such as { ratio = 0.4 }"),
    ] {
        assert_eq!(mistake(&format!("[faces.tcp]\nclasses = {wrong}\n")).0, said);
    }
}

#[test]
fn what_is_no_toml_or_no_file_is_said() {
    let (said, help) = mistake("[faces.udp]\nrate = 10 Mb/s\n");
    assert!(said.starts_with("2: this is not TOML"), "{said}");
    assert!(help.contains("need quotes") || help.is_empty(), "{help}");
    let (_, help) = mistake("[log]\nlevel = \"info\"\n[log]\n");
    assert!(help.contains("[[face]]"), "{help}");
    let error = Config::load(Path::new("no-such-folder/weir.toml")).unwrap_err().to_string();
    assert!(error.starts_with("no-such-folder/weir.toml: the file cannot be read: "), "{error}");
    let path = std::env::temp_dir().join(format!("weir-config-not-text-{}.toml", std::process::id()));
    std::fs::write(&path, b"[scheme]\n\xff\xfe").unwrap();
    let error = Config::load(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(error, format!("{}:2: this is not text: byte 9 of the file is not UTF-8", path.display()));
}

#[test]
fn what_shows_only_later_is_said_at_its_line() {
    let config = parse(WHOLE);
    let said =
        |key: &str| config.error_at(key, "it is wrong", "").to_string().lines().next().unwrap().to_owned();
    assert_eq!(said("faces.udp.listen"), "weir.toml:7: faces.udp.listen: it is wrong");
    assert_eq!(said("face.1.remote"), "weir.toml:22: face.1.remote: it is wrong");
    assert_eq!(said("face.7.remote"), "weir.toml:1: face.7.remote: it is wrong");
    let config = parse("[management]\ngroups = \"ndn\"\nusers = [\n\"alice\",\n\"bob\"]\n");
    let said =
        |key: &str| config.error_at(key, "it is wrong", "").to_string().lines().next().unwrap().to_owned();
    assert_eq!(said("management.groups.0"), "weir.toml:2: management.groups: it is wrong");
    assert_eq!(said("management.users.1"), "weir.toml:5: management.users.1: it is wrong");
    let config = parse(WHOLE);
    assert!(config.gives("faces.udp.rate") && !config.gives("faces.udp.queue") && !config.gives("log.x"));
    assert!(!Config::default().gives("faces.unix.path"));
}

#[test]
fn faces_without_a_rate_are_named_for_a_scheme_that_divides_rates() {
    let said = |text: &str| -> Vec<String> {
        let errors = parse(text).without_rate();
        errors.iter().map(|e| e.to_string().lines().next().unwrap().to_owned()).collect()
    };
    let own = "[[face]]\nremote = \"udp4://192.0.2.1\"\n";
    let text = format!(
        "[scheme]\nname = \"qsccp\"\n[faces.tcp]\nlisten = []\n[faces.udp]\nmtu = \"1420 B\"\nlisten = \"0.0.0.0:6363\"\n{own}"
    );
    assert_eq!(
        said(&text),
        [
            "weir.toml:5: faces.udp: scheme `qsccp` needs the rate of a face, and faces that peers create here have no rate",
            "weir.toml:8: face.0: scheme `qsccp` needs the rate of a face, and `udp4://192.0.2.1:6363` has no rate",
        ]
    );
    // A peer on the loopback address is an application.
    assert_eq!(said(&text.replace("0.0.0.0", "127.0.0.1")).len(), 1);
    // A face has the rate of its kind.
    assert!(said(&text.replace("mtu = \"1420 B\"", "rate = \"1 Gb/s\"")).is_empty());
}

#[test]
fn the_same_file_changes_nothing() {
    assert!(Change::between(&Config::default(), &Config::default()).is_empty());
    let commented = format!("# a comment\n{WHOLE}");
    assert!(Change::between(&parse(WHOLE), &parse(&commented)).is_empty());
}

#[test]
fn a_change_says_what_is_to_be_done() {
    let face = |name: &str, rest: &str| {
        format!("[[face]]\nname = \"{name}\"\nremote = \"udp://{name}.example\"\n{rest}\n")
    };
    let route = |prefix: &str, face: &str, cost: u64| {
        format!("[[route]]\nprefix = \"{prefix}\"\nface = \"{face}\"\ncost = {cost}\n")
    };
    let strategy =
        |prefix: &str, name: &str| format!("[[strategy]]\nprefix = \"{prefix}\"\nstrategy = \"{name}\"\n");
    let old = [
        face("a", ""),
        face("b", ""),
        face("same", ""),
        route("/a", "a", 0),
        route("/b", "b", 0),
        route("/same", "same", 3),
        strategy("/x", "multicast"),
        strategy("/y", "multicast"),
        strategy("/z", "multicast"),
    ];
    let new = [
        face("b", "rate = \"1 Mb/s\""),
        face("same", ""),
        face("c", ""),
        route("/b", "b", 5),
        route("/c", "c", 0),
        route("/same", "same", 3),
        strategy("/y", "best-route"),
        strategy("/z", "multicast"),
        strategy("/w", "multicast"),
        "[tables]\ncontent_store_packets = 10\n".to_owned(),
    ];
    let change = Change::between(&parse(&old.concat()), &parse(&new.concat()));
    let labels = |faces: &[Face]| faces.iter().map(|face| face.label().to_owned()).collect::<Vec<_>>();
    let prefixes = |names: &[Name]| names.iter().map(Name::to_string).collect::<Vec<_>>();
    assert_eq!(labels(&change.faces_removed), ["a"]);
    assert_eq!(labels(&change.faces_added), ["c"]);
    assert_eq!(change.faces_changed.len(), 1);
    assert_eq!(change.faces_changed[0].new.options.rate, Some(Rate::from_mbps(1)));
    assert_eq!(change.routes_removed.iter().map(|r| r.0.to_string()).collect::<Vec<_>>(), ["/a"]);
    assert_eq!(change.routes_set.iter().map(|r| r.prefix.to_string()).collect::<Vec<_>>(), ["/b", "/c"]);
    assert_eq!(prefixes(&change.strategies_unset), ["/x"]);
    let set: Vec<_> =
        change.strategies_set.iter().map(|s| (s.prefix.to_string(), s.strategy.as_str())).collect();
    assert_eq!(set, [("/y".into(), "best-route"), ("/w".into(), "multicast")]);
    assert_eq!(change.content_store, Some((10, Bytes::new(256_000_000))));
    assert!(change.faces.is_none() && change.restart.is_empty(), "{:?}", change.restart);
}

#[test]
fn what_needs_a_restart_is_named() {
    let restart = |text: &str| Change::between(&Config::default(), &parse(text)).restart;
    assert_eq!(restart("[faces.unix]\npath = \"x\"\n"), ["faces.unix"]);
    assert_eq!(restart("[faces.unix]\nenabled = false\n"), ["faces.unix"]);
    assert_eq!(restart("[faces.udp]\nlisten = []\n"), ["faces.udp.listen"]);
    assert_eq!(restart("[faces.udp]\nkernel_buffer = \"0 B\"\n"), ["faces.udp.kernel_buffer"]);
    assert_eq!(restart("[faces.udp]\nidle_timeout = \"5 s\"\nrate = \"1 Mb/s\"\n"), [""; 0]);
    assert_eq!(restart("[faces.ethernet]\ninterfaces = \"eth0\"\n"), ["faces.ethernet"]);
    assert_eq!(restart("[scheme.qsccp]\nperiod = \"50 ms\"\n"), ["scheme"]);
    assert_eq!(restart("[tables]\npit_bytes = \"1 MB\"\n"), ["tables"]);
    assert_eq!(restart("[tables]\ncontent_store_policy = \"fifo\"\n"), ["tables.content_store_policy"]);
    let edge = restart("[tables]\ncontent_store_placement = \"edge\"\n");
    assert_eq!(edge, ["tables.content_store_placement"]);
    assert_eq!(
        restart("[management]\nenabled = false\n[log]\nformat = \"json\"\nlevel = \"warn\"\n"),
        ["management", "log.level", "log.format"]
    );
    // Queues are created with their faces.
    let face = |more: &str| {
        let text = format!("[scheme]\nname = \"qsccp\"\n[[face]]\nremote = \"udp4://192.0.2.1\"\n{more}\n");
        parse(&text)
    };
    let changed = |more: &str| Change::between(&face(""), &face(more)).restart;
    assert_eq!(changed("queue = 5"), ["face.queue"]);
    assert_eq!(changed("scheme = { period = \"50 ms\" }"), ["face.scheme"]);
    assert_eq!(changed("rate = \"1 Mb/s\"\nmtu = \"1000 B\""), [""; 0]);
    assert_eq!(restart("[faces.multicast]\nqueue = 7\n[faces.ethernet]\nqueue = 7\n"), [""; 0]);
    let on = |queue: u8| parse(&format!("[faces.multicast]\ninterfaces = \"eth0\"\nqueue = {queue}\n"));
    assert_eq!(Change::between(&on(5), &on(6)).restart, ["faces.multicast.queue"]);
    let all = [
        "faces.unix",
        "faces.udp.listen",
        "faces.ethernet",
        "scheme",
        "tables.content_store_policy",
        "tables.content_store_placement",
        "management",
        "metrics",
        "capture",
        "record",
        "log.level",
        "log.format",
    ];
    assert_eq!(restart(WHOLE), all);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(\\[\\[?(faces\\.udp|face|route|scheme|log|x)\\]?\\]\n|(listen|rate|remote|face|prefix|name|scheme|queue) = (\"[ -~]{0,12}\"|[0-9]{1,3}|\\[\\]|\\{\\}|true)\n){0,8}") {
        let _ = Config::parse(&text, "x");
    }
}
