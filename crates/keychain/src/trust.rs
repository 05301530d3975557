//! Whether to believe a Data: a state machine without sockets, clocks or files.
//!
//! A [`Validator`] is asked of each Data ([`Validator::check`]). It answers that the Data is valid, that it is
//! not and why, or which certificate it wants first. Whoever asks fetches that (by prefix), hands it
//! in ([`Validator::supply`]) and asks again:
//!
//! ```text
//!                 check(data)                       supply(certificate)
//!   data ------> walk from the data's key up ---> Wants(name) ---> walk again, one step further
//!                  |               |
//!                  v               v
//!                Valid        Invalid(reason)
//! ```
//!
//! With an anchor, a Data must be signed by the anchor's key, or by the key of a certificate that is signed so.
//! On each step up
//!
//! - the signature is right,
//! - the KeyLocator names the certificate or its key,
//! - the certificate is valid at the time that is handed in,
//! - by [`NameRule::Hierarchical`], the signer's identity is a prefix of the name that it signs.
//!
//! A link is checked as soon as its certificate is there, before the next one is wanted: forged Data makes nobody
//! fetch a whole chain. Certificates that were proven are kept, so that a Data costs one signature. What was found
//! wrong is forgotten, so that a false certificate does not keep the right one out.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use weir_packet::sign::VerifyError;
use weir_packet::{
    Component, Data, DecodeError, KeyLocator, Name, NameRef, SignatureType, Verifier, component_type,
};

use crate::certificate::{Certificate, CertificateError};
use crate::name::KeyName;
use crate::time::{Moment, Validity};

/// Certificates between a Data and the anchor that are followed by default: chains in use have two or three.
pub const DEFAULT_DEPTH: usize = 8;
/// Certificates of others that are kept: names come from strangers.
const MAX_KEPT: usize = 256;

/// Whom to believe.
#[derive(Debug)]
pub enum Trust {
    /// Everybody. A digest must be right; signatures by keys are not looked at.
    Any,
    /// Who has this key, whatever the names.
    Key(Verifier),
    /// The key of this certificate, and those that it certifies.
    Anchor(Certificate),
}

/// What a key may sign, besides what it is certified for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// Names under its identity.
    #[default]
    Hierarchical,
    /// Any name.
    Any,
}

/// What is to be done with a Data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is to be believed.
    Valid,
    /// It is not.
    Invalid(Reason),
    /// First the certificate of this name, or whose name begins so, is wanted.
    Wants(Name),
}

/// Why a Data is not to be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is no Data.
    Decode(DecodeError),
    /// The signature of this packet is wrong, or not of its key's kind.
    Signature(Name, VerifyError),
    /// The signature of this packet does not name a key: its type is given.
    NoKeyName(Name, SignatureType),
    /// This certificate is not valid now.
    Untimely(Name, Validity),
    /// The name is not under the signer's identity.
    Identity {
        /// What is signed.
        name: Name,
        /// Whose key signs it.
        identity: Name,
    },
    /// This certificate is signed by itself, and is not the anchor.
    OtherAnchor(Name),
    /// There are more certificates between the Data and the anchor than are followed.
    TooDeep(usize),
    /// The key of this certificate cannot be used.
    Certificate(Name, CertificateError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Decode(error) => error.fmt(f),
            Reason::Signature(name, error) => write!(f, "{name}: {error}"),
            Reason::NoKeyName(name, typ) => {
                write!(
                    f,
                    "{name}: its signature ({typ:?}) names no key, so no certificate leads to the anchor"
                )
            }
            Reason::Untimely(name, validity) => write!(
                f,
                "the certificate {name} is valid from {} to {} only",
                validity.not_before, validity.not_after
            ),
            Reason::Identity { name, identity } => {
                write!(f, "{name} is signed by {identity}, which may sign names under {identity} only")
            }
            Reason::OtherAnchor(name) => {
                write!(f, "the certificate {name} is signed by itself, and is not the trust anchor")
            }
            Reason::TooDeep(depth) => write!(f, "after {depth} certificates there is still no trust anchor"),
            Reason::Certificate(name, error) => write!(f, "the certificate {name}: {error}"),
        }
    }
}

impl std::error::Error for Reason {}

