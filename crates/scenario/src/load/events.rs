//! `[[event]]`: changes of flows, links and nodes during a run.

use std::collections::BTreeMap;

use weir_core::units::{Rate, Span};
use weir_document::{Item, Key};
use weir_medium::phy::RATES;

use super::flows::{Group, no_group};
use super::links::{check_burst, link_text};
use super::nodes::Network;
use super::{Listed, Loader, Result};
use crate::keys;
use crate::model::{DirectedLink, Event, Flow, FlowId, Link, NodeId, Routing, TimedEvent};
use crate::names;
use crate::read::ScenarioItem;

/// The items that events change, with rates and delays at the time of each event, because an event may change
/// only one direction of a link.
struct Targets<'s> {
    network: &'s Network,
    flows: &'s [Flow],
    groups: &'s [Group],
    links: &'s [Link],
    routing: &'s Routing,
    rates: Vec<[Rate; 2]>,
    delays: Vec<[Span; 2]>,
    /// The loss ratio, and the mean length of bursts.
    losses: Vec<(f64, Option<f64>)>,
}

impl Loader<'_> {
    /// Returns the events in order of time.
    pub(super) fn events(
        &mut self,
        network: &Network,
        links: &[Link],
        flows: &[Flow],
        groups: &[Group],
        routing: &Routing,
    ) -> Vec<TimedEvent> {
        let all = self.all("event");
        let times = self.event_times(&all);
        let mut targets = Targets {
            network,
            flows,
            groups,
            links,
            routing,
            rates: links.iter().map(|l| l.rate).collect(),
            delays: links.iter().map(|l| l.delay).collect(),
            losses: links.iter().map(|l| (l.loss, l.loss_burst)).collect(),
        };
        let mut events = Vec::new();
        for (at, i) in times {
            let item = self.item(&all[i]);
            let name = all[i].name();
            let event = |what| TimedEvent { at, name: name.to_owned(), what };
            events.extend(self.faults.or(targets.happen(&item), Vec::new()).into_iter().map(event));
        }
        events
    }

    /// Returns the times of the events in order, each with its number. Events after the run's end are left
    /// out.
    fn event_times(&mut self, all: &[Listed<'_>]) -> Vec<(Span, usize)> {
        let (mut times, mut late) = (Vec::new(), Vec::new());
        for (i, listed) in all.iter().enumerate() {
            let item = self.item(listed);
            self.faults.keys(&item);
            if item.given("name").is_some() {
                self.faults.or(item.label("name"), String::new());
            }
            let at = self.faults.or(item.span("at"), Span::ZERO);
            if at <= self.duration {
                times.push((at, i));
            } else if self.shortened {
                late.push((listed.path.clone(), format!("the run ends before {at}")));
            } else {
                let message = format!("the run ends at {}", self.duration);
                self.faults.push(self.doc.error(item.origin_of("at"), item.path_of("at"), message, ""));
                times.push((at, i));
            }
        }
        if late.len() > 1 {
            late.iter_mut().for_each(|(_, why)| *why = format!("the run ends at {}", self.duration));
        }
        self.leave_out("events", &late, |name| name.to_owned());
        times.sort_unstable();
        times
    }
}

/// Returns the keys for changes of a flow, link or node.
fn changes_of(target: &str) -> impl Iterator<Item = &'static Key> {
    keys::of("event").into_iter().filter(move |key| key.beside.contains(&target))
}

