//! The tables of service classes and of header fields, and the example of a class.

use weir_packet::ServiceClass;

use crate::page::Document;
use crate::{Result, read, root};

const PAGE: &str = "docs/reference/signals.md";

/// All generated parts of the page.
pub fn documents() -> Result<Vec<Document>> {
    Ok(vec![
        Document::part(PAGE, "classes", classes()),
        Document::part(PAGE, "signals", signals()),
        Document::part(PAGE, "example", example()?),
    ])
}

fn classes() -> String {
    let mut table = "| class | value | delay-sensitive |\n|---|---|---|\n".to_owned();
    for class in ServiceClass::ALL {
        let is_urgent = if class.is_delay_sensitive() { "yes" } else { "" };
        table += &format!("| {class} | {} | {is_urgent} |\n", class as u8);
    }
    table
}

fn signals() -> String {
    let mut table =
        "| field | TLV-TYPE | bits | meaning | written by | schemes |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for (signal, schemes) in weir_schemes::registry::signals() {
        let schemes = if schemes.is_empty() { "any".to_owned() } else { schemes.join(", ") };
        let (typ, bits) = (signal.type_number(), signal.bits);
        let (name, meaning) = (signal.name, signal.meaning);
        let who = if signal.is_of_routers { "routers" } else { "consumers" };
        table += &format!("| {name} | {typ} | {bits} | {meaning} | {who} | {schemes} |\n");
    }
    table
}

/// The code that the interoperability tests run, without its head.
fn example() -> Result<String> {
    let code = read(&root().join("tests/interop/service_class.py"))?;
    let (_, code) = code.split_once("\n\n").ok_or("tests/interop/service_class.py needs a head")?;
    Ok(format!("```python\n{}\n```", code.trim()))
}
