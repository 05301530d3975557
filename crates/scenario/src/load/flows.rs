//! `[[flow]]`: groups of flows. Their lists and ranges are paired element by element.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use weir_core::units::{Bytes, Span};
use weir_document::{DocumentError, Item, did_you_mean, list};
use weir_packet::signal::ServiceClass;

use super::nodes::Network;
use super::traffic::MOST_RANKED;
use super::{Loader, Result};
use crate::faults::Faults;
use crate::model::{Flow, NodeId};
use crate::read::ScenarioItem;
use crate::traffic::Popularity;
use weir_core::consumer::Source;

pub(super) const MAX_FLOWS: usize = 100_000;
/// The length of the signature of an RSA key of 4096 bits. A longer one leaves no room for the largest
/// content.
const LONGEST_SIGNATURE: u16 = 512;

/// The flows of one `[[flow]]`.
pub(super) struct Group {
    pub(super) name: String,
    /// Their indices among all flows.
    pub(super) flows: Range<usize>,
}

impl Loader<'_> {
    /// Returns the flows. A group with an error may have none.
    pub(super) fn flows(&self, network: &Network) -> (Vec<Flow>, Vec<Group>) {
        let faults = self.faults;
        let mut flows: Vec<Flow> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        // The first flow of each prefix. All flows of a prefix fetch the same Data.
        let mut first_of_prefix: BTreeMap<String, usize> = BTreeMap::new();
        let mut ranked: Vec<(u64, Popularity)> = Vec::new();
        for listed in &self.all("flow") {
            let item = self.item(listed);
            faults.keys(&item);
            let name = faults.or(item.label("name"), listed.name().to_owned());
            if groups.iter().any(|g| g.name == name) {
                let message = format!("there are two flow groups `{name}`");
                let help = "give each [[flow]] its own name";
                faults.push(self.doc.error(item.origin_of("name"), item.path_of("name"), message, help));
            }
            let begin = flows.len();
            self.add_group(&item, &name, network, &mut flows);
            for (i, flow) in flows.iter().enumerate().skip(begin) {
                faults.or(self.check_times(&item, flow), ());
                match first_of_prefix.entry(flow.prefix.clone()) {
                    Entry::Vacant(entry) => {
                        entry.insert(i);
                    }
                    Entry::Occupied(entry) => {
                        faults.or(check_same_data(&item, flow, &flows[*entry.get()]), ());
                    }
                }
            }
            faults.or(check_ranked(&item, flows.get(begin), &mut ranked), ());
            groups.push(Group { name, flows: begin..flows.len() });
        }
        (flows, groups)
    }

    /// Appends the flows of one `[[flow]]`, or nothing if a node or a prefix is missing.
    fn add_group(&self, item: &Item<'_>, name: &str, network: &Network, flows: &mut Vec<Flow>) {
        let faults = self.faults;
        let class = faults.or(item.class("class"), ServiceClass::Be);
        let spread = faults.or(item.span("start_spread"), Span::ZERO);
        let start_jitter = faults.or(item.span("start_jitter"), Span::ZERO);
        let source = faults.or(item.source_rate(), Source::Elastic);
        let source_jitter = faults.or(source_jitter(item, source), 0.0);
        let Some(random) = faults.keep(self.random_traffic(item)) else { return };
        let payload = faults.or(payload(item), Bytes::new(1));
        let signature = faults.or(signature(item), 0);
        let lifetime = faults.or(item.positive_span("lifetime"), Span::MAX);
        let early_loss = faults.or(item.opt_switch("early_loss"), None);
        let freshness = faults.or(item.opt_span("freshness"), None);
        let scheme = faults.or(item.opt_text("scheme"), None);
        let command: Option<Arc<str>> = faults.or(item.opt_text("command"), None).map(Into::into);
        let Some(count) = faults.keep(item.opt_whole("count")) else { return };
        let count = count.map(|n| n as usize);
        let Some(steps) = Steps::read(item, count, faults) else { return };
        let Some(n) = faults.keep(steps.flows(item, count)) else { return };
        if steps.producers.is_empty() && n > 0 {
            let (at, path) = (item.origin_of("producer"), item.path_of("producer"));
            let help = "a flow has at least one producer";
            faults.keep::<()>(Err(item.doc.error(at, path, "an empty list", help)));
            return;
        }
        if flows.len() + n > MAX_FLOWS {
            faults.keep::<()>(Err(item.error_here(format!("there are more than {MAX_FLOWS} flows"), "")));
            return;
        }
        for i in 0..n {
            // The next ones would have the same error.
            let Some((consumer, prefix, producers)) = steps.ends(item, network, i, faults) else { return };
            let amount = steps.amounts.as_ref().map(|amounts| *nth(amounts, i));
            let later = Span::from_nanos((spread.as_nanos() as u128 * i as u128 / n as u128) as u64);
            flows.push(Flow {
                name: name.to_owned(),
                consumer,
                producers,
                prefix,
                class,
                start: *nth(&steps.starts, i) + later,
                start_jitter,
                drawn_from: Arc::default(),
                stop: steps.stops.as_ref().map(|stops| *nth(stops, i)),
                amount: amount.filter(|_| random.arrivals.is_none()),
                amount_drawn: random.amount.clone().filter(|_| random.arrivals.is_none()),
                requests: random.requests(amount),
                activity: random.activity.clone(),
                source,
                source_jitter,
                payload,
                signature,
                lifetime,
                early_loss,
                freshness,
                scheme: scheme.clone(),
                command: command.clone(),
            });
        }
        let group = flows.len() - n;
        let drawn_from = faults.or(drawn_from(item, network, &flows[group..]), Arc::default());
        flows[group..].iter_mut().for_each(|flow| flow.drawn_from = Arc::clone(&drawn_from));
    }

    fn check_times(&self, item: &Item<'_>, flow: &Flow) -> Result<()> {
        // The latest start that a seed may draw.
        let start = flow.start + flow.start_jitter;
        if start >= self.duration && !self.shortened {
            let value = item.value("start")?;
            let message = format!("starts at {start}, but the run ends at {}", self.duration);
            return Err(item.error("start", &value, message, ""));
        }
        if let Some(stop) = flow.stop.filter(|&stop| stop <= start) {
            let value = item.value("stop")?;
            let message = format!("stops at {stop}, but starts at {start}");
            return Err(item.error("stop", &value, message, ""));
        }
        Ok(())
    }
}

