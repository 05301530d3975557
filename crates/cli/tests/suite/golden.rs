//! Results do not change: the main figures of every built-in scenario under every scheme are those of the golden table.

use xtask::golden::{changes, committed, digits_kept, measured, parsed, report, written};

use crate::common;

#[test]
fn figures_of_every_scheme_on_every_scenario_are_those_of_the_table() {
    let was = parsed(&committed().unwrap());
    let is = measured(&common::command).unwrap_or_else(|failures| panic!("{failures}"));
    let changes = changes(&was, &is);
    assert!(changes.is_empty(), "{}", report(&changes));
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let text = committed().unwrap();
    assert!(written(&parsed(&text)) == text, "{} is not as `make golden` writes it", xtask::golden::TABLE);
}

#[test]
fn each_kind_of_change_is_told_in_a_line() {
    let was = parsed("s\tfixed\trun\tlost=1\ttimeouts=2\ns\told\trun\tlost=1\n");
    let is = parsed("s\tfixed\trun\tlost=3\tdelay=2\ns\tnew\trun\tlost=1\n");
    assert_eq!(changes(&was, &was), Vec::<String>::new());
    assert_eq!(
        changes(&was, &is),
        [
            "s, new: not in the table",
            "s, old: only in the table",
            "s, fixed, run, delay: was nothing, is 2",
            "s, fixed, run, lost: was 1, is 3",
            "s, fixed, run, timeouts: was 2, is nothing",
        ]
    );
    let report = report(&changes(&was, &is));
    assert!(report.starts_with("5 changes in 3 runs\n") && report.contains("make golden"), "{report}");
}

#[test]
fn digits_are_kept_as_they_were_printed() {
    let kept = digits_kept(r#"{"a\"1": -1.50e-3, "b2": [1, null, "7"], "c": true}"#);
    assert_eq!(kept, r#"{"a\"1": "-1.50e-3", "b2": ["1", null, "7"], "c": true}"#);
}

#[test]
fn one_hundredth_more_instructions_a_hop_is_told() {
    use xtask::instructions;
    let table = |text: &str| instructions::parsed(text).unwrap();
    let was = table("a, fixed\t1000\t500.0\nb, fixed\t1000\t500.0\nold, fixed\t1000\t500.0\n");
    let is = table("a, fixed\t1000\t505.0\nb, fixed\t1001\t505.1\nnew, fixed\t1000\t1.0\n");
    assert_eq!(
        instructions::worse(&was, &is),
        [
            "b, fixed: from 500.0 to 505.1 instructions a packet-hop, 1.0 % more",
            "new, fixed: not in the table",
            "old, fixed: only in the table",
        ]
    );
    let committed = std::fs::read_to_string(xtask::root().join(instructions::TABLE)).unwrap();
    assert_eq!(instructions::written(&table(&committed)), committed);
}
