//! TLV primitives.

/// Length in bytes of a VAR-NUMBER (TLV-TYPE or TLV-LENGTH) in its shortest form.
#[inline]
pub const fn var_len(number: u64) -> usize {
    match number {
        0..=252 => 1,
        253..=0xFFFF => 3,
        0x1_0000..=0xFFFF_FFFF => 5,
        _ => 9,
    }
}

/// Length in bytes of a NonNegativeInteger in its shortest form: 1, 2, 4 or 8.
#[inline]
pub const fn nni_len(value: u64) -> usize {
    match value {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}
