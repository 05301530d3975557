//! `weir route`: the routes of a running forwarder.

use std::str::FromStr;

use clap::Subcommand;
use serde::Serialize;
use weir_core::units::Span;
use weir_management::status::{FaceNumber, FaceStatus, NextHopStatus};
use weir_management::{ControlParameters, Module, RouteFlags, origin};
use weir_packet::Name;
use weir_results::{table, terminal_width};

use crate::Failure;
use crate::manage::{Connection, FaceName, Forwarder, count, duration, millis, text};

/// List, add and remove the routes of a running forwarder
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the routes (the RIB); the same as `weir route`
    List {
        /// Only routes to this prefix and longer ones
        prefix: Option<Name>,
        /// List the FIB instead: the next hops that follow from the routes
        #[arg(long)]
        fib: bool,
    },
    /// Add a route, or change the one with this prefix, face and origin
    Add {
        /// The prefix
        prefix: Name,
        /// The next hop: a face's number, or a remote URI; if no face to the URI exists, one is created
        face: FaceName,
        /// Cost: lower is better
        #[arg(long, default_value_t = 0)]
        cost: u64,
        /// The origin: app, client, autoreg, autoconf, nlsr, prefixann, static, or a number
        #[arg(long, default_value = "static")]
        origin: Origin,
        /// Longer prefixes with their own routes do not also use this route
        #[arg(long)]
        no_inherit: bool,
        /// This prefix and longer ones do not use routes of shorter prefixes
        #[arg(long)]
        capture: bool,
        /// Remove it after this time, such as 10min
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// Remove a route
    Remove {
        /// The prefix
        prefix: Name,
        /// The next hop: the face's number or remote URI
        face: FaceName,
        /// The origin, as `weir route` shows it
        #[arg(long, default_value = "static")]
        origin: Origin,
    },
}

/// Names of origins, as in other software.
const ORIGINS: [(u64, &str); 7] = [
    (origin::APP, "app"),
    (origin::AUTOREG, "autoreg"),
    (origin::CLIENT, "client"),
    (origin::AUTOCONF, "autoconf"),
    (origin::NLSR, "nlsr"),
    (origin::PREFIX_ANNOUNCEMENT, "prefixann"),
    (origin::STATIC, "static"),
];

/// Origin of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin(u64);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let named = ORIGINS.iter().find(|(_, name)| *name == text).map(|(number, _)| *number);
        named.or_else(|| text.parse().ok()).map(Origin).ok_or_else(|| {
            let names = ORIGINS.map(|(_, name)| name).join(", ");
            format!("{text:?} is not an origin: wanted a number or one of {names}")
        })
    }
}

