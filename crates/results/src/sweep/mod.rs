//! A sweep: schemes at each point of some axes, as means over the seeds. Its rows are made one by one, so only the runs of one
//! row are in memory.

mod axis;
mod model;
mod page;
mod tables;

pub use model::{SweepAxis, SweepDocument, SweepPeriod, SweepRow};

use crate::comparison::{self, Part, part};
use crate::format;
use crate::model::{LinkComparison, PeriodRow};
use crate::summary;
use std::collections::BTreeMap;
use weir_measure::{RunDocument, TrafficFigures};

/// Largest number of groups of flows in a row.
const GROUPS: usize = 100;
/// Largest number of links in a row, until those of the document are known.
const LINKS_OF_ROW: usize = 100;
/// Largest number of links in the document.
const LINKS: usize = 30;
/// A link is in the document if its utilisation is at least this somewhere.
const USED: f64 = 0.5;

impl SweepDocument {
    /// The version of the document that this code writes.
    pub const SCHEMA: u64 = 1;

    /// The document with these rows, each from [`SweepRow::of`]; `head` has all other fields. Missing values of its axes are
    /// added.
    pub fn of(head: SweepDocument, rows: impl IntoIterator<Item = SweepRow>) -> SweepDocument {
        let mut document = SweepDocument { schema: SweepDocument::SCHEMA, ..head };
        document.rows.extend(rows);
        document.complete_axes();
        keep_used_links(&mut document.rows);
        document
    }

    fn complete_axes(&mut self) {
        for row in &mut self.rows {
            row.values.resize(self.axes.len(), String::new());
        }
        for (at, axis) in self.axes.iter_mut().enumerate() {
            let mut values = std::mem::take(&mut axis.values);
            for value in self.rows.iter().map(|row| &row.values[at]) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            *axis = SweepAxis::new(std::mem::take(&mut axis.name), values);
        }
    }

    /// The number of parts of the runs: the whole run and its windows.
    fn parts(&self) -> usize {
        self.rows.iter().map(|row| row.periods.len()).max().unwrap_or(0)
    }

    /// The name of a part, with its times only if they are the same in all rows.
    fn part_name(&self, at: usize) -> String {
        if at == 0 {
            return "Whole run".to_owned();
        }
        let mut periods = self.rows.iter().filter_map(|row| row.periods.get(at));
        match periods.next() {
            Some(first) if periods.all(|other| (other.from_s, other.to_s) == (first.from_s, first.to_s)) => {
                format::period(first.from_s, first.to_s)
            }
            _ => format!("Window {at}"),
        }
    }
}

impl SweepRow {
    /// Summarises the runs of a scheme at a point, one for each seed. The caller adds failures, or the reason why the scheme is
    /// left out.
    pub fn of(set: Vec<String>, values: Vec<String>, scheme: &str, runs: &[RunDocument]) -> SweepRow {
        let parts = runs.first().map_or(0, |run| 1 + run.windows.len());
        let period = |at: usize| {
            let parts: Vec<Part<'_>> = runs.iter().filter_map(|run| part(run, at)).collect();
            period(scheme, parts)
        };
        SweepRow {
            set,
            values,
            scheme: scheme.to_owned(),
            variant: runs.first().and_then(|run| run.variant.clone()),
            runs: runs.len() as u64,
            distinct: distinct(runs),
            periods: (0..parts).map(period).collect(),
            ..SweepRow::default()
        }
    }

    /// The scheme with its variant: `pcon (qsccp)`.
    fn name(&self) -> String {
        format::named(&self.scheme, self.variant.as_deref())
    }

    /// Why some figures are missing, in words.
    fn trouble(&self) -> Option<String> {
        let failure = || {
            let said = self.failure.as_deref().unwrap_or("for an unknown reason");
            let of = self.runs + self.failures;
            (self.failures > 0).then(|| format!("failed in {} of {of} runs: {said}", self.failures))
        };
        self.left_out.as_ref().map(|why| format!("cannot run here: {why}")).or_else(failure)
    }
}

