//! Certificates under their own names, so that whoever trusts one of them can check what it certifies.

use weir_core::packet::Packet;
use weir_keychain::{Certificate, KeyChain, KeyName, StoreError};
use weir_packet::{Name, NameRef};

use crate::{Answer, App, AppError};

/// Certificates on the way up that are followed: as many as a consumer follows.
const DEPTH: usize = weir_keychain::trust::DEFAULT_DEPTH;

/// The certificates of one or more keys.
#[derive(Clone, Debug, Default)]
pub struct Certificates(Vec<Certificate>);

impl Certificates {
    /// The newest certificate of a key, and those on the way up to one that is signed by itself, as far as a key
    /// chain has them. A key of HMAC has none.
    ///
    /// # Errors
    /// The key chain cannot be read.
    pub fn of(key: &KeyName, chain: &KeyChain) -> Result<Certificates, StoreError> {
        let mut found: Vec<Certificate> = Vec::new();
        let mut wanted = Some(key.name().to_name());
        while let Some(name) = wanted.take() {
            let certificate = match chain.certificate(name.view()) {
                Ok(certificate) => certificate,
                Err(StoreError::NotFound(_)) => break,
                Err(error) => return Err(error),
            };
            let is_known = found.iter().any(|known| known.name() == certificate.name());
            if is_known || found.len() > DEPTH {
                break;
            }
            if !certificate.is_self_signed() {
                wanted = certificate.key_locator().map(|locator| locator.to_name());
            }
            found.push(certificate);
        }
        Ok(Certificates(found))
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = NameRef<'_>> {
        self.0.iter().map(Certificate::name)
    }

    /// The names of their keys: what is registered.
    fn keys(&self) -> Vec<Name> {
        let mut keys: Vec<Name> =
            self.0.iter().map(|certificate| certificate.key_name().name().to_name()).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

impl Answer for Certificates {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let Ok(wanted) = NameRef::from_value(interest.name.wire()) else { return false };
        let is_it = |certificate: &&Certificate| {
            let name = certificate.name();
            name == wanted || interest.can_be_prefix && name.starts_with(wanted)
        };
        let found = self.0.iter().find(is_it);
        out.extend_from_slice(found.map_or(&[], Certificate::wire));
        found.is_some()
    }
}

impl App {
    /// Registers the names of keys with the forwarder, and answers for their certificates from then on.
    ///
    /// # Errors
    /// As [`App::produce`].
    pub fn publish_certificates(&mut self, certificates: &Certificates) -> Result<(), AppError> {
        for key in certificates.keys() {
            let of_key = |certificate: &&Certificate| certificate.key_name().name() == key.view();
            let own = Certificates(certificates.0.iter().filter(of_key).cloned().collect());
            self.produce(key, Box::new(own))?;
        }
        Ok(())
    }
}
