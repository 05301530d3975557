//! Authorisation of commands: signatures, keys, and protection against repetition.
//!
//! A command is signed in one of two formats: as a Signed Interest (packet format v0.3: time, nonce
//! and sequence number in InterestSignatureInfo), or as the older Command Interest (timestamp, nonce,
//! SignatureInfo and SignatureValue as the last four components of the name).
//!
//! Commands may come many in one millisecond and in any order, so it is not enough to demand that
//! time goes up. What was signed is remembered as a digest; what is remembered already is refused. The
//! memory is bounded: when it is full, the oldest is forgotten, and from then on nothing as old as that
//! is taken. Nothing is forgotten only because its time is out of the window: when a clock that was wrong
//! is set right, the time comes back.
//!
//! Only commands that have rights are remembered. An application without rights may sign any command
//! that it may give, so to give one again gains it nothing; and the memory of others is not its to fill.

use std::collections::{BTreeMap, BTreeSet};

use weir_management::Module;
use weir_packet::sign::{Signer, parameters_digest_is_valid, sha256};
use weir_packet::tlv::{Reader, types};
use weir_packet::{
    Component, Data, Interest, InterestLayout, KeyLocator, Name, NameRef, SignatureInfo, SignatureType,
    Verifier, component_type,
};

/// Components that a Command Interest has behind its parameters.
pub(super) const COMMAND_INTEREST_COMPONENTS: usize = 4;

/// Who may command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Whoever signs well: a signature by a key that is not known is taken as it is. A digest, and
    /// signatures by known keys, must be right.
    AnySignature,
    /// Only known keys.
    KnownKeys,
}

/// What applications of this host may do that have no rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applications {
    /// Ask for datasets and notifications.
    Show,
    /// Also register and unregister prefixes for their own faces that nobody else has.
    Register,
    /// All that those with rights may.
    All,
}

/// A key, and what it may command.
#[derive(Debug)]
pub struct KnownKey {
    /// Name of the key: that in KeyLocators, or a prefix of it.
    pub name: Name,
    /// Verifies what was signed with it.
    pub verifier: Verifier,
    /// The modules that it may command.
    pub modules: Vec<Module>,
}

/// Who may command, and how old commands may be.
#[derive(Debug)]
pub struct Policy {
    /// Who may command under `/localhost/nfd`, from this host.
    pub local: Trust,
    /// What applications without rights may do. A command that a known key has signed has rights.
    pub applications: Applications,
    /// Routes at most to the faces of one user without rights; all without a known user count as one.
    pub max_registrations: usize,
    /// Who may register routes under `/localhop/nfd`, from neighbours too; `None`: nobody.
    pub localhop: Option<Trust>,
    /// Whose commands are obeyed where [`Trust::KnownKeys`] is wanted.
    pub keys: Vec<KnownKey>,
    /// How far the time of a command may be from the forwarder's, either way, ms.
    pub clock_tolerance_ms: u64,
    /// Commands that are remembered for each known key, and for all others with rights together.
    pub max_remembered: usize,
}

/// As NFD has it, local commands with any signature, within 120 s; but applications without rights may only register.
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

/// Why a command is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no signature.
    Unsigned,
    /// Its signature or digest is wrong.
    BadSignature,
    /// Its key is not known, or may not command this.
    NotTrusted,
    /// A known key has signed it, and it has no time.
    NoTime,
    /// It has nothing that sets it apart from the same command at another time.
    NothingSingle,
    /// Its time is too far from the forwarder's.
    Untimely,
    /// It was there before.
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

/// What a signature says of itself, in either format.
struct Claim<'a> {
    info: SignatureInfo<'a>,
    is_command_interest: bool,
    time_ms: Option<u64>,
    has_nonce: bool,
    /// Digest of what is signed.
    identity: [u8; 32],
}

/// A command whose signature is right, as far as that can be known.
pub(super) struct Signed<'a> {
    claim: Claim<'a>,
    /// The known key that has signed it.
    key: Option<usize>,
    /// Whether this key may give it.
    pub(super) has_rights: bool,
}

