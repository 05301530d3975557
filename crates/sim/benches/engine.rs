//! Speed and memory of the simulator.
//!
//! 1. Packet-hops per second, nanoseconds per packet-hop and peak memory: on the dumbbell, on generated
//!    networks, and for 4 to 100 000 flows. `read s` is the time to read the scenario with its routes, and
//!    `build s` is the time to build the world.
//! 2. Growth of the time of a packet-hop from 100 to 20 000 nodes.
//! 3. Bytes on the heap for a node, a flow and a pending Interest, measured by a counting allocator as
//!    differences between worlds with different numbers of them.
//!
//! Each case runs in a separate process, so that its peak memory is measured alone. Machines differ and are
//! shared, so a yardstick runs beside each case: a fixed amount of work on a table of the size of a cache.
//! Compare the column `hops/yard` between two versions. WEIR_BENCH=growth selects the cases with this text in
//! their names.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use weir_core::units::Time;
use weir_experiment::{Experiment, Setup};
use weir_scenario::{Override, Scenario, builtin};
use weir_sim::World;

const RANDOM_200: &str = include_str!("../../../scenarios/examples/random-200.toml");

/// The bytes on the heap.
static LIVE: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[expect(unsafe_code, reason = "an allocator is unsafe by its interface")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Ordering::Relaxed);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A generated network with one flow per node. The durations are chosen so that all cases have about the same
/// number of packet-hops.
macro_rules! growth {
    ($name:literal, $nodes:literal, $duration:literal, $scheme:literal) => {
        (
            $name,
            "random-200",
            &[
                concat!("generate.nodes=", $nodes),
                concat!("generate.flows.count=", $nodes),
                "generate.flows.start_spread=20ms",
                concat!("duration=", $duration),
                concat!("scheme.default=", $scheme),
            ],
        )
    };
}

const LARGE: &[&str] =
    &["generate.nodes=2000", "generate.flows.count=2000", "duration=600ms", "scheme.default=fixed"];

/// Name, built-in scenario or random-200, and overrides.
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
    (
        "100 000 short flows, fixed",
        "qsccp/dumbbell",
        &[
            "flow.*.count=25000",
            "flow.*.amount=3",
            "flow.*.start_spread=900ms",
            "flow.EF.source_rate=1Mb/s",
            "link.*.rate=250Gb/s",
            "link.R2-R3.rate=25Gb/s",
            "duration=1s",
            "scheme.default=fixed",
        ],
    ),
    growth!("growth, fixed, 100 nodes", "100", "8s", "fixed"),
    growth!("growth, fixed, 300 nodes", "300", "2600ms", "fixed"),
    growth!("growth, fixed, 1 000 nodes", "1000", "800ms", "fixed"),
    growth!("growth, fixed, 5 000 nodes", "5000", "130ms", "fixed"),
    growth!("growth, fixed, 20 000 nodes", "20000", "25ms", "fixed"),
    growth!("growth, qsccp, 100 nodes", "100", "8s", "qsccp"),
    growth!("growth, qsccp, 300 nodes", "300", "2600ms", "qsccp"),
    growth!("growth, qsccp, 1 000 nodes", "1000", "800ms", "qsccp"),
    growth!("growth, qsccp, 5 000 nodes", "5000", "130ms", "qsccp"),
    growth!("growth, qsccp, 20 000 nodes", "20000", "25ms", "qsccp"),
];

/// Two worlds; the second has more of the weighed thing.
struct Weighed {
    what: &'static str,
    more: u32,
    text: &'static str,
    worlds: [&'static [&'static str]; 2],
    /// How long they run.
    until: Time,
}

const WEIGHED: &[Weighed] = &[
    Weighed {
        what: "node",
        more: 10_000,
        text: RANDOM_200,
        worlds: [
            &["generate.nodes=1000", "generate.flows.count=10", "scheme.default=fixed"],
            &["generate.nodes=11000", "generate.flows.count=10", "scheme.default=fixed"],
        ],
        until: Time::ZERO,
    },
    Weighed {
        what: "flow",
        more: 99_000,
        text: PAIR,
        worlds: [&["flow.*.count=1000"], &["flow.*.count=100000"]],
        until: Time::ZERO,
    },
    Weighed {
        what: "pending Interest",
        more: 100_000,
        text: PAIR,
        worlds: [
            &["flow.*.count=1", "scheme.fixed.window=10000"],
            &["flow.*.count=1", "scheme.fixed.window=110000"],
        ],
        until: Time::from_nanos(1_000_000_000),
    },
];

