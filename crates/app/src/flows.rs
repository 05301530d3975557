//! The consumers of an application, each with its own congestion control.

use std::collections::BTreeMap;

use weir_core::consumer::{Consumer, ConsumerConfig, Delivery, REORDER_BOUND, Source};
use weir_core::deadline::Deadlines;
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Hint, Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::{FlowConfig, Scheme};
use weir_core::units::{Bytes, Span, Time};
use weir_packet::{Data, Name, ServiceClass};

use crate::AppError;

/// A consumer that was not run for longer than this does not catch up on the rest, because its neighbours would receive
/// a burst.
const CATCH_UP: Span = Span::from_millis(100);

/// What a consumer fetches, and how.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The prefix; segment numbers are appended to it.
    pub prefix: Name,
    /// The service class of its Interests.
    pub class: ServiceClass,
    /// The first segment to fetch.
    pub first: u64,
    /// Number of the segment before which the consumer ends. `None`: it ends with the segment that its Data declare the
    /// last.
    pub amount: Option<u64>,
    /// Maximum distance of the newest requested segment from the oldest missing one, segments: the room that the
    /// application has.
    pub reorder: u64,
    /// The amount of data that the application requests.
    pub source: Source,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// Whether cached Data must be fresh.
    pub must_be_fresh: bool,
    /// The forwarding hint of its Interests: names of networks that lead to the producer, the first choice first.
    pub hint: Vec<Name>,
    /// Expected size of a Data on the wire; zero if unknown.
    pub expected_size: Bytes,
    /// Whether an Interest that a later one has overtaken counts as lost after a round-trip time, instead of after the
    /// RTO, which is at least 200 ms. If nothing arrives, one Interest beyond the congestion control's limit is sent,
    /// to overtake the others.
    pub early_loss: bool,
}

impl Fetch {
    /// All segments of a prefix, as fast as the congestion control permits, in the class Best Effort.
    pub fn new(prefix: Name) -> Fetch {
        Fetch {
            prefix,
            class: ServiceClass::Be,
            first: 0,
            amount: None,
            reorder: REORDER_BOUND,
            source: Source::Elastic,
            lifetime: Span::from_secs(4),
            must_be_fresh: false,
            hint: Vec::new(),
            expected_size: Bytes::ZERO,
            early_loss: true,
        }
    }
}

/// Identifies a consumer of its application. It is reused after [`App::forget`](crate::App::forget).
pub type FlowId = u32;

/// A consumer, and the time of its last call. Its time never goes back.
struct Flow {
    prefix: HashedName,
    consumer: Consumer,
    starts_at: Option<Time>,
    called_at: Time,
    /// Number of the segment before which the consumer ends. `None`: its Data determine the end.
    amount: Option<u64>,
}

/// All consumers of an application.
pub(super) struct Flows {
    flows: Vec<Option<Flow>>,
    by_prefix: BTreeMap<Vec<u8>, FlowId>,
    deadlines: Deadlines,
}

impl Flows {
    pub(super) fn new() -> Flows {
        Flows { flows: Vec::new(), by_prefix: BTreeMap::new(), deadlines: Deadlines::new(0) }
    }

    /// Adds a consumer that starts at `starts_at`.
    pub(super) fn add(
        &mut self,
        fetch: Fetch,
        (prefix, hint): (HashedName, Option<Hint>),
        scheme: &dyn Scheme,
        starts_at: Time,
        (hasher, seed): (NameHasher, u64),
    ) -> Result<FlowId, AppError> {
        if self.by_prefix.contains_key(prefix.wire()) {
            return Err(AppError::SamePrefix(fetch.prefix));
        }
        let Fetch { class, amount, lifetime, expected_size, .. } = fetch;
        let control = scheme.flow_control(&FlowConfig { class, expected_size, lifetime });
        let random = Random::named(seed, &format!("flow {}", fetch.prefix));
        let config = ConsumerConfig {
            prefix: prefix.clone(),
            hasher,
            class,
            first: fetch.first,
            amount,
            reorder: fetch.reorder,
            source: fetch.source,
            lifetime,
            must_be_fresh: fetch.must_be_fresh,
            hint,
            expected_size,
            early_loss: fetch.early_loss,
            source_jitter: 0.0,
        };
        let consumer = Consumer::new(config, control, random);
        let id = self.free_id();
        self.by_prefix.insert(prefix.wire().to_vec(), id);
        let starts = Some(starts_at);
        let called_at = Time::ZERO;
        let flow = Flow { prefix, consumer, starts_at: starts, called_at, amount };
        self.flows[id as usize] = Some(flow);
        self.deadlines.set(id, starts_at);
        Ok(id)
    }

    fn free_id(&mut self) -> FlowId {
        match self.flows.iter().position(Option::is_none) {
            Some(free) => free as FlowId,
            None => {
                self.flows.push(None);
                self.deadlines.push()
            }
        }
    }

