//! The formats of files with keys and certificates, detected from their content.
//!
//! | form | certificate | private key | used by |
//! |---|---|---|---|
//! | base64 | yes | in a SafeBag | ndn-cxx (`ndnsec`), python-ndn |
//! | binary | yes | in a SafeBag, or in ndnd's form | all |
//! | `-----BEGIN NDN CERT-----` | yes | | ndnd |
//! | `-----BEGIN NDN KEY-----` | | unencrypted | ndnd |
//! | `-----BEGIN PRIVATE KEY-----` | | unencrypted: PKCS #8 | OpenSSL |
//! | `-----BEGIN EC PRIVATE KEY-----` | | unencrypted: ECPrivateKey | OpenSSL |
//! | `-----BEGIN NDN HMAC KEY-----` | | unencrypted: the secret | Weir |
//!
//! The last three do not contain the key's name. It is in a line `Name: …` before the block, or the caller gives it.

use std::fmt;

use weir_packet::tlv::types;
use weir_packet::{Component, Data, Name, SignatureType};
use zeroize::Zeroizing;

use crate::certificate::{Certificate, CertificateError};
use crate::key::{self, Algorithm, Key, NdndKeyError};
use crate::name::KeyName;
use crate::pem;
use crate::safe_bag::{SAFE_BAG, SafeBag, SafeBagError};

const CERT: &str = "NDN CERT";
const NDND_KEY: &str = "NDN KEY";
const PKCS8: &str = "PRIVATE KEY";
const SEC1: &str = "EC PRIVATE KEY";
const HMAC: &str = "NDN HMAC KEY";

/// The content of a file.
#[derive(Debug)]
pub enum Item {
    /// A certificate.
    Certificate(Certificate),
    /// A certificate and its private key, to be opened with a passphrase.
    SafeBag(SafeBag),
    /// A private key.
    Key(Key),
}

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormError {
    /// It has none of these forms.
    Unknown,
    /// It has a block of another kind.
    Block(String),
    /// A block has no end, or its content is not base64.
    Broken,
    /// Its certificate is not valid.
    Certificate(CertificateError),
    /// Its SafeBag is not valid.
    SafeBag(SafeBagError),
    /// Its private key is not a key of Ed25519 or ECDSA P-256.
    Key,
    /// ndnd's private key is not signed by this key: the file was changed.
    Forged,
    /// Its private key has no name, or a name without the form of a key's name.
    Name,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormError::Unknown => f.write_str(
                "it contains neither a certificate nor a key: wanted base64, binary, or a block such as \
                 -----BEGIN NDN CERT-----",
            ),
            FormError::Block(label) => {
                write!(
                    f,
                    "blocks {label} are not supported: wanted {CERT}, {NDND_KEY}, {PKCS8}, {SEC1} or {HMAC}"
                )
            }
            FormError::Broken => f.write_str("it contains a block that has no end or is not base64"),
            FormError::Certificate(error) => write!(f, "it contains no valid certificate: {error}"),
            FormError::SafeBag(error) => error.fmt(f),
            FormError::Key => f.write_str("its private key is neither Ed25519 nor ECDSA P-256"),
            FormError::Forged => {
                f.write_str("its private key is not signed with itself, so the file was changed")
            }
            FormError::Name => {
                f.write_str("its private key has no name such as /<identity>/KEY/<key id>: give it one")
            }
        }
    }
}

impl std::error::Error for FormError {}

/// Reads a file in any of these forms. A private key without a name in the file gets `name`.
///
/// # Errors
/// Returns a [`FormError`] if the file is not valid. For an empty file it is [`FormError::Unknown`].
pub fn read(bytes: &[u8], name: Option<&KeyName>) -> Result<Vec<Item>, FormError> {
    // No text starts with these bytes.
    if bytes.first().is_some_and(|first| [types::DATA, SAFE_BAG].contains(&u32::from(*first))) {
        return Ok(vec![packet(bytes)?]);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| FormError::Unknown)?;
    if !pem::has_blocks(text) {
        let bytes = pem::from_base64(text).ok_or(FormError::Unknown)?;
        return Ok(vec![packet(&bytes)?]);
    }
    pem::blocks(text).ok_or(FormError::Broken)?.iter().map(|block| of_block(block, name)).collect()
}

