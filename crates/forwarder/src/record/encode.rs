//! Entries to bytes.

use weir_core::node::CsPlacement;
use weir_core::seam::QueueLimit;
use weir_core::seam::params::Value;
use weir_core::units::{Rate, Time};

use super::{Entry, Header, MAGIC, VERSION};

/// Kinds of entries on the file.
pub(super) mod kind {
    pub const PACKET: u8 = 1;
    pub const DEADLINE: u8 = 2;
    pub const FACE_UP: u8 = 3;
    pub const FACE_DOWN: u8 = 4;
    pub const ADD_LINK: u8 = 5;
    pub const ADD_APPLICATION: u8 = 6;
    pub const REMOVE_FACE: u8 = 7;
    pub const ADD_ROUTE: u8 = 8;
    pub const REMOVE_ROUTE: u8 = 9;
    pub const SET_STRATEGY: u8 = 10;
    pub const UNSET_STRATEGY: u8 = 11;
    pub const CONFIGURE_STORE: u8 = 12;
    pub const ERASE_STORE: u8 = 13;
    pub const SET_RATE: u8 = 14;
    pub const SET_RECEIVE_RATE: u8 = 15;
    pub const ACTIONS_HASH: u8 = 16;
    pub const END: u8 = 17;
    pub const SET_INGRESS: u8 = 18;
    pub const SET_GROUP: u8 = 19;
    pub const FORGET_GROUP: u8 = 20;
}

/// Appends an entry: `last` is the time of the one before, 0 for the first.
pub fn encode(entry: &Entry<'_>, last: Time, now: Time, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(&[0; 4]);
    out.push(kind_of(entry));
    number(now.as_nanos().wrapping_sub(last.as_nanos()), out);
    fields(entry, out);
    set_length(from, out);
}

/// Appends what every recording begins with, and the header.
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
        parameters(params.iter().map(|(key, value)| (key.as_str(), value)), out);
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
    // Left out where it is the default, as in recordings from before there was another.
    if header.store_placement != CsPlacement::Everywhere {
        bytes(header.store_placement.to_string().as_bytes(), out);
    }
    set_length(from, out);
}

/// Writes how much follows the length that stands at `from`.
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
        Entry::AddLink { .. } => kind::ADD_LINK,
        Entry::AddApplication(_) => kind::ADD_APPLICATION,
        Entry::RemoveFace(_) => kind::REMOVE_FACE,
        Entry::AddRoute { .. } => kind::ADD_ROUTE,
        Entry::RemoveRoute { .. } => kind::REMOVE_ROUTE,
        Entry::SetStrategy { .. } => kind::SET_STRATEGY,
        Entry::UnsetStrategy { .. } => kind::UNSET_STRATEGY,
        Entry::ConfigureStore { .. } => kind::CONFIGURE_STORE,
        Entry::EraseStore { .. } => kind::ERASE_STORE,
        Entry::SetRate { .. } => kind::SET_RATE,
        Entry::SetReceiveRate { .. } => kind::SET_RECEIVE_RATE,
        Entry::SetIngress { .. } => kind::SET_INGRESS,
        Entry::SetGroup { .. } => kind::SET_GROUP,
        Entry::ForgetGroup(_) => kind::FORGET_GROUP,
        Entry::ActionsHash(_) => kind::ACTIONS_HASH,
        Entry::End => kind::END,
    }
}

fn fields(entry: &Entry<'_>, out: &mut Vec<u8>) {
    match entry {
        Entry::Deadline | Entry::End => {}
        Entry::Packet { face, frame } => {
            number(u64::from(*face), out);
            out.extend_from_slice(frame);
        }
        Entry::FaceUp(face)
        | Entry::FaceDown(face)
        | Entry::AddApplication(face)
        | Entry::RemoveFace(face) => number(u64::from(*face), out),
        Entry::AddLink { face, send_rate, receive_rate, limit, scheme } => {
            number(u64::from(*face), out);
            optional(*send_rate, out);
            optional(*receive_rate, out);
            let (is_bytes, limit) = match *limit {
                QueueLimit::Packets(packets) => (false, u64::from(packets)),
                QueueLimit::Bytes(bytes) => (true, bytes.as_u64()),
            };
            out.push(u8::from(is_bytes));
            number(limit, out);
            out.push(u8::from(scheme.is_some()));
            if let Some((name, params)) = scheme {
                bytes(name.as_bytes(), out);
                parameters(params.iter().map(|(key, value)| (*key, value)), out);
            }
        }
        Entry::AddRoute { prefix, face, cost } => {
            bytes(prefix.value(), out);
            number(u64::from(*face), out);
            number(*cost, out);
        }
        Entry::RemoveRoute { prefix, face } => {
            bytes(prefix.value(), out);
            number(u64::from(*face), out);
        }
        Entry::SetStrategy { prefix, strategy } => {
            bytes(prefix.value(), out);
            bytes(strategy.as_bytes(), out);
        }
        Entry::UnsetStrategy { prefix } => bytes(prefix.value(), out),
        Entry::ConfigureStore { packets, bytes, admit, serve } => {
            number(*packets, out);
            number(*bytes, out);
            out.extend([u8::from(*admit), u8::from(*serve)]);
        }
        Entry::EraseStore { prefix, limit } => {
            bytes(prefix.value(), out);
            number(*limit, out);
        }
        Entry::SetRate { face, rate } | Entry::SetReceiveRate { face, rate } => {
            number(u64::from(*face), out);
            optional(*rate, out);
        }
        Entry::SetIngress { face, ingress } => {
            number(u64::from(*face), out);
            out.push(u8::from(ingress.is_believed));
            for rule in ingress.classes {
                optional(rule.class.map(|class| class as u64), out);
                optional(rule.rate.map(Rate::as_bps), out);
            }
        }
        Entry::SetGroup { face, group } => {
            number(u64::from(*face), out);
            number(u64::from(*group), out);
        }
        Entry::ForgetGroup(group) => number(u64::from(*group), out),
        Entry::ActionsHash(hash) => out.extend_from_slice(&hash.to_le_bytes()),
    }
}

fn parameters<'a>(params: impl ExactSizeIterator<Item = (&'a str, &'a Value)>, out: &mut Vec<u8>) {
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

fn optional(value: Option<u64>, out: &mut Vec<u8>) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        number(value, out);
    }
}

fn bytes(value: &[u8], out: &mut Vec<u8>) {
    number(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// LEB128: seven bits a byte, the lowest first.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
