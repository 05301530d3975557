//! `[[expectation]]`: the statements of a scenario's source.

use weir_core::units::{Rate, Span};
use weir_document::{Item, Kind, Shape, Value, list};

use super::axes::holds_here;
use super::flows::{Group, no_group};
use super::links::link_text;
use super::nodes::Network;
use super::{Loader, Result};
use crate::model::{Axis, Bound, Expectation, Flow, FlowId, Metric, Order, Select, Stated, Window};
use crate::read::ScenarioItem;

/// The keys that compare with other schemes.
pub(super) const COMPARISONS: [(&str, Order); 2] =
    [("more_than", Order::MoreThan), ("less_than", Order::LessThan)];

/// The items to which an expectation may refer.
pub(super) struct Subjects<'s> {
    pub(super) network: &'s Network,
    pub(super) flows: &'s [Flow],
    pub(super) groups: &'s [Group],
    /// The windows in the order of the file; `None` if a shortened run ends before the window.
    pub(super) windows: &'s [Option<Window>],
    pub(super) axes: &'s [Axis],
    /// The scenario's default scheme.
    pub(super) scheme: &'s str,
}

/// A parsed expectation; or the subject of one that a changed scenario cannot have, and the reason.
enum Read {
    Holds(Box<Expectation>),
    LeftOut(String, String),
    /// The axes are at another point than the expectation's `when`.
    Elsewhere,
}

impl Loader<'_> {
    pub(super) fn expectations(&mut self, subjects: &Subjects<'_>) -> Vec<Expectation> {
        let mut expectations = Vec::new();
        let mut without = Vec::new();
        for listed in &self.all("expectation") {
            let item = self.item(listed);
            self.faults.keys(&item);
            match self.expectation(&item, subjects) {
                Ok(Read::Holds(expectation)) => expectations.push(*expectation),
                Ok(Read::LeftOut(what, why)) => without.push((what, why)),
                Ok(Read::Elsewhere) => {}
                Err(error) => self.faults.push(error),
            }
        }
        self.leave_out("expectations", &without, |what| format!("expectation ({what})"));
        expectations
    }

    fn expectation(&self, item: &Item<'_>, subjects: &Subjects<'_>) -> Result<Read> {
        let metric_name = item.choice("metric")?;
        let metric = Metric::ALL.iter().find(|m| m.1 == metric_name).map_or(Metric::Goodput, |m| m.0);
        let source = item.text("source")?;
        let scheme = item.opt_text("scheme")?.unwrap_or_else(|| subjects.scheme.to_owned());
        let stated = stated(item, metric, &scheme)?;
        let (select, described) = self.select(item, metric, subjects)?;
        let window = self.measured(item, subjects)?;
        let mut left_out = None;
        if window.1 > self.duration {
            let why = format!("the run ends at {}", self.duration);
            if !self.shortened {
                return Err(item.error("window", &*item.value("window")?, why, ""));
            }
            left_out = Some(why);
        }
        let what = match item.opt_text("what")? {
            Some(what) => what,
            None => format!("{}{described}, {} to {}", words(metric), seconds(window.0), seconds(window.1)),
        };
        if let Some(when) = item.given("when")
            && !holds_here(item, when, subjects.axes)?
        {
            return Ok(Read::Elsewhere);
        }
        if select.flows.is_empty() && is_about_flows(metric, &select) {
            left_out = Some("there are no such flows".to_owned());
        }
        if let Some(why) = left_out {
            return Ok(Read::LeftOut(what, why));
        }
        let expectation = Expectation { what, source, scheme, window, metric, select, stated };
        Ok(Read::Holds(Box::new(expectation)))
    }

    /// Returns the times from and to which it is measured. A window is as in the file, not cut.
    fn measured(&self, item: &Item<'_>, subjects: &Subjects<'_>) -> Result<(Span, Span)> {
        let Some(value) = item.given("window") else { return Ok((Span::ZERO, self.duration)) };
        if let Kind::Text(name) = &value.kind {
            return self.named_window(item, value, name, subjects);
        }
        item.window_times()?.ok_or_else(|| {
            item.error("window", value, format!("{value} is not {}", Shape::Window.wanted()), "")
        })
    }

    fn named_window(
        &self,
        item: &Item<'_>,
        value: &Value,
        name: &str,
        subjects: &Subjects<'_>,
    ) -> Result<(Span, Span)> {
        let all = self.all("window");
        let found = all.iter().zip(subjects.windows).find(|(listed, window)| {
            listed.name() == name || window.as_ref().is_some_and(|w| w.name == name)
        });
        let Some((listed, _)) = found else {
            let help = format!("windows: {}", list(all.iter().map(|listed| listed.name())));
            return Err(item.error("window", value, format!("there is no window `{name}`"), help));
        };
        let window = self.item(listed);
        Ok((window.span("from")?, window.span("to")?))
    }

    /// Returns the measured subject, and its description in words.
    fn select(&self, item: &Item<'_>, metric: Metric, subjects: &Subjects<'_>) -> Result<(Select, String)> {
        let (mut select, words) = select_flows(item, subjects)?;
        let links = select_links(item, metric, subjects.network, &mut select)?;
        let nodes = select_nodes(item, metric, subjects.network, &mut select)?;
        let fits = |f: &Flow| {
            select.class.is_none_or(|c| c == f.class)
                && select.flow.as_ref().is_none_or(|g| *g == f.name)
                && select.consumer.is_none_or(|c| c == f.consumer)
                && select.prefix.as_ref().is_none_or(|p| *p == f.prefix)
        };
        let flows = subjects.flows;
        select.flows = (0..flows.len()).filter(|&i| fits(&flows[i])).map(FlowId).collect();
        // An override may remove flows, but the file itself must refer to flows that exist.
        let is_cut = self.faults.has_gaps();
        let may_be_none =
            is_cut || self.changed.iter().any(|p| p.starts_with("flow.") || p.starts_with("generate"));
        if select.flows.is_empty() && is_about_flows(metric, &select) && !may_be_none {
            return Err(item.error_here(format!("there is no flow of {}", words.join(", ")), ""));
        }
        if let Some(value) = item.given("consumer")
            && select.flows.iter().any(|f| !flows[f.index()].drawn_from.is_empty())
        {
            let message = "the seed draws the nodes of these consumers".to_owned();
            return Err(item.error("consumer", value, message, "choose the flows by `flow` or `prefix`"));
        }
        let mut chosen = select.flows.iter().map(|f| &flows[f.index()]);
        if metric.needs_amount()
            && let Some(endless) = chosen.find(|flow| flow.amount.is_none())
        {
            let why =
                if endless.requests.is_some() { "it is a source of requests" } else { "it has no `amount`" };
            let message = format!("flow {} never completes: {why}", endless.name);
            return Err(item.error_here(message, ""));
        }
        let of = if words.is_empty() { String::new() } else { format!(" of {}", words.join(", ")) };
        Ok((select, of + &links + &nodes))
    }
}