/// Reads the certificates of a file, and ignores private keys in it.
///
/// # Errors
/// Returns the errors of [`read`]. For a file without certificates it is [`FormError::Unknown`].
pub fn certificates(bytes: &[u8]) -> Result<Vec<Certificate>, FormError> {
    let nameless = KeyName::new(Name::new().view(), Component::generic(b""));
    let certificates = read(bytes, Some(&nameless))?.into_iter().filter_map(|item| match item {
        Item::Certificate(certificate) => Some(certificate),
        Item::SafeBag(bag) => Some(bag.certificate().clone()),
        Item::Key(_) => None,
    });
    let certificates: Vec<Certificate> = certificates.collect();
    if certificates.is_empty() { Err(FormError::Unknown) } else { Ok(certificates) }
}

fn packet(wire: &[u8]) -> Result<Item, FormError> {
    if wire.first().is_some_and(|first| u32::from(*first) == SAFE_BAG) {
        return SafeBag::decode(wire).map(Item::SafeBag).map_err(FormError::SafeBag);
    }
    match key::from_ndnd(wire) {
        Some(key) => key.map(Item::Key).map_err(|error| match error {
            NdndKeyError::Name => FormError::Name,
            NdndKeyError::Key => FormError::Key,
            NdndKeyError::Signature => FormError::Forged,
        }),
        None if Data::decode(wire).is_err() => Err(FormError::Unknown),
        None => Certificate::decode(wire).map(Item::Certificate).map_err(FormError::Certificate),
    }
}

fn of_block(block: &pem::Block, name: Option<&KeyName>) -> Result<Item, FormError> {
    let named = || {
        let own = block.name.as_deref().and_then(|uri| uri.parse::<Name>().ok());
        own.and_then(|own| KeyName::of_key(own.view())).or_else(|| name.cloned()).ok_or(FormError::Name)
    };
    let key = match block.label.as_str() {
        CERT | NDND_KEY => return packet(&block.bytes),
        PKCS8 => Key::from_pkcs8(named()?, &block.bytes),
        SEC1 => Key::from_sec1(named()?, &block.bytes),
        HMAC => Key::from_hmac_secret(named()?, block.bytes.to_vec().into()),
        other => return Err(FormError::Block(other.to_owned())),
    };
    key.map(Item::Key).map_err(|_| FormError::Key)
}

/// Returns bytes as lines of base64, as `ndnsec` and `pyndnsec` print certificates and SafeBags.
pub fn base64(bytes: &[u8]) -> String {
    pem::base64_lines(bytes).to_string()
}

/// Returns a certificate in ndnd's PEM.
pub fn certificate_pem(certificate: &Certificate) -> String {
    let validity = certificate.validity();
    let mut headers = vec![
        ("Name", certificate.name().to_string()),
        ("SigType", signature_type(certificate.data().signature.info.typ)),
        ("Validity", format!("{} - {}", validity.not_before, validity.not_after)),
    ];
    if let Some(signer) = certificate.key_locator() {
        headers.push(("SignerKey", signer.to_string()));
    }
    pem::write(CERT, &headers, certificate.wire()).to_string()
}

/// Returns an unencrypted private key in ndnd's PEM; `None` for HMAC, for which ndnd has no form.
pub fn ndnd_key_pem(key: &Key) -> Option<Zeroizing<String>> {
    let wire = key::to_ndnd(key)?;
    let headers =
        [("Name", key.name().to_string()), ("SigType", signature_type(key.signer().signature_type()))];
    Some(pem::write(NDND_KEY, &headers, &wire))
}

/// Returns an unencrypted private key in PEM: PKCS #8, which OpenSSL reads, or the secret of an HMAC. Its
/// name is in a line before it.
pub fn key_pem(key: &Key) -> Zeroizing<String> {
    let label = if key.algorithm() == Algorithm::Hmac { HMAC } else { PKCS8 };
    let block = pem::write(label, &[], key.secret().expose());
    Zeroizing::new(format!("Name: {}\n{}", key.name(), *block))
}

