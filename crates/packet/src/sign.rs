//! Creation and verification of signatures and digests (feature `crypto`).
//!
//! | SignatureType | sign | verify | key |
//! |---|---|---|---|
//! | DigestSha256 | yes | yes | none |
//! | Sha256WithEcdsa (P-256, ASN.1 DER) | yes | yes | PKCS #8 or SEC 1; public: SubjectPublicKeyInfo DER or X9.62 point |
//! | Ed25519 | yes | yes | PKCS #8 or seed; public: SubjectPublicKeyInfo DER or 32 bytes |
//! | HmacWithSha256 | yes | yes | shared secret |
//! | Sha256WithRsa (PKCS #1 v1.5, 2048 to 8192 bits) | no | yes | SubjectPublicKeyInfo or RSAPublicKey DER |
//! | Null | yes | no | |
//!
//! The signature of a Data covers everything from Name up to SignatureValue. The signature of an Interest covers the
//! name's components without the parameters digest, and everything from ApplicationParameters up to
//! InterestSignatureValue. The parameters digest covers everything from ApplicationParameters on.

use crate::data::Data;
use crate::interest::{Interest, InterestLayout};
use crate::name::{Component, Name, NameRef, component_type};
use crate::signature::{Signature, SignatureInfo, SignatureType};
use crate::tlv::{DecodeError, MAX_PACKET_SIZE, Reader, put_element, put_header, types};
use alloc::boxed::Box;
use alloc::vec::Vec;
use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256,
};
use aws_lc_rs::{digest, hmac};
use core::fmt;

/// Returns the SHA-256 digest of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let digest = digest::digest(&digest::SHA256, bytes);
    for (to, from) in out.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    out
}

/// Incremental SHA-256.
#[derive(Clone)]
pub struct Sha256(digest::Context);

impl Sha256 {
    /// Starts with no input.
    pub fn new() -> Sha256 {
        Sha256(digest::Context::new(&digest::SHA256))
    }

    /// Adds bytes to the input.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far. More bytes may follow.
    pub fn finish(&self) -> [u8; 32] {
        let mut out = [0; 32];
        for (to, from) in out.iter_mut().zip(self.0.clone().finish().as_ref()) {
            *to = *from;
        }
        out
    }
}

impl Default for Sha256 {
    fn default() -> Sha256 {
        Sha256::new()
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256")
    }
}

/// Returns the implicit digest of a Data: SHA-256 of the whole packet `wire`.
pub fn implicit_digest(wire: &[u8]) -> [u8; 32] {
    sha256(wire)
}

/// Returns the full name of a Data: its name with the implicit digest. `wire` is the whole packet.
pub fn full_name(data: &Data<'_>, wire: &[u8]) -> Name {
    data.name.to_name().with(Component::implicit_digest(&implicit_digest(wire)))
}

/// Errors of loading a key or signing a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignError {
    /// The bytes are not a key of the expected kind.
    BadKey,
    /// The cryptographic library failed to sign.
    Failed,
    /// The signed packet would be larger than [`MAX_PACKET_SIZE`].
    TooLarge,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignError::BadKey => f.write_str("not a key of this kind"),
            SignError::Failed => f.write_str("signing failed"),
            SignError::TooLarge => write!(f, "the packet would be larger than {MAX_PACKET_SIZE} bytes"),
        }
    }
}

impl core::error::Error for SignError {}

/// Reasons why the verification of a packet fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyError {
    /// The packet is malformed.
    Decode(DecodeError),
    /// The packet has no signature.
    Unsigned,
    /// The packet's signature type does not fit the key.
    WrongType(SignatureType),
    /// The signature does not match the packet and the key.
    BadSignature,
    /// The parameters digest in the name is absent, repeated or wrong.
    BadParametersDigest,
}

impl From<DecodeError> for VerifyError {
    fn from(error: DecodeError) -> Self {
        VerifyError::Decode(error)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Decode(error) => error.fmt(f),
            VerifyError::Unsigned => f.write_str("the packet is not signed"),
            VerifyError::WrongType(typ) => {
                write!(f, "the packet is signed with {typ:?}, but the key is of another type")
            }
            VerifyError::BadSignature => f.write_str("the signature is wrong"),
            VerifyError::BadParametersDigest => f.write_str("the parameters digest is wrong"),
        }
    }
}

