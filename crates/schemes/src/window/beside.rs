//! Two consumers share one drop-tail link of 20 Mb/s. One has Data of one packet, like the segments of a TCP
//! flow. The other has Data of 8 kB, which travel as packets of 1400 bytes. A Data is lost if one of its
//! packets is, and its other packets use the link nevertheless. Hosts are late by a random time of up to that
//! of a long Data on the link, or they are punctual. With punctual hosts, a flow whose packets arrive just
//! after a packet has left loses none (S. Floyd, V. Jacobson, "On Traffic Phase Effects in Packet-Switched
//! Gateways", 1992). Here this is the flow of long Data.

use std::collections::BTreeMap;

use weir_core::consumer::{Consumer, Source};
use weir_core::packet::{Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::FlowControl;
use weir_core::seam::params::{Params, Value};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::pipe;
use crate::registry::Entry;

const RATE: Rate = Rate::from_mbps(20);
const FRAGMENT: u64 = 1400;
/// The content of a short Data, which travels as one packet like a TCP segment, and of a segment of `weir put`; bytes.
const SHORT: u32 = 1380;
const LONG: u32 = 8000;

/// A drop-tail link.
struct Link {
    rtt: Span,
    /// The buffer holds what the link sends in this time.
    buffer: Span,
    are_hosts_late: bool,
    busy_until: Time,
    random: Random,
}

impl Link {
    /// Returns the arrival time of a Data that leaves at `now`; `None` if a part of it is lost.
    fn pass(&mut self, now: Time, data: &Packet) -> Option<Time> {
        let (mut left, mut is_whole) = (data.wire_len(), true);
        while left > 0 {
            let packet = left.min(FRAGMENT);
            left -= packet;
            if self.busy_until.since(now) > self.buffer {
                is_whole = false;
            } else {
                self.busy_until = self.busy_until.max(now) + RATE.time_for(Bytes::new(packet));
            }
        }
        let late = match self.are_hosts_late {
            true => RATE.time_for(Bytes::new(LONG.into())).scale(self.random.unit()),
            false => Span::ZERO,
        };
        is_whole.then_some(self.busy_until + self.rtt + late)
    }
}

/// One of the two flows.
struct Flow {
    consumer: Consumer,
    content: u32,
    begins: Time,
    bytes: u64,
}

impl Flow {
    fn due(&self) -> Time {
        self.consumer.next_deadline().max(self.begins)
    }
}

/// Returns a scheme's flow control with this unit and these other parameters.
fn control(entry: &Entry, unit: &str, more: &[(&str, &str)]) -> Box<dyn FlowControl> {
    let all = [("unit", unit)].into_iter().chain(more.iter().copied());
    let given: Vec<_> = all.map(|(key, value)| (key, Value::parse(value))).collect();
    let params = Params::resolve(entry.parameters, given.iter().map(|(key, value)| (*key, value))).unwrap();
    (entry.build)(&params).flow_control(&pipe::FLOW)
}

/// Returns the goodput of two flow controls as parts of the link, over a minute, from the tenth second on.
/// The first has long Data, the second has Data of one packet.
fn shares(
    controls: [Box<dyn FlowControl>; 2],
    begins_s: [u64; 2],
    (rtt_ms, buffer_ms): (u64, u64),
    are_hosts_late: bool,
) -> [f64; 2] {
    let [rtt, buffer] = [rtt_ms, buffer_ms].map(Span::from_millis);
    let mut link =
        Link { rtt, buffer, are_hosts_late, busy_until: Time::ZERO, random: Random::named(1, "link") };
    let mut contents = [LONG, SHORT].into_iter();
    let mut flows = controls.map(|control| {
        let (consumer, content) = (pipe::consumer(control, Source::Elastic, true), contents.next().unwrap());
        Flow { consumer, content, begins: Time::ZERO, bytes: 0 }
    });
    for (flow, begins) in flows.iter_mut().zip(begins_s) {
        flow.begins = Time::ZERO + Span::from_secs(begins);
    }
    let mut pool = PacketPool::new();
    let mut coming: BTreeMap<(Time, u64), (usize, PacketId)> = BTreeMap::new();
    let mut sent = 0;
    let (from, end) = (Time::ZERO + Span::from_secs(10), Time::ZERO + Span::from_secs(70));
    loop {
        let arrival = coming.keys().next().map_or(Time::NEVER, |(at, _)| *at);
        let now = arrival.min(flows[0].due()).min(flows[1].due());
        if now >= end {
            let all = RATE.as_bps_f64() * (end - from).as_secs_f64();
            return flows.map(|flow| 8.0 * flow.bytes as f64 / all);
        }
        if arrival == now {
            let (_, (who, id)) = coming.pop_first().unwrap();
            let delivered = flows[who].consumer.handle_data(now, &pool[id]);
            flows[who].bytes += delivered.filter(|_| now >= from).map_or(0, |delivery| delivery.content);
            pool.free(id);
        }
        for (who, flow) in flows.iter_mut().enumerate().filter(|(_, flow)| flow.begins <= now) {
            flow.consumer.handle_deadline(now);
            while let Some(id) = flow.consumer.poll_send(now, &mut pool) {
                let data = &mut pool[id];
                (data.kind, data.content_len, data.net_len) = (Kind::Data, flow.content, flow.content + 68);
                match link.pass(now, data) {
                    Some(at) => {
                        sent += 1;
                        coming.insert((at, sent), (who, id));
                    }
                    None => pool.free(id),
                }
            }
        }
    }
}

/// Returns the goodput of the flow of long Data divided by that of the other flow, for both orders of
/// starting.
fn ratios(entry: &Entry, unit: &str, path: (u64, u64)) -> [f64; 2] {
    [[0, 1], [1, 0]].map(|begins| {
        let controls = [control(entry, unit, &[]), control(entry, "0 B", &[])];
        let [long, short] = shares(controls, begins, path, true);
        assert!(long + short > 0.8, "{}, {unit}, {path:?}: {long} and {short} used", entry.name);
        long / short
    })
}

#[test]
fn long_data_that_count_as_their_packets_share_with_flows_of_single_packets() {
    for entry in [&super::cubic::ENTRY, &super::reno::ENTRY] {
        for path in [(20, 20), (20, 100)] {
            for ratio in ratios(entry, "1448 B", path) {
                assert!((1.0 / 1.5..=1.5).contains(&ratio), "{}, {path:?}: {ratio}", entry.name);
            }
        }
        // Over 100 ms the flow that starts first has more for longer than this test lasts. So neither flow
        // may have more in both orders.
        let [first, second] = ratios(entry, "1448 B", (100, 100));
        let bias = (first * second).sqrt();
        assert!((1.0 / 1.5..=1.5).contains(&bias), "{}: {first}, {second}", entry.name);
    }
}

/// Returns the geometric mean of that ratio over both orders, with punctual hosts.
fn punctual(entry: &Entry, spread: &str, path: (u64, u64)) -> f64 {
    let ratios = [[0, 1], [1, 0]].map(|begins| {
        let controls = [control(entry, "1448 B", &[("spread", spread)]), control(entry, "0 B", &[])];
        let [long, short] = shares(controls, begins, path, false);
        long / short
    });
    (ratios[0] * ratios[1]).sqrt()
}

#[test]
fn a_random_time_before_interests_takes_from_long_data_what_phases_give_them() {
    for path in [(20, 20), (10, 50)] {
        let [exact, spread] = ["0", "1"].map(|spread| punctual(&super::cubic::ENTRY, spread, path));
        assert!(exact > 2.0, "{path:?}: {exact}");
        assert!((1.0 / 1.5..=1.5).contains(&spread), "{path:?}: {spread}");
    }
}

#[test]
fn long_data_that_count_as_one_packet_take_more() {
    for ratio in ratios(&super::cubic::ENTRY, "0 B", (20, 100)) {
        assert!(ratio > 2.0, "{ratio}");
    }
}

/// The consumer is one of QSCCP without a reported rate.
#[test]
fn a_consumer_that_probes_shares_with_cubic_and_neither_starves() {
    for path in [(20, 20), (20, 100), (100, 100)] {
        for begins in [[0, 1], [1, 0]] {
            let probing = control(&crate::qsccp::ENTRY, "1448 B", &[("untold", "probe")]);
            let [long, short] =
                shares([probing, control(&super::cubic::ENTRY, "0 B", &[])], begins, path, true);
            assert!(long.min(short) > 0.25, "{path:?}: {long}, {short}");
        }
    }
}
