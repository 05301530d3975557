//! Documentation of the metrics: the tables of the reference.

use std::fmt::Write;

use weir_core::packet::Kind as PacketKind;
use weir_core::seam::DropReason;
use weir_management::status::{
    FaceCounters, FaceFlags, FaceNumber, FacePersistency, FaceScope, FaceStatus, LinkType,
};
use weir_packet::ServiceClass;

use super::{ByClass, Delays, Kind, MAX_FACES, Snapshot};

/// The labels and all metrics, as Markdown.
pub fn markdown() -> String {
    format!("{}\n## All metrics\n\n{}", labels(), metrics())
}

fn labels() -> String {
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let classes = listed(&ServiceClass::ALL.map(ServiceClass::name));
    let kinds = listed(&Kind::ALL.map(|kind| kind.label()[0].1));
    let reasons = listed(&DropReason::ALL.map(DropReason::words));
    format!(
        "## Labels\n\n| label | values |\n|---|---|\n\
         | `face` | the number of a face; `others` for all after the first {MAX_FACES} together |\n\
         | `remote` | the remote URI of the face |\n\
         | `class` | a service class that was used since the start: {classes} |\n\
         | `kind` | {kinds} |\n\
         | `reason` | {reasons} |\n\
         | `version` | the version of the forwarder |\n"
    )
}

/// A row for each metric: by what the forwarder writes, so that no metric and no label is missing.
fn metrics() -> String {
    let mut table = "| metric | type | labels | meaning |\n|---|---|---|---|\n".to_owned();
    let text = example().text();
    let (mut help, mut kind) = ("", "");
    for line in text.lines() {
        let said = |what: &str| Some(line.strip_prefix(what)?.split_once(' ')?.1);
        if let Some(said) = said("# HELP ") {
            help = said;
        } else if let Some(said) = said("# TYPE ") {
            kind = said;
        } else if !kind.is_empty() {
            // The first value of a metric.
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            let name = if kind == "histogram" { name.trim_end_matches("_sum") } else { name };
            let keys = line.split(['{', ',']).skip(1).filter_map(|pair| pair.split_once('='));
            let keys: Vec<String> = keys.map(|(key, _)| format!("`{key}`")).collect();
            let _ = writeln!(table, "| `{name}` | {kind} | {} | {help} |", keys.join(", "));
            kind = "";
        }
    }
    table
}

/// The state of a forwarder of which every metric has a value.
fn example() -> Snapshot {
    let remote = || "udp4://192.0.2.1:6363".to_owned();
    let mut classes = ByClass::default();
    classes.count_sent(ServiceClass::Ef, PacketKind::Data, 1000);
    Snapshot {
        faces: vec![face(256, &remote())],
        face_delays: vec![(256, remote(), Delays::default())],
        face_classes: vec![(256, remote(), classes)],
        delays: vec![(ServiceClass::Ef, Delays::default())],
        classes,
        ..Snapshot::default()
    }
}

/// A face with a rate.
pub(super) fn face(number: FaceNumber, remote: &str) -> FaceStatus {
    FaceStatus {
        number,
        remote: remote.to_owned(),
        local: "udp4://192.0.2.7:6363".to_owned(),
        scope: FaceScope::NonLocal,
        persistency: FacePersistency::OnDemand,
        link_type: LinkType::PointToPoint,
        flags: FaceFlags::default(),
        up: true,
        mtu: None,
        base_congestion_marking_interval_ns: None,
        default_congestion_threshold: None,
        expires_in_ms: None,
        send_rate_bps: Some(20_000_000),
        queued_packets: 0,
        queued_bytes: 0,
        counters: FaceCounters::default(),
    }
}