impl core::error::Error for VerifyError {}

enum SigningKey {
    Null,
    Digest,
    Hmac(Box<hmac::Key>),
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// A key for signing packets. Signing with ECDSA draws random numbers from the operating system.
pub struct Signer(SigningKey);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({:?})", self.signature_type())
    }
}

impl Signer {
    /// Creates a signer that writes an empty signature (SignatureType Null).
    pub const fn null() -> Self {
        Signer(SigningKey::Null)
    }

    /// Creates a signer that writes a SHA-256 digest.
    pub const fn digest() -> Self {
        Signer(SigningKey::Digest)
    }

    /// Creates a signer for HMAC with a shared secret.
    pub fn hmac(secret: &[u8]) -> Self {
        Signer(SigningKey::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret))))
    }

    /// Loads an ECDSA P-256 private key in PKCS #8.
    pub fn ecdsa_from_pkcs8(pkcs8: &[u8]) -> Result<Self, SignError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8);
        Ok(Signer(SigningKey::Ecdsa(pair.map_err(|_| SignError::BadKey)?)))
    }

    /// Loads an ECDSA P-256 private key in the form ECPrivateKey, DER (SEC 1, RFC 5915).
    pub fn ecdsa_from_sec1(der: &[u8]) -> Result<Self, SignError> {
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, der);
        Ok(Signer(SigningKey::Ecdsa(pair.map_err(|_| SignError::BadKey)?)))
    }

    /// Generates an ECDSA P-256 key.
    pub fn generate_ecdsa() -> Result<Self, SignError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING);
        Ok(Signer(SigningKey::Ecdsa(pair.map_err(|_| SignError::Failed)?)))
    }

    /// Loads an Ed25519 private key in PKCS #8, version 1 or 2.
    pub fn ed25519_from_pkcs8(pkcs8: &[u8]) -> Result<Self, SignError> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8);
        Ok(Signer(SigningKey::Ed25519(pair.map_err(|_| SignError::BadKey)?)))
    }

    /// Creates an Ed25519 private key from its 32-byte seed.
    pub fn ed25519_from_seed(seed: &[u8; 32]) -> Result<Self, SignError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        Ok(Signer(SigningKey::Ed25519(pair.map_err(|_| SignError::BadKey)?)))
    }

    /// Generates an Ed25519 key.
    pub fn generate_ed25519() -> Result<Self, SignError> {
        let pair = Ed25519KeyPair::generate();
        Ok(Signer(SigningKey::Ed25519(pair.map_err(|_| SignError::Failed)?)))
    }

    /// The signature type of the signed packets.
    pub const fn signature_type(&self) -> SignatureType {
        match self.0 {
            SigningKey::Null => SignatureType::Null,
            SigningKey::Digest => SignatureType::DigestSha256,
            SigningKey::Hmac(_) => SignatureType::HmacWithSha256,
            SigningKey::Ecdsa(_) => SignatureType::Sha256WithEcdsa,
            SigningKey::Ed25519(_) => SignatureType::Ed25519,
        }
    }

    /// The private key in PKCS #8, if there is one. The version is 1, because more libraries read it than version 2.
    pub fn to_pkcs8(&self) -> Option<Vec<u8>> {
        let document = match &self.0 {
            SigningKey::Ecdsa(pair) => pair.to_pkcs8v1().ok()?,
            SigningKey::Ed25519(pair) => pair.to_pkcs8v1().ok()?,
            _ => return None,
        };
        Some(document.as_ref().to_vec())
    }

    /// The ECDSA private key as ECPrivateKey with its curve, DER (SEC 1, RFC 5915); `None` for other keys.
    pub fn to_sec1(&self) -> Option<Vec<u8>> {
        let SigningKey::Ecdsa(pair) = &self.0 else { return None };
        let der: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().ok()?;
        Some(der.as_ref().to_vec())
    }

    /// The public key as SubjectPublicKeyInfo in DER, as in certificates; `None` if there is no public key.
    pub fn public_key_der(&self) -> Option<Vec<u8>> {
        let der = match &self.0 {
            SigningKey::Ecdsa(pair) => pair.public_key().as_der().ok()?,
            SigningKey::Ed25519(pair) => pair.public_key().as_der().ok()?,
            _ => return None,
        };
        Some(der.as_ref().to_vec())
    }

    /// The public key, if there is one: an X9.62 point for ECDSA, 32 bytes for Ed25519.
    pub fn public_key(&self) -> Option<&[u8]> {
        match &self.0 {
            SigningKey::Ecdsa(pair) => Some(pair.public_key().as_ref()),
            SigningKey::Ed25519(pair) => Some(pair.public_key().as_ref()),
            _ => None,
        }
    }

    /// Returns the signature of `message`.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(match &self.0 {
            SigningKey::Null => Vec::new(),
            SigningKey::Digest => sha256(message).to_vec(),
            SigningKey::Hmac(key) => hmac::sign(key, message).as_ref().to_vec(),
            SigningKey::Ecdsa(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message);
                signature.map_err(|_| SignError::Failed)?.as_ref().to_vec()
            }
            SigningKey::Ed25519(pair) => {
                pair.try_sign(message).map_err(|_| SignError::Failed)?.as_ref().to_vec()
            }
        })
    }
}

