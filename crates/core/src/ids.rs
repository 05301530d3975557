//! Small identifiers that the tables share.

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

/// A prefix that flows have, at one node: small numbers, so that tables are indexed by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixId(pub u32);

/// The prefix of what matches no FIB entry.
pub const NO_PREFIX: PrefixId = PrefixId(u32::MAX);

/// Faces of a node that share as one: the flows of a group have together what one flow outside of groups has. A small
/// number, given by the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

impl GroupId {
    /// Of faces whose flows share each for itself.
    pub const NONE: GroupId = GroupId(0);
}

/// A strategy of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrategyId(pub u8);

/// The handle of a PIT entry: it names that entry as long as it lives, and nothing afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PitId {
    pub(crate) index: u32,
    pub(crate) generation: u16,
}

impl PitId {
    /// Both parts: place and generation.
    #[inline]
    pub const fn bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// Its place in the slab: below [`Pit::id_bound`](crate::tables::pit::Pit::id_bound), used again after the entry is gone.
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

    /// As an NDNLPv2 PitToken.
    #[inline]
    pub fn token(self) -> PitToken {
        PitToken::from_u48(u64::from(self.index) << 16 | u64::from(self.generation))
    }

    /// The inverse of [`PitId::to_token`]; none if the token has another length.
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
