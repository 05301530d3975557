//! Serves certificates under their own names, so that a consumer that trusts one of them can check the others.

use core::cmp::Reverse;

use weir_core::packet::Packet;
use weir_keychain::{Certificate, KeyChain, KeyName, Moment, StoreError};
use weir_packet::sign::implicit_digest;
use weir_packet::{Name, NameRef};

use crate::{App, AppError, Serve};

/// The certificates of one or more keys; of each key the best first.
#[derive(Clone, Debug, Default)]
pub struct Certificates(Vec<Certificate>);

impl Certificates {
    /// All certificates of a key, and of the keys that certify it, as far as a key chain has them. Of each key those that are
    /// valid now come first, among them those that another key issued, and among them the newest. A key of HMAC has
    /// none.
    ///
    /// # Errors
    /// The key chain cannot be read.
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

    /// The best certificate of the key whose they are.
    pub fn best(&self) -> Option<&Certificate> {
        self.0.first()
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

/// Where a certificate stands among those of its key: who trusts an anchor has no use for one that is signed by itself.
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
