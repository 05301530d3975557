//! Fetching objects through a running forwarder.

#[path = "../../examples/get.rs"]
#[allow(dead_code, reason = "it has a main function")]
mod get_example;
#[path = "../../examples/read.rs"]
#[allow(dead_code, reason = "it has a main function")]
mod read_example;

use core::ops::ControlFlow;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use crate::running::{self, Folder, Running};
use weir_app::get::{Discarded, Each, Fetcher, Get, GetError, Progress, Report};
use weir_app::rdr::{Metadata, metadata_name};
use weir_app::{App, Serve};
use weir_core::packet::Packet;
use weir_core::seam::Scheme;
use weir_core::units::{Span, Time};
use weir_keychain::{Algorithm, Certificate, Key, Moment, Trust, Validity};
use weir_management::client::Endpoint;
use weir_net::clock::wall_ms;
use weir_packet::{
    Component, ContentType, Data, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, Signer,
    component_type,
};

const SEGMENT: usize = 1000;
/// A forwarder without content store.
const WITHOUT_CACHE: &str = "[tables]\ncontent_store_packets = 0\n";
const OBJECT: &str = "/get/a";

fn object_name(version: u64) -> Name {
    OBJECT.parse::<Name>().unwrap().with_version(version)
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at % 251) as u8 ^ (at / SEGMENT) as u8).collect()
}

/// Faults of a producer.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    /// The content of this segment is changed after signing.
    tampered: Option<u64>,
    /// The same for this segment, but only in the first answer. A content store on the path then has it.
    tampered_once: Option<u64>,
    /// The first answer for this segment is changed and declares that this other segment is the last.
    false_end: Option<(u64, u64)>,
    /// Only the last segment, in a valid answer, declares the last segment.
    silent_end: bool,
    /// The metadata are changed in this many answers.
    metadata_tampered: u32,
    /// This segment is not answered.
    silent: Option<u64>,
    /// Segments from this one on are not answered.
    silent_from: Option<u64>,
    /// This segment declares that this one is the last.
    end: Option<(u64, u64)>,
    /// The metadata declare that this segment is the last.
    metadata_end: Option<u64>,
    /// There are no metadata.
    no_metadata: bool,
    /// This segment is an application-level Nack.
    absent: Option<u64>,
    /// Segments beyond the end are application-level Nacks.
    absent_behind: bool,
    /// The first Interest for this segment is lost.
    lost: Option<u64>,
    /// This many Interests for the metadata are lost. A content store has a segment of this older version.
    metadata_lost: u32,
    older: Option<u64>,
    /// The version in the metadata, instead of the time.
    metadata_version: Option<u64>,
    /// The only known object is another one below the name.
    below: bool,
    /// This segment has neither digest nor signature.
    unsigned: Option<u64>,
    /// Segments of this version are application-level Nacks, or changed after signing.
    gone: Option<u64>,
    spoiled: Option<u64>,
}

/// A producer of an object.
struct Object {
    content: Vec<u8>,
    version: u64,
    faults: Faults,
    key: Option<Arc<Key>>,
    certificates: Vec<Certificate>,
    /// The newest requested segment.
    asked: Arc<AtomicU64>,
}

impl Object {
    fn new(bytes: usize) -> Object {
        let (faults, certificates, asked) = (Faults::default(), Vec::new(), Arc::default());
        Object { content: content(bytes), version: 7, faults, key: None, certificates, asked }
    }

    fn last(&self) -> u64 {
        self.content.len().div_ceil(SEGMENT).max(1) as u64 - 1
    }

    fn sign(&self, data: &Data<'_>, out: &mut Vec<u8>) {
        match &self.key {
            Some(key) => key.sign(data, out).unwrap(),
            None => data.sign(&Signer::digest(), out).unwrap(),
        }
    }

