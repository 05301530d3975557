//! Harness for a consumer that receives segments in any order and repeatedly, some of them false.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use weir_app::get::{Assembly, Progress};
use weir_keychain::{Certificate, Key, KeyName, Moment, Step, Trust, Validator, Validity};
use weir_packet::{
    Component, ContentType, Data, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, Signer,
    component_type,
};

use crate::input::Choices;

/// Maximum number of operations on one object.
const OPERATIONS: usize = 200;
const NOW: Moment = Moment::EPOCH;
const DIGEST: SignatureType = SignatureType::DigestSha256;

/// Keys, and the producer's certificates.
struct Keys {
    own: Key,
    stranger: Key,
    anchor: Certificate,
    issued: Certificate,
    self_signed: Certificate,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let [root, own, stranger] =
        [("/o", 1), ("/o/a", 2), ("/o/a", 3)].map(|(identity, seed)| key(identity, seed));
    let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
    let self_signed = |key| Certificate::self_signed(key, NOW, validity).expect("it signs");
    let public = own.public_key_der().expect("a key of Ed25519");
    let issuer = (&root, Component::generic(b"NA"));
    let issued = Certificate::issue(own.name(), &public, issuer, 1, validity).expect("it signs");
    Keys { anchor: self_signed(&root), self_signed: self_signed(&own), issued, own, stranger }
});

/// A fixed key, so that runs are reproducible (RFC 8410).
fn key(identity: &str, seed: u8) -> Key {
    let identity: Name = identity.parse().expect("a name");
    let name = KeyName::new(identity.view(), Component::generic(&[seed]));
    let mut pkcs8 = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    pkcs8.extend([seed; 32]);
    Key::from_pkcs8(name, &pkcs8).expect("a key of Ed25519")
}

/// Kinds of segments from the producer or an attacker.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Right,
    WithoutEnd,
    WithAnotherEnd,
    WithOtherContent,
    Nack,
    ByStranger,
    WithDigest,
    Tampered,
    Cut,
}

/// Half of them are valid.
const MADE: [Made; 16] = {
    use Made::*;
    [
        Right,
        Right,
        Right,
        Right,
        Right,
        Right,
        Right,
        Right,
        WithoutEnd,
        WithAnotherEnd,
        WithOtherContent,
        Nack,
        ByStranger,
        WithDigest,
        Tampered,
        Cut,
    ]
};

/// The result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Number of delivered segments.
    pub delivered: u64,
    /// Whether everything was delivered.
    pub is_complete: bool,
    /// Whether an error occurred.
    pub has_failed: bool,
}

/// An object during its fetch, and independent knowledge about it.
struct World {
    assembly: Assembly,
    validator: Validator,
    /// Whether Data have a digest and no key is trusted.
    is_any: bool,
    object: Name,
    first: u64,
    count: u64,
    /// Contents of validly signed segments.
    right: BTreeMap<u64, Vec<Vec<u8>>>,
    /// Received segments.
    came: BTreeSet<u64>,
    /// Last segments that valid Data declared.
    said: BTreeSet<u64>,
    /// Segments that the producer declared absent.
    absent: BTreeSet<u64>,
    delivered: u64,
}

/// Operations on an object. Nothing is delivered twice, out of order, without a valid signature or after an error, and
/// no more is held than arrived out of order.
pub fn assembly(bytes: &[u8]) -> Outcome {
    let mut choices = Choices::new(bytes);
    let mut world = World::new(&mut choices);
    for _ in 0..OPERATIONS {
        if choices.is_over() {
            break;
        }
        world.step(&mut choices);
        world.check();
    }
    world.outcome()
}

