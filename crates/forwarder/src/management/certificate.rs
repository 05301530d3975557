//! Trusted keys, read from files with certificates.

use std::path::Path;

use weir_keychain::{Certificate, form};
use weir_management::Module;

use super::authority::KnownKey;

/// Reads the keys of the certificates in a file, in any form that the key chain reads. They may sign every command. Their
/// validity periods and issuers are not checked, because the operator names the file.
///
/// # Errors
/// Returns a description of the file's error.
pub fn known_keys(path: &Path) -> Result<Vec<KnownKey>, String> {
    let file = path.display();
    let bytes = std::fs::read(path).map_err(|error| format!("{file}: {error}"))?;
    let certificates = form::certificates(&bytes).map_err(|error| format!("{file}: {error}"))?;
    certificates
        .iter()
        .map(|certificate| known_key(certificate).map_err(|error| format!("{file}: {error}")))
        .collect()
}

fn known_key(certificate: &Certificate) -> Result<KnownKey, String> {
    let verifier = certificate.verifier().map_err(|error| format!("{}: {error}", certificate.name()))?;
    let name = certificate.key_name().name().to_name();
    Ok(KnownKey { name, verifier, modules: Module::ALL.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_keychain::{Algorithm, Key, Moment, Validity};
    use weir_packet::{Name, NameRef};

    fn certificate(identity: &str) -> Certificate {
        let identity: Name = identity.parse().unwrap();
        let key = Key::generate(identity.view(), Algorithm::Ecdsa).unwrap();
        let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
        Certificate::self_signed(&key, Moment::EPOCH, validity).unwrap()
    }

    #[test]
    fn all_certificates_of_a_file_are_trusted() {
        let path = std::env::temp_dir().join(format!("weir-known-{}", std::process::id()));
        let [alice, bob] = ["/alice", "/bob"].map(certificate);
        std::fs::write(&path, form::certificate_pem(&alice) + &form::certificate_pem(&bob)).unwrap();
        let keys = known_keys(&path).unwrap();
        let names: Vec<NameRef<'_>> = keys.iter().map(|key| key.name.view()).collect();
        assert_eq!(names, [alice.key_name().name(), bob.key_name().name()]);
        std::fs::write(&path, b"\xFF\x00").unwrap();
        assert!(known_keys(&path).unwrap_err().contains("neither a certificate nor a key"));
        std::fs::remove_file(&path).unwrap();
        assert!(known_keys(&path).unwrap_err().contains(path.to_str().unwrap()));
    }
}
