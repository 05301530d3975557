use super::declare::{changed, joined};
use super::*;
use crate::tables::flow_prefix::FlowPrefix;
use crate::{choice, parameters};

parameters! {
    /// A group that schemes share.
    #[derive(Debug, PartialEq)]
    struct Shared {
        /// W at first, packets
        initial: f64 = number("initial", 1.0..=9.0) default "" from "";
        /// the smallest W
        least: f64 = number("least", 1.0..=9.0) default "2" from "paper: (4)";
    }
}

choice! {
    /// How it is done.
    #[derive(Debug, PartialEq)]
    enum Mode {
        /// The one way.
        A = "a",
        /// The other.
        B = "b-way",
    }
}

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant { name: "code", defaults: &[("eta", "0.8"), ("initial", "1")] },
];

parameters! {
    /// A row of each kind.
    #[derive(Debug, PartialEq)]
    struct Settings {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article" from "paper: all of it";
        /// η, the part of a link
        /// that is used
        eta: f64 = number("eta", 0.0..=1.0) default "0.99" from "paper: (1)";
        /// whole, and small
        count: u32 = integer("count", 1..=1 << 10) default "3" from "assumed";
        /// a size in bytes, kept in bits
        bits: u64 = integer("size", 1..=8800) default "1000" from "assumed" as |bytes| 8 * bytes;
        /// 0: the prefix of the FIB entry
        flow_prefix: FlowPrefix = integer("flow_prefix", 0..=127) default "0" from "assumed";
        /// how long
        period: Span = span("period", Span::from_millis(1)..=Span::from_secs(10)) default "100 ms" from "assumed";
        /// how long; 0: for ever
        until: Option<Span> = span("until", Span::ZERO..=Span::from_secs(10)) default "0 s" from "assumed";
        /// the least rate
        floor: Rate = rate("floor", Rate::from_bps(1)..=Rate::from_mbps(1)) default "1 kb/s" from "assumed";
        /// how long a queue is
        queue: Bytes = bytes("queue") default "1500 B" from "assumed";
        /// whether it is on
        on: bool = switch("on") default "true" from "assumed";
        /// the way
        mode: Mode = choice("mode") default "a" from "assumed";
        /// The weights of two classes.
        weights: [f64; 2] = [
            /// ω of class A
            number("weights.A", 0.1..=9.0) default "5" from "assumed";
            /// ω of class B
            number("weights.B", 0.1..=9.0) default "4" from "assumed";
        ];
        /// weights of prefixes
        of_prefix: Vec<(Name, f64)> = each number("of_prefix.*", 0.0..=9.0) default "1" from "assumed";
        shared: Shared = group {
            /// W at first in this scheme
            initial default "4" from "paper: (3)";
        };
    }
}

fn resolve(given: &[(&str, &str)]) -> Result<Settings, String> {
    let given: Vec<_> = given.iter().map(|(key, value)| (*key, Value::parse(value))).collect();
    let params = Params::resolve(Settings::PARAMETERS, given.iter().map(|(key, value)| (*key, value)));
    params.map(|params| Settings::new(&params)).map_err(|error| error.to_string())
}

fn wrong(key: &str, value: &str) -> String {
    resolve(&[(key, value)]).unwrap_err()
}

#[test]
fn defaults_fill_what_is_not_given() {
    let settings = Settings {
        eta: 0.99,
        count: 3,
        bits: 8000,
        flow_prefix: FlowPrefix::FibEntry,
        period: Span::from_millis(100),
        until: None,
        floor: Rate::from_bps(1000),
        queue: Bytes::new(1500),
        on: true,
        mode: Mode::A,
        weights: [5.0, 4.0],
        of_prefix: Vec::new(),
        shared: Shared { initial: 4.0, least: 2.0 },
    };
    assert_eq!(resolve(&[]), Ok(settings));
}

#[test]
fn what_is_given_is_read_into_the_field_of_its_row() {
    let given = [
        ("eta", "1"),
        ("count", "7"),
        ("size", "100"),
        ("flow_prefix", "2"),
        ("period", "1 s"),
        ("until", "2 s"),
        ("floor", "1 Mb/s"),
        ("queue", "9 B"),
        ("on", "false"),
        ("mode", "b-way"),
        ("weights.B", "0.5"),
        ("of_prefix./a.b/c", "2"),
        ("least", "3"),
    ];
    let settings = Settings {
        eta: 1.0,
        count: 7,
        bits: 800,
        flow_prefix: FlowPrefix::Components(2),
        period: Span::from_secs(1),
        until: Some(Span::from_secs(2)),
        floor: Rate::from_mbps(1),
        queue: Bytes::new(9),
        on: false,
        mode: Mode::B,
        weights: [5.0, 0.5],
        of_prefix: vec![("/a.b/c".parse().unwrap(), 2.0)],
        shared: Shared { initial: 4.0, least: 3.0 },
    };
    assert_eq!(resolve(&given), Ok(settings));
}

