//! Which of several schemes is better, by which figure, and by how much: all flows together, over the seeds.

use crate::comparison::{Part, estimate, seeds};
use crate::format::{self, NONE, Quantity};
use crate::matrix::share;
use crate::model::{AllComparison, ComparedScheme, ComparisonDocument, PeriodRow, SeedFigure};
use crate::page::escaped;
use crate::requests;
use crate::summary::{all_flows, fairness, fairness_in_class};
use serde::Serialize;
use std::collections::BTreeSet;
use weir_measure::{Estimate, RequestRow, TrafficFigures};

/// One of the figures.
struct Measure {
    /// For the page's script.
    key: &'static str,
    title: &'static str,
    /// As a column's heading.
    short: &'static str,
    quantity: Quantity,
    is_more_better: bool,
    /// Whether it is a part of a whole. Of these differences count as they are, of others as parts of the better value.
    is_part: bool,
    of: fn(&AllComparison) -> &SeedFigure,
}

/// A difference that does not count.
const ALIKE: f64 = 0.01;

const MEASURES: [Measure; 14] = [
    Measure {
        key: "request-completion",
        title: "Mean completion of requests",
        short: "request completion",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        of: |row| &row.request_mean_ms,
    },
    Measure {
        key: "request-completion-p99",
        title: "99th percentile of the completion of requests",
        short: "request completion p99",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        of: |row| &row.request_p99_ms,
    },
    Measure {
        key: "slowdown",
        title: "Mean slowdown of requests",
        short: "slowdown mean",
        quantity: Quantity::Plain,
        is_more_better: false,
        is_part: false,
        of: |row| &row.slowdown_mean,
    },
    Measure {
        key: "slowdown-p99",
        title: "99th percentile of the slowdown of requests",
        short: "slowdown p99",
        quantity: Quantity::Plain,
        is_more_better: false,
        is_part: false,
        of: |row| &row.slowdown_p99,
    },
    Measure {
        key: "requests-complete",
        title: "Requests complete",
        short: "requests complete",
        quantity: Quantity::Percent,
        is_more_better: true,
        is_part: true,
        of: |row| &row.requests_complete,
    },
    Measure {
        key: "goodput",
        title: "Goodput",
        short: "goodput",
        quantity: Quantity::Rate,
        is_more_better: true,
        is_part: false,
        of: |row| &row.goodput_bps,
    },
    Measure {
        key: "delay",
        title: "Mean delay",
        short: "delay mean",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        of: |row| &row.delay_mean_ms,
    },
    Measure {
        key: "delay-p99",
        title: "99th percentile of the delay",
        short: "delay p99",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        of: |row| &row.delay_p99_ms,
    },
    Measure {
        key: "lost",
        title: "Data lost",
        short: "Data lost",
        quantity: Quantity::Count,
        is_more_better: false,
        is_part: false,
        of: |row| &row.lost,
    },
    Measure {
        key: "share",
        title: "Weighted share of the optimum",
        short: "weighted share of optimum",
        quantity: Quantity::Percent,
        is_more_better: true,
        is_part: true,
        of: |row| &row.share,
    },
    Measure {
        key: "jain",
        title: "Weighted Jain's index",
        short: "weighted Jain",
        quantity: Quantity::Plain,
        is_more_better: true,
        is_part: true,
        of: |row| &row.weighted_jain,
    },
    Measure {
        key: "class-jain",
        title: "Jain's index within a class",
        short: "Jain in class",
        quantity: Quantity::Plain,
        is_more_better: true,
        is_part: true,
        of: |row| &row.jain_in_class,
    },
    Measure {
        key: "completion-mean",
        title: "Mean completion time",
        short: "completion mean",
        quantity: Quantity::Seconds,
        is_more_better: false,
        is_part: false,
        of: |row| &row.completion_mean_s,
    },
    Measure {
        key: "completion",
        title: "Completion of the last flow",
        short: "last",
        quantity: Quantity::Seconds,
        is_more_better: false,
        is_part: false,
        of: |row| &row.completion_s,
    },
];

