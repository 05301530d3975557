//! Names that carry the hashes of their prefixes.
//!
//! Every table is keyed by a name or by one of its prefixes. A name is therefore hashed once, when the packet
//! enters, and carries the hash of each of its prefixes. The hash of a prefix combines the hash of the next
//! shorter prefix with one more component, so all hashes cost one pass.
//!
//! The hash H of a name without components is 0. The hash of a prefix p with one more component c is
//! SipHash-1-3 of H(p) and the TLV of c, with a key of 128 bits. Names come from strangers, so the hash must
//! resist chosen input: SipHash is a pseudorandom function, and without its key names collide only by chance.
//! Among n prefixes, two have the same hash with a probability of n²/2⁶⁵, regardless of who chooses them.
//!
//! A node that talks to strangers draws its key at random and keeps it secret. The simulator has a fixed key,
//! so that runs repeat.

use crate::siphash::Key;
use core::fmt;
use weir_packet::tlv::{nni_len, var_len};

/// Largest number of components of a name. The limit bounds loops over components.
pub const MAX_COMPONENTS: usize = 64;

/// Longest name, bytes of component TLVs: the name in the largest NDN packet.
pub const MAX_NAME_BYTES: usize = 8800;

/// [`HashedName::release`] frees buffers larger than this, so hostile names do not permanently enlarge tables
/// that keep their buffers.
const RETAINED_BYTES: usize = 1024;

/// TLV-TYPE of an ImplicitSha256DigestComponent.
pub const TYPE_IMPLICIT_DIGEST: u32 = 1;
/// TLV-TYPE of a GenericNameComponent.
pub const TYPE_GENERIC: u32 = 8;
/// TLV-TYPE of a SegmentNameComponent (NDN naming conventions).
pub const TYPE_SEGMENT: u32 = 50;

/// The hash of the name without components, for every key.
const EMPTY_HASH: u64 = 0;

/// The keyed hash of names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NameHasher(Key);

impl NameHasher {
    /// Makes a hasher with a public key, for a simulated node, a replay or a test.
    pub const fn new(seed: u64) -> NameHasher {
        NameHasher(Key::new(seed, 0))
    }

    /// Makes a hasher with a random key, for a node that talks to strangers.
    pub const fn with_key(key: [u64; 2]) -> NameHasher {
        NameHasher(Key::new(key[0], key[1]))
    }

    /// The hash of the prefix with hash `prefix` and one more component. `tlv` is that component, with its
    /// TYPE and LENGTH.
    #[inline]
    pub fn extend(&self, prefix: u64, tlv: &[u8]) -> u64 {
        self.0.hash(prefix, tlv)
    }

    /// The hash of a nonce together with the name whose hash is `name`.
    #[inline]
    pub(crate) fn with_nonce(&self, name: u64, nonce: u32) -> u64 {
        self.0.hash(name, &nonce.to_le_bytes())
    }
}

/// Does not print the key.
impl fmt::Debug for NameHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameHasher").finish_non_exhaustive()
    }
}

/// Why bytes are not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// A component extends beyond the end of the name; the offset is that of the component.
    Truncated(usize),
    /// A number is not in its shortest form; the offset is that of the component.
    NotShortest(usize),
    /// A component's TYPE is not in 1 to 65535; the offset is that of the component.
    BadType(usize),
    /// More than [`MAX_COMPONENTS`] components.
    TooManyComponents,
    /// More than [`MAX_NAME_BYTES`] bytes.
    TooLong,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Truncated(at) => write!(f, "the name component at byte {at} ends beyond the name"),
            NameError::NotShortest(at) => {
                write!(
                    f,
                    "the name component at byte {at} has a TYPE or LENGTH that is not in its shortest form"
                )
            }
            NameError::BadType(at) => {
                write!(f, "the name component at byte {at} has a TYPE outside 1 to 65535")
            }
            NameError::TooManyComponents => write!(f, "a name has at most {MAX_COMPONENTS} components"),
            NameError::TooLong => write!(f, "a name has at most {MAX_NAME_BYTES} bytes"),
        }
    }
}

impl core::error::Error for NameError {}

/// Names of up to this length and up to [`SHORT_COMPONENTS`] components are stored inline.
const SHORT_BYTES: usize = 40;
const SHORT_COMPONENTS: usize = 4;
/// Number of stored prefixes of a short name: all but the empty one and the name itself.
const SHORT_PREFIXES: usize = SHORT_COMPONENTS - 1;

/// A name with the hash of each of its prefixes.
///
/// Compare only names of the same [`NameHasher`]. All `assign` methods keep the buffers, so reusing a name
/// allocates nothing. A short name is copied as a block of fixed size.
#[derive(Default)]
#[repr(C)]
pub struct HashedName {
    short: Short,
    /// The bytes and prefixes of a long name. The buffer is kept for the next long name while the name is
    /// short.
    long: Option<Box<Long>>,
}

