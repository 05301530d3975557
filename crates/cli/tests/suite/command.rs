//! The command line from a user's view: output, exit codes and error messages.
use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::common::{WEIR, changed, command, folder, keys, printed, refused, text, weir, weir_anew};

/// A run short enough for a test.
const SHORT: &[&str] = &[
    "run",
    "qsccp/dumbbell",
    "--set",
    "duration=2s",
    "--set",
    "window.steady.from=1s",
    "--set",
    "window.steady.to=2s",
];

fn short(more: &[&str]) -> Output {
    weir(&[SHORT, more].concat())
}

#[test]
fn a_mistake_in_a_setting_is_refused_with_what_would_be_right() {
    let set = |setting| ["run", "qsccp/dumbbell", "--set", setting];
    refused(&set("link.R2-R3.speed=10Mb/s"), &["error:", "speed", "rate"]);
    refused(&set("link.R2-R3.rate=10ms"), &["link.R2-R3.rate", "Mb/s"]);
    refused(&set("link.R2-R3.rate=10"), &["link.R2-R3.rate", "Mb/s"]);
    refused(&set("link.R2-R9.rate=10Mb/s"), &["R2-R9"]);
    refused(&set("scheme.qsccp.gamma=7"), &["scheme.qsccp.gamma", "0.01 to 0.999"]);
    refused(&set("scheme.qsccp.gamme=0.9"), &["gamme", "gamma"]);
    refused(&set("duration"), &["duration"]);
    refused(&set("=3"), &["=3"]);
}

#[test]
fn an_unknown_scenario_or_scheme_is_refused_with_the_command_that_lists_them() {
    refused(&["run", "qsccp/dumbell"], &["qsccp/dumbell", "qsccp/dumbbell"]);
    refused(&["run", "qsccp/dumbbell", "--scheme", "tcp"], &["`tcp`", "`weir list` prints the schemes"]);
    refused(&["list", "nothing"], &["`nothing`", "`weir list` prints the built-in scenarios"]);
}

#[test]
fn a_window_that_is_none_or_not_within_the_run_is_refused() {
    for (window, word) in [
        ("20", "20:120"),
        ("a:b", "20:120"),
        ("20:10", "20 s"),
        ("20:900", "120 s"),
        ("5:5", "5 s"),
        ("-1:5", ""),
    ] {
        refused(&["run", "qsccp/dumbbell", &format!("--window={window}"), "--json"], &["window", word]);
    }
}

#[test]
fn a_mistake_in_a_file_is_refused_with_file_line_and_key() {
    let file = changed("unknown-node", "ends = [\"alice\"", "ends = [\"Rx\"");
    refused(&["run", &file], &["scenario.toml", "Rx"]);
    let file = changed("unknown-key", "[[link]]", "[[link]]\nspeed = 3");
    refused(&["run", &file], &["scenario.toml:", "speed"]);
    let file = changed("not-toml", "title", "title title");
    refused(&["run", &file], &["scenario.toml"]);
}

#[test]
fn a_paper_is_no_experiment_and_its_experiments_are_named() {
    for command in ["run", "optimum"] {
        let experiments = "= its experiments: e2e-aqm/dumbbell, e2e-aqm/cascade, e2e-aqm/parking-lot; ";
        refused(&[command, "e2e-aqm"], &["error: `e2e-aqm` is a paper, not an experiment", experiments]);
    }
    refused(&["run", "examples"], &["there is no scenario and no file called `examples`"]);
}

#[test]
fn a_setting_that_one_of_several_scenarios_lacks_is_an_error_that_names_it() {
    let compare = ["compare", "qsccp/dumbbell", "examples/minimal", "--schemes", "qsccp", "--seeds", "1"];
    let set = ["--set", "link.R2-R3.rate=3Mb/s"];
    refused(
        &[&compare[..], &set].concat(),
        &["error: examples/minimal: --set link.R2-R3.rate=3Mb/s: there is no link `R2-R3`"],
    );
    refused(
        &["compare", "qsccp/dumbbell", "--schemes", "ndn-qsf", "--set", "scheme.ndn-qsf.queue_low=30"],
        &["`30` is larger than queue_high, which is 20: give 20 or less, or raise queue_high"],
    );
}

#[test]
fn the_help_of_compare_says_that_it_needs_schemes() {
    let help = printed(&weir(&["compare", "--help"]));
    assert!(help.contains("weir compare [OPTIONS] --schemes <A,B,...|all> <SCENARIO|PAPER>..."), "{help}");
    assert!(help.contains("weir compare [OPTIONS] --all"), "{help}");
    refused(&["compare", "qsccp/dumbbell"], &["--schemes <A,B,...|all>"]);
}

#[test]
fn schemes_that_are_none_and_parameters_of_those_that_do_not_run_are_refused() {
    let set = |setting| ["run", "examples/minimal", "--json", "--set", setting];
    refused(
        &set("scheme.qscpc.weights.AF2=6"),
        &["error: --set scheme.qscpc.weights.AF2=6: ", "there is no scheme `qscpc`; did you mean `qsccp`?"],
    );
    refused(&set("scheme.qsccp.weights.AF2=-1"), &["--set scheme.qsccp.weights.AF2=-1: ", "0.001 to 1000"]);
    refused(&set("scheme.qsccp.weights.EF=3"), &["--set scheme.qsccp.weights.EF=3: ", "unknown parameter"]);
    refused(&set("scheme.default=fixd"), &["did you mean `fixed`?"]);
    refused(&set("flow.video.scheme=fixd"), &["did you mean `fixed`?"]);
    for period in ["0s", "1ns", "11s"] {
        let setting = format!("scheme.qsccp.period={period}");
        refused(
            &["run", "examples/minimal", "--set", &setting],
            &[period, "is not a time from 1 ms to 10 s"],
        );
    }
    let file = changed("scheme-table", "[[node]]", "[scheme.qscpc]\nwindow = 3\n[[node]]");
    refused(&["run", &file], &["scenario.toml:", "[scheme.qscpc]", "did you mean `qsccp`?"]);
    refused(&["list", &file], &["did you mean `qsccp`?"]);
}

