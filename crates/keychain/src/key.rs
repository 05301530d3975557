//! Private keys.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use weir_packet::sign::SignError;
use weir_packet::{Component, Data, Name, NameRef, SignatureType, Signer, Verifier};
use zeroize::Zeroizing;

use crate::name::KeyName;

/// The length of a new key's id, bytes: the same as in ndn-cxx, python-ndn and ndnd.
const KEY_ID_LEN: usize = 8;
/// The length of a new HMAC secret, bytes: that of the digest (RFC 2104, section 3).
const SECRET_LEN: usize = 32;

/// The signature algorithm of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Ed25519 (RFC 8032).
    #[default]
    Ed25519,
    /// ECDSA with the curve P-256 and SHA-256.
    Ecdsa,
    /// HMAC with SHA-256: anyone who can verify can also sign.
    Hmac,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Algorithm; 3] = [Algorithm::Ed25519, Algorithm::Ecdsa, Algorithm::Hmac];

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Ed25519 => "ed25519",
            Algorithm::Ecdsa => "ecdsa",
            Algorithm::Hmac => "hmac",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        let named = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == text);
        named.ok_or_else(|| format!("{text:?} is not a key type: wanted ed25519, ecdsa or hmac"))
    }
}

/// Secret bytes. `Debug` does not show them, and they are overwritten when they are dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Returns the bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Secret {
        Secret(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The reason why a key cannot be read or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The bytes are not a private key of a supported algorithm.
    NotAKey,
    /// The library could not make or encode a key.
    Failed,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::NotAKey => "this is not a private key of Ed25519 or ECDSA P-256",
            KeyError::Failed => "the key could not be made or encoded",
        })
    }
}

impl std::error::Error for KeyError {}

impl From<SignError> for KeyError {
    fn from(_: SignError) -> KeyError {
        KeyError::Failed
    }
}

/// A private key with its name.
#[derive(Debug)]
pub struct Key {
    name: KeyName,
    algorithm: Algorithm,
    signer: Signer,
    /// PKCS #8 in DER, or the secret of an HMAC.
    secret: Secret,
}

impl Key {
    /// Makes a new key of an identity, with a random id.
    ///
    /// # Errors
    /// Returns [`KeyError::Failed`] if the system has no random numbers, or if the library fails.
    pub fn generate(identity: NameRef<'_>, algorithm: Algorithm) -> Result<Key, KeyError> {
        let mut id = [0; KEY_ID_LEN];
        fill_random(&mut id)?;
        Key::generate_named(KeyName::new(identity, Component::generic(&id)), algorithm)
    }

    /// Makes a new key with this name.
    ///
    /// # Errors
    /// Returns the errors of [`Key::generate`].
    pub fn generate_named(name: KeyName, algorithm: Algorithm) -> Result<Key, KeyError> {
        match algorithm {
            Algorithm::Ed25519 => Key::of_pair(name, algorithm, Signer::generate_ed25519()?),
            Algorithm::Ecdsa => Key::of_pair(name, algorithm, Signer::generate_ecdsa()?),
            Algorithm::Hmac => {
                let mut secret = Zeroizing::new(vec![0; SECRET_LEN]);
                fill_random(&mut secret)?;
                Key::from_hmac_secret(name, Secret(secret))
            }
        }
    }

    /// Parses a private key in PKCS #8.
    ///
    /// # Errors
    /// Returns [`KeyError::NotAKey`] if it is not a key of Ed25519 or ECDSA P-256.
    pub fn from_pkcs8(name: KeyName, der: &[u8]) -> Result<Key, KeyError> {
        if let Ok(signer) = Signer::ed25519_from_pkcs8(der) {
            return Key::of_pair(name, Algorithm::Ed25519, signer);
        }
        let signer = Signer::ecdsa_from_pkcs8(der).map_err(|_| KeyError::NotAKey)?;
        Key::of_pair(name, Algorithm::Ecdsa, signer)
    }

    /// Parses an ECDSA private key in the form ECPrivateKey (SEC 1).
    ///
    /// # Errors
    /// Returns [`KeyError::NotAKey`] if it is not a key of ECDSA P-256.
    pub fn from_sec1(name: KeyName, der: &[u8]) -> Result<Key, KeyError> {
        let signer = Signer::ecdsa_from_sec1(der).map_err(|_| KeyError::NotAKey)?;
        Key::of_pair(name, Algorithm::Ecdsa, signer)
    }

