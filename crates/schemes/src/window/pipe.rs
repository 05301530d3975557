//! For the tests of the laws: a consumer, and all of the network as one queue in front of one link. The
//! core's own consumer asks, so retransmission, timeouts and numbers of segments are the real ones.

use std::collections::VecDeque;

use weir_core::consumer::{Consumer, ConsumerConfig, REORDER_BOUND, Source};
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::responders::Bases;
use weir_core::seam::params::{Params, Value};
use weir_core::seam::{DataReceived, FlowConfig, FlowControl, Gauge};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::{Name, ServiceClass};

use super::{Congestion, Sign};
use crate::registry::Entry;

const HASHER: NameHasher = NameHasher::new(1);

pub(crate) const FLOW: FlowConfig =
    FlowConfig { class: ServiceClass::Be, expected_size: Bytes::ZERO, lifetime: Span::from_secs(4) };

/// The parameters of a scheme as its article has them.
pub(crate) fn article(entry: &Entry) -> Params {
    Params::resolve(entry.parameters, []).unwrap()
}

/// The parameters of one of its variants.
pub(crate) fn variant(entry: &Entry, name: &str) -> Params {
    let name = Value::Text(name.to_owned());
    Params::resolve(entry.parameters, [("variant", &name)]).unwrap()
}

/// What a law is told by hand.
pub(crate) const LOSS: Congestion =
    Congestion { sign: Sign::Loss, now: Time::ZERO, pending: 1, packets: 1.0 };
pub(crate) const MARK: Congestion = Congestion { sign: Sign::Mark, ..LOSS };

/// A Data that comes to a law by hand.
pub(crate) fn data<'a>(packet: &'a Packet, now: Time, rtt: Span, random: &'a mut Random) -> DataReceived<'a> {
    DataReceived {
        now,
        data: packet,
        segment: 0,
        rtt: Some(rtt),
        srtt: Some(rtt),
        bases: Some(Bases::of_one(rtt)),
        tag: 0,
        was_pending: true,
        pending: 0,
        highest_sent: 0,
        oldest_missing: 0,
        lost: 0..0,
        expected_size: Bytes::new(1100),
        random,
    }
}

/// The network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    /// Without queueing, there and back.
    pub(crate) delay: Span,
    /// Of the bottleneck; `None`: there is none.
    pub(crate) rate: Option<Rate>,
    /// How many Data may wait there.
    pub(crate) limit: u32,
    /// Data that find so many waiting are marked.
    pub(crate) mark_above: u32,
    /// Probability that an Interest is lost.
    pub(crate) loss: f64,
    /// What the application wants.
    pub(crate) source: Source,
    /// Content of a Data, bytes.
    pub(crate) content: u32,
    /// A Data comes late by up to so much, at random.
    pub(crate) jitter: Span,
    /// Whether the consumer detects losses early, as that of `weir get`.
    pub(crate) early_loss: bool,
}

