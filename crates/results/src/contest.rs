//! Which of several schemes is better, by which figure, and by how much: all flows together, over the seeds.

use crate::comparison::{KNOWS_NO_CLASSES, NO_CLASSES, Part, estimate, seeds};
use crate::format::{self, Quantity};
use crate::matrix::share;
use crate::model::{AllComparison, ComparedScheme, ComparisonDocument, PeriodRow, SeedFigure};
use crate::page::escaped;
use crate::requests;
use crate::standing::{Measured, Standing, UNCLEAR};
use crate::summary::{all_flows, fairness, fairness_in_class};
use serde::Serialize;
use std::collections::BTreeSet;
use weir_measure::{IN_LAB, RequestRow, TrafficFigures};

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
    /// Whether it is by the optimum, which divides links among classes by weights.
    is_weighted: bool,
    /// Whether the first sentence counts it: of the figures of one quantity it counts one.
    is_counted: bool,
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
        is_weighted: false,
        is_counted: false,
        of: |row| &row.request_mean_ms,
    },
    Measure {
        key: "request-completion-p99",
        title: "99th percentile of the completion of requests",
        short: "request completion p99",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: false,
        of: |row| &row.request_p99_ms,
    },
    Measure {
        key: "slowdown",
        title: "Mean slowdown of requests",
        short: "slowdown mean",
        quantity: Quantity::Plain,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.slowdown_mean,
    },
    Measure {
        key: "slowdown-p99",
        title: "99th percentile of the slowdown of requests",
        short: "slowdown p99",
        quantity: Quantity::Plain,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: false,
        of: |row| &row.slowdown_p99,
    },
    Measure {
        key: "requests-complete",
        title: "Requests complete",
        short: "requests complete",
        quantity: Quantity::Percent,
        is_more_better: true,
        is_part: true,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.requests_complete,
    },
    Measure {
        key: "goodput",
        title: "Goodput",
        short: "goodput",
        quantity: Quantity::Rate,
        is_more_better: true,
        is_part: false,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.goodput_bps,
    },
    Measure {
        key: "delay",
        title: "Mean delay",
        short: "delay mean",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.delay_mean_ms,
    },
    Measure {
        key: "delay-p99",
        title: "99th percentile of the delay",
        short: "delay p99",
        quantity: Quantity::Millis,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: false,
        of: |row| &row.delay_p99_ms,
    },
    Measure {
        key: "lost",
        title: "Data lost",
        short: "Data lost",
        quantity: Quantity::Count,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.lost,
    },
    Measure {
        key: "share",
        title: "Weighted share of the optimum",
        short: "weighted share of optimum",
        quantity: Quantity::Percent,
        is_more_better: true,
        is_part: true,
        is_weighted: true,
        is_counted: true,
        of: |row| &row.share,
    },
    Measure {
        key: "jain",
        title: "Weighted Jain's index",
        short: "weighted Jain",
        quantity: Quantity::Plain,
        is_more_better: true,
        is_part: true,
        is_weighted: true,
        is_counted: true,
        of: |row| &row.weighted_jain,
    },
    Measure {
        key: "class-jain",
        title: "Jain's index within a class",
        short: "Jain in class",
        quantity: Quantity::Plain,
        is_more_better: true,
        is_part: true,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.jain_in_class,
    },
    Measure {
        key: "completion-mean",
        title: "Mean completion time",
        short: "completion mean",
        quantity: Quantity::Seconds,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: true,
        of: |row| &row.completion_mean_s,
    },
    Measure {
        key: "completion",
        title: "Completion of the last flow",
        short: "last",
        quantity: Quantity::Seconds,
        is_more_better: false,
        is_part: false,
        is_weighted: false,
        is_counted: false,
        of: |row| &row.completion_s,
    },
];

/// The mark of the best, or as good.
const GOOD: &str = "★ ";

