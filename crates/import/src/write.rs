//! Writes the text of a scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use weir_core::units::{Rate, Span};

use crate::topology::{Place, Stated, Topology};
use crate::{Delay, ImportError, Imported, Options};

/// The rate of links if neither the file nor an option states it: assumed.
const RATE: Rate = Rate::from_mbps(100);
/// The delay of links without a stated delay and without coordinates of both ends: assumed.
const DELAY: Span = Span::from_millis(10);
/// The speed of light in a fibre, km/ms.
const SPEED: f64 = 200.0;
/// The delay of links between nodes at one place: assumed.
const SHORTEST: Span = Span::from_micros(10);
/// Mean radius of the earth, km.
const EARTH: f64 = 6371.0;

/// The names of the file's nodes in the scenario.
struct Names {
    names: Vec<String>,
    /// The name or label in the file of each node that has another name here.
    mapped: Vec<(String, usize)>,
}

/// Writes the scenario. Returns it with the differences from the file.
pub fn write(
    topology: Topology,
    sources: &[(String, &'static str)],
    options: &Options,
) -> Result<Imported, ImportError> {
    let names = names(&topology);
    let file = sources.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>().join(" and ");
    let formats = sources.iter().map(|(_, format)| *format).collect::<Vec<_>>().join(" and ");
    let parts = topology.parts();
    let flows =
        flows(&topology, &names, &parts, options).map_err(|message| ImportError::of_file(&file, message))?;
    let links = Links::new(&topology, options);
    let notes = notes(&topology, &parts, &names, &links);

    let mut text = format!(
        "title = {}\nsource = {}\nduration = \"10 s\"\n",
        quoted(&format!("{} nodes and {} links of {file}", topology.nodes.len(), topology.links.len())),
        quoted(&format!("files: {file} ({formats})")),
    );
    for note in &notes {
        let _ = writeln!(text, "# {}", one_line(note));
    }
    let _ = write!(text, "\n[scheme]\ndefault = {}\n\n", quoted(&options.scheme));
    text += &links.defaults(&file);
    if !names.mapped.is_empty() {
        text += "\n# Names in the file, and here:\n";
        for (name, node) in &names.mapped {
            let _ = writeln!(text, "#   {} = {}", one_line(name), names.names[*node]);
        }
    }
    let middle = middle(&topology);
    for (node, name) in topology.nodes.iter().zip(&names.names) {
        let _ = write!(text, "\n[[node]]\nname = {}\n", quoted(name));
        if let Some(place) = node.place {
            let (x, y) = drawn(place, middle);
            let _ = writeln!(text, "position = [{x:.2}, {y:.2}]");
        }
    }
    links.write(&mut text, &topology, &names);
    let metric = if links.all_have_costs { "cost" } else { "hops" };
    let _ = write!(
        text,
        "\n[routing]\npolicy = \"shortest-path\"\nmetric = \"{metric}\"\n\
         # Next hops that follow failures: converge = \"200 ms\"\n"
    );
    for (number, [consumer, producer]) in flows.iter().enumerate() {
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"flow{number}\"\nconsumer = {}\nproducer = {}\nprefix = \"/flow{number}\"\n",
            quoted(&names.names[*consumer]),
            quoted(&names.names[*producer]),
        );
        if options.flows.is_empty() {
            text += "source = \"assumed: a sample\"\n";
        }
    }
    Ok(Imported { scenario: text, notes })
}

/// Quotes a text for TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Removes characters that would end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Replaces each character that a node's name may not have by `_`.
fn allowed(name: &str) -> String {
    let map = |c: char| if c.is_alphanumeric() || "_-, ".contains(c) { c } else { '_' };
    name.chars().map(map).collect::<String>().trim().to_owned()
}

fn names(topology: &Topology) -> Names {
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut names = Names { names: Vec::new(), mapped: Vec::new() };
    for (number, node) in topology.nodes.iter().enumerate() {
        let wanted = node.label.as_deref().unwrap_or(&node.id);
        let mut base = allowed(wanted);
        if base.chars().all(|c| !c.is_alphanumeric()) {
            base = allowed(&format!("n{}", node.id));
        }
        let mut name = base.clone();
        let mut next = 2;
        while !used.insert(name.clone()) {
            name = format!("{base} {next}");
            next += 1;
        }
        if name != wanted {
            let id = if wanted == node.id { String::new() } else { format!(" ({})", node.id) };
            names.mapped.push((format!("{wanted}{id}"), number));
        }
        names.names.push(name);
    }
    names
}

/// Returns the flows: the requested ones, or two sample flows that share links.
fn flows(
    topology: &Topology,
    names: &Names,
    parts: &[Vec<usize>],
    options: &Options,
) -> Result<Vec<[usize; 2]>, String> {
    let part_of: BTreeMap<usize, usize> = parts
        .iter()
        .enumerate()
        .flat_map(|(part, nodes)| nodes.iter().map(move |node| (*node, part)))
        .collect();
    let find = |name: &str| {
        let by_name = names.names.iter().position(|known| known == name);
        let by_file =
            || topology.nodes.iter().position(|node| node.id == name || node.label.as_deref() == Some(name));
        by_name.or_else(by_file).ok_or_else(|| {
            let some = names.names.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("--flow: there is no node `{name}`; nodes: {some}, …")
        })
    };
    if options.flows.is_empty() {
        return Ok(sample(topology, &parts[0]));
    }
    let flow = |(consumer, producer): &(String, String)| {
        let ends = [find(consumer)?, find(producer)?];
        if ends[0] == ends[1] {
            return Err(format!(
                "--flow {consumer}->{producer}: consumer and producer must be different nodes"
            ));
        }
        if part_of[&ends[0]] != part_of[&ends[1]] {
            return Err(format!("--flow {consumer}->{producer}: no links join them"));
        }
        Ok(ends)
    };
    options.flows.iter().map(flow).collect()
}

/// Returns two flows: from one of two distant nodes, and from the node with most links, to the other distant
/// node.
fn sample(topology: &Topology, part: &[usize]) -> Vec<[usize; 2]> {
    let neighbours = topology.neighbours();
    let farthest = |from: usize| {
        let mut seen = BTreeSet::from([from]);
        let (mut last, mut now) = (from, vec![from]);
        while !now.is_empty() {
            last = *now.iter().min().unwrap_or(&last);
            now = now
                .iter()
                .flat_map(|at| neighbours[*at].iter().copied())
                .filter(|to| seen.insert(*to))
                .collect();
        }
        last
    };
    let consumer = farthest(part[0]);
    let producer = farthest(consumer);
    let hub = part.iter().copied().filter(|node| *node != producer && *node != consumer);
    let hub = hub.max_by_key(|node| (neighbours[*node].len(), usize::MAX - node));
    let second = hub.map(|hub| [hub, producer]);
    std::iter::once([consumer, producer]).chain(second).collect()
}

/// The values of links, stated or assumed.
struct Links {
    /// The delays of each link in both directions; `None`: the default.
    delays: Vec<[Option<Span>; 2]>,
    /// The speed for delays by distance, if some links have such a delay.
    has_distances: Option<f64>,
    rate: Rate,
    delay: Span,
    queue: u32,
    is_said: [bool; 3],
    missing: [usize; 3],
    all_have_costs: bool,
    /// The links without the distance that others have.
    nowhere: usize,
}

impl Links {
    fn new(topology: &Topology, options: &Options) -> Links {
        let rule = options.delay.unwrap_or(Delay::Distance(SPEED));
        let is_missing = |missing: fn(&Stated) -> bool| {
            topology.links.iter().filter(|link| link.stated.iter().any(missing)).count()
        };
        let mut links = Links {
            delays: Vec::new(),
            has_distances: None,
            rate: options.rate.unwrap_or(RATE),
            delay: if let Delay::Each(span) = rule { span } else { DELAY },
            queue: options.queue.unwrap_or(100).max(1),
            is_said: [options.rate.is_some(), options.delay.is_some(), options.queue.is_some()],
            missing: [
                is_missing(|of| of.rate.is_none()),
                is_missing(|of| of.delay.is_none()),
                is_missing(|of| of.queue.is_none()),
            ],
            all_have_costs: topology.links.iter().all(|link| link.stated.iter().all(|of| of.cost.is_some())),
            nowhere: 0,
        };
        for link in &topology.links {
            let places = link.ends.map(|node| topology.nodes[node].place);
            let by_distance = match rule {
                Delay::Distance(speed) => {
                    let km = link.stated[0].distance.or_else(|| distance(places));
                    km.map(|km| {
                        (speed, SHORTEST.max(Span::from_micros((km / speed * 1000.0).round() as u64)))
                    })
                }
                Delay::Each(_) => None,
            };
            let is_stated = link.stated.iter().all(|of| of.delay.is_some());
            if let Some((speed, _)) = by_distance.filter(|_| !is_stated) {
                links.has_distances = Some(speed);
            }
            links.nowhere +=
                usize::from(!is_stated && by_distance.is_none() && matches!(rule, Delay::Distance(_)));
            links.delays.push(link.stated.map(|of| of.delay.or(by_distance.map(|(_, delay)| delay))));
        }
        links
    }

    /// Returns `[defaults.link]`: the values that the file does not state.
    fn defaults(&self, file: &str) -> String {
        let said = |at: usize, what: &str, option: &str| {
            let by = if self.is_said[at] { option } else { "this program's default" };
            format!("assumed: {file} states no {what} ({by})")
        };
        let mut text = String::from("[defaults.link]\n");
        let mut sources = Vec::new();
        if self.missing[0] > 0 {
            let _ = writeln!(text, "rate = \"{}\"", self.rate);
            sources.push(("rate", said(0, "rate", "--rate")));
        }
        if self.missing[1] > 0 && (self.has_distances.is_none() || self.nowhere > 0) {
            let _ = writeln!(text, "delay = \"{}\"", self.delay);
            let what = if self.has_distances.is_some() { "delay and no coordinates" } else { "delay" };
            let by_option = self.is_said[1] && self.has_distances.is_none() && self.nowhere == 0;
            let by = if by_option { "--delay" } else { "this program's default" };
            sources.push(("delay", format!("assumed: {file} states no {what} ({by})")));
        }
        if self.missing[2] > 0 {
            let _ = writeln!(text, "queue = {}", self.queue);
            sources.push(("queue", said(2, "queue", "--queue")));
        }
        if sources.is_empty() {
            return String::new();
        }
        let sources: Vec<String> =
            sources.iter().map(|(key, source)| format!("{key} = {}", quoted(source))).collect();
        let _ = writeln!(text, "source = {{ {} }}", sources.join(", "));
        text
    }

    fn write(&self, text: &mut String, topology: &Topology, names: &Names) {
        for (link, delays) in topology.links.iter().zip(&self.delays) {
            let [a, b] = link.ends.map(|node| quoted(&names.names[node]));
            let _ = write!(text, "\n[[link]]\nends = [{a}, {b}]\n");
            let stated = &link.stated;
            let rates = stated.map(|of| of.rate);
            if rates.iter().any(Option::is_some) {
                both(text, "rate", rates.map(|rate| format!("\"{}\"", rate.unwrap_or(self.rate))));
            }
            if delays.iter().any(Option::is_some) {
                both(text, "delay", delays.map(|delay| format!("\"{}\"", delay.unwrap_or(self.delay))));
            }
            if stated.iter().any(|of| of.cost.is_some()) {
                both(text, "cost", stated.map(|of| of.cost.unwrap_or(1.0).to_string()));
            }
            if let Some(queue) = stated[0].queue {
                let _ = writeln!(text, "queue = {queue}");
            }
            if let Some(loss) = stated[0].loss.filter(|loss| *loss > 0.0) {
                let _ = writeln!(text, "loss = {loss}");
            }
            if stated.iter().any(|of| of.delay.is_none())
                && let Some(speed) = self.has_distances.filter(|_| delays.iter().any(Option::is_some))
            {
                let _ = writeln!(text, "source = {{ delay = \"assumed: distance / {speed} km per ms\" }}");
            }
        }
    }
}

/// Writes one value for both directions, or a list.
fn both(text: &mut String, key: &str, [there, back]: [String; 2]) {
    let _ = match there == back {
        true => writeln!(text, "{key} = {there}"),
        false => writeln!(text, "{key} = [{there}, {back}]"),
    };
}

/// Returns the distance of two places on the earth, km.
fn distance(places: [Option<Place>; 2]) -> Option<f64> {
    let [Some(Place::OnEarth(lat_a, lon_a)), Some(Place::OnEarth(lat_b, lon_b))] = places else {
        return None;
    };
    let [lat_a, lon_a, lat_b, lon_b] = [lat_a, lon_a, lat_b, lon_b].map(f64::to_radians);
    let half = |angle: f64| libm::pow(libm::sin(angle / 2.0), 2.0);
    let chord = half(lat_b - lat_a) + libm::cos(lat_a) * libm::cos(lat_b) * half(lon_b - lon_a);
    Some(2.0 * EARTH * libm::asin(libm::sqrt(chord.min(1.0))))
}

/// Returns the mean latitude, radians.
fn middle(topology: &Topology) -> f64 {
    let latitudes: Vec<f64> = topology
        .nodes
        .iter()
        .filter_map(|node| match node.place {
            Some(Place::OnEarth(latitude, _)) => Some(latitude),
            _ => None,
        })
        .collect();
    (latitudes.iter().sum::<f64>() / latitudes.len().max(1) as f64).to_radians()
}

/// Returns the place of a node in the drawing. A degree has the same length in both directions in the middle
/// of the map.
fn drawn(place: Place, middle: f64) -> (f64, f64) {
    let (x, y) = match place {
        Place::OnEarth(latitude, longitude) => (longitude * libm::cos(middle), -latitude),
        Place::Drawn(x, y) => (x, y),
    };
    // Avoids `-0.00`.
    (x + 0.0, y + 0.0)
}

fn notes(topology: &Topology, parts: &[Vec<usize>], names: &Names, links: &Links) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    if topology.merged > 0 {
        let edges = count(topology.merged, "edge was", "edges were");
        notes.push(format!(
            "{edges} parallel to another: merged with it, the rates added, the smallest delay, cost and queue taken"
        ));
    }
    if topology.loops > 0 {
        let edges =
            count(topology.loops, "edge that joins a node to itself", "edges that join a node to itself");
        notes.push(format!("{edges}: dropped"));
    }
    if parts.len() > 1 {
        let others: Vec<String> = parts[1..]
            .iter()
            .take(3)
            .map(|part| {
                let some: Vec<&str> = part.iter().take(3).map(|node| names.names[*node].as_str()).collect();
                format!("{} with {}", count(part.len(), "node", "nodes"), some.join(", "))
            })
            .collect();
        let more = if parts.len() > 4 { "; and others" } else { "" };
        notes.push(format!(
            "{} parts that no links join: the largest has {}, others {}{more}",
            parts.len(),
            count(parts[0].len(), "node", "nodes"),
            others.join("; ")
        ));
    }
    for (what, often) in &topology.unused {
        notes.push(format!("not used: {what} ({often})"));
    }
    let of = topology.links.len();
    for (missing, what) in
        links.missing.iter().zip(["rate", "delay", "queue"]).filter(|(missing, _)| **missing > 0)
    {
        notes.push(format!("{missing} of {of} links without a stated {what}: assumed, see `source`"));
    }
    if links.has_distances.is_some() && links.nowhere > 0 {
        notes.push(format!(
            "{} without the coordinates of both ends: their delay is {}",
            count(links.nowhere, "link", "links"),
            links.delay
        ));
    }
    notes
}
