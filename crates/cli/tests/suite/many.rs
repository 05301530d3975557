//! `weir compare`, `weir reproduce` and several seeds of `weir run` from a user's view.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::common::{changed, complains_of_nothing, folder, keys, printed, refused, text, weir, weir_anew};

/// Two nodes and a link whose loss is swept. `PAPER` stands for a paper's statements about its utilisation.
const SWEPT: &str = r#"
title = "a link with losses"
source = "paper: a test, section 1"
duration = "2 s"
[scheme]
default = "fixed"
[[node]]
name = ["C", "P"]
[[link]]
ends = ["C", "P"]
rate = "10 Mb/s"
delay = "10 ms"
queue = "50 packets"
loss = 0.0
[[flow]]
name = "f"
consumer = "C"
producer = "P"
prefix = "/f"
payload = "1 kB"
[[axis]]
name = "loss"
set = "link.C-P.loss"
values = [0.0, 0.1]
[[expectation]]
source = "paper: section 2"
metric = "utilisation"
link = "P->C"
when = { loss = 0.0 }
PAPER
[[expectation]]
source = "theory: all of it"
metric = "utilisation"
link = "P->C"
when = { loss = 0.0 }
at_most = 1.0
[[expectation]]
source = "theory: another figure"
metric = "queue_mean"
link = "P->C"
when = { loss = 0.0 }
at_most = "1 s"
[[expectation]]
source = "assumed: one packet in ten of a thousand"
metric = "lost"
when = { loss = 0.1 }
at_least = 10
"#;

/// The scenario with the paper's statements.
fn swept(name: &str, paper: &str) -> String {
    let file = folder(name).join("swept.toml");
    fs::write(&file, SWEPT.replace("PAPER", paper)).unwrap();
    file.to_str().unwrap().to_owned()
}

/// The scenario with statements that hold.
fn holding(name: &str) -> String {
    swept(name, "at_least = 0.9")
}

fn reproduced(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&weir(&[&["reproduce", "--json"], args].concat()))).unwrap()
}

// ---- reproduce

