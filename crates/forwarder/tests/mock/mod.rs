//! A forwarder without packets: the operations that management needs, with tables that tests can inspect.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;

use weir_forwarder::control::{Control, ControlError, Owner};
use weir_management::overview::Overview;
use weir_management::status::{
    CsInfo, FaceChange, FaceCounters, FaceFlags, FaceNumber, FacePersistency, FaceRequest, FaceScope,
    FaceStatus, FibStatus, GeneralStatus, LinkType, Losses, NextHopStatus, StrategyStatus,
};
use weir_packet::Name;

/// A face with typical properties.
pub fn face(number: FaceNumber, remote: &str, scope: FaceScope) -> FaceStatus {
    FaceStatus {
        number,
        remote: remote.to_owned(),
        local: "udp4://127.0.0.1:6363".to_owned(),
        scope,
        persistency: FacePersistency::Persistent,
        link_type: LinkType::PointToPoint,
        flags: FaceFlags { congestion_marking: true, ..FaceFlags::default() },
        up: true,
        mtu: Some(8800),
        base_congestion_marking_interval_ns: Some(100_000_000),
        default_congestion_threshold: Some(65_536),
        expires_in_ms: None,
        send_rate_bps: None,
        queued_packets: 0,
        queued_bytes: 0,
        counters: FaceCounters::default(),
    }
}

/// The MTU that a face gets for a requested one.
fn mtu(asked: u64) -> Option<u64> {
    Some(asked.min(8800))
}

/// The forwarder.
#[derive(Debug)]
pub struct Mock {
    /// Its faces, by number.
    pub faces: BTreeMap<FaceNumber, FaceStatus>,
    /// Owners of faces; all other faces belong to neighbours.
    pub owners: BTreeMap<FaceNumber, Owner>,
    /// Its FIB.
    pub fib: BTreeMap<Name, BTreeMap<FaceNumber, u64>>,
    /// The faces of each prefix in the order in which they were added.
    pub added: BTreeMap<Name, Vec<FaceNumber>>,
    /// Largest number of FIB entries.
    pub max_fib: usize,
    /// The chosen strategies.
    pub strategies: BTreeMap<Name, Name>,
    /// Its content store.
    pub cs: CsInfo,
    /// How often the FIB was changed.
    pub changes: u64,
    /// Whether connections over TCP take time.
    pub is_far: bool,
}

impl Mock {
    /// Faces 1 (this host), 2 and 3 (others), and best route for all prefixes.
    pub fn new() -> Mock {
        let faces = [
            face(1, "fd://7", FaceScope::Local),
            face(2, "udp4://10.0.0.2:6363", FaceScope::NonLocal),
            face(3, "tcp4://10.0.0.3:40000", FaceScope::NonLocal),
        ];
        Mock {
            faces: faces.map(|face| (face.number, face)).into(),
            owners: [(1, Owner::Privileged)].into(),
            fib: BTreeMap::new(),
            added: BTreeMap::new(),
            max_fib: usize::MAX,
            strategies: [(Name::new(), Mock::strategy("best-route"))].into(),
            cs: CsInfo { capacity: 1024, admit: true, serve: true, entries: 300, hits: 7, misses: 8 },
            changes: 0,
            is_far: false,
        }
    }

    /// Name of a strategy with its version.
    pub fn strategy(name: &str) -> Name {
        format!("/localhost/nfd/strategy/{name}/v=1").parse().unwrap()
    }

    /// The next hops of a prefix.
    pub fn next_hops(&self, prefix: &str) -> Vec<(FaceNumber, u64)> {
        let entry = self.fib.get(&prefix.parse::<Name>().unwrap());
        entry.into_iter().flatten().map(|(face, cost)| (*face, *cost)).collect()
    }

    /// The faces of a prefix in the order of the FIB: by cost; those of equal cost as they were added.
    pub fn in_order(&self, prefix: &Name) -> Vec<FaceNumber> {
        let (costs, mut faces) = (&self.fib[prefix], self.added[prefix].clone());
        faces.sort_by_key(|face| costs[face]);
        faces
    }
}

impl Control for Mock {
    fn faces(&self) -> Vec<FaceStatus> {
        self.faces.values().cloned().collect()
    }

    fn face(&self, face: FaceNumber) -> Option<FaceStatus> {
        self.faces.get(&face).cloned()
    }

