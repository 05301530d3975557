//! From the tree to a checked [`Scenario`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_core::units::{Bytes, Rate, Span};
use weir_document::{
    Document, DocumentError, Item, Key, Kind, Limit, Location, Origin, Param, REQUIRED, Shape, Table, Value,
    annotate, did_you_mean, list, nearest, params,
};
use weir_medium::phy::RATES;

use crate::error::ScenarioError;
use crate::expand::{check_sections, expand, items, zip};
use crate::generate::generate;
use crate::keys;
use crate::model::*;
use crate::names;
use crate::read::ScenarioItem;
use crate::routing::{FAR, Given, Graph, Policy, Search, lookup};
use crate::set::{Override, apply, changes, item_name};

type Result<T> = core::result::Result<T, DocumentError>;

const MAX_NODES: usize = 20_000;
const MAX_FLOWS: usize = 100_000;
/// How many values the time series may have: steps times flows and directions of links.
const MAX_SERIES: u64 = 20_000_000;

impl Scenario {
    /// Reads a scenario from its text: `name` is what it is called in results, `file` the label of
    /// the text in messages.
    ///
    /// # Errors
    /// The first mistake found in the text or the overrides, with its place and what would be right.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        overrides: &[Override],
    ) -> core::result::Result<Scenario, ScenarioError> {
        let read = Scenario::read(name, file, text, overrides).map_err(|error| {
            let in_file = matches!(error.location(), Location::File { .. });
            if !in_file || overrides.is_empty() {
                return error;
            }
            // What the file says is wrong only because of an override: without those that are at
            // fault there is no such error.
            let without = |left_out: usize| {
                let mut rest = overrides.to_vec();
                rest.remove(left_out);
                Scenario::read(name, file, text, &rest)
            };
            let at_fault = |i: &usize| without(*i).err().is_none_or(|other| !other.is_same(&error));
            let labels: Vec<String> =
                (0..overrides.len()).filter(at_fault).map(|i| overrides[i].label()).collect();
            if labels.is_empty() { error } else { error.made_by(&labels.join(" ")) }
        });
        Ok(read?)
    }

    fn read(name: &str, file: &str, text: &str, overrides: &[Override]) -> Result<Scenario> {
        let mut doc = Document::new(keys::FORMAT, file, text);
        let mut root = doc.tree()?;
        check_sections(&doc, &root)?;
        annotate(&doc, &mut root)?;
        let changes = changes(&mut doc, &root, overrides)?;
        for change in &changes {
            apply(&doc, &mut root, change, true)?;
        }
        generate(&doc, &mut root)?;
        expand(&doc, &mut root)?;
        for change in &changes {
            apply(&doc, &mut root, change, false)?;
        }
        Loader {
            doc: &doc,
            root: &root,
            changed: changes.iter().map(|c| c.path.as_str()).collect(),
            notes: Vec::new(),
        }
        .scenario(name)
    }

    /// An error at a place of this scenario, for what others check: a scheme's name or parameter.
    pub fn error_at(
        &self,
        location: &Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        DocumentError::new(location.clone(), key, message, help, &self.text).into()
    }

    /// An error at a parameter of a scheme.
    pub fn param_error(
        &self,
        scheme: &str,
        param: &Param,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ScenarioError {
        self.error_at(&param.location, format!("scheme.{scheme}.{}", param.key), message, help)
    }
}

struct Loader<'a> {
    doc: &'a Document,
    root: &'a Table,
    /// Paths of the overrides.
    changed: Vec<&'a str>,
    notes: Vec<String>,
}

/// A group of flows: its name and where its flows are.
struct Group {
    name: String,
    flows: core::ops::Range<usize>,
}

/// Names to places.
struct Names {
    nodes: BTreeMap<String, NodeId>,
    order: Vec<String>,
    links: BTreeMap<(NodeId, NodeId), DirectedLink>,
}

impl Names {
    fn node(&self, item: &Item<'_>, key: &str, name: &str, at: Origin) -> Result<NodeId> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let meant = did_you_mean(name, self.order.iter().map(String::as_str));
            let help = if self.order.is_empty() {
                "there are no nodes: write [[node]] and below it name = \"R1\"".to_owned()
            } else {
                format!("nodes: {}", list(self.order.iter().map(String::as_str)))
            };
            item.doc.error(at, item.path_of(key), format!("there is no node `{name}`{meant}"), help)
        })
    }

    fn name(&self, node: NodeId) -> &str {
        &self.order[node.index()]
    }

    fn link(&self, item: &Item<'_>, key: &str, a: NodeId, b: NodeId, at: Origin) -> Result<DirectedLink> {
        self.links.get(&(a, b)).copied().ok_or_else(|| {
            let (a_name, b_name) = (self.name(a), self.name(b));
            let neighbours =
                self.links.range((a, NodeId(0))..=(a, NodeId(usize::MAX))).map(|(k, _)| self.name(k.1));
            item.doc.error(
                at,
                item.path_of(key),
                format!("there is no link between {a_name} and {b_name}"),
                format!("{a_name} has links to: {}", list(neighbours)),
            )
        })
    }
}

impl<'a> Loader<'a> {
    fn items(&self, section: &'static str) -> Vec<(String, Value, &'a Table)> {
        items(self.root, section)
            .map(|(i, v, t)| {
                let path = format!("{section}.{}", item_name(section, i, v));
                (path, Value::new(Kind::Bool(true), v.origin), t)
            })
            .collect()
    }

