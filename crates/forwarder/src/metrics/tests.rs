use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use mio::{Events, Poll, Token};
use weir_core::packet::Kind;
use weir_core::units::Time;

use super::*;
use weir_management::overview::Overview;
use weir_net::http::Refusal;

fn face(number: u64, remote: &str) -> FaceStatus {
    FaceStatus {
        queued_packets: number,
        queued_bytes: 1000 * number,
        counters: FaceCounters { in_interests: 10 * number, out_data: 7, ..Default::default() },
        ..reference::face(number, remote)
    }
}

fn snapshot() -> Snapshot {
    let mut delays = Delays::default();
    delays.add(Span::from_micros(20));
    delays.add(Span::from_millis(900));
    delays.add(Span::from_secs(3));
    let mut drops = [[0; 2]; DropReason::ALL.len()];
    drops[DropReason::Loop as usize] = [5, 3];
    let mut classes = ByClass::default();
    classes.count_sent(ServiceClass::Ef, Kind::Data, 900);
    classes.count_sent(ServiceClass::Ef, Kind::Interest, 100);
    classes.count_dropped(ServiceClass::Be);
    Snapshot {
        general: GeneralStatus {
            version: "weir 0.1.0".into(),
            started_ms: 1000,
            now_ms: 3500,
            pit_entries: 42,
            satisfied_interests: 9,
            ..Default::default()
        },
        evicted_interests: 6,
        left_next_hops: 8,
        cs: CsInfo { capacity: 100, entries: 3, hits: 4, misses: 5, ..Default::default() },
        cache: CacheCounters { hits: 4, misses: 5, insertions: 11, evictions: 8 },
        faces: vec![face(1, "unix://a\"b\\c\nd"), face(2, "udp4://192.0.2.1:6363")],
        face_delays: vec![(2, "udp4://192.0.2.1:6363".into(), delays)],
        face_classes: vec![(2, "udp4://192.0.2.1:6363".into(), classes)],
        drops,
        delays: vec![(ServiceClass::Ef, delays)],
        classes,
    }
}

/// The value of the metric in a line of the text.
#[track_caller]
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).rsplit(' ').next().unwrap_or_default()
}

#[test]
fn every_figure_has_its_line() {
    let text = snapshot().text();
    assert_eq!(value(&text, "weir_build_info{version=\"weir 0.1.0\"}"), "1");
    assert_eq!(value(&text, "weir_uptime_seconds"), "2.5");
    assert_eq!(value(&text, "weir_pit_entries"), "42");
    assert_eq!(value(&text, "weir_evicted_interests_total"), "6");
    assert_eq!(value(&text, "weir_left_next_hops_total"), "8");
    assert_eq!(value(&text, "weir_satisfied_interests_total"), "9");
    assert_eq!(value(&text, "weir_cs_hits_total"), "4");
    assert_eq!(value(&text, "weir_dropped_packets_total{reason=\"loop\",kind=\"data\"}"), "5");
    assert_eq!(value(&text, "weir_dropped_packets_total{reason=\"loop\",kind=\"interest\"}"), "3");
    let second = "face=\"2\",remote=\"udp4://192.0.2.1:6363\"";
    let of_kind = |kind: &str| format!("weir_face_received_packets_total{{{second},kind=\"{kind}\"}}");
    assert_eq!((value(&text, &of_kind("interest")), value(&text, &of_kind("data"))), ("20", "0"));
    assert_eq!(value(&text, &format!("weir_face_queue_bytes{{{second}}}")), "2000");
    assert_eq!(value(&text, &format!("weir_face_send_rate_bits_per_second{{{second}}}")), "20000000");
    assert_eq!(value(&text, "weir_class_sent_packets_total{class=\"EF\",kind=\"data\"}"), "1");
    assert_eq!(value(&text, "weir_class_sent_bytes_total{class=\"EF\"}"), "1000");
    assert_eq!(value(&text, "weir_class_dropped_packets_total{class=\"BE\"}"), "1");
    assert_eq!(value(&text, &format!("weir_face_class_sent_bytes_total{{{second},class=\"EF\"}}")), "1000");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn a_peers_name_ends_no_label() {
    let text = snapshot().text();
    let line = text.lines().find(|line| line.starts_with("weir_face_up{face=\"1\"")).unwrap();
    assert_eq!(line, r#"weir_face_up{face="1",remote="unix://a\"b\\c\nd"} 1"#);
}

#[test]
fn no_name_stands_twice_and_every_line_has_one() {
    let text = snapshot().text();
    let names: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(names.len(), unique.len());
    assert!(names.len() > 25, "{names:?}");
    let mut lines: Vec<&str> = text.lines().filter(|l| !l.starts_with('#')).collect();
    for line in &lines {
        let name = line.split([' ', '{']).next().unwrap();
        assert!(names.iter().any(|n| name.starts_with(n.split(' ').next().unwrap())), "{line}");
    }
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), all);
}

