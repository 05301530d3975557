//! `weir get` as a process: its files, its messages, and its exit codes.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::apps::{Put, fails, path, pattern, run, signal, succeeds, text, weir, written};
use crate::running::{Folder, Peer, Running, SECOND, now, pause};
use serde_json::{Value, json};
use weir_app::rdr::{Metadata, metadata_name};
use weir_packet::{Component, Data, MetaInfo, Name, SignatureInfo, SignatureType, Signer, component_type};

/// Runs `weir put` for a file with a pattern.
fn publish(folder: &Folder, name: &str, len: usize, more: &[&str]) -> Put {
    let file = written(folder, "file", &pattern(len));
    let mut put = Put::start(folder, &[&[name, &file], more].concat(), Stdio::null());
    while put.wait("registered")["prefix"] != name {}
    put.hang_up();
    put
}

#[test]
fn content_goes_to_standard_output_or_to_a_file_and_statistics_beside_it() {
    let folder = Folder::new("cli-get");
    let _forwarder = Running::start(&folder, "");
    let _put = publish(&folder, "/movies/a", 50_000, &[]);
    let output = succeeds(&folder, &["get", "/movies/a"]);
    assert!(output.stdout == pattern(50_000) && output.stderr.is_empty(), "{}", text(&output.stderr));
    let output = succeeds(&folder, &["get", "/movies/a", "--json"]);
    assert!(output.stdout == pattern(50_000));
    let beside: Value = serde_json::from_slice(&output.stderr).unwrap();
    let got = path(&folder, "got");
    let output = succeeds(&folder, &["get", "/movies/a", "-o", &got, "--json", "--class", "EF"]);
    assert!(fs::read(&got).unwrap() == pattern(50_000) && output.stderr.is_empty());
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    for statistics in [&told, &beside] {
        assert_eq!(statistics["name"], "/movies/a");
        assert!(statistics["object"].as_str().unwrap().starts_with("/movies/a/v="), "{statistics}");
        assert_eq!((&statistics["verified"], &statistics["scheme"]), (&"digest".into(), &"bbr".into()));
        assert_eq!(
            (&statistics["delivered_bytes"], &statistics["segments"], &statistics["resumed_bytes"]),
            (&50_000.into(), &7.into(), &0.into())
        );
        assert!(statistics["sent"].as_u64().unwrap() >= 7 && statistics["delay_ms"]["p50"].is_number());
        assert!(statistics["goodput_bps"].as_f64().unwrap() > 0.0);
    }
    assert_eq!((&told["class"], &beside["class"]), (&"EF".into(), &"BE".into()));
}

/// The consumer measures its own hop, and the forwarder reports how much of the delay is beyond that hop.
#[test]
fn a_file_comes_under_hbhcm_through_a_forwarder_that_runs_it() {
    let folder = Folder::new("cli-get-hbhcm");
    let _forwarder = Running::start(&folder, "[scheme]\nname = \"hbhcm\"\n");
    let _put = publish(&folder, "/movies/b", 3_000_000, &[]);
    let output = succeeds(&folder, &["get", "/movies/b", "--scheme", "hbhcm", "--json"]);
    assert!(output.stdout == pattern(3_000_000));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&told["scheme"], &told["delivered_bytes"]), (&"hbhcm".into(), &3_000_000.into()));
}

/// The forwarder labels the packets that it forwards, and the consumer has one path.
#[test]
fn a_file_comes_under_dpccp_through_forwarders_that_run_it_or_know_nothing_of_it() {
    for (name, config) in [("runs", "[scheme]\nname = \"dpccp\"\n"), ("plain", "")] {
        let folder = Folder::new(&format!("cli-get-dpccp-{name}"));
        let _forwarder = Running::start(&folder, config);
        let _put = publish(&folder, "/movies/c", 3_000_000, &[]);
        let output = succeeds(&folder, &["get", "/movies/c", "--scheme", "dpccp", "--json"]);
        assert!(output.stdout == pattern(3_000_000));
        let told: Value = serde_json::from_slice(&output.stderr).unwrap();
        assert_eq!((&told["scheme"], &told["delivered_bytes"]), (&"dpccp".into(), &3_000_000.into()));
    }
}

