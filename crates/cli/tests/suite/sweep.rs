//! `weir sweep`: points, tables, resuming, shards, and failures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::{WEIR, changed, command, folder, printed, refused, text, weir, weir_anew};

/// The minimal example with random losses, so that seeds differ.
const SHORT: [&str; 6] =
    ["sweep", "examples/minimal", "--set", "duration=1s", "--set", "link.alice-bob.loss=0.02"];

/// A call of the command: first these words, then the words of a line.
fn words<'a>(first: &[&'a str], line: &'a str) -> Vec<&'a str> {
    first.iter().copied().chain(line.split_whitespace()).collect()
}

/// Runs a sweep into a folder. It makes every run itself.
fn swept(line: &str, name: &str) -> PathBuf {
    let out = folder(name);
    printed(&weir_anew(&words(&SHORT, &format!("{line} --out {}", out.display()))));
    out
}

/// The commands of the runs of a sweep, without making any.
fn commands(args: &[&str]) -> Vec<String> {
    let output = printed(&weir(&[args, &["--where", "seed=1"]].concat()));
    output.lines().map(str::to_owned).collect()
}

/// The rows of a table, by column name. In these tests only errors, in the last column, contain commas.
fn rows(file: &Path) -> Vec<BTreeMap<String, String>> {
    let table = fs::read_to_string(file).unwrap();
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields = line.splitn(names.len(), ',');
        names.iter().map(|name| (*name).to_owned()).zip(fields.map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

/// The names of the files of kept runs.
fn kept(out: &Path) -> Vec<String> {
    let files = fs::read_dir(out.join("runs")).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names
}

/// Checks that two folders of one sweep are the same, except for the processor times in `runs`.
fn same_results(one: &Path, other: &Path) {
    for name in ["results.parquet", "results.csv", "sweep.json", "sweep.html"] {
        assert!(fs::read(one.join(name)).unwrap() == fs::read(other.join(name)).unwrap(), "{name}");
    }
}

/// Runs a command that `--where` prints with `--json`.
fn made_again(command: &str) -> Value {
    let parts: Vec<&str> = command.split('\'').collect();
    let mut args: Vec<&str> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 1 { args.push(part) } else { args.extend(part.split_whitespace()) }
    }
    args.push("--json");
    serde_json::from_str(&printed(&weir(&args[1..]))).unwrap()
}

#[test]
fn axes_are_combined_paired_and_taken_from_the_file() {
    let rate = ["--vary", "link.alice-bob.rate=5,10Mb/s", "--vary", "link.alice-bob.delay=1:3:2ms"];
    let points = |more: &[&str]| commands(&[&["sweep", "examples/minimal"], &rate[..], more].concat());
    let combined = points(&[]);
    let run = |rate: &str, delay: &str| {
        format!(
            "weir run examples/minimal --scheme fixed --seed 1 --set 'link.alice-bob.rate={rate}' --set 'link.alice-bob.delay={delay}'"
        )
    };
    let all = [("5 Mb/s", "1 ms"), ("5 Mb/s", "3 ms"), ("10 Mb/s", "1 ms"), ("10 Mb/s", "3 ms")];
    assert_eq!(combined, all.map(|(rate, delay)| run(rate, delay)));
    assert_eq!(points(&["--zip"]), [run("5 Mb/s", "1 ms"), run("10 Mb/s", "3 ms")]);
    let logarithmic =
        commands(&["sweep", "examples/minimal", "--vary", "link.alice-bob.loss=0.001..0.1 log 3"]);
    assert!(logarithmic[1].ends_with("link.alice-bob.loss=0.01"), "{logarithmic:?}");
}

#[test]
fn the_axes_of_the_file_are_swept_unless_they_are_given_or_set() {
    let axis = "\n[[axis]]\nname = \"rate\"\nset = \"link.alice-bob.rate\"\nvalues = [\"5 Mb/s\", \"10 Mb/s\"]\nsource = \"assumed: two\"\n\n[[window]]";
    let file = changed("sweep-axis", "\n[[window]]", axis);
    let count = |more: &[&str]| commands(&[&["sweep", &file], more].concat()).len();
    assert_eq!(count(&[]), 2);
    assert_eq!(count(&["--set", "axis.rate=5Mb/s"]), 1);
    assert_eq!(count(&["--set", "link.alice-bob.rate=7Mb/s"]), 1);
    assert_eq!(count(&["--vary", "axis.rate=5,10,20Mb/s"]), 3);
    assert_eq!(count(&["--vary", "link.alice-bob.rate=5,10,20Mb/s"]), 3);
    assert_eq!(count(&["--vary", "link.alice-bob.delay=1,2,3ms"]), 6);
}

#[test]
fn what_the_user_gives_counts_where_an_axis_of_the_file_sets_the_same_key() {
    let axis = "[[axis]]\nname = \"loss\"\nset = \"link.alice-bob.loss\"\nvalues = [0.0, 0.1]\n";
    let file = changed("sweep-overridden", "[[expectation]]", &format!("{axis}\n[[expectation]]"));
    let args =
        ["sweep", &file, "--vary", "link.*.loss=0.2,0.4", "--seeds", "1", "--set", "duration=1s", "--json"];
    let document: Value = serde_json::from_str(&printed(&weir(&args))).unwrap();
    let goodput = |row: &Value| row["periods"][0]["all"]["goodput_bps"]["mean"].as_f64().unwrap();
    let goodputs: Vec<f64> = document["rows"].as_array().unwrap().iter().map(goodput).collect();
    let [a, b, c, d] = goodputs[..] else { panic!("{goodputs:?}") };
    assert!(
        (a, c) == (b, d) && a > c,
        "the axis of the file changes nothing, the given one does: {goodputs:?}"
    );
}

#[test]
fn figures_are_those_of_the_same_runs_alone_and_means_are_over_the_seeds() {
    let line = "--vary link.alice-bob.rate=5,10Mb/s --schemes cubic,fixed --seeds 3..5 --window 0.5:1";
    let out = swept(line, "sweep-figures");
    let runs = rows(&out.join("runs.csv"));
    assert_eq!(runs.len(), 2 * 2 * 3);
    let table = rows(&out.join("results.csv"));
    let figure = |key: &str, window: &str, metric: &str| -> f64 {
        let is_it = |row: &&BTreeMap<String, String>| {
            let wanted = [("key", key), ("window", window), ("kind", "class"), ("metric", metric)];
            wanted.iter().all(|(column, value)| row[*column] == *value)
        };
        let mut found = table.iter().filter(is_it);
        let value = found.next().unwrap()["value"].parse().unwrap();
        assert!(found.next().is_none(), "one row a figure");
        value
    };
    for run in runs.iter().filter(|run| run["seed"] != "4") {
        let alone = made_again(&run["command"]);
        let parts = [("run", &alone["classes"][0]), ("0.5:1", &alone["windows"][0]["classes"][0])];
        for (window, class) in parts {
            assert_eq!(Some(figure(&run["key"], window, "goodput")), class["goodput_bps"].as_f64());
            assert_eq!(Some(figure(&run["key"], window, "delay_p99")), class["delay_ms"]["p99"].as_f64());
            assert_eq!(Some(figure(&run["key"], window, "lost")), class["lost"].as_f64());
        }
    }
    let text = fs::read_to_string(out.join("sweep.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let summary = document["rows"].as_array().unwrap();
    assert_eq!(summary.len(), 4);
    for (row, seeds) in summary.iter().zip(runs.chunks(3)) {
        assert_eq!((row["scheme"].as_str(), row["runs"].as_u64()), (Some(&*seeds[0]["scheme"]), Some(3)));
        assert_eq!(row["values"][0], seeds[0]["link.alice-bob.rate"]);
        let goodputs: Vec<f64> = seeds.iter().map(|run| figure(&run["key"], "run", "goodput")).collect();
        let mean = goodputs.iter().sum::<f64>() / 3.0;
        let stated = row["periods"][0]["classes"][0]["goodput_bps"]["mean"].as_f64().unwrap();
        assert!((stated - mean).abs() <= 1e-9 * mean, "{stated} {mean}");
    }
}

#[test]
fn sweeps_over_other_keys_have_another_folder_and_more_values_the_same() {
    let dir = folder("sweep-folders");
    let sweep = |vary: &[&str]| {
        let set = ["--set", "duration=1s", "--seeds", "1"];
        let vary = vary.iter().flat_map(|vary| ["--vary", vary]);
        let mut call = command();
        call.env_remove("WEIR_RUNS")
            .current_dir(&dir)
            .args(["sweep", "examples/minimal"])
            .args(set)
            .args(vary);
        let output = call.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    sweep(&["link.alice-bob.rate=5,10Mb/s"]);
    sweep(&["link.*.loss=0,0.01", "link.alice-bob.delay=10,20ms"]);
    let said = sweep(&["link.alice-bob.rate=5,10,20Mb/s"]);
    assert!(said.contains("2 of 3 runs are in "), "{said}");
    let mut names: Vec<String> = fs::read_dir(dir.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    let wanted = ["link._.loss-link.alice-bob.delay", "link.alice-bob.rate"];
    assert_eq!(names, wanted.map(|keys| format!("sweep-examples-minimal-{keys}")));
}

#[test]
fn outcomes_that_are_the_same_for_every_seed_have_no_interval() {
    let args = ["sweep", "examples/minimal", "--set", "duration=1s", "--seeds", "3", "--json"];
    let document: Value = serde_json::from_str(&printed(&weir(&args))).unwrap();
    let row = &document["rows"][0];
    assert_eq!((row["runs"].as_u64(), row["distinct"].as_u64()), (Some(3), Some(1)));
    let output = printed(&weir(&[&args[..6], &["--out", folder("sweep-alike").to_str().unwrap()]].concat()));
    let line = output.lines().find(|line| line.trim_start().starts_with("fixed")).unwrap();
    assert!(line.ends_with("1/3") && !line.contains('±'), "{line}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test waits for what another process writes")]
fn a_sweep_that_was_killed_makes_only_what_is_missing() {
    let line = "sweep examples/minimal --set duration=20s --set link.alice-bob.loss=0.01 --vary link.alice-bob.rate=10,20Mb/s --schemes reno,cubic --seeds 12 --jobs 1 --out";
    let args: Vec<&str> = line.split(' ').collect();
    let (whole, killed) = (folder("sweep-whole-out"), folder("sweep-killed-out"));
    printed(&weir_anew(&[&args[..], &[whole.to_str().unwrap()]].concat()));
    let again = [&args[..], &[killed.to_str().unwrap()]].concat();
    let mut process = std::process::Command::new(WEIR);
    process.env_remove("WEIR_RUNS");
    let mut process = process.args(&again).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while kept(&killed).len() < 5 && process.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // After SIGKILL the program cannot clean up.
    process.kill().unwrap();
    process.wait().unwrap();
    let written = |name: &String| killed.join("runs").join(name).metadata().unwrap().modified().unwrap();
    let before: Vec<_> = kept(&killed).into_iter().map(|name| (written(&name), name)).collect();
    assert!((5..48).contains(&before.len()), "it was killed midway: {}", before.len());
    let output = weir_anew(&again);
    let note = format!("note: {} of 48 runs are in ", before.len());
    assert!(text(&output.stderr).contains(&note), "{}", text(&output.stderr));
    printed(&output);
    assert_eq!(kept(&killed), kept(&whole));
    assert!(before.iter().all(|(time, name)| written(name) == *time), "what was there was not made again");
    same_results(&whole, &killed);
}

#[test]
fn parts_whose_runs_are_copied_together_are_the_whole() {
    let line = "--vary link.alice-bob.rate=5,10Mb/s --schemes reno,fixed --seeds 3";
    let whole = swept(line, "sweep-undivided");
    let parts = [1, 2].map(|part| swept(&format!("{line} --shard {part}/2"), &format!("sweep-part-{part}")));
    let merged = folder("sweep-merged");
    fs::create_dir_all(merged.join("runs")).unwrap();
    for part in &parts {
        assert_eq!(kept(part).len(), 6);
        assert_eq!(rows(&part.join("runs.csv")).len(), 6);
        for name in kept(part) {
            fs::copy(part.join("runs").join(&name), merged.join("runs").join(&name)).unwrap();
        }
    }
    let args = words(&SHORT, line);
    let output = weir_anew(&[&args[..], &["--out", merged.to_str().unwrap()]].concat());
    assert!(text(&output.stderr).contains("note: 12 of 12 runs are in "), "{}", text(&output.stderr));
    same_results(&whole, &merged);
}

#[test]
fn where_prints_the_command_of_a_row() {
    let line = "--vary link.alice-bob.rate=5,10Mb/s --schemes reno,cubic --seeds 2";
    let out = swept(line, "sweep-where");
    let row = rows(&out.join("results.csv"))
        .into_iter()
        .find(|row| row["kind"] == "class" && row["metric"] == "delay_mean" && row["seed"] == "2")
        .unwrap();
    let args = words(&SHORT, line);
    let found = |filters: &[&str]| {
        let filters: Vec<&str> = filters.iter().flat_map(|filter| ["--where", filter]).collect();
        printed(&weir(&[&args[..], &filters[..]].concat()))
    };
    let of_key = found(&[&format!("key={}", &row["key"][..12])]);
    let rate = format!("link.alice-bob.rate={}", row["link.alice-bob.rate"]);
    assert_eq!(of_key, found(&[&format!("scheme={}", row["scheme"]), "seed=2", &rate]));
    let number = rate.strip_suffix(" Mb/s").expect("the rate has a unit");
    assert_eq!(of_key, found(&[&format!("scheme={}", row["scheme"]), "seed=2", number]));
    assert_eq!(of_key.lines().count(), 1);
    let alone = made_again(of_key.trim_end());
    let value: f64 = row["value"].parse().unwrap();
    assert_eq!(alone["classes"][0]["delay_ms"]["mean"].as_f64(), Some(value));
    assert_eq!(found(&["scheme=reno"]).lines().count(), 4);
    for (filter, right) in [
        ("scheme=pcon", "it has: reno, cubic"),
        ("seed=9", "it has: 2"),
        ("rate=5Mb/s", "columns: scheme, seed, key, link.alice-bob.rate"),
        ("link.alice-bob.rate=6Mb/s", "its values: 5 Mb/s, 10 Mb/s"),
    ] {
        refused(&[&args[..], &["--where", filter]].concat(), &[filter, right]);
    }
}

#[test]
fn a_dry_run_counts_and_makes_nothing() {
    let out = folder("sweep-dry").join("out");
    let place = out.to_str().unwrap();
    let line = "--vary link.alice-bob.rate=5,10,20Mb/s --schemes reno,fixed --seeds 4";
    let args = words(&SHORT, line);
    let dry = |more: &[&str]| {
        let output = weir_anew(&[&args[..], &["--dry-run", "--jobs", "2", "--out", place], more].concat());
        let lines: Vec<String> = printed(&output).lines().map(str::to_owned).collect();
        (lines[0].clone(), lines[1].clone(), lines[2].clone())
    };
    let (counted, kept_already, missing) = dry(&[]);
    assert_eq!(counted, "3 points, 2 schemes, 4 seeds: 24 runs");
    assert_eq!(kept_already, "kept already: 0");
    assert!(missing.starts_with("to be made: 24, in "), "{missing}");
    assert!(!out.exists(), "nothing is made");
    assert_eq!(dry(&["--shard", "1/5"]).0, "3 points, 2 schemes, 4 seeds, part 1 of 5: 6 runs");
    weir_anew(&[&args[..], &["--shard", "1/5", "--out", place]].concat());
    let (_, kept_already, missing) = dry(&[]);
    assert_eq!(kept_already, "kept already: 6");
    assert!(missing.starts_with("to be made: 18, in "), "{missing}");
}

#[test]
fn a_point_that_fails_is_reported_and_the_others_complete() {
    // At 400 ms the window is outside the run.
    for (name, values) in [("last", "1s,400ms"), ("first", "400ms,1s")] {
        let out = folder(&format!("sweep-failing-{name}"));
        let vary = format!("duration={values}");
        let output = weir(&[
            "sweep",
            "examples/minimal",
            "--vary",
            &vary,
            "--window",
            "500ms:900ms",
            "--seeds",
            "2",
            "--out",
            out.to_str().unwrap(),
        ]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let runs = rows(&out.join("runs.csv"));
        let failed: Vec<_> = runs.iter().filter(|run| !run["error"].is_empty()).collect();
        assert_eq!((runs.len(), failed.len()), (4, 2));
        for run in failed {
            assert_eq!(run["duration"], "400 ms");
            let told = format!("failed: run {}: the window ", run["key"]);
            assert!(text(&output.stderr).contains(&told), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains(&run["command"]), "{}", text(&output.stderr));
        }
        let results = rows(&out.join("results.csv"));
        assert!(!results.is_empty() && results.iter().all(|row| row["duration"] == "1 s"));
        assert_eq!(kept(&out).len(), 2);
    }
    // If no point can run, nothing starts.
    refused(
        &["sweep", "examples/minimal", "--vary", "duration=1,2s", "--window", "5:6"],
        &["the window 5 s to 6 s"],
    );
}

#[test]
fn what_is_varied_wrongly_is_refused_with_what_would_be_right() {
    let right = "KEY=5:20:5Mb/s";
    let cases = [
        ("link.alice-bob.rate", right),
        ("link.alice-bob.rate=", right),
        ("link.alice-bob.rate=5,5Mb/s", "the value 5 Mb/s is given twice"),
        ("link.alice-bob.rate=20:5:5Mb/s", "do not lead from 20 to 5"),
        ("link.alice-bob.rate=1..100Mb/s", "1..100Mb/s log 5"),
        ("link.alice-bob.rate=5,6Mb", "Mb/s"),
        ("link.alice-bob.rat=5,6Mb/s", "did you mean `rate`?"),
        ("axis.rate=5,6Mb/s", "there is no axis `rate`"),
        ("scheme.reno.beta=0.5,0.7", "schemes that run here: fixed"),
    ];
    for (vary, right) in cases {
        refused(&["sweep", "examples/minimal", "--vary", vary], &[right]);
    }
    let rate = "link.alice-bob.rate=5,10Mb/s";
    let two = ["sweep", "examples/minimal", "--vary", rate, "--vary"];
    refused(&[&two[..], &["link.alice-bob.rate=1Mb/s"]].concat(), &["given twice"]);
    refused(&[&two[..], &["duration=1,2,3s", "--zip"]].concat(), &["has 2", "has 3"]);
    refused(&[&two[..4], &["--set", "link.alice-bob.rate=1Mb/s"]].concat(), &["leave out one"]);
}

#[test]
fn seeds_are_written_alike_in_every_command() {
    let minimal = ["examples/minimal", "--set", "duration=500ms"];
    let run = [&["run"], &minimal[..]].concat();
    let compare = [&["compare"], &minimal[..], &["--schemes", "fixed"]].concat();
    let sweep = [&["sweep"], &minimal[..]].concat();
    let reproduce = vec!["reproduce", "examples/minimal"];
    for (seeds, list) in [("2", "[1,2]"), ("3..4", "[3,4]"), ("7,5", "[7,5]")] {
        let document = |args: &[&str]| -> Value {
            let output = weir(&[args, &["--seeds", seeds, "--json"]].concat());
            serde_json::from_str(&printed(&output)).unwrap()
        };
        let runs = document(&run);
        let of_runs: Vec<_> = runs.as_array().unwrap().iter().map(|run| run["seed"].to_string()).collect();
        assert_eq!(format!("[{}]", of_runs.join(",")), list);
        for args in [&compare, &sweep, &reproduce] {
            assert_eq!(document(args)["seeds"].to_string(), list, "{args:?}");
        }
    }
    for args in [&run, &compare, &sweep, &reproduce] {
        for seeds in ["0", "5..3", "1,1", "a", "-1"] {
            refused(&[&args[..], &["--seeds", seeds]].concat(), &["--seeds"]);
        }
    }
}
