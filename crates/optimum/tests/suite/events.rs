//! Flows that start and end: the run as a fluid, compared with plain implementations of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{assert_near, flow, network, policy};
use core::fmt::Write;
use proptest::prelude::*;
use weir_core::Span;
use weir_core::seam::SharingPolicy;
use weir_optimum::{Inexact, Objective, Options, Theory};
use weir_packet::ServiceClass;
use weir_scenario::Scenario;

const SECONDS: f64 = 10.0;

/// A line of links, with flows whose Data all go one way.
#[derive(Clone, Debug)]
struct Line {
    /// The rates of links, kb/s.
    rates: Vec<u32>,
    flows: Vec<One>,
    /// The time, ms, the link, and its rate from then on, kb/s.
    event: (u32, usize, u32),
}

#[derive(Clone, Debug)]
struct One {
    /// The links: from the first to before the last.
    links: (usize, usize),
    /// The start, ms.
    start: u32,
    amount: Option<u32>,
    class: ServiceClass,
    weight: f64,
    /// The rate of the source, kb/s.
    source: Option<u32>,
}

fn lines(classes: &'static [ServiceClass]) -> impl Strategy<Value = Line> {
    let one = (
        (0usize..4, 1usize..4),
        0u32..9000,
        prop::option::weighted(0.8, 1u32..900),
        prop::sample::select(classes),
        prop::sample::select(&[0.5, 1.0, 1.0, 2.0, 7.0][..]),
        prop::option::weighted(0.2, 50u32..2000),
    );
    let one = one.prop_map(|(links, start, amount, class, weight, source)| One {
        links,
        start,
        amount,
        class,
        weight,
        source,
    });
    let parts = (prop::collection::vec(1000u32..12_000, 4), prop::collection::vec(one, 1..30));
    (parts, (0u32..10_000, 0usize..4, 1000u32..12_000)).prop_map(|((rates, mut flows), event)| {
        for flow in &mut flows {
            flow.links.1 = (flow.links.0 + flow.links.1).min(4);
        }
        Line { rates, flows, event }
    })
}

impl Line {
    fn scenario(&self) -> Scenario {
        let mut text = String::new();
        for (at, one) in self.flows.iter().enumerate() {
            let mut more = format!("start = \"{} ms\"\n", one.start);
            if let Some(amount) = one.amount {
                writeln!(more, "amount = {amount}").unwrap();
            }
            if let Some(source) = one.source {
                writeln!(more, "source_rate = \"{source} kb/s\"").unwrap();
            }
            let [consumer, producer] = [one.links.0, one.links.1].map(|node| format!("N{node}"));
            text += &flow(&consumer, &producer, &format!("/f{at}"), one.class.name(), &more);
        }
        let (at, link, rate) = self.event;
        write!(
            text,
            "[[event]]\nat = \"{at} ms\"\nlink = \"N{link}-N{}\"\nrate = \"{rate} kb/s\"\n",
            link + 1
        )
        .unwrap();
        let link = |(at, rate): (usize, &u32)| format!("N{at}-N{} {}", at + 1, f64::from(*rate) / 1e3);
        let links: Vec<String> = self.rates.iter().enumerate().map(link).collect();
        network(&links.iter().map(String::as_str).collect::<Vec<_>>(), &text)
    }

    fn policy(&self, scenario: &Scenario) -> SharingPolicy {
        let weights = self.flows.iter().enumerate().map(|(at, one)| (format!("/f{at}"), one.weight));
        SharingPolicy { flow_weights: weights.collect(), ..policy(scenario) }
    }

    /// Plays the run event by event, with this division of the links among flows. Returns completions after
    /// starts, and mean rates, bit/s of Data; `None` if a division is not found.
    fn played(
        &self,
        scenario: &Scenario,
        divide: impl Fn(&[f64], &[(usize, f64)]) -> Option<Vec<f64>>,
    ) -> Option<(Vec<Option<f64>>, Vec<f64>)> {
        let bits = |at: usize| scenario.flows[at].packet_lengths()[1].bits() as f64;
        let amount = |(at, one): (usize, &One)| one.amount.map_or(f64::INFINITY, |n| f64::from(n) * bits(at));
        let all: Vec<f64> = self.flows.iter().enumerate().map(amount).collect();
        let mut left = all.clone();
        let mut fetched = vec![0.0; left.len()];
        let mut done = vec![None; left.len()];
        let (event, link, rate) = self.event;
        let mut now = 0.0;
        while now < SECONDS {
            let mut capacity: Vec<f64> = self.rates.iter().map(|rate| f64::from(*rate) * 1e3).collect();
            if f64::from(event) / 1e3 <= now {
                capacity[link] = f64::from(rate) * 1e3;
            }
            let start = |one: &One| f64::from(one.start) / 1e3;
            let runs = |(at, one): &(usize, &One)| start(one) <= now && left[*at] > 0.0;
            let running = self.flows.iter().enumerate().filter(runs);
            let running: Vec<(usize, f64)> = running
                .map(|(at, one)| (at, one.source.map_or(f64::INFINITY, |source| f64::from(source) * 1e3)))
                .collect();
            let rates = divide(&capacity, &running)?;
            let starts = self.flows.iter().map(start).chain([f64::from(event) / 1e3, SECONDS]);
            let mut next = starts.filter(|time| *time > now).fold(SECONDS, f64::min);
            for ((at, _), rate) in running.iter().zip(&rates) {
                next = next.min(now + left[*at] / rate);
            }
            for ((at, _), rate) in running.iter().zip(&rates) {
                fetched[*at] += rate * (next - now);
                left[*at] -= rate * (next - now);
                if all[*at].is_finite() && left[*at] <= 1e-9 * all[*at] {
                    left[*at] = 0.0;
                    done[*at] = Some(next - start(&self.flows[*at]));
                }
            }
            now = next;
        }
        Some((done, fetched.iter().map(|bits| bits / SECONDS).collect()))
    }