/// The compared fields come first: tables hold tens of thousands of names, and each cache line counts.
#[derive(Clone, Copy)]
#[repr(C)]
struct Short {
    /// The hash of the whole name.
    hash: u64,
    wire_len: u16,
    len: u8,
    /// `true` if the name is in `HashedName::long`.
    is_long: bool,
    /// End and hash of each prefix of a short name, except the whole name.
    ends: [u8; SHORT_PREFIXES],
    /// The bytes of a short name, padded with zeros: short names are compared as blocks.
    wire: [u8; SHORT_BYTES],
    hashes: [u64; SHORT_PREFIXES],
}

/// A long name; the fields are as in [`Short`].
#[derive(Clone, Default)]
struct Long {
    wire: Vec<u8>,
    hashes: Vec<u64>,
    ends: Vec<u16>,
}

impl Default for Short {
    fn default() -> Short {
        Short {
            hash: EMPTY_HASH,
            wire_len: 0,
            len: 0,
            is_long: false,
            ends: [0; SHORT_PREFIXES],
            wire: [0; SHORT_BYTES],
            hashes: [0; SHORT_PREFIXES],
        }
    }
}

impl Clone for HashedName {
    fn clone(&self) -> HashedName {
        // Do not copy an unused buffer.
        HashedName { short: self.short, long: if self.short.is_long { self.long.clone() } else { None } }
    }
}

impl HashedName {
    /// Makes the name without components.
    #[inline]
    pub fn new() -> HashedName {
        HashedName::default()
    }

    /// Parses the component TLVs of a name (the VALUE of a Name TLV).
    pub fn parse(hasher: &NameHasher, wire: &[u8]) -> Result<HashedName, NameError> {
        let mut name = HashedName::new();
        name.assign_wire(hasher, wire)?;
        Ok(name)
    }

    /// Like [`HashedName::parse`], but overwrites this name. After an error it is empty.
    #[inline]
    pub fn assign_wire(&mut self, hasher: &NameHasher, wire: &[u8]) -> Result<(), NameError> {
        self.clear();
        let read = self.walk(hasher, wire);
        if read.is_err() {
            self.clear();
        }
        read
    }