/// What the figures are, in words.
const IN_WORDS: &str = "Figures are of all flows together: the sum of goodputs, the mean delay over the classes weighted by their \
     goodputs, the 99th percentile of the class with the largest one, and the sum of lost Data. Weighted figures are by the optimum, \
     which divides links among classes by weights. The weighted share is the sum of the flows' goodputs, each up to that in the \
     optimum, over the sum of the goodputs in the optimum. The weighted Jain's index is over each flow's goodput as a part of that in \
     the optimum. Jain's index within a class is without weights. The slowdown of a request is its completion over the time that it would \
     take alone; completion and slowdown are of the requests that were complete at the end, and their 99th percentile is that of the group \
     with the largest one. Flows that are all sources of random requests have no figures of goodput and fairness. As good as the best is a figure if the difference, and \
     the 95 % interval of the difference, are at most 1 % (0.01 of a share or an index). If the interval includes 0 and is wider, the seeds do \
     not distinguish the two. If no scheme is behind by a figure, none is the best by it. The first sentence counts one figure of each quantity, \
     the mean: not the percentiles, the last flow or, beside the slowdown, the completion of requests. Differences are taken seed by seed, since runs with one seed draw the same numbers; one interval in twenty \
     misses by chance. Different outcomes are those of the seeds that \
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

/// Where runs are made. Schemes compete only in the same world.
#[derive(Clone, Copy, PartialEq, Eq)]
enum World {
    Simulator,
    Lab,
}

const WORLDS: [World; 2] = [World::Simulator, World::Lab];

impl AllComparison {
    fn world(&self) -> World {
        if self.scheme.ends_with(IN_LAB) { World::Lab } else { World::Simulator }
    }

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
    /// The schemes in a world that have this figure, as places in the rows, the best first.
    fn ranked<'a>(&self, rows: &'a [AllComparison], world: World) -> Vec<(usize, Measured<'a>)> {
        let measured = |(at, row): (usize, &'a AllComparison)| Some((at, (self.of)(row).measured()?));
        let of_world = rows.iter().enumerate().filter(|(_, row)| row.world() == world);
        let mut known: Vec<_> = of_world.filter_map(measured).collect();
        let sign = if self.is_more_better { -1.0 } else { 1.0 };
        known.sort_by(|a, b| (sign * a.1.mean.mean).total_cmp(&(sign * b.1.mean.mean)));
        known
    }

    /// How the figure of each row stands to the best one in its world; `None` for all of a world if no scheme is behind there:
    /// then none is better.
    fn standings(&self, rows: &[AllComparison]) -> Vec<Option<Standing>> {
        let mut standings = vec![None; rows.len()];
        for world in WORLDS {
            let own = self.beside_best(rows, world);
            if own.contains(&Some(Standing::Behind)) {
                standings.iter_mut().zip(own).for_each(|(all, own)| *all = all.or(own));
            }
        }
        standings
    }

    /// How the figure of each row in a world differs from the best one there; `None` without one.
    fn beside_best(&self, rows: &[AllComparison], world: World) -> Vec<Option<Standing>> {
        let ranked = self.ranked(rows, world);
        let mut standings = vec![None; rows.len()];
        for (at, one) in &ranked {
            let (_, best) = &ranked[0];
            let unit = if self.is_part { 1.0 } else { best.mean.mean.abs() };
            standings[*at] = Some(one.beside(best, ALIKE * unit));
        }
        standings
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
}

/// Those that some scheme has.
fn known(rows: &[AllComparison]) -> impl Iterator<Item = &'static Measure> {
    MEASURES.iter().filter(|measure| rows.iter().any(|row| (measure.of)(row).measured.is_some()))
}

/// The schemes over a part of the runs.
struct Contest<'a> {
    rows: &'a [AllComparison],
    /// The name of each row's scheme, marked if the scheme treats all classes alike and there are several.
    names: Vec<String>,
    seeds: usize,
}

