//! `weir put` as a process, and its messages.

use core::ops::ControlFlow;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::apps::{Put, fails, pattern, signal, succeeds, text, weir, written};
use crate::running::{Folder, Running, pause};
use weir_app::rdr::{Metadata, metadata_name};
use weir_app::{App, OwnedReply, SingleInterest};
use weir_management::client::Endpoint;
use weir_packet::{Data, KeyLocator, Name};

/// Requests each segment of the newest version once. Returns the content, and the last Data.
fn get(folder: &Folder, object: &str) -> (Vec<u8>, Vec<u8>) {
    let mut app = App::connect(&Endpoint::Unix(folder.path("nfd.sock"))).unwrap();
    let mut ask = |interest: SingleInterest| match app
        .wait_for(interest, &mut |_, _| ControlFlow::Continue(()))
        .unwrap()
        .unwrap()
    {
        OwnedReply::Data(wire) => wire,
        other => panic!("{other:?}"),
    };
    let object: Name = object.parse().unwrap();
    let found = SingleInterest {
        can_be_prefix: true,
        must_be_fresh: true,
        ..SingleInterest::new(metadata_name(&object))
    };
    let metadata = Metadata::decode(Data::decode(&ask(found)).unwrap().payload()).unwrap();
    let (mut content, mut wire) = (Vec::new(), Vec::new());
    for segment in 0..=metadata.last_segment.unwrap() {
        wire = ask(SingleInterest::new(metadata.versioned.clone().with_segment(segment)));
        content.extend_from_slice(Data::decode(&wire).unwrap().payload());
    }
    (content, wire)
}

#[test]
fn a_file_is_served_until_it_is_stopped_and_has_the_same_version_from_standard_input() {
    let folder = Folder::new("put");
    let _forwarder = Running::start(&folder, "");
    let file = written(&folder, "file", &pattern(50_000));
    let mut put = Put::start(&folder, &["/put/a", &file], Stdio::null());
    let serving = put.wait("serving");
    assert_eq!((&serving["bytes"], &serving["segments"]), (&50_000.into(), &7.into()));
    assert_eq!(put.wait("registered")["prefix"], "/put/a");
    assert!(get(&folder, "/put/a").0 == pattern(50_000));
    let summary = put.stop();
    assert_eq!(
        (&summary["interests"], &summary["data"], &summary["signed"]),
        (&8.into(), &8.into(), &8.into())
    );
    assert!(summary["bytes"].as_u64().unwrap() > 50_000);
    let mut again = Put::start(&folder, &["/put/a"], File::open(file).unwrap());
    assert_eq!(again.wait("serving"), serving);
    again.wait("registered");
    assert!(get(&folder, "/put/a").0 == pattern(50_000));
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let folder = Folder::new("put-pipe");
    let _forwarder = Running::start(&folder, "");
    let mut put = Put::start(&folder, &["/put/pipe", "-", "--segment-size", "1000"], Stdio::piped());
    let mut stdin = put.child.stdin.take().unwrap();
    stdin.write_all(&pattern(12_345)).unwrap();
    drop(stdin);
    assert_eq!(put.wait("serving")["segments"], 13);
    put.wait("registered");
    assert!(get(&folder, "/put/pipe").0 == pattern(12_345));
}