    /// Appends the components of `wire` until one is invalid.
    #[inline]
    fn walk(&mut self, hasher: &NameHasher, wire: &[u8]) -> Result<(), NameError> {
        if wire.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong);
        }
        let mut at = 0;
        while at < wire.len() {
            let (_, _, end) = component_at(wire, at)?;
            let tlv = wire.get(at..end).ok_or(NameError::Truncated(at))?;
            if self.len() == MAX_COMPONENTS {
                return Err(NameError::TooManyComponents);
            }
            self.append(tlv, hasher.extend(self.hash(), tlv));
            at = end;
        }
        Ok(())
    }

    /// Appends a component TLV. `hash` is the hash of the resulting name; the caller has checked the bounds.
    #[inline]
    fn append(&mut self, tlv: &[u8], hash: u64) {
        let short = &mut self.short;
        let (start, len) = (usize::from(short.wire_len), usize::from(short.len));
        let end = start + tlv.len();
        if !short.is_long && len < SHORT_COMPONENTS && end <= SHORT_BYTES {
            short.wire[start..end].copy_from_slice(tlv);
            short.note_prefix();
        } else {
            self.append_long(tlv);
        }
        self.short.hash = hash;
        self.short.wire_len = end as u16;
        self.short.len += 1;
    }

    #[cold]
    fn append_long(&mut self, tlv: &[u8]) {
        let long = self.long.get_or_insert_default();
        let short = &mut self.short;
        if !short.is_long {
            let prefixes = usize::from(short.len).saturating_sub(1);
            long.clear();
            long.wire.extend_from_slice(&short.wire[..usize::from(short.wire_len)]);
            long.hashes.extend_from_slice(&short.hashes[..prefixes]);
            long.ends.extend(short.ends[..prefixes].iter().map(|&end| u16::from(end)));
            short.is_long = true;
        }
        long.wire.extend_from_slice(tlv);
        if short.len > 0 {
            long.hashes.push(short.hash);
            long.ends.push(short.wire_len);
        }
    }

    /// Appends a component. After an error the name is unchanged.
    pub fn push(&mut self, hasher: &NameHasher, typ: u32, value: &[u8]) -> Result<(), NameError> {
        let start = self.wire().len();
        if typ == 0 || typ > 0xFFFF {
            return Err(NameError::BadType(start));
        }
        let len = var_len(u64::from(typ)) + var_len(value.len() as u64) + value.len();
        if start + len > MAX_NAME_BYTES {
            return Err(NameError::TooLong);
        }
        if self.len() == MAX_COMPONENTS {
            return Err(NameError::TooManyComponents);
        }
        let mut small = [0; 40];
        let mut large = Vec::new();
        let tlv = if len <= small.len() {
            &mut small[..len]
        } else {
            large.resize(len, 0);
            &mut large[..]
        };
        let at = write_var(tlv, 0, typ as u16);
        let at = write_var(tlv, at, value.len() as u16);
        tlv[at..].copy_from_slice(value);
        self.append(tlv, hasher.extend(self.hash(), tlv));
        Ok(())
    }

    /// Sets the name to a copy of `other`.
    #[inline]
    pub fn assign(&mut self, other: &HashedName) {
        self.short = other.short;
        if other.short.is_long {
            self.assign_long(other);
        }
    }

    #[cold]
    fn assign_long(&mut self, other: &HashedName) {
        let Some(from) = &other.long else { return };
        let long = self.long.get_or_insert_default();
        long.clear();
        long.wire.extend_from_slice(&from.wire);
        long.hashes.extend_from_slice(&from.hashes);
        long.ends.extend_from_slice(&from.ends);
    }

    /// Sets the name to the first `n` components of `other`, or to all of them if it has fewer.
    pub fn assign_prefix(&mut self, other: &HashedName, n: usize) {
        self.assign(other);
        self.truncate(n);
    }

    /// Sets the name to `prefix` and a SegmentNameComponent (TYPE 50, NonNegativeInteger in its shortest
    /// form). After an error the name is `prefix`.
    #[inline]
    pub fn assign_segment(
        &mut self,
        hasher: &NameHasher,
        prefix: &HashedName,
        segment: u64,
    ) -> Result<(), NameError> {
        self.assign(prefix);
        let len = nni_len(segment);
        let (start, count) = (usize::from(prefix.short.wire_len), prefix.len());
        if start + 2 + len > MAX_NAME_BYTES {
            return Err(NameError::TooLong);
        }
        if count == MAX_COMPONENTS {
            return Err(NameError::TooManyComponents);
        }
        // The bytes of the number, first to last, are the high bytes of `value`.
        let value = segment << (64 - 8 * len);
        let mut tlv = [0; 10];
        tlv[0] = TYPE_SEGMENT as u8;
        tlv[1] = len as u8;
        tlv[2..].copy_from_slice(&value.to_be_bytes());
        let hash = hasher.extend(prefix.hash(), &tlv[..2 + len]);
        let short = &mut self.short;
        if !short.is_long
            && count < SHORT_COMPONENTS
            && let Some(place) = short.wire.get_mut(start..start + 10)
        {
            // There is room for ten bytes: the copy has a fixed size, and the surplus bytes are zero.
            place.copy_from_slice(&tlv);
            short.note_prefix();
            short.hash = hash;
            short.wire_len = (start + 2 + len) as u16;
            short.len += 1;
        } else {
            self.append(&tlv[..2 + len], hash);
        }
        Ok(())
    }

    /// Keeps the first `n` components.
    #[inline]
    pub fn truncate(&mut self, n: usize) {
        if n >= self.len() {
            return;
        }
        let (end, hash) = (self.end_of(n), self.hash_of(n));
        self.short.hash = hash;
        self.short.wire_len = end as u16;
        self.short.len = n as u8;
        if !self.short.is_long {
            self.short.wire[end..].fill(0);
        }
        if self.short.is_long
            && let Some(long) = &mut self.long
        {
            long.wire.truncate(end);
            long.hashes.truncate(n.saturating_sub(1));
            long.ends.truncate(n.saturating_sub(1));
        }
    }

    /// Removes all components.
    #[inline]
    pub fn clear(&mut self) {
        self.short.hash = EMPTY_HASH;
        self.short.wire_len = 0;
        self.short.len = 0;
        self.short.is_long = false;
        self.short.wire = [0; SHORT_BYTES];
    }

    /// Removes all components and frees buffers of more than 1 KiB.
    #[inline]
    pub fn release(&mut self) {
        if self.short.is_long && self.long.as_ref().is_some_and(|long| long.wire.capacity() > RETAINED_BYTES)
        {
            self.long = None;
        }
        self.clear();
    }

    /// Returns whether it needs a buffer.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.short.is_long
    }

    /// Returns whether it is neither empty nor long, has no implicit digest and has no limited scope.
    #[inline]
    pub(crate) fn is_usual(&self) -> bool {
        // A name with a digest has at least 34 bytes.
        !self.short.is_long
            && self.short.len > 0
            && !matches!(self.short.wire, [8, 8 | 9, b'l', ..])
            && (self.short.wire_len < 34 || self.implicit_digest().is_none())
    }

    /// Size of its buffers, used or kept, bytes, with the allocator's overhead (16 for each).
    pub(crate) fn buffer_bytes(&self) -> usize {
        let bytes = |long: &Long| {
            let (wire, hashes, ends) = (long.wire.capacity(), long.hashes.capacity(), long.ends.capacity());
            size_of::<Long>() + wire + 8 * hashes + 2 * ends + 4 * 16
        };
        self.long.as_deref().map_or(0, bytes)
    }

    /// Size of the buffers of a copy, bytes, with the allocator's overhead (16 for each).
    pub(crate) fn copy_bytes(&self) -> usize {
        let bytes = |long: &Long| {
            size_of::<Long>() + long.wire.len() + 8 * long.hashes.len() + 2 * long.ends.len() + 4 * 16
        };
        self.long().map_or(0, bytes)
    }

    /// The bytes and prefixes of a long name; `None` for a short name. Bytes after the end of a short name
    /// are not read.
    #[inline]
    fn long(&self) -> Option<&Long> {
        if self.short.is_long { self.long.as_deref() } else { None }
    }

    /// The number of components.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.short.len)
    }

    /// Returns whether it has no components.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.short.len == 0
    }

    /// Its component TLVs.
    #[inline]
    pub fn wire(&self) -> &[u8] {
        let all: &[u8] = match self.long() {
            Some(long) => &long.wire,
            None => &self.short.wire,
        };
        &all[..usize::from(self.short.wire_len)]
    }

    /// The component TLVs of the first `n` components, or of all if there are fewer.
    #[inline]
    pub fn prefix_wire(&self, n: usize) -> &[u8] {
        &self.wire()[..self.end_of(n)]
    }

    /// The hash of the whole name.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.short.hash
    }

    /// The hash of the first `n` components, or of all if there are fewer.
    #[inline]
    pub fn hash_of(&self, n: usize) -> u64 {
        if n >= self.len() {
            return self.short.hash;
        }
        let hashes: &[u64] = match self.long() {
            Some(long) => &long.hashes,
            None => &self.short.hashes,
        };
        n.checked_sub(1).map_or(EMPTY_HASH, |last| hashes[last])
    }

    /// TYPE and VALUE of component `i`.
    #[inline]
    pub fn component(&self, i: usize) -> Option<(u32, &[u8])> {
        if i >= self.len() {
            return None;
        }
        let wire = self.wire();
        let (typ, value_at, end) = component_at(wire, self.end_of(i)).ok()?;
        Some((typ, wire.get(value_at..end)?))
    }

    /// TYPE and VALUE of the last component.
    #[inline]
    pub fn last(&self) -> Option<(u32, &[u8])> {
        self.component(self.len().checked_sub(1)?)
    }

    /// TYPE and VALUE of every component.
    pub fn components(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..self.len()).filter_map(|i| self.component(i))
    }

    /// The segment number, if the last component is a SegmentNameComponent.
    #[inline]
    pub fn segment(&self) -> Option<u64> {
        match self.last()? {
            (TYPE_SEGMENT, value) => number(value),
            _ => None,
        }
    }

    /// The number in the last component, if that is one of the numbered types of the NDN naming conventions:
    /// segment 50, byte offset 52, version 54, timestamp 56, sequence number 58.
    #[inline]
    pub fn last_number(&self) -> Option<u64> {
        match self.last()? {
            (50 | 52 | 54 | 56 | 58, value) => number(value),
            _ => None,
        }
    }

    /// The digest, if the last component is an ImplicitSha256DigestComponent.
    #[inline]
    pub fn implicit_digest(&self) -> Option<&[u8; 32]> {
        // This is cheap for names without a digest: TYPE and LENGTH are the two bytes before the digest.
        let start = self.end_of(self.len().checked_sub(1)?);
        let tlv: &[u8; 34] = self.wire()[start..].try_into().ok()?;
        if tlv[0] == TYPE_IMPLICIT_DIGEST as u8 && tlv[1] == 32 { tlv.last_chunk() } else { None }
    }

    /// Returns whether `other` is a prefix of it, or equal.
    #[inline]
    pub fn starts_with(&self, other: &HashedName) -> bool {
        other.len() <= self.len()
            && self.hash_of(other.len()) == other.hash()
            && self.prefix_wire(other.len()) == other.wire()
    }

    /// Length on the wire of the Name TLV, bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        let len = usize::from(self.short.wire_len);
        1 + var_len(len as u64) + len
    }

    /// The end of the first `n` components.
    #[inline]
    fn end_of(&self, n: usize) -> usize {
        if n >= self.len() {
            return usize::from(self.short.wire_len);
        }
        let Some(last) = n.checked_sub(1) else { return 0 };
        match self.long() {
            Some(long) => usize::from(long.ends[last]),
            None => usize::from(self.short.ends[last]),
        }
    }
}