#[test]
fn a_setting_of_a_scheme_that_does_not_run_is_refused_with_those_that_do() {
    let cubic = ["--set", "scheme.cubic.beta=0.5"];
    let none = "--set scheme.cubic.beta=0.5: no flow runs this scheme\n  = schemes that run here: ";
    let bbr = ["run", "examples/minimal", "--json", "--scheme", "bbr"];
    refused(&[&bbr[..], &cubic].concat(), &[none, "here: bbr\n"]);
    let compare = ["compare", "examples/minimal", "--json", "--seeds", "1", "--schemes"];
    refused(&[&compare[..], &["bbr,reno"], &cubic].concat(), &[none, "here: bbr, reno\n"]);
    let several = ["compare", "examples/minimal", "qsccp/dumbbell", "--schemes", "bbr", "--json"];
    refused(&[&several[..], &cubic].concat(), &[none]);
    refused(&[&["traffic", "examples/minimal", "--scheme", "bbr"], &cubic[..]].concat(), &[none]);
    // The scheme runs, or the optimum is computed for it.
    printed(&weir(&[&compare[..], &["bbr,cubic"], &cubic].concat()));
    let own = ["--set", "flow.video.scheme=cubic"];
    printed(&weir(&[&bbr[..], &cubic, &own].concat()));
    // One of several scenarios runs it, which suffices.
    let file = changed("own-scheme", "[[flow]]", "[[flow]]\nscheme = \"cubic\"");
    let several = ["compare", "examples/minimal", &file, "--schemes", "bbr", "--seeds", "1", "--json"];
    printed(&weir(&[&several[..], &cubic].concat()));
    printed(&weir(&[&bbr[..], &["--set", "scheme.qsccp.weights.AF2=7"]].concat()));
    refused(
        &[&bbr[..], &["--set", "scheme.qsccp.target_utilisation=0.9"]].concat(),
        &["no flow runs this scheme"],
    );
}

#[test]
fn what_would_take_all_memory_or_never_end_is_refused_at_once() {
    refused(
        &["run", "qsccp/dumbbell", "--set", "sample=1ns"],
        &["--set sample=1ns", "smallest possible sample", "500 us"],
    );
    for lifetime in ["1ns", "1us"] {
        let setting = format!("flow.*.lifetime={lifetime}");
        refused(&["run", "qsccp/dumbbell", "--set", &setting], &[&setting, "a time from 1 ms"]);
    }
    let network = ["generate.nodes=20000", "generate.degree=100"].map(|setting| ["--set", setting]).concat();
    let args = [&["run", "examples/random-200"][..], &network].concat();
    refused(&args, &["generate.degree=100", "1000000 links", "at most 10"]);
}

#[test]
fn what_is_no_scenario_is_said_in_a_few_words() {
    let file = folder("zero").join("zero.bin");
    fs::write(&file, vec![0; 3_000_000]).unwrap();
    let output = weir(&["run", file.to_str().unwrap()]);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint.len() < 2000, "{} bytes", complaint.len());
    assert!(complaint.contains("zero.bin:1: ") && !complaint.contains('\0'), "{complaint}");
    fs::write(&file, b"title = \"t\"\n\xff").unwrap();
    refused(&["run", file.to_str().unwrap()], &["zero.bin:2: ", "not UTF-8"]);
    #[cfg(unix)]
    refused(&["run", "/dev/zero"], &["/dev/zero is larger than 64 MB"]);
    let empty = folder("no-scenario-in-it");
    refused(&["run", empty.to_str().unwrap()], &["is a folder, not a scenario", "weir list"]);
    fs::write(empty.join("mine.toml"), "").unwrap();
    refused(&["run", empty.to_str().unwrap()], &["give a file in it", "mine.toml"]);
}

#[test]
fn a_seed_that_is_none_or_given_twice_is_refused() {
    refused(
        &["run", "qsccp/dumbbell", "--seed", "1", "--seed", "2", "--seed", "1"],
        &["--seed: seed 1 is given twice"],
    );
    for args in [&["--seed", "-1"][..], &["--seed=-1"], &["--seed", "1.5"]] {
        refused(&[&["run", "qsccp/dumbbell"], args].concat(), &["a seed is a whole number from 0 to"]);
    }
    refused(&["run", "qsccp/dumbbell", "--window", "-5:5"], &["--window -5:5", "begins at 0 or later"]);
}

#[test]
fn threads_change_no_figure_and_a_note_says_why_one_makes_it_alone() {
    let document = |threads: &[&str]| {
        let output = weir_anew(&[SHORT, &["--json"], threads].concat());
        let mut document: Value = serde_json::from_str(&printed(&output)).unwrap();
        document["wall_s"] = Value::Null;
        document
    };
    assert_eq!(document(&[]), document(&["--threads", "3"]));
    let checked = weir_anew(&[SHORT, &["--json", "--check-wire", "--threads", "2"]].concat());
    assert!(
        checked.status.success()
            && text(&checked.stderr).contains("note: one thread makes the run: the wire check")
    );
    refused(&["run", "qsccp/dumbbell", "--threads", "0"], &["threads", "from 1 to 1024, or `all`"]);
}

