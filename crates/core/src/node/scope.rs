//! How far a name reaches.

use crate::name::HashedName;

/// How far a name reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Anywhere.
    Global,
    /// `/localhop`: an Interest that a neighbour sent goes on to applications only.
    Hop,
    /// `/localhost`: applications on this host only.
    Host,
}

/// The scope of a name, which its first component says.
#[inline]
pub(crate) fn scope_of(name: &HashedName) -> Scope {
    match name.prefix_wire(name.len().min(1)) {
        b"\x08\x09localhost" => Scope::Host,
        b"\x08\x08localhop" => Scope::Hop,
        _ => Scope::Global,
    }
}
