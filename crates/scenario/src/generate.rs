//! Generated topologies and flows, as tables of the document, so that they are read, set and reported like
//! those of a file. They are seeded: the same values give the same tables on every machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use rand_core::RngCore;
use rand_pcg::Pcg64;
use weir_core::units::{Rate, Span};
use weir_document::{Document, DocumentError, Item, Kind, Origin, Table, Value};

use crate::expand::prepend;
use crate::keys;
use crate::names::MAX_NAMES;
use crate::read::ScenarioItem;

type Result<T> = core::result::Result<T, DocumentError>;

/// A separate random stream for each use, so that one use does not shift the others.
struct Random(Pcg64);

impl Random {
    fn new(seed: u64, stream: u128) -> Random {
        Random(Pcg64::new(seed as u128 ^ 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834, stream))
    }

    /// Returns a number below `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        ((self.0.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, in steps of a power of ten that is at most a hundredth of
    /// `low`, so that the numbers are readable.
    fn between(&mut self, [low, high]: [u64; 2]) -> u64 {
        let step = 10u64.pow((low / 100).max(1).ilog10());
        low + step * self.below(((high - low) / step).saturating_add(1))
    }

    /// Returns a number from 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Shape {
    names: Vec<String>,
    positions: Vec<(f64, f64)>,
    edges: Vec<(usize, usize)>,
    /// The index of the edge that is a dumbbell's bottleneck.
    bottleneck: Option<usize>,
}

/// Adds the nodes, links and flows of `[generate]` to the document.
pub fn generate(doc: &Document, root: &mut Table) -> Result<()> {
    let Some(value) = root.value("generate").cloned() else { return Ok(()) };
    let mut own = value.as_table().cloned().unwrap_or_default();
    let flows = own.remove("flows");
    let item = Item { doc, section: "generate", path: "generate", table: &own, origin: value.origin };
    item.check_keys()?;
    let seed = item.whole("seed")?;
    let shape = topology(&item, seed)?;
    let rates = range(&item, "rate", item.rates("rate")?.map(Rate::as_bps))?;
    let delays = range(&item, "delay", item.spans("delay")?.map(Span::as_nanos))?;
    item.queue("queue")?;
    let queue = item.value("queue")?.into_owned();
    let bottleneck = item.opt_rate("bottleneck")?;
    if let (Some(value), None) = (item.given("bottleneck"), shape.bottleneck) {
        return Err(item.error("bottleneck", value, "only a dumbbell has a bottleneck", ""));
    }

    let origin = |key: &str| item.given(key).map_or(value.origin, |v| v.origin);
    let source = item.given("kind").and_then(|v| v.source.clone());
    let text =
        |text: String, at: Origin, source: Option<Arc<str>>| Value { source, ..Value::text(&text, at) };
    let nodes = shape.names.iter().zip(&shape.positions).map(|(name, &(x, y))| {
        let mut table = Table::default();
        table.set("name", Value::text(name, origin("nodes")));
        let at = [x, y].map(|x| Value {
            source: source.clone(),
            ..Value::new(Kind::Float(libm::round(x * 1e3) / 1e3), origin("kind"))
        });
        table.set(
            "position",
            Value { source: source.clone(), ..Value::new(Kind::List(at.into()), origin("kind")) },
        );
        Value::new(Kind::Table(table), value.origin)
    });
    let nodes: Vec<Value> = nodes.collect();
    let mut draw_rate = Random::new(seed, 2);
    let mut draw_delay = Random::new(seed, 3);
    let said = |key: &str| item.given(key).and_then(|v| v.source.clone());
    let mut links = Vec::new();
    for (i, &(a, b)) in shape.edges.iter().enumerate() {
        let mut table = Table::default();
        let ends = [a, b].map(|n| Value::text(&shape.names[n], origin("kind")));
        table.set("ends", Value::new(Kind::List(ends.into()), origin("kind")));
        let drawn = Rate::from_bps(draw_rate.between(rates));
        let rate = match bottleneck {
            Some(rate) if shape.bottleneck == Some(i) => {
                text(rate.to_string(), origin("bottleneck"), said("bottleneck"))
            }
            _ => text(drawn.to_string(), origin("rate"), said("rate")),
        };
        table.set("rate", rate);
        let delay = Span::from_nanos(draw_delay.between(delays));
        table.set("delay", text(delay.to_string(), origin("delay"), said("delay")));
        table.set("queue", queue.clone());
        links.push(Value::new(Kind::Table(table), value.origin));
    }
    let groups = match &flows {
        None => Vec::new(),
        Some(flows) => match flows.as_table() {
            Some(table) => {
                let path = "generate.flows";
                let item = Item { doc, section: "generate.flows", path, table, origin: flows.origin };
                make_flows(&item, &shape, seed)?
            }
            None => {
                let message = "`generate.flows` is a table";
                return Err(doc.error(
                    flows.origin,
                    "generate.flows",
                    message,
                    "write [generate.flows] above its keys",
                ));
            }
        },
    };
    prepend(root, "node", nodes);
    prepend(root, "link", links);
    prepend(root, "flow", groups);
    Ok(())
}

