//! A bench for the tests of the laws: a consumer, and a network that is one queue in front of one link. The
//! consumer is that of the core, so retransmissions, timeouts and segment numbers are real.

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

/// Returns the parameters of a scheme with the article's values.
pub(crate) fn article(entry: &Entry) -> Params {
    Params::resolve(entry.parameters, []).unwrap()
}

/// Returns the parameters of one of its variants.
pub(crate) fn variant(entry: &Entry, name: &str) -> Params {
    let name = Value::Text(name.to_owned());
    Params::resolve(entry.parameters, [("variant", &name)]).unwrap()
}

/// A loss that a test signals by hand.
pub(crate) const LOSS: Congestion =
    Congestion { sign: Sign::Loss, now: Time::ZERO, pending: 1, packets: 1.0 };
pub(crate) const MARK: Congestion = Congestion { sign: Sign::Mark, ..LOSS };

/// Returns a Data that a test delivers by hand.
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
    /// The round-trip time without queueing.
    pub(crate) delay: Span,
    /// The rate of the bottleneck; `None`: there is none.
    pub(crate) rate: Option<Rate>,
    /// The number of Data that may wait at the bottleneck.
    pub(crate) limit: u32,
    /// A Data is marked if more than this number wait.
    pub(crate) mark_above: u32,
    /// The probability that an Interest is lost.
    pub(crate) loss: f64,
    /// The demand of the application.
    pub(crate) source: Source,
    /// The content of a Data, bytes.
    pub(crate) content: u32,
    /// A Data is late by a random time up to this.
    pub(crate) jitter: Span,
    /// Whether the consumer detects losses early, as that of `weir get` does.
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

/// The result of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    /// The bits of Data on the wire.
    pub(crate) bits: u64,
    pub(crate) lost: u64,
    /// The number of Data that came a second time.
    pub(crate) repeated: u64,
    /// The time and the window at each Data.
    pub(crate) windows: Vec<(Time, f64)>,
    /// The longest wait of a Data.
    pub(crate) longest_wait: Span,
    /// For each Data: the time at which it began to wait, and the wait.
    pub(crate) waits: Vec<(Time, Span)>,
}

impl Pipe {
    /// Runs a consumer with this flow control for `secs` seconds.
    pub(crate) fn run(&self, control: Box<dyn FlowControl>, secs: u64) -> Outcome {
        self.watch(control, secs, &mut |_| {})
    }

    /// Does the same, and calls the observer after each Data.
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

    /// Makes the Data of an Interest. Returns its arrival time, unless it is lost.
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

/// Returns a consumer that has started.
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