impl Short {
    /// Stores the prefix that the current name becomes when a component is appended. The name is short and
    /// has room for one.
    #[inline]
    fn note_prefix(&mut self) {
        if let Some(last) = usize::from(self.len).checked_sub(1) {
            self.hashes[last] = self.hash;
            self.ends[last] = self.wire_len as u8;
        }
    }
}

impl Long {
    fn clear(&mut self) {
        self.wire.clear();
        self.hashes.clear();
        self.ends.clear();
    }
}

impl PartialEq for HashedName {
    #[inline]
    fn eq(&self, other: &HashedName) -> bool {
        if self.short.is_long || other.short.is_long {
            return self.hash() == other.hash() && self.wire() == other.wire();
        }
        let (a, b) = (&self.short, &other.short);
        a.hash == b.hash && a.wire_len == b.wire_len && a.wire == b.wire
    }
}

impl Eq for HashedName {}

impl fmt::Debug for HashedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("/");
        }
        for (typ, value) in self.components() {
            f.write_str("/")?;
            if typ != TYPE_GENERIC {
                write!(f, "{typ}=")?;
            }
            if let (50 | 52 | 54 | 56 | 58, Some(n)) = (typ, number(value)) {
                write!(f, "{n}")?;
                continue;
            }
            for &byte in value {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                        write!(f, "{}", char::from(byte))?;
                    }
                    _ => write!(f, "%{byte:02X}")?,
                }
            }
        }
        Ok(())
    }
}

