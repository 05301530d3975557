//! Runs of scenarios, for the tests beside.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::thread;

use weir_core::units::{Span, Time};
use weir_measure::{ClassRow, Report, TrafficFigures};
use weir_scenario::{Override, Scenario, builtin};
use weir_sim::{Setup, World};

/// A built-in scenario with overrides.
pub fn scenario(name: &str, set: &[&str]) -> Scenario {
    parse(name, builtin(name).expect("a built-in scenario"), set)
}

/// A scenario from its text, with overrides.
pub fn parse(name: &str, text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text).unwrap()).collect();
    Scenario::parse(name, name, text, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Measuring window, in seconds.
pub fn window(from: u64, to: u64) -> (Span, Span) {
    (Span::from_secs(from), Span::from_secs(to))
}

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario, setup: &Setup) -> Report {
    let mut world = World::build(scenario, setup).unwrap_or_else(|error| panic!("{error}"));
    world.run(&mut |_| ()).unwrap();
    world.finish().report
}

/// The results of several independent jobs, two at a time.
pub fn in_parallel<T: Sync, R: Send>(jobs: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut results = Vec::new();
    for pair in jobs.chunks(2) {
        thread::scope(|scope| {
            let running: Vec<_> = pair.iter().map(|job| scope.spawn(|| work(job))).collect();
            results.extend(running.into_iter().map(|job| job.join().expect("the job does not panic")));
        });
    }
    results
}

/// What a class got, from the rows of a window.
pub fn class<'a>(rows: &'a [ClassRow], name: &str) -> &'a TrafficFigures {
    let row = rows.iter().find(|row| row.class == name).unwrap_or_else(|| panic!("class {name}"));
    &row.figures
}

/// A time in seconds.
pub fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}
