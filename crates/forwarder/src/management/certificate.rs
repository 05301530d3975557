//! Keys that are trusted, out of files with certificates.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weir_packet::{Component, Data, Verifier};

use weir_management::Module;

use super::authority::KnownKey;

/// The key of a certificate in a file: a Data as bytes, or in base64 with or without the lines
/// `-----BEGIN …-----` and `-----END …-----` around it. It is trusted with everything.
///
/// # Errors
/// What is wrong with the file, in words.
pub fn known_key(path: &Path) -> Result<KnownKey, String> {
    let file = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{file}: {error}"))?;
    let wire = unwrapped(&bytes).ok_or_else(|| format!("{file} is no Data, and not in base64 either"))?;
    key_of(&wire).ok_or_else(|| format!("{file} holds no certificate with an ECDSA, Ed25519 or RSA key"))
}

/// The Data, without its base64.
fn unwrapped(bytes: &[u8]) -> Option<Vec<u8>> {
    if Data::decode(bytes).is_ok() {
        return Some(bytes.to_vec());
    }
    let text = std::str::from_utf8(bytes).ok()?;
    // Headers such as `Name: /alice/KEY/…` stand between the first line and the text.
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("-----") && !line.contains(':'));
    STANDARD.decode(lines.collect::<String>()).ok()
}

fn key_of(wire: &[u8]) -> Option<KnownKey> {
    let certificate = Data::decode(wire).ok()?;
    // /<identity>/KEY/<key id>/<issuer>/<version>
    let parts = certificate.name.len();
    let marker = certificate.name.component(parts.checked_sub(4)?)?;
    if marker != Component::generic(b"KEY") {
        return None;
    }
    let public = certificate.payload();
    let verifier = Verifier::ecdsa(public)
        .or_else(|_| Verifier::ed25519(public))
        .or_else(|_| Verifier::rsa(public))
        .ok()?;
    let modules = Module::ALL.to_vec();
    Some(KnownKey { name: certificate.name.prefix(parts - 2).to_name(), verifier, modules })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::{Name, Signer};

    fn certificate(uri: &str) -> Vec<u8> {
        let signer = Signer::generate_ecdsa().unwrap();
        let name: Name = uri.parse().unwrap();
        let public = signer.public_key().unwrap();
        let mut wire = Vec::new();
        let info = weir_packet::SignatureInfo::new(signer.signature_type());
        Data::new(name.view(), public, info).sign(&signer, &mut wire).unwrap();
        wire
    }

    #[test]
    fn a_key_comes_out_of_bytes_out_of_base64_and_out_of_a_block() {
        let wire = certificate("/alice/KEY/k1/self/v=1");
        let text = STANDARD.encode(&wire);
        let block =
            format!("-----BEGIN NDN CERT-----\nName: /alice/KEY/k1\n\n{text}\n-----END NDN CERT-----\n");
        for form in [wire.clone(), text.into_bytes(), block.into_bytes()] {
            let found = key_of(&unwrapped(&form).unwrap()).unwrap();
            assert_eq!(found.name.to_string(), "/alice/KEY/k1");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert!(unwrapped(b"\xFF\x00").is_none());
        assert!(key_of(&certificate("/alice/k1/self/v=1")).is_none());
        assert!(key_of(b"").is_none());
        assert!(known_key(Path::new("/nowhere/at/all")).unwrap_err().contains("/nowhere/at/all"));
    }
}
