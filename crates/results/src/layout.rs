//! Positions of nodes in the drawing of a network. The same network always has the same drawing.
//!
//! Consumers are on the left, routers in layers by their distance from them, producers on the
//! right. If most links between routers would then be inside a layer (a backbone with
//! consumers everywhere), the nodes are placed so that distances on the page follow distances in
//! the network instead: classical scaling, then stress majorization.
//!
//! A shared medium has its own position, between its stations.

use std::collections::{BTreeMap, VecDeque};
use weir_measure::{Role, Topology, TopologyMedium};

/// Largest part of the links between routers that may run inside a layer of a layered drawing.
const WITHIN_LAYER: f64 = 0.34;
/// Work spent on stress majorization, pairs of nodes.
const STRESS_PAIRS: usize = 20_000_000;
/// With more nodes, scaling takes too much memory and time, and the layers are used.
const STRESS_NODES: usize = 1_500;

/// Smallest distance of a medium from another node, if the layout does not give its position.
const MEDIUM_APART: f64 = 0.12;

/// The position of each node and then of each medium, x to the right and y down, both from 0 to 1. The page scales them to its
/// area.
pub(crate) fn positions(topology: &Topology) -> Vec<(f64, f64)> {
    let given: Option<Vec<(f64, f64)>> =
        topology.nodes.iter().map(|node| node.position.map(|(x, y)| (f64::from(x), f64::from(y)))).collect();
    if let Some(mut places) = given {
        fit(&mut places);
        for medium in &topology.media {
            places.push(between_stations(topology, medium, &places));
        }
        return places;
    }
    let mut places = {
        let graph = Graph::new(topology);
        let layers = graph.layers();
        if graph.mostly_within(&layers) && topology.nodes.len() <= STRESS_NODES {
            graph.by_distance()
        } else {
            graph.by_layer(&layers)
        }
    };
    fit(&mut places);
    places
}

/// The middle of a medium's stations, or a free position near it.
fn between_stations(topology: &Topology, medium: &TopologyMedium, places: &[(f64, f64)]) -> (f64, f64) {
    let is_on = |name: &String| medium.stations.contains(name);
    let stations = topology.nodes.iter().zip(places).filter(|(node, _)| is_on(&node.name));
    let (n, x, y) = stations.fold((0.0, 0.0, 0.0), |(n, x, y), (_, at)| (n + 1.0, x + at.0, y + at.1));
    let middle: (f64, f64) = if n > 0.0 { (x / n, y / n) } else { (0.5, 0.5) };
    let room = |at: &(f64, f64)| {
        places.iter().map(|other| (other.0 - at.0).hypot(other.1 - at.1)).fold(f64::INFINITY, f64::min)
    };
    if room(&middle) >= MEDIUM_APART {
        return middle;
    }
    let around = (0..16).map(|k| {
        let angle = f64::from(k) * std::f64::consts::TAU / 16.0;
        let (dx, dy) = (1.5 * MEDIUM_APART * angle.cos(), 1.5 * MEDIUM_APART * angle.sin());
        ((middle.0 + dx).clamp(0.0, 1.0), (middle.1 + dy).clamp(0.0, 1.0))
    });
    around.max_by(|a, b| room(a).total_cmp(&room(b))).unwrap_or(middle)
}

/// Scales positions to the unit square. A dimension without extent is centred.
fn fit(places: &mut [(f64, f64)]) {
    let bounds = |get: fn(&(f64, f64)) -> f64| {
        places.iter().map(get).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    };
    let ((x0, x1), (y0, y1)) = (bounds(|p| p.0), bounds(|p| p.1));
    let unit = |v: f64, low: f64, high: f64| if high - low > 1e-9 { (v - low) / (high - low) } else { 0.5 };
    for place in places {
        *place = (unit(place.0, x0, x1), unit(place.1, y0, y1));
    }
}

/// A graph of the nodes, then the media, each linked with its stations.
struct Graph {
    roles: Vec<Role>,
    neighbours: Vec<Vec<usize>>,
}

