//! The decision whether to trust a Data: a state machine without sockets, clocks or files.
//!
//! A [`Validator`] checks each Data ([`Validator::check`]). It answers that the Data is valid, that it is not
//! valid and why, or that it needs a certificate first. The caller fetches this certificate by its prefix,
//! passes it to the validator ([`Validator::supply`]) and checks again:
//!
//! ```text
//!                 check(data)                       supply(certificate)
//!   data ------> walk from the data's key up ---> Wants(name) ---> walk again, one step further
//!                  |               |
//!                  v               v
//!                Valid        Invalid(reason)
//! ```
//!
//! With an anchor, a Data must be signed by the anchor's key, or by the key of a certificate that meets the same rule.
//! On each step up
//!
//! - the signature is correct,
//! - the KeyLocator names the certificate or its key,
//! - the certificate is valid at the given time,
//! - by [`NameRule::Hierarchical`], the signer's identity is a prefix of the name that it signs.
//!
//! A key may have several certificates, and a fetch by the key's name can return any of them. If the returned one is
//! self-signed or not valid now, the validator asks for others ([`Step::Seeks`]), by the names that issuers give to
//! certificates. It tries three of them.
//!
//! Each link of the chain is checked when its certificate arrives, before the next one is requested. So forged Data
//! do not cause a whole chain to be fetched. Verified certificates are kept, so checking a Data costs one signature.
//! Certificates that fail are forgotten, so a false certificate does not block the correct one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use weir_packet::sign::VerifyError;
use weir_packet::{
    Component, Data, DecodeError, KeyLocator, Name, NameRef, SignatureType, Verifier, component_type,
};

use crate::certificate::{Certificate, CertificateError};
use crate::name::KeyName;
use crate::time::{Moment, Validity};

/// The default largest number of certificates between a Data and the anchor. Chains in use have two or three.
pub const DEFAULT_DEPTH: usize = 8;
/// The largest number of fetched certificates that are kept. It is bounded because their names come from the
/// network.
const MAX_KEPT: usize = 256;
/// The issuer component of certificates for which ndnsec gets no issuer id (its manual, `cert-gen`), and of
/// those by `weir key certify`.
const NOT_AVAILABLE: Component<'static> = Component { typ: component_type::GENERIC, value: b"NA" };

/// The trusted signers.
#[derive(Debug)]
pub enum Trust {
    /// Any signer. A digest must be correct; signatures by keys are not checked.
    Any,
    /// The owner of this key, for any name.
    Key(Verifier),
    /// The same with the key's name, so that Data that name another key have another error than damaged Data.
    NamedKey(KeyName, Verifier),
    /// The key of this certificate, and the keys that it certifies.
    Anchor(Certificate),
}

/// The names that a key may sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameRule {
    /// Names under its identity.
    #[default]
    Hierarchical,
    /// Any name.
    Any,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The Data is valid.
    Valid,
    /// The Data is not valid.
    Invalid(Reason),
    /// The certificate with this name or prefix is needed first.
    Wants(Name),
    /// The returned certificate of a key cannot be used. Another certificate with this prefix may be usable. If it cannot be
    /// fetched, the check continues without it ([`Validator::do_without`]).
    Seeks(Name),
}