#[test]
fn a_mistake_in_a_built_in_scenario_is_one_of_it_and_not_of_a_file() {
    let args = ["run", "qsccp/dumbbell", "--set", "window.steady.from=200s"];
    refused(&args, &["error: --set window.steady.from=200s: ", "see built-in scenario qsccp/dumbbell:"]);
    let run = ["run", "examples/minimal", "--set", "node.alice.cache_ratio_for=/vidio"];
    refused(&run, &["--set node.alice.cache_ratio_for=/vidio: there is no `cache_ratio` for these prefixes"]);
    refused(
        &[&run[..], &["--set", "node.alice.cache_ratio=0.5"]].concat(),
        &["--set node.alice.cache_ratio_for=/vidio: ", "did you mean `/video`"],
    );
}

#[test]
fn quantities_that_cannot_be_say_why() {
    let set = |setting| ["run", "examples/minimal", "--set", setting];
    refused(&set("duration=9999999999min"), &["is too large"]);
    refused(&set("duration=-1s"), &["is negative"]);
    refused(&set("link.alice-bob.rate=1e9Tb/s"), &["is too large"]);
}

#[test]
fn without_flows_the_expectations_about_links_are_judged() {
    let output = weir(&["run", "examples/minimal", "--set", "flow.video.count=0", "--json"]);
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    let row = &document["expectations"][0];
    assert_eq!((row["measured"].as_f64(), row["holds"].as_bool()), (Some(0.0), Some(false)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_an_error() {
    for args in [&["list"][..], &[SHORT, &["--json"]].concat()] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_weir")).args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("error: standard output could not be written"), "{args:?}");
    }
}

#[test]
fn a_run_continues_when_nobody_reads_its_notes() {
    let (reads, writes) = std::io::pipe().unwrap();
    drop(reads);
    let mut command = Command::new(WEIR);
    // It prints a note about the threads.
    command.args(SHORT).args(["--json", "--check-wire", "--threads", "2"]).env_remove("WEIR_RUNS");
    let output = command.stderr(writes).output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert!(text(&output.stdout).starts_with('{'));
}

#[test]
fn the_axes_of_a_scenario_are_listed() {
    let axis = "[[axis]]\nname = \"loss\"\nset = \"link.alice-bob.loss\"\nvalues = [0.0, 0.1]\n\n[[link]]";
    let file = changed("axes", "[[link]]", axis);
    let list = printed(&weir(&["list", &file]));
    assert!(list.contains("axis.loss = 0.0  [values: 0.0, 0.1; sets link.alice-bob.loss]"), "{list}");
    let run = |value: &str| printed(&weir(&["run", &file, "--json", "--set", &format!("axis.loss={value}")]));
    assert!(run("0.1").contains("\"scenario\""));
}

#[test]
fn a_producer_that_no_route_leads_to_is_refused() {
    let file = folder("unreachable").join("scenario.toml");
    let text = r#"
title = "two islands"
source = "assumed: a test"
duration = "1 s"
[scheme]
default = "fixed"
[[node]]
name = ["C", "P", "A", "B"]
[[link]]
ends = ["C", "A"]
rate = "1 Mb/s"
delay = "1 ms"
queue = "9 packets"
[[link]]
ends = ["P", "B"]
rate = "1 Mb/s"
delay = "1 ms"
queue = "9 packets"
[[flow]]
name = "f"
consumer = "C"
producer = "P"
prefix = "/f"
payload = "1 kB"
[routing]
policy = "shortest-path"
"#;
    fs::write(&file, text).unwrap();
    refused(&["run", file.to_str().unwrap()], &["P", "C"]);
}

fn sorted<const N: usize>(mut names: [&str; N]) -> Vec<&str> {
    names.sort_unstable();
    names.to_vec()
}

#[test]
fn json_is_one_document_with_the_stated_keys_and_nothing_else() {
    let output = short(&["--json", "--window", "1:2"]);
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    let top = [
        "schema",
        "version",
        "command",
        "scenario",
        "scheme",
        "seed",
        "seed_matters",
        "set",
        "scenario_text",
        "simulated_s",
        "wall_s",
        "events",
        "packet_hops",
        "drops",
        "data_thrown_away",
        "flows",
        "classes",
        "groups",
        "links",
        "nodes",
        "distributions",
        "windows",
        "optimum",
        "expectations",
    ];
    assert_eq!(keys(&document), sorted(top));
    let figures = ["goodput_bps", "delay_ms", "lost", "retransmitted", "timeouts", "completion_s", "hops"];
    let mut flow = figures.to_vec();
    flow.extend(["consumer", "prefix", "group", "class"]);
    flow.sort_unstable();
    assert_eq!(keys(&document["flows"][0]), flow);
    let mut class = figures.to_vec();
    class.extend(["class", "completion_mean_s", "jain"]);
    class.sort_unstable();
    assert_eq!(keys(&document["classes"][0]), class);
    let mut group = figures.to_vec();
    group.extend(["group", "completion_mean_s", "jain"]);
    group.sort_unstable();
    assert_eq!(keys(&document["groups"][0]), group);
    assert_eq!(keys(&document["flows"][0]["delay_ms"]), ["mean", "p50", "p95", "p99"]);
    let link = ["from", "to", "rate_bps", "utilisation", "drops", "lost", "down", "queue_ms"];
    assert_eq!(keys(&document["links"][0]), sorted(link));
    assert_eq!(keys(&document["links"][0]["queue_ms"]), ["mean", "p99"]);
    let node = [
        "node",
        "cache_hits",
        "cache_misses",
        "cache_insertions",
        "cache_evictions",
        "cache_hit_ratio",
        "pit_mean",
        "pit_max",
        "drops",
    ];
    assert_eq!(keys(&document["nodes"][0]), sorted(node));
    assert_eq!(keys(&document["flows"][0]["hops"]), ["counts", "mean"]);
    assert_eq!(
        keys(&document["windows"][0]),
        sorted([
            "from_s",
            "to_s",
            "flows",
            "classes",
            "groups",
            "links",
            "nodes",
            "distributions",
            "optimum",
        ])
    );
    let optimum = &document["windows"][0]["optimum"];
    assert_eq!(
        keys(optimum),
        ["distance", "flows", "objective", "target", "utilisation", "weighted_jain", "weights"]
    );
    assert_eq!(
        keys(&optimum["flows"][0]),
        ["class", "consumer", "goodput_bps", "prefix", "unshared_goodput_bps"]
    );
    assert_eq!(keys(&optimum["distance"]), ["highest", "largest", "lowest", "mean", "within_5_percent"]);
    let row = ["what", "source", "unit", "stated", "measured", "tolerance", "bound", "holds"];
    assert_eq!(keys(&document["expectations"][0]), sorted(row));
    assert_eq!((document["seed"].as_u64(), document["simulated_s"].as_f64()), (Some(1), Some(2.0)));
    assert!(document["wall_s"].as_f64().unwrap() > 0.0);
    assert_eq!(document["set"], json!(["duration=2s", "window.steady.from=1s", "window.steady.to=2s"]));
    assert_eq!(document["flows"].as_array().unwrap().len(), 40);
    let last = document["windows"].as_array().unwrap().last().unwrap();
    assert_eq!((last["from_s"].as_f64(), last["to_s"].as_f64()), (Some(1.0), Some(2.0)));
}

#[test]
fn a_run_without_windows_says_how_far_it_is_from_the_optimum() {
    let none = changed("no-window", "[[window]]", "[[window]]");
    let whole = fs::read_to_string(&none).unwrap();
    fs::write(&none, whole.split_once("[[window]]").unwrap().0).unwrap();
    let document: Value = serde_json::from_str(&printed(&weir(&["run", &none, "--json"]))).unwrap();
    assert_eq!(document["windows"], json!([]));
    let [best, got] =
        [&document["optimum"]["flows"][0], &document["flows"][0]].map(|row| number(row, "goodput_bps"));
    let lowest = number(&document["optimum"]["distance"], "lowest");
    assert!((got / best - 1.0 - lowest).abs() < 1e-9 && (-0.2..0.0).contains(&lowest), "{lowest}");
    let text = printed(&weir(&["run", &none, "--out", folder("no-window-out").to_str().unwrap()]));
    assert!(text.contains("Distance from the optimum"), "{text}");
}

#[test]
fn the_optimum_says_that_it_knows_nothing_of_greed_where_flows_are() {
    let said = |set: &[&str]| {
        printed(&weir(
            &[&["run", "examples/minimal", "--out", folder("greed").to_str().unwrap()], set].concat(),
        ))
    };
    let greedy = said(&["--set", "flow.video.source_rate=20 Mb/s", "--set", "flow.video.unresponsive=true"]);
    assert!(greedy.contains("ignores greedy flows") && !said(&[]).contains("greedy flows:"), "{greedy}");
}

/// In the dumbbell, the flows of a class are one group.
#[test]
fn a_group_has_the_figures_of_its_flows_together() {
    let document: Value = serde_json::from_str(&printed(&short(&["--json"]))).unwrap();
    for rows in [&document, &document["windows"][0]] {
        let mut groups = rows["groups"].clone();
        for group in groups.as_array_mut().unwrap() {
            let name = group.as_object_mut().unwrap().remove("group").unwrap();
            group["class"] = name;
        }
        assert_eq!(groups, rows["classes"]);
        assert_eq!(groups.as_array().unwrap().len(), 4);
    }
}

#[test]
fn each_window_says_how_far_flows_are_from_the_optimum() {
    let output = weir(&["run", "qsccp/tree", "--set", "duration=30s", "--window", "6:12", "--json"]);
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    for window in document["windows"].as_array().unwrap() {
        let (flow, optimum) = (&window["flows"][0], &window["optimum"]);
        let (measured, best) = (number(flow, "goodput_bps"), number(&optimum["flows"][0], "goodput_bps"));
        let apart = (measured / best - 1.0).abs();
        assert!((number(&optimum["distance"], "mean") - apart).abs() < 1e-12, "{optimum}");
        // The difference from the content's part of 10 Mb/s of Data is QSCCP's target and its own fields.
        assert!((9.1e6..9.4e6).contains(&best) && apart < 0.02, "{measured} of {best}");
        assert_eq!(number(&optimum["distance"], "within_5_percent"), 1.0);
        assert_eq!(
            (optimum["objective"].as_str(), optimum["utilisation"].as_f64()),
            (Some("link-fair"), Some(1.0))
        );
        // The scheme's own target is a part of that, and closer.
        let target = &optimum["target"];
        let all: f64 =
            optimum["flows"].as_array().unwrap().iter().map(|flow| number(flow, "goodput_bps")).sum();
        assert_eq!(number(target, "utilisation"), 0.99);
        assert!((number(target, "goodput_bps") / all - 0.99).abs() < 1e-6, "{optimum}");
        assert!((number(&target["distance"], "mean") - apart).abs() > 0.009, "{optimum}");
    }
    let out = folder("distance");
    let output = short(&["--out", out.to_str().unwrap()]);
    let weights = "AF2 : AF1 : BE = 3 : 2 : 1, EF first, up to 30 %";
    let line = format!("Distance from the optimum (link-fair, {weights}, 100 % of links): mean ");
    let target = "Distance from the target of qsccp (99 % of links, ";
    let text = printed(&output);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for line in [&*line, target] {
        assert!(text.lines().any(|l| l.starts_with(line)), "{text}");
        assert!(page.contains(&format!("1 s to 2 s: {line}")));
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn the_optimum_of_a_scenario_is_printed_and_is_one_document() {
    let text = printed(&weir(&["optimum", "qsccp/dumbbell"]));
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "utilisation 1",
        "20 s to 120 s",
        "C2 /B0 AF2 450 kb/s 450 kb/s 10 Mb/s",
        "R3 → R2 10 Mb/s 10 Mb/s",
        "The target of qsccp is 99 % of links: 9.214 Mb/s for all flows, of 9.307 Mb/s in the optimum.",
    ] {
        assert!(squeezed.contains(part), "no `{part}` in\n{text}");
    }
    let json = |args: &[&str]| -> Value {
        let all = [&["optimum", "qsccp/abilene-multipath", "--json"][..], args].concat();
        serde_json::from_str(&printed(&weir(&all))).unwrap()
    };
    for objective in ["link-fair", "max-min", "proportional", "max-flow"] {
        let document =
            json(&["--objective", objective, "--utilisation", "0.5", "--window", "0:1", "--window", "1:2"]);
        assert_eq!(
            (document["objective"].as_str(), document["utilisation"].as_f64()),
            (Some(objective), Some(0.5))
        );
        let windows = document["windows"].as_array().unwrap();
        assert_eq!(windows.len(), 2);
        let window = &windows[0];
        assert_eq!(window["flows"].as_array().unwrap().len(), 24);
        assert_eq!(window["flows"][0]["max_min_bps"].is_number(), objective == "link-fair");
        let (first, names) = (&window["bottlenecks"][0], &window["links"]);
        assert!(
            names
                .as_array()
                .unwrap()
                .iter()
                .any(|link| link["from"] == first["from"] && link["to"] == first["to"])
        );
        assert_eq!(document["completions"].as_array().unwrap().len(), 24);
    }
    // Without windows, the document covers the whole run.
    let document = printed(&weir(&["optimum", "examples/minimal", "--json", "--window", "0:10"]));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["utilisation"].as_f64(), Some(1.0));
    assert_eq!(number(&document["windows"][0]["flows"][0], "rate_bps"), 10e6);
    assert_eq!(document["windows"][0]["flows"][0]["held"][0]["by"], "bob->alice");
}

#[test]
fn an_optimum_that_cannot_be_is_refused() {
    let of = |args: &[&'static str]| [&["optimum", "qsccp/dumbbell"][..], args].concat();
    refused(&of(&["--utilisation", "1.5"]), &["the utilisation 1.5", "at most 1"]);
    refused(&of(&["--utilisation", "-1"]), &["the utilisation -1"]);
    refused(
        &of(&["--objective", "best"]),
        &["`best` is not one of link-fair, max-min, proportional, max-flow"],
    );
    refused(&of(&["--window", "5:900"]), &["5 s to 900 s", "end by 120 s"]);
    refused(&of(&["--window", "5"]), &["20:120"]);
    refused(&["optimum", "qsccp/dumbell"], &["qsccp/dumbbell"]);
    let set = ["--set", "node.C1.cache_ratio=1"];
    refused(&of(&set), &["--set node.C1.cache_ratio=1: ", "all content that the consumer requests"]);
}

/// Two flows of the same length share a link: each takes twice as long as alone, in the optimum and approximately when
/// measured.
#[test]
fn slowdowns_stand_beside_those_of_the_optimum() {
    let text = "title = \"two\"\nduration = \"10 s\"\n[scheme]\ndefault = \"fixed\"\n[routing]\npolicy = \
        \"shortest-path\"\n[[node]]\nname = [\"C{1..4}\", \"P\"]\n[[link]]\nbetween = [\"C{1..4}-P\"]\nrate = \"10 \
        Mb/s\"\ndelay = \"5 ms\"\n[[flow]]\nname = \"f\"\nconsumer = \"C{1..2}\"\ndrawn_from = \"C{1..4}\"\nproducer = \
        \"P\"\nprefix = \"/f\"\namount = 1000\n[[flow]]\nname = \"g\"\nconsumer = \"C1\"\nproducer = \"P\"\nprefix = \
        \"/g\"\namount = 1000\n";
    let file = folder("slowdowns").join("two.toml");
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    refused(&["optimum", file], &["the seed draws the consumers or the amounts of flow f", "--seed"]);
    let json = |args: &[&str]| -> Value { serde_json::from_str(&printed(&weir(args))).unwrap() };
    for seed in ["1", "2", "3"] {
        let best = json(&["optimum", file, "--seed", seed, "--json"]);
        let run = json(&["run", file, "--seed", seed, "--json"]);
        let completions = best["completions"].as_array().unwrap();
        let slowdowns = run["slowdowns"].as_array().unwrap();
        assert_eq!((completions.len(), slowdowns.len()), (3, 3));
        assert_eq!(
            (&best["windows"][0]["exact"], &best["windows"][0]["inexact"]),
            (&json!(true), &Value::Null)
        );
        assert_eq!(best["completions_inexact"], Value::Null);
        let shares = run["flows"]
            .as_array()
            .unwrap()
            .iter()
            .any(|flow| flow["prefix"] == "/f" && flow["consumer"] == "C1");
        for (at, (best, measured)) in completions.iter().zip(slowdowns).enumerate() {
            assert_eq!(best["consumer"], run["flows"][at]["consumer"], "the seed draws the same consumers");
            let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
            let expected = if shares && best["consumer"] == "C1" { 2.0 } else { 1.0 };
            let slowdown = number(best, "slowdown");
            assert!((slowdown / expected - 1.0).abs() < 0.01, "{slowdown}, not {expected}");
            assert_eq!(number(best, "round_trip_s"), 0.01);
            assert_eq!(number(measured, "optimum_slowdown"), slowdown);
            assert_eq!(number(measured, "alone_s"), number(best, "alone_s"));
            assert!(number(measured, "slowdown") >= slowdown * 0.99, "{measured}");
        }
    }
}

/// Each row contains everything that a program needs to decide for itself.
#[test]
fn holds_follows_from_the_other_keys_of_an_expectation() {
    let document: Value = serde_json::from_str(&printed(&short(&["--json"]))).unwrap();
    let rows = document["expectations"].as_array().unwrap();
    let mut bounds = Vec::new();
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let (stated, tolerance) = (number("stated"), number("tolerance"));
        let slack = if stated == 0.0 { tolerance } else { tolerance * stated.abs() };
        let apart = number("measured") - stated;
        let bound = row["bound"].as_str().unwrap();
        let holds = match bound {
            "about" => apart.abs() <= slack,
            "at_most" => apart <= slack,
            "at_least" => -apart <= slack,
            _ => panic!("{bound}"),
        };
        assert_eq!(row["holds"], holds, "{row}");
        bounds.push(bound);
    }
    assert!(bounds.contains(&"about") && bounds.contains(&"at_most"));
}

#[test]
fn an_expectation_has_the_unit_of_what_is_measured() {
    let document: Value = serde_json::from_str(&printed(&short(&["--json"]))).unwrap();
    let rows = document["expectations"].as_array().unwrap();
    let units = [
        ("rate of Data of class EF", "bit/s"),
        ("Data packets lost", "packets"),
        ("utilisation on R3->R2", "1"),
        ("mean delay of class EF", "ms"),
        ("time to settle of class EF", "s"),
    ];
    for (what, unit) in units {
        let row = rows.iter().find(|row| row["what"].as_str().unwrap().starts_with(what));
        assert_eq!(row.unwrap_or_else(|| panic!("{what} in {rows:?}"))["unit"], unit);
    }
}

#[test]
fn what_was_set_is_printed_with_the_results() {
    let text = printed(&short(&["--out", folder("set").to_str().unwrap()]));
    let line = "with --set duration=2s --set window.steady.from=1s --set window.steady.to=2s";
    assert!(text.lines().any(|l| l == line), "{text}");
}

#[test]
fn the_document_says_which_program_made_it_and_with_which_command() {
    // Kept runs record which program made them.
    let alone = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_weir")).args(args).output().unwrap();
    let document = |args: &[&str]| -> Value { serde_json::from_str(&printed(&alone(args))).unwrap() };
    let made = document(&[
        "run",
        "examples/minimal",
        "--set",
        "duration=1 s",
        "--window",
        "0:500ms",
        "--json",
        "--seed",
        "7",
    ]);
    assert_eq!(made["schema"], json!(1));
    assert_eq!(format!("weir {}\n", made["version"].as_str().unwrap()), printed(&weir(&["--version"])));
    let command = "weir run examples/minimal --scheme fixed --seed 7 --set 'duration=1 s' --window 0:0.5";
    assert_eq!(made["command"], json!(command));
    let again =
        ["run", "examples/minimal", "--seed", "7", "--set", "duration=1 s", "--window", "0:0.5", "--json"];
    assert_eq!(document(&again)["flows"], made["flows"]);
}

#[test]
fn the_version_names_the_commit_that_is_checked_out() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let head = Command::new("git").args(["-C", root, "rev-parse", "--short=12", "HEAD"]).output();
    let head = head.ok().filter(|output| output.status.success()).map(|output| printed(&output));
    let commit = head.as_deref().map_or("unknown", str::trim);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(printed(&weir(&["--version"])), format!("weir {version} ({commit})\n"));
}

#[test]
fn several_seeds_are_an_array_in_the_order_given() {
    let output = short(&["--json", "--seed", "5", "--seed", "3"]);
    let documents: Value = serde_json::from_str(&printed(&output)).unwrap();
    let seeds: Vec<_> = documents.as_array().unwrap().iter().map(|d| d["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [5, 3]);
}

/// In `examples/minimal` nothing is random under CUBIC; under MIRCC each consumer draws labels of paths.
#[test]
fn a_run_in_which_nothing_is_random_is_made_for_all_seeds_at_once() {
    let of_scheme = |scheme: &str| {
        let seeds = ["--seed", "5", "--seed", "3", "--seed", "4", "--json"];
        // One run at a time: a second job could start a run that is not needed.
        let mut run = Command::new(env!("CARGO_BIN_EXE_weir"));
        run.args(["run", "examples/minimal", "--jobs", "1", "--set", "duration=2 s"]);
        let output = run.args(["--scheme", scheme]).args(seeds).output().unwrap();
        let note = String::from_utf8(output.stderr.clone()).unwrap();
        let documents: Value = serde_json::from_slice(&output.stdout).unwrap();
        (note, documents)
    };
    let (note, documents) = of_scheme("cubic");
    assert!(note.contains("2 runs were not repeated with another seed: nothing in them is random"), "{note}");
    for (document, seed) in documents.as_array().unwrap().iter().zip([5, 3, 4]) {
        assert_eq!((document["seed"].as_u64(), &document["seed_matters"]), (Some(seed), &Value::Bool(false)));
        assert_eq!(document["flows"], documents[0]["flows"]);
        assert!(document["command"].as_str().unwrap().contains(&format!("--seed {seed}")), "{document}");
    }
    let (note, documents) = of_scheme("mircc");
    assert!(!note.contains("not repeated"), "{note}");
    assert!(documents.as_array().unwrap().iter().all(|document| document["seed_matters"] == true));
}

#[test]
fn the_same_seed_prints_the_same_bytes_but_for_the_time_it_took() {
    let without_time = |output: Output| {
        let text = printed(&output);
        assert_eq!(text.lines().filter(|line| line.contains("\"wall_s\"")).count(), 1);
        text.lines().filter(|line| !line.contains("\"wall_s\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    let anew = || weir_anew(&[SHORT, &["--json"]].concat());
    assert_eq!(without_time(anew()), without_time(anew()));
}

#[test]
fn out_holds_the_report_the_document_and_the_tables() {
    let out = folder("out");
    let path = out.to_str().unwrap();
    let document = printed(&short(&["--json", "--out", path]));
    assert_eq!(fs::read_to_string(out.join("run.json")).unwrap(), document);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"));
    let tables = fs::read_dir(&out).unwrap().filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|ext| ext == "parquet") && fs::read(&path).unwrap().starts_with(b"PAR1")
    });
    assert!(tables.count() >= 2);
}

#[test]
fn several_seeds_have_a_folder_each() {
    let out = folder("seeds");
    let output = short(&["--seed", "1", "--seed", "2", "--out", out.to_str().unwrap()]);
    assert!(printed(&output).contains("seed-2"));
    assert!(out.join("seed-1/report.html").exists() && out.join("seed-2/report.html").exists());
}

#[test]
fn an_out_that_cannot_be_written_is_an_error() {
    let file = folder("not-a-folder").join("file");
    fs::write(&file, "").unwrap();
    for out in [file.clone(), file.join("below")] {
        let output = short(&["--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let complaint = text(&output.stderr);
        assert!(complaint.contains("file is a file, not a folder"), "{complaint}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_said_before_anything_runs() {
    for command in [
        &["run", "qsccp/dumbbell"][..],
        &["compare", "qsccp/dumbbell", "--schemes", "qsccp,fixed"],
        &["reproduce", "qsccp/dumbbell"],
    ] {
        let args = [command, &["--out", "/proc/weir/results"]].concat();
        refused(&args, &["/proc/weir/results", "name another folder with --out"]);
    }
}

#[test]
fn what_was_measured_is_printed_though_it_could_not_be_written() {
    let minimal = "examples/minimal";
    for (name, args, table) in [
        ("report.html", &["run", minimal][..], "Classes, whole run"),
        ("compare.html", &["compare", minimal, "--schemes", "qsccp", "--seeds", "1"], "goodput"),
        ("reproduce.html", &["reproduce", minimal, "--seeds", "1"], "utilisation"),
    ] {
        let out = folder("unwritten");
        fs::create_dir(out.join(name)).unwrap();
        let output = weir(&[args, &["--out", out.to_str().unwrap()]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stdout).contains(table), "{args:?}: {}", text(&output.stdout));
        assert!(!text(&output.stdout).contains(".html"), "{args:?}: it names no page that is not there");
        assert!(text(&output.stderr).contains(name), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn list_names_every_scenario_and_scheme_and_what_can_be_set() {
    let all = printed(&weir(&["list"]));
    for word in ["qsccp/dumbbell", "examples/random-200", "qsccp", "fixed"] {
        assert!(all.contains(word), "{word}");
    }
    let settings = printed(&weir(&["list", "qsccp/dumbbell"]));
    for word in ["link.R2-R3.rate = 10 Mb/s", "paper: section V-B"] {
        assert!(settings.contains(word), "no {word} in:\n{settings}");
    }
    assert!(printed(&weir(&["list", "qsccp"])).contains("scheme.qsccp.gamma = 0.95"));
}

#[test]
fn what_many_nodes_or_links_have_in_common_is_listed_once_unless_all_is_asked_for() {
    let [short, all] =
        [&["list", "qsccp/geant"][..], &["list", "qsccp/geant", "--all"]].map(|args| printed(&weir(args)));
    assert!(short.contains("  node.*.cache = 0  (all 46)\n") && !short.contains("node.n3.cache "), "{short}");
    assert!(short.contains("  node.*.position = (46 values for 46: list them with --all)\n"), "{short}");
    assert!(5 * short.lines().count() < all.lines().count() && all.lines().count() > 600);
    assert!(all.contains("  node.n3.cache = 0\n") && !all.contains("node.*"), "{all}");
    // A few flows keep their order, each with its keys.
    let flow = |list: &str| {
        list.lines().filter(|line| line.starts_with("  flow.")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(flow(&short), flow(&all));
}

#[test]
fn a_name_that_is_nearly_one_is_answered_with_it() {
    let meant = "did you mean `qsccp/dumbbell`?";
    for name in ["qsccp/dumbel", "dumbbell", "dumbel"] {
        for command in ["run", "list", "optimum"] {
            refused(&[command, name], &[meant]);
        }
    }
    let folder = folder("nearly-a-name");
    let [file, tree] = ["home.toml", "tree.toml"].map(|name| folder.join(name));
    for file in [&file, &tree] {
        fs::write(file, "").unwrap();
    }
    for name in ["home.tom", "hoem.toml", "home"] {
        let meant = format!("did you mean `{}`?", file.display());
        refused(&["run", folder.join(name).to_str().unwrap()], &[&meant, "\n  = `weir list` prints"]);
    }
    let both = command().current_dir(&folder).args(["run", "tree"]).output().unwrap();
    assert!(
        text(&both.stderr).contains("did you mean `qsccp/tree` or `tree.toml`?"),
        "{}",
        text(&both.stderr)
    );
    refused(&["list", "qscp"], &["did you mean the scheme `qsccp`?"]);
    refused(&["run", "examples/minimal", "--set", "scheme.qsccp.gama=0.9"], &["did you mean `gamma`?"]);
    let none = changed(
        "no-scheme",
        "[scheme]\ndefault = \"fixed\"\n\n[scheme.fixed]\nwindow = 32\nsource = \"assumed: enough to fill 10 Mb/s over 20 ms there and back\"",
        "",
    );
    refused(&["run", &none], &["`weir list` shows the names"]);
}

#[test]
fn flows_that_fetch_the_same_are_pointed_out() {
    let run = |prefix: &str| {
        let scenario =
            changed("same-content", "prefix = \"/video\"", &format!("prefix = \"{prefix}\"\ncount = 2"));
        printed(&weir(&["run", &scenario, "--out", folder("same-content-out").to_str().unwrap()]))
    };
    assert!(run("/video").contains("Note: 2 flows of alice fetch the same content below /video"));
    assert!(!run("/video/{}").contains("the same content"));
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    for args in [&["list", "qsccp/dumbbell"][..], &[SHORT, &["--json"]].concat(), &["--help"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        child.wait().unwrap();
        assert!(!complaint.contains("panicked"), "{args:?}: {complaint}");
    }
}

#[test]
fn a_command_that_is_none_is_an_error_and_help_is_not() {
    refused(&["fly"], &["fly"]);
    refused(&["run"], &["SCENARIO"]);
    refused(&["run", "qsccp/dumbbell", "--seed", "x"], &["--seed"]);
    assert!(weir(&["--help"]).status.success());
}

#[test]
fn every_command_has_a_manual_page_and_is_completed() {
    let commands = text(&weir(&["--help"]).stdout);
    let listed: Vec<_> = commands
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(listed.contains(&"forward") && listed.contains(&"get"), "{listed:?}");

    let folder = folder("man").join("of commands");
    printed(&weir(&["man", folder.to_str().expect("a text")]));
    for command in &listed {
        let page = fs::read_to_string(folder.join(format!("weir-{command}.1"))).expect(command);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{command}");
    }
    let page = fs::read_to_string(folder.join("weir-forward.1")).expect("it is there");
    assert!(page.contains(r"[\fB\-\-config\fR \fIFILE\fR] [\fB\-\-check\fR]"), "{page}");
    for shell in ["bash", "zsh", "fish"] {
        let completed = printed(&weir(&["completions", shell]));
        assert!(listed.iter().all(|command| completed.contains(command)), "{shell}");
    }
    refused(&["completions", "csh"], &["csh", "bash", "fish", "zsh"]);
    refused(&["man", "/proc/none"], &["/proc/none"]);
}

#[test]
fn the_check_of_a_forwarders_file_finds_users_groups_and_keys_that_this_host_does_not_have() {
    let file = folder("forward-check").join("weir.toml");
    let path = file.to_str().unwrap();
    let check = |text: &str, words: &[&str]| {
        std::fs::write(&file, text).unwrap();
        refused(&["forward", "--check", "--config", path], words);
    };
    let there = "[management]\nusers = [\"root\", \"4000000000\"]\n";
    check(
        "[management]\nusers = [\"root\", \"nobody of this name\"]\n",
        &["weir.toml:2: management.users", "there is no user `nobody of this name`", "`getent`"],
    );
    check(
        &format!("{there}groups = [\"no such group\"]\n"),
        &["weir.toml:3: management.groups", "there is no group `no such group`"],
    );
    check(
        &format!("{there}trusted_keys = [\"/nowhere/a.cert\"]\n"),
        &["weir.toml:3: management.trusted_keys", "/nowhere/a.cert"],
    );
    std::fs::write(&file, there).unwrap();
    let output = weir(&["forward", "--check", "--config", path]);
    assert!(printed(&output).ends_with("weir.toml: the file is valid\n"));
    // More than any host has.
    std::fs::write(&file, "[tables]\npit_bytes = \"900000 GB\"\n").unwrap();
    let said = printed(&weir(&["forward", "--check", "--config", path]));
    assert!(
        said.contains("weir.toml:2: tables.pit_bytes: the table takes up to 900000 GB of memory"),
        "{said}"
    );
}

#[test]
fn a_topology_is_imported_and_runs_under_any_scheme() {
    let folder = folder("import");
    let (file, scenario) = (folder.join("net.csv"), folder.join("net.toml"));
    fs::write(&file, "source,target,bandwidth,cost\na,b,2Mb/s,1\nb,c,2Mb/s,1\na,c,,5\n").unwrap();
    let (file, scenario) = (file.to_str().unwrap(), scenario.to_str().unwrap());
    let output =
        weir(&["import", file, "--rate", "1Mb/s", "--delay", "5ms", "--flow", "a->c", "-o", scenario]);
    assert!(
        output.status.success() && text(&output.stderr).contains("note: 1 of 3 links without a stated rate")
    );
    for scheme in ["fixed", "cubic", "qsccp", "sluice"] {
        let run: Value = serde_json::from_str(&printed(&weir(&[
            "run",
            scenario,
            "--scheme",
            scheme,
            "--json",
            "--set",
            "duration=2s",
        ])))
        .unwrap();
        // The route over b costs less. It has 2 Mb/s, the other has 1 Mb/s.
        let goodput = run["flows"][0]["goodput_bps"].as_f64().unwrap();
        assert!(goodput > 1e6, "{scheme}: {goodput}");
    }
    refused(&["import", file, "--format", "gexf"], &["gexf", "graphml"]);
    refused(&["import", file, "--delay", "far"], &["10 ms", "km/200"]);
    refused(&["import", file, "--flow", "a->x"], &["net.csv", "no node `x`"]);
    fs::write(folder.join("bad.gml"), "graph [\n node [ id\n").unwrap();
    refused(&["import", folder.join("bad.gml").to_str().unwrap()], &["bad.gml:2", "`id` has no value"]);
}