    fn metadata(&self, out: &mut Vec<u8>) {
        let metadata =
            Metadata { versioned: object_name(self.version), last_segment: self.faults.metadata_end };
        let mut content = Vec::new();
        metadata.encode(&mut content);
        let name = metadata_name(&OBJECT.parse().unwrap())
            .with_version(self.faults.metadata_version.unwrap_or_else(wall_ms))
            .with_segment(0);
        let meta = MetaInfo { freshness_period: Some(1), ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        self.sign(&Data { meta, ..Data::new(name.view(), &content, info) }, out);
    }

    fn segment(&self, name: NameRef<'_>, segment: u64, out: &mut Vec<u8>) {
        let begin = (segment as usize * SEGMENT).min(self.content.len());
        let content = &self.content[begin..self.content.len().min(begin + SEGMENT)];
        let said = self.faults.end.filter(|(at, _)| *at == segment).map(|(_, end)| end);
        let known = Some(self.last()).filter(|last| !self.faults.silent_end || *last == segment);
        let mut buffer = [0; 8];
        let last = said.or(known).map(|last| Component::number(component_type::SEGMENT, last, &mut buffer));
        let is_absent = self.faults.absent == Some(segment) || segment > self.last();
        let content_type = is_absent.then_some(ContentType::Nack);
        let meta = MetaInfo { final_block_id: last, content_type, ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        if self.faults.unsigned == Some(segment) {
            let info = SignatureInfo::new(SignatureType::Null);
            out.extend_from_slice(&Data { meta, ..Data::new(name, content, info) }.to_vec());
            return;
        }
        self.sign(&Data { meta, ..Data::new(name, content, info) }, out);
        if self.faults.tampered == Some(segment) {
            let at = out.windows(content.len()).position(|window| window == content).unwrap();
            out[at] ^= 1;
        }
    }
}

impl Serve for Object {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let name = NameRef::from_value(interest.name.wire()).unwrap();
        if let Some(certificate) = self.certificates.iter().find(|own| own.name().starts_with(name)) {
            out.extend_from_slice(certificate.wire());
            return true;
        }
        if name.to_name() == metadata_name(&OBJECT.parse().unwrap()) && !self.faults.no_metadata {
            if self.faults.metadata_lost > 0 {
                self.faults.metadata_lost -= 1;
                return false;
            }
            self.metadata(out);
            if self.faults.metadata_tampered > 0 {
                self.faults.metadata_tampered -= 1;
                *out.last_mut().unwrap() ^= 1;
            }
            return true;
        }
        let versioned = object_name(self.version);
        if name.to_name().to_string() == OBJECT {
            let of = if self.faults.below { "/get/a/b".parse().unwrap() } else { versioned };
            let of = self.faults.older.map_or(of, object_name);
            let first = of.with_segment(0);
            self.segment(first.view(), 0, out);
            return true;
        }
        let Some(segment) = name.last().and_then(|last| last.segment()) else { return false };
        self.asked.fetch_max(segment, Ordering::Relaxed);
        let is_of = |version: Option<u64>| {
            version.is_some_and(|version| name.parent() == object_name(version).view())
        };
        if is_of(self.faults.gone) || is_of(self.faults.spoiled) {
            let content_type = is_of(self.faults.gone).then_some(ContentType::Nack);
            let meta = MetaInfo { content_type, ..MetaInfo::NONE };
            let info = SignatureInfo::new(SignatureType::DigestSha256);
            self.sign(&Data { meta, ..Data::new(name, b"", info) }, out);
            if is_of(self.faults.spoiled) {
                *out.last_mut().unwrap() ^= 1;
            }
            return true;
        }
        let is_silent = self.faults.silent == Some(segment)
            || self.faults.silent_from.is_some_and(|from| segment >= from);
        let is_behind = segment > self.last() && !self.faults.absent_behind;
        if name.parent() != versioned.view() || is_behind || is_silent {
            return false;
        }
        if self.faults.lost == Some(segment) {
            self.faults.lost = None;
            return false;
        }
        let false_end = self.faults.false_end.take_if(|(at, _)| *at == segment);
        let end = self.faults.end;
        self.faults.end = false_end.or(end);
        self.segment(name, segment, out);
        self.faults.end = end;
        let is_false = self.faults.tampered_once.take_if(|at| *at == segment).is_some();
        if is_false || false_end.is_some() {
            *out.last_mut().unwrap() ^= 1;
        }
        true
    }
}

fn endpoint(forwarder: &Running) -> Endpoint {
    Endpoint::Unix(forwarder.unix.clone())
}

/// A producer in a thread, until it is dropped.
struct Producing {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Producing {
    fn start(endpoint: Endpoint, object: Object) -> Producing {
        let (ready, is_ready) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut app = App::connect(&endpoint).unwrap();
            app.produce(OBJECT.parse().unwrap(), Box::new(object)).unwrap();
            ready.send(()).unwrap();
            while !told.load(Ordering::Relaxed) {
                let until = app.now() + Span::from_millis(20);
                app.run(until, &mut |_, _| ControlFlow::Continue(())).unwrap();
            }
        });
        is_ready.recv().expect("it is registered");
        Producing { stop, thread: Some(thread) }
    }

    fn of(forwarder: &Running, object: Object) -> Producing {
        Producing::start(endpoint(forwarder), object)
    }
}

impl Drop for Producing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn scheme() -> Box<dyn Scheme> {
    weir_schemes::find("cubic").unwrap().with_defaults()
}

fn get() -> Get {
    // Unanswered Interests are soon repeated.
    let lifetime = Span::from_millis(400);
    Get { lifetime, patience: Some(Span::from_secs(20)), ..Get::new(OBJECT.parse().unwrap()) }
}

fn impatient() -> Get {
    Get { patience: Some(Span::from_millis(2500)), ..get() }
}

/// Fetches an object. Returns the content and the result.
fn all(forwarder: &Running, get: Get, trust: Option<Trust>) -> (Vec<u8>, Result<Report, GetError>) {
    let (mut app, scheme) = (App::connect(&endpoint(forwarder)).unwrap(), scheme());
    let mut fetcher = Fetcher::new(&mut app, get, &*scheme);
    if let Some(trust) = trust {
        fetcher = fetcher.trusting(trust).unwrap();
    }
    let mut bytes = Vec::new();
    let outcome = fetcher.for_each(&mut |progress| {
        if let Progress::Content { content, .. } = progress {
            bytes.extend_from_slice(content);
        }
        ControlFlow::Continue(())
    });
    (bytes, outcome)
}

fn to_file(forwarder: &Running, get: Get, path: &Path, each: &mut Each<'_>) -> Result<Report, GetError> {
    to_file_trusting(forwarder, get, Trust::Any, path, each)
}

fn to_file_trusting(
    forwarder: &Running,
    get: Get,
    trust: Trust,
    path: &Path,
    each: &mut Each<'_>,
) -> Result<Report, GetError> {
    let (mut app, scheme) = (App::connect(&endpoint(forwarder)).unwrap(), scheme());
    Fetcher::new(&mut app, get, &*scheme).trusting(trust).unwrap().to_file(path, each)
}

