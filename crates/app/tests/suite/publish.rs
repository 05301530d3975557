//! Answers of a publisher, without a forwarder.
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use weir_app::Serve;
use weir_app::publish::{
    Notice, PublishCounters, PublishError, PublishOptions, Publisher, Signing, Source, TooLarge,
};
use weir_app::rdr::{Metadata, metadata_name};
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::Packet;
use weir_core::units::{Bytes, Span};
use weir_keychain::{Algorithm, Certificate, Key, KeyName, Moment, Step, Trust, Validator, Validity};
use weir_packet::sign::implicit_digest;
use weir_packet::{Component, Data, KeyLocator, Name, Verifier};

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

/// The publisher's answer to an Interest.
fn ask_as(publisher: &mut Publisher, name: &Name, can_be_prefix: bool) -> Option<Vec<u8>> {
    let mut interest = Packet::default();
    interest.name = HashedName::parse(&NameHasher::new(1), name.value()).unwrap();
    interest.can_be_prefix = can_be_prefix;
    let mut out = Vec::new();
    let is_there = publisher.answer(&interest, &mut out);
    is_there.then_some(out)
}

fn ask(publisher: &mut Publisher, name: &Name) -> Option<Vec<u8>> {
    ask_as(publisher, name, false)
}

/// The newest version of an object, as a consumer discovers it.
fn newest(publisher: &mut Publisher, object: &Name) -> Option<Metadata> {
    let wire = ask_as(publisher, &metadata_name(object), true)?;
    Some(Metadata::decode(Data::decode(&wire).unwrap().payload()).unwrap())
}

/// The whole content of a version, as a consumer fetches it; `None` if a segment is missing.
fn whole(publisher: &mut Publisher, versioned: &Name) -> Option<Vec<u8>> {
    let (mut content, mut segment) = (Vec::new(), 0);
    loop {
        let wire = ask(publisher, &versioned.clone().with_segment(segment))?;
        let data = Data::decode(&wire).unwrap();
        assert_eq!(data.name, versioned.clone().with_segment(segment));
        content.extend_from_slice(data.payload());
        if data.is_final_block() {
            return Some(content);
        }
        segment += 1;
    }
}

/// Content in which every byte depends on its position.
fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ salt).collect()
}

/// Notices as text, with the last component of their names.
type Said = Rc<RefCell<Vec<String>>>;

fn publisher(uri: &str, source: Source, options: PublishOptions) -> (Publisher, Said) {
    let said = Said::default();
    let log = Rc::clone(&said);
    let on_notice = move |notice: Notice<'_>| {
        let what = match &notice {
            Notice::Serving { content, segments, .. } => format!("serving {} {segments}", content.as_u64()),
            Notice::Changed(_) => "changed".into(),
            Notice::SameVersion(_) => "same version".into(),
            Notice::BeingWritten(_) => "being written".into(),
            Notice::Unreadable(name, _) => format!("unreadable {name}"),
            Notice::TooLarge(name, error) => format!("{name}: {error}"),
        };
        log.borrow_mut().push(what);
    };
    (Publisher::new(name(uri), source, options, on_notice).unwrap(), said)
}