#[test]
fn the_files_of_a_folder_are_served_and_signed_with_a_key_whose_certificate_is_there() {
    let folder = Folder::new("put-folder");
    let _forwarder = Running::start(&folder, "");
    fs::create_dir_all(folder.path("films/sub")).unwrap();
    fs::write(folder.path("films/sub/a b"), pattern(100)).unwrap();
    succeeds(&folder, &["key", "new", "/alice", "--type", "ecdsa"]);
    let films = folder.path("films");
    let arguments = ["/alice/films", films.to_str().unwrap(), "--sign", "ecdsa", "--key", "/alice"];
    let mut put = Put::start(&folder, &arguments, Stdio::null());
    let certificate: Name = put.wait("certificate")["name"].as_str().unwrap().parse().unwrap();
    let (content, wire) = get(&folder, "/alice/films/sub/a%20b");
    assert_eq!(content, pattern(100));
    let locator = Data::decode(&wire).unwrap().signature.info.key_locator;
    assert_eq!(locator, Some(KeyLocator::Name(certificate.view())));
    let mut app = App::connect(&Endpoint::Unix(folder.path("nfd.sock"))).unwrap();
    let key =
        SingleInterest { can_be_prefix: true, ..SingleInterest::new(certificate.view().prefix(3).to_name()) };
    let answered = app.wait_for(key, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let Some(OwnedReply::Data(wire)) = answered else { panic!("{answered:?}") };
    assert_eq!(Data::decode(&wire).unwrap().name, certificate);
}

#[test]
fn it_waits_for_a_forwarder_that_is_gone() {
    let folder = Folder::new("put-back");
    let forwarder = Running::start(&folder, "");
    let file = written(&folder, "file", b"abc");
    let mut put = Put::start(&folder, &["/put/back", &file], Stdio::null());
    put.wait("registered");
    forwarder.stop();
    assert!(put.wait("warning")["text"].as_str().unwrap().contains("is gone"));
    let _forwarder = Running::start(&folder, "");
    put.wait("connected");
    put.wait("registered");
    assert_eq!(get(&folder, "/put/back").0, b"abc");
}

#[test]
fn who_does_not_read_what_it_says_is_served_all_the_same() {
    let folder = Folder::new("put-unread");
    let _forwarder = Running::start(&folder, "");
    let films = folder.path("films");
    fs::create_dir_all(&films).unwrap();
    // The lines are more than a pipe buffers.
    let names: Vec<String> = (0..600).map(|number| format!("{number}{}", "x".repeat(200))).collect();
    names.iter().for_each(|name| fs::write(films.join(name), b"abc").unwrap());
    let arguments = ["/films", films.to_str().unwrap(), "--settle", "20ms"];
    let mut put = Put::start(&folder, &arguments, Stdio::null());
    put.wait("registered");
    for (at, name) in names.iter().enumerate() {
        assert_eq!(get(&folder, &format!("/films/{name}")).0, b"abc");
        if at == names.len() / 2 {
            // The pipe is full by now, and progress is printed every second.
            pause(Duration::from_millis(1500));
        }
    }
}

#[test]
fn without_a_forwarder_standard_input_is_not_read() {
    let folder = Folder::new("put-unheard");
    let mut child = weir(&folder, &["put", "/a"]).stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(2), "it ends while nobody has closed the pipe");
    drop(stdin);
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let folder = Folder::new("put-errors");
    let file = &*written(&folder, "file", b"abc");
    for words in ["no forwarder can be reached", "--socket"] {
        fails(&folder, &["put", "/a", file], words);
    }
    let _forwarder = Running::start(&folder, "");
    for (arguments, expected) in [
        (&["/a", "/nothing/there"][..], "/nothing/there: No such file or directory"),
        (&["/a", "/dev/null"], "neither a file nor a folder"),
        (&["a/b", file], "invalid value 'a/b'"),
        (&["/a/v=7", file], "wanted /a --version 7"),
        (&["/a", file, "--segment-size", "8800"], "at most 85"),
        (&["/a", file, "--segment-size", "0"], "segments of 0 B do not fit"),
        (&["/a", file, "--sign", "ed25519"], "`weir key new` makes one"),
        (&["/a", file, "--key", "/alice"], "`weir key list` lists them"),
        (&["/a", file, "--sign", "rsa"], "possible values: digest, hmac, ecdsa, ed25519"),
        (&["/a", file, "--sign", "digest", "--key", "/alice"], "--sign digest uses no key"),
        (&["/a", "/tmp", "--version", "1"], "each file of a folder has its own"),
        (&["/a", file, "--hidden"], "--hidden applies only to folders"),
    ] {
        fails(&folder, &[&["put"], arguments].concat(), expected);
    }
    succeeds(&folder, &["key", "new", "/alice"]);
    let (all, keys) = (folder.path(""), folder.path("keys"));
    for path in [&all, &keys] {
        for words in ["the private keys in", "would be served"] {
            fails(&folder, &["put", "/a", path.to_str().unwrap()], words);
        }
    }
    let other = ["put", "/a", file, "--key", "/alice", "--sign", "hmac"];
    fails(&folder, &other, "is a key for ed25519, not for hmac");
}

/// The standard error of a process that has ended with success.
fn warnings_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    text(&output.stderr)
}

#[test]
fn in_words_it_says_what_it_serves_and_warns_of_a_key_for_other_names() {
    let folder = Folder::new("put-words");
    let _forwarder = Running::start(&folder, "");
    let file = written(&folder, "file", b"abc");
    succeeds(&folder, &["key", "new", "/alice"]);
    let arguments = ["put", "/bob", &file, "--key", "/alice", "--version", "7"];
    let mut child = weir(&folder, &arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "/bob/v=7: 3 bytes, segments: 1");
    assert!(lines.next().unwrap().starts_with("/bob is registered at unix://"));
    assert!(lines.next().unwrap().ends_with(": certificate"));
    signal(&child, "-TERM");
    assert!(lines.next().unwrap().starts_with("Answered 0 of 0 Interests in "));
    let warnings = warnings_of(child);
    assert!(warnings.contains("/bob is not under /alice, whose key signs"), "{warnings}");
}

#[test]
fn it_warns_of_what_nobody_can_get() {
    let folder = Folder::new("put-nothing");
    let _forwarder = Running::start(&folder, "");
    let empty = folder.path("empty");
    fs::create_dir_all(empty.join("sub")).unwrap();
    fs::write(empty.join("sub/.hidden"), b"abc").unwrap();
    let empty = empty.to_str().unwrap();
    let warnings = |arguments: &[&str]| {
        let mut child = weir(&folder, arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.next().unwrap().contains("is registered at"));
        signal(&child, "-TERM");
        warnings_of(child)
    };
    let said = warnings(&["put", "/localhost/a", empty]);
    assert!(said.contains("/localhost/a: names under /localhost never leave this host"), "{said}");
    assert!(said.contains("empty: the folder has no files to serve"), "{said}");
    assert_eq!(warnings(&["put", "/a", empty, "--hidden"]), "");
    fails(&folder, &["ping", "/a", "-c", "0"], "invalid value '0'");
    let hints = ["--hint", "/net"].repeat(9);
    for command in ["ping", "get"] {
        fails(
            &folder,
            &[&[command, "/a"], &hints[..]].concat(),
            "--hint is given 9 times: forwarders read 8 at most",
        );
        fails(
            &folder,
            &[command, "/a", "--hint", "/localhop/a"],
            "does not begin with /localhost or /localhop",
        );
        // Such an Interest is longer than any packet. Without an error it would only time out.
        let long = format!("/{}", "x".repeat(4300));
        fails(
            &folder,
            &[command, "/a", "--hint", &long, "--hint", &long],
            "the name and its hints take 8621 bytes together: an Interest has room for 8544",
        );
    }
}
