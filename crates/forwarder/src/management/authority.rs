//! Authorisation of commands: signatures, keys, and protection against replay.
//!
//! A command is signed in one of two formats: as a Signed Interest (packet format v0.3: time, nonce and sequence number in
//! InterestSignatureInfo), or as the older Command Interest (timestamp, nonce, SignatureInfo and SignatureValue as the last four
//! components of the name).
//!
//! Many commands can arrive within one millisecond and in any order, so increasing times are not enough. The digest of the signed
//! part is remembered, and a command with a remembered digest is refused. The memory is bounded. When it is full, the oldest
//! digest is forgotten, and commands as old as that one are refused from then on. A digest is not forgotten only because its time
//! is outside the window: when a wrong clock is corrected, the time returns.
//!
//! Only commands with rights are remembered. An application without rights can sign any command that it may send, so a replay
//! gains nothing; and it must not fill the memory of others.

use std::collections::{BTreeMap, BTreeSet};

use weir_management::Module;
use weir_packet::sign::{Signer, parameters_digest_is_valid, sha256};
use weir_packet::tlv::{Reader, types};
use weir_packet::{
    Component, Data, Interest, InterestLayout, KeyLocator, Name, NameRef, SignatureInfo, SignatureType,
    Verifier, component_type,
};

/// Number of components after the parameters of a Command Interest.
pub(super) const COMMAND_INTEREST_COMPONENTS: usize = 4;

/// Which signatures are accepted for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Any valid signature. A signature by an unknown key is accepted unverified. Digests, and signatures by known keys, are
    /// verified.
    AnySignature,
    /// Signatures by known keys only.
    KnownKeys,
}

/// Permissions of this host's applications without rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applications {
    /// They may request datasets and notifications.
    Show,
    /// They may also register and unregister prefixes for their own faces, if the prefixes belong to no other.
    Register,
    /// They may send all commands.
    All,
}

/// A key and its permissions.
#[derive(Debug)]
pub struct KnownKey {
    /// Name of the key, as in KeyLocators, or a prefix of it.
    pub name: Name,
    /// Verifies its signatures.
    pub verifier: Verifier,
    /// The modules whose commands it may sign.
    pub modules: Vec<Module>,
}

/// Rules for commands: signatures, keys and age.
#[derive(Debug)]
pub struct Policy {
    /// Accepted signatures under `/localhost/nfd`, from this host.
    pub local: Trust,
    /// Permissions of applications without rights. A command signed by a known key has rights.
    pub applications: Applications,
    /// Largest number of routes to the faces of one user without rights. All unknown users count as one.
    pub max_registrations: usize,
    /// Accepted signatures for registrations under `/localhop/nfd`, also from neighbours; `None`: refused.
    pub localhop: Option<Trust>,
    /// The keys that [`Trust::KnownKeys`] accepts.
    pub keys: Vec<KnownKey>,
    /// Largest difference between the time of a command and the forwarder's clock, either way, ms.
    pub clock_tolerance_ms: u64,
    /// Number of remembered commands for each known key, and for all others with rights together.
    pub max_remembered: usize,
}

/// As in NFD: local commands with any signature, within 120 s. But applications without rights may only register.
impl Default for Policy {
    fn default() -> Policy {
        Policy {
            local: Trust::AnySignature,
            applications: Applications::Register,
            max_registrations: 1000,
            localhop: None,
            keys: Vec::new(),
            clock_tolerance_ms: 120_000,
            max_remembered: 65_536,
        }
    }
}

/// The reason why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no signature.
    Unsigned,
    /// Its signature or digest is wrong.
    BadSignature,
    /// Its key is unknown, or may not sign this command.
    NotTrusted,
    /// A known key signed it, but it has no time.
    NoTime,
    /// It has no field that makes it unique.
    NothingSingle,
    /// Its time is too far from the forwarder's.
    Untimely,
    /// It was received before.
    Replayed,
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Refusal::Unsigned => "the command is not signed",
            Refusal::BadSignature => "the signature is wrong",
            Refusal::NotTrusted => "the key may not give this command",
            Refusal::NoTime => "the signature has no time",
            Refusal::NothingSingle => "the signature has no time, nonce or sequence number",
            Refusal::Untimely => {
                "the signature's time is too far from the forwarder's, or older than the commands that it remembers"
            }
            Refusal::Replayed => "the command was already given",
        })
    }
}

/// The fields of a signature, in either format.
struct Claim<'a> {
    info: SignatureInfo<'a>,
    is_command_interest: bool,
    time_ms: Option<u64>,
    has_nonce: bool,
    /// Digest of the signed part.
    identity: [u8; 32],
}