/// Rejects more ranked objects than there is memory for. Groups with the same number of objects and
/// popularity share them.
fn check_ranked(item: &Item<'_>, flow: Option<&Flow>, ranked: &mut Vec<(u64, Popularity)>) -> Result<()> {
    let Some(requests) = flow.and_then(|flow| flow.requests.as_deref()) else { return Ok(()) };
    let Some(objects) = requests.objects.filter(|_| requests.popularity.exponent > 0.0) else {
        return Ok(());
    };
    if !ranked.contains(&(objects, requests.popularity)) {
        ranked.push((objects, requests.popularity));
    }
    if ranked.iter().map(|(objects, _)| objects).sum::<u64>() > MOST_RANKED {
        let value = item.value("objects")?;
        let message =
            format!("with it the flows have more than {MOST_RANKED} objects of different popularities");
        return Err(item.error(
            "objects",
            &value,
            message,
            "give groups the same `objects` and `popularity`, or fewer objects",
        ));
    }
    Ok(())
}

/// Rejects two flows of one prefix whose Data would differ.
fn check_same_data(item: &Item<'_>, flow: &Flow, other: &Flow) -> Result<()> {
    let key = match (
        (other.payload, other.signature) == (flow.payload, flow.signature),
        other.freshness == flow.freshness,
    ) {
        (true, true) => return Ok(()),
        (false, _) if other.payload != flow.payload => "payload",
        (false, _) => "signature",
        (true, false) => "freshness",
    };
    let message = format!(
        "flow {} and flow {} fetch the same {}, but with another {key}",
        flow.name, other.name, flow.prefix
    );
    let help = format!("give both the same {key}, or different prefixes");
    Err(item.doc.error(item.origin_of(key), item.path_of(key), message, help))
}

