//! Small identifiers that tables share.

use core::fmt;

use weir_packet::PitToken;

/// A face of a forwarder: a link to a neighbour or to a local application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaceId(pub u32);

impl fmt::Display for FaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A prefix of flows at one node. Numbers are small, so tables are indexed by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixId(pub u32);

/// The prefix of names that match no FIB entry.
pub const NO_PREFIX: PrefixId = PrefixId(u32::MAX);

/// A group of faces of a node whose flows share as one: together they get as much as one flow outside of
/// groups. The world assigns this small number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group of faces outside of groups: each of their flows shares for itself.
    pub const NONE: GroupId = GroupId(0);
}

/// A strategy of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrategyId(pub u8);

/// Handle of a PIT entry. It names the entry while the entry lives, and nothing afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PitId {
    pub(crate) index: u32,
    pub(crate) generation: u16,
}

impl PitId {
    /// Place and generation in one number.
    #[inline]
    pub const fn bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The place in the slab, below [`Pit::id_bound`](crate::tables::pit::Pit::id_bound). It is reused after
    /// the entry is gone.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The value of an NDNLPv2 PitToken.
    #[inline]
    pub const fn to_token(self) -> [u8; 6] {
        let [a, b, c, d] = self.index.to_be_bytes();
        let [e, f] = self.generation.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// The handle as an NDNLPv2 PitToken.
    #[inline]
    pub fn token(self) -> PitToken {
        PitToken::from_u48(u64::from(self.index) << 16 | u64::from(self.generation))
    }

    /// The inverse of [`PitId::to_token`]; `None` if the token has another length.
    #[inline]
    pub const fn from_token(token: &[u8]) -> Option<PitId> {
        match *token {
            [a, b, c, d, e, f] => Some(PitId {
                index: u32::from_be_bytes([a, b, c, d]),
                generation: u16::from_be_bytes([e, f]),
            }),
            _ => None,
        }
    }
}
