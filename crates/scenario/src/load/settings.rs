//! Every settable key of a scenario with its value, for `weir list` and results.

use std::sync::Arc;

use weir_document::{Key, Location, Origin, REQUIRED, Table, Value};

use super::Loader;
use crate::expand::items;
use crate::keys;
use crate::model::{SchemeParams, Setting};
use crate::set::{NAMED, item_name};

impl Loader<'_> {
    pub(super) fn settings(&self, scheme_params: &[SchemeParams]) -> Vec<Setting> {
        let top = settable("").into_iter().map(|key| self.setting(key.key.to_owned(), key, self.root));
        let mut settings: Vec<Setting> = top.collect();
        for section in ["scheme", "routing", "generate", "generate.flows"] {
            self.add_section(&mut settings, section);
        }
        for section in NAMED {
            self.add_named(&mut settings, section);
        }
        for of in scheme_params {
            for param in &of.params {
                let set = matches!(param.location, Location::Set(_));
                settings.push(Setting {
                    path: format!("scheme.{}.{}", of.scheme, param.key),
                    value: param.value.to_string(),
                    source: if set { Some("--set".into()) } else { param.source.as_deref().map(Arc::from) },
                    location: Some(param.location.clone()),
                });
            }
        }
        settings
    }

    fn setting(&self, path: String, key: &Key, table: &Table) -> Setting {
        let given = table.value(key.key);
        let default = if key.default == REQUIRED { "" } else { key.default.trim_matches('"') };
        Setting {
            path,
            value: given.map_or_else(|| default.to_owned(), Value::to_string),
            source: given.and_then(|v| match v.origin {
                Origin::Set(_) => Some("--set".into()),
                _ => v.source.clone(),
            }),
            location: given.filter(|v| v.origin != Origin::Default).map(|v| self.doc.location(v.origin)),
        }
    }

    /// Adds the keys of a table that there is once; its defaults hold without it, unless it generates.
    fn add_section(&self, settings: &mut Vec<Setting>, section: &str) {
        let empty = Table::default();
        let table = section.split('.').try_fold(self.root, |table, part| table.table(part));
        if table.is_none() && section.starts_with("generate") {
            return;
        }
        let add =
            |key: &'static Key| self.setting(format!("{section}.{}", key.key), key, table.unwrap_or(&empty));
        settings.extend(settable(section).into_iter().map(add));
    }

    /// Adds the keys of each table of a section.
    fn add_named(&self, settings: &mut Vec<Setting>, section: &'static str) {
        let keys = settable(section);
        for (i, value, table) in items(self.root, section) {
            let name = item_name(section, i, value);
            // An event has only the keys of what it happens to.
            let has = |key: &&&Key| {
                let of_every = section != "event" || matches!(key.key, "at" | "unresponsive");
                of_every || table.value(key.key).is_some()
            };
            let add = |key: &&'static Key| self.setting(format!("{section}.{name}.{}", key.key), key, table);
            settings.extend(keys.iter().filter(has).map(add));
        }
    }
}

fn settable(section: &str) -> Vec<&'static Key> {
    keys::of(section).into_iter().filter(|k| k.settable).collect()
}