/// The reason why a Data is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is not a Data.
    Decode(DecodeError),
    /// The signature of this packet is wrong, or its type does not fit the key.
    Signature(Name, VerifyError),
    /// A packet is signed by a key other than the trusted one.
    OtherKey {
        /// The packet.
        name: Name,
        /// The key that its KeyLocator names.
        signer: KeyName,
        /// The trusted key.
        given: KeyName,
    },
    /// The signature of this packet, of this type, does not name a key.
    NoKeyName(Name, SignatureType),
    /// This certificate is not valid now.
    Untimely(Name, Validity),
    /// The name is not under the signer's identity.
    Identity {
        /// The signed name.
        name: Name,
        /// The identity of the signing key.
        identity: Name,
    },
    /// This certificate is self-signed and is not the anchor.
    OtherAnchor(Name),
    /// There are too many certificates between the Data and the anchor.
    TooDeep(usize),
    /// The key of this certificate cannot be used.
    Certificate(Name, CertificateError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Decode(error) => error.fmt(f),
            Reason::Signature(name, error) => write!(f, "{name}: {error}"),
            Reason::OtherKey { name, signer, given } => {
                write!(f, "{name} is signed by {signer}, not by the given key {given}")
            }
            Reason::NoKeyName(name, typ) => {
                write!(
                    f,
                    "{name}: its signature ({typ:?}) names no key, so no certificate leads to the anchor"
                )
            }
            Reason::Untimely(name, validity) => write!(
                f,
                "the certificate {name} is valid only from {} to {}",
                validity.not_before, validity.not_after
            ),
            Reason::Identity { name, identity } => {
                write!(f, "{name} is signed by {identity}, which may sign only names under {identity}")
            }
            Reason::OtherAnchor(name) => {
                write!(f, "the certificate {name} is self-signed, but is not the trust anchor")
            }
            Reason::TooDeep(depth) => write!(f, "no trust anchor was found after {depth} certificates"),
            Reason::Certificate(name, error) => write!(f, "the certificate {name}: {error}"),
        }
    }
}

impl std::error::Error for Reason {}

/// The reason why a supplied certificate is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not a certificate.
    Certificate(CertificateError),
    /// It is not the requested certificate.
    NotWanted(Name),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Certificate(error) => error.fmt(f),
            Refused::NotWanted(name) => write!(f, "{name} is not the requested certificate"),
        }
    }
}

impl std::error::Error for Refused {}

/// A certificate, and the results about it.
#[derive(Debug)]
struct Known {
    certificate: Certificate,
    verifier: Verifier,
    /// The period in which it and all certificates above it are valid, once it is proven.
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

/// Checks Data against trusted signers.
#[derive(Debug)]
pub struct Validator {
    trust: Checked,
    rule: NameRule,
    depth: usize,
    /// The supplied certificates, by the requested name.
    known: BTreeMap<Name, Known>,
    /// Their names, the oldest first.
    order: VecDeque<Name>,
    /// The names of certificates that were sought and cannot be fetched.
    lacking: BTreeSet<Name>,
}

/// The certificates met on the way up from a packet, by their requested names.
#[derive(Debug, Default)]
struct Walk {
    /// The certificates that lead up.
    path: Vec<Name>,
    /// The certificates that do not lead up, and names that cannot be fetched.
    useless: Vec<Name>,
}

#[derive(Debug)]
enum Checked {
    Any,
    Key(Option<KeyName>, Verifier),
    Anchor(Box<Known>),
}

impl Validator {
    /// Returns a validator with the default rule and depth.
    ///
    /// # Errors
    /// Returns a [`CertificateError`] if the anchor's key cannot be used.
    pub fn new(trust: Trust) -> Result<Validator, CertificateError> {
        let trust = match trust {
            Trust::Any => Checked::Any,
            Trust::Key(verifier) => Checked::Key(None, verifier),
            Trust::NamedKey(name, verifier) => Checked::Key(Some(name), verifier),
            Trust::Anchor(anchor) => {
                let validity = anchor.validity();
                Checked::Anchor(Box::new(Known::new(anchor, Some(validity))?))
            }
        };
        let (known, order, lacking) = (BTreeMap::new(), VecDeque::new(), BTreeSet::new());
        Ok(Validator { trust, rule: NameRule::default(), depth: DEFAULT_DEPTH, known, order, lacking })
    }

    /// Sets another name rule.
    #[must_use]
    pub fn with_rule(mut self, rule: NameRule) -> Validator {
        self.rule = rule;
        self
    }

    /// Sets the largest number of certificates between a Data and the anchor.
    #[must_use]
    pub fn with_depth(mut self, depth: usize) -> Validator {
        self.depth = depth;
        self
    }