/// A consumer that follows rates but receives none probes for one, and reports this once.
#[test]
fn a_file_comes_under_qsccp_through_a_forwarder_that_says_no_rate() {
    let folder = Folder::new("cli-get-untold");
    let _forwarder = Running::start(&folder, "");
    let _put = publish(&folder, "/movies/q", 30_000_000, &[]);
    let output = succeeds(&folder, &["get", "/movies/q", "--scheme", "qsccp"]);
    assert!(output.stdout == pattern(30_000_000));
    let said = text(&output.stderr);
    assert_eq!(
        said.matches("no forwarder on the path has reported a rate so far: probing for one").count(),
        1,
        "{said}"
    );
    let output = succeeds(&folder, &["get", "/movies/q"]);
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

/// Each Data reports the queue of the link, and the window keeps that queue short.
#[test]
fn a_file_comes_under_e2e_aqm_over_a_link_whose_queue_it_hears_of() {
    let folders = ["cli-get-e2e-near", "cli-get-e2e-far"].map(Folder::new);
    let scheme = "[scheme]\nname = \"e2e-aqm\"\n";
    let near = Running::start(&folders[0], scheme);
    let face = format!("[[face]]\nname = \"near\"\nremote = \"udp4://{}\"\nrate = \"20 Mb/s\"\n", near.udp);
    let far = Running::start(&folders[1], &format!("{scheme}{face}"));
    let _put = publish(&folders[1], "/movies/c", 3_000_000, &[]);
    succeeds(&folders[0], &["route", "add", "/movies", &format!("udp4://{}", far.udp)]);
    let output = succeeds(&folders[0], &["get", "/movies/c", "--scheme", "e2e-aqm", "--json"]);
    assert!(output.stdout == pattern(3_000_000));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&told["scheme"], &told["delivered_bytes"]), (&"e2e-aqm".into(), &3_000_000.into()));
    assert!(told["marks"].as_u64().unwrap() >= told["segments"].as_u64().unwrap(), "{told}");
}

/// The near forwarder has no route for the name, but one for the network of its producer.
#[test]
fn by_a_hint_a_file_and_answers_to_pings_come_from_where_no_route_leads() {
    let folders = ["cli-hint-near", "cli-hint-far"].map(Folder::new);
    let _near = Running::start(&folders[0], "");
    let far = Running::start(&folders[1], "[tables]\nregions = [\"/net/far\"]\n");
    succeeds(&folders[1], &["key", "new", "/movies"]);
    let certificate = path(&folders[1], "movies.cert");
    succeeds(&folders[1], &["key", "export", "/movies", "-o", &certificate]);
    let _put = publish(&folders[1], "/movies/h", 3_000_000, &["--key", "/movies"]);
    let mut server = weir(&folders[1], &["ping-server", "/movies", "--quiet"]).spawn().unwrap();
    succeeds(&folders[0], &["route", "add", "/net/far", &format!("udp4://{}", far.udp)]);
    let get =
        |more: &[&str]| run(&folders[0], &[&["get", "/movies/h", "--key", &certificate], more].concat());
    let ping = |more: &[&str]| {
        run(&folders[0], &[&["ping", "/movies", "-c", "20", "-i", "20ms", "--timeout", "1s"], more].concat())
    };
    let unrouted = [get(&[]), get(&["--hint", "/net/nowhere"])];
    for output in unrouted {
        assert!(text(&output.stderr).contains("there is no route to /movies/h"), "{}", text(&output.stderr));
    }
    assert!(text(&ping(&[]).stdout).contains("20 sent, 0 received, 20 nacks"));
    let hint = ["--hint", "/net/nowhere", "--hint", "/net/far"];
    let output = get(&hint);
    assert!(output.stdout == pattern(3_000_000), "{}", text(&output.stderr));
    let summary = text(&ping(&hint).stdout);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(!summary.contains("20 sent, 0 received"), "{summary}");
}