/// What the figures are, in words.
const IN_WORDS: &str = "Figures are of all flows together: the sum of goodputs, the mean delay over the classes weighted by their \
     goodputs, the 99th percentile of the class with the largest one, and the sum of lost Data. Weighted figures are by the optimum, \
     which divides links among classes by weights. The weighted share is the sum of the flows' goodputs, each up to that in the \
     optimum, over the sum of the goodputs in the optimum. The weighted Jain's index is over each flow's goodput as a part of that in \
     the optimum. Jain's index within a class is without weights. The slowdown of a request is its completion over the time that it would \
     take alone; completion and slowdown are of the requests that were complete at the end, and their 99th percentile is that of the group \
     with the largest one. Flows that are all sources of random requests have no figures of goodput and fairness. As good as the best is a figure within 1 % of it (within 0.01, if it \
     is a share or an index), and one whose 95 % interval meets that of the best. Different outcomes are those of the seeds that \
     differ in any figure: with fewer of them than seeds, intervals say less.";

/// The figures of a scheme, with a run a seed.
pub(crate) fn row(scheme: &str, runs: &[Part<'_>]) -> AllComparison {
    let requests: Vec<Option<RequestRow>> = runs.iter().map(requests::together).collect();
    let request = |of: fn(&RequestRow) -> Option<f64>| {
        over_seeds(requests.iter().map(|row| of(row.as_ref()?)).collect())
    };
    let figure = |of: fn(&Part<'_>) -> Option<f64>| over_seeds(runs.iter().map(of).collect());
    let totals: Vec<TrafficFigures> = runs.iter().map(all_flows).collect();
    let total = |of: fn(&TrafficFigures) -> Option<f64>| over_seeds(totals.iter().map(of).collect());
    AllComparison {
        scheme: scheme.to_owned(),
        request_mean_ms: request(|row| row.completion_ms.mean),
        request_p99_ms: request(|row| row.completion_ms.p99),
        slowdown_mean: request(|row| row.slowdown.mean),
        slowdown_p99: request(|row| row.slowdown.p99),
        requests_complete: request(requests::complete),
        goodput_bps: figure(|part| (!part.is_random()).then(|| all_flows(part).goodput_bps)),
        delay_mean_ms: total(|all| all.delay_ms.mean),
        delay_p99_ms: total(|all| all.delay_ms.p99),
        lost: total(|all| Some(all.lost as f64)),
        share: figure(share),
        weighted_jain: figure(fairness),
        jain_in_class: figure(fairness_in_class),
        completion_mean_s: total(|all| all.completion_mean_s),
        completion_s: total(|all| all.completion_s),
    }
}

fn over_seeds(values: Vec<Option<f64>>) -> SeedFigure {
    SeedFigure { measured: estimate(values.iter().copied()), values }
}

impl AllComparison {
    /// The number of seeds whose runs differ in any figure.
    fn outcomes(&self) -> usize {
        let seeds = self.goodput_bps.values.len();
        let of_seed = |seed: usize| -> Vec<Option<u64>> {
            MEASURES.iter().map(|one| Some((*(one.of)(self).values.get(seed)?)?.to_bits())).collect()
        };
        (0..seeds).map(of_seed).collect::<BTreeSet<_>>().len()
    }
}

impl Measure {
    /// The schemes that have this figure, the best first.
    fn ranked<'a>(&self, rows: &'a [AllComparison]) -> Vec<(&'a AllComparison, Estimate)> {
        let mut known: Vec<_> = rows.iter().filter_map(|row| Some((row, (self.of)(row).measured?))).collect();
        let sign = if self.is_more_better { -1.0 } else { 1.0 };
        known.sort_by(|a, b| (sign * a.1.mean).total_cmp(&(sign * b.1.mean)));
        known
    }

    /// Whether a figure is as good as the best one.
    fn is_as_good(&self, one: &Estimate, best: &Estimate) -> bool {
        let apart = (one.mean - best.mean).abs();
        let unit = if self.is_part { 1.0 } else { best.mean.abs() };
        let half = |of: &Estimate| of.ci95.unwrap_or(0.0);
        apart <= ALIKE * unit || apart <= half(one) + half(best)
    }

    /// A value beside the best one: `4.9 Mb/s, 48 % less`.
    fn beside(&self, value: f64, best: f64) -> String {
        let shown = self.quantity.format(value);
        let more = if value > best { "more" } else { "less" };
        match (value - best).abs() / best.abs() {
            part if self.is_part || !part.is_finite() => shown,
            part if part >= 1.0 && value > best => format!("{shown}, {:.1} times as much", 1.0 + part),
            part => format!("{shown}, {:.*} % {more}", usize::from(part < 0.1), 100.0 * part),
        }
    }

    /// Which schemes are better by this figure, and by how much; `None` where fewer than two have it.
    fn sentence(&self, rows: &[AllComparison]) -> Option<String> {
        let ranked = self.ranked(rows);
        let ((first, best), [.., (last, worst)]) = (ranked.first()?, &ranked[1..]) else { return None };
        let title = self.title;
        let (good, behind): (Vec<_>, Vec<_>) = ranked.iter().partition(|(_, one)| self.is_as_good(one, best));
        let format = |value| self.quantity.format(value);
        let Some((next, second)) = behind.first() else {
            let range = match (format(best.mean), format(worst.mean)) {
                (same, other) if same == other => same,
                (one, other) => format!("{one} to {other}"),
            };
            return Some(format!("{title}: no difference that the seeds show, {range}."));
        };
        let as_good: Vec<&str> = good.iter().skip(1).map(|(row, _)| row.scheme.as_str()).collect();
        let as_good = match as_good.len() {
            0 => String::new(),
            1..=4 => format!(", and as good {}", as_good.join(", ")),
            many => format!(", and as good {many} others"),
        };
        let mut text = format!("{title}: best {}, {}{as_good}", first.scheme, format(best.mean));
        text += &format!("; then {} ({})", next.scheme, self.beside(second.mean, best.mean));
        if behind.len() > 1 {
            text += &format!("; last {} ({})", last.scheme, self.beside(worst.mean, best.mean));
        }
        Some(text + ".")
    }
}

/// Those that some scheme has.
fn known(rows: &[AllComparison]) -> impl Iterator<Item = &'static Measure> {
    MEASURES.iter().filter(|measure| rows.iter().any(|row| (measure.of)(row).measured.is_some()))
}