impl World {
    fn new(choices: &mut Choices<'_>) -> World {
        let (anchor, key) = (KEYS.anchor.clone(), KEYS.own.verifier().expect("a key of Ed25519"));
        let (trust, is_any) = match choices.below(3) {
            0 => (Trust::Any, true),
            1 => (Trust::Key(key), false),
            _ => (Trust::Anchor(anchor), false),
        };
        let (first, count) = (choices.below(3) as u64, 1 + choices.below(12) as u64);
        let object: Name = "/o/a/v=1".parse().expect("a name");
        let last = match choices.below(3) {
            0 => None,
            1 => Some(first + count - 1),
            _ => Some(choices.number()),
        };
        World {
            assembly: Assembly::new(object.clone(), first, last),
            validator: Validator::new(trust).expect("its key can be used"),
            is_any,
            object,
            first,
            count,
            right: BTreeMap::new(),
            came: BTreeSet::new(),
            said: last.into_iter().collect(),
            absent: BTreeSet::new(),
            delivered: 0,
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        if choices.below(4) == 3 {
            self.hand_in(choices);
            return;
        }
        let (segment, wire) = self.data(choices);
        self.came.insert(segment);
        self.with(|assembly, validator, deliver| assembly.take(segment, &wire, (validator, NOW), deliver));
    }

    /// Performs an operation on the assembly, and checks what it delivers.
    fn with(
        &mut self,
        act: impl FnOnce(&mut Assembly, &mut Validator, &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>),
    ) {
        let (right, next, failed) = (&self.right, self.first + self.delivered, self.assembly.has_failed());
        let mut delivered = 0;
        act(&mut self.assembly, &mut self.validator, &mut |progress| {
            let Progress::Content { segment, content, .. } = progress else {
                panic!("it delivers content only")
            };
            assert!(!failed, "nothing behind an error");
            assert_eq!(segment, next + delivered, "in order, and once");
            assert!(right[&segment].iter().any(|right| right == content), "what was rightly signed");
            delivered += 1;
            ControlFlow::Continue(())
        });
        self.delivered += delivered;
    }

    /// Supplies a certificate if one is needed, or not. Segments may have arrived meanwhile.
    fn hand_in(&mut self, choices: &mut Choices<'_>) {
        let (keeps, which) = (choices.below(2) == 1, choices.below(3));
        let meanwhile = keeps.then(|| self.data(choices));
        let Some(wanted) = self.assembly.take_wanted() else { return };
        assert!(!self.is_any);
        if let Some((segment, wire)) = meanwhile {
            self.came.insert(segment);
            self.assembly.keep(segment, &wire);
        }
        let (Step::Wants(name) | Step::Seeks(name)) = &wanted else { panic!("a certificate is wanted") };
        let certificates = [&KEYS.issued, &KEYS.self_signed];
        if let Some(certificate) = certificates.get(which) {
            // A wrong certificate may be refused.
            let _ = self.validator.supply(name.view(), certificate.wire());
        } else if let Step::Seeks(name) = &wanted {
            self.validator.do_without(name.view());
        }
        self.with(|assembly, validator, deliver| assembly.verify_kept(validator, NOW, deliver));
    }

    /// Creates a Data, valid or not.
    fn data(&mut self, choices: &mut Choices<'_>) -> (u64, Vec<u8>) {
        let segment = self.first + choices.below(self.count as usize + 2) as u64;
        let (mut content, mut last) =
            (vec![segment as u8; segment as usize % 5], Some(self.first + self.count - 1));
        let (mut content_type, mut signed_by) = (None, Some(&KEYS.own));
        let made = choices.of(&MADE);
        match made {
            Made::WithoutEnd => last = None,
            Made::WithAnotherEnd => last = Some(choices.number()),
            Made::WithOtherContent => content.push(choices.byte()),
            Made::Nack => content_type = Some(ContentType::Nack),
            Made::ByStranger => signed_by = Some(&KEYS.stranger),
            Made::WithDigest => signed_by = None,
            Made::Right | Made::Tampered | Made::Cut => {}
        }
        let name = self.object.clone().with_segment(segment);
        let mut wire = sign(name.view(), &content, (last, content_type), signed_by.filter(|_| !self.is_any));
        let is_right = match made {
            Made::Tampered => {
                let at = choices.below(256) % wire.len();
                wire[at] ^= 1 << choices.below(8);
                // Without trusted keys only digests are checked, so a Data with another signature type is accepted.
                self.is_any && Data::decode(&wire).is_ok_and(|data| data.signature.info.typ != DIGEST)
            }
            Made::Cut => {
                wire.truncate(choices.below(64));
                false
            }
            Made::ByStranger | Made::WithDigest => self.is_any,
            _ => true,
        };
        if is_right {
            self.said.extend(last);
            if content_type.is_none() {
                self.right.entry(segment).or_default().push(content);
            } else {
                self.absent.insert(segment);
            }
        }
        (segment, wire)
    }

    fn check(&mut self) {
        let assembly = &self.assembly;
        assert_eq!(assembly.next(), self.first + self.delivered);
        assert!(
            assembly.held() <= self.came.range(assembly.next()..).count(),
            "{} are held",
            assembly.held()
        );
        assert!(assembly.last().is_none_or(|last| self.said.contains(&last)), "somebody said so");
        let amount_is_right = match (assembly.last(), assembly.amount()) {
            (Some(last), amount) => amount == Some(last.saturating_add(1)),
            (None, Some(amount)) => self.absent.contains(&amount),
            (None, None) => true,
        };
        assert!(amount_is_right, "nothing that is false says what is asked for: {:?}", assembly.amount());
        if assembly.is_complete() {
            assert_eq!(
                assembly.last().map(|last| last.saturating_add(1).max(self.first)),
                Some(assembly.next())
            );
        }
    }

    fn outcome(&mut self) -> Outcome {
        let (mut has_failed, is_complete) = (self.assembly.has_failed(), self.assembly.is_complete());
        let failure = self.assembly.failure();
        assert_eq!(failure.is_err(), has_failed);
        if let Err(error) = failure {
            assert!(!error.to_string().is_empty());
        }
        assert!(self.assembly.failure().is_ok(), "it is told once");
        // Requesting it again without success ends the fetch.
        while let Some((segment, _)) = self.assembly.take_refused() {
            assert!(segment >= self.assembly.next(), "what was delivered is not asked for again");
            has_failed |= !is_complete;
        }
        Outcome { delivered: self.delivered, is_complete, has_failed }
    }
}

/// Creates a Data signed by a key or with a digest.
fn sign(
    name: NameRef<'_>,
    content: &[u8],
    (last, content_type): (Option<u64>, Option<ContentType>),
    key: Option<&Key>,
) -> Vec<u8> {
    let mut buffer = [0; 8];
    let final_block_id = last.map(|last| Component::number(component_type::SEGMENT, last, &mut buffer));
    let meta = MetaInfo { final_block_id, content_type, ..MetaInfo::NONE };
    let data = Data { meta, ..Data::new(name, content, SignatureInfo::new(DIGEST)) };
    let mut wire = Vec::new();
    match key {
        Some(key) => key.sign(&data, &mut wire).expect("it signs"),
        None => data.sign(&Signer::digest(), &mut wire).expect("it fits"),
    }
    wire
}