/// Appends to `out` an element of type `typ` whose value `fill` writes. On an error, removes it again.
fn put_packet(
    out: &mut Vec<u8>,
    typ: u32,
    fill: impl FnOnce(&mut Vec<u8>, usize) -> Result<(), SignError>,
) -> Result<(), SignError> {
    let start = out.len();
    let mut result = fill(out, start);
    let mut header = Vec::with_capacity(4);
    put_header(&mut header, typ, out.len() - start);
    if result.is_ok() && out.len() - start + header.len() > MAX_PACKET_SIZE {
        result = Err(SignError::TooLarge);
    }
    match result {
        Ok(()) => drop(out.splice(start..start, header)),
        Err(_) => out.truncate(start),
    }
    result
}

impl Data<'_> {
    /// Signs the Data and appends the packet to `out`. The signer sets the signature type; the other fields of the
    /// signature info stay.
    pub fn sign(&self, signer: &Signer, out: &mut Vec<u8>) -> Result<(), SignError> {
        let mut data = *self;
        data.signature.info.typ = signer.signature_type();
        put_packet(out, types::DATA, |out, start| {
            data.encode_signed_portion(out);
            let value = signer.sign(out.get(start..).unwrap_or_default())?;
            put_element(out, types::SIGNATURE_VALUE, &value);
            Ok(())
        })
    }
}

/// Copies a name with `digest` as its parameters digest. It replaces an old digest or is appended.
fn with_parameters_digest(name: NameRef<'_>, digest: &[u8; 32]) -> Name {
    let new = Component::parameters_digest(digest);
    let mut placed = false;
    let mut copy = Name::new();
    for component in name.components() {
        if component.typ != component_type::PARAMETERS_SHA256_DIGEST {
            copy.push(component);
        } else if !placed {
            placed = copy.push(new);
        }
    }
    if placed { copy } else { copy.with(new) }
}

/// Appends the part of an Interest's name that its signature covers.
fn put_signed_name(name: NameRef<'_>, out: &mut Vec<u8>) {
    let is_digest = |c: &Component<'_>| c.typ == component_type::PARAMETERS_SHA256_DIGEST;
    name.components().filter(|component| !is_digest(component)).for_each(|component| component.encode(out));
}

