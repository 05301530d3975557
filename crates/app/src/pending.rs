//! Single pending Interests for metadata, certificates and commands. They are few and have no congestion control.

use weir_core::name::HashedName;
use weir_core::packet::{Kind, Packet};
use weir_core::random::Random;
use weir_core::units::{Span, Time};
use weir_packet::sign::implicit_digest;
use weir_packet::{
    Component, ForwardingHint, Interest, LpHeader, NackReason, Name, NameRef, ServiceClass, Signal,
    component_type,
};

/// A single Interest, which is sent again if no answer arrives.
#[derive(Clone, Debug)]
pub struct SingleInterest {
    /// Name of the Data, or a prefix of it.
    pub name: Name,
    /// Whether Data with a longer name also answer it.
    pub can_be_prefix: bool,
    /// Whether cached Data must be fresh.
    pub must_be_fresh: bool,
    /// Whether it bypasses the content stores of forwarders that know the signal PastStores. This is for Data that
    /// arrived and were rejected.
    pub past_stores: bool,
    /// Forwarding hint: names of networks that lead to the producer, most preferred first.
    pub hint: Vec<Name>,
    /// Service class of the Interest and its Data.
    pub class: ServiceClass,
    /// How long to wait for each answer.
    pub lifetime: Span,
    /// Maximum number of transmissions. It is sent again if no answer or a Nack arrives.
    pub tries: u32,
}

impl SingleInterest {
    /// Only Data with exactly this name answer it. It is sent up to four times, for a second each.
    pub fn new(name: Name) -> SingleInterest {
        SingleInterest {
            name,
            can_be_prefix: false,
            must_be_fresh: false,
            past_stores: false,
            hint: Vec::new(),
            class: ServiceClass::Be,
            lifetime: Span::from_secs(1),
            tries: 4,
        }
    }

    /// Appends the encoded Interest to `out`.
    fn encode(&self, nonce: u32, out: &mut Vec<u8>) {
        let mut hint = Vec::new();
        self.hint.iter().for_each(|name| name.view().encode(&mut hint));
        let interest = Interest {
            can_be_prefix: self.can_be_prefix,
            must_be_fresh: self.must_be_fresh,
            forwarding_hint: ForwardingHint::from_value(&hint).unwrap_or_default(),
            nonce: Some(nonce),
            lifetime: Some(self.lifetime.as_nanos() / 1_000_000),
            ..Interest::new(self.name.view())
        };
        interest.encode(out);
    }

    /// The link header.
    fn header(&self) -> LpHeader {
        let mut header = LpHeader::NONE;
        if self.class != ServiceClass::Be {
            header.signals.set(&Signal::SERVICE_CLASS, self.class as u64);
        }
        if self.past_stores {
            header.signals.set(&Signal::PAST_STORES, 1);
        }
        header
    }
}

/// Identifies a single Interest of an application. It is never reused.
pub type PendingId = u64;

/// Result of a single Interest.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// The Data.
    Data(&'a Packet),
    /// The last try was answered with a Nack.
    Nack(NackReason),
    /// No answer arrived.
    Timeout,
}

/// Result of a single Interest, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedReply {
    /// The Data without link header.
    Data(Vec<u8>),
    /// The last try was answered with a Nack.
    Nack(NackReason),
    /// No answer arrived.
    Timeout,
}

impl From<Reply<'_>> for OwnedReply {
    fn from(reply: Reply<'_>) -> OwnedReply {
        match reply {
            Reply::Data(data) => OwnedReply::Data(data.wire.to_vec()),
            Reply::Nack(reason) => OwnedReply::Nack(reason),
            Reply::Timeout => OwnedReply::Timeout,
        }
    }
}

/// How an Interest is encoded.
#[derive(Debug)]
enum Form {
    /// The Interest is encoded for each try.
    Unsigned(SingleInterest),
    /// The signed Interest is sent once, unchanged.
    Signed { wire: Vec<u8> },
}

#[derive(Debug)]
struct PendingInterest {
    id: PendingId,
    /// TLV-VALUE of the name.
    name: Vec<u8>,
    form: Form,
    tries_left: u32,
    /// How many more times a try may be restarted after a reconnection.
    restarts_left: u32,
    /// End of the current try. A Nack ends it earlier.
    until: Time,
    nack: Option<NackReason>,
}

