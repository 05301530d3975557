//! Strangers that use the classes of others, under QSCCP and Sluice, in simulated time: a node with a link of 10 Mb/s to a
//! producer, a consumer that is a neighbour in the file, and a stranger that requests more than the link carries.

use std::collections::BTreeMap;

use crate::running::{data, name, with_class};
use weir_core::ids::FaceId;
use weir_core::node::{Action, IngressPolicy};
use weir_core::seam::QueueLimit;
use weir_core::units::{Rate, Span, Time};
use weir_forwarder::config::{ClassTreatments, Config, class_rules};
use weir_forwarder::wire_node::{LinkConfig, WireNode};
use weir_net::secrets::Secrets;
use weir_packet::{Data, Interest, LpHeader, PitToken, ServiceClass, Signal};
use weir_schemes::registry;

/// Content of a Data, bytes.
const CONTENT: usize = 1000;
/// Time from the Interest's last bit to the arrival of its Data.
const ROUND_TRIP: Span = Span::from_millis(20);
const SECONDS: u64 = 20;
/// The rate of the link to the producer.
const RATE: Rate = Rate::from_mbps(10);

enum Event {
    /// A consumer sends an Interest: its face, class, and interval.
    Ask { face: FaceId, class: ServiceClass, every: Span },
    /// A Data arrives at the node.
    Answer { token: PitToken, wire: Vec<u8> },
}

struct World {
    node: WireNode,
    events: BTreeMap<(Time, u64), Event>,
    upstream: FaceId,
    asked: u32,
    scheduled: u64,
    /// Bits of content by face, from the fifth second on.
    got: BTreeMap<FaceId, u64>,
}

impl World {
    fn new(scheme: &str) -> World {
        let config = Config::parse(&format!("[scheme]\nname = \"{scheme}\"\n"), "test").unwrap();
        let mut node = WireNode::new(&config, 1, Secrets::fixed(1));
        let upstream = node.add_link(Time::ZERO, link(RATE), None);
        node.add_route(Time::ZERO, &node.hashed(&name("/a")).unwrap(), upstream, 0);
        World { node, events: BTreeMap::new(), upstream, asked: 0, scheduled: 0, got: BTreeMap::new() }
    }

    fn neighbour(&mut self) -> FaceId {
        self.node.add_link(Time::ZERO, link(Rate::from_mbps(100)), None)
    }

    /// Requests Data of these classes, each at this rate.
    fn consume(&mut self, face: FaceId, classes: &[ServiceClass], rate: Rate) {
        let every = Span::from_nanos(8 * CONTENT as u64 * 1_000_000_000 / rate.as_bps());
        for (number, &class) in (1..).zip(classes) {
            self.schedule(Time::ZERO + Span::from_micros(number), Event::Ask { face, class, every });
        }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// Goodput of a face, Mb/s.
    fn run(mut self, face: FaceId) -> f64 {
        let end = Time::ZERO + Span::from_secs(SECONDS);
        loop {
            let next = self.events.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let at = next.min(self.node.next_deadline());
            if at >= end {
                break;
            }
            if next <= self.node.next_deadline() {
                let (_, event) = self.events.pop_first().unwrap();
                self.handle(at, event);
            } else {
                self.node.run_until(at);
            }
            self.perform(at);
        }
        self.got[&face] as f64 / 1e6 / (SECONDS - 5) as f64
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Ask { face, class, every } => {
                self.asked += 1;
                let asked = name(&format!("/a/{}", self.asked));
                let bare = Interest::new(asked.view());
                let wire = Interest { nonce: Some(self.asked), lifetime: Some(2000), ..bare }.to_vec();
                self.node.receive(now, face, &with_class(Some(class)), &wire).unwrap();
                self.schedule(now + every, Event::Ask { face, class, every });
            }
            Event::Answer { token, wire } => {
                let mut header = LpHeader::with_token(token);
                // QSCCP knows the rate from the face. Under Sluice the sender of the Data signals it.
                header.signals.set(&link_rate(), RATE.as_bps());
                self.node.receive(now, self.upstream, &header, &wire).unwrap();
            }
        }
    }

    fn perform(&mut self, now: Time) {
        let actions = self.node.take_actions();
        for action in &actions {
            let (Action::Transmit { packet, .. }
            | Action::Deliver { packet, .. }
            | Action::Drop { packet, .. }) = *action;
            match *action {
                Action::Transmit { face, until, .. } if face == self.upstream => {
                    let interest = self.node.packet(packet);
                    let asked = Interest::decode(&interest.wire).unwrap().name.to_name();
                    let token = interest.header().pit_token;
                    self.schedule(until + ROUND_TRIP, Event::Answer { token, wire: data(&asked, CONTENT) });
                }
                Action::Transmit { face, .. } if now > Time::ZERO + Span::from_secs(5) => {
                    let packet = self.node.packet(packet);
                    let content = Data::decode(&packet.wire).map_or(0, |data| data.payload().len());
                    *self.got.entry(face).or_default() += 8 * content as u64;
                }
                _ => {}
            }
            self.node.free(packet);
        }
        self.node.recycle(actions);
    }
}

/// The field in which Sluice signals the rate of a link; other schemes ignore it.
fn link_rate() -> Signal {
    let mut all = registry::signals().into_iter().map(|(signal, _)| signal);
    all.find(|signal| signal.name == "LinkRate").unwrap()
}

fn link(rate: Rate) -> LinkConfig {
    LinkConfig { send_rate: Some(rate), receive_rate: Some(rate), limit: QueueLimit::Packets(1000) }
}

/// Goodput of an AF2 consumer of 7 Mb/s beside one with 10 Mb/s in each of these classes, Mb/s.
fn beside(scheme: &str, classes: &[ServiceClass], is_believed: bool) -> f64 {
    let mut world = World::new(scheme);
    let (consumer, stranger) = (world.neighbour(), world.neighbour());
    let classes_of_file = class_rules(&ClassTreatments::default(), is_believed);
    let ingress = IngressPolicy { is_believed, classes: classes_of_file };
    world.node.set_ingress(Time::ZERO, stranger, ingress);
    world.consume(consumer, &[ServiceClass::Af2], Rate::from_mbps(7));
    world.consume(stranger, classes, Rate::from_mbps(10));
    world.run(consumer)
}

/// AF2 gets three quarters of the link beside best effort.
#[test]
fn a_stranger_takes_nothing_from_a_class_by_naming_others() {
    check("qsccp");
}

#[test]
fn a_stranger_takes_nothing_from_a_class_by_naming_others_under_sluice() {
    check("sluice");
}

fn check(scheme: &str) {
    use ServiceClass::{Af1, Af2, Af3, Af4, Be, Cs6, Cs7, Ef};
    let honest = beside(scheme, &[Be], true);
    assert!(honest > 6.6, "{honest} Mb/s beside best effort");
    for classes in [&[Cs7, Cs6, Ef][..], &[Af1, Af2, Af3, Af4]] {
        let (believed, not_believed) = (beside(scheme, classes, true), beside(scheme, classes, false));
        println!(
            "{scheme}, {classes:?}: {believed:.2} Mb/s if it is believed, {not_believed:.2} if not; {honest:.2} beside BE"
        );
        assert!(believed < 0.75 * honest, "{classes:?}: {believed} Mb/s if it is believed");
        assert!(not_believed > 0.95 * honest, "{classes:?}: {not_believed} Mb/s if it is not");
    }
}