    fn links(&self, at: usize) -> core::ops::Range<usize> {
        self.flows[at].links.0..self.flows[at].links.1
    }

    /// Progressive filling (Bertsekas and Gallager, section 6.5.2): all rates grow together, in proportion to
    /// their weights, until a link is full or a source has its demand.
    fn filled(&self, capacity: &[f64], running: &[(usize, f64)]) -> Vec<f64> {
        let mut left = capacity.to_vec();
        let mut rates = vec![0.0; running.len()];
        let mut grows = vec![true; running.len()];
        while grows.contains(&true) {
            let of = |place: usize| (self.flows[running[place].0].weight, self.links(running[place].0));
            let growing: Vec<usize> = (0..running.len()).filter(|&place| grows[place]).collect();
            let weight = |link: usize| -> f64 {
                growing.iter().map(|&place| of(place)).filter(|of| of.1.contains(&link)).map(|of| of.0).sum()
            };
            let used = (0..left.len()).filter(|&link| weight(link) > 0.0);
            let full = used.map(|link| left[link] / weight(link)).fold(f64::INFINITY, f64::min);
            let step = growing
                .iter()
                .fold(full, |step, &place| step.min((running[place].1 - rates[place]) / of(place).0));
            let weights: Vec<f64> = (0..left.len()).map(weight).collect();
            for (left, weight) in left.iter_mut().zip(&weights) {
                *left -= step * weight;
            }
            for &place in &growing {
                rates[place] += step * of(place).0;
                let is_full = of(place).1.any(|link| left[link] <= 1e-9 * capacity[link]);
                grows[place] = !is_full && rates[place] < running[place].1 * (1.0 - 1e-12);
            }
        }
        rates
    }

    /// By the definition of link-fair: each flow has the smallest of its links' offers with unlimited demand,
    /// while the others keep their rates. Returns `None` if the rates do not settle.
    fn link_fair(
        &self,
        policy: &SharingPolicy,
        capacity: &[f64],
        running: &[(usize, f64)],
    ) -> Option<Vec<f64>> {
        let mut rates = vec![0.0; running.len()];
        for _ in 0..200 {
            let mut change = 0.0f64;
            for place in 0..running.len() {
                let (own, demand) = running[place];
                let mut rate = demand;
                for link in self.links(own) {
                    let wants = |other: usize| if other == place { 1e15 } else { rates[other] };
                    let there =
                        (0..running.len()).filter(|other| self.links(running[*other].0).contains(&link));
                    let there: Vec<usize> = there.collect();
                    let claims: Vec<(ServiceClass, f64, f64)> = there
                        .iter()
                        .map(|&other| (&self.flows[running[other].0], wants(other)))
                        .map(|(flow, wants)| (flow.class, flow.weight, wants))
                        .collect();
                    let parts = poured(policy, capacity[link], &claims);
                    rate = rate.min(parts[there.iter().position(|&other| other == place).unwrap()]);
                }
                change = change.max((rate - rates[place]).abs() / rate.max(1.0));
                rates[place] = rate;
            }
            if change < 1e-13 {
                return Some(rates);
            }
        }
        None
    }
}

