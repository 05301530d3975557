//! Mini-NDN's topologies: `[nodes]` with `name: _ key=value …`, and `[links]` with `a:b delay=10ms bw=100
//! loss=1 max_queue_size=100`. Rates are in Mb/s, and losses in per cent.

use crate::ImportError;
use crate::attributes::{delay, drawn, number, rate};
use crate::topology::{Kind, Reader, Stated};

pub fn read(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let mut section = String::new();
    for (at, line) in text.lines().enumerate() {
        let (at, line) = (at + 1, line.trim());
        if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.trim().to_ascii_lowercase();
            if !matches!(&*section, "nodes" | "hosts" | "switches" | "links") {
                reader.unused(format!("lines of [{section}]"));
            }
            continue;
        }
        let mut words = line.split_whitespace();
        match &*section {
            "nodes" | "hosts" | "switches" => {
                let name = words.next().unwrap_or("").trim_end_matches(':');
                let node = reader.node(name, at)?;
                let polar = |key| line.split_whitespace().find_map(|w| w.strip_prefix(key)).and_then(number);
                if let (Some(radius), Some(angle)) = (polar("radius="), polar("angle=")) {
                    let (x, y) = (radius * libm::cos(angle), radius * libm::sin(angle));
                    reader.topology.nodes[node].place = Some(drawn(x, y));
                }
            }
            "links" => {
                let ends = words.next().and_then(|ends| ends.split_once(':'));
                let Some((a, b)) = ends else {
                    return Err(reader.error(at, "a link is `a:b delay=10ms bw=100`"));
                };
                let stated = stated(words, reader, at)?;
                let end = |name: &str| {
                    reader.known(name).ok_or_else(|| reader.error(at, format!("there is no node `{name}`")))
                };
                let ends = [end(a)?, end(b)?];
                reader.edge(ends, Kind::Both, stated, at)?;
            }
            "" => return Err(reader.error(at, "a section `[nodes]` begins the file")),
            _ => {}
        }
    }
    Ok(())
}

fn stated<'t>(
    words: impl Iterator<Item = &'t str>,
    reader: &mut Reader<'_>,
    at: usize,
) -> Result<Stated, ImportError> {
    let mut of = Stated::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(reader.error(at, format!("`{word}` is not `key=value`")));
        };
        let wrong = |what: &str| reader.error(at, format!("`{value}` is not {what}"));
        match key {
            "delay" => of.delay = Some(delay(value, Some(1.0)).ok_or_else(|| wrong("a delay such as 10ms"))?),
            "bw" => {
                let mbps = rate(&format!("{value}Mb"), false);
                of.rate = Some(mbps.ok_or_else(|| wrong("a rate in Mb/s such as 100"))?);
            }
            "loss" => {
                let ratio = number(value).map(|percent| percent / 100.0).filter(|r| (0.0..=1.0).contains(r));
                of.loss = Some(ratio.ok_or_else(|| wrong("a loss in per cent"))?);
            }
            "max_queue_size" => {
                let packets = value.parse().ok().filter(|packets| *packets > 0);
                of.queue = Some(packets.ok_or_else(|| wrong("a number of packets"))?);
            }
            _ => reader.unused(format!("values of `{key}`")),
        }
    }
    Ok(of)
}
