//! Harnesses for the crate `weir-keychain`. They panic if a property is violated.

use weir_keychain::form::{self, Item};
use weir_keychain::{
    Algorithm, Certificate, Key, KeyName, Moment, NameRule, SafeBag, Step, Trust, Validator,
};
use weir_packet::tlv::Reader;
use weir_packet::{Component, Data, Name};

/// Maximum number of PBKDF2 iterations. More would find nothing new.
const MAX_ITERATIONS: u32 = 100;

/// Reads a file with certificates and keys. The result is written and read again unchanged, in every form.
pub fn file(bytes: &[u8]) {
    let name = KeyName::new(Name::new().with(Component::generic(b"a")).view(), Component::generic(b"k"));
    for name in [None, Some(&name)] {
        match form::read(bytes, name) {
            Ok(items) => items.iter().for_each(check),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let _ = form::certificates(bytes);
    if let Ok(bag) = SafeBag::decode(bytes) {
        check(&Item::SafeBag(bag));
    }
}

fn again(bytes: &[u8]) -> Item {
    let mut items = form::read(bytes, None).expect("what is written is read");
    assert_eq!(items.len(), 1);
    items.remove(0)
}

fn check(item: &Item) {
    match item {
        Item::Certificate(certificate) => check_certificate(certificate),
        Item::SafeBag(bag) => {
            check_certificate(bag.certificate());
            assert!(matches!(again(&bag.encode()), Item::SafeBag(read) if read == *bag));
            if bag.iterations().is_ok_and(|iterations| iterations <= MAX_ITERATIONS) {
                let _ = bag.open(b"");
            }
        }
        Item::Key(key) => {
            let forms = [Some(form::key_pem(key)), form::ndnd_key_pem(key)];
            for form in forms.iter().flatten() {
                let Item::Key(read) = again(form.as_bytes()) else {
                    panic!("a key is read as another thing")
                };
                assert_eq!((read.name(), read.algorithm()), (key.name(), key.algorithm()));
                assert_eq!(read.secret().expose(), key.secret().expose());
            }
        }
    }
}

fn check_certificate(certificate: &Certificate) {
    let forms = [
        certificate.wire().to_vec(),
        form::base64(certificate.wire()).into_bytes(),
        form::certificate_pem(certificate).into_bytes(),
    ];
    for form in forms {
        assert!(matches!(again(&form), Item::Certificate(read) if read == *certificate));
    }
    assert!(certificate.name().starts_with(certificate.key_name().name()));
    if let Ok(verifier) = certificate.verifier() {
        let _ = verifier.verify_data(certificate.wire());
    }
}

/// Reads packets: Data to verify, and certificates for those that are needed. The anchor's key is created here and
/// signs none of them, so nothing must be accepted.
pub fn trust(bytes: &[u8]) {
    let name = KeyName::new(Name::new().view(), Component::generic(b"anchor"));
    // A fixed key, so that runs are reproducible: the seed is 32 zeros (RFC 8410).
    let mut pkcs8 = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20".to_vec();
    pkcs8.extend([0; 32]);
    let key = Key::from_pkcs8(name, &pkcs8).expect("a key of Ed25519");
    assert_eq!(key.algorithm(), Algorithm::Ed25519);
    let validity = weir_keychain::Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
    let anchor = Certificate::self_signed(&key, Moment::EPOCH, validity).expect("it signs");
    for rule in [NameRule::Any, NameRule::Hierarchical] {
        let validator = Validator::new(Trust::Anchor(anchor.clone())).expect("a key of Ed25519");
        ask(&mut validator.with_rule(rule).with_depth(3), bytes);
    }
    let mut any = Validator::new(Trust::Any).expect("no key");
    let step = any.check(bytes, Moment::EPOCH);
    assert!(!matches!(step, Step::Wants(_)));
}

fn ask(validator: &mut Validator, bytes: &[u8]) {
    let mut packets = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Ok(Some(element)) = reader.element() {
        packets.extend(bytes.get(element.start..element.end()));
    }
    let now = Moment::from_unix_ms(1_796_083_200_000);
    for data in &packets {
        // Each round either ends, or takes one of the three certificates on the path or of the three others of each.
        for _ in 0..=12 {
            match validator.check(data, now) {
                Step::Valid => panic!("what the anchor did not sign is believed"),
                Step::Invalid(reason) => {
                    assert!(!reason.to_string().is_empty());
                    break;
                }
                Step::Wants(wanted) => {
                    assert!(Data::decode(data).is_ok() && !wanted.is_empty());
                    let taken = packets.iter().any(|packet| validator.supply(wanted.view(), packet).is_ok());
                    if !taken {
                        break;
                    }
                }
                Step::Seeks(sought) => {
                    let taken = packets.iter().any(|packet| validator.supply(sought.view(), packet).is_ok());
                    if !taken {
                        validator.do_without(sought.view());
                    }
                }
            }
        }
    }
}
