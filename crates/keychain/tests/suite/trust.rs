//! Chains of certificates: which are accepted, and why others are not.
use proptest::prelude::*;
use weir_keychain::trust::Refused;
use weir_keychain::{
    Algorithm, Certificate, Key, Moment, NameRule, Reason, Step, Trust, Validator, Validity,
};
use weir_packet::sign::VerifyError;
use weir_packet::{Component, Data, Name, NameRef, SignatureInfo, SignatureType, Signer, Verifier};

const NOW: Moment = Moment::EPOCH;

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn key(identity: &str, algorithm: Algorithm) -> Key {
    Key::generate(name(identity).view(), algorithm).unwrap()
}

fn always() -> Validity {
    Validity { not_before: Moment::EPOCH, not_after: Moment::LAST }
}

fn anchor(key: &Key) -> Certificate {
    Certificate::self_signed(key, NOW, always()).unwrap()
}

fn issued(key: &Key, issuer: &Key, validity: Validity) -> Certificate {
    let public = key.public_key_der().unwrap();
    Certificate::issue(key.name(), &public, (issuer, Component::generic(b"up")), 1, validity).unwrap()
}

fn data(uri: &str, key: &Key) -> Vec<u8> {
    let name = name(uri);
    let mut wire = Vec::new();
    key.sign(&Data::new(name.view(), b"content", SignatureInfo::new(SignatureType::Null)), &mut wire)
        .unwrap();
    wire
}

fn signed_by(uri: &str, signer: &Signer) -> Vec<u8> {
    let name = name(uri);
    let mut wire = Vec::new();
    let data = Data::new(name.view(), b"content", SignatureInfo::new(SignatureType::Null));
    data.sign(signer, &mut wire).unwrap();
    wire
}

fn flip(wire: &[u8]) -> Vec<u8> {
    let mut flipped = wire.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    flipped
}

fn validator(anchor: &Certificate) -> Validator {
    Validator::new(Trust::Anchor(anchor.clone())).unwrap()
}

/// Checks until there is an answer, with these certificates available. Returns the answer and the fetched
/// names.
fn ask(validator: &mut Validator, wire: &[u8], now: Moment, to_be_had: &[&Certificate]) -> (Step, Vec<Name>) {
    let mut fetched = Vec::new();
    loop {
        let step = validator.check(wire, now);
        let (Step::Wants(wanted) | Step::Seeks(wanted)) = &step else { return (step, fetched) };
        let found = to_be_had.iter().find(|certificate| certificate.name().starts_with(wanted.view()));
        let Some(found) = found else {
            if let Step::Wants(_) = step {
                return (step, fetched);
            }
            validator.do_without(wanted.view());
            continue;
        };
        validator.supply(wanted.view(), found.wire()).unwrap();
        fetched.push(wanted.clone());
        assert!(fetched.len() <= 40, "it never ends");
    }
}

#[test]
fn anybody_is_believed_whose_digest_is_right() {
    let mut validator = Validator::new(Trust::Any).unwrap();
    let digest = signed_by("/a", &Signer::digest());
    assert_eq!(validator.check(&digest, NOW), Step::Valid);
    let wrong = Step::Invalid(Reason::Signature(name("/a"), VerifyError::BadSignature));
    assert_eq!(validator.check(&flip(&digest), NOW), wrong);
    assert_eq!(validator.check(&data("/a", &key("/b", Algorithm::Ed25519)), NOW), Step::Valid);
    assert!(matches!(validator.check(b"x", NOW), Step::Invalid(Reason::Decode(_))));
}