#[test]
fn the_reference_has_every_metric_with_its_labels() {
    let reference = reference::markdown();
    let text = snapshot().text();
    for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()) {
        assert!(reference.contains(&format!("| `{name}")), "{name} in\n{reference}");
    }
    for row in [
        "| `weir_pit_entries` | gauge |  | Pending Interests |",
        "| `weir_class_sent_packets_total` | counter | `class`, `kind` | ",
        "| `weir_face_queue_delay_seconds` | histogram | `face`, `remote` | ",
    ] {
        assert!(reference.contains(row), "{row} in\n{reference}");
    }
}

#[test]
fn delays_are_counted_up_to_their_bounds() {
    let text = snapshot().text();
    let bucket = |bound: &str| format!("weir_queue_delay_seconds_bucket{{le=\"{bound}\",class=\"EF\"}}");
    assert_eq!(value(&text, &bucket("0.000015258")), "0");
    assert_eq!(value(&text, &bucket("0.000030516")), "1");
    assert_eq!(value(&text, &bucket("0.999948288")), "2");
    assert_eq!(value(&text, &bucket("+Inf")), "3");
    assert_eq!(value(&text, "weir_queue_delay_seconds_count{class=\"EF\"}"), "3");
}

#[test]
fn many_faces_are_no_more_figures_than_some() {
    let lines = |faces: u64| {
        let faces = (0..faces).map(|number| face(number, "udp4://192.0.2.1:6363")).collect();
        Snapshot { faces, ..snapshot() }.text()
    };
    let (some, many) = (lines(MAX_FACES as u64), lines(4 * MAX_FACES as u64));
    let per_face = 16;
    assert_eq!(many.lines().count(), some.lines().count() + per_face);
    let others = "weir_face_up{face=\"others\",remote=\"\"}";
    assert_eq!(value(&many, others), (3 * MAX_FACES).to_string());
}

// ---- Documents

#[test]
fn the_path_chooses_the_document() {
    for (path, document, kind) in [
        ("/", Document::Page, "text/html;"),
        ("/status.json", Document::Overview, "application/json"),
        ("/metrics", Document::Metrics, "application/openmetrics-text;"),
    ] {
        let found = Document::at(path, |asked| format!("{asked:?}")).unwrap();
        assert!(found.content_type.starts_with(kind), "{}", found.content_type);
        assert_eq!(found.body, format!("{document:?}"));
    }
    for path in ["/status", "/metrics/x", ""] {
        assert_eq!(Document::at(path, |_| String::new()).unwrap_err(), Refusal::NOT_FOUND);
    }
}