/// Returns whether the event is for a flow, a link or a node.
fn target(item: &Item<'_>) -> Result<&'static str> {
    let targets: Vec<&str> =
        ["flow", "link", "node"].into_iter().filter(|k| item.given(k).is_some()).collect();
    let [target] = targets[..] else {
        let message = match targets[..] {
            [] => "the event does not name a flow, link or node".to_owned(),
            _ => format!("it has {}", targets.join(" and ")),
        };
        return Err(item.error_here(message, "name one of: flow, link, node"));
    };
    for entry in &item.table.0 {
        let of = keys::find("event", &entry.key).map_or(&[][..], |key| key.beside);
        if !of.is_empty() && !of.contains(&target) {
            let of = of.join(" or ");
            let message = format!("`{}` is a key of events of a {of}, not of a {target}", entry.key);
            return Err(item.doc.error(entry.key_origin, item.path_of(&entry.key), message, ""));
        }
    }
    Ok(target)
}

impl Targets<'_> {
    /// Returns the changes of one `[[event]]`.
    fn happen(&mut self, item: &Item<'_>) -> Result<Vec<Event>> {
        let target = target(item)?;
        let name = item.text(target)?;
        let events = match target {
            "flow" => self.change_flows(item, &name)?,
            "link" => self.change_link(item, &name)?,
            _ => self.change_node(item, &name)?,
        };
        if events.is_empty() {
            let keys: Vec<&str> = changes_of(target).map(|key| key.key).collect();
            let help = format!("keys for a {target}: {}", keys.join(", "));
            return Err(item.error_here("the event changes nothing", help));
        }
        Ok(events)
    }

    fn change_flows(&self, item: &Item<'_>, name: &str) -> Result<Vec<Event>> {
        let hit: Vec<&Group> = self.groups.iter().filter(|g| names::fits(name, &g.name)).collect();
        if hit.is_empty() {
            return Err(no_group(item, "flow", name, self.groups));
        }
        let flows: Vec<FlowId> = hit.iter().flat_map(|g| g.flows.clone().map(FlowId)).collect();
        let mut events = Vec::new();
        if item.given("producer").is_some() {
            events.push(Event::FlowProducers { flows: self.producers(item, &flows)? });
        }
        if item.given("source_rate").is_some() {
            events.push(Event::FlowSource { flows, source: item.source_rate()? });
        }
        Ok(events)
    }

    /// Returns the producers of the prefixes of some flows from this event on, also for other flows that
    /// fetch the same prefix.
    fn producers(&self, item: &Item<'_>, flows: &[FlowId]) -> Result<Vec<(FlowId, Vec<NodeId>)>> {
        const KEY: &str = "producer";
        let value = item.value(KEY)?;
        if self.routing.converge.is_none() {
            let help = "give the time in which routes follow: [routing] converge = \"200 ms\"";
            return Err(item.error(KEY, &value, "no route would lead to the new producer", help));
        }
        let mut of_flows: Vec<Vec<NodeId>> = vec![Vec::new(); flows.len()];
        for (text, at) in item.texts(KEY)? {
            let names = item.expand(KEY, &text, at, Some(flows.len()))?;
            if names.len() != 1 && names.len() != flows.len() {
                let message = format!("{} producers for {} flows", names.len(), flows.len());
                return Err(item.error(KEY, &value, message, "one for all flows, or one for each"));
            }
            for (i, of_flow) in of_flows.iter_mut().enumerate() {
                let node = self.network.node(item, KEY, &names[i.min(names.len() - 1)], at)?;
                if !of_flow.contains(&node) {
                    of_flow.push(node);
                }
            }
        }
        let mut moved: BTreeMap<&str, &[NodeId]> = BTreeMap::new();
        for (flow, producers) in flows.iter().zip(&of_flows) {
            moved.insert(&self.flows[flow.index()].prefix, producers);
        }
        let mut all = Vec::new();
        for (i, flow) in self.flows.iter().enumerate() {
            let Some(&producers) = moved.get(flow.prefix.as_str()) else { continue };
            if let Some(given) = self.routing.given.iter().find(|given| names::covers(given, &flow.prefix)) {
                let message = format!("the routes that [[route]] gives for {given} stay");
                return Err(item.error(KEY, &value, message, "leave the prefix to the policy of [routing]"));
            }
            let consumers = || core::iter::once(&flow.consumer).chain(flow.drawn_from.iter());
            if let Some(node) = consumers().find(|node| producers.contains(node)) {
                let name = self.network.name(*node);
                let message = format!("{name} is the consumer of {} and its producer", flow.prefix);
                return Err(item.error(
                    KEY,
                    &value,
                    message,
                    "consumer and producer must be different nodes",
                ));
            }
            all.push((FlowId(i), producers.to_vec()));
        }
        if all.is_empty() || of_flows.iter().any(Vec::is_empty) {
            return Err(item.error(KEY, &value, "an empty list", "a flow has at least one producer"));
        }
        Ok(all)
    }

    fn change_link(&mut self, item: &Item<'_>, name: &str) -> Result<Vec<Event>> {
        let (directed, one_way) = link_text(item, "link", name, item.origin_of("link"), self.network)?;
        let link = directed.link;
        let (each, both): (Vec<&Key>, Vec<&Key>) =
            changes_of("link").partition(|key| key.shape.has_directions());
        if let Some(Key { key, .. }) = both.iter().find(|both| one_way && item.given(both.key).is_some()) {
            let value = item.value(key)?;
            let each: Vec<&str> = each.iter().map(|key| key.key).collect();
            let message = format!("`{key}` changes in both directions, but \"{name}\" is one direction");
            let help = format!(
                "name the link as \"{}\"; only {} change in one direction",
                name.replace("->", "-"),
                each.join(" and ")
            );
            return Err(item.error(key, &value, message, help));
        }
        let mut events = Vec::new();
        if item.given("rate").is_some() {
            let rate = self.rate(item, name, directed, one_way)?;
            events.push(Event::LinkRate { link, rate });
        }
        if item.given("delay").is_some() {
            let delay = self.delay(item, name, directed, one_way)?;
            events.push(Event::LinkDelay { link, delay });
        }
        let (loss, length) = (item.opt_number("loss")?, item.opt_number("loss_burst")?);
        let now = &mut self.losses[link.index()];
        *now = (loss.unwrap_or(now.0), length.or(now.1));
        let key = if length.is_some() { "loss_burst" } else { "loss" };
        check_burst(item, key, now.0, now.1)?;
        events.extend(loss.map(|loss| Event::LinkLoss { link, loss }));
        if let Some(length) = length {
            self.refuse_medium(item, "loss_burst", name, directed)?;
            events.push(Event::LinkLossBurst { link, length });
        }
        if let Some(jitter) = item.opt_span("jitter")? {
            self.refuse_medium(item, "jitter", name, directed)?;
            if self.links[link.index()].jitter == Span::ZERO {
                let value = item.value("jitter")?;
                let message = format!("{name} has no jitter that could change");
                let help = "give the link a `jitter`, which may be as small as \"1 ns\"";
                return Err(item.error("jitter", &value, message, help));
            }
            events.push(Event::LinkJitter { link, jitter });
        }
        match item.opt_switch("up")? {
            Some(true) => events.push(Event::LinkUp { link }),
            Some(false) => events.push(Event::LinkDown { link }),
            None => {}
        }
        Ok(events)
    }

    /// Rejects keys that a medium does not have.
    fn refuse_medium(&self, item: &Item<'_>, key: &str, name: &str, of: DirectedLink) -> Result<()> {
        if self.links[of.link.index()].medium.is_none() {
            return Ok(());
        }
        let value = item.value(key)?;
        Err(item.error(key, &value, format!("{name} is on a medium, which has no `{key}`"), ""))
    }

    /// Returns the link's rates from this event on.
    fn rate(&mut self, item: &Item<'_>, name: &str, of: DirectedLink, one_way: bool) -> Result<[Rate; 2]> {
        check_directions(item, "rate", name, one_way)?;
        let on_medium = self.links[of.link.index()].medium.is_some();
        let new = if on_medium { item.rates_of("rate", &RATES, "802.11a")? } else { item.rates("rate")? };
        Ok(change(&mut self.rates[of.link.index()], new, of.direction, one_way))
    }

    /// Returns the link's delays from this event on.
    fn delay(&mut self, item: &Item<'_>, name: &str, of: DirectedLink, one_way: bool) -> Result<[Span; 2]> {
        if self.links[of.link.index()].medium.is_some() {
            let value = item.value("delay")?;
            let message = format!("{name} is on a medium, which has no delay");
            return Err(item.error("delay", &value, message, ""));
        }
        check_directions(item, "delay", name, one_way)?;
        let new = item.spans("delay")?;
        Ok(change(&mut self.delays[of.link.index()], new, of.direction, one_way))
    }

    fn change_node(&self, item: &Item<'_>, name: &str) -> Result<Vec<Event>> {
        let node = self.network.node(item, "node", name, item.origin_of("node"))?;
        let ratio = item.opt_number("cache_ratio")?.map(|ratio| Event::NodeCacheRatio { node, ratio });
        let up = item.opt_switch("up")?;
        let up = up.map(|up| if up { Event::NodeUp { node } } else { Event::NodeDown { node } });
        Ok(ratio.into_iter().chain(up).collect())
    }
}

/// Rejects two values for one direction.
fn check_directions(item: &Item<'_>, key: &str, name: &str, one_way: bool) -> Result<()> {
    match item.given(key).filter(|v| one_way && v.as_list().is_some()) {
        None => Ok(()),
        Some(value) => {
            let message = format!("two values, but \"{name}\" is one direction");
            Err(item.error(key, value, message, ""))
        }
    }
}

/// Changes the value of one direction, the first that the event's text names, or of both.
fn change<T: Copy>(values: &mut [T; 2], new: [T; 2], direction: usize, one_way: bool) -> [T; 2] {
    values[direction] = new[0];
    if !one_way {
        values[1 - direction] = new[1];
    }
    *values
}