impl Interest<'_> {
    /// Appends the packet with the correct parameters digest in its name. An Interest without parameters and signature
    /// is written unchanged.
    pub fn encode_with_parameters_digest(&self, out: &mut Vec<u8>) -> Result<(), SignError> {
        let Some(parameters) = self.application_parameters else {
            self.encode(out);
            return Ok(());
        };
        let mut covered = Vec::new();
        put_element(&mut covered, types::APPLICATION_PARAMETERS, parameters);
        if let Some(signature) = &self.signature {
            signature.info.encode(types::INTEREST_SIGNATURE_INFO, &mut covered);
            put_element(&mut covered, types::INTEREST_SIGNATURE_VALUE, signature.value);
        }
        let name = with_parameters_digest(self.name, &sha256(&covered));
        let interest = Interest { name: name.view(), ..*self };
        if interest.wire_len() > MAX_PACKET_SIZE {
            return Err(SignError::TooLarge);
        }
        interest.encode(out);
        Ok(())
    }

    /// Signs the Interest and appends the packet to `out`, with the parameters digest in its name. Absent parameters
    /// become empty ones. The signer sets the type in `info`. To prevent replay, `info` should have a nonce, a time or
    /// a sequence number.
    pub fn sign(
        &self,
        signer: &Signer,
        mut info: SignatureInfo<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SignError> {
        info.typ = signer.signature_type();
        let parameters = self.application_parameters.unwrap_or_default();
        let mut covered = Vec::new();
        put_signed_name(self.name, &mut covered);
        put_element(&mut covered, types::APPLICATION_PARAMETERS, parameters);
        info.encode(types::INTEREST_SIGNATURE_INFO, &mut covered);
        let value = signer.sign(&covered)?;
        let signature = Some(Signature { info, value: &value });
        let signed = Interest { application_parameters: Some(parameters), signature, ..*self };
        signed.encode_with_parameters_digest(out)
    }
}

/// Returns whether an Interest's parameters match the single digest in its name, or both are absent. `interest` and
/// `layout` must be decoded from `wire`.
pub fn parameters_digest_is_valid(interest: &Interest<'_>, layout: &InterestLayout, wire: &[u8]) -> bool {
    let covered = layout.parameters.clone().and_then(|range| wire.get(range));
    interest.parameters_are_consistent()
        && match (covered, interest.parameters_digest()) {
            (Some(covered), Some(digest)) => sha256(covered) == *digest,
            (None, None) => true,
            _ => false,
        }
}

enum VerifyingKey {
    Digest,
    Hmac(Box<hmac::Key>),
    Public(SignatureType, ParsedPublicKey),
}

/// A key for verifying packets.
pub struct Verifier(VerifyingKey);

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({:?})", self.signature_type())
    }
}

impl Verifier {
    /// Creates a verifier of SHA-256 digests. These show integrity only.
    pub const fn digest() -> Self {
        Verifier(VerifyingKey::Digest)
    }

    /// Creates a verifier for HMAC with a shared secret.
    pub fn hmac(secret: &[u8]) -> Self {
        Verifier(VerifyingKey::Hmac(Box::new(hmac::Key::new(hmac::HMAC_SHA256, secret))))
    }