/// Says whether a command may be given: its signature, its time, and that it is not an old one again.
#[derive(Debug)]
pub(super) struct Authority {
    policy: Policy,
    /// One for each known key, and one for all others with rights.
    memories: Vec<Memory>,
}

impl Authority {
    pub(super) fn new(policy: Policy) -> Authority {
        let memories = (0..=policy.keys.len()).map(|_| Memory::default()).collect();
        Authority { policy, memories }
    }

    /// Who may register from neighbours.
    pub(super) const fn localhop(&self) -> Option<Trust> {
        self.policy.localhop
    }

    /// Who may command from this host.
    pub(super) const fn local(&self) -> Trust {
        self.policy.local
    }

    /// What applications without rights may do, and how many routes each of their users may have.
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

    /// Whether the time of a command is about that of the forwarder.
    pub(super) fn check_time(&self, signed: &Signed<'_>, wall_ms: u64) -> Result<(), Refusal> {
        let Signed { claim, key, .. } = signed;
        match claim.time_ms {
            // What was given before the forwarder started is not remembered: its time has to say so.
            None if key.is_some() => Err(Refusal::NoTime),
            None if !claim.has_nonce && claim.info.seq_num.is_none() => Err(Refusal::NothingSingle),
            Some(time) if time.abs_diff(wall_ms) > self.policy.clock_tolerance_ms => Err(Refusal::Untimely),
            _ => Ok(()),
        }
    }

    /// Remembers a command, unless it was given before or may have been.
    pub(super) fn remember(&mut self, signed: &Signed<'_>, wall_ms: u64) -> Result<(), Refusal> {
        let room = self.policy.max_remembered;
        let memory = self.memories.get_mut(signed.key.unwrap_or(self.policy.keys.len()));
        let memory = memory.ok_or(Refusal::NotTrusted)?;
        memory.admit(signed, wall_ms, room)
    }

    /// Whether the signature of a Data, such as a prefix announcement, may be trusted.
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

    /// The known key that made a signature, as it says.
    fn known_key(&self, info: &SignatureInfo<'_>) -> Option<usize> {
        let Some(KeyLocator::Name(name)) = info.key_locator else { return None };
        let is_it =
            |key: &KnownKey| key.verifier.signature_type() == info.typ && name.starts_with(key.name.view());
        self.policy.keys.iter().position(is_it)
    }
}

/// What an Interest's signature says, whatever its format; its parameters digest must be right.
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

/// Digest of what a Signed Interest's signature covers.
fn identity(name: NameRef<'_>, covered: &[u8]) -> [u8; 32] {
    let mut signed = Vec::with_capacity(name.value().len() + covered.len());
    let is_digest = |c: &Component<'_>| c.typ == component_type::PARAMETERS_SHA256_DIGEST;
    name.components().filter(|c| !is_digest(c)).for_each(|component| component.encode(&mut signed));
    signed.extend_from_slice(covered);
    sha256(&signed)
}

/// Reads a Command Interest's last four components.
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

/// The commands of one key, or of all others that have rights.
#[derive(Debug, Default)]
struct Memory {
    by_identity: BTreeMap<[u8; 32], u64>,
    by_time: BTreeSet<(u64, [u8; 32])>,
    /// Commands of this time and before may have been forgotten.
    forgotten_ms: Option<u64>,
    /// The highest sequence number.
    seq_num: Option<u64>,
}

impl Memory {
    fn admit(&mut self, signed: &Signed<'_>, wall_ms: u64, room: usize) -> Result<(), Refusal> {
        let Signed { claim, key, .. } = signed;
        // Sequence numbers of unknown keys have nothing to do with each other.
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

/// Signs what management says: a digest, which clients check.
pub(super) fn sign(data: &Data<'_>) -> Option<Vec<u8>> {
    let mut wire = Vec::with_capacity(data.wire_len() + 40);
    data.sign(&Signer::digest(), &mut wire).ok()?;
    Some(wire)
}
