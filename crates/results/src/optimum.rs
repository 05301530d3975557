//! The optimum's own tables, and the distance of a run from it.

use crate::comparison::estimate;
use crate::format::{self, NONE, Quantity, rate};
use crate::model::{
    BestFlowRow, BestLinkRow, BottleneckRow, DistanceEstimates, OptimumCompletionRow, OptimumDocument,
    OptimumWindowRow,
};
use crate::sheet::{Cell, Form, Grid, Section, Sheet, numbers, words};
use weir_measure::{DistanceRow, Estimate, OptimumFlowRow, OptimumRow, TargetRow};

/// Rows of flows, links and bottlenecks on a terminal.
const FLOWS_IN_TEXT: usize = 40;
const LINKS_IN_TEXT: usize = 12;
const BOTTLENECKS_IN_TEXT: usize = 12;
/// Number of flows whose gains are shown in a row.
const GAINS_SHOWN: usize = 3;

impl DistanceEstimates {
    /// The means over runs.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a DistanceRow>) -> DistanceEstimates {
        let runs: Vec<&DistanceRow> = runs.into_iter().collect();
        let mean = |of: fn(&DistanceRow) -> Option<f64>| estimate(runs.iter().map(|run| of(run)));
        DistanceEstimates {
            mean: mean(|run| run.mean),
            largest: mean(|run| run.largest),
            lowest: mean(|run| run.lowest),
            highest: mean(|run| run.highest),
            within_5_percent: mean(|run| run.within_5_percent),
        }
    }

    /// The distances in tables, in the order of the columns.
    pub(crate) fn shown(&self) -> [Option<Estimate>; 4] {
        [self.mean, self.lowest, self.highest, self.within_5_percent]
    }
}

/// A distance in words.
fn apart(distance: &DistanceRow) -> String {
    let percent = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| Quantity::Percent.format(value));
    let signed = |value: Option<f64>| {
        let side = if value.is_some_and(|value| value > 0.0) { "above" } else { "below" };
        format!("{} {side}", percent(value.map(f64::abs)))
    };
    let DistanceRow { mean, lowest, highest, within_5_percent, .. } = *distance;
    format!(
        "mean {}, flows from {} to {}; {} of them within 5 %",
        percent(mean),
        signed(lowest),
        signed(highest),
        percent(within_5_percent),
    )
}

/// The distance of a run from the optimum, in words.
pub(crate) fn sentence(row: &OptimumRow) -> String {
    let weights = if row.weights.is_empty() { String::new() } else { format!(", {}", row.weights) };
    let mut distance = format!(
        "Distance from the optimum ({}{weights}, {} of links): {}",
        row.objective,
        Quantity::Percent.format(row.utilisation),
        apart(&row.distance),
    );
    if let Some(jain) = row.weighted_jain {
        distance += &format!("; weighted Jain's index {}", Quantity::Plain.format(jain));
    }
    match unshared_bps(&row.flows) {
        Some(unshared) => format!("{distance}; {}", two_bounds(&row.flows, unshared)),
        None => distance,
    }
}

/// The target of a run's scheme and the distance of the run from it; `None` if the scheme aims for all of the links.
pub(crate) fn target_sentence(row: &OptimumRow, scheme: &str) -> Option<String> {
    let TargetRow { utilisation, goodput_bps, distance } = row.target.as_ref()?;
    Some(format!(
        "Distance from the target of {scheme} ({} of links, {}): {}",
        Quantity::Percent.format(*utilisation),
        rate(*goodput_bps),
        apart(distance),
    ))
}

/// The goodput of all flows together if no Data were shared, bit/s.
pub(crate) fn unshared_bps(flows: &[OptimumFlowRow]) -> Option<f64> {
    flows.iter().map(|flow| flow.unshared_goodput_bps).sum()
}

/// The optimum assumes that consumers of a prefix share each copy of Data. This is a bound that they reach only if they fetch it
/// at the same time.
fn two_bounds(flows: &[OptimumFlowRow], unshared_bps: f64) -> String {
    let shared = flows.iter().map(|flow| flow.goodput_bps).sum();
    format!(
        "it is {} for all flows if consumers of a prefix share all Data, {} if they share none",
        rate(shared),
        rate(unshared_bps)
    )
}

