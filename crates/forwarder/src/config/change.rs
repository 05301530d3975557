//! The changes that a new file makes in a running forwarder.

use weir_core::tables::cs::CsPolicy;
use weir_core::units::Bytes;
use weir_packet::Name;

use super::{Config, Face, FaceOptions, Faces, Route, RouteFace, StrategyChoice};

/// A face that is in both files, with other options.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceChanged {
    /// The face in the old file.
    pub old: Face,
    /// The face in the new file.
    pub new: Face,
}

/// The difference between two files, in the order in which it is applied. Routes are removed before their faces, and faces are
/// added before their routes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Removed routes: prefix and face.
    pub routes_removed: Vec<(Name, RouteFace)>,
    /// Removed faces.
    pub faces_removed: Vec<Face>,
    /// Faces with other options.
    pub faces_changed: Vec<FaceChanged>,
    /// Groups of an interface with other options.
    pub groups_changed: Vec<(RouteFace, FaceOptions)>,
    /// Faces that the old file does not have.
    pub faces_added: Vec<Face>,
    /// New routes, and those with another cost or other flags.
    pub routes_set: Vec<Route>,
    /// Prefixes that no longer have a strategy of their own.
    pub strategies_unset: Vec<Name>,
    /// New or changed strategies.
    pub strategies_set: Vec<StrategyChoice>,
    /// Options of faces that peers and management create from now on.
    pub faces: Option<Faces>,
    /// Limits of the content store: packets and bytes.
    pub content_store: Option<(usize, Bytes)>,
    /// Keys and tables that only take effect at a restart.
    pub restart: Vec<&'static str>,
}

impl Change {
    /// The changes from one file to the other.
    pub fn between(old: &Config, new: &Config) -> Change {
        let mut change = Change { restart: restart(old, new), ..Change::default() };
        change.faces(old, new);
        change.groups(old, new);
        change.routes(old, new);
        change.strategies(old, new);
        if old.faces != new.faces {
            change.faces = Some(new.faces.clone());
        }
        let store = |of: &Config| (of.tables.content_store_packets, of.tables.content_store_bytes);
        if store(old) != store(new) {
            change.content_store = Some(store(new));
        }
        change
    }

    /// Whether the files are equal.
    pub fn is_empty(&self) -> bool {
        *self == Change::default()
    }

    fn faces(&mut self, old: &Config, new: &Config) {
        let missing_in = |all: &[Face], face: &Face| !all.iter().any(|other| other.is_same(face));
        self.faces_removed = old.face.iter().filter(|face| missing_in(&new.face, face)).cloned().collect();
        for face in &new.face {
            match old.face.iter().find(|other| other.is_same(face)) {
                None => self.faces_added.push(face.clone()),
                Some(was) if was == face => {}
                Some(was) => self.faces_changed.push(FaceChanged { old: was.clone(), new: face.clone() }),
            }
        }
    }

    fn groups(&mut self, old: &Config, new: &Config) {
        let (was, is) = (&old.faces.multicast, &new.faces.multicast);
        if was.options != is.options {
            let kept = is.interfaces.iter().filter(|interface| was.interfaces.contains(interface));
            self.groups_changed.extend(kept.map(|on| (RouteFace::Multicast(on.clone()), is.options)));
        }
        let (was, is) = (&old.faces.ethernet, &new.faces.ethernet);
        if was.options != is.options {
            let kept = is.interfaces.iter().filter(|interface| was.interfaces.contains(interface));
            self.groups_changed.extend(kept.map(|on| (RouteFace::Ethernet(on.clone()), is.options)));
        }
    }

    fn routes(&mut self, old: &Config, new: &Config) {
        let is_same = |a: &Route, b: &Route| (&a.prefix, &a.face) == (&b.prefix, &b.face);
        let gone = old.routes.iter().filter(|route| !new.routes.iter().any(|other| is_same(route, other)));
        self.routes_removed = gone.map(|route| (route.prefix.clone(), route.face.clone())).collect();
        self.routes_set = new.routes.iter().filter(|route| !old.routes.contains(route)).cloned().collect();
    }

    fn strategies(&mut self, old: &Config, new: &Config) {
        let is_gone =
            |choice: &&StrategyChoice| !new.strategies.iter().any(|other| other.prefix == choice.prefix);
        self.strategies_unset = old.strategies.iter().filter(is_gone).map(|c| c.prefix.clone()).collect();
        let is_new = |choice: &&StrategyChoice| !old.strategies.contains(choice);
        self.strategies_set = new.strategies.iter().filter(is_new).cloned().collect();
    }
}

/// The keys that only take effect at a restart.
fn restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let unix = |of: &Config| of.faces.unix.as_ref().map(|unix| (unix.path.clone(), unix.mode));
    let multicast = |of: &Config| {
        let faces = &of.faces.multicast;
        (faces.interfaces.clone(), faces.group_ipv4, faces.group_ipv6)
    };
    let ethernet = |of: &Config| (of.faces.ethernet.interfaces.clone(), of.faces.ethernet.group);
    let fixed = |of: &Config| {
        let tables = of.tables.clone();
        super::Tables { content_store_packets: 0, content_store_bytes: Bytes::ZERO, ..tables }
    };
    let faces_differ = |differs: fn(&Face, &Face) -> bool| {
        let of_both = |is: &Face| old.face.iter().any(|was| was.is_same(is) && differs(was, is));
        new.face.iter().any(of_both)
    };
    let queues = |of: &Config| (of.faces.multicast.options.queue, of.faces.ethernet.options.queue);
    let (was, is) = (queues(old), queues(new));
    let has_groups = (!old.faces.multicast.interfaces.is_empty(), !old.faces.ethernet.interfaces.is_empty());
    let policy = |of: &Config| -> CsPolicy { of.tables.content_store_policy };
    let placement = |of: &Config| of.tables.content_store_placement;
    let others_differ = |old: &Config, new: &Config| {
        let tables = super::Tables {
            content_store_policy: policy(new),
            content_store_placement: placement(new),
            ..fixed(old)
        };
        tables != fixed(new)
    };
    [
        ("faces.unix", unix(old) != unix(new)),
        ("faces.udp.listen", old.faces.udp.listen != new.faces.udp.listen),
        ("faces.udp.kernel_buffer", old.faces.udp.kernel_buffer != new.faces.udp.kernel_buffer),
        ("faces.tcp.listen", old.faces.tcp.listen != new.faces.tcp.listen),
        ("faces.websocket.listen", old.faces.websocket.listen != new.faces.websocket.listen),
        ("faces.multicast", multicast(old) != multicast(new)),
        ("faces.ethernet", ethernet(old) != ethernet(new)),
        ("faces.multicast.queue", has_groups.0 && was.0 != is.0),
        ("faces.ethernet.queue", has_groups.1 && was.1 != is.1),
        ("face.queue", faces_differ(|was, is| was.options.queue != is.options.queue)),
        ("face.scheme", faces_differ(|was, is| was.scheme != is.scheme)),
        ("scheme", old.scheme != new.scheme || old.schemes != new.schemes),
        ("tables.content_store_policy", policy(old) != policy(new)),
        ("tables.content_store_placement", placement(old) != placement(new)),
        ("tables", others_differ(old, new)),
        ("management", old.management != new.management),
        ("metrics", old.metrics != new.metrics),
        ("capture", old.capture != new.capture),
        ("record", old.record != new.record),
        ("log.level", old.log.level != new.log.level),
        ("log.format", old.log.json != new.log.json),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}
