//! Fetches published objects through a running forwarder.
#[path = "../../examples/publish.rs"]
mod example;

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::running::{Folder, Running, pause};
use weir_app::publish::{Certificates, PublishCounters, PublishOptions, Publisher, Signing, Source};
use weir_app::rdr::{Metadata, metadata_name};
use weir_app::{App, Event, Fetch, OwnedReply, SingleInterest};
use weir_core::consumer::Source as Demand;
use weir_core::seam::Scheme;
use weir_core::seam::params::Params;
use weir_core::units::{Rate, Span, Time};
use weir_keychain::{Algorithm, Certificate, Key, KeyChain, KeyName, Moment, Validity};
use weir_management::client::Endpoint;
use weir_packet::sign::implicit_digest;
use weir_packet::{Data, Name, Verifier};

const PATIENCE: Span = Span::from_secs(60);

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn endpoint(forwarder: &Running) -> Endpoint {
    Endpoint::Unix(forwarder.unix.clone())
}

fn qsccp() -> Box<dyn Scheme> {
    let entry = weir_schemes::find("qsccp").unwrap();
    (entry.build)(&Params::resolve(entry.parameters, []).unwrap())
}

fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ salt).collect()
}

/// A publisher in its own thread, until it is stopped or dropped.
struct Publishing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<PublishCounters>>,
}

impl Publishing {
    fn start(
        endpoint: &Endpoint,
        uri: &str,
        source: impl FnOnce() -> (Source, PublishOptions) + Send + 'static,
    ) -> Publishing {
        let stop = Arc::new(AtomicBool::new(false));
        let (endpoint, name, told) = (endpoint.clone(), name(uri), Arc::clone(&stop));
        let (ready, is_ready) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut app = App::connect(&endpoint).unwrap();
            let (source, options) = source();
            let published = app.publish(Publisher::new(name, source, options, |_| {}).unwrap()).unwrap();
            ready.send(()).unwrap();
            while !told.load(Ordering::Relaxed) {
                let until = app.now() + Span::from_millis(20);
                app.run(until, &mut |_, _| ControlFlow::Continue(())).unwrap();
            }
            published.counters()
        });
        is_ready.recv().expect("the prefix is registered");
        Publishing { stop, thread: Some(thread) }
    }

    fn file(endpoint: &Endpoint, uri: &str, path: &Path) -> Publishing {
        let path = path.to_owned();
        Publishing::start(endpoint, uri, move || (Source::path(&path).unwrap(), options()))
    }

    fn stop(mut self) -> PublishCounters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn options() -> PublishOptions {
    PublishOptions { segment_size: 1000, ..PublishOptions::default() }
}

/// A consumer and its received segments of an object.
struct Consumer {
    app: App,
    /// Segments: the Data as received.
    segments: BTreeMap<u64, Vec<u8>>,
}

impl Consumer {
    fn connect(endpoint: &Endpoint) -> Consumer {
        Consumer { app: App::connect(endpoint).unwrap(), segments: BTreeMap::new() }
    }

    fn ask(&mut self, name: Name) -> OwnedReply {
        let interest =
            SingleInterest { can_be_prefix: true, must_be_fresh: true, ..SingleInterest::new(name) };
        self.app.wait_for(interest, &mut |_, _| ControlFlow::Continue(())).unwrap().unwrap()
    }

    /// The newest version of an object.
    fn newest(&mut self, object: &str) -> Name {
        let OwnedReply::Data(wire) = self.ask(metadata_name(&name(object))) else { panic!("no metadata") };
        Metadata::decode(Data::decode(&wire).unwrap().payload()).unwrap().versioned
    }

    /// Fetches a version at a rate. Calls `at` at each segment with the number of segments. Returns whether the version
    /// was complete within the time.
    fn fetch(&mut self, versioned: &Name, rate: Rate, within: Span, at: &mut dyn FnMut(usize)) -> bool {
        let begin = self.app.now();
        let fetch = Fetch { source: Demand::Limited(rate), ..Fetch::new(versioned.clone()) };
        let flow = self.app.fetch(fetch, &*qsccp(), begin).unwrap();
        let (mut is_complete, segments) = (false, &mut self.segments);
        segments.clear();
        let mut each = |_: Time, event: Event<'_>| {
            let Event::Segment { data, delivery, .. } = event else { return ControlFlow::Continue(()) };
            segments.insert(delivery.segment, data.wire.to_vec());
            is_complete = delivery.complete;
            at(segments.len());
            if delivery.complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.app.run(begin + within, &mut each).unwrap();
        self.app.forget(flow);
        is_complete
    }

    fn content(&self) -> Vec<u8> {
        self.segments.values().flat_map(|wire| Data::decode(wire).unwrap().payload().to_vec()).collect()
    }
}