impl Graph {
    fn new(topology: &Topology) -> Graph {
        let index: BTreeMap<&str, usize> =
            topology.nodes.iter().enumerate().map(|(i, node)| (node.name.as_str(), i)).collect();
        let nodes = topology.nodes.len();
        let mut neighbours = vec![Vec::new(); nodes + topology.media.len()];
        let mut join = |a: Option<usize>, b: Option<usize>| {
            if let (Some(a), Some(b)) = (a, b)
                && a != b
            {
                neighbours[a].push(b);
                neighbours[b].push(a);
            }
        };
        let at = |name: &String| index.get(name.as_str()).copied();
        for link in topology.links.iter().filter(|link| link.medium.is_none()) {
            join(at(&link.from), at(&link.to));
        }
        for (medium, own) in topology.media.iter().enumerate() {
            own.stations.iter().for_each(|station| join(at(station), Some(nodes + medium)));
        }
        // A node that consumes and produces belongs to neither side.
        let side = |role| if role == Role::Peer { Role::Router } else { role };
        let roles = topology.nodes.iter().map(|node| side(node.role));
        let media = topology.media.iter().map(|_| Role::Router);
        Graph { roles: roles.chain(media).collect(), neighbours }
    }

    /// Hops from the nearest of `sources`; `None` for nodes that none can reach.
    fn hops(&self, sources: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
        let mut hops = vec![None; self.neighbours.len()];
        let mut queue: VecDeque<usize> = VecDeque::new();
        for source in sources {
            hops[source] = Some(0);
            queue.push_back(source);
        }
        while let Some(node) = queue.pop_front() {
            let next = hops[node].map(|n| n + 1);
            for &neighbour in &self.neighbours[node] {
                if hops[neighbour].is_none() {
                    hops[neighbour] = next;
                    queue.push_back(neighbour);
                }
            }
        }
        hops
    }

    /// The layer of each node. Producers share the last one, unless they forward.
    fn layers(&self) -> Vec<usize> {
        let of_role = |role: Role| (0..self.roles.len()).filter(move |&i| self.roles[i] == role);
        let consumers = of_role(Role::Consumer).count();
        let hops = if consumers > 0 {
            self.hops(of_role(Role::Consumer))
        } else {
            self.hops(of_role(Role::Router).take(1))
        };
        let last = of_role(Role::Router).filter_map(|i| hops[i]).max().unwrap_or(0);
        (0..self.roles.len())
            .map(|i| if self.roles[i] == Role::Producer { last + 1 } else { hops[i].unwrap_or(last) })
            .collect()
    }

    fn mostly_within(&self, layers: &[usize]) -> bool {
        let (mut within, mut all) = (0usize, 0usize);
        for (a, neighbours) in self.neighbours.iter().enumerate() {
            for &b in neighbours {
                if self.roles[a] == Role::Router && self.roles[b] == Role::Router {
                    all += 1;
                    within += usize::from(layers[a] == layers[b]);
                }
            }
        }
        // A ring or a mesh without ends has no left and right either.
        let no_ends = !self.roles.contains(&Role::Consumer);
        all > 0 && (no_ends || within as f64 > WITHIN_LAYER * all as f64)
    }

