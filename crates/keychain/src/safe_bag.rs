//! SafeBag: a certificate with its private key under a passphrase, in the format of ndn-cxx's `ndnsec
//! export`.
//!
//! ```text
//! SafeBag      = 128 LENGTH Data EncryptedKey
//! EncryptedKey = 129 LENGTH EncryptedPrivateKeyInfo      PKCS #8, in DER
//! ```
//!
//! The private key is encrypted by PBES2 (RFC 8018) with PBKDF2 and AES in CBC mode.

use std::fmt;
use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_256, Algorithm as Cipher, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use pkcs8::der::asn1::OctetStringRef;
use pkcs8::der::{Decode, Encode};
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{self, Pbkdf2Params, Pbkdf2Prf};
use pkcs8::{EncryptedPrivateKeyInfo, EncryptedPrivateKeyInfoRef};
use weir_packet::tlv::{Reader, put_element, types};
use weir_packet::{DecodeError, DecodeErrorKind};
use zeroize::Zeroizing;

use crate::certificate::{Certificate, CertificateError};
use crate::key::{Key, fill_random};

/// The TLV-TYPE of a SafeBag.
pub const SAFE_BAG: u32 = 128;
/// The TLV-TYPE of the private key in it.
const ENCRYPTED_KEY: u32 = 129;

/// The iterations of PBKDF2 for new SafeBags: OWASP's recommendation for HMAC-SHA256. ndn-cxx has 2048.
const ITERATIONS: u32 = 600_000;
/// The largest number of iterations to open a SafeBag. They take some seconds, so that a malicious file
/// cannot block the program for hours.
const MAX_ITERATIONS: u32 = 10_000_000;
const SALT_LEN: usize = 16;
const BLOCK_LEN: usize = 16;

/// The reason why a SafeBag cannot be made, read or opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SafeBagError {
    /// It does not have the format.
    Decode(DecodeError),
    /// Its certificate is not valid.
    Certificate(CertificateError),
    /// Its private key is not an EncryptedPrivateKeyInfo of PKCS #8.
    NotEncryptedKey,
    /// Its private key is not encrypted by PBES2 with PBKDF2 and AES-128 or AES-256 in CBC mode.
    Unsupported,
    /// It requires this many iterations of PBKDF2, which is more than allowed.
    TooManyIterations(u32),
    /// The passphrase is wrong, or the decrypted bytes are not a private key of Ed25519 or ECDSA P-256.
    WrongPassphrase,
    /// Its private key is not that of its certificate.
    OtherKey,
    /// An HMAC key has no certificate.
    Hmac,
    /// The library could not encrypt.
    Failed,
}

impl fmt::Display for SafeBagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SafeBagError::Decode(error) => write!(f, "it is not a SafeBag: {error}"),
            SafeBagError::Certificate(error) => write!(f, "its certificate is not valid: {error}"),
            SafeBagError::NotEncryptedKey => f.write_str("its private key is not in encrypted PKCS #8"),
            SafeBagError::Unsupported => f.write_str(
                "its private key is encrypted in a way that is not supported: wanted PBES2 with PBKDF2 and AES-CBC, \
                 as in ndn-cxx and OpenSSL by default",
            ),
            SafeBagError::TooManyIterations(count) => {
                write!(f, "its passphrase needs {count} iterations: at most {MAX_ITERATIONS} are supported")
            }
            SafeBagError::WrongPassphrase => {
                f.write_str("the passphrase is wrong, or the key is neither Ed25519 nor ECDSA P-256")
            }
            SafeBagError::OtherKey => f.write_str("its private key does not belong to its certificate"),
            SafeBagError::Hmac => f.write_str("an HMAC key has no certificate, which a SafeBag needs"),
            SafeBagError::Failed => f.write_str("it could not be encrypted"),
        }
    }
}

impl std::error::Error for SafeBagError {}

/// A certificate and its encrypted private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafeBag {
    certificate: Certificate,
    encrypted_key: Vec<u8>,
}

impl SafeBag {
    /// Encrypts the private key of a certificate.
    ///
    /// # Errors
    /// Returns a [`SafeBagError`] if the certificate belongs to another key, or if the library fails.
    pub fn seal(key: &Key, certificate: &Certificate, passphrase: &[u8]) -> Result<SafeBag, SafeBagError> {
        let public = key.public_key_der().ok_or(SafeBagError::Hmac)?;
        if certificate.key_name() != key.name() || certificate.public_key_der() != public {
            return Err(SafeBagError::OtherKey);
        }
        let (mut salt, mut iv) = ([0; SALT_LEN], [0; BLOCK_LEN]);
        fill_random(&mut salt).map_err(|_| SafeBagError::Failed)?;
        fill_random(&mut iv).map_err(|_| SafeBagError::Failed)?;
        let encrypted_key =
            encrypt(key.secret().expose(), passphrase, &salt, iv).ok_or(SafeBagError::Failed)?;
        Ok(SafeBag { certificate: certificate.clone(), encrypted_key })
    }