/// Divides one link among claims of classes, each with a weight and a demand.
fn poured(policy: &SharingPolicy, capacity: f64, claims: &[(ServiceClass, f64, f64)]) -> Vec<f64> {
    let wants =
        |class: ServiceClass| claims.iter().filter(move |claim| claim.0 == class).map(|claim| claim.2);
    let mut left = capacity;
    let mut of_class = [0.0; ServiceClass::ALL.len()];
    let (urgent, others) = ServiceClass::ALL.split_at(ServiceClass::DELAY_SENSITIVE);
    for (&class, delta) in urgent.iter().zip(policy.class_parts) {
        of_class[class as usize] = wants(class).sum::<f64>().min(delta * capacity).min(left);
        left -= of_class[class as usize];
    }
    let tolerant: Vec<(f64, f64)> =
        others.iter().zip(policy.class_weights).map(|(&class, omega)| (omega, wants(class).sum())).collect();
    of_class[urgent.len()..].copy_from_slice(&water(left, &tolerant));
    let mut parts = vec![0.0; claims.len()];
    for class in ServiceClass::ALL {
        let members: Vec<usize> = (0..claims.len()).filter(|&at| claims[at].0 == class).collect();
        let of: Vec<(f64, f64)> = members.iter().map(|&at| (claims[at].1, claims[at].2)).collect();
        for (&at, part) in members.iter().zip(water(of_class[class as usize], &of)) {
            parts[at] = part;
        }
    }
    parts
}

/// Pours water over weights and demands: the claims with the smallest demand for their weight have it, and
/// the others share the rest.
fn water(capacity: f64, claims: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by(|&a, &b| (claims[a].1 / claims[a].0).total_cmp(&(claims[b].1 / claims[b].0)));
    let (mut left, mut weight) = (capacity, claims.iter().map(|claim| claim.0).sum::<f64>());
    let mut parts = vec![0.0; claims.len()];
    for at in order {
        parts[at] = claims[at].1.min(left * claims[at].0 / weight);
        left -= parts[at];
        weight -= claims[at].0;
    }
    parts
}

fn is_as_played(
    line: &Line,
    scenario: &Scenario,
    policy: &SharingPolicy,
    played: &(Vec<Option<f64>>, Vec<f64>),
) -> Result<(), TestCaseError> {
    let theory = Theory::new(scenario, policy, &Options::default()).unwrap();
    let whole = [(Span::ZERO, Span::from_secs(10))];
    let (optima, completions) = theory.windows_and_completions(&whole).unwrap();
    prop_assert_eq!((optima[0].inexact, completions.inexact), (None, None));
    let alone = theory.alone();
    for (at, (found, expected)) in completions.times.iter().zip(&played.0).enumerate() {
        let found = found.map(Span::as_secs_f64);
        let near = match (found, *expected) {
            (Some(found), Some(expected)) => (found - expected).abs() <= 1e-7 * expected + 1e-7,
            // It may end with the run.
            (None, Some(time)) | (Some(time), None) => {
                (time + f64::from(line.flows[at].start) / 1e3 - SECONDS).abs() < 1e-6
            }
            (None, None) => true,
        };
        prop_assert!(near, "flow {at}: {found:?}, not {expected:?}");
        if let (Some(time), Some(alone)) = (completions.times[at], alone[at]) {
            let slowdown = alone.slowdown(time).unwrap();
            prop_assert!(slowdown >= 1.0 - 1e-6, "flow {at}: {slowdown}");
        }
    }
    for (at, (flow, expected)) in optima[0].flows.iter().zip(&played.1).enumerate() {
        let found = flow.rate_bps;
        prop_assert!((found - expected).abs() <= 1e-7 * expected + 1.0, "flow {at}: {found}, not {expected}");
    }
    Ok(())
}

const ONE: &[ServiceClass] = &[ServiceClass::Be];
const SEVERAL: &[ServiceClass] =
    &[ServiceClass::Cs7, ServiceClass::Ef, ServiceClass::Af4, ServiceClass::Af2, ServiceClass::Be];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn flows_with_weights_are_served_as_by_progressive_filling_at_each_event(line in lines(ONE)) {
        let scenario = line.scenario();
        let played = line.played(&scenario, |capacity, running| Some(line.filled(capacity, running)));
        is_as_played(&line, &scenario, &line.policy(&scenario), &played.unwrap())?;
    }

    #[test]
    fn classes_are_served_as_by_the_definition_at_each_event(line in lines(SEVERAL)) {
        let scenario = line.scenario();
        let policy = line.policy(&scenario);
        let played = line.played(&scenario, |capacity, running| line.link_fair(&policy, capacity, running));
        prop_assume!(played.is_some());
        is_as_played(&line, &scenario, &policy, &played.unwrap())?;
    }
}

