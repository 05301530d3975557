//! Every key that can be set, with its value.

use std::sync::Arc;

use weir_document::{Key, Location, REQUIRED};

use crate::model::Setting;

/// Every key that can be set with `--set`. Only the values from the file and the overrides are stored. Other
/// keys have their defaults and take no memory: large networks have a million such keys.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    tables: Vec<TableSettings>,
    /// The settings of schemes, which come last.
    params: Vec<Setting>,
}

/// The keys of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableSettings {
    /// Its path, such as `link.R2-R3`; empty for the top of the file.
    pub(crate) path: String,
    pub(crate) keys: Arc<[&'static Key]>,
    /// The given keys, by their index.
    pub(crate) given: Vec<(u32, GivenSetting)>,
}

/// The given value of a key.
#[derive(Clone, Debug)]
pub(crate) struct GivenSetting {
    pub(crate) value: Box<str>,
    pub(crate) source: Option<Arc<str>>,
    pub(crate) location: Option<Location>,
}

impl TableSettings {
    /// Returns the path of a key.
    fn path_of(&self, key: &Key) -> String {
        if self.path.is_empty() { key.key.to_owned() } else { format!("{}.{}", self.path, key.key) }
    }

    fn setting(&self, place: usize) -> Setting {
        let key = self.keys[place];
        let path = self.path_of(key);
        let given = self.given.iter().find(|(of, _)| *of as usize == place);
        if let Some((_, GivenSetting { value, source, location })) = given {
            return Setting {
                path,
                value: value.to_string(),
                source: source.clone(),
                location: location.clone(),
            };
        }
        let default = if key.default == REQUIRED { "" } else { key.default.trim_matches('"') };
        Setting { path, value: default.to_owned(), source: None, location: None }
    }

    fn settings(&self) -> impl Iterator<Item = Setting> {
        (0..self.keys.len()).map(|place| self.setting(place))
    }
}

impl Settings {
    pub(crate) fn new(tables: Vec<TableSettings>, params: Vec<Setting>) -> Settings {
        Settings { tables, params }
    }

    /// Iterates over all settings: in the order of sections, then of the file, then of keys; those of schemes
    /// last.
    pub fn iter(&self) -> impl Iterator<Item = Setting> {
        self.tables.iter().flat_map(TableSettings::settings).chain(self.params.iter().cloned())
    }

    /// Iterates over the settings that have a source.
    pub fn with_source(&self) -> impl Iterator<Item = Setting> {
        let of_table = |table: &'_ TableSettings| -> Vec<Setting> {
            let said = table.given.iter().filter(|(_, given)| given.source.is_some());
            said.map(|(place, _)| table.setting(*place as usize)).collect()
        };
        let params = self.params.iter().filter(|setting| setting.source.is_some()).cloned();
        self.tables.iter().flat_map(of_table).chain(params)
    }

    /// Returns the setting at this path.
    pub fn find(&self, path: &str) -> Option<Setting> {
        let in_table = |table: &TableSettings| {
            path.starts_with(&table.path)
                .then(|| table.settings().find(|setting| setting.path == path))
                .flatten()
        };
        let params = || self.params.iter().find(|setting| setting.path == path).cloned();
        self.tables.iter().find_map(in_table).or_else(params)
    }
}
