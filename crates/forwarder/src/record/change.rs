//! Encodes and decodes changes of a node: the kind and the fields of each input of the core.

use std::borrow::Cow;

use weir_core::ids::{GroupId, StrategyId};
use weir_core::node::{Change, ClassRule, CsUse, IngressPolicy};
use weir_core::units::Rate;
use weir_packet::ServiceClass;

use super::decode::Fields;
use super::encode::{bytes, face, number, optional, size};

/// Kinds of changes. Kinds below 32 belong to other entries.
mod kind {
    pub(super) const ADD_APPLICATION: u8 = 32;
    pub(super) const REMOVE_FACE: u8 = 33;
    pub(super) const SET_GROUP: u8 = 34;
    pub(super) const FORGET_GROUP: u8 = 35;
    pub(super) const SET_INGRESS: u8 = 36;
    pub(super) const SET_SEND_RATE: u8 = 37;
    pub(super) const SET_RECEIVE_RATE: u8 = 38;
    pub(super) const SET_FAIR_RATE: u8 = 39;
    pub(super) const ADD_ROUTE: u8 = 40;
    pub(super) const REMOVE_ROUTE: u8 = 41;
    pub(super) const CHOOSE_STRATEGY: u8 = 42;
    pub(super) const UNCHOOSE_STRATEGY: u8 = 43;
    pub(super) const SET_STORE_LIMITS: u8 = 44;
    pub(super) const SET_STORE_USE: u8 = 45;
    pub(super) const ERASE_STORED: u8 = 46;
    pub(super) const SET_CACHE_RATIO: u8 = 47;
    pub(super) const FAIL: u8 = 48;
}

pub(super) fn kind_of(change: &Change<'_>) -> u8 {
    match change {
        Change::AddApplication => kind::ADD_APPLICATION,
        Change::RemoveFace(_) => kind::REMOVE_FACE,
        Change::SetGroup { .. } => kind::SET_GROUP,
        Change::ForgetGroup(_) => kind::FORGET_GROUP,
        Change::SetIngress { .. } => kind::SET_INGRESS,
        Change::SetSendRate { .. } => kind::SET_SEND_RATE,
        Change::SetReceiveRate { .. } => kind::SET_RECEIVE_RATE,
        Change::SetFairRate { .. } => kind::SET_FAIR_RATE,
        Change::AddRoute { .. } => kind::ADD_ROUTE,
        Change::RemoveRoute { .. } => kind::REMOVE_ROUTE,
        Change::ChooseStrategy { .. } => kind::CHOOSE_STRATEGY,
        Change::UnchooseStrategy { .. } => kind::UNCHOOSE_STRATEGY,
        Change::SetStoreLimits { .. } => kind::SET_STORE_LIMITS,
        Change::SetStoreUse(_) => kind::SET_STORE_USE,
        Change::EraseStored { .. } => kind::ERASE_STORED,
        Change::SetCacheRatio(_) => kind::SET_CACHE_RATIO,
        Change::Fail => kind::FAIL,
    }
}