    fn owner(&self, face: FaceNumber) -> Owner {
        self.owners.get(&face).copied().unwrap_or(Owner::Neighbour)
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceStatus, ControlError> {
        let Some((scheme, _)) = request.remote.split_once("://") else {
            return Err(ControlError::BadUri(format!("{} is no face URI", request.remote)));
        };
        match scheme {
            "udp4" | "tcp4" => {}
            "full4" => return Err(ControlError::Full("table of faces")),
            "down4" => return Err(ControlError::Failed("network is unreachable".to_owned())),
            _ => return Err(ControlError::Unsupported(format!("there are no {scheme} faces"))),
        }
        if let Some(found) = self.faces.values().find(|face| face.remote == request.remote) {
            return Err(ControlError::FaceExists(Box::new(found.clone())));
        }
        if request.mtu.is_some_and(|mtu| mtu < 64) {
            return Err(ControlError::BadProperties("an MTU is at least 64 bytes".to_owned()));
        }
        let number = self.faces.keys().last().map_or(1, |last| last + 1);
        let created = FaceStatus {
            persistency: request.persistency,
            mtu: request.mtu.map_or(Some(8800), mtu),
            up: scheme != "tcp4" || !self.is_far,
            local: request.local.clone().unwrap_or_else(|| "udp4://127.0.0.1:6363".to_owned()),
            ..face(number, &request.remote, FaceScope::NonLocal)
        };
        self.faces.insert(number, created.clone());
        Ok(created)
    }

    fn update_face(&mut self, face: FaceNumber, change: &FaceChange) -> Result<FaceStatus, ControlError> {
        let face = self.faces.get_mut(&face).ok_or(ControlError::NoSuchFace)?;
        if change.flags.is_some_and(|flags| flags.local_fields && face.scope == FaceScope::NonLocal) {
            return Err(ControlError::BadProperties("local fields are for local faces".to_owned()));
        }
        face.flags = change.flags.unwrap_or(face.flags);
        face.persistency = change.persistency.unwrap_or(face.persistency);
        face.mtu = change.mtu.map_or(face.mtu, mtu);
        face.base_congestion_marking_interval_ns =
            change.base_congestion_marking_interval_ns.or(face.base_congestion_marking_interval_ns);
        face.default_congestion_threshold =
            change.default_congestion_threshold.or(face.default_congestion_threshold);
        Ok(face.clone())
    }

    fn destroy_face(&mut self, face: FaceNumber) -> bool {
        let stays = self.faces.get(&face).is_some_and(|face| face.remote == "internal://");
        !stays && self.faces.remove(&face).is_some()
    }

    fn channels(&self) -> Vec<String> {
        vec!["udp4://127.0.0.1:6363".to_owned(), "unix:///run/nfd/nfd.sock".to_owned()]
    }

    fn add_next_hop(&mut self, prefix: &Name, face: FaceNumber, cost: u64) -> Result<(), ControlError> {
        if !self.faces.contains_key(&face) {
            return Err(ControlError::NoSuchFace);
        }
        if !self.fib.contains_key(prefix) && self.fib.len() >= self.max_fib {
            return Err(ControlError::Full("FIB"));
        }
        self.changes += 1;
        self.fib.entry(prefix.clone()).or_default().insert(face, cost);
        let added = self.added.entry(prefix.clone()).or_default();
        added.retain(|other| *other != face);
        added.push(face);
        Ok(())
    }

    fn remove_next_hop(&mut self, prefix: &Name, face: FaceNumber) {
        self.changes += 1;
        let Some(entry) = self.fib.get_mut(prefix) else { return };
        entry.remove(&face);
        self.added.entry(prefix.clone()).or_default().retain(|other| *other != face);
        if entry.is_empty() {
            self.fib.remove(prefix);
        }
    }

    fn fib_bound(&self) -> u32 {
        self.fib.len() as u32
    }

    fn fib_entry(&self, number: u32) -> Option<FibStatus> {
        let (prefix, hops) = self.fib.iter().nth(number as usize)?;
        let next_hops = hops.iter().map(|(&face, &cost)| NextHopStatus { face, cost, silent: false });
        Some(FibStatus { prefix: prefix.clone(), next_hops: next_hops.collect() })
    }

    fn set_strategy(&mut self, prefix: &Name, strategy: &Name) -> Result<Name, ControlError> {
        let known = [Mock::strategy("best-route"), Mock::strategy("multicast")];
        let is_it = |name: &&Name| **name == *strategy || name.view().parent() == strategy.view();
        let Some(found) = known.iter().find(is_it) else {
            return Err(ControlError::NoSuchStrategy(known.to_vec()));
        };
        self.strategies.insert(prefix.clone(), found.clone());
        Ok(found.clone())
    }

    fn unset_strategy(&mut self, prefix: &Name) {
        self.strategies.remove(prefix);
    }

    fn strategies(&self) -> Vec<StrategyStatus> {
        let status = |(prefix, strategy): (&Name, &Name)| StrategyStatus {
            prefix: prefix.clone(),
            strategy: strategy.clone(),
        };
        self.strategies.iter().map(status).collect()
    }

    fn cs_info(&self) -> CsInfo {
        self.cs
    }

    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>) {
        self.cs.capacity = capacity.unwrap_or(self.cs.capacity);
        self.cs.admit = admit.unwrap_or(self.cs.admit);
        self.cs.serve = serve.unwrap_or(self.cs.serve);
    }

    fn erase_cs(&mut self, _: &Name, limit: u64) -> u64 {
        let erased = limit.min(self.cs.entries);
        self.cs.entries -= erased;
        erased
    }

    fn general(&self) -> GeneralStatus {
        GeneralStatus {
            version: "mock 1".to_owned(),
            started_ms: 1_795_253_331_485,
            now_ms: 1_795_253_338_085,
            fib_entries: self.fib.len() as u64,
            pit_entries: 3,
            cs_entries: self.cs.entries,
            counters: FaceCounters { in_interests: 5, out_data: 4, in_nacks: 3, ..FaceCounters::default() },
            satisfied_interests: 4,
            unsatisfied_interests: 1,
            losses: Losses::default(),
        }
    }

    fn overview(&self) -> Overview {
        Overview { version: "mock 1".to_owned(), face_count: self.faces().len(), ..Overview::default() }
    }
}