fn go_on(_: Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Runs a forwarder and a producer with these faults, and fetches an object.
fn with_faults(test: &str, faults: Faults, get: Get) -> (Vec<u8>, Result<Report, GetError>) {
    let folder = Folder::new(test);
    let forwarder = Running::start(&folder, "");
    let _producer = Producing::of(&forwarder, Object { faults, ..Object::new(40_500) });
    all(&forwarder, get, None)
}

/// Checks that the delivered bytes are the beginning of the content, in whole segments before `before`.
fn is_beginning(bytes: &[u8], before: u64) {
    assert!(content(40_500).starts_with(bytes) && bytes.len().is_multiple_of(SEGMENT), "{}", bytes.len());
    assert!(bytes.len() as u64 <= before * SEGMENT as u64, "{}", bytes.len());
}

#[test]
fn an_object_is_found_by_its_metadata_or_by_any_of_its_data_or_named_with_its_version() {
    for faults in [
        Faults::default(),
        Faults { no_metadata: true, ..Faults::default() },
        Faults { metadata_end: Some(40), ..Faults::default() },
    ] {
        let (bytes, outcome) = with_faults("get-found", faults, get());
        let report = outcome.unwrap();
        assert!(bytes == content(40_500), "{faults:?}");
        assert_eq!((report.object, report.bytes, report.next), (object_name(7), 40_500, 41));
    }
    let versioned = Get { name: object_name(7), ..get() };
    for get in [versioned.clone(), Get { discovery: false, ..versioned }] {
        let (bytes, outcome) = with_faults("get-version", Faults::default(), get);
        assert_eq!(outcome.unwrap().signature, Some(SignatureType::DigestSha256));
        assert!(bytes == content(40_500));
    }
}

#[test]
fn small_objects_are_whole_too() {
    for bytes in [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1] {
        let folder = Folder::new("get-small");
        let forwarder = Running::start(&folder, "");
        let _producer = Producing::of(&forwarder, Object::new(bytes));
        let (got, outcome) = all(&forwarder, get(), None);
        outcome.unwrap();
        assert!(got == content(bytes), "{bytes}");
    }
}

#[test]
fn a_lost_interest_for_metadata_does_not_give_an_older_version() {
    let faults = Faults { metadata_lost: 1, older: Some(6), ..Faults::default() };
    let (bytes, outcome) = with_faults("get-older", faults, get());
    assert_eq!(outcome.unwrap().object, object_name(7));
    assert!(bytes == content(40_500));
}

#[test]
fn another_object_below_a_name_is_not_the_object_of_the_name() {
    let faults = Faults { no_metadata: true, below: true, ..Faults::default() };
    let get = Get { patience: Some(Span::from_secs(5)), ..get() };
    let (bytes, outcome) = with_faults("get-below", faults, get);
    assert_eq!((bytes.len(), outcome.unwrap_err().to_string().as_str()), (0, "no answer came for /get/a"));
}

#[test]
fn patience_ends_a_get_whose_forwarder_is_away_while_it_looks_for_the_name() {
    let folder = Folder::new("get-away");
    let forwarder = Running::start(&folder, "");
    let (mut app, scheme) = (App::connect(&endpoint(&forwarder)).unwrap(), scheme());
    forwarder.stop();
    let error = Fetcher::new(&mut app, impatient(), &*scheme).for_each(&mut go_on).unwrap_err();
    assert!(matches!(error, GetError::Unanswered(_)), "{error}");
}

#[test]
fn a_name_that_nobody_has_is_an_error_that_says_so() {
    let folder = Folder::new("get-nobody");
    let forwarder = Running::start(&folder, "");
    let (_, outcome) = all(&forwarder, get(), None);
    let error = outcome.unwrap_err().to_string();
    assert_eq!(error, "there is no route to /get/a: its Interest came back as a Nack (NoRoute)");
}

#[test]
fn a_tampered_segment_is_an_error_that_names_it_and_nothing_of_it_is_delivered() {
    let (bytes, outcome) =
        with_faults("get-tampered", Faults { tampered: Some(17), ..Faults::default() }, get());
    is_beginning(&bytes, 17);
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("segment 17 of /get/a/v=7 cannot be trusted: "), "{error}");
    assert!(error.contains("signature is wrong"), "{error}");
}