/// Returns the lowest and the highest value, after a check of their order.
fn range(item: &Item<'_>, key: &str, [low, high]: [u64; 2]) -> Result<[u64; 2]> {
    if low > high {
        let value = item.value(key)?;
        return Err(item.error(key, &value, "the range is reversed", "write the smaller value first"));
    }
    Ok([low, high])
}

fn topology(item: &Item<'_>, seed: u64) -> Result<Shape> {
    let kind = item.choice("kind")?;
    let n = item.whole("nodes")? as usize;
    let degree = item.number("degree")?;
    let wrong = |key: &str, message: &str| {
        let value = item.value(key)?;
        Err(item.error(key, &value, message, ""))
    };
    let mut shape = Shape {
        names: (0..n).map(|i| format!("n{i}")).collect(),
        positions: Vec::with_capacity(n),
        edges: Vec::new(),
        bottleneck: None,
    };
    let circle = |i: usize, of: usize| {
        let angle = core::f64::consts::TAU * i as f64 / of as f64;
        (0.5 + 0.5 * libm::cos(angle), 0.5 + 0.5 * libm::sin(angle))
    };
    match kind {
        "line" => {
            shape.positions = (0..n).map(|i| (i as f64, 0.0)).collect();
            shape.edges = (1..n).map(|i| (i - 1, i)).collect();
        }
        "ring" => {
            if n < 3 {
                return wrong("nodes", "a ring has at least 3 nodes");
            }
            shape.positions = (0..n).map(|i| circle(i, n)).collect();
            shape.edges = (0..n).map(|i| (i, (i + 1) % n)).collect();
        }
        "star" => {
            shape.positions =
                (0..n).map(|i| if i == 0 { (0.5, 0.5) } else { circle(i - 1, n - 1) }).collect();
            shape.edges = (1..n).map(|i| (0, i)).collect();
        }
        "grid" => {
            let width = (1..=n).find(|w| w * w >= n).unwrap_or(n);
            shape.positions = (0..n).map(|i| ((i % width) as f64, (i / width) as f64)).collect();
            for i in 0..n {
                if i % width + 1 < width && i + 1 < n {
                    shape.edges.push((i, i + 1));
                }
                if i + width < n {
                    shape.edges.push((i, i + width));
                }
            }
        }
        "tree" => {
            let children = degree as usize;
            let mut depth = vec![0usize; n];
            let mut row: Vec<usize> = Vec::new();
            for i in 0..n {
                if i > 0 {
                    let parent = (i - 1) / children;
                    depth[i] = depth[parent] + 1;
                    shape.edges.push((parent, i));
                }
                if row.len() <= depth[i] {
                    row.push(0);
                }
                shape.positions.push((row[depth[i]] as f64, depth[i] as f64));
                row[depth[i]] += 1;
            }
            for (i, at) in shape.positions.iter_mut().enumerate() {
                at.0 = (at.0 + 0.5) / row[depth[i]] as f64;
            }
        }
        "dumbbell" => {
            if n < 4 || n % 2 == 1 {
                return wrong(
                    "nodes",
                    "a dumbbell has an even number of nodes, from 4: two routers and pairs",
                );
            }
            let pairs = (n - 2) / 2;
            let range = |letter: char, to: usize| (1..=to).map(move |i| format!("{letter}{i}"));
            shape.names = range('C', pairs).chain(range('R', 2)).chain(range('P', pairs)).collect();
            let side = |x: f64| (0..pairs).map(move |i| (x, i as f64));
            let middle = (pairs - 1) as f64 / 2.0;
            shape.positions = side(0.0).chain([(1.0, middle), (2.0, middle)]).chain(side(3.0)).collect();
            shape.edges = (0..pairs).map(|i| (i, pairs)).collect();
            shape.bottleneck = Some(shape.edges.len());
            shape.edges.push((pairs, pairs + 1));
            shape.edges.extend((0..pairs).map(|i| (pairs + 1, pairs + 2 + i)));
        }
        _ => {
            let wanted = links_of(n, degree);
            if wanted > MAX_NAMES {
                let value = item.value("degree")?;
                let message =
                    format!("{n} nodes with {degree} links each are {wanted} links, more than {MAX_NAMES}");
                let help = format!("degree: at most {}", 2 * MAX_NAMES / n);
                return Err(item.error("degree", &value, message, help));
            }
            let alpha = (kind == "waxman").then(|| item.number("alpha")).transpose()?;
            mesh(&mut shape, n, degree, alpha, seed);
        }
    }
    Ok(shape)
}

