//! The engine's operations for management.

use weir_core::node::CsUse;
use weir_core::tables::fib::{FibId, NextHop};
use weir_core::units::{Bytes, Span};
use weir_management::OWN_MTU;
use weir_management::overview::Overview;
use weir_management::status::{
    CsInfo, FaceChange, FaceNumber, FacePersistency, FaceRequest, FaceScope, FaceStatus, FibStatus,
    GeneralStatus, LinkType, NextHopStatus, StrategyStatus,
};
use weir_net::link_service::{LinkOptions, Marking, Repair};
use weir_net::uri::FaceUri;
use weir_packet::Name;

use super::Engine;
use super::faces::can_be_reliable;
use super::paths::LARGEST_FRAME;
use crate::config::{FaceKind, FaceOptions, LEAST_MTU, Switching};
use crate::control::{Control, ControlError, Owner};
use crate::face::{Channel, Face, FaceSlot};
use crate::metrics::MAX_ROUTES;

impl Control for Engine {
    fn faces(&self) -> Vec<FaceStatus> {
        self.faces.slots().filter_map(|slot| self.status_at(slot)).collect()
    }

    fn face(&self, face: FaceNumber) -> Option<FaceStatus> {
        self.status_at(self.faces.of_number(face)?)
    }

    fn owner(&self, face: FaceNumber) -> Owner {
        let slot = self.faces.of_number(face);
        slot.and_then(|slot| self.faces.get(slot)).map_or(Owner::Neighbour, |face| face.owner)
    }

