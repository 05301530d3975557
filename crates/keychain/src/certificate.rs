//! Certificates: NDN Certificate Format v2. A Data of content type Key, under the name
//! `/<identity>/KEY/<key id>/<issuer>/<version>`, with a ValidityPeriod; its content is the public key.

use std::fmt;

use weir_packet::{
    Component, ContentType, Data, DecodeError, KeyLocator, MetaInfo, Name, NameRef, SignatureInfo,
    SignatureType, ValidityPeriod, Verifier, component_type,
};

use crate::key::Key;
use crate::name::KeyName;
use crate::time::{Moment, Validity};

/// The issuer of a self-signed certificate: the convention of all implementations.
pub const SELF: Component<'static> = Component { typ: component_type::GENERIC, value: b"self" };

/// The freshness period of certificates, ms: one hour, as in ndn-cxx, python-ndn, ndnd and NDNts.
pub const FRESHNESS_MS: u64 = 3_600_000;

/// The reason why a Data is not a certificate, or why a certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateError {
    /// It is not a Data.
    Decode(DecodeError),
    /// Its name does not have the form of a certificate's name.
    Name(Name),
    /// Its content type is not Key.
    ContentType(ContentType),
    /// It has no ValidityPeriod, or one that is not of the form `YYYYMMDDThhmmss`.
    Validity,
    /// Its content is not a public key of Ed25519, ECDSA P-256 or RSA.
    PublicKey,
    /// An HMAC key cannot have or issue a certificate.
    Hmac,
    /// The library could not sign it, or it is too large.
    Failed,
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::Decode(error) => write!(f, "it is not a Data: {error}"),
            CertificateError::Name(name) => write!(
                f,
                "{name} is not the name of a certificate: wanted /<identity>/KEY/<key id>/<issuer>/<version>"
            ),
            CertificateError::ContentType(typ) => {
                write!(
                    f,
                    "its content type is {}, but a certificate has {}",
                    typ.value(),
                    ContentType::Key.value()
                )
            }
            CertificateError::Validity => {
                f.write_str("it has no validity period such as 20260101T000000 to 20270101T000000")
            }
            CertificateError::PublicKey => {
                f.write_str("its content is not a public key of Ed25519, ECDSA P-256 or RSA")
            }
            CertificateError::Hmac => f.write_str("an HMAC key has no public key, so it has no certificate"),
            CertificateError::Failed => f.write_str("it could not be signed"),
        }
    }
}

impl std::error::Error for CertificateError {}

/// A certificate, kept as the bytes that were signed.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    wire: Vec<u8>,
    name: Name,
    key_name: KeyName,
    validity: Validity,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.name)
    }
}

impl Certificate {
    /// Parses a packet. It checks neither the signature nor the time.
    ///
    /// # Errors
    /// Returns a [`CertificateError`] if the packet does not have the format of a certificate.
    pub fn decode(wire: &[u8]) -> Result<Certificate, CertificateError> {
        let data = Data::decode(wire).map_err(CertificateError::Decode)?;
        let no_name = || CertificateError::Name(data.name.to_name());
        let key_name = KeyName::of_certificate(data.name).ok_or_else(no_name)?;
        if data.content_type() != ContentType::Key {
            return Err(CertificateError::ContentType(data.content_type()));
        }
        let validity = data.signature.info.validity.and_then(|period| {
            let not_before = Moment::parse(period.not_before)?;
            Some(Validity { not_before, not_after: Moment::parse(period.not_after)? })
        });
        let validity = validity.ok_or(CertificateError::Validity)?;
        Ok(Certificate { wire: wire.to_vec(), name: data.name.to_name(), key_name, validity })
    }

    /// Certifies a public key (SubjectPublicKeyInfo in DER) with the key of an issuer.
    ///
    /// # Errors
    /// Returns a [`CertificateError`] if the issuer's key is an HMAC key, if the public key is not valid, or
    /// if signing fails.
    pub fn issue(
        key_name: &KeyName,
        public_key_der: &[u8],
        issuer: (&Key, Component<'_>),
        version: u64,
        validity: Validity,
    ) -> Result<Certificate, CertificateError> {
        let (issuer, issuer_id) = issuer;
        if issuer.public_key_der().is_none() {
            return Err(CertificateError::Hmac);
        }
        verifier(public_key_der)?;
        let name = key_name.name().to_name().with(issuer_id).with_version(version);
        let (not_before, not_after) = (validity.not_before.text(), validity.not_after.text());
        let mut info = SignatureInfo::new(SignatureType::Null);
        info.validity = Some(ValidityPeriod { not_before: &not_before, not_after: &not_after });
        let mut data = Data::new(name.view(), public_key_der, info);
        data.meta = MetaInfo {
            content_type: Some(ContentType::Key),
            freshness_period: Some(FRESHNESS_MS),
            final_block_id: None,
        };
        let mut wire = Vec::new();
        issuer.sign(&data, &mut wire).map_err(|_| CertificateError::Failed)?;
        Certificate::decode(&wire)
    }

    /// Returns a self-signed certificate of a key. Its version is the given moment, in milliseconds.
    ///
    /// # Errors
    /// Returns a [`CertificateError`] if the key is an HMAC key, or if signing fails.
    pub fn self_signed(key: &Key, now: Moment, validity: Validity) -> Result<Certificate, CertificateError> {
        let public = key.public_key_der().ok_or(CertificateError::Hmac)?;
        Certificate::issue(key.name(), &public, (key, SELF), now.unix_ms(), validity)
    }

    /// Returns the packet.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Returns the packet's parts.
    pub fn data(&self) -> Data<'_> {
        Data::decode(&self.wire).expect("it was decoded when the certificate was made")
    }

