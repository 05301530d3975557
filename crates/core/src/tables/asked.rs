//! Upstreams that were asked by PIT entries that are gone, and may still answer.
//!
//! An entry is satisfied by one upstream while another one still has the Interest, or it expires while the Data is on its
//! way. If the name is asked for again, and the Interest is sent to another next hop, the late Data is still one that this
//! node asked for. So the forwarder remembers (name, face) for as long as it remembers dead nonces.

use super::dead_nonce::{DEAD_NONCE_LIFETIME, DeadNonceList};
use crate::ids::FaceId;
use crate::name::NameHasher;
use crate::units::{Span, Time};

/// How long an Interest without an answer is remembered.
const EXPIRED_LIFETIME: Span = Span::from_secs(60);

/// The upstreams of PIT entries that are gone: a list like that of dead nonces, with faces in place of nonces.
#[derive(Clone, Debug)]
pub struct AskedUpstreams(DeadNonceList);

impl AskedUpstreams {
    /// A list of at most `capacity` upstreams; when it is full the oldest goes.
    pub fn new(hasher: NameHasher, capacity: usize) -> AskedUpstreams {
        AskedUpstreams(DeadNonceList::new(hasher, capacity, DEAD_NONCE_LIFETIME))
    }

    /// A list of upstreams that have not answered within the lifetime. It only says why a Data is dropped, so it
    /// remembers for as long as a Data may wait in long queues.
    pub fn of_expired(hasher: NameHasher, capacity: usize) -> AskedUpstreams {
        AskedUpstreams(DeadNonceList::new(hasher, capacity, EXPIRED_LIFETIME))
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Remembers that an Interest for the name with this hash was sent by a face.
    pub fn add(&mut self, name_hash: u64, face: FaceId, now: Time) {
        self.0.add(name_hash, face.0, now);
    }

    /// Whether an Interest for the name of this hash was sent by a face, and not too long ago.
    pub fn contains(&self, name_hash: u64, face: FaceId, now: Time) -> bool {
        self.0.contains(name_hash, face.0, now)
    }
}
