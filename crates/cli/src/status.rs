//! `weir status`: the status of a running forwarder.

use serde::Serialize;
use weir_results::{table, terminal_width};

use crate::Failure;
use crate::manage::{Connection, count, duration, not_believed, text};

/// Show the status of a running forwarder: uptime, tables, packet counters
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Serialize)]
struct Document {
    version: String,
    socket: String,
    started_ms: u64,
    now_ms: u64,
    faces: u64,
    fib_entries: u64,
    pit_entries: u64,
    cs_entries: u64,
    in_interests: u64,
    in_data: u64,
    in_nacks: u64,
    out_interests: u64,
    out_data: u64,
    out_nacks: u64,
    satisfied_interests: u64,
    unsatisfied_interests: u64,
    remarked_interests: u64,
    refused_interests: u64,
    over_rate_interests: u64,
    lost_datagrams: u64,
    reassembly_failures: u64,
    refused_connections: u64,
    file_errors: u64,
}

/// Prints the status.
pub fn status(args: &Args) -> Result<(), Failure> {
    let mut forwarder = args.connection.open()?;
    let general = forwarder.client.general()?;
    let faces = forwarder.faces()?.len() as u64;
    let passed = general.counters;
    let document = Document {
        version: general.version,
        socket: forwarder.client.endpoint().to_string(),
        started_ms: general.started_ms,
        now_ms: general.now_ms,
        faces,
        fib_entries: general.fib_entries,
        pit_entries: general.pit_entries,
        cs_entries: general.cs_entries,
        in_interests: passed.in_interests,
        in_data: passed.in_data,
        in_nacks: passed.in_nacks,
        out_interests: passed.out_interests,
        out_data: passed.out_data,
        out_nacks: passed.out_nacks,
        satisfied_interests: general.satisfied_interests,
        unsatisfied_interests: general.unsatisfied_interests,
        remarked_interests: passed.in_remarked,
        refused_interests: passed.in_refused,
        over_rate_interests: passed.in_over_rate,
        lost_datagrams: general.losses.datagrams,
        reassembly_failures: general.losses.reassembly,
        refused_connections: general.losses.connections,
        file_errors: general.losses.files,
    };
    forwarder.print(&document, |document| shown(document, terminal_width()))
}

fn shown(document: &Document, width: Option<u16>) -> String {
    let up = duration(document.now_ms.saturating_sub(document.started_ms));
    let mut tables = table(&["table", "entries"], [1], width);
    for (name, entries) in [
        ("faces", document.faces),
        ("FIB", document.fib_entries),
        ("PIT", document.pit_entries),
        ("content store", document.cs_entries),
    ] {
        tables.add_row([name.to_owned(), count(entries)]);
    }
    let mut passed = table(&["packets", "in", "out"], [1, 2], width);
    for (name, inward, outward) in [
        ("Interests", document.in_interests, document.out_interests),
        ("Data", document.in_data, document.out_data),
        ("Nacks", document.in_nacks, document.out_nacks),
    ] {
        passed.add_row([name.to_owned(), count(inward), count(outward)]);
    }
    let classes = [document.remarked_interests, document.refused_interests, document.over_rate_interests];
    let classes =
        not_believed(classes).map_or_else(String::new, |classes| format!("Service classes: {classes}.\n"));
    let losses: String = [
        (document.lost_datagrams, "datagrams found no room in receive buffers"),
        (document.reassembly_failures, "IP datagrams of this host could not be reassembled"),
        (document.refused_connections, "connections were refused"),
        (document.file_errors, "errors ended a capture or a recording"),
    ]
    .into_iter()
    .filter(|(losses, _)| *losses > 0)
    .map(|(losses, what)| format!("{} {what}.\n", count(losses)))
    .collect();
    format!(
        "{} at {}, up for {up}\n\n{}\n{}\nPending Interests: {} were satisfied, {} were not.\n{classes}{losses}",
        document.version,
        document.socket,
        text(&tables),
        text(&passed),
        count(document.satisfied_interests),
        count(document.unsatisfied_interests),
    )
}