    /// Returns its name.
    pub fn name(&self) -> NameRef<'_> {
        self.name.view()
    }

    /// Returns the name of its key.
    pub const fn key_name(&self) -> &KeyName {
        &self.key_name
    }

    /// Returns its validity period.
    pub const fn validity(&self) -> Validity {
        self.validity
    }

    /// Returns the public key: a SubjectPublicKeyInfo in DER.
    pub fn public_key_der(&self) -> &[u8] {
        self.data().payload()
    }

    /// Returns the name in its KeyLocator; `None` if the KeyLocator has no name.
    pub fn key_locator(&self) -> Option<NameRef<'_>> {
        match self.data().signature.info.key_locator {
            Some(KeyLocator::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns whether its KeyLocator names its own key.
    pub fn is_self_signed(&self) -> bool {
        self.key_locator().and_then(KeyName::of_locator).as_ref() == Some(&self.key_name)
    }

    /// Returns the verifier for signatures of its key.
    ///
    /// # Errors
    /// Returns a [`CertificateError`] if the type of its key is not supported.
    pub fn verifier(&self) -> Result<Verifier, CertificateError> {
        verifier(self.public_key_der())
    }
}

/// Returns the verifier for signatures of a public key, a SubjectPublicKeyInfo in DER.
///
/// # Errors
/// Returns a [`CertificateError`] if it is not a public key of Ed25519, ECDSA P-256 or RSA.
pub fn verifier(public_key_der: &[u8]) -> Result<Verifier, CertificateError> {
    // The library also accepts bare points and seeds as keys. Every SubjectPublicKeyInfo is a SEQUENCE.
    if public_key_der.first() != Some(&0x30) {
        return Err(CertificateError::PublicKey);
    }
    Verifier::ecdsa(public_key_der)
        .or_else(|_| Verifier::ed25519(public_key_der))
        .or_else(|_| Verifier::rsa(public_key_der))
        .map_err(|_| CertificateError::PublicKey)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Algorithm;

    const NOW: u64 = 1_795_315_881_501;

    fn validity() -> Validity {
        let now = Moment::from_unix_ms(NOW);
        Validity { not_before: now, not_after: now.plus_days(1) }
    }

    fn key(algorithm: Algorithm) -> Key {
        Key::generate("/alice".parse::<Name>().unwrap().view(), algorithm).unwrap()
    }

    #[test]
    fn a_self_signed_certificate_has_the_format_and_verifies_itself() {
        for algorithm in [Algorithm::Ed25519, Algorithm::Ecdsa] {
            let key = key(algorithm);
            let made = Certificate::self_signed(&key, Moment::from_unix_ms(NOW), validity()).unwrap();
            assert_eq!(made.name().to_string(), format!("{}/self/v={NOW}", key.name()));
            assert_eq!((made.key_name(), made.key_locator()), (key.name(), Some(key.name().name())));
            assert!(made.is_self_signed());
            let data = made.data();
            assert_eq!((data.content_type(), data.freshness_period_ms()), (ContentType::Key, 3_600_000));
            assert_eq!(made.validity().not_after.text(), *b"20261123T025121");
            assert_eq!(made.verifier().unwrap().verify_data(made.wire()), Ok(()));
            assert_eq!(Certificate::decode(made.wire()), Ok(made));
        }
        let now = Moment::from_unix_ms(NOW);
        let refused = Certificate::self_signed(&key(Algorithm::Hmac), now, validity());
        assert_eq!(refused, Err(CertificateError::Hmac));
    }

    #[test]
    fn what_is_no_certificate_is_told_apart() {
        let key = key(Algorithm::Ed25519);
        let made = Certificate::self_signed(&key, Moment::from_unix_ms(NOW), validity()).unwrap();
        let other: Name = "/alice/x".parse().unwrap();
        let with = |change: &dyn Fn(&mut Data<'_>)| {
            let mut data = made.data();
            change(&mut data);
            Certificate::decode(&data.to_vec()).unwrap_err()
        };
        assert_eq!(
            with(&|data| data.meta.content_type = None),
            CertificateError::ContentType(ContentType::Blob)
        );
        assert_eq!(with(&|data| data.signature.info.validity = None), CertificateError::Validity);
        let short = with(&|data| data.name = data.name.prefix(3));
        assert!(matches!(short, CertificateError::Name(name) if name.len() == 3));
        assert!(matches!(Certificate::decode(b"\x06"), Err(CertificateError::Decode(_))));
        assert!(KeyName::of_certificate(other.view()).is_none());
        let mut data = made.data();
        data.content = Some(b"no key");
        let strange = Certificate::decode(&data.to_vec()).unwrap();
        assert_eq!(strange.verifier().err(), Some(CertificateError::PublicKey));
        let bare = key.signer().public_key().unwrap();
        let refused = Certificate::issue(key.name(), bare, (&key, SELF), 1, validity());
        assert_eq!(refused, Err(CertificateError::PublicKey));
    }
}