/// The values that differ from flow to flow of a group: one value for all of them, or one for each.
struct Steps {
    consumers: Vec<String>,
    prefixes: Vec<String>,
    /// The names of the producers of each flow.
    producers: Vec<Vec<String>>,
    starts: Vec<Span>,
    stops: Option<Vec<Span>>,
    amounts: Option<Vec<u64>>,
}

/// Returns the value for the `i`th flow.
fn nth<T>(values: &[T], i: usize) -> &T {
    &values[i.min(values.len() - 1)]
}

impl Steps {
    /// Reads the values; returns `None` if a node or a prefix is missing.
    fn read(item: &Item<'_>, count: Option<usize>, faults: &Faults) -> Option<Steps> {
        let expanded = |key: &str| -> Result<Vec<String>> {
            let mut all = Vec::new();
            for (text, at) in item.texts(key)? {
                all.extend(item.expand(key, &text, at, count)?);
            }
            Ok(all)
        };
        let consumers = faults.keep(expanded("consumer"));
        let prefixes = faults.keep(expanded("prefix"));
        let producers = || -> Result<Vec<Vec<String>>> {
            let texts = item.texts("producer")?;
            texts.iter().map(|(text, at)| item.expand("producer", text, *at, count)).collect()
        };
        let producers = faults.keep(producers());
        let starts = faults.or(item.spans_each("start"), None);
        let stops = faults.or(item.spans_each("stop"), None);
        let is_text = item.given("amount").is_some_and(|value| value.as_text().is_some());
        let amounts = if is_text { None } else { faults.or(item.wholes_each("amount"), Some(vec![1])) };
        Some(Steps {
            consumers: consumers?,
            prefixes: prefixes?,
            producers: producers?,
            starts: starts.unwrap_or_else(|| vec![Span::ZERO]),
            stops,
            amounts,
        })
    }

    /// Returns the number of values of each key.
    fn lengths(&self) -> Vec<(&'static str, usize)> {
        let mut lengths = vec![
            ("consumer", self.consumers.len()),
            ("prefix", self.prefixes.len()),
            ("start", self.starts.len()),
        ];
        lengths.extend(self.producers.iter().map(|p| ("producer", p.len())));
        lengths.extend(self.stops.iter().map(|s| ("stop", s.len())));
        lengths.extend(self.amounts.iter().map(|a| ("amount", a.len())));
        lengths
    }

    /// Returns the number of flows of the group: `count`, or the length of its longest list.
    fn flows(&self, item: &Item<'_>, count: Option<usize>) -> Result<usize> {
        let lengths = self.lengths();
        let n = count.unwrap_or_else(|| lengths.iter().map(|l| l.1).max().unwrap_or(1));
        // A count of 0 needs no values.
        let wrong = lengths.iter().find(|&&(_, length)| length != n && length != 1 && n != 0);
        let Some(&(key, length)) = wrong else { return Ok(n) };
        let message = match (length, count) {
            (0, _) => "an empty list".to_owned(),
            (_, Some(n)) => format!("{length} values, but `count` is {n}"),
            (_, None) => {
                let longest = lengths.iter().find(|l| l.1 == n).map_or("", |l| l.0);
                format!("{length} values, but `{longest}` has {n}")
            }
        };
        let help = "ranges and lists step together: one value for all flows, or one for each";
        let value = item.value(key)?;
        Err(item.error(key, &value, message, help))
    }

