//! No text and no override makes the crate panic, and errors point into the text.

use proptest::prelude::*;
use weir_scenario::{Override, Scenario, builtin};

fn check(text: &str, overrides: &[Override]) {
    if let Err(e) = Scenario::parse("x", "x.toml", text, overrides) {
        let said = e.to_string();
        assert!(!e.message().is_empty() && said.len() < 20_000, "{said}");
        assert!(e.line() as usize <= text.lines().count().max(1) + 1, "{said}");
    }
}

/// The pieces of generated files.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "{0..99999}",
        "{}",
        "{",
        "}",
        "{1..",
        "[[link]]\n",
        "[link]\n",
        "[[flow]]\n",
        "[[node]]\n",
        "[generate]\n",
        "kind = \"waxman\"\n",
        "nodes = 50\n",
        "count = 100000\n",
        "count = 0\n",
        "= ",
        "\"",
        "[",
        "]",
        "\n",
        "->",
        "|",
        "R1",
        "R2",
        "\"10 Mb/s\"",
        "-1",
        "1e400",
        "nan",
        "inf",
        "9223372036854775807",
        "18446744073709551616",
        "99999999999 s",
        "source = { rate = 1 }\n",
        "1979-05-27",
        "'''",
        "\u{0}",
        "é",
        "hops = [\"R1->R2\"]\n",
        "policy = \"given\"\n",
        "[[axis]]\nname = \"a\"\nset = \"*\"\nvalues = [1]\n",
        "[[event]]\nat = \"0 s\"\n",
        "[[expectation]]\nsource = \"s\"\nmetric = \"lost\"\nmore_than = \"pcon\"\n",
        "less_than = [\"pcon\", 1, \"\"]\n",
        "more_than = []\n",
        "scheme = \"*\"\n",
        "amount = [1, 2]\n",
        "start_spread = \"18446744073 s\"\n",
        "sample = \"1 ns\"\n",
        "duration = \"18446744073 s\"\n",
    ])
    .prop_map(str::to_owned);
    prop_oneof![3 => known, 1 => "[ -~]{0,6}", 1 => "\\PC{0,3}"]
}

fn near(text: &str, mut at: usize) -> usize {
    at %= text.len() + 1;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "link", "node", "flow", "scheme", "window", "event", "axis", "generate", "defaults", "routing",
            "flows", "R2-R3", "EF", "*", "**", "C*", "0", "steady", "rate", "delay", "count", "policy",
            "qsccp", "default", "weights", "duration", "sample", "consumer", "prefix", "producer", "from",
            "to", "nodes", "", "position", "cache",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.join("."))
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "10Mb/s",
            "0",
            "-1",
            "1",
            "5",
            "0.5",
            "nan",
            "inf",
            "true",
            "\"",
            "[]",
            "[1,",
            "{ a = 1 }",
            "[\"1 Mb/s\", \"2 Mb/s\"]",
            "given",
            "multipath",
            "10 ms",
            "0 s",
            "18446744073 s",
            "C{1..4}",
            "/{}",
            "/A{0..9}",
            "{}",
            "{0..99999}",
            "elastic",
            "100000",
            "1979-05-27",
            "unlimited",
            "R1",
            "[[[[]]]]",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_an_error_or_a_scenario(
        which in 0usize..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, piece()), 1..6),
    ) {
        let name = ["qsccp/dumbbell", "examples/minimal", "examples/random-200", "hbhcm/overlay"][which];
        let mut text = builtin(name).unwrap().to_owned();
        for (at, cut, piece) in edits {
            let from = near(&text, at.index(text.len() + 1));
            let to = near(&text, (from + cut).min(text.len())).max(from);
            text.replace_range(from..to, &piece);
        }
        check(&text, &[]);
    }

    #[test]
    fn a_file_of_random_lines_is_an_error_or_a_scenario(pieces in prop::collection::vec(piece(), 0..20)) {
        check(&pieces.concat(), &[]);
    }

    #[test]
    fn lines_in_another_order_are_an_error_or_a_scenario(
        moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..8),
    ) {
        let mut lines: Vec<&str> = builtin("qsccp/dumbbell").unwrap().lines().collect();
        for (from, to) in moves {
            let line = lines.remove(from.index(lines.len()));
            lines.insert(to.index(lines.len()), line);
        }
        check(&lines.join("\n"), &[]);
    }

    #[test]
    fn any_override_is_an_error_or_a_scenario(
        which in 0usize..3,
        overrides in prop::collection::vec((path(), value()), 1..4),
    ) {
        let name = ["qsccp/dumbbell", "examples/minimal", "examples/random-200"][which];
        let overrides: Vec<Override> = overrides.into_iter().map(|(p, v)| Override::new(p, v)).collect();
        check(builtin(name).unwrap(), &overrides);
    }

    #[test]
    fn a_comparison_has_the_schemes_that_it_names_if_each_is_another(
        own in prop::sample::select(vec!["fixed", "pcon", "*"]),
        key in prop::sample::select(vec!["more_than", "less_than"]),
        named in prop::collection::vec(prop::sample::select(vec!["fixed", "pcon", "hbhcm", "nobody"]), 0..4),
    ) {
        let end = format!(
            "[[expectation]]\nsource = \"paper: s\"\nscheme = \"{own}\"\nmetric = \"lost\"\n{key} = {named:?}\n"
        );
        let text = format!("{}\n{end}", builtin("examples/minimal").unwrap());
        let distinct: std::collections::BTreeSet<_> = named.iter().collect();
        let may_be = own != "*" && !named.is_empty() && !named.contains(&own) && distinct.len() == named.len();
        match Scenario::parse("x", "x.toml", &text, &[]) {
            Ok(scenario) => {
                prop_assert!(may_be, "{end}");
                prop_assert_eq!(scenario.expectations.last().unwrap().stated.schemes(), &named[..]);
                let checked = |name: &str| scenario.schemes.iter().any(|n| n.name == name && n.key.ends_with(key));
                prop_assert!(named.iter().all(|name| checked(name)), "each is checked to be a scheme");
            }
            Err(error) => {
                prop_assert!(!may_be, "{error}");
                prop_assert!(error.to_string().contains("expectation."), "{error}");
            }
        }
    }

    #[test]
    fn any_text_is_an_override_or_none(text in "\\PC{0,20}") {
        if let Ok(o) = Override::parse(&text) {
            check(builtin("examples/minimal").unwrap(), &[o]);
        }
    }
}