    /// Layers from left to right, each ordered by the mean place of its neighbours.
    fn by_layer(&self, layers: &[usize]) -> Vec<(f64, f64)> {
        let count = layers.iter().max().map_or(0, |last| last + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (node, &layer) in layers.iter().enumerate() {
            members[layer].push(node);
        }
        let mut y = vec![0.0; layers.len()];
        let spread = |nodes: &[usize], y: &mut [f64]| {
            for (i, &node) in nodes.iter().enumerate() {
                y[node] = i as f64 - (nodes.len() as f64 - 1.0) / 2.0;
            }
        };
        for nodes in &members {
            spread(nodes, &mut y);
        }
        for sweep in 0..12 {
            let order: Vec<usize> =
                if sweep % 2 == 0 { (0..count).collect() } else { (0..count).rev().collect() };
            for layer in order {
                let pull = |node: usize| {
                    let near = self.neighbours[node].iter().filter(|&&other| layers[other] != layer);
                    let (sum, n) = near.fold((0.0, 0.0), |(sum, n), &other| (sum + y[other], n + 1.0));
                    if n > 0.0 { sum / n } else { y[node] }
                };
                let mut pulled: Vec<(f64, usize)> =
                    members[layer].iter().map(|&node| (pull(node), node)).collect();
                pulled.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                members[layer] = pulled.into_iter().map(|(_, node)| node).collect();
                spread(&members[layer], &mut y);
            }
        }
        let mut places: Vec<(f64, f64)> = (0..layers.len()).map(|i| (layers[i] as f64, y[i])).collect();
        // A link inside a layer would hide behind the nodes between its ends, so these layers are staggered.
        for nodes in &members {
            let hidden = nodes.iter().enumerate().any(|(i, &node)| {
                nodes.iter().skip(i + 2).any(|other| self.neighbours[node].contains(other))
            });
            if hidden {
                for (i, &node) in nodes.iter().enumerate() {
                    places[node].0 += if i % 2 == 0 { -0.18 } else { 0.18 };
                }
            }
        }
        places
    }

    /// Positions whose distances approximate those in the network, as far as a plane allows. Ends (nodes with one neighbour) do
    /// not affect the rest: they are placed afterwards around their neighbour, where there is most room.
    fn by_distance(&self) -> Vec<(f64, f64)> {
        let all = self.neighbours.len();
        let single = |node: usize| self.neighbours[node].windows(2).all(|pair| pair[0] == pair[1]);
        let is_end =
            |node: usize| self.neighbours[node].first().is_some_and(|&only| single(node) && !single(only));
        let inner: Vec<usize> = (0..all).filter(|&node| !is_end(node)).collect();
        let n = inner.len();
        let mut distance = vec![0.0; n * n];
        let mut longest: f64 = 1.0;
        for (a, &from) in inner.iter().enumerate() {
            let hops = self.hops(std::iter::once(from));
            for (b, &to) in inner.iter().enumerate() {
                distance[a * n + b] = hops[to].map_or(f64::NAN, |hops| hops as f64);
                longest = longest.max(hops[to].map_or(0.0, |hops| hops as f64));
            }
        }
        // Unconnected parts are placed a little apart.
        distance.iter_mut().filter(|d| d.is_nan()).for_each(|d| *d = longest + 1.0);
        let mut core = scaled(&distance, n);
        let sweeps = (STRESS_PAIRS / (n * n).max(1)).clamp(5, 200);
        for _ in 0..sweeps {
            majorize(&distance, &mut core);
        }
        let mut places = vec![(0.0, 0.0); all];
        let mut placed: Vec<(f64, f64)> = core.clone();
        for (&node, place) in inner.iter().zip(core) {
            places[node] = place;
        }
        for end in (0..all).filter(|&node| is_end(node)) {
            let (x, y) = places[self.neighbours[end][0]];
            let around = (0..16).map(|k| {
                let angle = f64::from(k) * std::f64::consts::TAU / 16.0;
                (x + 0.7 * angle.cos(), y + 0.7 * angle.sin())
            });
            let room = |at: &(f64, f64)| {
                placed
                    .iter()
                    .map(|other| (other.0 - at.0).hypot(other.1 - at.1))
                    .fold(f64::INFINITY, f64::min)
            };
            let best = around.max_by(|a, b| room(a).total_cmp(&room(b))).unwrap_or((x, y));
            places[end] = best;
            placed.push(best);
        }
        self.orient(&mut places);
        places
    }

    /// Rotates the positions so that the longest side is level, consumers are to the left of producers, and the first node is up.
    fn orient(&self, places: &mut [(f64, f64)]) {
        let n = places.len().max(1) as f64;
        let centre = places.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / n, sum.1 + p.1 / n));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for place in places.iter_mut() {
            *place = (place.0 - centre.0, place.1 - centre.1);
            xx += place.0 * place.0;
            xy += place.0 * place.1;
            yy += place.1 * place.1;
        }
        // The larger eigenvector of the covariance.
        let half = (xx - yy) / 2.0;
        let root = (half * half + xy * xy).sqrt();
        let (x, y) = if half >= 0.0 { (half + root, xy) } else { (xy, root - half) };
        let length = (x * x + y * y).sqrt();
        if length > 1e-12 {
            let (cos, sin) = (x / length, y / length);
            for place in places.iter_mut() {
                *place = (place.0 * cos + place.1 * sin, place.1 * cos - place.0 * sin);
            }
        }
        let mean_x = |role: Role| {
            let xs = places.iter().zip(&self.roles).filter(|(_, of)| **of == role).map(|(p, _)| p.0);
            let (sum, n) = xs.fold((0.0, 0.0), |(sum, n), x| (sum + x, n + 1.0));
            if n > 0.0 { sum / n } else { 0.0 }
        };
        let backwards = mean_x(Role::Consumer) > mean_x(Role::Producer);
        let upside_down = places.first().is_some_and(|p| p.1 > 0.0);
        for place in places {
            place.0 = if backwards { -place.0 } else { place.0 };
            place.1 = if upside_down { -place.1 } else { place.1 };
        }
    }
}