/// Returns the flows that the keys select, and their description in words.
fn select_flows(item: &Item<'_>, subjects: &Subjects<'_>) -> Result<(Select, Vec<String>)> {
    let mut words = Vec::new();
    let mut select = Select::default();
    if let Some(class) = item.opt_class("class")? {
        select.class = Some(class);
        words.push(format!("class {class}"));
    }
    if let Some(flow) = item.opt_text("flow")? {
        if !subjects.groups.iter().any(|g| g.name == flow) {
            return Err(no_group(item, "flow", &flow, subjects.groups));
        }
        // A group may be called `flow` or `flow1`.
        words.push(if flow.starts_with("flow") { flow.to_string() } else { format!("flow {flow}") });
        select.flow = Some(flow);
    }
    if let Some(consumer) = item.opt_text("consumer")? {
        let at = item.origin_of("consumer");
        select.consumer = Some(subjects.network.node(item, "consumer", &consumer, at)?);
        words.push(format!("consumer {consumer}"));
    }
    if let Some(prefix) = item.opt_text("prefix")? {
        words.push(format!("prefix {prefix}"));
        select.prefix = Some(prefix);
    }
    Ok((select, words))
}

/// Adds the directions of links to the subject. Returns their description in words.
fn select_links(item: &Item<'_>, metric: Metric, network: &Network, select: &mut Select) -> Result<String> {
    let given = item.given("link");
    if let Some(value) = given.filter(|_| !metric.needs_link()) {
        let message = format!("{} is not measured on links", metric.name());
        return Err(item.error("link", value, message, ""));
    }
    let mut texts = Vec::new();
    for (text, at) in if given.is_some() { item.texts("link")? } else { Vec::new() } {
        let (link, one_way) = link_text(item, "link", &text, at, network)?;
        if !one_way {
            let (a, b) = text.split_once('-').unwrap_or((&text, ""));
            let help = format!("write \"{a}->{b}\" or \"{b}->{a}\": Data goes towards the consumer");
            let message = format!("`{text}` has two directions");
            return Err(item.doc.error(at, item.path_of("link"), message, help));
        }
        select.links.push(link);
        texts.push(text.to_string());
    }
    if metric.needs_link() && texts.is_empty() {
        let message = format!("{} is measured on a link, and the key `link` is missing", metric.name());
        return Err(item.error_here(message, "write link = \"R3->R2\""));
    }
    Ok(if texts.is_empty() { String::new() } else { format!(" on {}", texts.join(" and ")) })
}

/// Adds nodes to the subject. Returns their description in words.
fn select_nodes(item: &Item<'_>, metric: Metric, network: &Network, select: &mut Select) -> Result<String> {
    let Some(value) = item.given("node") else { return Ok(String::new()) };
    if !metric.is_of_nodes() {
        let message = format!("{} is not measured at nodes", metric.name());
        return Err(item.error("node", value, message, "only cache_hit_ratio is"));
    }
    let mut texts = Vec::new();
    for (text, at) in item.texts("node")? {
        select.nodes.push(network.node(item, "node", &text, at)?);
        texts.push(text.to_string());
    }
    Ok(if texts.is_empty() { String::new() } else { format!(" at {}", texts.join(" and ")) })
}

