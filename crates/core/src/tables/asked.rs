//! Upstreams that were asked by ended PIT entries and may still answer.
//!
//! An entry may be satisfied by one upstream while another one still has the Interest, or it may expire while
//! the Data is under way. If the name is then requested again and the Interest goes to another next hop, the
//! late Data is still solicited. So the forwarder remembers (name, face) for as long as it remembers dead
//! nonces.

use super::dead_nonce::{DEAD_NONCE_LIFETIME, DeadNonceList};
use crate::ids::FaceId;
use crate::name::NameHasher;
use crate::units::{Span, Time};

/// How long an Interest without an answer is remembered.
const EXPIRED_LIFETIME: Span = Span::from_secs(60);

/// The upstreams of ended PIT entries. This is a dead nonce list with faces in place of nonces.
#[derive(Clone, Debug)]
pub struct AskedUpstreams(DeadNonceList);

impl AskedUpstreams {
    /// Makes a list of at most `capacity` upstreams. When it is full, the oldest is removed.
    pub fn new(hasher: NameHasher, capacity: usize) -> AskedUpstreams {
        AskedUpstreams(DeadNonceList::new(hasher, capacity, DEAD_NONCE_LIFETIME))
    }

    /// Makes a list of upstreams that have not answered within the lifetime. It only explains why a Data is
    /// dropped, so it remembers an upstream for as long as a Data may wait in long queues.
    pub fn of_expired(hasher: NameHasher, capacity: usize) -> AskedUpstreams {
        AskedUpstreams(DeadNonceList::new(hasher, capacity, EXPIRED_LIFETIME))
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers that an Interest for the name with this hash was sent by `face`.
    pub fn add(&mut self, name_hash: u64, face: FaceId, now: Time) {
        self.0.add(name_hash, face.0, now);
    }

    /// Returns whether an Interest for the name with this hash was sent by `face` within the remembered time.
    pub fn contains(&self, name_hash: u64, face: FaceId, now: Time) -> bool {
        self.0.contains(name_hash, face.0, now)
    }
}