/// Classical scaling: the two main axes of the doubly centred squared distances, by power
/// iteration from a fixed start.
fn scaled(distance: &[f64], n: usize) -> Vec<(f64, f64)> {
    let mut centred: Vec<f64> = distance.iter().map(|d| -d * d / 2.0).collect();
    let means: Vec<f64> = centred.chunks(n.max(1)).map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / n.max(1) as f64;
    for a in 0..n {
        for b in 0..n {
            centred[a * n + b] += mean - means[a] - means[b];
        }
    }
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        let mut v: Vec<f64> =
            (0..n).map(|i| ((i * 7919 + axis * 104_729 + 13) % 1009) as f64 / 1009.0 - 0.5).collect();
        let mut eigenvalue = 0.0;
        for _ in 0..60 {
            for found in &axes {
                let norm: f64 = found.iter().map(|x| x * x).sum::<f64>().max(1e-12);
                let along: f64 = found.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>() / norm;
                v.iter_mut().zip(found).for_each(|(x, f)| *x -= along * f);
            }
            let next: Vec<f64> =
                centred.chunks(n.max(1)).map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum()).collect();
            eigenvalue = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if eigenvalue < 1e-9 {
                break;
            }
            v = next.iter().map(|x| x / eigenvalue).collect();
        }
        axes.push(v.iter().map(|x| x * eigenvalue.sqrt()).collect());
    }
    (0..n).map(|i| (axes[0][i], axes[1][i])).collect()
}