#[test]
fn an_experiment_is_run_at_every_point_of_its_axes() {
    let document = reproduced(&[&holding("points"), "--seeds", "3"]);
    assert_eq!(keys(&document), ["command", "experiments", "schema", "seeds", "version"]);
    assert_eq!(document["schema"], json!(1));
    assert!(document["command"].as_str().unwrap().ends_with("points/swept.toml --seeds 3"), "{document}");
    assert_eq!(document["seeds"], json!([1, 2, 3]));
    let [experiment] = &document["experiments"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(keys(experiment), ["cases", "scenario", "source", "title"]);
    let cases = experiment["cases"].as_array().unwrap();
    let sets: Vec<&Value> = cases.iter().map(|case| &case["set"]).collect();
    assert_eq!(sets, [&json!(["axis.loss=0.0"]), &json!(["axis.loss=0.1"])]);
    let sources = |case: &Value| -> Vec<String> {
        let rows = case["statements"].as_array().unwrap();
        rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(sources(&cases[0]), ["paper", "theory", "theory"]);
    assert_eq!(sources(&cases[1]), ["assumed"]);
    assert_eq!(cases[0]["report"], Value::Null);
    // Losses are drawn separately for each seed.
    let lost = &cases[1]["statements"][0];
    let values: Vec<f64> = lost["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(values.len(), 3);
    assert!(values.iter().any(|value| *value != values[0]), "{values:?}");
    let mean = values.iter().sum::<f64>() / 3.0;
    assert!((lost["measured"]["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert!(lost["measured"]["ci95"].as_f64().unwrap() > 0.0);
    assert_eq!((&lost["held"], &lost["holds"], &lost["unit"]), (&json!(3), &json!(true), &json!("packets")));
}

#[test]
fn what_theory_says_of_the_same_figure_stands_beside_a_statement() {
    let document = reproduced(&[&holding("theory"), "--seeds", "1"]);
    let rows = &document["experiments"][0]["cases"][0]["statements"];
    let allowed = json!([{ "value": 1.0, "bound": "at_most", "source": "theory: all of it" }]);
    assert_eq!(rows[0]["theory"], allowed);
    assert_eq!((&rows[1]["theory"], &rows[2]["theory"]), (&json!([]), &json!([])));
}

/// The figures follow from the lengths of packets and from the flows' demands.
#[test]
fn what_the_optimum_has_of_the_same_figure_stands_beside_a_statement() {
    let document = reproduced(&["qsccp/tree", "--seeds", "2", "--no-jitter"]);
    let case = &document["experiments"][0]["cases"][0];
    let optimum = &case["optimum"];
    assert_eq!((&optimum["objective"], &optimum["utilisation"]), (&json!("link-fair"), &json!(1.0)));
    let statement = |what: &str| {
        let rows = case["statements"].as_array().unwrap();
        rows.iter().find(|row| row["what"].as_str().unwrap().starts_with(what)).unwrap()
    };
    // First C1 is alone on two links of 5 Mb/s; then C1 and C2 share them with weights 3 and 2.
    let rows = case["statements"].as_array().unwrap();
    let rates: Vec<f64> = rows.iter().take(3).map(|row| row["optimum"].as_f64().unwrap()).collect();
    for (rate, wanted) in rates.iter().zip([10e6, 10e6 * 0.6, 10e6 * 0.4]) {
        assert!((rate - wanted).abs() < 1.0, "{rate} for {wanted}");
    }
    let utilisation = statement("utilisation")["optimum"].as_f64().unwrap();
    assert!((0.9..=1.001).contains(&utilisation), "{utilisation}");
    assert_eq!(statement("Data packets lost")["optimum"], Value::Null, "rates say nothing of losses");
    // The single runs give the same values.
    let seeds = ["--seed", "1", "--seed", "2"];
    let runs: Value =
        serde_json::from_str(&printed(&weir(&[&["run", "qsccp/tree", "--json"], &seeds[..]].concat())))
            .unwrap();
    let windows = optimum["windows"].as_array().unwrap();
    assert_eq!(windows.len(), runs[0]["windows"].as_array().unwrap().len());
    for (at, window) in windows.iter().enumerate() {
        for figure in ["mean", "largest", "within_5_percent"] {
            let of = |run: &Value| run["windows"][at]["optimum"]["distance"][figure].as_f64().unwrap();
            let mean = (of(&runs[0]) + of(&runs[1])) / 2.0;
            assert!((window[figure]["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{window}");
        }
    }
}

/// The fluid model has no round-trip times.
#[test]
fn the_optimum_says_when_an_amount_would_be_there() {
    let paper = "at_least = 0.9\n[[expectation]]\nsource = \"paper: section 3\"\nmetric = \"completion\"\n\
                 when = { loss = 0.0 }\nat_most = \"2 s\"\n[[expectation]]\nsource = \"paper: section 4\"\n\
                 metric = \"unfinished\"\nwhen = { loss = 0.0 }\nabout = 0\ntolerance = 0";
    let file = swept("completion", paper);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("payload = \"1 kB\"", "payload = \"1 kB\"\namount = 1000")).unwrap();
    let document = reproduced(&[&file, "--seeds", "1"]);
    let rows = &document["experiments"][0]["cases"][0]["statements"];
    let completion = rows[1]["optimum"].as_f64().unwrap();
    // 1000 Data of slightly more than 1 kB at 10 Mb/s.
    assert!((0.8..0.9).contains(&completion), "{completion}");
    assert!(rows[1]["values"][0].as_f64().unwrap() > completion, "{rows}");
    assert_eq!(rows[2]["optimum"], json!(0.0));
}

#[test]
fn a_statement_that_fails_is_a_result_unless_it_is_asked_for_strictly() {
    let (holds, fails) = (holding("strict-holds"), swept("strict-fails", "at_most = 0.5"));
    let code = |args: &[&str]| {
        let output = weir(&[&["reproduce", "--seeds", "2", "--json"], args].concat());
        complains_of_nothing(&output);
        output.status.code()
    };
    assert_eq!(code(&[&holds, "--strict"]), Some(0));
    assert_eq!(code(&[&fails]), Some(0));
    assert_eq!(code(&[&fails, "--strict"]), Some(1));
    assert_eq!(code(&[&holds, &fails, "--strict"]), Some(1));
}

#[test]
fn tables_say_what_the_paper_states_and_what_was_measured() {
    let out = folder("reproduce-text");
    let file = swept("text", "at_most = 0.5");
    let text = printed(&weir(&["reproduce", &file, "--seeds", "2", "--out", out.to_str().unwrap()]));
    for part in [
        "What the paper states\n",
        "What else is expected: 3 of 3 hold\n",
        "theory allows",
        "optimum",
        "loss = 0.0",
        "≤ 0.5",
        "✗ 0 of 2",
        "✓ 2 of 2",
        "0 of 1 statements of the paper hold in all 2 seeds",
        "reproduce.html\n",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

#[test]
fn the_folder_has_the_page_and_the_report_of_each_case() {
    let out = folder("reproduce-out");
    let file = holding("reproduce-files");
    printed(&weir(&["reproduce", &file, "--seeds", "2", "--out", out.to_str().unwrap()]));
    let document: Value =
        serde_json::from_str(&fs::read_to_string(out.join("reproduce.json")).unwrap()).unwrap();
    let page = fs::read_to_string(out.join("reproduce.html")).unwrap();
    let cases = document["experiments"][0]["cases"].as_array().unwrap();
    let reports: Vec<&str> = cases.iter().map(|case| case["report"].as_str().unwrap()).collect();
    assert!(reports[0] != reports[1]);
    for report in reports {
        assert!(out.join(report).exists(), "{report}");
        assert!(page.contains(&format!("href=\"{report}\"")), "{report}");
        let run = fs::read_to_string(out.join(report).with_file_name("run.json")).unwrap();
        let run: Value = serde_json::from_str(&run).unwrap();
        assert_eq!((&run["seed"], &run["scheme"]), (&json!(1), &json!("fixed")));
        assert!(run["set"][0].as_str().unwrap().starts_with("axis.loss="));
    }
}

#[test]
fn a_built_in_experiment_is_found_by_name_and_by_its_paper() {
    // A scenario that is named twice runs once.
    let document = reproduced(&["examples/minimal", "examples/minimal", "--seeds", "1"]);
    assert_eq!(document["experiments"].as_array().unwrap().len(), 1);
    assert_eq!(document["experiments"][0]["scenario"], "examples/minimal");
}

#[test]
fn a_scheme_is_run_if_something_is_stated_about_it() {
    let any = "at_least = 0.9\n[[expectation]]\nsource = \"paper: section 3\"\nmetric = \"lost\"\n\
               scheme = \"qsccp\"\nwhen = { loss = 0.0 }\nabout = 0\ntolerance = 0";
    let file = swept("schemes", any);
    let schemes = |args: &[&str]| -> Vec<(Value, Value)> {
        let document = reproduced(&[&[&*file, "--seeds", "1"], args].concat());
        let cases = document["experiments"][0]["cases"].as_array().unwrap().clone();
        cases.into_iter().map(|mut case| (case["set"][0].take(), case["scheme"].take())).collect()
    };
    let case = |set: &str, scheme: &str| (json!(set), json!(scheme));
    let fixed = [case("axis.loss=0.0", "fixed"), case("axis.loss=0.1", "fixed")];
    let qsccp = case("axis.loss=0.0", "qsccp");
    assert_eq!(schemes(&[]), [fixed[0].clone(), qsccp.clone(), fixed[1].clone()]);
    assert_eq!(schemes(&["--scheme", "qsccp"]), [qsccp]);
    assert_eq!(schemes(&["--scheme", "fixed"]), fixed);
}

#[test]
fn a_scheme_is_compared_with_runs_of_others_that_differ_in_nothing_else() {
    let file = swept("beside", "less_than = [\"reno\", \"qsccp\"]");
    for args in [&[][..], &["--scheme", "fixed"]] {
        let document = reproduced(&[&[&*file, "--seeds", "2", "--no-jitter"], args].concat());
        let cases = document["experiments"][0]["cases"].as_array().unwrap();
        // The other schemes have no statements and are not shown.
        assert!(cases.iter().all(|case| case["scheme"] == "fixed"), "{cases:?}");
        let statement = &cases[0]["statements"][0];
        assert_eq!((&statement["bound"], &statement["stated"]), (&json!("less_than"), &Value::Null));
        let others = statement["than"].as_array().unwrap();
        assert_eq!(others.len(), 2);
        let values = |row: &Value| -> Vec<f64> {
            row["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
        };
        for (other, scheme) in others.iter().zip(["reno", "qsccp"]) {
            assert_eq!(other["scheme"], scheme);
            let run = |seed: usize| {
                let seed = seed.to_string();
                let run = weir(&["run", &file, "--scheme", scheme, "--seed", &seed, "--json"]);
                let document: Value = serde_json::from_str(&printed(&run)).unwrap();
                let links = document["links"].as_array().unwrap();
                let towards = links.iter().find(|link| link["from"] == "P").unwrap();
                towards["utilisation"].as_f64().unwrap()
            };
            for (seed, value) in values(other).into_iter().enumerate() {
                assert!((value - run(seed + 1)).abs() < 1e-9, "{scheme}: {value}");
            }
        }
        let own = values(statement);
        let is_less = |seed: &usize| others.iter().all(|other| own[*seed] < values(other)[*seed]);
        let held = (0..2).filter(is_less).count();
        assert_eq!((&statement["held"], &statement["holds"]), (&json!(held), &json!(held == 2)));
    }
    let out = folder("beside-out");
    let text = printed(&weir(&["reproduce", &file, "--seeds", "1", "--out", out.to_str().unwrap()]));
    assert!(text.contains("less than reno ("), "{text}");
}

#[test]
fn one_run_says_that_it_does_not_compare_schemes() {
    let file = swept("beside-run", "more_than = \"reno\"");
    let out = folder("beside-run-out");
    let run = printed(&weir(&["run", &file, "--out", out.to_str().unwrap()]));
    assert!(run.contains("more than reno"), "{run}");
    let end = "All 2 expectations hold.\n1 expectation compares schemes: `weir reproduce` checks it.\n";
    assert!(run.contains(end), "{run}");
    let document: Value = serde_json::from_str(&printed(&weir(&["run", &file, "--json"]))).unwrap();
    let row = &document["expectations"][0];
    assert_eq!((&row["holds"], &row["stated"], &row["than"]), (&Value::Null, &Value::Null, &json!(["reno"])));
    assert!(row["measured"].as_f64().unwrap() > 0.0);
    let file = swept("beside-unknown", "more_than = [\"reno\", \"pocn\"]");
    let line = SWEPT.lines().position(|line| line == "PAPER").unwrap() + 1;
    let place = format!("swept.toml:{line}: expectation.0.more_than: ");
    refused(&["reproduce", &file], &[&place, "`pocn`", "did you mean `pcon`?"]);
}

#[test]
fn what_cannot_be_reproduced_is_refused_with_what_can() {
    let there = ["papers: qsccp", "`weir list` prints"];
    refused(&["reproduce", "qscp"], &[&there[..], &["called `qscp`; did you mean `qsccp`?"]].concat());
    refused(&["reproduce", "qsccp/dumbell"], &["did you mean `qsccp/dumbbell`?"]);
    refused(&["reproduce", "nowhere.toml"], &there);
    refused(
        &["reproduce", "examples/minimal", "--scheme", "fixd"],
        &["did you mean `fixed`?", "`weir list` prints the schemes"],
    );
    refused(
        &["reproduce", "examples/minimal", "--scheme", "qsccp"],
        &["there are no statements about scheme qsccp"],
    );
    let silent = changed("reproduce-silent", "Two nodes", "Silent nodes");
    let text = fs::read_to_string(&silent).unwrap();
    fs::write(&silent, text.split_once("[[expectation]]").unwrap().0).unwrap();
    refused(&["reproduce", "examples/minimal", &silent], &["there are no statements in", &silent]);
    for seeds in ["0", "-1", "100001", "x"] {
        refused(&["reproduce", "examples/minimal", "--seeds", seeds], &["--seeds", seeds]);
    }
    let file = folder("reproduce-no-folder").join("file");
    fs::write(&file, "").unwrap();
    refused(&["reproduce", "--out", file.to_str().unwrap()], &["file is a file, not a folder"]);
}

#[test]
fn a_reproduction_says_first_what_it_runs_and_where_the_page_will_be() {
    let (file, out) = (holding("reproduce-says"), folder("reproduce-says-out"));
    let output = weir(&["reproduce", &file, "--seeds", "3", "--out", out.to_str().unwrap()]);
    let page = out.join("reproduce.html");
    let wanted = format!(
        "note: 1 experiment, 2 cases (a point of the axes under a scheme), 3 seeds: 6 runs; the page {} is written after the last run\n",
        page.display()
    );
    assert!(text(&output.stderr).starts_with(&wanted), "{}", text(&output.stderr));
    assert!(page.exists());
}

/// The result of a command that receives SIGINT while it simulates.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a test waits for another process")]
fn interrupted(args: &[&str]) -> (Option<i32>, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_weir"));
    process.args(args).stdout(Stdio::null()).stderr(Stdio::piped());
    let process = process.spawn().unwrap();
    let pid = process.id().to_string();
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().filter_map(Result::ok);
    let is_waiting = |of: &fs::DirEntry| {
        fs::read_to_string(of.path().join("comm")).is_ok_and(|name| name.trim_end() == "run")
    };
    while !threads().any(|of| is_waiting(&of)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = process.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_is_interrupted_says_how_far_it_came_and_what_is_left() {
    let file = holding("interrupted");
    let out = |name: &str| folder(name).to_str().unwrap().to_owned();
    let (code, said) = interrupted(&["reproduce", "qsccp/geant", "--out", &out("interrupted-reproduce")]);
    assert!(code == Some(130) && said.contains("\ninterrupted: "), "{code:?}: {said}");
    assert!(
        said.contains(" runs completed; the completed runs are kept; the same command makes the others"),
        "{said}"
    );
    let compare = ["compare", "qsccp/geant", &file, "--schemes", "qsccp,pcon", "--out"];
    let (code, said) = interrupted(&[&compare[..], &[&out("interrupted-compare")]].concat());
    assert!(code == Some(130), "{code:?}: {said}");
    assert!(said.contains("the completed runs are kept; the same command makes the others"), "{said}");
}

// ---- compare

const COMPARE: &[&str] = &["compare", "qsccp/dumbbell", "--schemes", "qsccp,fixed", "--set", "duration=2s"];

#[test]
fn a_comparison_is_one_document_with_the_stated_keys() {
    let output = weir(&[COMPARE, &["--seeds", "2", "--json", "--set", "link.R2-R3.loss=0.05"]].concat());
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    let top = [
        "command",
        "periods",
        "scenario",
        "schema",
        "schemes",
        "seeds",
        "set",
        "simulated_s",
        "styles",
        "title",
        "version",
    ];
    assert_eq!(keys(&document), top);
    let command = "weir compare qsccp/dumbbell --schemes qsccp,fixed --seeds 2 --set duration=2s --set link.R2-R3.loss=0.05";
    assert_eq!((&document["schema"], &document["command"]), (&json!(1), &json!(command)));
    assert_eq!(document["seeds"], json!([1, 2]));
    assert_eq!(document["set"], json!(["duration=2s", "link.R2-R3.loss=0.05"]));
    let of = |at: usize, key: &str| document["schemes"][at][key].clone();
    let heads = [0, 1].map(|at| [of(at, "scheme"), of(at, "report"), of(at, "knows_no_classes")]);
    assert_eq!(json!(heads), json!([["qsccp", null, false], ["fixed", null, true]]));
    assert!(of(1, "data_thrown_away")["mean"].as_f64().unwrap() > 0.01);
    let period = &document["periods"][0];
    assert_eq!(keys(period), ["all", "classes", "distances", "from_s", "groups", "links", "to_s"]);
    let all = &period["all"][1];
    assert_eq!(
        (&all["scheme"], all["goodput_bps"]["values"].as_array().unwrap().len()),
        (&json!("fixed"), 2)
    );
    let rows = period["classes"].as_array().unwrap();
    let figures = [
        "completion_mean_s",
        "completion_s",
        "delay_ms",
        "goodput_bps",
        "jain",
        "lost",
        "name",
        "retransmitted",
        "scheme",
    ];
    assert_eq!(keys(&rows[0]), figures);
    assert_eq!(rows.len(), 8);
    assert_eq!((&rows[0]["name"], &rows[0]["scheme"]), (&json!("EF"), &json!("qsccp")));
    assert_eq!((&rows[1]["name"], &rows[1]["scheme"]), (&json!("EF"), &json!("fixed")));
    let lost = &rows[3]["lost"];
    assert_eq!((keys(lost), &lost["n"]), (vec!["ci95", "distinct", "mean", "n"], &json!(2)));
    assert!(lost["mean"].as_f64().unwrap() > 0.0, "{lost}");
    assert!(rows.iter().any(|row| row["lost"]["ci95"].as_f64().unwrap() > 0.0), "losses are drawn anew");
    assert_eq!(keys(&rows[0]["delay_ms"]), ["mean", "p99"]);
    let links = period["links"].as_array().unwrap();
    assert_eq!(links.len(), 2 * 22);
    let figures = ["drops", "from", "lost", "queue_ms", "rate_bps", "scheme", "to", "utilisation"];
    assert_eq!(keys(&links[0]), figures);
}

/// A scheme's figures are the means of its single runs.
#[test]
fn a_comparison_has_further_windows() {
    let output = weir(&[COMPARE, &["--seeds", "1", "--json", "--window", "500ms:1s"]].concat());
    let document: Value = serde_json::from_str(&printed(&output)).unwrap();
    let last = document["periods"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["from_s"], &last["to_s"]), (&json!(0.5), &json!(1.0)));
    refused(&[COMPARE, &["--window", "1"]].concat(), &["--window 1: a window is two times"]);
}

#[test]
fn a_comparison_has_the_means_of_the_runs() {
    let loss = ["--set", "link.R2-R3.loss=0.05", "--json"];
    let compared: Value =
        serde_json::from_str(&printed(&weir(&[COMPARE, &loss, &["--seeds", "3"]].concat()))).unwrap();
    let seeds = ["--seed", "1", "--seed", "2", "--seed", "3"];
    let run = ["run", "qsccp/dumbbell", "--scheme", "fixed", "--set", "duration=2s"];
    let runs: Value = serde_json::from_str(&printed(&weir(&[&run[..], &loss, &seeds].concat()))).unwrap();
    for (at, name) in ["EF", "AF2", "AF1", "BE"].into_iter().enumerate() {
        let of = |run: &Value| run["classes"][at]["goodput_bps"].as_f64().unwrap();
        let mean = runs.as_array().unwrap().iter().map(of).sum::<f64>() / 3.0;
        let row = &compared["periods"][0]["classes"][2 * at + 1];
        assert_eq!((&row["name"], &row["scheme"]), (&json!(name), &json!("fixed")));
        assert!((row["goodput_bps"]["mean"].as_f64().unwrap() - mean).abs() < 1e-6 * mean);
    }
}

#[test]
fn a_comparison_writes_its_page_and_a_report_a_scheme() {
    let out = folder("compare-out");
    let text = printed(&weir(&[COMPARE, &["--seeds", "2", "--out", out.to_str().unwrap()]].concat()));
    assert!(text.contains("schemes qsccp, fixed") && text.contains("seeds 1, 2"), "{text}");
    assert!(text.ends_with(&format!("{}\n", out.join("compare.html").display())), "{text}");
    let page = fs::read_to_string(out.join("compare.html")).unwrap();
    for scheme in ["qsccp", "fixed"] {
        assert!(page.contains(&format!("href=\"{scheme}/report.html\"")));
        assert!(out.join(scheme).join("report.html").exists());
    }
    assert!(out.join("compare.json").exists());
}

#[test]
fn schemes_that_are_none_or_given_twice_are_refused() {
    refused(&["compare", "examples/minimal", "--schemes", "qsccp,fixd"], &["did you mean `fixed`?"]);
    refused(&["compare", "examples/minimal", "--schemes", "fixed,fixed"], &["fixed is given twice"]);
    refused(&["compare", "examples/minimal"], &["--schemes <A,B,...|all>"]);
    refused(
        &["compare", "nowhere", "--schemes", "fixed"],
        &["nowhere", "papers: qsccp", "`weir list` prints"],
    );
    refused(&["compare", "dumbell", "--schemes", "fixed"], &["did you mean `qsccp/dumbbell`?"]);
    refused(&["compare", "examples/minimal", "--schemes", "all,fixed"], &["all is every scheme"]);
    refused(&["compare", "--schemes", "fixed"], &["SCENARIO"]);
    refused(&["compare", "examples/minimal", "--all"], &["--all", "cannot be used with"]);
}

// ---- compare, several scenarios

fn summary(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&weir(&[&["compare", "--json"], args].concat()))).unwrap()
}

/// Returns whether the values are equal except for the last digit of numbers, which depends on the order of addition.
fn are_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| are_alike(value, &other[key]))
        }
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
        }
        _ => one == other,
    }
}

#[test]
fn several_scenarios_are_one_summary_with_every_point_of_their_axes() {
    let file = holding("compare-several");
    let args = ["examples/minimal", "--schemes", "fixed,qsccp", "--seeds", "2", "--set", "duration=2s"];
    let document = summary(&[&[&*file], &args[..]].concat());
    assert_eq!(
        keys(&document),
        ["command", "scenarios", "schema", "schemes", "seeds", "version", "without_classes"]
    );
    assert_eq!(document["without_classes"], json!([]));
    let command =
        format!("weir compare {file} examples/minimal --schemes fixed,qsccp --seeds 2 --set duration=2s");
    assert_eq!(document["command"], json!(command));
    assert_eq!(document["schemes"], json!(["fixed", "qsccp"]));
    let [swept, minimal] = &document["scenarios"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(keys(swept), ["matrix", "others", "page", "points", "scenario", "source", "title"]);
    let sets = |scenario: &Value| -> Vec<Value> {
        scenario["points"].as_array().unwrap().iter().map(|point| point["set"].clone()).collect()
    };
    assert_eq!(sets(swept), [json!(["axis.loss=0.0"]), json!(["axis.loss=0.1"])]);
    assert_eq!(sets(minimal), [json!([])]);
    let point = &swept["points"][1];
    assert_eq!((&point["page"], &point["left_out"]), (&Value::Null, &json!([])));
    // The same as the single point.
    let alone = summary(&[&[&*file, "--set", "axis.loss=0.1"], &args[1..]].concat());
    let period = &alone["periods"][0];
    for (at, row) in point["periods"][0]["rows"].as_array().unwrap().iter().enumerate() {
        let class = &period["classes"][at];
        for figure in ["scheme", "goodput_bps", "lost", "retransmitted", "delay_ms"] {
            assert!(
                are_alike(&row[figure], &class[figure]),
                "{figure}: {} and {}",
                row[figure],
                class[figure]
            );
        }
        let utilisation = &period["links"].as_array().unwrap()[2 + at]["utilisation"];
        assert_eq!(&row["utilisation"], utilisation, "from P to C");
    }
    assert!(point["periods"][0]["optimum_bps"].as_f64().unwrap() > 8e6);
}

#[test]
fn who_sets_an_axis_has_picked_its_point() {
    let file = holding("compare-picked");
    let document =
        summary(&[&file, "examples/minimal", "--schemes", "fixed", "--seeds", "1", "--set", "duration=1s"]);
    assert_eq!(document["scenarios"][0]["points"].as_array().unwrap().len(), 2);
    let other = swept("compare-picked-other", "at_least = 0.9");
    let document = summary(&[&file, &other, "--schemes", "fixed", "--seeds", "1", "--set", "axis.loss=0.1"]);
    for scenario in document["scenarios"].as_array().unwrap() {
        let [point] = &scenario["points"].as_array().unwrap()[..] else { panic!("{scenario}") };
        assert_eq!(point["set"], json!([]));
        assert!(point["periods"][0]["rows"][0]["lost"]["mean"].as_f64().unwrap() > 0.0);
    }
}

/// A scenario's question to one scheme, when its goodput settles, is measured for all schemes. It is in no run's own
/// document.
#[test]
fn a_summary_says_of_every_scheme_when_its_goodput_settled() {
    let settle = "at_least = 0.9\n[[expectation]]\nsource = \"assumed: soon\"\nmetric = \"settle\"\n\
                  scheme = \"fixed\"\nat_most = \"2 s\"";
    let file = swept("compare-settle", settle);
    let out = folder("compare-settle-out");
    let args = ["--schemes", "qsccp,fixed", "--seeds", "2", "--out", out.to_str().unwrap()];
    let document = summary(&[&[&*file, "examples/minimal"], &args[..]].concat());
    for row in document["scenarios"][0]["points"][0]["periods"][0]["rows"].as_array().unwrap() {
        assert_eq!(row["settle_s"]["n"], json!(2), "{row}");
    }
    let page = document["scenarios"][0]["points"][0]["page"].as_str().unwrap();
    let run = |scheme: &str| -> Value {
        let file = out.join(page).with_file_name(scheme).join("run.json");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    };
    let settling = |run: &Value| {
        let rows = run["expectations"].as_array().unwrap();
        rows.iter().filter(|row| row["what"].as_str().unwrap().starts_with("time to settle")).count()
    };
    assert_eq!((settling(&run("fixed")), settling(&run("qsccp"))), (1, 0));
}

#[test]
fn a_summary_writes_its_tables_and_a_page_a_point() {
    let out = folder("compare-summary-out");
    let file = holding("compare-summary");
    let args = ["--schemes", "all", "--seeds", "1", "--set", "duration=1s", "--out", out.to_str().unwrap()];
    let text = printed(&weir(&[&["compare", &*file, "examples/minimal"], &args[..]].concat()));
    let heading = format!("{} schemes on 2 scenarios", weir_schemes::SCHEMES.len());
    assert!(text.contains(&heading) && text.contains("over loss, "), "{text}");
    assert!(text.ends_with(&format!("{}\n", out.join("compare.html").display())), "{text}");
    let document: Value =
        serde_json::from_str(&fs::read_to_string(out.join("compare.json")).unwrap()).unwrap();
    let page = fs::read_to_string(out.join("compare.html")).unwrap();
    let mut pages = String::new();
    for scenario in document["scenarios"].as_array().unwrap() {
        let own = scenario["page"].as_str().unwrap();
        assert!(page.contains(&format!("href=\"{own}\"")), "{own}");
        pages += &fs::read_to_string(out.join(own)).unwrap();
    }
    for scheme in weir_schemes::SCHEMES {
        let own = format!("scheme-{}.html", scheme.name);
        assert!(page.contains(&format!("href=\"{own}\"")) && out.join(&own).exists(), "{own}");
    }
    for point in
        document["scenarios"].as_array().unwrap().iter().flat_map(|one| one["points"].as_array().unwrap())
    {
        let own = point["page"].as_str().unwrap();
        assert!(pages.contains(&format!("href=\"{own}\"")), "{own}");
        for file in ["compare.html", "compare.json", "qsccp/report.html", "bbr/run.json"] {
            assert!(out.join(own).with_file_name(file).exists(), "{own}: {file}");
        }
    }
    let tables = fs::read_to_string(out.join("compare.md")).unwrap();
    for scheme in document["schemes"].as_array().unwrap() {
        let without = document["without_classes"].as_array().unwrap();
        let mark = if without.contains(scheme) { "°" } else { "" };
        let scheme = scheme.as_str().unwrap();
        assert!(
            tables.contains(&format!("\n| {scheme} | "))
                && tables.contains(&format!("|  | {scheme}{mark} | "))
        );
    }
    assert!(tables.contains("\n### examples/minimal\n"), "{tables}");
}

/// Both nodes of the minimal example.
const ENDS: &str = "name = [\"alice\", \"bob\"]";

/// A second consumer of the content that alice fetches, and a statement about the Data rate of one of them, which a run
/// cannot measure.
const TWO_OF_ONE_PREFIX: &str = r#"
[[node]]
name = "carol"
[[link]]
ends = ["carol", "bob"]
rate = "1 Mb/s"
delay = "1 ms"
[[flow]]
name = "again"
consumer = "carol"
producer = "bob"
prefix = "/video"
[[expectation]]
source = "assumed: a test"
scheme = "*"
metric = "data_rate"
flow = "again"
link = "bob->carol"
at_least = "900 kb/s"
"#;

#[test]
fn what_no_scheme_can_run_is_left_out_with_its_reason() {
    let refused_one = changed("compare-refused", ENDS, &format!("{ENDS}\n{TWO_OF_ONE_PREFIX}"));
    let args = ["--schemes", "fixed,qsccp", "--seeds", "1", "--set", "duration=1s"];
    let document = summary(&[&[&*refused_one, "examples/minimal"], &args[..]].concat());
    let left_out = document["scenarios"][0]["points"][0]["left_out"].as_array().unwrap();
    assert_eq!(left_out.len(), 2);
    assert!(
        left_out[0]["why"].as_str().unwrap().contains("cannot be attributed to one consumer"),
        "{left_out:?}"
    );
    assert_eq!(document["scenarios"][1]["points"][0]["left_out"], json!([]));
    let out = folder("compare-refused-out");
    let text = ["--out", out.to_str().unwrap()];
    let text =
        printed(&weir(&[&["compare", &*refused_one, "examples/minimal"], &args[..], &text[..]].concat()));
    assert!(text.contains("– fixed cannot run here: "), "{text}");
    let other = changed("compare-refused-too", ENDS, &format!("{ENDS}\n{TWO_OF_ONE_PREFIX}"));
    refused(
        &[&["compare", &*refused_one, &*other], &args[..]].concat(),
        &["no scheme can run any of these scenarios", "cannot be attributed to one consumer"],
    );
}

#[test]
fn one_scenario_is_compared_at_all_points_of_its_axes_or_at_the_one_that_is_set() {
    let file = holding("compare-stands");
    let document = summary(&[&file, "--schemes", "fixed", "--seeds", "1"]);
    assert_eq!(document["scenarios"][0]["points"].as_array().unwrap().len(), 2);
    let document = summary(&[&file, "--schemes", "all", "--seeds", "1", "--set", "axis.loss=0.1"]);
    assert_eq!(document["schemes"].as_array().unwrap().len(), weir_schemes::SCHEMES.len());
    assert_eq!((&document["set"], keys(&document)[1]), (&json!(["axis.loss=0.1"]), "periods"));
}

// ---- compare, the matrix

/// The matrix's entry for a scheme on a scenario.
fn in_matrix<'a>(document: &'a Value, scenario: usize, scheme: &str) -> &'a Value {
    let rows = document["scenarios"][scenario]["matrix"].as_array().unwrap();
    rows.iter().find(|row| row["scheme"] == scheme).unwrap()
}

fn close(value: &Value, wanted: f64) -> bool {
    (value.as_f64().unwrap() - wanted).abs() <= 1e-9 * wanted.abs()
}

/// The figures follow from the scenario's tables alone, because its windows have equal lengths or there is only one.
#[test]
fn the_matrix_has_the_figures_of_a_comparison() {
    let short = ["--set", "duration=12s", "--set", "window.steady.from=6s", "--set", "window.steady.to=12s"];
    let set = [&["--schemes", "qsccp,fixed", "--seeds", "2"], &short[..]].concat();
    let document = summary(&[&["qsccp/dumbbell", "examples/minimal"], &set[..]].concat());
    let alone = summary(&[&["qsccp/dumbbell"], &set[..]].concat());
    let runs = [&["run", "qsccp/dumbbell", "--scheme", "fixed", "--json"], &short[..]].concat();
    let run: Value = serde_json::from_str(&printed(&weir(&runs))).unwrap();
    let row = in_matrix(&document, 0, "fixed");
    let window = &run["windows"][0];
    let rows = |of: &Value, key: &str| -> Vec<f64> {
        of.as_array().unwrap().iter().map(|row| row[key].as_f64().unwrap()).collect()
    };
    let sum = |values: Vec<f64>| values.iter().sum::<f64>();
    let goodput = sum(rows(&window["flows"], "goodput_bps"));
    let (goodputs, parts) =
        (rows(&window["flows"], "goodput_bps"), rows(&window["optimum"]["flows"], "goodput_bps"));
    let reached = goodputs.iter().zip(&parts).map(|(goodput, part)| goodput.min(*part)).collect();
    let best = sum(parts.clone());
    assert!(close(&row["share"]["values"][0], sum(reached) / best), "{row}");
    // At most the goodput of the comparison, which is that of the classes.
    let period = &alone["periods"][1];
    let of_fixed = period["classes"].as_array().unwrap().iter().filter(|class| class["scheme"] == "fixed");
    let compared: f64 = of_fixed.map(|class| class["goodput_bps"]["mean"].as_f64().unwrap()).sum();
    assert!(row["share"]["measured"]["mean"].as_f64().unwrap() * best < compared, "{row}");
    // Jain's index is that of the summary's row.
    let periods = document["scenarios"][0]["points"][0]["periods"].as_array().unwrap();
    let last = periods.last().unwrap()["rows"].as_array().unwrap();
    let own = last.iter().find(|row| row["scheme"] == "fixed").unwrap();
    assert_eq!((&row["jain"]["measured"], &row["settle_s"]["measured"]), (&own["jain"], &own["settle_s"]));
    // Data have 1024 bytes.
    let seconds = window["to_s"].as_f64().unwrap() - window["from_s"].as_f64().unwrap();
    let (lost, came) = (sum(rows(&window["flows"], "lost")), goodput * seconds / 8192.0);
    assert!(lost > 0.0 && close(&row["lost"]["values"][0], lost / (lost + came)), "{row}");
}

#[test]
fn what_is_not_known_has_a_reason() {
    let file = holding("compare-reason");
    let document = summary(&[&file, "examples/minimal", "--schemes", "fixed", "--seeds", "1"]);
    let jain = &in_matrix(&document, 0, "fixed")["jain"];
    assert_eq!((&jain["measured"], &jain["why"]), (&Value::Null, &json!("there is one flow at a time")));
    let share = &in_matrix(&document, 0, "fixed")["share"];
    assert_eq!((&share["worst"]["set"], share.get("why")), (&json!(["axis.loss=0.1"]), None));
}

/// An axis of one scheme's variants does not affect the other schemes: their runs at its first value serve all values.
#[test]
fn what_another_scheme_is_told_runs_nobody_twice() {
    let out = folder("compare-variants");
    let (file, other) = (holding("compare-variants-file"), "examples/minimal");
    let text = fs::read_to_string(&file).unwrap();
    let axis = "name = \"loss\"\nset = \"link.C-P.loss\"\nvalues = [0.0, 0.1]";
    assert!(text.contains(axis));
    let axis_of_one =
        "name = \"variant\"\nset = \"scheme.e2e-aqm.variant\"\nvalues = [\"article\", \"jaqmcc\"]";
    let text = text.replace(axis, axis_of_one);
    let text = text.split_once("[[expectation]]").unwrap().0;
    fs::write(&file, text).unwrap();
    let args = ["--schemes", "e2e-aqm,fixed", "--seeds", "1", "--out", out.to_str().unwrap()];
    let document = summary(&[&[&*file, other], &args[..]].concat());
    let points = document["scenarios"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    let row = |point: &Value, at: usize| point["periods"][0]["rows"][at].clone();
    assert_eq!(row(&points[0], 1), row(&points[1], 1));
    let request = |(path, _): (String, SystemTime)| -> Value {
        serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()["request"].clone()
    };
    let runs: Vec<Value> = kept(&out).into_iter().map(request).collect();
    let of = |scheme: &str| runs.iter().filter(|request| request["scheme"] == scheme).count();
    // Two points and the other scenario; one point and the other scenario.
    assert_eq!((of("e2e-aqm"), of("fixed")), (3, 2), "{runs:?}");
    // The second point's page links to the report of the first.
    let page = out.join(points[1]["page"].as_str().unwrap());
    let compared: Value =
        serde_json::from_str(&fs::read_to_string(page.with_file_name("compare.json")).unwrap()).unwrap();
    for scheme in compared["schemes"].as_array().unwrap() {
        let report = page.with_file_name(scheme["report"].as_str().unwrap());
        assert!(report.exists(), "{}", report.display());
    }
    assert_eq!(compared["set"], json!(["axis.variant=jaqmcc"]));
    assert_eq!(document["scenarios"][0]["variants"], json!(["e2e-aqm (article, jaqmcc)"]));
    let markdown = fs::read_to_string(out.join("compare.md")).unwrap();
    assert!(
        markdown.contains("Parameter variants in this scenario: e2e-aqm (article, jaqmcc)."),
        "{markdown}"
    );
}

/// The files of kept runs with their modification times.
fn kept(out: &Path) -> Vec<(String, SystemTime)> {
    let files = fs::read_dir(out.join("runs")).into_iter().flatten().filter_map(Result::ok);
    let files = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "json"));
    let mut files: Vec<_> = files
        .map(|file| (file.path().to_str().unwrap().to_owned(), file.metadata().unwrap().modified().unwrap()))
        .collect();
    files.sort();
    files
}

/// All documents, pages and tables of the summary and of its points. Reports and the table of runs are left out,
/// because they contain run times.
fn results(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(out).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        let files = if path.is_dir() {
            ["compare.html", "compare.json"].map(|name| path.join(name)).to_vec()
        } else {
            vec![path]
        };
        for file in files.into_iter().filter(|file| file.exists()) {
            let name = file.strip_prefix(out).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read(&file).unwrap());
        }
    }
    found.retain(|name, _| !name.starts_with("runs."));
    found
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test waits for what another process writes")]
fn a_comparison_that_was_killed_goes_on_where_it_was() {
    let file = holding("compare-killed");
    let args = [
        "compare",
        &*file,
        "examples/minimal",
        "--schemes",
        "fixed,qsccp",
        "--seeds",
        "3",
        "--set",
        "duration=20s",
        "--jobs",
        "1",
    ];
    let (whole, killed) = (folder("compare-whole-out"), folder("compare-killed-out"));
    printed(&weir_anew(&[&args[..], &["--out", whole.to_str().unwrap()]].concat()));
    let again = [&args[..], &["--out", killed.to_str().unwrap()]].concat();
    let mut process = Command::new(env!("CARGO_BIN_EXE_weir"));
    process.args(&again).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = process.spawn().unwrap();
    while kept(&killed).len() < 3 && process.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let before = kept(&killed);
    assert!((3..18).contains(&before.len()), "it was killed midway: {}", before.len());
    let output = weir_anew(&again);
    let note = format!("note: {} of 18 runs are in ", before.len());
    assert!(text(&output.stderr).contains(&note), "{}", text(&output.stderr));
    let after = kept(&killed);
    assert_eq!(after.len(), 18);
    assert!(before.iter().all(|file| after.contains(file)), "what was there was not made again");
    assert!(results(&whole) == results(&killed), "the results are those of a whole one");
    assert!(results(&whole).len() > 12);

    // Only a file of another run and a truncated file are made again.
    let stale = &after[0].0;
    let changed = fs::read_to_string(stale).unwrap().replacen("\"seed\":", "\"seed\":9", 1);
    fs::write(stale, changed).unwrap();
    let cut = &after[5].0;
    let bytes = fs::read(cut).unwrap();
    fs::write(cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = weir_anew(&again);
    assert!(text(&output.stderr).contains("note: 16 of 18 runs"), "{}", text(&output.stderr));
    assert!(results(&whole) == results(&killed), "the results are those of a whole one");
    // Another duration is another run.
    let mut shorter = again.clone();
    shorter[8] = "duration=1s";
    assert!(!text(&weir_anew(&shorter).stderr).contains("runs are in "));
}

#[test]
fn all_is_every_experiment_of_every_paper() {
    let document = summary(&["--all", "--schemes", "fixed", "--seeds", "1", "--set", "duration=50ms"]);
    let scenarios = document["scenarios"].as_array().unwrap();
    let names: Vec<&str> = scenarios.iter().map(|one| one["scenario"].as_str().unwrap()).collect();
    let wanted: Vec<&str> = weir_scenario::builtins()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("examples/"))
        .collect();
    assert_eq!(names, wanted);
    assert_eq!(document["command"], "weir compare --all --schemes fixed --seeds 1 --set duration=50ms");
    for figure in scenarios.iter().flat_map(|one| one["matrix"].as_array().unwrap()) {
        for key in ["share", "jain", "delay_over_propagation", "lost", "settle_s"] {
            let figure = &figure[key];
            assert!(figure["measured"].is_object() != figure["why"].is_string(), "{figure}");
        }
    }
}

// ---- run

#[test]
fn several_seeds_of_a_run_end_with_their_means() {
    let out = folder("run-means");
    let run = ["run", "examples/minimal", "--set", "duration=3s", "--out", out.to_str().unwrap()];
    let text = printed(&weir(&[&run[..], &["--seed", "3", "--seed", "5"]].concat()));
    assert_eq!(text.matches("\nOver 2 seeds\n").count(), 1, "{text}");
    assert!(!printed(&weir(&run)).contains("Over "));
}