    /// Checks a packet at the time `now`.
    pub fn check(&mut self, wire: &[u8], now: Moment) -> Step {
        let mut walk = Walk::default();
        match self.walk(wire, now, &mut walk) {
            Ok(step) => {
                if step == Step::Valid {
                    self.prove(&walk.path, now);
                }
                step
            }
            Err(reason) => {
                // One of these is false, or no longer of use. Forged Data must not remove the others.
                for name in walk.path.iter().chain(&walk.useless) {
                    if !self.known.get(name).is_some_and(|known| known.is_proven(now)) {
                        self.forget(name);
                    }
                }
                Step::Invalid(reason)
            }
        }
    }

    /// Adds a requested certificate. `wanted` is the name in [`Step::Wants`] or [`Step::Seeks`].
    ///
    /// # Errors
    /// Returns [`Refused`] if the packet is not a certificate with a supported key, or not the requested one.
    /// The validator then does not change.
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

    /// Continues without a certificate that could not be fetched. `sought` is the name in [`Step::Seeks`].
    pub fn do_without(&mut self, sought: NameRef<'_>) {
        if self.lacking.len() >= MAX_KEPT {
            self.lacking.clear();
        }
        self.lacking.insert(sought.to_name());
    }

    /// Removes a supplied certificate, or the note that a certificate could not be fetched.
    fn forget(&mut self, name: &Name) {
        self.lacking.remove(name);
        if self.known.remove(name).is_some() {
            self.order.retain(|other| other != name);
        }
    }

    /// Walks up from a packet until it is proven or a certificate is missing.
    fn walk(&self, wire: &[u8], now: Moment, walk: &mut Walk) -> Result<Step, Reason> {
        let data = Data::decode(wire).map_err(Reason::Decode)?;
        let anchor = match &self.trust {
            Checked::Any if data.signature.info.typ == SignatureType::DigestSha256 => {
                return verify(&Verifier::digest(), wire).map(|()| Step::Valid);
            }
            Checked::Any => return Ok(Step::Valid),
            Checked::Key(given, verifier) => {
                let verified = verify(verifier, wire).map(|()| Step::Valid);
                return verified.map_err(|reason| other_key(wire, given.as_ref()).unwrap_or(reason));
            }
            Checked::Anchor(anchor) => anchor,
        };
        let mut subject = wire;
        loop {
            let locator = locator(subject)?;
            let key_name = KeyName::of_locator(locator.view()).ok_or_else(|| no_key_name(subject))?;
            if key_name == *anchor.certificate.key_name() {
                return self.check_link(subject, anchor, now).map(|()| Step::Valid);
            }
            // This check comes before the request for a certificate that could not help.
            self.check_identity(subject, &key_name)?;
            if walk.path.len() >= self.depth {
                return Err(Reason::TooDeep(self.depth));
            }
            let signer = match self.signer(subject, (locator, &key_name), now, walk)? {
                Ok(signer) => signer,
                Err(missing) => return Ok(missing),
            };
            if signer.is_proven(now) {
                return Ok(Step::Valid);
            }
            subject = signer.certificate.wire();
        }
    }

    /// Returns the certificate of the key that has signed a packet: the one that was supplied for its
    /// KeyLocator, or, if that is not usable, another one of the key. Or returns the step to get a missing
    /// one.
    fn signer(
        &self,
        subject: &[u8],
        (locator, key): (Name, &KeyName),
        now: Moment,
        walk: &mut Walk,
    ) -> Result<Result<&Known, Step>, Reason> {
        let Some(first) = self.known.get(&locator) else { return Ok(Err(Step::Wants(locator))) };
        let useless = match self.check_signer(subject, first, now) {
            Ok(()) => {
                walk.path.push(locator);
                return Ok(Ok(first));
            }
            Err(why) => why,
        };
        walk.useless.push(locator);
        if !matches!(useless, Reason::Untimely(..) | Reason::OtherAnchor(_)) {
            return Err(useless);
        }
        let is_new = |name: &Name| !first.certificate.name().starts_with(name.view());
        for other in self.names_of_others(key).into_iter().flatten().filter(is_new) {
            let known = self.known.get(&other);
            if known.is_none() && !self.lacking.contains(&other) {
                return Ok(Err(Step::Seeks(other)));
            }
            let signer = known.filter(|known| self.check_signer(subject, known, now).is_ok());
            let met = if signer.is_some() { &mut walk.path } else { &mut walk.useless };
            met.push(other);
            if let Some(signer) = signer {
                return Ok(Ok(signer));
            }
        }
        Err(useless)
    }