    fn create_face(&mut self, request: &FaceRequest) -> Result<FaceStatus, ControlError> {
        let uri: FaceUri =
            request.remote.parse().map_err(|error| ControlError::BadUri(format!("{error}")))?;
        if !uri.is_canonical() {
            let why = format!("{} is not canonical: give the host's address", request.remote);
            return Err(ControlError::BadUri(why));
        }
        if request.persistency == FacePersistency::OnDemand {
            let why = "the persistency must be persistent or permanent".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        let kind = FaceKind::of_uri(&request.remote).unwrap_or(FaceKind::Unix);
        let options = requested_options(self.config.options(kind), request)?;
        if request.flags.is_some_and(|flags| flags.local_fields) {
            let why = "a neighbour may not have local fields".to_owned();
            return Err(ControlError::BadProperties(why));
        }
        let is_group = match &uri {
            FaceUri::Udp(end) => end.ip().is_multicast(),
            FaceUri::Ethernet(mac) => mac.is_multicast(),
            _ => false,
        };
        check_reliability(
            request.flags.is_some_and(|flags| flags.reliability),
            if is_group { LinkType::MultiAccess } else { LinkType::PointToPoint },
        )?;
        let local = request.local.as_deref();
        let slot = self.open(&uri, local, request.persistency, options, false, None)?;
        self.status_at(slot).ok_or(ControlError::NoSuchFace)
    }

    fn update_face(&mut self, face: FaceNumber, change: &FaceChange) -> Result<FaceStatus, ControlError> {
        let slot = self.slot_of(face)?;
        let first_sequence = self.first_sequence();
        let Some(face) = self.faces.get_mut(slot) else { return Err(ControlError::NoSuchFace) };
        check_change(face, change)?;
        face.asked_mtu =
            changed_mtu(face.asked_mtu.map(|mtu| mtu as u64), change.mtu)?.map(|mtu| mtu as usize);
        let link = LinkOptions { mtu: face.mtu(), ..face.link.options() };
        face.link.set_options(changed_link(link, change), first_sequence);
        if let Some(flags) = change.flags {
            face.local_fields = flags.local_fields;
        }
        if let Some(persistency) = change.persistency {
            face.persistency = persistency;
            // Faces on streams end with their connections.
            let may_be_idle =
                persistency == FacePersistency::OnDemand && matches!(face.channel, Channel::Udp(_));
            face.idle_timeout = may_be_idle.then_some(self.config.udp.idle_timeout);
        }
        self.status_at(slot).ok_or(ControlError::NoSuchFace)
    }

    fn destroy_face(&mut self, face: FaceNumber) -> bool {
        let Ok(slot) = self.slot_of(face) else { return false };
        let is_internal = self.faces.get(slot).is_some_and(|face| matches!(face.channel, Channel::Internal));
        if !is_internal {
            self.close(slot);
        }
        !is_internal
    }

    fn channels(&self) -> Vec<String> {
        self.sockets.uris()
    }

    fn add_next_hop(&mut self, prefix: &Name, face: FaceNumber, cost: u64) -> Result<(), ControlError> {
        let core =
            self.faces.get(self.slot_of(face)?).map(|face| face.core).ok_or(ControlError::NoSuchFace)?;
        let prefix = self.node.hashed(prefix).ok_or(ControlError::Full("name"))?;
        let fib = self.node.core().fib();
        if fib.len() >= self.limits.fib_entries && fib.exact(&prefix).is_none() {
            return Err(ControlError::Full("FIB"));
        }
        self.node.add_route(self.now, &prefix, core, cost);
        Ok(())
    }

    fn remove_next_hop(&mut self, prefix: &Name, face: FaceNumber) {
        let core = self.faces.of_number(face).and_then(|slot| self.faces.get(slot)).map(|face| face.core);
        if let (Some(core), Some(prefix)) = (core, self.node.hashed(prefix)) {
            self.node.remove_route(self.now, &prefix, core);
        }
    }

    fn fib_bound(&self) -> u32 {
        self.node.core().fib().id_bound() as u32
    }

    fn fib_entry(&self, number: u32) -> Option<FibStatus> {
        let (core, id) = (self.node.core(), FibId(number));
        let face = |core| self.faces.get(self.faces.of_core(core)?).map(|face| face.number);
        // Next hops of removed faces are being removed.
        let status = |&NextHop { face: hop, cost }: &NextHop| {
            Some(NextHopStatus { face: face(hop)?, cost, silent: core.is_silent(id, hop) })
        };
        let next_hops: Vec<NextHopStatus> = core.fib().next_hops(id).iter().filter_map(status).collect();
        let prefix = crate::wire_node::plain(core.fib().prefix(id)?);
        (!next_hops.is_empty()).then_some(FibStatus { prefix, next_hops })
    }

    fn set_strategy(&mut self, prefix: &Name, strategy: &Name) -> Result<Name, ControlError> {
        let Some(hashed) = self.node.hashed(prefix) else { return Err(ControlError::Full("name")) };
        let chosen = self.node.chosen_strategies();
        if chosen.len() >= self.limits.fib_entries && !chosen.contains_key(prefix) {
            return Err(ControlError::Full("table of strategies"));
        }
        let chosen = self.node.choose_strategy(self.now, &hashed, strategy);
        chosen.ok_or_else(|| ControlError::NoSuchStrategy(self.node.strategy_names()))
    }

    fn unset_strategy(&mut self, prefix: &Name) {
        if let Some(hashed) = self.node.hashed(prefix).filter(|_| !prefix.is_empty()) {
            self.node.unchoose_strategy(self.now, &hashed);
        }
    }

    fn strategies(&self) -> Vec<StrategyStatus> {
        let chosen = self.node.chosen_strategies().iter();
        chosen
            .map(|(prefix, strategy)| StrategyStatus { prefix: prefix.clone(), strategy: strategy.clone() })
            .collect()
    }

    fn cs_info(&self) -> CsInfo {
        let (store, used) = (self.node.core().content_store(), self.node.core().content_store_use());
        CsInfo {
            capacity: store.limits().0 as u64,
            admit: used.admit,
            serve: used.serve,
            entries: store.len() as u64,
            hits: store.hits(),
            misses: store.misses(),
        }
    }

    fn configure_cs(&mut self, capacity: Option<u64>, admit: Option<bool>, serve: Option<bool>) {
        if let Some(capacity) = capacity {
            self.node.set_content_store_packets(self.now, usize::try_from(capacity).unwrap_or(usize::MAX));
        }
        let used = self.node.core().content_store_use();
        let admit = admit.unwrap_or(used.admit);
        self.node.use_content_store(self.now, CsUse { admit, serve: serve.unwrap_or(used.serve) });
    }

    fn erase_cs(&mut self, prefix: &Name, limit: u64) -> u64 {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.node.hashed(prefix).map_or(0, |prefix| self.node.erase_content(self.now, &prefix, limit) as u64)
    }

    fn general(&self) -> GeneralStatus {
        let core = self.node.core();
        let (satisfied, unsatisfied) = core.satisfied_and_unsatisfied();
        let now_ms = self.outside.wall_ms();
        GeneralStatus {
            version: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_ms: now_ms.saturating_sub(self.now.as_nanos() / 1_000_000),
            now_ms,
            fib_entries: core.fib().len() as u64,
            pit_entries: core.pit().len() as u64,
            cs_entries: core.content_store().len() as u64,
            counters: self.totals(),
            satisfied_interests: satisfied,
            unsatisfied_interests: unsatisfied,
            losses: self.losses(),
        }
    }

    fn overview(&self) -> Overview {
        self.snapshot().overview(self.first_routes(MAX_ROUTES))
    }
}

impl Engine {
    /// The first `most` entries of the FIB.
    fn first_routes(&self, most: usize) -> Vec<FibStatus> {
        (0..self.fib_bound()).filter_map(|number| self.fib_entry(number)).take(most).collect()
    }