/// Writes a VAR-NUMBER below 65536 at `at`, where there is room for it. Returns where it ends.
#[inline]
fn write_var(to: &mut [u8], at: usize, number: u16) -> usize {
    if number < 253 {
        to[at] = number as u8;
        at + 1
    } else {
        to[at] = 253;
        to[at + 1..at + 3].copy_from_slice(&number.to_be_bytes());
        at + 3
    }
}

/// TYPE, start of VALUE and end of the component at `at`. The end may lie beyond the name.
#[inline]
fn component_at(wire: &[u8], at: usize) -> Result<(u32, usize, usize), NameError> {
    if let Some(&[typ @ 1..=252, len @ 0..=252]) = wire.get(at..at + 2) {
        return Ok((u32::from(typ), at + 2, at + 2 + usize::from(len)));
    }
    let (typ, len_at) = var_at(wire, at, at)?;
    if typ == 0 || typ > 0xFFFF {
        return Err(NameError::BadType(at));
    }
    let (len, value_at) = var_at(wire, len_at, at)?;
    // A very large length must not overflow.
    let end = usize::try_from(len)
        .ok()
        .and_then(|len| value_at.checked_add(len))
        .ok_or(NameError::Truncated(at))?;
    Ok((typ as u32, value_at, end))
}

/// Reads the VAR-NUMBER at `at`. Returns it and where it ends. Errors name the component's offset.
fn var_at(wire: &[u8], at: usize, component: usize) -> Result<(u64, usize), NameError> {
    let truncated = NameError::Truncated(component);
    let rest = wire.get(at..).ok_or(truncated)?;
    let (first, rest) = rest.split_first().ok_or(truncated)?;
    let (number, len) = match first {
        253 => (u64::from(u16::from_be_bytes(*rest.first_chunk().ok_or(truncated)?)), 3),
        254 => (u64::from(u32::from_be_bytes(*rest.first_chunk().ok_or(truncated)?)), 5),
        255 => (u64::from_be_bytes(*rest.first_chunk().ok_or(truncated)?), 9),
        small => (u64::from(*small), 1),
    };
    if var_len(number) != len {
        return Err(NameError::NotShortest(component));
    }
    Ok((number, at + len))
}

/// Reads a NonNegativeInteger of 1, 2, 4 or 8 bytes.
#[inline]
fn number(value: &[u8]) -> Option<u64> {
    match *value {
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_be_bytes([a, b]))),
        [a, b, c, d] => Some(u64::from(u32::from_be_bytes([a, b, c, d]))),
        _ => value.try_into().ok().map(u64::from_be_bytes),
    }
}

/// Number of a table's entries for each name length. A lookup skips the lengths without entries.
#[derive(Clone, Debug)]
pub(crate) struct LengthCounts {
    present: u128,
    /// The only length with entries; [`SEVERAL`] if there are several or none.
    only: u8,
    /// The number of entries of each length, up to the longest seen so far.
    counts: Vec<u32>,
}

/// Value of [`LengthCounts`]'s `only` with several lengths, or none.
const SEVERAL: u8 = u8::MAX;

impl LengthCounts {
    pub(crate) const fn new() -> LengthCounts {
        LengthCounts { present: 0, only: SEVERAL, counts: Vec::new() }
    }