impl PendingInterest {
    fn is_answered_by(&self, data: &Packet) -> bool {
        let is_it = match &self.form {
            Form::Unsigned(interest) if interest.can_be_prefix => is_prefix(&self.name, data),
            _ => self.name == data.name.wire(),
        };
        is_it || self.is_full_name_of(data)
    }

    /// Returns whether the Interest requests this Data by name and implicit digest.
    fn is_full_name_of(&self, data: &Packet) -> bool {
        let Ok(name) = NameRef::from_value(&self.name) else { return false };
        let is_digest = |last: &Component<'_>| last.typ == component_type::IMPLICIT_SHA256_DIGEST;
        let Some(digest) = name.last().filter(is_digest) else { return false };
        name.parent().value() == data.name.wire() && digest.value == implicit_digest(&data.wire)
    }
}

/// All pending single Interests of an application.
#[derive(Debug, Default)]
pub(super) struct PendingInterests {
    waiting: Vec<PendingInterest>,
    next_id: PendingId,
}

/// Maximum number of times a try is restarted after a reconnection, because a forwarder may accept connections and drop
/// them at once. Assumed.
const RESTARTS: u32 = 4;
/// Pause before the next try after a Nack: the route may be back by then.
const PAUSE_AFTER_NACK: Span = Span::from_millis(100);

impl PendingInterests {
    /// Adds an Interest that is due at once.
    pub(super) fn express(&mut self, now: Time, interest: SingleInterest) -> PendingId {
        let (name, tries_left) = (interest.name.value().to_vec(), interest.tries.max(1));
        self.add(name, Form::Unsigned(interest), tries_left, now)
    }

    /// Adds an Interest that is sent once, unchanged. Returns `None` if the bytes are not an Interest.
    pub(super) fn express_signed(&mut self, now: Time, wire: Vec<u8>) -> Option<PendingId> {
        let name = Interest::decode(&wire).ok()?.name.value().to_vec();
        Some(self.add(name, Form::Signed { wire }, 1, now))
    }

    fn add(&mut self, name: Vec<u8>, form: Form, tries_left: u32, until: Time) -> PendingId {
        self.next_id += 1;
        let (id, restarts_left) = (self.next_id, RESTARTS);
        self.waiting.push(PendingInterest { id, name, form, tries_left, restarts_left, until, nack: None });
        self.next_id
    }

    /// Cancels an Interest.
    pub(super) fn cancel(&mut self, id: PendingId) {
        self.waiting.retain(|waiting| waiting.id != id);
    }

    pub(super) fn next_deadline(&self) -> Time {
        self.waiting.iter().map(|waiting| waiting.until).min().unwrap_or(Time::NEVER)
    }

    /// Sends all Interests again, because a new forwarder does not know them. A signed Interest is sent only once.
    pub(super) fn restart(&mut self, now: Time) {
        for waiting in &mut self.waiting {
            waiting.until = now;
            if let Form::Unsigned(_) = waiting.form
                && waiting.restarts_left > 0
            {
                waiting.restarts_left -= 1;
                waiting.tries_left += 1;
            }
        }
    }

    /// Returns what is due. If it is an Interest to send, appends it to `out`.
    pub(super) fn run_due(&mut self, now: Time, random: &mut Random, out: &mut Vec<u8>) -> Option<Due> {
        let at = self.waiting.iter().position(|waiting| waiting.until <= now)?;
        let waiting = &mut self.waiting[at];
        if waiting.tries_left == 0 {
            let ended = self.waiting.remove(at);
            return Some(Due::Ended(ended.id, ended.nack));
        }
        waiting.tries_left -= 1;
        waiting.nack = None;
        let header = match &waiting.form {
            Form::Unsigned(interest) => {
                interest.encode(random.next_u32(), out);
                waiting.until = now + interest.lifetime;
                interest.header()
            }
            Form::Signed { wire } => {
                out.extend_from_slice(wire);
                let lifetime_ms = Interest::decode(wire).map_or(0, |interest| interest.lifetime_ms());
                waiting.until = now + Span::from_millis(lifetime_ms.min(60_000));
                LpHeader::NONE
            }
        };
        Some(Due::Send(Box::new(header)))
    }