impl Contest<'_> {
    /// Some schemes by name, each in the form that `named` gives it.
    fn listed(&self, of: &[(usize, f64)], named: impl Fn(&str, f64) -> String) -> String {
        match of.len() {
            0..=4 => {
                of.iter().map(|(at, mean)| named(&self.names[*at], *mean)).collect::<Vec<_>>().join(", ")
            }
            many => format!("{many} others"),
        }
    }

    /// Which schemes in a world are better by a figure, and by how much; `None` where fewer than two have it.
    fn sentence(&self, measure: &Measure, world: World) -> Option<String> {
        let ranked = measure.ranked(self.rows, world);
        let ((first, best), [.., (last, worst)]) = (ranked.first()?, &ranked[1..]) else { return None };
        let standings = measure.beside_best(self.rows, world);
        let with = |standing: Standing| -> Vec<(usize, f64)> {
            let of = ranked.iter().skip(1).filter(|(at, _)| standings[*at] == Some(standing));
            of.map(|(at, one)| (*at, one.mean.mean)).collect()
        };
        let (good, unclear, behind) =
            (with(Standing::AsGood), with(Standing::Unclear), with(Standing::Behind));
        let title = format!("{}{}", measure.title, self.in_world(world));
        let format = |value| measure.quantity.format(value);
        let best = best.mean.mean;
        let Some((next, second)) = behind.first() else {
            let (one, other) = (format(best), format(worst.mean.mean));
            let ends = format!("{} {one} to {} {other}", self.names[*first], self.names[*last]);
            return Some(match unclear.is_empty() {
                true if one == other => format!("{title}: no difference, {one}."),
                true => format!("{title}: no difference that counts, {ends}."),
                false => format!("{title}: no difference that {} seeds show, {ends}.", self.seeds),
            });
        };
        let mut text = format!("{title}: best {}, {}", self.names[*first], format(best));
        if !good.is_empty() {
            text += &format!(", and as good {}", self.listed(&good, |name, _| name.to_owned()));
        }
        if !unclear.is_empty() {
            let names = self.listed(&unclear, |name, mean| format!("{name} ({})", format(mean)));
            text += &format!("; not distinguishable from it with {} seeds {names}", self.seeds);
        }
        text += &format!("; then {} ({})", self.names[*next], measure.beside(*second, best));
        if let [_, .., (last, worst)] = &behind[..] {
            text += &format!("; last {} ({})", self.names[*last], measure.beside(*worst, best));
        }
        Some(text + ".")
    }

    /// The number of schemes in a world.
    fn schemes(&self, world: World) -> usize {
        self.rows.iter().filter(|row| row.world() == world).count()
    }

    /// The world in words, if there are both.
    fn in_world(&self, world: World) -> &'static str {
        match world {
            _ if WORLDS.iter().any(|world| self.schemes(*world) == 0) => "",
            World::Simulator => " in the simulator",
            World::Lab => " in the lab",
        }
    }

    /// How far the lab is from the simulator: a sentence for each scheme that ran in both.
    fn apart(&self) -> impl Iterator<Item = String> {
        let of_row = |(at, lab): (usize, &AllComparison)| {
            let name = lab.scheme.strip_suffix(IN_LAB)?;
            let simulator = self.rows.iter().find(|row| row.scheme == name)?;
            let beside = |measure: &Measure| {
                let mean = |row| Some((measure.of)(row).measured?.mean);
                let title = measure.title.to_lowercase();
                Some(format!("{title} {}", measure.beside(mean(lab)?, mean(simulator)?)))
            };
            let both = MEASURES.iter().filter(|one| matches!(one.key, "goodput" | "delay"));
            let figures: Vec<String> = both.filter_map(beside).collect();
            let said = || format!("{} beside the simulator: {}.", self.names[at], figures.join("; "));
            (!figures.is_empty()).then(said)
        };
        self.rows.iter().enumerate().filter_map(of_row)
    }

    /// The figures that are counted in a world: those that several schemes have. Weighted ones are not counted if some scheme knows no classes.
    fn counting(&self, world: World) -> impl Iterator<Item = &'static Measure> {
        let has_weights = !self.names.iter().any(|name| name.ends_with(NO_CLASSES));
        known(self.rows).filter(move |measure| {
            measure.is_counted
                && (has_weights || !measure.is_weighted)
                && measure.ranked(self.rows, world).len() > 1
        })
    }

    /// The number of counted figures by which each scheme has this standing.
    fn count(&self, standing: Standing) -> Vec<usize> {
        let mut counts = vec![0; self.rows.len()];
        for world in WORLDS {
            for measure in self.counting(world) {
                let standings = measure.standings(self.rows).into_iter().zip(self.rows);
                for (count, (own, row)) in counts.iter_mut().zip(standings) {
                    *count += usize::from(row.world() == world && own == Some(standing));
                }
            }
        }
        counts
    }

    /// `a in 5, b in 3`: counts in a world of at least so many, the highest first.
    fn counted(&self, world: World, counts: &[usize], least: usize) -> String {
        let is_named = |at: &usize| counts[*at] >= least && self.rows[*at].world() == world;
        let mut order: Vec<usize> = (0..counts.len()).filter(is_named).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
        let named = order.iter().take(NAMED).map(|&at| format!("{} in {}", self.names[at], counts[at]));
        let more = order.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} others in fewer or as many") } else { String::new() };
        format!("{}{more}", named.collect::<Vec<_>>().join(", "))
    }

    /// What the seeds cannot tell, if all of them give the same figures in a world.
    fn of_chance(&self, world: World) -> Option<String> {
        let is_one = self.rows.iter().filter(|row| row.world() == world).all(|row| row.outcomes() == 1);
        is_one.then(|| match self.seeds {
            1 => "One seed: these figures do not say which differences are chance.".to_owned(),
            seeds => format!(
                "All {seeds} seeds give the same figures{}: they do not say which differences are chance.",
                self.in_world(world)
            ),
        })
    }

    /// Which is better in each world, by which figure, and by how much; then how far the lab is from the simulator.
    fn answer(&self) -> Vec<String> {
        let is_contest = WORLDS.iter().any(|world| self.schemes(*world) > 1);
        let note = is_contest && self.names.iter().any(|name| name.ends_with(NO_CLASSES));
        let note = note.then(|| format!("{KNOWS_NO_CLASSES} They are not counted."));
        let of_worlds = WORLDS.iter().flat_map(|world| self.answer_in(*world));
        of_worlds.chain(self.apart()).chain(note).collect()
    }

    /// Which is better in a world; nothing with one scheme.
    fn answer_in(&self, world: World) -> Vec<String> {
        if self.schemes(world) < 2 {
            return Vec::new();
        }
        let differs =
            |measure: &&Measure| measure.beside_best(self.rows, world).contains(&Some(Standing::Behind));
        let (all, different) = (self.counting(world).count(), self.counting(world).filter(differs).count());
        let figures = if all == 1 { "figure" } else { "figures" };
        let of = format!("Of {all} counted {figures}{}", self.in_world(world));
        let mut first = match different {
            0 => format!("{of} none shows a difference."),
            1 => format!("{of} 1 shows a difference."),
            several => format!("{of} {several} show a difference."),
        };
        if different > 0 {
            first +=
                &format!(" Best, or as good: {}.", self.counted(world, &self.count(Standing::AsGood), 0));
        }
        let unclear = self.counted(world, &self.count(Standing::Unclear), 1);
        if !unclear.is_empty() {
            first += &format!(" Not distinguishable from the best with {} seeds: {unclear}.", self.seeds);
        }
        let sentences = known(self.rows).filter_map(|measure| self.sentence(measure, world));
        [first].into_iter().chain(self.of_chance(world)).chain(sentences).collect()
    }
}

