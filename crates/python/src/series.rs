//! The figures over time as tables, with the columns declared in `weir_results::schema`.

use weir_measure::{Report, RunDocument, Series};
use weir_results::schema::{CLASSES, FLOWS, LINKS, NODES, Table as Declared};

use crate::table::{Columns, Table};

/// The figures of each flow over time.
pub fn flows(report: &Report) -> Table {
    let Report { document, series, .. } = report;
    let rows = Rows { of: FLOWS, series, things: series.flows.len().min(document.flows.len()) };
    let RunDocument { flows, .. } = document;
    let all = &series.flows;
    rows.times(Columns::default())
        .with(|columns| rows.number_of(columns, "flow"))
        .with(|columns| rows.text(columns, "consumer", |at| &flows[at].consumer))
        .with(|columns| rows.text(columns, "prefix", |at| &flows[at].prefix))
        .with(|columns| rows.text(columns, "class", |at| &flows[at].class))
        .with(|columns| rows.number(columns, "goodput_bps", |at| &all[at].goodput_bps))
        .with(|columns| rows.maybe(columns, "delay_ms", |at| &all[at].delay_ms))
        .with(|columns| rows.count(columns, "lost", |at| &all[at].lost))
        .with(|columns| rows.count(columns, "retransmitted", |at| &all[at].retransmitted))
        .with(|columns| rows.maybe(columns, "sent_rate", |at| &all[at].sent_rate))
        .with(|columns| rows.maybe(columns, "window", |at| &all[at].control.window))
        .with(|columns| rows.maybe(columns, "rate_bps", |at| &all[at].control.rate_bps))
        .with(|columns| rows.maybe(columns, "pending", |at| &all[at].control.pending))
        .with(|columns| rows.maybe(columns, "srtt_ms", |at| &all[at].control.srtt_ms))
        .with(|columns| rows.maybe(columns, "rto_ms", |at| &all[at].control.rto_ms))
        .with(|columns| rows.maybe(columns, "base_rtt_ms", |at| &all[at].control.base_rtt_ms))
        .table()
}

/// The figures of each class over time.
pub fn classes(report: &Report) -> Table {
    let series = &report.series;
    let all = &series.classes;
    let rows = Rows { of: CLASSES, series, things: all.len() };
    rows.times(Columns::default())
        .with(|columns| rows.text(columns, "class", |at| &all[at].class))
        .with(|columns| rows.number(columns, "goodput_bps", |at| &all[at].goodput_bps))
        .with(|columns| rows.maybe(columns, "delay_ms", |at| &all[at].delay_ms))
        .with(|columns| rows.count(columns, "lost", |at| &all[at].lost))
        .with(|columns| rows.count(columns, "retransmitted", |at| &all[at].retransmitted))
        .table()
}

/// The figures of each direction of each link over time.
pub fn links(report: &Report) -> Table {
    let Report { document, series, .. } = report;
    let RunDocument { links, .. } = document;
    let all = &series.links;
    let rows = Rows { of: LINKS, series, things: all.len().min(links.len()) };
    rows.times(Columns::default())
        .with(|columns| rows.number_of(columns, "link"))
        .with(|columns| rows.text(columns, "from", |at| &links[at].from))
        .with(|columns| rows.text(columns, "to", |at| &links[at].to))
        .with(|columns| {
            let rates = rows.of_things(|at| links[at].rate_bps);
            columns.number("rate_bps", rows.about("rate_bps"), rates)
        })
        .with(|columns| rows.number(columns, "throughput_bps", |at| &all[at].throughput_bps))
        .with(|columns| rows.number(columns, "utilisation", |at| &all[at].utilisation))
        .with(|columns| rows.number(columns, "queue_packets", |at| &all[at].queue_packets))
        .with(|columns| rows.maybe(columns, "queue_ms", |at| &all[at].queue_ms))
        .with(|columns| rows.count(columns, "drops", |at| &all[at].drops))
        .with(|columns| rows.count(columns, "lost", |at| &all[at].lost))
        .table()
}

/// The figures of each node over time.
pub fn nodes(report: &Report) -> Table {
    let Report { document, series, .. } = report;
    let RunDocument { nodes, .. } = document;
    let all = &series.nodes;
    let rows = Rows { of: NODES, series, things: all.len().min(nodes.len()) };
    rows.times(Columns::default())
        .with(|columns| rows.number_of(columns, "node"))
        .with(|columns| rows.text(columns, "name", |at| &nodes[at].node))
        .with(|columns| rows.count(columns, "cache_hits", |at| &all[at].cache_hits))
        .with(|columns| rows.count(columns, "cache_misses", |at| &all[at].cache_misses))
        .with(|columns| rows.count(columns, "cached_packets", |at| &all[at].cached_packets))
        .with(|columns| rows.count(columns, "pit", |at| &all[at].pit))
        .with(|columns| rows.count(columns, "drops", |at| &all[at].drops))
        .table()
}

impl Columns {
    fn with(self, add: impl FnOnce(Columns) -> Columns) -> Columns {
        add(self)
    }
}

/// One row for each step of each flow, class, link or node. All steps of one come before those of the next.
struct Rows<'a> {
    of: Declared,
    series: &'a Series,
    things: usize,
}

impl<'a> Rows<'a> {
    fn about(&self, name: &str) -> &'static str {
        self.of.columns.iter().find(|column| column.name == name).map_or("", |column| column.about)
    }

    /// A value of each object, in all its rows.
    fn of_things<T: Copy>(&self, value: impl Fn(usize) -> T) -> impl Iterator<Item = T> {
        let samples = self.series.samples;
        (0..self.things).flat_map(move |at| std::iter::repeat_n(value(at), samples))
    }

    /// A value of each step of each object; `None` if it was not recorded.
    fn of_steps<T: Copy + 'a>(&self, steps: impl Fn(usize) -> &'a Vec<T>) -> impl Iterator<Item = Option<T>> {
        let samples = self.series.samples;
        (0..self.things).flat_map(move |at| {
            let steps = steps(at);
            (0..samples).map(move |step| steps.get(step).copied())
        })
    }

    fn times(&self, columns: Columns) -> Columns {
        let step_s = self.series.step_s;
        let samples = self.series.samples;
        let times = (0..self.things).flat_map(|_| (0..samples).map(|step| step as f64 * step_s));
        columns.number("t_s", self.about("t_s"), times)
    }

    fn number_of(&self, columns: Columns, name: &str) -> Columns {
        columns.count32(name, self.about(name), self.of_things(|at| at as u32))
    }

    fn text(&self, columns: Columns, name: &str, value: impl Fn(usize) -> &'a String) -> Columns {
        columns.text(name, self.about(name), self.of_things(value))
    }

    fn number(&self, columns: Columns, name: &str, steps: impl Fn(usize) -> &'a Vec<f32>) -> Columns {
        columns.maybe32(name, self.about(name), self.of_steps(steps))
    }

    fn maybe(&self, columns: Columns, name: &str, steps: impl Fn(usize) -> &'a Vec<f32>) -> Columns {
        let values = self.of_steps(steps).map(|value| value.filter(|value| value.is_finite()));
        columns.maybe32(name, self.about(name), values)
    }

    fn count(&self, columns: Columns, name: &str, steps: impl Fn(usize) -> &'a Vec<u32>) -> Columns {
        let values = self.of_steps(steps).map(Option::unwrap_or_default);
        columns.count32(name, self.about(name), values)
    }
}
