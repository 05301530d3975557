//! `[scheme]`: the default scheme, parameters, and all other references to schemes.

use weir_document::{Entry, Item, Kind, Origin, Table, params};

use super::expectations::COMPARISONS;
use super::{Listed, Loader, Result};
use crate::keys;
use crate::model::{NamedScheme, SchemeParams};

impl Loader<'_> {
    /// Returns the default scheme, all parameters, and the positions where `[scheme]` names a scheme.
    pub(super) fn scheme(&self) -> Result<(String, Vec<SchemeParams>, Vec<NamedScheme>)> {
        let Some(value) = self.root.value("scheme") else {
            let help = "write [scheme] and below it default = \"NAME\"; `weir list` shows the names";
            return Err(self.doc.error(Origin::Default, "scheme", "the table `[scheme]` is missing", help));
        };
        let of_schemes = |e: &Entry| matches!(e.value.kind, Kind::Table(_)) && &*e.key != "source";
        let all = value.as_table().cloned().unwrap_or_default();
        let (schemes, own): (Vec<Entry>, Vec<Entry>) = all.0.into_iter().partition(of_schemes);
        let own = Table(own);
        let item =
            Item { doc: self.doc, section: "scheme", path: "scheme", table: &own, origin: value.origin };
        self.check_scheme_keys(&own)?;
        let default = item.text("default")?;
        let mut named =
            vec![self.named_scheme("scheme.default".to_owned(), &default, item.origin_of("default"))];
        let mut given = Vec::new();
        for entry in schemes {
            let path = format!("scheme.{}", entry.key);
            named.push(self.named_scheme(path.clone(), &entry.key, entry.key_origin));
            let params = match &entry.value.kind {
                Kind::Table(table) => params(self.doc, &path, table)?,
                _ => Vec::new(),
            };
            given.push(SchemeParams { scheme: entry.key.to_string(), params });
        }
        Ok((default, given, named))
    }

    fn check_scheme_keys(&self, own: &Table) -> Result<()> {
        let Some(entry) = own.0.iter().find(|e| keys::find("scheme", &e.key).is_none()) else {
            return Ok(());
        };
        let help = "keys here: default, source; the parameters of a scheme are in a table [scheme.NAME]";
        Err(self.doc.error(entry.key_origin, "scheme", format!("unknown key `{}`", entry.key), help))
    }

    /// Returns the schemes that flows and expectations name.
    pub(super) fn schemes_of_flows_and_expectations(&self) -> Vec<NamedScheme> {
        let mut named = Vec::new();
        for listed in self.all("flow").iter().chain(&self.all("expectation")) {
            if let Some(value) = listed.table.value("scheme")
                && let Some(name) = value.as_text().filter(|name| *name != "*")
            {
                named.push(self.named_scheme(format!("{}.scheme", listed.path), name, value.origin));
            }
            named.extend(self.compared_schemes(listed));
        }
        named
    }

    /// Returns the schemes that an expectation compares with. A value that is not a text is reported
    /// elsewhere.
    fn compared_schemes(&self, listed: &Listed<'_>) -> Vec<NamedScheme> {
        let mut named = Vec::new();
        for (key, _) in COMPARISONS.iter().filter(|_| listed.section == "expectation") {
            let Some(value) = listed.table.value(key) else { continue };
            for value in value.as_list().unwrap_or(std::slice::from_ref(value)) {
                let name = value.as_text().map(|name| (format!("{}.{key}", listed.path), name));
                named.extend(name.map(|(path, name)| self.named_scheme(path, name, value.origin)));
            }
        }
        named
    }

    fn named_scheme(&self, key: String, name: &str, at: Origin) -> NamedScheme {
        NamedScheme { key, name: name.to_owned(), location: self.doc.location(at) }
    }
}
