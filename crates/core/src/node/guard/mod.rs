//! Protection of a node against strangers: ingress policies, groups of faces, detection of dead next hops,
//! and the memory of waiting packets.
//!
//! | part | becomes active when | effect |
//! |---|---|---|
//! | [`ingress`](IngressPolicy) | a face gets a policy | arriving packets are changed or refused first |
//! | groups | a face joins one | the flows of its faces share as one |
//! | [`liveness`] | [`NodeConfig::next_hop_timeout`](super::NodeConfig::next_hop_timeout) is set | silent next hops are left |
//! | [`waiting`] | [`TableLimits::queue_bytes`](super::TableLimits::queue_bytes) is set | all queues share one bound |
//!
//! A node where no part is active has no guard, and its packets skip it at no cost ([`Node::is_plain`]). A
//! guard stays once it exists. Bounds that every node has are with the tables: the shares of faces in the PIT
//! (`tables/pit/shares.rs`) and the flow prefixes (`tables/flow_prefix.rs`).

mod ingress;
pub(super) mod liveness;
mod waiting;

pub use ingress::{ClassRule, IngressCounters, IngressPolicy};
pub use liveness::{NextHopChange, NextHopNews};

use weir_packet::{ServiceClass, SignalSet};

use ingress::Ingress;
use liveness::Liveness;
use waiting::Waiting;

use super::Node;
use crate::ids::{FaceId, GroupId};
use crate::packet::Packet;
use crate::seam::DropReason;
use crate::units::{Span, Time};

/// The guard of a node.
#[derive(Debug)]
pub(super) struct Guard {
    /// Policy of each face, indexed by face number; `None`: the face is trusted fully.
    ingress: Vec<Option<Box<Ingress>>>,
    /// Group of each face, indexed by face number.
    groups: Vec<GroupId>,
    pub(super) liveness: Liveness,
    pub(super) waiting: Waiting,
}

impl Guard {
    fn new(next_hop_timeout: Span, queue_bytes: u64) -> Guard {
        Guard {
            ingress: Vec::new(),
            groups: Vec::new(),
            liveness: Liveness::new(next_hop_timeout),
            waiting: Waiting::new(queue_bytes),
        }
    }

    /// Makes the guard of a new node, if it needs one.
    pub(super) fn of(next_hop_timeout: Span, queue_bytes: u64) -> Option<Box<Guard>> {
        let is_needed = next_hop_timeout > Span::ZERO || queue_bytes != u64::MAX;
        is_needed.then(|| Box::new(Guard::new(next_hop_timeout, queue_bytes)))
    }

    /// The group of a face.
    #[inline]
    pub(super) fn group(&self, face: FaceId) -> GroupId {
        self.groups.get(face.0 as usize).copied().unwrap_or(GroupId::NONE)
    }

    /// Puts a face into a group.
    pub(super) fn set_group(&mut self, face: FaceId, group: GroupId) {
        let at = face.0 as usize;
        if at >= self.groups.len() {
            self.groups.resize(at + 1, GroupId::NONE);
        }
        self.groups[at] = group;
    }

    fn believe(&mut self, face: FaceId, policy: &IngressPolicy, of_consumers: SignalSet) {
        let at = face.0 as usize;
        if at >= self.ingress.len() {
            self.ingress.resize_with(at + 1, || None);
        }
        let counters = self.ingress_counters(face);
        self.ingress[at] = Some(Box::new(Ingress::new(*policy, of_consumers, counters)));
    }

    fn ingress_counters(&self, face: FaceId) -> IngressCounters {
        let ingress = self.ingress.get(face.0 as usize).and_then(Option::as_ref);
        ingress.map_or_else(IngressCounters::default, |ingress| ingress.counters())
    }

    /// Forgets the policy of a removed face.
    pub(super) fn forget_ingress(&mut self, face: FaceId) {
        if let Some(ingress) = self.ingress.get_mut(face.0 as usize) {
            *ingress = None;
        }
    }

    #[inline]
    fn ingress_of(&mut self, face: FaceId) -> Option<&mut Ingress> {
        self.ingress.get_mut(face.0 as usize)?.as_deref_mut()
    }

    /// Returns whether an arriving packet may be handled, and removes its fields that are not accepted.
    #[inline]
    pub(super) fn admit(&mut self, face: FaceId, packet: &mut Packet, now: Time) -> Result<(), DropReason> {
        match self.ingress_of(face) {
            Some(ingress) => ingress.admit(packet, now),
            None => Ok(()),
        }
    }

    /// Charges a Data that leaves by a face for Interests of a class.
    #[inline]
    pub(super) fn charge(&mut self, face: FaceId, class: ServiceClass, data: &Packet, now: Time) {
        if let Some(ingress) = self.ingress_of(face) {
            ingress.owe(class, data.wire_len(), now);
        }
    }
}

impl Node {
    /// The guard; makes one if there is none.
    pub(super) fn guarded(&mut self) -> &mut Guard {
        self.guard.get_or_insert_with(|| Box::new(Guard::new(Span::ZERO, u64::MAX)))
    }

    pub(super) fn believe(&mut self, face: FaceId, policy: &IngressPolicy) {
        let of_consumers = self.signals_of_consumers;
        self.guarded().believe(face, policy, of_consumers);
    }

    pub(super) fn join_group(&mut self, face: FaceId, group: GroupId) {
        if group != GroupId::NONE {
            self.prefixes.number_entries(self.fib.id_bound());
        } else if self.guard.is_none() {
            return;
        }
        self.guarded().set_group(face, group);
    }

    /// The group of a face.
    #[inline]
    pub fn group(&self, face: FaceId) -> GroupId {
        self.guard.as_ref().map_or(GroupId::NONE, |guard| guard.group(face))
    }

    /// Counters of a face's policy; zeros without one.
    pub fn ingress_counters(&self, face: FaceId) -> IngressCounters {
        self.guard.as_ref().map_or_else(IngressCounters::default, |guard| guard.ingress_counters(face))
    }

    /// Bytes charged for the packets in the queues of all links; 0 without a bound.
    pub fn queued_bytes(&self) -> u64 {
        self.guard.as_ref().map_or(0, |guard| guard.waiting.bytes())
    }
}
