//! `weir run --watch`: the page of a run that goes on.
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::common::{WEIR, folder, refused};

/// Asks for a path. Returns the status line, and the body.
fn get(address: &str, host: &str, path: &str) -> Option<(String, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n").ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    let (head, body) = response.split_once("\r\n\r\n")?;
    Some((head.lines().next()?.to_owned(), body.to_owned()))
}

#[test]
fn a_page_grows_while_the_run_goes_on_and_has_its_report_at_the_end() {
    let dir = folder("watch");
    let mut command = Command::new(WEIR);
    command.args(["run", "qsccp/dumbbell", "--set", "duration=300s", "--watch", "--out"]).arg(&dir);
    command.env_remove("WEIR_RUNS").env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stderr, mut said) = (BufReader::new(run.stderr.take().unwrap()), String::new());
    stderr.read_line(&mut said).unwrap();
    let address = said.trim().trim_start_matches("watch the run at http://").trim_end_matches('/');
    let (status, page) = get(address, address, "/").unwrap();
    assert!(status.contains("200") && page.contains("connect-src 'self'"), "{status}");
    let (status, _) = get(address, "weir.example.net", "/data.json").unwrap();
    assert!(status.contains("403"), "{status}");
    // Neither a slow client nor one with a body that has no end hinders the others.
    let _slow = TcpStream::connect(address).unwrap();
    let mut hostile = TcpStream::connect(address).unwrap();
    hostile.write_all(b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nx").unwrap();
    let other = thread::spawn({
        let address = address.to_owned();
        move || follow(&address).pop().unwrap()
    });
    let all = follow(address);
    for data in &all {
        let now = data["progress"]["now_s"].as_f64().unwrap();
        assert_eq!(data["document"]["simulated_s"], now);
        assert_eq!(data["progress"]["until_s"], 300.0);
        match data["document"]["windows"].as_array().unwrap().first() {
            Some(window) => assert_eq!(window["to_s"].as_f64().unwrap(), now.min(120.0)),
            None => assert!(now <= 20.0, "the window has begun at {now} s"),
        }
    }
    assert!(all.len() > 1, "a report before the end");
    let last = all.last().unwrap();
    assert!(other.join().unwrap()["document"] == last["document"], "both have the end");
    assert!(run.wait().unwrap().success());
    let file: Value = serde_json::from_slice(&fs::read(dir.join("run.json")).unwrap()).unwrap();
    for key in ["flows", "expectations", "packet_hops"] {
        assert!(last["document"][key] == file[key], "{key}");
    }
    let report = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(!report.contains("connect-src"), "a file asks for nothing");
}

/// The data that a page gets until the run is over.
fn follow(address: &str) -> Vec<Value> {
    let (mut all, mut now) = (Vec::<Value>::new(), 0.0);
    while all.last().is_none_or(|last| last["progress"]["is_over"] == false) {
        let (_, body) = get(address, "localhost:1", &format!("/data.json?after={now}"))
            .expect("the command waits for its page");
        let data: Value = serde_json::from_str(&body).unwrap();
        let before = std::mem::replace(&mut now, data["progress"]["now_s"].as_f64().unwrap());
        assert!(now > before || data["progress"]["is_over"] == true);
        all.push(data);
    }
    all
}

#[test]
fn a_page_is_of_one_run_and_needs_a_free_port() {
    refused(&["run", "qsccp/dumbbell", "--watch", "--seeds", "2"], &["--watch shows one run", "--seed"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    refused(&["run", "qsccp/dumbbell", &format!("--watch={port}")], &["--watch: port", "cannot be opened"]);
}
