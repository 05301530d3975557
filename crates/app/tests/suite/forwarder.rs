//! Applications of this crate with a running forwarder.

use core::ops::ControlFlow;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use crate::running::{self, Folder, Running};
use weir_app::{App, AppError, Event, Fetch, OwnedReply, Segments, Serve, SingleInterest};
use weir_core::consumer::Source;
use weir_core::packet::Packet;
use weir_core::seam::Scheme;
use weir_core::seam::params::Params;
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_management::client::{ClientError, Endpoint};
use weir_packet::{
    Component, Data, MetaInfo, Name, NameRef, ServiceClass, SignatureInfo, SignatureType, Signer, Verifier,
    component_type,
};

const PREFIXES: [&str; 3] = ["/app/a", "/app/b", "/app/b/c"];

fn app(forwarder: &Running) -> App {
    App::connect(&endpoint(forwarder)).unwrap()
}

fn endpoint(forwarder: &Running) -> Endpoint {
    Endpoint::Unix(forwarder.unix.clone())
}

fn qsccp() -> Box<dyn Scheme> {
    let entry = weir_schemes::find("qsccp").unwrap();
    (entry.build)(&Params::resolve(entry.parameters, []).unwrap())
}

fn fetch(prefix: &str, amount: Option<u64>, source: Source) -> Fetch {
    Fetch { class: ServiceClass::Ef, amount, source, ..Fetch::new(prefix.parse().unwrap()) }
}

/// Produces in its own thread until the test ends.
fn produce(
    forwarder: &Running,
    answers: impl FnOnce() -> Vec<(&'static str, Box<dyn Serve>)> + Send + 'static,
) {
    let (endpoint, (ready, is_ready)) = (endpoint(forwarder), mpsc::channel());
    thread::spawn(move || {
        let mut producer = App::connect(&endpoint).unwrap();
        for (prefix, answer) in answers() {
            producer.produce(prefix.parse().unwrap(), answer).unwrap();
        }
        ready.send(()).unwrap();
        // It ends with the forwarder.
        let _ = producer.run(Time::NEVER, &mut |_, _| ControlFlow::Continue(()));
    });
    is_ready.recv().expect("the prefixes are registered");
}

fn segments(payload: u64) -> Box<dyn Serve> {
    Box::new(Segments::new(Bytes::new(payload), None).unwrap())
}

#[test]
fn many_consumers_get_all_segments_of_their_prefixes_signed() {
    let folder = Folder::new("app");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || PREFIXES.map(|prefix| (prefix, segments(700))).into());
    let (mut consumer, scheme) = (app(&forwarder), qsccp());
    let now = consumer.now();
    for prefix in PREFIXES {
        consumer.fetch(fetch(prefix, Some(50), Source::Elastic), &*scheme, now).unwrap();
    }
    let (mut counts, mut left) = (vec![0; PREFIXES.len()], PREFIXES.len());
    let digest = Verifier::digest();
    let mut each = |_: Time, event: Event<'_>| {
        let Event::Segment { flow, data, delivery } = event else { return ControlFlow::Continue(()) };
        digest.verify_data(&data.wire).expect("its digest is right");
        let name: Name = PREFIXES[flow as usize].parse().unwrap();
        assert_eq!(Data::decode(&data.wire).unwrap().name.to_name(), name.with_segment(delivery.segment));
        assert_eq!((data.class(), delivery.content), (ServiceClass::Ef, 700));
        counts[flow as usize] += 1;
        left -= usize::from(delivery.complete);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    consumer.run(now + Span::from_secs(20), &mut each).unwrap();
    assert_eq!(counts, [50; 3]);
    assert_eq!((consumer.pending(), consumer.refused()), (0, 0));
}

