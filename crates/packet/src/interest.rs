//! Interest packets (NDN Packet Format v0.3, section "Interest").
//!
//! The order of the elements is Name, CanBePrefix, MustBeFresh, ForwardingHint, Nonce, InterestLifetime, HopLimit,
//! ApplicationParameters, InterestSignatureInfo, InterestSignatureValue. An element out of this order counts as
//! unknown.
//!
//! A forwarder does not re-encode an Interest. It changes Nonce and HopLimit in the received bytes, at the offsets in
//! [`InterestLayout`].

use crate::name::{NameRef, component_type};
use crate::signature::{Signature, SignatureInfo};
use crate::tlv::{
    self, DecodeError, DecodeErrorKind, Order, Reader, element_len, nni_element_len, put_element, put_header,
    put_nni_element, types,
};
use alloc::vec::Vec;
use core::ops::Range;

/// InterestLifetime of an Interest without this field, milliseconds.
pub const DEFAULT_INTEREST_LIFETIME_MS: u64 = 4000;

/// ForwardingHint: names of networks through which an Interest can reach its producer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardingHint<'a> {
    value: &'a [u8],
}

impl<'a> ForwardingHint<'a> {
    /// No hint.
    pub const NONE: ForwardingHint<'static> = ForwardingHint { value: &[] };

    /// Checks the value of a ForwardingHint element. It holds Names and elements that may be ignored.
    pub fn from_value(value: &'a [u8]) -> Result<Self, DecodeError> {
        Self::check(Reader::new(value))?;
        Ok(ForwardingHint { value })
    }

    fn check(mut reader: Reader<'a>) -> Result<(), DecodeError> {
        let mut names = 0;
        while let Some(element) = reader.element()? {
            if element.typ == types::NAME {
                NameRef::from_element(&element)?;
                names += 1;
            } else {
                element.ignore()?;
            }
        }
        if names == 0 { Err(DecodeErrorKind::Missing(types::NAME).at(reader.offset())) } else { Ok(()) }
    }

    /// The names, most preferred first.
    pub fn names(&self) -> impl Iterator<Item = NameRef<'a>> + use<'a> {
        let mut reader = Reader::new(self.value);
        core::iter::from_fn(move || {
            loop {
                // `from_value` checked the hint.
                let element = reader.element().ok()??;
                if element.typ == types::NAME {
                    return NameRef::from_element(&element).ok();
                }
            }
        })
    }

    /// Returns whether there is no hint.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// The value of the ForwardingHint element; empty without a hint.
    #[inline]
    pub const fn value(&self) -> &'a [u8] {
        self.value
    }
}

/// An Interest. Names and parameters borrow from the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest<'a> {
    /// Name with at least one component.
    pub name: NameRef<'a>,
    /// Whether a Data with a longer name also answers the Interest.
    pub can_be_prefix: bool,
    /// Whether a content store may answer only with a fresh Data.
    pub must_be_fresh: bool,
    /// ForwardingHint.
    pub forwarding_hint: ForwardingHint<'a>,
    /// Nonce as a big-endian number. A forwarder must add one if it is absent.
    pub nonce: Option<u32>,
    /// InterestLifetime, milliseconds, if present: see [`Interest::lifetime_ms`].
    pub lifetime: Option<u64>,
    /// HopLimit.
    pub hop_limit: Option<u8>,
    /// ApplicationParameters.
    pub application_parameters: Option<&'a [u8]>,
    /// InterestSignatureInfo and InterestSignatureValue; only together with parameters.
    pub signature: Option<Signature<'a>>,
}

