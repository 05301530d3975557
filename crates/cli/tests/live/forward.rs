//! `weir forward` as a process: killed and restarted under load, a recording that `weir replay` replays, and a capture
//! that tshark reads.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::common::{self, folder, text, weir};
use crate::running::{Folder, Peer, Producer, SECOND, name, now, pause};
use serde_json::Value;
use weir_packet::ServiceClass;

/// The forwarder. Dropping it kills the process.
struct Process(Child);

impl Process {
    fn start(file: &Path) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["forward", "--config"]).arg(file).stderr(Stdio::null());
        Process(command.spawn().unwrap())
    }

    /// Kills it like `kill -9`.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Stops it like a service manager. Returns whether it ended normally.
    fn stop(mut self) -> bool {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.0.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A free port. Another process could take it, but this is unlikely.
fn free_port() -> SocketAddr {
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

struct Setting {
    dir: PathBuf,
    file: PathBuf,
    unix: PathBuf,
    producer: Producer,
}

/// The configuration of a forwarder with a neighbour that answers for `/a`.
fn setting(label: &str, more: &str) -> Setting {
    let dir = folder(label);
    let (file, unix, udp) = (dir.join("weir.toml"), dir.join("s"), free_port());
    let (peer, address) = Peer::udp();
    peer.know(udp);
    let text = format!(
        "[faces.unix]\npath = \"{}\"\n[faces.udp]\nlisten = \"{udp}\"\n[faces.tcp]\nlisten = []\n\
         [record]\npath = \"{}\"\n{more}\n\
         [[face]]\nname = \"a\"\nremote = \"udp4://{address}\"\nrate = \"10 Mb/s\"\n\
         [[route]]\nprefix = \"/a\"\nface = \"a\"\n",
        unix.display(),
        dir.join("inputs.record").display(),
    );
    fs::write(&file, text).unwrap();
    Setting { dir, file, unix, producer: Producer::start(peer, 500, 0) }
}

/// An application that requests one name after another, each until it is answered. It reconnects when it has lost the
/// forwarder.
struct Consumer {
    peer: Option<Peer>,
    unix: PathBuf,
    got: u64,
}

impl Consumer {
    /// Continues until this many more Data have arrived. Returns how long it took.
    fn get(&mut self, more: u64) -> Duration {
        let (start, until) = (now(), self.got + more);
        while self.got < until {
            assert!(start.elapsed() < 30 * SECOND, "{} of {until} Data", self.got);
            let peer = self.peer.get_or_insert_with(|| Peer::unix(&self.unix));
            let asked = name(&format!("/a/{}", self.got));
            peer.ask(&asked, 100, Some(ServiceClass::Ef));
            match peer.receive(Duration::from_millis(50)) {
                // After a repeated request, the previous Data may arrive again from the store.
                Some(frame) if frame.is_data() && frame.name() == asked => self.got += 1,
                Some(_) => {}
                None if peer.is_closed() => self.peer = None,
                None => {}
            }
        }
        start.elapsed()
    }
}

fn replayed(file: &Path) -> (Option<i32>, Value) {
    let output = weir(&["replay", file.to_str().unwrap(), "--json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_forwarder_that_is_killed_and_started_again_has_its_traffic_again_and_leaves_a_recording() {
    let Setting { dir, file, unix, producer } = setting("killed", "[scheme]\nname = \"qsccp\"\n");
    let record = dir.join("inputs.record");
    let mut forwarder = Process::start(&file);
    let mut consumer = Consumer { peer: None, unix, got: 0 };
    consumer.get(200);
    // A second forwarder with the same file does not start, and leaves the files unchanged.
    let file_name = file.to_str().unwrap();
    common::refused(&["forward", "--config", file_name], &["weir.toml:", "stop the other process"]);
    for _ in 0..2 {
        // The recording is written every second.
        let start = now();
        while start.elapsed() < SECOND * 3 / 2 {
            consumer.get(20);
        }
        forwarder.kill();
        let (code, document) = replayed(&record);
        assert_eq!(
            (code, &document["identical"], &document["is_cut"]),
            (Some(0), &true.into(), &true.into())
        );
        assert!(document["inputs"]["packets"].as_u64().unwrap() > 100, "{document}");
        forwarder = Process::start(&file);
        let again = consumer.get(50);
        assert!(again < 5 * SECOND, "{again:?} until there was traffic again");
    }
    assert!(forwarder.stop());
    let (code, document) = replayed(&record);
    assert_eq!((code, &document["identical"], &document["is_cut"]), (Some(0), &true.into(), &false.into()));
    assert!(producer.answered() >= consumer.got);
    let shown = weir(&["replay", record.to_str().unwrap()]);
    assert!(text(&shown.stdout).contains("Identical: "), "{}", text(&shown.stdout));
    // Change a byte in the middle of a packet: in a Data's content.
    let mut changed = fs::read(&record).unwrap();
    let at = changed.windows(100).position(|window| window == [0xDA; 100]).unwrap();
    changed[at + 50] ^= 1;
    fs::write(&record, changed).unwrap();
    let (code, document) = replayed(&record);
    assert_eq!((code, &document["identical"]), (Some(1), &false.into()));
    let difference = &document["difference"];
    assert!(difference["entry"].as_u64().unwrap() > 1 && difference["at_s"].as_f64().unwrap() > 0.0);
    fs::write(&record, "no recording").unwrap();
    let name = record.to_str().unwrap();
    common::refused(&["replay", name], &["inputs.record", "this is not a recording of a forwarder"]);
    common::refused(&["replay", "none-such"], &["none-such"]);
}

/// The metrics as Prometheus gets them.
fn scraped(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_capture_has_the_frames_of_each_face_both_ways_and_figures_the_delays_of_each_class() {
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let path = folder("captured").join("all.pcapng");
    let Setting { file, unix, producer: _producer, .. } = setting(
        "captured-forwarder",
        &format!("[capture]\npath = \"{}\"\n[metrics]\nlisten = \"{metrics}\"\n", path.display()),
    );
    let forwarder = Process::start(&file);
    Consumer { peer: None, unix, got: 0 }.get(100);
    let figures = scraped(metrics);
    let count =
        figures.lines().find_map(|line| line.strip_prefix("weir_queue_delay_seconds_count{class=\"EF\"} "));
    assert!(count.unwrap().parse::<u64>().unwrap() >= 100, "{figures}");
    assert!(forwarder.stop());
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(&[0x0A, 0x0D, 0x0D, 0x0A]) && bytes.len() > 100 * 4 * 50);
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("not seen with tshark: it is not installed");
        return;
    }
    let fields = ["frame.interface_name", "eth.dst", "eth.type"].into_iter().flat_map(|field| ["-e", field]);
    let output =
        Command::new("tshark").arg("-r").arg(&path).args(["-T", "fields"]).args(fields).output().unwrap();
    let lines = text(&output.stdout);
    let lines: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    let count = |remote: &str, is_received: bool| {
        let is_it = |line: &&Vec<&str>| {
            line[0].contains(remote) && (line[1] == "02:00:00:00:00:00") == is_received && line[2] == "0x8624"
        };
        lines.iter().filter(is_it).count()
    };
    for remote in ["udp4://127.0.0.1:", "fd://"] {
        let counts = (count(remote, true), count(remote, false));
        assert!(counts.0 >= 100 && counts.1 >= 100, "{remote}: {counts:?} of {}", lines.len());
    }
}

/// Waits until `weir status --json` satisfies a condition. Returns the last status.
fn status_when(socket: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let start = now();
    loop {
        let shown = weir(&["status", "--socket", socket, "--json"]);
        let status: Value = serde_json::from_slice(&shown.stdout).unwrap_or_default();
        if holds(&status) {
            return status;
        }
        assert!(start.elapsed() < 30 * SECOND, "{status}\n{}", text(&shown.stderr));
        pause(SECOND / 10);
    }
}

#[test]
fn losses_that_no_face_sees_are_in_the_status_the_metrics_and_the_log() {
    const CONNECTIONS: usize = 60;
    let metrics = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let path = folder("lost").join("all.pcapng");
    let Setting { file, unix, producer: _producer, .. } = setting(
        "lost-forwarder",
        &format!("[capture]\npath = \"{}\"\n[metrics]\nlisten = \"{metrics}\"\n", path.display()),
    );
    // Files end after a block, as on a full disk, and descriptors end at 40.
    let limited = format!("trap '' XFSZ; ulimit -f 1; ulimit -n {}; exec \"$@\"", CONNECTIONS - 20);
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_weir"), "forward", "--config"]).arg(&file);
    let mut forwarder = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut log = forwarder.0.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).map(|_| text)
    });
    let mut consumer = Consumer { peer: None, unix: unix.clone(), got: 0 };
    consumer.get(100);
    // Other peers take all descriptors for a while.
    drop((0..CONNECTIONS).map(|_| Peer::unix(&unix)).collect::<Vec<_>>());
    // The process is stopped while more arrives than a socket buffers.
    let signal = |name: &str| {
        let pid = forwarder.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    };
    let written = fs::read_to_string(&file).unwrap();
    let udp = written.split("listen = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    signal("-STOP");
    for _ in 0..400 {
        sender.send_to(&[0; 60_000], udp).unwrap();
    }
    signal("-CONT");
    let socket = format!("unix://{}", unix.display());
    let count = |status: &Value, key: &str| status[key].as_u64().unwrap_or(0);
    let keys = ["lost_datagrams", "refused_connections", "file_errors"];
    let status = status_when(&socket, |status| keys.iter().all(|key| count(status, key) > 0));
    assert_eq!(count(&status, "file_errors"), 2, "{status}");
    assert!(status["reassembly_failures"].is_u64(), "{status}");
    let shown = weir(&["status", "--socket", &socket]);
    let datagrams = count(&status, "lost_datagrams");
    assert!(text(&shown.stdout).contains(&format!("\n{datagrams} datagrams found no room")), "{status}");
    let figures = scraped(metrics);
    for key in keys {
        let line = format!("weir_{key}_total {}\n", count(&status, key));
        assert!(figures.contains(&line), "{line}{figures}");
    }
    // The traffic continues. The log reports the problems within a sweep of five seconds.
    consumer.get(100);
    pause(6 * SECOND);
    assert!(forwarder.stop());
    let log = log.join().unwrap().unwrap();
    for once in ["inputs.record", "all.pcapng", "refused connections", "the kernel dropped datagrams"] {
        let lines = log.lines().filter(|line| line.contains("WARN") && line.contains(once));
        assert_eq!(lines.count(), 1, "{once}: {log}");
    }
}

/// Runs `weir` as the user `nobody`. Returns `None` if the test does not run as root, or if that user may not run it.
fn as_nobody(binary: &Path, socket: &str, arguments: &[&str]) -> Option<Output> {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let mut command = Command::new(binary);
    command.args(arguments).args(["--socket", socket]).uid(NOBODY).gid(NOBODY).current_dir("/");
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("1 test skipped: cannot run as another user ({error}); run it as root");
            None
        }
    }
}

