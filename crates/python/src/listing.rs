//! The schemes and scenarios that come with Weir.

use pyo3::prelude::*;
use weir_schemes::SCHEMES;

use crate::table::{Columns, Table};

/// The scenarios that come with Weir, one row each: `name` and `title`.
#[pyfunction]
pub fn scenarios() -> Table {
    let all = weir_scenario::builtins();
    Columns::default()
        .text("name", "its name, as `weir.run` takes it", all.iter().map(|(name, _)| name))
        .text("title", "the experiment in one line", all.iter().map(|(_, title)| title))
        .table()
}

/// The schemes, one row each: `name`, `title` and `citation`. With `parameters`, one row for each parameter of each
/// scheme (or of the named one): `scheme`, `key` (for `set`), `default`, `meaning` and `source`.
#[pyfunction]
#[pyo3(signature = (name = None, *, parameters = false))]
pub fn schemes(name: Option<&str>, parameters: bool) -> PyResult<Table> {
    if let Some(name) = name {
        weir_schemes::known(name).map_err(|unknown| {
            crate::errors::SchemeError::new_err(format!("{unknown}\n  = {}", unknown.help()))
        })?;
    }
    let meant = || SCHEMES.iter().filter(move |entry| name.is_none_or(|name| entry.name == name));
    if !parameters {
        return Ok(Columns::default()
            .text("name", "its name, as `weir.run` takes it", meant().map(|entry| entry.name))
            .text("title", "the scheme in one line", meant().map(|entry| entry.title))
            .text("citation", "its paper", meant().map(|entry| entry.citation))
            .table());
    }
    let rows = || meant().flat_map(|entry| entry.parameters.iter().map(move |parameter| (entry, parameter)));
    let key = |entry: &weir_schemes::Entry, key: &str| format!("scheme.{}.{key}", entry.name);
    Ok(Columns::default()
        .text("scheme", "the scheme's name", rows().map(|(entry, _)| entry.name))
        .text("key", "its key, as `set` takes it", rows().map(|(entry, one)| key(entry, one.key)))
        .text("default", "its default, as in a file", rows().map(|(_, one)| one.default))
        .text("meaning", "what it does, with the paper's symbol", rows().map(|(_, one)| one.meaning))
        .text("source", "where the default comes from", rows().map(|(_, one)| one.from))
        .table())
}