/// Offsets of the parts of an Interest, in bytes from the start of the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterestLayout {
    /// Offset of the Interest element's value.
    pub value_start: usize,
    /// The ForwardingHint element.
    pub forwarding_hint: Option<Range<usize>>,
    /// Offset of the four bytes of the Nonce.
    pub nonce: Option<usize>,
    /// Offset at which a missing Nonce element is inserted.
    pub nonce_slot: usize,
    /// Offset of the HopLimit's byte.
    pub hop_limit: Option<usize>,
    /// The part that the parameters digest covers: from ApplicationParameters to the end.
    pub parameters: Option<Range<usize>>,
    /// The part that the signature covers besides the name: from ApplicationParameters up to InterestSignatureValue.
    pub signed: Option<Range<usize>>,
}

impl InterestLayout {
    /// Decrements a non-zero HopLimit in the packet. Returns `false` if the packet has no HopLimit or it is 0.
    pub fn decrement_hop_limit(&self, wire: &mut [u8]) -> bool {
        match self.hop_limit.and_then(|at| wire.get_mut(at)) {
            Some(hop_limit) if *hop_limit > 0 => {
                *hop_limit -= 1;
                true
            }
            _ => false,
        }
    }

    /// Appends the packet to `out` with this Nonce added. `wire` is the packet to which the layout belongs; it must not
    /// have a Nonce.
    pub fn encode_with_nonce(&self, wire: &[u8], nonce: u32, out: &mut Vec<u8>) {
        let (Some(before), Some(after)) =
            (wire.get(self.value_start..self.nonce_slot), wire.get(self.nonce_slot..))
        else {
            return;
        };
        put_header(out, types::INTEREST, before.len() + after.len() + NONCE_LEN);
        out.extend_from_slice(before);
        put_element(out, types::NONCE, &nonce.to_be_bytes());
        out.extend_from_slice(after);
    }

    /// Appends the packet to `out` without its ForwardingHint. Neither the signature nor the parameters digest covers
    /// the hint. `wire` is the packet to which the layout belongs.
    pub fn encode_without_hint(&self, wire: &[u8], out: &mut Vec<u8>) {
        let hint = self.forwarding_hint.clone().unwrap_or(self.value_start..self.value_start);
        let (Some(before), Some(after)) = (wire.get(self.value_start..hint.start), wire.get(hint.end..))
        else {
            return;
        };
        put_header(out, types::INTEREST, before.len() + after.len());
        out.extend_from_slice(before);
        out.extend_from_slice(after);
    }
}

const NONCE_LEN: usize = element_len(types::NONCE, 4);

/// The lengths that determine the wire length of an Interest, without encoding it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterestLengths {
    /// Value of the Name element, bytes.
    pub name: usize,
    /// Whether CanBePrefix is present.
    pub can_be_prefix: bool,
    /// Whether MustBeFresh is present.
    pub must_be_fresh: bool,
    /// Value of the ForwardingHint, bytes; 0 without one.
    pub forwarding_hint: usize,
    /// Whether Nonce is present.
    pub nonce: bool,
    /// InterestLifetime, milliseconds, if present.
    pub lifetime: Option<u64>,
    /// Whether HopLimit is present.
    pub hop_limit: bool,
    /// Value of ApplicationParameters, bytes.
    pub application_parameters: Option<usize>,
    /// Values of InterestSignatureInfo and InterestSignatureValue, bytes.
    pub signature: Option<(usize, usize)>,
}

impl InterestLengths {
    /// Length of the Interest element's value, bytes.
    pub const fn value_len(&self) -> usize {
        let mut len = element_len(types::NAME, self.name);
        if self.can_be_prefix {
            len += element_len(types::CAN_BE_PREFIX, 0);
        }
        if self.must_be_fresh {
            len += element_len(types::MUST_BE_FRESH, 0);
        }
        if self.forwarding_hint > 0 {
            len += element_len(types::FORWARDING_HINT, self.forwarding_hint);
        }
        if self.nonce {
            len += NONCE_LEN;
        }
        if let Some(lifetime) = self.lifetime {
            len += nni_element_len(types::INTEREST_LIFETIME, lifetime);
        }
        if self.hop_limit {
            len += element_len(types::HOP_LIMIT, 1);
        }
        if let Some(parameters) = self.application_parameters {
            len += element_len(types::APPLICATION_PARAMETERS, parameters);
        }
        if let Some((info, value)) = self.signature {
            len += element_len(types::INTEREST_SIGNATURE_INFO, info);
            len += element_len(types::INTEREST_SIGNATURE_VALUE, value);
        }
        len
    }