    #[inline]
    pub(crate) fn add(&mut self, len: usize) {
        if len >= self.counts.len() {
            self.counts.resize(len + 1, 0);
        }
        self.counts[len] += 1;
        if self.counts[len] == 1 {
            self.note(self.present | 1 << len);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, len: usize) {
        self.counts[len] -= 1;
        if self.counts[len] == 0 {
            self.note(self.present & !(1 << len));
        }
    }

    fn note(&mut self, present: u128) {
        self.present = present;
        self.only = if present.count_ones() == 1 { present.trailing_zeros() as u8 } else { SEVERAL };
    }

    /// The length of all entries, if all have the same length.
    #[inline]
    pub(crate) fn only(&self) -> Option<usize> {
        (self.only != SEVERAL).then_some(usize::from(self.only))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The longest length with entries.
    #[inline]
    pub(crate) fn longest(&self) -> Option<usize> {
        self.present.checked_ilog2().map(|len| len as usize)
    }

    /// The lengths with entries that are at most `longest`, longest first.
    #[inline]
    pub(crate) fn down_from(&self, longest: usize) -> impl Iterator<Item = usize> + use<> {
        let mut rest = self.present & ((2 << longest) - 1);
        core::iter::from_fn(move || {
            let len = rest.checked_ilog2()?;
            rest ^= 1 << len;
            Some(len as usize)
        })
    }
}

/// Names for the tests of the tables.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use proptest::prelude::*;

    pub(crate) const HASHER: NameHasher = NameHasher::new(7);

    /// `"/a/b"` as a name of generic components.
    pub(crate) fn name(uri: &str) -> HashedName {
        let mut name = HashedName::new();
        for part in uri.split('/').filter(|part| !part.is_empty()) {
            name.push(&HASHER, TYPE_GENERIC, part.as_bytes()).unwrap();
        }
        name
    }

    /// Names from a pool so small that they often collide: up to `longest` components of two kinds.
    pub(crate) fn few_names(longest: usize) -> impl Strategy<Value = HashedName> {
        prop::collection::vec(0u8..2, 0..=longest).prop_map(|parts| {
            let mut name = HashedName::new();
            for part in parts {
                name.push(&HASHER, TYPE_GENERIC, &[b'a' + part]).unwrap();
            }
            name
        })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{HASHER, name};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_carries_the_hash_of_each_prefix() {
        let long = name("/a/bc/def");
        assert_eq!(long.len(), 3);
        assert_eq!(long.wire(), b"\x08\x01a\x08\x02bc\x08\x03def");
        for (n, prefix) in ["/", "/a", "/a/bc", "/a/bc/def"].into_iter().enumerate() {
            assert_eq!(long.hash_of(n), name(prefix).hash(), "{prefix}");
            assert_eq!(long.prefix_wire(n), name(prefix).wire());
            assert!(long.starts_with(&name(prefix)));
        }
        assert_eq!(long.hash_of(9), long.hash());
        assert_eq!(long.prefix_wire(9), long.wire());
        assert!(!long.starts_with(&name("/a/b")));
        assert!(!name("/a").starts_with(&long));
    }

    #[test]
    fn the_seed_changes_the_hash() {
        let other = HashedName::parse(&NameHasher::new(8), name("/a").wire()).unwrap();
        assert_ne!(other.hash(), name("/a").hash());
        let drawn = |key| HashedName::parse(&NameHasher::with_key(key), name("/a").wire()).unwrap().hash();
        assert_ne!(drawn([7, 1]), name("/a").hash(), "and the other half of the key too");
        assert_eq!(drawn([7, 0]), name("/a").hash());
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{HASHER:?}"), "NameHasher { .. }");
    }

    #[test]
    fn where_a_component_ends_matters_to_the_hash() {
        assert_ne!(name("/ab/c").hash(), name("/a/bc").hash());
        let (mut empty, mut none) = (name("/a"), name("/a"));
        empty.push(&HASHER, 8, b"").unwrap();
        assert_ne!(empty, none);
        assert_ne!(empty.hash(), none.hash());
        none.push(&HASHER, 9, b"").unwrap();
        assert_ne!(empty, none);
    }

    #[test]
    fn a_hundred_thousand_segments_have_as_many_hashes_in_both_halves() {
        let prefix = name("/A0");
        let mut hashes: Vec<u64> = Vec::new();
        let mut buckets = [0u32; 128];
        let mut segment = HashedName::new();
        for n in 0..100_000 {
            segment.assign_segment(&HASHER, &prefix, n).unwrap();
            hashes.push(segment.hash());
            buckets[(segment.hash() >> 57) as usize] += 1;
        }
        // The top seven bits are the tags of the hash tables; the low bits choose the bucket.
        assert!(buckets.iter().all(|&n| (600..1000).contains(&n)), "{buckets:?}");
        let mut low: Vec<u64> = hashes.iter().map(|h| h & 0xFFFF_FFFF).collect();
        low.sort_unstable();
        low.dedup();
        assert!(low.len() > 99_990, "{}", low.len());
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 100_000);
    }

    #[test]
    fn a_segment_number_takes_its_shortest_form() {
        let prefix = name("/A0");
        let mut segment = HashedName::new();
        for (number, value) in [
            (0, &[0][..]),
            (255, &[255]),
            (256, &[1, 0]),
            (65_536, &[0, 1, 0, 0]),
            (1 << 32, &[0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[255; 8]),
        ] {
            segment.assign_segment(&HASHER, &prefix, number).unwrap();
            assert_eq!(segment.last(), Some((TYPE_SEGMENT, value)));
            assert_eq!(segment.segment(), Some(number));
            assert_eq!(segment.last_number(), Some(number));
            let mut pushed = prefix.clone();
            pushed.push(&HASHER, TYPE_SEGMENT, value).unwrap();
            assert_eq!(segment, pushed);
            assert!(segment.starts_with(&prefix));
        }
    }

    #[test]
    fn only_the_last_component_and_its_type_make_a_number() {
        assert_eq!(HashedName::new().segment(), None);
        let mut version = name("/a");
        assert_eq!(version.last_number(), None);
        version.push(&HASHER, 54, &[1, 2]).unwrap();
        assert_eq!((version.last_number(), version.segment()), (Some(258), None));
        version.push(&HASHER, TYPE_SEGMENT, &[1, 2, 3]).unwrap();
        assert_eq!(version.segment(), None, "three bytes are no NonNegativeInteger");
        version.push(&HASHER, TYPE_SEGMENT, &[]).unwrap();
        assert_eq!(version.segment(), None);
    }

    #[test]
    fn a_digest_component_is_recognised_by_type_and_length() {
        let mut full = name("/a");
        assert_eq!(full.implicit_digest(), None);
        full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[5; 32]).unwrap();
        assert_eq!(full.implicit_digest(), Some(&[5; 32]));
        full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[5; 31]).unwrap();
        assert_eq!(full.implicit_digest(), None);
        full.push(&HASHER, 2, &[5; 32]).unwrap();
        assert_eq!(full.implicit_digest(), None);
    }

