//! Makes a checked [`Config`] from the tree.

use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::node::CsPlacement;
use weir_core::node::LONGEST_LIFETIME;
use weir_core::seam::params::Value as ParamValue;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate};
use weir_document::{
    Document, DocumentError, Entry, Item, Kind as ValueKind, Origin, Param, Shape, Table, Value,
    did_you_mean, params,
};
use weir_packet::signal::UnknownClass;
use weir_packet::{Name, ServiceClass};
use weir_schemes::{Entry as SchemeEntry, Resolved, SCHEMES, UnknownScheme};

use super::keys::{FORMAT, LISTS};
use super::{
    ASF, ClassTreatment, ClassTreatments, Config, ConfigError, EthernetFaces, Face, FaceKind, FaceOptions,
    Faces, File, Log, LogLevel, Management, MtuByNetwork, MulticastFaces, Network, Route, RouteFace, ShareBy,
    Source, StrategyChoice, StreamFaces, Switching, Tables, Trust, UdpFaces, UnixFaces, asf_options,
    strategies,
};
use crate::management::Applications;
use weir_management::status::FacePersistency;
use weir_net::uri::{FaceUri, FaceUriError, Mac};

type Result<T> = core::result::Result<T, DocumentError>;

/// Smallest frame: a header with every field and some bytes of a fragment.
pub(crate) const LEAST_MTU: u64 = 256;
/// Largest frame: what a UDP datagram holds.
const MOST_MTU: u64 = 65_507;

pub(super) fn config(text: &str, name: &str) -> core::result::Result<Config, ConfigError> {
    let doc = Document::new(FORMAT, name, text);
    let root = doc.tree()?;
    let file = Reader { doc: &doc, root: &root };
    file.check_tables()?;
    let (scheme, schemes) = file.scheme()?;
    let faces = file.faces()?;
    let face = file.face_list(&faces, &scheme)?;
    let mut config = Config {
        routes: file.routes(&faces, &face)?,
        faces,
        face,
        strategies: file.strategies()?,
        scheme,
        schemes,
        tables: file.tables()?,
        management: file.management()?,
        metrics: file.metrics()?,
        capture: file.output("capture")?,
        record: file.output("record")?,
        log: file.log()?,
        source: Arc::new(Source { doc: Document::new(FORMAT, name, ""), root: Table::default() }),
    };
    file.check_ports(&config)?;
    file.check_outputs(&config)?;
    config.source = Arc::new(Source { doc, root });
    Ok(config)
}

/// The position of a dotted key, or of the table that would contain it. Items of lists are addressed by index.
pub(super) fn origin(root: &Table, key: &str) -> Origin {
    let mut table = root;
    let mut parts = key.split('.');
    let mut found = Origin::Default;
    while let Some(part) = parts.next() {
        let Some(mut value) = table.value(part) else { return Origin::Default };
        if let ValueKind::List(list) = &value.kind
            && let Some(at) = parts.clone().next().and_then(|at| at.parse::<usize>().ok())
        {
            let Some(item) = list.get(at) else { return Origin::Default };
            value = item;
            parts.next();
        }
        found = value.origin;
        match &value.kind {
            ValueKind::Table(inner) => table = inner,
            _ => break,
        }
    }
    if parts.next().is_some() { Origin::Default } else { found }
}

struct Reader<'a> {
    doc: &'a Document,
    root: &'a Table,
}

/// An empty table, for a table that is missing in the file.
static NO_TABLE: Table = Table(Vec::new());

impl<'a> Reader<'a> {
    // ---- Tables