    /// Length of the packet, bytes.
    pub const fn wire_len(&self) -> usize {
        element_len(types::INTEREST, self.value_len())
    }
}

impl<'a> Interest<'a> {
    /// Creates an Interest with this name and no other field.
    pub const fn new(name: NameRef<'a>) -> Self {
        Interest {
            name,
            can_be_prefix: false,
            must_be_fresh: false,
            forwarding_hint: ForwardingHint::NONE,
            nonce: None,
            lifetime: None,
            hop_limit: None,
            application_parameters: None,
            signature: None,
        }
    }

    /// Interest lifetime, milliseconds; [`DEFAULT_INTEREST_LIFETIME_MS`] if the field is absent.
    #[inline]
    pub fn lifetime_ms(&self) -> u64 {
        self.lifetime.unwrap_or(DEFAULT_INTEREST_LIFETIME_MS)
    }

    /// Decodes a packet that must consist of exactly one Interest element.
    pub fn decode(wire: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_with_layout(wire).map(|(interest, _)| interest)
    }

    /// Decodes a packet and returns the offsets of its parts.
    pub fn decode_with_layout(wire: &'a [u8]) -> Result<(Self, InterestLayout), DecodeError> {
        let outer = tlv::whole(wire)?;
        if outer.typ != types::INTEREST {
            return Err(DecodeErrorKind::Unexpected(outer.typ).at(0));
        }
        let mut reader = outer.reader();
        let name = reader.expect(types::NAME)?;
        let mut interest = Interest::new(NameRef::from_element(&name)?);
        if interest.name.is_empty() {
            return Err(DecodeErrorKind::EmptyName.at(name.start));
        }
        let mut layout = InterestLayout {
            value_start: outer.value_start,
            forwarding_hint: None,
            nonce: None,
            nonce_slot: name.end(),
            hop_limit: None,
            parameters: None,
            signed: None,
        };
        let mut info = None;
        let mut order = Order::default();
        while let Some(element) = reader.element()? {
            match element.typ {
                types::CAN_BE_PREFIX if order.admit(1) => {
                    element.empty()?;
                    interest.can_be_prefix = true;
                    layout.nonce_slot = element.end();
                }
                types::MUST_BE_FRESH if order.admit(2) => {
                    element.empty()?;
                    interest.must_be_fresh = true;
                    layout.nonce_slot = element.end();
                }
                types::FORWARDING_HINT if order.admit(3) => {
                    ForwardingHint::check(element.reader())?;
                    interest.forwarding_hint = ForwardingHint { value: element.value };
                    layout.forwarding_hint = Some(element.start..element.end());
                    layout.nonce_slot = element.end();
                }
                types::NONCE if order.admit(4) => {
                    interest.nonce = Some(u32::from_be_bytes(*element.fixed()?));
                    layout.nonce = Some(element.value_start);
                }
                types::INTEREST_LIFETIME if order.admit(5) => interest.lifetime = Some(element.nni()?),
                types::HOP_LIMIT if order.admit(6) => {
                    let [hop_limit] = *element.fixed()?;
                    interest.hop_limit = Some(hop_limit);
                    layout.hop_limit = Some(element.value_start);
                }
                types::APPLICATION_PARAMETERS if order.admit(7) => {
                    interest.application_parameters = Some(element.value);
                    layout.parameters = Some(element.start..outer.end());
                }
                types::INTEREST_SIGNATURE_INFO if order.admit(8) => {
                    info = Some(SignatureInfo::decode(&element)?);
                }
                types::INTEREST_SIGNATURE_VALUE if order.admit(9) => {
                    let missing = |typ| DecodeErrorKind::Missing(typ).at(element.start);
                    let info = info.ok_or(missing(types::INTEREST_SIGNATURE_INFO))?;
                    let parameters = layout.parameters.as_ref();
                    let start = parameters.ok_or(missing(types::APPLICATION_PARAMETERS))?.start;
                    interest.signature = Some(Signature { info, value: element.value });
                    layout.signed = Some(start..element.start);
                }
                _ => element.ignore()?,
            }
        }
        if info.is_some() && interest.signature.is_none() {
            return Err(DecodeErrorKind::Missing(types::INTEREST_SIGNATURE_VALUE).at(outer.end()));
        }
        Ok((interest, layout))
    }