/// A command with a valid signature, as far as it can be verified.
pub(super) struct Signed<'a> {
    claim: Claim<'a>,
    /// The known key that signed it.
    key: Option<usize>,
    /// Whether this key may sign it.
    pub(super) has_rights: bool,
}

/// Checks commands: signature, time, and replay.
#[derive(Debug)]
pub(super) struct Authority {
    policy: Policy,
    /// One memory for each known key, and one for all others with rights.
    memories: Vec<Memory>,
}

impl Authority {
    pub(super) fn new(policy: Policy) -> Authority {
        let memories = (0..=policy.keys.len()).map(|_| Memory::default()).collect();
        Authority { policy, memories }
    }

    /// Accepted signatures for registrations from neighbours.
    pub(super) const fn localhop(&self) -> Option<Trust> {
        self.policy.localhop
    }

    /// Accepted signatures for commands from this host.
    pub(super) const fn local(&self) -> Trust {
        self.policy.local
    }

    /// Permissions of applications without rights, and the route limit of each of their users.
    pub(super) const fn of_applications(&self) -> (Applications, usize) {
        (self.policy.applications, self.policy.max_registrations)
    }

    /// Verifies the signature of a command.
    pub(super) fn verify<'a>(
        &self,
        trust: Trust,
        module: Module,
        (interest, layout, wire): (&Interest<'a>, &InterestLayout, &'a [u8]),
    ) -> Result<Signed<'a>, Refusal> {
        let claim = claim(interest, layout, wire)?;
        let key = self.known_key(&claim.info);
        let verify = |verifier: &Verifier| match claim.is_command_interest {
            true => verifier.verify_command_interest(wire),
            false => verifier.verify_interest(wire),
        };
        self.check(trust, module, claim.info.typ, key, |verifier| verify(verifier).is_ok())?;
        let known = key.and_then(|key| self.policy.keys.get(key));
        let has_rights = known.is_some_and(|key| key.modules.contains(&module));
        Ok(Signed { claim, key, has_rights })
    }

    /// Checks that the time of a command is close to the forwarder's clock.
    pub(super) fn check_time(&self, signed: &Signed<'_>, wall_ms: u64) -> Result<(), Refusal> {
        let Signed { claim, key, .. } = signed;
        match claim.time_ms {
            // Commands from before the start are not remembered, so a command needs a time.
            None if key.is_some() => Err(Refusal::NoTime),
            None if !claim.has_nonce && claim.info.seq_num.is_none() => Err(Refusal::NothingSingle),
            Some(time) if time.abs_diff(wall_ms) > self.policy.clock_tolerance_ms => Err(Refusal::Untimely),
            _ => Ok(()),
        }
    }

    /// Remembers a command. Refuses it if it was received before, or may have been.
    pub(super) fn remember(&mut self, signed: &Signed<'_>, wall_ms: u64) -> Result<(), Refusal> {
        let room = self.policy.max_remembered;
        let memory = self.memories.get_mut(signed.key.unwrap_or(self.policy.keys.len()));
        let memory = memory.ok_or(Refusal::NotTrusted)?;
        memory.admit(signed, wall_ms, room)
    }

    /// Whether the signature of a Data, such as a prefix announcement, is trusted.
    pub(super) fn admit_data(&self, trust: Trust, data: &Data<'_>, wire: &[u8]) -> Result<(), Refusal> {
        let key = self.known_key(&data.signature.info);
        let verify = |verifier: &Verifier| verifier.verify_data(wire).is_ok();
        self.check(trust, Module::Rib, data.signature.info.typ, key, verify)
    }

    fn check(
        &self,
        trust: Trust,
        module: Module,
        typ: SignatureType,
        key: Option<usize>,
        verify: impl Fn(&Verifier) -> bool,
    ) -> Result<(), Refusal> {
        let is_right = |right: bool| if right { Ok(()) } else { Err(Refusal::BadSignature) };
        match key.and_then(|key| self.policy.keys.get(key)) {
            Some(key) => {
                is_right(verify(&key.verifier))?;
                let may = trust == Trust::AnySignature || key.modules.contains(&module);
                if may { Ok(()) } else { Err(Refusal::NotTrusted) }
            }
            None if typ == SignatureType::DigestSha256 => {
                is_right(verify(&Verifier::digest()))?;
                if trust == Trust::AnySignature { Ok(()) } else { Err(Refusal::NotTrusted) }
            }
            None if trust == Trust::AnySignature => Ok(()),
            None => Err(Refusal::NotTrusted),
        }
    }

    /// The known key named by a signature.
    fn known_key(&self, info: &SignatureInfo<'_>) -> Option<usize> {
        let Some(KeyLocator::Name(name)) = info.key_locator else { return None };
        let is_it =
            |key: &KnownKey| key.verifier.signature_type() == info.typ && name.starts_with(key.name.view());
        self.policy.keys.iter().position(is_it)
    }
}

