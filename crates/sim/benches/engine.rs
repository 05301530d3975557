//! How fast the simulator is, and how much memory it takes: packet-hops a second, nanoseconds per
//! packet-hop, peak memory; on the dumbbell, on a generated network, and as flows grow from 10 to
//! 100 000. Each case runs in a process of its own, so that its peak memory is its own.
//!
//! Machines differ and are shared, so a yardstick runs beside each case: a fixed amount of work on
//! a table of the size of a cache. Compare the column `hops/yard` between two versions.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::process::Command;
use std::time::{Duration, Instant};

use weir_core::units::Time;
use weir_experiment::{Experiment, Setup};
use weir_scenario::{Override, Scenario, builtin};
use weir_sim::World;

const RANDOM_200: &str = include_str!("../../../scenarios/examples/random-200.toml");

const LARGE: &[&str] =
    &["generate.nodes=2000", "generate.flows.count=2000", "duration=600ms", "scheme.default=fixed"];

/// Name, built-in scenario or random-200, and what is set in it.
const CASES: &[(&str, &str, &[&str])] = &[
    ("dumbbell, qsccp", "qsccp/dumbbell", &[]),
    ("dumbbell, fixed", "qsccp/dumbbell", &["scheme.default=fixed"]),
    ("200 nodes, 1 000 flows, qsccp", "random-200", &[]),
    ("200 nodes, 1 000 flows, fixed", "random-200", &["scheme.default=fixed"]),
    ("2 000 nodes, fixed", "random-200", LARGE),
    ("2 000 nodes, fixed, 2 threads", "random-200", LARGE),
    ("abilene, hbhcm", "hbhcm/abilene", &["scheme.default=hbhcm"]),
    ("abilene, dpccp", "hbhcm/abilene", &["scheme.default=dpccp"]),
    ("dumbbell, 4 flows", "qsccp/dumbbell", &["flow.*.count=1"]),
    ("dumbbell, 40 flows", "qsccp/dumbbell", &["flow.*.count=10"]),
    (
        "dumbbell, 400 flows",
        "qsccp/dumbbell",
        &["flow.*.count=100", "link.*.rate=1Gb/s", "link.R2-R3.rate=100Mb/s", "duration=12s"],
    ),
    (
        "dumbbell, 4 000 flows",
        "qsccp/dumbbell",
        &[
            "flow.*.count=1000",
            "link.*.rate=10Gb/s",
            "link.R2-R3.rate=1Gb/s",
            "duration=2s",
            "scheme.qsccp.class_queue=20000",
        ],
    ),
    (
        "dumbbell, 40 000 flows",
        "qsccp/dumbbell",
        &[
            "flow.*.count=10000",
            "link.*.rate=100Gb/s",
            "link.R2-R3.rate=10Gb/s",
            "duration=400ms",
            "scheme.qsccp.class_queue=200000",
        ],
    ),
    (
        "dumbbell, 100 000 flows",
        "qsccp/dumbbell",
        &[
            "flow.*.count=25000",
            "link.*.rate=250Gb/s",
            "link.R2-R3.rate=25Gb/s",
            "duration=300ms",
            "scheme.qsccp.class_queue=500000",
        ],
    ),
];

fn main() {
    if let Ok(case) = std::env::var("WEIR_BENCH_CASE") {
        return run_case(case.parse().expect("an index"));
    }
    println!(
        "{:<32} {:>8} {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}",
        "case", "flows", "packet-hops", "run s", "M hops/s", "ns/hop", "hops/yard", "peak MB"
    );
    let me = std::env::current_exe().expect("this program has a path");
    for (index, (name, ..)) in CASES.iter().enumerate() {
        let status = Command::new(&me).env("WEIR_BENCH_CASE", index.to_string()).status().expect("it starts");
        assert!(status.success(), "case {name} failed");
    }
}

fn run_case(index: usize) {
    let (name, base, set) = CASES[index];
    let text = builtin(base).unwrap_or(RANDOM_200);
    let overrides: Vec<_> = set.iter().map(|text| Override::parse(text).expect("it is right")).collect();
    let scenario = Scenario::parse(base, base, text, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let flows = scenario.flows.len();
    let threads = if name.ends_with("2 threads") { 2 } else { 1 };
    // The median of three: what shares the machine comes and goes.
    let mut runs: Vec<(Duration, u64, Duration)> = (0..3)
        .map(|_| {
            let yard = yardstick();
            let setup = Setup { with_series: false, ..Setup::default() };
            let experiment =
                Experiment::new(scenario.clone(), &setup).unwrap_or_else(|error| panic!("{error}"));
            let world = World::build(experiment).unwrap_or_else(|error| panic!("{error}"));
            let mut world = world.on_threads(threads);
            let begun = Instant::now();
            world.run_until(Time::ZERO + scenario.duration).unwrap_or_else(|error| panic!("{error}"));
            (begun.elapsed(), world.packet_hops(), (yard + yardstick()) / 2)
        })
        .collect();
    runs.sort();
    let (time, hops, yard) = runs[1];
    let per_second = hops as f64 / time.as_secs_f64();
    println!(
        "{name:<32} {flows:>8} {hops:>12} {:>9.3} {:>8.2} {:>8.0} {:>9.0} {:>9.0}",
        time.as_secs_f64(),
        per_second / 1e6,
        1e9 / per_second,
        per_second * yard.as_secs_f64(),
        peak_megabytes()
    );
}

/// A million dependent reads in a table of 1 MiB.
fn yardstick() -> Duration {
    let table: Vec<u32> = (0..1_u32 << 18).map(|i| i.wrapping_mul(0x9E37_79B1) >> 14).collect();
    let begun = Instant::now();
    let mut at = 0;
    for i in 0..1_000_000_u32 {
        at = table[at as usize] ^ (i & 0xFF);
    }
    std::hint::black_box(at);
    begun.elapsed()
}

/// Peak resident memory of this process; 0 where the system does not say.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