    /// The parameters digest in the name, if it has one.
    pub fn parameters_digest(&self) -> Option<&'a [u8; 32]> {
        let mut components = self.name.components();
        let digest = components.find(|c| c.typ == component_type::PARAMETERS_SHA256_DIGEST)?;
        digest.value.try_into().ok()
    }

    /// Returns whether the parameters and exactly one parameters digest are present, or both are absent.
    ///
    /// `sign::parameters_digest_is_valid` (feature `crypto`) checks the digest itself. Like other forwarders, decoding
    /// does not require consistency.
    pub fn parameters_are_consistent(&self) -> bool {
        let is_digest = |c: &crate::Component<'_>| c.typ == component_type::PARAMETERS_SHA256_DIGEST;
        let digests = self.name.components().filter(is_digest).count();
        digests == usize::from(self.application_parameters.is_some())
    }

    /// The lengths of its parts.
    pub const fn lengths(&self) -> InterestLengths {
        InterestLengths {
            name: self.name.value().len(),
            can_be_prefix: self.can_be_prefix,
            must_be_fresh: self.must_be_fresh,
            forwarding_hint: self.forwarding_hint.value.len(),
            nonce: self.nonce.is_some(),
            lifetime: self.lifetime,
            hop_limit: self.hop_limit.is_some(),
            application_parameters: match self.application_parameters {
                Some(parameters) => Some(parameters.len()),
                None => None,
            },
            signature: match &self.signature {
                Some(signature) => Some((signature.info.value_len(), signature.value.len())),
                None => None,
            },
        }
    }

    /// Length of the packet that [`Interest::encode`] writes, bytes.
    pub const fn wire_len(&self) -> usize {
        self.lengths().wire_len()
    }

    /// Appends the packet. This computes neither the parameters digest nor the signature: see `sign`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_header(out, types::INTEREST, self.lengths().value_len());
        self.name.encode(out);
        if self.can_be_prefix {
            put_header(out, types::CAN_BE_PREFIX, 0);
        }
        if self.must_be_fresh {
            put_header(out, types::MUST_BE_FRESH, 0);
        }
        if !self.forwarding_hint.is_empty() {
            put_element(out, types::FORWARDING_HINT, self.forwarding_hint.value);
        }
        if let Some(nonce) = self.nonce {
            put_element(out, types::NONCE, &nonce.to_be_bytes());
        }
        if let Some(lifetime) = self.lifetime {
            put_nni_element(out, types::INTEREST_LIFETIME, lifetime);
        }
        if let Some(hop_limit) = self.hop_limit {
            put_element(out, types::HOP_LIMIT, &[hop_limit]);
        }
        if let Some(parameters) = self.application_parameters {
            put_element(out, types::APPLICATION_PARAMETERS, parameters);
        }
        if let Some(signature) = &self.signature {
            signature.info.encode(types::INTEREST_SIGNATURE_INFO, out);
            put_element(out, types::INTEREST_SIGNATURE_VALUE, signature.value);
        }
    }

    /// The packet in a new vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        self.encode(&mut out);
        out
    }
}