    /// Removes a consumer.
    pub(super) fn remove(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(id as usize).and_then(Option::take) {
            self.by_prefix.remove(flow.prefix.wire());
            self.deadlines.set(id, Time::NEVER);
        }
    }

    pub(super) fn get(&self, id: FlowId) -> Option<&Consumer> {
        self.flows.get(id as usize)?.as_ref().map(|flow| &flow.consumer)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Consumer> {
        self.flows.iter().flatten().map(|flow| &flow.consumer)
    }

    pub(super) fn len(&self) -> usize {
        self.by_prefix.len()
    }

    /// Returns the consumer to which a segment belongs.
    pub(super) fn of(&self, packet: &Packet) -> Option<FlowId> {
        let prefix = packet.name.prefix_wire(packet.name.len().saturating_sub(1));
        self.by_prefix.get(prefix).copied()
    }

    /// Stops all consumers from sending.
    pub(super) fn stop(&mut self) {
        for (flow, id) in self.flows.iter_mut().zip(0..) {
            let Some(flow) = flow else { continue };
            flow.consumer.stop();
            flow.starts_at = None;
            self.deadlines.set(id, flow.consumer.next_deadline());
        }
    }

    pub(super) fn pause(&mut self, id: FlowId) {
        self.change(id, |flow| {
            flow.consumer.stop();
            flow.starts_at = None;
        });
    }

    pub(super) fn resume(&mut self, now: Time, id: FlowId) {
        self.change(id, |flow| flow.consumer.start(now.max(flow.called_at)));
    }

    pub(super) fn set_reorder(&mut self, now: Time, id: FlowId, segments: u64) {
        self.change(id, |flow| flow.consumer.set_reorder(now.max(flow.called_at), segments));
    }

    pub(super) fn set_amount(&mut self, now: Time, id: FlowId, amount: Option<u64>) {
        self.change(id, |flow| {
            if flow.amount != amount {
                flow.amount = amount;
                // No object has this many segments, so it means no end.
                flow.consumer.set_amount(now.max(flow.called_at), amount.unwrap_or(u64::MAX));
            }
        });
    }

    pub(super) fn set_source(&mut self, now: Time, id: FlowId, source: Source) {
        self.change(id, |flow| flow.consumer.set_source(now.max(flow.called_at), source));
    }

    /// Changes a consumer, and updates its deadline.
    fn change(&mut self, id: FlowId, change: impl FnOnce(&mut Flow)) {
        if let Some(flow) = self.flows.get_mut(id as usize).and_then(Option::as_mut) {
            change(flow);
            self.deadlines.set(id, flow.starts_at.unwrap_or_else(|| flow.consumer.next_deadline()));
        }
    }

    pub(super) fn next_deadline(&mut self) -> Time {
        self.deadlines.next()
    }

    /// Runs the consumer with the earliest deadline until `now`, as of its deadline. Returns the consumer and that
    /// time.
    pub(super) fn run_due(&mut self, now: Time) -> Option<(FlowId, Time)> {
        let (due, id) = self.deadlines.next_id().filter(|(due, _)| *due <= now)?;
        let flow = self.flows[id as usize].as_mut()?;
        let at = due.max(flow.called_at).max(now - CATCH_UP);
        match flow.starts_at.take() {
            Some(_) => flow.consumer.start(at),
            None => flow.consumer.handle_deadline(at),
        }
        Some((id, at))
    }

    /// Returns the next Interest that a consumer may send at `now`.
    pub(super) fn poll_send(&mut self, now: Time, id: FlowId, pool: &mut PacketPool) -> Option<PacketId> {
        let flow = self.flows[id as usize].as_mut()?;
        flow.called_at = now;
        let interest = flow.consumer.poll_send(now, pool);
        if interest.is_none() {
            let next = flow.starts_at.unwrap_or_else(|| flow.consumer.next_deadline());
            self.deadlines.set(id, next);
        }
        interest
    }

    /// Passes a Data or a Nack to its consumer. Returns the consumer's time and the delivery.
    pub(super) fn take(&mut self, now: Time, id: FlowId, packet: &Packet) -> (Time, Option<Delivery>) {
        let Some(flow) = self.flows[id as usize].as_mut() else { return (now, None) };
        let now = now.max(flow.called_at);
        if packet.kind == Kind::Nack {
            flow.consumer.handle_nack(now, packet);
            return (now, None);
        }
        let mut delivery = flow.consumer.handle_data(now, packet);
        if let Some(delivery) = delivery.as_mut().filter(|_| flow.amount.is_none()) {
            let end = Data::decode(&packet.wire).ok().and_then(|data| data.meta.final_block_id);
            if let Some(last) = end.and_then(|last| last.segment()) {
                // A segment beyond its own FinalBlockId is itself the end.
                let amount = last.max(delivery.segment).saturating_add(1);
                flow.amount = Some(amount);
                delivery.complete = flow.consumer.set_amount(now, amount);
            }
        }
        (now, delivery)
    }
}