    /// Parses a SafeBag without decrypting it.
    ///
    /// # Errors
    /// Returns a [`SafeBagError`] if it does not have the format.
    pub fn decode(wire: &[u8]) -> Result<SafeBag, SafeBagError> {
        let mut outer = Reader::new(wire);
        let bag = outer.expect(SAFE_BAG).map_err(SafeBagError::Decode)?;
        outer.finish().map_err(SafeBagError::Decode)?;
        let mut parts = bag.reader();
        let data = parts.expect(types::DATA).map_err(SafeBagError::Decode)?;
        let encrypted = parts.expect(ENCRYPTED_KEY).map_err(SafeBagError::Decode)?;
        parts.finish().map_err(SafeBagError::Decode)?;
        let beyond = SafeBagError::Decode(DecodeErrorKind::Truncated.at(data.start));
        let data = wire.get(data.start..data.end()).ok_or(beyond)?;
        let certificate = Certificate::decode(data).map_err(SafeBagError::Certificate)?;
        Ok(SafeBag { certificate, encrypted_key: encrypted.value.to_vec() })
    }

    /// Returns the bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut value = self.certificate.wire().to_vec();
        put_element(&mut value, ENCRYPTED_KEY, &self.encrypted_key);
        let mut wire = Vec::with_capacity(value.len() + 6);
        put_element(&mut wire, SAFE_BAG, &value);
        wire
    }

    /// Returns its certificate.
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns the iterations of PBKDF2 that are needed to open it.
    ///
    /// # Errors
    /// Returns a [`SafeBagError`] if its encryption is not supported.
    pub fn iterations(&self) -> Result<u32, SafeBagError> {
        scheme(&self.encrypted_key).map(|(_, kdf, _)| kdf.iteration_count)
    }

    /// Decrypts the private key.
    ///
    /// # Errors
    /// Returns a [`SafeBagError`] if the passphrase is wrong, if the encryption is not supported, or if the
    /// certificate belongs to another key.
    pub fn open(&self, passphrase: &[u8]) -> Result<Key, SafeBagError> {
        let pkcs8 = decrypt(&self.encrypted_key, passphrase)?;
        let name = self.certificate.key_name().clone();
        let key = Key::from_pkcs8(name, &pkcs8).map_err(|_| SafeBagError::WrongPassphrase)?;
        let is_its = key.public_key_der().as_deref() == Some(self.certificate.public_key_der());
        if is_its { Ok(key) } else { Err(SafeBagError::OtherKey) }
    }
}

fn encrypt(pkcs8: &[u8], passphrase: &[u8], salt: &[u8], iv: [u8; BLOCK_LEN]) -> Option<Vec<u8>> {
    let scheme = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(ITERATIONS, salt, iv).ok()?;
    let derived = derive(&Pbkdf2Params::hmac_sha256(ITERATIONS, salt).ok()?, passphrase, &AES_256).ok()?;
    let key = UnboundCipherKey::new(&AES_256, &derived).ok()?;
    let mut encrypted = pkcs8.to_vec();
    let context = EncryptionContext::Iv128(FixedLength::from(iv));
    PaddedBlockEncryptingKey::cbc_pkcs7(key).ok()?.less_safe_encrypt(&mut encrypted, context).ok()?;
    let encrypted_data = OctetStringRef::new(&encrypted).ok()?;
    EncryptedPrivateKeyInfo { encryption_algorithm: scheme.into(), encrypted_data }.to_der().ok()
}

fn decrypt(encrypted_key: &[u8], passphrase: &[u8]) -> Result<Zeroizing<Vec<u8>>, SafeBagError> {
    let (data, kdf, encryption) = scheme(encrypted_key)?;
    let (cipher, iv) = match encryption {
        pbes2::EncryptionScheme::Aes128Cbc { iv } => (&AES_128, iv),
        pbes2::EncryptionScheme::Aes256Cbc { iv } => (&AES_256, iv),
        _ => return Err(SafeBagError::Unsupported),
    };
    if kdf.iteration_count > MAX_ITERATIONS {
        return Err(SafeBagError::TooManyIterations(kdf.iteration_count));
    }
    let derived = derive(&kdf, passphrase, cipher)?;
    let key = UnboundCipherKey::new(cipher, &derived).and_then(PaddedBlockDecryptingKey::cbc_pkcs7);
    let key = key.map_err(|_| SafeBagError::Failed)?;
    let mut buffer = Zeroizing::new(data.to_vec());
    let context = DecryptionContext::Iv128(FixedLength::from(iv));
    let plain = key.decrypt(&mut buffer, context).map_err(|_| SafeBagError::WrongPassphrase)?;
    Ok(Zeroizing::new(plain.to_vec()))
}