#[test]
fn a_long_flow_has_all_that_600_short_ones_leave() {
    let text = flow("A", "D", "/long", "BE", "")
        + "[[flow]]\nname = \"short\"\nconsumer = \"A\"\nproducer = \"D\"\nprefix = \"/s{}\"\ncount = 600\namount = 3\n\
           start_spread = \"9.9 s\"\n";
    let scenario = network(&["A-B 200", "B-C 20", "C-D 200"], &text);
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let whole = [(Span::ZERO, Span::from_secs(10))];
    let (optima, completions) = theory.windows_and_completions(&whole).unwrap();
    let bits = |at: usize| scenario.flows[at].packet_lengths()[1].bits() as f64;
    let short: f64 = (1..=600).map(|at| 3.0 * bits(at)).sum();
    let long = &optima[0].flows[0];
    assert_near(&[long.rate_bps], &[20e6 - short / 10.0], 1e-7);
    assert!((17.0e6..17.3e6).contains(&long.goodput_bps), "{}", long.goodput_bps);
    assert_eq!((optima[0].pieces, optima[0].inexact, completions.inexact), (1200, None, None));
    // Each is complete before the next one starts: with the long flow it has half of the link.
    let times = completions.times[1..].iter().map(|time| time.unwrap().as_secs_f64());
    let expected: Vec<f64> = (1..=600).map(|at| 3.0 * bits(at) / 10e6).collect();
    assert_near(&times.collect::<Vec<_>>(), &expected, 1e-6);
    // Alone it takes half of that. It takes all of it with a round trip of 6 ms.
    let (alone, time) = (theory.alone()[1].unwrap(), completions.times[1].unwrap());
    assert_eq!(alone.round_trip, Span::from_millis(6));
    let slowdown = (6e-3 + expected[0]) / (6e-3 + expected[0] / 2.0);
    assert_near(&[alone.slowdown(time).unwrap()], &[slowdown], 1e-6);
}

#[test]
fn the_time_alone_is_that_of_the_links_as_they_change() {
    // 10 s of 1 Mb/s in total: 2 s at 2 Mb/s, 2 s of a link that is down, then 1 Mb/s; the other flow does
    // not count.
    let text = flow("A", "B", "/a", "BE", "amount = 1100\nstart = \"1 s\"")
        + &flow("A", "B", "/b", "BE", "")
        + &flow("A", "B", "/c", "EF", "amount = 10\nsource_rate = \"100 kb/s\"")
        + "[[event]]\nat = \"3 s\"\nlink = \"A-B\"\nup = false\n[[event]]\nat = \"5 s\"\nlink = \"A-B\"\nup = true\n\
           [[event]]\nat = \"4 s\"\nlink = \"A-B\"\nrate = \"1 Mb/s\"\n";
    let scenario = network(&["A-B 2"], &text);
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let alone = theory.alone();
    let bits = scenario.flows.iter().map(|flow| flow.packet_lengths()[1].bits() as f64).collect::<Vec<_>>();
    let of = |at: usize| alone[at].unwrap().transmission.unwrap().as_secs_f64();
    assert_near(&[of(0), of(2)], &[4.0 + (1100.0 * bits[0] - 4e6) / 1e6, 10.0 * bits[2] / 1e5], 1e-6);
    assert_eq!(alone[1], None);
    assert_eq!(alone[0].unwrap().round_trip, Span::from_millis(2));
}

#[test]
fn interests_that_nobody_answers_take_no_part_of_a_link() {
    // From 5 s on, everything that X sends and receives is lost.
    let text = flow("G", "P", "/good", "BE", "")
        + &flow("A", "X", "/evil", "BE", "source_rate = \"100 Mb/s\"\nunresponsive = true")
        + "[[event]]\nat = \"5 s\"\nlink = \"P-X\"\nloss = 1.0\n";
    let scenario = network(&["G-R 10", "A-R 10", "R-P 10", "P-X 10"], &text);
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let windows = [(0, 5), (5, 10)].map(|(from, to)| (Span::from_secs(from), Span::from_secs(to)));
    let optima = theory.windows(&windows).unwrap();
    let rates = |at: usize| optima[at].flows.iter().map(|flow| flow.rate_bps).collect::<Vec<_>>();
    assert_near(&rates(0), &[5e6, 5e6], 1e-9);
    assert_near(&rates(1), &[10e6, 0.0], 1e-9);
}

#[test]
fn what_is_not_exact_says_why() {
    let scenario = network(&["A-B 10"], &flow("A", "B", "/a", "BE", "amount = 100"));
    for (objective, why) in [
        (Objective::LinkFair, None),
        (Objective::MaxMin, Some(Inexact::Interests)),
        (Objective::Proportional, Some(Inexact::Solver)),
        (Objective::MaxFlow, Some(Inexact::Solver)),
    ] {
        let options = Options { objective, ..Options::default() };
        let theory = Theory::new(&scenario, &policy(&scenario), &options).unwrap();
        let whole = [(Span::ZERO, Span::from_secs(10))];
        let (optima, completions) = theory.windows_and_completions(&whole).unwrap();
        assert_eq!((optima[0].inexact, completions.inexact), (why, why), "{objective}");
    }
}