/// Why a certificate that was handed in is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is none.
    Certificate(CertificateError),
    /// It is another than was wanted.
    NotWanted(Name),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Certificate(error) => error.fmt(f),
            Refused::NotWanted(name) => write!(f, "{name} is not the certificate that was asked for"),
        }
    }
}

impl std::error::Error for Refused {}

/// A certificate, and what is known of it.
#[derive(Debug)]
struct Known {
    certificate: Certificate,
    verifier: Verifier,
    /// When it and all above it are valid, once it is proven.
    proven: Option<Validity>,
}

impl Known {
    fn new(certificate: Certificate, proven: Option<Validity>) -> Result<Known, CertificateError> {
        let verifier = certificate.verifier()?;
        Ok(Known { certificate, verifier, proven })
    }

    fn is_proven(&self, now: Moment) -> bool {
        self.proven.is_some_and(|validity| validity.contains(now))
    }
}

/// Checks Data against a trust.
#[derive(Debug)]
pub struct Validator {
    trust: Checked,
    rule: NameRule,
    depth: usize,
    /// Certificates that were handed in, by the name that was wanted.
    known: BTreeMap<Name, Known>,
    /// Their names, the oldest first.
    order: VecDeque<Name>,
}

#[derive(Debug)]
enum Checked {
    Any,
    Key(Verifier),
    Anchor(Box<Known>),
}

impl Validator {
    /// A validator with the default rule and depth.
    ///
    /// # Errors
    /// The anchor's key cannot be used.
    pub fn new(trust: Trust) -> Result<Validator, CertificateError> {
        let trust = match trust {
            Trust::Any => Checked::Any,
            Trust::Key(verifier) => Checked::Key(verifier),
            Trust::Anchor(anchor) => {
                let validity = anchor.validity();
                Checked::Anchor(Box::new(Known::new(anchor, Some(validity))?))
            }
        };
        let (known, order) = (BTreeMap::new(), VecDeque::new());
        Ok(Validator { trust, rule: NameRule::default(), depth: DEFAULT_DEPTH, known, order })
    }

    /// With another rule of names.
    #[must_use]
    pub fn with_rule(mut self, rule: NameRule) -> Validator {
        self.rule = rule;
        self
    }

    /// With at most so many certificates between a Data and the anchor.
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Validator {
        self.depth = depth;
        self
    }

    /// Whether a packet is to be believed now.
    pub fn check(&mut self, wire: &[u8], now: Moment) -> Step {
        let mut path = Vec::new();
        let step = match self.walk(wire, now, &mut path) {
            Ok(None) => Step::Valid,
            Ok(Some(wanted)) => Step::Wants(wanted),
            Err(reason) => {
                // One of these is false, or of no use any more; forged Data must not cost the others.
                path.retain(|name| !self.known.get(name).is_some_and(|known| known.is_proven(now)));
                path.iter().for_each(|name| self.forget(name));
                return Step::Invalid(reason);
            }
        };
        if step == Step::Valid {
            self.prove(&path, now);
        }
        step
    }

    /// Takes a certificate that was wanted: `wanted` is the name in [`Step::Wants`].
    ///
    /// # Errors
    /// The packet is no certificate with a key that we know, or it is not the one that was wanted. Nothing changes.
    pub fn supply(&mut self, wanted: NameRef<'_>, wire: &[u8]) -> Result<(), Refused> {
        let certificate = Certificate::decode(wire).map_err(Refused::Certificate)?;
        let is_it = certificate.name().starts_with(strip_digest(wanted))
            && KeyName::of_locator(wanted).as_ref() == Some(certificate.key_name());
        if !is_it {
            return Err(Refused::NotWanted(certificate.name().to_name()));
        }
        let known = Known::new(certificate, None).map_err(Refused::Certificate)?;
        let wanted = wanted.to_name();
        self.forget(&wanted);
        if self.known.len() >= MAX_KEPT
            && let Some(oldest) = self.order.front().cloned()
        {
            self.forget(&oldest);
        }
        self.order.push_back(wanted.clone());
        self.known.insert(wanted, known);
        Ok(())
    }

    /// Forgets a certificate that was handed in.
    fn forget(&mut self, name: &Name) {
        if self.known.remove(name).is_some() {
            self.order.retain(|other| other != name);
        }
    }

