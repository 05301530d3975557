//! Serves certificates under their own names, so that a consumer that trusts one of them can verify the others.

use core::cmp::Reverse;

use weir_core::packet::Packet;
use weir_keychain::{Certificate, KeyChain, KeyName, Moment, StoreError};
use weir_packet::sign::implicit_digest;
use weir_packet::{Name, NameRef};

use crate::{App, AppError, Serve};

/// Certificates of one or more keys; for each key the best first.
#[derive(Clone, Debug, Default)]
pub struct Certificates(Vec<Certificate>);

impl Certificates {
    /// All certificates in a key chain of a key and of the keys that certify it. For each key, currently valid ones
    /// come first; among these, those that another key issued; among these, the newest. An HMAC key has none.
    ///
    /// # Errors
    /// Returns an error if the key chain cannot be read.
    pub fn of(key: &KeyName, chain: &KeyChain, now: Moment) -> Result<Certificates, StoreError> {
        let all = chain.certificates()?;
        let (mut keys, mut found, mut at) = (vec![key.clone()], Vec::new(), 0);
        while let Some(key) = keys.get(at) {
            let mut own: Vec<&Certificate> = all.iter().filter(|own| own.key_name() == key).collect();
            own.sort_by_key(|own| rank(own, now));
            for certificate in own {
                let issuer = certificate.key_locator().and_then(KeyName::of_locator);
                keys.extend(issuer.filter(|issuer| !keys.contains(issuer)));
                found.push(certificate.clone());
            }
            at += 1;
        }
        Ok(Certificates(found))
    }

    /// The best certificate of the first key.
    pub fn best(&self) -> Option<&Certificate> {
        self.0.first()
    }

    /// The certificates' names.
    pub fn names(&self) -> impl Iterator<Item = NameRef<'_>> {
        self.0.iter().map(Certificate::name)
    }

    /// The names of the certificates' keys. These are the registered prefixes.
    fn keys(&self) -> Vec<Name> {
        let mut keys: Vec<Name> =
            self.0.iter().map(|certificate| certificate.key_name().name().to_name()).collect();
        keys.sort();
        keys.dedup();
        keys
    }
}

/// Rank of a certificate among those of its key. Self-signed ones rank lower, because a consumer that trusts an anchor
/// cannot use them.
fn rank(certificate: &Certificate, now: Moment) -> (bool, bool, Reverse<Option<u64>>) {
    let version = certificate.name().last().and_then(|last| last.version());
    (!certificate.validity().contains(now), certificate.is_self_signed(), Reverse(version))
}

impl Serve for Certificates {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let Ok(name) = NameRef::from_value(interest.name.wire()) else { return false };
        let is_it = |certificate: &&Certificate| match interest.name.implicit_digest() {
            Some(digest) => {
                certificate.name() == name.parent() && *digest == implicit_digest(certificate.wire())
            }
            None => {
                certificate.name() == name || interest.can_be_prefix && certificate.name().starts_with(name)
            }
        };
        let found = self.0.iter().find(is_it);
        out.extend_from_slice(found.map_or(&[], Certificate::wire));
        found.is_some()
    }
}

impl App {
    /// Registers the names of the keys with the forwarder, and serves their certificates from then on.
    ///
    /// # Errors
    /// Returns the errors of [`App::produce`].
    pub fn publish_certificates(&mut self, certificates: &Certificates) -> Result<(), AppError> {
        for key in certificates.keys() {
            let of_key = |certificate: &&Certificate| certificate.key_name().name() == key.view();
            let own = Certificates(certificates.0.iter().filter(of_key).cloned().collect());
            self.produce(key, Box::new(own))?;
        }
        Ok(())
    }
}