#[test]
fn the_table_has_the_rows_in_their_order() {
    let keys: Vec<_> = Settings::PARAMETERS.iter().map(|row| row.key).collect();
    let wanted = "variant eta count size flow_prefix period until floor queue on mode weights.A weights.B \
                  of_prefix.* initial least";
    assert_eq!(keys.join(" "), wanted);
    let Parameter { kind, default, meaning, from, .. } = Settings::PARAMETERS[1];
    assert_eq!(kind, ParameterKind::Number(0.0, 1.0));
    assert_eq!((default, meaning, from), ("0.99", "η, the part of a link that is used", "paper: (1)"));
    assert_eq!(Settings::PARAMETERS[10].kind, ParameterKind::Choice(&["a", "b-way"]));
}

#[test]
fn a_group_has_other_defaults_and_meanings_where_a_scheme_changes_them() {
    let of = |row: &Parameter| (row.default, row.meaning, row.from);
    let rows = [14, 15].map(|at| of(&Settings::PARAMETERS[at]));
    assert_eq!(rows[0], ("4", "W at first in this scheme", "paper: (3)"));
    assert_eq!(rows[1], of(&Shared::PARAMETERS[1]));
}

#[test]
fn errors_say_what_would_be_right() {
    let unknown = wrong("etta", "1");
    assert!(
        unknown.starts_with("etta: unknown parameter; this scheme has: variant, eta, count"),
        "{unknown}"
    );
    assert_eq!(wrong("eta", "1.5"), "eta: `1.5` is not a number from 0 to 1");
    assert_eq!(wrong("count", "1.5"), "count: `1.5` is not a whole number from 1 to 1024");
    assert_eq!(wrong("on", "1"), "on: `1` is not true or false");
    assert_eq!(wrong("mode", "c"), "mode: `c` is not one of a, b-way");
    assert_eq!(wrong("variant", "port"), "variant: `port` is not one of article, code");
    assert_eq!(wrong("queue", "9"), "queue: `9` is not a size with its unit, such as \"1024 B\"");
    assert!(wrong("period", "3").contains("\"100 ms\""));
    assert!(wrong("period", "3 furlongs").contains("ms"));
    assert_eq!(wrong("period", "0 s"), "period: `0 s` is not a time from 1 ms to 10 s");
    assert_eq!(wrong("period", "11 s"), "period: `11 s` is not a time from 1 ms to 10 s");
    assert_eq!(wrong("floor", "0 b/s"), "floor: `0 b/s` is not a rate from 1 b/s to 1 Mb/s");
    assert_eq!(wrong("weights.A", "0"), "weights.A: `0` is not a number from 0.1 to 9");
    assert_eq!(wrong("initial", "10"), "initial: `10` is not a number from 1 to 9");
}

#[test]
fn a_family_has_a_member_for_each_prefix() {
    assert_eq!(wrong("of_prefix.a", "2"), "of_prefix.a: `a` is not a name prefix; did you mean `/a`?");
    assert_eq!(wrong("of_prefix./a", "10"), "of_prefix./a: `10` is not a number from 0 to 9");
    let unknown = wrong("of_prefixes./a", "2");
    assert!(unknown.starts_with("of_prefixes./a: unknown parameter; this scheme has: "), "{unknown}");
}

#[test]
fn a_variant_has_defaults_of_its_own_and_what_is_given_goes_before_them() {
    let of = |given: &[(&str, &str)]| resolve(given).map(|settings| (settings.eta, settings.shared.initial));
    assert_eq!(of(&[]), Ok((0.99, 4.0)));
    assert_eq!(of(&[("variant", "code")]), Ok((0.8, 1.0)));
    assert_eq!(of(&[("eta", "0.5"), ("variant", "code")]), Ok((0.5, 1.0)));
    assert_eq!(wrong("variant", "0.5"), "variant: `0.5` is not one of article, code");
}

#[test]
fn the_bounds_themselves_are_within() {
    for (key, value) in [("period", "1 ms"), ("period", "10 s"), ("floor", "1 b/s"), ("floor", "1 Mb/s")] {
        assert!(resolve(&[(key, value)]).is_ok(), "{key} = {value}");
    }
}

/// In a declaration these are compile errors.
#[test]
#[should_panic = "a key is declared twice"]
fn a_key_is_declared_once() {
    let _ = joined::<4>(&[Shared::PARAMETERS, Shared::PARAMETERS]);
}

#[test]
#[should_panic = "a variant names a key that is not declared"]
fn a_variant_changes_what_is_declared() {
    let _ = joined::<1>(&[&Settings::PARAMETERS[..1]]);
}

#[test]
#[should_panic = "the group has no parameter with this key"]
fn a_scheme_changes_what_its_group_has() {
    let _ = changed::<2>(Shared::PARAMETERS, &[Parameter { default: "3", ..Settings::PARAMETERS[1] }]);
}

#[test]
#[should_panic = "a parameter of the group has no default here"]
fn a_scheme_gives_the_defaults_that_its_group_does_not_have() {
    let _ = changed::<2>(Shared::PARAMETERS, &[]);
}