#[test]
fn the_overview_has_what_the_snapshot_has() {
    let overview = snapshot().overview(Vec::new());
    assert_eq!((overview.face_count, overview.faces[1].rate_bps), (2, Some(20_000_000)));
    assert_eq!((overview.store.hits, overview.tables.pit_entries), (4, 42));
    let [ef, be] = &overview.classes[..] else { panic!("{:?}", overview.classes) };
    assert_eq!((ef.class.as_str(), ef.out_bytes, ef.out_data, ef.queued), ("EF", 1000, 1, 3));
    assert_eq!(ef.queue_delays.iter().map(|(_, count)| count).sum::<u64>(), 3);
    assert_eq!(ef.queue_delays.last(), Some(&(None, 1)));
    assert_eq!((be.class.as_str(), be.dropped, be.queue_delays.len()), ("BE", 1, 0));
    let drops: Vec<_> =
        overview.drops.iter().map(|drop| (drop.reason.as_str(), drop.data, drop.others)).collect();
    assert_eq!(drops, [("loop", 5, 3)]);
    let text = serde_json::to_string(&overview).unwrap();
    assert_eq!(serde_json::from_str::<Overview>(&text).unwrap(), overview);
    let many =
        Snapshot { faces: vec![face(1, "unix://a"); 2 * MAX_FACES], ..snapshot() }.overview(Vec::new());
    assert_eq!((many.faces.len(), many.face_count), (MAX_FACES, 2 * MAX_FACES));
}

/// Each panel of the dashboard in `packaging/` uses existing metrics and existing labels.
#[test]
fn the_dashboard_names_metrics_that_there_are() {
    let text = snapshot().text();
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../../packaging/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let asked: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(asked.len() >= 10, "{asked:?}");
    for asked in asked {
        let names = asked
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.starts_with("weir_"));
        for name in names {
            let is_there =
                |line: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']));
            assert!(text.lines().any(is_there), "{name} in {asked}");
        }
    }
}

// ---- Sockets

/// Runs the event loop until `done`.
fn run(poll: &mut Poll, server: &mut Server, now: Time, text: &str, mut done: impl FnMut(&Server) -> bool) {
    let mut events = Events::with_capacity(64);
    let mut idle = 0;
    while idle < 1000 {
        if done(server) {
            return;
        }
        poll.poll(&mut events, Some(Duration::from_millis(10))).unwrap();
        idle = if events.is_empty() { idle + 1 } else { 0 };
        for event in &events {
            server.ready(poll.registry(), event.token(), now, &mut |_| text.to_owned()).unwrap();
        }
    }
    panic!("nothing happens any more");
}

fn server() -> (Poll, Server) {
    let poll = Poll::new().unwrap();
    let mut server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    server.register(poll.registry(), Token(100)).unwrap();
    (poll, server)
}

#[test]
fn a_response_larger_than_the_sockets_buffers_arrives_whole() {
    let (mut poll, mut server) = server();
    let address = server.address();
    let text = "x".repeat(20_000_000);
    let client = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.len()
    });
    run(&mut poll, &mut server, Time::ZERO, &text, |_| client.is_finished());
    assert!(client.join().unwrap() > text.len());
    run(&mut poll, &mut server, Time::ZERO, &text, |server| server.next_deadline() == Time::NEVER);
}

#[test]
fn those_who_never_ask_keep_nobody_from_asking_for_long() {
    let (mut poll, mut server) = server();
    let address = server.address();
    let idle: Vec<_> = (0..CONNECTIONS_TRIED).map(|_| TcpStream::connect(address).unwrap()).collect();
    let is_full = |server: &Server| server.next_deadline() != Time::NEVER;
    run(&mut poll, &mut server, Time::ZERO, "", is_full);
    let deadline = server.next_deadline();
    server.handle_deadline(poll.registry(), deadline).unwrap();
    assert_eq!(server.next_deadline(), Time::NEVER);
    let client = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all
    });
    run(&mut poll, &mut server, deadline, "figures", |_| client.is_finished());
    assert!(client.join().unwrap().ends_with("figures"));
    drop(idle);
}