impl OptimumDocument {
    /// The text for a terminal with `width` columns, or of any width.
    pub fn text(&self, width: Option<u16>) -> String {
        let facts = vec![
            ("scenario", self.scenario.clone()),
            ("objective", self.objective.clone()),
            ("utilisation", self.utilisation.to_string()),
        ];
        let mut sections: Vec<Section> = self.windows.iter().map(OptimumWindowRow::section).collect();
        if !self.completions.is_empty() {
            sections.push(completions(&self.completions, self.completions_inexact.as_deref()));
        }
        if let Some(last) = sections.last_mut() {
            last.notes.extend(self.notes.iter().cloned());
        }
        let sheet = Sheet {
            kind: "Weir optimum",
            title: self.title.clone(),
            set: self.set.clone(),
            facts,
            sections,
            ..Sheet::default()
        };
        sheet.text(width)
    }
}

impl OptimumWindowRow {
    fn section(&self) -> Section {
        let mut title = format::period(self.from_s, self.to_s);
        if self.pieces > 1 {
            title += &format!(": means over {} pieces", self.pieces);
        }
        let mut notes = Vec::new();
        notes.extend(self.both_goodputs());
        notes.extend(self.target.as_ref().map(|target| {
            let all: f64 = self.flows.iter().map(|flow| flow.goodput_bps).sum();
            format!(
                "The target of {} is {} of links: {} for all flows, of {} in the optimum.",
                target.scheme,
                Quantity::Percent.format(target.utilisation),
                rate(target.goodput_bps),
                rate(all),
            )
        }));
        if !self.exact {
            notes.push(not_exact(self.inexact.as_deref().unwrap_or("the document does not say why")));
        }
        let mut grids = vec![self.flows(), self.links(), self.bottlenecks()];
        grids.retain(|grid| !grid.rows.is_empty());
        Section { title, grids, notes, ..Section::default() }
    }

    /// The goodputs of all flows together with and without sharing, if they differ.
    fn both_goodputs(&self) -> Option<String> {
        let shared: f64 = self.flows.iter().map(|flow| flow.goodput_bps).sum();
        let unshared: f64 = self.flows.iter().map(|flow| flow.unshared_goodput_bps).sum::<Option<f64>>()?;
        (!self.flows.is_empty()).then(|| {
            format!(
                "Goodput of all flows: {} if consumers of a prefix keep in step and links carry one Data for all of them, {} if links carry a separate Data for each consumer.",
                rate(shared),
                rate(unshared)
            )
        })
    }

    fn flows(&self) -> Grid {
        let with_max_min = self.flows.iter().any(|flow| flow.max_min_bps.is_some());
        let mut columns = vec![words("consumer"), words("prefix"), words("class"), numbers("rate")];
        columns.extend(with_max_min.then_some(numbers("max-min")));
        let with_unshared = self.flows.iter().any(|flow| flow.unshared_bps.is_some());
        columns.push(numbers("alone"));
        columns.extend(with_unshared.then_some(numbers("unshared")));
        columns.extend([numbers("goodput"), words("bottlenecks")]);
        let row = |flow: &BestFlowRow| -> Vec<Cell> {
            let mut cells: Vec<Cell> =
                [&flow.consumer, &flow.prefix, &flow.class].map(|t| t.as_str().into()).into();
            cells.push(rate(flow.rate_bps).into());
            cells.extend(with_max_min.then(|| flow.max_min_bps.map_or(NONE.to_owned(), rate).into()));
            cells.push(rate(flow.alone_bps).into());
            cells.extend(with_unshared.then(|| flow.unshared_bps.map_or(NONE.to_owned(), rate).into()));
            cells.extend([rate(flow.goodput_bps).into(), held(flow).into()]);
            cells
        };
        let rows: Vec<Vec<Cell>> = self.flows.iter().map(row).collect();
        grid("Flows", columns, rows, FLOWS_IN_TEXT, "first")
    }