    /// Returns the consumer, prefix and producers of the `i`th flow.
    fn ends(
        &self,
        item: &Item<'_>,
        network: &Network,
        i: usize,
        faults: &Faults,
    ) -> Option<(NodeId, String, Vec<NodeId>)> {
        let node = |key, names: &[String]| {
            let name: &String = nth(names, i);
            faults.keep(network.node(item, key, name, item.origin_of(key)))
        };
        let consumer = node("consumer", &self.consumers);
        let prefix = nth(&self.prefixes, i);
        faults.or(item.check_prefix("prefix", prefix, item.origin_of("prefix"), false), ());
        let mut producers = Vec::with_capacity(self.producers.len());
        for names in &self.producers {
            let producer = node("producer", names)?;
            if Some(producer) == consumer {
                let name = network.name(producer);
                let message = format!("{name} is the consumer of {prefix} and its producer");
                let help = "consumer and producer must be different nodes";
                let at = item.origin_of("producer");
                return faults.keep(Err(item.doc.error(at, item.path_of("producer"), message, help)));
            }
            if !producers.contains(&producer) {
                producers.push(producer);
            }
        }
        Some((consumer?, prefix.clone(), producers))
    }
}

/// Returns the nodes from which the seed draws the consumers of a group.
fn drawn_from(item: &Item<'_>, network: &Network, flows: &[Flow]) -> Result<Arc<[NodeId]>> {
    const KEY: &str = "drawn_from";
    let Some(value) = item.given(KEY) else { return Ok(Arc::default()) };
    let mut nodes = Vec::new();
    for (text, at) in item.texts(KEY)? {
        for name in item.expand(KEY, &text, at, None)? {
            let node = network.node(item, KEY, &name, at)?;
            if nodes.contains(&node) {
                let message = format!("{name} is among the nodes twice");
                return Err(item.doc.error(at, item.path_of(KEY), message, ""));
            }
            nodes.push(node);
        }
    }
    if flows.iter().any(|flow| flow.producers.iter().any(|producer| nodes.contains(producer))) {
        let message = "a producer of the group is among the nodes".to_owned();
        return Err(item.error(KEY, value, message, "consumer and producer must be different nodes"));
    }
    if nodes.len() < flows.len() {
        let message = format!("{} consumers cannot be drawn from {} nodes", flows.len(), nodes.len());
        return Err(item.error(KEY, value, message, "no node is drawn twice: name more nodes"));
    }
    Ok(nodes.into())
}

fn source_jitter(item: &Item<'_>, source: Source) -> Result<f64> {
    let jitter = item.number("source_jitter")?;
    if jitter > 0.0 && source == Source::Elastic {
        let value = item.value("source_jitter")?;
        let message = "an elastic flow has no rate, so its times have no jitter";
        return Err(item.error("source_jitter", &value, message, "give its rate: source_rate = \"10 Mb/s\""));
    }
    Ok(jitter)
}

fn payload(item: &Item<'_>) -> Result<Bytes> {
    let payload = item.size("payload")?;
    if (1..=8192).contains(&payload.as_u64()) {
        return Ok(payload);
    }
    let value = item.value("payload")?;
    Err(item.error("payload", &value, format!("{payload} is not 1 B to 8192 B"), ""))
}

fn signature(item: &Item<'_>) -> Result<u16> {
    let length = item.size("signature")?.as_u64();
    if let Some(length) = u16::try_from(length).ok().filter(|length| *length <= LONGEST_SIGNATURE) {
        return Ok(length);
    }
    let value = item.value("signature")?;
    Err(item.error("signature", &value, format!("{length} B is not 0 B to {LONGEST_SIGNATURE} B"), ""))
}

/// Returns the error that `key` names a flow group that does not exist.
pub(super) fn no_group(item: &Item<'_>, key: &str, name: &str, groups: &[Group]) -> DocumentError {
    let known = || groups.iter().map(|g| g.name.as_str());
    let message = format!("there is no flow group `{name}`{}", did_you_mean(name, known()));
    let help = format!("flow groups: {}", list(known()));
    item.doc.error(item.origin_of(key), item.path_of(key), message, help)
}
