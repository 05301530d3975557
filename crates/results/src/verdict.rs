//! What a run came to, in five numbers and a sentence, over the whole run and over each measuring window.

use crate::comparison::{Part, part};
use crate::format::{self, NONE, Quantity, grouped, rate};
use crate::matrix::share;
use crate::requests;
use crate::summary::{all_flows, fairness, fairness_in_class};
use serde::Serialize;
use weir_measure::{ExpectationRow, LinkRow, RunDocument};

/// A part of the run.
#[derive(Serialize)]
pub(crate) struct Headline {
    /// The name of the part.
    when: String,
    figures: [Number; 5],
    sentence: String,
}

/// One of the numbers.
#[derive(Serialize)]
struct Number {
    name: &'static str,
    value: String,
    /// What belongs to it, in small print.
    note: String,
}

/// The whole run first, then each window.
pub(crate) fn headlines(document: &RunDocument) -> Vec<Headline> {
    (0..=document.windows.len()).filter_map(|at| headline(document, at, &part(document, at)?)).collect()
}

fn headline(document: &RunDocument, at: usize, part: &Part<'_>) -> Option<Headline> {
    let all = all_flows(part);
    let or_none = |value: Option<f64>, quantity: Quantity| {
        value.map_or_else(|| NONE.to_owned(), |value| quantity.format(value))
    };
    let optimum = part.optimum.filter(|_| share(part).is_some());
    // What is by weights is called so.
    let weighted = if optimum.is_some_and(|row| !row.weights.is_empty()) { "weighted " } else { "" };
    let reached = share(part).map(|part| Quantity::Percent.format(part));
    let objective = optimum.map_or("", |row| row.objective.as_str());
    let of_optimum =
        reached.as_ref().map(|reached| format!("{weighted}share of the {objective} optimum: {reached}"));
    let requests = requests::together(part).filter(|_| part.is_random());
    let (jain, of_jain) = match (fairness(part), fairness_in_class(part)) {
        (Some(jain), _) => (Some(jain), format!("Jain's index, {weighted}over shares of the optimum")),
        (None, Some(jain)) => (Some(jain), "Jain's index within a class, without weights".to_owned()),
        (None, None) => (None, "there are no flows to compare".to_owned()),
    };
    let busiest = part.links.iter().reduce(|a, b| if b.utilisation > a.utilisation { b } else { a });
    let name = |link: &LinkRow| format!("{} → {}", link.from, link.end());
    let figures = [
        Number { name: "Goodput", value: rate(all.goodput_bps), note: of_optimum.unwrap_or_default() },
        Number {
            name: "Mean delay",
            value: or_none(all.delay_ms.mean, Quantity::Millis),
            note: all
                .delay_ms
                .p99
                .map_or_else(String::new, |p99| format!("99 % below {}", Quantity::Millis.format(p99))),
        },
        Number {
            name: "Data lost",
            value: grouped(all.lost as i64),
            note: format!("{} Interests sent again", grouped(all.retransmitted as i64)),
        },
        match &requests {
            Some(row) => Number {
                name: "Slowdown of requests",
                value: or_none(row.slowdown.mean, Quantity::Plain),
                note: format!(
                    "99 % below {}, of the {} of {} that were complete",
                    or_none(row.slowdown.p99, Quantity::Plain),
                    grouped(row.completed as i64),
                    grouped(row.came as i64)
                ),
            },
            None => Number { name: "Fairness", value: or_none(jain, Quantity::Plain), note: of_jain },
        },
        Number {
            name: "Busiest link",
            value: or_none(busiest.map(|link| link.utilisation), Quantity::Percent),
            note: busiest.map_or_else(|| "no link was measured".to_owned(), name),
        },
    ];
    let mut sentences = Vec::new();
    sentences.extend(expectations(&document.expectations));
    let together = match part.flows.len() {
        1 => "The one flow gets".to_owned(),
        flows => format!("The {flows} flows get"),
    };
    let of_optimum = reached.map_or_else(String::new, |reached| {
        let share = if weighted.is_empty() { "the" } else { "the weighted" };
        format!(" and reach {reached} of {share} optimum")
    });
    sentences.push(format!("{together} {}{of_optimum}", rate(all.goodput_bps)));
    let took = requests.as_ref().and_then(|row| row.completion_ms.mean.zip(row.slowdown.mean));
    sentences.extend(took.map(|(ms, slowdown)| {
        let (ms, slowdown) = (Quantity::Millis.format(ms), Quantity::Plain.format(slowdown));
        format!("A request takes {ms} on average, {slowdown} times as long as alone")
    }));
    if let Some(link) = busiest {
        let queue = link.queue_ms.mean.map_or_else(String::new, |mean| {
            format!(", and Data waits {} in front of it", Quantity::Millis.format(mean))
        });
        let used = Quantity::Percent.format(link.utilisation);
        sentences.push(format!("{} is used for {used} of the time{queue}", name(link)));
    }
    let when = match at {
        0 => "whole run".to_owned(),
        _ => format::period(part.from_s, part.to_s),
    };
    Some(Headline { when, figures, sentence: sentences.join(". ") + "." })
}

/// How many of the scenario's expectations hold.
fn expectations(rows: &[ExpectationRow]) -> Option<String> {
    let told = rows.iter().filter(|row| row.holds.is_some()).count();
    let held = rows.iter().filter(|row| row.holds == Some(true)).count();
    match (told, held) {
        (0, _) => None,
        (1, 1) => Some("The one expectation holds".to_owned()),
        (_, held) if held == told => Some(format!("All {told} expectations hold")),
        (_, held) => Some(format!("{} of {told} expectations fail", told - held)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_run_says_what_it_came_to_over_each_window() {
        let document = sample::dumbbell(8, 50).document;
        let all = headlines(&document);
        assert_eq!(all.len(), 1 + document.windows.len());
        let [first, last] = [&all[0], &all[all.len() - 1]];
        assert_eq!(first.when, "whole run");
        assert_ne!(last.when, first.when);
        assert!(last.sentence.contains("of the optimum"), "{}", last.sentence);
        let goodput: f64 = document.classes.iter().map(|row| row.figures.goodput_bps).sum();
        assert_eq!(first.figures[0].value, rate(goodput));
    }

    #[test]
    fn a_run_of_nothing_has_dashes() {
        let all = headlines(&RunDocument::default());
        assert_eq!(all[0].figures[1].value, NONE);
        assert_eq!(all[0].sentence, "The 0 flows get 0 b/s.");
    }
}