    fn links(&self) -> Grid {
        let mut links: Vec<&BestLinkRow> = self.links.iter().filter(|link| link.data_bps > 0.0).collect();
        let use_of = |link: &BestLinkRow| (link.data_bps + link.interest_bps) / link.rate_bps.max(1.0);
        links.sort_by(|a, b| b.binding.total_cmp(&a.binding).then(use_of(b).total_cmp(&use_of(a))));
        let columns = ["rate", "Data", "Interests"].map(numbers);
        let mut columns: Vec<_> = [words("link")].into_iter().chain(columns).collect();
        columns.extend([words("bottleneck"), words("fair share of a flow")]);
        let row = |link: &&BestLinkRow| -> Vec<Cell> {
            let share = |share: &crate::ShareRow| format!("{} {}", share.class, rate(share.rate_bps));
            let binds = match link.binding {
                0.0 => "no".to_owned(),
                part if part > 0.9995 => "yes".to_owned(),
                part => format!("{} of the time", Quantity::Percent.format(part)),
            };
            let shares: Vec<String> = link.shares.iter().map(share).collect();
            vec![
                format!("{} → {}", link.from, link.to).into(),
                rate(link.rate_bps).into(),
                rate(link.data_bps).into(),
                rate(link.interest_bps).into(),
                binds.into(),
                shares.join(", ").into(),
            ]
        };
        let mut grid = grid("Links", columns, links.iter().map(row).collect(), LINKS_IN_TEXT, "fullest");
        if links.iter().all(|link| link.shares.is_empty()) {
            grid.columns.pop();
            grid.rows.iter_mut().for_each(|row| drop(row.pop()));
        }
        grid
    }

    fn bottlenecks(&self) -> Grid {
        let columns = vec![
            words("link"),
            numbers("smallest rate"),
            numbers("flows"),
            words("Mb/s that flows gain for each Mb/s of the link"),
        ];
        let row = |bottleneck: &BottleneckRow| -> Vec<Cell> {
            vec![
                format!("{} → {}", bottleneck.from, bottleneck.to).into(),
                rate(bottleneck.least_bps).into(),
                bottleneck.flows.len().to_string().into(),
                self.gains(bottleneck).into(),
            ]
        };
        let rows = self.bottlenecks.iter().map(row).collect();
        grid("Bottlenecks, those with the smallest rates first", columns, rows, BOTTLENECKS_IN_TEXT, "first")
    }

    /// The flows that gain most, and the sum of the others.
    fn gains(&self, bottleneck: &BottleneckRow) -> String {
        let Some(gains) = &bottleneck.gains else { return NONE.to_owned() };
        if gains.is_empty() {
            return "nothing: another link is full too".to_owned();
        }
        let named = |gain: &crate::GainRow| {
            let flow = self.flows.get(gain.flow as usize);
            let name = flow.map_or(String::new(), |flow| format!("{} {}", flow.consumer, flow.prefix));
            format!("{name} {:+.2}", gain.gain)
        };
        let mut parts: Vec<String> = gains.iter().take(GAINS_SHOWN).map(named).collect();
        let others = gains.get(GAINS_SHOWN..).unwrap_or_default();
        if !others.is_empty() {
            let sum: f64 = others.iter().map(|gain| gain.gain).sum();
            let them =
                if others.len() == 1 { "1 other".to_owned() } else { format!("{} others", others.len()) };
            parts.push(format!("{them} {sum:+.2}"));
        }
        parts.join(", ")
    }
}

