//! Encodes entries.

use weir_core::ids::FaceId;
use weir_core::seam::QueueLimit;
use weir_core::seam::params::Value;
use weir_core::units::{Rate, Time};

use super::{Entry, Header, LinkPlan, MAGIC, VERSION, change};

/// Kinds of entries in the file. Changes have the kinds from 32 on.
pub(super) mod kind {
    pub const PACKET: u8 = 1;
    pub const DEADLINE: u8 = 2;
    pub const FACE_UP: u8 = 3;
    pub const FACE_DOWN: u8 = 4;
    pub const ADD_LINK: u8 = 5;
    pub const ADD_STRATEGY: u8 = 6;
    pub const ACTIONS_HASH: u8 = 16;
    pub const END: u8 = 17;
}

/// Appends an entry. `last` is the time of the previous entry, 0 for the first.
pub fn encode(entry: &Entry<'_>, last: Time, now: Time, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(kind_of(entry));
    number(now.as_nanos().wrapping_sub(last.as_nanos()), out);
    fields(entry, out);
    set_length(from, out);
}

/// Appends the magic bytes, the version and the header.
pub(super) fn header(header: &Header, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    let from = out.len();
    out.extend_from_slice(&[0; 4]);
    bytes(header.software.as_bytes(), out);
    number(header.started_unix_ns, out);
    number(header.seed, out);
    bytes(header.scheme.as_bytes(), out);
    number(header.schemes.len() as u64, out);
    for (scheme, params) in &header.schemes {
        bytes(scheme.as_bytes(), out);
        parameters(params, out);
    }
    number(header.pit_bytes, out);
    number(header.longest_lifetime_ns, out);
    number(header.dead_nonces, out);
    number(header.queue_bytes, out);
    number(header.flow_bytes, out);
    number(header.reforward_after_ns, out);
    number(header.store_packets, out);
    number(header.store_bytes, out);
    out.push(header.store_policy as u8);
    number(header.next_hop_timeout_ns, out);
    bytes(header.store_placement.to_string().as_bytes(), out);
    set_length(from, out);
}

/// Writes the number of following bytes into the length at `from`.
fn set_length(from: usize, out: &mut [u8]) {
    let length = (out.len() - from - 4) as u32;
    out[from..from + 4].copy_from_slice(&length.to_le_bytes());
}

fn kind_of(entry: &Entry<'_>) -> u8 {
    match entry {
        Entry::Packet { .. } => kind::PACKET,
        Entry::Deadline => kind::DEADLINE,
        Entry::FaceUp(_) => kind::FACE_UP,
        Entry::FaceDown(_) => kind::FACE_DOWN,
        Entry::AddLink(_) => kind::ADD_LINK,
        Entry::AddStrategy(_) => kind::ADD_STRATEGY,
        Entry::Change(change) => change::kind_of(change),
        Entry::ActionsHash(_) => kind::ACTIONS_HASH,
        Entry::End => kind::END,
    }
}

fn fields(entry: &Entry<'_>, out: &mut Vec<u8>) {
    match entry {
        Entry::Deadline | Entry::End => {}
        Entry::Packet { face: by, frame } => {
            face(*by, out);
            out.extend_from_slice(frame);
        }
        Entry::FaceUp(of) | Entry::FaceDown(of) => face(*of, out),
        Entry::AddLink(LinkPlan { config, scheme }) => {
            optional(config.send_rate.map(Rate::as_bps), out);
            optional(config.receive_rate.map(Rate::as_bps), out);
            let (is_bytes, limit) = match config.limit {
                QueueLimit::Packets(packets) => (false, u64::from(packets)),
                QueueLimit::Bytes(bytes) => (true, bytes.as_u64()),
            };
            out.push(u8::from(is_bytes));
            number(limit, out);
            out.push(u8::from(scheme.is_some()));
            if let Some((name, params)) = scheme {
                bytes(name.as_bytes(), out);
                parameters(params, out);
            }
        }
        Entry::AddStrategy(name) => bytes(name.as_bytes(), out),
        Entry::Change(change) => change::write(change, out),
        Entry::ActionsHash(hash) => out.extend_from_slice(&hash.to_le_bytes()),
    }
}

fn parameters(params: &[(String, Value)], out: &mut Vec<u8>) {
    number(params.len() as u64, out);
    for (key, value) in params {
        bytes(key.as_bytes(), out);
        match value {
            Value::Bool(value) => out.extend([0, u8::from(*value)]),
            Value::Int(value) => {
                out.push(1);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Float(value) => {
                out.push(2);
                out.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Value::Text(text) => {
                out.push(3);
                bytes(text.as_bytes(), out);
            }
        }
    }
}

pub(super) fn face(face: FaceId, out: &mut Vec<u8>) {
    number(u64::from(face.0), out);
}

pub(super) fn size(size: usize, out: &mut Vec<u8>) {
    number(size as u64, out);
}

pub(super) fn optional(value: Option<u64>, out: &mut Vec<u8>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        number(value, out);
    }
}

pub(super) fn bytes(value: &[u8], out: &mut Vec<u8>) {
    number(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// LEB128: seven bits in each byte, the lowest first.
pub(super) fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
