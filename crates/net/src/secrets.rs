//! Secrets that a process draws from the operating system at its start.
//!
//! The key of the name hash and the key of the nonces are drawn independently, so nothing that is sent depends on the
//! key of the hash. Both stay the same while the process runs.

use std::io;

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use weir_core::name::NameHasher;

fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Draws a seed for the random choices of schemes from the operating system. It need not be secret, because no secret
/// is derived from it.
///
/// # Errors
/// Returns an error if the operating system returns no random bytes.
pub fn random_seed() -> io::Result<u64> {
    random_bytes().map(u64::from_le_bytes)
}

/// Nonces of Interests, from ChaCha12: the next one cannot be predicted from earlier ones.
#[derive(Debug)]
pub struct Nonces(ChaCha12Rng);

impl Nonces {
    /// Draws the next nonce.
    #[inline]
    pub fn next_nonce(&mut self) -> u32 {
        self.0.next_u32()
    }
}

/// The name hash and the nonces of one process.
#[derive(Debug)]
pub struct Secrets {
    /// The hash of names.
    pub names: NameHasher,
    /// The nonces for Interests that arrive without one.
    pub nonces: Nonces,
}

impl Secrets {
    /// Draws keys from the operating system.
    ///
    /// # Errors
    /// Returns an error if the operating system returns no random bytes.
    pub fn draw() -> io::Result<Secrets> {
        let key = [random_bytes()?, random_bytes()?].map(u64::from_le_bytes);
        let nonces = Nonces(ChaCha12Rng::from_seed(random_bytes()?));
        Ok(Secrets { names: NameHasher::with_key(key), nonces })
    }

    /// Derives keys from a seed. They are not secret: for replays and tests.
    pub fn fixed(seed: u64) -> Secrets {
        Secrets { names: NameHasher::new(seed), nonces: Nonces(ChaCha12Rng::seed_from_u64(seed)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::name::HashedName;

    fn hash(secrets: &Secrets) -> u64 {
        HashedName::parse(&secrets.names, b"\x08\x01a").unwrap().hash()
    }

    fn nonces(secrets: &mut Secrets) -> [u32; 8] {
        [(); 8].map(|()| secrets.nonces.next_nonce())
    }

    #[test]
    fn two_processes_have_neither_hashes_nor_nonces_in_common() {
        let [mut one, mut other] = [Secrets::draw().unwrap(), Secrets::draw().unwrap()];
        assert_ne!(hash(&one), hash(&other));
        assert_ne!(nonces(&mut one), nonces(&mut other));
    }

    #[test]
    fn fixed_secrets_repeat_with_their_seed() {
        let [mut one, mut same, mut other] = [7, 7, 7 + 256].map(Secrets::fixed);
        assert_eq!((hash(&one), nonces(&mut one)), (hash(&same), nonces(&mut same)));
        assert_ne!(hash(&one), hash(&other));
        assert_ne!(nonces(&mut one), nonces(&mut other));
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = |seed| format!("{:?}", Secrets::fixed(seed));
        assert_eq!(shown(1), shown(2));
    }
}
