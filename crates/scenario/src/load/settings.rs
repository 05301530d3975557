//! Every settable key of a scenario with its value, for `weir list` and results.

use std::sync::Arc;

use weir_document::{Key, Location, Origin, Table};

use super::Loader;
use crate::expand::items;
use crate::keys;
use crate::model::{SchemeParams, Setting};
use crate::set::{NAMED, item_name};
use crate::settings::{GivenSetting, Settings, TableSettings};

impl Loader<'_> {
    pub(super) fn settings(&self, scheme_params: &[SchemeParams]) -> Settings {
        let mut tables = vec![self.table_settings(String::new(), &settable(""), self.root)];
        for section in ["scheme", "routing", "generate", "generate.flows"] {
            tables.extend(self.section_settings(section));
        }
        for section in NAMED {
            self.add_named(&mut tables, section);
        }
        let params = scheme_params.iter().flat_map(|of| {
            of.params.iter().map(|param| {
                let is_set = matches!(param.location, Location::Set(_));
                Setting {
                    path: format!("scheme.{}.{}", of.scheme, param.key),
                    value: param.value.to_string(),
                    source: if is_set {
                        Some("--set".into())
                    } else {
                        param.source.as_deref().map(Arc::from)
                    },
                    location: Some(param.location.clone()),
                }
            })
        });
        Settings::new(tables, params.collect())
    }

    fn table_settings(&self, path: String, keys: &Arc<[&'static Key]>, table: &Table) -> TableSettings {
        let given = keys.iter().enumerate().filter_map(|(place, key)| {
            let value = table.value(key.key)?;
            let source = match value.origin {
                Origin::Set(_) => Some("--set".into()),
                _ => value.source.clone(),
            };
            let is_placed = value.origin != Origin::Default;
            let location = is_placed.then(|| self.doc.location(value.origin));
            Some((place as u32, GivenSetting { value: value.to_string().into(), source, location }))
        });
        TableSettings { path, given: given.collect(), keys: Arc::clone(keys) }
    }

    /// Returns the keys of a table that occurs once. Its defaults hold without it, except for `[generate]`.
    fn section_settings(&self, section: &str) -> Option<TableSettings> {
        let empty = Table::default();
        let table = section.split('.').try_fold(self.root, |table, part| table.table(part));
        if table.is_none() && section.starts_with("generate") {
            return None;
        }
        Some(self.table_settings(section.to_owned(), &settable(section), table.unwrap_or(&empty)))
    }

    /// Adds the keys of each table of a section.
    fn add_named(&self, tables: &mut Vec<TableSettings>, section: &'static str) {
        let keys = settable(section);
        for (i, value, table) in items(self.root, section) {
            let path = format!("{section}.{}", item_name(section, i, value));
            if section != "event" {
                tables.push(self.table_settings(path, &keys, table));
                continue;
            }
            // An event has only the keys of its target.
            let has =
                |key: &&&Key| matches!(key.key, "at" | "unresponsive") || table.value(key.key).is_some();
            let own = keys.iter().filter(has).copied().collect();
            tables.push(self.table_settings(path, &own, table));
        }
    }
}

fn settable(section: &str) -> Arc<[&'static Key]> {
    keys::of(section).into_iter().filter(|k| k.settable).collect()
}
