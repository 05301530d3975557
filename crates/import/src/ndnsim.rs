//! ndnSIM's annotated topologies: a section `router` (name, comment, two coordinates, a number), and a section `link` (from,
//! to, bandwidth, metric, delay, queue, and possibly a loss ratio).

use crate::ImportError;
use crate::attributes::{cost, delay, drawn, number, rate};
use crate::topology::{Kind, Reader, Stated};

pub fn read(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let mut section = "";
    for (at, line) in text.lines().enumerate() {
        let (at, line) = (at + 1, line.split('#').next().unwrap_or("").trim());
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), section) {
            ([], _) => {}
            (["router" | "link"], _) => section = words[0],
            ([name, rest @ ..], "router") => {
                if reader.known(name).is_some() {
                    return Err(reader.error(at, format!("there are two routers `{name}`")));
                }
                let node = reader.node(name, at)?;
                let [_, y, x, ..] = rest else { continue };
                if let (Some(x), Some(y)) = (number(x), number(y)) {
                    // The first coordinate points up.
                    reader.topology.nodes[node].place = Some(drawn(x, -y));
                }
            }
            ([from, to, rest @ ..], "link") => {
                let stated = stated(rest, reader).map_err(|what| reader.error(at, what))?;
                let end = |name: &str| {
                    reader.known(name).ok_or_else(|| reader.error(at, format!("there is no router `{name}`")))
                };
                let ends = [end(from)?, end(to)?];
                reader.edge(ends, Kind::Both, stated, at)?;
            }
            (_, "link") => {
                return Err(reader.error(at, "a link has two ends: from to bandwidth metric delay queue"));
            }
            _ => return Err(reader.error(at, "a section `router` or `link` begins the file")),
        }
    }
    Ok(())
}

fn stated(words: &[&str], reader: &mut Reader<'_>) -> Result<Stated, String> {
    let mut of = Stated::default();
    if let Some(text) = words.first() {
        of.rate =
            Some(rate(text, true).ok_or_else(|| format!("`{text}` is not a bandwidth such as 10Mbps"))?);
    }
    if let Some(text) = words.get(1) {
        let wrong = || format!("`{text}` is not a metric: a number from 0.001 to 1e9");
        of.cost = Some(number(text).and_then(cost).ok_or_else(wrong)?);
    }
    if let Some(text) = words.get(2) {
        of.delay = Some(delay(text, None).ok_or_else(|| format!("`{text}` is not a delay such as 10ms"))?);
    }
    if let Some(text) = words.get(3)
        && text.starts_with("ns3::")
    {
        reader.unused("classes of queues (`ns3::…`)");
    } else if let Some(text) = words.get(3) {
        let packets = text.strip_suffix('p').unwrap_or(text).parse().ok().filter(|packets| *packets > 0);
        of.queue = Some(packets.ok_or_else(|| format!("`{text}` is not a queue in packets"))?);
    }
    if let Some(text) = words.get(4) {
        // `ns3::RateErrorModel,ErrorUnit=ERROR_UNIT_PACKET,ErrorRate=0.1`
        let mut of_model = text.split(',').filter_map(|part| part.strip_prefix("ErrorRate="));
        let is_of_packets = text.contains("ERROR_UNIT_PACKET");
        if text.starts_with("ns3::") && !is_of_packets {
            reader.unused("error models of bits or bytes (`ns3::…`)");
            return Ok(of);
        }
        let ratio = number(of_model.next().unwrap_or(text)).filter(|ratio| (0.0..=1.0).contains(ratio));
        of.loss = Some(ratio.ok_or_else(|| format!("`{text}` is not a loss ratio from 0 to 1"))?);
    }
    Ok(of)
}
