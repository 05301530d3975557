//! Decodes entries.

use core::fmt;
use std::borrow::Cow;

use weir_core::ids::FaceId;
use weir_core::name::{HashedName, NameHasher};
use weir_core::seam::QueueLimit;
use weir_core::seam::params::Value;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate, Time};
use weir_packet::NameRef;

use super::encode::kind;
use super::{Entry, Header, LinkPlan, MAGIC, VERSION, change};
use crate::wire_node::LinkConfig;

/// The reason why a file is not a valid recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// It does not begin with the magic bytes.
    NoRecording,
    /// It has another version of the format.
    Version(u16),
    /// The content at this byte offset is not valid.
    Malformed(usize),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NoRecording => f.write_str("this is not a recording of a forwarder"),
            RecordError::Version(version) => {
                write!(f, "this recording is of version {version}, and only version {VERSION} can be read")
            }
            RecordError::Malformed(at) => write!(f, "the recording is damaged at byte {at}"),
        }
    }
}

impl std::error::Error for RecordError {}

/// A decoded recording.
#[derive(Clone, Debug)]
pub struct Recording<'a> {
    /// The configuration of the node.
    pub header: Header,
    /// The inputs.
    pub entries: Entries<'a>,
}

/// An entry with its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded<'a> {
    /// The node's time.
    pub at: Time,
    /// The input.
    pub entry: Entry<'a>,
}

impl<'a> Recording<'a> {
    /// Decodes the bytes of a file.
    ///
    /// # Errors
    /// Returns an error if the file is not a recording, or if its header is damaged.
    pub fn read(file: &'a [u8]) -> Result<Recording<'a>, RecordError> {
        let rest = file.strip_prefix(MAGIC).ok_or(RecordError::NoRecording)?;
        let (version, rest) = rest.split_first_chunk().ok_or(RecordError::NoRecording)?;
        let version = u16::from_le_bytes(*version);
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let at = file.len() - rest.len();
        let hasher = NameHasher::new(0);
        let (header, entries) = block(rest).ok_or(RecordError::Malformed(at))?;
        let header = read_header(&mut Fields { rest: header, hasher }).ok_or(RecordError::Malformed(at))?;
        let entries =
            Entries { rest: entries, length: file.len(), last: Time::ZERO, is_ended: false, hasher };
        Ok(Recording { header, entries })
    }
}

/// The entries of a recording, in order, up to its end or to the place where it is cut off.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
    length: usize,
    last: Time,
    is_ended: bool,
    hasher: NameHasher,
}

impl<'a> Entries<'a> {
    /// Hashes names as a node does.
    #[must_use]
    pub fn hashed_by(self, hasher: NameHasher) -> Entries<'a> {
        Entries { hasher, ..self }
    }

    /// Whether the recording has its end entry; if not, it was cut off.
    pub const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Remaining bytes; after the last entry, those of an incomplete entry.
    pub const fn rest(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Recorded<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_ended {
            return None;
        }
        let (body, rest) = block(self.rest)?;
        let at = self.length - self.rest.len();
        let Some(recorded) = read_entry(&mut Fields { rest: body, hasher: self.hasher }, self.last) else {
            self.rest = &[];
            return Some(Err(RecordError::Malformed(at)));
        };
        (self.rest, self.last) = (rest, recorded.at);
        self.is_ended = recorded.entry == Entry::End;
        Some(Ok(recorded))
    }
}

/// Splits a length-prefixed block from the rest; `None` if it is incomplete or empty.
fn block(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 { None } else { rest.split_at_checked(length) }
}

fn read_header(fields: &mut Fields<'_>) -> Option<Header> {
    let header = Header {
        software: fields.text()?.to_owned(),
        started_unix_ns: fields.number()?,
        seed: fields.number()?,
        scheme: fields.text()?.to_owned(),
        schemes: {
            let count = fields.number()?;
            let each = (0..count).map(|_| Some((fields.text()?.to_owned(), fields.parameters()?)));
            each.collect::<Option<_>>()?
        },
        pit_bytes: fields.number()?,
        longest_lifetime_ns: fields.number()?,
        dead_nonces: fields.number()?,
        queue_bytes: fields.number()?,
        flow_bytes: fields.number()?,
        reforward_after_ns: fields.number()?,
        store_packets: fields.number()?,
        store_bytes: fields.number()?,
        store_policy: CsPolicy::ALL.get(usize::from(fields.byte()?))?.0,
        next_hop_timeout_ns: fields.number()?,
        store_placement: fields.text()?.parse().ok()?,
    };
    fields.rest.is_empty().then_some(header)
}

fn read_entry<'a>(fields: &mut Fields<'a>, last: Time) -> Option<Recorded<'a>> {
    let kind = fields.byte()?;
    let at = Time::from_nanos(last.as_nanos().wrapping_add(fields.number()?));
    let entry = match kind {
        kind::PACKET => Entry::Packet { face: fields.face()?, frame: std::mem::take(&mut fields.rest) },
        kind::DEADLINE => Entry::Deadline,
        kind::FACE_UP => Entry::FaceUp(fields.face()?),
        kind::FACE_DOWN => Entry::FaceDown(fields.face()?),
        kind::ADD_LINK => Entry::AddLink(LinkPlan {
            config: LinkConfig {
                send_rate: fields.rate()?,
                receive_rate: fields.rate()?,
                limit: match fields.switch()? {
                    false => QueueLimit::Packets(fields.number()?.try_into().ok()?),
                    true => QueueLimit::Bytes(Bytes::new(fields.number()?)),
                },
            },
            scheme: match fields.switch()? {
                false => None,
                true => Some((fields.text()?, Cow::Owned(fields.parameters()?))),
            },
        }),
        kind::ADD_STRATEGY => Entry::AddStrategy(fields.text()?),
        kind::ACTIONS_HASH => Entry::ActionsHash(fields.eight()?),
        kind::END => Entry::End,
        kind => Entry::Change(change::read(kind, fields)?),
    };
    fields.rest.is_empty().then_some(Recorded { at, entry })
}

/// Reads the fields of an entry one by one; `None` if a field is missing or invalid.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    hasher: NameHasher,
}

impl<'a> Fields<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn switch(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn eight(&mut self) -> Option<u64> {
        let (first, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*first))
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn face(&mut self) -> Option<FaceId> {
        self.number()?.try_into().ok().map(FaceId)
    }

    pub(super) fn optional(&mut self) -> Option<Option<u64>> {
        Some(if self.switch()? { Some(self.number()?) } else { None })
    }

    pub(super) fn rate(&mut self) -> Option<Option<Rate>> {
        Some(self.optional()?.map(Rate::from_bps))
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?.try_into().ok()?;
        let (first, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(first)
    }

    fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn name(&mut self) -> Option<HashedName> {
        let name = NameRef::from_value(self.bytes()?).ok()?;
        HashedName::parse(&self.hasher, name.value()).ok()
    }

    fn parameters(&mut self) -> Option<Vec<(String, Value)>> {
        let count = self.number()?;
        let each = (0..count).map(|_| {
            let key = self.text()?.to_owned();
            let value = match self.byte()? {
                0 => Value::Bool(self.switch()?),
                1 => Value::Int(self.eight()? as i64),
                2 => Value::Float(f64::from_bits(self.eight()?)),
                3 => Value::Text(self.text()?.to_owned()),
                _ => return None,
            };
            Some((key, value))
        });
        each.collect()
    }
}