#[test]
fn who_could_not_be_taken_is_taken_later_though_nobody_else_comes() {
    let (mut poll, mut server) = server();
    let address = server.address();
    let client = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        all
    });
    let mut events = Events::with_capacity(64);
    poll.poll(&mut events, Some(Duration::from_secs(10))).unwrap();
    assert_eq!(events.iter().count(), 1);
    // EMFILE: no file descriptor is free.
    let mut none_free = |_: &_| Err(std::io::Error::from_raw_os_error(24));
    assert!(server.take_waiting(poll.registry(), Time::ZERO, &mut none_free).is_err());
    let retry = server.next_deadline();
    assert_eq!(retry, Time::ZERO + Span::from_secs(1));
    assert!(server.take_waiting(poll.registry(), retry, &mut none_free).is_ok(), "it is told of once");
    let retry = server.next_deadline();
    server.handle_deadline(poll.registry(), retry).unwrap();
    run(&mut poll, &mut server, retry, "figures", |_| client.is_finished());
    assert!(client.join().unwrap().ends_with("figures"));
    run(&mut poll, &mut server, retry, "", |server| server.next_deadline() == Time::NEVER);
}

/// A connection that gets the last free file descriptor does not hide that the next one gets none.
#[test]
fn an_error_is_told_again_after_one_was_taken() {
    let (poll, mut server) = server();
    let address = server.address();
    let mut clients = Vec::new();
    // Accepts this many connections; then no file descriptor is free.
    let mut take = |server: &mut Server, mut free: usize| {
        clients.extend((0..free).map(|_| TcpStream::connect(address).unwrap()));
        let mut accept = |listener: &mio::net::TcpListener| {
            if free == 0 {
                return Err(std::io::Error::from_raw_os_error(24));
            }
            free -= 1;
            listener.accept()
        };
        let now = server.next_deadline().min(Time::ZERO + Span::from_secs(1));
        server.take_waiting(poll.registry(), now, &mut accept)
    };
    assert!(take(&mut server, 0).is_err());
    assert!(take(&mut server, 0).is_ok(), "it is told of once");
    assert!(take(&mut server, 2).is_err());
    assert!(take(&mut server, 0).is_ok());
}

#[test]
fn those_who_open_many_connections_and_never_ask_lose_their_own() {
    let (mut poll, mut server) = server();
    let address = server.address();
    let idle: Vec<_> = (0..CONNECTIONS_TRIED).map(|_| TcpStream::connect(address).unwrap()).collect();
    let client = std::thread::spawn(move || {
        let from = socket2::SockAddr::from("127.0.0.2:0".parse::<std::net::SocketAddr>().unwrap());
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&from).unwrap();
        socket.connect(&address.into()).unwrap();
        let mut stream = TcpStream::from(socket);
        // Meanwhile other clients connect.
        let more: Vec<_> = (0..CONNECTIONS_TRIED).map(|_| TcpStream::connect(address).unwrap()).collect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        drop(more);
        all
    });
    run(&mut poll, &mut server, Time::ZERO, "figures", |_| client.is_finished());
    assert!(client.join().unwrap().ends_with("figures"));
    assert!(server.take_replaced() > CONNECTIONS_TRIED as u64 - 8);
    assert_eq!(server.take_replaced(), 0);
    drop(idle);
}

#[test]
fn so_many_who_come_at_once_are_taken_in_turn_with_other_work() {
    let (mut poll, mut server) = server();
    let address = server.address();
    let mut events = Events::with_capacity(64);
    poll.poll(&mut events, Some(Duration::ZERO)).unwrap();
    // The kernel queues this many connections at once.
    let waiting: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut rounds = Vec::new();
    while rounds.iter().sum::<u64>() < waiting.len() as u64 - 8 {
        poll.poll(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert!(!events.is_empty(), "those that wait are told of: {rounds:?}");
        for event in &events {
            server.ready(poll.registry(), event.token(), Time::ZERO, &mut |_| String::new()).unwrap();
        }
        rounds.push(server.take_replaced());
    }
    assert_eq!(rounds[0], 64 - 8);
    assert!(rounds.len() > 1, "{rounds:?}");
}

/// More connections than are served at the same time.
const CONNECTIONS_TRIED: usize = 20;