/// A part of all runs at a point.
fn period(scheme: &str, parts: Vec<Part<'_>>) -> SweepPeriod {
    let totals: Vec<(TrafficFigures, Option<f64>)> =
        parts.iter().map(|part| (summary::all_flows(part), comparison::fairness(part, |_| true))).collect();
    let all = totals.iter().map(|(figures, jain)| (figures, *jain));
    let all = comparison::traffic("all flows", scheme, all);
    let PeriodRow { from_s, to_s, classes, mut groups, mut links, requests, distances, .. } =
        comparison::period(&[scheme], &[parts]);
    groups.truncate(GROUPS);
    links.sort_by(|a, b| used(b).total_cmp(&used(a)));
    links.truncate(LINKS_OF_ROW);
    SweepPeriod { from_s, to_s, all, classes, groups, links, requests, distances }
}

/// The number of different outcomes of runs. The outcome is that of classes, groups and links: a seed that only exchanges equal
/// flows does not change it.
fn distinct(runs: &[RunDocument]) -> u64 {
    let is_same = |a: &RunDocument, b: &RunDocument| {
        let parts = a.windows.len().max(b.windows.len());
        (0..=parts).all(|at| match (part(a, at), part(b, at)) {
            (Some(a), Some(b)) => (a.classes, a.groups, a.links) == (b.classes, b.groups, b.links),
            (a, b) => a.is_none() && b.is_none(),
        })
    };
    let is_first = |at: &usize| !runs[..*at].iter().any(|before| is_same(before, &runs[*at]));
    (0..runs.len()).filter(is_first).count() as u64
}

fn used(link: &LinkComparison) -> f64 {
    link.utilisation.map_or(0.0, |utilisation| utilisation.mean)
}

