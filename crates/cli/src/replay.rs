//! `weir replay`: replays a forwarder's recording.

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use weir_core::seam::DropReason;
use weir_core::units::Time;
use weir_forwarder::record::Recording;
use weir_forwarder::replay::{Replayed, replay};
use weir_measure::to_json;
use weir_results::{table, terminal_width};

use crate::manage::{count, text};
use crate::{Failure, terminal};

/// Replay a forwarder's recording, and check that the core's actions are the same
///
/// A forwarder writes the recording if its file sets `[record] path`. The exit status is 0 if the actions are
/// identical, and 1 if they differ. If the forwarder was killed, the replay runs to the last complete entry.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recording
    file: PathBuf,
    /// Print the result as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    software: String,
    scheme: String,
    started_unix_ns: u64,
    entries: u64,
    inputs: Inputs,
    actions: Actions,
    from_s: f64,
    to_s: f64,
    hashes_compared: u64,
    is_cut: bool,
    bytes_cut: usize,
    identical: bool,
    difference: Option<Difference>,
}

#[derive(Debug, Serialize)]
struct Inputs {
    packets: u64,
    deadlines: u64,
    changes: u64,
}

#[derive(Debug, Serialize)]
struct Actions {
    transmitted: u64,
    delivered: u64,
    dropped: Vec<Dropped>,
}

#[derive(Debug, Serialize)]
struct Dropped {
    reason: &'static str,
    packets: u64,
}

#[derive(Debug, Serialize)]
struct Difference {
    entry: u64,
    at_s: f64,
    what: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let name = args.file.display();
    let file = std::fs::read(&args.file).map_err(|error| format!("{name}: {error}"))?;
    let recording = Recording::read(&file).map_err(|error| format!("{name}: {error}"))?;
    let header = recording.header.clone();
    let waiting = terminal::waiting("replaying the recording");
    let replayed = replay(recording);
    waiting.finish_and_clear();
    let replayed = replayed.map_err(|error| format!("{name}: {error}"))?;
    let (from, to) = replayed.span.unwrap_or_default();
    let document = Document {
        software: header.software,
        scheme: header.scheme,
        started_unix_ns: header.started_unix_ns,
        entries: replayed.entries,
        inputs: Inputs {
            packets: replayed.packets,
            deadlines: replayed.deadlines,
            changes: replayed.changes,
        },
        actions: Actions {
            transmitted: replayed.transmitted,
            delivered: replayed.delivered,
            dropped: dropped(&replayed),
        },
        from_s: seconds(from),
        to_s: seconds(to),
        hashes_compared: replayed.hashes,
        is_cut: !replayed.is_ended && replayed.difference.is_none(),
        bytes_cut: replayed.rest,
        identical: replayed.difference.is_none(),
        difference: replayed.difference.as_ref().map(|difference| Difference {
            entry: difference.entry,
            at_s: seconds(difference.at),
            what: difference.to_string(),
        }),
    };
    terminal::print(&if args.json { to_json(&document) } else { shown(&document, terminal_width()) })?;
    Ok(if document.identical { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn dropped(replayed: &Replayed) -> Vec<Dropped> {
    let each = DropReason::ALL.iter().zip(replayed.drops).filter(|(_, packets)| *packets > 0);
    each.map(|(reason, packets)| Dropped { reason: reason.words(), packets }).collect()
}

fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e9
}

fn shown(document: &Document, width: Option<u16>) -> String {
    let mut inputs = table(&["inputs", "number"], [1], width);
    let Inputs { packets, deadlines, changes } = document.inputs;
    for (what, number) in [("packets", packets), ("deadlines", deadlines), ("changes of the node", changes)] {
        inputs.add_row([what.to_owned(), count(number)]);
    }
    let mut actions = table(&["actions", "packets"], [1], width);
    let Actions { transmitted, delivered, dropped } = &document.actions;
    actions.add_row(["transmitted".to_owned(), count(*transmitted)]);
    actions.add_row(["delivered".to_owned(), count(*delivered)]);
    for Dropped { reason, packets } in dropped {
        actions.add_row([format!("dropped: {reason}"), count(*packets)]);
    }
    let cut = if document.is_cut { cut_off(document.bytes_cut) } else { String::new() };
    let verdict = match &document.difference {
        None => {
            format!("Identical: {} hashes of the actions were compared.", count(document.hashes_compared))
        }
        Some(difference) => format!("Different: {}.", difference.what),
    };
    format!(
        "{} with scheme {}: {} entries, {:.3} s to {:.3} s after its start\n\n{}\n{}\n{cut}{verdict}\n",
        document.software,
        document.scheme,
        count(document.entries),
        document.from_s,
        document.to_s,
        text(&inputs),
        text(&actions),
    )
}

/// The message for a recording without an end. `bytes` is the length of its incomplete last entry.
fn cut_off(bytes: usize) -> String {
    match bytes {
        0 => "The recording ends without its end mark: the forwarder still runs, or it was killed, or its file could \
              not be written.\n"
            .to_owned(),
        _ => format!("The recording is cut off: the last {} are an incomplete entry.\n", bytes_of(bytes)),
    }
}

fn bytes_of(bytes: usize) -> String {
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_without_its_end_says_what_may_be_the_cause() {
        let said = cut_off(0);
        for cause in ["the forwarder still runs", "it was killed", "its file could not be written"] {
            assert!(said.contains(cause), "{said}");
        }
    }
}
