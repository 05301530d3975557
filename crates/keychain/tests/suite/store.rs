//! The key chain in a folder.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use weir_keychain::store::StoreError;
use weir_keychain::{Algorithm, Certificate, Key, KeyChain, Moment, Validity};
use weir_packet::Name;

/// A folder that does not exist at first, and is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("weir-keychain-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn chain(&self) -> KeyChain {
        KeyChain::at(self.0.join("deep/keys"))
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.chain().folder()).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(uri: &str) -> Name {
    uri.parse().unwrap()
}

fn key(identity: &str, algorithm: Algorithm) -> Key {
    Key::generate(name(identity).view(), algorithm).unwrap()
}

fn certificate(key: &Key, version: u64) -> Certificate {
    let validity = Validity { not_before: Moment::EPOCH, not_after: Moment::LAST };
    Certificate::self_signed(key, Moment::from_unix_ms(version), validity).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_kept_is_read_back_and_private_keys_are_their_owners() {
    let folder = Folder::new("kept");
    let chain = folder.chain();
    assert!(chain.keys().unwrap().is_empty() && chain.certificates().unwrap().is_empty());
    assert!(matches!(chain.key(None), Err(StoreError::Empty(_))));
    for algorithm in Algorithm::ALL {
        let key = key(&format!("/alice/{algorithm}"), algorithm);
        chain.insert_key(&key).unwrap();
        let again = chain.key(Some(key.name().name())).unwrap();
        assert_eq!((again.name(), again.algorithm()), (key.name(), algorithm));
        assert_eq!(again.secret().expose(), key.secret().expose());
    }
    assert_eq!(mode(chain.folder()), 0o700);
    assert_eq!(folder.files().len(), 3, "nothing but the keys: {:?}", folder.files());
    assert!(folder.files().iter().all(|file| mode(file) == 0o600));
}

#[test]
fn a_private_key_is_never_overwritten() {
    let folder = Folder::new("overwritten");
    let chain = folder.chain();
    let first = key("/alice", Algorithm::Ed25519);
    chain.insert_key(&first).unwrap();
    let second = Key::generate_named(first.name().clone(), Algorithm::Ecdsa).unwrap();
    let error = chain.insert_key(&second).unwrap_err();
    assert!(matches!(&error, StoreError::KeyExists(name) if name == first.name()), "{error}");
    assert_eq!(chain.key(None).unwrap().secret().expose(), first.secret().expose());
    assert_eq!(folder.files().len(), 1);
}

#[test]
fn a_private_key_that_others_may_read_is_not_used() {
    let folder = Folder::new("exposed");
    let chain = folder.chain();
    chain.insert_key(&key("/alice", Algorithm::Ed25519)).unwrap();
    let file = folder.files().remove(0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let error = chain.key(None).unwrap_err();
    assert!(matches!(error, StoreError::Exposed(_, 0o640)), "{error}");
    assert!(error.to_string().contains("wanted 0600"));
}

#[test]
fn what_a_killed_process_left_is_in_nobodys_way() {
    let folder = Folder::new("left");
    let chain = folder.chain();
    let first = key("/alice", Algorithm::Ed25519);
    chain.insert_key(&first).unwrap();
    let left = folder.files().remove(0).with_extension(format!("new-{}", std::process::id()));
    fs::write(&left, "half a k").unwrap();
    assert!(chain.insert_key(&first).is_err());
    assert_eq!(chain.keys().unwrap().len(), 1);
    assert!(!left.exists());
}

#[test]
fn a_name_means_a_key_by_identity_key_or_certificate() {
    let folder = Folder::new("means");
    let chain = folder.chain();
    let [one, two] = [key("/alice", Algorithm::Ed25519), key("/alice", Algorithm::Ecdsa)];
    let other = key("/alice/phone", Algorithm::Hmac);
    [&one, &other].iter().for_each(|key| chain.insert_key(key).unwrap());
    let of = |uri: &str| chain.key(Some(name(uri).view())).map(|key| key.name().clone());
    assert_eq!(of("/alice").unwrap(), *one.name());
    assert_eq!(of("/alice/phone").unwrap(), *other.name());
    assert_eq!(of(&format!("{}/self/v=1", one.name())).unwrap(), *one.name());
    assert!(matches!(of("/alice/KEY"), Err(StoreError::NotFound(_))));
    chain.insert_key(&two).unwrap();
    assert!(matches!(of("/alice"), Err(StoreError::Several(names)) if names.len() == 2));
    assert!(matches!(chain.key(None), Err(StoreError::Several(names)) if names.len() == 3));
    chain.set_default(one.name()).unwrap();
    chain.set_default(two.name()).unwrap();
    assert_eq!(of("/alice").unwrap(), *two.name());
    assert_eq!(chain.key(None).unwrap().name(), two.name());
    assert_eq!(chain.default_key().unwrap().as_ref(), Some(two.name()));
}

#[test]
fn the_newest_certificate_of_a_key_is_meant_and_all_go_with_it() {
    let folder = Folder::new("newest");
    let chain = folder.chain();
    let [alice, bob] = [key("/alice", Algorithm::Ed25519), key("/bob", Algorithm::Ecdsa)];
    let [old, new] = [9, 256].map(|version| certificate(&alice, version));
    [&new, &old, &certificate(&bob, 1)].iter().for_each(|own| chain.insert_certificate(own).unwrap());
    chain.insert_certificate(&old).unwrap();
    [&alice, &bob].iter().for_each(|key| chain.insert_key(key).unwrap());
    chain.set_default(alice.name()).unwrap();
    let of = |name: &Name| chain.certificate(name.view());
    assert_eq!(of(&name("/alice")).unwrap(), new);
    assert_eq!(of(&alice.name().name().to_name()).unwrap(), new);
    assert_eq!(of(&old.name().to_name()).unwrap(), old);
    assert!(matches!(of(&name("/carol")), Err(StoreError::NotFound(_))));
    chain.remove_key(alice.name()).unwrap();
    assert!(matches!(of(&name("/alice")), Err(StoreError::NotFound(_))));
    assert_eq!(chain.default_key().unwrap(), None);
    assert_eq!((chain.keys().unwrap().len(), chain.certificates().unwrap().len()), (1, 1));
    assert!(matches!(chain.remove_key(alice.name()), Err(StoreError::NotFound(_))));
}

#[test]
fn a_damaged_file_is_named_where_it_is_meant_and_nowhere_else() {
    let folder = Folder::new("damaged");
    let chain = folder.chain();
    chain.insert_key(&key("/alice", Algorithm::Ed25519)).unwrap();
    let alice = chain.key(None).unwrap().name().clone();
    let file = folder.files().remove(0);
    fs::write(&file, "no key").unwrap();
    let bob = key("/bob", Algorithm::Ecdsa);
    chain.insert_key(&bob).unwrap();
    fs::write(chain.folder().join("odd.ndncert"), "no certificate").unwrap();
    chain.insert_certificate(&certificate(&bob, 1)).unwrap();
    let of = |name: &str| chain.key(Some(self::name(name).view())).map(|key| key.name().clone());
    assert_eq!(of("/bob").unwrap(), *bob.name());
    assert_eq!((chain.keys().unwrap().len(), chain.certificates().unwrap().len()), (1, 1));
    let is_named = |error: StoreError| error.to_string().contains(file.to_str().unwrap());
    // Only its own name identifies the key.
    assert!(is_named(of("/alice").unwrap_err()) && is_named(of(&alice.to_string()).unwrap_err()));
    assert!(matches!(of("/carol/KEY/x"), Err(StoreError::NotFound(_))));
    chain.set_default(&alice).unwrap();
    assert!(is_named(chain.key(None).unwrap_err()), "no other key signs instead");
    let unused: Vec<String> = chain.unused().unwrap().iter().map(ToString::to_string).collect();
    assert!(unused.len() == 2 && unused[1].contains("odd.ndncert"), "{unused:?}");
    fs::write(chain.folder().join("default"), "/alice").unwrap();
    assert!(chain.default_key().unwrap_err().to_string().contains("default"));
    assert_eq!(of("/bob").unwrap(), *bob.name());
}