/// The far forwarder is in that network, and the certificate must be fetched too.
#[test]
fn a_certificate_comes_by_the_hint_or_from_elsewhere() {
    let folders = ["cli-hint-trust-near", "cli-hint-trust-far"].map(Folder::new);
    let _near = Running::start(&folders[0], "");
    let far = Running::start(&folders[1], "[tables]\nregions = [\"/net/far\"]\n");
    let [anchor, request, issued] =
        ["lab.cert", "alice.request", "alice.cert"].map(|file| path(&folders[1], file));
    succeeds(&folders[1], &["key", "new", "/lab", "--default"]);
    succeeds(&folders[1], &["key", "export", "/lab", "-o", &anchor]);
    succeeds(&folders[1], &["key", "new", "/lab/alice"]);
    succeeds(&folders[1], &["key", "export", "/lab/alice", "-o", &request]);
    let certified = succeeds(&folders[1], &["key", "certify", &request, "--issuer", "lab"]);
    fs::write(&issued, certified.stdout).unwrap();
    succeeds(&folders[1], &["key", "import", &issued]);
    let _put = publish(&folders[1], "/lab/alice/h", 50_000, &["--key", "/lab/alice"]);
    succeeds(&folders[0], &["route", "add", "/net/far", &format!("udp4://{}", far.udp)]);
    let output = succeeds(&folders[0], &["get", "/lab/alice/h", "--anchor", &anchor, "--hint", "/net/far"]);
    assert!(output.stdout == pattern(50_000));
}

/// The forwarder holds Interests back, and tells the consumer how many wait.
#[test]
fn a_file_comes_under_ndn_qsf_through_a_forwarder_that_runs_it() {
    let folder = Folder::new("cli-get-qsf");
    let _forwarder = Running::start(&folder, "[scheme]\nname = \"ndn-qsf\"\n");
    let _put = publish(&folder, "/movies/q", 3_000_000, &[]);
    let output = succeeds(&folder, &["get", "/movies/q", "--scheme", "ndn-qsf", "--json"]);
    assert!(output.stdout == pattern(3_000_000));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&told["scheme"], &told["delivered_bytes"]), (&"ndn-qsf".into(), &3_000_000.into()));
}

/// CoDel drops Data at the queue of the link, and the consumer requests them again.
#[test]
fn a_file_comes_under_tcp_newreno_over_a_link_whose_queue_drops() {
    let folders = ["cli-get-tcp-near", "cli-get-tcp-far"].map(Folder::new);
    let scheme = "[scheme]\nname = \"tcp-newreno\"\n";
    let near = Running::start(&folders[0], scheme);
    let face = format!("[[face]]\nname = \"near\"\nremote = \"udp4://{}\"\nrate = \"100 Mb/s\"\n", near.udp);
    let far = Running::start(&folders[1], &format!("{scheme}{face}"));
    let _put = publish(&folders[1], "/movies/t", 6_000_000, &[]);
    succeeds(&folders[0], &["route", "add", "/movies", &format!("udp4://{}", far.udp)]);
    let output = succeeds(&folders[0], &["get", "/movies/t", "--scheme", "tcp-newreno", "--json"]);
    assert!(output.stdout == pattern(6_000_000));
    let told: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&told["scheme"], &told["delivered_bytes"]), (&"tcp-newreno".into(), &6_000_000.into()));
    assert!(told["retransmitted"].as_u64().unwrap() > 0, "{told}");
}