fn bytes(content: &[u8], segment_size: usize) -> Publisher {
    let options = PublishOptions { segment_size, version: Some(7), ..PublishOptions::default() };
    publisher("/o", Source::bytes(content.to_vec()), options).0
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-publish-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file whose mtime is `age` seconds ago.
    fn write(&self, file: &str, content: &[u8], age: u64) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        set_age(&path, age);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[allow(clippy::disallowed_methods, reason = "files have the time of day")]
fn set_age(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

fn segments_of(size: usize) -> PublishOptions {
    PublishOptions { segment_size: size, ..PublishOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn content_of_any_length_comes_back_from_its_segments(len in 0_usize..50_000, size in 1_usize..8500) {
        prop_assume!(len / size < 3000);
        let content = pattern(len, 3);
        let mut publisher = bytes(&content, size);
        let versioned = name("/o/v=7");
        prop_assert_eq!(whole(&mut publisher, &versioned).unwrap(), content);
        let last = len.div_ceil(size).max(1) as u64 - 1;
        prop_assert_eq!(newest(&mut publisher, &name("/o")).unwrap(),
            Metadata { versioned: versioned.clone(), last_segment: Some(last) });
        prop_assert!(ask(&mut publisher, &versioned.with_segment(last + 1)).is_none());
    }
}

#[test]
fn the_ends_are_where_they_should_be() {
    for (len, segments) in [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (2000, 2), (3000, 3), (3001, 4)] {
        let content = pattern(len, 0);
        let mut publisher = bytes(&content, 1000);
        assert_eq!(whole(&mut publisher, &name("/o/v=7")).unwrap(), content);
        let counters = publisher.published().counters();
        assert_eq!((counters.interests, counters.data, counters.signed), (segments, segments, segments));
        for segment in 0..segments {
            let wire = ask(&mut publisher, &name("/o/v=7").with_segment(segment)).unwrap();
            let data = Data::decode(&wire).unwrap();
            let last = data.meta.final_block_id.unwrap();
            assert_eq!((last.segment(), data.freshness_period_ms()), (Some(segments - 1), 10_000));
            assert_eq!(Verifier::digest().verify_data(&wire), Ok(()));
        }
    }
}

#[test]
fn metadata_are_fresh_for_10_ms_and_have_a_version_of_their_own() {
    let mut publisher = bytes(b"abc", 8000);
    let asked = metadata_name(&name("/o"));
    let first = ask_as(&mut publisher, &asked, true).unwrap();
    let data = Data::decode(&first).unwrap();
    assert_eq!((data.freshness_period_ms(), data.is_final_block()), (10, true));
    let own = data.name.component(2).unwrap().version().unwrap();
    assert!(own > 1_700_000_000_000_000, "µs since 1970: {own}");
    assert_eq!(ask(&mut publisher, &data.name.to_name()).unwrap(), first, "by its whole name");
    assert_eq!(ask(&mut publisher, &asked), None, "its name is longer than that");
    assert_eq!(ask(&mut publisher, &asked.clone().with_version(own - 1).with_segment(0)), None);
    wait(15);
    let second = ask_as(&mut publisher, &asked, true).unwrap();
    assert!(Data::decode(&second).unwrap().name > data.name);
}

/// A file is served after it was unmodified for 20 ms.
fn settle() {
    wait(25);
}

#[allow(clippy::disallowed_methods, reason = "files and metadata have the time of day")]
fn wait(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

#[test]
fn an_interest_that_may_be_a_prefix_gets_the_first_segment() {
    let mut publisher = bytes(&pattern(5000, 0), 1000);
    let first = ask(&mut publisher, &name("/o/v=7/seg=0"));
    assert!(first.is_some());
    for uri in ["/o", "/o/v=7"] {
        assert_eq!(ask_as(&mut publisher, &name(uri), true), first, "{uri}");
        assert_eq!(ask(&mut publisher, &name(uri)), None, "{uri}");
    }
    let digest = implicit_digest(first.as_ref().unwrap());
    let full = name("/o/v=7/seg=0").with(Component::implicit_digest(&digest));
    assert_eq!(ask(&mut publisher, &full), first);
    let other = name("/o/v=7/seg=1").with(Component::implicit_digest(&digest));
    assert_eq!(ask(&mut publisher, &other), None, "another one has this digest");
}

#[test]
fn strange_interests_get_nothing_and_cost_no_signature() {
    let folder = Folder::new("strange");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let (mut publisher, _) = publisher("/o", Source::path(&path).unwrap(), segments_of(1000));
    let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned;
    let version = versioned.view().last().unwrap().version().unwrap();
    let before = publisher.published().counters();
    let huge = vec![b'x'; 8000];
    let names = [
        versioned.clone().with_segment(5),
        versioned.clone().with_segment(u64::MAX),
        name("/o").with_version(version + 1).with_segment(0),
        name("/o").with_version(0).with_segment(0),
        name("/o/v=18446744073709551615/seg=18446744073709551615"),
        name("/o").with(Component::generic(&huge)),
        name("/o").with(Component { typ: 54, value: &huge }).with_segment(0),
        versioned.clone().with(Component { typ: 50, value: &[0, 0] }),
        versioned.clone().with_segment(0).with(Component::generic(b"more")),
        name("/o/x").with_version(version).with_segment(0),
        name("/other/v=7/seg=0"),
        name("/"),
        name("/o/32=metadata/v=1/seg=0"),
    ];
    for name in &names {
        for can_be_prefix in [false, true] {
            assert_eq!(ask_as(&mut publisher, name, can_be_prefix), None, "{name}");
        }
    }
    let after = publisher.published().counters();
    let asked = before.interests + 2 * names.len() as u64;
    assert_eq!(after, PublishCounters { interests: asked, ..before });
}

#[test]
fn a_file_that_is_published_again_has_the_same_version_and_other_segments_another() {
    let folder = Folder::new("again");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let publish = |size| publisher("/o", Source::path(&path).unwrap(), segments_of(size)).0;
    let (mut first, mut second) = (publish(1000), publish(1000));
    let metadata = newest(&mut first, &name("/o")).unwrap();
    assert_eq!(newest(&mut second, &name("/o")).unwrap(), metadata);
    let segment = metadata.versioned.clone().with_segment(3);
    assert_eq!(ask(&mut publish(1000), &segment), ask(&mut first, &segment), "without asking for metadata");
    let mut other = publish(999);
    assert_ne!(newest(&mut other, &name("/o")).unwrap().versioned, metadata.versioned);
    assert_eq!(ask(&mut other, &segment), None);
    let opened = Source::open_file(File::open(&path).unwrap()).unwrap();
    let (mut opened, _) = publisher("/o", opened, segments_of(1000));
    assert_eq!(whole(&mut opened, &metadata.versioned).unwrap(), pattern(5000, 0), "it is the same file");
}

#[test]
fn a_file_that_is_written_to_is_another_version_and_never_a_mix() {
    let folder = Folder::new("written");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let (mut publisher, said) = publisher("/o", Source::path(&path).unwrap(), segments_of(1000));
    let old = newest(&mut publisher, &name("/o")).unwrap().versioned;
    let first = ask(&mut publisher, &old.clone().with_segment(0)).unwrap();
    folder.write("file", &pattern(7000, 9), 5);
    assert_eq!(ask(&mut publisher, &old.clone().with_segment(1)), None, "nothing of the new is in the old");
    assert_eq!(ask(&mut publisher, &old.clone().with_segment(0)), None);
    settle();
    let new = newest(&mut publisher, &name("/o")).unwrap();
    assert!(new.versioned > old);
    assert_eq!(whole(&mut publisher, &new.versioned).unwrap(), pattern(7000, 9));
    assert_ne!(ask(&mut publisher, &new.versioned.with_segment(0)), Some(first));
    assert_eq!(*said.borrow(), ["serving 5000 5", "changed", "serving 7000 7"]);
}

#[test]
fn a_file_that_is_replaced_is_served_to_its_end() {
    let folder = Folder::new("replaced");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let (mut publisher, said) = publisher("/o", Source::path(&path).unwrap(), segments_of(1000));
    let old = newest(&mut publisher, &name("/o")).unwrap().versioned;
    fs::rename(folder.write("new", &pattern(3000, 9), 5), &path).unwrap();
    settle();
    let new = newest(&mut publisher, &name("/o")).unwrap().versioned;
    assert_eq!(whole(&mut publisher, &old).unwrap(), pattern(5000, 0));
    assert_eq!(whole(&mut publisher, &new).unwrap(), pattern(3000, 9));
    fs::remove_file(&path).unwrap();
    settle();
    for _ in 0..2 {
        assert_eq!(newest(&mut publisher, &name("/o")), None);
    }
    let told = said.borrow().iter().filter(|said| *said == "unreadable /o").count();
    assert_eq!(told, 1, "that it is gone: {said:?}");
    assert_eq!(whole(&mut publisher, &new).unwrap(), pattern(3000, 9));
    for turn in 0..10 {
        folder.write("file", &pattern(100, turn), 4);
        settle();
        let _ = newest(&mut publisher, &name("/o"));
    }
    assert_eq!(ask(&mut publisher, &old.with_segment(0)), None, "only the last versions are kept");
}

#[test]
fn what_is_published_after_the_clock_was_set_back_is_the_newest_and_no_mix_with_what_was_before() {
    let published = |version, salt| {
        let options =
            PublishOptions { segment_size: 1000, version: Some(version), ..PublishOptions::default() };
        publisher("/o", Source::bytes(pattern(5000, salt)), options).0
    };
    let (mut before, mut after) = (published(2_000, 1), published(1_000, 2));
    let old = newest(&mut before, &name("/o")).unwrap().versioned;
    let new = newest(&mut after, &name("/o")).unwrap().versioned;
    assert!(new < old);
    assert_eq!(whole(&mut after, &new).unwrap(), pattern(5000, 2));
    assert_eq!(ask(&mut after, &old.with_segment(0)), None);
}

/// Sets the mtime back to its old value, as `cp -p`, `tar -x` and `rsync -t` do.
fn set_modified(path: &Path, modified: SystemTime) {
    File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
}

#[test]
fn what_has_the_time_of_modification_of_another_has_a_version_of_its_own() {
    for is_replaced in [false, true] {
        let folder = Folder::new("times");
        let path = folder.write("file", &pattern(5000, 0), 10);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let publish = || publisher("/o", Source::path(&path).unwrap(), segments_of(1000)).0;
        let mut running = publish();
        let old = newest(&mut running, &name("/o")).unwrap().versioned;
        let written = folder.write(if is_replaced { "new" } else { "file" }, &pattern(5000, 9), 10);
        set_modified(&written, modified);
        if is_replaced {
            fs::rename(&written, &path).unwrap();
        }
        settle();
        let new = newest(&mut running, &name("/o")).unwrap().versioned;
        assert_ne!(new, old);
        assert_eq!(whole(&mut running, &new).unwrap(), pattern(5000, 9));
        assert_eq!(whole(&mut running, &old), is_replaced.then(|| pattern(5000, 0)));
        let mut restarted = publish();
        assert_eq!(newest(&mut restarted, &name("/o")).unwrap().versioned, new);
        assert_eq!(ask(&mut restarted, &old.with_segment(0)), None, "nothing of the new is in the old");
    }
}

#[test]
fn what_is_signed_otherwise_has_another_version() {
    let folder = Folder::new("signed");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let version = |signing| {
        let options = PublishOptions { signing, ..segments_of(1000) };
        let (mut publisher, _) = publisher("/o", Source::path(&path).unwrap(), options);
        newest(&mut publisher, &name("/o")).unwrap().versioned
    };
    let key = || Key::generate_named(key_name(), Algorithm::Hmac).unwrap();
    let signed = version(Signing::Key(key()));
    assert_ne!(signed, version(Signing::Digest));
    assert_eq!(signed, version(Signing::Key(key())), "when it is started again");
}

#[test]
fn what_a_key_signs_leads_to_the_certificate_that_the_anchor_issued() {
    let [root, key] = ["/lab", "/lab/alice"]
        .map(|identity| Key::generate(name(identity).view(), Algorithm::Ed25519).unwrap());
    let now = Moment::from_unix_ms(1_795_315_881_501);
    let validity = Validity { not_before: now, not_after: now.plus_days(1) };
    let anchor = Certificate::self_signed(&root, now, validity).unwrap();
    let (public, by) = (key.public_key_der().unwrap(), (&root, Component::generic(b"lab")));
    let issued = Certificate::issue(key.name(), &public, by, 7, validity).unwrap();
    let signing = Signing::Certified(key, issued.name().to_name());
    let options = PublishOptions { signing, ..segments_of(1000) };
    let (mut publisher, _) = publisher("/lab/alice/o", Source::bytes(vec![1]), options);
    let wire = ask_as(&mut publisher, &name("/lab/alice/o"), true).unwrap();
    let mut validator = Validator::new(Trust::Anchor(anchor)).unwrap();
    assert_eq!(validator.check(&wire, now), Step::Wants(issued.name().to_name()));
    validator.supply(issued.name(), issued.wire()).unwrap();
    assert_eq!(validator.check(&wire, now), Step::Valid);
}

/// The name of a key, the same in each run.
fn key_name() -> KeyName {
    KeyName::new(name("/me").view(), Component::generic(b"one"))
}

#[test]
fn a_file_without_a_name_is_the_same_as_with_one() {
    let folder = Folder::new("removed");
    let path = folder.write("file", &pattern(5000, 0), 10);
    let opened = Source::open_file(File::open(&path).unwrap()).unwrap();
    let (mut publisher, said) = publisher("/o", opened, segments_of(1000));
    let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned;
    fs::remove_file(&path).unwrap();
    settle();
    assert_eq!(newest(&mut publisher, &name("/o")).unwrap().versioned, versioned);
    assert_eq!(whole(&mut publisher, &versioned).unwrap(), pattern(5000, 0));
    assert_eq!(*said.borrow(), ["serving 5000 5"]);
}

#[test]
fn what_has_no_version_of_its_own_is_not_served() {
    for is_replaced in [false, true] {
        let folder = Folder::new("same");
        let path = folder.write("file", &pattern(5001, 9), 10);
        let given = PublishOptions { version: Some(3), ..segments_of(1000) };
        let (mut publisher, said) = publisher("/o", Source::path(&path).unwrap(), given);
        assert_eq!(newest(&mut publisher, &name("/o")).unwrap().versioned, name("/o/v=3"));
        let written = folder.write(if is_replaced { "new" } else { "file" }, &pattern(5001, 8), 1);
        if is_replaced {
            fs::rename(&written, &path).unwrap();
        }
        settle();
        assert_eq!(newest(&mut publisher, &name("/o")), None);
        assert_eq!(ask(&mut publisher, &name("/o/v=3/seg=4")), None);
        assert_eq!(*said.borrow(), ["serving 5001 6", "changed", "same version"]);
    }
}

#[test]
fn a_file_that_was_written_just_now_is_waited_for_and_then_any_change_shows() {
    let folder = Folder::new("now");
    let path = folder.0.join("file");
    for turn in 0..20 {
        fs::write(&path, pattern(3000, turn)).unwrap();
        let (mut publisher, _) = publisher("/o", Source::path(&path).unwrap(), segments_of(1000));
        let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned;
        // As soon as possible, and with the same length.
        fs::write(&path, pattern(3000, turn + 100)).unwrap();
        let served = whole(&mut publisher, &versioned);
        assert!(served.is_none() || served == Some(pattern(3000, turn)), "turn {turn}");
        wait(25);
        let changed = newest(&mut publisher, &name("/o")).unwrap().versioned;
        assert_ne!(changed, versioned, "turn {turn}");
        assert!(whole(&mut publisher, &changed).unwrap() == pattern(3000, turn + 100));
    }
}

#[test]
fn a_reader_is_read_to_its_end_and_served_from_a_file_without_a_name() {
    let (mut ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let content = pattern(300_000, 1);
    let sent = content.clone();
    let writer = std::thread::spawn(move || theirs.write_all(&sent).unwrap());
    let source = Source::reader(&mut ours).unwrap();
    writer.join().unwrap();
    let (mut publisher, _) = publisher("/o", source, PublishOptions::default());
    let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned;
    assert_eq!(whole(&mut publisher, &versioned).unwrap(), content);
    let left = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let own = format!("weir-{}-", std::process::id());
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(&own)));
}

#[test]
fn every_file_of_a_folder_is_an_object() {
    let folder = Folder::new("folder");
    let odd = "odd/a b%=é\n";
    for (at, file) in ["top", "sub/a", "sub/b", "sub/deep/c", odd].into_iter().enumerate() {
        folder.write(file, &pattern(1500 * at, at as u8), 10 + at as u64);
    }
    settle();
    let options = PublishOptions { open_files: 2, ..segments_of(1000) };
    let (mut publisher, said) = publisher("/f", Source::path(&folder.0).unwrap(), options);
    let object = |file: &str| {
        file.split('/').fold(name("/f"), |name, part| name.with(Component::generic(part.as_bytes())))
    };
    for _ in 0..2 {
        for (at, file) in ["top", "sub/a", "sub/b", "sub/deep/c", odd].into_iter().enumerate() {
            let versioned = newest(&mut publisher, &object(file)).unwrap().versioned;
            assert_eq!(whole(&mut publisher, &versioned).unwrap(), pattern(1500 * at, at as u8), "{file}");
        }
    }
    assert_eq!(said.borrow().len(), 5, "each is told of once: {said:?}");
    for missing in ["nothing", "sub", "sub/deep", "top/x", ".."] {
        assert_eq!(newest(&mut publisher, &object(missing)), None, "{missing}");
        assert_eq!(ask_as(&mut publisher, &object(missing), true), None, "{missing}");
    }
    assert_eq!(newest(&mut publisher, &name("/f")), None);
    assert_eq!(said.borrow().len(), 5, "what never was is not told of: {said:?}");
}

#[test]
fn a_file_that_is_being_written_is_not_served_in_a_pause() {
    let folder = Folder::new("pause");
    folder.write("file", b"the first half", 0);
    settle();
    let publish = |settling| {
        let options = PublishOptions { settling, ..segments_of(1000) };
        publisher("/f", Source::path(&folder.0).unwrap(), options)
    };
    let (mut patient, said) = publish(Span::from_secs(600));
    assert_eq!(newest(&mut patient, &name("/f/file")), None);
    assert_eq!(*said.borrow(), ["being written"]);
    let (mut hasty, _) = publish(Span::ZERO);
    assert!(newest(&mut hasty, &name("/f/file")).is_some());
}

#[test]
fn hidden_files_are_served_where_they_are_wanted() {
    let folder = Folder::new("hidden");
    folder.write(".ssh/key", b"secret", 0);
    folder.write("top", b"x", 0);
    settle();
    let publish = |source: Source| publisher("/f", source, segments_of(1000)).0;
    let open = || Source::path(&folder.0).unwrap();
    let finds = |mut publisher: Publisher, uri: &str| newest(&mut publisher, &name(uri)).is_some();
    assert!(finds(publish(open()), "/f/top") && !finds(publish(open()), "/f/.ssh/key"));
    assert!(finds(publish(open().with_hidden()), "/f/.ssh/key"));
}

#[test]
fn what_is_asked_for_again_is_not_signed_again() {
    for algorithm in Algorithm::ALL {
        let key = Key::generate(name("/me").view(), algorithm).unwrap();
        let (verifier, key_name) = (key.verifier().unwrap(), key.name().clone());
        let options = PublishOptions { signing: Signing::Key(key), ..segments_of(1000) };
        let (mut publisher, _) = publisher("/o", Source::bytes(pattern(3000, 0)), options);
        let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned;
        let mut packets = Vec::new();
        for _ in 0..3 {
            packets = (0..3)
                .map(|segment| ask(&mut publisher, &versioned.clone().with_segment(segment)).unwrap())
                .collect();
        }
        for packet in &packets {
            assert_eq!(verifier.verify_data(packet), Ok(()), "{algorithm}");
            let locator = Data::decode(packet).unwrap().signature.info.key_locator;
            assert_eq!(locator, Some(KeyLocator::Name(key_name.name())));
        }
        let counters = publisher.published().counters();
        assert_eq!((counters.data, counters.signed), (10, 4), "three segments and the metadata: {algorithm}");
    }
    let options = PublishOptions { cache: Bytes::ZERO, ..segments_of(1000) };
    let (mut publisher, _) = publisher("/o", Source::bytes(pattern(1000, 0)), options);
    let versioned = newest(&mut publisher, &name("/o")).unwrap().versioned.with_segment(0);
    assert_eq!(ask(&mut publisher, &versioned), ask(&mut publisher, &versioned));
    assert_eq!(publisher.published().counters().signed, 3);
}

#[test]
fn segments_that_do_not_fit_are_refused_with_the_size_that_does() {
    let long = "x".repeat(300);
    for uri in ["/o".to_owned(), format!("/{long}")] {
        for algorithm in [None, Some(Algorithm::Ecdsa), Some(Algorithm::Hmac)] {
            let signed = |size| {
                let key = |algorithm| Signing::Key(Key::generate_named(key_name(), algorithm).unwrap());
                let signing = algorithm.map_or(Signing::Digest, key);
                PublishOptions { signing, version: Some(u64::MAX), ..segments_of(size) }
            };
            let publish =
                |size| Publisher::new(name(&uri), Source::bytes(vec![1; 20_000]), signed(size), |_| {});
            let refused = publish(8800).unwrap_err();
            let PublishError::TooLarge(TooLarge { most, .. }) = refused else { panic!("{refused}") };
            assert!(refused.to_string().contains(&format!("at most {most} B do")), "{refused}");
            assert!((8000..8600).contains(&most), "{most}");
            assert!(publish(most + 1).is_err());
            let mut fits = publish(most).unwrap();
            let versioned = newest(&mut fits, &name(&uri)).unwrap().versioned;
            let wire = ask(&mut fits, &versioned.with_segment(0)).unwrap();
            // The length with the longest possible signature, and 160 B for the link header.
            let longest = wire.len() + 72 - Data::decode(&wire).unwrap().signature.value.len();
            assert_eq!(longest, 8800 - 160, "{algorithm:?}");
        }
    }
    for (uri, size) in [("/o".to_owned(), 0), (format!("/{}", "x".repeat(8700)), 1)] {
        let refused = Publisher::new(name(&uri), Source::bytes(vec![1]), segments_of(size), |_| {});
        assert!(matches!(refused, Err(PublishError::TooLarge(_))));
    }
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_why() {
    let folder = Folder::new("errors");
    let missing = folder.0.join("missing");
    let error = Source::path(&missing).unwrap_err().to_string();
    assert!(error.starts_with(&missing.display().to_string()) && error.contains("No such file"), "{error}");
    let error = Source::path(Path::new("/dev/null")).unwrap_err().to_string();
    assert!(error.contains("neither a file nor a folder"), "{error}");
}

#[test]
fn freshness_is_as_given() {
    let options = PublishOptions { freshness: Span::from_millis(1500), ..segments_of(1000) };
    let (mut publisher, _) = publisher("/o", Source::bytes(vec![1]), options);
    let wire = ask_as(&mut publisher, &name("/o"), true).unwrap();
    assert_eq!(Data::decode(&wire).unwrap().freshness_period_ms(), 1500);
}