/// The bottlenecks of a flow, in words.
fn held(flow: &BestFlowRow) -> String {
    let one = |held: &crate::HeldRow| match held.part {
        part if part > 0.9995 => held.by.clone(),
        part => format!("{} ({})", held.by, Quantity::Percent.format(part)),
    };
    flow.held.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn completions(rows: &[OptimumCompletionRow], inexact: Option<&str>) -> Section {
    let with_unshared = rows.iter().any(|row| row.unshared_s.is_some());
    let mut columns = vec![words("consumer"), words("prefix"), words("class"), numbers("completion")];
    columns.extend(with_unshared.then_some(numbers("unshared")));
    columns.extend(["alone", "slowdown"].map(numbers));
    let time = |time: Option<f64>| time.map_or(NONE.to_owned(), duration);
    let row = |row: &OptimumCompletionRow| -> Vec<Cell> {
        let mut cells: Vec<Cell> = [&row.consumer, &row.prefix, &row.class].map(|t| t.as_str().into()).into();
        cells.push(time(row.completion_s).into());
        cells.extend(with_unshared.then(|| time(row.unshared_s).into()));
        cells.push(time(row.alone_s).into());
        let slowdown = row.slowdown.map_or(NONE.to_owned(), |slowdown| Quantity::Plain.format(slowdown));
        cells.push(slowdown.into());
        cells
    };
    let mut notes = Vec::new();
    notes.extend(completed(rows, |row| row.completion_s, "."));
    notes.extend(completed(
        rows,
        |row| row.unshared_s,
        ", if links carry a separate Data for each consumer.",
    ));
    notes.extend(mean(rows.iter().filter_map(|row| row.slowdown)).map(|mean| {
        format!(
            "The mean slowdown is {}: the completion with a round trip over the time that the flow would take alone, which has \
             a round trip too.",
            Quantity::Plain.format(mean)
        )
    }));
    notes.push(
        "Round trips do not count in completions: an Interest and its Data take no time here.".to_owned(),
    );
    notes.extend(inexact.map(not_exact));
    let grid = grid("Flows", columns, rows.iter().map(row).collect(), FLOWS_IN_TEXT, "first");
    Section { title: "Completion".to_owned(), grids: vec![grid], notes, ..Section::default() }
}

/// A note that figures are not exact, and the reason.
fn not_exact(why: &str) -> String {
    format!("Not exact: {why}.")
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// The numbers and times of completed flows, as the end of a sentence.
fn completed(
    rows: &[OptimumCompletionRow],
    of: impl Fn(&OptimumCompletionRow) -> Option<f64>,
    end: &str,
) -> Option<String> {
    let known: Vec<f64> = rows.iter().filter_map(of).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let last = known.iter().copied().reduce(f64::max)?;
    Some(format!(
        "{} of {} flows complete, in {} on average and {} at most{end}",
        known.len(),
        rows.len(),
        duration(mean),
        duration(last)
    ))
}

/// Seconds, or milliseconds below one.
fn duration(seconds: f64) -> String {
    if seconds < 1.0 { Quantity::Millis.format(1e3 * seconds) } else { Quantity::Seconds.format(seconds) }
}

/// A table with at most this many rows on a terminal.
fn grid(
    title: &str,
    columns: Vec<crate::sheet::Column>,
    rows: Vec<Vec<Cell>>,
    in_text: usize,
    which: &str,
) -> Grid {
    let all = rows.len();
    let in_text = (all > in_text).then(|| (in_text, format!(", the {in_text} {which} of {all}")));
    Grid { title: title.to_owned(), form: Form::Figures, columns, rows, in_text, ..Grid::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GainRow, HeldRow, ShareRow};
    use weir_measure::{FlowRow, OptimumFlowRow};

    fn flows(goodputs: &[f64]) -> (Vec<OptimumFlowRow>, Vec<FlowRow>) {
        let best = |_: &f64| OptimumFlowRow { goodput_bps: 1e6, ..OptimumFlowRow::default() };
        let measured = |goodput: &f64| FlowRow { goodput_bps: *goodput, ..FlowRow::default() };
        (goodputs.iter().map(best).collect(), goodputs.iter().map(measured).collect())
    }

    #[test]
    fn the_distance_is_over_the_flows_that_should_get_something() {
        let (mut best, measured) = flows(&[0.98e6, 1.03e6, 1.2e6, 5.0]);
        best[3].goodput_bps = 0.0;
        let row = OptimumRow::new("link-fair", 0.99, best, &measured);
        let DistanceRow { mean, largest, lowest, highest, within_5_percent } = row.distance;
        assert!((lowest.unwrap() + 0.02).abs() < 1e-9 && (highest.unwrap() - 0.2).abs() < 1e-9);
        assert!((mean.unwrap() - 0.25 / 3.0).abs() < 1e-9 && (largest.unwrap() - 0.2).abs() < 1e-9);
        assert!((within_5_percent.unwrap() - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(
            sentence(&row),
            "Distance from the optimum (link-fair, 99 % of links): mean 8.333 %, flows from 2 % below to 20 % \
             above; 66.67 % of them within 5 %; weighted Jain's index 0.9923"
        );
        let weights = "AF2 : AF1 = 2 : 1".to_owned();
        let target = Some(TargetRow { utilisation: 0.98, goodput_bps: 3e6, distance: row.distance });
        let row = OptimumRow { weights, target, ..row };
        assert!(
            sentence(&row)
                .starts_with("Distance from the optimum (link-fair, AF2 : AF1 = 2 : 1, 99 % of links): ")
        );
        let target = target_sentence(&row, "some").unwrap();
        assert!(
            target.starts_with("Distance from the target of some (98 % of links, 3 Mb/s): mean 8.333 %"),
            "{target}"
        );
        assert_eq!(OptimumRow::new("link-fair", 1.0, Vec::new(), &[]).distance, DistanceRow::default());
    }

    #[test]
    fn where_data_may_be_shared_both_bounds_are_said() {
        let (mut best, measured) = flows(&[0.5e6, 0.5e6]);
        assert!(!sentence(&OptimumRow::new("link-fair", 0.99, best.clone(), &measured)).contains("share"));
        best.iter_mut().for_each(|flow| flow.unshared_goodput_bps = Some(0.5e6));
        let said = sentence(&OptimumRow::new("link-fair", 0.99, best, &measured));
        let bounds =
            "; it is 2 Mb/s for all flows if consumers of a prefix share all Data, 1 Mb/s if they share none";
        assert!(said.ends_with(bounds), "{said}");
    }

    #[test]
    fn the_tables_name_flows_links_and_what_keeps_them_from_more() {
        let flow = |prefix: &str, held: &str| BestFlowRow {
            consumer: "C".to_owned(),
            prefix: prefix.to_owned(),
            class: "BE".to_owned(),
            rate_bps: 4e6,
            max_min_bps: Some(5e6),
            alone_bps: 9e6,
            unshared_bps: (prefix == "/a").then_some(2e6),
            unshared_goodput_bps: Some(1.5e6),
            goodput_bps: 3e6,
            held: vec![HeldRow { by: held.to_owned(), part: 1.0 }],
        };
        let shares = vec![ShareRow { class: "BE".to_owned(), rate_bps: 4e6 }];
        let (from, to) = ("P".to_owned(), "C".to_owned());
        let link = BestLinkRow {
            rate_bps: 1e7,
            data_bps: 8e6,
            binding: 0.5,
            shares,
            from,
            to,
            ..BestLinkRow::default()
        };
        let gains = (0..5).map(|flow| GainRow { flow, gain: 0.2 }).collect();
        let (from, to) = ("P".to_owned(), "C".to_owned());
        let bottleneck = BottleneckRow { from, to, least_bps: 4e6, flows: vec![0, 1], gains: Some(gains) };
        let window = OptimumWindowRow {
            inexact: Some("routes fork and join".to_owned()),
            to_s: 9.0,
            pieces: 3,
            flows: vec![flow("/a", "P->C"), flow("/b", "source")],
            links: vec![link],
            bottlenecks: vec![bottleneck],
            ..OptimumWindowRow::default()
        };
        let completions = vec![OptimumCompletionRow {
            completion_s: Some(2.5),
            unshared_s: Some(4.0),
            alone_s: Some(2.0),
            slowdown: Some(1.25),
            ..OptimumCompletionRow::default()
        }];
        let document = OptimumDocument {
            title: "A title".to_owned(),
            windows: vec![window],
            completions,
            completions_inexact: Some("the solver".to_owned()),
            notes: vec!["left out".to_owned()],
            ..OptimumDocument::default()
        };
        let text = document.text(None);
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "A title",
            "0 s to 9 s: means over 3 pieces",
            "C /a BE 4 Mb/s 5 Mb/s 9 Mb/s 2 Mb/s 3 Mb/s P->C",
            "C /b BE 4 Mb/s 5 Mb/s 9 Mb/s – 3 Mb/s source",
            "Goodput of all flows: 6 Mb/s if consumers of a prefix keep in step and links carry one Data for all of them, 3 Mb/s if links",
            "P → C 10 Mb/s 8 Mb/s 0 b/s 50 % of the time BE 4 Mb/s",
            "P → C 4 Mb/s 2 C /a +0.20, C /b +0.20, +0.20, 2 others +0.40",
            "1 of 1 flows complete, in 2.50 s on average and 2.50 s at most.",
            "1 of 1 flows complete, in 4.00 s on average and 4.00 s at most, if links carry a separate Data",
            "left out",
            "Not exact: routes fork and join.",
            "The mean slowdown is 1.25",
            "Not exact: the solver",
        ] {
            assert!(squeezed.contains(part), "no `{part}` in\n{text}");
        }
    }

    #[test]
    fn a_terminal_shows_the_first_of_many_flows() {
        let rows =
            (0..100).map(|_| BestFlowRow { prefix: "/p".to_owned(), ..BestFlowRow::default() }).collect();
        let window = OptimumWindowRow { flows: rows, exact: true, ..OptimumWindowRow::default() };
        let document = OptimumDocument { windows: vec![window], ..OptimumDocument::default() };
        let text = document.text(None);
        assert_eq!(text.matches("/p").count(), FLOWS_IN_TEXT);
        assert!(text.contains("Flows, the 40 first of 100"), "{text}");
    }
}