    fn item<'i>(&'i self, section: &'static str, from: &'i (String, Value, &'a Table)) -> Item<'i> {
        Item { doc: self.doc, section, path: &from.0, table: from.2, origin: from.1.origin }
    }

    fn scenario(mut self, name: &str) -> Result<Scenario> {
        let top = Item { doc: self.doc, section: "", path: "", table: self.root, origin: Origin::Default };
        let duration = top.positive_span("duration")?;
        let shortened = matches!(top.given("duration").map(|v| v.origin), Some(Origin::Set(_)));
        let title = top.text("title")?;
        let source = top.opt_text("source")?.unwrap_or_default();
        let (scheme, scheme_params, mut schemes) = self.scheme()?;
        let (mut nodes, mut names) = self.nodes()?;
        let mut links = self.links(&mut names)?;
        let media = self.media(&mut names, &mut links)?;
        let (flows, groups) = self.flows(&names, duration, shortened)?;
        let sample = sample(&top, duration, flows.len() + 2 * links.len())?;
        for (path, _, table) in self.items("flow").iter().chain(&self.items("expectation")) {
            if let Some(value) = table.value("scheme")
                && let Some(name) = value.as_text().filter(|name| *name != "*")
            {
                schemes.push(self.named_scheme(format!("{path}.scheme"), name, value.origin));
            }
        }
        let routes = self.routes(&names, &links, &flows)?;
        let events = self.events(&names, &links, &groups, duration, shortened)?;
        let windows = self.windows(duration, shortened)?;
        let axes = self.axes()?;
        let settings = self.settings(&scheme_params);
        let axes = self.current(axes, &settings)?;
        for axis in axes.iter().filter(|axis| axis.current.is_none()) {
            if self.changed.iter().any(|changed| axis.set.iter().any(|path| path == changed)) {
                let values = list(axis.values.iter().map(String::as_str));
                self.notes.push(format!(
                    "the axis {} stands at none of its values ({values}): nothing is stated for this point of it",
                    axis.name
                ));
            }
        }
        let expectations =
            self.expectations(&names, &flows, &groups, &windows, &axes, &scheme, duration, shortened)?;
        for flow in &flows {
            let ends =
                flow.producers.iter().map(|&p| (p, Role::Producer)).chain([(flow.consumer, Role::Consumer)]);
            for (node, role) in ends {
                let now = &mut nodes[node.index()].role;
                *now = if *now == Role::Router || *now == role { role } else { Role::Peer };
            }
        }
        Ok(Scenario {
            name: name.to_owned(),
            title,
            source,
            duration,
            scheme,
            sample,
            nodes,
            links,
            media,
            flows,
            routes,
            events,
            windows: windows.into_iter().flatten().collect(),
            expectations,
            axes,
            settings,
            notes: self.notes,
            scheme_params,
            schemes,
            text: Arc::clone(&self.doc.text),
        })
    }

    /// The default scheme, all parameters, and where the schemes are named.
    fn scheme(&self) -> Result<(String, Vec<SchemeParams>, Vec<NamedScheme>)> {
        let Some(value) = self.root.value("scheme") else {
            return Err(self.doc.error(
                Origin::Default,
                "scheme",
                "the table `[scheme]` is missing",
                "write [scheme] and below it default = \"NAME\"; `weir list` shows the names",
            ));
        };
        let mut own = value.as_table().cloned().unwrap_or_default();
        let mut schemes = Vec::new();
        own.0.retain(|e| {
            let table = matches!(e.value.kind, Kind::Table(_)) && &*e.key != "source";
            if table {
                schemes.push(e.clone());
            }
            !table
        });
        let item =
            Item { doc: self.doc, section: "scheme", path: "scheme", table: &own, origin: value.origin };
        for entry in &own.0 {
            if keys::find("scheme", &entry.key).is_none() {
                return Err(self.doc.error(
                    entry.key_origin,
                    "scheme",
                    format!("unknown key `{}`", entry.key),
                    "keys here: default, source; the parameters of a scheme stand in a table [scheme.NAME]",
                ));
            }
        }
        let default = item.text("default")?;
        let at = item.given("default").map_or(item.origin, |v| v.origin);
        let mut named = vec![self.named_scheme("scheme.default".to_owned(), &default, at)];
        let mut all = Vec::new();
        for entry in schemes {
            named.push(self.named_scheme(format!("scheme.{}", entry.key), &entry.key, entry.key_origin));
            let list = match &entry.value.kind {
                Kind::Table(table) => params(self.doc, &format!("scheme.{}", entry.key), table)?,
                _ => Vec::new(),
            };
            all.push(SchemeParams { scheme: entry.key.to_string(), params: list });
        }
        Ok((default, all, named))
    }

    fn named_scheme(&self, key: String, name: &str, at: Origin) -> NamedScheme {
        NamedScheme { key, name: name.to_owned(), location: self.doc.location(at) }
    }

    fn nodes(&self) -> Result<(Vec<Node>, Names)> {
        let mut names = Names { nodes: BTreeMap::new(), order: Vec::new(), links: BTreeMap::new() };
        let mut nodes = Vec::new();
        let all = self.items("node");
        if all.is_empty() {
            let help = "write [[node]] and below it name = \"R1\", or a range: name = \"R{1..4}\"";
            return Err(self.doc.error(Origin::Default, "node", "there are no nodes", help));
        }
        for from in &all {
            let item = self.item("node", from);
            item.check_keys()?;
            let name = item.text("name")?;
            let at = item.given("name").map_or(item.origin, |v| v.origin);
            names::check_node(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
            if nodes.len() >= MAX_NODES {
                return Err(item.error_here(format!("there are more than {MAX_NODES} nodes"), ""));
            }
            if names.nodes.insert(name.clone(), NodeId(nodes.len())).is_some() {
                let message = format!("there are two nodes `{name}`");
                return Err(self.doc.error(at, item.path_of("name"), message, ""));
            }
            names.order.push(name.clone());
            let (cache_packets, cache_bytes) = match item.limit("cache")? {
                Limit::Packets(n) => (n, None),
                Limit::Bytes(bytes) if bytes == Bytes::ZERO => (0, None),
                Limit::Bytes(bytes) => (u64::MAX, Some(bytes)),
                Limit::Unlimited => (u64::MAX, None),
            };
            let cache_policy =
                if item.choice("cache_policy")? == "fifo" { CachePolicy::Fifo } else { CachePolicy::Lru };
            let mut cache_ratio_prefixes = Vec::new();
            if item.given("cache_ratio_for").is_some() {
                for (text, at) in item.texts("cache_ratio_for")? {
                    for prefix in item.expand("cache_ratio_for", &text, at, None)? {
                        item.check_prefix("cache_ratio_for", &prefix, at, true)?;
                        cache_ratio_prefixes.push(prefix);
                    }
                }
            }
            nodes.push(Node {
                name,
                cache_packets,
                cache_bytes,
                cache_policy,
                cache_ratio: item.number("cache_ratio")?,
                cache_ratio_prefixes,
                active: item.switch("active")?,
                position: item.position()?,
                role: Role::Router,
            });
        }
        Ok((nodes, names))
    }

    fn links(&self, names: &mut Names) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        for from in &self.items("link") {
            let item = self.item("link", from);
            item.check_keys()?;
            let ends = item.texts("ends")?;
            let [(a, a_at), (b, b_at)] = &ends[..] else {
                return Err(item.error_here("a link has two ends", ""));
            };
            let (a, b) = (names.node(&item, "ends", a, *a_at)?, names.node(&item, "ends", b, *b_at)?);
            if a == b {
                let message = format!("a link from {0} to {0} itself", names.name(a));
                return Err(self.doc.error(
                    *a_at,
                    item.path_of("ends"),
                    message,
                    "its ends are two different nodes",
                ));
            }
            self.add_link(&item, "ends", names, (a, b), *a_at, links.len())?;
            links.push(Link {
                a,
                b,
                rate: item.rates("rate")?,
                delay: item.spans("delay")?,
                queue: item.queue("queue")?,
                loss: item.number("loss")?,
                medium: None,
            });
        }
        Ok(links)
    }

    /// The media; their pairs of stations become links.
    fn media(&self, names: &mut Names, links: &mut Vec<Link>) -> Result<Vec<Medium>> {
        let mut media: Vec<Medium> = Vec::new();
        for from in &self.items("medium") {
            let item = self.item("medium", from);
            item.check_keys()?;
            let name = item.text("name")?;
            let at = item.given("name").map_or(item.origin, |v| v.origin);
            names::check_label(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
            if media.iter().any(|m| m.name == name) {
                return Err(item.error_here(format!("there are two media `{name}`"), ""));
            }
            item.choice("standard")?;
            let stations = self.stations(&item, names)?;
            let access_point = self.access_point(&item, names, &stations)?;
            let medium = Some(MediumId(media.len()));
            let rate = [item.rate_of("rate", &RATES, "802.11a")?; 2];
            let (queue, loss) = (item.queue("queue")?, item.number("loss")?);
            for (i, &(a, _)) in stations.iter().enumerate() {
                for &(b, at) in &stations[i + 1..] {
                    if access_point.is_some_and(|ap| a != ap && b != ap) {
                        continue;
                    }
                    self.add_link(&item, "stations", names, (a, b), at, links.len())?;
                    links.push(Link { a, b, rate, delay: [Span::ZERO; 2], queue, loss, medium });
                }
            }
            media.push(Medium { name, stations: stations.into_iter().map(|s| s.0).collect() });
        }
        Ok(media)
    }

    /// The stations of a medium, each with its place in the file.
    fn stations(&self, item: &Item<'_>, names: &Names) -> Result<Vec<(NodeId, Origin)>> {
        let mut stations: Vec<(NodeId, Origin)> = Vec::new();
        for (text, at) in item.texts("stations")? {
            for name in item.expand("stations", &text, at, None)? {
                let node = names.node(item, "stations", &name, at)?;
                if stations.iter().any(|s| s.0 == node) {
                    let message = format!("{name} is among the stations twice");
                    return Err(self.doc.error(at, item.path_of("stations"), message, ""));
                }
                stations.push((node, at));
            }
        }
        if stations.len() < 2 {
            let value = item.value("stations")?;
            let help = "write stations = [\"AP\", \"N1\"]";
            return Err(item.error("stations", &value, "a medium has at least two stations", help));
        }
        Ok(stations)
    }

    fn access_point(
        &self,
        item: &Item<'_>,
        names: &Names,
        stations: &[(NodeId, Origin)],
    ) -> Result<Option<NodeId>> {
        let Some(name) = item.opt_text("access_point")? else { return Ok(None) };
        let at = item.given("access_point").map_or(item.origin, |v| v.origin);
        let node = names.node(item, "access_point", &name, at)?;
        if stations.iter().any(|s| s.0 == node) {
            return Ok(Some(node));
        }
        let known = list(stations.iter().map(|s| names.name(s.0)));
        let message = format!("{name} is none of the stations");
        Err(self.doc.error(at, item.path_of("access_point"), message, format!("stations: {known}")))
    }

    /// Notes the link between two nodes, which is the `index`th.
    fn add_link(
        &self,
        item: &Item<'_>,
        key: &str,
        names: &mut Names,
        (a, b): (NodeId, NodeId),
        at: Origin,
        index: usize,
    ) -> Result<()> {
        if names.links.contains_key(&(a, b)) {
            let message = format!("there is already a link between {} and {}", names.name(a), names.name(b));
            let help = "between two nodes there is at most one; for two ways put a node on one of them";
            return Err(self.doc.error(at, item.path_of(key), message, help));
        }
        if index >= names::MAX_NAMES {
            return Err(item.error_here(format!("there are more than {} links", names::MAX_NAMES), ""));
        }
        let link = LinkId(index);
        names.links.insert((a, b), DirectedLink { link, direction: 0 });
        names.links.insert((b, a), DirectedLink { link, direction: 1 });
        Ok(())
    }

    fn flows(&self, names: &Names, duration: Span, shortened: bool) -> Result<(Vec<Flow>, Vec<Group>)> {
        let mut flows: Vec<Flow> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        // The first flow of each prefix: all of them fetch the same Data.
        let mut first: BTreeMap<String, usize> = BTreeMap::new();
        for from in &self.items("flow") {
            let item = self.item("flow", from);
            item.check_keys()?;
            let name = item.text("name")?;
            let at = item.given("name").map_or(item.origin, |v| v.origin);
            names::check_label(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
            if groups.iter().any(|g| g.name == name) {
                let message = format!("there are two flow groups `{name}`");
                return Err(self.doc.error(
                    at,
                    item.path_of("name"),
                    message,
                    "give each [[flow]] its own name",
                ));
            }
            let begin = flows.len();
            self.group(&item, &name, names, &mut flows)?;
            for (i, flow) in flows.iter().enumerate().skip(begin) {
                let key = if flow.start >= duration { Some("start") } else { None };
                if let (Some(key), false) = (key, shortened) {
                    let value = item.value(key)?;
                    let message = format!("starts at {}, but the run ends at {duration}", flow.start);
                    return Err(item.error(key, &value, message, ""));
                }
                if let Some(stop) = flow.stop.filter(|&stop| stop <= flow.start) {
                    let value = item.value("stop")?;
                    let message = format!("stops at {stop}, but starts at {}", flow.start);
                    return Err(item.error("stop", &value, message, ""));
                }
                let before = *first.entry(flow.prefix.clone()).or_insert(i);
                let other = &flows[before];
                if other.payload != flow.payload || other.freshness != flow.freshness {
                    let key = if other.payload != flow.payload { "payload" } else { "freshness" };
                    let message = format!(
                        "flow {name} and flow {} fetch the same {}, but with another {key}",
                        other.name, flow.prefix
                    );
                    let at = item.given(key).map_or(item.origin, |v| v.origin);
                    let help = format!("give both the same {key}, or different prefixes");
                    return Err(self.doc.error(at, item.path_of(key), message, help));
                }
            }
            groups.push(Group { name, flows: begin..flows.len() });
        }
        Ok((flows, groups))
    }

    fn group(&self, item: &Item<'_>, name: &str, names: &Names, flows: &mut Vec<Flow>) -> Result<()> {
        let count = item.opt_whole("count")?.map(|n| n as usize);
        let step = |key: &str| -> Result<Vec<String>> {
            let mut all = Vec::new();
            for (text, at) in item.texts(key)? {
                all.extend(item.expand(key, &text, at, count)?);
            }
            Ok(all)
        };
        let consumers = step("consumer")?;
        let prefixes = step("prefix")?;
        let producers: Vec<Vec<String>> = item
            .texts("producer")?
            .iter()
            .map(|(text, at)| item.expand("producer", text, *at, count))
            .collect::<Result<_>>()?;
        let starts = item.spans_each("start")?.unwrap_or_default();
        let stops = item.spans_each("stop")?;
        let amounts = item.wholes_each("amount")?;
        let mut lengths =
            vec![("consumer", consumers.len()), ("prefix", prefixes.len()), ("start", starts.len())];
        lengths.extend(producers.iter().map(|p| ("producer", p.len())));
        lengths.extend(stops.iter().map(|s| ("stop", s.len())));
        lengths.extend(amounts.iter().map(|a| ("amount", a.len())));
        let n = match count {
            Some(n) => n,
            None => lengths.iter().map(|l| l.1).max().unwrap_or(1),
        };
        for &(key, length) in &lengths {
            // With a count of 0 there is nothing to step through.
            if length != n && length != 1 && n != 0 {
                let value = item.value(key)?;
                let message = match (length, count) {
                    (0, _) => "an empty list".to_owned(),
                    (_, Some(n)) => format!("{length} values, but `count` is {n}"),
                    (_, None) => {
                        let longest = lengths.iter().find(|l| l.1 == n).map_or("", |l| l.0);
                        format!("{length} values, but `{longest}` has {n}")
                    }
                };
                let help = "ranges and lists step together: one value for all flows, or one for each";
                return Err(item.error(key, &value, message, help));
            }
        }
        if producers.is_empty() && n > 0 {
            let value = item.value("producer")?;
            return Err(item.error("producer", &value, "an empty list", "a flow has at least one producer"));
        }
        if flows.len() + n > MAX_FLOWS {
            return Err(item.error_here(format!("there are more than {MAX_FLOWS} flows"), ""));
        }
        let class = item.class("class")?;
        let spread = item.span("start_spread")?;
        let source = item.source_rate()?;
        let payload = item.size("payload")?;
        if !(1..=8192).contains(&payload.as_u64()) {
            let value = item.value("payload")?;
            return Err(item.error("payload", &value, format!("{payload} is not 1 B to 8192 B"), ""));
        }
        let lifetime = item.positive_span("lifetime")?;
        let freshness = item.opt_span("freshness")?;
        let scheme = item.opt_text("scheme")?;
        let at = |key: &str| item.given(key).map_or(item.origin, |v| v.origin);
        for i in 0..n {
            let consumer =
                names.node(item, "consumer", &consumers[i.min(consumers.len() - 1)], at("consumer"))?;
            let prefix = &prefixes[i.min(prefixes.len() - 1)];
            item.check_prefix("prefix", prefix, at("prefix"), false)?;
            let mut own = Vec::with_capacity(producers.len());
            for names_of in &producers {
                let producer =
                    names.node(item, "producer", &names_of[i.min(names_of.len() - 1)], at("producer"))?;
                if producer == consumer {
                    return Err(self.doc.error(
                        at("producer"),
                        item.path_of("producer"),
                        format!("{} is the consumer of {prefix} and its producer", names.name(producer)),
                        "a flow crosses at least one link",
                    ));
                }
                if !own.contains(&producer) {
                    own.push(producer);
                }
            }
            let later = Span::from_nanos((spread.as_nanos() as u128 * i as u128 / n as u128) as u64);
            flows.push(Flow {
                name: name.to_owned(),
                consumer,
                producers: own,
                prefix: prefix.clone(),
                class,
                start: starts[i.min(starts.len() - 1)] + later,
                stop: stops.as_ref().map(|s| s[i.min(s.len() - 1)]),
                amount: amounts.as_ref().map(|a| a[i.min(a.len() - 1)]),
                source,
                payload,
                lifetime,
                freshness,
                scheme: scheme.clone(),
            });
        }
        Ok(())
    }

    fn routes(&self, names: &Names, links: &[Link], flows: &[Flow]) -> Result<Vec<Route>> {
        let empty = Table::default();
        let value = self.root.value("routing");
        let item = Item {
            doc: self.doc,
            section: "routing",
            path: "routing",
            table: value.and_then(Value::as_table).unwrap_or(&empty),
            origin: value.map_or(Origin::Default, |v| v.origin),
        };
        item.check_keys()?;
        let policy = match item.choice("policy")? {
            "shortest-path" => Some(Policy::ShortestPath),
            "equal-cost" => Some(Policy::EqualCost),
            "multipath" => Some(Policy::Multipath),
            _ => None,
        };
        let graph = Graph::new(names.order.len(), links, item.choice("metric")? == "delay");
        let (given, mut routes) = self.given(names)?;

        // Flows by prefix, in the order in which prefixes first come.
        let mut order: Vec<&str> = Vec::new();
        let mut by_prefix: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, flow) in flows.iter().enumerate() {
            let of = by_prefix.entry(&flow.prefix).or_default();
            if of.is_empty() {
                order.push(&flow.prefix);
            }
            of.push(i);
        }
        // Prefixes by their producers, so that there is one search for each set of these.
        let mut by_producers: BTreeMap<Vec<NodeId>, Vec<usize>> = BTreeMap::new();
        for (at, prefix) in order.iter().enumerate() {
            let of = &by_prefix[prefix];
            let producers: BTreeSet<NodeId> =
                of.iter().flat_map(|&i| flows[i].producers.iter().copied()).collect();
            let producers: Vec<NodeId> = producers.into_iter().collect();
            if given.keys().any(|g| names::covers(g, prefix)) {
                for &i in of {
                    self.check_given(names, &given, &flows[i], &producers)?;
                }
            } else if policy.is_some() {
                by_producers.entry(producers).or_default().push(at);
            } else {
                return Err(self.flow_error(
                    &flows[of[0]],
                    format!("no [[route]] covers {prefix}, and the policy of [routing] is \"given\""),
                    format!("prefixes with routes: {}", list(given.keys().map(String::as_str))),
                ));
            }
        }
        let policy = policy.unwrap_or(Policy::ShortestPath);
        let mut made: Vec<Vec<Route>> = vec![Vec::new(); order.len()];
        let mut search = Search::new(&graph);
        // The last prefix, from 1, that an Interest for it can bring to each node.
        let mut seen = vec![0usize; names.order.len()];
        for (producers, prefixes) in by_producers {
            let of = prefixes.iter().flat_map(|&at| &by_prefix[order[at]]);
            let consumers: Vec<usize> = of.map(|&i| flows[i].consumer.index()).collect();
            let distance = search.distances(&producers, Some(&consumers));
            for at in prefixes {
                let prefix = order[at];
                let mut stack = Vec::new();
                for &i in &by_prefix[prefix] {
                    let consumer = flows[i].consumer.index();
                    if distance[consumer] == FAR {
                        return Err(self.unreachable(names, &graph, &flows[i]));
                    }
                    if core::mem::replace(&mut seen[consumer], at + 1) != at + 1 {
                        stack.push(consumer);
                    }
                }
                // Only the nodes that an Interest can come to have an entry.
                while let Some(node) = stack.pop() {
                    let next_hops = graph.next_hops(node, distance, policy);
                    for (next, _) in &next_hops {
                        if core::mem::replace(&mut seen[next.index()], at + 1) != at + 1 {
                            stack.push(next.index());
                        }
                    }
                    if !next_hops.is_empty() {
                        made[at].push(Route { node: NodeId(node), prefix: prefix.to_owned(), next_hops });
                    }
                }
                made[at].sort_by_key(|r| r.node);
            }
        }
        routes.extend(made.into_iter().flatten());
        Ok(routes)
    }

    /// An error at the group of a flow.
    fn flow_error(&self, flow: &Flow, message: String, help: String) -> DocumentError {
        let path = format!("flow.{}", flow.name);
        let items = self.items("flow");
        let found = items.iter().find(|f| f.0 == path);
        let at = found.map_or(Origin::Default, |f| f.2.value("producer").map_or(f.1.origin, |v| v.origin));
        self.doc.error(at, path, message, help)
    }

    fn unreachable(&self, names: &Names, graph: &Graph, flow: &Flow) -> DocumentError {
        let consumer = names.name(flow.consumer);
        let producers: Vec<&str> = flow.producers.iter().map(|&p| names.name(p)).collect();
        let near = graph.reachable(flow.consumer);
        let near = near.iter().filter(|&&n| n != flow.consumer.index()).map(|&n| names.name(NodeId(n)));
        self.flow_error(
            flow,
            format!(
                "{consumer} cannot reach {} for {}: no links join them",
                producers.join(" or "),
                flow.prefix
            ),
            format!("nodes that {consumer} reaches: {}; add a [[link]]", list(near)),
        )
    }

    fn given(&self, names: &Names) -> Result<(Given, Vec<Route>)> {
        let mut given = Given::new();
        let mut routes = Vec::new();
        for from in &self.items("route") {
            let item = self.item("route", from);
            item.check_keys()?;
            let mut hops: Vec<(NodeId, Vec<NodeId>, Origin)> = Vec::new();
            for (text, at) in item.texts("hops")? {
                let wrong = |m: String| self.doc.error(at, item.path_of("hops"), m, "");
                let Some((from, to)) = text.split_once("->") else {
                    return Err(wrong(format!(
                        "`{text}` is not a node and its next hops, such as \"R6->R7|R5\""
                    )));
                };
                let from = item.expand("hops", from.trim(), at, None)?;
                let mut nexts = vec![Vec::new(); from.len()];
                for to in to.split('|') {
                    let to = item.expand("hops", to.trim(), at, None)?;
                    let pairs: Vec<_> = zip(&from, &to).map_err(wrong)?.collect();
                    if pairs.len() != from.len() {
                        let message =
                            format!("`{text}` has {} nodes, but {} next hops", from.len(), pairs.len());
                        return Err(wrong(message));
                    }
                    for (i, (a, b)) in pairs.into_iter().enumerate() {
                        let (a, b) = (names.node(&item, "hops", a, at)?, names.node(&item, "hops", b, at)?);
                        names.link(&item, "hops", a, b, at)?;
                        nexts[i].push(b);
                    }
                }
                for (node, nexts) in from.iter().zip(nexts) {
                    hops.push((names.node(&item, "hops", node, at)?, nexts, at));
                }
            }
            for (text, at) in item.texts("prefix")? {
                for prefix in item.expand("prefix", &text, at, None)? {
                    item.check_prefix("prefix", &prefix, at, true)?;
                    let nodes = given.entry(prefix.clone()).or_default();
                    for (node, nexts, at) in &hops {
                        if nodes.insert(*node, nexts.clone()).is_some() {
                            let message =
                                format!("{} has its next hops for {prefix} already", names.name(*node));
                            let help = "write them in one: \"R6->R7|R5\"";
                            return Err(self.doc.error(*at, item.path_of("hops"), message, help));
                        }
                    }
                    if routes.len().saturating_add(nodes.len()) > 20 * MAX_FLOWS {
                        return Err(item.error_here("too many routes", ""));
                    }
                }
            }
        }
        for (prefix, nodes) in &given {
            for (&node, nexts) in nodes {
                let next_hops = nexts.iter().enumerate().map(|(i, &n)| (n, i as u64 + 1)).collect();
                routes.push(Route { node, prefix: prefix.clone(), next_hops });
            }
        }
        Ok((given, routes))
    }

    /// Whether given routes lead from the consumer to a producer, and nowhere to an end.
    fn check_given(&self, names: &Names, given: &Given, flow: &Flow, producers: &[NodeId]) -> Result<()> {
        let mut seen = vec![false; names.order.len()];
        let mut stack = vec![(flow.consumer, flow.consumer)];
        seen[flow.consumer.index()] = true;
        let mut reached = false;
        while let Some((node, before)) = stack.pop() {
            if producers.contains(&node) {
                reached = true;
                continue;
            }
            let Some(nexts) = lookup(given, &flow.prefix, node) else {
                let name = names.name(node);
                let how = if node == flow.consumer {
                    format!("its consumer {name} has no route for {}", flow.prefix)
                } else {
                    format!(
                        "the routes for {} lead from {} to {name}, which has no route for it and is no producer",
                        flow.prefix,
                        names.name(before)
                    )
                };
                let producers = list(flow.producers.iter().map(|&p| names.name(p)));
                return Err(self.flow_error(
                    flow,
                    how,
                    format!("producers: {producers}; add a hop \"{name}->…\" to the [[route]]"),
                ));
            };
            for &next in nexts {
                if !seen[next.index()] {
                    seen[next.index()] = true;
                    stack.push((next, node));
                }
            }
        }
        if reached {
            return Ok(());
        }
        let consumer = names.name(flow.consumer);
        let producers: Vec<&str> = flow.producers.iter().map(|&p| names.name(p)).collect();
        let message = format!(
            "{consumer} cannot reach {} for {}: its routes run in a circle",
            producers.join(" or "),
            flow.prefix
        );
        Err(self.flow_error(flow, message, String::new()))
    }

    fn events(
        &mut self,
        names: &Names,
        links: &[Link],
        groups: &[Group],
        duration: Span,
        shortened: bool,
    ) -> Result<Vec<TimedEvent>> {
        let all = self.items("event");
        let mut times = Vec::new();
        let mut late = Vec::new();
        for (i, from) in all.iter().enumerate() {
            let item = self.item("event", from);
            item.check_keys()?;
            if let Some(name) = item.opt_text("name")? {
                let at = item.given("name").map_or(item.origin, |v| v.origin);
                names::check_label(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
            }
            let at = item.span("at")?;
            if at > duration {
                if !shortened {
                    let value = item.value("at")?;
                    return Err(item.error("at", &value, format!("the run ends at {duration}"), ""));
                }
                late.push((from.0.clone(), format!("the run ends before {at}")));
                continue;
            }
            times.push((at, i));
        }
        if late.len() > 1 {
            late.iter_mut().for_each(|(_, why)| *why = format!("the run ends at {duration}"));
        }
        self.leave_out("events", &late, |name| name.to_owned());
        times.sort_unstable();
        // Rates and delays as they are when each event comes, for those that change one direction.
        let mut rates: Vec<[Rate; 2]> = links.iter().map(|l| l.rate).collect();
        let mut delays: Vec<[Span; 2]> = links.iter().map(|l| l.delay).collect();
        let mut events = Vec::new();
        for (at, i) in times {
            let from = &all[i];
            let item = self.item("event", from);
            let name = from.0.strip_prefix("event.").unwrap_or(&from.0).to_owned();
            let begin = events.len();
            let mut happens = |what: Event| events.push(TimedEvent { at, name: name.clone(), what });
            let targets: Vec<&str> =
                ["flow", "link", "node"].into_iter().filter(|k| item.given(k).is_some()).collect();
            let [target] = targets[..] else {
                let help = "an event happens to one of: flow, link, node";
                let message = match targets[..] {
                    [] => "it does not say what it happens to".to_owned(),
                    _ => format!("it has {}", targets.join(" and ")),
                };
                return Err(item.error_here(message, help));
            };
            let about = |key: &str| match key {
                "source_rate" | "unresponsive" => Some("flow"),
                "rate" | "delay" | "loss" | "up" => Some("link"),
                "cache_ratio" => Some("node"),
                _ => None,
            };
            for entry in &item.table.0 {
                if let Some(of) = about(&entry.key).filter(|of| *of != target) {
                    let message =
                        format!("`{}` is something that happens to a {of}, not to a {target}", entry.key);
                    return Err(self.doc.error(entry.key_origin, item.path_of(&entry.key), message, ""));
                }
            }
            let target_text = item.text(target)?;
            let at_target = item.given(target).map_or(item.origin, |v| v.origin);
            match target {
                "flow" => {
                    let hit: Vec<FlowId> = groups
                        .iter()
                        .filter(|g| names::fits(&target_text, &g.name))
                        .flat_map(|g| g.flows.clone().map(FlowId))
                        .collect();
                    if !groups.iter().any(|g| names::fits(&target_text, &g.name)) {
                        return Err(no_group(&item, "flow", &target_text, at_target, groups));
                    }
                    if item.given("source_rate").is_some() {
                        happens(Event::FlowSource { flows: hit, source: item.source_rate()? });
                    }
                }
                "link" => {
                    let (DirectedLink { link, direction }, one_way) =
                        self.link_text(&item, "link", &target_text, at_target, names)?;
                    let merge = |key: &str| -> Result<()> {
                        match item.given(key).and_then(|v| v.as_list().map(|_| v)) {
                            Some(value) if one_way => {
                                let message = format!("two values, but \"{target_text}\" is one direction");
                                Err(item.error(key, value, message, ""))
                            }
                            _ => Ok(()),
                        }
                    };
                    let on_medium = links[link.index()].medium.is_some();
                    if item.given("rate").is_some() {
                        merge("rate")?;
                        let new = if on_medium {
                            item.rates_of("rate", &RATES, "802.11a")?
                        } else {
                            item.rates("rate")?
                        };
                        let rate = &mut rates[link.index()];
                        rate[direction] = new[0];
                        if !one_way {
                            rate[1 - direction] = new[1];
                        }
                        happens(Event::LinkRate { link, rate: *rate });
                    }
                    if let Some(value) = item.given("delay") {
                        if on_medium {
                            let message =
                                format!("{target_text} is on a medium, which has no delay of its own");
                            return Err(item.error("delay", value, message, ""));
                        }
                        merge("delay")?;
                        let new = item.spans("delay")?;
                        let delay = &mut delays[link.index()];
                        delay[direction] = new[0];
                        if !one_way {
                            delay[1 - direction] = new[1];
                        }
                        happens(Event::LinkDelay { link, delay: *delay });
                    }
                    if let Some(loss) = item.opt_number("loss")? {
                        happens(Event::LinkLoss { link, loss });
                    }
                    match item.opt_switch("up")? {
                        Some(true) => happens(Event::LinkUp { link }),
                        Some(false) => happens(Event::LinkDown { link }),
                        None => {}
                    }
                }
                _ => {
                    let node = names.node(&item, "node", &target_text, at_target)?;
                    if let Some(ratio) = item.opt_number("cache_ratio")? {
                        happens(Event::NodeCacheRatio { node, ratio });
                    }
                }
            }
            if events.len() == begin {
                let keys: Vec<&str> =
                    keys::of("event").iter().map(|k| k.key).filter(|k| about(k) == Some(target)).collect();
                let help = format!("to a {target} can happen: {}", keys.join(", "));
                return Err(item.error_here("it does not say what happens", help));
            }
        }
        Ok(events)
    }

    /// `A-B` or `A->B`; also whether it is one direction.
    fn link_text(
        &self,
        item: &Item<'_>,
        key: &str,
        text: &str,
        at: Origin,
        names: &Names,
    ) -> Result<(DirectedLink, bool)> {
        let (pair, one_way) = match text.split_once("->") {
            Some(pair) => (Some(pair), true),
            None => (text.split_once('-'), false),
        };
        let Some((a, b)) = pair else {
            let message =
                format!("`{text}` is not a link such as \"R1-R2\", nor a direction such as \"R1->R2\"");
            return Err(self.doc.error(at, item.path_of(key), message, ""));
        };
        let (a, b) = (names.node(item, key, a.trim(), at)?, names.node(item, key, b.trim(), at)?);
        Ok((names.link(item, key, a, b, at)?, one_way))
    }

    /// The windows; `None` for those that a shortened run does not come to.
    fn windows(&mut self, duration: Span, shortened: bool) -> Result<Vec<Option<Window>>> {
        let mut windows: Vec<Option<Window>> = Vec::new();
        let mut seen = BTreeSet::new();
        let (mut late, mut cut) = (Vec::new(), Vec::new());
        for from in &self.items("window") {
            let item = self.item("window", from);
            item.check_keys()?;
            let (begin, end) = (item.span("from")?, item.span("to")?);
            let name = match item.opt_text("name")? {
                Some(name) => {
                    let at = item.given("name").map_or(item.origin, |v| v.origin);
                    names::check_label(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
                    name
                }
                None => from.0.strip_prefix("window.").unwrap_or(&from.0).to_owned(),
            };
            if !seen.insert(name.clone()) {
                return Err(item.error_here(format!("there are two windows `{name}`"), ""));
            }
            if begin >= end {
                let value = item.value("to")?;
                return Err(item.error(
                    "to",
                    &value,
                    format!("the window ends at {end}, but begins at {begin}"),
                    "",
                ));
            }
            if end > duration {
                if !shortened {
                    let value = item.value("to")?;
                    return Err(item.error("to", &value, format!("the run ends at {duration}"), ""));
                }
                if begin >= duration {
                    late.push((name, format!("the run ends at {duration}")));
                    windows.push(None);
                    continue;
                }
                cut.push(name.clone());
            }
            windows.push(Some(Window { name, from: begin, to: end.min(duration) }));
        }
        self.leave_out("windows", &late, |name| format!("window {name}"));
        if !cut.is_empty() {
            let cut =
                format!("{}{}", if cut.len() > 1 { "s" } else { "" }, format_args!(" {}", first_of(&cut)));
            self.notes.push(format!("window{cut} cut: the run ends at {duration}"));
        }
        Ok(windows)
    }

    fn axes(&self) -> Result<Vec<(Axis, Vec<Value>)>> {
        let mut axes: Vec<(Axis, Vec<Value>)> = Vec::new();
        for from in &self.items("axis") {
            let item = self.item("axis", from);
            item.check_keys()?;
            let name = item.text("name")?;
            let at = item.given("name").map_or(item.origin, |v| v.origin);
            names::check_label(&name).map_err(|m| self.doc.error(at, item.path_of("name"), m, ""))?;
            if axes.iter().any(|a| a.0.name == name) {
                return Err(item.error_here(format!("there are two axes `{name}`"), ""));
            }
            let set: Vec<String> = item.texts("set")?.into_iter().map(|(t, _)| t.to_string()).collect();
            let value = item.value("values")?;
            let Some(values) = value.as_list().filter(|l| !l.is_empty()) else {
                return Err(item.error(
                    "values",
                    &value,
                    format!("{value} is not {}", Shape::Values.wanted()),
                    "",
                ));
            };
            let texts = values.iter().map(Value::to_string).collect();
            axes.push((Axis { name, set, values: texts, current: None }, values.to_vec()));
        }
        Ok(axes)
    }

    /// Finds where each axis stands.
    fn current(&self, axes: Vec<(Axis, Vec<Value>)>, settings: &[Setting]) -> Result<Vec<Axis>> {
        let items = self.items("axis");
        let mut out = Vec::new();
        for (i, (mut axis, _)) in axes.into_iter().enumerate() {
            let mut now: BTreeSet<String> = BTreeSet::new();
            for path in &axis.set {
                let before = now.len();
                now.extend(
                    settings.iter().filter(|s| names::fits(path, &s.path)).map(|s| canonical(&s.value)),
                );
                let known_scheme = path.starts_with("scheme.") && path.split('.').count() > 2;
                if now.len() == before
                    && !known_scheme
                    && !settings.iter().any(|s| names::fits(path, &s.path))
                    && !is_generated(path)
                {
                    let item = self.item("axis", &items[i]);
                    let value = item.value("set")?;
                    let meant = nearest(path, settings.iter().map(|s| s.path.as_str()));
                    let help = meant.map_or(String::new(), |m| format!("did you mean `{m}`?"));
                    return Err(item.error("set", &value, format!("there is no `{path}` to set"), help));
                }
            }
            if let [one] = now.iter().collect::<Vec<_>>()[..] {
                axis.current = axis.values.iter().position(|v| canonical(v) == *one);
            }
            out.push(axis);
        }
        Ok(out)
    }

    /// Every settable key with its value.
    fn settings(&self, scheme_params: &[SchemeParams]) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut add = |path: String, key: &Key, table: &Table| {
            let given = table.value(key.key);
            let default = if key.default == REQUIRED { "" } else { key.default.trim_matches('"') };
            settings.push(Setting {
                path,
                value: given.map_or_else(|| default.to_owned(), Value::to_string),
                source: given.and_then(|v| match v.origin {
                    Origin::Set(_) => Some("--set".to_owned()),
                    _ => v.source.as_deref().map(str::to_owned),
                }),
                location: given.filter(|v| v.origin != Origin::Default).map(|v| self.doc.location(v.origin)),
            });
        };
        for key in keys::of("").into_iter().filter(|k| k.settable) {
            add(key.key.to_owned(), key, self.root);
        }
        let empty = Table::default();
        for section in ["scheme", "routing", "generate", "generate.flows"] {
            let mut table = Some(self.root);
            for part in section.split('.') {
                table = table.and_then(|t| t.table(part));
            }
            if table.is_none() && section.starts_with("generate") {
                continue;
            }
            for key in keys::of(section).into_iter().filter(|k| k.settable) {
                add(format!("{section}.{}", key.key), key, table.unwrap_or(&empty));
            }
        }
        for section in crate::set::NAMED {
            let keys: Vec<_> = keys::of(section).into_iter().filter(|k| k.settable).collect();
            for (i, value, table) in items(self.root, section) {
                let name = item_name(section, i, value);
                for key in &keys {
                    // An event has only the keys of what it happens to.
                    if *section == "event"
                        && !matches!(key.key, "at" | "unresponsive")
                        && table.value(key.key).is_none()
                    {
                        continue;
                    }
                    add(format!("{section}.{name}.{}", key.key), key, table);
                }
            }
        }
        for of in scheme_params {
            for param in &of.params {
                let set = matches!(param.location, Location::Set(_));
                settings.push(Setting {
                    path: format!("scheme.{}.{}", of.scheme, param.key),
                    value: param.value.to_string(),
                    source: if set { Some("--set".to_owned()) } else { param.source.clone() },
                    location: Some(param.location.clone()),
                });
            }
        }
        settings
    }

    #[expect(clippy::too_many_arguments, reason = "the whole scenario is what an expectation may speak of")]
    fn expectations(
        &mut self,
        names: &Names,
        flows: &[Flow],
        groups: &[Group],
        windows: &[Option<Window>],
        axes: &[Axis],
        default_scheme: &str,
        duration: Span,
        shortened: bool,
    ) -> Result<Vec<Expectation>> {
        let mut expectations = Vec::new();
        let all = self.items("expectation");
        let window_items = self.items("window");
        let mut without = Vec::new();
        for from in &all {
            let item = self.item("expectation", from);
            item.check_keys()?;
            let metric_name = item.choice("metric")?;
            let metric = Metric::ALL.iter().find(|m| m.1 == metric_name).map_or(Metric::Goodput, |m| m.0);
            let source = item.text("source")?;
            let (kind, stated) = self.stated(&item, metric)?;
            let tolerance = match item.opt_number("tolerance")? {
                Some(t) => t,
                None if kind == Bound::About => 0.05,
                None => 0.0,
            };
            let (select, described) = self.select(&item, metric, names, flows, groups)?;
            // When.
            let mut left_out = None;
            let window = match item.given("window") {
                None => (Span::ZERO, duration),
                Some(value) => match &value.kind {
                    Kind::Text(name) => {
                        let at = window_items.iter().zip(windows).position(|(from, window)| {
                            from.0.strip_prefix("window.") == Some(name)
                                || window.as_ref().is_some_and(|w| w.name == **name)
                        });
                        let Some(at) = at else {
                            let known =
                                window_items.iter().map(|w| w.0.strip_prefix("window.").unwrap_or(&w.0));
                            return Err(item.error(
                                "window",
                                value,
                                format!("there is no window `{name}`"),
                                format!("windows: {}", list(known)),
                            ));
                        };
                        // As the file has it, not cut.
                        let of = self.item("window", &window_items[at]);
                        (of.span("from")?, of.span("to")?)
                    }
                    _ => match item.window_times()? {
                        Some(window) => window,
                        None => {
                            return Err(item.error(
                                "window",
                                value,
                                format!("{value} is not {}", Shape::Window.wanted()),
                                "",
                            ));
                        }
                    },
                },
            };
            if window.1 > duration {
                if !shortened {
                    let value = item.value("window")?;
                    return Err(item.error("window", &value, format!("the run ends at {duration}"), ""));
                }
                left_out = Some(format!("the run ends at {duration}"));
            }
            let what = match item.opt_text("what")? {
                Some(what) => what,
                None => {
                    format!("{}{described}, {} to {}", words(metric), seconds(window.0), seconds(window.1))
                }
            };
            if let Some(when) = item.given("when") {
                let here = self.holds_here(&item, when, axes)?;
                if !here {
                    continue;
                }
            }
            if select.flows.is_empty() && about_flows(metric, &select) {
                left_out = Some("there are no such flows".to_owned());
            }
            if let Some(why) = left_out {
                without.push((what, why));
                continue;
            }
            let scheme = item.opt_text("scheme")?.unwrap_or_else(|| default_scheme.to_owned());
            expectations.push(Expectation {
                what,
                source,
                scheme,
                window,
                metric,
                select,
                stated,
                tolerance,
                kind,
            });
        }
        self.leave_out("expectations", &without, |what| format!("expectation ({what})"));
        Ok(expectations)
    }

    /// Notes what was left out and why: a line for each reason.
    fn leave_out(&mut self, many: &str, out: &[(String, String)], one: impl Fn(&str) -> String) {
        let mut reasons: Vec<&str> = Vec::new();
        for (_, why) in out {
            if !reasons.contains(&why.as_str()) {
                reasons.push(why);
            }
        }
        for why in reasons {
            let of: Vec<String> = out.iter().filter(|o| o.1 == why).map(|o| o.0.clone()).collect();
            self.notes.push(match &of[..] {
                [only] => format!("{} left out: {why}", one(only)),
                _ => format!("{} {many} left out ({}): {why}", of.len(), first_of(&of)),
            });
        }
    }

    /// Whether the axes stand where `when` says.
    fn holds_here(&self, item: &Item<'_>, when: &Value, axes: &[Axis]) -> Result<bool> {
        let Some(table) = when.as_table() else {
            return Err(item.error("when", when, format!("{when} is not {}", Shape::Map.wanted()), ""));
        };
        let mut here = true;
        for entry in &table.0 {
            let Some(axis) = axes.iter().find(|a| a.name == *entry.key) else {
                let message = format!("there is no axis `{}`", entry.key);
                let known = list(axes.iter().map(|a| a.name.as_str()));
                return Err(self.doc.error(
                    entry.key_origin,
                    item.path_of("when"),
                    message,
                    format!("axes: {known}"),
                ));
            };
            let wanted = canonical(&entry.value.to_string());
            let Some(at) = axis.values.iter().position(|v| canonical(v) == wanted) else {
                let message = format!("the axis `{}` has no value {}", entry.key, entry.value);
                let help = format!("its values: {}", axis.values.join(", "));
                return Err(self.doc.error(entry.value.origin, item.path_of("when"), message, help));
            };
            here &= axis.current == Some(at);
        }
        Ok(here)
    }

    /// The bound and the value stated, in the metric's unit.
    fn stated(&self, item: &Item<'_>, metric: Metric) -> Result<(Bound, f64)> {
        let kinds = [("about", Bound::About), ("at_most", Bound::AtMost), ("at_least", Bound::AtLeast)];
        let given: Vec<_> =
            kinds.iter().filter_map(|(key, kind)| item.given(key).map(|v| (*key, *kind, v))).collect();
        let [(key, kind, value)] = given[..] else {
            let message =
                if given.is_empty() { "it states no value" } else { "it states more than one value" };
            return Err(item.error_here(message, "give exactly one of: about, at_most, at_least"));
        };
        let wrong = |message: String| item.error(key, value, message, "");
        let stated = match &value.kind {
            Kind::Int(n) => *n as f64,
            Kind::Float(x) if x.is_finite() => *x,
            Kind::Text(text) => match metric.unit() {
                "bit/s" => text.parse::<Rate>().map_err(|e| wrong(e.to_string()))?.as_bps_f64(),
                "ms" => text.parse::<Span>().map_err(|e| wrong(e.to_string()))?.as_millis_f64(),
                "s" => text.parse::<Span>().map_err(|e| wrong(e.to_string()))?.as_secs_f64(),
                _ => return Err(wrong(format!("`{text}` is not a number, which {} is", metric.name()))),
            },
            _ => return Err(wrong(format!("{value} is not {}", Shape::Quantity.wanted()))),
        };
        Ok((kind, stated))
    }

    fn select(
        &self,
        item: &Item<'_>,
        metric: Metric,
        names: &Names,
        flows: &[Flow],
        groups: &[Group],
    ) -> Result<(Select, String)> {
        let mut words = Vec::new();
        let mut links = String::new();
        let mut select = Select::default();
        if let Some(class) = item.opt_class("class")? {
            select.class = Some(class);
            words.push(format!("class {class}"));
        }
        if let Some(flow) = item.opt_text("flow")? {
            if !groups.iter().any(|g| g.name == flow) {
                let at = item.given("flow").map_or(item.origin, |v| v.origin);
                return Err(no_group(item, "flow", &flow, at, groups));
            }
            words.push(format!("flow {flow}"));
            select.flow = Some(flow);
        }
        if let Some(consumer) = item.opt_text("consumer")? {
            let at = item.given("consumer").map_or(item.origin, |v| v.origin);
            select.consumer = Some(names.node(item, "consumer", &consumer, at)?);
            words.push(format!("consumer {consumer}"));
        }
        if let Some(prefix) = item.opt_text("prefix")? {
            words.push(format!("prefix {prefix}"));
            select.prefix = Some(prefix);
        }
        if let Some(value) = item.given("link") {
            if !metric.needs_link() {
                let message = format!("{} is not measured on links", metric.name());
                return Err(item.error("link", value, message, ""));
            }
            let mut texts = Vec::new();
            for (text, at) in item.texts("link")? {
                let (link, one_way) = self.link_text(item, "link", &text, at, names)?;
                if !one_way {
                    let (a, b) = text.split_once('-').unwrap_or((&text, ""));
                    let help = format!("write \"{a}->{b}\" or \"{b}->{a}\": Data goes towards the consumer");
                    return Err(self.doc.error(
                        at,
                        item.path_of("link"),
                        format!("`{text}` has two directions"),
                        help,
                    ));
                }
                select.links.push(link);
                texts.push(text.to_string());
            }
            links = format!(" on {}", texts.join(" and "));
        }
        if metric.needs_link() && select.links.is_empty() {
            let message = format!("{} is measured on a link, and the key `link` is missing", metric.name());
            return Err(item.error_here(message, "write link = \"R3->R2\""));
        }
        let fits = |f: &Flow| {
            select.class.is_none_or(|c| c == f.class)
                && select.flow.as_ref().is_none_or(|g| *g == f.name)
                && select.consumer.is_none_or(|c| c == f.consumer)
                && select.prefix.as_ref().is_none_or(|p| *p == f.prefix)
        };
        select.flows = (0..flows.len()).filter(|&i| fits(&flows[i])).map(FlowId).collect();
        // An override may take flows away; the file itself may not speak of none.
        if select.flows.is_empty()
            && about_flows(metric, &select)
            && !self.changed.iter().any(|p| p.starts_with("flow.") || p.starts_with("generate"))
        {
            return Err(item.error_here(format!("there is no flow of {}", words.join(", ")), ""));
        }
        if metric.needs_amount()
            && let Some(endless) = select.flows.iter().find(|f| flows[f.index()].amount.is_none())
        {
            let message =
                format!("flow {} is never complete: it has no `amount`", flows[endless.index()].name);
            return Err(item.error_here(message, ""));
        }
        let of = if words.is_empty() { String::new() } else { format!(" of {}", words.join(", ")) };
        Ok((select, of + &links))
    }
}

fn no_group(item: &Item<'_>, key: &str, name: &str, at: Origin, groups: &[Group]) -> DocumentError {
    let known = || groups.iter().map(|g| g.name.as_str());
    let meant = did_you_mean(name, known());
    item.doc.error(
        at,
        item.path_of(key),
        format!("there is no flow group `{name}`{meant}"),
        format!("flow groups: {}", list(known())),
    )
}

/// Whether an expectation is about flows: one about a link alone is not, and stands without any.
fn about_flows(metric: Metric, select: &Select) -> bool {
    let chosen = select.class.is_some()
        || select.flow.is_some()
        || select.consumer.is_some()
        || select.prefix.is_some();
    !metric.needs_link() || metric == Metric::DataRate || chosen
}

/// The first few of many, for a note of one line.
fn first_of(names: &[String]) -> String {
    let shown = names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("; ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

fn is_generated(path: &str) -> bool {
    path.starts_with("generate.") || path.starts_with("defaults.")
}

/// A value in a form in which equal ones are equal texts: `0.40` and `0.4`, `1 s` and `1000 ms`.
fn canonical(text: &str) -> String {
    if let Ok(number) = text.parse::<f64>() {
        return format!("{number:?}");
    }
    if let Ok(span) = text.parse::<Span>() {
        return format!("{} ns", span.as_nanos());
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return format!("{} b/s", rate.as_bps());
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return format!("{} B", bytes.as_u64());
    }
    text.to_owned()
}

/// The step of the time series, which has `width` values a step: 100 ms if none is given, or what
/// gives at most 2400 steps.
fn sample(top: &Item<'_>, duration: Span, width: usize) -> Result<Span> {
    let most = (MAX_SERIES / width.max(1) as u64).max(1);
    if top.given("sample").is_none() {
        return Ok(round_step(100_000_000, duration, most.min(2400)));
    }
    let sample = top.positive_span("sample")?;
    let steps = duration.as_nanos().div_ceil(sample.as_nanos());
    if steps > most {
        let value = top.value("sample")?;
        let message = format!(
            "{duration} in steps of {sample} are {steps} steps, of {width} flows and directions of links each: \
             more than {MAX_SERIES} values"
        );
        let help = format!("the smallest sample that fits here is {}", round_step(1, duration, most));
        return Err(top.error("sample", &value, message, help));
    }
    Ok(sample)
}

/// The first of 1, 2, 5 times a power of ten nanoseconds, from `decade`, that gives at most so many
/// steps.
fn round_step(mut decade: u64, duration: Span, most: u64) -> Span {
    let enough = |step: u64| duration.as_nanos().div_ceil(step) <= most;
    loop {
        for step in [1, 2, 5].map(|k| decade.saturating_mul(k)) {
            if enough(step) || step == u64::MAX {
                return Span::from_nanos(step);
            }
        }
        decade = decade.saturating_mul(10);
    }
}

fn words(metric: Metric) -> &'static str {
    match metric {
        Metric::Goodput => "goodput",
        Metric::DataRate => "rate of Data",
        Metric::DelayMean => "mean delay",
        Metric::DelayP50 => "median delay",
        Metric::DelayP95 => "95th percentile of the delay",
        Metric::DelayP99 => "99th percentile of the delay",
        Metric::Lost => "Data packets lost",
        Metric::Retransmitted => "Interests retransmitted",
        Metric::Timeouts => "Interests timed out",
        Metric::Completion => "time to completion",
        Metric::CompletionMean => "mean time to completion",
        Metric::Unfinished => "unfinished flows",
        Metric::Utilisation => "utilisation",
        Metric::QueueMean => "mean queueing delay",
        Metric::QueueP99 => "99th percentile of the queueing delay",
        Metric::QueuePackets => "mean queue length",
        Metric::Jain => "Jain's index over the flows",
        Metric::Unfairness => "largest deviation from equal shares",
        Metric::Settle => "time to settle",
    }
}

/// A time in seconds, as people write windows.
fn seconds(span: Span) -> String {
    format!("{} s", span.as_secs_f64())
}
