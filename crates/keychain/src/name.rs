//! Names of keys and certificates (NDN Certificate Format v2, section "Certificate Name"):
//! `/<identity>/KEY/<key id>` and `/<identity>/KEY/<key id>/<issuer>/<version>`.

use std::fmt;

use weir_packet::{Component, Name, NameRef, component_type};

/// The component between identity and key id.
const KEY: Component<'static> = Component { typ: component_type::GENERIC, value: b"KEY" };

/// The name of a key: `/<identity>/KEY/<key id>`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyName(Name);

impl KeyName {
    /// Returns the name of the key of an identity with this id.
    pub fn new(identity: NameRef<'_>, id: Component<'_>) -> KeyName {
        KeyName(identity.to_name().with(KEY).with(id))
    }

    /// Returns the name as a key's name; `None` if it does not have that form.
    pub fn of_key(name: NameRef<'_>) -> Option<KeyName> {
        KeyName::ending_before(name, 0)
    }

    /// Returns the key of the certificate with this name; `None` if it is not a certificate's name.
    pub fn of_certificate(name: NameRef<'_>) -> Option<KeyName> {
        KeyName::ending_before(name, 2)
    }

    /// Returns the key that a KeyLocator names. The locator may be the name of the key, or of a certificate,
    /// the latter also without its version or with its implicit digest.
    pub fn of_locator(name: NameRef<'_>) -> Option<KeyName> {
        (0..4).find_map(|behind| KeyName::ending_before(name, behind))
    }

    /// Returns the first part of a name, if it is a key's name and `behind` components follow.
    fn ending_before(name: NameRef<'_>, behind: usize) -> Option<KeyName> {
        let len = name.len().checked_sub(behind)?;
        (name.component(len.checked_sub(2)?)? == KEY).then(|| KeyName(name.prefix(len).to_name()))
    }

    /// Returns the name.
    pub fn name(&self) -> NameRef<'_> {
        self.0.view()
    }

    /// Returns the identity.
    pub fn identity(&self) -> NameRef<'_> {
        self.0.view().prefix(self.0.len() - 2)
    }

    /// Returns the key id.
    pub fn id(&self) -> Component<'_> {
        self.0.view().last().unwrap_or(KEY)
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(uri: &str, of: fn(NameRef<'_>) -> Option<KeyName>) -> Option<String> {
        of(uri.parse::<Name>().unwrap().view()).map(|key| key.to_string())
    }

    #[test]
    fn a_key_is_found_in_its_own_name_and_in_a_certificates() {
        let name = KeyName::of_key("/a/b/KEY/%01".parse::<Name>().unwrap().view()).unwrap();
        assert_eq!((name.identity().to_string(), name.id()), ("/a/b".into(), Component::generic(&[1])));
        assert_eq!(KeyName::new(name.identity(), name.id()), name);
        assert_eq!(key("/a/KEY/k/self/v=1", KeyName::of_certificate).as_deref(), Some("/a/KEY/k"));
        for wrong in ["/", "/KEY", "/a/KEY", "/a/k", "/a/KEY/k/self", "/a/32=KEY/k"] {
            assert_eq!(key(wrong, KeyName::of_key), None, "{wrong}");
        }
        assert_eq!(key("/KEY/k", KeyName::of_key).as_deref(), Some("/KEY/k"));
    }

    #[test]
    fn a_locator_may_name_the_key_or_a_certificate_of_it() {
        let digest = format!("/a/KEY/k/self/v=1/sha256digest={}", "00".repeat(32));
        for uri in ["/a/KEY/k", "/a/KEY/k/self", "/a/KEY/k/self/v=1", &digest] {
            assert_eq!(key(uri, KeyName::of_locator).as_deref(), Some("/a/KEY/k"), "{uri}");
        }
        assert_eq!(key("/a/KEY/k/1/2/3/4", KeyName::of_locator), None);
        assert_eq!(key("/a/b", KeyName::of_locator), None);
    }
}
