//! Applications of this crate through a running forwarder.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../../forwarder/tests/running/mod.rs"]
mod running;

use core::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;

use running::{Folder, Running};
use weir_app::{Answer, App, AppError, Fetch, Segments};
use weir_core::consumer::Source;
use weir_core::packet::Packet;
use weir_core::params::Params;
use weir_core::scheme::Scheme;
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_management::client::{ClientError, Endpoint};
use weir_packet::{Data, Name, ServiceClass, Verifier};

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
    Fetch {
        prefix: prefix.parse().unwrap(),
        class: ServiceClass::Ef,
        amount,
        source,
        lifetime: Span::from_secs(4),
        must_be_fresh: false,
        expected_size: Bytes::ZERO,
    }
}

/// Produces in a thread of its own until the test ends.
fn produce(
    forwarder: &Running,
    answers: impl FnOnce() -> Vec<(&'static str, Box<dyn Answer>)> + Send + 'static,
) {
    let (endpoint, (ready, is_ready)) = (endpoint(forwarder), mpsc::channel());
    thread::spawn(move || {
        let mut producer = App::connect(&endpoint).unwrap();
        for (prefix, answer) in answers() {
            producer.produce(prefix.parse().unwrap(), answer).unwrap();
        }
        ready.send(()).unwrap();
        // Ends with the forwarder.
        let _ = producer.run(Time::NEVER, &mut |_, _, _, _| ControlFlow::Continue(()));
    });
    is_ready.recv().expect("the prefixes are registered");
}

fn segments(payload: u64) -> Box<dyn Answer> {
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
    let mut each = |_: Time, flow: u32, data: &Packet, delivery: &weir_core::consumer::Delivery| {
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
    let mut each = |at: Time, _: u32, data: &Packet, _: &weir_core::consumer::Delivery| {
        bytes += if from <= at && at < to { data.wire_len() } else { 0 };
        ControlFlow::Continue(())
    };
    consumer.run(to, &mut each).unwrap();
    // 200 kB in 2 s; what is late at either end is within 5 %.
    assert!((190_000..=210_000).contains(&bytes), "{bytes}");
    consumer.stop();
    let sent = consumer.consumer(flow).unwrap().counters().sent;
    let at = consumer.now() + Span::from_millis(200);
    consumer.run(at, &mut |_, _, _, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(consumer.consumer(flow).unwrap().counters().sent, sent, "it has stopped");
}

#[test]
fn a_producer_may_have_no_answer_and_the_longest_prefix_counts() {
    struct Silent;
    impl Answer for Silent {
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
    let mut each = |_: Time, flow: u32, _: &Packet, _: &weir_core::consumer::Delivery| {
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
    assert_eq!(twice.to_string(), "/a is consumed already: a second consumer needs a connection of its own");
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
