//! `weir face`: the faces of a running forwarder.

use clap::Subcommand;
use serde::Serialize;
use weir_core::units::{Bytes, Span};
use weir_management::client::ClientError;
use weir_management::dataset::ListedFace;
use weir_management::status::{FaceNumber, FacePersistency, FaceScope, FaceStatus, LinkType};
use weir_management::{ControlParameters, Module, OWN_MTU};
use weir_results::{rate, table, terminal_width};

use crate::Failure;
use crate::manage::{Connection, FaceName, Switch, canonical, count, duration, flags, not_believed, text};

/// List, create, change and close the faces of a running forwarder
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all faces; the same as `weir face`
    List,
    /// Show all properties of a face
    Show {
        /// The face's number or remote URI
        face: FaceName,
    },
    /// Create a face to another forwarder
    Create {
        /// The remote URI, such as udp://192.0.2.1 or tcp://router.example:6363
        uri: String,
        /// The local URI, which Ethernet needs: such as dev://eth0
        #[arg(long, value_name = "URI")]
        local: Option<String>,
        #[command(flatten)]
        properties: Properties,
    },
    /// Change the given options; the others stay
    Update {
        /// The face's number or remote URI
        face: FaceName,
        #[command(flatten)]
        properties: Properties,
    },
    /// Close a face and remove its routes
    Destroy {
        /// The face's number or remote URI
        face: FaceName,
    },
}

#[derive(Debug, clap::Args)]
struct Properties {
    /// The face's lifetime: until it fails (persistent), or until it is destroyed (permanent)
    #[arg(long)]
    persistency: Option<Persistency>,
    /// Largest frame, in bytes; auto: what the path carries
    #[arg(long, value_name = "BYTES|auto", value_parser = mtu)]
    mtu: Option<u64>,
    /// Whether the peer may see and choose faces (local fields)
    #[arg(long, value_name = "on|off")]
    local_fields: Option<Switch>,
    /// Link reliability: retransmit frames that the link loses
    #[arg(long, value_name = "on|off")]
    reliability: Option<Switch>,
    /// Mark packets while the queue is long
    #[arg(long, value_name = "on|off")]
    congestion_marking: Option<Switch>,
    /// Time between two marks while the queue stays long, such as 100ms
    #[arg(long, value_name = "TIME")]
    marking_interval: Option<Span>,
    /// Queue length above which packets are marked, such as 64KiB
    #[arg(long, value_name = "SIZE")]
    marking_threshold: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Persistency {
    Persistent,
    Permanent,
}

fn mtu(text: &str) -> Result<u64, String> {
    match text {
        "auto" => Ok(OWN_MTU),
        _ => text.parse().map_err(|_| "wanted a number of bytes, such as 1400, or auto".to_owned()),
    }
}

impl Properties {
    fn parameters(&self) -> ControlParameters {
        let (flags, mask) = flags([self.local_fields, self.reliability, self.congestion_marking]);
        ControlParameters {
            flags,
            mask,
            persistency: self.persistency.map(|persistency| match persistency {
                Persistency::Persistent => FacePersistency::Persistent,
                Persistency::Permanent => FacePersistency::Permanent,
            }),
            mtu: self.mtu,
            base_congestion_marking_interval_ns: self.marking_interval.map(Span::as_nanos),
            default_congestion_threshold: self.marking_threshold.map(Bytes::as_u64),
            ..ControlParameters::default()
        }
    }
}

/// A row of the face list. A property that the forwarder does not report is null.
#[derive(Debug, Serialize)]
struct Row {
    face: FaceNumber,
    remote: String,
    local: String,
    scope: &'static str,
    persistency: &'static str,
    link_type: &'static str,
    up: Option<bool>,
    local_fields: bool,
    reliability: bool,
    congestion_marking: bool,
    marking_interval_ns: Option<u64>,
    marking_threshold_bytes: Option<u64>,
    mtu: Option<u64>,
    expires_in_ms: Option<u64>,
    send_rate_bps: Option<u64>,
    queued_packets: Option<u64>,
    queued_bytes: Option<u64>,
    in_interests: u64,
    in_data: u64,
    in_nacks: u64,
    in_bytes: u64,
    in_malformed: Option<u64>,
    in_remarked: Option<u64>,
    in_refused: Option<u64>,
    in_over_rate: Option<u64>,
    out_interests: u64,
    out_data: u64,
    out_nacks: u64,
    out_bytes: u64,
    out_dropped: Option<u64>,
}

impl Row {
    fn of(listed: ListedFace) -> Row {
        let ListedFace { status: face, has_queue } = listed;
        let passed = face.counters;
        let own = |value| has_queue.then_some(value);
        Row {
            face: face.number,
            scope: scope(&face),
            persistency: persistency(face.persistency),
            link_type: match face.link_type {
                LinkType::PointToPoint => "point-to-point",
                LinkType::MultiAccess => "multi-access",
                LinkType::AdHoc => "ad-hoc",
            },
            up: has_queue.then_some(face.up),
            local_fields: face.flags.local_fields,
            reliability: face.flags.reliability,
            congestion_marking: face.flags.congestion_marking,
            marking_interval_ns: face.base_congestion_marking_interval_ns,
            marking_threshold_bytes: face.default_congestion_threshold,
            mtu: face.mtu,
            expires_in_ms: face.expires_in_ms,
            send_rate_bps: face.send_rate_bps,
            queued_packets: own(face.queued_packets),
            queued_bytes: own(face.queued_bytes),
            in_interests: passed.in_interests,
            in_data: passed.in_data,
            in_nacks: passed.in_nacks,
            in_bytes: passed.in_bytes,
            in_malformed: own(passed.in_malformed),
            in_remarked: own(passed.in_remarked),
            in_refused: own(passed.in_refused),
            in_over_rate: own(passed.in_over_rate),
            out_interests: passed.out_interests,
            out_data: passed.out_data,
            out_nacks: passed.out_nacks,
            out_bytes: passed.out_bytes,
            out_dropped: own(passed.out_dropped),
            remote: face.remote,
            local: face.local,
        }
    }

