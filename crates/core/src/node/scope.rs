//! The scope of a name: this host, the neighbours, or everywhere.

use crate::name::HashedName;

/// How far a name reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Anywhere.
    Global,
    /// `/localhop`: the node forwards an Interest from a neighbour only to applications.
    Hop,
    /// `/localhost`: applications on this host only.
    Host,
}

/// The scope of a name, given by its first component.
#[inline]
pub(crate) fn scope_of(name: &HashedName) -> Scope {
    // TYPE, LENGTH and first letter of the first component decide for almost all names.
    if !matches!(name.wire(), [8, 8 | 9, b'l', ..]) {
        return Scope::Global;
    }
    match name.prefix_wire(name.len().min(1)) {
        b"\x08\x09localhost" => Scope::Host,
        b"\x08\x08localhop" => Scope::Hop,
        _ => Scope::Global,
    }
}
