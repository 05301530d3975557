//! All generated documents.

use std::path::Path;

use crate::page::Document;
use crate::{Result, published, read, records, root};

mod command_line;
mod crates;
mod results;
mod schemes;
mod signals;

/// Generates all documents. `weir` is the command for the help.
pub fn documents(weir: &Path) -> Result<Vec<Document>> {
    let mut documents = vec![crates::picture()?, command_line::help(weir)?];
    documents.extend(signals::documents()?);
    documents.extend(schemes::documents()?);
    documents.extend(results::documents()?);
    documents.extend(references());
    documents.extend(records::documents()?);
    documents.extend(published::documents()?);
    documents.push(example_of_a_scheme()?);
    Ok(documents)
}

/// The references of scenario files and of the forwarder's file, the schema, and the default file.
fn references() -> Vec<Document> {
    use weir_forwarder::config::reference as forwarder;
    use weir_forwarder::metrics::reference as metrics;
    use weir_scenario::reference as scenario;
    vec![
        Document::part("docs/reference/scenario.md", "keys", scenario::markdown()),
        Document::whole("docs/reference/scenario.schema.json", scenario::schema()),
        Document::part("docs/reference/forwarder-config.md", "keys", forwarder::markdown()),
        Document::whole("packaging/weir.toml", forwarder::default_file()),
        Document::part("docs/reference/metrics.md", "metrics", metrics::markdown()),
    ]
}

/// The tested code on the page about adding a scheme.
fn example_of_a_scheme() -> Result<Document> {
    let code = read(&root().join("crates/schemes/tests/suite/add_a_scheme/aimd.rs"))?;
    Ok(Document::part("docs/develop/add-a-scheme.md", "example", format!("```rust\n{code}```")))
}

/// Capitalises the first letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