/// Returns ndnd's name of a signature type.
fn signature_type(typ: SignatureType) -> String {
    match typ {
        SignatureType::DigestSha256 => "DigestSha256".to_owned(),
        SignatureType::Sha256WithRsa => "Sha256WithRsa".to_owned(),
        SignatureType::Sha256WithEcdsa => "Sha256WithEcdsa".to_owned(),
        SignatureType::HmacWithSha256 => "HmacWithSha256".to_owned(),
        SignatureType::Ed25519 => "Ed25519".to_owned(),
        other => other.value().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Moment, Validity};

    fn pair(algorithm: Algorithm) -> (Key, Certificate) {
        let key = Key::generate("/alice".parse::<Name>().unwrap().view(), algorithm).unwrap();
        let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
        let certificate = Certificate::self_signed(&key, Moment::EPOCH, validity).unwrap();
        (key, certificate)
    }

    fn one(bytes: &[u8]) -> Item {
        let mut items = read(bytes, None).unwrap();
        assert_eq!(items.len(), 1);
        items.remove(0)
    }

    #[test]
    fn a_certificate_is_read_in_every_form() {
        let (_, certificate) = pair(Algorithm::Ecdsa);
        let wire = certificate.wire().to_vec();
        for form in [wire.clone(), base64(&wire).into_bytes(), certificate_pem(&certificate).into_bytes()] {
            assert!(matches!(one(&form), Item::Certificate(read) if read == certificate));
            assert_eq!(certificates(&form).unwrap(), std::slice::from_ref(&certificate));
        }
    }

    #[test]
    fn a_private_key_is_read_in_every_form() {
        let is_it = |form: &[u8], key: &Key| {
            let Item::Key(read) = one(form) else { panic!("{:?}", String::from_utf8_lossy(form)) };
            assert_eq!((read.name(), read.algorithm()), (key.name(), key.algorithm()));
            assert_eq!(read.secret().expose(), key.secret().expose());
        };
        for algorithm in [Algorithm::Ed25519, Algorithm::Ecdsa] {
            let (key, certificate) = pair(algorithm);
            is_it(key_pem(&key).as_bytes(), &key);
            is_it(ndnd_key_pem(&key).unwrap().as_bytes(), &key);
            is_it(&key::to_ndnd(&key).unwrap(), &key);
            let bag = SafeBag::seal(&key, &certificate, b"x").unwrap();
            for form in [bag.encode(), base64(&bag.encode()).into_bytes()] {
                assert!(matches!(one(&form), Item::SafeBag(read) if read == bag));
                assert_eq!(certificates(&form).unwrap(), std::slice::from_ref(&certificate));
            }
        }
        let hmac = Key::generate("/alice".parse::<Name>().unwrap().view(), Algorithm::Hmac).unwrap();
        is_it(key_pem(&hmac).as_bytes(), &hmac);
        assert!(ndnd_key_pem(&hmac).is_none());
    }

    #[test]
    fn a_file_may_hold_several_things_and_a_key_without_a_name_gets_one() {
        let (key, certificate) = pair(Algorithm::Ecdsa);
        let text = format!("{}{}", *ndnd_key_pem(&key).unwrap(), certificate_pem(&certificate));
        let items = read(text.as_bytes(), None).unwrap();
        assert!(matches!(&items[..], [Item::Key(_), Item::Certificate(_)]));
        assert_eq!(certificates(text.as_bytes()).unwrap(), [certificate]);
        let sec1 = pem::write(SEC1, &[], &key.signer().to_sec1().unwrap());
        assert_eq!(read(sec1.as_bytes(), None).err(), Some(FormError::Name));
        let items = read(sec1.as_bytes(), Some(key.name())).unwrap();
        assert!(matches!(&items[..], [Item::Key(read)] if read.public_key_der() == key.public_key_der()));
    }

    #[test]
    fn what_is_in_no_form_is_refused_with_what_would_be_right() {
        let (key, certificate) = pair(Algorithm::Ed25519);
        for bytes in [&b""[..], b"\xFF\x00", b"hello", b"/alice", b"aGVsbG8="] {
            let error = read(bytes, None).unwrap_err();
            assert_eq!(error, FormError::Unknown);
            assert!(error.to_string().contains("-----BEGIN NDN CERT-----"));
        }
        let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(read(other.as_bytes(), None).unwrap_err().to_string().contains("wanted NDN CERT"));
        let cut: String = certificate_pem(&certificate).lines().take(8).collect::<Vec<_>>().join("\n");
        assert_eq!(read(cut.as_bytes(), None).err(), Some(FormError::Broken));
        let mut wire = key::to_ndnd(&key).unwrap();
        *wire.last_mut().unwrap() ^= 1;
        assert_eq!(read(&wire, None).err(), Some(FormError::Forged));
        let mut data = certificate.data();
        data.meta.content_type = None;
        assert!(matches!(read(&data.to_vec(), None), Err(FormError::Certificate(_))));
        assert_eq!(certificates(key_pem(&key).as_bytes()).err(), Some(FormError::Unknown));
    }
}