/// By how many figures each scheme is the best, or as good, and of how many.
fn times_best(rows: &[AllComparison]) -> (Vec<usize>, usize) {
    let mut counts = vec![0; rows.len()];
    let measures: Vec<_> = known(rows).collect();
    for measure in &measures {
        let ranked = measure.ranked(rows);
        for (count, row) in counts.iter_mut().zip(rows) {
            let own = (measure.of)(row).measured;
            *count += usize::from(own.is_some_and(|own| measure.is_as_good(&own, &ranked[0].1)));
        }
    }
    (counts, measures.len())
}

/// Which is better, by which figure, and by how much; nothing with one scheme.
pub(crate) fn answer(rows: &[AllComparison]) -> Vec<String> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let (counts, all) = times_best(rows);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
    let named: Vec<String> =
        order.iter().take(5).map(|&at| format!("{} in {}", rows[at].scheme, counts[at])).collect();
    let more = rows.len().saturating_sub(5);
    let more = if more > 0 { format!(", and {more} others in fewer or as many") } else { String::new() };
    let first = format!("Best, or as good, of {all} figures: {}{more}.", named.join(", "));
    [first].into_iter().chain(known(rows).filter_map(|measure| measure.sentence(rows))).collect()
}

// ---- As the page's lead

impl ComparisonDocument {
    /// The part of the runs that the page shows first: the last measuring window, or the whole run.
    pub(crate) fn first_period(&self) -> usize {
        self.periods.len().saturating_sub(1)
    }

