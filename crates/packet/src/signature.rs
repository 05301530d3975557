//! Signature fields of Interest and Data (NDN Packet Format v0.3, section "Signature"), as bytes. With the feature
//! `crypto`, `sign` creates and verifies signatures.

use crate::name::NameRef;
use crate::tlv::{
    DecodeError, DecodeErrorKind, Element, Order, element_len, nni_element_len, put_element, put_header,
    put_nni_element, types,
};
use alloc::vec::Vec;

/// Type of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignatureType {
    /// SHA-256 digest: integrity only.
    DigestSha256,
    /// RSA, PKCS #1 v1.5, SHA-256.
    Sha256WithRsa,
    /// ECDSA, SHA-256.
    Sha256WithEcdsa,
    /// HMAC, SHA-256.
    HmacWithSha256,
    /// Ed25519.
    Ed25519,
    /// No signature. By convention the value is 200.
    Null,
    /// Another value.
    Other(u64),
}

impl SignatureType {
    /// Returns the type for a field's value.
    pub const fn from_value(value: u64) -> Self {
        match value {
            0 => Self::DigestSha256,
            1 => Self::Sha256WithRsa,
            3 => Self::Sha256WithEcdsa,
            4 => Self::HmacWithSha256,
            5 => Self::Ed25519,
            200 => Self::Null,
            other => Self::Other(other),
        }
    }

    /// The field's value.
    pub const fn value(self) -> u64 {
        match self {
            Self::DigestSha256 => 0,
            Self::Sha256WithRsa => 1,
            Self::Sha256WithEcdsa => 3,
            Self::HmacWithSha256 => 4,
            Self::Ed25519 => 5,
            Self::Null => 200,
            Self::Other(other) => other,
        }
    }
}

/// Identifies the key of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLocator<'a> {
    /// Name of a key, or of a certificate.
    Name(NameRef<'a>),
    /// Digest of a key.
    KeyDigest(&'a [u8]),
}

impl<'a> KeyLocator<'a> {
    fn decode(element: &Element<'a>) -> Result<Self, DecodeError> {
        let mut reader = element.reader();
        let mut found = None;
        while let Some(inner) = reader.element()? {
            match inner.typ {
                types::NAME if found.is_none() => {
                    found = Some(KeyLocator::Name(NameRef::from_element(&inner)?));
                }
                types::KEY_DIGEST if found.is_none() => found = Some(KeyLocator::KeyDigest(inner.value)),
                _ => inner.ignore()?,
            }
        }
        found.ok_or(DecodeErrorKind::Missing(types::NAME).at(element.value_start))
    }

    /// Length of the value of the KeyLocator element, bytes.
    const fn value_len(&self) -> usize {
        match self {
            KeyLocator::Name(name) => name.wire_len(),
            KeyLocator::KeyDigest(digest) => element_len(types::KEY_DIGEST, digest.len()),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_header(out, types::KEY_LOCATOR, self.value_len());
        match self {
            KeyLocator::Name(name) => name.encode(out),
            KeyLocator::KeyDigest(digest) => put_element(out, types::KEY_DIGEST, digest),
        }
    }
}

/// The period in which a certificate is valid. Both ends are inclusive and written `YYYYMMDDThhmmss`, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidityPeriod<'a> {
    /// First second.
    pub not_before: &'a [u8; 15],
    /// Last second.
    pub not_after: &'a [u8; 15],
}

impl<'a> ValidityPeriod<'a> {
    const VALUE_LEN: usize = element_len(types::NOT_BEFORE, 15) + element_len(types::NOT_AFTER, 15);

    fn decode(element: &Element<'a>) -> Result<Self, DecodeError> {
        let mut reader = element.reader();
        let not_before = reader.expect(types::NOT_BEFORE)?.fixed()?;
        let not_after = reader.expect(types::NOT_AFTER)?.fixed()?;
        while let Some(inner) = reader.element()? {
            inner.ignore()?;
        }
        Ok(ValidityPeriod { not_before, not_after })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_header(out, types::VALIDITY_PERIOD, Self::VALUE_LEN);
        put_element(out, types::NOT_BEFORE, self.not_before);
        put_element(out, types::NOT_AFTER, self.not_after);
    }
}

/// SignatureInfo of a Data, or InterestSignatureInfo of an Interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureInfo<'a> {
    /// Type of the signature.
    pub typ: SignatureType,
    /// Identifies the key.
    pub key_locator: Option<KeyLocator<'a>>,
    /// SignatureNonce (Interests): makes the signature unique.
    pub nonce: Option<&'a [u8]>,
    /// SignatureTime (Interests), milliseconds since the Unix epoch.
    pub time_ms: Option<u64>,
    /// SignatureSeqNum (Interests).
    pub seq_num: Option<u64>,
    /// ValidityPeriod (certificates).
    pub validity: Option<ValidityPeriod<'a>>,
    /// Value of the AdditionalDescription element (certificates), not decoded.
    pub description: Option<&'a [u8]>,
}

