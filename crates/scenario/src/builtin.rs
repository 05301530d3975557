//! The scenarios that come with Weir.

use crate::tree::{Doc, Value};

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        /// Names and texts.
        pub(crate) const ALL: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),*];
    };
}

builtins!["qsccp/dumbbell", "examples/minimal", "examples/random-200"];

/// The text of a built-in scenario: `qsccp/dumbbell`.
pub fn builtin(name: &str) -> Option<&'static str> {
    ALL.iter().find(|b| b.0 == name).map(|b| b.1)
}

/// Names and titles of the built-in scenarios, in the order of the papers, then the examples.
pub fn builtins() -> Vec<(&'static str, String)> {
    let title = |text: &str| {
        let tree = Doc::new("", text).tree().ok()?;
        tree.value("title").and_then(Value::as_text).map(str::to_owned)
    };
    ALL.iter().map(|&(name, text)| (name, title(text).unwrap_or_default())).collect()
}