    /// The name of a part of the runs.
    pub(crate) fn period_title(&self, at: usize) -> String {
        match self.periods.get(at) {
            Some(period) if at > 0 => format::period(period.from_s, period.to_s),
            _ => "Whole run".to_owned(),
        }
    }

    /// Which scheme is better in the part of the runs that is shown first.
    pub(crate) fn answer(&self) -> Vec<String> {
        let at = self.first_period();
        let mut sentences = self.periods.get(at).map_or_else(Vec::new, |period| answer(&period.all));
        if let Some(first) = sentences.first_mut() {
            *first = format!("{}: {}", self.period_title(at), first.replacen('B', "b", 1));
        }
        sentences
    }

    /// For each part of the runs the answer and the matrix of schemes by figures; the part that is shown first leads.
    pub(crate) fn contest_html(&self) -> String {
        if self.periods.iter().all(|period| period.all.is_empty()) {
            return String::new();
        }
        let title = if self.schemes.len() > 1 { "Which scheme is better" } else { "What the scheme does" };
        let mut body = format!(
            "<section id=\"contest\"><div class=\"heading\"><h2>{title}</h2><span class=\"tools\" id=\"periods\"></span></div>\n"
        );
        let first = self.first_period();
        for at in std::iter::once(first).chain((0..self.periods.len()).filter(|&at| at != first)) {
            body += &self.period_html(at);
        }
        let star = if self.schemes.len() > 1 { "★ marks the best, or as good. " } else { "" };
        body += &format!(
            "<details class=\"said\"><summary>{star}What the figures are</summary><p>{} {}</p></details></section>\n",
            escaped(IN_WORDS),
            escaped(crate::comparison::INTERVALS)
        );
        body
    }

    fn period_html(&self, at: usize) -> String {
        let (title, rows) = (escaped(&self.period_title(at)), &self.periods[at].all);
        let items = answer(rows).iter().map(|one| format!("<li>{}</li>", escaped(one))).collect::<String>();
        let answer =
            if items.is_empty() { String::new() } else { format!("<ul class=\"answer\">{items}</ul>\n") };
        let (counts, all) = times_best(rows);
        let measures: Vec<&Measure> = known(rows).collect();
        let best: Vec<Estimate> = measures.iter().map(|measure| measure.ranked(rows)[0].1).collect();
        let mut heads = String::from("<th scope=\"col\">scheme</th>");
        let is_contest = rows.len() > 1;
        if is_contest {
            heads += "<th scope=\"col\" class=\"number\">best in</th>";
        }
        for measure in &measures {
            heads += &format!("<th scope=\"col\" class=\"number\">{}</th>", escaped(measure.short));
        }
        let seeds = self.seeds.len();
        if seeds > 1 {
            heads += "<th scope=\"col\" class=\"number\">different outcomes</th>";
        }
        let mut body = String::new();
        for (place, row) in rows.iter().enumerate() {
            let scheme = self.schemes.get(place).map_or_else(|| row.scheme.clone(), ComparedScheme::name);
            body += &format!("<tr class=\"first\"><th scope=\"row\">{}</th>", escaped(&scheme));
            if is_contest {
                body += &format!("<td class=\"number\">{} of {all}</td>", counts[place]);
            }
            for (measure, best) in measures.iter().zip(&best) {
                let own = (measure.of)(row).measured;
                let text =
                    own.map_or_else(|| NONE.to_owned(), |own| measure.quantity.over_seeds(Some(&own), seeds));
                let is_best = is_contest && own.is_some_and(|own| measure.is_as_good(&own, best));
                let (class, star) = if is_best { (" best", "★ ") } else { ("", "") };
                body += &format!("<td class=\"number{class}\">{star}{}</td>", escaped(&text));
            }
            if seeds > 1 {
                body += &format!("<td class=\"number\">{} of {seeds} seeds</td>", row.outcomes());
            }
            body += "</tr>\n";
        }
        format!(
            "<div class=\"period\" data-title=\"{title}\"><h3 class=\"kind\">{title}, {}</h3>\n{answer}\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Schemes by figures, {title}\">\
             <table class=\"figures contest\" aria-label=\"Schemes by figures, {title}\"><thead><tr>{heads}</tr></thead>\
             <tbody>{body}</tbody></table></div></div>\n",
            match &self.seeds[..] {
                [seed] => format!("seed {seed}"),
                several => format!("seeds {}", self::seeds(several)),
            }
        )
    }
}