pub(super) fn write(change: &Change<'_>, out: &mut Vec<u8>) {
    // Most changes name a face, which comes first.
    change.face().into_iter().for_each(|named| face(named, out));
    match change {
        Change::AddApplication | Change::RemoveFace(_) | Change::Fail => {}
        Change::SetGroup { group, .. } | Change::ForgetGroup(group) => number(u64::from(group.0), out),
        Change::SetIngress { policy, .. } => {
            out.push(u8::from(policy.is_believed));
            for rule in policy.classes {
                optional(rule.class.map(|class| class as u64), out);
                optional(rule.rate.map(Rate::as_bps), out);
            }
        }
        Change::SetSendRate { rate, .. } | Change::SetReceiveRate { rate, .. } => {
            optional(rate.map(Rate::as_bps), out);
        }
        Change::SetFairRate { rate, .. } => number(rate.as_bps(), out),
        Change::AddRoute { prefix, cost, .. } => {
            bytes(prefix.wire(), out);
            number(*cost, out);
        }
        Change::RemoveRoute { prefix, .. } | Change::UnchooseStrategy { prefix } => bytes(prefix.wire(), out),
        Change::ChooseStrategy { prefix, strategy } => {
            bytes(prefix.wire(), out);
            out.push(strategy.0);
        }
        Change::SetStoreLimits { packets, bytes } => {
            size(*packets, out);
            number(*bytes, out);
        }
        Change::SetStoreUse(CsUse { admit, serve }) => out.extend([u8::from(*admit), u8::from(*serve)]),
        Change::EraseStored { prefix, limit } => {
            bytes(prefix.wire(), out);
            size(*limit, out);
        }
        Change::SetCacheRatio(ratio) => out.extend_from_slice(&ratio.to_bits().to_le_bytes()),
    }
}

/// Decodes the change of this kind; `None` if the kind is unknown, or if its fields are damaged.
pub(super) fn read(kind: u8, fields: &mut Fields<'_>) -> Option<Change<'static>> {
    Some(match kind {
        kind::ADD_APPLICATION => Change::AddApplication,
        kind::REMOVE_FACE => Change::RemoveFace(fields.face()?),
        kind::SET_GROUP => Change::SetGroup { face: fields.face()?, group: group(fields)? },
        kind::FORGET_GROUP => Change::ForgetGroup(group(fields)?),
        kind::SET_INGRESS => Change::SetIngress { face: fields.face()?, policy: policy(fields)? },
        kind::SET_SEND_RATE => Change::SetSendRate { face: fields.face()?, rate: fields.rate()? },
        kind::SET_RECEIVE_RATE => Change::SetReceiveRate { face: fields.face()?, rate: fields.rate()? },
        kind::SET_FAIR_RATE => {
            Change::SetFairRate { face: fields.face()?, rate: Rate::from_bps(fields.number()?) }
        }
        kind::ADD_ROUTE => {
            let face = fields.face()?;
            Change::AddRoute { prefix: Cow::Owned(fields.name()?), face, cost: fields.number()? }
        }
        kind::REMOVE_ROUTE => {
            Change::RemoveRoute { face: fields.face()?, prefix: Cow::Owned(fields.name()?) }
        }
        kind::CHOOSE_STRATEGY => Change::ChooseStrategy {
            prefix: Cow::Owned(fields.name()?),
            strategy: StrategyId(fields.byte()?),
        },
        kind::UNCHOOSE_STRATEGY => Change::UnchooseStrategy { prefix: Cow::Owned(fields.name()?) },
        kind::SET_STORE_LIMITS => Change::SetStoreLimits { packets: fields.size()?, bytes: fields.number()? },
        kind::SET_STORE_USE => {
            Change::SetStoreUse(CsUse { admit: fields.switch()?, serve: fields.switch()? })
        }
        kind::ERASE_STORED => {
            Change::EraseStored { prefix: Cow::Owned(fields.name()?), limit: fields.size()? }
        }
        kind::SET_CACHE_RATIO => Change::SetCacheRatio(f64::from_bits(fields.eight()?)),
        kind::FAIL => Change::Fail,
        _ => return None,
    })
}

fn group(fields: &mut Fields<'_>) -> Option<GroupId> {
    fields.number()?.try_into().ok().map(GroupId)
}

fn policy(fields: &mut Fields<'_>) -> Option<IngressPolicy> {
    let is_believed = fields.switch()?;
    let mut policy = IngressPolicy { is_believed, ..IngressPolicy::open() };
    for rule in &mut policy.classes {
        let class = match fields.optional()? {
            None => None,
            Some(class) => Some(*ServiceClass::ALL.get(usize::try_from(class).ok()?)?),
        };
        *rule = ClassRule { class, rate: fields.rate()? };
    }
    Some(policy)
}
