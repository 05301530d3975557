//! The forwarder's default file has the defaults, and its examples are valid.

use std::fs;
use std::path::PathBuf;

use weir_forwarder::config::{Change, Config};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn default_file() -> String {
    let path = root().join("packaging/weir.toml");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parse(text: &str) -> Config {
    Config::parse(text, "weir.toml").unwrap_or_else(|error| panic!("{error}"))
}

/// The text with its commented keys as lines of the file.
fn uncomment(text: &str, is_key: impl Fn(&str) -> bool) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if is_key(rest) => rest.trim_start().to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

#[test]
fn the_default_file_says_the_defaults() {
    let text = default_file();
    assert!(Change::between(&Config::default(), &parse(&text)).is_empty());
    let given = uncomment(&text, |rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
    assert!(
        given.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')).count() > 25,
        "{given}"
    );
    let change = Change::between(&Config::default(), &parse(&given));
    assert!(change.is_empty(), "{change:?}");
}

#[test]
fn the_examples_in_the_default_file_are_right() {
    let is_key = |rest: &str| {
        let rest = rest.trim_start();
        let key = rest.split(" = ").next().unwrap_or_default();
        rest.starts_with("[[")
            || rest.contains(" = ")
                && key.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
    };
    let text = uncomment(&default_file(), is_key).replace("localhop = false", "localhop = true");
    let text = text.replace("trusted_keys = []", "trusted_keys = [\"operator.cert\"]");
    let config = parse(&text);
    assert_eq!((config.face.len(), config.routes.len(), config.strategies.len()), (1, 1, 1));
    assert!(config.metrics.is_some() && config.capture.is_some() && config.record.is_some());
    assert_eq!(config.faces.ethernet.options.mtu, Some(1420));
}