    /// Returns an error for unknown tables at the top level and below `faces`.
    fn check_tables(&self) -> Result<()> {
        let tables = |below: &str| -> Vec<&'static str> {
            let names = FORMAT.sections.iter().map(|section| section.name);
            names.filter_map(|name| name.strip_prefix(below)).filter(|n| !n.contains(['.', '*'])).collect()
        };
        let mut top = tables("");
        top.insert(0, "faces");
        self.check_names(self.root, "", &top)?;
        if let Some(faces) = self.table("faces")? {
            self.check_names(faces.0, "faces", &tables("faces."))?;
        }
        Ok(())
    }

    fn check_names(&self, table: &Table, path: &str, known: &[&str]) -> Result<()> {
        let Some(entry) = table.0.iter().find(|entry| !known.contains(&&*entry.key)) else { return Ok(()) };
        let meant = did_you_mean(&entry.key, known.iter().copied());
        let message = format!("there is no table `{}`{meant}", entry.key);
        Err(self.doc.error(entry.key_origin, path, message, format!("tables here: {}", known.join(", "))))
    }

    /// A table at the top level, with its position.
    fn table(&self, name: &str) -> Result<Option<(&'a Table, Origin)>> {
        let Some(value) = self.root.value(name) else { return Ok(None) };
        match &value.kind {
            ValueKind::Table(table) => Ok(Some((table, value.origin))),
            _ => Err(self.no_table(name, value)),
        }
    }

    fn no_table(&self, name: &str, value: &Value) -> DocumentError {
        let message = format!("{} is not a table", value.kind_name());
        self.doc.error(value.origin, name, message, format!("write [{name}] and its keys below it"))
    }

    /// A table of the format, checked for unknown keys. A missing table is empty.
    fn item(&self, section: &'static str) -> Result<Item<'a>> {
        let (mut table, mut origin) = (self.root, Origin::Default);
        for part in section.split('.') {
            match table.value(part) {
                None => (table, origin) = (&NO_TABLE, Origin::Default),
                Some(value) => match &value.kind {
                    ValueKind::Table(inner) => (table, origin) = (inner, value.origin),
                    _ => return Err(self.no_table(section, value)),
                },
            }
        }
        let item = Item { doc: self.doc, section, path: section, table, origin };
        if section != "scheme" {
            item.check_keys()?;
        }
        Ok(item)
    }

    /// Reads each table of a list.
    fn list<T>(
        &self,
        section: &'static str,
        mut read: impl FnMut(&Item<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        debug_assert!(LISTS.contains(&section));
        let mut all = Vec::new();
        let Some(value) = self.root.value(section) else { return Ok(all) };
        let wrong = |origin| {
            let help = format!("write [[{section}]] and its keys below it, once for each");
            self.doc.error(origin, section, format!("`{section}` is not a list of tables"), help)
        };
        let Some(list) = value.as_list() else { return Err(wrong(value.origin)) };
        for (at, value) in list.iter().enumerate() {
            let Some(table) = value.as_table() else { return Err(wrong(value.origin)) };
            let name = table.value("name").and_then(Value::as_text);
            let path = name.map_or_else(|| format!("{section}.{at}"), |name| format!("{section}.{name}"));
            let item = Item { doc: self.doc, section, path: &path, table, origin: value.origin };
            item.check_keys()?;
            read(&item, &mut all)?;
        }
        Ok(all)
    }

    // ---- Faces

    fn faces(&self) -> Result<Faces> {
        Ok(Faces {
            unix: self.unix()?,
            udp: {
                let item = self.item("faces.udp")?;
                let listen = addresses(&item, "listen")?;
                UdpFaces {
                    listen,
                    kernel_buffer: kernel_buffer(&item)?,
                    idle_timeout: item.span("idle_timeout")?,
                    mtu_by_network: mtu_by_network(&item)?,
                    options: options(&item, None)?,
                }
            },
            tcp: self.stream("faces.tcp")?,
            websocket: self.stream("faces.websocket")?,
            multicast: self.multicast()?,
            ethernet: self.ethernet()?,
        })
    }

    fn unix(&self) -> Result<Option<UnixFaces>> {
        let item = self.item("faces.unix")?;
        let (path, mode) = (path(&item, "path")?, mode(&item)?);
        let faces = UnixFaces { path, mode, options: options(&item, None)? };
        Ok(item.switch("enabled")?.then_some(faces))
    }

    fn stream(&self, section: &'static str) -> Result<StreamFaces> {
        let item = self.item(section)?;
        Ok(StreamFaces { listen: addresses(&item, "listen")?, options: options(&item, None)? })
    }

    fn multicast(&self) -> Result<MulticastFaces> {
        let item = self.item("faces.multicast")?;
        let group_ipv4: SocketAddrV4 = parsed(&item, "group_ipv4")?;
        let group_ipv6: SocketAddrV6 = parsed(&item, "group_ipv6")?;
        for (key, is_group) in
            [("group_ipv4", group_ipv4.ip().is_multicast()), ("group_ipv6", group_ipv6.ip().is_multicast())]
        {
            if !is_group {
                return Err(wrong(&item, key));
            }
        }
        let (interfaces, options) = (interfaces(&item)?, options(&item, None)?);
        if options.reliability == Switching::On {
            let message = "link reliability is for faces with one peer, and these are groups";
            return Err(error(&item, "reliability", message.to_owned(), "leave it out, or `false`"));
        }
        Ok(MulticastFaces { interfaces, group_ipv4, group_ipv6, options })
    }

    fn ethernet(&self) -> Result<EthernetFaces> {
        let item = self.item("faces.ethernet")?;
        let group = ethernet_address(&item.text("group")?).filter(|group| group.is_multicast());
        Ok(EthernetFaces {
            interfaces: interfaces(&item)?,
            group: group.ok_or_else(|| wrong(&item, "group"))?,
            idle_timeout: item.span("idle_timeout")?,
            options: options(&item, None)?,
        })
    }

    fn face_list(&self, faces: &Faces, scheme: &Resolved) -> Result<Vec<Face>> {
        self.list("face", |item, all: &mut Vec<Face>| {
            let face = self.face(item, faces, scheme)?;
            if let Some(other) = all.iter().find(|other| other.is_same(&face)) {
                let message = format!("there is a face to `{}` already", other.remote);
                return Err(error(item, "remote", message, "one [[face]] for each remote and local end"));
            }
            if face.name.is_some() && all.iter().any(|other| other.name == face.name) {
                let message = format!("there is a face of the name `{}` already", face.label());
                return Err(error(
                    item,
                    "name",
                    message,
                    "each face needs a different name, because routes use it",
                ));
            }
            all.push(face);
            Ok(())
        })
    }

    fn face(&self, item: &Item<'_>, faces: &Faces, scheme: &Resolved) -> Result<Face> {
        let remote = uri(item, "remote")?;
        let local = item.given("local").map(|_| uri(item, "local")).transpose()?;
        let kind = check_ends(item, &remote, local.as_ref())?;
        let name = item.opt_text("name")?;
        if name.as_deref().is_some_and(|name| name.is_empty() || name.contains([':', '/'])) {
            return Err(error(item, "name", "a name must not be empty or contain `:` or `/`", ""));
        }
        let persistency = match item.choice("persistency")? {
            "permanent" => FacePersistency::Permanent,
            _ => FacePersistency::Persistent,
        };
        let own = match item.given("scheme") {
            None => None,
            Some(value) => Some(self.own_scheme(item, value, scheme)?),
        };
        let options = options(item, Some(faces.options(kind)))?;
        let (remote, local) = (remote.to_string(), local.map(|local| local.to_string()));
        Ok(Face { name, remote, local, persistency, options, scheme: own })
    }

    /// The scheme with the parameters of a face, which override its own.
    fn own_scheme(&self, item: &Item<'_>, value: &Value, scheme: &Resolved) -> Result<Resolved> {
        let Some(table) = value.as_table() else { return Err(wrong(item, "scheme")) };
        let path = item.path_of("scheme");
        let own = params(self.doc, &path, table)?;
        let mut given = scheme.given.clone();
        given.retain(|(key, _)| !own.iter().any(|param| param.key == *key));
        self.resolve(scheme.entry, &path, given, &own)
    }

    // ---- Routes and strategies

    fn routes(&self, faces: &Faces, face: &[Face]) -> Result<Vec<Route>> {
        self.list("route", |item, all: &mut Vec<Route>| {
            let route = Route {
                prefix: prefix(item)?,
                face: route_face(item, faces, face)?,
                cost: item.whole("cost")?,
                child_inherit: item.switch("child_inherit")?,
                capture: item.switch("capture")?,
            };
            if all.iter().any(|other| (&other.prefix, &other.face) == (&route.prefix, &route.face)) {
                let message = format!("there is a route for `{}` to this face already", route.prefix);
                return Err(error(item, "prefix", message, "one [[route]] for each prefix and face"));
            }
            if route.prefix.view().components().next().is_some_and(|first| first.value == b"localhost") {
                let message = "names under /localhost do not leave this host";
                return Err(error(item, "prefix", message, "routes lead to other hosts"));
            }
            all.push(route);
            Ok(())
        })
    }

    fn strategies(&self) -> Result<Vec<StrategyChoice>> {
        self.list("strategy", |item, all: &mut Vec<StrategyChoice>| {
            let choice = StrategyChoice { prefix: prefix(item)?, strategy: strategy(item)? };
            if all.iter().any(|other| other.prefix == choice.prefix) {
                let message = format!("there is a strategy for `{}` already", choice.prefix);
                return Err(error(item, "prefix", message, "one [[strategy]] for each prefix"));
            }
            all.push(choice);
            Ok(())
        })
    }

    // ---- The scheme

    fn scheme(&self) -> Result<(Resolved, Vec<Resolved>)> {
        let item = self.item("scheme")?;
        let named = |entry: &Entry| matches!(entry.value.kind, ValueKind::Table(_));
        for entry in &item.table.0 {
            let (path, key): (_, &str) = ("scheme", &entry.key);
            if named(entry) {
                let unknown = |error: UnknownScheme| {
                    self.doc.error(entry.key_origin, path, error.to_string(), error.help())
                };
                weir_schemes::known(key).map_err(unknown)?;
            }
            if !named(entry) && (FORMAT.find)("scheme", key).is_none() {
                let help = "keys here: name; the parameters of a scheme are in a table [scheme.NAME]";
                return Err(self.doc.error(entry.key_origin, path, format!("unknown key `{key}`"), help));
            }
        }
        let all = SCHEMES.iter().map(|entry| {
            let table = item.table.table(entry.name).unwrap_or(&NO_TABLE);
            let path = format!("scheme.{}", entry.name);
            self.resolve(entry, &path, Vec::new(), &params(self.doc, &path, table)?)
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        let unknown = |wrong: UnknownScheme| error(&item, "name", wrong.to_string(), wrong.help());
        let name = weir_schemes::known(&item.text("name")?).map_err(unknown)?.name;
        let chosen = all.iter().find(|scheme| scheme.entry.name == name).cloned();
        Ok((chosen.expect("every scheme of the list is there"), all))
    }

    /// A scheme with these parameters, overridden by those at `path`.
    fn resolve(
        &self,
        entry: &'static SchemeEntry,
        path: &str,
        mut given: Vec<(String, ParamValue)>,
        own: &[Param],
    ) -> Result<Resolved> {
        given.extend(own.iter().map(|param| (param.key.clone(), ParamValue::from(&param.value))));
        entry.resolve(given).map_err(|wrong| {
            let own = own.iter().find(|param| param.key == wrong.key);
            let at = own.map_or_else(|| self.doc.location(Origin::Default), |param| param.location.clone());
            self.doc.error_at(at, format!("{path}.{}", wrong.key), wrong.message.as_str(), wrong.help())
        })
    }

    // ---- The rest

    fn tables(&self) -> Result<Tables> {
        let item = self.item("tables")?;
        let entries = |key: &str| item.whole(key).map(|n| n as usize);
        let (pit_bytes, longest_lifetime) = (item.size("pit_bytes")?, item.span("longest_lifetime")?);
        if pit_bytes < LEAST_PIT {
            return Err(error(&item, "pit_bytes", "no Interest could be pending", "at least 16 kB"));
        }
        // All faces share this memory. Each face needs room for a few packets of the largest size.
        let size_from = |key: &str, least: Bytes, wanted: &str| {
            let size = item.size(key)?;
            let message = "a face could not have a few packets of the largest size";
            if size < least { Err(error(&item, key, message, wanted)) } else { Ok(size) }
        };
        if longest_lifetime > LONGEST_LIFETIME {
            let message = "no Interest is pending for more than 300 s";
            return Err(error(&item, "longest_lifetime", message, "at most \"300 s\""));
        }
        Ok(Tables {
            faces: entries("faces")?,
            pit_bytes,
            longest_lifetime,
            fib_entries: entries("fib_entries")?,
            dead_nonces: entries("dead_nonces")?,
            queue_bytes: size_from("queue_bytes", LEAST_BUFFERS, "at least 1 MB")?,
            flow_bytes: item.size("flow_bytes")?,
            reforward_after: item.span("reforward_after")?,
            next_hop_timeout: item.span("next_hop_timeout")?,
            regions: names(&item, "regions")?,
            content_store_packets: entries("content_store_packets")?,
            content_store_bytes: item.size("content_store_bytes")?,
            content_store_policy: CsPolicy::named(item.choice("content_store_policy")?).unwrap_or_default(),
            content_store_placement: placement(&item)?,
            send_buffer_bytes: size_from("send_buffer_bytes", LEAST_BUFFERS, "at least 1 MB")?,
            reassembly_bytes: size_from("reassembly_bytes", LEAST_FRAGMENTS, "at least 64 kB")?,
        })
    }

    fn management(&self) -> Result<Management> {
        let item = self.item("management")?;
        let enabled = item.switch("enabled")?;
        let localhop = item.switch("localhop")?;
        let local_trusted = item.choice("local")? == "trusted";
        let trusted_keys = item.texts("trusted_keys")?;
        let trusted_keys: Vec<PathBuf> =
            trusted_keys.iter().map(|(path, _)| PathBuf::from(&**path)).collect();
        if localhop && !enabled {
            return Err(error(&item, "localhop", "management is switched off", "leave `enabled` out"));
        }
        if localhop && trusted_keys.is_empty() {
            let help = "give `trusted_keys`, the files with their certificates";
            return Err(error(&item, "localhop", "no neighbour's key is trusted", help));
        }
        if local_trusted && trusted_keys.is_empty() {
            let help = "give `trusted_keys`, the files with their certificates, or leave `local` out";
            return Err(error(
                &item,
                "local",
                "no key is trusted, so nobody could command the forwarder",
                help,
            ));
        }
        let names = |key| each(&item, key, |name| (!name.is_empty()).then(|| name.to_owned()));
        let (users, groups) = (names("users")?, names("groups")?);
        let loopback = item.switch("loopback")?;
        let applications = match item.choice("applications")? {
            "show" => Applications::Show,
            "all" => Applications::All,
            _ => Applications::Register,
        };
        let registrations = item.whole("registrations").map(|most| most as usize)?;
        Ok(Management {
            enabled,
            local_trusted,
            localhop,
            trusted_keys,
            applications,
            registrations,
            users,
            groups,
            loopback,
        })
    }

    fn metrics(&self) -> Result<Option<SocketAddr>> {
        let item = self.item("metrics")?;
        item.given("listen").map(|_| parsed(&item, "listen")).transpose()
    }

    /// The output file of a table, if the table has one.
    fn output(&self, section: &'static str) -> Result<Option<File>> {
        let item = self.item(section)?;
        let limit = item.size("limit")?;
        if limit.as_u64() < LEAST_FILE {
            let message = format!("{limit} is too small for a file");
            return Err(error(&item, "limit", message, "at least 64 KiB"));
        }
        item.given("path").map(|_| Ok(File { path: path(&item, "path")?, limit })).transpose()
    }

    fn log(&self) -> Result<Log> {
        let item = self.item("log")?;
        let level = match item.choice("level")? {
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "debug" => LogLevel::Debug,
            "trace" => LogLevel::Trace,
            _ => LogLevel::Info,
        };
        Ok(Log { level, json: item.choice("format")? == "json" })
    }

    /// Returns an error if two sockets of the same protocol have the same address.
    fn check_ports(&self, config: &Config) -> Result<()> {
        let streams = [
            ("faces.tcp", &config.faces.tcp.listen[..]),
            ("faces.websocket", &config.faces.websocket.listen),
            ("metrics", config.metrics.as_slice()),
        ];
        for (at, (section, addresses)) in streams.iter().enumerate() {
            for (other, taken) in &streams[..at] {
                let both = addresses.iter().find(|address| address.port() != 0 && taken.contains(address));
                if let Some(address) = both {
                    let message = format!("{address} is taken by `{other}.listen`");
                    return Err(error(&self.item(section)?, "listen", message, "give another port"));
                }
            }
        }
        Ok(())
    }

    fn check_outputs(&self, config: &Config) -> Result<()> {
        match (&config.capture, &config.record) {
            (Some(capture), Some(record)) if capture.path == record.path => {
                let item = self.item("record")?;
                Err(error(&item, "path", "frames are captured to the same file", "give another path"))
            }
            _ => Ok(()),
        }
    }
}

/// Smallest PIT: about twenty Interests.
const LEAST_PIT: Bytes = Bytes::new(16_000);

/// Smallest bound of all queues, and of all send buffers.
const LEAST_BUFFERS: Bytes = Bytes::new(1_000_000);

/// Smallest bound of all incomplete packets.
const LEAST_FRAGMENTS: Bytes = Bytes::new(64_000);

/// Smallest limit of an output file: a smaller file would hold almost nothing.
const LEAST_FILE: u64 = 64 * 1024;

/// Largest socket buffer: socket options can express half of 2 GiB.
const LARGEST_KERNEL_BUFFER: Bytes = Bytes::new(1_000_000_000);

/// An error at a key, which the file may not contain.
fn error(item: &Item<'_>, key: &str, message: impl Into<String>, help: impl Into<String>) -> DocumentError {
    item.doc.error(item.origin_of(key), item.path_of(key), message, help)
}

/// An error for a value of the wrong kind.
fn wrong(item: &Item<'_>, key: &str) -> DocumentError {
    match item.value(key) {
        Ok(value) => item.wrong(key, &value),
        Err(error) => error,
    }
}

/// Parses a text as a `T`.
fn parsed<T: core::str::FromStr>(item: &Item<'_>, key: &str) -> Result<T> {
    item.text(key)?.parse().map_err(|_| wrong(item, key))
}

/// One text or a list of texts, all different, each parsed by `read`.
fn each<T: PartialEq>(
    item: &Item<'_>,
    key: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for (text, origin) in item.texts(key)? {
        let at = |message, help: &str| item.doc.error(origin, item.path_of(key), message, help);
        let Some(Shape::TextsOf(_, wanted)) = (FORMAT.find)(item.section, key).map(|key| key.shape) else {
            return Err(wrong(item, key));
        };
        let one = read(&text).ok_or_else(|| at(format!("`{text}` is not {wanted}"), ""))?;
        if all.contains(&one) {
            return Err(at(format!("`{text}` is there twice"), "each must be different"));
        }
        all.push(one);
    }
    Ok(all)
}

fn addresses(item: &Item<'_>, key: &'static str) -> Result<Vec<SocketAddr>> {
    each(item, key, |text| text.parse().ok())
}

fn interfaces(item: &Item<'_>) -> Result<Vec<String>> {
    each(item, "interfaces", |name| is_interface(name).then(|| name.to_owned()))
}

fn is_interface(name: &str) -> bool {
    matches!(format!("dev://{name}").parse(), Ok(FaceUri::Device(_)))
}

fn path(item: &Item<'_>, key: &str) -> Result<PathBuf> {
    let text = item.text(key)?;
    if text.is_empty() || text.contains('\0') {
        return Err(wrong(item, key));
    }
    Ok(PathBuf::from(text))
}

fn kernel_buffer(item: &Item<'_>) -> Result<Bytes> {
    let size = item.size("kernel_buffer")?;
    if size > LARGEST_KERNEL_BUFFER {
        let message = format!("{size} is larger than a socket buffer can be");
        return Err(error(item, "kernel_buffer", message, "at most 1 GB"));
    }
    Ok(size)
}

fn mode(item: &Item<'_>) -> Result<u32> {
    let text = item.text("mode")?;
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|digit| (b'0'..b'8').contains(&digit));
    let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
    mode.ok_or_else(|| wrong(item, "mode"))
}

fn ethernet_address(text: &str) -> Option<Mac> {
    match format!("ether://[{text}]").parse() {
        Ok(FaceUri::Ethernet(mac)) => Some(mac),
        _ => None,
    }
}

/// The face options of a table. Missing keys have the values of `kind`.
fn options(item: &Item<'_>, kind: Option<FaceOptions>) -> Result<FaceOptions> {
    let given = |key: &str| item.given(key).is_some() || kind.is_none();
    let mut options = kind.unwrap_or_default();
    if let Some(rate) = item.opt_rate("rate")? {
        // A face's own rate replaces the rates of its kind in both directions.
        (options.rate, options.receive_rate) = (Some(rate), Some(rate));
    }
    if let Some(rate) = item.opt_rate("receive_rate")? {
        options.receive_rate = Some(rate);
    }
    if let Some(mtu) = item.opt_size("mtu")? {
        if !is_frame_size(mtu) {
            return Err(error(item, "mtu", format!("{mtu} is not a valid frame size"), frame_sizes()));
        }
        options.mtu = Some(mtu.as_u64());
    }
    if given("queue") {
        options.queue = item.queue("queue")?;
    }
    if given("reliability") {
        options.reliability = item.switch_or_word("reliability")?.map_or(Switching::Auto, Switching::of);
    }
    if given("congestion_marking") {
        options.congestion_marking = item.switch("congestion_marking")?;
    }
    if given("marking_threshold") {
        options.marking_threshold = item.size("marking_threshold")?;
    }
    if given("marking_interval") {
        options.marking_interval = item.span("marking_interval")?;
    }
    if given("trust") {
        options.trust = match item.choice("trust")? {
            "all" => Trust::All,
            "none" => Trust::Nobody,
            _ => Trust::Known,
        };
    }
    if let Some(value) = item.given("classes") {
        class_treatments(item, value, &mut options.classes)?;
    }
    if item.given("share_by").is_some() {
        let is_by_face = item.choice("share_by")? == "face";
        options.share_by = Some(if is_by_face { ShareBy::Face } else { ShareBy::Flow });
    }
    Ok(options)
}

fn is_frame_size(mtu: Bytes) -> bool {
    (LEAST_MTU..=MOST_MTU).contains(&mtu.as_u64())
}

fn frame_sizes() -> String {
    format!("from {LEAST_MTU} B to {MOST_MTU} B")
}

/// The largest frames to peers, by network.
fn mtu_by_network(item: &Item<'_>) -> Result<MtuByNetwork> {
    const KEY: &str = "mtu_by_network";
    let mut all = MtuByNetwork::default();
    let Some(value) = item.given(KEY) else { return Ok(all) };
    let Some(table) = value.as_table() else { return Err(wrong(item, KEY)) };
    for Entry { key, key_origin, value } in &table.0 {
        let network: Network = key.parse().map_err(|()| {
            let message = format!("`{key}` is not a network");
            let help = "an address, or one with the number of its bits in common, such as \"192.0.2.0/24\"";
            item.doc.error(*key_origin, item.path_of(KEY), message, help)
        })?;
        let path = format!("{}.{key}", item.path_of(KEY));
        let mtu = value.as_text().and_then(|text| text.parse().ok()).filter(|mtu| is_frame_size(*mtu));
        let mtu: Bytes = mtu.ok_or_else(|| {
            let shown = value.as_text().map_or(value.kind_name().to_owned(), |text| format!("`{text}`"));
            let message = format!("{shown} is not a valid frame size");
            item.doc.error(value.origin, path.clone(), message, frame_sizes())
        })?;
        if !all.add(network, mtu.as_u64()) {
            return Err(item.doc.error(*key_origin, path, "the network is there twice", "each has one size"));
        }
    }
    Ok(all)
}

/// The rules of a table for service classes, over those of its kind.
fn class_treatments(item: &Item<'_>, value: &Value, treatments: &mut ClassTreatments) -> Result<()> {
    let Some(table) = value.as_table() else { return Err(wrong(item, "classes")) };
    for Entry { key, key_origin, value } in &table.0 {
        let path = item.path_of("classes");
        let class: ServiceClass = key.parse().map_err(|why: UnknownClass| {
            let message = format!("there is no service class `{key}`");
            item.doc.error(*key_origin, path.clone(), message, why.to_string())
        })?;
        let treatment = value.as_text().and_then(class_treatment).ok_or_else(|| {
            let shown = value.as_text().map_or(value.kind_name().to_owned(), |text| format!("`{text}`"));
            let message = format!("{shown} is not a rule for a class");
            let help = "\"keep\", \"refuse\", another class such as \"BE\", or a rate such as \"1 Mb/s\"";
            item.doc.error(value.origin, format!("{path}.{key}"), message, help)
        })?;
        treatments[class as usize] = Some(treatment);
    }
    Ok(())
}

fn class_treatment(text: &str) -> Option<ClassTreatment> {
    Some(match text {
        "keep" => ClassTreatment::Keep,
        "refuse" => ClassTreatment::Refuse,
        _ => match text.parse() {
            Ok(class) => ClassTreatment::Remark(class),
            Err(_) => ClassTreatment::Limit(text.parse::<Rate>().ok().filter(|rate| *rate > Rate::ZERO)?),
        },
    })
}

/// A face URI. Host names are resolved when the face is created.
fn uri(item: &Item<'_>, key: &str) -> Result<FaceUri> {
    item.text(key)?.parse().map_err(|why: FaceUriError| error(item, key, why.to_string(), ""))
}

/// Checks that such a face can exist, and returns its kind.
fn check_ends(item: &Item<'_>, remote: &FaceUri, local: Option<&FaceUri>) -> Result<FaceKind> {
    let group = match remote {
        FaceUri::Udp(end) if end.ip().is_multicast() => Some("faces.multicast"),
        FaceUri::Ethernet(mac) if mac.is_multicast() => Some("faces.ethernet"),
        _ => None,
    };
    if let Some(table) = group {
        let help = format!("give the interface in [{table}]");
        return Err(error(item, "remote", format!("`{remote}` is a group"), help));
    }
    let kind = FaceKind::of_uri(&remote.to_string());
    let Some(kind @ (FaceKind::Udp | FaceKind::Tcp | FaceKind::Ethernet)) = kind else {
        let (message, help) = match kind {
            Some(FaceKind::WebSocket) if !matches!(remote, FaceUri::WebSocketClient(_)) => {
                let create = format!("create it with: weir face create {remote}");
                (format!("`{remote}`: a WebSocket face cannot be in the file"), create)
            }
            _ => (
                format!("`{remote}`: faces of this kind cannot be created"),
                "use udp, tcp or ether".to_owned(),
            ),
        };
        return Err(error(item, "remote", message, help));
    };
    match (kind, local) {
        (FaceKind::Ethernet, Some(FaceUri::Device(_))) => Ok(kind),
        (FaceKind::Ethernet, _) => {
            let message = "an Ethernet face needs its interface";
            Err(error(item, "local", message, "local = \"dev://eth0\""))
        }
        (_, None) => Ok(kind),
        (_, Some(local)) if FaceKind::of_uri(&local.to_string()) == Some(kind) => Ok(kind),
        _ => {
            let message = "both ends of a face must have the same kind";
            Err(error(item, "local", message, format!("`remote` is `{remote}`")))
        }
    }
}

fn names(item: &Item<'_>, key: &str) -> Result<Vec<Name>> {
    let wrong = |uri: &str, why| error(item, key, format!("`{uri}` is not a name: {why}"), "");
    let texts = item.texts(key)?;
    texts.iter().map(|(uri, _)| uri.parse().map_err(|why| wrong(uri, why))).collect()
}

fn placement(item: &Item<'_>) -> Result<CsPlacement> {
    let key = "content_store_placement";
    let text = item.text(key)?;
    let wrong =
        |_| error(item, key, format!("`{text}` is not a placement"), format!("write {}", CsPlacement::FORMS));
    text.parse().map_err(wrong)
}

fn prefix(item: &Item<'_>) -> Result<Name> {
    let uri = item.text("prefix")?;
    if !uri.starts_with('/') {
        return Err(wrong(item, "prefix"));
    }
    uri.parse().map_err(|why| error(item, "prefix", format!("`{uri}` is not a name: {why}"), ""))
}

fn route_face(item: &Item<'_>, faces: &Faces, face: &[Face]) -> Result<RouteFace> {
    let text = item.text("face")?;
    let group = |kind: &str, interfaces: &[String]| {
        text.strip_prefix(kind).filter(|name| interfaces.iter().any(|i| i == name)).map(str::to_owned)
    };
    if let Some(interface) = group("multicast/", &faces.multicast.interfaces) {
        return Ok(RouteFace::Multicast(interface));
    }
    if let Some(interface) = group("ethernet/", &faces.ethernet.interfaces) {
        return Ok(RouteFace::Ethernet(interface));
    }
    let remote = text.parse().map(|uri: FaceUri| uri.to_string());
    let is_it = |face: &&Face| face.name.as_ref() == Some(&text) || Ok(&face.remote) == remote.as_ref();
    let found = face.iter().find(is_it);
    found.map(|face| RouteFace::Face { remote: face.remote.clone(), local: face.local.clone() }).ok_or_else(
        || {
            let multicast = faces.multicast.interfaces.iter().map(|name| format!("multicast/{name}"));
            let ethernet = faces.ethernet.interfaces.iter().map(|name| format!("ethernet/{name}"));
            let known: Vec<String> =
                face.iter().map(|face| face.label().to_owned()).chain(multicast).chain(ethernet).collect();
            let meant = did_you_mean(&text, known.iter().map(String::as_str));
            let help = if known.is_empty() {
                "write a [[face]] with its `remote`, and perhaps a `name`".to_owned()
            } else {
                format!("faces: {}", known.join(", "))
            };
            error(item, "face", format!("there is no face `{text}`{meant}"), help)
        },
    )
}

fn strategy(item: &Item<'_>) -> Result<String> {
    let text = item.text("strategy")?;
    let name = text.strip_prefix("/localhost/nfd/strategy/").unwrap_or(&text);
    let (short, options) = name.split_once('/').unwrap_or((name, ""));
    // A version may come before the options.
    let is_version = |part: &str| part.starts_with("v=");
    let options = match options.split_once('/') {
        Some((version, options)) if is_version(version) => options,
        None if is_version(options) => "",
        _ => options,
    };
    if !strategies().any(|known| known == short) {
        let meant = did_you_mean(short, strategies());
        let known: Vec<_> = strategies().collect();
        let message = format!("there is no strategy `{text}`{meant}");
        return Err(error(item, "strategy", message, format!("strategies: {}", known.join(", "))));
    }
    if options.is_empty() {
        return Ok(short.to_owned());
    }
    if short != ASF || asf_options(options).is_none() {
        let message = format!("`{options}` are no options of the strategy `{short}`");
        let help = "options of asf: /probing-interval~MILLISECONDS, at least 1000, and /max-timeouts~NUMBER";
        return Err(error(item, "strategy", message, help));
    }
    Ok(format!("{short}/{options}"))
}