/// Keeps the same links in all rows: the most used ones, in the same order.
fn keep_used_links(rows: &mut [SweepRow]) {
    let key = |link: &LinkComparison| (link.from.clone(), link.to.clone());
    let mut most: BTreeMap<(String, String), f64> = BTreeMap::new();
    for link in rows.iter().flat_map(|row| &row.periods).flat_map(|period| &period.links) {
        let of_link = most.entry(key(link)).or_default();
        *of_link = of_link.max(used(link));
    }
    let mut kept: Vec<_> = most.into_iter().filter(|(_, used)| *used >= USED).collect();
    kept.sort_by(|a, b| b.1.total_cmp(&a.1));
    let places: BTreeMap<(String, String), usize> =
        kept.into_iter().take(LINKS).enumerate().map(|(at, (link, _))| (link, at)).collect();
    for period in rows.iter_mut().flat_map(|row| &mut row.periods) {
        period.links.retain(|link| places.contains_key(&key(link)));
        period.links.sort_by_key(|link| places.get(&key(link)).copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, sweeps};

    /// A run whose first class has this goodput.
    fn run(scheme: &str, seed: u64, goodput_bps: f64) -> RunDocument {
        let mut run = sample::dumbbell(8, 50).document;
        (run.scheme, run.seed, run.wall_s) = (scheme.to_owned(), seed, seed as f64);
        for classes in
            [&mut run.classes].into_iter().chain(run.windows.iter_mut().map(|window| &mut window.classes))
        {
            for class in classes.iter_mut() {
                class.figures.goodput_bps = 0.0;
            }
            classes[0].figures.goodput_bps = goodput_bps;
        }
        run
    }

    fn row(rate: &str, scheme: &str, goodputs: &[f64]) -> SweepRow {
        let runs: Vec<RunDocument> =
            goodputs.iter().zip(1..).map(|(goodput, seed)| run(scheme, seed, *goodput)).collect();
        SweepRow::of(vec![format!("axis.rate={rate}")], vec![rate.to_owned()], scheme, &runs)
    }

    fn document(seeds: &[u64], rows: Vec<SweepRow>) -> SweepDocument {
        let head = SweepDocument {
            scenario: "one".to_owned(),
            axes: vec![SweepAxis::new("rate", vec!["5 Mb/s".to_owned()])],
            schemes: vec!["qsccp".to_owned(), "fixed".to_owned()],
            seeds: seeds.to_vec(),
            ..SweepDocument::default()
        };
        SweepDocument::of(head, rows)
    }

    /// The line of a table that contains these words, with single blanks between words.
    fn line(text: &str, words: &str) -> String {
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("no {words} in {text}"))
    }

    #[test]
    fn figures_are_means_over_the_seeds_and_count_what_differs() {
        let row = row("5 Mb/s", "qsccp", &[1e6, 3e6, 3e6]);
        assert_eq!((row.runs, row.distinct), (3, 2));
        let goodput = row.periods[0].all.goodput_bps.unwrap();
        assert!((goodput.mean - 7e6 / 3.0).abs() < 1e-6, "{goodput:?}");
        // The standard deviation is 2 / sqrt(3); Student's t with two degrees of freedom is 4.30265.
        assert!((goodput.ci95.unwrap() / 1e6 - 4.30265 * 2.0 / 3.0).abs() < 1e-4, "{goodput:?}");
        assert_eq!((goodput.n, goodput.distinct), (3, 2));
        assert_eq!(row.periods[0].classes[0].goodput_bps, Some(goodput));
        assert_eq!(row.periods.len(), 1 + run("", 1, 0.0).windows.len());
        let text = document(&[1, 2, 3], vec![row]).text(None);
        let line = line(&text, "5 Mb/s qsccp");
        assert!(line.contains(" 2.333 ± 2.9 ") && line.ends_with(" 2/3"), "{line}");
    }

    #[test]
    fn seeds_that_decide_nothing_have_no_interval_and_one_outcome() {
        let row = row("5 Mb/s", "fixed", &[2e6; 4]);
        assert_eq!((row.runs, row.distinct), (4, 1), "the time that a run took is no outcome");
        let text = document(&[1, 2, 3, 4], vec![row]).text(None);
        let line = line(&text, "5 Mb/s fixed");
        assert!(
            line.ends_with(" 1/4") && line.starts_with("5 Mb/s fixed 2 ") && !line.contains('±'),
            "{line}"
        );
    }

    #[test]
    fn equal_flows_that_trade_places_are_the_same_outcome() {
        let mut runs = [1, 2].map(|seed| run("qsccp", seed, 1e6));
        for (flow, goodput) in runs[0].flows.iter_mut().zip([0.1, 0.2, 0.3, 0.7]) {
            flow.goodput_bps = goodput;
        }
        runs[1].flows = runs[0].flows.clone();
        runs[1].flows.swap(0, 3);
        assert_ne!(runs[0].flows, runs[1].flows);
        let outcomes = |runs: &[RunDocument]| SweepRow::of(Vec::new(), Vec::new(), "qsccp", runs);
        let row = outcomes(&runs);
        assert_eq!((row.distinct, row.periods[0].all.jain.unwrap().distinct), (1, 1));
        runs[1].windows[0].links[0].drops += 1;
        assert_eq!(outcomes(&runs).distinct, 2);
    }

    #[test]
    fn a_row_says_which_runs_are_missing_and_why() {
        let failed = SweepRow {
            failures: 1,
            failure: Some("no route".to_owned()),
            ..row("5 Mb/s", "qsccp", &[2e6, 2e6])
        };
        let left_out =
            SweepRow { left_out: Some("it has no queue".to_owned()), ..row("5 Mb/s", "fixed", &[]) };
        let document = document(&[1, 2, 3], vec![failed, left_out]);
        let text = document.text(None);
        assert!(text.contains("\nqsccp at 5 Mb/s failed in 1 of 3 runs: no route\n"), "{text}");
        assert!(text.contains("\nfixed at 5 Mb/s cannot run here: it has no queue\n"), "{text}");
        assert!(line(&text, "5 Mb/s qsccp 2 ").ends_with(" 1/2 of 3"), "{text}");
        let row = text.lines().find(|line| line.trim().starts_with("fixed ") && line.contains('–')).unwrap();
        assert!(!row.contains(|c: char| c.is_ascii_digit()), "{row}");
        let page = document.html();
        assert!(page.contains("cannot run here: it has no queue"));
        assert_eq!(data(&document)["rows"][0]["trouble"], "failed in 1 of 3 runs: no route");
    }

    #[test]
    fn the_terminal_has_the_last_window_and_names_the_other_parts() {
        let report = sample::dumbbell(8, 400);
        let document = sweeps::sweep(&report);
        let text = document.text(Some(100));
        let last = report.document.windows.last().unwrap();
        assert!(text.contains(&format!("\n{}\n", format::period(last.from_s, last.to_s))), "{text}");
        assert!(text.contains("Other parts are in sweep.html and sweep.json: whole run"), "{text}");
        assert!(text.contains("\nGoodput of each class\n"), "{text}");
        let titles = data(&document)["metrics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["title"].clone())
            .collect::<Vec<_>>();
        assert!(
            text.contains("unweighted") && titles.contains(&"Unweighted Jain's index".into()),
            "{titles:?}"
        );
        // Each of the two tables has a row for each point and scheme, with the values only in the first row of a point.
        let of_second = |line: &&str| line.split_whitespace().skip(1).take(3).eq(["Mb/s", "50", "ms"]);
        assert_eq!(text.lines().filter(of_second).count(), 2 * 5, "{text}");
        assert_eq!(
            text.lines().filter(|line| line.starts_with(' ') && line.contains(" bbr ")).count(),
            2 * 10,
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.starts_with("scenario ") || line.chars().count() <= 100),
            "{text}"
        );
    }

    #[test]
    fn a_document_reads_back_and_has_the_figures_of_each_point() {
        let document = sweeps::sweep(&sample::dumbbell(8, 400));
        assert_eq!(document.schema, SweepDocument::SCHEMA);
        assert_eq!(document.rows.len(), 5 * 2 * 3);
        let at = |axis: usize| document.axes[axis].positions.clone();
        assert_eq!((at(0), at(1)), (vec![2e6, 5e6, 10e6, 20e6, 50e6], vec![0.005, 0.05]));
        let read: SweepDocument = serde_json::from_str(&weir_measure::to_json(&document)).unwrap();
        assert_eq!(read, document);
        let page = data(&document);
        let goodput = &page["metrics"][0]["figures"][0]["parts"][1];
        let measured = document.rows[4].periods[1].all.goodput_bps.unwrap();
        assert_eq!(goodput[4][0], measured.mean);
        assert_eq!(goodput[4][3], measured.distinct);
        assert_eq!(page["rows"][4]["at"], serde_json::json!([0, 1]));
        assert_eq!(page["rows"][4]["scheme"], 1);
    }

    #[test]
    fn all_rows_have_the_same_links_those_that_are_used_somewhere() {
        let mut rows = vec![row("5 Mb/s", "qsccp", &[1e6]), row("10 Mb/s", "qsccp", &[1e6])];
        for link in rows.iter_mut().flat_map(|row| &mut row.periods).flat_map(|period| &mut period.links) {
            link.utilisation.as_mut().unwrap().mean = 0.1;
        }
        rows[1].periods[0].links[2].utilisation.as_mut().unwrap().mean = 0.6;
        let used = rows[1].periods[0].links[2].clone();
        let document = document(&[1], rows);
        for period in document.rows.iter().flat_map(|row| &row.periods) {
            let links: Vec<_> = period.links.iter().map(|link| (&link.from, &link.to)).collect();
            assert_eq!(links, [(&used.from, &used.to)]);
        }
        // The axis got the value that only a row has.
        assert_eq!(document.axes[0].values, ["5 Mb/s", "10 Mb/s"]);
        assert_eq!(document.axes[0].positions, [5e6, 10e6]);
    }

    #[test]
    fn without_runs_axes_or_rows_there_are_tables_and_a_page() {
        for document in [
            document(&[], Vec::new()),
            document(&[], vec![row("5 Mb/s", "qsccp", &[])]),
            SweepDocument::of(SweepDocument::default(), vec![row("", "qsccp", &[1e6])]),
        ] {
            assert!(document.text(None).contains("distinct"));
            assert!(document.html().contains("</html>"));
            assert_eq!(data(&document)["axes"].as_array().unwrap().len(), 1);
        }
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let hostile = "</script><script>alert(1)</script>";
        let mut document = document(&[1], vec![row(hostile, hostile, &[1e6])]);
        document.axes[0].name = hostile.to_owned();
        document.title = hostile.to_owned();
        let page = document.html();
        assert!(!page.contains("<script>alert"));
        // The data, what draws files, and the script.
        assert_eq!(page.matches("</script").count(), 3);
    }

    fn data(document: &SweepDocument) -> serde_json::Value {
        serde_json::from_str(&page::data(document)).unwrap()
    }
}