#[test]
fn a_given_key_is_believed_whatever_the_names() {
    for algorithm in Algorithm::ALL {
        let alice = key("/alice", algorithm);
        let mut validator = Validator::new(Trust::Key(alice.verifier().unwrap())).unwrap();
        assert_eq!(validator.check(&data("/bob/x", &alice), NOW), Step::Valid);
        assert_eq!(validator.check(&signed_by("/x", alice.signer()), NOW), Step::Valid);
        let other = data("/alice/x", &key("/alice", algorithm));
        let wrong = Step::Invalid(Reason::Signature(name("/alice/x"), VerifyError::BadSignature));
        assert_eq!(validator.check(&other, NOW), wrong, "{algorithm}");
        let named = Trust::NamedKey(alice.name().clone(), alice.verifier().unwrap());
        let mut named = Validator::new(named).unwrap();
        let Step::Invalid(reason) = named.check(&data("/alice/x", &key("/lab", algorithm)), NOW) else {
            panic!("signed by another {algorithm}");
        };
        let said = reason.to_string();
        assert!(said.starts_with("/alice/x is signed by /lab/KEY/"), "{said}");
        assert!(said.ends_with(&format!("not by the given key {}", alice.name())), "{said}");
        assert_eq!(named.check(&data("/bob/x", &alice), NOW), Step::Valid);
        let damaged = named.check(&flip(&data("/alice/x", &alice)), NOW);
        assert!(
            matches!(damaged, Step::Invalid(Reason::Signature(_, VerifyError::BadSignature))),
            "{damaged:?}"
        );
        let digest = signed_by("/x", &Signer::digest());
        assert!(matches!(
            validator.check(&digest, NOW),
            Step::Invalid(Reason::Signature(_, VerifyError::WrongType(SignatureType::DigestSha256)))
        ));
    }
    let mut validator = Validator::new(Trust::Key(Verifier::digest())).unwrap();
    assert_eq!(validator.check(&signed_by("/x", &Signer::digest()), NOW), Step::Valid);
}

#[test]
fn the_anchors_own_key_needs_no_certificate() {
    let root = key("/org", Algorithm::Ecdsa);
    let mut validator = validator(&anchor(&root));
    assert_eq!(validator.check(&data("/org/x", &root), NOW), Step::Valid);
    let outside = validator.check(&data("/com/x", &root), NOW);
    let wanted = Reason::Identity { name: name("/com/x"), identity: name("/org") };
    assert_eq!(outside, Step::Invalid(wanted));
    let mut relaxed = validator.with_rule(NameRule::Any);
    assert_eq!(relaxed.check(&data("/com/x", &root), NOW), Step::Valid);
}