impl Default for Pipe {
    fn default() -> Pipe {
        let (limit, mark_above) = (u32::MAX, u32::MAX);
        Pipe {
            delay: Span::from_millis(100),
            rate: None,
            limit,
            mark_above,
            loss: 0.0,
            source: Source::Elastic,
            content: 1024,
            jitter: Span::ZERO,
            early_loss: false,
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    /// Of Data, on the wire.
    pub(crate) bits: u64,
    pub(crate) lost: u64,
    /// Data that came for a second time.
    pub(crate) repeated: u64,
    /// Time and window at each Data.
    pub(crate) windows: Vec<(Time, f64)>,
    /// The longest that a Data waited.
    pub(crate) longest_wait: Span,
    /// When a Data began to wait, and until it was sent.
    pub(crate) waits: Vec<(Time, Span)>,
}

impl Pipe {
    /// A consumer with this flow control for so many seconds.
    pub(crate) fn run(&self, control: Box<dyn FlowControl>, secs: u64) -> Outcome {
        self.watch(control, secs, &mut |_| {})
    }

    /// The same; looks on after each Data.
    pub(crate) fn watch(
        &self,
        control: Box<dyn FlowControl>,
        secs: u64,
        look: &mut dyn FnMut(Time),
    ) -> Outcome {
        let mut consumer = self.consumer(control);
        let (mut pool, mut random) = (PacketPool::new(), Random::named(1, "pipe"));
        let mut outcome = Outcome::default();
        let mut coming: VecDeque<(Time, PacketId)> = VecDeque::new();
        let mut busy_until = Time::ZERO;
        let end = Time::ZERO + Span::from_secs(secs);
        loop {
            let arrival = coming.front().map_or(Time::NEVER, |(at, _)| *at);
            let now = arrival.min(consumer.next_deadline());
            if now >= end {
                return outcome;
            }
            if arrival == now {
                let (_, id) = coming.pop_front().unwrap();
                outcome.bits += 8 * pool[id].wire_len();
                let is_new = consumer.handle_data(now, &pool[id]).is_some();
                outcome.delivered += u64::from(is_new);
                outcome.repeated += u64::from(!is_new);
                pool.free(id);
                if let Gauge::Window(window) = consumer.gauge() {
                    outcome.windows.push((now, window));
                }
                look(now);
            }
            consumer.handle_deadline(now);
            while let Some(id) = consumer.poll_send(now, &mut pool) {
                match self.data_at(now, &mut busy_until, &mut pool[id], &mut random) {
                    Some(at) => {
                        let wait = at.since(now + self.delay);
                        outcome.longest_wait = outcome.longest_wait.max(wait);
                        outcome.waits.push((now, wait));
                        let late = if self.jitter > Span::ZERO {
                            self.jitter.scale(random.unit())
                        } else {
                            Span::ZERO
                        };
                        let before = coming.back().map_or(Time::ZERO, |(at, _)| *at);
                        coming.push_back(((at + late).max(before), id));
                    }
                    None => {
                        outcome.lost += 1;
                        pool.free(id);
                    }
                }
            }
        }
    }

    /// Makes the Data of an Interest; when it comes, if it does.
    fn data_at(
        &self,
        now: Time,
        busy_until: &mut Time,
        packet: &mut Packet,
        random: &mut Random,
    ) -> Option<Time> {
        if random.chance(self.loss) {
            return None;
        }
        packet.kind = Kind::Data;
        packet.content_len = self.content;
        packet.net_len = self.content + 66;
        let Some(rate) = self.rate else { return Some(now + self.delay) };
        let takes = rate.time_for(Bytes::new(packet.wire_len()));
        let waiting = (busy_until.since(now).as_nanos() / takes.as_nanos()) as u32;
        if waiting >= self.limit {
            return None;
        }
        packet.header_mut().congestion_mark = u64::from(waiting > self.mark_above);
        *busy_until = (*busy_until).max(now) + takes;
        Some(*busy_until + self.delay)
    }

    fn consumer(&self, control: Box<dyn FlowControl>) -> Consumer {
        consumer(control, self.source, self.early_loss)
    }
}

/// A consumer that has started.
pub(crate) fn consumer(control: Box<dyn FlowControl>, source: Source, early_loss: bool) -> Consumer {
    let uri: Name = "/a".parse().unwrap();
    let config = ConsumerConfig {
        prefix: HashedName::parse(&HASHER, uri.value()).unwrap(),
        hasher: HASHER,
        class: FLOW.class,
        first: 0,
        amount: None,
        reorder: REORDER_BOUND,
        source,
        lifetime: FLOW.lifetime,
        must_be_fresh: false,
        hint: None,
        expected_size: FLOW.expected_size,
        source_jitter: 0.0,
        early_loss,
    };
    let mut consumer = Consumer::new(config, control, Random::named(1, "consumer"));
    consumer.start(Time::ZERO);
    consumer
}