// ---- For the page's plots

/// The figures of all schemes over a part of the runs.
#[derive(Serialize)]
pub(crate) struct PeriodData {
    title: String,
    figures: Vec<FigureData>,
}

/// A figure, for each scheme.
#[derive(Serialize)]
struct FigureData {
    key: &'static str,
    title: &'static str,
    /// As [`Quantity`] names it for the script: `rate`, `ms`, `s`, `count`, `percent` or `plain`.
    quantity: &'static str,
    is_more_better: bool,
    /// For each scheme.
    of: Vec<SeedFigure>,
}

/// For the plots: each part of the runs, in the order of the document.
pub(crate) fn data(document: &ComparisonDocument) -> Vec<PeriodData> {
    let figure = |measure: &Measure, period: &PeriodRow| FigureData {
        key: measure.key,
        title: measure.title,
        quantity: match measure.quantity {
            Quantity::Rate => "rate",
            Quantity::Millis => "ms",
            Quantity::Seconds => "s",
            Quantity::Count => "count",
            Quantity::Percent => "percent",
            Quantity::Plain => "plain",
        },
        is_more_better: measure.is_more_better,
        of: period.all.iter().map(|row| (measure.of)(row).clone()).collect(),
    };
    let of_period = |(at, period): (usize, &PeriodRow)| PeriodData {
        title: document.period_title(at),
        figures: known(&period.all).map(|measure| figure(measure, period)).collect(),
    };
    document.periods.iter().enumerate().map(of_period).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, samples};

    fn rows(goodputs: &[(&str, &[f64])]) -> Vec<AllComparison> {
        let row = |(scheme, values): &(&str, &[f64])| AllComparison {
            scheme: (*scheme).to_owned(),
            goodput_bps: SeedFigure {
                measured: Estimate::of(values),
                values: values.iter().copied().map(Some).collect(),
            },
            ..AllComparison::default()
        };
        goodputs.iter().map(row).collect()
    }

    #[test]
    fn the_answer_says_which_is_better_and_by_how_much() {
        let rows = rows(&[("a", &[5e6, 5e6]), ("b", &[10e6, 10.01e6]), ("c", &[9.2e6, 9.2e6])]);
        assert_eq!(
            answer(&rows),
            [
                "Best, or as good, of 1 figures: b in 1, a in 0, c in 0.",
                "Goodput: best b, 10.01 Mb/s; then c (9.2 Mb/s, 8.0 % less); last a (5 Mb/s, 50 % less).",
            ]
        );
    }

    #[test]
    fn schemes_whose_intervals_meet_are_as_good_and_the_answer_says_so() {
        let rows = rows(&[("a", &[9e6, 11e6]), ("b", &[8e6, 11e6])]);
        assert_eq!(answer(&rows)[1], "Goodput: no difference that the seeds show, 10 Mb/s to 9.5 Mb/s.");
        assert_eq!(times_best(&rows), (vec![1, 1], 1));
        assert_eq!(answer(&rows[..1]), Vec::<String>::new());
    }

    #[test]
    fn the_page_leads_with_the_last_window_and_counts_different_outcomes() {
        let report = sample::dumbbell(8, 50);
        let mut runs = samples::runs(&report);
        let same = runs[1][0].clone();
        runs[1].iter_mut().for_each(|run| *run = same.clone());
        let document = ComparisonDocument::of("title", &runs);
        let page = document.html(&[]);
        let titles: Vec<&str> =
            page.split("data-title=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(titles.len(), document.periods.len());
        assert_eq!(titles[0], document.period_title(document.periods.len() - 1));
        assert!(page.contains("3 of 3 seeds") && page.contains("1 of 3 seeds"));
        assert!(page.contains("weighted Jain") && page.contains("★ "));
    }
}