/// One sweep of stress majorization: moves each node to the mean of the positions that the other nodes imply, weighted by the
/// inverse square of their distances.
fn majorize(distance: &[f64], places: &mut [(f64, f64)]) {
    let n = places.len();
    for a in 0..n {
        let (mut x, mut y, mut weights) = (0.0, 0.0, 0.0);
        let here = places[a];
        for (b, there) in places.iter().enumerate() {
            if a == b {
                continue;
            }
            let wanted = distance[a * n + b];
            let weight = 1.0 / (wanted * wanted);
            let (dx, dy) = (here.0 - there.0, here.1 - there.1);
            let length = (dx * dx + dy * dy).sqrt();
            // Nodes at the same position separate in different directions.
            let (ux, uy) = if length > 1e-9 {
                (dx / length, dy / length)
            } else if a < b {
                (-0.6, 0.8)
            } else {
                (0.6, -0.8)
            };
            x += weight * (there.0 + wanted * ux);
            y += weight * (there.1 + wanted * uy);
            weights += weight;
        }
        if weights > 0.0 {
            places[a] = (x / weights, y / weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use weir_measure::{TopologyLink, TopologyNode};

    fn network(nodes: &[(&str, Role)], links: &[(usize, usize)]) -> Topology {
        Topology {
            nodes: nodes
                .iter()
                .map(|(name, role)| TopologyNode { name: (*name).to_owned(), role: *role, position: None })
                .collect(),
            links: links
                .iter()
                .map(|(a, b)| TopologyLink {
                    from: nodes[*a].0.to_owned(),
                    to: nodes[*b].0.to_owned(),
                    rate_bps: 1e7,
                    delay_ms: 10.0,
                    medium: None,
                })
                .collect(),
            media: Vec::new(),
        }
    }

    fn apart(places: &[(f64, f64)]) -> f64 {
        let mut least = f64::INFINITY;
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                least = least.min((a.0 - b.0).hypot(a.1 - b.1));
            }
        }
        least
    }

    #[test]
    fn a_dumbbell_has_consumers_left_and_producers_right() {
        let topology = sample::dumbbell(4, 10).topology;
        let places = positions(&topology);
        for (node, place) in topology.nodes.iter().zip(&places) {
            match node.role {
                Role::Consumer => assert_eq!(place.0, 0.0),
                Role::Producer => assert_eq!(place.0, 1.0),
                Role::Router | Role::Peer => assert!((place.1 - 0.5).abs() < 1e-9),
            }
        }
        assert!(apart(&places) > 0.1);
    }

    #[test]
    fn a_chain_with_consumers_everywhere_is_drawn_as_a_chain() {
        // R0 to R13 with a consumer at each but the last and a producer at each but the first.
        let names: Vec<String> =
            (0..14).map(|i| format!("R{i}")).chain((0..26).map(|i| format!("E{i}"))).collect();
        let nodes: Vec<(&str, Role)> = names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let role = match i {
                    0..14 => Role::Router,
                    14..27 => Role::Consumer,
                    _ => Role::Producer,
                };
                (name.as_str(), role)
            })
            .collect();
        let links: Vec<(usize, usize)> = (0..13)
            .map(|i| (i, i + 1))
            .chain((0..13).map(|i| (14 + i, i)))
            .chain((0..13).map(|i| (27 + i, i + 1)))
            .collect();
        let places = positions(&network(&nodes, &links));
        let steps: Vec<f64> = (0..13).map(|i| places[i + 1].0 - places[i].0).collect();
        assert!(steps.iter().all(|step| *step > 0.0) || steps.iter().all(|step| *step < 0.0), "{steps:?}");
        assert!(apart(&places) > 0.01);
    }

    #[test]
    fn a_mesh_of_two_hundred_nodes_is_drawn_twice_alike_and_without_overlap() {
        // A grid of 10 by 20 with shuffled numbers.
        let place = |i: usize| i * 77 % 200;
        let names: Vec<String> = (0..200).map(|i| format!("n{i}")).collect();
        let nodes: Vec<(&str, Role)> = names.iter().map(|name| (name.as_str(), Role::Router)).collect();
        let mut links = Vec::new();
        for i in 0..200 {
            if i % 20 < 19 {
                links.push((place(i), place(i + 1)));
            }
            if i + 20 < 200 {
                links.push((place(i), place(i + 20)));
            }
        }
        let topology = network(&nodes, &links);
        let places = positions(&topology);
        assert_eq!(places, positions(&topology));
        assert!(apart(&places) > 0.02, "{}", apart(&places));
    }

    #[test]
    fn odd_networks_have_places_too() {
        assert_eq!(positions(&Topology::default()), []);
        let one = network(&[("R", Role::Router)], &[]);
        assert_eq!(positions(&one), [(0.5, 0.5)]);
        let loose = network(&[("A", Role::Router), ("B", Role::Router), ("C", Role::Router)], &[(0, 1)]);
        assert!(positions(&loose).iter().all(|p| p.0.is_finite() && p.1.is_finite()));
    }

    #[test]
    fn given_places_are_kept() {
        let mut topology = network(&[("A", Role::Router), ("B", Role::Router)], &[(0, 1)]);
        topology.nodes[0].position = Some((10.0, 5.0));
        topology.nodes[1].position = Some((0.0, 0.0));
        assert_eq!(positions(&topology), [(1.0, 1.0), (0.0, 0.0)]);
    }

    /// Stations around the first of them, with positions if given.
    fn air(positions: Option<&[(f32, f32)]>) -> Topology {
        let names = ["AP", "N1", "N2", "N3"];
        let mut topology = network(&names.map(|name| (name, Role::Router)), &[(0, 1), (0, 2), (0, 3)]);
        topology.links.iter_mut().for_each(|link| link.medium = Some(0));
        let stations = names.map(str::to_owned).to_vec();
        topology.media.push(TopologyMedium { name: "wifi".to_owned(), stations });
        for (at, node) in topology.nodes.iter_mut().enumerate() {
            node.position = positions.map(|positions| positions[at]);
        }
        topology
    }

    fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn a_medium_has_a_place_between_its_stations() {
        let square = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
        assert_eq!(positions(&air(Some(&square)))[4], (0.5, 0.5));
        let laid_out = positions(&air(None));
        assert_eq!(laid_out.len(), 5);
        for at in 0..4 {
            assert!(distance(laid_out[at], laid_out[4]) > MEDIUM_APART, "{laid_out:?}");
        }
    }

    #[test]
    fn a_medium_is_beside_a_station_that_is_in_the_middle() {
        let places = positions(&air(Some(&[(0.5, 0.5), (0.0, 0.0), (1.0, 0.0), (0.5, 1.0)])));
        let near: Vec<f64> = (0..4).map(|at| distance(places[at], places[4])).collect();
        assert!(near.iter().all(|near| *near >= MEDIUM_APART), "{near:?}");
    }
}