const FAST: Rate = Rate::from_bps(50_000_000);
/// A file of 400 kB takes a second and a half.
const SLOW: Rate = Rate::from_bps(2_000_000);

fn file(folder: &Folder, content: &[u8]) -> PathBuf {
    let path = folder.path("file");
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn what_is_published_is_fetched_however_it_is_signed() {
    let folder = Folder::new("published");
    let forwarder = Running::start(&folder, "");
    let content = pattern(400_123, 0);
    let path = file(&folder, &content);
    for algorithm in Algorithm::ALL {
        let key = Key::generate(name("/me").view(), algorithm).unwrap();
        let (verifier, path, object) = (key.verifier().unwrap(), path.clone(), format!("/me/{algorithm}"));
        let publishing = Publishing::start(&endpoint(&forwarder), &object, move || {
            (Source::path(&path).unwrap(), PublishOptions { signing: Signing::Key(key), ..options() })
        });
        let mut consumer = Consumer::connect(&endpoint(&forwarder));
        let versioned = consumer.newest(&object);
        assert!(consumer.fetch(&versioned, FAST, PATIENCE, &mut |_| {}));
        assert!(consumer.content() == content);
        for wire in consumer.segments.values() {
            assert_eq!(verifier.verify_data(wire), Ok(()));
        }
        let counters = publishing.stop();
        assert!(counters.data >= 402 && counters.signed == 402, "{counters:?}");
    }
}

#[test]
fn the_forwarder_may_go_and_come_back() {
    let folder = Folder::new("published-forwarder");
    let forwarder = Running::start(&folder, "");
    let (content, endpoint) = (pattern(400_000, 1), endpoint(&forwarder));
    let _publishing = Publishing::file(&endpoint, "/o", &file(&folder, &content));
    let mut consumer = Consumer::connect(&endpoint);
    let versioned = consumer.newest("/o");
    let mut forwarder = Some(forwarder);
    let mut at = |count: usize| {
        if count == 100
            && let Some(running) = forwarder.take()
        {
            running.stop();
            forwarder = Some(Running::start(&folder, ""));
        }
    };
    assert!(consumer.fetch(&versioned, SLOW, PATIENCE, &mut at));
    assert!(consumer.content() == content);
    assert_eq!(consumer.newest("/o"), versioned);
}

#[test]
fn the_publisher_may_go_and_come_back() {
    let folder = Folder::new("published-again");
    let forwarder = Running::start(&folder, "");
    let (content, endpoint) = (pattern(400_000, 2), endpoint(&forwarder));
    let path = file(&folder, &content);
    let mut publishing = Some(Publishing::file(&endpoint, "/o", &path));
    let mut consumer = Consumer::connect(&endpoint);
    let versioned = consumer.newest("/o");
    let mut restarted = None;
    let mut at = |count: usize| {
        if count == 100 {
            publishing.take().unwrap().stop();
            let (endpoint, path) = (endpoint.clone(), path.clone());
            restarted = Some(thread::spawn(move || {
                pause(Duration::from_millis(300));
                Publishing::file(&endpoint, "/o", &path)
            }));
        }
    };
    assert!(consumer.fetch(&versioned, SLOW, PATIENCE, &mut at));
    assert!(consumer.content() == content);
    let counters = restarted.unwrap().join().unwrap().stop();
    assert!((1..=400).contains(&counters.data), "{counters:?}");
}

#[test]
fn a_file_that_is_overwritten_while_it_is_fetched_gives_no_mix() {
    let folder = Folder::new("published-changed");
    let forwarder = Running::start(&folder, "[tables]\ncontent_store_packets = 0\n");
    let endpoint = endpoint(&forwarder);
    let (old, new) = (pattern(400_000, 3), pattern(400_000, 4));
    let path = file(&folder, &old);
    let _publishing = Publishing::file(&endpoint, "/o", &path);
    let mut consumer = Consumer::connect(&endpoint);
    let versioned = consumer.newest("/o");
    let mut at = |count: usize| {
        if count == 100 {
            fs::write(&path, &new).unwrap();
        }
    };
    assert!(!consumer.fetch(&versioned, SLOW, Span::from_secs(4), &mut at), "it does not come to the end");
    assert!((100..400).contains(&consumer.segments.len()));
    for (segment, wire) in &consumer.segments {
        let at = *segment as usize * 1000;
        assert_eq!(Data::decode(wire).unwrap().payload(), &old[at..at + 1000]);
    }
    let versioned = consumer.newest("/o");
    assert!(consumer.fetch(&versioned, FAST, PATIENCE, &mut |_| {}));
    assert!(consumer.content() == new);
}

#[test]
fn certificates_are_found_by_the_name_of_the_key() {
    let folder = Folder::new("published-keys");
    let forwarder = Running::start(&folder, "");
    let now = Moment::from_unix_ms(1_795_315_881_501);
    let validity = Validity { not_before: now, not_after: now.plus_days(1) };
    let chain = KeyChain::at(folder.path("keys"));
    let root = Key::generate(name("/lab").view(), Algorithm::Ecdsa).unwrap();
    let key = Key::generate(name("/lab/alice").view(), Algorithm::Ed25519).unwrap();
    let public = key.public_key_der().unwrap();
    let issuer = weir_packet::Component::generic(b"lab");
    let past = Validity { not_before: Moment::EPOCH, not_after: now };
    // The best certificate comes first. A self-signed one may be newer, and a still newer one may have expired.
    let issued = [
        Certificate::issue(key.name(), &public, (&root, issuer), 7, validity).unwrap(),
        Certificate::issue(key.name(), &public, (&root, issuer), 6, validity).unwrap(),
        Certificate::self_signed(&key, now, validity).unwrap(),
        Certificate::issue(key.name(), &public, (&root, issuer), u64::MAX, past).unwrap(),
        Certificate::self_signed(&root, now, validity).unwrap(),
    ];
    issued.iter().for_each(|certificate| chain.insert_certificate(certificate).unwrap());
    let certificates = Certificates::of(key.name(), &chain, now.plus_days(1)).unwrap();
    assert_eq!(certificates.best(), Some(&issued[0]));
    assert!(certificates.names().eq(issued.iter().map(Certificate::name)), "{certificates:?}");
    let hmac = KeyName::new(name("/other").view(), issuer);
    assert_eq!(Certificates::of(&hmac, &chain, now).unwrap().names().count(), 0);
    let (endpoint, (ready, is_ready)) = (endpoint(&forwarder), mpsc::channel());
    let connected = endpoint.clone();
    thread::spawn(move || {
        let mut app = App::connect(&connected).unwrap();
        app.publish_certificates(&certificates).unwrap();
        ready.send(()).unwrap();
        let _ = app.run(Time::NEVER, &mut |_, _| ControlFlow::Continue(()));
    });
    is_ready.recv().unwrap();
    let mut consumer = Consumer::connect(&endpoint);
    for certificate in [&issued[0], &issued[4]] {
        let answered = consumer.ask(certificate.key_name().name().to_name());
        assert_eq!(answered, OwnedReply::Data(certificate.wire().to_vec()), "the best of its key");
    }
    for certificate in &issued {
        let digest = implicit_digest(certificate.wire());
        let full = certificate.name().to_name().with(weir_packet::Component::implicit_digest(&digest));
        for asked in [certificate.name().to_name(), full] {
            let answered = consumer.ask(asked.clone());
            assert_eq!(answered, OwnedReply::Data(certificate.wire().to_vec()), "{asked}");
        }
    }
}

#[test]
fn the_example_serves_bytes_and_files() {
    let folder = Folder::new("published-example");
    let forwarder = Running::start(&folder, "");
    let endpoint = endpoint(&forwarder);
    let (bytes, path) = (pattern(50_000, 5), file(&folder, &pattern(60_000, 6)));
    let (blocking, content, stop) = (endpoint.clone(), bytes.clone(), Arc::new(AtomicBool::new(false)));
    let told_to_stop = Arc::clone(&stop);
    let served =
        thread::spawn(move || example::serve(&blocking, name("/e/bytes"), content, &told_to_stop).unwrap());
    let (said, lines) = mpsc::channel();
    let told = endpoint.clone();
    thread::spawn(move || {
        let say = move |line| said.send(line).unwrap();
        example::tell(&told, name("/e/file"), &path, say, &mut || true).unwrap();
    });
    let line = lines.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(line.starts_with("/e/file/v=") && line.ends_with(": 60 kB in 8 segments"), "{line}");
    let mut consumer = Consumer::connect(&endpoint);
    for (object, content) in [("/e/bytes", bytes), ("/e/file", pattern(60_000, 6))] {
        while !matches!(consumer.ask(metadata_name(&name(object))), OwnedReply::Data(_)) {
            pause(Duration::from_millis(20));
        }
        let versioned = consumer.newest(object);
        assert!(consumer.fetch(&versioned, FAST, PATIENCE, &mut |_| {}));
        assert!(consumer.content() == content);
        for wire in consumer.segments.values() {
            assert_eq!(Verifier::digest().verify_data(wire), Ok(()));
        }
    }
    stop.store(true, Ordering::Relaxed);
    let counters = served.join().unwrap();
    assert!(counters.data >= 8 && counters.signed >= 8, "{counters:?}");
}