/// The signature fields of an Interest in either format. Its parameters digest must be valid.
fn claim<'a>(interest: &Interest<'a>, layout: &InterestLayout, wire: &'a [u8]) -> Result<Claim<'a>, Refusal> {
    if !parameters_digest_is_valid(interest, layout, wire) {
        return Err(Refusal::BadSignature);
    }
    match &interest.signature {
        Some(signature) => {
            let covered = layout.signed.clone().and_then(|range| wire.get(range)).unwrap_or_default();
            Ok(Claim {
                info: signature.info,
                is_command_interest: false,
                time_ms: signature.info.time_ms,
                has_nonce: signature.info.nonce.is_some_and(|nonce| !nonce.is_empty()),
                identity: identity(interest.name, covered),
            })
        }
        None => command_interest(interest.name).ok_or(Refusal::Unsigned),
    }
}

/// Digest of the part that a Signed Interest's signature covers.
fn identity(name: NameRef<'_>, covered: &[u8]) -> [u8; 32] {
    let mut signed = Vec::with_capacity(name.value().len() + covered.len());
    let is_digest = |c: &Component<'_>| c.typ == component_type::PARAMETERS_SHA256_DIGEST;
    name.components().filter(|c| !is_digest(c)).for_each(|component| component.encode(&mut signed));
    signed.extend_from_slice(covered);
    sha256(&signed)
}

/// Parses the last four components of a Command Interest.
fn command_interest(name: NameRef<'_>) -> Option<Claim<'_>> {
    let first = name.len().checked_sub(COMMAND_INTEREST_COMPONENTS)?;
    let mut last = name.suffix(first).components();
    let (time, nonce, info, value) = (last.next()?, last.next()?, last.next()?, last.next()?);
    let info = Reader::new(info.value).expect(types::SIGNATURE_INFO).ok()?;
    Reader::new(value.value).expect(types::SIGNATURE_VALUE).ok()?;
    Some(Claim {
        info: SignatureInfo::decode(&info).ok()?,
        is_command_interest: true,
        time_ms: Some(time.as_number()?),
        has_nonce: !nonce.value.is_empty(),
        identity: sha256(name.parent().value()),
    })
}

/// The remembered commands of one key, or of all others with rights.
#[derive(Debug, Default)]
struct Memory {
    by_identity: BTreeMap<[u8; 32], u64>,
    by_time: BTreeSet<(u64, [u8; 32])>,
    /// Commands with this time or an earlier one may have been forgotten.
    forgotten_ms: Option<u64>,
    /// The highest sequence number.
    seq_num: Option<u64>,
}

impl Memory {
    fn admit(&mut self, signed: &Signed<'_>, wall_ms: u64, room: usize) -> Result<(), Refusal> {
        let Signed { claim, key, .. } = signed;
        // Sequence numbers of different unknown keys are unrelated.
        let seq_num = claim.info.seq_num.filter(|_| key.is_some());
        if claim.time_ms.zip(self.forgotten_ms).is_some_and(|(time, forgotten)| time <= forgotten) {
            return Err(Refusal::Untimely);
        }
        let is_old = seq_num.zip(self.seq_num).is_some_and(|(seq_num, last)| seq_num <= last);
        if is_old || self.by_identity.contains_key(&claim.identity) {
            return Err(Refusal::Replayed);
        }
        self.seq_num = seq_num.or(self.seq_num);
        self.remember(claim.identity, claim.time_ms.unwrap_or(wall_ms), room);
        Ok(())
    }

    fn remember(&mut self, identity: [u8; 32], time_ms: u64, room: usize) {
        self.by_identity.insert(identity, time_ms);
        self.by_time.insert((time_ms, identity));
        if self.by_time.len() > room
            && let Some((time, identity)) = self.by_time.pop_first()
        {
            self.by_identity.remove(&identity);
            self.forgotten_ms = self.forgotten_ms.max(Some(time));
        }
    }
}

/// Signs Data of management with a digest, which clients check.
pub(super) fn sign(data: &Data<'_>) -> Option<Vec<u8>> {
    let mut wire = Vec::with_capacity(data.wire_len() + 40);
    data.sign(&Signer::digest(), &mut wire).ok()?;
    Some(wire)
}
