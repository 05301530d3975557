//! Keys and certificates made by other programs: ndnd 1.5.3 (`sec keygen`, `sec sign-cert`), python-ndn 0.5.2
//! (`pyndnsec key-gen`, `export`) and NDNts 0.0.20250307 (`@ndn/keychain`, `@ndn/ndnsec` on Node.js 20). The
//! keys are used only here.
use std::fs;
use std::path::Path;

use weir_keychain::form::{self, Item};
use weir_keychain::{Algorithm, Certificate, Key, KeyName, Moment, Reason, SafeBag, Step, Trust, Validator};
use weir_packet::sign::VerifyError;
use weir_packet::{Data, Name, SignatureInfo, SignatureType};

/// A day on which all of them are valid: 2026-12-01.
const THEN: u64 = 1_796_083_200_000;

fn file(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)).unwrap()
}

fn certificate(name: &str) -> Certificate {
    let mut all = form::certificates(&file(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}

fn key(name: &str) -> Key {
    match form::read(&file(name), None).unwrap().remove(0) {
        Item::Key(key) => key,
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns a Data signed by a key.
fn data(key: &Key) -> Vec<u8> {
    let name = key.name().identity().to_name().with_segment(0);
    let mut wire = Vec::new();
    key.sign(&Data::new(name.view(), b"x", SignatureInfo::new(SignatureType::Null)), &mut wire).unwrap();
    wire
}

#[test]
fn self_signed_certificates_of_others_verify_themselves_and_what_their_keys_sign() {
    for (name, uri) in [
        ("ndnd-ed25519.cert", "/vectors/ndnd/KEY/"),
        ("ndnd-ecdsa.cert", "/vectors/ndnd/KEY/"),
        ("ndnd-rsa.cert", "/vectors/ndnd/KEY/"),
        ("python-ndn-ecdsa.cert", "/vectors/python/KEY/"),
        ("ndnts-ed25519.cert", "/vectors/ndnts/KEY/"),
        ("ndnts-ecdsa.cert", "/vectors/ndnts/KEY/"),
    ] {
        let read = certificate(name);
        assert!(read.name().to_string().starts_with(uri), "{name}: {read:?}");
        assert!(read.is_self_signed() && read.validity().contains(Moment::from_unix_ms(THEN)), "{name}");
        assert_eq!(read.verifier().unwrap().verify_data(read.wire()), Ok(()), "{name}");
        assert_eq!(read.data().freshness_period_ms(), weir_keychain::certificate::FRESHNESS_MS, "{name}");
    }
}

#[test]
fn private_keys_of_ndnd_are_read_and_written_back() {
    for (name, algorithm) in [("ndnd-ed25519", Algorithm::Ed25519), ("ndnd-ecdsa", Algorithm::Ecdsa)] {
        let key = key(&format!("{name}.key"));
        let certificate = certificate(&format!("{name}.cert"));
        assert_eq!((key.name(), key.algorithm()), (certificate.key_name(), algorithm));
        assert_eq!(key.public_key_der().as_deref(), Some(certificate.public_key_der()));
        assert_eq!(certificate.verifier().unwrap().verify_data(&data(&key)), Ok(()));
        // Ed25519 is deterministic, so the whole file equals ndnd's except for the case of the names'
        // letters.
        let written = form::ndnd_key_pem(&key).unwrap();
        let body = |text: &str| text.split("\n\n").nth(1).unwrap().to_owned();
        if algorithm == Algorithm::Ed25519 {
            assert_eq!(body(&written), body(&String::from_utf8(file("ndnd-ed25519.key")).unwrap()));
        }
    }
}

#[test]
fn a_private_key_of_python_ndn_is_read() {
    // The key file is an ECPrivateKey in base64, without a name.
    let certificate = certificate("python-ndn-ecdsa.cert");
    let body = String::from_utf8(file("python-ndn-ecdsa.privkey")).unwrap();
    let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{body}\n-----END EC PRIVATE KEY-----\n");
    let Item::Key(key) = form::read(pem.as_bytes(), Some(certificate.key_name())).unwrap().remove(0) else {
        panic!()
    };
    assert_eq!(certificate.verifier().unwrap().verify_data(&data(&key)), Ok(()));
}

#[test]
fn safe_bags_of_ndnts_open() {
    for name in ["ndnts-ed25519", "ndnts-ecdsa"] {
        let bag = SafeBag::decode(&file(&format!("{name}.safebag"))).unwrap();
        assert_eq!(*bag.certificate(), certificate(&format!("{name}.cert")), "{name}");
        // OpenSSL's default, as in ndn-cxx.
        assert_eq!(bag.iterations(), Ok(2048));
        let key = bag.open(b"vectors").unwrap();
        assert_eq!(bag.certificate().verifier().unwrap().verify_data(&data(&key)), Ok(()), "{name}");
        assert!(bag.open(b"Vectors").is_err());
    }
}

#[test]
fn a_chain_of_ndnd_leads_to_its_anchor() {
    let now = Moment::from_unix_ms(THEN);
    let member = key("ndnd-member.key");
    let issued = certificate("ndnd-member.cert");
    assert!(!issued.is_self_signed());
    let mut validator = Validator::new(Trust::Anchor(certificate("ndnd-ed25519.cert"))).unwrap();
    let wire = data(&member);
    let Step::Wants(wanted) = validator.check(&wire, now) else { panic!() };
    assert_eq!(KeyName::of_key(wanted.view()).as_ref(), Some(member.name()));
    validator.supply(wanted.view(), issued.wire()).unwrap();
    assert_eq!(validator.check(&wire, now), Step::Valid);
    // Another key of the same identity did not issue it.
    let mut other = Validator::new(Trust::Anchor(certificate("ndnd-ecdsa.cert"))).unwrap();
    other.supply(wanted.view(), issued.wire()).unwrap();
    assert!(matches!(other.check(&wire, now), Step::Wants(name) if name != wanted));
    let mut forged = wire.clone();
    *forged.last_mut().unwrap() ^= 1;
    let expected = Reason::Signature(data_name(&wire), VerifyError::BadSignature);
    assert_eq!(validator.check(&forged, now), Step::Invalid(expected));
    let untimely = loop {
        match validator.check(&wire, Moment::EPOCH) {
            Step::Seeks(sought) => validator.do_without(sought.view()),
            step => break step,
        }
    };
    assert!(matches!(untimely, Step::Invalid(Reason::Untimely(..))), "{untimely:?}");
}

fn data_name(wire: &[u8]) -> Name {
    Data::decode(wire).unwrap().name.to_name()
}