/// Returns the statement. Exactly one of its keys has to be given.
fn stated(item: &Item<'_>, metric: Metric, scheme: &str) -> Result<Stated> {
    let bounds = [("about", Bound::About), ("at_most", Bound::AtMost), ("at_least", Bound::AtLeast)];
    let bounds: Vec<_> = bounds.into_iter().filter(|(key, _)| item.given(key).is_some()).collect();
    let orders = COMPARISONS.into_iter().filter(|(key, _)| item.given(key).is_some()).collect::<Vec<_>>();
    match (&bounds[..], &orders[..]) {
        (&[(key, bound)], []) => {
            let value = value_stated(item, key, metric)?;
            let tolerance = item.opt_number("tolerance")?;
            let tolerance = tolerance.unwrap_or(if bound == Bound::About { 0.05 } else { 0.0 });
            Ok(Stated::Value { bound, value, tolerance })
        }
        ([], &[(key, order)]) => Ok(Stated::Comparison { order, schemes: compared(item, key, scheme)? }),
        _ => {
            let is_none = bounds.is_empty() && orders.is_empty();
            let message = if is_none {
                "the expectation has no value"
            } else {
                "the expectation has more than one value"
            };
            let help = "give exactly one of: about, at_most, at_least, more_than, less_than";
            Err(item.error_here(message, help))
        }
    }
}

/// Returns the number under a key, in the metric's unit.
fn value_stated(item: &Item<'_>, key: &str, metric: Metric) -> Result<f64> {
    let value = &*item.value(key)?;
    let wrong = |message: String| item.error(key, value, message, "");
    match &value.kind {
        Kind::Int(n) => Ok(*n as f64),
        Kind::Float(x) if x.is_finite() => Ok(*x),
        Kind::Text(text) => match metric.unit() {
            "bit/s" => Ok(text.parse::<Rate>().map_err(|e| wrong(e.to_string()))?.as_bps_f64()),
            "ms" => Ok(text.parse::<Span>().map_err(|e| wrong(e.to_string()))?.as_millis_f64()),
            "s" => Ok(text.parse::<Span>().map_err(|e| wrong(e.to_string()))?.as_secs_f64()),
            _ => Err(wrong(format!("`{text}` is not a number, which {} is", metric.name()))),
        },
        _ => Err(wrong(format!("{value} is not {}", Shape::Quantity.wanted()))),
    }
}

/// Returns the schemes that a comparison names, in an expectation about `scheme`.
fn compared(item: &Item<'_>, key: &str, scheme: &str) -> Result<Vec<String>> {
    if let Some(value) = item.given("tolerance") {
        let message = format!("a comparison with other schemes has no tolerance: it has `{key}`");
        return Err(item.error("tolerance", value, message, ""));
    }
    if let Some(value) = item.given("scheme").filter(|_| scheme == "*") {
        let message = format!("`{key}` compares one scheme with others, but the scheme here is `*`");
        return Err(item.error("scheme", value, message, "name the scheme"));
    }
    let mut schemes: Vec<String> = Vec::new();
    for (name, at) in item.texts(key)? {
        let wrong = |message: &str| item.doc.error(at, item.path_of(key), message.to_owned(), "");
        if *name == *scheme {
            return Err(wrong(&format!("{scheme} is compared with itself")));
        }
        if schemes.iter().any(|known| **known == *name) {
            return Err(wrong(&format!("{name} is named twice")));
        }
        schemes.push(name.to_string());
    }
    if schemes.is_empty() {
        let help = format!("write {key} = \"NAME\"; `weir list` shows the names");
        return Err(item.error(key, &*item.value(key)?, "the comparison names no scheme".to_owned(), help));
    }
    Ok(schemes)
}

/// Returns whether an expectation is about flows. An expectation about a link alone is valid without flows.
fn is_about_flows(metric: Metric, select: &Select) -> bool {
    let chosen = select.class.is_some()
        || select.flow.is_some()
        || select.consumer.is_some()
        || select.prefix.is_some();
    !(metric.needs_link() || metric.is_of_nodes()) || metric == Metric::DataRate || chosen
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
        Metric::QueueingMean => "mean queueing delay on the whole path",
        Metric::QueueP99 => "99th percentile of the queueing delay",
        Metric::QueuePackets => "mean queue length",
        Metric::Jain => "Jain's index over the flows",
        Metric::Unfairness => "largest deviation from equal shares",
        Metric::Settle => "time to settle",
        Metric::CacheHitRatio => "cache hit ratio",
        Metric::HopsMean => "mean hops of Data",
    }
}

/// Formats a time in seconds, as in windows.
fn seconds(span: Span) -> String {
    format!("{} s", span.as_secs_f64())
}