/// Largest number of schemes in a sentence.
const NAMED: usize = 5;

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

    fn contest(&self, at: usize) -> Option<Contest<'_>> {
        let rows = &self.periods.get(at)?.all;
        let name = |(place, row): (usize, &AllComparison)| {
            let name = self.schemes.get(place).map_or_else(|| row.scheme.clone(), ComparedScheme::name);
            if self.is_marked(place) { format!("{name}{NO_CLASSES}") } else { name }
        };
        let names = rows.iter().enumerate().map(name).collect();
        Some(Contest { rows, names, seeds: self.seeds.len() })
    }

    /// Which scheme is better in the part of the runs that is shown first.
    pub(crate) fn answer(&self) -> Vec<String> {
        let at = self.first_period();
        let mut sentences = self.contest(at).map_or_else(Vec::new, |contest| contest.answer());
        if let Some(first) = sentences.first_mut() {
            *first = format!("{}: {}", self.period_title(at), first.replacen('O', "o", 1));
        }
        sentences
    }

    /// For each part of the runs the answer and the matrix of schemes by figures; the part that is shown first leads.
    pub(crate) fn contest_html(&self) -> String {
        if self.periods.iter().all(|period| period.all.is_empty()) {
            return String::new();
        }
        let title = match (self.schemes.len(), self.seeds.len()) {
            (0 | 1, _) => "What the scheme does",
            (_, 0 | 1) => "The schemes side by side",
            _ => "Which scheme is better",
        };
        let mut body = format!(
            "<section id=\"contest\"><div class=\"heading\"><h2>{title}</h2><span class=\"tools\" id=\"periods\"></span></div>\n"
        );
        let first = self.first_period();
        for at in std::iter::once(first).chain((0..self.periods.len()).filter(|&at| at != first)) {
            body += &self.period_html(at);
        }
        let unclear = match self.seeds.len() {
            0 | 1 => String::new(),
            seeds => format!(", {UNCLEAR}what {seeds} seeds do not distinguish from it"),
        };
        let star = if self.schemes.len() > 1 {
            format!("{GOOD}marks the best, or as good{unclear}. ")
        } else {
            String::new()
        };
        body += &format!(
            "<details class=\"said\"><summary>{star}What the figures are</summary><p>{} {}</p></details></section>\n",
            escaped(IN_WORDS),
            escaped(crate::comparison::INTERVALS)
        );
        body
    }

    fn period_html(&self, at: usize) -> String {
        let Some(contest) = self.contest(at) else { return String::new() };
        let (title, rows) = (escaped(&self.period_title(at)), contest.rows);
        let items =
            contest.answer().iter().map(|one| format!("<li>{}</li>", escaped(one))).collect::<String>();
        let answer =
            if items.is_empty() { String::new() } else { format!("<ul class=\"answer\">{items}</ul>\n") };
        let (good, unclear) = (contest.count(Standing::AsGood), contest.count(Standing::Unclear));
        let measures: Vec<&Measure> = known(rows).collect();
        let standings: Vec<_> = measures.iter().map(|measure| measure.standings(rows)).collect();
        let mut heads = String::from("<th scope=\"col\">scheme</th>");
        let is_contest = WORLDS.iter().any(|world| contest.schemes(*world) > 1);
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
            body += &format!("<tr class=\"first\"><th scope=\"row\">{}</th>", escaped(&contest.names[place]));
            if is_contest {
                let more = match unclear[place] {
                    0 => String::new(),
                    count => format!(", {UNCLEAR}{count}"),
                };
                let counted = contest.counting(row.world()).count();
                body += &format!("<td class=\"number\">{} of {counted}{more}</td>", good[place]);
            }
            for (measure, standings) in measures.iter().zip(&standings) {
                let text = measure.quantity.over_seeds((measure.of)(row).measured.as_ref(), seeds);
                let (class, mark) = match standings[place] {
                    Some(Standing::AsGood) => (" best", GOOD),
                    Some(Standing::Unclear) => ("", UNCLEAR),
                    _ => ("", ""),
                };
                body += &format!("<td class=\"number{class}\">{mark}{}</td>", escaped(&text));
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
    /// The names of the schemes, with their marks.
    schemes: Vec<String>,
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
    /// Whether each scheme is the best, or as good; `false` for all if no scheme is behind.
    is_best: Vec<bool>,
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
        is_best: {
            let is_good = |one| one == Some(Standing::AsGood);
            measure.standings(&period.all).into_iter().map(is_good).collect()
        },
    };
    let of_period = |(at, period): (usize, &PeriodRow)| PeriodData {
        title: document.period_title(at),
        schemes: document.contest(at).map_or_else(Vec::new, |contest| contest.names),
        figures: known(&period.all).map(|measure| figure(measure, period)).collect(),
    };
    document.periods.iter().enumerate().map(of_period).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, samples};
    use weir_measure::Estimate;

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

    fn answer(goodputs: &[(&str, &[f64])]) -> Vec<String> {
        let names = goodputs.iter().map(|(scheme, _)| (*scheme).to_owned()).collect();
        Contest { rows: &rows(goodputs), names, seeds: goodputs[0].1.len() }.answer()
    }

    #[test]
    fn the_answer_says_which_is_better_and_by_how_much() {
        let said = answer(&[("a", &[5e6, 5e6]), ("b", &[10e6, 10.01e6]), ("c", &[9.2e6, 9.2e6])]);
        assert_eq!(
            said,
            [
                "Of 1 counted figure 1 shows a difference. Best, or as good: b in 1, a in 0, c in 0.",
                "Goodput: best b, 10.01 Mb/s; then c (9.2 Mb/s, 8.0 % less); last a (5 Mb/s, 50 % less).",
            ]
        );
        assert_eq!(answer(&[("a", &[9e6, 11e6])]), Vec::<String>::new());
    }

    #[test]
    fn a_noisy_scheme_is_not_as_good_but_not_distinguishable() {
        let said = answer(&[("a", &[9e6, 11e6]), ("b", &[8e6, 11e6])]);
        assert_eq!(
            said,
            [
                "Of 1 counted figure none shows a difference.",
                "Goodput: no difference that 2 seeds show, a 10 Mb/s to b 9.5 Mb/s.",
            ]
        );
        let said = answer(&[("a", &[10e6, 10.01e6]), ("b", &[4e6, 14e6]), ("c", &[5e6, 5e6])]);
        assert_eq!(
            said[0],
            "Of 1 counted figure 1 shows a difference. Best, or as good: a in 1, b in 0, c in 0. Not distinguishable from the best with 2 seeds: b in 1."
        );
        assert_eq!(
            said[1],
            "Goodput: best a, 10.01 Mb/s; not distinguishable from it with 2 seeds b (9 Mb/s); then c (5 Mb/s, 50 % less)."
        );
    }

    #[test]
    fn a_figure_without_a_shown_difference_counts_for_no_scheme() {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        runs[1] = runs[0].clone();
        runs[1].iter_mut().for_each(|run| run.scheme = "fixed".to_owned());
        let document = ComparisonDocument::of("title", &runs);
        assert!(document.answer()[0].ends_with(" counted figures none shows a difference."));
        let page = document.contest_html();
        assert!(!page.contains("class=\"number best\"") && page.contains(">0 of "), "{page}");
        assert!(
            data(&document).iter().flat_map(|period| &period.figures).all(|one| !one.is_best.contains(&true))
        );
    }

    #[test]
    fn schemes_compete_in_each_world_and_the_lab_is_compared_with_the_simulator() {
        let all =
            [("a", &[9e6, 9e6][..]), ("a (lab)", &[8e6, 8e6]), ("b", &[4e6, 4e6]), ("b (lab)", &[8e6, 8e6])];
        let said = answer(&all);
        assert_eq!(
            said.iter().filter(|one| !one.contains("chance")).collect::<Vec<_>>(),
            [
                "Of 1 counted figure in the simulator 1 shows a difference. Best, or as good: a in 1, b in 0.",
                "Goodput in the simulator: best a, 9 Mb/s; then b (4 Mb/s, 56 % less).",
                "Of 1 counted figure in the lab none shows a difference.",
                "Goodput in the lab: no difference, 8 Mb/s.",
                "a (lab) beside the simulator: goodput 8 Mb/s, 11 % less.",
                "b (lab) beside the simulator: goodput 8 Mb/s, 2.0 times as much.",
            ]
        );
        assert_eq!(answer(&all[..2]), ["a (lab) beside the simulator: goodput 8 Mb/s, 11 % less."]);
    }

    #[test]
    fn of_the_figures_of_one_quantity_one_is_counted() {
        let mut rows = rows(&[("a", &[9e6, 9e6]), ("b", &[5e6, 5e6])]);
        for (at, row) in rows.iter_mut().enumerate() {
            let figure = over_seeds(vec![Some(1.0 + at as f64); 2]);
            for one in [
                &mut row.request_mean_ms,
                &mut row.request_p99_ms,
                &mut row.slowdown_mean,
                &mut row.slowdown_p99,
            ] {
                one.clone_from(&figure);
            }
        }
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let said = Contest { rows: &rows, names, seeds: 2 }.answer();
        assert_eq!(said[0], "Of 2 counted figures 2 show a difference. Best, or as good: a in 2, b in 0.");
        assert!(said.iter().any(|one| one.starts_with("99th percentile of the slowdown")), "{said:?}");
    }

    #[test]
    fn figures_that_do_not_vary_say_nothing_about_chance() {
        let said = answer(&[("a", &[10e6]), ("b", &[5e6])]);
        assert_eq!(said[1], "One seed: these figures do not say which differences are chance.");
        assert_eq!(said[2], "Goodput: best a, 10 Mb/s; then b (5 Mb/s, 50 % less).");
        let said = answer(&[("a", &[10e6; 3]), ("b", &[5e6; 3])]);
        assert_eq!(
            said[1],
            "All 3 seeds give the same figures: they do not say which differences are chance."
        );
        assert!(!answer(&[("a", &[10e6, 10e6]), ("b", &[5e6, 5.1e6])])[1].contains("chance"));
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

    #[test]
    fn schemes_that_know_no_classes_are_marked_where_weights_are() {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        let text = |runs: &[Vec<_>]| {
            let mut document = ComparisonDocument::of("title", runs);
            document.schemes[1].knows_no_classes = true;
            let answer = document.answer();
            (answer.join("\n"), document.text(None), document.html(&[]))
        };
        let (without, all, page) = text(&runs);
        assert!([&without, &all, &page].iter().all(|text| !text.contains('°')));
        let windows = runs.iter_mut().flatten().flat_map(|run| &mut run.windows);
        for optimum in windows.filter_map(|window| window.optimum.as_mut()) {
            optimum.weights = "AF2 : BE = 3 : 1".to_owned();
        }
        let (answer, all, page) = text(&runs);
        assert!(answer.contains("Weighted Jain's index: ") && answer.contains("fixed° in "), "{answer}");
        assert!(answer.ends_with(&format!("{KNOWS_NO_CLASSES} They are not counted.")), "{answer}");
        let counted = |text: &str| {
            text.split(" counted").next().unwrap().rsplit(' ').next().unwrap().parse::<u32>().unwrap()
        };
        assert_eq!(counted(&answer) + 2, counted(&without), "{answer}");
        assert!(all.contains(" fixed° ") && page.contains("<th scope=\"row\">fixed°</th>"), "{all}");
    }
}