impl core::fmt::Display for Origin {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match ORIGINS.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => f.pad(name),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A row of the RIB.
#[derive(Debug, Serialize)]
struct Row {
    prefix: String,
    face: FaceNumber,
    remote: Option<String>,
    origin: String,
    cost: u64,
    child_inherit: bool,
    capture: bool,
    expires_in_ms: Option<u64>,
}

/// A next hop in the FIB.
#[derive(Debug, Serialize)]
struct HopRow {
    prefix: String,
    face: FaceNumber,
    remote: Option<String>,
    cost: u64,
    silent: bool,
}

/// Runs the command.
pub fn route(args: &Args) -> Result<(), Failure> {
    let mut forwarder = args.connection.open()?;
    let everything = Command::List { prefix: None, fib: false };
    match args.command.as_ref().unwrap_or(&everything) {
        Command::List { prefix, fib } => list(&mut forwarder, prefix.as_ref(), *fib),
        Command::Add { prefix, face, cost, origin, no_inherit, capture, expires } => {
            let flags = RouteFlags { child_inherit: !no_inherit, capture: *capture };
            let wanted = ControlParameters {
                name: Some(prefix.clone()),
                face: Some(forwarder.find_or_create(face)?),
                cost: Some(*cost),
                origin: Some(origin.0),
                flags: Some(flags.bits()),
                expiration_period_ms: expires.map(millis),
                ..ControlParameters::default()
            };
            let done = forwarder.command(Module::Rib, "register", &wanted)?;
            let faces = forwarder.faces()?;
            let row = Row::of(&wanted, &done, &faces);
            forwarder.print(&row, |row| format!("Added the route {}.\n", row.sentence()))
        }
        Command::Remove { prefix, face, origin } => remove(&mut forwarder, prefix, face, *origin),
    }
}

fn list(forwarder: &mut Forwarder, prefix: Option<&Name>, fib: bool) -> Result<(), Failure> {
    let faces = forwarder.faces()?;
    let is_wanted = |name: &Name| prefix.is_none_or(|prefix| name.view().starts_with(prefix.view()));
    if fib {
        let entries = forwarder.client.fib()?.into_iter().filter(|entry| is_wanted(&entry.prefix));
        let rows: Vec<HopRow> = entries.flat_map(|entry| hop_rows(&entry, &faces)).collect();
        return forwarder.print(&rows, |rows| hop_table(rows));
    }
    let entries = forwarder.client.rib()?.into_iter().filter(|entry| is_wanted(&entry.prefix));
    let rows: Vec<Row> = entries.flat_map(|entry| rows(&entry, &faces)).collect();
    forwarder.print(&rows, |rows| route_table(rows))
}

fn remove(forwarder: &mut Forwarder, prefix: &Name, face: &FaceName, origin: Origin) -> Result<(), Failure> {
    let number = forwarder.find(face)?;
    let entries = forwarder.client.rib()?;
    let routes: Vec<_> = entries.iter().filter(|entry| entry.prefix == *prefix).collect();
    let mut routes = routes.iter().flat_map(|entry| &entry.routes);
    if !routes.clone().any(|route| (route.face, route.origin) == (number, origin.0)) {
        let there = routes.find(|route| route.face == number).map_or_else(
            || "`weir route` lists them".to_owned(),
            |route| format!("there is one with --origin {}", Origin(route.origin)),
        );
        let error = format!("there is no route to {prefix} by face {number} of origin {origin}\n  {there}");
        return Err(error.into());
    }
    let wanted = ControlParameters {
        name: Some(prefix.clone()),
        face: Some(number),
        origin: Some(origin.0),
        ..ControlParameters::default()
    };
    forwarder.command(Module::Rib, "unregister", &wanted)?;
    let removed = Removed { prefix: prefix.to_string(), face: number, origin: origin.to_string() };
    forwarder.print(&removed, |removed| {
        let Removed { prefix, face, origin } = removed;
        format!("Removed the route to {prefix} by face {face} of origin {origin}.\n")
    })
}

#[derive(Debug, Serialize)]
struct Removed {
    prefix: String,
    face: FaceNumber,
    origin: String,
}

fn remote(face: FaceNumber, faces: &[FaceStatus]) -> Option<String> {
    faces.iter().find(|status| status.number == face).map(|status| status.remote.clone())
}

impl Row {
    /// The row of a requested route with the forwarder's answer.
    fn of(wanted: &ControlParameters, done: &ControlParameters, faces: &[FaceStatus]) -> Row {
        let face = done.face.or(wanted.face).unwrap_or_default();
        let flags = RouteFlags::from_bits(done.flags.or(wanted.flags).unwrap_or_default());
        let name = done.name.as_ref().or(wanted.name.as_ref());
        Row {
            prefix: name.map(Name::to_string).unwrap_or_default(),
            face,
            remote: remote(face, faces),
            origin: Origin(done.origin.or(wanted.origin).unwrap_or_default()).to_string(),
            cost: done.cost.or(wanted.cost).unwrap_or_default(),
            child_inherit: flags.child_inherit,
            capture: flags.capture,
            expires_in_ms: done.expiration_period_ms,
        }
    }

    fn sentence(&self) -> String {
        let remote = self.remote.as_ref().map(|remote| format!(" ({remote})")).unwrap_or_default();
        format!(
            "to {} by face {}{remote}, cost {}, origin {}",
            self.prefix, self.face, self.cost, self.origin
        )
    }

    fn options(&self) -> String {
        let options = [(self.child_inherit, "child-inherit"), (self.capture, "capture")];
        let options: Vec<&str> =
            options.into_iter().filter(|option| option.0).map(|option| option.1).collect();
        options.join(", ")
    }
}

fn rows(entry: &weir_management::dataset::RibStatus, faces: &[FaceStatus]) -> Vec<Row> {
    let row = |route: &weir_management::dataset::RouteStatus| Row {
        prefix: entry.prefix.to_string(),
        face: route.face,
        remote: remote(route.face, faces),
        origin: Origin(route.origin).to_string(),
        cost: route.cost,
        child_inherit: route.flags.child_inherit,
        capture: route.flags.capture,
        expires_in_ms: route.expires_in_ms,
    };
    entry.routes.iter().map(row).collect()
}

fn hop_rows(entry: &weir_management::status::FibStatus, faces: &[FaceStatus]) -> Vec<HopRow> {
    let row = |&NextHopStatus { face, cost, silent }: &NextHopStatus| HopRow {
        prefix: entry.prefix.to_string(),
        face,
        remote: remote(face, faces),
        cost,
        silent,
    };
    entry.next_hops.iter().map(row).collect()
}

fn route_table(rows: &[Row]) -> String {
    let header = ["prefix", "face", "remote", "cost", "origin", "options", "expires in"];
    let mut table = table(&header, [1, 3], terminal_width());
    for row in rows {
        table.add_row([
            row.prefix.clone(),
            row.face.to_string(),
            row.remote.clone().unwrap_or_default(),
            count(row.cost),
            row.origin.clone(),
            row.options(),
            row.expires_in_ms.map(duration).unwrap_or_default(),
        ]);
    }
    text(&table)
}

fn hop_table(rows: &[HopRow]) -> String {
    let mut table = table(&["prefix", "face", "remote", "cost", "state"], [1, 3], terminal_width());
    for row in rows {
        let remote = row.remote.clone().unwrap_or_default();
        let state = if row.silent { "silent" } else { "" };
        table.add_row([row.prefix.clone(), row.face.to_string(), remote, count(row.cost), state.to_owned()]);
    }
    text(&table)
}
