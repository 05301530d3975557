//! Memory of full tables, compared with the available memory.

use weir_core::units::Bytes;

use super::{Config, ConfigError, Tables};

/// Memory of a route with a prefix of up to 40 bytes in the RIB and in the FIB, bytes. Longer prefixes take more.
const ROUTE: u64 = 240;
/// Memory of a dead nonce, with its next hops that may still answer, bytes.
const NONCE: u64 = 96;
/// Smallest memory of a face, bytes: 16 KiB of incomplete packets, a packet in its queue, a frame that waits for its socket, and
/// eight prefixes of flows.
const FACE: u64 = 48_000;

/// Memory of each table when it is full, bytes, by key.
fn needs(tables: &Tables) -> [(&'static str, u64); 9] {
    let entries = |entries: usize, each: u64| (entries as u64).saturating_mul(each);
    [
        ("faces", entries(tables.faces, FACE)),
        ("pit_bytes", tables.pit_bytes.as_u64()),
        ("fib_entries", entries(tables.fib_entries, ROUTE)),
        ("dead_nonces", entries(tables.dead_nonces, NONCE)),
        ("queue_bytes", tables.queue_bytes.as_u64()),
        ("flow_bytes", tables.flow_bytes.as_u64()),
        ("content_store_bytes", tables.content_store_bytes.as_u64()),
        ("send_buffer_bytes", tables.send_buffer_bytes.as_u64()),
        ("reassembly_bytes", tables.reassembly_bytes.as_u64()),
    ]
}

/// An amount rounded to two digits.
fn rough(bytes: u64) -> String {
    let unit = 10_u64.pow(bytes.max(1).ilog10().saturating_sub(1));
    Bytes::new(bytes / unit * unit).to_string()
}

impl Config {
    /// Warnings if full tables take more than this many bytes: one for each limit that takes more by itself, or one for all
    /// tables together.
    pub fn beyond_memory(&self, most: u64) -> Vec<ConfigError> {
        let needs = needs(&self.tables);
        let say = |key: &str, what: &str, need: u64, help: &str| {
            let message =
                format!("{what} up to {} of memory, and the forwarder may have {}", rough(need), rough(most));
            self.error_at(key, &message, help)
        };
        let single = needs.iter().filter(|(_, need)| *need > most);
        let single: Vec<_> = single
            .map(|(key, need)| {
                say(&format!("tables.{key}"), "the table takes", *need, "give a smaller limit")
            })
            .collect();
        let sum = needs.iter().fold(0, |sum: u64, (_, need)| sum.saturating_add(*need));
        if !single.is_empty() || sum <= most {
            return single;
        }
        let help = "give smaller limits: docs/tasks/internet.md has some for small machines";
        vec![say("tables", "all tables together take", sum, help)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_no_memory_can_hold_are_told_with_their_lines() {
        let text = "[tables]\nfaces = 1048576\nfib_entries = 1073741824\npit_bytes = \"900 GB\"\n";
        let config = Config::parse(text, "f.toml").unwrap();
        let told: Vec<_> = config.beyond_memory(16_000_000_000).iter().map(ToString::to_string).collect();
        let told: Vec<_> = told.iter().map(|said| said.lines().next().unwrap()).collect();
        assert_eq!(
            told,
            [
                "f.toml:2: tables.faces: the table takes up to 50 GB of memory, and the forwarder may have 16 GB",
                "f.toml:4: tables.pit_bytes: the table takes up to 900 GB of memory, and the forwarder may have 16 GB",
                "f.toml:3: tables.fib_entries: the table takes up to 250 GB of memory, and the forwarder may have 16 GB",
            ]
        );
    }

    #[test]
    fn tables_that_fit_one_by_one_may_be_too_much_together() {
        let config = Config::default();
        assert!(config.beyond_memory(2_000_000_000).is_empty());
        let told = config.beyond_memory(1_000_000_000);
        let [together] = &told[..] else { panic!("{told:?}") };
        let said = together.to_string();
        assert!(said.contains("all tables together take up to 1.6 GB of memory"), "{said}");
        assert!(said.contains("small machines"), "{said}");
    }
}