#[test]
fn a_source_keeps_its_rate() {
    let folder = Folder::new("app-rate");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || vec![("/app/a", segments(1000))]);
    let (mut consumer, scheme) = (app(&forwarder), qsccp());
    let now = consumer.now();
    let source = Source::Unresponsive(Rate::from_bps(800_000));
    let flow = consumer.fetch(fetch("/app/a", None, source), &*scheme, now).unwrap();
    let (from, to) = (now + Span::from_millis(500), now + Span::from_millis(2500));
    let mut bytes = 0;
    let mut each = |at: Time, event: Event<'_>| {
        let Event::Segment { data, .. } = event else { return ControlFlow::Continue(()) };
        bytes += if from <= at && at < to { data.wire_len() } else { 0 };
        ControlFlow::Continue(())
    };
    consumer.run(to, &mut each).unwrap();
    // 200 kB in 2 s. Delays at both ends are within 5 %.
    assert!((190_000..=210_000).contains(&bytes), "{bytes}");
    consumer.stop();
    let sent = consumer.consumer(flow).unwrap().counters().sent;
    let at = consumer.now() + Span::from_millis(200);
    consumer.run(at, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(consumer.consumer(flow).unwrap().counters().sent, sent, "it has stopped");
}

#[test]
fn a_producer_may_have_no_answer_and_the_longest_prefix_counts() {
    struct Silent;
    impl Serve for Silent {
        fn answer(&mut self, _: &Packet, _: &mut Vec<u8>) -> bool {
            false
        }
    }
    let folder = Folder::new("app-silent");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || vec![("/app", Box::new(Silent)), ("/app/a", segments(10))]);
    let scheme = qsccp();
    let (mut consumer, mut got) = (app(&forwarder), Vec::new());
    let now = consumer.now();
    for prefix in ["/app/a", "/app/b"] {
        consumer.fetch(fetch(prefix, Some(1), Source::Elastic), &*scheme, now).unwrap();
    }
    let mut each = |_: Time, event: Event<'_>| {
        let Event::Segment { flow, .. } = event else { return ControlFlow::Continue(()) };
        got.push(flow);
        ControlFlow::Continue(())
    };
    consumer.run(now + Span::from_millis(600), &mut each).unwrap();
    assert_eq!(got, [0]);
    assert_eq!(consumer.pending(), 1);
}

#[test]
fn what_cannot_be_is_an_error_that_says_why() {
    let folder = Folder::new("app-errors");
    let nobody = App::connect(&Endpoint::Unix(folder.path("nobody.sock"))).unwrap_err();
    assert!(nobody.to_string().starts_with("no forwarder can be reached at unix://"), "{nobody}");
    let forwarder = Running::start(&folder, "[management]\nenabled = false\n");
    let (mut app, scheme) = (app(&forwarder), qsccp());
    let refused = app.produce("/a".parse().unwrap(), segments(10)).unwrap_err();
    assert!(matches!(refused, AppError::Forwarder(ClientError::NoManagement(_))), "{refused}");
    let now = app.now();
    app.fetch(fetch("/a", None, Source::Elastic), &*scheme, now).unwrap();
    let twice = app.fetch(fetch("/a", None, Source::Elastic), &*scheme, now).unwrap_err();
    assert_eq!(twice.to_string(), "/a is already being fetched: a second consumer needs its own connection");
    assert!(Segments::new(Bytes::new(8800), None).unwrap_err().to_string().contains("at most 8200 B"));
}

#[test]
fn a_face_uses_the_socket_with_the_address_that_its_peer_is_reached_from() {
    let folder = Folder::new("app-sockets");
    let more = "[[face]]\nremote = \"udp4://127.0.0.1:9\"\n";
    let listen = "listen = [\"127.0.0.7:0\", \"127.0.0.1:0\"]\n[faces.tcp]";
    let forwarder = Running::start_with(&folder, more, |text| {
        text.replace("listen = \"127.0.0.1:0\"\n[faces.tcp]", listen)
    });
    let faces = forwarder.client().faces().unwrap();
    let face = faces.iter().find(|face| face.status.remote == "udp4://127.0.0.1:9").unwrap();
    assert!(face.status.local.starts_with("udp4://127.0.0.1:"), "{}", face.status.local);
}