    fn slot_of(&self, face: FaceNumber) -> Result<FaceSlot, ControlError> {
        self.faces.of_number(face).ok_or(ControlError::NoSuchFace)
    }
}

/// The options of a new face: the requested ones, and the defaults of its kind.
fn requested_options(usual: FaceOptions, request: &FaceRequest) -> Result<FaceOptions, ControlError> {
    let mut options = usual;
    options.mtu = changed_mtu(options.mtu, request.mtu)?;
    if let Some(flags) = request.flags {
        options.reliability = Switching::of(flags.reliability);
        options.congestion_marking = flags.congestion_marking;
    }
    if let Some(interval) = request.base_congestion_marking_interval_ns {
        options.marking_interval = Span::from_nanos(interval);
    }
    if let Some(threshold) = request.default_congestion_threshold {
        options.marking_threshold = Bytes::new(threshold);
    }
    Ok(options)
}

/// Checks whether a face allows a change.
fn check_change(face: &Face, change: &FaceChange) -> Result<(), ControlError> {
    if change.flags.is_some_and(|flags| flags.local_fields) && face.scope != FaceScope::Local {
        let why = "local fields are for faces of applications on this host".to_owned();
        return Err(ControlError::BadProperties(why));
    }
    check_reliability(change.reliability == Some(true), face.link_type)?;
    if change.persistency == Some(FacePersistency::Permanent)
        && face.persistency == FacePersistency::OnDemand
        && !matches!(face.channel, Channel::Udp(_))
    {
        let why = "the forwarder cannot reconnect an incoming connection".to_owned();
        return Err(ControlError::BadProperties(why));
    }
    Ok(())
}

fn check_reliability(is_asked: bool, link_type: LinkType) -> Result<(), ControlError> {
    if is_asked && !can_be_reliable(link_type) {
        let why = "link reliability is for faces with one peer, and this is a group".to_owned();
        return Err(ControlError::BadProperties(why));
    }
    Ok(())
}

/// The options of a face's link service after a change.
fn changed_link(mut link: LinkOptions, change: &FaceChange) -> LinkOptions {
    if let Some(is_on) = change.reliability {
        link.repair = if is_on { Repair::On } else { Repair::Off };
    }
    if let Some(flags) = change.flags {
        let standard = FaceOptions::default();
        let marking = link.marking.unwrap_or(Marking {
            threshold: standard.marking_threshold.as_u64(),
            interval: standard.marking_interval,
        });
        link.marking = flags.congestion_marking.then_some(marking);
    }
    if let Some(marking) = &mut link.marking {
        let interval = change.base_congestion_marking_interval_ns.map(Span::from_nanos);
        marking.interval = interval.unwrap_or(marking.interval);
        marking.threshold = change.default_congestion_threshold.unwrap_or(marking.threshold);
    }
    link
}

/// The own MTU of a face after a change.
fn changed_mtu(now: Option<u64>, asked: Option<u64>) -> Result<Option<u64>, ControlError> {
    match asked {
        None => Ok(now),
        Some(OWN_MTU) => Ok(None),
        Some(mtu) if mtu < LEAST_MTU => {
            Err(ControlError::BadProperties(format!("the MTU is {mtu} bytes: wanted at least {LEAST_MTU}")))
        }
        // No frame is longer than the largest packet.
        Some(mtu) => Ok(Some(mtu.min(LARGEST_FRAME as u64))),
    }
}