#[test]
fn what_cannot_be_is_an_error_that_says_why() {
    let folder = Folder::new("cli-get-errors");
    let forwarder = Running::start(&folder, "");
    let got = path(&folder, "got");
    fails(&folder, &["get", "/movies/none", "-o", &got], "there is no route to /movies/none");
    assert!(!folder.path("got").exists() && !folder.path("got.part").exists());
    let version = ["get", "/movies/none/v=1", "--no-discovery", "--patience", "1s"];
    fails(&folder, &version, "the last one because there is no route (NoRoute)");
    fs::write(folder.path("got.part"), b"of a browser").unwrap();
    fails(
        &folder,
        &["get", "/movies/none", "-o", &got],
        "got.part: it has no record of its content: remove it",
    );
    assert_eq!(fs::read(folder.path("got.part")).unwrap(), b"of a browser");
    let pem = path(&folder, "lab.pem");
    succeeds(&folder, &["key", "new", "/lab", "--type", "hmac"]);
    succeeds(&folder, &["key", "export", "/lab", "--private", "--format", "pem", "-o", &pem]);
    for (option, value, words) in [
        ("--scheme", "tcp", "there is no scheme `tcp`\n  = `weir list` prints the schemes"),
        ("--scheme", "brr", "there is no scheme `brr`; did you mean `bbr`?"),
        ("--param", "cubic.beta=1", "the scheme is bbr: wanted bbr.KEY=VALUE, or --scheme cubic"),
        ("--param", "bbr.beta=much", "--param bbr.beta"),
        ("--param", "bbr.initial_windw=20", "did you mean `initial_window`?"),
        ("--param", "much", "wanted SCHEME.KEY=VALUE"),
        ("--lifetime", "0s", "a lifetime is between 1 ms and 1 h"),
        ("--memory", "1 kB", "wanted 1 MB or more"),
        ("--key", "no key", "there is no such file and no key of this name"),
        ("--key", "/none", "/none"),
        ("--anchor", "/none", "/none"),
        ("--anchor", "no certificate", "there is no such file"),
        ("--anchor", "/lab", "an HMAC key has no certificate, so it cannot be an anchor: use --key /lab"),
        ("--anchor", &pem, "an HMAC key has no certificate"),
    ] {
        fails(&folder, &["get", "/movies/a", option, value], words);
    }
    forwarder.stop();
    fails(&folder, &["get", "/movies/a"], "nfd.sock");
}

