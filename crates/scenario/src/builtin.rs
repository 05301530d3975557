//! The scenarios that come with Weir.

use weir_document::{Document, Value};

use crate::keys::FORMAT;

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        /// The names and texts.
        pub(crate) const ALL: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),*];
    };
}

builtins![
    "qsccp/dumbbell",
    "qsccp/tree",
    "qsccp/diamond-bandwidth",
    "qsccp/diamond-latency",
    "qsccp/cache",
    "qsccp/multiaccess",
    "qsccp/abilene-single",
    "qsccp/abilene-multipath",
    "qsccp/geant",
    "qsccp/friendliness",
    "qsccp/friendliness-delay",
    "qsccp/fairness",
    "qsccp/fairness-delay",
    "hbhcm/cache",
    "hbhcm/multi-source",
    "hbhcm/overlay",
    "hbhcm/abilene",
    "dpccp/fixed-cache",
    "dpccp/varying-cache",
    "dpccp/fairness",
    "dpccp/multipath-fairness",
    "dpccp/tree-bandwidth",
    "dpccp/tree-latency",
    "dpccp/diamond-bandwidth",
    "dpccp/diamond-latency",
    "dpccp/abilene",
    "e2e-aqm/dumbbell",
    "e2e-aqm/cascade",
    "e2e-aqm/parking-lot",
    "ndn-qsf/multipath-measurement",
    "ndn-qsf/cache-measurement",
    "ndn-qsf/shared-cache",
    "ndn-qsf/multipath",
    "ndn-qsf/shared-bottleneck",
    "ndn-qsf/maximum-flow",
    "ndn-qsf/cache-multipath",
    "ndn-qsf/fair-queueing",
    "conditions/near-cache",
    "conditions/long-hops",
    "conditions/rates",
    "conditions/many-flows",
    "conditions/sizes",
    "conditions/two-way-classes",
    "conditions/flood",
    "conditions/joins",
    "conditions/path-change",
    "conditions/foreign",
    "conditions/loss",
    "conditions/short-flows",
    "conditions/beside-tcp",
    "examples/minimal",
    "examples/random-200",
    "examples/early-loss",
    "examples/caches",
];

/// Returns the text of a built-in scenario, such as `qsccp/dumbbell`.
pub fn builtin(name: &str) -> Option<&'static str> {
    ALL.iter().find(|b| b.0 == name).map(|b| b.1)
}

/// Experiments that papers repeat in an emulated network: a common name, and the scenarios.
const EMULATED: &[(&str, &[&str])] = &[(
    "qsccp/appendix",
    &["qsccp/dumbbell", "qsccp/tree", "qsccp/diamond-bandwidth", "qsccp/diamond-latency"],
)];

/// Returns the scenarios that a paper repeats in an emulated network, by their common name, such as
/// `qsccp/appendix`.
pub fn emulated(name: &str) -> Option<&'static [&'static str]> {
    EMULATED.iter().find(|one| one.0 == name).map(|one| one.1)
}

/// Returns the names for which [`emulated`] has scenarios.
pub fn emulated_names() -> impl Iterator<Item = &'static str> {
    EMULATED.iter().map(|one| one.0)
}

/// Returns the names and titles of the built-in scenarios: those of papers in order, then the examples.
pub fn builtins() -> Vec<(&'static str, String)> {
    let title = |text: &str| {
        let tree = Document::new(FORMAT, "", text).tree().ok()?;
        tree.value("title").and_then(Value::as_text).map(str::to_owned)
    };
    ALL.iter().map(|&(name, text)| (name, title(text).unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::units::{Bytes, Rate, Span};
    use weir_document::{Kind, Table, annotate};

    fn is_number(value: &Value) -> bool {
        match &value.kind {
            Kind::Int(_) | Kind::Float(_) => true,
            Kind::Text(text) => {
                let quantity = text.parse::<Span>().is_ok()
                    || text.parse::<Rate>().is_ok()
                    || text.parse::<Bytes>().is_ok();
                quantity || text.ends_with(" packets")
            }
            _ => false,
        }
    }

    fn unsourced(value: &Value, path: &str, out: &mut Vec<String>) {
        match &value.kind {
            Kind::Table(table) => walk(table, path, out),
            Kind::List(list) => {
                for (i, v) in list.iter().enumerate() {
                    unsourced(v, &format!("{path}.{i}"), out);
                }
            }
            _ if is_number(value) => {
                let said = value.source.as_deref().unwrap_or("");
                if !["paper: ", "files: ", "fitted: ", "assumed: ", "theory: "]
                    .iter()
                    .any(|kind| said.starts_with(kind))
                {
                    out.push(format!("{path} = {value}: `{said}`"));
                }
            }
            _ => {}
        }
    }

    fn walk(table: &Table, path: &str, out: &mut Vec<String>) {
        for entry in table.0.iter().filter(|e| &*e.key != "source") {
            unsourced(&entry.value, &format!("{path}.{}", entry.key), out);
        }
    }

    fn numbers_without_source(text: &str) -> Vec<String> {
        let doc = Document::new(FORMAT, "built-in", text);
        let mut tree = doc.tree().unwrap();
        assert_eq!(annotate(&doc, &mut tree), []);
        let mut out = Vec::new();
        walk(&tree, "", &mut out);
        out
    }

    #[test]
    fn every_number_of_a_built_in_says_where_it_comes_from() {
        for (name, text) in ALL {
            let without = numbers_without_source(text);
            assert!(without.is_empty(), "{name}, numbers without `source`: {without:#?}");
        }
    }

    #[test]
    fn a_number_without_a_source_is_found() {
        let found = numbers_without_source(
            "duration = \"1 s\"\n[[link]]\nrate = [\"1 Mb/s\", \"2 Mb/s\"]\nloss = 0.1\n\
             source = { loss = \"paper: x\" }\n[scheme.a]\nsource = \"files: f\"\nw.x = 1\n[[node]]\nname = \"n1\"\n\
             cache = 3\nsource = \"I think\"\n",
        );
        let expected = [".duration", ".link.0.rate.0", ".link.0.rate.1", ".node.0.cache"];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(f, e)| f.starts_with(e)), "{found:?}");
    }
}