/// Returns the encrypted bytes, and the parameters of the encryption.
fn scheme(encrypted_key: &[u8]) -> Result<(&[u8], Pbkdf2Params, pbes2::EncryptionScheme), SafeBagError> {
    let info = EncryptedPrivateKeyInfoRef::from_der(encrypted_key);
    let info = info.map_err(|_| SafeBagError::NotEncryptedKey)?;
    let EncryptionScheme::Pbes2(parameters) = info.encryption_algorithm else {
        return Err(SafeBagError::Unsupported);
    };
    let kdf = parameters.kdf.pbkdf2().cloned().ok_or(SafeBagError::Unsupported)?;
    Ok((info.encrypted_data.as_bytes(), kdf, parameters.encryption))
}

fn derive(
    kdf: &Pbkdf2Params,
    passphrase: &[u8],
    cipher: &Cipher,
) -> Result<Zeroizing<Vec<u8>>, SafeBagError> {
    let function = match kdf.prf {
        Pbkdf2Prf::HmacWithSha1 => pbkdf2::PBKDF2_HMAC_SHA1,
        Pbkdf2Prf::HmacWithSha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Pbkdf2Prf::HmacWithSha384 => pbkdf2::PBKDF2_HMAC_SHA384,
        Pbkdf2Prf::HmacWithSha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        _ => return Err(SafeBagError::Unsupported),
    };
    let key_len = if core::ptr::eq(cipher, &AES_128) { 16 } else { 32 };
    if kdf.key_length.is_some_and(|length| usize::from(length) != key_len) {
        return Err(SafeBagError::Unsupported);
    }
    let iterations = NonZeroU32::new(kdf.iteration_count).ok_or(SafeBagError::Unsupported)?;
    let mut derived = Zeroizing::new(vec![0; key_len]);
    pbkdf2::derive(function, iterations, kdf.salt.as_bytes(), passphrase, &mut derived);
    Ok(derived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Algorithm;
    use crate::time::{Moment, Validity};
    use weir_packet::Name;

    /// More iterations than are allowed, and not more than the library writes.
    const ENDLESS: u32 = MAX_ITERATIONS + 1;

    fn pair(algorithm: Algorithm) -> (Key, Certificate) {
        let key = Key::generate("/alice".parse::<Name>().unwrap().view(), algorithm).unwrap();
        let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
        let certificate = Certificate::self_signed(&key, Moment::EPOCH, validity).unwrap();
        (key, certificate)
    }

    #[test]
    fn a_sealed_key_opens_with_its_passphrase_alone() {
        for algorithm in [Algorithm::Ed25519, Algorithm::Ecdsa] {
            let (key, certificate) = pair(algorithm);
            let bag = SafeBag::seal(&key, &certificate, b"open sesame").unwrap();
            assert_eq!(bag.iterations(), Ok(600_000));
            let again = SafeBag::decode(&bag.encode()).unwrap();
            assert_eq!((&again, again.certificate()), (&bag, &certificate));
            let opened = again.open(b"open sesame").unwrap();
            assert_eq!(opened.secret().expose(), key.secret().expose());
            assert_eq!(again.open(b"open").err(), Some(SafeBagError::WrongPassphrase));
        }
    }

    #[test]
    fn a_certificate_of_another_key_is_not_sealed_and_does_not_open() {
        let [(key, certificate), (_, other)] = [pair(Algorithm::Ed25519), pair(Algorithm::Ed25519)];
        assert_eq!(SafeBag::seal(&key, &other, b"x").err(), Some(SafeBagError::OtherKey));
        let mut bag = SafeBag::seal(&key, &certificate, b"x").unwrap();
        bag.certificate = other;
        assert_eq!(bag.open(b"x").err(), Some(SafeBagError::OtherKey));
        let hmac = Key::generate(key.name().identity(), Algorithm::Hmac).unwrap();
        assert_eq!(SafeBag::seal(&hmac, &certificate, b"x").err(), Some(SafeBagError::Hmac));
    }

    #[test]
    fn what_takes_forever_or_is_encrypted_otherwise_is_refused() {
        let (key, certificate) = pair(Algorithm::Ed25519);
        let with = |encrypted_key: Vec<u8>| SafeBag { certificate: certificate.clone(), encrypted_key };
        let data = OctetStringRef::new(&[0; 64]).unwrap();
        let info = |scheme: pbes2::Parameters| {
            EncryptedPrivateKeyInfo { encryption_algorithm: scheme.into(), encrypted_data: data }
                .to_der()
                .unwrap()
        };
        let endless = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(ENDLESS, &[0; 8], [0; 16]).unwrap();
        assert_eq!(with(info(endless)).open(b"x").err(), Some(SafeBagError::TooManyIterations(ENDLESS)));
        let mut other = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(1, &[0; 8], [0; 16]).unwrap();
        other.encryption = pbes2::EncryptionScheme::Aes256Gcm { nonce: [0; 12] };
        assert_eq!(with(info(other)).open(b"x").err(), Some(SafeBagError::Unsupported));
        assert_eq!(
            with(key.secret().expose().to_vec()).open(b"x").err(),
            Some(SafeBagError::NotEncryptedKey)
        );
        assert!(matches!(SafeBag::decode(certificate.wire()), Err(SafeBagError::Decode(_))));
    }
}