    /// Returns the prefixes of a key's certificates that the anchor's key may have issued. The issuer chooses
    /// its component (NDN Certificate Format v2): the id of its key, its name, or a placeholder.
    fn names_of_others(&self, key: &KeyName) -> [Option<Name>; 3] {
        let Checked::Anchor(anchor) = &self.trust else { return [const { None }; 3] };
        let issuer = anchor.certificate.key_name();
        [Some(issuer.id()), issuer.identity().last(), Some(NOT_AVAILABLE)]
            .map(|issuer| issuer.map(|issuer| key.name().to_name().with(issuer)))
    }

    /// Checks that a certificate's key has signed a packet, and that the certificate may lead to the anchor.
    fn check_signer(&self, subject: &[u8], signer: &Known, now: Moment) -> Result<(), Reason> {
        self.check_link(subject, signer, now)?;
        if signer.certificate.is_self_signed() {
            return Err(Reason::OtherAnchor(signer.certificate.name().to_name()));
        }
        Ok(())
    }

    /// Checks the signature of a packet by a certificate's key, and the validity of the certificate.
    fn check_link(&self, subject: &[u8], signer: &Known, now: Moment) -> Result<(), Reason> {
        let certificate = &signer.certificate;
        self.check_identity(subject, certificate.key_name())?;
        verify(&signer.verifier, subject)?;
        let validity = certificate.validity();
        if !validity.contains(now) {
            return Err(Reason::Untimely(certificate.name().to_name(), validity));
        }
        Ok(())
    }

    /// Checks that a key may sign a packet with this name.
    fn check_identity(&self, subject: &[u8], key: &KeyName) -> Result<(), Reason> {
        let name = Data::decode(subject).map_err(Reason::Decode)?.name;
        if self.rule == NameRule::Hierarchical && !name.starts_with(key.identity()) {
            return Err(Reason::Identity { name: name.to_name(), identity: key.identity().to_name() });
        }
        Ok(())
    }

    /// Marks the certificates of a walk as leading to the anchor, each for the period in which all above it
    /// do.
    fn prove(&mut self, path: &[Name], now: Moment) {
        let Checked::Anchor(anchor) = &self.trust else { return };
        let mut above = anchor.certificate.validity();
        for name in path.iter().rev() {
            let Some(known) = self.known.get_mut(name) else { return };
            let own = known.certificate.validity();
            // The walk ended at a certificate that was proven before. Its period includes those above it.
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

/// Returns the error that a packet names another key than the given one, if it does.
fn other_key(wire: &[u8], given: Option<&KeyName>) -> Option<Reason> {
    let (given, name) = (given?.clone(), Data::decode(wire).ok()?.name.to_name());
    let signer = KeyName::of_locator(locator(wire).ok()?.view())?;
    (signer != given).then_some(Reason::OtherKey { name, signer, given })
}

/// Returns the name in a packet's KeyLocator.
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

/// Returns a name without an implicit digest at its end. The code that fetches by this name compares the
/// digest.
fn strip_digest(name: NameRef<'_>) -> NameRef<'_> {
    let is_digest = |last: Component<'_>| last.typ == component_type::IMPLICIT_SHA256_DIGEST;
    if name.last().is_some_and(is_digest) { name.parent() } else { name }
}