/// Interests are pending at both ends of a long link.
const PAIR: &str = "
title = \"A consumer and a producer\"
source = \"assumed: what things weigh\"
duration = \"10 s\"
scheme.default = \"fixed\"
[[node]]
name = [\"C\", \"P\"]
[[link]]
ends = [\"C\", \"P\"]
rate = \"100 Gb/s\"
delay = \"10 s\"
queue = \"1000000 packets\"
[[flow]]
name = \"one\"
consumer = \"C\"
producer = \"P\"
prefix = \"/a{}\"
lifetime = \"60 s\"
";

/// The measurements of a case.
struct Figures {
    flows: usize,
    hops: u64,
    read_s: f64,
    build_s: f64,
    run_s: f64,
    /// Time of the yardstick.
    yard_s: f64,
    peak_mb: f64,
}

impl Figures {
    fn ns_per_hop(&self) -> f64 {
        1e9 * self.run_s / self.hops as f64
    }

    fn print(&self, name: &str) {
        let Figures { flows, hops, read_s, build_s, run_s, yard_s, peak_mb } = self;
        let per_second = *hops as f64 / run_s;
        println!(
            "{name:<32} {flows:>8} {hops:>12} {read_s:>8.3} {build_s:>8.3} {run_s:>8.3} {:>8.2} {:>8.0} {:>9.0} {peak_mb:>9.0}",
            per_second / 1e6,
            self.ns_per_hop(),
            per_second * yard_s,
        );
    }

    fn written(&self) -> String {
        let Figures { flows, hops, read_s, build_s, run_s, yard_s, peak_mb } = self;
        format!("{flows} {hops} {read_s} {build_s} {run_s} {yard_s} {peak_mb}")
    }

    fn parsed(text: &str) -> Figures {
        let mut words = text.split_whitespace().map(|word| word.parse::<f64>().expect("a number"));
        let mut next = || words.next().expect("seven numbers");
        Figures {
            flows: next() as usize,
            hops: next() as u64,
            read_s: next(),
            build_s: next(),
            run_s: next(),
            yard_s: next(),
            peak_mb: next(),
        }
    }
}

fn main() {
    if let Ok(case) = std::env::var("WEIR_BENCH_CASE") {
        return println!("{}", run_case(case.parse().expect("an index")).written());
    }
    if let Ok(case) = std::env::var("WEIR_BENCH_WEIGHED") {
        return println!("{}", weigh(&WEIGHED[case.parse::<usize>().expect("an index")]));
    }
    let wanted = std::env::var("WEIR_BENCH").unwrap_or_default();
    println!(
        "{:<32} {:>8} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "case",
        "flows",
        "packet-hops",
        "read s",
        "build s",
        "run s",
        "M hops/s",
        "ns/hop",
        "hops/yard",
        "peak MB"
    );
    let mut grown: Vec<(&str, f64)> = Vec::new();
    for (index, (name, ..)) in CASES.iter().enumerate().filter(|(_, case)| case.0.contains(&*wanted)) {
        let figures = Figures::parsed(&own_process("WEIR_BENCH_CASE", index));
        figures.print(name);
        grown.push((name, figures.ns_per_hop()));
    }
    for scheme in ["fixed", "qsccp"] {
        let of = |nodes: &str| {
            let name = format!("growth, {scheme}, {nodes} nodes");
            grown.iter().find(|(of, _)| *of == name).map(|(_, ns)| ns)
        };
        if let (Some(few), Some(many)) = (of("100"), of("20 000")) {
            println!(
                "{scheme}: a packet-hop takes {:.2} times as long at 20 000 nodes as at 100",
                many / few
            );
        }
    }
    for (index, weighed) in WEIGHED.iter().enumerate().filter(|(_, weighed)| weighed.what.contains(&*wanted))
    {
        println!("a {}: {} B", weighed.what, own_process("WEIR_BENCH_WEIGHED", index).trim());
    }
}

/// Runs this program as a process of its own and returns its output.
fn own_process(variable: &str, index: usize) -> String {
    let me = std::env::current_exe().expect("this program has a path");
    let output =
        Command::new(&me).env(variable, index.to_string()).stderr(std::process::Stdio::inherit()).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "case {index} failed");
    String::from_utf8(output.stdout).expect("it prints text")
}

fn scenario(name: &str, text: &str, set: &[&str]) -> Scenario {
    let overrides: Vec<_> = set.iter().map(|text| Override::parse(text).expect("it is right")).collect();
    Scenario::parse(name, name, text, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn world(scenario: &Arc<Scenario>) -> World {
    let setup = Setup { with_series: false, ..Setup::default() };
    let experiment = Experiment::new(Arc::clone(scenario), &setup).unwrap_or_else(|error| panic!("{error}"));
    World::build(experiment).unwrap_or_else(|error| panic!("{error}"))
}

fn run_case(index: usize) -> Figures {
    let (name, base, set) = CASES[index];
    let begun = Instant::now();
    let scenario = Arc::new(scenario(base, builtin(base).unwrap_or(RANDOM_200), set));
    let read_s = begun.elapsed().as_secs_f64();
    let threads = if name.ends_with("2 threads") { 2 } else { 1 };
    // The median of three runs, because other load on the machine varies.
    let mut runs: Vec<Figures> = (0..3)
        .map(|_| {
            let yard = yardstick();
            let begun = Instant::now();
            let world = world(&scenario);
            let build_s = begun.elapsed().as_secs_f64();
            let mut world = world.on_threads(threads);
            let begun = Instant::now();
            world.run_until(Time::ZERO + scenario.duration).unwrap_or_else(|error| panic!("{error}"));
            Figures {
                flows: scenario.flows.len(),
                hops: world.packet_hops(),
                read_s,
                build_s,
                run_s: begun.elapsed().as_secs_f64(),
                yard_s: ((yard + yardstick()) / 2).as_secs_f64(),
                peak_mb: peak_megabytes(),
            }
        })
        .collect();
    runs.sort_by(|a, b| a.run_s.total_cmp(&b.run_s));
    runs.swap_remove(1)
}

/// Bytes for each additional thing.
fn weigh(weighed: &Weighed) -> i64 {
    let bytes = weighed.worlds.map(|set| {
        let scenario = Arc::new(scenario("weighed", weighed.text, set));
        let before = LIVE.load(Ordering::Relaxed);
        let mut world = world(&scenario);
        world.run_until(weighed.until, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
        let bytes = LIVE.load(Ordering::Relaxed) - before;
        drop(world);
        bytes as i64
    });
    (bytes[1] - bytes[0]) / i64::from(weighed.more)
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

/// Peak resident memory of this process; 0 if the system does not report it.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