    fn kind(&self) -> String {
        let down = if self.up == Some(false) { "down, " } else { "" };
        let local = if self.scope == "local" { "local, " } else { "" };
        format!("{down}{local}{}", self.persistency)
    }
}

fn scope(face: &FaceStatus) -> &'static str {
    match face.scope {
        FaceScope::Local => "local",
        FaceScope::NonLocal => "non-local",
    }
}

const fn persistency(persistency: FacePersistency) -> &'static str {
    match persistency {
        FacePersistency::Persistent => "persistent",
        FacePersistency::OnDemand => "on-demand",
        FacePersistency::Permanent => "permanent",
    }
}

/// Runs the command.
pub fn face(args: &Args) -> Result<(), Failure> {
    let mut forwarder = args.connection.open()?;
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => {
            let rows: Vec<Row> = forwarder.client.faces()?.into_iter().map(Row::of).collect();
            forwarder.print(&rows, |rows| list(rows, terminal_width()))
        }
        Command::Show { face } => {
            let number = forwarder.find(face)?;
            let faces = forwarder.client.faces()?;
            let found = faces.into_iter().find(|face| face.status.number == number);
            let found =
                found.ok_or_else(|| format!("there is no face {number}\n  `weir face` lists them"))?;
            forwarder.print(&Row::of(found), show)
        }
        Command::Create { uri, local, properties } => {
            let wanted = ControlParameters {
                uri: Some(canonical(uri)?),
                local_uri: local.as_deref().map(canonical).transpose()?,
                ..properties.parameters()
            };
            let made = forwarder.client.command(Module::Faces, "create", &wanted).map_err(is_there)?;
            forwarder.print(&Made::of(made), |made| format!("Made {}.\n", made.sentence()))
        }
        Command::Update { face, properties } => {
            let wanted = properties.parameters();
            if wanted == ControlParameters::default() {
                return Err("nothing to change: `weir face update --help` lists what can be changed".into());
            }
            let number = forwarder.find(face)?;
            let wanted = ControlParameters { face: Some(number), ..wanted };
            let made = forwarder.command(Module::Faces, "update", &wanted)?;
            forwarder.print(&Made::of(made), |made| format!("Changed {}.\n", made.sentence()))
        }
        Command::Destroy { face } => {
            let number = forwarder.find(face)?;
            let is_it = |face: &FaceStatus| face.number == number;
            if !forwarder.faces_with(is_it)?.iter().any(is_it) {
                return Err(format!("there is no face {number}\n  `weir face` lists them").into());
            }
            let wanted = ControlParameters { face: Some(number), ..ControlParameters::default() };
            forwarder.command(Module::Faces, "destroy", &wanted)?;
            forwarder.print(&Destroyed { face: number }, |_| format!("Destroyed face {number}.\n"))
        }
    }
}

#[derive(Debug, Serialize)]
struct Destroyed {
    face: FaceNumber,
}

/// The forwarder's answer about a created or changed face.
#[derive(Debug, Serialize)]
struct Made {
    face: Option<FaceNumber>,
    remote: Option<String>,
    local: Option<String>,
    persistency: Option<&'static str>,
    flags: Option<u64>,
    mtu: Option<u64>,
    marking_interval_ns: Option<u64>,
    marking_threshold_bytes: Option<u64>,
}