    #[test]
    fn mistakes_in_a_name_are_told_apart_and_leave_it_empty() {
        let mut target = name("/old");
        for (wire, error) in [
            (&b"\x08"[..], NameError::Truncated(0)),
            (b"\x08\x02a", NameError::Truncated(0)),
            (b"\x08\x01a\x08\x05b", NameError::Truncated(3)),
            (b"\x00\x00", NameError::BadType(0)),
            (b"\xfd\x00\x08\x00", NameError::NotShortest(0)),
            (b"\x08\xfd\x00\x01a", NameError::NotShortest(0)),
            (b"\xfe\x00\x01\x00\x00\x00", NameError::BadType(0)),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", NameError::Truncated(0)),
            (b"\x08\xfe\xff\xff\xff\xff", NameError::Truncated(0)),
            (b"\xfd\x01", NameError::Truncated(0)),
            (&[0x08, 0x00].repeat(65), NameError::TooManyComponents),
            (&[0; MAX_NAME_BYTES + 1], NameError::TooLong),
        ] {
            target.assign(&name("/old"));
            assert_eq!(target.assign_wire(&HASHER, wire), Err(error), "{wire:?}");
            assert!(target.is_empty() && target.wire().is_empty());
        }
        assert!(HashedName::parse(&HASHER, &[0x08, 0x00].repeat(64)).is_ok());
    }

    #[test]
    fn a_name_does_not_grow_beyond_its_bounds() {
        let mut many = HashedName::new();
        for _ in 0..MAX_COMPONENTS {
            many.push(&HASHER, 8, b"").unwrap();
        }
        let before = many.clone();
        assert_eq!(many.push(&HASHER, 8, b""), Err(NameError::TooManyComponents));
        assert_eq!(many, before);
        assert_eq!(before.clone().assign_segment(&HASHER, &before, 1), Err(NameError::TooManyComponents));
        let mut long = HashedName::new();
        long.push(&HASHER, 0xFFFF, &[1; 8000]).unwrap();
        assert_eq!(long.push(&HASHER, 8, &[1; 800]), Err(NameError::TooLong));
        assert_eq!(long.push(&HASHER, 0, b""), Err(NameError::BadType(8006)));
        assert_eq!(long.push(&HASHER, 0x1_0000, b""), Err(NameError::BadType(8006)));
        assert_eq!(long.component(0), Some((0xFFFF, &[1; 8000][..])));
    }

    #[test]
    fn copies_of_prefixes_equal_names_made_from_scratch() {
        let long = name("/a/b/c");
        let mut copy = name("/z/z/z/z/z/z");
        copy.assign_prefix(&long, 2);
        assert_eq!(copy, name("/a/b"));
        copy.assign_prefix(&long, 7);
        assert_eq!(copy, long);
        copy.truncate(1);
        assert_eq!(copy, name("/a"));
        copy.truncate(5);
        assert_eq!(copy, name("/a"));
        copy.truncate(0);
        assert_eq!(copy, HashedName::new());
    }

