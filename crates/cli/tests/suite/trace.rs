//! `weir run --trace` and `--pcap`: their files contain what the run did.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use weir_packet::{NetPacket, Payload, decode_frame};

use crate::common::{folder, printed, refused, text, weir};

/// A short run of two nodes whose link loses packets, with these additional options.
fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let run =
        ["run", "examples/minimal", "--json", "--set", "duration=1s", "--set", "window.steady.from=0.5s"];
    let set = ["--set", "window.steady.to=1s", "--set", "link.*.loss=0.05", "--scheme", "qsccp"];
    [&run[..], &set, more].concat()
}

/// The frames of a capture, parsed by the format's specification: time in ns, Ethernet addresses, frame.
fn frames(path: &Path) -> Vec<(u64, [u8; 12], Vec<u8>)> {
    let file = fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut frames) = (0, Vec::new());
    while at < file.len() {
        let length = word(at + 4) as usize;
        assert_eq!(word(at + length - 4) as usize, length, "a block says its length twice");
        if word(at) == 6 {
            let time = u64::from(word(at + 12)) << 32 | u64::from(word(at + 16));
            let bytes = &file[at + 28..at + 28 + word(at + 20) as usize];
            assert_eq!(bytes[12..14], [0x86, 0x24], "the EtherType of NDN");
            frames.push((time, bytes[..12].try_into().unwrap(), bytes[14..].to_vec()));
        }
        at += length;
    }
    frames
}

#[test]
fn a_trace_and_a_capture_have_every_packet_of_the_run() {
    let folder = folder("trace");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (csv, both, one) = (path("all.csv"), path("both.pcapng"), path("one.pcapng"));
    let captures = [format!("alice-bob={both}"), format!("bob->alice={one}")];
    let more = ["--trace", &csv, "--pcap", &captures[0], "--pcap", &captures[1]];
    let document: Value = serde_json::from_str(&printed(&weir(&short(&more)))).unwrap();
    let plain: Value = serde_json::from_str(&printed(&weir(&short(&[])))).unwrap();
    for key in ["events", "packet_hops", "drops", "flows", "distributions"] {
        assert_eq!(document[key], plain[key], "a trace changes nothing");
    }

    let table = fs::read_to_string(&csv).unwrap();
    let mut lines = table.lines();
    let head = "t_s,node,neighbour,what,kind,name,class,size,wait_ms,signals,reason,count";
    assert_eq!(lines.next(), Some(head));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().map(|row| row[0].parse::<f64>().unwrap()).is_sorted());
    let count = |what: &str, kind: &str| {
        rows.iter().filter(|row| row[3] == what && row[4].starts_with(kind)).count() as u64
    };
    assert_eq!(count("send", ""), document["packet_hops"]);
    let mut dropped: BTreeMap<&str, u64> = BTreeMap::new();
    rows.iter().filter(|row| row[3] == "drop").for_each(|row| *dropped.entry(row[10]).or_default() += 1);
    for row in document["drops"].as_array().unwrap().iter().filter(|row| row["place"] != "consumer") {
        let all = row["data"].as_u64().unwrap() + row["interests"].as_u64().unwrap();
        assert_eq!(dropped.get(row["reason"].as_str().unwrap()), Some(&all), "{row}");
    }
    assert!(count("drop", "Data") > 5 && count("drop", "Interest") > 5);
    let delay = &document["distributions"][0];
    assert_eq!((delay["what"].as_str(), &delay["count"]), (Some("delay"), &count("deliver", "Data").into()));
    let timeouts: u64 =
        rows.iter().filter(|row| row[3] == "timeout").map(|row| row[11].parse::<u64>().unwrap()).sum();
    assert_eq!(document["flows"][0]["timeouts"], timeouts);
    let sent = rows.iter().find(|row| row[3] == "send" && row[4] == "Data").unwrap();
    assert!(sent[1] == "bob" && sent[2] == "alice" && sent[5] == "/video/seg=0", "{sent:?}");
    let got = rows.iter().rfind(|row| row[3] == "deliver" && row[4] == "Data").unwrap();
    assert!(got[9].starts_with("TargetRate="), "{got:?}");

    let both = frames(Path::new(&both));
    let sizes = |kind: &str| -> Vec<u64> {
        let of = rows.iter().filter(|row| row[3] == "send" && row[4].starts_with(kind));
        of.map(|row| row[7].parse().unwrap()).collect()
    };
    assert_eq!(both.iter().map(|frame| frame.2.len() as u64).collect::<Vec<_>>(), sizes(""));
    let mut signals = 0;
    for (at, addresses, frame) in &both {
        let (header, payload) = decode_frame(frame).unwrap();
        let is_data = matches!(payload, Payload::Packet(NetPacket::Data(_)));
        // bob, the second node, sends the Data.
        assert_eq!(addresses[11], u8::from(is_data));
        assert!(*at < 1_000_000_000);
        signals += header.header.signals.iter().count();
    }
    assert_eq!(signals, 2 * sizes("Interest").len(), "each Interest has ExpectedSize and DownstreamRate");
    let one = frames(Path::new(&one));
    assert_eq!(one.iter().map(|frame| frame.2.len() as u64).collect::<Vec<_>>(), sizes("Data"));

    // Decoded by Wireshark, only where it is installed.
    let tshark =
        Command::new("tshark").args(["-r", &path("both.pcapng"), "-T", "fields", "-e", "eth.type"]).output();
    match tshark {
        Ok(output) => {
            let types = text(&output.stdout);
            assert_eq!(types.lines().filter(|line| *line == "0x8624").count(), both.len(), "{types}");
        }
        Err(error) => println!("not checked with tshark: {error}"),
    }
}