/// A content store would return a false Data forever.
#[test]
fn what_is_not_to_be_believed_is_asked_for_again_past_the_stores_and_the_get_goes_on() {
    let key = Arc::new(key("/get"));
    for key in [None, Some(key)] {
        let trust = || key.as_ref().map_or(Trust::Any, |key| Trust::Key(key.verifier().unwrap()));
        let folder = Folder::new("get-past-stores");
        let forwarder = Running::start(&folder, "");
        let faults = Faults { tampered_once: Some(17), metadata_tampered: 2, ..Faults::default() };
        let object = Object { faults, key: key.clone(), ..Object::new(40_500) };
        let _producer = Producing::of(&forwarder, object);
        let (mut app, scheme) = (App::connect(&endpoint(&forwarder)).unwrap(), scheme());
        let mut fetcher = Fetcher::new(&mut app, get(), &*scheme).trusting(trust()).unwrap();
        let (mut bytes, mut refused) = (Vec::new(), Vec::new());
        fetcher
            .for_each(&mut |progress| {
                match progress {
                    Progress::Content { content, .. } => bytes.extend_from_slice(content),
                    Progress::Refused(why) => refused.push(why.to_string()),
                    _ => {}
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert!(bytes == content(40_500));
        let [first, second, third] = &refused[..] else { panic!("{refused:?}") };
        for refused in [first, second] {
            assert!(refused.starts_with("the Data for /get/a/32=metadata cannot be trusted: "), "{refused}");
        }
        assert!(third.starts_with("segment 17 of /get/a/v=7 cannot be trusted: "), "{third}");
        // The valid Data has replaced it in the store.
        let (again, outcome) = all(&forwarder, get(), Some(trust()));
        outcome.unwrap();
        assert!(again == content(40_500));
    }
}

#[test]
fn a_missing_segment_is_given_up_and_named() {
    let (bytes, outcome) =
        with_faults("get-missing", Faults { silent: Some(5), ..Faults::default() }, impatient());
    is_beginning(&bytes, 5);
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("segment 5 of /get/a/v=7 is missing: no answer came for 2."), "{error}");
}

#[test]
fn an_end_that_changes_is_an_error() {
    for (at, end) in [(9, 12), (20, 3)] {
        let faults = Faults { end: Some((at, end)), ..Faults::default() };
        let (bytes, outcome) = with_faults("get-end", faults, impatient());
        is_beginning(&bytes, 40);
        let error = outcome.unwrap_err();
        let GetError::End { segment, before, now, .. } = error else { panic!("{error}") };
        // The two segments contradict each other, whichever arrived first.
        assert!((segment, now) == (at, end) || (before, now) == (end, 40), "{error}");
    }
    let faults = Faults { metadata_end: Some(30), ..Faults::default() };
    let (bytes, outcome) = with_faults("get-truncated", faults, get());
    is_beginning(&bytes, 30);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("says that segment 40 is the last, but it was segment 30"), "{error}");
}

#[test]
fn an_application_nack_is_an_error() {
    let (bytes, outcome) = with_faults("get-absent", Faults { absent: Some(8), ..Faults::default() }, get());
    is_beginning(&bytes, 8);
    assert_eq!(outcome.unwrap_err().to_string(), "the producer states that there is no /get/a/v=7/seg=8");
}

#[test]
fn an_application_nack_behind_the_end_is_none() {
    let folder = Folder::new("get-behind");
    let forwarder = Running::start(&folder, "");
    // Segment 1 is requested before it is known that segment 0 is the last.
    let faults = Faults { absent_behind: true, lost: Some(0), ..Faults::default() };
    let _producer = Producing::of(&forwarder, Object { faults, ..Object::new(500) });
    let (bytes, outcome) = all(&forwarder, get(), None);
    outcome.unwrap();
    assert!(bytes == content(500));
}

// ---- Trust

fn validity() -> Validity {
    let now = Moment::from_unix_ms(wall_ms());
    Validity { not_before: now, not_after: now.plus_days(1) }
}

fn key(identity: &str) -> Key {
    Key::generate(identity.parse::<Name>().unwrap().view(), Algorithm::Ed25519).unwrap()
}

fn self_signed(key: &Key) -> Certificate {
    Certificate::self_signed(key, Moment::from_unix_ms(wall_ms()), validity()).unwrap()
}

/// Runs a producer with a key and certificates, and fetches its object.
fn signed(
    key: &Arc<Key>,
    certificates: Vec<Certificate>,
    trust: Option<Trust>,
) -> (Vec<u8>, Result<Report, GetError>) {
    let folder = Folder::new("get-signed");
    let forwarder = Running::start(&folder, "");
    let object = Object { key: Some(Arc::clone(key)), certificates, ..Object::new(40_500) };
    let _producer = Producing::of(&forwarder, object);
    all(&forwarder, Get { patience: Some(Span::from_secs(5)), ..get() }, trust)
}

#[test]
fn the_weakest_signature_is_told_also_of_what_was_there_before() {
    let faults = Faults { unsigned: Some(5), ..Faults::default() };
    let (bytes, outcome) = with_faults("get-unsigned", faults, get());
    assert_eq!(outcome.unwrap().signature, Some(SignatureType::Null));
    assert!(bytes == content(40_500));
    let folder = Folder::new("get-weakest");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let path = folder.path("file");
    let stuck = Faults { silent_from: Some(23), ..faults };
    let (_, outcome) = gets(&forwarder, &path, Object { faults: stuck, ..Object::new(40_500) });
    outcome.unwrap_err();
    let (_, outcome) = gets(&forwarder, &path, Object::new(40_500));
    let report = outcome.unwrap();
    assert_eq!((report.first, report.signature), (23, Some(SignatureType::Null)));
}

#[test]
fn what_nobody_signed_does_not_become_a_part_of_what_a_key_has_signed() {
    let folder = Folder::new("get-forged");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let path = folder.path("file");
    let stuck = Faults { silent_from: Some(23), ..Faults::default() };
    // All segments except the compared one are forged.
    let mut forged = Object { faults: stuck, ..Object::new(40_500) };
    forged.content[..22_000].fill(b'x');
    let (_, outcome) = gets(&forwarder, &path, forged);
    outcome.unwrap_err();
    let own = Arc::new(key("/get"));
    let _producer = Producing::of(&forwarder, Object { key: Some(Arc::clone(&own)), ..Object::new(40_500) });
    let mut discarded = Vec::new();
    let trust = Trust::Key(own.verifier().unwrap());
    let outcome = to_file_trusting(&forwarder, get(), trust, &path, &mut |progress| {
        if let Progress::Discarded(why) = progress {
            discarded.push(why.clone());
        }
        ControlFlow::Continue(())
    });
    assert_eq!((discarded, outcome.unwrap().bytes), (vec![Discarded::Trust], 40_500));
    assert!(fs::read(&path).unwrap() == content(40_500));
}

#[test]
fn a_key_that_is_given_must_have_signed_everything() {
    let own = Arc::new(key("/get"));
    let (bytes, outcome) = signed(&own, Vec::new(), Some(Trust::Key(own.verifier().unwrap())));
    assert_eq!(outcome.unwrap().signature, Some(SignatureType::Ed25519));
    assert!(bytes == content(40_500));
    for wrong in [key("/get").verifier().unwrap(), weir_packet::Verifier::digest()] {
        let (bytes, outcome) = signed(&own, Vec::new(), Some(Trust::Key(wrong)));
        let error = outcome.unwrap_err();
        assert!(bytes.is_empty() && matches!(error, GetError::Invalid { .. }), "{error}");
    }
    let (bytes, outcome) = signed(&own, Vec::new(), None);
    assert_eq!(
        outcome.unwrap().signature,
        Some(SignatureType::Ed25519),
        "not checked, and the report says how it is signed"
    );
    assert!(bytes == content(40_500));
}

fn issued(issuer_id: &[u8], key: &Key, issuer: &Key) -> Certificate {
    let (public, issuer) = (key.public_key_der().unwrap(), (issuer, Component::generic(issuer_id)));
    Certificate::issue(key.name(), &public, issuer, 1, validity()).unwrap()
}

#[test]
fn a_newer_certificate_that_is_signed_by_itself_does_not_hide_the_one_that_the_anchor_issued() {
    let (root, own) = (key("/get"), Arc::new(key("/get/a")));
    let anchor = self_signed(&root);
    for issuer in [b"NA".as_slice(), b"get"] {
        // The producer answers an Interest for the key's name with the first certificate.
        let certificates = vec![self_signed(&own), issued(issuer, &own, &root)];
        let (bytes, outcome) = signed(&own, certificates, Some(Trust::Anchor(anchor.clone())));
        outcome.unwrap();
        assert!(bytes == content(40_500));
    }
}

#[test]
fn certificates_between_the_data_and_the_anchor_are_fetched() {
    let (root, own) = (key("/get"), Arc::new(key("/get/a")));
    let anchor = self_signed(&root);
    let request = self_signed(&own);
    let issued = issued(b"root", &own, &root);
    let (bytes, outcome) = signed(&own, vec![issued], Some(Trust::Anchor(anchor.clone())));
    outcome.unwrap();
    assert!(bytes == content(40_500));
    let (bytes, outcome) = signed(&own, vec![request], Some(Trust::Anchor(anchor.clone())));
    let error = outcome.unwrap_err().to_string();
    assert!(bytes.is_empty() && error.contains("is not the trust anchor"), "{error}");
    let began = running::now();
    let (bytes, outcome) = signed(&own, Vec::new(), Some(Trust::Anchor(anchor)));
    let error = outcome.unwrap_err().to_string();
    assert!(bytes.is_empty() && error.contains("cannot be fetched: no answer came"), "{error}");
    assert!(began.elapsed() >= 5 * running::SECOND, "as long as patience lasts");
}

/// Fetches an object whose producer has a key, with false Data in between. Also returns the newest requested segment.
/// The parameter `whom` is what the consumer trusts: any key, the key, or the issuer of its certificate.
fn with_false_data(faults: Faults, whom: usize) -> (Vec<u8>, Result<Report, GetError>, u64) {
    let (root, own) = (key("/get"), Arc::new(key("/get/a")));
    let (anchor, certificates) = (self_signed(&root), vec![issued(b"root", &own, &root)]);
    let (trust, key) = match whom {
        0 => (Trust::Any, None),
        1 => (Trust::Key(own.verifier().unwrap()), Some(own)),
        _ => (Trust::Anchor(anchor), Some(own)),
    };
    let folder = Folder::new("get-false");
    let forwarder = Running::start(&folder, "");
    let object = Object { faults, key, certificates, ..Object::new(40_500) };
    let asked = Arc::clone(&object.asked);
    let _producer = Producing::of(&forwarder, object);
    // The metadata do not contain the end.
    let (bytes, outcome) = all(&forwarder, impatient(), Some(trust));
    (bytes, outcome, asked.load(Ordering::Relaxed))
}

#[test]
fn the_end_that_false_data_say_is_none() {
    for (at, end, silent_end) in [
        (0, 0, false),
        (0, 5, true),
        (0, 10_000, false),
        (0, u64::MAX, true),
        (20, 20, true),
        (20, 3, true),
        (20, 30, false),
        (40, u64::MAX, true),
    ] {
        for whom in 0..3 {
            let faults = Faults { false_end: Some((at, end)), silent_end, ..Faults::default() };
            let (bytes, outcome, asked) = with_false_data(faults, whom);
            let says = format!("segment {at} says {end}, {silent_end}, {whom}: {:?}", outcome.as_ref().err());
            assert!(outcome.is_ok() && bytes == content(40_500), "{says}");
            // If all Data declare the end, nothing beyond it is requested.
            assert!(silent_end || asked <= 40, "{says} {asked}");
        }
    }
}

#[test]
fn false_data_that_say_an_end_and_are_all_that_comes_are_an_error() {
    for at in [0, 20] {
        let faults =
            Faults { tampered: Some(at), end: Some((at, at)), silent_end: true, ..Faults::default() };
        for whom in 0..3 {
            let (bytes, outcome, _) = with_false_data(faults, whom);
            is_beginning(&bytes, at);
            let error = outcome.unwrap_err();
            assert!(
                matches!(error, GetError::Invalid { segment: Some(segment), .. } if segment == at),
                "{error}"
            );
        }
    }
}

/// The fetch requests the rest, which does not arrive.
#[test]
fn patience_ends_a_get_to_which_false_data_said_an_end() {
    let faults = Faults { false_end: Some((0, 0)), silent_from: Some(1), ..Faults::default() };
    for whom in 0..3 {
        let (bytes, outcome, _) = with_false_data(faults, whom);
        assert_eq!(bytes.len(), SEGMENT);
        let error = outcome.unwrap_err();
        assert!(matches!(error, GetError::Missing { segment: 1, last: Some(40), .. }), "{error}");
    }
}

// ---- Files

#[test]
fn a_get_that_was_stopped_goes_on_with_the_same_call() {
    let folder = Folder::new("get-resume");
    let forwarder = Running::start(&folder, "");
    let path = folder.path("file");
    let stuck = Faults { silent_from: Some(23), ..Faults::default() };
    let producer = Producing::of(&forwarder, Object { faults: stuck, ..Object::new(40_500) });
    let error = to_file(&forwarder, impatient(), &path, &mut go_on).unwrap_err();
    assert!(matches!(error, GetError::Missing { segment: 23, .. }), "{error}");
    drop(producer);
    assert!(!path.exists());
    assert_eq!(fs::read(folder.path("file.part")).unwrap(), content(40_500)[..23_000]);
    let _producer = Producing::of(&forwarder, Object::new(40_500));
    let mut begins = Vec::new();
    let report = to_file(&forwarder, get(), &path, &mut |progress| {
        if let Progress::Found { first, bytes, .. } = progress {
            begins.push((first, bytes));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(begins, [(23, 23_000)]);
    assert_eq!(report.unwrap().bytes, 17_500);
    assert!(fs::read(&path).unwrap() == content(40_500));
    assert!(!folder.path("file.part").exists() && !folder.path("file.part.json").exists());
}

#[test]
fn wherever_it_is_stopped_it_goes_on_to_the_same_bytes() {
    let folder = Folder::new("get-anywhere");
    let forwarder = Running::start(&folder, "");
    let _producer = Producing::of(&forwarder, Object::new(40_500));
    let path = folder.path("file");
    for at in [0, 1, 7, 39, 40] {
        let mut stopped = false;
        let outcome = to_file(&forwarder, get(), &path, &mut |progress| match progress {
            Progress::Status(status) if status.next > at && !stopped => {
                stopped = true;
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        assert!(matches!(outcome, Err(GetError::Stopped)), "{at}");
        to_file(&forwarder, get(), &path, &mut go_on).unwrap();
        assert!(fs::read(&path).unwrap() == content(40_500), "{at}");
        fs::remove_file(&path).unwrap();
    }
}

/// Leaves a part with 23 segments.
fn leave_a_part(forwarder: &Running, path: &Path) {
    let stuck = Faults { silent_from: Some(23), ..Faults::default() };
    let _producer = Producing::of(forwarder, Object { faults: stuck, ..Object::new(40_500) });
    to_file(forwarder, impatient(), path, &mut go_on).unwrap_err();
}

/// Fetches from a producer into a file. Also returns why an existing part was discarded.
fn gets(forwarder: &Running, path: &Path, object: Object) -> (Vec<Discarded>, Result<Report, GetError>) {
    let _producer = Producing::of(forwarder, object);
    let mut discarded = Vec::new();
    let outcome = to_file(forwarder, impatient(), path, &mut |progress| {
        if let Progress::Discarded(why) = progress {
            discarded.push(why.clone());
        }
        ControlFlow::Continue(())
    });
    (discarded, outcome)
}

#[test]
fn a_part_that_was_changed_is_not_used_and_one_that_is_too_long_is_cut() {
    let folder = Folder::new("get-damaged");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let (path, part) = (folder.path("file"), folder.path("file.part"));
    leave_a_part(&forwarder, &path);
    let mut bytes = fs::read(&part).unwrap();
    bytes.extend_from_slice(b"and more");
    fs::write(&part, &bytes).unwrap();
    let (discarded, outcome) = gets(&forwarder, &path, Object::new(40_500));
    assert_eq!((discarded, outcome.unwrap().bytes), (vec![], 17_500));
    assert!(fs::read(&path).unwrap() == content(40_500));

    for damage in [|bytes: &mut Vec<u8>| bytes[5000] ^= 1, |bytes: &mut Vec<u8>| bytes.truncate(22_999)] {
        leave_a_part(&forwarder, &path);
        let mut bytes = fs::read(&part).unwrap();
        damage(&mut bytes);
        fs::write(&part, &bytes).unwrap();
        let (discarded, outcome) = gets(&forwarder, &path, Object::new(40_500));
        assert_eq!((discarded, outcome.unwrap().bytes), (vec![Discarded::Damaged], 40_500));
        assert!(fs::read(&path).unwrap() == content(40_500));
    }
    fs::write(&part, b"of somebody else").unwrap();
    let (_, outcome) = gets(&forwarder, &path, Object::new(40_500));
    assert!(matches!(outcome, Err(GetError::Foreign(..))));
    assert_eq!(fs::read(&part).unwrap(), b"of somebody else");
}

#[test]
fn a_part_stays_until_something_comes_in_its_place() {
    let folder = Folder::new("get-stays");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let path = folder.path("file");
    leave_a_part(&forwarder, &path);
    let nobody = Get { name: "/get/none".parse().unwrap(), ..impatient() };
    let error = to_file(&forwarder, nobody, &path, &mut go_on).unwrap_err();
    assert!(matches!(error, GetError::Nack(..)), "{error}");
    // A newer version whose segments do not arrive.
    let silent = Faults { silent_from: Some(0), ..Faults::default() };
    let (discarded, outcome) =
        gets(&forwarder, &path, Object { version: 8, faults: silent, ..Object::new(40_500) });
    assert_eq!(discarded, [Discarded::Gone(object_name(7))]);
    outcome.unwrap_err();
    // The name is used as it is; it is not the version's name.
    let producer = Producing::of(&forwarder, Object::new(40_500));
    let as_it_is = Get { discovery: false, ..impatient() };
    let error = to_file(&forwarder, as_it_is, &path, &mut go_on).unwrap_err();
    assert!(matches!(&error, GetError::Missing { object, .. } if object.to_string() == OBJECT), "{error}");
    drop(producer);
    let (discarded, outcome) = gets(&forwarder, &path, Object::new(40_500));
    assert_eq!((discarded, outcome.unwrap().bytes), (vec![], 17_500));
    assert!(fs::read(&path).unwrap() == content(40_500));
}

#[test]
fn another_version_begins_anew_and_other_content_of_a_version_is_an_error() {
    let folder = Folder::new("get-versions");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let path = folder.path("file");
    leave_a_part(&forwarder, &path);
    let (discarded, outcome) = gets(&forwarder, &path, Object { version: 8, ..Object::new(30_500) });
    assert_eq!((discarded, outcome.unwrap().bytes), (vec![Discarded::Gone(object_name(7))], 30_500));
    assert!(fs::read(&path).unwrap() == content(30_500));

    // The rest of the old version is declared absent, or fails verification.
    let gone = Faults { gone: Some(7), ..Faults::default() };
    let spoiled = Faults { spoiled: Some(7), ..Faults::default() };
    for faults in [gone, spoiled] {
        leave_a_part(&forwarder, &path);
        let (discarded, outcome) =
            gets(&forwarder, &path, Object { version: 8, faults, ..Object::new(30_500) });
        assert_eq!((discarded, outcome.unwrap().bytes), (vec![Discarded::Gone(object_name(7))], 30_500));
    }
    // If there is no other object, this is the error.
    leave_a_part(&forwarder, &path);
    let faults = Faults { no_metadata: true, ..spoiled };
    let (_, outcome) = gets(&forwarder, &path, Object { version: 8, faults, ..Object::new(30_500) });
    let error = outcome.unwrap_err();
    assert!(matches!(error, GetError::Invalid { .. }), "{error}");

    leave_a_part(&forwarder, &path);
    let mut other = Object::new(40_500);
    other.content[22_500] ^= 1;
    let (_, outcome) = gets(&forwarder, &path, other);
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("segment 22 of /get/a/v=7 differs from the partial file"), "{error}");
    assert!(folder.path("file.part").exists());
}

#[test]
fn a_version_of_a_clock_that_was_set_back_is_the_newest_all_the_same() {
    let folder = Folder::new("get-set-back");
    let forwarder = Running::start(&folder, "");
    let path = folder.path("file");
    // The part is of a version in the future. The forwarder's store has the rest.
    leave_a_part(&forwarder, &path);
    let faults = Faults { metadata_version: Some(1), ..Faults::default() };
    let mut now = Object { version: 3, faults, ..Object::new(40_500) };
    now.content.iter_mut().for_each(|byte| *byte ^= 0xff);
    let content = now.content.clone();
    let (discarded, outcome) = gets(&forwarder, &path, now);
    assert_eq!(discarded, [Discarded::Gone(object_name(7))]);
    assert_eq!(outcome.unwrap().object, object_name(3));
    assert!(fs::read(&path).unwrap() == content);
    assert!(!folder.path("file.part").exists() && !folder.path("file.part.json").exists());
}

#[test]
fn a_part_of_a_time_when_the_clock_was_ahead_is_gone_on_with() {
    let folder = Folder::new("get-ahead");
    let forwarder = Running::start(&folder, WITHOUT_CACHE);
    let path = folder.path("file");
    leave_a_part(&forwarder, &path);
    let tomorrow = SystemTime::UNIX_EPOCH + Duration::from_millis(wall_ms() + 86_400_000);
    for file in ["file.part", "file.part.json"] {
        File::options().write(true).open(folder.path(file)).unwrap().set_modified(tomorrow).unwrap();
    }
    let faults = Faults { metadata_version: Some(1), ..Faults::default() };
    let (discarded, outcome) = gets(&forwarder, &path, Object { faults, ..Object::new(40_500) });
    assert_eq!((discarded, outcome.unwrap().bytes), (vec![], 17_500));
    assert!(fs::read(&path).unwrap() == content(40_500));
}

#[test]
fn two_at_once_do_not_write_one_file() {
    let folder = Folder::new("get-busy");
    let forwarder = Running::start(&folder, "");
    let _producer = Producing::of(&forwarder, Object::new(40_500));
    let path = folder.path("file");
    let mut second = None;
    to_file(&forwarder, get(), &path, &mut |progress| {
        if let Progress::Found { .. } = progress {
            second = Some(to_file(&forwarder, get(), &path, &mut go_on));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(matches!(second, Some(Err(GetError::Busy(_)))));
    assert!(fs::read(&path).unwrap() == content(40_500));
}

#[test]
fn a_full_disk_is_an_error_and_what_was_written_is_right() {
    let folder = Folder::new("get-full");
    let forwarder = Running::start(&folder, "");
    let _producer = Producing::of(&forwarder, Object::new(40_500));
    let full = to_file(&forwarder, get(), Path::new("/dev/full"), &mut go_on).unwrap_err();
    assert_eq!(full.to_string(), "/dev/full: No space left on device (os error 28)");

    /// A writer with room for few bytes.
    struct Small(Vec<u8>);
    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > 9_500 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (mut app, scheme, mut small) =
        (App::connect(&endpoint(&forwarder)).unwrap(), scheme(), Small(Vec::new()));
    let outcome =
        Fetcher::new(&mut app, get(), &*scheme).to_writer(Path::new("small"), &mut small, &mut go_on);
    assert!(matches!(outcome, Err(GetError::File(..))));
    assert!(small.0 == content(40_500)[..9_000]);
}

#[test]
fn a_reader_reads_the_same_bytes_in_any_portions() {
    let folder = Folder::new("get-reader");
    let forwarder = Running::start(&folder, "");
    let _producer = Producing::of(&forwarder, Object::new(40_500));
    let scheme = scheme();
    for portion in [1, 999, 1000, 7777, 100_000] {
        let mut app = App::connect(&endpoint(&forwarder)).unwrap();
        let mut reader = Fetcher::new(&mut app, get(), &*scheme).into_reader().unwrap();
        assert_eq!(reader.object().name, object_name(7));
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; portion]);
        loop {
            match reader.read(&mut buffer).unwrap() {
                0 => break,
                read => bytes.extend_from_slice(&buffer[..read]),
            }
        }
        assert!(bytes == content(40_500), "{portion}");
    }
}

#[test]
fn a_reader_gives_what_is_right_and_then_the_error_for_ever() {
    let folder = Folder::new("get-reader-error");
    let forwarder = Running::start(&folder, "");
    let faults = Faults { tampered: Some(17), ..Faults::default() };
    let _producer = Producing::of(&forwarder, Object { faults, ..Object::new(40_500) });
    let (mut app, scheme) = (App::connect(&endpoint(&forwarder)).unwrap(), scheme());
    let mut reader = Fetcher::new(&mut app, get(), &*scheme).into_reader().unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 777]);
    let error = loop {
        match reader.read(&mut buffer) {
            Ok(read) => {
                assert!(read > 0, "it has not ended");
                bytes.extend_from_slice(&buffer[..read]);
            }
            Err(error) => break error,
        }
    };
    is_beginning(&bytes, 17);
    let get_error = error.get_ref().and_then(|inner| inner.downcast_ref::<GetError>());
    assert!(matches!(get_error, Some(GetError::Invalid { segment: Some(17), .. })), "{error}");
    for _ in 0..3 {
        assert_eq!(reader.read(&mut buffer).unwrap_err().to_string(), error.to_string());
    }
}

#[test]
fn the_examples_do_what_they_say() {
    let folder = Folder::new("get-examples");
    let forwarder = Running::start(&folder, "");
    let text: Vec<u8> = (0..3000).flat_map(|line| format!("line {line}\n").into_bytes()).collect();
    let _producer = Producing::of(&forwarder, Object { content: text.clone(), ..Object::new(0) });
    let mut app = App::connect(&endpoint(&forwarder)).unwrap();
    let name: Name = OBJECT.parse().unwrap();
    assert_eq!(read_example::lines(&mut app, name.clone()).unwrap(), 3000);
    let path = folder.path("file");
    assert_eq!(get_example::get(&mut app, name, &path).unwrap().bytes, text.len() as u64);
    assert!(fs::read(&path).unwrap() == text);
}

// ---- Reconnection

/// Fetches 400 kB, and calls `then` when a tenth has arrived.
fn get_and(folder: &Folder, forwarder: &Running, mut then: impl FnMut()) {
    let (mut app, scheme) = (App::connect(&endpoint(forwarder)).unwrap(), scheme());
    let path = folder.path("file");
    let mut is_done = false;
    let outcome =
        Fetcher::new(&mut app, get(), &*scheme).to_writer(&path, &mut Slow(Vec::new()), &mut |progress| {
            if let Progress::Status(status) = progress
                && status.next > 40
                && !is_done
            {
                is_done = true;
                then();
            }
            ControlFlow::Continue(())
        });
    assert_eq!(outcome.unwrap().bytes, 400_000);
    assert!(is_done);
}

/// A slow writer.
struct Slow(Vec<u8>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        running::pause(Duration::from_millis(2));
        let at = self.0.len();
        assert_eq!(bytes, &content(400_000)[at..at + bytes.len()]);
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_get_goes_on_when_the_forwarder_comes_back() {
    let folder = Folder::new("get-forwarder");
    let mut forwarder = Some(Running::start(&folder, ""));
    let endpoint = endpoint(forwarder.as_ref().unwrap());
    let _producer = Producing::start(endpoint.clone(), Object::new(400_000));
    let unix = forwarder.as_ref().unwrap().unix.clone();
    let (mut app, scheme) = (App::connect(&Endpoint::Unix(unix)).unwrap(), scheme());
    let mut slow = Slow(Vec::new());
    let mut restarted = false;
    let outcome =
        Fetcher::new(&mut app, get(), &*scheme).to_writer(Path::new("slow"), &mut slow, &mut |progress| {
            if let Progress::Status(status) = progress
                && status.next > 40
                && !restarted
            {
                restarted = true;
                forwarder.take().unwrap().stop();
                forwarder = Some(Running::start(&folder, ""));
            }
            ControlFlow::Continue(())
        });
    assert_eq!((outcome.unwrap().bytes, restarted), (400_000, true));
}

#[test]
fn a_get_goes_on_when_the_producer_comes_back() {
    let folder = Folder::new("get-producer");
    let forwarder = Running::start(&folder, "");
    let mut producer = Some(Producing::of(&forwarder, Object::new(400_000)));
    get_and(&folder, &forwarder, || {
        drop(producer.take());
        producer = Some(Producing::of(&forwarder, Object::new(400_000)));
    });
}

#[test]
fn the_memory_that_is_given_bounds_what_is_asked_for_ahead() {
    let folder = Folder::new("get-memory");
    let forwarder = Running::start(&folder, "");
    let faults = Faults { silent: Some(1), ..Faults::default() };
    let object = Object { faults, ..Object::new(40_500) };
    let asked = Arc::clone(&object.asked);
    let _producer = Producing::of(&forwarder, object);
    let memory = weir_core::units::Bytes::new(11_000);
    let (bytes, outcome) = all(&forwarder, Get { memory, ..impatient() }, None);
    assert_eq!(bytes.len(), SEGMENT);
    assert!(matches!(outcome, Err(GetError::Missing { segment: 1, .. })));
    // Ten segments of about 1060 bytes each on the wire.
    assert_eq!(asked.load(Ordering::Relaxed), 10);
}

/// Answers everything except segments from 50 on, with a Data signed by a key that has this content and declares its
/// segment the last.
struct Hostile {
    key: Key,
    content: Vec<u8>,
    last: Option<u64>,
}

impl Serve for Hostile {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let name = NameRef::from_value(interest.name.wire()).unwrap();
        if interest.name.segment().is_some_and(|segment| segment >= 50) {
            return false;
        }
        let mut buffer = [0; 8];
        let last = self.last.map(|last| Component::number(component_type::SEGMENT, last, &mut buffer));
        let meta = MetaInfo { final_block_id: last, ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::Ed25519);
        self.key.sign(&Data { meta, ..Data::new(name, &self.content, info) }, out).is_ok()
    }
}

#[test]
fn bytes_that_are_no_object_give_errors_and_not_panics() {
    let metadata = |of: &str, more: &[u8]| {
        let mut content = Vec::new();
        Metadata { versioned: of.parse().unwrap(), last_segment: None }.encode(&mut content);
        content.extend_from_slice(more);
        content
    };
    // The last component is a segment number. In the first case it is too large.
    let (last, no_last) = ([26, 10, 50, 8, 255, 255, 255, 255, 255, 255, 255, 255], [26, 3, 50, 9, 1]);
    for (content, end, says) in [
        (Vec::new(), None, "the metadata of /get/a cannot be read"),
        (vec![7, 200, 8, 1, b'x'], Some(0), "the metadata of /get/a cannot be read"),
        (metadata("/get/a/v=7", &no_last), None, "the metadata of /get/a cannot be read"),
        (
            metadata("/localhost/nfd", &[]),
            None,
            "the metadata of /get/a name /localhost/nfd, which is another object",
        ),
        (metadata("/", &[]), None, "the metadata of /get/a name /,"),
        (metadata("/get/a/v=7", &[]), Some(u64::MAX), "segment 50 of /get/a/v=7 is missing"),
        (metadata("/get/a/v=7", &last), None, "segment 50 of /get/a/v=7 is missing"),
        (metadata("/get/a/v=7", &last), Some(0), "says that segment 0 is the last"),
        (metadata("/get/a", &[]), None, "segment 50 of /get/a is missing"),
    ] {
        let folder = Folder::new("get-hostile");
        let forwarder = Running::start(&folder, "");
        let endpoint = endpoint(&forwarder);
        let (ready, is_ready) = mpsc::channel();
        let hostile = Hostile { key: key("/get"), content, last: end };
        thread::spawn(move || {
            let mut app = App::connect(&endpoint).unwrap();
            app.produce(OBJECT.parse().unwrap(), Box::new(hostile)).unwrap();
            ready.send(()).unwrap();
            let _ = app.run(Time::NEVER, &mut |_, _| ControlFlow::Continue(()));
        });
        is_ready.recv().unwrap();
        let error = all(&forwarder, impatient(), None).1.unwrap_err().to_string();
        assert!(error.contains(says), "{error}, not {says}");
        let anchor = self_signed(&key("/get"));
        let (bytes, outcome) = all(&forwarder, impatient(), Some(Trust::Anchor(anchor)));
        assert!(bytes.is_empty() && outcome.is_err(), "{says}");
    }
}