impl<'a> SignatureInfo<'a> {
    /// Creates the SignatureInfo of this type without other fields.
    pub const fn new(typ: SignatureType) -> Self {
        SignatureInfo {
            typ,
            key_locator: None,
            nonce: None,
            time_ms: None,
            seq_num: None,
            validity: None,
            description: None,
        }
    }

    /// Returns it with the name of a key.
    #[must_use]
    pub const fn with_key(mut self, name: NameRef<'a>) -> Self {
        self.key_locator = Some(KeyLocator::Name(name));
        self
    }

    /// Reads a SignatureInfo or InterestSignatureInfo from an element. The caller has checked the element's type.
    ///
    /// # Errors
    /// Returns the errors of reading elements and of the fields.
    pub fn decode(element: &Element<'a>) -> Result<Self, DecodeError> {
        let mut reader = element.reader();
        let typ = reader.expect(types::SIGNATURE_TYPE)?.nni()?;
        let mut info = Self::new(SignatureType::from_value(typ));
        let mut order = Order::default();
        while let Some(inner) = reader.element()? {
            match inner.typ {
                types::KEY_LOCATOR if order.admit(1) => info.key_locator = Some(KeyLocator::decode(&inner)?),
                types::SIGNATURE_NONCE if order.admit(2) => info.nonce = Some(inner.value),
                types::SIGNATURE_TIME if order.admit(3) => info.time_ms = Some(inner.nni()?),
                types::SIGNATURE_SEQ_NUM if order.admit(4) => info.seq_num = Some(inner.nni()?),
                types::VALIDITY_PERIOD if order.admit(5) => {
                    info.validity = Some(ValidityPeriod::decode(&inner)?);
                }
                types::ADDITIONAL_DESCRIPTION if order.admit(6) => info.description = Some(inner.value),
                _ => inner.ignore()?,
            }
        }
        Ok(info)
    }

    /// Length of the element's value, bytes.
    pub const fn value_len(&self) -> usize {
        let mut len = nni_element_len(types::SIGNATURE_TYPE, self.typ.value());
        if let Some(locator) = &self.key_locator {
            len += element_len(types::KEY_LOCATOR, locator.value_len());
        }
        if let Some(nonce) = self.nonce {
            len += element_len(types::SIGNATURE_NONCE, nonce.len());
        }
        if let Some(time) = self.time_ms {
            len += nni_element_len(types::SIGNATURE_TIME, time);
        }
        if let Some(seq_num) = self.seq_num {
            len += nni_element_len(types::SIGNATURE_SEQ_NUM, seq_num);
        }
        if self.validity.is_some() {
            len += element_len(types::VALIDITY_PERIOD, ValidityPeriod::VALUE_LEN);
        }
        if let Some(description) = self.description {
            len += element_len(types::ADDITIONAL_DESCRIPTION, description.len());
        }
        len
    }

    pub(crate) fn encode(&self, typ: u32, out: &mut Vec<u8>) {
        put_header(out, typ, self.value_len());
        put_nni_element(out, types::SIGNATURE_TYPE, self.typ.value());
        if let Some(locator) = &self.key_locator {
            locator.encode(out);
        }
        if let Some(nonce) = self.nonce {
            put_element(out, types::SIGNATURE_NONCE, nonce);
        }
        if let Some(time) = self.time_ms {
            put_nni_element(out, types::SIGNATURE_TIME, time);
        }
        if let Some(seq_num) = self.seq_num {
            put_nni_element(out, types::SIGNATURE_SEQ_NUM, seq_num);
        }
        if let Some(validity) = &self.validity {
            validity.encode(out);
        }
        if let Some(description) = self.description {
            put_element(out, types::ADDITIONAL_DESCRIPTION, description);
        }
    }
}

/// A signature: SignatureInfo and the signature's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// SignatureInfo.
    pub info: SignatureInfo<'a>,
    /// SignatureValue.
    pub value: &'a [u8],
}