#[test]
fn certificates_are_asked_for_one_by_one_and_once() {
    let [root, team, alice] =
        ["/org", "/org/team", "/org/team/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let [of_team, of_alice] = [issued(&team, &root, always()), issued(&alice, &team, always())];
    let mut validator = validator(&anchor(&root));
    let wire = data("/org/team/alice/file/seg=0", &alice);
    let (step, fetched) = ask(&mut validator, &wire, NOW, &[&of_team, &of_alice]);
    assert_eq!(step, Step::Valid);
    assert_eq!(fetched, [alice.name().name().to_name(), team.name().name().to_name()]);
    let (step, fetched) = ask(&mut validator, &data("/org/team/alice/file/seg=1", &alice), NOW, &[]);
    assert_eq!((step, fetched.len()), (Step::Valid, 0));
    // A second member needs one more certificate, and no other.
    let bob = key("/org/team/bob", Algorithm::Ecdsa);
    let of_bob = issued(&bob, &team, always());
    let (step, fetched) = ask(&mut validator, &data("/org/team/bob/x", &bob), NOW, &[&of_bob]);
    assert_eq!((step, fetched.len()), (Step::Valid, 1));
}

#[test]
fn forged_data_makes_nobody_fetch_a_second_certificate_nor_forget_a_good_one() {
    let [root, team, alice] =
        ["/org", "/org/team", "/org/team/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let [of_team, of_alice] = [issued(&team, &root, always()), issued(&alice, &team, always())];
    let wire = data("/org/team/alice/x", &alice);
    let mut validator = validator(&anchor(&root));
    let (step, fetched) = ask(&mut validator, &flip(&wire), NOW, &[&of_team, &of_alice]);
    assert!(matches!(step, Step::Invalid(Reason::Signature(_, VerifyError::BadSignature))), "{step:?}");
    assert_eq!(fetched.len(), 1);
    assert_eq!(ask(&mut validator, &wire, NOW, &[&of_team, &of_alice]).1.len(), 2);
    assert!(matches!(validator.check(&flip(&wire), NOW), Step::Invalid(_)));
    assert_eq!(ask(&mut validator, &wire, NOW, &[]), (Step::Valid, Vec::new()));
}

#[test]
fn a_false_certificate_does_not_keep_the_right_one_out() {
    let [root, alice] = ["/org", "/org/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let right = issued(&alice, &root, always());
    // Another key with the name of alice's key.
    let false_key = Key::generate_named(alice.name().clone(), Algorithm::Ed25519).unwrap();
    let false_one = issued(&false_key, &root, always());
    let wire = data("/org/alice/x", &alice);
    let mut validator = validator(&anchor(&root));
    assert!(matches!(ask(&mut validator, &wire, NOW, &[&false_one]).0, Step::Invalid(Reason::Signature(..))));
    assert_eq!(ask(&mut validator, &wire, NOW, &[&right]).0, Step::Valid);
}

#[test]
fn names_that_a_signer_could_never_sign_are_not_even_asked_about() {
    let root = key("/org", Algorithm::Ed25519);
    let mut strict = validator(&anchor(&root));
    let wire = data("/org/x", &key("/victim", Algorithm::Ed25519));
    let wanted = Reason::Identity { name: name("/org/x"), identity: name("/victim") };
    assert_eq!(strict.check(&wire, NOW), Step::Invalid(wanted));
    let mut relaxed = validator(&anchor(&root)).with_rule(NameRule::Any);
    assert!(matches!(relaxed.check(&wire, NOW), Step::Wants(_)));
}

#[test]
fn a_chain_that_ends_in_itself_or_goes_round_is_refused() {
    let [root, alice, bob] = ["/org", "/", "/"].map(|identity| key(identity, Algorithm::Ed25519));
    let mut validator = validator(&anchor(&root)).with_rule(NameRule::Any).with_depth(3);
    let own = anchor(&alice);
    let (step, _) = ask(&mut validator, &data("/x", &alice), NOW, &[&own]);
    assert_eq!(step, Step::Invalid(Reason::OtherAnchor(own.name().to_name())));
    let round = [issued(&alice, &bob, always()), issued(&bob, &alice, always())];
    let (step, fetched) = ask(&mut validator, &data("/x", &alice), NOW, &[&round[0], &round[1]]);
    assert_eq!((step, fetched.len()), (Step::Invalid(Reason::TooDeep(3)), 2));
}

#[test]
fn what_names_no_key_cannot_lead_to_the_anchor() {
    let root = key("/org", Algorithm::Ed25519);
    let mut validator = validator(&anchor(&root));
    for signer in [Signer::digest(), Signer::hmac(b"x")] {
        let wanted = Reason::NoKeyName(name("/org/x"), signer.signature_type());
        assert_eq!(validator.check(&signed_by("/org/x", &signer), NOW), Step::Invalid(wanted));
    }
}

#[test]
fn only_the_certificate_that_was_asked_for_is_taken() {
    let [root, alice, bob] = ["/org", "/org/a", "/org/b"].map(|identity| key(identity, Algorithm::Ed25519));
    let mut validator = validator(&anchor(&root));
    let Step::Wants(wanted) = validator.check(&data("/org/a/x", &alice), NOW) else { panic!() };
    let other = issued(&bob, &root, always());
    let refused = validator.supply(wanted.view(), other.wire()).unwrap_err();
    assert_eq!(refused, Refused::NotWanted(other.name().to_name()));
    let nothing = validator.supply(wanted.view(), &data("/org/a/x", &alice)).unwrap_err();
    assert!(matches!(nothing, Refused::Certificate(_)));
    assert!(validator.supply(NameRef::ROOT, other.wire()).is_err());
}

fn issued_as(issuer_id: &[u8], key: &Key, issuer: &Key, version: u64, validity: Validity) -> Certificate {
    let (public, issuer) = (key.public_key_der().unwrap(), (issuer, Component::generic(issuer_id)));
    Certificate::issue(key.name(), &public, issuer, version, validity).unwrap()
}

#[test]
fn a_certificate_that_leads_nowhere_does_not_hide_the_one_that_the_anchor_issued() {
    let [root, alice] = ["/org", "/org/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let now = Moment::from_unix_ms(1_000_000);
    let past = Validity { not_before: Moment::EPOCH, not_after: Moment::from_unix_ms(1000) };
    let wire = data("/org/alice/x", &alice);
    let root_id = root.name().id().value.to_vec();
    for issuer in [b"NA".as_slice(), b"org", &root_id] {
        let right = issued_as(issuer, &alice, &root, 1, always());
        for useless in [anchor(&alice), issued_as(b"up", &alice, &root, 2, past)] {
            let mut validator = validator(&anchor(&root));
            // The name of the key returns the first certificate.
            let (step, fetched) = ask(&mut validator, &wire, now, &[&useless, &right]);
            assert_eq!((step, fetched.len()), (Step::Valid, 2));
            assert_eq!(fetched[1], right.name().prefix(right.name().len() - 1).to_name());
            assert_eq!(ask(&mut validator, &wire, now, &[]), (Step::Valid, Vec::new()));
            assert!(matches!(validator.check(&flip(&wire), now), Step::Invalid(_)));
            // A forged packet removes only the useless certificate, and requests nothing.
            let (step, fetched) = ask(&mut validator, &flip(&wire), now, &[&anchor(&alice)]);
            assert!(matches!(step, Step::Invalid(Reason::Signature(..))), "{step:?}");
            assert!(fetched.len() <= 1, "{fetched:?}");
        }
    }
}

#[test]
fn of_a_key_three_more_certificates_are_sought_at_most() {
    let [root, alice] = ["/org", "/org/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let wire = data("/org/alice/x", &alice);
    let own = anchor(&alice);
    let other = Key::generate_named(alice.name().clone(), Algorithm::Ed25519).unwrap();
    let root_id = root.name().id().value.to_vec();
    // These are not usable either: one is self-signed, the other is of another key.
    let others =
        [issued_as(&root_id, &alice, &alice, 1, always()), issued_as(b"NA", &other, &root, 1, always())];
    let mut validator = validator(&anchor(&root));
    for _ in 0..2 {
        let (step, fetched) = ask(&mut validator, &wire, NOW, &[&own, &others[0], &others[1]]);
        assert_eq!(step, Step::Invalid(Reason::OtherAnchor(own.name().to_name())));
        assert_eq!(fetched.len(), 3, "a second check requests everything again: {fetched:?}");
    }
    // A certificate with a known name is not requested again.
    let own =
        issued_as(b"NA", &alice, &root, 1, Validity { not_before: Moment::LAST, not_after: Moment::LAST });
    let (step, fetched) = ask(&mut validator, &wire, NOW, &[&own]);
    assert_eq!(
        (step, fetched.len()),
        (Step::Invalid(Reason::Untimely(own.name().to_name(), own.validity())), 1)
    );
}

#[test]
fn a_locator_may_name_the_certificate() {
    let [root, alice] = ["/org", "/org/a"].map(|identity| key(identity, Algorithm::Ed25519));
    let certificate = issued(&alice, &root, always());
    let uri = name("/org/a/x");
    let info = SignatureInfo::new(SignatureType::Null).with_key(certificate.name());
    let mut wire = Vec::new();
    Data::new(uri.view(), b"x", info).sign(alice.signer(), &mut wire).unwrap();
    let mut validator = validator(&anchor(&root));
    let (step, fetched) = ask(&mut validator, &wire, NOW, &[&certificate]);
    assert_eq!((step, fetched), (Step::Valid, vec![certificate.name().to_name()]));
}

#[test]
fn a_chain_is_valid_as_long_as_all_of_it_is() {
    let at = Moment::from_unix_ms;
    let period = |from, to| Validity { not_before: at(from), not_after: at(to) };
    let [root, team, alice] =
        ["/org", "/org/team", "/org/team/alice"].map(|identity| key(identity, Algorithm::Ed25519));
    let top = Certificate::self_signed(&root, NOW, period(0, 90_000)).unwrap();
    let of_team = issued(&team, &root, period(10_000, 50_000));
    let of_alice = issued(&alice, &team, period(20_000, 80_000));
    let wire = data("/org/team/alice/x", &alice);
    let mut validator = validator(&top);
    let mut at_second = |second: u64| ask(&mut validator, &wire, at(second * 1000), &[&of_team, &of_alice]).0;
    let untimely = |own: &Certificate| Step::Invalid(Reason::Untimely(own.name().to_name(), own.validity()));
    assert_eq!(at_second(5), untimely(&of_alice));
    assert_eq!(at_second(20), Step::Valid);
    assert_eq!(at_second(50), Step::Valid);
    assert_eq!(at_second(51), untimely(&of_team));
    assert_eq!(at_second(81), untimely(&of_alice));
    assert_eq!(at_second(40), Step::Valid);
    let mut of_root = weir_keychain::Validator::new(Trust::Anchor(top.clone())).unwrap();
    assert_eq!(of_root.check(&data("/org/x", &root), at(91_000)), untimely(&top));
}

/// The damage to a link of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    None,
    Signature,
    Time,
    Identity,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// A chain is valid if and only if each of its links is. No more is fetched than the chain has.
    #[test]
    fn a_chain_is_valid_if_each_link_is(
        links in prop::collection::vec(
            prop_oneof![
                5 => Just(Damage::None),
                1 => Just(Damage::Signature),
                1 => Just(Damage::Time),
                1 => Just(Damage::Identity),
            ],
            0..6,
        ),
        data_damage in prop_oneof![3 => Just(Damage::None), 1 => Just(Damage::Signature), 1 => Just(Damage::Identity)],
        depth in 0..7usize,
        strict in any::<bool>(),
    ) {
        let now = Moment::from_unix_ms(1_000_000);
        let past = Validity { not_before: Moment::EPOCH, not_after: Moment::from_unix_ms(1000) };
        let root = key("/o", Algorithm::Ed25519);
        let mut identity = name("/o");
        let (mut keys, mut certificates) = (vec![root], Vec::new());
        for (index, damage) in links.iter().enumerate() {
            // The identity is under its issuer's, or beside it.
            identity = match damage {
                Damage::Identity => name(&format!("/beside{index}")),
                _ => identity.with(Component::generic(b"x")),
            };
            let key = Key::generate(identity.view(), Algorithm::Ed25519).unwrap();
            let issuer = keys.last().unwrap();
            let validity = if *damage == Damage::Time { past } else { always() };
            let mut made = issued(&key, issuer, validity);
            if *damage == Damage::Signature {
                made = Certificate::decode(&flip(made.wire())).unwrap();
            }
            certificates.push(made);
            keys.push(key);
        }
        let uri = match data_damage {
            Damage::Identity => "/elsewhere/data".to_owned(),
            _ => format!("{identity}/data"),
        };
        let mut wire = data(&uri, keys.last().unwrap());
        if data_damage == Damage::Signature {
            wire = flip(&wire);
        }
        let hurts = |damage: &Damage| match damage {
            Damage::None => false,
            Damage::Identity => strict,
            Damage::Signature | Damage::Time => true,
        };
        let is_right = links.len() <= depth && !links.iter().chain([&data_damage]).any(hurts);
        let rule = if strict { NameRule::Hierarchical } else { NameRule::Any };
        let top = anchor(&keys[0]);
        let mut validator = validator(&top).with_rule(rule).with_depth(depth);
        let to_be_had: Vec<&Certificate> = certificates.iter().collect();
        let (step, fetched) = ask(&mut validator, &wire, now, &to_be_had);
        prop_assert_eq!(step == Step::Valid, is_right, "{:?}", step);
        prop_assert!(matches!(step, Step::Valid | Step::Invalid(_)));
        prop_assert!(fetched.len() <= links.len().min(depth));
        // A second check has the same result, and does not fetch proven certificates again.
        let (again, fetched) = ask(&mut validator, &wire, now, &to_be_had);
        prop_assert_eq!(again == Step::Valid, is_right);
        prop_assert!(!is_right || fetched.is_empty());
    }

    /// Changing any bit of a Data or of its certificate makes it invalid.
    #[test]
    fn a_flipped_bit_is_not_believed(place in any::<prop::sample::Index>(), bit in 0..8u8, in_data in any::<bool>()) {
        let [root, alice] = ["/o", "/o/a"].map(|identity| key(identity, Algorithm::Ed25519));
        let certificate = issued(&alice, &root, always());
        let mut wire = data("/o/a/x", &alice);
        let mut validator = validator(&anchor(&root));
        let mut bytes = certificate.wire().to_vec();
        let changed = if in_data { &mut wire } else { &mut bytes };
        let place = place.index(changed.len());
        changed[place] ^= 1 << bit;
        let step = match validator.check(&wire, NOW) {
            Step::Wants(wanted) => match validator.supply(wanted.view(), &bytes) {
                Ok(()) => validator.check(&wire, NOW),
                Err(_) => Step::Wants(wanted),
            },
            step => step,
        };
        prop_assert_ne!(step, Step::Valid);
    }
}
