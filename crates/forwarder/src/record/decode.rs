//! Bytes to entries.

use core::fmt;

use weir_core::node::CsPlacement;
use weir_core::node::IngressPolicy;
use weir_core::seam::QueueLimit;
use weir_core::seam::params::Value;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate, Time};
use weir_packet::{NameRef, ServiceClass};

use super::encode::kind;
use super::{Entry, Header, MAGIC, VERSION};
use crate::wire_node::Ingress;

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
    /// What it was told.
    pub entry: Entry<'a>,
}

impl<'a> Recording<'a> {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// The file is not a recording, or its header is damaged.
    pub fn read(file: &'a [u8]) -> Result<Recording<'a>, RecordError> {
        let rest = file.strip_prefix(MAGIC).ok_or(RecordError::NoRecording)?;
        let (version, rest) = rest.split_first_chunk().ok_or(RecordError::NoRecording)?;
        let version = u16::from_le_bytes(*version);
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let at = file.len() - rest.len();
        let (header, entries) = block(rest).ok_or(RecordError::Malformed(at))?;
        let header = read_header(&mut Fields(header)).ok_or(RecordError::Malformed(at))?;
        let entries = Entries { rest: entries, length: file.len(), last: Time::ZERO, is_ended: false };
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
}

impl Entries<'_> {
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
        let Some(recorded) = read_entry(&mut Fields(body), self.last) else {
            self.rest = &[];
            return Some(Err(RecordError::Malformed(at)));
        };
        (self.rest, self.last) = (rest, recorded.at);
        self.is_ended = recorded.entry == Entry::End;
        Some(Ok(recorded))
    }
}

/// A length, what it is the length of, and the rest; `None` if that is cut or empty.
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
            let each = (0..count).map(|_| {
                let name = fields.text()?.to_owned();
                let params = fields.parameters()?;
                Some((name, params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
            });
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
        store_placement: match fields.0.is_empty() {
            true => CsPlacement::Everywhere,
            false => fields.text()?.parse().ok()?,
        },
    };
    fields.0.is_empty().then_some(header)
}

fn read_entry<'a>(fields: &mut Fields<'a>, last: Time) -> Option<Recorded<'a>> {
    let kind = fields.byte()?;
    let at = Time::from_nanos(last.as_nanos().wrapping_add(fields.number()?));
    let entry = match kind {
        kind::PACKET => Entry::Packet { face: fields.face()?, frame: std::mem::take(&mut fields.0) },
        kind::DEADLINE => Entry::Deadline,
        kind::FACE_UP => Entry::FaceUp(fields.face()?),
        kind::FACE_DOWN => Entry::FaceDown(fields.face()?),
        kind::ADD_LINK => Entry::AddLink {
            face: fields.face()?,
            send_rate: fields.optional()?,
            receive_rate: fields.optional()?,
            limit: match fields.switch()? {
                false => QueueLimit::Packets(fields.number()?.try_into().ok()?),
                true => QueueLimit::Bytes(Bytes::new(fields.number()?)),
            },
            scheme: match fields.switch()? {
                false => None,
                true => Some((fields.text()?, fields.parameters()?)),
            },
        },
        kind::ADD_APPLICATION => Entry::AddApplication(fields.face()?),
        kind::REMOVE_FACE => Entry::RemoveFace(fields.face()?),
        kind::ADD_ROUTE => {
            Entry::AddRoute { prefix: fields.name()?, face: fields.face()?, cost: fields.number()? }
        }
        kind::REMOVE_ROUTE => Entry::RemoveRoute { prefix: fields.name()?, face: fields.face()? },
        kind::SET_STRATEGY => Entry::SetStrategy { prefix: fields.name()?, strategy: fields.text()? },
        kind::UNSET_STRATEGY => Entry::UnsetStrategy { prefix: fields.name()? },
        kind::CONFIGURE_STORE => Entry::ConfigureStore {
            packets: fields.number()?,
            bytes: fields.number()?,
            admit: fields.switch()?,
            serve: fields.switch()?,
        },
        kind::ERASE_STORE => Entry::EraseStore { prefix: fields.name()?, limit: fields.number()? },
        kind::SET_RATE => Entry::SetRate { face: fields.face()?, rate: fields.optional()? },
        kind::SET_RECEIVE_RATE => Entry::SetReceiveRate { face: fields.face()?, rate: fields.optional()? },
        kind::SET_INGRESS => Entry::SetIngress { face: fields.face()?, ingress: fields.ingress()? },
        kind::SET_GROUP => Entry::SetGroup { face: fields.face()?, group: fields.number()?.try_into().ok()? },
        kind::FORGET_GROUP => Entry::ForgetGroup(fields.number()?.try_into().ok()?),
        kind::ACTIONS_HASH => Entry::ActionsHash(fields.eight()?),
        kind::END => Entry::End,
        _ => return None,
    };
    fields.0.is_empty().then_some(Recorded { at, entry })
}

/// The fields of an entry, one after another; `None` where there is none, or another.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn switch(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn eight(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn number(&mut self) -> Option<u64> {
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

    fn face(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        Some(if self.switch()? { Some(self.number()?) } else { None })
    }

    fn ingress(&mut self) -> Option<Ingress> {
        let is_believed = self.switch()?;
        let mut classes = IngressPolicy::open().classes;
        for rule in &mut classes {
            rule.class = match self.optional()? {
                None => None,
                Some(class) => Some(*ServiceClass::ALL.get(usize::try_from(class).ok()?)?),
            };
            rule.rate = self.optional()?.map(Rate::from_bps);
        }
        Some(Ingress { is_believed, classes })
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?.try_into().ok()?;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.bytes()?).ok()
    }

    fn name(&mut self) -> Option<NameRef<'a>> {
        NameRef::from_value(self.bytes()?).ok()
    }

    fn parameters(&mut self) -> Option<Vec<(&'a str, Value)>> {
        let count = self.number()?;
        let each = (0..count).map(|_| {
            let key = self.text()?;
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