/// Answers with Data of this many segments. Each names the last one.
struct Object(u64);

impl Serve for Object {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        if interest.name.segment().is_none_or(|segment| segment >= self.0) {
            return false;
        }
        let name = NameRef::from_value(interest.name.wire()).unwrap();
        let mut last = [0; 8];
        let last = Component::number(component_type::SEGMENT, self.0 - 1, &mut last);
        let meta = MetaInfo { final_block_id: Some(last), ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        Data { meta, ..Data::new(name, b"abc", info) }.sign(&Signer::digest(), out).unwrap();
        true
    }
}

#[test]
fn a_flow_ends_with_the_segment_that_its_data_call_the_last() {
    let folder = Folder::new("app-end");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || vec![("/app/a", Box::new(Object(7)))]);
    let (mut consumer, scheme) = (app(&forwarder), qsccp());
    let begin = consumer.now();
    let flow = consumer.fetch(fetch("/app/a", None, Source::Elastic), &*scheme, begin).unwrap();
    let mut got = Vec::new();
    let mut each = |_: Time, event: Event<'_>| {
        let Event::Segment { delivery, .. } = event else { return ControlFlow::Continue(()) };
        got.push(delivery.segment);
        if delivery.complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    consumer.run(begin + Span::from_secs(20), &mut each).unwrap();
    got.sort_unstable();
    assert_eq!((got, consumer.pending()), ((0..7).collect::<Vec<u64>>(), 0));
    consumer.forget(flow);
    assert!(consumer.consumer(flow).is_none());
    let now = consumer.now();
    let again = consumer.fetch(fetch("/app/a", Some(1), Source::Elastic), &*scheme, now).unwrap();
    assert_eq!(again, flow, "its place is free");
}

#[test]
fn a_single_interest_is_answered_or_says_that_it_is_not() {
    let folder = Folder::new("app-single");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || vec![("/app/a", Box::new(Object(1)))]);
    let mut app = app(&forwarder);
    let ask = |app: &mut App, name: &str, lifetime: Span| {
        let interest = SingleInterest {
            can_be_prefix: true,
            lifetime,
            tries: 2,
            ..SingleInterest::new(name.parse().unwrap())
        };
        app.wait_for(interest, &mut |_, _| ControlFlow::Continue(())).unwrap().unwrap()
    };
    let OwnedReply::Data(data) = ask(&mut app, "/app/a/seg=0", Span::from_secs(4)) else {
        panic!("it is served")
    };
    assert_eq!(Data::decode(&data).unwrap().payload(), b"abc");
    let begin = app.now();
    assert_eq!(ask(&mut app, "/app/a/seg=1", Span::from_millis(300)), OwnedReply::Timeout);
    let waited = app.now().since(begin);
    assert!(waited >= Span::from_millis(600), "it was asked twice: {waited}");
    assert!(matches!(ask(&mut app, "/nobody", Span::from_millis(300)), OwnedReply::Nack(_)));
}

#[test]
fn when_the_forwarder_comes_back_prefixes_are_registered_and_consumers_go_on() {
    let folder = Folder::new("app-back");
    let forwarder = Running::start(&folder, "");
    produce(&forwarder, || vec![("/app/a", segments(100))]);
    let (mut consumer, scheme) = (app(&forwarder), qsccp());
    let begin = consumer.now();
    consumer.fetch(fetch("/app/a", None, Source::Limited(Rate::from_bps(100_000))), &*scheme, begin).unwrap();
    let (mut count, mut lost, mut back, mut forwarder) = (0, 0, 0, Some(forwarder));
    let mut each = |_: Time, event: Event<'_>| {
        match event {
            Event::Segment { .. } => count += 1,
            Event::Disconnected(_) => lost += 1,
            Event::Connected => back += 1,
            Event::Nack { .. } | Event::Reply { .. } | Event::Registered { .. } => {}
        }
        if count == 5 {
            if let Some(running) = forwarder.take() {
                running.stop();
            }
            forwarder = Some(Running::start(&folder, ""));
            count += 1;
        }
        if count > 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    consumer.run(begin + Span::from_secs(30), &mut each).unwrap();
    assert_eq!((lost, back, count), (1, 1, 21));
}

