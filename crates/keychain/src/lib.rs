//! NDN keys and certificates: creation, reading, writing, storage and trust decisions.
//!
//! | module | content |
//! |---|---|
//! | [`name`] | names of keys: `/<identity>/KEY/<key id>` |
//! | [`time`] | moments and validity periods, as written in certificates |
//! | [`key`] | private keys: Ed25519, ECDSA P-256, HMAC-SHA256 |
//! | [`certificate`] | NDN Certificate Format v2 |
//! | [`safe_bag`] | a certificate with its private key under a passphrase, in ndn-cxx's export format |
//! | [`form`] | the forms of files: base64, binary, ndnd's PEM, PKCS #8 PEM |
//! | [`store`] | the key chain: a folder of files |
//! | [`trust`] | the trust decision for a Data: chains of certificates up to an anchor |
//!
//! ```
//! use weir_keychain::{Algorithm, Certificate, Key, Moment, Step, Trust, Validator, Validity};
//! use weir_packet::{Data, Name, SignatureInfo, SignatureType};
//!
//! // A key with a self-signed certificate. The application gives the time.
//! let (identity, name): (Name, Name) = ("/alice".parse()?, "/alice/file/seg=0".parse()?);
//! let key = Key::generate(identity.view(), Algorithm::Ed25519)?;
//! let now = Moment::from_unix_ms(1_795_315_881_501);
//! let validity = Validity { not_before: now, not_after: now.plus_days(365) };
//! let certificate = Certificate::self_signed(&key, now, validity)?;
//!
//! // A producer signs.
//! let mut wire = Vec::new();
//! let info = SignatureInfo::new(SignatureType::Null);
//! key.sign(&Data::new(name.view(), b"content", info), &mut wire)?;
//!
//! // A consumer accepts Data with a chain of certificates to its trust anchor.
//! let mut validator = Validator::new(Trust::Anchor(certificate))?;
//! assert_eq!(validator.check(&wire, now), Step::Valid);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate reads no clock: the caller gives the time. Random numbers come from the operating system in
//! three places: new keys and their ids, salts of SafeBags, and signing with ECDSA. Only `store` reads and
//! writes files. Nothing here panics on any input, and no `Debug` output shows a private key.

pub mod certificate;
pub mod form;
pub mod key;
pub mod name;
pub mod safe_bag;
pub mod store;
pub mod time;
pub mod trust;

mod pem;

pub use certificate::{Certificate, CertificateError};
pub use key::{Algorithm, Key, KeyError, Secret};
pub use name::KeyName;
pub use safe_bag::{SafeBag, SafeBagError};

pub use store::{KeyChain, StoreError};
pub use time::{Moment, Validity};
pub use trust::{NameRule, Reason, Step, Trust, Validator};