    /// Loads an ECDSA P-256 public key, as SubjectPublicKeyInfo in DER or as X9.62 point.
    pub fn ecdsa(public: &[u8]) -> Result<Self, SignError> {
        let key = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, public);
        Self::public(SignatureType::Sha256WithEcdsa, key)
    }

    /// Loads an Ed25519 public key, as SubjectPublicKeyInfo in DER or as 32 bytes.
    pub fn ed25519(public: &[u8]) -> Result<Self, SignError> {
        Self::public(SignatureType::Ed25519, ParsedPublicKey::new(&ED25519, public))
    }

    /// Loads an RSA public key of 2048 to 8192 bits, as SubjectPublicKeyInfo or RSAPublicKey in DER.
    pub fn rsa(public: &[u8]) -> Result<Self, SignError> {
        let key = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
        Self::public(SignatureType::Sha256WithRsa, key)
    }

    fn public<E>(typ: SignatureType, key: Result<ParsedPublicKey, E>) -> Result<Self, SignError> {
        Ok(Verifier(VerifyingKey::Public(typ, key.map_err(|_| SignError::BadKey)?)))
    }

    /// The signature type that packets must have.
    pub const fn signature_type(&self) -> SignatureType {
        match &self.0 {
            VerifyingKey::Digest => SignatureType::DigestSha256,
            VerifyingKey::Hmac(_) => SignatureType::HmacWithSha256,
            VerifyingKey::Public(typ, _) => *typ,
        }
    }

    /// A value that identifies this key and does not reveal a secret.
    pub fn fingerprint(&self) -> [u8; 32] {
        match &self.0 {
            VerifyingKey::Digest => sha256(b""),
            // An HMAC of a fixed message is as public as a signature.
            VerifyingKey::Hmac(key) => {
                let tag = hmac::sign(key, b"weir: which key this is");
                sha256(tag.as_ref())
            }
            VerifyingKey::Public(_, key) => sha256(key.as_ref()),
        }
    }

    /// Verifies a signature of `message`.
    pub fn verify(&self, message: &[u8], signature: &Signature<'_>) -> Result<(), VerifyError> {
        if signature.info.typ != self.signature_type() {
            return Err(VerifyError::WrongType(signature.info.typ));
        }
        let valid = match &self.0 {
            VerifyingKey::Digest => sha256(message) == signature.value,
            VerifyingKey::Hmac(key) => hmac::verify(key, message, signature.value).is_ok(),
            VerifyingKey::Public(_, key) => key.verify_sig(message, signature.value).is_ok(),
        };
        if valid { Ok(()) } else { Err(VerifyError::BadSignature) }
    }

    /// Verifies a Data packet.
    pub fn verify_data(&self, wire: &[u8]) -> Result<(), VerifyError> {
        let (data, layout) = Data::decode_with_layout(wire)?;
        let message = wire.get(layout.signed).ok_or(VerifyError::BadSignature)?;
        self.verify(message, &data.signature)
    }

    /// Verifies a command Interest of the older format. Its name's last two components hold SignatureInfo and
    /// SignatureValue; the signature covers all components except the last.
    pub fn verify_command_interest(&self, wire: &[u8]) -> Result<(), VerifyError> {
        let interest = Interest::decode(wire)?;
        let len = interest.name.len();
        let mut last_two = interest.name.components().skip(len.saturating_sub(2));
        let (Some(info), Some(value)) = (last_two.next(), last_two.next()) else {
            return Err(VerifyError::Unsigned);
        };
        let info = Reader::new(info.value).expect(types::SIGNATURE_INFO);
        let value = Reader::new(value.value).expect(types::SIGNATURE_VALUE);
        let (Ok(info), Ok(value)) = (info, value) else { return Err(VerifyError::Unsigned) };
        let signature = Signature { info: SignatureInfo::decode(&info)?, value: value.value };
        self.verify(interest.name.parent().value(), &signature)
    }

    /// Verifies a signed Interest packet and its parameters digest.
    pub fn verify_interest(&self, wire: &[u8]) -> Result<(), VerifyError> {
        let (interest, layout) = Interest::decode_with_layout(wire)?;
        let signature = interest.signature.as_ref().ok_or(VerifyError::Unsigned)?;
        let covered = layout.signed.clone().and_then(|range| wire.get(range)).ok_or(VerifyError::Unsigned)?;
        if !parameters_digest_is_valid(&interest, &layout, wire) {
            return Err(VerifyError::BadParametersDigest);
        }
        let mut message = Vec::with_capacity(interest.name.value().len() + covered.len());
        put_signed_name(interest.name, &mut message);
        message.extend_from_slice(covered);
        self.verify(&message, signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rsa;
    use aws_lc_rs::signature::RSA_PKCS1_SHA256;

    fn name(uri: &str) -> Name {
        uri.parse().unwrap()
    }

    fn signers() -> [(Signer, Verifier); 4] {
        let ecdsa = Signer::generate_ecdsa().unwrap();
        let ecdsa_public = Verifier::ecdsa(ecdsa.public_key().unwrap()).unwrap();
        let ed25519 = Signer::generate_ed25519().unwrap();
        let ed25519_public = Verifier::ed25519(ed25519.public_key().unwrap()).unwrap();
        [
            (Signer::digest(), Verifier::digest()),
            (Signer::hmac(b"secret"), Verifier::hmac(b"secret")),
            (ecdsa, ecdsa_public),
            (ed25519, ed25519_public),
        ]
    }

    #[test]
    fn fingerprints_tell_keys_apart_and_no_secret() {
        let keys = [Verifier::digest(), Verifier::hmac(b"one"), Verifier::hmac(b"two")];
        let keys = keys.into_iter().chain(signers().map(|(_, verifier)| verifier));
        let mut prints: Vec<[u8; 32]> = keys.map(|key| key.fingerprint()).collect();
        assert_eq!(prints[0], Verifier::digest().fingerprint());
        assert_eq!(prints[1], Verifier::hmac(b"one").fingerprint());
        assert!(prints[1] != sha256(b"one"), "it is of no use without the secret");
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), 6, "the digest is there twice");
    }

    #[test]
    fn sha256_of_the_empty_message_is_the_published_one() {
        let digest = sha256(b"");
        assert_eq!(digest[..4], [0xE3, 0xB0, 0xC4, 0x42]);
        assert_eq!(digest[28..], [0x78, 0x52, 0xB8, 0x55]);
        let mut pieces = Sha256::new();
        assert_eq!(pieces.finish(), digest);
        pieces.update(b"a");
        assert_eq!(pieces.finish(), sha256(b"a"));
        pieces.update(b"bc");
        assert_eq!(pieces.finish(), sha256(b"abc"));
    }

    #[test]
    fn a_signed_data_verifies_and_any_flipped_bit_of_it_does_not() {
        let name = name("/a/b/seg=1");
        let key = name.view().parent();
        for (signer, verifier) in signers() {
            let info = SignatureInfo::new(SignatureType::Null).with_key(key);
            let mut wire = alloc::vec![0xAA];
            Data::new(name.view(), b"content", info).sign(&signer, &mut wire).unwrap();
            assert_eq!(wire.remove(0), 0xAA, "what was there stays");
            assert_eq!(verifier.verify_data(&wire), Ok(()));
            let data = Data::decode(&wire).unwrap();
            assert_eq!((data.payload(), data.signature.info.typ), (&b"content"[..], signer.signature_type()));
            assert_eq!(data.wire_len(), wire.len());
            for bit in 0..wire.len() * 8 {
                let mut bad = wire.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(verifier.verify_data(&bad).is_err(), "bit {bit}, {signer:?}");
            }
            assert_eq!(full_name(&data, &wire).len(), 4);
        }
    }

    #[test]
    fn a_signed_interest_verifies_and_any_flipped_bit_of_name_or_parameters_does_not() {
        let name = name("/localhost/nfd/rib/register");
        for (signer, verifier) in signers() {
            let mut info = SignatureInfo::new(SignatureType::Null);
            info.nonce = Some(b"12345678");
            info.time_ms = Some(1_795_253_334_510);
            let mut interest = Interest::new(name.view());
            interest.nonce = Some(7);
            let mut wire = Vec::new();
            interest.sign(&signer, info, &mut wire).unwrap();
            assert_eq!(verifier.verify_interest(&wire), Ok(()));
            let (decoded, layout) = Interest::decode_with_layout(&wire).unwrap();
            assert_eq!(decoded.name.prefix(4), name);
            let digest = decoded.parameters_digest().unwrap();
            assert_eq!(*digest, sha256(&wire[layout.parameters.clone().unwrap()]));
            // A forwarder may change the nonce.
            let mut other = wire.clone();
            other[layout.nonce.unwrap()] ^= 1;
            assert_eq!(verifier.verify_interest(&other), Ok(()));
            for bit in 0..wire.len() * 8 {
                // The whole Nonce element is left out: with another type it may be an element to ignore.
                if layout.nonce.is_some_and(|nonce| (nonce - 2..nonce + 4).contains(&(bit / 8))) {
                    continue;
                }
                let mut bad = wire.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(verifier.verify_interest(&bad).is_err(), "bit {bit}, {signer:?}");
            }
            // Signing a received Interest again replaces the digest and the signature.
            let mut again = Vec::new();
            decoded.sign(&Signer::digest(), info, &mut again).unwrap();
            assert_eq!(Interest::decode(&again).unwrap().name.len(), 5);
            assert_eq!(Verifier::digest().verify_interest(&again), Ok(()));
        }
    }

    #[test]
    fn a_packet_signed_in_another_way_is_told_apart_from_a_forged_one() {
        let name = name("/a");
        let mut wire = Vec::new();
        let data = Data::new(name.view(), b"", SignatureInfo::new(SignatureType::Null));
        data.sign(&Signer::hmac(b"one"), &mut wire).unwrap();
        let wrong_type = VerifyError::WrongType(SignatureType::HmacWithSha256);
        assert_eq!(Verifier::digest().verify_data(&wire), Err(wrong_type));
        assert_eq!(Verifier::hmac(b"two").verify_data(&wire), Err(VerifyError::BadSignature));
        let interest = Interest::new(name.view()).to_vec();
        assert_eq!(Verifier::digest().verify_interest(&interest), Err(VerifyError::Unsigned));
        let mut interest = Interest::new(name.view());
        interest.application_parameters = Some(b"x");
        let wire = interest.to_vec();
        let (decoded, layout) = Interest::decode_with_layout(&wire).unwrap();
        assert!(!parameters_digest_is_valid(&decoded, &layout, &wire));
        let mut wire = Vec::new();
        interest.encode_with_parameters_digest(&mut wire).unwrap();
        let (decoded, layout) = Interest::decode_with_layout(&wire).unwrap();
        assert!(parameters_digest_is_valid(&decoded, &layout, &wire));
    }

    #[test]
    fn private_keys_survive_export() {
        for signer in [Signer::generate_ecdsa().unwrap(), Signer::generate_ed25519().unwrap()] {
            let pkcs8 = signer.to_pkcs8().unwrap();
            let again = match signer.signature_type() {
                SignatureType::Ed25519 => Signer::ed25519_from_pkcs8(&pkcs8),
                _ => Signer::ecdsa_from_pkcs8(&pkcs8),
            };
            assert_eq!(again.unwrap().public_key(), signer.public_key());
            let der = signer.public_key_der().unwrap();
            assert!(der.ends_with(signer.public_key().unwrap()));
            let mut wire = Vec::new();
            let data = Data::new(NameRef::ROOT, b"x", SignatureInfo::new(SignatureType::Null));
            data.sign(&signer, &mut wire).unwrap();
            let verifier = match signer.signature_type() {
                SignatureType::Ed25519 => Verifier::ed25519(&der),
                _ => Verifier::ecdsa(&der),
            };
            assert_eq!(verifier.unwrap().verify_data(&wire), Ok(()));
        }
        let signer = Signer::generate_ecdsa().unwrap();
        let again = Signer::ecdsa_from_sec1(&signer.to_sec1().unwrap()).unwrap();
        assert_eq!(again.public_key(), signer.public_key());
        assert!(Signer::ecdsa_from_sec1(b"no key").is_err());
        assert_eq!((Signer::hmac(b"x").to_sec1(), Signer::digest().public_key_der()), (None, None));
        assert!(Signer::ecdsa_from_pkcs8(b"no key").is_err());
        assert!(Verifier::rsa(b"no key").is_err());
        // RFC 8032, section 7.1, test 1.
        let seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        let seed: Vec<u8> =
            (0..32).map(|i| u8::from_str_radix(&seed[2 * i..2 * i + 2], 16).unwrap()).collect();
        let signer = Signer::ed25519_from_seed(seed.as_slice().try_into().unwrap()).unwrap();
        assert_eq!(signer.public_key().unwrap()[..4], [0xd7, 0x5a, 0x98, 0x01]);
        assert_eq!(signer.sign(b"").unwrap()[..4], [0xe5, 0x56, 0x43, 0x00]);
    }

    #[test]
    fn an_rsa_signature_verifies() {
        let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
        let name = name("/a");
        let mut data = Data::new(name.view(), b"x", SignatureInfo::new(SignatureType::Sha256WithRsa));
        let mut message = Vec::new();
        data.encode_signed_portion(&mut message);
        let mut value = alloc::vec![0; pair.public_modulus_len()];
        pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), &message, &mut value).unwrap();
        data.signature.value = &value;
        let verifier = Verifier::rsa(pair.public_key().as_ref()).unwrap();
        assert_eq!(verifier.verify_data(&data.to_vec()), Ok(()));
        data.content = Some(b"y");
        assert_eq!(verifier.verify_data(&data.to_vec()), Err(VerifyError::BadSignature));
    }

    #[test]
    fn a_packet_too_large_is_not_made() {
        let name = name("/a");
        let content = alloc::vec![0; MAX_PACKET_SIZE];
        let mut out = alloc::vec![1, 2];
        let data = Data::new(name.view(), &content, SignatureInfo::new(SignatureType::Null));
        assert_eq!(data.sign(&Signer::digest(), &mut out), Err(SignError::TooLarge));
        assert_eq!(out, [1, 2]);
    }
}