    /// Walks up from a packet. The certificates on the way go to `path`; what comes back is the one that is missing.
    fn walk(&self, wire: &[u8], now: Moment, path: &mut Vec<Name>) -> Result<Option<Name>, Reason> {
        let data = Data::decode(wire).map_err(Reason::Decode)?;
        let anchor = match &self.trust {
            Checked::Any if data.signature.info.typ == SignatureType::DigestSha256 => {
                return verify(&Verifier::digest(), wire).map(|()| None);
            }
            Checked::Any => return Ok(None),
            Checked::Key(verifier) => return verify(verifier, wire).map(|()| None),
            Checked::Anchor(anchor) => anchor,
        };
        let mut subject = wire;
        loop {
            let locator = locator(subject)?;
            let key_name = KeyName::of_locator(locator.view()).ok_or_else(|| no_key_name(subject))?;
            if key_name == *anchor.certificate.key_name() {
                return self.check_link(subject, anchor, now).map(|()| None);
            }
            // Before the certificate is there: nobody is sent to fetch what could not help.
            self.check_identity(subject, &key_name)?;
            if path.len() >= self.depth {
                return Err(Reason::TooDeep(self.depth));
            }
            let Some(signer) = self.known.get(&locator) else { return Ok(Some(locator)) };
            path.push(locator);
            self.check_link(subject, signer, now)?;
            if signer.is_proven(now) {
                return Ok(None);
            }
            if signer.certificate.is_self_signed() {
                return Err(Reason::OtherAnchor(signer.certificate.name().to_name()));
            }
            subject = signer.certificate.wire();
        }
    }

    /// Whether a packet is signed by a certificate's key, rightly and in time.
    fn check_link(&self, subject: &[u8], signer: &Known, now: Moment) -> Result<(), Reason> {
        let certificate = &signer.certificate;
        let validity = certificate.validity();
        if !validity.contains(now) {
            return Err(Reason::Untimely(certificate.name().to_name(), validity));
        }
        self.check_identity(subject, certificate.key_name())?;
        verify(&signer.verifier, subject)
    }

    /// Whether a key may sign a packet of this name.
    fn check_identity(&self, subject: &[u8], key: &KeyName) -> Result<(), Reason> {
        let name = Data::decode(subject).map_err(Reason::Decode)?.name;
        if self.rule == NameRule::Hierarchical && !name.starts_with(key.identity()) {
            return Err(Reason::Identity { name: name.to_name(), identity: key.identity().to_name() });
        }
        Ok(())
    }

    /// Remembers that the certificates of a walk lead to the anchor, each as long as all above it do.
    fn prove(&mut self, path: &[Name], now: Moment) {
        let Checked::Anchor(anchor) = &self.trust else { return };
        let mut above = anchor.certificate.validity();
        for name in path.iter().rev() {
            let Some(known) = self.known.get_mut(name) else { return };
            let own = known.certificate.validity();
            // The walk ended at one that was proven before: what is above it is in there.
            above = known.proven.filter(|validity| validity.contains(now)).unwrap_or(Validity {
                not_before: own.not_before.max(above.not_before),
                not_after: own.not_after.min(above.not_after),
            });
            known.proven = Some(above);
        }
    }
}

fn verify(verifier: &Verifier, wire: &[u8]) -> Result<(), Reason> {
    verifier.verify_data(wire).map_err(|error| match Data::decode(wire) {
        Ok(data) => Reason::Signature(data.name.to_name(), error),
        Err(error) => Reason::Decode(error),
    })
}

/// The name in a packet's KeyLocator.
fn locator(wire: &[u8]) -> Result<Name, Reason> {
    let data = Data::decode(wire).map_err(Reason::Decode)?;
    match data.signature.info.key_locator {
        Some(KeyLocator::Name(name)) => Ok(name.to_name()),
        _ => Err(no_key_name(wire)),
    }
}

fn no_key_name(wire: &[u8]) -> Reason {
    match Data::decode(wire) {
        Ok(data) => Reason::NoKeyName(data.name.to_name(), data.signature.info.typ),
        Err(error) => Reason::Decode(error),
    }
}

/// A name without an implicit digest at its end: whoever fetches by it compares that.
fn strip_digest(name: NameRef<'_>) -> NameRef<'_> {
    let is_digest = |last: Component<'_>| last.typ == component_type::IMPLICIT_SHA256_DIGEST;
    if name.last().is_some_and(is_digest) { name.parent() } else { name }
}