    /// Returns an HMAC key with this secret.
    ///
    /// # Errors
    /// Returns [`KeyError::NotAKey`] if the secret is empty.
    pub fn from_hmac_secret(name: KeyName, secret: Secret) -> Result<Key, KeyError> {
        if secret.expose().is_empty() {
            return Err(KeyError::NotAKey);
        }
        let signer = Signer::hmac(secret.expose());
        Ok(Key { name, algorithm: Algorithm::Hmac, signer, secret })
    }

    fn of_pair(name: KeyName, algorithm: Algorithm, signer: Signer) -> Result<Key, KeyError> {
        let secret = Secret::from(signer.to_pkcs8().ok_or(KeyError::Failed)?);
        Ok(Key { name, algorithm, signer, secret })
    }

    /// Returns its name.
    pub const fn name(&self) -> &KeyName {
        &self.name
    }

    /// Returns its signature algorithm.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the signer for this key.
    pub const fn signer(&self) -> &Signer {
        &self.signer
    }

    /// Returns the verifier for its signatures.
    ///
    /// # Errors
    /// Returns [`KeyError::Failed`] if the library fails.
    pub fn verifier(&self) -> Result<Verifier, KeyError> {
        let public = self.signer.public_key().unwrap_or_default();
        Ok(match self.algorithm {
            Algorithm::Ed25519 => Verifier::ed25519(public)?,
            Algorithm::Ecdsa => Verifier::ecdsa(public)?,
            Algorithm::Hmac => Verifier::hmac(self.secret.expose()),
        })
    }

    /// Returns the public key as a SubjectPublicKeyInfo in DER; `None` for HMAC.
    pub fn public_key_der(&self) -> Option<Vec<u8>> {
        self.signer.public_key_der()
    }

    /// Returns the private key: PKCS #8 in DER, or the secret of an HMAC.
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Returns whether both are the same key with the same name. Their bytes may differ if they come from
    /// files of different forms.
    pub fn is_same(&self, other: &Key) -> bool {
        let is_same_key = match (self.public_key_der(), other.public_key_der()) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.secret.expose() == other.secret.expose(),
            _ => false,
        };
        is_same_key && self.algorithm == other.algorithm && self.name == other.name
    }

    /// Signs a Data and appends the packet to `out`. Its KeyLocator becomes the key's name.
    ///
    /// # Errors
    /// Returns a [`SignError`] if the library fails, or if the packet would be too large.
    pub fn sign(&self, data: &Data<'_>, out: &mut Vec<u8>) -> Result<(), SignError> {
        self.sign_as(self.name.name(), data, out)
    }

    /// Signs a Data and appends the packet to `out`. Its KeyLocator becomes `locator`, the name of the key or
    /// of one of its certificates.
    ///
    /// # Errors
    /// Returns a [`SignError`] if the library fails, or if the packet would be too large.
    pub fn sign_as(&self, locator: NameRef<'_>, data: &Data<'_>, out: &mut Vec<u8>) -> Result<(), SignError> {
        let mut data = *data;
        data.signature.info = data.signature.info.with_key(locator);
        data.sign(&self.signer, out)
    }
}

/// Fills `out` with random numbers of the system.
pub(crate) fn fill_random(out: &mut [u8]) -> Result<(), KeyError> {
    SystemRandom::new().fill(out).map_err(|_| KeyError::Failed)
}

/// The content type of ndnd's private keys: "SigningKey".
const SIGNING_KEY: weir_packet::ContentType = weir_packet::ContentType::Other(9);

/// The reason why a Data is not a private key of ndnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdndKeyError {
    /// Its name is not `/<identity>/KEY/<key id>`.
    Name,
    /// Its content is not a private key of the algorithm of its signature.
    Key,
    /// It is not signed by this key.
    Signature,
}

/// Parses a private key in ndnd's form: a Data under the key's name whose content is the key (PKCS #8 for
/// Ed25519, ECPrivateKey for ECDSA), signed by the key itself. Returns `None` if the Data does not have that
/// content type.
pub(crate) fn from_ndnd(wire: &[u8]) -> Option<Result<Key, NdndKeyError>> {
    let data = Data::decode(wire).ok().filter(|data| data.content_type() == SIGNING_KEY)?;
    Some(read_ndnd(&data, wire))
}