#[test]
fn filters_choose_events_by_node_prefix_and_time() {
    let folder = folder("trace-filters");
    let path = folder.join("some.csv");
    let file = path.to_str().unwrap();
    let rows = |filters: &[&str]| -> Vec<Vec<String>> {
        printed(&weir(&short(&[&["--trace", file], filters].concat())));
        let table = fs::read_to_string(&path).unwrap();
        table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let at = |row: &Vec<String>| row[0].parse::<f64>().unwrap();
    let all = rows(&[]);
    let some = rows(&["--trace-node", "bob", "--trace-time", "0.2:0.3", "--trace-time", "800ms:1s"]);
    let is_meant = |row: &&Vec<String>| {
        row[1] == "bob" && ((0.2..0.3).contains(&at(row)) || (0.8..1.0).contains(&at(row)))
    };
    assert_eq!(some, all.iter().filter(is_meant).cloned().collect::<Vec<_>>());
    assert!(!some.is_empty());
    assert_eq!(rows(&["--trace-prefix", "/video"]), all);
    assert_eq!(rows(&["--trace-prefix", "/vide"]).len(), 0, "whole components");
}

#[test]
fn what_cannot_be_traced_or_captured_is_refused_with_what_would_be_right() {
    let folder = folder("trace-refused");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let csv = path("x.csv");
    refused(&short(&["--trace", &path("x.txt")]), &["x.txt", "ends in .parquet or .csv"]);
    refused(&short(&["--trace", &path("no/x.csv")]), &["cannot write", "no/x.csv"]);
    refused(
        &short(&["--trace", &csv, "--trace-node", "alicia"]),
        &["--trace-node alicia", "did you mean `alice`?"],
    );
    refused(&short(&["--trace", &csv, "--trace-time", "5"]), &["--trace-time 5", "20:120"]);
    refused(&short(&["--trace", &csv, "--trace-prefix", "video"]), &["--trace-prefix video"]);
    refused(&short(&["--trace-node", "alice"]), &["--trace"]);
    refused(&short(&["--trace", &csv, "--seeds", "2"]), &["give one --seed"]);
    refused(&short(&["--pcap", "alice-bob"]), &["--pcap alice-bob", "R1-R2=r1-r2.pcapng"]);
    refused(&short(&["--pcap", "alice-bo=x"]), &["there is no link `alice-bo`", "alice-bob"]);
    let twice = [format!("alice-bob={csv}"), format!("alice->bob={csv}")];
    refused(&short(&["--pcap", &twice[0], "--pcap", &twice[1]]), &["named for two files"]);
    assert!(fs::read_dir(&folder).unwrap().next().is_none(), "nothing is left");
    // The device is always full.
    if Path::new("/dev/full").exists() {
        refused(&short(&["--pcap", "alice-bob=/dev/full"]), &["cannot write /dev/full", "No space left"]);
    }
}