#[test]
fn another_user_of_this_host_may_look_and_register_and_nothing_else() {
    let Setting { file, unix, producer: _producer, .. } = setting("nobody", "");
    // Other users may have no access to the build folder.
    let open = Folder::new("cli-nobody");
    let (binary, socket) = (open.path("weir"), open.path("s"));
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, written.replace(unix.to_str().unwrap(), socket.to_str().unwrap())).unwrap();
    let _forwarder = Process::start(&file);
    drop(Peer::unix(&socket));
    let socket = format!("unix://{}", socket.display());
    fs::copy(env!("CARGO_BIN_EXE_weir"), &binary).unwrap();
    let Some(looked) = as_nobody(&binary, &socket, &["status"]) else { return };
    assert!(looked.status.success(), "{}", text(&looked.stderr));
    let face = "256";
    for refused in [
        &["face", "destroy", face][..],
        &["face", "create", "udp4://192.0.2.9:6363"],
        &["face", "update", face, "--mtu", "1000"],
        &["cs", "config", "--capacity", "0"],
        &["cs", "erase", "/"],
        &["strategy", "set", "/a", "multicast"],
        &["route", "add", "/b", face],
        &["route", "remove", "/a", face],
    ] {
        let output = as_nobody(&binary, &socket, refused).unwrap();
        assert!(!output.status.success(), "{refused:?}");
        assert!(text(&output.stderr).contains("403"), "{refused:?}: {}", text(&output.stderr));
    }
    let (faces, store) =
        (weir(&["face", "--socket", &socket, "--json"]), weir(&["cs", "--socket", &socket, "--json"]));
    let faces: Value = serde_json::from_slice(&faces.stdout).unwrap();
    assert!(faces.as_array().unwrap().iter().any(|face| face["face"] == 256));
    let store: Value = serde_json::from_slice(&store.stdout).unwrap();
    assert!(store["capacity"].as_u64().unwrap() > 0, "{store}");
    // The forwarder's user has the right.
    let set = weir(&["cs", "config", "--capacity", "7", "--socket", &socket]);
    assert!(set.status.success() && set.stderr.is_empty(), "{}", text(&set.stderr));
    let cut = weir(&["cs", "config", "--capacity", "99999999999999", "--socket", &socket, "--json"]);
    let store: Value = serde_json::from_slice(&cut.stdout).unwrap();
    assert!(store["capacity"].as_u64().unwrap() < 99_999_999_999_999, "{store}");
    let said = text(&cut.stderr).replace('\u{202f}', " ");
    assert!(said.starts_with("note: the forwarder set the capacity to "), "{said}");
    assert!(said.contains("99 999 999 999 999 were asked for"), "{said}");
}
