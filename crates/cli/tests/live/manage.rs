//! The commands that query a running forwarder, with a management server without packets.

use std::process::{Command, Output};

use crate::server::Server;
use serde_json::{Value, json};
use weir_management::client::TRANSPORT_VARIABLE;

fn run(server: &Server, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env(TRANSPORT_VARIABLE, server.uri()).args(line.split_whitespace()).output().unwrap()
}

/// The output of a command that succeeds.
fn done(server: &Server, line: &str) -> String {
    let output = run(server, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{line}");
    String::from_utf8(output.stdout).unwrap().replace('\u{202f}', " ")
}

fn json(server: &Server, line: &str) -> Value {
    serde_json::from_str(&done(server, &format!("{line} --json"))).unwrap()
}

/// The error of a command that fails.
fn error(server: &Server, line: &str) -> String {
    let output = run(server, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(output.stdout.is_empty(), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The words of the line whose first word is `first`.
fn row<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let mut lines = text.lines().map(words);
    lines.find(|line| line.first() == Some(&first)).unwrap_or_else(|| panic!("no {first} in {text}"))
}

#[test]
fn the_status_of_a_forwarder_is_a_page_or_a_document() {
    let server = Server::start("cli-status");
    let text = done(&server, "status");
    assert!(text.starts_with(&format!("mock 1 at {}, up for 6 s\n", server.uri())), "{text}");
    assert_eq!(row(&text, "faces"), ["faces", "3"]);
    assert_eq!(row(&text, "Data"), ["Data", "0", "4"]);
    let document = json(&server, "status");
    assert_eq!((&document["faces"], &document["pit_entries"]), (&json!(3), &json!(3)));
    assert_eq!(document["in_interests"], 5);
}

#[test]
fn the_overview_of_a_forwarder_is_rates_or_a_document() {
    let server = Server::start("cli-top");
    let text = done(&server, "top --every 1s");
    assert!(text.starts_with("mock 1, up for "), "{text}");
    assert!(!text.contains('\x1b'), "a pipe is no terminal: {text}");
    let document = json(&server, "top");
    assert_eq!((&document["version"], &document["face_count"]), (&json!("mock 1"), &json!(3)));
}

#[test]
fn faces_are_made_changed_shown_and_destroyed() {
    let server = Server::start("cli-face");
    assert_eq!(
        done(&server, "face create udp://10.0.0.9 --mtu 1400 --reliability on"),
        "Made face 4 to udp4://10.0.0.9:6363, persistent, frames of at most 1400 bytes.\n"
    );
    assert!(server.state().1.faces[&4].flags.reliability);
    let there = error(&server, "face create udp4://10.0.0.9:6363");
    assert!(there.contains("face 4 exists already"), "{there}");
    let text = done(&server, "face");
    assert_eq!(row(&text, "4")[1..4], ["udp4://10.0.0.9:6363", "udp4://127.0.0.1:6363", "persistent"]);
    assert_eq!(json(&server, "face list").as_array().unwrap().len(), 4);

    done(&server, "face update udp://10.0.0.9 --persistency permanent --congestion-marking off");
    let face = json(&server, "face show 4");
    assert_eq!((&face["persistency"], &face["mtu"]), (&json!("permanent"), &json!(1400)));
    assert_eq!((&face["congestion_marking"], &face["reliability"]), (&json!(false), &json!(true)));
    assert_eq!(face["queued_packets"], 0);
    let text = done(&server, "face show udp4://10.0.0.9:6363");
    assert!(text.contains("MTU             1 400 bytes\n"), "{text}");
    assert!(text.contains("options         link reliability\n"), "{text}");

    assert_eq!(
        done(&server, "face update 4 --mtu auto"),
        "Changed face 4, permanent, frames of at most 8800 bytes.\n"
    );
    assert!(error(&server, "face update 4 --mtu much").contains("such as 1400, or auto"));

    assert_eq!(done(&server, "face destroy 4"), "Destroyed face 4.\n");
    assert!(error(&server, "face destroy 4").contains("there is no face 4"));
    assert!(error(&server, "face show udp4://10.0.0.9:6363").contains("there is no face to udp4://10.0.0.9"));
    assert!(error(&server, "face update 2").contains("nothing to change"));
    assert!(error(&server, "face show seven").contains("wanted its number or URI"));
    assert!(error(&server, "face create carrier://pigeon").contains("carrier"));
}

#[test]
fn routes_are_added_listed_and_removed() {
    let server = Server::start("cli-route");
    assert_eq!(
        done(&server, "route add /a udp4://10.0.0.2:6363 --cost 7"),
        "Added the route to /a by face 2 (udp4://10.0.0.2:6363), cost 7, origin static.\n"
    );
    done(&server, "route add /a/b tcp4://10.0.0.8 --capture --no-inherit --origin nlsr --expires 90s");
    assert_eq!(server.state().1.faces.len(), 4, "a face is made for the route");
    let text = done(&server, "route");
    assert_eq!(row(&text, "/a"), ["/a", "2", "udp4://10.0.0.2:6363", "7", "static", "child-inherit"]);
    let long = ["/a/b", "4", "tcp4://10.0.0.8:6363", "0", "nlsr", "capture", "1", "min", "30", "s"];
    assert_eq!(row(&text, "/a/b"), long);
    let rows = json(&server, "route list /a/b");
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["capture"], &rows[0]["child_inherit"]), (&json!(true), &json!(false)));
    assert_eq!(rows[0]["expires_in_ms"], 90_000);
    assert_eq!(row(&done(&server, "route list --fib"), "/a"), ["/a", "2", "udp4://10.0.0.2:6363", "7"]);

    let other = error(&server, "route remove /a/b 4");
    assert!(other.contains("no route to /a/b by face 4 of origin static"), "{other}");
    assert!(other.contains("there is one with --origin nlsr"), "{other}");
    done(&server, "route remove /a/b 4 --origin nlsr");
    assert_eq!(json(&server, "route").as_array().unwrap().len(), 1);
    assert!(error(&server, "route add /a 99").contains("there is no such face (code 410)"));
    assert!(error(&server, "route add a 2").contains("a name begins with `/`"));
    assert!(error(&server, "route add /a 2 --origin me").contains("wanted a number or one of app"));
}

#[test]
fn strategies_are_set_by_their_short_names_too() {
    let server = Server::start("cli-strategy");
    let set = done(&server, "strategy set /a multicast");
    assert_eq!(set, "The strategy for /a is /localhost/nfd/strategy/multicast/v=1.\n");
    done(&server, "strategy set /b /localhost/nfd/strategy/best-route/v=1");
    assert_eq!(row(&done(&server, "strategy"), "/a"), ["/a", "/localhost/nfd/strategy/multicast/v=1"]);
    assert_eq!(json(&server, "strategy list").as_array().unwrap().len(), 3);
    assert_eq!(done(&server, "strategy unset /a"), "/a no longer has its own strategy.\n");
    assert_eq!(done(&server, "strategy unset /a"), "/a did not have its own strategy.\n");
    assert_eq!(
        json(&server, "strategy")[0],
        json!({"prefix": "/", "strategy": "/localhost/nfd/strategy/best-route/v=1"})
    );
    let unknown = error(&server, "strategy set /a oracle");
    assert!(unknown.contains("there is no such strategy: wanted one of") && unknown.contains("(code 404)"));
    assert!(error(&server, "strategy unset /").contains("the strategy of / cannot be unset"));
}

#[test]
fn the_content_store_is_shown_changed_and_emptied() {
    let server = Server::start("cli-cs");
    assert!(done(&server, "cs").contains("packets         300 of 1 024\n"));
    let changed = json(&server, "cs config --capacity 2000 --serve off");
    let cs = json!({"capacity": 2000, "entries": 300, "admit": true, "serve": false, "hits": 7, "misses": 8});
    assert_eq!(changed, cs);
    assert_eq!(done(&server, "cs erase /a --count 10"), "Erased 10 Data under /a.\n");
    assert_eq!(done(&server, "cs erase /"), "Erased 290 Data under /.\n");
    assert_eq!(json(&server, "cs")["entries"], 0);
    assert!(error(&server, "cs config").contains("wanted --capacity, --admit or --serve"));
}

#[test]
fn a_forwarder_that_is_not_there_is_an_error_that_says_where_it_was_sought() {
    let server = Server::start("cli-nobody");
    for line in ["status", "face", "route list", "strategy list", "cs info"] {
        let text = error(&server, &format!("{line} --socket unix:///nowhere/nfd.sock"));
        assert!(text.contains("no forwarder can be reached at unix:///nowhere/nfd.sock"), "{text}");
        assert!(text.contains("--socket or NDN_CLIENT_TRANSPORT"), "{text}");
    }
    assert!(error(&server, "status --socket udp://host").contains("wanted unix:///path"));
    assert!(error(&server, "status --timeout soon").contains("a time with its unit"));
}