/// Returns the number of links that give `n` nodes this mean degree, limited by the number of pairs.
fn links_of(n: usize, degree: f64) -> usize {
    ((degree * n as f64 / 2.0) as usize).min(n * (n - 1) / 2)
}

/// Makes a random connected graph with a mean degree: a random tree (each node is linked to an earlier one),
/// then random pairs of nodes until there are enough links. With `alpha`, a pair is accepted with Waxman's
/// probability exp(-d / (alpha · √2)), and the tree links each node to the nearest of eight earlier ones.
fn mesh(shape: &mut Shape, n: usize, degree: f64, alpha: Option<f64>, seed: u64) {
    let mut random = Random::new(seed, 0);
    shape.positions = (0..n).map(|_| (random.unit(), random.unit())).collect();
    let distance = |a: usize, b: usize| {
        let ((x, y), (u, v)) = (shape.positions[a], shape.positions[b]);
        libm::sqrt((x - u) * (x - u) + (y - v) * (y - v))
    };
    let mut edges = BTreeSet::new();
    for i in 1..n {
        let mut parent = random.below(i as u64) as usize;
        for _ in 0..if alpha.is_some() { 7 } else { 0 } {
            let other = random.below(i as u64) as usize;
            if distance(other, i) < distance(parent, i) {
                parent = other;
            }
        }
        edges.insert((parent, i));
    }
    let wanted = links_of(n, degree);
    // Drawing may not reach the number of links of a dense graph of few nodes. The result is then near
    // enough.
    let mut draws = 64 * wanted + 1000;
    while edges.len() < wanted && draws > 0 {
        draws -= 1;
        let (a, b) = (random.below(n as u64) as usize, random.below(n as u64) as usize);
        let kept = alpha.is_none_or(|alpha| {
            random.unit() < libm::exp(-distance(a, b) / (alpha * core::f64::consts::SQRT_2))
        });
        if a != b && kept {
            edges.insert((a.min(b), a.max(b)));
        }
    }
    shape.edges = edges.into_iter().collect();
}

/// Makes one `[[flow]]` table for each class.
fn make_flows(item: &Item<'_>, shape: &Shape, seed: u64) -> Result<Vec<Value>> {
    item.check_keys()?;
    let count = item.whole("count")? as usize;
    let classes_at = item.value("classes")?.into_owned();
    let mut classes = Vec::new();
    for (text, _) in item.texts("classes")? {
        classes.push(item.class_of("classes", &text, &classes_at)?.name());
    }
    if classes.is_empty() {
        return Err(item.error("classes", &classes_at, "the list needs at least one class", ""));
    }
    let mut random = Random::new(seed, 1);
    let pairs = shape.bottleneck.map(|n| n as u64);
    let n = shape.names.len() as u64;
    let mut groups: Vec<(&str, Vec<&str>, Vec<&str>)> = Vec::new();
    for i in 0..count {
        let (consumer, producer) = match pairs {
            Some(pairs) => (i as u64 % pairs, pairs + 2 + i as u64 % pairs),
            None => {
                let a = random.below(n);
                let b = random.below(n - 1);
                (a, if b < a { b } else { b + 1 })
            }
        };
        let class = classes[i % classes.len()];
        let group = match groups.iter().position(|g| g.0 == class) {
            Some(at) => at,
            None => {
                groups.push((class, Vec::new(), Vec::new()));
                groups.len() - 1
            }
        };
        groups[group].1.push(&shape.names[consumer as usize]);
        groups[group].2.push(&shape.names[producer as usize]);
    }
    let at = item.value("count")?.origin;
    let said = item.given("count").and_then(|v| v.source.clone());
    let value = |kind: Kind| Value { kind, origin: at, source: said.clone() };
    Ok(groups
        .into_iter()
        .map(|(class, consumers, producers)| {
            let step = |names: &[&str]| match names {
                [one] => Kind::Text((*one).into()),
                _ => Kind::Text(format!("{{{}}}", names.join(",")).into()),
            };
            let mut table = Table::default();
            table.set("name", value(Kind::Text(class.into())));
            table.set("consumer", value(step(&consumers)));
            table.set("producer", value(step(&producers)));
            table.set("prefix", value(Kind::Text(format!("/{class}{{}}").into())));
            table.set("count", value(Kind::Int(consumers.len() as i64)));
            table.set("class", value(Kind::Text(class.into())));
            for key in keys::HANDED_ON {
                if let Some(given) = item.table.value(key) {
                    table.set(key, given.clone());
                }
            }
            Value::new(Kind::Table(table), item.origin)
        })
        .collect())
}
