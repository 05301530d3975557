//! Runs of scenarios, for the tests of this suite.
#![allow(dead_code, reason = "each test file uses what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;

use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, ExperimentError, Setup};
use weir_measure::{ClassRow, Report, TrafficFigures, WindowRow};
use weir_scenario::{Override, Scenario, builtin};
use weir_sim::World;

/// A built-in scenario with overrides.
pub fn scenario(name: &str, set: &[&str]) -> Scenario {
    parse(name, builtin(name).expect("a built-in scenario"), set)
}

/// A scenario from its text, with overrides.
pub fn parse(name: &str, text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<Override> = set.iter().map(|text| Override::parse(text).unwrap()).collect();
    Scenario::parse(name, name, text, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// R - S over two paths, by U and by V, with these rates and delays. All other links are fast and take 10 ms.
/// `rest` has the rest of the scenario.
pub fn two_ways(scheme: &str, queue: &str, [u, v]: [(&str, &str); 2], rest: &str) -> String {
    format!(
        "title = \"two ways\"\nsource = \"assumed: a test\"\nduration = \"60 s\"\n\
         [scheme]\ndefault = \"{scheme}\"\n[[node]]\nname = [\"A\", \"R\", \"U\", \"V\", \"S\", \"B\"]\n\
         [defaults.link]\ndelay = \"10 ms\"\nqueue = \"{queue}\"\nrate = \"1 Gb/s\"\n\
         [[link]]\nbetween = [\"A-R\", \"S-B\", \"U-S\", \"V-S\"]\n\
         [[link]]\nends = [\"R\", \"U\"]\nrate = \"{}\"\ndelay = \"{}\"\n\
         [[link]]\nends = [\"R\", \"V\"]\nrate = \"{}\"\ndelay = \"{}\"\n\
         [routing]\npolicy = \"multipath\"\n{rest}",
        u.0, u.1, v.0, v.1
    )
}

/// A run with additional measuring windows, in seconds.
pub fn measuring(windows: &[(u64, u64)]) -> Setup {
    let window = |&(from, to): &(u64, u64)| (Span::from_secs(from), Span::from_secs(to));
    Setup { windows: windows.iter().map(window).collect(), ..Setup::default() }
}

/// Goodput of the flow of this prefix, b/s.
pub fn goodput(window: &WindowRow, prefix: &str) -> f64 {
    let flow = window.flows.iter().find(|flow| flow.prefix == prefix);
    flow.unwrap_or_else(|| panic!("flow {prefix}")).goodput_bps
}

/// The experiment of a scenario with this setup.
pub fn experiment(scenario: &Scenario, setup: &Setup) -> Experiment {
    Experiment::new(scenario.clone(), setup).unwrap_or_else(|error| panic!("{error}"))
}

/// The world of an experiment.
pub fn world(experiment: Experiment) -> World {
    World::build(experiment).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario to its end.
pub fn run(scenario: &Scenario, setup: &Setup) -> Report {
    to_end(world(experiment(scenario, setup)))
}

/// Runs a scenario to its end, and encodes and decodes every packet.
pub fn run_checking_wire(scenario: &Scenario, setup: &Setup) -> Report {
    to_end(world(experiment(scenario, setup)).checking_wire())
}

fn to_end(mut world: World) -> Report {
    world.run(&mut |_| ()).unwrap();
    world.finish().report
}

/// Why the simulator refuses a scenario; `None` if it does not.
pub fn refused(scenario: &Scenario) -> Option<ExperimentError> {
    World::build(experiment(scenario, &Setup::default())).err()
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

/// The results of a class, from the rows of a window.
pub fn class<'a>(rows: &'a [ClassRow], name: &str) -> &'a TrafficFigures {
    let row = rows.iter().find(|row| row.class == name).unwrap_or_else(|| panic!("class {name}"));
    &row.figures
}

/// A time in seconds.
pub fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}