#[test]
fn it_is_believed_what_the_given_key_or_anchor_says() {
    let folder = Folder::new("cli-get-trust");
    let _forwarder = Running::start(&folder, "");
    for identity in ["/alice", "/bob"] {
        succeeds(&folder, &["key", "new", identity]);
        let file = path(&folder, &format!("{}.cert", &identity[1..]));
        succeeds(&folder, &["key", "export", identity, "-o", &file]);
    }
    let (alice, bob) = (path(&folder, "alice.cert"), path(&folder, "bob.cert"));
    let got = path(&folder, "got");
    let _put = publish(&folder, "/alice/a", 50_000, &["--key", "/alice"]);
    for option in ["--key", "--anchor"] {
        for right in ["/alice", &alice] {
            let arguments = ["get", "/alice/a", "-o", &got, "--json", option, right];
            let told: Value = serde_json::from_slice(&succeeds(&folder, &arguments).stdout).unwrap();
            assert_eq!(told["verified"], option[2..]);
            assert!(fs::read(&got).unwrap() == pattern(50_000));
            fs::remove_file(&got).unwrap();
        }
        for wrong in ["/bob", &bob] {
            let arguments = ["get", "/alice/a", "-o", &got, "--patience", "3s", option, wrong];
            fails(&folder, &arguments, "cannot be trusted");
            if option == "--key" {
                fails(&folder, &arguments, "not by the given key /bob/KEY/");
            }
            assert!(!folder.path("got").exists() && !folder.path("got.part").exists());
        }
    }
    let output = succeeds(&folder, &["get", "/alice/a", "-o", &got, "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["verified"], "none");
    assert!(text(&output.stderr).contains("were not checked"), "{}", text(&output.stderr));
    let block = |identity| succeeds(&folder, &["key", "export", identity, "--format", "ndnd"]).stdout;
    fs::write(folder.path("both.cert"), [block("/alice"), block("/bob")].concat()).unwrap();
    let both = path(&folder, "both.cert");
    fails(&folder, &["get", "/alice/a", "--anchor", &both], "the file has 2 certificates: wanted one");
}

#[test]
fn ctrl_c_ends_it_with_130_and_the_same_command_goes_on_under_the_same_trust() {
    let folder = Folder::new("cli-get-stopped");
    let _forwarder = Running::start(&folder, "");
    let put = publish(&folder, "/movies/a", 100_000_000, &[]);
    let (got, part) = (path(&folder, "got"), folder.path("got.part"));
    let mut getting = weir(&folder, &["get", "/movies/a", "-o", &got, "--patience", "0s"]).spawn().unwrap();
    let until = now() + 60 * SECOND;
    while !part.exists() || fs::metadata(&part).unwrap().len() == 0 {
        assert!(now() < until, "a part");
        pause(Duration::from_millis(2));
    }
    // It waits for the rest until it is stopped.
    drop(put);
    signal(&getting, "-INT");
    assert_eq!(getting.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    getting.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("interrupted") && said.contains("the same command resumes from there"), "{said}");
    let had = fs::metadata(&part).unwrap().len();
    assert!(had > 0 && had < 100_000_000, "{had}");

    // A fetch of another name that receives nothing, and one with another trust that accepts nothing, do not remove the
    // part.
    let output = run(&folder, &["get", "/movies/b", "-o", &got, "--patience", "1s"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("it belongs to /movies/a") && !said.contains("resumes from there"), "{said}");
    succeeds(&folder, &["key", "new", "/movies"]);
    let _put = publish(&folder, "/movies/a", 100_000_000, &[]);
    let output = run(&folder, &["get", "/movies/a", "-o", &got, "--key", "/movies", "--patience", "3s"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("it was not verified against"), "{}", text(&output.stderr));
    assert_eq!(fs::metadata(&part).unwrap().len(), had);

    let output = succeeds(&folder, &["get", "/movies/a", "-o", &got, "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["resumed_bytes"], had);
    assert!(text(&output.stderr).contains(&format!("after {had} bytes")), "{}", text(&output.stderr));
    assert!(fs::read(&got).unwrap() == pattern(100_000_000) && !part.exists());
}

#[test]
fn other_content_of_a_version_is_an_error_with_advice() {
    let folder = Folder::new("cli-get-changed");
    let _forwarder = Running::start(&folder, "");
    let _put = publish(&folder, "/movies/a", 50_000, &[]);
    let got = path(&folder, "got");
    let output = succeeds(&folder, &["get", "/movies/a", "-o", &got, "--json"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = b"of another";
    fs::write(folder.path("got.part"), bytes).unwrap();
    let note = json!({
        "asked": "/movies/a", "object": told["object"], "last_segment": null, "segments": 1, "bytes": 10,
        "sha256": hex(&weir_packet::sign::sha256(bytes)), "tail": 10,
    });
    fs::write(folder.path("got.part.json"), note.to_string()).unwrap();
    let advice = format!("two objects have the same name\n  remove {got}.part to start again");
    fails(&folder, &["get", "/movies/a", "-o", &got], &advice);
    assert_eq!(fs::read(folder.path("got.part")).unwrap(), bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn patience_ends_it_and_so_does_a_reader_that_goes() {
    let folder = Folder::new("cli-get-patience");
    let _forwarder = Running::start(&folder, "");
    let put = publish(&folder, "/movies/a", 10_000_000, &[]);
    for more in [&[][..], &["--json"]] {
        let mut getting = weir(&folder, &[&["get", "/movies/a"], more].concat());
        let mut getting = getting.stderr(Stdio::piped()).spawn().unwrap();
        let mut begin = [0; 1000];
        getting.stdout.take().unwrap().read_exact(&mut begin).unwrap();
        assert!(begin == pattern(1000)[..]);
        let ended = getting.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(141), "content was not delivered");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(said, "standard output was closed before all content was written\n");
    }
    drop(put);
    // A neighbour that never answers.
    let (_mute, address) = Peer::udp();
    succeeds(&folder, &["route", "add", "/mute", &format!("udp://{address}")]);
    let began = now();
    fails(&folder, &["get", "/mute/a", "--patience", "2s"], "no answer came for /mute/a");
    assert!(began.elapsed() >= 2 * SECOND);
}

/// A path of 20 ms between the forwarder's neighbour and another forwarder.
fn slow_way(to: SocketAddr) -> SocketAddr {
    let [near, far] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let address = near.local_addr().unwrap();
    far.connect(to).unwrap();
    let relay = move || {
        let (mut frame, mut answers) = ([0; 9000], None);
        while let Ok((length, from)) = near.recv_from(&mut frame) {
            pause(Duration::from_millis(20));
            let _ = far.send(&frame[..length]);
            answers.get_or_insert_with(|| {
                let (near, far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || {
                    let mut frame = [0; 9000];
                    while let Ok(length) = far.recv(&mut frame) {
                        let _ = near.send_to(&frame[..length], from);
                    }
                })
            });
        }
    };
    thread::spawn(relay);
    address
}

/// False content for a name, with valid digests: its metadata, and its only segment.
fn forgery(name: &Name) -> [Vec<u8>; 2] {
    let versioned = name.clone().with_version(u64::MAX >> 12);
    let mut description = Vec::new();
    Metadata { versioned: versioned.clone(), last_segment: Some(0) }.encode(&mut description);
    let described = metadata_name(name).with_version(u64::MAX >> 12).with_segment(0);
    [(described, &description[..]), (versioned.with_segment(0), &b"false"[..])].map(|(name, content)| {
        let mut buffer = [0; 8];
        let last = Component::number(component_type::SEGMENT, 0, &mut buffer);
        let meta =
            MetaInfo { freshness_period: Some(3_600_000), final_block_id: Some(last), ..MetaInfo::NONE };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        let mut wire = Vec::new();
        Data { meta, ..Data::new(name.view(), content, info) }.sign(&Signer::digest(), &mut wire).unwrap();
        wire
    })
}

/// The attacker sends false metadata and false content for the name all the time. It need not hear the Interests.
#[test]
fn a_stranger_who_answers_what_the_next_hop_was_asked_changes_and_stops_nothing() {
    let folders = ["cli-get-stranger-near", "cli-get-stranger-far"].map(Folder::new);
    let [near, far] = [0, 1].map(|at| Running::start(&folders[at], ""));
    let names = ["/alice/a", "/alice/b"];
    succeeds(&folders[1], &["key", "new", "/alice"]);
    let certificate = path(&folders[0], "alice.cert");
    succeeds(&folders[1], &["key", "export", "/alice", "-o", &certificate]);
    let _put = names.map(|name| publish(&folders[1], name, 50_000, &["--key", "/alice"]));
    let way = format!("udp4://{}", slow_way(far.udp));
    succeeds(&folders[0], &["route", "add", "/alice", &way]);
    let (mut stranger, _) = Peer::udp();
    stranger.know(near.udp);
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    let forged = names.map(|name| forgery(&name.parse().unwrap())).concat();
    let attack = thread::spawn(move || {
        while !told.load(Ordering::Relaxed) {
            for wire in &forged {
                stranger.send(wire);
            }
            pause(Duration::from_millis(1));
        }
    });
    // First without a key, then with one, then the same from the content store.
    let trusts: [&[&str]; 2] = [&[], &["--key", &certificate]];
    for round in ["from the producer", "from the store"] {
        for (name, trust) in names.into_iter().zip(trusts) {
            let output = succeeds(&folders[0], &[&["get", name], trust].concat());
            assert!(output.stdout == pattern(50_000), "{name} {round}: {} B", output.stdout.len());
        }
    }
    is_over.store(true, Ordering::Relaxed);
    attack.join().unwrap();
}