    #[test]
    fn a_name_may_cross_the_bound_of_short_names_both_ways() {
        let mut long = name("/a/b/c/d");
        long.push(&HASHER, 8, &[7; 60]).unwrap();
        long.push(&HASHER, 8, b"f").unwrap();
        let mut reused = name("/x/y");
        for n in [6, 5, 4, 2, 6, 0, 5] {
            reused.assign_prefix(&long, n);
            assert_eq!(reused.wire(), long.prefix_wire(n));
            assert_eq!(reused, HashedName::parse(&HASHER, long.prefix_wire(n)).unwrap());
            assert_eq!(reused.clone(), reused);
            for shorter in 0..=n {
                assert_eq!(reused.hash_of(shorter), long.hash_of(shorter));
            }
            reused.push(&HASHER, 8, b"new").unwrap();
            assert_eq!(reused.last(), Some((8, &b"new"[..])));
            reused.assign(&name("/x/y"));
            assert_eq!(reused, name("/x/y"));
        }
        // Segments of names with fewer than ten inline bytes left, or none.
        for len in 20..60 {
            let mut prefix = HashedName::new();
            prefix.push(&HASHER, 8, &vec![1; len]).unwrap();
            for segment in [3, 300, 1 << 20, 1 << 40] {
                reused.assign_segment(&HASHER, &prefix, segment).unwrap();
                assert_eq!(reused, HashedName::parse(&HASHER, reused.wire()).unwrap());
                assert_eq!((reused.segment(), reused.starts_with(&prefix)), (Some(segment), true));
            }
        }
    }

    #[test]
    fn length_on_the_wire_counts_type_and_length() {
        assert_eq!(HashedName::new().wire_len(), 2);
        assert_eq!(name("/abc").wire_len(), 7);
        let mut long = HashedName::new();
        long.push(&HASHER, 8, &[0; 252]).unwrap();
        assert_eq!(long.wire_len(), 4 + 254);
    }

    #[test]
    fn a_large_buffer_is_given_back() {
        let mut long = HashedName::new();
        long.push(&HASHER, 8, &[0; 8000]).unwrap();
        long.release();
        assert!(long.is_empty() && long.long.is_none());
        long.push(&HASHER, 8, &[0; 100]).unwrap();
        long.release();
        assert!(long.is_empty() && long.long.is_some());
    }

    #[test]
    fn debug_output_reads_as_a_uri() {
        let mut all = name("/a b");
        all.push(&HASHER, TYPE_SEGMENT, &[1, 0]).unwrap();
        all.push(&HASHER, 32, b"x").unwrap();
        assert_eq!(format!("{all:?} {:?}", HashedName::new()), "/a%20b/50=256/32=x /");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_name_that_reads_back_or_an_error(wire in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(parsed) = HashedName::parse(&HASHER, &wire) {
                prop_assert_eq!(parsed.wire(), &wire[..]);
                let mut again = HashedName::new();
                for (typ, value) in parsed.components() {
                    again.push(&HASHER, typ, value).unwrap();
                }
                prop_assert_eq!(&again, &parsed);
                for n in 0..=parsed.len() {
                    prop_assert_eq!(again.hash_of(n), parsed.hash_of(n));
                    prop_assert_eq!(again.prefix_wire(n), parsed.prefix_wire(n));
                }
            }
        }

        #[test]
        fn components_come_back_as_they_were_pushed(
            parts in prop::collection::vec((1u32..=0xFFFF, prop::collection::vec(any::<u8>(), 0..300)), 0..20),
        ) {
            let mut made = HashedName::new();
            for (typ, value) in &parts {
                made.push(&HASHER, *typ, value).unwrap();
            }
            let read: Vec<(u32, Vec<u8>)> = made.components().map(|(typ, value)| (typ, value.to_vec())).collect();
            prop_assert_eq!(read, parts);
            prop_assert_eq!(HashedName::parse(&HASHER, made.wire()).unwrap(), made);
        }

        #[test]
        fn lengths_are_visited_downwards(lens in prop::collection::vec(0usize..=MAX_COMPONENTS, 0..20), from in 0usize..=MAX_COMPONENTS) {
            let mut counts = LengthCounts::new();
            lens.iter().for_each(|&len| counts.add(len));
            let mut expected: Vec<usize> = lens.iter().copied().filter(|&len| len <= from).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.dedup();
            prop_assert_eq!(counts.down_from(from).collect::<Vec<_>>(), expected);
            lens.iter().for_each(|&len| counts.remove(len));
            prop_assert!(counts.is_empty());
        }
    }
}
