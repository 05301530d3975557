//! `weir plot`: figures of results on disk.
use std::fs;

use crate::common::{folder, printed, refused, text, weir};

#[test]
fn a_run_and_a_comparison_are_drawn_in_every_format_and_errors_say_what_is_there() {
    let dir = folder("plot");
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let set = ["--set", "duration=1s", "--set", "window.steady.from=500ms", "--set", "window.steady.to=1s"];
    let run = ["run", "qsccp/dumbbell", "--out"];
    assert!(weir(&[&run[..], &[&at("run")], &set].concat()).status.success());
    let compare = ["compare", "qsccp/dumbbell", "--schemes", "qsccp,fixed", "--seeds", "2", "--out"];
    assert!(weir(&[&compare[..], &[&at("both")], &set].concat()).status.success());
    for (results, file, begin) in [
        ("run", "a.svg", "<svg"),
        (
            "run",
            "a.csv",
            "panel,title,layer,kind,x_label,x_unit,x,category,y_label,y_unit,y,low,high,seed\n1,,EF,line,time,s,",
        ),
        ("both", "b.pdf", "%PDF"),
        ("both", "b.json", "{\n  \"source\": \"qsccp/dumbbell, seeds 1, 2"),
        ("both", "b.png", "\u{fffd}PNG"),
    ] {
        assert_eq!(printed(&weir(&["plot", &at(results), "-o", &at(file)])), "");
        let bytes = fs::read(dir.join(file)).unwrap();
        assert!(String::from_utf8_lossy(&bytes).starts_with(begin), "{file}");
    }
    refused(&["plot", &at("run"), "-o", &at("a.doc")], &["a.doc", "svg", "pdf"]);
    refused(&["plot", &at("run"), "--what", "pie", "-o", &at("a.svg")], &["pie", "series, bars"]);
    refused(&["plot", &at("run"), "--metric", "speed", "-o", &at("a.svg")], &["speed", "goodput, delay"]);
    refused(&["plot", &at("run"), "--what", "axis", "-o", &at("a.svg")], &["weir sweep"]);
    refused(&["plot", &at("nothing"), "-o", &at("a.svg")], &["nothing"]);
    fs::write(dir.join("home.toml"), "").unwrap();
    refused(
        &["plot", &at("home.toml"), "-o", &at("a.svg")],
        &["home.toml is no folder of results: run it first"],
    );
    let svg = weir(&["plot", &at("run"), "--what", "topology", "-o", &at("t.svg")]);
    assert!(svg.status.success(), "{}", text(&svg.stderr));
    assert!(fs::read_to_string(dir.join("t.svg")).unwrap().contains("utilisation"));
}
