//! The cost of QSCCP's scheduler for each packet as flows grow: one Interest enters and one leaves a face
//! where every flow is backlogged. It should not depend on the number of flows, except for cache misses.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::time::Instant;

use weir_core::ids::FaceId;
use weir_core::ids::PrefixId;
use weir_core::packet::{FlowKey, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::params::Params;
use weir_core::seam::{DequeueEvent, EnqueueEvent, FaceConfig, Next, Queue, QueueLimit};
use weir_core::units::{Rate, Span, Time};
use weir_packet::{ServiceClass, Signal};

const CLASSES: [ServiceClass; 4] = [ServiceClass::Ef, ServiceClass::Af2, ServiceClass::Af1, ServiceClass::Be];
const CYCLES: u32 = 2_000_000;

fn main() {
    println!("{:>8} {:>14}", "flows", "ns per packet");
    for flows in [10, 100, 1_000, 10_000, 100_000] {
        println!("{flows:>8} {:>14.1}", nanoseconds_per_packet(flows));
    }
}

struct Face {
    queue: Box<dyn Queue>,
    pool: PacketPool,
    random: Random,
    now: Time,
}

fn nanoseconds_per_packet(flows: u32) -> f64 {
    let entry = weir_schemes::find("qsccp").expect("it is in the list");
    let given = [("class_queue", weir_core::seam::params::Value::Int(1 << 22))];
    let given = given.iter().map(|(key, value)| (*key, value));
    let params = Params::resolve(entry.parameters, given).expect("it is right");
    let rate = Some(Rate::from_mbps(100_000));
    let config =
        FaceConfig { face: FaceId(0), send_rate: rate, receive_rate: rate, limit: QueueLimit::Packets(100) };
    let mut face = Face {
        queue: (entry.build)(&params).queue(&config),
        pool: PacketPool::new(),
        random: Random::named(1, "bench"),
        now: Time::ZERO,
    };
    for flow in 0..2 * flows {
        let interest = face.pool.take();
        face.pool[interest].header_mut().signals.set(&Signal::EXPECTED_SIZE, 1078);
        face.pool[interest].lifetime = Span::from_secs(1_000);
        face.enqueue(interest, key(flow % flows));
    }
    // The first round warms up; the second is measured.
    for _ in 0..2 * flows {
        face.cycle();
    }
    let begun = Instant::now();
    for _ in 0..CYCLES {
        face.cycle();
    }
    begun.elapsed().as_nanos() as f64 / f64::from(CYCLES)
}

fn key(flow: u32) -> FlowKey {
    FlowKey { prefix: PrefixId(flow), class: CLASSES[flow as usize % CLASSES.len()], ..FlowKey::default() }
}

impl Face {
    fn enqueue(&mut self, packet: PacketId, flow: FlowKey) {
        let mut dropped = Vec::new();
        self.pool[packet].flow = flow;
        self.pool[packet].queued_at = self.now;
        let (now, pool, random) = (self.now, &mut self.pool, &mut self.random);
        self.queue.enqueue(
            &mut EnqueueEvent { now, pool, dropped: &mut dropped, random, keeps_prefix: false },
            packet,
        );
        assert!(dropped.is_empty(), "the queues are long enough");
    }

    /// Removes the next Interest when it may leave, and puts it in again.
    fn cycle(&mut self) {
        loop {
            let mut dropped = Vec::new();
            let (now, pool, random) = (self.now, &mut self.pool, &mut self.random);
            match self.queue.dequeue(&mut DequeueEvent {
                now,
                pool,
                dropped: &mut dropped,
                random,
                note: None,
            }) {
                Next::Packet(packet) => {
                    let flow = self.pool[packet].flow;
                    return self.enqueue(packet, flow);
                }
                Next::At(time) => self.now = time,
                Next::Empty => panic!("every flow is backlogged"),
            }
        }
    }
}