/// A TCP port of this host on which no process listens.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn tcp(port: u16) -> Endpoint {
    format!("tcp://localhost:{port}").parse().unwrap()
}

fn start_at(folder: &Folder, port: u16) -> Running {
    let listen = format!("[faces.tcp]\nlisten = [\"127.0.0.1:{port}\"]");
    Running::start_with(folder, "", |text| text.replace("[faces.tcp]\nlisten = []", &listen))
}

#[test]
fn nobody_at_a_tcp_port_is_an_error_at_once() {
    let begin = running::now();
    let error = App::connect(&tcp(free_port())).unwrap_err();
    assert!(error.to_string().starts_with("no forwarder can be reached at tcp://localhost:"), "{error}");
    assert!(error.to_string().contains("nothing listens there"), "{error}");
    assert!(begin.elapsed() < running::SECOND * 3);
}

#[test]
fn a_forwarder_over_tcp_that_is_gone_is_back_once_it_is_back() {
    let (folder, port) = (Folder::new("app-tcp"), free_port());
    let forwarder = start_at(&folder, port);
    let mut app = App::connect(&tcp(port)).unwrap();
    app.produce("/app/a".parse().unwrap(), segments(10)).unwrap();
    let said = std::cell::RefCell::new(Vec::new());
    let mut each = |_: Time, event: Event<'_>| {
        said.borrow_mut().push(match event {
            Event::Disconnected(_) => "gone",
            Event::Connected => "back",
            Event::Registered { outcome: Ok(()), .. } => "registered",
            _ => "other",
        });
        ControlFlow::Continue(())
    };
    forwarder.stop();
    let until = app.now() + Span::from_secs(2);
    app.run(until, &mut each).unwrap();
    assert_eq!(*said.borrow(), ["gone"], "nobody listens there now");
    assert!(!app.is_connected());
    let _forwarder = start_at(&folder, port);
    let until = app.now() + Span::from_secs(20);
    while app.now() < until && said.borrow().len() < 3 {
        let turn = app.now() + Span::from_millis(100);
        app.run(turn, &mut each).unwrap();
    }
    assert_eq!(*said.borrow(), ["gone", "back", "registered"]);
}

/// Accepts connections and drops them at once.
fn start_deaf(folder: &Folder) -> Endpoint {
    let path = folder.path("deaf.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || listener.incoming().for_each(drop));
    Endpoint::Unix(path)
}

#[test]
fn who_drops_every_connection_makes_nobody_wait_for_ever() {
    let folder = Folder::new("app-deaf");
    let deaf = start_deaf(&folder);
    let mut app = App::connect(&deaf).unwrap();
    let error = app.produce("/a".parse().unwrap(), segments(10)).unwrap_err();
    assert!(matches!(error, AppError::Forwarder(ClientError::Broken(..))), "{error}");
    let mut app = App::connect(&deaf).unwrap();
    let interest = SingleInterest { tries: 2, ..SingleInterest::new("/a".parse().unwrap()) };
    let (begin, mut lost) = (app.now(), 0);
    let answered = app.wait_for(interest, &mut |now, event| {
        lost += u32::from(matches!(event, Event::Disconnected(_)));
        if now.since(begin) < Span::from_secs(60) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    assert_eq!(answered.unwrap(), Some(OwnedReply::Timeout));
    assert!((3..=8).contains(&lost), "{lost}");
}

#[test]
fn a_socket_may_be_named_from_where_one_is() {
    let folder = Folder::new("app-relative");
    let forwarder = Running::start(&folder, "");
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(forwarder.unix.strip_prefix("/").unwrap());
    App::connect(&Endpoint::Unix(relative)).unwrap();
}