fn read_ndnd(data: &Data<'_>, wire: &[u8]) -> Result<Key, NdndKeyError> {
    let name = KeyName::of_key(data.name).ok_or(NdndKeyError::Name)?;
    let key = match data.signature.info.typ {
        SignatureType::Ed25519 => Key::from_pkcs8(name, data.payload()),
        SignatureType::Sha256WithEcdsa => Key::from_sec1(name, data.payload()),
        _ => Err(KeyError::NotAKey),
    };
    let key = key.map_err(|_| NdndKeyError::Key)?;
    let verifier = key.verifier().map_err(|_| NdndKeyError::Key)?;
    verifier.verify_data(wire).map_err(|_| NdndKeyError::Signature)?;
    Ok(key)
}

/// Returns the key in ndnd's form; `None` for HMAC, which ndnd does not store.
pub(crate) fn to_ndnd(key: &Key) -> Option<Zeroizing<Vec<u8>>> {
    let content = match key.algorithm {
        Algorithm::Ed25519 => Zeroizing::new(key.secret.expose().to_vec()),
        Algorithm::Ecdsa => Zeroizing::new(key.signer.to_sec1()?),
        Algorithm::Hmac => return None,
    };
    let name: Name = key.name.name().to_name();
    let info = weir_packet::SignatureInfo::new(SignatureType::Null);
    let mut data = Data::new(name.view(), &content, info);
    data.meta.content_type = Some(SIGNING_KEY);
    let mut wire = Zeroizing::new(Vec::new());
    key.sign(&data, &mut wire).ok()?;
    Some(wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Name {
        "/alice".parse().unwrap()
    }

    fn keys() -> [Key; 3] {
        Algorithm::ALL.map(|algorithm| Key::generate(identity().view(), algorithm).unwrap())
    }

    #[test]
    fn a_key_signs_what_its_verifier_takes() {
        let name: Name = "/alice/x".parse().unwrap();
        for key in keys() {
            let info = weir_packet::SignatureInfo::new(SignatureType::Null);
            let mut wire = Vec::new();
            key.sign(&Data::new(name.view(), b"x", info), &mut wire).unwrap();
            assert_eq!(key.verifier().unwrap().verify_data(&wire), Ok(()), "{key:?}");
            let locator = Data::decode(&wire).unwrap().signature.info.key_locator;
            assert_eq!(locator, Some(weir_packet::KeyLocator::Name(key.name().name())));
            assert_eq!(
                (key.name().identity().to_string(), key.name().id().value.len()),
                ("/alice".into(), 8)
            );
            assert_eq!(key.public_key_der().is_none(), key.algorithm() == Algorithm::Hmac);
        }
    }

    #[test]
    fn two_new_keys_differ() {
        let [a, b] = [keys(), keys()];
        for (a, b) in a.iter().zip(&b) {
            assert!(a.name() != b.name() && a.secret().expose() != b.secret().expose());
            let named_a = Key::generate_named(a.name().clone(), a.algorithm()).unwrap();
            assert!(a.is_same(a) && !a.is_same(b) && !a.is_same(&named_a));
        }
    }

    #[test]
    fn a_private_key_is_not_shown() {
        for key in keys() {
            let shown = format!("{key:?} {:?}", key.secret());
            let bytes = format!("{:?}", key.secret().expose());
            assert!(
                shown.contains("Secret(…)") && !shown.contains(bytes.trim_matches(['[', ']'])),
                "{shown}"
            );
        }
    }

    #[test]
    fn private_keys_are_read_back() {
        let [ed25519, ecdsa, hmac] = keys();
        for key in [&ed25519, &ecdsa] {
            let again = Key::from_pkcs8(key.name().clone(), key.secret().expose()).unwrap();
            assert_eq!((again.algorithm(), again.public_key_der()), (key.algorithm(), key.public_key_der()));
            let wire = to_ndnd(key).unwrap();
            let again = from_ndnd(&wire).unwrap().unwrap();
            assert_eq!((again.name(), again.public_key_der()), (key.name(), key.public_key_der()));
            let mut forged = wire.clone();
            *forged.last_mut().unwrap() ^= 1;
            assert_eq!(from_ndnd(&forged).unwrap().err(), Some(NdndKeyError::Signature));
        }
        assert!(to_ndnd(&hmac).is_none());
        assert!(Key::from_pkcs8(hmac.name().clone(), b"x").is_err());
        assert!(Key::from_hmac_secret(hmac.name().clone(), Vec::new().into()).is_err());
    }

    #[test]
    fn a_type_of_key_is_one_of_three_words() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
        }
        assert!("rsa".parse::<Algorithm>().unwrap_err().contains("wanted ed25519, ecdsa or hmac"));
    }
}