impl Made {
    fn of(parameters: ControlParameters) -> Made {
        Made {
            face: parameters.face,
            remote: parameters.uri,
            local: parameters.local_uri,
            persistency: parameters.persistency.map(persistency),
            flags: parameters.flags,
            mtu: parameters.mtu,
            marking_interval_ns: parameters.base_congestion_marking_interval_ns,
            marking_threshold_bytes: parameters.default_congestion_threshold,
        }
    }

    fn sentence(&self) -> String {
        let mut text = self.face.map_or_else(|| "a face".to_owned(), |face| format!("face {face}"));
        if let Some(remote) = &self.remote {
            text += &format!(" to {remote}");
        }
        if let Some(persistency) = self.persistency {
            text += &format!(", {persistency}");
        }
        if let Some(mtu) = self.mtu {
            text += &format!(", frames of at most {mtu} bytes");
        }
        text
    }
}

/// The error for an existing face names it.
fn is_there(error: ClientError) -> Failure {
    let ClientError::Refused(response) = &error else { return error.into() };
    let face = response.body.as_ref().filter(|_| response.code == 409).and_then(|body| body.face);
    match face {
        Some(face) => format!("face {face} exists already\n  `weir face update {face}` changes it").into(),
        None => error.into(),
    }
}

fn list(rows: &[Row], width: Option<u16>) -> String {
    let has_queue = rows.iter().any(|row| row.queued_packets.is_some());
    let mut header = vec![
        "face",
        "remote",
        "local",
        "kind",
        "in: Interests",
        "Data",
        "Nacks",
        "out: Interests",
        "Data",
        "Nacks",
    ];
    if has_queue {
        header.extend(["rate", "queued"]);
    }
    let mut table = table(&header, [0].into_iter().chain(4..header.len()), width);
    for row in rows {
        let mut cells = vec![row.face.to_string(), row.remote.clone(), row.local.clone(), row.kind()];
        cells.extend([row.in_interests, row.in_data, row.in_nacks].map(count));
        cells.extend([row.out_interests, row.out_data, row.out_nacks].map(count));
        if has_queue {
            cells.push(row.send_rate_bps.map_or_else(|| "–".to_owned(), |bps| rate(bps as f64)));
            cells.push(row.queued_packets.map_or_else(|| "–".to_owned(), count));
        }
        table.add_row(cells);
    }
    text(&table)
}

fn show(row: &Row) -> String {
    let options = [
        (row.local_fields, "local fields"),
        (row.reliability, "link reliability"),
        (row.congestion_marking, "congestion marking"),
    ];
    let options: Vec<&str> = options.into_iter().filter(|option| option.0).map(|option| option.1).collect();
    let up = |up| if up { "yes" } else { "no" }.to_owned();
    let packets = |interests, data, nacks, bytes| {
        format!(
            "{} Interests, {} Data, {} Nacks, {} bytes",
            count(interests),
            count(data),
            count(nacks),
            count(bytes)
        )
    };
    let lines = [
        ("remote", Some(row.remote.clone())),
        ("local", Some(row.local.clone())),
        ("up", row.up.map(up)),
        ("scope", Some(row.scope.to_owned())),
        ("persistency", Some(row.persistency.to_owned())),
        ("closed if idle", row.expires_in_ms.map(|ms| format!("in {}", duration(ms)))),
        ("link", Some(row.link_type.to_owned())),
        ("MTU", row.mtu.map(|mtu| format!("{} bytes", count(mtu)))),
        ("options", Some(options.join(", ")).filter(|options| !options.is_empty())),
        ("marks every", row.marking_interval_ns.map(|ns| format!("{} ms", ns as f64 / 1e6))),
        ("marks above", row.marking_threshold_bytes.map(|bytes| format!("{} bytes", count(bytes)))),
        ("rate", row.send_rate_bps.map(|bps| rate(bps as f64))),
        (
            "queued",
            row.queued_packets
                .zip(row.queued_bytes)
                .map(|(packets, bytes)| format!("{} packets, {} bytes", count(packets), count(bytes))),
        ),
        ("in", Some(packets(row.in_interests, row.in_data, row.in_nacks, row.in_bytes))),
        ("not understood", row.in_malformed.map(|frames| format!("{} frames", count(frames)))),
        (
            "classes",
            not_believed([row.in_remarked, row.in_refused, row.in_over_rate].map(Option::unwrap_or_default)),
        ),
        ("out", Some(packets(row.out_interests, row.out_data, row.out_nacks, row.out_bytes))),
        ("dropped", row.out_dropped.map(|packets| format!("{} packets", count(packets)))),
    ];
    let lines = lines.into_iter().filter_map(|(what, value)| value.map(|value| (what, value)));
    lines.fold(format!("Face {}\n", row.face), |text, (what, value)| text + &format!("  {what:<16}{value}\n"))
}