    /// Removes and returns the Interest that a Data answers.
    pub(super) fn answered_by(&mut self, data: &Packet) -> Option<PendingId> {
        let at = self.waiting.iter().position(|waiting| waiting.is_answered_by(data))?;
        Some(self.waiting.remove(at).id)
    }

    /// Handles a Nack.
    pub(super) fn nacked(&mut self, now: Time, nack: &Packet) {
        debug_assert_eq!(nack.kind, Kind::Nack);
        let name = nack.name.wire();
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.name == name) {
            waiting.nack = nack.header().nack();
            let pause = if waiting.tries_left == 0 { Span::ZERO } else { PAUSE_AFTER_NACK };
            waiting.until = waiting.until.min(now + pause);
        }
    }
}

/// Due work.
pub(super) enum Due {
    /// Send an Interest with this link header.
    Send(Box<LpHeader>),
    /// The Interest has ended without Data. The Nack's reason, if there was one.
    Ended(PendingId, Option<NackReason>),
}

/// Returns whether a name begins with these components.
fn is_prefix(prefix: &[u8], data: &Packet) -> bool {
    let name: &HashedName = &data.name;
    (0..=name.len()).any(|len| name.prefix_wire(len) == prefix)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use weir_core::name::NameHasher;
    use weir_packet::{Data, SignatureInfo, SignatureType};

    fn name(uri: &str) -> Name {
        uri.parse().unwrap()
    }

    fn data(uri: &str, content: &[u8]) -> Packet {
        let wire = Data::new(name(uri).view(), content, SignatureInfo::new(SignatureType::Null)).to_vec();
        let mut packet = Packet::default();
        packet.kind = Kind::Data;
        packet.name = HashedName::parse(&NameHasher::new(1), name(uri).value()).unwrap();
        packet.wire = wire.into();
        packet
    }

    /// Returns whether a Data answers an Interest.
    fn is_answer(interest: SingleInterest, data: &Packet) -> bool {
        let mut pending = PendingInterests::default();
        let id = pending.express(Time::ZERO, interest);
        pending.answered_by(data) == Some(id)
    }

    #[test]
    fn a_data_answers_by_its_name_or_the_beginning_of_it_or_its_full_name() {
        let data = data("/a/b", b"x");
        let digest = implicit_digest(&data.wire);
        let exact = |uri: &str| SingleInterest::new(name(uri));
        let prefix = |uri: &str| SingleInterest { can_be_prefix: true, ..exact(uri) };
        let full =
            |uri: &str, digest| SingleInterest::new(name(uri).with(Component::implicit_digest(digest)));
        assert!(is_answer(exact("/a/b"), &data) && is_answer(prefix("/a"), &data));
        assert!(!is_answer(exact("/a"), &data) && !is_answer(prefix("/a/b/c"), &data));
        assert!(is_answer(full("/a/b", &digest), &data));
        let may_be_longer = SingleInterest { can_be_prefix: true, ..full("/a/b", &digest) };
        assert!(is_answer(may_be_longer, &data));
        assert!(!is_answer(full("/a", &digest), &data) && !is_answer(full("/a/b", &[0; 32]), &data));
    }

    #[test]
    fn a_try_begins_anew_with_a_new_connection_but_not_for_ever() {
        let (mut pending, mut out) = (PendingInterests::default(), Vec::new());
        let mut random = Random::named(1, "test");
        pending.express(Time::ZERO, SingleInterest { tries: 1, ..SingleInterest::new(name("/a")) });
        for _ in 0..=RESTARTS {
            assert!(matches!(pending.run_due(Time::ZERO, &mut random, &mut out), Some(Due::Send(_))));
            assert!(pending.run_due(Time::ZERO, &mut random, &mut out).is_none());
            pending.restart(Time::ZERO);
        }
        assert!(matches!(pending.run_due(Time::ZERO, &mut random, &mut out), Some(Due::Ended(_, None))));
    }
}
